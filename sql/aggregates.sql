-- aggregates: the metrics as aggregates of the columns label (true class) and cluster (assigned
-- cluster). Rows with a NULL in either are left out. `make facts` writes this file from the private
-- macros in external/ and the docstrings of polars_clustereval/external: change these.

-- Rand index: the share of pairs of rows on which label and cluster agree.
-- Examples:
--   SELECT clustereval.rand_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.rand_score(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._rand_score(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Rand index corrected for chance.
-- Examples:
--   SELECT clustereval.adjusted_rand_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.adjusted_rand_score(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._adjusted_rand_score(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Geometric mean of pair precision and pair recall.
-- Examples:
--   SELECT clustereval.fowlkes_mallows_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.fowlkes_mallows_score(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._fowlkes_mallows_score(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Share of the pairs in the same cluster that have the same label.
-- Examples:
--   SELECT clustereval.pair_precision(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.pair_precision(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._pair_precision(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Share of the pairs with the same label that are in the same cluster.
-- Examples:
--   SELECT clustereval.pair_recall(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.pair_recall(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._pair_recall(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Weighted harmonic mean of pair precision and pair recall.
-- Examples:
--   SELECT clustereval.pair_f_score(species, cluster, beta := 0.5)
--   FROM assignments;
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

-- Share of the pairs with the same label or the same cluster that have both in common.
-- Examples:
--   SELECT clustereval.jaccard_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.jaccard_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._jaccard_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Number of ordered pairs of rows on which label and cluster disagree.
-- Examples:
--   SELECT clustereval.mirkin_metric(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.mirkin_metric(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._mirkin_metric(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Share of pairs on which label and cluster agree, minus the share on which they disagree.
-- Examples:
--   SELECT clustereval.hubert_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.hubert_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._hubert_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Arithmetic mean of pair precision and pair recall.
-- Examples:
--   SELECT clustereval.kulczynski_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.kulczynski_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._kulczynski_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Signed square root of McNemar's statistic, positive if more pairs are split than joined.
-- Examples:
--   SELECT clustereval.mcnemar_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.mcnemar_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._mcnemar_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn'],
      __ce_pairs['fn_minus_fp']
    )
  )[1];

-- Correlation between "same label" and "same cluster" over all pairs of rows.
-- Examples:
--   SELECT clustereval.phi_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.phi_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._phi_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Angle between the two partitions as a fraction of 180 degrees.
-- Examples:
--   SELECT clustereval.correlation_distance(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.correlation_distance(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._correlation_distance(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Share of pairs on which label and cluster agree, with disagreements counted twice.
-- Examples:
--   SELECT clustereval.rogers_tanimoto_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.rogers_tanimoto_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._rogers_tanimoto_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Share of all pairs of rows that have both the same label and the same cluster.
-- Examples:
--   SELECT clustereval.russell_rao_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.russell_rao_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._russell_rao_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Jaccard index of pairs of rows, with disagreements between label and cluster counted twice.
-- Examples:
--   SELECT clustereval.sokal_sneath_1_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.sokal_sneath_1_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._sokal_sneath_1_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Share of pairs on which label and cluster agree, with agreements counted twice.
-- Examples:
--   SELECT clustereval.sokal_sneath_2_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.sokal_sneath_2_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._sokal_sneath_2_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Ratio of pairs that share both label and cluster to pairs that share only one of them.
-- Examples:
--   SELECT clustereval.southwood_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.southwood_index(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._southwood_index(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Fowlkes-Mallows score corrected for chance.
-- Examples:
--   SELECT clustereval.adjusted_fowlkes_mallows_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.adjusted_fowlkes_mallows_score(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._adjusted_fowlkes_mallows_score(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- Rand index corrected for chance, with group sizes that are random too.
-- Examples:
--   SELECT clustereval.multinomial_adjusted_rand_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.multinomial_adjusted_rand_score(label, cluster) AS
  list_transform(
    [clustereval._linked_pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._multinomial_adjusted_rand_score(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn'],
      __ce_pairs['total'], __ce_pairs['links']
    )
  )[1];

-- Entropy of the labels in nats.
-- Examples:
--   SELECT clustereval.label_entropy(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.label_entropy(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._label_entropy(
      __ce_info['mi'], __ce_info['hl']
    )
  )[1];

-- Entropy of the clusters in nats.
-- Examples:
--   SELECT clustereval.cluster_entropy(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.cluster_entropy(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._cluster_entropy(
      __ce_info['mi'], __ce_info['hc']
    )
  )[1];

-- Joint entropy of labels and clusters, in nats.
-- Examples:
--   SELECT clustereval.joint_entropy(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.joint_entropy(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._joint_entropy(
      __ce_info['mi'], __ce_info['hl'], __ce_info['hc']
    )
  )[1];

-- Conditional entropy of the labels given the clusters, in nats.
-- Examples:
--   SELECT clustereval.label_entropy_given_cluster(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.label_entropy_given_cluster(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._label_entropy_given_cluster(
      __ce_info['hl']
    )
  )[1];

-- Conditional entropy of the clusters given the labels, in nats.
-- Examples:
--   SELECT clustereval.cluster_entropy_given_label(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.cluster_entropy_given_label(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._cluster_entropy_given_label(
      __ce_info['hc']
    )
  )[1];

-- Mutual information of labels and clusters, in nats.
-- Examples:
--   SELECT clustereval.mutual_info_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.mutual_info_score(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._mutual_info_score(
      __ce_info['mi']
    )
  )[1];

-- Mutual information divided by a mean of the label entropy and the cluster entropy.
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

-- Expected mutual information of random labelings with the same group sizes, in nats.
-- Examples:
--   SELECT clustereval.expected_mutual_info(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.expected_mutual_info(label, cluster) AS
  list_transform(
    [clustereval._expected_statistics(label, cluster)],
    lambda __ce_expected: clustereval._expected_mutual_info(
      __ce_expected['emi']
    )
  )[1];

-- Share of the label entropy that the clusters explain.
-- Examples:
--   SELECT clustereval.homogeneity_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.homogeneity_score(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._homogeneity_score(
      __ce_info['mi'], __ce_info['hl'], __ce_info['hc']
    )
  )[1];

-- Share of the cluster entropy that the labels explain.
-- Examples:
--   SELECT clustereval.completeness_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.completeness_score(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._completeness_score(
      __ce_info['mi'], __ce_info['hl'], __ce_info['hc']
    )
  )[1];

-- Weighted harmonic mean of homogeneity and completeness.
-- Examples:
--   SELECT clustereval.v_measure_score(species, cluster, beta := 0.5)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.v_measure_score(label, cluster, beta := 1.0) AS
  list_transform(
    [{
      'info': clustereval._information_statistics(label, cluster),
      'beta': clustereval._check_beta(beta)
    }],
    lambda __ce_call: clustereval._v_measure_score(
      __ce_call['info']['mi'], __ce_call['info']['hl'], __ce_call['info']['hc'],
      __ce_call['beta']
    )
  )[1];

-- Sum of the two conditional entropies, in nats.
-- Examples:
--   SELECT clustereval.variation_of_information(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.variation_of_information(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._variation_of_information(
      __ce_info['hl'], __ce_info['hc']
    )
  )[1];

-- Variation of information divided by the joint entropy.
-- Examples:
--   SELECT clustereval.normalized_variation_of_information(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.normalized_variation_of_information(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._normalized_variation_of_information(
      __ce_info['mi'], __ce_info['hl'], __ce_info['hc']
    )
  )[1];

-- Share of the larger of the two entropies that labels and clusters do not have in common.
-- Examples:
--   SELECT clustereval.normalized_information_distance(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.normalized_information_distance(label, cluster) AS
  list_transform(
    [clustereval._information_statistics(label, cluster)],
    lambda __ce_info: clustereval._normalized_information_distance(
      __ce_info['mi'], __ce_info['hl'], __ce_info['hc']
    )
  )[1];

-- Share of rows that have the majority label of their cluster.
-- Examples:
--   SELECT clustereval.purity(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.purity(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._purity(
      __ce_sums['in_majority_labels'], __ce_sums['total']
    )
  )[1];

-- Share of rows that are in the majority cluster of their label.
-- Examples:
--   SELECT clustereval.inverse_purity(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.inverse_purity(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._inverse_purity(
      __ce_sums['in_majority_clusters'], __ce_sums['total']
    )
  )[1];

-- For each row, the best F1 score of its label with any cluster, averaged over all rows.
-- Examples:
--   SELECT clustereval.class_f_measure(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.class_f_measure(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._class_f_measure(
      __ce_sums['matched_rows'], __ce_sums['total']
    )
  )[1];

-- Number of rows moved to turn one partition into the other, summed over both directions.
-- Examples:
--   SELECT clustereval.split_join_distance(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.split_join_distance(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._split_join_distance(
      __ce_sums['total'], __ce_sums['in_majority_clusters'],
      __ce_sums['in_majority_labels']
    )
  )[1];

-- For each row, the share of its cluster that has the same label, averaged over all rows.
-- Examples:
--   SELECT clustereval.bcubed_precision(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.bcubed_precision(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._bcubed_precision(
      __ce_sums['precision_rows'], __ce_sums['total']
    )
  )[1];

-- For each row, the share of its label's rows that are in its cluster, averaged over all rows.
-- Examples:
--   SELECT clustereval.bcubed_recall(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.bcubed_recall(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._bcubed_recall(
      __ce_sums['recall_rows'], __ce_sums['total']
    )
  )[1];

-- Weighted harmonic mean of B-cubed precision and recall.
-- Examples:
--   SELECT clustereval.bcubed_f_score(species, cluster, beta := 0.5)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.bcubed_f_score(label, cluster, beta := 1.0) AS
  list_transform(
    [{
      'sums': clustereval._matching_statistics(label, cluster),
      'beta': clustereval._check_beta(beta)
    }],
    lambda __ce_call: clustereval._bcubed_f_score(
      __ce_call['sums']['precision_rows'], __ce_call['sums']['recall_rows'],
      __ce_call['sums']['total'], __ce_call['beta']
    )
  )[1];

-- Overlap of each row's label and cluster relative to the larger one, averaged over all rows.
-- Examples:
--   SELECT clustereval.element_centric_similarity(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.element_centric_similarity(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._element_centric_similarity(
      __ce_sums['similar_rows'], __ce_sums['total']
    )
  )[1];

-- Share of clusters whose rows are exactly the rows of one label.
-- Examples:
--   SELECT clustereval.exact_match_precision(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.exact_match_precision(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._exact_match_precision(
      __ce_sums['exact_matches'], __ce_sums['n_clusters']
    )
  )[1];

-- Share of labels whose rows are exactly the rows of one cluster.
-- Examples:
--   SELECT clustereval.exact_match_recall(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.exact_match_recall(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._exact_match_recall(
      __ce_sums['exact_matches'], __ce_sums['n_labels']
    )
  )[1];

-- Harmonic mean of the precision and recall of exact matches.
-- Examples:
--   SELECT clustereval.exact_match_f_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.exact_match_f_score(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._exact_match_f_score(
      __ce_sums['exact_matches'], __ce_sums['n_labels'], __ce_sums['n_clusters']
    )
  )[1];

-- Geometric mean of B-cubed precision and recall.
-- Examples:
--   SELECT clustereval.k_measure(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.k_measure(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_sums: clustereval._k_measure(
      __ce_sums['precision_rows'], __ce_sums['recall_rows'], __ce_sums['total']
    )
  )[1];

-- For each cluster, the highest Jaccard index with any label, averaged over all clusters.
-- Examples:
--   SELECT clustereval.closest_cluster_precision(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.closest_cluster_precision(label, cluster) AS
  list_transform(
    [clustereval._resolution_statistics(label, cluster)],
    lambda __ce_sums: clustereval._closest_cluster_precision(
      __ce_sums['closest_clusters'], __ce_sums['n_clusters']
    )
  )[1];

-- For each label, the highest Jaccard index with any cluster, averaged over all labels.
-- Examples:
--   SELECT clustereval.closest_cluster_recall(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.closest_cluster_recall(label, cluster) AS
  list_transform(
    [clustereval._resolution_statistics(label, cluster)],
    lambda __ce_sums: clustereval._closest_cluster_recall(
      __ce_sums['closest_labels'], __ce_sums['n_labels']
    )
  )[1];

-- Weighted harmonic mean of closest-cluster precision and closest-cluster recall.
-- Examples:
--   SELECT clustereval.closest_cluster_f_score(species, cluster, beta := 0.5)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.closest_cluster_f_score(label, cluster, beta := 1.0) AS
  list_transform(
    [{
      'sums': clustereval._resolution_statistics(label, cluster),
      'beta': clustereval._check_beta(beta)
    }],
    lambda __ce_call: clustereval._closest_cluster_f_score(
      __ce_call['sums']['closest_clusters'], __ce_call['sums']['n_clusters'],
      __ce_call['sums']['closest_labels'], __ce_call['sums']['n_labels'],
      __ce_call['beta']
    )
  )[1];

-- Geometric mean of the numbers of labels and clusters, divided by the number of overlaps.
-- Examples:
--   SELECT clustereval.talburt_wang_index(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.talburt_wang_index(label, cluster) AS
  list_transform(
    [clustereval._coreference_statistics(label, cluster)],
    lambda __ce_sums: clustereval._talburt_wang_index(
      __ce_sums['n_labels'], __ce_sums['n_clusters'], __ce_sums['n_cells']
    )
  )[1];

-- Number of splits and merges needed to turn the clusters into the labels.
-- Examples:
--   SELECT clustereval.basic_merge_distance(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.basic_merge_distance(label, cluster) AS
  list_transform(
    [clustereval._coreference_statistics(label, cluster)],
    lambda __ce_sums: clustereval._basic_merge_distance(
      __ce_sums['n_labels'], __ce_sums['n_clusters'], __ce_sums['n_cells']
    )
  )[1];

-- Total cost of the splits and merges needed to turn the clusters into the labels.
-- Examples:
--   SELECT clustereval.generalized_merge_distance(species, cluster, merge_cost := 'product')
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.generalized_merge_distance(
  label, cluster, split_cost := 'unit', merge_cost := 'unit'
) AS
  list_transform(
    [{
      'sums': clustereval._edit_statistics(label, cluster),
      'split_cost': clustereval._check_edit_cost(split_cost, 'split_cost'),
      'merge_cost': clustereval._check_edit_cost(merge_cost, 'merge_cost')
    }],
    lambda __ce_call: clustereval._generalized_merge_distance(
      __ce_call['sums']['n_labels'], __ce_call['sums']['n_clusters'],
      __ce_call['sums']['n_cells'], __ce_call['sums']['fp'], __ce_call['sums']['fn'],
      __ce_call['sums']['hl'], __ce_call['sums']['hc'], __ce_call['sums']['total'],
      __ce_call['split_cost'], __ce_call['merge_cost']
    )
  )[1];

-- MUC precision: the share of links within clusters that are correct.
-- Examples:
--   SELECT clustereval.muc_precision(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.muc_precision(label, cluster) AS
  list_transform(
    [clustereval._coreference_statistics(label, cluster)],
    lambda __ce_sums: clustereval._muc_precision(
      __ce_sums['total'], __ce_sums['n_cells'], __ce_sums['n_labels'],
      __ce_sums['n_clusters']
    )
  )[1];

-- MUC recall: the share of links within labels that are also within clusters.
-- Examples:
--   SELECT clustereval.muc_recall(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.muc_recall(label, cluster) AS
  list_transform(
    [clustereval._coreference_statistics(label, cluster)],
    lambda __ce_sums: clustereval._muc_recall(
      __ce_sums['total'], __ce_sums['n_cells'], __ce_sums['n_labels'],
      __ce_sums['n_clusters']
    )
  )[1];

-- Weighted harmonic mean of MUC precision and recall.
-- Examples:
--   SELECT clustereval.muc_f_score(species, cluster, beta := 0.5)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.muc_f_score(label, cluster, beta := 1.0) AS
  list_transform(
    [{
      'sums': clustereval._coreference_statistics(label, cluster),
      'beta': clustereval._check_beta(beta)
    }],
    lambda __ce_call: clustereval._muc_f_score(
      __ce_call['sums']['total'], __ce_call['sums']['n_cells'],
      __ce_call['sums']['n_labels'], __ce_call['sums']['n_clusters'], __ce_call['beta']
    )
  )[1];

-- LEA precision: the mean share of correct links in a cluster, weighted by cluster size.
-- Examples:
--   SELECT clustereval.lea_precision(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.lea_precision(label, cluster) AS
  list_transform(
    [clustereval._coreference_statistics(label, cluster)],
    lambda __ce_sums: clustereval._lea_precision(
      __ce_sums['lea_precision_rows'], __ce_sums['total']
    )
  )[1];

-- LEA recall: the mean share of a label's links that are found, weighted by label size.
-- Examples:
--   SELECT clustereval.lea_recall(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.lea_recall(label, cluster) AS
  list_transform(
    [clustereval._coreference_statistics(label, cluster)],
    lambda __ce_sums: clustereval._lea_recall(
      __ce_sums['lea_recall_rows'], __ce_sums['total']
    )
  )[1];

-- Weighted harmonic mean of LEA precision and recall.
-- Examples:
--   SELECT clustereval.lea_f_score(species, cluster, beta := 0.5)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.lea_f_score(label, cluster, beta := 1.0) AS
  list_transform(
    [{
      'sums': clustereval._coreference_statistics(label, cluster),
      'beta': clustereval._check_beta(beta)
    }],
    lambda __ce_call: clustereval._lea_f_score(
      __ce_call['sums']['lea_precision_rows'], __ce_call['sums']['lea_recall_rows'],
      __ce_call['sums']['total'], __ce_call['beta']
    )
  )[1];

-- BLANC precision: the mean precision for pairs that are together and pairs that are apart.
-- Examples:
--   SELECT clustereval.blanc_precision(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.blanc_precision(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._blanc_precision(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- BLANC recall: the mean recall for pairs that are together and pairs that are apart.
-- Examples:
--   SELECT clustereval.blanc_recall(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.blanc_recall(label, cluster) AS
  list_transform(
    [clustereval._pair_statistics(label, cluster)],
    lambda __ce_pairs: clustereval._blanc_recall(
      __ce_pairs['tp'], __ce_pairs['fp'], __ce_pairs['fn'], __ce_pairs['tn']
    )
  )[1];

-- BLANC F score: the mean F score for pairs that are together and pairs that are apart.
-- Examples:
--   SELECT clustereval.blanc_f_score(species, cluster, beta := 0.5)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.blanc_f_score(label, cluster, beta := 1.0) AS
  list_transform(
    [{
      'pairs': clustereval._pair_statistics(label, cluster),
      'beta': clustereval._check_beta(beta)
    }],
    lambda __ce_call: clustereval._blanc_f_score(
      __ce_call['pairs']['tp'], __ce_call['pairs']['fp'], __ce_call['pairs']['fn'],
      __ce_call['pairs']['tn'], __ce_call['beta']
    )
  )[1];

-- Mutual information minus the information in the contingency table itself, in nats per row.
-- Examples:
--   SELECT clustereval.reduced_mutual_info_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.reduced_mutual_info_score(label, cluster) AS
  list_transform(
    [clustereval._reduced_statistics(label, cluster)],
    lambda __ce_sums: clustereval._reduced_mutual_info_score(
      __ce_sums['total'], __ce_sums['n_labels'], __ce_sums['n_clusters'], __ce_sums['mi'],
      __ce_sums['cell_remainders'], __ce_sums['label_remainders'],
      __ce_sums['cluster_remainders'], __ce_sums['log_tables'],
      __ce_sums['cell_factorials'], __ce_sums['table_excess']
    )
  )[1];
