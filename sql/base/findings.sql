-- findings: findings about the rows and the sizes of clusters, in words with the numbers behind
-- them.

-- The place of a severity in the order of findings.
CREATE OR REPLACE MACRO clustereval._severity_rank(severity) AS
  CASE severity WHEN 'problem' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END;

-- Findings on the rows of a partition and the sizes of its clusters: one row per finding, with
-- partition_key, place (the order of findings), severity, code, cluster, n, value and finding.
-- row_counts: rows with partition_key, total, n_dropped, n_noise, n_clusters and total_noise, the
-- number of rows that are counted or are noise. cluster_sizes: rows with partition_key, cluster and
-- cluster_size. unit is the word for a row, and complement is the word for what a dropped row
-- lacks.
CREATE OR REPLACE MACRO clustereval._findings_on_sizes(
  row_counts, cluster_sizes, unit, complement
) AS TABLE
  SELECT
    counts.partition_key,
    1 AS place,
    CASE WHEN n_dropped >= total THEN 'problem' ELSE 'note' END AS severity,
    'dropped_rows' AS code,
    NULL AS cluster,
    n_dropped AS n,
    clustereval._ratio(n_dropped, total + n_dropped) AS value,
    concat(
      n_dropped, ' of ', clustereval._count_as_text(total + n_dropped, 'row'),
      CASE WHEN n_dropped = 1 THEN ' has no ' ELSE ' have no ' END, complement,
      ' or no cluster, and ', CASE WHEN n_dropped = 1 THEN 'is' ELSE 'are' END, ' left out'
    ) AS finding
  FROM query_table(row_counts) AS counts
  WHERE n_dropped > 0
  UNION ALL
  SELECT
    counts.partition_key, 2, 'note', 'noise_rows', NULL, n_noise,
    clustereval._ratio(n_noise, total_noise),
    concat(
      n_noise, ' of ', clustereval._count_as_text(total_noise, unit),
      CASE WHEN n_noise = 1 THEN ' is noise' ELSE ' are noise' END
    )
  FROM query_table(row_counts) AS counts
  WHERE n_noise > 0
  UNION ALL
  SELECT
    counts.partition_key, 3, 'problem', 'one_cluster', NULL, total, NULL,
    'there is one cluster: scores that compare clusters are not defined'
  FROM query_table(row_counts) AS counts
  WHERE n_clusters = 1 AND total > 1
  UNION ALL
  SELECT
    sizes.partition_key, 4, 'warning', 'giant_cluster', sizes.cluster, sizes.cluster_size,
    clustereval._ratio(sizes.cluster_size, counts.total),
    concat(
      'it holds ',
      CASE
        WHEN clustereval._ratio(sizes.cluster_size, counts.total) < 0.805 THEN 'just over 80 %'
        ELSE clustereval._percent_as_text(clustereval._ratio(sizes.cluster_size, counts.total))
      END,
      ' of the ', unit, 's: scores by ', unit, ' or by pair say little of the other clusters'
    )
  FROM query_table(cluster_sizes) AS sizes
  JOIN query_table(row_counts) AS counts
    ON counts.partition_key IS NOT DISTINCT FROM sizes.partition_key
  WHERE sizes.cluster IS NOT NULL AND counts.n_clusters > 1
    AND 5 * sizes.cluster_size > 4 * counts.total;
