-- vectors: vectors from columns, from text, and as profiles of nominal values.

---------------------------------------------------------------------------------------------------
-- Checks
---------------------------------------------------------------------------------------------------

-- TRUE if type_name, the result of typeof(), is a list or array of numbers, such as DOUBLE[] or
-- FLOAT[3]. "NULL"[] is the type of [NULL].
CREATE OR REPLACE MACRO clustereval._is_vector_type(type_name) AS
  regexp_matches(
    type_name,
    '^(U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|"NULL")\[\d*\]$'
  );

-- x, unchanged. Raises an error unless the column vector has lists or arrays of numbers. The macro
-- is an aggregate, for use after HAVING, where it also checks a table without rows.
CREATE OR REPLACE MACRO clustereval._check_vector_type(x, vector) AS
  CASE
    WHEN NOT clustereval._is_vector_type(typeof(any_value(vector)))
    THEN error(concat(
      'vector: expected a list or array of numbers, such as [x, y, z], got ',
      typeof(any_value(vector)),
      CASE
        WHEN typeof(any_value(vector)) = 'VARCHAR' THEN '; parse_vector makes one from text'
        ELSE ''
      END
    ))
    ELSE x
  END;

---------------------------------------------------------------------------------------------------
-- Vectors as text
---------------------------------------------------------------------------------------------------

-- TRUE if the text vec has the form of a dense vector ('0.1 0.2', '[0.1, 0.2]') or of a sparse
-- vector ('0:1 2:3', '$4$0:1 2:3'). Lengths and indices have at most 9 digits.
CREATE OR REPLACE MACRO clustereval._is_vector_text(vec) AS
  regexp_full_match(vec, replace(replace(
    concat(
      '(?i)_*(N(_+N)*_*)?|_*\[_*(N(_+N)*_*)?\]_*|',
      '_*(\$[0-9]{1,9}\$_*)?(-?[0-9]{1,9}:N(_+-?[0-9]{1,9}:N)*_*)?'
    ),
    '_', '[ ,\t\r\n]'
  ), 'N', '[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)'));

-- The length that the sparse vector in the text vec states in front ($4$), NULL if it states none.
CREATE OR REPLACE MACRO clustereval._stated_length(vec) AS
  CAST(nullif(regexp_extract(vec, '\$([0-9]+)\$', 1), '') AS BIGINT);

-- The largest length that a text may state without size. There is a limit because ten characters
-- can state a length that fills the memory.
CREATE OR REPLACE MACRO clustereval._max_stated_length() AS 1048576;

-- List of all numbers in vec, the text of a vector, except its length: the coordinates of a dense
-- vector, or the indices and coordinates of a sparse one in turn.
CREATE OR REPLACE MACRO clustereval._text_numbers(vec) AS
  CAST(regexp_extract_all(regexp_replace(vec, '\$[0-9]+\$', ''), '[^\[\] ,:\t\r\n]+') AS DOUBLE[]);

