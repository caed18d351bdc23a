-- dunn: diameters of clusters, Dunn's index and its generalizations.
--
-- The diameter of a cluster and the separation of two clusters each depend on a single pair of
-- points. The triangle inequality excludes most other pairs, whose distances are never computed.

---------------------------------------------------------------------------------------------------
-- Metrics, points and diameters
---------------------------------------------------------------------------------------------------

-- The metric value of the distance d, where `distance` is the name of that distance. Values of the
-- metric obey the triangle inequality: sqrt(d), the euclidean distance, for sqeuclidean; sqrt(2 d),
-- the chord between unit vectors, for cosine; d itself for all others.
CREATE OR REPLACE MACRO clustereval._distance_to_metric(d, distance) AS
  CASE lower(distance) WHEN 'sqeuclidean' THEN sqrt(d) WHEN 'cosine' THEN sqrt(2 * d) ELSE d END;

-- The inverse of _distance_to_metric: the distance named `distance` from the metric value d. d^2
-- for sqeuclidean, d^2 / 2 for cosine, d itself for all others.
CREATE OR REPLACE MACRO clustereval._metric_to_distance(d, distance) AS
  CASE lower(distance) WHEN 'sqeuclidean' THEN d * d WHEN 'cosine' THEN d * d / 2 ELSE d END;

-- Distance of the vectors x and y in a metric, for which the triangle inequality holds: euclidean
-- for sqeuclidean; the chord for cosine, where x and y are unit vectors, and sqrt(2) if one is a
-- zero vector; otherwise the distance named `distance`. p is the order of minkowski.
CREATE OR REPLACE MACRO clustereval._metric(x, y, distance, p) AS
  CASE lower(distance)
    WHEN 'sqeuclidean' THEN clustereval._euclidean(x, y)
    ELSE clustereval._distance_to_metric(clustereval._distance(x, y, distance, p), distance)
  END;

-- One row per cluster (__ce_number): its __ce_center; __ce_radius, the largest distance of its
-- points from the center (_metric: the option distance, or its root for squared ones); and of its
-- partition the number of clusters, __ce_n_clusters, and the lowest cluster number, by which tables
-- are joined, __ce_partition_no. __ce_clusters names the table of _measured_clusters.
CREATE OR REPLACE MACRO clustereval._bounding_balls(__ce_clusters, distance) AS TABLE
  SELECT
    MIN(__ce_number) OVER (PARTITION BY __ce_partition) AS __ce_partition_no,
    COUNT(*) OVER (PARTITION BY __ce_partition) AS __ce_n_clusters,
    __ce_number, __ce_center,
    clustereval._distance_to_metric(__ce_radius, distance) AS __ce_radius
  FROM query_table(__ce_clusters);

-- One row per point that is not left out as noise or incomplete: __ce_row and __ce_point (its row
-- number and vector), __ce_number and __ce_radius of its cluster, __ce_center_distance (_metric
-- distance from the center), and __ce_partition_no and __ce_n_clusters of its partition. Points
-- without a finite distance get no row: _check_points reports them. The parameters name the tables
-- of _points (one row per input row), _measured_clusters and _bounding_balls (one per cluster).
CREATE OR REPLACE MACRO clustereval._points_in_balls(
  __ce_points, __ce_clusters, __ce_balls, distance, p
) AS TABLE
  SELECT
    ball.__ce_partition_no, ball.__ce_n_clusters, cluster.__ce_number,
    point.__ce_row, point.__ce_point, ball.__ce_radius,
    clustereval._metric(point.__ce_point, cluster.__ce_center, distance, p) AS __ce_center_distance
  FROM query_table(__ce_points) AS point
  JOIN query_table(__ce_clusters) AS cluster
    ON cluster.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
    AND cluster.__ce_cluster IS NOT DISTINCT FROM point.__ce_cluster
    AND cluster.__ce_singleton_no = point.__ce_singleton_no
  JOIN query_table(__ce_balls) AS ball ON ball.__ce_number = cluster.__ce_number
  WHERE point.__ce_kept
    AND isfinite(clustereval._metric(point.__ce_point, cluster.__ce_center, distance, p));

