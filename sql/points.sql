-- points: the ground floor of the point side. Vectors in every form, distances, centres, and the checks
-- of what a caller hands over.
--
-- Reading rules, besides those of labels.sql:
--   * A point is a DOUBLE[], whatever the vector was: LIST, ARRAY, or columns written as [x, y, z].
--   * A cluster is (partition, cluster, single). `single` is 0, except for noise that is counted as
--     singletons: there it is the number of the row, and the cluster is NULL.
--   * The rows are read anew by each pass over them (NOT MATERIALIZED), so that they stream. The
--     centres and all that follows are small.

---------------------------------------------------------------------------------------------------
-- Checks
---------------------------------------------------------------------------------------------------

-- TRUE for the types that hold a vector of numbers; typeof([NULL]) is "NULL"[].
CREATE OR REPLACE MACRO clustereval._is_vector_type(type_name) AS
  regexp_matches(
    type_name,
    '^(U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|"NULL")\[\d*\]$'
  );

-- x, if vector holds vectors. For use after HAVING, as _checked_column.
CREATE OR REPLACE MACRO clustereval._checked_vector(x, vector) AS
  CASE
    WHEN NOT clustereval._is_vector_type(typeof(any_value(vector)))
    THEN error(concat(
      'vector: expected a list or array of numbers, such as [x, y, z], got ',
      typeof(any_value(vector)), '; parse_vector makes one from text'
    ))
    ELSE x
  END;

CREATE OR REPLACE MACRO clustereval._is_distance(x) AS
  coalesce(lower(CAST(x AS VARCHAR)), '')
    IN ('euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine');