-- Raises the error of parse_vector for the text vec. `expected` says what was expected, and
-- `advice` what to do. The error quotes up to 100 characters of vec, because its start identifies
-- the row.
CREATE OR REPLACE MACRO clustereval._text_error(vec, expected, advice) AS
  error(concat(
    'parse_vector: expected ', expected, ', got ''', left(vec, 100),
    CASE WHEN length(vec) > 100 THEN '...' ELSE '' END, '''', advice
  ));

-- x, unchanged. Raises the error of parse_vector for the text vec if dims, the length of the vector
-- in it, is not size; not if either is NULL.
CREATE OR REPLACE MACRO clustereval._check_length(x, vec, dims, size) AS
  CASE
    WHEN dims <> size
    THEN clustereval._text_error(
      vec, concat('a vector of length ', size), '; leave out size where every vector has its own'
    )
    ELSE x
  END;

-- List of the pairs (index, coordinate) of a sparse vector, sorted by index. `numbers` is the list
-- of its indices and coordinates in turn. The lists are zipped for the lambdas that read the
-- result, because a lambda that reads a second list copies that list for every element.
CREATE OR REPLACE MACRO clustereval._sparse_entries(numbers) AS
  list_sort(list_zip(CAST(numbers[1:-1:2] AS BIGINT[]), numbers[2:-1:2]), 'ASC', 'NULLS LAST');

-- List of the indices of `entries`, a list of pairs (index, coordinate).
CREATE OR REPLACE MACRO clustereval._entry_indices(entries) AS
  list_transform(entries, lambda __ce_entry: __ce_entry[1]);

-- The dense vector of length dims with the coordinates of `entries` (_sparse_entries), and 0
-- elsewhere. Each coordinate is put after the zeros between it and the previous coordinate.
CREATE OR REPLACE MACRO clustereval._fill_entries(entries, dims) AS
  list_resize(flatten(list_transform(
    list_zip(
      entries, list_prepend(CAST(-1 AS BIGINT), clustereval._entry_indices(entries)[:-2]), TRUE
    ),
    lambda __ce_entry: list_append(
      list_resize(CAST([] AS DOUBLE[]), __ce_entry[1][1] - __ce_entry[2] - 1, 0.0), __ce_entry[1][2]
    )
  )), dims, 0.0);

-- _fill_entries of the entries in the sparse text vec. Raises the error of parse_vector if dims is
-- NULL, or an index is negative, not below dims or repeated.
CREATE OR REPLACE MACRO clustereval._fill_checked_entries(entries, vec, dims) AS
  CASE
    WHEN dims IS NULL
    THEN clustereval._text_error(
      vec, 'a sparse vector with its length, such as ''$4$0:1 2:3''', '; or give size'
    )
    WHEN entries[1][1] < 0 OR entries[-1][1] >= dims
    THEN clustereval._text_error(vec, concat('indices >= 0 and < ', dims), '; the first index is 0')
    WHEN list_unique(clustereval._entry_indices(entries)) < len(entries)
    THEN clustereval._text_error(vec, 'each index once', '; leave out all but one')
    ELSE clustereval._fill_entries(entries, dims)
  END;

-- The dense vector of length dims from vec, the text of a sparse vector. list_transform([x], lambda
-- y: ...)[1] gives x a name, so that it is computed once.
CREATE OR REPLACE MACRO clustereval._parse_sparse_text(vec, dims) AS
  list_transform(
    [clustereval._sparse_entries(clustereval._text_numbers(vec))],
    lambda __ce_entries: clustereval._fill_checked_entries(__ce_entries, vec, dims)
  )[1];

-- The vector in vec, the text of a dense vector.
CREATE OR REPLACE MACRO clustereval._parse_dense_text(vec, size) AS
  list_transform(
    [clustereval._text_numbers(vec)],
    lambda __ce_vector: clustereval._check_length(__ce_vector, vec, len(__ce_vector), size)
  )[1];

-- The vector (DOUBLE[]) in the text vec, dense or sparse, or NULL for NULL. This is the result of
-- parse_vector. size is the length that vectors must have, NULL for any. Raises an error for an
-- invalid size, a text that is not a vector, or a vector of another length.
CREATE OR REPLACE MACRO clustereval._parse_text(vec, size) AS
  CASE
    WHEN size IS NOT NULL AND NOT coalesce(size >= 1 AND size < 1e9 AND size = floor(size), FALSE)
    THEN error(concat('size: expected a whole number >= 1, got ', size))
    WHEN vec IS NULL THEN NULL
    WHEN NOT clustereval._is_vector_text(vec)
    THEN clustereval._text_error(
      vec, 'numbers such as ''0.1 0.2'', ''[0.1, 0.2]'' or ''0:1 2:3''', ''
    )
    WHEN size IS NULL AND clustereval._stated_length(vec) > clustereval._max_stated_length()
    THEN clustereval._text_error(
      vec, concat('a length <= ', clustereval._max_stated_length()),
      '; give size for longer vectors'
    )
    -- A sparse vector has index:number, or a length in front ($4$).
    WHEN regexp_matches(vec, '[:$]')
    THEN clustereval._check_length(
      clustereval._parse_sparse_text(
        vec, coalesce(clustereval._stated_length(vec), CAST(size AS BIGINT))
      ),
      vec, clustereval._stated_length(vec), size
    )
    ELSE clustereval._parse_dense_text(vec, size)
  END;

-- The vector (DOUBLE[]) that a text holds, dense or sparse; size is the length it must have.
-- Examples:
--   SELECT clustereval.parse_vector('0.1, 0.2');
--   SELECT clustereval.parse_vector('[0.1, 0.2]');
--   SELECT clustereval.parse_vector('$4$0:1 2:3');
--   SELECT clustereval.parse_vector('0:1 2:3', size := 4);
CREATE OR REPLACE MACRO clustereval.parse_vector(vec, size := NULL) AS
  clustereval._parse_text(CAST(vec AS VARCHAR), size);
COMMENT ON MACRO clustereval.parse_vector IS
'A vector (DOUBLE[]) from text: numbers between spaces or commas, also in brackets, or a sparse '
'vector of index:number, the first index 0, with its length in front as in ''$4$0:1 2:3'' or else '
'given by size, as lengths above 2^20 must be. NULL for NULL, an empty vector for an empty text; '
'text that is no vector, or not one of length size, is an error. Source: Alink, VectorUtil.';

---------------------------------------------------------------------------------------------------
-- Nominal attributes
---------------------------------------------------------------------------------------------------

-- The name of a column as a quoted SQL identifier.
CREATE OR REPLACE MACRO clustereval._quote_identifier(name) AS
  concat('"', replace(name, '"', '""'), '"');

-- The argument `columns`, one name or a list of names, as a list of names; NULL if it is something
-- else.
CREATE OR REPLACE MACRO clustereval._column_names(columns) AS
  CASE
    WHEN typeof(columns) = 'VARCHAR' THEN [CAST(columns AS VARCHAR)]
    ELSE TRY_CAST(columns AS VARCHAR[])
  END;

-- x, unchanged. Raises an error if `names`, the list of columns, is NULL, has no names or a NULL,
-- or has a name twice, in any letter case.
CREATE OR REPLACE MACRO clustereval._check_names(x, names) AS
  CASE
    WHEN coalesce(len(names), 0) = 0 OR list_count(names) < len(names)
    THEN error(concat(
      'columns: expected names of columns, such as [''color''], got ',
      coalesce(CAST(names AS VARCHAR), 'NULL')
    ))
    WHEN list_unique(list_transform(names, lambda __ce_name: lower(__ce_name))) < len(names)
    THEN error(concat('columns: ''', list_filter(
      names,
      lambda __ce_name, __ce_i: list_contains(
        list_transform(names[:__ce_i - 1], lambda __ce_earlier: lower(__ce_earlier)),
        lower(__ce_name)
      )
    )[1], ''' is given twice'))
    ELSE x
  END;

-- Text of the query that returns `names`, a list of columns, as one list (names). In the
-- argument of query() names need no quotes ([color] as ['color']); this query returns them as
-- values. Raises an error for bad names.
CREATE OR REPLACE MACRO clustereval._names_query(names) AS
  clustereval._check_names(concat(
    'SELECT [',
    list_aggregate(list_transform(
      names, lambda __ce_name: concat('''', replace(__ce_name, '''', ''''''), '''')
    ), 'string_agg', ', '),
    '] AS __ce_names'
  ), names);

