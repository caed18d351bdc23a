-- moments: means or medians, variances and extents of the coordinates of clusters, and the origins
-- of partitions, to which points far from 0 are moved.
--
-- A block is the 16 coordinates after block_offset. The other rules for reading this file are those
-- of centroids.sql.

---------------------------------------------------------------------------------------------------
-- Blocks of coordinates
---------------------------------------------------------------------------------------------------

-- Aggregate over rows with a vector x: list of 16 numbers, the means of its coordinates
-- block_offset + 1 to block_offset + 16, NULL beyond its length. With one row per block instead of
-- one row per coordinate, the centers take half the time. x_past_8 is x, or NULL for x of at most 8
-- coordinates, because looking up missing coordinates takes as long as looking up present ones.
CREATE OR REPLACE MACRO clustereval._block_means(x, x_past_8, block_offset) AS [
    fsum(x[block_offset + 1]) / COUNT(*), fsum(x[block_offset + 2]) / COUNT(*),
    fsum(x[block_offset + 3]) / COUNT(*), fsum(x[block_offset + 4]) / COUNT(*),
    fsum(x[block_offset + 5]) / COUNT(*), fsum(x[block_offset + 6]) / COUNT(*),
    fsum(x[block_offset + 7]) / COUNT(*), fsum(x[block_offset + 8]) / COUNT(*),
    fsum(x_past_8[block_offset + 9]) / COUNT(*), fsum(x_past_8[block_offset + 10]) / COUNT(*),
    fsum(x_past_8[block_offset + 11]) / COUNT(*), fsum(x_past_8[block_offset + 12]) / COUNT(*),
    fsum(x_past_8[block_offset + 13]) / COUNT(*), fsum(x_past_8[block_offset + 14]) / COUNT(*),
    fsum(x_past_8[block_offset + 15]) / COUNT(*), fsum(x_past_8[block_offset + 16]) / COUNT(*)
];
-- Like _block_means: medians.
CREATE OR REPLACE MACRO clustereval._block_medians(x, x_past_8, block_offset) AS [
    median(x[block_offset + 1]), median(x[block_offset + 2]), median(x[block_offset + 3]),
    median(x[block_offset + 4]), median(x[block_offset + 5]), median(x[block_offset + 6]),
    median(x[block_offset + 7]), median(x[block_offset + 8]),
    median(x_past_8[block_offset + 9]), median(x_past_8[block_offset + 10]),
    median(x_past_8[block_offset + 11]), median(x_past_8[block_offset + 12]),
    median(x_past_8[block_offset + 13]), median(x_past_8[block_offset + 14]),
    median(x_past_8[block_offset + 15]), median(x_past_8[block_offset + 16])
];
-- Like _block_means: smallest values.
CREATE OR REPLACE MACRO clustereval._block_minima(x, x_past_8, block_offset) AS [
    min(x[block_offset + 1]), min(x[block_offset + 2]), min(x[block_offset + 3]),
    min(x[block_offset + 4]), min(x[block_offset + 5]), min(x[block_offset + 6]),
    min(x[block_offset + 7]), min(x[block_offset + 8]),
    min(x_past_8[block_offset + 9]), min(x_past_8[block_offset + 10]),
    min(x_past_8[block_offset + 11]), min(x_past_8[block_offset + 12]),
    min(x_past_8[block_offset + 13]), min(x_past_8[block_offset + 14]),
    min(x_past_8[block_offset + 15]), min(x_past_8[block_offset + 16])
];
-- Like _block_means: largest values.
CREATE OR REPLACE MACRO clustereval._block_maxima(x, x_past_8, block_offset) AS [
    max(x[block_offset + 1]), max(x[block_offset + 2]), max(x[block_offset + 3]),
    max(x[block_offset + 4]), max(x[block_offset + 5]), max(x[block_offset + 6]),
    max(x[block_offset + 7]), max(x[block_offset + 8]),
    max(x_past_8[block_offset + 9]), max(x_past_8[block_offset + 10]),
    max(x_past_8[block_offset + 11]), max(x_past_8[block_offset + 12]),
    max(x_past_8[block_offset + 13]), max(x_past_8[block_offset + 14]),
    max(x_past_8[block_offset + 15]), max(x_past_8[block_offset + 16])
];
-- Aggregate: population variance of the finite values of a column x. var_pop would raise its own
-- error for infinite values; here _check_points reports them.
CREATE OR REPLACE MACRO clustereval._variance(x) AS var_pop(CASE WHEN isfinite(x) THEN x END);
-- Like _block_means: population variances.
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

