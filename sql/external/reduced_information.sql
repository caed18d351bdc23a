-- reduced_information: mutual information without the information in the contingency table itself.
--
-- Suppose that the labels of n rows are transmitted by means of the clusters: first the contingency
-- table, and then the labels of the rows within each cluster. The mutual information assumes that
-- the table is known. The reduced mutual information subtracts ln(tables) / n, where tables is the
-- number of contingency tables with the same sizes of labels and clusters. ln(tables) is estimated
-- by a closed form, see _table_terms. The estimate is exact if one side has a single group or only
-- singletons.
--
-- For whole numbers, ln(x!) = x ln x - x + r(x). Written with the remainders r, the terms x ln x of
-- the microcanonical information ln(n! prod n_ij! / (prod a_i! prod b_j!)) are n times the mutual
-- information, which loses no digits. If most cells have few rows, however, the difference from
-- ln(tables) cancels, because ln(tables) is nearly as large. In this case all factorials of sizes
-- cancel in the difference, which leaves sum ln(n_ij!) and the terms of _log_excess.

---------------------------------------------------------------------------------------------------
-- Formulas
---------------------------------------------------------------------------------------------------

-- Remainder r(x) = ln(x!) - x ln x + x of a whole number x > 0, as DOUBLE; r(1) = 1.
CREATE OR REPLACE MACRO clustereval._factorial_remainder(x) AS
  0.5 * ln(clustereval._stirling_scale(CAST(x AS DOUBLE)))
  + clustereval._stirling_error(CAST(x AS DOUBLE));

-- ln(x!) of a whole number x > 0, as DOUBLE; 0 for 1.
CREATE OR REPLACE MACRO clustereval._log_factorial(x) AS
  CASE
    WHEN x = 1 THEN 0.0
    WHEN x = 2 THEN ln(2.0)
    ELSE CAST(x AS DOUBLE) * (ln(CAST(x AS DOUBLE)) - 1.0) + clustereval._factorial_remainder(x)
  END;

-- _log_excess for k, z >= 7, by Stirling's formula in a form that does not cancel for large z.
CREATE OR REPLACE MACRO clustereval._log_excess_large(z, k) AS
  clustereval._deviance(z + k, z, k, k / (2.0 * z + k)) - 0.5 * clustereval._log1p(k / z)
  + clustereval._stirling_error(z + k) - clustereval._stirling_error(z);

-- ln of z (z + 1) .. (z + k - 1) / z^k, for a whole number k > 0 and a number z >= 1, as DOUBLE.
-- For small k a product; small z are shifted by 7.
CREATE OR REPLACE MACRO clustereval._log_excess(z, k) AS
  CASE
    WHEN k < 7
    THEN ln(
      CASE WHEN k > 1 THEN 1.0 + 1.0 / z ELSE 1.0 END
      * CASE WHEN k > 2 THEN 1.0 + 2.0 / z ELSE 1.0 END
      * CASE WHEN k > 3 THEN 1.0 + 3.0 / z ELSE 1.0 END
      * CASE WHEN k > 4 THEN 1.0 + 4.0 / z ELSE 1.0 END
      * CASE WHEN k > 5 THEN 1.0 + 5.0 / z ELSE 1.0 END
    )
    WHEN z < 7
    THEN clustereval._log_excess_large(z + 7.0, k) + k * ln((z + 7.0) / z) + ln(
      z / (z + k) * ((z + 1.0) / (z + k + 1.0)) * ((z + 2.0) / (z + k + 2.0))
      * ((z + 3.0) / (z + k + 3.0)) * ((z + 4.0) / (z + k + 4.0))
      * ((z + 5.0) / (z + k + 5.0)) * ((z + 6.0) / (z + k + 6.0))
    )
    ELSE clustereval._log_excess_large(z, k)
  END;

-- _log_choose for x, y >= 7, by Stirling's formula in a form in which all terms except the smallest
-- are positive.
CREATE OR REPLACE MACRO clustereval._log_choose_large(x, y) AS
  x * clustereval._log1p(y / x) + y * clustereval._log1p(x / y)
  + 0.5 * ln((1.0 + x / y) / clustereval._stirling_scale(x))
  + clustereval._stirling_error(x + y) - clustereval._stirling_error(x)
  - clustereval._stirling_error(y);

