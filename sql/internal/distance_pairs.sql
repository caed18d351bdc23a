-- distance_pairs: silhouettes, Dunn's index and indices of pairs, from distances that the user has
-- measured, such as edit distances.
--
--   * The distances are a table of pairs, each between the ids `left` and `right`, in either order.
--     A pair may have a second row, such as the one in the other order. Pairs with an id in no
--     cluster are not used.
--   * Points are numbered in the order of partitions and ids, so that the lower number of a pair
--     has the lower id, and errors name the same pair in every engine.
--   * Statistics are computed from sums, one for each point and cluster. The pairs are streamed.

---------------------------------------------------------------------------------------------------
-- Points and clusters
---------------------------------------------------------------------------------------------------

-- One row per point: partition_key, id, node (its number) and cluster_no. nodes: rows of
-- _graph_nodes.
CREATE OR REPLACE MACRO clustereval._ordered_nodes(nodes) AS TABLE
  SELECT
    partition_key, id, cluster, cluster_no,
    CAST(
      row_number() OVER (ORDER BY partition_key ASC NULLS LAST, id ASC NULLS LAST) AS INTEGER
    ) AS node
  FROM query_table(nodes);

-- One row per cluster: partition_key, cluster (NULL for a singleton of noise), cluster_no, n
-- points, number in the order of partitions and clusters; and of its partition partition_no (the
-- lowest number of a cluster), total points, n_clusters, and first_node and last_node, the lowest
-- and the highest number of a point. points: rows of _ordered_nodes.
CREATE OR REPLACE MACRO clustereval._clusters_of_nodes(points) AS TABLE
  WITH sizes AS (
    SELECT
      partition_key, cluster_no, MIN(cluster) AS cluster, COUNT(*) AS n,
      MIN(node) AS first_node, MAX(node) AS last_node
    FROM query_table(points)
    GROUP BY partition_key, cluster_no
  ),
  numbered AS (
    SELECT
      *,
      CAST(row_number() OVER (
        ORDER BY
          partition_key ASC NULLS LAST, cluster ASC NULLS LAST, first_node ASC NULLS LAST
      ) AS INTEGER) AS number
    FROM sizes
  )
  SELECT
    own.partition_key, own.cluster, own.cluster_no, own.n, own.number,
    MIN(own.number) OVER (PARTITION BY own.partition_key) AS partition_no,
    CAST(SUM(own.n) OVER (PARTITION BY own.partition_key) AS BIGINT) AS total,
    COUNT(*) OVER (PARTITION BY own.partition_key) AS n_clusters,
    MIN(own.first_node) OVER (PARTITION BY own.partition_key) AS first_node,
    MAX(own.last_node) OVER (PARTITION BY own.partition_key) AS last_node
  FROM numbered AS own;

-- One row per point of points (_ordered_nodes): partition_key, id, node, and the number of its
-- cluster, with the columns of its partition in clusters (_clusters_of_nodes).
CREATE OR REPLACE MACRO clustereval._measured_nodes(points, clusters) AS TABLE
  SELECT
    point.partition_key, point.id, point.node, own.number, own.partition_no, own.total,
    own.first_node, own.last_node
  FROM query_table(points) AS point
  JOIN query_table(clusters) AS own ON own.cluster_no = point.cluster_no;

---------------------------------------------------------------------------------------------------
-- Pairs
---------------------------------------------------------------------------------------------------

-- One row per row of the user's table of pairs: __ce_partition, __ce_one, __ce_other and
-- __ce_distance. A second part of the union has no rows; it gives the ends the type of the ids.
CREATE OR REPLACE MACRO clustereval._pair_rows(
  tbl, id, pairs, "left", "right", distance, partition_by
) AS TABLE
  SELECT
    partition_by AS __ce_partition, "left" AS __ce_one, "right" AS __ce_other,
    TRY_CAST(distance AS DOUBLE) AS __ce_distance
  FROM query_table(clustereval._check_table_name(pairs))
  UNION ALL
  SELECT partition_by, id, id, 0.0 FROM query_table(tbl) WHERE FALSE;

-- One row per row of pairs whose ids are both points: one and other, the numbers of the points;
-- one_number and other_number, those of their clusters; and d. The zeros of points to themselves
-- are left out. points: rows of _measured_nodes; rows: rows of _pair_rows.
CREATE OR REPLACE MACRO clustereval._located_rows(points, rows) AS TABLE
  SELECT
    point.node AS one, partner.node AS other, point.number AS one_number,
    partner.number AS other_number, given.__ce_distance AS d
  FROM query_table(rows) AS given
  JOIN query_table(points) AS point
    ON point.id = given.__ce_one
    AND point.partition_key IS NOT DISTINCT FROM given.__ce_partition
  JOIN query_table(points) AS partner
    ON partner.id = given.__ce_other
    AND partner.partition_key IS NOT DISTINCT FROM given.__ce_partition
  WHERE point.node <> partner.node OR given.__ce_distance IS DISTINCT FROM 0.0;

