-- silhouette: how much nearer each point is to its own cluster than to the nearest other one.
--
-- Reading rules, besides those of centroids.sql:
--   * Clusters have a number, number, in the order of partitions and clusters. A partition has
--     the smallest number of its clusters, partition_no.
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
  method, tolerance, sample_size, reference_size, confidence, random_state, query_text
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
    WHEN (sample_size IS NOT NULL OR (method = 'sample' AND reference_size IS NULL))
      AND NOT coalesce(
        sample_size >= 1 AND sample_size < 9e18 AND sample_size = floor(sample_size), FALSE
      )
    THEN error(concat(
      'sample_size: expected a whole number >= 1, got ', clustereval._show_value(sample_size)
    ))
    WHEN sample_size IS NOT NULL AND method <> 'sample'
    THEN error(concat('sample_size: goes with method ''sample'', got method ''', method, ''''))
    WHEN reference_size IS NOT NULL AND method <> 'sample'
    THEN error(concat('reference_size: goes with method ''sample'', got method ''', method, ''''))
    WHEN reference_size IS NOT NULL
      AND NOT (
        reference_size >= 2 AND reference_size < 9e18 AND reference_size = floor(reference_size)
      )
    THEN error(concat(
      'reference_size: expected a whole number >= 2, got ', clustereval._show_value(reference_size)
    ))
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

-- As _valid_silhouette_options, for silhouette_samples and silhouette_clusters.
CREATE OR REPLACE MACRO clustereval._valid_means_options(
  method, sample_size, reference_size, random_state, query_text
) AS
  CASE
    WHEN coalesce(method, '') NOT IN ('exact', 'sample')
    THEN error(concat(
      'method: expected one of ''exact'', ''sample'', got ',
      coalesce('''' || method || '''', 'NULL')
    ))
    ELSE clustereval._valid_silhouette_options(
      method, NULL, sample_size, reference_size, 0.95, random_state, query_text
    )
  END;

-- Text of a query for all rows of the CTE of _mean_distances that computes mean distances as these
-- options of silhouette_score require. CTEs that are not named are neither bound nor run.
CREATE OR REPLACE MACRO clustereval._select_mean_distances(
  distance, p, method, tolerance, reference_size
) AS
  concat('SELECT *', CASE
    WHEN method = 'simplified' THEN clustereval._without_variants('simplified_means')
    WHEN clustereval._plain_distance_name(distance, p) IN ('sqeuclidean', 'cosine')
    THEN clustereval._without_variants('squared_means')
    WHEN method = 'bounds' THEN clustereval._without_variants('means_of_bounds')
    WHEN reference_size IS NOT NULL THEN ' FROM reference_means'
    WHEN tolerance IS NOT NULL AND clustereval._plain_distance_name(distance, p) = 'euclidean'
    THEN clustereval._without_variants('tolerant_means')
    ELSE clustereval._without_variants('exact_means')
  END);

-- Text of a query for all rows of the CTE with the points whose silhouettes are computed: the
-- sample for method 'sample' and for references, otherwise all points, which stream if they are
-- read only once ('simplified', sqeuclidean, cosine) and are materialized if not. DuckDB 1.4 binds
-- the CTEs of references without any, too.
CREATE OR REPLACE MACRO clustereval._select_queries(distance, p, method, reference_size) AS
  CASE
    WHEN method = 'sample' OR reference_size IS NOT NULL THEN 'SELECT * FROM __ce_sample'
    ELSE concat('SELECT *, FALSE AS is_reference, 0 AS reference_rank FROM ', CASE
      WHEN method = 'simplified' THEN '__ce_streamed_members'
      WHEN clustereval._plain_distance_name(distance, p) IN ('sqeuclidean', 'cosine')
      THEN '__ce_streamed_members'
      ELSE '__ce_members'
    END)
  END;

-- Text of a query for all rows of a CTE of _mean_distances with one row for each point and cluster
-- between which a mean distance is computed: one for cityblock (also minkowski of order p = 1), one
-- for other distances.
CREATE OR REPLACE MACRO clustereval._select_targets(distance, p) AS
  concat('SELECT * FROM ', CASE
    WHEN clustereval._plain_distance_name(distance, p) = 'cityblock' THEN 'cityblock_targets'
    ELSE 'bounds'
  END);

---------------------------------------------------------------------------------------------------
-- Silhouettes of queries
---------------------------------------------------------------------------------------------------

-- Silhouette (b - a) / max(a, b) from the mean distances a to the own cluster and b to the nearest
-- other cluster; 0 if both are 0.
CREATE OR REPLACE MACRO clustereval._silhouette_value(a, b) AS
  CASE WHEN GREATEST(a, b) = 0 THEN 0.0 ELSE (b - a) / GREATEST(a, b) END;

-- One row per point of mean_distances (_mean_distances): its columns, partition_no, total (points
-- of the partition), cluster_size, and bounds of its silhouette, lower and upper, equal if the mean
-- distances are exact. They are NULL if there is one cluster, or as many as points, and 0 in a
-- cluster of one point. clusters are the rows of _cluster_moments.
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
-- partition's mean silhouette are at most `tolerance` apart. The widths of the bounds of all others
-- add up to at most tolerance times the number of points, and these are the narrowest. bounded are
-- the rows of _point_silhouettes; members are those of _cluster_members (ids break ties).
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
    required_queries, members, clusters, required_targets, plain_distance, p
  )
  UNION ALL
  SELECT query.*
  FROM bounded_means AS query
  LEFT JOIN required ON required.row_no = query.row_no
  WHERE required.row_no IS NULL;

-- One row (row_no) per row of queries, points whose silhouettes are computed: bounds of its mean
-- distances to its own cluster, number (a_lower, a_upper), and to the nearest other, neighbor
-- (b_lower, b_upper). If exact, the bounds are equal; otherwise neighbor is NULL. members are all
-- points (both: rows of _cluster_members), reference_points rows of _drawn_members, clusters the
-- rows of _cluster_moments; the rest are options of silhouette_score.
CREATE OR REPLACE MACRO clustereval._mean_distances(
  queries, members, reference_points, clusters, distance, p, method, tolerance, reference_size
) AS TABLE
  WITH simplified_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._simplified_means(
      queries, clusters, clustereval._plain_distance_name(distance, p), p
    )
  ),
  squared_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._squared_means(
      queries, clusters, clustereval._plain_distance_name(distance, p)
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
  targets AS NOT MATERIALIZED (SELECT * FROM query(clustereval._select_targets(distance, p))),
  target_lists AS MATERIALIZED (SELECT * FROM clustereval._target_lists(targets)),
  exact_means AS NOT MATERIALIZED (
    SELECT * FROM clustereval._exact_means(
      queries, members, clusters, target_lists,
      clustereval._plain_distance_name(distance, p), p
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

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Silhouette of each point of the table tbl (one row per point: its vector and cluster).
-- Examples:
--   FROM clustereval.silhouette_samples(points, [x, y, z], cluster);
--   FROM clustereval.silhouette_samples(points, [x, y, z], cluster, distance := 'cityblock');
CREATE OR REPLACE MACRO clustereval.silhouette_samples(
  tbl, vector, cluster, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, noise := NULL, noise_as := NULL, weights := NULL, method := 'exact',
  sample_size := NULL, reference_size := NULL, random_state := 0, missing := 'error'
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, clustereval._plain_distance_name(distance, p), p, weights, partition_by,
      noise, noise_as, missing, id
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, 'mean')),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._point_origins(
      __ce_rows, __ce_moments, distance, p, 'mean', weights
    )
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
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_centers, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_points_check AS (
    SELECT * FROM clustereval._check_points(
      __ce_points, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_moments(__ce_coordinates, __ce_spreads, distance)
  ),
  __ce_streamed_members AS NOT MATERIALIZED (
    SELECT * FROM clustereval._cluster_members(__ce_points, __ce_clusters, __ce_points_check)
  ),
  __ce_members AS MATERIALIZED (SELECT * FROM __ce_streamed_members),
  __ce_population AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_population(distance, p, reference_size))
  ),
  __ce_ids AS (
    SELECT
      member.row_no, member.number, member.partition_no,
      member.id, member.has_default_id
    FROM __ce_population AS member
  ),
  __ce_ids_check AS (SELECT * FROM clustereval._check_ids(__ce_ids)),
  __ce_drawn AS MATERIALIZED (
    SELECT * FROM clustereval._drawn_members(
      __ce_population, __ce_ids, __ce_ids_check, sample_size, reference_size, random_state
    )
  ),
  __ce_sample AS NOT MATERIALIZED (SELECT * FROM __ce_drawn WHERE is_query),
  __ce_references AS NOT MATERIALIZED (SELECT * FROM __ce_drawn WHERE is_reference),
  __ce_queries AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_queries('euclidean', 2, method, reference_size))
  ),
  __ce_mean_distances AS (
    SELECT * FROM clustereval._mean_distances(
      __ce_queries, __ce_members, __ce_references, __ce_clusters, distance, p, method, NULL,
      reference_size
    )
  ),
  __ce_silhouettes AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_mean_distances, __ce_clusters)
  ),
  __ce_no_errors AS NOT MATERIALIZED (
    SELECT
      number AS group_no,
      CAST(NULL AS DOUBLE) AS variance,
      CAST(NULL AS DOUBLE) AS std_error
    FROM __ce_clusters
    WHERE FALSE
  ),
  __ce_reference_variances AS NOT MATERIALIZED (
    SELECT * FROM clustereval._reference_variances(
      __ce_mean_distances, __ce_queries, __ce_references, __ce_clusters,
      clustereval._plain_distance_name(distance, p), p, reference_size, 'point'
    )
  ),
  __ce_variances AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_reference_variances(distance, p, reference_size))
  ),
  __ce_sample_errors AS NOT MATERIALIZED (
    SELECT * FROM clustereval._sample_errors(__ce_silhouettes, __ce_variances, 'point')
  ),
  __ce_errors AS NOT MATERIALIZED (SELECT * FROM query(clustereval._select_errors(method)))
  SELECT
    own.partition_key,
    clustereval._row_id(member.id, member.row_no - 1, member.has_default_id) AS id,
    own.cluster,
    nearest.cluster AS neighbor,
    scored.a_lower AS a,
    scored.b_lower AS b,
    scored.lower AS silhouette,
    errors.std_error
  FROM __ce_queries AS member
  JOIN __ce_silhouettes AS scored ON scored.row_no = member.row_no AND scored.number = member.number
  JOIN __ce_clusters AS own ON own.number = member.number
  LEFT JOIN __ce_clusters AS nearest ON nearest.number = scored.neighbor
  LEFT JOIN __ce_errors AS errors ON errors.group_no = member.row_no
  WHERE clustereval._check_options(clustereval._valid_means_options(
    method, sample_size, reference_size, random_state,
    clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  ))
    AND COALESCE((SELECT MIN(valid) FROM __ce_points_check), TRUE)
    AND COALESCE((SELECT MIN(valid) FROM __ce_ids_check), TRUE)
  ORDER BY own.partition_key ASC NULLS LAST, 2 ASC NULLS LAST;

-- Mean silhouette of each cluster of the table tbl (one row per point: its vector and cluster).
-- Examples:
--   FROM clustereval.silhouette_clusters(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.silhouette_clusters(
  tbl, vector, cluster, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, noise := NULL, noise_as := NULL, weights := NULL, method := 'exact',
  sample_size := NULL, reference_size := NULL, random_state := 0, missing := 'error'
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, clustereval._plain_distance_name(distance, p), p, weights, partition_by,
      noise, noise_as, missing, id
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, 'mean')),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._point_origins(
      __ce_rows, __ce_moments, distance, p, 'mean', weights
    )
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
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_centers, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_points_check AS (
    SELECT * FROM clustereval._check_points(
      __ce_points, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_moments(__ce_coordinates, __ce_spreads, distance)
  ),
  __ce_streamed_members AS NOT MATERIALIZED (
    SELECT * FROM clustereval._cluster_members(__ce_points, __ce_clusters, __ce_points_check)
  ),
  __ce_members AS MATERIALIZED (SELECT * FROM __ce_streamed_members),
  __ce_population AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_population(distance, p, reference_size))
  ),
  __ce_ids AS (
    SELECT
      member.row_no, member.number, member.partition_no,
      member.id, member.has_default_id
    FROM __ce_population AS member
  ),
  __ce_ids_check AS (SELECT * FROM clustereval._check_ids(__ce_ids)),
  __ce_drawn AS MATERIALIZED (
    SELECT * FROM clustereval._drawn_members(
      __ce_population, __ce_ids, __ce_ids_check, sample_size, reference_size, random_state
    )
  ),
  __ce_sample AS NOT MATERIALIZED (SELECT * FROM __ce_drawn WHERE is_query),
  __ce_references AS NOT MATERIALIZED (SELECT * FROM __ce_drawn WHERE is_reference),
  __ce_queries AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_queries(distance, p, method, reference_size))
  ),
  __ce_mean_distances AS (
    SELECT * FROM clustereval._mean_distances(
      __ce_queries, __ce_members, __ce_references, __ce_clusters, distance, p, method, NULL,
      reference_size
    )
  ),
  __ce_plain_silhouettes AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_mean_distances, __ce_clusters)
  ),
  __ce_unbiased_silhouettes AS NOT MATERIALIZED (
    SELECT * FROM clustereval._unbiased_silhouettes(__ce_plain_silhouettes)
  ),
  __ce_silhouettes AS (
    SELECT * FROM query(clustereval._select_silhouettes_to_average(distance, p, reference_size))
  ),
  __ce_no_errors AS NOT MATERIALIZED (
    SELECT
      number AS group_no,
      CAST(NULL AS DOUBLE) AS variance,
      CAST(NULL AS DOUBLE) AS std_error
    FROM __ce_clusters
    WHERE FALSE
  ),
  __ce_reference_variances AS NOT MATERIALIZED (
    SELECT * FROM clustereval._reference_variances(
      __ce_mean_distances, __ce_queries, __ce_references, __ce_clusters,
      clustereval._plain_distance_name(distance, p), p, reference_size, 'cluster'
    )
  ),
  __ce_variances AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_reference_variances(distance, p, reference_size))
  ),
  __ce_sample_errors AS NOT MATERIALIZED (
    SELECT * FROM clustereval._sample_errors(__ce_silhouettes, __ce_variances, 'cluster')
  ),
  __ce_errors AS NOT MATERIALIZED (SELECT * FROM query(clustereval._select_errors(method))),
  __ce_cluster_means AS (
    SELECT
      number,
      clustereval._compensated_sum(a_lower) / COUNT(*) AS a,
      clustereval._compensated_sum(b_lower) / COUNT(*) AS b,
      clustereval._compensated_sum(lower) / COUNT(*) AS silhouette
    FROM __ce_silhouettes
    GROUP BY number
  )
  SELECT
    own.partition_key,
    own.cluster,
    own.n,
    averaged.a,
    averaged.b,
    averaged.silhouette,
    errors.std_error
  FROM __ce_clusters AS own
  LEFT JOIN __ce_cluster_means AS averaged ON averaged.number = own.number
  LEFT JOIN __ce_errors AS errors ON errors.group_no = own.number
  WHERE clustereval._check_options(clustereval._valid_means_options(
    method, sample_size, reference_size, random_state,
    clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  ))
    AND COALESCE((SELECT MIN(valid) FROM __ce_points_check), TRUE)
  ORDER BY own.number ASC NULLS LAST;

-- One row per partition (partition_no), from silhouettes, the rows of _point_silhouettes: their
-- number n, how many are exact (n_exact), the number of their clusters (n_clusters), the means of
-- lower, of upper and of the middle of both (middle), and of the mean middles by cluster the mean
-- (macro) and the maximum (largest).
CREATE OR REPLACE MACRO clustereval._silhouette_totals(silhouettes) AS TABLE
  WITH summed AS (
    SELECT
      partition_no, number,
      COUNT(*) AS n,
      COUNT(CASE WHEN exact THEN 1 END) AS n_exact,
      clustereval._compensated_sum(lower) AS lower,
      clustereval._compensated_sum(upper) AS upper,
      clustereval._compensated_sum((lower + upper) / 2) AS middle
    FROM query_table(silhouettes)
    GROUP BY partition_no, number
  )
  SELECT
    partition_no,
    CAST(SUM(n) AS BIGINT) AS n,
    COUNT(*) AS n_clusters,
    CAST(SUM(n_exact) AS BIGINT) AS n_exact,
    clustereval._compensated_sum(lower) / SUM(n) AS lower,
    clustereval._compensated_sum(upper) / SUM(n) AS upper,
    clustereval._compensated_sum(middle) / SUM(n) AS middle,
    clustereval._compensated_sum(middle / n) / COUNT(*) AS macro,
    MAX(middle / n) AS largest
  FROM summed
  GROUP BY partition_no;

-- Mean silhouette of the points of the table tbl (one row per point: its vector and cluster).
-- Examples:
--   FROM clustereval.silhouette_score(points, [x, y, z], cluster);
--   FROM clustereval.silhouette_score(points, [x, y, z], cluster, method := 'bounds');
--   FROM clustereval.silhouette_score(points, [x, y, z], cluster, tolerance := 0.01);
--   FROM clustereval.silhouette_score(
--     points, [x, y, z], cluster, method := 'sample', sample_size := 4, reference_size := 2
--   );
CREATE OR REPLACE MACRO clustereval.silhouette_score(
  tbl, vector, cluster, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, noise := NULL, noise_as := NULL, weights := NULL, method := 'exact',
  tolerance := NULL, sample_size := NULL, reference_size := NULL, confidence := 0.95,
  random_state := 0, missing := 'error'
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, clustereval._plain_distance_name(distance, p), p, weights, partition_by,
      noise, noise_as, missing, id
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, 'mean')),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._point_origins(
      __ce_rows, __ce_moments, distance, p, 'mean', weights
    )
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
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_centers, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_spreads)),
  __ce_points_check AS (
    SELECT * FROM clustereval._check_points(
      __ce_points, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_moments(__ce_coordinates, __ce_spreads, distance)
  ),
  __ce_streamed_members AS NOT MATERIALIZED (
    SELECT * FROM clustereval._cluster_members(__ce_points, __ce_clusters, __ce_points_check)
  ),
  __ce_members AS MATERIALIZED (SELECT * FROM __ce_streamed_members),
  __ce_population AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_population(distance, p, reference_size))
  ),
  __ce_ids AS (
    SELECT
      member.row_no, member.number, member.partition_no,
      member.id, member.has_default_id
    FROM __ce_population AS member
  ),
  __ce_ids_check AS (SELECT * FROM clustereval._check_ids(__ce_ids)),
  __ce_drawn AS MATERIALIZED (
    SELECT * FROM clustereval._drawn_members(
      __ce_population, __ce_ids, __ce_ids_check, sample_size, reference_size, random_state
    )
  ),
  __ce_sample AS NOT MATERIALIZED (SELECT * FROM __ce_drawn WHERE is_query),
  __ce_references AS NOT MATERIALIZED (SELECT * FROM __ce_drawn WHERE is_reference),
  __ce_queries AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_queries(distance, p, method, reference_size))
  ),
  __ce_mean_distances AS (
    SELECT * FROM clustereval._mean_distances(
      __ce_queries, __ce_members, __ce_references, __ce_clusters, distance, p, method, tolerance,
      reference_size
    )
  ),
  __ce_plain_silhouettes AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_mean_distances, __ce_clusters)
  ),
  __ce_unbiased_silhouettes AS NOT MATERIALIZED (
    SELECT * FROM clustereval._unbiased_silhouettes(__ce_plain_silhouettes)
  ),
  __ce_silhouettes AS (
    SELECT * FROM query(clustereval._select_silhouettes_to_average(distance, p, reference_size))
  ),
  __ce_no_errors AS NOT MATERIALIZED (
    SELECT
      number AS group_no,
      CAST(NULL AS DOUBLE) AS variance,
      CAST(NULL AS DOUBLE) AS std_error
    FROM __ce_clusters
    WHERE FALSE
  ),
  __ce_reference_variances AS NOT MATERIALIZED (
    SELECT * FROM clustereval._reference_variances(
      __ce_mean_distances, __ce_queries, __ce_references, __ce_clusters,
      clustereval._plain_distance_name(distance, p), p, reference_size, 'partition'
    )
  ),
  __ce_variances AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_reference_variances(distance, p, reference_size))
  ),
  __ce_sample_errors AS NOT MATERIALIZED (
    SELECT * FROM clustereval._sample_errors(__ce_silhouettes, __ce_variances, 'partition')
  ),
  __ce_errors AS NOT MATERIALIZED (SELECT * FROM query(clustereval._select_errors(method))),
  __ce_totals AS (SELECT * FROM clustereval._silhouette_totals(__ce_silhouettes)),
  __ce_scored AS (
    SELECT own.partition_key, totals.*, errors.std_error
    FROM __ce_totals AS totals
    JOIN __ce_clusters AS own ON own.number = totals.partition_no
    LEFT JOIN __ce_errors AS errors ON errors.group_no = totals.partition_no
    WHERE clustereval._is_clustering(own.total, own.n_clusters)
  )
  SELECT
    counts.partition_key,
    counts.total AS n,
    counts.n_dropped,
    counts.n_noise,
    counts.n_clusters,
    counts.n_singletons,
    CASE WHEN method = 'bounds' THEN 0 ELSE COALESCE(scored.n_exact, 0) END AS n_evaluated,
    CASE WHEN method <> 'bounds' THEN scored.middle END AS silhouette,
    CASE
      WHEN method <> 'bounds' AND scored.n_clusters = counts.n_clusters
      THEN scored.macro
    END AS silhouette_macro,
    CASE
      WHEN method <> 'bounds' AND scored.n_clusters = counts.n_clusters
      THEN scored.largest
    END AS silhouette_max,
    CASE
      WHEN method = 'sample' AND scored.n > 0
      THEN COALESCE(GREATEST(-1.0, 
        scored.middle - clustereval._normal_quantile(confidence) * scored.std_error
      ), -1.0)
      WHEN method IN ('exact', 'bounds') THEN scored.lower
    END AS silhouette_lower,
    CASE
      WHEN method = 'sample' AND scored.n > 0
      THEN COALESCE(LEAST(1.0, 
        scored.middle + clustereval._normal_quantile(confidence) * scored.std_error
      ), 1.0)
      WHEN method IN ('exact', 'bounds') THEN scored.upper
    END AS silhouette_upper,
    scored.std_error
  FROM __ce_counts AS counts
  LEFT JOIN __ce_scored AS scored ON scored.partition_key IS NOT DISTINCT FROM counts.partition_key
  WHERE clustereval._check_options(clustereval._valid_silhouette_options(
    method, tolerance, sample_size, reference_size, confidence, random_state,
    clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  ))
    AND COALESCE((SELECT MIN(valid) FROM __ce_points_check), TRUE)
  ORDER BY counts.partition_key ASC NULLS LAST;
