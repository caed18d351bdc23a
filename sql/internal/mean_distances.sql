-- mean_distances: mean distances of points to clusters.

---------------------------------------------------------------------------------------------------
-- Mean distances that follow from sums over clusters
---------------------------------------------------------------------------------------------------

-- The first coordinate settles it for nearly every vector.
CREATE OR REPLACE MACRO clustereval._is_zero(x) AS
  CASE WHEN x[1] <> 0 THEN FALSE ELSE list_inner_product(x, x) = 0 END;

-- Mean over the other points of the own cluster from that over all: the point itself adds nothing.
CREATE OR REPLACE MACRO clustereval._others_factor(n) AS CASE WHEN n = 1 THEN 0.0 ELSE n / (n - 1) END;
CREATE OR REPLACE MACRO clustereval._exclude_self(mean_distance, n) AS
  mean_distance * clustereval._others_factor(n);

-- One row for each query and each cluster of its partition. Where there is only one partition, that is
-- a plain product: a join would copy the lists of a cluster for every row.
CREATE OR REPLACE MACRO clustereval._cross_with_clusters(__ce_queries, __ce_clusters) AS TABLE
  SELECT
    __ce_q.*, __ce_c.__ce_number AS __ce_target, __ce_c.* EXCLUDE (__ce_number, __ce_partition_no)
  FROM query_table(__ce_queries) AS __ce_q
  CROSS JOIN (SELECT * FROM query_table(__ce_clusters) WHERE __ce_k = __ce_most - 1) AS __ce_c
  UNION ALL
  SELECT
    __ce_q.*, __ce_c.__ce_number, __ce_c.* EXCLUDE (__ce_number, __ce_partition_no)
  FROM query_table(__ce_queries) AS __ce_q
  JOIN (SELECT * FROM query_table(__ce_clusters) WHERE __ce_k < __ce_most - 1) AS __ce_c
    ON __ce_c.__ce_partition_no = __ce_q.__ce_partition_no;

-- One row a query, from (row, number, target, mean distance), the own cluster and others.
CREATE OR REPLACE MACRO clustereval._nearest(__ce_means) AS TABLE
  WITH __ce_found AS (
    SELECT
      __ce_row,
      any_value(__ce_number) AS __ce_number,
      -- filters, not CASE, in which the distance would be worked out again
      MAX(__ce_distance) FILTER (WHERE __ce_target = __ce_number) AS __ce_a,
      MIN(__ce_distance) FILTER (WHERE __ce_target <> __ce_number) AS __ce_b,
      -- of equals the lowest; much slower than the least distance alone, which is all a score needs
      MIN({'distance': __ce_distance, 'number': __ce_target})
        FILTER (WHERE __ce_target <> __ce_number) AS __ce_neighbor
    FROM query_table(__ce_means)
    GROUP BY __ce_row
  )
  SELECT
    __ce_row, __ce_number,
    TRUE AS __ce_exact,
    __ce_a AS __ce_a_lower,
    __ce_a AS __ce_a_upper,
    __ce_b AS __ce_b_lower,
    __ce_b AS __ce_b_upper,
    __ce_neighbor['number'] AS __ce_neighbor
  FROM __ce_found;