-- One row per pair of points, or of a point with itself: low and high, the numbers of the points;
-- low_number and high_number, those of their clusters; d, the distance; and fault, what is wrong:
-- 1 if a distance is not a finite number >= 0, 2 if that of a point to itself is not 0, 3 for more
-- than two rows, 4 for two different distances; NULL if nothing is. located: rows of
-- _located_rows.
CREATE OR REPLACE MACRO clustereval._measured_pairs(located) AS TABLE
  WITH measured AS (
    SELECT
      LEAST(one, other) AS low, GREATEST(one, other) AS high,
      CASE WHEN one < other THEN one_number ELSE other_number END AS low_number,
      CASE WHEN one < other THEN other_number ELSE one_number END AS high_number,
      d
    FROM query_table(located)
  ),
  grouped AS (
    SELECT
      low, high, low_number, high_number,
      MIN(d) AS least, MAX(d) AS most, COUNT(*) AS n_rows, COUNT(d) AS n_known
    FROM measured
    GROUP BY low, high, low_number, high_number
  )
  SELECT
    low, high, low_number, high_number, least, most, n_rows,
    CASE WHEN least < most THEN least / 2 + most / 2 ELSE least END AS d,
    CASE
      WHEN n_known < n_rows OR least < 0 OR NOT isfinite(most) THEN 1
      WHEN low = high THEN 2
      WHEN n_rows > 2 THEN 3
      -- Distances computed in both directions may differ by rounding errors.
      WHEN most - least > 1e-9 * most THEN 4
    END AS fault
  FROM grouped;

-- A number below 2^32 that stands for the point `node` in sums.
CREATE OR REPLACE MACRO clustereval._point_mark(node) AS CAST(hash(node) >> 32 AS BIGINT);

-- One row per point (node) and cluster to which it has distances (target): number of its own
-- cluster, n_pairs, and the sum, the smallest (nearest) and the largest (farthest) of the
-- distances; and first_fault, the first pair with a fault, as low * 2^31 + high. pairs: rows of
-- _measured_pairs.
CREATE OR REPLACE MACRO clustereval._measured_sums(pairs) AS TABLE
  SELECT
    CASE side WHEN 0 THEN low ELSE high END AS node,
    CASE side WHEN 0 THEN low_number ELSE high_number END AS number,
    CASE side WHEN 0 THEN high_number ELSE low_number END AS target,
    COUNT(*) FILTER (WHERE low < high) AS n_pairs,
    clustereval._compensated_sum(d) AS sum,
    MIN(d) AS nearest,
    MAX(d) AS farthest,
    MIN(CASE WHEN fault IS NOT NULL THEN CAST(low AS BIGINT) * 2147483648 + high END) AS first_fault
  FROM query_table(pairs)
  CROSS JOIN (VALUES (0), (1)) AS ends (side)
  GROUP BY ALL;

-- The rows of _measured_sums without first_fault, from rows that are not grouped by pair, and
-- is_clean: whether the rows of the point and the cluster are surely those of all pairs, each once,
-- or each once in both directions with the same distance. Sums of hashes tell which points the rows
-- belong to. located: rows of _located_rows; points: rows of _measured_nodes.
CREATE OR REPLACE MACRO clustereval._streamed_sums(located, points) AS TABLE
  WITH grouped AS (
    SELECT
      CASE side WHEN 0 THEN one ELSE other END AS node,
      CASE side WHEN 0 THEN one_number ELSE other_number END AS number,
      CASE side WHEN 0 THEN other_number ELSE one_number END AS target,
      COUNT(*) AS n_rows,
      COUNT(d) AS n_known,
      SUM(1 - side) AS n_first,
      SUM(clustereval._point_mark(CASE side WHEN 0 THEN other ELSE one END)) AS marks,
      SUM(
        CASE side WHEN 0 THEN clustereval._point_mark(other) ELSE 0 END
      ) AS first_marks,
      bit_xor(hash(CASE side WHEN 0 THEN other ELSE one END, d)) AS differences,
      clustereval._compensated_sum(d) AS sum,
      MIN(d) AS nearest,
      MAX(d) AS farthest
    FROM query_table(located)
    CROSS JOIN (VALUES (0), (1)) AS ends (side)
    GROUP BY ALL
  ),
  marks AS (
    SELECT number, COUNT(*) AS n, SUM(clustereval._point_mark(node)) AS marks
    FROM query_table(points)
    GROUP BY number
  ),
  expected AS (
    SELECT
      own.*,
      other.n - CASE WHEN own.number = own.target THEN 1 ELSE 0 END AS n_others,
      other.marks - CASE
        WHEN own.number = own.target THEN clustereval._point_mark(own.node) ELSE 0
      END AS other_marks
    FROM grouped AS own
    JOIN marks AS other ON other.number = own.target
  )
  SELECT
    node, number, target, n_others AS n_pairs,
    CASE WHEN n_rows = n_others THEN sum ELSE sum / 2 END AS sum,
    nearest, farthest,
    n_known = n_rows AND nearest >= 0 AND isfinite(farthest) AND COALESCE(
      CASE n_rows
        WHEN n_others THEN marks = other_marks
        WHEN 2 * n_others
        THEN n_first = n_others AND first_marks = other_marks AND marks = 2 * other_marks
          AND differences = 0
      END,
      FALSE
    ) AS is_clean
  FROM expected;

