-- intervals: standard errors and confidence intervals of the external metrics, by the delta method.
--
-- The rows are a sample of independent draws, so the contingency cells are multinomial with shares
-- p. Every metric here is a smooth function of one, two or three statistics of the shares, those of
-- its family (see external/gradients). The influence of a row on a statistic is the derivative of
-- the statistic by the share of the row's cell: a sum of a term of the cell, one of its label and
-- one of its cluster. The covariances C of the influences, summed over the cells once, serve every
-- metric: one with the gradient d by its statistics has the variance d' C d / n. The statistics of
-- the second and third column are chosen so that all their influences are exactly 0 for equal
-- labelings.

---------------------------------------------------------------------------------------------------
-- Normal quantile
---------------------------------------------------------------------------------------------------

-- q times the quotient of two polynomials in r = 0.180625 - q^2, for 0 <= q <= 0.425 (AS 241).
CREATE OR REPLACE MACRO clustereval._central_normal_quantile(q, r) AS
  q * (((((((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r
    + 6.7265770927008700853e4) * r + 4.5921953931549871457e4) * r
    + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r
    + 1.3314166789178437745e2) * r + 3.3871328727963666080e0)
  / (((((((5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r
    + 3.9307895800092710610e4) * r + 2.1213794301586595867e4) * r
    + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r
    + 4.2313330701600911252e1) * r + 1.0e0);

-- The quotient of two polynomials in r = sqrt(-ln(tail)) - 1.6, for tails of exp(-25) to 0.075 (AS
-- 241).
CREATE OR REPLACE MACRO clustereval._outer_normal_quantile(r) AS
  (((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r
    + 2.41780725177450611770e-1) * r + 1.27045825245236838258e0) * r
    + 3.64784832476320460504e0) * r + 5.76949722146069140550e0) * r
    + 4.63033784615654529590e0) * r + 1.42343711074968357734e0)
  / (((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r
    + 1.51986665636164571966e-2) * r + 1.48103976427480074590e-1) * r
    + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0) * r
    + 2.05319162663775882187e0) * r + 1.0e0);

-- The quotient of two polynomials in r = sqrt(-ln(tail)) - 5, for tails below exp(-25) (AS 241).
CREATE OR REPLACE MACRO clustereval._far_normal_quantile(r) AS
  (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r
    + 1.24266094738807843860e-3) * r + 2.65321895265761230930e-2) * r
    + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0) * r
    + 5.46378491116411436990e0) * r + 6.65790464350110377720e0)
  / (((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r
    + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4) * r
    + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r
    + 5.99832206555887937690e-1) * r + 1.0e0);

-- The number that a standard normal one exceeds with probability `tail`, where 0 < tail < 0.5; the
-- parameter q is 0.5 - tail.
CREATE OR REPLACE MACRO clustereval._normal_quantile_of_tail(q, tail) AS
  CASE
    WHEN q <= 0.425 THEN clustereval._central_normal_quantile(q, 0.180625e0 - q * q)
    WHEN tail >= exp(-25.0) THEN clustereval._outer_normal_quantile(sqrt(-ln(tail)) - 1.6e0)
    ELSE clustereval._far_normal_quantile(sqrt(-ln(tail)) - 5.0e0)
  END;

-- z such that a standard normal number lies between -z and z with probability `confidence`, from 0
-- to 1, both excluded: the quantile of (1 + confidence) / 2. Wichura's algorithm AS 241 (PPND16),
-- with a relative error of 1e-16. The lower tail (1 - confidence) / 2 is computed first, since it
-- keeps its digits if confidence is near 1.
CREATE OR REPLACE MACRO clustereval._normal_quantile(confidence) AS
  clustereval._normal_quantile_of_tail(
    CAST(confidence AS DOUBLE) / 2, (1 - CAST(confidence AS DOUBLE)) / 2
  );

---------------------------------------------------------------------------------------------------
-- Influences and their covariances
---------------------------------------------------------------------------------------------------

