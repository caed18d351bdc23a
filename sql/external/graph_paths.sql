-- graph_paths: searches in the graphs of clusters: spanning forests, bridges and diameters.
--
--   * Nodes are numbers. An arc is an edge in one direction: from_node and to_node, two different
--     nodes of the cluster cluster_no. A table of arcs has both directions of an edge, and no
--     arc twice.
--   * A part is a set of nodes that are connected by arcs. A spanning forest has a tree for each
--     part.
--   * A bridge is an edge whose removal divides its part in two.
--   * A search takes a step for each level of its trees, so its steps grow with the diameter.
--   * A cluster of at most eight nodes needs no search: its matrix of 8 × 8 bits is a number. Bit j
--     of byte i is set if the nodes at the places i and j, counted from 0, are the same or joined.
--     Places without a node count as nodes that are not joined to any other.

-- Breadth-first search. One row per node that arcs connect with a node of starts (cluster_no and
-- node, at most one per part): cluster_no; node; parent, from which it was reached, NULL for a
-- start; and level. The arcs from a level lead to the level before, to the same and to the next
-- level, so nodes have to be looked up in only two: each step passes its own nodes on, but not as
-- the front.
CREATE OR REPLACE MACRO clustereval._graph_levels(starts, arcs) AS TABLE
  WITH RECURSIVE search AS (
    SELECT
      cluster_no, node, CAST(NULL AS BIGINT) AS parent, 0 AS level,
      TRUE AS is_front
    FROM query_table(starts)
    UNION ALL
    (
      WITH reached AS (
        SELECT
          MIN(front.cluster_no) AS cluster_no,
          arc.to_node AS node,
          MIN(front.node) AS parent,
          MIN(front.level) + 1 AS level
        FROM search AS front
        JOIN query_table(arcs) AS arc ON arc.from_node = front.node
        WHERE front.is_front
        GROUP BY arc.to_node
      )
      -- This comes after the group, or DuckDB would compare all arcs with the known nodes in each
      -- step.
      SELECT
        reached.cluster_no, reached.node, reached.parent, reached.level, TRUE
      FROM reached
      ANTI JOIN search AS known ON known.node = reached.node
      UNION ALL
      SELECT cluster_no, node, parent, level, FALSE
      FROM search
      WHERE is_front
    )
  )
  SELECT cluster_no, node, parent, level
  FROM search
  WHERE is_front;

-- A spanning forest of the arcs: the columns of _graph_levels. Most clusters have only one part,
-- which the search from the start of the cluster covers. Only other nodes need _graph_parts, which
-- takes longer.
CREATE OR REPLACE MACRO clustereval._graph_forest(starts, arcs) AS TABLE
  WITH covered AS MATERIALIZED (SELECT * FROM clustereval._graph_levels(starts, arcs)),
  rest AS MATERIALIZED (
    SELECT arc.from_node, arc.to_node, arc.cluster_no
    FROM query_table(arcs) AS arc
    ANTI JOIN covered ON covered.node = arc.from_node
  ),
  other_starts AS (
    SELECT DISTINCT arc.cluster_no, arc.from_node AS node
    FROM rest AS arc
    SEMI JOIN clustereval._graph_parts(rest) AS part ON part.part = arc.from_node
  )
  SELECT * FROM covered
  UNION ALL
  SELECT * FROM clustereval._graph_levels(other_starts, rest);

-- The edges of the forest: cluster_no, node, parent and is_bridge; every bridge is among them. An
-- edge outside of the forest closes a cycle with the arcs from its two ends up to the node where
-- these meet, and an edge of the forest is a bridge unless it is in such a cycle. Each step moves
-- the lower end of such a pair, low, to its parent. Pairs that coincide are merged.
CREATE OR REPLACE MACRO clustereval._graph_bridges(forest, arcs) AS TABLE
  WITH RECURSIVE other_edges AS (
    SELECT
      near.node AS near, near.level AS near_level, far.node AS far, far.level AS far_level
    FROM query_table(arcs) AS arc
    JOIN query_table(forest) AS near ON near.node = arc.from_node
    JOIN query_table(forest) AS far ON far.node = arc.to_node
    WHERE arc.from_node < arc.to_node
      AND near.parent IS DISTINCT FROM far.node
      AND far.parent IS DISTINCT FROM near.node
  ),
  circles AS (
    SELECT
      CASE WHEN near_level < far_level THEN far ELSE near END AS low,
      CASE WHEN near_level < far_level THEN near ELSE far END AS high,
      GREATEST(near_level, far_level) AS low_level,
      LEAST(near_level, far_level) AS high_level
    FROM other_edges
    UNION
    SELECT
      CASE
        WHEN pair.low_level > pair.high_level THEN low.parent ELSE pair.high
      END,
      CASE
        WHEN pair.low_level > pair.high_level THEN pair.high ELSE low.parent
      END,
      GREATEST(pair.low_level - 1, pair.high_level),
      LEAST(pair.low_level - 1, pair.high_level)
    FROM circles AS pair
    JOIN query_table(forest) AS low ON low.node = pair.low
    WHERE low.parent <> pair.high
  )
  SELECT
    tree.cluster_no, tree.node, tree.parent,
    circle.low IS NULL AS is_bridge
  FROM query_table(forest) AS tree
  LEFT JOIN (SELECT DISTINCT low FROM circles) AS circle ON circle.low = tree.node
  WHERE tree.parent IS NOT NULL;

