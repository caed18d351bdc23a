-- centroids: points, the centers of clusters, and the distances of points to them.
--
-- Reading rules, besides those of base/checks.sql:
--   * A point is a DOUBLE[], whatever the vector was: LIST, ARRAY, or columns written as [x, y, z].
--   * A cluster is (partition, cluster, single). `single` is 0, except for noise that is counted as
--     singletons: there it is the number of the row, and the cluster is NULL.
--   * The rows are read anew by each pass over them (NOT MATERIALIZED), so that they stream. The
--     centers and all that follows are small.

---------------------------------------------------------------------------------------------------
-- Faults of points
---------------------------------------------------------------------------------------------------

-- What is wrong with a point, if something is: {rank, coordinate, what}. The least is reported.
CREATE OR REPLACE MACRO clustereval._fault(vector, dims) AS
  CASE
    WHEN len(vector) = 0 THEN {'rank': 0, 'coordinate': 0, 'what': 'an empty vector'}
    WHEN len(vector) <> dims
    THEN {'rank': 1, 'coordinate': len(vector), 'what': concat(len(vector), ' coordinates')}
    ELSE list_min(list_transform(
      list_filter(
        range(1, len(vector) + 1), lambda __ce_i: NOT coalesce(isfinite(vector[__ce_i]), FALSE)
      ),
      lambda __ce_i: {
        'rank': 2, 'coordinate': __ce_i,
        'what': concat(coalesce(CAST(vector[__ce_i] AS VARCHAR), 'NULL'), ' in coordinate ', __ce_i)
      }
    ))
  END;

-- The error that tells of the first fault and of how many rows have one.
CREATE OR REPLACE MACRO clustereval._fault_error(fault, dims, rows) AS
  error(CASE
    WHEN fault IS NULL
    THEN 'vector: distances overflow; scale the coordinates down'
    ELSE concat(
      'vector: expected ',
      CASE fault['rank']
        WHEN 0 THEN 'at least one coordinate'
        WHEN 1 THEN concat('vectors of one length (', dims, ')')
        ELSE 'finite numbers'
      END,
      ', got ', fault['what'], ' (', rows, CASE rows WHEN 1 THEN ' row is' ELSE ' rows are' END,
      ' at fault); mend these rows or leave them out'
    )
  END);

---------------------------------------------------------------------------------------------------
-- Points and centers
---------------------------------------------------------------------------------------------------

-- One row for each row there is, dropped ones and noise included: the only macro of this side that
-- reads the rows. __ce_kept tells whether the row counts, __ce_point is what distances are taken of. One
-- more row carries the checks of the columns, which an empty table has too (__ce_extra), and stands for
-- the one partition where there is no partition_by (__ce_only).
CREATE OR REPLACE MACRO clustereval._points(
  tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as,
  id := CAST(NULL AS BIGINT)
) AS TABLE
  WITH __ce_read AS NOT MATERIALIZED (
    SELECT
      partition_by AS __ce_partition,
      cluster AS __ce_cluster,
      TRY_CAST(vector AS DOUBLE[]) AS __ce_vector,
      clustereval._factors(weights, distance, p) AS __ce_factors,
      clustereval._is_noise(cluster, noise) AS __ce_noisy,
      row_number() OVER () AS __ce_row,
      id AS __ce_id,
      clustereval._is_default_id(id) AS __ce_unnamed,
      FALSE AS __ce_extra,
      FALSE AS __ce_only
    FROM query_table(tbl)
    UNION ALL
    SELECT
      NULL, any_value(cluster), NULL, NULL, FALSE, 0, NULL, FALSE, TRUE,
      clustereval._is_absent(partition_by)
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_column(
      clustereval._check_column(
        clustereval._check_column(
          clustereval._check_column(
            clustereval._check_vector(TRUE, vector), 'id', id
          ),
          'partition_by', partition_by
        ),
        'cluster', cluster
      ),
      'vector', vector
    )
  ),
  __ce_known AS NOT MATERIALIZED (
    SELECT
      *,
      -- A vector of NULLs alone is none: so are columns that are all NULL. The first coordinate
      -- settles it for nearly every row, and CASE stops there.
      CASE
        WHEN __ce_vector[1] IS NOT NULL THEN __ce_cluster IS NOT NULL
        WHEN __ce_extra THEN NOT clustereval._check_noise(TRUE, noise, __ce_cluster)
        ELSE __ce_cluster IS NOT NULL
          AND coalesce(list_count(__ce_vector) > 0 OR len(__ce_vector) = 0, FALSE)
      END AS __ce_complete,
      clustereval._scale_vector(__ce_vector, weights, __ce_factors) AS __ce_scaled
    FROM __ce_read
  ),
  -- A stage of its own, as with the factors.
  __ce_measured AS NOT MATERIALIZED (
    SELECT
      *,
      CASE WHEN lower(distance) = 'cosine' THEN clustereval._norm(__ce_scaled) END AS __ce_length
    FROM __ce_known
  )
  SELECT
    __ce_partition,
    CASE WHEN __ce_noisy AND noise_as = 'singletons' THEN NULL ELSE __ce_cluster END AS __ce_cluster,
    CASE WHEN __ce_noisy AND noise_as = 'singletons' THEN __ce_row ELSE 0 END AS __ce_single,
    CASE
      WHEN lower(distance) = 'cosine'
      THEN clustereval._unit_vector(__ce_scaled, __ce_length)
      ELSE __ce_scaled
    END AS __ce_point,
    __ce_vector,
    __ce_row,
    __ce_id,
    __ce_unnamed,
    __ce_complete AND NOT (__ce_noisy AND noise_as = 'drop') AS __ce_kept,
    NOT __ce_complete AND NOT __ce_extra AS __ce_dropped,
    __ce_complete AND __ce_noisy AS __ce_noisy,
    __ce_only
  FROM __ce_measured;

