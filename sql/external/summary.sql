-- summary: the external metrics as rows, for reading.

-- The columns of external_report in long form: one row per partition and count or metric, with
-- partition_key, metric (its name), value, best (its best value as text: a number, 'high' or 'low';
-- NULL if no value is best), meaning (what it measures, in a few words, or a remark on noise) and
-- family (its kind, such as 'pair counting'). The order is that of external_report. All parameters
-- are those of external_report.
-- Examples:
--   FROM clustereval.external_summary(assignments, species, cluster);
--   SELECT metric, value
--   FROM clustereval.external_summary(assignments, species, cluster, adjusted := FALSE);
CREATE OR REPLACE MACRO clustereval.external_summary(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  average_method := 'arithmetic', beta := 1.0, adjusted := TRUE
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  statistics AS (SELECT * FROM clustereval._statistics_of_groups(__ce_groups, adjusted)),
  cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  noise_names AS (
    SELECT
      partition_key, clustereval._noise_names(sizes.cluster, cluster_size, 'row') AS names
    FROM clustereval._cluster_sizes(cells) AS sizes
    GROUP BY partition_key
  ),
  report AS (
    SELECT
      scores.*,
      MAP {'n_noise': clustereval._noise_remark(
        noisy.names, scores.n, SUM(scores.n_noise) OVER (), noise
      )} AS remarks
    FROM clustereval._scores_of_statistics(statistics, average_method, beta) AS scores
    LEFT JOIN noise_names AS noisy
      ON noisy.partition_key IS NOT DISTINCT FROM scores.partition_key
  ),
  summary AS (
    SELECT * FROM clustereval._count_values(report)
    UNION ALL
    SELECT * FROM clustereval._metric_values(report, adjusted)
  )
  SELECT partition_key, metric, value, best, meaning, family
  FROM summary
  WHERE clustereval._check_options(
    clustereval._valid_external_options(noise, noise_as, average_method, beta, adjusted)
  )
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
