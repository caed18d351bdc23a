-- matching: indices of the best one-to-one matching of labels and clusters.
--
--   * A matching pairs each label with at most one cluster and each cluster with at most one label.
--     The best one has the largest sum of the weights of its cells; a label and a cluster that
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
-- of the label's rows, size the larger of the numbers of labels and of clusters.
CREATE OR REPLACE MACRO clustereval._normalized_clustering_accuracy(matched, size) AS
  CASE WHEN size = 1 THEN 1.0 ELSE clustereval._ratio(matched - 1.0, size - 1.0) END;

-- Rezaei and Franti's pair sets index. matched is the sum of the similarities of matched sets,
-- expected that of random sets, size the larger of the numbers of labels and of clusters.
CREATE OR REPLACE MACRO clustereval._pair_sets_index(matched, expected, size) AS
  CASE
    WHEN size = 1 THEN 1.0
    ELSE GREATEST(0.0, clustereval._ratio(matched - expected, size - expected))
  END;

---------------------------------------------------------------------------------------------------
-- Weights
---------------------------------------------------------------------------------------------------

-- One row per contingency cell and weight: partition_key; problem, a number of the partition and
-- the weight; weighting, the number of the weight: 0 rows, 1 share of the label, 2 share of the
-- larger set, 3 F1 score; row_no and column_no, numbers of the label and the cluster; and weight.
-- The parameters are names of CTEs: the results of _label_sizes, _cluster_sizes and _sized_cells.
CREATE OR REPLACE MACRO clustereval._matching_weights(
  label_sizes, cluster_sizes, sized_cells
) AS TABLE
  WITH rows AS (
    SELECT
      partition_key,
      label,
      row_number() OVER (ORDER BY partition_key ASC NULLS LAST, label ASC NULLS LAST) AS row_no
    FROM query_table(label_sizes)
  ),
  columns AS (
    SELECT
      partition_key,
      cluster,
      row_number() OVER (ORDER BY partition_key ASC NULLS LAST, cluster ASC NULLS LAST) AS column_no
    FROM query_table(cluster_sizes)
  ),
  numbered_cells AS (
    SELECT
      cell.partition_key,
      -- The first label of the partition stands for it.
      MIN(label_row.row_no) OVER (PARTITION BY cell.partition_key) AS partition_no,
      label_row.row_no,
      CASE
        WHEN cell.cluster IS NULL THEN -label_row.row_no
        ELSE cluster_column.column_no
      END AS column_no,
      [
        CAST(cell.n AS DOUBLE),
        clustereval._ratio(cell.n, cell.label_size),
        clustereval._ratio(cell.n, GREATEST(cell.label_size, cell.cluster_size)),
        clustereval._match_score(cell.n, cell.label_size, cell.cluster_size)
      ] AS weights
    FROM query_table(sized_cells) AS cell
    JOIN rows AS label_row
      ON label_row.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND label_row.label = cell.label
    JOIN columns AS cluster_column
      ON cluster_column.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND cluster_column.cluster IS NOT DISTINCT FROM cell.cluster
  )
  SELECT
    cell.partition_key,
    4 * cell.partition_no + weighting.weighting AS problem,
    weighting.weighting,
    cell.row_no,
    cell.column_no,
    cell.weights[weighting.weighting + 1] AS weight
  FROM numbered_cells AS cell, range(4) AS weighting (weighting);

---------------------------------------------------------------------------------------------------
-- Cells that are decided at once
---------------------------------------------------------------------------------------------------

