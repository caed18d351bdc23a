-- scatter: the indices that follow from the clusters' centers, and from the distance of each point to
-- its own center or to every center.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row a cluster that has a neighbor: how far the other centers are. Of equals the lowest cluster is
-- the nearest. Centers that coincide are no neighbors in Davies and Bouldin's sense, as in scikit-learn.
CREATE OR REPLACE MACRO clustereval._centroid_gaps(__ce_clusters, distance, p) AS TABLE
  WITH __ce_pairs AS (
    SELECT
      __ce_x.__ce_partition, __ce_x.__ce_number, __ce_y.__ce_cluster,
      __ce_x.__ce_mean_distance + __ce_y.__ce_mean_distance AS __ce_spread,
      clustereval._distance(__ce_x.__ce_center, __ce_y.__ce_center, distance, p) AS __ce_gap
    FROM query_table(__ce_clusters) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_y
      ON __ce_y.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_y.__ce_number <> __ce_x.__ce_number
  )
  SELECT
    __ce_partition, __ce_number,
    MIN({'distance': __ce_gap, 'cluster': __ce_cluster}) AS __ce_nearest,
    MIN(__ce_gap) AS __ce_least,
    MAX(__ce_gap) AS __ce_most,
    clustereval._compensated_sum(__ce_gap) AS __ce_sum,
    MAX(CASE WHEN __ce_gap = 0 THEN 0.0 ELSE __ce_spread / __ce_gap END) AS __ce_overlap
  FROM __ce_pairs
  GROUP BY __ce_partition, __ce_number;

-- One row a partition: sums over its clusters.
CREATE OR REPLACE MACRO clustereval._spread_totals(
  __ce_clusters, __ce_middles, distance, p
) AS TABLE
  SELECT
    __ce_x.__ce_partition,
    MAX(__ce_m.__ce_dims) AS __ce_dims,
    clustereval._compensated_sum(__ce_x.__ce_squares) AS __ce_ssw,
    clustereval._compensated_sum(
      __ce_x.__ce_n * clustereval._squared_distance(
        clustereval._distance(__ce_x.__ce_center, __ce_m.__ce_center, distance, p), distance
      )
    ) AS __ce_ssb,
    clustereval._compensated_sum(__ce_x.__ce_mean_distance) AS __ce_mean_distances,
    clustereval._compensated_sum(__ce_x.__ce_distances) AS __ce_distances,
    clustereval._compensated_sum(__ce_x.__ce_to_middle) AS __ce_to_middle,
    clustereval._compensated_sum(__ce_x.__ce_squares / __ce_x.__ce_n) AS __ce_mean_squares,
    CASE
      WHEN MIN(__ce_x.__ce_squares) > 0
      THEN clustereval._compensated_sum(__ce_x.__ce_n * ln(GREATEST(__ce_x.__ce_squares, 1e-300) / __ce_x.__ce_n))
    END AS __ce_log_squares,
    clustereval._compensated_sum(
      clustereval._norm(__ce_x.__ce_within) / __ce_x.__ce_n
    ) AS __ce_variances
  FROM query_table(__ce_clusters) AS __ce_x
  JOIN query_table(__ce_middles) AS __ce_m
    ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
  GROUP BY __ce_x.__ce_partition;

-- One row a partition: sums over its pairs of centers.
CREATE OR REPLACE MACRO clustereval._gap_totals(__ce_gaps, distance) AS TABLE
  SELECT
    __ce_partition,
    MIN(__ce_least) AS __ce_least_gap,
    MAX(__ce_most) AS __ce_most_gap,
    MIN(clustereval._squared_distance(__ce_least, distance)) AS __ce_least_square,
    clustereval._compensated_sum(__ce_sum) AS __ce_gap_sum,
    clustereval._compensated_sum(__ce_overlap) AS __ce_overlaps,
    CASE
      WHEN MIN(__ce_sum) > 0 THEN clustereval._compensated_sum(1.0 / GREATEST(__ce_sum, 1e-300))
    END AS __ce_isolation
  FROM query_table(__ce_gaps)
  GROUP BY __ce_partition;

