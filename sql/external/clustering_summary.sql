-- clustering_summary: a description of a clustering without labels.

-- The rows of _row_groups with the names of the rows in place of labels: label is a struct of the
-- name, which is not NULL even if the name is, so that rows without a name count, too. As in
-- _row_groups, the plan holds only one of the united queries.
CREATE OR REPLACE MACRO clustereval._name_groups(
  tbl, cluster, name, weight, partition_by, noise, noise_as
) AS TABLE
  WITH __ce_name_counts AS (
    SELECT
      NULL AS __ce_partition,
      NULL AS __ce_name,
      cluster AS __ce_cluster,
      CAST(COUNT(*) AS BIGINT) AS __ce_n,
      FALSE AS __ce_only
    FROM query_table(tbl)
    WHERE clustereval._is_left_out(partition_by) AND clustereval._is_left_out(name)
      AND clustereval._is_left_out(weight)
    GROUP BY cluster
    UNION ALL
    SELECT partition_by, name, cluster, CAST(COUNT(*) AS BIGINT), FALSE
    FROM query_table(tbl)
    WHERE NOT (clustereval._is_left_out(partition_by) AND clustereval._is_left_out(name))
      AND clustereval._is_left_out(weight)
    GROUP BY partition_by, name, cluster
    UNION ALL
    SELECT
      partition_by, name, cluster,
      CAST(
        clustereval._check_total_weight(
          SUM(clustereval._check_weight(weight)),
          SUM(SUM(clustereval._check_weight(weight))) OVER (PARTITION BY partition_by)
        ) AS BIGINT
      ),
      FALSE
    FROM query_table(tbl)
    WHERE NOT clustereval._is_left_out(weight)
    GROUP BY partition_by, name, cluster
    UNION ALL
    SELECT NULL, NULL, NULL, CAST(COUNT(*) AS BIGINT), TRUE
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_columns(
      clustereval._check_noise(clustereval._is_absent(partition_by), noise, cluster),
      [
        clustereval._given_column('partition_by', partition_by),
        clustereval._given_column('weight', weight),
        clustereval._given_column('name', name),
        clustereval._given_column('cluster', cluster)
      ]
    )
  ),
  __ce_group_counts AS (
    SELECT
      __ce_partition, {'name': __ce_name} AS __ce_label, __ce_cluster, __ce_n, __ce_only
    FROM __ce_name_counts
  )
  SELECT * FROM clustereval._flag_groups(__ce_group_counts, noise, noise_as);

-- One row per partition: n_clusters; matched, the rows in clusters of more than one row; largest,
-- those of the largest cluster; and hill_0, hill_1, hill_2 and hill_inf, the Hill numbers of the
-- distribution of sizes.
CREATE OR REPLACE MACRO clustereval._size_statistics(cluster_sizes) AS TABLE
  WITH size_counts AS (
    SELECT partition_key, cluster_size, CAST(SUM(copies) AS BIGINT) AS n_of_size
    FROM query_table(cluster_sizes)
    GROUP BY partition_key, cluster_size
  ),
  totals AS (
    SELECT partition_key, CAST(SUM(n_of_size) AS BIGINT) AS n_clusters
    FROM size_counts
    GROUP BY partition_key
  )
  SELECT
    total.partition_key,
    total.n_clusters,
    SUM(
      CASE WHEN sizes.cluster_size > 1 THEN sizes.cluster_size ELSE 0 END
        * sizes.n_of_size
    ) AS matched,
    MAX(sizes.cluster_size) AS largest,
    CAST(COUNT(*) AS DOUBLE) AS hill_0,
    EXP(clustereval._compensated_sum(
      clustereval._ratio(sizes.n_of_size, total.n_clusters)
        * clustereval._log_ratio(total.n_clusters, sizes.n_of_size)
    )) AS hill_1,
    clustereval._ratio(
      clustereval._widen(total.n_clusters) * clustereval._widen(total.n_clusters),
      SUM(clustereval._widen(sizes.n_of_size) * clustereval._widen(sizes.n_of_size))
    ) AS hill_2,
    clustereval._ratio(total.n_clusters, MAX(sizes.n_of_size)) AS hill_inf
  FROM size_counts AS sizes
  JOIN totals AS total ON total.partition_key IS NOT DISTINCT FROM sizes.partition_key
  GROUP BY total.partition_key, total.n_clusters;

