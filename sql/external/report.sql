-- report: every external metric at once, and the reports by cluster and by label.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- TRUE query, or the error, for the options of external_report (see _valid_noise).
CREATE OR REPLACE MACRO clustereval._valid_external_report(
  noise, noise_as, average_method, beta, adjusted
) AS
  CASE
    WHEN coalesce(average_method, '') NOT IN ('arithmetic', 'geometric', 'min', 'max', 'joint')
    THEN error(concat(
      'average_method: expected one of ''arithmetic'', ''geometric'', ''min'', ''max'', ''joint'', got ',
      coalesce('''' || average_method || '''', 'NULL')
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

-- One row a partition: what the indices need of the cells, in one pass over them.
CREATE OR REPLACE MACRO clustereval._cell_totals(__ce_row_counts, __ce_sized_cells) AS TABLE
  WITH __ce_multiplied AS (
    SELECT
      __ce_x.__ce_partition,
      __ce_x.__ce_copies,
      __ce_x.__ce_n,
      __ce_x.__ce_a,
      __ce_x.__ce_b,
      CAST(__ce_r.__ce_total AS DOUBLE) AS __ce_total,
      CAST(__ce_x.__ce_n AS DOUBLE) AS __ce_rows,
      CAST(__ce_x.__ce_a AS DOUBLE) * CAST(__ce_x.__ce_b AS DOUBLE) AS __ce_area,
      clustereval._widen(__ce_x.__ce_a) * clustereval._widen(__ce_x.__ce_b) AS __ce_product,
      clustereval._widen(__ce_x.__ce_n) * clustereval._widen(__ce_r.__ce_total) AS __ce_scaled
    FROM query_table(__ce_sized_cells) AS __ce_x
    JOIN query_table(__ce_row_counts) AS __ce_r
      ON __ce_r.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
  ),
  __ce_measured AS (
    SELECT
      *,
      __ce_area / __ce_total AS __ce_mean,
      CAST(__ce_scaled - __ce_product AS DOUBLE) AS __ce_excess
    FROM __ce_multiplied
  ),
  __ce_relative AS (
    SELECT *, __ce_excess / (__ce_rows * __ce_total + __ce_area) AS __ce_v
    FROM __ce_measured
  ),
  __ce_terms AS (
    SELECT
      __ce_partition, __ce_copies, __ce_n, __ce_a, __ce_b, __ce_product,
      clustereval._cell_links(__ce_n, __ce_a, __ce_b) AS __ce_links,
      clustereval._deviance(
        __ce_rows, __ce_mean, __ce_excess / __ce_total, __ce_v
      ) AS __ce_deviance,
      __ce_rows / __ce_total * clustereval._log_ratio(__ce_b, __ce_n) AS __ce_hl,
      __ce_rows / __ce_total * clustereval._log_ratio(__ce_a, __ce_n) AS __ce_hc,
      __ce_rows * clustereval._ratio(__ce_n, __ce_b) AS __ce_precision,
      __ce_rows * clustereval._ratio(__ce_n, __ce_a) AS __ce_recall
    FROM __ce_relative
  )
  SELECT
    __ce_partition,
    SUM(clustereval._widen(__ce_n) * ((__ce_n - 1) * __ce_copies)) AS __ce_in_cells,
    SUM(CASE WHEN __ce_copies = 1 THEN __ce_product ELSE __ce_product * __ce_copies END)
      AS __ce_covered,
    clustereval._compensated_sum(__ce_links * __ce_copies) AS __ce_linked,
    clustereval._compensated_sum(__ce_deviance * __ce_copies) AS __ce_deviance,
    clustereval._compensated_sum(__ce_hl * __ce_copies) AS __ce_hl,
    clustereval._compensated_sum(__ce_hc * __ce_copies) AS __ce_hc,
    clustereval._compensated_sum(__ce_precision * __ce_copies) AS __ce_precision,
    clustereval._compensated_sum(__ce_recall * __ce_copies) AS __ce_recall,
    SUM(CASE WHEN __ce_n = __ce_a AND __ce_n = __ce_b THEN __ce_copies ELSE 0 END) AS __ce_exact
  FROM __ce_terms
  GROUP BY __ce_partition;

-- All columns of external_report; those of the expected mutual information are NULL unless adjusted.
CREATE OR REPLACE MACRO clustereval._external_report(
  tbl, label, cluster, weight, partition_by, noise, noise_as, average_method, beta, adjusted
) AS TABLE
  WITH __ce_groups AS (
    SELECT * FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_row_counts AS (SELECT * FROM clustereval._row_counts(__ce_groups)),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_labels AS (SELECT *, 1 AS __ce_copies FROM clustereval._label_sizes(__ce_cells)),
  __ce_clusters AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_sized_cells AS (
    SELECT * FROM clustereval._sized_cells(__ce_cells, __ce_labels, __ce_clusters)
  ),
  __ce_label_totals AS (SELECT * FROM clustereval._label_totals(__ce_labels)),
  __ce_cluster_totals AS (SELECT * FROM clustereval._cluster_totals(__ce_clusters)),
  __ce_cell_totals AS (SELECT * FROM clustereval._cell_totals(__ce_row_counts, __ce_sized_cells)),
  __ce_match_totals AS (SELECT * FROM clustereval._match_totals(__ce_sized_cells)),
  __ce_expected AS (
    SELECT * FROM clustereval._expected_totals(__ce_row_counts, __ce_labels, __ce_clusters, adjusted)
  ),
  __ce_joined AS (
    SELECT
      __ce_r.__ce_partition, __ce_r.__ce_total, __ce_r.__ce_n_dropped, __ce_r.__ce_n_noise,
      __ce_l.__ce_n_labels, __ce_l.__ce_in_labels, __ce_l.__ce_in_majority_clusters,
      __ce_c.__ce_n_clusters, __ce_c.__ce_in_clusters, __ce_c.__ce_in_majority_labels,
      __ce_x.__ce_in_cells, __ce_x.__ce_linked, __ce_x.__ce_deviance, __ce_x.__ce_covered,
      __ce_x.__ce_hl, __ce_x.__ce_hc, __ce_x.__ce_exact,
      clustereval._ratio(__ce_x.__ce_precision, __ce_r.__ce_total) AS __ce_precision,
      clustereval._ratio(__ce_x.__ce_recall, __ce_r.__ce_total) AS __ce_recall,
      __ce_m.__ce_matched,
      __ce_e.__ce_emi, __ce_e.__ce_ehl, __ce_e.__ce_ehc
    FROM __ce_row_counts AS __ce_r
    LEFT JOIN __ce_label_totals AS __ce_l
      ON __ce_l.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_cluster_totals AS __ce_c
      ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_cell_totals AS __ce_x
      ON __ce_x.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_match_totals AS __ce_m
      ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_expected AS __ce_e
      ON __ce_e.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  ),
  __ce_statistics AS (
    SELECT
      *,
      CAST(
        clustereval._tp(__ce_total, __ce_in_cells, __ce_in_labels, __ce_in_clusters) AS DOUBLE
      ) AS __ce_tp,
      CAST(
        clustereval._fp(__ce_total, __ce_in_cells, __ce_in_labels, __ce_in_clusters) AS DOUBLE
      ) AS __ce_fp,
      CAST(
        clustereval._fn(__ce_total, __ce_in_cells, __ce_in_labels, __ce_in_clusters) AS DOUBLE
      ) AS __ce_fn,
      CAST(
        clustereval._tn(__ce_total, __ce_in_cells, __ce_in_labels, __ce_in_clusters) AS DOUBLE
      ) AS __ce_tn,
      CAST(clustereval._halve(__ce_in_labels - __ce_in_clusters) AS DOUBLE) AS __ce_fn_minus_fp,
      clustereval._mutual_information(__ce_total, __ce_deviance, __ce_covered) AS __ce_mi
    FROM __ce_joined
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_total AS n,
    __ce_n_dropped AS n_dropped,
    __ce_n_noise AS n_noise,
    COALESCE(__ce_n_labels, 0) AS n_labels,
    COALESCE(__ce_n_clusters, 0) AS n_clusters,
    clustereval._rand_score(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS rand_score,
    clustereval._adjusted_rand_score(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS adjusted_rand_score,
    clustereval._fowlkes_mallows_score(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS fowlkes_mallows_score,
    clustereval._pair_precision(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS pair_precision,
    clustereval._pair_recall(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS pair_recall,
    clustereval._pair_f_score(__ce_tp, __ce_fp, __ce_fn, __ce_tn, beta) AS pair_f_score,
    clustereval._jaccard_index(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS jaccard_index,
    clustereval._mirkin_metric(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS mirkin_metric,
    clustereval._hubert_index(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS hubert_index,
    clustereval._kulczynski_index(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS kulczynski_index,
    clustereval._mcnemar_index(__ce_tp, __ce_fp, __ce_fn, __ce_tn, __ce_fn_minus_fp) AS mcnemar_index,
    clustereval._phi_index(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS phi_index,
    clustereval._rogers_tanimoto_index(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS rogers_tanimoto_index,
    clustereval._russell_rao_index(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS russell_rao_index,
    clustereval._sokal_sneath_1_index(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS sokal_sneath_1_index,
    clustereval._sokal_sneath_2_index(__ce_tp, __ce_fp, __ce_fn, __ce_tn) AS sokal_sneath_2_index,
    clustereval._adjusted_fowlkes_mallows_score(__ce_tp, __ce_fp, __ce_fn, __ce_tn)
      AS adjusted_fowlkes_mallows_score,
    clustereval._multinomial_adjusted_rand_score(
      __ce_tp, __ce_fp, __ce_fn, __ce_tn, __ce_total, __ce_linked
    ) AS multinomial_adjusted_rand_score,
    __ce_mi + __ce_hl AS label_entropy,
    __ce_mi + __ce_hc AS cluster_entropy,
    __ce_mi + __ce_hl + __ce_hc AS joint_entropy,
    __ce_hl AS label_entropy_given_cluster,
    __ce_hc AS cluster_entropy_given_label,
    __ce_mi AS mutual_info_score,
    clustereval._normalized_mutual_info_score(__ce_mi, __ce_hl, __ce_hc, average_method)
      AS normalized_mutual_info_score,
    clustereval._adjusted_mutual_info_score(
      __ce_mi, __ce_hl, __ce_hc, __ce_emi, __ce_ehl, __ce_ehc, average_method
    ) AS adjusted_mutual_info_score,
    __ce_emi AS expected_mutual_info,
    clustereval._homogeneity_score(__ce_mi, __ce_hl, __ce_hc) AS homogeneity_score,
    clustereval._completeness_score(__ce_mi, __ce_hl, __ce_hc) AS completeness_score,
    clustereval._v_measure_score(__ce_mi, __ce_hl, __ce_hc, beta) AS v_measure_score,
    __ce_hl + __ce_hc AS variation_of_information,
    clustereval._normalized_variation_of_information(__ce_mi, __ce_hl, __ce_hc)
      AS normalized_variation_of_information,
    clustereval._normalized_information_distance(__ce_mi, __ce_hl, __ce_hc)
      AS normalized_information_distance,
    clustereval._ratio(__ce_in_majority_labels, __ce_total) AS purity,
    clustereval._ratio(__ce_in_majority_clusters, __ce_total) AS inverse_purity,
    clustereval._ratio(__ce_matched, __ce_total) AS class_f_measure,
    clustereval._split_join_distance(
      __ce_total, __ce_in_majority_clusters, __ce_in_majority_labels
    ) AS split_join_distance,
    __ce_precision AS bcubed_precision,
    __ce_recall AS bcubed_recall,
    clustereval._f_score(__ce_precision, __ce_recall, beta) AS bcubed_f_score,
    clustereval._ratio(__ce_exact, __ce_n_clusters) AS exact_match_precision,
    clustereval._ratio(__ce_exact, __ce_n_labels) AS exact_match_recall,
    clustereval._ratio(2 * __ce_exact, __ce_n_labels + __ce_n_clusters) AS exact_match_f_score
  FROM __ce_statistics;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every external index of one or many clusterings, one row a partition.
-- Examples:
--   FROM clustereval.external_report(assignments, species, cluster);
--   FROM clustereval.external_report(assignments, species, cluster, noise := -1, noise_as := 'drop');
CREATE OR REPLACE MACRO clustereval.external_report(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := 'cluster',
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
    clustereval._valid_external_report(noise, noise_as, average_method, beta, adjusted)
  )
  ORDER BY partition_key;
COMMENT ON MACRO TABLE clustereval.external_report IS
'Every external index, one row a partition: counts (n rows kept, n_dropped with a NULL label or cluster, n_noise, n_labels, n_clusters), then one column a metric, named as its macro. noise names the value of cluster that marks noise and noise_as what to do with it: ''cluster'' (default), ''drop'' or ''singletons''. weight is a row''s multiplicity. average_method applies to the normalized and adjusted mutual information, beta to the F and V measures; adjusted := FALSE leaves out what needs the expected mutual information. No rows: n = 0 and NULL metrics (with partition_by no row).';

-- Every cluster: what it holds.
-- Examples:
--   FROM clustereval.external_cluster_report(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.external_cluster_report(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := 'cluster'
) AS TABLE
  WITH __ce_groups AS (
    SELECT * FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_clusters AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells))
  SELECT
    __ce_c.__ce_partition AS partition_key,
    __ce_c.__ce_cluster AS cluster,
    MAX(__ce_c.__ce_size) AS n,
    MAX(__ce_c.__ce_parts) AS n_labels,
    MIN(CASE
      WHEN __ce_c.__ce_cluster IS NOT NULL AND __ce_x.__ce_n = __ce_c.__ce_majority_n
      THEN __ce_x.__ce_label
    END) AS majority_label,
    MAX(__ce_c.__ce_majority_n) AS majority_n,
    clustereval._ratio(MAX(__ce_c.__ce_majority_n), MAX(__ce_c.__ce_size)) AS purity,
    clustereval._compensated_sum(
      clustereval._ratio(__ce_x.__ce_n, __ce_c.__ce_size)
      * clustereval._log_ratio(__ce_c.__ce_size, __ce_x.__ce_n)
    ) AS entropy,
    clustereval._count_pairs(MAX(__ce_c.__ce_size)) - SUM(clustereval._count_pairs(__ce_x.__ce_n)) AS joined_pairs
  FROM __ce_clusters AS __ce_c
  JOIN __ce_cells AS __ce_x
    ON __ce_x.__ce_partition IS NOT DISTINCT FROM __ce_c.__ce_partition
    AND __ce_x.__ce_cluster IS NOT DISTINCT FROM __ce_c.__ce_cluster
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  GROUP BY __ce_c.__ce_partition, __ce_c.__ce_cluster
  ORDER BY __ce_c.__ce_partition, __ce_c.__ce_cluster;
COMMENT ON MACRO TABLE clustereval.external_cluster_report IS
'One row a cluster: n rows, n_labels in it, its majority_label (the lowest of equals) with majority_n rows, purity = majority_n / n, entropy of its labels in nats, joined_pairs = pairs of different labels that it puts together. With noise_as := ''singletons'' one row with cluster NULL and n 1 stands for all of them.';

-- Every label: where its rows went.
-- Examples:
--   FROM clustereval.external_label_report(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.external_label_report(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := 'cluster'
) AS TABLE
  WITH __ce_groups AS (
    SELECT * FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_labels AS (SELECT * FROM clustereval._label_sizes(__ce_cells))
  SELECT
    __ce_l.__ce_partition AS partition_key,
    __ce_l.__ce_label AS label,
    MAX(__ce_l.__ce_size) AS n,
    MAX(__ce_l.__ce_parts) AS n_clusters,
    MIN(CASE WHEN __ce_x.__ce_n = __ce_l.__ce_majority_n THEN __ce_x.__ce_cluster END)
      AS majority_cluster,
    MAX(__ce_l.__ce_majority_n) AS majority_n,
    clustereval._ratio(MAX(__ce_l.__ce_majority_n), MAX(__ce_l.__ce_size)) AS recall,
    clustereval._compensated_sum(
      __ce_x.__ce_copies * clustereval._ratio(__ce_x.__ce_n, __ce_l.__ce_size)
      * clustereval._log_ratio(__ce_l.__ce_size, __ce_x.__ce_n)
    ) AS entropy,
    clustereval._count_pairs(MAX(__ce_l.__ce_size)) - SUM(clustereval._count_pairs(__ce_x.__ce_n)) AS split_pairs
  FROM __ce_labels AS __ce_l
  JOIN __ce_cells AS __ce_x
    ON __ce_x.__ce_partition IS NOT DISTINCT FROM __ce_l.__ce_partition
    AND __ce_x.__ce_label = __ce_l.__ce_label
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  GROUP BY __ce_l.__ce_partition, __ce_l.__ce_label
  ORDER BY __ce_l.__ce_partition, __ce_l.__ce_label;
COMMENT ON MACRO TABLE clustereval.external_label_report IS
'One row a label: n rows, n_clusters it lies in, its majority_cluster (the lowest of equals) with majority_n rows, recall = majority_n / n, entropy of its clusters in nats, split_pairs = its pairs that lie in different clusters.';
