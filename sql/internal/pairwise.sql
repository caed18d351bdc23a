-- pairwise: the indices that need the distances of all pairs of points, or the nearest neighbors
-- of each point. There are n (n - 1) / 2 pairs of n points, so there is a limit, max_points.

---------------------------------------------------------------------------------------------------
-- Checks
---------------------------------------------------------------------------------------------------

-- Text of the query that _check_options runs. Raises an error for the first invalid option of
-- pairwise_report.
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
    ELSE clustereval._valid_point_options(distance, p, 'mean', weights, noise, noise_as, missing)
  END;

-- TRUE if n, the number of points of the largest partition, is at most max_points, or NULL because
-- there is no partition. Otherwise raises an error, because n points have n (n - 1) / 2 pairs, of
-- about 100 bytes each.
CREATE OR REPLACE MACRO clustereval._check_max_points(n, max_points) AS
  CASE
    WHEN n > max_points
    THEN error(concat(
      'max_points: expected at most ', CAST(max_points AS BIGINT), ' points in a partition, got ',
      n, ' (', clustereval._count_pairs(n), ' pairs, about ',
      CAST(clustereval._count_pairs(n) AS HUGEINT) // 10000 + 1,
      ' MB in DuckDB); raise max_points, take a sample, or for connectivity alone, pass the ',
      'result of nearest_neighbors to neighborhood_report'
    ))
    ELSE TRUE
  END;

---------------------------------------------------------------------------------------------------
-- Pairs
---------------------------------------------------------------------------------------------------

-- One row per partition that has points: partition_key, partition_no (the lowest of its cluster
-- numbers, for joins), n_points, n_clusters, n_within (the number of pairs of points in the same
-- cluster) and n_between. clusters: rows of _measured_clusters.
CREATE OR REPLACE MACRO clustereval._pair_sizes(clusters) AS TABLE
  SELECT
    partition_key,
    MIN(number) AS partition_no,
    CAST(SUM(n) AS BIGINT) AS n_points,
    COUNT(*) AS n_clusters,
    SUM(clustereval._count_pairs(n)) AS n_within,
    clustereval._count_pairs(CAST(SUM(n) AS BIGINT)) - SUM(clustereval._count_pairs(n)) AS n_between
  FROM query_table(clusters)
  GROUP BY partition_key;

-- One row per point that is scored: row_no, point, number of its cluster, and partition_no,
-- n_points and n_clusters of its partition. Numbers replace the keys of partition and cluster
-- because joins on numbers are fast. The tables are those of _points, _measured_clusters and
-- _pair_sizes.
CREATE OR REPLACE MACRO clustereval._pairable_points(points, clusters, sizes) AS TABLE
  SELECT
    size.partition_no, size.n_points, size.n_clusters, cluster.number, point.row_no, point.point
  FROM query_table(points) AS point
  JOIN query_table(clusters) AS cluster
    ON cluster.partition_key IS NOT DISTINCT FROM point.partition_key
    AND cluster.cluster IS NOT DISTINCT FROM point.cluster
    AND cluster.singleton_no = point.singleton_no
  JOIN query_table(sizes) AS size ON size.partition_key IS NOT DISTINCT FROM point.partition_key
  WHERE point.kept;

-- x >= 0 rounded to 12 significant digits, but to at most `decimals` digits after the decimal
-- point. For any x above 1.7e308, such as a square or power that exceeds the range of a DOUBLE, it
-- is 1.7e308.
CREATE OR REPLACE MACRO clustereval._round_to_digits(x, decimals) AS
  CASE
    WHEN x > 1.7e308 THEN 1.7e308
    WHEN x > 0
    THEN round(x * pow(10.0, LEAST(11 - floor(log10(x)), decimals)))
      / pow(10.0, LEAST(11 - floor(log10(x)), decimals))
    ELSE 0.0
  END;

-- The number by which a distance d is ranked: d^2 for euclidean, d^p for minkowski of order p (d^4
-- if p is above 4), otherwise d, rounded to 12 significant digits. Many distances between points
-- with few decimals are equal by definition, but their last digits differ, and differently in each
-- engine. The rounded numbers are equal. For cosine at most 15 decimals are kept, because unit
-- vectors have no more exact decimals, and neither do their distances.
CREATE OR REPLACE MACRO clustereval._rank_key(d, distance, p) AS
  clustereval._round_to_digits(
    CASE lower(distance)
      WHEN 'euclidean' THEN d * d
      WHEN 'minkowski' THEN pow(d, LEAST(p, 4.0))
      ELSE d
    END,
    CASE WHEN lower(distance) = 'cosine' THEN 15 ELSE 300 END
  );

