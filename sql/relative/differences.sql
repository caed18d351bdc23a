-- differences: differences between the scores of two clusterings of the same rows, with paired
-- intervals.
--
-- To first order, the difference of a score is the mean over the rows of a row's influence on the
-- score of the first clustering minus its influence on that of the second one (see intervals).
-- What the two have in common cancels in each row. The variance of the difference is the mean of
-- the squares of these differences, divided by the number of rows.

---------------------------------------------------------------------------------------------------
-- Two contingency tables of the same rows
---------------------------------------------------------------------------------------------------

-- One row per value of (partition_by, label, cluster_1, cluster_2) in the table named tbl:
-- partition_key; label, NULL if the rows do not count; cluster_1 and cluster_2; n rows; and noisy_1
-- and noisy_2, TRUE for noise. Rows count if they have a label and both clusters, and neither is
-- noise that is left out.
CREATE OR REPLACE MACRO clustereval._pair_groups(
  tbl, label, cluster_1, cluster_2, weight, partition_by, noise, noise_as
) AS TABLE
  -- Groups of rows, with both clusters in one key.
  WITH __ce_keyed AS (
    SELECT
      keyed.partition_key, keyed.label, keyed.cluster['one'] AS one, keyed.cluster['two'] AS two,
      keyed.n
    FROM clustereval._row_groups(
      tbl, label, {'one': cluster_1, 'two': cluster_2}, weight, partition_by, NULL, 'cluster'
    ) AS keyed
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, COUNT(*)
    FROM query_table(clustereval._check_table_name(tbl))
    WHERE FALSE
    HAVING clustereval._check_columns(
      clustereval._check_noise(
        clustereval._check_noise(COUNT(*) > 0, noise, cluster_1), noise, cluster_2
      ),
      [
        clustereval._given_column('cluster_1', cluster_1),
        clustereval._given_column('cluster_2', cluster_2)
      ]
    )
  ),
  -- The groups, marked as noise or not.
  marked AS (
    SELECT
      *,
      clustereval._is_noise(one, noise) AS noisy_1,
      clustereval._is_noise(two, noise) AS noisy_2
    FROM __ce_keyed
  )
  SELECT
    own.partition_key,
    CASE
      WHEN own.one IS NOT NULL AND own.two IS NOT NULL AND own.n > 0
        AND NOT (noise_as = 'drop' AND (own.noisy_1 OR own.noisy_2))
      THEN own.label
    END AS label,
    own.one AS cluster_1,
    own.two AS cluster_2,
    own.n,
    own.noisy_1,
    own.noisy_2
  FROM marked AS own;

-- The rows of _row_groups of both clusterings: partition_key is a struct {key, side}, and cluster a
-- struct {one, two}, of which one field is NULL, so that both clusterings have the same types.
-- pairs: rows of _pair_groups.
CREATE OR REPLACE MACRO clustereval._side_groups(pairs, noise_as) AS TABLE
  -- The rows of each pair, once for each clustering.
  WITH sides AS (
    SELECT
      {'key': partition_key, 'side': 1} AS partition_key, label, n,
      {'one': cluster_1, 'two': CASE WHEN FALSE THEN cluster_2 END} AS own,
      noisy_1 AND noise_as = 'singletons' AS is_single
    FROM query_table(pairs)
    UNION ALL
    SELECT
      {'key': partition_key, 'side': 2}, label, n,
      {'one': CASE WHEN FALSE THEN cluster_1 END, 'two': cluster_2},
      noisy_2 AND noise_as = 'singletons'
    FROM query_table(pairs)
  ),
  -- The rows of each clustering with the same label and cluster.
  sums AS (
    SELECT
      partition_key, label, own,
      COALESCE(is_single, FALSE) AS is_single,
      CAST(SUM(n) AS BIGINT) AS n
    FROM sides
    GROUP BY partition_key, label, own, COALESCE(is_single, FALSE)
  )
  SELECT
    partition_key,
    label,
    CASE WHEN NOT is_single THEN own END AS cluster,
    CASE WHEN is_single THEN 1 ELSE n END AS n,
    CASE WHEN label IS NULL THEN 0 WHEN is_single THEN n ELSE 1 END AS copies,
    CASE WHEN label IS NULL THEN n ELSE 0 END AS n_dropped,
    0 AS n_noise
  FROM sums;

---------------------------------------------------------------------------------------------------
-- Differences
---------------------------------------------------------------------------------------------------

-- slope * influence, or 0 if slope is 0, even if the influence is NULL.
CREATE OR REPLACE MACRO clustereval._slope_term(slope, influence) AS
  CASE WHEN slope = 0 THEN 0.0 ELSE slope * influence END;

