-- record_sample: estimates of external metrics from the true labels of a sample of the records.
--
--   * The labeled rows are a random sample of all rows, drawn without regard to their entities. A
--     pair of rows is labeled with the same probability whatever pair it is, so that a quotient of
--     sums over the pairs of labeled rows estimates that of the sums over all pairs.
--   * A pair of two labeled rows is right if it is of one entity and in one cluster, and wrong if
--     it is one of these only. In every metric, the pairs of each kind have a weight, and the
--     metric is the weight of the right pairs as a share of that of all.
--   * What needs the number of rows of an entity cannot be estimated: of most entities one row has
--     a label, however many they have.

---------------------------------------------------------------------------------------------------
-- Pairs of labeled rows
---------------------------------------------------------------------------------------------------

-- One row per contingency cell of the labeled rows and metric: __ce_partition, __ce_place, the
-- place of the metric, and __ce_records, the rows of the cell. __ce_right and __ce_wrong are the
-- weights of the pairs of one of these rows with other labeled rows, and __ce_right_squares and
-- __ce_wrong_squares the sums of the squared weights. __ce_cells names a CTE of the contingency
-- cells of the labeled rows, __ce_cluster_sizes one of the rows of _cluster_sizes, of all rows.
CREATE OR REPLACE MACRO clustereval._record_pairs(__ce_cells, __ce_cluster_sizes, beta) AS TABLE
  WITH __ce_label_counts AS (SELECT * FROM clustereval._label_sizes(__ce_cells)),
  __ce_cluster_counts AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_counts AS (
    SELECT *
    FROM clustereval._sized_cells(__ce_cells, __ce_label_counts, __ce_cluster_counts)
  ),
  __ce_cell_pairs AS (
    SELECT
      counts.__ce_partition,
      CAST(counts.__ce_n * counts.__ce_copies AS DOUBLE) AS __ce_records,
      CAST(counts.__ce_n - 1 AS DOUBLE) AS __ce_both,
      CAST(counts.__ce_cluster_size - counts.__ce_n AS DOUBLE) AS __ce_same_cluster,
      CAST(counts.__ce_label_size - counts.__ce_n AS DOUBLE) AS __ce_same_label,
      1.0 / CAST(sizes.__ce_cluster_size AS DOUBLE) AS __ce_share,
      -- Of a wrong pair in the F score, in units of a right one.
      1.0 / (1.0 + CAST(beta AS DOUBLE) * beta) AS __ce_f_weight
    FROM __ce_counts AS counts
    JOIN query_table(__ce_cluster_sizes) AS sizes
      ON sizes.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
      AND sizes.__ce_cluster IS NOT DISTINCT FROM counts.__ce_cluster
  ),
  __ce_weights AS (
    SELECT
      *,
      [
        {'both': 1.0, 'same_cluster': 1.0, 'same_label': 0.0},
        {'both': 1.0, 'same_cluster': 0.0, 'same_label': 1.0},
        {'both': 1.0, 'same_cluster': __ce_f_weight, 'same_label': 1.0 - __ce_f_weight},
        {'both': __ce_share, 'same_cluster': __ce_share, 'same_label': 0.0}
      ] AS __ce_metrics
    FROM __ce_cell_pairs
  ),
  __ce_metric_weights AS (
    SELECT
      weights.__ce_partition, weights.__ce_records, weights.__ce_both, weights.__ce_same_cluster,
      weights.__ce_same_label, places.__ce_place,
      CAST(weights.__ce_metrics[places.__ce_place]['both'] AS DOUBLE) AS __ce_u,
      CAST(weights.__ce_metrics[places.__ce_place]['same_cluster'] AS DOUBLE) AS __ce_v,
      CAST(weights.__ce_metrics[places.__ce_place]['same_label'] AS DOUBLE) AS __ce_w
    FROM __ce_weights AS weights, range(1, 5) AS places (__ce_place)
  )
  SELECT
    __ce_partition, __ce_place, __ce_records,
    __ce_u * __ce_both AS __ce_right,
    __ce_v * __ce_same_cluster + __ce_w * __ce_same_label AS __ce_wrong,
    __ce_u * __ce_u * __ce_both AS __ce_right_squares,
    __ce_v * __ce_v * __ce_same_cluster + __ce_w * __ce_w * __ce_same_label
      AS __ce_wrong_squares
  FROM __ce_metric_weights;

