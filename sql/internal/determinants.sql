-- determinants: the indices made from determinants of scatter matrices. W is the sum over points of
-- the products of the deviations of a point from the center of its cluster. B is the sum of the
-- products of the deviations of the cluster centers from the center of the partition. T = W + B.
-- The squares of nearly collinear columns lose twice the digits that the columns themselves lose.
-- If an elimination shows such columns, its combinations of coordinates, which are nearly
-- orthogonal, are computed for every point. The products of these combinations are summed in
-- another pass, and the determinant is the same.

---------------------------------------------------------------------------------------------------
-- Matrices. A scatter matrix is symmetric and stored as rows (number, i, j, value), i <= j.
-- Clusters are numbered from 1; partition_no is the number of one of the clusters of a partition.
-- The matrix W of a partition has the number within_no, and its T has the number total_no. A
-- combination of coordinates is their weighted sum, with a list of coefficients, one for each
-- coordinate. The i-th combination has the coefficient 1 for coordinate i and 0 for later
-- coordinates.
---------------------------------------------------------------------------------------------------

-- One row per group of vectors (number, a cluster or partition): mean, the weighted mean of its
-- vectors, clamped to their range, because rounding would otherwise give a constant coordinate a
-- variance. vectors has the columns number, weight and vector.
CREATE OR REPLACE MACRO clustereval._vector_means(vectors) AS TABLE
  WITH coordinate_values AS NOT MATERIALIZED (
    SELECT
      number, weight,
      unnest(vector) AS x,
      unnest(range(1, len(vector) + 1)) AS i
    FROM query_table(vectors)
  ),
  coordinate_means AS (
    SELECT
      number, i,
      least(greatest(fsum(weight * x) / fsum(weight), MIN(x)), MAX(x)) AS mean
    FROM coordinate_values
    GROUP BY number, i
  )
  SELECT number, list(mean ORDER BY i ASC NULLS LAST) AS mean
  FROM coordinate_means
  GROUP BY number;

-- One row per group of vectors and pair of coordinates (number, i, j): the sum of coordinate i x
-- coordinate j over the vectors of the group (value). vectors has columns number and vector, pairs
-- has columns i and j. A cross join with the pairs copies no vector, unlike a join on the
-- dimensions; positions beyond the length of a vector have no value.
CREATE OR REPLACE MACRO clustereval._product_sums(vectors, pairs) AS TABLE
  SELECT
    vector.number, pair.i, pair.j,
    fsum(vector.vector[pair.i] * vector.vector[pair.j]) AS value
  FROM query_table(vectors) AS vector
  CROSS JOIN query_table(pairs) AS pair
  GROUP BY vector.number, pair.i, pair.j
  HAVING value IS NOT NULL;

---------------------------------------------------------------------------------------------------
-- Elimination of matrices W and B. A row starts at the diagonal (tail: a row below the pivot row).
---------------------------------------------------------------------------------------------------

-- A row of a symmetric matrix after one step of elimination, as a list that starts at the diagonal:
-- `tail` is the row before the step, `shift` rows below the pivot row; pivot_row is the list from
-- the pivot on, and `slopes` is that list divided by the pivot.
CREATE OR REPLACE MACRO clustereval._eliminate_row(tail, pivot_row, slopes, shift) AS
  list_transform(
    tail, lambda __ce_x, __ce_c: __ce_x - slopes[shift + 1] * pivot_row[shift + __ce_c]
  );

-- A row of the symmetric matrix B after one step of elimination of W, as a list that starts at the
-- diagonal: `tail` is the row before, `shift` rows below the pivot row. B is transformed along with
-- W to L^-1 B L^-T (W = L D L^T): first its rows are combined like those of W, then its columns.
-- `slopes` is the pivot row of W divided by its pivot; pivot_row and new_pivot_row are the pivot
-- row of B before and after the step.
CREATE OR REPLACE MACRO clustereval._transform_row(tail, pivot_row, new_pivot_row, slopes, shift) AS
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

-- Share of a pivot, the first entry of `tail`, in the sum of the squares of which it is a
-- difference; 0 if the pivot is not a finite number. The pivot is the square of a combination of
-- coordinates with `coefficients`. `lengths` are the lengths of the coordinates, which are the
-- roots of their scatter.
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

