-- pairwise: the indices that need the distances of all pairs of points, and the nearest neighbors of
-- each. n points have n (n - 1) / 2 pairs, hence the limit max_points.

---------------------------------------------------------------------------------------------------
-- Checks
---------------------------------------------------------------------------------------------------

-- TRUE query, or the error, for the options of pairwise_report (see _valid_noise).
CREATE OR REPLACE MACRO clustereval._valid_pairwise(
  distance, p, weights, noise, noise_as, n_neighbors, max_points
) AS
  CASE
    WHEN NOT clustereval._is_whole_number(n_neighbors, 1)
    THEN error(concat(
      'n_neighbors: expected a whole number >= 1, got ',
      coalesce(CAST(n_neighbors AS VARCHAR), 'NULL')
    ))
    WHEN NOT clustereval._is_whole_number(max_points, 2)
    THEN error(concat(
      'max_points: expected a whole number >= 2, got ',
      coalesce(CAST(max_points AS VARCHAR), 'NULL')
    ))
    ELSE clustereval._valid_points(distance, p, 'mean', weights, noise, noise_as)
  END;

-- TRUE, or the error for more points than are to be paired.
CREATE OR REPLACE MACRO clustereval._check_size(n, max_points) AS
  CASE
    WHEN n > max_points
    THEN error(concat(
      'max_points: expected at most ', CAST(max_points AS BIGINT), ' points in a partition, got ', n,
      ' (', clustereval._count_pairs(n), ' pairs); raise max_points, or take a sample'
    ))
    ELSE TRUE
  END;

---------------------------------------------------------------------------------------------------
-- Pairs
---------------------------------------------------------------------------------------------------

-- One row a partition that has points, by the number of one of its clusters: its points, clusters and
-- pairs.
CREATE OR REPLACE MACRO clustereval._pair_sizes(__ce_clusters) AS TABLE
  SELECT
    __ce_partition,
    MIN(__ce_number) AS __ce_partition_no,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_size,
    COUNT(*) AS __ce_k,
    SUM(clustereval._count_pairs(__ce_n)) AS __ce_within,
    clustereval._count_pairs(CAST(SUM(__ce_n) AS BIGINT)) - SUM(clustereval._count_pairs(__ce_n)) AS __ce_between
  FROM query_table(__ce_clusters)
  GROUP BY __ce_partition;

-- One row a point, with the numbers of its partition and cluster. A join on numbers is fast.
CREATE OR REPLACE MACRO clustereval._numbered_points(__ce_points, __ce_clusters, __ce_sizes) AS TABLE
  SELECT
    __ce_s.__ce_partition_no, __ce_s.__ce_size, __ce_s.__ce_k, __ce_c.__ce_number, __ce_x.__ce_row,
    __ce_x.__ce_point
  FROM query_table(__ce_points) AS __ce_x
  JOIN query_table(__ce_clusters) AS __ce_c
    ON __ce_c.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
    AND __ce_c.__ce_cluster IS NOT DISTINCT FROM __ce_x.__ce_cluster
    AND __ce_c.__ce_single = __ce_x.__ce_single
  JOIN query_table(__ce_sizes) AS __ce_s
    ON __ce_s.__ce_partition IS NOT DISTINCT FROM __ce_x.__ce_partition
  WHERE __ce_x.__ce_kept;

-- The distance of two points. For vectors of one direction the cosine distance is nothing but rounding.
CREATE OR REPLACE MACRO clustereval._pair_distance(x, y, distance, p) AS
  CASE
    WHEN lower(distance) = 'cosine' AND clustereval._distance(x, y, distance, p) < 1e-15 THEN 0.0
    ELSE clustereval._distance(x, y, distance, p)
  END;

-- The first 12 digits, of no more than so many decimals. Squares and powers beyond the largest number
-- count as it.
CREATE OR REPLACE MACRO clustereval._digits(x, decimals) AS
  CASE
    WHEN x > 1.7e308 THEN 1.7e308
    WHEN x > 0
    THEN round(x * pow(10.0, LEAST(11 - floor(log10(x)), decimals)))
      / pow(10.0, LEAST(11 - floor(log10(x)), decimals))
    ELSE 0.0
  END;

-- What distances are ranked by. Those that are equal by definition, as many are between points of few
-- decimals, differ in their last digits as the engine rounds; where they are decimals, or their squares
-- or powers are, 12 digits give these back. Unit vectors have 15 decimals, and their distances no more.
CREATE OR REPLACE MACRO clustereval._rank_key(d, distance, p) AS
  clustereval._digits(
    CASE lower(distance)
      WHEN 'euclidean' THEN d * d
      WHEN 'minkowski' THEN pow(d, LEAST(p, 4.0))
      ELSE d
    END,
    CASE WHEN lower(distance) = 'cosine' THEN 15 ELSE 300 END
  );

