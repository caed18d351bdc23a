-- determinants: the indices made from determinants of scatter matrices: W, the products of the
-- deviations of points from the center of their cluster, summed over points, and B, those of the
-- centers of clusters from the center of the partition. T = W + B. The squares of nearly collinear
-- columns lose twice the digits that the columns themselves lose. If an elimination shows such
-- columns, its combinations of coordinates, which are nearly orthogonal, are computed for every
-- point, and the products of these are summed in another pass; the determinant is the same.

---------------------------------------------------------------------------------------------------
-- Matrices
-- A scatter matrix is symmetric and stored as rows (number, i, j, value), i <= j. Clusters are
-- numbered from 1; __ce_partition_no is the number of one cluster of a partition. The matrix W of
-- a partition has the number __ce_within_no, its T __ce_total_no. A combination of coordinates is
-- their sum with the coefficients of a list, one for each coordinate; that of its own coordinate is
-- 1, those of later ones are 0.
---------------------------------------------------------------------------------------------------

-- One row per group of vectors: its number (__ce_number) and the weighted mean of its vectors
-- (__ce_mean). __ce_vectors has columns __ce_number, __ce_weight and __ce_vector; a number stands
-- for a cluster or partition. The mean is clamped to the range of the vectors: rounding would
-- otherwise give a constant coordinate a variance.
CREATE OR REPLACE MACRO clustereval._vector_means(__ce_vectors) AS TABLE
  WITH __ce_values AS NOT MATERIALIZED (
    SELECT
      __ce_number, __ce_weight,
      unnest(__ce_vector) AS __ce_x,
      unnest(range(1, len(__ce_vector) + 1)) AS __ce_i
    FROM query_table(__ce_vectors)
  ),
  __ce_coordinate_means AS (
    SELECT
      __ce_number, __ce_i,
      least(
        greatest(fsum(__ce_weight * __ce_x) / fsum(__ce_weight), MIN(__ce_x)), MAX(__ce_x)
      ) AS __ce_mean
    FROM __ce_values
    GROUP BY __ce_number, __ce_i
  )
  SELECT __ce_number, list(__ce_mean ORDER BY __ce_i ASC NULLS LAST) AS __ce_mean
  FROM __ce_coordinate_means
  GROUP BY __ce_number;

-- One row per group of vectors and pair of coordinates (__ce_number, __ce_i, __ce_j): the sum of
-- coordinate i x coordinate j over the vectors of the group (__ce_value). __ce_vectors has columns
-- __ce_number and __ce_vector; a number stands for a cluster or partition. __ce_pairs has columns
-- __ce_i and __ce_j. A cross join with the pairs copies no vector, unlike a join on the dimensions;
-- positions beyond the length of a vector have no value.
CREATE OR REPLACE MACRO clustereval._product_sums(__ce_vectors, __ce_pairs) AS TABLE
  SELECT
    vectors.__ce_number, pair.__ce_i, pair.__ce_j,
    fsum(vectors.__ce_vector[pair.__ce_i] * vectors.__ce_vector[pair.__ce_j]) AS __ce_value
  FROM query_table(__ce_vectors) AS vectors
  CROSS JOIN query_table(__ce_pairs) AS pair
  GROUP BY vectors.__ce_number, pair.__ce_i, pair.__ce_j
  HAVING __ce_value IS NOT NULL;

---------------------------------------------------------------------------------------------------
-- Elimination of matrices W and B. A row starts at the diagonal (tail: a row below the pivot row).
---------------------------------------------------------------------------------------------------

-- A row of a symmetric matrix after one step of elimination, as a list that starts at the diagonal:
-- `tail` is the row before, `shift` rows below the pivot row; pivot_row is the list from the pivot
-- on, and `slopes` that list divided by the pivot.
CREATE OR REPLACE MACRO clustereval._eliminate_row(tail, pivot_row, slopes, shift) AS
  list_transform(
    tail, lambda __ce_x, __ce_c: __ce_x - slopes[shift + 1] * pivot_row[shift + __ce_c]
  );

