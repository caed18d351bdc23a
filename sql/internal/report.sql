-- report: the indices that follow from the clusters' centers, of clusterings and of single clusters.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- All columns of internal_report.
CREATE OR REPLACE MACRO clustereval._internal_report(
  tbl, vector, cluster, distance, p, center, weights, partition_by, noise, noise_as
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, center)),
  __ce_centers AS (SELECT * FROM clustereval._cluster_centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._partition_centers(__ce_points, __ce_coordinates, distance, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, __ce_middles, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_gaps AS (SELECT * FROM clustereval._centroid_gaps(__ce_clusters, distance, p)),
  __ce_counts AS (SELECT * FROM clustereval._point_counts(__ce_spreads)),
  __ce_spread_totals AS (
    SELECT * FROM clustereval._spread_totals(__ce_clusters, __ce_middles, distance, p)
  ),
  __ce_gap_totals AS (SELECT * FROM clustereval._gap_totals(__ce_gaps, distance)),
  __ce_variance_totals AS (
    SELECT * FROM clustereval._variance_totals(__ce_coordinates, __ce_middles)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, weights)
  ),
  __ce_joined AS (
    SELECT
      __ce_r.__ce_partition, __ce_r.__ce_total, __ce_r.__ce_n_dropped, __ce_r.__ce_n_noise,
      __ce_r.__ce_n_clusters, __ce_r.__ce_n_singletons,
      COALESCE(__ce_s.__ce_dims, 0) AS __ce_dims,
      CAST(__ce_r.__ce_total AS DOUBLE) AS __ce_n,
      CAST(__ce_r.__ce_n_clusters AS DOUBLE) AS __ce_k,
      clustereval._squares_add_up(distance, center) AS __ce_adds_up,
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

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every internal index that follows from the clusters' centers, one row a partition.
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
  WHERE clustereval._check_options(
    clustereval._valid_points(distance, p, center, weights, noise, noise_as)
  )
  ORDER BY partition_key;
COMMENT ON MACRO TABLE clustereval.internal_report IS
'Internal indices from the clusters'' centers, one row a partition: counts (n points kept, n_dropped with a NULL vector or cluster, n_noise, n_dims, n_clusters, n_singletons), then one column an index, NULL where it is undefined. vector is a LIST or ARRAY of numbers, or columns as [x, y, z]. distance: ''euclidean'' (default), ''sqeuclidean'', ''cityblock'', ''chebyshev'', ''minkowski'' (with p) or ''cosine''. center ''mean'' (default) or ''median'' by coordinate; for cosine the direction of the mean unit vector. weights: one number > 0 for each dimension, as in scipy. sst, explained_variance, ratkowsky_lance_index and sd_scattering are NULL unless total = within + between, that is for all but euclidean and sqeuclidean with the mean. No rows: n = 0 and NULL indices (with partition_by no row).';

-- Every cluster: how wide it is and how far the next one.
-- Examples:
--   FROM clustereval.internal_cluster_report(points, [x, y, z], cluster);
--   FROM clustereval.internal_cluster_report(points, [x, y, z], cluster, distance := 'cityblock');
CREATE OR REPLACE MACRO clustereval.internal_cluster_report(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := 'cluster', weights := NULL
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, center)),
  __ce_centers AS (SELECT * FROM clustereval._cluster_centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._partition_centers(__ce_points, __ce_coordinates, distance, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, __ce_middles, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_gaps AS (SELECT * FROM clustereval._centroid_gaps(__ce_clusters, distance, p)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, weights)
  )
  SELECT
    __ce_c.__ce_partition AS partition_key,
    __ce_c.__ce_cluster AS cluster,
    __ce_c.__ce_n AS n,
    clustereval._unscale_vector(__ce_c.__ce_center, weights, distance, p) AS centroid,
    __ce_c.__ce_squares AS ssw,
    __ce_c.__ce_mean_distance AS mean_distance,
    __ce_c.__ce_radius AS max_distance,
    __ce_g.__ce_nearest['cluster'] AS nearest_cluster,
    __ce_g.__ce_nearest['distance'] AS nearest_distance
  FROM __ce_clusters AS __ce_c
  LEFT JOIN __ce_gaps AS __ce_g ON __ce_g.__ce_number = __ce_c.__ce_number
  WHERE clustereval._check_options(
    clustereval._valid_points(distance, p, center, weights, noise, noise_as)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_c.__ce_partition, __ce_c.__ce_cluster, __ce_c.__ce_single;
COMMENT ON MACRO TABLE clustereval.internal_cluster_report IS
'One row a cluster: n points, its centroid, ssw = their squared distances to it, their mean_distance and max_distance to it, and the nearest_cluster by centroids (the lowest of equals) with its nearest_distance. NULL for these two where there is one cluster. With noise_as := ''singletons'' each noise point has a row of its own, cluster NULL.';