-- One row per cluster of two points or more (__ce_number): __ce_diameter, the largest _metric
-- distance of two of its points. __ce_members names the table of _points_in_balls, one row per
-- point. Points at distances r and s from the center are at most r + s apart. The distances among
-- the 64 outermost points, and from the outermost to all, give a lower bound of the diameter; other
-- pairs are measured only if r + s exceeds it.
CREATE OR REPLACE MACRO clustereval._metric_diameters(__ce_members, distance, p) AS TABLE
  WITH __ce_outermost AS MATERIALIZED (
    SELECT
      __ce_number, arg_max(__ce_point, __ce_center_distance) AS __ce_point,
      arg_max(__ce_point, __ce_center_distance, 64) AS __ce_candidates
    FROM query_table(__ce_members)
    GROUP BY __ce_number
    HAVING COUNT(*) > 1
  ),
  __ce_candidates AS (
    SELECT
      __ce_number, unnest(__ce_candidates) AS __ce_point,
      unnest(range(len(__ce_candidates))) AS __ce_place
    FROM __ce_outermost
  ),
  __ce_lower_bounds AS (
    SELECT
      one.__ce_number,
      MAX(clustereval._metric(one.__ce_point, other.__ce_point, distance, p)) AS __ce_diameter
    FROM __ce_candidates AS one
    JOIN __ce_candidates AS other
      ON other.__ce_number = one.__ce_number AND other.__ce_place > one.__ce_place
    GROUP BY one.__ce_number
    UNION ALL
    -- The outermost point is compared with itself too: a zero vector is as far from all others.
    SELECT
      member.__ce_number,
      MAX(clustereval._metric(member.__ce_point, outermost.__ce_point, distance, p))
    FROM query_table(__ce_members) AS member
    JOIN __ce_outermost AS outermost ON outermost.__ce_number = member.__ce_number
    GROUP BY member.__ce_number
  ),
  __ce_bounds AS MATERIALIZED (
    SELECT __ce_number, MAX(__ce_diameter) AS __ce_diameter
    FROM __ce_lower_bounds
    GROUP BY __ce_number
  ),
  __ce_outer AS MATERIALIZED (
    SELECT
      member.__ce_number, member.__ce_row, member.__ce_point, member.__ce_center_distance,
      bound.__ce_diameter - member.__ce_center_distance AS __ce_needed_distance
    FROM query_table(__ce_members) AS member
    JOIN __ce_bounds AS bound ON bound.__ce_number = member.__ce_number
    WHERE member.__ce_center_distance + member.__ce_radius > bound.__ce_diameter
  ),
  __ce_largest AS (
    SELECT __ce_number, __ce_diameter FROM __ce_bounds
    UNION ALL
    SELECT
      one.__ce_number,
      MAX(clustereval._metric(one.__ce_point, other.__ce_point, distance, p))
    FROM __ce_outer AS one
    JOIN __ce_outer AS other
      ON other.__ce_number = one.__ce_number
      AND other.__ce_row > one.__ce_row
      AND other.__ce_center_distance > one.__ce_needed_distance
    GROUP BY one.__ce_number
  )
  SELECT __ce_number, MAX(__ce_diameter) AS __ce_diameter
  FROM __ce_largest
  GROUP BY __ce_number;

---------------------------------------------------------------------------------------------------
-- Separation
---------------------------------------------------------------------------------------------------

