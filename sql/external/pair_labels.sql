-- pair_labels: scores of a clustering from labels of pairs of ids, such as those of reviewers.
--
--   * A row of the table of pairs says whether its two ids, `left` and `right`, in either order,
--     are a match. Rows with the same two ids are one pair, and must have the same label.
--   * With partition_by, the table of pairs may have the column too. If it does not, the pairs hold
--     for every partition: a name in a lateral subquery is first looked up in the table of pairs,
--     and then in a row of the partition.
--   * A weight is 1 / (the probability that the pair was drawn), and the scores are ratios of sums
--     of weights (Hajek). In the interval of such a ratio, one more pair that is wrong has a part
--     of the largest weight, because the sample may lack the pairs that were drawn rarely.

---------------------------------------------------------------------------------------------------
-- Columns of pairs
---------------------------------------------------------------------------------------------------

-- One row, valid = TRUE. Raises an error if is_match or weight has a wrong type, or is a string
-- literal in place of a column.
CREATE OR REPLACE MACRO clustereval._check_label_columns(
  pairs, "left", "right", is_match, weight
) AS TABLE
  WITH __ce_types AS (
    SELECT
      clustereval._check_columns(
        TRUE,
        [
          clustereval._given_column('left', "left"),
          clustereval._given_column('right', "right"),
          clustereval._given_column('is_match', is_match),
          clustereval._given_column('weight', weight)
        ]
      ) AS __ce_valid,
      typeof(any_value(is_match)) AS __ce_match_type,
      typeof(any_value(weight)) AS __ce_weight_type
    FROM query_table(clustereval._check_table_name(pairs))
    WHERE FALSE
  )
  SELECT
    CASE
      WHEN NOT regexp_matches(
        __ce_match_type, concat(clustereval._number_types(), '|^(BOOLEAN|BIGNUM|"NULL")$')
      )
      THEN error(concat(
        'is_match: expected booleans, or the numbers 0 and 1, got a column of type ',
        __ce_match_type, '; cast it to booleans'
      ))
      WHEN NOT regexp_matches(
        __ce_weight_type, concat(clustereval._number_types(), '|^(BIGNUM|"NULL")$')
      )
      THEN error(concat(
        'weight: expected numbers > 0, got a column of type ', __ce_weight_type,
        '; cast it to numbers'
      ))
      ELSE __ce_valid
    END AS valid
  FROM __ce_types;

-- x, the label of a pair, as BOOLEAN. Raises an error unless it is TRUE, FALSE, 0, 1 or NULL.
CREATE OR REPLACE MACRO clustereval._check_match(x) AS
  CASE
    WHEN x IS NULL THEN NULL
    WHEN TRY_CAST(x AS DOUBLE) IN (0, 1) THEN TRY_CAST(x AS DOUBLE) = 1
    ELSE error(concat(
      'is_match: expected booleans, or the numbers 0 and 1, got ', clustereval._show_value(x),
      '; compare a score with a threshold first'
    ))
  END;

-- x, the weight of a pair, as DOUBLE. Raises an error unless it is a number > 0 whose square is
-- neither 0 nor infinite.
CREATE OR REPLACE MACRO clustereval._check_pair_weight(x) AS
  CASE
    WHEN coalesce(TRY_CAST(x AS DOUBLE) BETWEEN 1e-100 AND 1e100, FALSE) THEN CAST(x AS DOUBLE)
    ELSE error(concat(
      'weight: expected numbers > 0 (from 1e-100 to 1e100), got ', clustereval._show_value(x),
      '; a weight is 1 / the probability that the pair was drawn'
    ))
  END;