-- A row of the symmetric matrix B after one step of elimination of W, as a list that starts at the
-- diagonal: `tail` is the row before, `shift` rows below the pivot row. B is transformed along with
-- W to L^-1 B L^-T (W = L D L^T): first its rows are combined like those of W, then its columns.
-- `slopes` is the pivot row of W divided by its pivot; pivot_row and new_pivot_row are the pivot
-- row of B before and after the step.
CREATE OR REPLACE MACRO clustereval._transform_row(
  tail, pivot_row, new_pivot_row, slopes, shift
) AS
  list_transform(
    tail,
    lambda __ce_x, __ce_c: __ce_x
      - slopes[shift + 1] * new_pivot_row[shift + __ce_c]
      - slopes[shift + __ce_c] * pivot_row[shift + 1]
  );

-- The pivot row of the symmetric matrix B, a list from the diagonal on, after one step of
-- elimination of W; its first entry is then 0. `slopes` is the pivot row of W divided by its pivot.
CREATE OR REPLACE MACRO clustereval._transform_pivot_row(pivot_row, slopes) AS
  list_transform(pivot_row, lambda __ce_x, __ce_c: __ce_x - pivot_row[1] * slopes[__ce_c]);

-- Share of a pivot, the first entry of `tail`, in the sum of the squares that it is a difference
-- of; 0 if it is not a finite number. The pivot is the square of a combination of coordinates with
-- `coefficients`; `lengths` are those of the coordinates, the roots of their scatter.
CREATE OR REPLACE MACRO clustereval._pivot_share(tail, coefficients, lengths) AS
  CASE
    WHEN isfinite(tail[1])
    THEN coalesce(
      tail[1] / nullif(list_sum(
        list_transform(coefficients, lambda __ce_x, __ce_i: pow(__ce_x * lengths[__ce_i], 2))
      ), 0),
      0
    )
    ELSE 0
  END;

-- One row per matrix W (__ce_number) and column __ce_i of its elimination (Cholesky without roots):
-- the pivot __ce_pivot, its share __ce_share (_pivot_share), whether this is more than least_share
-- times the number of dimensions (__ce_is_pivot), and __ce_coefficients, those of the combination
-- of coordinates that the pivot is the square of. A column without a pivot is not eliminated from
-- the others. __ce_matrices has columns __ce_number, __ce_i, __ce_w and __ce_b: row i of W and of B
-- as lists from column i on, b empty if there is no B; __ce_lengths of the coordinates, the roots
-- of their scatter; __ce_coefficients of the combination that row i belongs to. With B there are
-- also __ce_b_pivot and __ce_d_pivot, of B and of W + B. W + B is eliminated as d, its difference
-- from W: the ratio of the pivots is then 1 + d / w, and a small B loses no digits.
CREATE OR REPLACE MACRO clustereval._eliminate_columns(__ce_matrices, least_share) AS TABLE
  WITH RECURSIVE __ce_steps AS (
    SELECT
      __ce_number,
      __ce_i - 1 AS __ce_shift,
      __ce_w, __ce_b, __ce_b AS __ce_d,
      __ce_lengths, __ce_coefficients
    FROM query_table(__ce_matrices)
    UNION ALL
    SELECT
      below.__ce_number, below.__ce_shift - 1,
      clustereval._eliminate_row(below.__ce_w, top.__ce_w, top.__ce_slopes, below.__ce_shift),
      clustereval._transform_row(
        below.__ce_b, top.__ce_b, top.__ce_new_b, top.__ce_slopes, below.__ce_shift
      ),
      clustereval._eliminate_row(
        clustereval._transform_row(
          below.__ce_d, top.__ce_d, top.__ce_new_d, top.__ce_slopes, below.__ce_shift
        ),
        top.__ce_new_d, top.__ce_d_slopes, below.__ce_shift
      ),
      below.__ce_lengths,
      list_transform(
        below.__ce_coefficients,
        lambda __ce_x, __ce_c: __ce_x
          - top.__ce_slopes[below.__ce_shift + 1] * top.__ce_coefficients[__ce_c]
      )
    FROM __ce_steps AS below
    JOIN (
      SELECT
        *,
        list_transform(
          __ce_new_d,
          -- The pivot of d is negative only by rounding error.
          lambda __ce_x: __ce_x / (__ce_w[1] + greatest(__ce_d[1], 0))
        ) AS __ce_d_slopes
      FROM (
        SELECT
          *,
          clustereval._transform_pivot_row(__ce_b, __ce_slopes) AS __ce_new_b,
          clustereval._transform_pivot_row(__ce_d, __ce_slopes) AS __ce_new_d
        FROM (
          SELECT
            *,
            list_transform(
              __ce_w, lambda __ce_x: CASE WHEN __ce_is_pivot THEN __ce_x / __ce_w[1] ELSE 0 END
            ) AS __ce_slopes
          FROM (
            SELECT
              *,
              clustereval._pivot_share(__ce_w, __ce_coefficients, __ce_lengths)
                > least_share * len(__ce_lengths) AS __ce_is_pivot
            FROM __ce_steps
            WHERE __ce_shift = 0
          )
        )
      )
    ) AS top ON top.__ce_number = below.__ce_number
    WHERE below.__ce_shift > 0
  )
  SELECT
    __ce_number,
    len(__ce_lengths) AS __ce_dims,
    len(__ce_lengths) - len(__ce_w) + 1 AS __ce_i,
    __ce_w[1] AS __ce_pivot,
    __ce_b[1] AS __ce_b_pivot,
    __ce_d[1] AS __ce_d_pivot,
    clustereval._pivot_share(__ce_w, __ce_coefficients, __ce_lengths) AS __ce_share,
    __ce_share > least_share * __ce_dims AS __ce_is_pivot,
    __ce_lengths, __ce_coefficients
  FROM __ce_steps
  WHERE __ce_shift = 0;

