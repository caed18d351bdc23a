-- cross_validation: whether a clustering of some points fits other points that it has not seen.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per fold: partition_key, n points, n_labels, n_clusters, and score, by `metric`.
CREATE OR REPLACE MACRO clustereval._fold_scores(cells, metric, average_method, beta) AS TABLE
  SELECT
    partition_key,
    n,
    n_labels,
    n_clusters,
    COLUMNS(lambda column_name: column_name = clustereval._known_metric(metric)) AS score
  FROM clustereval._external_report(
    cells, label, cluster, n, partition_key, NULL, 'cluster',
    average_method, beta, clustereval._needs_expectation(metric)
  );

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Cross-validation of a clustering: one row per partition and fold with partition_key, fold, n (its
-- points), n_labels (clusters of these points), n_clusters (clusters of the model to which they are
-- assigned), score (agreement of the two clusterings by `metric`), prediction_strength, and
-- mean_score and std_score, the mean and the standard deviation of the scores of all folds. tbl is
-- a table of held-out points: vector, cluster (found without the model, for example by clustering
-- the fold alone) and fold. centroids is a table of the models' centers, fitted without the points
-- of the fold, with the columns fold, cluster, centroid and, with partition_by, partition_key.
-- Examples:
--   WITH models AS (
--     SELECT unnest([FALSE, TRUE]) AS fold, cluster, centroid
--     FROM clustereval.centroids(points, [x, y, z], cluster)
--   )
--   FROM clustereval.cross_validation(points, [x, y, z], cluster, x > 0, models);
CREATE OR REPLACE MACRO clustereval.cross_validation(
  tbl, vector, cluster, fold, centroids, metric := 'adjusted_rand_score',
  distance := 'euclidean', p := 2, partition_by := NULL, weights := NULL,
  average_method := 'arithmetic', beta := 1.0, missing := 'error'
) AS TABLE
  WITH __ce_columns_check AS (
    SELECT
      clustereval._check_columns(
        TRUE,
        [
          clustereval._given_column('partition_by', partition_by),
          clustereval._given_column('fold', fold)
        ]
      ) AS __ce_valid
    FROM query_table(clustereval._check_table_name(tbl))
    WHERE FALSE
  ),
  -- The check of the points waits for this table, so its errors do not come first.
  __ce_arguments AS MATERIALIZED (
    SELECT *
    FROM clustereval._point_arguments(
      tbl, vector, cluster, {'key': partition_by, 'fold': fold}, NULL
    )
    WHERE (SELECT __ce_valid FROM __ce_columns_check)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, {'key': partition_by, 'fold': fold}, NULL,
      'cluster', missing
    )
  ),
  __ce_keyed_centroids AS (
    SELECT * FROM (SELECT NULL AS partition_key WHERE FALSE)
    UNION ALL BY NAME
    SELECT * FROM query_table(clustereval._check_table_name(centroids))
  ),
  __ce_center_rows AS (
    SELECT
      {'key': partition_key, 'fold': centroid_row.fold} AS partition_key,
      centroid_row.cluster,
      centroid_row.centroid
    FROM __ce_keyed_centroids AS centroid_row
  ),
  __ce_centers AS MATERIALIZED (
    SELECT * FROM clustereval._given_centers(__ce_center_rows, distance, p, weights)
  ),
  __ce_blocks AS MATERIALIZED (SELECT * FROM clustereval._center_blocks(__ce_centers)),
  __ce_checked AS (
    SELECT *
    FROM clustereval._check_assignment(
      __ce_points, __ce_arguments, __ce_centers, distance, p, weights
    )
  ),
  __ce_assigned AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._assigned_points(__ce_points, __ce_blocks, __ce_checked, distance, p)
  ),
  -- Contingency cells of a fold: label is a point's own cluster, and cluster its assigned one.
  __ce_cells AS MATERIALIZED (
    SELECT
      partition_key, assigned.cluster AS label, nearest AS cluster,
      CAST(COUNT(*) AS BIGINT) AS n, 1 AS copies
    FROM __ce_assigned AS assigned
    GROUP BY partition_key, assigned.cluster, nearest
  ),
  __ce_label_sizes AS (SELECT * FROM clustereval._label_sizes(__ce_cells))
  SELECT
    scores.partition_key['key'] AS partition_key,
    scores.partition_key['fold'] AS fold,
    scores.n,
    scores.n_labels,
    scores.n_clusters,
    scores.score,
    weakest.least AS prediction_strength,
    AVG(scores.score) OVER (PARTITION BY scores.partition_key['key']) AS mean_score,
    STDDEV_SAMP(scores.score) OVER (PARTITION BY scores.partition_key['key']) AS std_score
  FROM clustereval._fold_scores(__ce_cells, metric, average_method, beta) AS scores
  LEFT JOIN clustereval._weakest_labels(__ce_cells, __ce_label_sizes) AS weakest
    ON weakest.partition_key IS NOT DISTINCT FROM scores.partition_key
  WHERE clustereval._check_options(
      clustereval._valid_point_options(distance, p, 'mean', weights, NULL, 'cluster', missing)
    )
    AND clustereval._check_options(
      clustereval._valid_agreement_options(NULL, 'cluster', metric, average_method, beta)
    )
    AND (SELECT __ce_valid FROM __ce_columns_check)
  ORDER BY scores.partition_key ASC NULLS LAST;
