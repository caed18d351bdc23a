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
-- rest options. __ce_partition, __ce_cluster and __ce_singleton_no identify the cluster; for noise
-- as singletons the latter two are NULL and the row number, otherwise the cluster and 0. __ce_point
-- is the DOUBLE[] that distances are computed from (weighted, and of length 1 for cosine),
-- __ce_unweighted the one that means are computed from (the same but for the weights), __ce_vector
-- the DOUBLE[] as given (NULL if a coordinate is and missing is 'drop'), __ce_factors those of
-- _scale_vector, __ce_row the row number from 1, __ce_id the id, NULL where __ce_has_default_id is
-- TRUE as none was given. __ce_kept: whether the row counts; __ce_dropped: whether it lacks a
-- vector or cluster; __ce_noisy: whether it is noise. One more row, neither kept nor dropped,
-- raises the errors of bad columns, of an empty table too; without partition_by its
-- __ce_unpartitioned is TRUE: the one partition appears without points. Its __ce_vector_text is the
-- text of the argument vector, NULL in all others.
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
            clustereval._check_noise(
              clustereval._check_vector_type(TRUE, vector), noise, cluster
            ),
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
    __ce_partition,
    CASE
      WHEN __ce_noisy AND noise_as = 'singletons' THEN NULL ELSE __ce_cluster
    END AS __ce_cluster,
    CASE WHEN __ce_noisy AND noise_as = 'singletons' THEN __ce_row ELSE 0 END AS __ce_singleton_no,
    CASE
      WHEN lower(distance) = 'cosine'
      THEN clustereval._unit_vector(__ce_scaled, __ce_norm)
      ELSE __ce_scaled
    END AS __ce_point,
    CASE
      WHEN lower(distance) = 'cosine'
      THEN clustereval._unit_vector(__ce_scaled, __ce_norm)
      ELSE __ce_vector
    END AS __ce_unweighted,
    __ce_vector,
    __ce_factors,
    __ce_row,
    __ce_id,
    __ce_has_default_id,
    __ce_complete AND NOT (__ce_noisy AND noise_as = 'drop') AS __ce_kept,
    NOT __ce_complete AND NOT __ce_is_check_row AS __ce_dropped,
    __ce_complete AND __ce_noisy AS __ce_noisy,
    __ce_unpartitioned,
    __ce_vector_text
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
-- Aggregate over rows with a vector x: list of 16 numbers, the least values of its coordinates
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
-- Aggregate over rows with a vector x: list of 16 numbers, the greatest values of its coordinates
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

-- One row per cluster and block of 16 coordinates, those after __ce_block_offset: the cluster's key
-- (__ce_partition, __ce_cluster, __ce_singleton_no), number of points __ce_n and dimensions
-- __ce_dims, and lists of 16 numbers, __ce_sums_or_medians (medians if center is 'median'),
-- __ce_variances, __ce_minima and __ce_maxima, all of __ce_unweighted. __ce_points: rows of _points
-- or _move_points. The first block needs no unnest; the points are read again for later blocks only
-- if there are any (a join with no rows ends at once).
CREATE OR REPLACE MACRO clustereval._coordinate_blocks(__ce_points, center) AS TABLE
  WITH __ce_kept_points AS NOT MATERIALIZED (
    SELECT
      __ce_partition, __ce_cluster, __ce_singleton_no,
      __ce_unweighted AS __ce_x,
      CASE WHEN len(__ce_unweighted) > 8 THEN __ce_unweighted END AS __ce_x_past_8
    FROM query_table(__ce_points)
    WHERE __ce_kept
  ),
  __ce_first_blocks AS MATERIALIZED (
    SELECT
      __ce_partition, __ce_cluster, __ce_singleton_no,
      CAST(0 AS BIGINT) AS __ce_block_offset,
      COUNT(*) AS __ce_n,
      MAX(len(__ce_x)) AS __ce_dims,
      CASE center
        WHEN 'median' THEN clustereval._block_medians(__ce_x, __ce_x_past_8, 0)
        ELSE clustereval._block_sums(__ce_x, __ce_x_past_8, 0)
      END AS __ce_sums_or_medians,
      clustereval._block_variances(__ce_x, __ce_x_past_8, 0) AS __ce_variances,
      clustereval._block_minima(__ce_x, __ce_x_past_8, 0) AS __ce_minima,
      clustereval._block_maxima(__ce_x, __ce_x_past_8, 0) AS __ce_maxima
    FROM __ce_kept_points
    GROUP BY __ce_partition, __ce_cluster, __ce_singleton_no
  ),
  __ce_later_points AS NOT MATERIALIZED (
    SELECT
      point.__ce_partition, point.__ce_cluster, point.__ce_singleton_no, point.__ce_x,
      unnest(range(16, len(point.__ce_x), 16)) AS __ce_block_offset
    FROM __ce_kept_points AS point
    JOIN (SELECT MAX(__ce_dims) AS __ce_max_dims FROM __ce_first_blocks) AS largest
      ON largest.__ce_max_dims > 16
  )
  SELECT * FROM __ce_first_blocks
  UNION ALL
  SELECT
    __ce_partition, __ce_cluster, __ce_singleton_no, __ce_block_offset,
    COUNT(*),
    MAX(len(__ce_x)),
    CASE center
      WHEN 'median' THEN clustereval._block_medians(__ce_x, __ce_x, __ce_block_offset)
      ELSE clustereval._block_sums(__ce_x, __ce_x, __ce_block_offset)
    END,
    clustereval._block_variances(__ce_x, __ce_x, __ce_block_offset),
    clustereval._block_minima(__ce_x, __ce_x, __ce_block_offset),
    clustereval._block_maxima(__ce_x, __ce_x, __ce_block_offset)
  FROM __ce_later_points
  GROUP BY __ce_partition, __ce_cluster, __ce_singleton_no, __ce_block_offset;

