-- scatter: indices from the centers of clusters, and from the distances of points to their own
-- center or to every center. A gap is the distance between two centers.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per partition (group of partition_by): its numbers of rows that count (__ce_total), that
-- were dropped (__ce_n_dropped), and that are noise (__ce_n_noise); of clusters (__ce_n_clusters),
-- and of clusters of one point (__ce_n_singletons). Partitions that keep no row are left out,
-- except the single partition of a call without partition_by. __ce_spreads: rows of
-- _cluster_spreads.
CREATE OR REPLACE MACRO clustereval._point_row_counts(__ce_spreads) AS TABLE
  SELECT
    __ce_partition,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_total,
    CAST(SUM(__ce_n_dropped) AS BIGINT) AS __ce_n_dropped,
    CAST(SUM(__ce_n_noise) AS BIGINT) AS __ce_n_noise,
    CAST(COUNT(CASE WHEN __ce_n > 0 THEN 1 END) AS BIGINT) AS __ce_n_clusters,
    CAST(COUNT(CASE WHEN __ce_n = 1 THEN 1 END) AS BIGINT) AS __ce_n_singletons
  FROM query_table(__ce_spreads)
  GROUP BY __ce_partition
  HAVING SUM(__ce_n) > 0 OR SUM(__ce_n_unpartitioned) > 0;

