-- mean_distance_bounds: bounds of mean distances, from sums over clusters and no distance of
-- points.
--
-- A query is a point whose silhouette is computed; a and b are its mean distances to its own
-- cluster and to the nearest other one. A target is a cluster whose mean distance to it is needed:
-- its own, or one whose lower bound is at most the upper bound of b (__ce_b_upper). Bounds rule out
-- (do not leave) the others. A member is any point that counts; __ce_clusters are the rows of
-- _cluster_moments. A table holds the values of a function at nodes, for one cluster.

---------------------------------------------------------------------------------------------------
-- Bounds from the means and variances of clusters
---------------------------------------------------------------------------------------------------

-- A lower bound x of a mean distance, lowered by what rounding may have added to it: 1e-12 of x,
-- and rounding_error, the absolute error that rounding may have caused in the cluster's mean. At
-- least 0.
CREATE OR REPLACE MACRO clustereval._minus_rounding(x, rounding_error) AS
  GREATEST(x * (1 - 1e-12) - rounding_error, 0.0);
-- An upper bound x of a mean distance, raised by what rounding may have taken off it: 1e-12 of x,
-- and rounding_error, the absolute error that rounding may have caused in the cluster's mean.
CREATE OR REPLACE MACRO clustereval._plus_rounding(x, rounding_error) AS
  x * (1 + 1e-12) + rounding_error;

-- Lower bound of the mean distance of a point to all points of a cluster. to_mean is its distance
-- to the cluster's mean, radius the mean distance of the cluster's points to that mean,
-- rounding_error the error of the mean, distance its name in lower case. The mean of norms is at
-- least the norm of the mean (Jensen); the other bound is the triangle inequality.
CREATE OR REPLACE MACRO clustereval._mean_distance_lower_bound(
  to_mean, radius, rounding_error, distance
) AS
  clustereval._minus_rounding(
    CASE WHEN distance = 'euclidean' THEN to_mean ELSE GREATEST(to_mean, radius - to_mean) END,
    rounding_error
  );

-- Upper bound of the mean distance of a point x to all points of a cluster, from the cluster's
-- mean, its variances by coordinate and their sum total_variance. to_mean is the distance of x to
-- the mean, radius the mean distance of the cluster's points to the mean, rounding_error the error
-- of the mean; `distance` is the name of the distance in lower case. The mean of roots is at most
-- the root of the mean: of all squares for euclidean, coordinate by coordinate for cityblock. For
-- other distances it is to_mean + radius, by the triangle inequality.
CREATE OR REPLACE MACRO clustereval._mean_distance_upper_bound(
  x, mean, variances, total_variance, to_mean, radius, rounding_error, distance
) AS
  clustereval._plus_rounding(
    CASE distance
      WHEN 'euclidean' THEN sqrt(to_mean * to_mean + total_variance)
      WHEN 'cityblock'
      THEN list_sum(list_transform(
        x,
        lambda __ce_x, __ce_i: sqrt(
          (__ce_x - mean[__ce_i]) * (__ce_x - mean[__ce_i]) + variances[__ce_i]
        )
      ))
      ELSE to_mean + radius
    END,
    rounding_error
  );

-- One row per queried point (__ce_row) of a partition with several clusters: __ce_b_upper, an upper
-- bound of its mean distance to the nearest other cluster, the least of the upper bounds for all
-- other clusters. Tables: __ce_queries, the queried points, whose silhouettes are computed (rows of
-- _cluster_members); __ce_clusters, the rows of _cluster_moments. plain_distance is the distance in
-- lower case.
CREATE OR REPLACE MACRO clustereval._nearest_upper_bounds(
  __ce_queries, __ce_clusters, plain_distance, p
) AS TABLE
  WITH __ce_other_clusters AS NOT MATERIALIZED (
    SELECT
      *,
      clustereval._unchecked_distance(__ce_point, __ce_mean, plain_distance, p) AS __ce_to_mean
    FROM clustereval._cross_with_clusters(__ce_queries, __ce_clusters)
    WHERE __ce_target <> __ce_number
  )
  SELECT
    __ce_row,
    MIN(clustereval._mean_distance_upper_bound(
      __ce_point, __ce_mean, __ce_variances, __ce_total_variance, __ce_to_mean, __ce_mean_distance,
      __ce_rounding_error, plain_distance
    )) AS __ce_b_upper
  FROM __ce_other_clusters
  GROUP BY __ce_row;

