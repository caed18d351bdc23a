-- centroids: points, the centers of clusters, and the distances between points and centers.
--
-- Rules for reading this file, in addition to those of base/checks.sql:
--   * A point is a DOUBLE[] for every form of vector: LIST, ARRAY, or columns as in [x, y, z].
--   * The key of a cluster is (partition, cluster, singleton_no). singleton_no is 0. For noise that
--     is counted as singletons, however, it is the row number, and the cluster is NULL.
--   * Each pass reads the rows again (NOT MATERIALIZED), so that they are streamed. The centers,
--     and everything computed from them, are small.

---------------------------------------------------------------------------------------------------
-- Points and centers
---------------------------------------------------------------------------------------------------

-- One row per row of the user's table tbl, including dropped rows and noise. No other macro of the
-- internal indices reads the rows of tbl. vector, cluster, partition_by and id are columns of tbl,
-- and the other parameters are options. partition_key, cluster and singleton_no identify the
-- cluster; for noise as singletons the latter two are NULL and the row number, otherwise the
-- cluster and 0. point is the DOUBLE[] from which distances are computed (weighted, and of length 1
-- for cosine), and unweighted is the DOUBLE[] from which means are computed (the same except for
-- the weights). vector is the DOUBLE[] that the user gave, NULL if a coordinate is NULL and missing
-- is 'drop'. factors are those of _scale_vector, row_no is the row number from 1, and id is the id,
-- NULL if no id was given (has_default_id is TRUE). kept is TRUE if the row is scored, dropped is
-- TRUE if it lacks a vector or cluster, and noisy is TRUE if it is noise.
CREATE OR REPLACE MACRO clustereval._points(
  tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing,
  id := CAST(NULL AS BIGINT)
) AS TABLE
  -- The columns of the call, for each row of the table.
  WITH __ce_table_rows AS NOT MATERIALIZED (
    SELECT
      partition_by AS __ce_partition,
      cluster AS __ce_cluster,
      clustereval._complete_vector(TRY_CAST(vector AS DOUBLE[]), missing) AS __ce_vector,
      clustereval._coordinate_factors(weights, distance, p) AS __ce_factors,
      clustereval._is_noise(cluster, noise) AS __ce_noisy,
      clustereval._row_key(id, noise_as) AS __ce_row,
      id AS __ce_id,
      clustereval._is_default_id(id) AS __ce_has_default_id
    FROM query_table(clustereval._check_point_call(tbl, distance, weights))
  ),
  -- Rows with their weighted vector, marked if they are complete.
  __ce_scaled_rows AS NOT MATERIALIZED (
    SELECT
      *,
      -- All-NULL vectors count as missing. The first coordinate decides this for nearly every row,
      -- and CASE stops there.
      CASE
        WHEN __ce_vector[1] IS NOT NULL THEN __ce_cluster IS NOT NULL
        ELSE __ce_cluster IS NOT NULL AND clustereval._has_coordinates(__ce_vector, missing)
      END AS __ce_complete,
      clustereval._scale_vector(__ce_vector, weights, __ce_factors) AS __ce_scaled
    FROM __ce_table_rows
  ),
  -- Rows with the norm of their vector, for cosine. This is a separate CTE, because the norm would
  -- otherwise be computed once per coordinate.
  __ce_normed_rows AS NOT MATERIALIZED (
    SELECT
      *,
      CASE WHEN lower(distance) = 'cosine' THEN clustereval._norm(__ce_scaled) END AS __ce_norm
    FROM __ce_scaled_rows
  )
  SELECT
    __ce_partition AS partition_key,
    CASE
      WHEN coalesce(noise_as = 'singletons', FALSE) AND __ce_noisy THEN NULL ELSE __ce_cluster
    END AS cluster,
    -- Without singletons the row number, a window that keeps the rows in order, is not computed.
    CASE
      WHEN coalesce(noise_as = 'singletons', FALSE) AND __ce_noisy THEN __ce_row ELSE 0
    END AS singleton_no,
    CASE
      WHEN lower(distance) = 'cosine'
      THEN clustereval._unit_vector(__ce_scaled, __ce_norm)
      ELSE __ce_scaled
    END AS point,
    CASE
      WHEN lower(distance) = 'cosine'
      THEN clustereval._unit_vector(__ce_scaled, __ce_norm)
      ELSE __ce_vector
    END AS unweighted,
    __ce_vector AS vector,
    __ce_factors AS factors,
    __ce_row AS row_no,
    __ce_id AS id,
    __ce_has_default_id AS has_default_id,
    __ce_complete AND NOT (coalesce(noise_as = 'drop', FALSE) AND __ce_noisy) AS kept,
    NOT __ce_complete AS dropped,
    __ce_complete AND __ce_noisy AS noisy
  FROM __ce_normed_rows;