-- The rows of _measured_sums. Pairs of points are grouped, which takes memory, only between
-- clusters with rows that are not clean. located: rows of _located_rows.
CREATE OR REPLACE MACRO clustereval._sums_of_rows(located, points) AS TABLE
  WITH streamed AS MATERIALIZED (
    SELECT * FROM clustereval._streamed_sums(located, points)
  ),
  suspects AS MATERIALIZED (
    SELECT DISTINCT LEAST(number, target) AS low_number, GREATEST(number, target) AS high_number
    FROM streamed
    WHERE NOT is_clean
  ),
  suspect_rows AS (
    SELECT given.*
    FROM query_table(located) AS given
    SEMI JOIN suspects
      ON suspects.low_number = LEAST(given.one_number, given.other_number)
      AND suspects.high_number = GREATEST(given.one_number, given.other_number)
  ),
  suspect_pairs AS (SELECT * FROM clustereval._measured_pairs(suspect_rows))
  SELECT node, number, target, n_pairs, sum, nearest, farthest, first_fault
  FROM clustereval._measured_sums(suspect_pairs)
  UNION ALL
  SELECT node, number, target, n_pairs, sum, nearest, farthest, NULL
  FROM streamed
  ANTI JOIN suspects
    ON suspects.low_number = LEAST(streamed.number, streamed.target)
    AND suspects.high_number = GREATEST(streamed.number, streamed.target);

-- One row per point: the columns of _measured_nodes; n_pairs; n_lower, with points of lower number;
-- sum of its distances; and first_fault of its pairs.
CREATE OR REPLACE MACRO clustereval._pairs_of_points(points, sums) AS TABLE
  SELECT
    point.*,
    COALESCE(total.n_pairs, 0) AS n_pairs, total.sum, total.first_fault
  FROM query_table(points) AS point
  LEFT JOIN (
    SELECT
      node, SUM(n_pairs) AS n_pairs, SUM(sum) AS sum, MIN(first_fault) AS first_fault
    FROM query_table(sums)
    GROUP BY node
  ) AS total ON total.node = point.node;

-- Text of the error about a pair of the ids low_id and high_id with a fault (see _measured_pairs),
-- or without rows, as n_missing of n_expected pairs. least and most are its distances.
CREATE OR REPLACE MACRO clustereval._pair_message(
  fault, low_id, high_id, n_rows, least, most, n_missing, n_expected
) AS
  concat(
    CASE fault
      WHEN 1 THEN concat(
        'distance: expected finite numbers >= 0, got ',
        clustereval._show_value(
          CASE WHEN least < 0 THEN least WHEN NOT isfinite(most) THEN most END
        )
      )
      WHEN 2 THEN concat('distance: expected 0 from an id to itself, got ', most)
      WHEN 3 THEN concat('pairs: expected at most two rows for the same two ids, got ', n_rows)
      WHEN 4 THEN concat(
        'distance: expected the same distance both ways, got ', least, ' and ', most
      )
      ELSE concat(
        'pairs: expected a row for each two ids of a partition, got none for ', n_missing, ' of ',
        n_expected, ' pairs'
      )
    END,
    CASE WHEN fault IS NULL THEN ', such as ' ELSE ' for ' END,
    clustereval._show_value(low_id), ' and ', clustereval._show_value(high_id),
    CASE fault
      WHEN 1 THEN '; correct it, or leave out the row and set missing to ''drop'''
      WHEN 2 THEN '; leave out the row, or turn similarities into distances'
      WHEN 3 THEN '; leave out the others'
      WHEN 4 THEN '; use the mean of both'
      ELSE '; add them, or set missing to ''drop'''
    END
  );

