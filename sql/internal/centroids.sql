-- centroids: points, the centers of clusters, and the distances of points to them.
--
-- Reading rules, besides those of base/checks.sql:
--   * A point is a DOUBLE[] for every form of vector: LIST, ARRAY, or columns as in [x, y, z].
--   * The key of a cluster is (partition, cluster, singleton_no). singleton_no is 0, except for
--     noise that is counted as singletons: there it is the row number, and the cluster is NULL.
--   * A block is 16 coordinates, those after block_offset.
--   * Each pass reads the rows again (NOT MATERIALIZED), so that they stream. The centers and what
--     is computed from them are small.

---------------------------------------------------------------------------------------------------
-- Points and centers
---------------------------------------------------------------------------------------------------

-- One row per row of the user's table tbl, dropped rows and noise included; no other macro of the
-- internal indices reads the table. vector, cluster, partition_by and id are columns of it, the
-- rest options. partition_key, cluster and singleton_no identify the cluster; for noise as
-- singletons the latter two are NULL and the row number, otherwise the cluster and 0. point is the
-- DOUBLE[] that distances are computed from (weighted, and of length 1 for cosine), unweighted the
-- one that means are computed from (the same except for the weights), vector the DOUBLE[] as given
-- (NULL if a coordinate is and missing is 'drop'), factors those of _scale_vector, row_no the row
-- number from 1, id the id, NULL where has_default_id is TRUE as none was given. kept: whether the
-- row counts; dropped: whether it lacks a vector or cluster; noisy: whether it is noise. One more
-- row, neither kept nor dropped, raises the errors of bad columns, of an empty table too; without
-- partition_by its unpartitioned is TRUE: the one partition appears without points. Its vector_text
-- is the text of the argument vector, NULL in all others.
CREATE OR REPLACE MACRO clustereval._points(
  tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing,
  id := CAST(NULL AS BIGINT)
) AS TABLE
  WITH __ce_table_rows AS NOT MATERIALIZED (
    SELECT
      partition_by AS __ce_partition,
      cluster AS __ce_cluster,
      clustereval._complete_vector(TRY_CAST(vector AS DOUBLE[]), missing) AS __ce_vector,
      clustereval._coordinate_factors(weights, distance, p) AS __ce_factors,
      clustereval._is_noise(cluster, noise) AS __ce_noisy,
      clustereval._row_key(id, noise_as) AS __ce_row,
      id AS __ce_id,
      clustereval._is_default_id(id) AS __ce_has_default_id,
      FALSE AS __ce_is_check_row,
      FALSE AS __ce_unpartitioned,
      CAST(NULL AS VARCHAR) AS __ce_vector_text
    FROM query_table(tbl)
    UNION ALL
    SELECT
      NULL, any_value(cluster), NULL, NULL, FALSE, NULL, NULL, FALSE, TRUE,
      clustereval._is_absent(partition_by),
      concat('', alias(any_value(vector)))
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_column(
      clustereval._check_column(
        clustereval._check_column(
          clustereval._check_column(
            clustereval._check_noise(clustereval._check_vector_type(TRUE, vector), noise, cluster),
            'id', id
          ),
          'partition_by', partition_by
        ),
        'cluster', cluster
      ),
      'vector', vector
    )
  ),
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
  -- In a CTE of its own, or the norm would be computed once per coordinate.
  __ce_normed_rows AS NOT MATERIALIZED (
    SELECT
      *,
      CASE WHEN lower(distance) = 'cosine' THEN clustereval._norm(__ce_scaled) END AS __ce_norm
    FROM __ce_scaled_rows
  )
  SELECT
    __ce_partition AS partition_key,
    CASE
      WHEN __ce_noisy AND noise_as = 'singletons' THEN NULL ELSE __ce_cluster
    END AS cluster,
    CASE WHEN __ce_noisy AND noise_as = 'singletons' THEN __ce_row ELSE 0 END AS singleton_no,
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
    __ce_complete AND NOT (__ce_noisy AND noise_as = 'drop') AS kept,
    NOT __ce_complete AND NOT __ce_is_check_row AS dropped,
    __ce_complete AND __ce_noisy AS noisy,
    __ce_unpartitioned AS unpartitioned,
    __ce_vector_text AS vector_text
  FROM __ce_normed_rows;

