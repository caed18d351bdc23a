-- scatter: indices from the centers of clusters, and from the distances between points and their
-- own center or every center. A gap is the distance between two centers.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per partition with its counts: its numbers of rows that are scored (total), dropped
-- (n_dropped) and noise (n_noise), of clusters (n_clusters), and of clusters with a single point
-- (n_singletons), and the clusters that look like noise as text (noise_names). A partition has a
-- row even if all its rows are left out. spreads: rows of _cluster_spreads.
CREATE OR REPLACE MACRO clustereval._point_row_counts(spreads) AS TABLE
  SELECT
    partition_key,
    CAST(SUM(n) AS BIGINT) AS total,
    CAST(SUM(n_dropped) AS BIGINT) AS n_dropped,
    CAST(SUM(n_noise) AS BIGINT) AS n_noise,
    CAST(COUNT(CASE WHEN n > 0 THEN 1 END) AS BIGINT) AS n_clusters,
    CAST(COUNT(CASE WHEN n = 1 THEN 1 END) AS BIGINT) AS n_singletons,
    clustereval._noise_names(cluster, n, 'point') AS noise_names
  FROM query_table(spreads)
  GROUP BY partition_key;

-- One row per cluster (partition_key, number) of a partition with several: the smallest and largest
-- distance of its center to the other centers (least, most_gap), the sum of all (gap_sum), the
-- nearest cluster (nearest; the lowest in a tie), and overlap of Davies and Bouldin, the largest
-- value of (sum of both clusters' mean distances to their centers) / (distance between the
-- centers). Pairs of centers that coincide are skipped in overlap, as in scikit-learn. clusters:
-- rows of _measured_clusters or _point_clusters.
CREATE OR REPLACE MACRO clustereval._centroid_gaps(clusters, distance, p) AS TABLE
  -- Pairs of clusters with the distance between their centers.
  WITH cluster_pairs AS (
    SELECT
      own.partition_key, own.number, other.cluster,
      own.mean_distance + other.mean_distance AS mean_distance_sum,
      clustereval._distance(own.center, other.center, distance, p) AS gap
    FROM query_table(clusters) AS own
    JOIN query_table(clusters) AS other
      ON other.partition_key IS NOT DISTINCT FROM own.partition_key
      AND other.number <> own.number
  )
  SELECT
    partition_key, number,
    clustereval._value_at_least_key(cluster, gap, TRUE) AS nearest,
    MIN(gap) AS least,
    MAX(gap) AS most_gap,
    clustereval._compensated_sum(gap) AS gap_sum,
    MAX(CASE WHEN gap = 0 THEN 0.0 ELSE mean_distance_sum / gap END) AS overlap
  FROM cluster_pairs
  GROUP BY partition_key, number;