-- One row per pair of points in a partition of n points in 2 .. n - 1 clusters: partition_no,
-- same_cluster, and the distance d. points: rows of _pairable_points.
CREATE OR REPLACE MACRO clustereval._distances_of_pairs(points, distance, p) AS TABLE
  SELECT
    one.partition_no,
    one.number = other.number AS same_cluster,
    clustereval._distance(one.point, other.point, distance, p) AS d
  FROM query_table(points) AS one
  JOIN query_table(points) AS other
    ON other.partition_no = one.partition_no
    AND other.row_no > one.row_no
  WHERE clustereval._is_clustering(one.n_points, one.n_clusters);

-- One row per partition of n points in 2 .. n - 1 clusters (partition_no), with statistics of the
-- distances of all pairs of points. A distance is within if its two points are in the same cluster,
-- otherwise between.
--   n_within, n_between: how many distances there are, as DOUBLE
--   within_sum, between_sum: their sums
--   concordant, discordant: numbers of comparisons, by _rank_key, of a distance within
--     with one between: those in which the one between is larger, and those in which it is smaller
--   within_minus_least: the sum of the distances within, minus the sum of the n_within
--     least of all distances
--   greatest_minus_least: the sum of the n_within greatest of all distances, minus that
--     of as many least
--   least_key, greatest_key: the extremes of _rank_key
-- The distances are sorted once. Each distance gets the number of distances within, and the number
-- of distances between, that are not larger. pairs has partition_no, same_cluster and the distance
-- d of each pair; sizes names the table of _pair_sizes (one row per partition).
CREATE OR REPLACE MACRO clustereval._pair_distance_statistics(pairs, sizes, distance, p) AS TABLE
  WITH pair_counts AS (
    -- NULL if the number of pairs exceeds BIGINT.
    SELECT
      partition_no,
      TRY_CAST(n_within AS BIGINT) AS n_within,
      TRY_CAST(n_between AS BIGINT) AS n_between
    FROM query_table(sizes)
  ),
  keyed AS (
    SELECT *, clustereval._rank_key(d, distance, p) AS key FROM query_table(pairs)
  ),
  ranked AS (
    SELECT
      partition_no, same_cluster, d, key,
      COUNT(CASE WHEN same_cluster THEN 1 END) OVER (
        PARTITION BY partition_no ORDER BY key ASC NULLS LAST RANGE UNBOUNDED PRECEDING
      ) AS within_up_to,
      COUNT(CASE WHEN NOT same_cluster THEN 1 END) OVER (
        PARTITION BY partition_no ORDER BY key ASC NULLS LAST RANGE UNBOUNDED PRECEDING
      ) AS between_up_to,
      row_number() OVER (PARTITION BY partition_no ORDER BY key ASC NULLS LAST) AS rank
    FROM keyed
  )
  SELECT
    pair.partition_no,
    CAST(MAX(size.n_within) AS DOUBLE) AS n_within,
    CAST(MAX(size.n_between) AS DOUBLE) AS n_between,
    clustereval._compensated_sum(
      CASE WHEN pair.same_cluster THEN pair.d ELSE 0.0 END
    ) AS within_sum,
    clustereval._compensated_sum(
      CASE WHEN pair.same_cluster THEN 0.0 ELSE pair.d END
    ) AS between_sum,
    SUM(
      CASE
        WHEN pair.same_cluster THEN size.n_between - pair.between_up_to ELSE 0
      END
    ) AS concordant,
    SUM(
      CASE
        WHEN pair.same_cluster THEN 0 ELSE size.n_within - pair.within_up_to
      END
    ) AS discordant,
    clustereval._compensated_sum(
      CASE
        WHEN pair.same_cluster AND pair.rank > size.n_within
        THEN pair.d
        ELSE 0.0
      END
    ) - clustereval._compensated_sum(
      CASE
        WHEN pair.same_cluster OR pair.rank > size.n_within
        THEN 0.0
        ELSE pair.d
      END
    ) AS within_minus_least,
    -- Pairs that are among the smallest and also among the largest cancel.
    clustereval._compensated_sum(
      CASE
        WHEN pair.rank > GREATEST(size.n_within, size.n_between)
        THEN pair.d
        ELSE 0.0
      END
    ) - clustereval._compensated_sum(
      CASE
        WHEN pair.rank <= LEAST(size.n_within, size.n_between)
        THEN pair.d
        ELSE 0.0
      END
    ) AS greatest_minus_least,
    MIN(pair.key) AS least_key,
    MAX(pair.key) AS greatest_key
  FROM ranked AS pair
  JOIN pair_counts AS size ON size.partition_no = pair.partition_no
  GROUP BY pair.partition_no;

