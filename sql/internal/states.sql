-- states: the statistics of a cluster's points that are kept, so that internal_report of many
-- nights does not need the points. A state has the number, the mean and the sums of squared
-- deviations of some points of a cluster. The states of any number of parts can be merged to the
-- state of all their points.
--
--   * A mean is kept as the sum of two numbers, mean and mean_correction, because points far from 0
--     would otherwise lose the digits that distinguish the means of two parts.

---------------------------------------------------------------------------------------------------
-- Means of two numbers
---------------------------------------------------------------------------------------------------

-- x + y - (the DOUBLE nearest to x + y), exactly: Knuth's TwoSum.
CREATE OR REPLACE MACRO clustereval._sum_error(x, y) AS
  (x - ((x + y) - ((x + y) - x))) + (y - ((x + y) - x));

-- The number that mean_correction adds to the mean `reference` + `shift`. _clamp keeps this mean
-- between low and high, the smallest and the largest of the numbers of which it is the mean.
CREATE OR REPLACE MACRO clustereval._mean_correction(reference, shift, low, high) AS
  CASE
    WHEN reference + shift BETWEEN low AND high
    THEN clustereval._sum_error(reference, shift)
    ELSE 0.0
  END;

---------------------------------------------------------------------------------------------------
-- Checks
---------------------------------------------------------------------------------------------------

