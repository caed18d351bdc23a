-- silhouette: how much nearer each point is to its own cluster than to the nearest other one.
--
-- Reading rules, besides those of centroids.sql:
--   * Clusters have a number, __ce_number, in the order of partitions and clusters. A partition has
--     the least number of its clusters, __ce_partition_no.
--   * A member is a point that counts. A query, or queried point, is a member whose silhouette is
--     computed. A target is a cluster to which its mean distance is computed: its own, or one that
--     bounds of mean distances do not rule out as the nearest other.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- query_text unchanged; raises an error for the first bad one of the other arguments, options of
-- silhouette_score. query_text is SELECT TRUE from _valid_point_options, which _check_options runs,
-- so that options are checked before any row is read.
CREATE OR REPLACE MACRO clustereval._valid_silhouette_options(
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

-- Text of a query, SELECT * FROM the CTE of _mean_distances that computes mean distances as these
-- options of silhouette_score require. CTEs that are not named are neither bound nor run.
CREATE OR REPLACE MACRO clustereval._select_mean_distances(distance, p, method, tolerance) AS
  concat('SELECT * FROM ', CASE
    WHEN method = 'simplified' THEN '__ce_simplified_means'
    WHEN clustereval._plain_distance_name(distance, p) IN ('sqeuclidean', 'cosine')
    THEN '__ce_squared_means'
    WHEN method = 'bounds' THEN '__ce_means_of_bounds'
    WHEN tolerance IS NOT NULL AND clustereval._plain_distance_name(distance, p) = 'euclidean'
    THEN '__ce_tolerant_means'
    ELSE '__ce_exact_means'
  END);

-- Text of a query, SELECT * FROM the CTE with the points whose silhouettes are computed: the sample
-- for method 'sample', otherwise all points, which stream if they are read only once ('simplified',
-- sqeuclidean, cosine) and are materialized if not.
CREATE OR REPLACE MACRO clustereval._select_queries(distance, p, method) AS
  concat('SELECT * FROM ', CASE
    WHEN method = 'sample' THEN '__ce_sample'
    WHEN method = 'simplified' THEN '__ce_streamed_members'
    WHEN clustereval._plain_distance_name(distance, p) IN ('sqeuclidean', 'cosine')
    THEN '__ce_streamed_members'
    ELSE '__ce_members'
  END);

-- Text of a query, SELECT * FROM the CTE of _mean_distances with one row for each point and cluster
-- between which a mean distance is computed: one for cityblock (also minkowski of order p = 1), one
-- for other distances.
CREATE OR REPLACE MACRO clustereval._select_targets(distance, p) AS
  concat('SELECT * FROM ', CASE
    WHEN clustereval._plain_distance_name(distance, p) = 'cityblock' THEN '__ce_cityblock_targets'
    ELSE '__ce_bounds'
  END);

---------------------------------------------------------------------------------------------------
-- Clusters, points and samples of them
---------------------------------------------------------------------------------------------------

-- One row per member (a point that counts, a row of _cluster_members): __ce_row, and __ce_place,
-- its position from 0 in its partition, sorted by id, or by row number if no id was given.
CREATE OR REPLACE MACRO clustereval._id_places(__ce_members) AS TABLE
  SELECT
    __ce_row, __ce_number, __ce_partition_no,
    CAST(row_number() OVER (
      PARTITION BY __ce_partition_no ORDER BY
        CASE WHEN NOT __ce_has_default_id THEN __ce_id END ASC NULLS LAST, __ce_row ASC NULLS LAST
    ) - 1 AS BIGINT) AS __ce_place
  FROM query_table(__ce_members);

-- No row; raises an error if an id occurs twice in a partition. __ce_members are the rows of
-- _cluster_members, one per point that counts.
CREATE OR REPLACE MACRO clustereval._check_ids(__ce_members) AS TABLE
  WITH __ce_repeated AS (
    SELECT __ce_partition_no, __ce_id, COUNT(*) AS __ce_n
    FROM query_table(__ce_members)
    WHERE NOT __ce_has_default_id
    GROUP BY __ce_partition_no, __ce_id
    HAVING COUNT(*) > 1
  )
  SELECT CAST(error(concat(
    'id: expected one row for each id of a partition, got ', __ce_n, ' rows with ',
    clustereval._show_value(__ce_id)
  )) AS BOOLEAN) AS __ce_valid
  FROM (
    FROM __ce_repeated ORDER BY __ce_id ASC NULLS LAST, __ce_partition_no ASC NULLS LAST LIMIT 1
  );

-- x squared plus `added`, modulo 2^31 - 1, of integers below 2^31: a step of _sample_key.
CREATE OR REPLACE MACRO clustereval._square_step(x, added) AS (x * x + added) % 2147483647;
-- Sample key (see _sample_key) from x0, the position of a point among the sorted ids, and x1 and
-- x2, the results of the first two steps. The third step is linear in x2 and x0, the fourth its
-- square plus x1. A macro has no variables: a result used twice has to be a parameter.
CREATE OR REPLACE MACRO clustereval._sample_key_from_x2(x0, x1, x2) AS
  clustereval._square_step((x2 * 39373 + x0) % 2147483647, x1);
-- Sample key (see _sample_key) from x0, the position of a point among the sorted ids, x1, the
-- result of the first step, and the seed. The second step is x1 squared plus the seed.
CREATE OR REPLACE MACRO clustereval._sample_key_from_x1(x0, x1, seed) AS
  clustereval._sample_key_from_x2(x0, x1, clustereval._square_step(x1, seed));
-- Sample key of a point, a pseudorandom integer below 2^31 - 1: the points with the least keys are
-- the sample, the same in every engine. x0 is the point's position among the sorted ids, seed the
-- random_state, both modulo 2^31 - 1. The first of four steps is linear in x0 and the seed.
CREATE OR REPLACE MACRO clustereval._sample_key(x0, seed) AS
  clustereval._sample_key_from_x1(x0, (x0 * 48271 + seed * 69621 + 1) % 2147483647, seed);

-- The rows of __ce_members (_cluster_members) that method 'sample' evaluates: the sample_size
-- points of each partition with the least sample keys (_sample_key), which depend on random_state.
-- __ce_ids_check is read for the error that _check_ids raises for a repeated id.
CREATE OR REPLACE MACRO clustereval._sample_members(
  __ce_members, __ce_ids_check, sample_size, random_state
) AS TABLE
  WITH __ce_keyed AS (
    SELECT
      __ce_row, __ce_partition_no, __ce_place,
      clustereval._sample_key(
        __ce_place % 2147483647, CAST(random_state AS BIGINT) % 2147483647
      ) AS __ce_sample_key
    FROM clustereval._id_places(__ce_members)
  ),
  __ce_ranked AS (
    SELECT
      __ce_row,
      row_number() OVER (
        PARTITION BY __ce_partition_no
        ORDER BY __ce_sample_key ASC NULLS LAST, __ce_place ASC NULLS LAST
      ) AS __ce_rank
    FROM __ce_keyed
  )
  SELECT member.*
  FROM query_table(__ce_members) AS member
  JOIN __ce_ranked AS ranked ON ranked.__ce_row = member.__ce_row
  WHERE ranked.__ce_rank <= sample_size
    AND COALESCE((SELECT MIN(__ce_valid) FROM query_table(__ce_ids_check)), TRUE);

---------------------------------------------------------------------------------------------------
-- Silhouettes of queries
---------------------------------------------------------------------------------------------------

-- Silhouette (b - a) / max(a, b) from the mean distances a to the own cluster and b to the nearest
-- other cluster; 0 if both are 0.
CREATE OR REPLACE MACRO clustereval._silhouette_value(a, b) AS
  CASE WHEN GREATEST(a, b) = 0 THEN 0.0 ELSE (b - a) / GREATEST(a, b) END;

-- One row per point of __ce_mean_distances (_mean_distances): its columns, __ce_partition_no,
-- __ce_total (points of the partition), and bounds of its silhouette, __ce_lower and __ce_upper,
-- equal if the mean distances are exact. They are NULL if there is one cluster, or as many as
-- points, and 0 in a cluster of one point. __ce_clusters are the rows of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._point_silhouettes(__ce_mean_distances, __ce_clusters) AS TABLE
  SELECT
    query.*,
    own.__ce_partition_no, own.__ce_total,
    CASE
      WHEN NOT clustereval._is_clustering(own.__ce_total, own.__ce_n_clusters) THEN NULL
      WHEN own.__ce_n = 1 THEN 0.0
      ELSE clustereval._silhouette_value(query.__ce_a_upper, query.__ce_b_lower)
    END AS __ce_lower,
    CASE
      WHEN NOT clustereval._is_clustering(own.__ce_total, own.__ce_n_clusters) THEN NULL
      WHEN own.__ce_n = 1 THEN 0.0
      ELSE clustereval._silhouette_value(query.__ce_a_lower, query.__ce_b_upper)
    END AS __ce_upper
  FROM query_table(__ce_mean_distances) AS query
  JOIN query_table(__ce_clusters) AS own ON own.__ce_number = query.__ce_number;

-- One row (__ce_row) per point whose silhouette must be computed exactly so that the bounds of the
-- partition's mean silhouette are at most `tolerance` apart. The widths of the bounds of all others
-- add up to at most tolerance times the number of points, and these are the narrowest. __ce_bounded
-- are the rows of _point_silhouettes; __ce_members are those of _cluster_members (ids break ties).
CREATE OR REPLACE MACRO clustereval._queries_to_evaluate(
  __ce_bounded, __ce_members, tolerance
) AS TABLE
  WITH __ce_cumulated AS (
    SELECT
      query.__ce_row, query.__ce_total,
      SUM(query.__ce_upper - query.__ce_lower) OVER (
        PARTITION BY query.__ce_partition_no ORDER BY
          query.__ce_upper - query.__ce_lower ASC NULLS LAST, id_place.__ce_place DESC NULLS LAST
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) AS __ce_cumulated_width
    FROM query_table(__ce_bounded) AS query
    JOIN clustereval._id_places(__ce_members) AS id_place ON id_place.__ce_row = query.__ce_row
  )
  SELECT __ce_row FROM __ce_cumulated WHERE __ce_cumulated_width / __ce_total > tolerance;

-- One row per point, with the columns of _mean_distances: exact mean distances if the tolerance of
-- the mean silhouette requires them (_queries_to_evaluate), otherwise bounds. Tables: __ce_bounds,
-- __ce_members and __ce_clusters, the rows of _mean_distance_bounds, _cluster_members and
-- _cluster_moments. plain_distance is the distance in lower case.
CREATE OR REPLACE MACRO clustereval._tolerant_means(
  __ce_bounds, __ce_members, __ce_clusters, plain_distance, p, tolerance
) AS TABLE
  WITH __ce_bounded_means AS MATERIALIZED (
    SELECT * FROM clustereval._means_of_bounds(__ce_bounds, __ce_clusters)
  ),
  __ce_bounded_silhouettes AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_bounded_means, __ce_clusters)
  ),
  __ce_required AS MATERIALIZED (
    SELECT *
    FROM clustereval._queries_to_evaluate(__ce_bounded_silhouettes, __ce_members, tolerance)
  ),
  __ce_required_queries AS MATERIALIZED (
    SELECT member.*
    FROM query_table(__ce_members) AS member
    JOIN __ce_required AS required ON required.__ce_row = member.__ce_row
  ),
  __ce_required_bounds AS NOT MATERIALIZED (
    SELECT bound.*
    FROM query_table(__ce_bounds) AS bound
    JOIN __ce_required AS required ON required.__ce_row = bound.__ce_row
  ),
  __ce_required_targets AS (SELECT * FROM clustereval._target_lists(__ce_required_bounds))
  SELECT * FROM clustereval._exact_means(
    __ce_required_queries, __ce_members, __ce_clusters, __ce_required_targets, plain_distance, p
  )
  UNION ALL
  SELECT query.*
  FROM __ce_bounded_means AS query
  LEFT JOIN __ce_required AS required ON required.__ce_row = query.__ce_row
  WHERE required.__ce_row IS NULL;