-- ln of the binomial coefficient C(x + y, x) of a whole number x > 0 and any number y >= 0, as
-- DOUBLE. For small x a product; small y are shifted by 7.
CREATE OR REPLACE MACRO clustereval._log_choose(x, y) AS
  CASE
    WHEN x < 7
    THEN ln(
      (1.0 + y)
      * CASE WHEN x >= 2 THEN 1.0 + y / 2.0 ELSE 1.0 END
      * CASE WHEN x >= 3 THEN 1.0 + y / 3.0 ELSE 1.0 END
      * CASE WHEN x >= 4 THEN 1.0 + y / 4.0 ELSE 1.0 END
      * CASE WHEN x >= 5 THEN 1.0 + y / 5.0 ELSE 1.0 END
      * CASE WHEN x >= 6 THEN 1.0 + y / 6.0 ELSE 1.0 END
    )
    WHEN y < 7
    THEN clustereval._log_choose_large(x, y + 7.0) + ln(
      (y + 1.0) / (x + y + 1.0) * ((y + 2.0) / (x + y + 2.0)) * ((y + 3.0) / (x + y + 3.0))
      * ((y + 4.0) / (x + y + 4.0)) * ((y + 5.0) / (x + y + 5.0))
      * ((y + 6.0) / (x + y + 6.0)) * ((y + 7.0) / (x + y + 7.0))
    )
    ELSE clustereval._log_choose_large(x, y)
  END;

-- Concentration minus 1 of the Dirichlet distribution of the shares of the n_rows rows of a
-- contingency table, such that column sums with column_pairs ordered pairs of rows of data lead to
-- the variance of the row sums over all tables. NULL if each column has one row of data.
CREATE OR REPLACE MACRO clustereval._table_concentration(total, n_rows, column_pairs) AS
  clustereval._ratio(clustereval._count_ordered_pairs(total) - column_pairs, column_pairs)
  * clustereval._ratio(n_rows + 1, n_rows);

-- Reduced mutual information in nats per row of data; 0 if labels or clusters are trivial. The sums
-- of remainders (see _factorial_remainder) turn mi into the microcanonical information, from which
-- log_tables is subtracted. If cell_factorials, the sum of ln(n!) over the cells, is below total,
-- that difference would lose digits, and the result is computed from cell_factorials and
-- table_excess.
CREATE OR REPLACE MACRO clustereval._reduced_mutual_info_score(
  total, n_labels, n_clusters, mi, cell_remainders, label_remainders, cluster_remainders,
  log_tables, cell_factorials, table_excess
) AS
  CASE
    WHEN n_labels = 1 OR n_clusters = 1 OR n_labels = total OR n_clusters = total THEN 0.0
    WHEN cell_factorials < total THEN (cell_factorials + table_excess) / total
    ELSE mi + (
      clustereval._factorial_remainder(total) + cell_remainders - label_remainders
      - cluster_remainders - log_tables
    ) / total
  END;

-- reduced, the reduced mutual information, divided by that of the labels with themselves: of the
-- mutual information mi + hl, with label_tables in place of log_tables, or, for small labels, from
-- label_factorials and label_excess. NULL if the labels are trivial (one label, or singletons only)
-- or the divisor is not positive; 1 for equal partitions.
CREATE OR REPLACE MACRO clustereval._normalized_reduced_mutual_info_score(
  reduced, total, n_labels, mi, hl, hc, label_remainders, label_tables, label_factorials,
  label_excess
) AS
  CASE
    WHEN n_labels = 1 OR n_labels = total THEN NULL
    WHEN hl + hc = 0 THEN 1.0
    ELSE clustereval._at_most_1(clustereval._ratio(
      reduced,
      GREATEST(
        CASE
          WHEN label_factorials < total THEN (label_factorials + label_excess) / total
          ELSE mi + hl + (
            clustereval._factorial_remainder(total) - label_remainders - label_tables
          ) / total
        END,
        0.0
      )
    ))
  END;