-- Aggregate over rows with a vector x: list of 16 numbers, the sums of its coordinates block_offset
-- + 1 to block_offset + 16, NULL beyond its length. One row per block, not one per coordinate,
-- halves the time for the centers. x_past_8 is x, or NULL for x of at most 8 coordinates, because
-- looking up missing coordinates takes as long as looking up present ones.
CREATE OR REPLACE MACRO clustereval._block_sums(x, x_past_8, block_offset) AS [
    fsum(x[block_offset + 1]), fsum(x[block_offset + 2]), fsum(x[block_offset + 3]),
    fsum(x[block_offset + 4]), fsum(x[block_offset + 5]), fsum(x[block_offset + 6]),
    fsum(x[block_offset + 7]), fsum(x[block_offset + 8]),
    fsum(x_past_8[block_offset + 9]), fsum(x_past_8[block_offset + 10]),
    fsum(x_past_8[block_offset + 11]), fsum(x_past_8[block_offset + 12]),
    fsum(x_past_8[block_offset + 13]), fsum(x_past_8[block_offset + 14]),
    fsum(x_past_8[block_offset + 15]), fsum(x_past_8[block_offset + 16])
];
-- Aggregate over rows with a vector x: list of 16 numbers, the medians of its coordinates
-- block_offset + 1 to block_offset + 16, NULL beyond its length. x_past_8 is as in _block_sums: x,
-- or NULL for x of at most 8 coordinates.
CREATE OR REPLACE MACRO clustereval._block_medians(x, x_past_8, block_offset) AS [
    median(x[block_offset + 1]), median(x[block_offset + 2]), median(x[block_offset + 3]),
    median(x[block_offset + 4]), median(x[block_offset + 5]), median(x[block_offset + 6]),
    median(x[block_offset + 7]), median(x[block_offset + 8]),
    median(x_past_8[block_offset + 9]), median(x_past_8[block_offset + 10]),
    median(x_past_8[block_offset + 11]), median(x_past_8[block_offset + 12]),
    median(x_past_8[block_offset + 13]), median(x_past_8[block_offset + 14]),
    median(x_past_8[block_offset + 15]), median(x_past_8[block_offset + 16])
];
-- Aggregate over rows with a vector x: list of 16 numbers, the smallest values of its coordinates
-- block_offset + 1 to block_offset + 16, NULL beyond its length. x_past_8 is as in _block_sums: x,
-- or NULL for x of at most 8 coordinates.
CREATE OR REPLACE MACRO clustereval._block_minima(x, x_past_8, block_offset) AS [
    min(x[block_offset + 1]), min(x[block_offset + 2]), min(x[block_offset + 3]),
    min(x[block_offset + 4]), min(x[block_offset + 5]), min(x[block_offset + 6]),
    min(x[block_offset + 7]), min(x[block_offset + 8]),
    min(x_past_8[block_offset + 9]), min(x_past_8[block_offset + 10]),
    min(x_past_8[block_offset + 11]), min(x_past_8[block_offset + 12]),
    min(x_past_8[block_offset + 13]), min(x_past_8[block_offset + 14]),
    min(x_past_8[block_offset + 15]), min(x_past_8[block_offset + 16])
];
-- Aggregate over rows with a vector x: list of 16 numbers, the largest values of its coordinates
-- block_offset + 1 to block_offset + 16, NULL beyond its length. x_past_8 is as in _block_sums: x,
-- or NULL for x of at most 8 coordinates.
CREATE OR REPLACE MACRO clustereval._block_maxima(x, x_past_8, block_offset) AS [
    max(x[block_offset + 1]), max(x[block_offset + 2]), max(x[block_offset + 3]),
    max(x[block_offset + 4]), max(x[block_offset + 5]), max(x[block_offset + 6]),
    max(x[block_offset + 7]), max(x[block_offset + 8]),
    max(x_past_8[block_offset + 9]), max(x_past_8[block_offset + 10]),
    max(x_past_8[block_offset + 11]), max(x_past_8[block_offset + 12]),
    max(x_past_8[block_offset + 13]), max(x_past_8[block_offset + 14]),
    max(x_past_8[block_offset + 15]), max(x_past_8[block_offset + 16])
];
-- Aggregate: population variance of the finite values of a column x. var_pop raises an error of its
-- own for infinite values; here _check_points reports them.
CREATE OR REPLACE MACRO clustereval._variance(x) AS var_pop(CASE WHEN isfinite(x) THEN x END);
-- Aggregate over rows with a vector x: list of 16 numbers, the population variances of its
-- coordinates block_offset + 1 to block_offset + 16, NULL beyond its length. x_past_8 is as in
-- _block_sums: x, or NULL for x of at most 8 coordinates.
CREATE OR REPLACE MACRO clustereval._block_variances(x, x_past_8, block_offset) AS [
    clustereval._variance(x[block_offset + 1]), clustereval._variance(x[block_offset + 2]),
    clustereval._variance(x[block_offset + 3]), clustereval._variance(x[block_offset + 4]),
    clustereval._variance(x[block_offset + 5]), clustereval._variance(x[block_offset + 6]),
    clustereval._variance(x[block_offset + 7]), clustereval._variance(x[block_offset + 8]),
    clustereval._variance(x_past_8[block_offset + 9]),
    clustereval._variance(x_past_8[block_offset + 10]),
    clustereval._variance(x_past_8[block_offset + 11]),
    clustereval._variance(x_past_8[block_offset + 12]),
    clustereval._variance(x_past_8[block_offset + 13]),
    clustereval._variance(x_past_8[block_offset + 14]),
    clustereval._variance(x_past_8[block_offset + 15]),
    clustereval._variance(x_past_8[block_offset + 16])
];

