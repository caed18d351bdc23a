-- expected_information: the mutual information expected of random labelings of the same sizes.

---------------------------------------------------------------------------------------------------
-- Under random permutation of the rows, the expected mutual information is a sum over pairs of a
-- label size a and a cluster size b of E[deviance(x, ab / n)] / n, where x, the overlap, is
-- hypergeometric. Pairs of equal sizes are summed once, with their multiplicity.
--
-- Words: n rows; a node is a number at which a smooth function is evaluated, in place of all whole
-- numbers; stride, the distance of neighboring nodes; multiplicity, how often a size occurs, or a
-- pair of sizes; octave, the sizes from 64 to 128, from 128 to 256, and so on. A table x1, x2, x3,
-- x4 is the counts of rows with: the label and the cluster, the label alone, the cluster alone,
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

-- ln(x!) - [(x + 1/2) ln x - x + ln(2 pi) / 2] for whole x > 0, and 0 for x = 0. From 7 on
-- Stieltjes' continued fraction is exact to 1e-17.
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

-- 2 pi x, the square of the factor in Stirling's formula for x!; 1 for x = 0.
CREATE OR REPLACE MACRO clustereval._stirling_scale(x) AS
  GREATEST(6.283185307179586 * x, 1.0);

-- Standard deviation of the overlap of a label of size a and a cluster of size b among n rows.
CREATE OR REPLACE MACRO clustereval._overlap_deviation(n, a, b) AS
  sqrt((a / n) * b * ((n - a) / n) * ((n - b) / GREATEST(n - 1.0, 1.0)));

-- Distance of neighboring nodes, from the standard deviation of the overlap.
CREATE OR REPLACE MACRO clustereval._overlap_stride(deviation) AS
  CASE WHEN deviation < 6 THEN 1.0 ELSE floor(deviation / 1.5) END;

-- Distance from the center of the overlaps (_overlap_center) to the outermost nodes, from the
-- standard deviation of the overlap: the rest weighs less than 1e-15 of the whole. The overlap of
-- small clusters is skewed to the right like a Poisson variable, hence the 8.
CREATE OR REPLACE MACRO clustereval._overlap_reach(deviation) AS
  9.5 * deviation + CASE WHEN deviation < 6 THEN 8.0 ELSE 0.0 END;

-- Number of nodes on one side of the center, where overlaps are possible up to possible_distance
-- from it; deviation is the standard deviation of the overlap.
CREATE OR REPLACE MACRO clustereval._count_overlap_nodes(deviation, possible_distance) AS
  floor(
    LEAST(clustereval._overlap_reach(deviation), possible_distance)
    / clustereval._overlap_stride(deviation)
  );

-- Probability of the overlap x1 in the table x1, x2 = a - x1, x3 = b - x1, x4 = n - a - b + x1,
-- given the deviances d1 .. d4 of its four cells, up to a factor that depends only on the sizes.
CREATE OR REPLACE MACRO clustereval._overlap_weight(x1, x2, x3, x4, d1, d2, d3, d4) AS
  exp(
    -(d1 + d2 + d3 + d4)
    - clustereval._stirling_error(x1) - clustereval._stirling_error(x2)
    - clustereval._stirling_error(x3) - clustereval._stirling_error(x4)
  ) / sqrt(
    clustereval._stirling_scale(x1) * clustereval._stirling_scale(x2)
    * clustereval._stirling_scale(x3) * clustereval._stirling_scale(x4)
  );

-- The possible overlap of sizes a and b nearest to the whole part of its mean a b / n.
CREATE OR REPLACE MACRO clustereval._overlap_center(n, a, b) AS
  LEAST(GREATEST(floor(a * b / n), a + b - n), LEAST(a, b));

-- center - a b / n, from exact integers: how far the center is from the mean overlap.
CREATE OR REPLACE MACRO clustereval._overlap_offset(center, n, a, b) AS
  CAST(
    clustereval._widen(center) * clustereval._widen(n)
    - clustereval._widen(a) * clustereval._widen(b)
    AS DOUBLE
  ) / CAST(n AS DOUBLE);

-- d / (x + m), where d is the difference of a count x from its mean m; 0 / 0 is 0.
CREATE OR REPLACE MACRO clustereval._relative_difference(d, x, m) AS d / GREATEST(x + m, 1e-300);

-- (a / n) (b / n) ln(n / a): the term of sizes a and b in the entropy of the side of a, if label
-- and cluster are independent.
CREATE OR REPLACE MACRO clustereval._independent_entropy_term(n, a, b) AS
  clustereval._ratio(a, n) * clustereval._ratio(b, n) * clustereval._log_ratio(n, a);

---------------------------------------------------------------------------------------------------
-- Corrections for chance, from mi, hl, hc (see information.sql) and the expected emi, ehl, ehc
---------------------------------------------------------------------------------------------------

