-- nearest_neighbors: the exact nearest neighbors of each point, for the tables of neighborhoods.
--
-- The distances of all pairs of points are computed, but only the nearest neighbors of each point
-- are kept. The time limits the number of points, so there is an option max_points.

-- TRUE if n, the number of points of the largest partition, is at most max_points, or NULL because
-- there is no partition. Otherwise raises an error.
CREATE OR REPLACE MACRO clustereval._check_max_neighbors(n, max_points) AS
  CASE
    WHEN n > max_points
    THEN error(concat(
      'max_points: expected at most ', CAST(max_points AS BIGINT), ' points in a partition, got ',
      n, ' (', clustereval._count_pairs(n), ' pairs); raise max_points, or take the neighbors ',
      'from an index such as that of vss or faiss'
    ))
    ELSE TRUE
  END;

-- No row. Raises an error if the id of a point is NULL, or else if one occurs twice in a partition.
CREATE OR REPLACE MACRO clustereval._check_neighbor_ids(points) AS TABLE
  WITH missing AS MATERIALIZED (
    SELECT COUNT(*) AS n FROM query_table(points) WHERE id IS NULL
  ),
  -- Without a row if an id is missing, so that the two errors do not race.
  filled AS (SELECT * FROM query_table(points) WHERE (SELECT n FROM missing) = 0)
  SELECT CAST(error(concat(
    'id: expected a value in every row, got NULL in ', n, ' rows; leave out these rows, or leave ',
    'out id to number the rows from 0'
  )) AS BOOLEAN) AS valid
  FROM missing
  WHERE n > 0
  UNION ALL
  SELECT valid FROM clustereval._check_ids(filled);

-- One row per point and neighbor: row_no of the point, and found, a struct of key (the rank key of
-- the distance), other_id, other_row_no and distance. In a tie, the lower id is nearer, and then
-- the earlier row. points has row_no, id, partition_no and point.
CREATE OR REPLACE MACRO clustereval._nearest_points(points, distance, p, n_neighbors) AS TABLE
  WITH pairs AS (
    SELECT
      one.row_no, other.id AS other_id, other.row_no AS other_row_no,
      clustereval._distance(one.point, other.point, distance, p) AS d
    FROM query_table(points) AS one
    JOIN query_table(points) AS other
      ON other.partition_no = one.partition_no AND other.row_no <> one.row_no
  ),
  lists AS (
    SELECT
      row_no,
      MIN(
        {
          'key': clustereval._rank_key(d, distance, p), 'id': other_id,
          'row_no': other_row_no, 'distance': d
        },
        CAST(n_neighbors AS BIGINT)
      ) AS nearest
    FROM pairs
    GROUP BY row_no
  )
  SELECT row_no, generate_subscripts(nearest, 1) AS rank, unnest(nearest) AS found
  FROM lists;

-- Nearest neighbors of each point: one row per point and neighbor with partition_key, id, neighbor
-- (its id), rank from 1, and distance. If several are equally near, the lower id has the lower
-- rank. vector is a list of numbers per point, id identifies a point (its row number from 0 by
-- default); the rest are options.
-- Examples:
--   FROM clustereval.nearest_neighbors(points, [x, y, z], id);
--   FROM clustereval.nearest_neighbors(points, [x, y, z], id, n_neighbors := 5);
CREATE OR REPLACE MACRO clustereval.nearest_neighbors(
  tbl, vector, id := CAST(NULL AS BIGINT), n_neighbors := 15, distance := 'euclidean', p := 2,
  partition_by := NULL, weights := NULL, max_points := 10000, missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, 0, partition_by, NULL, id)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, 0, distance, p, weights, partition_by, NULL, 'cluster', missing, id
    )
  ),
  __ce_moments AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')),
  __ce_origins AS (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance, p, weights)
  ),
  __ce_coordinates AS (
    SELECT * FROM clustereval._scale_moments(__ce_moments, distance, p, weights)
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_arguments, __ce_centers, distance, p
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(
      __ce_points, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  ),
  -- Pairs are built only after the points and their number have been checked.
  __ce_size_check AS MATERIALIZED (
    SELECT clustereval._check_max_neighbors(MAX(n), max_points) AS fits
    FROM __ce_clusters AS one
    WHERE COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
  ),
  __ce_numbered AS MATERIALIZED (
    SELECT
      point.partition_key, one.number AS partition_no, point.row_no, point.point,
      point.has_default_id,
      clustereval._row_id(point.id, point.row_no - 1, point.has_default_id) AS id
    FROM __ce_points AS point
    JOIN __ce_clusters AS one ON one.partition_key IS NOT DISTINCT FROM point.partition_key
    WHERE point.kept AND (SELECT fits FROM __ce_size_check)
  ),
  __ce_id_check AS (SELECT * FROM clustereval._check_neighbor_ids(__ce_numbered)),
  __ce_places AS MATERIALIZED (
    SELECT * FROM __ce_numbered
    WHERE COALESCE((SELECT MIN(valid) FROM __ce_id_check), TRUE)
  )
  SELECT
    place.partition_key,
    place.id,
    nearest.found['id'] AS neighbor,
    CAST(nearest.rank AS BIGINT) AS rank,
    nearest.found['distance'] AS distance
  FROM clustereval._nearest_points(__ce_places, distance, p, n_neighbors) AS nearest
  JOIN __ce_places AS place ON place.row_no = nearest.row_no
  WHERE clustereval._check_options(clustereval._valid_pairwise_options(
    distance, p, weights, NULL, 'cluster', n_neighbors, max_points, missing
  ))
    AND COALESCE((SELECT fits FROM __ce_size_check), TRUE)
    AND COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
  ORDER BY
    place.partition_key ASC NULLS LAST, place.id ASC NULLS LAST, place.row_no ASC NULLS LAST,
    nearest.rank ASC NULLS LAST;
