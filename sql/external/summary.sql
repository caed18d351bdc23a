-- summary: the external metrics one below the other, for reading.

-- One row per metric of external_report, in its order (__ce_place): __ce_metric, its name;
-- __ce_best, its best value as text, 'high' or 'low' if that is no number, NULL if none is best;
-- __ce_meaning, what it measures, in a few words.
CREATE OR REPLACE MACRO clustereval._metric_meanings() AS TABLE
  SELECT *
  FROM (VALUES
    (1, 'rand_score', '1', 'pairs of rows on which both agree'),
    (2, 'adjusted_rand_score', '1', 'Rand index corrected for chance: 0 if random'),
    (3, 'fowlkes_mallows_score', '1', 'geometric mean of pair precision, recall'),
    (4, 'pair_precision', '1', 'pairs in one cluster that have one label'),
    (5, 'pair_recall', '1', 'pairs of one label that are in one cluster'),
    (6, 'pair_f_score', '1', 'harmonic mean of pair precision, recall'),
    (7, 'jaccard_index', '1', 'pairs together in both, of those in either'),
    (8, 'mirkin_metric', '0', 'ordered pairs of rows on which they differ'),
    (9, 'hubert_index', '1', 'pairs that agree minus pairs that differ'),
    (10, 'kulczynski_index', '1', 'mean of pair precision and pair recall'),
    (11, 'mcnemar_index', CAST(NULL AS VARCHAR), 'split pairs minus joined pairs, scaled'),
    (12, 'phi_index', '1', 'correlation of being together in each'),
    (13, 'correlation_distance', '0', 'angle between the partitions, of a half turn'),
    (14, 'rogers_tanimoto_index', '1', 'pairs that agree; differing ones double'),
    (15, 'russell_rao_index', CAST(NULL AS VARCHAR), 'pairs together in both, of all'),
    (16, 'sokal_sneath_1_index', '1', 'Jaccard index; differing pairs double'),
    (17, 'sokal_sneath_2_index', '1', 'pairs that agree; differing ones half'),
    (18, 'southwood_index', 'high', 'pairs together in both per pair in one only'),
    (19, 'adjusted_fowlkes_mallows_score', '1', 'Fowlkes-Mallows score corrected for chance'),
    (20, 'multinomial_adjusted_rand_score', '1', 'Rand index corrected where labels are a sample'),
    (21, 'label_entropy', CAST(NULL AS VARCHAR), 'entropy of the labels, in nats'),
    (22, 'cluster_entropy', CAST(NULL AS VARCHAR), 'entropy of the clusters, in nats'),
    (23, 'joint_entropy', CAST(NULL AS VARCHAR), 'entropy of label and cluster, in nats'),
    (24, 'label_entropy_given_cluster', '0', 'labels mixed in clusters, in nats'),
    (25, 'cluster_entropy_given_label', '0', 'labels split over clusters, in nats'),
    (26, 'mutual_info_score', CAST(NULL AS VARCHAR), 'information that both share, in nats'),
    (27, 'normalized_mutual_info_score', '1', 'shared information over the mean entropy'),
    (28, 'adjusted_mutual_info_score', '1', 'NMI corrected for chance: 0 if random'),
    (29, 'expected_mutual_info', CAST(NULL AS VARCHAR), 'mutual information of random labelings'),
    (30, 'homogeneity_score', '1', '1 if no cluster mixes labels'),
    (31, 'completeness_score', '1', '1 if no label is split'),
    (32, 'v_measure_score', '1', 'mean of homogeneity and completeness'),
    (33, 'variation_of_information', '0', 'information that only one has, in nats'),
    (34, 'normalized_variation_of_information', '0', 'variation of information over joint entropy'),
    (35, 'normalized_information_distance', '0', '1 - shared information over greater entropy'),
    (36, 'purity', '1', 'rows with the majority label of their cluster'),
    (37, 'inverse_purity', '1', 'rows in the majority cluster of their label'),
    (38, 'class_f_measure', '1', 'best F1 score of any cluster for each label'),
    (39, 'split_join_distance', '0', 'rows to move to make one out of the other'),
    (40, 'bcubed_precision', '1', 'of a row''s cluster, the share with its label'),
    (41, 'bcubed_recall', '1', 'of a row''s label, the share in its cluster'),
    (42, 'bcubed_f_score', '1', 'harmonic mean of B-cubed precision, recall'),
    (43, 'element_centric_similarity', '1', 'overlap over the larger of label and cluster'),
    (44, 'exact_match_precision', '1', 'clusters that equal a label, row for row'),
    (45, 'exact_match_recall', '1', 'labels that equal a cluster, row for row'),
    (46, 'exact_match_f_score', '1', 'harmonic mean of exact match precision, recall')
  ) AS meanings (__ce_place, __ce_metric, __ce_best, __ce_meaning);

