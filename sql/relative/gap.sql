-- gap: the gap statistic, from elbow tables of the data and of reference points without clusters.

---------------------------------------------------------------------------------------------------
-- Reference points
---------------------------------------------------------------------------------------------------

-- Text of the query SELECT TRUE AS __ce_valid, for _check_options to run. Raises an error for the
-- first bad one of the options of uniform_reference.
CREATE OR REPLACE MACRO clustereval._valid_reference_options(n_sets, method, random_state) AS
  CASE
    WHEN NOT clustereval._is_whole_number(n_sets, 1)
    THEN error(concat(
      'n_sets: expected a whole number >= 1, got ', clustereval._show_value(n_sets)
    ))
    WHEN coalesce(method, '') NOT IN ('box', 'pca')
    THEN error(concat(
      'method: expected one of ''box'', ''pca'', got ', coalesce('''' || method || '''', 'NULL')
    ))
    WHEN method = 'pca'
    THEN error(concat(
      'method: only the Python function draws ''pca''; write ce.uniform_reference(frame, vector, ',
      'method="pca"), or method := ''box'''
    ))
    WHEN NOT (clustereval._is_whole_number(random_state, 0) AND random_state < 2147483648)
    THEN error(concat(
      'random_state: expected a whole number >= 0 and < 2147483648, got ',
      clustereval._show_value(random_state)
    ))
    ELSE 'SELECT TRUE AS __ce_valid'
  END;

-- One step of _scramble of a list x of UBIGINTs below 2^32: each xor itself / divisor, times
-- factor, modulo 2^32. Both are UBIGINTs below 2^32, so that no product overflows.
CREATE OR REPLACE MACRO clustereval._scramble_step(x, divisor, factor) AS
  list_transform(
    x, lambda __ce_v: (xor(__ce_v, __ce_v // divisor) * factor) % CAST(4294967296 AS UBIGINT)
  );
-- List of pseudorandom UBIGINTs below 2^32, one for each of the list x of such numbers: Wellons'
-- permutation lowbias32 of the numbers of 32 bits. The sample keys of
-- silhouette_score would repeat after 2^31 numbers, and all sets together may need more.
CREATE OR REPLACE MACRO clustereval._scramble(x) AS
  clustereval._scramble_step(
    clustereval._scramble_step(
      clustereval._scramble_step(x, CAST(65536 AS UBIGINT), CAST(2146121005 AS UBIGINT)),
      CAST(32768 AS UBIGINT), CAST(2221713035 AS UBIGINT)
    ),
    CAST(65536 AS UBIGINT), CAST(1 AS UBIGINT)
  );

-- List of pseudorandom UBIGINTs below 2^32, one for each coordinate of a reference set: they make
-- the numbers of one coordinate and set independent of those of others.
CREATE OR REPLACE MACRO clustereval._stream_keys(seed, set_no, dims) AS
  clustereval._scramble(list_transform(
    range(1, dims + 1),
    lambda __ce_i: (
      clustereval._scramble([
        (clustereval._scramble([CAST(seed AS UBIGINT)])[1] + CAST(set_no AS UBIGINT))
          % CAST(4294967296 AS UBIGINT)
      ])[1] + CAST(__ce_i AS UBIGINT)
    ) % CAST(4294967296 AS UBIGINT)
  ));

-- List of DOUBLEs strictly between 0 and 1, one for each of the list stream_keys (_stream_keys),
-- for a point whose number is scrambled_id after _scramble. Numbers that are scrambled before and
-- after xor share no runs between streams.
CREATE OR REPLACE MACRO clustereval._uniform_numbers(stream_keys, scrambled_id) AS
  list_transform(
    clustereval._scramble(
      list_transform(stream_keys, lambda __ce_key: xor(__ce_key, scrambled_id))
    ),
    lambda __ce_v: (CAST(__ce_v AS DOUBLE) + 0.5) / 4294967296.0
  );

-- One row per partition (__ce_partition): its number of points __ce_n, of dimensions __ce_dims, and
-- the lists of the least and greatest values of its coordinates, __ce_low and __ce_high. Raises the
-- error of vectors that are not finite, or of different lengths. __ce_rows: rows of _points with
-- one cluster.
CREATE OR REPLACE MACRO clustereval._bounding_boxes(__ce_rows) AS TABLE
  WITH __ce_moments AS MATERIALIZED (
    SELECT * FROM clustereval._coordinate_moments(__ce_rows, 'mean')
  ),
  __ce_alarms AS (
    SELECT COUNT(*) AS __ce_n_alarms
    FROM query_table(__ce_rows) AS point
    CROSS JOIN (SELECT COALESCE(MAX(__ce_i), 0) AS __ce_dims FROM __ce_moments) AS longest
    WHERE point.__ce_kept
      AND NOT COALESCE(
        isfinite(list_sum(point.__ce_vector))
          AND list_count(point.__ce_vector) = longest.__ce_dims
          AND len(point.__ce_vector) = longest.__ce_dims,
        FALSE
      )
    UNION ALL
    SELECT COUNT(*) FROM __ce_moments WHERE NOT isfinite(__ce_high - __ce_low)
  ),
  __ce_faults AS (
    SELECT
      longest.__ce_dims,
      point.__ce_vector, point.__ce_vector_text, point.__ce_unpartitioned, point.__ce_partition,
      NULL AS __ce_id,
      clustereval._point_fault(point.__ce_vector, longest.__ce_dims) AS __ce_fault
    FROM query_table(__ce_rows) AS point
    JOIN (SELECT MAX(__ce_n_alarms) AS __ce_n_alarms FROM __ce_alarms) AS alarm
      ON alarm.__ce_n_alarms > 0
    CROSS JOIN (SELECT COALESCE(MAX(__ce_i), 0) AS __ce_dims FROM __ce_moments) AS longest
    WHERE point.__ce_kept OR point.__ce_vector_text IS NOT NULL
  ),
  __ce_checked AS (
    SELECT CAST(
      clustereval._point_fault_error(
        __ce_fault, __ce_dims, __ce_n_faulty, __ce_names, __ce_details
      ) AS BOOLEAN
    ) AS __ce_valid
    FROM clustereval._first_point_fault(__ce_faults)
  )
  SELECT
    __ce_partition,
    CAST(MAX(__ce_n) AS BIGINT) AS __ce_n,
    COUNT(*) AS __ce_dims,
    list(__ce_low ORDER BY __ce_i ASC NULLS LAST) AS __ce_low,
    list(__ce_high ORDER BY __ce_i ASC NULLS LAST) AS __ce_high
  FROM __ce_moments
  WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  GROUP BY __ce_partition;

-- Points without clusters, the reference of the gap statistic: for each partition and reference set
-- as many as the partition has, uniform in the box that its points span.
-- Examples:
--   FROM clustereval.uniform_reference(points, [x, y, z], n_sets := 2);
CREATE OR REPLACE MACRO clustereval.uniform_reference(
  tbl, vector, n_sets := 10, method := 'box', random_state := 0, partition_by := NULL,
  missing := 'error'
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, 1, 'euclidean', 2, NULL, partition_by, NULL, 'cluster', missing
    )
  ),
  __ce_boxes AS (SELECT * FROM clustereval._bounding_boxes(__ce_rows)),
  __ce_sets AS (
    SELECT
      box.*, numbered.__ce_set,
      clustereval._stream_keys(random_state, numbered.__ce_set, box.__ce_dims) AS __ce_stream_keys
    FROM __ce_boxes AS box
    CROSS JOIN (SELECT unnest(range(1, CAST(n_sets AS BIGINT) + 1)) AS __ce_set) AS numbered
  ),
  -- In a CTE of its own, or the id would be scrambled once per coordinate.
  __ce_ids AS (
    SELECT
      drawn.__ce_partition, drawn.__ce_set, drawn.__ce_low, drawn.__ce_high,
      drawn.__ce_stream_keys, place.__ce_id,
      clustereval._scramble([CAST(place.__ce_id % 4294967296 AS UBIGINT)])[1]
        AS __ce_scrambled_id
    FROM __ce_sets AS drawn, LATERAL range(drawn.__ce_n) AS place (__ce_id)
  ),
  __ce_numbers AS (
    SELECT
      __ce_partition, __ce_set, __ce_low, __ce_high, __ce_id,
      clustereval._uniform_numbers(__ce_stream_keys, __ce_scrambled_id) AS __ce_uniform
    FROM __ce_ids
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_set AS reference_set,
    __ce_id AS id,
    list_transform(
      __ce_uniform,
      lambda __ce_u, __ce_i: clustereval._clamp(
        __ce_low[__ce_i] + (__ce_high[__ce_i] - __ce_low[__ce_i]) * __ce_u,
        __ce_low[__ce_i], __ce_high[__ce_i]
      )
    ) AS point
  FROM __ce_numbers
  WHERE clustereval._check_options(clustereval._valid_missing(
    missing, clustereval._valid_reference_options(n_sets, method, random_state)
  ))
  ORDER BY __ce_partition ASC NULLS LAST, __ce_set ASC NULLS LAST, __ce_id ASC NULLS LAST;

---------------------------------------------------------------------------------------------------
-- Gap statistic
---------------------------------------------------------------------------------------------------

-- Text of the query SELECT TRUE AS __ce_valid, for _check_options to run. Raises an error for the
-- first bad one of the options of gap_statistic.
CREATE OR REPLACE MACRO clustereval._valid_gap_options(rule, se_factor) AS
  CASE
    WHEN coalesce(lower(rule), '') NOT IN (
      'firstsemax', 'tibs2001semax', 'globalsemax', 'firstmax', 'globalmax'
    )
    THEN error(concat(
      'rule: expected one of ''firstSEmax'', ''Tibs2001SEmax'', ''globalSEmax'', ''firstmax'', ',
      '''globalmax'', got ', coalesce('''' || rule || '''', 'NULL')
    ))
    WHEN NOT coalesce(se_factor >= 0 AND se_factor < 1e150, FALSE)
    THEN error(concat(
      'se_factor: expected a number >= 0, got ', clustereval._show_value(se_factor)
    ))
    ELSE 'SELECT TRUE AS __ce_valid'
  END;

-- x, the user's argument of the parameter named `parameter`. Raises an error if it is a string
-- literal instead of a column. For rows, so that the error comes before those of other columns.
CREATE OR REPLACE MACRO clustereval._reject_quoted(x, parameter) AS
  CASE
    WHEN starts_with(concat('', alias(x)), '''')
    THEN error(concat(
      parameter, ': expected a column, got the quoted string ', alias(x),
      '; write it without quotes'
    ))
    ELSE x
  END;

-- One row per row of an elbow table tbl: __ce_partition, __ce_k, __ce_set, and __ce_log_ssw, NULL
-- if ssw is 0. sweep is what error texts call a clustering, and remedy what tells them apart.
-- Raises an error if two rows of a partition and set have one k, or k is NULL.
CREATE OR REPLACE MACRO clustereval._sweep_logs(tbl, partition_by, set_no, sweep, remedy) AS TABLE
  WITH __ce_rows AS (
    SELECT
      clustereval._reject_quoted(partition_by, 'partition_by') AS __ce_partition,
      clustereval._reject_quoted(set_no, 'reference_set') AS __ce_set,
      clustereval._check_k(swept.k) AS __ce_k,
      CAST(swept.ssw AS DOUBLE) AS __ce_ssw
    FROM query_table(tbl) AS swept
  ),
  __ce_counted AS (
    SELECT *, COUNT(*) OVER (PARTITION BY __ce_partition, __ce_set, __ce_k) AS __ce_rows_of_k
    FROM __ce_rows
  )
  SELECT
    __ce_partition, __ce_set,
    CASE
      WHEN __ce_rows_of_k > 1
      THEN CAST(error(concat(
        'k: expected one row for each k of ', sweep, ', got ', __ce_rows_of_k, ' rows with ',
        __ce_k, '; ', remedy
      )) AS BIGINT)
      ELSE __ce_k
    END AS __ce_k,
    CASE WHEN __ce_ssw > 0 THEN ln(__ce_ssw) END AS __ce_log_ssw
  FROM __ce_counted;

-- One row with __ce_valid TRUE. Raises an error if `given`, the user's column of the table tbl that
-- is the argument of `parameter`, is a quoted string, even if the table has no rows.
CREATE OR REPLACE MACRO clustereval._check_table_column(tbl, parameter, given) AS TABLE
  SELECT clustereval._check_column(TRUE, parameter, given) AS __ce_valid
  FROM query_table(tbl)
  WHERE FALSE
  HAVING TRUE;

-- One row per partition and k of the reference: __ce_n_sets (reference sets of the partition),
-- __ce_n_sets_of_k (those that have this k), and the mean and the standard deviation with 1/B of
-- their __ce_log_ssw (__ce_mean, __ce_sd), NULL if one is NULL. __ce_reference: rows of
-- _sweep_logs.
CREATE OR REPLACE MACRO clustereval._expected_logs(__ce_reference) AS TABLE
  WITH __ce_sets AS (
    SELECT __ce_partition, __ce_set
    FROM query_table(__ce_reference)
    GROUP BY __ce_partition, __ce_set
  ),
  __ce_set_counts AS (
    SELECT __ce_partition, COUNT(*) AS __ce_n_sets FROM __ce_sets GROUP BY __ce_partition
  ),
  __ce_deviations AS (
    SELECT
      *,
      SUM(__ce_log_ssw) OVER by_k / COUNT(__ce_log_ssw) OVER by_k AS __ce_mean
    FROM query_table(__ce_reference)
    WINDOW by_k AS (PARTITION BY __ce_partition, __ce_k)
  ),
  __ce_logs AS (
    SELECT
      __ce_partition, __ce_k,
      COUNT(*) AS __ce_n_sets_of_k,
      CASE WHEN COUNT(__ce_log_ssw) = COUNT(*) THEN MAX(__ce_mean) END AS __ce_mean,
      CASE
        WHEN COUNT(__ce_log_ssw) = COUNT(*)
        THEN sqrt(
          clustereval._compensated_sum(pow(__ce_log_ssw - __ce_mean, 2)) / COUNT(*)
        )
      END AS __ce_sd
    FROM __ce_deviations
    GROUP BY __ce_partition, __ce_k
  )
  SELECT logs.*, counts.__ce_n_sets
  FROM __ce_logs AS logs
  JOIN __ce_set_counts AS counts
    ON counts.__ce_partition IS NOT DISTINCT FROM logs.__ce_partition;

-- One row per row of __ce_observed (_sweep_logs) with the columns of __ce_expected (_expected_logs)
-- of its partition and k. Raises an error unless both have the same partitions and k, every
-- reference set every k, and every partition two reference sets.
CREATE OR REPLACE MACRO clustereval._matched_sweeps(__ce_observed, __ce_expected) AS TABLE
  WITH __ce_pairs AS (
    SELECT
      own.__ce_partition, own.__ce_k, own.__ce_log_ssw,
      expected.__ce_k AS __ce_expected_k, expected.__ce_n_sets, expected.__ce_n_sets_of_k,
      expected.__ce_mean, expected.__ce_sd
    FROM query_table(__ce_observed) AS own
    FULL JOIN query_table(__ce_expected) AS expected
      ON expected.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
      AND expected.__ce_k = own.__ce_k
  ),
  __ce_faults AS (
    SELECT
      CASE
        WHEN __ce_expected_k IS NULL
        THEN {
          'rank': 1, 'k': __ce_k,
          'what': concat(
            'k: expected the same values in both tables, got ', __ce_k, ' in the first only'
          )
        }
        WHEN __ce_k IS NULL
        THEN {
          'rank': 2, 'k': __ce_expected_k,
          'what': concat(
            'k: expected the same values in both tables, got ', __ce_expected_k,
            ' in the reference only'
          )
        }
        WHEN __ce_n_sets < 2
        THEN {
          'rank': 3, 'k': __ce_k,
          'what': concat('reference_set: expected at least 2 reference sets, got ', __ce_n_sets)
        }
        WHEN __ce_n_sets_of_k < __ce_n_sets
        THEN {
          'rank': 4, 'k': __ce_k,
          'what': concat(
            'k: expected every value in every reference set, got ', __ce_k, ' in ',
            __ce_n_sets_of_k, ' of ', __ce_n_sets, ' sets'
          )
        }
      END AS __ce_fault
    FROM __ce_pairs
  ),
  __ce_checked AS (
    SELECT CAST(error(MIN(__ce_fault)['what']) AS BOOLEAN) AS __ce_valid
    FROM __ce_faults
    HAVING COUNT(__ce_fault) > 0
  )
  SELECT *
  FROM __ce_pairs
  WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE);

-- The gap statistic of each k, from two elbow tables: tbl of the data, and reference, of
-- clusterings of reference points (uniform_reference), whose column reference_set numbers the sets:
-- partition_key of elbow with partition_by := reference_set. partition_by is a column of both
-- tables. rule, one of those of R's cluster::maxSE in any letter case, makes the choice, with
-- se_factor standard errors.
-- Examples:
--   FROM clustereval.gap_statistic(observed, reference, partition_key);
--   FROM clustereval.gap_statistic(observed, reference, partition_key, rule := 'globalmax');
CREATE OR REPLACE MACRO clustereval.gap_statistic(
  tbl, reference, reference_set, rule := 'Tibs2001SEmax', se_factor := 1, partition_by := NULL
) AS TABLE
  WITH __ce_checked AS (
    SELECT * FROM clustereval._check_table_column(reference, 'reference_set', reference_set)
    UNION ALL
    SELECT * FROM clustereval._check_table_column(tbl, 'partition_by', partition_by)
  ),
  __ce_observed AS (
    SELECT * FROM clustereval._sweep_logs(
      tbl, partition_by, NULL, 'a clustering', 'partition_by tells clusterings apart'
    )
  ),
  __ce_reference AS (
    SELECT * FROM clustereval._sweep_logs(
      reference, partition_by, reference_set, 'a reference set',
      'reference_set and partition_by tell them apart'
    )
  ),
  __ce_expected AS (SELECT * FROM clustereval._expected_logs(__ce_reference)),
  __ce_matched AS (SELECT * FROM clustereval._matched_sweeps(__ce_observed, __ce_expected)),
  __ce_gaps AS (
    SELECT
      *,
      __ce_mean - __ce_log_ssw AS __ce_gap,
      __ce_sd * sqrt(1 + clustereval._ratio(1, __ce_n_sets)) AS __ce_gap_se
    FROM __ce_matched
  ),
  __ce_neighbors AS (
    SELECT
      *,
      LEAD(__ce_gap) OVER (PARTITION BY __ce_partition ORDER BY __ce_k ASC NULLS LAST)
        AS __ce_next_gap,
      LEAD(__ce_gap_se) OVER (PARTITION BY __ce_partition ORDER BY __ce_k ASC NULLS LAST)
        AS __ce_next_se,
      MAX(__ce_gap) OVER (PARTITION BY __ce_partition) AS __ce_most_gap,
      COUNT(*) OVER (PARTITION BY __ce_partition)
        = COUNT(__ce_gap) OVER (PARTITION BY __ce_partition) AS __ce_complete
    FROM __ce_gaps
  ),
  -- The peak is the first local or the global maximum, or for Tibshirani's rule its choice.
  __ce_peaks AS (
    SELECT
      *,
      MIN(CASE
        WHEN CASE
          WHEN lower(rule) IN ('globalmax', 'globalsemax') THEN __ce_gap = __ce_most_gap
          WHEN lower(rule) = 'tibs2001semax'
          THEN COALESCE(__ce_gap >= __ce_next_gap - se_factor * __ce_next_se, TRUE)
          ELSE COALESCE(__ce_gap >= __ce_next_gap, TRUE)
        END
        THEN __ce_k
      END) OVER (PARTITION BY __ce_partition) AS __ce_peak
    FROM __ce_neighbors
  ),
  __ce_thresholds AS (
    SELECT
      *,
      MAX(CASE
        WHEN __ce_k <> __ce_peak THEN NULL
        WHEN lower(rule) IN ('firstsemax', 'globalsemax')
        THEN __ce_gap - se_factor * __ce_gap_se
        ELSE __ce_gap
      END) OVER (PARTITION BY __ce_partition) AS __ce_threshold
    FROM __ce_peaks
  ),
  __ce_choices AS (
    SELECT
      *,
      MIN(CASE
        WHEN lower(rule) = 'tibs2001semax' THEN __ce_peak
        WHEN __ce_gap >= __ce_threshold THEN __ce_k
      END) OVER (PARTITION BY __ce_partition) AS __ce_choice
    FROM __ce_thresholds
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_k AS k,
    __ce_log_ssw AS log_ssw,
    __ce_mean AS expected_log_ssw,
    __ce_gap AS gap,
    __ce_gap_se AS gap_se,
    CASE WHEN __ce_complete THEN __ce_k = __ce_choice END AS is_choice
  FROM __ce_choices
  WHERE clustereval._check_options(clustereval._valid_gap_options(rule, se_factor))
    AND (SELECT MIN(__ce_valid) FROM __ce_checked)
  ORDER BY __ce_partition ASC NULLS LAST, __ce_k ASC NULLS LAST;
