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
-- Options
---------------------------------------------------------------------------------------------------

-- query_text, unchanged. Raises an error for the first invalid one of the other arguments, which
-- are options of silhouette_score. query_text is SELECT TRUE from _valid_point_options, which
-- _check_options runs, so that options are checked before any row is read.
CREATE OR REPLACE MACRO clustereval._valid_silhouette_options(
  method, "between", tolerance, sample_size, reference_size, confidence, random_state, query_text
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
    THEN error(concat('tolerance: needs method ''exact'', got method ''', method, ''''))
    WHEN (sample_size IS NOT NULL OR (method = 'sample' AND reference_size IS NULL))
      AND NOT coalesce(
        sample_size >= 1 AND sample_size < 9e18 AND sample_size = floor(sample_size), FALSE
      )
    THEN error(concat(
      'sample_size: expected a whole number >= 1, got ', clustereval._show_value(sample_size)
    ))
    WHEN sample_size IS NOT NULL AND method <> 'sample'
    THEN error(concat('sample_size: needs method ''sample'', got method ''', method, ''''))
    WHEN reference_size IS NOT NULL AND method <> 'sample'
    THEN error(concat('reference_size: needs method ''sample'', got method ''', method, ''''))
    WHEN reference_size IS NOT NULL
      AND NOT (
        reference_size >= 2 AND reference_size < 9e18 AND reference_size = floor(reference_size)
      )
    THEN error(concat(
      'reference_size: expected a whole number >= 2, got ', clustereval._show_value(reference_size)
    ))
    WHEN coalesce("between", '') NOT IN ('nearest', 'mean_other', 'furthest')
    THEN error(concat(
      'between: expected one of ''nearest'', ''mean_other'', ''furthest'', got ',
      coalesce('''' || "between" || '''', 'NULL')
    ))
    WHEN "between" <> 'nearest' AND method = 'bounds'
    THEN error(concat(
      'between: ''', "between",
      ''' needs method ''exact'', ''simplified'' or ''sample'', got method ''bounds'''
    ))
    WHEN "between" <> 'nearest' AND tolerance IS NOT NULL
    THEN error(concat(
      'between: ''', "between", ''' cannot be combined with tolerance, got tolerance ',
      clustereval._show_value(tolerance)
    ))
    WHEN "between" <> 'nearest' AND reference_size IS NOT NULL
    THEN error(concat(
      'between: ''', "between", ''' cannot be combined with reference_size, got reference_size ',
      clustereval._show_value(reference_size)
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

-- Like _valid_silhouette_options, for silhouette_samples and silhouette_clusters.
CREATE OR REPLACE MACRO clustereval._valid_means_options(
  method, "between", sample_size, reference_size, random_state, query_text
) AS
  CASE
    WHEN coalesce(method, '') NOT IN ('exact', 'sample')
    THEN error(concat(
      'method: expected one of ''exact'', ''sample'', got ',
      coalesce('''' || method || '''', 'NULL')
    ))
    ELSE clustereval._valid_silhouette_options(
      method, "between", NULL, sample_size, reference_size, 0.95, random_state, query_text
    )
  END;

---------------------------------------------------------------------------------------------------
-- Silhouettes of queries
---------------------------------------------------------------------------------------------------

-- Silhouette (b - a) / max(a, b) from the mean distances a to the point's own cluster and b to
-- other clusters; 0 if both are 0.
CREATE OR REPLACE MACRO clustereval._silhouette_value(a, b) AS
  CASE WHEN GREATEST(a, b) = 0 THEN 0.0 ELSE (b - a) / GREATEST(a, b) END;

-- One row per point with its silhouette: the columns of _mean_distances, partition_no, total
-- (points of the partition), cluster_size, and bounds on its silhouette, lower and upper, equal if
-- the mean distances are exact. The bounds are NULL if there is only one cluster or if every
-- cluster has a single point, and 0 for the point of a cluster with a single point.
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
-- bounds, whose widths add up to at most tolerance times the number of points; ids break ties.
-- bounded: rows of _point_silhouettes.
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
-- the mean silhouette requires them (_queries_to_evaluate), otherwise bounds. bounds: rows of
-- _mean_distance_bounds.
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
-- queries and members (all points) are rows of _clustered_points, reference_points of
-- _drawn_members. CTEs that query() does not name are neither bound nor run.
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
  all_targets AS NOT MATERIALIZED (
    SELECT row_no, number, target FROM clustereval._join_with_clusters(queries, clusters)
  ),
  furthest_targets AS NOT MATERIALIZED (
    SELECT * FROM clustereval._furthest_targets(
      queries, clusters, clustereval._plain_distance_name(distance, p), p
    )
  ),
  targets AS NOT MATERIALIZED (
    SELECT * FROM query(concat('SELECT * FROM ', CASE
      WHEN "between" = 'mean_other' THEN 'all_targets'
      WHEN "between" = 'furthest' THEN 'furthest_targets'
      WHEN clustereval._plain_distance_name(distance, p) = 'cityblock' THEN 'cityblock_targets'
      ELSE 'bounds'
    END))
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
  SELECT * FROM query(concat('SELECT * FROM ', CASE
    WHEN method = 'simplified' THEN 'simplified_means'
    WHEN clustereval._plain_distance_name(distance, p) IN ('sqeuclidean', 'cosine')
    THEN 'squared_means'
    WHEN method = 'bounds' THEN 'means_of_bounds'
    WHEN reference_size IS NOT NULL THEN 'reference_means'
    WHEN tolerance IS NOT NULL AND clustereval._plain_distance_name(distance, p) = 'euclidean'
    THEN 'tolerant_means'
    ELSE 'exact_means'
  END));