-- One row (__ce_row) per row of __ce_queries, points whose silhouettes are computed: bounds of its
-- mean distances to its own cluster, __ce_number (__ce_a_lower, __ce_a_upper), and to the nearest
-- other, __ce_neighbor (__ce_b_lower, __ce_b_upper). If __ce_exact, the bounds are equal; otherwise
-- __ce_neighbor is NULL. __ce_members are all points (both: rows of _cluster_members),
-- __ce_clusters the rows of _cluster_moments; the rest are options of silhouette_score.
CREATE OR REPLACE MACRO clustereval._mean_distances(
  __ce_queries, __ce_members, __ce_clusters, distance, p, method, tolerance
) AS TABLE
  WITH __ce_simplified_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._simplified_means(
      __ce_queries, __ce_clusters, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_squared_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._squared_means(
      __ce_queries, __ce_clusters, clustereval._plain_distance_name(distance, p)
    )
  ),
  __ce_bounds AS (
    SELECT * FROM clustereval._mean_distance_bounds(
      __ce_queries, __ce_members, __ce_clusters, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_means_of_bounds AS NOT MATERIALIZED (
    SELECT * FROM clustereval._means_of_bounds(__ce_bounds, __ce_clusters)
  ),
  __ce_cityblock_targets AS NOT MATERIALIZED (
    SELECT * FROM clustereval._cityblock_targets(__ce_queries, __ce_members, __ce_clusters)
  ),
  __ce_targets AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_targets(distance, p))
  ),
  __ce_target_lists AS MATERIALIZED (SELECT * FROM clustereval._target_lists(__ce_targets)),
  __ce_exact_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._exact_means(
      __ce_queries, __ce_members, __ce_clusters, __ce_target_lists,
      clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_tolerant_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._tolerant_means(
      __ce_bounds, __ce_members, __ce_clusters, clustereval._plain_distance_name(distance, p), p,
      tolerance
    )
  )
  SELECT * FROM query(clustereval._select_mean_distances(distance, p, method, tolerance));

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Silhouette of each point of the table tbl (one row per point: its vector and cluster).
-- Examples:
--   FROM clustereval.silhouette_samples(points, [x, y, z], cluster);
--   FROM clustereval.silhouette_samples(points, [x, y, z], cluster, distance := 'cityblock');
CREATE OR REPLACE MACRO clustereval.silhouette_samples(
  tbl, vector, cluster, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, noise := NULL, noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, clustereval._plain_distance_name(distance, p), p, weights, partition_by,
      noise, noise_as, missing, id
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, 'mean')),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._move_points(__ce_rows, __ce_origins, weights)
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._moved_moments(
      __ce_moments, __ce_points, __ce_origins, distance, p, 'mean', weights
    )
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_centers, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_points_check AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_moments(__ce_coordinates, __ce_spreads, distance)
  ),
  __ce_members AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_members(__ce_points, __ce_clusters, __ce_points_check)
  ),
  __ce_ids_check AS (SELECT * FROM clustereval._check_ids(__ce_members)),
  __ce_mean_distances AS (
    SELECT * FROM clustereval._mean_distances(
      __ce_members, __ce_members, __ce_clusters, distance, p, 'exact', NULL
    )
  ),
  __ce_silhouettes AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_mean_distances, __ce_clusters)
  )
  SELECT
    own.__ce_partition AS partition_key,
    clustereval._row_id(member.__ce_id, member.__ce_row - 1, member.__ce_has_default_id) AS id,
    own.__ce_cluster AS cluster,
    nearest.__ce_cluster AS neighbor,
    scored.__ce_a_lower AS a,
    scored.__ce_b_lower AS b,
    scored.__ce_lower AS silhouette
  FROM __ce_members AS member
  JOIN __ce_silhouettes AS scored
    ON scored.__ce_row = member.__ce_row AND scored.__ce_number = member.__ce_number
  JOIN __ce_clusters AS own ON own.__ce_number = member.__ce_number
  LEFT JOIN __ce_clusters AS nearest ON nearest.__ce_number = scored.__ce_neighbor
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_points_check), TRUE)
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_ids_check), TRUE)
  ORDER BY own.__ce_partition ASC NULLS LAST, 2 ASC NULLS LAST;

