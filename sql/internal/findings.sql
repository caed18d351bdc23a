-- findings: what you should know about the clusters of points, in words with the numbers behind
-- them.

-- One row per partition and coordinate that holds more than 90 % of the variance within clusters,
-- where there are several coordinates: partition_key, coordinate (from 1), n_dims, n, the points,
-- and share. states: rows of cluster_states.
CREATE OR REPLACE MACRO clustereval._dominant_coordinates(states) AS TABLE
  WITH coordinates AS (
    SELECT
      partition_key,
      n,
      unnest(range(1, len(m2) + 1)) AS coordinate,
      unnest(m2) AS m2
    FROM query_table(states)
    WHERE n > 0
  ),
  variances AS (
    SELECT partition_key, coordinate, CAST(SUM(n) AS BIGINT) AS n, fsum(m2) AS squares
    FROM coordinates
    GROUP BY partition_key, coordinate
  ),
  shares AS (
    SELECT
      partition_key, coordinate, n,
      COUNT(*) OVER (PARTITION BY partition_key) AS n_dims,
      squares / NULLIF(SUM(squares) OVER (PARTITION BY partition_key), 0.0) AS share
    FROM variances
  )
  SELECT * FROM shares WHERE n_dims > 1 AND share > 0.9;

-- One row per partition and coordinate that has one value in each cluster, and another one in every
-- cluster, while other coordinates vary within clusters: partition_key, coordinate (from 1), n_dims
-- and n, the points. states: rows of cluster_states.
CREATE OR REPLACE MACRO clustereval._cluster_coordinates(states) AS TABLE
  WITH coordinates AS (
    SELECT
      partition_key,
      n,
      unnest(range(1, len(m2) + 1)) AS coordinate,
      unnest(m2) AS m2,
      unnest(mean) AS mean
    FROM query_table(states)
    WHERE n > 0
  ),
  spreads AS (
    SELECT
      partition_key, coordinate,
      CAST(SUM(n) AS BIGINT) AS n,
      MAX(m2) AS m2,
      COUNT(*) AS n_clusters,
      COUNT(DISTINCT mean) AS n_means
    FROM coordinates
    GROUP BY partition_key, coordinate
  ),
  compared AS (
    SELECT
      *,
      COUNT(*) OVER (PARTITION BY partition_key) AS n_dims,
      MAX(m2) OVER (PARTITION BY partition_key) AS most
    FROM spreads
  )
  SELECT * FROM compared WHERE m2 = 0 AND most > 0 AND n_means = n_clusters AND n_clusters > 1;

-- The mean silhouette of a cluster that is not well separated, as text.
CREATE OR REPLACE MACRO clustereval._silhouette_as_text(silhouette) AS
  CASE
    WHEN silhouette < 0 THEN clustereval._decimals_below(silhouette, 0)
    ELSE clustereval._decimals_below(silhouette, 0.25)
  END;

-- What you should know about the clusters of points: clusters that are not well separated or have
-- few points, points far away from their center, coordinates of another scale, and rows that are
-- left out.
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
    SELECT partition_key, n, m2, mean
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
      own.partition_key, own.cluster AS cluster_key, own.n,
      -- For squared distances, the root of the ratio is the ratio of lengths.
      CASE
        WHEN lower(distance) = 'sqeuclidean'
          THEN sqrt(clustereval._ratio(own.max_distance, own.mean_distance))
        ELSE clustereval._ratio(own.max_distance, own.mean_distance)
      END AS farness,
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
    FROM clustereval._findings_on_sizes(
      __ce_row_counts, __ce_sizes, noise, 'point', 'vector'
    ) AS one
    UNION ALL
    SELECT
      partition_key, -1, 'problem', 'cluster_coordinate', NULL, NULL, coordinate, n, NULL,
      concat(
        'coordinate ', coordinate, ' of ', n_dims,
        ' has one value in each cluster, which no other cluster has: is it made from the cluster?'
      )
    FROM clustereval._cluster_coordinates(__ce_states)
    WHERE lower(distance) <> 'cosine' AND weights IS NULL
    UNION ALL
    SELECT
      partition_key, 5, CASE WHEN silhouette < 0 THEN 'problem' ELSE 'warning' END,
      'low_silhouette', cluster_key, nearest, NULL, n, silhouette,
      concat(
        'the mean silhouette of its ', clustereval._count_as_text(n, 'point'), ' is ',
        clustereval._silhouette_as_text(silhouette),
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
        clustereval._silhouette_as_text(own.silhouette), ' and ',
        clustereval._silhouette_as_text(other.silhouette), ': they may be one cluster'
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
      farness,
      concat(
        'its farthest point is ', clustereval._whole_as_text(farness),
        ' times as far from the center as its points are on average'
      )
    FROM __ce_measured
    WHERE farness > 10
    UNION ALL
    SELECT
      partition_key, 8, 'warning', 'dominant_coordinate', NULL, NULL, coordinate, n, share,
      concat(
        'coordinate ', coordinate, ' of ', n_dims, ' holds ',
        clustereval._percent_as_text(share),
        ' of the variance within clusters: scale the columns first'
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
    AND (
      noise IS NOT NULL OR code = 'unnamed_noise'
      OR NOT (clustereval._looks_like_noise(cluster_key) OR clustereval._looks_like_noise(other))
    )
  ORDER BY
    partition_key ASC NULLS LAST,
    clustereval._severity_rank(severity) ASC NULLS LAST,
    place ASC NULLS LAST,
    n DESC NULLS LAST,
    cluster_key ASC NULLS LAST,
    coordinate ASC NULLS LAST;
