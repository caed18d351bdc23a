-- replication: whether another sample of the data gives the same clusters.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per partition: least, the smallest share, over its labels of two rows or more, of the
-- pairs of a label's rows that are in the same cluster; and weakest, the lowest label that has it.
CREATE OR REPLACE MACRO clustereval._weakest_labels(cells, label_sizes) AS TABLE
  WITH pair_shares AS (
    SELECT
      labels.partition_key,
      labels.label,
      clustereval._ratio(
        SUM(clustereval._count_ordered_pairs(cell.n)),
        clustereval._count_ordered_pairs(MAX(labels.label_size))
      ) AS share
    FROM query_table(label_sizes) AS labels
    JOIN query_table(cells) AS cell
      ON cell.partition_key IS NOT DISTINCT FROM labels.partition_key
      AND cell.label = labels.label
    WHERE labels.label_size > 1
    GROUP BY labels.partition_key, labels.label
  ),
  least_shares AS (
    SELECT *, MIN(share) OVER (PARTITION BY partition_key) AS least
    FROM pair_shares
  )
  SELECT partition_key, MIN(least) AS least, MIN(label) AS weakest
  FROM least_shares
  WHERE share = least
  GROUP BY partition_key;

-- One row per resample, a partition: total, and distance, the share of the ordered pairs of its
-- rows, including each row with itself, that are together in one clustering and apart in the other.
CREATE OR REPLACE MACRO clustereval._clustering_distances(groups) AS TABLE
  WITH cells AS (SELECT * FROM query_table(groups) WHERE copies > 0),
  label_sizes AS (SELECT * FROM clustereval._label_sizes(cells)),
  cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  cell_totals AS (
    SELECT partition_key, SUM(clustereval._count_ordered_pairs(n)) AS cell_pairs
    FROM cells
    GROUP BY partition_key
  )
  SELECT
    counts.partition_key,
    counts.total,
    clustereval._ratio(
      labels.label_pairs + clusters.cluster_pairs - 2 * cells.cell_pairs,
      clustereval._widen(counts.total) * clustereval._widen(counts.total)
    ) AS distance
  FROM clustereval._row_counts(groups) AS counts
  LEFT JOIN clustereval._label_totals(label_sizes) AS labels
    ON labels.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN clustereval._cluster_totals(cluster_sizes) AS clusters
    ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN cell_totals AS cells ON cells.partition_key IS NOT DISTINCT FROM counts.partition_key;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Prediction strength of a clustering of test data: the smallest, over its clusters, of the share
-- of the pairs of a cluster's rows that the clustering of the training data also puts together.
-- label is the test data's own clustering, and cluster the cluster of the nearest training
-- centroid. One row per partition: partition_key, n, n_dropped, n_noise, n_labels, n_clusters,
-- prediction_strength and weakest_label, the label where the share is smallest (the lowest of
-- several such labels). Labels of one row have no pairs and are skipped. tbl is a table; weight is
-- a row's multiplicity, noise the value of cluster that marks noise; noise_as counts its rows as
-- one 'cluster', leaves them out ('drop') or counts them as 'singletons'.
-- Examples:
--   FROM clustereval.prediction_strength(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.prediction_strength(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  label_sizes AS (SELECT * FROM clustereval._label_sizes(cells)),
  cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells))
  SELECT
    counts.partition_key,
    counts.total AS n,
    counts.n_dropped,
    counts.n_noise,
    COALESCE(labels.n_labels, 0) AS n_labels,
    COALESCE(clusters.n_clusters, 0) AS n_clusters,
    weakest.least AS prediction_strength,
    weakest.weakest AS weakest_label
  FROM clustereval._row_counts(__ce_groups) AS counts
  LEFT JOIN clustereval._label_totals(label_sizes) AS labels
    ON labels.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN clustereval._cluster_totals(cluster_sizes) AS clusters
    ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN clustereval._weakest_labels(cells, label_sizes) AS weakest
    ON weakest.partition_key IS NOT DISTINCT FROM counts.partition_key
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY counts.partition_key ASC NULLS LAST;

-- Bootstrap instability: the mean over resamples of the distance between two clusterings of all
-- rows, cluster_1 and cluster_2, each learned from its own bootstrap sample. The distance is the
-- share of the n^2 ordered pairs of rows that are together in one clustering and apart in the
-- other. One row per partition: partition_key, n (the number of rows that are scored, over all
-- resamples), n_dropped (rows with a NULL cluster), n_resamples, instability and std_error (NULL
-- for one resample). tbl is a table with one row per resample and row of the data; cluster_1,
-- cluster_2 and resample are its columns, weight is a row's multiplicity. With partition_by := k,
-- choose the k with the smallest instability.
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
      {'key': partition_by, 'resample': resample}, NULL, 'cluster'
    )
  ),
  __ce_distances AS (
    SELECT
      partition_key['key'] AS partition_key, total, distance
    FROM clustereval._clustering_distances(__ce_groups)
    UNION ALL
    SELECT NULL, 0, NULL
    FROM query_table(clustereval._check_table_name(tbl))
    WHERE FALSE
    HAVING clustereval._check_columns(
      clustereval._is_absent(partition_by),
      [
        clustereval._given_column('cluster_1', cluster_1),
        clustereval._given_column('cluster_2', cluster_2),
        clustereval._given_column('resample', resample),
        clustereval._given_column('weight', weight),
        clustereval._given_column('partition_by', partition_by)
      ]
    )
  ),
  dropped AS (
    SELECT
      partition_key['key'] AS partition_key,
      CAST(SUM(n_dropped) AS BIGINT) AS n_dropped
    FROM __ce_groups
    GROUP BY partition_key['key']
  ),
  means AS (
    SELECT
      partition_key,
      CAST(SUM(total) AS BIGINT) AS total,
      COUNT(distance) AS n_resamples,
      clustereval._ratio(clustereval._compensated_sum(distance), COUNT(distance)) AS mean,
      CASE
        WHEN MIN(distance) = MAX(distance) THEN 0.0
        ELSE STDDEV_SAMP(distance)
      END AS deviation
    FROM __ce_distances
    GROUP BY partition_key
  )
  SELECT
    means.partition_key,
    means.total AS n,
    COALESCE(dropped.n_dropped, 0) AS n_dropped,
    means.n_resamples,
    means.mean AS instability,
    CASE
      WHEN means.n_resamples > 1 THEN means.deviation / SQRT(means.n_resamples)
    END AS std_error
  FROM means
  LEFT JOIN dropped ON dropped.partition_key IS NOT DISTINCT FROM means.partition_key
  ORDER BY means.partition_key ASC NULLS LAST;
