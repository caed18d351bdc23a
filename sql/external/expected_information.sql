-- expected_information: the mutual information expected of random labelings of the same sizes.

---------------------------------------------------------------------------------------------------
-- Under random permutation of the rows, the expected mutual information is a sum over pairs of a
-- label size a and a cluster size b of E[deviance(x, ab / n)] / n, where x, the overlap, is
-- hypergeometric. Pairs of equal sizes are summed once, with their multiplicity.
--
-- Words: n rows; a node is a number at which a smooth function is evaluated, in place of all whole
-- numbers; stride, the distance of neighboring nodes; multiplicity, how often a size occurs, or a
-- pair of sizes; octave, the sizes from 64 to 128, from 128 to 256, and so on. x1, x2, x3 and x4
-- are the numbers of rows with: the label and the cluster, the label alone, the cluster alone,
-- neither. m1 .. m4 are their expectations, d1 .. d4 their deviances from these. emi, ehl and ehc
-- are the expectations of mi, hl and hc (see information.sql).
--
-- Overlaps: the probabilities come from Loader's saddle-point form, which does not cancel, up to a
-- factor that their sum determines. If their standard deviation is 6 or more they are smooth, and a
-- sum over every stride-th x, times stride, has the same value to 1e-15 (Poisson's summation
-- formula), so that a pair needs at most some 140 nodes whatever n is.
--
-- Sizes: the terms of the pairs are smooth in both sizes too. Many sizes are replaced by a few
-- nodes with multiplicities that give the same sum, so that the number of pairs is bounded.
---------------------------------------------------------------------------------------------------

-- Error of Stirling's formula for ln(x!), where x is a whole number >= 0:
-- ln(x!) - [(x + 1/2) ln x - x + ln(2 pi) / 2], and 0 for x = 0. From x = 7 on it is Stieltjes'
-- continued fraction, which is exact to 1e-17, and below a constant for each x.
CREATE OR REPLACE MACRO clustereval._stirling_error(x) AS
  CASE
    WHEN x >= 7
    THEN 8.333333333333333e-2 / (x + 3.333333333333333e-2 / (x + 2.523809523809524e-1 / (
      x + 5.256064690026954e-1 / (x + 1.0115230681268417e0 / (x + 1.5174736491532874e0 / (
        x + 2.2694889742049600e0 / (x + 3.0099173832593982e0 / x)
      )))
    )))
    WHEN x = 0 THEN 0e0
    WHEN x = 1 THEN 8.106146679532726e-2
    WHEN x = 2 THEN 4.13406959554093e-2
    WHEN x = 3 THEN 2.767792568499834e-2
    WHEN x = 4 THEN 2.0790672103765093e-2
    WHEN x = 5 THEN 1.6644691189821193e-2
    ELSE 1.3876128823070748e-2
  END;

-- 2 pi x, the number under the root in Stirling's formula sqrt(2 pi x) (x / e)^x for x!, for a
-- whole number x > 0; 1 for x = 0.
CREATE OR REPLACE MACRO clustereval._stirling_scale(x) AS
  GREATEST(6.283185307179586 * x, 1.0);

-- Standard deviation of the overlap, the number of rows that a label of size a and a cluster of
-- size b share if the clusters of n rows are permuted at random: a hypergeometric variable.
CREATE OR REPLACE MACRO clustereval._overlap_deviation(n, a, b) AS
  sqrt((a / n) * b * ((n - a) / n) * ((n - b) / GREATEST(n - 1.0, 1.0)));

-- Stride of a sum over the overlaps x of a label and a cluster (the rows that they share) under
-- random labeling, where deviation is the standard deviation of x: the sum is evaluated at every
-- stride-th x only. 1 if deviation < 6; otherwise floor(deviation / 1.5), since the probabilities
-- are then so smooth that the sum over every stride-th x, times stride, has the same value to
-- 1e-15.
CREATE OR REPLACE MACRO clustereval._overlap_sum_stride(deviation) AS
  CASE WHEN deviation < 6 THEN 1.0 ELSE floor(deviation / 1.5) END;

-- How far from the central overlap (_central_overlap) a sum over the overlaps of a label and a
-- cluster is evaluated, in rows, where deviation is the standard deviation of the overlap. Overlaps
-- beyond have less than 1e-15 of the probability. The 8 is for small clusters, whose overlap is
-- skewed to the right like a Poisson variable.
CREATE OR REPLACE MACRO clustereval._overlap_sum_reach(deviation) AS
  9.5 * deviation + CASE WHEN deviation < 6 THEN 8.0 ELSE 0.0 END;