-- The rows of the CTE named weights that may be in a best matching, with state: 'matched' if the
-- cell is in it, 'left' if that is open. A matched label and a matched cluster have no other cell.
-- Each step takes the cells that are decided, and leaves out their labels and clusters, which
-- decides others in the next step.
CREATE OR REPLACE MACRO clustereval._decide_cells(weights) AS TABLE
  WITH RECURSIVE steps AS (
    SELECT problem, row_no, column_no, weight, 'open' AS state
    FROM query_table(weights)
    UNION ALL
    (
      WITH open AS (SELECT * FROM steps WHERE state = 'open'),
      row_tops AS (
        SELECT problem, row_no, max(weight, 2) AS top
        FROM open
        GROUP BY problem, row_no
      ),
      column_tops AS (
        SELECT problem, column_no, max(weight, 2) AS top
        FROM open
        GROUP BY problem, column_no
      ),
      -- Two decided cells of one label have equal weights, and no other label has their clusters:
      -- any of them will do. Likewise for two of one cluster.
      row_choices AS (
        SELECT cell.problem, cell.row_no, MIN(cell.column_no) AS column_no
        FROM open AS cell
        JOIN row_tops AS of_row ON of_row.problem = cell.problem AND of_row.row_no = cell.row_no
        JOIN column_tops AS of_column
          ON of_column.problem = cell.problem
          AND of_column.column_no = cell.column_no
        WHERE cell.weight
          >= clustereval._best_other(of_row.top, cell.weight)
            + clustereval._best_other(of_column.top, cell.weight)
        GROUP BY cell.problem, cell.row_no
      ),
      matched AS (
        SELECT problem, column_no, MIN(row_no) AS row_no
        FROM row_choices
        GROUP BY problem, column_no
      ),
      advancing AS (SELECT DISTINCT problem FROM matched)
      SELECT
        cell.problem, cell.row_no, cell.column_no, cell.weight,
        CASE
          WHEN of_row.problem IS NOT NULL THEN 'matched'
          WHEN advancing.problem IS NOT NULL THEN 'open'
          ELSE 'left'
        END
      FROM open AS cell
      LEFT JOIN advancing ON advancing.problem = cell.problem
      LEFT JOIN matched AS of_row ON of_row.problem = cell.problem AND of_row.row_no = cell.row_no
      LEFT JOIN matched AS of_column
        ON of_column.problem = cell.problem
        AND of_column.column_no = cell.column_no
      WHERE (of_row.row_no IS NULL AND of_column.row_no IS NULL)
        OR of_row.column_no = cell.column_no
    )
  )
  SELECT * FROM steps WHERE state <> 'open';

-- The weight of the best other cell of a label or cluster, 0 if there is none. tops is the list of
-- the two greatest weights of its cells, the largest first; weight is that of one cell.
CREATE OR REPLACE MACRO clustereval._best_other(tops, weight) AS
  CASE WHEN weight < tops[1] THEN tops[1] ELSE COALESCE(tops[2], 0.0) END;

---------------------------------------------------------------------------------------------------
-- Parts of what is left
---------------------------------------------------------------------------------------------------

-- One row per label or cluster of the cells in the CTE named left_cells: problem, node, its number,
-- is_row, whether it is a label, and part, the smallest number of a label in its part. Cells of one
-- label or one cluster are in one part.
CREATE OR REPLACE MACRO clustereval._find_parts(left_cells) AS TABLE
  WITH RECURSIVE nodes USING KEY (problem, node, is_row) AS (
    SELECT DISTINCT
      problem, row_no AS node, TRUE AS is_row, row_no AS part
    FROM query_table(left_cells)
    UNION
    (
      WITH reached AS (
        SELECT
          node.problem, cell.column_no AS node, FALSE AS is_row,
          MIN(node.part) AS part
        FROM nodes AS node
        JOIN query_table(left_cells) AS cell
          ON cell.problem = node.problem AND cell.row_no = node.node
        WHERE node.is_row
        GROUP BY node.problem, cell.column_no
        UNION ALL
        SELECT node.problem, cell.row_no, TRUE, MIN(node.part)
        FROM nodes AS node
        JOIN query_table(left_cells) AS cell
          ON cell.problem = node.problem AND cell.column_no = node.node
        WHERE NOT node.is_row
        GROUP BY node.problem, cell.row_no
      )
      SELECT reached.problem, reached.node, reached.is_row, reached.part
      FROM reached
      LEFT JOIN recurring.nodes AS known
        ON known.problem = reached.problem
        AND known.node = reached.node
        AND known.is_row = reached.is_row
      WHERE known.part IS NULL OR reached.part < known.part
    )
  )
  SELECT problem, node, is_row, part FROM nodes;

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

