-- contingency: the cells of the contingency table, the sizes of labels and clusters, the counts of pairs.
--
-- A cell stands for `copies` equal cells of `n` rows each: 1 everywhere, except for noise that is
-- counted as singletons. Every sum over cells is weighted by it.

---------------------------------------------------------------------------------------------------
-- Cells, labels, clusters
---------------------------------------------------------------------------------------------------

-- One row for each (partition, label, cluster) there is, dropped rows and noise included: the only
-- macro of this side that reads the rows. What is left out has copies = 0. Of the first three branches
-- one is left in the plan for most calls, since a condition on a literal is decided before it runs: a
-- NULL key or a sum of ones would make the one expensive GROUP BY half as slow again. The last
-- branch stands for the one partition where there is no partition_by (__ce_whole), so that a table
-- without rows still has it.
CREATE OR REPLACE MACRO clustereval._row_groups(
  tbl, label, cluster, weight, partition_by, noise, noise_as
) AS TABLE
  WITH __ce_counted AS (
    SELECT
      NULL AS __ce_partition,
      label AS __ce_label,
      cluster AS __ce_cluster,
      CAST(COUNT(*) AS BIGINT) AS __ce_n,
      FALSE AS __ce_whole
    FROM query_table(tbl)
    WHERE partition_by IS NULL AND clustereval._is_unweighted(weight)
    GROUP BY label, cluster
    UNION ALL
    SELECT partition_by, label, cluster, CAST(COUNT(*) AS BIGINT), FALSE
    FROM query_table(tbl)
    WHERE partition_by IS NOT NULL AND clustereval._is_unweighted(weight)
    GROUP BY partition_by, label, cluster
    UNION ALL
    SELECT
      partition_by, label, cluster,
      CAST(SUM(clustereval._check_weight(weight)) AS BIGINT),
      FALSE
    FROM query_table(tbl)
    WHERE NOT clustereval._is_unweighted(weight)
    GROUP BY partition_by, label, cluster
    UNION ALL
    SELECT NULL, NULL, NULL, CAST(COUNT(*) AS BIGINT), TRUE
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_column(
      clustereval._check_column(
        clustereval._check_columns(clustereval._is_absent(partition_by), label, cluster),
        'weight', weight
      ),
      'partition_by', partition_by
    )
  ),
  __ce_flagged AS (
    SELECT
      __ce_partition, __ce_label, __ce_cluster, __ce_n, __ce_whole,
      __ce_label IS NOT NULL AND __ce_cluster IS NOT NULL AS __ce_known,
      clustereval._check_noise(
        clustereval._is_noise(__ce_cluster, noise), noise, __ce_cluster
      ) AS __ce_noisy
    FROM __ce_counted
  )
  SELECT
    __ce_partition,
    __ce_label,
    CASE WHEN __ce_noisy AND noise_as = 'singletons' THEN NULL ELSE __ce_cluster END AS __ce_cluster,
    CASE WHEN __ce_noisy AND noise_as = 'singletons' THEN 1 ELSE __ce_n END AS __ce_n,
    CASE
      WHEN NOT __ce_known OR __ce_n = 0 OR (__ce_noisy AND noise_as = 'drop') THEN 0
      WHEN __ce_noisy AND noise_as = 'singletons' THEN __ce_n
      ELSE 1
    END AS __ce_copies,
    CASE WHEN __ce_known THEN 0 ELSE __ce_n END AS __ce_dropped,
    CASE WHEN __ce_known AND __ce_noisy THEN __ce_n ELSE 0 END AS __ce_noise,
    __ce_whole
  FROM __ce_flagged;

-- One row a partition: its counts of rows. A partition that keeps no row is left out, unless it is
-- the only one because there is no partition_by.
CREATE OR REPLACE MACRO clustereval._row_counts(__ce_groups) AS TABLE
  SELECT
    __ce_partition,
    CAST(SUM(__ce_n * __ce_copies) AS BIGINT) AS __ce_total,
    CAST(SUM(__ce_dropped) AS BIGINT) AS __ce_n_dropped,
    CAST(SUM(__ce_noise) AS BIGINT) AS __ce_n_noise
  FROM query_table(__ce_groups)
  GROUP BY __ce_partition
  HAVING SUM(__ce_copies) > 0 OR COUNT(CASE WHEN __ce_whole THEN 1 END) > 0;

-- One row a label: how large it is, in how many clusters it lies, and its largest cell.
CREATE OR REPLACE MACRO clustereval._label_sizes(__ce_cells) AS TABLE
  SELECT
    __ce_partition,
    __ce_label,
    CAST(SUM(__ce_n * __ce_copies) AS BIGINT) AS __ce_size,
    CAST(SUM(__ce_copies) AS BIGINT) AS __ce_parts,
    MAX(__ce_n) AS __ce_majority_n
  FROM query_table(__ce_cells)
  GROUP BY __ce_partition, __ce_label;