-- One row per cluster and block of 16 coordinates, those after block_offset: its key
-- (partition_key, cluster, singleton_no), number of points n and dimensions dims, the sum of all
-- squared coordinates (squares, in the first block), and lists of numbers for the coordinates,
-- without weights: means_or_medians, anchors (values of some point), variances, minima and maxima.
-- Lists that a caller does not use cost nothing. points: rows of _points or _move_points. The first
-- block needs no unnest. The points are read again for later blocks only if some point has them,
-- because a join with no rows ends immediately. If the points differ in length, coordinates may
-- lack, and the caller raises an error.
CREATE OR REPLACE MACRO clustereval._coordinate_blocks(points, center) AS TABLE
  WITH kept_points AS NOT MATERIALIZED (
    SELECT partition_key, cluster, singleton_no, unweighted AS x
    FROM query_table(points)
    WHERE kept
  ),
  long_points AS NOT MATERIALIZED (
    SELECT point.*
    FROM kept_points AS point
    JOIN (SELECT len(x) AS dims FROM kept_points LIMIT 1) AS one ON one.dims > 16
  ),
  -- One row per point and block.
  blocks AS NOT MATERIALIZED (
    SELECT
      partition_key, cluster, singleton_no, CAST(0 AS BIGINT) AS block_offset, x,
      CASE WHEN len(x) > 8 THEN x END AS x_past_8,
      coalesce(try(list_inner_product(x, x)), CAST('nan' AS DOUBLE)) AS square
    FROM kept_points
    UNION ALL
    SELECT partition_key, cluster, singleton_no, unnest(range(16, len(x), 16)), x, x, NULL
    FROM long_points
  )
  SELECT
    partition_key, cluster, singleton_no, block_offset,
    COUNT(*) AS n,
    MAX(len(x)) AS dims,
    clustereval._compensated_sum(square) AS squares,
    CASE center
      WHEN 'median' THEN clustereval._block_medians(x, x_past_8, block_offset)
      ELSE clustereval._block_means(x, x_past_8, block_offset)
    END AS means_or_medians,
    any_value(x)[block_offset + 1:] AS anchors,
    clustereval._block_variances(x, x_past_8, block_offset) AS variances,
    clustereval._block_minima(x, x_past_8, block_offset) AS minima,
    clustereval._block_maxima(x, x_past_8, block_offset) AS maxima
  FROM blocks
  GROUP BY partition_key, cluster, singleton_no, block_offset;

-- x, the mean of some numbers, or anchor, one of these numbers, if x and anchor differ only by a
-- possible rounding error. So the mean of equal numbers is exactly that number, without computing
-- their minimum or maximum.
CREATE OR REPLACE MACRO clustereval._snap(x, anchor) AS
  CASE WHEN abs(x - anchor) <= 1e-15 * abs(anchor) THEN anchor ELSE x END;

-- One row per cluster and coordinate (i, from 1), without weights: the cluster's key, its number of
-- points n and sum of all squared coordinates (squares; NULL for i above 16); anchor, the value of
-- a point; center, the mean or median by the option of that name; the population variance; and the
-- smallest and the largest value (low, high). The center and the variance of equal numbers are that
-- number and 0. points: rows of _points or _move_points.
CREATE OR REPLACE MACRO clustereval._coordinate_moments(points, center) AS TABLE
  -- One row per cluster and coordinate, with the coordinate's place in the lists.
  WITH block_places AS (
    SELECT
      partition_key, cluster, singleton_no, block_offset, n, dims, squares,
      means_or_medians, anchors, variances, minima, maxima,
      unnest(range(1, len(means_or_medians) + 1)) AS place_in_block
    FROM clustereval._coordinate_blocks(points, center)
  ),
  -- One row per cluster and coordinate with its center, variance and extent.
  coordinates AS (
    SELECT
      partition_key, cluster, singleton_no,
      block_offset + place_in_block AS i,
      CAST(n AS DOUBLE) AS n,
      squares,
      CASE center
        WHEN 'median' THEN means_or_medians[place_in_block]
        ELSE clustereval._snap(means_or_medians[place_in_block], anchors[place_in_block])
      END AS center_value,
      anchors[place_in_block] AS anchor,
      variances[place_in_block] AS variance,
      minima[place_in_block] AS low,
      maxima[place_in_block] AS high
    FROM block_places
    WHERE block_offset + place_in_block <= dims
  )
  SELECT
    partition_key, cluster, singleton_no, i, n, squares, anchor,
    center_value AS center,
    -- Equal numbers in different parts are combined from means that may differ by rounding.
    CASE WHEN variance <= pow(1e-15 * center_value, 2) THEN 0.0 ELSE variance END AS variance,
    low, high
  FROM coordinates;

