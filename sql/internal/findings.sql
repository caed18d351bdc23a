-- findings: what you should know about the clusters of points, in words with the numbers behind
-- them.

-- Coordinates as text: '1 of 3 (x)', '1, 2 of 3 (x, y)'. places: their numbers; names: those of all
-- n_dims coordinates, or NULL.
CREATE OR REPLACE MACRO clustereval._coordinates_as_text(places, n_dims, names) AS
  concat(
    list_aggregate(places[:5], 'string_agg', ', '),
    CASE WHEN len(places) > 5 THEN ', …' ELSE '' END,
    ' of ', n_dims,
    CASE
      WHEN len(names) = n_dims THEN concat(
        ' (', list_aggregate(list_transform(places[:5], lambda i: names[i]), 'string_agg', ', '),
        CASE WHEN len(places) > 5 THEN ', …' ELSE '' END, ')'
      )
      ELSE ''
    END
  );

-- One row per partition where a few coordinates hold nearly all of the variance within clusters:
-- partition_key, places (their numbers, from 1), n_dims, n, the points, and share. Either one of
-- them holds more than 90 % on average over the points, so that no bad cluster decides alone, or
-- several do whose spreads are at least ten times those of the others that vary, which are at least
-- a quarter. states: rows with partition_key, n and m2 by cluster, where is_distorted is TRUE for a
-- cluster whose variance is that of one far point.
CREATE OR REPLACE MACRO clustereval._dominant_coordinates(states) AS TABLE
  WITH coordinates AS (
    SELECT
      partition_key,
      n,
      is_distorted,
      unnest(range(1, len(m2) + 1)) AS coordinate,
      n * (unnest(m2) / NULLIF(list_sum(m2), 0.0)) AS points
    FROM query_table(states)
    WHERE n > 0
  ),
  variances AS (
    SELECT
      partition_key, coordinate, CAST(SUM(n) AS BIGINT) AS n,
      fsum(points) FILTER (NOT is_distorted) AS squares
    FROM coordinates
    GROUP BY partition_key, coordinate
  ),
  ranked AS (
    SELECT
      *,
      ROW_NUMBER() OVER by_size AS place,
      SUM(squares) OVER by_size / NULLIF(SUM(squares) OVER own, 0.0) AS share,
      LEAD(squares) OVER by_size AS next_squares,
      COUNT(*) OVER own AS n_dims,
      COUNT(*) FILTER (squares > 0) OVER own AS n_varying
    FROM variances
    WINDOW
      own AS (PARTITION BY partition_key),
      by_size AS (
        PARTITION BY partition_key ORDER BY squares DESC NULLS LAST, coordinate ASC NULLS LAST
      )
  ),
  cuts AS (
    SELECT partition_key, MIN(place) AS n_dominant
    FROM ranked
    WHERE place < n_varying AND share > clustereval._dominant_share()
      AND (
        place = 1
        OR next_squares > 0 AND squares >= 100 * next_squares
        AND 4 * (n_varying - place) >= n_varying
      )
    GROUP BY partition_key
  )
  SELECT
    ranked.partition_key,
    list(ranked.coordinate ORDER BY ranked.coordinate ASC NULLS LAST) AS places,
    any_value(ranked.n_dims) AS n_dims,
    any_value(ranked.n) AS n,
    MAX(ranked.share) AS share
  FROM ranked
  JOIN cuts ON cuts.partition_key IS NOT DISTINCT FROM ranked.partition_key
  WHERE ranked.place <= cuts.n_dominant
  GROUP BY ranked.partition_key;

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

-- What to know about the coordinates of _dominant_coordinates, as text. names: those of all, or
-- NULL.
CREATE OR REPLACE MACRO clustereval._dominant_as_text(places, n_dims, names, share) AS
  concat(
    CASE WHEN len(places) = 1 THEN 'coordinate ' ELSE 'coordinates ' END,
    clustereval._coordinates_as_text(places, n_dims, names),
    CASE WHEN len(places) = 1 THEN ' holds ' ELSE ' hold ' END,
    clustereval._percent_above(share, clustereval._dominant_share()),
    ' of the variance within clusters, so distances say little of the other coordinates: pass the',
    ' columns that were clustered on, such as scaled ones'
  );