---------------------------------------------------------------------------------------------------
-- Shares of pairs
---------------------------------------------------------------------------------------------------

-- One row per __ce_partition and __ce_place: __ce_share, the share of the right pairs, and
-- __ce_share_error, its standard error, 0 if all rows are labeled; NULL if no pair is right or no
-- pair is wrong, or if a row is in all pairs. __ce_pairs names a CTE of the rows of _record_pairs,
-- and __ce_totals one of a row per partition: __ce_labeled_share, the share of all rows that are
-- labeled.
-- The standard error is that of the jackknife, the sum of the squared changes of the share when a
-- row is deleted. It contains the variance that comes from single rows once, and that which comes
-- from pairs of rows twice (Efron and Stein 1981), which with few labels is nearly all. The second
-- one is taken off: it is that of pairs that are drawn one by one. As both are positive, half of
-- the jackknife remains at least.
CREATE OR REPLACE MACRO clustereval._right_pair_shares(__ce_pairs, __ce_totals) AS TABLE
  WITH __ce_sums AS (
    SELECT
      __ce_partition, __ce_place,
      clustereval._compensated_sum(__ce_records * __ce_right) AS __ce_all_right,
      clustereval._compensated_sum(__ce_records * __ce_wrong) AS __ce_all_wrong,
      clustereval._compensated_sum(__ce_records * __ce_right_squares) AS __ce_all_right_squares,
      clustereval._compensated_sum(__ce_records * __ce_wrong_squares) AS __ce_all_wrong_squares,
      MAX(__ce_right + __ce_wrong) AS __ce_most
    FROM query_table(__ce_pairs)
    GROUP BY __ce_partition, __ce_place
  ),
  __ce_shares AS (
    SELECT
      *,
      __ce_all_right + __ce_all_wrong AS __ce_all,
      clustereval._ratio(__ce_all_right, __ce_all_right + __ce_all_wrong) AS __ce_share,
      clustereval._ratio(__ce_all_wrong, __ce_all_right + __ce_all_wrong) AS __ce_other_share,
      -- A pair counts from both of its ends. Equal sums can differ by rounding errors.
      2 * __ce_most < (__ce_all_right + __ce_all_wrong) * 0.999999999 AS __ce_can_delete
    FROM __ce_sums
  ),
  __ce_changes AS (
    SELECT
      pair.__ce_partition, pair.__ce_place, pair.__ce_records,
      2 * (pair.__ce_right * share.__ce_other_share - pair.__ce_wrong * share.__ce_share)
        / NULLIF(share.__ce_all - 2 * (pair.__ce_right + pair.__ce_wrong), 0) AS __ce_change
    FROM query_table(__ce_pairs) AS pair
    JOIN __ce_shares AS share
      ON share.__ce_partition IS NOT DISTINCT FROM pair.__ce_partition
      AND share.__ce_place = pair.__ce_place
    WHERE share.__ce_can_delete
  ),
  __ce_jackknives AS (
    SELECT
      __ce_partition, __ce_place,
      clustereval._compensated_sum(__ce_records * __ce_change * __ce_change) AS __ce_jackknife
    FROM __ce_changes
    GROUP BY __ce_partition, __ce_place
  ),
  __ce_variances AS (
    SELECT
      share.*,
      1.0 - totals.__ce_labeled_share AS __ce_unlabeled_share,
      jackknife.__ce_jackknife,
      clustereval._ratio(
        2 * (
          share.__ce_other_share * share.__ce_other_share * share.__ce_all_right_squares
          + share.__ce_share * share.__ce_share * share.__ce_all_wrong_squares
        ),
        share.__ce_all * share.__ce_all
      ) AS __ce_of_pairs
    FROM __ce_shares AS share
    JOIN query_table(__ce_totals) AS totals
      ON totals.__ce_partition IS NOT DISTINCT FROM share.__ce_partition
    LEFT JOIN __ce_jackknives AS jackknife
      ON jackknife.__ce_partition IS NOT DISTINCT FROM share.__ce_partition
      AND jackknife.__ce_place = share.__ce_place
  )
  SELECT
    __ce_partition, __ce_place, __ce_share,
    CASE
      WHEN __ce_all > 0 AND __ce_unlabeled_share = 0 THEN 0.0
      WHEN __ce_all_right > 0 AND __ce_all_wrong > 0
      THEN sqrt(
        __ce_unlabeled_share * GREATEST(
          __ce_jackknife - __ce_unlabeled_share * __ce_of_pairs, __ce_jackknife / 2
        )
      )
    END AS __ce_share_error
  FROM __ce_variances;

