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

-- Text of the query SELECT TRUE AS valid, for _check_options. Raises an error if an option of
-- entity_resolution_estimates is invalid.
CREATE OR REPLACE MACRO clustereval._valid_estimate_options(
  noise, noise_as, labels_are_sample, confidence, beta
) AS
  CASE
    WHEN coalesce(labels_are_sample, '') NOT IN ('uniform', 'by_record', 'records')
    THEN error(concat(
      'labels_are_sample: expected one of ''uniform'', ''by_record'', ''records'', got ',
      coalesce('''' || labels_are_sample || '''', 'NULL')
    ))
    WHEN beta IS NULL OR NOT (beta >= 0 AND beta < 1e150)
    THEN error(concat(
      'beta: expected a number >= 0, got ', coalesce(CAST(beta AS VARCHAR), 'NULL')
    ))
    ELSE clustereval._valid_interval_options(confidence, clustereval._valid_noise(noise, noise_as))
  END;

---------------------------------------------------------------------------------------------------
-- Terms of the entities
---------------------------------------------------------------------------------------------------

-- One row per label: partition_key; size, its number of rows; linked, the number of ordered pairs
-- of its rows in the same cluster; links, the number of ordered pairs of one of its rows with any
-- other row of that row's cluster; precision and recall, B-cubed precision and recall summed over
-- its rows; exact, 1 if a cluster has exactly its rows, otherwise 0; and weight, the inverse of its
-- probability under labels_are_sample. cells is the name of a CTE of the contingency cells of the
-- rows that have labels, and cluster_sizes is the name of a CTE of the rows of _cluster_sizes, for
-- all rows.
CREATE OR REPLACE MACRO clustereval._entity_terms(cells, cluster_sizes, labels_are_sample) AS TABLE
  WITH labels AS (
    SELECT
      cell.partition_key,
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
  )
  SELECT
    partition_key, size, linked, links, precision,
    squares / size AS recall,
    CASE WHEN whole_cluster = size THEN 1.0 ELSE 0.0 END AS exact,
    CASE WHEN labels_are_sample = 'by_record' THEN 1.0 / size ELSE 1.0 END AS weight
  FROM labels;

-- One row per partition_key: precision_slope and recall_slope, the derivatives of the B-cubed F
-- score with respect to precision and recall, at their estimates, 0 if both are 0. entities: rows
-- of _entity_terms.
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

-- One row per label and metric: partition_key; place, the place of the metric; metric; and the
-- weighted terms numerator and denominator, the quotient of whose totals is the metric. entities
-- and slopes are names of CTEs of the rows of _entity_terms and _bcubed_slopes. totals is the name
-- of a CTE with a row per partition: rows_per_cluster, the mean number of rows per cluster.
CREATE OR REPLACE MACRO clustereval._metric_terms(entities, slopes, totals, beta) AS TABLE
  WITH facts AS (
    SELECT
      entity.*,
      entity.size * (entity.size - 1) AS pairs,
      slope.precision_slope * entity.precision
        + slope.recall_slope * entity.recall AS f,
      total.rows_per_cluster,
      CAST(beta AS DOUBLE) * beta AS square
    FROM query_table(entities) AS entity
    JOIN query_table(slopes) AS slope
      ON slope.partition_key IS NOT DISTINCT FROM entity.partition_key
    JOIN query_table(totals) AS total
      ON total.partition_key IS NOT DISTINCT FROM entity.partition_key
  ),
  terms AS (
    SELECT
      partition_key, weight,
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
    places.place,
    terms.metrics[places.place]['metric'] AS metric,
    terms.weight * terms.metrics[places.place]['top'] AS numerator,
    terms.weight * terms.metrics[places.place]['bottom'] AS denominator
  FROM terms, range(1, 12) AS places (place);

---------------------------------------------------------------------------------------------------
-- Quotients of means
---------------------------------------------------------------------------------------------------

-- One row per partition_key and place: metric; value, the estimate of the quotient of the means of
-- numerator and denominator, minus its first-order bias; and std_error, its standard error by the
-- delta method, NULL for fewer than 2 labels or if a mean is 0. terms: rows of _metric_terms.
CREATE OR REPLACE MACRO clustereval._mean_quotients(terms) AS TABLE
  WITH means AS (
    SELECT
      partition_key, place,
      any_value(metric) AS metric,
      COUNT(*) AS n,
      clustereval._compensated_sum(numerator) / COUNT(*) AS numerator_mean,
      clustereval._compensated_sum(denominator) / COUNT(*) AS denominator_mean
    FROM query_table(terms)
    GROUP BY partition_key, place
  ),
  deviations AS (
    SELECT
      means.*,
      clustereval._ratio(term.denominator, means.denominator_mean) AS share,
      clustereval._ratio(term.numerator, means.numerator_mean)
        - clustereval._ratio(term.denominator, means.denominator_mean) AS deviation
    FROM query_table(terms) AS term
    JOIN means
      ON means.partition_key IS NOT DISTINCT FROM term.partition_key
      AND means.place = term.place
  ),
  sums AS (
    SELECT
      partition_key, place,
      any_value(metric) AS metric,
      MIN(n) AS n,
      clustereval._ratio(MIN(numerator_mean), MIN(denominator_mean)) AS quotient,
      clustereval._compensated_sum(share * deviation) AS bias,
      clustereval._compensated_sum(deviation * deviation) AS squares
    FROM deviations
    GROUP BY partition_key, place
  )
  SELECT
    partition_key, place, metric, quotient
      * (1.0 + COALESCE(clustereval._ratio(bias, n * (n - 1)), 0.0)) AS value,
    quotient
      * sqrt(clustereval._ratio(squares, n * (n - 1))) AS std_error
  FROM sums;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- A text that says why a metric has no value, NULL if it has a value. contradiction is the result
-- of _contradiction, labeled_share is the column of _label_spread, place is the metric's place,
-- value is its estimate, and labels_are_sample is the user's option.
CREATE OR REPLACE MACRO clustereval._missing_reason(
  contradiction, labels_are_sample, labeled_share, place, value
) AS
  CASE
    WHEN COALESCE(labeled_share, 0) = 0 THEN 'no rows with a label and a cluster'
    WHEN contradiction IS NOT NULL THEN contradiction
    WHEN labels_are_sample = 'records' AND place > 4
    THEN 'labels of random records do not tell how many rows an entity has'
    WHEN value IS NULL THEN 'the labeled rows have no pairs to judge it by'
  END;

-- One row per partition (a group of partition_by) and metric: partition_key, metric, value,
-- std_error, lower, upper (all estimated from the labels of a sample) and reason, which says why
-- value is NULL. label is the column of the true entity, NULL if it is not known, and cluster is
-- the column of the assigned cluster; weight is the multiplicity of a row, a whole number >= 0.
-- labels_are_sample states what was drawn and labeled. 'uniform' means entities, each drawn with
-- the same probability, and 'by_record' means the entities of rows drawn at random; in both cases
-- all rows of the entities have labels. 'records' means rows drawn at random, whatever their
-- entity. noise is the value of cluster that marks noise; noise_as keeps its rows as a 'cluster',
-- leaves them out ('drop') or counts each as a cluster of its own ('singletons'). beta weighs
-- recall in the F scores, and confidence is the probability that an interval covers the value of
-- all entities. Rows with a NULL cluster are left out.
-- Examples:
--   FROM clustereval.entity_resolution_estimates(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.entity_resolution_estimates(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  labels_are_sample := 'uniform', beta := 1.0, confidence := 0.95
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
  __ce_cells AS (SELECT * FROM __ce_both_groups WHERE labeled AND copies > 0),
  __ce_all_groups AS (SELECT * FROM __ce_both_groups WHERE NOT labeled),
  __ce_all_cells AS (SELECT * FROM __ce_all_groups WHERE copies > 0),
  __ce_cluster_sizes AS MATERIALIZED (SELECT * FROM clustereval._cluster_sizes(__ce_all_cells)),
  __ce_labeled_sizes AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_spread AS MATERIALIZED (
    SELECT * FROM clustereval._label_spread(__ce_labeled_sizes, __ce_cluster_sizes)
  ),
  __ce_all_totals AS (
    SELECT
      sizes.partition_key,
      clustereval._ratio(SUM(sizes.cluster_size * sizes.copies), SUM(sizes.copies))
        AS rows_per_cluster,
      MIN(spread.labeled_share) AS labeled_share
    FROM __ce_cluster_sizes AS sizes
    JOIN __ce_spread AS spread ON spread.partition_key IS NOT DISTINCT FROM sizes.partition_key
    GROUP BY sizes.partition_key
  ),
  __ce_row_counts AS (SELECT * FROM clustereval._row_counts(__ce_all_groups)),
  __ce_entities AS MATERIALIZED (
    SELECT *
    FROM clustereval._entity_terms(__ce_cells, __ce_cluster_sizes, labels_are_sample)
  ),
  __ce_slopes AS (SELECT * FROM clustereval._bcubed_slopes(__ce_entities, beta)),
  __ce_terms AS MATERIALIZED (
    SELECT * FROM clustereval._metric_terms(__ce_entities, __ce_slopes, __ce_all_totals, beta)
  ),
  __ce_quotients AS (
    SELECT *
    FROM clustereval._mean_quotients(__ce_terms)
    WHERE labels_are_sample <> 'records'
    UNION ALL
    SELECT *
    FROM clustereval._record_estimates(__ce_cells, __ce_cluster_sizes, __ce_all_totals, beta)
    WHERE labels_are_sample = 'records'
  ),
  __ce_metrics AS (
    SELECT
      metrics.place,
      metrics.metric,
      CASE WHEN metrics.metric = 'average_label_size' THEN 1.0 ELSE 0.0 END AS least,
      CASE WHEN metrics.metric <> 'average_label_size' THEN 1.0 END AS greatest
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
  __ce_contradictions AS (
    SELECT
      partition_key, labeled_share,
      clustereval._contradiction(
        labels_are_sample, labeled_share, labeled_nearby, n_near, excess, deviation
      ) AS contradiction
    FROM __ce_spread AS spread
  ),
  __ce_estimates AS (
    SELECT
      counts.partition_key,
      metrics.*,
      clustereval._missing_reason(
        facts.contradiction, labels_are_sample, facts.labeled_share, metrics.place, quotients.value
      ) AS reason,
      CASE
        WHEN quotients.value > metrics.greatest THEN metrics.greatest
        ELSE quotients.value
      END AS value,
      quotients.std_error,
      clustereval._normal_quantile(confidence) * quotients.std_error AS margin
    FROM __ce_row_counts AS counts
    CROSS JOIN __ce_metrics AS metrics
    LEFT JOIN __ce_contradictions AS facts
      ON facts.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN __ce_quotients AS quotients
      ON quotients.partition_key IS NOT DISTINCT FROM counts.partition_key
      AND quotients.place = metrics.place
      AND facts.contradiction IS NULL
  )
  SELECT
    partition_key,
    metric,
    value,
    std_error,
    CASE
      WHEN value - margin < least THEN least
      ELSE value - margin
    END AS lower,
    CASE
      WHEN value + margin > greatest THEN greatest
      ELSE value + margin
    END AS upper,
    reason
  FROM __ce_estimates
  WHERE clustereval._check_options(clustereval._valid_estimate_options(
    noise, noise_as, labels_are_sample, confidence, beta
  ))
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
