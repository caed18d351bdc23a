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

-- Mutual information in nats of `total` rows, from two sums over the cells (label, cluster) that
-- have rows. deviance is the sum of n ln(n / m) + m - n, where n is the number of rows of a cell
-- and m = label_size x cluster_size / total is the expected number if label and cluster were
-- independent. size_products is the sum of label_size x cluster_size, an exact integer: total^2 -
-- size_products is `total` times the sum of m over the empty cells, each of which adds m to the
-- deviance.
CREATE OR REPLACE MACRO clustereval._mutual_information(total, deviance, size_products) AS
  clustereval._ratio(
    deviance
      + clustereval._ratio(
        clustereval._widen(total) * clustereval._widen(total) - size_products, total
      ),
    total
  );

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
      - clustereval._widen(label_size) * clustereval._widen(cluster_size) AS DOUBLE
    )
  );

-- Aggregate of the columns label (true class) and cluster (assigned cluster): {total, mi, hl, hc}.
-- total is the number of rows without a NULL in either column. mi is the mutual information, hl is
-- the entropy of the label given the cluster, and hc is the entropy of the cluster given the label,
-- in nats. All entropies and scores of information are computed from these values.
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
