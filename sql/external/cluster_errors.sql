-- cluster_errors: the errors of each record and of each true cluster.
--
--   * The true cluster of a record consists of the rows that have its label. Rows that are in the
--     cluster of a record but not in its true cluster are extra. Rows that are in its true cluster
--     but not in its cluster are missing.

-- query_text, a text for _check_options. Raises an error unless count_unlabeled is TRUE or FALSE.
CREATE OR REPLACE MACRO clustereval._valid_count_unlabeled(count_unlabeled, query_text) AS
  CASE
    WHEN typeof(count_unlabeled) <> 'BOOLEAN' OR count_unlabeled IS NULL
    THEN error(concat(
      'count_unlabeled: expected TRUE or FALSE, got ',
      clustereval._show_value(count_unlabeled)
    ))
    ELSE query_text
  END;

-- One row per row of the table tbl: partition_key (the value of partition_by); id; label; cluster;
-- label_size and cluster_size, the numbers of rows of its label and of its cluster; extra, the
-- rows of its cluster that have another label; missing, the rows of its label that are in another
-- cluster; relative_extra = extra / cluster_size; and relative_missing = missing / label_size.
-- label and cluster are the columns of the true class and the assigned cluster, and id a column of
-- row identifiers, by default the row number from 0. noise is the value of cluster that marks
-- noise; noise_as keeps its rows as a 'cluster', leaves them out ('drop') or counts each as a
-- cluster of its own ('singletons'), with cluster NULL. Rows with a NULL label or cluster are left
-- out. If only a sample of the true clusters has labels, pass count_unlabeled := TRUE, so that rows
-- without a label count in cluster_size and extra. Several rows with the same id are an error.
-- Examples:
--   FROM clustereval.record_error_table(assignments, species, cluster, flower);
CREATE OR REPLACE MACRO clustereval.record_error_table(
  tbl, label, cluster, id := CAST(NULL AS BIGINT), partition_by := NULL, noise := NULL,
  noise_as := NULL, count_unlabeled := FALSE
) AS TABLE
  SELECT
    partition_key,
    record.id,
    record.label,
    record.cluster,
    label_size,
    cluster_size,
    cluster_size - n AS extra,
    label_size - n AS missing,
    clustereval._ratio(cluster_size - n, cluster_size) AS relative_extra,
    clustereval._ratio(label_size - n, label_size) AS relative_missing
  FROM clustereval._record_sizes(
    tbl, label, cluster, id, partition_by, noise, noise_as, count_unlabeled
  ) AS record
  WHERE clustereval._check_options(
    clustereval._valid_count_unlabeled(count_unlabeled, clustereval._valid_noise(noise, noise_as))
  )
  ORDER BY partition_key ASC NULLS LAST, 2 ASC NULLS LAST;

-- One row per partition and label, which is a true cluster: partition_key, label, n (its number of
-- rows) and n_clusters; expected_extra, expected_relative_extra, expected_missing and
-- expected_relative_missing, the means over its rows of the columns of record_error_table;
-- error_indicator, 0 if its rows are exactly those of a cluster, else 1; and splitting_entropy,
-- the exponential of the entropy of its clusters. Rows without a label or cluster are left out. If
-- only a sample of the true clusters has labels, pass count_unlabeled := TRUE, so that rows without
-- a label count as extra rows of their cluster. tbl is a table; label (true class), cluster
-- (assigned cluster), weight (a row's multiplicity, 1 if NULL) and partition_by (NULL for one
-- partition of all rows) are its columns; noise is the value of cluster that marks noise; noise_as
-- counts its rows as one 'cluster', leaves them out ('drop') or counts them as 'singletons'.
-- Examples:
--   FROM clustereval.cluster_error_table(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.cluster_error_table(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  count_unlabeled := FALSE
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  label_sizes AS (SELECT * FROM clustereval._label_sizes(cells)),
  unlabeled AS (
    SELECT partition_key, one.cluster, n_dropped AS n_unlabeled
    FROM __ce_groups AS one
    WHERE count_unlabeled AND one.label IS NULL AND one.cluster IS NOT NULL
  ),
  cluster_sizes AS (
    SELECT
      labeled.partition_key,
      labeled.cluster,
      labeled.cluster_size + COALESCE(unlabeled.n_unlabeled, 0) AS cluster_size
    FROM clustereval._cluster_sizes(cells) AS labeled
    LEFT JOIN unlabeled
      ON unlabeled.partition_key IS NOT DISTINCT FROM labeled.partition_key
      AND unlabeled.cluster = labeled.cluster
  ),
  label_sums AS (
    SELECT
      partition_key,
      sized_cells.label,
      label_size,
      CAST(SUM(copies) AS BIGINT) AS n_clusters,
      SUM(clustereval._widen(n) * clustereval._widen(cluster_size - n)) AS extra,
      SUM(clustereval._widen(n * copies) * clustereval._widen(label_size - n)) AS missing,
      clustereval._compensated_sum(
        n * clustereval._ratio(cluster_size - n, cluster_size)
      ) AS relative_extra,
      clustereval._compensated_sum(
        copies * clustereval._ratio(n, label_size)
        * clustereval._log_ratio(label_size, n)
      ) AS entropy
    FROM clustereval._sized_cells(cells, label_sizes, cluster_sizes) AS sized_cells
    GROUP BY partition_key, sized_cells.label, label_size
  )
  SELECT
    partition_key,
    label_sums.label,
    label_size AS n,
    n_clusters,
    clustereval._ratio(extra, label_size) AS expected_extra,
    clustereval._ratio(relative_extra, label_size) AS expected_relative_extra,
    clustereval._ratio(missing, label_size) AS expected_missing,
    clustereval._ratio(clustereval._ratio(missing, label_size), label_size)
      AS expected_relative_missing,
    CAST(CASE WHEN extra = 0 AND missing = 0 THEN 0 ELSE 1 END AS BIGINT) AS error_indicator,
    EXP(entropy) AS splitting_entropy
  FROM label_sums
  WHERE clustereval._check_options(
      clustereval._valid_count_unlabeled(count_unlabeled, clustereval._valid_noise(noise, noise_as))
    )
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  ORDER BY partition_key ASC NULLS LAST, label_sums.label ASC NULLS LAST;
