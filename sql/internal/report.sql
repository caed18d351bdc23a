-- report: the indices from the centers of clusters, per clustering and per cluster.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per partition (group of partition_by): all columns of internal_report. __ce_clusters:
-- rows of _measured_clusters; __ce_spreads: rows of _cluster_spreads; the rest are options.
CREATE OR REPLACE MACRO clustereval._report_of_clusters(
  __ce_clusters, __ce_spreads, distance, p, center
) AS TABLE
  WITH __ce_gaps AS (SELECT * FROM clustereval._centroid_gaps(__ce_clusters, distance, p)),
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_spreads)),
  __ce_spread_totals AS (
    SELECT * FROM clustereval._spread_totals(__ce_clusters, distance, p)
  ),
  __ce_gap_totals AS (SELECT * FROM clustereval._gap_totals(__ce_gaps, distance)),
  __ce_variance_totals AS (SELECT * FROM clustereval._variance_totals(__ce_clusters)),
  __ce_statistics AS (
    SELECT
      counts.__ce_partition, counts.__ce_total, counts.__ce_n_dropped, counts.__ce_n_noise,
      counts.__ce_n_clusters, counts.__ce_n_singletons,
      COALESCE(spreads.__ce_dims, 0) AS __ce_dims,
      clustereval._squares_add_up(distance, center) AS __ce_adds_up,
      spreads.__ce_ssw, spreads.__ce_ssb, spreads.__ce_mean_distance_sum, spreads.__ce_distances,
      spreads.__ce_overall_distances, spreads.__ce_mean_square_sum, spreads.__ce_log_square_sum,
      spreads.__ce_variance_norm_sum,
      gaps.__ce_least_gap, gaps.__ce_most_gap, gaps.__ce_least_squared_gap, gaps.__ce_gap_sum,
      gaps.__ce_overlap_sum, gaps.__ce_inverse_gap_sum,
      variances.__ce_mean_between_share, variances.__ce_total_squares_norm
    FROM __ce_counts AS counts
    LEFT JOIN __ce_spread_totals AS spreads
      ON spreads.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_gap_totals AS gaps
      ON gaps.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_variance_totals AS variances
      ON variances.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
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
    __ce_mean_distance_sum / __ce_n_clusters AS compactness,
    clustereval._separation(__ce_n_clusters, __ce_gap_sum) AS separation,
    clustereval._finite_or_null(
      clustereval._calinski_harabasz_score(__ce_total, __ce_n_clusters, __ce_ssw, __ce_ssb)
    ) AS calinski_harabasz_score,
    clustereval._finite_or_null(
      clustereval._davies_bouldin_score(__ce_total, __ce_n_clusters, __ce_overlap_sum)
    ) AS davies_bouldin_score,
    __ce_mean_square_sum / __ce_n_clusters AS ball_hall_index,
    __ce_log_square_sum AS banfield_raftery_index,
    clustereval._log_ss_ratio(__ce_ssw, __ce_ssb) AS log_ss_ratio,
    clustereval._finite_or_null(clustereval._pbm_index(
      __ce_n_clusters, __ce_overall_distances, __ce_distances, __ce_most_gap
    )) AS pbm_index,
    CASE
      WHEN __ce_adds_up THEN sqrt(__ce_mean_between_share / __ce_n_clusters)
    END AS ratkowsky_lance_index,
    clustereval._finite_or_null(
      clustereval._ratio(__ce_ssw / __ce_total, __ce_least_squared_gap)
    ) AS ray_turi_index,
    clustereval._finite_or_null(
      clustereval._ratio(__ce_ssw / __ce_total, __ce_least_squared_gap)
    ) AS xie_beni_index,
    CASE
      WHEN __ce_adds_up
      THEN clustereval._scattering(
        __ce_total, __ce_n_clusters, __ce_variance_norm_sum, __ce_total_squares_norm
      )
    END AS sd_scattering,
    clustereval._finite_or_null(
      clustereval._ratio(__ce_most_gap, __ce_least_gap) * __ce_inverse_gap_sum
    ) AS sd_separation
  FROM __ce_statistics;

-- One row per partition (group of partition_by): all columns of internal_report, which has the same
-- parameters and adds a check of the options and the order of the rows.
CREATE OR REPLACE MACRO clustereval._internal_report(
  tbl, vector, cluster, distance, p, center, weights, partition_by, noise, noise_as, missing
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, center)),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._move_points(__ce_rows, __ce_origins, weights)
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._moved_moments(
      __ce_moments, __ce_points, __ce_origins, distance, p, center, weights
    )
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
  )
  SELECT *
  FROM clustereval._report_of_clusters(__ce_clusters, __ce_spreads, distance, p, center)
  WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- One row per partition (group of partition_by): counts, and the internal indices that need only
-- the centers of the clusters.
-- Examples:
--   FROM clustereval.internal_report(points, [x, y, z], cluster);
--   FROM clustereval.internal_report(points, [x, y, z], cluster, distance := 'cosine');
CREATE OR REPLACE MACRO clustereval.internal_report(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  SELECT *
  FROM clustereval._internal_report(
    tbl, vector, cluster, distance, p, center, weights, partition_by, noise, noise_as, missing
  )
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
  ORDER BY partition_key ASC NULLS LAST;

-- One row per cluster: its size, centroid and spread, and the cluster nearest to it.
-- Examples:
--   FROM clustereval.internal_cluster_report(points, [x, y, z], cluster);
--   FROM clustereval.internal_cluster_report(points, [x, y, z], cluster, distance := 'cityblock');
CREATE OR REPLACE MACRO clustereval.internal_cluster_report(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, center)),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._move_points(__ce_rows, __ce_origins, weights)
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._moved_moments(
      __ce_moments, __ce_points, __ce_origins, distance, p, center, weights
    )
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_gaps AS (SELECT * FROM clustereval._centroid_gaps(__ce_clusters, distance, p)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
  )
  SELECT
    own.__ce_partition AS partition_key,
    own.__ce_cluster AS cluster,
    own.__ce_n AS n,
    clustereval._user_center(own.__ce_center, origin.__ce_origin, weights, distance, p)
      AS centroid,
    own.__ce_ssw AS ssw,
    own.__ce_mean_distance AS mean_distance,
    own.__ce_radius AS max_distance,
    gap.__ce_nearest AS nearest_cluster,
    gap.__ce_least AS nearest_distance
  FROM __ce_clusters AS own
  LEFT JOIN __ce_gaps AS gap ON gap.__ce_number = own.__ce_number
  LEFT JOIN __ce_origins AS origin
    ON origin.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY own.__ce_partition ASC NULLS LAST, own.__ce_cluster ASC NULLS LAST,
    own.__ce_singleton_no ASC NULLS LAST;