-- One row per row of pairs and partition for which it holds: the columns of a row of the partition,
-- and __ce_left, __ce_right, __ce_match and __ce_weight. __ce_types has no rows; it gives the
-- partitions of the two tables one type, so that different types are an error of their own.
CREATE OR REPLACE MACRO clustereval._pairs_of_partitions(
  tbl, pairs, "left", "right", is_match, weight, partition_by
) AS TABLE
  WITH __ce_rows AS (
    SELECT DISTINCT ON ([partition_by]) *
    FROM query_table(clustereval._check_table_name(tbl))
  ),
  -- Within LATERAL, a column of tbl would hide a table of its name.
  __ce_labels AS (SELECT * FROM query_table(pairs)),
  __ce_columns AS (
    SELECT valid
    FROM clustereval._check_label_columns(pairs, "left", "right", is_match, weight)
  ),
  __ce_keys AS (
    SELECT partition_by AS __ce_mine, __ce_pair.__ce_theirs
    FROM __ce_rows
    CROSS JOIN LATERAL (SELECT partition_by AS __ce_theirs FROM __ce_labels) AS __ce_pair
    WHERE FALSE
  ),
  __ce_types AS (
    SELECT __ce_mine AS __ce_key FROM __ce_keys UNION ALL SELECT __ce_theirs FROM __ce_keys
  ),
  __ce_checked AS (
    SELECT
      CASE
        WHEN typeof(any_value(__ce_mine)) <> typeof(any_value(__ce_theirs))
        THEN error(concat(
          'partition_by: expected the same type in both tables, got ',
          typeof(any_value(__ce_mine)), ' with the clusters and ',
          typeof(any_value(__ce_theirs)), ' with the pairs; cast one of them'
        ))
        ELSE TRUE
      END AS __ce_valid
    FROM __ce_keys
    HAVING (SELECT valid FROM __ce_columns)
  ),
  __ce_parts AS (
    SELECT *, partition_by AS __ce_key FROM __ce_rows
    UNION ALL BY NAME
    SELECT __ce_key FROM __ce_types
  )
  SELECT __ce_part.*, __ce_pair.*
  -- Without any row, the pairs of one partition are left.
  FROM __ce_checked
  LEFT JOIN __ce_parts AS __ce_part ON __ce_checked.__ce_valid
  CROSS JOIN LATERAL (
    SELECT
      partition_by AS __ce_partition,
      "left" AS __ce_left,
      "right" AS __ce_right,
      clustereval._check_match(is_match) AS __ce_match,
      CASE
        WHEN clustereval._is_left_out(weight) THEN 1.0
        ELSE clustereval._check_pair_weight(weight)
      END AS __ce_weight
    FROM __ce_labels
    UNION ALL BY NAME
    SELECT __ce_key AS __ce_partition FROM __ce_types
  ) AS __ce_pair
  WHERE __ce_pair.__ce_partition IS NOT DISTINCT FROM __ce_part.__ce_key;

---------------------------------------------------------------------------------------------------
-- Labeled pairs
---------------------------------------------------------------------------------------------------

-- One row per pair of two nodes: partition_key; low and high, their numbers; is_linked, whether
-- they are in the same cluster; least_label and greatest_label, 0 or 1; least_weight and
-- greatest_weight, of its rows with a label; n_labeled, the number of these; and n_rows. All rows
-- with an end in no cluster are one row per partition, with low NULL and such an end (stranger).
CREATE OR REPLACE MACRO clustereval._labeled_pairs(nodes, tbl, id, ends, partition_by) AS TABLE
  WITH __ce_ends AS (
    SELECT
      partition_by AS __ce_partition, __ce_left AS __ce_one, __ce_right AS __ce_two,
      CASE WHEN __ce_match THEN 1 WHEN NOT __ce_match THEN 0 END AS __ce_label,
      CASE WHEN __ce_match IS NOT NULL THEN __ce_weight END AS __ce_times
    FROM query_table(ends)
    UNION ALL
    SELECT partition_by, id, id, NULL, NULL FROM query_table(tbl) WHERE FALSE
  ),
  joined AS (
    SELECT
      entry.__ce_partition AS partition_key,
      CASE WHEN two.node IS NOT NULL THEN one.node END AS one_node,
      CASE WHEN one.node IS NOT NULL THEN two.node END AS two_node,
      one.cluster_no = two.cluster_no AS is_linked,
      entry.__ce_label AS label,
      entry.__ce_times AS times,
      LEAST(
        CASE WHEN one.node IS NULL THEN CAST(entry.__ce_one AS VARCHAR) END,
        CASE WHEN two.node IS NULL THEN CAST(entry.__ce_two AS VARCHAR) END
      ) AS stranger
    FROM __ce_ends AS entry
    LEFT JOIN query_table(nodes) AS one
      ON one.partition_key IS NOT DISTINCT FROM entry.__ce_partition
      AND one.id = entry.__ce_one
    LEFT JOIN query_table(nodes) AS two
      ON two.partition_key IS NOT DISTINCT FROM entry.__ce_partition
      AND two.id = entry.__ce_two
  )
  SELECT
    partition_key,
    LEAST(one_node, two_node) AS low,
    GREATEST(one_node, two_node) AS high,
    is_linked,
    MIN(label) AS least_label,
    MAX(label) AS greatest_label,
    MIN(times) AS least_weight,
    MAX(times) AS greatest_weight,
    CAST(COUNT(label) AS BIGINT) AS n_labeled,
    CAST(COUNT(*) AS BIGINT) AS n_rows,
    MIN(stranger) AS stranger
  FROM joined
  GROUP BY 1, 2, 3, 4;