-- One row per partition with sums over its clusters: dims; ssw and ssb, the sums of squares within
-- and between clusters; distances and overall_distances; mean_distance_sum; mean_square_sum, the
-- sum of ssw / n; log_square_sum, the sum of n ln(ssw / n), NULL if an ssw is 0; least_gap,
-- most_gap and least_squared_gap, the extreme distances between two centers; gap_sum (in which
-- every pair of centers counts twice); inverse_gap_sum, the sum of 1 / gap_sum, NULL if one is 0;
-- and overlap_sum. clusters: rows of _measured_clusters; gaps: rows of _centroid_gaps.
CREATE OR REPLACE MACRO clustereval._spread_totals(clusters, gaps, distance, p) AS TABLE
  -- Clusters with the distance of their center from that of the partition, and with their gaps.
  WITH placed_clusters AS (
    SELECT
      own.partition_key, own.n, own.dims, own.ssw, own.mean_distance, own.distances,
      own.overall_distances,
      clustereval._distance(own.center, own.overall_center, distance, p) AS center_offset,
      gap.least, gap.most_gap, gap.gap_sum, gap.overlap
    FROM query_table(clusters) AS own
    LEFT JOIN query_table(gaps) AS gap
      ON gap.partition_key IS NOT DISTINCT FROM own.partition_key AND gap.number = own.number
  )
  SELECT
    partition_key,
    MAX(dims) AS dims,
    clustereval._compensated_sum(ssw) AS ssw,
    clustereval._compensated_sum(
      n * clustereval._squared_distance(center_offset, distance)
    ) AS ssb,
    clustereval._compensated_sum(mean_distance) AS mean_distance_sum,
    clustereval._compensated_sum(distances) AS distances,
    clustereval._compensated_sum(overall_distances) AS overall_distances,
    clustereval._compensated_sum(ssw / n) AS mean_square_sum,
    CASE
      WHEN MIN(ssw) > 0
      THEN clustereval._compensated_sum(n * ln(NULLIF(ssw, 0) / n))
    END AS log_square_sum,
    MIN(least) AS least_gap,
    MAX(most_gap) AS most_gap,
    MIN(clustereval._squared_distance(least, distance)) AS least_squared_gap,
    clustereval._compensated_sum(gap_sum) AS gap_sum,
    clustereval._compensated_sum(overlap) AS overlap_sum,
    CASE
      WHEN MIN(gap_sum) > 0
      THEN clustereval._compensated_sum(1.0 / NULLIF(gap_sum, 0))
    END AS inverse_gap_sum
  FROM placed_clusters
  GROUP BY partition_key;

-- One row per cluster that has points: its key, n, the sums of squares by coordinate (a list, m2),
-- and the norm of the vector of their variances (variance_norm). coordinates: rows of
-- _moved_moments.
CREATE OR REPLACE MACRO clustereval._variance_norms(coordinates) AS TABLE
  -- One row per cluster with the sums of squares of its coordinates.
  WITH clusters AS (
    SELECT
      partition_key, cluster, singleton_no,
      MAX(n) AS n,
      list(n * variance ORDER BY i ASC NULLS LAST) AS m2
    FROM query_table(coordinates)
    GROUP BY partition_key, cluster, singleton_no
  )
  SELECT
    partition_key, cluster, singleton_no, n, m2,
    clustereval._scaled_norm(m2) / n AS variance_norm
  FROM clusters;

-- One row per partition with the spread of its coordinates: the mean over the coordinates of the
-- share of the total sum of squares that lies between clusters (mean_between_share, NULL if a
-- coordinate is constant), the norm of the vector of these totals (total_squares_norm), and the sum
-- of variance_norm of its clusters. coordinates: rows of _moved_moments, whose variances a query
-- without these columns does not compute.
CREATE OR REPLACE MACRO clustereval._variance_totals(coordinates) AS TABLE
  -- Center of each coordinate in a partition.
  WITH overall AS (
    SELECT
      partition_key, i,
      clustereval._clamp(fsum(n * center) / fsum(n), MIN(center), MAX(center)) AS overall_center
    FROM query_table(coordinates)
    GROUP BY partition_key, i
  ),
  -- Sums of squares within and between clusters, by coordinate.
  coordinate_squares AS (
    SELECT
      own.partition_key, own.i,
      clustereval._compensated_sum(own.n * own.variance) AS within_squares,
      clustereval._compensated_sum(
        own.n * pow(own.center - overall.overall_center, 2)
      ) AS between_squares
    FROM query_table(coordinates) AS own
    JOIN overall
      ON overall.partition_key IS NOT DISTINCT FROM own.partition_key
      AND overall.i = own.i
    GROUP BY own.partition_key, own.i
  ),
  -- One row per partition with the sums of squares of its coordinates.
  totals AS (
    SELECT
      partition_key,
      CASE
        WHEN MIN(within_squares + between_squares) > 0
        THEN clustereval._compensated_sum(
          between_squares / NULLIF(within_squares + between_squares, 0)
        ) / COUNT(*)
      END AS mean_between_share,
      list(within_squares + between_squares ORDER BY i ASC NULLS LAST) AS total_squares
    FROM coordinate_squares
    GROUP BY partition_key
  ),
  -- One row per partition with the sum of the norms of its clusters.
  norms AS (
    SELECT partition_key, clustereval._compensated_sum(variance_norm) AS variance_norm_sum
    FROM clustereval._variance_norms(coordinates)
    GROUP BY partition_key
  )
  SELECT
    totals.partition_key, totals.mean_between_share,
    clustereval._scaled_norm(totals.total_squares) AS total_squares_norm,
    norms.variance_norm_sum
  FROM totals
  JOIN norms ON norms.partition_key IS NOT DISTINCT FROM totals.partition_key;

