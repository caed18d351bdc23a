-- facts: what is known of the external metrics and of the indices of internal_report. `make facts`
-- writes this file from the docstrings of polars_clustereval/external, and from the records of
-- polars_clustereval/base/score_facts: change these.

---------------------------------------------------------------------------------------------------
-- Comments
---------------------------------------------------------------------------------------------------

COMMENT ON MACRO clustereval.rand_score IS
'Rand index: the share of pairs of rows on which label and cluster agree. The Rand index is (tp + '
'tn) divided by the total number of pairs. If there are many small clusters, the index is always '
'large, because most pairs of rows differ in both label and cluster. adjusted_rand_score corrects '
'for this effect. Range [0, 1], best 1. Special cases: 1 for a single row. NULL if there are no '
'rows. Source: Rand (1971), Objective criteria for the evaluation of clustering methods, '
'doi:10.1080/01621459.1971.10482356. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.adjusted_rand_score IS
'Rand index corrected for chance. The score is (RI - E) / (1 - E), where RI is the Rand index, '
'and E is the expectation of RI for random labelings with the same group sizes. Random labelings '
'have a score of 0 on average. Range [-0.5, 1], best 1. Special cases: 1 for equal partitions, '
'including those with a single cluster, only singletons or a single row. NULL if there are no '
'rows. Source: Hubert and Arabie (1985), Comparing partitions, doi:10.1007/BF01908075. Leave '
'noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.fowlkes_mallows_score IS
'Geometric mean of pair precision and pair recall. The score is tp / sqrt((tp + fp) (tp + fn)). '
'Range [0, 1], best 1. Special cases: 0 if no pair has both the same label and the same cluster, '
'even if both partitions consist only of singletons. NULL if there are no rows. Source: Fowlkes '
'and Mallows (1983), A method for comparing two hierarchical clusterings, '
'doi:10.1080/01621459.1983.10478008. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.pair_precision IS
'Share of the pairs in the same cluster that have the same label. The precision is tp / (tp + '
'fp). It is also known as Wallace''s index of the clusters. Range [0, 1], best 1. Special cases: '
'NULL if every cluster has only one row or if there are no rows. Source: Wallace (1983), comment '
'on A method for comparing two hierarchical clusterings, doi:10.1080/01621459.1983.10478009. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.pair_recall IS
'Share of the pairs with the same label that are in the same cluster. The recall is tp / (tp + '
'fn). It is also known as Wallace''s index of the labels. Range [0, 1], best 1. Special cases: '
'NULL if every label has only one row or if there are no rows. Source: Wallace (1983), comment on '
'A method for comparing two hierarchical clusterings, doi:10.1080/01621459.1983.10478009. Leave '
'noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.pair_f_score IS
'Weighted harmonic mean of pair precision and pair recall. The F score is (1 + beta^2) P R / '
'(beta^2 P + R), where P is the pair precision and R is the pair recall. If beta > 1, recall has '
'more weight than precision. If beta = 1, the F score is the index of Czekanowski, Dice and '
'Sorensen. Range [0, 1], best 1. Special cases: NULL if no pair has the same label or the same '
'cluster, if beta is 0 and every cluster is a singleton, or if there are no rows. Source: Dice '
'(1945), Measures of the amount of ecologic association between species, doi:10.2307/1932409. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.jaccard_index IS
'Share of the pairs with the same label or the same cluster that have both in common. The index '
'is tp / (tp + fp + fn). Range [0, 1], best 1. Special cases: NULL if no pair has the same label '
'or the same cluster, or if there are no rows. Source: Jaccard (1912), The distribution of the '
'flora in the alpine zone, doi:10.1111/j.1469-8137.1912.tb05611.x. Leave noise out: CASE WHEN '
'cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.mirkin_metric IS
'Number of ordered pairs of rows on which label and cluster disagree. The number of these pairs '
'is 2 (fp + fn), which is a metric on the set of partitions. Range [0, n (n - 1)], best 0. '
'Special cases: 0 for a single row. NULL if there are no rows. Source: Mirkin (1996), '
'Mathematical classification and clustering, doi:10.1007/978-1-4613-0457-9. Leave noise out: CASE '
'WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.hubert_index IS
'Share of pairs on which label and cluster agree, minus the share on which they disagree. The '
'index is (tp + tn - fp - fn) / (tp + fp + fn + tn), which equals 2 rand_score - 1. Range [-1, '
'1], best 1. Special cases: NULL if there are fewer than two rows. Source: Hubert (1977), Nominal '
'scale response agreement as a generalized correlation, doi:10.1111/j.2044-8317.1977.tb00728.x. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.kulczynski_index IS
'Arithmetic mean of pair precision and pair recall. The index is (tp / (tp + fp) + tp / (tp + '
'fn)) / 2. Range [0, 1], best 1. Special cases: NULL if pair_precision or pair_recall is NULL, or '
'if there are no rows. Source: Kulczynski (1927), Die Pflanzenassoziationen der Pieninen. Leave '
'noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.mcnemar_index IS
'Signed square root of McNemar''s statistic, positive if more pairs are split than joined. The '
'index is (fn - fp) / sqrt(fn + fp), which is 0 if fn equals fp. Here, fn counts the split pairs, '
'which have the same label but different clusters, and fp counts the joined pairs, which have the '
'same cluster but different labels. If pairs are split and joined at random, the index '
'approximately follows a standard normal distribution. Range unbounded. Special cases: NULL if '
'the partitions are equal or if there are no rows. Source: McNemar (1947), Note on the sampling '
'error of the difference between correlated proportions or percentages, doi:10.1007/BF02295996. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.phi_index IS
'Correlation between "same label" and "same cluster" over all pairs of rows. The coefficient is '
'(tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (fp + tn) (fn + tn)). It is also known as Hubert''s '
'normalized gamma. Range [-1, 1], best 1. Special cases: NULL if either partition is trivial (a '
'single group, or only singletons) or if there are no rows. Source: Yule (1912), On the methods '
'of measuring association between two attributes, doi:10.2307/2340126. Leave noise out: CASE WHEN '
'cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.correlation_distance IS
'Angle between the two partitions as a fraction of 180 degrees. The correlation distance is '
'arccos(phi_index) / pi, which is a metric on partitions. For random labelings, the expected '
'distance is close to 1/2. Range [0, 1], best 0. Special cases: 0 for equal partitions, even '
'trivial ones. In all other cases, NULL if either partition is trivial (a single group, or only '
'singletons). NULL if there are no rows. Source: Gösgens, Tikhonov and Prokhorenkova (2021), '
'Systematic analysis of cluster similarity indices: how to validate validation measures, '
'https://proceedings.mlr.press/v139/gosgens21a.html. Leave noise out: CASE WHEN cluster <> -1 '
'THEN cluster END.';

COMMENT ON MACRO clustereval.rogers_tanimoto_index IS
'Share of pairs on which label and cluster agree, with disagreements counted twice. The index is '
'(tp + tn) / (tp + tn + 2 (fp + fn)). Range [0, 1], best 1. Special cases: NULL if there are '
'fewer than two rows. Source: Rogers and Tanimoto (1960), A computer program for classifying '
'plants, doi:10.1126/science.132.3434.1115. Leave noise out: CASE WHEN cluster <> -1 THEN cluster '
'END.';

