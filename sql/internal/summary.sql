-- summary: the indices of internal_report one below the other, for reading.

-- One row per index of internal_report, in its order (__ce_place): __ce_metric, its name;
-- __ce_best, its best value as text, 'high' or 'low' if that is no number, NULL if none is best;
-- __ce_meaning, what it measures, in a few words.
CREATE OR REPLACE MACRO clustereval._index_meanings() AS TABLE
  SELECT *
  FROM (VALUES
    (1, 'ssw', 'low', 'within: points to their own centroid'),
    (2, 'ssb', 'high', 'between: centroids to overall centroid'),
    (3, 'sst', CAST(NULL AS VARCHAR), 'total: within + between'),
    (4, 'explained_variance', '1', 'between / total'),
    (5, 'compactness', 'low', 'mean distance to own centroid'),
    (6, 'separation', 'high', 'mean gap between centroids'),
    (7, 'calinski_harabasz_score', 'high', 'variance between / within'),
    (8, 'davies_bouldin_score', 'low', 'widths / gap of worst pairs'),
    (9, 'ball_hall_index', 'low', 'mean square within a cluster'),
    (10, 'banfield_raftery_index', 'low', 'sum of n ln(mean square)'),
    (11, 'log_ss_ratio', 'high', 'ln(between / within)'),
    (12, 'pbm_index', 'high', 'largest gap / width, squared'),
    (13, 'ratkowsky_lance_index', 'high', 'explained in each coordinate'),
    (14, 'ray_turi_index', 'low', 'mean square / squared gap'),
    (15, 'xie_beni_index', 'low', 'same as ray_turi_index'),
    (16, 'sd_scattering', 'low', 'variance within / overall'),
    (17, 'sd_separation', 'low', 'unevenness of centroid gaps')
  ) AS meanings (__ce_place, __ce_metric, __ce_best, __ce_meaning);

-- One row per partition and index of internal_report: __ce_partition, __ce_value, its value, and
-- the columns of _index_meanings. __ce_report is the name of a CTE of the rows of _internal_report.
CREATE OR REPLACE MACRO clustereval._index_values(__ce_report) AS TABLE
  SELECT
    report.partition_key AS __ce_partition,
    meanings.__ce_place,
    meanings.__ce_metric,
    CASE meanings.__ce_metric
      WHEN 'ssw' THEN report.ssw
      WHEN 'ssb' THEN report.ssb
      WHEN 'sst' THEN report.sst
      WHEN 'explained_variance' THEN report.explained_variance
      WHEN 'compactness' THEN report.compactness
      WHEN 'separation' THEN report.separation
      WHEN 'calinski_harabasz_score' THEN report.calinski_harabasz_score
      WHEN 'davies_bouldin_score' THEN report.davies_bouldin_score
      WHEN 'ball_hall_index' THEN report.ball_hall_index
      WHEN 'banfield_raftery_index' THEN report.banfield_raftery_index
      WHEN 'log_ss_ratio' THEN report.log_ss_ratio
      WHEN 'pbm_index' THEN report.pbm_index
      WHEN 'ratkowsky_lance_index' THEN report.ratkowsky_lance_index
      WHEN 'ray_turi_index' THEN report.ray_turi_index
      WHEN 'xie_beni_index' THEN report.xie_beni_index
      WHEN 'sd_scattering' THEN report.sd_scattering
      WHEN 'sd_separation' THEN report.sd_separation
    END AS __ce_value,
    meanings.__ce_best,
    meanings.__ce_meaning
  FROM query_table(__ce_report) AS report
  CROSS JOIN clustereval._index_meanings() AS meanings;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- The indices of internal_report in long form: one row per partition and index, with partition_key,
-- metric (the name of the index), value, best (its best value as text: a number, 'high' or 'low';
-- NULL if none is best) and meaning (what it measures, in a few words). The order is that of
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
    __ce_partition AS partition_key,
    __ce_metric AS metric,
    __ce_value AS value,
    __ce_best AS best,
    __ce_meaning AS meaning
  FROM clustereval._index_values(__ce_report)
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
  ORDER BY __ce_partition ASC NULLS LAST, __ce_place ASC NULLS LAST;