-- One row, valid = TRUE. Raises an error if a pair has a fault (see _measured_pairs), if pairs are
-- missing and `missing` is 'error', or if the distances of a point have no finite sum. totals: rows
-- of _pairs_of_points. The pairs are read a second time only for the error: if there is none,
-- suspect has no rows, and nothing is joined with it.
CREATE OR REPLACE MACRO clustereval._check_pairs(points, rows, totals, missing) AS TABLE
  WITH facts AS (
    SELECT
      MIN(first_fault) AS first_fault,
      CASE missing WHEN 'error' THEN MIN(CASE WHEN n_pairs < total - 1 THEN node END) END AS lonely,
      SUM(n_pairs) // 2 AS n_pairs,
      SUM(total - 1) // 2 AS n_expected,
      COUNT(CASE WHEN NOT isfinite(2 * sum * total) THEN 1 END) AS n_infinite
    FROM query_table(totals)
  ),
  suspect AS MATERIALIZED (
    SELECT point.*, facts.first_fault % 2147483648 AS partner
    FROM facts
    JOIN query_table(points) AS point
      ON point.node = COALESCE(facts.first_fault // 2147483648, facts.lonely)
  ),
  suspect_rows AS (
    SELECT given.*
    FROM query_table(rows) AS given
    JOIN suspect ON suspect.id = given.__ce_one
    UNION ALL
    SELECT given.*
    FROM query_table(rows) AS given
    JOIN suspect ON suspect.id = given.__ce_other AND given.__ce_one <> given.__ce_other
  ),
  partners AS (
    SELECT point.*
    FROM query_table(points) AS point
    JOIN suspect ON suspect.partition_no = point.partition_no
  ),
  suspect_located AS (SELECT * FROM clustereval._located_rows(partners, suspect_rows)),
  suspect_pairs AS (SELECT * FROM clustereval._measured_pairs(suspect_located)),
  named AS (
    SELECT
      MIN(suspect.id) AS low_id,
      MIN(CASE
        WHEN suspect.partner = point.node OR (suspect.partner IS NULL AND pair.low IS NULL)
        THEN {'node': point.node, 'id': point.id, 'fault': pair.fault, 'n_rows': pair.n_rows,
          'least': pair.least, 'most': pair.most}
      END) AS found
    FROM suspect
    JOIN query_table(points) AS point
      ON point.node BETWEEN suspect.node AND suspect.last_node
      AND (suspect.partner IS NOT NULL OR point.node > suspect.node)
    LEFT JOIN suspect_pairs AS pair ON pair.low = suspect.node AND pair.high = point.node
  )
  SELECT
    CASE
      WHEN found IS NOT NULL
      THEN error(clustereval._pair_message(
        found['fault'], low_id, found['id'], found['n_rows'], found['least'], found['most'],
        n_expected - n_pairs, n_expected
      ))
      WHEN n_infinite > 0
      THEN error(concat(
        'distance: expected distances with a finite sum over all pairs, got a sum that overflows; ',
        'divide all distances by the same number'
      ))
      ELSE TRUE
    END AS valid
  FROM facts
  LEFT JOIN named ON TRUE;

---------------------------------------------------------------------------------------------------
-- All at once
---------------------------------------------------------------------------------------------------

-- The rows of _graph_ids, each once for every cluster (target) to which it has distances: n_dropped
-- and n_noise; the columns of _pairs_of_points, with n_all_pairs for n_pairs, and of the cluster,
-- NULL unless the id is a point; and the columns of _measured_sums, NULL without distances. Raises
-- the errors of _check_pairs.
CREATE OR REPLACE MACRO clustereval._sums_from_distances(
  tbl, id, cluster, pairs, "left", "right", distance, partition_by, noise, noise_as, missing
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT * FROM clustereval._graph_ids(
      tbl, id, cluster, pairs, "left", "right", distance, partition_by, noise, 'distance', 'pairs'
    )
  ),
  __ce_nodes AS (SELECT * FROM clustereval._graph_nodes(__ce_ids, noise_as)),
  __ce_ordered AS MATERIALIZED (SELECT * FROM clustereval._ordered_nodes(__ce_nodes)),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._clusters_of_nodes(__ce_ordered)),
  __ce_points AS MATERIALIZED (
    SELECT * FROM clustereval._measured_nodes(__ce_ordered, __ce_clusters)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._pair_rows(tbl, id, pairs, "left", "right", distance, partition_by)
  ),
  __ce_located AS NOT MATERIALIZED (
    SELECT * FROM clustereval._located_rows(__ce_points, __ce_rows)
  ),
  __ce_sums AS MATERIALIZED (
    SELECT * FROM clustereval._sums_of_rows(__ce_located, __ce_points)
  ),
  __ce_totals AS MATERIALIZED (SELECT * FROM clustereval._pairs_of_points(__ce_points, __ce_sums)),
  __ce_check AS (
    SELECT * FROM clustereval._check_pairs(__ce_points, __ce_rows, __ce_totals, missing)
  )
  SELECT
    given.partition_key, given.id, given.n_dropped,
    CASE WHEN given.is_noise THEN 1 ELSE 0 END AS n_noise,
    point.node, point.total, point.partition_no, point.n_pairs AS n_all_pairs,
    own.number, own.cluster, own.n, own.n_clusters,
    sums.target, sums.n_pairs, sums.sum, sums.nearest, sums.farthest
  FROM __ce_ids AS given
  LEFT JOIN __ce_totals AS point
    ON point.partition_key IS NOT DISTINCT FROM given.partition_key AND point.id = given.id
  LEFT JOIN __ce_clusters AS own ON own.number = point.number
  LEFT JOIN __ce_sums AS sums ON sums.node = point.node
  WHERE (SELECT valid FROM __ce_check);