-- Lists of 16 aggregates, of the coordinates after the given one. One row for 16 coordinates in place of
-- one for each halves the time that the centers take. `rest` is x where it has more than 8 of them: to
-- look for coordinates that are not there takes as long as to find them.
CREATE OR REPLACE MACRO clustereval._block_sums(x, rest, after) AS [
    fsum(x[after + 1]), fsum(x[after + 2]), fsum(x[after + 3]), fsum(x[after + 4]),
    fsum(x[after + 5]), fsum(x[after + 6]), fsum(x[after + 7]), fsum(x[after + 8]),
    fsum(rest[after + 9]), fsum(rest[after + 10]), fsum(rest[after + 11]), fsum(rest[after + 12]),
    fsum(rest[after + 13]), fsum(rest[after + 14]), fsum(rest[after + 15]), fsum(rest[after + 16])
];
CREATE OR REPLACE MACRO clustereval._block_medians(x, rest, after) AS [
    median(x[after + 1]), median(x[after + 2]), median(x[after + 3]), median(x[after + 4]),
    median(x[after + 5]), median(x[after + 6]), median(x[after + 7]), median(x[after + 8]),
    median(rest[after + 9]), median(rest[after + 10]), median(rest[after + 11]), median(rest[after + 12]),
    median(rest[after + 13]), median(rest[after + 14]), median(rest[after + 15]), median(rest[after + 16])
];
-- Infinite values are left out only because they would raise an error of their own.
CREATE OR REPLACE MACRO clustereval._variance(x) AS var_pop(CASE WHEN isfinite(x) THEN x END);
CREATE OR REPLACE MACRO clustereval._block_variances(x, rest, after) AS [
    clustereval._variance(x[after + 1]), clustereval._variance(x[after + 2]),
    clustereval._variance(x[after + 3]), clustereval._variance(x[after + 4]),
    clustereval._variance(x[after + 5]), clustereval._variance(x[after + 6]),
    clustereval._variance(x[after + 7]), clustereval._variance(x[after + 8]),
    clustereval._variance(rest[after + 9]), clustereval._variance(rest[after + 10]),
    clustereval._variance(rest[after + 11]), clustereval._variance(rest[after + 12]),
    clustereval._variance(rest[after + 13]), clustereval._variance(rest[after + 14]),
    clustereval._variance(rest[after + 15]), clustereval._variance(rest[after + 16])
];

