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
-- partition_key; label, NULL if the rows do not count; cluster_1 and cluster_2; n rows; noisy_1 and
-- noisy_2, TRUE for noise; and is_scored, whether the rows count if they have a label: they have
-- both clusters, and neither is noise that is left out.
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
  ),
  flagged AS (
    SELECT
      *,
      one IS NOT NULL AND two IS NOT NULL AND n > 0
        AND NOT COALESCE(noise_as = 'drop' AND (noisy_1 OR noisy_2), FALSE) AS is_scored
    FROM marked
  )
  SELECT
    own.partition_key,
    CASE WHEN own.is_scored THEN own.label END AS label,
    own.one AS cluster_1,
    own.two AS cluster_2,
    own.n,
    own.noisy_1,
    own.noisy_2,
    own.is_scored
  FROM flagged AS own;

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

-- Cells of the rows that count: partition_key; table_1 and table_2, the partitions of _side_groups;
-- label; cluster_1 and cluster_2, as there; and n rows. pairs: rows of _pair_groups.
CREATE OR REPLACE MACRO clustereval._cells_of_pairs(pairs, noise_as) AS TABLE
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
  FROM query_table(pairs) AS own
  WHERE own.label IS NOT NULL;

---------------------------------------------------------------------------------------------------
-- Differences
---------------------------------------------------------------------------------------------------

-- slope * influence, or 0 if slope is 0, even if the influence is NULL.
CREATE OR REPLACE MACRO clustereval._slope_term(slope, influence) AS
  CASE WHEN slope = 0 THEN 0.0 ELSE slope * influence END;

-- One row per partition and metric: partition_key; metric; std_error of the difference of its
-- values in two clusterings; and freedom, the degrees of freedom of its square. No row if an
-- influence is not known. effects: partition_key, metric, n rows, and one and two, the influences
-- of each of them on the two values.
CREATE OR REPLACE MACRO clustereval._errors_of_effects(effects) AS TABLE
  WITH sums AS (
    SELECT
      partition_key,
      metric,
      COUNT(one - two) = COUNT(*) AS is_known,
      CAST(SUM(n) AS DOUBLE) AS total,
      clustereval._compensated_sum(n * (one - two) * (one - two)) AS squares,
      clustereval._compensated_sum(n * pow(one - two, 4)) AS fourths,
      clustereval._compensated_sum(n * (one * one + two * two)) AS scale
    FROM query_table(effects)
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

-- The rows of _errors_of_effects for contingency tables table_1 and table_2 of the same rows.
-- cells: partition_key, table_1, table_2, label, cluster_1, cluster_2 and n rows; influences,
-- gradients: rows of _centered_influences and _score_gradients, with the tables as partitions.
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
  )
  SELECT * FROM clustereval._errors_of_effects(effects);

-- Half the width of the interval of a difference with this standard error; NULL without one.
CREATE OR REPLACE MACRO clustereval._difference_margin(std_error, freedom, confidence) AS
  CASE
    WHEN std_error = 0 THEN 0.0
    ELSE std_error * sqrt(clustereval._squared_t_quantile(
      freedom, clustereval._normal_quantile(confidence)
    ))
  END;

---------------------------------------------------------------------------------------------------
-- Labels for a sample
---------------------------------------------------------------------------------------------------

