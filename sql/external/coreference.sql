-- coreference: measures of coreference resolution, whose mentions are the rows: MUC, LEA, BLANC.
--
-- A link is a pair of rows with the same label, or in the same cluster. MUC counts the smallest
-- number of links that hold each group together, which is one less than the number of its rows. LEA
-- counts all links of a group, weighted by its size. BLANC counts the links and also the pairs of
-- rows that are not links.

---------------------------------------------------------------------------------------------------
-- Formulas. tp, fp, fn and tn count pairs of rows: same label and cluster, same cluster only, same
-- label only, neither. total is the number of rows; n_cells, n_labels and n_clusters are those of
-- contingency cells, labels and clusters.
---------------------------------------------------------------------------------------------------

-- MUC precision: the share of the links holding the clusters together that is right.
CREATE OR REPLACE MACRO clustereval._muc_precision(total, n_cells, n_labels, n_clusters) AS
  clustereval._ratio(total - n_cells, total - n_clusters);

-- MUC recall: the share of the links holding the labels together that is found.
CREATE OR REPLACE MACRO clustereval._muc_recall(total, n_cells, n_labels, n_clusters) AS
  clustereval._ratio(total - n_cells, total - n_labels);

-- F score of MUC precision and recall; beta > 1 weighs recall more; NULL for 0 / 0.
CREATE OR REPLACE MACRO clustereval._muc_f_score(total, n_cells, n_labels, n_clusters, beta) AS
  clustereval._ratio(
    (1.0 + beta * beta) * (total - n_cells),
    beta * beta * (total - n_labels) + (total - n_clusters)
  );

-- The part that a contingency cell of n rows adds to the LEA resolution of a group of `size` rows,
-- times the size: n (n - 1) / (size - 1). A group of a single row has a link to itself. This link
-- is found if the row's other group, which has other_size rows, also has no other row.
CREATE OR REPLACE MACRO clustereval._lea_rows(n, size, other_size) AS
  CASE
    WHEN size > 1 THEN CAST(n AS DOUBLE) * clustereval._ratio(n - 1, size - 1)
    WHEN other_size = 1 THEN 1.0
    ELSE 0.0
  END;

-- LEA precision: mean over rows of the share of the links of their cluster that are right.
CREATE OR REPLACE MACRO clustereval._lea_precision(lea_precision_rows, total) AS
  clustereval._ratio(lea_precision_rows, total);

-- LEA recall: mean over rows of the share of the links of their label that are found.
CREATE OR REPLACE MACRO clustereval._lea_recall(lea_recall_rows, total) AS
  clustereval._ratio(lea_recall_rows, total);

-- F score of LEA precision and recall; beta > 1 weighs recall more.
CREATE OR REPLACE MACRO clustereval._lea_f_score(
  lea_precision_rows, lea_recall_rows, total, beta
) AS
  clustereval._f_score(
    clustereval._ratio(lea_precision_rows, total), clustereval._ratio(lea_recall_rows, total), beta
  );

-- BLANC precision of pairs together and apart; 0 / 0 counts as 0; 1 for equal partitions.
CREATE OR REPLACE MACRO clustereval._blanc_precision(tp, fp, fn, tn) AS
  CASE
    WHEN fp + fn = 0 THEN 1.0
    ELSE (clustereval._ratio_or(tp, tp + fp, 0.0) + clustereval._ratio_or(tn, tn + fn, 0.0)) / 2.0
  END;

-- BLANC recall of pairs together and apart; 0 / 0 counts as 0; 1 for equal partitions.
CREATE OR REPLACE MACRO clustereval._blanc_recall(tp, fp, fn, tn) AS
  CASE
    WHEN fp + fn = 0 THEN 1.0
    ELSE (clustereval._ratio_or(tp, tp + fn, 0.0) + clustereval._ratio_or(tn, tn + fp, 0.0)) / 2.0
  END;

-- BLANC F score, the mean of the F scores of the pairs together and of the pairs apart. 0 / 0
-- counts as 0; 1 for equal partitions.
CREATE OR REPLACE MACRO clustereval._blanc_f_score(tp, fp, fn, tn, beta) AS
  CASE
    WHEN fp + fn = 0 THEN 1.0
    ELSE (
      clustereval._ratio_or(
        (1.0 + beta * beta) * tp, (1.0 + beta * beta) * tp + beta * beta * fn + fp, 0.0
      )
      + clustereval._ratio_or(
        (1.0 + beta * beta) * tn, (1.0 + beta * beta) * tn + beta * beta * fp + fn, 0.0
      )
    ) / 2.0
  END;

-- One row per partition_key with sums of LEA resolutions: n_cells, and lea_precision_rows and
-- lea_recall_rows, the sums over clusters and over labels of size times LEA resolution.
CREATE OR REPLACE MACRO clustereval._lea_totals(sized_cells) AS TABLE
  SELECT
    partition_key,
    CAST(SUM(copies) AS BIGINT) AS n_cells,
    clustereval._compensated_sum(
      clustereval._lea_rows(n, cluster_size, label_size) * copies
    ) AS lea_precision_rows,
    clustereval._compensated_sum(
      clustereval._lea_rows(n, label_size, cluster_size) * copies
    ) AS lea_recall_rows
  FROM query_table(sized_cells)
  GROUP BY partition_key;

---------------------------------------------------------------------------------------------------
-- Statistics of the columns label (true class) and cluster (assigned cluster). Rows with a NULL in
-- either are left out.
---------------------------------------------------------------------------------------------------

-- The statistics of MUC and LEA. n_cells is the number of contingency cells; lea_precision_rows and
-- lea_recall_rows are sums over clusters and over labels of size times LEA resolution.
CREATE OR REPLACE MACRO clustereval._coreference_statistics(label, cluster) AS
  list_transform(
    [clustereval._cells_as_list(label, cluster)],
    lambda __ce_sides: {
      'total': __ce_sides['total'],
      'n_labels': len(map_values(__ce_sides['labels'])),
      'n_clusters': len(map_values(__ce_sides['clusters'])),
      'n_cells': len(__ce_sides['cells']),
      'lea_precision_rows': clustereval._compensated_list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: clustereval._lea_rows(
          __ce_cell['n'], __ce_cell['cluster_size'], __ce_cell['label_size']
        )
      )),
      'lea_recall_rows': clustereval._compensated_list_sum(list_transform(
        __ce_sides['cells'],
        lambda __ce_cell: clustereval._lea_rows(
          __ce_cell['n'], __ce_cell['label_size'], __ce_cell['cluster_size']
        )
      ))
    }
  )[1];
