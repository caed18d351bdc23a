-- information: entropies and mutual information, in nats.
-- Everything follows from three sums of non-negative terms: the mutual information and the two
-- conditional entropies. Entropies and normalised scores are sums and ratios of those, never
-- differences, so they keep their digits for independent, identical and nearly trivial labelings.

-- Loader's deviance x ln(x / m) + m - x >= 0 of a count x from a mean m, given d = x - m with all its
-- digits, and v = d / (x + m).
CREATE OR REPLACE MACRO clustereval._deviance(x, m, d, v) AS
  CASE
    WHEN abs(v) < 0.1 THEN v * (d + 2.0 * x * (v * v) * clustereval._atanh_tail(v * v))
    ELSE x * ln(GREATEST(x, 1.0) / m) - d
  END;

---------------------------------------------------------------------------------------------------
-- Formulas. mi = mutual information, hl = entropy of the label given the cluster, hc = entropy of the
-- cluster given the label, so that label entropy = mi + hl and cluster entropy = mi + hc.
---------------------------------------------------------------------------------------------------

-- part / whole, and what stands for 0 / 0.
CREATE OR REPLACE MACRO clustereval._ratio_or(part, whole, otherwise) AS
  CASE WHEN whole = 0 THEN otherwise ELSE part / whole END;

CREATE OR REPLACE MACRO clustereval._homogeneity_score(mi, hl, hc) AS
  clustereval._ratio_or(mi, mi + hl, 1.0);

CREATE OR REPLACE MACRO clustereval._completeness_score(mi, hl, hc) AS
  clustereval._ratio_or(mi, mi + hc, 1.0);

-- scikit-learn's 0 where homogeneity and completeness are 0; beta = 0 leaves 0 / 0 elsewhere.
CREATE OR REPLACE MACRO clustereval._weighted_harmonic_mean(h, c, beta) AS
  CASE WHEN h + c = 0 THEN 0.0 ELSE clustereval._ratio((1.0 + beta) * h * c, beta * h + c) END;

CREATE OR REPLACE MACRO clustereval._v_measure_score(mi, hl, hc, beta) AS
  clustereval._weighted_harmonic_mean(
    clustereval._homogeneity_score(mi, hl, hc), clustereval._completeness_score(mi, hl, hc), beta
  );

-- 'min' of two entropies mi + hl and mi + hc is mi + the lesser of hl and hc, and so on.
CREATE OR REPLACE MACRO clustereval._normalized_mutual_info_score(mi, hl, hc, average_method) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    WHEN mi = 0 THEN 0.0
    WHEN average_method = 'arithmetic' THEN mi / (mi + (hl + hc) / 2.0)
    WHEN average_method = 'geometric' THEN sqrt(mi / (mi + hl)) * sqrt(mi / (mi + hc))
    WHEN average_method = 'min' THEN mi / (mi + LEAST(hl, hc))
    WHEN average_method = 'max' THEN mi / (mi + GREATEST(hl, hc))
    WHEN average_method = 'joint' THEN mi / (mi + hl + hc)
  END;

CREATE OR REPLACE MACRO clustereval._normalized_variation_of_information(mi, hl, hc) AS
  clustereval._ratio_or(hl + hc, mi + hl + hc, 0.0);

CREATE OR REPLACE MACRO clustereval._normalized_information_distance(mi, hl, hc) AS
  clustereval._ratio_or(GREATEST(hl, hc), mi + GREATEST(hl, hc), 0.0);

-- The mean of the two entropies less the expected mutual information. ehl and ehc are the expected
-- hl and hc, which are the two entropies less it.
CREATE OR REPLACE MACRO clustereval._adjusted_range(mi, hl, hc, ehl, ehc, average_method) AS
  CASE
    WHEN average_method = 'arithmetic' THEN (ehl + ehc) / 2.0
    WHEN average_method = 'min' THEN LEAST(ehl, ehc)
    WHEN average_method = 'max' THEN GREATEST(ehl, ehc)
    WHEN average_method = 'geometric' AND mi + hl = 0 THEN ehl
    WHEN average_method = 'geometric'
    THEN ehl + (ehc - ehl) * sqrt(mi + hl) / (sqrt(mi + hl) + sqrt(mi + hc))
  END;