-- One row per partition and place: std_error of the difference, 0 if no label tells the clusterings
-- apart, NULL if one label decides a value; freedom, of its square; and skew, 0. changes: rows of
-- _label_changes of both clusterings.
CREATE OR REPLACE MACRO clustereval._label_difference_errors(changes) AS TABLE
  -- The change of each value when the label is deleted, to which a value of 0 has none.
  WITH effects AS (
    SELECT
      *,
      CASE
        WHEN numerator_mean = 0 THEN 0.0
        ELSE clustereval._ratio(numerator_mean * deviation, denominator_mean * (1.0 - share / n))
      END AS effect
    FROM query_table(changes)
  ),
  paired AS (
    SELECT
      partition_key['key'] AS partition_key, place, label,
      MIN(n) AS n,
      MIN(missed) AS missed,
      MAX(share / n) AS share,
      SUM(CASE WHEN partition_key['side'] = 1 THEN effect ELSE -effect END) AS change
    FROM effects
    GROUP BY partition_key['key'], place, label
  ),
  sums AS (
    SELECT
      partition_key, place,
      MIN(n) AS n,
      clustereval._compensated_sum(missed * change * change) AS squares,
      clustereval._compensated_sum(pow(missed * change * change, 2)) AS fourths
    FROM paired
    GROUP BY partition_key, place
    -- A larger share is 1, up to rounding errors.
    HAVING MAX(share) < 0.999999999
  )
  SELECT
    partition_key, place,
    sqrt(squares * (n - 1) / pow(n, 3)) AS std_error,
    clustereval._estimate_freedom(squares, fourths, n) AS freedom,
    0.0 AS skew
  FROM sums;

-- The same for 'records'. cells: rows of _cells_of_pairs; changes: rows of _changes_by_record of
-- both clusterings. The term of a pair of rows in a metric is weight * (1 - share) / all_pairs if
-- it is right, and -weight * share * (of_cluster or of_label) / all_pairs if it is wrong.
-- covariance is the sum of the products of these terms in both clusterings. skew is how much the
-- square of std_error is expected to grow with the difference.
CREATE OR REPLACE MACRO clustereval._record_difference_errors(cells, changes) AS TABLE
  -- The numbers of other rows with the same label or clusters, where a singleton has none.
  WITH counts AS (
    SELECT
      *,
      SUM(n) OVER (PARTITION BY partition_key, label) - 1.0 AS in_label,
      CASE WHEN cluster_1 IS NULL THEN 0.0
        ELSE SUM(n) OVER (PARTITION BY partition_key, label, cluster_1) - 1.0 END AS in_cell_1,
      CASE WHEN cluster_2 IS NULL THEN 0.0
        ELSE SUM(n) OVER (PARTITION BY partition_key, label, cluster_2) - 1.0 END AS in_cell_2,
      CASE WHEN cluster_1 IS NULL OR cluster_2 IS NULL THEN 0.0
        ELSE SUM(n) OVER (PARTITION BY partition_key, cluster_1, cluster_2) - 1.0 END AS in_both,
      CASE WHEN cluster_1 IS NULL OR cluster_2 IS NULL THEN 0.0 ELSE n - 1.0 END AS in_all
    FROM query_table(cells)
  ),
  -- Materialized, because the changes of both clusterings match by label alone.
  first_changes AS MATERIALIZED (
    SELECT cell.* EXCLUDE (table_1, cluster_1), one.* EXCLUDE (partition_key, label, cluster)
    FROM counts AS cell
    JOIN query_table(changes) AS one
      ON one.partition_key = cell.table_1
      AND one.label = cell.label
      AND one.cluster IS NOT DISTINCT FROM cell.cluster_1
  ),
  rows AS (
    SELECT
      one.partition_key, one.place, one.n, one.unlabeled_share, one.n_labeled,
      one.change - two.change AS change, one.of_pairs + two.of_pairs AS of_pairs,
      clustereval._ratio(
        one.scale * one.weight * two.scale * two.weight * (
          (1.0 - one.of_cluster * (one.share + two.share)) * one.in_all
          - one.of_label * (two.share * one.in_cell_1 + one.share * one.in_cell_2)
          + one.share * two.share * (
            one.of_cluster * one.of_cluster * one.in_both
            + one.of_cluster * one.of_label * (one.in_cell_1 + one.in_cell_2)
            + one.of_label * one.of_label * one.in_label
          )
        ),
        one.all_pairs * two.all_pairs
      ) AS covariance
    FROM first_changes AS one
    JOIN query_table(changes) AS two
      ON two.partition_key = one.table_2
      AND two.label = one.label
      AND two.cluster IS NOT DISTINCT FROM one.cluster_2
      AND two.place = one.place
  ),
  sums AS (
    SELECT
      partition_key, place,
      COUNT(change) = COUNT(*) AS is_known,
      MIN(unlabeled_share) AS unlabeled_share,
      MIN(n_labeled) AS n_labeled,
      GREATEST(MIN(of_pairs) - 4 * clustereval._compensated_sum(n * covariance), 0.0)
        AS of_pairs,
      clustereval._compensated_sum(n * change * change) AS jackknife,
      clustereval._compensated_sum(n * pow(change, 3)) AS cubes,
      clustereval._compensated_sum(n * pow(change, 4)) AS fourths
    FROM rows
    GROUP BY partition_key, place
  )
  SELECT
    partition_key, place,
    CASE
      WHEN unlabeled_share = 0 THEN 0.0
      WHEN is_known THEN clustereval._record_error(jackknife, of_pairs, unlabeled_share)
    END AS std_error,
    clustereval._estimate_freedom(jackknife, fourths, n_labeled) AS freedom,
    unlabeled_share * clustereval._ratio(cubes, jackknife) AS skew
  FROM sums;

