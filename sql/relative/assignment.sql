-- assignment: points assigned to the nearest of given centers, such as those of a clustering of
-- other points.

---------------------------------------------------------------------------------------------------
-- Centers
---------------------------------------------------------------------------------------------------

-- One row per center that has a cluster and a vector: __ce_partition, __ce_cluster, __ce_vector as
-- the user gave it, __ce_point, the vector that distances are computed from (times the factors of
-- weights, of length 1 for cosine), and __ce_number, its place from 0 among the centers of its
-- partition, in the order of the clusters. __ce_centroids names a CTE of the user's centers, with
-- the columns __ce_partition, __ce_cluster and __ce_centroid; the rest are options.
CREATE OR REPLACE MACRO clustereval._given_centers(__ce_centroids, distance, p, weights) AS TABLE
  WITH __ce_vectors AS (
    SELECT
      __ce_partition, __ce_cluster,
      TRY_CAST(__ce_centroid AS DOUBLE[]) AS __ce_vector,
      clustereval._coordinate_factors(weights, distance, p) AS __ce_factors
    FROM query_table(__ce_centroids)
    WHERE __ce_cluster IS NOT NULL AND __ce_centroid IS NOT NULL
  ),
  __ce_scaled AS (
    SELECT *, clustereval._scale_vector(__ce_vector, weights, __ce_factors) AS __ce_scaled
    FROM __ce_vectors
  )
  SELECT
    __ce_partition, __ce_cluster, __ce_vector,
    clustereval._center_direction(__ce_scaled, distance) AS __ce_point,
    row_number() OVER (PARTITION BY __ce_partition ORDER BY __ce_cluster ASC NULLS LAST) - 1
      AS __ce_number
  FROM __ce_scaled;

-- One row per partition and block of 512 of its centers, in order: __ce_partition, __ce_block (from
-- 0), __ce_n_blocks of the partition, and lists of the centers' __ce_clusters and __ce_points. With
-- blocks a point never meets more centers at a time than memory holds. __ce_centers: rows of
-- _given_centers.
CREATE OR REPLACE MACRO clustereval._center_blocks(__ce_centers) AS TABLE
  WITH __ce_numbered AS (
    SELECT *, CAST(floor(__ce_number / 512.0) AS BIGINT) AS __ce_block
    FROM query_table(__ce_centers)
  )
  SELECT
    __ce_partition, __ce_block,
    MAX(__ce_block) OVER (PARTITION BY __ce_partition) + 1 AS __ce_n_blocks,
    list(__ce_cluster ORDER BY __ce_number ASC NULLS LAST) AS __ce_clusters,
    list(__ce_point ORDER BY __ce_number ASC NULLS LAST) AS __ce_points
  FROM __ce_numbered
  GROUP BY __ce_partition, __ce_block;

