-- mean_distance_bounds: bounds of mean distances, known before any distance of two points is measured.

---------------------------------------------------------------------------------------------------
-- Bounds of mean distances. u = x - c, where c is the mean of the cluster.
-- Each is moved by what rounding may have changed: 1e-12 of itself, and what the mean may have slipped.
---------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO clustereval._lowered(x, slip) AS GREATEST(x * (1 - 1e-12) - slip, 0.0);
CREATE OR REPLACE MACRO clustereval._raised(x, slip) AS x * (1 + 1e-12) + slip;

-- A norm of the mean of x - y is not above the mean of the norms (Jensen), and the triangle inequality
-- gives the rest; r is the mean distance to c.
CREATE OR REPLACE MACRO clustereval._lower_bound(u, r, slip, distance) AS
  clustereval._lowered(CASE WHEN distance = 'euclidean' THEN u ELSE GREATEST(u, r - u) END, slip);

-- The mean of a root is not above the root of the mean: of all squares for euclidean, coordinate by
-- coordinate for cityblock.
CREATE OR REPLACE MACRO clustereval._upper_bound(x, mean, variances, spread, u, r, slip, distance) AS
  clustereval._raised(
    CASE distance
      WHEN 'euclidean' THEN sqrt(u * u + spread)
      WHEN 'cityblock'
      THEN list_sum(list_transform(
        x,
        lambda __ce_x, __ce_i: sqrt(
          (__ce_x - mean[__ce_i]) * (__ce_x - mean[__ce_i]) + variances[__ce_i]
        )
      ))
      ELSE u + r
    END,
    slip
  );

-- One row for each query that has other clusters: the least upper bound of them.
CREATE OR REPLACE MACRO clustereval._limits(__ce_queries, __ce_clusters, plain_distance, p) AS TABLE
  WITH __ce_bounded AS NOT MATERIALIZED (
    SELECT *, clustereval._unchecked_distance(__ce_point, __ce_mean, plain_distance, p) AS __ce_u
    FROM clustereval._cross_with_clusters(__ce_queries, __ce_clusters)
    WHERE __ce_target <> __ce_number
  )
  SELECT
    __ce_row,
    MIN(clustereval._upper_bound(
      __ce_point, __ce_mean, __ce_variances, __ce_spread, __ce_u, __ce_mean_distance, __ce_rounding_error,
      plain_distance
    )) AS __ce_limit
  FROM __ce_bounded
  GROUP BY __ce_row;

-- One row for each query and each cluster that it may be held against.
CREATE OR REPLACE MACRO clustereval._limited(
  __ce_queries, __ce_clusters, __ce_limits, plain_distance, p
) AS TABLE
  WITH __ce_held AS NOT MATERIALIZED (
    SELECT __ce_q.*, __ce_l.__ce_limit
    FROM query_table(__ce_queries) AS __ce_q
    LEFT JOIN query_table(__ce_limits) AS __ce_l ON __ce_l.__ce_row = __ce_q.__ce_row
  ),
  __ce_bounded AS NOT MATERIALIZED (
    SELECT *, clustereval._unchecked_distance(__ce_point, __ce_mean, plain_distance, p) AS __ce_u
    FROM clustereval._cross_with_clusters(__ce_held, __ce_clusters)
  ),
  __ce_lower AS NOT MATERIALIZED (
    SELECT
      *,
      clustereval._lower_bound(
        __ce_u, __ce_mean_distance, __ce_rounding_error, plain_distance
      ) AS __ce_lower
    FROM __ce_bounded
  )
  SELECT
    __ce_row, __ce_number, __ce_target, __ce_lower,
    clustereval._upper_bound(
      __ce_point, __ce_mean, __ce_variances, __ce_spread, __ce_u, __ce_mean_distance, __ce_rounding_error,
      plain_distance
    ) AS __ce_upper
  FROM __ce_lower
  WHERE __ce_target = __ce_number OR __ce_lower <= __ce_limit;