-- Number of overlaps on one side of the central one (_central_overlap) at which a sum over the
-- overlaps of a label and a cluster is evaluated: every stride-th one (_overlap_sum_stride) up to
-- the distance _overlap_sum_reach, if it is possible. deviation is the standard deviation of the
-- overlap, possible_distance the distance from the central overlap to the least or to the greatest
-- possible one, in rows.
CREATE OR REPLACE MACRO clustereval._count_overlap_nodes(deviation, possible_distance) AS
  floor(
    LEAST(clustereval._overlap_sum_reach(deviation), possible_distance)
    / clustereval._overlap_sum_stride(deviation)
  );

-- Probability, up to a factor, of a 2 x 2 table of rows with given marginals under random labeling:
-- x1 rows with a label and a cluster, x2 with the label only, x3 with the cluster only, x4 with
-- neither. d1 .. d4 are the deviances x ln(x / m) + m - x of these counts from their means m. The
-- factor depends on the marginals only; the sum of the weights over all x1 determines it. Loader's
-- saddle-point form, which does not cancel.
CREATE OR REPLACE MACRO clustereval._overlap_weight(x1, x2, x3, x4, d1, d2, d3, d4) AS
  exp(
    -(d1 + d2 + d3 + d4)
    - clustereval._stirling_error(x1) - clustereval._stirling_error(x2)
    - clustereval._stirling_error(x3) - clustereval._stirling_error(x4)
  ) / sqrt(
    clustereval._stirling_scale(x1) * clustereval._stirling_scale(x2)
    * clustereval._stirling_scale(x3) * clustereval._stirling_scale(x4)
  );

-- The whole number at which a sum over the possible values of an overlap is centered: the whole
-- part of the mean a b / n, or the nearest possible value. The overlap is the number of rows that a
-- label of size a and a cluster of size b share if the clusters of n rows are permuted at random.
CREATE OR REPLACE MACRO clustereval._central_overlap(n, a, b) AS
  LEAST(GREATEST(floor(a * b / n), a + b - n), LEAST(a, b));

-- center - a b / n as DOUBLE, computed from exact integers: how far center, the overlap of
-- _central_overlap, is from the mean overlap of a label of size a and a cluster of size b among n
-- rows.
CREATE OR REPLACE MACRO clustereval._central_overlap_offset(center, n, a, b) AS
  CAST(
    clustereval._widen(center) * clustereval._widen(n)
    - clustereval._widen(a) * clustereval._widen(b)
    AS DOUBLE
  ) / CAST(n AS DOUBLE);

-- d / (x + m), where d is the difference x - m of a count x from its mean m; 0 for x = m = 0. It is
-- the last argument of _deviance.
CREATE OR REPLACE MACRO clustereval._relative_difference(d, x, m) AS d / GREATEST(x + m, 1e-300);

-- (a / n) (b / n) ln(n / a): the term of a label of size a and a cluster of size b among n rows in
-- the label entropy, if that is written as a sum over all pairs of a label and a cluster. With b
-- and a exchanged, it is their term in the cluster entropy.
CREATE OR REPLACE MACRO clustereval._independent_entropy_term(n, a, b) AS
  clustereval._ratio(a, n) * clustereval._ratio(b, n) * clustereval._log_ratio(n, a);

---------------------------------------------------------------------------------------------------
-- Corrections for chance, from mi, hl, hc (see information.sql) and the expected emi, ehl, ehc
---------------------------------------------------------------------------------------------------

-- Denominator of the adjusted mutual information, M - emi: M is the mean of the label entropy
-- mi + hl and the cluster entropy mi + hc that average_method names ('arithmetic', 'geometric',
-- 'min' or 'max'). mi is the mutual information, hl the entropy of the label given the cluster, hc
-- that of the cluster given the label; emi, ehl and ehc are the expectations of these for random
-- labelings of the same sizes. It is computed from ehl = mi + hl - emi and ehc = mi + hc - emi,
-- because M - emi would cancel.
CREATE OR REPLACE MACRO clustereval._mean_entropy_above_chance(
  mi, hl, hc, ehl, ehc, average_method
) AS
  CASE
    WHEN average_method = 'arithmetic' THEN (ehl + ehc) / 2.0
    WHEN average_method = 'min' THEN LEAST(ehl, ehc)
    WHEN average_method = 'max' THEN GREATEST(ehl, ehc)
    WHEN average_method = 'geometric' AND mi + hl = 0 THEN ehl
    WHEN average_method = 'geometric'
    THEN ehl + (ehc - ehl) * clustereval._ratio(sqrt(mi + hl), sqrt(mi + hl) + sqrt(mi + hc))
  END;

-- Numerator of the adjusted mutual information, mi - emi. mi is the mutual information, hl the
-- entropy of the label given the cluster, hc that of the cluster given the label; emi, ehl and ehc
-- are their expectations for random labelings of the same sizes. mi - emi is equal to ehl - hl and
-- to ehc - hc: of the three differences that of the smallest terms is the most exact, which matters
-- if nearly every row is a cluster of its own.
CREATE OR REPLACE MACRO clustereval._mutual_info_above_chance(mi, hl, hc, emi, ehl, ehc) AS
  CASE
    WHEN emi <= ehl AND emi <= ehc THEN mi - emi
    WHEN ehl <= ehc THEN ehl - hl
    ELSE ehc - hc
  END;

