-- silhouette_sampling: silhouettes of sampled points, and silhouettes estimated from sampled
-- references.
--
-- A query is a point whose silhouette is computed. A reference is one of the points of a cluster
-- from which mean distances to the cluster are estimated. There are reference_size references per
-- cluster, drawn without replacement, or all points if the cluster has no more. All queries use the
-- same references, so the error of the references does not average out over the queries. Its
-- variance is that of a sum of influences, one for each reference. The parameters clusters, queries
-- and means name CTEs of rows of _cluster_moments, _drawn_members and _mean_distances.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- TRUE if mean distances are estimated from references, by these options of silhouette_score.
CREATE OR REPLACE MACRO clustereval._draws_references(distance, p, reference_size) AS
  reference_size IS NOT NULL
    AND clustereval._plain_distance_name(distance, p) NOT IN ('sqeuclidean', 'cosine');

---------------------------------------------------------------------------------------------------
-- Draws of points
---------------------------------------------------------------------------------------------------

-- One row per member (a point that counts, a row of _clustered_points): row_no, number,
-- partition_no, and place, its position from 0 in its partition, sorted by id, or by row number if
-- no id was given.
CREATE OR REPLACE MACRO clustereval._id_places(members) AS TABLE
  SELECT
    row_no, number, partition_no,
    CAST(row_number() OVER (
      PARTITION BY partition_no ORDER BY
        CASE WHEN NOT has_default_id THEN id END ASC NULLS LAST, row_no ASC NULLS LAST
    ) - 1 AS BIGINT) AS place
  FROM query_table(members);

-- No row. Raises an error if an id occurs twice in a partition.
CREATE OR REPLACE MACRO clustereval._check_ids(members) AS TABLE
  WITH repeated AS (
    SELECT partition_no, id, COUNT(*) AS n
    FROM query_table(members)
    WHERE NOT has_default_id
    GROUP BY partition_no, id
    HAVING COUNT(*) > 1
  )
  SELECT CAST(error(concat(
    'id: expected one row for each id of a partition, got ', n, ' rows with ',
    clustereval._show_value(id)
  )) AS BOOLEAN) AS valid
  FROM (FROM repeated ORDER BY id ASC NULLS LAST, partition_no ASC NULLS LAST LIMIT 1);

-- x squared plus `added`, modulo 2^31 - 1, of integers below 2^31: a step of _sample_key.
CREATE OR REPLACE MACRO clustereval._square_step(x, added) AS (x * x + added) % 2147483647;
-- Sample key (see _sample_key) from x0 and the results x1 and x2 of the first two steps. The third
-- step is linear in x2 and x0, and the fourth step is its square plus x1. A macro has no variables,
-- so a result that is used twice has to be a parameter.
CREATE OR REPLACE MACRO clustereval._sample_key_from_x2(x0, x1, x2) AS
  clustereval._square_step((x2 * 39373 + x0) % 2147483647, x1);
-- Sample key (see _sample_key) from x0, x1 and the seed. The second step is x1 squared plus the
-- seed.
CREATE OR REPLACE MACRO clustereval._sample_key_from_x1(x0, x1, seed) AS
  clustereval._sample_key_from_x2(x0, x1, clustereval._square_step(x1, seed));
-- Sample key of a point, a pseudorandom integer below 2^31 - 1: the points with the smallest keys
-- are the sample, the same in every engine. x0 is the point's position among the sorted ids, seed
-- the random_state for queries, 1000000007 more for references, both modulo 2^31 - 1. The first of
-- four steps is linear in x0 and the seed.
CREATE OR REPLACE MACRO clustereval._sample_key(x0, seed) AS
  clustereval._sample_key_from_x1(x0, (x0 * 48271 + seed * 69621 + 1) % 2147483647, seed);