-- One row for each 16 coordinates of each cluster. The first 16 need no row of their own for each point;
-- the rows are read again for the others only where there are some (a join with no row ends at once).
CREATE OR REPLACE MACRO clustereval._blocks(__ce_points, center) AS TABLE
  WITH __ce_kept_points AS NOT MATERIALIZED (
    SELECT
      __ce_partition, __ce_cluster, __ce_single, __ce_point,
      CASE WHEN len(__ce_point) > 8 THEN __ce_point END AS __ce_rest
    FROM query_table(__ce_points)
    WHERE __ce_kept
  ),
  __ce_first AS MATERIALIZED (
    SELECT
      __ce_partition, __ce_cluster, __ce_single,
      CAST(0 AS BIGINT) AS __ce_after,
      COUNT(*) AS __ce_n,
      MAX(len(__ce_point)) AS __ce_length,
      CASE center
        WHEN 'median' THEN clustereval._block_medians(__ce_point, __ce_rest, 0)
        ELSE clustereval._block_sums(__ce_point, __ce_rest, 0)
      END AS __ce_sums,
      clustereval._block_variances(__ce_point, __ce_rest, 0) AS __ce_variances
    FROM __ce_kept_points
    GROUP BY __ce_partition, __ce_cluster, __ce_single
  ),
  __ce_parts AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_partition, __ce_x.__ce_cluster, __ce_x.__ce_single, __ce_x.__ce_point,
      unnest(range(16, len(__ce_x.__ce_point), 16)) AS __ce_after
    FROM __ce_kept_points AS __ce_x
    JOIN (SELECT MAX(__ce_length) AS __ce_most FROM __ce_first) AS __ce_l ON __ce_l.__ce_most > 16
  )
  SELECT * FROM __ce_first
  UNION ALL
  SELECT
    __ce_partition, __ce_cluster, __ce_single, __ce_after,
    COUNT(*),
    MAX(len(__ce_point)),
    CASE center
      WHEN 'median' THEN clustereval._block_medians(__ce_point, __ce_point, __ce_after)
      ELSE clustereval._block_sums(__ce_point, __ce_point, __ce_after)
    END,
    clustereval._block_variances(__ce_point, __ce_point, __ce_after)
  FROM __ce_parts
  GROUP BY __ce_partition, __ce_cluster, __ce_single, __ce_after;

-- One row for each coordinate of each cluster: the mean or median of its points, and their variance.
CREATE OR REPLACE MACRO clustereval._coordinate_moments(__ce_points, center) AS TABLE
  WITH __ce_listed AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_single, __ce_after, __ce_n, __ce_length,
      __ce_sums, __ce_variances,
      unnest(range(1, 17)) AS __ce_place
    FROM clustereval._blocks(__ce_points, center)
  )
  SELECT
    __ce_partition, __ce_cluster, __ce_single,
    __ce_after + __ce_place AS __ce_i,
    CAST(__ce_n AS DOUBLE) AS __ce_n,
    CASE center
      WHEN 'median' THEN __ce_sums[__ce_place]
      ELSE __ce_sums[__ce_place] / __ce_n
    END AS __ce_center,
    __ce_variances[__ce_place] AS __ce_variance
  FROM __ce_listed
  WHERE __ce_after + __ce_place <= __ce_length;

-- Centers are directions for cosine.
CREATE OR REPLACE MACRO clustereval._center_direction(x, distance) AS
  CASE
    WHEN lower(distance) = 'cosine'
    THEN list_transform(
      [clustereval._norm(x)], lambda __ce_length: clustereval._unit_vector(x, __ce_length)
    )[1]
    ELSE x
  END;

-- One row a cluster: its rows and its center.
CREATE OR REPLACE MACRO clustereval._cluster_centers(__ce_coordinates, distance) AS TABLE
  WITH __ce_listed AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_single,
      CAST(MAX(__ce_n) AS BIGINT) AS __ce_size,
      list(__ce_center ORDER BY __ce_i) AS __ce_center,
      list(__ce_n * __ce_variance ORDER BY __ce_i) AS __ce_within
    FROM query_table(__ce_coordinates)
    GROUP BY __ce_partition, __ce_cluster, __ce_single
  )
  SELECT
    __ce_partition, __ce_cluster, __ce_single, __ce_size, __ce_within,
    clustereval._center_direction(__ce_center, distance) AS __ce_center
  FROM __ce_listed;

