-- pair_counting: indices of the four counts of unordered pairs of rows.
--   tp  same label, same cluster          fp  same cluster, different label
--   fn  same label, different cluster     tn  different in both
-- Every index is one private macro of these counts, which a public macro of two columns and a
-- column of external_report call. The counts are exact integers converted to DOUBLE, in which no
-- product of them overflows; only the difference of two is taken before the conversion.

---------------------------------------------------------------------------------------------------
-- Formulas. NULL for 0 / 0, unless the header names another value; all is tp + fp + fn + tn.
---------------------------------------------------------------------------------------------------

-- Share of pairs on which label and cluster agree; 1 if there are no pairs.
CREATE OR REPLACE MACRO clustereval._rand_score(tp, fp, fn, tn) AS
  CASE WHEN fp + fn = 0 THEN 1.0 ELSE (tp + tn) / (tp + fp + fn + tn) END;

-- Rand index corrected for chance, 1 for equal partitions. The denominator is a sum of products, so
-- it does not cancel.
CREATE OR REPLACE MACRO clustereval._adjusted_rand_score(tp, fp, fn, tn) AS
  CASE
    WHEN fp + fn = 0 THEN 1.0
    ELSE 2.0 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))
  END;

-- Geometric mean of pair precision and pair recall. 0, as in scikit-learn, if no pair is together
-- in both, even if none is together in either.
CREATE OR REPLACE MACRO clustereval._fowlkes_mallows_score(tp, fp, fn, tn) AS
  CASE WHEN tp = 0 THEN 0.0 ELSE sqrt(tp / (tp + fp)) * sqrt(tp / (tp + fn)) END;

-- Share of the pairs in one cluster that have one label.
CREATE OR REPLACE MACRO clustereval._pair_precision(tp, fp, fn, tn) AS tp / NULLIF(tp + fp, 0);

-- Share of the pairs with one label that are in one cluster.
CREATE OR REPLACE MACRO clustereval._pair_recall(tp, fp, fn, tn) AS tp / NULLIF(tp + fn, 0);

-- Weighted harmonic mean of pair precision and pair recall; beta > 1 weighs recall more.
CREATE OR REPLACE MACRO clustereval._pair_f_score(tp, fp, fn, tn, beta) AS
  (1.0 + beta * beta) * tp / NULLIF((1.0 + beta * beta) * tp + beta * beta * fn + fp, 0);

-- Share of the pairs together by label or by cluster that are together by both.
CREATE OR REPLACE MACRO clustereval._jaccard_index(tp, fp, fn, tn) AS tp / NULLIF(tp + fp + fn, 0);

-- Number of ordered pairs on which label and cluster disagree.
CREATE OR REPLACE MACRO clustereval._mirkin_metric(tp, fp, fn, tn) AS 2.0 * (fp + fn);

-- Fowlkes-Mallows score FM corrected for chance, (FM - E) / (1 - E) with E = sqrt(pq) / all, where
-- p and q are the pairs together by label and by cluster, and the parameter together is sqrt(pq).
-- all - sqrt(pq) is computed as (all (all - p) + p (all - q)) / (all + sqrt(pq)), which does not
-- cancel if both are near all.
CREATE OR REPLACE MACRO clustereval._adjusted_fowlkes_mallows(tp, fp, fn, tn, together) AS
  (tp * tn - fn * fp) * (tp + fp + fn + tn + together)
  / NULLIF(together * ((tp + fp + fn + tn) * (fp + tn) + (tp + fn) * (fn + tn)), 0);

-- Fowlkes-Mallows score corrected for chance, from the counts alone.
CREATE OR REPLACE MACRO clustereval._adjusted_fowlkes_mallows_score(tp, fp, fn, tn) AS
  clustereval._adjusted_fowlkes_mallows(tp, fp, fn, tn, sqrt((tp + fn) * (tp + fp)));

-- Adjusted Rand index of Sundqvist and others, whose correction treats the labels too as a sample;
-- total is the number of rows. links is the sum over rows of (others with its label) x (others with
-- its cluster): the expectation counts disjoint pairs of pairs. Its leading terms are those of
-- adjusted_rand_score, others are smaller by a factor of total. One label in one cluster: 0 / 0.
CREATE OR REPLACE MACRO clustereval._multinomial_adjusted_rand_score(
  tp, fp, fn, tn, total, links
) AS
  CASE
    WHEN total >= 4 AND fp + fn + tn > 0
    THEN (tp * tn - fn * fp - 2 * (total - 1) * tp + links)
    / NULLIF(
      ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)) / 2
      - (2 * tp + fp + fn) * (total - 1.5) - tp + links,
      0
    )
  END;

-- Sum over the n rows with one label and one cluster, of label_size and cluster_size rows, of
-- (other rows with the label) x (other rows in the cluster).
CREATE OR REPLACE MACRO clustereval._cell_links(n, label_size, cluster_size) AS
  CAST(n AS DOUBLE) * CAST(label_size - 1 AS DOUBLE) * CAST(cluster_size - 1 AS DOUBLE);

---------------------------------------------------------------------------------------------------
-- Aggregates
---------------------------------------------------------------------------------------------------

