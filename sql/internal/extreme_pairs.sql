-- extreme_pairs: the two points of a cluster that are farthest apart, and the two points of
-- different clusters that are nearest.
--
-- Each depends on a single pair of points. The triangle inequality excludes most other pairs, whose
-- distances are never computed.

---------------------------------------------------------------------------------------------------
-- Metrics, points and diameters
---------------------------------------------------------------------------------------------------

-- The distance named `distance` from the value d of _metric: d^2 for sqeuclidean, d^2 / 2 for
-- cosine, and d itself for all others.
CREATE OR REPLACE MACRO clustereval._metric_to_distance(d, distance) AS
  CASE lower(distance) WHEN 'sqeuclidean' THEN d * d WHEN 'cosine' THEN d * d / 2 ELSE d END;

-- Distance between the vectors x and y in a metric, which obeys the triangle inequality: the
-- euclidean distance for sqeuclidean, and for cosine the chord of unit vectors, or sqrt(2) if one
-- is a zero vector. Otherwise it is the distance named `distance`.
CREATE OR REPLACE MACRO clustereval._metric(x, y, distance, p) AS
  CASE
    WHEN lower(distance) IN ('euclidean', 'sqeuclidean') THEN clustereval._euclidean(x, y)
    WHEN lower(distance) = 'cosine' THEN sqrt(2 * clustereval._cosine_distance(x, y))
    ELSE clustereval._coordinate_distance(x, y, distance, p)
  END;

-- One row per cluster (number): its center; radius, the largest distance of its points from the
-- center (as a _metric: the option distance, or its root for squared distances); and partition_no
-- and n_clusters of _point_clusters (clusters).
CREATE OR REPLACE MACRO clustereval._bounding_balls(clusters, distance) AS TABLE
  SELECT
    partition_no, n_clusters, number, center,
    CASE lower(distance)
      WHEN 'sqeuclidean' THEN sqrt(own.radius)
      WHEN 'cosine' THEN sqrt(2 * own.radius)
      ELSE own.radius
    END AS radius
  FROM query_table(clusters) AS own;

-- One row per point of points (_clustered_points): row_no, point, number and radius of its cluster,
-- center_distance (_metric distance from the center), and partition_no and n_clusters of its
-- partition. Points without a finite distance get no row, because _check_points reports them.
-- balls: rows of _bounding_balls.
CREATE OR REPLACE MACRO clustereval._points_in_balls(points, balls, distance, p) AS TABLE
  SELECT
    ball.partition_no, ball.n_clusters, point.number, point.row_no, point.point, ball.radius,
    clustereval._metric(point.point, ball.center, distance, p) AS center_distance
  FROM query_table(points) AS point
  JOIN query_table(balls) AS ball ON ball.number = point.number
  WHERE isfinite(clustereval._metric(point.point, ball.center, distance, p));

-- One row per cluster of two points or more (number): diameter, the largest _metric distance of two
-- of its points. members: rows of _points_in_balls. Points at distances r and s from the center are
-- at most r + s apart. The distances among the 64 outermost points, and from the outermost point to
-- all points, give a lower bound of the diameter. Other pairs are measured only if r + s exceeds
-- this bound.
CREATE OR REPLACE MACRO clustereval._metric_diameters(members, distance, p) AS TABLE
  WITH outermost AS MATERIALIZED (
    SELECT
      number, arg_max(point, center_distance) AS point,
      arg_max(point, center_distance, 64) AS candidates
    FROM query_table(members)
    GROUP BY number
    HAVING COUNT(*) > 1
  ),
  candidates AS (
    SELECT
      number, unnest(candidates) AS point,
      unnest(range(len(candidates))) AS place
    FROM outermost
  ),
  lower_bounds AS (
    SELECT
      one.number,
      MAX(clustereval._metric(one.point, other.point, distance, p)) AS diameter
    FROM candidates AS one
    JOIN candidates AS other ON other.number = one.number AND other.place > one.place
    GROUP BY one.number
    UNION ALL
    -- The outermost point is also compared with itself, because a zero vector is equally far from
    -- all others.
    SELECT
      member.number,
      MAX(clustereval._metric(member.point, outermost.point, distance, p))
    FROM query_table(members) AS member
    JOIN outermost ON outermost.number = member.number
    GROUP BY member.number
  ),
  bounds AS MATERIALIZED (
    SELECT number, MAX(diameter) AS diameter
    FROM lower_bounds
    GROUP BY number
  ),
  outer_points AS MATERIALIZED (
    SELECT
      member.number, MIN(member.row_no) AS row_no, member.point, member.center_distance,
      MAX(bound.diameter) - member.center_distance AS needed_distance
    FROM query_table(members) AS member
    JOIN bounds AS bound ON bound.number = member.number
    WHERE member.center_distance + member.radius > bound.diameter
    GROUP BY member.number, member.point, member.center_distance
  ),
  largest AS (
    SELECT number, diameter FROM bounds
    UNION ALL
    SELECT
      one.number,
      MAX(clustereval._metric(one.point, other.point, distance, p))
    FROM outer_points AS one
    JOIN outer_points AS other
      ON other.number = one.number
      AND other.row_no > one.row_no
      AND other.center_distance > one.needed_distance
    GROUP BY one.number
  )
  SELECT number, MAX(diameter) AS diameter
  FROM largest
  GROUP BY number;