-- Text of the query that reads the rows of the user's table (the caller's CTE __ce_input_rows),
-- with a NULL column for each of `names` that the table does not have. This way, _check_known_names
-- reports the missing column, and not the binder. Raises an error for invalid names.
CREATE OR REPLACE MACRO clustereval._named_rows_query(names) AS
  clustereval._check_names(concat(
    'SELECT * FROM __ce_input_rows UNION ALL BY NAME SELECT ',
    list_aggregate(list_transform(
      names, lambda __ce_name: concat('NULL AS ', clustereval._quote_identifier(__ce_name))
    ), 'string_agg', ', '),
    ' WHERE FALSE'
  ), names);

-- Text of the query that returns the rows of rows, a CTE of vdm_encode, with the profile of each
-- column NAME in `names` as NAME_vdm. The profile of a value is the list of the shares of the
-- classes (label), in sorted order, among the rows that have the value. Columns may have any type,
-- so each column has its own CTEs. A profile is built by putting each share after the zeros of the
-- classes that its value does not have. Functions in the text have the qualified names that
-- bundle() of the Python package writes in other places, since a user's macro of the same name
-- would otherwise replace them.
CREATE OR REPLACE MACRO clustereval._vdm_query(names) AS
  clustereval._check_names(concat(
    'WITH ',
    list_aggregate(list_transform(
      names,
      lambda __ce_name, __ce_i: format(
        '__ce_cells_{0} AS (
          SELECT
            __ce_partition,
            __ce_label,
            {1} AS __ce_value,
            system.main.COUNT(*) AS __ce_n,
            system.main.dense_rank() OVER (
              PARTITION BY __ce_partition ORDER BY __ce_label ASC NULLS LAST
            ) AS __ce_rank
          FROM __ce_rows
          WHERE __ce_label IS NOT NULL
          GROUP BY __ce_partition, __ce_label, {1}
        ),
        __ce_shares_{0} AS (
          SELECT
            __ce_partition,
            __ce_value,
            __ce_rank,
            __ce_rank - 1 - system.main.lag(__ce_rank, 1, 0) OVER (
              PARTITION BY __ce_partition, __ce_value ORDER BY __ce_rank ASC NULLS LAST
            ) AS __ce_n_zeros,
            CAST(__ce_n AS DOUBLE) / system.main.SUM(__ce_n) OVER (
              PARTITION BY __ce_partition, __ce_value
            ) AS __ce_share,
            system.main.MAX(__ce_rank) OVER (PARTITION BY __ce_partition) AS __ce_n_classes
          FROM __ce_cells_{0}
        ),
        __ce_profiles_{0} AS (
          SELECT
            __ce_partition,
            __ce_value,
            system.main.list_resize(
              system.main.flatten(system.main.list(
                system.main.list_append(
                  system.main.list_resize(CAST([] AS DOUBLE[]), __ce_n_zeros, 0.0), __ce_share
                ) ORDER BY __ce_rank ASC NULLS LAST
              )),
              system.main.MAX(__ce_n_classes), 0.0
            ) AS __ce_profile
          FROM __ce_shares_{0}
          GROUP BY __ce_partition, __ce_value
        )',
        __ce_i, clustereval._quote_identifier(__ce_name)
      )
    ), 'string_agg', ', '),
    ' SELECT __ce_rows.* EXCLUDE (__ce_partition, __ce_label)',
    list_aggregate(list_transform(
      names,
      lambda __ce_name, __ce_i: format(
        ', __ce_profiles_{0}.__ce_profile AS {1}',
        __ce_i, clustereval._quote_identifier(concat(__ce_name, '_vdm'))
      )
    ), 'string_agg', ''),
    ' FROM __ce_rows',
    list_aggregate(list_transform(
      names,
      lambda __ce_name, __ce_i: format(
        ' LEFT JOIN __ce_profiles_{0}
          ON __ce_profiles_{0}.__ce_partition IS NOT DISTINCT FROM __ce_rows.__ce_partition
          AND __ce_profiles_{0}.__ce_value IS NOT DISTINCT FROM __ce_rows.{1}',
        __ce_i, clustereval._quote_identifier(__ce_name)
      )
    ), 'string_agg', '')
  ), names);