-- List of the names of the metrics of external_report, in its order, those of _metric_meanings: for
-- checks of options, which are made before a query runs and so read no table.
CREATE OR REPLACE MACRO clustereval._metric_names() AS [
    'rand_score', 'adjusted_rand_score', 'fowlkes_mallows_score', 'pair_precision',
    'pair_recall', 'pair_f_score', 'jaccard_index', 'mirkin_metric', 'hubert_index',
    'kulczynski_index', 'mcnemar_index', 'phi_index', 'correlation_distance',
    'rogers_tanimoto_index', 'russell_rao_index', 'sokal_sneath_1_index',
    'sokal_sneath_2_index', 'southwood_index', 'adjusted_fowlkes_mallows_score',
    'multinomial_adjusted_rand_score', 'label_entropy', 'cluster_entropy', 'joint_entropy',
    'label_entropy_given_cluster', 'cluster_entropy_given_label', 'mutual_info_score',
    'normalized_mutual_info_score', 'adjusted_mutual_info_score', 'expected_mutual_info',
    'homogeneity_score', 'completeness_score', 'v_measure_score', 'variation_of_information',
    'normalized_variation_of_information', 'normalized_information_distance', 'purity',
    'inverse_purity', 'class_f_measure', 'split_join_distance', 'bcubed_precision',
    'bcubed_recall', 'bcubed_f_score', 'element_centric_similarity', 'exact_match_precision',
    'exact_match_recall', 'exact_match_f_score'
  ];

