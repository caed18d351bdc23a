-- point_silhouettes: the silhouettes of queries, from their mean distances.
--
-- Rules for reading this file, in addition to those of centroids.sql:
--   * Each cluster has a number, number, in the order of partitions and clusters. The number of a
--     partition, partition_no, is the smallest number of its clusters.
--   * A member is a point that is scored. A query, or queried point, is a member whose silhouette
--     is computed. A target is a cluster to which the mean distance of a query is computed: its own
--     cluster, or a cluster that bounds on mean distances do not rule out as the nearest other, or
--     as the furthest.

---------------------------------------------------------------------------------------------------
-- Silhouettes of queries
---------------------------------------------------------------------------------------------------

-- Silhouette (b - a) / max(a, b) from the mean distances a to the point's own cluster and b to
-- other clusters; 0 if both are 0.
CREATE OR REPLACE MACRO clustereval._silhouette_value(a, b) AS
  CASE WHEN GREATEST(a, b) = 0 THEN 0.0 ELSE (b - a) / GREATEST(a, b) END;

-- One row per point with its silhouette: the columns of mean_distances (_mean_distances),
-- partition_no, total (points of the partition), cluster_size, and bounds on its silhouette, lower
-- and upper, equal if the mean distances are exact. The bounds are NULL if there is only one
-- cluster or if every cluster has a single point, and 0 for the point of a cluster with a single
-- point. clusters are the rows of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._point_silhouettes(mean_distances, clusters) AS TABLE
  SELECT
    query.*,
    own.partition_no, own.total,
    own.n AS cluster_size,
    CASE
      WHEN NOT clustereval._is_clustering(own.total, own.n_clusters) THEN NULL
      WHEN own.n = 1 THEN 0.0
      ELSE clustereval._silhouette_value(query.a_upper, query.b_lower)
    END AS lower,
    CASE
      WHEN NOT clustereval._is_clustering(own.total, own.n_clusters) THEN NULL
      WHEN own.n = 1 THEN 0.0
      ELSE clustereval._silhouette_value(query.a_lower, query.b_upper)
    END AS upper
  FROM query_table(mean_distances) AS query
  JOIN query_table(clusters) AS own ON own.number = query.number;

-- One row (row_no) per point whose silhouette must be computed exactly so that the bounds of the
-- partition's mean silhouette are at most `tolerance` apart. All other points have the narrowest
-- bounds, whose widths add up to at most tolerance times the number of points. bounded are the rows
-- of _point_silhouettes; members are those of _cluster_members (ids break ties).
CREATE OR REPLACE MACRO clustereval._queries_to_evaluate(bounded, members, tolerance) AS TABLE
  WITH cumulated AS (
    SELECT
      query.row_no, query.total,
      SUM(query.upper - query.lower) OVER (
        PARTITION BY query.partition_no ORDER BY
          query.upper - query.lower ASC NULLS LAST, id_place.place DESC NULLS LAST
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) AS cumulated_width
    FROM query_table(bounded) AS query
    JOIN clustereval._id_places(members) AS id_place ON id_place.row_no = query.row_no
  )
  SELECT row_no FROM cumulated WHERE cumulated_width / total > tolerance;

-- One row per point, with the columns of _mean_distances: exact mean distances if the tolerance of
-- the mean silhouette requires them (_queries_to_evaluate), otherwise bounds. Tables: bounds,
-- members and clusters, the rows of _mean_distance_bounds, _cluster_members and _cluster_moments.
-- plain_distance is the distance in lower case.
CREATE OR REPLACE MACRO clustereval._tolerant_means(
  bounds, members, clusters, plain_distance, p, tolerance
) AS TABLE
  WITH bounded_means AS MATERIALIZED (SELECT * FROM clustereval._means_of_bounds(bounds, clusters)),
  bounded_silhouettes AS (SELECT * FROM clustereval._point_silhouettes(bounded_means, clusters)),
  required AS MATERIALIZED (
    SELECT *
    FROM clustereval._queries_to_evaluate(bounded_silhouettes, members, tolerance)
  ),
  required_queries AS MATERIALIZED (
    SELECT member.*
    FROM query_table(members) AS member
    JOIN required ON required.row_no = member.row_no
  ),
  required_bounds AS NOT MATERIALIZED (
    SELECT bound.*
    FROM query_table(bounds) AS bound
    JOIN required ON required.row_no = bound.row_no
  ),
  required_targets AS (SELECT * FROM clustereval._target_lists(required_bounds))
  SELECT * FROM clustereval._exact_means(
    required_queries, members, clusters, required_targets, plain_distance, p, 'nearest'
  )
  UNION ALL
  SELECT query.*
  FROM bounded_means AS query
  LEFT JOIN required ON required.row_no = query.row_no
  WHERE required.row_no IS NULL;

-- One row (row_no) per row of queries, points whose silhouettes are computed: bounds on its mean
-- distances to its own cluster, number (a_lower, a_upper), and to other clusters, by "between"
-- (b_lower, b_upper, and neighbor). If exact, the bounds are equal; otherwise neighbor is NULL.
-- members are all points. queries and members are rows of _cluster_members, reference_points are
-- rows of _drawn_members, and clusters are the rows of _cluster_moments; the other parameters are
-- options of silhouette_score.
CREATE OR REPLACE MACRO clustereval._mean_distances(
  queries, members, reference_points, clusters, distance, p, method, "between", tolerance,
  reference_size
) AS TABLE
  WITH simplified_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._simplified_means(
      queries, clusters, clustereval._plain_distance_name(distance, p), p, "between"
    )
  ),
  squared_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._squared_means(
      queries, clusters, clustereval._plain_distance_name(distance, p), "between"
    )
  ),
  bounds AS (
    SELECT * FROM clustereval._mean_distance_bounds(
      queries, members, clusters, clustereval._plain_distance_name(distance, p), p
    )
  ),
  means_of_bounds AS NOT MATERIALIZED (
    SELECT * FROM clustereval._means_of_bounds(bounds, clusters)
  ),
  cityblock_targets AS NOT MATERIALIZED (
    SELECT * FROM clustereval._cityblock_targets(queries, members, clusters)
  ),
  all_targets AS NOT MATERIALIZED (SELECT * FROM clustereval._all_targets(queries, clusters)),
  furthest_targets AS NOT MATERIALIZED (
    SELECT * FROM clustereval._furthest_targets(
      queries, clusters, clustereval._plain_distance_name(distance, p), p
    )
  ),
  targets AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_targets(distance, p, "between"))
  ),
  target_lists AS MATERIALIZED (SELECT * FROM clustereval._target_lists(targets)),
  exact_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._exact_means(
      queries, members, clusters, target_lists,
      clustereval._plain_distance_name(distance, p), p, "between"
    )
  ),
  reference_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._reference_means(
      queries, reference_points, clusters,
      clustereval._plain_distance_name(distance, p), p, reference_size
    )
  ),
  tolerant_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._tolerant_means(
      bounds, members, clusters, clustereval._plain_distance_name(distance, p), p,
      tolerance
    )
  )
  SELECT * FROM query(clustereval._select_mean_distances(
    distance, p, method, tolerance, reference_size
  ));
