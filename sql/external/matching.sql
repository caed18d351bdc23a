-- matching: indices of the best one-to-one matching of labels and clusters.
--
--   * A matching pairs each label with at most one cluster and each cluster with at most one label.
--     The best one has the greatest sum of the weights of its cells; a label and a cluster that
--     share no row have weight 0. There are several weights, each with a best matching of its own.
--   * A problem is one weight in one partition. Most cells of it are decided at once: a cell is in
--     a best matching if its weight is at least that of the best other cell of its label plus that
--     of the best other cell of its cluster, since no other match of the two gains more. The cells
--     that are left fall into parts that share no label and no cluster, and each part is solved
--     exactly by successive shortest paths, the Hungarian method.
--   * Noise that counts as singletons: each singleton has one cell, and its label matches one of
--     them at most. So the singletons of a label are one column, which no other label has.

---------------------------------------------------------------------------------------------------
-- Formulas
---------------------------------------------------------------------------------------------------

-- Gagolewski's normalized clustering accuracy. matched is the sum over labels of the matched share
-- of the label's rows, size the greater of the numbers of labels and of clusters.
CREATE OR REPLACE MACRO clustereval._normalized_clustering_accuracy(matched, size) AS
  CASE WHEN size = 1 THEN 1.0 ELSE clustereval._ratio(matched - 1.0, size - 1.0) END;

-- Rezaei and Franti's pair sets index. matched is the sum of the similarities of matched sets,
-- expected that of random sets, size the greater of the numbers of labels and of clusters.
CREATE OR REPLACE MACRO clustereval._pair_sets_index(matched, expected, size) AS
  CASE
    WHEN size = 1 THEN 1.0
    ELSE GREATEST(0.0, clustereval._ratio(matched - expected, size - expected))
  END;

---------------------------------------------------------------------------------------------------
-- Weights
---------------------------------------------------------------------------------------------------

-- One row per contingency cell and weight: __ce_partition; __ce_problem, a number of the partition
-- and the weight; __ce_weighting, the number of the weight: 0 rows, 1 share of the label, 2 share
-- of the larger set, 3 F1 score; __ce_row and __ce_column, numbers of the label and the cluster;
-- and __ce_weight. The parameters are names of CTEs: the results of _label_sizes, _cluster_sizes
-- and _sized_cells.
CREATE OR REPLACE MACRO clustereval._matching_weights(
  __ce_label_sizes, __ce_cluster_sizes, __ce_sized_cells
) AS TABLE
  WITH __ce_rows AS (
    SELECT
      __ce_partition,
      __ce_label,
      row_number() OVER (
        ORDER BY __ce_partition ASC NULLS LAST, __ce_label ASC NULLS LAST
      ) AS __ce_row
    FROM query_table(__ce_label_sizes)
  ),
  __ce_columns AS (
    SELECT
      __ce_partition,
      __ce_cluster,
      row_number() OVER (
        ORDER BY __ce_partition ASC NULLS LAST, __ce_cluster ASC NULLS LAST
      ) AS __ce_column
    FROM query_table(__ce_cluster_sizes)
  ),
  __ce_numbered_cells AS (
    SELECT
      cell.__ce_partition,
      -- The first label of the partition stands for it.
      MIN(label_row.__ce_row) OVER (PARTITION BY cell.__ce_partition) AS __ce_partition_no,
      label_row.__ce_row,
      CASE
        WHEN cell.__ce_cluster IS NULL THEN -label_row.__ce_row
        ELSE cluster_column.__ce_column
      END AS __ce_column,
      [
        CAST(cell.__ce_n AS DOUBLE),
        clustereval._ratio(cell.__ce_n, cell.__ce_label_size),
        clustereval._ratio(cell.__ce_n, GREATEST(cell.__ce_label_size, cell.__ce_cluster_size)),
        clustereval._match_score(cell.__ce_n, cell.__ce_label_size, cell.__ce_cluster_size)
      ] AS __ce_weights
    FROM query_table(__ce_sized_cells) AS cell
    JOIN __ce_rows AS label_row
      ON label_row.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND label_row.__ce_label = cell.__ce_label
    JOIN __ce_columns AS cluster_column
      ON cluster_column.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND cluster_column.__ce_cluster IS NOT DISTINCT FROM cell.__ce_cluster
  )
  SELECT
    cell.__ce_partition,
    4 * cell.__ce_partition_no + weighting.__ce_weighting AS __ce_problem,
    weighting.__ce_weighting,
    cell.__ce_row,
    cell.__ce_column,
    cell.__ce_weights[weighting.__ce_weighting + 1] AS __ce_weight
  FROM __ce_numbered_cells AS cell, range(4) AS weighting (__ce_weighting);

