-- entropies: mutual information, and the entropies of labels and clusters, in nats.
--
-- Everything follows from three sums of non-negative terms:
--   mi  mutual information
--   hl  entropy of the label given the cluster
--   hc  entropy of the cluster given the label
-- The entropy of the labels is mi + hl, and the entropy of the clusters is mi + hc. Both are sums
-- and not differences, so they lose no digits for independent, identical and nearly trivial
-- labelings.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- Mutual information in nats, from sums over the cells with rows: deviance, of n ln(n / m) + m - n,
-- where m = label_size x cluster_size / total; and size_products, of label_size x cluster_size.
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

-- List of the deviances n ln(n / m) + m - n of the cells of _cells_as_list, where m = label_size x
-- cluster_size / total. n total - label_size x cluster_size is computed from integers, so that no
-- digits cancel. Each stage computes values once, by name.
CREATE OR REPLACE MACRO clustereval._cell_deviances(total, cells) AS
  list_transform(
    list_transform(
      list_transform(
        list_transform(
          cells,
          lambda __ce_cell: {
            'n': __ce_cell['n'],
            'size_product': clustereval._widen(__ce_cell['label_size'])
              * clustereval._widen(__ce_cell['cluster_size'])
          }
        ),
        lambda __ce_cell: {
          'n': CAST(__ce_cell['n'] AS DOUBLE),
          'scaled_mean': CAST(__ce_cell['size_product'] AS DOUBLE),
          'scaled_difference': CAST(
            clustereval._widen(__ce_cell['n']) * clustereval._widen(total)
            - __ce_cell['size_product'] AS DOUBLE
          )
        }
      ),
      lambda __ce_cell: {
        'n': __ce_cell['n'],
        'mean': __ce_cell['scaled_mean'] / total,
        'difference': __ce_cell['scaled_difference'] / total,
        'relative_difference': __ce_cell['scaled_difference']
          / (__ce_cell['n'] * total + __ce_cell['scaled_mean'])
      }
    ),
    lambda __ce_cell: clustereval._deviance(
      __ce_cell['n'], __ce_cell['mean'], __ce_cell['difference'], __ce_cell['relative_difference']
    )
  );

-- {total, mi, hl, hc} from the struct of _cells_as_list.
CREATE OR REPLACE MACRO clustereval._information_of_cells(sides) AS {
  'total': sides['total'],
  'mi': clustereval._mutual_information(
    sides['total'],
    clustereval._compensated_list_sum(clustereval._cell_deviances(sides['total'], sides['cells'])),
    list_sum(list_transform(
      sides['cells'],
      lambda __ce_cell: clustereval._widen(__ce_cell['label_size'])
        * clustereval._widen(__ce_cell['cluster_size'])
    ))
  ),
  'hl': clustereval._compensated_list_sum(list_transform(
    sides['cells'],
    lambda __ce_cell: clustereval._ratio(__ce_cell['n'], sides['total'])
      * clustereval._log_ratio(__ce_cell['cluster_size'], __ce_cell['n'])
  )),
  'hc': clustereval._compensated_list_sum(list_transform(
    sides['cells'],
    lambda __ce_cell: clustereval._ratio(__ce_cell['n'], sides['total'])
      * clustereval._log_ratio(__ce_cell['label_size'], __ce_cell['n'])
  ))
};

-- Aggregate: the struct of _information_of_cells.
CREATE OR REPLACE MACRO clustereval._information_statistics(label, cluster) AS
  list_transform(
    [clustereval._cells_as_list(label, cluster)],
    lambda __ce_sides: clustereval._information_of_cells(__ce_sides)
  )[1];

---------------------------------------------------------------------------------------------------
-- Formulas. mi is the mutual information, hl the entropy of the label given the cluster, hc that of
-- the cluster given the label.
---------------------------------------------------------------------------------------------------

-- Entropy of the labels.
CREATE OR REPLACE MACRO clustereval._label_entropy(mi, hl) AS mi + hl;

-- Entropy of the clusters.
CREATE OR REPLACE MACRO clustereval._cluster_entropy(mi, hc) AS mi + hc;

-- Entropy of the pairs of label and cluster.
CREATE OR REPLACE MACRO clustereval._joint_entropy(mi, hl, hc) AS mi + hl + hc;

-- Entropy of the label given the cluster.
CREATE OR REPLACE MACRO clustereval._label_entropy_given_cluster(hl) AS hl;

-- Entropy of the cluster given the label.
CREATE OR REPLACE MACRO clustereval._cluster_entropy_given_label(hc) AS hc;

-- Mutual information.
CREATE OR REPLACE MACRO clustereval._mutual_info_score(mi) AS mi;
