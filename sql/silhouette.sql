-- silhouette: how much nearer each point is to its own cluster than to the next one.
--
-- Reading rules, besides those of points.sql:
--   * A cluster goes by its number. Numbers follow the order of partitions and clusters, so that the
--     least number is the lowest key, and the clusters of a partition share their __ce_lead.
--   * A query is a point whose silhouette is asked for; a target is a cluster that it is held against:
--     its own, or one that may be its neighbour. Distances are measured to every point of a target.
--   * Mean distances are known within bounds before any distance of two points is measured, and only
--     the clusters that the bounds leave are targets.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- The same distances under one name.
CREATE OR REPLACE MACRO clustereval._plain_distance(distance, p) AS
  CASE
    WHEN lower(distance) = 'minkowski' AND p = 1 THEN 'cityblock'
    WHEN lower(distance) = 'minkowski' AND p = 2 THEN 'euclidean'
    ELSE lower(distance)
  END;

CREATE OR REPLACE MACRO clustereval._shown(x) AS coalesce(CAST(x AS VARCHAR), 'NULL');

-- TRUE query, or the error, for the options of silhouette_score (see _valid_points).
CREATE OR REPLACE MACRO clustereval._valid_silhouette(
  method, tolerance, sample_size, confidence, random_state, query_text
) AS
  CASE
    WHEN coalesce(method, '') NOT IN ('exact', 'simplified', 'bounds', 'sample')
    THEN error(concat(
      'method: expected one of ''exact'', ''simplified'', ''bounds'', ''sample'', got ',
      coalesce('''' || method || '''', 'NULL')
    ))
    WHEN tolerance IS NOT NULL AND NOT (tolerance > 0 AND tolerance < 1e150)
    THEN error(concat('tolerance: expected a number > 0, got ', clustereval._shown(tolerance)))
    WHEN tolerance IS NOT NULL AND method <> 'exact'
    THEN error(concat('tolerance: goes with method ''exact'', got method ''', method, ''''))
    WHEN (sample_size IS NOT NULL OR method = 'sample')
      AND NOT coalesce(
        sample_size >= 1 AND sample_size < 9e18 AND sample_size = floor(sample_size), FALSE
      )
    THEN error(concat(
      'sample_size: expected a whole number >= 1, got ', clustereval._shown(sample_size)
    ))
    WHEN sample_size IS NOT NULL AND method <> 'sample'
    THEN error(concat('sample_size: goes with method ''sample'', got method ''', method, ''''))
    WHEN NOT coalesce(confidence > 0 AND confidence < 1, FALSE)
    THEN error(concat(
      'confidence: expected a number between 0 and 1, got ', clustereval._shown(confidence)
    ))
    WHEN NOT coalesce(
      random_state >= 0 AND random_state < 2147483648 AND random_state = floor(random_state), FALSE
    )
    THEN error(concat(
      'random_state: expected a whole number >= 0 and < 2147483648, got ',
      clustereval._shown(random_state)
    ))
    ELSE query_text
  END;

-- The way to the distances, as a query: what it does not name is neither bound nor run.
CREATE OR REPLACE MACRO clustereval._silhouette_path(distance, p, method, tolerance) AS
  concat('SELECT * FROM ', CASE
    WHEN method = 'simplified' THEN '__ce_by_centres'
    WHEN clustereval._plain_distance(distance, p) IN ('sqeuclidean', 'cosine') THEN '__ce_by_moments'
    WHEN method = 'bounds' THEN '__ce_by_bounds'
    WHEN tolerance IS NOT NULL AND clustereval._plain_distance(distance, p) = 'euclidean'
    THEN '__ce_by_tolerance'
    ELSE '__ce_by_pairs'
  END);

-- What needs each point but once takes it as it streams by.
CREATE OR REPLACE MACRO clustereval._queries_path(distance, p, method) AS
  concat('SELECT * FROM ', CASE
    WHEN method = 'sample' THEN '__ce_drawn'
    WHEN method = 'simplified' THEN '__ce_streamed'
    WHEN clustereval._plain_distance(distance, p) IN ('sqeuclidean', 'cosine') THEN '__ce_streamed'
    ELSE '__ce_rows'
  END);

CREATE OR REPLACE MACRO clustereval._bounds_path(distance, p) AS
  concat('SELECT * FROM ', CASE
    WHEN clustereval._plain_distance(distance, p) = 'euclidean' THEN '__ce_narrowed'
    ELSE '__ce_limited'
  END);

CREATE OR REPLACE MACRO clustereval._targets_path(distance, p) AS
  concat('SELECT * FROM ', CASE
    WHEN clustereval._plain_distance(distance, p) = 'cityblock' THEN '__ce_sorting'
    ELSE '__ce_bounds'
  END);

CREATE OR REPLACE MACRO clustereval._sums_path(distance, p) AS
  concat('SELECT * FROM ', CASE
    WHEN clustereval._plain_distance(distance, p) = 'cityblock' THEN '__ce_by_sorting'
    ELSE '__ce_by_all'
  END);

---------------------------------------------------------------------------------------------------
-- Clusters and points
---------------------------------------------------------------------------------------------------

-- One row a cluster that has points: its number, its size, its mean, and how far its points lie from
-- it. A coordinate that does not vary has its very value as mean, or rounding would part equal points.
-- __ce_spread is the mean squared distance to the mean, __ce_slip what rounding may have moved that by,
-- __ce_origin a point of the partition from which its coordinates are small. __ce_listed where there is
-- one partition, of few clusters: lists of their distances to 2,048 points, which DuckDB takes at a time,
-- have 16 MB.
CREATE OR REPLACE MACRO clustereval._silhouette_clusters(
  __ce_points, __ce_coordinates, __ce_spreads, distance
) AS TABLE
  WITH __ce_seen AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_single,
      any_value(__ce_point) AS __ce_some,
      COUNT(
        CASE WHEN lower(distance) = 'cosine' AND clustereval._norm(__ce_point) = 0 THEN 1 END
      ) AS __ce_zeros
    FROM query_table(__ce_points)
    WHERE __ce_kept
    GROUP BY __ce_partition, __ce_cluster, __ce_single
  ),
  __ce_means AS (
    SELECT
      __ce_c.__ce_partition, __ce_c.__ce_cluster, __ce_c.__ce_single,
      MAX(__ce_s.__ce_zeros) AS __ce_zeros,
      clustereval._sum(__ce_c.__ce_variance) AS __ce_spread,
      list(__ce_c.__ce_variance ORDER BY __ce_c.__ce_i) AS __ce_variances,
      list(
        CASE
          WHEN __ce_c.__ce_variance = 0 THEN __ce_s.__ce_some[__ce_c.__ce_i] ELSE __ce_c.__ce_centre
        END
        ORDER BY __ce_c.__ce_i
      ) AS __ce_mean
    FROM query_table(__ce_coordinates) AS __ce_c
    JOIN __ce_seen AS __ce_s
      ON __ce_s.__ce_partition IS NOT DISTINCT FROM __ce_c.__ce_partition
      AND __ce_s.__ce_cluster IS NOT DISTINCT FROM __ce_c.__ce_cluster
      AND __ce_s.__ce_single = __ce_c.__ce_single
    GROUP BY __ce_c.__ce_partition, __ce_c.__ce_cluster, __ce_c.__ce_single
  ),
  __ce_numbered AS (
    SELECT
      __ce_c.*,
      __ce_s.__ce_n,
      CASE
        WHEN __ce_c.__ce_spread = 0 THEN 0.0 ELSE __ce_s.__ce_distances / __ce_s.__ce_n
      END AS __ce_mean_distance,
      row_number() OVER (
        ORDER BY __ce_c.__ce_partition, __ce_c.__ce_cluster, __ce_c.__ce_single
      ) AS __ce_number
    FROM __ce_means AS __ce_c
    JOIN query_table(__ce_spreads) AS __ce_s
      ON __ce_s.__ce_partition IS NOT DISTINCT FROM __ce_c.__ce_partition
      AND __ce_s.__ce_cluster IS NOT DISTINCT FROM __ce_c.__ce_cluster
      AND __ce_s.__ce_single = __ce_c.__ce_single
  )
  SELECT
    *,
    clustereval._directed(__ce_mean, distance) AS __ce_centre,
    CASE WHEN __ce_spread = 0 THEN 0.0 ELSE 4e-15 * clustereval._norm(__ce_mean) END AS __ce_slip,
    MIN(__ce_number) OVER (PARTITION BY __ce_partition) AS __ce_lead,
    first_value(__ce_mean) OVER (PARTITION BY __ce_partition ORDER BY __ce_number) AS __ce_origin,
    COUNT(*) OVER () + 1 AS __ce_most,
    COUNT(*) OVER (PARTITION BY __ce_partition) AS __ce_k,
    COUNT(*) OVER (PARTITION BY __ce_partition) = COUNT(*) OVER () AND COUNT(*) OVER () <= 1024
      AS __ce_listed,
    CAST(SUM(__ce_n) OVER (PARTITION BY __ce_partition) AS BIGINT) AS __ce_total
  FROM __ce_numbered;

-- One row for each point that is kept, once the points are known to be sound.
CREATE OR REPLACE MACRO clustereval._silhouette_rows(__ce_points, __ce_clusters, __ce_checked) AS TABLE
  SELECT
    __ce_c.__ce_number, __ce_c.__ce_lead,
    __ce_c.__ce_listed AS __ce_by_list,
    __ce_x.__ce_row, __ce_x.__ce_point, __ce_x.__ce_id, __ce_x.__ce_unnamed
  FROM query_table(__ce_points) AS __ce_x
  JOIN query_table(__ce_clusters) AS __ce_c
    ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
    AND __ce_c.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
    AND __ce_c.__ce_single = __ce_x.__ce_single
  WHERE __ce_x.__ce_kept
    AND COALESCE((SELECT MIN(__ce_valid) FROM query_table(__ce_checked)), TRUE);

-- The place of each point among those of its partition, by id, from 0.
CREATE OR REPLACE MACRO clustereval._places(__ce_rows) AS TABLE
  SELECT
    __ce_row, __ce_number, __ce_lead,
    CAST(row_number() OVER (
      PARTITION BY __ce_lead
      ORDER BY CASE WHEN NOT __ce_unnamed THEN __ce_id END NULLS LAST, __ce_row
    ) - 1 AS BIGINT) AS __ce_place
  FROM query_table(__ce_rows);

-- TRUE, or the error for an id that is there twice in a partition.
CREATE OR REPLACE MACRO clustereval._checked_ids(__ce_rows) AS TABLE
  WITH __ce_twice AS (
    SELECT __ce_lead, __ce_id, COUNT(*) AS __ce_n
    FROM query_table(__ce_rows)
    WHERE NOT __ce_unnamed
    GROUP BY __ce_lead, __ce_id
    HAVING COUNT(*) > 1
  ),
  __ce_first AS (
    SELECT * FROM __ce_twice ORDER BY __ce_id NULLS LAST, __ce_lead LIMIT 1
  )
  SELECT CAST(error(concat(
    'id: expected one row for each id of a partition, got ', __ce_n, ' rows with ',
    clustereval._shown(__ce_id)
  )) AS BOOLEAN) AS __ce_valid
  FROM __ce_first;

---------------------------------------------------------------------------------------------------
-- The sample
---------------------------------------------------------------------------------------------------

-- A number that looks random, from a place and a seed: the same in every engine, since no step leaves
-- the whole numbers below 2^63.
CREATE OR REPLACE MACRO clustereval._mixed_square(x, seed) AS (x * x + seed) % 2147483647;
CREATE OR REPLACE MACRO clustereval._mixed_last(first, second, added) AS
  clustereval._mixed_square((second * 39373 + first) % 2147483647, added);
CREATE OR REPLACE MACRO clustereval._mixed_step(place, first, seed) AS
  clustereval._mixed_last(place, clustereval._mixed_square(first, seed), first);
CREATE OR REPLACE MACRO clustereval._mixed_place(place, seed) AS
  clustereval._mixed_step(place, (place * 48271 + seed * 69621 + 1) % 2147483647, seed);

-- The queries of a sample: of each partition the points with the least numbers.
CREATE OR REPLACE MACRO clustereval._drawn(
  __ce_rows, __ce_checked_ids, sample_size, random_state
) AS TABLE
  WITH __ce_mixed AS (
    SELECT
      __ce_row, __ce_lead, __ce_place,
      clustereval._mixed_place(
        __ce_place % 2147483647, CAST(random_state AS BIGINT) % 2147483647
      ) AS __ce_mixed_place
    FROM clustereval._places(__ce_rows)
  ),
  __ce_ranked AS (
    SELECT
      __ce_row,
      row_number() OVER (
        PARTITION BY __ce_lead ORDER BY __ce_mixed_place, __ce_place
      ) AS __ce_rank
    FROM __ce_mixed
  )
  SELECT __ce_x.*
  FROM query_table(__ce_rows) AS __ce_x
  JOIN __ce_ranked AS __ce_r ON __ce_r.__ce_row = __ce_x.__ce_row
  WHERE __ce_r.__ce_rank <= sample_size
    AND COALESCE((SELECT MIN(__ce_valid) FROM query_table(__ce_checked_ids)), TRUE);

---------------------------------------------------------------------------------------------------
-- Mean distances that follow from sums over clusters
---------------------------------------------------------------------------------------------------

-- The first coordinate settles it for nearly every vector.
CREATE OR REPLACE MACRO clustereval._is_zero(x) AS
  CASE WHEN x[1] <> 0 THEN FALSE ELSE list_inner_product(x, x) = 0 END;

-- Mean over the other points of the own cluster from that over all: the point itself adds nothing.
CREATE OR REPLACE MACRO clustereval._others_factor(n) AS CASE WHEN n = 1 THEN 0.0 ELSE n / (n - 1) END;
CREATE OR REPLACE MACRO clustereval._without_itself(mean_distance, n) AS
  mean_distance * clustereval._others_factor(n);

-- One row for each query and each cluster of its partition. Where there is only one partition, that is
-- a plain product: a join would copy the lists of a cluster for every row.
CREATE OR REPLACE MACRO clustereval._with_clusters(__ce_queries, __ce_clusters) AS TABLE
  SELECT
    __ce_q.*, __ce_c.__ce_number AS __ce_target, __ce_c.* EXCLUDE (__ce_number, __ce_lead)
  FROM query_table(__ce_queries) AS __ce_q
  CROSS JOIN (SELECT * FROM query_table(__ce_clusters) WHERE __ce_k = __ce_most - 1) AS __ce_c
  UNION ALL
  SELECT
    __ce_q.*, __ce_c.__ce_number, __ce_c.* EXCLUDE (__ce_number, __ce_lead)
  FROM query_table(__ce_queries) AS __ce_q
  JOIN (SELECT * FROM query_table(__ce_clusters) WHERE __ce_k < __ce_most - 1) AS __ce_c
    ON __ce_c.__ce_lead = __ce_q.__ce_lead;

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
    FROM clustereval._with_clusters(__ce_held, __ce_clusters)
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
      __ce_row, __ce_number, __ce_lead, __ce_by_list, __ce_point,
      CASE
        WHEN plain_distance = 'cosine' THEN clustereval._is_zero(__ce_point) ELSE FALSE
      END AS __ce_zero
    FROM query_table(__ce_queries)
  ),
  __ce_spread_clusters AS MATERIALIZED (
    SELECT
      __ce_number, __ce_lead, __ce_k, __ce_most, __ce_listed, __ce_mean,
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
        ELSE clustereval._without_itself(
          __ce_x.__ce_a * CASE WHEN plain_distance = 'cosine' THEN 0.5 ELSE 1.0 END, __ce_c.__ce_n
        )
      END AS __ce_a,
      CASE
        WHEN __ce_x.__ce_zero AND __ce_c.__ce_k > 1 THEN 1.0
        ELSE __ce_x.__ce_b * CASE WHEN plain_distance = 'cosine' THEN 0.5 ELSE 1.0 END
      END AS __ce_b,
      CASE
        WHEN __ce_x.__ce_zero AND __ce_c.__ce_k > 1
        THEN __ce_c.__ce_lead + CASE WHEN __ce_c.__ce_number = __ce_c.__ce_lead THEN 1 ELSE 0 END
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
      clustereval._distance(__ce_point, __ce_centre, plain_distance, p) AS __ce_distance
    FROM clustereval._with_clusters(__ce_queries, __ce_clusters)
  )
  SELECT * FROM clustereval._nearest(__ce_means);

---------------------------------------------------------------------------------------------------
-- Bounds of mean distances. u = x - c, where c is the mean of the cluster.
-- Each is moved by what rounding may have changed: 1e-12 of itself, and what the mean may have slipped.
---------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO clustereval._lowered(x, slip) AS GREATEST(x * (1 - 1e-12) - slip, 0.0);
CREATE OR REPLACE MACRO clustereval._raised(x, slip) AS x * (1 + 1e-12) + slip;

-- The distance of two sound points, without the care of _distance.
CREATE OR REPLACE MACRO clustereval._apart(x, y, distance, p) AS
  CASE distance
    WHEN 'euclidean' THEN list_distance(x, y)
    WHEN 'cityblock'
    THEN list_sum(list_transform(x, lambda __ce_x, __ce_i: abs(__ce_x - y[__ce_i])))
    WHEN 'chebyshev'
    THEN list_max(list_transform(x, lambda __ce_x, __ce_i: abs(__ce_x - y[__ce_i])))
    ELSE pow(
      list_sum(list_transform(x, lambda __ce_x, __ce_i: pow(abs(__ce_x - y[__ce_i]), p))), 1.0 / p
    )
  END;

-- A norm of the mean of x - y is not above the mean of the norms (Jensen), and the triangle inequality
-- gives the rest; r is the mean distance to c.
CREATE OR REPLACE MACRO clustereval._lower_bound(u, r, slip, distance) AS
  clustereval._lowered(CASE WHEN distance = 'euclidean' THEN u ELSE GREATEST(u, r - u) END, slip);

-- The mean of a root is not above the root of the mean: of all squares for euclidean, coordinate by
-- coordinate for cityblock.
CREATE OR REPLACE MACRO clustereval._upper_bound(x, mean, variances, spread, u, r, slip, distance) AS
  clustereval._raised(
    CASE distance
      WHEN 'euclidean' THEN sqrt(u * u + spread)
      WHEN 'cityblock'
      THEN list_sum(list_transform(
        x,
        lambda __ce_x, __ce_i: sqrt(
          (__ce_x - mean[__ce_i]) * (__ce_x - mean[__ce_i]) + variances[__ce_i]
        )
      ))
      ELSE u + r
    END,
    slip
  );

-- One row for each query that has other clusters: the least upper bound of them.
CREATE OR REPLACE MACRO clustereval._limits(__ce_queries, __ce_clusters, plain_distance, p) AS TABLE
  WITH __ce_bounded AS NOT MATERIALIZED (
    SELECT *, clustereval._apart(__ce_point, __ce_mean, plain_distance, p) AS __ce_u
    FROM clustereval._with_clusters(__ce_queries, __ce_clusters)
    WHERE __ce_target <> __ce_number
  )
  SELECT
    __ce_row,
    MIN(clustereval._upper_bound(
      __ce_point, __ce_mean, __ce_variances, __ce_spread, __ce_u, __ce_mean_distance, __ce_slip,
      plain_distance
    )) AS __ce_limit
  FROM __ce_bounded
  GROUP BY __ce_row;

-- One row for each query and each cluster that it may be held against.
CREATE OR REPLACE MACRO clustereval._limited(
  __ce_queries, __ce_clusters, __ce_limits, plain_distance, p
) AS TABLE
  WITH __ce_held AS NOT MATERIALIZED (
    SELECT __ce_q.*, __ce_l.__ce_limit
    FROM query_table(__ce_queries) AS __ce_q
    LEFT JOIN query_table(__ce_limits) AS __ce_l ON __ce_l.__ce_row = __ce_q.__ce_row
  ),
  __ce_bounded AS NOT MATERIALIZED (
    SELECT *, clustereval._apart(__ce_point, __ce_mean, plain_distance, p) AS __ce_u
    FROM clustereval._with_clusters(__ce_held, __ce_clusters)
  ),
  __ce_lower AS NOT MATERIALIZED (
    SELECT
      *,
      clustereval._lower_bound(
        __ce_u, __ce_mean_distance, __ce_slip, plain_distance
      ) AS __ce_lower
    FROM __ce_bounded
  )
  SELECT
    __ce_row, __ce_number, __ce_target, __ce_lower,
    clustereval._upper_bound(
      __ce_point, __ce_mean, __ce_variances, __ce_spread, __ce_u, __ce_mean_distance, __ce_slip,
      plain_distance
    ) AS __ce_upper
  FROM __ce_lower
  WHERE __ce_target = __ce_number OR __ce_lower <= __ce_limit;

-- For each cluster the covariances of (z, |z|^2), z = y - c, as rows of a matrix: the variance of
-- |x - y|^2 = |u|^2 - 2 u.z + |z|^2 is then w'Mw with w = (-2u, 1).
CREATE OR REPLACE MACRO clustereval._shapes(__ce_rows, __ce_clusters) AS TABLE
  WITH __ce_centred AS NOT MATERIALIZED (
    SELECT
      __ce_c.__ce_number, __ce_c.__ce_n, __ce_c.__ce_spread,
      clustereval._minus(__ce_x.__ce_point, __ce_c.__ce_mean) AS __ce_z
    FROM query_table(__ce_rows) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number
    WHERE __ce_c.__ce_n > 1
  ),
  __ce_vectors AS NOT MATERIALIZED (
    SELECT
      __ce_number,
      list_append(__ce_z, list_inner_product(__ce_z, __ce_z) - __ce_spread) AS __ce_vector
    FROM __ce_centred
  ),
  __ce_dims AS (
    SELECT unnest(range(1, MAX(len(__ce_mean)) + 2)) AS __ce_i FROM query_table(__ce_clusters)
  ),
  __ce_pairs AS (
    SELECT __ce_x.__ce_i, __ce_y.__ce_i AS __ce_j
    FROM __ce_dims AS __ce_x
    JOIN __ce_dims AS __ce_y ON __ce_x.__ce_i <= __ce_y.__ce_i
  ),
  __ce_products AS MATERIALIZED (
    SELECT * FROM clustereval._product_sums(__ce_vectors, __ce_pairs)
  ),
  __ce_entries AS (
    SELECT __ce_number, __ce_i, __ce_j, __ce_value FROM __ce_products
    UNION ALL
    SELECT __ce_number, __ce_j, __ce_i, __ce_value FROM __ce_products WHERE __ce_i < __ce_j
  ),
  __ce_lines AS (
    SELECT
      __ce_e.__ce_number, __ce_e.__ce_i,
      list(__ce_e.__ce_value / __ce_c.__ce_n ORDER BY __ce_e.__ce_j) AS __ce_line
    FROM __ce_entries AS __ce_e
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_e.__ce_number
    GROUP BY __ce_e.__ce_number, __ce_e.__ce_i
  )
  SELECT __ce_number, list(__ce_line ORDER BY __ce_i) AS __ce_matrix
  FROM __ce_lines
  GROUP BY __ce_number;

CREATE OR REPLACE MACRO clustereval._quadratic_form(w, matrix) AS
  list_inner_product(
    w, list_transform(matrix, lambda __ce_line: list_inner_product(__ce_line, w))
  );

-- With t = |x - y|^2 over its mean m, root t >= 1 + (t - 1)/2 - (t - 1)^2/2: the mean distance is at
-- least root m (1 - variance / (2 m^2)). A variance that is too large or too small for a DOUBLE tells
-- nothing.
CREATE OR REPLACE MACRO clustereval._narrowed_bound(m, variance, slip) AS
  CASE
    WHEN m < 1e-140 OR NOT isfinite(variance) THEN 0.0
    ELSE clustereval._lowered(
      sqrt(m) * (1 - (variance * (1 + 1e-12) / m) / m / 2 - 1e-12), slip
    )
  END;

-- The matrix M costs as many steps as it has entries. At the cost of one more distance, a bound of that
-- variance rules out most clusters first: 4 u'Du + 4 |rest| |u|^2 - 4 u.K + W, with the diagonal D of
-- the covariances of z, the length of all other covariances, K those with |z|^2 and W its variance.
-- All but |u|^2 is linear in the coordinates of x and their squares (__ce_slopes, __ce_base).
CREATE OR REPLACE MACRO clustereval._screens(__ce_shapes, __ce_clusters) AS TABLE
  WITH __ce_parts AS (
    SELECT
      __ce_s.__ce_number,
      clustereval._minus(__ce_c.__ce_mean, __ce_c.__ce_origin) AS __ce_c,
      list_transform(
        __ce_s.__ce_matrix[:-2], lambda __ce_line, __ce_i: __ce_line[__ce_i]
      ) AS __ce_d,
      list_sum(list_transform(
        __ce_s.__ce_matrix[:-2],
        lambda __ce_line, __ce_i: list_sum(list_transform(
          __ce_line[:-2],
          lambda __ce_v, __ce_j: CASE WHEN __ce_j = __ce_i THEN 0.0 ELSE __ce_v * __ce_v END
        ))
      )) AS __ce_squares,
      __ce_s.__ce_matrix[-1][:-2] AS __ce_k,
      __ce_s.__ce_matrix[-1][-1] AS __ce_w
    FROM query_table(__ce_shapes) AS __ce_s
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_s.__ce_number
  ),
  __ce_listed AS (
    SELECT
      __ce_number, __ce_squares, __ce_w,
      list_concat(
        list_transform(__ce_d, lambda __ce_v: 4 * __ce_v),
        list_transform(
          __ce_d, lambda __ce_v, __ce_i: -8 * __ce_v * __ce_c[__ce_i] - 4 * __ce_k[__ce_i]
        )
      ) AS __ce_slopes,
      list_sum(list_transform(
        __ce_d, lambda __ce_v, __ce_i: 4 * __ce_v * __ce_c[__ce_i] * __ce_c[__ce_i]
      )) AS __ce_square,
      4 * list_inner_product(__ce_c, __ce_k) AS __ce_product,
      4 * clustereval._norm(__ce_c) * clustereval._norm(__ce_k) AS __ce_size
    FROM __ce_parts
  )
  SELECT
    __ce_number, __ce_slopes,
    __ce_square + __ce_product + __ce_w
      + 1e-12 * (__ce_square + __ce_size + __ce_w) AS __ce_base,
    4 * sqrt(__ce_squares) * (1 + 1e-12) AS __ce_rest,
    1e-15 * len(__ce_slopes) * clustereval._norm(__ce_slopes) AS __ce_slope_slip
  FROM __ce_listed;

-- One row for each query and each cluster that the cheaper bounds leave, of euclidean distances.
CREATE OR REPLACE MACRO clustereval._screened(
  __ce_queries, __ce_clusters, __ce_limits, __ce_screens
) AS TABLE
  WITH __ce_centred AS NOT MATERIALIZED (
    SELECT
      __ce_q.__ce_row, __ce_q.__ce_point, __ce_q.__ce_number, __ce_q.__ce_lead, __ce_l.__ce_limit,
      clustereval._minus(__ce_q.__ce_point, __ce_c.__ce_origin) AS __ce_x
    FROM query_table(__ce_queries) AS __ce_q
    LEFT JOIN query_table(__ce_limits) AS __ce_l ON __ce_l.__ce_row = __ce_q.__ce_row
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_q.__ce_lead
  ),
  __ce_featured AS NOT MATERIALIZED (
    SELECT
      *,
      list_concat(list_transform(__ce_x, lambda __ce_v: __ce_v * __ce_v), __ce_x) AS __ce_features
    FROM __ce_centred
  ),
  __ce_measured_features AS MATERIALIZED (
    SELECT * EXCLUDE (__ce_x), clustereval._norm(__ce_features) AS __ce_length FROM __ce_featured
  ),
  __ce_screened_clusters AS NOT MATERIALIZED (
    SELECT
      __ce_c.__ce_number, __ce_c.__ce_lead, __ce_c.__ce_k, __ce_c.__ce_most,
      __ce_c.__ce_mean, __ce_c.__ce_spread, __ce_c.__ce_slip,
      __ce_s.__ce_slopes, __ce_s.__ce_base, __ce_s.__ce_rest, __ce_s.__ce_slope_slip
    FROM query_table(__ce_clusters) AS __ce_c
    LEFT JOIN query_table(__ce_screens) AS __ce_s ON __ce_s.__ce_number = __ce_c.__ce_number
  ),
  __ce_bounded AS NOT MATERIALIZED (
    SELECT *, list_distance(__ce_point, __ce_mean) AS __ce_u
    FROM clustereval._with_clusters(__ce_measured_features, __ce_screened_clusters)
  )
  SELECT __ce_row, __ce_number, __ce_target
  FROM __ce_bounded
  WHERE CASE
    WHEN __ce_target = __ce_number THEN TRUE
    WHEN clustereval._lowered(__ce_u, __ce_slip) > __ce_limit THEN FALSE
    WHEN __ce_slopes IS NULL THEN TRUE
    ELSE clustereval._narrowed_bound(
      __ce_u * __ce_u + __ce_spread,
      list_inner_product(__ce_features, __ce_slopes) + __ce_base + __ce_rest * __ce_u * __ce_u
        + __ce_slope_slip * __ce_length,
      __ce_slip
    ) <= __ce_limit
  END;

-- The clusters that are left with their bounds, and without those that the best bound rules out.
CREATE OR REPLACE MACRO clustereval._narrowed(
  __ce_queries, __ce_clusters, __ce_limits, __ce_shapes, __ce_screened
) AS TABLE
  WITH __ce_measured AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_row, __ce_x.__ce_number, __ce_x.__ce_target, __ce_l.__ce_limit,
      __ce_c.__ce_spread, __ce_c.__ce_slip,
      list_distance(__ce_q.__ce_point, __ce_c.__ce_mean) AS __ce_u,
      __ce_s.__ce_matrix,
      -- a column of its own: in the lambda that uses it, it would be worked out for every line
      list_append(
        list_transform(
          __ce_q.__ce_point, lambda __ce_v, __ce_i: -2 * (__ce_v - __ce_c.__ce_mean[__ce_i])
        ),
        1.0
      ) AS __ce_w
    FROM query_table(__ce_screened) AS __ce_x
    JOIN query_table(__ce_queries) AS __ce_q ON __ce_q.__ce_row = __ce_x.__ce_row
    LEFT JOIN query_table(__ce_limits) AS __ce_l ON __ce_l.__ce_row = __ce_x.__ce_row
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_target
    LEFT JOIN query_table(__ce_shapes) AS __ce_s ON __ce_s.__ce_number = __ce_x.__ce_target
  ),
  __ce_bounded AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_target, __ce_limit,
      GREATEST(
        clustereval._lowered(__ce_u, __ce_slip),
        CASE
          WHEN __ce_matrix IS NOT NULL
          THEN clustereval._narrowed_bound(
            __ce_u * __ce_u + __ce_spread, clustereval._quadratic_form(__ce_w, __ce_matrix),
            __ce_slip
          )
        END
      ) AS __ce_lower,
      clustereval._raised(sqrt(__ce_u * __ce_u + __ce_spread), __ce_slip) AS __ce_upper
    FROM __ce_measured
  )
  SELECT __ce_row, __ce_number, __ce_target, __ce_lower, __ce_upper
  FROM __ce_bounded
  WHERE __ce_target = __ce_number OR __ce_lower <= __ce_limit;

-- One row a query: the bounds of a and b.
CREATE OR REPLACE MACRO clustereval._bound_silhouettes(__ce_bounds, __ce_clusters) AS TABLE
  WITH __ce_found AS (
    SELECT
      __ce_row,
      any_value(__ce_number) AS __ce_number,
      MAX(CASE WHEN __ce_target = __ce_number THEN __ce_lower END) AS __ce_a_lower,
      MAX(CASE WHEN __ce_target = __ce_number THEN __ce_upper END) AS __ce_a_upper,
      MIN(CASE WHEN __ce_target <> __ce_number THEN __ce_lower END) AS __ce_b_lower,
      MIN(CASE WHEN __ce_target <> __ce_number THEN __ce_upper END) AS __ce_b_upper
    FROM query_table(__ce_bounds)
    GROUP BY __ce_row
  )
  SELECT
    __ce_x.__ce_row, __ce_x.__ce_number,
    FALSE AS __ce_exact,
    clustereval._without_itself(__ce_x.__ce_a_lower, __ce_c.__ce_n) AS __ce_a_lower,
    clustereval._without_itself(__ce_x.__ce_a_upper, __ce_c.__ce_n) AS __ce_a_upper,
    __ce_x.__ce_b_lower, __ce_x.__ce_b_upper,
    CAST(NULL AS BIGINT) AS __ce_neighbor
  FROM __ce_found AS __ce_x
  JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number;

-- TRUE where queries and lists had better be joined on a condition that is no equality, which hands the
-- lists on without a copy, but looks at every list for each query: not where clusters are small and many.
CREATE OR REPLACE MACRO clustereval._few_clusters(__ce_clusters) AS TABLE
  SELECT SUM(ceil(__ce_n / 512.0)) <= 4 * SUM(pow(__ce_n, 2)) / SUM(__ce_n) + 64 AS __ce_few
  FROM query_table(__ce_clusters);

-- For cityblock the bounds by Jensen leave most clusters. The mean distance along one coordinate is a
-- convex function of it, and a table of that function bounds it far better: 32 cells from 4 standard
-- deviations below the mean to 4 above. The chord of a cell is above it, by at most half the cell's width
-- times the share of values in the cell. Lists hold all coordinates, one after the other.
CREATE OR REPLACE MACRO clustereval._grids(__ce_rows, __ce_clusters) AS TABLE
  WITH __ce_members AS NOT MATERIALIZED (
    SELECT
      __ce_c.__ce_number,
      unnest(__ce_x.__ce_point) AS __ce_v,
      unnest(__ce_c.__ce_mean) AS __ce_mean,
      sqrt(unnest(__ce_c.__ce_variances)) AS __ce_sigma,
      unnest(range(1, len(__ce_c.__ce_mean) + 1)) AS __ce_i
    FROM query_table(__ce_rows) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number
  ),
  __ce_cells AS (
    SELECT
      __ce_number, __ce_i,
      CASE
        WHEN __ce_sigma = 0 THEN 32
        ELSE CAST(floor(LEAST(
          GREATEST((__ce_v - __ce_mean) / __ce_sigma * 4 + 16, -1.0), 32.0
        )) AS BIGINT)
      END AS __ce_cell,
      MAX(__ce_sigma) AS __ce_sigma,
      CAST(COUNT(*) AS DOUBLE) AS __ce_n,
      SUM(__ce_v - __ce_mean) AS __ce_s
    FROM __ce_members
    GROUP BY __ce_number, __ce_i, 3
  ),
  __ce_wholes AS (
    SELECT
      __ce_number, __ce_i,
      MAX(__ce_sigma) AS __ce_sigma,
      SUM(__ce_n) AS __ce_n,
      SUM(__ce_s) AS __ce_t
    FROM __ce_cells
    GROUP BY __ce_number, __ce_i
  ),
  __ce_knots AS (
    SELECT *, unnest(range(0, 33)) AS __ce_cell FROM __ce_wholes
  ),
  __ce_running AS (
    SELECT
      __ce_k.__ce_number, __ce_k.__ce_i, __ce_k.__ce_cell, __ce_k.__ce_n, __ce_k.__ce_t,
      __ce_k.__ce_sigma,
      COALESCE(__ce_c.__ce_n, 0.0) AS __ce_in_cell,
      SUM(COALESCE(__ce_c.__ce_n, 0.0)) OVER __ce_below + COALESCE(__ce_b.__ce_n, 0.0) AS __ce_m,
      SUM(COALESCE(__ce_c.__ce_s, 0.0)) OVER __ce_below + COALESCE(__ce_b.__ce_s, 0.0) AS __ce_s
    FROM __ce_knots AS __ce_k
    LEFT JOIN __ce_cells AS __ce_c
      ON __ce_c.__ce_number = __ce_k.__ce_number AND __ce_c.__ce_i = __ce_k.__ce_i
      AND __ce_c.__ce_cell = __ce_k.__ce_cell
    LEFT JOIN __ce_cells AS __ce_b
      ON __ce_b.__ce_number = __ce_k.__ce_number AND __ce_b.__ce_i = __ce_k.__ce_i
      AND __ce_b.__ce_cell = -1
    WINDOW __ce_below AS (
      PARTITION BY __ce_k.__ce_number, __ce_k.__ce_i ORDER BY __ce_k.__ce_cell
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  ),
  -- the sums run to the end of the cell, the value is that at its start
  __ce_valued AS (
    SELECT
      *,
      (
        (2 * (__ce_m - __ce_in_cell) - __ce_n) * (__ce_cell - 16) / 4 * __ce_sigma
        - 2 * (__ce_s - __ce_cell_sum) + __ce_t
      ) / __ce_n AS __ce_value
    FROM (
      SELECT
        __ce_r.*, COALESCE(__ce_c.__ce_s, 0.0) AS __ce_cell_sum
      FROM __ce_running AS __ce_r
      LEFT JOIN __ce_cells AS __ce_c
        ON __ce_c.__ce_number = __ce_r.__ce_number AND __ce_c.__ce_i = __ce_r.__ce_i
        AND __ce_c.__ce_cell = __ce_r.__ce_cell
    ) AS __ce_summed
  ),
  __ce_listed AS (
    SELECT
      __ce_number,
      list(__ce_value ORDER BY __ce_i, __ce_cell) AS __ce_values,
      list(__ce_in_cell / __ce_n * __ce_sigma / 8 ORDER BY __ce_i, __ce_cell) AS __ce_gaps
    FROM __ce_valued
    GROUP BY __ce_number
  )
  SELECT
    __ce_c.__ce_number, __ce_c.__ce_lead, __ce_c.__ce_mean, __ce_c.__ce_variances,
    __ce_l.__ce_values, __ce_l.__ce_gaps,
    list_transform(
      __ce_c.__ce_variances,
      lambda __ce_v: CASE WHEN __ce_v > 0 THEN 4 / sqrt(__ce_v) ELSE 0.0 END
    ) AS __ce_scales,
    __ce_c.__ce_slip + 1e-12 * list_sum(list_transform(
      __ce_c.__ce_variances, lambda __ce_v: sqrt(__ce_v)
    )) AS __ce_slip
  FROM query_table(__ce_clusters) AS __ce_c
  JOIN __ce_listed AS __ce_l ON __ce_l.__ce_number = __ce_c.__ce_number;

-- Cells are counted from 1; 0 is outside of the table, where it is known that |u| <= mean <= root(u^2 + v).
CREATE OR REPLACE MACRO clustereval._grid_cell(z, scale) AS
  CASE
    WHEN scale > 0 AND z * scale >= -16 AND z * scale < 16
    THEN CAST(floor(z * scale + 16) AS BIGINT) + 1
    ELSE 0
  END;
CREATE OR REPLACE MACRO clustereval._chord(grid_values, z, scale, cell, after) AS
  grid_values[after + cell]
  + (grid_values[after + cell + 1] - grid_values[after + cell]) * (z * scale + 17 - cell);

CREATE OR REPLACE MACRO clustereval._grid_upper(x, mean, variances, scales, grid_values) AS
  list_sum(list_transform(
    x,
    lambda __ce_x, __ce_i: CASE
      WHEN clustereval._grid_cell(__ce_x - mean[__ce_i], scales[__ce_i]) = 0
      THEN sqrt((__ce_x - mean[__ce_i]) * (__ce_x - mean[__ce_i]) + variances[__ce_i])
      ELSE clustereval._chord(
        grid_values, __ce_x - mean[__ce_i], scales[__ce_i],
        clustereval._grid_cell(__ce_x - mean[__ce_i], scales[__ce_i]), (__ce_i - 1) * 33
      )
    END
  ));
CREATE OR REPLACE MACRO clustereval._grid_lower(x, mean, scales, grid_values, gaps) AS
  list_sum(list_transform(
    x,
    lambda __ce_x, __ce_i: CASE
      WHEN clustereval._grid_cell(__ce_x - mean[__ce_i], scales[__ce_i]) = 0
      THEN abs(__ce_x - mean[__ce_i])
      ELSE GREATEST(
        abs(__ce_x - mean[__ce_i]),
        clustereval._chord(
          grid_values, __ce_x - mean[__ce_i], scales[__ce_i],
          clustereval._grid_cell(__ce_x - mean[__ce_i], scales[__ce_i]), (__ce_i - 1) * 33
        ) - gaps[
          (__ce_i - 1) * 33 + clustereval._grid_cell(__ce_x - mean[__ce_i], scales[__ce_i])
        ]
      )
    END
  ));

-- One row for each query and each target that the tables leave. A lambda copies the lists that it looks
-- into, so a table is asked only where the bounds by Jensen leave a doubt: for the limit the one of the
-- cluster that they put nearest. The condition of a join is no equality for the reason that
-- _few_clusters gives.
CREATE OR REPLACE MACRO clustereval._grid_targets(
  __ce_queries, __ce_clusters, __ce_grids
) AS TABLE
  WITH __ce_near AS (
    SELECT
      __ce_q.__ce_row,
      arg_min(__ce_c.__ce_number, clustereval._upper_bound(
        __ce_q.__ce_point, __ce_c.__ce_mean, __ce_c.__ce_variances, 0.0, 0.0, 0.0, 0.0, 'cityblock'
      )) AS __ce_number
    FROM query_table(__ce_queries) AS __ce_q
    JOIN query_table(__ce_clusters) AS __ce_c
      ON __ce_c.__ce_lead = __ce_q.__ce_lead AND __ce_c.__ce_number <> __ce_q.__ce_number
    GROUP BY __ce_q.__ce_row
  ),
  __ce_limited AS MATERIALIZED (
    SELECT
      __ce_q.__ce_row, __ce_q.__ce_point, __ce_q.__ce_number, __ce_q.__ce_lead,
      clustereval._raised(
        clustereval._grid_upper(
          __ce_q.__ce_point, __ce_g.__ce_mean, __ce_g.__ce_variances, __ce_g.__ce_scales,
          __ce_g.__ce_values
        ),
        __ce_g.__ce_slip
      ) AS __ce_limit
    FROM query_table(__ce_queries) AS __ce_q
    LEFT JOIN __ce_near AS __ce_l ON __ce_l.__ce_row = __ce_q.__ce_row
    LEFT JOIN query_table(__ce_grids) AS __ce_g ON __ce_g.__ce_number = __ce_l.__ce_number
  )
  SELECT __ce_q.__ce_row, __ce_q.__ce_number, __ce_g.__ce_number AS __ce_target
  FROM __ce_limited AS __ce_q
  JOIN query_table(__ce_grids) AS __ce_g ON list_contains([__ce_q.__ce_lead], __ce_g.__ce_lead)
  WHERE CASE
    WHEN __ce_g.__ce_number = __ce_q.__ce_number THEN TRUE
    WHEN clustereval._lowered(
      clustereval._apart(__ce_q.__ce_point, __ce_g.__ce_mean, 'cityblock', 1), __ce_g.__ce_slip
    ) > __ce_q.__ce_limit THEN FALSE
    ELSE clustereval._lowered(
      clustereval._grid_lower(
        __ce_q.__ce_point, __ce_g.__ce_mean, __ce_g.__ce_scales, __ce_g.__ce_values,
        __ce_g.__ce_gaps
      ),
      __ce_g.__ce_slip
    ) <= __ce_q.__ce_limit
  END;

-- The same, by the bounds of _limited where clusters are small and many.
CREATE OR REPLACE MACRO clustereval._sorting_targets(__ce_queries, __ce_rows, __ce_clusters) AS TABLE
  WITH __ce_way AS MATERIALIZED (SELECT * FROM clustereval._few_clusters(__ce_clusters)),
  __ce_grids AS MATERIALIZED (SELECT * FROM clustereval._grids(__ce_rows, __ce_clusters)),
  __ce_few_queries AS NOT MATERIALIZED (
    SELECT __ce_q.*
    FROM query_table(__ce_queries) AS __ce_q
    JOIN __ce_way AS __ce_w ON __ce_w.__ce_few
  ),
  __ce_many_queries AS NOT MATERIALIZED (
    SELECT __ce_q.*
    FROM query_table(__ce_queries) AS __ce_q
    JOIN __ce_way AS __ce_w ON NOT __ce_w.__ce_few
  ),
  __ce_many_limits AS MATERIALIZED (
    SELECT * FROM clustereval._limits(__ce_many_queries, __ce_clusters, 'cityblock', 1)
  )
  SELECT * FROM clustereval._grid_targets(__ce_few_queries, __ce_clusters, __ce_grids)
  UNION ALL
  SELECT __ce_row, __ce_number, __ce_target
  FROM clustereval._limited(__ce_many_queries, __ce_clusters, __ce_many_limits, 'cityblock', 1);

---------------------------------------------------------------------------------------------------
-- Sums of distances to all points of a target
---------------------------------------------------------------------------------------------------

-- One row a query: the numbers of its targets.
CREATE OR REPLACE MACRO clustereval._targets(__ce_bounds) AS TABLE
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

-- By measuring every distance, with the members of a cluster in a few long lists (see _few_clusters).
CREATE OR REPLACE MACRO clustereval._measured_sums(
  __ce_queries, __ce_rows, __ce_clusters, __ce_targets, plain_distance, p
) AS TABLE
  WITH __ce_way AS MATERIALIZED (SELECT * FROM clustereval._few_clusters(__ce_clusters)),
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
        lambda __ce_y: clustereval._apart(__ce_q.__ce_point, __ce_y, plain_distance, p)
      )) AS __ce_sum
    FROM __ce_listed AS __ce_q
    JOIN __ce_members AS __ce_m ON list_contains(__ce_q.__ce_targets, __ce_m.__ce_number)
    UNION ALL
    SELECT
      __ce_q.__ce_row, __ce_q.__ce_number, __ce_q.__ce_target,
      clustereval._apart(__ce_q.__ce_point, __ce_x.__ce_point, plain_distance, p)
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
      clustereval._sum(__ce_v - __ce_mean) AS __ce_t
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
  __ce_centred AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_target, __ce_key, __ce_v - __ce_mean AS __ce_z
    FROM __ce_entries
  ),
  __ce_found AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_row, __ce_x.__ce_number, __ce_x.__ce_target, __ce_x.__ce_key, __ce_x.__ce_z,
      COALESCE(__ce_r.__ce_m, 0) AS __ce_m,
      COALESCE(__ce_r.__ce_s, 0.0) AS __ce_s
    FROM __ce_centred AS __ce_x
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

---------------------------------------------------------------------------------------------------
-- All ways to a and b, of which _silhouette_path chooses
---------------------------------------------------------------------------------------------------

-- The bounds of each query and its possible targets.
CREATE OR REPLACE MACRO clustereval._bounds(
  __ce_queries, __ce_rows, __ce_clusters, plain_distance, p
) AS TABLE
  WITH __ce_limits AS MATERIALIZED (
    SELECT * FROM clustereval._limits(__ce_queries, __ce_clusters, plain_distance, p)
  ),
  __ce_limited AS NOT MATERIALIZED (
    SELECT * FROM clustereval._limited(__ce_queries, __ce_clusters, __ce_limits, plain_distance, p)
  ),
  __ce_shapes AS MATERIALIZED (SELECT * FROM clustereval._shapes(__ce_rows, __ce_clusters)),
  __ce_screens AS (SELECT * FROM clustereval._screens(__ce_shapes, __ce_clusters)),
  __ce_screened AS NOT MATERIALIZED (
    SELECT * FROM clustereval._screened(__ce_queries, __ce_clusters, __ce_limits, __ce_screens)
  ),
  __ce_narrowed AS NOT MATERIALIZED (
    SELECT * FROM clustereval._narrowed(
      __ce_queries, __ce_clusters, __ce_limits, __ce_shapes, __ce_screened
    )
  )
  SELECT __ce_row, __ce_number, __ce_target, __ce_lower, __ce_upper
  FROM query(clustereval._bounds_path(plain_distance, p));

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

CREATE OR REPLACE MACRO clustereval._silhouette(a, b) AS
  CASE WHEN GREATEST(a, b) = 0 THEN 0.0 ELSE (b - a) / GREATEST(a, b) END;

-- The silhouettes of points from the bounds of a and b: NULL where there is no clustering, 0 in a
-- cluster of one.
CREATE OR REPLACE MACRO clustereval._point_silhouettes(__ce_measured, __ce_clusters) AS TABLE
  SELECT
    __ce_x.*,
    __ce_c.__ce_lead, __ce_c.__ce_total,
    CASE
      WHEN NOT clustereval._is_clustering(__ce_c.__ce_total, __ce_c.__ce_k) THEN NULL
      WHEN __ce_c.__ce_n = 1 THEN 0.0
      ELSE clustereval._silhouette(__ce_x.__ce_a_upper, __ce_x.__ce_b_lower)
    END AS __ce_lower,
    CASE
      WHEN NOT clustereval._is_clustering(__ce_c.__ce_total, __ce_c.__ce_k) THEN NULL
      WHEN __ce_c.__ce_n = 1 THEN 0.0
      ELSE clustereval._silhouette(__ce_x.__ce_a_lower, __ce_x.__ce_b_upper)
    END AS __ce_upper
  FROM query_table(__ce_measured) AS __ce_x
  JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number;

-- The points whose intervals are too wide to be left at their bounds: of the narrowest as many are left
-- as can be, until their widths add up to tolerance times all points.
CREATE OR REPLACE MACRO clustereval._wide_points(__ce_bounded, __ce_rows, tolerance) AS TABLE
  WITH __ce_added AS (
    SELECT
      __ce_x.__ce_row, __ce_x.__ce_total,
      SUM(__ce_x.__ce_upper - __ce_x.__ce_lower) OVER (
        PARTITION BY __ce_x.__ce_lead
        ORDER BY __ce_x.__ce_upper - __ce_x.__ce_lower, __ce_p.__ce_place DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) AS __ce_width
    FROM query_table(__ce_bounded) AS __ce_x
    JOIN clustereval._places(__ce_rows) AS __ce_p ON __ce_p.__ce_row = __ce_x.__ce_row
  )
  SELECT __ce_row FROM __ce_added WHERE __ce_width / __ce_total > tolerance;

-- Exact a and b of the points with the widest intervals, bounds of the others.
CREATE OR REPLACE MACRO clustereval._tolerant_silhouettes(
  __ce_bounds, __ce_rows, __ce_clusters, plain_distance, p, tolerance
) AS TABLE
  WITH __ce_bound_ab AS MATERIALIZED (
    SELECT * FROM clustereval._bound_silhouettes(__ce_bounds, __ce_clusters)
  ),
  __ce_bounded AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_bound_ab, __ce_clusters)
  ),
  __ce_wide AS MATERIALIZED (
    SELECT * FROM clustereval._wide_points(__ce_bounded, __ce_rows, tolerance)
  ),
  __ce_wide_queries AS MATERIALIZED (
    SELECT __ce_x.*
    FROM query_table(__ce_rows) AS __ce_x
    JOIN __ce_wide AS __ce_w ON __ce_w.__ce_row = __ce_x.__ce_row
  ),
  __ce_wide_bounds AS NOT MATERIALIZED (
    SELECT __ce_x.*
    FROM query_table(__ce_bounds) AS __ce_x
    JOIN __ce_wide AS __ce_w ON __ce_w.__ce_row = __ce_x.__ce_row
  ),
  __ce_wide_targets AS (SELECT * FROM clustereval._targets(__ce_wide_bounds))
  SELECT * FROM clustereval._exact_silhouettes(
    __ce_wide_queries, __ce_rows, __ce_clusters, __ce_wide_targets, plain_distance, p
  )
  UNION ALL
  SELECT __ce_x.*
  FROM __ce_bound_ab AS __ce_x
  LEFT JOIN __ce_wide AS __ce_w ON __ce_w.__ce_row = __ce_x.__ce_row
  WHERE __ce_w.__ce_row IS NULL;

-- One row a query: bounds of a and b, which are equal where they are known (__ce_exact), and the
-- neighbour.
CREATE OR REPLACE MACRO clustereval._measured_silhouettes(
  __ce_queries, __ce_rows, __ce_clusters, distance, p, method, tolerance
) AS TABLE
  WITH __ce_by_centres AS NOT MATERIALIZED (
    SELECT * FROM clustereval._center_silhouettes(
      __ce_queries, __ce_clusters, clustereval._plain_distance(distance, p), p
    )
  ),
  __ce_by_moments AS NOT MATERIALIZED (
    SELECT * FROM clustereval._moment_silhouettes(
      __ce_queries, __ce_clusters, clustereval._plain_distance(distance, p)
    )
  ),
  __ce_bounds AS (
    SELECT * FROM clustereval._bounds(
      __ce_queries, __ce_rows, __ce_clusters, clustereval._plain_distance(distance, p), p
    )
  ),
  __ce_by_bounds AS NOT MATERIALIZED (
    SELECT * FROM clustereval._bound_silhouettes(__ce_bounds, __ce_clusters)
  ),
  __ce_sorting AS NOT MATERIALIZED (
    SELECT * FROM clustereval._sorting_targets(__ce_queries, __ce_rows, __ce_clusters)
  ),
  __ce_possible AS NOT MATERIALIZED (SELECT * FROM query(clustereval._targets_path(distance, p))),
  __ce_targets AS MATERIALIZED (SELECT * FROM clustereval._targets(__ce_possible)),
  __ce_by_pairs AS NOT MATERIALIZED (
    SELECT * FROM clustereval._exact_silhouettes(
      __ce_queries, __ce_rows, __ce_clusters, __ce_targets,
      clustereval._plain_distance(distance, p), p
    )
  ),
  __ce_by_tolerance AS NOT MATERIALIZED (
    SELECT * FROM clustereval._tolerant_silhouettes(
      __ce_bounds, __ce_rows, __ce_clusters, clustereval._plain_distance(distance, p), p, tolerance
    )
  )
  SELECT * FROM query(clustereval._silhouette_path(distance, p, method, tolerance));

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every point: its mean distances to its own cluster and to the next one, and its silhouette.
-- Examples:
--   FROM clustereval.silhouette_samples(points, [x, y, z], cluster);
--   FROM clustereval.silhouette_samples(points, [x, y, z], cluster, distance := 'cityblock');
CREATE OR REPLACE MACRO clustereval.silhouette_samples(
  tbl, vector, cluster, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, noise := NULL, noise_as := 'cluster', weights := NULL
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, clustereval._plain_distance(distance, p), p, weights, partition_by,
      noise, noise_as, id
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinates(__ce_points, 'mean')),
  __ce_centers AS (SELECT * FROM clustereval._centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._middles(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._spreads(
      __ce_points, __ce_centers, __ce_middles, clustereval._plain_distance(distance, p), p
    )
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._checked_points(__ce_points, __ce_spreads, __ce_middles, weights)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._silhouette_clusters(
      __ce_points, __ce_coordinates, __ce_spreads, distance
    )
  ),
  __ce_rows AS MATERIALIZED (
    SELECT * FROM clustereval._silhouette_rows(__ce_points, __ce_clusters, __ce_checked)
  ),
  __ce_checked_ids AS (SELECT * FROM clustereval._checked_ids(__ce_rows)),
  __ce_measured AS (
    SELECT * FROM clustereval._measured_silhouettes(
      __ce_rows, __ce_rows, __ce_clusters, distance, p, 'exact', NULL
    )
  ),
  __ce_silhouettes AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_measured, __ce_clusters)
  )
  SELECT
    __ce_c.__ce_partition AS partition_key,
    clustereval._row_id(__ce_x.__ce_id, __ce_x.__ce_row - 1, __ce_x.__ce_unnamed) AS id,
    __ce_c.__ce_cluster AS cluster,
    __ce_b.__ce_cluster AS neighbor,
    __ce_s.__ce_a_lower AS a,
    __ce_s.__ce_b_lower AS b,
    __ce_s.__ce_lower AS silhouette
  FROM __ce_rows AS __ce_x
  JOIN __ce_silhouettes AS __ce_s ON __ce_s.__ce_row = __ce_x.__ce_row
  JOIN __ce_clusters AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number
  LEFT JOIN __ce_clusters AS __ce_b ON __ce_b.__ce_number = __ce_s.__ce_neighbor
  WHERE clustereval._checked_options(
    clustereval._valid_points(distance, p, 'mean', weights, noise, noise_as)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked_ids), TRUE)
  ORDER BY __ce_c.__ce_partition, 2;
COMMENT ON MACRO TABLE clustereval.silhouette_samples IS
'One row a point: a, its mean distance to the other points of its cluster (0 in a cluster of one), b, the least of its mean distances to the points of each other cluster, that cluster as neighbor (the lowest of equals), and silhouette = (b - a) / max(a, b). Range [-1, 1], best 1; 0 in a cluster of one and where a = b = 0. NULL with fewer than two clusters or with no two points together; neighbor and b are NULL with one cluster. id is the row number from 0 where none is given. A noise point counted as a singleton has cluster NULL. Source: Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7; sqeuclidean and cosine from sums as in Gaido (2023), arXiv:2303.14102.';

-- Every cluster: the means of its points' silhouettes and of what they are made of.
-- Examples:
--   FROM clustereval.silhouette_clusters(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.silhouette_clusters(
  tbl, vector, cluster, distance := 'euclidean', p := 2, partition_by := NULL, noise := NULL,
  noise_as := 'cluster', weights := NULL
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, clustereval._plain_distance(distance, p), p, weights, partition_by,
      noise, noise_as
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinates(__ce_points, 'mean')),
  __ce_centers AS (SELECT * FROM clustereval._centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._middles(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._spreads(
      __ce_points, __ce_centers, __ce_middles, clustereval._plain_distance(distance, p), p
    )
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._checked_points(__ce_points, __ce_spreads, __ce_middles, weights)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._silhouette_clusters(
      __ce_points, __ce_coordinates, __ce_spreads, distance
    )
  ),
  __ce_streamed AS NOT MATERIALIZED (
    SELECT * FROM clustereval._silhouette_rows(__ce_points, __ce_clusters, __ce_checked)
  ),
  __ce_rows AS MATERIALIZED (SELECT * FROM __ce_streamed),
  __ce_queries AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._queries_path(distance, p, 'exact'))
  ),
  __ce_measured AS (
    SELECT * FROM clustereval._measured_silhouettes(
      __ce_queries, __ce_rows, __ce_clusters, distance, p, 'exact', NULL
    )
  ),
  __ce_means AS (
    SELECT
      __ce_number,
      clustereval._sum(__ce_a_lower) / COUNT(*) AS __ce_a,
      clustereval._sum(__ce_b_lower) / COUNT(*) AS __ce_b,
      clustereval._sum(__ce_lower) / COUNT(*) AS __ce_s
    FROM clustereval._point_silhouettes(__ce_measured, __ce_clusters)
    GROUP BY __ce_number
  )
  SELECT
    __ce_c.__ce_partition AS partition_key,
    __ce_c.__ce_cluster AS cluster,
    __ce_c.__ce_n AS n,
    __ce_m.__ce_a AS a,
    __ce_m.__ce_b AS b,
    __ce_m.__ce_s AS silhouette
  FROM __ce_clusters AS __ce_c
  LEFT JOIN __ce_means AS __ce_m ON __ce_m.__ce_number = __ce_c.__ce_number
  WHERE clustereval._checked_options(
    clustereval._valid_points(distance, p, 'mean', weights, noise, noise_as)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_c.__ce_number;
COMMENT ON MACRO TABLE clustereval.silhouette_clusters IS
'One row a cluster: n points and the means of their a, b and silhouette (see silhouette_samples). Range of silhouette [-1, 1], best 1; 0 in a cluster of one; NULL with fewer than two clusters or with no two points together. With noise_as := ''singletons'' each noise point has a row of its own, cluster NULL. Source: Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7.';

-- One row a partition that has clusters: sums over its queries.
CREATE OR REPLACE MACRO clustereval._silhouette_totals(__ce_silhouettes) AS TABLE
  WITH __ce_summed AS (
    SELECT
      __ce_lead, __ce_number,
      COUNT(*) AS __ce_n,
      COUNT(CASE WHEN __ce_exact THEN 1 END) AS __ce_n_exact,
      clustereval._sum(__ce_lower) AS __ce_lower,
      clustereval._sum(__ce_upper) AS __ce_upper,
      clustereval._sum((__ce_lower + __ce_upper) / 2) AS __ce_middle
    FROM query_table(__ce_silhouettes)
    GROUP BY __ce_lead, __ce_number
  )
  SELECT
    __ce_lead,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_m,
    COUNT(*) AS __ce_k,
    CAST(SUM(__ce_n_exact) AS BIGINT) AS __ce_n_exact,
    clustereval._sum(__ce_lower) / SUM(__ce_n) AS __ce_lower,
    clustereval._sum(__ce_upper) / SUM(__ce_n) AS __ce_upper,
    clustereval._sum(__ce_middle) / SUM(__ce_n) AS __ce_middle,
    clustereval._sum(__ce_middle / __ce_n) / COUNT(*) AS __ce_macro,
    MAX(__ce_middle / __ce_n) AS __ce_max
  FROM __ce_summed
  GROUP BY __ce_lead;

-- How far the mean of m of n numbers between -1 and 1 may be from the mean of all, with that confidence
-- (Hoeffding).
CREATE OR REPLACE MACRO clustereval._sampling_error(m, n, confidence) AS
  CASE WHEN m = n THEN 0.0 ELSE sqrt(2 * ln(2 / (1 - CAST(confidence AS DOUBLE))) / m) END;

-- The mean silhouette: exact, within certified bounds, or from a sample.
-- Examples:
--   FROM clustereval.silhouette_score(points, [x, y, z], cluster);
--   FROM clustereval.silhouette_score(points, [x, y, z], cluster, method := 'bounds');
--   FROM clustereval.silhouette_score(points, [x, y, z], cluster, tolerance := 0.01);
--   FROM clustereval.silhouette_score(points, [x, y, z], cluster, method := 'sample', sample_size := 4);
CREATE OR REPLACE MACRO clustereval.silhouette_score(
  tbl, vector, cluster, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, noise := NULL, noise_as := 'cluster', weights := NULL, method := 'exact',
  tolerance := NULL, sample_size := NULL, confidence := 0.95, random_state := 0
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, clustereval._plain_distance(distance, p), p, weights, partition_by,
      noise, noise_as, id
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinates(__ce_points, 'mean')),
  __ce_centers AS (SELECT * FROM clustereval._centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._middles(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._spreads(
      __ce_points, __ce_centers, __ce_middles, clustereval._plain_distance(distance, p), p
    )
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._checked_points(__ce_points, __ce_spreads, __ce_middles, weights)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._silhouette_clusters(
      __ce_points, __ce_coordinates, __ce_spreads, distance
    )
  ),
  __ce_streamed AS NOT MATERIALIZED (
    SELECT * FROM clustereval._silhouette_rows(__ce_points, __ce_clusters, __ce_checked)
  ),
  __ce_rows AS MATERIALIZED (SELECT * FROM __ce_streamed),
  __ce_checked_ids AS (SELECT * FROM clustereval._checked_ids(__ce_rows)),
  __ce_drawn AS MATERIALIZED (
    SELECT * FROM clustereval._drawn(__ce_rows, __ce_checked_ids, sample_size, random_state)
  ),
  __ce_queries AS NOT MATERIALIZED (SELECT * FROM query(clustereval._queries_path(distance, p, method))),
  __ce_measured AS (
    SELECT * FROM clustereval._measured_silhouettes(
      __ce_queries, __ce_rows, __ce_clusters, distance, p, method, tolerance
    )
  ),
  __ce_silhouettes AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_measured, __ce_clusters)
  ),
  __ce_totals AS (SELECT * FROM clustereval._silhouette_totals(__ce_silhouettes)),
  __ce_scored AS (
    SELECT __ce_c.__ce_partition, __ce_t.*
    FROM __ce_totals AS __ce_t
    JOIN __ce_clusters AS __ce_c ON __ce_c.__ce_number = __ce_t.__ce_lead
    WHERE clustereval._is_clustering(__ce_c.__ce_total, __ce_c.__ce_k)
  )
  SELECT
    __ce_r.__ce_partition AS partition_key,
    __ce_r.__ce_total AS n,
    __ce_r.__ce_n_dropped AS n_dropped,
    __ce_r.__ce_n_noise AS n_noise,
    __ce_r.__ce_n_clusters AS n_clusters,
    __ce_r.__ce_n_singletons AS n_singletons,
    CASE WHEN method = 'bounds' THEN 0 ELSE COALESCE(__ce_t.__ce_n_exact, 0) END AS n_evaluated,
    CASE WHEN method <> 'bounds' THEN __ce_t.__ce_middle END AS silhouette,
    CASE
      WHEN method <> 'bounds' AND __ce_t.__ce_k = __ce_r.__ce_n_clusters THEN __ce_t.__ce_macro
    END AS silhouette_macro,
    CASE
      WHEN method <> 'bounds' AND __ce_t.__ce_k = __ce_r.__ce_n_clusters THEN __ce_t.__ce_max
    END AS silhouette_max,
    CASE
      WHEN method = 'sample' AND __ce_t.__ce_m > 0
      THEN GREATEST(-1.0, __ce_t.__ce_middle - clustereval._sampling_error(
        __ce_t.__ce_m, __ce_r.__ce_total, confidence
      ))
      WHEN method IN ('exact', 'bounds') THEN __ce_t.__ce_lower
    END AS silhouette_lower,
    CASE
      WHEN method = 'sample' AND __ce_t.__ce_m > 0
      THEN LEAST(1.0, __ce_t.__ce_middle + clustereval._sampling_error(
        __ce_t.__ce_m, __ce_r.__ce_total, confidence
      ))
      WHEN method IN ('exact', 'bounds') THEN __ce_t.__ce_upper
    END AS silhouette_upper
  FROM __ce_counts AS __ce_r
  LEFT JOIN __ce_scored AS __ce_t
    ON __ce_t.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  WHERE clustereval._checked_options(clustereval._valid_silhouette(
    method, tolerance, sample_size, confidence, random_state,
    clustereval._valid_points(distance, p, 'mean', weights, noise, noise_as)
  ))
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_r.__ce_partition;
COMMENT ON MACRO TABLE clustereval.silhouette_score IS
'Mean silhouette of all points (see silhouette_samples), silhouette_macro, the mean over clusters of their means, and silhouette_max, the largest of these, one row a partition. Range [-1, 1], best 1; NULL with fewer than two clusters or with no two points together. method ''exact'': lower and upper are the mean itself, or with tolerance at most that far apart, and points that need not be measured for that (n_evaluated are) count with the middle of their bounds. ''simplified'': distances to centroids in place of points. ''bounds'': only an interval, certified, from sums over clusters. ''sample'': sample_size points, drawn by id and random_state, each against all points, with the limits of that confidence (Hoeffding). Source: Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7; Hruschka, de Castro and Campello (2004), Evolutionary algorithms for clustering gene-expression data, for simplified; Gaido (2023), arXiv:2303.14102, for sqeuclidean and cosine.';
