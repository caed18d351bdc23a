-- dunn: diameters, Dunn's index and its generalizations.
--
-- They hang on few pairs of points: the widest of a cluster, the nearest of two clusters. All others are
-- told apart by the triangle inequality, and are never measured. A partition goes by the number of one of
-- its clusters (__ce_partition_no).

---------------------------------------------------------------------------------------------------
-- Metrics
-- A metric here is a distance that obeys the triangle inequality, and of which the one asked for is a
-- power: euclidean for sqeuclidean, and for cosine the chord of unit vectors, where a zero vector is as
-- far from all others as vectors at right angles.
---------------------------------------------------------------------------------------------------

CREATE OR REPLACE MACRO clustereval._metric_of(d, distance) AS
  CASE lower(distance) WHEN 'sqeuclidean' THEN sqrt(d) WHEN 'cosine' THEN sqrt(2 * d) ELSE d END;

CREATE OR REPLACE MACRO clustereval._distance_of(d, distance) AS
  CASE lower(distance) WHEN 'sqeuclidean' THEN d * d WHEN 'cosine' THEN d * d / 2 ELSE d END;

CREATE OR REPLACE MACRO clustereval._metric(x, y, distance, p) AS
  CASE lower(distance)
    WHEN 'sqeuclidean' THEN clustereval._euclidean(x, y)
    ELSE clustereval._metric_of(clustereval._distance(x, y, distance, p), distance)
  END;

---------------------------------------------------------------------------------------------------
-- Points
---------------------------------------------------------------------------------------------------

-- One row a cluster: the ball that holds it, as the metric has it. __ce_k counts those of the partition.
CREATE OR REPLACE MACRO clustereval._balls(__ce_clusters, distance) AS TABLE
  SELECT
    MIN(__ce_number) OVER (PARTITION BY __ce_partition) AS __ce_partition_no,
    COUNT(*) OVER (PARTITION BY __ce_partition) AS __ce_k,
    __ce_number, __ce_center,
    clustereval._metric_of(__ce_radius, distance) AS __ce_radius
  FROM query_table(__ce_clusters);

-- One row for each point that counts, with its cluster's number. Points that cannot be measured are left
-- out: _check_points tells of them.
CREATE OR REPLACE MACRO clustereval._members(
  __ce_points, __ce_clusters, __ce_balls, distance, p
) AS TABLE
  SELECT
    __ce_b.__ce_partition_no, __ce_b.__ce_k, __ce_c.__ce_number, __ce_x.__ce_row, __ce_x.__ce_point,
    __ce_b.__ce_radius,
    clustereval._metric(__ce_x.__ce_point, __ce_c.__ce_center, distance, p) AS __ce_d
  FROM query_table(__ce_points) AS __ce_x
  JOIN query_table(__ce_clusters) AS __ce_c
    ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
    AND __ce_c.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
    AND __ce_c.__ce_single = __ce_x.__ce_single
  JOIN query_table(__ce_balls) AS __ce_b ON __ce_b.__ce_number = __ce_c.__ce_number
  WHERE __ce_x.__ce_kept
    AND isfinite(clustereval._metric(__ce_x.__ce_point, __ce_c.__ce_center, distance, p));

---------------------------------------------------------------------------------------------------
-- Diameters
---------------------------------------------------------------------------------------------------

