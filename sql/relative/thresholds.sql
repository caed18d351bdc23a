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

-- query_text, a text for _check_options. Raises an error without thresholds, which option needs.
CREATE OR REPLACE MACRO clustereval._valid_listed_thresholds(thresholds, option, query_text) AS
  CASE
    WHEN thresholds IS NULL
    THEN error(concat('thresholds: expected a list of thresholds with ', option, ', got NULL'))
    ELSE query_text
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
-- Labels of pairs
---------------------------------------------------------------------------------------------------

-- One row per pair of two nodes (_labeled_pairs) and level: the columns that _pair_label_sums
-- needs. The partition is the level.
CREATE OR REPLACE MACRO clustereval._pairs_at_levels(
  nodes, levels, parts, tbl, id, pairs, pair_left, pair_right, is_match, pair_weight, partition_by
) AS TABLE
  WITH __ce_given AS (
    SELECT
      CASE
        WHEN clustereval._is_absent(pair_left) OR clustereval._is_absent(pair_right)
          OR clustereval._is_absent(is_match)
        THEN error('pairs: expected pair_left, pair_right and is_match with pairs, got NULL')
        ELSE TRUE
      END AS __ce_valid
    FROM query_table(pairs)
    WHERE FALSE
  ),
  __ce_ends AS (
    SELECT *
    FROM clustereval._pairs_of_partitions(
      tbl, pairs, pair_left, pair_right, is_match, pair_weight, partition_by
    )
  ),
  __ce_checked AS (
    SELECT valid
    FROM clustereval._check_graph_columns(
      tbl, id, id, __ce_ends, __ce_left, __ce_right, NULL, partition_by, NULL, 'weight', 'pairs',
      FALSE, left_name := 'pair_left', right_name := 'pair_right'
    )
    WHERE (SELECT __ce_valid FROM __ce_given)
  ),
  -- The clusters are joined later, so each partition is one.
  __ce_numbered AS (SELECT *, partition_no AS cluster_no FROM query_table(nodes)),
  __ce_labeled AS MATERIALIZED (
    SELECT * FROM clustereval._labeled_pairs(__ce_numbered, tbl, id, __ce_ends, partition_by)
  )
  SELECT
    {'partition_no': level.partition_no, 'threshold': level.threshold} AS partition_key,
    pair.low, pair.high, pair.least_label, pair.least_weight, pair.n_labeled, pair.n_rows,
    COALESCE(one.part, pair.low) = COALESCE(two.part, pair.high) AS is_linked
  FROM __ce_labeled AS pair
  JOIN __ce_numbered AS own ON own.node = pair.low
  JOIN query_table(levels) AS level ON level.partition_no = own.partition_no
  LEFT JOIN query_table(parts) AS one
    ON one.threshold = level.threshold AND one.node = pair.low
  LEFT JOIN query_table(parts) AS two
    ON two.threshold = level.threshold AND two.node = pair.high
  WHERE (SELECT valid FROM __ce_checked)
    AND (SELECT valid FROM clustereval._check_labeled_pairs(__ce_numbered, __ce_labeled));