-- x, unchanged. Raises an error if the column `name` of a table of states, with the type type_name,
-- is missing, or if its type is not the expected one (`fits` is FALSE). "NULL" is the type of a
-- missing column, see _state_rows.
CREATE OR REPLACE MACRO clustereval._check_state_type(x, name, type_name, expected, fits) AS
  CASE
    WHEN type_name = '"NULL"'
    THEN error(concat(
      'states: column ''', name, ''' not found; cluster_states returns a table with all columns'
    ))
    WHEN NOT fits
    THEN error(concat(
      'states: expected ', expected, ' in the column ', name, ', got a column of type ', type_name
    ))
    ELSE x
  END;

-- Like _check_state_type, for numbers.
CREATE OR REPLACE MACRO clustereval._check_state_counts(x, name, given) AS
  clustereval._check_state_type(
    x, name, typeof(any_value(given)), 'whole numbers >= 0',
    regexp_matches(typeof(any_value(given)), clustereval._number_types())
  );

-- Like _check_state_type, for lists of numbers.
CREATE OR REPLACE MACRO clustereval._check_state_lists(x, name, given) AS
  clustereval._check_state_type(
    x, name, typeof(any_value(given)), 'lists of numbers',
    clustereval._is_vector_type(typeof(any_value(given)))
  );

-- What is wrong with x, a number of rows in the column `name`, as text; NULL if x is valid.
CREATE OR REPLACE MACRO clustereval._state_count_fault(x, name) AS
  CASE
    WHEN NOT clustereval._is_whole_number(x, 0)
    THEN concat('whole numbers >= 0 in the column ', name, ', got ', clustereval._show_value(x))
  END;

-- What is wrong with x, a list in the column `name` that should have dims finite numbers, as text;
-- NULL if x is valid.
CREATE OR REPLACE MACRO clustereval._state_list_fault(x, name, dims) AS
  CASE
    WHEN x IS NULL THEN concat('a list for each state of points in the column ', name, ', got NULL')
    WHEN len(x) <> dims
    THEN concat('lists of length ', dims, ' in the column ', name, ', got length ', len(x))
    WHEN len(list_filter(x, lambda __ce_x: NOT coalesce(isfinite(__ce_x), FALSE))) > 0
    THEN concat(
      'finite numbers in the column ', name, ', got ', clustereval._show_value(
        list_filter(x, lambda __ce_x: NOT coalesce(isfinite(__ce_x), FALSE))[1]
      )
    )
  END;

-- The first place, counted from 1, at which the lists low <= x <= high are not in this order; NULL
-- if there is none.
CREATE OR REPLACE MACRO clustereval._unordered_place(low, x, high) AS
  list_filter(
    range(1, len(x) + 1),
    lambda __ce_i: NOT (low[__ce_i] <= x[__ce_i] AND x[__ce_i] <= high[__ce_i])
  )[1];

-- What is wrong with lists of finite numbers of the same length, as text; NULL if they are valid.
CREATE OR REPLACE MACRO clustereval._state_value_fault(mean, m2, low, high) AS
  CASE
    WHEN list_min(m2) < 0
    THEN concat('numbers >= 0 in the column m2, got ', list_min(m2))
    WHEN clustereval._unordered_place(low, mean, high) IS NOT NULL
    THEN concat(
      'minimum <= mean <= maximum, got ', low[clustereval._unordered_place(low, mean, high)],
      ' <= ', mean[clustereval._unordered_place(low, mean, high)],
      ' <= ', high[clustereval._unordered_place(low, mean, high)]
    )
  END;

-- No row. Raises an error if a state has a fault, if weights has another length than the means, or
-- if distances between the points may overflow. states: rows of _state_rows; weights is an option.
CREATE OR REPLACE MACRO clustereval._check_states(states, weights) AS TABLE
  WITH dimensions AS (
    SELECT GREATEST(MAX(len(mean)), 1) AS dims
    FROM query_table(states)
    WHERE n > 0
  ),
  faults AS (
    SELECT
      dimension.dims,
      CASE
        WHEN state.count_fault IS NOT NULL THEN state.count_fault
        WHEN state.n = 0 THEN NULL
        WHEN state.cluster IS NULL THEN 'a cluster for each state of points, got NULL'
        ELSE COALESCE(
          clustereval._state_list_fault(state.mean, 'mean', dimension.dims),
          clustereval._state_list_fault(state.correction, 'mean_correction', dimension.dims),
          clustereval._state_list_fault(state.m2, 'm2', dimension.dims),
          clustereval._state_list_fault(state.minimum, 'minimum', dimension.dims),
          clustereval._state_list_fault(state.maximum, 'maximum', dimension.dims),
          clustereval._state_value_fault(state.mean, state.m2, state.minimum, state.maximum)
        )
      END AS fault
    FROM query_table(states) AS state
    CROSS JOIN dimensions AS dimension
  ),
  first_fault AS (SELECT MAX(dims) AS dims, MIN(fault) AS fault FROM faults)
  SELECT CAST(CASE
    WHEN fault IS NOT NULL THEN error(concat('states: expected ', fault))
    ELSE error(concat(
      'weights: expected one for each of ', dims, ' dimensions, got ', len(weights)
    ))
  END AS BOOLEAN) AS valid
  FROM first_fault
  WHERE fault IS NOT NULL OR (weights IS NOT NULL AND dims <> len(weights));

---------------------------------------------------------------------------------------------------
-- Reading
---------------------------------------------------------------------------------------------------

-- One row per state of the user's table tbl: partition_key, cluster; the counts n, n_dropped and
-- n_noise, NULL if they are not valid counts, and count_fault, which then says what is wrong; the
-- lists mean, correction, m2, minimum and maximum as DOUBLE[]. Optional columns that are missing
-- are 0. The last branch raises the errors for missing columns and wrong types, even for an empty
-- table. Without partition_by it has one row, without points, because the only partition appears
-- even without states.
CREATE OR REPLACE MACRO clustereval._state_rows(tbl, partition_by) AS TABLE
  -- A column that the user's table does not have gets the type "NULL".
  WITH __ce_given AS (
    SELECT *
    FROM (
      SELECT
        NULL AS cluster, NULL AS n, NULL AS n_dropped, NULL AS n_noise, NULL AS mean,
        NULL AS mean_correction, NULL AS m2, NULL AS minimum, NULL AS maximum
      WHERE FALSE
    )
    UNION ALL BY NAME
    SELECT * FROM query_table(tbl)
  ),
  __ce_rows AS (
    SELECT
      partition_by AS __ce_partition,
      cluster AS __ce_cluster,
      TRY_CAST(n AS BIGINT) AS __ce_n,
      TRY_CAST(COALESCE(n_dropped, 0) AS BIGINT) AS __ce_n_dropped,
      TRY_CAST(COALESCE(n_noise, 0) AS BIGINT) AS __ce_n_noise,
      COALESCE(
        clustereval._state_count_fault(n, 'n'),
        clustereval._state_count_fault(COALESCE(n_dropped, 0), 'n_dropped'),
        clustereval._state_count_fault(COALESCE(n_noise, 0), 'n_noise')
      ) AS __ce_count_fault,
      TRY_CAST(mean AS DOUBLE[]) AS __ce_mean,
      COALESCE(
        TRY_CAST(mean_correction AS DOUBLE[]),
        list_transform(TRY_CAST(mean AS DOUBLE[]), lambda __ce_x: 0.0)
      ) AS __ce_correction,
      TRY_CAST(m2 AS DOUBLE[]) AS __ce_m2,
      TRY_CAST(minimum AS DOUBLE[]) AS __ce_minimum,
      TRY_CAST(maximum AS DOUBLE[]) AS __ce_maximum
    FROM __ce_given
    UNION ALL
    SELECT
      NULL, any_value(cluster), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL
    FROM __ce_given
    WHERE FALSE
    HAVING clustereval._check_state_lists(
      clustereval._check_state_lists(
        clustereval._check_state_lists(
          clustereval._check_state_lists(
            clustereval._check_state_counts(
              clustereval._check_state_type(
                clustereval._check_column(
                  clustereval._is_absent(partition_by), 'partition_by', partition_by
                ),
                'cluster', typeof(any_value(cluster)), '', TRUE
              ),
              'n', n
            ),
            'maximum', maximum
          ),
          'minimum', minimum
        ),
        'm2', m2
      ),
      'mean', mean
    )
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_cluster AS cluster,
    __ce_n AS n,
    __ce_n_dropped AS n_dropped,
    __ce_n_noise AS n_noise,
    __ce_count_fault AS count_fault,
    __ce_mean AS mean,
    __ce_correction AS correction,
    __ce_m2 AS m2,
    __ce_minimum AS minimum,
    __ce_maximum AS maximum
  FROM __ce_rows;

---------------------------------------------------------------------------------------------------
-- Merging
---------------------------------------------------------------------------------------------------

-- One row per cluster: partition_key, cluster, and the sums of its states' counts n, n_dropped and
-- n_noise. states: rows of _state_rows.
CREATE OR REPLACE MACRO clustereval._state_counts(states) AS TABLE
  SELECT
    partition_key, cluster,
    CAST(SUM(n) AS BIGINT) AS n,
    CAST(SUM(n_dropped) AS BIGINT) AS n_dropped,
    CAST(SUM(n_noise) AS BIGINT) AS n_noise
  FROM query_table(states)
  GROUP BY partition_key, cluster;

-- One row per cluster and coordinate (i, from 1), from all states of the cluster: its key
-- (partition_key, cluster); n, the number of points; and, for the coordinate, the mean as mean +
-- correction, the sum of squared deviations from the mean (m2), and the smallest and the largest
-- value (low, high). The formula is Chan, Golub and LeVeque's for any number of parts: m2 = sum of
-- m2_i + sum of n_i (mean_i - mean)^2. The means are centered by reference, their mean except for
-- rounding, before anything is squared. states: rows of _state_rows.
CREATE OR REPLACE MACRO clustereval._merged_states(states) AS TABLE
  WITH coordinate_values AS NOT MATERIALIZED (
    SELECT
      partition_key, cluster,
      CAST(n AS DOUBLE) AS n,
      unnest(range(1, len(mean) + 1)) AS i,
      unnest(mean) AS mean,
      unnest(correction) AS correction,
      unnest(m2) AS m2,
      unnest(minimum) AS minimum,
      unnest(maximum) AS maximum
    FROM query_table(states)
    WHERE n > 0
  ),
  -- Both uses need the same references, because a second evaluation may add them up in another
  -- order.
  reference_points AS MATERIALIZED (
    SELECT
      partition_key, cluster, i,
      clustereval._clamp(fsum(n * mean) / fsum(n), MIN(mean), MAX(mean)) AS reference
    FROM coordinate_values
    GROUP BY partition_key, cluster, i
  ),
  deviations AS NOT MATERIALIZED (
    SELECT
      part.*,
      whole.reference,
      (part.mean - whole.reference) + part.correction AS deviation
    FROM coordinate_values AS part
    JOIN reference_points AS whole
      ON whole.partition_key IS NOT DISTINCT FROM part.partition_key
      AND whole.cluster IS NOT DISTINCT FROM part.cluster
      AND whole.i = part.i
  ),
  shifts AS (
    SELECT
      partition_key, cluster, i,
      clustereval._clamp(fsum(n * deviation) / fsum(n), MIN(deviation), MAX(deviation)) AS shift
    FROM deviations
    GROUP BY partition_key, cluster, i
  ),
  sums AS (
    SELECT
      part.partition_key, part.cluster, part.i,
      SUM(part.n) AS n,
      any_value(part.reference) AS reference,
      any_value(whole.shift) AS shift,
      fsum(part.m2) + fsum(part.n * pow(part.deviation - whole.shift, 2)) AS m2,
      MIN(part.minimum) AS low,
      MAX(part.maximum) AS high
    FROM deviations AS part
    JOIN shifts AS whole
      ON whole.partition_key IS NOT DISTINCT FROM part.partition_key
      AND whole.cluster IS NOT DISTINCT FROM part.cluster
      AND whole.i = part.i
    GROUP BY part.partition_key, part.cluster, part.i
  )
  SELECT
    partition_key, cluster, i, n,
    clustereval._clamp(reference + shift, low, high) AS mean,
    clustereval._mean_correction(reference, shift, low, high) AS correction,
    CASE WHEN low = high THEN 0.0 ELSE m2 END AS m2,
    low, high
  FROM sums;

-- One row per cluster, with the columns of cluster_states. counts: rows of _state_counts or
-- _cluster_spreads; coordinates: rows of _merged_states.
CREATE OR REPLACE MACRO clustereval._state_table(counts, coordinates) AS TABLE
  WITH lists AS (
    SELECT
      partition_key, cluster,
      list(mean ORDER BY i ASC NULLS LAST) AS mean,
      list(correction ORDER BY i ASC NULLS LAST) AS correction,
      list(m2 ORDER BY i ASC NULLS LAST) AS m2,
      list(low ORDER BY i ASC NULLS LAST) AS low,
      list(high ORDER BY i ASC NULLS LAST) AS high
    FROM query_table(coordinates)
    GROUP BY partition_key, cluster
  )
  SELECT
    counted.partition_key,
    counted.cluster,
    counted.n,
    counted.n_dropped,
    counted.n_noise,
    cluster.mean,
    cluster.correction AS mean_correction,
    cluster.m2,
    cluster.low AS minimum,
    cluster.high AS maximum
  FROM query_table(counts) AS counted
  LEFT JOIN lists AS cluster
    ON cluster.partition_key IS NOT DISTINCT FROM counted.partition_key
    AND cluster.cluster IS NOT DISTINCT FROM counted.cluster
  WHERE counted.n + counted.n_dropped + counted.n_noise > 0;

---------------------------------------------------------------------------------------------------
-- Centers and spreads of states, in the columns that the macros for points return
---------------------------------------------------------------------------------------------------

-- One row per cluster and coordinate: the columns of _moved_moments, from the rows of
-- _merged_states (coordinates). As in _moved_moments, the partitions in origins (rows of
-- _partition_origins) are moved, and coordinates are multiplied by the factors of weights.
CREATE OR REPLACE MACRO clustereval._state_moments(coordinates, origins, distance, weights) AS TABLE
  WITH offsets AS (
    SELECT own.*, COALESCE(origin.origin[own.i], 0.0) AS moved_by
    FROM query_table(coordinates) AS own
    LEFT JOIN query_table(origins) AS origin
      ON origin.partition_key IS NOT DISTINCT FROM own.partition_key
  ),
  moved AS (
    SELECT
      partition_key, cluster,
      CAST(0 AS BIGINT) AS singleton_no,
      i, n,
      clustereval._clamp((mean - moved_by) + correction, low - moved_by, high - moved_by) AS center,
      m2 / n AS variance
    FROM offsets
  )
  SELECT * FROM clustereval._scale_moments(moved, distance, 2, weights);

-- One row per cluster: the columns of _cluster_spreads that have a value without points, for the
-- distance sqeuclidean, whatever the option distance is. The sum of the squared distances to any
-- center is the sum of the squared distances to the mean, plus n times the squared distance between
-- the mean and that center. The tables are those of _state_counts, _all_centers and _state_moments.
CREATE OR REPLACE MACRO clustereval._state_spreads(counts, centers, moments) AS TABLE
  WITH squares_within AS (
    SELECT partition_key, cluster, clustereval._compensated_sum(n * variance) AS ssw
    FROM query_table(moments)
    GROUP BY partition_key, cluster
  ),
  squares AS (
    SELECT
      own.partition_key, own.cluster, spread.ssw,
      own.size * clustereval._distance(own.center, own.overall_center, 'sqeuclidean', 2) AS ssb
    FROM query_table(centers) AS own
    JOIN squares_within AS spread
      ON spread.partition_key IS NOT DISTINCT FROM own.partition_key
      AND spread.cluster IS NOT DISTINCT FROM own.cluster
  )
  SELECT
    counted.*,
    CAST(0 AS BIGINT) AS singleton_no,
    square.ssw AS distances,
    square.ssw,
    CAST(NULL AS DOUBLE) AS radius,
    square.ssw + square.ssb AS overall_distances
  FROM query_table(counts) AS counted
  LEFT JOIN squares AS square
    ON square.partition_key IS NOT DISTINCT FROM counted.partition_key
    AND square.cluster IS NOT DISTINCT FROM counted.cluster;

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- Text of the query SELECT TRUE. Raises an error for an invalid option of
-- internal_report_from_states.
CREATE OR REPLACE MACRO clustereval._valid_state_options(distance, weights) AS
  CASE
    WHEN coalesce(lower(CAST(distance AS VARCHAR)), '') NOT IN ('euclidean', 'sqeuclidean')
    THEN error(concat(
      'distance: expected one of ''euclidean'', ''sqeuclidean'', got ',
      coalesce('''' || distance || '''', 'NULL'), '; sums of other distances cannot be merged'
    ))
    ELSE clustereval._valid_point_options(distance, 2, 'mean', weights, NULL, 'cluster', 'error')
  END;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- The statistics to keep of the points of a night: one row per cluster.
-- Examples:
--   FROM clustereval.cluster_states(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.cluster_states(
  tbl, vector, cluster, partition_by := NULL, noise := NULL, noise_as := NULL,
  missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, 'euclidean', 2, NULL, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')),
  __ce_origins AS (
    SELECT * FROM clustereval._partition_origins(__ce_moments, 'euclidean', 2, NULL)
  ),
  __ce_centers AS MATERIALIZED (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_moments, 'euclidean', 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_arguments, __ce_centers, 'euclidean', 2
    )
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(
      __ce_points, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, NULL
    )
  ),
  __ce_centered_points AS NOT MATERIALIZED (
    SELECT
      point.partition_key, point.cluster, point.singleton_no, point.kept,
      clustereval._subtract_vectors(point.unweighted, own.center) AS unweighted
    FROM query_table(__ce_points) AS point
    JOIN query_table(__ce_centers) AS own
      ON own.partition_key IS NOT DISTINCT FROM point.partition_key
      AND own.cluster IS NOT DISTINCT FROM point.cluster
    WHERE point.kept
  ),
  __ce_deviations AS (SELECT * FROM clustereval._coordinate_moments(__ce_centered_points, 'mean')),
  __ce_coordinates AS (
    SELECT
      own.partition_key, own.cluster, own.i,
      clustereval._clamp(own.center + deviation.center, own.low, own.high) AS mean,
      clustereval._mean_correction(own.center, deviation.center, own.low, own.high) AS correction,
      own.n * deviation.variance AS m2,
      own.low, own.high
    FROM __ce_moments AS own
    JOIN __ce_deviations AS deviation
      ON deviation.partition_key IS NOT DISTINCT FROM own.partition_key
      AND deviation.cluster IS NOT DISTINCT FROM own.cluster
      AND deviation.i = own.i
  )
  SELECT *
  FROM clustereval._state_table(__ce_spreads, __ce_coordinates)
  WHERE clustereval._check_options(
    clustereval._valid_missing(missing, clustereval._valid_noise_of_clusters(noise, noise_as))
  )
    AND COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
  -- The second column is cluster, whose name is that of a parameter here.
  ORDER BY partition_key ASC NULLS LAST, 2 ASC NULLS LAST;

-- States of the same cluster, such as those of a week, merged into one.
-- Examples:
--   WITH states AS (FROM clustereval.cluster_states(points, [x, y, z], cluster))
--   FROM clustereval.merge_cluster_states(states);
CREATE OR REPLACE MACRO clustereval.merge_cluster_states(tbl, partition_by := NULL) AS TABLE
  WITH __ce_states AS MATERIALIZED (SELECT * FROM clustereval._state_rows(tbl, partition_by)),
  __ce_counts AS (SELECT * FROM clustereval._state_counts(__ce_states)),
  __ce_coordinates AS (SELECT * FROM clustereval._merged_states(__ce_states)),
  __ce_checked AS (SELECT * FROM clustereval._check_states(__ce_states, NULL))
  SELECT *
  FROM clustereval._state_table(__ce_counts, __ce_coordinates)
  WHERE COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
  ORDER BY partition_key ASC NULLS LAST, cluster ASC NULLS LAST;

-- internal_report without the points, from the states of any number of parts of each cluster.
-- Examples:
--   WITH states AS (FROM clustereval.cluster_states(points, [x, y, z], cluster))
--   FROM clustereval.internal_report_from_states(states);
CREATE OR REPLACE MACRO clustereval.internal_report_from_states(
  tbl, distance := 'euclidean', partition_by := NULL, weights := NULL
) AS TABLE
  WITH __ce_states AS MATERIALIZED (SELECT * FROM clustereval._state_rows(tbl, partition_by)),
  __ce_counts AS (SELECT * FROM clustereval._state_counts(__ce_states)),
  __ce_coordinates AS MATERIALIZED (SELECT * FROM clustereval._merged_states(__ce_states)),
  __ce_checked AS (SELECT * FROM clustereval._check_states(__ce_states, weights)),
  __ce_origins AS (
    SELECT * FROM clustereval._partition_origins(__ce_coordinates, distance, 2, weights)
  ),
  __ce_moments AS (
    SELECT * FROM clustereval._state_moments(__ce_coordinates, __ce_origins, distance, weights)
  ),
  -- The columns of points that a median would need.
  __ce_no_points AS (
    SELECT
      partition_key, TRUE AS kept,
      CAST(NULL AS DOUBLE[]) AS factors, CAST(NULL AS DOUBLE[]) AS unweighted
    FROM __ce_moments
    WHERE FALSE
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_no_points, __ce_moments, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._state_spreads(__ce_counts, __ce_centers, __ce_moments)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_range AS (
    SELECT CAST(error(CASE
      WHEN underflows
      THEN 'states: distances underflow; scale the coordinates up'
      ELSE 'states: distances overflow; scale the coordinates down'
    END) AS BOOLEAN) AS valid
    FROM __ce_origins
    WHERE overflows OR underflows
  )
  SELECT * EXCLUDE (noise_names, states) REPLACE (
    CASE WHEN lower(distance) = 'sqeuclidean' THEN compactness END AS compactness,
    CASE WHEN lower(distance) = 'sqeuclidean' THEN davies_bouldin_score END AS davies_bouldin_score,
    CASE WHEN lower(distance) = 'sqeuclidean' THEN pbm_index END AS pbm_index
  )
  FROM clustereval._report_of_clusters(
    __ce_clusters, __ce_spreads, __ce_moments, distance, 2, 'mean'
  )
  WHERE clustereval._check_options(clustereval._valid_state_options(distance, weights))
    AND COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
    AND COALESCE((SELECT MIN(valid) FROM __ce_range), TRUE)
  ORDER BY partition_key ASC NULLS LAST;