-- One row per cluster and block of 16 coordinates, those after block_offset: the cluster's key
-- (partition_key, cluster, singleton_no), number of points n and dimensions dims, and lists of 16
-- numbers, sums_or_medians (medians if center is 'median'), variances, minima and maxima, all of
-- unweighted. points: rows of _points or _move_points. The first block needs no unnest; the points
-- are read again for later blocks only if there are any (a join with no rows ends at once).
CREATE OR REPLACE MACRO clustereval._coordinate_blocks(points, center) AS TABLE
  WITH kept_points AS NOT MATERIALIZED (
    SELECT
      partition_key, cluster, singleton_no, unweighted AS x,
      CASE WHEN len(unweighted) > 8 THEN unweighted END AS x_past_8
    FROM query_table(points)
    WHERE kept
  ),
  first_blocks AS MATERIALIZED (
    SELECT
      partition_key, cluster, singleton_no,
      CAST(0 AS BIGINT) AS block_offset,
      COUNT(*) AS n,
      MAX(len(x)) AS dims,
      CASE center
        WHEN 'median' THEN clustereval._block_medians(x, x_past_8, 0)
        ELSE clustereval._block_sums(x, x_past_8, 0)
      END AS sums_or_medians,
      clustereval._block_variances(x, x_past_8, 0) AS variances,
      clustereval._block_minima(x, x_past_8, 0) AS minima,
      clustereval._block_maxima(x, x_past_8, 0) AS maxima
    FROM kept_points
    GROUP BY partition_key, cluster, singleton_no
  ),
  later_points AS NOT MATERIALIZED (
    SELECT
      point.partition_key, point.cluster, point.singleton_no, point.x,
      unnest(range(16, len(point.x), 16)) AS block_offset
    FROM kept_points AS point
    JOIN (SELECT MAX(dims) AS max_dims FROM first_blocks) AS largest ON largest.max_dims > 16
  )
  SELECT * FROM first_blocks
  UNION ALL
  SELECT
    partition_key, cluster, singleton_no, block_offset,
    COUNT(*),
    MAX(len(x)),
    CASE center
      WHEN 'median' THEN clustereval._block_medians(x, x, block_offset)
      ELSE clustereval._block_sums(x, x, block_offset)
    END,
    clustereval._block_variances(x, x, block_offset),
    clustereval._block_minima(x, x, block_offset),
    clustereval._block_maxima(x, x, block_offset)
  FROM later_points
  GROUP BY partition_key, cluster, singleton_no, block_offset;

-- One row per cluster and coordinate (i, from 1): the cluster's key (partition_key, cluster,
-- singleton_no), its number of points n, and of the coordinate, without weights: center, its mean
-- or median by the option of that name, the population variance, the smallest and the largest value
-- (low, high). center is clamped to these, since rounding could give equal numbers another mean.
-- points: rows of _points or _move_points.
CREATE OR REPLACE MACRO clustereval._coordinate_moments(points, center) AS TABLE
  WITH block_places AS (
    SELECT
      partition_key, cluster, singleton_no, block_offset, n, dims,
      sums_or_medians, variances, minima, maxima,
      unnest(range(1, len(minima) + 1)) AS place_in_block
    FROM clustereval._coordinate_blocks(points, center)
  ),
  coordinates AS (
    SELECT
      partition_key, cluster, singleton_no,
      block_offset + place_in_block AS i,
      CAST(n AS DOUBLE) AS n,
      sums_or_medians[place_in_block] AS sum_or_median,
      variances[place_in_block] AS variance,
      minima[place_in_block] AS low,
      maxima[place_in_block] AS high
    FROM block_places
    WHERE block_offset + place_in_block <= dims
  )
  SELECT
    partition_key, cluster, singleton_no, i, n,
    clustereval._clamp(
      CASE center WHEN 'median' THEN sum_or_median ELSE sum_or_median / n END,
      low, high
    ) AS center,
    CASE WHEN low = high THEN 0.0 ELSE variance END AS variance,
    low, high
  FROM coordinates;