-- One row per partition and metric: partition_key; metric; std_error of the difference of its
-- values in the contingency tables table_1 and table_2 of the same rows; and freedom, the degrees
-- of freedom of its square. No row if a derivative is not defined. cells: partition_key, table_1,
-- table_2, label, cluster_1, cluster_2 and n rows; influences, gradients: rows of
-- _centered_influences and _score_gradients, with the tables as partitions.
CREATE OR REPLACE MACRO clustereval._difference_errors(cells, influences, gradients) AS TABLE
  -- The influences of a row of a cell on the statistics of the first table. Materialized, because
  -- the optimizer may join the influences of both tables first, and these match by label alone.
  WITH first_influences AS MATERIALIZED (
    SELECT
      cell.partition_key, cell.table_1, cell.table_2, cell.label, cell.cluster_2, cell.n,
      one.family, one.i1, one.i2, one.i3, one.i4
    FROM query_table(cells) AS cell
    JOIN query_table(influences) AS one
      ON one.partition_key = cell.table_1
      AND one.label = cell.label
      AND one.cluster IS NOT DISTINCT FROM cell.cluster_1
  ),
  -- The same with those on the statistics of the second table.
  paired AS (
    SELECT cell.*, two.i1 AS j1, two.i2 AS j2, two.i3 AS j3, two.i4 AS j4
    FROM first_influences AS cell
    JOIN query_table(influences) AS two
      ON two.partition_key = cell.table_2
      AND two.label = cell.label
      AND two.cluster IS NOT DISTINCT FROM cell.cluster_2
      AND two.family = cell.family
  ),
  -- The influences of a row of a cell on the values of a metric in both tables.
  effects AS (
    SELECT
      cell.partition_key, cell.n, first.metric,
      clustereval._slope_term(first.g1, cell.i1) + clustereval._slope_term(first.g2, cell.i2)
        + clustereval._slope_term(first.g3, cell.i3) + clustereval._slope_term(first.g4, cell.i4)
        AS one,
      clustereval._slope_term(second.g1, cell.j1) + clustereval._slope_term(second.g2, cell.j2)
        + clustereval._slope_term(second.g3, cell.j3) + clustereval._slope_term(second.g4, cell.j4)
        AS two
    FROM paired AS cell
    JOIN query_table(gradients) AS first
      ON first.partition_key = cell.table_1
      AND first.family = cell.family
    JOIN query_table(gradients) AS second
      ON second.partition_key = cell.table_2
      AND second.metric = first.metric
  ),
  sums AS (
    SELECT
      partition_key,
      metric,
      COUNT(one - two) = COUNT(*) AS is_known,
      CAST(SUM(n) AS DOUBLE) AS total,
      clustereval._compensated_sum(n * (one - two) * (one - two)) AS squares,
      clustereval._compensated_sum(n * pow(one - two, 4)) AS fourths,
      clustereval._compensated_sum(n * (one * one + two * two)) AS scale
    FROM effects
    GROUP BY partition_key, metric
  )
  SELECT
    partition_key,
    metric,
    -- A smaller sum is a rounding error of influences that are equal.
    CASE WHEN squares <= 1e-20 * scale THEN 0.0 ELSE sqrt(squares) / total END AS std_error,
    clustereval._estimate_freedom(squares, fourths, total) AS freedom
  FROM sums
  WHERE is_known AND total > 1;

-- Half the width of the interval of a difference with this standard error; NULL without one.
CREATE OR REPLACE MACRO clustereval._difference_margin(std_error, freedom, confidence) AS
  CASE
    WHEN std_error = 0 THEN 0.0
    ELSE std_error * sqrt(clustereval._squared_t_quantile(
      freedom, clustereval._normal_quantile(confidence)
    ))
  END;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Differences between the metrics of external_report of two clusterings of the same rows, with
