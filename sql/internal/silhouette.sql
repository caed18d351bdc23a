-- silhouette: how much nearer each point is to its own cluster than to the nearest other cluster.
--
-- A query is a point whose silhouette is computed; see point_silhouettes.sql.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per cluster (number) with the means of its points: a, b and silhouette of
-- silhouette_samples, and std_error, NULL unless estimated. points: rows of _move_points; clusters:
-- rows of _cluster_moments; checks: those of _check_points; the rest are options.
CREATE OR REPLACE MACRO clustereval._cluster_silhouettes(
  points, clusters, checks, distance, p, method, "between", sample_size, reference_size,
  random_state
) AS TABLE
  WITH __ce_streamed_members AS NOT MATERIALIZED (
    SELECT * FROM clustereval._cluster_members(points, clusters, checks)
  ),
  -- Members, stored because they are read several times.
  __ce_members AS MATERIALIZED (SELECT * FROM __ce_streamed_members),
  -- Members whose silhouettes may be computed.
  __ce_population AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_population(distance, p, reference_size))
  ),
  -- Ids of the members.
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
  -- Members whose silhouettes are computed.
  __ce_queries AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_queries(distance, p, method, reference_size))
  ),
  __ce_mean_distances AS (
    SELECT * FROM clustereval._mean_distances(
      __ce_queries, __ce_members, __ce_references, clusters, distance, p, method, "between",
      NULL, reference_size
    )
  ),
  __ce_plain_silhouettes AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_mean_distances, clusters)
  ),
  __ce_unbiased_silhouettes AS NOT MATERIALIZED (
    SELECT * FROM clustereval._unbiased_silhouettes(__ce_plain_silhouettes)
  ),
  -- Silhouettes of points, of which means are computed.
  __ce_silhouettes AS (
    SELECT * FROM query(clustereval._select_silhouettes_to_average(distance, p, reference_size))
  ),
  __ce_no_errors AS NOT MATERIALIZED (
    SELECT
      number AS group_no,
      CAST(NULL AS DOUBLE) AS variance,
      CAST(NULL AS DOUBLE) AS std_error
    FROM query_table(clusters)
    WHERE FALSE
  ),
  __ce_reference_variances AS NOT MATERIALIZED (
    SELECT * FROM clustereval._reference_variances(
      __ce_mean_distances, __ce_queries, __ce_references, clusters,
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
  -- One row per cluster with the means over its points.
  __ce_cluster_means AS (
    SELECT
      number,
      clustereval._compensated_sum(a_lower) / COUNT(*) AS a,
      clustereval._compensated_sum(b_lower) / COUNT(*) AS b,
      clustereval._compensated_sum(lower) / COUNT(*) AS silhouette
    FROM __ce_silhouettes
    GROUP BY number
  )
  SELECT averaged.*, errors.std_error
  FROM __ce_cluster_means AS averaged
  LEFT JOIN __ce_errors AS errors ON errors.group_no = averaged.number;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Silhouette of each point of the table tbl (one row per point: its vector and cluster).
-- Examples:
--   FROM clustereval.silhouette_samples(points, [x, y, z], cluster);
--   FROM clustereval.silhouette_samples(points, [x, y, z], cluster, distance := 'cityblock');
--   FROM clustereval.silhouette_samples(points, [x, y, z], cluster, "between" := 'mean_other');
CREATE OR REPLACE MACRO clustereval.silhouette_samples(
  tbl, vector, cluster, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, noise := NULL, noise_as := NULL, weights := NULL, method := 'exact',
  "between" := 'nearest', sample_size := NULL, reference_size := NULL, random_state := 0,
  missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise, id)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing, id
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
      __ce_points, __ce_arguments, __ce_centers, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_points_check AS (
    SELECT * FROM clustereval._check_points(
      __ce_rows, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_moments(__ce_coordinates, __ce_spreads, distance)
  ),
  __ce_streamed_members AS NOT MATERIALIZED (
    SELECT * FROM clustereval._cluster_members(__ce_points, __ce_clusters, __ce_points_check)
  ),
  -- Members, stored because they are read several times.
  __ce_members AS MATERIALIZED (SELECT * FROM __ce_streamed_members),
  -- Members whose silhouettes may be computed.
  __ce_population AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_population(distance, p, reference_size))
  ),
  -- Ids of the members.
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
  -- Members whose silhouettes are computed.
  __ce_queries AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_queries('euclidean', 2, method, reference_size))
  ),
  __ce_mean_distances AS (
    SELECT * FROM clustereval._mean_distances(
      __ce_queries, __ce_members, __ce_references, __ce_clusters, distance, p, method, "between",
      NULL, reference_size
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
  JOIN __ce_silhouettes AS scored ON scored.row_no = member.row_no
  JOIN __ce_clusters AS own ON own.number = member.number
  LEFT JOIN __ce_clusters AS nearest ON nearest.number = scored.neighbor
  LEFT JOIN __ce_errors AS errors ON errors.group_no = member.row_no
  WHERE clustereval._check_options(clustereval._valid_means_options(
    method, "between", sample_size, reference_size, random_state,
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
  "between" := 'nearest', sample_size := NULL, reference_size := NULL, random_state := 0,
  missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise, id)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing, id
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
      __ce_points, __ce_arguments, __ce_centers, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_points_check AS (
    SELECT * FROM clustereval._check_points(
      __ce_rows, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_moments(__ce_coordinates, __ce_spreads, distance)
  ),
  __ce_silhouettes AS (
    SELECT * FROM clustereval._cluster_silhouettes(
      __ce_points, __ce_clusters, __ce_points_check, distance, p, method, "between", sample_size,
      reference_size, random_state
    )
  )
  SELECT
    own.partition_key,
    own.cluster,
    own.n,
    averaged.a,
    averaged.b,
    averaged.silhouette,
    averaged.std_error
  FROM __ce_clusters AS own
  LEFT JOIN __ce_silhouettes AS averaged ON averaged.number = own.number
  WHERE clustereval._check_options(clustereval._valid_means_options(
    method, "between", sample_size, reference_size, random_state,
    clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  ))
    AND COALESCE((SELECT MIN(valid) FROM __ce_points_check), TRUE)
  ORDER BY own.number ASC NULLS LAST;

-- One row per partition (partition_no) with means of silhouettes (rows of _point_silhouettes): the
-- number of silhouettes (n), the number of exact silhouettes (n_exact), the number of clusters
-- (n_clusters), the means of lower, of upper and of the middle of both (middle), and the mean
-- (macro) and the maximum (largest) over clusters of the mean of middle.
CREATE OR REPLACE MACRO clustereval._silhouette_totals(silhouettes) AS TABLE
  -- One row per cluster with the sums of its silhouettes.
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
  "between" := 'nearest', tolerance := NULL, sample_size := NULL, reference_size := NULL,
  confidence := 0.95, random_state := 0, missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise, id)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing, id
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
      __ce_points, __ce_arguments, __ce_centers, clustereval._plain_distance_name(distance, p), p
    )
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_spreads)),
  __ce_points_check AS (
    SELECT * FROM clustereval._check_points(
      __ce_rows, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_moments(__ce_coordinates, __ce_spreads, distance)
  ),
  __ce_streamed_members AS NOT MATERIALIZED (
    SELECT * FROM clustereval._cluster_members(__ce_points, __ce_clusters, __ce_points_check)
  ),
  -- Members, stored because they are read several times.
  __ce_members AS MATERIALIZED (SELECT * FROM __ce_streamed_members),
  -- Members whose silhouettes may be computed.
  __ce_population AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_population(distance, p, reference_size))
  ),
  -- Ids of the members.
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
  -- Members whose silhouettes are computed.
  __ce_queries AS NOT MATERIALIZED (
    SELECT * FROM query(clustereval._select_queries(distance, p, method, reference_size))
  ),
  __ce_mean_distances AS (
    SELECT * FROM clustereval._mean_distances(
      __ce_queries, __ce_members, __ce_references, __ce_clusters, distance, p, method, "between",
      tolerance, reference_size
    )
  ),
  __ce_plain_silhouettes AS (
    SELECT * FROM clustereval._point_silhouettes(__ce_mean_distances, __ce_clusters)
  ),
  __ce_unbiased_silhouettes AS NOT MATERIALIZED (
    SELECT * FROM clustereval._unbiased_silhouettes(__ce_plain_silhouettes)
  ),
  -- Silhouettes of points, of which means are computed.
  __ce_silhouettes AS (
    SELECT * FROM query(clustereval._select_silhouettes_to_average(distance, p, reference_size))
  ),
  __ce_no_errors AS NOT MATERIALIZED (
    SELECT
      number AS group_no,
      CAST(NULL AS DOUBLE) AS variance,
      CAST(NULL AS DOUBLE) AS std_error,
      CAST(NULL AS DOUBLE) AS margin
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
    SELECT *, clustereval._normal_quantile(confidence) * std_error AS margin
    FROM clustereval._sample_errors(__ce_silhouettes, __ce_variances, 'partition')
  ),
  __ce_errors AS NOT MATERIALIZED (SELECT * FROM query(clustereval._select_errors(method))),
  __ce_totals AS (SELECT * FROM clustereval._silhouette_totals(__ce_silhouettes)),
  -- One row per partition that has a silhouette.
  __ce_scored AS (
    SELECT own.partition_key, totals.*, errors.std_error, errors.margin
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
      THEN COALESCE(GREATEST(-1.0, scored.middle - scored.margin), -1.0)
      WHEN method IN ('exact', 'bounds') THEN scored.lower
    END AS silhouette_lower,
    CASE
      WHEN method = 'sample' AND scored.n > 0
      THEN COALESCE(LEAST(1.0, scored.middle + scored.margin), 1.0)
      WHEN method IN ('exact', 'bounds') THEN scored.upper
    END AS silhouette_upper,
    scored.std_error
  FROM __ce_counts AS counts
  LEFT JOIN __ce_scored AS scored ON scored.partition_key IS NOT DISTINCT FROM counts.partition_key
  WHERE clustereval._check_options(clustereval._valid_silhouette_options(
    method, "between", tolerance, sample_size, reference_size, confidence, random_state,
    clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  ))
    AND COALESCE((SELECT MIN(valid) FROM __ce_points_check), TRUE)
  ORDER BY counts.partition_key ASC NULLS LAST;
