-- cluster_errors: the errors of single records and of single true clusters.
--
--   * The true cluster of a record is the rows that have its label. What is extra is in the cluster
--     of a record and not in its true cluster; what is missing is the other way round.

-- query_text, the text of a query that _check_options will run, unchanged. Raises an error unless
-- count_unlabeled, an option of the tables of errors, is TRUE or FALSE.
CREATE OR REPLACE MACRO clustereval._valid_count_unlabeled(count_unlabeled, query_text) AS
  CASE
    WHEN typeof(count_unlabeled) <> 'BOOLEAN' OR count_unlabeled IS NULL
    THEN error(concat(
      'count_unlabeled: expected TRUE or FALSE, got ',
      coalesce(CAST(count_unlabeled AS VARCHAR), 'NULL')
    ))
    ELSE query_text
  END;

-- One row per row of the table tbl: partition_key (the value of partition_by), id, label, cluster,
-- label_size and cluster_size, the numbers of rows of its label and of its cluster, extra, the rows
-- of its cluster that have another label, missing, the rows of its label that are in another
-- cluster, relative_extra = extra / cluster_size and relative_missing = missing / label_size. label
-- and cluster are the columns of the true class and the assigned cluster, and id a column of row
-- identifiers, by default the row number from 0. noise is the value of cluster that marks noise,
-- which noise_as ('cluster', 'drop' or 'singletons') keeps as a cluster, leaves out, or counts as
-- one cluster per row, with cluster NULL. Rows with a NULL label or cluster are left out; with
-- count_unlabeled := TRUE those without a label count in cluster_size and extra, for labels of a
-- sample of the true clusters. Several rows of one id are an error.
-- Examples:
--   FROM clustereval.record_error_table(assignments, species, cluster, flower);
CREATE OR REPLACE MACRO clustereval.record_error_table(
  tbl, label, cluster, id := CAST(NULL AS BIGINT), partition_by := NULL, noise := NULL,
  noise_as := NULL, count_unlabeled := FALSE
) AS TABLE
  WITH __ce_records AS (
    SELECT *
    FROM clustereval._record_sizes(
      tbl, label, cluster, id, partition_by, noise, noise_as, count_unlabeled
    )
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_id AS id,
    __ce_label AS label,
    __ce_cluster AS cluster,
    __ce_label_size AS label_size,
    __ce_cluster_size AS cluster_size,
    __ce_cluster_size - __ce_n AS extra,
    __ce_label_size - __ce_n AS missing,
    clustereval._ratio(__ce_cluster_size - __ce_n, __ce_cluster_size) AS relative_extra,
    clustereval._ratio(__ce_label_size - __ce_n, __ce_label_size) AS relative_missing
  FROM __ce_records
  WHERE clustereval._check_options(
    clustereval._valid_count_unlabeled(
      count_unlabeled, clustereval._valid_noise(noise, noise_as)
    )
  )
  ORDER BY partition_key ASC NULLS LAST, 2 ASC NULLS LAST;

-- One row per partition and label, which is a true cluster: partition_key, label, n (its number of
-- rows) and n_clusters; expected_extra, expected_relative_extra, expected_missing and
-- expected_relative_missing, the means over its rows of the columns of record_error_table;
-- error_indicator, 0 if its rows are exactly those of a cluster, else 1; and splitting_entropy, the
-- exponential of the entropy of its clusters. Rows without a label or cluster are left out; with
-- count_unlabeled := TRUE those without a label count as extra rows of their cluster, for labels of
-- a sample of the true clusters. tbl is a table; label (true class), cluster (assigned cluster),
-- weight (a row's multiplicity, 1 if NULL) and partition_by (NULL for one partition of all rows)
-- are its columns; noise is the value of cluster that marks noise, which noise_as counts as one
-- 'cluster', leaves out ('drop') or counts as 'singletons'.
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
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_label_sizes AS (SELECT * FROM clustereval._label_sizes(__ce_cells)),
  __ce_labeled_sizes AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_unlabeled AS (
    SELECT __ce_partition, __ce_cluster, __ce_n_dropped AS __ce_n_unlabeled
    FROM __ce_groups
    WHERE count_unlabeled AND __ce_label IS NULL AND __ce_cluster IS NOT NULL
  ),
  __ce_cluster_sizes AS (
    SELECT
      labeled.__ce_partition,
      labeled.__ce_cluster,
      labeled.__ce_cluster_size + COALESCE(unlabeled.__ce_n_unlabeled, 0) AS __ce_cluster_size
    FROM __ce_labeled_sizes AS labeled
    LEFT JOIN __ce_unlabeled AS unlabeled
      ON unlabeled.__ce_partition IS NOT DISTINCT FROM labeled.__ce_partition
      AND unlabeled.__ce_cluster = labeled.__ce_cluster
  ),
  __ce_sized_cells AS (
    SELECT *
    FROM clustereval._sized_cells(__ce_cells, __ce_label_sizes, __ce_cluster_sizes)
  ),
  __ce_label_sums AS (
    SELECT
      __ce_partition,
      __ce_label,
      __ce_label_size,
      CAST(SUM(__ce_copies) AS BIGINT) AS __ce_n_clusters,
      SUM(
        clustereval._widen(__ce_n) * clustereval._widen(__ce_cluster_size - __ce_n)
      ) AS __ce_extra,
      SUM(
        clustereval._widen(__ce_n * __ce_copies) * clustereval._widen(__ce_label_size - __ce_n)
      ) AS __ce_missing,
      clustereval._compensated_sum(
        __ce_n * clustereval._ratio(__ce_cluster_size - __ce_n, __ce_cluster_size)
      ) AS __ce_relative_extra,
      clustereval._compensated_sum(
        __ce_copies * clustereval._ratio(__ce_n, __ce_label_size)
        * clustereval._log_ratio(__ce_label_size, __ce_n)
      ) AS __ce_entropy
    FROM __ce_sized_cells
    GROUP BY __ce_partition, __ce_label, __ce_label_size
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_label AS label,
    __ce_label_size AS n,
    __ce_n_clusters AS n_clusters,
    clustereval._ratio(__ce_extra, __ce_label_size) AS expected_extra,
    clustereval._ratio(__ce_relative_extra, __ce_label_size) AS expected_relative_extra,
    clustereval._ratio(__ce_missing, __ce_label_size) AS expected_missing,
    clustereval._ratio(clustereval._ratio(__ce_missing, __ce_label_size), __ce_label_size)
      AS expected_relative_missing,
    CAST(CASE WHEN __ce_extra = 0 AND __ce_missing = 0 THEN 0 ELSE 1 END AS BIGINT)
      AS error_indicator,
    EXP(__ce_entropy) AS splitting_entropy
  FROM __ce_label_sums
  WHERE clustereval._check_options(
      clustereval._valid_count_unlabeled(
        count_unlabeled, clustereval._valid_noise(noise, noise_as)
      )
    )
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  ORDER BY __ce_partition ASC NULLS LAST, __ce_label ASC NULLS LAST;