-- One row a partition: what the indices are made from. All distances are sorted once; beside each stands
-- how many of those within, and of those between, are no greater. `plus` counts the pairs of a distance
-- within and a greater one between, `minus` those of one within and a lesser one between. `excess` is the
-- sum within less that of the least distances, as many as there are within.
CREATE OR REPLACE MACRO clustereval._pair_totals(__ce_numbered, __ce_sizes, distance, p) AS TABLE
  WITH __ce_counted AS (
    -- there is no number here for more pairs than anybody can wait for
    SELECT
      __ce_partition_no,
      TRY_CAST(__ce_within AS BIGINT) AS __ce_within,
      TRY_CAST(__ce_between AS BIGINT) AS __ce_between
    FROM query_table(__ce_sizes)
  ),
  __ce_pairs AS (
    SELECT
      __ce_x.__ce_partition_no,
      __ce_x.__ce_number = __ce_y.__ce_number AS __ce_same,
      clustereval._pair_distance(__ce_x.__ce_point, __ce_y.__ce_point, distance, p) AS __ce_d
    FROM query_table(__ce_numbered) AS __ce_x
    JOIN query_table(__ce_numbered) AS __ce_y
      ON __ce_y.__ce_partition_no = __ce_x.__ce_partition_no
      AND __ce_y.__ce_row > __ce_x.__ce_row
    WHERE clustereval._is_clustering(__ce_x.__ce_size, __ce_x.__ce_k)
  ),
  __ce_keyed AS (
    SELECT *, clustereval._rank_key(__ce_d, distance, p) AS __ce_key FROM __ce_pairs
  ),
  __ce_ranked AS (
    SELECT
      __ce_partition_no, __ce_same, __ce_d, __ce_key,
      COUNT(CASE WHEN __ce_same THEN 1 END) OVER (
        PARTITION BY __ce_partition_no ORDER BY __ce_key RANGE UNBOUNDED PRECEDING
      ) AS __ce_within_to,
      COUNT(CASE WHEN NOT __ce_same THEN 1 END) OVER (
        PARTITION BY __ce_partition_no ORDER BY __ce_key RANGE UNBOUNDED PRECEDING
      ) AS __ce_between_to,
      row_number() OVER (PARTITION BY __ce_partition_no ORDER BY __ce_key) AS __ce_rank
    FROM __ce_keyed
  )
  SELECT
    __ce_r.__ce_partition_no,
    CAST(MAX(__ce_s.__ce_within) AS DOUBLE) AS __ce_n_within,
    CAST(MAX(__ce_s.__ce_between) AS DOUBLE) AS __ce_n_between,
    clustereval._compensated_sum(CASE WHEN __ce_same THEN __ce_d ELSE 0.0 END) AS __ce_within_sum,
    clustereval._compensated_sum(CASE WHEN __ce_same THEN 0.0 ELSE __ce_d END) AS __ce_between_sum,
    SUM(CASE WHEN __ce_same THEN __ce_s.__ce_between - __ce_between_to ELSE 0 END) AS __ce_plus,
    SUM(CASE WHEN __ce_same THEN 0 ELSE __ce_s.__ce_within - __ce_within_to END) AS __ce_minus,
    clustereval._compensated_sum(CASE WHEN __ce_same AND __ce_rank > __ce_s.__ce_within THEN __ce_d ELSE 0.0 END)
      - clustereval._compensated_sum(
        CASE WHEN __ce_same OR __ce_rank > __ce_s.__ce_within THEN 0.0 ELSE __ce_d END
      ) AS __ce_within_excess,
    -- the pairs that both the nearest and the farthest hold cancel
    clustereval._compensated_sum(
      CASE
        WHEN __ce_rank > GREATEST(__ce_s.__ce_within, __ce_s.__ce_between) THEN __ce_d ELSE 0.0
      END
    ) - clustereval._compensated_sum(
      CASE
        WHEN __ce_rank <= LEAST(__ce_s.__ce_within, __ce_s.__ce_between) THEN __ce_d ELSE 0.0
      END
    ) AS __ce_range,
    MIN(__ce_key) AS __ce_least,
    MAX(__ce_key) AS __ce_most
  FROM __ce_ranked AS __ce_r
  JOIN __ce_counted AS __ce_s ON __ce_s.__ce_partition_no = __ce_r.__ce_partition_no
  GROUP BY __ce_r.__ce_partition_no;

-- The mean of 1 / place over the places after `before` that m equally near points take; a place after
-- n_neighbors is worth 0.
CREATE OR REPLACE MACRO clustereval._place_value(before, m, n_neighbors) AS
  list_sum(list_transform(
    range(before + 1, LEAST(before + m, CAST(n_neighbors AS BIGINT)) + 1), lambda __ce_j: 1.0 / __ce_j
  )) / m;