-- paired confidence intervals: one row per partition and metric, in the order of external_report,
-- with partition_key, metric, value_1, value_2, difference (value_1 - value_2), std_error, lower,
-- upper, n (the rows that are compared), n_dropped (the rows that are not) and reason, which says
-- why lower and upper are NULL. Rows are compared if
-- they have a label and both clusters, and neither cluster is noise that is left out. All other
-- parameters are those of external_intervals.
-- Examples:
--   FROM clustereval.external_differences(assignments, species, cluster, flower % 3);
CREATE OR REPLACE MACRO clustereval.external_differences(
  tbl, label, cluster_1, cluster_2, weight := NULL, partition_by := NULL, noise := NULL,
  noise_as := NULL, average_method := 'arithmetic', beta := 1.0, adjusted := TRUE,
  confidence := 0.95
) AS TABLE
  WITH __ce_pairs AS MATERIALIZED (
    SELECT *
    FROM clustereval._pair_groups(
      tbl, label, cluster_1, cluster_2, weight, partition_by, noise, noise_as
    )
  ),
  groups AS MATERIALIZED (SELECT * FROM clustereval._side_groups(__ce_pairs, noise_as)),
  statistics AS (SELECT * FROM clustereval._statistics_of_groups(groups, adjusted)),
  report AS (SELECT * FROM clustereval._scores_of_statistics(statistics, average_method, beta)),
  scores AS MATERIALIZED (
    SELECT * FROM clustereval._metric_values(report, adjusted)
  ),
  side_cells AS (SELECT * FROM groups WHERE copies > 0),
  expected_influences AS (
    SELECT * FROM clustereval._influences_on_expectation(statistics, side_cells, adjusted)
  ),
  influences AS (
    SELECT * FROM clustereval._centered_influences(side_cells, expected_influences)
  ),
  gradients AS (SELECT * FROM clustereval._score_gradients(statistics, average_method, beta)),
  -- Cells of the rows that count, with both clusters as in groups.
  cells AS (
    SELECT
      own.partition_key,
      {'key': own.partition_key, 'side': 1} AS table_1,
      {'key': own.partition_key, 'side': 2} AS table_2,
      own.label,
      CASE
        WHEN NOT own.noisy_1 OR noise_as <> 'singletons'
        THEN {'one': own.cluster_1, 'two': CASE WHEN FALSE THEN own.cluster_2 END}
      END AS cluster_1,
      CASE
        WHEN NOT own.noisy_2 OR noise_as <> 'singletons'
        THEN {'one': CASE WHEN FALSE THEN own.cluster_1 END, 'two': own.cluster_2}
      END AS cluster_2,
      own.n
    FROM __ce_pairs AS own
    WHERE own.label IS NOT NULL
  ),
  statistic_biases AS (
    SELECT
      partition_key, family,
      clustereval._mean_of_rows(rows, d1) AS b1,
      clustereval._mean_of_rows(rows, d2) AS b2,
      clustereval._mean_of_rows(rows, d3) AS b3
    FROM influences
    GROUP BY partition_key, family
  ),
  biases AS (
    SELECT
      own.partition_key, own.metric,
      clustereval._metric_bias(own.g1, own.g2, own.g3, own.g4, bias.b1, bias.b2, bias.b3) AS bias
    FROM gradients AS own
    JOIN statistic_biases AS bias
      ON bias.partition_key = own.partition_key
      AND bias.family = own.family
  ),
  -- Differences with half the width of their intervals, and the largest possible ones.
  differences AS (
    SELECT
      one.partition_key['key'] AS partition_key, one.place, one.metric,
      one.value AS value_1,
      two.value AS value_2,
      one.value - two.value AS difference,
      CASE WHEN one.value - two.value IS NOT NULL THEN errors.std_error END AS std_error,
      clustereval._difference_margin(errors.std_error, errors.freedom, confidence) AS margin,
      clustereval._greatest_value(one.metric, totals.total)
        - clustereval._least_value(one.metric) AS widest,
      first.bias - second.bias AS bias,
      totals.total AS n, totals.n_dropped
    FROM scores AS one
    JOIN scores AS two
      ON two.partition_key['key'] IS NOT DISTINCT FROM one.partition_key['key']
      AND two.partition_key['side'] = 2
      AND two.metric = one.metric
    JOIN statistics AS totals ON totals.partition_key = one.partition_key
    LEFT JOIN clustereval._difference_errors(cells, influences, gradients) AS errors
      ON errors.partition_key IS NOT DISTINCT FROM one.partition_key['key']
      AND errors.metric = one.metric
    LEFT JOIN biases AS first
      ON first.partition_key = one.partition_key
      AND first.metric = one.metric
    LEFT JOIN biases AS second
      ON second.partition_key = two.partition_key
      AND second.metric = one.metric
    WHERE one.partition_key['side'] = 1
  ),
  explained AS (
    SELECT *, clustereval._interval_reason(metric, n, difference, std_error, bias) AS reason
    FROM differences
  )
  SELECT
    partition_key, metric, value_1, value_2, difference, std_error,
    CASE WHEN reason IS NULL THEN GREATEST(difference - margin, -widest) END AS lower,
    CASE WHEN reason IS NULL THEN LEAST(difference + margin, widest) END AS upper,
    n,
    n_dropped,
    reason
  FROM explained
  WHERE clustereval._check_options(clustereval._valid_interval_options(
    confidence,
    clustereval._valid_external_options(noise, noise_as, average_method, beta, adjusted)
  ))
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