---------------------------------------------------------------------------------------------------
-- Formulas. n points in n_clusters clusters; ssw and ssb: sums of squares within and between them.
---------------------------------------------------------------------------------------------------

-- TRUE if n points lie in at least 2 clusters, but fewer than n. Otherwise scikit-learn raises an
-- error, and its indices are NULL here.
CREATE OR REPLACE MACRO clustereval._is_clustering(n, n_clusters) AS
  n_clusters >= 2 AND n_clusters < n;

-- Variance between clusters / variance within; 1 if ssw is 0, as in scikit-learn. NULL unless 2 <=
-- n_clusters < n.
CREATE OR REPLACE MACRO clustereval._calinski_harabasz_score(n, n_clusters, ssw, ssb) AS
  CASE
    WHEN NOT clustereval._is_clustering(n, n_clusters) THEN NULL
    WHEN ssw = 0 THEN 1.0
    ELSE (ssb / (n_clusters - 1.0)) / (ssw / (n - n_clusters))
  END;

-- Davies-Bouldin score from the sum of overlap of _centroid_gaps, NULL unless 2 <= n_clusters < n.
CREATE OR REPLACE MACRO clustereval._davies_bouldin_score(n, n_clusters, overlap_sum) AS
  CASE WHEN clustereval._is_clustering(n, n_clusters) THEN overlap_sum / n_clusters END;

-- Mean distance between centers. gap_sum counts every pair twice. n_clusters may be 1e10, for which
-- n_clusters (n_clusters - 1) would overflow as BIGINT.
CREATE OR REPLACE MACRO clustereval._separation(n_clusters, gap_sum) AS
  gap_sum / (CAST(n_clusters AS DOUBLE) * (n_clusters - 1));

-- ln(ssb / ssw), NULL if one of them is 0.
CREATE OR REPLACE MACRO clustereval._log_ss_ratio(ssw, ssb) AS
  CASE WHEN ssw > 0 AND ssb > 0 THEN ln(NULLIF(ssb, 0) / NULLIF(ssw, 0)) END;

-- Scat term of the SD and S_Dbw indices: mean norm of the clusters' variance vectors / norm of the
-- variance vector of all n points, from the columns of _variance_totals.
CREATE OR REPLACE MACRO clustereval._scattering(
  n, n_clusters, variance_norm_sum, total_squares_norm
) AS
  clustereval._ratio(variance_norm_sum / n_clusters, total_squares_norm / n);

-- PBM index, from columns of _spread_totals.
CREATE OR REPLACE MACRO clustereval._pbm_index(
  n_clusters, overall_distances, distances, most_gap
) AS
  pow(clustereval._ratio(overall_distances, distances) * most_gap / n_clusters, 2);

---------------------------------------------------------------------------------------------------
-- Distances to every center
---------------------------------------------------------------------------------------------------

