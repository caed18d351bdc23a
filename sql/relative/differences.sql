-- differences: differences between the scores of two clusterings of the same rows, with paired
-- intervals.
--
-- To first order, the difference of a score is the mean over the rows of a row's influence on the
-- score of the first clustering minus its influence on that of the second one (see intervals).
-- What the two have in common cancels in each row. The variance of the difference is the mean of
-- the squares of these differences, divided by the number of rows.

---------------------------------------------------------------------------------------------------
-- Two contingency tables of the same rows
---------------------------------------------------------------------------------------------------

-- One row per value of (partition_by, label, cluster_1, cluster_2) in the table named tbl:
-- partition_key; label, NULL if the rows do not count; cluster_1 and cluster_2; n rows; and noisy_1
-- and noisy_2, TRUE for noise. Rows count if they have a label and both clusters, and neither is
-- noise that is left out.
CREATE OR REPLACE MACRO clustereval._pair_groups(
  tbl, label, cluster_1, cluster_2, weight, partition_by, noise, noise_as
) AS TABLE
  -- Groups of rows, with both clusters in one key.
  WITH __ce_keyed AS (
    SELECT
      keyed.partition_key, keyed.label, keyed.cluster['one'] AS one, keyed.cluster['two'] AS two,
      keyed.n
    FROM clustereval._row_groups(
      tbl, label, {'one': cluster_1, 'two': cluster_2}, weight, partition_by, NULL, 'cluster'
    ) AS keyed
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, COUNT(*)
    FROM query_table(clustereval._check_table_name(tbl))
    WHERE FALSE
    HAVING clustereval._check_columns(
      clustereval._check_noise(
        clustereval._check_noise(COUNT(*) > 0, noise, cluster_1), noise, cluster_2
      ),
      [
        clustereval._given_column('cluster_1', cluster_1),
        clustereval._given_column('cluster_2', cluster_2)
      ]
    )
  ),
  -- The groups, marked as noise or not.
  marked AS (
    SELECT
      *,
      clustereval._is_noise(one, noise) AS noisy_1,
      clustereval._is_noise(two, noise) AS noisy_2
    FROM __ce_keyed
  )
  SELECT
    own.partition_key,
    CASE
      WHEN own.one IS NOT NULL AND own.two IS NOT NULL AND own.n > 0
        AND NOT (noise_as = 'drop' AND (own.noisy_1 OR own.noisy_2))
      THEN own.label
    END AS label,
    own.one AS cluster_1,
    own.two AS cluster_2,
    own.n,
    own.noisy_1,
    own.noisy_2
  FROM marked AS own;

-- The rows of _row_groups for one of two clusterings. groups: partition_key, label, cluster and n
-- of rows of _pair_groups.
CREATE OR REPLACE MACRO clustereval._merge_groups(groups, noise, noise_as) AS TABLE
  WITH __ce_group_counts AS (
    SELECT
      partition_key AS __ce_partition,
      label AS __ce_label,
      cluster AS __ce_cluster,
      CAST(SUM(n) AS BIGINT) AS __ce_n
    FROM query_table(groups)
    GROUP BY partition_key, label, cluster
  )
  SELECT * FROM clustereval._flag_groups(__ce_group_counts, noise, noise_as);

-- The rows of pairs (_pair_groups) that count: partition_key, label, cluster_1 and cluster_2, NULL
-- for a singleton, and n.
CREATE OR REPLACE MACRO clustereval._pair_cells(pairs, noise_as) AS TABLE
  WITH cells AS (
    SELECT
      partition_key,
      label,
      CASE WHEN noisy_1 AND noise_as = 'singletons' THEN NULL ELSE cluster_1 END AS one,
      CASE WHEN noisy_2 AND noise_as = 'singletons' THEN NULL ELSE cluster_2 END AS two,
      n
    FROM query_table(pairs)
    WHERE label IS NOT NULL
  )
  SELECT
    partition_key, label, one AS cluster_1, two AS cluster_2, CAST(SUM(n) AS BIGINT) AS n
  FROM cells
  GROUP BY partition_key, label, one, two;

---------------------------------------------------------------------------------------------------
-- Differences
---------------------------------------------------------------------------------------------------

