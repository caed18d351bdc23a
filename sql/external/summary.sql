-- summary: the external metrics as rows, for reading.

-- The metrics of external_report in long form: one row per partition and metric, with
-- partition_key, metric (its name), value, best (its best value as text: a number, 'high' or 'low';
-- NULL if no value is best) and meaning (what it measures, in a few words). The order is that of
-- external_report. All parameters are those of external_report.
-- Examples:
--   FROM clustereval.external_summary(assignments, species, cluster);
--   SELECT metric, value
--   FROM clustereval.external_summary(assignments, species, cluster, adjusted := FALSE);
CREATE OR REPLACE MACRO clustereval.external_summary(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  average_method := 'arithmetic', beta := 1.0, adjusted := TRUE
) AS TABLE
  WITH __ce_report AS (
    SELECT *
    FROM clustereval._external_report(
      tbl, label, cluster, weight, partition_by, noise, noise_as, average_method, beta, adjusted
    )
  )
  SELECT
    partition_key,
    metric,
    value,
    best,
    meaning
  FROM clustereval._metric_values(__ce_report, adjusted)
  WHERE clustereval._check_options(
    clustereval._valid_external_options(noise, noise_as, average_method, beta, adjusted)
  )
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