-- One row per cluster (__ce_partition, __ce_number) of a partition with several: the smallest and
-- largest distance of its center to the other centers (__ce_least, __ce_most_gap), the sum of all
-- (__ce_gap_sum), the nearest cluster (__ce_nearest; the lowest in a tie), and __ce_overlap of
-- Davies and Bouldin: the largest (sum of both clusters' mean distances to their centers) /
-- distance of the centers. Centers that coincide do not count in it, as in scikit-learn.
-- __ce_clusters: rows of _measured_clusters.
CREATE OR REPLACE MACRO clustereval._centroid_gaps(__ce_clusters, distance, p) AS TABLE
  WITH __ce_cluster_pairs AS (
    SELECT
      own.__ce_partition, own.__ce_number, other.__ce_cluster,
      own.__ce_mean_distance + other.__ce_mean_distance AS __ce_mean_distance_sum,
      clustereval._distance(own.__ce_center, other.__ce_center, distance, p) AS __ce_gap
    FROM query_table(__ce_clusters) AS own
    JOIN query_table(__ce_clusters) AS other
      ON other.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
      AND other.__ce_number <> own.__ce_number
  )
  SELECT
    __ce_partition, __ce_number,
    clustereval._value_at_least_key(__ce_cluster, __ce_gap, TRUE) AS __ce_nearest,
    MIN(__ce_gap) AS __ce_least,
    MAX(__ce_gap) AS __ce_most_gap,
    clustereval._compensated_sum(__ce_gap) AS __ce_gap_sum,
    MAX(CASE WHEN __ce_gap = 0 THEN 0.0 ELSE __ce_mean_distance_sum / __ce_gap END) AS __ce_overlap
  FROM __ce_cluster_pairs
  GROUP BY __ce_partition, __ce_number;

-- One row per partition (group of partition_by): its dimensions __ce_dims, and sums over its
-- clusters: __ce_ssw and __ce_ssb, of squares within and between clusters; __ce_distances and
-- __ce_overall_distances, of the distances of points to their own center and to that of the
-- partition; __ce_mean_distance_sum, of mean distances; __ce_mean_square_sum, of ssw / n;
-- __ce_log_square_sum, of n ln(ssw / n), NULL if an ssw is 0; and __ce_variance_norm_sum, of norms
-- of variance vectors. __ce_clusters: rows of _measured_clusters; distance and p are options.
CREATE OR REPLACE MACRO clustereval._spread_totals(__ce_clusters, distance, p) AS TABLE
  SELECT
    __ce_partition,
    MAX(__ce_dims) AS __ce_dims,
    clustereval._compensated_sum(__ce_ssw) AS __ce_ssw,
    clustereval._compensated_sum(
      __ce_n * clustereval._squared_distance(
        clustereval._distance(__ce_center, __ce_overall_center, distance, p), distance
      )
    ) AS __ce_ssb,
    clustereval._compensated_sum(__ce_mean_distance) AS __ce_mean_distance_sum,
    clustereval._compensated_sum(__ce_distances) AS __ce_distances,
    clustereval._compensated_sum(__ce_overall_distances) AS __ce_overall_distances,
    clustereval._compensated_sum(__ce_ssw / __ce_n) AS __ce_mean_square_sum,
    CASE
      WHEN MIN(__ce_ssw) > 0
      THEN clustereval._compensated_sum(
        __ce_n * ln(NULLIF(__ce_ssw, 0) / __ce_n)
      )
    END AS __ce_log_square_sum,
    clustereval._compensated_sum(
      clustereval._scaled_norm(__ce_within_squares) / __ce_n
    ) AS __ce_variance_norm_sum
  FROM query_table(__ce_clusters)
  GROUP BY __ce_partition;

-- One row per partition (group of partition_by): the least and largest distance of two centers
-- (__ce_least_gap, __ce_most_gap), the least squared one (__ce_least_squared_gap), and sums over
-- clusters of their __ce_gap_sum (so every pair of centers counts twice), of 1 / __ce_gap_sum
-- (__ce_inverse_gap_sum, NULL if one is 0), and of their overlap (__ce_overlap_sum). __ce_gaps:
-- rows of _centroid_gaps.
CREATE OR REPLACE MACRO clustereval._gap_totals(__ce_gaps, distance) AS TABLE
  SELECT
    __ce_partition,
    MIN(__ce_least) AS __ce_least_gap,
    MAX(__ce_most_gap) AS __ce_most_gap,
    MIN(clustereval._squared_distance(__ce_least, distance)) AS __ce_least_squared_gap,
    clustereval._compensated_sum(__ce_gap_sum) AS __ce_gap_sum,
    clustereval._compensated_sum(__ce_overlap) AS __ce_overlap_sum,
    CASE
      WHEN MIN(__ce_gap_sum) > 0
      THEN clustereval._compensated_sum(1.0 / NULLIF(__ce_gap_sum, 0))
    END AS __ce_inverse_gap_sum
  FROM query_table(__ce_gaps)
  GROUP BY __ce_partition;

-- One row per partition (group of partition_by): the mean over the coordinates of the share of the
-- total sum of squares that lies between clusters (__ce_mean_between_share, NULL if a coordinate is
-- constant), and the norm of the vector of these totals (__ce_total_squares_norm). __ce_clusters:
-- rows of _measured_clusters.
CREATE OR REPLACE MACRO clustereval._variance_totals(__ce_clusters) AS TABLE
  WITH __ce_coordinates AS (
    SELECT
      __ce_partition, __ce_n,
      unnest(range(1, __ce_dims + 1)) AS __ce_i,
      unnest(__ce_center) AS __ce_center,
      unnest(__ce_overall_center) AS __ce_overall_center,
      unnest(__ce_within_squares) AS __ce_squares
    FROM query_table(__ce_clusters)
  ),
  __ce_coordinate_squares AS (
    SELECT
      __ce_partition, __ce_i,
      clustereval._compensated_sum(__ce_squares) AS __ce_within_squares,
      clustereval._compensated_sum(
        __ce_n * pow(__ce_center - __ce_overall_center, 2)
      ) AS __ce_between_squares
    FROM __ce_coordinates
    GROUP BY __ce_partition, __ce_i
  ),
  __ce_totals AS (
    SELECT
      __ce_partition,
      CASE
        WHEN MIN(__ce_within_squares + __ce_between_squares) > 0
        THEN clustereval._compensated_sum(
          __ce_between_squares / NULLIF(__ce_within_squares + __ce_between_squares, 0)
        ) / COUNT(*)
      END AS __ce_mean_between_share,
      list(__ce_within_squares + __ce_between_squares ORDER BY __ce_i ASC NULLS LAST)
        AS __ce_total_squares
    FROM __ce_coordinate_squares
    GROUP BY __ce_partition
  )
  SELECT
    __ce_partition, __ce_mean_between_share,
    clustereval._scaled_norm(__ce_total_squares) AS __ce_total_squares_norm
  FROM __ce_totals;

---------------------------------------------------------------------------------------------------
-- Formulas. n points in n_clusters clusters; ssw and ssb: sums of squares within and between them.
---------------------------------------------------------------------------------------------------

-- TRUE if n points lie in at least 2 clusters, but fewer than n. Otherwise scikit-learn raises an
-- error, and its indices are NULL here.
CREATE OR REPLACE MACRO clustereval._is_clustering(n, n_clusters) AS
  n_clusters >= 2 AND n_clusters < n;

-- Variance between clusters / variance within, from the sums of squares ssb and ssw of n points; 1
-- if ssw is 0, as in scikit-learn. NULL unless 2 <= n_clusters < n.
CREATE OR REPLACE MACRO clustereval._calinski_harabasz_score(n, n_clusters, ssw, ssb) AS
  CASE
    WHEN NOT clustereval._is_clustering(n, n_clusters) THEN NULL
    WHEN ssw = 0 THEN 1.0
    ELSE (ssb / (n_clusters - 1.0)) / (ssw / (n - n_clusters))
  END;

-- Davies-Bouldin score of n points: overlap_sum / n_clusters, NULL unless 2 <= n_clusters < n.
-- overlap_sum is the sum over clusters of __ce_overlap of _centroid_gaps.
CREATE OR REPLACE MACRO clustereval._davies_bouldin_score(n, n_clusters, overlap_sum) AS
  CASE WHEN clustereval._is_clustering(n, n_clusters) THEN overlap_sum / n_clusters END;

-- Mean distance between centers. gap_sum is the sum over ordered pairs of centers: every pair
-- twice. n_clusters may be 1e10: n_clusters (n_clusters - 1) as BIGINT would overflow.
CREATE OR REPLACE MACRO clustereval._separation(n_clusters, gap_sum) AS
  gap_sum / (CAST(n_clusters AS DOUBLE) * (n_clusters - 1));

-- ln(ssb / ssw), sums of squares between and within clusters; NULL if one of them is 0.
CREATE OR REPLACE MACRO clustereval._log_ss_ratio(ssw, ssb) AS
  CASE WHEN ssw > 0 AND ssb > 0 THEN ln(NULLIF(ssb, 0) / NULLIF(ssw, 0)) END;

-- Scat term of the SD and S_Dbw indices: mean norm of the clusters' variance vectors / norm of the
-- variance vector of all n points. variance_norm_sum is the sum of the former norms over clusters,
-- total_squares_norm the norm of the vector of the coordinates' total sums of squares.
CREATE OR REPLACE MACRO clustereval._scattering(
  n, n_clusters, variance_norm_sum, total_squares_norm
) AS
  clustereval._ratio(variance_norm_sum / n_clusters, total_squares_norm / n);

-- PBM index, from the sums of the distances of all points to the center of the partition
-- (overall_distances) and to their own center (distances), and the largest distance between two
-- centers (most_gap).
CREATE OR REPLACE MACRO clustereval._pbm_index(
  n_clusters, overall_distances, distances, most_gap
) AS
  pow(clustereval._ratio(overall_distances, distances) * most_gap / n_clusters, 2);

---------------------------------------------------------------------------------------------------
-- Distances to every center
---------------------------------------------------------------------------------------------------

-- One row per partition (group of partition_by): Wemmert and Gancarski's index
-- (__ce_wemmert_gancarski). A point contributes 1 - own / other, where own and other are its
-- distances to the center of its cluster and to the nearest other center; a cluster contributes the
-- sum over its points, or 0 if that is negative; the index is the sum over clusters / number of
-- points. A point's term is -inf if it lies at another center, and undefined if it lies at both,
-- which makes the index NULL. Parameters: rows of _points and _measured_clusters, and options.
CREATE OR REPLACE MACRO clustereval._wemmert_gancarski_totals(
  __ce_points, __ce_clusters, distance, p
) AS TABLE
  WITH __ce_center_distances AS (
    SELECT
      own.__ce_partition, own.__ce_number, point.__ce_row,
      MAX(clustereval._distance(point.__ce_point, own.__ce_center, distance, p)) AS __ce_own,
      MIN(clustereval._distance(point.__ce_point, other.__ce_center, distance, p)) AS __ce_other
    FROM query_table(__ce_points) AS point
    JOIN query_table(__ce_clusters) AS own
      ON own.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
      AND own.__ce_cluster IS NOT DISTINCT FROM point.__ce_cluster
      AND own.__ce_singleton_no = point.__ce_singleton_no
    JOIN query_table(__ce_clusters) AS other
      ON other.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
      AND other.__ce_number <> own.__ce_number
    WHERE point.__ce_kept
    GROUP BY own.__ce_partition, own.__ce_number, point.__ce_row
  ),
  __ce_cluster_sums AS (
    SELECT
      __ce_partition, __ce_number,
      COUNT(*) AS __ce_n,
      COUNT(CASE WHEN __ce_other = 0 AND __ce_own > 0 THEN 1 END) AS __ce_n_at_other,
      COUNT(CASE WHEN __ce_other = 0 AND __ce_own = 0 THEN 1 END) AS __ce_n_at_both,
      clustereval._compensated_sum(
        CASE WHEN __ce_other > 0 THEN 1.0 - __ce_own / __ce_other ELSE 0.0 END
      ) AS __ce_term_sum
    FROM __ce_center_distances
    GROUP BY __ce_partition, __ce_number
  )
  SELECT
    __ce_partition,
    CASE
      WHEN SUM(__ce_n_at_both) = 0
      THEN clustereval._compensated_sum(
        CASE WHEN __ce_n_at_other = 0 THEN GREATEST(__ce_term_sum, 0.0) ELSE 0.0 END
      ) / SUM(__ce_n)
    END AS __ce_wemmert_gancarski
  FROM __ce_cluster_sums
  GROUP BY __ce_partition;

-- One row per partition (group of partition_by): the inter-cluster density of S_Dbw (__ce_density).
-- For a pair of clusters that is the number of their points near the midpoint of the two centers,
-- divided by the number near the center that has more of them; the result is the mean over pairs,
-- NULL if a pair has no point near either center. Near is within sqrt(sum over clusters of the norm
-- of their variance vector) / number of clusters. Parameters: rows of _points and
-- _measured_clusters.
CREATE OR REPLACE MACRO clustereval._density_totals(__ce_points, __ce_clusters) AS TABLE
  WITH __ce_density_radii AS (
    SELECT
      __ce_partition,
      sqrt(
        clustereval._compensated_sum(clustereval._scaled_norm(__ce_within_squares) / __ce_n)
      ) / COUNT(*) AS __ce_density_radius
    FROM query_table(__ce_clusters)
    GROUP BY __ce_partition
  ),
  __ce_center_pairs AS (
    SELECT
      own.__ce_partition, own.__ce_cluster, own.__ce_singleton_no, radius.__ce_density_radius,
      LEAST(own.__ce_number, other.__ce_number) AS __ce_lower_number,
      GREATEST(own.__ce_number, other.__ce_number) AS __ce_higher_number,
      own.__ce_number < other.__ce_number AS __ce_own_is_lower,
      own.__ce_center AS __ce_own_center,
      other.__ce_center AS __ce_other_center
    FROM query_table(__ce_clusters) AS own
    JOIN query_table(__ce_clusters) AS other
      ON other.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
      AND other.__ce_number <> own.__ce_number
    JOIN __ce_density_radii AS radius
      ON radius.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
  ),
  __ce_midpoints AS (
    SELECT
      *,
      list_transform(
        __ce_own_center, lambda __ce_v, __ce_i: (__ce_v + __ce_other_center[__ce_i]) / 2
      ) AS __ce_midpoint
    FROM __ce_center_pairs
  ),
  __ce_nearby AS (
    SELECT
      pair.__ce_partition, pair.__ce_lower_number, pair.__ce_higher_number, pair.__ce_own_is_lower,
      clustereval._euclidean(point.__ce_point, pair.__ce_own_center) <= pair.__ce_density_radius
        AS __ce_near_own,
      clustereval._euclidean(point.__ce_point, pair.__ce_other_center) <= pair.__ce_density_radius
        AS __ce_near_other,
      clustereval._euclidean(point.__ce_point, pair.__ce_midpoint) <= pair.__ce_density_radius
        AS __ce_near_midpoint
    FROM query_table(__ce_points) AS point
    JOIN __ce_midpoints AS pair
      ON pair.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
      AND pair.__ce_cluster IS NOT DISTINCT FROM point.__ce_cluster
      AND pair.__ce_singleton_no = point.__ce_singleton_no
    WHERE point.__ce_kept
  ),
  __ce_nearby_counts AS (
    SELECT
      __ce_partition, __ce_lower_number, __ce_higher_number,
      COUNT(CASE WHEN __ce_near_midpoint THEN 1 END) AS __ce_n_near_midpoint,
      COUNT(
        CASE WHEN CASE WHEN __ce_own_is_lower THEN __ce_near_own ELSE __ce_near_other END THEN 1 END
      ) AS __ce_n_near_lower,
      COUNT(
        CASE WHEN CASE WHEN __ce_own_is_lower THEN __ce_near_other ELSE __ce_near_own END THEN 1 END
      ) AS __ce_n_near_higher
    FROM __ce_nearby
    GROUP BY __ce_partition, __ce_lower_number, __ce_higher_number
  )
  SELECT
    __ce_partition,
    CASE
      WHEN MIN(GREATEST(__ce_n_near_lower, __ce_n_near_higher)) > 0
      THEN clustereval._compensated_sum(
        clustereval._ratio(__ce_n_near_midpoint, GREATEST(__ce_n_near_lower, __ce_n_near_higher))
      ) / COUNT(*)
    END AS __ce_density
  FROM __ce_nearby_counts
  GROUP BY __ce_partition;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- TRUE if n_pairs, the ordered pairs of clusters in one partition, summed over the partitions, are
-- at most 64 million, or NULL because there is no cluster. Raises an error otherwise: points are
-- counted for each pair, which takes about 60 bytes.
CREATE OR REPLACE MACRO clustereval._check_cluster_pairs(n_pairs) AS
  CASE
    WHEN n_pairs > 64000000
    THEN error(concat(
      'cluster: expected at most 64000000 pairs of clusters (8000 clusters), got ',
      n_pairs, ' (about ', CAST(n_pairs AS HUGEINT) // 16000 + 1, ' MB in DuckDB); '
      'evaluate fewer clusters, or take internal_report, which has no limit'
    ))
    ELSE TRUE
  END;

-- One row per partition (group of partition_by): the internal indices that need the distance of
-- every point to every center.
-- Examples:
--   FROM clustereval.neighbor_report(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.neighbor_report(
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
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
  ),
  __ce_spread_totals AS (
    SELECT * FROM clustereval._spread_totals(__ce_clusters, distance, p)
  ),
  __ce_variance_totals AS (SELECT * FROM clustereval._variance_totals(__ce_clusters)),
  __ce_cluster_counts AS (
    SELECT COUNT(*) AS __ce_n_clusters FROM __ce_clusters GROUP BY __ce_partition
  ),
  __ce_size_check AS MATERIALIZED (
    SELECT
      clustereval._check_cluster_pairs(
        CAST(SUM(clustereval._widen(__ce_n_clusters) * __ce_n_clusters) AS DECIMAL(38, 0))
      ) AS __ce_valid
    FROM __ce_cluster_counts
    WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ),
  __ce_compared_clusters AS MATERIALIZED (
    SELECT *
    FROM __ce_clusters
    WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_size_check), TRUE)
  ),
  __ce_wemmert_gancarski AS (
    SELECT *
    FROM clustereval._wemmert_gancarski_totals(__ce_points, __ce_compared_clusters, distance, p)
  ),
  __ce_density_totals AS (
    SELECT * FROM clustereval._density_totals(__ce_points, __ce_compared_clusters)
  )
  SELECT
    counts.__ce_partition AS partition_key,
    counts.__ce_total AS n,
    counts.__ce_n_dropped AS n_dropped,
    counts.__ce_n_noise AS n_noise,
    COALESCE(spreads.__ce_dims, 0) AS n_dims,
    counts.__ce_n_clusters AS n_clusters,
    neighbors.__ce_wemmert_gancarski AS wemmert_gancarski_index,
    CASE
      WHEN clustereval._squares_add_up(distance, center)
      THEN clustereval._scattering(
        counts.__ce_total, counts.__ce_n_clusters, spreads.__ce_variance_norm_sum,
        variances.__ce_total_squares_norm
      ) + densities.__ce_density
    END AS s_dbw_index
  FROM __ce_counts AS counts
  LEFT JOIN __ce_spread_totals AS spreads
    ON spreads.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  LEFT JOIN __ce_variance_totals AS variances
    ON variances.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  LEFT JOIN __ce_wemmert_gancarski AS neighbors
    ON neighbors.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  LEFT JOIN __ce_density_totals AS densities
    ON densities.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_size_check), TRUE)
  ORDER BY counts.__ce_partition ASC NULLS LAST;