-- The tables of weights of the parts, one row per part and line: problem, part, line, the number of
-- the line from 1, and weights, the list of its weights, 0 where no rows are shared. The lines are
-- labels and the places in them clusters, or the other way round if there are more labels.
-- left_cells is the name of a CTE of the cells that are left.
CREATE OR REPLACE MACRO clustereval._part_weights(left_cells) AS TABLE
  WITH nodes AS MATERIALIZED (SELECT * FROM clustereval._find_parts(left_cells)),
  parts AS (
    SELECT
      problem, part,
      COUNT(CASE WHEN is_row THEN 1 END) AS n_rows,
      COUNT(CASE WHEN NOT is_row THEN 1 END) AS n_columns
    FROM nodes
    GROUP BY problem, part
  ),
  tables AS (
    SELECT
      problem, part,
      n_rows <= n_columns AS rows_first,
      clustereval._check_part_size(n_rows, n_columns) AS size
    FROM parts
  ),
  lines AS (
    SELECT
      node.*,
      part.rows_first,
      node.is_row = part.rows_first AS is_line,
      row_number() OVER (
        PARTITION BY node.problem, node.part, node.is_row
        ORDER BY node.node ASC NULLS LAST
      ) AS place
    FROM nodes AS node
    JOIN tables AS part ON part.problem = node.problem AND part.part = node.part
    WHERE part.size > 0
  ),
  weights AS (
    SELECT
      line.problem, line.part, line.place AS line, place.place,
      COALESCE(cell.weight, 0.0) AS weight
    FROM lines AS line
    JOIN lines AS place ON place.problem = line.problem AND place.part = line.part
    LEFT JOIN query_table(left_cells) AS cell
      ON cell.problem = line.problem
      AND cell.row_no
        = CASE WHEN line.rows_first THEN line.node ELSE place.node END
      AND cell.column_no
        = CASE WHEN line.rows_first THEN place.node ELSE line.node END
    WHERE line.is_line AND NOT place.is_line
  )
  SELECT
    problem, part, line,
    list(weight ORDER BY place ASC NULLS LAST) AS weights
  FROM weights
  GROUP BY problem, part, line;

---------------------------------------------------------------------------------------------------
-- The best matching of a part
---------------------------------------------------------------------------------------------------

-- n copies of x, as a list.
CREATE OR REPLACE MACRO clustereval._repeat(x, n) AS list_transform(range(n), lambda __ce_i: x);

-- The distances of the places once a search (see _solve_parts) goes on from a line at the distance
-- length: those of places that are reached stay, others may be nearer by way of the line. weights
-- are those of the line, line_price is its price.
CREATE OR REPLACE MACRO clustereval._distances_by_line(
  weights, reached, distances, length, line_price, place_prices
) AS
  list_transform(
    weights,
    lambda __ce_weight, __ce_i: CASE
      WHEN reached[__ce_i] THEN distances[__ce_i]
      ELSE LEAST(distances[__ce_i], length + (line_price + place_prices[__ce_i] - __ce_weight))
    END
  );

-- The prices of the lines after a search from the line `start` has found a free place at the
-- distance length: those of the lines that it went through are lower. places are those that the
-- lines are matched with, 0 for none.
CREATE OR REPLACE MACRO clustereval._adapted_line_prices(
  line_prices, start, places, reached, distances, length
) AS
  list_transform(
    line_prices,
    lambda __ce_price, __ce_i: CASE
      WHEN __ce_i = start THEN __ce_price - length
      WHEN places[__ce_i] > 0 AND reached[places[__ce_i]]
      THEN __ce_price - (length - distances[places[__ce_i]])
      ELSE __ce_price
    END
  );

