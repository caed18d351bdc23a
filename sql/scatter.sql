-- scatter: the indices that follow from the clusters' centres, and from the distance of each point to
-- its own centre or to every centre.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row a cluster that has a neighbour: how far the other centres are. Of equals the lowest cluster is
-- the nearest. Centres that coincide are no neighbours in Davies and Bouldin's sense, as in scikit-learn.
CREATE OR REPLACE MACRO clustereval._gaps(__ce_clusters, distance, p) AS TABLE
  WITH __ce_pairs AS (
    SELECT
      __ce_x.__ce_partition, __ce_x.__ce_number, __ce_y.__ce_cluster,
      __ce_x.__ce_mean_distance + __ce_y.__ce_mean_distance AS __ce_spread,
      clustereval._distance(__ce_x.__ce_centre, __ce_y.__ce_centre, distance, p) AS __ce_gap
    FROM query_table(__ce_clusters) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_y
      ON __ce_y.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_y.__ce_number <> __ce_x.__ce_number
  )
  SELECT
    __ce_partition, __ce_number,
    MIN({'distance': __ce_gap, 'cluster': __ce_cluster}) AS __ce_nearest,
    MIN(__ce_gap) AS __ce_least,
    MAX(__ce_gap) AS __ce_most,
    clustereval._sum(__ce_gap) AS __ce_sum,
    MAX(CASE WHEN __ce_gap = 0 THEN 0.0 ELSE __ce_spread / __ce_gap END) AS __ce_overlap
  FROM __ce_pairs
  GROUP BY __ce_partition, __ce_number;

-- One row a partition: its counts of rows. One that keeps no row is left out, unless it is the only one
-- because there is no partition_by.
CREATE OR REPLACE MACRO clustereval._point_counts(__ce_spreads) AS TABLE
  SELECT
    __ce_partition,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_total,
    CAST(SUM(__ce_dropped) AS BIGINT) AS __ce_n_dropped,
    CAST(SUM(__ce_noise) AS BIGINT) AS __ce_n_noise,
    CAST(COUNT(CASE WHEN __ce_n > 0 THEN 1 END) AS BIGINT) AS __ce_n_clusters,
    CAST(COUNT(CASE WHEN __ce_n = 1 THEN 1 END) AS BIGINT) AS __ce_n_singletons
  FROM query_table(__ce_spreads)
  GROUP BY __ce_partition
  HAVING SUM(__ce_n) > 0 OR SUM(__ce_only_n) > 0;

-- One row a partition: sums over its clusters.
CREATE OR REPLACE MACRO clustereval._spread_totals(
  __ce_clusters, __ce_middles, distance, p
) AS TABLE
  SELECT
    __ce_x.__ce_partition,
    MAX(__ce_m.__ce_dims) AS __ce_dims,
    clustereval._sum(__ce_x.__ce_squares) AS __ce_ssw,
    clustereval._sum(
      __ce_x.__ce_n * clustereval._squared(
        clustereval._distance(__ce_x.__ce_centre, __ce_m.__ce_centre, distance, p), distance
      )
    ) AS __ce_ssb,
    clustereval._sum(__ce_x.__ce_mean_distance) AS __ce_mean_distances,
    clustereval._sum(__ce_x.__ce_distances) AS __ce_distances,
    clustereval._sum(__ce_x.__ce_to_middle) AS __ce_to_middle,
    clustereval._sum(__ce_x.__ce_squares / __ce_x.__ce_n) AS __ce_mean_squares,
    CASE
      WHEN MIN(__ce_x.__ce_squares) > 0
      THEN clustereval._sum(__ce_x.__ce_n * ln(GREATEST(__ce_x.__ce_squares, 1e-300) / __ce_x.__ce_n))
    END AS __ce_log_squares,
    clustereval._sum(
      clustereval._norm(__ce_x.__ce_within) / __ce_x.__ce_n
    ) AS __ce_variances
  FROM query_table(__ce_clusters) AS __ce_x
  JOIN query_table(__ce_middles) AS __ce_m
    ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
  GROUP BY __ce_x.__ce_partition;

-- One row a partition: sums over its pairs of centres.
CREATE OR REPLACE MACRO clustereval._gap_totals(__ce_gaps, distance) AS TABLE
  SELECT
    __ce_partition,
    MIN(__ce_least) AS __ce_least_gap,
    MAX(__ce_most) AS __ce_most_gap,
    MIN(clustereval._squared(__ce_least, distance)) AS __ce_least_square,
    clustereval._sum(__ce_sum) AS __ce_gap_sum,
    clustereval._sum(__ce_overlap) AS __ce_overlaps,
    CASE
      WHEN MIN(__ce_sum) > 0 THEN clustereval._sum(1.0 / GREATEST(__ce_sum, 1e-300))
    END AS __ce_isolation
  FROM query_table(__ce_gaps)
  GROUP BY __ce_partition;