-- Mean squared distances of each query: to its own cluster (a) and to the nearest other (b), each the
-- square to the mean of the cluster and the spread around it. One partition of few clusters has them in
-- a list a query, and streams; others have a row for each query and cluster, to be grouped.
CREATE OR REPLACE MACRO clustereval._nearest_squares(__ce_queries, __ce_clusters) AS TABLE
  WITH __ce_lists AS (
    -- With the root of the spread as one coordinate more, and 0 for the query, it is one distance.
    SELECT list(list_append(__ce_mean, sqrt(__ce_spread)) ORDER BY __ce_number) AS __ce_means
    FROM query_table(__ce_clusters)
    WHERE __ce_listed
    HAVING COUNT(*) > 0
  ),
  __ce_long_queries AS NOT MATERIALIZED (
    SELECT __ce_row, __ce_number, __ce_zero, list_append(__ce_point, 0.0) AS __ce_point
    FROM query_table(__ce_queries)
    WHERE __ce_by_list
  ),
  __ce_rooted AS NOT MATERIALIZED (
    SELECT
      __ce_q.__ce_row, __ce_q.__ce_number, __ce_q.__ce_zero,
      list_transform(
        __ce_l.__ce_means, lambda __ce_mean: list_distance(__ce_q.__ce_point, __ce_mean)
      ) AS __ce_roots
    FROM __ce_long_queries AS __ce_q
    CROSS JOIN __ce_lists AS __ce_l
  ),
  __ce_parted AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_zero,
      __ce_roots[__ce_number] AS __ce_a,
      __ce_roots[:__ce_number - 1] AS __ce_before,
      __ce_roots[__ce_number + 1:] AS __ce_after
    FROM __ce_rooted
  ),
  -- _with_clusters reads it twice, so that it is held: what is read once DuckDB streams on, here in the
  -- one thread of the row numbers.
  __ce_held AS MATERIALIZED (SELECT * FROM query_table(__ce_queries) WHERE NOT __ce_by_list),
  __ce_paired AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_zero, __ce_target,
      -- worked out once; pow takes longer than the distance
      list_distance(__ce_point, __ce_mean) * list_distance(__ce_point, __ce_mean) + __ce_spread
        AS __ce_square
    FROM clustereval._cross_with_clusters(__ce_held, __ce_clusters)
  ),
  __ce_grouped AS (
    SELECT
      __ce_row,
      any_value(__ce_number) AS __ce_number,
      any_value(__ce_zero) AS __ce_zero,
      -- filters, not CASE, in which the distance would be worked out again
      MAX(__ce_square) FILTER (WHERE __ce_target = __ce_number) AS __ce_a,
      MIN(__ce_square) FILTER (WHERE __ce_target <> __ce_number) AS __ce_b,
      -- of equals the lowest; much slower than the least distance alone, which is all a score needs
      MIN({'square': __ce_square, 'number': __ce_target})
        FILTER (WHERE __ce_target <> __ce_number) AS __ce_nearest
    FROM __ce_paired
    GROUP BY __ce_row
  )
  SELECT
    __ce_row, __ce_number, __ce_zero,
    __ce_a * __ce_a AS __ce_a,
    LEAST(list_min(__ce_before), list_min(__ce_after))
      * LEAST(list_min(__ce_before), list_min(__ce_after)) AS __ce_b,
    CASE
      WHEN list_min(__ce_before) <= COALESCE(list_min(__ce_after), list_min(__ce_before))
      THEN list_position(__ce_before, list_min(__ce_before))
      ELSE __ce_number + list_position(__ce_after, list_min(__ce_after))
    END AS __ce_neighbor
  FROM __ce_parted
  UNION ALL
  SELECT __ce_row, __ce_number, __ce_zero, __ce_a, __ce_b, __ce_nearest['number']
  FROM __ce_grouped;