-- The mean of 1 / rank over the ranks n_before + 1 .. n_before + n_tied, which are shared by n_tied
-- neighbors at the same distance from a point that has n_before nearer neighbors. A rank above
-- n_neighbors adds 0 to the mean; NULL if all ranks are above it.
CREATE OR REPLACE MACRO clustereval._mean_reciprocal_rank(n_before, n_tied, n_neighbors) AS
  list_sum(list_transform(
    range(n_before + 1, LEAST(n_before + n_tied, CAST(n_neighbors AS BIGINT)) + 1),
    lambda __ce_rank: 1.0 / __ce_rank
  )) / n_tied;

-- One row per partition (partition_no): connectivity, the sum of 1 / rank over the n_neighbors
-- nearest neighbors of each point that belong to another cluster. Tied neighbors share their ranks
-- (_mean_reciprocal_rank). pairs: partition_no; row_no, the number of a point; other_cluster,
-- whether a neighbor is in another cluster; its distance d; reach, that of the last nearest one.
CREATE OR REPLACE MACRO clustereval._connectivities(pairs, distance, p, n_neighbors) AS TABLE
  WITH ties AS (
    SELECT
      partition_no, row_no,
      clustereval._rank_key(d, distance, p) AS key,
      COUNT(*) AS n_tied,
      COUNT(CASE WHEN other_cluster THEN 1 END) AS n_other_cluster
    FROM query_table(pairs)
    WHERE d
      <= reach * (1 + 1e-10) + CASE WHEN lower(distance) = 'cosine' THEN 1e-14 ELSE 0 END
    GROUP BY partition_no, row_no, clustereval._rank_key(d, distance, p)
  ),
  placed AS (
    SELECT
      *,
      CAST(SUM(n_tied) OVER (
        PARTITION BY row_no ORDER BY key ASC NULLS LAST ROWS UNBOUNDED PRECEDING
      ) AS BIGINT) - n_tied AS n_before
    FROM ties
  )
  SELECT
    partition_no,
    clustereval._compensated_sum(
      n_other_cluster
        * clustereval._mean_reciprocal_rank(n_before, n_tied, n_neighbors)
    ) AS connectivity
  FROM placed
  GROUP BY partition_no;

-- The rows of _connectivities for partitions of two clusters or more. points: rows of
-- _pairable_points.
CREATE OR REPLACE MACRO clustereval._point_connectivities(
  points, distance, p, n_neighbors
) AS TABLE
  WITH reaches AS MATERIALIZED (
    SELECT
      one.row_no,
      list_max(MIN(
        clustereval._distance(one.point, other.point, distance, p),
        LEAST(CAST(n_neighbors AS BIGINT), one.n_points - 1)
      )) AS reach
    FROM query_table(points) AS one
    JOIN query_table(points) AS other
      ON other.partition_no = one.partition_no
      AND other.row_no <> one.row_no
    WHERE one.n_clusters > 1
    GROUP BY one.row_no, one.n_points
  ),
  pairs AS (
    SELECT
      one.partition_no, one.row_no,
      one.number <> other.number AS other_cluster,
      clustereval._distance(one.point, other.point, distance, p) AS d,
      reach.reach
    FROM query_table(points) AS one
    JOIN reaches AS reach ON reach.row_no = one.row_no
    JOIN query_table(points) AS other
      ON other.partition_no = one.partition_no
      AND other.row_no <> one.row_no
  )
  SELECT * FROM clustereval._connectivities(pairs, distance, p, n_neighbors);

---------------------------------------------------------------------------------------------------
-- Formulas of the columns of _pair_distance_statistics
---------------------------------------------------------------------------------------------------

-- x, a sum of distances, or NULL. Raises an error if x is infinite or NaN.
CREATE OR REPLACE MACRO clustereval._check_sum_of_distances(x) AS
  CASE
    WHEN NOT isfinite(x) THEN error('vector: distances overflow; scale the coordinates down')
    ELSE x
  END;