-- One row per regular matrix W (__ce_number): ln |W| (__ce_log_det), trace(W^-1 B) (__ce_trace) and
-- ln(|W + B| / |W|) (__ce_log_ratio), W being scatter within and B between clusters. __ce_matrices:
-- as for _eliminate_columns. W is singular if a pivot has a share of at most 2^-68 times the number
-- of dimensions: coordinates are themselves rounded, and |W| would have less than six digits.
CREATE OR REPLACE MACRO clustereval._eliminate_matrices(__ce_matrices) AS TABLE
  SELECT
    __ce_number,
    fsum(ln(__ce_pivot)) AS __ce_log_det,
    fsum(__ce_b_pivot / __ce_pivot) AS __ce_trace,
    fsum(clustereval._log1p(greatest(__ce_d_pivot, 0) / __ce_pivot)) AS __ce_log_ratio
  FROM clustereval._eliminate_columns(__ce_matrices, pow(2.0, -68))
  WHERE __ce_is_pivot
  GROUP BY __ce_number
  HAVING COUNT(*) = MAX(__ce_dims);

---------------------------------------------------------------------------------------------------
-- Combinations of coordinates
---------------------------------------------------------------------------------------------------

-- One row per scatter matrix (__ce_number): the lengths of the coordinates, roots of their scatter
-- (__ce_lengths), whether the matrix is delicate (__ce_is_delicate), and a list of combinations of
-- coordinates, lists of coefficients (__ce_combinations): those of the elimination if the matrix is
-- delicate, otherwise the coordinates themselves. The determinant of this transformation is 1,
-- however its coefficients are rounded. __ce_scatters has the entries of the matrices, columns
-- __ce_number, __ce_i, __ce_j, __ce_value. A matrix is delicate if a pivot has lost many digits, as
-- its share below 2^-10 tells, and no coordinate is constant. The rounding error of a sum of
-- products has a share of at most 0.5 dims 2^-52, for dims dimensions, for the singular matrices of
-- the tests: a pivot with less than four times that may be nothing else.
CREATE OR REPLACE MACRO clustereval._choose_combinations(__ce_scatters) AS TABLE
  WITH __ce_rows AS (
    SELECT __ce_number, __ce_i, list(__ce_value ORDER BY __ce_j ASC NULLS LAST) AS __ce_w
    FROM query_table(__ce_scatters)
    GROUP BY __ce_number, __ce_i
  ),
  __ce_diagonals AS (
    SELECT __ce_number, list(sqrt(__ce_w[1]) ORDER BY __ce_i ASC NULLS LAST) AS __ce_lengths
    FROM __ce_rows
    GROUP BY __ce_number
  ),
  __ce_matrices AS (
    SELECT
      matrix.__ce_number, matrix.__ce_i, matrix.__ce_w,
      CAST([] AS DOUBLE[]) AS __ce_b,
      diagonal.__ce_lengths,
      list_transform(
        diagonal.__ce_lengths, lambda __ce_x, __ce_c: CAST(__ce_c = matrix.__ce_i AS DOUBLE)
      ) AS __ce_coefficients
    FROM __ce_rows AS matrix
    JOIN __ce_diagonals AS diagonal ON diagonal.__ce_number = matrix.__ce_number
  ),
  __ce_eliminated AS (
    SELECT
      *,
      MIN(__ce_share) OVER (PARTITION BY __ce_number) < pow(2.0, -10)
        AND list_min(__ce_lengths) > 0 AS __ce_is_delicate
    FROM clustereval._eliminate_columns(__ce_matrices, pow(2.0, -50))
  )
  SELECT
    __ce_number, __ce_is_delicate,
    any_value(__ce_lengths) AS __ce_lengths,
    list(
      CASE
        WHEN __ce_is_delicate
        THEN __ce_coefficients
        ELSE list_transform(
          __ce_coefficients, lambda __ce_x, __ce_c: CAST(__ce_c = __ce_i AS DOUBLE)
        )
      END
      ORDER BY __ce_i ASC NULLS LAST
    ) AS __ce_combinations
  FROM __ce_eliminated
  GROUP BY __ce_number, __ce_is_delicate;