-- Like _coordinate_moments, for few points. It needs no blocks, and therefore has a shorter plan.
-- high is NaN if a coordinate is NULL or NaN.
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
    CASE WHEN COUNT(x) < COUNT(*) THEN CAST('nan' AS DOUBLE) ELSE MAX(x) END AS high
  FROM coordinate_values
  GROUP BY partition_key, cluster, singleton_no, i;

---------------------------------------------------------------------------------------------------
-- Origins
---------------------------------------------------------------------------------------------------

-- One row per partition whose extents have to be known: partition_key. Usually there is none, and
-- for cosine never: a cluster is narrow, with coordinates that vary by less than about 1/4096 of
-- their size, or has no spread, or a distance might overflow or underflow, or a coordinate is not
-- finite. moments: rows of _coordinate_moments.
CREATE OR REPLACE MACRO clustereval._suspect_partitions(
  moments, distance, p, center, weights
) AS TABLE
  WITH clusters AS (
    SELECT
      partition_key, cluster, singleton_no,
      MAX(own.n) AS n,
      COUNT(*) AS dims,
      MAX(own.squares) AS squares,
      fsum(own.center * own.center) AS center_square,
      MAX(abs(own.center)) AS largest
    FROM query_table(moments) AS own
    WHERE lower(distance) <> 'cosine'
    GROUP BY partition_key, cluster, singleton_no
  )
  SELECT partition_key
  FROM clusters
  GROUP BY partition_key
  HAVING MAX(n) = 1
    -- A median differs from the mean by up to a standard deviation.
    OR COUNT(CASE
      WHEN n > 1 AND largest > 0 AND NOT (
        abs(squares - n * center_square)
          > squares * CASE center WHEN 'median' THEN 1.0 / 2048 ELSE 1.0 / 16777216 END
        AND squares > 1e-280 * n
      )
      THEN 1
    END) > 0
    OR NOT (
      SUM(squares) * pow(
        list_max(COALESCE(clustereval._coordinate_factors(weights, distance, p), [1.0])), 2
      ) BETWEEN 1e-280 * SUM(n) AND 1e290 / (pow(SUM(n), 2) * pow(MAX(dims), 2))
    );

