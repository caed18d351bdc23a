-- replication: does another sample of the data give the same clusters?

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per label with two rows or more: __ce_partition, __ce_label and __ce_share, the share of
-- the pairs of its rows that are in one cluster. The parameters name CTEs: __ce_cells has one row
-- per contingency cell, __ce_label_sizes the rows of _label_sizes.
CREATE OR REPLACE MACRO clustereval._pair_shares(__ce_cells, __ce_label_sizes) AS TABLE
  SELECT
    labels.__ce_partition,
    labels.__ce_label,
    clustereval._ratio(
      SUM(clustereval._count_ordered_pairs(cell.__ce_n)),
      clustereval._count_ordered_pairs(MAX(labels.__ce_label_size))
    ) AS __ce_share
  FROM query_table(__ce_label_sizes) AS labels
  JOIN query_table(__ce_cells) AS cell
    ON cell.__ce_partition IS NOT DISTINCT FROM labels.__ce_partition
    AND cell.__ce_label = labels.__ce_label
  WHERE labels.__ce_label_size > 1
  GROUP BY labels.__ce_partition, labels.__ce_label;

-- One row per __ce_partition: __ce_least, the least __ce_share of a label, and __ce_weakest, the
-- label that has it, the lowest of equals. __ce_pair_shares names a CTE of the rows of
-- _pair_shares.
CREATE OR REPLACE MACRO clustereval._weakest_labels(__ce_pair_shares) AS TABLE
  WITH __ce_least_shares AS (
    SELECT *, MIN(__ce_share) OVER (PARTITION BY __ce_partition) AS __ce_least
    FROM query_table(__ce_pair_shares)
  )
  SELECT __ce_partition, MIN(__ce_least) AS __ce_least, MIN(__ce_label) AS __ce_weakest
  FROM __ce_least_shares
  WHERE __ce_share = __ce_least
  GROUP BY __ce_partition;

-- One row per resample, that is, per __ce_partition: __ce_total, its number of rows, and
-- __ce_distance, the share of the ordered pairs of its rows, a row with itself included, that are
-- together in one clustering and apart in the other. __ce_groups names a CTE of the rows of
-- _row_groups.
CREATE OR REPLACE MACRO clustereval._clustering_distances(__ce_groups) AS TABLE
  WITH __ce_row_counts AS (SELECT * FROM clustereval._row_counts(__ce_groups)),
  __ce_cells AS (SELECT * FROM query_table(__ce_groups) WHERE __ce_copies > 0),
  __ce_label_sizes AS (SELECT * FROM clustereval._label_sizes(__ce_cells)),
  __ce_cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_label_totals AS (SELECT * FROM clustereval._label_totals(__ce_label_sizes)),
  __ce_cluster_totals AS (SELECT * FROM clustereval._cluster_totals(__ce_cluster_sizes)),
  __ce_cell_totals AS (
    SELECT __ce_partition, SUM(clustereval._count_ordered_pairs(__ce_n)) AS __ce_cell_pairs
    FROM __ce_cells
    GROUP BY __ce_partition
  )
  SELECT
    counts.__ce_partition,
    counts.__ce_total,
    clustereval._ratio(
      labels.__ce_label_pairs + clusters.__ce_cluster_pairs - 2 * cells.__ce_cell_pairs,
      clustereval._widen(counts.__ce_total) * clustereval._widen(counts.__ce_total)
    ) AS __ce_distance
  FROM __ce_row_counts AS counts
  JOIN __ce_label_totals AS labels
    ON labels.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  JOIN __ce_cluster_totals AS clusters
    ON clusters.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  JOIN __ce_cell_totals AS cells
    ON cells.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Prediction strength of a clustering of test data: the least, over its clusters, of the share of