-- One row per cluster and coordinate (__ce_i, from 1): the cluster's key (__ce_partition,
-- __ce_cluster, __ce_singleton_no), its number of points __ce_n, and of the coordinate, without
-- weights, the mean or median by the option center (__ce_center), the population variance
-- (__ce_variance), the least and the greatest value (__ce_low, __ce_high). The mean lies between
-- these: rounding would otherwise give equal numbers another mean. __ce_points: rows of _points or
-- _move_points.
CREATE OR REPLACE MACRO clustereval._coordinate_moments(__ce_points, center) AS TABLE
  WITH __ce_block_places AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_singleton_no, __ce_block_offset, __ce_n, __ce_dims,
      __ce_sums_or_medians, __ce_variances, __ce_minima, __ce_maxima,
      unnest(range(1, len(__ce_minima) + 1)) AS __ce_place_in_block
    FROM clustereval._coordinate_blocks(__ce_points, center)
  ),
  __ce_coordinates AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_singleton_no,
      __ce_block_offset + __ce_place_in_block AS __ce_i,
      CAST(__ce_n AS DOUBLE) AS __ce_n,
      __ce_sums_or_medians[__ce_place_in_block] AS __ce_sum_or_median,
      __ce_variances[__ce_place_in_block] AS __ce_variance,
      __ce_minima[__ce_place_in_block] AS __ce_low,
      __ce_maxima[__ce_place_in_block] AS __ce_high
    FROM __ce_block_places
    WHERE __ce_block_offset + __ce_place_in_block <= __ce_dims
  )
  SELECT
    __ce_partition, __ce_cluster, __ce_singleton_no, __ce_i, __ce_n,
    clustereval._clamp(
      CASE center WHEN 'median' THEN __ce_sum_or_median ELSE __ce_sum_or_median / __ce_n END,
      __ce_low, __ce_high
    ) AS __ce_center,
    CASE WHEN __ce_low = __ce_high THEN 0.0 ELSE __ce_variance END AS __ce_variance,
    __ce_low, __ce_high
  FROM __ce_coordinates;

