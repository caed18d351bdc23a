-- graph_paths: searches in the graphs of clusters: spanning forests, bridges and diameters.
--
--   * Nodes are numbers. A way is an edge in one direction: __ce_from and __ce_to, two different
--     nodes of the cluster __ce_cluster_no. A table of ways has both directions of an edge, and no
--     way twice.
--   * A part is a set of nodes that ways connect. A spanning forest has a tree for each part.
--   * A bridge is an edge whose removal divides its part in two.
--   * A search takes a step for each level of its trees, so its steps grow with the diameter.

-- Breadth-first search. One row per node that ways connect with one of __ce_starts:
-- __ce_cluster_no, __ce_node, __ce_parent, the node that it was reached from, NULL for a start, and
-- __ce_level, the number of ways to the start. __ce_starts names a CTE of at most one node per part
-- with __ce_cluster_no and __ce_node, __ce_ways one of ways. The ways from a level lead to that
-- before, to itself and to the next one. So nodes are looked up in two levels only: each step hands
-- its own nodes on, no longer as the front.
CREATE OR REPLACE MACRO clustereval._graph_levels(__ce_starts, __ce_ways) AS TABLE
  WITH RECURSIVE __ce_search AS (
    SELECT
      __ce_cluster_no, __ce_node, CAST(NULL AS BIGINT) AS __ce_parent, 0 AS __ce_level,
      TRUE AS __ce_is_front
    FROM query_table(__ce_starts)
    UNION ALL
    (
      WITH __ce_reached AS (
        SELECT
          MIN(front.__ce_cluster_no) AS __ce_cluster_no,
          way.__ce_to AS __ce_node,
          MIN(front.__ce_node) AS __ce_parent,
          MIN(front.__ce_level) + 1 AS __ce_level
        FROM __ce_search AS front
        JOIN query_table(__ce_ways) AS way ON way.__ce_from = front.__ce_node
        WHERE front.__ce_is_front
        GROUP BY way.__ce_to
      )
      -- After the group, or DuckDB would compare all ways with the known nodes in each step.
      SELECT
        reached.__ce_cluster_no, reached.__ce_node, reached.__ce_parent, reached.__ce_level, TRUE
      FROM __ce_reached AS reached
      ANTI JOIN __ce_search AS known ON known.__ce_node = reached.__ce_node
      UNION ALL
      SELECT __ce_cluster_no, __ce_node, __ce_parent, __ce_level, FALSE
      FROM __ce_search
      WHERE __ce_is_front
    )
  )
  SELECT __ce_cluster_no, __ce_node, __ce_parent, __ce_level
  FROM __ce_search
  WHERE __ce_is_front;

-- One row per node of the ways: __ce_node and __ce_part, the lowest node of its part. __ce_ways
-- names a CTE of ways.
CREATE OR REPLACE MACRO clustereval._graph_parts(__ce_ways) AS TABLE
  WITH RECURSIVE __ce_labels USING KEY (__ce_node) AS (
    SELECT DISTINCT __ce_from AS __ce_node, __ce_from AS __ce_part FROM query_table(__ce_ways)
    UNION
    (
      WITH __ce_reached AS (
        SELECT way.__ce_to AS __ce_node, MIN(label.__ce_part) AS __ce_part
        FROM __ce_labels AS label
        JOIN query_table(__ce_ways) AS way ON way.__ce_from = label.__ce_node
        GROUP BY way.__ce_to
      )
      SELECT reached.__ce_node, reached.__ce_part
      FROM __ce_reached AS reached
      JOIN recurring.__ce_labels AS known ON known.__ce_node = reached.__ce_node
      WHERE reached.__ce_part < known.__ce_part
    )
  )
  SELECT __ce_node, __ce_part FROM __ce_labels;

-- A spanning forest of the ways: one row per node, with the columns of _graph_levels. __ce_starts
-- names a CTE of one node per cluster, __ce_ways one of ways. Most clusters are one part, which the
-- search from the start covers; only nodes beyond it need _graph_parts, which takes longer.
CREATE OR REPLACE MACRO clustereval._graph_forest(__ce_starts, __ce_ways) AS TABLE
  WITH __ce_covered AS MATERIALIZED (
    SELECT * FROM clustereval._graph_levels(__ce_starts, __ce_ways)
  ),
  __ce_rest AS MATERIALIZED (
    SELECT way.__ce_from, way.__ce_to, way.__ce_cluster_no
    FROM query_table(__ce_ways) AS way
    ANTI JOIN __ce_covered AS covered ON covered.__ce_node = way.__ce_from
  ),
  __ce_parts AS (SELECT * FROM clustereval._graph_parts(__ce_rest)),
  __ce_other_starts AS (
    SELECT DISTINCT way.__ce_cluster_no, way.__ce_from AS __ce_node
    FROM __ce_rest AS way
    SEMI JOIN __ce_parts AS part ON part.__ce_part = way.__ce_from
  )
  SELECT * FROM __ce_covered
  UNION ALL
  SELECT * FROM clustereval._graph_levels(__ce_other_starts, __ce_rest);