-- One row a partition: what the clusters explain of each coordinate's variance (the mean of the shares)
-- and the length of the vector of all variances, n times.
CREATE OR REPLACE MACRO clustereval._variance_totals(__ce_coordinates, __ce_middles) AS TABLE
  WITH __ce_overall AS (
    SELECT
      __ce_partition,
      unnest(__ce_centre) AS __ce_centre,
      unnest(range(1, len(__ce_centre) + 1)) AS __ce_i
    FROM query_table(__ce_middles)
  ),
  __ce_parts AS (
    SELECT
      __ce_c.__ce_partition, __ce_c.__ce_i,
      clustereval._sum(__ce_c.__ce_n * __ce_c.__ce_variance) AS __ce_within,
      clustereval._sum(__ce_c.__ce_n * pow(__ce_c.__ce_centre - __ce_m.__ce_centre, 2)) AS __ce_between
    FROM query_table(__ce_coordinates) AS __ce_c
    JOIN __ce_overall AS __ce_m
      ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_c.__ce_partition
      AND __ce_m.__ce_i = __ce_c.__ce_i
    GROUP BY __ce_c.__ce_partition, __ce_c.__ce_i
  )
  SELECT
    __ce_partition,
    CASE
      WHEN MIN(__ce_within + __ce_between) > 0
      THEN clustereval._sum(
        __ce_between / GREATEST(__ce_within + __ce_between, 1e-300)
      ) / COUNT(*)
    END AS __ce_mean_share,
    sqrt(clustereval._sum(pow(__ce_within + __ce_between, 2))) AS __ce_variance
  FROM __ce_parts
  GROUP BY __ce_partition;

---------------------------------------------------------------------------------------------------
-- Formulas. n points in k clusters; ssw, ssb sums of squares within and between.
---------------------------------------------------------------------------------------------------

-- scikit-learn refuses these, so the indices it has are NULL there.
CREATE OR REPLACE MACRO clustereval._is_clustering(n, k) AS k >= 2 AND k < n;

-- scikit-learn's 1 where no cluster has any spread.
CREATE OR REPLACE MACRO clustereval._calinski_harabasz_score(n, k, ssw, ssb) AS
  CASE
    WHEN NOT clustereval._is_clustering(n, k) THEN NULL
    WHEN ssw = 0 THEN 1.0
    ELSE (ssb / (k - 1.0)) / (ssw / (n - k))
  END;

CREATE OR REPLACE MACRO clustereval._davies_bouldin_score(n, k, ratios) AS
  CASE WHEN clustereval._is_clustering(n, k) THEN ratios / k END;

CREATE OR REPLACE MACRO clustereval._log_ss_ratio(ssw, ssb) AS
  CASE WHEN ssw > 0 AND ssb > 0 THEN ln(GREATEST(ssb, 1e-300) / GREATEST(ssw, 1e-300)) END;

-- Mean length of the clusters' variances, given their sum, by that of the whole, given n times it.
CREATE OR REPLACE MACRO clustereval._scattering(variances, k, variance, n) AS
  clustereval._ratio(variances / k, variance / n);

CREATE OR REPLACE MACRO clustereval._pbm_index(k, to_middle, distances, most_gap) AS
  pow(clustereval._ratio(to_middle, distances) * most_gap / k, 2);

---------------------------------------------------------------------------------------------------
-- The distance to every centre
---------------------------------------------------------------------------------------------------

-- One row a partition: Wemmert and Gancarski's index. A point is worth 1 less the ratio of its distances
-- to its own centre and to the nearest other; a cluster is worth the sum of its points, or 0.
CREATE OR REPLACE MACRO clustereval._nearness(__ce_points, __ce_clusters, distance, p) AS TABLE
  WITH __ce_others AS (
    SELECT
      __ce_own.__ce_partition, __ce_own.__ce_number, __ce_x.__ce_row,
      MAX(clustereval._distance(__ce_x.__ce_point, __ce_own.__ce_centre, distance, p)) AS __ce_own_d,
      MIN(clustereval._distance(__ce_x.__ce_point, __ce_c.__ce_centre, distance, p)) AS __ce_other_d
    FROM query_table(__ce_points) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_own
      ON __ce_own.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_own.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
      AND __ce_own.__ce_single = __ce_x.__ce_single
    JOIN query_table(__ce_clusters) AS __ce_c
      ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_c.__ce_number <> __ce_own.__ce_number
    WHERE __ce_x.__ce_kept
    GROUP BY __ce_own.__ce_partition, __ce_own.__ce_number, __ce_x.__ce_row
  ),
  __ce_worth AS (
    SELECT
      __ce_partition, __ce_number,
      COUNT(*) AS __ce_n,
      -- a point on another centre is worth minus infinity, on both centres nobody knows
      COUNT(CASE WHEN __ce_other_d = 0 AND __ce_own_d > 0 THEN 1 END) AS __ce_lost,
      COUNT(CASE WHEN __ce_other_d = 0 AND __ce_own_d = 0 THEN 1 END) AS __ce_unknown,
      clustereval._sum(
        CASE WHEN __ce_other_d > 0 THEN 1.0 - __ce_own_d / __ce_other_d ELSE 0.0 END
      ) AS __ce_value
    FROM __ce_others
    GROUP BY __ce_partition, __ce_number
  )
  SELECT
    __ce_partition,
    CASE
      WHEN SUM(__ce_unknown) = 0
      THEN clustereval._sum(
        CASE WHEN __ce_lost = 0 THEN GREATEST(__ce_value, 0.0) ELSE 0.0 END
      ) / SUM(__ce_n)
    END AS __ce_nearness
  FROM __ce_worth
  GROUP BY __ce_partition;