-- One row per partition: origin, the list that is subtracted from its vectors so that coordinates
-- far from 0 keep their digits, NULL if they need not be moved; overflows, TRUE if distances
-- between its points, or the sums of their squares, may overflow, or if a coordinate is no number;
-- and underflows, TRUE if the squares of all distances are so small that they have few digits. A
-- coordinate of the origin is the coordinate nearest to 0 of all points, if two conditions hold:
-- all points lie on one side of 0, and a spread above 0, either of a cluster or of all points, is
-- below 1/1024 of that coordinate. Otherwise it is 0. It is never larger than the numbers from
-- which it is subtracted, so no digit is lost, however far away other points are. There is no row
-- for cosine. extents: rows of _coordinate_moments; the rest are options.
CREATE OR REPLACE MACRO clustereval._partition_origins(extents, distance, p, weights) AS TABLE
  -- Extent of each coordinate in a partition.
  WITH extremes AS (
    SELECT
      partition_key, i,
      SUM(n) AS n,
      MIN(low) AS low,
      MAX(high) AS high,
      CASE
        WHEN MIN(low) > 0 THEN MIN(low)
        WHEN MAX(high) < 0 THEN MAX(high)
        ELSE 0.0
      END AS nearest,
      LEAST(
        MIN(CASE WHEN low < high THEN high - low END),
        NULLIF(MAX(high) - MIN(low), 0)
      ) AS spread,
      COALESCE(clustereval._coordinate_factors(weights, distance, p)[i], 1.0) AS factor
    FROM query_table(extents)
    WHERE lower(distance) <> 'cosine'
    GROUP BY partition_key, i
  ),
  -- One row per partition with the box that contains its points.
  boxes AS (
    SELECT
      partition_key,
      MAX(n) AS n,
      list(low * factor ORDER BY i ASC NULLS LAST) AS low,
      list(high * factor ORDER BY i ASC NULLS LAST) AS high,
      COUNT(spread) AS n_spread,
      COUNT(CASE WHEN spread < abs(nearest) / 1024 THEN 1 END) AS n_moved,
      list(
        CASE WHEN spread < abs(nearest) / 1024 THEN nearest ELSE 0.0 END
        ORDER BY i ASC NULLS LAST
      ) AS nearest
    FROM extremes
    GROUP BY partition_key
  ),
  -- Boxes with their diagonal.
  diagonals AS (
    SELECT
      partition_key, n, n_spread, n_moved, nearest,
      clustereval._distance(low, high, distance, p) AS diagonal
    FROM boxes
  ),
  -- Boxes with the square of their diagonal.
  squares AS (
    SELECT *, clustereval._squared_distance(diagonal, distance) AS square
    FROM diagonals
  )
  SELECT
    partition_key,
    CASE WHEN n_moved > 0 THEN nearest END AS origin,
    NOT coalesce(isfinite(n * n * square), FALSE) AS overflows,
    -- Squares of distances down to 1e-9 times the diagonal have all of their digits.
    n_spread > 0 AND square < 1e-290 AS underflows
  FROM squares;

-- Origins that are subtracted from points: the rows of _partition_origins. points: rows of _points;
-- moments: their _coordinate_moments. The points are read again only for the partitions whose
-- extents have to be known.
CREATE OR REPLACE MACRO clustereval._point_origins(
  points, moments, distance, p, center, weights
) AS TABLE
  WITH suspects AS (
    SELECT * FROM clustereval._suspect_partitions(moments, distance, p, center, weights)
  ),
  suspect_points AS NOT MATERIALIZED (
    SELECT point.*
    FROM query_table(points) AS point
    JOIN suspects ON suspects.partition_key IS NOT DISTINCT FROM point.partition_key
  ),
  extents AS (SELECT * FROM clustereval._unnested_moments(suspect_points, center))
  SELECT * FROM clustereval._partition_origins(extents, distance, p, weights);

-- Points from which the origin of their partition is subtracted: the rows of _points (rows), where
-- point and unweighted are moved if the partition has an origin among the rows of
-- _partition_origins (origins).
CREATE OR REPLACE MACRO clustereval._move_points(rows, origins, weights) AS TABLE
  -- Points from which the origin of their partition is subtracted.
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
    vector, factors, row_no, id, has_default_id, kept, dropped, noisy
  FROM moved_rows;

-- The rows moments of _coordinate_moments in the units of point: multiplied by the factors of
-- weights, which were not part of the rounding of the means.
CREATE OR REPLACE MACRO clustereval._scale_moments(moments, distance, p, weights) AS TABLE
  -- Moments with the weight factor of their coordinate.
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
    variance * factor * factor AS variance
  FROM factors;

-- The coordinate center of a cluster, or NULL if the error that distances overflow, or that a
-- coordinate is no number, will be raised.
CREATE OR REPLACE MACRO clustereval._check_extent(center, overflows) AS
  CASE WHEN overflows THEN NULL ELSE center END;