-- One row per partition whose points have to be moved, so that coordinates far from 0 keep their
-- digits: __ce_partition and __ce_origin, the list to be subtracted from its vectors. A coordinate
-- of the origin is the one nearest to 0 of all points, if they lie on one side of 0 and some spread
-- above 0, that of a cluster or of them all, is below 1/1024 of it; otherwise 0. It is never larger
-- than what it is subtracted from, so that no digit is lost, however far other points are. There is
-- none for cosine. __ce_moments: rows of _coordinate_moments; distance is the option.
CREATE OR REPLACE MACRO clustereval._partition_origins(__ce_moments, distance) AS TABLE
  WITH __ce_extremes AS (
    SELECT
      __ce_partition, __ce_i,
      CASE
        WHEN MIN(__ce_low) > 0 THEN MIN(__ce_low)
        WHEN MAX(__ce_high) < 0 THEN MAX(__ce_high)
        ELSE 0.0
      END AS __ce_nearest,
      LEAST(
        MIN(CASE WHEN __ce_low < __ce_high THEN __ce_high - __ce_low END),
        NULLIF(MAX(__ce_high) - MIN(__ce_low), 0)
      ) AS __ce_spread
    FROM query_table(__ce_moments)
    WHERE lower(distance) <> 'cosine'
    GROUP BY __ce_partition, __ce_i
  )
  SELECT
    __ce_partition,
    list(
      CASE WHEN __ce_spread < abs(__ce_nearest) / 1024 THEN __ce_nearest ELSE 0.0 END
      ORDER BY __ce_i ASC NULLS LAST
    ) AS __ce_origin
  FROM __ce_extremes
  GROUP BY __ce_partition
  HAVING COUNT(CASE WHEN __ce_spread < abs(__ce_nearest) / 1024 THEN 1 END) > 0;

-- The rows of _points (__ce_rows) with the vectors __ce_point and __ce_unweighted moved: minus the
-- origin of their partition, if it has one among the rows of _partition_origins (__ce_origins).
CREATE OR REPLACE MACRO clustereval._move_points(__ce_rows, __ce_origins, weights) AS TABLE
  WITH __ce_moved_rows AS NOT MATERIALIZED (
    SELECT
      point.*,
      CASE
        WHEN origin.__ce_origin IS NOT NULL
        THEN clustereval._subtract_vectors(point.__ce_vector, origin.__ce_origin)
      END AS __ce_moved
    FROM query_table(__ce_rows) AS point
    LEFT JOIN query_table(__ce_origins) AS origin
      ON origin.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
  )
  SELECT
    __ce_partition, __ce_cluster, __ce_singleton_no,
    CASE
      WHEN __ce_moved IS NULL THEN __ce_point
      ELSE clustereval._scale_vector(__ce_moved, weights, __ce_factors)
    END AS __ce_point,
    COALESCE(__ce_moved, __ce_unweighted) AS __ce_unweighted,
    __ce_vector, __ce_factors, __ce_row, __ce_id, __ce_has_default_id, __ce_kept, __ce_dropped,
    __ce_noisy, __ce_unpartitioned, __ce_vector_text
  FROM __ce_moved_rows;

-- The rows __ce_moments of _coordinate_moments in the units of __ce_point: times the factors of
-- weights, which means have not been rounded with. distance, p and weights are options.
CREATE OR REPLACE MACRO clustereval._scale_moments(__ce_moments, distance, p, weights) AS TABLE
  WITH __ce_factors AS (
    SELECT
      *,
      CASE
        WHEN lower(distance) = 'cosine' THEN 1.0
        ELSE COALESCE(clustereval._coordinate_factors(weights, distance, p)[__ce_i], 1.0)
      END AS __ce_factor
    FROM query_table(__ce_moments)
  )
  SELECT
    __ce_partition, __ce_cluster, __ce_singleton_no, __ce_i, __ce_n,
    __ce_center * __ce_factor AS __ce_center,
    __ce_variance * __ce_factor * __ce_factor AS __ce_variance,
    __ce_low * __ce_factor AS __ce_low,
    __ce_high * __ce_factor AS __ce_high
  FROM __ce_factors;

-- As _coordinate_moments, for few points: it does without blocks, and so with a shorter plan.
CREATE OR REPLACE MACRO clustereval._unnested_moments(__ce_points, center) AS TABLE
  WITH __ce_values AS NOT MATERIALIZED (
    SELECT
      __ce_partition, __ce_cluster, __ce_singleton_no,
      unnest(range(1, len(__ce_unweighted) + 1)) AS __ce_i,
      unnest(__ce_unweighted) AS __ce_x
    FROM query_table(__ce_points)
    WHERE __ce_kept
  )
  SELECT
    __ce_partition, __ce_cluster, __ce_singleton_no, __ce_i,
    CAST(COUNT(*) AS DOUBLE) AS __ce_n,
    clustereval._clamp(
      CASE center WHEN 'median' THEN median(__ce_x) ELSE fsum(__ce_x) / COUNT(*) END,
      MIN(__ce_x), MAX(__ce_x)
    ) AS __ce_center,
    CASE WHEN MIN(__ce_x) = MAX(__ce_x) THEN 0.0 ELSE clustereval._variance(__ce_x) END
      AS __ce_variance,
    MIN(__ce_x) AS __ce_low,
    MAX(__ce_x) AS __ce_high
  FROM __ce_values
  GROUP BY __ce_partition, __ce_cluster, __ce_singleton_no, __ce_i;