-- One row a partition of two clusters or more: the value of its places that are taken by points of
-- another cluster.
CREATE OR REPLACE MACRO clustereval._disconnections(__ce_numbered, distance, p, n_neighbors) AS TABLE
  WITH __ce_reaches AS MATERIALIZED (
    SELECT
      __ce_x.__ce_row,
      list_max(MIN(
        clustereval._pair_distance(__ce_x.__ce_point, __ce_y.__ce_point, distance, p),
        LEAST(CAST(n_neighbors AS BIGINT), __ce_x.__ce_size - 1)
      )) AS __ce_reach
    FROM query_table(__ce_numbered) AS __ce_x
    JOIN query_table(__ce_numbered) AS __ce_y
      ON __ce_y.__ce_partition_no = __ce_x.__ce_partition_no
      AND __ce_y.__ce_row <> __ce_x.__ce_row
    WHERE __ce_x.__ce_k > 1
    GROUP BY __ce_x.__ce_row, __ce_x.__ce_size
  ),
  __ce_near AS (
    SELECT
      __ce_x.__ce_partition_no, __ce_x.__ce_row,
      __ce_x.__ce_number <> __ce_y.__ce_number AS __ce_other,
      clustereval._pair_distance(__ce_x.__ce_point, __ce_y.__ce_point, distance, p) AS __ce_d,
      __ce_r.__ce_reach
    FROM query_table(__ce_numbered) AS __ce_x
    JOIN __ce_reaches AS __ce_r ON __ce_r.__ce_row = __ce_x.__ce_row
    JOIN query_table(__ce_numbered) AS __ce_y
      ON __ce_y.__ce_partition_no = __ce_x.__ce_partition_no
      AND __ce_y.__ce_row <> __ce_x.__ce_row
  ),
  __ce_ties AS (
    SELECT
      __ce_partition_no, __ce_row,
      clustereval._rank_key(__ce_d, distance, p) AS __ce_key,
      COUNT(*) AS __ce_m,
      COUNT(CASE WHEN __ce_other THEN 1 END) AS __ce_others
    FROM __ce_near
    WHERE __ce_d <= __ce_reach * (1 + 1e-10) + CASE WHEN lower(distance) = 'cosine' THEN 1e-14 ELSE 0 END
    GROUP BY __ce_partition_no, __ce_row, clustereval._rank_key(__ce_d, distance, p)
  ),
  __ce_placed AS (
    SELECT
      *,
      CAST(SUM(__ce_m) OVER (
        PARTITION BY __ce_row ORDER BY __ce_key ROWS UNBOUNDED PRECEDING
      ) AS BIGINT) - __ce_m AS __ce_before
    FROM __ce_ties
  )
  SELECT
    __ce_partition_no,
    clustereval._compensated_sum(
      __ce_others * clustereval._place_value(__ce_before, __ce_m, n_neighbors)
    ) AS __ce_connectivity
  FROM __ce_placed
  GROUP BY __ce_partition_no;

---------------------------------------------------------------------------------------------------
-- Formulas
---------------------------------------------------------------------------------------------------

-- x, if it is a finite sum of distances.
CREATE OR REPLACE MACRO clustereval._check_sum(x) AS
  CASE
    WHEN NOT isfinite(x) THEN error('vector: distances overflow; scale the coordinates down')
    ELSE x
  END;

CREATE OR REPLACE MACRO clustereval._pair_gamma(plus, minus) AS
  clustereval._ratio(plus - minus, plus + minus);

