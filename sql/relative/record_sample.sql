-- record_sample: estimates of external metrics from the true labels of a sample of the records.
--
--   * The labeled rows are a random sample of all rows, drawn without regard to their entities.
--     Every pair of rows is labeled with the same probability. A quotient of sums over the pairs of
--     labeled rows therefore estimates the quotient of the sums over all pairs.
--   * A pair of labeled rows is right if both rows belong to the same entity and to the same
--     cluster, and wrong if only one of these is true. In every metric, the pairs of each kind have
--     a weight, and the metric is the weight of the right pairs as a share of the weight of all
--     pairs.
--   * Metrics that need the number of rows of an entity cannot be estimated, because most entities
--     have only one labeled row, whatever their number of rows is.

---------------------------------------------------------------------------------------------------
-- Pairs of labeled rows
---------------------------------------------------------------------------------------------------

-- One row per contingency cell of the labeled rows and metric: partition_key, place (of the
-- metric), records (rows of the cell); right_pairs and wrong_pairs, the weights of the pairs of one
-- of these rows with other labeled rows; and right_squares and wrong_squares, the sums of their
-- squares. cluster_sizes is of all rows.
CREATE OR REPLACE MACRO clustereval._record_pairs(cells, cluster_sizes, beta) AS TABLE
  WITH label_counts AS (SELECT * FROM clustereval._label_sizes(cells)),
  cluster_counts AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  cell_pairs AS (
    SELECT
      counts.partition_key,
      CAST(counts.n * counts.copies AS DOUBLE) AS records,
      CAST(counts.n - 1 AS DOUBLE) AS same_cell,
      CAST(counts.cluster_size - counts.n AS DOUBLE) AS same_cluster,
      CAST(counts.label_size - counts.n AS DOUBLE) AS same_label,
      1.0 / CAST(sizes.cluster_size AS DOUBLE) AS share,
      -- The weight of a wrong pair in the F score, in units of the weight of a right pair.
      1.0 / (1.0 + CAST(beta AS DOUBLE) * beta) AS f_weight
    FROM clustereval._sized_cells(cells, label_counts, cluster_counts) AS counts
    JOIN query_table(cluster_sizes) AS sizes
      ON sizes.partition_key IS NOT DISTINCT FROM counts.partition_key
      AND sizes.cluster IS NOT DISTINCT FROM counts.cluster
  ),
  weights AS (
    SELECT
      *,
      [
        {'both': 1.0, 'same_cluster': 1.0, 'same_label': 0.0},
        {'both': 1.0, 'same_cluster': 0.0, 'same_label': 1.0},
        {'both': 1.0, 'same_cluster': f_weight, 'same_label': 1.0 - f_weight},
        {'both': share, 'same_cluster': share, 'same_label': 0.0}
      ] AS metrics
    FROM cell_pairs
  ),
  metric_weights AS (
    SELECT
      weights.partition_key, weights.records, weights.same_cell, weights.same_cluster,
      weights.same_label, places.place,
      CAST(weights.metrics[places.place]['both'] AS DOUBLE) AS u,
      CAST(weights.metrics[places.place]['same_cluster'] AS DOUBLE) AS v,
      CAST(weights.metrics[places.place]['same_label'] AS DOUBLE) AS w
    FROM weights, range(1, 5) AS places (place)
  )
  SELECT
    partition_key, place, records,
    u * same_cell AS right_pairs,
    v * same_cluster + w * same_label AS wrong_pairs,
    u * u * same_cell AS right_squares,
    v * v * same_cluster + w * w * same_label AS wrong_squares
  FROM metric_weights;

---------------------------------------------------------------------------------------------------
-- Shares of pairs
---------------------------------------------------------------------------------------------------