-- One row a cluster, likewise. All singletons of a partition are one row with that many copies.
CREATE OR REPLACE MACRO clustereval._cluster_sizes(__ce_cells) AS TABLE
  SELECT
    __ce_partition,
    __ce_cluster,
    CASE WHEN __ce_cluster IS NULL THEN 1 ELSE CAST(SUM(__ce_n) AS BIGINT) END AS __ce_size,
    CASE WHEN __ce_cluster IS NULL THEN 1 ELSE COUNT(*) END AS __ce_parts,
    CASE WHEN __ce_cluster IS NULL THEN CAST(SUM(__ce_copies) AS BIGINT) ELSE 1 END AS __ce_copies,
    MAX(__ce_n) AS __ce_majority_n
  FROM query_table(__ce_cells)
  GROUP BY __ce_partition, __ce_cluster;

-- Every cell with the size of its label and of its cluster.
CREATE OR REPLACE MACRO clustereval._sized_cells(__ce_cells, __ce_labels, __ce_clusters) AS TABLE
  SELECT
    __ce_x.__ce_partition,
    __ce_x.__ce_label,
    __ce_x.__ce_cluster,
    __ce_x.__ce_n,
    __ce_x.__ce_copies,
    __ce_l.__ce_size AS __ce_a,
    __ce_c.__ce_size AS __ce_b
  FROM query_table(__ce_cells) AS __ce_x
  JOIN query_table(__ce_labels) AS __ce_l
    ON __ce_l.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
    AND __ce_l.__ce_label = __ce_x.__ce_label
  JOIN query_table(__ce_clusters) AS __ce_c
    ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
    AND __ce_c.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster;

-- One row a partition: how many labels there are, the ordered pairs of rows in them, and the rows in
-- their largest cells.
CREATE OR REPLACE MACRO clustereval._label_totals(__ce_labels) AS TABLE
  SELECT
    __ce_partition,
    COUNT(*) AS __ce_n_labels,
    SUM(clustereval._count_ordered_pairs(__ce_size)) AS __ce_in_labels,
    SUM(__ce_majority_n) AS __ce_in_majority_clusters
  FROM query_table(__ce_labels)
  GROUP BY __ce_partition;

-- The same for clusters.
CREATE OR REPLACE MACRO clustereval._cluster_totals(__ce_clusters) AS TABLE
  SELECT
    __ce_partition,
    CAST(SUM(__ce_copies) AS BIGINT) AS __ce_n_clusters,
    SUM(clustereval._count_ordered_pairs(__ce_size) * __ce_copies) AS __ce_in_clusters,
    SUM(__ce_majority_n * __ce_copies) AS __ce_in_majority_labels
  FROM query_table(__ce_clusters)
  GROUP BY __ce_partition;

-- Pairs by what holds them together, from ordered pairs of n rows in cells, labels and clusters.
CREATE OR REPLACE MACRO clustereval._tp(n, in_cells, in_labels, in_clusters) AS
  clustereval._halve(in_cells);
CREATE OR REPLACE MACRO clustereval._fp(n, in_cells, in_labels, in_clusters) AS
  clustereval._halve(in_clusters - in_cells);
CREATE OR REPLACE MACRO clustereval._fn(n, in_cells, in_labels, in_clusters) AS
  clustereval._halve(in_labels - in_cells);
CREATE OR REPLACE MACRO clustereval._tn(n, in_cells, in_labels, in_clusters) AS
  clustereval._halve(clustereval._count_ordered_pairs(n) - in_labels - in_clusters + in_cells);

---------------------------------------------------------------------------------------------------
-- The same statistics as aggregates, for macros that stand in a SELECT list. A subquery over an
-- aggregate's value would be joined back on that value, a map of all cells, so these are lists and
-- lambdas throughout. list_transform([x], lambda y: ...)[1] names x inside the expression.
---------------------------------------------------------------------------------------------------

-- Rows by cell, label and cluster, without those that lack a label or a cluster. The keys are structs
-- because a bare NaN is no reliable key; fields are read as x['field'], since HAVING takes x.field for
-- a column.
CREATE OR REPLACE MACRO clustereval._histograms(label, cluster) AS {
  'cells': clustereval._check_columns(
    histogram(
      CASE
        WHEN label IS NOT NULL AND cluster IS NOT NULL THEN {'label': label, 'cluster': cluster}
      END
    ),
    label, cluster
  ),
  'labels': histogram(
    CASE WHEN label IS NOT NULL AND cluster IS NOT NULL THEN {'key': label} END
  ),
  'clusters': histogram(
    CASE WHEN label IS NOT NULL AND cluster IS NOT NULL THEN {'key': cluster} END
  )
};

