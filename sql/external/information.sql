-- information: entropies and mutual information, in nats.
--
-- Everything follows from three sums of non-negative terms:
--   mi  mutual information
--   hl  entropy of the label given the cluster
--   hc  entropy of the cluster given the label
-- The entropy of the labels is mi + hl, that of the clusters mi + hc. emi, ehl and ehc are the
-- expectations of mi, hl and hc for random labelings of the same sizes. Entropies and normalized
-- scores are sums and ratios of these, never differences, so they lose no digits for independent,
-- identical and nearly trivial labelings.

---------------------------------------------------------------------------------------------------
-- Formulas of mi, hl and hc
---------------------------------------------------------------------------------------------------

-- x, the name of a mean of two entropies: 'arithmetic', 'geometric', 'min' or 'max', as in
-- scikit-learn. If the BOOLEAN joint is TRUE, 'joint' is accepted too: the joint entropy in place
-- of a mean. Raises an error for any other x.
CREATE OR REPLACE MACRO clustereval._check_average_method(x, joint) AS
  CASE
    WHEN coalesce(x, '') IN ('arithmetic', 'geometric', 'min', 'max') OR (joint AND x = 'joint')
    THEN x
    ELSE clustereval._raise(concat(
      'average_method: expected one of ''arithmetic'', ''geometric'', ''min'', ''max''',
      CASE WHEN joint THEN ', ''joint''' ELSE '' END, ', got ', coalesce('''' || x || '''', 'NULL')
    ))
  END;

-- Homogeneity: mi / (mi + hl), where mi + hl is the label entropy; 1 if there is one label. mi is
-- the mutual information, hl the entropy of the label given the cluster, hc (not used) that of the
-- cluster given the label.
CREATE OR REPLACE MACRO clustereval._homogeneity_score(mi, hl, hc) AS
  clustereval._ratio_or(mi, mi + hl, 1.0);

-- Completeness: mi / (mi + hc), where mi + hc is the cluster entropy; 1 if there is one cluster. mi
-- is the mutual information, hl (not used) the entropy of the label given the cluster, hc that of
-- the cluster given the label.
CREATE OR REPLACE MACRO clustereval._completeness_score(mi, hl, hc) AS
  clustereval._ratio_or(mi, mi + hc, 1.0);

-- V-measure: (1 + beta) h c / (beta h + c) with homogeneity h = mi / (mi + hl) and completeness
-- c = mi / (mi + hc). mi is the mutual information, hl the entropy of the label given the cluster,
-- hc that of the cluster given the label. It is computed as (1 + beta) mi / (mi + hl +
-- beta (mi + hc)), which is 0 for h = c = 0, as in scikit-learn. 1 for equal partitions, NULL for
-- beta = c = 0 < h.
CREATE OR REPLACE MACRO clustereval._v_measure_score(mi, hl, hc, beta) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    ELSE clustereval._ratio((1.0 + beta) * mi, mi + hl + beta * (mi + hc))
  END;

-- Mutual information mi divided by a mean of the label entropy mi + hl and the cluster entropy
-- mi + hc, where hl is the entropy of the label given the cluster, hc that of the cluster given the
-- label. average_method names the mean: 'arithmetic', 'geometric', 'min', 'max', or 'joint' for the
-- joint entropy mi + hl + hc in place of a mean. 1 for equal partitions, even trivial ones;
-- otherwise 0 if mi is 0.
CREATE OR REPLACE MACRO clustereval._normalized_mutual_info_score(mi, hl, hc, average_method) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    WHEN mi = 0 THEN 0.0
    WHEN average_method = 'arithmetic' THEN clustereval._ratio(mi, mi + (hl + hc) / 2.0)
    WHEN average_method = 'geometric'
    THEN sqrt(clustereval._ratio(mi, mi + hl)) * sqrt(clustereval._ratio(mi, mi + hc))
    WHEN average_method = 'min' THEN clustereval._ratio(mi, mi + LEAST(hl, hc))
    WHEN average_method = 'max' THEN clustereval._ratio(mi, mi + GREATEST(hl, hc))
    WHEN average_method = 'joint' THEN clustereval._ratio(mi, mi + hl + hc)
  END;

-- Variation of information hl + hc divided by the joint entropy mi + hl + hc; 0 for equal
-- partitions. mi is the mutual information, hl the entropy of the label given the cluster, hc that
-- of the cluster given the label.
CREATE OR REPLACE MACRO clustereval._normalized_variation_of_information(mi, hl, hc) AS
  clustereval._ratio_or(hl + hc, mi + hl + hc, 0.0);

-- 1 - mi / M, where M is the greater of the label entropy mi + hl and the cluster entropy mi + hc,
-- computed without a difference as max(hl, hc) / (mi + max(hl, hc)); 0 for equal partitions. mi is
-- the mutual information, hl the entropy of the label given the cluster, hc that of the cluster
-- given the label.
CREATE OR REPLACE MACRO clustereval._normalized_information_distance(mi, hl, hc) AS
  clustereval._ratio_or(GREATEST(hl, hc), mi + GREATEST(hl, hc), 0.0);

-- Adjusted mutual information: (mi - emi) / (M - emi), where M is the mean of the label entropy
-- mi + hl and the cluster entropy mi + hc that average_method names: 'arithmetic', 'geometric',
-- 'min' or 'max'. mi is the mutual information, hl the entropy of the label given the cluster, hc
-- that of the cluster given the label; emi, ehl and ehc are their expectations for random labelings
-- of the same sizes. 1 for equal partitions. 0 / 0 is 0 if mi is 0, as in scikit-learn. Otherwise
-- 0 / 0 is NULL: it occurs with 'min' if one side has only singletons, and scikit-learn returns
-- rounding errors around 1. A ratio that rounding takes above 1 becomes 1.
CREATE OR REPLACE MACRO clustereval._adjusted_mutual_info_score(
  mi, hl, hc, emi, ehl, ehc, average_method
) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    WHEN clustereval._mean_entropy_above_chance(mi, hl, hc, ehl, ehc, average_method) = 0
    THEN CASE WHEN mi = 0 THEN 0.0 END
    WHEN clustereval._mutual_info_above_chance(mi, hl, hc, emi, ehl, ehc)
      > clustereval._mean_entropy_above_chance(mi, hl, hc, ehl, ehc, average_method)
    THEN 1.0
    ELSE clustereval._ratio(
      clustereval._mutual_info_above_chance(mi, hl, hc, emi, ehl, ehc),
      clustereval._mean_entropy_above_chance(mi, hl, hc, ehl, ehc, average_method)
    )
  END;

-- Mutual information in nats of `total` rows, from two sums over the cells (label, cluster) that
-- have rows. deviance is the sum of n ln(n / m) + m - n, where n is the rows of a cell and
-- m = label_size x cluster_size / total is their expected number if label and cluster were
-- independent. size_products is the sum of label_size x cluster_size, an exact integer:
-- total^2 - size_products is `total` times the sum of m over the empty cells, each of which adds m
-- to the deviance.
CREATE OR REPLACE MACRO clustereval._mutual_information(total, deviance, size_products) AS
  clustereval._ratio(
    deviance
      + clustereval._ratio(
        clustereval._widen(total) * clustereval._widen(total) - size_products, total
      ),
    total
  );

---------------------------------------------------------------------------------------------------
-- Aggregates
---------------------------------------------------------------------------------------------------

-- Deviance n ln(n / m) + m - n of a cell with n rows, where m = size_product / total is their
-- expected number if label and cluster were independent among `total` rows. size_product is
-- label_size x cluster_size; scaled_difference is n total - size_product, computed from integers,
-- so that no digits cancel. All are DOUBLE.
CREATE OR REPLACE MACRO clustereval._deviance_from_product(
  n, total, size_product, scaled_difference
) AS
  clustereval._deviance(
    n, size_product / total, scaled_difference / total,
    scaled_difference / (n * total + size_product)
  );

-- Deviance n ln(n / m) + m - n of a cell with n rows, where m = label_size x cluster_size / total
-- is their expected number if label and cluster were independent among `total` rows. The sizes are
-- the numbers of rows of the cell's label and of its cluster; all arguments are integers.
CREATE OR REPLACE MACRO clustereval._cell_deviance(total, n, label_size, cluster_size) AS
  clustereval._deviance_from_product(
    CAST(n AS DOUBLE),
    CAST(total AS DOUBLE),
    CAST(clustereval._widen(label_size) * clustereval._widen(cluster_size) AS DOUBLE),
    CAST(
      clustereval._widen(n) * clustereval._widen(total)
      - clustereval._widen(label_size) * clustereval._widen(cluster_size)
      AS DOUBLE
    )
  );

-- Aggregate of the columns label (true class) and cluster (assigned cluster): {total, mi, hl, hc}.
-- total is the number of rows without a NULL in either column, mi the mutual information, hl the
-- entropy of the label given the cluster, and hc that of the cluster given the label, in nats. All
-- entropies and scores of this file are computed from these.
CREATE OR REPLACE MACRO clustereval._information_statistics(label, cluster) AS
  list_transform(
    [clustereval._cells_as_list(label, cluster)],
    lambda __ce_sides: {
      'total': __ce_sides['total'],
      'mi': clustereval._mutual_information(
        __ce_sides['total'],
        clustereval._compensated_list_sum(list_transform(
          __ce_sides['cells'],
          lambda __ce_cell: clustereval._cell_deviance(
            __ce_sides['total'], __ce_cell['n'], __ce_cell['label_size'], __ce_cell['cluster_size']
          )
        )),
        list_sum(list_transform(
          __ce_sides['cells'],
          lambda __ce_cell: clustereval._widen(__ce_cell['label_size'])
            * clustereval._widen(__ce_cell['cluster_size'])
        ))
      ),
      'hl': clustereval._compensated_list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: clustereval._ratio(__ce_cell['n'], __ce_sides['total'])
          * clustereval._log_ratio(__ce_cell['cluster_size'], __ce_cell['n'])
      )),
      'hc': clustereval._compensated_list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: clustereval._ratio(__ce_cell['n'], __ce_sides['total'])
          * clustereval._log_ratio(__ce_cell['label_size'], __ce_cell['n'])
      ))
    }
  )[1];

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the entropy of the
-- labels, in nats. Rows with a NULL in either column are left out.
-- Examples: SELECT clustereval.label_entropy(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.label_entropy(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: __ce_info['mi'] + __ce_info['hl']
  )[1];
COMMENT ON MACRO clustereval.label_entropy IS
'Entropy of the labels, in nats. Range [0, ln n]. One label: 0. Source: Shannon (1948), '
'doi:10.1002/j.1538-7305.1948.tb01338.x. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the entropy of the
-- clusters, in nats. Rows with a NULL in either column are left out.
-- Examples: SELECT clustereval.cluster_entropy(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.cluster_entropy(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: __ce_info['mi'] + __ce_info['hc']
  )[1];
COMMENT ON MACRO clustereval.cluster_entropy IS
'Entropy of the clusters, in nats. Range [0, ln n]. One cluster: 0. Source: Shannon (1948), '
'doi:10.1002/j.1538-7305.1948.tb01338.x. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the entropy of the
-- pairs (label, cluster), in nats. Rows with a NULL in either column are left out.
-- Examples: SELECT clustereval.joint_entropy(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.joint_entropy(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: __ce_info['mi'] + __ce_info['hl'] + __ce_info['hc']
  )[1];
COMMENT ON MACRO clustereval.joint_entropy IS
'Entropy of the pairs (label, cluster), in nats. Range [0, ln n]. Source: Shannon (1948), '
'doi:10.1002/j.1538-7305.1948.tb01338.x. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the entropy of the
-- labels given the cluster, in nats, best 0: the mean of the clusters' label entropies, weighted by
-- size. Rows with a NULL in either column are left out.
-- Examples: SELECT clustereval.label_entropy_given_cluster(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.label_entropy_given_cluster(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: __ce_info['hl']
  )[1];
COMMENT ON MACRO clustereval.label_entropy_given_cluster IS
'Entropy of the labels given the cluster, in nats: the size-weighted mean of the clusters'' label '
'entropies. Range [0, label_entropy], best 0. Source: Shannon (1948), '
'doi:10.1002/j.1538-7305.1948.tb01338.x. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the entropy of the
-- clusters given the label, in nats, best 0: the mean of the labels' cluster entropies, weighted by
-- size. Rows with a NULL in either column are left out.
-- Examples: SELECT clustereval.cluster_entropy_given_label(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.cluster_entropy_given_label(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: __ce_info['hc']
  )[1];
COMMENT ON MACRO clustereval.cluster_entropy_given_label IS
'Entropy of the clusters given the label, in nats. Range [0, cluster_entropy], best 0. Source: '
'Shannon (1948), doi:10.1002/j.1538-7305.1948.tb01338.x. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): their mutual
-- information, in nats. Rows with a NULL in either column are left out.
-- Examples: SELECT clustereval.mutual_info_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.mutual_info_score(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: __ce_info['mi']
  )[1];
COMMENT ON MACRO clustereval.mutual_info_score IS
'Mutual information of label and cluster, in nats. Range [0, lesser entropy]. One label or one '
'cluster: 0. Source: Shannon (1948), doi:10.1002/j.1538-7305.1948.tb01338.x. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): their mutual
-- information divided by a mean of their entropies, from 0 to 1, best 1. average_method names the
-- mean: 'arithmetic', 'geometric', 'min', 'max', or 'joint' for the joint entropy. Rows with a NULL
-- in either column are left out.
-- Examples:
--   SELECT clustereval.normalized_mutual_info_score(species, cluster, average_method := 'max')
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.normalized_mutual_info_score(
  label, cluster, average_method := 'arithmetic'
) AS
  list_transform(
    [{
      'info': clustereval._information_statistics(label, cluster),
      'average_method': clustereval._check_average_method(average_method, TRUE)
    }],
    lambda __ce_call: clustereval._normalized_mutual_info_score(
      __ce_call['info']['mi'], __ce_call['info']['hl'], __ce_call['info']['hc'],
      __ce_call['average_method']
    )
  )[1];
COMMENT ON MACRO clustereval.normalized_mutual_info_score IS
'Mutual information over a mean of the two entropies: average_method ''arithmetic'' (default), '
'''geometric'', ''min'', ''max'' or ''joint'' (the joint entropy). Range [0, 1], best 1. Equal '
'partitions, trivial ones too: 1; no mutual information: 0. Source: Strehl and Ghosh (2002), '
'Cluster ensembles, JMLR 3; Kvalseth (1987), doi:10.1109/TSMC.1987.4309069. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): their mutual
-- information corrected for chance, divided by a mean of their entropies corrected likewise; 0 is
-- expected for random labelings, 1 is best. average_method names the mean: 'arithmetic',
-- 'geometric', 'min' or 'max'. Rows with a NULL in either column are left out.
-- Examples:
--   SELECT clustereval.adjusted_mutual_info_score(species, cluster, average_method := 'max')
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.adjusted_mutual_info_score(
  label, cluster, average_method := 'arithmetic'
) AS
  list_transform(
    [{
      'info': clustereval._information_statistics(label, cluster),
      'expected': clustereval._expected_statistics(label, cluster),
      'average_method': clustereval._check_average_method(average_method, FALSE)
    }],
    lambda __ce_call: clustereval._adjusted_mutual_info_score(
      __ce_call['info']['mi'], __ce_call['info']['hl'], __ce_call['info']['hc'],
      __ce_call['expected']['emi'], __ce_call['expected']['ehl'], __ce_call['expected']['ehc'],
      __ce_call['average_method']
    )
  )[1];
COMMENT ON MACRO clustereval.adjusted_mutual_info_score IS
'Mutual information corrected for chance, over a mean of the two entropies corrected likewise: '
'average_method ''arithmetic'' (default), ''geometric'', ''min'' or ''max''. 0 expected for '
'random labelings. Range up to 1, best 1. Equal partitions, trivial ones too: 1; otherwise one '
'label or one cluster: 0; ''min'' if all labels or all clusters differ: NULL. Source: Vinh, Epps '
'and Bailey (2010), Information theoretic measures for clusterings comparison, JMLR 11. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the share of the
-- label entropy that the clusters explain, from 0 to 1, best 1. Rows with a NULL in either column
-- are left out.
-- Examples: SELECT clustereval.homogeneity_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.homogeneity_score(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._homogeneity_score(
      __ce_info['mi'], __ce_info['hl'], __ce_info['hc']
    )
  )[1];
COMMENT ON MACRO clustereval.homogeneity_score IS
'Share of the label entropy that the clusters explain: 1 where no cluster mixes labels. Range [0, '
'1], best 1. One label: 1. Source: Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, '
'D07-1043. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the share of the
-- cluster entropy that the labels explain, from 0 to 1, best 1. Rows with a NULL in either column
-- are left out.
-- Examples: SELECT clustereval.completeness_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.completeness_score(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._completeness_score(
      __ce_info['mi'], __ce_info['hl'], __ce_info['hc']
    )
  )[1];
COMMENT ON MACRO clustereval.completeness_score IS
'Share of the cluster entropy that the labels explain: 1 where no label is split. Range [0, 1], '
'best 1. One cluster: 1. Source: Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, '
'D07-1043. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the weighted harmonic
-- mean of homogeneity and completeness, from 0 to 1, best 1. beta, a number >= 0, is the weight of
-- completeness relative to homogeneity. Rows with a NULL in either column are left out.
-- Examples: SELECT clustereval.v_measure_score(species, cluster, beta := 0.5) FROM assignments;
CREATE OR REPLACE MACRO clustereval.v_measure_score(label, cluster, beta := 1.0) AS
  list_transform(
    [{
      'info': clustereval._information_statistics(label, cluster),
      'beta': clustereval._check_beta(beta)
    }],
    lambda __ce_call: clustereval._v_measure_score(
      __ce_call['info']['mi'], __ce_call['info']['hl'], __ce_call['info']['hc'], __ce_call['beta']
    )
  )[1];
COMMENT ON MACRO clustereval.v_measure_score IS
'Weighted harmonic mean of homogeneity and completeness; beta > 1 weighs completeness more. Range '
'[0, 1], best 1. Both 0: 0. Source: Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, '
'D07-1043. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the sum of their two
-- conditional entropies, in nats, best 0: a metric of partitions. Rows with a NULL in either column
-- are left out.
-- Examples: SELECT clustereval.variation_of_information(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.variation_of_information(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: __ce_info['hl'] + __ce_info['hc']
  )[1];
COMMENT ON MACRO clustereval.variation_of_information IS
'Sum of the two conditional entropies, in nats: a metric of partitions. Range [0, ln n], best 0. '
'Source: Meila (2007), doi:10.1016/j.jmva.2006.11.013. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the variation of
-- information divided by the joint entropy, from 0 to 1, best 0: a metric of partitions. Rows with
-- a NULL in either column are left out.
-- Examples:
--   SELECT clustereval.normalized_variation_of_information(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.normalized_variation_of_information(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._normalized_variation_of_information(
      __ce_info['mi'], __ce_info['hl'], __ce_info['hc']
    )
  )[1];
COMMENT ON MACRO clustereval.normalized_variation_of_information IS
'Variation of information over the joint entropy: a metric of partitions. Range [0, 1], best 0. '
'Equal partitions: 0. Source: Vinh, Epps and Bailey (2010), Information theoretic measures for '
'clusterings comparison, JMLR 11. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

-- Aggregate of the columns label (true class) and cluster (assigned cluster): 1 - mutual
-- information / greater entropy, from 0 to 1, best 0: a metric of partitions. Rows with a NULL in
-- either column are left out.
-- Examples: SELECT clustereval.normalized_information_distance(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.normalized_information_distance(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._normalized_information_distance(
      __ce_info['mi'], __ce_info['hl'], __ce_info['hc']
    )
  )[1];
COMMENT ON MACRO clustereval.normalized_information_distance IS
'1 - mutual information over the greater entropy: a metric of partitions. Range [0, 1], best 0. '
'Equal partitions: 0. Source: Vinh, Epps and Bailey (2010), Information theoretic measures for '
'clusterings comparison, JMLR 11. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';