-- List of the distances between a point x and a list of centers, by distance and p; for cosine all
-- are unit vectors or zero. The distances are those of _distance without the forms for faulty
-- vectors, which take ten times as long in a lambda. Checks report faulty vectors. The macro uses
-- try() because rows are measured before these checks. The name of the distance is compared outside
-- of lambdas, where the engine compares it only once and not for each pair.
CREATE OR REPLACE MACRO clustereval._distances_to_centers(x, centers, distance, p) AS
  CASE lower(distance)
    WHEN 'euclidean'
    THEN list_transform(centers, lambda __ce_center: try(list_distance(x, __ce_center)))
    WHEN 'sqeuclidean'
    THEN list_transform(
      list_transform(centers, lambda __ce_center: try(list_distance(x, __ce_center))),
      lambda __ce_distance: __ce_distance * __ce_distance
    )
    WHEN 'cosine'
    THEN CASE
      WHEN try(list_inner_product(x, x)) = 0
      THEN list_transform(centers, lambda __ce_center: 1.0)
      ELSE list_transform(
        centers,
        lambda __ce_center: CASE
          WHEN try(list_inner_product(__ce_center, __ce_center)) = 0 THEN 1.0
          ELSE clustereval._zero_if_parallel(pow(try(list_distance(x, __ce_center)), 2) / 2)
        END
      )
    END
    WHEN 'cityblock'
    THEN list_transform(
      centers, lambda __ce_center: clustereval._unchecked_distance(x, __ce_center, 'cityblock', p)
    )
    WHEN 'chebyshev'
    THEN list_transform(
      centers, lambda __ce_center: clustereval._unchecked_distance(x, __ce_center, 'chebyshev', p)
    )
    ELSE list_transform(centers, lambda __ce_center: clustereval._minkowski(x, __ce_center, p))
  END;

-- One row per point that is scored, in partitions with several clusters: the number of its cluster,
-- and its distances to the center of this cluster (own) and to the nearest other center (other).
-- points: rows of _move_points; clusters: rows of _measured_clusters. Each point holds its
-- distances to all centers of its partition in a list, and the points are streamed. A list of the
-- centers of all partitions is attached by a cross join, since a join by partition would copy the
-- centers for each point.
CREATE OR REPLACE MACRO clustereval._center_distances(points, clusters, distance, p) AS TABLE
  WITH center_lists AS (
    SELECT
      partition_key,
      MIN(number) - 1 AS numbers_before,
      row_number() OVER (ORDER BY MIN(number) ASC NULLS LAST) AS place,
      list(center ORDER BY number ASC NULLS LAST) AS centers
    FROM query_table(clusters)
    GROUP BY partition_key
    HAVING COUNT(*) > 1
  ),
  all_centers AS (
    SELECT list(centers ORDER BY place ASC NULLS LAST) AS center_lists
    FROM center_lists
  ),
  places AS (
    SELECT
      own.partition_key, own.cluster, own.singleton_no, own.number, own.center,
      own.number - part.numbers_before AS center_no,
      part.place AS partition_no
    FROM query_table(clusters) AS own
    JOIN center_lists AS part ON part.partition_key IS NOT DISTINCT FROM own.partition_key
  ),
  measured AS NOT MATERIALIZED (
    SELECT
      own.number, own.center_no,
      clustereval._distance(point.point, own.center, distance, p) AS own_distance,
      clustereval._distances_to_centers(
        point.point, all_centers.center_lists[own.partition_no], distance, p
      ) AS distances
    FROM query_table(points) AS point
    JOIN places AS own
      ON own.partition_key IS NOT DISTINCT FROM point.partition_key
      AND own.cluster IS NOT DISTINCT FROM point.cluster
      AND own.singleton_no = point.singleton_no
    CROSS JOIN all_centers
    WHERE point.kept
  )
  SELECT
    number,
    own_distance AS own,
    LEAST(list_min(distances[:center_no - 1]), list_min(distances[center_no + 1:])) AS other
  FROM measured;

