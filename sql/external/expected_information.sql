-- expected_information: the mutual information expected of random labelings of the same sizes.

---------------------------------------------------------------------------------------------------
-- Under random permutation of the rows, the expected mutual information is a sum over pairs of a
-- label size a and a cluster size b of E[deviance(x, ab / n)] / n, where x, the overlap, is
-- hypergeometric. Pairs of equal sizes are summed once, with their multiplicity.
--
-- Words: there are n rows. A node is a number at which a smooth function is evaluated, in place of
-- all whole numbers. The stride is the distance between neighboring nodes. The multiplicity is the
-- number of times that a size, or a pair of sizes, occurs. An octave has the sizes from 64 to 128,
-- from 128 to 256, and so on. x1, x2, x3 and x4 are the numbers of rows with the label and the
-- cluster, with only the label, with only the cluster, and with neither. m1 .. m4 are their
-- expectations, and d1 .. d4 are their deviances from the expectations. emi, ehl and ehc are the
-- expectations of mi, hl and hc (see information.sql).
--
-- Overlaps: the probabilities come from Loader's saddle-point form, which does not cancel, up to a
-- factor that their sum determines. If the standard deviation of x is 6 or more, the probabilities
-- are smooth, and a sum over every stride-th x, times stride, has the same value to 1e-15
-- (Poisson's summation formula). A pair therefore needs at most about 140 nodes, whatever n is.
--
-- Sizes: the terms of the pairs are also smooth in both sizes. Many sizes are replaced by a few
-- nodes with multiplicities that give the same sum, so that the number of pairs is bounded.
---------------------------------------------------------------------------------------------------

-- Error of Stirling's formula for ln(x!) of a whole number x: ln(x!) - [(x + 1/2) ln x - x + ln(2
-- pi) / 2], and 0 for x = 0. From 7 on by Stieltjes' continued fraction, which is exact to 1e-17.
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

-- 2 pi x, the number under the root in Stirling's formula; 1 for x = 0.
CREATE OR REPLACE MACRO clustereval._stirling_scale(x) AS
  GREATEST(6.283185307179586 * x, 1.0);

-- Standard deviation of the overlap of a label of size a and a cluster of size b among n rows, if
-- the clusters are permuted at random: a hypergeometric variable.
CREATE OR REPLACE MACRO clustereval._overlap_deviation(n, a, b) AS
  sqrt((a / n) * b * ((n - a) / n) * ((n - b) / GREATEST(n - 1.0, 1.0)));

-- Stride of a sum over the overlaps, whose standard deviation is deviation: 1 if that is below 6;
-- otherwise the probabilities are so smooth that the sum over every stride-th overlap, times
-- stride, has the same value to 1e-15.
CREATE OR REPLACE MACRO clustereval._overlap_sum_stride(deviation) AS
  CASE WHEN deviation < 6 THEN 1.0 ELSE floor(deviation / 1.5) END;

-- Number of overlaps on one side of the central overlap at which the sum is evaluated: every
-- stride-th one up to 9.5 deviations away, and at most possible_distance away. Overlaps that are
-- farther away have less than 1e-15 of the probability. If deviation is small, 8 is added, because
-- the overlap of small clusters is skewed to the right like a Poisson variable.
CREATE OR REPLACE MACRO clustereval._count_overlap_nodes(deviation, possible_distance) AS
  floor(
    LEAST(9.5 * deviation + CASE WHEN deviation < 6 THEN 8.0 ELSE 0.0 END, possible_distance)
    / clustereval._overlap_sum_stride(deviation)
  );

-- Probability, up to a factor that depends only on the marginals, of a 2 x 2 table x1 .. x4 under
-- random labeling, with the deviances d1 .. d4 of its counts from their means. Loader's
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

-- The whole number at which a sum over overlaps is centered: the whole part of their mean a b / n,
-- or the nearest possible value.
CREATE OR REPLACE MACRO clustereval._central_overlap(n, a, b) AS
  LEAST(GREATEST(floor(a * b / n), a + b - n), LEAST(a, b));

-- center - a b / n as DOUBLE, computed from exact integers.
CREATE OR REPLACE MACRO clustereval._central_overlap_offset(center, n, a, b) AS
  CAST(
    clustereval._widen(center) * clustereval._widen(n)
    - clustereval._widen(a) * clustereval._widen(b) AS DOUBLE
  ) / CAST(n AS DOUBLE);

