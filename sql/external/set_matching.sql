-- set_matching: indices that match clusters with labels, and records with the records beside them.

---------------------------------------------------------------------------------------------------
-- Formulas
---------------------------------------------------------------------------------------------------

-- Weighted harmonic mean of precision and recall; beta > 1 weighs recall more.
CREATE OR REPLACE MACRO clustereval._f_score(precision_, recall_, beta) AS
  CASE
    WHEN precision_ + recall_ = 0 THEN 0.0
    ELSE clustereval._ratio(
      (1.0 + beta * beta) * precision_ * recall_, beta * beta * precision_ + recall_
    )
  END;

-- How well a label of a rows and a cluster of b rows match that share n rows.
CREATE OR REPLACE MACRO clustereval._match_score(n, a, b) AS clustereval._ratio(2 * n, a + b);

-- Rows that must move to turn one partition into the other: those outside the majorities.
CREATE OR REPLACE MACRO clustereval._split_join_distance(n, in_majority_clusters, in_majority_labels) AS
  CAST(2 * n - in_majority_clusters - in_majority_labels AS DOUBLE);

-- One row a partition: rows weighted by the best match of their label.
CREATE OR REPLACE MACRO clustereval._match_totals(__ce_sized_cells) AS TABLE
  WITH __ce_best AS (
    SELECT __ce_partition, MAX(__ce_a) * MAX(clustereval._match_score(__ce_n, __ce_a, __ce_b)) AS __ce_rows
    FROM query_table(__ce_sized_cells)
    GROUP BY __ce_partition, __ce_label
  )
  SELECT __ce_partition, clustereval._compensated_sum(__ce_rows) AS __ce_matched
  FROM __ce_best
  GROUP BY __ce_partition;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every record: the share of its cluster, and of its label, that lies with it in both.
-- Examples:
--   FROM clustereval.bcubed_samples(assignments, species, cluster, flower);
CREATE OR REPLACE MACRO clustereval.bcubed_samples(
  tbl, label, cluster, id := CAST(NULL AS BIGINT), partition_by := NULL, noise := NULL,
  noise_as := 'cluster'
) AS TABLE
  WITH __ce_rows AS (
    SELECT
      partition_by AS __ce_partition,
      label AS __ce_label,
      cluster AS __ce_cluster,
      id AS __ce_id,
      clustereval._is_default_id(id) AS __ce_unnamed,
      CAST(ROW_NUMBER() OVER () - 1 AS BIGINT) AS __ce_number
    FROM query_table(tbl)
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, CAST(COUNT(*) AS BIGINT)
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_column(
      clustereval._check_column(
        clustereval._check_columns(clustereval._is_absent(label), label, cluster), 'id', id
      ),
      'partition_by', partition_by
    )
  ),
  __ce_flagged AS (
    SELECT
      *,
      clustereval._check_noise(
        clustereval._is_noise(__ce_cluster, noise), noise, __ce_cluster
      ) AS __ce_noisy
    FROM __ce_rows
    WHERE __ce_label IS NOT NULL AND __ce_cluster IS NOT NULL
  ),
  __ce_kept AS (
    SELECT *, __ce_noisy AND noise_as = 'singletons' AS __ce_alone
    FROM __ce_flagged
    WHERE NOT (__ce_noisy AND noise_as = 'drop')
  ),
  __ce_counted AS (
    SELECT
      *,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_label) AS __ce_a,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_cluster) AS __ce_b,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_label, __ce_cluster) AS __ce_n
    FROM __ce_kept
  )
  SELECT
    __ce_partition AS partition_key,
    clustereval._row_id(__ce_id, __ce_number, __ce_unnamed) AS id,
    __ce_label AS label,
    CASE WHEN __ce_alone THEN NULL ELSE __ce_cluster END AS cluster,
    CASE WHEN __ce_alone THEN 1.0 ELSE clustereval._ratio(__ce_n, __ce_b) END AS bcubed_precision,
    clustereval._ratio(CASE WHEN __ce_alone THEN 1 ELSE __ce_n END, __ce_a) AS bcubed_recall
  FROM __ce_counted
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY partition_key, 2;
COMMENT ON MACRO TABLE clustereval.bcubed_samples IS
'One row a record: bcubed_precision, the share of its cluster that has its label, and bcubed_recall, the share of its label that is in its cluster. id is the row number from 0 where none is given. Their means are bcubed_precision and bcubed_recall. A noise row counted as a singleton has cluster NULL. Source: Bagga and Baldwin (1998), Algorithms for scoring coreference chains.';

