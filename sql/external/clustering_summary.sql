-- clustering_summary: what can be said of a clustering without labels.

-- The rows of _row_groups for the names of the rows in place of labels: one row per value of
-- (partition_by, name, cluster) in the table named tbl. __ce_label is a struct of the name, which
-- is not NULL if the name is: rows without a name count, too. name, weight and partition_by are
-- columns or NULL. As in _row_groups, the plan holds one of the queries that are united here.
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
    HAVING clustereval._check_column(
      clustereval._check_column(
        clustereval._check_column(
          clustereval._check_column(
            clustereval._check_noise(clustereval._is_absent(partition_by), noise, cluster),
            'cluster', cluster
          ),
          'name', name
        ),
        'weight', weight
      ),
      'partition_by', partition_by
    )
  ),
  __ce_group_counts AS (
    SELECT
      __ce_partition, {'name': __ce_name} AS __ce_label, __ce_cluster, __ce_n, __ce_only
    FROM __ce_name_counts
  )
  SELECT * FROM clustereval._flag_groups(__ce_group_counts, noise, noise_as);

-- One row per partition: __ce_partition; __ce_n_clusters; __ce_matched, the rows in clusters of
-- more than one row; and __ce_hill_0, __ce_hill_1, __ce_hill_2 and __ce_hill_inf, the Hill numbers
-- of the distribution of sizes. __ce_cluster_sizes is the name of a CTE of the rows of
-- _cluster_sizes.
CREATE OR REPLACE MACRO clustereval._size_statistics(__ce_cluster_sizes) AS TABLE
  WITH __ce_size_counts AS (
    SELECT __ce_partition, __ce_cluster_size, CAST(SUM(__ce_copies) AS BIGINT) AS __ce_n_of_size
    FROM query_table(__ce_cluster_sizes)
    GROUP BY __ce_partition, __ce_cluster_size
  ),
  __ce_totals AS (
    SELECT __ce_partition, CAST(SUM(__ce_n_of_size) AS BIGINT) AS __ce_n_clusters
    FROM __ce_size_counts
    GROUP BY __ce_partition
  )
  SELECT
    total.__ce_partition,
    total.__ce_n_clusters,
    SUM(
      CASE WHEN sizes.__ce_cluster_size > 1 THEN sizes.__ce_cluster_size ELSE 0 END
        * sizes.__ce_n_of_size
    ) AS __ce_matched,
    CAST(COUNT(*) AS DOUBLE) AS __ce_hill_0,
    EXP(clustereval._compensated_sum(
      clustereval._ratio(sizes.__ce_n_of_size, total.__ce_n_clusters)
        * clustereval._log_ratio(total.__ce_n_clusters, sizes.__ce_n_of_size)
    )) AS __ce_hill_1,
    clustereval._ratio(
      clustereval._widen(total.__ce_n_clusters) * clustereval._widen(total.__ce_n_clusters),
      SUM(clustereval._widen(sizes.__ce_n_of_size) * clustereval._widen(sizes.__ce_n_of_size))
    ) AS __ce_hill_2,
    clustereval._ratio(total.__ce_n_clusters, MAX(sizes.__ce_n_of_size)) AS __ce_hill_inf
  FROM __ce_size_counts AS sizes
  JOIN __ce_totals AS total
    ON total.__ce_partition IS NOT DISTINCT FROM sizes.__ce_partition
  GROUP BY total.__ce_partition, total.__ce_n_clusters;