-- d / (x + m), the last argument of _deviance, where d is the difference x - m of a count x from
-- its mean m; 0 for x = m = 0.
CREATE OR REPLACE MACRO clustereval._relative_difference(d, x, m) AS d / GREATEST(x + m, 1e-300);

-- (a / n) (b / n) ln(n / a): the term of a label of size a and a cluster of size b in the label
-- entropy, written as a sum over all pairs of a label and a cluster. With a and b exchanged, that
-- in the cluster entropy.
CREATE OR REPLACE MACRO clustereval._independent_entropy_term(n, a, b) AS
  clustereval._ratio(a, n) * clustereval._ratio(b, n) * clustereval._log_ratio(n, a);

---------------------------------------------------------------------------------------------------
-- Corrections for chance, from mi, hl, hc (see information.sql) and the expected emi, ehl, ehc
---------------------------------------------------------------------------------------------------

-- M - emi, the denominator of the adjusted mutual information, where M is the mean of the label and
-- the cluster entropy that average_method names. It is computed from ehl = mi + hl - emi and ehc =
-- mi + hc - emi, because M - emi would cancel.
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

-- mi - emi, the numerator of the adjusted mutual information, equal to ehl - hl and to ehc - hc. Of
-- the three, the one with the smallest terms is the most exact, which matters if nearly every row
-- is a cluster of its own.
CREATE OR REPLACE MACRO clustereval._mutual_info_above_chance(mi, hl, hc, emi, ehl, ehc) AS
  CASE
    WHEN emi <= ehl AND emi <= ehc THEN mi - emi
    WHEN ehl <= ehc THEN ehl - hl
    ELSE ehc - hc
  END;

---------------------------------------------------------------------------------------------------
-- Tables of sizes
---------------------------------------------------------------------------------------------------

-- The 18 sizes that stand for all sizes from 64 to 128 in _reduced_sizes, one per row: position, a
-- whole number near a Chebyshev point, and weight, its barycentric weight in the polynomial through
-- all of them.
CREATE OR REPLACE MACRO clustereval._octave_nodes() AS TABLE
  -- Nodes up to the middle of the range, with their weights.
  WITH lower AS (
    SELECT 64e0 AS position, 7.550920304032022e-2 AS weight
    UNION ALL SELECT 65e0, -2.2570919089395688e-1
    UNION ALL SELECT 67e0, 3.834671134173896e-1
    UNION ALL SELECT 70e0, -6.282488628979858e-1
    UNION ALL SELECT 73e0, 7.278610797954952e-1
    UNION ALL SELECT 78e0, -8.633774124595349e-1
    UNION ALL SELECT 82e0, 9.382122486396819e-1
    UNION ALL SELECT 88e0, -9.425460406643202e-1
    UNION ALL SELECT 93e0, 1e0
  )
  SELECT position, weight FROM lower
  UNION ALL
  -- The upper half mirrors the lower half.
  SELECT 192.0 - position, -weight FROM lower;