-- One row per partition of two clusters or more (__ce_partition_no): __ce_separation, an upper
-- bound of the least _metric distance of points of different clusters. It is the least found in the
-- 32 pairs of clusters whose bounding balls overlap most, or are nearest, between the 64 points of
-- each cluster nearest to the midpoint of the two centers. __ce_members and __ce_balls name the
-- tables of _points_in_balls (one row per point) and _bounding_balls (one per cluster).
CREATE OR REPLACE MACRO clustereval._separation_bounds(
  __ce_members, __ce_balls, distance, p
) AS TABLE
  WITH __ce_likely_pairs AS (
    SELECT
      one.__ce_partition_no,
      unnest(arg_min(
        {'one': one.__ce_number, 'other': other.__ce_number},
        clustereval._metric(one.__ce_center, other.__ce_center, distance, p)
          - one.__ce_radius - other.__ce_radius,
        32
      )) AS __ce_pair
    FROM query_table(__ce_balls) AS one
    JOIN query_table(__ce_balls) AS other
      ON other.__ce_partition_no = one.__ce_partition_no AND other.__ce_number > one.__ce_number
    GROUP BY one.__ce_partition_no
  ),
  __ce_midpoints AS MATERIALIZED (
    SELECT
      likely.__ce_pair,
      list_transform(
        one.__ce_center, lambda __ce_v, __ce_i: (__ce_v + other.__ce_center[__ce_i]) / 2
      ) AS __ce_midpoint
    FROM __ce_likely_pairs AS likely
    JOIN query_table(__ce_balls) AS one ON one.__ce_number = likely.__ce_pair['one']
    JOIN query_table(__ce_balls) AS other ON other.__ce_number = likely.__ce_pair['other']
  ),
  __ce_sides AS (
    SELECT __ce_pair, __ce_midpoint, __ce_pair['one'] AS __ce_number FROM __ce_midpoints
    UNION ALL
    SELECT __ce_pair, __ce_midpoint, __ce_pair['other'] FROM __ce_midpoints
  ),
  __ce_nearest AS (
    SELECT
      member.__ce_partition_no, side.__ce_pair, side.__ce_number,
      arg_min(
        member.__ce_point, clustereval._euclidean(member.__ce_point, side.__ce_midpoint), 64
      ) AS __ce_candidates
    FROM query_table(__ce_members) AS member
    JOIN __ce_sides AS side ON side.__ce_number = member.__ce_number
    GROUP BY member.__ce_partition_no, side.__ce_pair, side.__ce_number
  ),
  __ce_candidates AS MATERIALIZED (
    SELECT __ce_partition_no, __ce_pair, __ce_number, unnest(__ce_candidates) AS __ce_point
    FROM __ce_nearest
  )
  SELECT
    one.__ce_partition_no,
    MIN(clustereval._metric(one.__ce_point, other.__ce_point, distance, p)) AS __ce_separation
  FROM __ce_candidates AS one
  JOIN __ce_candidates AS other
    ON other.__ce_pair = one.__ce_pair AND other.__ce_number > one.__ce_number
  GROUP BY one.__ce_partition_no;

-- The points (__ce_partition_no, __ce_number of the cluster, __ce_row, __ce_point) whose _metric
-- distance to a point of another cluster may be below a bound: they are nearer than bound + radius
-- to that cluster's center. Above 256 clusters all points: comparing with every ball would cost too
-- much. __ce_members and __ce_balls name the tables of _points_in_balls (one row per point) and
-- _bounding_balls (one per cluster), __ce_bounds one with the bound of each partition
-- (__ce_separation).
CREATE OR REPLACE MACRO clustereval._border_points(
  __ce_members, __ce_balls, __ce_bounds, distance, p
) AS TABLE
  WITH __ce_rows AS (
    SELECT member.__ce_row
    FROM query_table(__ce_members) AS member
    JOIN query_table(__ce_bounds) AS bound ON bound.__ce_partition_no = member.__ce_partition_no
    JOIN query_table(__ce_balls) AS ball
      ON ball.__ce_partition_no = member.__ce_partition_no
      AND ball.__ce_number <> member.__ce_number
    WHERE member.__ce_n_clusters <= 256
      AND clustereval._metric(member.__ce_point, ball.__ce_center, distance, p)
        < bound.__ce_separation + ball.__ce_radius
    UNION ALL
    SELECT __ce_row FROM query_table(__ce_members) WHERE __ce_n_clusters > 256
  )
  SELECT __ce_partition_no, __ce_number, __ce_row, __ce_point
  FROM query_table(__ce_members)
  WHERE __ce_row IN (SELECT __ce_row FROM __ce_rows);

-- One row per partition (__ce_partition_no), with the axes of a grid in which _separations_by_grid
-- finds near points: __ce_axes, a list of the (at most) four coordinates of largest variance, as
-- indices from 1; __ce_deviation, the largest standard deviation; __ce_origin, the vector where
-- cell 0 starts. The parameters name the tables of _coordinate_moments (one row per cluster and
-- coordinate), _measured_clusters and _bounding_balls (one per cluster).
CREATE OR REPLACE MACRO clustereval._grid_axes(__ce_coordinates, __ce_clusters, __ce_balls) AS TABLE
  WITH __ce_variances AS (
    SELECT
      ball.__ce_partition_no, coordinate.__ce_i,
      SUM(coordinate.__ce_n * coordinate.__ce_variance) / SUM(coordinate.__ce_n)
        + clustereval._variance(coordinate.__ce_center) AS __ce_variance
    FROM query_table(__ce_coordinates) AS coordinate
    JOIN query_table(__ce_clusters) AS cluster
      ON cluster.__ce_partition IS NOT DISTINCT FROM coordinate.__ce_partition
      AND cluster.__ce_cluster IS NOT DISTINCT FROM coordinate.__ce_cluster
      AND cluster.__ce_singleton_no = coordinate.__ce_singleton_no
    JOIN query_table(__ce_balls) AS ball ON ball.__ce_number = cluster.__ce_number
    GROUP BY ball.__ce_partition_no, coordinate.__ce_i
  )
  SELECT
    axis.__ce_partition_no, ball.__ce_center AS __ce_origin,
    arg_max(axis.__ce_i, axis.__ce_variance, 4) AS __ce_axes,
    sqrt(MAX(axis.__ce_variance)) AS __ce_deviation
  FROM __ce_variances AS axis
  JOIN query_table(__ce_balls) AS ball ON ball.__ce_number = axis.__ce_partition_no
  GROUP BY axis.__ce_partition_no, ball.__ce_center;

