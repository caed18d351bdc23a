-- graph_counts: the nodes, edges, degrees and clusters of a graph, and their scores.
--
--   * The graph is a table of edges, each between the ids `left` and `right`, in either order. Rows
--     with the same two ids are one edge, and their weights are added. A self-loop is an edge from
--     an id to itself; it adds two to the degree of its node, as in networkx.
--   * The nodes are the ids of a second table that have a cluster. Edges with an end in no cluster
--     are left out, and counted.
--   * Nodes and clusters have numbers, which are shorter than ids and cheaper to join and to group.
--     The number of a cluster is the number of one of its nodes.
--   * An inner edge joins two nodes of the same cluster, and a cut edge joins two clusters.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- query_text, or the error of the option threshold.
CREATE OR REPLACE MACRO clustereval._valid_threshold(threshold, query_text) AS
  CASE
    WHEN threshold IS NOT NULL AND NOT coalesce(isfinite(TRY_CAST(threshold AS DOUBLE)), FALSE)
    THEN error(concat(
      'threshold: expected a number, got ', clustereval._show_value(threshold)
    ))
    ELSE query_text
  END;

-- x, any value. Raises an error if weights are compared, but there is no column of them. An
-- aggregate, for use after HAVING.
CREATE OR REPLACE MACRO clustereval._check_compared(x, is_compared, weight) AS
  CASE
    WHEN is_compared AND clustereval._is_absent(weight)
    THEN error('weight: expected the column that thresholds are compared with, got NULL')
    ELSE x
  END;

-- Text for _check_options, or the error of an option of the tables of graphs.
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

-- x, any value. Raises an error if the ends of edges in the column `parameter` do not have the type
-- of the ids. All types of whole numbers count as one.
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

