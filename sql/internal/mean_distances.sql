-- mean_distances: mean distances of points to their own cluster (a) and to other clusters (b).
--
-- The option "between" determines b: the mean distance to the nearest other cluster, to the
-- furthest other cluster, or to all points of other clusters. Tables of mean distances have one row
-- per query: row_no, number (its cluster), exact, lower and upper bounds on a and b, which coincide
-- if they are exact, and neighbor (the cluster of b, NULL if only bounds are known or if b is for
-- all other clusters). A query is a point whose silhouette is computed; a target is a cluster to
-- which its mean distance is needed; a member is any point that is scored (see
-- point_silhouettes.sql). The parameters queries and members name CTEs of rows of
-- _clustered_points, and clusters names a CTE of rows of _cluster_moments; plain_distance is a name
-- of _plain_distance_name.

---------------------------------------------------------------------------------------------------
-- Clusters
---------------------------------------------------------------------------------------------------

-- One row per cluster that has points, from groups, the rows of _point_clusters: partition_key,
-- cluster, number, partition_no, n, n_zero_vectors, n_clusters, n_all_clusters, mean, center,
-- variances, total_variance and mean_distance of these, and
--   rounding_error  error that rounding may have caused in mean
--   origin          point near those of the partition, relative to which coordinates are small
--   few_clusters    use_lists of its points (_clustered_points)
--   total           number of points of its partition
CREATE OR REPLACE MACRO clustereval._cluster_moments(groups) AS TABLE
  SELECT
    partition_key, cluster, number, partition_no, n, n_zero_vectors, n_clusters, n_all_clusters,
    mean, center, variances, total_variance,
    CASE WHEN total_variance = 0 THEN 0.0 ELSE mean_distance END AS mean_distance,
    CASE
      WHEN total_variance = 0 THEN 0.0 ELSE 4e-15 * clustereval._norm(mean)
    END AS rounding_error,
    first_value(mean) OVER (PARTITION BY partition_key ORDER BY number ASC NULLS LAST) AS origin,
    n_clusters = n_all_clusters AND n_clusters <= 1024 AS few_clusters,
    CAST(SUM(n) OVER (PARTITION BY partition_key) AS BIGINT) AS total
  FROM query_table(groups)
  WHERE n > 0;

---------------------------------------------------------------------------------------------------
-- Mean distances that follow from sums over clusters
---------------------------------------------------------------------------------------------------

-- The mean distance of a point to the other n - 1 points of its cluster, from mean_distance, its
-- mean distance to all n points of the cluster, including itself (distance 0). 0 if n is 1.
CREATE OR REPLACE MACRO clustereval._exclude_self(mean_distance, n) AS
  mean_distance * CASE WHEN n = 1 THEN 0.0 ELSE clustereval._ratio(n, n - 1) END;

-- One row for each pair of a queried point and a cluster of its partition, including its own: the
-- columns of both tables, where the number of the cluster is named target.
CREATE OR REPLACE MACRO clustereval._join_with_clusters(queries, clusters) AS TABLE
  SELECT
    query.*, cluster.number AS target,
    cluster.* EXCLUDE (number, partition_no)
  FROM query_table(queries) AS query
  JOIN query_table(clusters) AS cluster ON cluster.partition_no = query.partition_no;

-- The rows of _join_with_clusters. Clusters of a single partition are attached by a cross join: an
-- equi-join would copy the lists of a cluster for every row.
CREATE OR REPLACE MACRO clustereval._cross_with_clusters(queries, clusters) AS TABLE
  WITH clusters_of_many AS (SELECT * FROM query_table(clusters) WHERE n_clusters < n_all_clusters)
  SELECT
    query.*, cluster.number AS target,
    cluster.* EXCLUDE (number, partition_no)
  FROM query_table(queries) AS query
  CROSS JOIN (SELECT * FROM query_table(clusters) WHERE n_clusters = n_all_clusters) AS cluster
  UNION ALL
  SELECT * FROM clustereval._join_with_clusters(queries, clusters_of_many);

-- Aggregate over clusters, for the rows with is_other: by "between", the smallest mean distance
-- `distance`, the largest, or the mean distance to the points of all these clusters together.
CREATE OR REPLACE MACRO clustereval._distance_between(distance, n, is_other, "between") AS
  -- FILTER computes the distance once, while CASE would compute it twice
  CASE "between"
    WHEN 'nearest' THEN MIN(distance) FILTER (WHERE is_other)
    WHEN 'furthest' THEN MAX(distance) FILTER (WHERE is_other)
    ELSE SUM(distance * n) FILTER (WHERE is_other) / SUM(n) FILTER (WHERE is_other)
  END;