-- Mean silhouette of each cluster of the table tbl (one row per point: its vector and cluster).
-- Examples:
--   FROM clustereval.silhouette_clusters(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.silhouette_clusters(
  tbl, vector, cluster, distance := 'euclidean', p := 2, partition_by := NULL, noise := NULL,
  noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, clustereval._plain_distance_name(distance, p), p, weights, partition_by,
      noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, 'mean')),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._move_points(__ce_rows, __ce_origins, weights)
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._moved_moments(
      __ce_moments, __ce_points, __ce_origins, distance, p, 'mean', weights
    )
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_centers, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_points_check AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_moments(__ce_coordinates, __ce_spreads, distance)
  ),
  __ce_streamed_members AS NOT MATERIALIZED (
    SELECT * FROM clustereval._cluster_members(__ce_points, __ce_clusters, __ce_points_check)
  ),
  __ce_members AS MATERIALIZED (SELECT * FROM __ce_streamed_members),
  __ce_queries AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_queries(distance, p, 'exact'))
  ),
  __ce_mean_distances AS (
    SELECT * FROM clustereval._mean_distances(
      __ce_queries, __ce_members, __ce_clusters, distance, p, 'exact', NULL
    )
  ),
  __ce_cluster_means AS (
    SELECT
      __ce_number,
      clustereval._compensated_sum(__ce_a_lower) / COUNT(*) AS __ce_a,
      clustereval._compensated_sum(__ce_b_lower) / COUNT(*) AS __ce_b,
      clustereval._compensated_sum(__ce_lower) / COUNT(*) AS __ce_silhouette
    FROM clustereval._point_silhouettes(__ce_mean_distances, __ce_clusters)
    GROUP BY __ce_number
  )
  SELECT
    own.__ce_partition AS partition_key,
    own.__ce_cluster AS cluster,
    own.__ce_n AS n,
    averaged.__ce_a AS a,
    averaged.__ce_b AS b,
    averaged.__ce_silhouette AS silhouette
  FROM __ce_clusters AS own
  LEFT JOIN __ce_cluster_means AS averaged ON averaged.__ce_number = own.__ce_number
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_points_check), TRUE)
  ORDER BY own.__ce_number ASC NULLS LAST;

