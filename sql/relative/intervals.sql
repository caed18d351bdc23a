-- intervals: standard errors and confidence intervals of the external metrics, by the delta method.
--
-- The rows are a sample of independent draws, so the contingency cells are multinomial with shares
-- p. Every metric here is a smooth function of a few statistics of the shares, those of its family
-- (see external/gradients). The influence of a row on a statistic is the derivative of
-- the statistic with respect to the share of the row's cell. It is the sum of a term for the cell,
-- a term for its label and a term for its cluster. The covariances C of the influences are summed
-- over the cells only once, and every metric uses them: a metric with the gradient d with respect
-- to its statistics has the variance d' C d / n. The statistics of the second and third column are
-- chosen so that all their influences are exactly 0 for equal labelings.

---------------------------------------------------------------------------------------------------
-- Influences and their covariances
---------------------------------------------------------------------------------------------------

-- One row per contingency cell and family of statistics: partition_key; label; cluster; family;
-- rows, those of the cell; i1 to i4, the influence of each on the statistics of the family, up
-- to a constant; i4 is 0 but for emi, which is a statistic of the family information; and d1 to d3,
-- whose means over the rows say how much the statistics of a sample are expected to exceed those of
-- the population because its cells have few rows, to first order (Miller 1955 for entropies). They
-- are 0 for pairs, and not known for majorities.
-- expected_influences: rows of _expected_influences, or none if emi is not needed.
-- Pairs: twice the share of the other rows with which a row forms such a pair, the projection of
-- the exact counts of pairs, so it is right to first order for sums of squared shares. Information:
-- the changes of the sums of n ln n if the row is left out, because a derivative would be off by up
-- to 1 for cells of few rows. A singleton is alone in its cell, however many there are, so the
-- derivative of B-cubed recall has a factor of 1 in place of 2 for it. Majority: 1 in the
-- majority; NULL if a majority is tied, or is one singleton of several rows or none, because the
-- maximum has no derivative there. Matching: a match is best or tied as a majority is; the larger
-- of two equal sizes has a derivative only if their cell is the whole of both, since no sample then
-- has a row that is in only one of them.
CREATE OR REPLACE MACRO clustereval._influences(cells, expected_influences) AS TABLE
  -- Cells with the sizes of their labels and clusters, the sums of the squares of the cells of
  -- these, and the largest of these cells. single is 1 for noise that is counted as singletons.
  WITH cells_with_squares AS (
    SELECT
      *,
      CASE WHEN cluster IS NULL THEN 1 ELSE 0 END AS single,
      CAST(SUM(n * copies) OVER (PARTITION BY partition_key) AS BIGINT) AS total,
      CAST(SUM(n * copies) OVER (PARTITION BY partition_key, label) AS BIGINT) AS label_size,
      CASE
        WHEN cluster IS NULL THEN 1
        ELSE CAST(SUM(n) OVER (PARTITION BY partition_key, cluster) AS BIGINT)
      END AS cluster_size,
      SUM(CAST(n AS DOUBLE) * n * copies)
        OVER (PARTITION BY partition_key, label) AS label_squares,
      CASE
        WHEN cluster IS NULL THEN 1.0
        ELSE SUM(CAST(n AS DOUBLE) * n) OVER (PARTITION BY partition_key, cluster)
      END AS cluster_squares,
      MAX(n) OVER (PARTITION BY partition_key, label) AS label_majority_n,
      MAX(n) OVER (PARTITION BY partition_key, cluster) AS cluster_majority_n
    FROM query_table(cells)
  ),
  -- The same with the numbers of largest cells.
  cells_with_ties AS (
    SELECT
      *,
      n * copies AS rows,
      SUM(CASE WHEN n = label_majority_n THEN copies + single ELSE 0 END)
        OVER (PARTITION BY partition_key, label) AS label_majorities,
      CASE
        WHEN cluster IS NULL THEN 1
        ELSE SUM(CASE WHEN n = cluster_majority_n THEN 1 ELSE 0 END)
          OVER (PARTITION BY partition_key, cluster)
      END AS cluster_majorities
    FROM cells_with_squares
  ),
  -- The same with the F1 score of the best match of a label, which is 0 in its other cells. Equal
  -- quotients of counts are equal numbers.
  matched_cells AS (
    SELECT
      *,
      CAST(label_size AS DOUBLE) + cluster_size AS both_sizes,
      CASE
        WHEN clustereval._match_score(n, label_size, cluster_size)
          = MAX(clustereval._match_score(n, label_size, cluster_size))
            OVER (PARTITION BY partition_key, label)
        THEN clustereval._match_score(n, label_size, cluster_size)
        ELSE 0.0
      END AS best_match
    FROM cells_with_ties
  ),
  -- The same with what the last rows add to sums of n ln n, and to emi.
  information_cells AS (
    SELECT
      cell.*,
      clustereval._last_row_term(cell.n) AS last_of_cell,
      clustereval._last_row_term(cell.label_size) AS last_of_label,
      clustereval._last_row_term(cell.cluster_size) AS last_of_cluster,
      clustereval._last_row_term(cell.total) AS last_of_all,
      COALESCE(of_label.influence + of_cluster.influence, 0.0) AS expected_influence
    FROM cells_with_ties AS cell
    LEFT JOIN query_table(expected_influences) AS of_label
      ON of_label.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND of_label.is_label
      AND of_label.size = cell.label_size
    LEFT JOIN query_table(expected_influences) AS of_cluster
      ON of_cluster.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND NOT of_cluster.is_label
      AND of_cluster.size = cell.cluster_size
  )
  SELECT
    partition_key,
    label,
    cluster,
    'pairs' AS family,
    rows,
    2.0 * clustereval._ratio(n - 1, total - 1) AS i1,
    2.0 * clustereval._ratio(cluster_size - n, total - 1) AS i2,
    2.0 * clustereval._ratio(label_size - n, total - 1) AS i3,
    0.0 AS i4,
    0.0 AS d1,
    0.0 AS d2,
    0.0 AS d3
  FROM cells_with_ties
  UNION ALL
  SELECT
    partition_key,
    label,
    cluster,
    'information',
    rows,
    clustereval._log_ratio(
      clustereval._widen(n) * clustereval._widen(total),
      clustereval._widen(label_size) * clustereval._widen(cluster_size)
    ) + (last_of_cell - last_of_label) + (last_of_all - last_of_cluster),
    clustereval._log_ratio(label_size, n) + last_of_label - last_of_cell,
    clustereval._log_ratio(cluster_size, n) + last_of_cluster - last_of_cell,
    expected_influence,
    (1e0 / n - 1e0 / label_size + (1e0 / total - 1e0 / cluster_size)) / 2,
    (1e0 / label_size - 1e0 / n) / 2,
    (1e0 / cluster_size - 1e0 / n) / 2
  FROM information_cells
  UNION ALL
  SELECT
    partition_key,
    label,
    cluster,
    'bcubed',
    rows,
    2.0 * clustereval._ratio(n, cluster_size)
      - cluster_squares / CAST(cluster_size AS DOUBLE) / cluster_size,
    (2.0 - single) * clustereval._ratio(n, label_size)
      - label_squares / CAST(label_size AS DOUBLE) / label_size,
    0.0,
    0.0,
    (1e0 - clustereval._ratio(n, cluster_size)) / cluster_size,
    (1e0 - clustereval._ratio(n, label_size)) / label_size,
    0.0
  FROM cells_with_ties
  UNION ALL
  SELECT
    partition_key,
    label,
    cluster,
    'majority',
    rows,
    CASE
      WHEN cluster_majorities > 1 THEN NULL
      WHEN n = cluster_majority_n THEN 1.0
      ELSE 0.0
    END,
    CASE
      WHEN label_majorities > 1 THEN NULL
      WHEN n = label_majority_n THEN 1.0
      ELSE 0.0
    END,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0
  FROM cells_with_ties
  UNION ALL
  SELECT
    partition_key,
    label,
    cluster,
    'matching',
    rows,
    CASE
      WHEN SUM(CASE WHEN best_match > 0 THEN copies + single ELSE 0 END)
        OVER (PARTITION BY partition_key, label) > 1
      THEN NULL
      ELSE
        CASE WHEN best_match > 0 THEN 2.0 * label_size / both_sizes ELSE 0.0 END
        + SUM(best_match * cluster_size / both_sizes) OVER (PARTITION BY partition_key, label)
        - SUM(best_match * label_size / both_sizes) OVER (PARTITION BY partition_key, cluster)
    END,
    CASE
      WHEN label_size = cluster_size AND n < label_size THEN NULL
      ELSE
        (2.0 - single) * clustereval._element_similarity(n, label_size, cluster_size)
        - SUM(
          CASE WHEN label_size >= cluster_size THEN CAST(n AS DOUBLE) * n * copies ELSE 0.0 END
        ) OVER (PARTITION BY partition_key, label) / label_size / label_size
        - SUM(CASE WHEN label_size < cluster_size THEN CAST(n AS DOUBLE) * n ELSE 0.0 END)
          OVER (PARTITION BY partition_key, cluster) / cluster_size / cluster_size
    END,
    0.0,
    0.0,
    best_match * (cluster_size - label_size) / both_sizes * (1.0 - best_match / 2) / n,
    (1.0 - clustereval._element_similarity(n, label_size, cluster_size))
      / GREATEST(label_size, cluster_size),
    0.0
  FROM matched_cells;