-- Aggregate over clusters: the number (target) of the cluster of _distance_between, the lowest in a
-- tie; NULL if it is the mean distance to several clusters. The number takes much longer to compute
-- than the distance, which is all that a score needs.
CREATE OR REPLACE MACRO clustereval._neighbor_between(target, distance, is_other, "between") AS
  CASE "between"
    WHEN 'nearest' THEN clustereval._number_at_least_key(target, distance, is_other)
    WHEN 'furthest' THEN clustereval._number_at_least_key(target, -distance, is_other)
    ELSE CAST(NULL AS BIGINT)
  END;

-- One row per queried point (row_no): its exact mean distances to the other points of its own
-- cluster and to other clusters. distances has the mean distance `distance` for each point and
-- cluster (target), which has n points.
CREATE OR REPLACE MACRO clustereval._own_and_other_means(distances, "between") AS TABLE
  -- Points with the distances to their own cluster and to other clusters.
  WITH grouped AS (
    SELECT
      row_no, number,
      MAX(distance) FILTER (WHERE target = number) AS a,
      clustereval._distance_between(distance, n, target <> number, "between") AS b,
      clustereval._neighbor_between(target, distance, target <> number, "between") AS neighbor
    FROM query_table(distances)
    GROUP BY row_no, number
  )
  SELECT
    row_no, number,
    TRUE AS exact,
    a AS a_lower,
    a AS a_upper,
    b AS b_lower,
    b AS b_upper,
    neighbor
  FROM grouped;

-- One row per queried point (row_no): its mean squared distances to all points of its own cluster,
-- number (a), and to other clusters (b, and neighbor). Such a mean is the squared distance to the
-- cluster's mean plus the cluster's total variance. is_zero (a zero vector for cosine) is passed
-- on.
CREATE OR REPLACE MACRO clustereval._grouped_squares(queries, clusters, "between") AS TABLE
  -- Mean squared distances of points to clusters.
  WITH squares AS NOT MATERIALIZED (
    SELECT
      row_no, number, is_zero, target, n,
      -- list_distance is computed once; pow takes longer than the distance
      list_distance(point, mean) * list_distance(point, mean)
        + total_variance AS square
    FROM clustereval._cross_with_clusters(queries, clusters)
  )
  SELECT
    row_no, number, is_zero,
    MAX(square) FILTER (WHERE target = number) AS a,
    clustereval._distance_between(square, n, target <> number, "between") AS b,
    clustereval._neighbor_between(target, square, target <> number, "between") AS neighbor
  FROM squares
  GROUP BY row_no, number, is_zero;

-- Mean squared distances of points to clusters: the rows of _grouped_squares. If there is one
-- partition of few clusters, each point holds all means in a list, and the points are streamed.
CREATE OR REPLACE MACRO clustereval._own_and_other_squares(queries, clusters, "between") AS TABLE
  WITH mean_lists AS (
    -- With the root of the variance as one more coordinate, which is 0 in the query, the sum is a
    -- single distance.
    SELECT
      list(list_append(mean, sqrt(total_variance)) ORDER BY number ASC NULLS LAST) AS means,
      list(CAST(n AS DOUBLE) ORDER BY number ASC NULLS LAST) AS sizes
    FROM query_table(clusters)
    WHERE few_clusters
    HAVING COUNT(*) > 0
  ),
  extended_queries AS NOT MATERIALIZED (
    SELECT
      row_no, number, is_zero,
      list_append(point, 0.0) AS point
    FROM query_table(queries)
    WHERE use_lists
  ),
  rooted AS NOT MATERIALIZED (
    SELECT
      query.row_no, query.number, query.is_zero, means.sizes,
      -- With the opposite sign, the furthest cluster has the smallest value, and the squares are
      -- the same.
      CASE
        WHEN "between" = 'furthest'
        THEN list_transform(means.means, lambda mean: -list_distance(query.point, mean))
        ELSE list_transform(means.means, lambda mean: list_distance(query.point, mean))
      END AS roots
    FROM extended_queries AS query
    CROSS JOIN mean_lists AS means
  ),
  split_roots AS NOT MATERIALIZED (
    SELECT
      row_no, number, is_zero,
      roots[number] AS own_root,
      roots[:number - 1] AS roots_before,
      roots[number + 1:] AS roots_after,
      list_concat(sizes[:number - 1], sizes[number + 1:]) AS other_sizes
    FROM rooted
  ),
  -- This CTE is materialized because _cross_with_clusters reads it twice. DuckDB would stream a CTE
  -- that is read only once, here in the single thread that computes the row numbers.
  held_queries AS MATERIALIZED (SELECT * FROM query_table(queries) WHERE NOT use_lists)
  SELECT
    row_no, number, is_zero,
    own_root * own_root AS a,
    CASE
      WHEN "between" = 'mean_other'
      THEN list_inner_product(
        list_transform(list_concat(roots_before, roots_after), lambda root: root * root),
        other_sizes
      ) / list_sum(other_sizes)
      ELSE LEAST(list_min(roots_before), list_min(roots_after))
        * LEAST(list_min(roots_before), list_min(roots_after))
    END AS b,
    CASE
      WHEN "between" = 'mean_other' THEN NULL
      WHEN list_min(roots_before)
        <= COALESCE(list_min(roots_after), list_min(roots_before))
      THEN list_position(roots_before, list_min(roots_before))
      ELSE number + list_position(roots_after, list_min(roots_after))
    END AS neighbor
  FROM split_roots
  UNION ALL
  SELECT * FROM clustereval._grouped_squares(held_queries, clusters, "between");

