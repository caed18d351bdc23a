-- components: the clusters that the edges of a graph make, at one threshold of their weights.
--
--   * Two ids are in the same cluster if a path of edges joins them. The nodes are numbered in the
--     order of their ids, so the lowest number of a component is that of its least id, which names
--     it.

---------------------------------------------------------------------------------------------------
-- Nodes and links
---------------------------------------------------------------------------------------------------

-- One row per row of the table tbl: partition_key; id; label; node, its number in the order of
-- partitions and ids; and partition_no, the lowest number of its partition. Raises an error if an
-- id is NULL or has several rows. is_compared: see _check_graph_columns. Two parts of the union
-- have no rows; see _graph_ids.
CREATE OR REPLACE MACRO clustereval._edge_nodes(
  tbl, id, label, edges, "left", "right", weight, partition_by, is_compared
) AS TABLE
  WITH __ce_checked AS (
    SELECT valid
    FROM clustereval._check_graph_columns(
      tbl, id, id, edges, "left", "right", weight, partition_by, NULL, 'weight', 'edges',
      is_compared, weight_range := 'finite numbers'
    )
  ),
  __ce_labels AS (
    SELECT
      clustereval._check_columns(TRUE, [clustereval._given_column('label', label)]) AS __ce_valid
    FROM query_table(tbl)
    WHERE FALSE
  ),
  __ce_rows AS (
    SELECT partition_by AS __ce_partition, id AS __ce_id, label AS __ce_label
    FROM query_table(tbl)
    WHERE (SELECT valid FROM __ce_checked) AND (SELECT __ce_valid FROM __ce_labels)
    UNION ALL
    SELECT partition_by, "left", NULL FROM query_table(edges) WHERE FALSE
    UNION ALL
    SELECT partition_by, "right", NULL FROM query_table(edges) WHERE FALSE
  ),
  numbered AS (
    SELECT
      row.__ce_partition AS partition_key, row.__ce_id AS id, row.__ce_label AS label,
      row_number() OVER (
        ORDER BY row.__ce_partition ASC NULLS LAST, row.__ce_id ASC NULLS LAST
      ) AS node,
      COUNT(*) OVER (PARTITION BY row.__ce_partition, row.__ce_id) AS times
    FROM __ce_rows AS row
  ),
  faults AS (
    SELECT
      COUNT(CASE WHEN row.id IS NULL THEN 1 END) AS n_null,
      MIN(CASE WHEN times > 1 THEN row.id END) AS twice
    FROM numbered AS row
  )
  SELECT
    row.partition_key, row.id, row.label, row.node,
    MIN(row.node) OVER (PARTITION BY row.partition_key) AS partition_no
  FROM numbered AS row
  CROSS JOIN faults
  WHERE CASE
    WHEN n_null > 0
    THEN error(concat('id: expected a value in every row, got NULL in ', n_null, ' rows'))
    WHEN twice IS NOT NULL
    THEN error(concat(
      'id: expected one row per id, got several rows of id ', clustereval._show_value(twice),
      clustereval._repeated_id_advice()
    ))
    ELSE TRUE
  END;

-- One row per pair of different nodes with an edge whose weight is at least threshold, or with any
-- edge without one: partition_no; low and high, their numbers; and weight, the highest. Raises an
-- error if there are nodes and edges, but no edge joins two nodes. nodes: rows of _edge_nodes.
CREATE OR REPLACE MACRO clustereval._edge_links(
  nodes, tbl, id, edges, "left", "right", weight, threshold, partition_by
) AS TABLE
  -- Until the edges are known, each partition is a cluster.
  WITH __ce_numbered AS (SELECT *, partition_no AS cluster_no FROM query_table(nodes)),
  __ce_pairs AS MATERIALIZED (
    SELECT
      entry.low_cluster AS partition_no, entry.low, entry.high,
      MAX(entry.weight) AS weight, COUNT(*) AS n_rows, MIN(entry.stranger) AS stranger
    FROM clustereval._graph_edge_rows(
      __ce_numbered, tbl, id, edges, "left", "right", weight, threshold, partition_by,
      weight_range := 'finite numbers'
    ) AS entry
    GROUP BY entry.low_cluster, entry.low, entry.high
  ),
  known AS (SELECT MIN(node.id) AS id FROM query_table(nodes) AS node),
  checked AS (
    SELECT clustereval._check_joined(
      TRUE, COUNT(pair.low), SUM(pair.n_rows), MIN(known.id), MIN(pair.stranger), 'edges',
      'ids of the table'
    ) AS valid
    FROM __ce_pairs AS pair
    CROSS JOIN known
  )
  SELECT pair.partition_no, pair.low, pair.high, pair.weight
  FROM __ce_pairs AS pair
  WHERE pair.low <> pair.high AND (SELECT valid FROM checked);

-- Both directions of the links (_edge_links), as arcs (see graph_paths.sql), with their weight.
CREATE OR REPLACE MACRO clustereval._edge_arcs(links) AS TABLE
  SELECT partition_no, low AS from_node, high AS to_node, weight FROM query_table(links)
  UNION ALL
  SELECT partition_no, high, low, weight FROM query_table(links);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- The clusters of the ids that edges connect, directly or through other ids: one row per row of tbl
-- with id, and cluster, which is the least id of its cluster. edges is a table of edges with the
-- columns left and right, ids of tbl, and weight. Only edges whose weight is at least threshold
-- count, by default all. partition_by is a column of both tables.
-- Examples:
--   FROM clustereval.connected_components(people, id, matches, id_l, id_r);
--   FROM clustereval.connected_components(
--     people, id, matches, id_l, id_r, weight := score, threshold := 0.5
--   );
CREATE OR REPLACE MACRO clustereval.connected_components(
  tbl, id, edges, "left", "right", weight := NULL, threshold := NULL, partition_by := NULL
) AS TABLE
  WITH __ce_nodes AS MATERIALIZED (
    SELECT * FROM clustereval._edge_nodes(
      tbl, id, NULL, edges, "left", "right", weight, partition_by, threshold IS NOT NULL
    )
  ),
  __ce_links AS MATERIALIZED (
    SELECT * FROM clustereval._edge_links(
      __ce_nodes, tbl, id, edges, "left", "right", weight, threshold, partition_by
    )
  ),
  __ce_arcs AS MATERIALIZED (SELECT * FROM clustereval._edge_arcs(__ce_links))
  SELECT
    own.partition_key,
    own.id,
    COALESCE(least.id, own.id) AS cluster
  FROM __ce_nodes AS own
  LEFT JOIN clustereval._graph_parts(__ce_arcs) AS part ON part.node = own.node
  LEFT JOIN __ce_nodes AS least ON least.node = part.part
  WHERE clustereval._check_options(clustereval._valid_threshold(threshold, 'SELECT TRUE AS valid'))
  ORDER BY own.partition_key ASC NULLS LAST, own.id ASC NULLS LAST;
