-- neighborhoods: scores of clusters from a table of the nearest neighbors of each id.
--
--   * The table of neighbors has a row for each id (`left`) and neighbor (`right`), with their
--     distance. A row whose two ids are the same is left out, because no id is its own neighbor.
--     Rows with the same id and neighbor count as one, with the smallest distance. A row with an
--     end in no cluster is left out, and counted.
--   * The numbers of the nodes are in the order of the ids, so they break ties of distances.
--   * The edges of the graph of neighbors have no direction: two nodes are joined if one is a
--     neighbor of the other.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- Text for _check_options, or the error of an option of the tables of neighborhoods.
CREATE OR REPLACE MACRO clustereval._valid_neighborhood_options(noise, noise_as, perplexity) AS
  CASE
    WHEN perplexity IS NOT NULL AND NOT coalesce(
      TRY_CAST(perplexity AS DOUBLE) >= 1 AND isfinite(TRY_CAST(perplexity AS DOUBLE)), FALSE
    )
    THEN error(concat(
      'perplexity: expected a number >= 1, got ', clustereval._show_value(perplexity)
    ))
    ELSE clustereval._valid_graph_options(noise, noise_as, 1, 0)
  END;

-- TRUE if x, the distance of a neighbor, is a finite number >= 0.
CREATE OR REPLACE MACRO clustereval._is_distance(x) AS
  coalesce(TRY_CAST(x AS DOUBLE) >= 0 AND isfinite(TRY_CAST(x AS DOUBLE)), FALSE);

---------------------------------------------------------------------------------------------------
-- Nodes and neighbors
---------------------------------------------------------------------------------------------------

-- The rows of _graph_ids, numbered in the order of the ids. The numbers are short, because many
-- neighbors have one.
CREATE OR REPLACE MACRO clustereval._neighborhood_ids(
  tbl, id, cluster, neighbors, "left", "right", distance, partition_by, noise
) AS TABLE
  SELECT * REPLACE (CAST(row_number() OVER (ORDER BY ids.id ASC NULLS LAST) AS INTEGER) AS node)
  FROM clustereval._graph_ids(
    tbl, id, cluster, neighbors, "left", "right", distance, partition_by, noise,
    weight_name := 'distance', edge_name := 'neighbors'
  ) AS ids;

-- One row per edge between a node, low, and the same or a higher node, high: partition_key; low and
-- high; low_cluster and high_cluster; n_low and low_distance, the rows in which high is a neighbor
-- of low, and the smallest distance in these; and n_high and high_distance, the same for the rows
-- in which low is a neighbor of high. high is NULL in one row per node for the rows whose neighbor
-- has no cluster; low is also NULL in one row per partition for those whose id has none. One GROUP
-- BY of all rows, for the neighbors and for the edges, takes half of the time of two.
CREATE OR REPLACE MACRO clustereval._neighbor_edges(
  nodes, tbl, id, neighbors, "left", "right", distance, partition_by
) AS TABLE
  WITH __ce_ends AS (
    SELECT
      partition_by AS __ce_partition, "left" AS __ce_left, "right" AS __ce_right,
      CASE WHEN clustereval._is_distance(distance) THEN TRY_CAST(distance AS DOUBLE) END
        AS __ce_distance
    FROM query_table(clustereval._check_table_name(neighbors))
    UNION ALL
    SELECT partition_by, id, id, NULL FROM query_table(tbl) WHERE FALSE
  ),
  joined AS (
    SELECT
      ends.__ce_partition AS partition_key,
      CASE WHEN one.node > two.node THEN two.node ELSE one.node END AS low,
      CASE WHEN one.node > two.node THEN one.node WHEN one.node IS NOT NULL THEN two.node END
        AS high,
      CASE WHEN one.node > two.node THEN two.cluster_no ELSE one.cluster_no END AS low_cluster,
      CASE
        WHEN one.node > two.node THEN one.cluster_no WHEN one.node IS NOT NULL THEN two.cluster_no
      END AS high_cluster,
      COALESCE(one.node <= two.node, TRUE) AS is_of_low,
      ends.__ce_distance AS length
    FROM __ce_ends AS ends
    LEFT JOIN query_table(nodes) AS one
      ON one.partition_key IS NOT DISTINCT FROM ends.__ce_partition
      AND one.id = ends.__ce_left
    LEFT JOIN query_table(nodes) AS two
      ON two.partition_key IS NOT DISTINCT FROM ends.__ce_partition
      AND two.id = ends.__ce_right
  )
  SELECT
    partition_key, low, high, low_cluster, high_cluster,
    MIN(CASE WHEN is_of_low THEN length END) AS low_distance,
    MIN(CASE WHEN NOT is_of_low THEN length END) AS high_distance,
    CAST(COUNT(CASE WHEN is_of_low THEN 1 END) AS INTEGER) AS n_low,
    CAST(COUNT(CASE WHEN NOT is_of_low THEN 1 END) AS INTEGER) AS n_high
  FROM joined
  GROUP BY partition_key, low, high, low_cluster, high_cluster;