-- Examples: SELECT clustereval.rand_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.rand_score(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._rand_score(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.rand_score IS
'Share of pairs on which label and cluster agree, (tp + tn) / all. Range [0, 1], best 1. A single '
'row or equal partitions: 1. Source: Rand (1971), doi:10.1080/01621459.1971.10482356.';

-- Examples: SELECT clustereval.adjusted_rand_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.adjusted_rand_score(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._adjusted_rand_score(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.adjusted_rand_score IS
'Rand index corrected for chance: 0 expected for random labelings, 1 for equal partitions. Range '
'[-0.5, 1], best 1. Equal trivial partitions: 1. Source: Hubert and Arabie (1985), '
'doi:10.1007/BF01908075.';

-- Examples: SELECT clustereval.fowlkes_mallows_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.fowlkes_mallows_score(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._fowlkes_mallows_score(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.fowlkes_mallows_score IS
'Geometric mean of pair precision and pair recall. Range [0, 1], best 1. No pair together in '
'both: 0. Source: Fowlkes and Mallows (1983), doi:10.1080/01621459.1983.10478008.';

-- Examples: SELECT clustereval.pair_precision(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.pair_precision(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._pair_precision(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.pair_precision IS
'Share of the pairs in one cluster that have one label, tp / (tp + fp); Wallace''s index of the '
'clusters. Range [0, 1], best 1. All clusters singletons: NULL. Source: Wallace (1983), '
'doi:10.1080/01621459.1983.10478009.';

-- Examples: SELECT clustereval.pair_recall(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.pair_recall(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._pair_recall(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.pair_recall IS
'Share of the pairs with one label that are in one cluster, tp / (tp + fn); Wallace''s index of '
'the labels. Range [0, 1], best 1. All labels singletons: NULL. Source: Wallace (1983), '
'doi:10.1080/01621459.1983.10478009.';

-- Examples: SELECT clustereval.pair_f_score(species, cluster, beta := 0.5) FROM assignments;
CREATE OR REPLACE MACRO clustereval.pair_f_score(label, cluster, beta := 1.0) AS
  list_transform(
    [{
      'pairs': clustereval._pair_statistics(label, cluster),
      'beta': clustereval._check_beta(beta)
    }],
    lambda __ce_call: clustereval._pair_f_score(
      __ce_call['pairs']['tp'], __ce_call['pairs']['fp'], __ce_call['pairs']['fn'],
      __ce_call['pairs']['tn'], __ce_call['beta']
    )
  )[1];
COMMENT ON MACRO clustereval.pair_f_score IS
'Weighted harmonic mean of pair precision and pair recall; beta > 1 weighs recall more; with beta '
'1 the Czekanowski-Dice index. Range [0, 1], best 1. No pair together in either: NULL. Source: '
'Dice (1945), doi:10.2307/1932409.';

-- Examples: SELECT clustereval.jaccard_index(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.jaccard_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._jaccard_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.jaccard_index IS
'Share of the pairs together in either that are together in both, tp / (tp + fp + fn). Range [0, '
'1], best 1. No pair together in either: NULL. Source: Jaccard (1912), '
'doi:10.1111/j.1469-8137.1912.tb05611.x.';

-- Examples: SELECT clustereval.mirkin_metric(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.mirkin_metric(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._mirkin_metric(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.mirkin_metric IS
'Ordered pairs on which label and cluster disagree, 2 (fp + fn). A metric of partitions. Range '
'[0, n (n - 1)], best 0. Source: Mirkin (1996), doi:10.1007/978-1-4613-0457-9.';

-- Examples: SELECT clustereval.adjusted_fowlkes_mallows_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.adjusted_fowlkes_mallows_score(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._adjusted_fowlkes_mallows_score(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.adjusted_fowlkes_mallows_score IS
'Fowlkes-Mallows score corrected for chance. 0 expected for random labelings, best 1. A trivial '
'partition: NULL. Source: Hubert and Arabie (1985), doi:10.1007/BF01908075.';

-- {total, tp, fp, fn, tn, links} of the columns label and cluster: the number of rows, the counts
-- of pairs, and the links of _multinomial_adjusted_rand_score, summed over all rows.
CREATE OR REPLACE MACRO clustereval._linked_pair_statistics(label, cluster) AS
  list_transform(
    [{
      'pairs': clustereval._pair_statistics(label, cluster),
      'cells': clustereval._cells_as_list(label, cluster)['cells']
    }],
    lambda __ce_step: {
      'total': __ce_step['pairs']['total'],
      'tp': __ce_step['pairs']['tp'],
      'fp': __ce_step['pairs']['fp'],
      'fn': __ce_step['pairs']['fn'],
      'tn': __ce_step['pairs']['tn'],
      'links': clustereval._compensated_list_sum(list_transform(
        __ce_step['cells'],
        lambda __ce_cell: clustereval._cell_links(
          __ce_cell['n'], __ce_cell['label_size'], __ce_cell['cluster_size']
        )
      ))
    }
  )[1];

-- Examples: SELECT clustereval.multinomial_adjusted_rand_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.multinomial_adjusted_rand_score(label, cluster) AS
  list_transform(
    [clustereval._linked_pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._multinomial_adjusted_rand_score(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn'],
      __ce_pairs['total'], __ce_pairs['links']
    )
  )[1];
COMMENT ON MACRO clustereval.multinomial_adjusted_rand_score IS
'Adjusted Rand index whose correction is unbiased when the labels too are a sample (MARI). 0 '
'expected for random labelings, best 1. Fewer than 4 rows or 0 / 0: NULL. Source: Sundqvist, '
'Chiquet and Rigaill (2023), doi:10.1007/s00180-022-01230-7.';