-- The mean distance for a mean squared euclidean distance d. It is d for sqeuclidean. For cosine it
-- is d / 2, or 0 if that is only the rounding error of parallel vectors.
CREATE OR REPLACE MACRO clustereval._from_mean_square(d, plain_distance) AS
  CASE plain_distance WHEN 'cosine' THEN clustereval._zero_if_parallel(d / 2) ELSE d END;

-- One row per queried point with its mean sqeuclidean or cosine distances (plain_distance). Half
-- the squared distance of unit vectors is 1 - cos. A zero vector has the cosine distance 1 to all
-- vectors except itself, so half of its squared distance is too small by 1/2.
CREATE OR REPLACE MACRO clustereval._squared_means(
  queries, clusters, plain_distance, "between"
) AS TABLE
  -- Points, marked if they are zero vectors for cosine.
  WITH flagged_queries AS NOT MATERIALIZED (
    SELECT
      row_no, number, partition_no, use_lists, point,
      -- For nearly every vector, the first coordinate is enough to decide.
      CASE
        WHEN plain_distance <> 'cosine' OR point[1] <> 0 THEN FALSE
        ELSE list_inner_product(point, point) = 0
      END AS is_zero
    FROM query_table(queries)
  ),
  -- Clusters with the variance of the squared distances.
  squared_clusters AS MATERIALIZED (
    SELECT
      number, partition_no, n, n_clusters, n_all_clusters, few_clusters, mean,
      CASE
        WHEN plain_distance = 'cosine'
        THEN total_variance + clustereval._ratio(n_zero_vectors, n)
        ELSE total_variance
      END AS total_variance
    FROM query_table(clusters)
  ),
  mean_squares AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._own_and_other_squares(flagged_queries, squared_clusters, "between")
  ),
  -- Points with their mean distances to their own cluster and to other clusters.
  exact_means AS NOT MATERIALIZED (
    SELECT
      query.row_no, query.number,
      CASE
        WHEN query.is_zero AND own.n > 1 THEN 1.0
        ELSE clustereval._exclude_self(
          clustereval._from_mean_square(query.a, plain_distance), own.n
        )
      END AS a,
      CASE
        WHEN query.is_zero AND own.n_clusters > 1 THEN 1.0
        ELSE clustereval._from_mean_square(query.b, plain_distance)
      END AS b,
      CASE
        WHEN query.is_zero AND own.n_clusters > 1 AND "between" <> 'mean_other'
        THEN own.partition_no
          + CASE WHEN own.number = own.partition_no THEN 1 ELSE 0 END
        ELSE query.neighbor
      END AS neighbor
    FROM mean_squares AS query
    JOIN query_table(clusters) AS own ON own.number = query.number
  )
  SELECT
    row_no, number,
    TRUE AS exact,
    a AS a_lower,
    a AS a_upper,
    b AS b_lower,
    b AS b_upper,
    neighbor
  FROM exact_means;