-- Aggregate: the mean of x over all rows of cells with n rows each, NULL if x is NULL anywhere.
CREATE OR REPLACE MACRO clustereval._mean_of_rows(n, x) AS
  CASE
    WHEN COUNT(x) = COUNT(*) THEN clustereval._compensated_sum(n * x) / CAST(SUM(n) AS DOUBLE)
  END;

-- The rows of _expected_influences, or none unless adjusted. statistics: rows of
-- _statistics_of_groups; cells: those of its groups.
CREATE OR REPLACE MACRO clustereval._influences_on_expectation(
  statistics, cells, adjusted
) AS TABLE
  WITH label_sizes AS (SELECT *, 1 AS copies FROM clustereval._label_sizes(cells)),
  cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  all_influences AS (
    SELECT * FROM clustereval._expected_influences(statistics, label_sizes, cluster_sizes)
  ),
  no_influences AS (
    SELECT partition_key, FALSE AS is_label, total AS size, 0.0 AS influence
    FROM query_table(statistics)
    WHERE FALSE
  )
  -- The one that is not named is not bound.
  SELECT * FROM query_table(CASE WHEN adjusted THEN 'all_influences' ELSE 'no_influences' END);

-- The rows of _influences, with influences whose mean over the rows is 0, and NULL in all cells
-- if a statistic has no derivative.
CREATE OR REPLACE MACRO clustereval._centered_influences(cells, expected_influences) AS TABLE
  WITH influences AS (SELECT * FROM clustereval._influences(cells, expected_influences)),
  means AS (
    SELECT
      partition_key,
      family,
      clustereval._mean_of_rows(rows, i1) AS m1,
      clustereval._mean_of_rows(rows, i2) AS m2,
      clustereval._mean_of_rows(rows, i3) AS m3,
      clustereval._mean_of_rows(rows, i4) AS m4
    FROM influences
    GROUP BY partition_key, family
  )
  SELECT
    cell.partition_key,
    cell.label,
    cell.cluster,
    cell.family,
    cell.rows,
    cell.i1 - means.m1 AS i1,
    cell.i2 - means.m2 AS i2,
    cell.i3 - means.m3 AS i3,
    cell.i4 - means.m4 AS i4,
    cell.d1,
    cell.d2,
    cell.d3
  FROM influences AS cell
  JOIN means
    ON means.partition_key IS NOT DISTINCT FROM cell.partition_key
    AND means.family = cell.family;