-- Sizes of labels and clusters, with the sizes that stand for them: partition_key, is_label, size
-- (rows), multiplicity, node and share. A sum of a smooth function over the sizes is the sum over
-- the nodes, times share. In each range 64 .. 128, 128 .. 256, ... with more than 32 sizes of a
-- partition and side, 18 whole numbers replace the sizes, with shares that give the same value of
-- any polynomial of degree 17, and the same terms of the expected mutual information to 1e-14. Any
-- other size is its own node. In both tables, a row stands for copies labels or clusters.
CREATE OR REPLACE MACRO clustereval._size_nodes(label_sizes, cluster_sizes) AS TABLE
  -- Sizes of labels and of clusters in one column.
  WITH all_sizes AS (
    SELECT partition_key, TRUE AS is_label, label_size AS size, copies
    FROM query_table(label_sizes)
    UNION ALL
    SELECT partition_key, FALSE, cluster_size, copies
    FROM query_table(cluster_sizes)
  ),
  -- Distinct sizes with their numbers of labels or clusters.
  size_counts AS (
    SELECT partition_key, is_label, size, CAST(SUM(copies) AS DOUBLE) AS multiplicity
    FROM all_sizes
    GROUP BY partition_key, is_label, size
  ),
  -- Sizes with the unit of their octave, which is 0 for sizes below 64.
  octaves AS (
    SELECT
      *,
      CASE
        WHEN size < 64 THEN 0.0
        ELSE clustereval._power_of_2(FLOOR(LN(size + 0.5) / LN(2.0)) - 6.0)
      END AS unit
    FROM size_counts
  ),
  -- Sizes with the number of sizes in their octave.
  octave_counts AS (
    SELECT
      *,
      COUNT(*) OVER (PARTITION BY partition_key, is_label, unit) AS octave_sizes
    FROM octaves
  ),
  -- Weights of the nodes that replace the sizes of an octave with many sizes.
  node_weights AS (
    SELECT
      partition_key, is_label, size, multiplicity, unit, position,
      -- If a size equals a node, that node gets all the weight, because the other nodes get 1e30
      -- times less.
      weight / CASE
        WHEN size / unit = position THEN 1e-30
        ELSE size / unit - position
      END AS node_weight
    FROM octave_counts
    CROSS JOIN clustereval._octave_nodes() AS nodes
    WHERE unit > 0 AND octave_sizes > 32
  )
  SELECT partition_key, is_label, size, multiplicity, size AS node, 1.0 AS share
  FROM octave_counts
  WHERE unit = 0 OR octave_sizes <= 32
  UNION ALL
  SELECT
    partition_key,
    is_label,
    size,
    multiplicity,
    CAST(position * unit AS BIGINT),
    node_weight / SUM(node_weight) OVER (PARTITION BY partition_key, is_label, size)
  FROM node_weights;

-- The sizes that stand for all sizes of labels and clusters: partition_key, is_label, size and
-- multiplicity, a real number. They bound the number of pairs of sizes.
CREATE OR REPLACE MACRO clustereval._reduced_sizes(size_nodes) AS TABLE
  SELECT partition_key, is_label, node AS size, SUM(multiplicity * share) AS multiplicity
  FROM query_table(size_nodes)
  GROUP BY partition_key, is_label, node;

-- One row per distinct pair of sizes and node of its sum: stride, x1, the overlap at the node, and
-- d, its difference from the expected overlap.
CREATE OR REPLACE MACRO clustereval._overlap_nodes(distinct_pairs) AS TABLE
  -- Pairs of sizes with the range and the center of their overlaps.
  WITH centers AS (
    SELECT
      *,
      clustereval._overlap_deviation(n, a, b) AS deviation,
      GREATEST(0.0, a + b - n) AS least,
      LEAST(a, b) AS most,
      clustereval._central_overlap(n, a, b) AS center
    FROM query_table(distinct_pairs)
  ),
  -- Pairs of sizes with the numbers of nodes below and above the center.
  plans AS (
    SELECT
      *,
      clustereval._overlap_sum_stride(deviation) AS stride,
      clustereval._count_overlap_nodes(deviation, center - least) AS below,
      clustereval._count_overlap_nodes(deviation, most - center) AS above,
      clustereval._central_overlap_offset(center, n, a, b) AS center_offset
    FROM centers
  ),
  -- The digits of numbers to the base 12.
  digits AS (
    SELECT 0 AS digit UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
    UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7
    UNION ALL SELECT 8 UNION ALL SELECT 9 UNION ALL SELECT 10 UNION ALL SELECT 11
  ),
  -- The numbers from 0 to 143, since a sum has fewer nodes than 143.
  numbers AS (
    SELECT CAST(12 * high.digit + low.digit AS BIGINT) AS node
    FROM digits AS high
    CROSS JOIN digits AS low
  ),
  -- The numbers of the nodes, for each number of nodes.
  ranges AS (
    SELECT counts.node AS n_nodes, numbers.node
    FROM numbers AS counts
    JOIN numbers ON numbers.node < counts.node
  )
  SELECT
    n, a, b, stride,
    center + stride * (node - below) AS x1,
    stride * (node - below) + center_offset AS d
  FROM plans
  JOIN ranges ON ranges.n_nodes = CAST(below + above + 1 AS BIGINT);

