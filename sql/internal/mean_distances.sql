-- mean_distances: mean distances of points to their own cluster (a) and to the nearest other one
-- (b).
--
-- Tables of mean distances have one row per query: __ce_row, __ce_number (its cluster), __ce_exact,
-- lower and upper bounds of a and b, which coincide where they are exact, and __ce_neighbor (the
-- nearest other cluster, NULL if bounds alone are known).
-- A query is a point whose silhouette is computed, a target a cluster whose mean distance to it is
-- needed, a member any point that counts (see silhouette.sql). __ce_clusters are the rows of
-- _cluster_moments; plain_distance is a name of _plain_distance_name.

---------------------------------------------------------------------------------------------------
-- Clusters and their points
---------------------------------------------------------------------------------------------------

-- One row per cluster that has points: its key, number (__ce_number), size (__ce_n) and moments,
-- from the rows of _coordinate_moments and _cluster_spreads.
--   __ce_mean            mean of each coordinate
--   __ce_center          __ce_mean, for cosine scaled to length 1
--   __ce_variances       variance of each coordinate; their sum is __ce_total_variance
--   __ce_mean_distance   mean distance of its points to __ce_center
--   __ce_rounding_error  error that rounding may have caused in __ce_mean
--   __ce_partition_no    least number of the clusters of its partition, which has __ce_n_clusters
--                        clusters and __ce_total points; __ce_n_all_clusters: of all partitions
--   __ce_origin          point near those of the partition, relative to which coordinates are small
--   __ce_few_clusters    TRUE if there is one partition, of few clusters: their distances to the
--                        2,048 points that DuckDB takes at a time have at most 16 MB
CREATE OR REPLACE MACRO clustereval._cluster_moments(
  __ce_coordinates, __ce_spreads, distance
) AS TABLE
  WITH __ce_means AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_singleton_no,
      clustereval._compensated_sum(__ce_variance) AS __ce_total_variance,
      list(__ce_variance ORDER BY __ce_i ASC NULLS LAST) AS __ce_variances,
      list(__ce_center ORDER BY __ce_i ASC NULLS LAST) AS __ce_mean
    FROM query_table(__ce_coordinates)
    GROUP BY __ce_partition, __ce_cluster, __ce_singleton_no
  ),
  __ce_numbered AS (
    SELECT
      means.*,
      spread.__ce_n, spread.__ce_n_zero_vectors,
      CASE
        WHEN means.__ce_total_variance = 0 THEN 0.0 ELSE spread.__ce_distances / spread.__ce_n
      END AS __ce_mean_distance,
      row_number() OVER (
        ORDER BY
          means.__ce_partition ASC NULLS LAST, means.__ce_cluster ASC NULLS LAST,
          means.__ce_singleton_no ASC NULLS LAST
      ) AS __ce_number
    FROM __ce_means AS means
    JOIN query_table(__ce_spreads) AS spread
      ON spread.__ce_partition IS NOT DISTINCT FROM means.__ce_partition
      AND spread.__ce_cluster IS NOT DISTINCT FROM means.__ce_cluster
      AND spread.__ce_singleton_no = means.__ce_singleton_no
  )
  SELECT
    *,
    clustereval._center_direction(__ce_mean, distance) AS __ce_center,
    CASE
      WHEN __ce_total_variance = 0 THEN 0.0 ELSE 4e-15 * clustereval._norm(__ce_mean)
    END AS __ce_rounding_error,
    MIN(__ce_number) OVER (PARTITION BY __ce_partition) AS __ce_partition_no,
    first_value(__ce_mean) OVER (
      PARTITION BY __ce_partition ORDER BY __ce_number ASC NULLS LAST
    ) AS __ce_origin,
    COUNT(*) OVER () AS __ce_n_all_clusters,
    COUNT(*) OVER (PARTITION BY __ce_partition) AS __ce_n_clusters,
    COUNT(*) OVER (PARTITION BY __ce_partition) = COUNT(*) OVER () AND COUNT(*) OVER () <= 1024
      AS __ce_few_clusters,
    CAST(SUM(__ce_n) OVER (PARTITION BY __ce_partition) AS BIGINT) AS __ce_total
  FROM __ce_numbered;