-- One row a partition: the mean over pairs of clusters of how many of their points lie round the middle
-- of the two centres, by how many lie round the fuller centre.
CREATE OR REPLACE MACRO clustereval._densities(__ce_points, __ce_clusters) AS TABLE
  WITH __ce_radii AS (
    SELECT
      __ce_partition,
      sqrt(clustereval._sum(clustereval._norm(__ce_within) / __ce_n)) / COUNT(*) AS __ce_radius
    FROM query_table(__ce_clusters)
    GROUP BY __ce_partition
  ),
  __ce_pairs AS (
    SELECT
      __ce_x.__ce_partition, __ce_x.__ce_cluster, __ce_x.__ce_single, __ce_r.__ce_radius,
      LEAST(__ce_x.__ce_number, __ce_y.__ce_number) AS __ce_first,
      GREATEST(__ce_x.__ce_number, __ce_y.__ce_number) AS __ce_second,
      __ce_x.__ce_number < __ce_y.__ce_number AS __ce_forward,
      __ce_x.__ce_centre AS __ce_own,
      __ce_y.__ce_centre AS __ce_other
    FROM query_table(__ce_clusters) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_y
      ON __ce_y.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_y.__ce_number <> __ce_x.__ce_number
    JOIN __ce_radii AS __ce_r
      ON __ce_r.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
  ),
  __ce_middled AS (
    SELECT
      *,
      list_transform(
        __ce_own, lambda __ce_v, __ce_i: (__ce_v + __ce_other[__ce_i]) / 2
      ) AS __ce_between
    FROM __ce_pairs
  ),
  __ce_near AS (
    SELECT
      __ce_m.__ce_partition, __ce_m.__ce_first, __ce_m.__ce_second, __ce_m.__ce_forward,
      clustereval._euclidean(__ce_x.__ce_point, __ce_m.__ce_own) <= __ce_m.__ce_radius AS __ce_near_own,
      clustereval._euclidean(__ce_x.__ce_point, __ce_m.__ce_other) <= __ce_m.__ce_radius AS __ce_near_other,
      clustereval._euclidean(__ce_x.__ce_point, __ce_m.__ce_between) <= __ce_m.__ce_radius AS __ce_near_middle
    FROM query_table(__ce_points) AS __ce_x
    JOIN __ce_middled AS __ce_m
      ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_m.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
      AND __ce_m.__ce_single = __ce_x.__ce_single
    WHERE __ce_x.__ce_kept
  ),
  __ce_counted AS (
    SELECT
      __ce_partition, __ce_first, __ce_second,
      COUNT(CASE WHEN __ce_near_middle THEN 1 END) AS __ce_middle_n,
      COUNT(
        CASE WHEN CASE WHEN __ce_forward THEN __ce_near_own ELSE __ce_near_other END THEN 1 END
      ) AS __ce_first_n,
      COUNT(
        CASE WHEN CASE WHEN __ce_forward THEN __ce_near_other ELSE __ce_near_own END THEN 1 END
      ) AS __ce_second_n
    FROM __ce_near
    GROUP BY __ce_partition, __ce_first, __ce_second
  )
  SELECT
    __ce_partition,
    CASE
      WHEN MIN(GREATEST(__ce_first_n, __ce_second_n)) > 0
      THEN clustereval._sum(
        clustereval._ratio(__ce_middle_n, GREATEST(__ce_first_n, __ce_second_n))
      ) / COUNT(*)
    END AS __ce_density
  FROM __ce_counted
  GROUP BY __ce_partition;

---------------------------------------------------------------------------------------------------
-- Determinants
-- A matrix is symmetric and is kept as rows (number, i, j, value), i <= j. Clusters are numbered from 1,
-- a partition goes by the number of one of its clusters, its within scatter by minus that number.
---------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO clustereval._minus(x, y) AS
  list_transform(x, lambda __ce_x, __ce_i: __ce_x - y[__ce_i]);

-- ln(1 + x) for x >= 0, to the last digits where x is small.
CREATE OR REPLACE MACRO clustereval._log1p(x) AS
  CASE WHEN x < 0.1 THEN 2 * atanh(x / (2 + x)) ELSE ln(1 + x) END;