-- The nodes of each pair of sizes with their weights: the columns of _overlap_nodes; weight, the
-- probability of the node up to a factor; d1, the deviance of x1; and v1, va and vb, relative
-- differences. Each stage has only the columns that later stages need, since every column takes
-- time.
CREATE OR REPLACE MACRO clustereval._overlap_weights(nodes) AS TABLE
  -- Overlaps x1 to x4 of the 2 x 2 table at each node, and their means m1 to m4.
  WITH tables AS (
    SELECT
      n, a, b, stride, x1, d,
      a - x1 AS x2,
      b - x1 AS x3,
      n - a - b + x1 AS x4,
      a * b / n AS m1,
      a * (n - b) / n AS m2,
      b * (n - a) / n AS m3,
      (n - a) * (n - b) / n AS m4
    FROM query_table(nodes)
  ),
  -- Relative differences v1 to v4 of the overlaps from their means.
  relative_differences AS (
    SELECT
      *,
      clustereval._relative_difference(d, x1, m1) AS v1,
      clustereval._relative_difference(-d, x2, m2) AS v2,
      clustereval._relative_difference(-d, x3, m3) AS v3,
      clustereval._relative_difference(d, x4, m4) AS v4,
      -- For the logarithms of a / x1 and b / x1, which are used if the stride is 1.
      CASE WHEN stride = 1 AND x1 > 0 THEN x2 / (a + x1) ELSE 0.0 END AS va,
      CASE WHEN stride = 1 AND x1 > 0 THEN x3 / (b + x1) ELSE 0.0 END AS vb
    FROM tables
  ),
  -- Deviances d1 to d4 of the overlaps from their means.
  deviances AS (
    SELECT
      n, a, b, stride, x1, x2, x3, x4, v1, va, vb,
      clustereval._deviance(x1, m1, d, v1) AS d1,
      clustereval._deviance(x2, m2, -d, v2) AS d2,
      clustereval._deviance(x3, m3, -d, v3) AS d3,
      clustereval._deviance(x4, m4, d, v4) AS d4
    FROM relative_differences
  )
  SELECT
    n, a, b, stride, x1, v1, va, vb, d1,
    clustereval._overlap_weight(x1, x2, x3, x4, d1, d2, d3, d4) AS weight
  FROM deviances;

-- One row per distinct pair of sizes: n, a, b, and one such pair's terms of the expectations: emi,
-- expected_label_entropy_given_cluster and expected_cluster_entropy_given_label. nodes: rows of
-- _overlap_nodes.
CREATE OR REPLACE MACRO clustereval._pair_expectations(nodes) AS TABLE
  -- Sums over the nodes of each pair of sizes.
  WITH pair_sums AS (
    SELECT
      n,
      a,
      b,
      MAX(stride) AS stride,
      SUM(weight) * n AS weight_sum,
      SUM(weight * d1) AS emi,
      SUM(weight * x1 * clustereval._log_ratio_at(b, x1, vb))
        AS expected_label_entropy_given_cluster,
      SUM(weight * x1 * clustereval._log_ratio_at(a, x1, va))
        AS expected_cluster_entropy_given_label
    FROM clustereval._overlap_weights(nodes)
    -- Always true. The condition keeps DuckDB 2 from pulling all stages into one expression below
    -- the join, which takes twice as long; it is evaluated twice, so it uses an early stage.
    WHERE v1 > -2
    GROUP BY n, a, b
  )
  -- With a stride, the conditional entropies follow from emi and the entropies of the sizes.
  SELECT
    n,
    a,
    b,
    emi / weight_sum AS emi,
    CASE
      WHEN stride > 1
      THEN clustereval._independent_entropy_term(n, a, b)
        - emi / weight_sum
      ELSE expected_label_entropy_given_cluster / weight_sum
    END AS expected_label_entropy_given_cluster,
    CASE
      WHEN stride > 1
      THEN clustereval._independent_entropy_term(n, b, a)
        - emi / weight_sum
      ELSE expected_cluster_entropy_given_label / weight_sum
    END AS expected_cluster_entropy_given_label
  FROM pair_sums;