-- One row per member, a point that counts: __ce_number and __ce_partition_no of its cluster
-- (_cluster_moments), __ce_row (row number), __ce_point, __ce_id, __ce_has_default_id (no id was
-- given), and __ce_use_lists, the __ce_few_clusters of its cluster. __ce_points are the rows of
-- _points, __ce_points_check those of _check_points, which raises an error for bad points.
CREATE OR REPLACE MACRO clustereval._cluster_members(
  __ce_points, __ce_clusters, __ce_points_check
) AS TABLE
  SELECT
    cluster.__ce_number, cluster.__ce_partition_no,
    cluster.__ce_few_clusters AS __ce_use_lists,
    point.__ce_row, point.__ce_point, point.__ce_id, point.__ce_has_default_id
  FROM query_table(__ce_points) AS point
  JOIN query_table(__ce_clusters) AS cluster
    ON cluster.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
    AND cluster.__ce_cluster IS NOT DISTINCT FROM point.__ce_cluster
    AND cluster.__ce_singleton_no = point.__ce_singleton_no
  WHERE point.__ce_kept
    AND COALESCE((SELECT MIN(__ce_valid) FROM query_table(__ce_points_check)), TRUE);

---------------------------------------------------------------------------------------------------
-- Mean distances that follow from sums over clusters
---------------------------------------------------------------------------------------------------

-- TRUE if all coordinates of the vector x are 0. The first one decides for nearly every vector.
CREATE OR REPLACE MACRO clustereval._is_zero_vector(x) AS
  CASE WHEN x[1] <> 0 THEN FALSE ELSE list_inner_product(x, x) = 0 END;

-- The mean distance of a point to the other n - 1 points of its cluster, from mean_distance, its
-- mean distance to all n points of the cluster, itself (distance 0) included. 0 if n is 1.
CREATE OR REPLACE MACRO clustereval._exclude_self(mean_distance, n) AS
  mean_distance * CASE WHEN n = 1 THEN 0.0 ELSE clustereval._ratio(n, n - 1) END;

-- One row for each queried point and each cluster of its partition, its own included: the columns
-- of both tables, with the cluster's number as __ce_target. Tables: __ce_queries, points whose
-- silhouettes are computed; __ce_clusters, one row per cluster (of _cluster_moments).
CREATE OR REPLACE MACRO clustereval._join_with_clusters(__ce_queries, __ce_clusters) AS TABLE
  SELECT
    query.*, cluster.__ce_number AS __ce_target,
    cluster.* EXCLUDE (__ce_number, __ce_partition_no)
  FROM query_table(__ce_queries) AS query
  JOIN query_table(__ce_clusters) AS cluster
    ON cluster.__ce_partition_no = query.__ce_partition_no;

-- The rows of _join_with_clusters. Clusters of a single partition are attached by a cross join: an
-- equi-join would copy the lists of a cluster for every row.
CREATE OR REPLACE MACRO clustereval._cross_with_clusters(__ce_queries, __ce_clusters) AS TABLE
  WITH __ce_clusters_of_many AS (
    SELECT * FROM query_table(__ce_clusters) WHERE __ce_n_clusters < __ce_n_all_clusters
  )
  SELECT
    query.*, cluster.__ce_number AS __ce_target,
    cluster.* EXCLUDE (__ce_number, __ce_partition_no)
  FROM query_table(__ce_queries) AS query
  CROSS JOIN (
    SELECT * FROM query_table(__ce_clusters) WHERE __ce_n_clusters = __ce_n_all_clusters
  ) AS cluster
  UNION ALL
  SELECT * FROM clustereval._join_with_clusters(__ce_queries, __ce_clusters_of_many);