---------------------------------------------------------------------------------------------------
-- Cells that are decided at once
---------------------------------------------------------------------------------------------------

-- The rows of the CTE named __ce_weights that may be in a best matching, with __ce_state: 'matched'
-- if the cell is in it, 'left' if that is open. A matched label and a matched cluster have no other
-- cell. Each step takes the cells that are decided, and leaves out their labels and clusters, which
-- decides others in the next step.
CREATE OR REPLACE MACRO clustereval._decide_cells(__ce_weights) AS TABLE
  WITH RECURSIVE __ce_steps AS (
    SELECT __ce_problem, __ce_row, __ce_column, __ce_weight, 'open' AS __ce_state
    FROM query_table(__ce_weights)
    UNION ALL
    (
      WITH __ce_open AS (SELECT * FROM __ce_steps WHERE __ce_state = 'open'),
      __ce_row_tops AS (
        SELECT __ce_problem, __ce_row, max(__ce_weight, 2) AS __ce_top
        FROM __ce_open
        GROUP BY __ce_problem, __ce_row
      ),
      __ce_column_tops AS (
        SELECT __ce_problem, __ce_column, max(__ce_weight, 2) AS __ce_top
        FROM __ce_open
        GROUP BY __ce_problem, __ce_column
      ),
      -- Two decided cells of one label have equal weights, and no other label has their clusters:
      -- any of them will do. Likewise for two of one cluster.
      __ce_row_choices AS (
        SELECT cell.__ce_problem, cell.__ce_row, MIN(cell.__ce_column) AS __ce_column
        FROM __ce_open AS cell
        JOIN __ce_row_tops AS of_row
          ON of_row.__ce_problem = cell.__ce_problem AND of_row.__ce_row = cell.__ce_row
        JOIN __ce_column_tops AS of_column
          ON of_column.__ce_problem = cell.__ce_problem
          AND of_column.__ce_column = cell.__ce_column
        WHERE cell.__ce_weight
          >= clustereval._best_other(of_row.__ce_top, cell.__ce_weight)
            + clustereval._best_other(of_column.__ce_top, cell.__ce_weight)
        GROUP BY cell.__ce_problem, cell.__ce_row
      ),
      __ce_matched AS (
        SELECT __ce_problem, __ce_column, MIN(__ce_row) AS __ce_row
        FROM __ce_row_choices
        GROUP BY __ce_problem, __ce_column
      ),
      __ce_advancing AS (SELECT DISTINCT __ce_problem FROM __ce_matched)
      SELECT
        cell.__ce_problem, cell.__ce_row, cell.__ce_column, cell.__ce_weight,
        CASE
          WHEN of_row.__ce_problem IS NOT NULL THEN 'matched'
          WHEN advancing.__ce_problem IS NOT NULL THEN 'open'
          ELSE 'left'
        END
      FROM __ce_open AS cell
      LEFT JOIN __ce_advancing AS advancing ON advancing.__ce_problem = cell.__ce_problem
      LEFT JOIN __ce_matched AS of_row
        ON of_row.__ce_problem = cell.__ce_problem AND of_row.__ce_row = cell.__ce_row
      LEFT JOIN __ce_matched AS of_column
        ON of_column.__ce_problem = cell.__ce_problem
        AND of_column.__ce_column = cell.__ce_column
      WHERE (of_row.__ce_row IS NULL AND of_column.__ce_row IS NULL)
        OR of_row.__ce_column = cell.__ce_column
    )
  )
  SELECT * FROM __ce_steps WHERE __ce_state <> 'open';

