-- distances: distances between two vectors, and the options of every macro that computes them.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- TRUE if x, the option distance of an index, is one of the six names, in any letter case.
CREATE OR REPLACE MACRO clustereval._is_distance_name(x) AS
  coalesce(lower(CAST(x AS VARCHAR)), '')
    IN ('euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine');

-- Text of the error of an unknown distance.
CREATE OR REPLACE MACRO clustereval._distance_message(distance) AS
  concat(
    'distance: expected one of ''euclidean'', ''sqeuclidean'', ''cityblock'', ''chebyshev'', ',
    '''minkowski'', ''cosine'', got ', coalesce('''' || distance || '''', 'NULL'),
    CASE
      WHEN lower(CAST(distance AS VARCHAR)) IN ('l1', 'manhattan', 'taxicab')
      THEN '; did you mean ''cityblock''?'
      WHEN lower(CAST(distance AS VARCHAR)) = 'l2'
      THEN '; did you mean ''euclidean''?'
      WHEN lower(CAST(distance AS VARCHAR)) IN ('squared_euclidean', 'squaredeuclidean')
      THEN '; did you mean ''sqeuclidean''?'
      WHEN lower(CAST(distance AS VARCHAR)) IN ('linf', 'maximum')
      THEN '; did you mean ''chebyshev''?'
      WHEN regexp_matches(CAST(distance AS VARCHAR), '^(eucli|sqeuc|cityb|cheby|minko|cosin)', 'i')
      THEN concat(
        '; did you mean ''',
        regexp_extract(
          ' euclidean sqeuclidean cityblock chebyshev minkowski cosine',
          concat(' (', left(lower(CAST(distance AS VARCHAR)), 5), '[a-z]+)'), 1
        ),
        '''?'
      )
      WHEN lower(CAST(distance AS VARCHAR)) = 'precomputed'
      THEN concat(
        '; pass a table of pairs to silhouette_score_from_distances, dunn_index_from_distances ',
        'or pairwise_report_from_distances'
      )
      WHEN lower(CAST(distance AS VARCHAR)) IN (
        'hamming', 'gower', 'correlation', 'haversine', 'jaccard', 'levenshtein', 'edit', 'dtw'
      )
      THEN '; the page on distances (docs/distances.md) shows what to write for it'
      ELSE '; if this is a column, write the columns of a vector as a list, such as [x, y]'
    END
  );

-- tbl, the name of the user's table of points, for query_table. There, a column is the text of its
-- name. Raises an error for an unknown distance, and for a column in place of the options distance
-- and weights, which the binder would report with the names of columns inside this package.
CREATE OR REPLACE MACRO clustereval._check_point_call(tbl, distance, weights) AS
  CASE
    WHEN NOT clustereval._is_distance_name(distance)
    THEN error(clustereval._distance_message(distance))
    WHEN typeof(weights) IN ('VARCHAR', 'VARCHAR[]')
    THEN error(concat(
      'weights: expected one constant for each dimension, such as [1, 2], got the column ',
      CAST(weights AS VARCHAR), '; tables of points take no weights of rows: repeat each row as ',
      'often as it counts'
    ))
    ELSE tbl
  END;

-- query_text, the text SELECT TRUE that _check_options runs, unchanged. Raises an error unless the
-- option missing, for vectors with a NULL coordinate, is 'error' or 'drop'.
CREATE OR REPLACE MACRO clustereval._valid_missing(missing, query_text) AS
  CASE
    WHEN coalesce(CAST(missing AS VARCHAR), '') NOT IN ('error', 'drop')
    THEN error(concat(
      'missing: expected one of ''error'', ''drop'', got ',
      coalesce('''' || missing || '''', 'NULL')
    ))
    ELSE query_text
  END;

-- Text of the query SELECT TRUE, which _check_options runs. Raises an error if one of the
-- arguments, which are the options that the internal indices share, is invalid. Since query() needs
-- its text before any row is read, the error is also raised for an empty table.
CREATE OR REPLACE MACRO clustereval._valid_point_options(
  distance, p, center, weights, noise, noise_as, missing
) AS
  CASE
    WHEN NOT clustereval._is_distance_name(distance)
    THEN error(clustereval._distance_message(distance))
    WHEN p IS NULL OR NOT (p >= 1 AND p < 1e150)
    THEN error(concat('p: expected a number >= 1, got ', coalesce(CAST(p AS VARCHAR), 'NULL')))
    WHEN coalesce(center, '') NOT IN ('mean', 'median')
    THEN error(concat(
      'center: expected one of ''mean'', ''median'', got ',
      coalesce('''' || center || '''', 'NULL')
    ))
    WHEN weights IS NOT NULL AND lower(distance) = 'chebyshev'
    THEN error('weights: chebyshev takes none; scale the coordinates instead')
    WHEN weights IS NOT NULL AND NOT coalesce(
      list_count(CAST(weights AS DOUBLE[])) = len(CAST(weights AS DOUBLE[]))
      AND list_min(CAST(weights AS DOUBLE[])) > 0 AND list_max(CAST(weights AS DOUBLE[])) < 1e150,
      FALSE
    )
    THEN error(concat(
      'weights: expected a number > 0 for each dimension, got ', CAST(weights AS VARCHAR)
    ))
    ELSE clustereval._valid_missing(missing, clustereval._valid_noise(noise, noise_as))
  END;

-- The option distance in lower case. For minkowski with p = 1 or p = 2 it is 'cityblock' or
-- 'euclidean', which some indices compute by faster algorithms.
CREATE OR REPLACE MACRO clustereval._plain_distance_name(distance, p) AS
  CASE
    WHEN lower(distance) = 'minkowski' AND p = 1 THEN 'cityblock'
    WHEN lower(distance) = 'minkowski' AND p = 2 THEN 'euclidean'
    ELSE lower(distance)
  END;

---------------------------------------------------------------------------------------------------
-- Distances
---------------------------------------------------------------------------------------------------

-- List of factors, one per coordinate, for weights, a list of one number per dimension. The
-- distance of vectors multiplied by these factors is the distance with these weights. NULL without
-- weights.
CREATE OR REPLACE MACRO clustereval._coordinate_factors(weights, distance, p) AS
  list_transform(
    CAST(weights AS DOUBLE[]),
    lambda __ce_weight: CASE lower(distance)
      WHEN 'cityblock' THEN __ce_weight
      WHEN 'minkowski' THEN pow(__ce_weight, 1.0 / p)
      ELSE sqrt(__ce_weight)
    END
  );

-- The vector x multiplied, coordinate by coordinate, by factors, the list of _coordinate_factors; x
-- itself if weights is NULL. NULL if the numbers of weights and of coordinates differ;
-- _check_points reports that. Pass factors as a column or a lambda's name, since the lambda in this
-- macro computes an expression again for each coordinate.
CREATE OR REPLACE MACRO clustereval._scale_vector(x, weights, factors) AS
  CASE
    WHEN weights IS NULL THEN x
    WHEN len(x) = len(weights)
    THEN list_transform(x, lambda __ce_x, __ce_i: __ce_x * factors[__ce_i])
  END;

-- The vector x, such as a center, in the user's units: divided by the factors of the weights (see
-- _coordinate_factors). x itself if weights is NULL.
CREATE OR REPLACE MACRO clustereval._unscale_vector(x, weights, distance, p) AS
  CASE
    WHEN weights IS NULL THEN x
    ELSE list_transform(
      [clustereval._coordinate_factors(weights, distance, p)],
      lambda __ce_factors: list_transform(x, lambda __ce_x, __ce_i: __ce_x / __ce_factors[__ce_i])
    )[1]
  END;

-- The center x of a cluster in the user's coordinates: divided by the factors of weights, plus
-- origin, the list by which the points of its partition have been moved, NULL if they have not been
-- moved.
CREATE OR REPLACE MACRO clustereval._user_center(x, origin, weights, distance, p) AS
  CASE
    WHEN origin IS NULL THEN clustereval._unscale_vector(x, weights, distance, p)
    ELSE list_transform(
      clustereval._unscale_vector(x, weights, distance, p),
      lambda __ce_x, __ce_i: __ce_x + origin[__ce_i]
    )
  END;

-- A copy of the vector x with NaN for NULL. DuckDB's functions of two lists raise an error for a
-- NULL even in a row that is filtered out, and sometimes without any NULL (in a column of a Parquet
-- file). When they do, they are called again with a copy.
CREATE OR REPLACE MACRO clustereval._nulls_to_nan(x) AS
  list_transform(x, lambda __ce_x: coalesce(__ce_x, CAST('nan' AS DOUBLE)));

-- The vector x, a list, or NULL if it has to be left out. That is the case if all of its
-- coordinates are NULL, or if one coordinate is NULL and the option missing is 'drop'. A single
-- NULL inside a list would make all rows take the slow forms of distances, those of _nulls_to_nan.
-- For nearly every row, the first coordinate is enough to decide.
CREATE OR REPLACE MACRO clustereval._complete_vector(x, missing) AS
  CASE
    WHEN missing = 'drop'
    -- The copy has no NULL in a row that is left out either, which would make functions of two
    -- lists take their slow forms.
    THEN clustereval._nulls_to_nan(CASE WHEN list_count(x) < len(x) THEN NULL ELSE x END)
    WHEN x[1] IS NULL AND list_count(x) < len(x) AND list_count(x) = 0 THEN NULL
    ELSE x
  END;

-- TRUE unless the vector x, a list whose first coordinate is NULL, lacks all coordinates, or the
-- option missing is 'drop'. An empty vector is not missing; it is an error.
CREATE OR REPLACE MACRO clustereval._has_coordinates(x, missing) AS
  coalesce((missing = 'error' AND list_count(x) > 0) OR len(x) = 0, FALSE);

-- Sum of the squared coordinates of the vector x, NaN if a coordinate is NULL.
CREATE OR REPLACE MACRO clustereval._sum_of_squares(x) AS
  coalesce(
    try(list_inner_product(x, x)),
    list_sum(list_transform(x, lambda __ce_x: coalesce(__ce_x * __ce_x, CAST('nan' AS DOUBLE))))
  );

-- Sum of the products of the coordinates of the vectors x and y.
CREATE OR REPLACE MACRO clustereval._inner_product(x, y) AS
  coalesce(try(list_inner_product(x, y)), list_inner_product(clustereval._nulls_to_nan(x), y));

-- Euclidean length of the vector x: NaN if a coordinate is NULL, NULL if it has no coordinates.
CREATE OR REPLACE MACRO clustereval._norm(x) AS
  CASE WHEN len(x) > 0 THEN sqrt(clustereval._sum_of_squares(x)) END;

-- Euclidean length of a list x of numbers >= 0, computed in units of the largest, whose square may
-- overflow.
CREATE OR REPLACE MACRO clustereval._scaled_norm(x) AS
  CASE
    WHEN list_max(x) > 0
    THEN list_max(x) * list_transform(
      [list_max(x)],
      lambda __ce_unit: clustereval._norm(list_transform(x, lambda __ce_x: __ce_x / __ce_unit))
    )[1]
    ELSE list_max(x)
  END;

-- Euclidean distance of the vectors x and y: NULL if they differ in length, NULL or NaN if a
-- coordinate is NULL.
CREATE OR REPLACE MACRO clustereval._euclidean(x, y) AS
  coalesce(try(list_distance(x, y)), try(list_distance(clustereval._nulls_to_nan(x), y)));

-- The vector x divided by norm, its euclidean length: a zero vector if the norm is 0 (also because
-- the squares underflow), NULL if the norm is not finite, and x itself if the norm is 1 except for
-- rounding error, since the mean of equal unit vectors is that vector.
CREATE OR REPLACE MACRO clustereval._unit_vector(x, norm) AS
  CASE
    WHEN abs(norm - 1) < 1e-14 THEN x
    WHEN norm = 0 THEN list_transform(x, lambda __ce_x: 0.0)
    WHEN isfinite(norm) THEN list_transform(x, lambda __ce_x: __ce_x / norm)
  END;

-- The mean or median x of points as their center: divided by its norm for the option distance
-- cosine, otherwise x itself.
CREATE OR REPLACE MACRO clustereval._center_direction(x, distance) AS
  CASE
    WHEN lower(distance) = 'cosine'
    THEN list_transform(
      [clustereval._norm(x)], lambda __ce_norm: clustereval._unit_vector(x, __ce_norm)
    )[1]
    ELSE x
  END;

-- The cosine distance d, or 0 if d is below 1e-15, the rounding error of parallel vectors. The
-- macro uses a product and not a CASE, so that the engine computes d only once.
CREATE OR REPLACE MACRO clustereval._zero_if_parallel(d) AS d * CAST(d >= 1e-15 AS DOUBLE);

-- (sum of |x - y|^p)^(1/p) over the coordinates of the vectors x and y of the same length, computed
-- in units of the largest difference, whose power may overflow.
CREATE OR REPLACE MACRO clustereval._minkowski(x, y, p) AS
  list_transform(
    [list_transform(x, lambda __ce_x, __ce_i: abs(__ce_x - y[__ce_i]))],
    lambda __ce_sizes: list_transform(
      [list_max(__ce_sizes)],
      lambda __ce_unit: CASE
        WHEN __ce_unit > 0
        THEN __ce_unit * pow(
          list_sum(list_transform(__ce_sizes, lambda __ce_size: pow(__ce_size / __ce_unit, p))),
          1.0 / p
        )
        ELSE __ce_unit
      END
    )[1]
  )[1];

-- Distance between the vectors x and y of the same length and without NULL, by distance and p. It
-- is _distance without its checks, which take time. `distance` is 'euclidean', 'cityblock',
-- 'chebyshev' or 'minkowski', in lower case.
CREATE OR REPLACE MACRO clustereval._unchecked_distance(x, y, distance, p) AS
  CASE distance
    WHEN 'euclidean' THEN list_distance(x, y)
    WHEN 'cityblock'
    THEN list_sum(list_transform(x, lambda __ce_x, __ce_i: abs(__ce_x - y[__ce_i])))
    WHEN 'chebyshev'
    THEN list_max(list_transform(x, lambda __ce_x, __ce_i: abs(__ce_x - y[__ce_i])))
    ELSE clustereval._minkowski(x, y, p)
  END;

-- Distance between the vectors x and y by cityblock, chebyshev or minkowski, in any letter case;
-- NULL if a coordinate is NULL, or if the vectors are empty or differ in length.
CREATE OR REPLACE MACRO clustereval._coordinate_distance(x, y, distance, p) AS
  CASE
    WHEN len(x) = len(y) AND list_count(x) = len(y)
    THEN clustereval._unchecked_distance(x, y, lower(distance), p)
  END;

-- Cosine distance between x and y, which are unit vectors or zero; NULL if the vectors differ in
-- length. Half the squared distance of unit vectors is 1 - cos without cancellation.
CREATE OR REPLACE MACRO clustereval._cosine_distance(x, y) AS
  CASE
    WHEN coalesce(len(x) <> len(y), TRUE) THEN NULL
    WHEN clustereval._sum_of_squares(x) = 0 OR clustereval._sum_of_squares(y) = 0 THEN 1.0
    ELSE clustereval._zero_if_parallel(pow(clustereval._euclidean(x, y), 2) / 2)
  END;

-- Distance between the vectors x and y, by the options distance and p; for cosine x and y are unit
-- vectors or zero. The result is not finite, or NULL, if a coordinate is NULL or the vectors differ
-- in length.
CREATE OR REPLACE MACRO clustereval._distance(x, y, distance, p) AS
  CASE lower(distance)
    WHEN 'euclidean' THEN clustereval._euclidean(x, y)
    WHEN 'sqeuclidean' THEN pow(clustereval._euclidean(x, y), 2)
    WHEN 'cosine' THEN clustereval._cosine_distance(x, y)
    ELSE clustereval._coordinate_distance(x, y, distance, p)
  END;

-- The term that d, a distance by the option distance, adds to a sum of squares: d itself for
-- sqeuclidean, otherwise its square. Pass d as a column, because the engine binds each copy of an
-- expression.
CREATE OR REPLACE MACRO clustereval._squared_distance(d, distance) AS
  CASE WHEN lower(distance) = 'sqeuclidean' THEN d ELSE d * d END;

-- TRUE if, for these options of an index, the total sum of squares is the sum of squares within
-- clusters plus the sum of squares between clusters.
CREATE OR REPLACE MACRO clustereval._squares_add_up(distance, center) AS
  lower(distance) IN ('euclidean', 'sqeuclidean') AND center = 'mean';

-- x - y for two vectors of the same length, coordinate by coordinate.
CREATE OR REPLACE MACRO clustereval._subtract_vectors(x, y) AS
  list_transform(x, lambda __ce_x, __ce_i: __ce_x - y[__ce_i]);
