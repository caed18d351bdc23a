-- pair_counting: indices of the four counts of unordered pairs of rows.
--   tp  same label, same cluster          fp  same cluster, different label
--   fn  same label, different cluster     tn  different in both
-- Every index is a private macro of these counts. A public macro of two columns and a column of
-- external_report call this private macro. The counts are exact integers converted to DOUBLE, so no
-- product of counts overflows. Only the difference of two counts is computed before the conversion.

---------------------------------------------------------------------------------------------------
-- Formulas. NULL for 0 / 0, unless the header names another value; all is tp + fp + fn + tn.
---------------------------------------------------------------------------------------------------

-- Rand index (tp + tn) / all, with all = tp + fp + fn + tn; 1 if there are no pairs.
CREATE OR REPLACE MACRO clustereval._rand_score(tp, fp, fn, tn) AS
  CASE WHEN fp + fn = 0 THEN 1.0 ELSE clustereval._ratio(tp + tn, tp + fp + fn + tn) END;

-- Adjusted Rand index 2 (tp tn - fn fp) / ((tp + fn) (fn + tn) + (tp + fp) (fp + tn)), 1 for equal
-- partitions. The denominator is a sum of products, so it does not cancel.
CREATE OR REPLACE MACRO clustereval._adjusted_rand_score(tp, fp, fn, tn) AS
  CASE
    WHEN fp + fn = 0 THEN 1.0
    ELSE clustereval._ratio(
      2.0 * (tp * tn - fn * fp), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)
    )
  END;

-- Geometric mean of pair precision and pair recall. If tp is 0 the score is 0, as in scikit-learn,
-- even for 0 / 0.
CREATE OR REPLACE MACRO clustereval._fowlkes_mallows_score(tp, fp, fn, tn) AS
  CASE
    WHEN tp = 0 THEN 0.0
    ELSE sqrt(clustereval._ratio(tp, tp + fp)) * sqrt(clustereval._ratio(tp, tp + fn))
  END;

-- Pair precision, the share of the pairs in the same cluster that have the same label.
CREATE OR REPLACE MACRO clustereval._pair_precision(tp, fp, fn, tn) AS tp / NULLIF(tp + fp, 0);

-- Pair recall, the share of the pairs with the same label that are in the same cluster.
CREATE OR REPLACE MACRO clustereval._pair_recall(tp, fp, fn, tn) AS tp / NULLIF(tp + fn, 0);

-- F score of pair precision and pair recall; beta > 1 weighs recall more.
CREATE OR REPLACE MACRO clustereval._pair_f_score(tp, fp, fn, tn, beta) AS
  (1.0 + beta * beta) * tp / NULLIF((1.0 + beta * beta) * tp + beta * beta * fn + fp, 0);

-- Jaccard index of pairs, tp / (tp + fp + fn); NULL for 0 / 0.
CREATE OR REPLACE MACRO clustereval._jaccard_index(tp, fp, fn, tn) AS tp / NULLIF(tp + fp + fn, 0);

-- Number of ordered pairs of rows on which label and cluster disagree.
CREATE OR REPLACE MACRO clustereval._mirkin_metric(tp, fp, fn, tn) AS 2.0 * (fp + fn);

-- (FM - E) / (1 - E) for the Fowlkes-Mallows score FM and E = together / all, where together is
-- sqrt(pq), used twice, and p = tp + fn and q = tp + fp are the pairs with the same label and in
-- the same cluster. all - sqrt(pq) is computed as (all (all - p) + p (all - q)) / (all + sqrt(pq)),
-- which does not cancel if both are near all.
CREATE OR REPLACE MACRO clustereval._adjusted_fowlkes_mallows(tp, fp, fn, tn, together) AS
  (tp * tn - fn * fp) * (tp + fp + fn + tn + together)
  / NULLIF(together * ((tp + fp + fn + tn) * (fp + tn) + (tp + fn) * (fn + tn)), 0);

-- Fowlkes-Mallows score corrected for chance; NULL for a trivial partition.
CREATE OR REPLACE MACRO clustereval._adjusted_fowlkes_mallows_score(tp, fp, fn, tn) AS
  clustereval._at_most_1(
    clustereval._adjusted_fowlkes_mallows(tp, fp, fn, tn, sqrt((tp + fn) * (tp + fp)))
  );

-- Adjusted Rand index of Sundqvist et al. (MARI), whose correction also treats the labels as a
-- sample; NULL below 4 rows and for 0 / 0. links, the sum over rows of (other rows with its label)
-- x (other rows in its cluster), is needed because the expected agreement is that of two pairs that
-- share no row. The leading terms are those of adjusted_rand_score, the others are smaller by a
-- factor of total.
CREATE OR REPLACE MACRO clustereval._multinomial_adjusted_rand_score(
  tp, fp, fn, tn, total, links
) AS
  CASE
    WHEN total >= 4 AND fp + fn + tn > 0
    THEN clustereval._at_most_1(
      (tp * tn - fn * fp - 2 * (total - 1) * tp + links)
      / NULLIF(
        ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)) / 2
        - (2 * tp + fp + fn) * (total - 1.5) - tp + links,
        0
      )
    )
  END;

-- n (label_size - 1) (cluster_size - 1) of a cell, as DOUBLE. Its sum over cells is `links` of
-- _multinomial_adjusted_rand_score.
CREATE OR REPLACE MACRO clustereval._cell_links(n, label_size, cluster_size) AS
  CAST(n AS DOUBLE) * CAST(label_size - 1 AS DOUBLE) * CAST(cluster_size - 1 AS DOUBLE);

---------------------------------------------------------------------------------------------------
-- Statistics of the columns label (true class) and cluster (assigned cluster). Rows with a NULL in
-- either are left out.
---------------------------------------------------------------------------------------------------

-- The fields of _pairs_of_sums, and links of multinomial_adjusted_rand_score.
CREATE OR REPLACE MACRO clustereval._linked_pair_statistics(label, cluster) AS
  list_transform(
    [clustereval._cells_as_list(label, cluster)],
    lambda __ce_sides: struct_insert(
      clustereval._pairs_of_cells(__ce_sides),
      links := clustereval._compensated_list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: clustereval._cell_links(
          __ce_cell['n'], __ce_cell['label_size'], __ce_cell['cluster_size']
        )
      ))
    )
  )[1];