COMMENT ON MACRO clustereval.russell_rao_index IS
'Share of all pairs of rows that have both the same label and the same cluster. The index is tp / '
'(tp + fp + fn + tn). Range [0, 1]. Special cases: NULL if there are fewer than two rows. Source: '
'Russell and Rao (1940), On habitat and association of species of anopheline larvae in '
'south-eastern Madras. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.sokal_sneath_1_index IS
'Jaccard index of pairs of rows, with disagreements between label and cluster counted twice. The '
'index is tp / (tp + 2 (fp + fn)). Range [0, 1], best 1. Special cases: NULL if no pair has the '
'same label or the same cluster, or if there are no rows. Source: Sokal and Sneath (1963), '
'Principles of numerical taxonomy. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.sokal_sneath_2_index IS
'Share of pairs on which label and cluster agree, with agreements counted twice. The index is (tp '
'+ tn) / (tp + tn + (fp + fn) / 2). Range [0, 1], best 1. Special cases: NULL if there are fewer '
'than two rows. Source: Sokal and Sneath (1963), Principles of numerical taxonomy. Leave noise '
'out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.southwood_index IS
'Ratio of pairs that share both label and cluster to pairs that share only one of them. The index '
'is tp / (fp + fn). It equals J / (1 - J), where J is jaccard_index. Range [0, ∞), best high. '
'Special cases: NULL if the partitions are equal or if there are no rows. Source: Southwood '
'(1978), Ecological methods, with particular reference to the study of insect populations, second '
'edition, Chapman and Hall. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.adjusted_fowlkes_mallows_score IS
'Fowlkes-Mallows score corrected for chance. The score is (FM - E) / (1 - E), where FM is the '
'Fowlkes-Mallows score, and E is the expectation of FM for random labelings with the same group '
'sizes. Random labelings have a score of 0 on average. Range up to 1, best 1. Special cases: NULL '
'if either partition is trivial (a single group, or only singletons) or if there are no rows. '
'Source: Hubert and Arabie (1985), Comparing partitions, doi:10.1007/BF01908075. Leave noise out: '
'CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.multinomial_adjusted_rand_score IS
'Rand index corrected for chance, with group sizes that are random too. The score is the adjusted '
'Rand index under a multinomial model (MARI). adjusted_rand_score treats the sizes of labels and '
'clusters as fixed. multinomial_adjusted_rand_score treats these sizes as random too, and its '
'correction is unbiased. Random labelings have a score of 0 on average. Range up to 1, best 1. '
'Special cases: NULL if there are fewer than 4 rows or if the score is 0 / 0. For equal '
'partitions, the score is 0 / 0 if they consist of a single cluster, of singletons only, or of '
'two clusters with two rows each. Source: Sundqvist, Chiquet and Rigaill (2023), Adjusting the '
'adjusted Rand index, doi:10.1007/s00180-022-01230-7. Leave noise out: CASE WHEN cluster <> -1 '
'THEN cluster END.';

COMMENT ON MACRO clustereval.label_entropy IS
'Entropy of the labels in nats. Range [0, ln n]. Special cases: 0 if there is only one label. '
'NULL if there are no rows. Source: Shannon (1948), A mathematical theory of communication, '
'doi:10.1002/j.1538-7305.1948.tb01338.x. Leave noise out: CASE WHEN cluster <> -1 THEN cluster '
'END.';

COMMENT ON MACRO clustereval.cluster_entropy IS
'Entropy of the clusters in nats. Range [0, ln n]. Special cases: 0 if there is only one cluster. '
'NULL if there are no rows. Source: Shannon (1948), A mathematical theory of communication, '
'doi:10.1002/j.1538-7305.1948.tb01338.x. Leave noise out: CASE WHEN cluster <> -1 THEN cluster '
'END.';

COMMENT ON MACRO clustereval.joint_entropy IS
'Joint entropy of labels and clusters, in nats. Range [0, ln n]. Special cases: 0 if there is '
'only one label and only one cluster. NULL if there are no rows. Source: Shannon (1948), A '
'mathematical theory of communication, doi:10.1002/j.1538-7305.1948.tb01338.x. Leave noise out: '
'CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.label_entropy_given_cluster IS
'Conditional entropy of the labels given the clusters, in nats. The entropy of the labels within '
'each cluster is averaged over all clusters, weighted by cluster size. Range [0, label_entropy], '
'best 0. Special cases: 0 if there is only one label. NULL if there are no rows. Source: Shannon '
'(1948), A mathematical theory of communication, doi:10.1002/j.1538-7305.1948.tb01338.x. Leave '
'noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.cluster_entropy_given_label IS
'Conditional entropy of the clusters given the labels, in nats. The entropy of the clusters '
'within each label is averaged over all labels, weighted by label size. Range [0, '
'cluster_entropy], best 0. Special cases: 0 if there is only one cluster. NULL if there are no '
'rows. Source: Shannon (1948), A mathematical theory of communication, '
'doi:10.1002/j.1538-7305.1948.tb01338.x. Leave noise out: CASE WHEN cluster <> -1 THEN cluster '
'END.';

COMMENT ON MACRO clustereval.mutual_info_score IS
'Mutual information of labels and clusters, in nats. Range [0, the smaller entropy]. Special '
'cases: 0 if there is only one label or only one cluster. NULL if there are no rows. Source: '
'Shannon (1948), A mathematical theory of communication, doi:10.1002/j.1538-7305.1948.tb01338.x. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.normalized_mutual_info_score IS
'Mutual information divided by a mean of the label entropy and the cluster entropy. '
'average_method specifies the mean and is one of ''arithmetic'', ''geometric'', ''min'' and '
'''max''. If average_method is ''joint'', the mutual information is divided by the joint entropy '
'instead. For random clusters, this score increases with the number of clusters, but '
'adjusted_mutual_info_score does not. Range [0, 1], best 1. Special cases: 1 for equal '
'partitions, even trivial ones. In all other cases, 0 if there is only one label or only one '
'cluster. NULL if there are no rows. Source: Strehl and Ghosh (2002), Cluster ensembles, JMLR '
'3:583-617. Kvalseth (1987), doi:10.1109/TSMC.1987.4309069. Leave noise out: CASE WHEN cluster <> '
'-1 THEN cluster END.';

COMMENT ON MACRO clustereval.adjusted_mutual_info_score IS
'Normalized mutual information corrected for chance. The score is (MI - E) / (M - E), where MI is '
'the mutual information, E is the expectation of MI for random labelings, and M is a mean of the '
'label entropy and the cluster entropy. average_method specifies the mean and is one of '
'''arithmetic'', ''geometric'', ''min'' and ''max''. Random labelings have a score of 0 on '
'average. Range up to 1, best 1. Special cases: 1 for equal partitions. In all other cases, 0 if '
'there is only one label or only one cluster, and NULL if average_method is ''min'' and all '
'labels or all clusters are singletons, because the score is then 0 / 0. NULL if there are no '
'rows. Source: Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings '
'comparison, JMLR 11:2837-2854. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.expected_mutual_info IS
'Expected mutual information of random labelings with the same group sizes, in nats. The '
'expectation is taken over all permutations of the rows. Range [0, the smaller entropy]. Special '
'cases: 0 if there is only one label or only one cluster. NULL if there are no rows. Source: '
'Vinh, Epps and Bailey (2009), Information theoretic measures for clusterings comparison: is a '
'correction for chance necessary?, doi:10.1145/1553374.1553511. Leave noise out: CASE WHEN '
'cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.homogeneity_score IS
'Share of the label entropy that the clusters explain. Range [0, 1], best 1. Special cases: 1 if '
'no cluster mixes labels, for example if there is only one label. NULL if there are no rows. '
'Source: Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043. Leave noise out: CASE '
'WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.completeness_score IS
'Share of the cluster entropy that the labels explain. Range [0, 1], best 1. Special cases: 1 if '
'no label is split, for example if there is only one cluster. NULL if there are no rows. Source: '
'Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043. Leave noise out: CASE WHEN '
'cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.v_measure_score IS
'Weighted harmonic mean of homogeneity and completeness. The V-measure is (1 + beta) h c / (beta '
'h + c), where h is the homogeneity and c is the completeness. If beta > 1, completeness has more '
'weight than homogeneity. If beta = 1, the score equals normalized_mutual_info_score. Range [0, '
'1], best 1. Special cases: 0 if h = c = 0. NULL if beta = 0, c = 0 and h > 0, or if there are no '
'rows. Source: Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043. Leave noise '
'out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.variation_of_information IS
'Sum of the two conditional entropies, in nats. The variation of information is a metric on '
'partitions. Range [0, ln n], best 0. Special cases: 0 for equal partitions, even trivial ones. '
'NULL if there are no rows. Source: Meila (2007), doi:10.1016/j.jmva.2006.11.013. Leave noise '
'out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.normalized_variation_of_information IS
'Variation of information divided by the joint entropy. The normalized variation of information '
'is a metric on partitions. Range [0, 1], best 0. Special cases: 0 for equal partitions, even '
'trivial ones. NULL if there are no rows. Source: Vinh, Epps and Bailey (2010), Information '
'theoretic measures for clusterings comparison, JMLR 11:2837-2854. Leave noise out: CASE WHEN '
'cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.normalized_information_distance IS
'Share of the larger of the two entropies that labels and clusters do not have in common. The '
'distance is 1 - MI / M, where MI is the mutual information and M is the larger of the two '
'entropies. The normalized information distance is a metric on partitions. Range [0, 1], best 0. '
'Special cases: 0 for equal partitions, even trivial ones. NULL if there are no rows. Source: '
'Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison, JMLR '
'11:2837-2854. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.purity IS
'Share of rows that have the majority label of their cluster. Range (0, 1], best 1. Special '
'cases: 1 if every cluster is a singleton. NULL if there are no rows. Source: Zhao and Karypis '
'(2004), Empirical and theoretical comparisons of selected criterion functions for document '
'clustering, doi:10.1023/B:MACH.0000027785.44527.d6. Leave noise out: CASE WHEN cluster <> -1 '
'THEN cluster END.';