-- Half the squared distance of unit vectors is 1 - cos. Zero vectors have the distance 1 to all but
-- themselves: half the square is half too little.
CREATE OR REPLACE MACRO clustereval._moment_silhouettes(
  __ce_queries, __ce_clusters, plain_distance
) AS TABLE
  WITH __ce_known AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_partition_no, __ce_by_list, __ce_point,
      CASE
        WHEN plain_distance = 'cosine' THEN clustereval._is_zero(__ce_point) ELSE FALSE
      END AS __ce_zero
    FROM query_table(__ce_queries)
  ),
  __ce_spread_clusters AS MATERIALIZED (
    SELECT
      __ce_number, __ce_partition_no, __ce_k, __ce_most, __ce_listed, __ce_mean,
      CASE
        WHEN plain_distance = 'cosine' THEN __ce_spread + __ce_zeros / __ce_n ELSE __ce_spread
      END AS __ce_spread
    FROM query_table(__ce_clusters)
  ),
  __ce_squares AS NOT MATERIALIZED (
    SELECT * FROM clustereval._nearest_squares(__ce_known, __ce_spread_clusters)
  ),
  __ce_means AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_row, __ce_x.__ce_number,
      CASE
        WHEN __ce_x.__ce_zero AND __ce_c.__ce_n > 1 THEN 1.0
        ELSE clustereval._exclude_self(
          __ce_x.__ce_a * CASE WHEN plain_distance = 'cosine' THEN 0.5 ELSE 1.0 END, __ce_c.__ce_n
        )
      END AS __ce_a,
      CASE
        WHEN __ce_x.__ce_zero AND __ce_c.__ce_k > 1 THEN 1.0
        ELSE __ce_x.__ce_b * CASE WHEN plain_distance = 'cosine' THEN 0.5 ELSE 1.0 END
      END AS __ce_b,
      CASE
        WHEN __ce_x.__ce_zero AND __ce_c.__ce_k > 1
        THEN __ce_c.__ce_partition_no + CASE WHEN __ce_c.__ce_number = __ce_c.__ce_partition_no THEN 1 ELSE 0 END
        ELSE __ce_x.__ce_neighbor
      END AS __ce_neighbor
    FROM __ce_squares AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number
  )
  SELECT
    __ce_row, __ce_number,
    TRUE AS __ce_exact,
    __ce_a AS __ce_a_lower,
    __ce_a AS __ce_a_upper,
    __ce_b AS __ce_b_lower,
    __ce_b AS __ce_b_upper,
    __ce_neighbor
  FROM __ce_means;

CREATE OR REPLACE MACRO clustereval._center_silhouettes(
  __ce_queries, __ce_clusters, plain_distance, p
) AS TABLE
  WITH __ce_means AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_target,
      clustereval._distance(__ce_point, __ce_center, plain_distance, p) AS __ce_distance
    FROM clustereval._cross_with_clusters(__ce_queries, __ce_clusters)
  )
  SELECT * FROM clustereval._nearest(__ce_means);

---------------------------------------------------------------------------------------------------
-- Sums of distances to all points of a target
---------------------------------------------------------------------------------------------------

-- TRUE where queries and lists had better be joined on a condition that is no equality, which hands the
-- lists on without a copy, but looks at every list for each query: not where clusters are small and many.
CREATE OR REPLACE MACRO clustereval._prefer_list_join(__ce_clusters) AS TABLE
  SELECT SUM(ceil(__ce_n / 512.0)) <= 4 * SUM(pow(__ce_n, 2)) / SUM(__ce_n) + 64 AS __ce_few
  FROM query_table(__ce_clusters);

-- One row a query: the numbers of its targets.
CREATE OR REPLACE MACRO clustereval._target_lists(__ce_bounds) AS TABLE
  SELECT
    __ce_row,
    any_value(__ce_number) AS __ce_number,
    list(__ce_target) AS __ce_targets
  FROM query_table(__ce_bounds)
  GROUP BY __ce_row;

-- Queries with the numbers of their targets, as lists where clusters are few and as rows where not.
CREATE OR REPLACE MACRO clustereval._listed_queries(
  __ce_queries, __ce_targets, __ce_way
) AS TABLE
  SELECT
    __ce_q.__ce_row, __ce_q.__ce_point, __ce_q.__ce_number, __ce_t.__ce_targets
  FROM query_table(__ce_queries) AS __ce_q
  JOIN query_table(__ce_targets) AS __ce_t ON __ce_t.__ce_row = __ce_q.__ce_row
  JOIN query_table(__ce_way) AS __ce_w ON __ce_w.__ce_few;
CREATE OR REPLACE MACRO clustereval._single_queries(
  __ce_queries, __ce_targets, __ce_way
) AS TABLE
  SELECT
    __ce_q.__ce_row, __ce_q.__ce_point, __ce_q.__ce_number,
    unnest(__ce_t.__ce_targets) AS __ce_target
  FROM query_table(__ce_queries) AS __ce_q
  JOIN query_table(__ce_targets) AS __ce_t ON __ce_t.__ce_row = __ce_q.__ce_row
  JOIN query_table(__ce_way) AS __ce_w ON NOT __ce_w.__ce_few;

