-- graph: tables of the clusters of a graph, such as records that entity resolution has linked.

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Clusters of a graph: one row with n_nodes, n_dropped rows without a cluster, n_noise,
-- n_clusters, n_edges, n_self_loops, n_dropped_edges with an end in no cluster, n_duplicate_edges,
-- clusters_are_components, modularity, coverage, performance, mean_conductance, worst_conductance
-- and inter_cluster_edge_share. tbl is a table of nodes with the columns id and cluster, edges a
-- table of edges with the columns left and right, ids of tbl, and weight, a number >= 0, 1 by
-- default. Only edges whose weight is at least threshold count.
-- partition_by is a column of both tables. noise is the value of cluster that marks noise;
-- noise_as counts its rows as one 'cluster', leaves them out ('drop') or counts them as
-- 'singletons'. resolution is gamma of the modularity.
-- Examples:
--   FROM clustereval.graph_report(people, id, cluster, matches, id_l, id_r);
--   FROM clustereval.graph_report(people, id, cluster, matches, id_l, id_r, weight := score);
CREATE OR REPLACE MACRO clustereval.graph_report(
  tbl, id, cluster, edges, "left", "right", weight := NULL, threshold := NULL,
  partition_by := NULL, noise := NULL, noise_as := NULL, resolution := 1.0
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._graph_ids(
      tbl, id, cluster, edges, "left", "right", weight, partition_by, noise,
      is_compared := threshold IS NOT NULL
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._graph_edges(
      __ce_nodes, tbl, id, edges, "left", "right", weight, threshold, partition_by
    )
  ),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._graph_clusters(__ce_nodes, __ce_edges))
  SELECT
    counts.partition_key,
    COALESCE(sums.n_nodes, 0) AS n_nodes,
    counts.n_dropped,
    counts.n_noise,
    COALESCE(sums.n_clusters, 0) AS n_clusters,
    COALESCE(sums.n_edges + sums.n_cut_edges, 0) AS n_edges,
    COALESCE(sums.n_self_loops, 0) AS n_self_loops,
    counts.n_dropped_edges,
    counts.n_duplicate_edges,
    CASE
      WHEN sums.n_clusters > 0 THEN COALESCE(closed.are_components, FALSE)
    END AS clusters_are_components,
    sums.modularity,
    clustereval._at_most_1(clustereval._ratio(sums.weight, sums.total)) AS coverage,
    -- As in networkx, the inner edges include self-loops.
    clustereval._ratio(
      clustereval._count_pairs(sums.n_nodes) - sums.pairs + sums.n_edges - sums.n_cut_edges,
      clustereval._count_pairs(sums.n_nodes)
    ) AS performance,
    sums.mean_conductance,
    sums.worst_conductance,
    clustereval._ratio(
      sums.n_cut_edges, sums.n_edges + sums.n_cut_edges
    ) AS inter_cluster_edge_share
  FROM clustereval._graph_row_counts(__ce_ids, __ce_edges, tbl, partition_by) AS counts
  LEFT JOIN clustereval._graph_sums(__ce_clusters, resolution) AS sums
    ON sums.partition_key IS NOT DISTINCT FROM counts.partition_key
  LEFT JOIN clustereval._graph_closed_partitions(
    __ce_nodes, __ce_edges, __ce_clusters
  ) AS closed
    ON closed.partition_key IS NOT DISTINCT FROM counts.partition_key
  WHERE clustereval._check_options(clustereval._valid_threshold(
    threshold, clustereval._valid_graph_options(noise, noise_as, resolution, 0)
  ))
  ORDER BY counts.partition_key ASC NULLS LAST;

-- Clusters of a graph, one row per cluster: cluster, n_nodes, n_edges within the cluster and their
-- weight, n_cut_edges to other clusters and their cut_weight, density, centralization, conductance,
-- n_components, n_bridges and diameter. The diameter is NULL for several components and for more
-- than max_diameter_nodes nodes; pass 0 to turn it off. The other parameters are those of
-- graph_report. Noise that counts as singletons gets no rows.
-- Examples:
--   FROM clustereval.graph_cluster_report(people, id, cluster, matches, id_l, id_r);
CREATE OR REPLACE MACRO clustereval.graph_cluster_report(
  tbl, id, cluster, edges, "left", "right", weight := NULL, threshold := NULL,
  partition_by := NULL, noise := NULL, noise_as := NULL, max_diameter_nodes := 1000
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._graph_ids(
      tbl, id, cluster, edges, "left", "right", weight, partition_by, noise,
      is_compared := threshold IS NOT NULL
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._graph_edges(
      __ce_nodes, tbl, id, edges, "left", "right", weight, threshold, partition_by
    )
  ),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._graph_clusters(__ce_nodes, __ce_edges)),
  __ce_components AS MATERIALIZED (
    SELECT * FROM clustereval._graph_components(__ce_nodes, __ce_edges, __ce_clusters)
  )
  SELECT
    one.partition_key,
    one.cluster,
    one.n_nodes,
    one.n_edges,
    one.weight,
    one.n_cut_edges,
    one.cut_weight,
    clustereval._ratio(one.n_edges, clustereval._count_pairs(one.n_nodes)) AS density,
    clustereval._ratio(
      clustereval._widen(one.n_nodes) * one.max_degree - 2 * one.n_edges,
      clustereval._widen(one.n_nodes - 1) * (one.n_nodes - 2)
    ) AS centralization,
    one.conductance,
    one.n_components,
    one.n_bridges,
    CAST(diameter.diameter AS BIGINT) AS diameter
  FROM __ce_components AS one
  LEFT JOIN clustereval._graph_cluster_diameters(
    __ce_nodes, __ce_edges, __ce_components, max_diameter_nodes
  ) AS diameter
    ON diameter.cluster_no = one.cluster_no
  WHERE clustereval._check_options(clustereval._valid_threshold(
    threshold, clustereval._valid_graph_options(noise, noise_as, 1, max_diameter_nodes)
  ))
    AND one.cluster IS NOT NULL
  ORDER BY one.partition_key ASC NULLS LAST, one.cluster ASC NULLS LAST;

