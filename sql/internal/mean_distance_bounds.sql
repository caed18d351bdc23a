-- mean_distance_bounds: bounds on mean distances, from sums over clusters, without any distance
-- between two points.
--
-- A query is a point whose silhouette is computed; a and b are its mean distances to its own
-- cluster and to the nearest other cluster. A target is a cluster to which the mean distance of a
-- query is needed: its own cluster, or a cluster whose lower bound is at most the upper bound of b
-- (b_upper). Bounds rule out the other clusters. A member is any point that is scored. The
-- parameters queries and members name CTEs of rows of _clustered_points, and clusters names a CTE
-- of rows of _cluster_moments; plain_distance is the distance in lower case. A table holds the
-- values of a function at nodes, for one cluster.

---------------------------------------------------------------------------------------------------
-- Bounds from the means and variances of clusters
---------------------------------------------------------------------------------------------------

-- A lower bound x of a mean distance, at least 0, lowered by the largest possible rounding error:
-- 1e-12 of x, plus rounding_error, the absolute error of the cluster's mean.
CREATE OR REPLACE MACRO clustereval._minus_rounding(x, rounding_error) AS
  GREATEST(x * (1 - 1e-12) - rounding_error, 0.0);
-- An upper bound x of a mean distance, raised like _minus_rounding.
CREATE OR REPLACE MACRO clustereval._plus_rounding(x, rounding_error) AS
  x * (1 + 1e-12) + rounding_error;

-- Lower bound of the mean distance of a point to all points of a cluster. to_mean is the distance
-- from the point to the cluster's mean, and radius is the mean distance of the cluster's points to
-- that mean. The mean of norms is at least the norm of the mean (Jensen), which is to_mean. By the
-- triangle inequality it is also at least radius - to_mean. Euclidean distances have a better
-- bound, from their second moments.
CREATE OR REPLACE MACRO clustereval._mean_distance_lower_bound(
  to_mean, radius, rounding_error, distance
) AS
  clustereval._minus_rounding(
    CASE WHEN distance = 'euclidean' THEN to_mean ELSE GREATEST(to_mean, radius - to_mean) END,
    rounding_error
  );

-- Upper bound of the mean distance of a point x to all points of a cluster; see
-- _mean_distance_lower_bound. The mean of roots is at most the root of the mean; for euclidean this
-- is applied to the squared distances, and for cityblock to each coordinate. For other distances
-- the bound is to_mean + radius, by the triangle inequality.
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

-- The rows of _cross_with_clusters with to_mean, the distance of the point to the cluster's mean.
CREATE OR REPLACE MACRO clustereval._distances_to_means(
  queries, clusters, plain_distance, p
) AS TABLE
  SELECT *, clustereval._unchecked_distance(point, mean, plain_distance, p) AS to_mean
  FROM clustereval._cross_with_clusters(queries, clusters);

-- One row per queried point (row_no) of a partition with several clusters: b_upper, the smallest of
-- the upper bounds of its mean distances to other clusters.
CREATE OR REPLACE MACRO clustereval._nearest_upper_bounds(
  queries, clusters, plain_distance, p
) AS TABLE
  SELECT
    row_no,
    MIN(clustereval._mean_distance_upper_bound(
      point, mean, variances, total_variance, to_mean, mean_distance, rounding_error, plain_distance
    )) AS b_upper
  FROM clustereval._distances_to_means(queries, clusters, plain_distance, p)
  WHERE target <> number
  GROUP BY row_no;