-- mi - emi, ehl - hl and ehc - hc are the same number: the one with the smallest terms is the most
-- exact, which matters where nearly every row is a cluster of its own.
CREATE OR REPLACE MACRO clustereval._adjusted_excess(mi, hl, hc, emi, ehl, ehc) AS
  CASE
    WHEN emi <= ehl AND emi <= ehc THEN mi - emi
    WHEN ehl <= ehc THEN ehl - hl
    ELSE ehc - hc
  END;

CREATE OR REPLACE MACRO clustereval._adjusted_mutual_info_score(
  mi, hl, hc, emi, ehl, ehc, average_method
) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    ELSE clustereval._ratio_or(
      clustereval._adjusted_excess(mi, hl, hc, emi, ehl, ehc),
      clustereval._adjusted_range(mi, hl, hc, ehl, ehc, average_method),
      0.0
    )
  END;

-- One row a partition: mi, hl and hc. The deviances of the cells there are, and the expected share of
-- the cells there are not, which needs exact integers.
CREATE OR REPLACE MACRO clustereval._information_totals(__ce_row_counts, __ce_sized_cells) AS TABLE
  WITH __ce_measured AS (
    SELECT
      __ce_x.__ce_partition,
      __ce_r.__ce_total,
      __ce_x.__ce_copies,
      __ce_x.__ce_n,
      __ce_x.__ce_a,
      __ce_x.__ce_b,
      CAST(__ce_x.__ce_n AS DOUBLE) / __ce_r.__ce_total AS __ce_share,
      clustereval._wide(__ce_x.__ce_a) * clustereval._wide(__ce_x.__ce_b) AS __ce_product,
      CAST(__ce_r.__ce_total AS DOUBLE) AS __ce_rows,
      CAST(
        clustereval._wide(__ce_x.__ce_n) * clustereval._wide(__ce_r.__ce_total)
        - clustereval._wide(__ce_x.__ce_a) * clustereval._wide(__ce_x.__ce_b) AS DOUBLE
      ) AS __ce_excess
    FROM query_table(__ce_sized_cells) AS __ce_x
    JOIN query_table(__ce_row_counts) AS __ce_r
      ON __ce_r.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
  ),
  __ce_summed AS (
    SELECT
      __ce_partition,
      MAX(__ce_total) AS __ce_total,
      SUM(__ce_copies * clustereval._deviance(
        CAST(__ce_n AS DOUBLE),
        CAST(__ce_product AS DOUBLE) / __ce_rows,
        __ce_excess / __ce_rows,
        __ce_excess / (CAST(__ce_n AS DOUBLE) * __ce_rows + CAST(__ce_product AS DOUBLE))
      )) AS __ce_deviance,
      SUM(__ce_copies * __ce_product) AS __ce_covered,
      SUM(__ce_copies * __ce_share * clustereval._log_ratio(__ce_b, __ce_n)) AS __ce_hl,
      SUM(__ce_copies * __ce_share * clustereval._log_ratio(__ce_a, __ce_n)) AS __ce_hc
    FROM __ce_measured
    GROUP BY __ce_partition
  )
  SELECT
    __ce_partition,
    (
      __ce_deviance
      + CAST(clustereval._wide(__ce_total) * clustereval._wide(__ce_total) - __ce_covered AS DOUBLE)
      / CAST(__ce_total AS DOUBLE)
    ) / CAST(__ce_total AS DOUBLE) AS __ce_mi,
    __ce_hl,
    __ce_hc
  FROM __ce_summed;

---------------------------------------------------------------------------------------------------
-- The expected mutual information of two labelings with given sizes, under random permutation.
--
-- It is a sum over pairs of sizes (a, b) of E[deviance(m, ab / n)] / n, where m, the overlap, is
-- hypergeometric; pairs of equal sizes are summed once. The probabilities come from Loader's
-- saddle-point form, which does not cancel. Where their standard deviation is 6 or more they are
-- smooth, and a sum over every stride-th m, times stride, has the same value to 1e-15 (Poisson's
-- summation formula), so that a pair costs at most some 140 nodes whatever n is.
---------------------------------------------------------------------------------------------------

