-- states: what is kept of a cluster's points so that internal_report of many nights needs none of
-- them. A state is the number, mean and sums of squared deviations of some points of a cluster. The
-- states of any number of parts merge to that of all their points.
--
--   * A mean is kept as the sum of two numbers, mean and mean_correction: points far from 0 would
--     otherwise lose the digits that tell the means of two parts apart.

---------------------------------------------------------------------------------------------------
-- Means of two numbers
---------------------------------------------------------------------------------------------------

-- x + y - (the DOUBLE nearest to x + y), exactly: Knuth's TwoSum.
CREATE OR REPLACE MACRO clustereval._sum_error(x, y) AS
  (x - ((x + y) - ((x + y) - x))) + (y - ((x + y) - x));

-- What mean_correction adds to the mean `reference` + `shift`, which _clamp keeps between
-- low and high, the least and greatest number that it is the mean of.
CREATE OR REPLACE MACRO clustereval._mean_correction(reference, shift, low, high) AS
  CASE
    WHEN reference + shift BETWEEN low AND high
    THEN clustereval._sum_error(reference, shift)
    ELSE 0.0
  END;

---------------------------------------------------------------------------------------------------
-- Checks
---------------------------------------------------------------------------------------------------

-- TRUE if type_name, the result of typeof(), is a type of numbers.
CREATE OR REPLACE MACRO clustereval._is_number_type(type_name) AS
  regexp_matches(
    type_name, '^(U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\))$'
  );

-- x, unchanged. Raises an error if the column `name` of a table of states, with the type type_name,
-- is missing, or `fits`, whether the type is the expected one, is FALSE. "NULL" is the type of a
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

-- x, unchanged. Raises the error of _check_state_type unless the column `given` has numbers.
CREATE OR REPLACE MACRO clustereval._check_state_counts(x, name, given) AS
  clustereval._check_state_type(
    x, name, typeof(any_value(given)), 'whole numbers >= 0',
    clustereval._is_number_type(typeof(any_value(given)))
  );

-- x, unchanged. Raises the error of _check_state_type unless the column `given` has lists of
-- numbers.
CREATE OR REPLACE MACRO clustereval._check_state_lists(x, name, given) AS
  clustereval._check_state_type(
    x, name, typeof(any_value(given)), 'lists of numbers',
    clustereval._is_vector_type(typeof(any_value(given)))
  );

-- What is wrong with x, a number of rows in the column `name`, as text; NULL if nothing is.
CREATE OR REPLACE MACRO clustereval._state_count_fault(x, name) AS
  CASE
    WHEN NOT clustereval._is_whole_number(x, 0)
    THEN concat('whole numbers >= 0 in the column ', name, ', got ', clustereval._show_value(x))
  END;

-- What is wrong with x, a list in the column `name` that should have dims finite numbers, as text;
-- NULL if nothing is.
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

-- The first place where the lists low <= x <= high are not in this order, from 1; NULL if they are.
CREATE OR REPLACE MACRO clustereval._unordered_place(low, x, high) AS
  list_filter(
    range(1, len(x) + 1),
    lambda __ce_i: NOT (low[__ce_i] <= x[__ce_i] AND x[__ce_i] <= high[__ce_i])
  )[1];

-- What is wrong with lists of finite numbers of one length, as text; NULL if nothing is.
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
-- if distances between the points may overflow. __ce_states: rows of _state_rows; weights is an
-- option.
CREATE OR REPLACE MACRO clustereval._check_states(__ce_states, weights) AS TABLE
  WITH __ce_dimensions AS (
    SELECT GREATEST(MAX(len(__ce_mean)), 1) AS __ce_dims
    FROM query_table(__ce_states)
    WHERE __ce_n > 0
  ),
  __ce_faults AS (
    SELECT
      dimension.__ce_dims,
      CASE
        WHEN state.__ce_count_fault IS NOT NULL THEN state.__ce_count_fault
        WHEN state.__ce_n = 0 THEN NULL
        WHEN state.__ce_cluster IS NULL THEN 'a cluster for each state of points, got NULL'
        ELSE COALESCE(
          clustereval._state_list_fault(state.__ce_mean, 'mean', dimension.__ce_dims),
          clustereval._state_list_fault(
            state.__ce_correction, 'mean_correction', dimension.__ce_dims
          ),
          clustereval._state_list_fault(state.__ce_m2, 'm2', dimension.__ce_dims),
          clustereval._state_list_fault(state.__ce_minimum, 'minimum', dimension.__ce_dims),
          clustereval._state_list_fault(state.__ce_maximum, 'maximum', dimension.__ce_dims),
          clustereval._state_value_fault(
            state.__ce_mean, state.__ce_m2, state.__ce_minimum, state.__ce_maximum
          )
        )
      END AS __ce_fault
    FROM query_table(__ce_states) AS state
    CROSS JOIN __ce_dimensions AS dimension
  ),
  __ce_first_fault AS (
    SELECT MAX(__ce_dims) AS __ce_dims, MIN(__ce_fault) AS __ce_fault FROM __ce_faults
  )
  SELECT CAST(CASE
    WHEN __ce_fault IS NOT NULL THEN error(concat('states: expected ', __ce_fault))
    ELSE error(concat(
      'weights: expected one for each of ', __ce_dims, ' dimensions, got ', len(weights)
    ))
  END AS BOOLEAN) AS __ce_valid
  FROM __ce_first_fault
  WHERE __ce_fault IS NOT NULL OR (weights IS NOT NULL AND __ce_dims <> len(weights));