-- The name among `names` that is most similar to the name `unknown`, for the hint in an error; NULL
-- if no name is similar.
CREATE OR REPLACE MACRO clustereval._closest_name(unknown, names) AS
  list_filter(
    list_sort(list_transform(
      names,
      lambda __ce_candidate: {
        'edits': CAST(levenshtein(lower(unknown), lower(__ce_candidate)) AS DOUBLE)
          / greatest(len(unknown), len(__ce_candidate)),
        'name': __ce_candidate
      }
    ), 'ASC', 'NULLS LAST'),
    lambda __ce_candidate: __ce_candidate['edits'] <= 0.4
  )[1]['name'];

-- TRUE if `name` is in table_columns, the names of the columns of a table, in any letter case.
CREATE OR REPLACE MACRO clustereval._has_column(table_columns, name) AS
  list_contains(
    list_transform(table_columns, lambda __ce_column: lower(__ce_column)), lower(name)
  );

-- TRUE. Raises an error if one of `names` is not in table_columns, the names of the columns of the
-- table.
CREATE OR REPLACE MACRO clustereval._check_known_names(names, table_columns) AS
  list_bool_and(list_transform(
    names,
    lambda __ce_name: CASE
      WHEN NOT clustereval._has_column(table_columns, __ce_name)
      THEN error(concat(
        'columns: column ''', __ce_name, ''' not found;',
        coalesce(
          ' did you mean ''' || clustereval._closest_name(__ce_name, table_columns) || '''?', ''
        ),
        ' columns: ', list_aggregate(table_columns, 'string_agg', ', ')
      ))
      ELSE TRUE
    END
  ));

-- TRUE. Raises an error if one of `names`, the columns to encode, is not in table_columns, the
-- names of all columns of the table, or if the new column NAME_vdm is there already.
CREATE OR REPLACE MACRO clustereval._check_nominal_columns(names, table_columns) AS
  clustereval._check_known_names(names, table_columns) AND list_bool_and(list_transform(
    names,
    lambda __ce_name: CASE
      WHEN clustereval._has_column(table_columns, concat(__ce_name, '_vdm'))
      THEN error(concat(
        'columns: ''', __ce_name, '_vdm'' is also a column of the table; rename it first'
      ))
      ELSE TRUE
    END
  ));

