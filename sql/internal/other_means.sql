-- other_means: the clusters whose mean distances are needed if b is not the mean distance to the
-- nearest cluster.
--
-- A query is a point whose silhouette is computed. A target is a cluster to which its mean distance
-- is needed: its own cluster, and either all other clusters or those that bounds do not rule out as
-- the furthest. The parameters queries and clusters name CTEs of rows of _cluster_members and
-- _cluster_moments; plain_distance is a name of _plain_distance_name.

-- One row for each queried point (row_no, of cluster number) and each cluster (target) of its
-- partition, including its own.
CREATE OR REPLACE MACRO clustereval._all_targets(queries, clusters) AS TABLE
  SELECT row_no, number, target FROM clustereval._join_with_clusters(queries, clusters);

-- One row per queried point (row_no) of a partition with several clusters: b_lower, a lower bound
-- of its mean distance to the furthest cluster, the largest of the lower bounds for all other
-- clusters.
CREATE OR REPLACE MACRO clustereval._furthest_lower_bounds(
  queries, clusters, plain_distance, p
) AS TABLE
  WITH measured_others AS NOT MATERIALIZED (
    SELECT
      *,
      clustereval._unchecked_distance(point, mean, plain_distance, p) AS to_mean
    FROM clustereval._cross_with_clusters(queries, clusters)
    WHERE target <> number
  )
  SELECT
    row_no,
    MAX(clustereval._mean_distance_lower_bound(
      to_mean, mean_distance, rounding_error, plain_distance
    )) AS b_lower
  FROM measured_others
  GROUP BY row_no;

-- One row for each queried point (row_no) and each cluster (target) that is its own (number) or may
-- be the furthest, because its upper bound is at least the largest lower bound of another cluster.
CREATE OR REPLACE MACRO clustereval._furthest_targets(
  queries, clusters, plain_distance, p
) AS TABLE
  WITH furthest_bounds AS MATERIALIZED (
    SELECT *
    FROM clustereval._furthest_lower_bounds(queries, clusters, plain_distance, p)
  ),
  limited_queries AS NOT MATERIALIZED (
    SELECT query.*, furthest.b_lower
    FROM query_table(queries) AS query
    LEFT JOIN furthest_bounds AS furthest ON furthest.row_no = query.row_no
  ),
  measured AS NOT MATERIALIZED (
    SELECT
      *,
      clustereval._unchecked_distance(point, mean, plain_distance, p) AS to_mean
    FROM clustereval._cross_with_clusters(limited_queries, clusters)
  )
  SELECT row_no, number, target
  FROM measured
  WHERE CASE
    WHEN target = number THEN TRUE
    ELSE clustereval._mean_distance_upper_bound(
      point, mean, variances, total_variance, to_mean, mean_distance, rounding_error, plain_distance
    ) >= b_lower
  END;