-- One row a partition: its rows, dimensions and center, the mean of the clusters' means. The median is
-- no median of medians, and is taken of the points.
CREATE OR REPLACE MACRO clustereval._partition_centers(__ce_points, __ce_coordinates, distance, center) AS TABLE
  WITH __ce_values AS NOT MATERIALIZED (
    SELECT
      __ce_partition,
      unnest(__ce_point) AS __ce_x,
      unnest(range(1, len(__ce_point) + 1)) AS __ce_i
    FROM query_table(__ce_points)
    WHERE __ce_kept AND center = 'median'
  ),
  __ce_middle AS (
    SELECT
      __ce_partition, __ce_i,
      fsum(__ce_n * __ce_center) / fsum(__ce_n) AS __ce_center
    FROM query_table(__ce_coordinates)
    WHERE center = 'mean'
    GROUP BY __ce_partition, __ce_i
    UNION ALL
    SELECT __ce_partition, __ce_i, median(__ce_x)
    FROM __ce_values
    GROUP BY __ce_partition, __ce_i
  ),
  __ce_listed AS (
    SELECT __ce_partition, COUNT(*) AS __ce_dims, list(__ce_center ORDER BY __ce_i) AS __ce_center
    FROM __ce_middle
    GROUP BY __ce_partition
  )
  SELECT
    __ce_partition, __ce_dims, clustereval._center_direction(__ce_center, distance) AS __ce_center
  FROM __ce_listed;

-- One row a cluster: its rows by kind, and the distances of its points to its center and to the middle
-- of all. Rows that are left out are counted with their cluster too, and have no distance.
CREATE OR REPLACE MACRO clustereval._cluster_spreads(__ce_points, __ce_centers, __ce_middles, distance, p) AS TABLE
  WITH __ce_targets AS (
    SELECT
      __ce_c.__ce_partition, __ce_c.__ce_cluster, __ce_c.__ce_single, __ce_c.__ce_center,
      __ce_m.__ce_center AS __ce_middle
    FROM query_table(__ce_centers) AS __ce_c
    JOIN query_table(__ce_middles) AS __ce_m
      ON __ce_m.__ce_partition IS NOT DISTINCT FROM __ce_c.__ce_partition
  ),
  __ce_measured AS NOT MATERIALIZED (
    SELECT
      __ce_x.__ce_partition, __ce_x.__ce_cluster, __ce_x.__ce_single,
      __ce_x.__ce_kept, __ce_x.__ce_dropped, __ce_x.__ce_noisy, __ce_x.__ce_only,
      CASE
        WHEN __ce_x.__ce_kept
        THEN clustereval._distance(__ce_x.__ce_point, __ce_t.__ce_center, distance, p)
      END AS __ce_d,
      CASE
        WHEN __ce_x.__ce_kept
        THEN clustereval._distance(__ce_x.__ce_point, __ce_t.__ce_middle, distance, p)
      END AS __ce_to_middle
    FROM query_table(__ce_points) AS __ce_x
    LEFT JOIN __ce_targets AS __ce_t
      ON __ce_t.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
      AND __ce_t.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
      AND __ce_t.__ce_single = __ce_x.__ce_single
  ),
  __ce_summed AS (
    SELECT
      __ce_partition, __ce_cluster, __ce_single,
      CAST(COUNT(CASE WHEN __ce_kept THEN 1 END) AS BIGINT) AS __ce_n,
      CAST(COUNT(CASE WHEN __ce_dropped THEN 1 END) AS BIGINT) AS __ce_dropped,
      CAST(COUNT(CASE WHEN __ce_noisy THEN 1 END) AS BIGINT) AS __ce_noise,
      COUNT(CASE WHEN __ce_only THEN 1 END) AS __ce_only_n,
      COUNT(__ce_d) AS __ce_measured_n,
      clustereval._compensated_sum(__ce_d) AS __ce_distances,
      clustereval._compensated_sum(clustereval._squared_distance(__ce_d, distance)) AS __ce_squares,
      MAX(__ce_d) AS __ce_radius,
      clustereval._compensated_sum(__ce_to_middle) AS __ce_to_middle
    FROM __ce_measured
    GROUP BY __ce_partition, __ce_cluster, __ce_single
  )
  SELECT
    *,
    -- one distance that is no finite number makes the sum none
    __ce_measured_n < __ce_n OR NOT coalesce(isfinite(__ce_squares), TRUE) AS __ce_bad
  FROM __ce_summed;

-- One row a cluster that has points: its center with its spread, and a number to tell it by.
CREATE OR REPLACE MACRO clustereval._measured_clusters(__ce_centers, __ce_spreads) AS TABLE
  SELECT
    __ce_c.__ce_partition, __ce_c.__ce_cluster, __ce_c.__ce_single,
    __ce_c.__ce_center, __ce_c.__ce_within,
    row_number() OVER () AS __ce_number,
    __ce_s.__ce_n, __ce_s.__ce_distances, __ce_s.__ce_squares, __ce_s.__ce_radius,
    __ce_s.__ce_to_middle,
    __ce_s.__ce_distances / __ce_s.__ce_n AS __ce_mean_distance
  FROM query_table(__ce_centers) AS __ce_c
  JOIN query_table(__ce_spreads) AS __ce_s
    ON __ce_s.__ce_partition IS NOT DISTINCT FROM __ce_c.__ce_partition
    AND __ce_s.__ce_cluster IS NOT DISTINCT FROM __ce_c.__ce_cluster
    AND __ce_s.__ce_single = __ce_c.__ce_single;