-- One row per id of sums (_sums_from_distances), without the columns of targets; n_pairs is
-- n_all_pairs.
CREATE OR REPLACE MACRO clustereval._points_of_sums(sums) AS TABLE
  SELECT DISTINCT
    partition_key, id, n_dropped, n_noise, node, total, partition_no, n_all_pairs AS n_pairs,
    number, cluster, n, n_clusters
  FROM query_table(sums);

-- One row per cluster of points (_points_of_sums): its columns, and those of its partition.
CREATE OR REPLACE MACRO clustereval._clusters_of_points(points) AS TABLE
  SELECT DISTINCT partition_key, partition_no, total, n_clusters, number, cluster, n
  FROM query_table(points)
  WHERE node IS NOT NULL;

-- One row per partition of points (_points_of_sums): total points, n_dropped rows without a
-- cluster, n_noise, n_clusters and n_singletons. Without partition_by there is at least one row.
CREATE OR REPLACE MACRO clustereval._measured_row_counts(points, tbl, partition_by) AS TABLE
  WITH __ce_counts AS (
    SELECT partition_key, node, number, n, n_dropped, n_noise FROM query_table(points)
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, 0, 0
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._is_absent(partition_by)
  )
  SELECT
    partition_key,
    COUNT(node) AS total,
    CAST(SUM(n_dropped) AS BIGINT) AS n_dropped,
    CAST(SUM(n_noise) AS BIGINT) AS n_noise,
    COUNT(DISTINCT number) AS n_clusters,
    COUNT(CASE WHEN n = 1 THEN 1 END) AS n_singletons
  FROM __ce_counts
  GROUP BY partition_key;

---------------------------------------------------------------------------------------------------
-- Silhouettes
---------------------------------------------------------------------------------------------------

-- One row per point of which no pair is missing: the columns of _point_silhouettes, and std_error,
-- which is NULL. totals: rows of _points_of_sums; sums: rows of _sums_from_distances.
CREATE OR REPLACE MACRO clustereval._measured_silhouettes(
  totals, sums, clusters, "between"
) AS TABLE
  WITH target_distances AS (
    SELECT
      own.node AS row_no, own.number, own.target, other.n,
      own.sum / NULLIF(CASE WHEN own.target = own.number THEN other.n - 1 ELSE other.n END, 0)
        AS distance
    FROM query_table(sums) AS own
    JOIN query_table(clusters) AS other ON other.number = own.target
  ),
  means AS (
    SELECT * FROM clustereval._own_and_other_means(target_distances, "between")
  ),
  mean_distances AS (
    SELECT
      point.node AS row_no, point.number, TRUE AS exact,
      -- A point that is alone in its cluster has no distance to it.
      COALESCE(mean.a_lower, 0.0) AS a_lower, COALESCE(mean.a_upper, 0.0) AS a_upper,
      mean.b_lower, mean.b_upper, mean.neighbor
    FROM query_table(totals) AS point
    LEFT JOIN means AS mean ON mean.row_no = point.node
    WHERE point.n_pairs = point.total - 1
  )
  SELECT *, CAST(NULL AS DOUBLE) AS std_error
  FROM clustereval._point_silhouettes(mean_distances, clusters);

---------------------------------------------------------------------------------------------------
-- Pairs of clusters, and ranks of pairs
---------------------------------------------------------------------------------------------------