-- No row. Raises an error if a partition of the points has no center, if centers and points have
-- other numbers of coordinates, or weights another number, or if a coordinate is not finite. Every
-- point is measured to one center; the points are read again only if such a distance is not finite.
-- __ce_points: rows of _points; __ce_centers: rows of _given_centers; the rest are options.
CREATE OR REPLACE MACRO clustereval._check_assignment(
  __ce_points, __ce_centers, distance, p, weights
) AS TABLE
  WITH __ce_center_facts AS (
    SELECT
      __ce_partition,
      MIN(len(__ce_vector)) AS __ce_least_dims,
      MAX(len(__ce_vector)) AS __ce_most_dims,
      COUNT(CASE WHEN __ce_vector IS NULL THEN 1 END) AS __ce_n_unreadable,
      MIN(clustereval._point_fault(__ce_vector, len(__ce_vector))) AS __ce_fault,
      any_value(CASE WHEN __ce_number = 0 THEN __ce_point END) AS __ce_point
    FROM query_table(__ce_centers)
    GROUP BY __ce_partition
  ),
  __ce_point_facts AS (
    SELECT
      point.__ce_partition,
      COUNT(*) AS __ce_n,
      COUNT(CASE WHEN center.__ce_n_unreadable IS NULL THEN 1 END) AS __ce_n_without,
      MIN(len(point.__ce_vector)) AS __ce_least_dims,
      MAX(len(point.__ce_vector)) AS __ce_most_dims,
      MIN(center.__ce_least_dims) AS __ce_least_center_dims,
      MAX(center.__ce_most_dims) AS __ce_most_center_dims,
      MIN(center.__ce_fault) AS __ce_center_fault,
      MAX(center.__ce_n_unreadable) AS __ce_n_unreadable,
      COUNT(
        CASE
          WHEN NOT coalesce(
            isfinite(clustereval._distance(point.__ce_point, center.__ce_point, distance, p)), FALSE
          )
          THEN 1
        END
      ) AS __ce_n_invalid
    FROM query_table(__ce_points) AS point
    LEFT JOIN __ce_center_facts AS center
      ON center.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
    WHERE point.__ce_kept
    GROUP BY point.__ce_partition
  ),
  __ce_totals AS (
    SELECT
      MIN(CASE WHEN __ce_n_without > 0 THEN clustereval._show_value(__ce_partition) END)
        AS __ce_lacking,
      MIN(__ce_least_dims) AS __ce_least_dims,
      MAX(__ce_most_dims) AS __ce_dims,
      MIN(__ce_least_center_dims) AS __ce_least_center_dims,
      MAX(__ce_most_center_dims) AS __ce_most_center_dims,
      MIN(__ce_center_fault) AS __ce_center_fault,
      MAX(__ce_n_unreadable) AS __ce_n_unreadable,
      SUM(__ce_n_invalid) AS __ce_n_invalid
    FROM __ce_point_facts
    HAVING COUNT(*) > 0
  ),
  __ce_faults AS (
    SELECT
      totals.__ce_dims, point.__ce_vector,
      clustereval._point_fault(point.__ce_vector, totals.__ce_dims) AS __ce_fault,
      point.__ce_partition, point.__ce_unpartitioned, point.__ce_vector_text,
      CASE WHEN NOT point.__ce_has_default_id THEN point.__ce_id END AS __ce_id
    FROM query_table(__ce_points) AS point
    JOIN __ce_totals AS totals
      ON totals.__ce_n_invalid > 0 OR totals.__ce_least_dims < totals.__ce_dims
    WHERE point.__ce_kept OR point.__ce_vector_text IS NOT NULL
  ),
  __ce_first_fault AS (SELECT * FROM clustereval._first_point_fault(__ce_faults))
  SELECT CAST(CASE
    WHEN totals.__ce_lacking IS NOT NULL
    THEN error(concat(
      'centroids: expected a row for each partition of the points, got none for ',
      totals.__ce_lacking, '; give the same partition_by to both tables'
    ))
    WHEN totals.__ce_n_unreadable > 0
    THEN error('centroids: expected lists of numbers in the column centroid')
    WHEN weights IS NOT NULL AND totals.__ce_dims <> len(weights)
    THEN error(concat(
      'weights: expected one for each of ', totals.__ce_dims, ' dimensions, got ', len(weights)
    ))
    WHEN fault.__ce_n_faulty > 0
    THEN clustereval._point_fault_error(
      fault.__ce_fault, totals.__ce_dims, fault.__ce_n_faulty, fault.__ce_names, fault.__ce_details
    )
    WHEN totals.__ce_least_center_dims <> totals.__ce_dims
      OR totals.__ce_most_center_dims <> totals.__ce_dims
    THEN error(concat(
      'centroids: expected vectors of ', totals.__ce_dims, ' coordinates, as the points have, got ',
      CASE
        WHEN totals.__ce_least_center_dims <> totals.__ce_dims
        THEN totals.__ce_least_center_dims
        ELSE totals.__ce_most_center_dims
      END
    ))
    ELSE error(concat(
      'centroids: expected finite numbers, got ', totals.__ce_center_fault['what'],
      ' in coordinate ', totals.__ce_center_fault['coordinate']
    ))
  END AS BOOLEAN) AS __ce_valid
  FROM __ce_totals AS totals
  LEFT JOIN __ce_first_fault AS fault ON TRUE
  WHERE totals.__ce_lacking IS NOT NULL
    OR (weights IS NOT NULL AND totals.__ce_dims <> len(weights))
    OR fault.__ce_n_faulty > 0
    OR totals.__ce_center_fault IS NOT NULL
    OR totals.__ce_n_unreadable > 0
    OR totals.__ce_least_center_dims <> totals.__ce_dims
    OR totals.__ce_most_center_dims <> totals.__ce_dims;

-- Distance of a point x to a center y, by distance and p; for cosine both are unit vectors or zero.
-- It is _distance without the forms for vectors at fault, which take ten times as long in a lambda:
-- _check_assignment reports those. try() is there because rows are measured before that.
CREATE OR REPLACE MACRO clustereval._center_distance(x, y, distance, p) AS
  CASE lower(distance)
    WHEN 'euclidean' THEN try(list_distance(x, y))
    WHEN 'sqeuclidean' THEN pow(try(list_distance(x, y)), 2)
    WHEN 'cosine'
    THEN CASE
      WHEN try(list_inner_product(x, x)) = 0 OR try(list_inner_product(y, y)) = 0 THEN 1.0
      ELSE clustereval._zero_if_parallel(pow(try(list_distance(x, y)), 2) / 2)
    END
    ELSE clustereval._unchecked_distance(x, y, lower(distance), p)
  END;

-- d, the distance of a point to the nearest center. Raises an error if it is infinite.
CREATE OR REPLACE MACRO clustereval._check_distance(d) AS
  CASE
    WHEN isinf(d) THEN CAST(clustereval._point_fault_error(NULL, 0, 0) AS DOUBLE)
    ELSE d
  END;