COMMENT ON MACRO clustereval.inverse_purity IS
'Share of rows that are in the majority cluster of their label. Range (0, 1], best 1. Special '
'cases: 1 if there is only one cluster. NULL if there are no rows. Source: Zhao and Karypis '
'(2004), Empirical and theoretical comparisons of selected criterion functions for document '
'clustering, doi:10.1023/B:MACH.0000027785.44527.d6. Leave noise out: CASE WHEN cluster <> -1 '
'THEN cluster END.';

COMMENT ON MACRO clustereval.class_f_measure IS
'For each row, the best F1 score of its label with any cluster, averaged over all rows. The F1 '
'score of a label and a cluster is 2 n / (a + b), where a is the number of rows with the label, b '
'is the number of rows in the cluster, and n is the number of rows in both. Range (0, 1], best 1. '
'Special cases: 1 for equal partitions only. NULL if there are no rows. Source: Larsen and Aone '
'(1999), Fast and effective text mining using linear-time document clustering, '
'doi:10.1145/312129.312186. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.split_join_distance IS
'Number of rows moved to turn one partition into the other, summed over both directions. The '
'distance is 2 n, minus the number of rows with the majority label of their cluster, minus the '
'number of rows in the majority cluster of their label. The split-join distance is a metric on '
'partitions. Range [0, 2 n), best 0. Special cases: 0 for equal partitions only. NULL if there '
'are no rows. Source: van Dongen (2000), Performance criteria for graph clustering and Markov '
'cluster experiments, CWI INS-R0012. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.bcubed_precision IS
'For each row, the share of its cluster that has the same label, averaged over all rows. The row '
'itself counts as part of its cluster. Range (0, 1], best 1. Special cases: 1 if every cluster is '
'a singleton. NULL if there are no rows. Source: Bagga and Baldwin (1998), Algorithms for scoring '
'coreference chains. Amigo, Gonzalo, Artiles and Verdejo (2009), doi:10.1007/s10791-008-9066-8. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.bcubed_recall IS
'For each row, the share of its label''s rows that are in its cluster, averaged over all rows. '
'The row itself counts as one of the rows with its label. Range (0, 1], best 1. Special cases: 1 '
'if there is only one cluster. NULL if there are no rows. Source: Bagga and Baldwin (1998), '
'Algorithms for scoring coreference chains. Amigo, Gonzalo, Artiles and Verdejo (2009), '
'doi:10.1007/s10791-008-9066-8. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.bcubed_f_score IS
'Weighted harmonic mean of B-cubed precision and recall. The F score is (1 + beta^2) P R / '
'(beta^2 P + R), where P is the B-cubed precision and R is the B-cubed recall. If beta > 1, '
'recall has more weight than precision. Range (0, 1], best 1. Special cases: 1 for equal '
'partitions only. NULL if there are no rows. Source: Amigo, Gonzalo, Artiles and Verdejo (2009), '
'A comparison of extrinsic clustering evaluation metrics based on formal constraints, '
'doi:10.1007/s10791-008-9066-8. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.element_centric_similarity IS
'Overlap of each row''s label and cluster relative to the larger one, averaged over all rows. The '
'similarity is (1/n) times the sum of n_ij^2 / max(a_i, b_j) over the cells of the contingency '
'table, where a cell has n_ij rows, its label has a_i rows, and its cluster has b_j rows. For '
'partitions, this formula holds for every value of the parameter alpha of the element-centric '
'similarity. Range (0, 1], best 1. Special cases: 1 for equal partitions only. NULL if there are '
'no rows. Source: Gates, Wood, Hetrick and Ahn (2019), Element-centric clustering comparison '
'unifies overlaps and hierarchy, doi:10.1038/s41598-019-44892-y. Leave noise out: CASE WHEN '
'cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.exact_match_precision IS
'Share of clusters whose rows are exactly the rows of one label. Range [0, 1], best 1. Special '
'cases: 1 for equal partitions only. NULL if there are no rows. Source: Menestrina, Whang and '
'Garcia-Molina (2010), Evaluating entity resolution results, doi:10.14778/1920841.1920871. Leave '
'noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.exact_match_recall IS
'Share of labels whose rows are exactly the rows of one cluster. Range [0, 1], best 1. Special '
'cases: 1 for equal partitions only. NULL if there are no rows. Source: Menestrina, Whang and '
'Garcia-Molina (2010), Evaluating entity resolution results, doi:10.14778/1920841.1920871. Leave '
'noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.exact_match_f_score IS
'Harmonic mean of the precision and recall of exact matches. It is the harmonic mean of '
'exact_match_precision and exact_match_recall. Range [0, 1], best 1. Special cases: 0 if no '
'cluster has the same rows as a label, and 1 only for equal partitions. NULL if there are no '
'rows. Source: Menestrina, Whang and Garcia-Molina (2010), Evaluating entity resolution results, '
'doi:10.14778/1920841.1920871. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.k_measure IS
'Geometric mean of B-cubed precision and recall. B-cubed precision is also called average cluster '
'purity, and B-cubed recall is also called average entity purity. Range (0, 1], best 1. Special '
'cases: 1 for equal partitions only. NULL if there are no rows. Source: Lapidot (2002), '
'Self-organizing-maps with BIC for speaker clustering, IDIAP-RR 02-60. Leave noise out: CASE WHEN '
'cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.closest_cluster_precision IS
'For each cluster, the highest Jaccard index with any label, averaged over all clusters. All '
'clusters have the same weight, regardless of their size. Range (0, 1], best 1. Special cases: 1 '
'for equal partitions only. NULL if there are no rows. Source: Benjelloun, Garcia-Molina, '
'Menestrina, Su, Whang and Widom (2009), Swoosh: a generic approach to entity resolution, '
'doi:10.1007/s00778-008-0098-x. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.closest_cluster_recall IS
'For each label, the highest Jaccard index with any cluster, averaged over all labels. All labels '
'have the same weight, regardless of their size. Range (0, 1], best 1. Special cases: 1 for equal '
'partitions only. NULL if there are no rows. Source: Benjelloun, Garcia-Molina, Menestrina, Su, '
'Whang and Widom (2009), Swoosh: a generic approach to entity resolution, '
'doi:10.1007/s00778-008-0098-x. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.closest_cluster_f_score IS
'Weighted harmonic mean of closest-cluster precision and closest-cluster recall. The score is (1 '
'+ beta^2) P R / (beta^2 P + R), where P is closest_cluster_precision and R is '
'closest_cluster_recall. If beta > 1, recall has more weight than precision. Range (0, 1], best '
'1. Special cases: 1 for equal partitions only. NULL if there are no rows. Source: Benjelloun, '
'Garcia-Molina, Menestrina, Su, Whang and Widom (2009), Swoosh: a generic approach to entity '
'resolution, doi:10.1007/s00778-008-0098-x. Leave noise out: CASE WHEN cluster <> -1 THEN cluster '
'END.';

