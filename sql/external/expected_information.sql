-- expected_information: the mutual information expected of random labelings with sizes like these.

---------------------------------------------------------------------------------------------------
-- The expected mutual information of two labelings with given sizes, under random permutation.
--
-- It is a sum over pairs of sizes (a, b) of E[deviance(m, ab / n)] / n, where m, the overlap, is
-- hypergeometric; pairs of equal sizes are summed once. The probabilities come from Loader's
-- saddle-point form, which does not cancel, up to a factor that is had from their sum. Where their
-- standard deviation is 6 or more they are smooth, and a sum over every stride-th m, times stride, has
-- the same value to 1e-15 (Poisson's summation formula), so that a pair costs at most some 140 nodes
-- whatever n is. What a pair adds is smooth in both sizes too: where there are many of them, a few
-- sizes with other weights give the same sum, so that there are never many pairs.
---------------------------------------------------------------------------------------------------

-- ln(x!) - [(x + 1/2) ln x - x + ln(2 pi) / 2] for whole x > 0, and 0 for x = 0: from 7 on by
-- Stieltjes' continued fraction, which is then exact to 1e-17.
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

-- 2 pi x, the square of the factor that goes with the Stirling error; 1 for x = 0.
CREATE OR REPLACE MACRO clustereval._stirling_scale(x) AS
  GREATEST(6.283185307179586 * x, 1.0);

-- Standard deviation of the overlap of a label of a rows and a cluster of b rows among n.
CREATE OR REPLACE MACRO clustereval._overlap_deviation(n, a, b) AS
  sqrt((a / n) * b * ((n - a) / n) * ((n - b) / GREATEST(n - 1.0, 1.0)));

CREATE OR REPLACE MACRO clustereval._overlap_stride(deviation) AS
  CASE WHEN deviation < 6 THEN 1.0 ELSE floor(deviation / 1.5) END;

-- How far from the center the nodes reach: what lies beyond weighs less than 1e-15 of the whole. The
-- overlap of small clusters is skewed to the right like a Poisson variable, hence the 8.
CREATE OR REPLACE MACRO clustereval._overlap_reach(deviation) AS
  9.5 * deviation + CASE WHEN deviation < 6 THEN 8.0 ELSE 0.0 END;

-- Nodes on one side of the center: as far as it reaches or as the overlap can go.
CREATE OR REPLACE MACRO clustereval._overlap_nodes(deviation, room) AS
  floor(
    LEAST(clustereval._overlap_reach(deviation), room) / clustereval._overlap_stride(deviation)
  );

-- The probability of the overlap x1 in the table x1, x2 = a - x1, x3 = b - x1, x4 = n - a - b + x1,
-- given the deviances d1 .. d4 of its four cells, up to a factor that depends on the sizes alone.
CREATE OR REPLACE MACRO clustereval._overlap_weight(x1, x2, x3, x4, d1, d2, d3, d4) AS
  exp(
    -(d1 + d2 + d3 + d4)
    - clustereval._stirling_error(x1) - clustereval._stirling_error(x2)
    - clustereval._stirling_error(x3) - clustereval._stirling_error(x4)
  ) / sqrt(
    clustereval._stirling_scale(x1) * clustereval._stirling_scale(x2)
    * clustereval._stirling_scale(x3) * clustereval._stirling_scale(x4)
  );

-- A whole number near the mean, within what the overlap can be.
CREATE OR REPLACE MACRO clustereval._overlap_center(n, a, b) AS
  LEAST(GREATEST(floor(a * b / n), a + b - n), LEAST(a, b));

-- center - a b / n, from exact integers.
CREATE OR REPLACE MACRO clustereval._overlap_offset(center, n, a, b) AS
  CAST(
    clustereval._widen(center) * clustereval._widen(n) - clustereval._widen(a) * clustereval._widen(b)
    AS DOUBLE
  ) / CAST(n AS DOUBLE);

-- d / (x + m); both are 0 where a cell of the table must be empty.
CREATE OR REPLACE MACRO clustereval._relative(d, x, m) AS d / GREATEST(x + m, 1e-300);

-- The share ab / n^2 of a cell times ln(n / a).
CREATE OR REPLACE MACRO clustereval._mean_entropy(n, a, b) AS
  clustereval._ratio(a, n) * clustereval._ratio(b, n) * clustereval._log_ratio(n, a);

---------------------------------------------------------------------------------------------------
-- Tables of sizes
---------------------------------------------------------------------------------------------------

-- 0 .. 143, enough for the nodes of any pair of sizes.
CREATE OR REPLACE MACRO clustereval._node_numbers() AS TABLE
  WITH __ce_digits AS (
    SELECT 0 AS __ce_digit UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
    UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7
    UNION ALL SELECT 8 UNION ALL SELECT 9 UNION ALL SELECT 10 UNION ALL SELECT 11
  )
  SELECT CAST(12 * __ce_high.__ce_digit + __ce_low.__ce_digit AS BIGINT) AS __ce_node
  FROM __ce_digits AS __ce_high
  CROSS JOIN __ce_digits AS __ce_low;

-- Number of labels and of clusters of each size, by partition; none unless wanted.
CREATE OR REPLACE MACRO clustereval._size_counts(__ce_label_sizes, __ce_cluster_sizes, wanted) AS TABLE
  WITH __ce_sides AS (
    SELECT __ce_partition, TRUE AS __ce_of_labels, __ce_size, __ce_copies
    FROM query_table(__ce_label_sizes)
    UNION ALL
    SELECT __ce_partition, FALSE, __ce_size, __ce_copies
    FROM query_table(__ce_cluster_sizes)
  )
  SELECT
    __ce_partition, __ce_of_labels, __ce_size, CAST(SUM(__ce_copies) AS DOUBLE) AS __ce_times
  FROM __ce_sides
  WHERE wanted
  GROUP BY __ce_partition, __ce_of_labels, __ce_size;

-- Whole numbers near the Chebyshev points of 64 .. 128, and the weights of the barycentric form of the
-- polynomial through them: 1 / the product of a number's distances to the others, up to a factor.
CREATE OR REPLACE MACRO clustereval._octave_nodes() AS TABLE
  WITH __ce_lower AS (
    SELECT 64e0 AS __ce_at, 7.550920304032022e-2 AS __ce_weight
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
    SELECT __ce_at, __ce_weight FROM __ce_lower
    UNION ALL
    SELECT 192.0 - __ce_at, -__ce_weight FROM __ce_lower
  )
  SELECT __ce_at, __ce_weight FROM __ce_both;

-- The sizes, or where an octave 64 .. 128, 128 .. 256, ... has more than 32 of them 18 others in their
-- place, with as many times each as gives the sum of any polynomial of degree 17 over the sizes, and
-- to 1e-14 that of what a pair of sizes adds to the expected mutual information.
CREATE OR REPLACE MACRO clustereval._few_sizes(__ce_size_counts) AS TABLE
  WITH __ce_placed AS (
    SELECT
      *,
      CASE
        WHEN __ce_size < 64 THEN 0.0
        ELSE clustereval._power_of_2(FLOOR(LN(__ce_size + 0.5) / LN(2.0)) - 6.0)
      END AS __ce_unit
    FROM query_table(__ce_size_counts)
  ),
  __ce_counted AS (
    SELECT
      *,
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_of_labels, __ce_unit) AS __ce_in_octave
    FROM __ce_placed
  ),
  __ce_near AS (
    SELECT
      __ce_partition, __ce_of_labels, __ce_size, __ce_times, __ce_unit, __ce_at,
      -- A size that is a node is it alone: what it has of the others is 1e30 times less.
      __ce_weight / CASE
        WHEN __ce_size / __ce_unit = __ce_at THEN 1e-30
        ELSE __ce_size / __ce_unit - __ce_at
      END AS __ce_share
    FROM __ce_counted
    CROSS JOIN clustereval._octave_nodes() AS __ce_nodes
    WHERE __ce_unit > 0 AND __ce_in_octave > 32
  ),
  __ce_shared AS (
    SELECT
      *,
      __ce_times * __ce_share
        / SUM(__ce_share) OVER (PARTITION BY __ce_partition, __ce_of_labels, __ce_size) AS __ce_part
    FROM __ce_near
  ),
  __ce_few AS (
    SELECT __ce_partition, __ce_of_labels, __ce_size, __ce_times
    FROM __ce_counted
    WHERE __ce_unit = 0 OR __ce_in_octave <= 32
    UNION ALL
    SELECT __ce_partition, __ce_of_labels, CAST(__ce_at * __ce_unit AS BIGINT), SUM(__ce_part)
    FROM __ce_shared
    GROUP BY __ce_partition, __ce_of_labels, __ce_unit, __ce_at
  )
  SELECT * FROM __ce_few;