-- One row per partition with any names: __ce_partition; __ce_named, the clusters that have a name;
-- __ce_homonyms, those that share one with another cluster; and __ce_varied, those that have more
-- than one. __ce_cells is the name of a CTE of one row per name and cluster: __ce_partition,
-- __ce_name, __ce_cluster and __ce_copies, how many clusters of one row it stands for if
-- __ce_cluster is NULL.
CREATE OR REPLACE MACRO clustereval._name_statistics(__ce_cells) AS TABLE
  WITH __ce_named_cells AS (SELECT * FROM query_table(__ce_cells) WHERE __ce_name IS NOT NULL),
  __ce_names AS (
    SELECT __ce_partition, __ce_name, SUM(__ce_copies) AS __ce_n_of_name
    FROM __ce_named_cells
    GROUP BY __ce_partition, __ce_name
  ),
  __ce_flagged_cells AS (
    SELECT
      cell.__ce_partition,
      cell.__ce_cluster,
      cell.__ce_copies,
      CASE WHEN names.__ce_n_of_name > 1 THEN 1 ELSE 0 END AS __ce_shared
    FROM __ce_named_cells AS cell
    JOIN __ce_names AS names
      ON names.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND names.__ce_name = cell.__ce_name
  ),
  __ce_named_clusters AS (
    SELECT
      __ce_partition,
      CASE WHEN __ce_cluster IS NULL THEN SUM(__ce_copies) ELSE 1 END AS __ce_named,
      CASE WHEN __ce_cluster IS NULL THEN SUM(__ce_shared * __ce_copies) ELSE MAX(__ce_shared) END
        AS __ce_homonyms,
      CASE WHEN __ce_cluster IS NOT NULL AND COUNT(*) > 1 THEN 1 ELSE 0 END AS __ce_varied
    FROM __ce_flagged_cells
    GROUP BY __ce_partition, __ce_cluster
  )
  SELECT
    __ce_partition,
    SUM(__ce_named) AS __ce_named,
    SUM(__ce_homonyms) AS __ce_homonyms,
    SUM(__ce_varied) AS __ce_varied
  FROM __ce_named_clusters
  GROUP BY __ce_partition;

-- Summary of one or many clusterings without labels, one row per partition: partition_key, n
-- (rows), n_dropped, n_noise, n_clusters, matching_rate, average_cluster_size, hill_number_0,
-- hill_number_1, hill_number_2, hill_number_inf, homonymy_rate and name_variation_rate. tbl is a
-- table; cluster (assigned cluster), name (the name of a row; without it the last two columns are
-- NULL), weight (a row's multiplicity, 1 if NULL) and partition_by (NULL for one partition of all
-- rows) are its columns; noise is the value of cluster that marks noise, which noise_as counts as
-- one 'cluster', leaves out ('drop') or counts as 'singletons'. Rows with a NULL cluster are left
-- out; those with a NULL name count as rows of their cluster that add no name to it.
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
  __ce_row_counts AS (SELECT * FROM clustereval._row_counts(__ce_groups)),
  __ce_cells AS (
    SELECT
      __ce_partition, __ce_label['name'] AS __ce_name, __ce_cluster, __ce_n, __ce_copies
    FROM __ce_groups
    WHERE __ce_copies > 0
  ),
  __ce_cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_sizes AS (SELECT * FROM clustereval._size_statistics(__ce_cluster_sizes)),
  __ce_names AS (SELECT * FROM clustereval._name_statistics(__ce_cells))
  SELECT
    counts.__ce_partition AS partition_key,
    counts.__ce_total AS n,
    counts.__ce_n_dropped AS n_dropped,
    counts.__ce_n_noise AS n_noise,
    COALESCE(sizes.__ce_n_clusters, 0) AS n_clusters,
    clustereval._ratio(sizes.__ce_matched, counts.__ce_total) AS matching_rate,
    clustereval._ratio(counts.__ce_total, sizes.__ce_n_clusters) AS average_cluster_size,
    sizes.__ce_hill_0 AS hill_number_0,
    sizes.__ce_hill_1 AS hill_number_1,
    sizes.__ce_hill_2 AS hill_number_2,
    sizes.__ce_hill_inf AS hill_number_inf,
    clustereval._ratio(names.__ce_homonyms, names.__ce_named) AS homonymy_rate,
    clustereval._ratio(names.__ce_varied, sizes.__ce_n_clusters) AS name_variation_rate
  FROM __ce_row_counts AS counts
  LEFT JOIN __ce_sizes AS sizes
    ON sizes.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  LEFT JOIN __ce_names AS names
    ON names.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY counts.__ce_partition ASC NULLS LAST;