-- One row a partition: what the clusters explain of each coordinate's variance (the mean of the shares)
-- and the length of the vector of all variances, n times.
CREATE OR REPLACE MACRO clustereval._variance_totals(__ce_coordinates, __ce_middles) AS TABLE
  WITH __ce_overall AS (
    SELECT
      __ce_partition,
      unnest(__ce_center) AS __ce_center,
      unnest(range(1, len(__ce_center) + 1)) AS __ce_i
    FROM query_table(__ce_middles)
  ),
  __ce_parts AS (
    SELECT
      __ce_c.__ce_partition, __ce_c.__ce_i,
      clustereval._compensated_sum(__ce_c.__ce_n * __ce_c.__ce_variance) AS __ce_within,
      clustereval._compensated_sum(__ce_c.__ce_n * pow(__ce_c.__ce_center - __ce_m.__ce_center, 2)) AS __ce_between
    FROM query_table(__ce_coordinates) AS __ce_c
    JOIN __ce_overall AS __ce_m
      ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_c.__ce_partition
      AND __ce_m.__ce_i = __ce_c.__ce_i
    GROUP BY __ce_c.__ce_partition, __ce_c.__ce_i
  )
  SELECT
    __ce_partition,
    CASE
      WHEN MIN(__ce_within + __ce_between) > 0
      THEN clustereval._compensated_sum(
        __ce_between / GREATEST(__ce_within + __ce_between, 1e-300)
      ) / COUNT(*)
    END AS __ce_mean_share,
    sqrt(clustereval._compensated_sum(pow(__ce_within + __ce_between, 2))) AS __ce_variance
  FROM __ce_parts
  GROUP BY __ce_partition;

---------------------------------------------------------------------------------------------------
-- Formulas. n points in k clusters; ssw, ssb sums of squares within and between.
---------------------------------------------------------------------------------------------------

-- scikit-learn refuses these, so the indices it has are NULL there.
CREATE OR REPLACE MACRO clustereval._is_clustering(n, k) AS k >= 2 AND k < n;

-- scikit-learn's 1 where no cluster has any spread.
CREATE OR REPLACE MACRO clustereval._calinski_harabasz_score(n, k, ssw, ssb) AS
  CASE
    WHEN NOT clustereval._is_clustering(n, k) THEN NULL
    WHEN ssw = 0 THEN 1.0
    ELSE (ssb / (k - 1.0)) / (ssw / (n - k))
  END;

CREATE OR REPLACE MACRO clustereval._davies_bouldin_score(n, k, ratios) AS
  CASE WHEN clustereval._is_clustering(n, k) THEN ratios / k END;

CREATE OR REPLACE MACRO clustereval._log_ss_ratio(ssw, ssb) AS
  CASE WHEN ssw > 0 AND ssb > 0 THEN ln(GREATEST(ssb, 1e-300) / GREATEST(ssw, 1e-300)) END;

-- Mean length of the clusters' variances, given their sum, by that of the whole, given n times it.
CREATE OR REPLACE MACRO clustereval._scattering(variances, k, variance, n) AS
  clustereval._ratio(variances / k, variance / n);

CREATE OR REPLACE MACRO clustereval._pbm_index(k, to_middle, distances, most_gap) AS
  pow(clustereval._ratio(to_middle, distances) * most_gap / k, 2);

---------------------------------------------------------------------------------------------------
-- The distance to every center
---------------------------------------------------------------------------------------------------

