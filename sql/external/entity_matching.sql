-- entity_matching: measures of entity resolution. Labels are the entities, and clusters are the
-- sets of records that were resolved to the same entity.

---------------------------------------------------------------------------------------------------
-- Formulas
---------------------------------------------------------------------------------------------------

-- Geometric mean of B-cubed precision and recall, by two roots, so that nothing underflows.
CREATE OR REPLACE MACRO clustereval._k_measure(precision_rows, recall_rows, total) AS
  sqrt(clustereval._ratio(precision_rows, total)) * sqrt(clustereval._ratio(recall_rows, total));

-- Mean over clusters of the best Jaccard index with any label.
CREATE OR REPLACE MACRO clustereval._closest_cluster_precision(closest_clusters, n_clusters) AS
  clustereval._ratio(closest_clusters, n_clusters);

-- Mean over labels of the best Jaccard index with any cluster.
CREATE OR REPLACE MACRO clustereval._closest_cluster_recall(closest_labels, n_labels) AS
  clustereval._ratio(closest_labels, n_labels);

-- F score of closest-cluster precision and recall; beta > 1 weighs recall more.
CREATE OR REPLACE MACRO clustereval._closest_cluster_f_score(
  closest_clusters, n_clusters, closest_labels, n_labels, beta
) AS
  clustereval._f_score(
    clustereval._ratio(closest_clusters, n_clusters), clustereval._ratio(closest_labels, n_labels),
    beta
  );

-- Jaccard index of a label and a cluster of size and other_size rows that share n.
CREATE OR REPLACE MACRO clustereval._match_jaccard(n, size, other_size) AS
  clustereval._ratio(n, size + other_size - n);

-- Talburt-Wang index, from the numbers of labels, clusters and contingency cells.
CREATE OR REPLACE MACRO clustereval._talburt_wang_index(n_labels, n_clusters, n_cells) AS
  clustereval._ratio(sqrt(CAST(n_labels AS DOUBLE) * CAST(n_clusters AS DOUBLE)), n_cells);

-- Number of splits of clusters and merges of the parts that turn the clusters into the labels.
CREATE OR REPLACE MACRO clustereval._basic_merge_distance(n_labels, n_clusters, n_cells) AS
  CAST(2 * n_cells - n_labels - n_clusters AS DOUBLE);

-- TRUE if cost is the name of the cost of one split or merge of x and y rows: 'unit' (1), 'product'
-- (x y) or 'entropy' (h(x + y) - h(x) - h(y) with h(x) = x ln x).
CREATE OR REPLACE MACRO clustereval._is_edit_cost(cost) AS
  coalesce(cost, '') IN ('unit', 'product', 'entropy');

-- Text of the error for a cost with any other name; parameter is the name of the argument.
CREATE OR REPLACE MACRO clustereval._edit_cost_error(cost, parameter) AS
  concat(
    parameter, ': expected one of ''unit'', ''product'', ''entropy'', got ',
    clustereval._quote_value(cost)
  );

-- cost, unchanged. Raises the error unless _is_edit_cost is TRUE for it.
CREATE OR REPLACE MACRO clustereval._check_edit_cost(cost, parameter) AS
  CASE
    WHEN clustereval._is_edit_cost(cost) THEN cost
    ELSE clustereval._raise(clustereval._edit_cost_error(cost, parameter))
  END;

-- Cost of all splits, or of all merges, as DOUBLE, where the n_groups clusters (or labels) are
-- split into (or merged from) n_parts cells, pairs of rows are in the same group and in different
-- cells, and entropy is that of the cell given the group. With a cost h(x + y) - h(x) - h(y), the
-- order of splits does not matter: the sum is h of the groups minus h of the cells.
CREATE OR REPLACE MACRO clustereval._edit_cost(cost, n_parts, n_groups, pairs, entropy, total) AS
  CASE
    WHEN cost = 'unit' THEN CAST(n_parts - n_groups AS DOUBLE)
    WHEN cost = 'product' THEN CAST(pairs AS DOUBLE)
    WHEN cost = 'entropy' THEN entropy * total
  END;

-- Cost of the splits that divide the clusters into cells, and of the merges that make the labels
-- from these: see _edit_cost. fp pairs of rows are split and fn pairs are merged.
CREATE OR REPLACE MACRO clustereval._generalized_merge_distance(
  n_labels, n_clusters, n_cells, fp, fn, hl, hc, total, split_cost, merge_cost
) AS
  clustereval._edit_cost(split_cost, n_cells, n_clusters, fp, hl, total)
  + clustereval._edit_cost(merge_cost, n_cells, n_labels, fn, hc, total);