COMMENT ON MACRO clustereval.talburt_wang_index IS
'Geometric mean of the numbers of labels and clusters, divided by the number of overlaps. The '
'index is sqrt(labels x clusters) / cells, where a cell is a pair of a label and a cluster that '
'have rows in common. Range (0, 1], best 1. Special cases: 1 for equal partitions only. NULL if '
'there are no rows. Source: Talburt, Wang, Hess and Kuo (2007), An algebraic approach to data '
'quality metrics for entity resolution over large datasets, doi:10.4018/978-1-59904-024-0.ch001. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.basic_merge_distance IS
'Number of splits and merges needed to turn the clusters into the labels. The distance is 2 cells '
'- labels - clusters, where these are the numbers of contingency cells, labels and clusters. All '
'splits are made before any merge, so rows with different labels are never merged. Range [0, 2 '
'n), best 0. Special cases: 0 for equal partitions only. NULL if there are no rows. Source: '
'Menestrina, Whang and Garcia-Molina (2010), Evaluating entity resolution results, '
'doi:10.14778/1920841.1920871. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.generalized_merge_distance IS
'Total cost of the splits and merges needed to turn the clusters into the labels. The cost of '
'splitting a cluster into parts of x and y rows, or of merging two clusters of x and y rows, is 1 '
'(''unit''), x · y (''product'') or (x + y) ln(x + y) - x ln x - y ln y (''entropy''). All splits '
'are made before any merge, so rows with different labels are never merged. Neither the order of '
'the splits nor the order of the merges matters. If both costs are ''unit'', the distance is '
'basic_merge_distance. If both costs are ''product'', the distance is fp + fn, which is half of '
'mirkin_metric. If both costs are ''entropy'', the distance is n times variation_of_information. '
'Range [0, ∞), best 0. Special cases: 0 for equal partitions only. NULL if there are no rows. '
'Source: Menestrina, Whang and Garcia-Molina (2010), Evaluating entity resolution results, '
'doi:10.14778/1920841.1920871. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.muc_precision IS
'MUC precision: the share of links within clusters that are correct. The precision is (n - cells) '
'/ (n - clusters), where n, cells and clusters are the numbers of rows, contingency cells and '
'clusters. A cluster of size b is connected by b - 1 links, one of which is wrong for each label '
'beyond the first. Range [0, 1], best 1. Special cases: NULL if all clusters are singletons or if '
'there are no rows. Source: Vilain, Burger, Aberdeen, Connolly and Hirschman (1995), A '
'model-theoretic coreference scoring scheme, doi:10.3115/1072399.1072405. Leave noise out: CASE '
'WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.muc_recall IS
'MUC recall: the share of links within labels that are also within clusters. The recall is (n - '
'cells) / (n - labels), where n, cells and labels are the numbers of rows, contingency cells and '
'labels. A label of size a is connected by a - 1 links, one of which is missing for each cluster '
'beyond the first. Range [0, 1], best 1. Special cases: NULL if all labels are singletons or if '
'there are no rows. Source: Vilain, Burger, Aberdeen, Connolly and Hirschman (1995), A '
'model-theoretic coreference scoring scheme, doi:10.3115/1072399.1072405. Leave noise out: CASE '
'WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.muc_f_score IS
'Weighted harmonic mean of MUC precision and recall. The score is (1 + beta^2) P R / (beta^2 P + '
'R), where P is the precision and R is the recall. If beta > 1, recall has more weight than '
'precision. Range [0, 1], best 1. Special cases: NULL if all labels and all clusters are '
'singletons, if beta is 0 and all clusters are singletons, or if there are no rows. Source: '
'Vilain, Burger, Aberdeen, Connolly and Hirschman (1995), A model-theoretic coreference scoring '
'scheme, doi:10.3115/1072399.1072405. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.lea_precision IS
'LEA precision: the mean share of correct links in a cluster, weighted by cluster size. A link '
'between two rows in the same cluster is correct if the rows have the same label. The shares of '
'correct links are averaged over the clusters, with cluster sizes as weights. The only link of a '
'singleton cluster is the link from its row to itself, which is correct if the label of the row '
'is also a singleton. Range [0, 1], best 1. Special cases: 1 for equal partitions only. NULL if '
'there are no rows. Source: Moosavi and Strube (2016), Which coreference evaluation metric do you '
'trust? A proposal for a link-based entity aware metric, doi:10.18653/v1/P16-1060. Leave noise '
'out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.lea_recall IS
'LEA recall: the mean share of a label''s links that are found, weighted by label size. A link '
'between two rows with the same label is found if the rows are in the same cluster. The shares of '
'found links are averaged over the labels, with label sizes as weights. The only link of a '
'singleton label is the link from its row to itself, which is found if the cluster of the row is '
'also a singleton. Range [0, 1], best 1. Special cases: 1 for equal partitions only. NULL if '
'there are no rows. Source: Moosavi and Strube (2016), Which coreference evaluation metric do you '
'trust? A proposal for a link-based entity aware metric, doi:10.18653/v1/P16-1060. Leave noise '
'out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.lea_f_score IS
'Weighted harmonic mean of LEA precision and recall. The score is (1 + beta^2) P R / (beta^2 P + '
'R), where P is the precision and R is the recall. If beta > 1, recall has more weight than '
'precision. Range [0, 1], best 1. Special cases: 0 if lea_precision and lea_recall are both 0. '
'NULL if there are no rows. Source: Moosavi and Strube (2016), Which coreference evaluation '
'metric do you trust? A proposal for a link-based entity aware metric, doi:10.18653/v1/P16-1060. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.blanc_precision IS
'BLANC precision: the mean precision for pairs that are together and pairs that are apart. The '
'precision is (tp / (tp + fp) + tn / (tn + fn)) / 2. Range [0, 1], best 1. Special cases: 1 for '
'equal partitions only. In all other cases, a fraction that is 0 / 0 counts as 0. NULL if there '
'are no rows. Source: Luo, Pradhan, Recasens and Hovy (2014), An extension of BLANC to system '
'mentions, doi:10.3115/v1/P14-2005. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.blanc_recall IS
'BLANC recall: the mean recall for pairs that are together and pairs that are apart. The recall '
'is (tp / (tp + fn) + tn / (tn + fp)) / 2. Range [0, 1], best 1. Special cases: 1 for equal '
'partitions only. In all other cases, a fraction that is 0 / 0 counts as 0. NULL if there are no '
'rows. Source: Luo, Pradhan, Recasens and Hovy (2014), An extension of BLANC to system mentions, '
'doi:10.3115/v1/P14-2005. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.blanc_f_score IS
'BLANC F score: the mean F score for pairs that are together and pairs that are apart. The F '
'score for pairs that are together combines tp / (tp + fp) with tp / (tp + fn), and the F score '
'for pairs that are apart combines tn / (tn + fn) with tn / (tn + fp). If beta > 1, recall has '
'more weight than precision. Range [0, 1], best 1. Special cases: 1 for equal partitions only. In '
'all other cases, an F score that is 0 / 0 counts as 0. NULL if there are no rows. Source: Luo, '
'Pradhan, Recasens and Hovy (2014), An extension of BLANC to system mentions, '
'doi:10.3115/v1/P14-2005. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.reduced_mutual_info_score IS
'Mutual information minus the information in the contingency table itself, in nats per row. The '
'score is (1/n) ln(n! prod n_ij! / (prod a_i! prod b_j!)) - (1/n) ln(tables), where n_ij are the '
'cells of the contingency table, and tables is the number of contingency tables with the same '
'label sizes a_i and cluster sizes b_j. The number of tables is estimated by the method of '
'Jerdee, Kirkley and Newman. The side (labels or clusters) with more groups forms the rows of the '
'table. The score is negative if the clusters provide less information about the labels than is '
'needed to describe the table. Range unbounded. Special cases: 0 if there is only one label or '
'only one cluster, or if all labels or all clusters are singletons, because the number of tables '
'is known exactly in these cases. NULL if there are no rows. Source: Newman, Cantwell and Young '
'(2020), Improved mutual information measure for clustering, classification, and community '
'detection, doi:10.1103/PhysRevE.101.042304. Jerdee, Kirkley and Newman (2024), Improved '
'estimates for the number of non-negative integer matrices with given row and column sums, '
'doi:10.1098/rspa.2023.0470. Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

