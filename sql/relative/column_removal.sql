-- column_removal: how a clustering changes if one coordinate of the points is left out.
--
--   * The whole clustering is of all coordinates; a reduced clustering, one per coordinate, is
--     without that coordinate. A cell is the points of one cluster of each.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per cell: __ce_partition and __ce_cluster, which identify it, __ce_n points, and the
-- centers of its two clusters: __ce_whole_n and __ce_whole_center of the whole clustering, and
-- __ce_reduced_n and __ce_reduced_center of the reduced one. A mean lies between the least and the
-- greatest of those it is made of: rounding would otherwise move equal numbers. __ce_coordinates:
-- rows of _moved_moments by cell; distance is an option.
CREATE OR REPLACE MACRO clustereval._cells_with_centers(__ce_coordinates, distance) AS TABLE
  WITH __ce_whole_coordinates AS (
    SELECT
      __ce_partition, __ce_cluster['whole'] AS __ce_whole, __ce_i,
      SUM(__ce_n) AS __ce_n,
      clustereval._clamp(
        fsum(__ce_n * __ce_center) / fsum(__ce_n), MIN(__ce_center), MAX(__ce_center)
      ) AS __ce_center
    FROM query_table(__ce_coordinates)
    GROUP BY __ce_partition, __ce_cluster['whole'], __ce_i
  ),
  __ce_reduced_coordinates AS (
    SELECT
      __ce_partition, __ce_cluster['reduced'] AS __ce_reduced, __ce_i,
      SUM(__ce_n) AS __ce_n,
      clustereval._clamp(
        fsum(__ce_n * __ce_center) / fsum(__ce_n), MIN(__ce_center), MAX(__ce_center)
      ) AS __ce_center
    FROM query_table(__ce_coordinates)
    GROUP BY __ce_partition, __ce_cluster['reduced'], __ce_i
  ),
  __ce_whole_clusters AS (
    SELECT
      __ce_partition, __ce_whole,
      MAX(__ce_n) AS __ce_n,
      list(__ce_center ORDER BY __ce_i ASC NULLS LAST) AS __ce_center
    FROM __ce_whole_coordinates
    GROUP BY __ce_partition, __ce_whole
  ),
  __ce_reduced_clusters AS (
    SELECT
      __ce_partition, __ce_reduced,
      MAX(__ce_n) AS __ce_n,
      list(__ce_center ORDER BY __ce_i ASC NULLS LAST) AS __ce_center
    FROM __ce_reduced_coordinates
    GROUP BY __ce_partition, __ce_reduced
  ),
  __ce_cells AS (
    SELECT __ce_partition, __ce_cluster, MAX(__ce_n) AS __ce_n
    FROM query_table(__ce_coordinates)
    GROUP BY __ce_partition, __ce_cluster
  )
  SELECT
    cell.__ce_partition, cell.__ce_cluster, cell.__ce_n,
    whole.__ce_n AS __ce_whole_n,
    reduced.__ce_n AS __ce_reduced_n,
    clustereval._center_direction(whole.__ce_center, distance) AS __ce_whole_center,
    clustereval._center_direction(reduced.__ce_center, distance) AS __ce_reduced_center
  FROM __ce_cells AS cell
  JOIN __ce_whole_clusters AS whole
    ON whole.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
    AND whole.__ce_whole IS NOT DISTINCT FROM cell.__ce_cluster['whole']
  JOIN __ce_reduced_clusters AS reduced
    ON reduced.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
    AND reduced.__ce_reduced IS NOT DISTINCT FROM cell.__ce_cluster['reduced'];

-- One row per cell: __ce_partition, __ce_cluster and __ce_distance, the mean distance of the points
-- of its cluster in the whole clustering to those of its cluster in the reduced one, by a join of
-- these points, which streams. __ce_points: rows of _move_points; __ce_cells: rows of
-- _cells_with_centers; distance and p are options.
CREATE OR REPLACE MACRO clustereval._cell_distances(
  __ce_points, __ce_cells, distance, p
) AS TABLE
  WITH __ce_members AS MATERIALIZED (
    SELECT
      __ce_partition, __ce_row, __ce_point,
      __ce_cluster['whole'] AS __ce_whole, __ce_cluster['reduced'] AS __ce_reduced
    FROM query_table(__ce_points)
    WHERE __ce_kept
  ),
  __ce_pairs AS NOT MATERIALIZED (
    SELECT
      cell.__ce_partition, cell.__ce_cluster, cell.__ce_whole_n, cell.__ce_reduced_n,
      CASE
        WHEN point.__ce_row = other.__ce_row THEN 0.0
        ELSE clustereval._distance(point.__ce_point, other.__ce_point, distance, p)
      END AS __ce_distance
    FROM query_table(__ce_cells) AS cell
    JOIN __ce_members AS point
      ON point.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND point.__ce_whole IS NOT DISTINCT FROM cell.__ce_cluster['whole']
    JOIN __ce_members AS other
      ON other.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND other.__ce_reduced IS NOT DISTINCT FROM cell.__ce_cluster['reduced']
  )
  SELECT
    __ce_partition, __ce_cluster,
    clustereval._compensated_sum(__ce_distance) / (MAX(__ce_whole_n) * MAX(__ce_reduced_n))
      AS __ce_distance
  FROM __ce_pairs
  GROUP BY __ce_partition, __ce_cluster;