-- For each cluster the covariances of (z, |z|^2), z = y - c, as rows of a matrix: the variance of
-- |x - y|^2 = |u|^2 - 2 u.z + |z|^2 is then w'Mw with w = (-2u, 1).
CREATE OR REPLACE MACRO clustereval._shapes(__ce_rows, __ce_clusters) AS TABLE
  WITH __ce_centerd AS NOT MATERIALIZED (
    SELECT
      __ce_c.__ce_number, __ce_c.__ce_n, __ce_c.__ce_spread,
      clustereval._subtract_vectors(__ce_x.__ce_point, __ce_c.__ce_mean) AS __ce_z
    FROM query_table(__ce_rows) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number
    WHERE __ce_c.__ce_n > 1
  ),
  __ce_vectors AS NOT MATERIALIZED (
    SELECT
      __ce_number,
      list_append(__ce_z, list_inner_product(__ce_z, __ce_z) - __ce_spread) AS __ce_vector
    FROM __ce_centerd
  ),
  __ce_dims AS (
    SELECT unnest(range(1, MAX(len(__ce_mean)) + 2)) AS __ce_i FROM query_table(__ce_clusters)
  ),
  __ce_pairs AS (
    SELECT __ce_x.__ce_i, __ce_y.__ce_i AS __ce_j
    FROM __ce_dims AS __ce_x
    JOIN __ce_dims AS __ce_y ON __ce_x.__ce_i <= __ce_y.__ce_i
  ),
  __ce_products AS MATERIALIZED (
    SELECT * FROM clustereval._product_sums(__ce_vectors, __ce_pairs)
  ),
  __ce_entries AS (
    SELECT __ce_number, __ce_i, __ce_j, __ce_value FROM __ce_products
    UNION ALL
    SELECT __ce_number, __ce_j, __ce_i, __ce_value FROM __ce_products WHERE __ce_i < __ce_j
  ),
  __ce_lines AS (
    SELECT
      __ce_e.__ce_number, __ce_e.__ce_i,
      list(__ce_e.__ce_value / __ce_c.__ce_n ORDER BY __ce_e.__ce_j) AS __ce_line
    FROM __ce_entries AS __ce_e
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_e.__ce_number
    GROUP BY __ce_e.__ce_number, __ce_e.__ce_i
  )
  SELECT __ce_number, list(__ce_line ORDER BY __ce_i) AS __ce_matrix
  FROM __ce_lines
  GROUP BY __ce_number;

CREATE OR REPLACE MACRO clustereval._quadratic_form(w, matrix) AS
  list_inner_product(
    w, list_transform(matrix, lambda __ce_line: list_inner_product(__ce_line, w))
  );

-- With t = |x - y|^2 over its mean m, root t >= 1 + (t - 1)/2 - (t - 1)^2/2: the mean distance is at
-- least root m (1 - variance / (2 m^2)). A variance that is too large or too small for a DOUBLE tells
-- nothing.
CREATE OR REPLACE MACRO clustereval._narrowed_bound(m, variance, slip) AS
  CASE
    WHEN m < 1e-140 OR NOT isfinite(variance) THEN 0.0
    ELSE clustereval._lowered(
      sqrt(m) * (1 - (variance * (1 + 1e-12) / m) / m / 2 - 1e-12), slip
    )
  END;

-- The matrix M costs as many steps as it has entries. At the cost of one more distance, a bound of that
-- variance rules out most clusters first: 4 u'Du + 4 |rest| |u|^2 - 4 u.K + W, with the diagonal D of
-- the covariances of z, the length of all other covariances, K those with |z|^2 and W its variance.
-- All but |u|^2 is linear in the coordinates of x and their squares (__ce_slopes, __ce_base).
CREATE OR REPLACE MACRO clustereval._screens(__ce_shapes, __ce_clusters) AS TABLE
  WITH __ce_parts AS (
    SELECT
      __ce_s.__ce_number,
      clustereval._subtract_vectors(__ce_c.__ce_mean, __ce_c.__ce_origin) AS __ce_c,
      list_transform(
        __ce_s.__ce_matrix[:-2], lambda __ce_line, __ce_i: __ce_line[__ce_i]
      ) AS __ce_d,
      list_sum(list_transform(
        __ce_s.__ce_matrix[:-2],
        lambda __ce_line, __ce_i: list_sum(list_transform(
          __ce_line[:-2],
          lambda __ce_v, __ce_j: CASE WHEN __ce_j = __ce_i THEN 0.0 ELSE __ce_v * __ce_v END
        ))
      )) AS __ce_squares,
      __ce_s.__ce_matrix[-1][:-2] AS __ce_k,
      __ce_s.__ce_matrix[-1][-1] AS __ce_w
    FROM query_table(__ce_shapes) AS __ce_s
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_s.__ce_number
  ),
  __ce_listed AS (
    SELECT
      __ce_number, __ce_squares, __ce_w,
      list_concat(
        list_transform(__ce_d, lambda __ce_v: 4 * __ce_v),
        list_transform(
          __ce_d, lambda __ce_v, __ce_i: -8 * __ce_v * __ce_c[__ce_i] - 4 * __ce_k[__ce_i]
        )
      ) AS __ce_slopes,
      list_sum(list_transform(
        __ce_d, lambda __ce_v, __ce_i: 4 * __ce_v * __ce_c[__ce_i] * __ce_c[__ce_i]
      )) AS __ce_square,
      4 * list_inner_product(__ce_c, __ce_k) AS __ce_product,
      4 * clustereval._norm(__ce_c) * clustereval._norm(__ce_k) AS __ce_size
    FROM __ce_parts
  )
  SELECT
    __ce_number, __ce_slopes,
    __ce_square + __ce_product + __ce_w
      + 1e-12 * (__ce_square + __ce_size + __ce_w) AS __ce_base,
    4 * sqrt(__ce_squares) * (1 + 1e-12) AS __ce_rest,
    1e-15 * len(__ce_slopes) * clustereval._norm(__ce_slopes) AS __ce_slope_slip
  FROM __ce_listed;