-- One row per partition and family: c11, c12, ... c44, the covariances of the influences, NULL if a
-- statistic has no derivative; b1 to b3, the biases of the statistics; and total rows.
CREATE OR REPLACE MACRO clustereval._covariances(cells, expected_influences) AS TABLE
  SELECT
    partition_key,
    family,
    clustereval._mean_of_rows(rows, i1 * i1) AS c11,
    clustereval._mean_of_rows(rows, i1 * i2) AS c12,
    clustereval._mean_of_rows(rows, i1 * i3) AS c13,
    clustereval._mean_of_rows(rows, i2 * i2) AS c22,
    clustereval._mean_of_rows(rows, i2 * i3) AS c23,
    clustereval._mean_of_rows(rows, i3 * i3) AS c33,
    clustereval._mean_of_rows(rows, i1 * i4) AS c14,
    clustereval._mean_of_rows(rows, i2 * i4) AS c24,
    clustereval._mean_of_rows(rows, i3 * i4) AS c34,
    clustereval._mean_of_rows(rows, i4 * i4) AS c44,
    clustereval._mean_of_rows(rows, d1) AS b1,
    clustereval._mean_of_rows(rows, d2) AS b2,
    clustereval._mean_of_rows(rows, d3) AS b3,
    SUM(rows) AS total
  FROM clustereval._centered_influences(cells, expected_influences)
  GROUP BY partition_key, family;

