-- graph: tables of the clusters of a graph, such as records that entity resolution has linked.

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Clusters of a graph: one row with n_nodes, n_dropped rows without a cluster, n_noise, n_clusters,
-- n_edges, n_self_loops, n_dropped_edges with an end in no cluster, n_duplicate_edges, modularity,
-- coverage, performance, mean_conductance, worst_conductance and inter_cluster_edge_share. tbl is a
-- table of nodes with the columns id and cluster, edges a table of edges with the columns left and
-- right, ids of tbl, and weight, a number >= 0, 1 by default. partition_by is a column of both
-- tables. noise is the value of cluster that marks noise, which noise_as counts as one 'cluster',
-- leaves out ('drop') or counts as 'singletons'. resolution is gamma of the modularity.
-- Examples:
--   FROM clustereval.graph_report(people, id, cluster, matches, id_l, id_r);
--   FROM clustereval.graph_report(people, id, cluster, matches, id_l, id_r, weight := score);
CREATE OR REPLACE MACRO clustereval.graph_report(
  tbl, id, cluster, edges, "left", "right", weight := NULL, partition_by := NULL, noise := NULL,
  noise_as := NULL, resolution := 1.0
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._graph_ids(
      tbl, id, cluster, edges, "left", "right", weight, partition_by, noise
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._graph_edges(
      __ce_nodes, tbl, id, edges, "left", "right", weight, partition_by
    )
  ),
  __ce_sizes AS MATERIALIZED (
    SELECT * FROM clustereval._graph_clusters(__ce_nodes, __ce_edges)
  ),
  __ce_clusters AS (SELECT * FROM clustereval._graph_conductances(__ce_sizes)),
  __ce_sums AS (SELECT * FROM clustereval._graph_sums(__ce_clusters, resolution)),
  __ce_row_counts AS (
    SELECT * FROM clustereval._graph_row_counts(__ce_ids, __ce_edges, tbl, partition_by)
  ),
  __ce_only AS (
    SELECT clustereval._is_absent(partition_by) AS __ce_is_only FROM query_table(tbl) WHERE FALSE
  )
  SELECT
    counts.__ce_partition AS partition_key,
    COALESCE(sums.__ce_n_nodes, 0) AS n_nodes,
    counts.__ce_n_dropped AS n_dropped,
    counts.__ce_n_noise AS n_noise,
    COALESCE(sums.__ce_n_clusters, 0) AS n_clusters,
    COALESCE(sums.__ce_n_edges + sums.__ce_n_cut_edges, 0) AS n_edges,
    COALESCE(sums.__ce_n_self_loops, 0) AS n_self_loops,
    counts.__ce_n_dropped_edges AS n_dropped_edges,
    counts.__ce_n_duplicate_edges AS n_duplicate_edges,
    sums.__ce_modularity AS modularity,
    clustereval._at_most_1(clustereval._ratio(sums.__ce_weight, sums.__ce_total)) AS coverage,
    clustereval._graph_performance(
      sums.__ce_n_nodes, sums.__ce_n_edges, sums.__ce_n_cut_edges, sums.__ce_pairs
    ) AS performance,
    sums.__ce_mean_conductance AS mean_conductance,
    sums.__ce_worst_conductance AS worst_conductance,
    clustereval._ratio(
      sums.__ce_n_cut_edges, sums.__ce_n_edges + sums.__ce_n_cut_edges
    ) AS inter_cluster_edge_share
  FROM __ce_row_counts AS counts
  LEFT JOIN __ce_sums AS sums
    ON sums.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  WHERE clustereval._check_options(
      clustereval._valid_graph_options(noise, noise_as, resolution, 0)
    )
    AND (sums.__ce_n_nodes > 0 OR (SELECT __ce_is_only FROM __ce_only))
  ORDER BY counts.__ce_partition ASC NULLS LAST;

-- Clusters of a graph, one row per cluster: cluster, n_nodes, n_edges within it, weight of these,
-- n_cut_edges to other clusters, cut_weight, density, centralization, conductance, n_components,
-- n_bridges and diameter. The diameter is NULL for several components, and beyond
-- max_diameter_nodes nodes; 0 turns it off. The other parameters are those of graph_report. Noise
-- that counts as singletons has no rows.
-- Examples:
--   FROM clustereval.graph_cluster_report(people, id, cluster, matches, id_l, id_r);
CREATE OR REPLACE MACRO clustereval.graph_cluster_report(
  tbl, id, cluster, edges, "left", "right", weight := NULL, partition_by := NULL, noise := NULL,
  noise_as := NULL, max_diameter_nodes := 1000
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._graph_ids(
      tbl, id, cluster, edges, "left", "right", weight, partition_by, noise
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._graph_edges(
      __ce_nodes, tbl, id, edges, "left", "right", weight, partition_by
    )
  ),
  __ce_sizes AS MATERIALIZED (
    SELECT * FROM clustereval._graph_clusters(__ce_nodes, __ce_edges)
  ),
  __ce_tree_edges AS (SELECT * FROM clustereval._graph_tree_edges(__ce_edges, __ce_sizes)),
  __ce_clusters AS (SELECT * FROM clustereval._graph_conductances(__ce_sizes)),
  __ce_components AS MATERIALIZED (
    SELECT * FROM clustereval._graph_components(__ce_clusters, __ce_tree_edges)
  ),
  __ce_diameters AS (
    SELECT * FROM clustereval._graph_cluster_diameters(
      __ce_nodes, __ce_edges, __ce_components, max_diameter_nodes
    )
  )
  SELECT
    one.__ce_partition AS partition_key,
    one.__ce_cluster AS cluster,
    one.__ce_n_nodes AS n_nodes,
    one.__ce_n_edges AS n_edges,
    one.__ce_weight AS weight,
    one.__ce_n_cut_edges AS n_cut_edges,
    one.__ce_cut_weight AS cut_weight,
    clustereval._ratio(one.__ce_n_edges, clustereval._count_pairs(one.__ce_n_nodes)) AS density,
    clustereval._ratio(
      clustereval._widen(one.__ce_n_nodes) * one.__ce_max_degree - 2 * one.__ce_n_edges,
      clustereval._widen(one.__ce_n_nodes - 1) * (one.__ce_n_nodes - 2)
    ) AS centralization,
    one.__ce_conductance AS conductance,
    one.__ce_n_components AS n_components,
    one.__ce_n_bridges AS n_bridges,
    CAST(diameter.__ce_diameter AS BIGINT) AS diameter
  FROM __ce_components AS one
  LEFT JOIN __ce_diameters AS diameter ON diameter.__ce_cluster_no = one.__ce_cluster_no
  WHERE clustereval._check_options(
      clustereval._valid_graph_options(noise, noise_as, 1, max_diameter_nodes)
    )
    AND one.__ce_cluster IS NOT NULL
  ORDER BY one.__ce_partition ASC NULLS LAST, one.__ce_cluster ASC NULLS LAST;

-- Nodes of a graph, one row per node: id, cluster, degree, the number of its edges,
-- weighted_degree, node_degree, the number of those within its cluster, node_centrality, that is
-- node_degree divided by the number of other nodes of the cluster, and n_bridges at the node. The
-- parameters are those of graph_report.
-- Examples:
--   FROM clustereval.graph_node_report(people, id, cluster, matches, id_l, id_r);
CREATE OR REPLACE MACRO clustereval.graph_node_report(
  tbl, id, cluster, edges, "left", "right", weight := NULL, partition_by := NULL, noise := NULL,
  noise_as := NULL
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._graph_ids(
      tbl, id, cluster, edges, "left", "right", weight, partition_by, noise
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._graph_edges(
      __ce_nodes, tbl, id, edges, "left", "right", weight, partition_by
    )
  ),
  __ce_degrees AS (SELECT * FROM clustereval._graph_degrees(__ce_edges)),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._graph_clusters(__ce_nodes, __ce_edges)
  ),
  __ce_bridges AS (
    SELECT __ce_low, __ce_high
    FROM clustereval._graph_tree_edges(__ce_edges, __ce_clusters)
    WHERE __ce_is_bridge
  ),
  __ce_bridge_ends AS (
    SELECT __ce_low AS __ce_node FROM __ce_bridges
    UNION ALL
    SELECT __ce_high FROM __ce_bridges
  ),
  __ce_bridge_counts AS (
    SELECT __ce_node, CAST(COUNT(*) AS BIGINT) AS __ce_n_bridges
    FROM __ce_bridge_ends
    GROUP BY __ce_node
  )
  SELECT
    node.__ce_partition AS partition_key,
    node.__ce_id AS id,
    node.__ce_cluster AS cluster,
    CAST(COALESCE(sums.__ce_degree, 0) AS BIGINT) AS degree,
    COALESCE(sums.__ce_weight, 0.0) AS weighted_degree,
    CAST(COALESCE(sums.__ce_inner_degree, 0) AS BIGINT) AS node_degree,
    clustereval._ratio(COALESCE(sums.__ce_inner_degree, 0), one.__ce_n_nodes - 1)
      AS node_centrality,
    COALESCE(bridge.__ce_n_bridges, 0) AS n_bridges
  FROM __ce_nodes AS node
  JOIN __ce_clusters AS one ON one.__ce_cluster_no = node.__ce_cluster_no
  LEFT JOIN __ce_degrees AS sums ON sums.__ce_node = node.__ce_node
  LEFT JOIN __ce_bridge_counts AS bridge ON bridge.__ce_node = node.__ce_node
  WHERE clustereval._check_options(clustereval._valid_graph_options(noise, noise_as, 1, 0))
  ORDER BY node.__ce_partition ASC NULLS LAST, node.__ce_id ASC NULLS LAST;

-- Edges of a graph, one row per edge between two ids that have a cluster: left and right, the lower
-- id first, weight, n_rows, the rows of the table that are this edge, cluster, NULL if the ends are
-- in different clusters, and is_bridge, NULL there, too: whether the cluster would fall apart
-- without the edge. The parameters are those of graph_report.
-- Examples:
--   FROM clustereval.graph_edge_report(people, id, cluster, matches, id_l, id_r) WHERE is_bridge;
CREATE OR REPLACE MACRO clustereval.graph_edge_report(
  tbl, id, cluster, edges, "left", "right", weight := NULL, partition_by := NULL, noise := NULL,
  noise_as := NULL
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._graph_ids(
      tbl, id, cluster, edges, "left", "right", weight, partition_by, noise
    )
  ),
  __ce_nodes AS MATERIALIZED (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_edges AS MATERIALIZED (
    SELECT * FROM clustereval._graph_edges(
      __ce_nodes, tbl, id, edges, "left", "right", weight, partition_by
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._graph_clusters(__ce_nodes, __ce_edges)
  ),
  __ce_tree_edges AS (SELECT * FROM clustereval._graph_tree_edges(__ce_edges, __ce_clusters)),
  __ce_named AS (
    SELECT
      edge.__ce_partition,
      LEAST(low.__ce_id, high.__ce_id) AS __ce_left,
      GREATEST(low.__ce_id, high.__ce_id) AS __ce_right,
      edge.__ce_weight,
      edge.__ce_n_rows,
      edge.__ce_low_cluster = edge.__ce_high_cluster AS __ce_is_inner,
      low.__ce_cluster,
      COALESCE(tree.__ce_is_bridge, FALSE) AS __ce_is_bridge
    FROM __ce_edges AS edge
    JOIN __ce_nodes AS low ON low.__ce_node = edge.__ce_low
    JOIN __ce_nodes AS high ON high.__ce_node = edge.__ce_high
    LEFT JOIN __ce_tree_edges AS tree
      ON tree.__ce_low = edge.__ce_low AND tree.__ce_high = edge.__ce_high
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_left AS "left",
    __ce_right AS "right",
    __ce_weight AS weight,
    __ce_n_rows AS n_rows,
    CASE WHEN __ce_is_inner THEN __ce_cluster END AS cluster,
    CASE WHEN __ce_is_inner THEN __ce_is_bridge END AS is_bridge
  FROM __ce_named
  WHERE clustereval._check_options(clustereval._valid_graph_options(noise, noise_as, 1, 0))
  ORDER BY
    __ce_partition ASC NULLS LAST, __ce_left ASC NULLS LAST, __ce_right ASC NULLS LAST;
