-- report: every external metric at once, and the reports by cluster, by label and by row.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- Text of the query SELECT TRUE AS __ce_valid, for _check_options, which runs it before any row is
-- read. Raises an error if an option of external_report is invalid, or two of them in combination.
-- The parameters are the options of the same names, as the user passes them.
CREATE OR REPLACE MACRO clustereval._valid_external_options(
  noise, noise_as, average_method, beta, adjusted
) AS
  CASE
    WHEN coalesce(average_method, '') NOT IN ('arithmetic', 'geometric', 'min', 'max', 'joint')
    THEN error(concat(
      'average_method: expected one of ''arithmetic'', ''geometric'', ''min'', ''max'', ''joint''',
      ', got ', coalesce('''' || average_method || '''', 'NULL')
    ))
    WHEN average_method = 'joint' AND adjusted
    THEN error(
      'average_method ''joint'' has no adjusted form: use adjusted := false, or another average'
    )
    WHEN beta IS NULL OR NOT (beta >= 0 AND beta < 1e150)
    THEN error(concat(
      'beta: expected a number >= 0, got ', coalesce(CAST(beta AS VARCHAR), 'NULL')
    ))
    ELSE clustereval._valid_noise(noise, noise_as)
  END;

-- One row per partition: __ce_partition and sums over its cells (label, cluster), in which a cell
-- counts __ce_copies times (the number of equal cells that it stands for: noise rows counted as
-- singletons). __ce_cell_pairs: ordered pairs of rows in one cell. __ce_size_products: label size
-- x cluster size. __ce_links: triples of a row, another row of its label and another row of its
-- cluster. __ce_deviance: n ln(n / m) + m - n, where n is the rows of a cell and m their expected
-- number if label and cluster were independent; the difference n - m is computed from integers.
-- __ce_hl and __ce_hc: entropy of the label given the cluster, and of the cluster given the label.
-- __ce_precision_rows, __ce_recall_rows and __ce_similar_rows: B-cubed precision, B-cubed recall
-- and element-centric similarity, summed over rows. __ce_exact_matches: labels that have the same
-- rows as a cluster. __ce_row_counts names a table with one row per partition (__ce_total, its
-- number of rows), __ce_sized_cells one with one row per cell (__ce_n rows, __ce_copies,
-- __ce_label_size, __ce_cluster_size).
CREATE OR REPLACE MACRO clustereval._cell_totals(__ce_row_counts, __ce_sized_cells) AS TABLE
  WITH __ce_products AS (
    SELECT
      cell.__ce_partition,
      cell.__ce_copies,
      cell.__ce_n,
      cell.__ce_label_size,
      cell.__ce_cluster_size,
      CAST(counts.__ce_total AS DOUBLE) AS __ce_total,
      CAST(cell.__ce_n AS DOUBLE) AS __ce_rows,
      CAST(cell.__ce_label_size AS DOUBLE) * CAST(cell.__ce_cluster_size AS DOUBLE)
        AS __ce_scaled_mean,
      clustereval._widen(cell.__ce_label_size) * clustereval._widen(cell.__ce_cluster_size)
        AS __ce_size_product,
      clustereval._widen(cell.__ce_n) * clustereval._widen(counts.__ce_total) AS __ce_scaled_n
    FROM query_table(__ce_sized_cells) AS cell
    JOIN query_table(__ce_row_counts) AS counts
      ON counts.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
  ),
  __ce_differences AS (
    SELECT
      *,
      __ce_scaled_mean / __ce_total AS __ce_mean,
      CAST(__ce_scaled_n - __ce_size_product AS DOUBLE) AS __ce_scaled_difference
    FROM __ce_products
  ),
  __ce_relative_differences AS (
    SELECT
      *,
      __ce_scaled_difference / (__ce_rows * __ce_total + __ce_scaled_mean)
        AS __ce_relative_difference
    FROM __ce_differences
  ),
  __ce_cell_terms AS (
    SELECT
      __ce_partition, __ce_copies, __ce_n, __ce_label_size, __ce_cluster_size, __ce_size_product,
      clustereval._cell_links(__ce_n, __ce_label_size, __ce_cluster_size) AS __ce_links,
      clustereval._deviance(
        __ce_rows, __ce_mean, __ce_scaled_difference / __ce_total, __ce_relative_difference
      ) AS __ce_deviance,
      __ce_rows / __ce_total * clustereval._log_ratio(__ce_cluster_size, __ce_n) AS __ce_hl,
      __ce_rows / __ce_total * clustereval._log_ratio(__ce_label_size, __ce_n) AS __ce_hc,
      __ce_rows * clustereval._ratio(__ce_n, __ce_cluster_size) AS __ce_precision_rows,
      __ce_rows * clustereval._ratio(__ce_n, __ce_label_size) AS __ce_recall_rows,
      __ce_rows * clustereval._element_similarity(__ce_n, __ce_label_size, __ce_cluster_size)
        AS __ce_similar_rows
    FROM __ce_relative_differences
  )
  SELECT
    __ce_partition,
    SUM(clustereval._widen(__ce_n) * ((__ce_n - 1) * __ce_copies)) AS __ce_cell_pairs,
    SUM(CASE WHEN __ce_copies = 1 THEN __ce_size_product ELSE __ce_size_product * __ce_copies END)
      AS __ce_size_products,
    clustereval._compensated_sum(__ce_links * __ce_copies) AS __ce_links,
    clustereval._compensated_sum(__ce_deviance * __ce_copies) AS __ce_deviance,
    clustereval._compensated_sum(__ce_hl * __ce_copies) AS __ce_hl,
    clustereval._compensated_sum(__ce_hc * __ce_copies) AS __ce_hc,
    clustereval._compensated_sum(__ce_precision_rows * __ce_copies) AS __ce_precision_rows,
    clustereval._compensated_sum(__ce_recall_rows * __ce_copies) AS __ce_recall_rows,
    clustereval._compensated_sum(__ce_similar_rows * __ce_copies) AS __ce_similar_rows,
    SUM(
      CASE
        WHEN __ce_n = __ce_label_size AND __ce_n = __ce_cluster_size THEN __ce_copies
        ELSE 0
      END
    ) AS __ce_exact_matches
  FROM __ce_cell_terms
  GROUP BY __ce_partition;

-- One row per partition: __ce_partition and the statistics that all metrics of external_report are
-- computed from. Rows: __ce_total (those evaluated: neither dropped nor left out as noise),
-- __ce_n_dropped (label or cluster NULL) and __ce_n_noise (all noise). Labels and clusters:
-- __ce_n_labels, __ce_n_clusters. Pairs of rows: __ce_tp, __ce_fp, __ce_fn, __ce_tn and
-- __ce_fn_minus_fp, unordered, as DOUBLE, and __ce_links (see _cell_totals). Information in nats:
-- __ce_mi (mutual information), __ce_hl (entropy of the label given the cluster), __ce_hc (of the
-- cluster given the label), and their expectations for random labelings, __ce_emi, __ce_ehl and
-- __ce_ehc, NULL if adjusted is FALSE. Matching: __ce_in_majority_labels (rows with the majority
-- label of their cluster), __ce_in_majority_clusters (rows in the majority cluster of their
-- label), __ce_matched_rows (sum over labels of size x best F1 score with a cluster),
-- __ce_precision_rows, __ce_recall_rows and __ce_similar_rows (sums over rows of B-cubed
-- precision, B-cubed recall and element-centric similarity), and __ce_exact_matches (clusters that
-- equal a label). __ce_groups is the name of a CTE of the rows of _row_groups.
CREATE OR REPLACE MACRO clustereval._statistics_of_groups(__ce_groups, adjusted) AS TABLE
  WITH __ce_row_counts AS (SELECT * FROM clustereval._row_counts(__ce_groups)),
  __ce_cells AS (SELECT * FROM query_table(__ce_groups) WHERE __ce_copies > 0),
  __ce_label_sizes AS (SELECT *, 1 AS __ce_copies FROM clustereval._label_sizes(__ce_cells)),
  __ce_cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_sized_cells AS (
    SELECT * FROM clustereval._sized_cells(__ce_cells, __ce_label_sizes, __ce_cluster_sizes)
  ),
  __ce_label_totals AS (SELECT * FROM clustereval._label_totals(__ce_label_sizes)),
  __ce_cluster_totals AS (SELECT * FROM clustereval._cluster_totals(__ce_cluster_sizes)),
  __ce_cell_totals AS (SELECT * FROM clustereval._cell_totals(__ce_row_counts, __ce_sized_cells)),
  __ce_match_totals AS (SELECT * FROM clustereval._match_totals(__ce_sized_cells)),
  __ce_expected_totals AS (
    SELECT *
    FROM clustereval._expected_totals(
      __ce_row_counts, __ce_label_sizes, __ce_cluster_sizes, adjusted
    )
  ),
  __ce_totals AS (
    SELECT
      counts.__ce_partition, counts.__ce_total, counts.__ce_n_dropped, counts.__ce_n_noise,
      labels.__ce_n_labels, labels.__ce_label_pairs, labels.__ce_in_majority_clusters,
      clusters.__ce_n_clusters, clusters.__ce_cluster_pairs, clusters.__ce_in_majority_labels,
      cells.__ce_cell_pairs, cells.__ce_links, cells.__ce_deviance, cells.__ce_size_products,
      cells.__ce_hl, cells.__ce_hc, cells.__ce_exact_matches,
      cells.__ce_precision_rows, cells.__ce_recall_rows, cells.__ce_similar_rows,
      matches.__ce_matched_rows,
      expected.__ce_emi, expected.__ce_ehl, expected.__ce_ehc
    FROM __ce_row_counts AS counts
    LEFT JOIN __ce_label_totals AS labels
      ON labels.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_cluster_totals AS clusters
      ON clusters.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_cell_totals AS cells
      ON cells.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_match_totals AS matches
      ON matches.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_expected_totals AS expected
      ON expected.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  )
  SELECT
    __ce_partition, __ce_total, __ce_n_dropped, __ce_n_noise, __ce_n_labels, __ce_n_clusters,
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
    CAST(clustereval._halve(__ce_label_pairs - __ce_cluster_pairs) AS DOUBLE) AS __ce_fn_minus_fp,
    __ce_links,
    clustereval._mutual_information(__ce_total, __ce_deviance, __ce_size_products) AS __ce_mi,
    __ce_hl, __ce_hc, __ce_emi, __ce_ehl, __ce_ehc,
    __ce_in_majority_labels, __ce_in_majority_clusters, __ce_matched_rows,
    __ce_precision_rows, __ce_recall_rows, __ce_similar_rows, __ce_exact_matches
  FROM __ce_totals;

-- One row per partition: the columns of _statistics_of_groups, for the parameters of
-- external_report.
CREATE OR REPLACE MACRO clustereval._external_statistics(
  tbl, label, cluster, weight, partition_by, noise, noise_as, adjusted
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  )
  SELECT * FROM clustereval._statistics_of_groups(__ce_groups, adjusted);

-- One row per partition: all columns of external_report, from its parameters, which are not checked
-- here. If adjusted is FALSE, adjusted_mutual_info_score and expected_mutual_info are NULL.
-- external_report selects from this macro and drops those two columns by COLUMNS, which only DuckDB
-- has; to_sql translates this macro for other engines.
CREATE OR REPLACE MACRO clustereval._external_report(
  tbl, label, cluster, weight, partition_by, noise, noise_as, average_method, beta, adjusted
) AS TABLE
  WITH __ce_statistics AS (
    SELECT *
    FROM clustereval._external_statistics(
      tbl, label, cluster, weight, partition_by, noise, noise_as, adjusted
    )
  )
  SELECT * FROM clustereval._scores_of_statistics(__ce_statistics, average_method, beta);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every external metric of one or many clusterings: one row per partition with partition_key,
-- counts of rows, labels and clusters, and one column per metric, named as its macro. tbl is a
-- table; label (true class), cluster (assigned cluster), weight (a row's multiplicity, 1 if NULL)
-- and partition_by (NULL for one partition of all rows) are its columns; noise is the value of
-- cluster that marks noise, which noise_as counts as one 'cluster', leaves out ('drop') or counts
-- as 'singletons'. average_method names the mean of the entropies in the normalized and the
-- adjusted mutual information ('arithmetic', 'geometric', 'min' or 'max'; 'joint', the joint
-- entropy, needs adjusted := FALSE). beta weighs recall in F measures and completeness in the V
-- measure. adjusted := FALSE leaves out adjusted_mutual_info_score and expected_mutual_info, the
-- slowest ones.
-- Examples:
--   FROM clustereval.external_report(assignments, species, cluster);
--   FROM clustereval.external_report(
--     assignments, species, cluster, noise := -1, noise_as := 'drop'
--   );
CREATE OR REPLACE MACRO clustereval.external_report(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  average_method := 'arithmetic', beta := 1.0, adjusted := TRUE
) AS TABLE
  SELECT COLUMNS(
    lambda __ce_column: adjusted
      OR __ce_column NOT IN ('adjusted_mutual_info_score', 'expected_mutual_info')
  )
  FROM clustereval._external_report(
    tbl, label, cluster, weight, partition_by, noise, noise_as, average_method, beta, adjusted
  )
  WHERE clustereval._check_options(
    clustereval._valid_external_options(noise, noise_as, average_method, beta, adjusted)
  )
  ORDER BY partition_key ASC NULLS LAST;

-- One row per partition and cluster: partition_key, cluster, n rows, n_labels, majority_label,
-- majority_n, purity, entropy (of its labels, in nats) and joined_pairs (pairs of its rows with
-- different labels). tbl is a table; label (true class), cluster (assigned cluster), weight (a
-- row's multiplicity, 1 if NULL) and partition_by (NULL for one partition of all rows) are its
-- columns; noise is the value of cluster that marks noise, which noise_as counts as one 'cluster',
-- leaves out ('drop') or counts as 'singletons'.
-- Examples:
--   FROM clustereval.external_cluster_report(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.external_cluster_report(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells))
  SELECT
    clusters.__ce_partition AS partition_key,
    clusters.__ce_cluster AS cluster,
    MAX(clusters.__ce_cluster_size) AS n,
    MAX(clusters.__ce_n_cells) AS n_labels,
    MIN(CASE
      WHEN clusters.__ce_cluster IS NOT NULL AND cell.__ce_n = clusters.__ce_cluster_majority_n
      THEN cell.__ce_label
    END) AS majority_label,
    MAX(clusters.__ce_cluster_majority_n) AS majority_n,
    clustereval._ratio(MAX(clusters.__ce_cluster_majority_n), MAX(clusters.__ce_cluster_size))
      AS purity,
    clustereval._compensated_sum(
      clustereval._ratio(cell.__ce_n, clusters.__ce_cluster_size)
      * clustereval._log_ratio(clusters.__ce_cluster_size, cell.__ce_n)
    ) AS entropy,
    clustereval._count_pairs(MAX(clusters.__ce_cluster_size))
      - SUM(clustereval._count_pairs(cell.__ce_n)) AS joined_pairs
  FROM __ce_cluster_sizes AS clusters
  JOIN __ce_cells AS cell
    ON cell.__ce_partition IS NOT DISTINCT FROM clusters.__ce_partition
    AND cell.__ce_cluster IS NOT DISTINCT FROM clusters.__ce_cluster
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  GROUP BY clusters.__ce_partition, clusters.__ce_cluster
  ORDER BY clusters.__ce_partition ASC NULLS LAST, clusters.__ce_cluster ASC NULLS LAST;

-- One row per partition and label: partition_key, label, n (its number of rows), n_clusters,
-- majority_cluster (with most of them, the lowest of equals), majority_n (how many), recall =
-- majority_n / n, entropy (of its clusters, in nats) and split_pairs (pairs of its rows in
-- different clusters). Rows without a label or cluster are left out. tbl is a table; label (true
-- class), cluster (assigned cluster), weight (by which all rows are counted; NULL, the default: as
-- one each) and partition_by (NULL for one partition of all rows) are its
-- columns; noise is the value of cluster that marks noise, which noise_as counts as one 'cluster',
-- leaves out ('drop') or counts as 'singletons'.
-- Examples:
--   FROM clustereval.external_label_report(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.external_label_report(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_label_sizes AS (SELECT * FROM clustereval._label_sizes(__ce_cells))
  SELECT
    labels.__ce_partition AS partition_key,
    labels.__ce_label AS label,
    MAX(labels.__ce_label_size) AS n,
    MAX(labels.__ce_n_cells) AS n_clusters,
    MIN(CASE WHEN cell.__ce_n = labels.__ce_label_majority_n THEN cell.__ce_cluster END)
      AS majority_cluster,
    MAX(labels.__ce_label_majority_n) AS majority_n,
    clustereval._ratio(MAX(labels.__ce_label_majority_n), MAX(labels.__ce_label_size)) AS recall,
    clustereval._compensated_sum(
      cell.__ce_copies * clustereval._ratio(cell.__ce_n, labels.__ce_label_size)
      * clustereval._log_ratio(labels.__ce_label_size, cell.__ce_n)
    ) AS entropy,
    clustereval._count_pairs(MAX(labels.__ce_label_size))
      - SUM(clustereval._count_pairs(cell.__ce_n)) AS split_pairs
  FROM __ce_label_sizes AS labels
  JOIN __ce_cells AS cell
    ON cell.__ce_partition IS NOT DISTINCT FROM labels.__ce_partition
    AND cell.__ce_label = labels.__ce_label
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  GROUP BY labels.__ce_partition, labels.__ce_label
  ORDER BY labels.__ce_partition ASC NULLS LAST, labels.__ce_label ASC NULLS LAST;

-- One row, __ce_n_faults = 0. Raises an error if an id has several rows in a partition.
-- __ce_records names a CTE with a row for each record that counts: __ce_partition and __ce_id, NULL
-- without ids.
CREATE OR REPLACE MACRO clustereval._check_record_ids(__ce_records) AS TABLE
  WITH __ce_repeated_ids AS (
    SELECT __ce_id
    FROM query_table(__ce_records)
    WHERE __ce_id IS NOT NULL
    GROUP BY __ce_partition, __ce_id
    HAVING COUNT(*) > 1
  ),
  __ce_twice AS (SELECT MIN(__ce_id) AS __ce_id FROM __ce_repeated_ids)
  SELECT CASE
    WHEN __ce_id IS NOT NULL
    THEN error(concat(
      'id: expected one row per id, got several rows of id ',
      clustereval._show_value(__ce_id), clustereval._repeated_id_advice()
    ))
    ELSE 0
  END AS __ce_n_faults
  FROM __ce_twice;

-- One row per row of the table tbl that counts: __ce_partition, __ce_id, __ce_label, __ce_cluster
-- (NULL for noise that is counted as singletons), __ce_label_size and __ce_cluster_size, the
-- numbers of rows of its label and of its cluster, and __ce_n, the rows that have both. If
-- count_unlabeled is TRUE, rows without a label count in the size of their cluster. The other
-- parameters are those of bcubed_samples; noise and noise_as are not checked here. Raises the error
-- of _check_record_ids.
CREATE OR REPLACE MACRO clustereval._record_sizes(
  tbl, label, cluster, id, partition_by, noise, noise_as, count_unlabeled
) AS TABLE
  WITH __ce_rows AS (
    SELECT
      partition_by AS __ce_partition,
      label AS __ce_label,
      cluster AS __ce_cluster,
      id AS __ce_id,
      clustereval._is_default_id(id) AS __ce_has_default_id,
      CAST(ROW_NUMBER() OVER () - 1 AS BIGINT) AS __ce_number,
      FALSE AS __ce_is_check_row
    FROM query_table(tbl)
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, CAST(COUNT(*) AS BIGINT), TRUE
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_column(
      clustereval._check_column(
        clustereval._check_columns(
          clustereval._check_noise(clustereval._is_absent(label), noise, cluster), label, cluster
        ),
        'id', id
      ),
      'partition_by', partition_by
    )
  ),
  __ce_complete_rows AS (
    SELECT
      *,
      clustereval._is_noise(__ce_cluster, noise) AS __ce_noisy
    FROM __ce_rows
    -- Without the last condition the planner would leave out the checks, since they add no row.
    WHERE ((count_unlabeled OR __ce_label IS NOT NULL) AND __ce_cluster IS NOT NULL)
      OR __ce_is_check_row
  ),
  __ce_faults AS (SELECT * FROM clustereval._check_record_ids(__ce_complete_rows)),
  __ce_counted_rows AS (
    SELECT *, __ce_noisy AND noise_as = 'singletons' AS __ce_is_singleton
    FROM __ce_complete_rows
    WHERE NOT (__ce_noisy AND noise_as = 'drop') AND (SELECT __ce_n_faults FROM __ce_faults) = 0
  ),
  __ce_row_sizes AS (
    SELECT
      *,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_label) AS __ce_label_size,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_cluster) AS __ce_cluster_size,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_label, __ce_cluster) AS __ce_n
    FROM __ce_counted_rows
  )
  SELECT
    __ce_partition,
    clustereval._row_id(__ce_id, __ce_number, __ce_has_default_id) AS __ce_id,
    __ce_label,
    CASE WHEN __ce_is_singleton THEN NULL ELSE __ce_cluster END AS __ce_cluster,
    __ce_label_size,
    CASE WHEN __ce_is_singleton THEN 1 ELSE __ce_cluster_size END AS __ce_cluster_size,
    CASE WHEN __ce_is_singleton THEN 1 ELSE __ce_n END AS __ce_n
  FROM __ce_row_sizes
  WHERE __ce_label IS NOT NULL;

-- One row per row of the table tbl: partition_key (the value of partition_by), id, label, cluster,
-- bcubed_precision, the share of its cluster that has its label, and bcubed_recall, the share of
-- its label that is in its cluster. label and cluster are the columns of the true class and the
-- assigned cluster, and id a column of row identifiers, by default the row number from 0. noise is
-- the value of cluster that marks noise, which noise_as ('cluster', 'drop' or 'singletons') keeps
-- as a cluster, leaves out, or counts as one cluster per row, with cluster NULL. Rows with a NULL
-- label or cluster are left out; several of one id are an error.
-- Examples:
--   FROM clustereval.bcubed_samples(assignments, species, cluster, flower);
CREATE OR REPLACE MACRO clustereval.bcubed_samples(
  tbl, label, cluster, id := CAST(NULL AS BIGINT), partition_by := NULL, noise := NULL,
  noise_as := NULL
) AS TABLE
  WITH __ce_records AS (
    SELECT *
    FROM clustereval._record_sizes(tbl, label, cluster, id, partition_by, noise, noise_as, FALSE)
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_id AS id,
    __ce_label AS label,
    __ce_cluster AS cluster,
    clustereval._ratio(__ce_n, __ce_cluster_size) AS bcubed_precision,
    clustereval._ratio(__ce_n, __ce_label_size) AS bcubed_recall
  FROM __ce_records
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY partition_key ASC NULLS LAST, 2 ASC NULLS LAST;