-- One row for each cluster of two points or more: its diameter as the metric has it. Points r and s from
-- the center are at most r + s apart. The 64 outermost points, and the distances from the very outermost,
-- give a first bound; only points that r + s lets exceed it are measured with each other.
CREATE OR REPLACE MACRO clustereval._diameters(__ce_members, distance, p) AS TABLE
  WITH __ce_outermost AS MATERIALIZED (
    SELECT
      __ce_number,
      arg_max(__ce_point, __ce_d) AS __ce_point,
      arg_max(__ce_point, __ce_d, 64) AS __ce_scouts
    FROM query_table(__ce_members)
    GROUP BY __ce_number
    HAVING COUNT(*) > 1
  ),
  __ce_scouts AS (
    SELECT
      __ce_number,
      unnest(__ce_scouts) AS __ce_point,
      unnest(range(len(__ce_scouts))) AS __ce_i
    FROM __ce_outermost
  ),
  __ce_seen AS (
    SELECT
      __ce_x.__ce_number,
      MAX(clustereval._metric(__ce_x.__ce_point, __ce_y.__ce_point, distance, p)) AS __ce_most
    FROM __ce_scouts AS __ce_x
    JOIN __ce_scouts AS __ce_y
      ON __ce_y.__ce_number = __ce_x.__ce_number AND __ce_y.__ce_i > __ce_x.__ce_i
    GROUP BY __ce_x.__ce_number
    UNION ALL
    -- A zero vector counts as 1 from itself under cosine, but so it is from all others.
    SELECT
      __ce_x.__ce_number,
      MAX(clustereval._metric(__ce_x.__ce_point, __ce_o.__ce_point, distance, p))
    FROM query_table(__ce_members) AS __ce_x
    JOIN __ce_outermost AS __ce_o ON __ce_o.__ce_number = __ce_x.__ce_number
    GROUP BY __ce_x.__ce_number
  ),
  __ce_bounds AS MATERIALIZED (
    SELECT __ce_number, MAX(__ce_most) AS __ce_most FROM __ce_seen GROUP BY __ce_number
  ),
  __ce_outer AS MATERIALIZED (
    SELECT
      __ce_x.__ce_number, __ce_x.__ce_row, __ce_x.__ce_point, __ce_x.__ce_d,
      __ce_b.__ce_most - __ce_x.__ce_d AS __ce_needed
    FROM query_table(__ce_members) AS __ce_x
    JOIN __ce_bounds AS __ce_b ON __ce_b.__ce_number = __ce_x.__ce_number
    WHERE __ce_x.__ce_d + __ce_x.__ce_radius > __ce_b.__ce_most
  ),
  __ce_found AS (
    SELECT __ce_number, __ce_most FROM __ce_bounds
    UNION ALL
    SELECT
      __ce_x.__ce_number,
      MAX(clustereval._metric(__ce_x.__ce_point, __ce_y.__ce_point, distance, p))
    FROM __ce_outer AS __ce_x
    JOIN __ce_outer AS __ce_y
      ON __ce_y.__ce_number = __ce_x.__ce_number
      AND __ce_y.__ce_row > __ce_x.__ce_row
      AND __ce_y.__ce_d > __ce_x.__ce_needed
    GROUP BY __ce_x.__ce_number
  )
  SELECT __ce_number, MAX(__ce_most) AS __ce_diameter
  FROM __ce_found
  GROUP BY __ce_number;

---------------------------------------------------------------------------------------------------
-- Separation
---------------------------------------------------------------------------------------------------

-- One row a partition of two clusters or more: a first bound of the separation. Of the 32 pairs of
-- clusters whose balls overlap most, or are nearest, the 64 points of each that are nearest to the middle
-- of the two centers are measured.
CREATE OR REPLACE MACRO clustereval._scouted(__ce_members, __ce_balls, distance, p) AS TABLE
  WITH __ce_likely AS (
    SELECT
      __ce_x.__ce_partition_no,
      unnest(arg_min(
        {'one': __ce_x.__ce_number, 'other': __ce_y.__ce_number},
        clustereval._metric(__ce_x.__ce_center, __ce_y.__ce_center, distance, p)
          - __ce_x.__ce_radius - __ce_y.__ce_radius,
        32
      )) AS __ce_pair
    FROM query_table(__ce_balls) AS __ce_x
    JOIN query_table(__ce_balls) AS __ce_y
      ON __ce_y.__ce_partition_no = __ce_x.__ce_partition_no AND __ce_y.__ce_number > __ce_x.__ce_number
    GROUP BY __ce_x.__ce_partition_no
  ),
  __ce_middles AS MATERIALIZED (
    SELECT
      __ce_l.__ce_pair,
      list_transform(
        __ce_x.__ce_center, lambda __ce_v, __ce_i: (__ce_v + __ce_y.__ce_center[__ce_i]) / 2
      ) AS __ce_middle
    FROM __ce_likely AS __ce_l
    JOIN query_table(__ce_balls) AS __ce_x ON __ce_x.__ce_number = __ce_l.__ce_pair['one']
    JOIN query_table(__ce_balls) AS __ce_y ON __ce_y.__ce_number = __ce_l.__ce_pair['other']
  ),
  __ce_sides AS (
    SELECT __ce_pair, __ce_middle, __ce_pair['one'] AS __ce_number FROM __ce_middles
    UNION ALL
    SELECT __ce_pair, __ce_middle, __ce_pair['other'] FROM __ce_middles
  ),
  __ce_nearest AS (
    SELECT
      __ce_x.__ce_partition_no, __ce_s.__ce_pair, __ce_s.__ce_number,
      arg_min(
        __ce_x.__ce_point, clustereval._euclidean(__ce_x.__ce_point, __ce_s.__ce_middle), 64
      ) AS __ce_scouts
    FROM query_table(__ce_members) AS __ce_x
    JOIN __ce_sides AS __ce_s ON __ce_s.__ce_number = __ce_x.__ce_number
    GROUP BY __ce_x.__ce_partition_no, __ce_s.__ce_pair, __ce_s.__ce_number
  ),
  __ce_scouts AS MATERIALIZED (
    SELECT __ce_partition_no, __ce_pair, __ce_number, unnest(__ce_scouts) AS __ce_point
    FROM __ce_nearest
  )
  SELECT
    __ce_x.__ce_partition_no,
    MIN(clustereval._metric(__ce_x.__ce_point, __ce_y.__ce_point, distance, p)) AS __ce_least
  FROM __ce_scouts AS __ce_x
  JOIN __ce_scouts AS __ce_y
    ON __ce_y.__ce_pair = __ce_x.__ce_pair AND __ce_y.__ce_number > __ce_x.__ce_number
  GROUP BY __ce_x.__ce_partition_no;