-- One row about the columns that a call names, also for an empty table: unpartitioned is TRUE
-- without partition_by, in which case the only partition appears even if it has no points, and
-- vector_text is the text of the argument vector. Raises an error for a column of a wrong type.
-- Callers mark it as MATERIALIZED, so that the error is raised whatever the points are.
CREATE OR REPLACE MACRO clustereval._point_arguments(
  tbl, vector, cluster, partition_by, noise, id := CAST(NULL AS BIGINT)
) AS TABLE
  -- Whether the call has no partition_by, in one row even for an empty table.
  WITH __ce_call AS (
    SELECT
      clustereval._is_absent(partition_by) AS __ce_unpartitioned,
      concat('', alias(any_value(vector))) AS __ce_vector_text
    FROM query_table(clustereval._check_table_name(tbl))
    WHERE FALSE
    HAVING clustereval._check_columns(
      clustereval._check_noise(clustereval._check_vector_type(TRUE, vector), noise, cluster),
      [
        clustereval._given_column('vector', vector),
        clustereval._given_column('cluster', cluster),
        clustereval._given_column('partition_by', partition_by),
        clustereval._given_column('id', id)
      ]
    )
  )
  SELECT
    __ce_unpartitioned AS unpartitioned,
    __ce_vector_text AS vector_text
  FROM __ce_call;

-- One row per cluster with its center: its key; size, its number of points; dims; mean, variances
-- and total_variance, the moments of its coordinates as lists, and the sum of the variances;
-- center, which is mean, for cosine scaled to length 1; and overall_center, the center of all
-- points of its partition. The mean of a partition is the weighted mean of the clusters' means. The
-- median of a partition is not a median of medians, so it needs the points. points: rows of
-- _move_points; coordinates: rows of _moved_moments.
CREATE OR REPLACE MACRO clustereval._all_centers(points, coordinates, distance, center) AS TABLE
  -- Coordinates of the points, one per row.
  WITH coordinate_values AS NOT MATERIALIZED (
    SELECT
      partition_key, factors, unnest(unweighted) AS x,
      unnest(range(1, len(unweighted) + 1)) AS i
    FROM query_table(points)
    WHERE kept AND center = 'median'
  ),
  -- Median of each coordinate in a partition.
  medians AS (
    SELECT
      partition_key, i,
      median(x) * CASE
        WHEN lower(distance) = 'cosine' THEN 1.0
        ELSE COALESCE(any_value(factors)[i], 1.0) END AS median
    FROM coordinate_values
    GROUP BY partition_key, i
  ),
  -- Center of each coordinate in a partition.
  overall_coordinates AS (
    SELECT
      own.partition_key, own.i,
      COALESCE(
        MAX(medians.median),
        clustereval._clamp(fsum(own.n * own.center) / fsum(own.n), MIN(own.center), MAX(own.center))
      ) AS center
    FROM query_table(coordinates) AS own
    LEFT JOIN medians
      ON medians.partition_key IS NOT DISTINCT FROM own.partition_key
      AND medians.i = own.i
    GROUP BY own.partition_key, own.i
  ),
  -- One row per partition with the center of all its points.
  overall AS (
    SELECT
      partition_key,
      list(overall_coordinates.center ORDER BY i ASC NULLS LAST) AS center
    FROM overall_coordinates
    GROUP BY partition_key
  ),
  -- One row per cluster with its size and its center.
  clusters AS (
    SELECT
      partition_key, cluster, singleton_no,
      CAST(MAX(n) AS BIGINT) AS size,
      COUNT(*) AS dims,
      list(own.center ORDER BY i ASC NULLS LAST) AS mean,
      list(own.variance ORDER BY i ASC NULLS LAST) AS variances,
      clustereval._compensated_sum(own.variance) AS total_variance
    FROM query_table(coordinates) AS own
    GROUP BY partition_key, cluster, singleton_no
  )
  SELECT
    own.*,
    clustereval._center_direction(own.mean, distance) AS center,
    clustereval._center_direction(overall.center, distance) AS overall_center
  FROM clusters AS own
  JOIN overall ON overall.partition_key IS NOT DISTINCT FROM own.partition_key;

