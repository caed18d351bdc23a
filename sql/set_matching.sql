-- set_matching: indices that match clusters with labels, and records with the records beside them.

---------------------------------------------------------------------------------------------------
-- Formulas
---------------------------------------------------------------------------------------------------

-- Weighted harmonic mean of precision and recall; beta > 1 weighs recall more.
CREATE OR REPLACE MACRO clustereval._f_score(precision_, recall_, beta) AS
  CASE
    WHEN precision_ + recall_ = 0 THEN 0.0
    ELSE clustereval._ratio(
      (1.0 + beta * beta) * precision_ * recall_, beta * beta * precision_ + recall_
    )
  END;

-- How well a label of a rows and a cluster of b rows match that share n rows.
CREATE OR REPLACE MACRO clustereval._match(n, a, b) AS clustereval._ratio(2 * n, a + b);

-- Rows that must move to turn one partition into the other: those outside the majorities.
CREATE OR REPLACE MACRO clustereval._split_join_distance(n, in_majority_labels, in_majority_clusters) AS
  CAST(2 * n - in_majority_labels - in_majority_clusters AS DOUBLE);

-- One row a partition: rows in majorities, rows weighted by the best match of their label, B-cubed
-- precision and recall summed over rows, and the number of clusters that equal a label.
CREATE OR REPLACE MACRO clustereval._matching_totals(
  __ce_sized_cells, __ce_labels, __ce_clusters
) AS TABLE
  WITH __ce_of_cells AS (
    SELECT
      __ce_partition,
      SUM(__ce_copies * clustereval._ratio(__ce_n, __ce_b) * __ce_n) AS __ce_precision,
      SUM(__ce_copies * clustereval._ratio(__ce_n, __ce_a) * __ce_n) AS __ce_recall,
      SUM(CASE WHEN __ce_n = __ce_a AND __ce_n = __ce_b THEN __ce_copies ELSE 0 END) AS __ce_exact
    FROM query_table(__ce_sized_cells)
    GROUP BY __ce_partition
  ),
  __ce_best_matches AS (
    SELECT __ce_partition, MAX(__ce_a) * MAX(clustereval._match(__ce_n, __ce_a, __ce_b)) AS __ce_matched
    FROM query_table(__ce_sized_cells)
    GROUP BY __ce_partition, __ce_label
  ),
  __ce_matches AS (
    SELECT __ce_partition, SUM(__ce_matched) AS __ce_matched
    FROM __ce_best_matches
    GROUP BY __ce_partition
  ),
  __ce_of_labels AS (
    SELECT __ce_partition, SUM(__ce_majority_n) AS __ce_in_majority_labels
    FROM query_table(__ce_labels)
    GROUP BY __ce_partition
  ),
  __ce_of_clusters AS (
    SELECT __ce_partition, SUM(__ce_majority_n * __ce_copies) AS __ce_in_majority_clusters
    FROM query_table(__ce_clusters)
    GROUP BY __ce_partition
  )
  SELECT
    __ce_x.*,
    __ce_m.__ce_matched,
    __ce_l.__ce_in_majority_labels,
    __ce_c.__ce_in_majority_clusters
  FROM __ce_of_cells AS __ce_x
  JOIN __ce_matches AS __ce_m ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
  JOIN __ce_of_labels AS __ce_l ON __ce_l.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
  JOIN __ce_of_clusters AS __ce_c ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every record: the share of its cluster, and of its label, that lies with it in both.
-- Examples:
--   FROM clustereval.bcubed_samples(assignments, species, cluster, flower);
CREATE OR REPLACE MACRO clustereval.bcubed_samples(
  tbl, label, cluster, id := CAST(NULL AS BIGINT), partition_by := NULL, noise := NULL,
  noise_as := 'cluster'
) AS TABLE
  WITH __ce_rows AS (
    SELECT
      clustereval._checked_column(partition_by, 'partition_by') AS __ce_partition,
      clustereval._checked_column(label, 'label') AS __ce_label,
      clustereval._checked_column(cluster, 'cluster') AS __ce_cluster,
      clustereval._checked_column(id, 'id') AS __ce_id,
      clustereval._is_default_id(id) AS __ce_unnamed,
      ROW_NUMBER() OVER () - 1 AS __ce_number
    FROM query_table(tbl)
  ),
  __ce_flagged AS (
    SELECT
      *,
      coalesce(__ce_cluster = clustereval._checked_noise(noise, __ce_cluster), FALSE) AS __ce_noisy
    FROM __ce_rows
    WHERE __ce_label IS NOT NULL AND __ce_cluster IS NOT NULL
  ),
  __ce_kept AS (
    SELECT *, __ce_noisy AND noise_as = 'singletons' AS __ce_alone
    FROM __ce_flagged
    WHERE NOT (__ce_noisy AND noise_as = 'drop')
  ),
  __ce_counted AS (
    SELECT
      *,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_label) AS __ce_a,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_cluster) AS __ce_b,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_label, __ce_cluster) AS __ce_n
    FROM __ce_kept
  )
  SELECT
    __ce_partition AS partition_key,
    CASE WHEN __ce_unnamed THEN clustereval._number_as_id(__ce_number, __ce_id) ELSE __ce_id END AS id,
    __ce_label AS label,
    CASE WHEN __ce_alone THEN NULL ELSE __ce_cluster END AS cluster,
    CASE WHEN __ce_alone THEN 1.0 ELSE clustereval._ratio(__ce_n, __ce_b) END AS bcubed_precision,
    clustereval._ratio(CASE WHEN __ce_alone THEN 1 ELSE __ce_n END, __ce_a) AS bcubed_recall
  FROM __ce_counted
  WHERE clustereval._checked_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY 1, 2;
COMMENT ON MACRO TABLE clustereval.bcubed_samples IS
'One row a record: bcubed_precision, the share of its cluster that has its label, and bcubed_recall, the share of its label that is in its cluster. id is the row number from 0 where none is given. Their means are bcubed_precision and bcubed_recall. A noise row counted as a singleton has cluster NULL. Source: Bagga and Baldwin (1998), Algorithms for scoring coreference chains.';
