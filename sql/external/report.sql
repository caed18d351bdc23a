-- report: every external metric at once, and the reports by cluster, by label and by row.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- Text for _check_options, or the error of an option of external_report.
CREATE OR REPLACE MACRO clustereval._valid_external_options(
  noise, noise_as, average_method, beta, adjusted
) AS
  CASE
    WHEN coalesce(average_method, '') NOT IN ('arithmetic', 'geometric', 'min', 'max', 'joint')
    THEN error(concat(
      'average_method: expected one of ''arithmetic'', ''geometric'', ''min'', ''max'', ''joint''',
      ', got ', clustereval._quote_value(average_method)
    ))
    WHEN average_method = 'joint' AND adjusted
    THEN error(
      'average_method ''joint'' has no adjusted form: use adjusted := false, or another average'
    )
    ELSE clustereval._valid_beta(beta, clustereval._valid_noise(noise, noise_as))
  END;

-- One row per partition with sums over its cells: cell_pairs, ordered pairs of rows in the same
-- cell; size_products, label size x cluster size; links, see _cell_links; deviance, n ln(n / m) + m
-- - n, where m is the number of rows if label and cluster were independent, and n - m is computed
-- from integers; both conditional entropies in nats; precision_rows, recall_rows and similar_rows,
-- B-cubed precision and recall and element-centric similarity, summed over rows; and exact_matches,
-- labels that have the same rows as a cluster.
CREATE OR REPLACE MACRO clustereval._cell_totals(row_counts, sized_cells) AS TABLE
  -- Cells with the products of their sizes and counts, which are exact.
  WITH products AS (
    SELECT
      cell.partition_key,
      cell.copies,
      cell.n,
      cell.label_size,
      cell.cluster_size,
      CAST(counts.total AS DOUBLE) AS total,
      CAST(cell.n AS DOUBLE) AS rows,
      CAST(cell.label_size AS DOUBLE) * CAST(cell.cluster_size AS DOUBLE) AS scaled_mean,
      clustereval._widen(cell.label_size) * clustereval._widen(cell.cluster_size) AS size_product,
      clustereval._widen(cell.n) * clustereval._widen(counts.total) AS scaled_n
    FROM query_table(sized_cells) AS cell
    JOIN query_table(row_counts) AS counts
      ON counts.partition_key IS NOT DISTINCT FROM cell.partition_key
  ),
  -- Cells with the rows expected by chance, and the difference from them.
  differences AS (
    SELECT
      *,
      scaled_mean / total AS mean,
      CAST(scaled_n - size_product AS DOUBLE) AS scaled_difference
    FROM products
  ),
  -- Cells with the relative difference from the rows expected by chance.
  relative_differences AS (
    SELECT
      *,
      scaled_difference / (rows * total + scaled_mean) AS relative_difference
    FROM differences
  ),
  -- Cells with their terms of the sums over cells.
  cell_terms AS (
    SELECT
      partition_key, copies, n, label_size, cluster_size, size_product,
      clustereval._cell_links(n, label_size, cluster_size) AS links,
      clustereval._deviance(rows, mean, scaled_difference / total, relative_difference) AS deviance,
      rows / total * clustereval._log_ratio(cluster_size, n) AS label_entropy_given_cluster,
      rows / total * clustereval._log_ratio(label_size, n) AS cluster_entropy_given_label,
      rows * clustereval._ratio(n, cluster_size) AS precision_rows,
      rows * clustereval._ratio(n, label_size) AS recall_rows,
      rows * clustereval._element_similarity(n, label_size, cluster_size) AS similar_rows
    FROM relative_differences
  )
  SELECT
    partition_key,
    SUM(clustereval._widen(n) * ((n - 1) * copies)) AS cell_pairs,
    SUM(CASE WHEN copies = 1 THEN size_product ELSE size_product * copies END) AS size_products,
    clustereval._compensated_sum(links * copies) AS links,
    clustereval._compensated_sum(deviance * copies) AS deviance,
    clustereval._compensated_sum(label_entropy_given_cluster * copies)
      AS label_entropy_given_cluster,
    clustereval._compensated_sum(cluster_entropy_given_label * copies)
      AS cluster_entropy_given_label,
    clustereval._compensated_sum(precision_rows * copies) AS precision_rows,
    clustereval._compensated_sum(recall_rows * copies) AS recall_rows,
    clustereval._compensated_sum(similar_rows * copies) AS similar_rows,
    SUM(
      CASE
        WHEN n = label_size AND n = cluster_size THEN copies
        ELSE 0
      END
    ) AS exact_matches
  FROM cell_terms
  GROUP BY partition_key;