-- One row for each queried point (__ce_row) and each cluster (__ce_target) that is its own
-- (__ce_number) or may be the nearest other: its lower bound is at most __ce_b_upper of
-- __ce_nearest_bounds (_nearest_upper_bounds). __ce_lower and __ce_upper bound the mean distance of
-- the two, from means and variances of clusters. Tables: __ce_queries, the queried points, whose
-- silhouettes are computed (rows of _cluster_members); __ce_clusters, the rows of _cluster_moments.
-- plain_distance is the distance in lower case.
CREATE OR REPLACE MACRO clustereval._bounded_targets(
  __ce_queries, __ce_clusters, __ce_nearest_bounds, plain_distance, p
) AS TABLE
  WITH __ce_limited_queries AS NOT MATERIALIZED (
    SELECT query.*, nearest.__ce_b_upper
    FROM query_table(__ce_queries) AS query
    LEFT JOIN query_table(__ce_nearest_bounds) AS nearest ON nearest.__ce_row = query.__ce_row
  ),
  __ce_measured AS NOT MATERIALIZED (
    SELECT
      *,
      clustereval._unchecked_distance(__ce_point, __ce_mean, plain_distance, p) AS __ce_to_mean
    FROM clustereval._cross_with_clusters(__ce_limited_queries, __ce_clusters)
  ),
  __ce_lower_bounds AS NOT MATERIALIZED (
    SELECT
      *,
      clustereval._mean_distance_lower_bound(
        __ce_to_mean, __ce_mean_distance, __ce_rounding_error, plain_distance
      ) AS __ce_lower
    FROM __ce_measured
  )
  SELECT
    __ce_row, __ce_number, __ce_target, __ce_lower,
    clustereval._mean_distance_upper_bound(
      __ce_point, __ce_mean, __ce_variances, __ce_total_variance, __ce_to_mean, __ce_mean_distance,
      __ce_rounding_error, plain_distance
    ) AS __ce_upper
  FROM __ce_lower_bounds
  WHERE __ce_target = __ce_number OR __ce_lower <= __ce_b_upper;

---------------------------------------------------------------------------------------------------
-- Bounds of euclidean distances from second moments
---------------------------------------------------------------------------------------------------

-- One row per cluster (__ce_number) of two points or more: __ce_matrix, the covariance matrix M of
-- (z, |z|^2), a list of rows, where z = y - mean for its points y. With u = x - mean, the variance
-- over y of |x - y|^2 = |u|^2 - 2 u.z + |z|^2 is w'Mw where w = (-2u, 1); it serves to bound mean
-- euclidean distances. __ce_members is a table of all points (_cluster_members), __ce_clusters has
-- the rows of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._second_moments(__ce_members, __ce_clusters) AS TABLE
  WITH __ce_deviations AS NOT MATERIALIZED (
    SELECT
      cluster.__ce_number, cluster.__ce_total_variance,
      clustereval._subtract_vectors(member.__ce_point, cluster.__ce_mean) AS __ce_deviation
    FROM query_table(__ce_members) AS member
    JOIN query_table(__ce_clusters) AS cluster ON cluster.__ce_number = member.__ce_number
    WHERE cluster.__ce_n > 1
  ),
  __ce_vectors AS NOT MATERIALIZED (
    SELECT
      __ce_number,
      list_append(
        __ce_deviation,
        list_inner_product(__ce_deviation, __ce_deviation) - __ce_total_variance
      ) AS __ce_vector
    FROM __ce_deviations
  ),
  __ce_dims AS (
    SELECT unnest(range(1, MAX(len(__ce_mean)) + 2)) AS __ce_i FROM query_table(__ce_clusters)
  ),
  __ce_pairs AS (
    SELECT row_dim.__ce_i, column_dim.__ce_i AS __ce_j
    FROM __ce_dims AS row_dim
    JOIN __ce_dims AS column_dim ON row_dim.__ce_i <= column_dim.__ce_i
  ),
  __ce_products AS MATERIALIZED (
    SELECT * FROM clustereval._product_sums(__ce_vectors, __ce_pairs)
  ),
  __ce_entries AS (
    SELECT __ce_number, __ce_i, __ce_j, __ce_value FROM __ce_products
    UNION ALL
    SELECT __ce_number, __ce_j, __ce_i, __ce_value FROM __ce_products WHERE __ce_i < __ce_j
  ),
  __ce_matrix_rows AS (
    SELECT
      entry.__ce_number, entry.__ce_i,
      list(entry.__ce_value / cluster.__ce_n ORDER BY entry.__ce_j ASC NULLS LAST)
        AS __ce_matrix_row
    FROM __ce_entries AS entry
    JOIN query_table(__ce_clusters) AS cluster ON cluster.__ce_number = entry.__ce_number
    GROUP BY entry.__ce_number, entry.__ce_i
  )
  SELECT __ce_number, list(__ce_matrix_row ORDER BY __ce_i ASC NULLS LAST) AS __ce_matrix
  FROM __ce_matrix_rows
  GROUP BY __ce_number;

