-- column_removal: how a clustering changes if one coordinate of the points is left out.
--
--   * The whole clustering uses all coordinates. A reduced clustering leaves out one coordinate,
--     and there is one for each coordinate. A cell consists of the points that share a cluster in
--     both clusterings.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per cluster of a clustering, 'whole' or 'reduced': partition_key, its name, n and center.
-- A mean is clamped, because rounding would move the mean of equal numbers. coordinates: rows of
-- _moved_moments by cell.
CREATE OR REPLACE MACRO clustereval._centers_of_side(coordinates, side) AS TABLE
  WITH coordinates_of_side AS (
    SELECT
      partition_key, cluster[side] AS name, i,
      SUM(n) AS n,
      clustereval._clamp(fsum(n * center) / fsum(n), MIN(center), MAX(center)) AS center
    FROM query_table(coordinates)
    GROUP BY partition_key, cluster[side], i
  )
  SELECT
    partition_key, name, MAX(n) AS n, list(center ORDER BY i ASC NULLS LAST) AS center
  FROM coordinates_of_side
  GROUP BY partition_key, name;

-- One row per cell: partition_key and cluster, which identify it, n points, and the sizes and
-- centers of its two clusters: whole_n, whole_center, reduced_n and reduced_center.
CREATE OR REPLACE MACRO clustereval._cells_with_centers(coordinates, distance) AS TABLE
  WITH cells AS (
    SELECT partition_key, cluster, MAX(n) AS n
    FROM query_table(coordinates)
    GROUP BY partition_key, cluster
  )
  SELECT
    cell.partition_key, cell.cluster, cell.n, whole.n AS whole_n, reduced.n AS reduced_n,
    clustereval._center_direction(whole.center, distance) AS whole_center,
    clustereval._center_direction(reduced.center, distance) AS reduced_center
  FROM cells AS cell
  JOIN clustereval._centers_of_side(coordinates, 'whole') AS whole
    ON whole.partition_key IS NOT DISTINCT FROM cell.partition_key
    AND whole.name IS NOT DISTINCT FROM cell.cluster['whole']
  JOIN clustereval._centers_of_side(coordinates, 'reduced') AS reduced
    ON reduced.partition_key IS NOT DISTINCT FROM cell.partition_key
    AND reduced.name IS NOT DISTINCT FROM cell.cluster['reduced'];

-- One row per cell: partition_key, cluster and distance, the mean distance of the points of its
-- whole cluster to those of its reduced one, by a join of these points, which streams. cells: rows
-- of _cells_with_centers.
CREATE OR REPLACE MACRO clustereval._cell_distances(points, cells, distance, p) AS TABLE
  WITH members AS MATERIALIZED (
    SELECT
      partition_key, row_no, point,
      cluster['whole'] AS whole, cluster['reduced'] AS reduced
    FROM query_table(points)
    WHERE kept
  ),
  pairs AS NOT MATERIALIZED (
    SELECT
      cell.partition_key, cell.cluster, cell.whole_n, cell.reduced_n,
      CASE
        WHEN point.row_no = other.row_no THEN 0.0
        ELSE clustereval._distance(point.point, other.point, distance, p)
      END AS distance
    FROM query_table(cells) AS cell
    JOIN members AS point
      ON point.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND point.whole IS NOT DISTINCT FROM cell.cluster['whole']
    JOIN members AS other
      ON other.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND other.reduced IS NOT DISTINCT FROM cell.cluster['reduced']
  )
  SELECT
    partition_key, cluster,
    clustereval._compensated_sum(pairs.distance) / (MAX(whole_n) * MAX(reduced_n)) AS distance
  FROM pairs
  GROUP BY partition_key, cluster;

-- One row per partition: squares, the sum over its reduced clusters of the squared deviations of
-- the omitted coordinate from its mean in the cluster, and n_clusters, their number.
CREATE OR REPLACE MACRO clustereval._left_out_squares(points) AS TABLE
  WITH clusters AS (
    SELECT
      partition_key,
      COUNT(*) * clustereval._variance(vector[partition_key['removed']]) AS squares
    FROM query_table(points)
    WHERE kept
    GROUP BY partition_key, cluster['reduced']
  )
  SELECT
    partition_key,
    COUNT(*) AS n_clusters,
    clustereval._compensated_sum(squares) AS squares
  FROM clusters
  GROUP BY partition_key;

-- x, the place of a coordinate, as BIGINT; NULL if it is not a whole number >= 0.
CREATE OR REPLACE MACRO clustereval._place(x) AS
  CASE WHEN clustereval._is_whole_number(x, 0) THEN CAST(TRY_CAST(x AS DOUBLE) AS BIGINT) END;