-- The weight of the best other cell of a label or cluster, 0 if there is none. tops is the list of
-- the two greatest weights of its cells, the greatest first; weight is that of one cell.
CREATE OR REPLACE MACRO clustereval._best_other(tops, weight) AS
  CASE WHEN weight < tops[1] THEN tops[1] ELSE COALESCE(tops[2], 0.0) END;

---------------------------------------------------------------------------------------------------
-- Parts of what is left
---------------------------------------------------------------------------------------------------

-- One row per label or cluster of the cells in the CTE named __ce_left_cells: __ce_problem,
-- __ce_node, its number, __ce_is_row, whether it is a label, and __ce_part, the least number of a
-- label in its part. Cells of one label or one cluster are in one part.
CREATE OR REPLACE MACRO clustereval._find_parts(__ce_left_cells) AS TABLE
  WITH RECURSIVE __ce_nodes USING KEY (__ce_problem, __ce_node, __ce_is_row) AS (
    SELECT DISTINCT
      __ce_problem, __ce_row AS __ce_node, TRUE AS __ce_is_row, __ce_row AS __ce_part
    FROM query_table(__ce_left_cells)
    UNION
    (
      WITH __ce_reached AS (
        SELECT
          node.__ce_problem, cell.__ce_column AS __ce_node, FALSE AS __ce_is_row,
          MIN(node.__ce_part) AS __ce_part
        FROM __ce_nodes AS node
        JOIN query_table(__ce_left_cells) AS cell
          ON cell.__ce_problem = node.__ce_problem AND cell.__ce_row = node.__ce_node
        WHERE node.__ce_is_row
        GROUP BY node.__ce_problem, cell.__ce_column
        UNION ALL
        SELECT node.__ce_problem, cell.__ce_row, TRUE, MIN(node.__ce_part)
        FROM __ce_nodes AS node
        JOIN query_table(__ce_left_cells) AS cell
          ON cell.__ce_problem = node.__ce_problem AND cell.__ce_column = node.__ce_node
        WHERE NOT node.__ce_is_row
        GROUP BY node.__ce_problem, cell.__ce_row
      )
      SELECT reached.__ce_problem, reached.__ce_node, reached.__ce_is_row, reached.__ce_part
      FROM __ce_reached AS reached
      LEFT JOIN recurring.__ce_nodes AS known
        ON known.__ce_problem = reached.__ce_problem
        AND known.__ce_node = reached.__ce_node
        AND known.__ce_is_row = reached.__ce_is_row
      WHERE known.__ce_part IS NULL OR reached.__ce_part < known.__ce_part
    )
  )
  SELECT __ce_problem, __ce_node, __ce_is_row, __ce_part FROM __ce_nodes;

-- The greatest number of labels times clusters of a part: its table of costs is held in memory, and
-- solved in time that grows with the third power of its side in the worst case.
CREATE OR REPLACE MACRO clustereval._max_part_cells() AS 4000000;

-- n_rows x n_columns, the cells of a part. Raises an error if there are too many.
CREATE OR REPLACE MACRO clustereval._check_part_size(n_rows, n_columns) AS
  CASE
    WHEN n_rows * n_columns > clustereval._max_part_cells()
    THEN clustereval._raise(concat(
      'matching: expected at most ', clustereval._max_part_cells(),
      ' pairs of a label and a cluster to match, got ', n_rows, ' labels x ', n_columns,
      ' clusters that share rows with several others; merge small clusters, or evaluate parts of ',
      'the rows with partition_by'
    ))
    ELSE n_rows * n_columns
  END;