-- One row per queried point, for method 'simplified': its distances to the center of its own
-- cluster and to other centers, in place of mean distances to points.
CREATE OR REPLACE MACRO clustereval._simplified_means(
  queries, clusters, plain_distance, p, "between"
) AS TABLE
  -- Distances of points to centers.
  WITH center_distances AS NOT MATERIALIZED (
    SELECT
      row_no, number, target, n,
      clustereval._distance(point, center, plain_distance, p) AS distance
    FROM clustereval._cross_with_clusters(queries, clusters)
  )
  SELECT * FROM clustereval._own_and_other_means(center_distances, "between");

---------------------------------------------------------------------------------------------------
-- Sums of distances to all points of a target
---------------------------------------------------------------------------------------------------

-- One row: prefer_lists is TRUE if lists of the clusters' points are best joined to queried points
-- on a condition that is not an equality. Such a join copies no lists, but scans all of them for
-- each point, which is slow for many small clusters; for these, an equi-join with one row per point
-- is better.
CREATE OR REPLACE MACRO clustereval._prefer_list_join(clusters) AS TABLE
  SELECT
    SUM(ceil(n / 512.0)) <= 4 * SUM(pow(n, 2)) / SUM(n) + 64 AS prefer_lists
  FROM query_table(clusters);

-- One row per queried point (row_no): number, its own cluster, and targets, the list of the
-- clusters to which its mean distance is needed. targets has one row for each such point and
-- cluster (target).
CREATE OR REPLACE MACRO clustereval._target_lists(targets) AS TABLE
  SELECT
    row_no,
    any_value(number) AS number,
    list(target) AS targets
  FROM query_table(targets)
  GROUP BY row_no;

-- One row for each queried point (row_no, of cluster number) and each cluster target that
-- target_lists (_target_lists) lists for it: the sum of its distances to the cluster's points
-- (sum). The cluster's points are either in lists of 512, or one row each (see _prefer_list_join).
CREATE OR REPLACE MACRO clustereval._distance_sums(
  queries, members, clusters, target_lists, plain_distance, p
) AS TABLE
  WITH join_choice AS MATERIALIZED (SELECT * FROM clustereval._prefer_list_join(clusters)),
  -- No rows if single points are to be joined.
  list_queries AS NOT MATERIALIZED (
    SELECT query.row_no, query.point, query.number, target_list.targets
    FROM query_table(queries) AS query
    JOIN query_table(target_lists) AS target_list ON target_list.row_no = query.row_no
    JOIN join_choice AS choice ON choice.prefer_lists
  ),
  -- No rows if lists are to be joined.
  pair_queries AS NOT MATERIALIZED (
    SELECT query.row_no, query.point, query.number, unnest(target_list.targets) AS target
    FROM query_table(queries) AS query
    JOIN query_table(target_lists) AS target_list ON target_list.row_no = query.row_no
    JOIN join_choice AS choice ON NOT choice.prefer_lists
  ),
  chunked_members AS (
    SELECT
      number, point,
      (row_number() OVER (PARTITION BY number) - 1) // 512 AS chunk
    FROM query_table(members)
  ),
  member_lists AS MATERIALIZED (
    SELECT number, list(point) AS member_points
    FROM chunked_members
    GROUP BY number, chunk
  ),
  partial_sums AS NOT MATERIALIZED (
    SELECT
      query.row_no, query.number, member_list.number AS target,
      list_sum(list_transform(
        member_list.member_points,
        lambda y: clustereval._unchecked_distance(query.point, y, plain_distance, p)
      )) AS sum
    FROM list_queries AS query
    JOIN member_lists AS member_list ON list_contains(query.targets, member_list.number)
    UNION ALL
    SELECT
      query.row_no, query.number, query.target,
      clustereval._unchecked_distance(query.point, member.point, plain_distance, p)
    FROM pair_queries AS query
    JOIN query_table(members) AS member ON member.number = query.target
  )
  SELECT
    row_no, number, target,
    SUM(sum) AS sum
  FROM partial_sums
  GROUP BY row_no, number, target;