-- No row. Raises an error if `removed` is not the number of a coordinate. checked: the row of the
-- check of the columns, whose error comes first.
CREATE OR REPLACE MACRO clustereval._check_removed(points, checked) AS TABLE
  WITH faults AS (
    SELECT
      MAX(len(vector)) AS dims,
      MIN(CASE
        WHEN NOT coalesce(partition_key['removed'] BETWEEN 1 AND len(vector), FALSE)
        THEN clustereval._show_value(partition_key['removed'])
      END) AS fault
    FROM query_table(points)
    WHERE kept
  )
  SELECT CAST(error(concat(
    'removed: expected the number of a coordinate, from 1 to ', dims, ', got ', fault
  )) AS BOOLEAN) AS valid
  FROM faults
  CROSS JOIN query_table(checked) AS columns
  WHERE fault IS NOT NULL AND columns.__ce_valid;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Stability of a clustering when single coordinates are left out: one row per partition and omitted
-- coordinate with partition_key, removed (the number of the coordinate, from 1), n, n_clusters (of
-- the clustering without it), average_proportion_non_overlap, average_distance,
-- average_distance_between_means and figure_of_merit. The table tbl has one row per point and
-- omitted coordinate: vector (all coordinates), cluster (of the clustering of all coordinates),
-- removed and reduced_cluster (of the clustering without that coordinate). The means over its rows
-- are the indices of Datta and Datta.
-- Examples:
--   WITH runs AS (FROM points CROSS JOIN range(1, 4) AS places (place))
--   SELECT avg(average_proportion_non_overlap), avg(figure_of_merit)
--   FROM clustereval.column_stability(runs, [x, y, z], cluster, place, cluster);
CREATE OR REPLACE MACRO clustereval.column_stability(
  tbl, vector, cluster, removed, reduced_cluster, distance := 'euclidean', p := 2,
  partition_by := NULL, missing := 'error'
) AS TABLE
  WITH __ce_columns_check AS (
    SELECT
      clustereval._check_columns(
        TRUE,
        [
          clustereval._given_column('partition_by', partition_by),
          clustereval._given_column('cluster', cluster),
          clustereval._given_column('removed', removed),
          clustereval._given_column('reduced_cluster', reduced_cluster)
        ]
      ) AS __ce_valid
    FROM query_table(clustereval._check_table_name(tbl))
    WHERE FALSE
  ),
  __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(
      tbl, vector, {'whole': cluster, 'reduced': reduced_cluster},
      {'key': partition_by, 'removed': clustereval._place(removed)}, NULL
    )
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector,
      CASE
        WHEN cluster IS NOT NULL AND reduced_cluster IS NOT NULL
        THEN {'whole': cluster, 'reduced': reduced_cluster}
      END,
      distance, p, NULL, {'key': partition_by, 'removed': clustereval._place(removed)}, NULL,
      'cluster', missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, 'mean')),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._point_origins(
      __ce_rows, __ce_moments, distance, p, 'mean', NULL
    )
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._move_points(__ce_rows, __ce_origins, NULL)
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._moved_moments(
      __ce_moments, __ce_points, __ce_origins, distance, p, 'mean', NULL
    )
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_arguments, __ce_centers, distance, p
    )
  ),
  __ce_cells AS MATERIALIZED (
    SELECT * FROM clustereval._cells_with_centers(__ce_coordinates, distance)
  ),
  __ce_totals AS (
    SELECT
      cell.partition_key,
      SUM(cell.n) AS n,
      clustereval._compensated_sum(cell.n * (cell.whole_n - cell.n) / cell.whole_n) AS non_overlap,
      clustereval._compensated_sum(cell.n * apart.distance) AS distances,
      clustereval._compensated_sum(
        cell.n * clustereval._distance(cell.whole_center, cell.reduced_center, distance, p)
      ) AS mean_distances
    FROM __ce_cells AS cell
    JOIN clustereval._cell_distances(__ce_points, __ce_cells, distance, p) AS apart
      ON apart.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND apart.cluster IS NOT DISTINCT FROM cell.cluster
    GROUP BY cell.partition_key
  )
  SELECT
    totals.partition_key['key'] AS partition_key,
    totals.partition_key['removed'] AS removed,
    CAST(totals.n AS BIGINT) AS n,
    left_out.n_clusters,
    totals.non_overlap / totals.n AS average_proportion_non_overlap,
    totals.distances / totals.n AS average_distance,
    totals.mean_distances / totals.n AS average_distance_between_means,
    sqrt(clustereval._ratio(left_out.squares, totals.n - left_out.n_clusters)) AS figure_of_merit
  FROM __ce_totals AS totals
  JOIN clustereval._left_out_squares(__ce_points) AS left_out
    ON left_out.partition_key IS NOT DISTINCT FROM totals.partition_key
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, 'mean', NULL, NULL, 'cluster', missing)
  )
    AND (SELECT __ce_valid FROM __ce_columns_check)
    AND COALESCE((SELECT MIN(valid) FROM clustereval._check_points(
      __ce_rows, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, NULL
    )), TRUE)
    AND COALESCE((
      SELECT MIN(valid) FROM clustereval._check_removed(__ce_points, __ce_columns_check)
    ), TRUE)
  ORDER BY totals.partition_key ASC NULLS LAST;