-- The points that can be nearer than the bound to another cluster's ball. More than 256 clusters are
-- small ones: to hold every point against each would cost more than it spares.
CREATE OR REPLACE MACRO clustereval._border(
  __ce_members, __ce_balls, __ce_bounds, distance, p
) AS TABLE
  WITH __ce_rows AS (
    SELECT __ce_x.__ce_row
    FROM query_table(__ce_members) AS __ce_x
    JOIN query_table(__ce_bounds) AS __ce_u ON __ce_u.__ce_partition_no = __ce_x.__ce_partition_no
    JOIN query_table(__ce_balls) AS __ce_b
      ON __ce_b.__ce_partition_no = __ce_x.__ce_partition_no AND __ce_b.__ce_number <> __ce_x.__ce_number
    WHERE __ce_x.__ce_k <= 256
      AND clustereval._metric(__ce_x.__ce_point, __ce_b.__ce_center, distance, p)
        < __ce_u.__ce_least + __ce_b.__ce_radius
    UNION ALL
    SELECT __ce_row FROM query_table(__ce_members) WHERE __ce_k > 256
  )
  SELECT __ce_partition_no, __ce_number, __ce_row, __ce_point
  FROM query_table(__ce_members)
  WHERE __ce_row IN (SELECT __ce_row FROM __ce_rows);

-- One row a partition: the four coordinates that are most spread, and where they start.
CREATE OR REPLACE MACRO clustereval._axes(__ce_coordinates, __ce_clusters, __ce_balls) AS TABLE
  WITH __ce_spreads AS (
    SELECT
      __ce_b.__ce_partition_no, __ce_x.__ce_i,
      SUM(__ce_x.__ce_n * __ce_x.__ce_variance) / SUM(__ce_x.__ce_n)
        + clustereval._variance(__ce_x.__ce_center) AS __ce_spread
    FROM query_table(__ce_coordinates) AS __ce_x
    JOIN query_table(__ce_clusters) AS __ce_c
      ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_c.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
      AND __ce_c.__ce_single = __ce_x.__ce_single
    JOIN query_table(__ce_balls) AS __ce_b ON __ce_b.__ce_number = __ce_c.__ce_number
    GROUP BY __ce_b.__ce_partition_no, __ce_x.__ce_i
  )
  SELECT
    __ce_s.__ce_partition_no, __ce_b.__ce_center AS __ce_start,
    arg_max(__ce_s.__ce_i, __ce_s.__ce_spread, 4) AS __ce_axes,
    sqrt(MAX(__ce_s.__ce_spread)) AS __ce_spread
  FROM __ce_spreads AS __ce_s
  JOIN query_table(__ce_balls) AS __ce_b ON __ce_b.__ce_number = __ce_s.__ce_partition_no
  GROUP BY __ce_s.__ce_partition_no, __ce_b.__ce_center;