---------------------------------------------------------------------------------------------------
-- Aggregates
---------------------------------------------------------------------------------------------------

-- For each label its size times the best match of any cluster with it. The cells come sorted so that the
-- best match of a label is its first cell.
CREATE OR REPLACE MACRO clustereval._best_matches(cells, labels) AS
  list_transform(
    [list_sort(list_transform(
      cells,
      lambda __ce_c: {
        'key': __ce_c['label'], 'less': -clustereval._match_score(__ce_c['n'], __ce_c['a'], __ce_c['b']), 'a': __ce_c['a']
      }
    ))],
    lambda __ce_m: list_transform(
      list_zip(
        __ce_m, clustereval._repeat_totals(list_transform(__ce_m, lambda __ce_c: __ce_c['key']), labels)
      ),
      lambda __ce_z: CASE WHEN __ce_z[2].place = 1 THEN -__ce_z[1].less * __ce_z[1].a ELSE 0.0 END
    )
  )[1];

-- {n, n_labels, n_clusters} and the sums over cells, labels and clusters.
CREATE OR REPLACE MACRO clustereval._matching_statistics(label, cluster) AS
  list_transform(
    list_transform(
      [clustereval._cell_statistics(label, cluster)],
      lambda __ce_s: {
        'n': __ce_s['n'],
        'n_labels': len(map_values(__ce_s['labels'])),
        'n_clusters': len(map_values(__ce_s['clusters'])),
        'cells': __ce_s['cells'],
        'matches': clustereval._best_matches(__ce_s['cells'], __ce_s['labels'])
      }
    ),
    lambda __ce_s: {
      'n': __ce_s['n'],
      'n_labels': __ce_s['n_labels'],
      'n_clusters': __ce_s['n_clusters'],
      'matched': clustereval._compensated_list_sum(__ce_s['matches']),
      'in_majority_clusters': list_sum(list_transform(
        __ce_s['cells'], lambda __ce_c: CASE WHEN __ce_c['tops_label'] THEN __ce_c['n'] ELSE 0 END
      )),
      'in_majority_labels': list_sum(list_transform(
        __ce_s['cells'], lambda __ce_c: CASE WHEN __ce_c['tops_cluster'] THEN __ce_c['n'] ELSE 0 END
      )),
      'precision': clustereval._compensated_list_sum(list_transform(
        __ce_s['cells'], lambda __ce_c: clustereval._ratio(__ce_c['n'], __ce_c['b']) * __ce_c['n']
      )),
      'recall': clustereval._compensated_list_sum(list_transform(
        __ce_s['cells'], lambda __ce_c: clustereval._ratio(__ce_c['n'], __ce_c['a']) * __ce_c['n']
      )),
      'exact': list_sum(list_transform(
        __ce_s['cells'],
        lambda __ce_c: CASE WHEN __ce_c['n'] = __ce_c['a'] AND __ce_c['n'] = __ce_c['b'] THEN 1 ELSE 0 END
      ))
    }
  )[1];