-- One row per __ce_partition and __ce_place: __ce_metric, __ce_value, its estimate, and
-- __ce_std_error. B-cubed precision is a mean over rows: each row is in one cluster with itself,
-- and the pairs of the row with the others of its cluster weigh 1 / size. __ce_cells names a CTE of
-- the contingency cells of the labeled rows, __ce_cluster_sizes one of the rows of _cluster_sizes,
-- of all rows, and __ce_totals one of a row per partition: __ce_labeled_share, the share of all
-- rows that are labeled, and __ce_rows_per_cluster, the mean number of rows of a cluster.
CREATE OR REPLACE MACRO clustereval._record_estimates(
  __ce_cells, __ce_cluster_sizes, __ce_totals, beta
) AS TABLE
  WITH __ce_pairs AS MATERIALIZED (
    SELECT * FROM clustereval._record_pairs(__ce_cells, __ce_cluster_sizes, beta)
  ),
  __ce_shares AS (SELECT * FROM clustereval._right_pair_shares(__ce_pairs, __ce_totals)),
  __ce_scales AS (
    SELECT
      share.*,
      CASE WHEN share.__ce_place = 4 THEN 1.0 / totals.__ce_rows_per_cluster ELSE 0.0 END
        AS __ce_own
    FROM __ce_shares AS share
    JOIN query_table(__ce_totals) AS totals
      ON totals.__ce_partition IS NOT DISTINCT FROM share.__ce_partition
  )
  SELECT
    __ce_partition,
    __ce_place,
    ['pair_precision', 'pair_recall', 'pair_f_score', 'bcubed_precision'][__ce_place]
      AS __ce_metric,
    __ce_own + (1.0 - __ce_own) * __ce_share AS __ce_value,
    (1.0 - __ce_own) * __ce_share_error AS __ce_std_error
  FROM __ce_scales;

---------------------------------------------------------------------------------------------------
-- What the data say of the design
---------------------------------------------------------------------------------------------------