-- The cell of a point along one axis; 0 where there is no such axis.
CREATE OR REPLACE MACRO clustereval._cell(x, start, axis, width) AS
  coalesce(floor((x[axis] - start[axis]) / width), 0.0);

-- The ways from a cell to itself and to the adjacent ones, of each two that are opposite only one, and
-- how many axes they take.
CREATE OR REPLACE MACRO clustereval._steps() AS TABLE
  WITH __ce_ways AS (SELECT __ce_way FROM (VALUES (-1.0), (0.0), (1.0)) AS __ce_v(__ce_way))
  SELECT
    __ce_w1.__ce_way AS __ce_step_1, __ce_w2.__ce_way AS __ce_step_2,
    __ce_w3.__ce_way AS __ce_step_3, __ce_w4.__ce_way AS __ce_step_4,
    CASE
      WHEN __ce_w4.__ce_way <> 0 THEN 4
      WHEN __ce_w3.__ce_way <> 0 THEN 3
      WHEN __ce_w2.__ce_way <> 0 THEN 2
      ELSE 1
    END AS __ce_n_axes
  FROM __ce_ways AS __ce_w1
  CROSS JOIN __ce_ways AS __ce_w2
  CROSS JOIN __ce_ways AS __ce_w3
  CROSS JOIN __ce_ways AS __ce_w4
  WHERE 27 * __ce_w1.__ce_way + 9 * __ce_w2.__ce_way + 3 * __ce_w3.__ce_way + __ce_w4.__ce_way >= 0;

-- One row a partition: the bound, or the least distance of points of different clusters among these if
-- that is below. No coordinate of two points differs by more than their distance, so that only points in
-- the same or adjacent cells of a grid of the bound's width are measured.
CREATE OR REPLACE MACRO clustereval._least(__ce_border, __ce_bounds, __ce_axes, distance, p) AS TABLE
  WITH __ce_widths AS (
    SELECT
      __ce_u.__ce_partition_no, __ce_a.__ce_start, __ce_a.__ce_axes,
      -- a cell's number has to have all its digits
      GREATEST(__ce_u.__ce_least * (1 + 1e-9), __ce_a.__ce_spread * 1e-7) AS __ce_width
    FROM query_table(__ce_bounds) AS __ce_u
    JOIN query_table(__ce_axes) AS __ce_a ON __ce_a.__ce_partition_no = __ce_u.__ce_partition_no
    WHERE __ce_u.__ce_least > 0
  ),
  __ce_cells AS MATERIALIZED (
    SELECT
      __ce_x.__ce_partition_no, __ce_x.__ce_number, __ce_x.__ce_point,
      len(__ce_w.__ce_axes) AS __ce_n_axes,
      clustereval._cell(
        __ce_x.__ce_point, __ce_w.__ce_start, __ce_w.__ce_axes[1], __ce_w.__ce_width
      ) AS __ce_cell_1,
      clustereval._cell(
        __ce_x.__ce_point, __ce_w.__ce_start, __ce_w.__ce_axes[2], __ce_w.__ce_width
      ) AS __ce_cell_2,
      clustereval._cell(
        __ce_x.__ce_point, __ce_w.__ce_start, __ce_w.__ce_axes[3], __ce_w.__ce_width
      ) AS __ce_cell_3,
      clustereval._cell(
        __ce_x.__ce_point, __ce_w.__ce_start, __ce_w.__ce_axes[4], __ce_w.__ce_width
      ) AS __ce_cell_4
    FROM query_table(__ce_border) AS __ce_x
    JOIN __ce_widths AS __ce_w ON __ce_w.__ce_partition_no = __ce_x.__ce_partition_no
  ),
  __ce_beside AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_partition_no, __ce_x.__ce_number, __ce_x.__ce_point,
      __ce_x.__ce_cell_1 + __ce_s.__ce_step_1 AS __ce_cell_1,
      __ce_x.__ce_cell_2 + __ce_s.__ce_step_2 AS __ce_cell_2,
      __ce_x.__ce_cell_3 + __ce_s.__ce_step_3 AS __ce_cell_3,
      __ce_x.__ce_cell_4 + __ce_s.__ce_step_4 AS __ce_cell_4
    FROM __ce_cells AS __ce_x
    JOIN clustereval._steps() AS __ce_s ON __ce_s.__ce_n_axes <= __ce_x.__ce_n_axes
  ),
  __ce_found AS (
    SELECT __ce_partition_no, __ce_least FROM query_table(__ce_bounds)
    UNION ALL
    SELECT
      __ce_x.__ce_partition_no,
      MIN(clustereval._metric(__ce_x.__ce_point, __ce_y.__ce_point, distance, p))
    FROM __ce_beside AS __ce_x
    JOIN __ce_cells AS __ce_y
      ON __ce_y.__ce_partition_no = __ce_x.__ce_partition_no
      AND __ce_y.__ce_cell_1 = __ce_x.__ce_cell_1
      AND __ce_y.__ce_cell_2 = __ce_x.__ce_cell_2
      AND __ce_y.__ce_cell_3 = __ce_x.__ce_cell_3
      AND __ce_y.__ce_cell_4 = __ce_x.__ce_cell_4
      AND __ce_y.__ce_number <> __ce_x.__ce_number
    GROUP BY __ce_x.__ce_partition_no
  )
  SELECT __ce_partition_no, MIN(__ce_least) AS __ce_least
  FROM __ce_found
  GROUP BY __ce_partition_no;