-- exp(x), NULL where that is no number of full precision: the determinant of a regular matrix is not 0.
CREATE OR REPLACE MACRO clustereval._finite_exp(x) AS
  CASE WHEN x BETWEEN -708 AND 709 THEN exp(x) END;

-- One row a number: the weighted mean of its vectors (number, weight, vector). The mean of equal numbers
-- is that number, or rounding would give a constant coordinate a variance.
CREATE OR REPLACE MACRO clustereval._vector_means(__ce_vectors) AS TABLE
  WITH __ce_values AS NOT MATERIALIZED (
    SELECT
      __ce_number, __ce_weight,
      unnest(__ce_vector) AS __ce_x,
      unnest(range(1, len(__ce_vector) + 1)) AS __ce_i
    FROM query_table(__ce_vectors)
  ),
  __ce_means AS (
    SELECT
      __ce_number, __ce_i,
      least(
        greatest(fsum(__ce_weight * __ce_x) / fsum(__ce_weight), MIN(__ce_x)), MAX(__ce_x)
      ) AS __ce_mean
    FROM __ce_values
    GROUP BY __ce_number, __ce_i
  )
  SELECT __ce_number, list(__ce_mean ORDER BY __ce_i) AS __ce_mean
  FROM __ce_means
  GROUP BY __ce_number;

-- Sums of products of coordinates, for vectors (number, vector). A plain product with the pairs of
-- positions copies no vector, as a join on the dimensions would; shorter vectors have no value there.
CREATE OR REPLACE MACRO clustereval._product_sums(__ce_vectors, __ce_pairs) AS TABLE
  SELECT
    __ce_v.__ce_number, __ce_p.__ce_i, __ce_p.__ce_j,
    fsum(__ce_v.__ce_vector[__ce_p.__ce_i] * __ce_v.__ce_vector[__ce_p.__ce_j]) AS __ce_value
  FROM query_table(__ce_vectors) AS __ce_v
  CROSS JOIN query_table(__ce_pairs) AS __ce_p
  GROUP BY __ce_v.__ce_number, __ce_p.__ce_i, __ce_p.__ce_j
  HAVING __ce_value IS NOT NULL;

-- What a step of elimination makes of a row of W. Rows are kept from the diagonal on, and the row lies
-- `shift` rows below the pivot row. `slopes` is the pivot row over its pivot.
CREATE OR REPLACE MACRO clustereval._eliminated(tail, pivot_row, slopes, shift) AS
  list_transform(
    tail, lambda __ce_x, __ce_c: __ce_x - slopes[shift + 1] * pivot_row[shift + __ce_c]
  );

-- And of a row of a matrix B that is transformed along with W, to L^-1 B L^-T: its rows are combined as
-- those of W, then its columns. `rests` is the pivot row of B after that.
CREATE OR REPLACE MACRO clustereval._transformed(tail, pivot_row, rests, slopes, shift) AS
  list_transform(
    tail,
    lambda __ce_x, __ce_c: __ce_x
      - slopes[shift + 1] * rests[shift + __ce_c] - slopes[shift + __ce_c] * pivot_row[shift + 1]
  );

CREATE OR REPLACE MACRO clustereval._rests(pivot_row, slopes) AS
  list_transform(pivot_row, lambda __ce_x, __ce_c: __ce_x - pivot_row[1] * slopes[__ce_c]);

-- TRUE where the first entry of a row is a pivot. It is the square of a combination of coordinates, and
-- what rounding makes of 0 is in proportion to the sum of the squares that are combined. Singular
-- matrices reached 0.5 p 2^-52 times this sum in tests, so 4 is on the safe side.
CREATE OR REPLACE MACRO clustereval._is_pivot(tail, combined, dims) AS
  isfinite(tail[1])
  AND tail[1] > 4 * dims * pow(2.0, -52) * list_inner_product(combined, combined);