---------------------------------------------------------------------------------------------------
-- Separation
---------------------------------------------------------------------------------------------------

-- One row per partition of two clusters or more (partition_no): separation, an upper bound of the
-- smallest _metric distance of points of different clusters. It is the smallest found in the 32
-- pairs of clusters whose bounding balls overlap most, or are nearest, between the 64 points of
-- each cluster nearest to the midpoint of the two centers.
CREATE OR REPLACE MACRO clustereval._separation_bounds(members, balls, distance, p) AS TABLE
  WITH likely_pairs AS (
    SELECT
      one.partition_no,
      unnest(arg_min(
        {'one': one.number, 'other': other.number},
        clustereval._metric(one.center, other.center, distance, p)
          - one.radius - other.radius,
        32
      )) AS pair
    FROM query_table(balls) AS one
    JOIN query_table(balls) AS other
      ON other.partition_no = one.partition_no AND other.number > one.number
    GROUP BY one.partition_no
  ),
  midpoints AS MATERIALIZED (
    SELECT
      likely.pair,
      list_transform(one.center, lambda v, i: (v + other.center[i]) / 2) AS midpoint
    FROM likely_pairs AS likely
    JOIN query_table(balls) AS one ON one.number = likely.pair['one']
    JOIN query_table(balls) AS other ON other.number = likely.pair['other']
  ),
  sides AS (
    SELECT pair, midpoint, pair['one'] AS number FROM midpoints
    UNION ALL
    SELECT pair, midpoint, pair['other'] FROM midpoints
  ),
  nearest AS (
    SELECT
      member.partition_no, side.pair, side.number,
      arg_min(member.point, clustereval._euclidean(member.point, side.midpoint), 64) AS candidates
    FROM query_table(members) AS member
    JOIN sides AS side ON side.number = member.number
    GROUP BY member.partition_no, side.pair, side.number
  ),
  candidates AS MATERIALIZED (
    SELECT partition_no, pair, number, unnest(candidates) AS point
    FROM nearest
  )
  SELECT
    one.partition_no,
    MIN(clustereval._metric(one.point, other.point, distance, p)) AS separation
  FROM candidates AS one
  JOIN candidates AS other ON other.pair = one.pair AND other.number > one.number
  GROUP BY one.partition_no;

-- The points (partition_no, number of the cluster, row_no, point) whose _metric distance to a point
-- of another cluster may be below the bound of their partition (separation of bounds), because they
-- are nearer than bound + radius to that cluster's center. Equal points of a cluster appear only
-- once. Above 256 clusters, where this test would cost too much, all points are returned.
CREATE OR REPLACE MACRO clustereval._border_points(members, balls, bounds, distance, p) AS TABLE
  WITH rows AS (
    SELECT member.row_no
    FROM query_table(members) AS member
    JOIN query_table(bounds) AS bound ON bound.partition_no = member.partition_no
    JOIN query_table(balls) AS ball
      ON ball.partition_no = member.partition_no
      AND ball.number <> member.number
    WHERE member.n_clusters <= 256
      AND clustereval._metric(member.point, ball.center, distance, p)
        < bound.separation + ball.radius
    UNION ALL
    SELECT row_no FROM query_table(members) WHERE n_clusters > 256
  )
  SELECT partition_no, number, MIN(row_no) AS row_no, point
  FROM query_table(members)
  WHERE row_no IN (SELECT row_no FROM rows)
  GROUP BY partition_no, number, point;