-- One row per partition and metric of external_report: __ce_partition, __ce_value, its value, and
-- the columns of _metric_meanings. __ce_report is the name of a CTE of the rows of
-- _external_report. Without adjusted, the two metrics are left out that need the expected mutual
-- information.
CREATE OR REPLACE MACRO clustereval._metric_values(__ce_report, adjusted) AS TABLE
  SELECT
    report.partition_key AS __ce_partition,
    meanings.__ce_place,
    meanings.__ce_metric,
    CASE meanings.__ce_metric
      WHEN 'rand_score' THEN report.rand_score
      WHEN 'adjusted_rand_score' THEN report.adjusted_rand_score
      WHEN 'fowlkes_mallows_score' THEN report.fowlkes_mallows_score
      WHEN 'pair_precision' THEN report.pair_precision
      WHEN 'pair_recall' THEN report.pair_recall
      WHEN 'pair_f_score' THEN report.pair_f_score
      WHEN 'jaccard_index' THEN report.jaccard_index
      WHEN 'mirkin_metric' THEN report.mirkin_metric
      WHEN 'hubert_index' THEN report.hubert_index
      WHEN 'kulczynski_index' THEN report.kulczynski_index
      WHEN 'mcnemar_index' THEN report.mcnemar_index
      WHEN 'phi_index' THEN report.phi_index
      WHEN 'correlation_distance' THEN report.correlation_distance
      WHEN 'rogers_tanimoto_index' THEN report.rogers_tanimoto_index
      WHEN 'russell_rao_index' THEN report.russell_rao_index
      WHEN 'sokal_sneath_1_index' THEN report.sokal_sneath_1_index
      WHEN 'sokal_sneath_2_index' THEN report.sokal_sneath_2_index
      WHEN 'southwood_index' THEN report.southwood_index
      WHEN 'adjusted_fowlkes_mallows_score' THEN report.adjusted_fowlkes_mallows_score
      WHEN 'multinomial_adjusted_rand_score' THEN report.multinomial_adjusted_rand_score
      WHEN 'label_entropy' THEN report.label_entropy
      WHEN 'cluster_entropy' THEN report.cluster_entropy
      WHEN 'joint_entropy' THEN report.joint_entropy
      WHEN 'label_entropy_given_cluster' THEN report.label_entropy_given_cluster
      WHEN 'cluster_entropy_given_label' THEN report.cluster_entropy_given_label
      WHEN 'mutual_info_score' THEN report.mutual_info_score
      WHEN 'normalized_mutual_info_score' THEN report.normalized_mutual_info_score
      WHEN 'adjusted_mutual_info_score' THEN report.adjusted_mutual_info_score
      WHEN 'expected_mutual_info' THEN report.expected_mutual_info
      WHEN 'homogeneity_score' THEN report.homogeneity_score
      WHEN 'completeness_score' THEN report.completeness_score
      WHEN 'v_measure_score' THEN report.v_measure_score
      WHEN 'variation_of_information' THEN report.variation_of_information
      WHEN 'normalized_variation_of_information' THEN report.normalized_variation_of_information
      WHEN 'normalized_information_distance' THEN report.normalized_information_distance
      WHEN 'purity' THEN report.purity
      WHEN 'inverse_purity' THEN report.inverse_purity
      WHEN 'class_f_measure' THEN report.class_f_measure
      WHEN 'split_join_distance' THEN report.split_join_distance
      WHEN 'bcubed_precision' THEN report.bcubed_precision
      WHEN 'bcubed_recall' THEN report.bcubed_recall
      WHEN 'bcubed_f_score' THEN report.bcubed_f_score
      WHEN 'element_centric_similarity' THEN report.element_centric_similarity
      WHEN 'exact_match_precision' THEN report.exact_match_precision
      WHEN 'exact_match_recall' THEN report.exact_match_recall
      WHEN 'exact_match_f_score' THEN report.exact_match_f_score
    END AS __ce_value,
    meanings.__ce_best,
    meanings.__ce_meaning
  FROM query_table(__ce_report) AS report
  CROSS JOIN clustereval._metric_meanings() AS meanings
  WHERE adjusted
    OR meanings.__ce_metric NOT IN ('adjusted_mutual_info_score', 'expected_mutual_info');

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- The metrics of external_report in long form: one row per partition and metric, with
-- partition_key, metric (its name), value, best (its best value as text: a number, 'high' or 'low';
-- NULL if none is best) and meaning (what it measures, in a few words). The order is that of
-- external_report. All parameters are those of external_report.
-- Examples:
--   FROM clustereval.external_summary(assignments, species, cluster);
--   SELECT metric, value
--   FROM clustereval.external_summary(assignments, species, cluster, adjusted := FALSE);
CREATE OR REPLACE MACRO clustereval.external_summary(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  average_method := 'arithmetic', beta := 1.0, adjusted := TRUE
) AS TABLE
  WITH __ce_report AS (
    SELECT *
    FROM clustereval._external_report(
      tbl, label, cluster, weight, partition_by, noise, noise_as, average_method, beta, adjusted
    )
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_metric AS metric,
    __ce_value AS value,
    __ce_best AS best,
    __ce_meaning AS meaning
  FROM clustereval._metric_values(__ce_report, adjusted)
  WHERE clustereval._check_options(
    clustereval._valid_external_options(noise, noise_as, average_method, beta, adjusted)
  )
  ORDER BY __ce_partition ASC NULLS LAST, __ce_place ASC NULLS LAST;
COMMENT ON MACRO TABLE clustereval.external_summary IS
'The metrics of external_report in long form, one row per partition and metric: metric, its name; '
'value; best, its best value as text (a number, ''high'' or ''low'', NULL if none is best); '
'meaning, what it measures in a few words. The parameters are those of external_report.';
