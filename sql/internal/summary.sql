-- summary: the indices of internal_report as rows, for reading.

-- The columns of internal_report in long form: one row per partition and count or index, with
-- partition_key, metric (its name), value, best (its best value as text: a number, 'high' or 'low';
-- NULL if no value is best), meaning (what it measures, in a few words, or a remark) and
-- family (its kind). The order is that of internal_report. All parameters are those of
-- internal_report.
-- Examples:
--   FROM clustereval.internal_summary(points, [x, y, z], cluster);
--   SELECT metric, value
--   FROM clustereval.internal_summary(points, [x, y, z], cluster, distance := 'cosine');
CREATE OR REPLACE MACRO clustereval.internal_summary(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  WITH __ce_report AS (
    SELECT *
    FROM clustereval._internal_report(
      tbl, vector, cluster, distance, p, center, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_vectors AS NOT MATERIALIZED (
    SELECT own.partition_key, own.vector
    FROM clustereval._points(
      tbl, vector, cluster, 'euclidean', 2, NULL, partition_by, NULL, 'cluster', missing
    ) AS own
  ),
  __ce_columns AS (
    SELECT
      clustereval._coordinate_names(
        clustereval._vector_text(concat('', alias(any_value(vector))))
      ) AS __ce_names
    FROM query_table(tbl)
    WHERE FALSE
  ),
  states AS (
    SELECT
      partition_key,
      state['n'] AS n, state['m2'] AS m2, state['is_distorted'] AS is_distorted
    FROM (SELECT partition_key, unnest(states) AS state FROM __ce_report)
  ),
  dominant AS (SELECT * FROM clustereval._dominant_coordinates(states)),
  matrices AS MATERIALIZED (
    SELECT * FROM clustereval._distance_matrices(__ce_vectors, __ce_report)
  ),
  remarked_report AS (
    SELECT
      report.*,
      MAP {
        'n_noise': clustereval._noise_remark(
          report.noise_names, report.n, SUM(report.n_noise) OVER (), noise
        ),
        'n_dims': CASE
          WHEN matrices.n IS NOT NULL THEN clustereval._distance_matrix_as_text(matrices.n)
          WHEN len(dominant.places) > 0 AND lower(distance) <> 'cosine' AND weights IS NULL
          THEN clustereval._dominant_as_text(
            dominant.places, dominant.n_dims, __ce_names, dominant.share
          )
        END
      } AS remarks
    FROM __ce_report AS report
    LEFT JOIN dominant ON dominant.partition_key IS NOT DISTINCT FROM report.partition_key
    LEFT JOIN matrices ON matrices.partition_key IS NOT DISTINCT FROM report.partition_key
    CROSS JOIN __ce_columns
  ),
  entries AS (
    SELECT * FROM clustereval._point_count_values(remarked_report)
    UNION ALL
    SELECT * FROM clustereval._index_values(remarked_report)
  )
  SELECT partition_key, metric, value, best, meaning, family
  FROM entries
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