-- The tables of weights of the parts, one row per part and line: __ce_problem, __ce_part,
-- __ce_line, the number of the line from 1, and __ce_weights, the list of its weights, 0 where no
-- rows are shared. The lines are labels and the places in them clusters, or the other way round if
-- there are more labels. __ce_left_cells is the name of a CTE of the cells that are left.
CREATE OR REPLACE MACRO clustereval._part_weights(__ce_left_cells) AS TABLE
  WITH __ce_nodes AS MATERIALIZED (
    SELECT * FROM clustereval._find_parts(__ce_left_cells)
  ),
  __ce_parts AS (
    SELECT
      __ce_problem, __ce_part,
      COUNT(CASE WHEN __ce_is_row THEN 1 END) AS __ce_n_rows,
      COUNT(CASE WHEN NOT __ce_is_row THEN 1 END) AS __ce_n_columns
    FROM __ce_nodes
    GROUP BY __ce_problem, __ce_part
  ),
  __ce_tables AS (
    SELECT
      __ce_problem, __ce_part,
      __ce_n_rows <= __ce_n_columns AS __ce_rows_first,
      clustereval._check_part_size(__ce_n_rows, __ce_n_columns) AS __ce_size
    FROM __ce_parts
  ),
  __ce_lines AS (
    SELECT
      node.*,
      part.__ce_rows_first,
      node.__ce_is_row = part.__ce_rows_first AS __ce_is_line,
      row_number() OVER (
        PARTITION BY node.__ce_problem, node.__ce_part, node.__ce_is_row
        ORDER BY node.__ce_node ASC NULLS LAST
      ) AS __ce_place
    FROM __ce_nodes AS node
    JOIN __ce_tables AS part
      ON part.__ce_problem = node.__ce_problem AND part.__ce_part = node.__ce_part
    WHERE part.__ce_size > 0
  ),
  __ce_weights AS (
    SELECT
      line.__ce_problem, line.__ce_part,
      line.__ce_place AS __ce_line, place.__ce_place,
      COALESCE(cell.__ce_weight, 0.0) AS __ce_weight
    FROM __ce_lines AS line
    JOIN __ce_lines AS place
      ON place.__ce_problem = line.__ce_problem AND place.__ce_part = line.__ce_part
    LEFT JOIN query_table(__ce_left_cells) AS cell
      ON cell.__ce_problem = line.__ce_problem
      AND cell.__ce_row
        = CASE WHEN line.__ce_rows_first THEN line.__ce_node ELSE place.__ce_node END
      AND cell.__ce_column
        = CASE WHEN line.__ce_rows_first THEN place.__ce_node ELSE line.__ce_node END
    WHERE line.__ce_is_line AND NOT place.__ce_is_line
  )
  SELECT
    __ce_problem, __ce_part, __ce_line,
    list(__ce_weight ORDER BY __ce_place ASC NULLS LAST) AS __ce_weights
  FROM __ce_weights
  GROUP BY __ce_problem, __ce_part, __ce_line;

---------------------------------------------------------------------------------------------------
-- The best matching of a part
---------------------------------------------------------------------------------------------------

-- n copies of x, as a list.
CREATE OR REPLACE MACRO clustereval._repeat(x, n) AS list_transform(range(n), lambda __ce_i: x);