-- One row per partition_key, kind and size of a group: size, times of which there are, and y, as
-- DOUBLE. ln of the number of contingency tables is the sum of times x _log_choose(size, y). The
-- sum of times x _log_excess(y + 1, size), counted negatively, is the reduced information of all
-- rows minus the sum of ln(n!) over the cells. The kinds 'label', 'cluster' and 'total' are for
-- tables of labels and clusters, 'own' for tables of labels and labels. The rows of a table are the
-- side with more groups, or the clusters. Each column is any way to divide its sum among the rows.
-- The share of these tables that have the given row sums is that of a Dirichlet-multinomial
-- distribution, whose normalization is the total, counted -1 times.
CREATE OR REPLACE MACRO clustereval._table_terms(
  totals, label_histogram, cluster_histogram
) AS TABLE
  -- One row per partition with the concentrations of its random tables.
  WITH options AS (
    SELECT
      partition_key, total, n_labels, n_clusters,
      n_labels > n_clusters AS has_label_rows,
      clustereval._table_concentration(
        total,
        GREATEST(n_labels, n_clusters),
        CASE
          WHEN n_labels > n_clusters THEN cluster_pairs ELSE label_pairs
        END
      ) AS of_rows,
      clustereval._table_concentration(total, n_labels, label_pairs) AS of_labels
    FROM query_table(totals)
    WHERE n_labels > 0
  ),
  -- Sizes of labels, clusters and partitions, by the kind of their term.
  sizes AS (
    SELECT 'label' AS kind, *
    FROM query_table(label_histogram)
    UNION ALL
    SELECT 'cluster', *
    FROM query_table(cluster_histogram)
    UNION ALL
    SELECT 'own row', *
    FROM query_table(label_histogram)
    UNION ALL
    SELECT 'own column', *
    FROM query_table(label_histogram)
    UNION ALL
    SELECT 'total', partition_key, total, -1
    FROM options
    UNION ALL
    SELECT 'own total', partition_key, total, -1
    FROM options
  )
  SELECT
    sizes.partition_key,
    CASE
      WHEN sizes.kind IN ('label', 'cluster', 'total') THEN sizes.kind ELSE 'own'
    END AS kind,
    CAST(sizes.size AS DOUBLE) AS size,
    CAST(sizes.times AS DOUBLE) AS times,
    CASE
      WHEN sizes.kind = 'own row' THEN options.of_labels
      WHEN sizes.kind = 'own column' THEN CAST(options.n_labels - 1 AS DOUBLE)
      WHEN sizes.kind = 'own total'
      THEN options.n_labels * (options.of_labels + 1.0) - 1.0
      WHEN sizes.kind = 'total'
      THEN GREATEST(options.n_labels, options.n_clusters)
        * (options.of_rows + 1.0) - 1.0
      WHEN (sizes.kind = 'label') = options.has_label_rows THEN options.of_rows
      ELSE CAST(GREATEST(options.n_labels, options.n_clusters) - 1 AS DOUBLE)
    END AS y
  FROM sizes
  JOIN options ON options.partition_key IS NOT DISTINCT FROM sizes.partition_key;

