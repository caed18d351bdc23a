"""Bodies of table macros that compare pairs of clusters, for data with thousands of clusters.

These bodies return the same rows as the macros in ``sql/``, whose comments describe the rows. With
n clusters, there are n² pairs, all of which DuckDB keeps in memory. For other engines, these bodies
eliminate pairs early if the pairs cannot affect the result.
"""

from __future__ import annotations

#: Macros that sql/ does not have -> their parameters and body.
PAIR_MACROS = {
    # Distance of x and y, which are points or centers with a height, as a metric, that is, a
    # distance that obeys the triangle inequality. The distance 'raised' treats the height as an
    # additional coordinate.
    "_metric": (
        ["x", "y", "x_height", "y_height", "distance", "p"],
        """
        CASE
          WHEN lower(distance) = 'raised'
          THEN sqrt(
            list_distance(x, y) * list_distance(x, y)
              + (x_height - y_height) * (x_height - y_height)
          )
          WHEN lower(distance) IN ('sqeuclidean', 'cosine')
          THEN sqrt(clustereval._distance(x, y, distance, p))
          ELSE clustereval._distance(x, y, distance, p)
        END
        """,
    ),
    # Rows of _join_with_clusters: at least the rows whose target is the point's own cluster, and
    # the rows whose targets are the nearest other clusters. The distance is one of _metric.
    "_join_with_near_clusters": (
        ["queries", "clusters", "distance", "p"],
        "SELECT * FROM clustereval._join_with_clusters(queries, clusters)",
    ),
}

