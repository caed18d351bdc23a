-- findings: what you should know about a clustering with labels, in words with the numbers behind
-- them.

-- Severity of a share that should be 1: 'problem' below one half, otherwise 'warning'.
CREATE OR REPLACE MACRO clustereval._severity_of_share(share) AS
  CASE WHEN share < 0.5 THEN 'problem' ELSE 'warning' END;

-- A share below 80 % as text, as a percentage.
CREATE OR REPLACE MACRO clustereval._divided_share_as_text(share) AS
  CASE
    WHEN share >= 0.795 THEN 'just below 80 %'
    ELSE clustereval._percent_as_text(share)
  END;

-- What you should know about a clustering with labels: clusters that have several labels, labels
-- that are in several clusters, and rows that are left out.
-- Examples:
--   FROM clustereval.external_findings(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.external_findings(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  label_sizes AS (SELECT * FROM clustereval._label_sizes(cells)),
  cluster_counts AS (
    SELECT partition_key, SUM(copies) AS n_clusters
    FROM cluster_sizes
    GROUP BY partition_key
  ),
  row_counts AS (
    SELECT
      counts.partition_key, counts.total, counts.n_dropped, counts.n_noise,
      COALESCE(clusters.n_clusters, 0) AS n_clusters,
      counts.total + CASE WHEN noise_as = 'drop' THEN counts.n_noise ELSE 0 END AS total_noise
    FROM clustereval._row_counts(__ce_groups) AS counts
    LEFT JOIN cluster_counts AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
  ),
  mixed_clusters AS (
    SELECT
      sizes.partition_key,
      sizes.cluster,
      MAX(sizes.cluster_size) AS n,
      MIN(CASE WHEN cell.n = sizes.cluster_majority_n THEN cell.label END) AS majority,
      clustereval._ratio(MAX(sizes.cluster_majority_n), MAX(sizes.cluster_size)) AS share
    FROM cluster_sizes AS sizes
    JOIN cells AS cell
      ON cell.partition_key IS NOT DISTINCT FROM sizes.partition_key
      AND cell.cluster = sizes.cluster
    WHERE 5 * sizes.cluster_majority_n < 4 * sizes.cluster_size
    GROUP BY sizes.partition_key, sizes.cluster
  ),
  split_labels AS (
    SELECT
      sizes.partition_key,
      sizes.label,
      MAX(sizes.label_size) AS n,
      MIN(CASE WHEN cell.n = sizes.label_majority_n THEN cell.cluster END) AS majority,
      clustereval._ratio(MAX(sizes.label_majority_n), MAX(sizes.label_size)) AS share
    FROM label_sizes AS sizes
    JOIN cells AS cell
      ON cell.partition_key IS NOT DISTINCT FROM sizes.partition_key
      AND cell.label = sizes.label
    WHERE 5 * sizes.label_majority_n < 4 * sizes.label_size
    GROUP BY sizes.partition_key, sizes.label
  ),
  findings AS (
    SELECT
      partition_key, place, severity, code, one.cluster, NULL AS label, n, value, finding
    FROM clustereval._findings_on_sizes(row_counts, cluster_sizes, 'row', 'label') AS one
    UNION ALL
    SELECT
      mixed.partition_key, 5, clustereval._severity_of_share(share), 'mixed_cluster',
      mixed.cluster, mixed.majority, n, share,
      concat(
        clustereval._divided_share_as_text(share), ' of the cluster''s ',
        clustereval._count_as_text(n, 'row'), ' have its most frequent label'
      )
    FROM mixed_clusters AS mixed
    UNION ALL
    SELECT
      split.partition_key, 6, clustereval._severity_of_share(share), 'split_label',
      split.majority, split.label, n, share,
      concat(
        clustereval._divided_share_as_text(share), ' of the label''s ',
        clustereval._count_as_text(n, 'row'), ' are in the cluster that has the most'
      )
    FROM split_labels AS split
  )
  SELECT
    one.partition_key, one.severity, one.code, one.cluster, one.label, one.n, one.value, one.finding
  FROM findings AS one
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  ORDER BY
    one.partition_key ASC NULLS LAST,
    clustereval._severity_rank(one.severity) ASC NULLS LAST,
    one.place ASC NULLS LAST,
    one.n DESC NULLS LAST,
    one.cluster ASC NULLS LAST,
    one.label ASC NULLS LAST;