-- One row per partition with the statistics of its scores. total, n_dropped and n_noise count rows.
-- tp, fp, fn, tn and fn_minus_fp are unordered pairs of rows, as DOUBLE. mi and the conditional
-- entropies, which formulas call hl and hc, are in nats; emi and the expected_... are the
-- expectations of these three for random labelings, NULL if adjusted is FALSE. matched_rows is that
-- of _match_totals, the rest are those of _label_totals, _cluster_totals and _cell_totals.
CREATE OR REPLACE MACRO clustereval._statistics_of_groups(groups, adjusted) AS TABLE
  WITH row_counts AS (SELECT * FROM clustereval._row_counts(groups)),
  -- The groups that are scored, which are the cells of the contingency table.
  cells AS (SELECT * FROM query_table(groups) WHERE copies > 0),
  label_sizes AS (SELECT *, 1 AS copies FROM clustereval._label_sizes(cells)),
  cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  sized_cells AS (SELECT * FROM clustereval._sized_cells(cells, label_sizes, cluster_sizes)),
  label_totals AS (SELECT * FROM clustereval._label_totals(label_sizes)),
  cluster_totals AS (SELECT * FROM clustereval._cluster_totals(cluster_sizes)),
  cell_totals AS (SELECT * FROM clustereval._cell_totals(row_counts, sized_cells)),
  match_totals AS (SELECT * FROM clustereval._match_totals(sized_cells)),
  expected_totals AS (
    SELECT * FROM clustereval._expected_totals(row_counts, label_sizes, cluster_sizes)
  ),
  no_totals AS (
    SELECT
      partition_key,
      CAST(NULL AS DOUBLE) AS emi,
      CAST(NULL AS DOUBLE) AS expected_label_entropy_given_cluster,
      CAST(NULL AS DOUBLE) AS expected_cluster_entropy_given_label
    FROM row_counts
    WHERE FALSE
  ),
  -- One row per partition with the sums over its labels, clusters and cells.
  totals AS (
    SELECT
      counts.partition_key, counts.total, counts.n_dropped, counts.n_noise,
      labels.n_labels, labels.label_pairs, labels.in_majority_clusters,
      clusters.n_clusters, clusters.cluster_pairs, clusters.in_majority_labels,
      cells.cell_pairs, cells.links, cells.deviance, cells.size_products,
      cells.label_entropy_given_cluster, cells.cluster_entropy_given_label, cells.exact_matches,
      cells.precision_rows, cells.recall_rows, cells.similar_rows,
      matches.matched_rows,
      expected.emi, expected.expected_label_entropy_given_cluster,
      expected.expected_cluster_entropy_given_label
    FROM row_counts AS counts
    LEFT JOIN label_totals AS labels
      ON labels.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN cluster_totals AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN cell_totals AS cells ON cells.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN match_totals AS matches
      ON matches.partition_key IS NOT DISTINCT FROM counts.partition_key
    -- The one that is not named is not bound.
    LEFT JOIN query_table(CASE WHEN adjusted THEN 'expected_totals' ELSE 'no_totals' END)
      AS expected
      ON expected.partition_key IS NOT DISTINCT FROM counts.partition_key
  )
  SELECT
    partition_key, total, n_dropped, n_noise, n_labels, n_clusters,
    CAST(clustereval._tp(total, cell_pairs, label_pairs, cluster_pairs) AS DOUBLE) AS tp,
    CAST(clustereval._fp(total, cell_pairs, label_pairs, cluster_pairs) AS DOUBLE) AS fp,
    CAST(clustereval._fn(total, cell_pairs, label_pairs, cluster_pairs) AS DOUBLE) AS fn,
    CAST(clustereval._tn(total, cell_pairs, label_pairs, cluster_pairs) AS DOUBLE) AS tn,
    CAST(clustereval._halve(label_pairs - cluster_pairs) AS DOUBLE) AS fn_minus_fp,
    links,
    clustereval._mutual_information(total, deviance, size_products) AS mi,
    label_entropy_given_cluster, cluster_entropy_given_label, emi,
    expected_label_entropy_given_cluster, expected_cluster_entropy_given_label,
    in_majority_labels, in_majority_clusters, matched_rows,
    precision_rows, recall_rows, similar_rows, exact_matches
  FROM totals;

