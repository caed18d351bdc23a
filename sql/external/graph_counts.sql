-- graph_counts: the nodes, edges, degrees and clusters of a graph, and what is computed of them.
--
--   * The graph is a table of edges, each between the ids `left` and `right`, in either order. Rows
--     of the same two ids are one edge, and their weights are added. A self-loop is an edge from an
--     id to itself; it adds two to the degree of its node, as in networkx.
--   * The nodes are the ids of a second table that have a cluster. Edges with an end in no cluster
--     are left out, and counted.
--   * Nodes and clusters have numbers, which are shorter than ids and cheaper to join and to group.
--     The number of a cluster is that of one of its nodes.
--   * An inner edge joins two nodes of one cluster, a cut edge joins two clusters.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- Text of the query SELECT TRUE AS __ce_valid, for _check_options, which runs it before any row is
-- read. Raises an error if an option is invalid. The parameters are the user's options.
CREATE OR REPLACE MACRO clustereval._valid_graph_options(
  noise, noise_as, resolution, max_diameter_nodes
) AS
  CASE
    WHEN NOT coalesce(
      TRY_CAST(resolution AS DOUBLE) >= 0 AND isfinite(TRY_CAST(resolution AS DOUBLE)), FALSE
    )
    THEN error(concat(
      'resolution: expected a number >= 0, got ', clustereval._show_value(resolution)
    ))
    WHEN NOT clustereval._is_whole_number(max_diameter_nodes, 0)
    THEN error(concat(
      'max_diameter_nodes: expected a whole number >= 0, got ',
      clustereval._show_value(max_diameter_nodes)
    ))
    ELSE clustereval._valid_noise(noise, noise_as)
  END;

-- TRUE if type_name is the name of a type of whole numbers.
CREATE OR REPLACE MACRO clustereval._is_integer_type(type_name) AS
  regexp_full_match(type_name, 'U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER');

-- TRUE if type_name is the name of a type of numbers, or of a column of NULLs, which has none.
CREATE OR REPLACE MACRO clustereval._is_weight_type(type_name) AS
  clustereval._is_integer_type(type_name)
  OR regexp_full_match(type_name, 'BIGNUM|FLOAT|DOUBLE|DECIMAL.*|"NULL"');

-- x, any value, passed through unless a check fails. Raises an error if the type of the ends of
-- edges in the column `parameter` is not the type of the ids. Whole numbers are of one kind.
CREATE OR REPLACE MACRO clustereval._check_end_type(x, parameter, end_type, id_type) AS
  CASE
    WHEN end_type <> id_type AND NOT (
      clustereval._is_integer_type(end_type) AND clustereval._is_integer_type(id_type)
    )
    THEN error(concat(
      parameter, ': expected the type of id (', id_type, '), got ', end_type,
      clustereval._type_advice(end_type, id_type)
    ))
    ELSE x
  END;

-- One row, __ce_valid = TRUE. Raises an error for a string literal in place of a column, and if
-- the columns of the two tables have different types. The parameters are the user's arguments.
CREATE OR REPLACE MACRO clustereval._check_graph_columns(
  tbl, id, cluster, edges, "left", "right", weight, partition_by, noise
) AS TABLE
  WITH __ce_node_types AS (
    SELECT
      clustereval._check_column(
        clustereval._check_column(
          clustereval._check_column(
            clustereval._check_noise(TRUE, noise, cluster), 'partition_by', partition_by
          ),
          'cluster', cluster
        ),
        'id', id
      ) AS __ce_valid,
      typeof(any_value(id)) AS __ce_id_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(tbl)
    WHERE FALSE
  ),
  __ce_edge_types AS (
    SELECT
      clustereval._check_column(
        clustereval._check_column(
          clustereval._check_column(TRUE, 'weight', weight), 'right', "right"
        ),
        'left', "left"
      ) AS __ce_valid,
      typeof(any_value("left")) AS __ce_left_type,
      typeof(any_value("right")) AS __ce_right_type,
      typeof(any_value(weight)) AS __ce_weight_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(edges)
    WHERE FALSE
  )
  SELECT
    CASE
      WHEN NOT clustereval._is_weight_type(ends.__ce_weight_type)
      THEN error(concat(
        'weight: expected finite numbers >= 0, got a column of type ', ends.__ce_weight_type,
        '; cast it to numbers'
      ))
      WHEN nodes.__ce_partition_type <> ends.__ce_partition_type
      THEN error(concat(
        'partition_by: expected the same type in both tables, got ', nodes.__ce_partition_type,
        ' with the clusters and ', ends.__ce_partition_type, ' with the edges; cast one of them'
      ))
      ELSE clustereval._check_end_type(
        clustereval._check_end_type(
          nodes.__ce_valid AND ends.__ce_valid, 'right', ends.__ce_right_type, nodes.__ce_id_type
        ),
        'left', ends.__ce_left_type, nodes.__ce_id_type
      )
    END AS __ce_valid
  FROM __ce_node_types AS nodes
  CROSS JOIN __ce_edge_types AS ends;