-- One row per partition of which no pair is missing: partition_key, partition_no, and the
-- statistics of _dunn_indices that need no centers. The others are NULL. totals: rows of
-- _points_of_sums; sums: rows of _sums_from_distances.
CREATE OR REPLACE MACRO clustereval._measured_extremes(totals, sums, clusters) AS TABLE
  WITH linkages AS (
    SELECT
      own.partition_no, point.number AS one, point.target AS other,
      MAX(point.farthest) AS complete,
      MIN(point.nearest) AS nearest,
      clustereval._compensated_sum(point.sum) AS sum,
      MAX(point.nearest) AS hausdorff
    FROM query_table(sums) AS point
    JOIN query_table(clusters) AS own ON own.number = point.number
    WHERE point.n_pairs > 0
    GROUP BY own.partition_no, point.number, point.target
  ),
  extremes AS (
    SELECT
      partition_no,
      MAX(CASE WHEN one = other THEN complete END) AS max_diameter,
      MIN(CASE WHEN one <> other THEN nearest END) AS min_separation
    FROM linkages
    GROUP BY partition_no
  ),
  whole AS (
    SELECT partition_key, partition_no
    FROM query_table(totals)
    GROUP BY partition_key, partition_no
    HAVING SUM(n_pairs) = SUM(total - 1)
  )
  SELECT
    whole.partition_key, whole.partition_no, extremes.min_separation,
    COALESCE(extremes.max_diameter, 0.0) AS max_diameter,
    linkage.min_complete_linkage, linkage.min_average_linkage, linkage.min_hausdorff,
    COALESCE(linkage.max_mean_pair, 0.0) AS max_mean_pair,
    CAST(NULL AS DOUBLE) AS min_centroid_distance,
    CAST(NULL AS DOUBLE) AS max_double_mean,
    CAST(NULL AS DOUBLE) AS min_mean_to_other_center
  FROM whole
  LEFT JOIN extremes ON extremes.partition_no = whole.partition_no
  LEFT JOIN clustereval._linkage_extremes(linkages, clusters) AS linkage
    ON linkage.partition_no = whole.partition_no;

-- One row per pair of different points of a partition of which no pair is missing: partition_no,
-- low, high, same_cluster, d, and total and n_clusters of the partition. pairs: rows of
-- _measured_pairs; totals: rows of _points_of_sums.
CREATE OR REPLACE MACRO clustereval._rankable_pairs(pairs, totals, clusters) AS TABLE
  SELECT
    own.partition_no, pair.low, pair.high, pair.low_number = pair.high_number AS same_cluster,
    pair.d, own.total, own.n_clusters
  FROM query_table(pairs) AS pair
  JOIN query_table(clusters) AS own ON own.number = pair.low_number
  WHERE pair.low < pair.high
    AND own.partition_no IN (
      SELECT partition_no
      FROM query_table(totals)
      GROUP BY partition_no
      HAVING SUM(n_pairs) = SUM(total - 1)
    );

-- The rows of _connectivities for partitions of two clusters or more. pairs: rows of
-- _rankable_pairs.
CREATE OR REPLACE MACRO clustereval._measured_connectivities(pairs, n_neighbors) AS TABLE
  WITH neighbors AS (
    SELECT
      partition_no, CASE side WHEN 0 THEN low ELSE high END AS row_no, total,
      NOT same_cluster AS other_cluster, d
    FROM query_table(pairs)
    CROSS JOIN (VALUES (0), (1)) AS ends (side)
    WHERE n_clusters > 1
  ),
  reaches AS MATERIALIZED (
    SELECT
      row_no, list_max(MIN(d, LEAST(CAST(n_neighbors AS BIGINT), total - 1))) AS reach
    FROM neighbors
    GROUP BY row_no, total
  ),
  near AS (
    SELECT neighbor.partition_no, neighbor.row_no, neighbor.other_cluster, neighbor.d, own.reach
    FROM neighbors AS neighbor
    JOIN reaches AS own ON own.row_no = neighbor.row_no
  )
  SELECT * FROM clustereval._connectivities(near, 'cityblock', 1, n_neighbors);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Silhouette of each point, from a table of pairs.
-- Examples:
--   FROM clustereval.silhouette_samples_from_distances(
--     words, id, cluster, pairs, word_l, word_r, distance
--   );
CREATE OR REPLACE MACRO clustereval.silhouette_samples_from_distances(
  tbl, id, cluster, pairs, "left", "right", distance, partition_by := NULL, noise := NULL,
  noise_as := NULL, "between" := 'nearest', missing := 'error'
) AS TABLE
  WITH __ce_sums AS MATERIALIZED (
    SELECT * FROM clustereval._sums_from_distances(
      tbl, id, cluster, pairs, "left", "right", distance, partition_by, noise, noise_as, missing
    )
  ),
  __ce_points AS MATERIALIZED (SELECT * FROM clustereval._points_of_sums(__ce_sums)),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._clusters_of_points(__ce_points)),
  __ce_silhouettes AS (
    SELECT *
    FROM clustereval._measured_silhouettes(__ce_points, __ce_sums, __ce_clusters, "between")
  )
  SELECT
    point.partition_key,
    point.id,
    point.cluster,
    nearest.cluster AS neighbor,
    scored.a_lower AS a,
    scored.b_lower AS b,
    scored.lower AS silhouette,
    scored.std_error
  FROM __ce_points AS point
  LEFT JOIN __ce_silhouettes AS scored ON scored.row_no = point.node
  LEFT JOIN __ce_clusters AS nearest ON nearest.number = scored.neighbor
  WHERE point.node IS NOT NULL
    AND clustereval._check_options(clustereval._valid_means_options(
    'exact', "between", NULL, NULL, 0,
    clustereval._valid_missing(missing, clustereval._valid_noise(noise, noise_as))
  ))
  ORDER BY point.node ASC NULLS LAST;