-- One row per queried point (__ce_row): its exact mean distances to the other points of its own
-- cluster (__ce_a_lower and __ce_a_upper, equal) and to the nearest other cluster (__ce_b_lower and
-- __ce_b_upper, equal), whose number is __ce_neighbor. __ce_distances is a table with the mean
-- distance __ce_distance for each point and cluster (__ce_target); __ce_number is the point's own
-- cluster.
CREATE OR REPLACE MACRO clustereval._own_and_nearest_means(__ce_distances) AS TABLE
  WITH __ce_grouped AS (
    SELECT
      __ce_row, __ce_number,
      -- FILTER computes the distance once, CASE would do so twice
      MAX(__ce_distance) FILTER (WHERE __ce_target = __ce_number) AS __ce_a,
      MIN(__ce_distance) FILTER (WHERE __ce_target <> __ce_number) AS __ce_b,
      -- the lowest of equally near clusters; much slower than the minimum that a score needs
      clustereval._value_at_least_key(__ce_target, __ce_distance, __ce_target <> __ce_number)
        AS __ce_neighbor
    FROM query_table(__ce_distances)
    GROUP BY __ce_row, __ce_number
  )
  SELECT
    __ce_row, __ce_number,
    TRUE AS __ce_exact,
    __ce_a AS __ce_a_lower,
    __ce_a AS __ce_a_upper,
    __ce_b AS __ce_b_lower,
    __ce_b AS __ce_b_upper,
    __ce_neighbor
  FROM __ce_grouped;

-- One row per queried point (__ce_row): its mean squared distances to all points of its own cluster
-- (__ce_a), __ce_number, and of the nearest other one (__ce_b), whose number is __ce_neighbor. Such
-- a mean is the squared distance to the cluster's mean plus the cluster's total variance.
-- __ce_queries is a table of the queried points, with __ce_is_zero (a zero vector for cosine),
-- which is passed on; __ce_clusters has one row per cluster. Rows of point and cluster are grouped
-- by point.
CREATE OR REPLACE MACRO clustereval._grouped_squares(__ce_queries, __ce_clusters) AS TABLE
  WITH __ce_squares AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_is_zero, __ce_target,
      -- list_distance is computed once; pow takes longer than the distance
      list_distance(__ce_point, __ce_mean) * list_distance(__ce_point, __ce_mean)
        + __ce_total_variance AS __ce_square
    FROM clustereval._cross_with_clusters(__ce_queries, __ce_clusters)
  )
  SELECT
    __ce_row, __ce_number, __ce_is_zero,
    -- as in _own_and_nearest_means
    MAX(__ce_square) FILTER (WHERE __ce_target = __ce_number) AS __ce_a,
    MIN(__ce_square) FILTER (WHERE __ce_target <> __ce_number) AS __ce_b,
    clustereval._value_at_least_key(__ce_target, __ce_square, __ce_target <> __ce_number)
      AS __ce_neighbor
  FROM __ce_squares
  GROUP BY __ce_row, __ce_number, __ce_is_zero;

