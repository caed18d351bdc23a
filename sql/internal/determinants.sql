-- determinants: the indices made from determinants of scatter matrices.

---------------------------------------------------------------------------------------------------
-- Determinants
-- A matrix is symmetric and is kept as rows (number, i, j, value), i <= j. Clusters are numbered from 1,
-- a partition goes by the number of one of its clusters, its within scatter by minus that number.
---------------------------------------------------------------------------------------------------

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
    MIN(__ce_number) OVER (PARTITION BY __ce_partition) AS __ce_partition_no,
    MIN(__ce_n) OVER (PARTITION BY __ce_partition) > __ce_dims AS __ce_dense
  FROM __ce_sizes;

-- One row a vector, less the mean of its number. Means are taken twice, the second time of what the first
-- leaves: at coordinates of 1e8 the first one is off by 1e-8.
CREATE OR REPLACE MACRO clustereval._residuals(__ce_vectors, __ce_means) AS TABLE
  SELECT
    __ce_v.__ce_number, __ce_v.__ce_weight,
    clustereval._subtract_vectors(__ce_v.__ce_vector, __ce_m.__ce_mean) AS __ce_vector
  FROM query_table(__ce_vectors) AS __ce_v
  JOIN query_table(__ce_means) AS __ce_m ON __ce_m.__ce_number = __ce_v.__ce_number;

-- The square roots of rows times the vectors from the middle to the clusters' means, numbered by
-- partition: their products sum up to B.
CREATE OR REPLACE MACRO clustereval._deviations(__ce_clusters, __ce_means, __ce_rests) AS TABLE
  WITH __ce_centers AS (
    SELECT
      __ce_c.__ce_partition_no AS __ce_number, __ce_c.__ce_n AS __ce_weight,
      __ce_m.__ce_mean AS __ce_vector, __ce_r.__ce_mean AS __ce_rest
    FROM query_table(__ce_clusters) AS __ce_c
    JOIN query_table(__ce_means) AS __ce_m ON __ce_m.__ce_number = __ce_c.__ce_number
    JOIN query_table(__ce_rests) AS __ce_r ON __ce_r.__ce_number = __ce_c.__ce_number
  ),
  __ce_middles AS (SELECT * FROM clustereval._vector_means(__ce_centers)),
  __ce_offsets AS (
    SELECT
      __ce_c.__ce_number, __ce_c.__ce_weight,
      list_transform(
        __ce_c.__ce_vector,
        lambda __ce_x, __ce_i: __ce_x - __ce_m.__ce_mean[__ce_i] + __ce_c.__ce_rest[__ce_i]
      ) AS __ce_vector
    FROM __ce_centers AS __ce_c
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
CREATE OR REPLACE MACRO clustereval._determinant_totals(__ce_points) AS TABLE
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
  __ce_centerd AS NOT MATERIALIZED (
    SELECT
      CASE WHEN __ce_c.__ce_dense THEN __ce_c.__ce_number ELSE -__ce_c.__ce_partition_no END AS __ce_number,
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
    SELECT * FROM clustereval._product_sums(__ce_centerd, __ce_pairs)
  ),
  __ce_between AS (SELECT * FROM clustereval._product_sums(__ce_deviations, __ce_pairs)),
  -- A partition goes by the number of one of its clusters, which so leads to it as all others do.
  __ce_within AS (
    SELECT __ce_c.__ce_partition_no, __ce_s.__ce_i, __ce_s.__ce_j, fsum(__ce_s.__ce_value) AS __ce_value
    FROM __ce_scatters AS __ce_s
    JOIN __ce_clusters AS __ce_c ON __ce_c.__ce_number = abs(__ce_s.__ce_number)
    GROUP BY __ce_c.__ce_partition_no, __ce_s.__ce_i, __ce_s.__ce_j
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
      -__ce_w.__ce_partition_no, __ce_w.__ce_i,
      list(__ce_w.__ce_value ORDER BY __ce_w.__ce_j),
      list(__ce_b.__ce_value ORDER BY __ce_w.__ce_j)
    FROM __ce_within AS __ce_w
    JOIN __ce_between AS __ce_b
      ON __ce_b.__ce_number = __ce_w.__ce_partition_no
      AND __ce_b.__ce_i = __ce_w.__ce_i AND __ce_b.__ce_j = __ce_w.__ce_j
    GROUP BY __ce_w.__ce_partition_no, __ce_w.__ce_i
  ),
  __ce_eliminations AS MATERIALIZED (SELECT * FROM clustereval._eliminations(__ce_matrices)),
  __ce_partitions AS (
    SELECT
      __ce_c.__ce_partition_no,
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
    GROUP BY __ce_c.__ce_partition_no
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
    ON __ce_w.__ce_number = -__ce_p.__ce_partition_no
    AND __ce_p.__ce_n - __ce_p.__ce_k >= __ce_p.__ce_dims; -- else W is singular, rounding or not

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

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
  __ce_coordinates AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')),
  __ce_centers AS (SELECT * FROM clustereval._cluster_centers(__ce_coordinates, 'euclidean')),
  __ce_middles AS (
    SELECT * FROM clustereval._partition_centers(__ce_points, __ce_coordinates, 'euclidean', 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, __ce_middles, 'euclidean', 2)
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, NULL)
  ),
  __ce_kept_points AS NOT MATERIALIZED (
    SELECT __ce_partition, __ce_cluster, __ce_single, __ce_point
    FROM __ce_points
    WHERE __ce_kept
  ),
  __ce_determinants AS (SELECT * FROM clustereval._determinant_totals(__ce_kept_points))
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
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_r.__ce_partition;
COMMENT ON MACRO TABLE clustereval.determinant_report IS
'Internal indices from determinants of scatter matrices, T of all points = W within + B between clusters, one row a partition: counts (n points kept, n_dropped, n_noise, n_dims, n_clusters), det_ratio = |T| / |W| (>= 1, best high), log_det_ratio = n ln det_ratio (>= 0, best high), ksq_detw_index = k^2 |W| (best low), scott_symons_index = sum over clusters of n_C ln |W_C / n_C| (best low), trace_wib = trace(W^-1 B) (>= 0, best high). NULL where a matrix is singular, as that of a cluster of no more points than dimensions. Source: Scott and Symons (1971), doi:10.2307/2529003; Marriott (1971), doi:10.2307/2528592; Friedman and Rubin (1967), doi:10.1080/01621459.1967.10500923.';