-- ln(x!) - [(x + 1/2) ln x - x + ln(2 pi) / 2] for whole x > 0, and 0 for x = 0.
CREATE OR REPLACE MACRO clustereval._stirling_error(x) AS
  CASE
    WHEN x >= 16
    THEN (1.0/12 - (1.0/360 - (1.0/1260 - (1.0/1680 - 1.0/1188 / (x*x)) / (x*x)) / (x*x)) / (x*x)) / x
    WHEN x = 0 THEN 0.0
    WHEN x = 1 THEN 0.08106146679532726
    WHEN x = 2 THEN 0.0413406959554093
    WHEN x = 3 THEN 0.02767792568499834
    WHEN x = 4 THEN 0.020790672103765093
    WHEN x = 5 THEN 0.016644691189821193
    WHEN x = 6 THEN 0.013876128823070748
    WHEN x = 7 THEN 0.01189670994589177
    WHEN x = 8 THEN 0.010411265261972096
    WHEN x = 9 THEN 0.009255462182712733
    WHEN x = 10 THEN 0.00833056343336287
    WHEN x = 11 THEN 0.007573675487951841
    WHEN x = 12 THEN 0.00694284010720953
    WHEN x = 13 THEN 0.006408994188004207
    WHEN x = 14 THEN 0.0059513701127588475
    ELSE 0.005554733551962801
  END;

-- 2 pi x, the square of the factor that goes with the Stirling error; 1 for x = 0.
CREATE OR REPLACE MACRO clustereval._stirling_scale(x) AS
  GREATEST(6.283185307179586 * x, 1.0);

-- The sums of squares and standard deviation of the overlap of a cluster of a and one of b among n.
CREATE OR REPLACE MACRO clustereval._overlap_deviation(n, a, b) AS
  sqrt((a / n) * b * ((n - a) / n) * ((n - b) / GREATEST(n - 1.0, 1.0)));

CREATE OR REPLACE MACRO clustereval._overlap_stride(deviation) AS
  CASE WHEN deviation < 6 THEN 1.0 ELSE floor(deviation / 1.5) END;

-- How far from the centre the nodes reach: what lies beyond weighs less than 1e-15 of the whole. The
-- overlap of small clusters is skewed to the right like a Poisson variable, hence the 12.
CREATE OR REPLACE MACRO clustereval._overlap_reach(deviation) AS
  9.5 * deviation + CASE WHEN deviation < 6 THEN 12.0 ELSE 0.0 END;

-- Nodes on one side of the centre: as far as it reaches or as the overlap can go.
CREATE OR REPLACE MACRO clustereval._overlap_nodes(deviation, room) AS
  floor(
    LEAST(clustereval._overlap_reach(deviation), room) / clustereval._overlap_stride(deviation)
  );

-- The factor of the overlap's probability that depends on the sizes alone.
CREATE OR REPLACE MACRO clustereval._overlap_factor(n, a, b) AS
  sqrt(
    clustereval._stirling_scale(a) * clustereval._stirling_scale(n - a) / clustereval._stirling_scale(n)
    * clustereval._stirling_scale(b) * clustereval._stirling_scale(n - b)
  ) * exp(
    clustereval._stirling_error(a) + clustereval._stirling_error(n - a) - clustereval._stirling_error(n)
    + clustereval._stirling_error(b) + clustereval._stirling_error(n - b)
  );

-- The probability of the overlap x1 in the table x1, x2 = a - x1, x3 = b - x1, x4 = n - a - b + x1,
-- given the deviances d1 .. d4 of its four cells.
CREATE OR REPLACE MACRO clustereval._overlap_probability(factor, x1, x2, x3, x4, d1, d2, d3, d4) AS
  factor / sqrt(
    clustereval._stirling_scale(x1) * clustereval._stirling_scale(x2)
    * clustereval._stirling_scale(x3) * clustereval._stirling_scale(x4)
  ) * exp(
    -(d1 + d2 + d3 + d4)
    - clustereval._stirling_error(x1) - clustereval._stirling_error(x2)
    - clustereval._stirling_error(x3) - clustereval._stirling_error(x4)
  );