COMMENT ON MACRO clustereval.normalized_reduced_mutual_info_score IS
'Reduced mutual information as a share of the information in the labels. The score is '
'reduced_mutual_info_score divided by its value for the labels compared with themselves. A '
'clustering with high entropy therefore has no advantage. Range up to 1, best 1. Special cases: '
'NULL if there is only one label or if all labels are singletons, because the divisor is 0 in '
'these cases. Otherwise, 1 for equal partitions, and NULL if the divisor is not positive. NULL if '
'there are no rows. Source: Jerdee, Kirkley and Newman (2023), Normalized mutual information is a '
'biased measure for classification and community detection, https://arxiv.org/abs/2307.01282. '
'Leave noise out: CASE WHEN cluster <> -1 THEN cluster END.';

---------------------------------------------------------------------------------------------------
-- Lists
---------------------------------------------------------------------------------------------------

-- One row per count of external_report, in its order (place): metric, its name; best, its
-- best value as text, 'high' or 'low' if that is no number, NULL if none is best; meaning, what it
-- measures, in a few words; family, its kind.
CREATE OR REPLACE MACRO clustereval._count_meanings() AS TABLE
  SELECT *
  FROM (VALUES
    (-4, 'n', CAST(NULL AS VARCHAR), 'rows that are scored', 'counts'),
    (-3, 'n_dropped', CAST(NULL AS VARCHAR), 'rows left out: no label or no cluster', 'counts'),
    (-2, 'n_noise', CAST(NULL AS VARCHAR), 'rows whose cluster is noise', 'counts'),
    (-1, 'n_labels', CAST(NULL AS VARCHAR), 'different labels', 'counts'),
    (0, 'n_clusters', CAST(NULL AS VARCHAR), 'different clusters', 'counts')
  ) AS meanings (place, metric, best, meaning, family);

-- One row per partition and count of external_report: partition_key, value, and the columns of
-- _count_meanings. report: rows of _external_report. The report has remarks, a map from names of
-- counts to texts for their meanings.
CREATE OR REPLACE MACRO clustereval._count_values(report) AS TABLE
  SELECT
    scores.partition_key,
    meanings.place,
    meanings.metric,
    CASE meanings.metric
      WHEN 'n' THEN scores.n
      WHEN 'n_dropped' THEN scores.n_dropped
      WHEN 'n_noise' THEN scores.n_noise
      WHEN 'n_labels' THEN scores.n_labels
      WHEN 'n_clusters' THEN scores.n_clusters
    END AS value,
    meanings.best,
    COALESCE(scores.remarks[meanings.metric], meanings.meaning) AS meaning,
    meanings.family
  FROM query_table(report) AS scores
  CROSS JOIN clustereval._count_meanings() AS meanings;

-- One row per metric of external_report, in its order (place): metric, its name; best, its
-- best value as text, 'high' or 'low' if that is no number, NULL if none is best; meaning, what it
-- measures, in a few words; family, its kind.
CREATE OR REPLACE MACRO clustereval._metric_meanings() AS TABLE
  SELECT *
  FROM (VALUES
    (1, 'rand_score', '1', 'share of pairs of rows on which both agree', 'pair counting'),
    (2, 'adjusted_rand_score', '1', 'Rand index corrected for chance: 0 if random',
     'pair counting'),
    (3, 'fowlkes_mallows_score', '1', 'geometric mean of pair precision and recall',
     'pair counting'),
    (4, 'pair_precision', '1', 'share of same-cluster pairs with the same label', 'pair counting'),
    (5, 'pair_recall', '1', 'share of same-label pairs in the same cluster', 'pair counting'),
    (6, 'pair_f_score', '1', 'harmonic mean of pair precision and recall', 'pair counting'),
    (7, 'jaccard_index', '1', 'share of pairs together in either that are in both',
     'pair counting'),
    (8, 'mirkin_metric', '0', 'number of ordered pairs on which the two differ', 'pair counting'),
    (9, 'hubert_index', '1', 'share of pairs that agree minus share that do not', 'pair counting'),
    (10, 'kulczynski_index', '1', 'mean of pair precision and pair recall', 'pair counting'),
    (11, 'mcnemar_index', CAST(NULL AS VARCHAR), 'split pairs minus joined pairs, scaled',
     'pair counting'),
    (12, 'phi_index', '1', 'correlation of same label and same cluster', 'pair counting'),
    (13, 'correlation_distance', '0', 'angle between the partitions; 1 is 180 degrees',
     'pair counting'),
    (14, 'rogers_tanimoto_index', '1', 'share of agreeing pairs; others count twice',
     'pair counting'),
    (15, 'russell_rao_index', CAST(NULL AS VARCHAR), 'share of pairs that are together in both',
     'pair counting'),
    (16, 'sokal_sneath_1_index', '1', 'Jaccard index; disagreements count twice', 'pair counting'),
    (17, 'sokal_sneath_2_index', '1', 'share of agreeing pairs; others count half',
     'pair counting'),
    (18, 'southwood_index', 'high', 'pairs together in both, per pair in only one',
     'pair counting'),
    (19, 'adjusted_fowlkes_mallows_score', '1', 'Fowlkes-Mallows score corrected for chance',
     'pair counting'),
    (20, 'multinomial_adjusted_rand_score', '1', 'adjusted Rand index if group sizes are random',
     'pair counting'),
    (21, 'label_entropy', CAST(NULL AS VARCHAR), 'entropy of the labels, in nats', 'information'),
    (22, 'cluster_entropy', CAST(NULL AS VARCHAR), 'entropy of the clusters, in nats',
     'information'),
    (23, 'joint_entropy', CAST(NULL AS VARCHAR), 'entropy of label and cluster, in nats',
     'information'),
    (24, 'label_entropy_given_cluster', '0', 'how far clusters mix labels, in nats',
     'information'),
    (25, 'cluster_entropy_given_label', '0', 'how far labels are split over clusters, in nats',
     'information'),
    (26, 'mutual_info_score', CAST(NULL AS VARCHAR), 'information that both share, in nats',
     'information'),
    (27, 'normalized_mutual_info_score', '1', 'shared information as a share of the mean entropy',
     'information'),
    (28, 'adjusted_mutual_info_score', '1', 'NMI corrected for chance: 0 if random',
     'information'),
    (29, 'expected_mutual_info', CAST(NULL AS VARCHAR), 'mutual information of random labelings',
     'information'),
    (30, 'homogeneity_score', '1', '1 if no cluster mixes labels', 'information'),
    (31, 'completeness_score', '1', '1 if no label is split', 'information'),
    (32, 'v_measure_score', '1', 'harmonic mean of homogeneity and completeness', 'information'),
    (33, 'variation_of_information', '0', 'information that only one side has, in nats',
     'information'),
    (34, 'normalized_variation_of_information', '0', 'share of joint entropy that is not shared',
     'information'),
    (35, 'normalized_information_distance', '0', 'share of the larger entropy that is not shared',
     'information'),
    (36, 'purity', '1', 'share of rows with their cluster''s majority label', 'set matching'),
    (37, 'inverse_purity', '1', 'share of rows in their label''s majority cluster',
     'set matching'),
    (38, 'class_f_measure', '1', 'best F1 score of each label, weighted by size', 'set matching'),
    (39, 'split_join_distance', '0', 'rows to move to turn one into the other, both ways',
     'set matching'),
    (40, 'bcubed_precision', '1', 'mean share of a row''s cluster that has its label',
     'set matching'),
    (41, 'bcubed_recall', '1', 'mean share of a row''s label that is in its cluster',
     'set matching'),
    (42, 'bcubed_f_score', '1', 'harmonic mean of B-cubed precision and recall', 'set matching'),
    (43, 'element_centric_similarity', '1', 'mean overlap, as a share of the larger group',
     'set matching'),
    (44, 'exact_match_precision', '1', 'share of clusters with exactly the rows of a label',
     'set matching'),
    (45, 'exact_match_recall', '1', 'share of labels with exactly the rows of a cluster',
     'set matching'),
    (46, 'exact_match_f_score', '1', 'harmonic mean of exact match precision and recall',
     'set matching')
  ) AS meanings (place, metric, best, meaning, family);

