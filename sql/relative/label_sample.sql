-- label_sample: estimates of external metrics from the true labels of a sample of the entities.
--
--   * Labels are known only for some entities, and for all rows of these entities. The labeled
--     entities are a sample of all entities. They were drawn either with equal probability or by
--     drawing records at random, and then with a probability that grows with their size. Rows
--     without a label belong to other entities. If rows were labeled at random instead, the
--     estimates are those of record_sample.
--   * Every metric is the quotient of two totals over all entities. The estimate is the quotient of
--     the weighted means of the two terms over the sample, where the weight of an entity is the
--     inverse of its probability.
--   * The size of a cluster is the number of its rows, with and without a label: a cluster that
--     joins a sampled entity with other entities is wrong, whether or not these have labels.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- Text for _check_options, or the error of an option of entity_resolution_estimates.
CREATE OR REPLACE MACRO clustereval._valid_estimate_options(
  noise, noise_as, labels_are_sample, confidence, beta, sampling_fraction
) AS
  CASE
    WHEN coalesce(labels_are_sample, '') NOT IN ('uniform', 'by_record', 'records')
    THEN error(concat(
      'labels_are_sample: expected one of ''uniform'', ''by_record'', ''records'', got ',
      clustereval._quote_value(labels_are_sample)
    ))
    WHEN beta IS NULL OR NOT (beta >= 0 AND beta < 1e150)
    THEN error(concat('beta: expected a number >= 0, got ', clustereval._show_value(beta)))
    WHEN NOT coalesce(sampling_fraction >= 0 AND sampling_fraction < 1, TRUE)
    THEN error(concat(
      'sampling_fraction: expected a number >= 0 and < 1, got ',
      clustereval._show_value(sampling_fraction)
    ))
    WHEN sampling_fraction IS NOT NULL AND labels_are_sample <> 'by_record'
    THEN error('sampling_fraction needs labels_are_sample ''by_record''')
    ELSE clustereval._valid_interval_options(confidence, clustereval._valid_noise(noise, noise_as))
  END;

---------------------------------------------------------------------------------------------------
-- Terms of the entities
---------------------------------------------------------------------------------------------------

-- -ln(1 - x), without losing digits if x is near 0 (Kahan).
CREATE OR REPLACE MACRO clustereval._minus_log1m(x) AS
  CASE WHEN 1.0 - x = 1.0 THEN x ELSE x * ln(1.0 - x) / ((1.0 - x) - 1.0) END;

-- One row per label: partition_key; label; size; linked, the ordered pairs of its rows in the same
-- cluster; links, those of one of its rows with any other row of that row's cluster; precision and
-- recall, B-cubed, summed over its rows; exact, 1 if a cluster has exactly its rows, otherwise 0;
-- weight, the inverse of its probability under labels_are_sample; and missed, the probability that
-- it is not drawn. 'by_record', an entity is drawn if one of its rows is, each with the probability
-- sampling_fraction. If that is 0, which means negligible, or NULL, weight is its limit, 1 / size.
-- cluster_sizes is of all rows.
CREATE OR REPLACE MACRO clustereval._entity_terms(
  cells, cluster_sizes, labels_are_sample, sampling_fraction
) AS TABLE
  WITH labels AS (
    SELECT
      cell.partition_key,
      cell.label,
      CAST(SUM(cell.n * cell.copies) AS DOUBLE) AS size,
      CAST(SUM(clustereval._count_ordered_pairs(cell.n) * cell.copies) AS DOUBLE) AS linked,
      CAST(
        SUM(
          clustereval._widen(cell.n * cell.copies)
          * clustereval._widen(clusters.cluster_size - 1)
        ) AS DOUBLE
      ) AS links,
      clustereval._compensated_sum(
        CAST(cell.n AS DOUBLE) * cell.n / clusters.cluster_size
        * cell.copies
      ) AS precision,
      clustereval._compensated_sum(CAST(cell.n AS DOUBLE) * cell.n * cell.copies) AS squares,
      MAX(CASE WHEN cell.n = clusters.cluster_size THEN cell.n ELSE 0 END) AS whole_cluster
    FROM query_table(cells) AS cell
    JOIN query_table(cluster_sizes) AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND clusters.cluster IS NOT DISTINCT FROM cell.cluster
    GROUP BY cell.partition_key, cell.label
  ),
  rates AS (
    SELECT *, COALESCE(clustereval._minus_log1m(CAST(sampling_fraction AS DOUBLE)), 0.0) AS rate
    FROM labels
  )
  SELECT
    partition_key, label, size, linked, links, precision,
    squares / size AS recall,
    CASE WHEN whole_cluster = size THEN 1.0 ELSE 0.0 END AS exact,
    CASE
      -- The denominator is 1 - missed, without losing digits for a small fraction.
      WHEN rate > 0 THEN rate / (tanh(rate * size / 2) * (1.0 + exp(-rate * size)))
      WHEN labels_are_sample = 'by_record' THEN 1.0 / size
      ELSE 1.0
    END AS weight,
    exp(-rate * size) AS missed
  FROM rates;