-- x, the weight of an edge, as DOUBLE. Raises an error unless it is a finite number >= 0.
CREATE OR REPLACE MACRO clustereval._check_edge_weight(x) AS
  CASE
    WHEN coalesce(TRY_CAST(x AS DOUBLE) >= 0 AND isfinite(TRY_CAST(x AS DOUBLE)), FALSE)
    THEN CAST(x AS DOUBLE)
    ELSE error(concat(
      'weight: expected finite numbers >= 0, got ', clustereval._show_value(x),
      '; leave out edges without a weight, or give them one'
    ))
  END;

---------------------------------------------------------------------------------------------------
-- Nodes and edges
---------------------------------------------------------------------------------------------------

-- One row per id of a partition: __ce_partition, __ce_id, its __ce_cluster, __ce_times, its rows
-- with a cluster, __ce_n_dropped, its other rows, __ce_is_noise and __ce_node, its number. The
-- parameters are the user's arguments. The two parts of the union without rows make the ids of a
-- type that can be compared with the ends of edges, so that _check_graph_columns can say what is
-- wrong with the types.
CREATE OR REPLACE MACRO clustereval._graph_ids(
  tbl, id, cluster, edges, "left", "right", weight, partition_by, noise
) AS TABLE
  WITH __ce_checked AS (
    SELECT *
    FROM clustereval._check_graph_columns(
      tbl, id, cluster, edges, "left", "right", weight, partition_by, noise
    )
  ),
  __ce_rows AS (
    SELECT partition_by AS __ce_partition, id AS __ce_id, cluster AS __ce_cluster
    FROM query_table(tbl)
    UNION ALL
    SELECT partition_by, "left", NULL FROM query_table(edges) WHERE FALSE
    UNION ALL
    SELECT partition_by, "right", NULL FROM query_table(edges) WHERE FALSE
  ),
  __ce_counts AS (
    SELECT
      __ce_partition,
      __ce_id,
      MAX(__ce_cluster) AS __ce_cluster,
      CAST(COUNT(__ce_cluster) AS BIGINT) AS __ce_times,
      CAST(COUNT(*) - COUNT(__ce_cluster) AS BIGINT) AS __ce_n_dropped
    FROM __ce_rows
    GROUP BY __ce_partition, __ce_id
    HAVING (SELECT __ce_valid FROM __ce_checked)
  )
  SELECT
    *,
    clustereval._is_noise(__ce_cluster, noise) AS __ce_is_noise,
    row_number() OVER () AS __ce_node
  FROM __ce_counts;

-- One row, __ce_n_faults = 0. Raises an error if an id with a cluster is NULL or has several rows.
-- __ce_ids names a CTE of the rows of _graph_ids.
CREATE OR REPLACE MACRO clustereval._check_graph_ids(__ce_ids) AS TABLE
  WITH __ce_facts AS (
    SELECT
      COALESCE(SUM(CASE WHEN __ce_id IS NULL THEN __ce_times END), 0) AS __ce_n_null,
      MIN(CASE WHEN __ce_times > 1 THEN __ce_id END) AS __ce_twice
    FROM query_table(__ce_ids)
  )
  SELECT
    CASE
      WHEN __ce_n_null > 0
      THEN error(concat(
        'id: expected a value in every row with a cluster, got NULL in ', __ce_n_null, ' rows'
      ))
      WHEN __ce_twice IS NOT NULL
      THEN error(concat(
        'id: expected one row with a cluster per id, got several rows of id ',
        clustereval._show_value(__ce_twice), clustereval._repeated_id_advice()
      ))
      ELSE 0
    END AS __ce_n_faults
  FROM __ce_facts;