-- One row for each query and each cluster that the cheaper bounds leave, of euclidean distances.
CREATE OR REPLACE MACRO clustereval._screened(
  __ce_queries, __ce_clusters, __ce_limits, __ce_screens
) AS TABLE
  WITH __ce_centerd AS NOT MATERIALIZED (
    SELECT
      __ce_q.__ce_row, __ce_q.__ce_point, __ce_q.__ce_number, __ce_q.__ce_partition_no, __ce_l.__ce_limit,
      clustereval._subtract_vectors(__ce_q.__ce_point, __ce_c.__ce_origin) AS __ce_x
    FROM query_table(__ce_queries) AS __ce_q
    LEFT JOIN query_table(__ce_limits) AS __ce_l ON __ce_l.__ce_row = __ce_q.__ce_row
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_q.__ce_partition_no
  ),
  __ce_featured AS NOT MATERIALIZED (
    SELECT
      *,
      list_concat(list_transform(__ce_x, lambda __ce_v: __ce_v * __ce_v), __ce_x) AS __ce_features
    FROM __ce_centerd
  ),
  __ce_measured_features AS MATERIALIZED (
    SELECT * EXCLUDE (__ce_x), clustereval._norm(__ce_features) AS __ce_length FROM __ce_featured
  ),
  __ce_screened_clusters AS NOT MATERIALIZED (
    SELECT
      __ce_c.__ce_number, __ce_c.__ce_partition_no, __ce_c.__ce_k, __ce_c.__ce_most,
      __ce_c.__ce_mean, __ce_c.__ce_spread, __ce_c.__ce_rounding_error,
      __ce_s.__ce_slopes, __ce_s.__ce_base, __ce_s.__ce_rest, __ce_s.__ce_slope_slip
    FROM query_table(__ce_clusters) AS __ce_c
    LEFT JOIN query_table(__ce_screens) AS __ce_s ON __ce_s.__ce_number = __ce_c.__ce_number
  ),
  __ce_bounded AS NOT MATERIALIZED (
    SELECT *, list_distance(__ce_point, __ce_mean) AS __ce_u
    FROM clustereval._cross_with_clusters(__ce_measured_features, __ce_screened_clusters)
  )
  SELECT __ce_row, __ce_number, __ce_target
  FROM __ce_bounded
  WHERE CASE
    WHEN __ce_target = __ce_number THEN TRUE
    WHEN clustereval._lowered(__ce_u, __ce_rounding_error) > __ce_limit THEN FALSE
    WHEN __ce_slopes IS NULL THEN TRUE
    ELSE clustereval._narrowed_bound(
      __ce_u * __ce_u + __ce_spread,
      list_inner_product(__ce_features, __ce_slopes) + __ce_base + __ce_rest * __ce_u * __ce_u
        + __ce_slope_slip * __ce_length,
      __ce_rounding_error
    ) <= __ce_limit
  END;