-- The rows of _gradients. If labels and clusters divide the rows in the same way, they also do so
-- in every sample, so the gradient of a quotient is 0.
CREATE OR REPLACE MACRO clustereval._score_gradients(statistics, average_method, beta) AS TABLE
  SELECT
    gradient.partition_key,
    gradient.family,
    gradient.metric,
    CASE WHEN is_quotient AND totals.fp + totals.fn = 0 THEN 0.0 ELSE gradient.g1 END AS g1,
    CASE WHEN is_quotient AND totals.fp + totals.fn = 0 THEN 0.0 ELSE gradient.g2 END AS g2,
    CASE WHEN is_quotient AND totals.fp + totals.fn = 0 THEN 0.0 ELSE gradient.g3 END AS g3
  FROM clustereval._gradients(statistics, average_method, beta) AS gradient
  JOIN query_table(statistics) AS totals
    ON totals.partition_key IS NOT DISTINCT FROM gradient.partition_key;

-- slope * influence, or 0 if slope is 0, even if the influence is NULL.
CREATE OR REPLACE MACRO clustereval._slope_term(slope, influence) AS
  CASE WHEN slope = 0 THEN 0.0 ELSE slope * influence END;

-- One row per partition and metric: squares and fourths, the sums over the rows of powers of the
-- difference between a row's influences on the two scores, NULL if one is not defined. cells: rows
-- of _pair_cells; influences_1, influences_2: rows of _centered_influences; gradients_1,
-- gradients_2: rows of _score_gradients.
CREATE OR REPLACE MACRO clustereval._squared_differences(
  cells, influences_1, influences_2, gradients_1, gradients_2
) AS TABLE
  WITH gradients AS (
    SELECT
      one.partition_key, one.family, one.metric,
      one.g1, one.g2, one.g3, two.g1 AS h1, two.g2 AS h2, two.g3 AS h3
    FROM query_table(gradients_1) AS one
    JOIN query_table(gradients_2) AS two
      ON two.partition_key IS NOT DISTINCT FROM one.partition_key
      AND two.metric = one.metric
  ),
  paired AS (
    SELECT
      cell.partition_key, one.family, cell.n,
      one.i1, one.i2, one.i3, two.i1 AS j1, two.i2 AS j2, two.i3 AS j3
    FROM query_table(cells) AS cell
    JOIN query_table(influences_1) AS one
      ON one.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND one.label = cell.label
      AND one.cluster IS NOT DISTINCT FROM cell.cluster_1
    JOIN query_table(influences_2) AS two
      ON two.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND two.label = cell.label
      AND two.cluster IS NOT DISTINCT FROM cell.cluster_2
      AND two.family = one.family
  ),
  influences AS (
    SELECT
      row.partition_key, score.metric, row.n,
      clustereval._slope_term(score.g1, row.i1) + clustereval._slope_term(score.g2, row.i2)
        + clustereval._slope_term(score.g3, row.i3) AS one,
      clustereval._slope_term(score.h1, row.j1) + clustereval._slope_term(score.h2, row.j2)
        + clustereval._slope_term(score.h3, row.j3) AS two
    FROM paired AS row
    JOIN gradients AS score
      ON score.partition_key IS NOT DISTINCT FROM row.partition_key
      AND score.family = row.family
  ),
  sums AS (
    SELECT
      partition_key,
      metric,
      COUNT(one - two) = COUNT(*) AS is_known,
      clustereval._compensated_sum(n * (one - two) * (one - two)) AS squares,
      clustereval._compensated_sum(n * pow(one - two, 4)) AS fourths,
      clustereval._compensated_sum(n * (one * one + two * two)) AS scale
    FROM influences
    GROUP BY partition_key, metric
  )
  SELECT
    partition_key,
    metric,
    -- A smaller sum is a rounding error of influences that are equal.
    CASE WHEN squares <= 1e-20 * scale THEN 0.0 ELSE squares END AS squares,
    fourths
  FROM sums
  WHERE is_known;

