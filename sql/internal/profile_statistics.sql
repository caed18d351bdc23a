-- profile_statistics: counts, means and spreads of the values of columns of any type, by cluster.
--
--   * A value is a number (dates are days since 1970-01-01), a category (a text or a truth value),
--     or missing. A share of rows is treated as the mean of a column of zeros and ones.
--   * Numbers are read twice: for the means of clusters, and for the deviations from these.

---------------------------------------------------------------------------------------------------
-- Reading
---------------------------------------------------------------------------------------------------

-- The kind of the values of a type, the result of typeof(): 'number', 'date' or 'category'; NULL
-- for a type that has no profile.
CREATE OR REPLACE MACRO clustereval._profile_kind(type_name) AS
  CASE
    WHEN regexp_matches(type_name, clustereval._number_types()) THEN 'number'
    WHEN type_name = 'DATE' OR starts_with(type_name, 'TIMESTAMP') THEN 'date'
    WHEN type_name IN ('VARCHAR', 'BOOLEAN', 'UUID', '"NULL"') OR starts_with(type_name, 'ENUM(')
    THEN 'category'
  END;

-- Text of the query of one row that returns the types of the columns `names` of __ce_named_rows, a
-- CTE of the caller. Raises an error for bad names.
CREATE OR REPLACE MACRO clustereval._profile_types_query(names) AS
  clustereval._check_names(concat(
    'SELECT [',
    list_aggregate(list_transform(
      names,
      lambda __ce_name: format(
        'system.main.typeof(system.main.any_value({}))', clustereval._quote_identifier(__ce_name)
      )
    ), 'string_agg', ', '),
    '] AS __ce_types FROM __ce_named_rows WHERE FALSE'
  ), names);

-- Text of the query that returns the kept rows of __ce_named_rows, a CTE of the caller, with two
-- lists of the values of the columns `names`: __ce_numbers, NULL where a column has categories, and
-- __ce_texts, NULL where it has numbers. The result of typeof() is known before any row is read,
-- and therefore so is the branch of each CASE. Raises an error for invalid names.
CREATE OR REPLACE MACRO clustereval._profile_values_query(names) AS
  clustereval._check_names(concat(
    'SELECT __ce_partition, __ce_cluster, __ce_n, [',
    list_aggregate(list_transform(
      names,
      lambda __ce_name: format(
        'CASE
          WHEN system.main.regexp_matches(system.main.typeof({0}), ''{1}'')
          THEN TRY_CAST({0} AS DOUBLE)
          WHEN system.main.typeof({0}) = ''TIMESTAMP WITH TIME ZONE''
          THEN system.main.epoch_us(TRY_CAST({0} AS TIMESTAMP WITH TIME ZONE)) / 86400e6
          WHEN system.main.regexp_matches(system.main.typeof({0}), ''^(DATE|TIMESTAMP)'')
          THEN system.main.epoch_us(TRY_CAST({0} AS TIMESTAMP)) / 86400e6
        END',
        clustereval._quote_identifier(__ce_name), clustereval._number_types()
      )
    ), 'string_agg', ', '),
    '] AS __ce_numbers, [',
    list_aggregate(list_transform(
      names,
      lambda __ce_name: format(
        'CASE
          WHEN NOT system.main.regexp_matches(system.main.typeof({0}), ''{1}|^(DATE|TIMESTAMP)'')
          THEN CAST({0} AS VARCHAR)
        END',
        clustereval._quote_identifier(__ce_name), clustereval._number_types()
      )
    ), 'string_agg', ', '),
    '] AS __ce_texts FROM __ce_named_rows WHERE __ce_kept AND __ce_n > 0'
  ), names);