-- Mean silhouette of each cluster, from a table of pairs.
-- Examples:
--   FROM clustereval.silhouette_clusters_from_distances(
--     words, id, cluster, pairs, word_l, word_r, distance
--   );
CREATE OR REPLACE MACRO clustereval.silhouette_clusters_from_distances(
  tbl, id, cluster, pairs, "left", "right", distance, partition_by := NULL, noise := NULL,
  noise_as := NULL, "between" := 'nearest', missing := 'error'
) AS TABLE
  WITH __ce_sums AS MATERIALIZED (
    SELECT * FROM clustereval._sums_from_distances(
      tbl, id, cluster, pairs, "left", "right", distance, partition_by, noise, noise_as, missing
    )
  ),
  __ce_points AS MATERIALIZED (SELECT * FROM clustereval._points_of_sums(__ce_sums)),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._clusters_of_points(__ce_points)),
  __ce_silhouettes AS (
    SELECT *
    FROM clustereval._measured_silhouettes(__ce_points, __ce_sums, __ce_clusters, "between")
  ),
  __ce_averages AS (
    SELECT
      number,
      clustereval._compensated_sum(a_lower) / COUNT(*) AS a,
      clustereval._compensated_sum(b_lower) / COUNT(*) AS b,
      clustereval._compensated_sum(lower) / COUNT(*) AS silhouette
    FROM __ce_silhouettes
    GROUP BY number
  )
  SELECT
    own.partition_key,
    own.cluster,
    own.n,
    averaged.a,
    averaged.b,
    averaged.silhouette,
    CAST(NULL AS DOUBLE) AS std_error
  FROM __ce_clusters AS own
  LEFT JOIN __ce_averages AS averaged ON averaged.number = own.number
  WHERE clustereval._check_options(clustereval._valid_means_options(
    'exact', "between", NULL, NULL, 0,
    clustereval._valid_missing(missing, clustereval._valid_noise(noise, noise_as))
  ))
  ORDER BY own.number ASC NULLS LAST;

-- Mean silhouette of the points, from a table of pairs.
-- Examples:
--   FROM clustereval.silhouette_score_from_distances(
--     words, id, cluster, pairs, word_l, word_r, distance
--   );
CREATE OR REPLACE MACRO clustereval.silhouette_score_from_distances(
  tbl, id, cluster, pairs, "left", "right", distance, partition_by := NULL, noise := NULL,
  noise_as := NULL, "between" := 'nearest', missing := 'error'
) AS TABLE
  WITH __ce_sums AS MATERIALIZED (
    SELECT * FROM clustereval._sums_from_distances(
      tbl, id, cluster, pairs, "left", "right", distance, partition_by, noise, noise_as, missing
    )
  ),
  __ce_points AS MATERIALIZED (SELECT * FROM clustereval._points_of_sums(__ce_sums)),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._clusters_of_points(__ce_points)),
  __ce_silhouettes AS (
    SELECT *
    FROM clustereval._measured_silhouettes(__ce_points, __ce_sums, __ce_clusters, "between")
  ),
  -- One row per partition that has a silhouette.
  __ce_scored AS (
    SELECT own.partition_key, totals.*
    FROM clustereval._silhouette_totals(__ce_silhouettes) AS totals
    JOIN __ce_clusters AS own ON own.number = totals.partition_no
    WHERE clustereval._is_clustering(own.total, own.n_clusters)
  )
  SELECT
    counts.partition_key,
    counts.total AS n,
    counts.n_dropped,
    counts.n_noise,
    counts.n_clusters,
    counts.n_singletons,
    COALESCE(scored.n, 0) AS n_evaluated,
    scored.middle AS silhouette,
    CASE WHEN scored.n_clusters = counts.n_clusters THEN scored.macro END AS silhouette_macro,
    CASE WHEN scored.n_clusters = counts.n_clusters THEN scored.largest END AS silhouette_max,
    CASE WHEN scored.n = counts.total THEN scored.lower END AS silhouette_lower,
    CASE WHEN scored.n = counts.total THEN scored.upper END AS silhouette_upper,
    scored.std_error
  FROM clustereval._measured_row_counts(__ce_points, tbl, partition_by) AS counts
  LEFT JOIN __ce_scored AS scored ON scored.partition_key IS NOT DISTINCT FROM counts.partition_key
  WHERE clustereval._check_options(clustereval._valid_means_options(
    'exact', "between", NULL, NULL, 0,
    clustereval._valid_missing(missing, clustereval._valid_noise(noise, noise_as))
  ))
  ORDER BY counts.partition_key ASC NULLS LAST;