-- One row per partition whose vectors look like the rows of a matrix of distances, in any order:
-- partition_key and n, the number of rows and of coordinates. As many rows as coordinates have a
-- vector, the least coordinate of each row is 0, at most half of all coordinates are 0, and the
-- sums and maxima of the rows are those of the coordinates. vectors has a row per row of the table,
-- with partition_key and vector; counts has a row per partition, with partition_key, n, n_dropped,
-- n_noise and n_dims. Vectors are read only in partitions with about as many rows as coordinates.
CREATE OR REPLACE MACRO clustereval._distance_matrices(vectors, counts) AS TABLE
  WITH candidates AS MATERIALIZED (
    SELECT partition_key, n_dims
    FROM query_table(counts)
    WHERE n_dims > 3 AND n_dims BETWEEN n AND n + n_dropped + n_noise
  ),
  -- A row without its first coordinate lacks a vector, or raises an error if it is scored.
  given AS NOT MATERIALIZED (
    SELECT own.partition_key, own.vector, one.n_dims
    FROM query_table(vectors) AS own
    JOIN candidates AS one ON one.partition_key IS NOT DISTINCT FROM own.partition_key
    WHERE own.vector[1] IS NOT NULL AND len(own.vector) = one.n_dims
  ),
  row_facts AS MATERIALIZED (
    SELECT
      partition_key, n_dims,
      list_sum(vector) AS total, list_max(vector) AS most, list_min(vector) AS least,
      len(list_filter(vector, lambda x: x = 0)) AS n_zeros
    FROM given
  ),
  square AS MATERIALIZED (
    SELECT partition_key
    FROM row_facts
    GROUP BY partition_key, n_dims
    HAVING COUNT(*) = n_dims AND MIN(least) = 0 AND MAX(least) = 0
      AND 2 * SUM(n_zeros) <= n_dims * n_dims
  ),
  entries AS NOT MATERIALIZED (
    SELECT own.partition_key, generate_subscripts(own.vector, 1) AS place, unnest(own.vector) AS d
    FROM given AS own
    JOIN square ON square.partition_key IS NOT DISTINCT FROM own.partition_key
  ),
  sums AS (
    SELECT partition_key, TRUE AS is_row, total, most FROM row_facts
    UNION ALL
    SELECT partition_key, FALSE, SUM(d), MAX(d) FROM entries GROUP BY partition_key, place
  ),
  ordered AS (
    SELECT
      partition_key,
      list(total ORDER BY total ASC NULLS LAST) FILTER (is_row) AS row_totals,
      list(total ORDER BY total ASC NULLS LAST) FILTER (NOT is_row) AS totals,
      list(most ORDER BY most ASC NULLS LAST) FILTER (is_row) AS row_maxima,
      list(most ORDER BY most ASC NULLS LAST) FILTER (NOT is_row) AS maxima
    FROM sums
    GROUP BY partition_key
  )
  SELECT partition_key, CAST(len(totals) AS BIGINT) AS n
  FROM ordered
  -- The order of sums differs, so that their rounding errors do. Without totals, it is not square.
  WHERE len(list_filter(
    range(1, len(totals) + 1),
    lambda i: abs(row_totals[i] - totals[i]) > 1e-9 * totals[i]
      OR abs(row_maxima[i] - maxima[i]) > 1e-9 * maxima[i]
  )) = 0;

-- What to know about vectors that are the rows of a matrix of distances between n points, as text.
CREATE OR REPLACE MACRO clustereval._distance_matrix_as_text(n) AS
  concat(
    'the vectors of ', n, ' points have ', n, ' coordinates and look like the rows of a matrix of',
    ' distances, but scores of vectors are not those of distances: make a table of pairs, with',
    ' distances_from_matrix in Python or UNPIVOT in SQL, for silhouette_score_from_distances'
  );

-- How many times as far as the points on average the farthest is from the center of a cluster.
CREATE OR REPLACE MACRO clustereval._farness(max_distance, mean_distance, distance) AS
  CASE
    -- For squared distances, the root of the ratio is the ratio of lengths.
    WHEN lower(distance) = 'sqeuclidean'
      THEN sqrt(clustereval._ratio(max_distance, mean_distance))
    ELSE clustereval._ratio(max_distance, mean_distance)
  END;

-- TRUE if the largest distance in a cluster of n points is more than a tenth of the sum of all.
CREATE OR REPLACE MACRO clustereval._is_distorted(farness, n) AS
  coalesce(farness > clustereval._far_ratio() AND 10 * farness > n, FALSE);

