-- gradients: metrics as functions of a few statistics, with their derivatives, for standard errors
-- (see relative/intervals). A metric is a function of the three statistics of a family:
--   family       first                 second                    third
--   pairs        tp                    fp                        fn    as shares of all pairs
--   information  mi                    H(cluster | label)    H(label | cluster)    in nats
--   bcubed       B-cubed precision     B-cubed recall
--   majority     purity                inverse purity
--   matching     class F-measure       element-centric similarity

-- One row per partition and family with the values of which the gradients are made. s, x and y are
-- the statistics of the family (for pairs, shares of all pairs). b = s + y belongs to the labels
-- (share of pairs with the same label, or label entropy), and c = s + x to the clusters. g = sqrt(b
-- c), with the derivatives gb and gc. r = sqrt(b (1 - b) c (1 - c)) is the denominator of the phi
-- index, with the derivatives rb and rc. larger_x is 1 if x > y, 0 if x < y, and NULL if they are
-- equal except for rounding. emi, the expected mutual information, is a fourth statistic of the
-- family information.
CREATE OR REPLACE MACRO clustereval._parts_of_gradients(statistics) AS TABLE
  WITH parts AS (
    SELECT
      partition_key,
      CAST(total AS DOUBLE) AS total,
      'pairs' AS family,
      clustereval._ratio(tp, tp + fp + fn + tn) AS s,
      clustereval._ratio(fp, tp + fp + fn + tn) AS x,
      clustereval._ratio(fn, tp + fp + fn + tn) AS y,
      0.0 AS emi
    FROM query_table(statistics)
    UNION ALL
    SELECT
      partition_key, total, 'information', mi, cluster_entropy_given_label,
      label_entropy_given_cluster, emi
    FROM query_table(statistics)
    UNION ALL
    SELECT
      partition_key,
      total,
      'bcubed',
      clustereval._ratio(precision_rows, total),
      clustereval._ratio(recall_rows, total),
      0.0,
      0.0
    FROM query_table(statistics)
    UNION ALL
    SELECT totals.partition_key, totals.total, families.family, 0.0, 0.0, 0.0, 0.0
    FROM query_table(statistics) AS totals
    CROSS JOIN (VALUES ('majority'), ('matching')) AS families (family)
  ),
  sides AS (SELECT *, s + y AS b, s + x AS c FROM parts),
  spreads AS (
    SELECT
      *,
      CASE WHEN family = 'pairs' THEN b * (1.0 - b) END AS vb,
      CASE WHEN family = 'pairs' THEN c * (1.0 - c) END AS vc
    FROM sides
  )
  SELECT
    partition_key,
    total,
    family,
    s,
    x,
    y,
    emi,
    b,
    c,
    sqrt(b * c) AS g,
    0.5 * sqrt(clustereval._ratio(c, b)) AS gb,
    0.5 * sqrt(clustereval._ratio(b, c)) AS gc,
    sqrt(vb) * sqrt(vc) AS r,
    (0.5 - b) * sqrt(clustereval._ratio(vc, vb)) AS rb,
    (0.5 - c) * sqrt(clustereval._ratio(vb, vc)) AS rc,
    CASE
      WHEN abs(x - y) <= 1e-12 * (x + y) THEN NULL
      WHEN x > y THEN 1.0
      ELSE 0.0
    END AS larger_x
  FROM spreads;

-- The derivative of top / bottom with respect to a variable, given top_slope and bottom_slope, the
-- derivatives of top and bottom with respect to this variable; NULL if bottom is 0.
CREATE OR REPLACE MACRO clustereval._quotient_slope(top, bottom, top_slope, bottom_slope) AS
  clustereval._ratio(top_slope - bottom_slope * clustereval._ratio(top, bottom), bottom);