-- The rows of _distance_sums for cityblock, from running sums of each sorted coordinate. If m of n
-- values with sum s out of a total t are at most x, their distances to x add up to m x - s, and
-- those of the others to t - s - (n - m) x. Coordinates are deviations from the cluster's mean.
CREATE OR REPLACE MACRO clustereval._sorted_distance_sums(
  queries, members, clusters, target_lists
) AS TABLE
  -- key identifies a coordinate of a cluster.
  WITH member_coordinates AS NOT MATERIALIZED (
    SELECT
      cluster.number,
      unnest(member.point) AS coordinate,
      unnest(cluster.mean) AS mean,
      unnest(range(0, len(cluster.mean))) * cluster.n_all_clusters
        + cluster.number AS key
    FROM query_table(members) AS member
    JOIN query_table(clusters) AS cluster ON cluster.number = member.number
  ),
  -- RANGE gives equal values the same sums, so that it does not matter which of the equal values a
  -- query finds.
  running AS (
    SELECT
      key,
      coordinate - mean AS deviation,
      COUNT(*) OVER below AS n_below,
      SUM(coordinate - mean) OVER below AS sum_below
    FROM member_coordinates
    WINDOW below AS (
      PARTITION BY key ORDER BY coordinate - mean ASC NULLS LAST
      RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  ),
  totals AS MATERIALIZED (
    SELECT
      key,
      CAST(COUNT(*) AS DOUBLE) AS n,
      clustereval._compensated_sum(coordinate - mean) AS total_sum
    FROM member_coordinates
    GROUP BY key
  ),
  pair_queries AS NOT MATERIALIZED (
    SELECT
      query.row_no, query.point, target_list.number,
      unnest(target_list.targets) AS target
    FROM query_table(queries) AS query
    JOIN query_table(target_lists) AS target_list ON target_list.row_no = query.row_no
  ),
  query_coordinates AS NOT MATERIALIZED (
    SELECT
      query.row_no, query.number, query.target,
      unnest(query.point) AS coordinate,
      unnest(cluster.mean) AS mean,
      unnest(range(0, len(cluster.mean))) * cluster.n_all_clusters
        + cluster.number AS key
    FROM pair_queries AS query
    JOIN query_table(clusters) AS cluster ON cluster.number = query.target
  ),
  query_deviations AS NOT MATERIALIZED (
    SELECT
      row_no, number, target, key,
      coordinate - mean AS deviation
    FROM query_coordinates
  ),
  below_queries AS NOT MATERIALIZED (
    SELECT
      query.row_no, query.number, query.target, query.key, query.deviation,
      COALESCE(running.n_below, 0) AS n_below,
      COALESCE(running.sum_below, 0.0) AS sum_below
    FROM query_deviations AS query
    ASOF LEFT JOIN running ON running.key = query.key AND query.deviation >= running.deviation
  )
  SELECT
    query.row_no, query.number, query.target,
    GREATEST(
      SUM(
        (2 * query.n_below - totals.n) * query.deviation
          - 2 * query.sum_below + totals.total_sum
      ),
      0.0
    ) AS sum
  FROM below_queries AS query
  JOIN totals ON totals.key = query.key
  GROUP BY query.row_no, query.number, query.target;

-- A table of exact mean distances. For each point, the distances to all points of the clusters in
-- its list in target_lists (_target_lists) are summed.
CREATE OR REPLACE MACRO clustereval._exact_means(
  queries, members, clusters, target_lists, plain_distance, p, "between"
) AS TABLE
  WITH direct_sums AS NOT MATERIALIZED (
    SELECT * FROM clustereval._distance_sums(
      queries, members, clusters, target_lists, plain_distance, p
    )
  ),
  sorted_sums AS NOT MATERIALIZED (
    SELECT * FROM clustereval._sorted_distance_sums(queries, members, clusters, target_lists)
  ),
  -- CTEs that query() does not name are neither bound nor run.
  sums AS NOT MATERIALIZED (
    SELECT * FROM query(CASE plain_distance
      WHEN 'cityblock' THEN 'SELECT * FROM sorted_sums' ELSE 'SELECT * FROM direct_sums'
    END)
  ),
  target_distances AS NOT MATERIALIZED (
    SELECT
      query.row_no, query.number, query.target, cluster.n,
      CASE
        WHEN query.target <> query.number THEN query.sum / cluster.n
        WHEN cluster.n = 1 THEN 0.0
        ELSE query.sum / (cluster.n - 1)
      END AS distance
    FROM sums AS query
    JOIN query_table(clusters) AS cluster ON cluster.number = query.target
  )
  SELECT * FROM clustereval._own_and_other_means(target_distances, "between");