-- One row per contingency cell: the columns of __ce_cells, the name of a CTE of cells; __ce_total,
-- __ce_label_size and __ce_cluster_size, the rows of its partition, label and cluster;
-- __ce_label_squares and __ce_cluster_squares, the sums of the squared rows of the cells of its
-- label and of its cluster; __ce_label_majority_n and __ce_cluster_majority_n, the rows of the
-- largest of these cells; and __ce_single, 1 for noise that is counted as singletons (cluster
-- NULL), otherwise 0.
CREATE OR REPLACE MACRO clustereval._cells_with_squares(__ce_cells) AS TABLE
  SELECT
    *,
    CASE WHEN __ce_cluster IS NULL THEN 1 ELSE 0 END AS __ce_single,
    CAST(SUM(__ce_n * __ce_copies) OVER (PARTITION BY __ce_partition) AS BIGINT) AS __ce_total,
    CAST(SUM(__ce_n * __ce_copies) OVER (PARTITION BY __ce_partition, __ce_label) AS BIGINT)
      AS __ce_label_size,
    CASE
      WHEN __ce_cluster IS NULL THEN 1
      ELSE CAST(SUM(__ce_n) OVER (PARTITION BY __ce_partition, __ce_cluster) AS BIGINT)
    END AS __ce_cluster_size,
    SUM(CAST(__ce_n AS DOUBLE) * __ce_n * __ce_copies)
      OVER (PARTITION BY __ce_partition, __ce_label) AS __ce_label_squares,
    CASE
      WHEN __ce_cluster IS NULL THEN 1.0
      ELSE SUM(CAST(__ce_n AS DOUBLE) * __ce_n) OVER (PARTITION BY __ce_partition, __ce_cluster)
    END AS __ce_cluster_squares,
    MAX(__ce_n) OVER (PARTITION BY __ce_partition, __ce_label) AS __ce_label_majority_n,
    MAX(__ce_n) OVER (PARTITION BY __ce_partition, __ce_cluster) AS __ce_cluster_majority_n
  FROM query_table(__ce_cells);

-- One row per contingency cell and family of statistics (see the head of this file):
-- __ce_partition, __ce_family, __ce_rows, the rows of the cell, and __ce_i1, __ce_i2 and __ce_i3,
-- the influence of each of these rows on the statistics of the family, up to a constant. __ce_cells
-- is the name of a CTE of cells.
-- Pairs: twice the share of the other rows with which a row forms such a pair. This is the
-- projection of the exact counts of pairs, and thus first-order right for sums of squared shares.
-- Information: the derivatives of the sums of p ln p. A row of noise that is counted as a singleton
-- is alone in its cell, however many such rows there are, so its cell has no such sum; the
-- derivative of hc is greater by 1, and that of B-cubed recall has a factor of 1 in place of 2.
-- Majority: 1 in the majority, NULL where a majority is tied, or is one singleton of several rows
-- or none: the maximum has no derivative there.
CREATE OR REPLACE MACRO clustereval._influences(__ce_cells) AS TABLE
  WITH __ce_cells_with_squares AS (SELECT * FROM clustereval._cells_with_squares(__ce_cells)),
  __ce_cells_with_ties AS (
    SELECT
      *,
      __ce_n * __ce_copies AS __ce_rows,
      SUM(CASE WHEN __ce_n = __ce_label_majority_n THEN __ce_copies + __ce_single ELSE 0 END)
        OVER (PARTITION BY __ce_partition, __ce_label) AS __ce_label_majorities,
      CASE
        WHEN __ce_cluster IS NULL THEN 1
        ELSE SUM(CASE WHEN __ce_n = __ce_cluster_majority_n THEN 1 ELSE 0 END)
          OVER (PARTITION BY __ce_partition, __ce_cluster)
      END AS __ce_cluster_majorities
    FROM __ce_cells_with_squares
  )
  SELECT
    __ce_partition,
    'pairs' AS __ce_family,
    __ce_rows,
    2.0 * clustereval._ratio(__ce_n - 1, __ce_total - 1) AS __ce_i1,
    2.0 * clustereval._ratio(__ce_cluster_size - __ce_n, __ce_total - 1) AS __ce_i2,
    2.0 * clustereval._ratio(__ce_label_size - __ce_n, __ce_total - 1) AS __ce_i3
  FROM __ce_cells_with_ties
  UNION ALL
  SELECT
    __ce_partition,
    'information',
    __ce_rows,
    clustereval._log_ratio(
      clustereval._widen(__ce_n) * clustereval._widen(__ce_total),
      clustereval._widen(__ce_label_size) * clustereval._widen(__ce_cluster_size)
    ),
    clustereval._log_ratio(__ce_label_size, __ce_n) + __ce_single,
    clustereval._log_ratio(__ce_cluster_size, __ce_n)
  FROM __ce_cells_with_ties
  UNION ALL
  SELECT
    __ce_partition,
    'bcubed',
    __ce_rows,
    2.0 * clustereval._ratio(__ce_n, __ce_cluster_size)
      - __ce_cluster_squares / CAST(__ce_cluster_size AS DOUBLE) / __ce_cluster_size,
    (2.0 - __ce_single) * clustereval._ratio(__ce_n, __ce_label_size)
      - __ce_label_squares / CAST(__ce_label_size AS DOUBLE) / __ce_label_size,
    0.0
  FROM __ce_cells_with_ties
  UNION ALL
  SELECT
    __ce_partition,
    'majority',
    __ce_rows,
    CASE
      WHEN __ce_cluster_majorities > 1 THEN NULL
      WHEN __ce_n = __ce_cluster_majority_n THEN 1.0
      ELSE 0.0
    END,
    CASE
      WHEN __ce_label_majorities > 1 THEN NULL
      WHEN __ce_n = __ce_label_majority_n THEN 1.0
      ELSE 0.0
    END,
    0.0
  FROM __ce_cells_with_ties;