-- One row per partition_key with sums over the sizes of its groups: label_remainders and
-- cluster_remainders; label_factorials, the sum of ln(a!) over labels of a rows; log_tables, ln of
-- the number of tables, and table_excess (see _table_terms); label_tables and label_excess, the
-- same for tables of the labels with themselves. totals names a CTE with total, n_labels,
-- n_clusters, label_pairs and cluster_pairs per partition. Equal sizes are summed once.
CREATE OR REPLACE MACRO clustereval._table_totals(label_sizes, cluster_sizes, totals) AS TABLE
  -- Numbers of labels by partition and size.
  WITH label_histogram AS (
    SELECT
      partition_key, label_size AS size, CAST(COUNT(*) AS BIGINT) AS times
    FROM query_table(label_sizes)
    GROUP BY partition_key, label_size
  ),
  -- Numbers of clusters by partition and size.
  cluster_histogram AS (
    SELECT
      partition_key,
      cluster_size AS size,
      CAST(SUM(copies) AS BIGINT) AS times
    FROM query_table(cluster_sizes)
    GROUP BY partition_key, cluster_size
  ),
  -- Terms with their logarithms. This CTE exists because each of its long expressions would
  -- otherwise be planned several times.
  term_values AS MATERIALIZED (
    SELECT
      partition_key,
      kind,
      kind = 'own' AS is_own,
      times,
      clustereval._factorial_remainder(size) AS remainder,
      clustereval._log_factorial(size) AS factorial,
      clustereval._log_choose(size, y) AS logs,
      clustereval._log_excess(y + 1.0, size) AS excess
    FROM clustereval._table_terms(totals, label_histogram, cluster_histogram)
  )
  SELECT
    partition_key,
    clustereval._compensated_sum(
      CASE WHEN kind = 'label' THEN times * remainder ELSE 0.0 END
    ) AS label_remainders,
    clustereval._compensated_sum(
      CASE WHEN kind = 'cluster' THEN times * remainder ELSE 0.0 END
    ) AS cluster_remainders,
    clustereval._compensated_sum(
      CASE WHEN kind = 'label' THEN times * factorial ELSE 0.0 END
    ) AS label_factorials,
    clustereval._compensated_sum(CASE WHEN is_own THEN 0.0 ELSE times * logs END) AS log_tables,
    clustereval._compensated_sum(
      CASE WHEN is_own THEN 0.0 ELSE -times * excess END
    ) AS table_excess,
    clustereval._compensated_sum(CASE WHEN is_own THEN times * logs ELSE 0.0 END) AS label_tables,
    clustereval._compensated_sum(CASE WHEN is_own THEN -times * excess ELSE 0.0 END) AS label_excess
  FROM term_values
  GROUP BY partition_key;

---------------------------------------------------------------------------------------------------
-- Aggregates of the columns label (true class) and cluster (assigned cluster). Rows with a NULL in
-- either are left out.
---------------------------------------------------------------------------------------------------

-- Sum of _factorial_remainder over a list.
CREATE OR REPLACE MACRO clustereval._sum_remainders(sizes) AS
  clustereval._compensated_list_sum(list_transform(
    sizes, lambda __ce_size: clustereval._factorial_remainder(__ce_size)
  ));

-- {logs, excess}, as log_tables and table_excess of _table_totals, for tables of the given sums of
-- rows and columns. column_pairs is the number of ordered pairs of rows of data in one column.
CREATE OR REPLACE MACRO clustereval._tables_of_lists(
  total, row_sizes, column_sizes, column_pairs
) AS
  list_transform(
    list_transform(
      [{
        'n': len(row_sizes),
        'y': clustereval._table_concentration(total, len(row_sizes), column_pairs)
      }],
      lambda __ce_table: list_transform(
        list_concat(
          list_transform(
            row_sizes,
            lambda __ce_size: {'size': __ce_size, 'times': 1.0, 'y': __ce_table['y']}
          ),
          list_transform(
            column_sizes,
            lambda __ce_size: {
              'size': __ce_size, 'times': 1.0, 'y': CAST(__ce_table['n'] - 1 AS DOUBLE)
            }
          ),
          [{'size': total, 'times': -1.0, 'y': __ce_table['n'] * (__ce_table['y'] + 1.0) - 1.0}]
        ),
        lambda __ce_term: {
          'logs': __ce_term['times']
            * clustereval._log_choose(CAST(__ce_term['size'] AS DOUBLE), __ce_term['y']),
          'excess': -__ce_term['times']
            * clustereval._log_excess(__ce_term['y'] + 1.0, CAST(__ce_term['size'] AS DOUBLE))
        }
      )
    ),
    lambda __ce_terms: {
      'logs': clustereval._compensated_list_sum(
        list_transform(__ce_terms, lambda __ce_term: __ce_term['logs'])
      ),
      'excess': clustereval._compensated_list_sum(
        list_transform(__ce_terms, lambda __ce_term: __ce_term['excess'])
      )
    }
  )[1];

-- Sum of ln(size!) over a list.
CREATE OR REPLACE MACRO clustereval._sum_log_factorials(sizes) AS
  clustereval._compensated_list_sum(list_transform(
    sizes, lambda __ce_size: clustereval._log_factorial(__ce_size)
  ));