-- One row a partition: expected mutual information and expected conditional entropies, from the sizes
-- of its labels and clusters. wanted := FALSE leaves it empty, and costs nothing.
CREATE OR REPLACE MACRO clustereval._expected_totals(
  __ce_row_counts, __ce_label_sizes, __ce_cluster_sizes, wanted
) AS TABLE
  WITH __ce_size_counts AS (
    SELECT * FROM clustereval._size_counts(__ce_label_sizes, __ce_cluster_sizes, wanted)
  ),
  __ce_sizes AS (SELECT * FROM clustereval._few_sizes(__ce_size_counts)),
  __ce_size_pairs AS NOT MATERIALIZED (
    SELECT
      __ce_r.__ce_partition,
      CAST(__ce_r.__ce_total AS DOUBLE) AS __ce_n,
      CAST(__ce_l.__ce_size AS DOUBLE) AS __ce_a,
      CAST(__ce_c.__ce_size AS DOUBLE) AS __ce_b,
      __ce_l.__ce_times * __ce_c.__ce_times AS __ce_times
    FROM query_table(__ce_row_counts) AS __ce_r
    JOIN __ce_sizes AS __ce_l ON __ce_l.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    JOIN __ce_sizes AS __ce_c ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    WHERE __ce_l.__ce_of_labels AND NOT __ce_c.__ce_of_labels
  ),
  -- Partitions share most of their pairs of sizes: what a pair adds is worked out once for all.
  __ce_distinct AS (
    SELECT DISTINCT __ce_n, __ce_a, __ce_b
    FROM __ce_size_pairs
  ),
  __ce_centerd AS (
    SELECT
      *,
      clustereval._overlap_deviation(__ce_n, __ce_a, __ce_b) AS __ce_deviation,
      GREATEST(0.0, __ce_a + __ce_b - __ce_n) AS __ce_least,
      LEAST(__ce_a, __ce_b) AS __ce_most,
      clustereval._overlap_center(__ce_n, __ce_a, __ce_b) AS __ce_center
    FROM __ce_distinct
  ),
  __ce_planned AS (
    SELECT
      *,
      clustereval._overlap_stride(__ce_deviation) AS __ce_stride,
      clustereval._overlap_nodes(__ce_deviation, __ce_center - __ce_least) AS __ce_below,
      clustereval._overlap_nodes(__ce_deviation, __ce_most - __ce_center) AS __ce_above,
      clustereval._overlap_offset(__ce_center, __ce_n, __ce_a, __ce_b) AS __ce_offset
    FROM __ce_centerd
  ),
  __ce_numbers AS (SELECT * FROM clustereval._node_numbers()),
  __ce_ranges AS (
    SELECT __ce_c.__ce_node AS __ce_nodes, __ce_i.__ce_node
    FROM __ce_numbers AS __ce_c
    JOIN __ce_numbers AS __ce_i ON __ce_i.__ce_node < __ce_c.__ce_node
  ),
  -- From here on only what is needed: DuckDB takes its time with each column of each stage.
  __ce_nodes AS (
    SELECT
      __ce_n, __ce_a, __ce_b, __ce_stride,
      __ce_center + __ce_stride * (__ce_node - __ce_below) AS __ce_x1,
      __ce_stride * (__ce_node - __ce_below) + __ce_offset AS __ce_d
    FROM __ce_planned
    JOIN __ce_ranges ON __ce_ranges.__ce_nodes = CAST(__ce_below + __ce_above + 1 AS BIGINT)
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
  __ce_relative AS (
    SELECT
      *,
      clustereval._relative(__ce_d, __ce_x1, __ce_m1) AS __ce_v1,
      clustereval._relative(-__ce_d, __ce_x2, __ce_m2) AS __ce_v2,
      clustereval._relative(-__ce_d, __ce_x3, __ce_m3) AS __ce_v3,
      clustereval._relative(__ce_d, __ce_x4, __ce_m4) AS __ce_v4,
      -- of the logarithms of a / x1 and b / x1, which count where every node is summed
      CASE WHEN __ce_stride = 1 AND __ce_x1 > 0 THEN __ce_x2 / (__ce_a + __ce_x1) ELSE 0.0 END AS __ce_va,
      CASE WHEN __ce_stride = 1 AND __ce_x1 > 0 THEN __ce_x3 / (__ce_b + __ce_x1) ELSE 0.0 END AS __ce_vb
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
    FROM __ce_relative
  ),
  __ce_weighted AS (
    SELECT
      __ce_n, __ce_a, __ce_b, __ce_stride,
      __ce_x1, __ce_v1, __ce_va, __ce_vb, __ce_d1,
      clustereval._overlap_weight(
        __ce_x1, __ce_x2, __ce_x3, __ce_x4, __ce_d1, __ce_d2, __ce_d3, __ce_d4
      ) AS __ce_weight
    FROM __ce_deviances
  ),
  __ce_summed AS (
    SELECT
      __ce_n,
      __ce_a,
      __ce_b,
      MAX(__ce_stride) AS __ce_stride,
      SUM(__ce_weight) * __ce_n AS __ce_whole,
      SUM(__ce_weight * __ce_d1) AS __ce_emi,
      SUM(__ce_weight * __ce_x1 * clustereval._log_ratio_at(__ce_b, __ce_x1, __ce_vb)) AS __ce_ehl,
      SUM(__ce_weight * __ce_x1 * clustereval._log_ratio_at(__ce_a, __ce_x1, __ce_va)) AS __ce_ehc
    FROM __ce_weighted
    -- Always so. The condition keeps DuckDB 2 from pulling all stages into one expression below the
    -- join, which takes twice as long; it is worked out twice, therefore one of the first stages.
    WHERE __ce_v1 > -2
    GROUP BY __ce_n, __ce_a, __ce_b
  ),
  -- A strided pair takes its conditional entropies from its mean.
  __ce_valued AS (
    SELECT
      __ce_n,
      __ce_a,
      __ce_b,
      __ce_emi / __ce_whole AS __ce_emi,
      CASE
        WHEN __ce_stride > 1
        THEN clustereval._mean_entropy(__ce_n, __ce_a, __ce_b)
          - __ce_emi / __ce_whole
        ELSE __ce_ehl / __ce_whole
      END AS __ce_ehl,
      CASE
        WHEN __ce_stride > 1
        THEN clustereval._mean_entropy(__ce_n, __ce_b, __ce_a)
          - __ce_emi / __ce_whole
        ELSE __ce_ehc / __ce_whole
      END AS __ce_ehc
    FROM __ce_summed
  )
  SELECT
    __ce_p.__ce_partition,
    clustereval._compensated_sum(__ce_p.__ce_times * __ce_v.__ce_emi) AS __ce_emi,
    clustereval._compensated_sum(__ce_p.__ce_times * __ce_v.__ce_ehl) AS __ce_ehl,
    clustereval._compensated_sum(__ce_p.__ce_times * __ce_v.__ce_ehc) AS __ce_ehc
  FROM __ce_size_pairs AS __ce_p
  JOIN __ce_valued AS __ce_v
    ON __ce_v.__ce_n = __ce_p.__ce_n
    AND __ce_v.__ce_a = __ce_p.__ce_a
    AND __ce_v.__ce_b = __ce_p.__ce_b
  GROUP BY __ce_p.__ce_partition;

---------------------------------------------------------------------------------------------------
-- Aggregates
---------------------------------------------------------------------------------------------------

-- Sizes and how often each occurs, as a list of {size, times}.
CREATE OR REPLACE MACRO clustereval._size_list(counts) AS
  list_transform(
    map_entries(list_aggregate(clustereval._histogram_sizes(counts), 'histogram')),
    lambda __ce_e: {'size': __ce_e['key'], 'times': CAST(__ce_e['value'] AS DOUBLE)}
  );

-- The steps of _expected_totals for one pair of sizes: where the nodes are ...
CREATE OR REPLACE MACRO clustereval._overlap_plan(total, a_size, b_size, times) AS
  list_transform(
    list_transform(
      [{
        'n': CAST(total AS DOUBLE), 'a': CAST(a_size AS DOUBLE), 'b': CAST(b_size AS DOUBLE),
        'deviation': clustereval._overlap_deviation(
          CAST(total AS DOUBLE), CAST(a_size AS DOUBLE), CAST(b_size AS DOUBLE)
        )
      }],
      lambda __ce_p: {
        'n': __ce_p['n'], 'a': __ce_p['a'], 'b': __ce_p['b'], 'deviation': __ce_p['deviation'],
        'center': clustereval._overlap_center(__ce_p['n'], __ce_p['a'], __ce_p['b'])
      }
    ),
    lambda __ce_p: {
      'n': __ce_p['n'], 'a': __ce_p['a'], 'b': __ce_p['b'], 'times': times, 'center': __ce_p['center'],
      'stride': clustereval._overlap_stride(__ce_p['deviation']),
      'below': clustereval._overlap_nodes(
        __ce_p['deviation'], __ce_p['center'] - GREATEST(0.0, __ce_p['a'] + __ce_p['b'] - __ce_p['n'])
      ),
      'above': clustereval._overlap_nodes(
        __ce_p['deviation'], LEAST(__ce_p['a'], __ce_p['b']) - __ce_p['center']
      ),
      'offset': clustereval._overlap_offset(__ce_p['center'], total, a_size, b_size)
    }
  )[1];

-- ... the table of counts at one of them, with its expectations ...
CREATE OR REPLACE MACRO clustereval._overlap_table(p, node) AS
  list_transform(
    [{'x': p['center'] + p['stride'] * node, 'd': p['stride'] * node + p['offset']}],
    lambda __ce_t: {
      'd': __ce_t['d'], 'x1': __ce_t['x'], 'x2': p['a'] - __ce_t['x'], 'x3': p['b'] - __ce_t['x'],
      'x4': p['n'] - p['a'] - p['b'] + __ce_t['x'],
      'm1': p['a'] * p['b'] / p['n'], 'm2': p['a'] * (p['n'] - p['b']) / p['n'], 'm3': p['b'] * (p['n'] - p['a']) / p['n'],
      'm4': (p['n'] - p['a']) * (p['n'] - p['b']) / p['n']
    }
  )[1];

-- ... its deviances ...
CREATE OR REPLACE MACRO clustereval._overlap_deviances(t) AS {
  'd1': clustereval._deviance(t['x1'], t['m1'], t['d'], clustereval._relative(t['d'], t['x1'], t['m1'])),
  'd2': clustereval._deviance(t['x2'], t['m2'], -t['d'], clustereval._relative(-t['d'], t['x2'], t['m2'])),
  'd3': clustereval._deviance(t['x3'], t['m3'], -t['d'], clustereval._relative(-t['d'], t['x3'], t['m3'])),
  'd4': clustereval._deviance(t['x4'], t['m4'], t['d'], clustereval._relative(t['d'], t['x4'], t['m4']))
};

-- ... and what the node adds to each sum; a strided pair has its conditional entropies from its mean.
CREATE OR REPLACE MACRO clustereval._overlap_terms(p, t, e) AS
  list_transform(
    [clustereval._overlap_weight(
      t['x1'], t['x2'], t['x3'], t['x4'], e['d1'], e['d2'], e['d3'], e['d4']
    )],
    lambda __ce_w: {
      'weight': __ce_w,
      'emi': __ce_w * e['d1'],
      'ehl': CASE
        WHEN p['stride'] > 1 OR t['x1'] = 0 THEN 0.0
        ELSE __ce_w * t['x1'] * clustereval._log_ratio(p['b'], t['x1'])
      END,
      'ehc': CASE
        WHEN p['stride'] > 1 OR t['x1'] = 0 THEN 0.0
        ELSE __ce_w * t['x1'] * clustereval._log_ratio(p['a'], t['x1'])
      END
    }
  )[1];

CREATE OR REPLACE MACRO clustereval._overlap_nodes_of(p) AS
  list_transform(
    range(-CAST(p['below'] AS BIGINT), CAST(p['above'] AS BIGINT) + 1),
    lambda __ce_i: list_transform(
      list_transform(
        [clustereval._overlap_table(p, __ce_i)],
        lambda __ce_t: {'t': __ce_t, 'e': clustereval._overlap_deviances(__ce_t)}
      ),
      lambda __ce_te: clustereval._overlap_terms(p, __ce_te['t'], __ce_te['e'])
    )[1]
  );

-- {emi, ehl, ehc} of one pair of sizes, as often as there is one.
CREATE OR REPLACE MACRO clustereval._overlap_sums(p) AS
  list_transform(
    list_transform(
      [clustereval._overlap_nodes_of(p)],
      lambda __ce_n: {
        'share': p['times'] / p['n']
          / clustereval._compensated_list_sum(list_transform(__ce_n, lambda __ce_x: __ce_x['weight'])),
        'emi': clustereval._compensated_list_sum(list_transform(__ce_n, lambda __ce_x: __ce_x['emi'])),
        'ehl': clustereval._compensated_list_sum(list_transform(__ce_n, lambda __ce_x: __ce_x['ehl'])),
        'ehc': clustereval._compensated_list_sum(list_transform(__ce_n, lambda __ce_x: __ce_x['ehc']))
      }
    ),
    lambda __ce_s: {
      'emi': __ce_s['share'] * __ce_s['emi'],
      'ehl': CASE
        WHEN p['stride'] > 1
        THEN p['times'] * clustereval._mean_entropy(p['n'], p['a'], p['b'])
          - __ce_s['share'] * __ce_s['emi']
        ELSE __ce_s['share'] * __ce_s['ehl']
      END,
      'ehc': CASE
        WHEN p['stride'] > 1
        THEN p['times'] * clustereval._mean_entropy(p['n'], p['b'], p['a'])
          - __ce_s['share'] * __ce_s['emi']
        ELSE __ce_s['share'] * __ce_s['ehc']
      END
    }
  )[1];

-- {emi, ehl, ehc} as _expected_totals.
CREATE OR REPLACE MACRO clustereval._expected_statistics(label, cluster) AS
  list_transform(
    list_transform(
      list_transform(
        [clustereval._histograms(label, cluster)],
        lambda __ce_h: {
          'n': CAST(list_sum(map_values(__ce_h['cells'])) AS BIGINT),
          'labels': clustereval._size_list(__ce_h['labels']),
          'clusters': clustereval._size_list(__ce_h['clusters'])
        }
      ),
      lambda __ce_s: list_transform(
        flatten(list_transform(
          __ce_s['labels'],
          lambda __ce_a: list_transform(
            __ce_s['clusters'],
            lambda __ce_b: clustereval._overlap_plan(
              __ce_s['n'], __ce_a['size'], __ce_b['size'], __ce_a['times'] * __ce_b['times']
            )
          )
        )),
        lambda __ce_p: clustereval._overlap_sums(__ce_p)
      )
    ),
    lambda __ce_x: {
      'emi': clustereval._compensated_list_sum(list_transform(__ce_x, lambda __ce_y: __ce_y['emi'])),
      'ehl': clustereval._compensated_list_sum(list_transform(__ce_x, lambda __ce_y: __ce_y['ehl'])),
      'ehc': clustereval._compensated_list_sum(list_transform(__ce_x, lambda __ce_y: __ce_y['ehc']))
    }
  )[1];

-- Mutual information expected of random labelings with the same sizes (hypergeometric model), in
-- nats. Range [0, least entropy].
-- Examples: SELECT clustereval.expected_mutual_info(species, cluster) FROM assignments;
CREATE OR REPLACE MACRO clustereval.expected_mutual_info(label, cluster) AS
  list_transform(
    [clustereval._expected_statistics(label, cluster)],
    lambda __ce_s: __ce_s['emi']
  )[1];
COMMENT ON MACRO clustereval.expected_mutual_info IS
'Mutual information expected of random labelings with the same sizes (hypergeometric model), in nats. Range [0, least entropy]. Source: Vinh, Epps and Bailey (2009), doi:10.1145/1553374.1553511.';