-- One row per node: __ce_partition, __ce_id, __ce_cluster, NULL for noise that counts as
-- singletons, __ce_node, its number, and __ce_cluster_no, that of its cluster. Raises the errors of
-- _check_graph_ids. __ce_ids names a CTE of the rows of _graph_ids, noise_as is the user's option.
CREATE OR REPLACE MACRO clustereval._graph_nodes(__ce_ids, noise_as) AS TABLE
  WITH __ce_faults AS (SELECT * FROM clustereval._check_graph_ids(__ce_ids)),
  __ce_members AS (
    SELECT
      __ce_partition, __ce_id, __ce_node,
      CASE WHEN NOT (__ce_is_noise AND noise_as = 'singletons') THEN __ce_cluster END
        AS __ce_cluster
    FROM query_table(__ce_ids)
    WHERE __ce_times > 0
      AND NOT (__ce_is_noise AND noise_as = 'drop')
      AND (SELECT __ce_n_faults FROM __ce_faults) = 0
  ),
  __ce_numbers AS (
    SELECT __ce_partition, __ce_cluster, MIN(__ce_node) AS __ce_cluster_no
    FROM __ce_members
    WHERE __ce_cluster IS NOT NULL
    GROUP BY __ce_partition, __ce_cluster
  )
  SELECT
    member.*,
    COALESCE(number.__ce_cluster_no, member.__ce_node) AS __ce_cluster_no
  FROM __ce_members AS member
  LEFT JOIN __ce_numbers AS number
    ON number.__ce_partition IS NOT DISTINCT FROM member.__ce_partition
    AND number.__ce_cluster = member.__ce_cluster;

-- One row per edge: __ce_partition; __ce_low and __ce_high, the numbers of its nodes, the lower
-- first; __ce_low_cluster and __ce_high_cluster, the numbers of their clusters; __ce_weight; and
-- __ce_n_rows, the rows of the table. The rows with an end in no cluster are one row per partition,
-- with __ce_low NULL. __ce_nodes names a CTE of the rows of _graph_nodes; the rest are the user's
-- arguments.
CREATE OR REPLACE MACRO clustereval._graph_edges(
  __ce_nodes, tbl, id, edges, "left", "right", weight, partition_by
) AS TABLE
  WITH __ce_ends AS (
    SELECT
      partition_by AS __ce_partition, "left" AS __ce_left, "right" AS __ce_right,
      CASE
        WHEN clustereval._is_left_out(weight) THEN 1.0
        ELSE clustereval._check_edge_weight(weight)
      END AS __ce_weight
    FROM query_table(edges)
    UNION ALL
    SELECT partition_by, id, id, 1.0 FROM query_table(tbl) WHERE FALSE
  ),
  __ce_joined AS (
    SELECT
      ends.__ce_partition, one.__ce_node AS __ce_one, two.__ce_node AS __ce_two,
      one.__ce_cluster_no AS __ce_one_cluster, two.__ce_cluster_no AS __ce_two_cluster,
      one.__ce_node IS NOT NULL AND two.__ce_node IS NOT NULL AS __ce_is_whole,
      ends.__ce_weight
    FROM __ce_ends AS ends
    LEFT JOIN query_table(__ce_nodes) AS one
      ON one.__ce_partition IS NOT DISTINCT FROM ends.__ce_partition
      AND one.__ce_id = ends.__ce_left
    LEFT JOIN query_table(__ce_nodes) AS two
      ON two.__ce_partition IS NOT DISTINCT FROM ends.__ce_partition
      AND two.__ce_id = ends.__ce_right
  ),
  __ce_ordered AS (
    SELECT
      __ce_partition,
      CASE WHEN __ce_is_whole THEN LEAST(__ce_one, __ce_two) END AS __ce_low,
      CASE WHEN __ce_is_whole THEN GREATEST(__ce_one, __ce_two) END AS __ce_high,
      CASE
        WHEN __ce_is_whole AND __ce_one < __ce_two THEN __ce_one_cluster
        WHEN __ce_is_whole THEN __ce_two_cluster
      END AS __ce_low_cluster,
      CASE
        WHEN __ce_is_whole AND __ce_one < __ce_two THEN __ce_two_cluster
        WHEN __ce_is_whole THEN __ce_one_cluster
      END AS __ce_high_cluster,
      __ce_weight
    FROM __ce_joined
  )
  SELECT
    __ce_partition,
    __ce_low,
    __ce_high,
    __ce_low_cluster,
    __ce_high_cluster,
    SUM(__ce_weight) AS __ce_weight,
    CAST(COUNT(*) AS BIGINT) AS __ce_n_rows
  FROM __ce_ordered
  -- The clusters follow from the nodes; as keys they take less time than as aggregates.
  GROUP BY __ce_partition, __ce_low, __ce_high, __ce_low_cluster, __ce_high_cluster;