-- The prices of the places after such a search: those that it reached are higher.
CREATE OR REPLACE MACRO clustereval._adapted_place_prices(
  place_prices, reached, distances, length
) AS
  list_transform(
    place_prices,
    lambda __ce_price, __ce_i: CASE
      WHEN reached[__ce_i] THEN __ce_price + (length - distances[__ce_i]) ELSE __ce_price
    END
  );

-- One row per part: problem, part and places, the list of the place that each line is matched with
-- in a best matching. The Hungarian method: a line and a place have prices whose sum is at least
-- their weight, and equal to it where they are matched; the price of a free place is 0. One line
-- after the other starts a search for the nearest free place. A line and a place are apart by the
-- sum of their prices less their weight; the way from a matched place to its line has length 0.
-- Each step of a search reaches one place. If it is matched, the search goes on from its line; if
-- it is free, the prices are adapted, and the places on the way to it are handed over, one per
-- step.
CREATE OR REPLACE MACRO clustereval._solve_parts(part_weights) AS TABLE
  WITH RECURSIVE parts AS (
    SELECT
      problem, part,
      COUNT(*) AS n_lines,
      len(any_value(weights)) AS n_places,
      list(list_max(weights) ORDER BY line ASC NULLS LAST) AS line_prices
    FROM query_table(part_weights)
    GROUP BY problem, part
  ),
  searches USING KEY (problem, part) AS (
    SELECT
      problem, part, n_lines,
      CAST(1 AS BIGINT) AS start,
      CAST(1 AS BIGINT) AS line,
      CAST(0 AS BIGINT) AS place,
      FALSE AS hands_over,
      CAST(0 AS DOUBLE) AS length,
      clustereval._repeat(CAST('Infinity' AS DOUBLE), n_places) AS distances,
      clustereval._repeat(CAST(0 AS BIGINT), n_places) AS origins,
      clustereval._repeat(FALSE, n_places) AS reached,
      line_prices,
      clustereval._repeat(CAST(0 AS DOUBLE), n_places) AS place_prices,
      clustereval._repeat(CAST(0 AS BIGINT), n_lines) AS places,
      clustereval._repeat(CAST(0 AS BIGINT), n_places) AS lines
    FROM parts
    UNION
    (
      WITH measured AS (
        SELECT
          search.*,
          clustereval._distances_by_line(
            line.weights, search.reached, search.distances, search.length,
            search.line_prices[search.line], search.place_prices
          ) AS new_distances
        FROM searches AS search
        JOIN query_table(part_weights) AS line
          ON line.problem = search.problem
          AND line.part = search.part
          AND line.line = search.line
        WHERE NOT search.hands_over AND search.start <= search.n_lines
      ),
      open_distances AS (
        SELECT
          *,
          list_transform(
            new_distances,
            lambda x, i: CASE WHEN reached[i] THEN CAST('Infinity' AS DOUBLE) ELSE x END
          ) AS open
        FROM measured
      ),
      nearest AS (
        SELECT
          *,
          list_min(open) AS new_length,
          list_position(open, list_min(open)) AS new_place,
          lines[list_position(open, list_min(open))] AS new_line
        FROM open_distances
      ),
      advanced AS (
        SELECT
          problem, part, n_lines, start,
          new_line, new_place, new_line = 0, new_length, new_distances,
          list_transform(
            origins, lambda x, i: CASE WHEN new_distances[i] < distances[i] THEN line ELSE x END
          ),
          list_transform(reached, lambda x, i: x OR i = new_place),
          CASE
            WHEN new_line > 0 THEN line_prices
            ELSE clustereval._adapted_line_prices(
              line_prices, start, places, reached, new_distances, new_length
            )
          END,
          CASE
            WHEN new_line > 0 THEN place_prices
            ELSE clustereval._adapted_place_prices(place_prices, reached, new_distances, new_length)
          END,
          places, lines
        FROM nearest
      ),
      -- place goes to the line that it was reached from, whose former place is next.
      handed_over AS (
        SELECT
          *,
          origins[place] AS receiver,
          origins[place] = start AS is_last
        FROM searches
        WHERE hands_over
      )
      SELECT * FROM advanced
      UNION ALL
      SELECT
        problem, part, n_lines,
        CASE WHEN is_last THEN start + 1 ELSE start END,
        start + 1,
        places[receiver],
        NOT is_last,
        CAST(0 AS DOUBLE),
        CASE
          WHEN is_last
          THEN list_transform(distances, lambda x: CAST('Infinity' AS DOUBLE))
          ELSE distances
        END,
        origins,
        CASE
          WHEN is_last THEN list_transform(reached, lambda x: FALSE)
          ELSE reached
        END,
        line_prices, place_prices,
        list_transform(places, lambda x, i: CASE WHEN i = receiver THEN place ELSE x END),
        list_transform(lines, lambda x, i: CASE WHEN i = place THEN receiver ELSE x END)
      FROM handed_over
    )
  )
  SELECT problem, part, places FROM searches;