-- One row per matrix W (number) and column i of its elimination (Cholesky without roots):
-- pivot_value, the pivot; share, its share (_pivot_share); is_pivot, TRUE if this share is more
-- than least_share times the number of dimensions; and coefficients, those of the combination of
-- coordinates whose square is the pivot. A column without a pivot is not eliminated from the
-- others. matrices has columns number, i, w and b: row i of W and of B as lists from column i on, b
-- empty without B; lengths of the coordinates, which are the roots of their scatter; coefficients
-- of the combination to which row i belongs. With B there are also b_pivot and d_pivot, the pivots
-- of B and of W + B. W + B is eliminated as d, its difference from W: the ratio of the pivots is
-- then 1 + d / w, and a small B loses no digits.
CREATE OR REPLACE MACRO clustereval._eliminate_columns(matrices, least_share) AS TABLE
  WITH RECURSIVE steps AS (
    SELECT
      number,
      i - 1 AS shift,
      w, b, b AS d, lengths, coefficients
    FROM query_table(matrices)
    UNION ALL
    SELECT
      below.number, below.shift - 1,
      clustereval._eliminate_row(below.w, top.w, top.slopes, below.shift),
      clustereval._transform_row(below.b, top.b, top.new_b, top.slopes, below.shift),
      clustereval._eliminate_row(
        clustereval._transform_row(below.d, top.d, top.new_d, top.slopes, below.shift),
        top.new_d, top.d_slopes, below.shift
      ),
      below.lengths,
      list_transform(
        below.coefficients,
        lambda x, c: x
          - top.slopes[below.shift + 1] * top.coefficients[c]
      )
    FROM steps AS below
    JOIN (
      SELECT
        *,
        list_transform(
          new_d,
          -- The pivot of d is negative only by rounding error.
          lambda x: x / (w[1] + greatest(d[1], 0))
        ) AS d_slopes
      FROM (
        SELECT
          *,
          clustereval._transform_pivot_row(b, slopes) AS new_b,
          clustereval._transform_pivot_row(d, slopes) AS new_d
        FROM (
          SELECT
            *,
            list_transform(w, lambda x: CASE WHEN is_pivot THEN x / w[1] ELSE 0 END) AS slopes
          FROM (
            SELECT
              *,
              clustereval._pivot_share(w, coefficients, lengths)
                > least_share * len(lengths) AS is_pivot
            FROM steps
            WHERE shift = 0
          )
        )
      )
    ) AS top ON top.number = below.number
    WHERE below.shift > 0
  )
  SELECT
    number,
    len(lengths) AS dims,
    len(lengths) - len(w) + 1 AS i,
    w[1] AS pivot_value,
    b[1] AS b_pivot,
    d[1] AS d_pivot,
    clustereval._pivot_share(w, coefficients, lengths) AS share,
    share > least_share * dims AS is_pivot,
    lengths, coefficients
  FROM steps
  WHERE shift = 0;

-- One row per regular matrix W (number): ln |W| (log_det), trace(W^-1 B) (trace) and ln(|W + B| /
-- |W|) (log_ratio), where W is the scatter within clusters and B the scatter between clusters.
-- matrices: as for _eliminate_columns. W is singular if a pivot has a share of at most 2^-68 times
-- the number of dimensions, because coordinates are themselves rounded, and |W| would have fewer
-- than six digits.
CREATE OR REPLACE MACRO clustereval._eliminate_matrices(matrices) AS TABLE
  SELECT
    number,
    fsum(ln(pivot_value)) AS log_det,
    fsum(b_pivot / pivot_value) AS trace,
    fsum(clustereval._log1p(greatest(d_pivot, 0) / pivot_value)) AS log_ratio
  FROM clustereval._eliminate_columns(matrices, pow(2.0, -68))
  WHERE is_pivot
  GROUP BY number
  HAVING COUNT(*) = MAX(dims);

---------------------------------------------------------------------------------------------------
-- Combinations of coordinates
---------------------------------------------------------------------------------------------------