---------------------------------------------------------------------------------------------------
-- Matrices of small clusters
---------------------------------------------------------------------------------------------------

-- The largest number of nodes of a cluster that has a matrix.
CREATE OR REPLACE MACRO clustereval._matrix_nodes() AS 8;

-- The product of two matrices, UBIGINT: the pairs of places that are connected by a step of `one`
-- followed by a step of `two`. Term k has row k of `two` in each byte in which the row of `one` has
-- bit k. 72340172838076673 has the lowest bit of every byte.
CREATE OR REPLACE MACRO clustereval._matrix_product(one, two) AS
  (one & 72340172838076673) * (two & 255)
  | ((one >> 1) & 72340172838076673) * ((two >> 8) & 255)
  | ((one >> 2) & 72340172838076673) * ((two >> 16) & 255)
  | ((one >> 3) & 72340172838076673) * ((two >> 24) & 255)
  | ((one >> 4) & 72340172838076673) * ((two >> 32) & 255)
  | ((one >> 5) & 72340172838076673) * ((two >> 40) & 255)
  | ((one >> 6) & 72340172838076673) * ((two >> 48) & 255)
  | ((one >> 7) & 72340172838076673) * (two >> 56);

-- The two bits of an edge in a matrix. The parameters are the places of its nodes.
CREATE OR REPLACE MACRO clustereval._matrix_bits(one, two) AS
  (CAST(1 AS UBIGINT) << (8 * one + two)) | (CAST(1 AS UBIGINT) << (8 * two + one));

-- One row per edge of small clusters: cluster_no, n_nodes, low and high, and their places. members:
-- node and cluster_no; links: rows of _graph_links.
CREATE OR REPLACE MACRO clustereval._graph_places(members, links) AS TABLE
  WITH lists AS (
    SELECT cluster_no, list(node) AS nodes
    FROM query_table(members)
    GROUP BY cluster_no
  )
  SELECT
    link.cluster_no,
    len(lists.nodes) AS n_nodes,
    link.low,
    link.high,
    list_position(lists.nodes, link.low) - 1 AS low_place,
    list_position(lists.nodes, link.high) - 1 AS high_place
  FROM query_table(links) AS link
  JOIN lists ON lists.cluster_no = link.cluster_no;

-- One row per cluster: cluster_no, n_nodes and its matrix. places: rows of _graph_places.
-- 9241421688590303745 has the bits of the diagonal.
CREATE OR REPLACE MACRO clustereval._graph_matrices(places) AS TABLE
  SELECT
    cluster_no,
    n_nodes,
    BIT_OR(clustereval._matrix_bits(low_place, high_place)) | 9241421688590303745 AS matrix
  FROM query_table(places)
  GROUP BY cluster_no, n_nodes;

-- The rows of places with is_bridge. An edge is a bridge unless its nodes are also connected
-- without it, by at most seven edges: then a node is at most four edges from both.
CREATE OR REPLACE MACRO clustereval._graph_place_bridges(places, matrices) AS TABLE
  WITH others AS (
    SELECT
      place.*,
      xor(
        one.matrix, clustereval._matrix_bits(place.low_place, place.high_place)
      ) AS matrix
    FROM query_table(places) AS place
    JOIN query_table(matrices) AS one ON one.cluster_no = place.cluster_no
  ),
  doubled AS (SELECT *, clustereval._matrix_product(matrix, matrix) AS within_2 FROM others),
  ends AS (SELECT *, clustereval._matrix_product(within_2, within_2) AS within_4 FROM doubled)
  SELECT
    cluster_no,
    low,
    high,
    (within_4 >> (8 * low_place)) & (within_4 >> (8 * high_place)) & 255 = 0 AS is_bridge
  FROM ends;

-- Number of edges of a spanning forest. within_7 has the pairs of places that are joined by a path.
-- 9169081515752227072 has the bits of lower places in each byte: any of these bits in a byte says
-- that the node is not the first of its part. The sum carries such a bit to the highest bit of the
-- byte.
CREATE OR REPLACE MACRO clustereval._matrix_tree_edges(within_7) AS
  bit_count(
    ((within_7 & 9169081515752227072) + 9187201950435737471) & 9259542123273814144
  );