-- One row per partition_key: matched, the list of the sums of the weights of the best matchings, by
-- the number of the weight. weights: rows of _matching_weights.
CREATE OR REPLACE MACRO clustereval._matched_totals(weights) AS TABLE
  WITH decided AS MATERIALIZED (SELECT * FROM clustereval._decide_cells(weights)),
  left_cells AS MATERIALIZED (SELECT * FROM decided WHERE state = 'left'),
  part_weights AS MATERIALIZED (SELECT * FROM clustereval._part_weights(left_cells)),
  solutions AS (SELECT * FROM clustereval._solve_parts(part_weights)),
  matched_weights AS (
    SELECT problem, weight FROM decided WHERE state = 'matched'
    UNION ALL
    SELECT line.problem, line.weights[solution.places[line.line]]
    FROM part_weights AS line
    JOIN solutions AS solution ON solution.problem = line.problem AND solution.part = line.part
  ),
  sums AS (
    SELECT problem, clustereval._compensated_sum(weight) AS sum
    FROM matched_weights
    GROUP BY problem
  ),
  problems AS (
    SELECT problem, weighting, MIN(partition_key) AS partition_key
    FROM query_table(weights)
    GROUP BY problem, weighting
  )
  SELECT
    problem.partition_key,
    list(totals.sum ORDER BY problem.weighting ASC NULLS LAST) AS matched
  FROM problems AS problem
  JOIN sums AS totals ON totals.problem = problem.problem
  GROUP BY problem.partition_key;