-- One row per partition (__ce_partition_no), from __ce_silhouettes, the rows of _point_silhouettes:
-- their number __ce_n, how many are exact (__ce_n_exact), the number of their clusters
-- (__ce_n_clusters), the means of __ce_lower, of __ce_upper and of the middle of both
-- (__ce_middle), and of the mean middles by cluster the mean (__ce_macro) and the maximum
-- (__ce_largest).
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
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_n,
    COUNT(*) AS __ce_n_clusters,
    CAST(SUM(__ce_n_exact) AS BIGINT) AS __ce_n_exact,
    clustereval._compensated_sum(__ce_lower) / SUM(__ce_n) AS __ce_lower,
    clustereval._compensated_sum(__ce_upper) / SUM(__ce_n) AS __ce_upper,
    clustereval._compensated_sum(__ce_middle) / SUM(__ce_n) AS __ce_middle,
    clustereval._compensated_sum(__ce_middle / __ce_n) / COUNT(*) AS __ce_macro,
    MAX(__ce_middle / __ce_n) AS __ce_largest
  FROM __ce_summed
  GROUP BY __ce_partition_no;

-- With probability `confidence`, the most by which the mean of m numbers in [-1, 1] (silhouettes),
-- sampled out of n, differs from the mean of all n (Hoeffding); 0 if m = n.
CREATE OR REPLACE MACRO clustereval._sampling_error(m, n, confidence) AS
  CASE WHEN m = n THEN 0.0 ELSE sqrt(2 * ln(2 / (1 - CAST(confidence AS DOUBLE))) / m) END;