-- One row for each queried point (row_no) and each cluster (target) that is its own (number) or may
-- be the nearest other: its lower bound is at most b_upper of nearest_bounds
-- (_nearest_upper_bounds). lower and upper bound the mean distance between point and cluster.
CREATE OR REPLACE MACRO clustereval._bounded_targets(
  queries, clusters, nearest_bounds, plain_distance, p
) AS TABLE
  WITH limited_queries AS NOT MATERIALIZED (
    SELECT query.*, nearest.b_upper
    FROM query_table(queries) AS query
    LEFT JOIN query_table(nearest_bounds) AS nearest ON nearest.row_no = query.row_no
  ),
  lower_bounds AS NOT MATERIALIZED (
    SELECT
      *,
      clustereval._mean_distance_lower_bound(
        to_mean, mean_distance, rounding_error, plain_distance
      ) AS lower
    FROM clustereval._distances_to_means(limited_queries, clusters, plain_distance, p)
  )
  SELECT
    row_no, number, target, lower,
    clustereval._mean_distance_upper_bound(
      point, mean, variances, total_variance, to_mean, mean_distance, rounding_error, plain_distance
    ) AS upper
  FROM lower_bounds
  WHERE target = number OR lower <= b_upper;

---------------------------------------------------------------------------------------------------
-- Bounds of euclidean distances from second moments
---------------------------------------------------------------------------------------------------

-- One row per cluster (number) of two points or more: matrix, the covariance matrix M of (z,
-- |z|^2), a list of rows, where z = y - mean for its points y. With u = x - mean, the variance over
-- y of |x - y|^2 = |u|^2 - 2 u.z + |z|^2 is w'Mw where w = (-2u, 1); it serves to bound mean
-- euclidean distances.
CREATE OR REPLACE MACRO clustereval._second_moments(members, clusters) AS TABLE
  WITH deviations AS NOT MATERIALIZED (
    SELECT
      cluster.number, cluster.total_variance,
      clustereval._subtract_vectors(member.point, cluster.mean) AS deviation
    FROM query_table(members) AS member
    JOIN query_table(clusters) AS cluster ON cluster.number = member.number
    WHERE cluster.n > 1
  ),
  vectors AS NOT MATERIALIZED (
    SELECT
      number,
      list_append(deviation, list_inner_product(deviation, deviation) - total_variance) AS vector
    FROM deviations
  ),
  dims AS (SELECT unnest(range(1, MAX(len(mean)) + 2)) AS i FROM query_table(clusters)),
  pairs AS (
    SELECT row_dim.i, column_dim.i AS j
    FROM dims AS row_dim
    JOIN dims AS column_dim ON row_dim.i <= column_dim.i
  ),
  products AS MATERIALIZED (SELECT * FROM clustereval._product_sums(vectors, pairs)),
  entries AS (
    SELECT number, i, j, value FROM products
    UNION ALL
    SELECT number, j, i, value FROM products WHERE i < j
  ),
  matrix_rows AS (
    SELECT
      entry.number, entry.i,
      list(entry.value / cluster.n ORDER BY entry.j ASC NULLS LAST) AS matrix_row
    FROM entries AS entry
    JOIN query_table(clusters) AS cluster ON cluster.number = entry.number
    GROUP BY entry.number, entry.i
  )
  SELECT number, list(matrix_row ORDER BY i ASC NULLS LAST) AS matrix
  FROM matrix_rows
  GROUP BY number;

-- Lower bound of the mean of sqrt(Z), for a random variable Z >= 0 (a squared distance) with mean m
-- and a variance of at most `variance`. With t = Z / m, sqrt(t) is at least 1 + (t - 1)/2 - (t -
-- 1)^2/2, and its mean at least 1 - variance / (2 m^2). The bound is 0 if m is too small or the
-- variance too large for a DOUBLE.
CREATE OR REPLACE MACRO clustereval._root_mean_lower_bound(m, variance, rounding_error) AS
  CASE
    WHEN m < 1e-140 OR NOT isfinite(variance) THEN 0.0
    ELSE clustereval._minus_rounding(
      sqrt(m) * (1 - (variance * (1 + 1e-12) / m) / m / 2 - 1e-12), rounding_error
    )
  END;

