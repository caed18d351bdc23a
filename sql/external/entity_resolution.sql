-- entity_resolution: the measures of entity resolution, of labels that are known for all records.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- Text of the query SELECT TRUE AS __ce_valid, for _check_options, which runs it before any row is
-- read. Raises an error if an option of entity_resolution_report is invalid. The parameters are
-- the options of the same names, as the user passes them.
CREATE OR REPLACE MACRO clustereval._valid_resolution_options(
  noise, noise_as, split_cost, merge_cost, beta
) AS
  CASE
    WHEN NOT clustereval._is_edit_cost(split_cost)
    THEN error(clustereval._edit_cost_error(split_cost, 'split_cost'))
    WHEN NOT clustereval._is_edit_cost(merge_cost)
    THEN error(clustereval._edit_cost_error(merge_cost, 'merge_cost'))
    WHEN beta IS NULL OR NOT (beta >= 0 AND beta < 1e150)
    THEN error(concat(
      'beta: expected a number >= 0, got ', coalesce(CAST(beta AS VARCHAR), 'NULL')
    ))
    ELSE clustereval._valid_noise(noise, noise_as)
  END;

-- One row per __ce_partition: __ce_cell_remainders and __ce_cell_factorials, the sums over
-- contingency cells of n rows of the remainder of n (see _factorial_remainder) and of ln(n!).
-- __ce_sized_cells is the name of a CTE of the rows of _sized_cells. Equal numbers are summed
-- once.
CREATE OR REPLACE MACRO clustereval._cell_remainder_totals(__ce_sized_cells) AS TABLE
  WITH __ce_cell_histogram AS (
    SELECT __ce_partition, __ce_n, CAST(SUM(__ce_copies) AS DOUBLE) AS __ce_times
    FROM query_table(__ce_sized_cells)
    GROUP BY __ce_partition, __ce_n
  )
  SELECT
    __ce_partition,
    clustereval._compensated_sum(__ce_times * clustereval._factorial_remainder(__ce_n))
      AS __ce_cell_remainders,
    clustereval._compensated_sum(__ce_times * clustereval._log_factorial(__ce_n))
      AS __ce_cell_factorials
  FROM __ce_cell_histogram
  GROUP BY __ce_partition;

-- One row per partition: __ce_partition and the statistics that all measures of
-- entity_resolution_report are computed from: those of _statistics_of_groups, without the expected
-- information and what only class_f_measure and the purities need; those of _lea_totals,
-- _closest_label_totals, _closest_cluster_totals, _cell_remainder_totals and _table_totals.
-- __ce_groups is the name of a CTE of the rows of _row_groups.
CREATE OR REPLACE MACRO clustereval._resolution_totals(__ce_groups) AS TABLE
  WITH __ce_row_counts AS (SELECT * FROM clustereval._row_counts(__ce_groups)),
  __ce_cells AS (SELECT * FROM query_table(__ce_groups) WHERE __ce_copies > 0),
  __ce_label_sizes AS (SELECT *, 1 AS __ce_copies FROM clustereval._label_sizes(__ce_cells)),
  __ce_cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_sized_cells AS (
    SELECT * FROM clustereval._sized_cells(__ce_cells, __ce_label_sizes, __ce_cluster_sizes)
  ),
  __ce_label_totals AS (SELECT * FROM clustereval._label_totals(__ce_label_sizes)),
  __ce_cluster_totals AS (SELECT * FROM clustereval._cluster_totals(__ce_cluster_sizes)),
  __ce_totals AS (
    SELECT
      counts.__ce_partition, counts.__ce_total, counts.__ce_n_dropped, counts.__ce_n_noise,
      labels.__ce_n_labels, labels.__ce_label_pairs,
      clusters.__ce_n_clusters, clusters.__ce_cluster_pairs
    FROM __ce_row_counts AS counts
    LEFT JOIN __ce_label_totals AS labels
      ON labels.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_cluster_totals AS clusters
      ON clusters.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  ),
  __ce_cell_totals AS (SELECT * FROM clustereval._cell_totals(__ce_row_counts, __ce_sized_cells)),
  __ce_lea_totals AS (SELECT * FROM clustereval._lea_totals(__ce_sized_cells)),
  __ce_remainders AS (SELECT * FROM clustereval._cell_remainder_totals(__ce_sized_cells)),
  __ce_closest_labels AS (SELECT * FROM clustereval._closest_label_totals(__ce_sized_cells)),
  __ce_closest_clusters AS (SELECT * FROM clustereval._closest_cluster_totals(__ce_sized_cells)),
  __ce_tables AS (
    SELECT *
    FROM clustereval._table_totals(__ce_label_sizes, __ce_cluster_sizes, __ce_totals)
  )
  SELECT
    totals.*,
    cells.__ce_cell_pairs,
    cells.__ce_hl, cells.__ce_hc, cells.__ce_precision_rows, cells.__ce_recall_rows,
    cells.__ce_similar_rows, cells.__ce_exact_matches,
    clustereval._mutual_information(
      totals.__ce_total, cells.__ce_deviance, cells.__ce_size_products
    ) AS __ce_mi,
    lea.__ce_n_cells, lea.__ce_lea_precision_rows, lea.__ce_lea_recall_rows,
    closest_labels.__ce_closest_labels, closest_clusters.__ce_closest_clusters,
    remainders.__ce_cell_remainders, remainders.__ce_cell_factorials,
    tables.__ce_label_remainders, tables.__ce_cluster_remainders, tables.__ce_log_tables,
    tables.__ce_label_tables, tables.__ce_table_excess, tables.__ce_label_excess,
    tables.__ce_label_factorials
  FROM __ce_totals AS totals
  LEFT JOIN __ce_cell_totals AS cells
    ON cells.__ce_partition IS NOT DISTINCT FROM totals.__ce_partition
  LEFT JOIN __ce_lea_totals AS lea
    ON lea.__ce_partition IS NOT DISTINCT FROM totals.__ce_partition
  LEFT JOIN __ce_remainders AS remainders
    ON remainders.__ce_partition IS NOT DISTINCT FROM totals.__ce_partition
  LEFT JOIN __ce_closest_labels AS closest_labels
    ON closest_labels.__ce_partition IS NOT DISTINCT FROM totals.__ce_partition
  LEFT JOIN __ce_closest_clusters AS closest_clusters
    ON closest_clusters.__ce_partition IS NOT DISTINCT FROM totals.__ce_partition
  LEFT JOIN __ce_tables AS tables
    ON tables.__ce_partition IS NOT DISTINCT FROM totals.__ce_partition;

