-- thresholds: the clusters that the edges of a graph make, at each threshold of their weights.
--
--   * A level is a partition and a threshold. The nodes of a level are all nodes of the partition,
--     and its clusters are the components of the edges whose weight is at least the threshold.

---------------------------------------------------------------------------------------------------
-- Levels
---------------------------------------------------------------------------------------------------

-- Text for _check_options, or the error of the option thresholds.
CREATE OR REPLACE MACRO clustereval._valid_thresholds(thresholds) AS
  CASE
    WHEN thresholds IS NULL THEN 'SELECT TRUE AS valid'
    WHEN len(thresholds) = 0
    THEN error('thresholds: expected a list of one or more numbers, got []')
    WHEN len(list_filter(thresholds, lambda __ce_x:
      NOT coalesce(isfinite(TRY_CAST(__ce_x AS DOUBLE)), FALSE)
    )) > 0
    THEN error(concat('thresholds: expected numbers, got ', clustereval._show_value(
      list_filter(thresholds, lambda __ce_x:
        NOT coalesce(isfinite(TRY_CAST(__ce_x AS DOUBLE)), FALSE)
      )[1]
    )))
    ELSE 'SELECT TRUE AS valid'
  END;

-- One row per level: partition_no and threshold. Without thresholds, each weight of a link (rows of
-- _edge_links) is one.
CREATE OR REPLACE MACRO clustereval._threshold_levels(nodes, links, thresholds) AS TABLE
  SELECT DISTINCT partition_no, weight AS threshold
  FROM query_table(links)
  WHERE thresholds IS NULL
  UNION ALL
  SELECT node.partition_no, given.threshold
  FROM (SELECT DISTINCT partition_no FROM query_table(nodes)) AS node
  CROSS JOIN (
    SELECT DISTINCT unnest(CAST(thresholds AS DOUBLE[])) AS threshold
  ) AS given;

-- One row per node of a level with a neighbor: threshold; node; and part, the lowest node of its
-- component. As in _graph_parts, each step passes lower numbers on to neighbors.
CREATE OR REPLACE MACRO clustereval._level_parts(levels, arcs) AS TABLE
  WITH RECURSIVE labels USING KEY (threshold, node) AS (
    SELECT DISTINCT level.threshold, arc.from_node AS node, arc.from_node AS part
    FROM query_table(levels) AS level
    JOIN query_table(arcs) AS arc
      ON arc.partition_no = level.partition_no AND arc.weight >= level.threshold
    UNION ALL
    (
      WITH reached AS (
        SELECT label.threshold, arc.to_node AS node, MIN(label.part) AS part
        FROM labels AS label
        JOIN query_table(arcs) AS arc
          ON arc.from_node = label.node AND arc.weight >= label.threshold
        GROUP BY label.threshold, arc.to_node
      )
      SELECT reached.threshold, reached.node, reached.part
      FROM reached
      JOIN recurring.labels AS known
        ON known.threshold = reached.threshold AND known.node = reached.node
      WHERE reached.part < known.part
    )
  )
  SELECT threshold, node, part FROM labels;