-- One row per partition whose points have to be moved, so that coordinates far from 0 keep their
-- digits: partition_key and origin, the list to be subtracted from its vectors. A coordinate of the
-- origin is the one nearest to 0 of all points, if they lie on one side of 0 and some spread above
-- 0, that of a cluster or of them all, is below 1/1024 of it; otherwise 0. It is never larger than
-- what it is subtracted from, so that no digit is lost, however far other points are. There is none
-- for cosine. moments: rows of _coordinate_moments; distance is the option.
CREATE OR REPLACE MACRO clustereval._partition_origins(moments, distance) AS TABLE
  WITH extremes AS (
    SELECT
      partition_key, i,
      CASE
        WHEN MIN(low) > 0 THEN MIN(low)
        WHEN MAX(high) < 0 THEN MAX(high)
        ELSE 0.0
      END AS nearest,
      LEAST(
        MIN(CASE WHEN low < high THEN high - low END),
        NULLIF(MAX(high) - MIN(low), 0)
      ) AS spread
    FROM query_table(moments)
    WHERE lower(distance) <> 'cosine'
    GROUP BY partition_key, i
  )
  SELECT
    partition_key,
    list(
      CASE WHEN spread < abs(nearest) / 1024 THEN nearest ELSE 0.0 END
      ORDER BY i ASC NULLS LAST
    ) AS origin
  FROM extremes
  GROUP BY partition_key
  HAVING COUNT(CASE WHEN spread < abs(nearest) / 1024 THEN 1 END) > 0;

-- The rows of _points (rows) with the vectors point and unweighted moved: minus the origin of their
-- partition, if it has one among the rows of _partition_origins (origins).
CREATE OR REPLACE MACRO clustereval._move_points(rows, origins, weights) AS TABLE
  WITH moved_rows AS NOT MATERIALIZED (
    SELECT
      point.*,
      CASE
        WHEN origin.origin IS NOT NULL
        THEN clustereval._subtract_vectors(point.vector, origin.origin)
      END AS moved
    FROM query_table(rows) AS point
    LEFT JOIN query_table(origins) AS origin
      ON origin.partition_key IS NOT DISTINCT FROM point.partition_key
  )
  SELECT
    partition_key, cluster, singleton_no,
    CASE
      WHEN moved IS NULL THEN point
      ELSE clustereval._scale_vector(moved, weights, factors)
    END AS point,
    COALESCE(moved, unweighted) AS unweighted,
    vector, factors, row_no, id, has_default_id, kept, dropped, noisy, unpartitioned, vector_text
  FROM moved_rows;

-- The rows moments of _coordinate_moments in the units of point: times the factors of weights,
-- which means have not been rounded with. distance, p and weights are options.
CREATE OR REPLACE MACRO clustereval._scale_moments(moments, distance, p, weights) AS TABLE
  WITH factors AS (
    SELECT
      *,
      CASE
        WHEN lower(distance) = 'cosine' THEN 1.0
        ELSE COALESCE(clustereval._coordinate_factors(weights, distance, p)[i], 1.0)
      END AS factor
    FROM query_table(moments)
  )
  SELECT
    partition_key, cluster, singleton_no, i, n,
    center * factor AS center,
    variance * factor * factor AS variance,
    low * factor AS low,
    high * factor AS high
  FROM factors;

-- As _coordinate_moments, for few points: it does without blocks, and so with a shorter plan.
CREATE OR REPLACE MACRO clustereval._unnested_moments(points, center) AS TABLE
  WITH coordinate_values AS NOT MATERIALIZED (
    SELECT
      partition_key, cluster, singleton_no,
      unnest(range(1, len(unweighted) + 1)) AS i,
      unnest(unweighted) AS x
    FROM query_table(points)
    WHERE kept
  )
  SELECT
    partition_key, cluster, singleton_no, i,
    CAST(COUNT(*) AS DOUBLE) AS n,
    clustereval._clamp(
      CASE center WHEN 'median' THEN median(x) ELSE fsum(x) / COUNT(*) END,
      MIN(x), MAX(x)
    ) AS center,
    CASE WHEN MIN(x) = MAX(x) THEN 0.0 ELSE clustereval._variance(x) END AS variance,
    MIN(x) AS low,
    MAX(x) AS high
  FROM coordinate_values
  GROUP BY partition_key, cluster, singleton_no, i;