-- One row per part: __ce_problem, __ce_part and __ce_places, the list of the place that each line
-- is matched with in a best matching. __ce_part_weights is the name of a CTE of the rows of
-- _part_weights.
-- The Hungarian method: a line and a place have prices whose sum is at least their weight, and
-- equal to it where they are matched; the price of a free place is 0. One line after the other
-- starts a search for the nearest free place. A line and a place are apart by the sum of their
-- prices less their weight; the way from a matched place to its line has length 0. Each step of a
-- search reaches one place. If it is matched, the search goes on from its line; if it is free, the
-- prices are adapted, and the places on the way to it are handed over, one per step.
CREATE OR REPLACE MACRO clustereval._solve_parts(__ce_part_weights) AS TABLE
  WITH RECURSIVE __ce_parts AS (
    SELECT
      __ce_problem, __ce_part,
      COUNT(*) AS __ce_n_lines,
      len(any_value(__ce_weights)) AS __ce_n_places,
      list(list_max(__ce_weights) ORDER BY __ce_line ASC NULLS LAST) AS __ce_line_prices
    FROM query_table(__ce_part_weights)
    GROUP BY __ce_problem, __ce_part
  ),
  __ce_searches USING KEY (__ce_problem, __ce_part) AS (
    SELECT
      __ce_problem, __ce_part, __ce_n_lines,
      CAST(1 AS BIGINT) AS __ce_start,
      CAST(1 AS BIGINT) AS __ce_line,
      CAST(0 AS BIGINT) AS __ce_place,
      FALSE AS __ce_hands_over,
      CAST(0 AS DOUBLE) AS __ce_length,
      clustereval._repeat(CAST('Infinity' AS DOUBLE), __ce_n_places) AS __ce_distances,
      clustereval._repeat(CAST(0 AS BIGINT), __ce_n_places) AS __ce_origins,
      clustereval._repeat(FALSE, __ce_n_places) AS __ce_reached,
      __ce_line_prices,
      clustereval._repeat(CAST(0 AS DOUBLE), __ce_n_places) AS __ce_place_prices,
      clustereval._repeat(CAST(0 AS BIGINT), __ce_n_lines) AS __ce_places,
      clustereval._repeat(CAST(0 AS BIGINT), __ce_n_places) AS __ce_lines
    FROM __ce_parts
    UNION
    (
      WITH __ce_measured AS (
        SELECT
          search.*,
          list_transform(
            line.__ce_weights,
            lambda __ce_w, __ce_i: CASE
              WHEN search.__ce_reached[__ce_i] THEN search.__ce_distances[__ce_i]
              ELSE LEAST(
                search.__ce_distances[__ce_i],
                search.__ce_length + (
                  search.__ce_line_prices[search.__ce_line] + search.__ce_place_prices[__ce_i]
                  - __ce_w
                )
              )
            END
          ) AS __ce_new_distances
        FROM __ce_searches AS search
        JOIN query_table(__ce_part_weights) AS line
          ON line.__ce_problem = search.__ce_problem
          AND line.__ce_part = search.__ce_part
          AND line.__ce_line = search.__ce_line
        WHERE NOT search.__ce_hands_over AND search.__ce_start <= search.__ce_n_lines
      ),
      __ce_open_distances AS (
        SELECT
          *,
          list_transform(
            __ce_new_distances,
            lambda __ce_x, __ce_i: CASE
              WHEN __ce_reached[__ce_i] THEN CAST('Infinity' AS DOUBLE) ELSE __ce_x
            END
          ) AS __ce_open
        FROM __ce_measured
      ),
      __ce_nearest AS (
        SELECT
          *,
          list_min(__ce_open) AS __ce_new_length,
          list_position(__ce_open, list_min(__ce_open)) AS __ce_new_place,
          __ce_lines[list_position(__ce_open, list_min(__ce_open))] AS __ce_new_line
        FROM __ce_open_distances
      ),
      __ce_advanced AS (
        SELECT
          __ce_problem, __ce_part, __ce_n_lines, __ce_start,
          __ce_new_line, __ce_new_place, __ce_new_line = 0, __ce_new_length, __ce_new_distances,
          list_transform(
            __ce_origins,
            lambda __ce_x, __ce_i: CASE
              WHEN __ce_new_distances[__ce_i] < __ce_distances[__ce_i] THEN __ce_line ELSE __ce_x
            END
          ),
          list_transform(
            __ce_reached, lambda __ce_x, __ce_i: __ce_x OR __ce_i = __ce_new_place
          ),
          CASE
            WHEN __ce_new_line > 0 THEN __ce_line_prices
            ELSE list_transform(
              __ce_line_prices,
              lambda __ce_x, __ce_i: CASE
                WHEN __ce_i = __ce_start THEN __ce_x - __ce_new_length
                WHEN __ce_places[__ce_i] > 0 AND __ce_reached[__ce_places[__ce_i]]
                THEN __ce_x - (__ce_new_length - __ce_new_distances[__ce_places[__ce_i]])
                ELSE __ce_x
              END
            )
          END,
          CASE
            WHEN __ce_new_line > 0 THEN __ce_place_prices
            ELSE list_transform(
              __ce_place_prices,
              lambda __ce_x, __ce_i: CASE
                WHEN __ce_reached[__ce_i]
                THEN __ce_x + (__ce_new_length - __ce_new_distances[__ce_i])
                ELSE __ce_x
              END
            )
          END,
          __ce_places, __ce_lines
        FROM __ce_nearest
      ),
      -- __ce_place goes to the line that it was reached from, whose former place is next.
      __ce_handed_over AS (
        SELECT
          *,
          __ce_origins[__ce_place] AS __ce_receiver,
          __ce_origins[__ce_place] = __ce_start AS __ce_is_last
        FROM __ce_searches
        WHERE __ce_hands_over
      )
      SELECT * FROM __ce_advanced
      UNION ALL
      SELECT
        __ce_problem, __ce_part, __ce_n_lines,
        CASE WHEN __ce_is_last THEN __ce_start + 1 ELSE __ce_start END,
        __ce_start + 1,
        __ce_places[__ce_receiver],
        NOT __ce_is_last,
        CAST(0 AS DOUBLE),
        CASE
          WHEN __ce_is_last
          THEN list_transform(__ce_distances, lambda __ce_x: CAST('Infinity' AS DOUBLE))
          ELSE __ce_distances
        END,
        __ce_origins,
        CASE
          WHEN __ce_is_last THEN list_transform(__ce_reached, lambda __ce_x: FALSE)
          ELSE __ce_reached
        END,
        __ce_line_prices, __ce_place_prices,
        list_transform(
          __ce_places,
          lambda __ce_x, __ce_i: CASE WHEN __ce_i = __ce_receiver THEN __ce_place ELSE __ce_x END
        ),
        list_transform(
          __ce_lines,
          lambda __ce_x, __ce_i: CASE WHEN __ce_i = __ce_place THEN __ce_receiver ELSE __ce_x END
        )
      FROM __ce_handed_over
    )
  )
  SELECT __ce_problem, __ce_part, __ce_places FROM __ce_searches;