-- The rows of _grouped_squares. With one partition of few clusters each point holds all means in a
-- list, and the points stream.
CREATE OR REPLACE MACRO clustereval._own_and_nearest_squares(__ce_queries, __ce_clusters) AS TABLE
  WITH __ce_mean_lists AS (
    -- The root of the variance as one more coordinate, 0 in the query, makes the sum one distance.
    SELECT
      list(list_append(__ce_mean, sqrt(__ce_total_variance)) ORDER BY __ce_number ASC NULLS LAST)
        AS __ce_means
    FROM query_table(__ce_clusters)
    WHERE __ce_few_clusters
    HAVING COUNT(*) > 0
  ),
  __ce_extended_queries AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_is_zero,
      list_append(__ce_point, 0.0) AS __ce_point
    FROM query_table(__ce_queries)
    WHERE __ce_use_lists
  ),
  __ce_rooted AS NOT MATERIALIZED (
    SELECT
      query.__ce_row, query.__ce_number, query.__ce_is_zero,
      list_transform(
        means.__ce_means, lambda __ce_mean: list_distance(query.__ce_point, __ce_mean)
      ) AS __ce_roots
    FROM __ce_extended_queries AS query
    CROSS JOIN __ce_mean_lists AS means
  ),
  __ce_split_roots AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_is_zero,
      __ce_roots[__ce_number] AS __ce_own_root,
      __ce_roots[:__ce_number - 1] AS __ce_roots_before,
      __ce_roots[__ce_number + 1:] AS __ce_roots_after
    FROM __ce_rooted
  ),
  -- Materialized because _cross_with_clusters reads it twice. DuckDB would stream what is read
  -- once, here in the one thread of the row numbers.
  __ce_held_queries AS MATERIALIZED (
    SELECT * FROM query_table(__ce_queries) WHERE NOT __ce_use_lists
  )
  SELECT
    __ce_row, __ce_number, __ce_is_zero,
    __ce_own_root * __ce_own_root AS __ce_a,
    LEAST(list_min(__ce_roots_before), list_min(__ce_roots_after))
      * LEAST(list_min(__ce_roots_before), list_min(__ce_roots_after)) AS __ce_b,
    CASE
      WHEN list_min(__ce_roots_before)
        <= COALESCE(list_min(__ce_roots_after), list_min(__ce_roots_before))
      THEN list_position(__ce_roots_before, list_min(__ce_roots_before))
      ELSE __ce_number + list_position(__ce_roots_after, list_min(__ce_roots_after))
    END AS __ce_neighbor
  FROM __ce_split_roots
  UNION ALL
  SELECT * FROM clustereval._grouped_squares(__ce_held_queries, __ce_clusters);

-- The mean distance for a mean squared euclidean distance d: d for sqeuclidean; d / 2 for cosine, 0
-- if that is the rounding error of parallel vectors.
CREATE OR REPLACE MACRO clustereval._from_mean_square(d, plain_distance) AS
  CASE plain_distance WHEN 'cosine' THEN clustereval._zero_if_parallel(d / 2) ELSE d END;

-- One row per queried point, for sqeuclidean and cosine (plain_distance): its exact mean distances
-- to the other points of its own cluster (__ce_a_lower and __ce_a_upper, equal) and to the nearest
-- other cluster (__ce_b_lower and __ce_b_upper, equal), whose number is __ce_neighbor. Half the
-- squared distance of unit vectors is 1 - cos. A zero vector has the cosine distance 1 to all
-- vectors but itself, where half its squared distance is 1/2 too little. Tables: __ce_queries, the
-- queried points, whose silhouettes are computed (rows of _cluster_members); __ce_clusters, the
-- rows of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._squared_means(
  __ce_queries, __ce_clusters, plain_distance
) AS TABLE
  WITH __ce_flagged_queries AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_partition_no, __ce_use_lists, __ce_point,
      CASE
        WHEN plain_distance = 'cosine' THEN clustereval._is_zero_vector(__ce_point) ELSE FALSE
      END AS __ce_is_zero
    FROM query_table(__ce_queries)
  ),
  __ce_squared_clusters AS MATERIALIZED (
    SELECT
      __ce_number, __ce_partition_no, __ce_n_clusters, __ce_n_all_clusters, __ce_few_clusters,
      __ce_mean,
      CASE
        WHEN plain_distance = 'cosine'
        THEN __ce_total_variance + clustereval._ratio(__ce_n_zero_vectors, __ce_n)
        ELSE __ce_total_variance
      END AS __ce_total_variance
    FROM query_table(__ce_clusters)
  ),
  __ce_mean_squares AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._own_and_nearest_squares(__ce_flagged_queries, __ce_squared_clusters)
  ),
  __ce_exact_means AS NOT MATERIALIZED (
    SELECT
      query.__ce_row, query.__ce_number,
      CASE
        WHEN query.__ce_is_zero AND own.__ce_n > 1 THEN 1.0
        ELSE clustereval._exclude_self(
          clustereval._from_mean_square(query.__ce_a, plain_distance), own.__ce_n
        )
      END AS __ce_a,
      CASE
        WHEN query.__ce_is_zero AND own.__ce_n_clusters > 1 THEN 1.0
        ELSE clustereval._from_mean_square(query.__ce_b, plain_distance)
      END AS __ce_b,
      CASE
        WHEN query.__ce_is_zero AND own.__ce_n_clusters > 1
        THEN own.__ce_partition_no
          + CASE WHEN own.__ce_number = own.__ce_partition_no THEN 1 ELSE 0 END
        ELSE query.__ce_neighbor
      END AS __ce_neighbor
    FROM __ce_mean_squares AS query
    JOIN query_table(__ce_clusters) AS own ON own.__ce_number = query.__ce_number
  )
  SELECT
    __ce_row, __ce_number,
    TRUE AS __ce_exact,
    __ce_a AS __ce_a_lower,
    __ce_a AS __ce_a_upper,
    __ce_b AS __ce_b_lower,
    __ce_b AS __ce_b_upper,
    __ce_neighbor
  FROM __ce_exact_means;