---------------------------------------------------------------------------------------------------
-- Degrees and clusters
---------------------------------------------------------------------------------------------------

-- One row per node with an edge: __ce_node; __ce_degree and __ce_weight, number and weight of its
-- edges, self-loops twice; and __ce_inner_degree, the number of its inner edges. __ce_edges names a
-- CTE of the rows of _graph_edges.
CREATE OR REPLACE MACRO clustereval._graph_degrees(__ce_edges) AS TABLE
  WITH __ce_ends AS (
    SELECT
      __ce_low AS __ce_node, __ce_weight, __ce_low_cluster = __ce_high_cluster AS __ce_is_inner
    FROM query_table(__ce_edges)
    WHERE __ce_low IS NOT NULL
    UNION ALL
    SELECT __ce_high, __ce_weight, __ce_low_cluster = __ce_high_cluster
    FROM query_table(__ce_edges)
    WHERE __ce_low IS NOT NULL
  )
  SELECT
    __ce_node,
    COUNT(*) AS __ce_degree,
    SUM(__ce_weight) AS __ce_weight,
    COUNT(CASE WHEN __ce_is_inner THEN 1 END) AS __ce_inner_degree
  FROM __ce_ends
  GROUP BY __ce_node;

-- One row per cluster with an edge: __ce_cluster_no and its fewest and most edges at a node:
-- __ce_max_degree, self-loops twice; __ce_min_neighbors and __ce_max_neighbors, other nodes of the
-- cluster that a node with an inner edge is joined to; __ce_n_linked, the nodes that are joined to
-- one; and __ce_hub, a node with the most. __ce_edges names a CTE of the rows of _graph_edges. It
-- sums up less than _graph_degrees, which takes half as long.
CREATE OR REPLACE MACRO clustereval._graph_extremes(__ce_edges) AS TABLE
  WITH __ce_ends AS (
    SELECT
      __ce_low AS __ce_node, __ce_low_cluster AS __ce_cluster_no,
      __ce_low <> __ce_high AS __ce_is_pair
    FROM query_table(__ce_edges)
    WHERE __ce_low_cluster = __ce_high_cluster AND __ce_low IS NOT NULL
    UNION ALL
    SELECT __ce_high, __ce_high_cluster, __ce_low <> __ce_high
    FROM query_table(__ce_edges)
    WHERE __ce_low_cluster = __ce_high_cluster AND __ce_low IS NOT NULL
  ),
  __ce_degrees AS (
    SELECT
      __ce_node,
      __ce_cluster_no,
      COUNT(*) AS __ce_degree,
      COUNT(CASE WHEN __ce_is_pair THEN 1 END) AS __ce_n_neighbors
    FROM __ce_ends
    GROUP BY __ce_node, __ce_cluster_no
  )
  SELECT
    __ce_cluster_no,
    COUNT(CASE WHEN __ce_n_neighbors > 0 THEN 1 END) AS __ce_n_linked,
    MAX(__ce_degree) AS __ce_max_degree,
    MIN(__ce_n_neighbors) AS __ce_min_neighbors,
    MAX(__ce_n_neighbors) AS __ce_max_neighbors,
    arg_max(__ce_node, __ce_n_neighbors) AS __ce_hub
  FROM __ce_degrees
  GROUP BY __ce_cluster_no;

-- One row per cluster with an edge: __ce_cluster_no, __ce_n_edges and __ce_weight, number and
-- weight of its inner edges, __ce_n_links, those that are not self-loops, __ce_n_cut_edges and
-- __ce_cut_weight. __ce_edges names a CTE of the rows of _graph_edges.
CREATE OR REPLACE MACRO clustereval._graph_edge_sums(__ce_edges) AS TABLE
  WITH __ce_sides AS (
    SELECT
      __ce_low_cluster AS __ce_cluster_no, __ce_weight,
      __ce_low_cluster = __ce_high_cluster AS __ce_is_inner, __ce_low <> __ce_high AS __ce_is_pair
    FROM query_table(__ce_edges)
    WHERE __ce_low IS NOT NULL
    UNION ALL
    SELECT __ce_high_cluster, __ce_weight, FALSE, TRUE
    FROM query_table(__ce_edges)
    WHERE __ce_low IS NOT NULL AND __ce_low_cluster <> __ce_high_cluster
  )
  SELECT
    __ce_cluster_no,
    COUNT(CASE WHEN __ce_is_inner THEN 1 END) AS __ce_n_edges,
    COUNT(CASE WHEN __ce_is_inner AND __ce_is_pair THEN 1 END) AS __ce_n_links,
    clustereval._compensated_sum(CASE WHEN __ce_is_inner THEN __ce_weight END) AS __ce_weight,
    COUNT(CASE WHEN NOT __ce_is_inner THEN 1 END) AS __ce_n_cut_edges,
    clustereval._compensated_sum(CASE WHEN NOT __ce_is_inner THEN __ce_weight END)
      AS __ce_cut_weight
  FROM __ce_sides
  GROUP BY __ce_cluster_no;