-- One row a partition: Wemmert and Gancarski's index. A point is worth 1 less the ratio of its distances
-- to its own center and to the nearest other; a cluster is worth the sum of its points, or 0.
CREATE OR REPLACE MACRO clustereval._nearness(__ce_points, __ce_clusters, distance, p) AS TABLE
  WITH __ce_others AS (
    SELECT
      __ce_own.__ce_partition, __ce_own.__ce_number, __ce_x.__ce_row,
      MAX(clustereval._distance(__ce_x.__ce_point, __ce_own.__ce_center, distance, p)) AS __ce_own_d,
      MIN(clustereval._distance(__ce_x.__ce_point, __ce_c.__ce_center, distance, p)) AS __ce_other_d
    FROM query_table(__ce_points) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_own
      ON __ce_own.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_own.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
      AND __ce_own.__ce_single = __ce_x.__ce_single
    JOIN query_table(__ce_clusters) AS __ce_c
      ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_c.__ce_number <> __ce_own.__ce_number
    WHERE __ce_x.__ce_kept
    GROUP BY __ce_own.__ce_partition, __ce_own.__ce_number, __ce_x.__ce_row
  ),
  __ce_worth AS (
    SELECT
      __ce_partition, __ce_number,
      COUNT(*) AS __ce_n,
      -- a point on another center is worth minus infinity, on both centers nobody knows
      COUNT(CASE WHEN __ce_other_d = 0 AND __ce_own_d > 0 THEN 1 END) AS __ce_lost,
      COUNT(CASE WHEN __ce_other_d = 0 AND __ce_own_d = 0 THEN 1 END) AS __ce_unknown,
      clustereval._compensated_sum(
        CASE WHEN __ce_other_d > 0 THEN 1.0 - __ce_own_d / __ce_other_d ELSE 0.0 END
      ) AS __ce_value
    FROM __ce_others
    GROUP BY __ce_partition, __ce_number
  )
  SELECT
    __ce_partition,
    CASE
      WHEN SUM(__ce_unknown) = 0
      THEN clustereval._compensated_sum(
        CASE WHEN __ce_lost = 0 THEN GREATEST(__ce_value, 0.0) ELSE 0.0 END
      ) / SUM(__ce_n)
    END AS __ce_nearness
  FROM __ce_worth
  GROUP BY __ce_partition;

-- One row a partition: the mean over pairs of clusters of how many of their points lie round the middle
-- of the two centers, by how many lie round the fuller center.
CREATE OR REPLACE MACRO clustereval._densities(__ce_points, __ce_clusters) AS TABLE
  WITH __ce_radii AS (
    SELECT
      __ce_partition,
      sqrt(clustereval._compensated_sum(clustereval._norm(__ce_within) / __ce_n)) / COUNT(*) AS __ce_radius
    FROM query_table(__ce_clusters)
    GROUP BY __ce_partition
  ),
  __ce_pairs AS (
    SELECT
      __ce_x.__ce_partition, __ce_x.__ce_cluster, __ce_x.__ce_single, __ce_r.__ce_radius,
      LEAST(__ce_x.__ce_number, __ce_y.__ce_number) AS __ce_first,
      GREATEST(__ce_x.__ce_number, __ce_y.__ce_number) AS __ce_second,
      __ce_x.__ce_number < __ce_y.__ce_number AS __ce_forward,
      __ce_x.__ce_center AS __ce_own,
      __ce_y.__ce_center AS __ce_other
    FROM query_table(__ce_clusters) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_y
      ON __ce_y.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_y.__ce_number <> __ce_x.__ce_number
    JOIN __ce_radii AS __ce_r
      ON __ce_r.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
  ),
  __ce_middled AS (
    SELECT
      *,
      list_transform(
        __ce_own, lambda __ce_v, __ce_i: (__ce_v + __ce_other[__ce_i]) / 2
      ) AS __ce_between
    FROM __ce_pairs
  ),
  __ce_near AS (
    SELECT
      __ce_m.__ce_partition, __ce_m.__ce_first, __ce_m.__ce_second, __ce_m.__ce_forward,
      clustereval._euclidean(__ce_x.__ce_point, __ce_m.__ce_own) <= __ce_m.__ce_radius AS __ce_near_own,
      clustereval._euclidean(__ce_x.__ce_point, __ce_m.__ce_other) <= __ce_m.__ce_radius AS __ce_near_other,
      clustereval._euclidean(__ce_x.__ce_point, __ce_m.__ce_between) <= __ce_m.__ce_radius AS __ce_near_middle
    FROM query_table(__ce_points) AS __ce_x
    JOIN __ce_middled AS __ce_m
      ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_m.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
      AND __ce_m.__ce_single = __ce_x.__ce_single
    WHERE __ce_x.__ce_kept
  ),
  __ce_counted AS (
    SELECT
      __ce_partition, __ce_first, __ce_second,
      COUNT(CASE WHEN __ce_near_middle THEN 1 END) AS __ce_middle_n,
      COUNT(
        CASE WHEN CASE WHEN __ce_forward THEN __ce_near_own ELSE __ce_near_other END THEN 1 END
      ) AS __ce_first_n,
      COUNT(
        CASE WHEN CASE WHEN __ce_forward THEN __ce_near_other ELSE __ce_near_own END THEN 1 END
      ) AS __ce_second_n
    FROM __ce_near
    GROUP BY __ce_partition, __ce_first, __ce_second
  )
  SELECT
    __ce_partition,
    CASE
      WHEN MIN(GREATEST(__ce_first_n, __ce_second_n)) > 0
      THEN clustereval._compensated_sum(
        clustereval._ratio(__ce_middle_n, GREATEST(__ce_first_n, __ce_second_n))
      ) / COUNT(*)
    END AS __ce_density
  FROM __ce_counted
  GROUP BY __ce_partition;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- The indices that need the distance of every point to every center.