-- Number of the grid cell of the vector x along one axis, the coordinate of index `axis` (from 1).
-- Cells have this width; cell 0 starts at the vector origin. 0 if axis is NULL: the grid has fewer.
CREATE OR REPLACE MACRO clustereval._cell_along_axis(x, origin, axis, width) AS
  coalesce(floor((x[axis] - origin[axis]) / width), 0.0);

-- One row per offset from a cell of a grid to itself or an adjacent cell, only one of any two
-- opposite offsets: the steps -1, 0 or 1 along each of four axes (__ce_step_1 .. __ce_step_4), and
-- __ce_n_axes, how many axes a grid must have for this offset.
CREATE OR REPLACE MACRO clustereval._neighbor_cell_offsets() AS TABLE
  WITH __ce_steps AS (SELECT __ce_step FROM (VALUES (-1.0), (0.0), (1.0)) AS step (__ce_step))
  SELECT
    first_axis.__ce_step AS __ce_step_1, second_axis.__ce_step AS __ce_step_2,
    third_axis.__ce_step AS __ce_step_3, fourth_axis.__ce_step AS __ce_step_4,
    CASE
      WHEN fourth_axis.__ce_step <> 0 THEN 4
      WHEN third_axis.__ce_step <> 0 THEN 3
      WHEN second_axis.__ce_step <> 0 THEN 2
      ELSE 1
    END AS __ce_n_axes
  FROM __ce_steps AS first_axis
  CROSS JOIN __ce_steps AS second_axis
  CROSS JOIN __ce_steps AS third_axis
  CROSS JOIN __ce_steps AS fourth_axis
  WHERE 27 * first_axis.__ce_step + 9 * second_axis.__ce_step + 3 * third_axis.__ce_step
    + fourth_axis.__ce_step >= 0;

