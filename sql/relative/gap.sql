-- gap: the gap statistic, from elbow tables of the data and of reference points without clusters.

---------------------------------------------------------------------------------------------------
-- Reference points
---------------------------------------------------------------------------------------------------

-- Text for _check_options, or the error of an option of uniform_reference.
CREATE OR REPLACE MACRO clustereval._valid_reference_options(n_sets, method, random_state) AS
  CASE
    WHEN NOT clustereval._is_whole_number(n_sets, 1)
    THEN error(concat(
      'n_sets: expected a whole number >= 1, got ', clustereval._show_value(n_sets)
    ))
    WHEN coalesce(method, '') NOT IN ('box', 'pca')
    THEN error(concat(
      'method: expected one of ''box'', ''pca'', got ', clustereval._quote_value(method)
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
    ELSE 'SELECT TRUE AS valid'
  END;

-- One step of _scramble for a list x of UBIGINTs below 2^32. Each number becomes (number xor number
-- / divisor) times factor, modulo 2^32. divisor and factor are UBIGINTs below 2^32, so that no
-- product overflows.
CREATE OR REPLACE MACRO clustereval._scramble_step(x, divisor, factor) AS
  list_transform(
    x, lambda __ce_v: (xor(__ce_v, __ce_v // divisor) * factor) % CAST(4294967296 AS UBIGINT)
  );
-- List of pseudorandom UBIGINTs below 2^32, one for each number in the list x: Wellons' permutation
-- lowbias32 of the numbers of 32 bits. The sample keys of silhouette_score would repeat after 2^31
-- numbers, and all sets together may need more numbers.
CREATE OR REPLACE MACRO clustereval._scramble(x) AS
  clustereval._scramble_step(
    clustereval._scramble_step(
      clustereval._scramble_step(x, CAST(65536 AS UBIGINT), CAST(2146121005 AS UBIGINT)),
      CAST(32768 AS UBIGINT), CAST(2221713035 AS UBIGINT)
    ),
    CAST(65536 AS UBIGINT), CAST(1 AS UBIGINT)
  );

-- List of pseudorandom UBIGINTs below 2^32, one per coordinate of a reference set, that make the
-- numbers of coordinates and sets independent of each other.
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

-- List of DOUBLEs strictly between 0 and 1, one for each of stream_keys, for a point whose number
-- is scrambled_id after _scramble. Because numbers are scrambled before and after the xor,
-- different streams do not share runs of numbers.
CREATE OR REPLACE MACRO clustereval._uniform_numbers(stream_keys, scrambled_id) AS
  list_transform(
    clustereval._scramble(
      list_transform(stream_keys, lambda __ce_key: xor(__ce_key, scrambled_id))
    ),
    lambda __ce_v: (CAST(__ce_v AS DOUBLE) + 0.5) / 4294967296.0
  );

-- One row per partition: its points n, dimensions dims, and low and high, the lists of the least
-- and largest values of its coordinates. Raises the error of vectors that are not finite, or of
-- different lengths. rows: rows of _points with one cluster.
CREATE OR REPLACE MACRO clustereval._bounding_boxes(rows, arguments) AS TABLE
  WITH moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(rows, 'mean')),
  alarms AS (
    SELECT COUNT(*) AS n_alarms
    FROM query_table(rows) AS point
    CROSS JOIN (SELECT COALESCE(MAX(i), 0) AS dims FROM moments) AS longest
    WHERE point.kept
      AND NOT COALESCE(
        isfinite(list_sum(point.vector))
          AND list_count(point.vector) = longest.dims
          AND len(point.vector) = longest.dims,
        FALSE
      )
    UNION ALL
    SELECT COUNT(*) FROM moments WHERE NOT isfinite(high - low)
  ),
  suspects AS (
    SELECT point.vector, point.partition_key
    FROM query_table(rows) AS point
    JOIN (SELECT MAX(n_alarms) AS n_alarms FROM alarms) AS alarm ON alarm.n_alarms > 0
    WHERE point.kept
  ),
  -- If the points differ in length, the moments may lack coordinates.
  faults AS (
    SELECT
      longest.dims, suspect.vector, suspect.partition_key,
      NULL AS id,
      clustereval._point_fault(suspect.vector, longest.dims) AS fault
    FROM suspects AS suspect
    CROSS JOIN (SELECT MAX(len(vector)) AS dims FROM suspects) AS longest
  ),
  checked AS (
    SELECT CAST(
      clustereval._point_fault_error(fault, dims, n_faulty, names, details) AS BOOLEAN
    ) AS valid
    FROM clustereval._first_point_fault(faults, arguments)
  )
  SELECT
    partition_key,
    CAST(MAX(n) AS BIGINT) AS n,
    COUNT(*) AS dims,
    list(low ORDER BY i ASC NULLS LAST) AS low,
    list(high ORDER BY i ASC NULLS LAST) AS high
  FROM moments
  WHERE COALESCE((SELECT MIN(valid) FROM checked), TRUE)
  GROUP BY partition_key;

-- Points without clusters, the reference of the gap statistic. For each partition and reference
-- set, there are as many points as the partition has, uniform in the box that its points span.
-- Examples:
--   FROM clustereval.uniform_reference(points, [x, y, z], n_sets := 2);
CREATE OR REPLACE MACRO clustereval.uniform_reference(
  tbl, vector, n_sets := 10, method := 'box', random_state := 0, partition_by := NULL,
  missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, 1, partition_by, NULL)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, 1, 'euclidean', 2, NULL, partition_by, NULL, 'cluster', missing
    )
  ),
  __ce_sets AS (
    SELECT
      box.*, numbered.set,
      clustereval._stream_keys(random_state, numbered.set, box.dims) AS stream_keys
    FROM clustereval._bounding_boxes(__ce_rows, __ce_arguments) AS box
    CROSS JOIN (SELECT unnest(range(1, CAST(n_sets AS BIGINT) + 1)) AS set) AS numbered
  ),
  -- This is a separate CTE, because the id would otherwise be scrambled once per coordinate.
  __ce_ids AS (
    SELECT
      drawn.partition_key, drawn.set, drawn.low, drawn.high, drawn.stream_keys, place.id,
      clustereval._scramble([CAST(place.id % 4294967296 AS UBIGINT)])[1]
        AS scrambled_id
    FROM __ce_sets AS drawn, LATERAL range(drawn.n) AS place (id)
  )
  SELECT
    partition_key,
    set AS reference_set,
    id,
    list_transform(
      clustereval._uniform_numbers(stream_keys, scrambled_id),
      lambda u, i: clustereval._clamp(low[i] + (high[i] - low[i]) * u, low[i], high[i])
    ) AS point
  FROM __ce_ids
  WHERE clustereval._check_options(clustereval._valid_missing(
    missing, clustereval._valid_reference_options(n_sets, method, random_state)
  ))
  ORDER BY partition_key ASC NULLS LAST, set ASC NULLS LAST, id ASC NULLS LAST;

---------------------------------------------------------------------------------------------------
-- Gap statistic
---------------------------------------------------------------------------------------------------

-- Text for _check_options, or the error of an option of gap_statistic.
CREATE OR REPLACE MACRO clustereval._valid_gap_options(rule, se_factor) AS
  CASE
    WHEN coalesce(lower(rule), '') NOT IN (
      'firstsemax', 'tibs2001semax', 'globalsemax', 'firstmax', 'globalmax'
    )
    THEN error(concat(
      'rule: expected one of ''firstSEmax'', ''Tibs2001SEmax'', ''globalSEmax'', ''firstmax'', ',
      '''globalmax'', got ', clustereval._quote_value(rule)
    ))
    WHEN NOT coalesce(se_factor >= 0 AND se_factor < 1e150, FALSE)
    THEN error(concat(
      'se_factor: expected a number >= 0, got ', clustereval._show_value(se_factor)
    ))
    ELSE 'SELECT TRUE AS valid'
  END;

-- x, the user's argument of `parameter`. Raises an error if it is a string literal. The check runs
-- on rows, so that its error comes before the errors for other columns.
CREATE OR REPLACE MACRO clustereval._reject_quoted(x, parameter) AS
  CASE
    WHEN starts_with(concat('', alias(x)), '''')
    THEN error(concat(
      parameter, ': expected a column, got the quoted string ', alias(x),
      '; write it without quotes'
    ))
    ELSE x
  END;

-- One row per row of an elbow table: partition_key, k, set, and log_ssw, NULL if ssw is 0. Raises
-- an error if two rows of a partition and set have the same k, with sweep as the word for a
-- clustering and remedy as what tells them apart, or if k is NULL.
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
    __ce_partition AS partition_key,
    __ce_set AS set,
    CASE
      WHEN __ce_rows_of_k > 1
      THEN CAST(error(concat(
        'k: expected one row for each k of ', sweep, ', got ', __ce_rows_of_k, ' rows with ',
        __ce_k, '; ', remedy
      )) AS BIGINT)
      ELSE __ce_k
    END AS k,
    CASE WHEN __ce_ssw > 0 THEN ln(__ce_ssw) END AS log_ssw
  FROM __ce_counted;

-- One row with __ce_valid TRUE. Raises an error for a quoted string, even without rows.
CREATE OR REPLACE MACRO clustereval._check_table_column(tbl, parameter, given) AS TABLE
  SELECT clustereval._check_column(TRUE, parameter, given) AS __ce_valid
  FROM query_table(clustereval._check_table_name(tbl))
  WHERE FALSE
  HAVING TRUE;

-- One row per partition and k of the reference: n_sets (its sets), n_sets_of_k (those that have
-- this k), and the mean and the standard deviation, with 1/B, of their log_ssw (mean, sd), NULL if
-- a log_ssw is NULL.
CREATE OR REPLACE MACRO clustereval._expected_logs(reference) AS TABLE
  WITH sets AS (
    SELECT partition_key, set
    FROM query_table(reference)
    GROUP BY partition_key, set
  ),
  set_counts AS (SELECT partition_key, COUNT(*) AS n_sets FROM sets GROUP BY partition_key),
  deviations AS (
    SELECT
      *,
      SUM(log_ssw) OVER by_k / COUNT(log_ssw) OVER by_k AS mean
    FROM query_table(reference)
    WINDOW by_k AS (PARTITION BY partition_key, k)
  ),
  logs AS (
    SELECT
      partition_key, k,
      COUNT(*) AS n_sets_of_k,
      CASE WHEN COUNT(log_ssw) = COUNT(*) THEN MAX(mean) END AS mean,
      CASE
        WHEN COUNT(log_ssw) = COUNT(*)
        THEN sqrt(clustereval._compensated_sum(pow(log_ssw - mean, 2)) / COUNT(*))
      END AS sd
    FROM deviations
    GROUP BY partition_key, k
  )
  SELECT logs.*, counts.n_sets
  FROM logs
  JOIN set_counts AS counts ON counts.partition_key IS NOT DISTINCT FROM logs.partition_key;

-- One row per row of observed with the columns of _expected_logs of its partition and k. Raises an
-- error unless both have the same partitions and the same k, every reference set has every k, and
-- every partition has at least two reference sets.
CREATE OR REPLACE MACRO clustereval._matched_sweeps(observed, reference) AS TABLE
  WITH pairs AS (
    SELECT
      own.partition_key, own.k, own.log_ssw,
      expected.k AS expected_k, expected.n_sets, expected.n_sets_of_k,
      expected.mean, expected.sd
    FROM query_table(observed) AS own
    FULL JOIN clustereval._expected_logs(reference) AS expected
      ON expected.partition_key IS NOT DISTINCT FROM own.partition_key
      AND expected.k = own.k
  ),
  faults AS (
    SELECT
      CASE
        WHEN expected_k IS NULL
        THEN {
          'rank': 1, 'k': k,
          'what': concat(
            'k: expected the same values in both tables, got ', k, ' in the first only'
          )
        }
        WHEN k IS NULL
        THEN {
          'rank': 2, 'k': expected_k,
          'what': concat(
            'k: expected the same values in both tables, got ', expected_k,
            ' in the reference only'
          )
        }
        WHEN n_sets < 2
        THEN {
          'rank': 3, 'k': k,
          'what': concat('reference_set: expected at least 2 reference sets, got ', n_sets)
        }
        WHEN n_sets_of_k < n_sets
        THEN {
          'rank': 4, 'k': k,
          'what': concat(
            'k: expected every value in every reference set, got ', k, ' in ',
            n_sets_of_k, ' of ', n_sets, ' sets'
          )
        }
      END AS fault
    FROM pairs
  ),
  checked AS (
    SELECT CAST(error(MIN(fault)['what']) AS BOOLEAN) AS valid
    FROM faults
    HAVING COUNT(fault) > 0
  )
  SELECT *
  FROM pairs
  WHERE COALESCE((SELECT MIN(valid) FROM checked), TRUE);

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
  gaps AS (
    SELECT
      *,
      mean - log_ssw AS gap,
      sd * sqrt(1 + clustereval._ratio(1, n_sets)) AS gap_se
    FROM clustereval._matched_sweeps(__ce_observed, __ce_reference)
  ),
  neighbors AS (
    SELECT
      *,
      LEAD(gap) OVER (PARTITION BY partition_key ORDER BY k ASC NULLS LAST) AS next_gap,
      LEAD(gap_se) OVER (PARTITION BY partition_key ORDER BY k ASC NULLS LAST) AS next_se,
      MAX(gap) OVER (PARTITION BY partition_key) AS most_gap,
      COUNT(*) OVER (PARTITION BY partition_key)
        = COUNT(gap) OVER (PARTITION BY partition_key) AS complete
    FROM gaps
  ),
  -- The peak is the first local maximum or the global maximum, or, for Tibshirani's rule, the
  -- choice of that rule.
  peaks AS (
    SELECT
      *,
      MIN(CASE
        WHEN CASE
          WHEN lower(rule) IN ('globalmax', 'globalsemax') THEN gap = most_gap
          WHEN lower(rule) = 'tibs2001semax'
          THEN COALESCE(gap >= next_gap - se_factor * next_se, TRUE)
          ELSE COALESCE(gap >= next_gap, TRUE)
        END
        THEN k
      END) OVER (PARTITION BY partition_key) AS peak
    FROM neighbors
  ),
  thresholds AS (
    SELECT
      *,
      MAX(CASE
        WHEN k <> peak THEN NULL
        WHEN lower(rule) IN ('firstsemax', 'globalsemax')
        THEN gap - se_factor * gap_se
        ELSE gap
      END) OVER (PARTITION BY partition_key) AS threshold
    FROM peaks
  ),
  choices AS (
    SELECT
      *,
      MIN(CASE
        WHEN lower(rule) = 'tibs2001semax' THEN peak
        WHEN gap >= threshold THEN k
      END) OVER (PARTITION BY partition_key) AS choice
    FROM thresholds
  )
  SELECT
    partition_key,
    k,
    log_ssw,
    mean AS expected_log_ssw,
    gap,
    gap_se,
    CASE WHEN complete THEN k = choice END AS is_choice
  FROM choices
  WHERE clustereval._check_options(clustereval._valid_gap_options(rule, se_factor))
    AND (SELECT MIN(__ce_valid) FROM __ce_checked)
  ORDER BY partition_key ASC NULLS LAST, k ASC NULLS LAST;
