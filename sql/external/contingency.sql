-- contingency: cells of the contingency table, sizes of labels and clusters, counts of pairs.
--
--   * A cell is a label and a cluster with the n rows that have both. A size is the number of rows
--     of a label or a cluster. The majority cluster of a label is the cluster of its largest cell,
--     and the majority label of a cluster is the label of its largest cell.
--   * A singleton is a noise row that is counted as a cluster of its own; its cluster is NULL.
--   * A cell stands for `copies` equal cells of `n` rows each. copies is 1 everywhere, except that
--     the singletons of a label are one cell with n = 1. Every sum over cells is weighted by
--     copies.
--   * The parameter cells names a CTE of such rows: partition_key, label, cluster, n and copies.
--   * A histogram is a MAP from a key (a cell, a label or a cluster) to its number of rows.

---------------------------------------------------------------------------------------------------
-- Cells, labels, clusters
---------------------------------------------------------------------------------------------------

-- The columns of _row_groups, from a row per group whose columns still have the names of a macro
-- that reads the user's table: __ce_partition, __ce_label, __ce_cluster and __ce_n, its number of
-- rows.
CREATE OR REPLACE MACRO clustereval._flag_groups(group_counts, noise, noise_as) AS TABLE
  -- The groups, marked as complete or not, and as noise or not.
  WITH __ce_group_flags AS (
    SELECT
      __ce_partition, __ce_label, __ce_cluster, __ce_n,
      __ce_label IS NOT NULL AND __ce_cluster IS NOT NULL AS __ce_complete,
      clustereval._is_noise(__ce_cluster, noise) AS __ce_noisy
    FROM query_table(group_counts)
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_label AS label,
    CASE
      WHEN __ce_noisy AND noise_as = 'singletons' THEN NULL
      ELSE __ce_cluster
    END AS cluster,
    CASE WHEN __ce_noisy AND noise_as = 'singletons' THEN 1 ELSE __ce_n END AS n,
    CASE
      WHEN NOT __ce_complete OR __ce_n = 0 OR (__ce_noisy AND noise_as = 'drop') THEN 0
      WHEN __ce_noisy AND noise_as = 'singletons' THEN __ce_n
      ELSE 1
    END AS copies,
    CASE WHEN __ce_complete THEN 0 ELSE __ce_n END AS n_dropped,
    CASE WHEN __ce_complete AND __ce_noisy THEN __ce_n ELSE 0 END AS n_noise
  FROM __ce_group_flags;

-- One row per value of (partition_by, label, cluster) in the table named tbl: partition_key, label,
-- cluster; n, its number of rows or the sum of their weights; copies, 1, or 0 if the group is left
-- out; n_dropped, its rows without a label or a cluster; n_noise, its noise rows. Noise counted as
-- singletons has cluster NULL, n 1 and its number of rows as copies. Without partition_by there is
-- one more row, without any rows, so that even an empty table has a partition. The arguments decide
-- before the query runs which of the united queries the plan holds; one GROUP BY for all
-- cases, with a NULL key or a sum of ones, would take 50 % longer.
CREATE OR REPLACE MACRO clustereval._row_groups(
  tbl, label, cluster, weight, partition_by, noise, noise_as
) AS TABLE
  -- Numbers of rows by partition, label and cluster.
  WITH __ce_group_counts AS (
    SELECT
      NULL AS __ce_partition,
      label AS __ce_label,
      cluster AS __ce_cluster,
      CAST(COUNT(*) AS BIGINT) AS __ce_n
    FROM query_table(tbl)
    WHERE clustereval._is_left_out(partition_by) AND clustereval._is_left_out(weight)
    GROUP BY label, cluster
    UNION ALL
    SELECT partition_by, label, cluster, CAST(COUNT(*) AS BIGINT)
    FROM query_table(tbl)
    WHERE NOT clustereval._is_left_out(partition_by) AND clustereval._is_left_out(weight)
    GROUP BY partition_by, label, cluster
    UNION ALL
    SELECT
      partition_by, label, cluster,
      CAST(
        clustereval._check_total_weight(
          SUM(clustereval._check_weight(weight)),
          SUM(SUM(clustereval._check_weight(weight))) OVER (PARTITION BY partition_by)
        ) AS BIGINT
      )
    FROM query_table(tbl)
    WHERE NOT clustereval._is_left_out(weight)
    GROUP BY partition_by, label, cluster
    UNION ALL
    SELECT NULL, NULL, NULL, CAST(COUNT(*) AS BIGINT)
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_columns(
      clustereval._check_noise(clustereval._is_absent(partition_by), noise, cluster),
      [
        clustereval._given_column('partition_by', partition_by),
        clustereval._given_column('weight', weight),
        clustereval._given_column('label', label),
        clustereval._given_column('cluster', cluster)
      ]
    )
  )
  SELECT * FROM clustereval._flag_groups(__ce_group_counts, noise, noise_as);

-- The rows of _row_groups, made from a saved contingency table instead of rows, or from several
-- below each other. n_dropped and n_noise are NULL, because the cells do not tell how many rows
-- were left out. Without cells, the result is one row without any rows. to_sql uses this macro in
-- place of _row_groups.
CREATE OR REPLACE MACRO clustereval._groups_of_cells(tbl) AS TABLE
  -- The cells of the saved tables, of which equal ones are merged.
  WITH __ce_merged_cells AS (
    SELECT
      cell.partition_key,
      cell.label,
      cell."cluster" AS cluster,
      CAST(SUM(cell.n * cell.copies) AS BIGINT) AS rows
    FROM query_table(tbl) AS cell
    GROUP BY cell.partition_key, cell.label, cell."cluster"
    HAVING SUM(cell.n * cell.copies) > 0
  )
  SELECT
    partition_key,
    label,
    cluster,
    CASE WHEN cluster IS NULL THEN 1 ELSE rows END AS n,
    CASE WHEN cluster IS NULL THEN rows ELSE 1 END AS copies,
    CAST(NULL AS BIGINT) AS n_dropped,
    CAST(NULL AS BIGINT) AS n_noise
  FROM __ce_merged_cells
  UNION ALL
  -- These counts are always 0. A literal 0 does not work, because DataFusion would evaluate a
  -- later filter on it below HAVING.
  SELECT
    NULL, NULL, NULL, CAST(COUNT(*) AS BIGINT), CAST(COUNT(*) AS BIGINT),
    CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)
  FROM __ce_merged_cells
  HAVING COUNT(*) = 0;