-- Aggregate: the mean of x over all rows of the cells with n rows each, NULL if x is NULL anywhere.
CREATE OR REPLACE MACRO clustereval._mean_of_rows(n, x) AS
  CASE
    WHEN COUNT(x) = COUNT(*) THEN clustereval._compensated_sum(n * x) / CAST(SUM(n) AS DOUBLE)
  END;

-- One row per __ce_partition and __ce_family: __ce_c11, __ce_c12, ... __ce_c33, the covariances of
-- the influences of a row on the statistics of the family, NULL if one has no derivative.
-- __ce_influences is the name of a CTE of the rows of _influences. The influences are centered
-- first, so that no digits cancel.
CREATE OR REPLACE MACRO clustereval._covariances(__ce_influences) AS TABLE
  WITH __ce_means AS (
    SELECT
      __ce_partition,
      __ce_family,
      clustereval._mean_of_rows(__ce_rows, __ce_i1) AS __ce_m1,
      clustereval._mean_of_rows(__ce_rows, __ce_i2) AS __ce_m2,
      clustereval._mean_of_rows(__ce_rows, __ce_i3) AS __ce_m3
    FROM query_table(__ce_influences)
    GROUP BY __ce_partition, __ce_family
  ),
  __ce_centered AS (
    SELECT
      cell.__ce_partition,
      cell.__ce_family,
      cell.__ce_rows,
      cell.__ce_i1 - means.__ce_m1 AS __ce_i1,
      cell.__ce_i2 - means.__ce_m2 AS __ce_i2,
      cell.__ce_i3 - means.__ce_m3 AS __ce_i3
    FROM query_table(__ce_influences) AS cell
    JOIN __ce_means AS means
      ON means.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND means.__ce_family = cell.__ce_family
  )
  SELECT
    __ce_partition,
    __ce_family,
    clustereval._mean_of_rows(__ce_rows, __ce_i1 * __ce_i1) AS __ce_c11,
    clustereval._mean_of_rows(__ce_rows, __ce_i1 * __ce_i2) AS __ce_c12,
    clustereval._mean_of_rows(__ce_rows, __ce_i1 * __ce_i3) AS __ce_c13,
    clustereval._mean_of_rows(__ce_rows, __ce_i2 * __ce_i2) AS __ce_c22,
    clustereval._mean_of_rows(__ce_rows, __ce_i2 * __ce_i3) AS __ce_c23,
    clustereval._mean_of_rows(__ce_rows, __ce_i3 * __ce_i3) AS __ce_c33
  FROM __ce_centered
  GROUP BY __ce_partition, __ce_family;

---------------------------------------------------------------------------------------------------
-- Gradients
---------------------------------------------------------------------------------------------------