-- 0 .. 143, enough for the nodes of any pair of sizes.
CREATE OR REPLACE MACRO clustereval._node_numbers() AS TABLE
  SELECT CAST(12 * __ce_high.__ce_i + __ce_low.__ce_i AS BIGINT) AS __ce_node
  FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11)) AS __ce_high(__ce_i)
  CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11)) AS __ce_low(__ce_i);

-- Number of clusters (or labels) of each size, by partition; n goes with them.
CREATE OR REPLACE MACRO clustereval._size_counts(__ce_sizes, wanted) AS TABLE
  SELECT __ce_partition, __ce_size, CAST(SUM(__ce_copies) AS DOUBLE) AS __ce_times
  FROM query_table(__ce_sizes)
  WHERE wanted
  GROUP BY __ce_partition, __ce_size;

-- One row a partition: expected mutual information and expected conditional entropies, from the sizes
-- of its labels and clusters. wanted := FALSE leaves it empty, and costs nothing.
CREATE OR REPLACE MACRO clustereval._expected(
  __ce_row_counts, __ce_label_sizes, __ce_cluster_sizes, wanted
) AS TABLE
  WITH __ce_of_labels AS (
    SELECT * FROM clustereval._size_counts(__ce_label_sizes, wanted)
  ),
  __ce_of_clusters AS (
    SELECT * FROM clustereval._size_counts(__ce_cluster_sizes, wanted)
  ),
  __ce_size_pairs AS (
    SELECT
      __ce_r.__ce_partition,
      __ce_r.__ce_total AS __ce_n_exact,
      __ce_l.__ce_size AS __ce_a_exact,
      __ce_c.__ce_size AS __ce_b_exact,
      CAST(__ce_r.__ce_total AS DOUBLE) AS __ce_n,
      CAST(__ce_l.__ce_size AS DOUBLE) AS __ce_a,
      CAST(__ce_c.__ce_size AS DOUBLE) AS __ce_b,
      __ce_l.__ce_times * __ce_c.__ce_times AS __ce_times
    FROM query_table(__ce_row_counts) AS __ce_r
    JOIN __ce_of_labels AS __ce_l ON __ce_l.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    JOIN __ce_of_clusters AS __ce_c ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  ),
  __ce_centred AS (
    SELECT
      *,
      clustereval._overlap_deviation(__ce_n, __ce_a, __ce_b) AS __ce_deviation,
      GREATEST(0.0, __ce_a + __ce_b - __ce_n) AS __ce_least,
      LEAST(__ce_a, __ce_b) AS __ce_most,
      LEAST(
        GREATEST(floor(__ce_a * __ce_b / __ce_n), __ce_a + __ce_b - __ce_n), LEAST(__ce_a, __ce_b)
      ) AS __ce_centre
    FROM __ce_size_pairs
  ),
  __ce_planned AS (
    SELECT
      *,
      clustereval._overlap_stride(__ce_deviation) AS __ce_stride,
      clustereval._overlap_nodes(__ce_deviation, __ce_centre - __ce_least) AS __ce_below,
      clustereval._overlap_nodes(__ce_deviation, __ce_most - __ce_centre) AS __ce_above,
      CAST(
        clustereval._wide(__ce_centre) * clustereval._wide(__ce_n_exact)
        - clustereval._wide(__ce_a_exact) * clustereval._wide(__ce_b_exact) AS DOUBLE
      ) / __ce_n AS __ce_offset,
      clustereval._overlap_factor(__ce_n, __ce_a, __ce_b) AS __ce_factor
    FROM __ce_centred
  ),
  __ce_ranges AS (
    SELECT __ce_c.__ce_node AS __ce_nodes, __ce_i.__ce_node
    FROM clustereval._node_numbers() AS __ce_c
    JOIN clustereval._node_numbers() AS __ce_i ON __ce_i.__ce_node < __ce_c.__ce_node
  ),
  __ce_nodes AS (
    SELECT
      *,
      __ce_centre + __ce_stride * (__ce_node - __ce_below) AS __ce_x1,
      __ce_stride * (__ce_node - __ce_below) + __ce_offset AS __ce_d
    FROM __ce_planned
    JOIN __ce_ranges ON __ce_ranges.__ce_nodes = CAST(__ce_below + __ce_above + 1 AS BIGINT)
  ),
  __ce_tables AS (
    SELECT
      *,
      __ce_a - __ce_x1 AS __ce_x2,
      __ce_b - __ce_x1 AS __ce_x3,
      __ce_n - __ce_a - __ce_b + __ce_x1 AS __ce_x4,
      __ce_a * __ce_b / __ce_n AS __ce_m1,
      __ce_a * (__ce_n - __ce_b) / __ce_n AS __ce_m2,
      __ce_b * (__ce_n - __ce_a) / __ce_n AS __ce_m3,
      (__ce_n - __ce_a) * (__ce_n - __ce_b) / __ce_n AS __ce_m4
    FROM __ce_nodes
  ),
  __ce_relative AS (
    SELECT
      *,
      __ce_d / (__ce_x1 + __ce_m1) AS __ce_v1,
      -__ce_d / GREATEST(__ce_x2 + __ce_m2, 1e-300) AS __ce_v2,
      -__ce_d / GREATEST(__ce_x3 + __ce_m3, 1e-300) AS __ce_v3,
      __ce_d / GREATEST(__ce_x4 + __ce_m4, 1e-300) AS __ce_v4
    FROM __ce_tables
  ),
  __ce_deviances AS (
    SELECT
      *,
      clustereval._deviance(__ce_x1, __ce_m1, __ce_d, __ce_v1) AS __ce_d1,
      clustereval._deviance(__ce_x2, __ce_m2, -__ce_d, __ce_v2) AS __ce_d2,
      clustereval._deviance(__ce_x3, __ce_m3, -__ce_d, __ce_v3) AS __ce_d3,
      clustereval._deviance(__ce_x4, __ce_m4, __ce_d, __ce_v4) AS __ce_d4
    FROM __ce_relative
  ),
  __ce_weighted AS (
    SELECT
      *,
      __ce_times * __ce_stride / __ce_n * clustereval._overlap_probability(
        __ce_factor, __ce_x1, __ce_x2, __ce_x3, __ce_x4, __ce_d1, __ce_d2, __ce_d3, __ce_d4
      ) AS __ce_weight
    FROM __ce_deviances
  ),
  __ce_summed AS (
    SELECT
      __ce_partition,
      SUM(__ce_weight * __ce_d1) AS __ce_emi,
      SUM(CASE WHEN __ce_stride > 1 THEN __ce_weight * __ce_d1 ELSE 0.0 END) AS __ce_strided,
      SUM(CASE
        WHEN __ce_stride = 1 AND __ce_x1 > 0
        THEN __ce_weight * __ce_x1 * clustereval._log_ratio(__ce_b, __ce_x1)
        ELSE 0.0
      END) AS __ce_ehl,
      SUM(CASE
        WHEN __ce_stride = 1 AND __ce_x1 > 0
        THEN __ce_weight * __ce_x1 * clustereval._log_ratio(__ce_a, __ce_x1)
        ELSE 0.0
      END) AS __ce_ehc
    FROM __ce_weighted
    GROUP BY __ce_partition
  ),
  __ce_strided_pairs AS (
    SELECT
      __ce_partition,
      SUM(__ce_times * (__ce_a / __ce_n) * (__ce_b / __ce_n) * clustereval._log_ratio(__ce_n, __ce_a))
        AS __ce_ehl,
      SUM(__ce_times * (__ce_a / __ce_n) * (__ce_b / __ce_n) * clustereval._log_ratio(__ce_n, __ce_b))
        AS __ce_ehc
    FROM __ce_planned
    WHERE __ce_stride > 1
    GROUP BY __ce_partition
  )
  SELECT
    __ce_s.__ce_partition,
    __ce_s.__ce_emi,
    __ce_s.__ce_ehl + COALESCE(__ce_p.__ce_ehl - __ce_s.__ce_strided, 0.0) AS __ce_ehl,
    __ce_s.__ce_ehc + COALESCE(__ce_p.__ce_ehc - __ce_s.__ce_strided, 0.0) AS __ce_ehc
  FROM __ce_summed AS __ce_s
  LEFT JOIN __ce_strided_pairs AS __ce_p
    ON __ce_p.__ce_partition IS NOT DISTINCT FROM __ce_s.__ce_partition;