-- One row per cluster and coordinate: _scale_moments of points, the rows of _move_points. moments,
-- the rows of _coordinate_moments of the points before they were moved, serve for the partitions
-- that are not in origins (_partition_origins); the others' points are read again.
CREATE OR REPLACE MACRO clustereval._moved_moments(
  moments, points, origins, distance, p, center, weights
) AS TABLE
  WITH moved_points AS NOT MATERIALIZED (
    SELECT point.*
    FROM query_table(points) AS point
    JOIN query_table(origins) AS origin
      ON origin.partition_key IS NOT DISTINCT FROM point.partition_key
  ),
  all_moments AS (
    SELECT own.*
    FROM query_table(moments) AS own
    LEFT JOIN query_table(origins) AS origin
      ON origin.partition_key IS NOT DISTINCT FROM own.partition_key
    WHERE origin.origin IS NULL
    UNION ALL
    SELECT * FROM clustereval._unnested_moments(moved_points, center)
  )
  SELECT * FROM clustereval._scale_moments(all_moments, distance, p, weights);

-- One row per cluster: its key (partition_key, cluster, singleton_no); its number of points, size,
-- and of dimensions, dims; its center, center, the mean or median of each coordinate, for cosine
-- scaled to length 1; within_squares, for each coordinate the sum of squared deviations from the
-- mean; overall_center, the center of all points of its partition; and whether distances between
-- these, or the sums of their squares, may overflow (overflows). The mean of a partition is the
-- weighted mean of the clusters' means; its median is not a median of medians and needs the points.
-- points: rows of _move_points; coordinates: rows of _moved_moments; distance, p and center are
-- options.
CREATE OR REPLACE MACRO clustereval._all_centers(points, coordinates, distance, p, center) AS TABLE
  WITH coordinate_values AS NOT MATERIALIZED (
    SELECT
      partition_key, factors, unnest(unweighted) AS x,
      unnest(range(1, len(unweighted) + 1)) AS i
    FROM query_table(points)
    WHERE kept AND center = 'median'
  ),
  medians AS (
    SELECT
      partition_key, i,
      median(x) * CASE
        WHEN lower(distance) = 'cosine' THEN 1.0
        ELSE COALESCE(any_value(factors)[i], 1.0) END AS median
    FROM coordinate_values
    GROUP BY partition_key, i
  ),
  overall_coordinates AS (
    SELECT
      own.partition_key, own.i,
      SUM(own.n) AS n,
      MIN(own.low) AS low,
      MAX(own.high) AS high,
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
  overall AS (
    SELECT
      partition_key,
      MAX(n) AS n,
      list(overall_coordinates.center ORDER BY i ASC NULLS LAST) AS center,
      list(low ORDER BY i ASC NULLS LAST) AS low,
      list(high ORDER BY i ASC NULLS LAST) AS high
    FROM overall_coordinates
    GROUP BY partition_key
  ),
  clusters AS (
    SELECT
      partition_key, cluster, singleton_no,
      CAST(MAX(n) AS BIGINT) AS size,
      COUNT(*) AS dims,
      list(own.center ORDER BY i ASC NULLS LAST) AS center,
      list(n * variance ORDER BY i ASC NULLS LAST) AS within_squares
    FROM query_table(coordinates) AS own
    GROUP BY partition_key, cluster, singleton_no
  )
  SELECT
    own.partition_key, own.cluster, own.singleton_no, own.size, own.dims, own.within_squares,
    clustereval._center_direction(own.center, distance) AS center,
    clustereval._center_direction(overall.center, distance) AS overall_center,
    NOT coalesce(
      isfinite(overall.n * overall.n * clustereval._squared_distance(
        clustereval._distance(overall.low, overall.high, distance, p), distance
      )),
      FALSE
    ) AS overflows
  FROM clusters AS own
  JOIN overall ON overall.partition_key IS NOT DISTINCT FROM own.partition_key;

-- One row per cluster: its key (partition_key, cluster, singleton_no); its numbers of rows that are
-- kept (n), dropped (n_dropped) and noise (n_noise); sums of the distances of its points to its
-- center (distances, squared ssw, largest radius) and to the center of the partition
-- (overall_distances); for cosine its number of zero vectors (n_zero_vectors); and whether a
-- distance or their sum is not finite (is_invalid). Rows that are left out are counted with their
-- cluster, without distances. Parameters: rows of _move_points and _all_centers, and options.
CREATE OR REPLACE MACRO clustereval._cluster_spreads(points, centers, distance, p) AS TABLE
  WITH measured_points AS NOT MATERIALIZED (
    SELECT
      point.partition_key, point.cluster, point.singleton_no,
      point.kept, point.dropped, point.noisy, point.unpartitioned,
      CASE
        WHEN point.kept
        THEN clustereval._distance(point.point, target.center, distance, p)
      END AS own_distance,
      CASE
        WHEN point.kept
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
  cluster_sums AS (
    SELECT
      partition_key, cluster, singleton_no,
      CAST(COUNT(CASE WHEN kept THEN 1 END) AS BIGINT) AS n,
      CAST(COUNT(CASE WHEN dropped THEN 1 END) AS BIGINT) AS n_dropped,
      CAST(COUNT(CASE WHEN noisy THEN 1 END) AS BIGINT) AS n_noise,
      COUNT(CASE WHEN unpartitioned THEN 1 END) AS n_unpartitioned,
      COUNT(CASE WHEN is_zero_vector THEN 1 END) AS n_zero_vectors,
      COUNT(own_distance) AS n_measured,
      clustereval._compensated_sum(own_distance) AS distances,
      clustereval._compensated_sum(clustereval._squared_distance(own_distance, distance)) AS ssw,
      MAX(own_distance) AS radius,
      clustereval._compensated_sum(overall_distance) AS overall_distances
    FROM measured_points
    GROUP BY partition_key, cluster, singleton_no
  )
  SELECT
    *,
    -- The sum is not finite if one of the distances is not.
    n_measured < n OR NOT coalesce(isfinite(ssw), TRUE) AS is_invalid
  FROM cluster_sums;

-- One row per cluster that has points: the columns of _all_centers and _cluster_spreads that the
-- indices need, mean_distance of its points to its center, and a number that identifies the cluster
-- in the whole table (number). centers: rows of _all_centers; spreads: rows of _cluster_spreads.
CREATE OR REPLACE MACRO clustereval._measured_clusters(centers, spreads) AS TABLE
  SELECT
    cluster.partition_key, cluster.cluster, cluster.singleton_no,
    cluster.dims, cluster.center, cluster.overall_center, cluster.within_squares,
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
-- distances that overflow, and if weights has not one number per dimension. The points are read
-- only if a cluster has such vectors (is_invalid), clusters differ in their dimensions, or
-- distances may overflow. Parameters: rows of _points or _move_points, _cluster_spreads and
-- _all_centers, and the option weights.
CREATE OR REPLACE MACRO clustereval._check_points(points, spreads, centers, weights) AS TABLE
  WITH alarms AS (
    SELECT COUNT(*) AS n_alarms
    FROM query_table(spreads)
    WHERE is_invalid
    UNION ALL
    SELECT COUNT(DISTINCT dims) - 1 + COUNT(CASE WHEN overflows THEN 1 END)
    FROM query_table(centers)
  ),
  suspects AS (
    SELECT
      point.vector, point.vector_text, point.unpartitioned, point.partition_key,
      CASE WHEN NOT point.has_default_id THEN point.id END AS id
    FROM query_table(points) AS point
    JOIN (SELECT MAX(n_alarms) AS n_alarms FROM alarms) AS alarm ON alarm.n_alarms > 0
    WHERE point.kept OR point.vector_text IS NOT NULL
  ),
  faults AS (
    SELECT
      longest.dims,
      suspect.*,
      clustereval._point_fault(suspect.vector, longest.dims) AS fault
    FROM suspects AS suspect
    CROSS JOIN (SELECT MAX(len(vector)) AS dims FROM suspects) AS longest
  ),
  first_fault AS (SELECT * FROM clustereval._first_point_fault(faults))
  SELECT CAST(CASE
    WHEN weights IS NOT NULL AND dims <> len(weights)
    THEN error(concat(
      'weights: expected one for each of ', dims, ' dimensions, got ', len(weights)
    ))
    ELSE clustereval._point_fault_error(fault, dims, n_faulty, names, details)
  END AS BOOLEAN) AS valid
  FROM first_fault;

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
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, center)),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance)
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
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, distance, p)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
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