-- One row per __ce_partition and metric that is a linear function of the statistics of its
-- __ce_family, for samples of a given number of rows: __ce_metric, and __ce_g1, __ce_g2 and
-- __ce_g3, the coefficients. __ce_parts is the name of a CTE of the rows of _parts_of_gradients.
CREATE OR REPLACE MACRO clustereval._linear_gradients(__ce_parts) AS TABLE
  SELECT
    part.__ce_partition, part.__ce_family, metrics.__ce_metric,
    metrics.__ce_g1, metrics.__ce_g2, metrics.__ce_g3
  FROM query_table(__ce_parts) AS part
  CROSS JOIN LATERAL (VALUES
    ('pairs', 'rand_score', 0e0, -1e0, -1e0),
    ('pairs', 'mirkin_metric', 0e0,
      CAST(part.__ce_total AS DOUBLE) * (part.__ce_total - 1),
      CAST(part.__ce_total AS DOUBLE) * (part.__ce_total - 1)),
    ('information', 'label_entropy', 1e0, 0e0, 1e0),
    ('information', 'cluster_entropy', 1e0, 1e0, 0e0),
    ('information', 'joint_entropy', 1e0, 1e0, 1e0),
    ('information', 'label_entropy_given_cluster', 0e0, 0e0, 1e0),
    ('information', 'cluster_entropy_given_label', 0e0, 1e0, 0e0),
    ('information', 'mutual_info_score', 1e0, 0e0, 0e0),
    ('information', 'variation_of_information', 0e0, 1e0, 1e0),
    ('majority', 'purity', 1e0, 0e0, 0e0),
    ('majority', 'inverse_purity', 0e0, 1e0, 0e0),
    ('majority', 'split_join_distance', -part.__ce_total, -part.__ce_total, 0e0),
    ('bcubed', 'bcubed_precision', 1e0, 0e0, 0e0),
    ('bcubed', 'bcubed_recall', 0e0, 1e0, 0e0)
  ) AS metrics (__ce_family, __ce_metric, __ce_g1, __ce_g2, __ce_g3)
  WHERE metrics.__ce_family = part.__ce_family;