-- One row per cluster (number) of two points or more: the terms of an upper bound of w'Mw (see
-- _second_moments), the variance over its points y of |x - y|^2 for a point x. The bound costs one
-- more distance, and rules out most clusters before all entries of M are needed. It is 4 u'Du + 4 r
-- |u|^2 - 4 u.s + v for u = x - mean and z = y - mean. D is the diagonal of the covariances of z, r
-- is the norm of all other entries (residual is 4 r), s has the covariances of z with |z|^2, and v
-- is the variance of |z|^2. Apart from 4 r |u|^2, the bound is linear in the squares and
-- coordinates of x - origin, with slopes and intercept; slope_rounding times the norm of these
-- squares and coordinates is the rounding error. moments: rows of _second_moments.
CREATE OR REPLACE MACRO clustereval._variance_bounds(moments, clusters) AS TABLE
  WITH matrix_parts AS (
    SELECT
      moment.number,
      clustereval._subtract_vectors(cluster.mean, cluster.origin) AS mean_offset,
      list_transform(moment.matrix[:-2], lambda matrix_row, i: matrix_row[i]) AS diagonal,
      list_sum(list_transform(
        moment.matrix[:-2],
        lambda matrix_row, i: list_sum(list_transform(
          matrix_row[:-2],
          lambda entry, j:
            CASE WHEN j = i THEN 0.0 ELSE entry * entry END
        ))
      )) AS residual_squares,
      moment.matrix[-1][:-2] AS skews,
      moment.matrix[-1][-1] AS tail
    FROM query_table(moments) AS moment
    JOIN query_table(clusters) AS cluster ON cluster.number = moment.number
  ),
  terms AS (
    SELECT
      number, residual_squares, tail,
      list_concat(
        list_transform(diagonal, lambda entry: 4 * entry),
        list_transform(diagonal, lambda entry, i: -8 * entry * mean_offset[i] - 4 * skews[i])
      ) AS slopes,
      list_sum(list_transform(
        diagonal,
        lambda entry, i: 4 * entry * mean_offset[i] * mean_offset[i]
      )) AS square_term,
      4 * list_inner_product(mean_offset, skews) AS skew_term,
      4 * clustereval._norm(mean_offset) * clustereval._norm(skews) AS skew_term_bound
    FROM matrix_parts
  )
  SELECT
    number, slopes,
    square_term + skew_term + tail
      + 1e-12 * (square_term + skew_term_bound + tail) AS intercept,
    4 * sqrt(residual_squares) * (1 + 1e-12) AS residual,
    1e-15 * len(slopes) * clustereval._norm(slopes) AS slope_rounding
  FROM terms;

-- One row for each queried point (row_no) and each cluster (target) that is its own (number) or may
-- be the nearest other in euclidean distance, because variance_bounds (_variance_bounds) do not put
-- it beyond b_upper of nearest_bounds (_nearest_upper_bounds). The row also has the query's point
-- and b_upper.
CREATE OR REPLACE MACRO clustereval._screened_targets(
  queries, clusters, nearest_bounds, variance_bounds
) AS TABLE
  WITH offset_queries AS NOT MATERIALIZED (
    SELECT
      query.row_no, query.point, query.number, query.partition_no, nearest.b_upper,
      clustereval._subtract_vectors(query.point, cluster.origin) AS mean_offset
    FROM query_table(queries) AS query
    LEFT JOIN query_table(nearest_bounds) AS nearest ON nearest.row_no = query.row_no
    JOIN query_table(clusters) AS cluster ON cluster.number = query.partition_no
  ),
  featured AS NOT MATERIALIZED (
    SELECT
      *,
      list_concat(list_transform(mean_offset, lambda x: x * x), mean_offset) AS features
    FROM offset_queries
  ),
  featured_queries AS MATERIALIZED (
    SELECT
      * EXCLUDE (mean_offset), clustereval._norm(features) AS features_norm
    FROM featured
  ),
  screening_clusters AS NOT MATERIALIZED (
    SELECT
      cluster.number, cluster.partition_no,
      cluster.n_clusters, cluster.n_all_clusters,
      cluster.mean, cluster.total_variance, cluster.rounding_error,
      bound.slopes, bound.intercept, bound.residual, bound.slope_rounding
    FROM query_table(clusters) AS cluster
    LEFT JOIN query_table(variance_bounds) AS bound ON bound.number = cluster.number
  ),
  measured AS NOT MATERIALIZED (
    SELECT *, list_distance(point, mean) AS to_mean
    FROM clustereval._cross_with_clusters(featured_queries, screening_clusters)
  )
  SELECT row_no, number, target, point, b_upper
  FROM measured
  WHERE CASE
    WHEN target = number THEN TRUE
    WHEN clustereval._minus_rounding(to_mean, rounding_error) > b_upper THEN FALSE
    WHEN slopes IS NULL THEN TRUE
    ELSE clustereval._root_mean_lower_bound(
      to_mean * to_mean + total_variance,
      list_inner_product(features, slopes) + intercept
        + residual * to_mean * to_mean
        + slope_rounding * features_norm,
      rounding_error
    ) <= b_upper
  END;