---------------------------------------------------------------------------------------------------
-- Gradients
---------------------------------------------------------------------------------------------------

-- One row per partition and metric that is a linear function of the statistics of its family, for a
-- given number of rows: metric, and the coefficients g1 to g4.
CREATE OR REPLACE MACRO clustereval._linear_gradients(parts) AS TABLE
  SELECT
    part.partition_key, part.family, metrics.metric, metrics.g1, metrics.g2, metrics.g3,
    CASE WHEN metrics.metric = 'expected_mutual_info' THEN 1e0 ELSE 0e0 END AS g4
  FROM query_table(parts) AS part
  CROSS JOIN LATERAL (VALUES
    ('pairs', 'rand_score', 0e0, -1e0, -1e0),
    ('pairs', 'mirkin_metric', 0e0,
      CAST(part.total AS DOUBLE) * (part.total - 1),
      CAST(part.total AS DOUBLE) * (part.total - 1)),
    ('information', 'label_entropy', 1e0, 0e0, 1e0),
    ('information', 'cluster_entropy', 1e0, 1e0, 0e0),
    ('information', 'joint_entropy', 1e0, 1e0, 1e0),
    ('information', 'label_entropy_given_cluster', 0e0, 0e0, 1e0),
    ('information', 'cluster_entropy_given_label', 0e0, 1e0, 0e0),
    ('information', 'mutual_info_score', 1e0, 0e0, 0e0),
    ('information', 'variation_of_information', 0e0, 1e0, 1e0),
    ('information', 'expected_mutual_info', 0e0, 0e0, 0e0),
    ('majority', 'purity', 1e0, 0e0, 0e0),
    ('majority', 'inverse_purity', 0e0, 1e0, 0e0),
    ('majority', 'split_join_distance', -part.total, -part.total, 0e0),
    ('bcubed', 'bcubed_precision', 1e0, 0e0, 0e0),
    ('bcubed', 'bcubed_recall', 0e0, 1e0, 0e0),
    ('matching', 'class_f_measure', 1e0, 0e0, 0e0),
    ('matching', 'element_centric_similarity', 0e0, 1e0, 0e0)
  ) AS metrics (family, metric, g1, g2, g3)
  WHERE metrics.family = part.family;

-- One row per partition and metric that is a quotient of two functions of the statistics of its
-- family: metric; is_quotient; top and bottom, the functions; t1, t2, t3 and b1, b2, b3, their
-- derivatives. The multinomial adjusted Rand index differs from the adjusted Rand index by terms
-- that are smaller by a factor of the number of rows, so it has the same derivatives. parts: rows
-- of _parts_of_gradients.
CREATE OR REPLACE MACRO clustereval._metric_quotients(parts, average_method, beta) AS TABLE
  SELECT
    p.partition_key,
    p.family,
    metrics.metric,
    TRUE AS is_quotient,
    metrics.top,
    metrics.bottom,
    metrics.t1,
    metrics.t2,
    metrics.t3,
    metrics.b1,
    metrics.b2,
    metrics.b3
  FROM query_table(parts)
    AS p (partition_key, n, family, s, x, y, emi, b, c, g, gb, gc, r, rb, rc, larger_x)
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
  ) AS metrics (family, metric, method, top, bottom, t1, t2, t3, b1, b2, b3)
  WHERE metrics.family = p.family
    AND (metrics.method IS NULL OR metrics.method = average_method)
  UNION ALL
  SELECT * FROM clustereval._association_quotients(parts);