-- The edges of a spanning forest, and whether they are bridges; every bridge is among them. One row
-- per edge: __ce_cluster_no, its ends __ce_node and __ce_parent, and __ce_is_bridge. __ce_forest
-- names a CTE of the rows of _graph_forest, __ce_ways one of the ways.
-- An edge that is not in the forest closes a circle with the ways of its ends up to the node where
-- they meet; an edge of the forest is a bridge unless it is in such a circle. Each step of the
-- search moves the lower end of such a pair of ends, __ce_low, to its parent. Pairs that coincide
-- go on as one.
CREATE OR REPLACE MACRO clustereval._graph_bridges(__ce_forest, __ce_ways) AS TABLE
  WITH RECURSIVE __ce_other_edges AS (
    SELECT
      near.__ce_node AS __ce_near, near.__ce_level AS __ce_near_level,
      far.__ce_node AS __ce_far, far.__ce_level AS __ce_far_level
    FROM query_table(__ce_ways) AS way
    JOIN query_table(__ce_forest) AS near ON near.__ce_node = way.__ce_from
    JOIN query_table(__ce_forest) AS far ON far.__ce_node = way.__ce_to
    WHERE way.__ce_from < way.__ce_to
      AND near.__ce_parent IS DISTINCT FROM far.__ce_node
      AND far.__ce_parent IS DISTINCT FROM near.__ce_node
  ),
  __ce_circles AS (
    SELECT
      CASE WHEN __ce_near_level < __ce_far_level THEN __ce_far ELSE __ce_near END AS __ce_low,
      CASE WHEN __ce_near_level < __ce_far_level THEN __ce_near ELSE __ce_far END AS __ce_high,
      GREATEST(__ce_near_level, __ce_far_level) AS __ce_low_level,
      LEAST(__ce_near_level, __ce_far_level) AS __ce_high_level
    FROM __ce_other_edges
    UNION
    SELECT
      CASE
        WHEN pair.__ce_low_level > pair.__ce_high_level THEN low.__ce_parent ELSE pair.__ce_high
      END,
      CASE
        WHEN pair.__ce_low_level > pair.__ce_high_level THEN pair.__ce_high ELSE low.__ce_parent
      END,
      GREATEST(pair.__ce_low_level - 1, pair.__ce_high_level),
      LEAST(pair.__ce_low_level - 1, pair.__ce_high_level)
    FROM __ce_circles AS pair
    JOIN query_table(__ce_forest) AS low ON low.__ce_node = pair.__ce_low
    WHERE low.__ce_parent <> pair.__ce_high
  )
  SELECT
    tree.__ce_cluster_no, tree.__ce_node, tree.__ce_parent,
    circle.__ce_low IS NULL AS __ce_is_bridge
  FROM query_table(__ce_forest) AS tree
  LEFT JOIN (SELECT DISTINCT __ce_low FROM __ce_circles) AS circle
    ON circle.__ce_low = tree.__ce_node
  WHERE tree.__ce_parent IS NOT NULL;

-- The starts of the searches of _graph_diameters. One row per node and block of 64 nodes of its
-- cluster: __ce_cluster_no, __ce_node, __ce_block, __ce_reached, the bit of the node if it is in the
-- block, and __ce_all, the bits of all nodes of the block. __ce_members names a CTE of nodes with
-- __ce_node and __ce_cluster_no.
CREATE OR REPLACE MACRO clustereval._graph_blocks(__ce_members) AS TABLE
  WITH __ce_places AS (
    SELECT
      __ce_cluster_no,
      __ce_node,
      row_number() OVER (PARTITION BY __ce_cluster_no) - 1 AS __ce_place,
      COUNT(*) OVER (PARTITION BY __ce_cluster_no) AS __ce_n_nodes
    FROM query_table(__ce_members)
  ),
  __ce_pairs AS (
    SELECT *, unnest(range(0, (__ce_n_nodes + 63) // 64)) AS __ce_block FROM __ce_places
  )
  SELECT
    __ce_cluster_no,
    __ce_node,
    __ce_block,
    CASE
      WHEN __ce_place // 64 = __ce_block THEN CAST(1 AS UBIGINT) << (__ce_place % 64)
      ELSE CAST(0 AS UBIGINT)
    END AS __ce_reached,
    CASE
      WHEN 64 * (__ce_block + 1) <= __ce_n_nodes THEN ~CAST(0 AS UBIGINT)
      ELSE (CAST(1 AS UBIGINT) << (__ce_n_nodes % 64)) - 1
    END AS __ce_all
  FROM __ce_pairs;

-- One row per cluster of the nodes: __ce_cluster_no and __ce_diameter, the number of edges between
-- the two nodes that are furthest apart. __ce_members names a CTE of nodes with __ce_node and
-- __ce_cluster_no, all nodes of clusters of one part each; __ce_ways one of their ways.
-- After k steps __ce_reached has the nodes of a block that are at most k ways from a node: 64
-- searches in one number. A step gives each node the bits of its neighbors and its own: it counts
-- as a neighbor of itself. A row that has all bits takes part in one more step, which gives them to
-- the neighbors, and then is left out.
CREATE OR REPLACE MACRO clustereval._graph_diameters(__ce_members, __ce_ways) AS TABLE
  WITH RECURSIVE __ce_neighbors AS MATERIALIZED (
    SELECT __ce_from, __ce_to FROM query_table(__ce_ways)
    UNION ALL
    SELECT __ce_node, __ce_node FROM query_table(__ce_members)
  ),
  __ce_search AS (
    SELECT *, 0 AS __ce_level FROM clustereval._graph_blocks(__ce_members)
    UNION ALL
    SELECT
      MIN(search.__ce_cluster_no),
      way.__ce_to,
      search.__ce_block,
      BIT_OR(search.__ce_reached),
      MIN(search.__ce_all),
      MIN(search.__ce_level) + 1
    FROM __ce_search AS search
    JOIN __ce_neighbors AS way ON way.__ce_from = search.__ce_node
    GROUP BY way.__ce_to, search.__ce_block
    HAVING BOOL_OR(way.__ce_from = way.__ce_to AND search.__ce_reached <> search.__ce_all)
  )
  SELECT __ce_cluster_no, MAX(__ce_level) AS __ce_diameter
  FROM __ce_search
  GROUP BY __ce_cluster_no;