-- List of the names of the metrics of external_report, in its order, those of _metric_meanings: for
-- checks of options, which are made before a query runs and so read no table.
CREATE OR REPLACE MACRO clustereval._metric_names() AS [
    'rand_score', 'adjusted_rand_score', 'fowlkes_mallows_score', 'pair_precision',
    'pair_recall', 'pair_f_score', 'jaccard_index', 'mirkin_metric', 'hubert_index',
    'kulczynski_index', 'mcnemar_index', 'phi_index', 'correlation_distance',
    'rogers_tanimoto_index', 'russell_rao_index', 'sokal_sneath_1_index',
    'sokal_sneath_2_index', 'southwood_index', 'adjusted_fowlkes_mallows_score',
    'multinomial_adjusted_rand_score', 'label_entropy', 'cluster_entropy',
    'joint_entropy', 'label_entropy_given_cluster', 'cluster_entropy_given_label',
    'mutual_info_score', 'normalized_mutual_info_score', 'adjusted_mutual_info_score',
    'expected_mutual_info', 'homogeneity_score', 'completeness_score', 'v_measure_score',
    'variation_of_information', 'normalized_variation_of_information',
    'normalized_information_distance', 'purity', 'inverse_purity', 'class_f_measure',
    'split_join_distance', 'bcubed_precision', 'bcubed_recall', 'bcubed_f_score',
    'element_centric_similarity', 'exact_match_precision', 'exact_match_recall',
    'exact_match_f_score'
  ];