-- One row per scatter matrix (number): the lengths of the coordinates, roots of their scatter
-- (lengths), whether the matrix is delicate (is_delicate), and a list of combinations of
-- coordinates, lists of coefficients (combinations): those of the elimination if the matrix is
-- delicate, otherwise the coordinates themselves. The determinant of this transformation is 1,
-- however its coefficients are rounded. scatters has the entries of the matrices, columns number,
-- i, j, value. A matrix is delicate if a pivot has lost many digits, which a share below 2^-10
-- shows, and no coordinate is constant. For the singular matrices of the tests, the rounding error
-- of a sum of products has a share of at most 0.5 dims 2^-52, where dims is the number of
-- dimensions. A pivot with a share of less than four times that may be only rounding error.
CREATE OR REPLACE MACRO clustereval._choose_combinations(scatters) AS TABLE
  WITH rows AS (
    SELECT number, i, list(value ORDER BY j ASC NULLS LAST) AS w
    FROM query_table(scatters)
    GROUP BY number, i
  ),
  diagonals AS (
    SELECT number, list(sqrt(w[1]) ORDER BY i ASC NULLS LAST) AS lengths
    FROM rows
    GROUP BY number
  ),
  matrices AS (
    SELECT
      matrix.number, matrix.i, matrix.w,
      CAST([] AS DOUBLE[]) AS b,
      diagonal.lengths,
      list_transform(diagonal.lengths, lambda x, c: CAST(c = matrix.i AS DOUBLE)) AS coefficients
    FROM rows AS matrix
    JOIN diagonals AS diagonal ON diagonal.number = matrix.number
  ),
  eliminated AS (
    SELECT
      *,
      MIN(share) OVER (PARTITION BY number) < pow(2.0, -10)
        AND list_min(lengths) > 0 AS is_delicate
    FROM clustereval._eliminate_columns(matrices, pow(2.0, -50))
  )
  SELECT
    number, is_delicate,
    any_value(lengths) AS lengths,
    list(
      CASE
        WHEN is_delicate
        THEN coefficients
        ELSE list_transform(coefficients, lambda x, c: CAST(c = i AS DOUBLE))
      END
      ORDER BY i ASC NULLS LAST
    ) AS combinations
  FROM eliminated
  GROUP BY number, is_delicate;

-- The combinations of the coordinates of a vector, a list with one number per coordinate; NULL if
-- the vector lacks a coordinate, which _check_points reports. `combinations` is a list of the
-- coefficients.
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

-- One row per cluster: its key, its numbers of points (n) and of dimensions (dims), its running
-- number, the smallest number in its partition (partition_no), the numbers of the matrices W and T
-- (within_no, total_no, which are negative, so that no cluster has them), and own_matrices, TRUE if
-- the clusters of the partition need scatter matrices of their own. They do not need them if any
-- cluster has no more points than dimensions, since its matrix is singular.
CREATE OR REPLACE MACRO clustereval._number_clusters(points) AS TABLE
  WITH sizes AS (
    SELECT
      partition_key, cluster, singleton_no,
      COUNT(*) AS n,
      MAX(len(point)) AS dims,
      row_number() OVER () AS number
    FROM query_table(points)
    GROUP BY partition_key, cluster, singleton_no
  )
  SELECT
    *,
    MIN(number) OVER (PARTITION BY partition_key) AS partition_no,
    -partition_no AS within_no,
    -partition_no - COUNT(*) OVER () AS total_no,
    MIN(n) OVER (PARTITION BY partition_key) > dims AS own_matrices
  FROM sizes;

-- One row per vector of vectors (number, weight, vector): the vector minus the mean of its number.
-- means: rows of _vector_means. Callers compute means twice, and the second time they compute the
-- means of these differences, because at coordinates of 1e8 the first mean is off by 1e-8.
CREATE OR REPLACE MACRO clustereval._subtract_means(vectors, means) AS TABLE
  SELECT
    vector.number, vector.weight,
    clustereval._subtract_vectors(vector.vector, average.mean) AS vector
  FROM query_table(vectors) AS vector
  JOIN query_table(means) AS average ON average.number = vector.number;

