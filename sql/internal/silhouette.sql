-- silhouette: how much nearer each point is to its own cluster than to the nearest other cluster.
--
-- A query is a point whose silhouette is computed; see point_silhouettes.sql.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per query: the columns of _point_silhouettes, and std_error of the mean silhouette of its
-- group (level: 'point', 'cluster' or 'partition', see _group_number), NULL unless estimated; for
-- 'point' also id and has_default_id. Silhouettes that are averaged are without the bias of
-- references. points: rows of _clustered_points; clusters: rows of _cluster_moments; the rest are
-- options. CTEs that query() does not name are neither bound nor run.
CREATE OR REPLACE MACRO clustereval._silhouettes(
  points, clusters, distance, p, method, "between", tolerance, sample_size, reference_size,
  random_state, level
) AS TABLE
  WITH streamed_members AS NOT MATERIALIZED (
    SELECT * FROM query_table(points)
  ),
  -- Members, stored because they are read several times.
  members AS MATERIALIZED (SELECT * FROM streamed_members),
  -- Members whose silhouettes may be computed. They are streamed if only distances to references
  -- are computed, because then only the drawn points have to be kept.
  population AS NOT MATERIALIZED (
    SELECT * FROM query(concat('SELECT * FROM ', CASE
      WHEN clustereval._draws_references(distance, p, reference_size) THEN 'streamed_members'
      ELSE 'members'
    END))
  ),
  -- Ids of the members.
  ids AS (SELECT row_no, number, partition_no, id, has_default_id FROM population),
  ids_check AS (SELECT * FROM clustereval._check_ids(ids)),
  drawn AS MATERIALIZED (
    SELECT * FROM clustereval._drawn_members(
      population, ids, ids_check, sample_size, reference_size, random_state
    )
  ),
  sample AS NOT MATERIALIZED (SELECT * FROM drawn WHERE is_query),
  reference_points AS NOT MATERIALIZED (SELECT * FROM drawn WHERE is_reference),
  -- Members whose silhouettes are computed. They are streamed if they are read only once.
  queries AS NOT MATERIALIZED (
    SELECT * FROM query(concat('SELECT * FROM ', CASE
      WHEN method = 'sample' OR reference_size IS NOT NULL THEN 'sample'
      WHEN level = 'point' THEN 'members'
      WHEN method = 'simplified' THEN 'streamed_members'
      WHEN clustereval._plain_distance_name(distance, p) IN ('sqeuclidean', 'cosine')
      THEN 'streamed_members'
      ELSE 'members'
    END))
  ),
  mean_distances AS (
    SELECT * FROM clustereval._mean_distances(
      queries, members, reference_points, clusters, distance, p, method, "between", tolerance,
      reference_size
    )
  ),
  plain_silhouettes AS (SELECT * FROM clustereval._point_silhouettes(mean_distances, clusters)),
  unbiased_silhouettes AS NOT MATERIALIZED (
    SELECT * FROM clustereval._unbiased_silhouettes(plain_silhouettes)
  ),
  silhouettes AS (
    SELECT * FROM query(concat('SELECT * FROM ', CASE
      WHEN level <> 'point' AND clustereval._draws_references(distance, p, reference_size)
      THEN 'unbiased_silhouettes'
      ELSE 'plain_silhouettes'
    END))
  ),
  reference_variances AS NOT MATERIALIZED (
    SELECT * FROM clustereval._reference_variances(
      mean_distances, queries, reference_points, clusters,
      clustereval._plain_distance_name(distance, p), p, reference_size, level
    )
  ),
  no_variances AS NOT MATERIALIZED (
    SELECT number AS group_no, CAST(NULL AS DOUBLE) AS variance
    FROM query_table(clusters)
    WHERE FALSE
  ),
  variances AS NOT MATERIALIZED (
    SELECT * FROM query(concat('SELECT * FROM ', CASE
      WHEN clustereval._draws_references(distance, p, reference_size) THEN 'reference_variances'
      ELSE 'no_variances'
    END))
  ),
  -- Silhouettes of a sample, with the standard error of their group.
  sampled_silhouettes AS NOT MATERIALIZED (
    SELECT scored.*, errors.std_error
    FROM silhouettes AS scored
    JOIN clustereval._sample_errors(silhouettes, variances, level) AS errors
      ON errors.group_no = clustereval._group_number(
        level, scored.row_no, scored.number, scored.partition_no
      )
  ),
  -- Silhouettes of all points, whose means have no standard error.
  exact_silhouettes AS NOT MATERIALIZED (
    SELECT *, CAST(NULL AS DOUBLE) AS std_error FROM silhouettes
  ),
  scored AS NOT MATERIALIZED (
    SELECT * FROM query(concat('SELECT * FROM ', CASE
      WHEN method = 'sample' THEN 'sampled_silhouettes' ELSE 'exact_silhouettes'
    END))
  ),
  -- Silhouettes with the ids of their points.
  identified AS NOT MATERIALIZED (
    SELECT scored.*, member.id, member.has_default_id
    FROM queries AS member
    JOIN scored ON scored.row_no = member.row_no
    WHERE COALESCE((SELECT MIN(valid) FROM ids_check), TRUE)
  )
  SELECT * FROM query(concat('SELECT * FROM ', CASE level
    WHEN 'point' THEN 'identified' ELSE 'scored'
  END));

