-- association: coefficients of association between "same label" and "same cluster" over all
-- unordered pairs of rows, from four counts of pairs:
--   tp  same label, same cluster          fp  same cluster, different label
--   fn  same label, different cluster     tn  different in both

---------------------------------------------------------------------------------------------------
-- Formulas. NULL if a denominator is 0; all is tp + fp + fn + tn.
---------------------------------------------------------------------------------------------------

-- (pairs that agree - pairs that disagree) / all; fp and fn are the pairs that disagree.
CREATE OR REPLACE MACRO clustereval._hubert_index(tp, fp, fn, tn) AS
  (tp + tn - fp - fn) / NULLIF(tp + fp + fn + tn, 0);

-- Mean of pair precision tp / (tp + fp) and pair recall tp / (tp + fn).
CREATE OR REPLACE MACRO clustereval._kulczynski_index(tp, fp, fn, tn) AS
  (tp / NULLIF(tp + fp, 0) + tp / NULLIF(tp + fn, 0)) / 2.0;

-- (fn - fp) / sqrt(fn + fp). fn_minus_fp = fn - fp is computed from integers because it may be far
-- smaller than either.
CREATE OR REPLACE MACRO clustereval._mcnemar_index(tp, fp, fn, tn, fn_minus_fp) AS
  fn_minus_fp / NULLIF(sqrt(fn + fp), 0);

-- Pearson correlation of the indicators "same label" and "same cluster".
CREATE OR REPLACE MACRO clustereval._phi_index(tp, fp, fn, tn) AS
  (tp * tn - fn * fp) / NULLIF(sqrt((tp + fn) * (tp + fp)) * sqrt((fn + tn) * (fp + tn)), 0);

-- Share of pairs that agree, (tp + tn) / all, where pairs that disagree count twice.
CREATE OR REPLACE MACRO clustereval._rogers_tanimoto_index(tp, fp, fn, tn) AS
  (tp + tn) / NULLIF(tp + tn + 2 * (fp + fn), 0);

-- Share of all pairs that have the same label and the same cluster.
CREATE OR REPLACE MACRO clustereval._russell_rao_index(tp, fp, fn, tn) AS
  tp / NULLIF(tp + fp + fn + tn, 0);

-- Jaccard index tp / (tp + fp + fn), where pairs that disagree count twice.
CREATE OR REPLACE MACRO clustereval._sokal_sneath_1_index(tp, fp, fn, tn) AS
  tp / NULLIF(tp + 2 * (fp + fn), 0);

-- Share of pairs that agree, (tp + tn) / all, where pairs that disagree count half.
CREATE OR REPLACE MACRO clustereval._sokal_sneath_2_index(tp, fp, fn, tn) AS
  (tp + tn) / NULLIF(tp + tn + (fp + fn) / 2, 0);

-- tp / (fp + fn): pairs with the same label and the same cluster, per pair that disagrees.
CREATE OR REPLACE MACRO clustereval._southwood_index(tp, fp, fn, tn) AS tp / NULLIF(fp + fn, 0);

---------------------------------------------------------------------------------------------------
-- Aggregates
---------------------------------------------------------------------------------------------------

-- Examples: SELECT clustereval.hubert_index(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.hubert_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._hubert_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.hubert_index IS
'Agreement minus disagreement, (tp + tn - fp - fn) / all. Range [-1, 1], best 1. A single row: '
'NULL. Source: Hubert (1977), doi:10.1111/j.2044-8317.1977.tb00728.x.';

-- Examples: SELECT clustereval.kulczynski_index(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.kulczynski_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._kulczynski_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.kulczynski_index IS
'Arithmetic mean of pair precision and pair recall. Range [0, 1], best 1. NULL where either is. '
'Source: Kulczynski (1927), Die Pflanzenassoziationen der Pieninen.';

-- Examples: SELECT clustereval.mcnemar_index(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.mcnemar_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._mcnemar_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn'],
      __ce_pairs['fn_minus_fp']
    )
  )[1];
COMMENT ON MACRO clustereval.mcnemar_index IS
'(fn - fp) / sqrt(fn + fp), the signed root of McNemar''s statistic: > 0 if more pairs of one '
'label are split than pairs of two labels joined. Best 0. Equal partitions: NULL. Source: McNemar '
'(1947), doi:10.1007/BF02295996.';

-- Examples: SELECT clustereval.phi_index(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.phi_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._phi_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.phi_index IS
'Pearson correlation of the two indicators of a pair being together; equal to Hubert''s '
'normalized gamma. Range [-1, 1], best 1. A trivial partition: NULL. Source: Yule (1912), '
'doi:10.2307/2340126.';

-- Examples: SELECT clustereval.rogers_tanimoto_index(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.rogers_tanimoto_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._rogers_tanimoto_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.rogers_tanimoto_index IS
'(tp + tn) / (tp + tn + 2 (fp + fn)). Range [0, 1], best 1. A single row: NULL. Source: Rogers '
'and Tanimoto (1960), doi:10.1126/science.132.3434.1115.';

-- Examples: SELECT clustereval.russell_rao_index(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.russell_rao_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._russell_rao_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.russell_rao_index IS
'Share of pairs together in both, tp / all. Range [0, 1]. A single row: NULL. Source: Russell and '
'Rao (1940), On habitat and association of species.';

-- Examples: SELECT clustereval.sokal_sneath_1_index(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.sokal_sneath_1_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._sokal_sneath_1_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.sokal_sneath_1_index IS
'tp / (tp + 2 (fp + fn)). Range [0, 1], best 1. No pair together in either: NULL. Source: Sokal '
'and Sneath (1963), Principles of Numerical Taxonomy.';

-- Examples: SELECT clustereval.sokal_sneath_2_index(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.sokal_sneath_2_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._sokal_sneath_2_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.sokal_sneath_2_index IS
'(tp + tn) / (tp + tn + (fp + fn) / 2). Range [0, 1], best 1. A single row: NULL. Source: Sokal '
'and Sneath (1963), Principles of Numerical Taxonomy.';

-- Examples: SELECT clustereval.southwood_index(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.southwood_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._southwood_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];
COMMENT ON MACRO clustereval.southwood_index IS
'Pairs together in both per pair together in one only, tp / (fp + fn). Range [0, inf), best high. '
'Equal partitions: NULL. Source: Southwood (1978), Ecological Methods.';