-- The combinations of the coordinates of a vector, a list of as many numbers; NULL if the vector
-- lacks a coordinate, which _check_points reports. `combinations` is a list of the coefficients.
CREATE OR REPLACE MACRO clustereval._combine_coordinates(vector, combinations) AS
  CASE
    WHEN list_count(vector) = len(combinations)
    THEN list_transform(
      combinations, lambda __ce_coefficients: list_inner_product(__ce_coefficients, vector)
    )
  END;

---------------------------------------------------------------------------------------------------
-- Scatter matrices
---------------------------------------------------------------------------------------------------

-- One row per cluster (__ce_partition, __ce_cluster, __ce_singleton_no): its points __ce_n and
-- dimensions __ce_dims, its number __ce_number, the least number in its partition
-- (__ce_partition_no), the numbers of W and T (__ce_within_no, __ce_total_no), and whether the
-- clusters of the partition need scatter matrices of their own (__ce_own_matrices). They do not if
-- one has no more points than dimensions, since its matrix is singular. __ce_points has the columns
-- of the key and __ce_point.
CREATE OR REPLACE MACRO clustereval._number_clusters(__ce_points) AS TABLE
  WITH __ce_sizes AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_singleton_no,
      COUNT(*) AS __ce_n,
      MAX(len(__ce_point)) AS __ce_dims,
      row_number() OVER () AS __ce_number
    FROM query_table(__ce_points)
    GROUP BY __ce_partition, __ce_cluster, __ce_singleton_no
  )
  SELECT
    *,
    MIN(__ce_number) OVER (PARTITION BY __ce_partition) AS __ce_partition_no,
    -__ce_partition_no AS __ce_within_no,
    -__ce_partition_no - COUNT(*) OVER () AS __ce_total_no,
    MIN(__ce_n) OVER (PARTITION BY __ce_partition) > __ce_dims AS __ce_own_matrices
  FROM __ce_sizes;

-- One row per vector of __ce_vectors (__ce_number, __ce_weight, __ce_vector): the vector minus the
-- mean of its number, a cluster or partition. __ce_means: rows of _vector_means. Callers compute
-- means twice, the second time of these differences: at coordinates of 1e8 the first mean is off by
-- 1e-8.
CREATE OR REPLACE MACRO clustereval._subtract_means(__ce_vectors, __ce_means) AS TABLE
  SELECT
    vectors.__ce_number, vectors.__ce_weight,
    clustereval._subtract_vectors(vectors.__ce_vector, means.__ce_mean) AS __ce_vector
  FROM query_table(__ce_vectors) AS vectors
  JOIN query_table(__ce_means) AS means ON means.__ce_number = vectors.__ce_number;