-- One row per partition: all columns of external_report, from parameters that are not checked here.
-- If adjusted is FALSE, adjusted_mutual_info_score and expected_mutual_info are NULL:
-- external_report drops them by COLUMNS, which only DuckDB has; to_sql translates this macro.
CREATE OR REPLACE MACRO clustereval._external_report(
  tbl, label, cluster, weight, partition_by, noise, noise_as, average_method, beta, adjusted
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  statistics AS (SELECT * FROM clustereval._statistics_of_groups(__ce_groups, adjusted))
  SELECT * FROM clustereval._scores_of_statistics(statistics, average_method, beta);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every external metric of one or many clusterings: one row per partition with partition_key,
-- counts of rows, labels and clusters, and one column per metric, named as its macro. tbl is a
-- table; label (true class), cluster (assigned cluster), weight (a row's multiplicity, 1 if NULL)
-- and partition_by (NULL for one partition of all rows) are its columns; noise is the value of
-- cluster that marks noise; noise_as counts its rows as one 'cluster', leaves them out ('drop') or
-- counts them as 'singletons'. average_method names the mean of the entropies in the normalized
-- and the adjusted mutual information ('arithmetic', 'geometric', 'min' or 'max'; 'joint', the
-- joint entropy, needs adjusted := FALSE). beta weighs recall in F measures and completeness in
-- the V measure. adjusted := FALSE leaves out adjusted_mutual_info_score and expected_mutual_info,
-- which are the slowest.
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
    lambda column_name: adjusted
      OR column_name NOT IN ('adjusted_mutual_info_score', 'expected_mutual_info')
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
-- columns; noise is the value of cluster that marks noise; noise_as counts its rows as one
-- 'cluster', leaves them out ('drop') or counts them as 'singletons'.
-- Examples:
--   FROM clustereval.external_cluster_report(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.external_cluster_report(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  -- The groups that are scored, which are the cells of the contingency table.
  cells AS (SELECT * FROM __ce_groups WHERE copies > 0)
  SELECT
    clusters.partition_key,
    clusters.cluster,
    MAX(clusters.cluster_size) AS n,
    MAX(clusters.n_cells) AS n_labels,
    MIN(CASE
      WHEN clusters.cluster IS NOT NULL AND cell.n = clusters.cluster_majority_n
      THEN cell.label
    END) AS majority_label,
    MAX(clusters.cluster_majority_n) AS majority_n,
    clustereval._ratio(MAX(clusters.cluster_majority_n), MAX(clusters.cluster_size)) AS purity,
    clustereval._compensated_sum(
      clustereval._ratio(cell.n, clusters.cluster_size)
      * clustereval._log_ratio(clusters.cluster_size, cell.n)
    ) AS entropy,
    clustereval._count_pairs(MAX(clusters.cluster_size))
      - SUM(clustereval._count_pairs(cell.n)) AS joined_pairs
  FROM clustereval._cluster_sizes(cells) AS clusters
  JOIN cells AS cell
    ON cell.partition_key IS NOT DISTINCT FROM clusters.partition_key
    AND cell.cluster IS NOT DISTINCT FROM clusters.cluster
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  GROUP BY clusters.partition_key, clusters.cluster
  ORDER BY clusters.partition_key ASC NULLS LAST, clusters.cluster ASC NULLS LAST;

-- One row per partition and label: partition_key, label, n (its number of rows), n_clusters,
-- majority_cluster (the cluster with most of these rows, the lowest in a tie), majority_n (the
-- number of its rows in that cluster), recall = majority_n / n, entropy (of its clusters, in nats)
-- and split_pairs (pairs of its rows in different clusters). Rows without a label or cluster are
-- left out. tbl is a table; label (true class), cluster (assigned cluster), weight (a row's
-- multiplicity, 1 if NULL) and partition_by (NULL for one partition of all rows) are its columns;
-- noise is the value of cluster that marks noise; noise_as counts its rows as one 'cluster', leaves
-- them out ('drop') or counts them as 'singletons'.
-- Examples:
--   FROM clustereval.external_label_report(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.external_label_report(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  -- The groups that are scored, which are the cells of the contingency table.
  cells AS (SELECT * FROM __ce_groups WHERE copies > 0)
  SELECT
    labels.partition_key,
    labels.label,
    MAX(labels.label_size) AS n,
    MAX(labels.n_cells) AS n_clusters,
    MIN(CASE WHEN cell.n = labels.label_majority_n THEN cell.cluster END) AS majority_cluster,
    MAX(labels.label_majority_n) AS majority_n,
    clustereval._ratio(MAX(labels.label_majority_n), MAX(labels.label_size)) AS recall,
    clustereval._compensated_sum(
      cell.copies * clustereval._ratio(cell.n, labels.label_size)
      * clustereval._log_ratio(labels.label_size, cell.n)
    ) AS entropy,
    clustereval._count_pairs(MAX(labels.label_size))
      - SUM(clustereval._count_pairs(cell.n)) AS split_pairs
  FROM clustereval._label_sizes(cells) AS labels
  JOIN cells AS cell
    ON cell.partition_key IS NOT DISTINCT FROM labels.partition_key
    AND cell.label = labels.label
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  GROUP BY labels.partition_key, labels.label
  ORDER BY labels.partition_key ASC NULLS LAST, labels.label ASC NULLS LAST;

-- One row, n_faults = 0. Raises an error if an id has several rows in a partition. records names a
-- CTE with a row for each record that is scored: __ce_partition and __ce_id, NULL without ids.
CREATE OR REPLACE MACRO clustereval._check_record_ids(records) AS TABLE
  WITH __ce_repeated_ids AS (
    SELECT __ce_id
    FROM query_table(records)
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
  END AS n_faults
  FROM __ce_twice;

-- One row per row of the table tbl that is scored: partition_key, id, label, cluster (NULL for
-- singletons), label_size, cluster_size, and n, the rows that have both. If count_unlabeled is
-- TRUE, cluster_size includes rows without a label. noise and noise_as are not checked here. Raises
-- the error of _check_record_ids.
CREATE OR REPLACE MACRO clustereval._record_sizes(
  tbl, label, cluster, id, partition_by, noise, noise_as, count_unlabeled
) AS TABLE
  -- The columns of the call, for each row of the table.
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
    HAVING clustereval._check_columns(
      clustereval._check_noise(clustereval._is_absent(label), noise, cluster),
      [
        clustereval._given_column('partition_by', partition_by),
        clustereval._given_column('id', id),
        clustereval._given_column('label', label),
        clustereval._given_column('cluster', cluster)
      ]
    )
  ),
  -- Rows that have a label and a cluster.
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
  -- Rows that are scored, marked if they count as singletons.
  __ce_counted_rows AS (
    SELECT *, __ce_noisy AND noise_as = 'singletons' AS __ce_is_singleton
    FROM __ce_complete_rows
    WHERE NOT (__ce_noisy AND noise_as = 'drop') AND (SELECT n_faults FROM __ce_faults) = 0
  ),
  -- Rows with the sizes of their label, of their cluster and of their cell.
  __ce_row_sizes AS (
    SELECT
      *,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_label) AS __ce_label_size,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_cluster) AS __ce_cluster_size,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_label, __ce_cluster) AS __ce_n
    FROM __ce_counted_rows
  )
  SELECT
    __ce_partition AS partition_key,
    clustereval._row_id(__ce_id, __ce_number, __ce_has_default_id) AS id,
    __ce_label AS label,
    CASE WHEN __ce_is_singleton THEN NULL ELSE __ce_cluster END AS cluster,
    __ce_label_size AS label_size,
    CASE WHEN __ce_is_singleton THEN 1 ELSE __ce_cluster_size END AS cluster_size,
    CASE WHEN __ce_is_singleton THEN 1 ELSE __ce_n END AS n
  FROM __ce_row_sizes
  WHERE __ce_label IS NOT NULL;

-- One row per row of the table tbl: partition_key (the value of partition_by), id, label, cluster,
-- bcubed_precision, the share of its cluster that has its label, and bcubed_recall, the share of
-- its label that is in its cluster. label and cluster are the columns of the true class and the
-- assigned cluster, and id a column of row identifiers, by default the row number, from 0. noise
-- is the value of cluster that marks noise; noise_as keeps its rows as a 'cluster', leaves them
-- out ('drop') or counts each as a cluster of its own ('singletons'), with cluster NULL. Rows with
-- a NULL label or cluster are left out. Several rows with the same id are an error.
-- Examples:
--   FROM clustereval.bcubed_samples(assignments, species, cluster, flower);
CREATE OR REPLACE MACRO clustereval.bcubed_samples(
  tbl, label, cluster, id := CAST(NULL AS BIGINT), partition_by := NULL, noise := NULL,
  noise_as := NULL
) AS TABLE
  SELECT
    partition_key,
    record.id,
    record.label,
    record.cluster,
    clustereval._ratio(n, cluster_size) AS bcubed_precision,
    clustereval._ratio(n, label_size) AS bcubed_recall
  FROM clustereval._record_sizes(
    tbl, label, cluster, id, partition_by, noise, noise_as, FALSE
  ) AS record
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY partition_key ASC NULLS LAST, 2 ASC NULLS LAST;