-- One row, __ce_is_finite = TRUE. Raises an error if the weights of the edges of a partition have
-- no finite sum; the volumes of clusters are up to twice that. __ce_edges names a CTE of the rows
-- of _graph_edges.
CREATE OR REPLACE MACRO clustereval._check_weight_sums(__ce_edges) AS TABLE
  WITH __ce_sums AS (
    SELECT SUM(__ce_weight) AS __ce_sum
    FROM query_table(__ce_edges)
    WHERE __ce_low IS NOT NULL
    GROUP BY __ce_partition
  )
  SELECT
    CASE
      WHEN COUNT(CASE WHEN NOT isfinite(2 * __ce_sum) THEN 1 END) > 0
      THEN error(concat(
        'weight: expected weights with a finite sum over all edges, got a sum that overflows; ',
        'divide all weights by the same number'
      ))
      ELSE TRUE
    END AS __ce_is_finite
  FROM __ce_sums;

-- One row per cluster: __ce_partition, __ce_cluster, __ce_cluster_no, __ce_n_nodes, the sums of
-- _graph_edge_sums and the columns of _graph_extremes, 0 without an edge, but __ce_hub NULL. Raises
-- the error of _check_weight_sums. The parameters are names of CTEs: the rows of _graph_nodes and
-- _graph_edges.
CREATE OR REPLACE MACRO clustereval._graph_clusters(__ce_nodes, __ce_edges) AS TABLE
  WITH __ce_checked AS (SELECT * FROM clustereval._check_weight_sums(__ce_edges)),
  __ce_sizes AS (
    SELECT
      __ce_cluster_no,
      MIN(__ce_partition) AS __ce_partition,
      MIN(__ce_cluster) AS __ce_cluster,
      CAST(COUNT(*) AS BIGINT) AS __ce_n_nodes
    FROM query_table(__ce_nodes)
    GROUP BY __ce_cluster_no
    HAVING (SELECT __ce_is_finite FROM __ce_checked)
  ),
  __ce_sums AS (SELECT * FROM clustereval._graph_edge_sums(__ce_edges)),
  __ce_extremes AS (SELECT * FROM clustereval._graph_extremes(__ce_edges))
  SELECT
    size.*,
    CAST(COALESCE(sums.__ce_n_edges, 0) AS BIGINT) AS __ce_n_edges,
    CAST(COALESCE(sums.__ce_n_links, 0) AS BIGINT) AS __ce_n_links,
    COALESCE(sums.__ce_weight, 0.0) AS __ce_weight,
    CAST(COALESCE(sums.__ce_n_cut_edges, 0) AS BIGINT) AS __ce_n_cut_edges,
    COALESCE(sums.__ce_cut_weight, 0.0) AS __ce_cut_weight,
    CAST(COALESCE(extreme.__ce_max_degree, 0) AS BIGINT) AS __ce_max_degree,
    CASE
      WHEN extreme.__ce_n_linked = size.__ce_n_nodes THEN extreme.__ce_min_neighbors ELSE 0
    END AS __ce_min_neighbors,
    COALESCE(extreme.__ce_max_neighbors, 0) AS __ce_max_neighbors,
    extreme.__ce_hub
  FROM __ce_sizes AS size
  LEFT JOIN __ce_sums AS sums ON sums.__ce_cluster_no = size.__ce_cluster_no
  LEFT JOIN __ce_extremes AS extreme ON extreme.__ce_cluster_no = size.__ce_cluster_no;