-- One row per partition_key: expected_rows, the sum over ranks of the smaller of the sizes of the
-- label and of the cluster of that rank by size. Divided by the number of rows, it is the expected
-- similarity of random sets in the pair sets index. Noise rows that count as singletons have the
-- last ranks. The parameters are names of CTEs: the results of _label_sizes and _cluster_sizes.
CREATE OR REPLACE MACRO clustereval._ranked_sizes(label_sizes, cluster_sizes) AS TABLE
  WITH ranked_labels AS (
    SELECT
      partition_key, label_size,
      row_number() OVER (PARTITION BY partition_key ORDER BY label_size DESC NULLS LAST) AS rank
    FROM query_table(label_sizes)
  ),
  ranked_clusters AS (
    SELECT
      partition_key, cluster_size,
      row_number() OVER (PARTITION BY partition_key ORDER BY cluster_size DESC NULLS LAST) AS rank
    FROM query_table(cluster_sizes)
    WHERE cluster IS NOT NULL
  ),
  singleton_counts AS (
    SELECT partition_key, copies AS n_singletons
    FROM query_table(cluster_sizes)
    WHERE cluster IS NULL
  ),
  same_ranks AS (
    SELECT
      ranked_label.partition_key,
      -- LEAST passes over NULLs.
      SUM(
        CASE
          WHEN ranked_cluster.rank IS NOT NULL
          THEN LEAST(ranked_label.label_size, ranked_cluster.cluster_size)
        END
      ) AS rows,
      COUNT(*) - COUNT(ranked_cluster.rank) AS n_labels_left
    FROM ranked_labels AS ranked_label
    LEFT JOIN ranked_clusters AS ranked_cluster
      ON ranked_cluster.partition_key IS NOT DISTINCT FROM ranked_label.partition_key
      AND ranked_cluster.rank = ranked_label.rank
    GROUP BY ranked_label.partition_key
  )
  SELECT
    same_ranks.partition_key,
    CAST(
      COALESCE(same_ranks.rows, 0)
        + LEAST(same_ranks.n_labels_left, COALESCE(singletons.n_singletons, 0)) AS BIGINT
    ) AS expected_rows
  FROM same_ranks
  LEFT JOIN singleton_counts AS singletons
    ON singletons.partition_key IS NOT DISTINCT FROM same_ranks.partition_key;

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
  __ce_cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  __ce_label_sizes AS MATERIALIZED (SELECT * FROM clustereval._label_sizes(__ce_cells)),
  __ce_cluster_sizes AS MATERIALIZED (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_sized_cells AS (
    SELECT * FROM clustereval._sized_cells(__ce_cells, __ce_label_sizes, __ce_cluster_sizes)
  ),
  __ce_label_totals AS (SELECT * FROM clustereval._label_totals(__ce_label_sizes)),
  __ce_cluster_totals AS (SELECT * FROM clustereval._cluster_totals(__ce_cluster_sizes)),
  __ce_ranked AS (SELECT * FROM clustereval._ranked_sizes(__ce_label_sizes, __ce_cluster_sizes)),
  __ce_weights AS MATERIALIZED (
    SELECT *
    FROM clustereval._matching_weights(__ce_label_sizes, __ce_cluster_sizes, __ce_sized_cells)
  ),
  __ce_totals AS (SELECT * FROM clustereval._matched_totals(__ce_weights)),
  __ce_statistics AS (
    SELECT
      counts.*,
      COALESCE(labels.n_labels, 0) AS n_labels,
      COALESCE(clusters.n_clusters, 0) AS n_clusters,
      GREATEST(labels.n_labels, clusters.n_clusters) AS size,
      clustereval._ratio(ranked.expected_rows, counts.total) AS expected,
      totals.matched,
      clustereval._ratio(totals.matched[4], clusters.n_clusters) AS ceaf_precision,
      clustereval._ratio(totals.matched[4], labels.n_labels) AS ceaf_recall
    FROM __ce_row_counts AS counts
    LEFT JOIN __ce_label_totals AS labels
      ON labels.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN __ce_cluster_totals AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN __ce_ranked AS ranked
      ON ranked.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN __ce_totals AS totals
      ON totals.partition_key IS NOT DISTINCT FROM counts.partition_key
  )
  SELECT
    partition_key,
    total AS n,
    n_dropped,
    n_noise,
    n_labels,
    n_clusters,
    clustereval._ratio(matched[1], total) AS clustering_accuracy,
    CASE
      WHEN total > 0
      THEN clustereval._normalized_clustering_accuracy(matched[2], size)
    END AS normalized_clustering_accuracy,
    CASE
      WHEN total > 0
      THEN clustereval._pair_sets_index(matched[3], expected, size)
    END AS pair_sets_index,
    ceaf_precision,
    ceaf_recall,
    CASE
      WHEN total > 0
      THEN clustereval._f_score(ceaf_precision, ceaf_recall, clustereval._check_beta(beta))
    END AS ceaf_f_score
  FROM __ce_statistics
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
  ORDER BY partition_key ASC NULLS LAST;