-- One row per partition and metric with a derivative: family, metric, and g1 to g4, its derivatives
-- with respect to the statistics of the family. If labels and clusters divide the rows in the same
-- way, they also do so in every sample, so that a quotient keeps its value, 1 or 0, even if it is
-- 0 / 0: its gradient is 0.
CREATE OR REPLACE MACRO clustereval._score_gradients(statistics, average_method, beta) AS TABLE
  WITH parts AS (SELECT * FROM clustereval._parts_of_gradients(statistics)),
  gradients AS (
    SELECT
      partition_key, family, metric, FALSE AS is_quotient, g1, g2, g3, g4
    FROM clustereval._linear_gradients(parts)
    UNION ALL
    SELECT
      partition_key,
      family,
      metric,
      is_quotient,
      clustereval._quotient_slope(top, bottom, t1, b1),
      clustereval._quotient_slope(top, bottom, t2, b2),
      clustereval._quotient_slope(top, bottom, t3, b3),
      CASE
        WHEN metric = 'adjusted_mutual_info_score'
        THEN clustereval._quotient_slope(top, bottom, -1e0, -1e0)
        ELSE 0e0
      END
    FROM clustereval._metric_quotients(parts, average_method, CAST(beta AS DOUBLE))
  )
  SELECT
    own.partition_key,
    own.family,
    own.metric,
    CASE WHEN own.is_quotient AND totals.fp + totals.fn = 0 THEN 0.0 ELSE own.g1 END AS g1,
    CASE WHEN own.is_quotient AND totals.fp + totals.fn = 0 THEN 0.0 ELSE own.g2 END AS g2,
    CASE WHEN own.is_quotient AND totals.fp + totals.fn = 0 THEN 0.0 ELSE own.g3 END AS g3,
    CASE WHEN own.is_quotient AND totals.fp + totals.fn = 0 THEN 0.0 ELSE own.g4 END AS g4
  FROM gradients AS own
  JOIN query_table(statistics) AS totals
    ON totals.partition_key IS NOT DISTINCT FROM own.partition_key;

---------------------------------------------------------------------------------------------------
-- Standard errors
---------------------------------------------------------------------------------------------------

-- x * y * c, or 0 if x or y is 0, even if c is NULL.
CREATE OR REPLACE MACRO clustereval._covariance_term(x, y, c) AS
  CASE WHEN x = 0 OR y = 0 THEN 0.0 ELSE x * y * c END;

-- squares + products, a quadratic form; 0 below the rounding error of its parts.
CREATE OR REPLACE MACRO clustereval._variance_above_rounding(squares, products) AS
  CASE WHEN squares + products <= 1e-14 * squares THEN 0.0 ELSE squares + products END;

-- Variance d' C d of the influence on a metric with the gradient (g1, g2, g3, g4).
CREATE OR REPLACE MACRO clustereval._influence_variance(
  g1, g2, g3, g4, c11, c12, c13, c14, c22, c23, c24, c33, c34, c44
) AS
  clustereval._variance_above_rounding(
    clustereval._covariance_term(g1, g1, c11) + clustereval._covariance_term(g2, g2, c22)
      + clustereval._covariance_term(g3, g3, c33) + clustereval._covariance_term(g4, g4, c44),
    2.0 * (
      clustereval._covariance_term(g1, g2, c12) + clustereval._covariance_term(g1, g3, c13)
      + clustereval._covariance_term(g2, g3, c23) + clustereval._covariance_term(g1, g4, c14)
      + clustereval._covariance_term(g2, g4, c24) + clustereval._covariance_term(g3, g4, c34)
    )
  );

-- The bias of a metric with the gradient (g1, g2, g3, g4), given the biases of its statistics. A
-- metric with emi is about samples of this size, so it has none.
CREATE OR REPLACE MACRO clustereval._metric_bias(g1, g2, g3, g4, b1, b2, b3) AS
  CASE WHEN g4 = 0 THEN g1 * b1 + g2 * b2 + g3 * b3 ELSE 0.0 END;