-- Nodes of a graph, one row per node: id; cluster; degree, the number of edges at the node;
-- weighted_degree; node_degree, the number of its edges within its cluster; node_centrality, which
-- is node_degree divided by the number of other nodes of the cluster; and n_bridges at the node.
-- The parameters are those of graph_report.
-- Examples:
--   FROM clustereval.graph_node_report(people, id, cluster, matches, id_l, id_r);
CREATE OR REPLACE MACRO clustereval.graph_node_report(
  tbl, id, cluster, edges, "left", "right", weight := NULL, threshold := NULL,
  partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._graph_ids(
      tbl, id, cluster, edges, "left", "right", weight, partition_by, noise,
      is_compared := threshold IS NOT NULL
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._graph_edges(
      __ce_nodes, tbl, id, edges, "left", "right", weight, threshold, partition_by
    )
  ),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._graph_clusters(__ce_nodes, __ce_edges)),
  __ce_bridges AS (
    SELECT *
    FROM clustereval._graph_cluster_bridges(__ce_nodes, __ce_edges, __ce_clusters)
  ),
  __ce_bridge_ends AS (
    SELECT low AS node, is_bridge FROM __ce_bridges
    UNION ALL
    SELECT high, is_bridge FROM __ce_bridges
  ),
  __ce_bridge_counts AS (
    SELECT node, CAST(COUNT(CASE WHEN is_bridge THEN 1 END) AS BIGINT) AS n_bridges
    FROM __ce_bridge_ends
    GROUP BY node
  )
  SELECT
    node.partition_key,
    node.id,
    node.cluster,
    CAST(COALESCE(sums.degree, 0) AS BIGINT) AS degree,
    COALESCE(sums.weight, 0.0) AS weighted_degree,
    CAST(COALESCE(sums.inner_degree, 0) AS BIGINT) AS node_degree,
    clustereval._ratio(COALESCE(sums.inner_degree, 0), one.n_nodes - 1) AS node_centrality,
    COALESCE(bridge.n_bridges, 0) AS n_bridges
  FROM __ce_nodes AS node
  JOIN __ce_clusters AS one ON one.cluster_no = node.cluster_no
  LEFT JOIN clustereval._graph_degrees(__ce_edges) AS sums ON sums.node = node.node
  LEFT JOIN __ce_bridge_counts AS bridge ON bridge.node = node.node
  WHERE clustereval._check_options(clustereval._valid_threshold(
    threshold, clustereval._valid_graph_options(noise, noise_as, 1, 0)
  ))
  ORDER BY node.partition_key ASC NULLS LAST, node.id ASC NULLS LAST;

-- Edges of a graph, one row per edge between two ids that have a cluster: left and right, with the
-- lower id first; weight; n_rows, the number of rows of the table for this edge; cluster, NULL if
-- the ends are in different clusters; and is_bridge, whether the cluster would fall apart without
-- the edge, NULL if cluster is NULL. The parameters are those of graph_report.
-- Examples:
--   FROM clustereval.graph_edge_report(people, id, cluster, matches, id_l, id_r) WHERE is_bridge;
CREATE OR REPLACE MACRO clustereval.graph_edge_report(
  tbl, id, cluster, edges, "left", "right", weight := NULL, threshold := NULL,
  partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._graph_ids(
      tbl, id, cluster, edges, "left", "right", weight, partition_by, noise,
      is_compared := threshold IS NOT NULL
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._graph_edges(
      __ce_nodes, tbl, id, edges, "left", "right", weight, threshold, partition_by
    )
  ),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._graph_clusters(__ce_nodes, __ce_edges))
  SELECT
    edge.partition_key,
    LEAST(low.id, high.id) AS "left",
    GREATEST(low.id, high.id) AS "right",
    edge.weight,
    edge.n_rows,
    CASE WHEN edge.low_cluster = edge.high_cluster THEN low.cluster END AS cluster,
    CASE
      WHEN edge.low_cluster = edge.high_cluster THEN COALESCE(bridge.is_bridge, FALSE)
    END AS is_bridge
  FROM __ce_edges AS edge
  JOIN __ce_nodes AS low ON low.node = edge.low
  JOIN __ce_nodes AS high ON high.node = edge.high
  LEFT JOIN clustereval._graph_cluster_bridges(__ce_nodes, __ce_edges, __ce_clusters) AS bridge
    ON bridge.low = edge.low AND bridge.high = edge.high
  WHERE clustereval._check_options(clustereval._valid_threshold(
    threshold, clustereval._valid_graph_options(noise, noise_as, 1, 0)
  ))
  ORDER BY
    edge.partition_key ASC NULLS LAST, 2 ASC NULLS LAST, 3 ASC NULLS LAST;