-- One row per cluster: cluster_no, n_tree_edges, and diameter, NULL if it has several parts.
CREATE OR REPLACE MACRO clustereval._graph_matrix_shapes(matrices) AS TABLE
  WITH doubled AS (
    SELECT
      cluster_no, n_nodes, matrix,
      clustereval._matrix_product(matrix, matrix) AS within_2
    FROM query_table(matrices)
  ),
  powers AS (
    SELECT
      *,
      clustereval._matrix_product(within_2, matrix) AS within_3,
      clustereval._matrix_product(within_2, within_2) AS within_4
    FROM doubled
  ),
  paths AS (
    SELECT
      *,
      clustereval._matrix_product(within_4, matrix) AS within_5,
      clustereval._matrix_product(within_4, within_2) AS within_6,
      clustereval._matrix_product(within_4, within_3) AS within_7
    FROM powers
  )
  SELECT
    cluster_no,
    clustereval._matrix_tree_edges(within_7) AS n_tree_edges,
    CASE
      -- The matrices grow with the length, up to the diameter.
      WHEN clustereval._matrix_tree_edges(within_7) = n_nodes - 1
      THEN 1
        + CASE WHEN matrix <> within_7 THEN 1 ELSE 0 END
        + CASE WHEN within_2 <> within_7 THEN 1 ELSE 0 END
        + CASE WHEN within_3 <> within_7 THEN 1 ELSE 0 END
        + CASE WHEN within_4 <> within_7 THEN 1 ELSE 0 END
        + CASE WHEN within_5 <> within_7 THEN 1 ELSE 0 END
        + CASE WHEN within_6 <> within_7 THEN 1 ELSE 0 END
    END AS diameter
  FROM paths;

---------------------------------------------------------------------------------------------------
-- Diameters
---------------------------------------------------------------------------------------------------

-- Diameter of a cluster without a search, -1 if it needs one, NULL if it has several parts. A
-- complete graph has diameter 1. Another one has diameter 2 if a node is a neighbor of all others,
-- or if every two nodes that are not joined have so many neighbors that they must share one.
CREATE OR REPLACE MACRO clustereval._known_diameter(
  n_nodes, n_links, min_neighbors, max_neighbors, n_components, matrix_diameter
) AS
  CASE
    WHEN n_components > 1 THEN NULL
    WHEN n_nodes = 1 THEN 0
    WHEN clustereval._count_pairs(n_nodes) = n_links THEN 1
    WHEN max_neighbors = n_nodes - 1 THEN 2
    WHEN 2 * min_neighbors >= n_nodes - 1 THEN 2
    ELSE COALESCE(matrix_diameter, -1)
  END;

-- The starts of the searches of _graph_diameters, one row per node and block of 64 nodes of its
-- cluster: cluster_no; node; block; reached, with the bit of the node if it is in the block; and
-- all_nodes, with the bits of the block.
CREATE OR REPLACE MACRO clustereval._graph_blocks(members) AS TABLE
  WITH places AS (
    SELECT
      cluster_no,
      node,
      row_number() OVER (PARTITION BY cluster_no) - 1 AS place,
      COUNT(*) OVER (PARTITION BY cluster_no) AS n_nodes
    FROM query_table(members)
  ),
  pairs AS (SELECT *, unnest(range(0, (n_nodes + 63) // 64)) AS block FROM places)
  SELECT
    cluster_no,
    node,
    block,
    CASE
      WHEN place // 64 = block THEN CAST(1 AS UBIGINT) << (place % 64)
      ELSE CAST(0 AS UBIGINT)
    END AS reached,
    CASE
      WHEN 64 * (block + 1) <= n_nodes THEN ~CAST(0 AS UBIGINT)
      ELSE (CAST(1 AS UBIGINT) << (n_nodes % 64)) - 1
    END AS all_nodes
  FROM pairs;

-- One row per cluster: cluster_no and diameter. members (node and cluster_no) has all nodes of
-- clusters of one part. After k steps, reached has the bits of the nodes of a block that are at
-- most k arcs from a node, so one number holds 64 searches. A step gives each node the bits of its
-- neighbors, among which it counts itself. A row that has all bits takes part in one more step,
-- which passes them to the neighbors, and is then left out.
CREATE OR REPLACE MACRO clustereval._graph_diameters(members, arcs) AS TABLE
  WITH RECURSIVE neighbors AS MATERIALIZED (
    SELECT from_node, to_node FROM query_table(arcs)
    UNION ALL
    SELECT node, node FROM query_table(members)
  ),
  search AS (
    SELECT *, 0 AS level FROM clustereval._graph_blocks(members)
    UNION ALL
    SELECT
      MIN(search.cluster_no),
      arc.to_node,
      search.block,
      BIT_OR(search.reached),
      MIN(search.all_nodes),
      MIN(search.level) + 1
    FROM search
    JOIN neighbors AS arc ON arc.from_node = search.node
    GROUP BY arc.to_node, search.block
    HAVING BOOL_OR(arc.from_node = arc.to_node AND search.reached <> search.all_nodes)
  )
  SELECT cluster_no, MAX(level) AS diameter
  FROM search
  GROUP BY cluster_no;