-- By measuring every distance, with the members of a cluster in a few long lists (see _prefer_list_join).
CREATE OR REPLACE MACRO clustereval._measured_sums(
  __ce_queries, __ce_rows, __ce_clusters, __ce_targets, plain_distance, p
) AS TABLE
  WITH __ce_way AS MATERIALIZED (SELECT * FROM clustereval._prefer_list_join(__ce_clusters)),
  __ce_listed AS NOT MATERIALIZED (
    SELECT * FROM clustereval._listed_queries(__ce_queries, __ce_targets, __ce_way)
  ),
  __ce_single_ones AS NOT MATERIALIZED (
    SELECT * FROM clustereval._single_queries(__ce_queries, __ce_targets, __ce_way)
  ),
  __ce_numbered AS (
    SELECT
      __ce_number, __ce_point,
      (row_number() OVER (PARTITION BY __ce_number) - 1) // 512 AS __ce_chunk
    FROM query_table(__ce_rows)
  ),
  __ce_members AS MATERIALIZED (
    SELECT __ce_number, list(__ce_point) AS __ce_list
    FROM __ce_numbered
    GROUP BY __ce_number, __ce_chunk
  ),
  __ce_sums AS NOT MATERIALIZED (
    SELECT
      __ce_q.__ce_row, __ce_q.__ce_number, __ce_m.__ce_number AS __ce_target,
      list_sum(list_transform(
        __ce_m.__ce_list,
        lambda __ce_y: clustereval._unchecked_distance(__ce_q.__ce_point, __ce_y, plain_distance, p)
      )) AS __ce_sum
    FROM __ce_listed AS __ce_q
    JOIN __ce_members AS __ce_m ON list_contains(__ce_q.__ce_targets, __ce_m.__ce_number)
    UNION ALL
    SELECT
      __ce_q.__ce_row, __ce_q.__ce_number, __ce_q.__ce_target,
      clustereval._unchecked_distance(__ce_q.__ce_point, __ce_x.__ce_point, plain_distance, p)
    FROM __ce_single_ones AS __ce_q
    JOIN query_table(__ce_rows) AS __ce_x ON __ce_x.__ce_number = __ce_q.__ce_target
  )
  SELECT
    __ce_row, __ce_number, __ce_target,
    SUM(__ce_sum) AS __ce_sum
  FROM __ce_sums
  GROUP BY __ce_row, __ce_number, __ce_target;