-- One row per partition with its information expected by chance: emi and both conditional entropies
-- expected for random labelings of the same sizes, in nats. A row of label_sizes or cluster_sizes
-- stands for copies labels or clusters.
CREATE OR REPLACE MACRO clustereval._expected_totals(
  row_counts, label_sizes, cluster_sizes
) AS TABLE
  WITH size_nodes AS (SELECT * FROM clustereval._size_nodes(label_sizes, cluster_sizes)),
  sizes AS (SELECT * FROM clustereval._reduced_sizes(size_nodes)),
  -- Pairs of a label size and a cluster size, with how often a partition has them.
  size_pairs AS NOT MATERIALIZED (
    SELECT
      counts.partition_key,
      CAST(counts.total AS DOUBLE) AS n,
      CAST(labels.size AS DOUBLE) AS a,
      CAST(clusters.size AS DOUBLE) AS b,
      labels.multiplicity * clusters.multiplicity AS multiplicity
    FROM query_table(row_counts) AS counts
    JOIN sizes AS labels ON labels.partition_key IS NOT DISTINCT FROM counts.partition_key
    JOIN sizes AS clusters ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
    WHERE labels.is_label AND NOT clusters.is_label
  ),
  -- The distinct pairs of sizes. Partitions share most of their pairs of sizes, whose terms are
  -- computed once for all.
  distinct_pairs AS (
    SELECT DISTINCT n, a, b
    FROM size_pairs
  ),
  nodes AS (SELECT * FROM clustereval._overlap_nodes(distinct_pairs))
  SELECT
    pairs.partition_key,
    clustereval._compensated_sum(pairs.multiplicity * terms.emi) AS emi,
    clustereval._compensated_sum(pairs.multiplicity * terms.expected_label_entropy_given_cluster)
      AS expected_label_entropy_given_cluster,
    clustereval._compensated_sum(pairs.multiplicity * terms.expected_cluster_entropy_given_label)
      AS expected_cluster_entropy_given_label
  FROM size_pairs AS pairs
  JOIN clustereval._pair_expectations(nodes) AS terms
    ON terms.n = pairs.n
    AND terms.a = pairs.a
    AND terms.b = pairs.b
  GROUP BY pairs.partition_key;

-- The influence of one row on the expected mutual information, as the sum of a part for its label
-- and a part for its cluster: partition_key, is_label, size and influence, the part of a label or
-- cluster of this size. It is the number of rows n times the change of emi if the row leaves the
-- label, of size a. The overlap x with a cluster then decreases by 1 with probability x / a, so the
-- change is the sum over the clusters of E[x (ln(x n / (a b)) + t(x) - t(a))] / (a n), where t is
-- _last_row_term.
CREATE OR REPLACE MACRO clustereval._expected_influences(
  row_counts, label_sizes, cluster_sizes
) AS TABLE
  WITH size_nodes AS (SELECT * FROM clustereval._size_nodes(label_sizes, cluster_sizes)),
  sizes AS (SELECT * FROM clustereval._reduced_sizes(size_nodes)),
  -- Pairs of a label size and a cluster size, with the numbers of labels and of clusters.
  size_pairs AS NOT MATERIALIZED (
    SELECT
      counts.partition_key,
      CAST(counts.total AS DOUBLE) AS n,
      CAST(labels.size AS DOUBLE) AS a,
      CAST(clusters.size AS DOUBLE) AS b,
      labels.multiplicity AS n_labels,
      clusters.multiplicity AS n_clusters
    FROM query_table(row_counts) AS counts
    JOIN sizes AS labels ON labels.partition_key IS NOT DISTINCT FROM counts.partition_key
    JOIN sizes AS clusters ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
    WHERE labels.is_label AND NOT clusters.is_label
  ),
  -- The distinct pairs of sizes, which the partitions share.
  distinct_pairs AS (
    SELECT DISTINCT n, a, b
    FROM size_pairs
  ),
  nodes AS (SELECT * FROM clustereval._overlap_nodes(distinct_pairs)),
  -- Means of x (ln(x n / (a b)) + t(x)) for each pair of sizes.
  pair_means AS (
    SELECT
      n,
      a,
      b,
      SUM(weight * (d1 + x1 * clustereval._last_row_term(GREATEST(x1, 1.0)))) / SUM(weight)
        AS pair_mean
    FROM clustereval._overlap_weights(nodes)
    -- As in _pair_expectations.
    WHERE v1 > -2
    GROUP BY n, a, b
  ),
  terms AS (
    SELECT pairs.*, means.pair_mean
    FROM size_pairs AS pairs
    JOIN pair_means AS means ON means.n = pairs.n AND means.a = pairs.a AND means.b = pairs.b
  ),
  -- Sums over the clusters for each label size, and over the labels for each cluster size.
  node_sums AS (
    SELECT partition_key, TRUE AS is_label, a AS node, SUM(n_clusters * pair_mean) AS node_sum
    FROM terms
    GROUP BY partition_key, a
    UNION ALL
    SELECT partition_key, FALSE, b, SUM(n_labels * pair_mean)
    FROM terms
    GROUP BY partition_key, b
  )
  SELECT
    size_nodes.partition_key,
    size_nodes.is_label,
    size_nodes.size,
    SUM(size_nodes.share * node_sums.node_sum) / size_nodes.size
      - clustereval._last_row_term(size_nodes.size) AS influence
  FROM size_nodes
  JOIN node_sums
    ON node_sums.partition_key IS NOT DISTINCT FROM size_nodes.partition_key
    AND node_sums.is_label = size_nodes.is_label
    AND node_sums.node = size_nodes.node
  GROUP BY size_nodes.partition_key, size_nodes.is_label, size_nodes.size;