-- One row, valid = TRUE. Raises an error if rows of a pair have different labels or weights, or if
-- no pair joins two nodes although there are both. labeled: rows of _labeled_pairs.
CREATE OR REPLACE MACRO clustereval._check_labeled_pairs(nodes, labeled) AS TABLE
  WITH sums AS (
    SELECT SUM(n_rows) AS n, COUNT(low) AS n_joined, MIN(stranger) AS stranger
    FROM query_table(labeled)
  ),
  -- The pairs whose rows differ, normally none: those in labels first.
  faults AS (
    SELECT
      CASE WHEN pair.least_label < pair.greatest_label THEN 'label' ELSE 'weight' END AS fault,
      LEAST(one.id, two.id) AS one_id,
      GREATEST(one.id, two.id) AS two_id
    FROM query_table(labeled) AS pair
    JOIN query_table(nodes) AS one ON one.node = pair.low
    JOIN query_table(nodes) AS two ON two.node = pair.high
    WHERE pair.low < pair.high
      AND (pair.least_label < pair.greatest_label OR pair.least_weight < pair.greatest_weight)
  ),
  worst AS (
    SELECT fault, one_id, two_id
    FROM faults
    ORDER BY fault ASC NULLS LAST, one_id ASC NULLS LAST, two_id ASC NULLS LAST
    LIMIT 1
  ),
  known AS (SELECT MIN(id) AS id FROM query_table(nodes))
  SELECT
    CASE
      WHEN worst.fault IS NOT NULL
      THEN error(concat(
        CASE WHEN worst.fault = 'label' THEN 'is_match' ELSE 'weight' END, ': expected one ',
        worst.fault, ' per pair, got different ones for the ids ',
        clustereval._show_value(worst.one_id), ' and ', clustereval._show_value(worst.two_id),
        '; leave only one row of each pair'
      ))
      ELSE clustereval._check_joined(
        TRUE, sums.n_joined, sums.n, known.id, sums.stranger, 'pairs', 'ids with a cluster'
      )
    END AS valid
  FROM sums
  CROSS JOIN known
  LEFT JOIN worst ON TRUE;

---------------------------------------------------------------------------------------------------
-- Scores
---------------------------------------------------------------------------------------------------

-- One row per partition with rows of _labeled_pairs: n_pairs; n_dropped_pairs; n_self_pairs;
-- n_duplicate_pairs; tp, fp, fn and tn, sums of weights; tp_squares, fp_squares and fn_squares,
-- sums of their squares; and largest, the largest weight.
CREATE OR REPLACE MACRO clustereval._pair_label_sums(labeled) AS TABLE
  WITH terms AS (
    SELECT
      partition_key,
      CASE WHEN low < high AND n_labeled > 0 THEN 1 ELSE 0 END AS n_pairs,
      CASE WHEN low IS NULL THEN n_rows ELSE n_rows - n_labeled END AS n_dropped_pairs,
      CASE WHEN low = high THEN n_labeled ELSE 0 END AS n_self_pairs,
      CASE WHEN low < high AND n_labeled > 0 THEN n_labeled - 1 ELSE 0 END AS n_duplicate_pairs,
      CASE WHEN low < high THEN least_weight END AS weight,
      CASE WHEN is_linked AND least_label = 1 THEN 1 ELSE 0 END AS is_tp,
      CASE WHEN is_linked AND least_label = 0 THEN 1 ELSE 0 END AS is_fp,
      CASE WHEN NOT is_linked AND least_label = 1 THEN 1 ELSE 0 END AS is_fn,
      CASE WHEN NOT is_linked AND least_label = 0 THEN 1 ELSE 0 END AS is_tn
    FROM query_table(labeled)
  )
  SELECT
    partition_key,
    CAST(SUM(n_pairs) AS BIGINT) AS n_pairs,
    CAST(SUM(n_dropped_pairs) AS BIGINT) AS n_dropped_pairs,
    CAST(SUM(n_self_pairs) AS BIGINT) AS n_self_pairs,
    CAST(SUM(n_duplicate_pairs) AS BIGINT) AS n_duplicate_pairs,
    clustereval._compensated_sum(is_tp * weight) AS tp,
    clustereval._compensated_sum(is_fp * weight) AS fp,
    clustereval._compensated_sum(is_fn * weight) AS fn,
    clustereval._compensated_sum(is_tn * weight) AS tn,
    clustereval._compensated_sum(is_tp * weight * weight) AS tp_squares,
    clustereval._compensated_sum(is_fp * weight * weight) AS fp_squares,
    clustereval._compensated_sum(is_fn * weight * weight) AS fn_squares,
    MAX(weight) AS largest
  FROM terms
  GROUP BY partition_key;