-- One row per partition: precision_slope and recall_slope, the derivatives of the B-cubed F score
-- at the estimates of precision and recall, 0 if both are 0. entities: rows of _entity_terms.
CREATE OR REPLACE MACRO clustereval._bcubed_slopes(entities, beta) AS TABLE
  WITH means AS (
    SELECT
      partition_key,
      clustereval._ratio(
        clustereval._compensated_sum(weight * precision),
        clustereval._compensated_sum(weight * size)
      ) AS p,
      clustereval._ratio(
        clustereval._compensated_sum(weight * recall),
        clustereval._compensated_sum(weight * size)
      ) AS r
    FROM query_table(entities)
    GROUP BY partition_key
  ),
  scaled AS (
    SELECT
      partition_key, p, r,
      (1.0 + CAST(beta AS DOUBLE) * beta)
        / NULLIF(pow(CAST(beta AS DOUBLE) * beta * p + r, 2), 0) AS scale
    FROM means
  )
  SELECT
    partition_key,
    COALESCE(scale * r * r, 0.0) AS precision_slope,
    COALESCE(scale * beta * beta * p * p, 0.0) AS recall_slope
  FROM scaled;

-- One row per label and metric: partition_key; label; place (of the metric); metric; the weighted
-- terms numerator and denominator, the quotient of whose totals is the metric; and missed.
-- entities: rows of _entity_terms; totals: rows_per_cluster per partition.
CREATE OR REPLACE MACRO clustereval._metric_terms(entities, totals, beta) AS TABLE
  WITH facts AS (
    SELECT
      entity.*,
      entity.size * (entity.size - 1) AS pairs,
      slope.precision_slope * entity.precision
        + slope.recall_slope * entity.recall AS f,
      total.rows_per_cluster,
      CAST(beta AS DOUBLE) * beta AS square
    FROM query_table(entities) AS entity
    JOIN clustereval._bcubed_slopes(entities, beta) AS slope
      ON slope.partition_key IS NOT DISTINCT FROM entity.partition_key
    JOIN query_table(totals) AS total
      ON total.partition_key IS NOT DISTINCT FROM entity.partition_key
  ),
  terms AS (
    SELECT
      partition_key, label, weight, missed,
      [
        {'metric': 'pair_precision', 'top': linked, 'bottom': links},
        {'metric': 'pair_recall', 'top': linked, 'bottom': pairs},
        {
          'metric': 'pair_f_score', 'top': (1.0 + square) * linked,
          'bottom': square * pairs + links
        },
        {'metric': 'bcubed_precision', 'top': precision, 'bottom': size},
        {'metric': 'bcubed_recall', 'top': recall, 'bottom': size},
        {'metric': 'bcubed_f_score', 'top': f, 'bottom': size},
        {
          'metric': 'exact_match_precision', 'top': rows_per_cluster * exact,
          'bottom': size
        },
        {'metric': 'exact_match_recall', 'top': exact, 'bottom': CAST(1 AS DOUBLE)},
        {
          'metric': 'exact_match_f_score',
          'top': (1.0 + square) * rows_per_cluster * exact,
          'bottom': square * rows_per_cluster + size
        },
        {
          'metric': 'matching_rate',
          'top': CASE WHEN size > 1 THEN size ELSE CAST(0 AS DOUBLE) END,
          'bottom': size
        },
        {'metric': 'average_label_size', 'top': size, 'bottom': CAST(1 AS DOUBLE)}
      ] AS metrics
    FROM facts
  )
  SELECT
    terms.partition_key,
    terms.label,
    terms.missed,
    places.place,
    terms.metrics[places.place]['metric'] AS metric,
    terms.weight * terms.metrics[places.place]['top'] AS numerator,
    terms.weight * terms.metrics[places.place]['bottom'] AS denominator
  FROM terms, range(1, 12) AS places (place);