-- The rows of members (_clustered_points) that method 'sample' draws. is_query: the sample_size
-- points of each partition with the smallest sample keys (_sample_key), or all points without one.
-- is_reference: the same for reference_size and each cluster, but no point without reference_size;
-- reference_rank is the rank among the points of the cluster. ids are the same rows without points.
-- ids_check is read so that _check_ids raises its error.
CREATE OR REPLACE MACRO clustereval._drawn_members(
  members, ids, ids_check, sample_size, reference_size, random_state
) AS TABLE
  WITH keyed AS (
    SELECT
      row_no, number, partition_no, place,
      clustereval._sample_key(
        place % 2147483647, CAST(random_state AS BIGINT) % 2147483647
      ) AS query_key,
      clustereval._sample_key(
        place % 2147483647, (CAST(random_state AS BIGINT) + 1000000007) % 2147483647
      ) AS reference_key
    FROM clustereval._id_places(ids)
  ),
  ranked AS (
    SELECT
      row_no,
      row_number() OVER (
        PARTITION BY partition_no
        ORDER BY query_key ASC NULLS LAST, place ASC NULLS LAST
      ) AS query_rank,
      row_number() OVER (
        PARTITION BY number
        ORDER BY reference_key ASC NULLS LAST, place ASC NULLS LAST
      ) AS reference_rank
    FROM keyed
  ),
  marked AS (
    SELECT
      row_no,
      reference_rank,
      COALESCE(query_rank <= sample_size, TRUE) AS is_query,
      COALESCE(reference_rank <= reference_size, FALSE) AS is_reference
    FROM ranked
  )
  SELECT member.*, marked.is_query, marked.is_reference, marked.reference_rank
  FROM query_table(members) AS member
  JOIN marked ON marked.row_no = member.row_no
  WHERE (marked.is_query OR marked.is_reference)
    AND COALESCE((SELECT MIN(valid) FROM query_table(ids_check)), TRUE);

---------------------------------------------------------------------------------------------------
-- Mean distances to references
---------------------------------------------------------------------------------------------------

-- A table of mean distances, estimated from the distances to the references. The mean distance to
-- the point's own cluster leaves out the query itself. There are four more columns: a_more and
-- b_more, a_less and b_less are a and b after every mean distance was increased or decreased by
-- half of the difference between the means of the references of odd rank and of even rank, times
-- the root of the share of the cluster that is not drawn. This is as much as the mean varies
-- because of the draw.
CREATE OR REPLACE MACRO clustereval._reference_means(
  queries, reference_points, clusters, plain_distance, p, reference_size
) AS TABLE
  -- Each half of the references of a cluster has its own number: twice the number of the cluster,
  -- or one more.
  WITH halves AS NOT MATERIALIZED (
    SELECT number * 2 + reference_rank % 2 AS number, point FROM query_table(reference_points)
  ),
  half_counts AS MATERIALIZED (SELECT number, COUNT(*) AS n FROM halves GROUP BY number),
  target_lists AS NOT MATERIALIZED (
    SELECT
      query.row_no, query.number,
      range(query.partition_no * 2, (query.partition_no + own.n_clusters) * 2) AS targets
    FROM query_table(queries) AS query
    JOIN query_table(clusters) AS own ON own.number = query.number
  ),
  sums AS (
    SELECT * FROM clustereval._distance_sums(
      queries, halves, half_counts, target_lists, plain_distance, p
    )
  ),
  half_sums AS NOT MATERIALIZED (
    SELECT
      summed.row_no, summed.number, summed.sum,
      summed.target // 2 AS target,
      summed.target % 2 AS half,
      counted.n - CASE
        WHEN query.is_reference AND summed.target = query.number * 2 + query.reference_rank % 2
        THEN 1
        ELSE 0
      END AS n
    FROM sums AS summed
    JOIN half_counts AS counted ON counted.number = summed.target
    JOIN query_table(queries) AS query ON query.row_no = summed.row_no
  ),
  target_sums AS (
    SELECT
      row_no, number, target,
      SUM(sum) AS sum,
      SUM(n) AS n,
      MAX(CASE WHEN half = 1 AND n > 0 THEN sum / n END)
        - MAX(CASE WHEN half = 0 AND n > 0 THEN sum / n END) AS difference
    FROM half_sums
    GROUP BY row_no, number, target
  ),
  target_distances AS NOT MATERIALIZED (
    SELECT
      summed.row_no, summed.number, summed.target,
      CASE WHEN summed.n = 0 THEN 0.0 ELSE summed.sum / summed.n END AS distance,
      CASE
        WHEN cluster.n > reference_size AND summed.difference IS NOT NULL
        THEN sqrt(1 - CAST(reference_size AS DOUBLE) / cluster.n) * summed.difference / 2
        ELSE 0.0
      END AS deviation
    FROM target_sums AS summed
    JOIN query_table(clusters) AS cluster ON cluster.number = summed.target
  ),
  varied AS NOT MATERIALIZED (
    SELECT
      *,
      GREATEST(distance + deviation, 0.0) AS more,
      GREATEST(distance - deviation, 0.0) AS less
    FROM target_distances
  )
  SELECT
    row_no, number,
    TRUE AS exact,
    MAX(distance) FILTER (WHERE target = number) AS a_lower,
    MAX(distance) FILTER (WHERE target = number) AS a_upper,
    MIN(distance) FILTER (WHERE target <> number) AS b_lower,
    MIN(distance) FILTER (WHERE target <> number) AS b_upper,
    clustereval._number_at_least_key(target, distance, target <> number) AS neighbor,
    MAX(more) FILTER (WHERE target = number) AS a_more,
    MIN(more) FILTER (WHERE target <> number) AS b_more,
    MAX(less) FILTER (WHERE target = number) AS a_less,
    MIN(less) FILTER (WHERE target <> number) AS b_less
  FROM varied
  GROUP BY row_no, number;

