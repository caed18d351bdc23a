-- size_findings: what the sizes of clusters tell about a clustering without labels or points.

-- The clusters above a gap in the sizes of a partition: partition_key, cluster, cluster_size,
-- total, n_clusters, n_above (clusters above the gap) and next_size (the largest size below it).
-- The gap is wide for heavy-tailed sizes, or a cluster has 30 % of the rows of 10,000 clusters.
-- row_counts: partition_key, total, n_clusters and cluster_pairs (ordered pairs).
CREATE OR REPLACE MACRO clustereval._outlying_clusters(row_counts, cluster_sizes) AS TABLE
  WITH size_counts AS (
    SELECT partition_key, cluster_size, SUM(copies) AS n_of_size
    FROM query_table(cluster_sizes)
    GROUP BY partition_key, cluster_size
  ),
  gaps AS (
    SELECT
      *,
      LEAD(cluster_size) OVER from_largest AS next_size,
      CAST(SUM(n_of_size) OVER from_largest AS BIGINT) AS n_above
    FROM size_counts
    WINDOW from_largest AS (
      PARTITION BY partition_key
      ORDER BY cluster_size DESC NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  ),
  -- The gaps among the largest sizes, n_tail of them.
  spacings AS (
    SELECT
      gap.*, counts.total, counts.n_clusters, counts.cluster_pairs,
      GREATEST(CAST(FLOOR(SQRT(counts.n_clusters)) AS BIGINT), 11) AS n_tail,
      gap.n_above * LN(clustereval._ratio(gap.cluster_size, gap.next_size)) AS spacing
    FROM gaps AS gap
    JOIN query_table(row_counts) AS counts
      ON counts.partition_key IS NOT DISTINCT FROM gap.partition_key
    WHERE gap.next_size IS NOT NULL
  ),
  tested AS (
    SELECT
      *,
      n_tail - 1 - n_above AS n_after,
      COALESCE(
        SUM(spacing) OVER (
          PARTITION BY partition_key
          ORDER BY cluster_size DESC NULLS LAST
          ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        ),
        0
      ) AS rest
    FROM spacings
    WHERE n_above < n_tail
  ),
  -- A partition has one such gap at most: a size that is a tenth of another has a hundredth of its
  -- pairs.
  outlying_gaps AS (
    SELECT *
    FROM tested
    WHERE cluster_size > 10 * next_size
      AND 20 * n_above <= n_clusters
      AND 10 * clustereval._count_ordered_pairs(cluster_size) >= cluster_pairs
      AND (
        -- P(F > x) = (1 + x / n)^-n for an F distribution with 2 and 2 n degrees of freedom.
        spacing >= rest * (POWER(1000.0, 1.0 / CAST(NULLIF(n_after, 0) AS DOUBLE)) - 1.0)
        OR 10 * cluster_size >= 3 * total AND n_clusters >= 10000
      )
  )
  SELECT
    sizes.partition_key, sizes.cluster, sizes.cluster_size, gap.total, gap.n_clusters,
    gap.n_above, gap.next_size
  FROM query_table(cluster_sizes) AS sizes
  JOIN outlying_gaps AS gap ON gap.partition_key IS NOT DISTINCT FROM sizes.partition_key
  WHERE sizes.cluster IS NOT NULL AND sizes.cluster_size >= gap.cluster_size;

-- What the sizes of clusters tell about a clustering without labels or points, the worst first.
-- Examples:
--   FROM clustereval.cluster_size_findings(assignments, cluster, partition_by := species);
CREATE OR REPLACE MACRO clustereval.cluster_size_findings(
  tbl, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._name_groups(tbl, cluster, NULL, weight, partition_by, noise, noise_as)
  ),
  cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  row_counts AS (
    SELECT
      counts.partition_key, counts.total, counts.n_dropped, counts.n_noise,
      COALESCE(clusters.n_clusters, 0) AS n_clusters,
      clusters.cluster_pairs,
      counts.total + CASE WHEN noise_as = 'drop' THEN counts.n_noise ELSE 0 END AS total_noise
    FROM clustereval._row_counts(__ce_groups) AS counts
    LEFT JOIN clustereval._cluster_totals(cluster_sizes) AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
  ),
  findings AS (
    SELECT partition_key, place, severity, code, one.cluster, n, value, finding
    FROM clustereval._findings_on_sizes(row_counts, cluster_sizes, noise, 'row', NULL) AS one
    UNION ALL
    SELECT
      partition_key, 5, 'warning', 'outlying_cluster', one.cluster, cluster_size,
      clustereval._ratio(cluster_size, next_size),
      concat(
        'it has ', clustereval._count_as_text(cluster_size, 'row'), ' (',
        clustereval._percent_as_text(clustereval._ratio(cluster_size, total)), '), where ',
        n_clusters - n_above, ' clusters have at most ', next_size,
        ': check that its rows belong together'
      )
    FROM clustereval._outlying_clusters(row_counts, cluster_sizes) AS one
    WHERE clustereval._ratio(cluster_size, total) <= clustereval._giant_share()
  )
  SELECT
    one.partition_key, one.severity, one.code, one.cluster, one.n, one.value,
    clustereval._named_finding(one.code, one.finding, one.cluster, NULL, NULL) AS finding
  FROM findings AS one
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
    AND (
      noise IS NOT NULL OR one.code = 'unnamed_noise'
      OR NOT clustereval._looks_like_noise(one.cluster)
    )
  ORDER BY
    one.partition_key ASC NULLS LAST,
    clustereval._severity_rank(one.severity) ASC NULLS LAST,
    one.place ASC NULLS LAST,
    one.n DESC NULLS LAST,
    one.cluster ASC NULLS LAST;