-- One row per level with a link: partition_no; threshold; n_edges, its number of links; and
-- mean_weight of these, NULL if a weight is not from 0 to 1.
CREATE OR REPLACE MACRO clustereval._level_links(levels, links) AS TABLE
  -- Each link once, at the highest threshold that it reaches.
  WITH reached AS (
    SELECT
      level.partition_no, level.threshold, COUNT(*) AS n, MIN(link.weight) AS lowest,
      MAX(link.weight) AS highest, clustereval._compensated_sum(link.weight) AS total
    FROM query_table(links) AS link
    ASOF JOIN query_table(levels) AS level
      ON level.partition_no = link.partition_no AND link.weight >= level.threshold
    GROUP BY level.partition_no, level.threshold
  ),
  cumulated AS (
    SELECT
      level.partition_no, level.threshold,
      SUM(reached.n) OVER from_above AS n_edges,
      MIN(reached.lowest) OVER from_above AS lowest,
      MAX(reached.highest) OVER from_above AS highest,
      fsum(reached.total) OVER from_above AS total
    FROM query_table(levels) AS level
    LEFT JOIN reached
      ON reached.partition_no = level.partition_no AND reached.threshold = level.threshold
    WINDOW from_above AS (
      PARTITION BY level.partition_no ORDER BY level.threshold DESC NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  )
  SELECT
    partition_no, threshold, CAST(COALESCE(n_edges, 0) AS BIGINT) AS n_edges,
    CASE
      WHEN lowest >= 0 AND highest <= 1 THEN clustereval._ratio(total, n_edges)
    END AS mean_weight
  FROM cumulated;

---------------------------------------------------------------------------------------------------
-- Labels of a sample
---------------------------------------------------------------------------------------------------

-- Text for _check_options, or the error of an option of estimates at thresholds.
CREATE OR REPLACE MACRO clustereval._valid_sample_options(labels_are_sample, thresholds) AS
  CASE
    WHEN labels_are_sample IS NOT NULL AND thresholds IS NULL
    THEN error('thresholds: expected a list of thresholds with labels_are_sample, got NULL')
    ELSE clustereval._valid_estimate_options(NULL, NULL, labels_are_sample, 0.95, 1.0, NULL)
  END;

-- One row per partition of groups (_flag_groups): n, its rows with a label, and the scores, which
-- are the values of entity_resolution_estimates. all_groups: the groups with the cluster as label.
CREATE OR REPLACE MACRO clustereval._scores_of_sample(
  groups, all_groups, labels_are_sample
) AS TABLE
  WITH cells AS (SELECT * FROM query_table(groups) WHERE copies > 0),
  estimates AS (
    SELECT * FROM clustereval._sample_values(cells, all_groups, labels_are_sample, NULL, 1.0)
  ),
  scores AS (
    SELECT
      partition_key,
      MIN(n_labeled_rows) AS n,
      list(value ORDER BY place ASC NULLS LAST) AS values
    FROM estimates
    GROUP BY partition_key
  )
  SELECT
    partition_key,
    n,
    values[1] AS pair_precision,
    values[2] AS pair_recall,
    values[3] AS pair_f_score,
    values[4] AS bcubed_precision,
    values[5] AS bcubed_recall,
    values[6] AS bcubed_f_score,
    values[7] AS exact_match_precision,
    values[8] AS exact_match_recall,
    values[9] AS exact_match_f_score,
    CAST(NULL AS DOUBLE) AS variation_of_information
  FROM scores;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Clusters and scores at each threshold of the edges' weights, one row per threshold: threshold; n
-- ids; n_labeled of them; n_edges, pairs of ids with an edge that counts; n_clusters; n_singletons;
-- largest_cluster_size; n_pairs of ids in the same cluster; expected_precision, the mean weight of
-- the edges that count; and scores of labels, NULL without label. The clusters at a threshold are
-- those of connected_components. tbl, id, edges, left, right, weight and partition_by are those of
-- connected_components; label is the column of tbl with the true entities; thresholds is a list of
-- numbers, by default all weights of edges. With labels_are_sample, the scores are the values of
-- entity_resolution_estimates.
-- Examples:
--   FROM clustereval.threshold_report(
--     people, id, matches, id_l, id_r, score, person, thresholds := [0.5, 0.8]
--   );
CREATE OR REPLACE MACRO clustereval.threshold_report(
  tbl, id, edges, "left", "right", weight, label := NULL, thresholds := NULL,
  labels_are_sample := NULL, partition_by := NULL
) AS TABLE
  WITH __ce_nodes AS MATERIALIZED (
    SELECT * FROM clustereval._edge_nodes(
      tbl, id, label, edges, "left", "right", weight, partition_by, TRUE
    )
  ),
  __ce_links AS MATERIALIZED (
    SELECT * FROM clustereval._edge_links(
      __ce_nodes, tbl, id, edges, "left", "right", weight, NULL, partition_by
    )
  ),
  __ce_checked AS (
    SELECT
      CASE
        WHEN clustereval._is_absent(label)
        THEN error('label: expected the column with the labels of a sample, got NULL')
        ELSE TRUE
      END AS __ce_valid
    FROM query_table(tbl)
    WHERE FALSE
  ),
  arcs AS MATERIALIZED (SELECT * FROM clustereval._edge_arcs(__ce_links)),
  levels AS MATERIALIZED (
    SELECT * FROM clustereval._threshold_levels(__ce_nodes, __ce_links, thresholds)
  ),
  parts AS MATERIALIZED (SELECT * FROM clustereval._level_parts(levels, arcs)),
  -- Numbers of nodes by level, label and cluster.
  __ce_cells AS MATERIALIZED (
    SELECT
      {'partition_no': level.partition_no, 'threshold': level.threshold} AS __ce_partition,
      own.label AS __ce_label, COALESCE(part.part, own.node) AS __ce_cluster,
      CAST(COUNT(*) AS BIGINT) AS __ce_n
    FROM levels AS level
    JOIN __ce_nodes AS own ON own.partition_no = level.partition_no
    LEFT JOIN parts AS part ON part.threshold = level.threshold AND part.node = own.node
    GROUP BY ALL
  ),
  groups AS (SELECT * FROM clustereval._flag_groups(__ce_cells, NULL, NULL)),
  statistics AS (SELECT * FROM clustereval._statistics_of_groups(groups, FALSE)),
  scores AS (SELECT * FROM clustereval._scores_of_statistics(statistics, 'arithmetic', 1.0)),
  clusters AS (
    SELECT
      __ce_partition, __ce_cluster AS __ce_label, __ce_cluster,
      CAST(SUM(__ce_n) AS BIGINT) AS __ce_n
    FROM __ce_cells
    GROUP BY __ce_partition, __ce_cluster
  ),
  all_groups AS (SELECT * FROM clustereval._flag_groups(clusters, NULL, NULL)),
  sample_scores AS (
    SELECT *
    FROM clustereval._scores_of_sample(groups, all_groups, labels_are_sample)
    WHERE (SELECT __ce_valid FROM __ce_checked)
      AND clustereval._check_options(
        clustereval._valid_sample_options(labels_are_sample, thresholds)
      )
  ),
  sizes AS (
    SELECT
      one.__ce_partition AS level,
      CAST(SUM(one.__ce_n) AS BIGINT) AS n,
      COUNT(*) AS n_clusters,
      COUNT(CASE WHEN one.__ce_n = 1 THEN 1 END) AS n_singletons,
      MAX(one.__ce_n) AS largest_cluster_size,
      CAST(SUM(clustereval._count_pairs(one.__ce_n)) AS DOUBLE) AS n_pairs
    FROM clusters AS one
    GROUP BY one.__ce_partition
  ),
  partitions AS (
    SELECT DISTINCT partition_no, partition_key FROM __ce_nodes
  )
  SELECT
    place.partition_key,
    level.threshold,
    size.n,
    score.n AS n_labeled,
    link.n_edges,
    size.n_clusters,
    size.n_singletons,
    size.largest_cluster_size,
    size.n_pairs,
    link.mean_weight AS expected_precision,
    score.pair_precision,
    score.pair_recall,
    score.pair_f_score,
    score.bcubed_precision,
    score.bcubed_recall,
    score.bcubed_f_score,
    score.exact_match_precision,
    score.exact_match_recall,
    score.exact_match_f_score,
    score.variation_of_information
  FROM levels AS level
  JOIN partitions AS place ON place.partition_no = level.partition_no
  JOIN sizes AS size
    ON size.level['partition_no'] = level.partition_no
    AND size.level['threshold'] = level.threshold
  -- The one that is not named is not bound.
  JOIN query_table(CASE WHEN labels_are_sample IS NULL THEN 'scores' ELSE 'sample_scores' END)
    AS score
    ON score.partition_key = size.level
  JOIN clustereval._level_links(levels, __ce_links) AS link
    ON link.partition_no = level.partition_no AND link.threshold = level.threshold
  WHERE clustereval._check_options(clustereval._valid_thresholds(thresholds))
  ORDER BY place.partition_key ASC NULLS LAST, level.threshold ASC NULLS LAST;