-- One row per partition with its index: Wemmert and Gancarski's index (wemmert_gancarski). A point
-- contributes 1 - own / other (_center_distances); a cluster contributes the sum over its points,
-- or 0 if that is negative; the index is the sum over clusters / number of points. A point's term
-- is -inf if it lies at another center, and undefined if it lies at both, which makes the index
-- NULL.
CREATE OR REPLACE MACRO clustereval._wemmert_gancarski_totals(
  points, clusters, distance, p
) AS TABLE
  -- One row per cluster with the sum of the terms of its points.
  WITH cluster_sums AS (
    SELECT
      number,
      COUNT(*) AS n,
      COUNT(CASE WHEN other = 0 AND own > 0 THEN 1 END) AS n_at_other,
      COUNT(CASE WHEN other = 0 AND own = 0 THEN 1 END) AS n_at_both,
      clustereval._compensated_sum(
        CASE WHEN other > 0 THEN 1.0 - own / other ELSE 0.0 END
      ) AS term_sum
    FROM clustereval._center_distances(points, clusters, distance, p)
    GROUP BY number
  )
  SELECT
    cluster.partition_key,
    CASE
      WHEN SUM(sums.n_at_both) = 0
      THEN clustereval._compensated_sum(
        CASE WHEN sums.n_at_other = 0 THEN GREATEST(sums.term_sum, 0.0) ELSE 0.0 END
      ) / SUM(sums.n)
    END AS wemmert_gancarski
  FROM cluster_sums AS sums
  JOIN query_table(clusters) AS cluster ON cluster.number = sums.number
  GROUP BY cluster.partition_key;

-- One row per cluster (number) and target. A target is a point near which S_Dbw counts the points
-- of the cluster: the center of each cluster of the partition (other, which may be the same
-- cluster), and the midpoint (is_midpoint) of both centers. reach is the distance between the
-- target and the center of the cluster. clusters: rows of _measured_clusters.
CREATE OR REPLACE MACRO clustereval._density_targets(clusters) AS TABLE
  WITH center_pairs AS (
    SELECT
      own.number, own.center,
      other.number AS other,
      other.center AS other_center,
      clustereval._euclidean(own.center, other.center) AS gap
    FROM query_table(clusters) AS own
    JOIN query_table(clusters) AS other
      ON other.partition_key IS NOT DISTINCT FROM own.partition_key
      AND other.number <> own.number
  )
  SELECT number, other, FALSE AS is_midpoint, other_center AS target, gap AS reach
  FROM center_pairs
  UNION ALL
  SELECT
    number, other, TRUE,
    list_transform(center, lambda v, i: (v + other_center[i]) / 2),
    gap / 2
  FROM center_pairs
  UNION ALL
  SELECT number, number, FALSE, center, 0.0
  FROM query_table(clusters);