-- One row per __ce_partition and metric that is a quotient of two functions of the statistics of
-- its __ce_family: __ce_metric; __ce_is_quotient; __ce_top and __ce_bottom, the functions; __ce_t1,
-- __ce_t2, __ce_t3 and __ce_b1, __ce_b2, __ce_b3, their derivatives by the statistics. The
-- multinomial adjusted Rand index differs from the adjusted one by terms that are smaller by a
-- factor of the number of rows, and has its derivatives. __ce_parts is the name of a CTE of the
-- rows of _parts_of_gradients; average_method and beta are options of external_report.
CREATE OR REPLACE MACRO clustereval._metric_quotients(__ce_parts, average_method, beta) AS TABLE
  SELECT
    p.partition AS __ce_partition,
    p.family AS __ce_family,
    metrics.__ce_metric,
    TRUE AS __ce_is_quotient,
    metrics.__ce_top,
    metrics.__ce_bottom,
    metrics.__ce_t1,
    metrics.__ce_t2,
    metrics.__ce_t3,
    metrics.__ce_b1,
    metrics.__ce_b2,
    metrics.__ce_b3
  FROM query_table(__ce_parts)
    AS p (partition, n, family, s, x, y, emi, b, c, g, gb, gc, r, rb, rc, larger_x)
  CROSS JOIN LATERAL (VALUES
    ('pairs', 'adjusted_rand_score', NULL, p.s - p.b * p.c, (p.b + p.c) / 2 - p.b * p.c,
      (0.5 - p.b) + (0.5 - p.c), -p.b, -p.c, (0.5 - p.b) + (0.5 - p.c), 0.5 - p.b, 0.5 - p.c),
    ('pairs', 'fowlkes_mallows_score', NULL, p.s, p.g, 1e0, 0e0, 0e0, p.gb + p.gc, p.gc, p.gb),
    ('pairs', 'pair_precision', NULL, p.s, p.c, 1e0, 0e0, 0e0, 1e0, 1e0, 0e0),
    ('pairs', 'pair_recall', NULL, p.s, p.b, 1e0, 0e0, 0e0, 1e0, 0e0, 1e0),
    ('pairs', 'pair_f_score', NULL,
      (1 + beta * beta) * p.s, (1 + beta * beta) * p.s + p.x + beta * beta * p.y,
      1 + beta * beta, 0e0, 0e0, 1 + beta * beta, 1e0, beta * beta),
    ('pairs', 'jaccard_index', NULL, p.s, p.s + p.x + p.y, 1e0, 0e0, 0e0, 1e0, 1e0, 1e0),
    ('pairs', 'adjusted_fowlkes_mallows_score', NULL, p.s - p.b * p.c, p.g - p.b * p.c,
      (0.5 - p.b) + (0.5 - p.c), -p.b, -p.c,
      (p.gb - p.c) + (p.gc - p.b), p.gc - p.b, p.gb - p.c),
    ('pairs', 'multinomial_adjusted_rand_score', NULL,
      p.s - p.b * p.c, (p.b + p.c) / 2 - p.b * p.c,
      (0.5 - p.b) + (0.5 - p.c), -p.b, -p.c, (0.5 - p.b) + (0.5 - p.c), 0.5 - p.b, 0.5 - p.c),
    ('information', 'normalized_mutual_info_score', 'arithmetic',
      p.s, (p.b + p.c) / 2, 1e0, 0e0, 0e0, 1e0, 0.5e0, 0.5e0),
    ('information', 'normalized_mutual_info_score', 'geometric',
      p.s, p.g, 1e0, 0e0, 0e0, p.gb + p.gc, p.gc, p.gb),
    ('information', 'normalized_mutual_info_score', 'min',
      p.s, LEAST(p.b, p.c), 1e0, 0e0, 0e0, 1e0, 1 - p.larger_x, p.larger_x),
    ('information', 'normalized_mutual_info_score', 'max',
      p.s, GREATEST(p.b, p.c), 1e0, 0e0, 0e0, 1e0, p.larger_x, 1 - p.larger_x),
    ('information', 'normalized_mutual_info_score', 'joint',
      p.s, p.s + p.x + p.y, 1e0, 0e0, 0e0, 1e0, 1e0, 1e0),
    ('information', 'adjusted_mutual_info_score', 'arithmetic',
      p.s - p.emi, (p.b + p.c) / 2 - p.emi, 1e0, 0e0, 0e0, 1e0, 0.5e0, 0.5e0),
    ('information', 'adjusted_mutual_info_score', 'geometric',
      p.s - p.emi, p.g - p.emi, 1e0, 0e0, 0e0, p.gb + p.gc, p.gc, p.gb),
    ('information', 'adjusted_mutual_info_score', 'min',
      p.s - p.emi, LEAST(p.b, p.c) - p.emi, 1e0, 0e0, 0e0, 1e0, 1 - p.larger_x, p.larger_x),
    ('information', 'adjusted_mutual_info_score', 'max',
      p.s - p.emi, GREATEST(p.b, p.c) - p.emi, 1e0, 0e0, 0e0, 1e0, p.larger_x, 1 - p.larger_x),
    ('information', 'homogeneity_score', NULL, p.s, p.b, 1e0, 0e0, 0e0, 1e0, 0e0, 1e0),
    ('information', 'completeness_score', NULL, p.s, p.c, 1e0, 0e0, 0e0, 1e0, 1e0, 0e0),
    ('information', 'v_measure_score', NULL, (1 + beta) * p.s, p.b + beta * p.c,
      1 + beta, 0e0, 0e0, 1 + beta, beta, 1e0),
    ('information', 'normalized_variation_of_information', NULL,
      p.x + p.y, p.s + p.x + p.y, 0e0, 1e0, 1e0, 1e0, 1e0, 1e0),
    ('information', 'normalized_information_distance', NULL,
      GREATEST(p.x, p.y), p.s + GREATEST(p.x, p.y),
      0e0, p.larger_x, 1 - p.larger_x, 1e0, p.larger_x, 1 - p.larger_x),
    ('bcubed', 'bcubed_f_score', NULL,
      (1 + beta * beta) * p.s * p.x, beta * beta * p.s + p.x,
      (1 + beta * beta) * p.x, (1 + beta * beta) * p.s, 0e0, beta * beta, 1e0, 0e0)
  ) AS metrics (
    __ce_family, __ce_metric, __ce_method, __ce_top, __ce_bottom,
    __ce_t1, __ce_t2, __ce_t3, __ce_b1, __ce_b2, __ce_b3
  )
  WHERE metrics.__ce_family = p.family
    AND (metrics.__ce_method IS NULL OR metrics.__ce_method = average_method)
  UNION ALL
  SELECT * FROM clustereval._association_quotients(__ce_parts);