---------------------------------------------------------------------------------------------------
-- Quotients of means
---------------------------------------------------------------------------------------------------

-- The rows of terms, those of _metric_terms, with n, the number of labels; numerator_mean and
-- denominator_mean; share and deviation of the label: its denominator in relation to the mean, and
-- its numerator in relation to the mean, minus share; and deleted, the squared change of the
-- quotient when the label is deleted, in relation to the quotient and times n.
CREATE OR REPLACE MACRO clustereval._label_changes(terms) AS TABLE
  WITH means AS (
    SELECT
      partition_key, place,
      CAST(COUNT(*) AS DOUBLE) AS n,
      clustereval._compensated_sum(numerator) / COUNT(*) AS numerator_mean,
      clustereval._compensated_sum(denominator) / COUNT(*) AS denominator_mean
    FROM query_table(terms)
    GROUP BY partition_key, place
  ),
  deviations AS (
    SELECT
      term.*, means.n, means.numerator_mean, means.denominator_mean,
      clustereval._ratio(term.denominator, means.denominator_mean) AS share,
      clustereval._ratio(term.numerator, means.numerator_mean)
        - clustereval._ratio(term.denominator, means.denominator_mean) AS deviation
    FROM query_table(terms) AS term
    JOIN means
      ON means.partition_key IS NOT DISTINCT FROM term.partition_key
      AND means.place = term.place
  )
  SELECT
    *, clustereval._ratio(missed * deviation * deviation, pow(1.0 - share / n, 2)) AS deleted
  FROM deviations;

-- One row per partition and place: metric; value, the quotient of the means of numerator and
-- denominator, minus its first-order bias; std_error, by the delta method, NULL for fewer than 2
-- labels or if a mean is 0; interval_error, by the jackknife, from which the interval is computed;
-- freedom, its degrees of freedom; and concentration, the sum of the squared shares of the entities
-- in the denominator, 1 / n for n equal ones. changes: rows of _label_changes.
CREATE OR REPLACE MACRO clustereval._mean_quotients(changes) AS TABLE
  WITH sums AS (
    SELECT
      partition_key, place,
      any_value(metric) AS metric,
      MIN(n) AS n,
      clustereval._ratio(MIN(numerator_mean), MIN(denominator_mean)) AS quotient,
      clustereval._compensated_sum(missed * share * deviation) AS bias,
      clustereval._compensated_sum(missed * deviation * deviation) AS squares,
      clustereval._compensated_sum(share * share) AS weights,
      clustereval._compensated_sum(deleted) AS deleted,
      clustereval._compensated_sum(deleted * deleted) AS fourths
    FROM query_table(changes)
    GROUP BY partition_key, place
  )
  SELECT
    partition_key, place, metric, quotient
      * (1.0 + COALESCE(clustereval._ratio(bias, n * (n - 1)), 0.0)) AS value,
    quotient
      * sqrt(clustereval._ratio(squares, n * (n - 1))) AS std_error,
    quotient * sqrt(deleted * (n - 1) / pow(n, 3)) AS interval_error,
    clustereval._estimate_freedom(deleted, fourths, n) AS freedom,
    weights / (n * n) AS concentration
  FROM sums;

---------------------------------------------------------------------------------------------------
-- Intervals
---------------------------------------------------------------------------------------------------

-- One row per partition: n_labels; largest_label, the most rows of a label; and n_labeled_pairs,
-- the pairs of rows with the same label or cluster. cells: those of the labeled rows.
CREATE OR REPLACE MACRO clustereval._count_labeled(cells) AS TABLE
  WITH label_counts AS (SELECT * FROM clustereval._label_sizes(cells)),
  cluster_counts AS (SELECT * FROM clustereval._cluster_sizes(cells))
  SELECT
    partition_key,
    COUNT(DISTINCT label) AS n_labels,
    MAX(label_size) AS largest_label,
    clustereval._halve(SUM(
      clustereval._widen(n * copies)
      * clustereval._widen(label_size + cluster_size - n - 1)
    )) AS n_labeled_pairs
  FROM clustereval._sized_cells(cells, label_counts, cluster_counts)
  GROUP BY partition_key;