-- One row per partition: the columns of _resolution_totals, and the numbers of unordered pairs of
-- rows as DOUBLE: __ce_tp (same label and cluster), __ce_fp (same cluster only), __ce_fn (same
-- label only) and __ce_tn (neither); and __ce_reduced, the reduced mutual information. The
-- parameter is that of _resolution_totals.
CREATE OR REPLACE MACRO clustereval._resolution_statistics_of_groups(__ce_groups) AS TABLE
  SELECT
    *,
    CAST(
      clustereval._tp(__ce_total, __ce_cell_pairs, __ce_label_pairs, __ce_cluster_pairs) AS DOUBLE
    ) AS __ce_tp,
    CAST(
      clustereval._fp(__ce_total, __ce_cell_pairs, __ce_label_pairs, __ce_cluster_pairs) AS DOUBLE
    ) AS __ce_fp,
    CAST(
      clustereval._fn(__ce_total, __ce_cell_pairs, __ce_label_pairs, __ce_cluster_pairs) AS DOUBLE
    ) AS __ce_fn,
    CAST(
      clustereval._tn(__ce_total, __ce_cell_pairs, __ce_label_pairs, __ce_cluster_pairs) AS DOUBLE
    ) AS __ce_tn,
    CASE
      WHEN __ce_total > 0
      THEN clustereval._reduced_mutual_info_score(
        __ce_total, __ce_n_labels, __ce_n_clusters, __ce_mi, __ce_cell_remainders,
        __ce_label_remainders, __ce_cluster_remainders, __ce_log_tables, __ce_cell_factorials,
        __ce_table_excess
      )
    END AS __ce_reduced
  FROM clustereval._resolution_totals(__ce_groups);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- The measures of entity resolution of one or many resolutions: one row per partition with
-- partition_key, counts of rows, labels and clusters, and one column per measure, named as its
-- macro. tbl is a table; label (the true entity), cluster (the entity assigned), weight (a row's
-- multiplicity, 1 if NULL) and partition_by (NULL for one partition of all rows) are its columns;
-- noise is the value of cluster that marks noise, which noise_as counts as one 'cluster', leaves
-- out ('drop') or counts as 'singletons'. split_cost and merge_cost are those of
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
  __ce_statistics AS (SELECT * FROM clustereval._resolution_statistics_of_groups(__ce_groups))
  SELECT *
  FROM clustereval._resolution_scores(__ce_statistics, split_cost, merge_cost, beta)
  WHERE clustereval._check_options(
    clustereval._valid_resolution_options(noise, noise_as, split_cost, merge_cost, beta)
  )
  ORDER BY partition_key ASC NULLS LAST;