---------------------------------------------------------------------------------------------------
-- Reading
---------------------------------------------------------------------------------------------------

-- One row per state of the user's table tbl: __ce_partition, __ce_cluster; the counts __ce_n,
-- __ce_n_dropped and __ce_n_noise, NULL if they are none, and __ce_count_fault, what is then wrong;
-- the lists __ce_mean, __ce_correction, __ce_m2, __ce_minimum and __ce_maximum as DOUBLE[]; and
-- __ce_unpartitioned. Columns that may be left out are 0. One more row, without points, raises the
-- errors of missing columns and wrong types, of an empty table too; without partition_by its
-- __ce_unpartitioned is TRUE: the one partition appears without states.
CREATE OR REPLACE MACRO clustereval._state_rows(tbl, partition_by) AS TABLE
  -- A column that the user's table does not have is of the type "NULL".
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
  )
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
    TRY_CAST(maximum AS DOUBLE[]) AS __ce_maximum,
    FALSE AS __ce_unpartitioned
  FROM __ce_given
  UNION ALL
  SELECT
    NULL, any_value(cluster), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL,
    clustereval._is_absent(partition_by)
  FROM __ce_given
  WHERE FALSE
  HAVING clustereval._check_state_lists(
    clustereval._check_state_lists(
      clustereval._check_state_lists(
        clustereval._check_state_lists(
          clustereval._check_state_counts(
            clustereval._check_state_type(
              clustereval._check_column(TRUE, 'partition_by', partition_by),
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
  );

---------------------------------------------------------------------------------------------------
-- Merging
---------------------------------------------------------------------------------------------------

-- One row per cluster: __ce_partition, __ce_cluster, and the sums of its states' counts __ce_n,
-- __ce_n_dropped, __ce_n_noise and __ce_n_unpartitioned. __ce_states: rows of _state_rows.
CREATE OR REPLACE MACRO clustereval._state_counts(__ce_states) AS TABLE
  SELECT
    __ce_partition, __ce_cluster,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_n,
    CAST(SUM(__ce_n_dropped) AS BIGINT) AS __ce_n_dropped,
    CAST(SUM(__ce_n_noise) AS BIGINT) AS __ce_n_noise,
    COUNT(CASE WHEN __ce_unpartitioned THEN 1 END) AS __ce_n_unpartitioned
  FROM query_table(__ce_states)
  GROUP BY __ce_partition, __ce_cluster;

-- One row per cluster and coordinate (__ce_i, from 1), from all states of the cluster: its key
-- (__ce_partition, __ce_cluster), the number of points __ce_n, and of the coordinate the mean,
-- __ce_mean + __ce_correction, the sum of squared deviations from it (__ce_m2), the least and the
-- greatest value (__ce_low, __ce_high). The formula is Chan, Golub and LeVeque's for any number of
-- parts: m2 = sum of m2_i + sum of n_i (mean_i - mean)^2. The means are centered by __ce_reference,
-- their mean but for rounding, before anything is squared. __ce_states: rows of _state_rows.
CREATE OR REPLACE MACRO clustereval._merged_states(__ce_states) AS TABLE
  WITH __ce_values AS NOT MATERIALIZED (
    SELECT
      __ce_partition, __ce_cluster,
      CAST(__ce_n AS DOUBLE) AS __ce_n,
      unnest(range(1, len(__ce_mean) + 1)) AS __ce_i,
      unnest(__ce_mean) AS __ce_mean,
      unnest(__ce_correction) AS __ce_correction,
      unnest(__ce_m2) AS __ce_m2,
      unnest(__ce_minimum) AS __ce_minimum,
      unnest(__ce_maximum) AS __ce_maximum
    FROM query_table(__ce_states)
    WHERE __ce_n > 0
  ),
  -- Both uses need the same references: another evaluation may add them up in another order.
  __ce_references AS MATERIALIZED (
    SELECT
      __ce_partition, __ce_cluster, __ce_i,
      clustereval._clamp(
        fsum(__ce_n * __ce_mean) / fsum(__ce_n), MIN(__ce_mean), MAX(__ce_mean)
      ) AS __ce_reference
    FROM __ce_values
    GROUP BY __ce_partition, __ce_cluster, __ce_i
  ),
  __ce_deviations AS NOT MATERIALIZED (
    SELECT
      part.*,
      whole.__ce_reference,
      (part.__ce_mean - whole.__ce_reference) + part.__ce_correction AS __ce_deviation
    FROM __ce_values AS part
    JOIN __ce_references AS whole
      ON whole.__ce_partition IS NOT DISTINCT FROM part.__ce_partition
      AND whole.__ce_cluster IS NOT DISTINCT FROM part.__ce_cluster
      AND whole.__ce_i = part.__ce_i
  ),
  __ce_shifts AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_i,
      clustereval._clamp(
        fsum(__ce_n * __ce_deviation) / fsum(__ce_n), MIN(__ce_deviation), MAX(__ce_deviation)
      ) AS __ce_shift
    FROM __ce_deviations
    GROUP BY __ce_partition, __ce_cluster, __ce_i
  ),
  __ce_sums AS (
    SELECT
      part.__ce_partition, part.__ce_cluster, part.__ce_i,
      SUM(part.__ce_n) AS __ce_n,
      any_value(part.__ce_reference) AS __ce_reference,
      any_value(whole.__ce_shift) AS __ce_shift,
      fsum(part.__ce_m2) + fsum(part.__ce_n * pow(part.__ce_deviation - whole.__ce_shift, 2))
        AS __ce_m2,
      MIN(part.__ce_minimum) AS __ce_low,
      MAX(part.__ce_maximum) AS __ce_high
    FROM __ce_deviations AS part
    JOIN __ce_shifts AS whole
      ON whole.__ce_partition IS NOT DISTINCT FROM part.__ce_partition
      AND whole.__ce_cluster IS NOT DISTINCT FROM part.__ce_cluster
      AND whole.__ce_i = part.__ce_i
    GROUP BY part.__ce_partition, part.__ce_cluster, part.__ce_i
  )
  SELECT
    __ce_partition, __ce_cluster, __ce_i, __ce_n,
    clustereval._clamp(__ce_reference + __ce_shift, __ce_low, __ce_high) AS __ce_mean,
    clustereval._mean_correction(__ce_reference, __ce_shift, __ce_low, __ce_high)
      AS __ce_correction,
    CASE WHEN __ce_low = __ce_high THEN 0.0 ELSE __ce_m2 END AS __ce_m2,
    __ce_low, __ce_high
  FROM __ce_sums;

-- One row per cluster, with the columns of cluster_states. __ce_counts: rows of _state_counts or
-- _cluster_spreads; __ce_coordinates: rows of _merged_states.
CREATE OR REPLACE MACRO clustereval._state_table(__ce_counts, __ce_coordinates) AS TABLE
  WITH __ce_lists AS (
    SELECT
      __ce_partition, __ce_cluster,
      list(__ce_mean ORDER BY __ce_i ASC NULLS LAST) AS __ce_mean,
      list(__ce_correction ORDER BY __ce_i ASC NULLS LAST) AS __ce_correction,
      list(__ce_m2 ORDER BY __ce_i ASC NULLS LAST) AS __ce_m2,
      list(__ce_low ORDER BY __ce_i ASC NULLS LAST) AS __ce_low,
      list(__ce_high ORDER BY __ce_i ASC NULLS LAST) AS __ce_high
    FROM query_table(__ce_coordinates)
    GROUP BY __ce_partition, __ce_cluster
  )
  SELECT
    counted.__ce_partition AS partition_key,
    counted.__ce_cluster AS cluster,
    counted.__ce_n AS n,
    counted.__ce_n_dropped AS n_dropped,
    counted.__ce_n_noise AS n_noise,
    cluster.__ce_mean AS mean,
    cluster.__ce_correction AS mean_correction,
    cluster.__ce_m2 AS m2,
    cluster.__ce_low AS minimum,
    cluster.__ce_high AS maximum
  FROM query_table(__ce_counts) AS counted
  LEFT JOIN __ce_lists AS cluster
    ON cluster.__ce_partition IS NOT DISTINCT FROM counted.__ce_partition
    AND cluster.__ce_cluster IS NOT DISTINCT FROM counted.__ce_cluster
  WHERE counted.__ce_n + counted.__ce_n_dropped + counted.__ce_n_noise > 0;

---------------------------------------------------------------------------------------------------
-- Centers and spreads of states, in the columns that points have
---------------------------------------------------------------------------------------------------

-- One row per cluster and coordinate: the columns of _moved_moments, from the rows of
-- _merged_states (__ce_coordinates). As there, the partitions in __ce_origins (rows of
-- _partition_origins) are moved, and coordinates are multiplied by the factors of weights.
CREATE OR REPLACE MACRO clustereval._state_moments(
  __ce_coordinates, __ce_origins, distance, weights
) AS TABLE
  WITH __ce_offsets AS (
    SELECT own.*, COALESCE(origin.__ce_origin[own.__ce_i], 0.0) AS __ce_offset
    FROM query_table(__ce_coordinates) AS own
    LEFT JOIN query_table(__ce_origins) AS origin
      ON origin.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
  ),
  __ce_moved AS (
    SELECT
      __ce_partition, __ce_cluster,
      CAST(0 AS BIGINT) AS __ce_singleton_no,
      __ce_i, __ce_n,
      clustereval._clamp(
        (__ce_mean - __ce_offset) + __ce_correction,
        __ce_low - __ce_offset, __ce_high - __ce_offset
      ) AS __ce_center,
      __ce_m2 / __ce_n AS __ce_variance,
      __ce_low - __ce_offset AS __ce_low,
      __ce_high - __ce_offset AS __ce_high
    FROM __ce_offsets
  )
  SELECT * FROM clustereval._scale_moments(__ce_moved, distance, 2, weights);

-- One row per cluster: the columns of _cluster_spreads that have a value without points. The sums
-- of distances, which are squares here, are those of the distance sqeuclidean, whatever the option
-- distance is; the sum of the squared distances to any center is that to the mean, plus n times the
-- squared distance of the mean from it. __ce_counts: rows of _state_counts; __ce_centers: rows of
-- _all_centers.
CREATE OR REPLACE MACRO clustereval._state_spreads(__ce_counts, __ce_centers) AS TABLE
  WITH __ce_squares AS (
    SELECT
      __ce_partition, __ce_cluster,
      clustereval._compensated_list_sum(__ce_within_squares) AS __ce_ssw,
      __ce_size * clustereval._distance(__ce_center, __ce_overall_center, 'sqeuclidean', 2)
        AS __ce_ssb
    FROM query_table(__ce_centers)
  )
  SELECT
    counted.*,
    CAST(0 AS BIGINT) AS __ce_singleton_no,
    square.__ce_ssw AS __ce_distances,
    square.__ce_ssw,
    CAST(NULL AS DOUBLE) AS __ce_radius,
    square.__ce_ssw + square.__ce_ssb AS __ce_overall_distances
  FROM query_table(__ce_counts) AS counted
  LEFT JOIN __ce_squares AS square
    ON square.__ce_partition IS NOT DISTINCT FROM counted.__ce_partition
    AND square.__ce_cluster IS NOT DISTINCT FROM counted.__ce_cluster;

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- Text of the query SELECT TRUE, which _check_options runs. Raises an error if the option noise_as
-- of cluster_states is 'singletons', and for other bad values of the two as _valid_noise.
CREATE OR REPLACE MACRO clustereval._valid_state_noise(noise, noise_as) AS
  CASE
    WHEN noise_as = 'singletons'
    THEN error(
      'noise_as: expected one of ''cluster'', ''drop'', got ''singletons''; a state is of a cluster'
    )
    WHEN noise_as IS NULL AND noise IS NOT NULL
    THEN error(concat(
      'noise_as: expected one of ''cluster'', ''drop'', got NULL; with noise it says how the rows ',
      'of noise count: ''cluster'' as one ordinary cluster, ''drop'' not at all'
    ))
    ELSE clustereval._valid_noise(noise, noise_as)
  END;

-- Text of the query SELECT TRUE, which _check_options runs. Raises an error if an option of
-- internal_report_from_states is bad.
CREATE OR REPLACE MACRO clustereval._valid_state_options(distance, weights) AS
  CASE
    WHEN coalesce(lower(CAST(distance AS VARCHAR)), '') NOT IN ('euclidean', 'sqeuclidean')
    THEN error(concat(
      'distance: expected one of ''euclidean'', ''sqeuclidean'', got ',
      coalesce('''' || distance || '''', 'NULL'), '; sums of other distances do not merge'
    ))
    ELSE clustereval._valid_point_options(
      distance, 2, 'mean', weights, NULL, 'cluster', 'error'
    )
  END;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- What to keep of the points of a night: one row per cluster.
-- Examples:
--   FROM clustereval.cluster_states(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.cluster_states(
  tbl, vector, cluster, partition_by := NULL, noise := NULL, noise_as := NULL,
  missing := 'error'
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, 'euclidean', 2, NULL, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')),
  __ce_centers AS MATERIALIZED (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_moments, 'euclidean', 2, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, 'euclidean', 2)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, NULL)
  ),
  __ce_centered_points AS NOT MATERIALIZED (
    SELECT
      point.__ce_partition, point.__ce_cluster, point.__ce_singleton_no, point.__ce_kept,
      clustereval._subtract_vectors(point.__ce_unweighted, own.__ce_center) AS __ce_unweighted
    FROM query_table(__ce_points) AS point
    JOIN query_table(__ce_centers) AS own
      ON own.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
      AND own.__ce_cluster IS NOT DISTINCT FROM point.__ce_cluster
    WHERE point.__ce_kept
  ),
  __ce_deviations AS (
    SELECT * FROM clustereval._coordinate_moments(__ce_centered_points, 'mean')
  ),
  __ce_coordinates AS (
    SELECT
      own.__ce_partition, own.__ce_cluster, own.__ce_i,
      clustereval._clamp(
        own.__ce_center + deviation.__ce_center, own.__ce_low, own.__ce_high
      ) AS __ce_mean,
      clustereval._mean_correction(
        own.__ce_center, deviation.__ce_center, own.__ce_low, own.__ce_high
      ) AS __ce_correction,
      own.__ce_n * deviation.__ce_variance AS __ce_m2,
      own.__ce_low, own.__ce_high
    FROM __ce_moments AS own
    JOIN __ce_deviations AS deviation
      ON deviation.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
      AND deviation.__ce_cluster IS NOT DISTINCT FROM own.__ce_cluster
      AND deviation.__ce_i = own.__ce_i
  )
  SELECT *
  FROM clustereval._state_table(__ce_spreads, __ce_coordinates)
  WHERE clustereval._check_options(
    clustereval._valid_missing(missing, clustereval._valid_state_noise(noise, noise_as))
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
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
  WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
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
    SELECT * FROM clustereval._partition_origins(__ce_coordinates, distance)
  ),
  __ce_moments AS (
    SELECT *
    FROM clustereval._state_moments(__ce_coordinates, __ce_origins, distance, weights)
  ),
  -- The columns of points that a median would need.
  __ce_no_points AS (
    SELECT
      __ce_partition, TRUE AS __ce_kept,
      CAST(NULL AS DOUBLE[]) AS __ce_factors, CAST(NULL AS DOUBLE[]) AS __ce_unweighted
    FROM __ce_moments
    WHERE FALSE
  ),
  __ce_centers AS (
    SELECT *
    FROM clustereval._all_centers(__ce_no_points, __ce_moments, distance, 2, 'mean')
  ),
  __ce_spreads AS (SELECT * FROM clustereval._state_spreads(__ce_counts, __ce_centers)),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_overflow AS (
    SELECT CAST(error('states: distances overflow; scale the coordinates down') AS BOOLEAN)
      AS __ce_valid
    FROM __ce_centers
    WHERE __ce_overflows
  )
  SELECT * REPLACE (
    CASE WHEN lower(distance) = 'sqeuclidean' THEN compactness END AS compactness,
    CASE WHEN lower(distance) = 'sqeuclidean' THEN davies_bouldin_score END
      AS davies_bouldin_score,
    CASE WHEN lower(distance) = 'sqeuclidean' THEN pbm_index END AS pbm_index
  )
  FROM clustereval._report_of_clusters(__ce_clusters, __ce_spreads, distance, 2, 'mean')
  WHERE clustereval._check_options(clustereval._valid_state_options(distance, weights))
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_overflow), TRUE)
  ORDER BY partition_key ASC NULLS LAST;