-- One row per cluster: its number (cluster_no), the numbers of W and T of its partition (within_no,
-- total_no), its number of points (weight), and its mean minus that of the partition (vector).
-- means: rows of _vector_means; residual_means: the means of the points minus those means, which
-- are added as a correction.
CREATE OR REPLACE MACRO clustereval._mean_differences(clusters, means, residual_means) AS TABLE
  WITH cluster_means AS (
    SELECT
      cluster.partition_no AS number,
      cluster.number AS cluster_no,
      cluster.within_no,
      cluster.total_no,
      cluster.n AS weight,
      average.mean AS vector,
      residual.mean AS residual_mean
    FROM query_table(clusters) AS cluster
    JOIN query_table(means) AS average ON average.number = cluster.number
    JOIN query_table(residual_means) AS residual ON residual.number = cluster.number
  ),
  partition_means AS (SELECT * FROM clustereval._vector_means(cluster_means)),
  differences AS (
    SELECT
      cluster.number, cluster.cluster_no, cluster.within_no, cluster.total_no, cluster.weight,
      list_transform(
        cluster.vector,
        lambda x, i: x - whole.mean[i]
          + cluster.residual_mean[i]
      ) AS vector
    FROM cluster_means AS cluster
    JOIN partition_means AS whole ON whole.number = cluster.number
  ),
  mean_differences AS (SELECT * FROM clustereval._vector_means(differences))
  SELECT
    cluster.cluster_no, cluster.within_no, cluster.total_no, cluster.weight,
    clustereval._subtract_vectors(cluster.vector, average.mean) AS vector
  FROM differences AS cluster
  JOIN mean_differences AS average ON average.number = cluster.number;

-- The input of _eliminate_columns: the matrices of scatters, each in the combinations of
-- coordinates that choices has for it. Delicate matrices are summed again, from vectors in these
-- combinations. The parameters name CTEs of _determinant_totals.
CREATE OR REPLACE MACRO clustereval._combined_matrices(
  scatters, choices, centered, mean_differences, weighted_differences, pairs
) AS TABLE
  -- The delicate matrices to which a cluster contributes: its own matrix, and W and T of its
  -- partition. For T, shift is added to its points to center them on the mean of the partition.
  WITH delicate AS MATERIALIZED (
    SELECT
      matrix.cluster_no, choice.number, choice.combinations,
      CASE
        WHEN choice.number = matrix.total_no THEN matrix.vector
      END AS shift
    FROM (
      SELECT
        cluster_no, total_no, vector,
        unnest([cluster_no, within_no, total_no]) AS number
      FROM query_table(mean_differences)
    ) AS matrix
    JOIN query_table(choices) AS choice ON choice.number = matrix.number
    WHERE choice.is_delicate
  ),
  combined AS NOT MATERIALIZED (
    SELECT
      delicate.number,
      clustereval._combine_coordinates(
        CASE
          WHEN delicate.shift IS NULL
          THEN own.vector
          ELSE list_transform(own.vector, lambda x, c: x + delicate.shift[c])
        END,
        delicate.combinations
      ) AS vector
    FROM query_table(centered) AS own
    JOIN delicate ON delicate.cluster_no = own.number
  ),
  refined_scatters AS (SELECT * FROM clustereval._product_sums(combined, pairs)),
  combined_differences AS (
    SELECT
      choice.number,
      clustereval._combine_coordinates(difference.vector, choice.combinations) AS vector
    FROM query_table(weighted_differences) AS difference
    JOIN query_table(choices) AS choice ON choice.number = difference.number
  ),
  combined_between AS (SELECT * FROM clustereval._product_sums(combined_differences, pairs)),
  matrix_rows AS (
    SELECT
      scatter.number, scatter.i,
      list(
        coalesce(refined.value, scatter.value)
        ORDER BY scatter.j ASC NULLS LAST
      ) AS w,
      coalesce(
        list(between_scatter.value ORDER BY scatter.j ASC NULLS LAST)
          FILTER (between_scatter.value IS NOT NULL),
        []
      ) AS b
    FROM query_table(scatters) AS scatter
    LEFT JOIN refined_scatters AS refined
      ON refined.number = scatter.number
      AND refined.i = scatter.i
      AND refined.j = scatter.j
    LEFT JOIN combined_between AS between_scatter
      ON between_scatter.number = scatter.number
      AND between_scatter.i = scatter.i
      AND between_scatter.j = scatter.j
    GROUP BY scatter.number, scatter.i
  ),
  -- A join copies the lists, so rows are joined only with their own combination, not with all of
  -- them.
  combinations AS (
    SELECT
      number, lengths,
      unnest(combinations) AS coefficients,
      unnest(range(1, len(combinations) + 1)) AS i
    FROM query_table(choices)
  )
  SELECT
    matrix.number, matrix.i, matrix.w, matrix.b, combination.lengths, combination.coefficients
  FROM matrix_rows AS matrix
  JOIN combinations AS combination
    ON combination.number = matrix.number AND combination.i = matrix.i;