-- One row a partition of two clusters or more: the least distance of points of different clusters, as the
-- metric has it. A sixteenth of the points gives a bound that is nearly right.
CREATE OR REPLACE MACRO clustereval._separations(
  __ce_members, __ce_balls, __ce_axes, distance, p
) AS TABLE
  WITH __ce_scouted AS MATERIALIZED (
    SELECT * FROM clustereval._scouted(__ce_members, __ce_balls, distance, p)
  ),
  __ce_border AS MATERIALIZED (
    SELECT * FROM clustereval._border(__ce_members, __ce_balls, __ce_scouted, distance, p)
  ),
  __ce_sample AS NOT MATERIALIZED (SELECT * FROM __ce_border WHERE __ce_row % 16 = 0),
  __ce_sampled AS MATERIALIZED (
    SELECT * FROM clustereval._least(__ce_sample, __ce_scouted, __ce_axes, distance, p)
  )
  SELECT * FROM clustereval._least(__ce_border, __ce_sampled, __ce_axes, distance, p);

---------------------------------------------------------------------------------------------------
-- All pairs
---------------------------------------------------------------------------------------------------

-- One row for each cluster and each of its partition, itself included: the largest distance of their
-- points, the sum of all, and the largest of a point to the nearest of the other cluster. Every pair is
-- measured from both sides, which is simpler than to keep the nearest point of either side.
CREATE OR REPLACE MACRO clustereval._linkages(__ce_members, distance, p, generalized) AS TABLE
  WITH __ce_nearest AS (
    SELECT
      __ce_x.__ce_partition_no, __ce_x.__ce_row,
      __ce_x.__ce_number AS __ce_one,
      __ce_y.__ce_number AS __ce_other,
      MIN(clustereval._distance(__ce_x.__ce_point, __ce_y.__ce_point, distance, p)) AS __ce_least,
      MAX(clustereval._distance(__ce_x.__ce_point, __ce_y.__ce_point, distance, p)) AS __ce_most,
      SUM(clustereval._distance(__ce_x.__ce_point, __ce_y.__ce_point, distance, p)) AS __ce_sum
    FROM query_table(__ce_members) AS __ce_x
    JOIN query_table(__ce_members) AS __ce_y
      ON __ce_y.__ce_partition_no = __ce_x.__ce_partition_no AND __ce_y.__ce_row <> __ce_x.__ce_row
    WHERE CAST(generalized AS VARCHAR) = 'true'
    GROUP BY __ce_x.__ce_partition_no, __ce_x.__ce_row, __ce_x.__ce_number, __ce_y.__ce_number
  )
  SELECT
    __ce_partition_no, __ce_one, __ce_other,
    MAX(__ce_most) AS __ce_most,
    clustereval._compensated_sum(__ce_sum) AS __ce_sum,
    MAX(__ce_least) AS __ce_far
  FROM __ce_nearest
  GROUP BY __ce_partition_no, __ce_one, __ce_other;