-- One row per queried point, for method 'simplified': its distances to the center of its own
-- cluster (__ce_a_lower and __ce_a_upper, equal) and to the nearest other center (__ce_b_lower and
-- __ce_b_upper, equal), whose cluster is __ce_neighbor. They take the place of mean distances to
-- points. Tables: __ce_queries, the queried points, whose silhouettes are computed (rows of
-- _cluster_members); __ce_clusters, the rows of _cluster_moments. plain_distance is the distance in
-- lower case.
CREATE OR REPLACE MACRO clustereval._simplified_means(
  __ce_queries, __ce_clusters, plain_distance, p
) AS TABLE
  WITH __ce_center_distances AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_target,
      clustereval._distance(__ce_point, __ce_center, plain_distance, p) AS __ce_distance
    FROM clustereval._cross_with_clusters(__ce_queries, __ce_clusters)
  )
  SELECT * FROM clustereval._own_and_nearest_means(__ce_center_distances);

---------------------------------------------------------------------------------------------------
-- Sums of distances to all points of a target
---------------------------------------------------------------------------------------------------

-- One row: __ce_prefer_lists is TRUE if lists of the clusters' points are best joined to queried
-- points on a condition that is no equality. Such a join copies no lists but scans all of them for
-- each point, which is slow for many small clusters: then an equi-join with one row per point is
-- better. __ce_clusters is a table with one row per cluster, which has __ce_n points.
CREATE OR REPLACE MACRO clustereval._prefer_list_join(__ce_clusters) AS TABLE
  SELECT
    SUM(ceil(__ce_n / 512.0)) <= 4 * SUM(pow(__ce_n, 2)) / SUM(__ce_n) + 64 AS __ce_prefer_lists
  FROM query_table(__ce_clusters);

-- One row per queried point (__ce_row): __ce_targets, the list of the clusters (numbers) to which
-- its mean distance is needed, and __ce_number, its own cluster. The table __ce_targets has one row
-- for each such point and cluster (__ce_target).
CREATE OR REPLACE MACRO clustereval._target_lists(__ce_targets) AS TABLE
  SELECT
    __ce_row,
    any_value(__ce_number) AS __ce_number,
    list(__ce_target) AS __ce_targets
  FROM query_table(__ce_targets)
  GROUP BY __ce_row;

