-- label_sample: estimates of external metrics from the true labels of a sample of the entities.
--
--   * Labels are known for some entities only, and for these completely: the labeled entities are a
--     sample of all, drawn with equal probability, or by records drawn at random, and so with a
--     probability that grows with their size. Rows without a label belong to other entities. Where
--     rows have been labeled at random instead, the estimates are those of record_sample.
--   * Every metric is the quotient of two totals over all entities. The estimate is the quotient of
--     the weighted means of the two terms over the sample, where the weight of an entity is
--     inverse to its probability.
--   * The size of a cluster is the number of its rows, with and without a label: a cluster that
--     joins a sampled entity with others is wrong, whether these have labels or not.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- Text of the query SELECT TRUE AS __ce_valid, for _check_options. Raises an error if an option of
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
    ELSE clustereval._valid_interval_options(
      confidence, clustereval._valid_noise(noise, noise_as)
    )
  END;

---------------------------------------------------------------------------------------------------
-- Terms of the entities
---------------------------------------------------------------------------------------------------

-- One row per label: __ce_partition; __ce_size, its number of rows; __ce_linked, the ordered pairs
-- of its rows in one cluster; __ce_links, the ordered pairs of one of its rows with any other row
-- of that row's cluster; __ce_precision and __ce_recall, B-cubed precision and recall summed over
-- its rows; __ce_exact, 1 if it is a cluster, otherwise 0; and __ce_weight, inverse to its
-- probability under labels_are_sample. __ce_cells is the name of a CTE of the contingency cells of
-- the rows that have labels, and __ce_cluster_sizes that of the rows of _cluster_sizes, of all
-- rows.
CREATE OR REPLACE MACRO clustereval._entity_terms(
  __ce_cells, __ce_cluster_sizes, labels_are_sample
) AS TABLE
  WITH __ce_labels AS (
    SELECT
      cell.__ce_partition,
      CAST(SUM(cell.__ce_n * cell.__ce_copies) AS DOUBLE) AS __ce_size,
      CAST(
        SUM(clustereval._count_ordered_pairs(cell.__ce_n) * cell.__ce_copies) AS DOUBLE
      ) AS __ce_linked,
      CAST(
        SUM(
          clustereval._widen(cell.__ce_n * cell.__ce_copies)
          * clustereval._widen(clusters.__ce_cluster_size - 1)
        ) AS DOUBLE
      ) AS __ce_links,
      clustereval._compensated_sum(
        CAST(cell.__ce_n AS DOUBLE) * cell.__ce_n / clusters.__ce_cluster_size
        * cell.__ce_copies
      ) AS __ce_precision,
      clustereval._compensated_sum(
        CAST(cell.__ce_n AS DOUBLE) * cell.__ce_n * cell.__ce_copies
      ) AS __ce_squares,
      MAX(
        CASE WHEN cell.__ce_n = clusters.__ce_cluster_size THEN cell.__ce_n ELSE 0 END
      ) AS __ce_whole_cluster
    FROM query_table(__ce_cells) AS cell
    JOIN query_table(__ce_cluster_sizes) AS clusters
      ON clusters.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND clusters.__ce_cluster IS NOT DISTINCT FROM cell.__ce_cluster
    GROUP BY cell.__ce_partition, cell.__ce_label
  )
  SELECT
    __ce_partition, __ce_size, __ce_linked, __ce_links, __ce_precision,
    __ce_squares / __ce_size AS __ce_recall,
    CASE WHEN __ce_whole_cluster = __ce_size THEN 1.0 ELSE 0.0 END AS __ce_exact,
    CASE WHEN labels_are_sample = 'by_record' THEN 1.0 / __ce_size ELSE 1.0 END AS __ce_weight
  FROM __ce_labels;

