-- report: the indices from the centers of clusters, per clustering and per cluster.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per partition (a group of partition_by): all columns of internal_report, noise_names of
-- _point_row_counts, and states, a list of a struct {n, m2, is_distorted} for each cluster, as
-- _dominant_coordinates reads them. clusters: rows of _measured_clusters; spreads: rows of
-- _cluster_spreads; coordinates: rows of _exact_coordinates; the rest are options.
CREATE OR REPLACE MACRO clustereval._report_of_clusters(
  clusters, spreads, coordinates, distance, p, center
) AS TABLE
  WITH gaps AS (SELECT * FROM clustereval._centroid_gaps(clusters, distance, p)),
  counts AS (SELECT * FROM clustereval._point_row_counts(spreads)),
  spread_totals AS (SELECT * FROM clustereval._spread_totals(clusters, gaps, distance, p)),
  variance_totals AS (SELECT * FROM clustereval._variance_totals(coordinates)),
  -- A list, which a query that does not read it leaves out with its variances.
  states AS (
    SELECT
      own.partition_key,
      list({
        'n': own.n, 'm2': norms.m2,
        'is_distorted': clustereval._is_distorted(
          clustereval._farness(own.radius, own.mean_distance, distance), own.n
        )
      }) AS states
    FROM query_table(clusters) AS own
    JOIN clustereval._variance_norms(coordinates) AS norms
      ON norms.partition_key IS NOT DISTINCT FROM own.partition_key
      AND norms.cluster = own.cluster
      AND norms.singleton_no = own.singleton_no
    GROUP BY own.partition_key
  ),
  -- One row per partition with the sums from which its indices are computed.
  statistics AS (
    SELECT
      counts.partition_key, counts.total, counts.n_dropped, counts.n_noise,
      counts.n_clusters, counts.n_singletons, counts.noise_names,
      COALESCE(spread.dims, 0) AS dims,
      clustereval._squares_add_up(distance, center) AS adds_up,
      spread.ssw, spread.ssb, spread.mean_distance_sum, spread.distances,
      spread.overall_distances, spread.mean_square_sum, spread.log_square_sum,
      spread.least_gap, spread.most_gap, spread.least_squared_gap, spread.gap_sum,
      spread.overlap_sum, spread.inverse_gap_sum,
      variances.variance_norm_sum, variances.mean_between_share, variances.total_squares_norm,
      states.states
    FROM counts
    LEFT JOIN spread_totals AS spread
      ON spread.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN variance_totals AS variances
      ON variances.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN states ON states.partition_key IS NOT DISTINCT FROM counts.partition_key
  )
  SELECT
    partition_key,
    total AS n,
    n_dropped,
    n_noise,
    dims AS n_dims,
    n_clusters,
    n_singletons,
    ssw,
    ssb,
    CASE WHEN adds_up THEN ssw + ssb END AS sst,
    CASE
      WHEN adds_up THEN clustereval._ratio(ssb, ssw + ssb)
    END AS explained_variance,
    mean_distance_sum / n_clusters AS compactness,
    clustereval._separation(n_clusters, gap_sum) AS separation,
    clustereval._finite_or_null(
      clustereval._calinski_harabasz_score(total, n_clusters, ssw, ssb)
    ) AS calinski_harabasz_score,
    clustereval._finite_or_null(
      clustereval._davies_bouldin_score(total, n_clusters, overlap_sum)
    ) AS davies_bouldin_score,
    mean_square_sum / n_clusters AS ball_hall_index,
    log_square_sum AS banfield_raftery_index,
    clustereval._log_ss_ratio(ssw, ssb) AS log_ss_ratio,
    clustereval._finite_or_null(clustereval._pbm_index(
      n_clusters, overall_distances, distances, most_gap
    )) AS pbm_index,
    CASE
      WHEN adds_up THEN sqrt(mean_between_share / n_clusters)
    END AS ratkowsky_lance_index,
    clustereval._finite_or_null(
      clustereval._ratio(ssw / total, least_squared_gap)
    ) AS ray_turi_index,
    clustereval._finite_or_null(
      clustereval._ratio(ssw / total, least_squared_gap)
    ) AS xie_beni_index,
    CASE
      WHEN adds_up
      THEN clustereval._scattering(total, n_clusters, variance_norm_sum, total_squares_norm)
    END AS sd_scattering,
    clustereval._finite_or_null(
      clustereval._ratio(most_gap, least_gap) * inverse_gap_sum
    ) AS sd_separation,
    noise_names, states
  FROM statistics;

-- One row per partition (a group of partition_by): the columns of _report_of_clusters, for the
-- parameters of internal_report, which adds a check of the options and the order of the rows.
CREATE OR REPLACE MACRO clustereval._internal_report(
  tbl, vector, cluster, distance, p, center, weights, partition_by, noise, noise_as, missing
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, center)),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._point_origins(
      __ce_rows, __ce_moments, distance, p, center, weights
    )
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
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_arguments, __ce_centers, distance, p
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(
      __ce_rows, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  ),
  __ce_exact_coordinates AS (
    SELECT * FROM clustereval._exact_coordinates(
      __ce_coordinates, __ce_moments, __ce_points, __ce_origins, distance, p, center, weights
    )
  )
  SELECT *
  FROM clustereval._report_of_clusters(
    __ce_clusters, __ce_spreads, __ce_exact_coordinates, distance, p, center
  )
  WHERE COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- One row per partition (a group of partition_by): counts, and the internal indices that need only
-- the centers of the clusters.
-- Examples:
--   FROM clustereval.internal_report(points, [x, y, z], cluster);
--   FROM clustereval.internal_report(points, [x, y, z], cluster, distance := 'cosine');
CREATE OR REPLACE MACRO clustereval.internal_report(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  SELECT * EXCLUDE (noise_names, states)
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
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_groups AS MATERIALIZED (
    SELECT *
    FROM clustereval._point_clusters(__ce_rows, __ce_arguments, distance, p, center, weights)
  ),
  -- Clusters that have points.
  __ce_clusters AS (SELECT * FROM __ce_groups WHERE n > 0),
  __ce_gaps AS (SELECT * FROM clustereval._centroid_gaps(__ce_clusters, distance, p))
  SELECT
    own.partition_key,
    own.cluster,
    own.n,
    clustereval._user_center(own.center, own.origin, weights, distance, p) AS centroid,
    own.ssw,
    own.mean_distance,
    own.radius AS max_distance,
    gap.nearest AS nearest_cluster,
    gap.least AS nearest_distance
  FROM __ce_clusters AS own
  LEFT JOIN __ce_gaps AS gap ON gap.number = own.number
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
  ORDER BY own.partition_key ASC NULLS LAST, own.cluster ASC NULLS LAST,
    own.singleton_no ASC NULLS LAST;