---------------------------------------------------------------------------------------------------
-- Tables of sizes
---------------------------------------------------------------------------------------------------

-- A table of the whole numbers from 0 to 143, one per row: __ce_node. _expected_totals joins it to
-- number the overlaps at which it evaluates the sum for a label size and a cluster size: there are
-- fewer than 143.
CREATE OR REPLACE MACRO clustereval._node_numbers() AS TABLE
  WITH __ce_digits AS (
    SELECT 0 AS __ce_digit UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
    UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7
    UNION ALL SELECT 8 UNION ALL SELECT 9 UNION ALL SELECT 10 UNION ALL SELECT 11
  )
  SELECT CAST(12 * high.__ce_digit + low.__ce_digit AS BIGINT) AS __ce_node
  FROM __ce_digits AS high
  CROSS JOIN __ce_digits AS low;

-- One row per partition, side and size: __ce_partition, __ce_is_label (TRUE for labels, FALSE for
-- clusters), __ce_size (rows), and __ce_multiplicity, the number of labels or clusters of this
-- size. The parameters name a table with one row per label (__ce_partition, __ce_label_size,
-- __ce_copies) and one with one row per cluster (__ce_partition, __ce_cluster_size, __ce_copies); a
-- row stands for __ce_copies labels or clusters of its size. Empty unless the BOOLEAN wanted is
-- TRUE.
CREATE OR REPLACE MACRO clustereval._size_counts(
  __ce_label_sizes, __ce_cluster_sizes, wanted
) AS TABLE
  WITH __ce_sizes AS (
    SELECT __ce_partition, TRUE AS __ce_is_label, __ce_label_size AS __ce_size, __ce_copies
    FROM query_table(__ce_label_sizes)
    UNION ALL
    SELECT __ce_partition, FALSE, __ce_cluster_size, __ce_copies
    FROM query_table(__ce_cluster_sizes)
  )
  SELECT
    __ce_partition, __ce_is_label, __ce_size, CAST(SUM(__ce_copies) AS DOUBLE) AS __ce_multiplicity
  FROM __ce_sizes
  WHERE wanted
  GROUP BY __ce_partition, __ce_is_label, __ce_size;

-- The 18 sizes that stand for all sizes from 64 to 128 in _reduced_sizes, one per row:
-- __ce_position, a whole number near a Chebyshev point of 64 .. 128, and __ce_weight, its weight in
-- the barycentric form of the polynomial through all of them: up to a common factor, 1 / the
-- product of its distances to the others.
CREATE OR REPLACE MACRO clustereval._octave_nodes() AS TABLE
  WITH __ce_lower AS (
    SELECT 64e0 AS __ce_position, 7.550920304032022e-2 AS __ce_weight
    UNION ALL SELECT 65e0, -2.2570919089395688e-1
    UNION ALL SELECT 67e0, 3.834671134173896e-1
    UNION ALL SELECT 70e0, -6.282488628979858e-1
    UNION ALL SELECT 73e0, 7.278610797954952e-1
    UNION ALL SELECT 78e0, -8.633774124595349e-1
    UNION ALL SELECT 82e0, 9.382122486396819e-1
    UNION ALL SELECT 88e0, -9.425460406643202e-1
    UNION ALL SELECT 93e0, 1e0
  ),
  __ce_both AS (
    SELECT __ce_position, __ce_weight FROM __ce_lower
    UNION ALL
    SELECT 192.0 - __ce_position, -__ce_weight FROM __ce_lower
  )
  SELECT __ce_position, __ce_weight FROM __ce_both;