-- One row per cluster and coordinate with its moments: _scale_moments of points (_move_points).
-- moments, the _coordinate_moments before the move, are used for the partitions that are not in
-- origins (_partition_origins). The points of the other partitions are read again.
CREATE OR REPLACE MACRO clustereval._moved_moments(
  moments, points, origins, distance, p, center, weights
) AS TABLE
  -- Points of the partitions whose origin is subtracted.
  WITH moved_points AS NOT MATERIALIZED (
    SELECT point.*
    FROM query_table(points) AS point
    JOIN query_table(origins) AS origin
      ON origin.partition_key IS NOT DISTINCT FROM point.partition_key
    WHERE origin.origin IS NOT NULL
  ),
  -- Moments of the points as they are after the move.
  all_moments AS (
    SELECT
      own.partition_key, own.cluster, own.singleton_no, own.i, own.n,
      clustereval._check_extent(own.center, origin.overflows) AS center,
      own.variance
    FROM query_table(moments) AS own
    LEFT JOIN query_table(origins) AS origin
      ON origin.partition_key IS NOT DISTINCT FROM own.partition_key
    WHERE origin.origin IS NULL
    UNION ALL
    SELECT partition_key, cluster, singleton_no, i, n, moment.center, variance
    FROM clustereval._unnested_moments(moved_points, center) AS moment
  )
  SELECT * FROM clustereval._scale_moments(all_moments, distance, p, weights);

-- The rows coordinates of _moved_moments, for sums of squares per coordinate. If a coordinate is
-- narrow, and other coordinates are so wide that its partition was not moved, its sums are computed
-- again from differences, and reference, the smallest center, is subtracted from its centers. A
-- coordinate is narrow if the centers of all clusters, and the values of one point of each, lie
-- close to each other against their distance from 0. Variances would decide more exactly, but then
-- all callers would have to compute them. Nearly all partitions have no narrow coordinate, and
-- their points are not read again. The other tables are those of _coordinate_moments, _move_points
-- and _point_origins.
CREATE OR REPLACE MACRO clustereval._exact_coordinates(
  coordinates, moments, points, origins, distance, p, center, weights
) AS TABLE
  WITH narrow AS (
    SELECT own.partition_key, own.i, MIN(own.center) AS reference
    FROM query_table(moments) AS own
    LEFT JOIN query_table(origins) AS origin
      ON origin.partition_key IS NOT DISTINCT FROM own.partition_key
    WHERE origin.origin IS NULL
    GROUP BY own.partition_key, own.i
    HAVING MIN(own.center) * MAX(own.center) > 0
      AND MAX(own.center) - MIN(own.center)
        < LEAST(abs(MIN(own.center)), abs(MAX(own.center))) / 1024
      AND MAX(abs(own.anchor - own.center))
        < LEAST(abs(MIN(own.center)), abs(MAX(own.center))) / 512
  ),
  narrow_moments AS (
    SELECT
      own.partition_key, own.cluster, own.singleton_no, own.i, own.n,
      own.center AS rounded_center, narrow.reference
    FROM query_table(moments) AS own
    JOIN narrow
      ON narrow.partition_key IS NOT DISTINCT FROM own.partition_key
      AND narrow.i = own.i
  ),
  deviations AS NOT MATERIALIZED (
    SELECT own.*, point.unweighted[own.i] - own.rounded_center AS deviation
    FROM query_table(points) AS point
    JOIN narrow_moments AS own
      ON own.partition_key IS NOT DISTINCT FROM point.partition_key
      AND own.cluster IS NOT DISTINCT FROM point.cluster
      AND own.singleton_no = point.singleton_no
    WHERE point.kept
  ),
  corrected AS (
    SELECT
      partition_key, cluster, singleton_no, i,
      MAX(n) AS n,
      MAX(rounded_center - reference)
        + CASE center WHEN 'median' THEN 0.0 ELSE fsum(deviation) / COUNT(*) END AS center,
      clustereval._variance(deviation) AS variance
    FROM deviations
    GROUP BY partition_key, cluster, singleton_no, i
  )
  SELECT
    own.partition_key, own.cluster, own.singleton_no, own.i, own.n, own.center, own.variance
  FROM query_table(coordinates) AS own
  LEFT JOIN narrow
    ON narrow.partition_key IS NOT DISTINCT FROM own.partition_key
    AND narrow.i = own.i
  WHERE narrow.i IS NULL
  UNION ALL
  SELECT * FROM clustereval._scale_moments(corrected, distance, p, weights);
