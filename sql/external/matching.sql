-- matching: indices of the best one-to-one matching of labels and clusters.
--
--   * A matching pairs each label with at most one cluster and each cluster with at most one label.
--     The best matching has the largest sum of the weights of its cells. A label and a cluster that
--     share no row have weight 0. There are several kinds of weights, and each of them has its own
--     best matching.
--   * A problem is a kind of weight in a partition. Most cells of a problem can be decided first. A
--     cell is in a best matching if its weight is at least the weight of the best other cell of its
--     label plus the weight of the best other cell of its cluster, since no other match of the two
--     gains more. The remaining cells fall into parts that share no label and no cluster. Each part
--     is solved exactly by the Hungarian method: in each round, all labels bid for clusters, and
--     labels that remain then search together for shortest paths to a free cluster. A step of a
--     recursion costs about the same for one label as for many labels.
--   * If several matchings are the best, matching_table chooses one of them: the first label gets
--     the lowest cluster that it has in any of them, then the second label, and so on. Matches in
--     the best matching can be exchanged along cells that are tight, because weight = value of the
--     label + value of the cluster, where values are the prices and gains of the Hungarian method.
--     A label or cluster of value 0 can also stay without a match.
--   * If noise counts as singletons, each singleton has one cell, and each label matches at most
--     one singleton. So the singletons of a label are one column, which no other label has.

---------------------------------------------------------------------------------------------------
-- Formulas
---------------------------------------------------------------------------------------------------

-- Gagolewski's normalized clustering accuracy, from the sum over labels of their matched share, and
-- the number of labels or of clusters, whichever is larger.
CREATE OR REPLACE MACRO clustereval._normalized_clustering_accuracy(matched, size) AS
  CASE WHEN size = 1 THEN 1.0 ELSE clustereval._ratio(matched - 1.0, size - 1.0) END;

-- Rezaei and Franti's pair sets index, from the sum of the similarities of matched sets, that of
-- random sets, and the number of labels or of clusters, whichever is larger.
CREATE OR REPLACE MACRO clustereval._pair_sets_index(matched, expected, size) AS
  CASE
    WHEN size = 1 THEN 1.0
    ELSE GREATEST(0.0, clustereval._ratio(matched - expected, size - expected))
  END;

---------------------------------------------------------------------------------------------------
-- Weights
---------------------------------------------------------------------------------------------------

-- The rows of sized_cells with partition_no, row_no and column_no, the numbers of the partition,
-- the label and the cluster, in their order. The singletons of a label come after all clusters.
CREATE OR REPLACE MACRO clustereval._numbered_cells(
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
      row_number()
        OVER (ORDER BY partition_key ASC NULLS LAST, cluster ASC NULLS LAST) AS column_no,
      COUNT(*) OVER () AS n_columns
    FROM query_table(cluster_sizes)
  )
  SELECT
    cell.*,
    -- The number of the first label identifies the partition.
    MIN(label_row.row_no) OVER (PARTITION BY cell.partition_key) AS partition_no,
    label_row.row_no,
    CASE
      WHEN cell.cluster IS NULL THEN cluster_column.n_columns + label_row.row_no
      ELSE cluster_column.column_no
    END AS column_no
  FROM query_table(sized_cells) AS cell
  JOIN rows AS label_row
    ON label_row.partition_key IS NOT DISTINCT FROM cell.partition_key
    AND label_row.label = cell.label
  JOIN columns AS cluster_column
    ON cluster_column.partition_key IS NOT DISTINCT FROM cell.partition_key
    AND cluster_column.cluster IS NOT DISTINCT FROM cell.cluster;