-- One row per column of a profile: column_no, from 1, column_name, kind, and unpartitioned, whether
-- the call has no partition_by. Raises the errors for the user's columns, even for an empty table.
CREATE OR REPLACE MACRO clustereval._profile_columns(
  tbl, columns, cluster, weight, partition_by, noise
) AS TABLE
  WITH __ce_input_rows AS NOT MATERIALIZED (
    SELECT * FROM query_table(clustereval._check_table_name(tbl))
  ),
  __ce_named_rows AS NOT MATERIALIZED (
    FROM query(clustereval._named_rows_query(clustereval._column_names(columns)))
  ),
  __ce_table_columns AS (
    SELECT list(column_name) AS __ce_columns
    FROM (DESCRIBE FROM __ce_input_rows)
  ),
  __ce_call AS (
    SELECT clustereval._is_absent(partition_by) AS __ce_unpartitioned
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_columns(
      clustereval._check_noise(TRUE, noise, cluster),
      [
        clustereval._given_column('partition_by', partition_by),
        clustereval._given_column('weight', weight),
        clustereval._given_column('cluster', cluster)
      ]
    )
  ),
  __ce_names AS (
    SELECT unnest(named.__ce_names) AS __ce_name, unnest(typed.__ce_types) AS __ce_type,
      unnest(range(1, len(named.__ce_names) + 1)) AS __ce_column_no
    FROM query(clustereval._names_query(clustereval._column_names(columns))) AS named
    CROSS JOIN query(clustereval._profile_types_query(clustereval._column_names(columns))) AS typed
    CROSS JOIN __ce_table_columns AS known
    WHERE clustereval._check_known_names(named.__ce_names, known.__ce_columns)
  )
  SELECT
    __ce_column_no AS column_no,
    __ce_name AS column_name,
    CASE
      WHEN clustereval._profile_kind(__ce_type) IS NULL
      THEN error(concat(
        'columns: expected numbers, text, truth values or dates in the column ''', __ce_name,
        ''', got a column of type ', __ce_type
      ))
      ELSE clustereval._profile_kind(__ce_type)
    END AS kind,
    __ce_unpartitioned AS unpartitioned
  FROM __ce_names
  CROSS JOIN __ce_call;

-- One row per row of the user's table tbl that is kept: partition_key, cluster, n (its weight), and
-- numbers and texts, the lists of _profile_values_query.
CREATE OR REPLACE MACRO clustereval._profile_rows(
  tbl, columns, cluster, weight, partition_by, noise, noise_as
) AS TABLE
  WITH __ce_input_rows AS NOT MATERIALIZED (
    SELECT
      *,
      partition_by AS __ce_partition,
      cluster AS __ce_cluster,
      CASE
        WHEN clustereval._is_left_out(weight) THEN 1 ELSE clustereval._check_weight(weight)
      END AS __ce_n,
      cluster IS NOT NULL
        AND NOT (coalesce(noise_as = 'drop', FALSE) AND clustereval._is_noise(cluster, noise))
        AS __ce_kept
    FROM query_table(tbl)
  ),
  __ce_named_rows AS NOT MATERIALIZED (
    FROM query(clustereval._named_rows_query(clustereval._column_names(columns)))
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_cluster AS cluster,
    __ce_n AS n,
    __ce_numbers AS numbers,
    __ce_texts AS texts
  FROM query(clustereval._profile_values_query(clustereval._column_names(columns)));

-- One row, partition_key, per partition of the user's table tbl, even if all its rows are dropped.
-- Raises an error for an invalid weight, even in a row that is dropped. Without partition_by the
-- column unpartitioned of _profile_columns produces this row, and if there are no weights either,
-- no row is read.
CREATE OR REPLACE MACRO clustereval._profile_partitions(tbl, weight, partition_by) AS TABLE
  WITH __ce_weights AS (
    SELECT
      partition_by AS __ce_partition,
      SUM(CASE
        WHEN clustereval._is_left_out(weight) THEN 0 ELSE clustereval._check_weight(weight)
      END) AS __ce_total
    FROM query_table(tbl)
    WHERE NOT (clustereval._is_left_out(weight) AND clustereval._is_left_out(partition_by))
    GROUP BY partition_by
  )
  SELECT __ce_partition AS partition_key
  FROM __ce_weights
  WHERE clustereval._check_total_weight(0, __ce_total) = 0;

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- n * all_n - all_of * cluster_n, computed exactly, so that it is 0 if the share in the cluster
-- equals the share in all rows.
CREATE OR REPLACE MACRO clustereval._share_excess(n, all_of, cluster_n, all_n) AS
  clustereval._widen(n) * clustereval._widen(all_n)
    - clustereval._widen(all_of) * clustereval._widen(cluster_n);

-- One row per cluster, column and category, where the numbers of a column are one category and its
-- missing values are another: partition_key, cluster, column_no, category, missing, and n, the
-- number of rows. For numbers there are also their sum (total), the smallest (low) and the largest
-- (high), the number of values that are not finite (n_invalid), and one of these values as text
-- (invalid). value_rows: rows of _profile_rows.
CREATE OR REPLACE MACRO clustereval._profile_cells(value_rows) AS TABLE
  WITH cell_values AS NOT MATERIALIZED (
    SELECT
      partition_key, cluster, n,
      unnest(range(1, len(numbers) + 1)) AS column_no,
      unnest(numbers) AS number,
      unnest(texts) AS category
    FROM query_table(value_rows)
  )
  SELECT
    partition_key, cluster, column_no, category,
    number IS NULL AND category IS NULL AS missing,
    CAST(SUM(n) AS BIGINT) AS n,
    clustereval._compensated_sum(n * number) AS total,
    MIN(number) AS low,
    MAX(number) AS high,
    CAST(SUM(CASE WHEN NOT isfinite(number) THEN n END) AS BIGINT) AS n_invalid,
    MIN(CASE WHEN NOT isfinite(number) THEN CAST(number AS VARCHAR) END) AS invalid
  FROM cell_values
  GROUP BY partition_key, cluster, column_no, category, missing;

-- One row per cluster and column: the columns of _profile_cells, n_missing, and center, the mean of
-- the numbers except for rounding; n excludes the missing values. cells: rows of _profile_cells.
CREATE OR REPLACE MACRO clustereval._profile_sums(cells) AS TABLE
  SELECT
    partition_key, cluster, column_no,
    CAST(SUM(CASE WHEN missing THEN 0 ELSE n END) AS BIGINT) AS n,
    CAST(SUM(CASE WHEN missing THEN n ELSE 0 END) AS BIGINT) AS n_missing,
    MAX(total) AS total,
    MIN(low) AS low,
    MAX(high) AS high,
    MAX(n_invalid) AS n_invalid,
    MAX(invalid) AS invalid,
    clustereval._clamp(
      MAX(total) / SUM(CASE WHEN NOT missing THEN n END), MIN(low), MAX(high)
    ) AS center
  FROM query_table(cells)
  GROUP BY partition_key, cluster, column_no;

-- One row per cluster and column of numbers: partition_key, cluster, column_no; shift, which is
-- added to the center of _profile_sums; and m2, the sum of squared deviations from the mean.
-- Parameters: rows of _profile_rows and _profile_sums.
CREATE OR REPLACE MACRO clustereval._profile_deviations(value_rows, sums) AS TABLE
  WITH center_lists AS (
    SELECT partition_key, cluster, list(center ORDER BY column_no ASC NULLS LAST) AS centers
    FROM query_table(sums)
    GROUP BY partition_key, cluster
  ),
  -- The weight is cast to DOUBLE before it is multiplied.
  paired_values AS NOT MATERIALIZED (
    SELECT
      own.partition_key, own.cluster,
      CAST(own.n AS DOUBLE) AS n,
      unnest(range(1, len(own.numbers) + 1)) AS column_no,
      unnest(own.numbers) AS number,
      unnest(target.centers) AS center
    FROM query_table(value_rows) AS own
    JOIN center_lists AS target
      ON target.partition_key IS NOT DISTINCT FROM own.partition_key
      AND target.cluster = own.cluster
  ),
  deviations AS NOT MATERIALIZED (
    SELECT *, number - center AS deviation
    FROM paired_values
    WHERE number IS NOT NULL
  ),
  deviation_sums AS (
    SELECT
      partition_key, cluster, column_no,
      SUM(n) AS n,
      clustereval._compensated_sum(n * deviation) AS total,
      clustereval._compensated_sum(n * (deviation * deviation)) AS squares
    FROM deviations
    GROUP BY partition_key, cluster, column_no
  )
  SELECT
    partition_key, cluster, column_no,
    total / n AS shift,
    GREATEST(squares - total * (total / n), 0.0) AS m2
  FROM deviation_sums;

-- No row. Raises an error if a number is not finite, or if the sums of a column overflow.
-- Parameters: rows of _profile_columns, _profile_sums and _profile_deviations.
CREATE OR REPLACE MACRO clustereval._check_profile(profiled_columns, sums, deviations) AS TABLE
  WITH column_faults AS (
    SELECT
      own.column_no,
      SUM(own.n_invalid) AS n_invalid,
      MIN(own.invalid) AS invalid,
      COALESCE(BOOL_OR(NOT isfinite(own.total) OR NOT isfinite(spread.m2)), FALSE) AS overflows
    FROM query_table(sums) AS own
    LEFT JOIN query_table(deviations) AS spread
      ON spread.partition_key IS NOT DISTINCT FROM own.partition_key
      AND spread.cluster = own.cluster
      AND spread.column_no = own.column_no
    GROUP BY own.column_no
  ),
  first_fault AS (
    SELECT MIN({
      'column_no': fault.column_no, 'column_name': named.column_name,
      'n_invalid': fault.n_invalid, 'invalid': fault.invalid
    }) AS fault
    FROM column_faults AS fault
    JOIN query_table(profiled_columns) AS named ON named.column_no = fault.column_no
    WHERE fault.n_invalid > 0 OR fault.overflows
  )
  SELECT CAST(CASE
    WHEN fault['n_invalid'] > 0
    THEN error(concat(
      'columns: expected finite numbers in the column ''', fault['column_name'], ''', got ',
      fault['invalid'], ' (', fault['n_invalid'], ' such ',
      CASE WHEN fault['n_invalid'] = 1 THEN 'row' ELSE 'rows' END,
      '); set them to NULL, which is a missing value'
    ))
    ELSE error(concat(
      'columns: the squares of the column ''', fault['column_name'],
      ''' overflow; scale it down'
    ))
  END AS BOOLEAN) AS valid
  FROM first_fault
  WHERE fault IS NOT NULL;

-- One row per cluster and column of numbers: its key (partition_key, cluster, column_no); n, the
-- mean, m2, and deviation, the mean of the cluster minus the origin of the column in the partition,
-- which keeps the digits of differences if points are far from 0. For all clusters together there
-- are the number of rows (all_n), the sum of squared deviations from the overall mean (all_m2), and
-- the sum of squared deviations of the cluster means from the overall mean (between_squares). For
-- the other clusters there are the mean (rest_mean) and the mean minus the origin (rest_deviation),
-- NULL if the other clusters have no rows. Parameters: rows of _profile_sums and
-- _profile_deviations.
CREATE OR REPLACE MACRO clustereval._profile_numbers(sums, deviations) AS TABLE
  WITH origins AS MATERIALIZED (
    SELECT
      partition_key, column_no,
      clustereval._clamp(
        clustereval._compensated_sum(n * center) / CAST(SUM(n) AS DOUBLE), MIN(low), MAX(high)
      ) AS origin,
      CAST(SUM(n) AS BIGINT) AS all_n,
      MIN(low) = MAX(high) AS is_constant
    FROM query_table(sums)
    GROUP BY partition_key, column_no
    HAVING SUM(n) > 0
  ),
  centered AS MATERIALIZED (
    SELECT
      own.partition_key, own.cluster, own.column_no, own.n, own.low, own.high,
      origin.all_n, origin.is_constant,
      spread.m2,
      clustereval._clamp(own.center + spread.shift, own.low, own.high) AS mean,
      (own.center - origin.origin) + spread.shift AS deviation
    FROM query_table(sums) AS own
    JOIN query_table(deviations) AS spread
      ON spread.partition_key IS NOT DISTINCT FROM own.partition_key
      AND spread.cluster = own.cluster
      AND spread.column_no = own.column_no
    JOIN origins AS origin
      ON origin.partition_key IS NOT DISTINCT FROM own.partition_key
      AND origin.column_no = own.column_no
  ),
  means AS (
    SELECT
      partition_key, column_no,
      clustereval._compensated_sum(n * deviation) / CAST(SUM(n) AS DOUBLE) AS all_deviation
    FROM centered
    GROUP BY partition_key, column_no
  ),
  squares AS (
    SELECT
      own.partition_key, own.column_no,
      CASE
        WHEN BOOL_OR(own.is_constant) THEN 0.0
        ELSE clustereval._compensated_sum(
          own.n * ((own.deviation - mean.all_deviation) * (own.deviation - mean.all_deviation))
        )
      END AS between_squares,
      clustereval._compensated_sum(own.m2) AS within_squares
    FROM centered AS own
    JOIN means AS mean
      ON mean.partition_key IS NOT DISTINCT FROM own.partition_key
      AND mean.column_no = own.column_no
    GROUP BY own.partition_key, own.column_no
  ),
  -- The clusters before and after the cluster are added up, because the difference between all
  -- clusters and this cluster would lose the digits of a small rest.
  sides AS (
    SELECT
      *,
      SUM(n * deviation) OVER before AS total_before,
      SUM(n * deviation) OVER behind AS total_behind,
      SUM(n * mean) OVER before AS sum_before,
      SUM(n * mean) OVER behind AS sum_behind,
      LEAST(MIN(low) OVER before, MIN(low) OVER behind) AS rest_low,
      GREATEST(MAX(high) OVER before, MAX(high) OVER behind) AS rest_high
    FROM centered
    WINDOW
      before AS (
        PARTITION BY partition_key, column_no ORDER BY cluster ASC NULLS LAST
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ),
      behind AS (
        PARTITION BY partition_key, column_no ORDER BY cluster ASC NULLS LAST
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
      )
  ),
  rests AS (
    SELECT
      *,
      (COALESCE(total_before, 0.0) + COALESCE(total_behind, 0.0)) / NULLIF(all_n - n, 0)
        AS rest_deviation,
      clustereval._clamp(
        (COALESCE(sum_before, 0.0) + COALESCE(sum_behind, 0.0)) / NULLIF(all_n - n, 0),
        rest_low, rest_high
      ) AS rest_mean
    FROM sides
  )
  SELECT
    own.partition_key, own.cluster, own.column_no, own.n, own.mean, own.m2, own.deviation,
    own.all_n,
    square.within_squares + square.between_squares AS all_m2,
    square.between_squares,
    own.rest_mean,
    own.rest_deviation
  FROM rests AS own
  JOIN squares AS square
    ON square.partition_key IS NOT DISTINCT FROM own.partition_key
    AND square.column_no = own.column_no;

-- One row per cluster, column and category that has rows in the cluster, or of which 5 rows or more
-- were expected there: partition_key, cluster, column_no, category and missing, which is TRUE for
-- the missing values of a column that has any; the numbers of rows with the category in the cluster
-- (n) and in all clusters (all_of); and the numbers of rows that could have it in the cluster
-- (cluster_n) and in all clusters (all_n). Parameters: rows of _profile_cells and _profile_sums.
CREATE OR REPLACE MACRO clustereval._profile_shares(cells, sums) AS TABLE
  WITH category_cells AS (
    SELECT * FROM query_table(cells) WHERE category IS NOT NULL
  ),
  bases AS (
    SELECT
      *,
      CAST(SUM(n) OVER (PARTITION BY partition_key, column_no) AS BIGINT) AS all_n,
      CAST(SUM(n_missing) OVER (PARTITION BY partition_key, column_no) AS BIGINT) AS all_missing,
      MAX(n) OVER (PARTITION BY partition_key, column_no) AS largest_n
    FROM query_table(sums)
  ),
  category_totals AS (
    SELECT partition_key, column_no, category, CAST(SUM(n) AS BIGINT) AS all_of
    FROM category_cells
    GROUP BY partition_key, column_no, category
  ),
  pairs AS (
    SELECT partition_key, cluster, column_no, category, n
    FROM category_cells
    UNION ALL
    SELECT base.partition_key, base.cluster, base.column_no, total.category, 0
    FROM category_totals AS total
    JOIN bases AS base
      ON base.partition_key IS NOT DISTINCT FROM total.partition_key
      AND base.column_no = total.column_no
    WHERE clustereval._widen(total.all_of) * clustereval._widen(base.n)
      >= 5 * clustereval._widen(base.all_n)
  ),
  counted AS (
    SELECT partition_key, cluster, column_no, category, CAST(SUM(n) AS BIGINT) AS n
    FROM pairs
    GROUP BY partition_key, cluster, column_no, category
  )
  SELECT
    own.partition_key, own.cluster, own.column_no, own.category, FALSE AS missing, own.n,
    total.all_of,
    base.n AS cluster_n,
    base.all_n
  FROM counted AS own
  JOIN category_totals AS total
    ON total.partition_key IS NOT DISTINCT FROM own.partition_key
    AND total.column_no = own.column_no
    AND total.category = own.category
  JOIN bases AS base
    ON base.partition_key IS NOT DISTINCT FROM own.partition_key
    AND base.cluster = own.cluster
    AND base.column_no = own.column_no
  UNION ALL
  SELECT
    partition_key, cluster, column_no, NULL, TRUE, n_missing, all_missing, n + n_missing,
    all_n + all_missing
  FROM bases
  WHERE all_missing > 0;

-- One row per column of categories: partition_key, column_no, the number of categories
-- (n_categories), and cramers_v of categories and clusters, NULL unless there are at least two
-- categories and two clusters. The expected number of rows in cells without rows is the remainder
-- of all rows, an exact integer that is divided late.
CREATE OR REPLACE MACRO clustereval._profile_associations(cells, sums) AS TABLE
  WITH category_cells AS (
    SELECT
      own.partition_key, own.column_no, own.category, own.n,
      SUM(own.n) OVER (PARTITION BY own.partition_key, own.column_no, own.category) AS all_of,
      base.n AS cluster_n
    FROM query_table(cells) AS own
    JOIN query_table(sums) AS base
      ON base.partition_key IS NOT DISTINCT FROM own.partition_key
      AND base.cluster = own.cluster
      AND base.column_no = own.column_no
    WHERE own.category IS NOT NULL
  ),
  totals AS (
    SELECT
      partition_key, column_no,
      CAST(SUM(n) AS BIGINT) AS all_n,
      COUNT(CASE WHEN n > 0 THEN 1 END) AS n_clusters
    FROM query_table(sums)
    GROUP BY partition_key, column_no
  ),
  category_sums AS (
    SELECT
      cell.partition_key, cell.column_no, total.all_n, total.n_clusters,
      COUNT(DISTINCT cell.category) AS n_categories,
      clustereval._compensated_sum(
        pow(
          CAST(
            clustereval._share_excess(cell.n, cell.all_of, cell.cluster_n, total.all_n) AS DOUBLE
          ) / total.all_n,
          2
        ) / (CAST(cell.all_of AS DOUBLE) * cell.cluster_n)
      ) AS phi_squared_of_cells,
      SUM(clustereval._widen(cell.all_of) * clustereval._widen(cell.cluster_n)) AS expected
    FROM category_cells AS cell
    JOIN totals AS total
      ON total.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND total.column_no = cell.column_no
    GROUP BY cell.partition_key, cell.column_no, total.all_n, total.n_clusters
  )
  SELECT
    partition_key, column_no, n_categories,
    clustereval._at_most_1(sqrt(
      (phi_squared_of_cells + clustereval._ratio(
        clustereval._widen(all_n) * clustereval._widen(all_n) - expected,
        clustereval._widen(all_n) * clustereval._widen(all_n)
      )) / NULLIF(LEAST(n_clusters, n_categories) - 1, 0)
    )) AS cramers_v
  FROM category_sums;
