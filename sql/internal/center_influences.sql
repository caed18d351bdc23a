-- center_influences: how much each point counts for the scores by centers of its partition.
--
-- To first order, the difference between the score of a sample and that of its population is the
-- mean of the influences of its points. A point has its own silhouette, and moves the center of its
-- cluster, which changes the silhouettes of all points near that center. Distances are euclidean or
-- sqeuclidean.

-- Factor by which the derivative of a silhouette with respect to a center is its difference to the
-- point. slope is the derivative with respect to d, the distance of the two. It is NULL if d, or
-- its rounding error, has no direction. other is the other distance of the silhouette.
CREATE OR REPLACE MACRO clustereval._center_pull(slope, d, other, distance) AS
  CASE
    WHEN d <= 1e-9 * GREATEST(d, other) THEN NULL
    WHEN lower(distance) = 'sqeuclidean' THEN 2 * slope
    ELSE slope / d
  END;

-- One row per cluster (number) near which there are points: slope, a list of the derivatives of the
-- mean silhouette with respect to its center, divided by the cluster's share of the points; and
-- height, the product of the list and the center. points: rows of _clustered_points; silhouettes:
-- rows of _point_silhouettes of 'simplified' for these points; clusters: number, n and center.
CREATE OR REPLACE MACRO clustereval._center_slopes(
  points, silhouettes, clusters, distance
) AS TABLE
  WITH pulls AS NOT MATERIALIZED (
    SELECT
      row_no, number,
      unnest([
        {
          'target': number,
          'pull': clustereval._center_pull(
            CASE WHEN a_lower < b_lower THEN -1.0 / b_lower ELSE -b_lower / a_lower / a_lower END,
            a_lower, b_lower, distance
          )
        },
        {
          'target': neighbor,
          'pull': clustereval._center_pull(
            CASE WHEN a_lower < b_lower THEN a_lower / b_lower / b_lower ELSE 1.0 / a_lower END,
            b_lower, a_lower, distance
          )
        }
      ]) AS term
    FROM query_table(silhouettes)
  ),
  totals AS (
    SELECT term['target'] AS number, clustereval._compensated_sum(term['pull']) AS pull
    FROM pulls
    GROUP BY term['target']
  ),
  -- Points times their pulls, as points of the clusters that they pull.
  pulled_points AS NOT MATERIALIZED (
    SELECT
      own.term['target'] AS partition_key, NULL AS cluster, 0 AS singleton_no, TRUE AS kept,
      list_transform(point.point, lambda x: x * own.term['pull']) AS unweighted
    FROM query_table(points) AS point
    JOIN pulls AS own ON own.row_no = point.row_no AND own.number = point.number
    WHERE own.term['pull'] IS NOT NULL
  ),
  coordinates AS (
    SELECT
      own.number, moment.i, own.center[moment.i] AS center,
      (own.center[moment.i] * total.pull - moment.n * moment.center) / own.n AS slope
    FROM clustereval._coordinate_moments(pulled_points, 'mean') AS moment
    JOIN totals AS total ON total.number = moment.partition_key
    JOIN query_table(clusters) AS own ON own.number = moment.partition_key
  )
  SELECT
    number,
    list(slope ORDER BY i ASC NULLS LAST) AS slope,
    clustereval._compensated_sum(slope * center) AS height
  FROM coordinates
  GROUP BY number;

-- One row per row of silhouettes: row_no, partition_no, and the influences of the point on the mean
-- silhouette (of_silhouette) and on the Calinski-Harabasz score (of_calinski) of its partition,
-- which has a row in totals: partition_no, n, n_clusters, silhouette, ssw, ssb and overall_center.
-- slopes: rows of _center_slopes of the points; the other tables are the same.
CREATE OR REPLACE MACRO clustereval._center_influences(
  points, silhouettes, clusters, slopes, totals, distance
) AS TABLE
  WITH centers AS MATERIALIZED (
    SELECT
      own.number, total.silhouette, total.overall_center, pull.slope, pull.height,
      CAST(total.n - total.n_clusters AS DOUBLE) / (total.n_clusters - 1) * total.n
        / NULLIF(total.ssw, 0) AS factor,
      1.0 + total.ssb / NULLIF(total.ssw, 0) AS share
    FROM query_table(clusters) AS own
    JOIN query_table(totals) AS total ON total.partition_no = own.partition_no
    LEFT JOIN query_table(slopes) AS pull ON pull.number = own.number
  )
  SELECT
    own.row_no, own.partition_no,
    own.lower - center.silhouette
      + COALESCE(clustereval._inner_product(point.point, center.slope) - center.height, 0.0)
      AS of_silhouette,
    center.factor * (
      pow(clustereval._euclidean(point.point, center.overall_center), 2)
      - center.share * clustereval._squared_distance(own.a_lower, distance)
    ) AS of_calinski
  FROM query_table(points) AS point
  JOIN query_table(silhouettes) AS own
    ON own.row_no = point.row_no AND own.number = point.number
  JOIN centers AS center ON center.number = own.number;