-- One row per partition: the sum over its reduced clusters of the squared deviations of the left
-- out coordinate from its mean in the cluster (__ce_squares), and the number of these clusters
-- (__ce_n_clusters). __ce_points: rows of _points.
CREATE OR REPLACE MACRO clustereval._left_out_squares(__ce_points) AS TABLE
  WITH __ce_clusters AS (
    SELECT
      __ce_partition,
      COUNT(*) * clustereval._variance(__ce_vector[__ce_partition['removed']]) AS __ce_squares
    FROM query_table(__ce_points)
    WHERE __ce_kept
    GROUP BY __ce_partition, __ce_cluster['reduced']
  )
  SELECT
    __ce_partition,
    COUNT(*) AS __ce_n_clusters,
    clustereval._compensated_sum(__ce_squares) AS __ce_squares
  FROM __ce_clusters
  GROUP BY __ce_partition;

-- x, the user's place of a coordinate, as BIGINT, or NULL if it is no whole number.
CREATE OR REPLACE MACRO clustereval._place(x) AS
  CASE WHEN clustereval._is_whole_number(x, 0) THEN CAST(TRY_CAST(x AS DOUBLE) AS BIGINT) END;

-- No row. Raises an error if `removed` is no place of a coordinate in some row that counts.
-- __ce_points: rows of _points.
CREATE OR REPLACE MACRO clustereval._check_removed(__ce_points) AS TABLE
  WITH __ce_faults AS (
    SELECT
      MAX(len(__ce_vector)) AS __ce_dims,
      MIN(CASE
        WHEN NOT coalesce(__ce_partition['removed'] BETWEEN 1 AND len(__ce_vector), FALSE)
        THEN clustereval._show_value(__ce_partition['removed'])
      END) AS __ce_fault
    FROM query_table(__ce_points)
    WHERE __ce_kept
  )
  SELECT CAST(error(concat(
    'removed: expected the place of a coordinate, from 1 to ', __ce_dims, ', got ', __ce_fault
  )) AS BOOLEAN) AS __ce_valid
  FROM __ce_faults
  WHERE __ce_fault IS NOT NULL;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Stability of a clustering when single coordinates are left out: one row per partition and left
-- out coordinate with partition_key, removed (its place, from 1), n, n_clusters (of the clustering
-- without it), average_proportion_non_overlap, average_distance, average_distance_between_means and
-- figure_of_merit. The table tbl has one row per point and left out coordinate: vector (all
-- coordinates), cluster (of the clustering of all coordinates), removed and reduced_cluster (of the
-- clustering without that coordinate). The means over its rows are the indices of Datta and Datta.
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
      clustereval._check_column(
        clustereval._check_column(
          clustereval._check_column(
            clustereval._check_column(TRUE, 'reduced_cluster', reduced_cluster), 'removed', removed
          ),
          'cluster', cluster
        ),
        'partition_by', partition_by
      ) AS __ce_valid
    FROM query_table(tbl)
    WHERE FALSE
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
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance)
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
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, 'mean')
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, distance, p)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, NULL)
  ),
  __ce_removed_check AS (SELECT * FROM clustereval._check_removed(__ce_points)),
  __ce_cells AS MATERIALIZED (
    SELECT * FROM clustereval._cells_with_centers(__ce_coordinates, distance)
  ),
  __ce_distances AS (
    SELECT * FROM clustereval._cell_distances(__ce_points, __ce_cells, distance, p)
  ),
  __ce_left_out AS (SELECT * FROM clustereval._left_out_squares(__ce_points)),
  __ce_totals AS (
    SELECT
      cell.__ce_partition,
      SUM(cell.__ce_n) AS __ce_n,
      clustereval._compensated_sum(
        cell.__ce_n * (cell.__ce_whole_n - cell.__ce_n) / cell.__ce_whole_n
      ) AS __ce_non_overlap,
      clustereval._compensated_sum(cell.__ce_n * apart.__ce_distance) AS __ce_distances,
      clustereval._compensated_sum(
        cell.__ce_n * clustereval._distance(
          cell.__ce_whole_center, cell.__ce_reduced_center, distance, p
        )
      ) AS __ce_mean_distances
    FROM __ce_cells AS cell
    JOIN __ce_distances AS apart
      ON apart.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND apart.__ce_cluster IS NOT DISTINCT FROM cell.__ce_cluster
    GROUP BY cell.__ce_partition
  )
  SELECT
    totals.__ce_partition['key'] AS partition_key,
    totals.__ce_partition['removed'] AS removed,
    CAST(totals.__ce_n AS BIGINT) AS n,
    left_out.__ce_n_clusters AS n_clusters,
    totals.__ce_non_overlap / totals.__ce_n AS average_proportion_non_overlap,
    totals.__ce_distances / totals.__ce_n AS average_distance,
    totals.__ce_mean_distances / totals.__ce_n AS average_distance_between_means,
    sqrt(clustereval._ratio(
      left_out.__ce_squares, totals.__ce_n - left_out.__ce_n_clusters
    )) AS figure_of_merit
  FROM __ce_totals AS totals
  JOIN __ce_left_out AS left_out
    ON left_out.__ce_partition IS NOT DISTINCT FROM totals.__ce_partition
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, 'mean', NULL, NULL, 'cluster', missing)
  )
    AND (SELECT __ce_valid FROM __ce_columns_check)
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_removed_check), TRUE)
  ORDER BY totals.__ce_partition ASC NULLS LAST;