-- One row a regular matrix W: ln |W|, trace(W^-1 B) and ln(|W + B| / |W|), by an elimination (Cholesky
-- without roots) of one column a step. `__ce_matrices` has rows (number, i, w, b): row i of W and of B
-- from column i on, b empty where no B is asked for. W + B is eliminated as the difference to W, d: its
-- pivots over those of W are 1 + d / w, and a small B loses no digits, as it would in
-- ln |W + B| - ln |W|.
CREATE OR REPLACE MACRO clustereval._eliminations(__ce_matrices) AS TABLE
  WITH RECURSIVE __ce_steps AS (
    SELECT
      __ce_number,
      COUNT(*) OVER (PARTITION BY __ce_number) AS __ce_dims,
      __ce_i - 1 AS __ce_shift,
      __ce_w, __ce_b, __ce_b AS __ce_d,
      sqrt(__ce_w[1]) AS __ce_scale, -- of the row's own coordinate
      CAST([] AS DOUBLE[]) AS __ce_combined -- with it
    FROM query_table(__ce_matrices)
    UNION ALL
    SELECT
      __ce_r.__ce_number, __ce_r.__ce_dims, __ce_r.__ce_shift - 1,
      clustereval._eliminated(
        __ce_r.__ce_w, __ce_p.__ce_w, __ce_p.__ce_slopes, __ce_r.__ce_shift
      ),
      clustereval._transformed(
        __ce_r.__ce_b, __ce_p.__ce_b, __ce_p.__ce_b_rests, __ce_p.__ce_slopes, __ce_r.__ce_shift
      ),
      clustereval._eliminated(
        clustereval._transformed(
          __ce_r.__ce_d, __ce_p.__ce_d, __ce_p.__ce_d_rests, __ce_p.__ce_slopes, __ce_r.__ce_shift
        ),
        __ce_p.__ce_d_rests, __ce_p.__ce_d_slopes, __ce_r.__ce_shift
      ),
      __ce_r.__ce_scale,
      list_transform(
        list_append(__ce_p.__ce_combined, __ce_p.__ce_scale),
        lambda __ce_x, __ce_c: coalesce(__ce_r.__ce_combined[__ce_c], 0)
          - __ce_p.__ce_slopes[__ce_r.__ce_shift + 1] * __ce_x
      )
    FROM __ce_steps AS __ce_r
    JOIN (
      SELECT
        *,
        list_transform(__ce_w, lambda __ce_x: __ce_x / __ce_w[1]) AS __ce_slopes,
        clustereval._rests(__ce_b, __ce_slopes) AS __ce_b_rests,
        clustereval._rests(__ce_d, __ce_slopes) AS __ce_d_rests,
        list_transform(
          __ce_d_rests,
          -- d is at least 0 but for rounding
          lambda __ce_x: __ce_x / (__ce_w[1] + greatest(__ce_d[1], 0))
        ) AS __ce_d_slopes
      FROM __ce_steps
      WHERE __ce_shift = 0
        AND clustereval._is_pivot(__ce_w, list_append(__ce_combined, __ce_scale), __ce_dims)
    ) AS __ce_p ON __ce_p.__ce_number = __ce_r.__ce_number
    WHERE __ce_r.__ce_shift > 0
  )
  SELECT
    __ce_number,
    fsum(ln(__ce_w[1])) AS __ce_log_det,
    fsum(__ce_b[1] / __ce_w[1]) AS __ce_trace,
    fsum(clustereval._log1p(greatest(__ce_d[1], 0) / __ce_w[1])) AS __ce_log_ratio
  FROM __ce_steps
  WHERE __ce_shift = 0
    AND clustereval._is_pivot(__ce_w, list_append(__ce_combined, __ce_scale), __ce_dims)
  GROUP BY __ce_number
  HAVING COUNT(*) = MAX(__ce_dims);

-- One row a cluster: its number, its rows and dimensions, the number its partition goes by, and whether
-- all clusters of the partition have more points than dimensions (no more: a singular scatter).
CREATE OR REPLACE MACRO clustereval._numbered_clusters(__ce_points) AS TABLE
  WITH __ce_sizes AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_single,
      COUNT(*) AS __ce_n,
      MAX(len(__ce_point)) AS __ce_dims,
      row_number() OVER () AS __ce_number
    FROM query_table(__ce_points)
    GROUP BY __ce_partition, __ce_cluster, __ce_single
  )
  SELECT
    *,
    MIN(__ce_number) OVER (PARTITION BY __ce_partition) AS __ce_lead,
    MIN(__ce_n) OVER (PARTITION BY __ce_partition) > __ce_dims AS __ce_dense
  FROM __ce_sizes;

-- One row a vector, less the mean of its number. Means are taken twice, the second time of what the first
-- leaves: at coordinates of 1e8 the first one is off by 1e-8.
CREATE OR REPLACE MACRO clustereval._residuals(__ce_vectors, __ce_means) AS TABLE
  SELECT
    __ce_v.__ce_number, __ce_v.__ce_weight,
    clustereval._minus(__ce_v.__ce_vector, __ce_m.__ce_mean) AS __ce_vector
  FROM query_table(__ce_vectors) AS __ce_v
  JOIN query_table(__ce_means) AS __ce_m ON __ce_m.__ce_number = __ce_v.__ce_number;