-- One row per target of a cluster that has points of the cluster near it: number, other and
-- is_midpoint of _density_targets, and n, the number of points within the density_radius of the
-- partition (radii). By the triangle inequality, the distances of such a point and of the target to
-- the center of the cluster differ by no more than the radius. Few other targets pass this test,
-- which is wider by more than the rounding error of both distances. Engines should find the targets
-- that pass it by a hash join, and not try all targets of the cluster. Therefore the distances to
-- the center of the cluster are cut into rings that are wider than the test, and the targets of a
-- point are in the ring of its lower bound or in the next ring. The width is 0 if all points are
-- equal, in which case S_Dbw is undefined. The other tables are those of _move_points and
-- _measured_clusters.
CREATE OR REPLACE MACRO clustereval._nearby_counts(points, clusters, radii) AS TABLE
  WITH targets AS (SELECT * FROM clustereval._density_targets(clusters)),
  -- The furthest target of each cluster.
  reaches AS (SELECT number, MAX(reach) AS max_reach FROM targets GROUP BY number),
  -- Clusters with the width of the rings around their center. If a point is further away than all
  -- targets, its test may be wider, but the point is near none of them.
  ring_widths AS (
    SELECT
      own.partition_key, own.cluster, own.singleton_no, own.number, own.center,
      radius.density_radius,
      2 * radius.density_radius + 1e-8 * (reaches.max_reach + radius.density_radius) AS width
    FROM query_table(clusters) AS own
    JOIN reaches ON reaches.number = own.number
    JOIN query_table(radii) AS radius ON radius.partition_key IS NOT DISTINCT FROM own.partition_key
  ),
  -- Targets with their ring around the center of the cluster.
  placed_targets AS (
    SELECT
      target.number, target.other, target.is_midpoint, target.target, target.reach,
      FLOOR(clustereval._ratio(target.reach, widths.width)) AS ring
    FROM targets AS target
    JOIN ring_widths AS widths ON widths.number = target.number
  ),
  -- Points with the distance to the center of their cluster.
  own_distances AS NOT MATERIALIZED (
    SELECT
      own.number, point.point, own.density_radius, own.width,
      clustereval._euclidean(point.point, own.center) AS own_distance
    FROM query_table(points) AS point
    JOIN ring_widths AS own
      ON own.partition_key IS NOT DISTINCT FROM point.partition_key
      AND own.cluster IS NOT DISTINCT FROM point.cluster
      AND own.singleton_no = point.singleton_no
    WHERE point.kept
  ),
  -- Points with bounds on the reach of targets near them.
  bounded AS NOT MATERIALIZED (
    SELECT
      number, point, density_radius, width,
      own_distance - density_radius - 1e-9 * (own_distance + density_radius) AS lower,
      own_distance + density_radius + 1e-9 * (own_distance + density_radius) AS upper
    FROM own_distances
  ),
  -- Points with the rings in which their targets can be. Each point appears twice, once in each
  -- ring. The two rows come first, because DataFusion keeps the left side.
  placed_points AS NOT MATERIALIZED (
    SELECT
      number, point, density_radius, lower, upper,
      FLOOR(clustereval._ratio(lower, width)) + steps.step AS ring
    FROM (SELECT 0.0 AS step UNION ALL SELECT 1.0) AS steps
    CROSS JOIN bounded
  )
  SELECT target.number, target.other, target.is_midpoint, COUNT(*) AS n
  FROM placed_points AS point
  JOIN placed_targets AS target ON target.number = point.number AND target.ring = point.ring
  WHERE target.reach >= point.lower
    AND target.reach <= point.upper
    AND clustereval._euclidean(point.point, target.target) <= point.density_radius
  GROUP BY target.number, target.other, target.is_midpoint;

-- One row per partition with its density: the inter-cluster density of S_Dbw (density). For a pair
-- of clusters, the density is the number of their points near the midpoint of the two centers,
-- divided by the number near one of the centers, whichever has more. The result is the mean over
-- pairs, NULL if a pair has no point near either center. A point is near if its distance is at most
-- sqrt(sum over clusters of variance_norm) / number of clusters.
CREATE OR REPLACE MACRO clustereval._density_totals(points, clusters, coordinates) AS TABLE
  -- One row per partition with the radius within which points are near.
  WITH density_radii AS (
    SELECT
      partition_key,
      sqrt(clustereval._compensated_sum(variance_norm)) / COUNT(*) AS density_radius
    FROM clustereval._variance_norms(coordinates)
    GROUP BY partition_key
  ),
  nearby AS MATERIALIZED (
    SELECT * FROM clustereval._nearby_counts(points, clusters, density_radii)
  ),
  -- Pairs of clusters with the points of either near the midpoint and the other center.
  pair_counts AS (
    SELECT
      LEAST(number, other) AS lower_number,
      GREATEST(number, other) AS higher_number,
      SUM(CASE WHEN is_midpoint THEN n ELSE 0 END) AS n_near_midpoint,
      SUM(CASE WHEN NOT is_midpoint AND other < number THEN n ELSE 0 END) AS n_near_lower,
      SUM(CASE WHEN NOT is_midpoint AND other > number THEN n ELSE 0 END) AS n_near_higher
    FROM nearby
    WHERE other <> number
    GROUP BY LEAST(number, other), GREATEST(number, other)
  ),
  -- One row per cluster with the number of its points near its center.
  own_counts AS (
    SELECT cluster.partition_key, cluster.number, COALESCE(own.n, 0) AS n
    FROM query_table(clusters) AS cluster
    LEFT JOIN nearby AS own ON own.number = cluster.number AND own.other = own.number
  ),
  -- Pairs of clusters with the points of both near the midpoint and near either center.
  counts AS (
    SELECT
      lower.partition_key,
      COALESCE(pair.n_near_midpoint, 0) AS n_near_midpoint,
      lower.n + COALESCE(pair.n_near_lower, 0) AS n_near_lower,
      higher.n + COALESCE(pair.n_near_higher, 0) AS n_near_higher
    FROM own_counts AS lower
    JOIN own_counts AS higher
      ON higher.partition_key IS NOT DISTINCT FROM lower.partition_key
      AND higher.number > lower.number
    LEFT JOIN pair_counts AS pair
      ON pair.lower_number = lower.number AND pair.higher_number = higher.number
  )
  SELECT
    partition_key,
    CASE
      WHEN MIN(GREATEST(n_near_lower, n_near_higher)) > 0
      THEN clustereval._compensated_sum(
        clustereval._ratio(n_near_midpoint, GREATEST(n_near_lower, n_near_higher))
      ) / COUNT(*)
    END AS density
  FROM counts
  GROUP BY partition_key;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- TRUE if n_pairs, the number of ordered pairs of clusters in the same partition, is at most 64