-- One row per __ce_partition: __ce_matched, the list of the sums of the weights of the best
-- matchings, by the number of the weight. __ce_weights is the name of a CTE of the rows of
-- _matching_weights.
CREATE OR REPLACE MACRO clustereval._matched_totals(__ce_weights) AS TABLE
  WITH __ce_decided AS MATERIALIZED (SELECT * FROM clustereval._decide_cells(__ce_weights)),
  __ce_left_cells AS MATERIALIZED (SELECT * FROM __ce_decided WHERE __ce_state = 'left'),
  __ce_part_weights AS MATERIALIZED (
    SELECT * FROM clustereval._part_weights(__ce_left_cells)
  ),
  __ce_solutions AS (SELECT * FROM clustereval._solve_parts(__ce_part_weights)),
  __ce_matched_weights AS (
    SELECT __ce_problem, __ce_weight FROM __ce_decided WHERE __ce_state = 'matched'
    UNION ALL
    SELECT line.__ce_problem, line.__ce_weights[solution.__ce_places[line.__ce_line]]
    FROM __ce_part_weights AS line
    JOIN __ce_solutions AS solution
      ON solution.__ce_problem = line.__ce_problem AND solution.__ce_part = line.__ce_part
  ),
  __ce_sums AS (
    SELECT __ce_problem, clustereval._compensated_sum(__ce_weight) AS __ce_sum
    FROM __ce_matched_weights
    GROUP BY __ce_problem
  ),
  __ce_problems AS (
    SELECT __ce_problem, __ce_weighting, MIN(__ce_partition) AS __ce_partition
    FROM query_table(__ce_weights)
    GROUP BY __ce_problem, __ce_weighting
  )
  SELECT
    problem.__ce_partition,
    list(totals.__ce_sum ORDER BY problem.__ce_weighting ASC NULLS LAST) AS __ce_matched
  FROM __ce_problems AS problem
  JOIN __ce_sums AS totals ON totals.__ce_problem = problem.__ce_problem
  GROUP BY problem.__ce_partition;

