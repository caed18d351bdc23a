-- point_faults: what is wrong with the vectors of points, and the text of the error.

-- List of the places, counted from 1, of the coordinates of `vector` that are not finite.
CREATE OR REPLACE MACRO clustereval._faulty_places(vector) AS
  list_filter(
    range(1, len(vector) + 1), lambda __ce_i: NOT coalesce(isfinite(vector[__ce_i]), FALSE)
  );

-- What is wrong with `vector`, which should be a list of dims finite numbers, as a struct {rank,
-- coordinate, what}; NULL if nothing is. rank is 0 for an empty vector, 1 for a different length,
-- and 2 for a coordinate that is not finite; what is a text that says what was found. The smallest
-- struct of all rows is reported.
CREATE OR REPLACE MACRO clustereval._point_fault(vector, dims) AS
  CASE
    WHEN len(vector) = 0 THEN {'rank': 0, 'coordinate': 0, 'what': 'an empty vector'}
    WHEN len(vector) <> dims
    THEN {'rank': 1, 'coordinate': len(vector), 'what': concat(len(vector), ' coordinates')}
    ELSE list_min(list_transform(
      clustereval._faulty_places(vector),
      lambda __ce_i: {
        'rank': 2, 'coordinate': __ce_i,
        'what': coalesce(CAST(vector[__ce_i] AS VARCHAR), 'NULL')
      }
    ))
  END;

-- vector_text, the text that alias() returns for a vector [x, y, z], without the casts that DuckDB
-- adds to give all columns the same type.
CREATE OR REPLACE MACRO clustereval._vector_text(vector_text) AS
  regexp_replace(vector_text, 'CAST\(([^(),]+) AS [A-Z]+(\([0-9]+,[ ]*[0-9]+\))?\)', '\1', 'g');

-- Names of the columns of a vector, given the text that _vector_text returns; NULL unless all
-- coordinates are columns. Names with a comma or a parenthesis cannot be distinguished from
-- expressions, and names that begin with a digit cannot be distinguished from numbers.
CREATE OR REPLACE MACRO clustereval._coordinate_names(text) AS
  CASE
    WHEN regexp_full_match(
      text, 'any_value\((main\.)?list_value\([^(),0-9-][^(),]*(, [^(),0-9-][^(),]*)*\)\)'
    )
    THEN string_split(regexp_extract(text, 'list_value\((.*)\)\)', 1), ', ')
  END;

-- The end of an error text on coordinates that are not finite, which tells the user how to leave
-- these rows out: by an option for NULL, by a condition for other values. `names` are the names of
-- the columns, and `what` is the text of _point_fault. Empty if names is NULL, or if there are more
-- names than a reader would copy.
CREATE OR REPLACE MACRO clustereval._finite_rows_advice(names, what) AS
  CASE
    WHEN starts_with(what, 'NULL') THEN ': missing := ''drop'''
    WHEN len(names) <= 8
    THEN ': WHERE ' || list_aggregate(
      list_transform(
        names, lambda __ce_name: 'isfinite("' || replace(__ce_name, '"', '""') || '")'
      ),
      'string_agg', ' AND '
    )
    ELSE ''
  END;

-- The numbers of faulty rows in each column, for an error text. `counts` is a list of structs
-- {place, rows}, and `names` are the names of the columns. Empty if names is NULL, and also for a
-- single column, because the error text already names it.
CREATE OR REPLACE MACRO clustereval._faulty_columns(counts, names) AS
  CASE
    WHEN len(counts) > 1 AND names IS NOT NULL
    THEN ': ' || list_aggregate(
      list_transform(
        counts[:8],
        lambda __ce_count: concat(__ce_count['rows'], ' in column ', names[__ce_count['place']])
      ),
      'string_agg', ', '
    ) || CASE WHEN len(counts) > 8 THEN ', ...' ELSE '' END
    ELSE ''
  END;

-- The place of the first faulty row, for an error text. id and partition are the values of this row
-- as text, NULL if there is no such column. Empty if both are NULL.
CREATE OR REPLACE MACRO clustereval._row_place(id, partition) AS
  CASE
    WHEN coalesce(id, partition) IS NULL THEN ''
    ELSE concat(
      ', the first one', ' with id ' || id, ' in partition ' || partition
    )
  END;

-- Raises the error for fault, the smallest struct of _point_fault of all rows, NULL if distances
-- overflow, of rank 3 if they underflow. The other parameters are columns of _first_point_fault;
-- rows is n_faulty.
CREATE OR REPLACE MACRO clustereval._point_fault_error(
  fault, dims, rows, names := CAST(NULL AS VARCHAR[]), details := ''
) AS
  error(CASE
    WHEN fault IS NULL
    THEN 'vector: distances overflow; scale the coordinates down'
    WHEN fault['rank'] = 3
    THEN 'vector: distances underflow; scale the coordinates up'
    ELSE concat(
      'vector: expected ',
      CASE fault['rank']
        WHEN 0 THEN 'at least one coordinate'
        WHEN 1 THEN concat('vectors of one length (', dims, ')')
        ELSE 'finite numbers'
      END,
      ', got ', fault['what'],
      CASE
        WHEN fault['rank'] < 2 THEN ''
        WHEN names IS NULL THEN concat(' in coordinate ', fault['coordinate'])
        ELSE concat(' in column ', names[fault['coordinate']])
      END,
      ' (', rows, CASE rows WHEN 1 THEN ' row is' ELSE ' rows are' END, ' at fault', details,
      '); fix these rows or leave them out', clustereval._finite_rows_advice(names, fault['what'])
    )
  END);

-- One row about the first faulty row, or no row if faults has no rows: fault, the smallest struct
-- of _point_fault; dims, the number of coordinates that vectors should have; n_faulty, the number
-- of faulty rows; names, the columns of the coordinates, NULL if they are not columns; and details,
-- further text about these rows for the error. faults has vector, partition_key and id of _points,
-- dims and fault; arguments: the row of _point_arguments.
CREATE OR REPLACE MACRO clustereval._first_point_fault(faults, arguments) AS TABLE
  WITH least AS (
    SELECT
      MAX(dims) AS dims,
      COUNT(fault) AS n_faulty,
      MIN(CASE
        WHEN fault IS NOT NULL
        THEN {'fault': fault, 'partition': partition_key, 'id': id}
      END) AS first
    FROM query_table(faults)
    HAVING COUNT(*) > 0
  ),
  named AS (
    SELECT
      unpartitioned, clustereval._coordinate_names(clustereval._vector_text(vector_text)) AS names
    FROM query_table(arguments)
  ),
  places AS (
    SELECT unnest(clustereval._faulty_places(vector)) AS place
    FROM query_table(faults)
    WHERE fault IS NOT NULL
  ),
  place_counts AS (SELECT place, COUNT(*) AS n_rows FROM places GROUP BY place)
  SELECT
    least.first['fault'] AS fault,
    least.dims, least.n_faulty, argument.names,
    concat(
      clustereval._faulty_columns(columns.counts, argument.names),
      clustereval._row_place(
        CAST(least.first['id'] AS VARCHAR),
        CASE
          WHEN NOT argument.unpartitioned
          THEN clustereval._show_value(least.first['partition'])
        END
      )
    ) AS details
  FROM least
  CROSS JOIN named AS argument
  CROSS JOIN (
    SELECT
      list({'place': place, 'rows': n_rows} ORDER BY place ASC NULLS LAST) AS counts
    FROM place_counts
  ) AS columns;
