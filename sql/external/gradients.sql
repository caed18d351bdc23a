-- gradients: metrics as functions of few statistics, with their derivatives, for standard errors
-- (see relative/intervals). A metric is a function of the three statistics of a family:
--   family       first                 second                    third
--   pairs        tp                    fp                        fn    as shares of all pairs
--   information  mi                    hc                        hl    in nats
--   bcubed       B-cubed precision     B-cubed recall
--   majority     purity                inverse purity

-- One row per __ce_partition and family with the values that the gradients are made of: __ce_s,
-- __ce_x and __ce_y, its statistics (shares of the counts of pairs). __ce_b = s + y is what the
-- labels have (pairs of one label, or their entropy) and __ce_c = s + x what the clusters have.
-- __ce_g = sqrt(b c), __ce_gb and __ce_gc are its derivatives by b and c, and __ce_r, __ce_rb and
-- __ce_rc the same of the phi index, sqrt(b (1 - b) c (1 - c)). __ce_larger_x is 1 if x > y, 0 if
-- x < y, and NULL if they are equal but for rounding. __ce_emi is the expected mutual information.
-- It tends to (labels - 1) (clusters - 1) / (2 rows) whatever the shares, and counts as constant if
-- it is at most 0.005 of the mean entropy; otherwise it is NULL here, and so are the derivatives of
-- the adjusted mutual information. NULL for 0 / 0. __ce_total is the number of rows.
-- __ce_statistics is the name of a CTE of the rows of _statistics_of_groups.
CREATE OR REPLACE MACRO clustereval._parts_of_gradients(__ce_statistics) AS TABLE
  WITH __ce_parts AS (
    SELECT
      __ce_partition,
      CAST(__ce_total AS DOUBLE) AS __ce_total,
      'pairs' AS __ce_family,
      clustereval._ratio(__ce_tp, __ce_tp + __ce_fp + __ce_fn + __ce_tn) AS __ce_s,
      clustereval._ratio(__ce_fp, __ce_tp + __ce_fp + __ce_fn + __ce_tn) AS __ce_x,
      clustereval._ratio(__ce_fn, __ce_tp + __ce_fp + __ce_fn + __ce_tn) AS __ce_y,
      0.0 AS __ce_emi
    FROM query_table(__ce_statistics)
    UNION ALL
    SELECT __ce_partition, __ce_total, 'information', __ce_mi, __ce_hc, __ce_hl, __ce_emi
    FROM query_table(__ce_statistics)
    UNION ALL
    SELECT
      __ce_partition,
      __ce_total,
      'bcubed',
      clustereval._ratio(__ce_precision_rows, __ce_total),
      clustereval._ratio(__ce_recall_rows, __ce_total),
      0.0,
      0.0
    FROM query_table(__ce_statistics)
    UNION ALL
    SELECT __ce_partition, __ce_total, 'majority', 0.0, 0.0, 0.0, 0.0
    FROM query_table(__ce_statistics)
  ),
  __ce_sides AS (SELECT *, __ce_s + __ce_y AS __ce_b, __ce_s + __ce_x AS __ce_c FROM __ce_parts),
  __ce_spreads AS (
    SELECT
      *,
      CASE WHEN __ce_family = 'pairs' THEN __ce_b * (1.0 - __ce_b) END AS __ce_vb,
      CASE WHEN __ce_family = 'pairs' THEN __ce_c * (1.0 - __ce_c) END AS __ce_vc
    FROM __ce_sides
  )
  SELECT
    __ce_partition,
    __ce_total,
    __ce_family,
    __ce_s,
    __ce_x,
    __ce_y,
    CASE WHEN __ce_emi <= 0.005 * (__ce_b + __ce_c) / 2 THEN __ce_emi END AS __ce_emi,
    __ce_b,
    __ce_c,
    sqrt(__ce_b * __ce_c) AS __ce_g,
    0.5 * sqrt(clustereval._ratio(__ce_c, __ce_b)) AS __ce_gb,
    0.5 * sqrt(clustereval._ratio(__ce_b, __ce_c)) AS __ce_gc,
    sqrt(__ce_vb) * sqrt(__ce_vc) AS __ce_r,
    (0.5 - __ce_b) * sqrt(clustereval._ratio(__ce_vc, __ce_vb)) AS __ce_rb,
    (0.5 - __ce_c) * sqrt(clustereval._ratio(__ce_vb, __ce_vc)) AS __ce_rc,
    CASE
      WHEN abs(__ce_x - __ce_y) <= 1e-12 * (__ce_x + __ce_y) THEN NULL
      WHEN __ce_x > __ce_y THEN 1.0
      ELSE 0.0
    END AS __ce_larger_x
  FROM __ce_spreads;

-- The derivative of top / bottom by a variable by which top and bottom have the derivatives of the
-- parameters top_slope and bottom_slope; NULL if bottom is 0.
CREATE OR REPLACE MACRO clustereval._quotient_slope(top, bottom, top_slope, bottom_slope) AS
  clustereval._ratio(top_slope - bottom_slope * clustereval._ratio(top, bottom), bottom);