-- TRUE query, or the error, for the options of every macro that measures distances (see _valid_noise).
CREATE OR REPLACE MACRO clustereval._valid_points(distance, p, center, weights, noise, noise_as) AS
  CASE
    WHEN NOT clustereval._is_distance(distance)
    THEN error(concat(
      'distance: expected one of ''euclidean'', ''sqeuclidean'', ''cityblock'', ''chebyshev'', ',
      '''minkowski'', ''cosine'', got ', coalesce('''' || distance || '''', 'NULL')
    ))
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
    ELSE clustereval._valid_noise(noise, noise_as)
  END;

-- What is wrong with a point, if something is: {rank, coordinate, what}. The least is reported.
CREATE OR REPLACE MACRO clustereval._fault(vector, dims) AS
  CASE
    WHEN len(vector) = 0 THEN {'rank': 0, 'coordinate': 0, 'what': 'an empty vector'}
    WHEN len(vector) <> dims
    THEN {'rank': 1, 'coordinate': len(vector), 'what': concat(len(vector), ' coordinates')}
    ELSE list_min(list_transform(
      list_filter(
        range(1, len(vector) + 1), lambda __ce_i: NOT coalesce(isfinite(vector[__ce_i]), FALSE)
      ),
      lambda __ce_i: {
        'rank': 2, 'coordinate': __ce_i,
        'what': concat(coalesce(CAST(vector[__ce_i] AS VARCHAR), 'NULL'), ' in coordinate ', __ce_i)
      }
    ))
  END;

-- The error that tells of the first fault and of how many rows have one.
CREATE OR REPLACE MACRO clustereval._fault_error(fault, dims, rows) AS
  error(CASE
    WHEN fault IS NULL
    THEN 'vector: distances overflow; scale the coordinates down'
    ELSE concat(
      'vector: expected ',
      CASE fault['rank']
        WHEN 0 THEN 'at least one coordinate'
        WHEN 1 THEN concat('vectors of one length (', dims, ')')
        ELSE 'finite numbers'
      END,
      ', got ', fault['what'], ' (', rows, CASE rows WHEN 1 THEN ' row is' ELSE ' rows are' END,
      ' at fault); mend these rows or leave them out'
    )
  END);

---------------------------------------------------------------------------------------------------
-- Distances
---------------------------------------------------------------------------------------------------

-- The factor on each coordinate that makes a weighted distance a plain one.
CREATE OR REPLACE MACRO clustereval._factors(weights, distance, p) AS
  list_transform(
    CAST(weights AS DOUBLE[]),
    lambda __ce_w: CASE lower(distance)
      WHEN 'cityblock' THEN __ce_w
      WHEN 'minkowski' THEN pow(__ce_w, 1.0 / p)
      ELSE sqrt(__ce_w)
    END
  );

-- No vector where there is no weight for each coordinate; _checked_points tells why. Factors are a column
-- or a name: what a lambda works out, it works out for each coordinate.
CREATE OR REPLACE MACRO clustereval._scaled(x, weights, factors) AS
  CASE
    WHEN weights IS NULL THEN x
    WHEN len(x) = len(weights)
    THEN list_transform(x, lambda __ce_x, __ce_i: __ce_x * factors[__ce_i])
  END;

CREATE OR REPLACE MACRO clustereval._unscaled(x, weights, distance, p) AS
  CASE
    WHEN weights IS NULL THEN x
    ELSE list_transform(
      [clustereval._factors(weights, distance, p)],
      lambda __ce_factors: list_transform(x, lambda __ce_x, __ce_i: __ce_x / __ce_factors[__ce_i])
    )[1]
  END;

-- A copy of a vector with NaN for NULL. DuckDB's functions of two lists refuse a NULL even where it is in
-- a row that is filtered out, and see some where there are none (one column of a Parquet file): what they
-- refuse is asked again of a copy.
CREATE OR REPLACE MACRO clustereval._copied(x) AS
  list_transform(x, lambda __ce_x: coalesce(__ce_x, CAST('nan' AS DOUBLE)));

CREATE OR REPLACE MACRO clustereval._inner_product(x) AS
  coalesce(
    try(list_inner_product(x, x)),
    list_inner_product(clustereval._copied(x), clustereval._copied(x))
  );

-- Length of a vector; NaN where a coordinate is NULL, NULL where there is none.
CREATE OR REPLACE MACRO clustereval._norm(x) AS
  CASE WHEN len(x) > 0 THEN sqrt(clustereval._inner_product(x)) END;

-- NULL where the lengths differ.
CREATE OR REPLACE MACRO clustereval._euclidean(x, y) AS
  coalesce(try(list_distance(x, y)), try(list_distance(clustereval._copied(x), y)));

-- A vector of length 1, given its length. No length, also for squares too small: a zero vector; no
-- finite one: no vector.
CREATE OR REPLACE MACRO clustereval._unit(x, norm) AS
  CASE
    WHEN norm = 0 THEN list_transform(x, lambda __ce_x: 0.0)
    WHEN isfinite(norm) THEN list_transform(x, lambda __ce_x: __ce_x / norm)
  END;

-- Distance of two vectors, of unit vectors for cosine; no finite number where one has a NULL or their
-- lengths differ.
-- Half the squared distance of unit vectors is 1 - cos without its cancellation.
CREATE OR REPLACE MACRO clustereval._distance(x, y, distance, p) AS
  CASE lower(distance)
    WHEN 'euclidean' THEN clustereval._euclidean(x, y)
    WHEN 'sqeuclidean' THEN pow(clustereval._euclidean(x, y), 2)
    WHEN 'cosine'
    THEN CASE
      WHEN len(x) <> len(y) THEN NULL
      WHEN clustereval._norm(x) = 0 OR clustereval._norm(y) = 0 THEN 1.0
      ELSE pow(clustereval._euclidean(x, y), 2) / 2
    END
    ELSE CASE
      WHEN len(x) = len(y) AND list_count(x) = len(y) AND len(y) > 0
      THEN CASE lower(distance)
        WHEN 'cityblock'
        THEN list_sum(list_transform(x, lambda __ce_x, __ce_i: abs(__ce_x - y[__ce_i])))
        WHEN 'chebyshev'
        THEN list_max(list_transform(x, lambda __ce_x, __ce_i: abs(__ce_x - y[__ce_i])))
        ELSE pow(
          list_sum(list_transform(x, lambda __ce_x, __ce_i: pow(abs(__ce_x - y[__ce_i]), p))), 1.0 / p
        )
      END
    END
  END;

-- Its square in sums of squares; a squared distance is one already.
CREATE OR REPLACE MACRO clustereval._squared(d, distance) AS
  CASE WHEN lower(distance) = 'sqeuclidean' THEN d ELSE d * d END;

-- TRUE where sums of squares add up: total = within + between.
CREATE OR REPLACE MACRO clustereval._adds_up(distance, center) AS
  lower(distance) IN ('euclidean', 'sqeuclidean') AND center = 'mean';

---------------------------------------------------------------------------------------------------
-- Points and centres
---------------------------------------------------------------------------------------------------

-- One row for each row there is, dropped ones and noise included: the only macro of this side that
-- reads the rows. __ce_kept tells whether the row counts, __ce_point is what distances are taken of. One
-- more row carries the checks of the columns, which an empty table has too (__ce_extra), and stands for
-- the one partition where there is no partition_by (__ce_only).
CREATE OR REPLACE MACRO clustereval._points(
  tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as,
  id := CAST(NULL AS BIGINT)
) AS TABLE
  WITH __ce_read AS NOT MATERIALIZED (
    SELECT
      partition_by AS __ce_partition,
      cluster AS __ce_cluster,
      TRY_CAST(vector AS DOUBLE[]) AS __ce_vector,
      clustereval._factors(weights, distance, p) AS __ce_factors,
      clustereval._is_noise(cluster, noise) AS __ce_noisy,
      row_number() OVER () AS __ce_row,
      id AS __ce_id,
      clustereval._is_default_id(id) AS __ce_unnamed,
      FALSE AS __ce_extra,
      FALSE AS __ce_only
    FROM query_table(tbl)
    UNION ALL
    SELECT
      NULL, any_value(cluster), NULL, NULL, FALSE, 0, NULL, FALSE, TRUE,
      clustereval._is_absent(partition_by)
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._checked_column(
      clustereval._checked_column(
        clustereval._checked_column(
          clustereval._checked_column(
            clustereval._checked_vector(TRUE, vector), 'id', id
          ),
          'partition_by', partition_by
        ),
        'cluster', cluster
      ),
      'vector', vector
    )
  ),
  __ce_known AS NOT MATERIALIZED (
    SELECT
      *,
      -- A vector of NULLs alone is none: so are columns that are all NULL. The first coordinate
      -- settles it for nearly every row, and CASE stops there.
      CASE
        WHEN __ce_vector[1] IS NOT NULL THEN __ce_cluster IS NOT NULL
        WHEN __ce_extra THEN NOT clustereval._checked_noise(TRUE, noise, __ce_cluster)
        ELSE __ce_cluster IS NOT NULL
          AND coalesce(list_count(__ce_vector) > 0 OR len(__ce_vector) = 0, FALSE)
      END AS __ce_complete,
      clustereval._scaled(__ce_vector, weights, __ce_factors) AS __ce_scaled
    FROM __ce_read
  ),
  -- A stage of its own, as with the factors.
  __ce_measured AS NOT MATERIALIZED (
    SELECT
      *,
      CASE WHEN lower(distance) = 'cosine' THEN clustereval._norm(__ce_scaled) END AS __ce_length
    FROM __ce_known
  )
  SELECT
    __ce_partition,
    CASE WHEN __ce_noisy AND noise_as = 'singletons' THEN NULL ELSE __ce_cluster END AS __ce_cluster,
    CASE WHEN __ce_noisy AND noise_as = 'singletons' THEN __ce_row ELSE 0 END AS __ce_single,
    CASE
      WHEN lower(distance) = 'cosine'
      THEN clustereval._unit(__ce_scaled, __ce_length)
      ELSE __ce_scaled
    END AS __ce_point,
    __ce_vector,
    __ce_row,
    __ce_id,
    __ce_unnamed,
    __ce_complete AND NOT (__ce_noisy AND noise_as = 'drop') AS __ce_kept,
    NOT __ce_complete AND NOT __ce_extra AS __ce_dropped,
    __ce_complete AND __ce_noisy AS __ce_noisy,
    __ce_only
  FROM __ce_measured;

-- Lists of 16 aggregates, of the coordinates after the given one. One row for 16 coordinates in place of
-- one for each halves the time that the centres take. `rest` is x where it has more than 8 of them: to
-- look for coordinates that are not there takes as long as to find them.
CREATE OR REPLACE MACRO clustereval._block_sums(x, rest, after) AS [
    fsum(x[after + 1]), fsum(x[after + 2]), fsum(x[after + 3]), fsum(x[after + 4]),
    fsum(x[after + 5]), fsum(x[after + 6]), fsum(x[after + 7]), fsum(x[after + 8]),
    fsum(rest[after + 9]), fsum(rest[after + 10]), fsum(rest[after + 11]), fsum(rest[after + 12]),
    fsum(rest[after + 13]), fsum(rest[after + 14]), fsum(rest[after + 15]), fsum(rest[after + 16])
];
CREATE OR REPLACE MACRO clustereval._block_medians(x, rest, after) AS [
    median(x[after + 1]), median(x[after + 2]), median(x[after + 3]), median(x[after + 4]),
    median(x[after + 5]), median(x[after + 6]), median(x[after + 7]), median(x[after + 8]),
    median(rest[after + 9]), median(rest[after + 10]), median(rest[after + 11]), median(rest[after + 12]),
    median(rest[after + 13]), median(rest[after + 14]), median(rest[after + 15]), median(rest[after + 16])
];
-- Infinite values are left out only because they would raise an error of their own.
CREATE OR REPLACE MACRO clustereval._variance(x) AS var_pop(CASE WHEN isfinite(x) THEN x END);
CREATE OR REPLACE MACRO clustereval._block_variances(x, rest, after) AS [
    clustereval._variance(x[after + 1]), clustereval._variance(x[after + 2]),
    clustereval._variance(x[after + 3]), clustereval._variance(x[after + 4]),
    clustereval._variance(x[after + 5]), clustereval._variance(x[after + 6]),
    clustereval._variance(x[after + 7]), clustereval._variance(x[after + 8]),
    clustereval._variance(rest[after + 9]), clustereval._variance(rest[after + 10]),
    clustereval._variance(rest[after + 11]), clustereval._variance(rest[after + 12]),
    clustereval._variance(rest[after + 13]), clustereval._variance(rest[after + 14]),
    clustereval._variance(rest[after + 15]), clustereval._variance(rest[after + 16])
];

-- One row for each 16 coordinates of each cluster. The first 16 need no row of their own for each point;
-- the rows are read again for the others only where there are some (a join with no row ends at once).
CREATE OR REPLACE MACRO clustereval._blocks(__ce_points, center) AS TABLE
  WITH __ce_kept_points AS NOT MATERIALIZED (
    SELECT
      __ce_partition, __ce_cluster, __ce_single, __ce_point,
      CASE WHEN len(__ce_point) > 8 THEN __ce_point END AS __ce_rest
    FROM query_table(__ce_points)
    WHERE __ce_kept
  ),
  __ce_first AS MATERIALIZED (
    SELECT
      __ce_partition, __ce_cluster, __ce_single,
      CAST(0 AS BIGINT) AS __ce_after,
      COUNT(*) AS __ce_n,
      MAX(len(__ce_point)) AS __ce_length,
      CASE center
        WHEN 'median' THEN clustereval._block_medians(__ce_point, __ce_rest, 0)
        ELSE clustereval._block_sums(__ce_point, __ce_rest, 0)
      END AS __ce_sums,
      clustereval._block_variances(__ce_point, __ce_rest, 0) AS __ce_variances
    FROM __ce_kept_points
    GROUP BY __ce_partition, __ce_cluster, __ce_single
  ),
  __ce_parts AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_partition, __ce_x.__ce_cluster, __ce_x.__ce_single, __ce_x.__ce_point,
      unnest(range(16, len(__ce_x.__ce_point), 16)) AS __ce_after
    FROM __ce_kept_points AS __ce_x
    JOIN (SELECT MAX(__ce_length) AS __ce_most FROM __ce_first) AS __ce_l ON __ce_l.__ce_most > 16
  )
  SELECT * FROM __ce_first
  UNION ALL
  SELECT
    __ce_partition, __ce_cluster, __ce_single, __ce_after,
    COUNT(*),
    MAX(len(__ce_point)),
    CASE center
      WHEN 'median' THEN clustereval._block_medians(__ce_point, __ce_point, __ce_after)
      ELSE clustereval._block_sums(__ce_point, __ce_point, __ce_after)
    END,
    clustereval._block_variances(__ce_point, __ce_point, __ce_after)
  FROM __ce_parts
  GROUP BY __ce_partition, __ce_cluster, __ce_single, __ce_after;

-- One row for each coordinate of each cluster: the mean or median of its points, and their variance.
CREATE OR REPLACE MACRO clustereval._coordinates(__ce_points, center) AS TABLE
  WITH __ce_listed AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_single, __ce_after, __ce_n, __ce_length,
      __ce_sums, __ce_variances,
      unnest(range(1, 17)) AS __ce_place
    FROM clustereval._blocks(__ce_points, center)
  )
  SELECT
    __ce_partition, __ce_cluster, __ce_single,
    __ce_after + __ce_place AS __ce_i,
    CAST(__ce_n AS DOUBLE) AS __ce_n,
    CASE center
      WHEN 'median' THEN __ce_sums[__ce_place]
      ELSE __ce_sums[__ce_place] / __ce_n
    END AS __ce_centre,
    __ce_variances[__ce_place] AS __ce_variance
  FROM __ce_listed
  WHERE __ce_after + __ce_place <= __ce_length;

-- Centres are directions for cosine.
CREATE OR REPLACE MACRO clustereval._directed(x, distance) AS
  CASE
    WHEN lower(distance) = 'cosine'
    THEN list_transform(
      [clustereval._norm(x)], lambda __ce_length: clustereval._unit(x, __ce_length)
    )[1]
    ELSE x
  END;

-- One row a cluster: its rows and its centre.
CREATE OR REPLACE MACRO clustereval._centers(__ce_coordinates, distance) AS TABLE
  WITH __ce_listed AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_single,
      CAST(MAX(__ce_n) AS BIGINT) AS __ce_size,
      list(__ce_centre ORDER BY __ce_i) AS __ce_centre,
      list(__ce_n * __ce_variance ORDER BY __ce_i) AS __ce_within
    FROM query_table(__ce_coordinates)
    GROUP BY __ce_partition, __ce_cluster, __ce_single
  )
  SELECT
    __ce_partition, __ce_cluster, __ce_single, __ce_size, __ce_within,
    clustereval._directed(__ce_centre, distance) AS __ce_centre
  FROM __ce_listed;

-- One row a partition: its rows, dimensions and centre, the mean of the clusters' means. The median is
-- no median of medians, and is taken of the points.
CREATE OR REPLACE MACRO clustereval._middles(__ce_points, __ce_coordinates, distance, center) AS TABLE
  WITH __ce_values AS NOT MATERIALIZED (
    SELECT
      __ce_partition,
      unnest(__ce_point) AS __ce_x,
      unnest(range(1, len(__ce_point) + 1)) AS __ce_i
    FROM query_table(__ce_points)
    WHERE __ce_kept AND center = 'median'
  ),
  __ce_middle AS (
    SELECT
      __ce_partition, __ce_i,
      fsum(__ce_n * __ce_centre) / fsum(__ce_n) AS __ce_centre
    FROM query_table(__ce_coordinates)
    WHERE center = 'mean'
    GROUP BY __ce_partition, __ce_i
    UNION ALL
    SELECT __ce_partition, __ce_i, median(__ce_x)
    FROM __ce_values
    GROUP BY __ce_partition, __ce_i
  ),
  __ce_listed AS (
    SELECT __ce_partition, COUNT(*) AS __ce_dims, list(__ce_centre ORDER BY __ce_i) AS __ce_centre
    FROM __ce_middle
    GROUP BY __ce_partition
  )
  SELECT
    __ce_partition, __ce_dims, clustereval._directed(__ce_centre, distance) AS __ce_centre
  FROM __ce_listed;

-- One row a cluster: its rows by kind, and the distances of its points to its centre and to the middle
-- of all. Rows that are left out are counted with their cluster too, and have no distance.
CREATE OR REPLACE MACRO clustereval._spreads(__ce_points, __ce_centers, __ce_middles, distance, p) AS TABLE
  WITH __ce_targets AS (
    SELECT
      __ce_c.__ce_partition, __ce_c.__ce_cluster, __ce_c.__ce_single, __ce_c.__ce_centre,
      __ce_m.__ce_centre AS __ce_middle
    FROM query_table(__ce_centers) AS __ce_c
    JOIN query_table(__ce_middles) AS __ce_m
      ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_c.__ce_partition
  ),
  __ce_measured AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_partition, __ce_x.__ce_cluster, __ce_x.__ce_single,
      __ce_x.__ce_kept, __ce_x.__ce_dropped, __ce_x.__ce_noisy, __ce_x.__ce_only,
      CASE
        WHEN __ce_x.__ce_kept
        THEN clustereval._distance(__ce_x.__ce_point, __ce_t.__ce_centre, distance, p)
      END AS __ce_d,
      CASE
        WHEN __ce_x.__ce_kept
        THEN clustereval._distance(__ce_x.__ce_point, __ce_t.__ce_middle, distance, p)
      END AS __ce_to_middle
    FROM query_table(__ce_points) AS __ce_x
    LEFT JOIN __ce_targets AS __ce_t
      ON __ce_t.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_t.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
      AND __ce_t.__ce_single = __ce_x.__ce_single
  ),
  __ce_summed AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_single,
      CAST(COUNT(CASE WHEN __ce_kept THEN 1 END) AS BIGINT) AS __ce_n,
      CAST(COUNT(CASE WHEN __ce_dropped THEN 1 END) AS BIGINT) AS __ce_dropped,
      CAST(COUNT(CASE WHEN __ce_noisy THEN 1 END) AS BIGINT) AS __ce_noise,
      COUNT(CASE WHEN __ce_only THEN 1 END) AS __ce_only_n,
      COUNT(__ce_d) AS __ce_measured_n,
      clustereval._sum(__ce_d) AS __ce_distances,
      clustereval._sum(clustereval._squared(__ce_d, distance)) AS __ce_squares,
      MAX(__ce_d) AS __ce_radius,
      clustereval._sum(__ce_to_middle) AS __ce_to_middle
    FROM __ce_measured
    GROUP BY __ce_partition, __ce_cluster, __ce_single
  )
  SELECT
    *,
    -- one distance that is no finite number makes the sum none
    __ce_measured_n < __ce_n OR NOT coalesce(isfinite(__ce_squares), TRUE) AS __ce_bad
  FROM __ce_summed;

-- One row a cluster that has points: its centre with its spread, and a number to tell it by.
CREATE OR REPLACE MACRO clustereval._clusters_of_points(__ce_centers, __ce_spreads) AS TABLE
  SELECT
    __ce_c.__ce_partition, __ce_c.__ce_cluster, __ce_c.__ce_single,
    __ce_c.__ce_centre, __ce_c.__ce_within,
    row_number() OVER () AS __ce_number,
    __ce_s.__ce_n, __ce_s.__ce_distances, __ce_s.__ce_squares, __ce_s.__ce_radius,
    __ce_s.__ce_to_middle,
    __ce_s.__ce_distances / __ce_s.__ce_n AS __ce_mean_distance
  FROM query_table(__ce_centers) AS __ce_c
  JOIN query_table(__ce_spreads) AS __ce_s
    ON __ce_s.__ce_partition IS NOT DISTINCT FROM __ce_c.__ce_partition
    AND __ce_s.__ce_cluster IS NOT DISTINCT FROM __ce_c.__ce_cluster
    AND __ce_s.__ce_single = __ce_c.__ce_single;

-- TRUE, or the error for points that cannot be measured. The rows are read for it only where there are
-- such points (__ce_bad), or partitions of different dimensions.
CREATE OR REPLACE MACRO clustereval._checked_points(
  __ce_points, __ce_spreads, __ce_middles, weights
) AS TABLE
  WITH __ce_alarm AS (
    SELECT COUNT(*) AS __ce_n
    FROM query_table(__ce_spreads)
    WHERE __ce_bad
    UNION ALL
    SELECT COUNT(DISTINCT __ce_dims) - 1
    FROM query_table(__ce_middles)
  ),
  __ce_suspects AS (
    SELECT __ce_p.__ce_vector
    FROM query_table(__ce_points) AS __ce_p
    JOIN (SELECT MAX(__ce_n) AS __ce_n FROM __ce_alarm) AS __ce_a ON __ce_a.__ce_n > 0
    WHERE __ce_p.__ce_kept
  ),
  __ce_faults AS (
    SELECT __ce_l.__ce_dims, clustereval._fault(__ce_s.__ce_vector, __ce_l.__ce_dims) AS __ce_fault
    FROM __ce_suspects AS __ce_s
    CROSS JOIN (SELECT MAX(len(__ce_vector)) AS __ce_dims FROM __ce_suspects) AS __ce_l
  ),
  __ce_first AS (
    SELECT
      MAX(__ce_dims) AS __ce_dims,
      COUNT(__ce_fault) AS __ce_rows,
      MIN(__ce_fault) AS __ce_fault
    FROM __ce_faults
    HAVING COUNT(*) > 0
  )
  SELECT CAST(CASE
    WHEN weights IS NOT NULL AND __ce_dims <> len(weights)
    THEN error(concat(
      'weights: expected one for each of ', __ce_dims, ' dimensions, got ', len(weights)
    ))
    ELSE clustereval._fault_error(__ce_fault, __ce_dims, __ce_rows)
  END AS BOOLEAN) AS __ce_valid
  FROM __ce_first;

---------------------------------------------------------------------------------------------------
-- Vectors as text
---------------------------------------------------------------------------------------------------

-- TRUE for a text that is a dense or a sparse vector. Lengths and indices have at most 9 digits.
CREATE OR REPLACE MACRO clustereval._is_vector_text(vec) AS
  regexp_full_match(vec, replace(replace(
    '(?i)_*(N(_+N)*_*)?|_*(\$[0-9]{1,9}\$_*)?(-?[0-9]{1,9}:N(_+-?[0-9]{1,9}:N)*_*)?',
    '_', '[ ,\t\r\n]'
  ), 'N', '[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)'));

CREATE OR REPLACE MACRO clustereval._is_sparse_text(vec) AS regexp_matches(vec, '[:$]');

-- The length that a sparse vector carries.
CREATE OR REPLACE MACRO clustereval._text_length(vec) AS
  CAST(nullif(regexp_extract(vec, '\$([0-9]+)\$', 1), '') AS BIGINT);

-- All numbers of a vector but its length; of a sparse one indices and coordinates by turns.
CREATE OR REPLACE MACRO clustereval._text_numbers(vec) AS
  CAST(regexp_extract_all(regexp_replace(vec, '\$[0-9]+\$', ''), '[^ ,:\t\r\n]+') AS DOUBLE[]);

-- The error of a text. Long ones are cut: they start with what the reader needs to find the row.
CREATE OR REPLACE MACRO clustereval._text_error(vec, expected, advice) AS
  error(concat(
    'parse_vector: expected ', expected, ', got ''', left(vec, 100),
    CASE WHEN length(vec) > 100 THEN '...' ELSE '' END, '''', advice
  ));

-- x, if the length is the one that was asked for.
CREATE OR REPLACE MACRO clustereval._checked_length(x, vec, dims, size) AS
  CASE
    WHEN dims <> size
    THEN clustereval._text_error(
      vec, concat('a vector of length ', size), '; leave out size where every vector has its own'
    )
    ELSE x
  END;

-- (index, coordinate) in the order of the indices. Lambdas here take zipped lists: one that looked into
-- another list would copy it for every element.
CREATE OR REPLACE MACRO clustereval._text_entries(numbers) AS
  list_sort(list_zip(CAST(numbers[1:-1:2] AS BIGINT[]), numbers[2:-1:2]));

CREATE OR REPLACE MACRO clustereval._text_indices(entries) AS
  list_transform(entries, lambda __ce_entry: __ce_entry[1]);

-- A dense vector from sorted entries: each after the zeros that part it from the one before.
CREATE OR REPLACE MACRO clustereval._filled(entries, dims) AS
  list_resize(flatten(list_transform(
    list_zip(
      entries, list_prepend(CAST(-1 AS BIGINT), clustereval._text_indices(entries)[:-2]), TRUE
    ),
    lambda __ce_pair: list_append(
      list_resize(CAST([] AS DOUBLE[]), __ce_pair[1][1] - __ce_pair[2] - 1, 0.0), __ce_pair[1][2]
    )
  )), dims, 0.0);

CREATE OR REPLACE MACRO clustereval._checked_filled(entries, vec, dims) AS
  CASE
    WHEN dims IS NULL
    THEN clustereval._text_error(
      vec, 'a sparse vector with its length, such as ''$4$0:1 2:3''', '; or give size'
    )
    WHEN entries[1][1] < 0 OR entries[-1][1] >= dims
    THEN clustereval._text_error(
      vec, concat('indices >= 0 and < ', dims), '; the first index is 0'
    )
    WHEN list_unique(clustereval._text_indices(entries)) < len(entries)
    THEN clustereval._text_error(vec, 'each index once', '; leave out all but one')
    ELSE clustereval._filled(entries, dims)
  END;

-- list_transform([x], lambda y: ...)[1] names x, which is then worked out once.
CREATE OR REPLACE MACRO clustereval._parsed_sparse(vec, dims) AS
  list_transform(
    [clustereval._text_entries(clustereval._text_numbers(vec))],
    lambda __ce_entries: clustereval._checked_filled(__ce_entries, vec, dims)
  )[1];

CREATE OR REPLACE MACRO clustereval._parsed_dense(vec, size) AS
  list_transform(
    [clustereval._text_numbers(vec)],
    lambda __ce_x: clustereval._checked_length(__ce_x, vec, len(__ce_x), size)
  )[1];

CREATE OR REPLACE MACRO clustereval._parsed(vec, size) AS
  CASE
    WHEN size IS NOT NULL AND NOT coalesce(size >= 1 AND size < 1e9 AND size = floor(size), FALSE)
    THEN error(concat('size: expected a whole number >= 1, got ', size))
    WHEN vec IS NULL THEN NULL
    WHEN NOT clustereval._is_vector_text(vec)
    THEN clustereval._text_error(vec, 'numbers such as ''0.1 0.2'' or ''0:1 2:3''', '')
    WHEN clustereval._is_sparse_text(vec)
    THEN clustereval._checked_length(
      clustereval._parsed_sparse(vec, coalesce(clustereval._text_length(vec), CAST(size AS BIGINT))),
      vec, clustereval._text_length(vec), size
    )
    ELSE clustereval._parsed_dense(vec, size)
  END;

-- A vector from text as Alink and libsvm write it: dense '0.1 0.2', or sparse '0:1 2:3', '$4$0:1 2:3'.
-- Examples:
--   SELECT clustereval.parse_vector('0.1, 0.2');
--   SELECT clustereval.parse_vector('$4$0:1 2:3');
--   SELECT clustereval.parse_vector('0:1 2:3', size := 4);
CREATE OR REPLACE MACRO clustereval.parse_vector(vec, size := NULL) AS
  clustereval._parsed(CAST(vec AS VARCHAR), size);
COMMENT ON MACRO clustereval.parse_vector IS
'A vector (DOUBLE[]) from text: numbers between spaces or commas, or a sparse vector of index:number, the first index 0, with its length in front as in ''$4$0:1 2:3'' or else given by size. NULL gives NULL, an empty text an empty vector; text that is no vector, or not one of length size, is an error. Source: Alink, VectorUtil.';

---------------------------------------------------------------------------------------------------
-- Nominal attributes
---------------------------------------------------------------------------------------------------

-- A name as SQL writes it, in its quotes.
CREATE OR REPLACE MACRO clustereval._identifier(name) AS concat('"', replace(name, '"', '""'), '"');

-- The names given: a list, or one alone.
CREATE OR REPLACE MACRO clustereval._names(columns) AS
  CASE
    WHEN typeof(columns) = 'VARCHAR' THEN [CAST(columns AS VARCHAR)]
    ELSE TRY_CAST(columns AS VARCHAR[])
  END;

-- x, if there are names, and no two are the same column.
CREATE OR REPLACE MACRO clustereval._checked_names(x, names) AS
  CASE
    WHEN coalesce(len(names), 0) = 0 OR list_count(names) < len(names)
    THEN error(concat(
      'columns: expected names of columns, such as [''color''], got ',
      coalesce(CAST(names AS VARCHAR), 'NULL')
    ))
    WHEN list_unique(list_transform(names, lambda __ce_u: lower(__ce_u))) < len(names)
    THEN error(concat('columns: ''', list_filter(
      names,
      lambda __ce_u, __ce_i: list_contains(
        list_transform(names[:__ce_i - 1], lambda __ce_v: lower(__ce_v)), lower(__ce_u)
      )
    )[1], ''' is given twice'))
    ELSE x
  END;

-- The names as a query: query() is where DuckDB takes names with quotes and without.
CREATE OR REPLACE MACRO clustereval._vdm_names_query(names) AS
  clustereval._checked_names(concat(
    'SELECT [',
    list_aggregate(list_transform(
      names, lambda __ce_u: concat('''', replace(__ce_u, '''', ''''''), '''')
    ), 'string_agg', ', '),
    '] AS __ce_names'
  ), names);

