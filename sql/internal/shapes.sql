-- shapes: the connected parts of sampled points, and the clusters that agree with them or not.
--
-- Points of a sample are linked if each is among the nearest neighbors of the other in the sample,
-- and a part is a set of points that links connect. Unlike distances to centers, parts tell rings
-- from chains. Scattered points are no neighbors of dense ones, so they do not join parts.

-- One row per cluster with sampled points: number; n_sampled, its points in parts, and n_own, those
-- in the largest part that is all but its own; n_parts, the parts of its partition that are not
-- tiny; and cut_number and cut_share. In one row per partition whose clusters contradict the parts,
-- cut_number is not NULL: the two clusters divide a part, of which the cluster of the row has
-- cut_share of the points of the partition, although it also has points of another part. members:
-- rows of _clustered_points; clusters: rows of _cluster_moments; the rest are options. The sample
-- is that of _drawn_members, but only rows with small keys are ranked, by a margin of ten standard
-- deviations.
CREATE OR REPLACE MACRO clustereval._shapes(
  members, clusters, distance, p, random_state
) AS TABLE
  WITH ids AS (SELECT row_no, number, partition_no, id, has_default_id FROM query_table(members)),
  keyed AS (
    SELECT
      place.row_no, place.partition_no, place.place, own.total,
      clustereval._sample_key(
        place.place % 2147483647, CAST(random_state AS BIGINT) % 2147483647
      ) AS key
    FROM clustereval._id_places(ids) AS place
    -- Two parts have more than 30 points.
    JOIN query_table(clusters) AS own ON own.number = place.number AND own.total > 30
  ),
  ranked AS (
    SELECT
      row_no, total,
      row_number() OVER (
        PARTITION BY partition_no ORDER BY key ASC NULLS LAST, place ASC NULLS LAST
      ) AS rank
    FROM keyed
    WHERE CAST(key AS DOUBLE) * total < 1417.0 * 2147483647
  ),
  drawn AS MATERIALIZED (
    SELECT
      one.row_no, one.number, one.partition_no, one.point,
      CASE WHEN NOT one.has_default_id THEN one.id END AS id,
      LEAST(ranked.total, 1000) AS n_drawn
    FROM query_table(members) AS one
    JOIN ranked ON ranked.row_no = one.row_no AND ranked.rank <= 1000
  ),
  neighbors AS MATERIALIZED (
    SELECT row_no, found['row_no'] AS other_row_no, found['distance'] AS d
    FROM clustereval._nearest_points(drawn, distance, p, 15)
  ),
  arcs AS MATERIALIZED (
    SELECT one.row_no AS from_node, one.other_row_no AS to_node
    FROM neighbors AS one
    JOIN neighbors AS other
      ON other.row_no = one.other_row_no AND other.other_row_no = one.row_no
    UNION ALL
    SELECT row_no, row_no FROM drawn
  ),
  -- Copies of a point that have no other neighbors are a part, whatever is next to them.
  cells AS (
    SELECT one.partition_no, one.number, own.part, one.n_drawn, COUNT(*) AS n
    FROM drawn AS one
    JOIN clustereval._graph_parts(arcs) AS own ON own.node = one.row_no
    WHERE one.row_no IN (SELECT row_no FROM neighbors WHERE d > 0)
    GROUP BY one.partition_no, one.number, own.part, one.n_drawn
  ),
  sized AS (
    SELECT
      *,
      SUM(n) OVER (PARTITION BY part) AS part_size,
      SUM(n) OVER (PARTITION BY number) AS cluster_size,
      SUM(n) OVER (PARTITION BY partition_no) AS total,
      COUNT(DISTINCT number) OVER (PARTITION BY partition_no) AS n_clusters
    FROM cells
    QUALIFY 10 * total >= 9 * n_drawn
  ),
  counted AS MATERIALIZED (
    SELECT
      *,
      COUNT(DISTINCT CASE WHEN 50 * part_size >= total THEN part END) OVER (
        PARTITION BY partition_no
      ) AS n_parts
    FROM sized
  ),
  shared AS MATERIALIZED (
    SELECT *, COUNT(*) OVER (PARTITION BY number) AS n_shared
    FROM counted
    -- With fewer clusters than parts, clusters have to join some.
    WHERE n_parts <= n_clusters AND 50 * part_size >= total
      AND n >= 5 AND 10 * n >= part_size AND 10 * n >= cluster_size
  ),
  cuts AS (
    SELECT
      MIN({'n': -one.n, 'other_n': -other.n, 'number': one.number, 'other': other.number}) AS cut
    FROM shared AS one
    JOIN shared AS other ON other.part = one.part AND other.number <> one.number
    WHERE one.n_shared > 1
    GROUP BY one.partition_no
  )
  SELECT
    own.number,
    SUM(own.n) AS n_sampled,
    MAX(CASE WHEN 20 * own.n >= 19 * own.part_size THEN own.n ELSE 0 END) AS n_own,
    MAX(own.n_parts) AS n_parts,
    MAX(cuts.cut['other']) AS cut_number,
    -MAX(cuts.cut['n']) / MAX(own.total) AS cut_share
  FROM counted AS own
  LEFT JOIN cuts ON cuts.cut['number'] = own.number
  GROUP BY own.number;