-- One row per partition (__ce_partition_no): __ce_separation, the least _metric distance of given
-- points of different clusters, or the given bound if that is less. Points differ in no coordinate
-- by more than their distance. In a grid of cells as wide as the bound, only points of the same or
-- adjacent cells are compared. __ce_members names the points (a table as of _border_points),
-- __ce_bounds a table with the bound of each partition (__ce_separation), __ce_axes that of
-- _grid_axes.
CREATE OR REPLACE MACRO clustereval._separations_by_grid(
  __ce_members, __ce_bounds, __ce_axes, distance, p
) AS TABLE
  WITH __ce_grids AS (
    SELECT
      bound.__ce_partition_no, axis.__ce_origin, axis.__ce_axes,
      -- The second width keeps the numbers of the cells exact.
      GREATEST(bound.__ce_separation * (1 + 1e-9), axis.__ce_deviation * 1e-7) AS __ce_width
    FROM query_table(__ce_bounds) AS bound
    JOIN query_table(__ce_axes) AS axis ON axis.__ce_partition_no = bound.__ce_partition_no
    WHERE bound.__ce_separation > 0
  ),
  __ce_cells AS MATERIALIZED (
    SELECT
      member.__ce_partition_no, member.__ce_number, member.__ce_point,
      len(grid.__ce_axes) AS __ce_n_axes,
      clustereval._cell_along_axis(
        member.__ce_point, grid.__ce_origin, grid.__ce_axes[1], grid.__ce_width
      ) AS __ce_cell_1,
      clustereval._cell_along_axis(
        member.__ce_point, grid.__ce_origin, grid.__ce_axes[2], grid.__ce_width
      ) AS __ce_cell_2,
      clustereval._cell_along_axis(
        member.__ce_point, grid.__ce_origin, grid.__ce_axes[3], grid.__ce_width
      ) AS __ce_cell_3,
      clustereval._cell_along_axis(
        member.__ce_point, grid.__ce_origin, grid.__ce_axes[4], grid.__ce_width
      ) AS __ce_cell_4
    FROM query_table(__ce_members) AS member
    JOIN __ce_grids AS grid ON grid.__ce_partition_no = member.__ce_partition_no
  ),
  __ce_neighbor_cells AS NOT MATERIALIZED (
    SELECT
      cell.__ce_partition_no, cell.__ce_number, cell.__ce_point,
      cell.__ce_cell_1 + step.__ce_step_1 AS __ce_cell_1,
      cell.__ce_cell_2 + step.__ce_step_2 AS __ce_cell_2,
      cell.__ce_cell_3 + step.__ce_step_3 AS __ce_cell_3,
      cell.__ce_cell_4 + step.__ce_step_4 AS __ce_cell_4
    FROM __ce_cells AS cell
    JOIN clustereval._neighbor_cell_offsets() AS step ON step.__ce_n_axes <= cell.__ce_n_axes
  ),
  __ce_least AS (
    SELECT __ce_partition_no, __ce_separation FROM query_table(__ce_bounds)
    UNION ALL
    SELECT
      one.__ce_partition_no,
      MIN(clustereval._metric(one.__ce_point, other.__ce_point, distance, p))
    FROM __ce_neighbor_cells AS one
    JOIN __ce_cells AS other
      ON other.__ce_partition_no = one.__ce_partition_no
      AND other.__ce_cell_1 = one.__ce_cell_1
      AND other.__ce_cell_2 = one.__ce_cell_2
      AND other.__ce_cell_3 = one.__ce_cell_3
      AND other.__ce_cell_4 = one.__ce_cell_4
      AND other.__ce_number <> one.__ce_number
    GROUP BY one.__ce_partition_no
  )
  SELECT __ce_partition_no, MIN(__ce_separation) AS __ce_separation
  FROM __ce_least
  GROUP BY __ce_partition_no;

-- One row per partition of two clusters or more (__ce_partition_no): __ce_separation, the least
-- distance of points of different clusters, as a _metric value: the euclidean distance for
-- sqeuclidean, the chord for cosine, otherwise the distance itself. A sixteenth of the points is
-- searched first: with their least distance as width, the cells of the grid hold few points. The
-- parameters name the tables of _points_in_balls (one row per point), _bounding_balls (one per
-- cluster) and _grid_axes (one per partition).
CREATE OR REPLACE MACRO clustereval._metric_separations(
  __ce_members, __ce_balls, __ce_axes, distance, p
) AS TABLE
  WITH __ce_first_bounds AS MATERIALIZED (
    SELECT * FROM clustereval._separation_bounds(__ce_members, __ce_balls, distance, p)
  ),
  __ce_border AS MATERIALIZED (
    SELECT *
    FROM clustereval._border_points(__ce_members, __ce_balls, __ce_first_bounds, distance, p)
  ),
  __ce_sample AS NOT MATERIALIZED (SELECT * FROM __ce_border WHERE __ce_row % 16 = 0),
  __ce_sample_bounds AS MATERIALIZED (
    SELECT *
    FROM clustereval._separations_by_grid(__ce_sample, __ce_first_bounds, __ce_axes, distance, p)
  )
  SELECT *
  FROM clustereval._separations_by_grid(__ce_border, __ce_sample_bounds, __ce_axes, distance, p);

---------------------------------------------------------------------------------------------------
-- Ratios
---------------------------------------------------------------------------------------------------

-- query_text, the text of a query that _check_options will run, unchanged. Raises an error unless
-- generalized, an option of dunn_index, is TRUE or FALSE.
CREATE OR REPLACE MACRO clustereval._valid_generalized(generalized, query_text) AS
  CASE
    WHEN typeof(generalized) <> 'BOOLEAN' OR generalized IS NULL
    THEN error(concat(
      'generalized: expected TRUE or FALSE, got ', coalesce(CAST(generalized AS VARCHAR), 'NULL')
    ))
    ELSE query_text
  END;