-- The end of the error about an unknown metric: the metric of external_report that is meant, if its
-- name is an abbreviation or a name in other libraries.
CREATE OR REPLACE MACRO clustereval._metric_hint(metric) AS
  coalesce('; did you mean ''' || CASE regexp_replace(lower(metric), '_score$', '')
    WHEN 'ami' THEN 'adjusted_mutual_info_score'
    WHEN 'ari' THEN 'adjusted_rand_score'
    WHEN 'bcubed' THEN 'bcubed_f_score'
    WHEN 'completeness' THEN 'completeness_score'
    WHEN 'emi' THEN 'expected_mutual_info'
    WHEN 'entropy' THEN 'label_entropy'
    WHEN 'fmi' THEN 'fowlkes_mallows_score'
    WHEN 'homogeneity' THEN 'homogeneity_score'
    WHEN 'jaccard' THEN 'jaccard_index'
    WHEN 'mi' THEN 'mutual_info_score'
    WHEN 'nmi' THEN 'normalized_mutual_info_score'
    WHEN 'nvi' THEN 'normalized_variation_of_information'
    WHEN 'ri' THEN 'rand_score'
    WHEN 'v_measure' THEN 'v_measure_score'
    WHEN 'vi' THEN 'variation_of_information'
  END || '''?', '');

-- One row per partition: all columns of external_report, from the rows of _statistics_of_groups and
-- these options of external_report. A metric whose statistics are NULL is NULL.
CREATE OR REPLACE MACRO clustereval._scores_of_statistics(
  statistics, average_method, beta
) AS TABLE
  SELECT
    partition_key,
    total AS n,
    n_dropped,
    n_noise,
    COALESCE(n_labels, 0) AS n_labels,
    COALESCE(n_clusters, 0) AS n_clusters,
    clustereval._rand_score(tp, fp, fn, tn) AS rand_score,
    clustereval._adjusted_rand_score(tp, fp, fn, tn) AS adjusted_rand_score,
    clustereval._fowlkes_mallows_score(tp, fp, fn, tn) AS fowlkes_mallows_score,
    clustereval._pair_precision(tp, fp, fn, tn) AS pair_precision,
    clustereval._pair_recall(tp, fp, fn, tn) AS pair_recall,
    clustereval._pair_f_score(tp, fp, fn, tn, beta) AS pair_f_score,
    clustereval._jaccard_index(tp, fp, fn, tn) AS jaccard_index,
    clustereval._mirkin_metric(tp, fp, fn, tn) AS mirkin_metric,
    clustereval._hubert_index(tp, fp, fn, tn) AS hubert_index,
    clustereval._kulczynski_index(tp, fp, fn, tn) AS kulczynski_index,
    clustereval._mcnemar_index(tp, fp, fn, tn, fn_minus_fp) AS mcnemar_index,
    clustereval._phi_index(tp, fp, fn, tn) AS phi_index,
    clustereval._correlation_distance(tp, fp, fn, tn) AS correlation_distance,
    clustereval._rogers_tanimoto_index(tp, fp, fn, tn) AS rogers_tanimoto_index,
    clustereval._russell_rao_index(tp, fp, fn, tn) AS russell_rao_index,
    clustereval._sokal_sneath_1_index(tp, fp, fn, tn) AS sokal_sneath_1_index,
    clustereval._sokal_sneath_2_index(tp, fp, fn, tn) AS sokal_sneath_2_index,
    clustereval._southwood_index(tp, fp, fn, tn) AS southwood_index,
    clustereval._adjusted_fowlkes_mallows_score(tp, fp, fn, tn) AS adjusted_fowlkes_mallows_score,
    clustereval._multinomial_adjusted_rand_score(tp, fp, fn, tn, total, links)
      AS multinomial_adjusted_rand_score,
    clustereval._label_entropy(mi, label_entropy_given_cluster) AS label_entropy,
    clustereval._cluster_entropy(mi, cluster_entropy_given_label) AS cluster_entropy,
    clustereval._joint_entropy(mi, label_entropy_given_cluster, cluster_entropy_given_label)
      AS joint_entropy,
    clustereval._label_entropy_given_cluster(label_entropy_given_cluster)
      AS label_entropy_given_cluster,
    clustereval._cluster_entropy_given_label(cluster_entropy_given_label)
      AS cluster_entropy_given_label,
    clustereval._mutual_info_score(mi) AS mutual_info_score,
    clustereval._normalized_mutual_info_score(
      mi, label_entropy_given_cluster, cluster_entropy_given_label, average_method
    ) AS normalized_mutual_info_score,
    clustereval._adjusted_mutual_info_score(
      mi, label_entropy_given_cluster, cluster_entropy_given_label, emi,
      expected_label_entropy_given_cluster, expected_cluster_entropy_given_label,
      average_method
    ) AS adjusted_mutual_info_score,
    clustereval._expected_mutual_info(emi) AS expected_mutual_info,
    clustereval._homogeneity_score(mi, label_entropy_given_cluster, cluster_entropy_given_label)
      AS homogeneity_score,
    clustereval._completeness_score(mi, label_entropy_given_cluster, cluster_entropy_given_label)
      AS completeness_score,
    clustereval._v_measure_score(
      mi, label_entropy_given_cluster, cluster_entropy_given_label, beta
    ) AS v_measure_score,
    clustereval._variation_of_information(label_entropy_given_cluster, cluster_entropy_given_label)
      AS variation_of_information,
    clustereval._normalized_variation_of_information(
      mi, label_entropy_given_cluster, cluster_entropy_given_label
    ) AS normalized_variation_of_information,
    clustereval._normalized_information_distance(
      mi, label_entropy_given_cluster, cluster_entropy_given_label
    ) AS normalized_information_distance,
    clustereval._purity(in_majority_labels, total) AS purity,
    clustereval._inverse_purity(in_majority_clusters, total) AS inverse_purity,
    clustereval._class_f_measure(matched_rows, total) AS class_f_measure,
    clustereval._split_join_distance(total, in_majority_clusters, in_majority_labels)
      AS split_join_distance,
    clustereval._bcubed_precision(precision_rows, total) AS bcubed_precision,
    clustereval._bcubed_recall(recall_rows, total) AS bcubed_recall,
    clustereval._bcubed_f_score(precision_rows, recall_rows, total, beta) AS bcubed_f_score,
    clustereval._element_centric_similarity(similar_rows, total) AS element_centric_similarity,
    clustereval._exact_match_precision(exact_matches, n_clusters) AS exact_match_precision,
    clustereval._exact_match_recall(exact_matches, n_labels) AS exact_match_recall,
    clustereval._exact_match_f_score(exact_matches, n_labels, n_clusters) AS exact_match_f_score
  FROM query_table(statistics);

-- One row per partition: all columns of entity_resolution_report, from the rows of
-- _resolution_statistics_of_groups and these options of entity_resolution_report. A metric whose
-- statistics are NULL is NULL.
CREATE OR REPLACE MACRO clustereval._resolution_scores(
  statistics, split_cost, merge_cost, beta
) AS TABLE
  SELECT
    partition_key,
    total AS n,
    n_dropped,
    n_noise,
    COALESCE(n_labels, 0) AS n_labels,
    COALESCE(n_clusters, 0) AS n_clusters,
    clustereval._pair_precision(tp, fp, fn, tn) AS pair_precision,
    clustereval._pair_recall(tp, fp, fn, tn) AS pair_recall,
    clustereval._pair_f_score(tp, fp, fn, tn, beta) AS pair_f_score,
    clustereval._bcubed_precision(precision_rows, total) AS bcubed_precision,
    clustereval._bcubed_recall(recall_rows, total) AS bcubed_recall,
    clustereval._bcubed_f_score(precision_rows, recall_rows, total, beta) AS bcubed_f_score,
    clustereval._k_measure(precision_rows, recall_rows, total) AS k_measure,
    clustereval._exact_match_precision(exact_matches, n_clusters) AS exact_match_precision,
    clustereval._exact_match_recall(exact_matches, n_labels) AS exact_match_recall,
    clustereval._exact_match_f_score(exact_matches, n_labels, n_clusters) AS exact_match_f_score,
    clustereval._closest_cluster_precision(closest_clusters, n_clusters)
      AS closest_cluster_precision,
    clustereval._closest_cluster_recall(closest_labels, n_labels) AS closest_cluster_recall,
    clustereval._closest_cluster_f_score(
      closest_clusters, n_clusters, closest_labels, n_labels, beta
    ) AS closest_cluster_f_score,
    clustereval._talburt_wang_index(n_labels, n_clusters, n_cells) AS talburt_wang_index,
    clustereval._basic_merge_distance(n_labels, n_clusters, n_cells) AS basic_merge_distance,
    clustereval._generalized_merge_distance(
      n_labels, n_clusters, n_cells, fp, fn, label_entropy_given_cluster,
      cluster_entropy_given_label, total, split_cost, merge_cost
    ) AS generalized_merge_distance,
    clustereval._muc_precision(total, n_cells, n_labels, n_clusters) AS muc_precision,
    clustereval._muc_recall(total, n_cells, n_labels, n_clusters) AS muc_recall,
    clustereval._muc_f_score(total, n_cells, n_labels, n_clusters, beta) AS muc_f_score,
    clustereval._lea_precision(lea_precision_rows, total) AS lea_precision,
    clustereval._lea_recall(lea_recall_rows, total) AS lea_recall,
    clustereval._lea_f_score(lea_precision_rows, lea_recall_rows, total, beta) AS lea_f_score,
    clustereval._blanc_precision(tp, fp, fn, tn) AS blanc_precision,
    clustereval._blanc_recall(tp, fp, fn, tn) AS blanc_recall,
    clustereval._blanc_f_score(tp, fp, fn, tn, beta) AS blanc_f_score,
    clustereval._element_centric_similarity(similar_rows, total) AS element_centric_similarity,
    clustereval._correlation_distance(tp, fp, fn, tn) AS correlation_distance,
    reduced AS reduced_mutual_info_score,
    clustereval._normalized_reduced_mutual_info_score(
      reduced, total, n_labels, mi, label_entropy_given_cluster,
      cluster_entropy_given_label, label_remainders, label_tables, label_factorials,
      label_excess
    ) AS normalized_reduced_mutual_info_score
  FROM query_table(statistics);

-- One row per partition and metric of external_report: partition_key, value, and the columns of
-- _metric_meanings. report: rows of _external_report. Without adjusted, the two metrics are left
-- out that need the expected mutual information.
CREATE OR REPLACE MACRO clustereval._metric_values(report, adjusted) AS TABLE
  SELECT
    scores.partition_key,
    meanings.place,
    meanings.metric,
    CASE meanings.metric
      WHEN 'rand_score' THEN scores.rand_score
      WHEN 'adjusted_rand_score' THEN scores.adjusted_rand_score
      WHEN 'fowlkes_mallows_score' THEN scores.fowlkes_mallows_score
      WHEN 'pair_precision' THEN scores.pair_precision
      WHEN 'pair_recall' THEN scores.pair_recall
      WHEN 'pair_f_score' THEN scores.pair_f_score
      WHEN 'jaccard_index' THEN scores.jaccard_index
      WHEN 'mirkin_metric' THEN scores.mirkin_metric
      WHEN 'hubert_index' THEN scores.hubert_index
      WHEN 'kulczynski_index' THEN scores.kulczynski_index
      WHEN 'mcnemar_index' THEN scores.mcnemar_index
      WHEN 'phi_index' THEN scores.phi_index
      WHEN 'correlation_distance' THEN scores.correlation_distance
      WHEN 'rogers_tanimoto_index' THEN scores.rogers_tanimoto_index
      WHEN 'russell_rao_index' THEN scores.russell_rao_index
      WHEN 'sokal_sneath_1_index' THEN scores.sokal_sneath_1_index
      WHEN 'sokal_sneath_2_index' THEN scores.sokal_sneath_2_index
      WHEN 'southwood_index' THEN scores.southwood_index
      WHEN 'adjusted_fowlkes_mallows_score' THEN scores.adjusted_fowlkes_mallows_score
      WHEN 'multinomial_adjusted_rand_score' THEN scores.multinomial_adjusted_rand_score
      WHEN 'label_entropy' THEN scores.label_entropy
      WHEN 'cluster_entropy' THEN scores.cluster_entropy
      WHEN 'joint_entropy' THEN scores.joint_entropy
      WHEN 'label_entropy_given_cluster' THEN scores.label_entropy_given_cluster
      WHEN 'cluster_entropy_given_label' THEN scores.cluster_entropy_given_label
      WHEN 'mutual_info_score' THEN scores.mutual_info_score
      WHEN 'normalized_mutual_info_score' THEN scores.normalized_mutual_info_score
      WHEN 'adjusted_mutual_info_score' THEN scores.adjusted_mutual_info_score
      WHEN 'expected_mutual_info' THEN scores.expected_mutual_info
      WHEN 'homogeneity_score' THEN scores.homogeneity_score
      WHEN 'completeness_score' THEN scores.completeness_score
      WHEN 'v_measure_score' THEN scores.v_measure_score
      WHEN 'variation_of_information' THEN scores.variation_of_information
      WHEN 'normalized_variation_of_information' THEN scores.normalized_variation_of_information
      WHEN 'normalized_information_distance' THEN scores.normalized_information_distance
      WHEN 'purity' THEN scores.purity
      WHEN 'inverse_purity' THEN scores.inverse_purity
      WHEN 'class_f_measure' THEN scores.class_f_measure
      WHEN 'split_join_distance' THEN scores.split_join_distance
      WHEN 'bcubed_precision' THEN scores.bcubed_precision
      WHEN 'bcubed_recall' THEN scores.bcubed_recall
      WHEN 'bcubed_f_score' THEN scores.bcubed_f_score
      WHEN 'element_centric_similarity' THEN scores.element_centric_similarity
      WHEN 'exact_match_precision' THEN scores.exact_match_precision
      WHEN 'exact_match_recall' THEN scores.exact_match_recall
      WHEN 'exact_match_f_score' THEN scores.exact_match_f_score
    END AS value,
    meanings.best,
    meanings.meaning AS meaning,
    meanings.family
  FROM query_table(report) AS scores
  CROSS JOIN clustereval._metric_meanings() AS meanings
  WHERE adjusted
    OR meanings.metric NOT IN ('adjusted_mutual_info_score', 'expected_mutual_info');

-- One row per point_count of internal_report, in its order (place): metric, its name; best, its
-- best value as text, 'high' or 'low' if that is no number, NULL if none is best; meaning, what it
-- measures, in a few words; family, its kind.
CREATE OR REPLACE MACRO clustereval._point_count_meanings() AS TABLE
  SELECT *
  FROM (VALUES
    (-5, 'n', CAST(NULL AS VARCHAR), 'points that are scored', 'counts'),
    (-4, 'n_dropped', CAST(NULL AS VARCHAR), 'rows left out: no vector or no cluster', 'counts'),
    (-3, 'n_noise', CAST(NULL AS VARCHAR), 'points whose cluster is noise', 'counts'),
    (-2, 'n_dims', CAST(NULL AS VARCHAR), 'coordinates of a point', 'counts'),
    (-1, 'n_clusters', CAST(NULL AS VARCHAR), 'clusters, including those of one point', 'counts'),
    (0, 'n_singletons', CAST(NULL AS VARCHAR), 'clusters of one point', 'counts')
  ) AS meanings (place, metric, best, meaning, family);

-- One row per partition and point_count of internal_report: partition_key, value, and the columns
-- of _point_count_meanings. report: rows of _internal_report. The report has remarks, a map from
-- names of counts to texts for their meanings.
CREATE OR REPLACE MACRO clustereval._point_count_values(report) AS TABLE
  SELECT
    scores.partition_key,
    meanings.place,
    meanings.metric,
    CASE meanings.metric
      WHEN 'n' THEN scores.n
      WHEN 'n_dropped' THEN scores.n_dropped
      WHEN 'n_noise' THEN scores.n_noise
      WHEN 'n_dims' THEN scores.n_dims
      WHEN 'n_clusters' THEN scores.n_clusters
      WHEN 'n_singletons' THEN scores.n_singletons
    END AS value,
    meanings.best,
    COALESCE(scores.remarks[meanings.metric], meanings.meaning) AS meaning,
    meanings.family
  FROM query_table(report) AS scores
  CROSS JOIN clustereval._point_count_meanings() AS meanings;

-- One row per index of internal_report, in its order (place): metric, its name; best, its
-- best value as text, 'high' or 'low' if that is no number, NULL if none is best; meaning, what it
-- measures, in a few words; family, its kind.
CREATE OR REPLACE MACRO clustereval._index_meanings() AS TABLE
  SELECT *
  FROM (VALUES
    (1, 'ssw', 'low', 'squared distances of points to own centroid', 'sums of squares'),
    (2, 'ssb', 'high', 'squared distances of centroids to overall one', 'sums of squares'),
    (3, 'sst', CAST(NULL AS VARCHAR), 'sum of squares within plus between clusters',
     'sums of squares'),
    (4, 'explained_variance', '1', 'between-cluster share of the sum of squares',
     'sums of squares'),
    (5, 'compactness', 'low', 'mean distance to own centroid, over clusters', 'centers'),
    (6, 'separation', 'high', 'mean distance between two centroids', 'centers'),
    (7, 'calinski_harabasz_score', 'high', 'variance between clusters / variance within',
     'centers'),
    (8, 'davies_bouldin_score', 'low', 'cluster widths / gap to the worst neighbor', 'centers'),
    (9, 'ball_hall_index', 'low', 'mean squared distance, averaged over clusters', 'centers'),
    (10, 'banfield_raftery_index', 'low', 'log mean squared distance, summed over points',
     'centers'),
    (11, 'log_ss_ratio', 'high', 'log of sums of squares between / within', 'centers'),
    (12, 'pbm_index', 'high', 'largest centroid gap / cluster width, squared', 'centers'),
    (13, 'ratkowsky_lance_index', 'high', 'root of explained variance by coordinate, per k',
     'centers'),
    (14, 'ray_turi_index', 'low', 'mean squared distance / smallest squared gap', 'centers'),
    (15, 'xie_beni_index', 'low', 'mean squared distance / smallest squared gap', 'centers'),
    (16, 'sd_scattering', 'low', 'variance within clusters / overall variance', 'centers'),
    (17, 'sd_separation', 'low', 'closeness and uneven spacing of centroids', 'centers')
  ) AS meanings (place, metric, best, meaning, family);

-- One row per partition and index of internal_report: partition_key, value, and the columns of
-- _index_meanings. report: rows of _internal_report.
CREATE OR REPLACE MACRO clustereval._index_values(report) AS TABLE
  SELECT
    scores.partition_key,
    meanings.place,
    meanings.metric,
    CASE meanings.metric
      WHEN 'ssw' THEN scores.ssw
      WHEN 'ssb' THEN scores.ssb
      WHEN 'sst' THEN scores.sst
      WHEN 'explained_variance' THEN scores.explained_variance
      WHEN 'compactness' THEN scores.compactness
      WHEN 'separation' THEN scores.separation
      WHEN 'calinski_harabasz_score' THEN scores.calinski_harabasz_score
      WHEN 'davies_bouldin_score' THEN scores.davies_bouldin_score
      WHEN 'ball_hall_index' THEN scores.ball_hall_index
      WHEN 'banfield_raftery_index' THEN scores.banfield_raftery_index
      WHEN 'log_ss_ratio' THEN scores.log_ss_ratio
      WHEN 'pbm_index' THEN scores.pbm_index
      WHEN 'ratkowsky_lance_index' THEN scores.ratkowsky_lance_index
      WHEN 'ray_turi_index' THEN scores.ray_turi_index
      WHEN 'xie_beni_index' THEN scores.xie_beni_index
      WHEN 'sd_scattering' THEN scores.sd_scattering
      WHEN 'sd_separation' THEN scores.sd_separation
    END AS value,
    meanings.best,
    meanings.meaning AS meaning,
    meanings.family
  FROM query_table(report) AS scores
  CROSS JOIN clustereval._index_meanings() AS meanings;

-- The least value that a metric of external_report can have, NULL if there is none.
CREATE OR REPLACE MACRO clustereval._least_value(metric) AS
  CASE
    WHEN metric IN (
      'adjusted_rand_score'
    )
    THEN -0.5
    WHEN metric IN (
      'hubert_index', 'phi_index'
    )
    THEN -1.0
    WHEN metric IN (
      'mcnemar_index', 'adjusted_fowlkes_mallows_score',
      'multinomial_adjusted_rand_score', 'adjusted_mutual_info_score'
    )
    THEN NULL
    ELSE 0.0
  END;

-- The greatest value that a metric of external_report can have for n rows, NULL if there is none.
CREATE OR REPLACE MACRO clustereval._greatest_value(metric, n) AS
  CASE
    WHEN metric IN (
      'mirkin_metric'
    )
    THEN CAST(n AS DOUBLE) * (n - 1)
    WHEN metric IN (
      'mcnemar_index', 'southwood_index'
    )
    THEN NULL
    WHEN metric IN (
      'label_entropy', 'cluster_entropy', 'joint_entropy', 'label_entropy_given_cluster',
      'cluster_entropy_given_label', 'mutual_info_score', 'expected_mutual_info',
      'variation_of_information'
    )
    THEN ln(n)
    WHEN metric IN (
      'split_join_distance'
    )
    THEN 2 * n
    ELSE 1.0
  END;