-- One row per partition with any names: partition_key; named, the number of clusters with a name;
-- homonyms, of those that share a name with another cluster; and varied, of those with several
-- names. cells: partition_key, name, cluster and copies, the number of clusters of one row if
-- cluster is NULL.
CREATE OR REPLACE MACRO clustereval._name_statistics(cells) AS TABLE
  WITH named_cells AS (SELECT * FROM query_table(cells) WHERE name IS NOT NULL),
  names AS (
    SELECT partition_key, name, SUM(copies) AS n_of_name
    FROM named_cells
    GROUP BY partition_key, name
  ),
  flagged_cells AS (
    SELECT
      cell.partition_key,
      cell.cluster,
      cell.copies,
      CASE WHEN names.n_of_name > 1 THEN 1 ELSE 0 END AS shared
    FROM named_cells AS cell
    JOIN names
      ON names.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND names.name = cell.name
  ),
  named_clusters AS (
    SELECT
      partition_key,
      CASE WHEN cluster IS NULL THEN SUM(copies) ELSE 1 END AS named,
      CASE WHEN cluster IS NULL THEN SUM(shared * copies) ELSE MAX(shared) END AS homonyms,
      CASE WHEN cluster IS NOT NULL AND COUNT(*) > 1 THEN 1 ELSE 0 END AS varied
    FROM flagged_cells
    GROUP BY partition_key, cluster
  )
  SELECT
    partition_key,
    SUM(named) AS named,
    SUM(homonyms) AS homonyms,
    SUM(varied) AS varied
  FROM named_clusters
  GROUP BY partition_key;

-- Summary of one or many clusterings without labels, one row per partition: partition_key, n
-- (rows), n_dropped, n_noise, n_clusters, matching_rate, average_cluster_size,
-- largest_cluster_size, largest_cluster_share, hill_number_0, hill_number_1, hill_number_2,
-- hill_number_inf, homonymy_rate and name_variation_rate. tbl is a table; cluster (assigned
-- cluster), name (the name of a row; without it the last two columns are NULL), weight (a row's
-- multiplicity, 1 if NULL) and partition_by (NULL for one partition of all rows) are its columns;
-- noise is the value of cluster that marks noise; noise_as counts its rows as one 'cluster', leaves
-- them out ('drop') or counts them as 'singletons'. Rows with a NULL cluster are left out. Rows
-- with a NULL name count as rows of their cluster, but add no name to it.
-- Examples:
--   FROM clustereval.clustering_summary(assignments, cluster);
--   FROM clustereval.clustering_summary(assignments, cluster, name := species);
CREATE OR REPLACE MACRO clustereval.clustering_summary(
  tbl, cluster, name := NULL, weight := NULL, partition_by := NULL, noise := NULL,
  noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._name_groups(tbl, cluster, name, weight, partition_by, noise, noise_as)
  ),
  cells AS (
    SELECT
      partition_key, label['name'] AS name, one.cluster, n, copies
    FROM __ce_groups AS one
    WHERE copies > 0
  ),
  cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells))
  SELECT
    counts.partition_key,
    counts.total AS n,
    counts.n_dropped,
    counts.n_noise,
    COALESCE(sizes.n_clusters, 0) AS n_clusters,
    clustereval._ratio(sizes.matched, counts.total) AS matching_rate,
    clustereval._ratio(counts.total, sizes.n_clusters) AS average_cluster_size,
    sizes.largest AS largest_cluster_size,
    clustereval._ratio(sizes.largest, counts.total) AS largest_cluster_share,
    sizes.hill_0 AS hill_number_0,
    sizes.hill_1 AS hill_number_1,
    sizes.hill_2 AS hill_number_2,
    sizes.hill_inf AS hill_number_inf,
    clustereval._ratio(names.homonyms, names.named) AS homonymy_rate,
    clustereval._ratio(names.varied, sizes.n_clusters) AS name_variation_rate
  FROM clustereval._row_counts(__ce_groups) AS counts
  LEFT JOIN clustereval._size_statistics(cluster_sizes) AS sizes
    ON sizes.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN clustereval._name_statistics(cells) AS names
    ON names.partition_key IS NOT DISTINCT FROM counts.partition_key
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY counts.partition_key ASC NULLS LAST;