-- One row per partition_key with a sum over its labels: closest_labels, the sum over labels of the
-- best Jaccard index.
CREATE OR REPLACE MACRO clustereval._closest_label_totals(sized_cells) AS TABLE
  -- The best Jaccard index of each label with a cluster.
  WITH closest AS (
    SELECT
      partition_key,
      MAX(clustereval._match_jaccard(n, label_size, cluster_size)) AS jaccard
    FROM query_table(sized_cells)
    GROUP BY partition_key, label
  )
  SELECT partition_key, clustereval._compensated_sum(jaccard) AS closest_labels
  FROM closest
  GROUP BY partition_key;

-- One row per partition_key with a sum over its clusters: closest_clusters, the sum over clusters
-- of the best Jaccard index. Singletons, with cluster NULL, are clusters with one label each.
CREATE OR REPLACE MACRO clustereval._closest_cluster_totals(sized_cells) AS TABLE
  -- The best Jaccard index of each cluster with a label.
  WITH closest AS (
    SELECT
      partition_key,
      CASE
        WHEN cluster IS NULL
        THEN SUM(clustereval._match_jaccard(n, label_size, cluster_size) * copies)
        ELSE MAX(clustereval._match_jaccard(n, label_size, cluster_size))
      END AS jaccards
    FROM query_table(sized_cells)
    GROUP BY partition_key, cluster
  )
  SELECT partition_key, clustereval._compensated_sum(jaccards) AS closest_clusters
  FROM closest
  GROUP BY partition_key;

---------------------------------------------------------------------------------------------------
-- Statistics of the columns label (true class) and cluster (assigned cluster). Rows with a NULL in
-- either are left out.
---------------------------------------------------------------------------------------------------

-- Sum over labels (or clusters) of the best Jaccard index with any cluster (or label). side is the
-- field of the cells of _cells_as_list with the label (or cluster), and counts is a map from {key}
-- to its number of rows. Sorting makes the best match of a key its first cell.
CREATE OR REPLACE MACRO clustereval._sum_closest(cells, side, counts) AS
  list_transform(
    [list_sort(
      list_transform(
        cells,
        lambda __ce_cell: {
          'key': __ce_cell[side],
          'minus_jaccard': -clustereval._match_jaccard(
            __ce_cell['n'], __ce_cell['label_size'], __ce_cell['cluster_size']
          )
        }
      ),
      'ASC', 'NULLS LAST'
    )],
    lambda __ce_matches: clustereval._compensated_list_sum(list_transform(
      clustereval._cells_with_key_sizes(__ce_matches, counts),
      lambda __ce_pair: CASE
        WHEN __ce_pair[2].rank = 1 THEN -__ce_pair[1].minus_jaccard
        ELSE 0.0
      END
    ))
  )[1];

-- closest_labels and closest_clusters are sums of the best Jaccard index over labels and over
-- clusters, and n_cells is the number of contingency cells.
CREATE OR REPLACE MACRO clustereval._resolution_statistics(label, cluster) AS
  list_transform(
    [clustereval._cells_as_list(label, cluster)],
    lambda __ce_sides: {
      'total': __ce_sides['total'],
      'n_labels': len(map_values(__ce_sides['labels'])),
      'n_clusters': len(map_values(__ce_sides['clusters'])),
      'n_cells': len(__ce_sides['cells']),
      'closest_labels': clustereval._sum_closest(
        __ce_sides['cells'], 'label', __ce_sides['labels']
      ),
      'closest_clusters': clustereval._sum_closest(
        __ce_sides['cells'], 'cluster', __ce_sides['clusters']
      )
    }
  )[1];

-- The statistics of generalized_merge_distance.
CREATE OR REPLACE MACRO clustereval._edit_statistics(label, cluster) AS
  list_transform(
    list_transform(
      [clustereval._cells_as_list(label, cluster)],
      lambda __ce_sides: {
        'cells': __ce_sides,
        'pairs': clustereval._pairs_of_cells(__ce_sides),
        'info': clustereval._information_of_cells(__ce_sides)
      }
    ),
    lambda __ce_parts: {
      'total': __ce_parts['pairs']['total'],
      'n_labels': len(map_values(__ce_parts['cells']['labels'])),
      'n_clusters': len(map_values(__ce_parts['cells']['clusters'])),
      'n_cells': len(__ce_parts['cells']['cells']),
      'fp': __ce_parts['pairs']['fp'],
      'fn': __ce_parts['pairs']['fn'],
      'hl': __ce_parts['info']['hl'],
      'hc': __ce_parts['info']['hc']
    }
  )[1];