-- The rows of _determinant_totals. clusters: rows of _number_clusters, determinants: rows of
-- _eliminate_matrices.
CREATE OR REPLACE MACRO clustereval._determinant_indices(clusters, determinants) AS TABLE
  WITH partitions AS (
    SELECT
      cluster.within_no, cluster.total_no,
      MIN(cluster.partition_key) AS partition_key,
      CAST(SUM(cluster.n) AS DOUBLE) AS n,
      CAST(COUNT(*) AS DOUBLE) AS n_clusters,
      MAX(cluster.dims) AS dims,
      CASE
        WHEN COUNT(*) = COUNT(matrix.log_det)
        THEN fsum(cluster.n * (matrix.log_det - cluster.dims * ln(cluster.n)))
      END AS scott_symons
    FROM query_table(clusters) AS cluster
    LEFT JOIN query_table(determinants) AS matrix ON matrix.number = cluster.number
    GROUP BY cluster.within_no, cluster.total_no
  ),
  log_ratios AS (
    SELECT
      whole.*,
      within_scatter.log_det, within_scatter.trace,
      -- The rounding error of the ratio computed from B grows with the trace. Up to this trace, the
      -- ratio has six digits.
      CASE
        WHEN within_scatter.trace > 1 AND total_scatter.log_det IS NOT NULL
        THEN total_scatter.log_det - within_scatter.log_det
        WHEN within_scatter.trace <= pow(2.0, 32) THEN within_scatter.log_ratio
      END AS log_ratio
    FROM partitions AS whole
    LEFT JOIN query_table(determinants) AS within_scatter ON within_scatter.number = whole.within_no
      -- With fewer points W is singular, even if rounding errors hide it.
      AND whole.n - whole.n_clusters >= whole.dims
    LEFT JOIN query_table(determinants) AS total_scatter ON total_scatter.number = whole.total_no
  )
  SELECT
    partition_key,
    clustereval._finite_exp(log_ratio) AS det_ratio,
    n * log_ratio AS log_det_ratio,
    clustereval._finite_exp(2 * ln(n_clusters) + log_det) AS ksq_detw,
    scott_symons,
    trace AS trace_wib
  FROM log_ratios;

-- One row per partition: its indices det_ratio, log_det_ratio, ksq_detw, scott_symons and trace_wib
-- (see determinant_report), NULL if a matrix is singular. points has the columns partition_key,
-- cluster, singleton_no and point. If a cluster's scatter matrix is singular because it has few
-- points, the matrices of the clusters are not needed, and W is summed directly over the points: a
-- million small clusters then take no memory.
CREATE OR REPLACE MACRO clustereval._determinant_totals(points) AS TABLE
  WITH clusters AS MATERIALIZED (SELECT * FROM clustereval._number_clusters(points)),
  vectors AS NOT MATERIALIZED (
    SELECT cluster.number, 1 AS weight, point.point AS vector
    FROM query_table(points) AS point
    JOIN clusters AS cluster
      ON cluster.partition_key IS NOT DISTINCT FROM point.partition_key
      AND cluster.cluster IS NOT DISTINCT FROM point.cluster
      AND cluster.singleton_no = point.singleton_no
  ),
  means AS MATERIALIZED (SELECT * FROM clustereval._vector_means(vectors)),
  residuals AS NOT MATERIALIZED (SELECT * FROM clustereval._subtract_means(vectors, means)),
  residual_means AS MATERIALIZED (SELECT * FROM clustereval._vector_means(residuals)),
  centered AS NOT MATERIALIZED (
    SELECT * FROM clustereval._subtract_means(residuals, residual_means)
  ),
  matrix_vectors AS NOT MATERIALIZED (
    SELECT
      CASE
        WHEN cluster.own_matrices
        THEN cluster.number
        ELSE cluster.within_no
      END AS number,
      centered.vector
    FROM centered
    JOIN clusters AS cluster ON cluster.number = centered.number
  ),
  pairs AS MATERIALIZED (
    SELECT i.position AS i, j.position AS j
    FROM (SELECT range(1, MAX(dims) + 1) AS positions FROM clusters) AS dims,
      unnest(dims.positions) AS i (position),
      unnest(dims.positions) AS j (position)
    WHERE i.position <= j.position
  ),
  summed_scatters AS MATERIALIZED (SELECT * FROM clustereval._product_sums(matrix_vectors, pairs)),
  -- The number of a partition is the number of one of its clusters, so it joins like any number of
  -- a cluster.
  within AS MATERIALIZED (
    SELECT
      cluster.within_no, cluster.total_no, scatter.i, scatter.j,
      fsum(scatter.value) AS value
    FROM summed_scatters AS scatter
    JOIN clusters AS cluster ON cluster.number = abs(scatter.number)
    GROUP BY cluster.within_no, cluster.total_no, scatter.i, scatter.j
  ),
  mean_differences AS MATERIALIZED (
    SELECT *
    FROM clustereval._mean_differences(clusters, means, residual_means)
  ),
  -- The sums of the products of these vectors are the entries of B.
  weighted_differences AS (
    SELECT
      within_no AS number,
      list_transform(vector, lambda x: x * sqrt(weight)) AS vector
    FROM mean_differences
  ),
  between_products AS (SELECT * FROM clustereval._product_sums(weighted_differences, pairs)),
  scatters AS MATERIALIZED (
    SELECT * FROM summed_scatters WHERE number > 0
    UNION ALL
    SELECT within_no, i, j, value FROM within
    UNION ALL
    SELECT
      matrix.total_no, matrix.i, matrix.j,
      matrix.value + between_scatter.value
    FROM within AS matrix
    JOIN between_products AS between_scatter
      ON between_scatter.number = matrix.within_no
      AND between_scatter.i = matrix.i
      AND between_scatter.j = matrix.j
  ),
  choices AS MATERIALIZED (SELECT * FROM clustereval._choose_combinations(scatters)),
  matrices AS (
    SELECT * FROM clustereval._combined_matrices(
      scatters, choices, centered, mean_differences, weighted_differences, pairs
    )
  ),
  determinants AS MATERIALIZED (SELECT * FROM clustereval._eliminate_matrices(matrices))
  SELECT * FROM clustereval._determinant_indices(clusters, determinants);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- TRUE if n_dims, the number of dimensions, is at most 500, or is NULL because there are no points.