-- All columns of estimates, and reason, which says why a metric has no value or no interval, NULL
-- if it has both. Intervals need labeled entities that weigh as much as 6 equal ones. A uniform
-- sample whose rows have less than 60 % of the mean number of neighbors in their clusters lacks
-- large entities. An entity that would be drawn more than 0.25 times on average needs
-- sampling_fraction. estimates has the columns of _label_spread, _count_labeled and
-- _mean_quotients; contradiction; total, the rows; and is_quotient, TRUE for a metric whose
-- numerator is not a part of the denominator.
CREATE OR REPLACE MACRO clustereval._add_reasons(estimates, design, fraction) AS TABLE
  SELECT
    *,
    CASE
      WHEN COALESCE(labeled_share, 0) = 0 THEN 'no rows with a label and a cluster'
      WHEN contradiction IS NOT NULL THEN contradiction
      WHEN design = 'records' AND place > 4
      THEN 'labels of random records do not tell how many rows an entity has'
      WHEN value IS NULL THEN 'the labeled rows have no pairs to judge it by'
      WHEN design = 'records' AND interval_error IS NULL AND value * (1 - value) > 1e-12
      THEN 'the labeled rows have too few pairs for an interval'
      WHEN design = 'records' THEN NULL
      WHEN design = 'by_record' AND fraction IS NULL AND n_labels * (largest_label / total) > 0.25
      THEN concat(
        'a label with ', largest_label, ' of ', total,
        ' rows may have been drawn more than once: pass sampling_fraction'
      )
      WHEN design = 'uniform' AND metric <> 'exact_match_recall'
        AND labeled_neighbors < 0.6 * neighbors
      THEN 'large entities are missing: labeled rows have below 60 % of the neighbors of all rows'
      WHEN concentration * 6 > 1 + 1e-12
      THEN 'the labeled entities weigh less than 6 equal ones'
      WHEN is_quotient AND NOT COALESCE(interval_error > 1e-12 * value, FALSE)
      THEN 'the labeled entities do not differ in what the metric counts'
    END AS reason
  FROM query_table(estimates);

-- All columns of estimates, reason, and lower and upper, the limits of the interval. z is a column
-- of estimates, the normal quantile. The interval of a share is Wilson's, with the effective sample
-- size value (1 - value) / interval_error^2 and a quantile of Student's t. It is never nearer to 1
-- than an interval of the entities would be if none of them had an error, nor nearer to 0 than if
-- all were wrong. That of other quotients is symmetric in their logarithm.
CREATE OR REPLACE MACRO clustereval._add_limits(estimates, design, fraction) AS TABLE
  WITH quantiles AS (
    SELECT
      *,
      value * (1.0 - value) AS variance,
      clustereval._squared_t_quantile(freedom, z) AS squared_t,
      -- Exact matches are either right or wrong, so the sample is worth no more than its weights.
      CASE WHEN metric = 'exact_match_recall' THEN concentration ELSE 0.0 END AS least_spread,
      1.0 / (1.0 + z * z * concentration) AS bound
    FROM clustereval._add_reasons(estimates, design, fraction)
  ),
  spreads AS (
    SELECT
      *,
      exp(LEAST(sqrt(squared_t) * clustereval._ratio(interval_error, value), 700.0)) AS factor,
      -- A smaller variance is a rounding error.
      CASE
        WHEN variance > 1e-12
        THEN squared_t * GREATEST(pow(interval_error, 2) / variance, least_spread)
        ELSE 0.0
      END AS spread
    FROM quantiles
  )
  SELECT
    *,
    CASE
      WHEN is_quotient THEN LEAST(value / factor, value * bound)
      ELSE LEAST(clustereval._wilson_limit(value, variance, spread, -1), bound)
    END AS lower,
    CASE
      WHEN is_quotient THEN value * factor
      ELSE GREATEST(clustereval._wilson_limit(value, variance, spread, 1), 1.0 - bound)
    END AS upper
  FROM spreads;