-- Conductance of a cluster: the weight of its cut edges divided by the volume of the cluster or of
-- the rest of the graph, whichever is less. The volume is the sum of the weighted degrees. weight
-- is that of the inner edges, cut_weight that of the cut edges, total that of all edges.
CREATE OR REPLACE MACRO clustereval._conductance(weight, cut_weight, total) AS
  clustereval._at_most_1(clustereval._ratio(
    cut_weight,
    LEAST(2 * weight + cut_weight, GREATEST(2 * (total - weight) - cut_weight, cut_weight))
  ));

-- The rows of _graph_clusters with __ce_total, the weight of all edges of the partition, and
-- __ce_conductance. __ce_clusters names a CTE of the rows of _graph_clusters.
CREATE OR REPLACE MACRO clustereval._graph_conductances(__ce_clusters) AS TABLE
  WITH __ce_totals AS (
    SELECT
      __ce_partition,
      clustereval._compensated_sum(__ce_weight + __ce_cut_weight / 2) AS __ce_total
    FROM query_table(__ce_clusters)
    GROUP BY __ce_partition
  )
  SELECT
    one.*,
    total.__ce_total,
    clustereval._conductance(one.__ce_weight, one.__ce_cut_weight, total.__ce_total)
      AS __ce_conductance
  FROM query_table(__ce_clusters) AS one
  JOIN __ce_totals AS total ON total.__ce_partition IS NOT DISTINCT FROM one.__ce_partition;

---------------------------------------------------------------------------------------------------
-- Bridges and parts
---------------------------------------------------------------------------------------------------

-- Whether the nodes of a cluster of n_nodes are so well connected that it is one part without a
-- bridge: every node has at least two neighbors and is joined to half of the nodes (Chartrand 1966:
-- then no fewer edges than these neighbors divide it).
CREATE OR REPLACE MACRO clustereval._is_dense(n_nodes, min_neighbors) AS
  min_neighbors >= 2 AND min_neighbors >= floor(n_nodes / 2.0);

-- The ways of the inner edges of some clusters, in both directions: __ce_from, __ce_to and
-- __ce_cluster_no. __ce_edges names a CTE of the rows of _graph_edges, __ce_chosen one of the
-- __ce_cluster_no of the clusters.
CREATE OR REPLACE MACRO clustereval._graph_ways(__ce_edges, __ce_chosen) AS TABLE
  WITH __ce_links AS (
    SELECT edge.__ce_low, edge.__ce_high, edge.__ce_low_cluster
    FROM query_table(__ce_edges) AS edge
    SEMI JOIN query_table(__ce_chosen) AS chosen
      ON chosen.__ce_cluster_no = edge.__ce_low_cluster
    WHERE edge.__ce_low_cluster = edge.__ce_high_cluster AND edge.__ce_low <> edge.__ce_high
  )
  SELECT __ce_low AS __ce_from, __ce_high AS __ce_to, __ce_low_cluster AS __ce_cluster_no
  FROM __ce_links
  UNION ALL
  SELECT __ce_high, __ce_low, __ce_low_cluster FROM __ce_links;

-- One row per edge of a spanning forest of the clusters, but for those that _is_dense tells enough
-- about: __ce_cluster_no; __ce_low and __ce_high, numbers of nodes, the lower first; and
-- __ce_is_bridge. The parameters are names of CTEs: the rows of _graph_edges and _graph_clusters.
-- A cluster of two nodes has one edge, which needs no search.
CREATE OR REPLACE MACRO clustereval._graph_tree_edges(__ce_edges, __ce_clusters) AS TABLE
  WITH __ce_pairs AS (
    SELECT __ce_cluster_no FROM query_table(__ce_clusters) WHERE __ce_n_nodes = 2
  ),
  __ce_open AS MATERIALIZED (
    SELECT __ce_cluster_no, __ce_hub AS __ce_node
    FROM query_table(__ce_clusters)
    WHERE __ce_n_nodes > 2
      AND __ce_n_links > 0
      AND NOT clustereval._is_dense(__ce_n_nodes, __ce_min_neighbors)
  ),
  __ce_ways AS MATERIALIZED (SELECT * FROM clustereval._graph_ways(__ce_edges, __ce_open)),
  __ce_forest AS MATERIALIZED (
    SELECT * FROM clustereval._graph_forest(__ce_open, __ce_ways)
  ),
  __ce_trees AS (
    SELECT
      __ce_cluster_no,
      LEAST(__ce_node, __ce_parent) AS __ce_low,
      GREATEST(__ce_node, __ce_parent) AS __ce_high,
      __ce_is_bridge
    FROM clustereval._graph_bridges(__ce_forest, __ce_ways)
  )
  SELECT * FROM __ce_trees
  UNION ALL
  SELECT edge.__ce_low_cluster, edge.__ce_low, edge.__ce_high, TRUE
  FROM query_table(__ce_edges) AS edge
  SEMI JOIN __ce_pairs AS pair ON pair.__ce_cluster_no = edge.__ce_low_cluster
  WHERE edge.__ce_low_cluster = edge.__ce_high_cluster AND edge.__ce_low <> edge.__ce_high;

