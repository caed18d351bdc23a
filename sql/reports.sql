-- reports: everything at once, from one pass over the rows.

-- TRUE query, or the error, for the options of external_report (see _valid_noise).
CREATE OR REPLACE MACRO clustereval._valid_external_report(
  noise, noise_as, average_method, beta, adjusted
) AS
  CASE
    WHEN coalesce(average_method, '') NOT IN ('arithmetic', 'geometric', 'min', 'max', 'joint')
    THEN error(concat(
      'average_method: expected one of ''arithmetic'', ''geometric'', ''min'', ''max'', ''joint'', got ',
      coalesce(concat('''', average_method, ''''), 'NULL')
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

-- All columns of external_report; those of the expected mutual information are NULL unless adjusted.
CREATE OR REPLACE MACRO clustereval._external_report(
  tbl, label, cluster, weight, partition_by, noise, noise_as, average_method, beta, adjusted
) AS TABLE
  WITH __ce_groups AS (
    SELECT * FROM clustereval._groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_row_counts AS (SELECT * FROM clustereval._row_counts(__ce_groups)),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_labels AS (SELECT *, 1 AS __ce_copies FROM clustereval._labels(__ce_cells)),
  __ce_clusters AS (SELECT * FROM clustereval._clusters(__ce_cells)),
  __ce_sized_cells AS (
    SELECT * FROM clustereval._sized_cells(__ce_cells, __ce_labels, __ce_clusters)
  ),
  __ce_pair_totals AS (
    SELECT * FROM clustereval._pair_totals(__ce_row_counts, __ce_cells, __ce_labels, __ce_clusters)
  ),
  __ce_linked AS (SELECT * FROM clustereval._linked_totals(__ce_sized_cells)),
  __ce_information AS (
    SELECT * FROM clustereval._information_totals(__ce_row_counts, __ce_sized_cells)
  ),
  __ce_expected AS (
    SELECT * FROM clustereval._expected(__ce_row_counts, __ce_labels, __ce_clusters, adjusted)
  ),
  __ce_matching AS (
    SELECT * FROM clustereval._matching_totals(__ce_sized_cells, __ce_labels, __ce_clusters)
  ),
  __ce_statistics AS (
    SELECT
      __ce_r.__ce_partition, __ce_r.__ce_total, __ce_r.__ce_n_dropped, __ce_r.__ce_n_noise,
      __ce_p.__ce_n_labels, __ce_p.__ce_n_clusters,
      CAST(__ce_p.__ce_tp AS DOUBLE) AS __ce_tp,
      CAST(__ce_p.__ce_fp AS DOUBLE) AS __ce_fp,
      CAST(__ce_p.__ce_fn AS DOUBLE) AS __ce_fn,
      CAST(__ce_p.__ce_tn AS DOUBLE) AS __ce_tn,
      CAST(__ce_p.__ce_fn - __ce_p.__ce_fp AS DOUBLE) AS __ce_excess,
      CAST(__ce_k.__ce_linked AS DOUBLE) AS __ce_linked,
      __ce_i.__ce_mi, __ce_i.__ce_hl, __ce_i.__ce_hc,
      __ce_e.__ce_emi, __ce_e.__ce_ehl, __ce_e.__ce_ehc,
      __ce_m.__ce_in_majority_labels, __ce_m.__ce_in_majority_clusters, __ce_m.__ce_matched,
      __ce_m.__ce_precision, __ce_m.__ce_recall, __ce_m.__ce_exact
    FROM __ce_row_counts AS __ce_r
    LEFT JOIN __ce_pair_totals AS __ce_p
      ON __ce_p.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_linked AS __ce_k
      ON __ce_k.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_information AS __ce_i
      ON __ce_i.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_expected AS __ce_e
      ON __ce_e.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_matching AS __ce_m
      ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
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
    clustereval._mcnemar_index(__ce_tp, __ce_fp, __ce_fn, __ce_tn, __ce_excess) AS mcnemar_index,
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
    clustereval._ratio(__ce_in_majority_clusters, __ce_total) AS purity,
    clustereval._ratio(__ce_in_majority_labels, __ce_total) AS inverse_purity,
    clustereval._ratio(__ce_matched, __ce_total) AS class_f_measure,
    clustereval._split_join_distance(
      __ce_total, __ce_in_majority_labels, __ce_in_majority_clusters
    ) AS split_join_distance,
    clustereval._ratio(__ce_precision, __ce_total) AS bcubed_precision,
    clustereval._ratio(__ce_recall, __ce_total) AS bcubed_recall,
    clustereval._f_score(
      clustereval._ratio(__ce_precision, __ce_total), clustereval._ratio(__ce_recall, __ce_total), beta
    ) AS bcubed_f_score,
    clustereval._ratio(__ce_exact, __ce_n_clusters) AS exact_match_precision,
    clustereval._ratio(__ce_exact, __ce_n_labels) AS exact_match_recall,
    clustereval._ratio(2 * __ce_exact, __ce_n_labels + __ce_n_clusters) AS exact_match_f_score
  FROM __ce_statistics;

-- Every external index of one or many clusterings, one row a partition.
-- Examples:
--   FROM clustereval.external_report(assignments, species, cluster);
--   FROM clustereval.external_report(assignments, species, cluster, noise := -1, noise_as := 'drop');
CREATE OR REPLACE MACRO clustereval.external_report(
  tbl, label, cluster, weight := 1, partition_by := NULL, noise := NULL, noise_as := 'cluster',
  average_method := 'arithmetic', beta := 1.0, adjusted := TRUE
) AS TABLE
  SELECT COLUMNS(
    lambda __ce_column: adjusted
      OR __ce_column NOT IN ('adjusted_mutual_info_score', 'expected_mutual_info')
  )
  FROM clustereval._external_report(
    tbl, label, cluster, weight, partition_by, noise, noise_as, average_method, beta, adjusted
  )
  WHERE clustereval._checked_options(
    clustereval._valid_external_report(noise, noise_as, average_method, beta, adjusted)
  )
  ORDER BY partition_key;
COMMENT ON MACRO TABLE clustereval.external_report IS
'Every external index, one row a partition: counts (n rows kept, n_dropped with a NULL label or cluster, n_noise, n_labels, n_clusters), then one column a metric, named as its macro. noise names the value of cluster that marks noise and noise_as what to do with it: ''cluster'' (default), ''drop'' or ''singletons''. weight is a row''s multiplicity. average_method applies to the normalised and adjusted mutual information, beta to the F and V measures; adjusted := FALSE leaves out what needs the expected mutual information. No rows: n = 0 and NULL metrics (with partition_by no row).';