---------------------------------------------------------------------------------------------------
-- Estimates
---------------------------------------------------------------------------------------------------

-- The rows of _label_spread with rows_per_cluster, the mean number of rows of a cluster. cells:
-- those of the labeled rows; cluster_sizes is of all rows.
CREATE OR REPLACE MACRO clustereval._sample_totals(cells, cluster_sizes) AS TABLE
  WITH labeled_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  spread AS (SELECT * FROM clustereval._label_spread(labeled_sizes, cluster_sizes)),
  means AS (
    SELECT
      partition_key,
      clustereval._ratio(SUM(cluster_size * copies), SUM(copies)) AS rows_per_cluster
    FROM query_table(cluster_sizes)
    GROUP BY partition_key
  )
  SELECT spread.*, means.rows_per_cluster
  FROM spread
  JOIN means ON means.partition_key IS NOT DISTINCT FROM spread.partition_key;

-- The rows of _label_changes. cells, cluster_sizes and totals are those of _sample_totals.
CREATE OR REPLACE MACRO clustereval._changes_by_label(
  cells, cluster_sizes, totals, labels_are_sample, sampling_fraction, beta
) AS TABLE
  WITH entities AS MATERIALIZED (
    SELECT *
    FROM clustereval._entity_terms(cells, cluster_sizes, labels_are_sample, sampling_fraction)
  ),
  terms AS MATERIALIZED (SELECT * FROM clustereval._metric_terms(entities, totals, beta))
  SELECT * FROM clustereval._label_changes(terms);

-- One row per partition and metric: the columns that _add_reasons needs, and n_dropped,
-- n_labeled_rows, n_labeled_pairs, place, std_error, least_value and greatest_value. all_groups are
-- those of all rows, with any label; label_changes and record_changes: rows of _changes_by_label
-- and _changes_by_record.
CREATE OR REPLACE MACRO clustereval._estimate_values(
  all_groups, cells, totals, label_changes, record_changes, labels_are_sample
) AS TABLE
  WITH of_labels AS (SELECT * FROM clustereval._mean_quotients(label_changes)),
  of_records AS (SELECT * FROM clustereval._record_estimates(record_changes)),
  -- The one that is not named is not bound.
  quotients AS (
    SELECT *
    FROM query_table(CASE WHEN labels_are_sample = 'records' THEN 'of_records' ELSE 'of_labels' END)
  ),
  metrics AS (
    SELECT
      metrics.*,
      metrics.metric IN ('exact_match_precision', 'exact_match_f_score', 'average_label_size')
        AS is_quotient,
      CASE WHEN metrics.metric = 'average_label_size' THEN 1.0 ELSE 0.0 END AS least_value,
      CASE WHEN metrics.metric <> 'average_label_size' THEN 1.0 END AS greatest_value
    FROM (
      SELECT
        unnest(range(1, 12)) AS place,
        unnest([
          'pair_precision', 'pair_recall', 'pair_f_score', 'bcubed_precision', 'bcubed_recall',
          'bcubed_f_score', 'exact_match_precision', 'exact_match_recall', 'exact_match_f_score',
          'matching_rate', 'average_label_size'
        ]) AS metric
    ) AS metrics
  ),
  facts AS (
    SELECT
      counts.partition_key,
      counts.total,
      counts.n_dropped,
      spread.labeled_share, spread.labeled_neighbors, spread.neighbors,
      COALESCE(CAST(spread.n_labeled AS BIGINT), 0) AS n_labeled_rows,
      labeled.n_labels, labeled.largest_label,
      COALESCE(labeled.n_labeled_pairs, 0) AS n_labeled_pairs,
      clustereval._contradiction(
        labels_are_sample, spread.labeled_share, spread.labeled_nearby, spread.n_near,
        spread.excess, spread.deviation
      ) AS contradiction
    FROM clustereval._row_counts(all_groups) AS counts
    LEFT JOIN query_table(totals) AS spread
      ON spread.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._count_labeled(cells) AS labeled
      ON labeled.partition_key IS NOT DISTINCT FROM counts.partition_key
  )
  SELECT
    facts.*,
    metrics.*,
    CASE
      WHEN quotient.value > metrics.greatest_value THEN metrics.greatest_value
      ELSE quotient.value
    END AS value,
    quotient.std_error, quotient.interval_error, quotient.freedom, quotient.concentration
  FROM facts
  CROSS JOIN metrics
  LEFT JOIN quotients AS quotient
    ON quotient.partition_key IS NOT DISTINCT FROM facts.partition_key
    AND quotient.place = metrics.place
    AND facts.contradiction IS NULL;