CREATE OR REPLACE MACRO clustereval._pair_tau(plus, minus, inner_n, outer_n) AS
  (plus - minus) / sqrt(inner_n * outer_n * ((inner_n + outer_n) * (inner_n + outer_n - 1) / 2));

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- The indices of all pairs: are the points of a cluster nearer to each other than to others?
-- Examples:
--   FROM clustereval.pairwise_report(points, [x, y, z], cluster);
--   FROM clustereval.pairwise_report(points, [x, y, z], cluster, distance := 'cityblock', n_neighbors := 5);
CREATE OR REPLACE MACRO clustereval.pairwise_report(
  tbl, vector, cluster, distance := 'euclidean', p := 2, partition_by := NULL, noise := NULL,
  noise_as := 'cluster', weights := NULL, n_neighbors := 10, max_points := 20000
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as
    )
  ),
  __ce_coordinates AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')),
  __ce_centers AS (SELECT * FROM clustereval._cluster_centers(__ce_coordinates, distance)),
  __ce_middles AS (
    SELECT * FROM clustereval._partition_centers(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, __ce_middles, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_middles, weights)
  ),
  __ce_sizes AS MATERIALIZED (SELECT * FROM clustereval._pair_sizes(__ce_clusters)),
  -- No pair is made before the points and their number are known to be in order.
  __ce_fitting AS MATERIALIZED (
    SELECT clustereval._check_size(MAX(__ce_s.__ce_size), max_points) AS __ce_fits
    FROM __ce_sizes AS __ce_s
    WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ),
  __ce_numbered AS MATERIALIZED (
    SELECT * FROM clustereval._numbered_points(__ce_points, __ce_clusters, __ce_sizes)
    WHERE (SELECT __ce_fits FROM __ce_fitting)
  ),
  __ce_totals AS (
    SELECT * FROM clustereval._pair_totals(__ce_numbered, __ce_sizes, distance, p)
  ),
  __ce_losses AS (
    SELECT * FROM clustereval._disconnections(__ce_numbered, distance, p, n_neighbors)
  )
  SELECT
    __ce_r.__ce_partition AS partition_key,
    __ce_r.__ce_total AS n,
    __ce_r.__ce_n_dropped AS n_dropped,
    __ce_r.__ce_n_noise AS n_noise,
    __ce_r.__ce_n_clusters AS n_clusters,
    clustereval._widen(COALESCE(__ce_s.__ce_within, 0)) AS n_within_pairs,
    clustereval._widen(COALESCE(__ce_s.__ce_between, 0)) AS n_between_pairs,
    CASE
      WHEN __ce_t.__ce_least < __ce_t.__ce_most THEN __ce_t.__ce_within_excess / __ce_t.__ce_range
    END AS c_index,
    clustereval._pair_gamma(__ce_t.__ce_plus, __ce_t.__ce_minus) AS gamma,
    clustereval._ratio(
      __ce_t.__ce_minus,
      (__ce_t.__ce_n_within + __ce_t.__ce_n_between)
        * (__ce_t.__ce_n_within + __ce_t.__ce_n_between - 1) / 2
    ) AS g_plus,
    clustereval._pair_tau(
      __ce_t.__ce_plus, __ce_t.__ce_minus, __ce_t.__ce_n_within, __ce_t.__ce_n_between
    ) AS tau,
    clustereval._ratio(
      clustereval._check_sum(__ce_t.__ce_within_sum) / __ce_t.__ce_n_within,
      clustereval._check_sum(__ce_t.__ce_between_sum) / __ce_t.__ce_n_between
    ) AS mcclain_rao,
    (__ce_t.__ce_within_sum / __ce_t.__ce_n_within - __ce_t.__ce_between_sum / __ce_t.__ce_n_between)
      * sqrt(__ce_t.__ce_n_within * __ce_t.__ce_n_between)
      / (__ce_t.__ce_n_within + __ce_t.__ce_n_between) AS point_biserial,
    CASE
      WHEN __ce_r.__ce_total < 2 THEN NULL
      WHEN __ce_r.__ce_n_clusters = 1 THEN 0.0
      ELSE __ce_l.__ce_connectivity
    END AS connectivity
  FROM __ce_counts AS __ce_r
  LEFT JOIN __ce_sizes AS __ce_s
    ON __ce_s.__ce_partition IS NOT DISTINCT FROM __ce_r.__ce_partition
  LEFT JOIN __ce_totals AS __ce_t ON __ce_t.__ce_partition_no = __ce_s.__ce_partition_no
  LEFT JOIN __ce_losses AS __ce_l ON __ce_l.__ce_partition_no = __ce_s.__ce_partition_no
  WHERE clustereval._check_options(clustereval._valid_pairwise(
    distance, p, weights, noise, noise_as, n_neighbors, max_points
  ))
    AND COALESCE((SELECT __ce_fits FROM __ce_fitting), TRUE)
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY __ce_r.__ce_partition;
COMMENT ON MACRO TABLE clustereval.pairwise_report IS
'Internal indices from the distances of all pairs of points, one row a partition: counts (n points kept, n_dropped, n_noise, n_clusters, n_within_pairs, n_between_pairs), c_index (range [0, 1], best 0), gamma and tau (range [-1, 1], best 1), g_plus (range [0, 1], best 0), mcclain_rao (>= 0, best 0), point_biserial (best low) and connectivity over n_neighbors neighbors (>= 0, best 0). NULL for one cluster and where all are singletons, but for connectivity. More than max_points points in a partition are an error. Source: Hubert and Levin (1976), doi:10.1037/0033-2909.83.6.1072; Baker and Hubert (1975), doi:10.1080/01621459.1975.10480256; Rohlf (1974), doi:10.1146/annurev.es.05.110174.000533; Milligan (1981), doi:10.1007/BF02293899; McClain and Rao (1975), JMR 12; Handl, Knowles and Kell (2005), doi:10.1093/bioinformatics/bti517.';