#: Table macros -> their bodies in other engines.
PAIR_BODIES = {
    "_center_distances": """
        -- One row per cluster with its center and the number of its partition.
        WITH centers AS (
          SELECT
            partition_key, cluster, singleton_no, number,
            MIN(number) OVER (PARTITION BY partition_key) AS partition_no,
            center AS mean,
            0.0 AS total_variance
          FROM query_table(clusters)
        ),
        -- Points with the distance to the center of their cluster.
        members AS (
          SELECT
            own.number, own.partition_no, point.row_no, point.point,
            clustereval._distance(point.point, own.mean, distance, p) AS own_distance
          FROM query_table(points) AS point
          JOIN centers AS own
            ON own.partition_key IS NOT DISTINCT FROM point.partition_key
            AND own.cluster IS NOT DISTINCT FROM point.cluster
            AND own.singleton_no = point.singleton_no
          WHERE point.kept
        ),
        -- Points with their distances to other centers that may be the nearest.
        near_centers AS (
          SELECT
            number, row_no, own_distance,
            clustereval._distance(point, mean, distance, p) AS other_distance
          FROM clustereval._join_with_near_clusters(members, centers, distance, p)
          WHERE target <> number
        )
        SELECT number, MAX(own_distance) AS own, MIN(other_distance) AS other
        FROM near_centers
        GROUP BY number, row_no
    """,
    "_grouped_squares": """
        -- Mean squared distances of points to clusters.
        WITH squares AS NOT MATERIALIZED (
          SELECT
            row_no, number, is_zero, target, n,
            list_distance(point, mean) * list_distance(point, mean)
              + total_variance AS square
          FROM clustereval._join_with_near_clusters(queries, clusters, 'raised', 2)
          WHERE "between" = 'nearest'
          UNION ALL
          SELECT
            row_no, number, is_zero, target, n,
            list_distance(point, mean) * list_distance(point, mean)
              + total_variance
          FROM clustereval._join_with_clusters(queries, clusters)
          WHERE "between" <> 'nearest'
        )
        SELECT
          row_no, number, is_zero,
          MAX(square) FILTER (WHERE target = number) AS a,
          clustereval._distance_between(square, n, target <> number, "between") AS b,
          clustereval._neighbor_between(target, square, target <> number, "between") AS neighbor
        FROM squares
        GROUP BY row_no, number, is_zero
    """,
    # A target has no point near it if its distance from the center of the cluster exceeds the sum
    # of the radius and the distance of the furthest point. Most pairs of clusters have only such
    # targets. If all points are at the center and the radius is 0, the width is also 0, and all
    # points are in ring 0. The radii are joined to the clusters first, because with the three
    # tables in one FROM, DataFusion loses the points of the partition NULL.
    "_nearby_counts": """
        -- Clusters with the radius within which points are near.
        WITH wide_clusters AS (
          SELECT
            own.partition_key, own.cluster, own.singleton_no, own.number, own.center,
            radius.density_radius
          FROM query_table(clusters) AS own
          JOIN query_table(radii) AS radius
            ON radius.partition_key IS NOT DISTINCT FROM own.partition_key
        ),
        -- Points with the distance to the center of their cluster.
        own_distances AS (
          SELECT
            own.number, point.point, own.density_radius,
            clustereval._euclidean(point.point, own.center) AS own_distance
          FROM query_table(points) AS point
          JOIN wide_clusters AS own
            ON own.partition_key IS NOT DISTINCT FROM point.partition_key
            AND own.cluster IS NOT DISTINCT FROM point.cluster
            AND own.singleton_no = point.singleton_no
          WHERE point.kept
        ),
        -- One row per cluster with the furthest reach of a target and the width of its rings.
        limits AS (
          SELECT
            number,
            (1 + 1e-8) * (MAX(own_distance) + MAX(density_radius)) AS max_reach,
            2 * MAX(density_radius) + 1e-8 * (MAX(own_distance) + MAX(density_radius)) AS width
          FROM own_distances
          GROUP BY number
        ),
        -- Clusters with the furthest reach of their targets.
        limited_clusters AS (
          SELECT own.partition_key, own.number, own.center, own_limits.max_reach
          FROM query_table(clusters) AS own
          JOIN limits AS own_limits ON own_limits.number = own.number
        ),
        -- Pairs of clusters whose midpoint is within reach.
        near_pairs AS (
          SELECT
            own.number, own.center, own.max_reach,
            other.number AS other,
            other.center AS other_center,
            clustereval._euclidean(own.center, other.center) AS gap
          FROM limited_clusters AS own
          JOIN query_table(clusters) AS other
            ON other.partition_key IS NOT DISTINCT FROM own.partition_key
            AND other.number <> own.number
          WHERE clustereval._euclidean(own.center, other.center) / 2 <= own.max_reach
        ),
        -- Centers and midpoints that may have points near them.
        targets AS (
          SELECT number, other, FALSE AS is_midpoint, other_center AS target, gap AS reach
          FROM near_pairs
          WHERE gap <= max_reach
          UNION ALL
          SELECT
            number, other, TRUE,
            list_transform(center, lambda v, i: (v + other_center[i]) / 2),
            gap / 2
          FROM near_pairs
          UNION ALL
          SELECT number, number, FALSE, center, 0.0
          FROM query_table(clusters)
        ),
        -- Targets with their ring around the center of the cluster.
        placed_targets AS (
          SELECT
            target.number, target.other, target.is_midpoint, target.target, target.reach,
            COALESCE(FLOOR(clustereval._ratio(target.reach, own_limits.width)), 0.0) AS ring
          FROM targets AS target
          JOIN limits AS own_limits ON own_limits.number = target.number
        ),
        -- Points with bounds on the reach of targets near them.
        bounded AS (
          SELECT
            point.number, point.point, point.density_radius, own_limits.width,
            own_distance - density_radius - 1e-9 * (own_distance + density_radius) AS lower,
            own_distance + density_radius + 1e-9 * (own_distance + density_radius) AS upper
          FROM own_distances AS point
          JOIN limits AS own_limits ON own_limits.number = point.number
        ),
        -- Points with the rings in which their targets can be.
        placed_points AS (
          SELECT
            number, point, density_radius, lower, upper,
            COALESCE(FLOOR(clustereval._ratio(lower, width)), 0.0) + steps.step AS ring
          FROM (SELECT 0.0 AS step UNION ALL SELECT 1.0) AS steps
          CROSS JOIN bounded
        )
        SELECT target.number, target.other, target.is_midpoint, COUNT(*) AS n
        FROM placed_points AS point
        JOIN placed_targets AS target ON target.number = point.number AND target.ring = point.ring
        WHERE target.reach >= point.lower
          AND target.reach <= point.upper
          AND clustereval._euclidean(point.point, target.target) <= point.density_radius
        GROUP BY target.number, target.other, target.is_midpoint
    """,
    # Pairs without points near a midpoint or the other center are not listed: their density is 0,
    # or undefined if neither cluster has points near its own center.
    "_density_totals": """
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
        -- Pairs of clusters with the points near their midpoint and centers.
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
        -- Pairs of clusters with the points of both near the midpoint and a center.
        counts AS (
          SELECT
            lower.partition_key, pair.n_near_midpoint,
            GREATEST(lower.n, higher.n) AS n_near_own,
            GREATEST(lower.n + pair.n_near_lower, higher.n + pair.n_near_higher) AS n_near
          FROM pair_counts AS pair
          JOIN own_counts AS lower ON lower.number = pair.lower_number
          JOIN own_counts AS higher ON higher.number = pair.higher_number
        ),
        -- One row per partition with the sum of the densities of its pairs.
        pair_totals AS (
          SELECT
            partition_key,
            clustereval._compensated_sum(
              clustereval._ratio(n_near_midpoint, n_near)
            ) AS density_sum,
            CAST(COUNT(CASE WHEN n_near_own = 0 AND n_near > 0 THEN 1 END) AS DOUBLE) AS n_defined
          FROM counts
          GROUP BY partition_key
        ),
        -- One row per partition with its clusters, and those with no point near the center.
        cluster_totals AS (
          SELECT
            partition_key,
            CAST(COUNT(*) AS DOUBLE) AS n_clusters,
            CAST(COUNT(CASE WHEN n = 0 THEN 1 END) AS DOUBLE) AS n_hollow
          FROM own_counts
          GROUP BY partition_key
          HAVING COUNT(*) > 1
        )
        SELECT
          own.partition_key,
          CASE
            WHEN own.n_hollow * (own.n_hollow - 1) / 2 <= COALESCE(pair.n_defined, 0.0)
            THEN COALESCE(pair.density_sum, 0.0) / (own.n_clusters * (own.n_clusters - 1) / 2)
          END AS density
        FROM cluster_totals AS own
        LEFT JOIN pair_totals AS pair
          ON pair.partition_key IS NOT DISTINCT FROM own.partition_key
    """,
}