-- One row per queried point: __ce_row, __ce_point, __ce_number (its cluster) and __ce_targets, the
-- list of the clusters to which its mean distance is needed, from __ce_target_lists
-- (_target_lists). No rows if __ce_join_choice, the row of _prefer_list_join, prefers an equi-join.
CREATE OR REPLACE MACRO clustereval._queries_with_target_lists(
  __ce_queries, __ce_target_lists, __ce_join_choice
) AS TABLE
  SELECT
    query.__ce_row, query.__ce_point, query.__ce_number, target_list.__ce_targets
  FROM query_table(__ce_queries) AS query
  JOIN query_table(__ce_target_lists) AS target_list ON target_list.__ce_row = query.__ce_row
  JOIN query_table(__ce_join_choice) AS choice ON choice.__ce_prefer_lists;

-- One row for each queried point and each cluster to which its mean distance is needed
-- (__ce_target), unnested from __ce_target_lists (_target_lists); __ce_number is the point's own
-- cluster. No rows if __ce_join_choice, the row of _prefer_list_join, prefers lists: then
-- _queries_with_target_lists has them.
CREATE OR REPLACE MACRO clustereval._query_target_pairs(
  __ce_queries, __ce_target_lists, __ce_join_choice
) AS TABLE
  SELECT
    query.__ce_row, query.__ce_point, query.__ce_number,
    unnest(target_list.__ce_targets) AS __ce_target
  FROM query_table(__ce_queries) AS query
  JOIN query_table(__ce_target_lists) AS target_list ON target_list.__ce_row = query.__ce_row
  JOIN query_table(__ce_join_choice) AS choice ON NOT choice.__ce_prefer_lists;

-- One row for each queried point (__ce_row, of cluster __ce_number) and each cluster __ce_target
-- that __ce_target_lists (_target_lists) lists for it: the sum of its distances to the cluster's
-- points (__ce_sum), every one of which is computed. Tables: __ce_queries, the queried points,
-- whose silhouettes are computed, and __ce_members, all points (rows of _cluster_members);
-- __ce_clusters, the rows of _cluster_moments. plain_distance is the distance in lower case. The
-- cluster's points are either in lists of 512, or one row each (see _prefer_list_join).
CREATE OR REPLACE MACRO clustereval._distance_sums(
  __ce_queries, __ce_members, __ce_clusters, __ce_target_lists, plain_distance, p
) AS TABLE
  WITH __ce_join_choice AS MATERIALIZED (
    SELECT * FROM clustereval._prefer_list_join(__ce_clusters)
  ),
  __ce_list_queries AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._queries_with_target_lists(__ce_queries, __ce_target_lists, __ce_join_choice)
  ),
  __ce_pair_queries AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._query_target_pairs(__ce_queries, __ce_target_lists, __ce_join_choice)
  ),
  __ce_chunked_members AS (
    SELECT
      __ce_number, __ce_point,
      (row_number() OVER (PARTITION BY __ce_number) - 1) // 512 AS __ce_chunk
    FROM query_table(__ce_members)
  ),
  __ce_member_lists AS MATERIALIZED (
    SELECT __ce_number, list(__ce_point) AS __ce_member_points
    FROM __ce_chunked_members
    GROUP BY __ce_number, __ce_chunk
  ),
  __ce_partial_sums AS NOT MATERIALIZED (
    SELECT
      query.__ce_row, query.__ce_number, member_list.__ce_number AS __ce_target,
      list_sum(list_transform(
        member_list.__ce_member_points,
        lambda __ce_y: clustereval._unchecked_distance(
          query.__ce_point, __ce_y, plain_distance, p
        )
      )) AS __ce_sum
    FROM __ce_list_queries AS query
    JOIN __ce_member_lists AS member_list
      ON list_contains(query.__ce_targets, member_list.__ce_number)
    UNION ALL
    SELECT
      query.__ce_row, query.__ce_number, query.__ce_target,
      clustereval._unchecked_distance(query.__ce_point, member.__ce_point, plain_distance, p)
    FROM __ce_pair_queries AS query
    JOIN query_table(__ce_members) AS member ON member.__ce_number = query.__ce_target
  )
  SELECT
    __ce_row, __ce_number, __ce_target,
    SUM(__ce_sum) AS __ce_sum
  FROM __ce_partial_sums
  GROUP BY __ce_row, __ce_number, __ce_target;

