-- silhouette: how much nearer each point is to its own cluster than to the next one.
--
-- Reading rules, besides those of points.sql:
--   * A cluster goes by its number. Numbers follow the order of partitions and clusters, so that the
--     least number is the lowest key, and the clusters of a partition share their __ce_partition_no.
--   * A query is a point whose silhouette is asked for; a target is a cluster that it is held against:
--     its own, or one that may be its neighbor. Distances are measured to every point of a target.
--   * Mean distances are known within bounds before any distance of two points is measured, and only
--     the clusters that the bounds leave are targets.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

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
    THEN error(concat('tolerance: expected a number > 0, got ', clustereval._show_value(tolerance)))
    WHEN tolerance IS NOT NULL AND method <> 'exact'
    THEN error(concat('tolerance: goes with method ''exact'', got method ''', method, ''''))
    WHEN (sample_size IS NOT NULL OR method = 'sample')
      AND NOT coalesce(
        sample_size >= 1 AND sample_size < 9e18 AND sample_size = floor(sample_size), FALSE
      )
    THEN error(concat(
      'sample_size: expected a whole number >= 1, got ', clustereval._show_value(sample_size)
    ))
    WHEN sample_size IS NOT NULL AND method <> 'sample'
    THEN error(concat('sample_size: goes with method ''sample'', got method ''', method, ''''))
    WHEN NOT coalesce(confidence > 0 AND confidence < 1, FALSE)
    THEN error(concat(
      'confidence: expected a number between 0 and 1, got ', clustereval._show_value(confidence)
    ))
    WHEN NOT coalesce(
      random_state >= 0 AND random_state < 2147483648 AND random_state = floor(random_state), FALSE
    )
    THEN error(concat(
      'random_state: expected a whole number >= 0 and < 2147483648, got ',
      clustereval._show_value(random_state)
    ))
    ELSE query_text
  END;

-- The way to the distances, as a query: what it does not name is neither bound nor run.
CREATE OR REPLACE MACRO clustereval._silhouette_path(distance, p, method, tolerance) AS
  concat('SELECT * FROM ', CASE
    WHEN method = 'simplified' THEN '__ce_by_centers'
    WHEN clustereval._plain_distance_name(distance, p) IN ('sqeuclidean', 'cosine') THEN '__ce_by_moments'
    WHEN method = 'bounds' THEN '__ce_by_bounds'
    WHEN tolerance IS NOT NULL AND clustereval._plain_distance_name(distance, p) = 'euclidean'
    THEN '__ce_by_tolerance'
    ELSE '__ce_by_pairs'
  END);

-- What needs each point but once takes it as it streams by.
CREATE OR REPLACE MACRO clustereval._queries_path(distance, p, method) AS
  concat('SELECT * FROM ', CASE
    WHEN method = 'sample' THEN '__ce_drawn'
    WHEN method = 'simplified' THEN '__ce_streamed'
    WHEN clustereval._plain_distance_name(distance, p) IN ('sqeuclidean', 'cosine') THEN '__ce_streamed'
    ELSE '__ce_rows'
  END);

CREATE OR REPLACE MACRO clustereval._targets_path(distance, p) AS
  concat('SELECT * FROM ', CASE
    WHEN clustereval._plain_distance_name(distance, p) = 'cityblock' THEN '__ce_sorting'
    ELSE '__ce_bounds'
  END);

---------------------------------------------------------------------------------------------------
-- Clusters and points
---------------------------------------------------------------------------------------------------

-- One row a cluster that has points: its number, its size, its mean, and how far its points lie from
-- it. A coordinate that does not vary has its very value as mean, or rounding would part equal points.
-- __ce_spread is the mean squared distance to the mean, __ce_rounding_error what rounding may have moved that by,
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
      clustereval._compensated_sum(__ce_c.__ce_variance) AS __ce_spread,
      list(__ce_c.__ce_variance ORDER BY __ce_c.__ce_i) AS __ce_variances,
      list(
        CASE
          WHEN __ce_c.__ce_variance = 0 THEN __ce_s.__ce_some[__ce_c.__ce_i] ELSE __ce_c.__ce_center
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
    clustereval._center_direction(__ce_mean, distance) AS __ce_center,
    CASE WHEN __ce_spread = 0 THEN 0.0 ELSE 4e-15 * clustereval._norm(__ce_mean) END AS __ce_rounding_error,
    MIN(__ce_number) OVER (PARTITION BY __ce_partition) AS __ce_partition_no,
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
    __ce_c.__ce_number, __ce_c.__ce_partition_no,
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
    __ce_row, __ce_number, __ce_partition_no,
    CAST(row_number() OVER (
      PARTITION BY __ce_partition_no
      ORDER BY CASE WHEN NOT __ce_unnamed THEN __ce_id END NULLS LAST, __ce_row
    ) - 1 AS BIGINT) AS __ce_place
  FROM query_table(__ce_rows);

-- TRUE, or the error for an id that is there twice in a partition.
CREATE OR REPLACE MACRO clustereval._check_ids(__ce_rows) AS TABLE
  WITH __ce_twice AS (
    SELECT __ce_partition_no, __ce_id, COUNT(*) AS __ce_n
    FROM query_table(__ce_rows)
    WHERE NOT __ce_unnamed
    GROUP BY __ce_partition_no, __ce_id
    HAVING COUNT(*) > 1
  ),
  __ce_first AS (
    SELECT * FROM __ce_twice ORDER BY __ce_id NULLS LAST, __ce_partition_no LIMIT 1
  )
  SELECT CAST(error(concat(
    'id: expected one row for each id of a partition, got ', __ce_n, ' rows with ',
    clustereval._show_value(__ce_id)
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
      __ce_row, __ce_partition_no, __ce_place,
      clustereval._mixed_place(
        __ce_place % 2147483647, CAST(random_state AS BIGINT) % 2147483647
      ) AS __ce_mixed_place
    FROM clustereval._places(__ce_rows)
  ),
  __ce_ranked AS (
    SELECT
      __ce_row,
      row_number() OVER (
        PARTITION BY __ce_partition_no ORDER BY __ce_mixed_place, __ce_place
      ) AS __ce_rank
    FROM __ce_mixed
  )
  SELECT __ce_x.*
  FROM query_table(__ce_rows) AS __ce_x
  JOIN __ce_ranked AS __ce_r ON __ce_r.__ce_row = __ce_x.__ce_row
  WHERE __ce_r.__ce_rank <= sample_size
    AND COALESCE((SELECT MIN(__ce_valid) FROM query_table(__ce_checked_ids)), TRUE);

---------------------------------------------------------------------------------------------------
-- All ways to a and b, of which _silhouette_path chooses
---------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO clustereval._silhouette(a, b) AS
  CASE WHEN GREATEST(a, b) = 0 THEN 0.0 ELSE (b - a) / GREATEST(a, b) END;

-- The silhouettes of points from the bounds of a and b: NULL where there is no clustering, 0 in a
-- cluster of one.
CREATE OR REPLACE MACRO clustereval._point_silhouettes(__ce_measured, __ce_clusters) AS TABLE
  SELECT
    __ce_x.*,
    __ce_c.__ce_partition_no, __ce_c.__ce_total,
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
        PARTITION BY __ce_x.__ce_partition_no
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
  __ce_wide_targets AS (SELECT * FROM clustereval._target_lists(__ce_wide_bounds))
  SELECT * FROM clustereval._exact_silhouettes(
    __ce_wide_queries, __ce_rows, __ce_clusters, __ce_wide_targets, plain_distance, p
  )
  UNION ALL
  SELECT __ce_x.*
  FROM __ce_bound_ab AS __ce_x
  LEFT JOIN __ce_wide AS __ce_w ON __ce_w.__ce_row = __ce_x.__ce_row
  WHERE __ce_w.__ce_row IS NULL;

-- One row a query: bounds of a and b, which are equal where they are known (__ce_exact), and the
-- neighbor.
CREATE OR REPLACE MACRO clustereval._measured_silhouettes(
  __ce_queries, __ce_rows, __ce_clusters, distance, p, method, tolerance
) AS TABLE
  WITH __ce_by_centers AS NOT MATERIALIZED (
    SELECT * FROM clustereval._center_silhouettes(
      __ce_queries, __ce_clusters, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_by_moments AS NOT MATERIALIZED (
    SELECT * FROM clustereval._moment_silhouettes(
      __ce_queries, __ce_clusters, clustereval._plain_distance_name(distance, p)
    )
  ),
  __ce_bounds AS (
    SELECT * FROM clustereval._mean_distance_bounds(
      __ce_queries, __ce_rows, __ce_clusters, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_by_bounds AS NOT MATERIALIZED (
    SELECT * FROM clustereval._bound_silhouettes(__ce_bounds, __ce_clusters)
  ),
  __ce_sorting AS NOT MATERIALIZED (
    SELECT * FROM clustereval._sorting_targets(__ce_queries, __ce_rows, __ce_clusters)
  ),
  __ce_possible AS NOT MATERIALIZED (SELECT * FROM query(clustereval._targets_path(distance, p))),
  __ce_targets AS MATERIALIZED (SELECT * FROM clustereval._target_lists(__ce_possible)),
  __ce_by_pairs AS NOT MATERIALIZED (
    SELECT * FROM clustereval._exact_silhouettes(
      __ce_queries, __ce_rows, __ce_clusters, __ce_targets,
      clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_by_tolerance AS NOT MATERIALIZED (
    SELECT * FROM clustereval._tolerant_silhouettes(
      __ce_bounds, __ce_rows, __ce_clusters, clustereval._plain_distance_name(distance, p), p, tolerance
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
      tbl, vector, cluster, clustereval._plain_distance_name(distance, p), p, weights, partition_by,
      noise, noise_as, id
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')),
  __ce_centers AS (SELECT * FROM clustereval._cluster_centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._partition_centers(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_centers, __ce_middles, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, weights)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._silhouette_clusters(
      __ce_points, __ce_coordinates, __ce_spreads, distance
    )
  ),
  __ce_rows AS MATERIALIZED (
    SELECT * FROM clustereval._silhouette_rows(__ce_points, __ce_clusters, __ce_checked)
  ),
  __ce_checked_ids AS (SELECT * FROM clustereval._check_ids(__ce_rows)),
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
  WHERE clustereval._check_options(
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
      tbl, vector, cluster, clustereval._plain_distance_name(distance, p), p, weights, partition_by,
      noise, noise_as
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')),
  __ce_centers AS (SELECT * FROM clustereval._cluster_centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._partition_centers(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_centers, __ce_middles, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, weights)
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
      clustereval._compensated_sum(__ce_a_lower) / COUNT(*) AS __ce_a,
      clustereval._compensated_sum(__ce_b_lower) / COUNT(*) AS __ce_b,
      clustereval._compensated_sum(__ce_lower) / COUNT(*) AS __ce_s
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
  WHERE clustereval._check_options(
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
      __ce_partition_no, __ce_number,
      COUNT(*) AS __ce_n,
      COUNT(CASE WHEN __ce_exact THEN 1 END) AS __ce_n_exact,
      clustereval._compensated_sum(__ce_lower) AS __ce_lower,
      clustereval._compensated_sum(__ce_upper) AS __ce_upper,
      clustereval._compensated_sum((__ce_lower + __ce_upper) / 2) AS __ce_middle
    FROM query_table(__ce_silhouettes)
    GROUP BY __ce_partition_no, __ce_number
  )
  SELECT
    __ce_partition_no,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_m,
    COUNT(*) AS __ce_k,
    CAST(SUM(__ce_n_exact) AS BIGINT) AS __ce_n_exact,
    clustereval._compensated_sum(__ce_lower) / SUM(__ce_n) AS __ce_lower,
    clustereval._compensated_sum(__ce_upper) / SUM(__ce_n) AS __ce_upper,
    clustereval._compensated_sum(__ce_middle) / SUM(__ce_n) AS __ce_middle,
    clustereval._compensated_sum(__ce_middle / __ce_n) / COUNT(*) AS __ce_macro,
    MAX(__ce_middle / __ce_n) AS __ce_max
  FROM __ce_summed
  GROUP BY __ce_partition_no;

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
      tbl, vector, cluster, clustereval._plain_distance_name(distance, p), p, weights, partition_by,
      noise, noise_as, id
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')),
  __ce_centers AS (SELECT * FROM clustereval._cluster_centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._partition_centers(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_centers, __ce_middles, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, weights)
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
  __ce_checked_ids AS (SELECT * FROM clustereval._check_ids(__ce_rows)),
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
    JOIN __ce_clusters AS __ce_c ON __ce_c.__ce_number = __ce_t.__ce_partition_no
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
  WHERE clustereval._check_options(clustereval._valid_silhouette(
    method, tolerance, sample_size, confidence, random_state,
    clustereval._valid_points(distance, p, 'mean', weights, noise, noise_as)
  ))
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_r.__ce_partition;
COMMENT ON MACRO TABLE clustereval.silhouette_score IS
'Mean silhouette of all points (see silhouette_samples), silhouette_macro, the mean over clusters of their means, and silhouette_max, the largest of these, one row a partition. Range [-1, 1], best 1; NULL with fewer than two clusters or with no two points together. method ''exact'': lower and upper are the mean itself, or with tolerance at most that far apart, and points that need not be measured for that (n_evaluated are) count with the middle of their bounds. ''simplified'': distances to centroids in place of points. ''bounds'': only an interval, certified, from sums over clusters. ''sample'': sample_size points, drawn by id and random_state, each against all points, with the limits of that confidence (Hoeffding). Source: Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7; Hruschka, de Castro and Campello (2004), Evolutionary algorithms for clustering gene-expression data, for simplified; Gaido (2023), arXiv:2303.14102, for sqeuclidean and cosine.';