---------------------------------------------------------------------------------------------------
-- Aggregates. The stages of _expected_totals for one pair of sizes, as structs: a plan, the tables
-- at its nodes, their deviances, and their terms.
---------------------------------------------------------------------------------------------------

-- Sum of one field over a list of structs, with Kahan's correction; field is its name, a text.
CREATE OR REPLACE MACRO clustereval._sum_of_field(structs, field) AS
  clustereval._compensated_list_sum(
    list_transform(structs, lambda __ce_struct: __ce_struct[field])
  );

-- The distinct sizes in a histogram, as a list of {size, multiplicity}.
CREATE OR REPLACE MACRO clustereval._size_count_list(counts) AS
  list_transform(
    map_entries(list_aggregate(clustereval._histogram_sizes(counts), 'histogram')),
    lambda __ce_entry: {
      'size': __ce_entry['key'], 'multiplicity': CAST(__ce_entry['value'] AS DOUBLE)
    }
  );

-- How _size_pair_terms evaluates the sum over the overlaps of a label and a cluster: {n, a, b,
-- multiplicity, center, stride, below, above, offset}. Around the overlap center, `below` smaller
-- and `above` larger ones are taken in steps of stride. offset is center - a b / n.
CREATE OR REPLACE MACRO clustereval._size_pair_plan(
  total, label_size, cluster_size, multiplicity
) AS
  list_transform(
    [{
      'n': CAST(total AS DOUBLE),
      'a': CAST(label_size AS DOUBLE),
      'b': CAST(cluster_size AS DOUBLE),
      'deviation': clustereval._overlap_deviation(
        CAST(total AS DOUBLE), CAST(label_size AS DOUBLE), CAST(cluster_size AS DOUBLE)
      ),
      'center': clustereval._central_overlap(
        CAST(total AS DOUBLE), CAST(label_size AS DOUBLE), CAST(cluster_size AS DOUBLE)
      )
    }],
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

-- The 2 x 2 tables at the overlaps of a struct of _size_pair_plan: a list of {d, x1 .. x4, m1 ..
-- m4}, counts and their means under random labeling; d = x1 - m1, exactly.
CREATE OR REPLACE MACRO clustereval._node_tables(pair) AS
  list_transform(
    list_transform(
      range(-CAST(pair['below'] AS BIGINT), CAST(pair['above'] AS BIGINT) + 1),
      lambda __ce_node: {
        'x1': pair['center'] + pair['stride'] * __ce_node,
        'd': pair['stride'] * __ce_node + pair['offset']
      }
    ),
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
  );

-- The list of _node_tables with the deviances d1 .. d4 in place of the means. v1 .. v4 are the
-- relative differences, which _deviance reads often and which are computed once.
CREATE OR REPLACE MACRO clustereval._node_deviances(tables) AS
  list_transform(
    list_transform(
      tables,
      lambda __ce_node: {
        'table': __ce_node,
        'v1': clustereval._relative_difference(__ce_node['d'], __ce_node['x1'], __ce_node['m1']),
        'v2': clustereval._relative_difference(-__ce_node['d'], __ce_node['x2'], __ce_node['m2']),
        'v3': clustereval._relative_difference(-__ce_node['d'], __ce_node['x3'], __ce_node['m3']),
        'v4': clustereval._relative_difference(__ce_node['d'], __ce_node['x4'], __ce_node['m4'])
      }
    ),
    lambda __ce_node: {
      'x1': __ce_node['table']['x1'],
      'x2': __ce_node['table']['x2'],
      'x3': __ce_node['table']['x3'],
      'x4': __ce_node['table']['x4'],
      'd1': clustereval._deviance(
        __ce_node['table']['x1'], __ce_node['table']['m1'], __ce_node['table']['d'],
        __ce_node['v1']
      ),
      'd2': clustereval._deviance(
        __ce_node['table']['x2'], __ce_node['table']['m2'], -__ce_node['table']['d'],
        __ce_node['v2']
      ),
      'd3': clustereval._deviance(
        __ce_node['table']['x3'], __ce_node['table']['m3'], -__ce_node['table']['d'],
        __ce_node['v3']
      ),
      'd4': clustereval._deviance(
        __ce_node['table']['x4'], __ce_node['table']['m4'], __ce_node['table']['d'],
        __ce_node['v4']
      )
    }
  );

-- List of the terms {weight, emi, ehl, ehc} at the overlaps x1 of a struct of _size_pair_plan:
-- weight is the probability of x1 up to a factor; the others are weight times the deviance, x1 ln(b
-- / x1) and x1 ln(a / x1). With a stride above 1, ehl and ehc are 0: _size_pair_terms computes
-- their sums from emi.
CREATE OR REPLACE MACRO clustereval._node_terms(pair) AS
  list_transform(
    list_transform(
      clustereval._node_deviances(clustereval._node_tables(pair)),
      lambda __ce_node: {
        'x1': __ce_node['x1'],
        'd1': __ce_node['d1'],
        'weight': clustereval._overlap_weight(
          __ce_node['x1'], __ce_node['x2'], __ce_node['x3'], __ce_node['x4'],
          __ce_node['d1'], __ce_node['d2'], __ce_node['d3'], __ce_node['d4']
        )
      }
    ),
    lambda __ce_node: {
      'weight': __ce_node['weight'],
      'emi': __ce_node['weight'] * __ce_node['d1'],
      'ehl': CASE
        WHEN pair['stride'] > 1 OR __ce_node['x1'] = 0 THEN 0.0
        ELSE __ce_node['weight'] * __ce_node['x1']
          * clustereval._log_ratio(pair['b'], __ce_node['x1'])
      END,
      'ehc': CASE
        WHEN pair['stride'] > 1 OR __ce_node['x1'] = 0 THEN 0.0
        ELSE __ce_node['weight'] * __ce_node['x1']
          * clustereval._log_ratio(pair['a'], __ce_node['x1'])
      END
    }
  );

-- {emi, ehl, ehc}: what all pairs of a label and a cluster with the sizes of a struct of
-- _size_pair_plan contribute to the expectations.
CREATE OR REPLACE MACRO clustereval._size_pair_terms(pair) AS
  list_transform(
    list_transform(
      [clustereval._node_terms(pair)],
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

-- {emi, ehl, ehc}, the expectations for random labelings of the same sizes, in nats. labels and
-- clusters are the maps of _histograms.
CREATE OR REPLACE MACRO clustereval._expected_of_sizes(total, labels, clusters) AS
  list_transform(
    list_transform(
      [{
        'labels': clustereval._size_count_list(labels),
        'clusters': clustereval._size_count_list(clusters)
      }],
      lambda __ce_counts: list_transform(
        flatten(list_transform(
          __ce_counts['labels'],
          lambda __ce_label: list_transform(
            __ce_counts['clusters'],
            lambda __ce_cluster: clustereval._size_pair_plan(
              total, __ce_label['size'], __ce_cluster['size'],
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

-- Aggregate: the struct of _expected_of_sizes.
CREATE OR REPLACE MACRO clustereval._expected_statistics(label, cluster) AS
  list_transform(
    [clustereval._histograms(label, cluster)],
    lambda __ce_histograms: clustereval._expected_of_sizes(
      clustereval._histogram_total(__ce_histograms['cells']),
      __ce_histograms['labels'], __ce_histograms['clusters']
    )
  )[1];

-- Mutual information expected of random labelings.
CREATE OR REPLACE MACRO clustereval._expected_mutual_info(emi) AS emi;