-- One row per __ce_partition: __ce_labeled_share, the share of the rows of clusters that have a
-- label; __ce_labeled_nearby, that of the other rows in the cluster of a labeled row, the mean over
-- the __ce_n_near labeled rows in clusters of several rows; __ce_excess, by how much this is more,
-- from 0 if rows are labeled at random to 1 if clusters are labeled completely or not at all; and
-- __ce_deviation, the standard deviation of the excess if rows are labeled at random. The
-- parameters name CTEs of the rows of _cluster_sizes, of the labeled rows and of all.
CREATE OR REPLACE MACRO clustereval._label_spread(__ce_labeled_sizes, __ce_cluster_sizes) AS TABLE
  WITH __ce_counts AS (
    SELECT
      sizes.__ce_partition,
      CAST(sizes.__ce_cluster_size AS DOUBLE) AS __ce_size,
      CAST(sizes.__ce_copies AS DOUBLE) AS __ce_copies,
      CAST(COALESCE(labeled.__ce_cluster_size, 0) AS DOUBLE) AS __ce_labeled,
      CAST(COALESCE(labeled.__ce_copies, 0) AS DOUBLE) AS __ce_labeled_copies,
      CAST(NULLIF(sizes.__ce_cluster_size - 1, 0) AS DOUBLE) AS __ce_others
    FROM query_table(__ce_cluster_sizes) AS sizes
    LEFT JOIN query_table(__ce_labeled_sizes) AS labeled
      ON labeled.__ce_partition IS NOT DISTINCT FROM sizes.__ce_partition
      AND labeled.__ce_cluster IS NOT DISTINCT FROM sizes.__ce_cluster
  ),
  __ce_sums AS (
    SELECT
      __ce_partition,
      SUM(__ce_size * __ce_copies) AS __ce_n,
      SUM(__ce_labeled * __ce_labeled_copies) AS __ce_n_labeled,
      SUM(CASE WHEN __ce_others > 0 THEN __ce_size END) AS __ce_n_shared,
      SUM(CASE WHEN __ce_others > 0 THEN __ce_labeled END) AS __ce_n_near,
      clustereval._compensated_sum(__ce_labeled * (__ce_labeled - 1) / __ce_others)
        AS __ce_neighbors,
      clustereval._compensated_sum(__ce_size / __ce_others) AS __ce_spread
    FROM __ce_counts
    GROUP BY __ce_partition
  ),
  __ce_facts AS (
    SELECT
      *,
      clustereval._ratio(__ce_n_labeled, __ce_n) AS __ce_labeled_share,
      clustereval._ratio(__ce_n_labeled - 1, __ce_n - 1) AS __ce_by_chance,
      clustereval._ratio(__ce_neighbors, __ce_n_near) AS __ce_labeled_nearby
    FROM __ce_sums
  )
  SELECT
    __ce_partition, __ce_labeled_share, __ce_labeled_nearby, __ce_n_near,
    clustereval._ratio(__ce_labeled_nearby - __ce_by_chance, 1.0 - __ce_by_chance) AS __ce_excess,
    clustereval._ratio(sqrt(2 * __ce_spread), __ce_n_shared) AS __ce_deviation
  FROM __ce_facts;

-- Why the labels cannot have been drawn as labels_are_sample says, as text, otherwise NULL. The
-- other parameters are columns of _label_spread. Few labels, or few clusters, tell nothing.
CREATE OR REPLACE MACRO clustereval._contradiction(
  labels_are_sample, labeled_share, labeled_nearby, n_near, excess, deviation
) AS
  CASE
    WHEN labels_are_sample = 'records' AND n_near >= 50 AND excess > 0.1 AND excess > 4 * deviation
    THEN concat(
      'the labeled rows are not a random sample of records: in their clusters ',
      clustereval._show_share(labeled_nearby), ' of the other rows have a label, of all rows ',
      clustereval._show_share(labeled_share),
      '; if whole entities are labeled, labels_are_sample is ''uniform'' or ''by_record'''
    )
    WHEN labels_are_sample <> 'records' AND n_near >= 50 AND deviation <= 0.05
      AND abs(excess) <= 4 * deviation
    THEN concat(
      'the labeled rows look like a random sample of records: in their clusters ',
      clustereval._show_share(labeled_nearby), ' of the other rows have a label, of all rows ',
      clustereval._show_share(labeled_share),
      '; if entities are not labeled completely, labels_are_sample is ''records'''
    )
  END;

-- A share as text, in per cent with one digit.
CREATE OR REPLACE MACRO clustereval._show_share(share) AS
  concat(CAST(round(100 * share, 1) AS VARCHAR), ' %');