-- Mean silhouette of the points of the table tbl (one row per point: its vector and cluster).
-- Examples:
--   FROM clustereval.silhouette_score(points, [x, y, z], cluster);
--   FROM clustereval.silhouette_score(points, [x, y, z], cluster, method := 'bounds');
--   FROM clustereval.silhouette_score(points, [x, y, z], cluster, tolerance := 0.01);
--   FROM clustereval.silhouette_score(
--     points, [x, y, z], cluster, method := 'sample', sample_size := 4
--   );
CREATE OR REPLACE MACRO clustereval.silhouette_score(
  tbl, vector, cluster, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, noise := NULL, noise_as := NULL, weights := NULL, method := 'exact',
  tolerance := NULL, sample_size := NULL, confidence := 0.95, random_state := 0,
  missing := 'error'
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, clustereval._plain_distance_name(distance, p), p, weights, partition_by,
      noise, noise_as, missing, id
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, 'mean')),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._move_points(__ce_rows, __ce_origins, weights)
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._moved_moments(
      __ce_moments, __ce_points, __ce_origins, distance, p, 'mean', weights
    )
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_centers, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_spreads)),
  __ce_points_check AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_moments(__ce_coordinates, __ce_spreads, distance)
  ),
  __ce_streamed_members AS NOT MATERIALIZED (
    SELECT * FROM clustereval._cluster_members(__ce_points, __ce_clusters, __ce_points_check)
  ),
  __ce_members AS MATERIALIZED (SELECT * FROM __ce_streamed_members),
  __ce_ids_check AS (SELECT * FROM clustereval._check_ids(__ce_members)),
  __ce_sample AS MATERIALIZED (
    SELECT *
    FROM clustereval._sample_members(__ce_members, __ce_ids_check, sample_size, random_state)
  ),
  __ce_queries AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_queries(distance, p, method))
  ),
  __ce_mean_distances AS (
    SELECT * FROM clustereval._mean_distances(
      __ce_queries, __ce_members, __ce_clusters, distance, p, method, tolerance
    )
  ),
  __ce_silhouettes AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_mean_distances, __ce_clusters)
  ),
  __ce_totals AS (SELECT * FROM clustereval._silhouette_totals(__ce_silhouettes)),
  __ce_scored AS (
    SELECT own.__ce_partition, totals.*
    FROM __ce_totals AS totals
    JOIN __ce_clusters AS own ON own.__ce_number = totals.__ce_partition_no
    WHERE clustereval._is_clustering(own.__ce_total, own.__ce_n_clusters)
  )
  SELECT
    counts.__ce_partition AS partition_key,
    counts.__ce_total AS n,
    counts.__ce_n_dropped AS n_dropped,
    counts.__ce_n_noise AS n_noise,
    counts.__ce_n_clusters AS n_clusters,
    counts.__ce_n_singletons AS n_singletons,
    CASE WHEN method = 'bounds' THEN 0 ELSE COALESCE(scored.__ce_n_exact, 0) END AS n_evaluated,
    CASE WHEN method <> 'bounds' THEN scored.__ce_middle END AS silhouette,
    CASE
      WHEN method <> 'bounds' AND scored.__ce_n_clusters = counts.__ce_n_clusters
      THEN scored.__ce_macro
    END AS silhouette_macro,
    CASE
      WHEN method <> 'bounds' AND scored.__ce_n_clusters = counts.__ce_n_clusters
      THEN scored.__ce_largest
    END AS silhouette_max,
    CASE
      WHEN method = 'sample' AND scored.__ce_n > 0
      THEN GREATEST(-1.0, scored.__ce_middle - clustereval._sampling_error(
        scored.__ce_n, counts.__ce_total, confidence
      ))
      WHEN method IN ('exact', 'bounds') THEN scored.__ce_lower
    END AS silhouette_lower,
    CASE
      WHEN method = 'sample' AND scored.__ce_n > 0
      THEN LEAST(1.0, scored.__ce_middle + clustereval._sampling_error(
        scored.__ce_n, counts.__ce_total, confidence
      ))
      WHEN method IN ('exact', 'bounds') THEN scored.__ce_upper
    END AS silhouette_upper
  FROM __ce_counts AS counts
  LEFT JOIN __ce_scored AS scored
    ON scored.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  WHERE clustereval._check_options(clustereval._valid_silhouette_options(
    method, tolerance, sample_size, confidence, random_state,
    clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  ))
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_points_check), TRUE)
  ORDER BY counts.__ce_partition ASC NULLS LAST;