-- How far the largest weight is above the mean weight of the pairs of a ratio, each of which counts
-- as often as its weight: 0 if all weights are equal.
CREATE OR REPLACE MACRO clustereval._excess_weight(total, squares, largest) AS
  GREATEST(largest - squares / NULLIF(total, 0), 0.0);

-- The lower limit of the ratio good / (good + bad) of sums of weights: Wilson's, with the effective
-- sample size ratio (1 - ratio) / (linearized variance). Both sums have the sums of the squares of
-- their weights, and a sum of 0 stands for pairs of the largest weight. For equal weights, the
-- effective sample size is the number of pairs.
CREATE OR REPLACE MACRO clustereval._wilson_limit_of_sums(
  good, good_squares, bad, bad_squares, largest, z
) AS
  GREATEST(
    clustereval._wilson_limit(
      good / NULLIF(good + bad, 0),
      good * bad / NULLIF((good + bad) * (good + bad), 0),
      z * z * (
        bad * COALESCE(good_squares / NULLIF(good, 0), largest)
        + good * COALESCE(bad_squares / NULLIF(bad, 0), largest)
      ) / NULLIF((good + bad) * (good + bad), 0),
      -1
    ),
    CASE WHEN good + bad > 0 THEN 0.0 END
  );

-- The same after adding a bad pair of the largest weight, of which only the excess counts.
CREATE OR REPLACE MACRO clustereval._lower_limit_of_ratio(
  good, good_squares, bad, bad_squares, largest, excess, z
) AS
  clustereval._wilson_limit_of_sums(
    good, good_squares, bad + excess, bad_squares + excess * largest, largest, z
  );

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Scores of a clustering from labels of pairs of ids: one row per partition with n ids, n_dropped
-- rows without a cluster and n_noise; n_pairs, the labeled pairs; n_dropped_pairs, rows of pairs
-- without a label or with an end in no cluster; n_self_pairs, rows whose two ids are the same;
-- n_duplicate_pairs, rows that repeat a pair; tp, fp, fn and tn, sums of weights of the pairs;
-- pair_precision, pair_recall and pair_f_score, and the limits _lower and _upper of the interval of
-- each. tbl is a table with the columns id and cluster, one row per id; pairs is a table with the
-- columns left and right, ids of tbl, is_match, a boolean or 0 or 1, and weight, 1 / (the
-- probability that the pair was drawn). partition_by is a column of tbl; without this column in
-- pairs, the pairs hold for every partition.
-- Examples:
--   FROM clustereval.pair_label_report(people, id, cluster, labels, id_l, id_r, is_match);
--   FROM clustereval.pair_label_report(
--     runs, id, cluster, labels, id_l, id_r, is_match, weight := w, partition_by := run
--   );
CREATE OR REPLACE MACRO clustereval.pair_label_report(
  tbl, id, cluster, pairs, "left", "right", is_match, weight := NULL, partition_by := NULL,
  noise := NULL, noise_as := NULL, confidence := 0.95
) AS TABLE
  WITH __ce_pairs AS (
    SELECT *
    FROM clustereval._pairs_of_partitions(
      tbl, pairs, "left", "right", is_match, weight, partition_by
    )
  ),
  __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._graph_ids(
      tbl, id, cluster, __ce_pairs, __ce_left, __ce_right, NULL, partition_by, noise,
      edge_name := 'pairs'
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_labeled AS MATERIALIZED (
    SELECT * FROM clustereval._labeled_pairs(__ce_nodes, tbl, id, __ce_pairs, partition_by)
  ),
  -- Rows of ids by partition. Without partition_by there is at least one row.
  __ce_counts AS (
    SELECT
      partition_key,
      CAST(COUNT(CASE WHEN times > 0 AND NOT (is_noise AND noise_as = 'drop') THEN 1 END) AS BIGINT)
        AS n,
      CAST(SUM(n_dropped) AS BIGINT) AS n_dropped,
      CAST(COUNT(CASE WHEN is_noise THEN 1 END) AS BIGINT) AS n_noise
    FROM __ce_ids
    GROUP BY partition_key
    UNION ALL
    SELECT NULL, 0, 0, 0
    FROM query_table(tbl)
    HAVING clustereval._is_absent(partition_by) AND COUNT(*) = 0
  ),
  sums AS (
    SELECT
      counts.partition_key, counts.n, counts.n_dropped, counts.n_noise,
      COALESCE(sums.n_pairs, 0) AS n_pairs,
      COALESCE(sums.n_dropped_pairs, 0) AS n_dropped_pairs,
      COALESCE(sums.n_self_pairs, 0) AS n_self_pairs,
      COALESCE(sums.n_duplicate_pairs, 0) AS n_duplicate_pairs,
      COALESCE(sums.tp, 0.0) AS tp,
      COALESCE(sums.fp, 0.0) AS fp,
      COALESCE(sums.fn, 0.0) AS fn,
      COALESCE(sums.tn, 0.0) AS tn,
      sums.tp_squares, sums.fp_squares, sums.fn_squares,
      sums.fp + sums.fn AS wrong,
      sums.fp_squares + sums.fn_squares AS wrong_squares,
      sums.largest,
      clustereval._normal_quantile(confidence) AS z,
      clustereval._excess_weight(sums.tp + sums.fp, sums.tp_squares + sums.fp_squares, sums.largest)
        AS excess_of_precision,
      clustereval._excess_weight(sums.tp + sums.fn, sums.tp_squares + sums.fn_squares, sums.largest)
        AS excess_of_recall,
      clustereval._excess_weight(
        sums.tp + sums.fp + sums.fn,
        sums.tp_squares + sums.fp_squares + sums.fn_squares,
        sums.largest
      ) AS excess_of_f_score
    FROM __ce_counts AS counts
    LEFT JOIN clustereval._pair_label_sums(__ce_labeled) AS sums
      ON sums.partition_key IS NOT DISTINCT FROM counts.partition_key
  ),
  -- Limits of precision, recall and the Jaccard index J of the pairs, from which the F score
  -- follows as 2 J / (1 + J).
  limits AS (
    SELECT
      *,
      clustereval._lower_limit_of_ratio(
        tp, tp_squares, fp, fp_squares, largest, excess_of_precision, z
      ) AS pair_precision_lower,
      1.0 - clustereval._lower_limit_of_ratio(
        fp, fp_squares, tp, tp_squares, largest, excess_of_precision, z
      ) AS pair_precision_upper,
      clustereval._lower_limit_of_ratio(
        tp, tp_squares, fn, fn_squares, largest, excess_of_recall, z
      ) AS pair_recall_lower,
      1.0 - clustereval._lower_limit_of_ratio(
        fn, fn_squares, tp, tp_squares, largest, excess_of_recall, z
      ) AS pair_recall_upper,
      clustereval._lower_limit_of_ratio(
        tp, tp_squares, wrong, wrong_squares, largest, excess_of_f_score, z
      ) AS jaccard_lower,
      1.0 - clustereval._lower_limit_of_ratio(
        wrong, wrong_squares, tp, tp_squares, largest, excess_of_f_score, z
      ) AS jaccard_upper
    FROM sums
  )
  SELECT
    partition_key, n, n_dropped, n_noise,
    n_pairs, n_dropped_pairs, n_self_pairs, n_duplicate_pairs, tp, fp, fn, tn,
    clustereval._pair_precision(tp, fp, fn, tn) AS pair_precision,
    pair_precision_lower,
    pair_precision_upper,
    clustereval._pair_recall(tp, fp, fn, tn) AS pair_recall,
    pair_recall_lower,
    pair_recall_upper,
    clustereval._pair_f_score(tp, fp, fn, tn, 1.0) AS pair_f_score,
    2 * jaccard_lower / (1 + jaccard_lower) AS pair_f_score_lower,
    2 * jaccard_upper / (1 + jaccard_upper) AS pair_f_score_upper
  FROM limits
  WHERE clustereval._check_options(
      clustereval._valid_interval_options(confidence, clustereval._valid_noise(noise, noise_as))
    )
    AND (SELECT valid FROM clustereval._check_labeled_pairs(__ce_nodes, __ce_labeled))
  ORDER BY partition_key ASC NULLS LAST;