-- One row a partition: its counts of rows. One that keeps no row is left out, unless it is the only one
-- because there is no partition_by.
CREATE OR REPLACE MACRO clustereval._point_counts(__ce_spreads) AS TABLE
  SELECT
    __ce_partition,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_total,
    CAST(SUM(__ce_dropped) AS BIGINT) AS __ce_n_dropped,
    CAST(SUM(__ce_noise) AS BIGINT) AS __ce_n_noise,
    CAST(COUNT(CASE WHEN __ce_n > 0 THEN 1 END) AS BIGINT) AS __ce_n_clusters,
    CAST(COUNT(CASE WHEN __ce_n = 1 THEN 1 END) AS BIGINT) AS __ce_n_singletons
  FROM query_table(__ce_spreads)
  GROUP BY __ce_partition
  HAVING SUM(__ce_n) > 0 OR SUM(__ce_only_n) > 0;

-- TRUE, or the error for points that cannot be measured. The rows are read for it only where there are
-- such points (__ce_bad), or partitions of different dimensions.
CREATE OR REPLACE MACRO clustereval._check_points(
  __ce_points, __ce_spreads, __ce_middles, weights
) AS TABLE
  WITH __ce_alarm AS (
    SELECT COUNT(*) AS __ce_n
    FROM query_table(__ce_spreads)
    WHERE __ce_bad
    UNION ALL
    SELECT COUNT(DISTINCT __ce_dims) - 1
    FROM query_table(__ce_middles)
  ),
  __ce_suspects AS (
    SELECT __ce_p.__ce_vector
    FROM query_table(__ce_points) AS __ce_p
    JOIN (SELECT MAX(__ce_n) AS __ce_n FROM __ce_alarm) AS __ce_a ON __ce_a.__ce_n > 0
    WHERE __ce_p.__ce_kept
  ),
  __ce_faults AS (
    SELECT __ce_l.__ce_dims, clustereval._fault(__ce_s.__ce_vector, __ce_l.__ce_dims) AS __ce_fault
    FROM __ce_suspects AS __ce_s
    CROSS JOIN (SELECT MAX(len(__ce_vector)) AS __ce_dims FROM __ce_suspects) AS __ce_l
  ),
  __ce_first AS (
    SELECT
      MAX(__ce_dims) AS __ce_dims,
      COUNT(__ce_fault) AS __ce_rows,
      MIN(__ce_fault) AS __ce_fault
    FROM __ce_faults
    HAVING COUNT(*) > 0
  )
  SELECT CAST(CASE
    WHEN weights IS NOT NULL AND __ce_dims <> len(weights)
    THEN error(concat(
      'weights: expected one for each of ', __ce_dims, ' dimensions, got ', len(weights)
    ))
    ELSE clustereval._fault_error(__ce_fault, __ce_dims, __ce_rows)
  END AS BOOLEAN) AS __ce_valid
  FROM __ce_first;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Every cluster: its size and its center.
-- Examples:
--   FROM clustereval.centroids(points, [x, y, z], cluster);
--   FROM clustereval.centroids(points, [x, y, z], cluster, center := 'median');
CREATE OR REPLACE MACRO clustereval.centroids(
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
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, weights)
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_cluster AS cluster,
    __ce_size AS n,
    clustereval._unscale_vector(__ce_center, weights, distance, p) AS centroid
  FROM __ce_centers
  WHERE clustereval._check_options(
    clustereval._valid_points(distance, p, center, weights, noise, noise_as)
  )
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_partition, __ce_cluster, __ce_single;
COMMENT ON MACRO TABLE clustereval.centroids IS
'One row a cluster: n points and their centroid, the mean of each coordinate (center ''median'': the median); with distance ''cosine'' the direction of the mean unit vector, as a vector of length 1 (a zero vector where the mean is one). With noise_as := ''singletons'' each noise point has a row of its own, cluster NULL.';