-- One row per __ce_partition: __ce_expected_rows, the sum over ranks of the lesser of the sizes of
-- the label and of the cluster of that rank by size. Divided by the number of rows, it is the
-- expected similarity of random sets in the pair sets index. Noise rows that count as singletons
-- have the last ranks. The parameters are names of CTEs: the results of _label_sizes and
-- _cluster_sizes.
CREATE OR REPLACE MACRO clustereval._ranked_sizes(__ce_label_sizes, __ce_cluster_sizes) AS TABLE
  WITH __ce_ranked_labels AS (
    SELECT
      __ce_partition, __ce_label_size,
      row_number() OVER (
        PARTITION BY __ce_partition ORDER BY __ce_label_size DESC NULLS LAST
      ) AS __ce_rank
    FROM query_table(__ce_label_sizes)
  ),
  __ce_ranked_clusters AS (
    SELECT
      __ce_partition, __ce_cluster_size,
      row_number() OVER (
        PARTITION BY __ce_partition ORDER BY __ce_cluster_size DESC NULLS LAST
      ) AS __ce_rank
    FROM query_table(__ce_cluster_sizes)
    WHERE __ce_cluster IS NOT NULL
  ),
  __ce_singleton_counts AS (
    SELECT __ce_partition, __ce_copies AS __ce_n_singletons
    FROM query_table(__ce_cluster_sizes)
    WHERE __ce_cluster IS NULL
  ),
  __ce_same_ranks AS (
    SELECT
      ranked_label.__ce_partition,
      -- LEAST passes over NULLs.
      SUM(
        CASE
          WHEN ranked_cluster.__ce_rank IS NOT NULL
          THEN LEAST(ranked_label.__ce_label_size, ranked_cluster.__ce_cluster_size)
        END
      ) AS __ce_rows,
      COUNT(*) - COUNT(ranked_cluster.__ce_rank) AS __ce_n_labels_left
    FROM __ce_ranked_labels AS ranked_label
    LEFT JOIN __ce_ranked_clusters AS ranked_cluster
      ON ranked_cluster.__ce_partition IS NOT DISTINCT FROM ranked_label.__ce_partition
      AND ranked_cluster.__ce_rank = ranked_label.__ce_rank
    GROUP BY ranked_label.__ce_partition
  )
  SELECT
    same_ranks.__ce_partition,
    CAST(
      COALESCE(same_ranks.__ce_rows, 0)
        + LEAST(same_ranks.__ce_n_labels_left, COALESCE(singletons.__ce_n_singletons, 0)) AS BIGINT
    ) AS __ce_expected_rows
  FROM __ce_same_ranks AS same_ranks
  LEFT JOIN __ce_singleton_counts AS singletons
    ON singletons.__ce_partition IS NOT DISTINCT FROM same_ranks.__ce_partition;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- One row per partition (group of partition_by): counts, and the indices of the best one-to-one