-- One row a partition: the least over pairs of clusters of what takes all pairs of points (complete,
-- average, hausdorff), and the largest mean distance of the pairs of a cluster.
CREATE OR REPLACE MACRO clustereval._linkage_totals(__ce_linkages, __ce_clusters) AS TABLE
  WITH __ce_both AS (
    SELECT
      __ce_l.__ce_partition_no, __ce_x.__ce_number AS __ce_one, __ce_y.__ce_number AS __ce_other,
      MAX(__ce_l.__ce_most) AS __ce_most,
      MAX(__ce_l.__ce_far) AS __ce_far,
      clustereval._compensated_sum(__ce_l.__ce_sum) / COUNT(*) AS __ce_sum,
      MAX(__ce_x.__ce_n) AS __ce_n_x,
      MAX(__ce_y.__ce_n) AS __ce_n_y
    FROM query_table(__ce_linkages) AS __ce_l
    JOIN query_table(__ce_clusters) AS __ce_x
      ON __ce_x.__ce_number = LEAST(__ce_l.__ce_one, __ce_l.__ce_other)
    JOIN query_table(__ce_clusters) AS __ce_y
      ON __ce_y.__ce_number = GREATEST(__ce_l.__ce_one, __ce_l.__ce_other)
    GROUP BY __ce_l.__ce_partition_no, __ce_x.__ce_number, __ce_y.__ce_number
  )
  SELECT
    __ce_partition_no,
    MIN(CASE WHEN __ce_one <> __ce_other THEN __ce_most END) AS __ce_complete,
    MIN(CASE WHEN __ce_one <> __ce_other THEN __ce_sum / (__ce_n_x * __ce_n_y) END) AS __ce_average,
    MIN(CASE WHEN __ce_one <> __ce_other THEN __ce_far END) AS __ce_hausdorff,
    MAX(
      CASE WHEN __ce_one = __ce_other THEN __ce_sum / (__ce_n_x * (__ce_n_x - 1)) END
    ) AS __ce_mean_pair
  FROM __ce_both
  GROUP BY __ce_partition_no;

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row a partition: what follows from centers, and the distances of points to their own. The least
-- mean of two clusters together has the cluster of the least mean in it: with that one in place of the
-- other, no mean of two rises.
CREATE OR REPLACE MACRO clustereval._center_totals(__ce_clusters, __ce_balls) AS TABLE
  WITH __ce_ranked AS (
    SELECT
      __ce_b.__ce_partition_no, __ce_c.__ce_n, __ce_c.__ce_distances, __ce_c.__ce_mean_distance,
      row_number() OVER (
        PARTITION BY __ce_b.__ce_partition_no ORDER BY __ce_c.__ce_mean_distance
      ) AS __ce_rank
    FROM query_table(__ce_clusters) AS __ce_c
    JOIN query_table(__ce_balls) AS __ce_b ON __ce_b.__ce_number = __ce_c.__ce_number
  )
  SELECT
    __ce_x.__ce_partition_no,
    2 * MAX(__ce_x.__ce_mean_distance) AS __ce_double_mean,
    MIN(
      CASE
        WHEN __ce_x.__ce_rank > 1
        THEN (__ce_x.__ce_distances + __ce_f.__ce_distances) / (__ce_x.__ce_n + __ce_f.__ce_n)
      END
    ) AS __ce_mean_to_center
  FROM __ce_ranked AS __ce_x
  JOIN __ce_ranked AS __ce_f ON __ce_f.__ce_partition_no = __ce_x.__ce_partition_no AND __ce_f.__ce_rank = 1
  GROUP BY __ce_x.__ce_partition_no;

-- TRUE query, or the error, for generalized; else what the other options have (see _valid_noise).
CREATE OR REPLACE MACRO clustereval._valid_generalized(generalized, options) AS
  CASE
    WHEN typeof(generalized) <> 'BOOLEAN' OR generalized IS NULL
    THEN error(concat(
      'generalized: expected TRUE or FALSE, got ', coalesce(CAST(generalized AS VARCHAR), 'NULL')
    ))
    ELSE options
  END;

-- A variant of the index of n points in k clusters.
CREATE OR REPLACE MACRO clustereval._dunn(n, k, separation, diameter) AS
  CASE WHEN clustereval._is_clustering(n, k) THEN clustereval._ratio(separation, diameter) END;

CREATE OR REPLACE MACRO clustereval._gdi(generalized, n, k, separation, diameter) AS
  CASE
    WHEN CAST(generalized AS VARCHAR) = 'true' THEN clustereval._dunn(n, k, separation, diameter)
  END;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every cluster: the largest distance of two of its points.