-- The square roots of rows times the vectors from the middle to the clusters' means, numbered by
-- partition: their products sum up to B.
CREATE OR REPLACE MACRO clustereval._deviations(__ce_clusters, __ce_means, __ce_rests) AS TABLE
  WITH __ce_centres AS (
    SELECT
      __ce_c.__ce_lead AS __ce_number, __ce_c.__ce_n AS __ce_weight,
      __ce_m.__ce_mean AS __ce_vector, __ce_r.__ce_mean AS __ce_rest
    FROM query_table(__ce_clusters) AS __ce_c
    JOIN query_table(__ce_means) AS __ce_m ON __ce_m.__ce_number = __ce_c.__ce_number
    JOIN query_table(__ce_rests) AS __ce_r ON __ce_r.__ce_number = __ce_c.__ce_number
  ),
  __ce_middles AS (SELECT * FROM clustereval._vector_means(__ce_centres)),
  __ce_offsets AS (
    SELECT
      __ce_c.__ce_number, __ce_c.__ce_weight,
      list_transform(
        __ce_c.__ce_vector,
        lambda __ce_x, __ce_i: __ce_x - __ce_m.__ce_mean[__ce_i] + __ce_c.__ce_rest[__ce_i]
      ) AS __ce_vector
    FROM __ce_centres AS __ce_c
    JOIN __ce_middles AS __ce_m ON __ce_m.__ce_number = __ce_c.__ce_number
  ),
  __ce_shifts AS (SELECT * FROM clustereval._vector_means(__ce_offsets))
  SELECT
    __ce_number,
    list_transform(__ce_vector, lambda __ce_x: __ce_x * sqrt(__ce_weight)) AS __ce_vector
  FROM clustereval._residuals(__ce_offsets, __ce_shifts);