-- The clusters that are left with their bounds, and without those that the best bound rules out.
CREATE OR REPLACE MACRO clustereval._narrowed(
  __ce_queries, __ce_clusters, __ce_limits, __ce_shapes, __ce_screened
) AS TABLE
  WITH __ce_measured AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_row, __ce_x.__ce_number, __ce_x.__ce_target, __ce_l.__ce_limit,
      __ce_c.__ce_spread, __ce_c.__ce_rounding_error,
      list_distance(__ce_q.__ce_point, __ce_c.__ce_mean) AS __ce_u,
      __ce_s.__ce_matrix,
      -- a column of its own: in the lambda that uses it, it would be worked out for every line
      list_append(
        list_transform(
          __ce_q.__ce_point, lambda __ce_v, __ce_i: -2 * (__ce_v - __ce_c.__ce_mean[__ce_i])
        ),
        1.0
      ) AS __ce_w
    FROM query_table(__ce_screened) AS __ce_x
    JOIN query_table(__ce_queries) AS __ce_q ON __ce_q.__ce_row = __ce_x.__ce_row
    LEFT JOIN query_table(__ce_limits) AS __ce_l ON __ce_l.__ce_row = __ce_x.__ce_row
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_target
    LEFT JOIN query_table(__ce_shapes) AS __ce_s ON __ce_s.__ce_number = __ce_x.__ce_target
  ),
  __ce_bounded AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_target, __ce_limit,
      GREATEST(
        clustereval._lowered(__ce_u, __ce_rounding_error),
        CASE
          WHEN __ce_matrix IS NOT NULL
          THEN clustereval._narrowed_bound(
            __ce_u * __ce_u + __ce_spread, clustereval._quadratic_form(__ce_w, __ce_matrix),
            __ce_rounding_error
          )
        END
      ) AS __ce_lower,
      clustereval._raised(sqrt(__ce_u * __ce_u + __ce_spread), __ce_rounding_error) AS __ce_upper
    FROM __ce_measured
  )
  SELECT __ce_row, __ce_number, __ce_target, __ce_lower, __ce_upper
  FROM __ce_bounded
  WHERE __ce_target = __ce_number OR __ce_lower <= __ce_limit;

-- One row a query: the bounds of a and b.
CREATE OR REPLACE MACRO clustereval._bound_silhouettes(__ce_bounds, __ce_clusters) AS TABLE
  WITH __ce_found AS (
    SELECT
      __ce_row,
      any_value(__ce_number) AS __ce_number,
      MAX(CASE WHEN __ce_target = __ce_number THEN __ce_lower END) AS __ce_a_lower,
      MAX(CASE WHEN __ce_target = __ce_number THEN __ce_upper END) AS __ce_a_upper,
      MIN(CASE WHEN __ce_target <> __ce_number THEN __ce_lower END) AS __ce_b_lower,
      MIN(CASE WHEN __ce_target <> __ce_number THEN __ce_upper END) AS __ce_b_upper
    FROM query_table(__ce_bounds)
    GROUP BY __ce_row
  )
  SELECT
    __ce_x.__ce_row, __ce_x.__ce_number,
    FALSE AS __ce_exact,
    clustereval._exclude_self(__ce_x.__ce_a_lower, __ce_c.__ce_n) AS __ce_a_lower,
    clustereval._exclude_self(__ce_x.__ce_a_upper, __ce_c.__ce_n) AS __ce_a_upper,
    __ce_x.__ce_b_lower, __ce_x.__ce_b_upper,
    CAST(NULL AS BIGINT) AS __ce_neighbor
  FROM __ce_found AS __ce_x
  JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number;

---------------------------------------------------------------------------------------------------
-- Tables of cityblock distances
---------------------------------------------------------------------------------------------------