-- The columns of a difference, by the metrics that depend on the clusters. pairs: rows of
-- _pair_groups.
CREATE OR REPLACE MACRO clustereval._sample_differences(
  pairs, noise_as, beta, confidence, labels_are_sample, sampling_fraction
) AS TABLE
  WITH labeled_pairs AS (SELECT * FROM query_table(pairs) WHERE label IS NOT NULL),
  whole_pairs AS (
    SELECT * REPLACE (CASE WHEN is_scored THEN TRUE END AS label) FROM query_table(pairs)
  ),
  cells AS MATERIALIZED (SELECT * FROM clustereval._side_groups(labeled_pairs, noise_as)),
  all_groups AS MATERIALIZED (SELECT * FROM clustereval._side_groups(whole_pairs, noise_as)),
  all_cells AS (SELECT * FROM all_groups WHERE copies > 0),
  cluster_sizes AS MATERIALIZED (SELECT * FROM clustereval._cluster_sizes(all_cells)),
  totals AS MATERIALIZED (SELECT * FROM clustereval._sample_totals(cells, cluster_sizes)),
  label_changes AS MATERIALIZED (
    SELECT *
    FROM clustereval._changes_by_label(
      cells, cluster_sizes, totals, labels_are_sample, sampling_fraction, beta
    )
  ),
  label_errors AS (SELECT * FROM clustereval._label_difference_errors(label_changes)),
  record_changes AS MATERIALIZED (
    SELECT * FROM clustereval._changes_by_record(cells, cluster_sizes, totals, beta)
  ),
  cells_of_pairs AS (SELECT * FROM clustereval._cells_of_pairs(pairs, noise_as)),
  record_errors AS (
    SELECT * FROM clustereval._record_difference_errors(cells_of_pairs, record_changes)
  ),
  -- The one that is not named is not bound.
  errors AS (
    SELECT *
    FROM query_table(
      CASE WHEN labels_are_sample = 'records' THEN 'record_errors' ELSE 'label_errors' END
    )
  ),
  estimates AS (
    SELECT *
    FROM clustereval._estimate_values(
      all_groups, cells, totals, label_changes, record_changes, labels_are_sample
    )
  ),
  explained AS MATERIALIZED (
    SELECT * FROM clustereval._add_reasons(estimates, labels_are_sample, sampling_fraction)
  ),
  differences AS (
    SELECT
      one.partition_key['key'] AS partition_key, one.place, one.metric,
      one.value AS value_1, two.value AS value_2, one.value - two.value AS difference,
      CASE
        WHEN one.value - two.value IS NULL THEN NULL
        WHEN errors.std_error <= 1e-12 THEN 0.0 -- a rounding error
        ELSE errors.std_error
      END AS std_error,
      clustereval._difference_margin(errors.std_error, errors.freedom, confidence) AS t_margin,
      errors.skew,
      one.concentration + two.concentration > 0 AS is_sample,
      one.is_quotient AND GREATEST(one.value, two.value) >= 1 AS is_cut,
      COALESCE(one.reason, two.reason) AS reason,
      one.total AS n, one.n_dropped
    FROM explained AS one
    JOIN explained AS two
      ON two.partition_key['key'] IS NOT DISTINCT FROM one.partition_key['key']
      AND two.partition_key['side'] = 2
      AND two.place = one.place
    LEFT JOIN errors
      ON errors.partition_key IS NOT DISTINCT FROM one.partition_key['key']
      AND errors.place = one.place
    WHERE one.partition_key['side'] = 1
      AND one.metric NOT IN ('matching_rate', 'average_label_size')
  ),
  -- The limits D of the interval solve (D - difference)^2 = t^2 (std_error^2 + skew (D -
  -- difference)).
  shifts AS (
    SELECT
      *, CASE WHEN std_error > 0 THEN pow(t_margin / std_error, 2) * skew / 2 ELSE 0.0 END AS shift
    FROM differences
  )
  SELECT
    * EXCLUDE (is_sample, is_cut) REPLACE (
      CASE
        WHEN reason IS NOT NULL THEN reason
        WHEN is_cut THEN 'an estimate is cut off at 1'
        WHEN std_error IS NULL THEN 'the labeled rows have too few pairs for an interval'
        WHEN std_error = 0 AND is_sample
        THEN 'the labeled rows do not tell the clusterings apart'
      END AS reason
    ),
    difference + shift AS middle,
    sqrt(shift * shift + t_margin * t_margin) AS margin,
    1.0 AS widest
  FROM shifts;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Differences between the metrics of external_report of two clusterings of the same rows, with