-- One row per level: partition_key, the level; n, 0, because no id has a label; and the scores of
-- pair_label_report. labeled: rows of _pairs_at_levels.
CREATE OR REPLACE MACRO clustereval._scores_of_pairs(levels, labeled) AS TABLE
  SELECT
    {'partition_no': level.partition_no, 'threshold': level.threshold} AS partition_key,
    CAST(0 AS BIGINT) AS n,
    clustereval._pair_precision(sums.tp, sums.fp, sums.fn, sums.tn) AS pair_precision,
    clustereval._pair_recall(sums.tp, sums.fp, sums.fn, sums.tn) AS pair_recall,
    clustereval._pair_f_score(sums.tp, sums.fp, sums.fn, sums.tn, 1.0) AS pair_f_score,
    CAST(NULL AS DOUBLE) AS bcubed_precision,
    CAST(NULL AS DOUBLE) AS bcubed_recall,
    CAST(NULL AS DOUBLE) AS bcubed_f_score,
    CAST(NULL AS DOUBLE) AS exact_match_precision,
    CAST(NULL AS DOUBLE) AS exact_match_recall,
    CAST(NULL AS DOUBLE) AS exact_match_f_score,
    CAST(NULL AS DOUBLE) AS variation_of_information
  FROM query_table(levels) AS level
  LEFT JOIN clustereval._pair_label_sums(labeled) AS sums
    ON sums.partition_key['partition_no'] = level.partition_no
    AND sums.partition_key['threshold'] = level.threshold;

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
-- entity_resolution_estimates. With pairs, a table with the columns pair_left, pair_right, is_match
-- and pair_weight of the labeled pairs, the pair scores are those of pair_label_report.
-- Examples:
--   FROM clustereval.threshold_report(
--     people, id, matches, id_l, id_r, score, person, thresholds := [0.5, 0.8]
--   );
CREATE OR REPLACE MACRO clustereval.threshold_report(
  tbl, id, edges, "left", "right", weight, label := NULL, thresholds := NULL,
  labels_are_sample := NULL, pairs := NULL, pair_left := NULL, pair_right := NULL,
  is_match := NULL, pair_weight := NULL, partition_by := NULL
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
  __ce_labels AS (
    SELECT clustereval._is_absent(label) AS __ce_are_absent FROM query_table(tbl) WHERE FALSE
  ),
  __ce_arcs AS MATERIALIZED (SELECT * FROM clustereval._edge_arcs(__ce_links)),
  __ce_levels AS MATERIALIZED (
    SELECT * FROM clustereval._threshold_levels(__ce_nodes, __ce_links, thresholds)
  ),
  __ce_parts AS MATERIALIZED (SELECT * FROM clustereval._level_parts(__ce_levels, __ce_arcs)),
  __ce_pairs AS (
    SELECT * FROM clustereval._pairs_at_levels(
      __ce_nodes, __ce_levels, __ce_parts, tbl, id, pairs, pair_left, pair_right, is_match,
      pair_weight, partition_by
    )
  ),
  -- Numbers of nodes by level, label and cluster.
  __ce_cells AS MATERIALIZED (
    SELECT
      {'partition_no': level.partition_no, 'threshold': level.threshold} AS __ce_partition,
      own.label AS __ce_label, COALESCE(part.part, own.node) AS __ce_cluster,
      CAST(COUNT(*) AS BIGINT) AS __ce_n
    FROM __ce_levels AS level
    JOIN __ce_nodes AS own ON own.partition_no = level.partition_no
    LEFT JOIN __ce_parts AS part ON part.threshold = level.threshold AND part.node = own.node
    GROUP BY ALL
  ),
  __ce_groups AS (SELECT * FROM clustereval._flag_groups(__ce_cells, NULL, NULL)),
  __ce_statistics AS (SELECT * FROM clustereval._statistics_of_groups(__ce_groups, FALSE)),
  __ce_scores AS (
    SELECT * FROM clustereval._scores_of_statistics(__ce_statistics, 'arithmetic', 1.0)
  ),
  __ce_clusters AS (
    SELECT
      __ce_partition, __ce_cluster AS __ce_label, __ce_cluster,
      CAST(SUM(__ce_n) AS BIGINT) AS __ce_n
    FROM __ce_cells
    GROUP BY __ce_partition, __ce_cluster
  ),
  __ce_all_groups AS (SELECT * FROM clustereval._flag_groups(__ce_clusters, NULL, NULL)),
  __ce_sample_scores AS (
    SELECT *
    FROM clustereval._scores_of_sample(__ce_groups, __ce_all_groups, labels_are_sample)
    WHERE clustereval._check_options(clustereval._valid_listed_thresholds(
        thresholds, 'labels_are_sample',
        clustereval._valid_estimate_options(NULL, NULL, labels_are_sample, 0.95, 1.0, NULL)
      ))
      AND CASE
        WHEN (SELECT __ce_are_absent FROM __ce_labels)
        THEN error('label: expected the column with the labels of a sample, got NULL')
        ELSE TRUE
      END
  ),
  __ce_pair_scores AS (
    SELECT *
    FROM clustereval._scores_of_pairs(__ce_levels, __ce_pairs)
    WHERE clustereval._check_options(clustereval._valid_listed_thresholds(
        thresholds, 'pairs', 'SELECT TRUE AS valid'
      ))
      AND CASE
        WHEN labels_are_sample IS NOT NULL OR NOT (SELECT __ce_are_absent FROM __ce_labels)
        THEN error('pairs: expected labels of pairs or of ids, got both')
        ELSE TRUE
      END
  ),
  __ce_sizes AS (
    SELECT
      one.__ce_partition AS level,
      CAST(SUM(one.__ce_n) AS BIGINT) AS n,
      COUNT(*) AS n_clusters,
      COUNT(CASE WHEN one.__ce_n = 1 THEN 1 END) AS n_singletons,
      MAX(one.__ce_n) AS largest_cluster_size,
      CAST(SUM(clustereval._count_pairs(one.__ce_n)) AS DOUBLE) AS n_pairs
    FROM __ce_clusters AS one
    GROUP BY one.__ce_partition
  ),
  __ce_partitions AS (SELECT DISTINCT partition_no, partition_key FROM __ce_nodes)
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
  FROM __ce_levels AS level
  JOIN __ce_partitions AS place ON place.partition_no = level.partition_no
  JOIN __ce_sizes AS size
    ON size.level['partition_no'] = level.partition_no
    AND size.level['threshold'] = level.threshold
  -- Those that are not named are not bound.
  JOIN query_table(
    CASE
      WHEN pairs IS NOT NULL THEN '__ce_pair_scores'
      WHEN labels_are_sample IS NOT NULL THEN '__ce_sample_scores'
      ELSE '__ce_scores'
    END
  ) AS score ON score.partition_key = size.level
  JOIN clustereval._level_links(__ce_levels, __ce_links) AS link
    ON link.partition_no = level.partition_no AND link.threshold = level.threshold
  WHERE clustereval._check_options(clustereval._valid_thresholds(thresholds))
  ORDER BY place.partition_key ASC NULLS LAST, level.threshold ASC NULLS LAST;