-- One row per cluster: its number (__ce_cluster_no), the numbers of W and T of its partition
-- (__ce_within_no, __ce_total_no), its number of points (__ce_weight), and its mean minus that of
-- the partition (__ce_vector). __ce_clusters: rows of _number_clusters; __ce_means: rows of
-- _vector_means; __ce_residual_means: the same of the points minus those means, added as a
-- correction.
CREATE OR REPLACE MACRO clustereval._mean_differences(
  __ce_clusters, __ce_means, __ce_residual_means
) AS TABLE
  WITH __ce_cluster_means AS (
    SELECT
      cluster.__ce_partition_no AS __ce_number,
      cluster.__ce_number AS __ce_cluster_no,
      cluster.__ce_within_no,
      cluster.__ce_total_no,
      cluster.__ce_n AS __ce_weight,
      means.__ce_mean AS __ce_vector,
      residual_means.__ce_mean AS __ce_residual_mean
    FROM query_table(__ce_clusters) AS cluster
    JOIN query_table(__ce_means) AS means ON means.__ce_number = cluster.__ce_number
    JOIN query_table(__ce_residual_means) AS residual_means
      ON residual_means.__ce_number = cluster.__ce_number
  ),
  __ce_partition_means AS (SELECT * FROM clustereval._vector_means(__ce_cluster_means)),
  __ce_differences AS (
    SELECT
      cluster.__ce_number, cluster.__ce_cluster_no, cluster.__ce_within_no, cluster.__ce_total_no,
      cluster.__ce_weight,
      list_transform(
        cluster.__ce_vector,
        lambda __ce_x, __ce_i: __ce_x - whole.__ce_mean[__ce_i]
          + cluster.__ce_residual_mean[__ce_i]
      ) AS __ce_vector
    FROM __ce_cluster_means AS cluster
    JOIN __ce_partition_means AS whole ON whole.__ce_number = cluster.__ce_number
  ),
  __ce_mean_differences AS (SELECT * FROM clustereval._vector_means(__ce_differences))
  SELECT
    cluster.__ce_cluster_no, cluster.__ce_within_no, cluster.__ce_total_no, cluster.__ce_weight,
    clustereval._subtract_vectors(cluster.__ce_vector, means.__ce_mean) AS __ce_vector
  FROM __ce_differences AS cluster
  JOIN __ce_mean_differences AS means ON means.__ce_number = cluster.__ce_number;