-- separation / diameter for n points in n_clusters clusters: NULL if the diameter is 0, or there is
-- one cluster, or as many as points.
CREATE OR REPLACE MACRO clustereval._dunn_ratio(n, n_clusters, separation, diameter) AS
  CASE
    WHEN clustereval._is_clustering(n, n_clusters)
    THEN clustereval._ratio(separation, diameter)
  END;

-- _dunn_ratio of the other parameters if generalized, an option of dunn_index, is TRUE; else NULL.
CREATE OR REPLACE MACRO clustereval._generalized_dunn_ratio(
  generalized, n, n_clusters, separation, diameter
) AS
  CASE
    WHEN CAST(generalized AS VARCHAR) = 'true'
    THEN clustereval._dunn_ratio(n, n_clusters, separation, diameter)
  END;

-- The columns of dunn_index, one row per partition. __ce_statistics is the name of a CTE of the
-- counts of each partition, the separations of its clusters and their diameters. Unless the option
-- generalized is TRUE, the columns gdi_11 to gdi_63 are NULL.
CREATE OR REPLACE MACRO clustereval._dunn_indices(__ce_statistics, generalized) AS TABLE
  SELECT
    __ce_partition AS partition_key, __ce_total AS n, __ce_n_dropped AS n_dropped,
    __ce_n_noise AS n_noise, __ce_n_clusters AS n_clusters,
    clustereval._dunn_ratio(
      __ce_total, __ce_n_clusters, __ce_min_separation, __ce_max_diameter
    ) AS dunn_index,
    clustereval._dunn_ratio(
      __ce_total, __ce_n_clusters, __ce_min_centroid_distance, __ce_max_diameter
    ) AS centroid_dunn_index,
    __ce_max_diameter AS max_diameter, __ce_min_separation AS min_separation,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_separation, __ce_max_diameter
    ) AS gdi_11,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_separation, __ce_max_mean_pair
    ) AS gdi_12,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_separation, __ce_max_double_mean
    ) AS gdi_13,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_complete_linkage, __ce_max_diameter
    ) AS gdi_21,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_complete_linkage, __ce_max_mean_pair
    ) AS gdi_22,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_complete_linkage, __ce_max_double_mean
    ) AS gdi_23,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_average_linkage, __ce_max_diameter
    ) AS gdi_31,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_average_linkage, __ce_max_mean_pair
    ) AS gdi_32,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_average_linkage, __ce_max_double_mean
    ) AS gdi_33,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_centroid_distance, __ce_max_diameter
    ) AS gdi_41,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_centroid_distance, __ce_max_mean_pair
    ) AS gdi_42,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_centroid_distance, __ce_max_double_mean
    ) AS gdi_43,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_mean_to_other_center, __ce_max_diameter
    ) AS gdi_51,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_mean_to_other_center, __ce_max_mean_pair
    ) AS gdi_52,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_mean_to_other_center, __ce_max_double_mean
    ) AS gdi_53,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_hausdorff, __ce_max_diameter
    ) AS gdi_61,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_hausdorff, __ce_max_mean_pair
    ) AS gdi_62,
    clustereval._generalized_dunn_ratio(
      generalized, __ce_total, __ce_n_clusters, __ce_min_hausdorff, __ce_max_double_mean
    ) AS gdi_63
  FROM query_table(__ce_statistics);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- One row per cluster: n points, and diameter, the largest distance between two of them.
-- Examples:
--   FROM clustereval.cluster_diameters(points, [x, y, z], cluster);
--   FROM clustereval.cluster_diameters(points, [x, y, z], cluster, distance := 'cityblock');
CREATE OR REPLACE MACRO clustereval.cluster_diameters(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, center)),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._move_points(__ce_rows, __ce_origins, weights)
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._moved_moments(
      __ce_moments, __ce_points, __ce_origins, distance, p, center, weights
    )
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_balls AS MATERIALIZED (SELECT * FROM clustereval._bounding_balls(__ce_clusters, distance)),
  __ce_members AS MATERIALIZED (
    SELECT * FROM clustereval._points_in_balls(__ce_points, __ce_clusters, __ce_balls, distance, p)
  ),
  __ce_diameters AS (SELECT * FROM clustereval._metric_diameters(__ce_members, distance, p)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
  )
  SELECT
    clusters.__ce_partition AS partition_key, clusters.__ce_cluster AS cluster,
    clusters.__ce_n AS n,
    COALESCE(clustereval._metric_to_distance(diameters.__ce_diameter, distance), 0.0) AS diameter
  FROM __ce_clusters AS clusters
  LEFT JOIN __ce_diameters AS diameters ON diameters.__ce_number = clusters.__ce_number
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY clusters.__ce_partition ASC NULLS LAST, clusters.__ce_cluster ASC NULLS LAST,
    clusters.__ce_singleton_no ASC NULLS LAST;