-- The rows of screened (_screened_targets) that the covariances in moments (_second_moments) do not
-- rule out, with bounds lower and upper of the mean distance between point and cluster. No join by
-- row_no follows the join with the matrices, because beyond the memory limit it would write a
-- matrix to disk for every row.
CREATE OR REPLACE MACRO clustereval._refined_targets(screened, clusters, moments) AS TABLE
  WITH measured AS NOT MATERIALIZED (
    SELECT
      pair.row_no, pair.number, pair.target, pair.b_upper,
      cluster.total_variance, cluster.rounding_error,
      list_distance(pair.point, cluster.mean) AS to_mean,
      moment.matrix,
      -- This is a separate column, because inside the lambda below it would be
      -- computed for each row of the matrix.
      list_append(
        list_transform(pair.point, lambda x, i: -2 * (x - cluster.mean[i])),
        1.0
      ) AS factors
    FROM query_table(screened) AS pair
    JOIN query_table(clusters) AS cluster ON cluster.number = pair.target
    LEFT JOIN query_table(moments) AS moment ON moment.number = pair.target
  ),
  bounded AS NOT MATERIALIZED (
    SELECT
      row_no, number, target, b_upper,
      GREATEST(
        clustereval._minus_rounding(to_mean, rounding_error),
        CASE
          WHEN matrix IS NOT NULL
          THEN clustereval._root_mean_lower_bound(
            to_mean * to_mean + total_variance,
            list_inner_product(
              factors,
              list_transform(matrix, lambda matrix_row: list_inner_product(matrix_row, factors))
            ),
            rounding_error
          )
        END
      ) AS lower,
      clustereval._plus_rounding(sqrt(to_mean * to_mean + total_variance), rounding_error) AS upper
    FROM measured
  )
  SELECT row_no, number, target, lower, upper
  FROM bounded
  WHERE target = number OR lower <= b_upper;

-- One row per queried point (row_no): bounds on its mean distances to the other points of its own
-- cluster and to the nearest other cluster. bounds: rows of _mean_distance_bounds.
CREATE OR REPLACE MACRO clustereval._means_of_bounds(bounds, clusters) AS TABLE
  WITH grouped AS (
    SELECT
      row_no,
      any_value(number) AS number,
      MAX(CASE WHEN target = number THEN lower END) AS a_lower,
      MAX(CASE WHEN target = number THEN upper END) AS a_upper,
      MIN(CASE WHEN target <> number THEN lower END) AS b_lower,
      MIN(CASE WHEN target <> number THEN upper END) AS b_upper
    FROM query_table(bounds)
    GROUP BY row_no
  )
  SELECT
    query.row_no, query.number,
    FALSE AS exact,
    clustereval._exclude_self(query.a_lower, own.n) AS a_lower,
    clustereval._exclude_self(query.a_upper, own.n) AS a_upper,
    query.b_lower, query.b_upper,
    CAST(NULL AS BIGINT) AS neighbor
  FROM grouped AS query
  JOIN query_table(clusters) AS own ON own.number = query.number;

---------------------------------------------------------------------------------------------------
-- Tables of cityblock distances
---------------------------------------------------------------------------------------------------