-- One row per partition (partition_no), with its n points and the axes of the grids that find near
-- points: axes, a list of the (at most) seven coordinates of largest variance, as indices from 1,
-- in descending order; deviations, a list of their standard deviations; deviation, the largest;
-- origin, the vector where cell 0 starts. clusters: rows of _point_clusters with points.
CREATE OR REPLACE MACRO clustereval._grid_axes(clusters, balls) AS TABLE
  WITH coordinates AS (
    SELECT
      number,
      CAST(n AS DOUBLE) AS n,
      unnest(range(1, len(mean) + 1)) AS i,
      unnest(mean) AS center,
      unnest(own.variances) AS variance
    FROM query_table(clusters) AS own
  ),
  variances AS (
    SELECT
      ball.partition_no, coordinate.i, SUM(coordinate.n) AS n,
      SUM(coordinate.n * coordinate.variance) / SUM(coordinate.n)
        + clustereval._variance(coordinate.center) AS variance
    FROM coordinates AS coordinate
    JOIN query_table(balls) AS ball ON ball.number = coordinate.number
    GROUP BY ball.partition_no, coordinate.i
  )
  SELECT
    axis.partition_no, MAX(axis.n) AS n, ball.center AS origin,
    arg_max(axis.i, axis.variance, 7) AS axes,
    list_transform(MAX(axis.variance, 7), lambda v: sqrt(v)) AS deviations,
    sqrt(MAX(axis.variance)) AS deviation
  FROM variances AS axis
  JOIN query_table(balls) AS ball ON ball.number = axis.partition_no
  GROUP BY axis.partition_no, ball.center;

-- Number of the grid cell of the vector x, moved by `shift`, along one axis, the coordinate of
-- index `axis` (from 1); 0 if that is NULL. Each cell has the width `width`, and cell 0 starts at
-- origin.
CREATE OR REPLACE MACRO clustereval._cell_along_axis(x, origin, axis, width, shift) AS
  coalesce(TRY_CAST(floor((x[axis] - origin[axis] + shift) / width) AS BIGINT), 0);

-- The cell of the vector x in a grid along five axes, as a hash of its numbers (_cell_along_axis).
-- If different cells have equal hashes, more pairs are compared, but no pair is lost.
CREATE OR REPLACE MACRO clustereval._grid_cell(x, origin, axes, width) AS
  hash(
    clustereval._cell_along_axis(x, origin, axes[1], width, 0.0),
    clustereval._cell_along_axis(x, origin, axes[2], width, 0.0),
    clustereval._cell_along_axis(x, origin, axes[3], width, 0.0),
    clustereval._cell_along_axis(x, origin, axes[4], width, 0.0),
    clustereval._cell_along_axis(x, origin, axes[5], width, 0.0)
  );

-- One row per partition (partition_no): separation, an upper bound of the smallest _metric distance
-- between points of different clusters. It is the smallest distance within a cell of a grid, or the
-- given bound if that is smaller. The cells are 1.5 times as wide as the bound, so that a border
-- divides few of the nearest pairs.
CREATE OR REPLACE MACRO clustereval._separations_within_cells(
  members, bounds, axes, distance, p
) AS TABLE
  WITH grids AS (
    SELECT
      bound.partition_no, axis.origin, axis.axes,
      GREATEST(1.5 * bound.separation, axis.deviation * 1e-7) AS width
    FROM query_table(bounds) AS bound
    JOIN query_table(axes) AS axis ON axis.partition_no = bound.partition_no
    WHERE bound.separation > 0
  ),
  cells AS MATERIALIZED (
    SELECT
      member.partition_no, member.number, member.row_no, member.point,
      clustereval._grid_cell(member.point, grid.origin, grid.axes, grid.width) AS cell
    FROM query_table(members) AS member
    JOIN grids AS grid ON grid.partition_no = member.partition_no
  ),
  least AS (
    SELECT partition_no, separation FROM query_table(bounds)
    UNION ALL
    SELECT one.partition_no, MIN(clustereval._metric(one.point, other.point, distance, p))
    FROM cells AS one
    JOIN cells AS other
      ON other.cell = one.cell
      AND other.partition_no = one.partition_no
      AND other.row_no > one.row_no
      AND other.number <> one.number
    GROUP BY one.partition_no
  )
  SELECT partition_no, MIN(separation) AS separation
  FROM least
  GROUP BY partition_no;

