-- summary: the indices of internal_report as rows, for reading.

-- The indices of internal_report in long form: one row per partition and index, with partition_key,
-- metric (the name of the index), value, best (its best value as text: a number, 'high' or 'low';
-- NULL if no value is best) and meaning (what it measures, in a few words). The order is that of
-- internal_report. All parameters are those of internal_report.
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
  )
  SELECT
    partition_key,
    metric,
    value,
    best,
    meaning
  FROM clustereval._index_values(__ce_report)
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