-- The rows of _estimate_values, from its cells and all_groups alone.
CREATE OR REPLACE MACRO clustereval._sample_values(
  cells, all_groups, labels_are_sample, sampling_fraction, beta
) AS TABLE
  WITH all_cells AS (SELECT * FROM query_table(all_groups) WHERE copies > 0),
  cluster_sizes AS MATERIALIZED (SELECT * FROM clustereval._cluster_sizes(all_cells)),
  totals AS MATERIALIZED (SELECT * FROM clustereval._sample_totals(cells, cluster_sizes)),
  label_changes AS (
    SELECT *
    FROM clustereval._changes_by_label(
      cells, cluster_sizes, totals, labels_are_sample, sampling_fraction, beta
    )
  ),
  record_changes AS (
    SELECT * FROM clustereval._changes_by_record(cells, cluster_sizes, totals, beta)
  )
  SELECT *
  FROM clustereval._estimate_values(
    all_groups, cells, totals, label_changes, record_changes, labels_are_sample
  );

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- One row per partition (a group of partition_by) and metric: partition_key, metric, value,
-- std_error, lower, upper (all estimated from the labels of a sample), n_labeled_rows and
-- n_labeled_pairs (the number of labeled rows, and of pairs of these with the same label or
-- cluster) and reason, which says why value or lower and upper are NULL. label is the column of
-- the true entity, NULL if it is not known, and cluster is the column of the assigned cluster;
-- weight is the multiplicity of a row, a whole number >= 0. labels_are_sample states what was
-- drawn and labeled. 'uniform' means entities, each drawn with the same probability, and
-- 'by_record' means the entities of rows drawn at random; in both cases all rows of the entities
-- have labels. 'records' means rows drawn at random, whatever their entity. noise is the value of
-- cluster that marks noise; noise_as keeps its rows as a 'cluster', leaves them out ('drop') or
-- counts each as a cluster of its own ('singletons'). beta weighs recall in the F scores, and
-- confidence is the probability that an interval covers the value of all entities.
-- sampling_fraction is the share of all rows that were drawn 'by_record', 0 if it is negligible.
-- Rows with a NULL cluster are left out.
-- Examples:
--   FROM clustereval.entity_resolution_estimates(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.entity_resolution_estimates(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  labels_are_sample := 'uniform', beta := 1.0, confidence := 0.95, sampling_fraction := NULL
) AS TABLE
  -- The clusters of all rows are those of the table with the cluster as label. The table is read
  -- for both purposes here, before there is another name that the user's table may have.
  WITH __ce_both_groups AS (
    SELECT TRUE AS labeled, labeled.*
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
      AS labeled
    UNION ALL
    SELECT FALSE, whole.* REPLACE (NULL AS label)
    FROM clustereval._row_groups(tbl, cluster, cluster, weight, partition_by, noise, noise_as)
      AS whole
  ),
  cells AS (SELECT * FROM __ce_both_groups WHERE labeled AND copies > 0),
  all_groups AS (SELECT * FROM __ce_both_groups WHERE NOT labeled),
  metric_values AS (
    SELECT *
    FROM clustereval._sample_values(
      cells, all_groups, labels_are_sample, sampling_fraction, beta
    )
  ),
  estimates AS (SELECT *, clustereval._normal_quantile(confidence) AS z FROM metric_values)
  SELECT
    partition_key, metric, value, std_error,
    CASE WHEN reason IS NULL THEN GREATEST(lower, least_value) END AS lower,
    CASE WHEN reason IS NULL THEN LEAST(upper, greatest_value) END AS upper,
    n_labeled_rows, n_labeled_pairs, reason
  FROM clustereval._add_limits(estimates, labels_are_sample, sampling_fraction)
  WHERE clustereval._check_options(clustereval._valid_estimate_options(
    noise, noise_as, labels_are_sample, confidence, beta, sampling_fraction
  ))
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