-- The counts of a histogram, in the order of its keys.
CREATE OR REPLACE MACRO clustereval._histogram_sizes(counts) AS
  list_transform(
    list_sort(map_entries(counts)), lambda __ce_e: CAST(__ce_e['value'] AS BIGINT)
  );

CREATE OR REPLACE MACRO clustereval._sum_ordered_pairs(counts) AS
  list_sum(list_transform(
    clustereval._histogram_sizes(counts), lambda __ce_n: clustereval._count_ordered_pairs(__ce_n)
  ));

-- {n, tp, fp, fn, tn, fn_minus_fp}: rows and counts of pairs.
CREATE OR REPLACE MACRO clustereval._pair_statistics(label, cluster) AS
  list_transform(
    list_transform(
      [clustereval._histograms(label, cluster)],
      lambda __ce_h: {
        'n': CAST(list_sum(map_values(__ce_h['cells'])) AS BIGINT),
        'in_cells': clustereval._sum_ordered_pairs(__ce_h['cells']),
        'in_labels': clustereval._sum_ordered_pairs(__ce_h['labels']),
        'in_clusters': clustereval._sum_ordered_pairs(__ce_h['clusters'])
      }
    ),
    lambda __ce_s: {
      'n': __ce_s['n'],
      'tp': CAST(
        clustereval._tp(
          __ce_s['n'], __ce_s['in_cells'], __ce_s['in_labels'], __ce_s['in_clusters']
        ) AS DOUBLE
      ),
      'fp': CAST(
        clustereval._fp(
          __ce_s['n'], __ce_s['in_cells'], __ce_s['in_labels'], __ce_s['in_clusters']
        ) AS DOUBLE
      ),
      'fn': CAST(
        clustereval._fn(
          __ce_s['n'], __ce_s['in_cells'], __ce_s['in_labels'], __ce_s['in_clusters']
        ) AS DOUBLE
      ),
      'tn': CAST(
        clustereval._tn(
          __ce_s['n'], __ce_s['in_cells'], __ce_s['in_labels'], __ce_s['in_clusters']
        ) AS DOUBLE
      ),
      'fn_minus_fp': CAST(
        clustereval._halve(__ce_s['in_labels'] - __ce_s['in_clusters']) AS DOUBLE
      )
    }
  )[1];

-- For sorted keys of cells and the histogram they were counted in: each cell's total there, and its
-- place among the cells with that key.
CREATE OR REPLACE MACRO clustereval._repeat_totals(keys, counts) AS
  flatten(list_transform(
    list_zip(
      clustereval._histogram_sizes(list_aggregate(
        list_transform(keys, lambda __ce_k: {'key': __ce_k}), 'histogram'
      )),
      clustereval._histogram_sizes(counts)
    ),
    lambda __ce_p: list_transform(
      range(1, __ce_p[1] + 1), lambda __ce_i: {'size': __ce_p[2], 'place': __ce_i}
    )
  ));

-- Cells sorted by key, then from large to small; `other` is what they will be sorted by next.
CREATE OR REPLACE MACRO clustereval._sorted_cells(counts) AS
  list_sort(list_transform(
    map_entries(counts),
    lambda __ce_e: {
      'key': __ce_e['key']['label'], 'less': -CAST(__ce_e['value'] AS BIGINT), 'other': __ce_e['key']['cluster']
    }
  ));

-- Cells with the size a of their label, and whether they are its largest cell, sorted by cluster.
CREATE OR REPLACE MACRO clustereval._cells_with_labels(cells, counts) AS
  list_sort(list_transform(
    list_zip(
      cells, clustereval._repeat_totals(list_transform(cells, lambda __ce_c: __ce_c['key']), counts)
    ),
    lambda __ce_z: {
      'key': __ce_z[1].other, 'less': __ce_z[1].less, 'other': __ce_z[1].key,
      'a': __ce_z[2].size, 'tops_label': __ce_z[2].place = 1
    }
  ));

-- Cells as {label, n, a, b, tops_label, tops_cluster}.
CREATE OR REPLACE MACRO clustereval._cells_with_both(cells, counts) AS
  list_transform(
    list_zip(
      cells, clustereval._repeat_totals(list_transform(cells, lambda __ce_c: __ce_c['key']), counts)
    ),
    lambda __ce_z: {
      'label': __ce_z[1].other, 'n': -__ce_z[1].less, 'a': __ce_z[1].a, 'b': __ce_z[2].size,
      'tops_label': __ce_z[1].tops_label, 'tops_cluster': __ce_z[2].place = 1
    }
  );