-- The mean silhouette of a cluster that is not well separated, as text. upper and lower: the limits
-- of its interval, which are the silhouette itself unless it is estimated from a sample.
CREATE OR REPLACE MACRO clustereval._silhouette_as_text(silhouette, lower, upper) AS
  concat(
    CASE
      WHEN upper < 0 THEN clustereval._decimals_below(silhouette, 0)
      ELSE clustereval._decimals_below(silhouette, clustereval._low_silhouette())
    END,
    CASE
      WHEN lower < upper
        THEN concat(
          ' (of a sample; 95 % interval ', clustereval._decimals_as_text(lower), ' to ',
          CASE
            WHEN upper < 0 THEN clustereval._decimals_below(upper, 0)
            ELSE clustereval._decimals_below(upper, clustereval._low_silhouette())
          END,
          ')'
        )
      ELSE ''
    END
  );

-- TRUE if the neighbors of the points of a cluster are its own, by a row of _shapes. Without two
-- parts, this says nothing.
CREATE OR REPLACE MACRO clustereval._is_connected(n_sampled, n_own, n_parts) AS
  coalesce(20 * n_own >= 19 * n_sampled AND n_sampled > 15 AND n_parts > 1, FALSE);

-- What to know about the low silhouettes of n_connected of n_clusters clusters (_is_connected), as
-- text. share: that of their points in a part of their own.
CREATE OR REPLACE MACRO clustereval._connected_as_text(n_connected, n_clusters, share) AS
  concat(
    n_connected, ' of ', n_clusters, ' clusters ',
    CASE WHEN n_connected = 1 THEN 'has a low silhouette' ELSE 'have low silhouettes' END,
    ', but nearest neighbors connect ', clustereval._percent_as_text(share), ' of ',
    CASE
      WHEN n_connected = 1 THEN 'its points within the cluster'
      ELSE 'their points within their cluster'
    END,
    ', and hardly any with other clusters: centers and silhouettes say little of clusters that are',
    ' not round or have many dimensions; judge them with dunn_index, density_based_validity and',
    ' neighborhood_report'
  );

-- What to know about two clusters that contradict the connected parts of the points, as text.
CREATE OR REPLACE MACRO clustereval._cut_as_text(n_parts) AS
  concat(
    'they divide one of the ', n_parts, ' connected parts of the points, although the first also',
    ' has points of another part: centers do this to shapes that are not round, or if there are',
    ' too few clusters; compare the clusters of DBSCAN, HDBSCAN or single linkage, by dunn_index',
    ' or density_based_validity'
  );