-- matching of labels and clusters. label and cluster are the columns of the true class and the
-- assigned cluster, and weight is the multiplicity of a row, a whole number >= 0. noise is the
-- value of cluster that marks noise, which noise_as ('cluster', 'drop' or 'singletons') keeps as a
-- cluster, leaves out, or counts as one cluster per row. beta weighs recall in ceaf_f_score. Rows
-- with a NULL label or cluster are left out.
-- Examples:
--   FROM clustereval.matching_report(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.matching_report(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  beta := 1.0
) AS TABLE
  WITH __ce_groups AS MATERIALIZED (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_row_counts AS (SELECT * FROM clustereval._row_counts(__ce_groups)),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE __ce_copies > 0),
  __ce_label_sizes AS MATERIALIZED (SELECT * FROM clustereval._label_sizes(__ce_cells)),
  __ce_cluster_sizes AS MATERIALIZED (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_sized_cells AS (
    SELECT *
    FROM clustereval._sized_cells(__ce_cells, __ce_label_sizes, __ce_cluster_sizes)
  ),
  __ce_label_totals AS (SELECT * FROM clustereval._label_totals(__ce_label_sizes)),
  __ce_cluster_totals AS (SELECT * FROM clustereval._cluster_totals(__ce_cluster_sizes)),
  __ce_ranked AS (
    SELECT * FROM clustereval._ranked_sizes(__ce_label_sizes, __ce_cluster_sizes)
  ),
  __ce_weights AS MATERIALIZED (
    SELECT *
    FROM clustereval._matching_weights(__ce_label_sizes, __ce_cluster_sizes, __ce_sized_cells)
  ),
  __ce_totals AS (SELECT * FROM clustereval._matched_totals(__ce_weights)),
  __ce_statistics AS (
    SELECT
      counts.*,
      COALESCE(labels.__ce_n_labels, 0) AS __ce_n_labels,
      COALESCE(clusters.__ce_n_clusters, 0) AS __ce_n_clusters,
      GREATEST(labels.__ce_n_labels, clusters.__ce_n_clusters) AS __ce_size,
      clustereval._ratio(ranked.__ce_expected_rows, counts.__ce_total) AS __ce_expected,
      totals.__ce_matched,
      clustereval._ratio(totals.__ce_matched[4], clusters.__ce_n_clusters)
        AS __ce_ceaf_precision,
      clustereval._ratio(totals.__ce_matched[4], labels.__ce_n_labels) AS __ce_ceaf_recall
    FROM __ce_row_counts AS counts
    LEFT JOIN __ce_label_totals AS labels
      ON labels.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_cluster_totals AS clusters
      ON clusters.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_ranked AS ranked
      ON ranked.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_totals AS totals
      ON totals.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_total AS n,
    __ce_n_dropped AS n_dropped,
    __ce_n_noise AS n_noise,
    __ce_n_labels AS n_labels,
    __ce_n_clusters AS n_clusters,
    clustereval._ratio(__ce_matched[1], __ce_total) AS clustering_accuracy,
    CASE
      WHEN __ce_total > 0
      THEN clustereval._normalized_clustering_accuracy(__ce_matched[2], __ce_size)
    END AS normalized_clustering_accuracy,
    CASE
      WHEN __ce_total > 0
      THEN clustereval._pair_sets_index(__ce_matched[3], __ce_expected, __ce_size)
    END AS pair_sets_index,
    __ce_ceaf_precision AS ceaf_precision,
    __ce_ceaf_recall AS ceaf_recall,
    CASE
      WHEN __ce_total > 0
      THEN clustereval._f_score(
        __ce_ceaf_precision, __ce_ceaf_recall, clustereval._check_beta(beta)
      )
    END AS ceaf_f_score
  FROM __ce_statistics
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY __ce_partition ASC NULLS LAST;