-- The statistics of this file, named as in _table_totals.
CREATE OR REPLACE MACRO clustereval._reduced_statistics(label, cluster) AS
  list_transform(
    list_transform(
      list_transform(
        [clustereval._cells_as_list(label, cluster)],
        lambda __ce_sides: {
          'info': clustereval._information_of_cells(__ce_sides),
          'total': __ce_sides['total'],
          'cells': list_transform(__ce_sides['cells'], lambda __ce_cell: __ce_cell['n']),
          'labels': clustereval._histogram_sizes(__ce_sides['labels']),
          'clusters': clustereval._histogram_sizes(__ce_sides['clusters']),
          'label_pairs': clustereval._sum_ordered_pairs(__ce_sides['labels']),
          'cluster_pairs': clustereval._sum_ordered_pairs(__ce_sides['clusters'])
        }
      ),
      lambda __ce_step: {
        'step': __ce_step,
        'tables': list_transform(
          [
            CASE
              WHEN len(__ce_step['labels']) > len(__ce_step['clusters'])
              THEN {
                'rows': __ce_step['labels'], 'columns': __ce_step['clusters'],
                'pairs': __ce_step['cluster_pairs']
              }
              ELSE {
                'rows': __ce_step['clusters'], 'columns': __ce_step['labels'],
                'pairs': __ce_step['label_pairs']
              }
            END,
            {
              'rows': __ce_step['labels'], 'columns': __ce_step['labels'],
              'pairs': __ce_step['label_pairs']
            }
          ],
          lambda __ce_sides: clustereval._tables_of_lists(
            __ce_step['total'], __ce_sides['rows'], __ce_sides['columns'], __ce_sides['pairs']
          )
        )
      }
    ),
    lambda __ce_sums: {
      'total': __ce_sums['step']['total'],
      'n_labels': len(__ce_sums['step']['labels']),
      'n_clusters': len(__ce_sums['step']['clusters']),
      'mi': __ce_sums['step']['info']['mi'],
      'hl': __ce_sums['step']['info']['hl'],
      'hc': __ce_sums['step']['info']['hc'],
      'cell_remainders': clustereval._sum_remainders(__ce_sums['step']['cells']),
      'label_remainders': clustereval._sum_remainders(__ce_sums['step']['labels']),
      'cluster_remainders': clustereval._sum_remainders(__ce_sums['step']['clusters']),
      'cell_factorials': clustereval._sum_log_factorials(__ce_sums['step']['cells']),
      'label_factorials': clustereval._sum_log_factorials(__ce_sums['step']['labels']),
      'log_tables': __ce_sums['tables'][1]['logs'],
      'label_tables': __ce_sums['tables'][2]['logs'],
      'table_excess': __ce_sums['tables'][1]['excess'],
      'label_excess': __ce_sums['tables'][2]['excess']
    }
  )[1];

-- Reduced mutual information divided by the reduced mutual information of the labels with
-- themselves, so that only the labels normalize it.
-- Examples:
--   SELECT clustereval.normalized_reduced_mutual_info_score(species, cluster)
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.normalized_reduced_mutual_info_score(label, cluster) AS
  list_transform(
    [clustereval._reduced_statistics(label, cluster)],
    lambda __ce_sums: clustereval._normalized_reduced_mutual_info_score(
      clustereval._reduced_mutual_info_score(
        __ce_sums['total'], __ce_sums['n_labels'], __ce_sums['n_clusters'], __ce_sums['mi'],
        __ce_sums['cell_remainders'], __ce_sums['label_remainders'],
        __ce_sums['cluster_remainders'], __ce_sums['log_tables'], __ce_sums['cell_factorials'],
        __ce_sums['table_excess']
      ),
      __ce_sums['total'], __ce_sums['n_labels'],
      __ce_sums['mi'], __ce_sums['hl'], __ce_sums['hc'],
      __ce_sums['label_remainders'], __ce_sums['label_tables'],
      __ce_sums['label_factorials'], __ce_sums['label_excess']
    )
  )[1];