-- One row per cluster (number): its table for cityblock. The mean distance of a cluster's points to
-- x along one coordinate is a convex function of x, which its values at 33 nodes, from 4 standard
-- deviations below the mean to 4 above, bound far better than mean and variance. value_list has
-- these values. gaps has, at the start of each interval, the largest amount by which its chord can
-- be above the function, which is half the interval's width times the share of points in the
-- interval. Both lists hold 33 numbers for each coordinate, one coordinate after the other. scales
-- has the number of nodes per unit, for each coordinate.
CREATE OR REPLACE MACRO clustereval._cityblock_tables(members, clusters) AS TABLE
  WITH member_coordinates AS NOT MATERIALIZED (
    SELECT
      cluster.number,
      unnest(member.point) AS coordinate,
      unnest(cluster.mean) AS mean,
      sqrt(unnest(cluster.variances)) AS sigma,
      unnest(range(1, len(cluster.mean) + 1)) AS i
    FROM query_table(members) AS member
    JOIN query_table(clusters) AS cluster ON cluster.number = member.number
  ),
  -- Interval -1 is below the first node, 32 above the last.
  intervals AS (
    SELECT
      number, i,
      CASE
        WHEN sigma = 0 THEN 32
        ELSE CAST(floor(LEAST(
          GREATEST((coordinate - mean) / sigma * 4 + 16, -1.0), 32.0
        )) AS BIGINT)
      END AS interval_no,
      MAX(sigma) AS sigma,
      CAST(COUNT(*) AS DOUBLE) AS n,
      SUM(coordinate - mean) AS sum
    FROM member_coordinates
    GROUP BY number, i, 3
  ),
  totals AS (
    SELECT
      number, i,
      MAX(sigma) AS sigma,
      SUM(n) AS n,
      SUM(sum) AS total_sum
    FROM intervals
    GROUP BY number, i
  ),
  nodes AS (SELECT *, unnest(range(0, 33)) AS interval_no FROM totals),
  running AS (
    SELECT
      node.number, node.i, node.interval_no, node.n, node.total_sum, node.sigma,
      COALESCE(inside.n, 0.0) AS n_inside,
      SUM(COALESCE(inside.n, 0.0)) OVER below
        + COALESCE(first_below.n, 0.0) AS n_below,
      SUM(COALESCE(inside.sum, 0.0)) OVER below
        + COALESCE(first_below.sum, 0.0) AS sum_below
    FROM nodes AS node
    LEFT JOIN intervals AS inside
      ON inside.number = node.number AND inside.i = node.i
      AND inside.interval_no = node.interval_no
    LEFT JOIN intervals AS first_below
      ON first_below.number = node.number AND first_below.i = node.i
      AND first_below.interval_no = -1
    WINDOW below AS (
      PARTITION BY node.number, node.i ORDER BY node.interval_no ASC NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  ),
  -- Running sums include the interval that starts at the node, so its share is subtracted again.
  node_values AS (
    SELECT
      *,
      (
        (2 * (n_below - n_inside) - n) * (interval_no - 16) / 4 * sigma
        - 2 * (sum_below - sum_inside) + total_sum
      ) / n AS value
    FROM (
      SELECT
        running.*, COALESCE(inside.sum, 0.0) AS sum_inside
      FROM running
      LEFT JOIN intervals AS inside
        ON inside.number = running.number AND inside.i = running.i
        AND inside.interval_no = running.interval_no
    ) AS summed
  ),
  lists AS (
    SELECT
      number,
      list(value ORDER BY i ASC NULLS LAST, interval_no ASC NULLS LAST) AS value_list,
      list(
        n_inside / n * sigma / 8
        ORDER BY i ASC NULLS LAST, interval_no ASC NULLS LAST
      ) AS gaps
    FROM node_values
    GROUP BY number
  )
  SELECT
    cluster.number, cluster.partition_no, cluster.mean, cluster.variances,
    lists.value_list, lists.gaps,
    list_transform(
      cluster.variances,
      lambda v: CASE WHEN v > 0 THEN 4 / sqrt(v) ELSE 0.0 END
    ) AS scales,
    cluster.rounding_error + 1e-12 * list_sum(list_transform(
      cluster.variances, lambda v: sqrt(v)
    )) AS rounding_error
  FROM query_table(clusters) AS cluster
  JOIN lists ON lists.number = cluster.number;

-- Number, from 1, of the interval between two of the 33 nodes of a table (_cityblock_tables) that
-- holds z, a coordinate minus the cluster's mean; 0 outside of the table, where |z| and sqrt(z^2 +
-- variance) are the bounds. scale: nodes per unit.
CREATE OR REPLACE MACRO clustereval._table_interval(z, scale) AS
  CASE
    WHEN scale > 0 AND z * scale >= -16 AND z * scale < 16
    THEN CAST(floor(z * scale + 16) AS BIGINT) + 1
    ELSE 0
  END;