-- w'Mw, a number, for a vector w and a matrix M, given as the list of its rows.
CREATE OR REPLACE MACRO clustereval._quadratic_form(w, matrix) AS
  list_inner_product(
    w, list_transform(matrix, lambda __ce_matrix_row: list_inner_product(__ce_matrix_row, w))
  );

-- Lower bound of the mean of sqrt(Z), for a random variable Z >= 0 (a squared distance) with mean m
-- and a variance of at most `variance`. It is lowered by rounding_error (see _minus_rounding). With
-- t = Z / m, sqrt(t) is at least 1 + (t - 1)/2 - (t - 1)^2/2, and its mean at least 1 - variance /
-- (2 m^2). The bound is 0 if m is too small or the variance too large for a DOUBLE.
CREATE OR REPLACE MACRO clustereval._root_mean_lower_bound(m, variance, rounding_error) AS
  CASE
    WHEN m < 1e-140 OR NOT isfinite(variance) THEN 0.0
    ELSE clustereval._minus_rounding(
      sqrt(m) * (1 - (variance * (1 + 1e-12) / m) / m / 2 - 1e-12), rounding_error
    )
  END;

-- One row per cluster (__ce_number) of two points or more: the terms of an upper bound of w'Mw (see
-- _second_moments), the variance over its points y of |x - y|^2 for a point x. It costs one more
-- distance, and rules out most clusters before all entries of M are needed: 4 u'Du + 4 r |u|^2 - 4
-- u.s + v for u = x - mean and z = y - mean, with the diagonal D of the covariances of z, r the
-- norm of all others (__ce_residual is 4 r), s the covariances of z with |z|^2, and v the variance
-- of |z|^2. Apart from 4 r |u|^2, it is linear in the squares and coordinates of x - origin:
-- __ce_slopes, __ce_intercept; __ce_slope_rounding times their norm is its rounding error.
-- __ce_moments has the rows of _second_moments, __ce_clusters those of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._variance_bounds(__ce_moments, __ce_clusters) AS TABLE
  WITH __ce_matrix_parts AS (
    SELECT
      moments.__ce_number,
      clustereval._subtract_vectors(cluster.__ce_mean, cluster.__ce_origin) AS __ce_offset,
      list_transform(
        moments.__ce_matrix[:-2], lambda __ce_matrix_row, __ce_i: __ce_matrix_row[__ce_i]
      ) AS __ce_diagonal,
      list_sum(list_transform(
        moments.__ce_matrix[:-2],
        lambda __ce_matrix_row, __ce_i: list_sum(list_transform(
          __ce_matrix_row[:-2],
          lambda __ce_entry, __ce_j:
            CASE WHEN __ce_j = __ce_i THEN 0.0 ELSE __ce_entry * __ce_entry END
        ))
      )) AS __ce_residual_squares,
      moments.__ce_matrix[-1][:-2] AS __ce_skews,
      moments.__ce_matrix[-1][-1] AS __ce_tail
    FROM query_table(__ce_moments) AS moments
    JOIN query_table(__ce_clusters) AS cluster ON cluster.__ce_number = moments.__ce_number
  ),
  __ce_terms AS (
    SELECT
      __ce_number, __ce_residual_squares, __ce_tail,
      list_concat(
        list_transform(__ce_diagonal, lambda __ce_entry: 4 * __ce_entry),
        list_transform(
          __ce_diagonal,
          lambda __ce_entry, __ce_i:
            -8 * __ce_entry * __ce_offset[__ce_i] - 4 * __ce_skews[__ce_i]
        )
      ) AS __ce_slopes,
      list_sum(list_transform(
        __ce_diagonal,
        lambda __ce_entry, __ce_i: 4 * __ce_entry * __ce_offset[__ce_i] * __ce_offset[__ce_i]
      )) AS __ce_square_term,
      4 * list_inner_product(__ce_offset, __ce_skews) AS __ce_skew_term,
      4 * clustereval._norm(__ce_offset) * clustereval._norm(__ce_skews) AS __ce_skew_term_bound
    FROM __ce_matrix_parts
  )
  SELECT
    __ce_number, __ce_slopes,
    __ce_square_term + __ce_skew_term + __ce_tail
      + 1e-12 * (__ce_square_term + __ce_skew_term_bound + __ce_tail) AS __ce_intercept,
    4 * sqrt(__ce_residual_squares) * (1 + 1e-12) AS __ce_residual,
    1e-15 * len(__ce_slopes) * clustereval._norm(__ce_slopes) AS __ce_slope_rounding
  FROM __ce_terms;