-- TRUE for a row that is kept and whose center is known. If its coordinates are NULL, as those of
-- _check_extent, an error will be raised, and no distance is computed before: each would cost an
-- exception.
CREATE OR REPLACE MACRO clustereval._check_center(kept, center) AS
  kept AND center[1] IS NOT NULL;

-- One row per cluster: its key; its numbers of rows that are kept (n), dropped (n_dropped) and
-- noise (n_noise); sums of the distances of its points to its center (distances, squared ssw,
-- largest radius) and to the center of the partition (overall_distances); for cosine its number of
-- zero vectors (n_zero_vectors); and is_invalid, TRUE if a distance or the sum of distances is not
-- finite. Rows that are left out are counted in their cluster, without distances. A call without
-- partition_by has one more row, so that even an empty table has a partition. The tables are those
-- of _move_points, _point_arguments and _all_centers.
CREATE OR REPLACE MACRO clustereval._cluster_spreads(
  points, arguments, centers, distance, p
) AS TABLE
  -- Points with their distances to the centers of their cluster and partition.
  WITH measured_points AS NOT MATERIALIZED (
    SELECT
      point.partition_key, point.cluster, point.singleton_no,
      point.kept, point.dropped, point.noisy,
      CASE
        WHEN clustereval._check_center(point.kept, target.center)
        THEN clustereval._distance(point.point, target.center, distance, p)
      END AS own_distance,
      CASE
        WHEN clustereval._check_center(point.kept, target.overall_center)
        THEN clustereval._distance(point.point, target.overall_center, distance, p)
      END AS overall_distance,
      lower(distance) = 'cosine' AND point.kept AND clustereval._norm(point.point) = 0
        AS is_zero_vector
    FROM query_table(points) AS point
    LEFT JOIN query_table(centers) AS target
      ON target.partition_key IS NOT DISTINCT FROM point.partition_key
      AND target.cluster IS NOT DISTINCT FROM point.cluster
      AND target.singleton_no = point.singleton_no
  ),
  -- The measured points, and a row for the partition of a call without partition_by.
  spread_rows AS NOT MATERIALIZED (
    SELECT * FROM measured_points
    UNION ALL
    SELECT NULL, NULL, NULL, FALSE, FALSE, FALSE, NULL, NULL, FALSE
    FROM query_table(arguments)
    WHERE unpartitioned
  ),
  -- One row per cluster with its counts and its sums of distances.
  cluster_sums AS (
    SELECT
      partition_key, cluster, singleton_no,
      CAST(COUNT(CASE WHEN kept THEN 1 END) AS BIGINT) AS n,
      CAST(COUNT(CASE WHEN dropped THEN 1 END) AS BIGINT) AS n_dropped,
      CAST(COUNT(CASE WHEN noisy THEN 1 END) AS BIGINT) AS n_noise,
      COUNT(CASE WHEN is_zero_vector THEN 1 END) AS n_zero_vectors,
      COUNT(own_distance) AS n_measured,
      clustereval._compensated_sum(own_distance) AS distances,
      clustereval._compensated_sum(clustereval._squared_distance(own_distance, distance)) AS ssw,
      MAX(own_distance) AS radius,
      clustereval._compensated_sum(overall_distance) AS overall_distances
    FROM spread_rows
    GROUP BY partition_key, cluster, singleton_no
  )
  SELECT
    *,
    -- The sum is not finite if one of the distances is not.
    n_measured < n OR NOT coalesce(isfinite(ssw), TRUE) AS is_invalid
  FROM cluster_sums;