-- Value at z of the chord over an interval (_table_interval) of a table (_cityblock_tables), an
-- upper bound of the mean distance along one coordinate. node_values is the list value_list;
-- `after` is the number of its values before those of this coordinate.
CREATE OR REPLACE MACRO clustereval._chord_value(node_values, z, scale, interval_no, after) AS
  node_values[after + interval_no]
  + (node_values[after + interval_no + 1] - node_values[after + interval_no])
    * (z * scale + 17 - interval_no);

-- Upper bound of the mean cityblock distance of a point x to all points of a cluster, from its mean
-- and variances, and from its scales and value_list (node_values) of _cityblock_tables.
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
-- Lower bound of the mean cityblock distance of a point x to all points of a cluster; see
-- _table_upper_bound.
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

-- One row for each queried point (row_no) and each cluster (target) that is its own (number) or may
-- be the nearest other in cityblock distance, by the bounds of tables (_cityblock_tables). A lambda
-- copies the lists that it reads, so tables are used only after cheaper bounds. The upper bound for
-- the nearest other cluster comes from the table of a single cluster, which is the nearest by
-- cheaper bounds. _prefer_list_join states why the join condition is not an equality.
CREATE OR REPLACE MACRO clustereval._table_targets(queries, clusters, tables) AS TABLE
  WITH nearest_clusters AS (
    SELECT
      query.row_no,
      arg_min(cluster.number, clustereval._mean_distance_upper_bound(
        query.point, cluster.mean, cluster.variances, 0.0, 0.0, 0.0, 0.0, 'cityblock'
      )) AS number
    FROM query_table(queries) AS query
    JOIN query_table(clusters) AS cluster
      ON cluster.partition_no = query.partition_no
      AND cluster.number <> query.number
    GROUP BY query.row_no
  ),
  limited_queries AS MATERIALIZED (
    SELECT
      query.row_no, query.point, query.number, query.partition_no,
      clustereval._plus_rounding(
        clustereval._table_upper_bound(
          query.point, entry.mean, entry.variances, entry.scales, entry.value_list
        ),
        entry.rounding_error
      ) AS b_upper
    FROM query_table(queries) AS query
    LEFT JOIN nearest_clusters AS nearest ON nearest.row_no = query.row_no
    LEFT JOIN query_table(tables) AS entry ON entry.number = nearest.number
  )
  SELECT query.row_no, query.number, entry.number AS target
  FROM limited_queries AS query
  JOIN query_table(tables) AS entry ON list_contains([query.partition_no], entry.partition_no)
  WHERE CASE
    WHEN entry.number = query.number THEN TRUE
    WHEN clustereval._minus_rounding(
      clustereval._unchecked_distance(query.point, entry.mean, 'cityblock', 1),
      entry.rounding_error
    ) > query.b_upper THEN FALSE
    ELSE clustereval._minus_rounding(
      clustereval._table_lower_bound(
        query.point, entry.mean, entry.scales, entry.value_list, entry.gaps
      ),
      entry.rounding_error
    ) <= query.b_upper
  END;