-- One row per cluster (number) with the means of its points: a, b and silhouette of
-- silhouette_samples, and std_error. The parameters are those of _silhouettes.
CREATE OR REPLACE MACRO clustereval._cluster_silhouettes(
  points, clusters, distance, p, method, "between", sample_size, reference_size, random_state
) AS TABLE
  SELECT
    number,
    clustereval._compensated_sum(a_lower) / COUNT(*) AS a,
    clustereval._compensated_sum(b_lower) / COUNT(*) AS b,
    clustereval._compensated_sum(lower) / COUNT(*) AS silhouette,
    MAX(std_error) AS std_error
  FROM clustereval._silhouettes(
    points, clusters, distance, p, method, "between", NULL, sample_size, reference_size,
    random_state, 'cluster'
  )
  GROUP BY number;

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
  __ce_groups AS MATERIALIZED (
    SELECT *
    FROM clustereval._point_clusters(__ce_rows, __ce_arguments, distance, p, 'mean', weights)
  ),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._cluster_moments(__ce_groups)),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._clustered_points(__ce_rows, __ce_groups, weights)
  ),
  __ce_silhouettes AS (
    SELECT * FROM clustereval._silhouettes(
      __ce_points, __ce_clusters, distance, p, method, "between", NULL, sample_size,
      reference_size, random_state, 'point'
    )
  )
  SELECT
    own.partition_key,
    clustereval._row_id(scored.id, scored.row_no - 1, scored.has_default_id) AS id,
    own.cluster,
    nearest.cluster AS neighbor,
    scored.a_lower AS a,
    scored.b_lower AS b,
    scored.lower AS silhouette,
    scored.std_error
  FROM __ce_silhouettes AS scored
  JOIN __ce_clusters AS own ON own.number = scored.number
  LEFT JOIN __ce_clusters AS nearest ON nearest.number = scored.neighbor
  WHERE clustereval._check_options(clustereval._valid_means_options(
    method, "between", sample_size, reference_size, random_state,
    clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  ))
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
  __ce_groups AS MATERIALIZED (
    SELECT *
    FROM clustereval._point_clusters(__ce_rows, __ce_arguments, distance, p, 'mean', weights)
  ),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._cluster_moments(__ce_groups)),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._clustered_points(__ce_rows, __ce_groups, weights)
  ),
  __ce_silhouettes AS (
    SELECT * FROM clustereval._cluster_silhouettes(
      __ce_points, __ce_clusters, distance, p, method, "between", sample_size, reference_size,
      random_state
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
  ORDER BY own.number ASC NULLS LAST;

-- One row per partition (partition_no) with means of silhouettes (rows of _silhouettes): the
-- number of silhouettes (n), the number of exact silhouettes (n_exact), the number of clusters
-- (n_clusters), the means of lower, of upper and of the middle of both (middle), and the mean
-- (macro) and the maximum (largest) over clusters of the mean of middle; and std_error.
CREATE OR REPLACE MACRO clustereval._silhouette_totals(silhouettes) AS TABLE
  -- One row per cluster with the sums of its silhouettes.
  WITH summed AS (
    SELECT
      partition_no, number,
      COUNT(*) AS n,
      COUNT(CASE WHEN exact THEN 1 END) AS n_exact,
      clustereval._compensated_sum(lower) AS lower,
      clustereval._compensated_sum(upper) AS upper,
      clustereval._compensated_sum((lower + upper) / 2) AS middle,
      MAX(std_error) AS std_error
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
    MAX(middle / n) AS largest,
    MAX(std_error) AS std_error
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
  __ce_groups AS MATERIALIZED (
    SELECT *
    FROM clustereval._point_clusters(__ce_rows, __ce_arguments, distance, p, 'mean', weights)
  ),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._cluster_moments(__ce_groups)),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._clustered_points(__ce_rows, __ce_groups, weights)
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_groups)),
  __ce_silhouettes AS (
    SELECT * FROM clustereval._silhouettes(
      __ce_points, __ce_clusters, distance, p, method, "between", tolerance, sample_size,
      reference_size, random_state, 'partition'
    )
  ),
  __ce_totals AS (SELECT * FROM clustereval._silhouette_totals(__ce_silhouettes)),
  -- One row per partition that has a silhouette.
  __ce_scored AS (
    SELECT
      own.partition_key, totals.*,
      clustereval._normal_quantile(confidence) * totals.std_error AS margin
    FROM __ce_totals AS totals
    JOIN __ce_clusters AS own ON own.number = totals.partition_no
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
  ORDER BY counts.partition_key ASC NULLS LAST;