-- What you should know about the clusters of points: clusters that are not well separated or have
-- few points, shapes that clusters cut, points far away from their center, coordinates of another
-- scale, and rows that are left out.
-- Examples:
--   FROM clustereval.internal_findings(points, [x, y], cluster);
CREATE OR REPLACE MACRO clustereval.internal_findings(
  tbl, vector, cluster, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, noise := NULL, noise_as := NULL, weights := NULL, method := 'exact',
  sample_size := NULL, reference_size := NULL, random_state := 0, missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise, id)
  ),
  -- Noise as singletons is dropped, because no point of it is the nearest cluster of another.
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise,
      CASE WHEN noise_as = 'singletons' THEN 'drop' ELSE noise_as END, missing, id
    )
  ),
  __ce_groups AS MATERIALIZED (
    SELECT *
    FROM clustereval._point_clusters(__ce_rows, __ce_arguments, distance, p, 'mean', weights)
  ),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._cluster_moments(__ce_groups)),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._clustered_points(__ce_rows, __ce_groups, weights)
  ),
  -- Clusters that have points.
  __ce_centered AS (SELECT * FROM __ce_groups WHERE n > 0),
  __ce_silhouettes AS (
    SELECT * FROM clustereval._cluster_silhouettes(
      __ce_points, __ce_clusters, distance, p, method, 'nearest', sample_size, reference_size,
      random_state
    )
  ),
  __ce_shapes AS MATERIALIZED (
    SELECT * FROM clustereval._shapes(__ce_points, __ce_clusters, distance, p, random_state)
  ),
  -- As singletons, noise is points and clusters, although no cluster is compared with it.
  __ce_row_counts AS MATERIALIZED (
    SELECT
      partition_key,
      total + CASE WHEN noise_as = 'singletons' THEN n_noise ELSE 0 END AS total,
      n_dropped, n_noise,
      n_clusters + CASE WHEN noise_as = 'singletons' THEN n_noise ELSE 0 END AS n_clusters,
      total + CASE WHEN noise_as = 'cluster' THEN 0 ELSE n_noise END AS total_noise
    FROM clustereval._point_row_counts(__ce_groups)
  ),
  __ce_sizes AS (
    SELECT partition_key, one.cluster, n AS cluster_size
    FROM __ce_clusters AS one
  ),
  __ce_measured AS (
    SELECT
      own.partition_key, own.cluster AS cluster_key, own.n, own.variances AS m2, own.mean,
      clustereval._farness(spread.radius, spread.mean_distance, distance) AS farness,
      own.n_zero_vectors, gap.nearest, averaged.silhouette,
      averaged.silhouette - averaged.margin AS lower,
      averaged.silhouette + averaged.margin AS upper,
      counts.total, counts.n_clusters,
      shape.n_sampled, shape.n_own, shape.n_parts, shape.cut_share, divided.cluster AS cut_cluster
    FROM __ce_clusters AS own
    JOIN __ce_row_counts AS counts
      ON counts.partition_key IS NOT DISTINCT FROM own.partition_key
    JOIN __ce_centered AS spread ON spread.number = own.number
    LEFT JOIN clustereval._centroid_gaps(
      __ce_centered, clustereval._plain_distance_name(distance, p), p
    ) AS gap ON gap.number = own.number
    LEFT JOIN (
      SELECT
        number, silhouette,
        CASE
          WHEN method = 'sample' THEN clustereval._normal_quantile(0.95) * std_error
          ELSE 0.0
        END AS margin
      FROM __ce_silhouettes
    ) AS averaged
      ON averaged.number = own.number
    LEFT JOIN __ce_shapes AS shape ON shape.number = own.number
    LEFT JOIN __ce_clusters AS divided ON divided.number = shape.cut_number
  ),
  __ce_distorted AS MATERIALIZED (
    SELECT *, clustereval._is_distorted(farness, n) AS is_distorted FROM __ce_measured
  ),
  __ce_dominant AS MATERIALIZED (
    SELECT *
    FROM clustereval._dominant_coordinates(__ce_distorted)
    WHERE lower(distance) <> 'cosine' AND weights IS NULL
  ),
  __ce_dims AS (
    SELECT
      partition_key,
      SUM(n) AS n, SUM(n_dropped) AS n_dropped, SUM(n_noise) AS n_noise, MAX(len(mean)) AS n_dims
    FROM __ce_groups
    GROUP BY partition_key
  ),
  __ce_matrices AS MATERIALIZED (
    SELECT * FROM clustereval._distance_matrices(__ce_rows, __ce_dims)
  ),
  -- Clusters whose distances say something: not of a column, and not of rows of distances.
  __ce_comparable AS MATERIALIZED (
    SELECT *, clustereval._is_connected(n_sampled, n_own, n_parts) AS is_connected
    FROM __ce_distorted
    WHERE NOT EXISTS (
        FROM __ce_dominant AS one
        WHERE one.partition_key IS NOT DISTINCT FROM __ce_distorted.partition_key
      )
      AND NOT EXISTS (
        FROM __ce_matrices AS one
        WHERE one.partition_key IS NOT DISTINCT FROM __ce_distorted.partition_key
      )
  ),
  -- Low silhouettes that are not those of a point.
  __ce_uncertain AS (
    SELECT *
    FROM __ce_comparable
    WHERE n > 1 AND upper < clustereval._low_silhouette() AND NOT is_distorted
  ),
  __ce_low AS (
    SELECT
      *,
      upper < 0 AS is_negative,
      SUM(CASE WHEN upper < 0 THEN n ELSE 0 END) OVER (PARTITION BY partition_key) AS n_negative
    FROM __ce_uncertain
    WHERE NOT is_connected
  ),
  __ce_columns AS (
    SELECT
      clustereval._coordinate_names(
        clustereval._vector_text(concat('', alias(any_value(vector))))
      ) AS __ce_names
    FROM query_table(tbl)
    WHERE FALSE
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
      partition_key, -2, 'problem', 'distance_matrix', NULL, NULL, NULL, n, NULL,
      clustereval._distance_matrix_as_text(n)
    FROM __ce_matrices
    UNION ALL
    SELECT
      partition_key, -1, 'problem', 'cluster_coordinate', NULL, NULL, coordinate, n, NULL,
      concat(
        'coordinate ', clustereval._coordinates_as_text([coordinate], n_dims, __ce_names),
        ' has one value in each cluster, which no other cluster has: is it made from the cluster?'
      )
    FROM clustereval._cluster_coordinates(__ce_distorted), __ce_columns
    WHERE lower(distance) <> 'cosine' AND weights IS NULL
    UNION ALL
    SELECT
      partition_key, 0, clustereval._severity_of_left_out(SUM(n_zero_vectors), total),
      'zero_vectors', NULL, NULL, NULL, CAST(SUM(n_zero_vectors) AS BIGINT),
      clustereval._ratio(SUM(n_zero_vectors), total),
      concat(
        clustereval._count_as_text(SUM(n_zero_vectors), 'vector'),
        CASE WHEN SUM(n_zero_vectors) = 1 THEN ' is zero: its' ELSE ' are zero: their' END,
        ' cosine distance to every other one is 1; if zeros stand for a missing vector, make it',
        ' NULL, so that such rows are left out'
      )
    FROM __ce_distorted
    GROUP BY partition_key, total
    HAVING SUM(n_zero_vectors) > 0
    UNION ALL
    SELECT
      partition_key, 2, 'warning', 'dominant_coordinate', NULL, NULL, places[1], n, share,
      clustereval._dominant_as_text(places, n_dims, __ce_names, share)
    FROM __ce_dominant, __ce_columns
    UNION ALL
    SELECT
      partition_key, 3, 'warning', 'far_point', cluster_key, NULL, NULL, n,
      farness,
      concat(
        'its farthest point is ', clustereval._whole_above(farness, clustereval._far_ratio()),
        ' times as far from the center as its points are on average'
      )
    FROM __ce_distorted
    WHERE farness > clustereval._far_ratio()
    UNION ALL
    SELECT
      partition_key, 4, 'warning', 'cut_shapes', cluster_key, cut_cluster, NULL, total, cut_share,
      clustereval._cut_as_text(n_parts)
    FROM __ce_comparable
    WHERE cut_cluster IS NOT NULL
    UNION ALL
    SELECT
      partition_key, 7, 'note', 'connected_shapes', NULL, NULL, NULL, CAST(SUM(n) AS BIGINT),
      SUM(n_own) / SUM(n_sampled),
      clustereval._connected_as_text(COUNT(*), n_clusters, SUM(n_own) / SUM(n_sampled))
    FROM __ce_uncertain
    WHERE is_connected
    GROUP BY partition_key, n_clusters
    UNION ALL
    SELECT
      partition_key, 5,
      CASE
        WHEN is_negative AND clustereval._are_many(n_negative, total) THEN 'problem'
        ELSE 'warning'
      END,
      'low_silhouette', cluster_key, nearest, NULL, n, silhouette,
      concat(
        'the mean silhouette of its ', clustereval._count_as_text(n, 'point'), ' is ',
        clustereval._silhouette_as_text(silhouette, lower, upper),
        CASE
          WHEN is_negative THEN ': they are nearer to another cluster than to each other'
          ELSE ': it is hardly set apart from the clusters around it'
        END
      )
    FROM __ce_low
    UNION ALL
    SELECT
      own.partition_key, 6, 'warning', 'close_clusters', own.cluster_key, own.nearest, NULL,
      own.n + other.n, GREATEST(own.silhouette, other.silhouette),
      concat(
        'each is the nearest to the other, and their mean silhouettes are ',
        clustereval._silhouette_as_text(own.silhouette, own.lower, own.upper), ' and ',
        clustereval._silhouette_as_text(other.silhouette, other.lower, other.upper),
        ': they are hardly set apart'
      )
    FROM __ce_low AS own
    JOIN __ce_low AS other
      ON other.partition_key IS NOT DISTINCT FROM own.partition_key
      AND other.cluster_key = own.nearest
      AND other.nearest = own.cluster_key
    WHERE own.cluster_key < other.cluster_key
    UNION ALL
    SELECT
      partition_key, 9, 'note', 'tiny_cluster', cluster_key, NULL, NULL, n,
      clustereval._ratio(n * n_clusters, total),
      concat(
        'it has ', clustereval._count_as_text(n, 'point'), ', where the average cluster has ',
        clustereval._whole_above(clustereval._ratio(total, n_clusters), 10 * n)
      )
    FROM __ce_measured
    WHERE 10 * clustereval._widen(n) * clustereval._widen(n_clusters) < total
  )
  SELECT
    partition_key, severity, code, cluster_key AS cluster, other AS other_cluster, coordinate, n,
    value, clustereval._named_finding(code, finding, cluster_key, NULL, other) AS finding
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
