-- assignment: points assigned to the nearest of given centers, such as those of a clustering of
-- other points.

---------------------------------------------------------------------------------------------------
-- Centers
---------------------------------------------------------------------------------------------------

-- One row per center that has a cluster and a vector: partition_key, cluster, vector; point, from
-- which distances are computed (times the factors of weights, of length 1 for cosine); and number,
-- its place from 0 in its partition, in the order of the clusters.
CREATE OR REPLACE MACRO clustereval._given_centers(centroids, distance, p, weights) AS TABLE
  WITH vectors AS (
    SELECT
      partition_key, cluster,
      TRY_CAST(centroid AS DOUBLE[]) AS vector,
      clustereval._coordinate_factors(weights, distance, p) AS factors
    FROM query_table(centroids)
    WHERE cluster IS NOT NULL AND centroid IS NOT NULL
  ),
  scaled AS (
    SELECT *, clustereval._scale_vector(vector, weights, factors) AS scaled
    FROM vectors
  )
  SELECT
    partition_key, cluster, vector,
    clustereval._center_direction(scaled, distance) AS point,
    row_number() OVER (PARTITION BY partition_key ORDER BY cluster ASC NULLS LAST) - 1 AS number
  FROM scaled;

-- One row per partition: partition_key, its place from 1, and its centers in blocks of 512, as
-- lists of lists of their clusters (cluster_blocks) and points (point_blocks), so that a point is
-- never compared with more centers at a time than memory can hold.
CREATE OR REPLACE MACRO clustereval._center_blocks(centers) AS TABLE
  WITH numbered AS (
    SELECT *, floor(number / 512.0) AS block
    FROM query_table(centers)
  ),
  blocks AS (
    SELECT
      partition_key, block,
      list(cluster ORDER BY number ASC NULLS LAST) AS clusters,
      list(point ORDER BY number ASC NULLS LAST) AS points
    FROM numbered
    GROUP BY partition_key, block
  )
  SELECT
    partition_key,
    row_number() OVER (ORDER BY partition_key ASC NULLS LAST) AS place,
    list(clusters ORDER BY block ASC NULLS LAST) AS cluster_blocks,
    list(points ORDER BY block ASC NULLS LAST) AS point_blocks
  FROM blocks
  GROUP BY partition_key;

-- No row. Raises an error if a partition of the points has no center, if the numbers of coordinates
-- or of weights differ, or if a coordinate is not finite. The distance of every point to one of the
-- centers is measured. The points are read again only if such a distance is not finite. centers:
-- rows of _given_centers.
CREATE OR REPLACE MACRO clustereval._check_assignment(
  points, arguments, centers, distance, p, weights
) AS TABLE
  WITH center_facts AS (
    SELECT
      partition_key,
      MIN(len(vector)) AS least_dims,
      MAX(len(vector)) AS most_dims,
      COUNT(CASE WHEN vector IS NULL THEN 1 END) AS n_unreadable,
      MIN(clustereval._point_fault(vector, len(vector))) AS fault,
      any_value(CASE WHEN number = 0 THEN point END) AS point
    FROM query_table(centers)
    GROUP BY partition_key
  ),
  point_facts AS (
    SELECT
      point.partition_key,
      COUNT(*) AS n,
      COUNT(CASE WHEN center.n_unreadable IS NULL THEN 1 END) AS n_without,
      MIN(len(point.vector)) AS least_dims,
      MAX(len(point.vector)) AS most_dims,
      MIN(center.least_dims) AS least_center_dims,
      MAX(center.most_dims) AS most_center_dims,
      MIN(center.fault) AS center_fault,
      MAX(center.n_unreadable) AS n_unreadable,
      COUNT(
        CASE
          WHEN NOT coalesce(
            isfinite(clustereval._distance(point.point, center.point, distance, p)), FALSE
          )
          THEN 1
        END
      ) AS n_invalid
    FROM query_table(points) AS point
    LEFT JOIN center_facts AS center
      ON center.partition_key IS NOT DISTINCT FROM point.partition_key
    WHERE point.kept
    GROUP BY point.partition_key
  ),
  totals AS (
    SELECT
      MIN(CASE WHEN n_without > 0 THEN clustereval._show_value(partition_key) END) AS lacking,
      MIN(least_dims) AS least_dims,
      MAX(most_dims) AS dims,
      MIN(least_center_dims) AS least_center_dims,
      MAX(most_center_dims) AS most_center_dims,
      MIN(center_fault) AS center_fault,
      MAX(n_unreadable) AS n_unreadable,
      SUM(n_invalid) AS n_invalid
    FROM point_facts
    HAVING COUNT(*) > 0
  ),
  faults AS (
    SELECT
      totals.dims, point.vector,
      clustereval._point_fault(point.vector, totals.dims) AS fault,
      point.partition_key,
      CASE WHEN NOT point.has_default_id THEN point.id END AS id
    FROM query_table(points) AS point
    JOIN totals ON totals.n_invalid > 0 OR totals.least_dims < totals.dims
    WHERE point.kept
  )
  SELECT CAST(CASE
    WHEN totals.lacking IS NOT NULL
    THEN error(concat(
      'centroids: expected a row for each partition of the points, got none for ',
      totals.lacking, '; give the same partition_by to both tables'
    ))
    WHEN totals.n_unreadable > 0
    THEN error('centroids: expected lists of numbers in the column centroid')
    WHEN weights IS NOT NULL AND totals.dims <> len(weights)
    THEN error(concat(
      'weights: expected one for each of ', totals.dims, ' dimensions, got ', len(weights)
    ))
    WHEN fault.n_faulty > 0
    THEN clustereval._point_fault_error(
      fault.fault, totals.dims, fault.n_faulty, fault.names, fault.details
    )
    WHEN totals.least_center_dims <> totals.dims
      OR totals.most_center_dims <> totals.dims
    THEN error(concat(
      'centroids: expected vectors of ', totals.dims, ' coordinates, as the points have, got ',
      CASE
        WHEN totals.least_center_dims <> totals.dims
        THEN totals.least_center_dims
        ELSE totals.most_center_dims
      END
    ))
    ELSE error(concat(
      'centroids: expected finite numbers, got ', totals.center_fault['what'],
      ' in coordinate ', totals.center_fault['coordinate']
    ))
  END AS BOOLEAN) AS valid
  FROM totals
  LEFT JOIN clustereval._first_point_fault(faults, arguments) AS fault ON TRUE
  WHERE totals.lacking IS NOT NULL
    OR (weights IS NOT NULL AND totals.dims <> len(weights))
    OR fault.n_faulty > 0
    OR totals.center_fault IS NOT NULL
    OR totals.n_unreadable > 0
    OR totals.least_center_dims <> totals.dims
    OR totals.most_center_dims <> totals.dims;