-- One row per partition whose bound (separation) is not 0, with the grid in which
-- _separations_by_grid compares points: reach, the largest difference between coordinates of
-- compared points; axes, a list of the coordinates that divide the cells, and other_axes, a list of
-- up to two others; width of the cells; origin, the vector where cell 0 starts. Cells three times
-- as wide as the reach have few points near a border. If such cells are too wide for the spread of
-- the points, so that there would be only few cells, the cells are as wide as the reach.
CREATE OR REPLACE MACRO clustereval._separation_grids(bounds, axes) AS TABLE
  WITH grids AS (
    SELECT
      axis.partition_no, axis.origin, axis.axes, axis.deviation,
      -- The second terms are for rounding errors of coordinates and of the numbers of cells.
      bound.separation * (1 + 1e-9) + axis.deviation * 1e-11 AS reach,
      3 * bound.separation > axis.deviation AS is_wide,
      -- With further axes, a point would be compared with more cells than there are points.
      LEAST(
        len(list_filter(axis.deviations, lambda s: 1.5 * s > bound.separation)),
        CAST(floor(ln(axis.n)) AS BIGINT) - 1
      ) AS n_useful_axes
    FROM query_table(bounds) AS bound
    JOIN query_table(axes) AS axis ON axis.partition_no = bound.partition_no
    WHERE bound.separation > 0
  ),
  chosen AS (
    SELECT *, GREATEST(1, LEAST(CASE WHEN is_wide THEN 4 ELSE 5 END, n_useful_axes)) AS n_axes
    FROM grids
  )
  SELECT
    grid.partition_no, grid.origin, grid.reach, grid.axes[1:grid.n_axes] AS axes,
    grid.axes[grid.n_axes + 1:grid.n_axes + 2] AS other_axes,
    GREATEST(CASE WHEN is_wide THEN 1.001 ELSE 3.0 END * reach, deviation * 1e-7) AS width
  FROM chosen AS grid;

-- One row per cell with which a point is compared: spans, a number that encodes the number of
-- additional cells (0, 1 or 2) along each of five axes with which the point is compared, and the
-- steps (step_1 .. step_5) to the cell from the cell with the lowest numbers.
CREATE OR REPLACE MACRO clustereval._cell_steps() AS TABLE
  WITH steps AS (
    SELECT span, step
    FROM (VALUES (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)) AS axis (span, step)
  )
  SELECT
    one.span + 3 * two.span + 9 * three.span + 27 * four.span + 81 * five.span AS spans,
    one.step AS step_1, two.step AS step_2, three.step AS step_3, four.step AS step_4,
    five.step AS step_5
  FROM steps AS one
  CROSS JOIN steps AS two
  CROSS JOIN steps AS three
  CROSS JOIN steps AS four
  CROSS JOIN steps AS five;

-- One row per point of members (_border_points) and cell of the grid (cell, a hash as of
-- _grid_cell) that may hold points within reach: number and point, and the limits of their
-- coordinates: x_1, its own, to x_1_stop on the first axis; x_2_start to x_2_stop and x_3_start to
-- x_3_stop on two axes that do not divide the cells.
CREATE OR REPLACE MACRO clustereval._cells_within_reach(members, grids) AS TABLE
  WITH cells AS (
    SELECT
      member.partition_no, number, point, axes, other_axes, reach,
      clustereval._cell_along_axis(point, origin, axes[1], width, 0.0) AS first_1,
      clustereval._cell_along_axis(point, origin, axes[2], width, -reach) AS first_2,
      clustereval._cell_along_axis(point, origin, axes[3], width, -reach) AS first_3,
      clustereval._cell_along_axis(point, origin, axes[4], width, -reach) AS first_4,
      clustereval._cell_along_axis(point, origin, axes[5], width, -reach) AS first_5,
      clustereval._cell_along_axis(point, origin, axes[1], width, reach) AS last_1,
      clustereval._cell_along_axis(point, origin, axes[2], width, reach) AS last_2,
      clustereval._cell_along_axis(point, origin, axes[3], width, reach) AS last_3,
      clustereval._cell_along_axis(point, origin, axes[4], width, reach) AS last_4,
      clustereval._cell_along_axis(point, origin, axes[5], width, reach) AS last_5
    FROM query_table(members) AS member
    JOIN query_table(grids) AS grid ON grid.partition_no = member.partition_no
  )
  SELECT
    cell.partition_no, cell.number, cell.point,
    hash(
      cell.first_1 + step.step_1, cell.first_2 + step.step_2, cell.first_3 + step.step_3,
      cell.first_4 + step.step_4, cell.first_5 + step.step_5
    ) AS cell,
    cell.point[cell.axes[1]] AS x_1,
    cell.point[cell.axes[1]] + cell.reach AS x_1_stop,
    coalesce(cell.point[cell.other_axes[1]] - cell.reach, 0.0) AS x_2_start,
    coalesce(cell.point[cell.other_axes[1]] + cell.reach, 0.0) AS x_2_stop,
    coalesce(cell.point[cell.other_axes[2]] - cell.reach, 0.0) AS x_3_start,
    coalesce(cell.point[cell.other_axes[2]] + cell.reach, 0.0) AS x_3_stop
  FROM cells AS cell
  JOIN clustereval._cell_steps() AS step
    ON step.spans = cell.last_1 - cell.first_1 + 3 * (cell.last_2 - cell.first_2)
      + 9 * (cell.last_3 - cell.first_3) + 27 * (cell.last_4 - cell.first_4)
      + 81 * (cell.last_5 - cell.first_5);