-- One row for each queried point (__ce_row) and each cluster (__ce_target) that is its own
-- (__ce_number) or may be the nearest other in euclidean distance: the bounds of
-- __ce_variance_bounds (_variance_bounds) do not put it beyond __ce_b_upper of __ce_nearest_bounds
-- (_nearest_upper_bounds). Tables: __ce_queries, the queried points, whose silhouettes are computed
-- (rows of _cluster_members); __ce_clusters, the rows of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._screened_targets(
  __ce_queries, __ce_clusters, __ce_nearest_bounds, __ce_variance_bounds
) AS TABLE
  WITH __ce_offset_queries AS NOT MATERIALIZED (
    SELECT
      query.__ce_row, query.__ce_point, query.__ce_number, query.__ce_partition_no,
      nearest.__ce_b_upper,
      clustereval._subtract_vectors(query.__ce_point, cluster.__ce_origin) AS __ce_offset
    FROM query_table(__ce_queries) AS query
    LEFT JOIN query_table(__ce_nearest_bounds) AS nearest ON nearest.__ce_row = query.__ce_row
    JOIN query_table(__ce_clusters) AS cluster ON cluster.__ce_number = query.__ce_partition_no
  ),
  __ce_featured AS NOT MATERIALIZED (
    SELECT
      *,
      list_concat(
        list_transform(__ce_offset, lambda __ce_x: __ce_x * __ce_x), __ce_offset
      ) AS __ce_features
    FROM __ce_offset_queries
  ),
  __ce_featured_queries AS MATERIALIZED (
    SELECT
      * EXCLUDE (__ce_offset), clustereval._norm(__ce_features) AS __ce_features_norm
    FROM __ce_featured
  ),
  __ce_screening_clusters AS NOT MATERIALIZED (
    SELECT
      cluster.__ce_number, cluster.__ce_partition_no,
      cluster.__ce_n_clusters, cluster.__ce_n_all_clusters,
      cluster.__ce_mean, cluster.__ce_total_variance, cluster.__ce_rounding_error,
      bound.__ce_slopes, bound.__ce_intercept, bound.__ce_residual, bound.__ce_slope_rounding
    FROM query_table(__ce_clusters) AS cluster
    LEFT JOIN query_table(__ce_variance_bounds) AS bound
      ON bound.__ce_number = cluster.__ce_number
  ),
  __ce_measured AS NOT MATERIALIZED (
    SELECT *, list_distance(__ce_point, __ce_mean) AS __ce_to_mean
    FROM clustereval._cross_with_clusters(__ce_featured_queries, __ce_screening_clusters)
  )
  SELECT __ce_row, __ce_number, __ce_target
  FROM __ce_measured
  WHERE CASE
    WHEN __ce_target = __ce_number THEN TRUE
    WHEN clustereval._minus_rounding(__ce_to_mean, __ce_rounding_error) > __ce_b_upper THEN FALSE
    WHEN __ce_slopes IS NULL THEN TRUE
    ELSE clustereval._root_mean_lower_bound(
      __ce_to_mean * __ce_to_mean + __ce_total_variance,
      list_inner_product(__ce_features, __ce_slopes) + __ce_intercept
        + __ce_residual * __ce_to_mean * __ce_to_mean
        + __ce_slope_rounding * __ce_features_norm,
      __ce_rounding_error
    ) <= __ce_b_upper
  END;

-- The rows of __ce_screened (_screened_targets) that closer bounds do not rule out: one row for
-- each queried point (__ce_row) and each cluster (__ce_target) that is its own (__ce_number) or may
-- be the nearest other in euclidean distance. __ce_lower and __ce_upper bound the mean distance of
-- the two, from the covariances in __ce_moments (_second_moments). Tables: __ce_queries, the
-- queried points, whose silhouettes are computed (rows of _cluster_members); __ce_clusters, the
-- rows of _cluster_moments; __ce_nearest_bounds, those of _nearest_upper_bounds.
CREATE OR REPLACE MACRO clustereval._refined_targets(
  __ce_queries, __ce_clusters, __ce_nearest_bounds, __ce_moments, __ce_screened
) AS TABLE
  WITH __ce_measured AS NOT MATERIALIZED (
    SELECT
      pair.__ce_row, pair.__ce_number, pair.__ce_target, nearest.__ce_b_upper,
      cluster.__ce_total_variance, cluster.__ce_rounding_error,
      list_distance(query.__ce_point, cluster.__ce_mean) AS __ce_to_mean,
      moments.__ce_matrix,
      -- A column of its own: inside the lambda of _quadratic_form it would be computed for each row
      -- of the matrix.
      list_append(
        list_transform(
          query.__ce_point, lambda __ce_x, __ce_i: -2 * (__ce_x - cluster.__ce_mean[__ce_i])
        ),
        1.0
      ) AS __ce_factors
    FROM query_table(__ce_screened) AS pair
    JOIN query_table(__ce_queries) AS query ON query.__ce_row = pair.__ce_row
    LEFT JOIN query_table(__ce_nearest_bounds) AS nearest ON nearest.__ce_row = pair.__ce_row
    JOIN query_table(__ce_clusters) AS cluster ON cluster.__ce_number = pair.__ce_target
    LEFT JOIN query_table(__ce_moments) AS moments ON moments.__ce_number = pair.__ce_target
  ),
  __ce_bounded AS NOT MATERIALIZED (
    SELECT
      __ce_row, __ce_number, __ce_target, __ce_b_upper,
      GREATEST(
        clustereval._minus_rounding(__ce_to_mean, __ce_rounding_error),
        CASE
          WHEN __ce_matrix IS NOT NULL
          THEN clustereval._root_mean_lower_bound(
            __ce_to_mean * __ce_to_mean + __ce_total_variance,
            clustereval._quadratic_form(__ce_factors, __ce_matrix),
            __ce_rounding_error
          )
        END
      ) AS __ce_lower,
      clustereval._plus_rounding(
        sqrt(__ce_to_mean * __ce_to_mean + __ce_total_variance), __ce_rounding_error
      ) AS __ce_upper
    FROM __ce_measured
  )
  SELECT __ce_row, __ce_number, __ce_target, __ce_lower, __ce_upper
  FROM __ce_bounded
  WHERE __ce_target = __ce_number OR __ce_lower <= __ce_b_upper;