-- d, the distance of a point to the nearest center. Raises an error if it is infinite.
CREATE OR REPLACE MACRO clustereval._check_distance(d) AS
  CASE
    WHEN isinf(d) THEN CAST(clustereval._point_fault_error(NULL, 0, 0) AS DOUBLE)
    ELSE d
  END;

-- One row per point that is scored: the columns of _points; distance, that to the nearest center;
-- and nearest, the cluster of that center, the lowest if several are equally near. The centers of
-- all partitions are attached by a cross join, since a join by partition would copy the centers of
-- a partition for each of its points. checked: the result of _check_assignment.
CREATE OR REPLACE MACRO clustereval._assigned_points(points, blocks, checked, distance, p) AS TABLE
  WITH all_centers AS (
    SELECT
      list(cluster_blocks ORDER BY place ASC NULLS LAST) AS clusters,
      list(point_blocks ORDER BY place ASC NULLS LAST) AS points
    FROM query_table(blocks)
  ),
  placed AS NOT MATERIALIZED (
    SELECT
      point.partition_key, point.row_no, point.id, point.has_default_id, point.cluster, point.point,
      all_centers.clusters[part.place] AS cluster_blocks,
      all_centers.points[part.place] AS point_blocks
    FROM query_table(points) AS point
    JOIN query_table(blocks) AS part
      ON part.partition_key IS NOT DISTINCT FROM point.partition_key
    CROSS JOIN all_centers
    WHERE point.kept
  ),
  -- The smallest distance in each block, if there are several.
  block_distances AS NOT MATERIALIZED (
    SELECT
      *,
      CASE
        WHEN len(point_blocks) > 1
        THEN list_transform(
          point_blocks,
          lambda block: list_min(clustereval._distances_to_centers(point, block, distance, p))
        )
      END AS least
    FROM placed
  ),
  nearest_blocks AS NOT MATERIALIZED (
    SELECT *, COALESCE(list_position(least, list_min(least)), 1) AS block_no
    FROM block_distances
  ),
  measured AS NOT MATERIALIZED (
    SELECT
      partition_key, row_no, id, has_default_id, cluster,
      cluster_blocks[block_no] AS clusters,
      clustereval._distances_to_centers(point, point_blocks[block_no], distance, p) AS distances
    FROM nearest_blocks
  )
  SELECT
    partition_key, row_no, id, has_default_id, cluster,
    clusters[list_position(distances, list_min(distances))] AS nearest,
    clustereval._check_distance(list_min(distances)) AS distance
  FROM measured
  WHERE COALESCE((SELECT MIN(valid) FROM query_table(checked)), TRUE);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Nearest center of each point of the table tbl: one row per point with its partition_key, id,
-- cluster (the cluster of the nearest center, the lowest if several are equally near) and the
-- distance to that center. centroids is a table of centers, such as the result of the macro
-- centroids, with the columns cluster, centroid and, with partition_by, partition_key. vector is a
-- list of numbers per point, id identifies a point (its row number from 0 by default); the rest are
-- options.
-- Examples:
--   WITH centers AS (FROM clustereval.centroids(points, [x, y, z], cluster))
--   FROM clustereval.assign_nearest(points, [x, y, z], centers);
CREATE OR REPLACE MACRO clustereval.assign_nearest(
  tbl, vector, centroids, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, weights := NULL, missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, 0, partition_by, NULL, id)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, 0, distance, p, weights, partition_by, NULL, 'cluster', missing, id
    )
  ),
  __ce_keyed_centroids AS (
    SELECT * FROM (SELECT NULL AS partition_key WHERE FALSE)
    UNION ALL BY NAME
    SELECT * FROM query_table(clustereval._check_table_name(centroids))
  ),
  __ce_centers AS MATERIALIZED (
    SELECT * FROM clustereval._given_centers(__ce_keyed_centroids, distance, p, weights)
  ),
  __ce_blocks AS MATERIALIZED (SELECT * FROM clustereval._center_blocks(__ce_centers)),
  __ce_checked AS (
    SELECT *
    FROM clustereval._check_assignment(
      __ce_points, __ce_arguments, __ce_centers, distance, p, weights
    )
  ),
  __ce_assigned AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._assigned_points(__ce_points, __ce_blocks, __ce_checked, distance, p)
  )
  SELECT
    partition_key,
    clustereval._row_id(assigned.id, row_no - 1, has_default_id) AS id,
    nearest AS cluster,
    assigned.distance
  FROM __ce_assigned AS assigned
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, 'mean', weights, NULL, 'cluster', missing)
  )
  ORDER BY partition_key ASC NULLS LAST, 2 ASC NULLS LAST;