#: Macros -> their bodies in Postgres, which takes a second for ten million distances.
POSTGRES_BODIES = {
    # A cluster near the own cluster (guide, chosen among every sixteenth cluster) bounds the
    # distance of a point to the nearest other cluster. By the triangle inequality, the center of
    # the nearest cluster is no further from the center of the own cluster than both distances
    # together (reach). Both bounds are widened by more than the rounding errors, which for cosine
    # are those of _zero_if_parallel.
    "_join_with_near_clusters": """
        -- Clusters with the height that stands for their variance.
        WITH raised_clusters AS (
          SELECT *, sqrt(total_variance) AS height FROM query_table(clusters)
        ),
        -- Pairs of a cluster and a possible guide.
        guide_pairs AS (
          SELECT
            own.number,
            other.number AS guide,
            clustereval._metric(
              own.mean, other.mean, own.height, other.height, distance, p
            ) AS gap
          FROM raised_clusters AS own
          JOIN raised_clusters AS other
            ON other.partition_no = own.partition_no
            AND other.number <> own.number
          WHERE other.number % 16 = 1
        ),
        -- The guide of each cluster.
        guides AS (
          SELECT number, clustereval._value_at_least_key(guide, gap, TRUE) AS guide
          FROM guide_pairs
          GROUP BY number
        ),
        -- Clusters with the mean of their guide.
        guided_clusters AS (
          SELECT
            own.number, own.mean, own.height,
            guide.mean AS guide_mean,
            guide.height AS guide_height
          FROM raised_clusters AS own
          LEFT JOIN guides ON guides.number = own.number
          LEFT JOIN raised_clusters AS guide ON guide.number = guides.guide
        ),
        -- Points with the distances to their own cluster and to its guide.
        guided_queries AS (
          SELECT
            query.*,
            clustereval._metric(query.point, own.mean, 0.0, own.height, distance, p) AS to_own,
            (1 + 1e-9) * clustereval._metric(
              query.point, own.guide_mean, 0.0, own.guide_height, distance, p
            ) + CASE WHEN lower(distance) = 'cosine' THEN 1e-7 ELSE 1e-150 END AS to_guide
          FROM query_table(queries) AS query
          JOIN guided_clusters AS own ON own.number = query.number
        ),
        -- Points with the reach within which the nearest cluster lies.
        bounded_queries AS (
          SELECT *, (1 + 1e-9) * (to_own + to_guide) AS reach FROM guided_queries
        ),
        -- The furthest reach of the points of each cluster.
        limits AS (SELECT number, MAX(reach) AS max_reach FROM bounded_queries GROUP BY number),
        -- Clusters with the furthest reach of their points.
        limited_clusters AS (
          SELECT own.number, own.partition_no, own.mean, own.height, own_limits.max_reach
          FROM raised_clusters AS own
          JOIN limits AS own_limits ON own_limits.number = own.number
        ),
        -- Pairs of clusters that are within reach.
        near_pairs AS (
          SELECT
            own.number,
            other.number AS target,
            other.* EXCLUDE (number, partition_no),
            clustereval._metric(
              own.mean, other.mean, own.height, other.height, distance, p
            ) AS gap
          FROM limited_clusters AS own
          JOIN raised_clusters AS other ON other.partition_no = own.partition_no
          WHERE COALESCE(
            clustereval._metric(own.mean, other.mean, own.height, other.height, distance, p)
              <= own.max_reach,
            TRUE
          )
        )
        SELECT query.*, pair.* EXCLUDE (number, gap, height)
        FROM bounded_queries AS query
        JOIN near_pairs AS pair ON pair.number = query.number
        WHERE COALESCE(
          pair.target = query.number
          OR pair.gap <= query.reach
          AND clustereval._metric(query.point, pair.mean, 0.0, pair.height, distance, p)
            <= query.to_guide,
          TRUE
        )
    """,
    # The nearest cluster is searched only among the clusters at the smallest distance. Without
    # FILTER or ORDER BY in an aggregate, Postgres need not sort pairs.
    "_centroid_gaps": """
        -- Pairs of clusters with the distance between their centers.
        WITH cluster_pairs AS (
          SELECT
            own.partition_key, own.number,
            own.mean_distance + other.mean_distance AS mean_distance_sum,
            clustereval._distance(own.center, other.center, distance, p) AS gap
          FROM query_table(clusters) AS own
          JOIN query_table(clusters) AS other
            ON other.partition_key IS NOT DISTINCT FROM own.partition_key
            AND other.number <> own.number
        ),
        -- One row per cluster with its distances to other centers.
        gaps AS (
          SELECT
            partition_key, number,
            MIN(gap) AS least,
            MAX(gap) AS most_gap,
            clustereval._compensated_sum(gap) AS gap_sum,
            MAX(CASE WHEN gap = 0 THEN 0.0 ELSE mean_distance_sum / gap END) AS overlap
          FROM cluster_pairs
          GROUP BY partition_key, number
        ),
        -- Clusters with the distance to the nearest center.
        measured_clusters AS MATERIALIZED (
          SELECT own.partition_key, own.number, own.center, gaps.least
          FROM query_table(clusters) AS own
          JOIN gaps ON gaps.number = own.number
        ),
        -- The lowest number among the nearest clusters.
        neighbors AS (
          SELECT own.number, MIN(other.number) AS nearest_number
          FROM measured_clusters AS own
          JOIN query_table(clusters) AS other
            ON other.partition_key IS NOT DISTINCT FROM own.partition_key
            AND other.number <> own.number
          WHERE clustereval._distance(own.center, other.center, distance, p) <= own.least
          GROUP BY own.number
        )
        SELECT
          gaps.partition_key, gaps.number,
          nearest.cluster AS nearest,
          gaps.least, gaps.most_gap, gaps.gap_sum, gaps.overlap
        FROM gaps
        LEFT JOIN neighbors ON neighbors.number = gaps.number
        LEFT JOIN query_table(clusters) AS nearest ON nearest.number = neighbors.nearest_number
    """,
}