-- The rows of the table named by __ce_size_counts (see _size_counts: __ce_partition, __ce_is_label,
-- __ce_size, __ce_multiplicity), fewer of them if there are many sizes: this bounds the number of
-- pairs of a label size and a cluster size. In each range 64 .. 128, 128 .. 256, ... with more than
-- 32 sizes of one partition and side, 18 whole numbers replace the sizes. Their multiplicities are
-- real numbers that give the same sum of any polynomial of degree 17 over the sizes, and to 1e-14
-- the same sum of the terms of the expected mutual information.
CREATE OR REPLACE MACRO clustereval._reduced_sizes(__ce_size_counts) AS TABLE
  WITH __ce_octaves AS (
    SELECT
      *,
      CASE
        WHEN __ce_size < 64 THEN 0.0
        ELSE clustereval._power_of_2(FLOOR(LN(__ce_size + 0.5) / LN(2.0)) - 6.0)
      END AS __ce_unit
    FROM query_table(__ce_size_counts)
  ),
  __ce_octave_counts AS (
    SELECT
      *,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_is_label, __ce_unit) AS __ce_octave_sizes
    FROM __ce_octaves
  ),
  __ce_node_weights AS (
    SELECT
      __ce_partition, __ce_is_label, __ce_size, __ce_multiplicity, __ce_unit, __ce_position,
      -- If a size equals a node, that node gets all the weight: the others get 1e30 times less.
      __ce_weight / CASE
        WHEN __ce_size / __ce_unit = __ce_position THEN 1e-30
        ELSE __ce_size / __ce_unit - __ce_position
      END AS __ce_node_weight
    FROM __ce_octave_counts
    CROSS JOIN clustereval._octave_nodes() AS nodes
    WHERE __ce_unit > 0 AND __ce_octave_sizes > 32
  ),
  __ce_node_shares AS (
    SELECT
      *,
      __ce_multiplicity * __ce_node_weight
        / SUM(__ce_node_weight) OVER (PARTITION BY __ce_partition, __ce_is_label, __ce_size)
        AS __ce_node_multiplicity
    FROM __ce_node_weights
  ),
  __ce_sizes AS (
    SELECT __ce_partition, __ce_is_label, __ce_size, __ce_multiplicity
    FROM __ce_octave_counts
    WHERE __ce_unit = 0 OR __ce_octave_sizes <= 32
    UNION ALL
    SELECT
      __ce_partition, __ce_is_label, CAST(__ce_position * __ce_unit AS BIGINT),
      SUM(__ce_node_multiplicity)
    FROM __ce_node_shares
    GROUP BY __ce_partition, __ce_is_label, __ce_unit, __ce_position
  )
  SELECT * FROM __ce_sizes;

-- One row per distinct pair of sizes and node of its sum: the sizes (__ce_n, __ce_a, __ce_b), the
-- stride of the nodes (__ce_stride), the overlap at the node (__ce_x1) and its difference from the
-- expected overlap (__ce_d). __ce_distinct_pairs is the name of a CTE of rows of sizes.
CREATE OR REPLACE MACRO clustereval._overlap_nodes(__ce_distinct_pairs) AS TABLE
  WITH __ce_centers AS (
    SELECT
      *,
      clustereval._overlap_deviation(__ce_n, __ce_a, __ce_b) AS __ce_deviation,
      GREATEST(0.0, __ce_a + __ce_b - __ce_n) AS __ce_least,
      LEAST(__ce_a, __ce_b) AS __ce_most,
      clustereval._central_overlap(__ce_n, __ce_a, __ce_b) AS __ce_center
    FROM query_table(__ce_distinct_pairs)
  ),
  __ce_plans AS (
    SELECT
      *,
      clustereval._overlap_sum_stride(__ce_deviation) AS __ce_stride,
      clustereval._count_overlap_nodes(__ce_deviation, __ce_center - __ce_least) AS __ce_below,
      clustereval._count_overlap_nodes(__ce_deviation, __ce_most - __ce_center) AS __ce_above,
      clustereval._central_overlap_offset(__ce_center, __ce_n, __ce_a, __ce_b) AS __ce_offset
    FROM __ce_centers
  ),
  __ce_numbers AS (SELECT * FROM clustereval._node_numbers()),
  __ce_ranges AS (
    SELECT counts.__ce_node AS __ce_n_nodes, numbers.__ce_node
    FROM __ce_numbers AS counts
    JOIN __ce_numbers AS numbers ON numbers.__ce_node < counts.__ce_node
  )
  SELECT
    __ce_n, __ce_a, __ce_b, __ce_stride,
    __ce_center + __ce_stride * (__ce_node - __ce_below) AS __ce_x1,
    __ce_stride * (__ce_node - __ce_below) + __ce_offset AS __ce_d
  FROM __ce_plans
  JOIN __ce_ranges AS ranges
    ON ranges.__ce_n_nodes = CAST(__ce_below + __ce_above + 1 AS BIGINT);