-- One row per contingency cell and weight: partition_key; problem, a number for the partition and
-- the kind of weight; weighting (0 rows, 1 share of the label, 2 share of the larger set, 3 F1
-- score); row_no and column_no, the numbers of the label and the cluster; and weight.
CREATE OR REPLACE MACRO clustereval._matching_weights(
  label_sizes, cluster_sizes, sized_cells
) AS TABLE
  SELECT
    cell.partition_key,
    4 * cell.partition_no + weighting.weighting AS problem,
    weighting.weighting,
    cell.row_no,
    cell.column_no,
    [
      CAST(cell.n AS DOUBLE),
      clustereval._ratio(cell.n, cell.label_size),
      clustereval._ratio(cell.n, GREATEST(cell.label_size, cell.cluster_size)),
      clustereval._match_score(cell.n, cell.label_size, cell.cluster_size)
    ][weighting.weighting + 1] AS weight
  FROM clustereval._numbered_cells(label_sizes, cluster_sizes, sized_cells) AS cell,
    range(4) AS weighting (weighting);

---------------------------------------------------------------------------------------------------
-- Cells that are decided at once
---------------------------------------------------------------------------------------------------

-- The rows of weights that may be in a best matching, with state: 'matched', or 'left' if this is
-- not decided yet. Each step takes the cells that are decided and leaves out their labels and
-- clusters, so that the next step can decide further cells. in_order: whether to decide only cells
-- of the matching that _order_matches chooses from the best ones.
CREATE OR REPLACE MACRO clustereval._decide_cells(weights, in_order) AS TABLE
  WITH RECURSIVE steps AS (
    SELECT problem, row_no, column_no, weight, 'open' AS state
    FROM query_table(weights)
    UNION ALL
    (
      WITH open AS (SELECT * FROM steps WHERE state = 'open'),
      row_tops AS (
        SELECT
          problem, row_no,
          max(weight, 2) AS top,
          -max(CASE WHEN in_order THEN {'weight': weight, 'place': -column_no} END).place
            AS first_column
        FROM open
        GROUP BY problem, row_no
      ),
      column_tops AS (
        SELECT
          problem, column_no,
          max(weight, 2) AS top,
          -max(CASE WHEN in_order THEN {'weight': weight, 'place': -row_no} END).place
            AS first_row
        FROM open
        GROUP BY problem, column_no
      ),
      -- Two decided cells of the same label have equal weights, and no other label has their
      -- clusters, so any of them can be taken. The same is true of two decided cells of the same
      -- cluster.
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
          AND (NOT in_order OR clustereval._comes_first(
            cell.row_no, cell.column_no, cell.weight,
            of_row.top, of_row.first_column, of_column.top, of_column.first_row
          ))
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

-- The weight of the best other cell of a label or cluster, 0 without one; tops: the two largest.
CREATE OR REPLACE MACRO clustereval._best_other(tops, weight) AS
  CASE WHEN weight < tops[1] THEN tops[1] ELSE COALESCE(tops[2], 0.0) END;

-- TRUE if a decided cell is in the matching that _order_matches chooses: if its weight is larger
-- than the sum of the two others, or if it is the only cell of its cluster and no lower cluster of
-- its label has the same weight, or the reverse.
CREATE OR REPLACE MACRO clustereval._comes_first(
  row_no, column_no, weight, row_top, first_column, column_top, first_row
) AS
  weight > clustereval._best_other(row_top, weight) + clustereval._best_other(column_top, weight)
  OR (len(column_top) = 1 AND first_column = column_no)
  OR (len(row_top) = 1 AND first_row = row_no);

---------------------------------------------------------------------------------------------------
-- Parts of what is left
---------------------------------------------------------------------------------------------------

-- One row per label or cluster of left_cells: problem; node, its number; is_row, TRUE for a label;
-- and part, the smallest number of a label in its part.
CREATE OR REPLACE MACRO clustereval._find_parts(left_cells) AS TABLE
  WITH RECURSIVE nodes USING KEY (problem, node, is_row) AS (
    SELECT DISTINCT
      problem, row_no AS node, TRUE AS is_row, row_no AS part
    FROM query_table(left_cells)
    UNION ALL
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

-- The largest number of labels times clusters of a part. The table of costs of a part is held in
-- memory, and in the worst case the time to solve it grows with the third power of its side.
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

-- The rows of _find_parts with is_line, TRUE for a line and FALSE for a place, and number, which
-- counts each of the two from 1, over all parts. The lines of a part are labels and the places
-- clusters (rows_first), or the other way round if there are more labels.
CREATE OR REPLACE MACRO clustereval._part_lines(left_cells) AS TABLE
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
  )
  SELECT
    node.*,
    part.rows_first,
    node.is_row = part.rows_first AS is_line,
    row_number() OVER (
      PARTITION BY node.is_row = part.rows_first
      ORDER BY
        node.problem ASC NULLS LAST, node.part ASC NULLS LAST, node.node ASC NULLS LAST
    ) AS number
  FROM nodes AS node
  JOIN tables AS part ON part.problem = node.problem AND part.part = node.part
  WHERE part.size > 0;

-- One row per part and line: problem; part, the number of its first place, from which those of its
-- other places follow; line, its number; and weights, the list of the weights of the line, 0 where
-- no rows are shared. lines: rows of _part_lines.
CREATE OR REPLACE MACRO clustereval._part_weights(left_cells, lines) AS TABLE
  WITH weights AS (
    SELECT
      line.problem, line.number AS line, place.number AS place,
      COALESCE(cell.weight, 0.0) AS weight
    FROM query_table(lines) AS line
    JOIN query_table(lines) AS place ON place.problem = line.problem AND place.part = line.part
    LEFT JOIN query_table(left_cells) AS cell
      ON cell.problem = line.problem
      AND cell.row_no
        = CASE WHEN line.rows_first THEN line.node ELSE place.node END
      AND cell.column_no
        = CASE WHEN line.rows_first THEN place.node ELSE line.node END
    WHERE line.is_line AND NOT place.is_line
  )
  SELECT
    problem,
    MIN(place) AS part,
    line,
    list(weight ORDER BY place ASC NULLS LAST) AS weights
  FROM weights
  GROUP BY problem, line;

---------------------------------------------------------------------------------------------------
-- The best matching of a part
---------------------------------------------------------------------------------------------------

-- weights minus prices, element by element: the gain of a line from each place.
CREATE OR REPLACE MACRO clustereval._gains(weights, prices) AS
  list_transform(weights, lambda __ce_weight, __ce_i: __ce_weight - prices[__ce_i]);

-- The largest of gains except for the gain at place, or the gain at place if there is no other.
CREATE OR REPLACE MACRO clustereval._best_other_gain(gains, place) AS
  COALESCE(GREATEST(list_max(gains[:place - 1]), list_max(gains[place + 1:])), gains[place]);

-- One row per place: part; place; line, the line that has the place, or 0; weight; and price, 0 if
-- no line has the place. No place gains a line more than its own place. In each round, all lines
-- without a place bid for the place that gains them most, up to the price at which another place
-- gains them as much. The highest bid gets the place, if it is free or its price rises.
CREATE OR REPLACE MACRO clustereval._bid_for_places(part_weights) AS TABLE
  WITH RECURSIVE parts AS (
    SELECT part, any_value(len(weights)) AS n_places
    FROM query_table(part_weights)
    GROUP BY part
  ),
  bids USING KEY (place) AS (
    SELECT
      part,
      unnest(range(part, part + n_places)) AS place,
      CAST(0 AS BIGINT) AS line,
      CAST(0 AS DOUBLE) AS weight,
      CAST(0 AS DOUBLE) AS price,
      0 AS round
    FROM parts
    UNION ALL
    (
      WITH known AS MATERIALIZED (SELECT * FROM recurring.bids),
      open_parts AS (
        SELECT
          part,
          MAX(round) AS round,
          list(line ORDER BY place ASC NULLS LAST) AS lines,
          list(price ORDER BY place ASC NULLS LAST) AS prices
        FROM known
        WHERE part IN (SELECT part FROM bids)
        GROUP BY part
        -- With more rounds, fewer lines have to search for a place.
        HAVING MAX(round) < 100
      ),
      bidders AS (
        SELECT
          part.*,
          line.line, line.weights,
          clustereval._gains(line.weights, part.prices) AS gains
        FROM query_table(part_weights) AS line
        JOIN open_parts AS part ON part.part = line.part
        LEFT JOIN known AS held ON held.line = line.line
        WHERE held.line IS NULL
      ),
      wishes AS (SELECT *, list_position(gains, list_max(gains)) AS place FROM bidders),
      offers AS (
        SELECT
          part, round, line,
          part + place - 1 AS place,
          weights[place] AS weight,
          lines[place] AS holder,
          prices[place] AS price,
          prices[place]
            + (gains[place] - clustereval._best_other_gain(gains, place)) AS offer
        FROM wishes
      )
      SELECT
        part, place,
        arg_max(line, offer), arg_max(weight, offer), MAX(offer), any_value(round) + 1
      FROM offers
      WHERE holder = 0 OR offer > price
      GROUP BY part, place
    )
  )
  SELECT part, place, line, weight, price FROM bids;

-- The start of the search of _solve_parts: the columns of _bid_for_places with distance, is_new,
-- root and path. A line without a place gets one of its own, numbered minus the line, whose weight
-- is the largest gain.
CREATE OR REPLACE MACRO clustereval._search_starts(part_weights, bids) AS TABLE
  WITH part_prices AS (
    SELECT part, list(price ORDER BY place ASC NULLS LAST) AS prices
    FROM query_table(bids)
    GROUP BY part
  ),
  places AS (
    SELECT * FROM query_table(bids)
    UNION ALL
    SELECT
      line.part, -line.line, line.line,
      list_max(clustereval._gains(line.weights, part.prices)),
      0.0
    FROM query_table(part_weights) AS line
    JOIN part_prices AS part ON part.part = line.part
    LEFT JOIN query_table(bids) AS held ON held.line = line.line
    WHERE held.line IS NULL
  )
  SELECT
    *,
    CASE WHEN place < 0 THEN 0.0 ELSE CAST('Infinity' AS DOUBLE) END AS distance,
    place < 0 AS is_new,
    line AS root,
    [{'place': place, 'line': line, 'weight': weight}][:0] AS path
  FROM places;

-- One row per place: part, place, line (0 if no line has the place), weight (of the two) and price,
-- in a best matching, by the Hungarian method. After the bids, all lines without a place search
-- together for a free place. The distance from a line to a place is the gain of the line's own
-- place minus that of the other place, and the path from a place to its line has length 0. distance
-- is the length of the shortest known path from a line without a place, root that line, and path
-- the places on it, each with the line from which it is reached and the weight of the two. Each
-- step continues from the lines of all places that have become nearer (is_new), as long as no free
-- place is nearer. Then the prices of the places nearer than the nearest free place rise by the
-- difference, so that the paths to it have length 0, and each line on such a path takes the next
-- place. If several paths start at the same line, one is taken; if paths meet, that of the first
-- line.
CREATE OR REPLACE MACRO clustereval._solve_parts(part_weights) AS TABLE
  WITH RECURSIVE bids AS MATERIALIZED (SELECT * FROM clustereval._bid_for_places(part_weights)),
  places USING KEY (place) AS (
    SELECT * FROM clustereval._search_starts(part_weights, bids)
    UNION ALL
    (
      WITH known AS MATERIALIZED (SELECT * FROM recurring.places),
      parts AS (
        SELECT
          part,
          MIN(CASE WHEN place > 0 AND line = 0 THEN distance END) AS bound
        FROM known
        GROUP BY part
        HAVING COUNT(CASE WHEN place < 0 AND line > 0 THEN 1 END) > 0
      ),
      open_places AS MATERIALIZED (
        SELECT
          place.*,
          part.bound,
          place.is_new AND place.line > 0 AND place.distance < part.bound AS goes_on
        FROM known AS place
        JOIN parts AS part ON part.part = place.part
      ),
      origins AS MATERIALIZED (SELECT * FROM open_places WHERE goes_on),
      cells AS (
        SELECT
          origin.line, origin.distance,
          origin.weight - origin.price AS gain,
          unnest(range(line.part, line.part + len(line.weights))) AS place,
          unnest(line.weights) AS weight
        FROM origins AS origin
        JOIN query_table(part_weights) AS line ON line.line = origin.line
      ),
      ways AS (
        SELECT
          cell.place, cell.line, cell.weight,
          place.distance AS known_distance,
          place.bound,
          -- Rounding must not let a path become shorter.
          cell.distance
            + GREATEST(0.0, cell.gain - (cell.weight - place.price)) AS distance
        FROM cells AS cell
        JOIN open_places AS place ON place.place = cell.place
      ),
      nearest AS (
        SELECT
          place,
          MIN(distance) AS distance,
          arg_min({'line': line, 'weight': weight}, distance) AS way
        FROM ways
        WHERE distance < known_distance AND distance <= bound
        GROUP BY place
      ),
      nearer AS (
        SELECT
          nearest.place, nearest.distance, origin.root,
          list_append(
            origin.path,
            {'place': nearest.place, 'line': origin.line, 'weight': nearest.way.weight}
          ) AS path
        FROM nearest
        JOIN origins AS origin ON origin.line = nearest.way.line
      ),
      -- These are the parts whose search has ended.
      ended_places AS MATERIALIZED (
        SELECT * FROM open_places WHERE part NOT IN (SELECT part FROM origins)
      ),
      ends AS (
        SELECT root, arg_min(path, place) AS path
        FROM ended_places
        WHERE place > 0 AND line = 0 AND distance = bound
        GROUP BY root
      ),
      hops AS (SELECT root, unnest(path, recursive := TRUE) FROM ends),
      meetings AS (
        SELECT *, MIN(root) OVER (PARTITION BY place) AS first_root FROM hops
      ),
      kept_hops AS MATERIALIZED (
        SELECT * FROM meetings
        WHERE root NOT IN (SELECT root FROM meetings WHERE first_root < root)
      ),
      handed_over AS (
        SELECT place, line, weight FROM kept_hops
        UNION ALL
        SELECT DISTINCT -root, 0, 0.0 FROM kept_hops
      ),
      after_search AS (
        SELECT
          place.part, place.place,
          COALESCE(taken.line, place.line) AS line,
          COALESCE(taken.weight, place.weight) AS weight,
          place.price + GREATEST(0.0, place.bound - place.distance) AS price
        FROM ended_places AS place
        LEFT JOIN handed_over AS taken ON taken.place = place.place
      )
      SELECT
        place.part, place.place, place.line, place.weight, place.price,
        COALESCE(nearer.distance, place.distance),
        nearer.place IS NOT NULL,
        COALESCE(nearer.root, place.root),
        COALESCE(nearer.path, place.path)
      FROM open_places AS place
      LEFT JOIN nearer ON nearer.place = place.place
      WHERE place.goes_on OR nearer.place IS NOT NULL
      UNION ALL
      SELECT
        part, place, line, weight, price,
        CASE WHEN place < 0 AND line > 0 THEN 0.0 ELSE CAST('Infinity' AS DOUBLE) END,
        place < 0 AND line > 0,
        line,
        [{'place': place, 'line': line, 'weight': weight}][:0]
      FROM after_search
    )
  )
  SELECT part, place, line, weight, price FROM places WHERE place > 0;

-- One row per partition: partition_key, and matched, the list of the sums of the weights of the
-- best matchings, by kind of weight. weights: rows of _matching_weights.
CREATE OR REPLACE MACRO clustereval._matched_totals(weights) AS TABLE
  WITH decided AS MATERIALIZED (SELECT * FROM clustereval._decide_cells(weights, FALSE)),
  left_cells AS MATERIALIZED (SELECT * FROM decided WHERE state = 'left'),
  lines AS MATERIALIZED (SELECT * FROM clustereval._part_lines(left_cells)),
  part_weights AS MATERIALIZED (SELECT * FROM clustereval._part_weights(left_cells, lines)),
  part_problems AS (SELECT DISTINCT part, problem FROM part_weights),
  matched_weights AS (
    SELECT problem, weight FROM decided WHERE state = 'matched'
    UNION ALL
    SELECT part.problem, solution.weight
    FROM clustereval._solve_parts(part_weights) AS solution
    JOIN part_problems AS part ON part.part = solution.part
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

---------------------------------------------------------------------------------------------------
-- One of several best matchings
---------------------------------------------------------------------------------------------------

-- One row per label and cluster of a part: part; node and is_row as in _part_lines; partner, the
-- node that it is matched with, or NULL; and value, >= 0, so that no cell has a larger weight than
-- the values of both, and matched cells have that weight. solution: rows of _solve_parts.
CREATE OR REPLACE MACRO clustereval._node_values(lines, solution) AS TABLE
  WITH gains AS (
    SELECT
      node.part, node.node, node.is_row, node.is_line,
      CASE
        WHEN solved.weight > 0 THEN SUM(node.node) OVER (PARTITION BY solved.place) - node.node
      END AS partner,
      CASE WHEN node.is_line THEN solved.weight - solved.price ELSE solved.price END AS gain
    FROM query_table(lines) AS node
    JOIN query_table(solution) AS solved
      ON CASE WHEN node.is_line THEN solved.line ELSE solved.place END = node.number
  ),
  -- If all places are taken, the gain of a line can be negative.
  shifts AS (
    SELECT *, LEAST(MIN(CASE WHEN is_line THEN gain END) OVER (PARTITION BY part), 0.0) AS shift
    FROM gains
  )
  SELECT
    part, node, is_row,
    CAST(partner AS BIGINT) AS partner,
    CASE WHEN is_line THEN gain - shift ELSE gain + shift END AS value
  FROM shifts;

-- Number of the twin of a label among the clusters, or of a cluster among the labels, after all
-- others. A label or cluster without a match is matched with its twin.
CREATE OR REPLACE MACRO clustereval._twin(number) AS 4611686018427387904 + number;

-- One row per part and match in some best matching: part, row_no and column_no. Twins are matched
-- if their labels and clusters could be. node_values: rows of _node_values.
CREATE OR REPLACE MACRO clustereval._exchangeable_matches(left_cells, node_values) AS TABLE
  WITH tight_cells AS (
    SELECT of_row.part, cell.row_no, cell.column_no
    FROM query_table(left_cells) AS cell
    JOIN query_table(node_values) AS of_row ON of_row.is_row AND of_row.node = cell.row_no
    JOIN query_table(node_values) AS of_column
      ON of_column.node = cell.column_no
      AND NOT of_column.is_row
    WHERE cell.weight = of_row.value + of_column.value
  )
  SELECT part, row_no, column_no FROM tight_cells
  UNION ALL
  SELECT part, clustereval._twin(column_no), clustereval._twin(row_no) FROM tight_cells
  UNION ALL
  SELECT
    part,
    CASE WHEN is_row THEN node ELSE clustereval._twin(node) END,
    CASE WHEN is_row THEN clustereval._twin(node) ELSE node END
  FROM query_table(node_values)
  WHERE value = 0;

-- One row per label of the parts: row_no, and column_no, its cluster or twin in that one of the
-- best matchings in which the first label has the lowest cluster, then the second label, and so on.
-- The seeker of a part is the first label that has an option before its column. It searches for
-- columns that can be given up: its own, then those whose row has a column that can be given up as
-- another option. path holds the matches that change if the column of a match is given up. If no
-- more are found, the seeker gets the first of its options. It is then fixed, as are all labels
-- before it. node_values: rows of _node_values; options: rows of _exchangeable_matches.
CREATE OR REPLACE MACRO clustereval._order_matches(node_values, options) AS TABLE
  WITH RECURSIVE steps AS (
    SELECT
      part,
      CASE WHEN is_row THEN node ELSE clustereval._twin(node) END AS row_no,
      CASE
        WHEN is_row THEN COALESCE(partner, clustereval._twin(node))
        ELSE COALESCE(clustereval._twin(partner), node)
      END AS column_no,
      CASE WHEN part IS NULL THEN [{'row_no': part, 'column_no': part}] END AS path, -- NULL
      FALSE AS is_fixed
    FROM query_table(node_values)
    UNION ALL
    (
      WITH matches AS MATERIALIZED (SELECT * FROM steps WHERE NOT is_fixed),
      seekers AS MATERIALIZED (
        SELECT
          own.part,
          MIN(own.row_no) AS row_no,
          arg_min(own.column_no, own.row_no) AS column_no
        FROM matches AS own
        JOIN query_table(options) AS option
          ON option.row_no = own.row_no
          AND option.column_no < own.column_no
        JOIN matches AS other ON other.column_no = option.column_no
        WHERE own.row_no < clustereval._twin(0)
        GROUP BY own.part
      ),
      given_up AS MATERIALIZED (
        SELECT part, column_no, path FROM matches WHERE path IS NOT NULL
        UNION ALL
        SELECT part, column_no, [{'row_no': row_no, 'column_no': column_no}][:0] FROM seekers
      ),
      found AS MATERIALIZED (
        SELECT
          own.part, own.column_no,
          any_value(list_append(
            taken.path, {'row_no': own.row_no, 'column_no': taken.column_no}
          )) AS path
        FROM matches AS own
        JOIN seekers AS seeker ON seeker.part = own.part AND seeker.row_no < own.row_no
        JOIN query_table(options) AS option ON option.row_no = own.row_no
        JOIN given_up AS taken ON taken.column_no = option.column_no
        WHERE own.column_no NOT IN (SELECT column_no FROM given_up)
        GROUP BY own.part, own.column_no
      ),
      ended AS MATERIALIZED (
        SELECT
          seeker.part,
          seeker.row_no,
          MIN(taken.column_no) AS column_no,
          arg_min(taken.path, taken.column_no) AS path
        FROM seekers AS seeker
        JOIN query_table(options) AS option ON option.row_no = seeker.row_no
        JOIN given_up AS taken ON taken.column_no = option.column_no
        WHERE seeker.part NOT IN (SELECT part FROM found)
        GROUP BY seeker.part, seeker.row_no
      ),
      changes AS MATERIALIZED (
        SELECT unnest(path, recursive := TRUE) FROM ended
        UNION ALL
        SELECT row_no, column_no FROM ended
      )
      SELECT
        own.part, own.row_no,
        COALESCE(changed.column_no, own.column_no),
        CASE WHEN ended.part IS NULL THEN COALESCE(own.path, found.path) END,
        seeker.part IS NULL OR COALESCE(own.row_no <= ended.row_no, FALSE)
      FROM matches AS own
      LEFT JOIN seekers AS seeker ON seeker.part = own.part
      LEFT JOIN ended ON ended.part = own.part
      LEFT JOIN changes AS changed ON changed.row_no = own.row_no
      LEFT JOIN found ON found.column_no = own.column_no
    )
  )
  SELECT row_no, column_no FROM steps WHERE is_fixed;

-- The matches of the best matching by rows: row_no and column_no. cells: rows of _numbered_cells.
CREATE OR REPLACE MACRO clustereval._largest_matching(cells) AS TABLE
  WITH weights AS MATERIALIZED (
    SELECT partition_no AS problem, row_no, column_no, CAST(n AS DOUBLE) AS weight
    FROM query_table(cells)
  ),
  decided AS MATERIALIZED (SELECT * FROM clustereval._decide_cells(weights, TRUE)),
  left_cells AS MATERIALIZED (SELECT * FROM decided WHERE state = 'left'),
  lines AS MATERIALIZED (SELECT * FROM clustereval._part_lines(left_cells)),
  part_weights AS MATERIALIZED (SELECT * FROM clustereval._part_weights(left_cells, lines)),
  solution AS MATERIALIZED (SELECT * FROM clustereval._solve_parts(part_weights)),
  node_values AS MATERIALIZED (SELECT * FROM clustereval._node_values(lines, solution)),
  options AS MATERIALIZED (
    SELECT * FROM clustereval._exchangeable_matches(left_cells, node_values)
  )
  SELECT row_no, column_no FROM decided WHERE state = 'matched'
  UNION ALL
  SELECT row_no, column_no FROM clustereval._order_matches(node_values, options);

-- One row per partition: expected_rows, the sum over the ranks by size of the smaller of the label
-- and the cluster of that rank. Divided by the number of rows, it is the expected similarity of
-- random sets in the pair sets index. Singletons have the last ranks.
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
      -- LEAST ignores NULLs.
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

-- One row per partition (a group of partition_by): counts, and the indices of the best one-to-one
-- matching of labels and clusters. label and cluster are the columns of the true class and the
-- assigned cluster, and weight is the multiplicity of a row, a whole number >= 0. noise is the
-- value of cluster that marks noise; noise_as keeps its rows as a 'cluster', leaves them out
-- ('drop') or counts each as a cluster of its own ('singletons'). beta weighs recall in
-- ceaf_f_score. Rows with a NULL label or cluster are left out.
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
  __ce_cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  __ce_label_sizes AS MATERIALIZED (SELECT * FROM clustereval._label_sizes(__ce_cells)),
  __ce_cluster_sizes AS MATERIALIZED (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_sized_cells AS (
    SELECT * FROM clustereval._sized_cells(__ce_cells, __ce_label_sizes, __ce_cluster_sizes)
  ),
  __ce_weights AS MATERIALIZED (
    SELECT *
    FROM clustereval._matching_weights(__ce_label_sizes, __ce_cluster_sizes, __ce_sized_cells)
  ),
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
    FROM clustereval._row_counts(__ce_groups) AS counts
    LEFT JOIN clustereval._label_totals(__ce_label_sizes) AS labels
      ON labels.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._cluster_totals(__ce_cluster_sizes) AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._ranked_sizes(__ce_label_sizes, __ce_cluster_sizes) AS ranked
      ON ranked.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._matched_totals(__ce_weights) AS totals
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

-- The one-to-one matching of labels and clusters that matches the most rows: one row per matched
-- pair, per label without a match (cluster NULL) and per cluster without a match (label NULL), with
-- n, the rows that the two have in common, recall, their share of the label, and precision, their
-- share of the cluster. The parameters are those of matching_report.
-- Examples:
--   FROM clustereval.matching_table(assignments, species, cluster);
--   SELECT a.*, m.label AS name
--   FROM assignments AS a
--   LEFT JOIN clustereval.matching_table(assignments, species, cluster) AS m USING (cluster);
CREATE OR REPLACE MACRO clustereval.matching_table(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS MATERIALIZED (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  __ce_cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  __ce_label_sizes AS MATERIALIZED (SELECT * FROM clustereval._label_sizes(__ce_cells)),
  __ce_cluster_sizes AS MATERIALIZED (SELECT * FROM clustereval._cluster_sizes(__ce_cells)),
  __ce_sized_cells AS (
    SELECT * FROM clustereval._sized_cells(__ce_cells, __ce_label_sizes, __ce_cluster_sizes)
  ),
  __ce_numbered_cells AS MATERIALIZED (
    SELECT *
    FROM clustereval._numbered_cells(__ce_label_sizes, __ce_cluster_sizes, __ce_sized_cells)
  ),
  __ce_matches AS (SELECT * FROM clustereval._largest_matching(__ce_numbered_cells)),
  __ce_matched_cells AS MATERIALIZED (
    SELECT cell.*
    FROM __ce_numbered_cells AS cell
    JOIN __ce_matches AS chosen
      ON chosen.row_no = cell.row_no
      AND chosen.column_no = cell.column_no
  ),
  __ce_sides AS (
    SELECT
      of_label.partition_key, of_label.label, cell.cluster,
      COALESCE(cell.n, 0) AS n,
      clustereval._ratio(COALESCE(cell.n, 0), of_label.label_size) AS recall,
      clustereval._ratio(cell.n, cell.cluster_size) AS precision
    FROM __ce_label_sizes AS of_label
    LEFT JOIN __ce_matched_cells AS cell
      ON cell.partition_key IS NOT DISTINCT FROM of_label.partition_key
      AND cell.label = of_label.label
    UNION ALL
    SELECT of_cluster.partition_key, NULL, of_cluster.cluster, 0, NULL, 0.0
    FROM __ce_cluster_sizes AS of_cluster
    LEFT JOIN __ce_matched_cells AS cell
      ON cell.partition_key IS NOT DISTINCT FROM of_cluster.partition_key
      AND cell.cluster = of_cluster.cluster
    WHERE cell.n IS NULL AND of_cluster.cluster IS NOT NULL
  )
  SELECT sides.*
  FROM __ce_sides AS sides
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
  ORDER BY
    sides.partition_key ASC NULLS LAST, sides.label ASC NULLS LAST, sides.cluster ASC NULLS LAST;