-- The query of vdm_encode's rows with a NULL column for each name that is missing, so that
-- _checked_nominal, and not the binder, tells of it.
CREATE OR REPLACE MACRO clustereval._vdm_rows_query(names) AS
  clustereval._checked_names(concat(
    'SELECT * FROM __ce_given UNION ALL BY NAME SELECT ',
    list_aggregate(list_transform(
      names, lambda __ce_u: concat('NULL AS ', clustereval._identifier(__ce_u))
    ), 'string_agg', ', '),
    ' WHERE FALSE'
  ), names);

-- The query that adds the profiles: columns are of any type, so each has its own tables. A profile is
-- filled as in parse_vector: every share after the zeros of the classes left out.
CREATE OR REPLACE MACRO clustereval._vdm_query(names) AS
  clustereval._checked_names(concat(
    'WITH ',
    list_aggregate(list_transform(
      names,
      lambda __ce_u, __ce_i: format(
        '__ce_cells_{0} AS (
          SELECT
            __ce_partition,
            __ce_label,
            {1} AS __ce_value,
            COUNT(*) AS __ce_n,
            dense_rank() OVER (PARTITION BY __ce_partition ORDER BY __ce_label) AS __ce_rank
          FROM __ce_rows
          WHERE __ce_label IS NOT NULL
          GROUP BY __ce_partition, __ce_label, {1}
        ),
        __ce_shares_{0} AS (
          SELECT
            __ce_partition,
            __ce_value,
            __ce_rank,
            __ce_rank - 1 - lag(__ce_rank, 1, 0) OVER (
              PARTITION BY __ce_partition, __ce_value ORDER BY __ce_rank
            ) AS __ce_zeros,
            __ce_n / SUM(__ce_n) OVER (PARTITION BY __ce_partition, __ce_value) AS __ce_share,
            MAX(__ce_rank) OVER (PARTITION BY __ce_partition) AS __ce_n_classes
          FROM __ce_cells_{0}
        ),
        __ce_profiles_{0} AS (
          SELECT
            __ce_partition,
            __ce_value,
            list_resize(
              flatten(list(
                list_append(
                  list_resize(CAST([] AS DOUBLE[]), __ce_zeros, 0.0), CAST(__ce_share AS DOUBLE)
                ) ORDER BY __ce_rank
              )),
              MAX(__ce_n_classes), 0.0
            ) AS __ce_profile
          FROM __ce_shares_{0}
          GROUP BY __ce_partition, __ce_value
        )',
        __ce_i, clustereval._identifier(__ce_u)
      )
    ), 'string_agg', ', '),
    ' SELECT __ce_rows.* EXCLUDE (__ce_partition, __ce_label)',
    list_aggregate(list_transform(
      names,
      lambda __ce_u, __ce_i: format(
        ', __ce_profiles_{0}.__ce_profile AS {1}',
        __ce_i, clustereval._identifier(concat(__ce_u, '_vdm'))
      )
    ), 'string_agg', ''),
    ' FROM __ce_rows',
    list_aggregate(list_transform(
      names,
      lambda __ce_u, __ce_i: format(
        ' LEFT JOIN __ce_profiles_{0}
          ON __ce_profiles_{0}.__ce_partition IS NOT DISTINCT FROM __ce_rows.__ce_partition
          AND __ce_profiles_{0}.__ce_value IS NOT DISTINCT FROM __ce_rows.{1}',
        __ce_i, clustereval._identifier(__ce_u)
      )
    ), 'string_agg', '')
  ), names);

