-- findings: what a reader should know of the clusters of points, in words with their numbers.

-- One row per partition and coordinate that holds more than 90 % of the variance of all, where
-- there are several: partition_key, coordinate (from 1), n_dims, n, the points, and share. states:
-- rows of cluster_states.
CREATE OR REPLACE MACRO clustereval._dominant_coordinates(states) AS TABLE
  WITH coordinates AS (
    SELECT
      partition_key,
      CAST(n AS DOUBLE) AS n,
      unnest(range(1, len(mean) + 1)) AS coordinate,
      unnest(mean) AS mean,
      unnest(mean_correction) AS correction,
      unnest(m2) AS m2
    FROM query_table(states)
    WHERE n > 0
  ),
  -- Both uses need the same references: another evaluation may add them up in another order.
  reference_points AS MATERIALIZED (
    SELECT
      partition_key, coordinate,
      clustereval._clamp(fsum(n * mean) / fsum(n), MIN(mean), MAX(mean)) AS reference
    FROM coordinates
    GROUP BY partition_key, coordinate
  ),
  deviations AS (
    SELECT own.*, (own.mean - whole.reference) + own.correction AS deviation
    FROM coordinates AS own
    JOIN reference_points AS whole
      ON whole.partition_key IS NOT DISTINCT FROM own.partition_key
      AND whole.coordinate = own.coordinate
  ),
  means AS (
    SELECT partition_key, coordinate, fsum(n * deviation) / fsum(n) AS overall
    FROM deviations
    GROUP BY partition_key, coordinate
  ),
  variances AS (
    SELECT
      own.partition_key, own.coordinate,
      SUM(own.n) AS n,
      fsum(own.m2) + fsum(own.n * pow(own.deviation - whole.overall, 2)) AS squares
    FROM deviations AS own
    JOIN means AS whole
      ON whole.partition_key IS NOT DISTINCT FROM own.partition_key
      AND whole.coordinate = own.coordinate
    GROUP BY own.partition_key, own.coordinate
  ),
  shares AS (
    SELECT
      partition_key, coordinate,
      CAST(n AS BIGINT) AS n,
      COUNT(*) OVER (PARTITION BY partition_key) AS n_dims,
      squares / NULLIF(SUM(squares) OVER (PARTITION BY partition_key), 0.0) AS share
    FROM variances
  )
  SELECT * FROM shares WHERE n_dims > 1 AND share > 0.9;

