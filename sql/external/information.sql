-- information: entropies and mutual information, in nats.
-- Everything follows from three sums of non-negative terms: the mutual information and the two
-- conditional entropies. Entropies and normalized scores are sums and ratios of those, never
-- differences, so they keep their digits for independent, identical and nearly trivial labelings.

---------------------------------------------------------------------------------------------------
-- Formulas. mi = mutual information, hl = entropy of the label given the cluster, hc = entropy of the
-- cluster given the label, so that label entropy = mi + hl and cluster entropy = mi + hc.
---------------------------------------------------------------------------------------------------

-- A mean of two entropies by scikit-learn's name; 'joint' is the joint entropy in its place.
CREATE OR REPLACE MACRO clustereval._check_average_method(x, joint) AS
  CASE
    WHEN coalesce(x, '') IN ('arithmetic', 'geometric', 'min', 'max') OR (joint AND x = 'joint') THEN x
    ELSE error(concat(
      'average_method: expected one of ''arithmetic'', ''geometric'', ''min'', ''max''',
      CASE WHEN joint THEN ', ''joint''' ELSE '' END, ', got ', coalesce('''' || x || '''', 'NULL')
    ))
  END;

CREATE OR REPLACE MACRO clustereval._homogeneity_score(mi, hl, hc) AS
  clustereval._ratio_or(mi, mi + hl, 1.0);

CREATE OR REPLACE MACRO clustereval._completeness_score(mi, hl, hc) AS
  clustereval._ratio_or(mi, mi + hc, 1.0);

-- (1 + beta) h c / (beta h + c) with homogeneity h and completeness c multiplied out: 0 where both are
-- 0, as in scikit-learn.
CREATE OR REPLACE MACRO clustereval._v_measure_score(mi, hl, hc, beta) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    ELSE clustereval._ratio((1.0 + beta) * mi, mi + hl + beta * (mi + hc))
  END;

-- 'min' of two entropies mi + hl and mi + hc is mi + the lesser of hl and hc, and so on.
CREATE OR REPLACE MACRO clustereval._normalized_mutual_info_score(mi, hl, hc, average_method) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    WHEN mi = 0 THEN 0.0
    WHEN average_method = 'arithmetic' THEN mi / (mi + (hl + hc) / 2.0)
    WHEN average_method = 'geometric' THEN sqrt(mi / (mi + hl)) * sqrt(mi / (mi + hc))
    WHEN average_method = 'min' THEN mi / (mi + LEAST(hl, hc))
    WHEN average_method = 'max' THEN mi / (mi + GREATEST(hl, hc))
    WHEN average_method = 'joint' THEN mi / (mi + hl + hc)
  END;

CREATE OR REPLACE MACRO clustereval._normalized_variation_of_information(mi, hl, hc) AS
  clustereval._ratio_or(hl + hc, mi + hl + hc, 0.0);

CREATE OR REPLACE MACRO clustereval._normalized_information_distance(mi, hl, hc) AS
  clustereval._ratio_or(GREATEST(hl, hc), mi + GREATEST(hl, hc), 0.0);

-- The mean of the two entropies less the expected mutual information. ehl and ehc are the expected
-- hl and hc, which are the two entropies less it.
CREATE OR REPLACE MACRO clustereval._adjusted_range(mi, hl, hc, ehl, ehc, average_method) AS
  CASE
    WHEN average_method = 'arithmetic' THEN (ehl + ehc) / 2.0
    WHEN average_method = 'min' THEN LEAST(ehl, ehc)
    WHEN average_method = 'max' THEN GREATEST(ehl, ehc)
    WHEN average_method = 'geometric' AND mi + hl = 0 THEN ehl
    WHEN average_method = 'geometric'
    THEN ehl + (ehc - ehl) * sqrt(mi + hl) / (sqrt(mi + hl) + sqrt(mi + hc))
  END;

-- mi - emi, ehl - hl and ehc - hc are the same number: the one with the smallest terms is the most
-- exact, which matters where nearly every row is a cluster of its own.
CREATE OR REPLACE MACRO clustereval._adjusted_excess(mi, hl, hc, emi, ehl, ehc) AS
  CASE
    WHEN emi <= ehl AND emi <= ehc THEN mi - emi
    WHEN ehl <= ehc THEN ehl - hl
    ELSE ehc - hc
  END;

CREATE OR REPLACE MACRO clustereval._adjusted_mutual_info_score(
  mi, hl, hc, emi, ehl, ehc, average_method
) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    ELSE clustereval._ratio_or(
      clustereval._adjusted_excess(mi, hl, hc, emi, ehl, ehc),
      clustereval._adjusted_range(mi, hl, hc, ehl, ehc, average_method),
      0.0
    )
  END;

-- The mutual information of n rows from two sums over the cells there are: their deviances, and the
-- products of the sizes of their label and cluster. What the products lack of n^2 is the expected share
-- of the cells there are not, and needs exact integers.
CREATE OR REPLACE MACRO clustereval._mutual_information(n, deviance, covered) AS
  (
    deviance
    + CAST(clustereval._widen(n) * clustereval._widen(n) - covered AS DOUBLE) / CAST(n AS DOUBLE)
  ) / CAST(n AS DOUBLE);

---------------------------------------------------------------------------------------------------
-- Aggregates
---------------------------------------------------------------------------------------------------

-- The deviance of n from product / total, given excess = n total - product with all its digits.
CREATE OR REPLACE MACRO clustereval._deviance_from_product(n, total, product, excess) AS
  clustereval._deviance(n, product / total, excess / total, excess / (n * total + product));

-- n times the share of one cell in the mutual information, beyond what is linear.
CREATE OR REPLACE MACRO clustereval._cell_deviance(total, n, a, b) AS
  clustereval._deviance_from_product(
    CAST(n AS DOUBLE),
    CAST(total AS DOUBLE),
    CAST(clustereval._widen(a) * clustereval._widen(b) AS DOUBLE),
    CAST(
      clustereval._widen(n) * clustereval._widen(total) - clustereval._widen(a) * clustereval._widen(b)
      AS DOUBLE
    )
  );

-- {mi, hl, hc}.
CREATE OR REPLACE MACRO clustereval._information_statistics(label, cluster) AS
  list_transform(
    [clustereval._cell_statistics(label, cluster)],
    lambda __ce_s: {
      'mi': clustereval._mutual_information(
        __ce_s['n'],
        clustereval._compensated_list_sum(list_transform(
          __ce_s['cells'],
          lambda __ce_c: clustereval._cell_deviance(__ce_s['n'], __ce_c['n'], __ce_c['a'], __ce_c['b'])
        )),
        list_sum(list_transform(
          __ce_s['cells'],
          lambda __ce_c: clustereval._widen(__ce_c['a']) * clustereval._widen(__ce_c['b'])
        ))
      ),
      'hl': clustereval._compensated_list_sum(list_transform(
        __ce_s['cells'],
        lambda __ce_c: clustereval._ratio(__ce_c['n'], __ce_s['n'])
          * clustereval._log_ratio(__ce_c['b'], __ce_c['n'])
      )),
      'hc': clustereval._compensated_list_sum(list_transform(
        __ce_s['cells'],
        lambda __ce_c: clustereval._ratio(__ce_c['n'], __ce_s['n'])
          * clustereval._log_ratio(__ce_c['a'], __ce_c['n'])
      ))
    }
  )[1];

-- Entropy of the labels, in nats. Range [0, ln n]. One label: 0.
-- Examples: SELECT clustereval.label_entropy(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.label_entropy(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: __ce_s['mi'] + __ce_s['hl']
  )[1];
COMMENT ON MACRO clustereval.label_entropy IS
'Entropy of the labels, in nats. Range [0, ln n]. One label: 0. Source: Shannon (1948), doi:10.1002/j.1538-7305.1948.tb01338.x.';

-- Entropy of the clusters, in nats. Range [0, ln n]. One cluster: 0.
-- Examples: SELECT clustereval.cluster_entropy(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.cluster_entropy(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: __ce_s['mi'] + __ce_s['hc']
  )[1];
COMMENT ON MACRO clustereval.cluster_entropy IS
'Entropy of the clusters, in nats. Range [0, ln n]. One cluster: 0. Source: Shannon (1948), doi:10.1002/j.1538-7305.1948.tb01338.x.';

-- Entropy of the pairs (label, cluster), in nats. Range [0, ln n].
-- Examples: SELECT clustereval.joint_entropy(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.joint_entropy(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: __ce_s['mi'] + __ce_s['hl'] + __ce_s['hc']
  )[1];
COMMENT ON MACRO clustereval.joint_entropy IS
'Entropy of the pairs (label, cluster), in nats. Range [0, ln n]. Source: Shannon (1948), doi:10.1002/j.1538-7305.1948.tb01338.x.';

-- Entropy that the labels keep inside clusters, in nats: the size-weighted mean of the clusters'
-- label entropies. Range [0, label_entropy], best 0.
-- Examples: SELECT clustereval.label_entropy_given_cluster(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.label_entropy_given_cluster(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: __ce_s['hl']
  )[1];
COMMENT ON MACRO clustereval.label_entropy_given_cluster IS
'Entropy that the labels keep inside clusters, in nats: the size-weighted mean of the clusters'' label entropies. Range [0, label_entropy], best 0. Source: Shannon (1948), doi:10.1002/j.1538-7305.1948.tb01338.x.';

-- Entropy that the clusters keep inside labels, in nats. Range [0, cluster_entropy], best 0.
-- Examples: SELECT clustereval.cluster_entropy_given_label(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.cluster_entropy_given_label(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: __ce_s['hc']
  )[1];
COMMENT ON MACRO clustereval.cluster_entropy_given_label IS
'Entropy that the clusters keep inside labels, in nats. Range [0, cluster_entropy], best 0. Source: Shannon (1948), doi:10.1002/j.1538-7305.1948.tb01338.x.';

-- Mutual information of label and cluster, in nats. Range [0, least entropy]. One label or one
-- cluster: 0.
-- Examples: SELECT clustereval.mutual_info_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.mutual_info_score(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: __ce_s['mi']
  )[1];
COMMENT ON MACRO clustereval.mutual_info_score IS
'Mutual information of label and cluster, in nats. Range [0, least entropy]. One label or one cluster: 0. Source: Shannon (1948), doi:10.1002/j.1538-7305.1948.tb01338.x.';

-- Mutual information over a mean of the two entropies: average_method 'arithmetic' (default),
-- 'geometric', 'min', 'max' or 'joint' (the joint entropy). Range [0, 1], best 1. Equal
-- partitions, trivial ones too: 1; no mutual information: 0.
-- Examples: SELECT clustereval.normalized_mutual_info_score(species, cluster, average_method := 'max') FROM assignments;
CREATE OR REPLACE MACRO clustereval.normalized_mutual_info_score(label, cluster, average_method := 'arithmetic') AS
  list_transform(
    [{'s': clustereval._information_statistics(label, cluster), 'option': clustereval._check_average_method(average_method, TRUE)}],
    lambda __ce_o: clustereval._normalized_mutual_info_score(
      __ce_o['s']['mi'], __ce_o['s']['hl'], __ce_o['s']['hc'], __ce_o['option']
    )
  )[1];
COMMENT ON MACRO clustereval.normalized_mutual_info_score IS
'Mutual information over a mean of the two entropies: average_method ''arithmetic'' (default), ''geometric'', ''min'', ''max'' or ''joint'' (the joint entropy). Range [0, 1], best 1. Equal partitions, trivial ones too: 1; no mutual information: 0. Source: Strehl and Ghosh (2002), Cluster ensembles, JMLR 3; Kvalseth (1987), doi:10.1109/TSMC.1987.4309069.';

-- Mutual information corrected for chance, over a mean of the two entropies so corrected:
-- average_method 'arithmetic' (default), 'geometric', 'min' or 'max'. 0 expected for random
-- labelings, best 1. Equal partitions, trivial ones too: 1; 0 / 0 elsewhere: 0.
-- Examples: SELECT clustereval.adjusted_mutual_info_score(species, cluster, average_method := 'max') FROM assignments;
CREATE OR REPLACE MACRO clustereval.adjusted_mutual_info_score(label, cluster, average_method := 'arithmetic') AS
  list_transform(
    [{
      's': clustereval._information_statistics(label, cluster),
      'e': clustereval._expected_statistics(label, cluster),
      'option': clustereval._check_average_method(average_method, FALSE)
    }],
    lambda __ce_o: clustereval._adjusted_mutual_info_score(
      __ce_o['s']['mi'], __ce_o['s']['hl'], __ce_o['s']['hc'], __ce_o['e']['emi'], __ce_o['e']['ehl'], __ce_o['e']['ehc'], __ce_o['option']
    )
  )[1];
COMMENT ON MACRO clustereval.adjusted_mutual_info_score IS
'Mutual information corrected for chance, over a mean of the two entropies so corrected: average_method ''arithmetic'' (default), ''geometric'', ''min'' or ''max''. 0 expected for random labelings, best 1. Equal partitions, trivial ones too: 1; 0 / 0 elsewhere: 0. Source: Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison, JMLR 11.';

-- Share of the label entropy that the clusters explain: 1 where no cluster mixes labels. Range
-- [0, 1], best 1. One label: 1.
-- Examples: SELECT clustereval.homogeneity_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.homogeneity_score(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: clustereval._homogeneity_score(__ce_s['mi'], __ce_s['hl'], __ce_s['hc'])
  )[1];
COMMENT ON MACRO clustereval.homogeneity_score IS
'Share of the label entropy that the clusters explain: 1 where no cluster mixes labels. Range [0, 1], best 1. One label: 1. Source: Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043.';

-- Share of the cluster entropy that the labels explain: 1 where no label is split. Range [0, 1],
-- best 1. One cluster: 1.
-- Examples: SELECT clustereval.completeness_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.completeness_score(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: clustereval._completeness_score(__ce_s['mi'], __ce_s['hl'], __ce_s['hc'])
  )[1];
COMMENT ON MACRO clustereval.completeness_score IS
'Share of the cluster entropy that the labels explain: 1 where no label is split. Range [0, 1], best 1. One cluster: 1. Source: Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043.';

-- Weighted harmonic mean of homogeneity and completeness; beta > 1 weighs completeness more.
-- Range [0, 1], best 1. Both 0: 0.
-- Examples: SELECT clustereval.v_measure_score(species, cluster, beta := 0.5) FROM assignments;
CREATE OR REPLACE MACRO clustereval.v_measure_score(label, cluster, beta := 1.0) AS
  list_transform(
    [{'s': clustereval._information_statistics(label, cluster), 'option': clustereval._check_beta(beta)}],
    lambda __ce_o: clustereval._v_measure_score(
      __ce_o['s']['mi'], __ce_o['s']['hl'], __ce_o['s']['hc'], __ce_o['option']
    )
  )[1];
COMMENT ON MACRO clustereval.v_measure_score IS
'Weighted harmonic mean of homogeneity and completeness; beta > 1 weighs completeness more. Range [0, 1], best 1. Both 0: 0. Source: Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043.';

-- Sum of the two conditional entropies, in nats: a metric of partitions. Range [0, ln n], best
-- 0.
-- Examples: SELECT clustereval.variation_of_information(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.variation_of_information(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: __ce_s['hl'] + __ce_s['hc']
  )[1];
COMMENT ON MACRO clustereval.variation_of_information IS
'Sum of the two conditional entropies, in nats: a metric of partitions. Range [0, ln n], best 0. Source: Meila (2007), doi:10.1016/j.jmva.2006.11.013.';

-- Variation of information over the joint entropy: a metric of partitions. Range [0, 1], best 0.
-- Equal partitions: 0.
-- Examples: SELECT clustereval.normalized_variation_of_information(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.normalized_variation_of_information(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: clustereval._normalized_variation_of_information(__ce_s['mi'], __ce_s['hl'], __ce_s['hc'])
  )[1];
COMMENT ON MACRO clustereval.normalized_variation_of_information IS
'Variation of information over the joint entropy: a metric of partitions. Range [0, 1], best 0. Equal partitions: 0. Source: Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison, JMLR 11.';

-- 1 - mutual information over the greater entropy: a metric of partitions. Range [0, 1], best 0.
-- Equal partitions: 0.
-- Examples: SELECT clustereval.normalized_information_distance(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.normalized_information_distance(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_s: clustereval._normalized_information_distance(__ce_s['mi'], __ce_s['hl'], __ce_s['hc'])
  )[1];
COMMENT ON MACRO clustereval.normalized_information_distance IS
'1 - mutual information over the greater entropy: a metric of partitions. Range [0, 1], best 0. Equal partitions: 0. Source: Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison, JMLR 11.';
