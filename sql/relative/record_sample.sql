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

-- One row per contingency cell of the labeled rows and metric: partition_key, label, cluster, place
-- (of the metric), records (rows of the cell); right_pairs and wrong_pairs, the weights of the
-- pairs of one of these rows with other labeled rows; right_squares and wrong_squares, the sums of
-- their squares; weight, that of a right pair; and of_cluster and of_label, those of a wrong pair
-- with the same cluster or label in units of weight, whose sum is 1. cluster_sizes is of all rows.
CREATE OR REPLACE MACRO clustereval._record_pairs(cells, cluster_sizes, beta) AS TABLE
  WITH label_counts AS (SELECT * FROM clustereval._label_sizes(cells)),
  cluster_counts AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  cell_pairs AS (
    SELECT
      counts.partition_key, counts.label, counts.cluster,
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
        {'right': 1.0, 'wrong': 1.0},
        {'right': 1.0, 'wrong': 0.0},
        {'right': 1.0, 'wrong': f_weight},
        {'right': share, 'wrong': 1.0}
      ] AS metrics
    FROM cell_pairs
  ),
  metric_weights AS (
    SELECT
      cell.*, places.place,
      CAST(cell.metrics[places.place]['right'] AS DOUBLE) AS weight,
      CAST(cell.metrics[places.place]['wrong'] AS DOUBLE) AS of_cluster
    FROM weights AS cell, range(1, 5) AS places (place)
  )
  SELECT
    partition_key, label, cluster, place, records, weight, of_cluster,
    1.0 - of_cluster AS of_label,
    weight * same_cell AS right_pairs,
    weight * (of_cluster * same_cluster + (1.0 - of_cluster) * same_label) AS wrong_pairs,
    weight * weight * same_cell AS right_squares,
    weight * weight * (
      of_cluster * of_cluster * same_cluster + pow(1.0 - of_cluster, 2) * same_label
    ) AS wrong_squares
  FROM metric_weights;

---------------------------------------------------------------------------------------------------
-- Shares of pairs
---------------------------------------------------------------------------------------------------

-- The rows of _record_pairs with facts about the partition and metric: share, the share of the
-- right pairs; all_right and all_wrong, and all_pairs, their sum; own and scale: the metric is own
-- + scale * share; of_pairs, the variance of the metric if pairs were drawn one by one;
-- concentration; and n_labeled and unlabeled_share. change is that of the metric when a row of the
-- cell is deleted, NULL if a row is in all pairs. B-cubed precision is a mean over rows: each row
-- forms a pair with itself, and each pair with another row of its cluster has the weight 1 / size.
-- cells, cluster_sizes and totals are those of _sample_totals.
CREATE OR REPLACE MACRO clustereval._changes_by_record(
  cells, cluster_sizes, totals, beta
) AS TABLE
  WITH pairs AS MATERIALIZED (SELECT * FROM clustereval._record_pairs(cells, cluster_sizes, beta)),
  sums AS (
    SELECT
      partition_key, place,
      clustereval._compensated_sum(records * right_pairs) AS all_right,
      clustereval._compensated_sum(records * wrong_pairs) AS all_wrong,
      clustereval._compensated_sum(records * right_squares) AS all_right_squares,
      clustereval._compensated_sum(records * wrong_squares) AS all_wrong_squares,
      clustereval._compensated_sum(records * pow(right_pairs + wrong_pairs, 2)) AS row_squares,
      MAX(right_pairs + wrong_pairs) AS most
    FROM pairs
    GROUP BY partition_key, place
  ),
  shares AS (
    SELECT
      sums.*,
      sums.all_right + sums.all_wrong AS all_pairs,
      clustereval._ratio(sums.all_right, sums.all_right + sums.all_wrong) AS share,
      clustereval._ratio(sums.all_wrong, sums.all_right + sums.all_wrong) AS other_share,
      -- A pair counts from both of its ends. Equal sums can differ by rounding errors.
      2 * sums.most < (sums.all_right + sums.all_wrong) * 0.999999999 AS can_delete,
      1.0 - total.labeled_share AS unlabeled_share,
      total.n_labeled,
      CASE WHEN sums.place = 4 THEN 1.0 / total.rows_per_cluster ELSE 0.0 END AS own
    FROM sums
    JOIN query_table(totals) AS total
      ON total.partition_key IS NOT DISTINCT FROM sums.partition_key
  ),
  variances AS (
    SELECT
      *,
      1.0 - own AS scale,
      pow(1.0 - own, 2) * clustereval._ratio(
        2 * (
          other_share * other_share * all_right_squares + share * share * all_wrong_squares
        ),
        all_pairs * all_pairs
      ) AS of_pairs,
      CASE WHEN unlabeled_share > 0 THEN 2.0 ELSE 0.0 END
        * clustereval._ratio(row_squares, all_pairs * all_pairs) AS concentration
    FROM shares
  )
  SELECT
    pair.*,
    fact.all_right, fact.all_wrong, fact.all_pairs, fact.share, fact.own, fact.scale, fact.of_pairs,
    fact.unlabeled_share, fact.n_labeled, fact.concentration,
    CASE
      WHEN fact.can_delete
      THEN 2 * fact.scale * (pair.right_pairs * fact.other_share - pair.wrong_pairs * fact.share)
        / NULLIF(fact.all_pairs - 2 * (pair.right_pairs + pair.wrong_pairs), 0)
    END AS change
  FROM pairs AS pair
  JOIN variances AS fact
    ON fact.partition_key IS NOT DISTINCT FROM pair.partition_key
    AND fact.place = pair.place;