-- One row per point that counts: the columns of _points, __ce_distance to the nearest center of its
-- partition, and __ce_nearest, the cluster of that center, the lowest of equally near ones.
-- __ce_points: rows of _points; __ce_blocks: rows of _center_blocks; __ce_checked: the result of
-- _check_assignment; distance and p are options.
CREATE OR REPLACE MACRO clustereval._assigned_points(
  __ce_points, __ce_blocks, __ce_checked, distance, p
) AS TABLE
  WITH __ce_measured AS NOT MATERIALIZED (
    SELECT
      point.__ce_partition, point.__ce_row, point.__ce_id, point.__ce_has_default_id,
      point.__ce_cluster, block.__ce_clusters,
      list_transform(
        block.__ce_points,
        lambda __ce_center: clustereval._center_distance(
          point.__ce_point, __ce_center, distance, p
        )
      ) AS __ce_distances
    FROM query_table(__ce_points) AS point
    JOIN query_table(__ce_blocks) AS block
      ON block.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
    WHERE point.__ce_kept AND block.__ce_n_blocks = 1
  ),
  __ce_measured_by_block AS NOT MATERIALIZED (
    SELECT
      point.__ce_partition, point.__ce_row, point.__ce_id, point.__ce_has_default_id,
      point.__ce_cluster, block.__ce_block, block.__ce_clusters,
      list_transform(
        block.__ce_points,
        lambda __ce_center: clustereval._center_distance(
          point.__ce_point, __ce_center, distance, p
        )
      ) AS __ce_distances
    FROM query_table(__ce_points) AS point
    JOIN query_table(__ce_blocks) AS block
      ON block.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
    WHERE point.__ce_kept AND block.__ce_n_blocks > 1
  ),
  __ce_nearest_by_block AS (
    SELECT
      any_value(__ce_partition) AS __ce_partition,
      __ce_row,
      any_value(__ce_id) AS __ce_id,
      any_value(__ce_has_default_id) AS __ce_has_default_id,
      any_value(__ce_cluster) AS __ce_cluster,
      MIN({
        'distance': list_min(__ce_distances),
        'block': __ce_block,
        'cluster': __ce_clusters[list_position(__ce_distances, list_min(__ce_distances))]
      }) AS __ce_nearest
    FROM __ce_measured_by_block
    GROUP BY __ce_row
  )
  SELECT
    __ce_partition, __ce_row, __ce_id, __ce_has_default_id, __ce_cluster,
    __ce_clusters[list_position(__ce_distances, list_min(__ce_distances))] AS __ce_nearest,
    clustereval._check_distance(list_min(__ce_distances)) AS __ce_distance
  FROM __ce_measured
  WHERE COALESCE((SELECT MIN(__ce_valid) FROM query_table(__ce_checked)), TRUE)
  UNION ALL
  SELECT
    __ce_partition, __ce_row, __ce_id, __ce_has_default_id, __ce_cluster,
    __ce_nearest['cluster'], clustereval._check_distance(__ce_nearest['distance'])
  FROM __ce_nearest_by_block
  WHERE COALESCE((SELECT MIN(__ce_valid) FROM query_table(__ce_checked)), TRUE);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Nearest center of each point of the table tbl: one row per point with its partition_key, id,
-- cluster (of the nearest center, the lowest of equally near ones) and the distance to it.
-- centroids is a table of centers with the columns cluster, centroid and, with partition_by,
-- partition_key, such as the macro centroids returns. vector is a list of numbers per point, id
-- identifies a point (its row number from 0 by default); the rest are options.
-- Examples:
--   WITH centers AS (FROM clustereval.centroids(points, [x, y, z], cluster))
--   FROM clustereval.assign_nearest(points, [x, y, z], centers);
CREATE OR REPLACE MACRO clustereval.assign_nearest(
  tbl, vector, centroids, id := CAST(NULL AS BIGINT), distance := 'euclidean', p := 2,
  partition_by := NULL, weights := NULL, missing := 'error'
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, 0, distance, p, weights, partition_by, NULL, 'cluster', missing, id
    )
  ),
  __ce_keyed_centroids AS (
    SELECT * FROM (SELECT NULL AS partition_key WHERE FALSE)
    UNION ALL BY NAME
    SELECT * FROM query_table(centroids)
  ),
  __ce_centroids AS (
    SELECT
      partition_key AS __ce_partition, cluster AS __ce_cluster, centroid AS __ce_centroid
    FROM __ce_keyed_centroids
  ),
  __ce_centers AS MATERIALIZED (
    SELECT * FROM clustereval._given_centers(__ce_centroids, distance, p, weights)
  ),
  __ce_blocks AS MATERIALIZED (SELECT * FROM clustereval._center_blocks(__ce_centers)),
  __ce_checked AS (
    SELECT *
    FROM clustereval._check_assignment(__ce_points, __ce_centers, distance, p, weights)
  ),
  __ce_assigned AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._assigned_points(__ce_points, __ce_blocks, __ce_checked, distance, p)
  )
  SELECT
    __ce_partition AS partition_key,
    clustereval._row_id(__ce_id, __ce_row - 1, __ce_has_default_id) AS id,
    __ce_nearest AS cluster,
    __ce_distance AS distance
  FROM __ce_assigned
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, 'mean', weights, NULL, 'cluster', missing)
  )
  ORDER BY __ce_partition ASC NULLS LAST, 2 ASC NULLS LAST;