-- Examples:
--   FROM clustereval.cluster_diameters(points, [x, y, z], cluster);
--   FROM clustereval.cluster_diameters(points, [x, y, z], cluster, distance := 'cityblock');
CREATE OR REPLACE MACRO clustereval.cluster_diameters(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := 'cluster', weights := NULL
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, center)),
  __ce_centers AS (SELECT * FROM clustereval._cluster_centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._partition_centers(__ce_points, __ce_coordinates, distance, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, __ce_middles, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_balls AS MATERIALIZED (SELECT * FROM clustereval._balls(__ce_clusters, distance)),
  __ce_members AS MATERIALIZED (
    SELECT * FROM clustereval._members(__ce_points, __ce_clusters, __ce_balls, distance, p)
  ),
  __ce_diameters AS (SELECT * FROM clustereval._diameters(__ce_members, distance, p)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, weights)
  )
  SELECT
    __ce_c.__ce_partition AS partition_key,
    __ce_c.__ce_cluster AS cluster,
    __ce_c.__ce_n AS n,
    COALESCE(clustereval._distance_of(__ce_d.__ce_diameter, distance), 0.0) AS diameter
  FROM __ce_clusters AS __ce_c
  LEFT JOIN __ce_diameters AS __ce_d ON __ce_d.__ce_number = __ce_c.__ce_number
  WHERE clustereval._check_options(
    clustereval._valid_points(distance, p, center, weights, noise, noise_as)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_c.__ce_partition, __ce_c.__ce_cluster, __ce_c.__ce_single;
COMMENT ON MACRO TABLE clustereval.cluster_diameters IS
'One row a cluster: n points and their diameter, the largest distance of two of them (0 for a single point). Exact; most pairs are never measured where the dimensions are few. center makes no difference. With noise_as := ''singletons'' each noise point has a row of its own, cluster NULL.';

-- How far clusters are apart by how wide they are, in every variant.
-- Examples:
--   FROM clustereval.dunn_index(points, [x, y, z], cluster);
--   FROM clustereval.dunn_index(points, [x, y, z], cluster, generalized := FALSE);
CREATE OR REPLACE MACRO clustereval.dunn_index(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := 'cluster', weights := NULL, generalized := TRUE
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, center)),
  __ce_centers AS (SELECT * FROM clustereval._cluster_centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._partition_centers(__ce_points, __ce_coordinates, distance, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, __ce_middles, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, weights)
  ),
  __ce_balls AS MATERIALIZED (SELECT * FROM clustereval._balls(__ce_clusters, distance)),
  __ce_members AS MATERIALIZED (
    SELECT * FROM clustereval._members(__ce_points, __ce_clusters, __ce_balls, distance, p)
  ),
  __ce_diameters AS (SELECT * FROM clustereval._diameters(__ce_members, distance, p)),
  __ce_axes AS MATERIALIZED (
    SELECT * FROM clustereval._axes(__ce_coordinates, __ce_clusters, __ce_balls)
  ),
  __ce_separations AS (
    SELECT * FROM clustereval._separations(__ce_members, __ce_balls, __ce_axes, distance, p)
  ),
  __ce_linkages AS (
    SELECT * FROM clustereval._linkages(__ce_members, distance, p, generalized)
  ),
  __ce_linkage_totals AS (
    SELECT * FROM clustereval._linkage_totals(__ce_linkages, __ce_clusters)
  ),
  __ce_center_totals AS (SELECT * FROM clustereval._center_totals(__ce_clusters, __ce_balls)),
  __ce_gaps AS (SELECT * FROM clustereval._centroid_gaps(__ce_clusters, distance, p)),
  __ce_extents AS (
    SELECT
      __ce_c.__ce_partition,
      MIN(__ce_c.__ce_number) AS __ce_partition_no,
      MIN(__ce_g.__ce_least) AS __ce_least_gap,
      COALESCE(clustereval._distance_of(MAX(__ce_d.__ce_diameter), distance), 0.0) AS __ce_diameter
    FROM __ce_clusters AS __ce_c
    LEFT JOIN __ce_diameters AS __ce_d ON __ce_d.__ce_number = __ce_c.__ce_number
    LEFT JOIN __ce_gaps AS __ce_g ON __ce_g.__ce_number = __ce_c.__ce_number
    GROUP BY __ce_c.__ce_partition
  ),
  __ce_statistics AS (
    SELECT
      __ce_r.__ce_partition, __ce_r.__ce_total, __ce_r.__ce_n_dropped, __ce_r.__ce_n_noise,
      __ce_r.__ce_n_clusters, __ce_e.__ce_diameter, __ce_e.__ce_least_gap,
      clustereval._distance_of(__ce_s.__ce_least, distance) AS __ce_separation,
      __ce_l.__ce_complete, __ce_l.__ce_average, __ce_l.__ce_hausdorff,
      COALESCE(__ce_l.__ce_mean_pair, 0.0) AS __ce_mean_pair,
      __ce_t.__ce_double_mean, __ce_t.__ce_mean_to_center
    FROM __ce_counts AS __ce_r
    LEFT JOIN __ce_extents AS __ce_e
      ON __ce_e.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
    LEFT JOIN __ce_separations AS __ce_s ON __ce_s.__ce_partition_no = __ce_e.__ce_partition_no
    LEFT JOIN __ce_linkage_totals AS __ce_l ON __ce_l.__ce_partition_no = __ce_e.__ce_partition_no
    LEFT JOIN __ce_center_totals AS __ce_t ON __ce_t.__ce_partition_no = __ce_e.__ce_partition_no
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_total AS n,
    __ce_n_dropped AS n_dropped,
    __ce_n_noise AS n_noise,
    __ce_n_clusters AS n_clusters,
    clustereval._dunn(__ce_total, __ce_n_clusters, __ce_separation, __ce_diameter) AS dunn_index,
    clustereval._dunn(__ce_total, __ce_n_clusters, __ce_least_gap, __ce_diameter)
      AS centroid_dunn_index,
    __ce_diameter AS max_diameter,
    __ce_separation AS min_separation,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_separation, __ce_diameter
    ) AS gdi_11,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_separation, __ce_mean_pair
    ) AS gdi_12,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_separation, __ce_double_mean
    ) AS gdi_13,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_complete, __ce_diameter
    ) AS gdi_21,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_complete, __ce_mean_pair
    ) AS gdi_22,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_complete, __ce_double_mean
    ) AS gdi_23,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_average, __ce_diameter
    ) AS gdi_31,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_average, __ce_mean_pair
    ) AS gdi_32,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_average, __ce_double_mean
    ) AS gdi_33,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_least_gap, __ce_diameter
    ) AS gdi_41,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_least_gap, __ce_mean_pair
    ) AS gdi_42,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_least_gap, __ce_double_mean
    ) AS gdi_43,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_mean_to_center, __ce_diameter
    ) AS gdi_51,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_mean_to_center, __ce_mean_pair
    ) AS gdi_52,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_mean_to_center, __ce_double_mean
    ) AS gdi_53,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_hausdorff, __ce_diameter
    ) AS gdi_61,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_hausdorff, __ce_mean_pair
    ) AS gdi_62,
    clustereval._gdi(
      generalized, __ce_total, __ce_n_clusters, __ce_hausdorff, __ce_double_mean
    ) AS gdi_63
  FROM __ce_statistics
  WHERE clustereval._check_options(
    clustereval._valid_generalized(
      generalized, clustereval._valid_points(distance, p, center, weights, noise, noise_as)
    )
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_partition;
COMMENT ON MACRO TABLE clustereval.dunn_index IS
'Dunn''s index and its generalizations, one row a partition: counts (n points kept, n_dropped, n_noise, n_clusters), dunn_index = min_separation / max_diameter, centroid_dunn_index = least distance of two centroids / max_diameter (which others call Dunn''s index too; it is gdi_41), max_diameter (largest distance of two points of one cluster), min_separation (least of two points of different clusters), and gdi_ij = least separation i of two clusters / largest diameter j of a cluster. Separations: 1 least, 2 largest, 3 mean distance of their points, 4 of their centroids, 5 mean distance of the points of both to their own centroid, 6 Hausdorff''s. Diameters: 1 the diameter, 2 mean distance of two points, 3 twice the mean distance to the centroid. All are >= 0, best high; NULL for one cluster, for as many as points, and where the diameter is 0. generalized := FALSE leaves gdi_11 ... gdi_63 NULL, which take the distances of all pairs of points; dunn_index takes few. Source: Dunn (1973), doi:10.1080/01969727308546046; Bezdek and Pal (1998), doi:10.1109/3477.678624.';
