-- checks: the input that the macros accept, and the errors for all other input.
--
-- Rules for all files of the SQL side:
--   * A macro's parameter replaces every unqualified column of its name inside the body, so such a
--     column is qualified. A CTE hides the user's table of the same name, and DuckDB may take an
--     alias in a SELECT for a column that the user has misspelled. Names that could collide with a
--     user's table or expression therefore start with __ce_, and the user's table is read as early
--     as possible. Table aliases are short words, and none of them is the name of a parameter.
--   * A macro whose name starts with _ is private. A _check_… macro returns its first argument or
--     raises an error; everything else in the table macros is SQL that other engines share.
--   * If a private macro reads a parameter as a table, the argument is the name of a CTE. The
--     caller builds this CTE by the macro of the same name (points by _points), or as the header
--     says.
--   * A partition consists of the rows with the same value of partition_by, or of all rows without
--     partition_by. Each partition is scored separately. Noise consists of the rows whose cluster
--     is the value `noise`.

CREATE SCHEMA IF NOT EXISTS clustereval;

-- Version of the macros in this database, as text.
-- Examples: SELECT clustereval.version();
CREATE OR REPLACE MACRO clustereval.version() AS '0.1.0';
COMMENT ON MACRO clustereval.version IS 'Version of the clustereval macros in this database.';

---------------------------------------------------------------------------------------------------
-- Errors
---------------------------------------------------------------------------------------------------

-- Raises an error that contains `message`, for a branch of a CASE in an aggregate-style macro.
-- error() cannot be used there, because DuckDB treats it as volatile, and refuses volatile
-- expressions in HAVING, in windows, and where an alias is used again. A cast that fails is not
-- volatile. An element of a list of NULL fits the type of the other branches, whatever it is.
CREATE OR REPLACE MACRO clustereval._raise(message) AS
  [NULL][CAST(CAST(message AS ENUM ('accepted argument')) AS TINYINT)];