-- One row per cluster and coordinate: _scale_moments of __ce_points, the rows of _move_points.
-- __ce_moments, the rows of _coordinate_moments of the points before they were moved, serve for the
-- partitions that are not in __ce_origins (_partition_origins); the others' points are read again.
CREATE OR REPLACE MACRO clustereval._moved_moments(
  __ce_moments, __ce_points, __ce_origins, distance, p, center, weights
) AS TABLE
  WITH __ce_moved_points AS NOT MATERIALIZED (
    SELECT point.*
    FROM query_table(__ce_points) AS point
    JOIN query_table(__ce_origins) AS origin
      ON origin.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
  ),
  __ce_all_moments AS (
    SELECT own.*
    FROM query_table(__ce_moments) AS own
    LEFT JOIN query_table(__ce_origins) AS origin
      ON origin.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
    WHERE origin.__ce_origin IS NULL
    UNION ALL
    SELECT * FROM clustereval._unnested_moments(__ce_moved_points, center)
  )
  SELECT * FROM clustereval._scale_moments(__ce_all_moments, distance, p, weights);

-- One row per cluster: its key (__ce_partition, __ce_cluster, __ce_singleton_no); its number of
-- points, __ce_size, and of dimensions, __ce_dims; its center, __ce_center, the mean or median of
-- each coordinate, for cosine scaled to length 1; __ce_within_squares, for each coordinate the sum
-- of squared deviations from the mean; __ce_overall_center, the center of all points of its
-- partition; and whether distances between these, or the sums of their squares, may overflow
-- (__ce_overflows). The mean of a partition is the weighted mean of the clusters' means; its median
-- is no median of medians and needs the points. __ce_points: rows of _move_points;
-- __ce_coordinates: rows of _moved_moments; distance, p and center are options.
CREATE OR REPLACE MACRO clustereval._all_centers(
  __ce_points, __ce_coordinates, distance, p, center
) AS TABLE
  WITH __ce_values AS NOT MATERIALIZED (
    SELECT
      __ce_partition, __ce_factors, unnest(__ce_unweighted) AS __ce_x,
      unnest(range(1, len(__ce_unweighted) + 1)) AS __ce_i
    FROM query_table(__ce_points)
    WHERE __ce_kept AND center = 'median'
  ),
  __ce_medians AS (
    SELECT
      __ce_partition, __ce_i,
      median(__ce_x) * CASE
        WHEN lower(distance) = 'cosine' THEN 1.0
        ELSE COALESCE(any_value(__ce_factors)[__ce_i], 1.0) END AS __ce_median
    FROM __ce_values
    GROUP BY __ce_partition, __ce_i
  ),
  __ce_overall_coordinates AS (
    SELECT
      own.__ce_partition, own.__ce_i,
      SUM(own.__ce_n) AS __ce_n,
      MIN(own.__ce_low) AS __ce_low,
      MAX(own.__ce_high) AS __ce_high,
      COALESCE(
        MAX(medians.__ce_median),
        clustereval._clamp(
          fsum(own.__ce_n * own.__ce_center) / fsum(own.__ce_n),
          MIN(own.__ce_center), MAX(own.__ce_center)
        )
      ) AS __ce_center
    FROM query_table(__ce_coordinates) AS own
    LEFT JOIN __ce_medians AS medians
      ON medians.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
      AND medians.__ce_i = own.__ce_i
    GROUP BY own.__ce_partition, own.__ce_i
  ),
  __ce_overall AS (
    SELECT
      __ce_partition,
      MAX(__ce_n) AS __ce_n,
      list(__ce_center ORDER BY __ce_i ASC NULLS LAST) AS __ce_center,
      list(__ce_low ORDER BY __ce_i ASC NULLS LAST) AS __ce_low,
      list(__ce_high ORDER BY __ce_i ASC NULLS LAST) AS __ce_high
    FROM __ce_overall_coordinates
    GROUP BY __ce_partition
  ),
  __ce_clusters AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_singleton_no,
      CAST(MAX(__ce_n) AS BIGINT) AS __ce_size,
      COUNT(*) AS __ce_dims,
      list(__ce_center ORDER BY __ce_i ASC NULLS LAST) AS __ce_center,
      list(__ce_n * __ce_variance ORDER BY __ce_i ASC NULLS LAST) AS __ce_within_squares
    FROM query_table(__ce_coordinates)
    GROUP BY __ce_partition, __ce_cluster, __ce_singleton_no
  )
  SELECT
    own.__ce_partition, own.__ce_cluster, own.__ce_singleton_no, own.__ce_size, own.__ce_dims,
    own.__ce_within_squares,
    clustereval._center_direction(own.__ce_center, distance) AS __ce_center,
    clustereval._center_direction(overall.__ce_center, distance) AS __ce_overall_center,
    NOT coalesce(
      isfinite(overall.__ce_n * overall.__ce_n * clustereval._squared_distance(
        clustereval._distance(overall.__ce_low, overall.__ce_high, distance, p), distance
      )),
      FALSE
    ) AS __ce_overflows
  FROM __ce_clusters AS own
  JOIN __ce_overall AS overall
    ON overall.__ce_partition IS NOT DISTINCT FROM own.__ce_partition;

