-- parts: the connected parts of a graph.

-- One row per node of the arcs, which have both directions of each edge, from_node and to_node:
-- node, and part, the lowest node of its part.
CREATE OR REPLACE MACRO clustereval._graph_parts(arcs) AS TABLE
  WITH RECURSIVE labels USING KEY (node) AS (
    SELECT DISTINCT from_node AS node, from_node AS part FROM query_table(arcs)
    UNION ALL
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