-- Share of rows that have the majority label of their cluster. Range (0, 1], best 1; singletons
-- reach it.
-- Examples: SELECT clustereval.purity(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.purity(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_s: clustereval._ratio(__ce_s['in_majority_labels'], __ce_s['n'])
  )[1];
COMMENT ON MACRO clustereval.purity IS
'Share of rows that have the majority label of their cluster. Range (0, 1], best 1; singletons reach it. Source: Zhao and Karypis (2004), doi:10.1023/B:MACH.0000027785.44527.d6.';

-- Share of rows that are in the majority cluster of their label. Range (0, 1], best 1; a single
-- cluster reaches it.
-- Examples: SELECT clustereval.inverse_purity(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.inverse_purity(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_s: clustereval._ratio(__ce_s['in_majority_clusters'], __ce_s['n'])
  )[1];
COMMENT ON MACRO clustereval.inverse_purity IS
'Share of rows that are in the majority cluster of their label. Range (0, 1], best 1; a single cluster reaches it. Source: Zhao and Karypis (2004), doi:10.1023/B:MACH.0000027785.44527.d6.';

-- For each label the best F1 score of any cluster, averaged over rows. Range (0, 1], best 1.
-- Examples: SELECT clustereval.class_f_measure(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.class_f_measure(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_s: clustereval._ratio(__ce_s['matched'], __ce_s['n'])
  )[1];
COMMENT ON MACRO clustereval.class_f_measure IS
'For each label the best F1 score of any cluster, averaged over rows. Range (0, 1], best 1. Source: Larsen and Aone (1999), doi:10.1145/312129.312186.';

-- Rows that must move to turn one partition into the other, both ways: 2 n less the rows in
-- majorities. A metric of partitions. Range [0, 2 n), best 0.
-- Examples: SELECT clustereval.split_join_distance(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.split_join_distance(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_s: clustereval._split_join_distance(
      __ce_s['n'], __ce_s['in_majority_clusters'], __ce_s['in_majority_labels']
    )
  )[1];
COMMENT ON MACRO clustereval.split_join_distance IS
'Rows that must move to turn one partition into the other, both ways: 2 n less the rows in majorities. A metric of partitions. Range [0, 2 n), best 0. Source: van Dongen (2000), Performance criteria for graph clustering, INS-R0012.';

-- Mean over records of the share of their cluster that has their label. Range (0, 1], best 1.
-- Examples: SELECT clustereval.bcubed_precision(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.bcubed_precision(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_s: clustereval._ratio(__ce_s['precision'], __ce_s['n'])
  )[1];
COMMENT ON MACRO clustereval.bcubed_precision IS
'Mean over records of the share of their cluster that has their label. Range (0, 1], best 1. Source: Amigo, Gonzalo, Artiles and Verdejo (2009), doi:10.1007/s10791-008-9066-8.';

-- Mean over records of the share of their label that is in their cluster. Range (0, 1], best 1.
-- Examples: SELECT clustereval.bcubed_recall(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.bcubed_recall(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_s: clustereval._ratio(__ce_s['recall'], __ce_s['n'])
  )[1];
COMMENT ON MACRO clustereval.bcubed_recall IS
'Mean over records of the share of their label that is in their cluster. Range (0, 1], best 1. Source: Amigo, Gonzalo, Artiles and Verdejo (2009), doi:10.1007/s10791-008-9066-8.';

-- Weighted harmonic mean of B-cubed precision and recall; beta > 1 weighs recall more. Range (0,
-- 1], best 1.
-- Examples: SELECT clustereval.bcubed_f_score(species, cluster, beta := 0.5) FROM assignments;
CREATE OR REPLACE MACRO clustereval.bcubed_f_score(label, cluster, beta := 1.0) AS
  list_transform(
    [{'s': clustereval._matching_statistics(label, cluster), 'option': clustereval._check_beta(beta)}],
    lambda __ce_o: clustereval._f_score(
      clustereval._ratio(__ce_o['s']['precision'], __ce_o['s']['n']),
      clustereval._ratio(__ce_o['s']['recall'], __ce_o['s']['n']),
      __ce_o['option']
    )
  )[1];
COMMENT ON MACRO clustereval.bcubed_f_score IS
'Weighted harmonic mean of B-cubed precision and recall; beta > 1 weighs recall more. Range (0, 1], best 1. Source: Amigo, Gonzalo, Artiles and Verdejo (2009), doi:10.1007/s10791-008-9066-8.';

-- Share of clusters that equal a label, row for row. Range [0, 1], best 1.
-- Examples: SELECT clustereval.exact_match_precision(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.exact_match_precision(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_s: clustereval._ratio(__ce_s['exact'], __ce_s['n_clusters'])
  )[1];
COMMENT ON MACRO clustereval.exact_match_precision IS
'Share of clusters that equal a label, row for row. Range [0, 1], best 1. Source: Menestrina, Whang and Garcia-Molina (2010), doi:10.14778/1920841.1920871.';

-- Share of labels that equal a cluster, row for row. Range [0, 1], best 1.
-- Examples: SELECT clustereval.exact_match_recall(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.exact_match_recall(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_s: clustereval._ratio(__ce_s['exact'], __ce_s['n_labels'])
  )[1];
COMMENT ON MACRO clustereval.exact_match_recall IS
'Share of labels that equal a cluster, row for row. Range [0, 1], best 1. Source: Menestrina, Whang and Garcia-Molina (2010), doi:10.14778/1920841.1920871.';

-- Harmonic mean of exact_match_precision and exact_match_recall. Range [0, 1], best 1.
-- Examples: SELECT clustereval.exact_match_f_score(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.exact_match_f_score(label, cluster) AS
  list_transform(
    [clustereval._matching_statistics(label, cluster)],
    lambda __ce_s: clustereval._ratio(2 * __ce_s['exact'], __ce_s['n_labels'] + __ce_s['n_clusters'])
  )[1];
COMMENT ON MACRO clustereval.exact_match_f_score IS
'Harmonic mean of exact_match_precision and exact_match_recall. Range [0, 1], best 1. Source: Menestrina, Whang and Garcia-Molina (2010), doi:10.14778/1920841.1920871.';
