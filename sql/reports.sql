-- reports: everything at once, from one pass over the rows.

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
      clustereval._wide(__ce_x.__ce_a) * clustereval._wide(__ce_x.__ce_b) AS __ce_product,
      clustereval._wide(__ce_x.__ce_n) * clustereval._wide(__ce_r.__ce_total) AS __ce_scaled
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
      clustereval._links(__ce_n, __ce_a, __ce_b) AS __ce_links,
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
    SUM(clustereval._wide(__ce_n) * ((__ce_n - 1) * __ce_copies)) AS __ce_in_cells,
    SUM(CASE WHEN __ce_copies = 1 THEN __ce_product ELSE __ce_product * __ce_copies END)
      AS __ce_covered,
    clustereval._sum(__ce_links * __ce_copies) AS __ce_linked,
    clustereval._sum(__ce_deviance * __ce_copies) AS __ce_deviance,
    clustereval._sum(__ce_hl * __ce_copies) AS __ce_hl,
    clustereval._sum(__ce_hc * __ce_copies) AS __ce_hc,
    clustereval._sum(__ce_precision * __ce_copies) AS __ce_precision,
    clustereval._sum(__ce_recall * __ce_copies) AS __ce_recall,
    SUM(CASE WHEN __ce_n = __ce_a AND __ce_n = __ce_b THEN __ce_copies ELSE 0 END) AS __ce_exact
  FROM __ce_terms
  GROUP BY __ce_partition;

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
  __ce_label_totals AS (SELECT * FROM clustereval._label_totals(__ce_labels)),
  __ce_cluster_totals AS (SELECT * FROM clustereval._cluster_totals(__ce_clusters)),
  __ce_cell_totals AS (SELECT * FROM clustereval._cell_totals(__ce_row_counts, __ce_sized_cells)),
  __ce_match_totals AS (SELECT * FROM clustereval._match_totals(__ce_sized_cells)),
  __ce_expected AS (
    SELECT * FROM clustereval._expected(__ce_row_counts, __ce_labels, __ce_clusters, adjusted)
  ),
  __ce_joined AS (
    SELECT
      __ce_r.__ce_partition, __ce_r.__ce_total, __ce_r.__ce_n_dropped, __ce_r.__ce_n_noise,
      __ce_l.__ce_n_labels, __ce_l.__ce_in_labels, __ce_l.__ce_in_majority_labels,
      __ce_c.__ce_n_clusters, __ce_c.__ce_in_clusters, __ce_c.__ce_in_majority_clusters,
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
      CAST(clustereval._half(__ce_in_labels - __ce_in_clusters) AS DOUBLE) AS __ce_excess,
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
    __ce_precision AS bcubed_precision,
    __ce_recall AS bcubed_recall,
    clustereval._f_score(__ce_precision, __ce_recall, beta) AS bcubed_f_score,
    clustereval._ratio(__ce_exact, __ce_n_clusters) AS exact_match_precision,
    clustereval._ratio(__ce_exact, __ce_n_labels) AS exact_match_recall,
    clustereval._ratio(2 * __ce_exact, __ce_n_labels + __ce_n_clusters) AS exact_match_f_score
  FROM __ce_statistics;

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
  WHERE clustereval._checked_options(
    clustereval._valid_external_report(noise, noise_as, average_method, beta, adjusted)
  )
  ORDER BY partition_key;
COMMENT ON MACRO TABLE clustereval.external_report IS
'Every external index, one row a partition: counts (n rows kept, n_dropped with a NULL label or cluster, n_noise, n_labels, n_clusters), then one column a metric, named as its macro. noise names the value of cluster that marks noise and noise_as what to do with it: ''cluster'' (default), ''drop'' or ''singletons''. weight is a row''s multiplicity. average_method applies to the normalised and adjusted mutual information, beta to the F and V measures; adjusted := FALSE leaves out what needs the expected mutual information. No rows: n = 0 and NULL metrics (with partition_by no row).';

-- All columns of internal_report.
CREATE OR REPLACE MACRO clustereval._internal_report(
  tbl, vector, cluster, distance, p, center, weights, partition_by, noise, noise_as
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinates(__ce_points, center)),
  __ce_centers AS (SELECT * FROM clustereval._centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._middles(__ce_points, __ce_coordinates, distance, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._spreads(__ce_points, __ce_centers, __ce_middles, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._clusters_of_points(__ce_centers, __ce_spreads)
  ),
  __ce_gaps AS (SELECT * FROM clustereval._gaps(__ce_clusters, distance, p)),
  __ce_counts AS (SELECT * FROM clustereval._point_counts(__ce_spreads)),
  __ce_spread_totals AS (
    SELECT * FROM clustereval._spread_totals(__ce_clusters, __ce_middles, distance, p)
  ),
  __ce_gap_totals AS (SELECT * FROM clustereval._gap_totals(__ce_gaps, distance)),
  __ce_variance_totals AS (
    SELECT * FROM clustereval._variance_totals(__ce_coordinates, __ce_middles)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._checked_points(__ce_points, __ce_spreads, __ce_middles, weights)
  ),
  __ce_joined AS (
    SELECT
      __ce_r.__ce_partition, __ce_r.__ce_total, __ce_r.__ce_n_dropped, __ce_r.__ce_n_noise,
      __ce_r.__ce_n_clusters, __ce_r.__ce_n_singletons,
      COALESCE(__ce_s.__ce_dims, 0) AS __ce_dims,
      CAST(__ce_r.__ce_total AS DOUBLE) AS __ce_n,
      CAST(__ce_r.__ce_n_clusters AS DOUBLE) AS __ce_k,
      clustereval._adds_up(distance, center) AS __ce_adds_up,
      __ce_s.__ce_ssw, __ce_s.__ce_ssb, __ce_s.__ce_mean_distances, __ce_s.__ce_distances,
      __ce_s.__ce_to_middle, __ce_s.__ce_mean_squares, __ce_s.__ce_log_squares,
      __ce_s.__ce_variances,
      __ce_g.__ce_least_gap, __ce_g.__ce_most_gap, __ce_g.__ce_least_square, __ce_g.__ce_gap_sum,
      __ce_g.__ce_overlaps, __ce_g.__ce_isolation,
      __ce_v.__ce_mean_share, __ce_v.__ce_variance
    FROM __ce_counts AS __ce_r
    LEFT JOIN __ce_spread_totals AS __ce_s
      ON __ce_s.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_gap_totals AS __ce_g
      ON __ce_g.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_variance_totals AS __ce_v
      ON __ce_v.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_total AS n,
    __ce_n_dropped AS n_dropped,
    __ce_n_noise AS n_noise,
    __ce_dims AS n_dims,
    __ce_n_clusters AS n_clusters,
    __ce_n_singletons AS n_singletons,
    __ce_ssw AS ssw,
    __ce_ssb AS ssb,
    CASE WHEN __ce_adds_up THEN __ce_ssw + __ce_ssb END AS sst,
    CASE
      WHEN __ce_adds_up THEN clustereval._ratio(__ce_ssb, __ce_ssw + __ce_ssb)
    END AS explained_variance,
    __ce_mean_distances / __ce_k AS compactness,
    __ce_gap_sum / (__ce_k * (__ce_k - 1)) AS separation,
    clustereval._calinski_harabasz_score(__ce_n, __ce_k, __ce_ssw, __ce_ssb)
      AS calinski_harabasz_score,
    clustereval._davies_bouldin_score(__ce_n, __ce_k, __ce_overlaps) AS davies_bouldin_score,
    __ce_mean_squares / __ce_k AS ball_hall_index,
    __ce_log_squares AS banfield_raftery_index,
    clustereval._log_ss_ratio(__ce_ssw, __ce_ssb) AS log_ss_ratio,
    clustereval._pbm_index(__ce_k, __ce_to_middle, __ce_distances, __ce_most_gap) AS pbm_index,
    CASE WHEN __ce_adds_up THEN sqrt(__ce_mean_share / __ce_k) END AS ratkowsky_lance_index,
    clustereval._ratio(__ce_ssw / __ce_n, __ce_least_square) AS ray_turi_index,
    clustereval._ratio(__ce_ssw / __ce_n, __ce_least_square) AS xie_beni_index,
    CASE
      WHEN __ce_adds_up
      THEN clustereval._scattering(__ce_variances, __ce_k, __ce_variance, __ce_n)
    END AS sd_scattering,
    clustereval._ratio(__ce_most_gap, __ce_least_gap) * __ce_isolation AS sd_separation
  FROM __ce_joined;

-- Every internal index that follows from the clusters' centres, one row a partition.
-- Examples:
--   FROM clustereval.internal_report(points, [x, y, z], cluster);
--   FROM clustereval.internal_report(points, [x, y, z], cluster, distance := 'cosine');
CREATE OR REPLACE MACRO clustereval.internal_report(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := 'cluster', weights := NULL
) AS TABLE
  SELECT *
  FROM clustereval._internal_report(
    tbl, vector, cluster, distance, p, center, weights, partition_by, noise, noise_as
  )
  WHERE clustereval._checked_options(
    clustereval._valid_points(distance, p, center, weights, noise, noise_as)
  )
  ORDER BY partition_key;
COMMENT ON MACRO TABLE clustereval.internal_report IS
'Internal indices from the clusters'' centres, one row a partition: counts (n points kept, n_dropped with a NULL vector or cluster, n_noise, n_dims, n_clusters, n_singletons), then one column an index, NULL where it is undefined. vector is a LIST or ARRAY of numbers, or columns as [x, y, z]. distance: ''euclidean'' (default), ''sqeuclidean'', ''cityblock'', ''chebyshev'', ''minkowski'' (with p) or ''cosine''. center ''mean'' (default) or ''median'' by coordinate; for cosine the direction of the mean unit vector. weights: one number > 0 for each dimension, as in scipy. sst, explained_variance, ratkowsky_lance_index and sd_scattering are NULL unless total = within + between, that is for all but euclidean and sqeuclidean with the mean. No rows: n = 0 and NULL indices (with partition_by no row).';