-- Dunn's index and its generalizations without centers, from a table of pairs.
-- Examples:
--   FROM clustereval.dunn_index_from_distances(
--     words, id, cluster, pairs, word_l, word_r, distance
--   );
CREATE OR REPLACE MACRO clustereval.dunn_index_from_distances(
  tbl, id, cluster, pairs, "left", "right", distance, partition_by := NULL, noise := NULL,
  noise_as := NULL, missing := 'error'
) AS TABLE
  WITH __ce_sums AS MATERIALIZED (
    SELECT * FROM clustereval._sums_from_distances(
      tbl, id, cluster, pairs, "left", "right", distance, partition_by, noise, noise_as, missing
    )
  ),
  __ce_points AS MATERIALIZED (SELECT * FROM clustereval._points_of_sums(__ce_sums)),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._clusters_of_points(__ce_points)),
  __ce_counts AS (
    SELECT * FROM clustereval._measured_row_counts(__ce_points, tbl, partition_by)
  ),
  __ce_extremes AS (
    SELECT * FROM clustereval._measured_extremes(__ce_points, __ce_sums, __ce_clusters)
  ),
  __ce_statistics AS (
    SELECT counts.*, extremes.* EXCLUDE (partition_key)
    FROM __ce_counts AS counts
    LEFT JOIN __ce_extremes AS extremes
      ON extremes.partition_key IS NOT DISTINCT FROM counts.partition_key
  )
  SELECT *
  FROM clustereval._dunn_indices(__ce_statistics, TRUE)
  WHERE clustereval._check_options(
    clustereval._valid_missing(missing, clustereval._valid_noise(noise, noise_as))
  )
  ORDER BY partition_key ASC NULLS LAST;

-- Indices of the ranks of all distances, and connectivity, from a table of pairs.
-- Examples:
--   FROM clustereval.pairwise_report_from_distances(
--     words, id, cluster, pairs, word_l, word_r, distance, n_neighbors := 5
--   );
CREATE OR REPLACE MACRO clustereval.pairwise_report_from_distances(
  tbl, id, cluster, pairs, "left", "right", distance, partition_by := NULL, noise := NULL,
  noise_as := NULL, n_neighbors := 10, missing := 'error'
) AS TABLE
  WITH __ce_sums AS MATERIALIZED (
    SELECT * FROM clustereval._sums_from_distances(
      tbl, id, cluster, pairs, "left", "right", distance, partition_by, noise, noise_as, missing
    )
  ),
  __ce_points AS MATERIALIZED (SELECT * FROM clustereval._points_of_sums(__ce_sums)),
  __ce_clusters AS MATERIALIZED (SELECT * FROM clustereval._clusters_of_points(__ce_points)),
  __ce_rows AS NOT MATERIALIZED (
    SELECT *
    FROM clustereval._pair_rows(tbl, id, pairs, "left", "right", distance, partition_by)
  ),
  __ce_located AS NOT MATERIALIZED (
    SELECT * FROM clustereval._located_rows(__ce_points, __ce_rows)
  ),
  __ce_pairs AS MATERIALIZED (SELECT * FROM clustereval._measured_pairs(__ce_located)),
  __ce_counts AS (
    SELECT * FROM clustereval._measured_row_counts(__ce_points, tbl, partition_by)
  ),
  __ce_sizes AS MATERIALIZED (SELECT * FROM clustereval._pair_sizes(__ce_clusters)),
  __ce_rankable AS (
    SELECT * FROM clustereval._rankable_pairs(__ce_pairs, __ce_points, __ce_clusters)
  ),
  __ce_ranked AS (
    SELECT * FROM __ce_rankable WHERE clustereval._is_clustering(total, n_clusters)
  ),
  __ce_statistics AS (
    SELECT * FROM clustereval._pair_distance_statistics(__ce_ranked, __ce_sizes, 'cityblock', 1)
  ),
  __ce_connectivities AS (
    SELECT * FROM clustereval._measured_connectivities(__ce_rankable, n_neighbors)
  )
  SELECT *
  FROM clustereval._pairwise_indices(__ce_counts, __ce_sizes, __ce_statistics, __ce_connectivities)
  WHERE clustereval._check_options(clustereval._valid_pairwise_options(
    'cityblock', 1, NULL, noise, noise_as, n_neighbors, 2, missing
  ))
  ORDER BY partition_key ASC NULLS LAST;