-- One row per distinct pair of sizes (__ce_n, __ce_a, __ce_b): its terms of the expected mutual
-- information (__ce_emi) and of the expected conditional entropies (__ce_ehl, __ce_ehc).
-- __ce_nodes is the name of a CTE of the rows of _overlap_nodes. Each stage has only the columns
-- that the next ones need, since all take time.
CREATE OR REPLACE MACRO clustereval._pair_expectations(__ce_nodes) AS TABLE
  WITH __ce_tables AS (
    SELECT
      __ce_n, __ce_a, __ce_b, __ce_stride, __ce_x1, __ce_d,
      __ce_a - __ce_x1 AS __ce_x2,
      __ce_b - __ce_x1 AS __ce_x3,
      __ce_n - __ce_a - __ce_b + __ce_x1 AS __ce_x4,
      __ce_a * __ce_b / __ce_n AS __ce_m1,
      __ce_a * (__ce_n - __ce_b) / __ce_n AS __ce_m2,
      __ce_b * (__ce_n - __ce_a) / __ce_n AS __ce_m3,
      (__ce_n - __ce_a) * (__ce_n - __ce_b) / __ce_n AS __ce_m4
    FROM query_table(__ce_nodes)
  ),
  __ce_relative_differences AS (
    SELECT
      *,
      clustereval._relative_difference(__ce_d, __ce_x1, __ce_m1) AS __ce_v1,
      clustereval._relative_difference(-__ce_d, __ce_x2, __ce_m2) AS __ce_v2,
      clustereval._relative_difference(-__ce_d, __ce_x3, __ce_m3) AS __ce_v3,
      clustereval._relative_difference(__ce_d, __ce_x4, __ce_m4) AS __ce_v4,
      -- For the logarithms of a / x1 and b / x1, which are used if the stride is 1.
      CASE WHEN __ce_stride = 1 AND __ce_x1 > 0 THEN __ce_x2 / (__ce_a + __ce_x1) ELSE 0.0 END
        AS __ce_va,
      CASE WHEN __ce_stride = 1 AND __ce_x1 > 0 THEN __ce_x3 / (__ce_b + __ce_x1) ELSE 0.0 END
        AS __ce_vb
    FROM __ce_tables
  ),
  __ce_deviances AS (
    SELECT
      __ce_n, __ce_a, __ce_b, __ce_stride,
      __ce_x1, __ce_x2, __ce_x3, __ce_x4, __ce_v1, __ce_va, __ce_vb,
      clustereval._deviance(__ce_x1, __ce_m1, __ce_d, __ce_v1) AS __ce_d1,
      clustereval._deviance(__ce_x2, __ce_m2, -__ce_d, __ce_v2) AS __ce_d2,
      clustereval._deviance(__ce_x3, __ce_m3, -__ce_d, __ce_v3) AS __ce_d3,
      clustereval._deviance(__ce_x4, __ce_m4, __ce_d, __ce_v4) AS __ce_d4
    FROM __ce_relative_differences
  ),
  __ce_weights AS (
    SELECT
      __ce_n, __ce_a, __ce_b, __ce_stride,
      __ce_x1, __ce_v1, __ce_va, __ce_vb, __ce_d1,
      clustereval._overlap_weight(
        __ce_x1, __ce_x2, __ce_x3, __ce_x4, __ce_d1, __ce_d2, __ce_d3, __ce_d4
      ) AS __ce_weight
    FROM __ce_deviances
  ),
  __ce_pair_sums AS (
    SELECT
      __ce_n,
      __ce_a,
      __ce_b,
      MAX(__ce_stride) AS __ce_stride,
      SUM(__ce_weight) * __ce_n AS __ce_weight_sum,
      SUM(__ce_weight * __ce_d1) AS __ce_emi,
      SUM(__ce_weight * __ce_x1 * clustereval._log_ratio_at(__ce_b, __ce_x1, __ce_vb)) AS __ce_ehl,
      SUM(__ce_weight * __ce_x1 * clustereval._log_ratio_at(__ce_a, __ce_x1, __ce_va)) AS __ce_ehc
    FROM __ce_weights
    -- Always true. The condition keeps DuckDB 2 from pulling all stages into one expression below
    -- the join, which takes twice as long; it is evaluated twice, so it uses an early stage.
    WHERE __ce_v1 > -2
    GROUP BY __ce_n, __ce_a, __ce_b
  )
  -- With a stride, ehl and ehc follow from emi and the entropies of the sizes.
  SELECT
    __ce_n,
    __ce_a,
    __ce_b,
    __ce_emi / __ce_weight_sum AS __ce_emi,
    CASE
      WHEN __ce_stride > 1
      THEN clustereval._independent_entropy_term(__ce_n, __ce_a, __ce_b)
        - __ce_emi / __ce_weight_sum
      ELSE __ce_ehl / __ce_weight_sum
    END AS __ce_ehl,
    CASE
      WHEN __ce_stride > 1
      THEN clustereval._independent_entropy_term(__ce_n, __ce_b, __ce_a)
        - __ce_emi / __ce_weight_sum
      ELSE __ce_ehc / __ce_weight_sum
    END AS __ce_ehc
  FROM __ce_pair_sums;