-- One row per partition and place: share, the share of the right pairs; share_error, its standard
-- error, 0 if all rows are labeled; NULL if no pair is right or no pair is wrong, or if a row is in
-- all pairs; and freedom and concentration, as in _mean_quotients. As a pair counts from both of
-- its rows, n equal rows have the concentration of n / 2 pairs. totals: n_labeled and labeled_share
-- per partition. The variance is that of the jackknife, the sum of the squared changes of the share
-- when a row is deleted, which contains the variance of single rows once, and that of pairs of rows
-- twice (Efron and Stein 1981). With few labels, the latter is nearly all. It is subtracted once,
-- computed as if pairs were drawn one by one. As both are positive, at least half of the jackknife
-- remains.
CREATE OR REPLACE MACRO clustereval._right_pair_shares(pairs, totals) AS TABLE
  WITH sums AS (
    SELECT
      partition_key, place,
      clustereval._compensated_sum(records * right_pairs) AS all_right,
      clustereval._compensated_sum(records * wrong_pairs) AS all_wrong,
      clustereval._compensated_sum(records * right_squares) AS all_right_squares,
      clustereval._compensated_sum(records * wrong_squares) AS all_wrong_squares,
      clustereval._compensated_sum(records * pow(right_pairs + wrong_pairs, 2)) AS row_squares,
      MAX(right_pairs + wrong_pairs) AS most
    FROM query_table(pairs)
    GROUP BY partition_key, place
  ),
  shares AS (
    SELECT
      *,
      all_right + all_wrong AS all_pairs,
      clustereval._ratio(all_right, all_right + all_wrong) AS share,
      clustereval._ratio(all_wrong, all_right + all_wrong) AS other_share,
      -- A pair counts from both of its ends. Equal sums can differ by rounding errors.
      2 * most < (all_right + all_wrong) * 0.999999999 AS can_delete
    FROM sums
  ),
  changes AS (
    SELECT
      pair.partition_key, pair.place, pair.records,
      2 * (pair.right_pairs * share.other_share - pair.wrong_pairs * share.share)
        / NULLIF(share.all_pairs - 2 * (pair.right_pairs + pair.wrong_pairs), 0) AS change
    FROM query_table(pairs) AS pair
    JOIN shares AS share
      ON share.partition_key IS NOT DISTINCT FROM pair.partition_key
      AND share.place = pair.place
    WHERE share.can_delete
  ),
  jackknives AS (
    SELECT
      partition_key, place,
      clustereval._compensated_sum(records * change * change) AS jackknife,
      clustereval._compensated_sum(records * pow(change, 4)) AS fourths
    FROM changes
    GROUP BY partition_key, place
  ),
  variances AS (
    SELECT
      share.*,
      1.0 - total.labeled_share AS unlabeled_share,
      total.n_labeled,
      jackknife.jackknife, jackknife.fourths,
      clustereval._ratio(
        2 * (
          share.other_share * share.other_share * share.all_right_squares
          + share.share * share.share * share.all_wrong_squares
        ),
        share.all_pairs * share.all_pairs
      ) AS of_pairs
    FROM shares AS share
    JOIN query_table(totals) AS total
      ON total.partition_key IS NOT DISTINCT FROM share.partition_key
    LEFT JOIN jackknives AS jackknife
      ON jackknife.partition_key IS NOT DISTINCT FROM share.partition_key
      AND jackknife.place = share.place
  )
  SELECT
    partition_key, place, share,
    CASE
      WHEN all_pairs > 0 AND unlabeled_share = 0 THEN 0.0
      WHEN all_right > 0 AND all_wrong > 0
      THEN sqrt(unlabeled_share * GREATEST(jackknife - unlabeled_share * of_pairs, jackknife / 2))
    END AS share_error,
    clustereval._estimate_freedom(jackknife, fourths, n_labeled) AS freedom,
    CASE WHEN unlabeled_share > 0 THEN 2.0 ELSE 0.0 END
      * clustereval._ratio(row_squares, all_pairs * all_pairs) AS concentration
  FROM variances;