-- One row per cluster: its key (__ce_partition, __ce_cluster, __ce_singleton_no); its numbers of
-- rows that are kept (__ce_n), dropped (__ce_n_dropped) and noise (__ce_n_noise); sums of the
-- distances of its points to its center (__ce_distances, squared __ce_ssw, largest __ce_radius) and
-- to the center of the partition (__ce_overall_distances); for cosine its number of zero vectors
-- (__ce_n_zero_vectors); and whether a distance or their sum is not finite (__ce_is_invalid). Rows
-- that are left out are counted with their cluster, without distances. Parameters: rows of
-- _move_points and _all_centers, and options.
CREATE OR REPLACE MACRO clustereval._cluster_spreads(
  __ce_points, __ce_centers, distance, p
) AS TABLE
  WITH __ce_measured_points AS NOT MATERIALIZED (
    SELECT
      point.__ce_partition, point.__ce_cluster, point.__ce_singleton_no,
      point.__ce_kept, point.__ce_dropped, point.__ce_noisy, point.__ce_unpartitioned,
      CASE
        WHEN point.__ce_kept
        THEN clustereval._distance(point.__ce_point, target.__ce_center, distance, p)
      END AS __ce_own_distance,
      CASE
        WHEN point.__ce_kept
        THEN clustereval._distance(point.__ce_point, target.__ce_overall_center, distance, p)
      END AS __ce_overall_distance,
      lower(distance) = 'cosine' AND point.__ce_kept AND clustereval._norm(point.__ce_point) = 0
        AS __ce_is_zero_vector
    FROM query_table(__ce_points) AS point
    LEFT JOIN query_table(__ce_centers) AS target
      ON target.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
      AND target.__ce_cluster IS NOT DISTINCT FROM point.__ce_cluster
      AND target.__ce_singleton_no = point.__ce_singleton_no
  ),
  __ce_cluster_sums AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_singleton_no,
      CAST(COUNT(CASE WHEN __ce_kept THEN 1 END) AS BIGINT) AS __ce_n,
      CAST(COUNT(CASE WHEN __ce_dropped THEN 1 END) AS BIGINT) AS __ce_n_dropped,
      CAST(COUNT(CASE WHEN __ce_noisy THEN 1 END) AS BIGINT) AS __ce_n_noise,
      COUNT(CASE WHEN __ce_unpartitioned THEN 1 END) AS __ce_n_unpartitioned,
      COUNT(CASE WHEN __ce_is_zero_vector THEN 1 END) AS __ce_n_zero_vectors,
      COUNT(__ce_own_distance) AS __ce_n_measured,
      clustereval._compensated_sum(__ce_own_distance) AS __ce_distances,
      clustereval._compensated_sum(
        clustereval._squared_distance(__ce_own_distance, distance)
      ) AS __ce_ssw,
      MAX(__ce_own_distance) AS __ce_radius,
      clustereval._compensated_sum(__ce_overall_distance) AS __ce_overall_distances
    FROM __ce_measured_points
    GROUP BY __ce_partition, __ce_cluster, __ce_singleton_no
  )
  SELECT
    *,
    -- The sum is not finite if one of the distances is not.
    __ce_n_measured < __ce_n OR NOT coalesce(isfinite(__ce_ssw), TRUE) AS __ce_is_invalid
  FROM __ce_cluster_sums;