-- One row per __ce_partition and metric with a derivative: __ce_family, __ce_metric,
-- __ce_is_quotient (FALSE for linear functions), and __ce_g1, __ce_g2 and __ce_g3, its derivatives
-- by the statistics of the family. The parameters are those of _metric_quotients.
CREATE OR REPLACE MACRO clustereval._gradients(__ce_parts, average_method, beta) AS TABLE
  SELECT
    __ce_partition, __ce_family, __ce_metric, FALSE AS __ce_is_quotient, __ce_g1, __ce_g2, __ce_g3
  FROM clustereval._linear_gradients(__ce_parts)
  UNION ALL
  SELECT
    __ce_partition,
    __ce_family,
    __ce_metric,
    __ce_is_quotient,
    clustereval._quotient_slope(__ce_top, __ce_bottom, __ce_t1, __ce_b1),
    clustereval._quotient_slope(__ce_top, __ce_bottom, __ce_t2, __ce_b2),
    clustereval._quotient_slope(__ce_top, __ce_bottom, __ce_t3, __ce_b3)
  FROM clustereval._metric_quotients(__ce_parts, average_method, CAST(beta AS DOUBLE));

---------------------------------------------------------------------------------------------------
-- Standard errors
---------------------------------------------------------------------------------------------------

-- x * y * c, or 0 if x or y is 0, even if c is NULL.
CREATE OR REPLACE MACRO clustereval._covariance_term(x, y, c) AS
  CASE WHEN x = 0 OR y = 0 THEN 0.0 ELSE x * y * c END;

-- squares + products, the two parts of a quadratic form that is not negative; 0 if their sum is
-- less than the rounding error of the parts.
CREATE OR REPLACE MACRO clustereval._variance_above_rounding(squares, products) AS
  CASE WHEN squares + products <= 1e-14 * squares THEN 0.0 ELSE squares + products END;

-- Variance d' C d of the influence on a metric with the gradient (g1, g2, g3), where c11 to c33 are
-- the covariances of the influences on its statistics. 0 below the rounding error of the terms.
CREATE OR REPLACE MACRO clustereval._influence_variance(
  g1, g2, g3, c11, c12, c13, c22, c23, c33
) AS
  clustereval._variance_above_rounding(
    clustereval._covariance_term(g1, g1, c11) + clustereval._covariance_term(g2, g2, c22)
      + clustereval._covariance_term(g3, g3, c33),
    2.0 * (
      clustereval._covariance_term(g1, g2, c12) + clustereval._covariance_term(g1, g3, c13)
      + clustereval._covariance_term(g2, g3, c23)
    )
  );

-- One row per __ce_partition and metric with a derivative: __ce_metric and __ce_std_error, NULL if
-- undefined. Fewer than 2 rows have no standard error. Where label and cluster are equal partitions
-- those of every sample are too, and a quotient keeps its value, 1 or 0, even if it is 0 / 0.
-- __ce_statistics, __ce_covariances and __ce_gradients are names of CTEs of the rows of
-- _statistics_of_groups, _covariances and _gradients.
CREATE OR REPLACE MACRO clustereval._standard_errors(
  __ce_statistics, __ce_covariances, __ce_gradients
) AS TABLE
  SELECT
    gradient.__ce_partition,
    gradient.__ce_metric,
    CASE
      WHEN totals.__ce_total < 2 THEN NULL
      WHEN totals.__ce_fp + totals.__ce_fn = 0 AND gradient.__ce_is_quotient THEN 0.0
      ELSE sqrt(clustereval._influence_variance(
        gradient.__ce_g1, gradient.__ce_g2, gradient.__ce_g3,
        covariance.__ce_c11, covariance.__ce_c12, covariance.__ce_c13,
        covariance.__ce_c22, covariance.__ce_c23, covariance.__ce_c33
      ) / totals.__ce_total)
    END AS __ce_std_error
  FROM query_table(__ce_gradients) AS gradient
  JOIN query_table(__ce_statistics) AS totals
    ON totals.__ce_partition IS NOT DISTINCT FROM gradient.__ce_partition
  JOIN query_table(__ce_covariances) AS covariance
    ON covariance.__ce_partition IS NOT DISTINCT FROM gradient.__ce_partition
    AND covariance.__ce_family = gradient.__ce_family;