-- One row per cluster that has points: the columns of _all_centers (centers) and _cluster_spreads
-- (spreads) that the indices need, mean_distance of its points to its center, and a number that
-- identifies the cluster in the whole table (number).
CREATE OR REPLACE MACRO clustereval._measured_clusters(centers, spreads) AS TABLE
  SELECT
    cluster.partition_key, cluster.cluster, cluster.singleton_no,
    cluster.dims, cluster.center, cluster.overall_center,
    row_number() OVER (
      ORDER BY
        cluster.partition_key ASC NULLS LAST, cluster.cluster ASC NULLS LAST,
        cluster.singleton_no ASC NULLS LAST
    ) AS number,
    spread.n, spread.distances, spread.ssw, spread.radius, spread.overall_distances,
    spread.distances / spread.n AS mean_distance
  FROM query_table(centers) AS cluster
  JOIN query_table(spreads) AS spread
    ON spread.partition_key IS NOT DISTINCT FROM cluster.partition_key
    AND spread.cluster IS NOT DISTINCT FROM cluster.cluster
    AND spread.singleton_no = cluster.singleton_no;

-- No rows. Raises an error for vectors that are empty, of different lengths or not finite, for
-- distances that overflow or underflow, and if weights does not have one number per dimension. The
-- points are read only if a cluster has such vectors (is_invalid), clusters differ in their
-- dimensions, or distances may overflow or underflow. The tables are those of _points,
-- _point_arguments, _cluster_spreads, _all_centers and _partition_origins.
CREATE OR REPLACE MACRO clustereval._check_points(
  points, arguments, spreads, centers, origins, weights
) AS TABLE
  WITH alarms AS (
    SELECT COUNT(*) AS n_alarms, FALSE AS underflow
    FROM query_table(spreads)
    WHERE is_invalid
    UNION ALL
    SELECT COUNT(DISTINCT dims) - 1, FALSE
    FROM query_table(centers)
    UNION ALL
    SELECT COUNT(CASE WHEN overflows OR underflows THEN 1 END), MAX(underflows)
    FROM query_table(origins)
  ),
  suspects AS (
    SELECT
      point.vector, point.partition_key, alarm.underflow,
      CASE WHEN NOT point.has_default_id THEN point.id END AS id
    FROM query_table(points) AS point
    JOIN (
      SELECT MAX(n_alarms) AS n_alarms, MAX(underflow) AS underflow FROM alarms
    ) AS alarm ON alarm.n_alarms > 0
    WHERE point.kept
  ),
  faults AS (
    SELECT
      longest.dims,
      suspect.*,
      coalesce(
        clustereval._point_fault(suspect.vector, longest.dims),
        CASE
          WHEN suspect.underflow THEN {'rank': 3, 'coordinate': 0, 'what': 'small distances'}
        END
      ) AS fault
    FROM suspects AS suspect
    CROSS JOIN (SELECT MAX(len(vector)) AS dims FROM suspects) AS longest
  ),
  first_fault AS (SELECT * FROM clustereval._first_point_fault(faults, arguments))
  SELECT CAST(CASE
    WHEN weights IS NOT NULL AND dims <> len(weights)
    THEN error(concat(
      'weights: expected one for each of ', dims, ' dimensions, got ', len(weights)
    ))
    ELSE clustereval._point_fault_error(fault, dims, n_faulty, names, details)
  END AS BOOLEAN) AS valid
  FROM first_fault;