-- The rows of silhouettes (_point_silhouettes, from _reference_means) without their bias, for means
-- of many silhouettes. The bias arises because the silhouette is not a linear function of a and b,
-- and because b is the smallest of several estimates. Twice the silhouette minus the mean of the
-- silhouettes of varied means removes the bias of the order 1 / reference_size.
CREATE OR REPLACE MACRO clustereval._unbiased_silhouettes(silhouettes) AS TABLE
  WITH corrected AS (
    SELECT
      *,
      CASE
        WHEN lower IS NULL OR cluster_size = 1 THEN lower
        ELSE GREATEST(-1.0, LEAST(1.0, 2 * lower - (
          clustereval._silhouette_value(a_more, b_more)
            + clustereval._silhouette_value(a_less, b_less)
        ) / 2))
      END AS silhouette
    FROM query_table(silhouettes)
  )
  SELECT * EXCLUDE (lower, upper, silhouette), silhouette AS lower, silhouette AS upper
  FROM corrected;

---------------------------------------------------------------------------------------------------
-- Errors
---------------------------------------------------------------------------------------------------

-- The number of a query's group, for the error of the mean silhouette of the group: its row,
-- cluster or partition, for the level 'point', 'cluster' or 'partition'.
CREATE OR REPLACE MACRO clustereval._group_number(level, row_no, number, partition_no) AS
  CASE level WHEN 'point' THEN row_no WHEN 'cluster' THEN number ELSE partition_no END;

-- Derivative of the silhouette (_silhouette_value) with respect to a, the mean distance to the
-- point's own cluster.
CREATE OR REPLACE MACRO clustereval._silhouette_by_own(a, b) AS
  CASE WHEN a > b THEN -b / a / a WHEN b > 0 THEN -1 / b ELSE 0.0 END;

-- Derivative of the silhouette (_silhouette_value) with respect to b, the mean distance to the
-- nearest other cluster.
CREATE OR REPLACE MACRO clustereval._silhouette_by_nearest(a, b) AS
  CASE WHEN a > b THEN 1 / a WHEN b > 0 THEN a / b / b ELSE 0.0 END;