-- Otherwise raises an error, because nearly collinear columns take n_dims^2 numbers for each of the
-- 2,048 points that a thread processes at a time, which is 4 GB at 500 dimensions.
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

-- One row per partition (a group of partition_by): the internal indices made from determinants of
-- scatter matrices.
-- Examples:
--   FROM clustereval.determinant_report(points, [x, y, z], cluster);
CREATE OR REPLACE MACRO clustereval.determinant_report(
  tbl, vector, cluster, partition_by := NULL, noise := NULL, noise_as := NULL,
  missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, 'euclidean', 2, NULL, partition_by, noise, noise_as, missing
    )
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')
  ),
  __ce_origins AS (
    SELECT * FROM clustereval._partition_origins(__ce_coordinates, 'euclidean', 2, NULL)
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, 'euclidean', 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_arguments, __ce_centers, 'euclidean', 2
    )
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(
      __ce_points, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, NULL
    )
  ),
  __ce_dims AS MATERIALIZED (
    SELECT partition_key, MAX(dims) AS dims
    FROM __ce_centers
    GROUP BY partition_key
  ),
  __ce_size_check AS MATERIALIZED (
    SELECT clustereval._check_matrix_size(MAX(dims)) AS fits
    FROM __ce_dims AS dims
    WHERE COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
  ),
  __ce_kept_points AS NOT MATERIALIZED (
    SELECT partition_key, own.cluster, singleton_no, point
    FROM __ce_points AS own
    WHERE kept AND (SELECT fits FROM __ce_size_check)
  ),
  __ce_determinants AS (SELECT * FROM clustereval._determinant_totals(__ce_kept_points))
  SELECT
    counts.partition_key,
    counts.total AS n,
    counts.n_dropped,
    counts.n_noise,
    COALESCE(dims.dims, 0) AS n_dims,
    counts.n_clusters,
    determinants.det_ratio,
    determinants.log_det_ratio,
    determinants.ksq_detw AS ksq_detw_index,
    determinants.scott_symons AS scott_symons_index,
    determinants.trace_wib
  FROM clustereval._point_row_counts(__ce_spreads) AS counts
  LEFT JOIN __ce_dims AS dims ON dims.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN __ce_determinants AS determinants
    ON determinants.partition_key IS NOT DISTINCT FROM counts.partition_key
  WHERE clustereval._check_options(
    clustereval._valid_missing(missing, clustereval._valid_noise(noise, noise_as))
  )
    AND COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
    AND COALESCE((SELECT fits FROM __ce_size_check), TRUE)
  ORDER BY counts.partition_key ASC NULLS LAST;