-- One row per partition_key (value of partition_by) with its numbers of rows: total (rows that are
-- scored), n_dropped (without a label or a cluster) and n_noise. A partition has a row even if all
-- its rows are left out.
CREATE OR REPLACE MACRO clustereval._row_counts(groups) AS TABLE
  SELECT
    partition_key,
    CAST(SUM(n * copies) AS BIGINT) AS total,
    CAST(SUM(n_dropped) AS BIGINT) AS n_dropped,
    CAST(SUM(n_noise) AS BIGINT) AS n_noise
  FROM query_table(groups)
  GROUP BY partition_key;

-- One row per (partition_key, label) with its size: partition_key, label, label_size, n_cells and
-- label_majority_n.
CREATE OR REPLACE MACRO clustereval._label_sizes(cells) AS TABLE
  SELECT
    partition_key,
    label,
    CAST(SUM(n * copies) AS BIGINT) AS label_size,
    CAST(SUM(copies) AS BIGINT) AS n_cells,
    MAX(n) AS label_majority_n
  FROM query_table(cells)
  GROUP BY partition_key, label;

-- One row per (partition_key, cluster) with its size: partition_key, cluster, cluster_size, n_cells
-- (its contingency cells), cluster_majority_n, the rows of the largest of these, and copies, 1. The
-- singletons of a partition are one row, with cluster NULL, size 1, and their number as copies.
CREATE OR REPLACE MACRO clustereval._cluster_sizes(cells) AS TABLE
  SELECT
    partition_key,
    cluster,
    CASE WHEN cluster IS NULL THEN 1 ELSE CAST(SUM(n) AS BIGINT) END AS cluster_size,
    CASE WHEN cluster IS NULL THEN 1 ELSE COUNT(*) END AS n_cells,
    CASE WHEN cluster IS NULL THEN CAST(SUM(copies) AS BIGINT) ELSE 1 END AS copies,
    MAX(n) AS cluster_majority_n
  FROM query_table(cells)
  GROUP BY partition_key, cluster;