-- The name most like u, if one is like it.
CREATE OR REPLACE MACRO clustereval._twin(u, names) AS
  list_filter(
    list_sort(list_transform(
      names,
      lambda __ce_name: {
        'edits': levenshtein(lower(u), lower(__ce_name)) / greatest(len(u), len(__ce_name)),
        'name': __ce_name
      }
    )),
    lambda __ce_found: __ce_found['edits'] <= 0.4
  )[1]['name'];

-- TRUE, if the table has the columns, and none that would be made from them.
CREATE OR REPLACE MACRO clustereval._checked_nominal(given, names) AS
  list_bool_and(list_transform(
    given,
    lambda __ce_u: CASE
      WHEN NOT list_contains(list_transform(names, lambda __ce_x: lower(__ce_x)), lower(__ce_u))
      THEN error(concat(
        'columns: column ''', __ce_u, ''' not found;',
        coalesce(' did you mean ''' || clustereval._twin(__ce_u, names) || '''?', ''),
        ' columns: ', list_aggregate(names, 'string_agg', ', ')
      ))
      WHEN list_contains(
        list_transform(names, lambda __ce_x: lower(__ce_x)), lower(concat(__ce_u, '_vdm'))
      )
      THEN error(concat(
        'columns: ''', __ce_u, '_vdm'' is also a column of the table; rename it first'
      ))
      ELSE TRUE
    END
  ));

