-- entity_resolution: the measures of entity resolution, if the labels of all records are known.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- Text for _check_options, or the error of an option of entity_resolution_report.
CREATE OR REPLACE MACRO clustereval._valid_resolution_options(
  noise, noise_as, split_cost, merge_cost, beta
) AS
  CASE
    WHEN NOT clustereval._is_edit_cost(split_cost)
    THEN error(clustereval._edit_cost_error(split_cost, 'split_cost'))
    WHEN NOT clustereval._is_edit_cost(merge_cost)
    THEN error(clustereval._edit_cost_error(merge_cost, 'merge_cost'))
    ELSE clustereval._valid_beta(beta, clustereval._valid_noise(noise, noise_as))
  END;

-- One row per partition_key with sums over its cells: cell_remainders and cell_factorials, the sums
-- of _factorial_remainder(n) and of ln(n!) over the cells. Equal numbers are summed once.
CREATE OR REPLACE MACRO clustereval._cell_remainder_totals(sized_cells) AS TABLE
  -- Numbers of cells by partition and number of rows.
  WITH cell_histogram AS (
    SELECT partition_key, n, CAST(SUM(copies) AS DOUBLE) AS times
    FROM query_table(sized_cells)
    GROUP BY partition_key, n
  )
  SELECT
    partition_key,
    clustereval._compensated_sum(times * clustereval._factorial_remainder(n)) AS cell_remainders,
    clustereval._compensated_sum(times * clustereval._log_factorial(n)) AS cell_factorials
  FROM cell_histogram
  GROUP BY partition_key;

-- One row per partition with the statistics of its measures: partition_key and the statistics from
-- which all measures of entity_resolution_report are computed: those of _statistics_of_groups,
-- except for the expected information and what only class_f_measure and the purities need; the
-- columns of the macros that are joined; and reduced, the reduced mutual information.
CREATE OR REPLACE MACRO clustereval._resolution_statistics_of_groups(groups) AS TABLE
  WITH row_counts AS (SELECT * FROM clustereval._row_counts(groups)),
  -- The groups that are scored, which are the cells of the contingency table.
  cells AS (SELECT * FROM query_table(groups) WHERE copies > 0),
  label_sizes AS (SELECT *, 1 AS copies FROM clustereval._label_sizes(cells)),
  cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  sized_cells AS (SELECT * FROM clustereval._sized_cells(cells, label_sizes, cluster_sizes)),
  -- One row per partition with its numbers of rows, labels and clusters, and of their pairs.
  totals AS (
    SELECT
      counts.partition_key, counts.total, counts.n_dropped, counts.n_noise,
      labels.n_labels, labels.label_pairs, clusters.n_clusters, clusters.cluster_pairs
    FROM row_counts AS counts
    LEFT JOIN clustereval._label_totals(label_sizes) AS labels
      ON labels.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._cluster_totals(cluster_sizes) AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
  ),
  tables AS (SELECT * FROM clustereval._table_totals(label_sizes, cluster_sizes, totals)),
  -- The same with the sums over cells, labels and clusters.
  sums AS (
    SELECT
      totals.*,
      cells.cell_pairs,
      cells.label_entropy_given_cluster, cells.cluster_entropy_given_label, cells.precision_rows,
      cells.recall_rows, cells.similar_rows, cells.exact_matches,
      clustereval._mutual_information(totals.total, cells.deviance, cells.size_products) AS mi,
      lea.n_cells, lea.lea_precision_rows, lea.lea_recall_rows,
      closest_labels.closest_labels, closest_clusters.closest_clusters,
      remainders.cell_remainders, remainders.cell_factorials,
      tables.label_remainders, tables.cluster_remainders, tables.log_tables,
      tables.label_tables, tables.table_excess, tables.label_excess, tables.label_factorials
    FROM totals
    LEFT JOIN clustereval._cell_totals(row_counts, sized_cells) AS cells
      ON cells.partition_key IS NOT DISTINCT FROM totals.partition_key
    LEFT JOIN clustereval._lea_totals(sized_cells) AS lea
      ON lea.partition_key IS NOT DISTINCT FROM totals.partition_key
    LEFT JOIN clustereval._cell_remainder_totals(sized_cells) AS remainders
      ON remainders.partition_key IS NOT DISTINCT FROM totals.partition_key
    LEFT JOIN clustereval._closest_label_totals(sized_cells) AS closest_labels
      ON closest_labels.partition_key IS NOT DISTINCT FROM totals.partition_key
    LEFT JOIN clustereval._closest_cluster_totals(sized_cells) AS closest_clusters
      ON closest_clusters.partition_key IS NOT DISTINCT FROM totals.partition_key
    LEFT JOIN tables ON tables.partition_key IS NOT DISTINCT FROM totals.partition_key
  )
  SELECT
    *,
    CAST(clustereval._tp(total, cell_pairs, label_pairs, cluster_pairs) AS DOUBLE) AS tp,
    CAST(clustereval._fp(total, cell_pairs, label_pairs, cluster_pairs) AS DOUBLE) AS fp,
    CAST(clustereval._fn(total, cell_pairs, label_pairs, cluster_pairs) AS DOUBLE) AS fn,
    CAST(clustereval._tn(total, cell_pairs, label_pairs, cluster_pairs) AS DOUBLE) AS tn,
    CASE
      WHEN total > 0
      THEN clustereval._reduced_mutual_info_score(
        total, n_labels, n_clusters, mi, cell_remainders,
        label_remainders, cluster_remainders, log_tables, cell_factorials, table_excess
      )
    END AS reduced
  FROM sums;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- The measures of entity resolution of one or many resolutions: one row per partition with
-- partition_key, counts of rows, labels and clusters, and one column per measure, named as its
-- macro. tbl is a table; label (the true entity), cluster (the entity assigned), weight (a row's
-- multiplicity, 1 if NULL) and partition_by (NULL for one partition of all rows) are its columns;
-- noise is the value of cluster that marks noise; noise_as counts its rows as one 'cluster',
-- leaves them out ('drop') or counts them as 'singletons'. split_cost and merge_cost are those of
-- generalized_merge_distance: 'unit', 'product' or 'entropy'. beta weighs recall in the F scores.
-- Examples:
--   FROM clustereval.entity_resolution_report(assignments, species, cluster);
--   FROM clustereval.entity_resolution_report(
--     assignments, species, cluster, split_cost := 'product', merge_cost := 'unit'
--   );
CREATE OR REPLACE MACRO clustereval.entity_resolution_report(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  split_cost := 'unit', merge_cost := 'unit', beta := 1.0
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  statistics AS (SELECT * FROM clustereval._resolution_statistics_of_groups(__ce_groups))
  SELECT *
  FROM clustereval._resolution_scores(statistics, split_cost, merge_cost, beta)
  WHERE clustereval._check_options(
    clustereval._valid_resolution_options(noise, noise_as, split_cost, merge_cost, beta)
  )
  ORDER BY partition_key ASC NULLS LAST;