-- One row per contingency cell with the sizes of its label and its cluster.
CREATE OR REPLACE MACRO clustereval._sized_cells(cells, label_sizes, cluster_sizes) AS TABLE
  SELECT
    cell.partition_key,
    cell.label,
    cell.cluster,
    cell.n,
    cell.copies,
    labels.label_size,
    clusters.cluster_size
  FROM query_table(cells) AS cell
  JOIN query_table(label_sizes) AS labels
    ON labels.partition_key IS NOT DISTINCT FROM cell.partition_key
    AND labels.label = cell.label
  JOIN query_table(cluster_sizes) AS clusters
    ON clusters.partition_key IS NOT DISTINCT FROM cell.partition_key
    AND clusters.cluster IS NOT DISTINCT FROM cell.cluster;

-- One row per partition_key with sums over its labels: n_labels; label_pairs, the ordered pairs of
-- rows with the same label; and in_majority_clusters, the rows in the majority cluster of their
-- label.
CREATE OR REPLACE MACRO clustereval._label_totals(label_sizes) AS TABLE
  SELECT
    partition_key,
    CAST(COUNT(*) AS BIGINT) AS n_labels,
    SUM(clustereval._count_ordered_pairs(label_size)) AS label_pairs,
    SUM(label_majority_n) AS in_majority_clusters
  FROM query_table(label_sizes)
  GROUP BY partition_key;

-- One row per partition_key with sums over its clusters: n_clusters; cluster_pairs, the ordered
-- pairs of rows in the same cluster; and in_majority_labels, the rows with the majority label of
-- their cluster.
CREATE OR REPLACE MACRO clustereval._cluster_totals(cluster_sizes) AS TABLE
  SELECT
    partition_key,
    CAST(SUM(copies) AS BIGINT) AS n_clusters,
    SUM(clustereval._count_ordered_pairs(cluster_size) * copies) AS cluster_pairs,
    SUM(cluster_majority_n * copies) AS in_majority_labels
  FROM query_table(cluster_sizes)
  GROUP BY partition_key;

-- Unordered pairs of rows: tp, of the same label and cluster; fp, of the same cluster only; fn, of
-- the same label only; tn, of neither. total is the number of rows; the others are the ordered
-- pairs in the same cell, with the same label, and in the same cluster.
CREATE OR REPLACE MACRO clustereval._tp(total, cell_pairs, label_pairs, cluster_pairs) AS
  clustereval._halve(cell_pairs);
CREATE OR REPLACE MACRO clustereval._fp(total, cell_pairs, label_pairs, cluster_pairs) AS
  clustereval._halve(cluster_pairs - cell_pairs);
CREATE OR REPLACE MACRO clustereval._fn(total, cell_pairs, label_pairs, cluster_pairs) AS
  clustereval._halve(label_pairs - cell_pairs);
CREATE OR REPLACE MACRO clustereval._tn(total, cell_pairs, label_pairs, cluster_pairs) AS
  clustereval._halve(
    clustereval._count_ordered_pairs(total) - label_pairs - cluster_pairs + cell_pairs
  );

