-- graph_paths: searches in the graphs of clusters: spanning forests, bridges and diameters.
--
--   * Nodes are numbers. An arc is an edge in one direction: from_node and to_node, two different
--     nodes of the cluster cluster_no. A table of arcs has both directions of an edge, and no
--     arc twice.
--   * A part is a set of nodes that arcs connect. A spanning forest has a tree for each part.
--   * A bridge is an edge whose removal divides its part in two.
--   * A search takes a step for each level of its trees, so its steps grow with the diameter.

-- Breadth-first search. One row per node that arcs connect with one of starts: cluster_no, node,
-- parent, the node that it was reached from, NULL for a start, and level, the number of arcs to the
-- start. starts names a CTE of at most one node per part with cluster_no and node, arcs one of
-- arcs. The arcs from a level lead to that before, to itself and to the next one. So nodes are
-- looked up in two levels only: each step hands its own nodes on, no longer as the front.
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
      -- After the group, or DuckDB would compare all arcs with the known nodes in each step.
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

-- One row per node of the arcs: node and part, the lowest node of its part. arcs names a CTE of
-- arcs.
CREATE OR REPLACE MACRO clustereval._graph_parts(arcs) AS TABLE
  WITH RECURSIVE labels USING KEY (node) AS (
    SELECT DISTINCT from_node AS node, from_node AS part FROM query_table(arcs)
    UNION
    (
      WITH reached AS (
        SELECT arc.to_node AS node, MIN(label.part) AS part
        FROM labels AS label
        JOIN query_table(arcs) AS arc ON arc.from_node = label.node
        GROUP BY arc.to_node
      )
      SELECT reached.node, reached.part
      FROM reached
      JOIN recurring.labels AS known ON known.node = reached.node
      WHERE reached.part < known.part
    )
  )
  SELECT node, part FROM labels;

-- A spanning forest of the arcs: one row per node, with the columns of _graph_levels. starts names
-- a CTE of one node per cluster, arcs one of arcs. Most clusters are one part, which the search
-- from the start covers; only nodes beyond it need _graph_parts, which takes longer.
CREATE OR REPLACE MACRO clustereval._graph_forest(starts, arcs) AS TABLE
  WITH covered AS MATERIALIZED (SELECT * FROM clustereval._graph_levels(starts, arcs)),
  rest AS MATERIALIZED (
    SELECT arc.from_node, arc.to_node, arc.cluster_no
    FROM query_table(arcs) AS arc
    ANTI JOIN covered ON covered.node = arc.from_node
  ),
  parts AS (SELECT * FROM clustereval._graph_parts(rest)),
  other_starts AS (
    SELECT DISTINCT arc.cluster_no, arc.from_node AS node
    FROM rest AS arc
    SEMI JOIN parts AS part ON part.part = arc.from_node
  )
  SELECT * FROM covered
  UNION ALL
  SELECT * FROM clustereval._graph_levels(other_starts, rest);

-- The edges of a spanning forest, and whether they are bridges; every bridge is among them. One row
-- per edge: cluster_no, its ends node and parent, and is_bridge. forest: rows of _graph_forest,
-- arcs one of the arcs. An edge that is not in the forest closes a circle with the arcs of its ends
-- up to the node where they meet; an edge of the forest is a bridge unless it is in such a circle.
-- Each step of the search moves the lower end of such a pair of ends, low, to its parent. Pairs
-- that coincide go on as one.
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

-- The starts of the searches of _graph_diameters. One row per node and block of 64 nodes of its
-- cluster: cluster_no, node, block, reached, the bit of the node if it is in the block, and
-- all_nodes, the bits of all nodes of the block. members names a CTE of nodes with node and
-- cluster_no.
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

-- One row per cluster of the nodes: cluster_no and diameter, the number of edges between the two
-- nodes that are furthest apart. members names a CTE of nodes with node and cluster_no, all nodes
-- of clusters of one part each; arcs one of their arcs. After k steps reached has the nodes of a
-- block that are at most k arcs from a node: 64 searches in one number. A step gives each node the
-- bits of its neighbors and its own: it counts as a neighbor of itself. A row that has all bits
-- takes part in one more step, which gives them to the neighbors, and then is left out.
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