-- Text of the query SELECT TRUE AS __ce_valid, for _check_options. Raises an error if an option of
-- external_intervals is invalid, or two of them in combination. query_text is that text from
-- _valid_external_options, which raises the errors of all options but confidence.
CREATE OR REPLACE MACRO clustereval._valid_interval_options(confidence, query_text) AS
  CASE
    WHEN NOT coalesce(confidence > 0 AND confidence < 1, FALSE)
    THEN error(concat(
      'confidence: expected a number between 0 and 1, got ', clustereval._show_value(confidence)
    ))
    ELSE query_text
  END;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Confidence intervals of the metrics of external_report: one row per partition and metric, in the
-- order of external_report, with partition_key, metric (its name), value, std_error (standard error
-- by the delta method), lower and upper: value - z std_error and value + z std_error, but not
-- beyond the metric's range, where z is the normal quantile of `confidence`. std_error, lower and
-- upper are NULL where the method does not apply. All other parameters are those of
-- external_report.
-- Examples:
--   FROM clustereval.external_intervals(assignments, species, cluster);
--   SELECT metric, lower, value, upper
--   FROM clustereval.external_intervals(assignments, species, cluster, confidence := 0.99)
--   WHERE std_error IS NOT NULL;
CREATE OR REPLACE MACRO clustereval.external_intervals(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  average_method := 'arithmetic', beta := 1.0, adjusted := TRUE, confidence := 0.95
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_statistics AS (SELECT * FROM clustereval._statistics_of_groups(__ce_groups, adjusted)),
  __ce_report AS (
    SELECT * FROM clustereval._scores_of_statistics(__ce_statistics, average_method, beta)
  ),
  __ce_values AS (SELECT * FROM clustereval._metric_values(__ce_report, adjusted)),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_influences AS (SELECT * FROM clustereval._influences(__ce_cells)),
  __ce_covariances AS (SELECT * FROM clustereval._covariances(__ce_influences)),
  __ce_parts AS (SELECT * FROM clustereval._parts_of_gradients(__ce_statistics)),
  __ce_gradients AS (SELECT * FROM clustereval._gradients(__ce_parts, average_method, beta)),
  __ce_standard_errors AS (
    SELECT *
    FROM clustereval._standard_errors(__ce_statistics, __ce_covariances, __ce_gradients)
  ),
  __ce_intervals AS (
    SELECT
      metrics.__ce_partition,
      metrics.__ce_place,
      metrics.__ce_metric,
      metrics.__ce_value,
      CASE WHEN metrics.__ce_value IS NOT NULL THEN errors.__ce_std_error END AS __ce_std_error,
      clustereval._normal_quantile(confidence) * errors.__ce_std_error AS __ce_margin,
      clustereval._least_value(metrics.__ce_metric) AS __ce_least,
      clustereval._greatest_value(metrics.__ce_metric, totals.__ce_total) AS __ce_greatest
    FROM __ce_values AS metrics
    LEFT JOIN __ce_standard_errors AS errors
      ON errors.__ce_partition IS NOT DISTINCT FROM metrics.__ce_partition
      AND errors.__ce_metric = metrics.__ce_metric
    JOIN __ce_statistics AS totals
      ON totals.__ce_partition IS NOT DISTINCT FROM metrics.__ce_partition
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_metric AS metric,
    __ce_value AS value,
    __ce_std_error AS std_error,
    CASE
      WHEN __ce_value - __ce_margin < __ce_least THEN __ce_least
      ELSE __ce_value - __ce_margin
    END AS lower,
    CASE
      WHEN __ce_value + __ce_margin > __ce_greatest THEN __ce_greatest
      ELSE __ce_value + __ce_margin
    END AS upper
  FROM __ce_intervals
  WHERE clustereval._check_options(clustereval._valid_interval_options(
    confidence,
    clustereval._valid_external_options(noise, noise_as, average_method, beta, adjusted)
  ))
  ORDER BY __ce_partition ASC NULLS LAST, __ce_place ASC NULLS LAST;