-- One row, valid = TRUE. Raises an error for a string literal in place of a column, and if the
-- columns of the two tables have different types. Errors call the number of a row of edges
-- weight_name, which should be weight_range, and these rows edge_name. is_compared:
-- whether weights are compared with thresholds.
CREATE OR REPLACE MACRO clustereval._check_graph_columns(
  tbl, id, cluster, edges, "left", "right", weight, partition_by, noise, weight_name, edge_name,
  is_compared, weight_range := 'finite numbers >= 0', left_name := 'left', right_name := 'right'
) AS TABLE
  WITH __ce_node_types AS (
    SELECT
      clustereval._check_columns(
        clustereval._check_noise(TRUE, noise, cluster),
        [
          clustereval._given_column('id', id),
          clustereval._given_column('cluster', cluster),
          clustereval._given_column('partition_by', partition_by)
        ]
      ) AS __ce_valid,
      typeof(any_value(id)) AS __ce_id_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(clustereval._check_table_name(tbl))
    WHERE FALSE
  ),
  __ce_edge_types AS (
    SELECT
      clustereval._check_columns(
        clustereval._check_compared(TRUE, is_compared, weight),
        [
          clustereval._given_column(left_name, "left"),
          clustereval._given_column(right_name, "right"),
          clustereval._given_column(weight_name, weight)
        ]
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
      WHEN NOT (
        clustereval._is_integer_type(ends.__ce_weight_type)
        OR regexp_full_match(ends.__ce_weight_type, 'BIGNUM|FLOAT|DOUBLE|DECIMAL.*|"NULL"')
      )
      THEN error(concat(
        weight_name, ': expected ', weight_range, ', got a column of type ',
        ends.__ce_weight_type, '; cast it to numbers'
      ))
      WHEN nodes.__ce_partition_type <> ends.__ce_partition_type
      THEN error(concat(
        'partition_by: expected the same type in both tables, got ', nodes.__ce_partition_type,
        ' with the clusters and ', ends.__ce_partition_type, ' with the ', edge_name,
        '; cast one of them'
      ))
      ELSE clustereval._check_end_type(
        clustereval._check_end_type(
          nodes.__ce_valid AND ends.__ce_valid, right_name, ends.__ce_right_type, nodes.__ce_id_type
        ),
        left_name, ends.__ce_left_type, nodes.__ce_id_type
      )
    END AS valid
  FROM __ce_node_types AS nodes
  CROSS JOIN __ce_edge_types AS ends;

-- x, the weight of an edge, as DOUBLE. Raises an error unless it is a finite number, and >= 0 if
-- weight_range, what the error says that it should be, ends with that.
CREATE OR REPLACE MACRO clustereval._check_edge_weight(x, weight_range) AS
  CASE
    WHEN coalesce(
      isfinite(TRY_CAST(x AS DOUBLE))
        AND (TRY_CAST(x AS DOUBLE) >= 0 OR NOT ends_with(weight_range, '>= 0')),
      FALSE
    )
    THEN CAST(x AS DOUBLE)
    ELSE error(concat(
      'weight: expected ', weight_range, ', got ', clustereval._show_value(x),
      '; leave out edges without a weight, or give them one'
    ))
  END;

-- x, any value. Raises an error if none of n rows of a table joins two ids although there are both
-- an id, known, and an end that is none, stranger. The rows are `table_name`, between `members`.
CREATE OR REPLACE MACRO clustereval._check_joined(
  x, n_joined, n, known, stranger, table_name, members
) AS
  CASE
    WHEN n_joined = 0 AND known IS NOT NULL AND stranger IS NOT NULL
    THEN error(concat(
      table_name, ': expected ', table_name, ' between ', members, ', such as ',
      clustereval._show_value(known), ', got ', n, ' ', table_name,
      ', each with another end, such as ', stranger
    ))
    ELSE x
  END;

---------------------------------------------------------------------------------------------------
-- Nodes and edges
---------------------------------------------------------------------------------------------------

-- One row per id: partition_key; id; cluster; times, its rows with a cluster; n_dropped, its other
-- rows; is_noise; and node, its number. Two parts of the union have no rows; they give the ids a
-- type that can be compared with the ends of edges, so that _check_graph_columns can report wrong
-- types.
CREATE OR REPLACE MACRO clustereval._graph_ids(
  tbl, id, cluster, edges, "left", "right", weight, partition_by, noise,
  weight_name := 'weight', edge_name := 'edges', is_compared := FALSE
) AS TABLE
  WITH __ce_checked AS (
    SELECT *
    FROM clustereval._check_graph_columns(
      tbl, id, cluster, edges, "left", "right", weight, partition_by, noise, weight_name,
      edge_name, is_compared
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
    HAVING (SELECT valid FROM __ce_checked)
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_id AS id,
    __ce_cluster AS cluster,
    __ce_times AS times,
    __ce_n_dropped AS n_dropped,
    clustereval._is_noise(__ce_cluster, noise) AS is_noise,
    row_number() OVER () AS node
  FROM __ce_counts;

-- One row, n_faults = 0. Raises an error if an id with a cluster is NULL or has several rows.
CREATE OR REPLACE MACRO clustereval._check_graph_ids(ids) AS TABLE
  WITH facts AS (
    SELECT
      COALESCE(SUM(CASE WHEN id IS NULL THEN times END), 0) AS n_null,
      MIN(CASE WHEN times > 1 THEN id END) AS twice
    FROM query_table(ids)
  )
  SELECT
    CASE
      WHEN n_null > 0
      THEN error(concat(
        'id: expected a value in every row with a cluster, got NULL in ', n_null, ' rows'
      ))
      WHEN twice IS NOT NULL
      THEN error(concat(
        'id: expected one row with a cluster per id, got several rows of id ',
        clustereval._show_value(twice), clustereval._repeated_id_advice()
      ))
      ELSE 0
    END AS n_faults
  FROM facts;

-- One row per node: partition_key; id; cluster, NULL for singletons; node, its number; and
-- cluster_no, the number of its cluster. Raises the errors of _check_graph_ids.
CREATE OR REPLACE MACRO clustereval._graph_nodes(ids, noise_as) AS TABLE
  WITH members AS (
    SELECT
      partition_key, id, node,
      CASE WHEN NOT (is_noise AND noise_as = 'singletons') THEN cluster END AS cluster
    FROM query_table(ids)
    WHERE times > 0
      AND NOT (is_noise AND noise_as = 'drop')
      AND (SELECT n_faults FROM clustereval._check_graph_ids(ids)) = 0
  ),
  numbers AS (
    SELECT partition_key, cluster, MIN(node) AS cluster_no
    FROM members
    WHERE cluster IS NOT NULL
    GROUP BY partition_key, cluster
  )
  SELECT
    member.*,
    COALESCE(number.cluster_no, member.node) AS cluster_no
  FROM members AS member
  LEFT JOIN numbers AS number
    ON number.partition_key IS NOT DISTINCT FROM member.partition_key
    AND number.cluster = member.cluster;

-- One row per row of edges whose weight is at least threshold: partition_key; low and high, the
-- numbers of its nodes; low_cluster and high_cluster; and weight. low is NULL if an end is in no
-- cluster, which is the stranger.
CREATE OR REPLACE MACRO clustereval._graph_edge_rows(
  nodes, tbl, id, edges, "left", "right", weight, threshold, partition_by,
  weight_range := 'finite numbers >= 0'
) AS TABLE
  WITH __ce_ends AS (
    SELECT
      partition_by AS __ce_partition, "left" AS __ce_left, "right" AS __ce_right,
      CASE
        WHEN clustereval._is_left_out(weight) THEN 1.0
        ELSE clustereval._check_edge_weight(weight, weight_range)
      END AS __ce_weight
    FROM query_table(clustereval._check_table_name(edges))
    UNION ALL
    SELECT partition_by, id, id, 1.0 FROM query_table(tbl) WHERE FALSE
  ),
  joined AS (
    SELECT
      ends.__ce_partition AS partition_key, one.node AS one_node, two.node AS two_node,
      one.cluster_no AS one_cluster, two.cluster_no AS two_cluster,
      one.node IS NOT NULL AND two.node IS NOT NULL AS is_whole,
      LEAST(
        CASE WHEN one.node IS NULL THEN CAST(ends.__ce_left AS VARCHAR) END,
        CASE WHEN two.node IS NULL THEN CAST(ends.__ce_right AS VARCHAR) END
      ) AS stranger,
      ends.__ce_weight AS weight
    FROM __ce_ends AS ends
    LEFT JOIN query_table(nodes) AS one
      ON one.partition_key IS NOT DISTINCT FROM ends.__ce_partition
      AND one.id = ends.__ce_left
    LEFT JOIN query_table(nodes) AS two
      ON two.partition_key IS NOT DISTINCT FROM ends.__ce_partition
      AND two.id = ends.__ce_right
    WHERE threshold IS NULL OR ends.__ce_weight >= threshold
  )
  SELECT
    partition_key,
    CASE WHEN is_whole THEN LEAST(one_node, two_node) END AS low,
    CASE WHEN is_whole THEN GREATEST(one_node, two_node) END AS high,
    CASE
      WHEN is_whole AND one_node < two_node THEN one_cluster
      WHEN is_whole THEN two_cluster
    END AS low_cluster,
    CASE
      WHEN is_whole AND one_node < two_node THEN two_cluster
      WHEN is_whole THEN one_cluster
    END AS high_cluster,
    joined.weight,
    stranger
  FROM joined;

-- One row per edge: the columns of _graph_edge_rows, with the sum of the weights, and n_rows, its
-- rows. All rows with an end in no cluster are one row per partition, with the lowest stranger.
CREATE OR REPLACE MACRO clustereval._graph_edges(
  nodes, tbl, id, edges, "left", "right", weight, threshold, partition_by
) AS TABLE
  SELECT
    entry.partition_key,
    entry.low,
    entry.high,
    entry.low_cluster,
    entry.high_cluster,
    SUM(entry.weight) AS weight,
    CAST(COUNT(*) AS BIGINT) AS n_rows,
    MIN(entry.stranger) AS stranger
  FROM clustereval._graph_edge_rows(
    nodes, tbl, id, edges, "left", "right", weight, threshold, partition_by
  ) AS entry
  -- The clusters follow from the nodes; as grouping keys they take less time than as aggregates.
  GROUP BY
    entry.partition_key, entry.low, entry.high, entry.low_cluster, entry.high_cluster;

---------------------------------------------------------------------------------------------------
-- Degrees and clusters
---------------------------------------------------------------------------------------------------

-- One row per node with an edge: node; degree and weight, the number and the weight of its edges,
-- where self-loops count twice; and inner_degree, of its inner edges.
CREATE OR REPLACE MACRO clustereval._graph_degrees(edges) AS TABLE
  WITH ends AS (
    SELECT
      low AS node, weight, low_cluster = high_cluster AS is_inner
    FROM query_table(edges)
    WHERE low IS NOT NULL
    UNION ALL
    SELECT high, weight, low_cluster = high_cluster
    FROM query_table(edges)
    WHERE low IS NOT NULL
  )
  SELECT
    node,
    COUNT(*) AS degree,
    SUM(weight) AS weight,
    COUNT(CASE WHEN is_inner THEN 1 END) AS inner_degree
  FROM ends
  GROUP BY node;

-- One row per cluster with an edge: cluster_no; max_degree, with self-loops counted twice;
-- n_linked, the nodes with a neighbor in the cluster; min_neighbors and max_neighbors of the nodes
-- with an inner edge; and hub, a node with the most. Fewer sums than _graph_degrees, in half the
-- time.
CREATE OR REPLACE MACRO clustereval._graph_extremes(edges) AS TABLE
  WITH ends AS (
    SELECT
      low AS node, low_cluster AS cluster_no,
      low <> high AS is_pair
    FROM query_table(edges)
    WHERE low_cluster = high_cluster AND low IS NOT NULL
    UNION ALL
    SELECT high, high_cluster, low <> high
    FROM query_table(edges)
    WHERE low_cluster = high_cluster AND low IS NOT NULL
  ),
  degrees AS (
    SELECT
      node,
      cluster_no,
      COUNT(*) AS degree,
      COUNT(CASE WHEN is_pair THEN 1 END) AS n_neighbors
    FROM ends
    GROUP BY node, cluster_no
  )
  SELECT
    cluster_no,
    COUNT(CASE WHEN n_neighbors > 0 THEN 1 END) AS n_linked,
    MAX(degree) AS max_degree,
    MIN(n_neighbors) AS min_neighbors,
    MAX(n_neighbors) AS max_neighbors,
    arg_max(node, n_neighbors) AS hub
  FROM degrees
  GROUP BY cluster_no;

-- One row per cluster with an edge: cluster_no; n_edges and weight of its inner edges; n_links,
-- those that are not self-loops; n_cut_edges and cut_weight.
CREATE OR REPLACE MACRO clustereval._graph_edge_sums(edges) AS TABLE
  WITH sides AS (
    SELECT
      low_cluster AS cluster_no, weight,
      low_cluster = high_cluster AS is_inner, low <> high AS is_pair
    FROM query_table(edges)
    WHERE low IS NOT NULL
    UNION ALL
    SELECT high_cluster, weight, FALSE, TRUE
    FROM query_table(edges)
    WHERE low IS NOT NULL AND low_cluster <> high_cluster
  )
  SELECT
    cluster_no,
    COUNT(CASE WHEN is_inner THEN 1 END) AS n_edges,
    COUNT(CASE WHEN is_inner AND is_pair THEN 1 END) AS n_links,
    clustereval._compensated_sum(CASE WHEN is_inner THEN weight END) AS weight,
    COUNT(CASE WHEN NOT is_inner THEN 1 END) AS n_cut_edges,
    clustereval._compensated_sum(CASE WHEN NOT is_inner THEN weight END) AS cut_weight
  FROM sides
  GROUP BY cluster_no;

-- One row, valid = TRUE. Raises an error if the weights of a partition have no finite sum (the
-- volumes of clusters are up to twice that), or if no edge joins two nodes although there are both.
CREATE OR REPLACE MACRO clustereval._check_graph_edges(nodes, edges) AS TABLE
  WITH sums AS (
    SELECT
      SUM(CASE WHEN low IS NOT NULL THEN weight END) AS sum,
      SUM(n_rows) AS n, COUNT(low) AS n_joined, MIN(stranger) AS stranger
    FROM query_table(edges)
    GROUP BY partition_key
  ),
  known AS (SELECT MIN(id) AS id FROM query_table(nodes))
  SELECT
    CASE
      WHEN COUNT(CASE WHEN NOT isfinite(2 * sum) THEN 1 END) > 0
      THEN error(concat(
        'weight: expected weights with a finite sum over all edges, got a sum that overflows; ',
        'divide all weights by the same number'
      ))
      ELSE clustereval._check_joined(
        TRUE, SUM(n_joined), SUM(n), MIN(known.id), MIN(stranger), 'edges', 'ids with a cluster'
      )
    END AS valid
  FROM sums
  CROSS JOIN known;

-- The rows of sizes, one per cluster, with the columns of _graph_edge_sums, 0 without an edge.
CREATE OR REPLACE MACRO clustereval._add_edge_sums(sizes, edges) AS TABLE
  SELECT
    size.*,
    CAST(COALESCE(sums.n_edges, 0) AS BIGINT) AS n_edges,
    CAST(COALESCE(sums.n_links, 0) AS BIGINT) AS n_links,
    COALESCE(sums.weight, 0.0) AS weight,
    CAST(COALESCE(sums.n_cut_edges, 0) AS BIGINT) AS n_cut_edges,
    COALESCE(sums.cut_weight, 0.0) AS cut_weight
  FROM query_table(sizes) AS size
  LEFT JOIN clustereval._graph_edge_sums(edges) AS sums ON sums.cluster_no = size.cluster_no;

-- One row per cluster: partition_key, cluster, cluster_no, n_nodes, and the columns of
-- _graph_edge_sums and _graph_extremes; without an edge, hub is NULL and the others are 0. Raises
-- the errors of _check_graph_edges.
CREATE OR REPLACE MACRO clustereval._graph_clusters(nodes, edges) AS TABLE
  WITH sizes AS (
    SELECT
      cluster_no,
      MIN(partition_key) AS partition_key,
      MIN(cluster) AS cluster,
      CAST(COUNT(*) AS BIGINT) AS n_nodes
    FROM query_table(nodes)
    GROUP BY cluster_no
    HAVING (SELECT valid FROM clustereval._check_graph_edges(nodes, edges))
  )
  SELECT
    one.*,
    CAST(COALESCE(extreme.max_degree, 0) AS BIGINT) AS max_degree,
    CASE
      WHEN extreme.n_linked = one.n_nodes THEN extreme.min_neighbors ELSE 0
    END AS min_neighbors,
    COALESCE(extreme.max_neighbors, 0) AS max_neighbors,
    extreme.hub
  FROM clustereval._add_edge_sums(sizes, edges) AS one
  LEFT JOIN clustereval._graph_extremes(edges) AS extreme ON extreme.cluster_no = one.cluster_no;

-- The rows of _graph_clusters with total, the weight of all edges of the partition, and
-- conductance: the weight of the cut edges divided by the volume of the cluster or of the rest of
-- the graph, whichever is less. The volume is the sum of the weighted degrees.
CREATE OR REPLACE MACRO clustereval._graph_conductances(clusters) AS TABLE
  WITH totals AS (
    SELECT
      partition_key,
      clustereval._compensated_sum(weight + cut_weight / 2) AS total
    FROM query_table(clusters)
    GROUP BY partition_key
  )
  SELECT
    one.*,
    total.total,
    clustereval._at_most_1(clustereval._ratio(
      one.cut_weight,
      LEAST(
        2 * one.weight + one.cut_weight,
        GREATEST(2 * (total.total - one.weight) - one.cut_weight, one.cut_weight)
      )
    )) AS conductance
  FROM query_table(clusters) AS one
  JOIN totals AS total ON total.partition_key IS NOT DISTINCT FROM one.partition_key;

---------------------------------------------------------------------------------------------------
-- Bridges and parts
---------------------------------------------------------------------------------------------------

-- TRUE if a cluster is one part without a bridge, since every node has at least two neighbors and
-- is joined to half of the nodes. Removing fewer edges than a node has neighbors then never divides
-- the cluster (Chartrand 1966).
CREATE OR REPLACE MACRO clustereval._is_dense(n_nodes, min_neighbors) AS
  min_neighbors >= 2 AND min_neighbors >= floor(n_nodes / 2.0);

-- The inner edges of the chosen clusters, except self-loops: low, high and cluster_no.
CREATE OR REPLACE MACRO clustereval._graph_links(edges, chosen) AS TABLE
  SELECT edge.low, edge.high, edge.low_cluster AS cluster_no
  FROM query_table(edges) AS edge
  SEMI JOIN query_table(chosen) AS one ON one.cluster_no = edge.low_cluster
  WHERE edge.low_cluster = edge.high_cluster AND edge.low <> edge.high;

-- The edges of _graph_links in both directions: from_node, to_node and cluster_no.
CREATE OR REPLACE MACRO clustereval._graph_arcs(edges, chosen) AS TABLE
  WITH links AS (SELECT * FROM clustereval._graph_links(edges, chosen))
  SELECT low AS from_node, high AS to_node, cluster_no
  FROM links
  UNION ALL
  SELECT high, low, cluster_no FROM links;

-- The clusters whose counts do not determine their parts and bridges: cluster_no, n_nodes and node,
-- one of their nodes. A cluster of two nodes has one edge, which is a bridge.
CREATE OR REPLACE MACRO clustereval._graph_open_clusters(clusters) AS TABLE
  SELECT cluster_no, n_nodes, hub AS node
  FROM query_table(clusters)
  WHERE n_nodes > 2
    AND n_links > 0
    AND NOT clustereval._is_dense(n_nodes, min_neighbors);

-- The edges of a spanning forest of the clusters with two nodes and of those of
-- _graph_open_clusters without a matrix: cluster_no, low, high and is_bridge.
CREATE OR REPLACE MACRO clustereval._graph_tree_edges(edges, clusters) AS TABLE
  WITH pairs AS (SELECT cluster_no FROM query_table(clusters) WHERE n_nodes = 2),
  open AS MATERIALIZED (
    SELECT cluster_no, node
    FROM clustereval._graph_open_clusters(clusters)
    WHERE n_nodes > clustereval._matrix_nodes()
  ),
  arcs AS MATERIALIZED (SELECT * FROM clustereval._graph_arcs(edges, open)),
  forest AS MATERIALIZED (SELECT * FROM clustereval._graph_forest(open, arcs)),
  trees AS (
    SELECT
      cluster_no,
      LEAST(node, parent) AS low,
      GREATEST(node, parent) AS high,
      is_bridge
    FROM clustereval._graph_bridges(forest, arcs)
  )
  SELECT * FROM trees
  UNION ALL
  SELECT cluster_no, low, high, TRUE
  FROM clustereval._graph_links(edges, pairs);

-- The rows of _graph_places of the clusters of _graph_open_clusters that have a matrix.
CREATE OR REPLACE MACRO clustereval._graph_open_places(nodes, edges, clusters) AS TABLE
  WITH small AS (
    SELECT cluster_no
    FROM clustereval._graph_open_clusters(clusters)
    WHERE n_nodes <= clustereval._matrix_nodes()
  ),
  members AS (
    SELECT node.node, node.cluster_no
    FROM query_table(nodes) AS node
    SEMI JOIN small ON small.cluster_no = node.cluster_no
  ),
  links AS (SELECT * FROM clustereval._graph_links(edges, small))
  SELECT * FROM clustereval._graph_places(members, links);

-- The edges that may be bridges: low, high and is_bridge.
CREATE OR REPLACE MACRO clustereval._graph_cluster_bridges(nodes, edges, clusters) AS TABLE
  WITH places AS MATERIALIZED (
    SELECT * FROM clustereval._graph_open_places(nodes, edges, clusters)
  ),
  matrices AS (SELECT * FROM clustereval._graph_matrices(places))
  SELECT low, high, is_bridge
  FROM clustereval._graph_place_bridges(places, matrices)
  UNION ALL
  SELECT low, high, is_bridge
  FROM clustereval._graph_tree_edges(edges, clusters);

-- One row per cluster whose bridges were searched for: cluster_no; n_tree_edges, the edges of a
-- spanning forest; n_bridges; and diameter, NULL if no matrix determines it.
CREATE OR REPLACE MACRO clustereval._graph_shapes(nodes, edges, clusters) AS TABLE
  WITH places AS MATERIALIZED (
    SELECT * FROM clustereval._graph_open_places(nodes, edges, clusters)
  ),
  matrices AS MATERIALIZED (SELECT * FROM clustereval._graph_matrices(places)),
  facts AS (
    SELECT cluster_no, n_tree_edges, FALSE AS is_bridge, diameter
    FROM clustereval._graph_matrix_shapes(matrices)
    UNION ALL
    SELECT cluster_no, 0, is_bridge, NULL
    FROM clustereval._graph_place_bridges(places, matrices)
    UNION ALL
    SELECT cluster_no, 1, is_bridge, NULL
    FROM clustereval._graph_tree_edges(edges, clusters)
  )
  SELECT
    cluster_no,
    SUM(n_tree_edges) AS n_tree_edges,
    COUNT(CASE WHEN is_bridge THEN 1 END) AS n_bridges,
    MAX(diameter) AS diameter
  FROM facts
  GROUP BY cluster_no;

-- The rows of _graph_conductances with n_bridges, n_components (the number of parts) and diameter,
-- which is -1 if it needs a search, and NULL if there are several parts. In each part, a forest has
-- one edge less than nodes.
CREATE OR REPLACE MACRO clustereval._graph_components(nodes, edges, clusters) AS TABLE
  WITH counts AS (
    SELECT
      one.*,
      CAST(COALESCE(shape.n_bridges, 0) AS BIGINT) AS n_bridges,
      CAST(CASE
        WHEN clustereval._is_dense(one.n_nodes, one.min_neighbors) THEN 1
        ELSE one.n_nodes - COALESCE(shape.n_tree_edges, 0)
      END AS BIGINT) AS n_components,
      shape.diameter AS matrix_diameter
    FROM clustereval._graph_conductances(clusters) AS one
    LEFT JOIN clustereval._graph_shapes(nodes, edges, clusters) AS shape
      ON shape.cluster_no = one.cluster_no
  )
  SELECT
    *,
    clustereval._known_diameter(
      n_nodes, n_links, min_neighbors, max_neighbors, n_components, matrix_diameter
    ) AS diameter
  FROM counts;

-- One row per cluster of at most max_diameter_nodes nodes that has one part: cluster_no and
-- diameter. components: rows of _graph_components, whose diameter is kept unless it is -1.
CREATE OR REPLACE MACRO clustereval._graph_cluster_diameters(
  nodes, edges, components, max_diameter_nodes
) AS TABLE
  WITH known AS MATERIALIZED (
    SELECT cluster_no, one.diameter
    FROM query_table(components) AS one
    WHERE n_nodes <= CAST(max_diameter_nodes AS DOUBLE)
  ),
  chosen AS (SELECT cluster_no FROM known WHERE diameter = -1),
  members AS (
    SELECT node.node, node.cluster_no
    FROM query_table(nodes) AS node
    SEMI JOIN chosen ON chosen.cluster_no = node.cluster_no
  ),
  arcs AS MATERIALIZED (SELECT * FROM clustereval._graph_arcs(edges, chosen))
  SELECT cluster_no, diameter FROM known WHERE diameter <> -1
  UNION ALL
  SELECT cluster_no, diameter
  FROM clustereval._graph_diameters(members, arcs);

---------------------------------------------------------------------------------------------------
-- Sums of a partition
---------------------------------------------------------------------------------------------------

-- Sums over the clusters of a partition, under the names of _graph_conductances, with n_clusters,
-- pairs (of nodes in the same cluster), modularity, and the mean and the largest conductance.
CREATE OR REPLACE MACRO clustereval._graph_sums(clusters, resolution) AS TABLE
  SELECT
    partition_key,
    CAST(COUNT(*) AS BIGINT) AS n_clusters,
    CAST(SUM(n_nodes) AS BIGINT) AS n_nodes,
    CAST(SUM(n_edges) AS BIGINT) AS n_edges,
    CAST(SUM(n_edges - n_links) AS BIGINT) AS n_self_loops,
    CAST(SUM(n_cut_edges) / 2 AS BIGINT) AS n_cut_edges,
    SUM(clustereval._count_pairs(n_nodes)) AS pairs,
    clustereval._compensated_sum(weight) AS weight,
    MAX(total) AS total,
    -- The share of the inner edges in the weight of all edges, minus resolution times the share
    -- expected from the volume of the cluster.
    clustereval._compensated_sum(
      clustereval._ratio(weight, total)
      - CAST(resolution AS DOUBLE) * pow(clustereval._ratio(weight + cut_weight / 2, total), 2)
    ) AS modularity,
    AVG(conductance) AS mean_conductance,
    MAX(conductance) AS worst_conductance
  FROM clustereval._graph_conductances(clusters)
  GROUP BY partition_key;

-- One row per partition without cut edges: partition_key, and are_components, whether each cluster
-- is connected.
CREATE OR REPLACE MACRO clustereval._graph_closed_partitions(nodes, edges, clusters) AS TABLE
  WITH cut AS (
    SELECT partition_key, SUM(n_cut_edges) AS n
    FROM query_table(clusters)
    GROUP BY partition_key
  ),
  closed AS MATERIALIZED (
    SELECT one.*
    FROM query_table(clusters) AS one
    JOIN cut ON cut.partition_key IS NOT DISTINCT FROM one.partition_key
    WHERE cut.n = 0
  ),
  places AS MATERIALIZED (
    SELECT * FROM clustereval._graph_open_places(nodes, edges, closed)
  ),
  matrices AS (SELECT * FROM clustereval._graph_matrices(places)),
  open AS MATERIALIZED (
    SELECT cluster_no, node
    FROM clustereval._graph_open_clusters(closed)
    WHERE n_nodes > clustereval._matrix_nodes()
  ),
  arcs AS MATERIALIZED (SELECT * FROM clustereval._graph_arcs(edges, open)),
  reached AS (
    SELECT cluster_no, n_tree_edges + 1 AS n FROM clustereval._graph_matrix_shapes(matrices)
    UNION ALL
    SELECT cluster_no, COUNT(*) FROM clustereval._graph_levels(open, arcs) GROUP BY cluster_no
  )
  SELECT
    one.partition_key,
    BOOL_AND(
      (one.n_nodes <= 2 AND one.n_links = one.n_nodes - 1)
      OR clustereval._is_dense(one.n_nodes, one.min_neighbors)
      OR COALESCE(reached.n = one.n_nodes, FALSE)
    ) AS are_components
  FROM closed AS one
  LEFT JOIN reached ON reached.cluster_no = one.cluster_no
  GROUP BY one.partition_key;

-- One row per partition with rows that are counted separately: n_dropped, those without a cluster;
-- n_noise; n_dropped_edges, those with an end in no cluster; and n_duplicate_edges, further rows of
-- the same edge. Without partition_by there is at least one row.
CREATE OR REPLACE MACRO clustereval._graph_row_counts(ids, edges, tbl, partition_by) AS TABLE
  WITH __ce_counts AS (
    SELECT
      partition_key, n_dropped, CASE WHEN is_noise THEN 1 ELSE 0 END AS n_noise,
      0 AS n_dropped_edges, 0 AS n_duplicate_edges
    FROM query_table(ids)
    UNION ALL
    SELECT
      partition_key, 0, 0,
      CASE WHEN low IS NULL THEN n_rows ELSE 0 END,
      CASE WHEN low IS NULL THEN 0 ELSE n_rows - 1 END
    FROM query_table(edges)
    UNION ALL
    SELECT NULL, 0, 0, 0, 0
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._is_absent(partition_by)
  )
  SELECT
    partition_key,
    CAST(SUM(n_dropped) AS BIGINT) AS n_dropped,
    CAST(SUM(n_noise) AS BIGINT) AS n_noise,
    CAST(SUM(n_dropped_edges) AS BIGINT) AS n_dropped_edges,
    CAST(SUM(n_duplicate_edges) AS BIGINT) AS n_duplicate_edges
  FROM __ce_counts
  GROUP BY partition_key;