-- The mean of the two entropies mi + hl and mi + hc, by average_method, minus emi. ehl and ehc are
-- the two entropies minus emi.
CREATE OR REPLACE MACRO clustereval._mean_entropy_above_chance(
  mi, hl, hc, ehl, ehc, average_method
) AS
  CASE
    WHEN average_method = 'arithmetic' THEN (ehl + ehc) / 2.0
    WHEN average_method = 'min' THEN LEAST(ehl, ehc)
    WHEN average_method = 'max' THEN GREATEST(ehl, ehc)
    WHEN average_method = 'geometric' AND mi + hl = 0 THEN ehl
    WHEN average_method = 'geometric'
    THEN ehl + (ehc - ehl) * sqrt(mi + hl) / (sqrt(mi + hl) + sqrt(mi + hc))
  END;

-- mi - emi, which is equal to ehl - hl and to ehc - hc: the difference of the smallest terms is the
-- most exact, which matters if nearly every row is a cluster of its own.
CREATE OR REPLACE MACRO clustereval._mutual_info_above_chance(mi, hl, hc, emi, ehl, ehc) AS
  CASE
    WHEN emi <= ehl AND emi <= ehc THEN mi - emi
    WHEN ehl <= ehc THEN ehl - hl
    ELSE ehc - hc
  END;

---------------------------------------------------------------------------------------------------
-- Tables of sizes
---------------------------------------------------------------------------------------------------

-- One row per whole number from 0 to 143, enough to number the nodes of any pair of sizes.
CREATE OR REPLACE MACRO clustereval._node_numbers() AS TABLE
  WITH __ce_digits AS (
    SELECT 0 AS __ce_digit UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
    UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7
    UNION ALL SELECT 8 UNION ALL SELECT 9 UNION ALL SELECT 10 UNION ALL SELECT 11
  )
  SELECT CAST(12 * high.__ce_digit + low.__ce_digit AS BIGINT) AS __ce_node
  FROM __ce_digits AS high
  CROSS JOIN __ce_digits AS low;

-- One row per partition, side (__ce_is_label) and size: the number of labels or of clusters of this
-- size (__ce_multiplicity). Empty unless `wanted`.
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

-- One row per node of an octave (18): __ce_position, a whole number near a Chebyshev point of 64 ..
-- 128, and __ce_weight, its weight in the barycentric form of the polynomial through all nodes: up
-- to a factor 1 / the product of its distances to the others.
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

-- One row per partition, side and size, as _size_counts, but octaves with more than 32 sizes have
-- 18 nodes instead. Their multiplicities give the same sum of any polynomial of degree 17 over the
-- sizes, and to 1e-14 of the terms of the expected mutual information.
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

-- One row per partition: emi, ehl and ehc, from the sizes of its labels and clusters. Empty, at no
-- cost, unless `wanted`.
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
  __ce_centers AS (
    SELECT
      *,
      clustereval._overlap_deviation(__ce_n, __ce_a, __ce_b) AS __ce_deviation,
      GREATEST(0.0, __ce_a + __ce_b - __ce_n) AS __ce_least,
      LEAST(__ce_a, __ce_b) AS __ce_most,
      clustereval._overlap_center(__ce_n, __ce_a, __ce_b) AS __ce_center
    FROM __ce_distinct_pairs
  ),
  __ce_plans AS (
    SELECT
      *,
      clustereval._overlap_stride(__ce_deviation) AS __ce_stride,
      clustereval._count_overlap_nodes(__ce_deviation, __ce_center - __ce_least) AS __ce_below,
      clustereval._count_overlap_nodes(__ce_deviation, __ce_most - __ce_center) AS __ce_above,
      clustereval._overlap_offset(__ce_center, __ce_n, __ce_a, __ce_b) AS __ce_offset
    FROM __ce_centers
  ),
  __ce_numbers AS (SELECT * FROM clustereval._node_numbers()),
  __ce_ranges AS (
    SELECT counts.__ce_node AS __ce_n_nodes, numbers.__ce_node
    FROM __ce_numbers AS counts
    JOIN __ce_numbers AS numbers ON numbers.__ce_node < counts.__ce_node
  ),
  -- Each stage from here on has only the columns that the next ones need, since all take time.
  __ce_nodes AS (
    SELECT
      __ce_n, __ce_a, __ce_b, __ce_stride,
      __ce_center + __ce_stride * (__ce_node - __ce_below) AS __ce_x1,
      __ce_stride * (__ce_node - __ce_below) + __ce_offset AS __ce_d
    FROM __ce_plans
    JOIN __ce_ranges AS ranges
      ON ranges.__ce_n_nodes = CAST(__ce_below + __ce_above + 1 AS BIGINT)
  ),
  __ce_tables AS (
    SELECT
      __ce_n, __ce_a, __ce_b, __ce_stride, __ce_x1, __ce_d,
      __ce_a - __ce_x1 AS __ce_x2,
      __ce_b - __ce_x1 AS __ce_x3,
      __ce_n - __ce_a - __ce_b + __ce_x1 AS __ce_x4,
      __ce_a * __ce_b / __ce_n AS __ce_m1,
      __ce_a * (__ce_n - __ce_b) / __ce_n AS __ce_m2,
      __ce_b * (__ce_n - __ce_a) / __ce_n AS __ce_m3,
      (__ce_n - __ce_a) * (__ce_n - __ce_b) / __ce_n AS __ce_m4
    FROM __ce_nodes
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
  ),
  -- With a stride, ehl and ehc follow from emi and the entropies of the sizes.
  __ce_pair_values AS (
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
    FROM __ce_pair_sums
  )
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