-- One row per partition: __ce_partition, and the expectations, for random labelings of the same
-- sizes, of the mutual information (__ce_emi), of the entropy of the label given the cluster
-- (__ce_ehl) and of that of the cluster given the label (__ce_ehc), in nats. The parameters name a
-- table with one row per partition (__ce_total, its number of rows), one with one row per label
-- (__ce_label_size) and one with one row per cluster (__ce_cluster_size), all with __ce_partition,
-- the last two with __ce_copies, the number of labels or clusters that a row stands for. Empty, at
-- no cost, unless the BOOLEAN wanted is TRUE.
CREATE OR REPLACE MACRO clustereval._expected_totals(
  __ce_row_counts, __ce_label_sizes, __ce_cluster_sizes, wanted
) AS TABLE
  WITH __ce_size_counts AS (
    SELECT * FROM clustereval._size_counts(__ce_label_sizes, __ce_cluster_sizes, wanted)
  ),
  __ce_sizes AS (SELECT * FROM clustereval._reduced_sizes(__ce_size_counts)),
  __ce_size_pairs AS NOT MATERIALIZED (
    SELECT
      counts.__ce_partition,
      CAST(counts.__ce_total AS DOUBLE) AS __ce_n,
      CAST(labels.__ce_size AS DOUBLE) AS __ce_a,
      CAST(clusters.__ce_size AS DOUBLE) AS __ce_b,
      labels.__ce_multiplicity * clusters.__ce_multiplicity AS __ce_multiplicity
    FROM query_table(__ce_row_counts) AS counts
    JOIN __ce_sizes AS labels
      ON labels.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    JOIN __ce_sizes AS clusters
      ON clusters.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    WHERE labels.__ce_is_label AND NOT clusters.__ce_is_label
  ),
  -- Partitions share most of their pairs of sizes, whose terms are computed once for all.
  __ce_distinct_pairs AS (
    SELECT DISTINCT __ce_n, __ce_a, __ce_b
    FROM __ce_size_pairs
  ),
  __ce_nodes AS (SELECT * FROM clustereval._overlap_nodes(__ce_distinct_pairs)),
  __ce_pair_values AS (SELECT * FROM clustereval._pair_expectations(__ce_nodes))
  SELECT
    pairs.__ce_partition,
    clustereval._compensated_sum(pairs.__ce_multiplicity * terms.__ce_emi) AS __ce_emi,
    clustereval._compensated_sum(pairs.__ce_multiplicity * terms.__ce_ehl) AS __ce_ehl,
    clustereval._compensated_sum(pairs.__ce_multiplicity * terms.__ce_ehc) AS __ce_ehc
  FROM __ce_size_pairs AS pairs
  JOIN __ce_pair_values AS terms
    ON terms.__ce_n = pairs.__ce_n
    AND terms.__ce_a = pairs.__ce_a
    AND terms.__ce_b = pairs.__ce_b
  GROUP BY pairs.__ce_partition;

---------------------------------------------------------------------------------------------------
-- Aggregates. The stages of _expected_totals for one pair of sizes, as structs: a plan, the tables
-- at its nodes, their deviances, and their terms.
---------------------------------------------------------------------------------------------------

-- Sum of one field over a list of structs, with Kahan's correction; field is its name, a text.
CREATE OR REPLACE MACRO clustereval._sum_of_field(structs, field) AS
  clustereval._compensated_list_sum(
    list_transform(structs, lambda __ce_struct: __ce_struct[field])
  );

-- The distinct sizes in the histogram counts, a MAP from each label (or each cluster) to its number
-- of rows, as a list of {size, multiplicity}: a number of rows, and how many labels (clusters) have
-- it.
CREATE OR REPLACE MACRO clustereval._size_count_list(counts) AS
  list_transform(
    map_entries(list_aggregate(clustereval._histogram_sizes(counts), 'histogram')),
    lambda __ce_entry: {
      'size': __ce_entry['key'], 'multiplicity': CAST(__ce_entry['value'] AS DOUBLE)
    }
  );

-- Where _size_pair_terms evaluates the sum over the overlaps (shared rows) of a label of label_size
-- rows and a cluster of cluster_size rows among `total` rows: {n, a, b, multiplicity, center,
-- stride, below, above, offset}. n, a and b are the first three parameters as DOUBLE; multiplicity
-- is how many pairs of a label and a cluster have these sizes. The overlaps are center, which is
-- near their mean, and others at distances of stride: below of them are less than center and above
-- are greater. offset is center - a b / n.
CREATE OR REPLACE MACRO clustereval._size_pair_plan(
  total, label_size, cluster_size, multiplicity
) AS
  list_transform(
    list_transform(
      [{
        'n': CAST(total AS DOUBLE),
        'a': CAST(label_size AS DOUBLE),
        'b': CAST(cluster_size AS DOUBLE),
        'deviation': clustereval._overlap_deviation(
          CAST(total AS DOUBLE), CAST(label_size AS DOUBLE), CAST(cluster_size AS DOUBLE)
        )
      }],
      lambda __ce_pair: {
        'n': __ce_pair['n'],
        'a': __ce_pair['a'],
        'b': __ce_pair['b'],
        'deviation': __ce_pair['deviation'],
        'center': clustereval._central_overlap(__ce_pair['n'], __ce_pair['a'], __ce_pair['b'])
      }
    ),
    lambda __ce_pair: {
      'n': __ce_pair['n'],
      'a': __ce_pair['a'],
      'b': __ce_pair['b'],
      'multiplicity': multiplicity,
      'center': __ce_pair['center'],
      'stride': clustereval._overlap_sum_stride(__ce_pair['deviation']),
      'below': clustereval._count_overlap_nodes(
        __ce_pair['deviation'],
        __ce_pair['center'] - GREATEST(0.0, __ce_pair['a'] + __ce_pair['b'] - __ce_pair['n'])
      ),
      'above': clustereval._count_overlap_nodes(
        __ce_pair['deviation'], LEAST(__ce_pair['a'], __ce_pair['b']) - __ce_pair['center']
      ),
      'offset': clustereval._central_overlap_offset(
        __ce_pair['center'], total, label_size, cluster_size
      )
    }
  )[1];