-- million, or NULL because there is no cluster. Otherwise raises an error, because points are
-- counted for each pair, which takes about 60 bytes per pair.
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

-- One row per partition (a group of partition_by): the internal indices that need the distance of
-- every point to every center.
-- Examples:
--   FROM clustereval.neighbor_report(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.neighbor_report(
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
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(
      __ce_rows, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  ),
  -- One row per partition with its number of dimensions.
  __ce_dimensions AS (
    SELECT partition_key, MAX(dims) AS dims
    FROM __ce_clusters
    GROUP BY partition_key
  ),
  __ce_variance_totals AS (SELECT * FROM clustereval._variance_totals(__ce_coordinates)),
  __ce_cluster_counts AS (SELECT COUNT(*) AS n_clusters FROM __ce_clusters GROUP BY partition_key),
  __ce_size_check AS MATERIALIZED (
    SELECT
      clustereval._check_cluster_pairs(
        CAST(SUM(clustereval._widen(n_clusters) * n_clusters) AS DECIMAL(38, 0))
      ) AS valid
    FROM __ce_cluster_counts
    WHERE COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
  ),
  __ce_compared_clusters AS MATERIALIZED (
    SELECT *
    FROM __ce_clusters
    WHERE COALESCE((SELECT MIN(valid) FROM __ce_size_check), TRUE)
  ),
  __ce_wemmert_gancarski AS (
    SELECT *
    FROM clustereval._wemmert_gancarski_totals(__ce_points, __ce_compared_clusters, distance, p)
  ),
  __ce_density_totals AS (
    SELECT * FROM clustereval._density_totals(
      __ce_points, __ce_compared_clusters, __ce_coordinates
    )
  )
  SELECT
    counts.partition_key,
    counts.total AS n,
    counts.n_dropped,
    counts.n_noise,
    COALESCE(dimensions.dims, 0) AS n_dims,
    counts.n_clusters,
    neighbors.wemmert_gancarski AS wemmert_gancarski_index,
    CASE
      WHEN clustereval._squares_add_up(distance, center)
      THEN clustereval._scattering(
        counts.total, counts.n_clusters, variances.variance_norm_sum, variances.total_squares_norm
      ) + densities.density
    END AS s_dbw_index
  FROM __ce_counts AS counts
  LEFT JOIN __ce_dimensions AS dimensions
    ON dimensions.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN __ce_variance_totals AS variances
    ON variances.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN __ce_wemmert_gancarski AS neighbors
    ON neighbors.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN __ce_density_totals AS densities
    ON densities.partition_key IS NOT DISTINCT FROM counts.partition_key
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
    AND COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
    AND COALESCE((SELECT MIN(valid) FROM __ce_size_check), TRUE)
  ORDER BY counts.partition_key ASC NULLS LAST;