-- The standard error of a metric of pairs, from jackknife, the sum of the squared changes when a
-- row is deleted, which contains the variance of single rows once, and that of pairs of rows twice
-- (Efron and Stein 1981). With few labels, the latter is nearly all. It is subtracted once,
-- computed as if pairs were drawn one by one. As both are positive, at least half of the jackknife
-- remains.
CREATE OR REPLACE MACRO clustereval._record_error(jackknife, of_pairs, unlabeled_share) AS
  sqrt(unlabeled_share * GREATEST(jackknife - unlabeled_share * of_pairs, jackknife / 2));

-- One row per partition and place: metric and the other columns of _mean_quotients. std_error and
-- interval_error are 0 if all rows are labeled; NULL if no pair is right or no pair is wrong, or if
-- a row is in all pairs. As a pair counts from both of its rows, n equal rows have the
-- concentration of n / 2 pairs. changes: rows of _changes_by_record.
CREATE OR REPLACE MACRO clustereval._record_estimates(changes) AS TABLE
  WITH sums AS (
    SELECT
      partition_key, place,
      MIN(own + scale * share) AS value,
      MIN(all_pairs) AS all_pairs,
      MIN(all_right) AS all_right,
      MIN(all_wrong) AS all_wrong,
      MIN(of_pairs) AS of_pairs,
      MIN(unlabeled_share) AS unlabeled_share,
      MIN(n_labeled) AS n_labeled,
      MIN(concentration) AS concentration,
      clustereval._compensated_sum(records * change * change) AS jackknife,
      clustereval._compensated_sum(records * pow(change, 4)) AS fourths
    FROM query_table(changes)
    GROUP BY partition_key, place
  ),
  errors AS (
    SELECT
      *,
      CASE
        WHEN all_pairs > 0 AND unlabeled_share = 0 THEN 0.0
        WHEN all_right > 0 AND all_wrong > 0
        THEN clustereval._record_error(jackknife, of_pairs, unlabeled_share)
      END AS std_error
    FROM sums
  )
  SELECT
    partition_key, place,
    ['pair_precision', 'pair_recall', 'pair_f_score', 'bcubed_precision'][place]
      AS metric,
    value, std_error, std_error AS interval_error,
    clustereval._estimate_freedom(jackknife, fourths, n_labeled) AS freedom,
    concentration
  FROM errors;

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