-- One row per partition (group of partition_by): __ce_partition, and its indices __ce_det_ratio,
-- __ce_log_det_ratio, __ce_ksq_detw, __ce_scott_symons and __ce_trace_wib (see determinant_report),
-- NULL if a matrix is singular. __ce_points has the columns __ce_partition, __ce_cluster,
-- __ce_singleton_no and __ce_point. If a cluster's scatter matrix is singular because it has few
-- points, the matrices of the clusters are not needed, and W is summed directly over the points: a
-- million small clusters then take no memory.
CREATE OR REPLACE MACRO clustereval._determinant_totals(__ce_points) AS TABLE
  WITH __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._number_clusters(__ce_points)),
  __ce_vectors AS NOT MATERIALIZED (
    SELECT cluster.__ce_number, 1 AS __ce_weight, point.__ce_point AS __ce_vector
    FROM query_table(__ce_points) AS point
    JOIN __ce_clusters AS cluster
      ON cluster.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
      AND cluster.__ce_cluster IS NOT DISTINCT FROM point.__ce_cluster
      AND cluster.__ce_singleton_no = point.__ce_singleton_no
  ),
  __ce_means AS MATERIALIZED (SELECT * FROM clustereval._vector_means(__ce_vectors)),
  __ce_residuals AS NOT MATERIALIZED (
    SELECT * FROM clustereval._subtract_means(__ce_vectors, __ce_means)
  ),
  __ce_residual_means AS MATERIALIZED (SELECT * FROM clustereval._vector_means(__ce_residuals)),
  __ce_centered AS NOT MATERIALIZED (
    SELECT * FROM clustereval._subtract_means(__ce_residuals, __ce_residual_means)
  ),
  __ce_matrix_vectors AS NOT MATERIALIZED (
    SELECT
      CASE
        WHEN cluster.__ce_own_matrices
        THEN cluster.__ce_number
        ELSE cluster.__ce_within_no
      END AS __ce_number,
      centered.__ce_vector
    FROM __ce_centered AS centered
    JOIN __ce_clusters AS cluster ON cluster.__ce_number = centered.__ce_number
  ),
  __ce_pairs AS MATERIALIZED (
    SELECT i.__ce_position AS __ce_i, j.__ce_position AS __ce_j
    FROM (SELECT range(1, MAX(__ce_dims) + 1) AS __ce_positions FROM __ce_clusters) AS dims,
      unnest(dims.__ce_positions) AS i (__ce_position),
      unnest(dims.__ce_positions) AS j (__ce_position)
    WHERE i.__ce_position <= j.__ce_position
  ),
  __ce_summed_scatters AS MATERIALIZED (
    SELECT * FROM clustereval._product_sums(__ce_matrix_vectors, __ce_pairs)
  ),
  -- The number of a partition is that of one of its clusters: it joins like any of theirs.
  __ce_within AS MATERIALIZED (
    SELECT
      cluster.__ce_within_no, cluster.__ce_total_no, scatter.__ce_i, scatter.__ce_j,
      fsum(scatter.__ce_value) AS __ce_value
    FROM __ce_summed_scatters AS scatter
    JOIN __ce_clusters AS cluster ON cluster.__ce_number = abs(scatter.__ce_number)
    GROUP BY cluster.__ce_within_no, cluster.__ce_total_no, scatter.__ce_i, scatter.__ce_j
  ),
  __ce_mean_differences AS MATERIALIZED (
    SELECT *
    FROM clustereval._mean_differences(__ce_clusters, __ce_means, __ce_residual_means)
  ),
  -- The sums of products of these vectors are B.
  __ce_weighted_differences AS (
    SELECT
      __ce_within_no AS __ce_number,
      list_transform(__ce_vector, lambda __ce_x: __ce_x * sqrt(__ce_weight)) AS __ce_vector
    FROM __ce_mean_differences
  ),
  __ce_between AS (SELECT * FROM clustereval._product_sums(__ce_weighted_differences, __ce_pairs)),
  __ce_scatters AS MATERIALIZED (
    SELECT * FROM __ce_summed_scatters WHERE __ce_number > 0
    UNION ALL
    SELECT __ce_within_no, __ce_i, __ce_j, __ce_value FROM __ce_within
    UNION ALL
    SELECT
      matrix.__ce_total_no, matrix.__ce_i, matrix.__ce_j,
      matrix.__ce_value + between_scatter.__ce_value
    FROM __ce_within AS matrix
    JOIN __ce_between AS between_scatter
      ON between_scatter.__ce_number = matrix.__ce_within_no
      AND between_scatter.__ce_i = matrix.__ce_i
      AND between_scatter.__ce_j = matrix.__ce_j
  ),
  __ce_choices AS MATERIALIZED (
    SELECT * FROM clustereval._choose_combinations(__ce_scatters)
  ),
  -- The delicate matrices that a cluster contributes to: its own, W and T of its partition. For T,
  -- __ce_shift is added to its points to center them on the mean of the partition.
  __ce_delicate AS MATERIALIZED (
    SELECT
      matrix.__ce_cluster_no, choice.__ce_number, choice.__ce_combinations,
      CASE
        WHEN choice.__ce_number = matrix.__ce_total_no THEN matrix.__ce_vector
      END AS __ce_shift
    FROM (
      SELECT
        __ce_cluster_no, __ce_total_no, __ce_vector,
        unnest([__ce_cluster_no, __ce_within_no, __ce_total_no]) AS __ce_number
      FROM __ce_mean_differences
    ) AS matrix
    JOIN __ce_choices AS choice ON choice.__ce_number = matrix.__ce_number
    WHERE choice.__ce_is_delicate
  ),
  __ce_combined AS NOT MATERIALIZED (
    SELECT
      delicate.__ce_number,
      clustereval._combine_coordinates(
        CASE
          WHEN delicate.__ce_shift IS NULL
          THEN centered.__ce_vector
          ELSE list_transform(
            centered.__ce_vector, lambda __ce_x, __ce_c: __ce_x + delicate.__ce_shift[__ce_c]
          )
        END,
        delicate.__ce_combinations
      ) AS __ce_vector
    FROM __ce_centered AS centered
    JOIN __ce_delicate AS delicate ON delicate.__ce_cluster_no = centered.__ce_number
  ),
  __ce_refined_scatters AS (SELECT * FROM clustereval._product_sums(__ce_combined, __ce_pairs)),
  __ce_combined_differences AS (
    SELECT
      choice.__ce_number,
      clustereval._combine_coordinates(
        difference.__ce_vector, choice.__ce_combinations
      ) AS __ce_vector
    FROM __ce_weighted_differences AS difference
    JOIN __ce_choices AS choice ON choice.__ce_number = difference.__ce_number
  ),
  __ce_combined_between AS (
    SELECT * FROM clustereval._product_sums(__ce_combined_differences, __ce_pairs)
  ),
  __ce_matrix_rows AS (
    SELECT
      scatter.__ce_number, scatter.__ce_i,
      list(
        coalesce(refined.__ce_value, scatter.__ce_value)
        ORDER BY scatter.__ce_j ASC NULLS LAST
      ) AS __ce_w,
      coalesce(
        list(between_scatter.__ce_value ORDER BY scatter.__ce_j ASC NULLS LAST)
          FILTER (between_scatter.__ce_value IS NOT NULL),
        []
      ) AS __ce_b
    FROM __ce_scatters AS scatter
    LEFT JOIN __ce_refined_scatters AS refined
      ON refined.__ce_number = scatter.__ce_number
      AND refined.__ce_i = scatter.__ce_i
      AND refined.__ce_j = scatter.__ce_j
    LEFT JOIN __ce_combined_between AS between_scatter
      ON between_scatter.__ce_number = scatter.__ce_number
      AND between_scatter.__ce_i = scatter.__ce_i
      AND between_scatter.__ce_j = scatter.__ce_j
    GROUP BY scatter.__ce_number, scatter.__ce_i
  ),
  -- A join copies the lists: rows are joined with their own combination, not with all of them.
  __ce_combinations AS (
    SELECT
      __ce_number, __ce_lengths,
      unnest(__ce_combinations) AS __ce_coefficients,
      unnest(range(1, len(__ce_combinations) + 1)) AS __ce_i
    FROM __ce_choices
  ),
  __ce_matrices AS (
    SELECT
      matrix.__ce_number, matrix.__ce_i, matrix.__ce_w, matrix.__ce_b,
      combination.__ce_lengths, combination.__ce_coefficients
    FROM __ce_matrix_rows AS matrix
    JOIN __ce_combinations AS combination
      ON combination.__ce_number = matrix.__ce_number AND combination.__ce_i = matrix.__ce_i
  ),
  __ce_determinants AS MATERIALIZED (
    SELECT * FROM clustereval._eliminate_matrices(__ce_matrices)
  ),
  __ce_partitions AS (
    SELECT
      cluster.__ce_within_no, cluster.__ce_total_no,
      MIN(cluster.__ce_partition) AS __ce_partition,
      CAST(SUM(cluster.__ce_n) AS DOUBLE) AS __ce_n,
      CAST(COUNT(*) AS DOUBLE) AS __ce_n_clusters,
      MAX(cluster.__ce_dims) AS __ce_dims,
      CASE
        WHEN COUNT(*) = COUNT(matrix.__ce_log_det)
        THEN fsum(
          cluster.__ce_n * (matrix.__ce_log_det - cluster.__ce_dims * ln(cluster.__ce_n))
        )
      END AS __ce_scott_symons
    FROM __ce_clusters AS cluster
    LEFT JOIN __ce_determinants AS matrix ON matrix.__ce_number = cluster.__ce_number
    GROUP BY cluster.__ce_within_no, cluster.__ce_total_no
  ),
  __ce_log_ratios AS (
    SELECT
      whole.*,
      within_scatter.__ce_log_det, within_scatter.__ce_trace,
      -- The rounding error of the ratio from B grows with the trace.
      CASE
        WHEN within_scatter.__ce_trace > 1
        THEN coalesce(
          total_scatter.__ce_log_det - within_scatter.__ce_log_det, within_scatter.__ce_log_ratio
        )
        ELSE within_scatter.__ce_log_ratio
      END AS __ce_log_ratio
    FROM __ce_partitions AS whole
    LEFT JOIN __ce_determinants AS within_scatter
      ON within_scatter.__ce_number = whole.__ce_within_no
      -- With fewer points W is singular, whatever rounding error says.
      AND whole.__ce_n - whole.__ce_n_clusters >= whole.__ce_dims
    LEFT JOIN __ce_determinants AS total_scatter
      ON total_scatter.__ce_number = whole.__ce_total_no
  )
  SELECT
    __ce_partition,
    clustereval._finite_exp(__ce_log_ratio) AS __ce_det_ratio,
    __ce_n * __ce_log_ratio AS __ce_log_det_ratio,
    clustereval._finite_exp(2 * ln(__ce_n_clusters) + __ce_log_det) AS __ce_ksq_detw,
    __ce_scott_symons,
    __ce_trace AS __ce_trace_wib
  FROM __ce_log_ratios;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- TRUE if n_dims, the number of dimensions, is at most 500, or NULL because there is no point.
