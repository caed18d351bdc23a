-- set_matching: indices that compare clusters and rows with the labels that they match.

---------------------------------------------------------------------------------------------------
-- Formulas
---------------------------------------------------------------------------------------------------

-- F score of a precision and a recall, 0 if both are 0; beta > 1 weighs recall more.
CREATE OR REPLACE MACRO clustereval._f_score(precision_, recall_, beta) AS
  CASE
    WHEN precision_ + recall_ = 0 THEN 0.0
    ELSE clustereval._ratio(
      (1.0 + beta * beta) * precision_ * recall_, beta * beta * precision_ + recall_
    )
  END;

-- F1 score of a label and a cluster that share n rows.
CREATE OR REPLACE MACRO clustereval._match_score(n, label_size, cluster_size) AS
  clustereval._ratio(2 * n, label_size + cluster_size);

-- Purity: the share of `total` rows that have the majority label of their cluster.
CREATE OR REPLACE MACRO clustereval._purity(in_majority_labels, total) AS
  clustereval._ratio(in_majority_labels, total);

-- Inverse purity: the share of `total` rows that are in the majority cluster of their label.
CREATE OR REPLACE MACRO clustereval._inverse_purity(in_majority_clusters, total) AS
  clustereval._ratio(in_majority_clusters, total);

-- F-measure of the labels: mean over rows of the best F1 score of their label.
CREATE OR REPLACE MACRO clustereval._class_f_measure(matched_rows, total) AS
  clustereval._ratio(matched_rows, total);

-- Van Dongen's split-join distance, as DOUBLE.
CREATE OR REPLACE MACRO clustereval._split_join_distance(
  total, in_majority_clusters, in_majority_labels
) AS
  CAST(2 * total - in_majority_clusters - in_majority_labels AS DOUBLE);

-- Element-centric similarity of one row of a contingency cell.
CREATE OR REPLACE MACRO clustereval._element_similarity(n, label_size, cluster_size) AS
  clustereval._ratio(n, GREATEST(label_size, cluster_size));

-- B-cubed precision: mean over rows of the share of their cluster that has their label.
CREATE OR REPLACE MACRO clustereval._bcubed_precision(precision_rows, total) AS
  clustereval._ratio(precision_rows, total);

-- B-cubed recall: mean over rows of the share of their label that is in their cluster.
CREATE OR REPLACE MACRO clustereval._bcubed_recall(recall_rows, total) AS
  clustereval._ratio(recall_rows, total);

-- F score of B-cubed precision and recall; beta > 1 weighs recall more.
CREATE OR REPLACE MACRO clustereval._bcubed_f_score(precision_rows, recall_rows, total, beta) AS
  clustereval._f_score(
    clustereval._ratio(precision_rows, total), clustereval._ratio(recall_rows, total), beta
  );

-- Element-centric similarity: mean over rows of _element_similarity.
CREATE OR REPLACE MACRO clustereval._element_centric_similarity(similar_rows, total) AS
  clustereval._ratio(similar_rows, total);

-- Share of the clusters that have exactly the rows of a label.
CREATE OR REPLACE MACRO clustereval._exact_match_precision(exact_matches, n_clusters) AS
  clustereval._ratio(exact_matches, n_clusters);

-- Share of the labels that have exactly the rows of a cluster.
CREATE OR REPLACE MACRO clustereval._exact_match_recall(exact_matches, n_labels) AS
  clustereval._ratio(exact_matches, n_labels);

-- Harmonic mean of _exact_match_precision and _exact_match_recall; 0 if both are 0.
CREATE OR REPLACE MACRO clustereval._exact_match_f_score(exact_matches, n_labels, n_clusters) AS
  clustereval._ratio(2 * exact_matches, n_labels + n_clusters);

-- One row per partition_key with a sum over its labels: matched_rows, the sum over labels of
-- label_size x best F1 score.
CREATE OR REPLACE MACRO clustereval._match_totals(sized_cells) AS TABLE
  -- Size times best F1 score of each label.
  WITH best_matches AS (
    SELECT
      partition_key,
      MAX(label_size)
        * MAX(clustereval._match_score(n, label_size, cluster_size)) AS matched_rows
    FROM query_table(sized_cells)
    GROUP BY partition_key, label
  )
  SELECT partition_key, clustereval._compensated_sum(matched_rows) AS matched_rows
  FROM best_matches
  GROUP BY partition_key;

---------------------------------------------------------------------------------------------------
-- Statistics of the columns label (true class) and cluster (assigned cluster). Rows with a NULL in
-- either are left out.
---------------------------------------------------------------------------------------------------

-- List with a number per contingency cell of _cells_as_list: label_size times the F1 score of the
-- best cell of its label, and 0 for the other cells. Sorting makes the best match of a label its
-- first cell.
CREATE OR REPLACE MACRO clustereval._matched_rows(cells, label_counts) AS
  list_transform(
    [list_sort(list_transform(
      cells,
      lambda __ce_cell: {
        'key': __ce_cell['label'],
        'minus_match': -clustereval._match_score(
          __ce_cell['n'], __ce_cell['label_size'], __ce_cell['cluster_size']
        ),
        'label_size': __ce_cell['label_size']
      }
    ), 'ASC', 'NULLS LAST')],
    lambda __ce_matches: list_transform(
      clustereval._cells_with_key_sizes(__ce_matches, label_counts),
      lambda __ce_pair: CASE
        WHEN __ce_pair[2].rank = 1 THEN -__ce_pair[1].minus_match * __ce_pair[1].label_size
        ELSE 0.0
      END
    )
  )[1];

-- Aggregate: total, n_labels, n_clusters and the statistics of this file, as one struct.
-- in_majority_labels and in_majority_clusters are rows with the majority label of their cluster,
-- and in the majority cluster of their label. matched_rows, precision_rows, recall_rows and
-- similar_rows are sums over rows of the best F1 score of the row's label with any cluster, of
-- B-cubed precision and recall, and of element-centric similarity. exact_matches is the number of
-- labels that have the same rows as a cluster.
CREATE OR REPLACE MACRO clustereval._matching_statistics(label, cluster) AS
  list_transform(
    [clustereval._cells_as_list(label, cluster)],
    lambda __ce_sides: {
      'total': __ce_sides['total'],
      'n_labels': len(map_values(__ce_sides['labels'])),
      'n_clusters': len(map_values(__ce_sides['clusters'])),
      'in_majority_labels': list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: CASE WHEN __ce_cell['is_cluster_majority'] THEN __ce_cell['n'] ELSE 0 END
      )),
      'in_majority_clusters': list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: CASE WHEN __ce_cell['is_label_majority'] THEN __ce_cell['n'] ELSE 0 END
      )),
      'matched_rows': clustereval._compensated_list_sum(
        clustereval._matched_rows(__ce_sides['cells'], __ce_sides['labels'])
      ),
      'precision_rows': clustereval._compensated_list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: clustereval._ratio(__ce_cell['n'], __ce_cell['cluster_size'])
          * __ce_cell['n']
      )),
      'recall_rows': clustereval._compensated_list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: clustereval._ratio(__ce_cell['n'], __ce_cell['label_size'])
          * __ce_cell['n']
      )),
      'similar_rows': clustereval._compensated_list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: clustereval._element_similarity(
          __ce_cell['n'], __ce_cell['label_size'], __ce_cell['cluster_size']
        ) * __ce_cell['n']
      )),
      'exact_matches': list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: CASE
          WHEN __ce_cell['n'] = __ce_cell['label_size']
            AND __ce_cell['n'] = __ce_cell['cluster_size']
          THEN 1
          ELSE 0
        END
      ))
    }
  )[1];