-- The profile of each nominal value as vector: the shares of the classes among its rows. VDM_p(a, b) =
-- sum over classes of |P(c|a) - P(c|b)|^p is so a Minkowski distance, and mixed data are one vector.
-- Examples:
--   FROM clustereval.vdm_encode(assignments, [species], cluster);
--   FROM clustereval.vdm_encode(assignments, ['species', 'n'], cluster);
CREATE OR REPLACE MACRO clustereval.vdm_encode(tbl, columns, label, partition_by := NULL) AS TABLE
  WITH __ce_given AS NOT MATERIALIZED (
    SELECT *, label AS __ce_label, partition_by AS __ce_partition
    FROM query_table(tbl)
  ),
  __ce_described AS (
    SELECT list(column_name) AS __ce_columns
    FROM (DESCRIBE FROM __ce_given)
    WHERE column_name NOT IN ('__ce_label', '__ce_partition')
  ),
  __ce_checked AS (
    SELECT COUNT(*) AS __ce_none
    FROM __ce_given
    WHERE FALSE
    HAVING clustereval._checked_column(
      clustereval._checked_column(TRUE, 'partition_by', partition_by), 'label', label
    )
  ),
  __ce_named AS (
    SELECT clustereval._checked_nominal(__ce_names, __ce_columns) AS __ce_valid
    FROM query(clustereval._vdm_names_query(clustereval._names(columns))), __ce_described
  ),
  __ce_rows AS NOT MATERIALIZED (
    FROM query(clustereval._vdm_rows_query(clustereval._names(columns)))
  )
  SELECT *
  FROM query(clustereval._vdm_query(clustereval._names(columns)))
  WHERE (SELECT __ce_valid FROM __ce_named) AND (SELECT __ce_none FROM __ce_checked) = 0;