-- paired confidence intervals: one row per partition and metric, in the order of external_report,
-- with partition_key, metric, value_1, value_2, difference (value_1 - value_2), std_error, lower,
-- upper, n (the rows that are compared), n_dropped (the rows that are not) and reason, which says
-- why lower and upper are NULL. Rows are compared if
-- they have a label and both clusters, and neither cluster is noise that is left out.
-- labels_are_sample and sampling_fraction state that only a sample has labels, as in
-- entity_resolution_estimates. The metrics are then those of that table that depend on the
-- clusters, and rows without a label count, too. All other parameters are those of
-- external_intervals; a sample has no use for average_method and adjusted.
-- Examples:
--   FROM clustereval.external_differences(assignments, species, cluster, flower % 3);
CREATE OR REPLACE MACRO clustereval.external_differences(
  tbl, label, cluster_1, cluster_2, weight := NULL, partition_by := NULL, noise := NULL,
  noise_as := NULL, average_method := 'arithmetic', beta := 1.0, adjusted := TRUE,
  confidence := 0.95, labels_are_sample := NULL, sampling_fraction := NULL
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
  cells AS (SELECT * FROM clustereval._cells_of_pairs(__ce_pairs, noise_as)),
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
      one.value - two.value AS middle,
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
  of_all_labels AS (
    SELECT *, clustereval._interval_reason(metric, n, difference, std_error, bias) AS reason
    FROM differences
  ),
  of_sample AS (
    SELECT *
    FROM clustereval._sample_differences(
      __ce_pairs, noise_as, beta, confidence, labels_are_sample, sampling_fraction
    )
  )
  SELECT
    partition_key, metric, value_1, value_2, difference, std_error,
    CASE WHEN reason IS NULL THEN GREATEST(middle - margin, -widest) END AS lower,
    CASE WHEN reason IS NULL THEN LEAST(middle + margin, widest) END AS upper,
    n,
    n_dropped,
    reason
  -- The one that is not named is not bound.
  FROM query_table(CASE WHEN labels_are_sample IS NULL THEN 'of_all_labels' ELSE 'of_sample' END)
  WHERE clustereval._check_options(
    CASE
      WHEN labels_are_sample IS NULL AND sampling_fraction IS NULL
      THEN clustereval._valid_interval_options(
        confidence,
        clustereval._valid_external_options(noise, noise_as, average_method, beta, adjusted)
      )
      ELSE clustereval._valid_estimate_options(
        noise, noise_as, coalesce(labels_are_sample, 'uniform'), confidence, beta,
        sampling_fraction
      )
    END
  )
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