-- One row per partition (partition_no): separation, the smallest _metric distance between points of
-- different clusters of members (_border_points), or the given bound (separation of bounds) if that
-- is smaller. No coordinate of two points differs by more than their distance. In a grid, each
-- point is compared with the points in its own cell or near the border of its cell, and only in one
-- direction along the first axis. axes: rows of _grid_axes.
CREATE OR REPLACE MACRO clustereval._separations_by_grid(
  members, bounds, axes, distance, p
) AS TABLE
  WITH grids AS MATERIALIZED (SELECT * FROM clustereval._separation_grids(bounds, axes)),
  cells AS (
    SELECT
      member.partition_no, member.number, member.point,
      member.point[grid.axes[1]] AS x_1,
      coalesce(member.point[grid.other_axes[1]], 0.0) AS x_2,
      coalesce(member.point[grid.other_axes[2]], 0.0) AS x_3,
      clustereval._grid_cell(member.point, grid.origin, grid.axes, grid.width) AS cell
    FROM query_table(members) AS member
    JOIN grids AS grid ON grid.partition_no = member.partition_no
  ),
  within_reach AS (SELECT * FROM clustereval._cells_within_reach(members, grids)),
  least AS (
    SELECT partition_no, separation FROM query_table(bounds)
    UNION ALL
    SELECT one.partition_no, MIN(clustereval._metric(one.point, other.point, distance, p))
    FROM within_reach AS one
    JOIN cells AS other
      ON other.cell = one.cell
      AND other.partition_no = one.partition_no
      AND other.number <> one.number
      AND other.x_1 >= one.x_1
      AND other.x_1 <= one.x_1_stop
      AND other.x_2 >= one.x_2_start
      AND other.x_2 <= one.x_2_stop
      AND other.x_3 >= one.x_3_start
      AND other.x_3 <= one.x_3_stop
    GROUP BY one.partition_no
  )
  SELECT partition_no, MIN(separation) AS separation
  FROM least
  GROUP BY partition_no;

-- One row per partition of two clusters or more (partition_no): separation, the smallest _metric
-- distance of points of different clusters. Pairs in a cell of a grid give a tight bound of the
-- separation: first the pairs among a sixteenth of the points, and then the pairs among all points,
-- since narrower cells hold fewer points. The tables are those of _points_in_balls, _bounding_balls
-- and _grid_axes.
CREATE OR REPLACE MACRO clustereval._metric_separations(members, balls, axes, distance, p) AS TABLE
  WITH first_bounds AS MATERIALIZED (
    SELECT * FROM clustereval._separation_bounds(members, balls, distance, p)
  ),
  border AS MATERIALIZED (
    SELECT * FROM clustereval._border_points(members, balls, first_bounds, distance, p)
  ),
  sample AS NOT MATERIALIZED (SELECT * FROM border WHERE row_no % 16 = 0),
  sample_bounds AS MATERIALIZED (
    SELECT * FROM clustereval._separations_within_cells(sample, first_bounds, axes, distance, p)
  ),
  bounds AS MATERIALIZED (
    SELECT * FROM clustereval._separations_within_cells(border, sample_bounds, axes, distance, p)
  )
  SELECT * FROM clustereval._separations_by_grid(border, bounds, axes, distance, p);