-- The 2 x 2 table of rows for one overlap: {d, x1, x2, x3, x4, m1, m2, m3, m4}. x1, the overlap, is
-- the number of rows with a label and a cluster, x2 with the label only, x3 with the cluster only,
-- x4 with neither; m1 .. m4 are their means under random labeling, and d = x1 - m1, exactly. pair
-- is a struct of _size_pair_plan; node numbers the overlaps of pair: x1 = center + stride x node,
-- so that it is 0 at the center and negative below.
CREATE OR REPLACE MACRO clustereval._node_table(pair, node) AS
  list_transform(
    [{
      'x1': pair['center'] + pair['stride'] * node,
      'd': pair['stride'] * node + pair['offset']
    }],
    lambda __ce_node: {
      'd': __ce_node['d'],
      'x1': __ce_node['x1'],
      'x2': pair['a'] - __ce_node['x1'],
      'x3': pair['b'] - __ce_node['x1'],
      'x4': pair['n'] - pair['a'] - pair['b'] + __ce_node['x1'],
      'm1': pair['a'] * pair['b'] / pair['n'],
      'm2': pair['a'] * (pair['n'] - pair['b']) / pair['n'],
      'm3': pair['b'] * (pair['n'] - pair['a']) / pair['n'],
      'm4': (pair['n'] - pair['a']) * (pair['n'] - pair['b']) / pair['n']
    }
  )[1];

-- Loader's deviance x ln(x / m) + m - x of a count x from its mean m, given d = x - m without loss
-- of digits.
CREATE OR REPLACE MACRO clustereval._count_deviance(x, m, d) AS
  clustereval._deviance(x, m, d, clustereval._relative_difference(d, x, m));

-- {d1, d2, d3, d4}: the deviances x ln(x / m) + m - x of the counts x1 .. x4 of a 2 x 2 table from
-- their means m1 .. m4. counts is a struct of _node_table.
CREATE OR REPLACE MACRO clustereval._node_deviances(counts) AS {
  'd1': clustereval._count_deviance(counts['x1'], counts['m1'], counts['d']),
  'd2': clustereval._count_deviance(counts['x2'], counts['m2'], -counts['d']),
  'd3': clustereval._count_deviance(counts['x3'], counts['m3'], -counts['d']),
  'd4': clustereval._count_deviance(counts['x4'], counts['m4'], counts['d'])
};

-- The terms of one overlap x1 in the sums over the overlaps of a label of size a and a cluster of
-- size b: {weight, emi, ehl, ehc}. weight is the probability of x1 up to a factor; emi is weight
-- times the deviance of x1 from its mean, ehl is weight x1 ln(b / x1), ehc is weight x1 ln(a / x1).
-- ehl and ehc are 0 if the stride is above 1: then _size_pair_terms computes their sums from emi.
-- The parameters are structs of _size_pair_plan (pair), _node_table (counts) and _node_deviances
-- (deviances).
CREATE OR REPLACE MACRO clustereval._node_terms(pair, counts, deviances) AS
  list_transform(
    [clustereval._overlap_weight(
      counts['x1'], counts['x2'], counts['x3'], counts['x4'],
      deviances['d1'], deviances['d2'], deviances['d3'], deviances['d4']
    )],
    lambda __ce_weight: {
      'weight': __ce_weight,
      'emi': __ce_weight * deviances['d1'],
      'ehl': CASE
        WHEN pair['stride'] > 1 OR counts['x1'] = 0 THEN 0.0
        ELSE __ce_weight * counts['x1'] * clustereval._log_ratio(pair['b'], counts['x1'])
      END,
      'ehc': CASE
        WHEN pair['stride'] > 1 OR counts['x1'] = 0 THEN 0.0
        ELSE __ce_weight * counts['x1'] * clustereval._log_ratio(pair['a'], counts['x1'])
      END
    }
  )[1];