-- The sum of the field named `field` over a list of structs.
CREATE OR REPLACE MACRO clustereval._sum_of_field(structs, field) AS
  clustereval._compensated_list_sum(
    list_transform(structs, lambda __ce_struct: __ce_struct[field])
  );

-- The sizes of the histogram `counts` and the number of times that each occurs, as a list of {size,
-- multiplicity}.
CREATE OR REPLACE MACRO clustereval._size_count_list(counts) AS
  list_transform(
    map_entries(list_aggregate(clustereval._histogram_sizes(counts), 'histogram')),
    lambda __ce_entry: {
      'size': __ce_entry['key'], 'multiplicity': CAST(__ce_entry['value'] AS DOUBLE)
    }
  );

-- The plan of a pair of sizes: {n, a, b, multiplicity, center, stride, below, above, offset}.
-- center is the overlap at the middle node, below and above are the numbers of nodes on either side
-- of it, offset is that of _overlap_offset.
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
        'center': clustereval._overlap_center(__ce_pair['n'], __ce_pair['a'], __ce_pair['b'])
      }
    ),
    lambda __ce_pair: {
      'n': __ce_pair['n'],
      'a': __ce_pair['a'],
      'b': __ce_pair['b'],
      'multiplicity': multiplicity,
      'center': __ce_pair['center'],
      'stride': clustereval._overlap_stride(__ce_pair['deviation']),
      'below': clustereval._count_overlap_nodes(
        __ce_pair['deviation'],
        __ce_pair['center'] - GREATEST(0.0, __ce_pair['a'] + __ce_pair['b'] - __ce_pair['n'])
      ),
      'above': clustereval._count_overlap_nodes(
        __ce_pair['deviation'], LEAST(__ce_pair['a'], __ce_pair['b']) - __ce_pair['center']
      ),
      'offset': clustereval._overlap_offset(
        __ce_pair['center'], total, label_size, cluster_size
      )
    }
  )[1];

-- The table of counts at a node of a plan (pair), {d, x1 .. x4, m1 .. m4}; d = x1 - m1. `node` is
-- the number of the node, 0 at the center.
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

-- The deviance of a count x from its mean m, given d = x - m.
CREATE OR REPLACE MACRO clustereval._count_deviance(x, m, d) AS
  clustereval._deviance(x, m, d, clustereval._relative_difference(d, x, m));

-- The deviances {d1, d2, d3, d4} of the table `counts` of _node_table.
CREATE OR REPLACE MACRO clustereval._node_deviances(counts) AS {
  'd1': clustereval._count_deviance(counts['x1'], counts['m1'], counts['d']),
  'd2': clustereval._count_deviance(counts['x2'], counts['m2'], -counts['d']),
  'd3': clustereval._count_deviance(counts['x3'], counts['m3'], -counts['d']),
  'd4': clustereval._count_deviance(counts['x4'], counts['m4'], counts['d'])
};

-- The terms of a node in the sums for its plan (pair): {weight, emi, ehl, ehc}, of which weight is
-- the probability up to a factor. With a stride above 1, ehl and ehc are 0 and follow from emi.
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

-- The list of _node_terms at all nodes of a plan (pair).
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

-- {emi, ehl, ehc} of the plan of a pair of sizes, times its multiplicity.
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

-- {emi, ehl, ehc} of the columns label and cluster, summed over the pairs of sizes.
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

-- Examples: SELECT clustereval.expected_mutual_info(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.expected_mutual_info(label, cluster) AS
  list_transform(
    [clustereval._expected_statistics(label, cluster)],
    lambda __ce_expected: __ce_expected['emi']
  )[1];
COMMENT ON MACRO clustereval.expected_mutual_info IS
'Mutual information expected of random labelings with the same sizes (hypergeometric model), in '
'nats. Range [0, lesser entropy]. Source: Vinh, Epps and Bailey (2009), '
'doi:10.1145/1553374.1553511.';