-- Raises an error otherwise. Nearly collinear columns take n_dims^2 numbers for each of the 2,048
-- points that a thread processes at a time: 4 GB at 500 dimensions.
CREATE OR REPLACE MACRO clustereval._check_matrix_size(n_dims) AS
  CASE
    WHEN n_dims > 500
    THEN error(concat(
      'vector: expected at most 500 dimensions for determinants in DuckDB, got ', n_dims,
      '; reduce them, such as to principal components, or call determinant_report in Polars, which '
      'has no limit'
    ))
    ELSE TRUE
  END;

-- One row per partition (group of partition_by): the internal indices made from determinants of
-- scatter matrices.
-- Examples:
--   FROM clustereval.determinant_report(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.determinant_report(
  tbl, vector, cluster, partition_by := NULL, noise := NULL, noise_as := NULL,
  missing := 'error'
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, 'euclidean', 2, NULL, partition_by, noise, noise_as, missing
    )
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, 'euclidean', 2, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, 'euclidean', 2)
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, NULL)
  ),
  __ce_dims AS MATERIALIZED (
    SELECT __ce_partition, MAX(__ce_dims) AS __ce_dims
    FROM __ce_centers
    GROUP BY __ce_partition
  ),
  __ce_size_check AS MATERIALIZED (
    SELECT clustereval._check_matrix_size(MAX(__ce_dims)) AS __ce_fits
    FROM __ce_dims
    WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ),
  __ce_kept_points AS NOT MATERIALIZED (
    SELECT __ce_partition, __ce_cluster, __ce_singleton_no, __ce_point
    FROM __ce_points
    WHERE __ce_kept AND (SELECT __ce_fits FROM __ce_size_check)
  ),
  __ce_determinants AS (SELECT * FROM clustereval._determinant_totals(__ce_kept_points))
  SELECT
    counts.__ce_partition AS partition_key,
    counts.__ce_total AS n,
    counts.__ce_n_dropped AS n_dropped,
    counts.__ce_n_noise AS n_noise,
    COALESCE(dims.__ce_dims, 0) AS n_dims,
    counts.__ce_n_clusters AS n_clusters,
    determinants.__ce_det_ratio AS det_ratio,
    determinants.__ce_log_det_ratio AS log_det_ratio,
    determinants.__ce_ksq_detw AS ksq_detw_index,
    determinants.__ce_scott_symons AS scott_symons_index,
    determinants.__ce_trace_wib AS trace_wib
  FROM __ce_counts AS counts
  LEFT JOIN __ce_dims AS dims ON dims.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  LEFT JOIN __ce_determinants AS determinants
    ON determinants.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  WHERE clustereval._check_options(
    clustereval._valid_missing(missing, clustereval._valid_noise(noise, noise_as))
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
    AND COALESCE((SELECT __ce_fits FROM __ce_size_check), TRUE)
  ORDER BY counts.__ce_partition ASC NULLS LAST;