-- As _distance_sums, for cityblock: one row for each queried point (__ce_row) and each cluster
-- __ce_target that __ce_target_lists lists for it, with the sum of its distances to the cluster's
-- points (__ce_sum), here from running sums of each sorted coordinate. If m of n values with sum s
-- out of a total t are at most x, their distances to x add up to m x - s, and those of the others
-- to t - s - (n - m) x. Coordinates are deviations from the cluster's mean. Tables: __ce_queries,
-- the queried points, whose silhouettes are computed, and __ce_members, all points (rows of
-- _cluster_members); __ce_clusters, the rows of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._sorted_distance_sums(
  __ce_queries, __ce_members, __ce_clusters, __ce_target_lists
) AS TABLE
  -- __ce_key identifies a coordinate of a cluster.
  WITH __ce_member_coordinates AS NOT MATERIALIZED (
    SELECT
      cluster.__ce_number,
      unnest(member.__ce_point) AS __ce_coordinate,
      unnest(cluster.__ce_mean) AS __ce_mean,
      unnest(range(0, len(cluster.__ce_mean))) * cluster.__ce_n_all_clusters
        + cluster.__ce_number AS __ce_key
    FROM query_table(__ce_members) AS member
    JOIN query_table(__ce_clusters) AS cluster ON cluster.__ce_number = member.__ce_number
  ),
  -- RANGE gives equal values the same sums, so that it does not matter which of them a query meets.
  __ce_running AS (
    SELECT
      __ce_key,
      __ce_coordinate - __ce_mean AS __ce_deviation,
      COUNT(*) OVER __ce_below AS __ce_n_below,
      SUM(__ce_coordinate - __ce_mean) OVER __ce_below AS __ce_sum_below
    FROM __ce_member_coordinates
    WINDOW __ce_below AS (
      PARTITION BY __ce_key ORDER BY __ce_coordinate - __ce_mean ASC NULLS LAST
      RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  ),
  __ce_totals AS MATERIALIZED (
    SELECT
      __ce_key,
      CAST(COUNT(*) AS DOUBLE) AS __ce_n,
      clustereval._compensated_sum(__ce_coordinate - __ce_mean) AS __ce_total_sum
    FROM __ce_member_coordinates
    GROUP BY __ce_key
  ),
  __ce_pair_queries AS NOT MATERIALIZED (
    SELECT
      query.__ce_row, query.__ce_point, target_list.__ce_number,
      unnest(target_list.__ce_targets) AS __ce_target
    FROM query_table(__ce_queries) AS query
    JOIN query_table(__ce_target_lists) AS target_list ON target_list.__ce_row = query.__ce_row
  ),
  __ce_query_coordinates AS NOT MATERIALIZED (
    SELECT
      query.__ce_row, query.__ce_number, query.__ce_target,
      unnest(query.__ce_point) AS __ce_coordinate,
      unnest(cluster.__ce_mean) AS __ce_mean,
      unnest(range(0, len(cluster.__ce_mean))) * cluster.__ce_n_all_clusters
        + cluster.__ce_number AS __ce_key
    FROM __ce_pair_queries AS query
    JOIN query_table(__ce_clusters) AS cluster ON cluster.__ce_number = query.__ce_target
  ),
  __ce_query_deviations AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_target, __ce_key,
      __ce_coordinate - __ce_mean AS __ce_deviation
    FROM __ce_query_coordinates
  ),
  __ce_below_queries AS NOT MATERIALIZED (
    SELECT
      query.__ce_row, query.__ce_number, query.__ce_target, query.__ce_key, query.__ce_deviation,
      COALESCE(running.__ce_n_below, 0) AS __ce_n_below,
      COALESCE(running.__ce_sum_below, 0.0) AS __ce_sum_below
    FROM __ce_query_deviations AS query
    ASOF LEFT JOIN __ce_running AS running
      ON running.__ce_key = query.__ce_key AND query.__ce_deviation >= running.__ce_deviation
  )
  SELECT
    query.__ce_row, query.__ce_number, query.__ce_target,
    GREATEST(
      SUM(
        (2 * query.__ce_n_below - totals.__ce_n) * query.__ce_deviation
          - 2 * query.__ce_sum_below + totals.__ce_total_sum
      ),
      0.0
    ) AS __ce_sum
  FROM __ce_below_queries AS query
  JOIN __ce_totals AS totals ON totals.__ce_key = query.__ce_key
  GROUP BY query.__ce_row, query.__ce_number, query.__ce_target;