-- What a reader should know of the clusters of points: clusters that are not set apart, or of few
-- points, points far away, coordinates of another scale, rows that are left out.
-- Examples:
--   FROM clustereval.internal_findings(points, [x, y], cluster);
CREATE OR REPLACE MACRO clustereval.internal_findings(
  tbl, vector, cluster, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, noise := NULL, noise_as := NULL, weights := NULL, method := 'exact',
  sample_size := NULL, reference_size := NULL, random_state := 0, missing := 'error'
) AS TABLE
  WITH __ce_report AS MATERIALIZED (
    SELECT partition_key, n, n_dropped, n_noise, n_clusters
    FROM clustereval.internal_report(
      tbl, vector, cluster, distance := distance, p := p, partition_by := partition_by,
      noise := noise, noise_as := noise_as, weights := weights, missing := missing
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * EXCLUDE (centroid)
    FROM clustereval.internal_cluster_report(
      tbl, vector, cluster, distance := distance, p := p, partition_by := partition_by,
      noise := noise, noise_as := noise_as, weights := weights, missing := missing
    ) AS one
    WHERE one.cluster IS NOT NULL
  ),
  __ce_silhouettes AS MATERIALIZED (
    SELECT partition_key, one.cluster AS cluster_key, silhouette
    FROM clustereval.silhouette_clusters(
      tbl, vector, cluster, id, distance := distance, p := p, partition_by := partition_by,
      noise := noise, noise_as := noise_as, weights := weights, method := method,
      sample_size := sample_size, reference_size := reference_size, random_state := random_state,
      missing := missing
    ) AS one
    WHERE one.cluster IS NOT NULL
  ),
  __ce_states AS (
    SELECT partition_key, n, mean, mean_correction, m2
    FROM clustereval.cluster_states(
      tbl, vector, cluster, partition_by := partition_by,
      noise := CASE WHEN noise_as = 'drop' THEN noise END,
      noise_as := CASE WHEN noise_as = 'drop' THEN noise_as END, missing := missing
    )
  ),
  __ce_row_counts AS (
    SELECT
      partition_key, n AS total, n_dropped, n_noise, n_clusters,
      n + CASE WHEN noise_as = 'drop' THEN n_noise ELSE 0 END AS total_noise
    FROM __ce_report
  ),
  __ce_sizes AS (
    SELECT partition_key, one.cluster, n AS cluster_size
    FROM __ce_clusters AS one
  ),
  __ce_measured AS (
    SELECT
      own.partition_key, own.cluster AS cluster_key, own.n, own.mean_distance, own.max_distance,
      own.nearest_cluster AS nearest, spread.silhouette,
      counts.total, counts.n_clusters
    FROM __ce_clusters AS own
    JOIN __ce_row_counts AS counts
      ON counts.partition_key IS NOT DISTINCT FROM own.partition_key
    LEFT JOIN __ce_silhouettes AS spread
      ON spread.partition_key IS NOT DISTINCT FROM own.partition_key
      AND spread.cluster_key = own.cluster
  ),
  __ce_findings AS (
    SELECT
      partition_key, place, severity, code, one.cluster AS cluster_key, NULL AS other,
      NULL AS coordinate, n, value, finding
    FROM clustereval._findings_on_sizes(__ce_row_counts, __ce_sizes, 'point', 'vector') AS one
    UNION ALL
    SELECT
      partition_key, 5, CASE WHEN silhouette < 0 THEN 'problem' ELSE 'warning' END,
      'low_silhouette', cluster_key, nearest, NULL, n, silhouette,
      concat(
        'the mean silhouette of its ', clustereval._count_as_text(n, 'point'), ' is ',
        clustereval._decimals_as_text(silhouette),
        CASE
          WHEN silhouette < 0 THEN ': they are nearer to another cluster than to each other'
          ELSE ': it is hardly set apart from the clusters around it'
        END
      )
    FROM __ce_measured
    WHERE n > 1 AND silhouette < 0.25
    UNION ALL
    SELECT
      own.partition_key, 6, 'warning', 'close_clusters', own.cluster_key, own.nearest, NULL,
      own.n + other.n, GREATEST(own.silhouette, other.silhouette),
      concat(
        'each is the nearest to the other, and their mean silhouettes are ',
        clustereval._decimals_as_text(own.silhouette), ' and ',
        clustereval._decimals_as_text(other.silhouette), ': they may be one cluster'
      )
    FROM __ce_measured AS own
    JOIN __ce_measured AS other
      ON other.partition_key IS NOT DISTINCT FROM own.partition_key
      AND other.cluster_key = own.nearest
      AND other.nearest = own.cluster_key
    WHERE own.cluster_key < other.cluster_key AND own.n > 1 AND other.n > 1
      AND own.silhouette < 0.25 AND other.silhouette < 0.25
    UNION ALL
    SELECT
      partition_key, 7, 'warning', 'far_point', cluster_key, NULL, NULL, n,
      max_distance / mean_distance,
      concat(
        'its farthest point is ', clustereval._whole_as_text(max_distance / mean_distance),
        ' times as far from the center as its points are on average'
      )
    FROM __ce_measured
    WHERE max_distance > CASE WHEN lower(distance) = 'sqeuclidean' THEN 100 ELSE 10 END
      * mean_distance
    UNION ALL
    SELECT
      partition_key, 8, 'warning', 'dominant_coordinate', NULL, NULL, coordinate, n, share,
      concat(
        'coordinate ', coordinate, ' of ', n_dims, ' holds ',
        clustereval._percent_as_text(share), ' of the variance: scale the columns first'
      )
    FROM clustereval._dominant_coordinates(__ce_states)
    WHERE lower(distance) <> 'cosine' AND weights IS NULL
    UNION ALL
    SELECT
      partition_key, 9, 'note', 'tiny_cluster', cluster_key, NULL, NULL, n,
      clustereval._ratio(n * n_clusters, total),
      concat(
        'it has ', clustereval._count_as_text(n, 'point'), ', where the average cluster has ',
        clustereval._whole_as_text(clustereval._ratio(total, n_clusters))
      )
    FROM __ce_measured
    WHERE 10 * clustereval._widen(n) * clustereval._widen(n_clusters) < total
  )
  SELECT
    partition_key, severity, code, cluster_key AS cluster, other AS other_cluster, coordinate, n,
    value, finding
  FROM __ce_findings
  WHERE clustereval._check_options(clustereval._valid_means_options(
    method, 'nearest', sample_size, reference_size, random_state,
    clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  ))
  ORDER BY
    partition_key ASC NULLS LAST,
    clustereval._severity_rank(severity) ASC NULLS LAST,
    place ASC NULLS LAST,
    n DESC NULLS LAST,
    cluster_key ASC NULLS LAST,
    coordinate ASC NULLS LAST;