-- One row for each query and each of its two clusters (target), its own cluster and the nearest
-- other cluster, if the references of the cluster are not all of its points: row_no, group_no
-- (_group_number), point, mean (the mean distance of the point to the target), and weight, the
-- growth of the silhouette with the distance to a single reference. means: rows of
-- _reference_means.
CREATE OR REPLACE MACRO clustereval._reference_weights(
  means, queries, clusters, reference_size, level
) AS TABLE
  WITH measured AS (
    SELECT
      query.row_no, query.number, query.point, query.is_reference,
      clustereval._group_number(
        level, query.row_no, query.number, query.partition_no
      ) AS group_no,
      measure.a_lower AS a,
      measure.b_lower AS b,
      measure.neighbor
    FROM query_table(means) AS measure
    JOIN query_table(queries) AS query ON query.row_no = measure.row_no
    JOIN query_table(clusters) AS own ON own.number = query.number AND own.n > 1
    WHERE measure.neighbor IS NOT NULL
  )
  SELECT
    measured.row_no, measured.group_no, measured.point,
    measured.number AS target,
    measured.a AS mean,
    clustereval._silhouette_by_own(measured.a, measured.b)
      / (reference_size - CASE WHEN measured.is_reference THEN 1 ELSE 0 END) AS weight
  FROM measured
  JOIN query_table(clusters) AS cluster
    ON cluster.number = measured.number AND cluster.n > reference_size
  UNION ALL
  SELECT
    measured.row_no, measured.group_no, measured.point,
    measured.neighbor AS target,
    measured.b AS mean,
    clustereval._silhouette_by_nearest(measured.a, measured.b) / reference_size AS weight
  FROM measured
  JOIN query_table(clusters) AS cluster
    ON cluster.number = measured.neighbor AND cluster.n > reference_size;

-- One row per group of queries (group_no, see _group_number) on which sampled references have an
-- influence: the variance of the sum of its silhouettes due to the draw of the references. The
-- influence of a reference is the sum over the queries of weight (_reference_weights) times the
-- deviation of its distance to the reference from its mean distance.
CREATE OR REPLACE MACRO clustereval._reference_variances(
  means, queries, reference_points, clusters, plain_distance, p, reference_size, level
) AS TABLE
  WITH influences AS (
    SELECT
      weighted.group_no, weighted.target,
      SUM(weighted.weight * (
        clustereval._unchecked_distance(weighted.point, reference.point, plain_distance, p)
          - weighted.mean
      )) AS influence
    FROM clustereval._reference_weights(
      means, queries, clusters, reference_size, level
    ) AS weighted
    JOIN query_table(reference_points) AS reference
      ON reference.number = weighted.target AND reference.row_no <> weighted.row_no
    GROUP BY weighted.group_no, weighted.target, reference.row_no
  )
  SELECT
    influence.group_no,
    SUM(
      pow(influence.influence, 2) * (1 - CAST(reference_size AS DOUBLE) / cluster.n)
        * reference_size / (reference_size - 1)
    ) AS variance
  FROM influences AS influence
  JOIN query_table(clusters) AS cluster ON cluster.number = influence.target
  GROUP BY influence.group_no;

-- One row per group of silhouettes (group_no, see _group_number) of sampled points: std_error, the
-- standard error of their mean, due to the draw of the points and of the references (variances,
-- rows of _reference_variances). NULL if only one of several points was drawn, and if the
-- silhouettes are NULL.
CREATE OR REPLACE MACRO clustereval._sample_errors(silhouettes, variances, level) AS TABLE
  WITH grouped AS (
    SELECT
      clustereval._group_number(level, row_no, number, partition_no) AS group_no,
      COUNT(*) AS m,
      CAST(MAX(CASE level WHEN 'point' THEN 1 WHEN 'cluster' THEN cluster_size ELSE total END)
        AS DOUBLE) AS n,
      var_samp(lower) AS variance,
      COUNT(lower) AS n_known
    FROM query_table(silhouettes)
    GROUP BY 1
  )
  SELECT
    grouped.group_no,
    CASE
      WHEN grouped.n_known > 0
      THEN sqrt(
        CASE
          WHEN grouped.m < grouped.n
          THEN grouped.variance / grouped.m * (1 - grouped.m / grouped.n)
          ELSE 0.0
        END + COALESCE(drawn.variance, 0.0) / grouped.m / grouped.m
      )
    END AS std_error
  FROM grouped
  LEFT JOIN query_table(variances) AS drawn ON drawn.group_no = grouped.group_no;