-- One row per queried point: its exact mean distances to the other points of its own cluster
-- (__ce_a_lower and __ce_a_upper, equal) and to the nearest other cluster (__ce_b_lower and
-- __ce_b_upper, equal), whose number is __ce_neighbor. __ce_sums has the sums of distances by point
-- and cluster (_distance_sums), __ce_clusters the rows of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._means_of_sums(__ce_sums, __ce_clusters) AS TABLE
  WITH __ce_target_distances AS NOT MATERIALIZED (
    SELECT
      query.__ce_row, query.__ce_number, query.__ce_target,
      CASE
        WHEN query.__ce_target <> query.__ce_number THEN query.__ce_sum / cluster.__ce_n
        WHEN cluster.__ce_n = 1 THEN 0.0
        ELSE query.__ce_sum / (cluster.__ce_n - 1)
      END AS __ce_distance
    FROM query_table(__ce_sums) AS query
    JOIN query_table(__ce_clusters) AS cluster ON cluster.__ce_number = query.__ce_target
  )
  SELECT * FROM clustereval._own_and_nearest_means(__ce_target_distances);

-- Text of a query, SELECT * FROM a CTE of _exact_means with sums of distances: for cityblock (also
-- minkowski of order p = 1) the one that sorts coordinates, otherwise the one that computes each
-- distance. The CTE that is not named is neither bound nor run.
CREATE OR REPLACE MACRO clustereval._select_sums(distance, p) AS
  concat('SELECT * FROM ', CASE
    WHEN clustereval._plain_distance_name(distance, p) = 'cityblock' THEN '__ce_sorted_sums'
    ELSE '__ce_direct_sums'
  END);

-- One row per queried point: its exact mean distances to the other points of its own cluster
-- (__ce_a_lower and __ce_a_upper, equal) and to the nearest other cluster (__ce_b_lower and
-- __ce_b_upper, equal), whose number is __ce_neighbor. Distances are summed to all points of the
-- clusters that __ce_target_lists (_target_lists) lists for the point. Tables: __ce_queries, the
-- queried points, whose silhouettes are computed, and __ce_members, all points (rows of
-- _cluster_members); __ce_clusters, the rows of _cluster_moments. plain_distance is the distance in
-- lower case.
CREATE OR REPLACE MACRO clustereval._exact_means(
  __ce_queries, __ce_members, __ce_clusters, __ce_target_lists, plain_distance, p
) AS TABLE
  WITH __ce_direct_sums AS NOT MATERIALIZED (
    SELECT * FROM clustereval._distance_sums(
      __ce_queries, __ce_members, __ce_clusters, __ce_target_lists, plain_distance, p
    )
  ),
  __ce_sorted_sums AS NOT MATERIALIZED (
    SELECT * FROM clustereval._sorted_distance_sums(
      __ce_queries, __ce_members, __ce_clusters, __ce_target_lists
    )
  ),
  __ce_sums AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_sums(plain_distance, p))
  )
  SELECT * FROM clustereval._means_of_sums(__ce_sums, __ce_clusters);
