-- pairwise: the indices that need the distances of all pairs of points, or the nearest neighbors of
-- each point. n points have n (n - 1) / 2 pairs, hence the limit max_points.

---------------------------------------------------------------------------------------------------
-- Checks
---------------------------------------------------------------------------------------------------

-- Text of the query that _check_options runs, SELECT TRUE, if all options of pairwise_report are
-- valid; the parameters are these options, as the user gives them. Raises an error for the first
-- bad one.
CREATE OR REPLACE MACRO clustereval._valid_pairwise_options(
  distance, p, weights, noise, noise_as, n_neighbors, max_points, missing
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
    ELSE clustereval._valid_point_options(
      distance, p, 'mean', weights, noise, noise_as, missing
    )
  END;

-- TRUE if n, the number of points of the largest partition, is at most max_points, or NULL because
-- there is no partition. Raises an error otherwise: n points have n (n - 1) / 2 pairs, of about 100
-- bytes each.
CREATE OR REPLACE MACRO clustereval._check_max_points(n, max_points) AS
  CASE
    WHEN n > max_points
    THEN error(concat(
      'max_points: expected at most ', CAST(max_points AS BIGINT), ' points in a partition, got ',
      n, ' (', clustereval._count_pairs(n), ' pairs, about ',
      CAST(clustereval._count_pairs(n) AS HUGEINT) // 10000 + 1,
      ' MB in DuckDB); raise max_points, or take a sample'
    ))
    ELSE TRUE
  END;

---------------------------------------------------------------------------------------------------
-- Pairs
---------------------------------------------------------------------------------------------------

-- One row per partition that has points: __ce_partition (its key in partition_by),
-- __ce_partition_no (the lowest of its cluster numbers, for joins), __ce_n_points, __ce_n_clusters,
-- __ce_n_within (the number of pairs of points within one cluster) and __ce_n_between (of pairs in
-- two clusters). __ce_clusters names the table of _measured_clusters: one row per cluster, with its
-- number __ce_number and its __ce_n points.
CREATE OR REPLACE MACRO clustereval._pair_sizes(__ce_clusters) AS TABLE
  SELECT
    __ce_partition,
    MIN(__ce_number) AS __ce_partition_no,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_n_points,
    COUNT(*) AS __ce_n_clusters,
    SUM(clustereval._count_pairs(__ce_n)) AS __ce_n_within,
    clustereval._count_pairs(CAST(SUM(__ce_n) AS BIGINT)) - SUM(clustereval._count_pairs(__ce_n))
      AS __ce_n_between
  FROM query_table(__ce_clusters)
  GROUP BY __ce_partition;

-- One row per point that is not left out as noise or incomplete: __ce_row and __ce_point (its row
-- number and vector), __ce_number (its cluster's number), and of its partition __ce_partition_no,
-- __ce_n_points and __ce_n_clusters. Numbers replace the keys of partition and cluster because
-- joins on numbers are fast. The parameters name the tables of _points (one row per input row),
-- _measured_clusters (one per cluster) and _pair_sizes (one per partition).
CREATE OR REPLACE MACRO clustereval._pairable_points(
  __ce_points, __ce_clusters, __ce_sizes
) AS TABLE
  SELECT
    size.__ce_partition_no, size.__ce_n_points, size.__ce_n_clusters, cluster.__ce_number,
    point.__ce_row, point.__ce_point
  FROM query_table(__ce_points) AS point
  JOIN query_table(__ce_clusters) AS cluster
    ON cluster.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
    AND cluster.__ce_cluster IS NOT DISTINCT FROM point.__ce_cluster
    AND cluster.__ce_singleton_no = point.__ce_singleton_no
  JOIN query_table(__ce_sizes) AS size
    ON size.__ce_partition IS NOT DISTINCT FROM point.__ce_partition
  WHERE point.__ce_kept;

-- x >= 0 rounded to 12 significant digits, but to at most `decimals` digits after the decimal
-- point. 1.7e308 for any x above that, such as a square or power that exceeds the range of a
-- DOUBLE.
CREATE OR REPLACE MACRO clustereval._round_to_digits(x, decimals) AS
  CASE
    WHEN x > 1.7e308 THEN 1.7e308
    WHEN x > 0
    THEN round(x * pow(10.0, LEAST(11 - floor(log10(x)), decimals)))
      / pow(10.0, LEAST(11 - floor(log10(x)), decimals))
    ELSE 0.0
  END;

-- The number that a distance d is ranked by: d^2 for euclidean, d^p for minkowski of order p (d^4
-- if p is above 4), otherwise d, rounded to 12 significant digits. Distances that are equal by
-- definition, as many are between points of few decimals, differ in their last digits, and
-- differently in each engine; the rounded numbers are equal. For cosine at most 15 decimals are
-- kept: unit vectors have no more exact ones, and neither have their distances.
CREATE OR REPLACE MACRO clustereval._rank_key(d, distance, p) AS
  clustereval._round_to_digits(
    CASE lower(distance)
      WHEN 'euclidean' THEN d * d
      WHEN 'minkowski' THEN pow(d, LEAST(p, 4.0))
      ELSE d
    END,
    CASE WHEN lower(distance) = 'cosine' THEN 15 ELSE 300 END
  );

-- One row per partition of n points in 2 .. n - 1 clusters (__ce_partition_no), with statistics of
-- the distances of all pairs of points. A distance is within if its two points are in one cluster,
-- otherwise between.
--   __ce_n_within, __ce_n_between: how many distances there are, as DOUBLE
--   __ce_within_sum, __ce_between_sum: their sums
--   __ce_concordant, __ce_discordant: numbers of comparisons, by _rank_key, of a distance within
--     with one between: those in which the one between is larger, and those in which it is smaller
--   __ce_within_minus_least: the sum of the distances within, minus the sum of the __ce_n_within
--     least of all distances
--   __ce_greatest_minus_least: the sum of the __ce_n_within greatest of all distances, minus that
--     of as many least
--   __ce_least_key, __ce_greatest_key: the extremes of _rank_key
-- The distances are sorted once, and each gets the numbers of those within, and of those between,
-- that are at most as large. __ce_points names the table of _pairable_points (one row per point),
-- __ce_sizes that of _pair_sizes (one per partition).
CREATE OR REPLACE MACRO clustereval._pair_distance_statistics(
  __ce_points, __ce_sizes, distance, p
) AS TABLE
  WITH __ce_pair_counts AS (
    -- NULL if the number of pairs exceeds BIGINT.
    SELECT
      __ce_partition_no,
      TRY_CAST(__ce_n_within AS BIGINT) AS __ce_n_within,
      TRY_CAST(__ce_n_between AS BIGINT) AS __ce_n_between
    FROM query_table(__ce_sizes)
  ),
  __ce_pairs AS (
    SELECT
      one.__ce_partition_no,
      one.__ce_number = other.__ce_number AS __ce_same_cluster,
      clustereval._distance(one.__ce_point, other.__ce_point, distance, p) AS __ce_d
    FROM query_table(__ce_points) AS one
    JOIN query_table(__ce_points) AS other
      ON other.__ce_partition_no = one.__ce_partition_no
      AND other.__ce_row > one.__ce_row
    WHERE clustereval._is_clustering(one.__ce_n_points, one.__ce_n_clusters)
  ),
  __ce_keyed AS (
    SELECT *, clustereval._rank_key(__ce_d, distance, p) AS __ce_key FROM __ce_pairs
  ),
  __ce_ranked AS (
    SELECT
      __ce_partition_no, __ce_same_cluster, __ce_d, __ce_key,
      COUNT(CASE WHEN __ce_same_cluster THEN 1 END) OVER (
        PARTITION BY __ce_partition_no ORDER BY __ce_key ASC NULLS LAST RANGE UNBOUNDED PRECEDING
      ) AS __ce_within_up_to,
      COUNT(CASE WHEN NOT __ce_same_cluster THEN 1 END) OVER (
        PARTITION BY __ce_partition_no ORDER BY __ce_key ASC NULLS LAST RANGE UNBOUNDED PRECEDING
      ) AS __ce_between_up_to,
      row_number() OVER (PARTITION BY __ce_partition_no ORDER BY __ce_key ASC NULLS LAST)
        AS __ce_rank
    FROM __ce_keyed
  )
  SELECT
    pair.__ce_partition_no,
    CAST(MAX(size.__ce_n_within) AS DOUBLE) AS __ce_n_within,
    CAST(MAX(size.__ce_n_between) AS DOUBLE) AS __ce_n_between,
    clustereval._compensated_sum(
      CASE WHEN pair.__ce_same_cluster THEN pair.__ce_d ELSE 0.0 END
    ) AS __ce_within_sum,
    clustereval._compensated_sum(
      CASE WHEN pair.__ce_same_cluster THEN 0.0 ELSE pair.__ce_d END
    ) AS __ce_between_sum,
    SUM(
      CASE
        WHEN pair.__ce_same_cluster THEN size.__ce_n_between - pair.__ce_between_up_to ELSE 0
      END
    ) AS __ce_concordant,
    SUM(
      CASE
        WHEN pair.__ce_same_cluster THEN 0 ELSE size.__ce_n_within - pair.__ce_within_up_to
      END
    ) AS __ce_discordant,
    clustereval._compensated_sum(
      CASE
        WHEN pair.__ce_same_cluster AND pair.__ce_rank > size.__ce_n_within
        THEN pair.__ce_d
        ELSE 0.0
      END
    ) - clustereval._compensated_sum(
      CASE
        WHEN pair.__ce_same_cluster OR pair.__ce_rank > size.__ce_n_within
        THEN 0.0
        ELSE pair.__ce_d
      END
    ) AS __ce_within_minus_least,
    -- Pairs that are among both the least and the greatest cancel.
    clustereval._compensated_sum(
      CASE
        WHEN pair.__ce_rank > GREATEST(size.__ce_n_within, size.__ce_n_between)
        THEN pair.__ce_d
        ELSE 0.0
      END
    ) - clustereval._compensated_sum(
      CASE
        WHEN pair.__ce_rank <= LEAST(size.__ce_n_within, size.__ce_n_between)
        THEN pair.__ce_d
        ELSE 0.0
      END
    ) AS __ce_greatest_minus_least,
    MIN(pair.__ce_key) AS __ce_least_key,
    MAX(pair.__ce_key) AS __ce_greatest_key
  FROM __ce_ranked AS pair
  JOIN __ce_pair_counts AS size ON size.__ce_partition_no = pair.__ce_partition_no
  GROUP BY pair.__ce_partition_no;

-- The mean of 1 / rank over the ranks n_before + 1 .. n_before + n_tied, which n_tied equally near
-- neighbors of a point share if n_before neighbors are nearer. Ranks above n_neighbors count as 0;
-- NULL if all are.
CREATE OR REPLACE MACRO clustereval._mean_reciprocal_rank(n_before, n_tied, n_neighbors) AS
  list_sum(list_transform(
    range(n_before + 1, LEAST(n_before + n_tied, CAST(n_neighbors AS BIGINT)) + 1),
    lambda __ce_rank: 1.0 / __ce_rank
  )) / n_tied;

-- One row per partition of two clusters or more (__ce_partition_no): __ce_connectivity, the sum of
-- 1 / rank over the n_neighbors nearest neighbors of each point that belong to another cluster.
-- Tied neighbors share their ranks (_mean_reciprocal_rank). __ce_points names the table of
-- _pairable_points, one row per point. `distance` is the name of the distance, p the order of
-- minkowski.
CREATE OR REPLACE MACRO clustereval._connectivities(
  __ce_points, distance, p, n_neighbors
) AS TABLE
  WITH __ce_reaches AS MATERIALIZED (
    SELECT
      one.__ce_row,
      list_max(MIN(
        clustereval._distance(one.__ce_point, other.__ce_point, distance, p),
        LEAST(CAST(n_neighbors AS BIGINT), one.__ce_n_points - 1)
      )) AS __ce_reach
    FROM query_table(__ce_points) AS one
    JOIN query_table(__ce_points) AS other
      ON other.__ce_partition_no = one.__ce_partition_no
      AND other.__ce_row <> one.__ce_row
    WHERE one.__ce_n_clusters > 1
    GROUP BY one.__ce_row, one.__ce_n_points
  ),
  __ce_pairs AS (
    SELECT
      one.__ce_partition_no, one.__ce_row,
      one.__ce_number <> other.__ce_number AS __ce_other_cluster,
      clustereval._distance(one.__ce_point, other.__ce_point, distance, p) AS __ce_d,
      reach.__ce_reach
    FROM query_table(__ce_points) AS one
    JOIN __ce_reaches AS reach ON reach.__ce_row = one.__ce_row
    JOIN query_table(__ce_points) AS other
      ON other.__ce_partition_no = one.__ce_partition_no
      AND other.__ce_row <> one.__ce_row
  ),
  __ce_ties AS (
    SELECT
      __ce_partition_no, __ce_row,
      clustereval._rank_key(__ce_d, distance, p) AS __ce_key,
      COUNT(*) AS __ce_n_tied,
      COUNT(CASE WHEN __ce_other_cluster THEN 1 END) AS __ce_n_other_cluster
    FROM __ce_pairs
    WHERE __ce_d
      <= __ce_reach * (1 + 1e-10) + CASE WHEN lower(distance) = 'cosine' THEN 1e-14 ELSE 0 END
    GROUP BY __ce_partition_no, __ce_row, clustereval._rank_key(__ce_d, distance, p)
  ),
  __ce_placed AS (
    SELECT
      *,
      CAST(SUM(__ce_n_tied) OVER (
        PARTITION BY __ce_row ORDER BY __ce_key ASC NULLS LAST ROWS UNBOUNDED PRECEDING
      ) AS BIGINT) - __ce_n_tied AS __ce_n_before
    FROM __ce_ties
  )
  SELECT
    __ce_partition_no,
    clustereval._compensated_sum(
      __ce_n_other_cluster
        * clustereval._mean_reciprocal_rank(__ce_n_before, __ce_n_tied, n_neighbors)
    ) AS __ce_connectivity
  FROM __ce_placed
  GROUP BY __ce_partition_no;

---------------------------------------------------------------------------------------------------
-- Formulas of the columns of _pair_distance_statistics
---------------------------------------------------------------------------------------------------

-- x, a sum of distances, or NULL. Raises an error if x is infinite or NaN.
CREATE OR REPLACE MACRO clustereval._check_sum_of_distances(x) AS
  CASE
    WHEN NOT isfinite(x) THEN error('vector: distances overflow; scale the coordinates down')
    ELSE x
  END;

-- Baker and Hubert's gamma: (concordant - discordant) / (concordant + discordant), NULL for 0 / 0.
-- The parameters count comparisons of a distance within a cluster with one between two clusters:
-- concordant if the one between is larger, discordant if it is smaller.
CREATE OR REPLACE MACRO clustereval._pairwise_gamma(concordant, discordant) AS
  clustereval._ratio(concordant - discordant, concordant + discordant);

-- Tau: (concordant - discordant) / sqrt(n_within n_between N (N - 1) / 2), where n_within distances
-- within clusters and n_between between clusters are N distances together. concordant and
-- discordant count comparisons of a distance within with one between: those in which the one
-- between is larger, and those in which it is smaller.
CREATE OR REPLACE MACRO clustereval._pairwise_tau(concordant, discordant, n_within, n_between) AS
  (concordant - discordant) / sqrt(
    n_within * n_between * ((n_within + n_between) * (n_within + n_between - 1) / 2)
  );

---------------------------------------------------------------------------------------------------
-- Linkages of pairs of clusters, for dunn_index
---------------------------------------------------------------------------------------------------

-- One row per ordered pair of clusters of a partition (__ce_partition_no, __ce_one, __ce_other),
-- and per cluster of two points or more with itself: of the distances between their points the
-- largest, __ce_complete; the sum, __ce_sum; and the largest from a point of __ce_one to its
-- nearest in __ce_other, __ce_hausdorff. No rows unless the option generalized is TRUE.
-- __ce_members names the table of _points_in_balls, one row per point.
CREATE OR REPLACE MACRO clustereval._pair_linkages(__ce_members, distance, p, generalized) AS TABLE
  WITH __ce_from_points AS (
    SELECT
      one.__ce_partition_no, one.__ce_row, one.__ce_number AS __ce_one,
      other.__ce_number AS __ce_other,
      MIN(clustereval._distance(one.__ce_point, other.__ce_point, distance, p)) AS __ce_nearest,
      MAX(clustereval._distance(one.__ce_point, other.__ce_point, distance, p)) AS __ce_farthest,
      SUM(clustereval._distance(one.__ce_point, other.__ce_point, distance, p)) AS __ce_sum
    FROM query_table(__ce_members) AS one
    JOIN query_table(__ce_members) AS other
      ON other.__ce_partition_no = one.__ce_partition_no AND other.__ce_row <> one.__ce_row
    WHERE CAST(generalized AS VARCHAR) = 'true'
    GROUP BY one.__ce_partition_no, one.__ce_row, one.__ce_number, other.__ce_number
  )
  SELECT
    __ce_partition_no, __ce_one, __ce_other,
    MAX(__ce_farthest) AS __ce_complete,
    clustereval._compensated_sum(__ce_sum) AS __ce_sum,
    MAX(__ce_nearest) AS __ce_hausdorff
  FROM __ce_from_points
  GROUP BY __ce_partition_no, __ce_one, __ce_other;

-- One row per partition (__ce_partition_no): the least complete linkage, average linkage and
-- Hausdorff distance of two clusters (__ce_min_complete_linkage, __ce_min_average_linkage,
-- __ce_min_hausdorff), and the largest mean distance between two points of one cluster
-- (__ce_max_mean_pair). The parameters name the tables of _pair_linkages (one row per ordered pair
-- of clusters) and _measured_clusters (one per cluster).
CREATE OR REPLACE MACRO clustereval._linkage_extremes(__ce_linkages, __ce_clusters) AS TABLE
  WITH __ce_undirected AS (
    SELECT
      linkage.__ce_partition_no, one.__ce_number AS __ce_one, other.__ce_number AS __ce_other,
      MAX(linkage.__ce_complete) AS __ce_complete, MAX(linkage.__ce_hausdorff) AS __ce_hausdorff,
      clustereval._compensated_sum(linkage.__ce_sum) / COUNT(*) AS __ce_sum,
      MAX(one.__ce_n) AS __ce_n_one, MAX(other.__ce_n) AS __ce_n_other
    FROM query_table(__ce_linkages) AS linkage
    JOIN query_table(__ce_clusters) AS one
      ON one.__ce_number = LEAST(linkage.__ce_one, linkage.__ce_other)
    JOIN query_table(__ce_clusters) AS other
      ON other.__ce_number = GREATEST(linkage.__ce_one, linkage.__ce_other)
    GROUP BY linkage.__ce_partition_no, one.__ce_number, other.__ce_number
  )
  SELECT
    __ce_partition_no,
    MIN(CASE WHEN __ce_one <> __ce_other THEN __ce_complete END) AS __ce_min_complete_linkage,
    MIN(
      CASE WHEN __ce_one <> __ce_other THEN __ce_sum / (__ce_n_one * __ce_n_other) END
    ) AS __ce_min_average_linkage,
    MIN(CASE WHEN __ce_one <> __ce_other THEN __ce_hausdorff END) AS __ce_min_hausdorff,
    MAX(
      CASE WHEN __ce_one = __ce_other THEN __ce_sum / (__ce_n_one * (__ce_n_one - 1)) END
    ) AS __ce_max_mean_pair
  FROM __ce_undirected
  GROUP BY __ce_partition_no;

-- One row per partition (__ce_partition_no): __ce_min_mean_to_other_center, the least over pairs of
-- clusters of the mean distance of the points of both from the center of the other. No rows unless
-- the option generalized is TRUE. __ce_members and __ce_balls name the tables of _points_in_balls
-- (one row per point) and _bounding_balls (one per cluster).
CREATE OR REPLACE MACRO clustereval._mean_to_other_center(
  __ce_members, __ce_balls, distance, p, generalized
) AS TABLE
  WITH __ce_means AS (
    SELECT
      member.__ce_partition_no,
      clustereval._compensated_sum(
        clustereval._distance(member.__ce_point, ball.__ce_center, distance, p)
      ) / COUNT(*) AS __ce_mean
    FROM query_table(__ce_members) AS member
    JOIN query_table(__ce_balls) AS ball
      ON ball.__ce_partition_no = member.__ce_partition_no
      AND ball.__ce_number <> member.__ce_number
    WHERE CAST(generalized AS VARCHAR) = 'true'
    GROUP BY
      member.__ce_partition_no, LEAST(member.__ce_number, ball.__ce_number),
      GREATEST(member.__ce_number, ball.__ce_number)
  )
  SELECT __ce_partition_no, MIN(__ce_mean) AS __ce_min_mean_to_other_center
  FROM __ce_means
  GROUP BY __ce_partition_no;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- One row per partition: indices from the distances of all pairs of points, such as c_index and
-- gamma, and connectivity from the n_neighbors nearest neighbors of each point.
-- Examples:
--   FROM clustereval.pairwise_report(points, [x, y, z], cluster);
--   FROM clustereval.pairwise_report(points, [x, y, z], cluster, n_neighbors := 5);
CREATE OR REPLACE MACRO clustereval.pairwise_report(
  tbl, vector, cluster, distance := 'euclidean', p := 2, partition_by := NULL, noise := NULL,
  noise_as := NULL, weights := NULL, n_neighbors := 10, max_points := 5000,
  missing := 'error'
) AS TABLE
  WITH __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')),
  __ce_coordinates AS (
    SELECT * FROM clustereval._scale_moments(__ce_moments, distance, p, weights)
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, 'mean')
  ),
  __ce_spreads AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_spreads)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
  ),
  __ce_sizes AS MATERIALIZED (SELECT * FROM clustereval._pair_sizes(__ce_clusters)),
  -- Pairs are built only after the points and their number have been checked.
  __ce_size_check AS MATERIALIZED (
    SELECT clustereval._check_max_points(MAX(__ce_n_points), max_points) AS __ce_fits
    FROM __ce_sizes
    WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ),
  __ce_pairable AS MATERIALIZED (
    SELECT *
    FROM clustereval._pairable_points(__ce_points, __ce_clusters, __ce_sizes)
    WHERE (SELECT __ce_fits FROM __ce_size_check)
  ),
  __ce_statistics AS (
    SELECT * FROM clustereval._pair_distance_statistics(__ce_pairable, __ce_sizes, distance, p)
  ),
  __ce_connectivities AS (
    SELECT * FROM clustereval._connectivities(__ce_pairable, distance, p, n_neighbors)
  )
  SELECT
    counts.__ce_partition AS partition_key,
    counts.__ce_total AS n,
    counts.__ce_n_dropped AS n_dropped,
    counts.__ce_n_noise AS n_noise,
    counts.__ce_n_clusters AS n_clusters,
    clustereval._widen(COALESCE(sizes.__ce_n_within, 0)) AS n_within_pairs,
    clustereval._widen(COALESCE(sizes.__ce_n_between, 0)) AS n_between_pairs,
    CASE
      WHEN pairs.__ce_least_key < pairs.__ce_greatest_key
      THEN pairs.__ce_within_minus_least / pairs.__ce_greatest_minus_least
    END AS c_index,
    clustereval._pairwise_gamma(pairs.__ce_concordant, pairs.__ce_discordant) AS gamma,
    clustereval._ratio(
      pairs.__ce_discordant,
      (pairs.__ce_n_within + pairs.__ce_n_between)
        * (pairs.__ce_n_within + pairs.__ce_n_between - 1) / 2
    ) AS g_plus,
    clustereval._pairwise_tau(
      pairs.__ce_concordant, pairs.__ce_discordant, pairs.__ce_n_within, pairs.__ce_n_between
    ) AS tau,
    clustereval._ratio(
      clustereval._check_sum_of_distances(pairs.__ce_within_sum) / pairs.__ce_n_within,
      clustereval._check_sum_of_distances(pairs.__ce_between_sum) / pairs.__ce_n_between
    ) AS mcclain_rao,
    (pairs.__ce_within_sum / pairs.__ce_n_within - pairs.__ce_between_sum / pairs.__ce_n_between)
      * sqrt(pairs.__ce_n_within * pairs.__ce_n_between)
      / (pairs.__ce_n_within + pairs.__ce_n_between) AS point_biserial,
    CASE
      WHEN counts.__ce_total < 2 THEN NULL
      WHEN counts.__ce_n_clusters = 1 THEN 0.0
      ELSE connectivities.__ce_connectivity
    END AS connectivity
  FROM __ce_counts AS counts
  LEFT JOIN __ce_sizes AS sizes
    ON sizes.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  LEFT JOIN __ce_statistics AS pairs ON pairs.__ce_partition_no = sizes.__ce_partition_no
  LEFT JOIN __ce_connectivities AS connectivities
    ON connectivities.__ce_partition_no = sizes.__ce_partition_no
  WHERE clustereval._check_options(clustereval._valid_pairwise_options(
    distance, p, weights, noise, noise_as, n_neighbors, max_points, missing
  ))
    AND COALESCE((SELECT __ce_fits FROM __ce_size_check), TRUE)
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY counts.__ce_partition ASC NULLS LAST;