-- x as text for an error message, 'NULL' for NULL.
CREATE OR REPLACE MACRO clustereval._show_value(x) AS coalesce(CAST(x AS VARCHAR), 'NULL');
-- x, a text, in quotes for an error message, NULL for NULL.
CREATE OR REPLACE MACRO clustereval._quote_value(x) AS coalesce('''' || x || '''', 'NULL');

-- Raises the error of a macro that only says where to find column_name, a column of the table macro
-- `report`, whose first arguments are the names `arguments`. Without such macros, which are in
-- sql/columns.sql, DuckDB would suggest a private macro of a similar name.
CREATE OR REPLACE MACRO clustereval._raise_column(column_name, report, arguments) AS
  clustereval._raise(concat(
    column_name, ' is a column of a table: SELECT ', column_name, ' FROM ', report, '(', arguments,
    '), in this schema'
  ));

-- Raises the error of a macro named by an abbreviation, `short`, of the aggregate `call`.
CREATE OR REPLACE MACRO clustereval._raise_short(short, call) AS
  clustereval._raise(concat(short, ' is short for a score: call ', call, ', in this schema'));

---------------------------------------------------------------------------------------------------
-- Columns
---------------------------------------------------------------------------------------------------

-- A column that the user names, for checks: the name of its parameter, the text of the argument,
-- and its type. `given` is the argument. alias() returns the text in any_value(). It is an
-- aggregate, for use after HAVING, where alias() is evaluated only once instead of once per row,
-- and for an empty table, too.
CREATE OR REPLACE MACRO clustereval._given_column(parameter, given) AS {
  'parameter': parameter,
  'argument': concat('', alias(any_value(given))),
  'type': typeof(any_value(given))
};

-- TRUE if `argument`, the text of an argument in any_value(), is a string literal.
CREATE OR REPLACE MACRO clustereval._is_quoted(argument) AS starts_with(argument, 'any_value(''');

-- Pattern of the names, as typeof() returns them, of the types of numbers.
CREATE OR REPLACE MACRO clustereval._number_types() AS
  '^(U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\))$';

-- What is wrong with `given`, a struct of _given_column; NULL if nothing is.
CREATE OR REPLACE MACRO clustereval._column_fault(given) AS
  CASE
    WHEN clustereval._is_quoted(given['argument'])
    THEN concat(
      given['parameter'], ': expected a column, got the quoted string ',
      regexp_extract(given['argument'], '''.*'''), '; write it without quotes'
    )
    WHEN given['parameter'] = 'cluster'
      AND regexp_matches(given['argument'], '^any_value\((main\.)?list_value\(')
    THEN concat(
      'cluster: expected one column, got a list; compare_clusterings(tbl, [a, b], label) compares ',
      'several clusterings'
    )
    WHEN given['parameter'] = 'clusters'
      AND regexp_matches(given['argument'], '^any_value\((main\.)?list_value\(''')
    THEN 'clusters: expected a list of columns, got quoted strings; write them without quotes'
    WHEN given['parameter'] IN ('label', 'cluster', 'cluster_1', 'cluster_2', 'reduced_cluster')
      AND regexp_full_match(given['type'], '(FLOAT|DOUBLE)\[\d*\]')
    THEN concat(
      given['parameter'], ': expected labels, got lists of floating-point numbers; vectors of ',
      'points are for the internal metrics'
    )
  END;

-- x, any value, passed through unless a check fails. Raises the error of _column_fault for the
-- first of `columns`, a list of structs of _given_column, that has one. The engine binds each copy
-- of an expression, so all columns share one. error(NULL) is NULL.
CREATE OR REPLACE MACRO clustereval._check_columns(x, columns) AS
  coalesce(
    error(list_aggregate(
      list_transform(columns, lambda __ce_given: clustereval._column_fault(__ce_given)), 'any_value'
    )),
    x
  );

-- _check_columns for one column.
CREATE OR REPLACE MACRO clustereval._check_column(x, parameter, given) AS
  clustereval._check_columns(x, [clustereval._given_column(parameter, given)]);

-- tbl, the name of the user's table or a list of names, passed through unless a name begins with
-- __ce_. Raises an error for such a name, because a CTE of the same name may hide the table. Use it
-- in query_table, where an identifier is a text, in macros that read the table after another CTE,
-- or that are called by such macros.
CREATE OR REPLACE MACRO clustereval._check_table_name(tbl) AS
  CASE
    WHEN regexp_matches(CAST(tbl AS VARCHAR), '(^|\[|, )__ce_', 'i')
    THEN error(concat(
      'table: expected a name that does not begin with __ce_, as the names inside the macros do, ',
      'got ', CAST(tbl AS VARCHAR), '; rename the table, or write its schema before the name'
    ))
    ELSE tbl
  END;

-- TRUE if the argument x of an optional parameter is its default NULL, FALSE if it is a column,
-- even one of NULLs. alias() returns the text of the argument. It is an aggregate, for use after
-- HAVING, as _given_column.
CREATE OR REPLACE MACRO clustereval._is_absent(x) AS
  concat('', alias(any_value(x))) = 'any_value(NULL)';

-- TRUE if the argument id, the user's column of row identifiers, is its default, NULL or CAST(NULL
-- AS BIGINT). The default is a BIGINT so that _row_id can cast a row number to its type.
CREATE OR REPLACE MACRO clustereval._is_default_id(id) AS
  concat('', alias(id)) IN ('NULL', 'CAST(NULL AS BIGINT)');

-- x, any value, in the type of `other`, or NULL if it cannot be converted. x is cast to text first,
-- because every type can be cast from text, while a cast between two nested types can raise an
-- error before any row is read. The cast is inside a list, where the type of an untyped NULL is
-- allowed, too.
CREATE OR REPLACE MACRO clustereval._cast_like(x, other) AS
  try(cast_to_type([CAST(x AS VARCHAR)], [other])[1]);

-- The value id of the user's column, or, without one, the row number in the type of id.
CREATE OR REPLACE MACRO clustereval._row_id(id, number, unnamed) AS
  CASE WHEN unnamed THEN clustereval._cast_like(number, id) ELSE id END;

-- The end of the error for columns that have different types in two tables. The types are given as
-- text. DuckDB compares structs by the names of their fields, and tuples by position.
CREATE OR REPLACE MACRO clustereval._type_advice(type_1, type_2) AS
  CASE
    WHEN starts_with(type_1, 'STRUCT(') AND starts_with(type_2, 'STRUCT(')
    THEN '; give their fields the same names and types, or write both as (source, id)'
    ELSE '; cast one of them'
  END;

-- The end of the error for an id that has several rows.
CREATE OR REPLACE MACRO clustereval._repeated_id_advice() AS
  '; if ids repeat across sources, give a struct of source and id';