-- The rows of _graph_clusters with __ce_n_bridges and __ce_n_components, the number of parts. The
-- parameters are names of CTEs: the rows of _graph_clusters and of _graph_tree_edges. A forest has
-- an edge less than nodes for each part.
CREATE OR REPLACE MACRO clustereval._graph_components(__ce_clusters, __ce_tree_edges) AS TABLE
  WITH __ce_counts AS (
    SELECT
      __ce_cluster_no,
      COUNT(*) AS __ce_n_tree_edges,
      COUNT(CASE WHEN __ce_is_bridge THEN 1 END) AS __ce_n_bridges
    FROM query_table(__ce_tree_edges)
    GROUP BY __ce_cluster_no
  )
  SELECT
    one.*,
    CAST(COALESCE(counts.__ce_n_bridges, 0) AS BIGINT) AS __ce_n_bridges,
    CAST(CASE
      WHEN clustereval._is_dense(one.__ce_n_nodes, one.__ce_min_neighbors) THEN 1
      ELSE one.__ce_n_nodes - COALESCE(counts.__ce_n_tree_edges, 0)
    END AS BIGINT) AS __ce_n_components
  FROM query_table(__ce_clusters) AS one
  LEFT JOIN __ce_counts AS counts ON counts.__ce_cluster_no = one.__ce_cluster_no;

-- Diameter of a cluster without a search, -1 if it needs one, NULL if it has several parts. The
-- parameters are columns of _graph_components: a complete graph has diameter 1, another one with a
-- node that is a neighbor of all others 2.
CREATE OR REPLACE MACRO clustereval._known_diameter(
  n_nodes, n_links, max_neighbors, n_components
) AS
  CASE
    WHEN n_components > 1 THEN NULL
    WHEN n_nodes = 1 THEN 0
    WHEN clustereval._count_pairs(n_nodes) = n_links THEN 1
    WHEN max_neighbors = n_nodes - 1 THEN 2
    ELSE -1
  END;

-- One row per cluster of at most max_diameter_nodes nodes: __ce_cluster_no and __ce_diameter, NULL
-- if it has several parts. The other parameters are names of CTEs: the rows of _graph_nodes,
-- _graph_edges and _graph_components.
CREATE OR REPLACE MACRO clustereval._graph_cluster_diameters(
  __ce_nodes, __ce_edges, __ce_components, max_diameter_nodes
) AS TABLE
  WITH __ce_known AS MATERIALIZED (
    SELECT
      __ce_cluster_no,
      clustereval._known_diameter(
        __ce_n_nodes, __ce_n_links, __ce_max_neighbors, __ce_n_components
      ) AS __ce_diameter
    FROM query_table(__ce_components)
    WHERE __ce_n_nodes <= CAST(max_diameter_nodes AS DOUBLE)
  ),
  __ce_chosen AS (SELECT __ce_cluster_no FROM __ce_known WHERE __ce_diameter = -1),
  __ce_members AS (
    SELECT node.__ce_node, node.__ce_cluster_no
    FROM query_table(__ce_nodes) AS node
    SEMI JOIN __ce_chosen AS chosen ON chosen.__ce_cluster_no = node.__ce_cluster_no
  ),
  __ce_ways AS MATERIALIZED (SELECT * FROM clustereval._graph_ways(__ce_edges, __ce_chosen))
  SELECT __ce_cluster_no, __ce_diameter FROM __ce_known WHERE __ce_diameter <> -1
  UNION ALL
  SELECT __ce_cluster_no, __ce_diameter
  FROM clustereval._graph_diameters(__ce_members, __ce_ways);

---------------------------------------------------------------------------------------------------
-- Sums of a partition
---------------------------------------------------------------------------------------------------