-- {n, cells, labels, clusters}: rows, sized cells and the two histograms.
CREATE OR REPLACE MACRO clustereval._cell_statistics(label, cluster) AS
  list_transform(
    list_transform(
      list_transform(
        list_transform(
          [clustereval._histograms(label, cluster)],
          lambda __ce_h: {'h': __ce_h, 'cells': clustereval._sorted_cells(__ce_h['cells'])}
        ),
        lambda __ce_s: {
          'h': __ce_s['h'], 'cells': clustereval._cells_with_labels(__ce_s['cells'], __ce_s['h']['labels'])
        }
      ),
      lambda __ce_s: {
        'h': __ce_s['h'], 'cells': clustereval._cells_with_both(__ce_s['cells'], __ce_s['h']['clusters'])
      }
    ),
    lambda __ce_s: {
      'n': CAST(list_sum(map_values(__ce_s['h']['cells'])) AS BIGINT),
      'cells': __ce_s['cells'], 'labels': __ce_s['h']['labels'], 'clusters': __ce_s['h']['clusters']
    }
  )[1];

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- The contingency table of labels and clusters, sparse: one row for each cell that has rows.
-- Examples:
--   FROM clustereval.contingency_matrix(assignments, species, cluster);
--   FROM clustereval.contingency_matrix(assignments, species, cluster, noise := -1, noise_as := 'drop');
CREATE OR REPLACE MACRO clustereval.contingency_matrix(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := 'cluster'
) AS TABLE
  WITH __ce_groups AS (
    SELECT * FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_label AS label,
    __ce_cluster AS cluster,
    __ce_n AS n,
    CAST(__ce_copies AS BIGINT) AS copies
  FROM __ce_groups
  WHERE __ce_copies > 0
    AND clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  ORDER BY __ce_partition, __ce_label, __ce_cluster;
COMMENT ON MACRO TABLE clustereval.contingency_matrix IS
'Sparse contingency table: one row for each cell of label and cluster that has rows, n of them. copies is 1; with noise_as := ''singletons'' a label has one row with cluster NULL, n 1 and copies = how many noise rows. Rows with a NULL label or cluster are left out; weight is a row''s multiplicity, a whole number >= 0. Source: Pearson (1904), On the theory of contingency.';

-- Counts of unordered pairs of rows: together or apart by label and by cluster.
-- Examples:
--   FROM clustereval.pair_counts(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.pair_counts(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := 'cluster'
) AS TABLE
  WITH __ce_groups AS (
    SELECT * FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_row_counts AS (SELECT * FROM clustereval._row_counts(__ce_groups)),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_labels AS (SELECT * FROM clustereval._label_sizes(__ce_cells)),
  __ce_clusters AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_label_totals AS (SELECT * FROM clustereval._label_totals(__ce_labels)),
  __ce_cluster_totals AS (SELECT * FROM clustereval._cluster_totals(__ce_clusters)),
  __ce_cell_totals AS (
    SELECT
      __ce_partition, SUM(clustereval._count_ordered_pairs(__ce_n) * __ce_copies) AS __ce_in_cells
    FROM __ce_cells
    GROUP BY __ce_partition
  ),
  __ce_statistics AS (
    SELECT
      __ce_r.__ce_partition,
      __ce_r.__ce_total,
      COALESCE(__ce_x.__ce_in_cells, clustereval._widen(0)) AS __ce_in_cells,
      COALESCE(__ce_l.__ce_in_labels, clustereval._widen(0)) AS __ce_in_labels,
      COALESCE(__ce_c.__ce_in_clusters, clustereval._widen(0)) AS __ce_in_clusters
    FROM __ce_row_counts AS __ce_r
    LEFT JOIN __ce_cell_totals AS __ce_x
      ON __ce_x.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_label_totals AS __ce_l
      ON __ce_l.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_cluster_totals AS __ce_c
      ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  )
  SELECT
    __ce_partition AS partition_key,
    clustereval._tp(__ce_total, __ce_in_cells, __ce_in_labels, __ce_in_clusters) AS tp,
    clustereval._fp(__ce_total, __ce_in_cells, __ce_in_labels, __ce_in_clusters) AS fp,
    clustereval._fn(__ce_total, __ce_in_cells, __ce_in_labels, __ce_in_clusters) AS fn,
    clustereval._tn(__ce_total, __ce_in_cells, __ce_in_labels, __ce_in_clusters) AS tn
  FROM __ce_statistics
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY __ce_partition;
COMMENT ON MACRO TABLE clustereval.pair_counts IS
'Counts of unordered pairs of rows: tp same label and same cluster, fp same cluster only, fn same label only, tn neither; DECIMAL(38,0), exact for 1e10 rows. scikit-learn''s pair_confusion_matrix is [[2 tn, 2 fp], [2 fn, 2 tp]]. No rows: all 0. Source: Hubert and Arabie (1985), Comparing partitions, doi:10.1007/BF01908075.';