---------------------------------------------------------------------------------------------------
-- Cells, sizes and pairs as aggregates of the columns label and cluster, for macros that are used
-- in a SELECT list. A subquery over an aggregate's value would be joined back on that value, a map
-- of all cells, so these are lists and lambdas throughout. list_transform([x], lambda y: ...)[1]
-- names x inside the expression.
---------------------------------------------------------------------------------------------------

-- counts, a histogram with keys {key: x}. Raises an error if two keys are equal to DuckDB, as 'a'
-- and 'A' are in a column with COLLATE NOCASE: GROUP BY counts them as one key, but a histogram as
-- two.
CREATE OR REPLACE MACRO clustereval._check_keys_differ(counts, parameter) AS
  list_transform(
    list_transform(
      [{
        'counts': counts,
        'keys': list_sort(
          list_transform(map_keys(counts), lambda __ce_key: __ce_key['key']), 'ASC', 'NULLS LAST'
        )
      }],
      lambda __ce_call: {
        'counts': __ce_call['counts'],
        'equal': list_filter(
          list_zip(__ce_call['keys'], __ce_call['keys'][2:]),
          lambda __ce_pair: __ce_pair[1] = __ce_pair[2]
        )[1]
      }
    ),
    lambda __ce_call: CASE
      WHEN __ce_call['equal'] IS NOT NULL
      THEN clustereval._raise(concat(
        parameter, ': expected values that differ to DuckDB, got ''',
        clustereval._show_value(__ce_call['equal'][1]), ''' and ''',
        clustereval._show_value(__ce_call['equal'][2]), ''', equal by the collation; pass lower(',
        parameter, ') to count them as one, or ', parameter, ' COLLATE C to tell them apart'
      ))
      ELSE __ce_call['counts']
    END
  )[1];

-- x, the value of a label or cluster, in a form that is the same for all equal values. A histogram
-- would otherwise count the intervals '24 hours' and '1 day' separately. An interval is converted
-- to text first, so that the expression has a type for every x.
CREATE OR REPLACE MACRO clustereval._one_form(x) AS
  CASE
    WHEN typeof(x) = 'INTERVAL'
    THEN clustereval._cast_like(normalized_interval(TRY_CAST(CAST(x AS VARCHAR) AS INTERVAL)), x)
    ELSE x
  END;

-- x, any value. Raises an error for a label or cluster with a fault of every column, or with
-- intervals inside lists or structs, for which _one_form has no form. An aggregate, since an error
-- per row would keep DuckDB from simplifying _one_form. _raise(NULL) is NULL.
CREATE OR REPLACE MACRO clustereval._check_labels(x, label, cluster) AS
  coalesce(
    clustereval._raise(list_aggregate(
      list_transform(
        [
          clustereval._given_column('label', label),
          clustereval._given_column('cluster', cluster)
        ],
        lambda __ce_given: coalesce(
          clustereval._column_fault(__ce_given),
          CASE
            WHEN contains(__ce_given['type'], 'INTERVAL') AND __ce_given['type'] <> 'INTERVAL'
              AND NOT starts_with(__ce_given['type'], 'ENUM(')
            THEN concat(
              __ce_given['parameter'], ': a column of type ', __ce_given['type'],
              ' cannot be grouped'
            )
          END
        )
      ),
      'any_value'
    )),
    x
  );

-- Aggregate: {cells, labels, clusters}, maps from {label, cluster}, {key: label} and {key: cluster}
-- to numbers of rows. Rows with a NULL are left out. The keys are structs because a bare NaN is not
-- a reliable key; fields are read as x['field'], since HAVING takes x.field for a column.
CREATE OR REPLACE MACRO clustereval._histograms(label, cluster) AS {
  'cells': clustereval._check_labels(
    histogram(
      CASE
        WHEN label IS NOT NULL AND cluster IS NOT NULL
        THEN {'label': clustereval._one_form(label), 'cluster': clustereval._one_form(cluster)}
      END
    ),
    label, cluster
  ),
  'labels': clustereval._check_keys_differ(
    histogram(
      CASE
        WHEN label IS NOT NULL AND cluster IS NOT NULL THEN {'key': clustereval._one_form(label)}
      END
    ),
    'label'
  ),
  'clusters': clustereval._check_keys_differ(
    histogram(
      CASE
        WHEN label IS NOT NULL AND cluster IS NOT NULL THEN {'key': clustereval._one_form(cluster)}
      END
    ),
    'cluster'
  )
};

-- Number of rows in a histogram.
CREATE OR REPLACE MACRO clustereval._histogram_total(counts) AS
  CAST(list_sum(map_values(counts)) AS BIGINT);

-- List of the numbers of rows in a histogram, in the order of the keys.
CREATE OR REPLACE MACRO clustereval._histogram_sizes(counts) AS
  list_transform(
    list_sort(map_entries(counts), 'ASC', 'NULLS LAST'),
    lambda __ce_entry: CAST(__ce_entry['value'] AS BIGINT)
  );

-- Number of ordered pairs of rows that share a key of a histogram.
CREATE OR REPLACE MACRO clustereval._sum_ordered_pairs(counts) AS
  list_sum(list_transform(
    clustereval._histogram_sizes(counts), lambda __ce_n: clustereval._count_ordered_pairs(__ce_n)
  ));

-- {total, tp, fp, fn, tn, fn_minus_fp}: the number of rows, and unordered pairs of rows as DOUBLE,
-- from {total, cells, labels, clusters}: the number of rows, and the ordered pairs of rows in the
-- same cell, label and cluster. fn_minus_fp is computed from integers.
CREATE OR REPLACE MACRO clustereval._pairs_of_sums(sums) AS
  list_transform(
    [sums],
    lambda __ce_sums: {
      'total': __ce_sums['total'],
      'tp': CAST(
        clustereval._tp(
          __ce_sums['total'], __ce_sums['cells'], __ce_sums['labels'], __ce_sums['clusters']
        ) AS DOUBLE
      ),
      'fp': CAST(
        clustereval._fp(
          __ce_sums['total'], __ce_sums['cells'], __ce_sums['labels'], __ce_sums['clusters']
        ) AS DOUBLE
      ),
      'fn': CAST(
        clustereval._fn(
          __ce_sums['total'], __ce_sums['cells'], __ce_sums['labels'], __ce_sums['clusters']
        ) AS DOUBLE
      ),
      'tn': CAST(
        clustereval._tn(
          __ce_sums['total'], __ce_sums['cells'], __ce_sums['labels'], __ce_sums['clusters']
        ) AS DOUBLE
      ),
      'fn_minus_fp': CAST(
        clustereval._halve(__ce_sums['labels'] - __ce_sums['clusters']) AS DOUBLE
      )
    }
  )[1];

-- Aggregate: the struct of _pairs_of_sums.
CREATE OR REPLACE MACRO clustereval._pair_statistics(label, cluster) AS
  list_transform(
    [clustereval._histograms(label, cluster)],
    lambda __ce_histograms: clustereval._pairs_of_sums({
      'total': clustereval._histogram_total(__ce_histograms['cells']),
      'cells': clustereval._sum_ordered_pairs(__ce_histograms['cells']),
      'labels': clustereval._sum_ordered_pairs(__ce_histograms['labels']),
      'clusters': clustereval._sum_ordered_pairs(__ce_histograms['clusters'])
    })
  )[1];

-- List of pairs of a cell and {size, rank}, in place of a join: the rows of the cell's key, by the
-- map counts from {key}, and the number of the cell, from 1, among those with this key. cells is a
-- list of structs sorted by their field key, a label or, in all of them, a cluster.
CREATE OR REPLACE MACRO clustereval._cells_with_key_sizes(cells, counts) AS
  list_zip(
    cells,
    flatten(list_transform(
      list_zip(
        clustereval._histogram_sizes(list_aggregate(
          list_transform(cells, lambda __ce_cell: {'key': __ce_cell['key']}), 'histogram'
        )),
        clustereval._histogram_sizes(counts)
      ),
      lambda __ce_pair: list_transform(
        range(1, __ce_pair[1] + 1), lambda __ce_rank: {'size': __ce_pair[2], 'rank': __ce_rank}
      )
    ))
  );

-- List of the contingency cells as {key: label, minus_n: -n, other_key: cluster}, sorted. counts is
-- the map of cells.
CREATE OR REPLACE MACRO clustereval._cells_by_label(counts) AS
  list_sort(list_transform(
    map_entries(counts),
    lambda __ce_entry: {
      'key': __ce_entry['key']['label'],
      'minus_n': -CAST(__ce_entry['value'] AS BIGINT),
      'other_key': __ce_entry['key']['cluster']
    }
  ), 'ASC', 'NULLS LAST');

-- List of the contingency cells as {key: cluster, minus_n: -n, other_key: label, label_size,
-- is_label_majority}, sorted. is_label_majority is TRUE for one largest cell of each label.
CREATE OR REPLACE MACRO clustereval._cells_by_cluster(cells_by_label, label_counts) AS
  list_sort(list_transform(
    clustereval._cells_with_key_sizes(cells_by_label, label_counts),
    lambda __ce_pair: {
      'key': __ce_pair[1].other_key,
      'minus_n': __ce_pair[1].minus_n,
      'other_key': __ce_pair[1].key,
      'label_size': __ce_pair[2].size,
      'is_label_majority': __ce_pair[2].rank = 1
    }
  ), 'ASC', 'NULLS LAST');

-- List of the contingency cells as in _cells_as_list, from that of _cells_by_cluster.
CREATE OR REPLACE MACRO clustereval._cells_with_sizes(cells_by_cluster, cluster_counts) AS
  list_transform(
    clustereval._cells_with_key_sizes(cells_by_cluster, cluster_counts),
    lambda __ce_pair: {
      'label': __ce_pair[1].other_key,
      'cluster': __ce_pair[1].key,
      'n': -__ce_pair[1].minus_n,
      'label_size': __ce_pair[1].label_size,
      'cluster_size': __ce_pair[2].size,
      'is_label_majority': __ce_pair[1].is_label_majority,
      'is_cluster_majority': __ce_pair[2].rank = 1
    }
  );

-- Aggregate: {total, cells, labels, clusters}. total is the number of rows without a NULL. cells is
-- a list of {label, cluster, n, label_size, cluster_size, is_label_majority, is_cluster_majority},
-- where the flags mark one largest cell of each label and of each cluster. labels and clusters are
-- the maps of _histograms.
CREATE OR REPLACE MACRO clustereval._cells_as_list(label, cluster) AS
  list_transform(
    list_transform(
      list_transform(
        list_transform(
          [clustereval._histograms(label, cluster)],
          lambda __ce_histograms: {
            'counts': __ce_histograms,
            'cells': clustereval._cells_by_label(__ce_histograms['cells'])
          }
        ),
        lambda __ce_step: {
          'counts': __ce_step['counts'],
          'cells': clustereval._cells_by_cluster(__ce_step['cells'], __ce_step['counts']['labels'])
        }
      ),
      lambda __ce_step: {
        'counts': __ce_step['counts'],
        'cells': clustereval._cells_with_sizes(__ce_step['cells'], __ce_step['counts']['clusters'])
      }
    ),
    lambda __ce_step: {
      'total': clustereval._histogram_total(__ce_step['counts']['cells']),
      'cells': __ce_step['cells'],
      'labels': __ce_step['counts']['labels'],
      'clusters': __ce_step['counts']['clusters']
    }
  )[1];

-- The struct of _pairs_of_sums, from that of _cells_as_list.
CREATE OR REPLACE MACRO clustereval._pairs_of_cells(sides) AS
  clustereval._pairs_of_sums({
    'total': sides['total'],
    'cells': list_sum(list_transform(
      sides['cells'], lambda __ce_cell: clustereval._count_ordered_pairs(__ce_cell['n'])
    )),
    'labels': clustereval._sum_ordered_pairs(sides['labels']),
    'clusters': clustereval._sum_ordered_pairs(sides['clusters'])
  });

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Contingency table of the columns label (true class) and cluster (assigned cluster) of the table
-- tbl, sparse: one row per cell that has rows, with partition_key (the value of partition_by),
-- label, cluster, n (its rows) and copies (1). weight is a column of row multiplicities, noise the
-- value of cluster that marks noise. With noise_as := 'drop' noise is left out. With 'singletons'
-- the noise of a label is one row with cluster NULL, n 1 and the number of its rows as copies. Rows
-- with a NULL label or cluster are left out.
-- Examples:
--   FROM clustereval.contingency_matrix(assignments, species, cluster);
--   FROM clustereval.contingency_matrix(
--     assignments, species, cluster, noise := -1, noise_as := 'drop'
--   );
CREATE OR REPLACE MACRO clustereval.contingency_matrix(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  )
  SELECT
    partition_key,
    cell.label,
    cell.cluster,
    n,
    CAST(copies AS BIGINT) AS copies
  FROM __ce_groups AS cell
  WHERE copies > 0
    AND clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  ORDER BY partition_key ASC NULLS LAST, cell.label ASC NULLS LAST, cell.cluster ASC NULLS LAST;

-- One row per partition_key (value of partition_by): tp, fp, fn and tn, the numbers of unordered
-- pairs of rows of the table tbl with the same label and cluster, the same cluster only, the same
-- label only, and neither, as DECIMAL(38, 0). label and cluster are the columns of the true class
-- and the assigned cluster, weight a column of row multiplicities, and noise the value of cluster
-- that marks noise; noise_as keeps its rows as a 'cluster', leaves them out ('drop') or counts
-- each as a cluster of its own ('singletons'). Rows with a NULL label or cluster are left out.
-- Examples:
--   FROM clustereval.pair_counts(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.pair_counts(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  -- The groups that are scored, which are the cells of the contingency table.
  cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  label_sizes AS (SELECT * FROM clustereval._label_sizes(cells)),
  cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  -- One row per partition with the ordered pairs of rows in the same cell.
  cell_totals AS (
    SELECT
      partition_key,
      SUM(clustereval._count_ordered_pairs(n) * copies) AS cell_pairs
    FROM cells
    GROUP BY partition_key
  ),
  -- One row per partition with the ordered pairs of rows in the same cell, label and cluster.
  totals AS (
    SELECT
      counts.partition_key,
      counts.total,
      COALESCE(cells.cell_pairs, clustereval._widen(0)) AS cell_pairs,
      COALESCE(labels.label_pairs, clustereval._widen(0)) AS label_pairs,
      COALESCE(clusters.cluster_pairs, clustereval._widen(0)) AS cluster_pairs
    FROM clustereval._row_counts(__ce_groups) AS counts
    LEFT JOIN cell_totals AS cells ON cells.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._label_totals(label_sizes) AS labels
      ON labels.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._cluster_totals(cluster_sizes) AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
  )
  SELECT
    partition_key,
    clustereval._tp(total, cell_pairs, label_pairs, cluster_pairs) AS tp,
    clustereval._fp(total, cell_pairs, label_pairs, cluster_pairs) AS fp,
    clustereval._fn(total, cell_pairs, label_pairs, cluster_pairs) AS fn,
    clustereval._tn(total, cell_pairs, label_pairs, cluster_pairs) AS tn
  FROM totals
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY partition_key ASC NULLS LAST;