-- Window: the number of a row, from 1. Other engines have to sort for it, so there the user's
-- column id is the key instead, unless noise_as is 'singletons', because singletons need numbers.
CREATE OR REPLACE MACRO clustereval._row_key(id, noise_as) AS row_number() OVER ();

---------------------------------------------------------------------------------------------------
-- Weights and noise
---------------------------------------------------------------------------------------------------

-- x, the weight (multiplicity) of a row, as BIGINT. Raises an error unless it is a whole number >=
-- 0. The upper limit rejects NaN, which is above every number in DuckDB.
CREATE OR REPLACE MACRO clustereval._check_weight(x) AS
  CASE
    WHEN NOT coalesce(TRY_CAST(x AS DOUBLE) >= 0 AND TRY_CAST(x AS DOUBLE) < 9e18
      AND TRY_CAST(x AS DOUBLE) = floor(TRY_CAST(x AS DOUBLE)), FALSE)
    THEN error(CASE
      WHEN starts_with(concat('', alias(x)), '''')
      THEN concat(
        'weight: expected a column, got the quoted string ', alias(x), '; write it without quotes'
      )
      ELSE concat(
        'weight: expected whole numbers >= 0, got ', clustereval._show_value(x),
        '; a weight is how many times its row counts'
      )
    END)
    ELSE CAST(x AS BIGINT)
  END;

-- n, the sum of the weights of some rows, passed through unless a check fails. Raises an error if
-- `total`, the sum of the weights of their partition, is above 1e12. Above this limit, products of
-- three counts and sums in fixed point are not exact, neither here nor in Polars.
CREATE OR REPLACE MACRO clustereval._check_total_weight(n, total) AS
  CASE
    WHEN total > 1000000000000
    THEN error(concat(
      'weight: expected a sum of at most 1000000000000, got ', CAST(total AS VARCHAR),
      '; divide the weights by a common factor'
    ))
    ELSE n
  END;

-- TRUE if the user's argument x is its default NULL, not a column. This is decided before the query
-- runs, so that a branch of the query can be left out.
CREATE OR REPLACE MACRO clustereval._is_left_out(x) AS
  x IS NULL AND coalesce(alias(x), '') = 'NULL';

-- x, the value that marks noise, in the type of the column cluster, or NULL.
CREATE OR REPLACE MACRO clustereval._cast_noise(x, cluster) AS clustereval._cast_like(x, cluster);

-- TRUE if x, the value that marks noise, is not NULL and cannot be converted to the type of the
-- column cluster without a change. A number may have a different text after the conversion, such as
-- 1 for 1.0, and so may a list of numbers. Text is not compared as numbers.
CREATE OR REPLACE MACRO clustereval._is_foreign(x, cluster) AS
  x IS NOT NULL AND NOT coalesce(
    CAST(clustereval._cast_noise(x, cluster) AS VARCHAR) = CAST(x AS VARCHAR)
    OR (typeof(x) <> 'VARCHAR' AND (
      TRY_CAST(CAST(clustereval._cast_noise(x, cluster) AS VARCHAR) AS DOUBLE)
        = TRY_CAST(CAST(x AS VARCHAR) AS DOUBLE)
      OR TRY_CAST(CAST(clustereval._cast_noise(x, cluster) AS VARCHAR) AS DOUBLE[])
        = TRY_CAST(CAST(x AS VARCHAR) AS DOUBLE[])
    )),
    FALSE
  );

-- x, any value, passed through unless a check fails. Raises an error if `noise`, the value that
-- marks noise, cannot be converted to the type of the column cluster without a change. The macro is
-- an aggregate, for use after HAVING or over no rows. The check depends only on the type, and it is
-- in the plan whatever the query needs, even for an empty table. The lambda keeps the aggregate out
-- of the TRY of _cast_noise, which does not accept aggregates.
CREATE OR REPLACE MACRO clustereval._check_noise(x, noise, cluster) AS
  CASE
    WHEN list_transform(
      [any_value(cluster)], lambda __ce_value: clustereval._is_foreign(noise, __ce_value)
    )[1]
      -- If an enumeration lacks a name, no row has this name.
      AND NOT (
        starts_with(typeof(any_value(cluster)), 'ENUM(')
        AND NOT regexp_matches(typeof(noise), '^(BOOLEAN|STRUCT|MAP|UNION)|\]$')
      )
    THEN error(concat(
      'noise: expected a value of the type of cluster (', typeof(any_value(cluster)), '), got ''',
      CAST(noise AS VARCHAR), ''' (', typeof(noise), ')'
    ))
    ELSE x
  END;

-- TRUE if cluster equals the value `noise`; otherwise FALSE, even if either is NULL.
CREATE OR REPLACE MACRO clustereval._is_noise(cluster, noise) AS
  coalesce(cluster = clustereval._cast_noise(noise, cluster), FALSE);

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- TRUE, or the error of an invalid option. query_text is the text of the query SELECT TRUE AS
-- valid, which a _valid_... macro returns unless it raises an error. Options are checked by means
-- of such a text because query() is bound together with the statement. An invalid option is
-- therefore an error before any row is read, and for an empty table, too.
CREATE OR REPLACE MACRO clustereval._check_options(query_text) AS
  (SELECT valid FROM query(query_text));

-- Text of the query SELECT TRUE AS valid. Raises an error if noise_as is unknown, NULL with a value
-- of noise, or not 'cluster' without one.
CREATE OR REPLACE MACRO clustereval._valid_noise(noise, noise_as) AS
  CASE
    WHEN noise_as NOT IN ('cluster', 'drop', 'singletons')
    THEN error(concat(
      'noise_as: expected one of ''cluster'', ''drop'', ''singletons'', got ''', noise_as, ''''
    ))
    WHEN noise_as IS NULL AND noise IS NOT NULL
    THEN error(concat(
      'noise_as: expected one of ''cluster'', ''drop'', ''singletons'', got NULL; choose how ',
      'the rows of noise count in the scores: ''cluster'' as one ordinary cluster, ',
      '''drop'' not at all, ''singletons'' each as a cluster of its own'
    ))
    WHEN noise_as <> 'cluster' AND noise IS NULL
    THEN error(concat(
      'noise_as ''', noise_as, ''' needs noise: give the value of cluster that marks noise'
    ))
    ELSE 'SELECT TRUE AS valid'
  END;

-- _valid_noise for a table whose rows belong to clusters, which also rejects 'singletons'.
CREATE OR REPLACE MACRO clustereval._valid_noise_of_clusters(noise, noise_as) AS
  CASE
    WHEN noise_as = 'singletons'
    THEN error(concat(
      'noise_as: expected one of ''cluster'', ''drop'', got ''singletons''; each row of the ',
      'result describes a cluster'
    ))
    WHEN noise_as IS NULL AND noise IS NOT NULL
    THEN error(concat(
      'noise_as: expected one of ''cluster'', ''drop'', got NULL; choose how the rows of noise ',
      'count: ''cluster'' as one ordinary cluster, ''drop'' not at all'
    ))
    ELSE clustereval._valid_noise(noise, noise_as)
  END;

-- query_text, a text for _check_options. Raises an error if confidence is invalid.
CREATE OR REPLACE MACRO clustereval._valid_interval_options(confidence, query_text) AS
  CASE
    WHEN NOT coalesce(confidence > 0 AND confidence < 1, FALSE)
    THEN error(concat(
      'confidence: expected a number between 0 and 1, got ', clustereval._show_value(confidence)
    ))
    ELSE query_text
  END;

-- query_text, a text for _check_options. Raises an error unless beta is a number >= 0.
CREATE OR REPLACE MACRO clustereval._valid_beta(beta, query_text) AS
  CASE
    WHEN beta IS NULL OR NOT (beta >= 0 AND beta < 1e150)
    THEN error(concat('beta: expected a number >= 0, got ', clustereval._show_value(beta)))
    ELSE query_text
  END;

-- x, the weight beta of recall, as DOUBLE. Raises an error unless it is >= 0 and < 1e150.
CREATE OR REPLACE MACRO clustereval._check_beta(x) AS
  CASE
    WHEN x IS NULL OR NOT (x >= 0 AND x < 1e150)
    THEN clustereval._raise(
      concat('beta: expected a number >= 0, got ', clustereval._show_value(x))
    )
    ELSE CAST(x AS DOUBLE)
  END;

-- TRUE if x, a number or a text, is a whole number >= `least` and < 1e15; FALSE for NULL too.
CREATE OR REPLACE MACRO clustereval._is_whole_number(x, least) AS
  coalesce(
    TRY_CAST(x AS DOUBLE) >= least AND TRY_CAST(x AS DOUBLE) < 1e15
      AND TRY_CAST(x AS DOUBLE) = floor(TRY_CAST(x AS DOUBLE)),
    FALSE
  );