-- One row per cluster that has points: the columns of _all_centers and _cluster_spreads that
-- the indices need, __ce_mean_distance of its points to its center, and a number that identifies
-- the cluster in the whole table (__ce_number). __ce_centers: rows of _all_centers;
-- __ce_spreads: rows of _cluster_spreads.
CREATE OR REPLACE MACRO clustereval._measured_clusters(__ce_centers, __ce_spreads) AS TABLE
  SELECT
    cluster.__ce_partition, cluster.__ce_cluster, cluster.__ce_singleton_no,
    cluster.__ce_dims, cluster.__ce_center, cluster.__ce_overall_center,
    cluster.__ce_within_squares,
    row_number() OVER (
      ORDER BY
        cluster.__ce_partition ASC NULLS LAST, cluster.__ce_cluster ASC NULLS LAST,
        cluster.__ce_singleton_no ASC NULLS LAST
    ) AS __ce_number,
    spread.__ce_n, spread.__ce_distances, spread.__ce_ssw, spread.__ce_radius,
    spread.__ce_overall_distances,
    spread.__ce_distances / spread.__ce_n AS __ce_mean_distance
  FROM query_table(__ce_centers) AS cluster
  JOIN query_table(__ce_spreads) AS spread
    ON spread.__ce_partition IS NOT DISTINCT FROM cluster.__ce_partition
    AND spread.__ce_cluster IS NOT DISTINCT FROM cluster.__ce_cluster
    AND spread.__ce_singleton_no = cluster.__ce_singleton_no;

-- No rows. Raises an error for vectors that have no finite distances, and if weights has another
-- length than the vectors. The points are read only if a cluster has such vectors
-- (__ce_is_invalid), clusters differ in their dimensions, or distances may overflow. Parameters:
-- rows of _points or _move_points, _cluster_spreads and _all_centers, and the option weights.
CREATE OR REPLACE MACRO clustereval._check_points(
  __ce_points, __ce_spreads, __ce_centers, weights
) AS TABLE
  WITH __ce_alarms AS (
    SELECT COUNT(*) AS __ce_n_alarms
    FROM query_table(__ce_spreads)
    WHERE __ce_is_invalid
    UNION ALL
    SELECT COUNT(DISTINCT __ce_dims) - 1 + COUNT(CASE WHEN __ce_overflows THEN 1 END)
    FROM query_table(__ce_centers)
  ),
  __ce_suspects AS (
    SELECT
      point.__ce_vector, point.__ce_vector_text, point.__ce_unpartitioned, point.__ce_partition,
      CASE WHEN NOT point.__ce_has_default_id THEN point.__ce_id END AS __ce_id
    FROM query_table(__ce_points) AS point
    JOIN (SELECT MAX(__ce_n_alarms) AS __ce_n_alarms FROM __ce_alarms) AS alarm
      ON alarm.__ce_n_alarms > 0
    WHERE point.__ce_kept OR point.__ce_vector_text IS NOT NULL
  ),
  __ce_faults AS (
    SELECT
      longest.__ce_dims,
      suspect.*,
      clustereval._point_fault(suspect.__ce_vector, longest.__ce_dims) AS __ce_fault
    FROM __ce_suspects AS suspect
    CROSS JOIN (SELECT MAX(len(__ce_vector)) AS __ce_dims FROM __ce_suspects) AS longest
  ),
  __ce_first_fault AS (SELECT * FROM clustereval._first_point_fault(__ce_faults))
  SELECT CAST(CASE
    WHEN weights IS NOT NULL AND __ce_dims <> len(weights)
    THEN error(concat(
      'weights: expected one for each of ', __ce_dims, ' dimensions, got ', len(weights)
    ))
    ELSE clustereval._point_fault_error(
      __ce_fault, __ce_dims, __ce_n_faulty, __ce_names, __ce_details
    )
  END AS BOOLEAN) AS __ce_valid
  FROM __ce_first_fault;

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
    own.__ce_partition AS partition_key,
    own.__ce_cluster AS cluster,
    own.__ce_size AS n,
    clustereval._user_center(own.__ce_center, origin.__ce_origin, weights, distance, p)
      AS centroid
  FROM __ce_centers AS own
  LEFT JOIN __ce_origins AS origin
    ON origin.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY
    own.__ce_partition ASC NULLS LAST, own.__ce_cluster ASC NULLS LAST,
    own.__ce_singleton_no ASC NULLS LAST;