-- One row per partition and metric with a derivative: metric, std_error and bias. gradients: rows
-- of _score_gradients.
CREATE OR REPLACE MACRO clustereval._standard_errors(gradients, cells, expected_influences) AS TABLE
  SELECT
    gradient.partition_key,
    gradient.metric,
    sqrt(clustereval._influence_variance(
      gradient.g1, gradient.g2, gradient.g3, gradient.g4,
      covariance.c11, covariance.c12, covariance.c13, covariance.c14,
      covariance.c22, covariance.c23, covariance.c24,
      covariance.c33, covariance.c34, covariance.c44
    ) / covariance.total) AS std_error,
    clustereval._metric_bias(
      gradient.g1, gradient.g2, gradient.g3, gradient.g4,
      covariance.b1, covariance.b2, covariance.b3
    ) AS bias
  FROM query_table(gradients) AS gradient
  JOIN clustereval._covariances(cells, expected_influences) AS covariance
    ON covariance.partition_key IS NOT DISTINCT FROM gradient.partition_key
    AND covariance.family = gradient.family;

-- Why a metric, or the difference of two values of it, has no interval; NULL if it has one.
CREATE OR REPLACE MACRO clustereval._interval_reason(metric, total, value, std_error, bias) AS
  CASE
    WHEN total < 2 THEN 'fewer than 2 rows'
    WHEN value IS NULL THEN 'the metric is undefined'
    WHEN metric LIKE 'exact_match_%'
    THEN 'rows are not the unit that is sampled: use labels_are_sample'
    WHEN std_error IS NULL THEN 'the metric has no derivative'
    -- A smaller bias is a rounding error.
    WHEN abs(bias) > 0.25 * std_error + 1e-12
    THEN 'too few rows: the bias is more than a quarter of the standard error'
  END;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Confidence intervals of the metrics of external_report: one row per partition and metric, in the
-- order of external_report, with partition_key, metric (its name), value, std_error (standard error
-- by the delta method), lower and upper: value - z std_error and value + z std_error, but not
-- beyond the metric's range, where z is the normal quantile of `confidence`, and reason, which says
-- why lower and upper are NULL: the method does not apply, or the metric is biased because the
-- cells have few rows. All other parameters are those of external_report.
-- Examples:
--   FROM clustereval.external_intervals(assignments, species, cluster);
--   SELECT metric, lower, value, upper
--   FROM clustereval.external_intervals(assignments, species, cluster, confidence := 0.99)
--   WHERE reason IS NULL;
CREATE OR REPLACE MACRO clustereval.external_intervals(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  average_method := 'arithmetic', beta := 1.0, adjusted := TRUE, confidence := 0.95
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  statistics AS (SELECT * FROM clustereval._statistics_of_groups(__ce_groups, adjusted)),
  report AS (SELECT * FROM clustereval._scores_of_statistics(statistics, average_method, beta)),
  cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  expected_influences AS (
    SELECT * FROM clustereval._influences_on_expectation(statistics, cells, adjusted)
  ),
  gradients AS (SELECT * FROM clustereval._score_gradients(statistics, average_method, beta)),
  intervals AS (
    SELECT
      metrics.partition_key,
      metrics.place,
      metrics.metric,
      metrics.value,
      CASE WHEN metrics.value IS NOT NULL AND totals.total > 1 THEN errors.std_error END
        AS std_error,
      errors.bias,
      totals.total,
      clustereval._normal_quantile(confidence) * errors.std_error AS margin,
      clustereval._least_value(metrics.metric) AS least,
      clustereval._greatest_value(metrics.metric, totals.total) AS greatest
    FROM clustereval._metric_values(report, adjusted) AS metrics
    LEFT JOIN clustereval._standard_errors(gradients, cells, expected_influences) AS errors
      ON errors.partition_key IS NOT DISTINCT FROM metrics.partition_key
      AND errors.metric = metrics.metric
    JOIN statistics AS totals ON totals.partition_key IS NOT DISTINCT FROM metrics.partition_key
  ),
  explained AS (
    SELECT
      *,
      clustereval._interval_reason(metric, total, value, std_error, bias) AS reason
    FROM intervals
  )
  SELECT
    partition_key,
    metric,
    value,
    std_error,
    -- A metric without a limit has NULL, which is left out.
    CASE WHEN reason IS NULL THEN GREATEST(value - margin, least) END AS lower,
    CASE WHEN reason IS NULL THEN LEAST(value + margin, greatest) END AS upper,
    reason
  FROM explained
  WHERE clustereval._check_options(clustereval._valid_interval_options(
    confidence,
    clustereval._valid_external_options(noise, noise_as, average_method, beta, adjusted)
  ))
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