-- One row a partition: the indices made from determinants of scatter matrices. __ce_points has rows
-- (partition, cluster, single, point). T = W + B is never formed. Where some cluster's scatter is singular
-- for its few points, the clusters' matrices are not asked for, and W is summed straight from the points:
-- a million small clusters so take no room.
CREATE OR REPLACE MACRO clustereval._determinants(__ce_points) AS TABLE
  WITH __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._numbered_clusters(__ce_points)),
  __ce_vectors AS NOT MATERIALIZED (
    SELECT __ce_c.__ce_number, 1 AS __ce_weight, __ce_x.__ce_point AS __ce_vector
    FROM query_table(__ce_points) AS __ce_x
    JOIN __ce_clusters AS __ce_c
      ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_c.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
      AND __ce_c.__ce_single = __ce_x.__ce_single
  ),
  __ce_means AS MATERIALIZED (SELECT * FROM clustereval._vector_means(__ce_vectors)),
  __ce_residuals AS NOT MATERIALIZED (
    SELECT * FROM clustereval._residuals(__ce_vectors, __ce_means)
  ),
  __ce_rests AS MATERIALIZED (SELECT * FROM clustereval._vector_means(__ce_residuals)),
  __ce_centred AS NOT MATERIALIZED (
    SELECT
      CASE WHEN __ce_c.__ce_dense THEN __ce_c.__ce_number ELSE -__ce_c.__ce_lead END AS __ce_number,
      __ce_x.__ce_vector
    FROM clustereval._residuals(__ce_residuals, __ce_rests) AS __ce_x
    JOIN __ce_clusters AS __ce_c ON __ce_c.__ce_number = __ce_x.__ce_number
  ),
  __ce_deviations AS (
    SELECT * FROM clustereval._deviations(__ce_clusters, __ce_means, __ce_rests)
  ),
  __ce_pairs AS MATERIALIZED (
    SELECT __ce_i.__ce_position AS __ce_i, __ce_j.__ce_position AS __ce_j
    FROM (SELECT range(1, MAX(__ce_dims) + 1) AS __ce_positions FROM __ce_clusters) AS __ce_all,
      unnest(__ce_all.__ce_positions) AS __ce_i(__ce_position),
      unnest(__ce_all.__ce_positions) AS __ce_j(__ce_position)
    WHERE __ce_i.__ce_position <= __ce_j.__ce_position
  ),
  __ce_scatters AS MATERIALIZED (
    SELECT * FROM clustereval._product_sums(__ce_centred, __ce_pairs)
  ),
  __ce_between AS (SELECT * FROM clustereval._product_sums(__ce_deviations, __ce_pairs)),
  -- A partition goes by the number of one of its clusters, which so leads to it as all others do.
  __ce_within AS (
    SELECT __ce_c.__ce_lead, __ce_s.__ce_i, __ce_s.__ce_j, fsum(__ce_s.__ce_value) AS __ce_value
    FROM __ce_scatters AS __ce_s
    JOIN __ce_clusters AS __ce_c ON __ce_c.__ce_number = abs(__ce_s.__ce_number)
    GROUP BY __ce_c.__ce_lead, __ce_s.__ce_i, __ce_s.__ce_j
  ),
  __ce_matrices AS (
    SELECT
      __ce_number, __ce_i,
      list(__ce_value ORDER BY __ce_j) AS __ce_w,
      CAST([] AS DOUBLE[]) AS __ce_b
    FROM __ce_scatters
    WHERE __ce_number > 0
    GROUP BY __ce_number, __ce_i
    UNION ALL
    SELECT
      -__ce_w.__ce_lead, __ce_w.__ce_i,
      list(__ce_w.__ce_value ORDER BY __ce_w.__ce_j),
      list(__ce_b.__ce_value ORDER BY __ce_w.__ce_j)
    FROM __ce_within AS __ce_w
    JOIN __ce_between AS __ce_b
      ON __ce_b.__ce_number = __ce_w.__ce_lead
      AND __ce_b.__ce_i = __ce_w.__ce_i AND __ce_b.__ce_j = __ce_w.__ce_j
    GROUP BY __ce_w.__ce_lead, __ce_w.__ce_i
  ),
  __ce_eliminations AS MATERIALIZED (SELECT * FROM clustereval._eliminations(__ce_matrices)),
  __ce_partitions AS (
    SELECT
      __ce_c.__ce_lead,
      MIN(__ce_c.__ce_partition) AS __ce_partition,
      CAST(SUM(__ce_c.__ce_n) AS DOUBLE) AS __ce_n,
      CAST(COUNT(*) AS DOUBLE) AS __ce_k,
      MAX(__ce_c.__ce_dims) AS __ce_dims,
      CASE
        WHEN COUNT(*) = COUNT(__ce_e.__ce_log_det)
        THEN fsum(__ce_c.__ce_n * (__ce_e.__ce_log_det - __ce_c.__ce_dims * ln(__ce_c.__ce_n)))
      END AS __ce_scott_symons
    FROM __ce_clusters AS __ce_c
    LEFT JOIN __ce_eliminations AS __ce_e ON __ce_e.__ce_number = __ce_c.__ce_number
    GROUP BY __ce_c.__ce_lead
  )
  SELECT
    __ce_p.__ce_partition,
    clustereval._finite_exp(__ce_w.__ce_log_ratio) AS __ce_det_ratio,
    __ce_p.__ce_n * __ce_w.__ce_log_ratio AS __ce_log_det_ratio,
    clustereval._finite_exp(2 * ln(__ce_p.__ce_k) + __ce_w.__ce_log_det) AS __ce_ksq_detw,
    __ce_p.__ce_scott_symons,
    __ce_w.__ce_trace AS __ce_trace_wib
  FROM __ce_partitions AS __ce_p
  LEFT JOIN __ce_eliminations AS __ce_w
    ON __ce_w.__ce_number = -__ce_p.__ce_lead
    AND __ce_p.__ce_n - __ce_p.__ce_k >= __ce_p.__ce_dims; -- else W is singular, rounding or not

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every cluster: how wide it is and how far the next one.
-- Examples:
--   FROM clustereval.internal_cluster_report(points, [x, y, z], cluster);
--   FROM clustereval.internal_cluster_report(points, [x, y, z], cluster, distance := 'cityblock');
CREATE OR REPLACE MACRO clustereval.internal_cluster_report(
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
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._clusters_of_points(__ce_centers, __ce_spreads)
  ),
  __ce_gaps AS (SELECT * FROM clustereval._gaps(__ce_clusters, distance, p)),
  __ce_checked AS (
    SELECT * FROM clustereval._checked_points(__ce_points, __ce_spreads, __ce_middles, weights)
  )
  SELECT
    __ce_c.__ce_partition AS partition_key,
    __ce_c.__ce_cluster AS cluster,
    __ce_c.__ce_n AS n,
    clustereval._unscaled(__ce_c.__ce_centre, weights, distance, p) AS centroid,
    __ce_c.__ce_squares AS ssw,
    __ce_c.__ce_mean_distance AS mean_distance,
    __ce_c.__ce_radius AS max_distance,
    __ce_g.__ce_nearest['cluster'] AS nearest_cluster,
    __ce_g.__ce_nearest['distance'] AS nearest_distance
  FROM __ce_clusters AS __ce_c
  LEFT JOIN __ce_gaps AS __ce_g ON __ce_g.__ce_number = __ce_c.__ce_number
  WHERE clustereval._checked_options(
    clustereval._valid_points(distance, p, center, weights, noise, noise_as)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_c.__ce_partition, __ce_c.__ce_cluster, __ce_c.__ce_single;
COMMENT ON MACRO TABLE clustereval.internal_cluster_report IS
'One row a cluster: n points, its centroid, ssw = their squared distances to it, their mean_distance and max_distance to it, and the nearest_cluster by centroids (the lowest of equals) with its nearest_distance. NULL for these two where there is one cluster. With noise_as := ''singletons'' each noise point has a row of its own, cluster NULL.';

-- The indices that need the distance of every point to every centre.
-- Examples:
--   FROM clustereval.neighbor_report(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.neighbor_report(
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
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._clusters_of_points(__ce_centers, __ce_spreads)
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._checked_points(__ce_points, __ce_spreads, __ce_middles, weights)
  ),
  __ce_spread_totals AS (
    SELECT * FROM clustereval._spread_totals(__ce_clusters, __ce_middles, distance, p)
  ),
  __ce_variance_totals AS (
    SELECT * FROM clustereval._variance_totals(__ce_coordinates, __ce_middles)
  ),
  __ce_nearness AS (
    SELECT * FROM clustereval._nearness(__ce_points, __ce_clusters, distance, p)
  ),
  __ce_densities AS (SELECT * FROM clustereval._densities(__ce_points, __ce_clusters))
  SELECT
    __ce_r.__ce_partition AS partition_key,
    __ce_r.__ce_total AS n,
    __ce_r.__ce_n_dropped AS n_dropped,
    __ce_r.__ce_n_noise AS n_noise,
    COALESCE(__ce_s.__ce_dims, 0) AS n_dims,
    __ce_r.__ce_n_clusters AS n_clusters,
    __ce_w.__ce_nearness AS wemmert_gancarski_index,
    CASE
      WHEN clustereval._adds_up(distance, center)
      THEN clustereval._scattering(
        __ce_s.__ce_variances, __ce_r.__ce_n_clusters, __ce_v.__ce_variance, __ce_r.__ce_total
      ) + __ce_d.__ce_density
    END AS s_dbw_index
  FROM __ce_counts AS __ce_r
  LEFT JOIN __ce_spread_totals AS __ce_s
    ON __ce_s.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  LEFT JOIN __ce_variance_totals AS __ce_v
    ON __ce_v.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  LEFT JOIN __ce_nearness AS __ce_w
    ON __ce_w.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  LEFT JOIN __ce_densities AS __ce_d
    ON __ce_d.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  WHERE clustereval._checked_options(
    clustereval._valid_points(distance, p, center, weights, noise, noise_as)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_r.__ce_partition;
COMMENT ON MACRO TABLE clustereval.neighbor_report IS
'Internal indices from the distance of every point to every centre, one row a partition: counts (n points kept, n_dropped, n_noise, n_dims, n_clusters), wemmert_gancarski_index (range [0, 1], best 1) and s_dbw_index (best 0; NULL unless total = within + between, and where no point lies near either centre of a pair). Its time grows with points times clusters. Source: Wemmert, Gancarski and Korczak (2000), doi:10.1142/S0218213000000231; Halkidi and Vazirgiannis (2001), doi:10.1109/ICDM.2001.989517.';

-- The indices made from determinants of scatter matrices.
-- Examples:
--   FROM clustereval.determinant_report(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.determinant_report(
  tbl, vector, cluster, partition_by := NULL, noise := NULL, noise_as := 'cluster'
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, 'euclidean', 2, NULL, partition_by, noise, noise_as
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinates(__ce_points, 'mean')),
  __ce_centers AS (SELECT * FROM clustereval._centers(__ce_coordinates, 'euclidean')),
  __ce_middles AS (
    SELECT * FROM clustereval._middles(__ce_points, __ce_coordinates, 'euclidean', 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._spreads(__ce_points, __ce_centers, __ce_middles, 'euclidean', 2)
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._checked_points(__ce_points, __ce_spreads, __ce_middles, NULL)
  ),
  __ce_kept_points AS NOT MATERIALIZED (
    SELECT __ce_partition, __ce_cluster, __ce_single, __ce_point
    FROM __ce_points
    WHERE __ce_kept
  ),
  __ce_determinants AS (SELECT * FROM clustereval._determinants(__ce_kept_points))
  SELECT
    __ce_r.__ce_partition AS partition_key,
    __ce_r.__ce_total AS n,
    __ce_r.__ce_n_dropped AS n_dropped,
    __ce_r.__ce_n_noise AS n_noise,
    COALESCE(__ce_m.__ce_dims, 0) AS n_dims,
    __ce_r.__ce_n_clusters AS n_clusters,
    __ce_d.__ce_det_ratio AS det_ratio,
    __ce_d.__ce_log_det_ratio AS log_det_ratio,
    __ce_d.__ce_ksq_detw AS ksq_detw_index,
    __ce_d.__ce_scott_symons AS scott_symons_index,
    __ce_d.__ce_trace_wib AS trace_wib
  FROM __ce_counts AS __ce_r
  LEFT JOIN __ce_middles AS __ce_m
    ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  LEFT JOIN __ce_determinants AS __ce_d
    ON __ce_d.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  WHERE clustereval._checked_options(clustereval._valid_noise(noise, noise_as))
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_r.__ce_partition;
COMMENT ON MACRO TABLE clustereval.determinant_report IS
'Internal indices from determinants of scatter matrices, T of all points = W within + B between clusters, one row a partition: counts (n points kept, n_dropped, n_noise, n_dims, n_clusters), det_ratio = |T| / |W| (>= 1, best high), log_det_ratio = n ln det_ratio (>= 0, best high), ksq_detw_index = k^2 |W| (best low), scott_symons_index = sum over clusters of n_C ln |W_C / n_C| (best low), trace_wib = trace(W^-1 B) (>= 0, best high). NULL where a matrix is singular, as that of a cluster of no more points than dimensions. Source: Scott and Symons (1971), doi:10.2307/2529003; Marriott (1971), doi:10.2307/2528592; Friedman and Rubin (1967), doi:10.1080/01621459.1967.10500923.';