-- The rows of the table tbl, with the profile of each nominal column in columns, as NAME_vdm: the
-- list of P(class | value) over the classes in the column label.
-- Examples:
--   FROM clustereval.vdm_encode(assignments, [species], cluster);
--   FROM clustereval.vdm_encode(assignments, ['species', 'n'], cluster);
CREATE OR REPLACE MACRO clustereval.vdm_encode(tbl, columns, label, partition_by := NULL) AS TABLE
  WITH __ce_input_rows AS NOT MATERIALIZED (
    SELECT *, label AS __ce_label, partition_by AS __ce_partition
    FROM query_table(tbl)
  ),
  __ce_table_columns AS (
    SELECT list(column_name) AS __ce_columns
    FROM (DESCRIBE FROM __ce_input_rows)
    WHERE column_name NOT IN ('__ce_label', '__ce_partition')
  ),
  __ce_checked_columns AS (
    SELECT COUNT(*) AS __ce_no_rows
    FROM __ce_input_rows
    WHERE FALSE
    HAVING clustereval._check_columns(
      TRUE,
      [
        clustereval._given_column('label', label),
        clustereval._given_column('partition_by', partition_by)
      ]
    )
  ),
  __ce_checked_names AS (
    SELECT clustereval._check_nominal_columns(__ce_names, __ce_columns) AS __ce_valid
    FROM query(clustereval._names_query(clustereval._column_names(columns))), __ce_table_columns
  ),
  __ce_rows AS NOT MATERIALIZED (
    FROM query(clustereval._named_rows_query(clustereval._column_names(columns)))
  )
  SELECT *
  FROM query(clustereval._vdm_query(clustereval._column_names(columns)))
  WHERE (SELECT __ce_valid FROM __ce_checked_names)
    AND (SELECT __ce_no_rows FROM __ce_checked_columns) = 0;