-- One row per __ce_partition: __ce_precision_slope and __ce_recall_slope, the derivatives of the
-- B-cubed F score by precision and recall, at their estimates, 0 if both are 0. __ce_entities is
-- the name of a CTE of the rows of _entity_terms.
CREATE OR REPLACE MACRO clustereval._bcubed_slopes(__ce_entities, beta) AS TABLE
  WITH __ce_means AS (
    SELECT
      __ce_partition,
      clustereval._ratio(
        clustereval._compensated_sum(__ce_weight * __ce_precision),
        clustereval._compensated_sum(__ce_weight * __ce_size)
      ) AS __ce_p,
      clustereval._ratio(
        clustereval._compensated_sum(__ce_weight * __ce_recall),
        clustereval._compensated_sum(__ce_weight * __ce_size)
      ) AS __ce_r
    FROM query_table(__ce_entities)
    GROUP BY __ce_partition
  ),
  __ce_scaled AS (
    SELECT
      __ce_partition, __ce_p, __ce_r,
      (1.0 + CAST(beta AS DOUBLE) * beta)
        / NULLIF(pow(CAST(beta AS DOUBLE) * beta * __ce_p + __ce_r, 2), 0) AS __ce_scale
    FROM __ce_means
  )
  SELECT
    __ce_partition,
    COALESCE(__ce_scale * __ce_r * __ce_r, 0.0) AS __ce_precision_slope,
    COALESCE(__ce_scale * beta * beta * __ce_p * __ce_p, 0.0) AS __ce_recall_slope
  FROM __ce_scaled;

-- One row per label and metric: __ce_partition, __ce_place, the place of the metric, __ce_metric,
-- and the weighted terms __ce_numerator and __ce_denominator, whose totals have the metric as their
-- quotient. __ce_entities and __ce_slopes are names of CTEs of the rows of _entity_terms and
-- _bcubed_slopes, and __ce_totals of one of a row per partition: __ce_rows_per_cluster, its mean
-- number of rows of a cluster.
CREATE OR REPLACE MACRO clustereval._metric_terms(
  __ce_entities, __ce_slopes, __ce_totals, beta
) AS TABLE
  WITH __ce_facts AS (
    SELECT
      entity.*,
      entity.__ce_size * (entity.__ce_size - 1) AS __ce_pairs,
      slopes.__ce_precision_slope * entity.__ce_precision
        + slopes.__ce_recall_slope * entity.__ce_recall AS __ce_f,
      totals.__ce_rows_per_cluster,
      CAST(beta AS DOUBLE) * beta AS __ce_square
    FROM query_table(__ce_entities) AS entity
    JOIN query_table(__ce_slopes) AS slopes
      ON slopes.__ce_partition IS NOT DISTINCT FROM entity.__ce_partition
    JOIN query_table(__ce_totals) AS totals
      ON totals.__ce_partition IS NOT DISTINCT FROM entity.__ce_partition
  ),
  __ce_terms AS (
    SELECT
      __ce_partition, __ce_weight,
      [
        {'metric': 'pair_precision', 'top': __ce_linked, 'bottom': __ce_links},
        {'metric': 'pair_recall', 'top': __ce_linked, 'bottom': __ce_pairs},
        {
          'metric': 'pair_f_score', 'top': (1.0 + __ce_square) * __ce_linked,
          'bottom': __ce_square * __ce_pairs + __ce_links
        },
        {'metric': 'bcubed_precision', 'top': __ce_precision, 'bottom': __ce_size},
        {'metric': 'bcubed_recall', 'top': __ce_recall, 'bottom': __ce_size},
        {'metric': 'bcubed_f_score', 'top': __ce_f, 'bottom': __ce_size},
        {
          'metric': 'exact_match_precision', 'top': __ce_rows_per_cluster * __ce_exact,
          'bottom': __ce_size
        },
        {'metric': 'exact_match_recall', 'top': __ce_exact, 'bottom': CAST(1 AS DOUBLE)},
        {
          'metric': 'exact_match_f_score',
          'top': (1.0 + __ce_square) * __ce_rows_per_cluster * __ce_exact,
          'bottom': __ce_square * __ce_rows_per_cluster + __ce_size
        },
        {
          'metric': 'matching_rate',
          'top': CASE WHEN __ce_size > 1 THEN __ce_size ELSE CAST(0 AS DOUBLE) END,
          'bottom': __ce_size
        },
        {'metric': 'average_label_size', 'top': __ce_size, 'bottom': CAST(1 AS DOUBLE)}
      ] AS __ce_metrics
    FROM __ce_facts
  )
  SELECT
    terms.__ce_partition,
    places.__ce_place,
    terms.__ce_metrics[places.__ce_place]['metric'] AS __ce_metric,
    terms.__ce_weight * terms.__ce_metrics[places.__ce_place]['top'] AS __ce_numerator,
    terms.__ce_weight * terms.__ce_metrics[places.__ce_place]['bottom'] AS __ce_denominator
  FROM __ce_terms AS terms, range(1, 12) AS places (__ce_place);