-- One row per partition of counts (total, n_dropped, n_noise, n_clusters) with the columns of
-- pairwise_report. sizes: rows of _pair_sizes; statistics: rows of _pair_distance_statistics;
-- connectivities: rows of _connectivities.
CREATE OR REPLACE MACRO clustereval._pairwise_indices(
  counts, sizes, statistics, connectivities
) AS TABLE
  SELECT
    own.partition_key,
    own.total AS n,
    own.n_dropped,
    own.n_noise,
    own.n_clusters,
    clustereval._widen(COALESCE(size.n_within, 0)) AS n_within_pairs,
    clustereval._widen(COALESCE(size.n_between, 0)) AS n_between_pairs,
    CASE
      WHEN pairs.least_key < pairs.greatest_key
      THEN pairs.within_minus_least / pairs.greatest_minus_least
    END AS c_index,
    clustereval._ratio(
      pairs.concordant - pairs.discordant, pairs.concordant + pairs.discordant
    ) AS gamma,
    clustereval._ratio(
      pairs.discordant,
      (pairs.n_within + pairs.n_between)
        * (pairs.n_within + pairs.n_between - 1) / 2
    ) AS g_plus,
    (pairs.concordant - pairs.discordant) / sqrt(
      pairs.n_within * pairs.n_between
        * ((pairs.n_within + pairs.n_between) * (pairs.n_within + pairs.n_between - 1) / 2)
    ) AS tau,
    clustereval._ratio(
      clustereval._check_sum_of_distances(pairs.within_sum) / pairs.n_within,
      clustereval._check_sum_of_distances(pairs.between_sum) / pairs.n_between
    ) AS mcclain_rao,
    (pairs.within_sum / pairs.n_within - pairs.between_sum / pairs.n_between)
      * sqrt(pairs.n_within * pairs.n_between)
      / (pairs.n_within + pairs.n_between) AS point_biserial,
    CASE
      WHEN own.total < 2 THEN NULL
      WHEN own.n_clusters = 1 THEN 0.0
      ELSE neighbor.connectivity
    END AS connectivity
  FROM query_table(counts) AS own
  LEFT JOIN query_table(sizes) AS size
    ON size.partition_key IS NOT DISTINCT FROM own.partition_key
  LEFT JOIN query_table(statistics) AS pairs ON pairs.partition_no = size.partition_no
  LEFT JOIN query_table(connectivities) AS neighbor
    ON neighbor.partition_no = size.partition_no;

---------------------------------------------------------------------------------------------------
-- Linkages of pairs of clusters, for dunn_index
---------------------------------------------------------------------------------------------------

-- One row per ordered pair of clusters of a partition (partition_no, one, other), and, for clusters
-- of two points or more, per cluster with itself: complete, the largest distance between their
-- points; sum, the sum of these distances; and hausdorff, the largest distance from a point of one
-- to its nearest point in other. No rows unless the option generalized is TRUE. members: rows of
-- _points_in_balls.
CREATE OR REPLACE MACRO clustereval._pair_linkages(members, distance, p, generalized) AS TABLE
  WITH from_points AS (
    SELECT
      one.partition_no, one.row_no, one.number AS one, other.number AS other,
      MIN(clustereval._distance(one.point, other.point, distance, p)) AS nearest,
      MAX(clustereval._distance(one.point, other.point, distance, p)) AS farthest,
      SUM(clustereval._distance(one.point, other.point, distance, p)) AS sum
    FROM query_table(members) AS one
    JOIN query_table(members) AS other
      ON other.partition_no = one.partition_no AND other.row_no <> one.row_no
    WHERE CAST(generalized AS VARCHAR) = 'true'
    GROUP BY one.partition_no, one.row_no, one.number, other.number
  )
  SELECT
    partition_no, one, other,
    MAX(farthest) AS complete,
    clustereval._compensated_sum(sum) AS sum,
    MAX(nearest) AS hausdorff
  FROM from_points
  GROUP BY partition_no, one, other;