-- The columns of external_differences, and place. pairs: rows of _pair_groups.
CREATE OR REPLACE MACRO clustereval._score_differences(
  pairs, noise, noise_as, average_method, beta, adjusted, confidence
) AS TABLE
  WITH cells AS (SELECT * FROM clustereval._pair_cells(pairs, noise_as)),
  side_1 AS (
    SELECT partition_key, label, cluster_1 AS cluster, n FROM query_table(pairs)
  ),
  side_2 AS (
    SELECT partition_key, label, cluster_2 AS cluster, n FROM query_table(pairs)
  ),
  groups_1 AS MATERIALIZED (SELECT * FROM clustereval._merge_groups(side_1, noise, noise_as)),
  groups_2 AS MATERIALIZED (SELECT * FROM clustereval._merge_groups(side_2, noise, noise_as)),
  cells_1 AS (SELECT * FROM groups_1 WHERE copies > 0),
  cells_2 AS (SELECT * FROM groups_2 WHERE copies > 0),
  statistics_1 AS (SELECT * FROM clustereval._statistics_of_groups(groups_1, adjusted)),
  statistics_2 AS (SELECT * FROM clustereval._statistics_of_groups(groups_2, adjusted)),
  report_1 AS (
    SELECT * FROM clustereval._scores_of_statistics(statistics_1, average_method, beta)
  ),
  report_2 AS (
    SELECT * FROM clustereval._scores_of_statistics(statistics_2, average_method, beta)
  ),
  influences_1 AS (SELECT * FROM clustereval._centered_influences(cells_1)),
  influences_2 AS (SELECT * FROM clustereval._centered_influences(cells_2)),
  gradients_1 AS (
    SELECT * FROM clustereval._score_gradients(statistics_1, average_method, beta)
  ),
  gradients_2 AS (
    SELECT * FROM clustereval._score_gradients(statistics_2, average_method, beta)
  ),
  -- Differences with their standard errors and degrees of freedom.
  differences AS (
    SELECT
      one.partition_key, one.place, one.metric,
      one.value AS value_1,
      two.value AS value_2,
      one.value - two.value AS difference,
      CASE
        WHEN totals.total > 1 AND one.value IS NOT NULL AND two.value IS NOT NULL
        THEN sqrt(sums.squares) / totals.total
      END AS std_error,
      clustereval._estimate_freedom(sums.squares, sums.fourths, totals.total) AS freedom,
      clustereval._greatest_value(one.metric, totals.total)
        - clustereval._least_value(one.metric) AS widest,
      totals.total, totals.n_dropped
    FROM clustereval._metric_values(report_1, adjusted) AS one
    JOIN clustereval._metric_values(report_2, adjusted) AS two
      ON two.partition_key IS NOT DISTINCT FROM one.partition_key
      AND two.metric = one.metric
    JOIN statistics_1 AS totals ON totals.partition_key IS NOT DISTINCT FROM one.partition_key
    LEFT JOIN clustereval._squared_differences(
      cells, influences_1, influences_2, gradients_1, gradients_2
    ) AS sums
      ON sums.partition_key IS NOT DISTINCT FROM one.partition_key
      AND sums.metric = one.metric
  ),
  -- The same with half the width of the interval.
  margins AS (
    SELECT
      *,
      CASE
        WHEN std_error = 0 THEN 0.0
        ELSE std_error * sqrt(clustereval._squared_t_quantile(
          freedom, clustereval._normal_quantile(confidence)
        ))
      END AS margin
    FROM differences
  )
  SELECT
    partition_key, place, metric, value_1, value_2, difference, std_error,
    CASE
      WHEN difference - margin < -widest THEN -widest
      ELSE difference - margin
    END AS lower,
    CASE WHEN difference + margin > widest THEN widest ELSE difference + margin END AS upper,
    total AS n,
    n_dropped
  FROM margins;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Differences between the metrics of external_report of two clusterings of the same rows, with
-- paired confidence intervals: one row per partition and metric, in the order of external_report,
-- with partition_key, metric, value_1, value_2, difference (value_1 - value_2), std_error, lower,
-- upper, n (the rows that are compared) and n_dropped (the rows that are not). Rows are compared if
-- they have a label and both clusters, and neither cluster is noise that is left out. All other
-- parameters are those of external_intervals.
-- Examples:
--   FROM clustereval.external_differences(assignments, species, cluster, other);
CREATE OR REPLACE MACRO clustereval.external_differences(
  tbl, label, cluster_1, cluster_2, weight := NULL, partition_by := NULL, noise := NULL,
  noise_as := NULL, average_method := 'arithmetic', beta := 1.0, adjusted := TRUE,
  confidence := 0.95
) AS TABLE
  WITH __ce_pairs AS MATERIALIZED (
    SELECT *
    FROM clustereval._pair_groups(
      tbl, label, cluster_1, cluster_2, weight, partition_by, noise, noise_as
    )
  )
  SELECT
    partition_key, metric, value_1, value_2, difference, std_error, lower, upper, n, n_dropped
  FROM clustereval._score_differences(
    __ce_pairs, noise, noise_as, average_method, beta, adjusted, confidence
  )
  WHERE clustereval._check_options(clustereval._valid_interval_options(
    confidence,
    clustereval._valid_external_options(noise, noise_as, average_method, beta, adjusted)
  ))
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