-- For cityblock the bounds by Jensen leave most clusters. The mean distance along one coordinate is a
-- convex function of it, and a table of that function bounds it far better: 32 cells from 4 standard
-- deviations below the mean to 4 above. The chord of a cell is above it, by at most half the cell's width
-- times the share of values in the cell. Lists hold all coordinates, one after the other.
CREATE OR REPLACE MACRO clustereval._grids(__ce_rows, __ce_clusters) AS TABLE
  WITH __ce_members AS NOT MATERIALIZED (
    SELECT
      __ce_c.__ce_number,
      unnest(__ce_x.__ce_point) AS __ce_v,
      unnest(__ce_c.__ce_mean) AS __ce_mean,
      sqrt(unnest(__ce_c.__ce_variances)) AS __ce_sigma,
      unnest(range(1, len(__ce_c.__ce_mean) + 1)) AS __ce_i
    FROM query_table(__ce_rows) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number
  ),
  __ce_cells AS (
    SELECT
      __ce_number, __ce_i,
      CASE
        WHEN __ce_sigma = 0 THEN 32
        ELSE CAST(floor(LEAST(
          GREATEST((__ce_v - __ce_mean) / __ce_sigma * 4 + 16, -1.0), 32.0
        )) AS BIGINT)
      END AS __ce_cell,
      MAX(__ce_sigma) AS __ce_sigma,
      CAST(COUNT(*) AS DOUBLE) AS __ce_n,
      SUM(__ce_v - __ce_mean) AS __ce_s
    FROM __ce_members
    GROUP BY __ce_number, __ce_i, 3
  ),
  __ce_wholes AS (
    SELECT
      __ce_number, __ce_i,
      MAX(__ce_sigma) AS __ce_sigma,
      SUM(__ce_n) AS __ce_n,
      SUM(__ce_s) AS __ce_t
    FROM __ce_cells
    GROUP BY __ce_number, __ce_i
  ),
  __ce_knots AS (
    SELECT *, unnest(range(0, 33)) AS __ce_cell FROM __ce_wholes
  ),
  __ce_running AS (
    SELECT
      __ce_k.__ce_number, __ce_k.__ce_i, __ce_k.__ce_cell, __ce_k.__ce_n, __ce_k.__ce_t,
      __ce_k.__ce_sigma,
      COALESCE(__ce_c.__ce_n, 0.0) AS __ce_in_cell,
      SUM(COALESCE(__ce_c.__ce_n, 0.0)) OVER __ce_below + COALESCE(__ce_b.__ce_n, 0.0) AS __ce_m,
      SUM(COALESCE(__ce_c.__ce_s, 0.0)) OVER __ce_below + COALESCE(__ce_b.__ce_s, 0.0) AS __ce_s
    FROM __ce_knots AS __ce_k
    LEFT JOIN __ce_cells AS __ce_c
      ON __ce_c.__ce_number = __ce_k.__ce_number AND __ce_c.__ce_i = __ce_k.__ce_i
      AND __ce_c.__ce_cell = __ce_k.__ce_cell
    LEFT JOIN __ce_cells AS __ce_b
      ON __ce_b.__ce_number = __ce_k.__ce_number AND __ce_b.__ce_i = __ce_k.__ce_i
      AND __ce_b.__ce_cell = -1
    WINDOW __ce_below AS (
      PARTITION BY __ce_k.__ce_number, __ce_k.__ce_i ORDER BY __ce_k.__ce_cell
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  ),
  -- the sums run to the end of the cell, the value is that at its start
  __ce_valued AS (
    SELECT
      *,
      (
        (2 * (__ce_m - __ce_in_cell) - __ce_n) * (__ce_cell - 16) / 4 * __ce_sigma
        - 2 * (__ce_s - __ce_cell_sum) + __ce_t
      ) / __ce_n AS __ce_value
    FROM (
      SELECT
        __ce_r.*, COALESCE(__ce_c.__ce_s, 0.0) AS __ce_cell_sum
      FROM __ce_running AS __ce_r
      LEFT JOIN __ce_cells AS __ce_c
        ON __ce_c.__ce_number = __ce_r.__ce_number AND __ce_c.__ce_i = __ce_r.__ce_i
        AND __ce_c.__ce_cell = __ce_r.__ce_cell
    ) AS __ce_summed
  ),
  __ce_listed AS (
    SELECT
      __ce_number,
      list(__ce_value ORDER BY __ce_i, __ce_cell) AS __ce_values,
      list(__ce_in_cell / __ce_n * __ce_sigma / 8 ORDER BY __ce_i, __ce_cell) AS __ce_gaps
    FROM __ce_valued
    GROUP BY __ce_number
  )
  SELECT
    __ce_c.__ce_number, __ce_c.__ce_partition_no, __ce_c.__ce_mean, __ce_c.__ce_variances,
    __ce_l.__ce_values, __ce_l.__ce_gaps,
    list_transform(
      __ce_c.__ce_variances,
      lambda __ce_v: CASE WHEN __ce_v > 0 THEN 4 / sqrt(__ce_v) ELSE 0.0 END
    ) AS __ce_scales,
    __ce_c.__ce_rounding_error + 1e-12 * list_sum(list_transform(
      __ce_c.__ce_variances, lambda __ce_v: sqrt(__ce_v)
    )) AS __ce_rounding_error
  FROM query_table(__ce_clusters) AS __ce_c
  JOIN __ce_listed AS __ce_l ON __ce_l.__ce_number = __ce_c.__ce_number;

-- Cells are counted from 1; 0 is outside of the table, where it is known that |u| <= mean <= root(u^2 + v).
CREATE OR REPLACE MACRO clustereval._grid_cell(z, scale) AS
  CASE
    WHEN scale > 0 AND z * scale >= -16 AND z * scale < 16
    THEN CAST(floor(z * scale + 16) AS BIGINT) + 1
    ELSE 0
  END;
CREATE OR REPLACE MACRO clustereval._chord(grid_values, z, scale, cell, after) AS
  grid_values[after + cell]
  + (grid_values[after + cell + 1] - grid_values[after + cell]) * (z * scale + 17 - cell);

CREATE OR REPLACE MACRO clustereval._grid_upper(x, mean, variances, scales, grid_values) AS
  list_sum(list_transform(
    x,
    lambda __ce_x, __ce_i: CASE
      WHEN clustereval._grid_cell(__ce_x - mean[__ce_i], scales[__ce_i]) = 0
      THEN sqrt((__ce_x - mean[__ce_i]) * (__ce_x - mean[__ce_i]) + variances[__ce_i])
      ELSE clustereval._chord(
        grid_values, __ce_x - mean[__ce_i], scales[__ce_i],
        clustereval._grid_cell(__ce_x - mean[__ce_i], scales[__ce_i]), (__ce_i - 1) * 33
      )
    END
  ));
CREATE OR REPLACE MACRO clustereval._grid_lower(x, mean, scales, grid_values, gaps) AS
  list_sum(list_transform(
    x,
    lambda __ce_x, __ce_i: CASE
      WHEN clustereval._grid_cell(__ce_x - mean[__ce_i], scales[__ce_i]) = 0
      THEN abs(__ce_x - mean[__ce_i])
      ELSE GREATEST(
        abs(__ce_x - mean[__ce_i]),
        clustereval._chord(
          grid_values, __ce_x - mean[__ce_i], scales[__ce_i],
          clustereval._grid_cell(__ce_x - mean[__ce_i], scales[__ce_i]), (__ce_i - 1) * 33
        ) - gaps[
          (__ce_i - 1) * 33 + clustereval._grid_cell(__ce_x - mean[__ce_i], scales[__ce_i])
        ]
      )
    END
  ));

-- One row for each query and each target that the tables leave. A lambda copies the lists that it looks
-- into, so a table is asked only where the bounds by Jensen leave a doubt: for the limit the one of the
-- cluster that they put nearest. The condition of a join is no equality for the reason that
-- _prefer_list_join gives.
CREATE OR REPLACE MACRO clustereval._grid_targets(
  __ce_queries, __ce_clusters, __ce_grids
) AS TABLE
  WITH __ce_near AS (
    SELECT
      __ce_q.__ce_row,
      arg_min(__ce_c.__ce_number, clustereval._upper_bound(
        __ce_q.__ce_point, __ce_c.__ce_mean, __ce_c.__ce_variances, 0.0, 0.0, 0.0, 0.0, 'cityblock'
      )) AS __ce_number
    FROM query_table(__ce_queries) AS __ce_q
    JOIN query_table(__ce_clusters) AS __ce_c
      ON __ce_c.__ce_partition_no = __ce_q.__ce_partition_no AND __ce_c.__ce_number <> __ce_q.__ce_number
    GROUP BY __ce_q.__ce_row
  ),
  __ce_limited AS MATERIALIZED (
    SELECT
      __ce_q.__ce_row, __ce_q.__ce_point, __ce_q.__ce_number, __ce_q.__ce_partition_no,
      clustereval._raised(
        clustereval._grid_upper(
          __ce_q.__ce_point, __ce_g.__ce_mean, __ce_g.__ce_variances, __ce_g.__ce_scales,
          __ce_g.__ce_values
        ),
        __ce_g.__ce_rounding_error
      ) AS __ce_limit
    FROM query_table(__ce_queries) AS __ce_q
    LEFT JOIN __ce_near AS __ce_l ON __ce_l.__ce_row = __ce_q.__ce_row
    LEFT JOIN query_table(__ce_grids) AS __ce_g ON __ce_g.__ce_number = __ce_l.__ce_number
  )
  SELECT __ce_q.__ce_row, __ce_q.__ce_number, __ce_g.__ce_number AS __ce_target
  FROM __ce_limited AS __ce_q
  JOIN query_table(__ce_grids) AS __ce_g ON list_contains([__ce_q.__ce_partition_no], __ce_g.__ce_partition_no)
  WHERE CASE
    WHEN __ce_g.__ce_number = __ce_q.__ce_number THEN TRUE
    WHEN clustereval._lowered(
      clustereval._unchecked_distance(__ce_q.__ce_point, __ce_g.__ce_mean, 'cityblock', 1), __ce_g.__ce_rounding_error
    ) > __ce_q.__ce_limit THEN FALSE
    ELSE clustereval._lowered(
      clustereval._grid_lower(
        __ce_q.__ce_point, __ce_g.__ce_mean, __ce_g.__ce_scales, __ce_g.__ce_values,
        __ce_g.__ce_gaps
      ),
      __ce_g.__ce_rounding_error
    ) <= __ce_q.__ce_limit
  END;

-- The same, by the bounds of _limited where clusters are small and many.
CREATE OR REPLACE MACRO clustereval._sorting_targets(__ce_queries, __ce_rows, __ce_clusters) AS TABLE
  WITH __ce_way AS MATERIALIZED (SELECT * FROM clustereval._prefer_list_join(__ce_clusters)),
  __ce_grids AS MATERIALIZED (SELECT * FROM clustereval._grids(__ce_rows, __ce_clusters)),
  __ce_few_queries AS NOT MATERIALIZED (
    SELECT __ce_q.*
    FROM query_table(__ce_queries) AS __ce_q
    JOIN __ce_way AS __ce_w ON __ce_w.__ce_few
  ),
  __ce_many_queries AS NOT MATERIALIZED (
    SELECT __ce_q.*
    FROM query_table(__ce_queries) AS __ce_q
    JOIN __ce_way AS __ce_w ON NOT __ce_w.__ce_few
  ),
  __ce_many_limits AS MATERIALIZED (
    SELECT * FROM clustereval._limits(__ce_many_queries, __ce_clusters, 'cityblock', 1)
  )
  SELECT * FROM clustereval._grid_targets(__ce_few_queries, __ce_clusters, __ce_grids)
  UNION ALL
  SELECT __ce_row, __ce_number, __ce_target
  FROM clustereval._limited(__ce_many_queries, __ce_clusters, __ce_many_limits, 'cityblock', 1);

---------------------------------------------------------------------------------------------------
-- Bounds of every query
---------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO clustereval._bounds_path(distance, p) AS
  concat('SELECT * FROM ', CASE
    WHEN clustereval._plain_distance_name(distance, p) = 'euclidean' THEN '__ce_narrowed'
    ELSE '__ce_limited'
  END);

-- The bounds of each query and its possible targets.
CREATE OR REPLACE MACRO clustereval._mean_distance_bounds(
  __ce_queries, __ce_rows, __ce_clusters, plain_distance, p
) AS TABLE
  WITH __ce_limits AS MATERIALIZED (
    SELECT * FROM clustereval._limits(__ce_queries, __ce_clusters, plain_distance, p)
  ),
  __ce_limited AS NOT MATERIALIZED (
    SELECT * FROM clustereval._limited(__ce_queries, __ce_clusters, __ce_limits, plain_distance, p)
  ),
  __ce_shapes AS MATERIALIZED (SELECT * FROM clustereval._shapes(__ce_rows, __ce_clusters)),
  __ce_screens AS (SELECT * FROM clustereval._screens(__ce_shapes, __ce_clusters)),
  __ce_screened AS NOT MATERIALIZED (
    SELECT * FROM clustereval._screened(__ce_queries, __ce_clusters, __ce_limits, __ce_screens)
  ),
  __ce_narrowed AS NOT MATERIALIZED (
    SELECT * FROM clustereval._narrowed(
      __ce_queries, __ce_clusters, __ce_limits, __ce_shapes, __ce_screened
    )
  )
  SELECT __ce_row, __ce_number, __ce_target, __ce_lower, __ce_upper
  FROM query(clustereval._bounds_path(plain_distance, p));