-- One row per partition and place: metric and the other columns of _mean_quotients. B-cubed
-- precision is a mean over rows: each row forms a pair with itself, and each pair with another row
-- of its cluster has the weight 1 / size. cluster_sizes is of all rows; totals: n_labeled,
-- labeled_share and rows_per_cluster per partition.
CREATE OR REPLACE MACRO clustereval._record_estimates(cells, cluster_sizes, totals, beta) AS TABLE
  WITH pairs AS MATERIALIZED (SELECT * FROM clustereval._record_pairs(cells, cluster_sizes, beta)),
  scales AS (
    SELECT
      share.*,
      CASE WHEN share.place = 4 THEN 1.0 / total.rows_per_cluster ELSE 0.0 END AS own
    FROM clustereval._right_pair_shares(pairs, totals) AS share
    JOIN query_table(totals) AS total
      ON total.partition_key IS NOT DISTINCT FROM share.partition_key
  )
  SELECT
    partition_key,
    place,
    ['pair_precision', 'pair_recall', 'pair_f_score', 'bcubed_precision'][place]
      AS metric,
    own + (1.0 - own) * share AS value,
    (1.0 - own) * share_error AS std_error,
    (1.0 - own) * share_error AS interval_error,
    freedom, concentration
  FROM scales;

---------------------------------------------------------------------------------------------------
-- Evidence in the data about the design
---------------------------------------------------------------------------------------------------

-- One row per partition: labeled_share, the share of the rows in clusters that have a label;
-- labeled_nearby, that of the other rows in the cluster of a labeled row, as a mean over the n_near
-- labeled rows in clusters of several rows; excess, how much larger this is, from 0 if rows are
-- labeled at random to 1 if clusters are labeled completely or not at all; deviation, the standard
-- deviation of the excess if rows are labeled at random; n_labeled; and labeled_neighbors and
-- neighbors, the mean number of other rows in the cluster of a labeled row and of any row.
CREATE OR REPLACE MACRO clustereval._label_spread(labeled_sizes, cluster_sizes) AS TABLE
  WITH counts AS (
    SELECT
      sizes.partition_key,
      CAST(sizes.cluster_size AS DOUBLE) AS size,
      CAST(sizes.copies AS DOUBLE) AS copies,
      CAST(COALESCE(labeled.cluster_size, 0) AS DOUBLE) AS labeled,
      CAST(COALESCE(labeled.copies, 0) AS DOUBLE) AS labeled_copies,
      CAST(NULLIF(sizes.cluster_size - 1, 0) AS DOUBLE) AS others
    FROM query_table(cluster_sizes) AS sizes
    LEFT JOIN query_table(labeled_sizes) AS labeled
      ON labeled.partition_key IS NOT DISTINCT FROM sizes.partition_key
      AND labeled.cluster IS NOT DISTINCT FROM sizes.cluster
  ),
  sums AS (
    SELECT
      partition_key,
      SUM(size * copies) AS n,
      SUM(labeled * labeled_copies) AS n_labeled,
      SUM(CASE WHEN others > 0 THEN size END) AS n_shared,
      SUM(CASE WHEN others > 0 THEN labeled END) AS n_near,
      clustereval._compensated_sum(labeled * (labeled - 1) / others) AS neighbors,
      clustereval._compensated_sum(size / others) AS spread,
      SUM(labeled * labeled_copies * (size - 1)) AS labeled_others,
      SUM(size * copies * (size - 1)) AS all_others
    FROM counts
    GROUP BY partition_key
  ),
  facts AS (
    SELECT
      *,
      clustereval._ratio(n_labeled, n) AS labeled_share,
      clustereval._ratio(n_labeled - 1, n - 1) AS by_chance,
      clustereval._ratio(neighbors, n_near) AS labeled_nearby
    FROM sums
  )
  SELECT
    partition_key, labeled_share, labeled_nearby, n_near, n_labeled,
    clustereval._ratio(labeled_others, n_labeled) AS labeled_neighbors,
    clustereval._ratio(all_others, n) AS neighbors,
    clustereval._ratio(labeled_nearby - by_chance, 1.0 - by_chance) AS excess,
    clustereval._ratio(sqrt(2 * spread), n_shared) AS deviation
  FROM facts;

-- Why the labels cannot have been drawn as labels_are_sample states, otherwise NULL, by columns of
-- _label_spread. With few labels or few clusters, the result is always NULL.
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

-- A share as text, as a percentage with one decimal.
CREATE OR REPLACE MACRO clustereval._show_share(share) AS
  concat(CAST(round(100 * share, 1) AS VARCHAR), ' %');