-- Cityblock, coordinate by coordinate: what lies below x, m of n values with sum s in a total t, adds up
-- to m x - s, and what lies above to t - s - (n - m) x. The running sums of each target are looked up at
-- the last value that is not above x. Coordinates are taken from the target's mean.
CREATE OR REPLACE MACRO clustereval._sorted_sums(
  __ce_queries, __ce_rows, __ce_clusters, __ce_targets
) AS TABLE
  WITH __ce_members AS NOT MATERIALIZED (
    SELECT
      __ce_c.__ce_number,
      unnest(__ce_x.__ce_point) AS __ce_v,
      unnest(__ce_c.__ce_mean) AS __ce_mean,
      unnest(range(0, len(__ce_c.__ce_mean))) * __ce_c.__ce_most + __ce_c.__ce_number AS __ce_key
    FROM query_table(__ce_rows) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number
  ),
  -- equal values see each other (RANGE), so that it is no matter which of them is found
  __ce_running AS (
    SELECT
      __ce_key,
      __ce_v - __ce_mean AS __ce_z,
      COUNT(*) OVER __ce_below AS __ce_m,
      SUM(__ce_v - __ce_mean) OVER __ce_below AS __ce_s
    FROM __ce_members
    WINDOW __ce_below AS (
      PARTITION BY __ce_key ORDER BY __ce_v - __ce_mean
      RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  ),
  __ce_wholes AS MATERIALIZED (
    SELECT
      __ce_key,
      CAST(COUNT(*) AS DOUBLE) AS __ce_n,
      clustereval._compensated_sum(__ce_v - __ce_mean) AS __ce_t
    FROM __ce_members
    GROUP BY __ce_key
  ),
  __ce_asked AS NOT MATERIALIZED (
    SELECT
      __ce_q.__ce_row, __ce_q.__ce_point, __ce_t.__ce_number,
      unnest(__ce_t.__ce_targets) AS __ce_target
    FROM query_table(__ce_queries) AS __ce_q
    JOIN query_table(__ce_targets) AS __ce_t ON __ce_t.__ce_row = __ce_q.__ce_row
  ),
  __ce_entries AS NOT MATERIALIZED (
    SELECT
      __ce_a.__ce_row, __ce_a.__ce_number, __ce_a.__ce_target,
      unnest(__ce_a.__ce_point) AS __ce_v,
      unnest(__ce_c.__ce_mean) AS __ce_mean,
      unnest(range(0, len(__ce_c.__ce_mean))) * __ce_c.__ce_most + __ce_c.__ce_number AS __ce_key
    FROM __ce_asked AS __ce_a
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_a.__ce_target
  ),
  __ce_centerd AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_target, __ce_key, __ce_v - __ce_mean AS __ce_z
    FROM __ce_entries
  ),
  __ce_found AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_row, __ce_x.__ce_number, __ce_x.__ce_target, __ce_x.__ce_key, __ce_x.__ce_z,
      COALESCE(__ce_r.__ce_m, 0) AS __ce_m,
      COALESCE(__ce_r.__ce_s, 0.0) AS __ce_s
    FROM __ce_centerd AS __ce_x
    ASOF LEFT JOIN __ce_running AS __ce_r
      ON __ce_r.__ce_key = __ce_x.__ce_key AND __ce_x.__ce_z >= __ce_r.__ce_z
  )
  SELECT
    __ce_x.__ce_row, __ce_x.__ce_number, __ce_x.__ce_target,
    GREATEST(
      SUM((2 * __ce_x.__ce_m - __ce_w.__ce_n) * __ce_x.__ce_z - 2 * __ce_x.__ce_s + __ce_w.__ce_t), 0.0
    ) AS __ce_sum
  FROM __ce_found AS __ce_x
  JOIN __ce_wholes AS __ce_w ON __ce_w.__ce_key = __ce_x.__ce_key
  GROUP BY __ce_x.__ce_row, __ce_x.__ce_number, __ce_x.__ce_target;

CREATE OR REPLACE MACRO clustereval._pair_silhouettes(__ce_sums, __ce_clusters) AS TABLE
  WITH __ce_means AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_row, __ce_x.__ce_number, __ce_x.__ce_target,
      CASE
        WHEN __ce_x.__ce_target <> __ce_x.__ce_number THEN __ce_x.__ce_sum / __ce_c.__ce_n
        WHEN __ce_c.__ce_n = 1 THEN 0.0
        ELSE __ce_x.__ce_sum / (__ce_c.__ce_n - 1)
      END AS __ce_distance
    FROM query_table(__ce_sums) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_target
  )
  SELECT * FROM clustereval._nearest(__ce_means);

CREATE OR REPLACE MACRO clustereval._sums_path(distance, p) AS
  concat('SELECT * FROM ', CASE
    WHEN clustereval._plain_distance_name(distance, p) = 'cityblock' THEN '__ce_by_sorting'
    ELSE '__ce_by_all'
  END);

-- Exact a and b of each query, given its targets.
CREATE OR REPLACE MACRO clustereval._exact_silhouettes(
  __ce_queries, __ce_rows, __ce_clusters, __ce_targets, plain_distance, p
) AS TABLE
  WITH __ce_by_all AS NOT MATERIALIZED (
    SELECT * FROM clustereval._measured_sums(
      __ce_queries, __ce_rows, __ce_clusters, __ce_targets, plain_distance, p
    )
  ),
  __ce_by_sorting AS NOT MATERIALIZED (
    SELECT * FROM clustereval._sorted_sums(__ce_queries, __ce_rows, __ce_clusters, __ce_targets)
  ),
  __ce_sums AS NOT MATERIALIZED (SELECT * FROM query(clustereval._sums_path(plain_distance, p)))
  SELECT * FROM clustereval._pair_silhouettes(__ce_sums, __ce_clusters);