-- The rows of _table_targets, or of _bounded_targets if clusters are small and many.
CREATE OR REPLACE MACRO clustereval._cityblock_targets(queries, members, clusters) AS TABLE
  WITH join_choice AS MATERIALIZED (SELECT * FROM clustereval._prefer_list_join(clusters)),
  tables AS MATERIALIZED (SELECT * FROM clustereval._cityblock_tables(members, clusters)),
  table_queries AS NOT MATERIALIZED (
    SELECT query.*
    FROM query_table(queries) AS query
    JOIN join_choice AS choice ON choice.prefer_lists
  ),
  bound_queries AS NOT MATERIALIZED (
    SELECT query.*
    FROM query_table(queries) AS query
    JOIN join_choice AS choice ON NOT choice.prefer_lists
  ),
  nearest_bounds AS MATERIALIZED (
    SELECT *
    FROM clustereval._nearest_upper_bounds(bound_queries, clusters, 'cityblock', 1)
  )
  SELECT * FROM clustereval._table_targets(table_queries, clusters, tables)
  UNION ALL
  SELECT row_no, number, target
  FROM clustereval._bounded_targets(bound_queries, clusters, nearest_bounds, 'cityblock', 1);

---------------------------------------------------------------------------------------------------
-- Targets if b is not the mean distance to the nearest cluster
---------------------------------------------------------------------------------------------------

-- One row for each queried point (row_no) and each cluster (target) that is its own (number) or may
-- be the furthest, because its upper bound is at least the largest lower bound of another cluster.
CREATE OR REPLACE MACRO clustereval._furthest_targets(
  queries, clusters, plain_distance, p
) AS TABLE
  -- The largest of the lower bounds for all other clusters.
  WITH furthest_bounds AS MATERIALIZED (
    SELECT
      row_no,
      MAX(clustereval._mean_distance_lower_bound(
        to_mean, mean_distance, rounding_error, plain_distance
      )) AS b_lower
    FROM clustereval._distances_to_means(queries, clusters, plain_distance, p)
    WHERE target <> number
    GROUP BY row_no
  ),
  limited_queries AS NOT MATERIALIZED (
    SELECT query.*, furthest.b_lower
    FROM query_table(queries) AS query
    LEFT JOIN furthest_bounds AS furthest ON furthest.row_no = query.row_no
  )
  SELECT row_no, number, target
  FROM clustereval._distances_to_means(limited_queries, clusters, plain_distance, p)
  WHERE CASE
    WHEN target = number THEN TRUE
    ELSE clustereval._mean_distance_upper_bound(
      point, mean, variances, total_variance, to_mean, mean_distance, rounding_error, plain_distance
    ) >= b_lower
  END;

---------------------------------------------------------------------------------------------------
-- Bounds of every query
---------------------------------------------------------------------------------------------------

-- One row for each queried point (row_no) and each cluster (target) that is its own (number) or may
-- be the nearest other: the bounds lower and upper of its mean distance to all points of that
-- cluster, without any distance between two points.
CREATE OR REPLACE MACRO clustereval._mean_distance_bounds(
  queries, members, clusters, plain_distance, p
) AS TABLE
  WITH nearest_bounds AS MATERIALIZED (
    SELECT *
    FROM clustereval._nearest_upper_bounds(queries, clusters, plain_distance, p)
  ),
  bounded AS NOT MATERIALIZED (
    SELECT * FROM clustereval._bounded_targets(queries, clusters, nearest_bounds, plain_distance, p)
  ),
  moments AS MATERIALIZED (SELECT * FROM clustereval._second_moments(members, clusters)),
  variance_bounds AS (SELECT * FROM clustereval._variance_bounds(moments, clusters)),
  screened AS NOT MATERIALIZED (
    SELECT * FROM clustereval._screened_targets(queries, clusters, nearest_bounds, variance_bounds)
  ),
  refined AS NOT MATERIALIZED (
    SELECT * FROM clustereval._refined_targets(screened, clusters, moments)
  )
  -- The CTE that query() does not name is neither bound nor run.
  SELECT row_no, number, target, lower, upper
  FROM query(CASE plain_distance
    WHEN 'euclidean' THEN 'SELECT * FROM refined' ELSE 'SELECT * FROM bounded'
  END);