-- One row per node and neighbor of the edges, with n_rows, its rows, and distance, NULL without the
-- column. node and neighbor are NULL as low and high are. The edges are read once, since they may
-- be on disk.
CREATE OR REPLACE MACRO clustereval._neighbor_pairs(edges) AS TABLE
  SELECT
    edge.partition_key,
    CASE WHEN side.is_low THEN edge.low ELSE edge.high END AS node,
    CASE WHEN side.is_low THEN edge.high ELSE edge.low END AS neighbor,
    CASE WHEN side.is_low THEN edge.low_cluster ELSE edge.high_cluster END AS own_cluster,
    CASE WHEN side.is_low THEN edge.high_cluster ELSE edge.low_cluster END AS other_cluster,
    CASE WHEN side.is_low THEN edge.low_distance ELSE edge.high_distance END AS distance,
    CASE WHEN side.is_low THEN edge.n_low ELSE edge.n_high END AS n_rows
  FROM query_table(edges) AS edge
  CROSS JOIN (VALUES (TRUE), (FALSE)) AS side (is_low)
  WHERE CASE WHEN side.is_low THEN edge.n_low ELSE edge.n_high END > 0;

-- The edges between two different nodes, in the form of _graph_edges, with weight 1.
CREATE OR REPLACE MACRO clustereval._neighbor_graph(edges) AS TABLE
  SELECT
    partition_key, low, high, low_cluster, high_cluster, 1.0::DOUBLE AS weight,
    CAST(n_low + n_high AS BIGINT) AS n_rows, CAST(NULL AS VARCHAR) AS stranger
  FROM query_table(edges)
  WHERE low <> high;

-- One row per node with an id in the table of neighbors, and one with node NULL per partition with
-- other ids: partition_key, node, own_cluster, n_neighbors, n_same (neighbors in its cluster),
-- has_distances, and the rows n_dropped_neighbors, n_self and n_repeated.
CREATE OR REPLACE MACRO clustereval._neighbor_counts(edges) AS TABLE
  WITH pairs AS (SELECT * FROM clustereval._neighbor_pairs(edges))
  SELECT
    partition_key,
    node,
    own_cluster,
    CAST(COUNT(CASE WHEN neighbor <> node THEN 1 END) AS BIGINT) AS n_neighbors,
    CAST(COUNT(CASE WHEN neighbor <> node AND other_cluster = own_cluster THEN 1 END) AS BIGINT)
      AS n_same,
    MIN(distance) IS NOT NULL AS has_distances,
    CAST(SUM(CASE WHEN neighbor IS NULL THEN n_rows ELSE 0 END) AS BIGINT) AS n_dropped_neighbors,
    CAST(SUM(CASE WHEN neighbor = node THEN n_rows ELSE 0 END) AS BIGINT) AS n_self,
    CAST(SUM(CASE WHEN neighbor <> node THEN n_rows - 1 ELSE 0 END) AS BIGINT) AS n_repeated
  FROM pairs
  GROUP BY partition_key, node, own_cluster;