-- One row per cluster of rows (_points), even if its rows are all left out (n is 0): the columns of
-- _cluster_spreads and, unless n is 0, of _all_centers and _measured_clusters; origin, that of its
-- partition (_partition_origins); the least number in its partition (partition_no), and the numbers
-- of clusters in its partition (n_clusters) and in all (n_all_clusters). Raises the errors of
-- _check_points. Lists that the caller does not read are not computed.
CREATE OR REPLACE MACRO clustereval._point_clusters(
  rows, arguments, distance, p, center, weights
) AS TABLE
  WITH moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(rows, center)),
  origins AS MATERIALIZED (
    SELECT * FROM clustereval._point_origins(rows, moments, distance, p, center, weights)
  ),
  points AS NOT MATERIALIZED (SELECT * FROM clustereval._move_points(rows, origins, weights)),
  coordinates AS MATERIALIZED (
    SELECT *
    FROM clustereval._moved_moments(moments, points, origins, distance, p, center, weights)
  ),
  centers AS (SELECT * FROM clustereval._all_centers(points, coordinates, distance, center)),
  spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      points, arguments, centers, clustereval._plain_distance_name(distance, p), p
    )
  ),
  checked AS (
    SELECT * FROM clustereval._check_points(rows, arguments, spreads, centers, origins, weights)
  ),
  -- Centers with the number of their cluster.
  numbered AS (
    SELECT
      *,
      row_number() OVER (
        ORDER BY
          own.partition_key ASC NULLS LAST, own.cluster ASC NULLS LAST,
          own.singleton_no ASC NULLS LAST
      ) AS number
    FROM centers AS own
  ),
  -- Centers with the numbers of their partition.
  partitioned AS (
    SELECT
      *,
      MIN(number) OVER (PARTITION BY partition_key) AS partition_no,
      COUNT(*) OVER (PARTITION BY partition_key) AS n_clusters,
      COUNT(*) OVER () AS n_all_clusters
    FROM numbered
  )
  SELECT
    spread.*,
    spread.distances / spread.n AS mean_distance,
    own.dims, own.center, own.overall_center, own.mean, own.variances, own.total_variance,
    own.number, own.partition_no, own.n_clusters, own.n_all_clusters,
    origin.origin
  FROM spreads AS spread
  LEFT JOIN partitioned AS own
    ON own.partition_key IS NOT DISTINCT FROM spread.partition_key
    AND own.cluster IS NOT DISTINCT FROM spread.cluster
    AND own.singleton_no = spread.singleton_no
  LEFT JOIN origins AS origin
    ON origin.partition_key IS NOT DISTINCT FROM spread.partition_key
  WHERE COALESCE((SELECT MIN(valid) FROM checked), TRUE);

-- One row per point of rows (_points) that is scored: number, partition_no and n_clusters of its
-- cluster (clusters: rows of _point_clusters), row_no, point, id, has_default_id, and use_lists,
-- TRUE if there is one partition, of few clusters: their distances to the 2,048 points that DuckDB
-- takes at a time have at most 16 MB.
CREATE OR REPLACE MACRO clustereval._clustered_points(rows, clusters, weights) AS TABLE
  SELECT
    own.number, own.partition_no, own.n_clusters, point.row_no, point.id, point.has_default_id,
    own.n_clusters = own.n_all_clusters AND own.n_clusters <= 1024 AS use_lists,
    CASE
      WHEN moved.origin IS NULL THEN point.point
      ELSE clustereval._scale_vector(
        clustereval._subtract_vectors(point.vector, moved.origin), weights, point.factors
      )
    END AS point
  FROM query_table(rows) AS point
  JOIN query_table(clusters) AS own
    ON own.partition_key IS NOT DISTINCT FROM point.partition_key
    AND own.cluster IS NOT DISTINCT FROM point.cluster
    AND own.singleton_no = point.singleton_no
  -- Usually there is no row, and no list to copy for each point.
  LEFT JOIN (
    SELECT number, origin FROM query_table(clusters) WHERE origin IS NOT NULL
  ) AS moved ON moved.number = own.number
  WHERE point.kept;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- One row per cluster: n points, and centroid, the list of their mean or median coordinates.
-- Examples:
--   FROM clustereval.centroids(points, [x, y, z], cluster);
--   FROM clustereval.centroids(points, [x, y, z], cluster, center := 'median');
CREATE OR REPLACE MACRO clustereval.centroids(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, center)),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._point_origins(
      __ce_rows, __ce_moments, distance, p, center, weights
    )
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._move_points(__ce_rows, __ce_origins, weights)
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._moved_moments(
      __ce_moments, __ce_points, __ce_origins, distance, p, center, weights
    )
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_arguments, __ce_centers, distance, p
    )
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(
      __ce_rows, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  )
  SELECT
    own.partition_key,
    own.cluster,
    own.size AS n,
    clustereval._user_center(own.center, origin.origin, weights, distance, p) AS centroid
  FROM __ce_centers AS own
  LEFT JOIN __ce_origins AS origin ON origin.partition_key IS NOT DISTINCT FROM own.partition_key
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
    AND COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
  ORDER BY
    own.partition_key ASC NULLS LAST, own.cluster ASC NULLS LAST,
    own.singleton_no ASC NULLS LAST;