---------------------------------------------------------------------------------------------------
-- Quotients of means
---------------------------------------------------------------------------------------------------

-- One row per __ce_partition and __ce_place: __ce_metric; __ce_value, the estimate of the quotient
-- of the means of numerator and denominator, less its bias of first order; and __ce_std_error, its
-- standard error by the delta method, NULL for less than 2 labels or a mean of 0. __ce_terms is the
-- name of a CTE of the rows of _metric_terms.
CREATE OR REPLACE MACRO clustereval._mean_quotients(__ce_terms) AS TABLE
  WITH __ce_means AS (
    SELECT
      __ce_partition, __ce_place,
      any_value(__ce_metric) AS __ce_metric,
      COUNT(*) AS __ce_n,
      clustereval._compensated_sum(__ce_numerator) / COUNT(*) AS __ce_numerator_mean,
      clustereval._compensated_sum(__ce_denominator) / COUNT(*) AS __ce_denominator_mean
    FROM query_table(__ce_terms)
    GROUP BY __ce_partition, __ce_place
  ),
  __ce_deviations AS (
    SELECT
      means.*,
      clustereval._ratio(term.__ce_denominator, means.__ce_denominator_mean) AS __ce_share,
      clustereval._ratio(term.__ce_numerator, means.__ce_numerator_mean)
        - clustereval._ratio(term.__ce_denominator, means.__ce_denominator_mean)
        AS __ce_deviation
    FROM query_table(__ce_terms) AS term
    JOIN __ce_means AS means
      ON means.__ce_partition IS NOT DISTINCT FROM term.__ce_partition
      AND means.__ce_place = term.__ce_place
  ),
  __ce_sums AS (
    SELECT
      __ce_partition, __ce_place,
      any_value(__ce_metric) AS __ce_metric,
      MIN(__ce_n) AS __ce_n,
      clustereval._ratio(MIN(__ce_numerator_mean), MIN(__ce_denominator_mean)) AS __ce_quotient,
      clustereval._compensated_sum(__ce_share * __ce_deviation) AS __ce_bias,
      clustereval._compensated_sum(__ce_deviation * __ce_deviation) AS __ce_squares
    FROM __ce_deviations
    GROUP BY __ce_partition, __ce_place
  )
  SELECT
    __ce_partition, __ce_place, __ce_metric,
    __ce_quotient
      * (1.0 + COALESCE(clustereval._ratio(__ce_bias, __ce_n * (__ce_n - 1)), 0.0)) AS __ce_value,
    __ce_quotient
      * sqrt(clustereval._ratio(__ce_squares, __ce_n * (__ce_n - 1))) AS __ce_std_error
  FROM __ce_sums;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Why a metric has no value, as text, NULL if it has one. contradiction is the result of
-- _contradiction, labeled_share is that of _label_spread, place the metric's place, value its
-- estimate, and labels_are_sample the user's option.
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

