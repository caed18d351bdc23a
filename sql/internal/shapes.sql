-- shapes: the connected parts of sampled points, and the clusters that agree with them or not.
--
-- Each point of a sample is joined with its nearest neighbors in the sample, and a part is a set of
-- points that are connected by such links. Unlike distances to centers, parts tell rings from
-- chains.

-- One row per cluster with sampled points: number; n_sampled, its points in parts, and n_own, those
-- in the largest part that is all but its own; n_parts, the parts of its partition that are not
-- tiny; and cut_number and cut_share. In one row per partition whose clusters contradict the parts,
-- cut_number is not NULL: these two clusters divide a part, although the cluster of the row also
-- has points of another part. cut_share is the share of the points of the partition in such a
-- position. members: rows of _clustered_points; clusters: rows of _cluster_moments; the rest are
-- options. The sample is that of _drawn_members, but only rows with small keys are ranked, by a
-- margin of ten standard deviations.
CREATE OR REPLACE MACRO clustereval._shapes(
  members, clusters, distance, p, random_state
) AS TABLE
  WITH ids AS (SELECT row_no, number, partition_no, id, has_default_id FROM query_table(members)),
  sizes AS (SELECT partition_no, MAX(total) AS total FROM query_table(clusters) GROUP BY 1),
  keyed AS (
    SELECT
      own.row_no, own.partition_no, own.place, sizes.total,
      clustereval._sample_key(
        own.place % 2147483647, CAST(random_state AS BIGINT) % 2147483647
      ) AS key
    FROM clustereval._id_places(ids) AS own
    -- Two parts have more than 20 points.
    JOIN sizes ON sizes.partition_no = own.partition_no AND sizes.total > 20
  ),
  ranked AS (
    SELECT
      row_no,
      row_number() OVER (
        PARTITION BY partition_no ORDER BY key ASC NULLS LAST, place ASC NULLS LAST
      ) AS rank
    FROM keyed
    WHERE CAST(key AS DOUBLE) * total < 1417.0 * 2147483647
  ),
  drawn AS MATERIALIZED (
    SELECT
      one.row_no, one.number, one.partition_no, one.point,
      CASE WHEN NOT one.has_default_id THEN one.id END AS id
    FROM query_table(members) AS one
    JOIN ranked ON ranked.row_no = one.row_no AND ranked.rank <= 1000
  ),
  neighbors AS MATERIALIZED (
    SELECT row_no, found['row_no'] AS other_row_no, found['distance'] AS d
    FROM clustereval._nearest_points(drawn, distance, p, 10)
  ),
  arcs AS MATERIALIZED (
    SELECT row_no AS from_node, other_row_no AS to_node FROM neighbors
    UNION ALL
    SELECT other_row_no, row_no FROM neighbors
  ),
  reaches AS (SELECT row_no, MAX(d) AS reach FROM neighbors GROUP BY row_no),
  -- Copies of a point that have no other neighbors are a part, whatever is next to them.
  cells AS (
    SELECT
      one.partition_no, one.number, own.part,
      COUNT(CASE WHEN reaches.reach > 0 THEN 1 END) AS n,
      COUNT(*) AS n_drawn
    FROM drawn AS one
    JOIN reaches ON reaches.row_no = one.row_no
    JOIN clustereval._graph_parts(arcs) AS own ON own.node = one.row_no
    GROUP BY one.partition_no, one.number, own.part
  ),
  sized AS MATERIALIZED (
    SELECT
      *,
      SUM(n) OVER (PARTITION BY part) AS part_size,
      SUM(n) OVER (PARTITION BY number) AS cluster_size,
      SUM(n) OVER (PARTITION BY partition_no) AS total
    FROM cells
    QUALIFY n > 0 AND 10 * total >= 9 * SUM(n_drawn) OVER (PARTITION BY partition_no)
  ),
  totals AS MATERIALIZED (
    SELECT
      partition_no,
      COUNT(DISTINCT CASE WHEN 50 * part_size >= total THEN part END) AS n_parts,
      COUNT(DISTINCT number) AS n_clusters
    FROM sized
    GROUP BY partition_no
  ),
  shared AS MATERIALIZED (
    SELECT
      cell.*,
      COUNT(*) OVER (PARTITION BY cell.part) AS n_in_part,
      COUNT(*) OVER (PARTITION BY cell.number) AS n_in_cluster
    FROM sized AS cell
    -- With fewer clusters than parts, clusters have to join some.
    JOIN totals ON totals.partition_no = cell.partition_no AND totals.n_parts <= totals.n_clusters
    WHERE 50 * cell.part_size >= cell.total AND cell.n >= 5
      AND 10 * cell.n >= cell.part_size AND 10 * cell.n >= cell.cluster_size
  ),
  cuts AS (
    SELECT
      one.partition_no,
      MIN({'n': -one.n, 'other_n': -other.n, 'number': one.number, 'other': other.number}) AS cut
    FROM shared AS one
    JOIN shared AS other ON other.part = one.part AND other.number <> one.number
    WHERE one.n_in_cluster > 1
    GROUP BY one.partition_no
  ),
  cut_shares AS (
    SELECT partition_no, SUM(n) / any_value(total) AS share
    FROM shared
    WHERE n_in_cluster > 1 AND n_in_part > 1
    GROUP BY partition_no
  ),
  clusters AS (
    SELECT
      partition_no, number,
      SUM(n) AS n_sampled,
      MAX(CASE WHEN 20 * n >= 19 * part_size THEN n ELSE 0 END) AS n_own
    FROM sized
    GROUP BY partition_no, number
  )
  SELECT
    own.number, own.n_sampled, own.n_own, totals.n_parts,
    cuts.cut['other'] AS cut_number,
    CASE WHEN cuts.cut IS NOT NULL THEN cut_shares.share END AS cut_share
  FROM clusters AS own
  JOIN totals ON totals.partition_no = own.partition_no
  LEFT JOIN cuts ON cuts.partition_no = own.partition_no AND cuts.cut['number'] = own.number
  LEFT JOIN cut_shares ON cut_shares.partition_no = own.partition_no;