-- One row per partition: least separation of two clusters / largest diameter, in several forms.
-- Examples:
--   FROM clustereval.dunn_index(points, [x, y, z], cluster);
--   FROM clustereval.dunn_index(points, [x, y, z], cluster, generalized := FALSE);
CREATE OR REPLACE MACRO clustereval.dunn_index(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, generalized := TRUE,
  missing := 'error'
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, center)),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._move_points(__ce_rows, __ce_origins, weights)
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._moved_moments(
      __ce_moments, __ce_points, __ce_origins, distance, p, center, weights
    )
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
  ),
  __ce_balls AS MATERIALIZED (SELECT * FROM clustereval._bounding_balls(__ce_clusters, distance)),
  __ce_members AS MATERIALIZED (
    SELECT * FROM clustereval._points_in_balls(__ce_points, __ce_clusters, __ce_balls, distance, p)
  ),
  __ce_diameters AS (SELECT * FROM clustereval._metric_diameters(__ce_members, distance, p)),
  __ce_axes AS MATERIALIZED (
    SELECT * FROM clustereval._grid_axes(__ce_coordinates, __ce_clusters, __ce_balls)
  ),
  __ce_separations AS (
    SELECT * FROM clustereval._metric_separations(__ce_members, __ce_balls, __ce_axes, distance, p)
  ),
  __ce_linkages AS (
    SELECT * FROM clustereval._pair_linkages(__ce_members, distance, p, generalized)
  ),
  __ce_linkage_extremes AS (
    SELECT * FROM clustereval._linkage_extremes(__ce_linkages, __ce_clusters)
  ),
  __ce_means_to_other_center AS (
    SELECT *
    FROM clustereval._mean_to_other_center(__ce_members, __ce_balls, distance, p, generalized)
  ),
  __ce_gaps AS (SELECT * FROM clustereval._centroid_gaps(__ce_clusters, distance, p)),
  __ce_cluster_extremes AS (
    SELECT
      clusters.__ce_partition, MIN(clusters.__ce_number) AS __ce_partition_no,
      MIN(gaps.__ce_least) AS __ce_min_centroid_distance,
      2 * MAX(clusters.__ce_mean_distance) AS __ce_max_double_mean,
      COALESCE(
        clustereval._metric_to_distance(MAX(diameters.__ce_diameter), distance), 0.0
      ) AS __ce_max_diameter
    FROM __ce_clusters AS clusters
    LEFT JOIN __ce_diameters AS diameters ON diameters.__ce_number = clusters.__ce_number
    LEFT JOIN __ce_gaps AS gaps ON gaps.__ce_number = clusters.__ce_number
    GROUP BY clusters.__ce_partition
  ),
  __ce_statistics AS (
    SELECT
      counts.__ce_partition, counts.__ce_total, counts.__ce_n_dropped, counts.__ce_n_noise,
      counts.__ce_n_clusters, extremes.__ce_max_diameter, extremes.__ce_max_double_mean,
      extremes.__ce_min_centroid_distance,
      clustereval._metric_to_distance(separations.__ce_separation, distance) AS __ce_min_separation,
      linkages.__ce_min_complete_linkage, linkages.__ce_min_average_linkage,
      linkages.__ce_min_hausdorff,
      COALESCE(linkages.__ce_max_mean_pair, 0.0) AS __ce_max_mean_pair,
      means.__ce_min_mean_to_other_center
    FROM __ce_counts AS counts
    LEFT JOIN __ce_cluster_extremes AS extremes
      ON extremes.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_separations AS separations
      ON separations.__ce_partition_no = extremes.__ce_partition_no
    LEFT JOIN __ce_linkage_extremes AS linkages
      ON linkages.__ce_partition_no = extremes.__ce_partition_no
    LEFT JOIN __ce_means_to_other_center AS means
      ON means.__ce_partition_no = extremes.__ce_partition_no
  )
  SELECT *
  FROM clustereval._dunn_indices(__ce_statistics, generalized)
  WHERE clustereval._check_options(
    clustereval._valid_generalized(
      generalized,
      clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
    )
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY partition_key ASC NULLS LAST;