-- the pairs of a cluster's rows that the clustering of the training data also puts together. label
-- is the test data's own clustering, and cluster the cluster of the nearest training centroid. One
-- row per partition: partition_key, n, n_dropped, n_noise, n_labels, n_clusters,
-- prediction_strength and weakest_label, the label where the share is least (the lowest of equals).
-- Labels of one row have no pairs and are passed over. tbl is a table; weight is a row's
-- multiplicity, noise the value of cluster that marks noise, which noise_as counts as one
-- 'cluster', leaves out ('drop') or counts as 'singletons'.
-- Examples:
--   FROM clustereval.prediction_strength(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.prediction_strength(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_row_counts AS (SELECT * FROM clustereval._row_counts(__ce_groups)),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_label_sizes AS (SELECT * FROM clustereval._label_sizes(__ce_cells)),
  __ce_cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_label_totals AS (SELECT * FROM clustereval._label_totals(__ce_label_sizes)),
  __ce_cluster_totals AS (SELECT * FROM clustereval._cluster_totals(__ce_cluster_sizes)),
  __ce_pair_shares AS (SELECT * FROM clustereval._pair_shares(__ce_cells, __ce_label_sizes)),
  __ce_weakest_labels AS (SELECT * FROM clustereval._weakest_labels(__ce_pair_shares))
  SELECT
    counts.__ce_partition AS partition_key,
    counts.__ce_total AS n,
    counts.__ce_n_dropped AS n_dropped,
    counts.__ce_n_noise AS n_noise,
    COALESCE(labels.__ce_n_labels, 0) AS n_labels,
    COALESCE(clusters.__ce_n_clusters, 0) AS n_clusters,
    weakest.__ce_least AS prediction_strength,
    weakest.__ce_weakest AS weakest_label
  FROM __ce_row_counts AS counts
  LEFT JOIN __ce_label_totals AS labels
    ON labels.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  LEFT JOIN __ce_cluster_totals AS clusters
    ON clusters.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  LEFT JOIN __ce_weakest_labels AS weakest
    ON weakest.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY counts.__ce_partition ASC NULLS LAST;

-- Bootstrap instability: the mean over resamples of the distance of two clusterings of all rows,
-- cluster_1 and cluster_2, each learned from a bootstrap sample of its own. The distance is the
-- share of the n^2 ordered pairs of rows that are together in one and apart in the other. One row
-- per partition: partition_key, n (rows that count, of all resamples), n_dropped (rows with a NULL
-- cluster), n_resamples, instability and std_error (NULL for one resample). tbl is a table with one
-- row per resample and row of the data; cluster_1, cluster_2 and resample are its columns, weight
-- is a row's multiplicity. With partition_by := k, the k with the least instability is chosen.
-- Examples:
--   FROM clustereval.bootstrap_instability(assignments, species, cluster, flower % 3);
CREATE OR REPLACE MACRO clustereval.bootstrap_instability(
  tbl, cluster_1, cluster_2, resample, weight := NULL, partition_by := NULL
) AS TABLE
  -- CASE hides a quoted column from the check of _row_groups, whose error would name label.
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(
      tbl, CASE WHEN TRUE THEN cluster_1 END, CASE WHEN TRUE THEN cluster_2 END, weight,
      {'__ce_partition': partition_by, '__ce_resample': resample}, NULL, 'cluster'
    )
  ),
  __ce_distances AS (
    SELECT
      __ce_partition['__ce_partition'] AS __ce_partition, __ce_total, __ce_distance
    FROM clustereval._clustering_distances(__ce_groups)
    UNION ALL
    SELECT NULL, 0, NULL
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_column(
      clustereval._check_column(
        clustereval._check_column(
          clustereval._check_column(
            clustereval._check_column(
              clustereval._is_absent(partition_by), 'partition_by', partition_by
            ),
            'weight', weight
          ),
          'resample', resample
        ),
        'cluster_2', cluster_2
      ),
      'cluster_1', cluster_1
    )
  ),
  __ce_dropped AS (
    SELECT
      __ce_partition['__ce_partition'] AS __ce_partition,
      CAST(SUM(__ce_n_dropped) AS BIGINT) AS __ce_n_dropped
    FROM __ce_groups
    GROUP BY __ce_partition['__ce_partition']
  ),
  __ce_means AS (
    SELECT
      __ce_partition,
      CAST(SUM(__ce_total) AS BIGINT) AS __ce_total,
      COUNT(__ce_distance) AS __ce_n_resamples,
      clustereval._ratio(clustereval._compensated_sum(__ce_distance), COUNT(__ce_distance))
        AS __ce_mean,
      CASE
        WHEN MIN(__ce_distance) = MAX(__ce_distance) THEN 0.0
        ELSE STDDEV_SAMP(__ce_distance)
      END AS __ce_deviation
    FROM __ce_distances
    GROUP BY __ce_partition
  )
  SELECT
    means.__ce_partition AS partition_key,
    means.__ce_total AS n,
    COALESCE(dropped.__ce_n_dropped, 0) AS n_dropped,
    means.__ce_n_resamples AS n_resamples,
    means.__ce_mean AS instability,
    CASE
      WHEN means.__ce_n_resamples > 1 THEN means.__ce_deviation / SQRT(means.__ce_n_resamples)
    END AS std_error
  FROM __ce_means AS means
  LEFT JOIN __ce_dropped AS dropped
    ON dropped.__ce_partition IS NOT DISTINCT FROM means.__ce_partition
  ORDER BY means.__ce_partition ASC NULLS LAST;