-- One row per partition (partition_no): the smallest complete linkage, average linkage and
-- Hausdorff distance between two clusters, and the largest mean distance between two points of the
-- same cluster (max_mean_pair). linkages: rows of _pair_linkages.
CREATE OR REPLACE MACRO clustereval._linkage_extremes(linkages, clusters) AS TABLE
  WITH undirected AS (
    SELECT
      linkage.partition_no, one.number AS one, other.number AS other,
      MAX(linkage.complete) AS complete, MAX(linkage.hausdorff) AS hausdorff,
      clustereval._compensated_sum(linkage.sum) / COUNT(*) AS sum,
      MAX(one.n) AS n_one, MAX(other.n) AS n_other
    FROM query_table(linkages) AS linkage
    JOIN query_table(clusters) AS one ON one.number = LEAST(linkage.one, linkage.other)
    JOIN query_table(clusters) AS other ON other.number = GREATEST(linkage.one, linkage.other)
    GROUP BY linkage.partition_no, one.number, other.number
  )
  SELECT
    partition_no,
    MIN(CASE WHEN one <> other THEN complete END) AS min_complete_linkage,
    MIN(CASE WHEN one <> other THEN sum / (n_one * n_other) END) AS min_average_linkage,
    MIN(CASE WHEN one <> other THEN hausdorff END) AS min_hausdorff,
    MAX(CASE WHEN one = other THEN sum / (n_one * (n_one - 1)) END) AS max_mean_pair
  FROM undirected
  GROUP BY partition_no;

-- One row per partition (partition_no): min_mean_to_other_center, the smallest over pairs of
-- clusters of the mean distance of the points of both from the center of the other. No rows unless
-- the option generalized is TRUE.
CREATE OR REPLACE MACRO clustereval._mean_to_other_center(
  members, balls, distance, p, generalized
) AS TABLE
  WITH means AS (
    SELECT
      member.partition_no,
      clustereval._compensated_sum(
        clustereval._distance(member.point, ball.center, distance, p)
      ) / COUNT(*) AS mean
    FROM query_table(members) AS member
    JOIN query_table(balls) AS ball
      ON ball.partition_no = member.partition_no
      AND ball.number <> member.number
    WHERE CAST(generalized AS VARCHAR) = 'true'
    GROUP BY
      member.partition_no, LEAST(member.number, ball.number),
      GREATEST(member.number, ball.number)
  )
  SELECT partition_no, MIN(mean) AS min_mean_to_other_center
  FROM means
  GROUP BY partition_no;

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
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise)
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_moments AS (SELECT * FROM clustereval._coordinate_moments(__ce_points, 'mean')),
  __ce_origins AS (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance, p, weights)
  ),
  __ce_coordinates AS (
    SELECT * FROM clustereval._scale_moments(__ce_moments, distance, p, weights)
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, 'mean')
  ),
  __ce_spreads AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_arguments, __ce_centers, distance, p
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(
      __ce_points, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, weights
    )
  ),
  __ce_sizes AS MATERIALIZED (SELECT * FROM clustereval._pair_sizes(__ce_clusters)),
  -- Pairs are built only after the points and their number have been checked.
  __ce_size_check AS MATERIALIZED (
    SELECT clustereval._check_max_points(MAX(n_points), max_points) AS fits
    FROM __ce_sizes AS sizes
    WHERE COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
  ),
  __ce_pairable AS MATERIALIZED (
    SELECT *
    FROM clustereval._pairable_points(__ce_points, __ce_clusters, __ce_sizes)
    WHERE (SELECT fits FROM __ce_size_check)
  ),
  __ce_pairs AS (SELECT * FROM clustereval._distances_of_pairs(__ce_pairable, distance, p)),
  __ce_counts AS (SELECT * FROM clustereval._point_row_counts(__ce_spreads)),
  __ce_statistics AS (
    SELECT *
    FROM clustereval._pair_distance_statistics(__ce_pairs, __ce_sizes, distance, p)
  ),
  __ce_connectivities AS (
    SELECT * FROM clustereval._point_connectivities(__ce_pairable, distance, p, n_neighbors)
  )
  SELECT *
  FROM clustereval._pairwise_indices(__ce_counts, __ce_sizes, __ce_statistics, __ce_connectivities)
  WHERE clustereval._check_options(clustereval._valid_pairwise_options(
    distance, p, weights, noise, noise_as, n_neighbors, max_points, missing
  ))
    AND COALESCE((SELECT fits FROM __ce_size_check), TRUE)
    AND COALESCE((SELECT MIN(valid) FROM __ce_checked), TRUE)
  ORDER BY partition_key ASC NULLS LAST;
