-- association: coefficients of association between "same label" and "same cluster" over all
-- unordered pairs of rows, from four counts of pairs:
--   tp  same label, same cluster          fp  same cluster, different label
--   fn  same label, different cluster     tn  different in both

---------------------------------------------------------------------------------------------------
-- Formulas. NULL if a denominator is 0; all is tp + fp + fn + tn.
---------------------------------------------------------------------------------------------------

-- The share of pairs on which label and cluster agree, minus the share on which they disagree.
CREATE OR REPLACE MACRO clustereval._hubert_index(tp, fp, fn, tn) AS
  (tp + tn - fp - fn) / NULLIF(tp + fp + fn + tn, 0);

-- Mean of pair precision tp / (tp + fp) and pair recall tp / (tp + fn); NULL if either is 0 / 0.
CREATE OR REPLACE MACRO clustereval._kulczynski_index(tp, fp, fn, tn) AS
  (tp / NULLIF(tp + fp, 0) + tp / NULLIF(tp + fn, 0)) / 2.0;

-- The signed root of McNemar's statistic. fn_minus_fp is computed from integers, because it may be
-- far smaller than either.
CREATE OR REPLACE MACRO clustereval._mcnemar_index(tp, fp, fn, tn, fn_minus_fp) AS
  fn_minus_fp / NULLIF(sqrt(fn + fp), 0);

-- Pearson correlation of the indicators "same label" and "same cluster" over all pairs.
CREATE OR REPLACE MACRO clustereval._phi_index(tp, fp, fn, tn) AS
  (tp * tn - fn * fp) / NULLIF(sqrt((tp + fn) * (tp + fp)) * sqrt((fn + tn) * (fp + tn)), 0);

-- Angle between the partitions as a share of a half turn, arccos(phi) / pi; 0 for equal partitions,
-- otherwise NULL where phi is. The arc cosine of a number near 1 would lose half of the digits;
-- tan(angle) = sqrt(1 - phi^2) / phi has the numerator sqrt(all (tp tn (fp + fn) + fp fn (tp +
-- tn))), a sum of products.
CREATE OR REPLACE MACRO clustereval._correlation_distance(tp, fp, fn, tn) AS
  CASE
    WHEN fp + fn = 0 THEN 0.0
    WHEN (tp + fn) * (fn + tn) > 0 AND (tp + fp) * (fp + tn) > 0
    THEN atan2(
      sqrt(tp + fp + fn + tn) * sqrt(tp * tn * (fp + fn) + fp * fn * (tp + tn)), tp * tn - fn * fp
    ) / 3.141592653589793
  END;

-- The share of pairs on which label and cluster agree; disagreements count twice.
CREATE OR REPLACE MACRO clustereval._rogers_tanimoto_index(tp, fp, fn, tn) AS
  (tp + tn) / NULLIF(tp + tn + 2 * (fp + fn), 0);

-- The share of all pairs of rows that have the same label and the same cluster.
CREATE OR REPLACE MACRO clustereval._russell_rao_index(tp, fp, fn, tn) AS
  tp / NULLIF(tp + fp + fn + tn, 0);

-- The Jaccard index of pairs, where disagreements count twice.
CREATE OR REPLACE MACRO clustereval._sokal_sneath_1_index(tp, fp, fn, tn) AS
  tp / NULLIF(tp + 2 * (fp + fn), 0);

-- The share of pairs on which label and cluster agree; disagreements count half.
CREATE OR REPLACE MACRO clustereval._sokal_sneath_2_index(tp, fp, fn, tn) AS
  (tp + tn) / NULLIF(tp + tn + (fp + fn) / 2, 0);

-- Pairs that share both label and cluster, per pair that shares only one of them.
CREATE OR REPLACE MACRO clustereval._southwood_index(tp, fp, fn, tn) AS tp / NULLIF(fp + fn, 0);

---------------------------------------------------------------------------------------------------
-- Derivatives
---------------------------------------------------------------------------------------------------

-- Derivative of arccos(phi) / pi with respect to phi. s, x and y are the shares tp, fp and fn of
-- all pairs, and r is the denominator of phi. NULL for equal partitions.
CREATE OR REPLACE MACRO clustereval._angle_slope(s, x, y, r) AS
  -clustereval._ratio(
    r,
    3.141592653589793
    * sqrt(GREATEST(s * (1.0 - s - x - y) * (x + y) + x * y * (1.0 - x - y), 0.0))
  );

-- One row per partition and metric of this file: the columns of _metric_quotients. is_quotient is
-- FALSE for linear functions, whose bottom is 1.
CREATE OR REPLACE MACRO clustereval._association_quotients(parts) AS TABLE
  SELECT
    p.partition_key,
    p.family,
    metrics.*
  FROM query_table(parts)
    AS p (partition_key, n, family, s, x, y, emi, b, c, g, gb, gc, r, rb, rc, larger_x)
  CROSS JOIN LATERAL (VALUES
    ('hubert_index', FALSE, 0e0, 1e0, 0e0, -2e0, -2e0, 0e0, 0e0, 0e0),
    ('kulczynski_index', TRUE, p.s * (p.b + p.c), 2 * p.b * p.c,
      2 * p.s + (p.b + p.c), p.s, p.s, 2 * (p.b + p.c), 2 * p.b, 2 * p.c),
    ('mcnemar_index', TRUE,
      (p.y - p.x) * sqrt(p.n * (p.n - 1) / 2), sqrt(p.x + p.y),
      0e0, -sqrt(p.n * (p.n - 1) / 2), sqrt(p.n * (p.n - 1) / 2),
      0e0, clustereval._ratio(0.5, sqrt(p.x + p.y)), clustereval._ratio(0.5, sqrt(p.x + p.y))),
    ('phi_index', TRUE, p.s - p.b * p.c, p.r,
      (0.5 - p.b) + (0.5 - p.c), -p.b, -p.c, p.rb + p.rc, p.rc, p.rb),
    ('correlation_distance', TRUE,
      clustereval._angle_slope(p.s, p.x, p.y, p.r) * (p.s - p.b * p.c), p.r,
      clustereval._angle_slope(p.s, p.x, p.y, p.r) * ((0.5 - p.b) + (0.5 - p.c)),
      clustereval._angle_slope(p.s, p.x, p.y, p.r) * -p.b,
      clustereval._angle_slope(p.s, p.x, p.y, p.r) * -p.c, p.rb + p.rc, p.rc, p.rb),
    ('rogers_tanimoto_index', TRUE, 1 - (p.x + p.y), 1 + (p.x + p.y),
      0e0, -1e0, -1e0, 0e0, 1e0, 1e0),
    ('russell_rao_index', FALSE, 0e0, 1e0, 1e0, 0e0, 0e0, 0e0, 0e0, 0e0),
    ('sokal_sneath_1_index', TRUE, p.s, p.s + 2 * (p.x + p.y),
      1e0, 0e0, 0e0, 1e0, 2e0, 2e0),
    ('sokal_sneath_2_index', TRUE, 1 - (p.x + p.y), 1 - (p.x + p.y) / 2,
      0e0, -1e0, -1e0, 0e0, -0.5e0, -0.5e0),
    ('southwood_index', TRUE, p.s, p.x + p.y, 1e0, 0e0, 0e0, 0e0, 1e0, 1e0)
  ) AS metrics (metric, is_quotient, top, bottom, t1, t2, t3, b1, b2, b3)
  WHERE p.family = 'pairs';