-- Examples:
--   FROM clustereval.neighbor_report(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.neighbor_report(
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
  __ce_counts AS (SELECT * FROM clustereval._point_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, weights)
  ),
  __ce_spread_totals AS (
    SELECT * FROM clustereval._spread_totals(__ce_clusters, __ce_middles, distance, p)
  ),
  __ce_variance_totals AS (
    SELECT * FROM clustereval._variance_totals(__ce_coordinates, __ce_middles)
  ),
  __ce_nearness AS (
    SELECT * FROM clustereval._nearness(__ce_points, __ce_clusters, distance, p)
  ),
  __ce_densities AS (SELECT * FROM clustereval._densities(__ce_points, __ce_clusters))
  SELECT
    __ce_r.__ce_partition AS partition_key,
    __ce_r.__ce_total AS n,
    __ce_r.__ce_n_dropped AS n_dropped,
    __ce_r.__ce_n_noise AS n_noise,
    COALESCE(__ce_s.__ce_dims, 0) AS n_dims,
    __ce_r.__ce_n_clusters AS n_clusters,
    __ce_w.__ce_nearness AS wemmert_gancarski_index,
    CASE
      WHEN clustereval._squares_add_up(distance, center)
      THEN clustereval._scattering(
        __ce_s.__ce_variances, __ce_r.__ce_n_clusters, __ce_v.__ce_variance, __ce_r.__ce_total
      ) + __ce_d.__ce_density
    END AS s_dbw_index
  FROM __ce_counts AS __ce_r
  LEFT JOIN __ce_spread_totals AS __ce_s
    ON __ce_s.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  LEFT JOIN __ce_variance_totals AS __ce_v
    ON __ce_v.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  LEFT JOIN __ce_nearness AS __ce_w
    ON __ce_w.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  LEFT JOIN __ce_densities AS __ce_d
    ON __ce_d.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  WHERE clustereval._check_options(
    clustereval._valid_points(distance, p, center, weights, noise, noise_as)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_r.__ce_partition;
COMMENT ON MACRO TABLE clustereval.neighbor_report IS
'Internal indices from the distance of every point to every center, one row a partition: counts (n points kept, n_dropped, n_noise, n_dims, n_clusters), wemmert_gancarski_index (range [0, 1], best 1) and s_dbw_index (best 0; NULL unless total = within + between, and where no point lies near either center of a pair). Its time grows with points times clusters. Source: Wemmert, Gancarski and Korczak (2000), doi:10.1142/S0218213000000231; Halkidi and Vazirgiannis (2001), doi:10.1109/ICDM.2001.989517.';