-- One row per partition (group of partition_by) and metric: partition_key, metric, value,
-- std_error, lower, upper and reason, why value is NULL, estimated from the labels of a sample.
-- label and cluster are the columns of the true entity, NULL where it is not known, and of the
-- assigned cluster; weight is the multiplicity of a row, a whole number >= 0. labels_are_sample
-- tells what was drawn and labeled: 'uniform', entities, each with the same probability;
-- 'by_record', the entities of rows drawn at random, both with all their rows; or 'records', rows
-- drawn at random, whatever their entity. noise is the value of cluster that marks noise, which
-- noise_as ('cluster', 'drop' or 'singletons') keeps as a cluster, leaves out, or counts as one
-- cluster per row. beta weighs recall in the F scores, and confidence is the probability that an
-- interval covers the value of all entities. Rows with a NULL cluster are left out.
-- Examples:
--   FROM clustereval.entity_resolution_estimates(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.entity_resolution_estimates(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  labels_are_sample := 'uniform', beta := 1.0, confidence := 0.95
) AS TABLE
  -- The clusters of all rows are those of the table with the cluster as label. Both are read here,
  -- before there is another name that the user's table may have.
  WITH __ce_both_groups AS (
    SELECT TRUE AS __ce_labeled, labeled.*
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
      AS labeled
    UNION ALL
    SELECT FALSE, whole.* REPLACE (NULL AS __ce_label)
    FROM clustereval._row_groups(tbl, cluster, cluster, weight, partition_by, noise, noise_as)
      AS whole
  ),
  __ce_cells AS (SELECT * FROM __ce_both_groups WHERE __ce_labeled AND __ce_copies > 0),
  __ce_all_groups AS (SELECT * FROM __ce_both_groups WHERE NOT __ce_labeled),
  __ce_all_cells AS (SELECT * FROM __ce_all_groups WHERE __ce_copies > 0),
  __ce_cluster_sizes AS MATERIALIZED (SELECT * FROM clustereval._cluster_sizes(__ce_all_cells)),
  __ce_labeled_sizes AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_spread AS MATERIALIZED (
    SELECT * FROM clustereval._label_spread(__ce_labeled_sizes, __ce_cluster_sizes)
  ),
  __ce_all_totals AS (
    SELECT
      sizes.__ce_partition,
      clustereval._ratio(SUM(sizes.__ce_cluster_size * sizes.__ce_copies), SUM(sizes.__ce_copies))
        AS __ce_rows_per_cluster,
      MIN(spread.__ce_labeled_share) AS __ce_labeled_share
    FROM __ce_cluster_sizes AS sizes
    JOIN __ce_spread AS spread
      ON spread.__ce_partition IS NOT DISTINCT FROM sizes.__ce_partition
    GROUP BY sizes.__ce_partition
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
      metrics.__ce_place,
      metrics.__ce_metric,
      CASE WHEN metrics.__ce_metric = 'average_label_size' THEN 1.0 ELSE 0.0 END AS __ce_least,
      CASE WHEN metrics.__ce_metric <> 'average_label_size' THEN 1.0 END AS __ce_greatest
    FROM (
      SELECT
        unnest(range(1, 12)) AS __ce_place,
        unnest([
          'pair_precision', 'pair_recall', 'pair_f_score', 'bcubed_precision', 'bcubed_recall',
          'bcubed_f_score', 'exact_match_precision', 'exact_match_recall', 'exact_match_f_score',
          'matching_rate', 'average_label_size'
        ]) AS __ce_metric
    ) AS metrics
  ),
  __ce_contradictions AS (
    SELECT
      __ce_partition, __ce_labeled_share,
      clustereval._contradiction(
        labels_are_sample, __ce_labeled_share, __ce_labeled_nearby, __ce_n_near, __ce_excess,
        __ce_deviation
      ) AS __ce_contradiction
    FROM __ce_spread
  ),
  __ce_estimates AS (
    SELECT
      counts.__ce_partition,
      metrics.*,
      clustereval._missing_reason(
        facts.__ce_contradiction, labels_are_sample, facts.__ce_labeled_share,
        metrics.__ce_place, quotients.__ce_value
      ) AS __ce_reason,
      CASE
        WHEN quotients.__ce_value > metrics.__ce_greatest THEN metrics.__ce_greatest
        ELSE quotients.__ce_value
      END AS __ce_value,
      quotients.__ce_std_error,
      clustereval._normal_quantile(confidence) * quotients.__ce_std_error AS __ce_margin
    FROM __ce_row_counts AS counts
    CROSS JOIN __ce_metrics AS metrics
    LEFT JOIN __ce_contradictions AS facts
      ON facts.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_quotients AS quotients
      ON quotients.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
      AND quotients.__ce_place = metrics.__ce_place
      AND facts.__ce_contradiction IS NULL
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_metric AS metric,
    __ce_value AS value,
    __ce_std_error AS std_error,
    CASE
      WHEN __ce_value - __ce_margin < __ce_least THEN __ce_least
      ELSE __ce_value - __ce_margin
    END AS lower,
    CASE
      WHEN __ce_value + __ce_margin > __ce_greatest THEN __ce_greatest
      ELSE __ce_value + __ce_margin
    END AS upper,
    __ce_reason AS reason
  FROM __ce_estimates
  WHERE clustereval._check_options(clustereval._valid_estimate_options(
    noise, noise_as, labels_are_sample, confidence, beta
  ))
  ORDER BY __ce_partition ASC NULLS LAST, __ce_place ASC NULLS LAST;