COMMENT ON MACRO TABLE clustereval.vdm_encode IS
'The rows of the table, in any order, and for each of columns (names, such as [color] or [''color'']) its profile: color_vdm is the list of P(class | color) over the classes of label in sorted order, of the partition''s own rows and classes. Distance minkowski of order p on profiles is the value difference metric. NULL is a value of its own; rows with a NULL label are not counted, and a value that has only such rows has a NULL profile. Source: Stanfill and Waltz (1986), Toward memory-based reasoning, doi:10.1145/7902.7906; Wilson and Martinez (1997), Improved heterogeneous distance functions, doi:10.1613/jair.346.';

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every cluster: its size and its centre.
-- Examples:
--   FROM clustereval.centroids(points, [x, y, z], cluster);
--   FROM clustereval.centroids(points, [x, y, z], cluster, center := 'median');
CREATE OR REPLACE MACRO clustereval.centroids(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := 'cluster', weights := NULL
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinates(__ce_points, center)),
  __ce_centers AS (SELECT * FROM clustereval._centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._middles(__ce_points, __ce_coordinates, distance, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._spreads(__ce_points, __ce_centers, __ce_middles, distance, p)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._checked_points(__ce_points, __ce_spreads, __ce_middles, weights)
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_cluster AS cluster,
    __ce_size AS n,
    clustereval._unscaled(__ce_centre, weights, distance, p) AS centroid
  FROM __ce_centers
  WHERE clustereval._checked_options(
    clustereval._valid_points(distance, p, center, weights, noise, noise_as)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_partition, __ce_cluster, __ce_single;
COMMENT ON MACRO TABLE clustereval.centroids IS
'One row a cluster: n points and their centroid, the mean of each coordinate (center ''median'': the median); with distance ''cosine'' the direction of the mean unit vector, as a vector of length 1 (a zero vector where the mean is one). With noise_as := ''singletons'' each noise point has a row of its own, cluster NULL.';