-- One row, valid = TRUE. Raises an error about the first row whose distance is not a finite number
-- >= 0, or if no row joins two nodes although there are both nodes and ends that are in no cluster.
-- The ends are read only if no row joins two nodes.
CREATE OR REPLACE MACRO clustereval._check_neighbors(
  nodes, counts, neighbors, "left", "right", distance, partition_by
) AS TABLE
  WITH __ce_faults AS (
    SELECT
      "left" AS __ce_left, "right" AS __ce_right, TRY_CAST(distance AS DOUBLE) AS __ce_distance,
      concat('', alias(distance)) AS __ce_text
    FROM query_table(neighbors)
    WHERE NOT clustereval._is_left_out(distance) AND NOT clustereval._is_distance(distance)
    ORDER BY __ce_left ASC NULLS LAST, __ce_right ASC NULLS LAST, __ce_distance ASC NULLS LAST
    LIMIT 1
  ),
  __ce_sums AS (
    SELECT
      SUM(n_neighbors + n_repeated + n_self + n_dropped_neighbors) AS n,
      SUM(n_neighbors + n_self) AS n_joined
    FROM query_table(counts)
  ),
  __ce_unjoined AS (SELECT n AS __ce_n FROM __ce_sums WHERE n_joined = 0),
  __ce_ends AS (
    SELECT partition_by AS __ce_partition, "left" AS __ce_end
    FROM query_table(neighbors)
    CROSS JOIN __ce_unjoined
    UNION ALL
    SELECT partition_by, "right" FROM query_table(neighbors) CROSS JOIN __ce_unjoined
  ),
  strangers AS (
    SELECT MIN(CAST(ends.__ce_end AS VARCHAR)) AS stranger
    FROM __ce_ends AS ends
    LEFT JOIN (SELECT * FROM query_table(nodes) CROSS JOIN __ce_unjoined) AS node
      ON node.partition_key IS NOT DISTINCT FROM ends.__ce_partition
      AND node.id = ends.__ce_end
    WHERE node.node IS NULL
  ),
  known AS (SELECT MIN(id) AS id FROM query_table(nodes))
  SELECT
    CASE
      WHEN starts_with(fault.__ce_text, '''')
      THEN error(concat(
        'distance: expected a column, got the quoted string ', fault.__ce_text,
        '; write it without quotes'
      ))
      WHEN fault.__ce_text IS NOT NULL
      THEN error(concat(
        'distance: expected finite numbers >= 0, got ',
        clustereval._show_value(fault.__ce_distance), ' for ',
        clustereval._show_value(fault.__ce_left), ' and ',
        clustereval._show_value(fault.__ce_right),
        '; leave out neighbors without a distance, or give them one'
      ))
      ELSE clustereval._check_joined(
        TRUE, sums.n_joined, sums.n, known.id, strangers.stranger, 'neighbors',
        'ids with a cluster'
      )
    END AS valid
  FROM __ce_sums AS sums
  CROSS JOIN known
  CROSS JOIN strangers
  LEFT JOIN __ce_faults AS fault ON TRUE;

---------------------------------------------------------------------------------------------------
-- Kernel of the local inverse Simpson index
---------------------------------------------------------------------------------------------------

-- The entropy of the weights exp(-beta x) of a list x.
CREATE OR REPLACE MACRO clustereval._weight_entropy(x, beta) AS
  ln(list_sum(list_transform(x, lambda v: exp(-beta * v))))
  + beta * list_sum(list_transform(x, lambda v: v * exp(-beta * v)))
  / list_sum(list_transform(x, lambda v: exp(-beta * v)));

-- The rows of starts (node, clusters, x, squares, entropy, limit_beta, beta) after a step of
-- Newton's method for ln beta. The derivative of the entropy is -beta^2 times the variance of x.
CREATE OR REPLACE MACRO clustereval._newton_step(starts) AS TABLE
  WITH weighted AS (
    SELECT *, list_transform(x, lambda v: exp(-beta * v)) AS weights FROM query_table(starts)
  ),
  sums AS (
    SELECT
      * EXCLUDE (weights),
      list_sum(weights) AS total,
      list_dot_product(x, weights) / list_sum(weights) AS mean,
      list_dot_product(squares, weights) / list_sum(weights) AS mean_square
    FROM weighted
  ),
  slopes AS (
    SELECT
      * EXCLUDE (total, mean, mean_square),
      (ln(total) + beta * mean - entropy)
      / NULLIF(beta * beta * (mean_square - mean * mean), 0) AS step
    FROM sums
  )
  SELECT
    * EXCLUDE (step) REPLACE (beta * exp(LEAST(GREATEST(step, -2.0), 2.0)) AS beta)
  FROM slopes;

-- The beta at which the entropy of the weights exp(-beta x) is `entropy`, by bisection of ln beta,
-- for the few lists for which Newton's method does not converge.
CREATE OR REPLACE MACRO clustereval._bisect_beta(x, entropy) AS
  exp(list_reduce(
    list_transform(range(80), lambda i: [CAST(-21 AS DOUBLE), CAST(708 AS DOUBLE)]),
    lambda ends, other: CASE
      WHEN clustereval._weight_entropy(x, exp((ends[1] + ends[2]) / 2)) > entropy
      THEN [(ends[1] + ends[2]) / 2, ends[2]]
      ELSE [ends[1], (ends[1] + ends[2]) / 2]
    END
  )[1]);

-- One row per node of lists (node, clusters, distances): node, clusters, and the weights exp(-beta
-- d) of the neighbors, whose entropy is the logarithm of the perplexity. The distances are moved
-- and scaled to x from 0 to 1. If at least as many neighbors as the perplexity are nearest, only
-- these have a weight; if there are no more neighbors than the perplexity, all have the same.
CREATE OR REPLACE MACRO clustereval._neighbor_weights(lists, perplexity) AS TABLE
  WITH scales AS (
    SELECT
      node, clusters, distances,
      list_min(distances) AS least,
      NULLIF(list_max(distances) - list_min(distances), 0) AS width,
      COALESCE(CAST(perplexity AS DOUBLE), GREATEST(len(distances) // 3, 1)) AS perplexity
    FROM query_table(lists)
  ),
  scaled AS (
    SELECT
      node, clusters, scales.perplexity,
      list_transform(distances, lambda d: COALESCE((d - least) / width, 0.0)) AS x
    FROM scales
  ),
  starts AS (
    SELECT
      node, clusters, x,
      list_transform(x, lambda v: v * v) AS squares,
      ln(scaled.perplexity) AS entropy,
      CASE
        WHEN scaled.perplexity >= len(x) THEN 0.0
        WHEN len(list_filter(x, lambda v: v = 0)) >= scaled.perplexity THEN 1e308
      END AS limit_beta,
      -- The entropy is about ln k - beta^2 variance / 2.
      COALESCE(
        sqrt(2 * GREATEST(ln(len(x) / scaled.perplexity), 0.0) / NULLIF(list_var_pop(x), 0)), 1.0
      ) AS beta
    FROM scaled
  ),
  step_1 AS (SELECT * FROM clustereval._newton_step(starts)),
  step_2 AS (SELECT * FROM clustereval._newton_step(step_1)),
  step_3 AS (SELECT * FROM clustereval._newton_step(step_2)),
  step_4 AS (SELECT * FROM clustereval._newton_step(step_3)),
  step_5 AS (SELECT * FROM clustereval._newton_step(step_4)),
  step_6 AS (SELECT * FROM clustereval._newton_step(step_5)),
  step_7 AS (SELECT * FROM clustereval._newton_step(step_6)),
  solved AS (
    SELECT
      node, clusters, x,
      CASE
        WHEN limit_beta IS NOT NULL THEN limit_beta
        WHEN abs(clustereval._weight_entropy(x, beta) - entropy) <= 1e-14 THEN beta
        ELSE clustereval._bisect_beta(x, entropy)
      END AS beta
    FROM step_7
  )
  SELECT node, clusters, list_transform(x, lambda v: exp(-beta * v)) AS weights
  FROM solved;

---------------------------------------------------------------------------------------------------
-- Chi-square distribution
---------------------------------------------------------------------------------------------------

-- The complementary error function of z >= 0, by the midpoint rule with step 1/2 and the residue of
-- its poles, which is below the rounding error of the sum for z > 6.
CREATE OR REPLACE MACRO clustereval._erfc(z) AS
  z * exp(-z * z) / pi() * list_sum(list_transform(
    range(13), lambda i: exp(-pow(i + 0.5, 2) / 4) / (z * z + pow(i + 0.5, 2) / 4)
  ))
  + CASE WHEN z < 6 THEN 2 / (1 + exp(4 * pi() * z)) ELSE 0 END;

-- The probability that a chi-square statistic with `freedom` degrees of freedom, a whole number >=
-- 1, is above x >= 0, by the finite sum for half of a whole number.
CREATE OR REPLACE MACRO clustereval._chi_square_tail(x, freedom) AS
  CASE
    WHEN x <= 0 THEN 1.0
    ELSE clustereval._at_most_1(
      CASE WHEN freedom % 2 = 1 THEN clustereval._erfc(sqrt(x / 2)) ELSE 0 END
      + COALESCE(list_sum(list_transform(
        range(freedom // 2),
        lambda i: exp(
          (i + (freedom % 2) / 2.0) * ln(x / 2) - x / 2 - lgamma(i + (freedom % 2) / 2.0 + 1)
        )
      )), CASE WHEN x IS NOT NULL THEN 0 END)
    )
  END;

---------------------------------------------------------------------------------------------------
-- Scores of nodes
---------------------------------------------------------------------------------------------------

-- One row per cluster: partition_key, cluster, cluster_no, n, and n_points, n_clusters and least_n,
-- the size of the smallest cluster, of its partition.
CREATE OR REPLACE MACRO clustereval._neighborhood_sizes(nodes) AS TABLE
  WITH sizes AS (
    SELECT
      cluster_no, MIN(partition_key) AS partition_key, MIN(cluster) AS cluster,
      CAST(COUNT(*) AS BIGINT) AS n
    FROM query_table(nodes)
    GROUP BY cluster_no
  ),
  partitions AS (
    SELECT
      partition_key, CAST(SUM(n) AS BIGINT) AS n_points, CAST(COUNT(*) AS BIGINT) AS n_clusters,
      MIN(n) AS least_n
    FROM sizes
    GROUP BY partition_key
  )
  SELECT size.*, one.n_points, one.n_clusters, one.least_n
  FROM sizes AS size
  JOIN partitions AS one ON one.partition_key IS NOT DISTINCT FROM size.partition_key;

-- One row per mixed node, which has neighbors in other clusters: node; connectivity; squares, the
-- sum of the squared numbers of neighbors by cluster; weight and weight_squares, the same for the
-- weights of _neighbor_weights; balanced, the sum of 1 / size of the cluster over the neighbors;
-- and kbet_statistic.
CREATE OR REPLACE MACRO clustereval._mixed_neighborhoods(edges, counts, sizes, perplexity) AS TABLE
  WITH pairs AS (SELECT * FROM clustereval._neighbor_pairs(edges)),
  ranked AS (
    SELECT
      pair.node, pair.own_cluster, pair.other_cluster, pair.distance,
      row_number() OVER (
        PARTITION BY pair.node ORDER BY pair.distance ASC NULLS LAST, pair.neighbor ASC NULLS LAST
      ) AS rank
    FROM pairs AS pair
    SEMI JOIN (
      SELECT node FROM query_table(counts) WHERE n_same < n_neighbors
    ) AS mixed ON mixed.node = pair.node
    WHERE pair.neighbor <> pair.node
  ),
  -- Windows, because DuckDB holds the lists of a GROUP BY in memory.
  lists AS MATERIALIZED (
    SELECT node, clusters, distances, connectivity
    FROM (
      SELECT
        node,
        list(other_cluster) OVER own AS clusters,
        list(distance) OVER own AS distances,
        SUM(CASE WHEN other_cluster <> own_cluster AND distance IS NOT NULL THEN 1.0 / rank END)
          OVER own AS connectivity,
        row_number() OVER own AS place
      FROM ranked
      WINDOW own AS (PARTITION BY node)
    ) AS listed
    WHERE place = 1
  ),
  spread AS (
    SELECT
      node, len(clusters) AS n_neighbors,
      unnest(clusters) AS cluster_no, unnest(weights) AS weight
    FROM clustereval._neighbor_weights(lists, perplexity)
  ),
  cells AS (
    SELECT node, n_neighbors, cluster_no, COUNT(*) AS n, SUM(weight) AS weight
    FROM spread
    GROUP BY node, n_neighbors, cluster_no
  ),
  expected AS (
    SELECT
      cell.*,
      size.n AS size,
      size.n_points,
      cell.n_neighbors * CAST(size.n AS DOUBLE) / size.n_points AS mean
    FROM cells AS cell
    JOIN query_table(sizes) AS size ON size.cluster_no = cell.cluster_no
  ),
  sums AS (
    SELECT
      node,
      SUM(n * n) AS squares,
      SUM(weight) AS weight,
      SUM(weight * weight) AS weight_squares,
      SUM(n / CAST(size AS DOUBLE)) AS balanced,
      -- A cluster without a neighbor adds its mean.
      SUM(pow(n - mean, 2) / mean)
        + MIN(n_neighbors) * (MIN(n_points) - SUM(size)) / CAST(MIN(n_points) AS DOUBLE)
        AS kbet_statistic
    FROM expected
    GROUP BY node
  )
  SELECT list.connectivity, sums.*
  FROM lists AS list
  JOIN sums ON sums.node = list.node;

-- One row per node: node, the columns of neighborhood_samples, n_same, cluster_no, and
-- most_connectivity, the connectivity if no neighbor were in its cluster. The clusters of a
-- partition are at most 1000 if kbet_p_value is not NULL, because its sum has a term for every
-- second cluster. Many nodes have the same statistic, so its tail is computed for each value.
CREATE OR REPLACE MACRO clustereval._neighborhood_rows(
  nodes, counts, sizes, mixed_nodes, perplexity
) AS TABLE
  -- Always TRUE, but only once the mixed nodes are found: else DuckDB would build the hash tables
  -- of the joins before, and keep them in memory.
  WITH order_of_work AS (SELECT COUNT(*) >= 0 AS is_next FROM query_table(mixed_nodes)),
  own_nodes AS (SELECT * FROM query_table(nodes) WHERE (SELECT is_next FROM order_of_work)),
  own_counts AS (SELECT * FROM query_table(counts) WHERE (SELECT is_next FROM order_of_work)),
  joined AS MATERIALIZED (
    SELECT
      node.partition_key, node.id, node.cluster, node.node, node.cluster_no,
      size.n, size.n_points, size.n_clusters, size.least_n,
      COALESCE(one.n_neighbors, 0) AS n_neighbors,
      COALESCE(one.n_dropped_neighbors, 0) AS n_dropped_neighbors,
      COALESCE(one.n_same, 0) AS n_same,
      one.has_distances AND one.n_neighbors > 0 AS has_distances,
      mixed.* EXCLUDE (node, kbet_statistic),
      CASE
        WHEN one.n_neighbors > 0
        THEN COALESCE(
          mixed.kbet_statistic, one.n_neighbors * (size.n_points - size.n) / CAST(size.n AS DOUBLE)
        )
      END AS kbet_statistic
    FROM own_nodes AS node
    JOIN query_table(sizes) AS size ON size.cluster_no = node.cluster_no
    LEFT JOIN own_counts AS one ON one.node = node.node
    LEFT JOIN query_table(mixed_nodes) AS mixed ON mixed.node = node.node
  ),
  -- The statistic is largest if all neighbors are in the smallest cluster.
  limits AS (
    SELECT
      n_neighbors, n_points, least_n, n_clusters,
      clustereval._chi_square_tail(
        n_neighbors * (n_points / CAST(least_n AS DOUBLE) - 1), n_clusters - 1
      ) < 0.05 AS can_reject
    FROM (SELECT DISTINCT n_neighbors, n_points, least_n, n_clusters FROM joined) AS cases
    WHERE n_neighbors > 0 AND n_clusters BETWEEN 2 AND 1000
  ),
  tails AS (
    SELECT
      kbet_statistic, n_clusters,
      clustereval._chi_square_tail(kbet_statistic, n_clusters - 1) AS kbet_p_value
    FROM (SELECT DISTINCT kbet_statistic, n_clusters FROM joined) AS cases
    WHERE n_clusters BETWEEN 2 AND 1000
  )
  SELECT
    partition_key,
    id,
    cluster,
    node,
    cluster_no,
    one.n_neighbors,
    n_dropped_neighbors,
    n_same,
    clustereval._ratio(n_same, one.n_neighbors) AS neighbor_purity,
    CASE
      WHEN one.n_neighbors > 0
      THEN COALESCE(n_same / CAST(n AS DOUBLE) / balanced, 1.0)
    END AS balanced_purity,
    CASE
      WHEN one.n_neighbors > 0
      THEN COALESCE(CAST(one.n_neighbors * one.n_neighbors AS DOUBLE) / squares, 1.0)
    END AS inverse_simpson,
    -- With fewer than 6 neighbors, the default perplexity is 1, and so is lisi.
    CASE
      WHEN has_distances AND (perplexity IS NOT NULL OR one.n_neighbors >= 6)
      THEN COALESCE(weight * weight / weight_squares, 1.0)
    END AS lisi,
    one.kbet_statistic,
    CASE WHEN least.can_reject THEN tail.kbet_p_value END AS kbet_p_value,
    CASE WHEN has_distances THEN COALESCE(connectivity, 0.0) END AS connectivity,
    CASE
      WHEN has_distances
      THEN list_sum(list_transform(range(1, one.n_neighbors + 1), lambda rank: 1.0 / rank))
    END AS most_connectivity
  FROM joined AS one
  LEFT JOIN limits AS least
    ON least.n_neighbors = one.n_neighbors AND least.n_points = one.n_points
    AND least.least_n = one.least_n AND least.n_clusters = one.n_clusters
  LEFT JOIN tails AS tail
    ON tail.kbet_statistic = one.kbet_statistic AND tail.n_clusters = one.n_clusters;

---------------------------------------------------------------------------------------------------
-- Scores of clusters
---------------------------------------------------------------------------------------------------

-- A number of x, a whole number from 0 to 2^31, in no order of it: a different one for each x.
CREATE OR REPLACE MACRO clustereval._scatter(x) AS
  (CAST(x AS BIGINT) * 2654435761) % 4294967296;

-- One row per cluster: cluster_no, n_components (the parts of the graph of neighbors within the
-- cluster) and largest_component_share. The search for the parts holds all arcs in memory. So each
-- node is first merged into that with the least scattered number among itself and its neighbors,
-- which leaves a share of the nodes in the order of 1 / k if they have k neighbors.
CREATE OR REPLACE MACRO clustereval._neighbor_components(edges, sizes) AS TABLE
  WITH links AS (
    SELECT low, high, low_cluster AS cluster_no
    FROM query_table(edges)
    WHERE low_cluster = high_cluster
  ),
  ends AS (
    SELECT
      CASE WHEN side.is_low THEN link.low ELSE link.high END AS node,
      CASE WHEN side.is_low THEN link.high ELSE link.low END AS neighbor,
      link.cluster_no
    FROM links AS link
    CROSS JOIN (VALUES (TRUE), (FALSE)) AS side (is_low)
  ),
  merged AS MATERIALIZED (
    SELECT
      node, cluster_no,
      LEAST(clustereval._scatter(node), MIN(clustereval._scatter(neighbor))) AS center
    FROM ends
    GROUP BY node, cluster_no
  ),
  centers AS MATERIALIZED (
    SELECT center, cluster_no, COUNT(*) AS n FROM merged GROUP BY center, cluster_no
  ),
  center_links AS MATERIALIZED (
    SELECT DISTINCT
      LEAST(one.center, two.center) AS low, GREATEST(one.center, two.center) AS high
    FROM links AS link
    JOIN merged AS one ON one.node = link.low
    JOIN merged AS two ON two.node = link.high
  ),
  -- A center has an arc to itself, too: a condition on two centers would change the plan of the
  -- joins to a product.
  arcs AS MATERIALIZED (
    SELECT low AS from_node, high AS to_node FROM center_links
    UNION ALL
    SELECT high, low FROM center_links
  ),
  parts AS (
    SELECT center.cluster_no, SUM(center.n) AS n
    FROM centers AS center
    LEFT JOIN clustereval._graph_parts(arcs) AS part ON part.node = center.center
    GROUP BY center.cluster_no, COALESCE(part.part, center.center)
  ),
  counts AS (
    SELECT cluster_no, SUM(n - 1) AS n_joined, MAX(n) AS largest
    FROM parts
    GROUP BY cluster_no
  )
  SELECT
    size.cluster_no,
    CAST(size.n - COALESCE(one.n_joined, 0) AS BIGINT) AS n_components,
    COALESCE(one.largest, 1) / CAST(size.n AS DOUBLE) AS largest_component_share
  FROM query_table(sizes) AS size
  LEFT JOIN counts AS one ON one.cluster_no = size.cluster_no;

-- Aggregate: the mean of x, NULL without values.
CREATE OR REPLACE MACRO clustereval._compensated_mean(x) AS
  clustereval._ratio(clustereval._compensated_sum(x), COUNT(x));

-- One row per group of rows, which are those of _neighborhood_rows, by the column `key`: key, n,
-- n_neighbors, n_without_neighbors, and the means and sums of the scores. wcnn is the share of all
-- neighbors that are in the cluster of their id.
CREATE OR REPLACE MACRO clustereval._neighborhood_means(rows, key) AS TABLE
  SELECT
    key AS key,
    CAST(COUNT(*) AS BIGINT) AS n,
    CAST(SUM(n_neighbors) AS BIGINT) AS n_neighbors,
    MAX(n_neighbors) AS most_neighbors,
    CAST(COUNT(CASE WHEN n_neighbors = 0 THEN 1 END) AS BIGINT) AS n_without_neighbors,
    clustereval._compensated_mean(neighbor_purity) AS neighbor_purity,
    clustereval._compensated_mean(balanced_purity) AS balanced_purity,
    clustereval._compensated_mean(inverse_simpson) AS inverse_simpson,
    clustereval._compensated_mean(lisi) AS lisi,
    clustereval._compensated_mean(
      CASE WHEN kbet_p_value >= 0.05 THEN 1.0 WHEN kbet_p_value IS NOT NULL THEN 0.0 END
    ) AS kbet_acceptance_rate,
    clustereval._compensated_sum(connectivity) AS connectivity,
    clustereval._ratio(
      clustereval._compensated_sum(connectivity), clustereval._compensated_sum(most_connectivity)
    ) AS normalized_connectivity,
    clustereval._ratio(SUM(n_same), SUM(n_neighbors)) AS wcnn
  FROM query_table(rows)
  GROUP BY key;

-- One row per partition: partition_key and dunn_owa, the weighted mean of the 15 smallest distances
-- between neighbors in different clusters, with the weights of SMin:5 in genieclust.
CREATE OR REPLACE MACRO clustereval._dunn_owa(edges) AS TABLE
  WITH pairs AS (SELECT * FROM clustereval._neighbor_pairs(edges)),
  nearest AS (
    SELECT partition_key, MIN(distance, 15) AS distances
    FROM pairs
    WHERE own_cluster <> other_cluster AND distance IS NOT NULL
    GROUP BY partition_key
  ),
  weighted AS (
    SELECT
      partition_key, distances,
      list_transform(range(len(distances)), lambda i: exp(-pow(i / 5.0, 2) / 2)) AS weights
    FROM nearest
  )
  SELECT
    partition_key,
    -- The weights are divided by their sum before a product can overflow.
    list_dot_product(distances, list_transform(weights, lambda w: w / list_sum(weights)))
      AS dunn_owa
  FROM weighted;

-- One row per partition with rows that are counted separately: n_dropped, n_noise,
-- n_self_neighbors, n_dropped_neighbors and n_duplicate_neighbors. Without partition_by there is
-- at least one row.
CREATE OR REPLACE MACRO clustereval._neighborhood_row_counts(
  ids, counts, tbl, partition_by
) AS TABLE
  WITH __ce_counts AS (
    SELECT
      partition_key, n_dropped, CASE WHEN is_noise THEN 1 ELSE 0 END AS n_noise,
      0 AS n_self, 0 AS n_left_out, 0 AS n_repeated
    FROM query_table(ids)
    UNION ALL
    SELECT partition_key, 0, 0, n_self, n_dropped_neighbors, n_repeated
    FROM query_table(counts)
    UNION ALL
    SELECT NULL, 0, 0, 0, 0, 0
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._is_absent(partition_by)
  )
  SELECT
    partition_key,
    CAST(SUM(n_dropped) AS BIGINT) AS n_dropped,
    CAST(SUM(n_noise) AS BIGINT) AS n_noise,
    CAST(SUM(n_self) AS BIGINT) AS n_self_neighbors,
    CAST(SUM(n_left_out) AS BIGINT) AS n_dropped_neighbors,
    CAST(SUM(n_repeated) AS BIGINT) AS n_duplicate_neighbors
  FROM __ce_counts
  GROUP BY partition_key;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Scores of the nearest neighbors of each id, one row per id that has a cluster: id; cluster;
-- n_neighbors and n_dropped_neighbors; neighbor_purity, balanced_purity, inverse_simpson, lisi,
-- kbet_statistic, kbet_p_value, connectivity and normalized_connectivity. tbl is a table with the
-- columns id and cluster, neighbors a table with the columns left, an id, and right, its neighbor,
-- and distance, a number >= 0; without it, the scores that need distances are NULL. partition_by is
-- a column of both tables. noise and noise_as are those of graph_report. perplexity is that of
-- lisi, by default a third of the number k of neighbors; then lisi is NULL if k < 6. kbet_p_value
-- is NULL if no k neighbors could be rejected: if the largest statistic, k (n / m - 1) if the
-- smallest of the clusters has m of n ids, does not have a p-value below 0.05.
-- Examples:
--   FROM clustereval.neighborhood_samples(people, id, cluster, nearest, id_l, id_r, distance := d);
CREATE OR REPLACE MACRO clustereval.neighborhood_samples(
  tbl, id, cluster, neighbors, "left", "right", distance := NULL, partition_by := NULL,
  noise := NULL, noise_as := NULL, perplexity := NULL
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._neighborhood_ids(
      tbl, id, cluster, neighbors, "left", "right", distance, partition_by, noise
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._neighbor_edges(
      __ce_nodes, tbl, id, neighbors, "left", "right", distance, partition_by
    )
  ),
  __ce_counts AS MATERIALIZED (SELECT * FROM clustereval._neighbor_counts(__ce_edges)),
  __ce_checked AS MATERIALIZED (
    SELECT *
    FROM clustereval._check_neighbors(
      __ce_nodes, __ce_counts, neighbors, "left", "right", distance, partition_by
    )
  ),
  __ce_sizes AS MATERIALIZED (SELECT * FROM clustereval._neighborhood_sizes(__ce_nodes)),
  __ce_mixed AS MATERIALIZED (
    SELECT *
    FROM clustereval._mixed_neighborhoods(__ce_edges, __ce_counts, __ce_sizes, perplexity)
  ),
  __ce_rows AS (
    SELECT *
    FROM clustereval._neighborhood_rows(
      __ce_nodes, __ce_counts, __ce_sizes, __ce_mixed, perplexity
    )
  )
  SELECT
    partition_key, one.id, one.cluster, n_neighbors, n_dropped_neighbors, neighbor_purity,
    balanced_purity, inverse_simpson, lisi, kbet_statistic, kbet_p_value, connectivity,
    clustereval._ratio(connectivity, most_connectivity) AS normalized_connectivity
  FROM __ce_rows AS one
  WHERE clustereval._check_options(
      clustereval._valid_neighborhood_options(noise, noise_as, perplexity)
    )
    AND (SELECT valid FROM __ce_checked)
  ORDER BY one.partition_key ASC NULLS LAST, one.id ASC NULLS LAST;

-- Scores of the nearest neighbors, one row per cluster: cluster, n, n_neighbors,
-- n_without_neighbors, the means of the scores in neighborhood_samples, kbet_acceptance_rate (of
-- the ids with a p-value), n_components and largest_component_share. The parameters are those of
-- neighborhood_samples. Noise that counts as singletons gets no rows.
-- Examples:
--   FROM clustereval.neighborhood_clusters(people, id, cluster, nearest, id_l, id_r);
CREATE OR REPLACE MACRO clustereval.neighborhood_clusters(
  tbl, id, cluster, neighbors, "left", "right", distance := NULL, partition_by := NULL,
  noise := NULL, noise_as := NULL, perplexity := NULL
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._neighborhood_ids(
      tbl, id, cluster, neighbors, "left", "right", distance, partition_by, noise
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._neighbor_edges(
      __ce_nodes, tbl, id, neighbors, "left", "right", distance, partition_by
    )
  ),
  __ce_counts AS MATERIALIZED (SELECT * FROM clustereval._neighbor_counts(__ce_edges)),
  __ce_checked AS MATERIALIZED (
    SELECT *
    FROM clustereval._check_neighbors(
      __ce_nodes, __ce_counts, neighbors, "left", "right", distance, partition_by
    )
  ),
  __ce_sizes AS MATERIALIZED (SELECT * FROM clustereval._neighborhood_sizes(__ce_nodes)),
  __ce_mixed AS MATERIALIZED (
    SELECT *
    FROM clustereval._mixed_neighborhoods(__ce_edges, __ce_counts, __ce_sizes, perplexity)
  ),
  __ce_rows AS (
    SELECT *
    FROM clustereval._neighborhood_rows(
      __ce_nodes, __ce_counts, __ce_sizes, __ce_mixed, perplexity
    )
  ),
  __ce_graph AS (SELECT * FROM clustereval._neighbor_graph(__ce_edges)),
  __ce_components AS MATERIALIZED (
    SELECT * FROM clustereval._neighbor_components(__ce_graph, __ce_sizes)
  )
  SELECT
    size.partition_key, size.cluster, mean.n, mean.n_neighbors, mean.n_without_neighbors,
    mean.neighbor_purity, mean.balanced_purity, mean.inverse_simpson, mean.lisi,
    mean.kbet_acceptance_rate, mean.connectivity, mean.normalized_connectivity,
    component.n_components, component.largest_component_share
  FROM __ce_sizes AS size
  JOIN clustereval._neighborhood_means(__ce_rows, cluster_no) AS mean
    ON mean.key = size.cluster_no
  JOIN __ce_components AS component ON component.cluster_no = size.cluster_no
  WHERE clustereval._check_options(
      clustereval._valid_neighborhood_options(noise, noise_as, perplexity)
    )
    AND (SELECT valid FROM __ce_checked)
    AND size.cluster IS NOT NULL
  ORDER BY size.partition_key ASC NULLS LAST, size.cluster ASC NULLS LAST;

-- Scores of the nearest neighbors: one row with counts, the means of the scores in
-- neighborhood_samples, kbet_acceptance_rate (of the ids with a p-value), mean_component_share,
-- cvnn_separation, wcnn, dunn_owa and modularity. The parameters are those of neighborhood_samples.
-- Examples:
--   FROM clustereval.neighborhood_report(people, id, cluster, nearest, id_l, id_r, distance := d);
CREATE OR REPLACE MACRO clustereval.neighborhood_report(
  tbl, id, cluster, neighbors, "left", "right", distance := NULL, partition_by := NULL,
  noise := NULL, noise_as := NULL, perplexity := NULL
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._neighborhood_ids(
      tbl, id, cluster, neighbors, "left", "right", distance, partition_by, noise
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._neighbor_edges(
      __ce_nodes, tbl, id, neighbors, "left", "right", distance, partition_by
    )
  ),
  __ce_counts AS MATERIALIZED (SELECT * FROM clustereval._neighbor_counts(__ce_edges)),
  __ce_checked AS MATERIALIZED (
    SELECT *
    FROM clustereval._check_neighbors(
      __ce_nodes, __ce_counts, neighbors, "left", "right", distance, partition_by
    )
  ),
  __ce_sizes AS MATERIALIZED (SELECT * FROM clustereval._neighborhood_sizes(__ce_nodes)),
  __ce_mixed AS MATERIALIZED (
    SELECT *
    FROM clustereval._mixed_neighborhoods(__ce_edges, __ce_counts, __ce_sizes, perplexity)
  ),
  __ce_rows AS MATERIALIZED (
    SELECT *
    FROM clustereval._neighborhood_rows(
      __ce_nodes, __ce_counts, __ce_sizes, __ce_mixed, perplexity
    )
  ),
  __ce_graph AS (SELECT * FROM clustereval._neighbor_graph(__ce_edges)),
  __ce_cluster_nodes AS (
    SELECT one.partition_key, one.cluster_no, one.n AS n_nodes FROM __ce_sizes AS one
  ),
  __ce_clusters AS (SELECT * FROM clustereval._add_edge_sums(__ce_cluster_nodes, __ce_graph)),
  __ce_components AS MATERIALIZED (
    SELECT * FROM clustereval._neighbor_components(__ce_graph, __ce_sizes)
  ),
  __ce_shares AS (
    SELECT
      size.partition_key,
      COUNT(*) AS n_clusters,
      MIN(size.n) AS least_n,
      AVG(component.largest_component_share) AS mean_component_share,
      MAX(1 - mean.neighbor_purity) AS cvnn_separation
    FROM __ce_sizes AS size
    JOIN clustereval._neighborhood_means(__ce_rows, cluster_no) AS mean
      ON mean.key = size.cluster_no
    JOIN __ce_components AS component ON component.cluster_no = size.cluster_no
    GROUP BY size.partition_key
  )
  SELECT
    counts.partition_key,
    COALESCE(mean.n, 0) AS n,
    counts.n_dropped, counts.n_noise,
    COALESCE(share.n_clusters, 0) AS n_clusters,
    COALESCE(mean.n_neighbors, 0) AS n_neighbors,
    counts.n_self_neighbors, counts.n_dropped_neighbors, counts.n_duplicate_neighbors,
    COALESCE(mean.n_without_neighbors, 0) AS n_without_neighbors,
    mean.neighbor_purity, mean.balanced_purity, mean.inverse_simpson, mean.lisi,
    mean.kbet_acceptance_rate, mean.connectivity, mean.normalized_connectivity,
    share.mean_component_share, share.cvnn_separation,
    CASE WHEN share.least_n > mean.most_neighbors THEN mean.wcnn END AS wcnn,
    CASE WHEN share.least_n > mean.most_neighbors THEN owa.dunn_owa END AS dunn_owa,
    sums.modularity
  FROM clustereval._neighborhood_row_counts(__ce_ids, __ce_counts, tbl, partition_by) AS counts
  LEFT JOIN clustereval._neighborhood_means(__ce_rows, partition_key) AS mean
    ON mean.key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN __ce_shares AS share ON share.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN clustereval._dunn_owa(__ce_edges) AS owa
    ON owa.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN clustereval._graph_sums(__ce_clusters, 1.0) AS sums
    ON sums.partition_key IS NOT DISTINCT FROM counts.partition_key
  WHERE clustereval._check_options(
      clustereval._valid_neighborhood_options(noise, noise_as, perplexity)
    )
    AND (SELECT valid FROM __ce_checked)
  ORDER BY counts.partition_key ASC NULLS LAST;