-- Sums of all clusters of a partition, one row per partition: numbers and weights by the names of
-- _graph_conductances, __ce_n_clusters, __ce_pairs, the pairs of nodes of one cluster, and the
-- mean and the greatest conductance. __ce_clusters names a CTE of the rows of _graph_conductances,
-- resolution is the user's option.
CREATE OR REPLACE MACRO clustereval._graph_sums(__ce_clusters, resolution) AS TABLE
  SELECT
    __ce_partition,
    CAST(COUNT(*) AS BIGINT) AS __ce_n_clusters,
    CAST(SUM(__ce_n_nodes) AS BIGINT) AS __ce_n_nodes,
    CAST(SUM(__ce_n_edges) AS BIGINT) AS __ce_n_edges,
    CAST(SUM(__ce_n_edges - __ce_n_links) AS BIGINT) AS __ce_n_self_loops,
    CAST(SUM(__ce_n_cut_edges) / 2 AS BIGINT) AS __ce_n_cut_edges,
    SUM(clustereval._count_pairs(__ce_n_nodes)) AS __ce_pairs,
    clustereval._compensated_sum(__ce_weight) AS __ce_weight,
    MAX(__ce_total) AS __ce_total,
    clustereval._compensated_sum(
      clustereval._modularity_term(__ce_weight, __ce_cut_weight, __ce_total, resolution)
    ) AS __ce_modularity,
    AVG(__ce_conductance) AS __ce_mean_conductance,
    MAX(__ce_conductance) AS __ce_worst_conductance
  FROM query_table(__ce_clusters)
  GROUP BY __ce_partition;

-- What a cluster adds to the modularity: the share of its inner edges in the weight of all edges,
-- less resolution times the share that is expected of its volume. weight is that of its inner
-- edges, cut_weight that of its cut edges, total that of all edges.
CREATE OR REPLACE MACRO clustereval._modularity_term(weight, cut_weight, total, resolution) AS
  clustereval._ratio(weight, total)
    - CAST(resolution AS DOUBLE) * pow(clustereval._ratio(weight + cut_weight / 2, total), 2);

-- Performance: the pairs of nodes that are joined by an inner edge, or are in different clusters
-- and not joined, divided by all pairs. The parameters are counts of a partition: cluster_pairs are
-- the pairs of nodes of one cluster. As in networkx, n_edges, the inner edges, has self-loops.
CREATE OR REPLACE MACRO clustereval._graph_performance(
  n_nodes, n_edges, n_cut_edges, cluster_pairs
) AS
  clustereval._ratio(
    clustereval._count_pairs(n_nodes) - cluster_pairs + n_edges - n_cut_edges,
    clustereval._count_pairs(n_nodes)
  );

-- Rows of the two tables that are counted apart, one row per partition: __ce_n_dropped, rows
-- without a cluster, __ce_n_noise, __ce_n_dropped_edges, with an end in no cluster, and
-- __ce_n_duplicate_edges, further rows of the same edge; without partition_by at least one row.
-- __ce_ids and __ce_edges name CTEs of the rows of _graph_ids and _graph_edges; tbl and
-- partition_by are the user's arguments.
CREATE OR REPLACE MACRO clustereval._graph_row_counts(
  __ce_ids, __ce_edges, tbl, partition_by
) AS TABLE
  WITH __ce_counts AS (
    SELECT
      __ce_partition, __ce_n_dropped, CASE WHEN __ce_is_noise THEN 1 ELSE 0 END AS __ce_n_noise,
      0 AS __ce_n_dropped_edges, 0 AS __ce_n_duplicate_edges
    FROM query_table(__ce_ids)
    UNION ALL
    SELECT
      __ce_partition, 0, 0,
      CASE WHEN __ce_low IS NULL THEN __ce_n_rows ELSE 0 END,
      CASE WHEN __ce_low IS NULL THEN 0 ELSE __ce_n_rows - 1 END
    FROM query_table(__ce_edges)
    UNION ALL
    SELECT NULL, 0, 0, 0, 0
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._is_absent(partition_by)
  )
  SELECT
    __ce_partition,
    CAST(SUM(__ce_n_dropped) AS BIGINT) AS __ce_n_dropped,
    CAST(SUM(__ce_n_noise) AS BIGINT) AS __ce_n_noise,
    CAST(SUM(__ce_n_dropped_edges) AS BIGINT) AS __ce_n_dropped_edges,
    CAST(SUM(__ce_n_duplicate_edges) AS BIGINT) AS __ce_n_duplicate_edges
  FROM __ce_counts
  GROUP BY __ce_partition;