-- One row per queried point (__ce_row): bounds of its mean distances to the other points of its own
-- cluster (__ce_a_lower, __ce_a_upper) and to the nearest other cluster (__ce_b_lower,
-- __ce_b_upper). __ce_bounds has one row for each point and cluster that may be its nearest
-- (_mean_distance_bounds), __ce_clusters the rows of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._means_of_bounds(__ce_bounds, __ce_clusters) AS TABLE
  WITH __ce_grouped AS (
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
    query.__ce_row, query.__ce_number,
    FALSE AS __ce_exact,
    clustereval._exclude_self(query.__ce_a_lower, own.__ce_n) AS __ce_a_lower,
    clustereval._exclude_self(query.__ce_a_upper, own.__ce_n) AS __ce_a_upper,
    query.__ce_b_lower, query.__ce_b_upper,
    CAST(NULL AS BIGINT) AS __ce_neighbor
  FROM __ce_grouped AS query
  JOIN query_table(__ce_clusters) AS own ON own.__ce_number = query.__ce_number;

---------------------------------------------------------------------------------------------------
-- Tables of cityblock distances
---------------------------------------------------------------------------------------------------

-- One row per cluster (__ce_number): its table for cityblock. The mean distance of a cluster's
-- points to x along one coordinate is a convex function of x, which its values at 33 nodes, from 4
-- standard deviations below the mean to 4 above, bound far better than mean and variance.
-- __ce_values are these values. __ce_gaps, at the start of each interval: the most that its chord
-- is above the function, half the interval's width times the share of points in it. Both lists hold
-- 33 numbers for each coordinate, one coordinate after the other. __ce_scales: nodes per unit, by
-- coordinate. __ce_members is a table of all points (_cluster_members), __ce_clusters has the rows
-- of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._cityblock_tables(__ce_members, __ce_clusters) AS TABLE
  WITH __ce_member_coordinates AS NOT MATERIALIZED (
    SELECT
      cluster.__ce_number,
      unnest(member.__ce_point) AS __ce_coordinate,
      unnest(cluster.__ce_mean) AS __ce_mean,
      sqrt(unnest(cluster.__ce_variances)) AS __ce_sigma,
      unnest(range(1, len(cluster.__ce_mean) + 1)) AS __ce_i
    FROM query_table(__ce_members) AS member
    JOIN query_table(__ce_clusters) AS cluster ON cluster.__ce_number = member.__ce_number
  ),
  -- Interval -1 is below the first node, 32 above the last.
  __ce_intervals AS (
    SELECT
      __ce_number, __ce_i,
      CASE
        WHEN __ce_sigma = 0 THEN 32
        ELSE CAST(floor(LEAST(
          GREATEST((__ce_coordinate - __ce_mean) / __ce_sigma * 4 + 16, -1.0), 32.0
        )) AS BIGINT)
      END AS __ce_interval,
      MAX(__ce_sigma) AS __ce_sigma,
      CAST(COUNT(*) AS DOUBLE) AS __ce_n,
      SUM(__ce_coordinate - __ce_mean) AS __ce_sum
    FROM __ce_member_coordinates
    GROUP BY __ce_number, __ce_i, 3
  ),
  __ce_totals AS (
    SELECT
      __ce_number, __ce_i,
      MAX(__ce_sigma) AS __ce_sigma,
      SUM(__ce_n) AS __ce_n,
      SUM(__ce_sum) AS __ce_total_sum
    FROM __ce_intervals
    GROUP BY __ce_number, __ce_i
  ),
  __ce_nodes AS (
    SELECT *, unnest(range(0, 33)) AS __ce_interval FROM __ce_totals
  ),
  __ce_running AS (
    SELECT
      node.__ce_number, node.__ce_i, node.__ce_interval, node.__ce_n, node.__ce_total_sum,
      node.__ce_sigma,
      COALESCE(inside.__ce_n, 0.0) AS __ce_n_inside,
      SUM(COALESCE(inside.__ce_n, 0.0)) OVER __ce_below
        + COALESCE(first_below.__ce_n, 0.0) AS __ce_n_below,
      SUM(COALESCE(inside.__ce_sum, 0.0)) OVER __ce_below
        + COALESCE(first_below.__ce_sum, 0.0) AS __ce_sum_below
    FROM __ce_nodes AS node
    LEFT JOIN __ce_intervals AS inside
      ON inside.__ce_number = node.__ce_number AND inside.__ce_i = node.__ce_i
      AND inside.__ce_interval = node.__ce_interval
    LEFT JOIN __ce_intervals AS first_below
      ON first_below.__ce_number = node.__ce_number AND first_below.__ce_i = node.__ce_i
      AND first_below.__ce_interval = -1
    WINDOW __ce_below AS (
      PARTITION BY node.__ce_number, node.__ce_i ORDER BY node.__ce_interval ASC NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  ),
  -- Running sums include the interval that starts at the node, whose share is taken off again.
  __ce_node_values AS (
    SELECT
      *,
      (
        (2 * (__ce_n_below - __ce_n_inside) - __ce_n) * (__ce_interval - 16) / 4 * __ce_sigma
        - 2 * (__ce_sum_below - __ce_sum_inside) + __ce_total_sum
      ) / __ce_n AS __ce_value
    FROM (
      SELECT
        running.*, COALESCE(inside.__ce_sum, 0.0) AS __ce_sum_inside
      FROM __ce_running AS running
      LEFT JOIN __ce_intervals AS inside
        ON inside.__ce_number = running.__ce_number AND inside.__ce_i = running.__ce_i
        AND inside.__ce_interval = running.__ce_interval
    ) AS summed
  ),
  __ce_lists AS (
    SELECT
      __ce_number,
      list(__ce_value ORDER BY __ce_i ASC NULLS LAST, __ce_interval ASC NULLS LAST) AS __ce_values,
      list(
        __ce_n_inside / __ce_n * __ce_sigma / 8
        ORDER BY __ce_i ASC NULLS LAST, __ce_interval ASC NULLS LAST
      ) AS __ce_gaps
    FROM __ce_node_values
    GROUP BY __ce_number
  )
  SELECT
    cluster.__ce_number, cluster.__ce_partition_no, cluster.__ce_mean, cluster.__ce_variances,
    lists.__ce_values, lists.__ce_gaps,
    list_transform(
      cluster.__ce_variances,
      lambda __ce_v: CASE WHEN __ce_v > 0 THEN 4 / sqrt(__ce_v) ELSE 0.0 END
    ) AS __ce_scales,
    cluster.__ce_rounding_error + 1e-12 * list_sum(list_transform(
      cluster.__ce_variances, lambda __ce_v: sqrt(__ce_v)
    )) AS __ce_rounding_error
  FROM query_table(__ce_clusters) AS cluster
  JOIN __ce_lists AS lists ON lists.__ce_number = cluster.__ce_number;

-- Number, from 1, of the interval between two of the 33 nodes of a table (_cityblock_tables) that
-- holds z, a coordinate minus the cluster's mean; 0 outside of the table, where |z| and sqrt(z^2 +
-- variance) are the bounds. scale: nodes per unit.
CREATE OR REPLACE MACRO clustereval._table_interval(z, scale) AS
  CASE
    WHEN scale > 0 AND z * scale >= -16 AND z * scale < 16
    THEN CAST(floor(z * scale + 16) AS BIGINT) + 1
    ELSE 0
  END;

-- Value at z of the chord over an interval of a table (_cityblock_tables), an upper bound of the
-- mean distance along one coordinate. z is the coordinate minus the cluster's mean, scale the nodes
-- per unit, interval_no the interval's number (_table_interval). node_values is the list
-- __ce_values, for all coordinates; `after` is the number of its values before those of this
-- coordinate.
CREATE OR REPLACE MACRO clustereval._chord_value(node_values, z, scale, interval_no, after) AS
  node_values[after + interval_no]
  + (node_values[after + interval_no + 1] - node_values[after + interval_no])
    * (z * scale + 17 - interval_no);

-- Upper bound of the mean cityblock distance of a point x to all points of a cluster, from its mean
-- and variances by coordinate, and from its lists __ce_scales and __ce_values (node_values) of
-- _cityblock_tables.
CREATE OR REPLACE MACRO clustereval._table_upper_bound(x, mean, variances, scales, node_values) AS
  list_sum(list_transform(
    x,
    lambda __ce_x, __ce_i: CASE
      WHEN clustereval._table_interval(__ce_x - mean[__ce_i], scales[__ce_i]) = 0
      THEN sqrt((__ce_x - mean[__ce_i]) * (__ce_x - mean[__ce_i]) + variances[__ce_i])
      ELSE clustereval._chord_value(
        node_values, __ce_x - mean[__ce_i], scales[__ce_i],
        clustereval._table_interval(__ce_x - mean[__ce_i], scales[__ce_i]), (__ce_i - 1) * 33
      )
    END
  ));
-- Lower bound of the mean cityblock distance of a point x to all points of a cluster, from its
-- mean, and from its lists __ce_scales, __ce_values (node_values) and __ce_gaps of
-- _cityblock_tables.
CREATE OR REPLACE MACRO clustereval._table_lower_bound(x, mean, scales, node_values, gaps) AS
  list_sum(list_transform(
    x,
    lambda __ce_x, __ce_i: CASE
      WHEN clustereval._table_interval(__ce_x - mean[__ce_i], scales[__ce_i]) = 0
      THEN abs(__ce_x - mean[__ce_i])
      ELSE GREATEST(
        abs(__ce_x - mean[__ce_i]),
        clustereval._chord_value(
          node_values, __ce_x - mean[__ce_i], scales[__ce_i],
          clustereval._table_interval(__ce_x - mean[__ce_i], scales[__ce_i]), (__ce_i - 1) * 33
        ) - gaps[
          (__ce_i - 1) * 33 + clustereval._table_interval(__ce_x - mean[__ce_i], scales[__ce_i])
        ]
      )
    END
  ));

-- One row for each queried point (__ce_row) and each cluster (__ce_target) that is its own
-- (__ce_number) or may be the nearest other in cityblock distance, by the bounds of __ce_tables
-- (_cityblock_tables). A lambda copies the lists that it looks into, so tables are used only after
-- cheaper bounds: the upper bound for the nearest other cluster is from the table of one cluster,
-- the nearest by cheaper bounds. The join condition is no equality for the reason that
-- _prefer_list_join states. Tables: __ce_queries, the queried points, whose silhouettes are
-- computed (rows of _cluster_members); __ce_clusters, the rows of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._table_targets(
  __ce_queries, __ce_clusters, __ce_tables
) AS TABLE
  WITH __ce_nearest_clusters AS (
    SELECT
      query.__ce_row,
      arg_min(cluster.__ce_number, clustereval._mean_distance_upper_bound(
        query.__ce_point, cluster.__ce_mean, cluster.__ce_variances, 0.0, 0.0, 0.0, 0.0, 'cityblock'
      )) AS __ce_number
    FROM query_table(__ce_queries) AS query
    JOIN query_table(__ce_clusters) AS cluster
      ON cluster.__ce_partition_no = query.__ce_partition_no
      AND cluster.__ce_number <> query.__ce_number
    GROUP BY query.__ce_row
  ),
  __ce_limited_queries AS MATERIALIZED (
    SELECT
      query.__ce_row, query.__ce_point, query.__ce_number, query.__ce_partition_no,
      clustereval._plus_rounding(
        clustereval._table_upper_bound(
          query.__ce_point, entry.__ce_mean, entry.__ce_variances, entry.__ce_scales,
          entry.__ce_values
        ),
        entry.__ce_rounding_error
      ) AS __ce_b_upper
    FROM query_table(__ce_queries) AS query
    LEFT JOIN __ce_nearest_clusters AS nearest ON nearest.__ce_row = query.__ce_row
    LEFT JOIN query_table(__ce_tables) AS entry ON entry.__ce_number = nearest.__ce_number
  )
  SELECT query.__ce_row, query.__ce_number, entry.__ce_number AS __ce_target
  FROM __ce_limited_queries AS query
  JOIN query_table(__ce_tables) AS entry
    ON list_contains([query.__ce_partition_no], entry.__ce_partition_no)
  WHERE CASE
    WHEN entry.__ce_number = query.__ce_number THEN TRUE
    WHEN clustereval._minus_rounding(
      clustereval._unchecked_distance(query.__ce_point, entry.__ce_mean, 'cityblock', 1),
      entry.__ce_rounding_error
    ) > query.__ce_b_upper THEN FALSE
    ELSE clustereval._minus_rounding(
      clustereval._table_lower_bound(
        query.__ce_point, entry.__ce_mean, entry.__ce_scales, entry.__ce_values, entry.__ce_gaps
      ),
      entry.__ce_rounding_error
    ) <= query.__ce_b_upper
  END;

-- One row for each queried point (__ce_row) and each cluster (__ce_target) that is its own
-- (__ce_number) or may be the nearest other in cityblock distance: by _table_targets, or by
-- _bounded_targets if clusters are small and many. Tables: __ce_queries, the queried points, whose
-- silhouettes are computed, and __ce_members, all points (rows of _cluster_members); __ce_clusters,
-- the rows of _cluster_moments.
CREATE OR REPLACE MACRO clustereval._cityblock_targets(
  __ce_queries, __ce_members, __ce_clusters
) AS TABLE
  WITH __ce_join_choice AS MATERIALIZED (
    SELECT * FROM clustereval._prefer_list_join(__ce_clusters)
  ),
  __ce_tables AS MATERIALIZED (
    SELECT * FROM clustereval._cityblock_tables(__ce_members, __ce_clusters)
  ),
  __ce_table_queries AS NOT MATERIALIZED (
    SELECT query.*
    FROM query_table(__ce_queries) AS query
    JOIN __ce_join_choice AS choice ON choice.__ce_prefer_lists
  ),
  __ce_bound_queries AS NOT MATERIALIZED (
    SELECT query.*
    FROM query_table(__ce_queries) AS query
    JOIN __ce_join_choice AS choice ON NOT choice.__ce_prefer_lists
  ),
  __ce_nearest_bounds AS MATERIALIZED (
    SELECT *
    FROM clustereval._nearest_upper_bounds(__ce_bound_queries, __ce_clusters, 'cityblock', 1)
  )
  SELECT * FROM clustereval._table_targets(__ce_table_queries, __ce_clusters, __ce_tables)
  UNION ALL
  SELECT __ce_row, __ce_number, __ce_target
  FROM clustereval._bounded_targets(
    __ce_bound_queries, __ce_clusters, __ce_nearest_bounds, 'cityblock', 1
  );

---------------------------------------------------------------------------------------------------
-- Bounds of every query
---------------------------------------------------------------------------------------------------

-- Text of a query, SELECT * FROM a CTE of _mean_distance_bounds: for euclidean (also minkowski of
-- order p = 2) the one with bounds from covariances, otherwise the one with bounds from variances.
-- The CTE that is not named is neither bound nor run.
CREATE OR REPLACE MACRO clustereval._select_bounds(distance, p) AS
  concat('SELECT * FROM ', CASE
    WHEN clustereval._plain_distance_name(distance, p) = 'euclidean' THEN '__ce_refined'
    ELSE '__ce_bounded'
  END);

-- One row for each queried point (__ce_row) and each cluster (__ce_target) that is its own
-- (__ce_number) or may be the nearest other: the bounds __ce_lower and __ce_upper of its mean
-- distance to all points of that cluster, from moments of clusters and no distance of points.
-- Tables: __ce_queries, the queried points, whose silhouettes are computed, and __ce_members, all
-- points (rows of _cluster_members); __ce_clusters, the rows of _cluster_moments. plain_distance is
-- the distance in lower case.
CREATE OR REPLACE MACRO clustereval._mean_distance_bounds(
  __ce_queries, __ce_members, __ce_clusters, plain_distance, p
) AS TABLE
  WITH __ce_nearest_bounds AS MATERIALIZED (
    SELECT *
    FROM clustereval._nearest_upper_bounds(__ce_queries, __ce_clusters, plain_distance, p)
  ),
  __ce_bounded AS NOT MATERIALIZED (
    SELECT * FROM clustereval._bounded_targets(
      __ce_queries, __ce_clusters, __ce_nearest_bounds, plain_distance, p
    )
  ),
  __ce_moments AS MATERIALIZED (
    SELECT * FROM clustereval._second_moments(__ce_members, __ce_clusters)
  ),
  __ce_variance_bounds AS (
    SELECT * FROM clustereval._variance_bounds(__ce_moments, __ce_clusters)
  ),
  __ce_screened AS NOT MATERIALIZED (
    SELECT * FROM clustereval._screened_targets(
      __ce_queries, __ce_clusters, __ce_nearest_bounds, __ce_variance_bounds
    )
  ),
  __ce_refined AS NOT MATERIALIZED (
    SELECT * FROM clustereval._refined_targets(
      __ce_queries, __ce_clusters, __ce_nearest_bounds, __ce_moments, __ce_screened
    )
  )
  SELECT __ce_row, __ce_number, __ce_target, __ce_lower, __ce_upper
  FROM query(clustereval._select_bounds(plain_distance, p));