-- List of the structs of _node_terms, {weight, emi, ehl, ehc}, one for each overlap of pair, a
-- struct of _size_pair_plan.
CREATE OR REPLACE MACRO clustereval._all_node_terms(pair) AS
  list_transform(
    range(-CAST(pair['below'] AS BIGINT), CAST(pair['above'] AS BIGINT) + 1),
    lambda __ce_number: list_transform(
      list_transform(
        [clustereval._node_table(pair, __ce_number)],
        lambda __ce_table: {
          'table': __ce_table, 'deviances': clustereval._node_deviances(__ce_table)
        }
      ),
      lambda __ce_node: clustereval._node_terms(pair, __ce_node['table'], __ce_node['deviances'])
    )[1]
  );

-- {emi, ehl, ehc}: what all pairs of a label and a cluster with two given sizes add to the expected
-- mutual information (emi), to the expected entropy of the label given the cluster (ehl) and to
-- that of the cluster given the label (ehc), in nats. pair is a struct of _size_pair_plan, which
-- has the sizes and how many pairs have them.
CREATE OR REPLACE MACRO clustereval._size_pair_terms(pair) AS
  list_transform(
    list_transform(
      [clustereval._all_node_terms(pair)],
      lambda __ce_terms: {
        'factor': pair['multiplicity'] / pair['n']
          / clustereval._sum_of_field(__ce_terms, 'weight'),
        'emi': clustereval._sum_of_field(__ce_terms, 'emi'),
        'ehl': clustereval._sum_of_field(__ce_terms, 'ehl'),
        'ehc': clustereval._sum_of_field(__ce_terms, 'ehc')
      }
    ),
    lambda __ce_sums: {
      'emi': __ce_sums['factor'] * __ce_sums['emi'],
      'ehl': CASE
        WHEN pair['stride'] > 1
        THEN pair['multiplicity']
          * clustereval._independent_entropy_term(pair['n'], pair['a'], pair['b'])
          - __ce_sums['factor'] * __ce_sums['emi']
        ELSE __ce_sums['factor'] * __ce_sums['ehl']
      END,
      'ehc': CASE
        WHEN pair['stride'] > 1
        THEN pair['multiplicity']
          * clustereval._independent_entropy_term(pair['n'], pair['b'], pair['a'])
          - __ce_sums['factor'] * __ce_sums['emi']
        ELSE __ce_sums['factor'] * __ce_sums['ehc']
      END
    }
  )[1];

-- Aggregate of the columns label (true class) and cluster (assigned cluster): {emi, ehl, ehc}, the
-- expectations, for random labelings of the same sizes, of the mutual information, of the entropy
-- of the label given the cluster and of that of the cluster given the label, in nats. Rows with a
-- NULL in either column are left out.
CREATE OR REPLACE MACRO clustereval._expected_statistics(label, cluster) AS
  list_transform(
    list_transform(
      list_transform(
        [clustereval._histograms(label, cluster)],
        lambda __ce_histograms: {
          'total': clustereval._histogram_total(__ce_histograms['cells']),
          'labels': clustereval._size_count_list(__ce_histograms['labels']),
          'clusters': clustereval._size_count_list(__ce_histograms['clusters'])
        }
      ),
      lambda __ce_sides: list_transform(
        flatten(list_transform(
          __ce_sides['labels'],
          lambda __ce_label: list_transform(
            __ce_sides['clusters'],
            lambda __ce_cluster: clustereval._size_pair_plan(
              __ce_sides['total'], __ce_label['size'], __ce_cluster['size'],
              __ce_label['multiplicity'] * __ce_cluster['multiplicity']
            )
          )
        )),
        lambda __ce_pair: clustereval._size_pair_terms(__ce_pair)
      )
    ),
    lambda __ce_terms: {
      'emi': clustereval._sum_of_field(__ce_terms, 'emi'),
      'ehl': clustereval._sum_of_field(__ce_terms, 'ehl'),
      'ehc': clustereval._sum_of_field(__ce_terms, 'ehc')
    }
  )[1];

-- Mutual information expected of random labelings.
CREATE OR REPLACE MACRO clustereval._expected_mutual_info(emi) AS emi;

-- Aggregate of the columns label (true class) and cluster (assigned cluster): the mutual
-- information expected of random labelings of the same sizes (hypergeometric model), in nats. Rows
-- with a NULL in either column are left out.
-- Examples: SELECT clustereval.expected_mutual_info(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.expected_mutual_info(label, cluster) AS
  list_transform(
    [clustereval._expected_statistics(label, cluster)],
    lambda __ce_expected: clustereval._expected_mutual_info(__ce_expected['emi'])
  )[1];
