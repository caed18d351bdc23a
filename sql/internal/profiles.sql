-- profiles: what distinguishes each cluster, and which columns separate the clusters.

-- The v-test of `difference`, which is the mean of n of all_n rows minus the mean of the other
-- rows. all_m2 is the sum of squared deviations of all rows from their mean. The v-test is the
-- difference between the mean of the n rows and the mean of all rows, divided by the standard
-- deviation of the mean of n rows that are drawn without replacement. NULL if there are no other
-- rows, or if all values are equal.
CREATE OR REPLACE MACRO clustereval._v_test(difference, n, all_n, all_m2) AS
  difference * sqrt(clustereval._ratio(
    clustereval._widen(n) * clustereval._widen(all_n - n) * clustereval._widen(all_n - 1),
    NULLIF(CAST(all_n AS DOUBLE) * all_m2, 0.0)
  ));

-- What distinguishes each cluster from the rest, one row per cluster and column of numbers, or per
-- cluster and category of any other column.
-- Examples:
--   FROM clustereval.cluster_profile(assignments, [species, n], cluster);
--   FROM clustereval.cluster_profile(assignments, ['species', 'n'], cluster);
CREATE OR REPLACE MACRO clustereval.cluster_profile(
  tbl, columns, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_columns AS MATERIALIZED (
    SELECT *
    FROM clustereval._profile_columns(tbl, columns, cluster, weight, partition_by, noise)
  ),
  __ce_partitions AS (
    SELECT * FROM clustereval._profile_partitions(tbl, weight, partition_by)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._profile_rows(
      tbl, columns, cluster, weight, partition_by, noise, noise_as
    )
  ),
  __ce_cells AS MATERIALIZED (SELECT * FROM clustereval._profile_cells(__ce_rows)),
  __ce_sums AS MATERIALIZED (SELECT * FROM clustereval._profile_sums(__ce_cells)),
  __ce_deviations AS MATERIALIZED (
    SELECT * FROM clustereval._profile_deviations(__ce_rows, __ce_sums)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_profile(__ce_columns, __ce_sums, __ce_deviations)
  ),
  __ce_profile AS (
    SELECT
      partition_key, own.cluster, column_no, FALSE AS missing, CAST(NULL AS VARCHAR) AS category,
      n, mean,
      sqrt(m2 / n) AS std,
      rest_mean,
      deviation - rest_deviation AS difference,
      clustereval._v_test(deviation - rest_deviation, n, all_n, all_m2) AS v_test
    FROM clustereval._profile_numbers(__ce_sums, __ce_deviations) AS own
    UNION ALL
    SELECT
      partition_key, own.cluster, column_no, missing, category, n,
      clustereval._ratio(n, cluster_n),
      NULL,
      clustereval._ratio(all_of - n, all_n - cluster_n),
      clustereval._ratio(
        clustereval._share_excess(n, all_of, cluster_n, all_n),
        clustereval._widen(cluster_n) * clustereval._widen(all_n - cluster_n)
      ),
      clustereval._v_test(
        clustereval._ratio(
          clustereval._share_excess(n, all_of, cluster_n, all_n),
          clustereval._widen(cluster_n) * clustereval._widen(all_n - cluster_n)
        ),
        cluster_n, all_n,
        clustereval._ratio(
          clustereval._widen(all_of) * clustereval._widen(all_n - all_of), all_n
        )
      )
    FROM clustereval._profile_shares(__ce_cells, __ce_sums) AS own
    WHERE cluster_n > 0
  )
  SELECT
    own.partition_key,
    own.cluster,
    named.column_name,
    CASE WHEN own.missing THEN 'missing' ELSE named.kind END AS kind,
    own.category,
    own.n,
    own.mean,
    own.std,
    own.rest_mean,
    own.difference,
    own.v_test
  FROM __ce_profile AS own
  JOIN __ce_columns AS named ON named.column_no = own.column_no
  WHERE clustereval._check_options(clustereval._valid_noise_of_clusters(noise, noise_as))
    AND COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
    AND (SELECT COUNT(*) FROM __ce_partitions) >= 0
  ORDER BY
    own.partition_key ASC NULLS LAST,
    own.cluster ASC NULLS LAST,
    round(abs(own.v_test), 9) DESC NULLS LAST,
    own.column_no ASC NULLS LAST,
    own.missing ASC NULLS LAST,
    own.category ASC NULLS LAST;

-- Which columns separate the clusters, the strongest first, one row per column.
-- Examples:
--   FROM clustereval.column_profile(assignments, [species, n], cluster);
CREATE OR REPLACE MACRO clustereval.column_profile(
  tbl, columns, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_columns AS MATERIALIZED (
    SELECT *
    FROM clustereval._profile_columns(tbl, columns, cluster, weight, partition_by, noise)
  ),
  __ce_partitions AS (
    SELECT * FROM clustereval._profile_partitions(tbl, weight, partition_by)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._profile_rows(
      tbl, columns, cluster, weight, partition_by, noise, noise_as
    )
  ),
  __ce_cells AS MATERIALIZED (SELECT * FROM clustereval._profile_cells(__ce_rows)),
  __ce_sums AS MATERIALIZED (SELECT * FROM clustereval._profile_sums(__ce_cells)),
  __ce_deviations AS MATERIALIZED (
    SELECT * FROM clustereval._profile_deviations(__ce_rows, __ce_sums)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_profile(__ce_columns, __ce_sums, __ce_deviations)
  ),
  __ce_separations AS (
    SELECT
      partition_key, column_no,
      CASE
        WHEN COUNT(*) > 1
        THEN any_value(clustereval._at_most_1(between_squares / NULLIF(all_m2, 0.0)))
      END AS eta_squared
    FROM clustereval._profile_numbers(__ce_sums, __ce_deviations)
    GROUP BY partition_key, column_no
  ),
  __ce_all_partitions AS (
    SELECT partition_key FROM __ce_partitions
    UNION
    SELECT NULL FROM __ce_columns WHERE unpartitioned
    UNION
    SELECT partition_key FROM __ce_sums
  ),
  __ce_counts AS (
    SELECT partition_key, column_no, SUM(n) AS n, SUM(n_missing) AS n_missing
    FROM __ce_sums
    GROUP BY partition_key, column_no
  ),
  __ce_profile AS (
    SELECT
      part.partition_key,
      named.column_no,
      named.column_name,
      named.kind,
      COALESCE(CAST(counted.n AS BIGINT), 0) AS n,
      COALESCE(CAST(counted.n_missing AS BIGINT), 0) AS n_missing,
      CASE WHEN named.kind = 'category' THEN COALESCE(association.n_categories, 0) END
        AS n_categories,
      separation.eta_squared,
      association.cramers_v,
      COALESCE(sqrt(separation.eta_squared), association.cramers_v) AS association
    FROM __ce_all_partitions AS part
    CROSS JOIN __ce_columns AS named
    LEFT JOIN __ce_counts AS counted
      ON counted.partition_key IS NOT DISTINCT FROM part.partition_key
      AND counted.column_no = named.column_no
    LEFT JOIN __ce_separations AS separation
      ON separation.partition_key IS NOT DISTINCT FROM part.partition_key
      AND separation.column_no = named.column_no
    LEFT JOIN clustereval._profile_associations(__ce_cells, __ce_sums) AS association
      ON association.partition_key IS NOT DISTINCT FROM part.partition_key
      AND association.column_no = named.column_no
  )
  SELECT * EXCLUDE (column_no)
  FROM __ce_profile
  WHERE clustereval._check_options(clustereval._valid_noise_of_clusters(noise, noise_as))
    AND COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
  ORDER BY
    partition_key ASC NULLS LAST,
    round(association, 9) DESC NULLS LAST,
    column_no ASC NULLS LAST;
