-- comparison: several clusterings of the same rows, the best one first.
--
--   * A profile is a label and a list of clusters, one for each clustering, with the rows that have
--     them all. All scores of labels are computed from the profiles, so the table is read once for
--     them. Scores of points read it a fixed number of times.
--   * In the long form, the table has a row for each id and run. The rows of an id become one row
--     with a list of its clusters, so that its label and its vector need to be in only one of them.
--   * The common rows are those that every clustering scores. A score of the common rows does not
--     depend on which rows a clustering leaves out, so it decides the order.

---------------------------------------------------------------------------------------------------
-- The long form
---------------------------------------------------------------------------------------------------

-- The names of the columns in clusters, NULL if one of them is an expression. An aggregate.
CREATE OR REPLACE MACRO clustereval._names_of_columns(clusters) AS
  clustereval._coordinate_names(clustereval._vector_text(concat('', alias(any_value(clusters)))));

-- x, any value. Raises an error if id is given without run, or run with several columns of
-- clusters. An aggregate, for use after HAVING.
CREATE OR REPLACE MACRO clustereval._check_long_form(x, clusters, id, run) AS
  CASE
    WHEN clustereval._is_absent(run) AND NOT clustereval._is_absent(id)
    THEN error('run: expected a column together with id, got NULL')
    WHEN NOT clustereval._is_absent(run)
      AND clustereval._names_of_columns(clusters)[2] IS NOT NULL
    THEN error('clusters: expected a list of one column together with run, got several')
    ELSE x
  END;

-- The only value that is not NULL of x in the rows of an id. Raises an error if there are several.
-- An aggregate.
CREATE OR REPLACE MACRO clustereval._only_value(x, parameter, id) AS
  CASE
    WHEN MIN(x) <> MAX(x)
    THEN error(concat(
      parameter, ': expected the same value in all rows of an id, got different ones for id ',
      clustereval._show_value(any_value(id))
    ))
    ELSE MIN(x)
  END;

-- One row per partition and value of run in rows with a cluster: partition_key; run; run_no, its
-- number in the partition, from 1; and n_runs, their number. No row without run.
CREATE OR REPLACE MACRO clustereval._numbered_runs(tbl, clusters, partition_by, run) AS TABLE
  WITH __ce_values AS (
    SELECT partition_by AS __ce_key, run AS __ce_run
    FROM query_table(tbl)
    WHERE NOT clustereval._is_left_out(run) AND clusters[1] IS NOT NULL
    GROUP BY partition_by, run
  )
  SELECT
    __ce_key AS partition_key,
    __ce_run AS run,
    ROW_NUMBER() OVER (PARTITION BY __ce_key ORDER BY __ce_run ASC NULLS LAST) AS run_no,
    COUNT(*) OVER (PARTITION BY __ce_key) AS n_runs
  FROM __ce_values;

-- One row per partition and id of a table in the long form: partition_key; label; clusters, a list
-- with the cluster of the id in each run of its partition; n, its weight, 1 without weights;
-- coordinates, its vector; and has_vectors, TRUE if there is an argument vector. No row without
-- run. runs: rows of _numbered_runs.
CREATE OR REPLACE MACRO clustereval._rows_of_ids(
  tbl, clusters, label, vector, weight, partition_by, id, run, runs
) AS TABLE
  WITH __ce_long AS (
    SELECT
      partition_by AS __ce_key, id AS __ce_id, run AS __ce_run, clusters[1] AS __ce_cluster,
      NOT clustereval._is_left_out(id) AS __ce_has_id,
      label AS __ce_label,
      CASE WHEN clustereval._is_left_out(weight) THEN 1 ELSE weight END AS __ce_weight,
      -- A row of columns without any value is not a point.
      CASE WHEN list_any_value(vector) IS NOT NULL THEN vector END AS __ce_vector,
      coalesce(alias(vector), '') <> 'CAST(NULL AS DOUBLE[])' AS __ce_has_vectors
    FROM query_table(clustereval._check_table_name(tbl))
    WHERE NOT clustereval._is_left_out(run)
    UNION ALL
    SELECT
      any_value(partition_by), any_value(id), any_value(run), any_value(clusters[1]), FALSE,
      any_value(label), NULL, NULL, FALSE
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_columns(
      clustereval._check_long_form(COUNT(*) > 0, clusters, id, run),
      [clustereval._given_column('id', id), clustereval._given_column('run', run)]
    )
  ),
  numbered AS (
    SELECT
      entry.*,
      CASE
        WHEN entry.__ce_id IS NULL
        THEN error(concat(
          'id: expected ',
          CASE WHEN entry.__ce_has_id THEN 'a value in every row' ELSE 'a column' END,
          ' together with run, got NULL'
        ))
        WHEN entry.__ce_cluster IS NULL THEN NULL
        WHEN entry.__ce_run IS NULL
        THEN error('run: expected a value in every row with a cluster, got NULL')
        ELSE numbers.run_no
      END AS run_no
    FROM __ce_long AS entry
    LEFT JOIN query_table(runs) AS numbers
      ON numbers.partition_key IS NOT DISTINCT FROM entry.__ce_key
      AND numbers.run IS NOT DISTINCT FROM entry.__ce_run
  ),
  counts AS (
    SELECT partition_key, MAX(n_runs) AS n_runs FROM query_table(runs) GROUP BY partition_key
  ),
  ids AS (
    SELECT
      __ce_key, __ce_id,
      any_value(__ce_has_vectors) AS has_vectors,
      clustereval._only_value(__ce_label, 'label', __ce_id) AS label,
      clustereval._check_weight(clustereval._only_value(__ce_weight, 'weight', __ce_id)) AS n,
      any_value(__ce_vector) AS coordinates,
      MIN(hash(__ce_vector)) FILTER (WHERE __ce_vector IS NOT NULL) AS least,
      MAX(hash(__ce_vector)) FILTER (WHERE __ce_vector IS NOT NULL) AS greatest,
      list(__ce_cluster ORDER BY run_no ASC NULLS LAST) FILTER (WHERE run_no IS NOT NULL) AS found,
      list(run_no ORDER BY run_no ASC NULLS LAST) FILTER (WHERE run_no IS NOT NULL) AS numbers
    FROM numbered
    GROUP BY __ce_key, __ce_id
  )
  SELECT
    owner.__ce_key AS partition_key,
    owner.label,
    CASE
      WHEN least <> greatest
      THEN error(concat(
        'vector: expected the same value in all rows of an id, got different ones for id ',
        clustereval._show_value(__ce_id)
      ))
      WHEN len(list_distinct(numbers)) < len(numbers)
      THEN error(concat(
        'id: expected one row per id in a run, got several rows of id ',
        clustereval._show_value(__ce_id)
      ))
      WHEN len(numbers) = counts.n_runs THEN found
      ELSE list_transform(
        range(1, counts.n_runs + 1), lambda __ce_no: found[list_position(numbers, __ce_no)]
      )
    END AS clusters,
    owner.n,
    owner.coordinates,
    owner.has_vectors
  FROM ids AS owner
  JOIN counts ON counts.partition_key IS NOT DISTINCT FROM owner.__ce_key;

---------------------------------------------------------------------------------------------------
-- Profiles
---------------------------------------------------------------------------------------------------

-- TRUE for noise that counts as singletons.
CREATE OR REPLACE MACRO clustereval._is_single(cluster, noise, noise_as) AS
  COALESCE(noise_as = 'singletons', FALSE) AND clustereval._is_noise(cluster, noise);

-- TRUE if no clustering of the list `clusters` leaves the row out.
CREATE OR REPLACE MACRO clustereval._all_score(clusters, noise, noise_as) AS
  len(list_filter(clusters, lambda __ce_one:
    __ce_one IS NULL OR (noise_as = 'drop' AND clustereval._is_noise(__ce_one, noise))
  )) = 0;

-- FALSE. Raises an error if there are no clusters or a column of them is given twice, or if there
-- are neither labels nor vectors. An aggregate, for use after HAVING.
CREATE OR REPLACE MACRO clustereval._check_can_compare(clusters, label, vector) AS
  CASE
    WHEN regexp_matches(concat('', alias(any_value(clusters))), 'list_value\(\)\)$')
    THEN error('clusters: expected a list of columns, one for each clustering, got an empty list')
    WHEN len(list_distinct(clustereval._names_of_columns(clusters)))
      < len(clustereval._names_of_columns(clusters))
    THEN error('clusters: a column is given twice')
    WHEN clustereval._is_absent(label)
      AND concat('', alias(any_value(vector))) = 'any_value(CAST(NULL AS DOUBLE[]))'
    THEN error(
      'label: expected the column of the true labels, or vector := the coordinates, got neither'
    )
    ELSE FALSE
  END;

-- One row per value of (partition_by, label, clusters) in the table named tbl: partition_key,
-- label, clusters, n, and is_common, TRUE if the rows have a label and every clustering scores
-- them. owners: rows of _rows_of_ids.
CREATE OR REPLACE MACRO clustereval._clustering_profiles(
  tbl, clusters, label, vector, weight, partition_by, noise, noise_as, run, owners
) AS TABLE
  -- The rows of the table, or none in the long form.
  WITH __ce_wide AS (
    SELECT * FROM query_table(clustereval._check_table_name(tbl))
    WHERE clustereval._is_left_out(run)
  ),
  -- Groups of rows. A struct hides the list from the check of _row_groups, which names cluster.
  __ce_keyed AS (
    SELECT keyed.partition_key, keyed.label, keyed.cluster['list'] AS list, keyed.n
    FROM clustereval._row_groups(
      __ce_wide, label, {'list': clusters}, weight, partition_by, NULL, 'cluster'
    ) AS keyed
    UNION ALL
    SELECT owner.partition_key, owner.label, owner.clusters, CAST(SUM(owner.n) AS BIGINT)
    FROM query_table(owners) AS owner
    GROUP BY owner.partition_key, owner.label, owner.clusters
    UNION ALL
    SELECT NULL, NULL, NULL, COUNT(*)
    FROM query_table(clustereval._check_table_name(tbl))
    WHERE FALSE
    HAVING clustereval._check_columns(
      clustereval._check_noise(
        clustereval._check_vector_type(
          clustereval._check_can_compare(clusters, label, vector), vector
        ),
        noise, clusters[1]
      ),
      [
        clustereval._given_column('clusters', clusters),
        clustereval._given_column('vector', vector)
      ]
    )
  )
  SELECT
    own.partition_key, own.label, own.list AS clusters, own.n,
    own.label IS NOT NULL AND clustereval._all_score(own.list, noise, noise_as) AS is_common
  FROM __ce_keyed AS own
  WHERE own.n > 0;

-- The names of the clusterings, one row for each: partition_key; is_for_all, FALSE in the long
-- form, whose partitions have runs of their own; run_no; and name. No row if one of the clusters is
-- an expression. runs: rows of _numbered_runs.
CREATE OR REPLACE MACRO clustereval._clustering_names(
  tbl, clusters, partition_by, run, runs
) AS TABLE
  WITH __ce_columns AS (
    SELECT
      any_value(partition_by) AS __ce_key,
      clustereval._names_of_columns(clusters) AS __ce_names
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._is_absent(run)
  )
  SELECT
    __ce_key AS partition_key,
    TRUE AS is_for_all,
    unnest(range(1, len(__ce_names) + 1)) AS run_no,
    unnest(__ce_names) AS name
  FROM __ce_columns
  UNION ALL
  SELECT numbers.partition_key, FALSE, numbers.run_no, CAST(numbers.run AS VARCHAR)
  FROM query_table(runs) AS numbers;

-- The rows of profiles (_clustering_profiles), once for each clustering: run_no, its number from 1,
-- and cluster in place of clusters.
CREATE OR REPLACE MACRO clustereval._unfold_profiles(profiles) AS TABLE
  SELECT
    partition_key, label, n, is_common,
    unnest(range(1, len(clusters) + 1)) AS run_no,
    unnest(clusters) AS cluster
  FROM query_table(profiles);

---------------------------------------------------------------------------------------------------
-- Scores
---------------------------------------------------------------------------------------------------

-- The rows of _row_groups of every clustering, by scope: partition_key is a struct {key, run_no,
-- common}, where common is TRUE if only the common rows count. runs: rows of _unfold_profiles.
CREATE OR REPLACE MACRO clustereval._scoped_groups(runs, noise, noise_as) AS TABLE
  WITH __ce_group_counts AS (
    SELECT
      {'key': partition_key, 'run_no': run_no, 'common': FALSE} AS __ce_partition,
      label AS __ce_label, cluster AS __ce_cluster, CAST(SUM(n) AS BIGINT) AS __ce_n
    FROM query_table(runs)
    GROUP BY partition_key, run_no, label, cluster
    UNION ALL
    SELECT
      {'key': partition_key, 'run_no': run_no, 'common': TRUE},
      CASE WHEN is_common THEN label END, cluster, CAST(SUM(n) AS BIGINT)
    FROM query_table(runs)
    GROUP BY partition_key, run_no, CASE WHEN is_common THEN label END, cluster
  )
  SELECT * FROM clustereval._flag_groups(__ce_group_counts, noise, noise_as);

-- The number of a scope: which rows count is 0 for the own rows of a clustering, 1 for the common
-- rows, and 2 if all rows are common, so that one scope has the scores of both. A join takes much
-- longer by a struct.
CREATE OR REPLACE MACRO clustereval._scope_number(key_no, run_no, which) AS
  (key_no * 1073741824 + run_no) * 3 + which;

-- The struct of _scoped_groups for a number of _scope_number, where common is NULL if `which` is 2.
CREATE OR REPLACE MACRO clustereval._scope_struct(key, number) AS {
    'key': key, 'run_no': number // 3 % 1073741824,
    'common': CASE number % 3 WHEN 0 THEN FALSE WHEN 1 THEN TRUE END
};

-- The rows of the table, once for each clustering and scope: row_no, the number of the row; scope,
-- a _scope_number; coordinates, the vector; and own, the cluster. No row without vectors. owners:
-- rows of _rows_of_ids; keys: key and key_no of each partition.
CREATE OR REPLACE MACRO clustereval._scoped_points(
  tbl, clusters, vector, partition_by, noise, noise_as, run, owners, keys
) AS TABLE
  WITH __ce_points AS (
    SELECT
      partition_by AS __ce_key, vector AS __ce_vector, clusters AS __ce_clusters
    FROM query_table(tbl)
    WHERE coalesce(alias(vector), '') <> 'CAST(NULL AS DOUBLE[])'
      AND clustereval._is_left_out(run)
    UNION ALL
    SELECT owner.partition_key, owner.coordinates, owner.clusters
    FROM query_table(owners) AS owner
    WHERE owner.has_vectors
  ),
  numbered AS (
    SELECT
      row_number() OVER () AS row_no,
      __ce_key AS partition_key, __ce_vector AS coordinates, __ce_clusters AS runs,
      clustereval._all_score(__ce_clusters, noise, noise_as) AS is_common
    FROM __ce_points
  ),
  rows AS MATERIALIZED (SELECT bool_and(is_common) AS are_common FROM numbered),
  unfolded AS (
    SELECT
      point.row_no, partition.key_no, point.coordinates,
      CASE WHEN rows.are_common THEN [2] WHEN point.is_common THEN [0, 1] ELSE [0] END AS whiches,
      unnest(range(1, len(point.runs) + 1)) AS run_no,
      unnest(point.runs) AS own
    FROM numbered AS point
    CROSS JOIN rows
    JOIN query_table(keys) AS partition
      ON partition.partition_key IS NOT DISTINCT FROM point.partition_key
  )
  SELECT
    row_no, clustereval._scope_number(key_no, run_no, unnest(whiches)) AS scope, coordinates, own
  FROM unfolded;

-- One row per scope of the rows of _scoped_points: partition_key, the scope; n, n_noise and
-- n_clusters; n_points, with those that are left out; the scores silhouette (by the centers of
-- clusters), davies_bouldin and calinski_harabasz; and partition_no, ssw, ssb and overall_center.
-- groups, silhouettes: rows of _point_clusters and _point_silhouettes; keys: as in _scoped_points.
CREATE OR REPLACE MACRO clustereval._clustering_point_scores(
  groups, silhouettes, keys, distance, noise_as
) AS TABLE
  WITH filled AS (SELECT * FROM query_table(groups) WHERE n > 0),
  gaps AS (SELECT * FROM clustereval._centroid_gaps(filled, distance, 2)),
  overall AS (
    SELECT
      partition_key, MIN(partition_no) AS partition_no, any_value(overall_center) AS overall_center
    FROM filled
    GROUP BY partition_key
  ),
  means AS (
    SELECT partition_no, clustereval._compensated_sum(lower) / COUNT(*) AS silhouette
    FROM query_table(silhouettes)
    GROUP BY partition_no
  )
  SELECT
    clustereval._scope_struct(partition.partition_key, counts.partition_key) AS partition_key,
    counts.total AS n, counts.n_noise, counts.n_clusters,
    counts.total + counts.n_dropped
      + CASE WHEN noise_as = 'drop' THEN counts.n_noise ELSE 0 END AS n_points,
    means.silhouette,
    clustereval._finite_or_null(clustereval._davies_bouldin_score(
      counts.total, counts.n_clusters, totals.overlap_sum
    )) AS davies_bouldin,
    clustereval._finite_or_null(clustereval._calinski_harabasz_score(
      counts.total, counts.n_clusters, totals.ssw, totals.ssb
    )) AS calinski_harabasz,
    overall.partition_no, totals.ssw, totals.ssb, overall.overall_center
  FROM clustereval._point_row_counts(groups) AS counts
  JOIN query_table(keys) AS partition
    ON partition.key_no = counts.partition_key // 3 // 1073741824
  LEFT JOIN clustereval._spread_totals(filled, gaps, distance, 2) AS totals
    ON totals.partition_key = counts.partition_key
  LEFT JOIN overall ON overall.partition_key = counts.partition_key
  LEFT JOIN means ON means.partition_no = overall.partition_no;

-- Window: x, a score, minus that of the clustering in place 1 of the partition; 0 if they differ by
-- a rounding error.
CREATE OR REPLACE MACRO clustereval._difference_to_best(x, place, partition_key) AS
  CASE
    WHEN abs(
      x / MAX(CASE WHEN place = 1 THEN x END) OVER (PARTITION BY partition_key) - 1
    ) <= 1e-12
    THEN 0.0
    ELSE x - MAX(CASE WHEN place = 1 THEN x END) OVER (PARTITION BY partition_key)
  END;

-- One row per partition and clustering: partition_key, run_no, and both the scores of its own rows
-- (own_...) and those of the common rows (common_...); n, n_noise and n_clusters of its own rows;
-- n_points, NULL with labels; n_common; place, 1 for the best clustering, by the adjusted Rand
-- index of the common rows, or without labels by the silhouette, and then by run_no; common_rank
-- and own_rank, its ranks by these scores of the common rows and of its own rows; best_no, the
-- run_no of the best clustering; and the differences to the best one on the common rows
-- (..._difference). report: rows of _scores_of_statistics by scope; point_scores: rows of
-- _clustering_point_scores.
CREATE OR REPLACE MACRO clustereval._rank_clusterings(report, point_scores) AS TABLE
  WITH joined AS (
    SELECT
      one.partition_key['key'] AS partition_key,
      one.partition_key['run_no'] AS run_no,
      one.partition_key['common'] AS is_common,
      CASE WHEN one.n = 0 THEN COALESCE(two.n, 0) ELSE one.n END AS n,
      CASE WHEN one.n = 0 THEN COALESCE(two.n_noise, 0) ELSE one.n_noise END AS n_noise,
      CASE WHEN one.n = 0 THEN COALESCE(two.n_clusters, 0) ELSE one.n_clusters END AS n_clusters,
      one.adjusted_rand_score AS adjusted_rand,
      one.adjusted_mutual_info_score AS adjusted_mutual_info,
      CASE WHEN one.n = 0 THEN two.n_points END AS n_points,
      two.silhouette, two.davies_bouldin, two.calinski_harabasz,
      -- Equal scores may differ by rounding errors.
      ROUND(one.adjusted_rand_score, 12) AS rand_rounded,
      ROUND(two.silhouette, 12) AS silhouette_rounded
    FROM query_table(report) AS one
    LEFT JOIN query_table(point_scores) AS two
      ON two.partition_key['key'] IS NOT DISTINCT FROM one.partition_key['key']
      AND two.partition_key['run_no'] = one.partition_key['run_no']
      AND COALESCE(two.partition_key['common'] = one.partition_key['common'], TRUE)
  ),
  ordered AS (
    SELECT
      own.partition_key, own.run_no, own.n, own.n_noise, own.n_clusters, own.n_points,
      own.adjusted_rand AS own_rand,
      own.adjusted_mutual_info AS own_information,
      own.silhouette AS own_silhouette,
      own.davies_bouldin AS own_davies,
      own.calinski_harabasz AS own_calinski,
      common.n AS n_common,
      common.adjusted_rand AS common_rand,
      common.adjusted_mutual_info AS common_information,
      common.silhouette AS common_silhouette,
      common.davies_bouldin AS common_davies,
      common.calinski_harabasz AS common_calinski,
      row_number() OVER (
        PARTITION BY own.partition_key
        ORDER BY
          common.rand_rounded DESC NULLS LAST, common.silhouette_rounded DESC NULLS LAST,
          own.run_no ASC NULLS LAST
      ) AS place,
      rank() OVER (
        PARTITION BY own.partition_key
        ORDER BY common.rand_rounded DESC NULLS LAST, common.silhouette_rounded DESC NULLS LAST
      ) AS common_rank,
      rank() OVER (
        PARTITION BY own.partition_key
        ORDER BY own.rand_rounded DESC NULLS LAST, own.silhouette_rounded DESC NULLS LAST
      ) AS own_rank
    FROM joined AS own
    JOIN joined AS common
      ON common.partition_key IS NOT DISTINCT FROM own.partition_key
      AND common.run_no = own.run_no
      AND common.is_common
    WHERE NOT own.is_common
  )
  SELECT
    *,
    MIN(CASE WHEN place = 1 THEN run_no END) OVER (PARTITION BY partition_key) AS best_no,
    clustereval._difference_to_best(common_rand, place, partition_key) AS rand_difference,
    clustereval._difference_to_best(common_information, place, partition_key)
      AS information_difference,
    clustereval._difference_to_best(common_silhouette, place, partition_key)
      AS silhouette_difference,
    clustereval._difference_to_best(common_davies, place, partition_key) AS davies_difference,
    clustereval._difference_to_best(common_calinski, place, partition_key) AS calinski_difference
  FROM ordered;

-- One row per partition, clustering and metric of those that compare_clusterings returns:
-- partition_key, a struct {key, run_no}; metric; and std_error and freedom, those of
-- _difference_errors, of the difference to the best clustering on the common rows. profiles: rows
-- of _clustering_profiles; ranks: rows of _rank_clusterings; groups: rows of _scoped_groups;
-- statistics: rows of _statistics_of_groups by scope.
CREATE OR REPLACE MACRO clustereval._errors_to_best(
  profiles, ranks, groups, statistics, noise, noise_as
) AS TABLE
  -- Common rows with the clusters of one clustering and of the best one. The lists are unfolded
  -- before anything is joined to their elements, so that they are not copied for each of them.
  WITH unfolded AS (
    SELECT
      profile.partition_key, profile.label, profile.n, best.run_no AS best_no,
      unnest(range(1, len(profile.clusters) + 1)) AS run_no,
      unnest(profile.clusters) AS one,
      profile.clusters[best.run_no] AS two
    FROM query_table(profiles) AS profile
    JOIN query_table(ranks) AS best
      ON best.partition_key IS NOT DISTINCT FROM profile.partition_key
    WHERE profile.is_common AND best.place = 1
  ),
  paired AS (
    SELECT
      {'key': partition_key, 'run_no': run_no} AS partition_key,
      {'key': partition_key, 'run_no': run_no, 'common': TRUE} AS table_1,
      {'key': partition_key, 'run_no': best_no, 'common': TRUE} AS table_2,
      label, one, two, n
    FROM unfolded
    WHERE run_no <> best_no
  ),
  cells AS (
    SELECT
      partition_key, table_1, table_2, label,
      CASE WHEN NOT clustereval._is_single(one, noise, noise_as) THEN one END AS cluster_1,
      CASE WHEN NOT clustereval._is_single(two, noise, noise_as) THEN two END AS cluster_2,
      CAST(SUM(n) AS BIGINT) AS n
    FROM paired
    GROUP BY partition_key, table_1, table_2, label, one, two
  ),
  common_cells AS (
    SELECT * FROM query_table(groups) WHERE copies > 0 AND partition_key['common']
  ),
  common_statistics AS (
    SELECT * FROM query_table(statistics) WHERE partition_key['common']
  ),
  expected_influences AS (
    SELECT * FROM clustereval._influences_on_expectation(common_statistics, common_cells, TRUE)
  ),
  influences AS (
    SELECT * FROM clustereval._centered_influences(common_cells, expected_influences)
  ),
  gradients AS (
    SELECT *
    FROM clustereval._score_gradients(common_statistics, 'arithmetic', 1.0)
    WHERE metric IN ('adjusted_rand_score', 'adjusted_mutual_info_score')
  )
  SELECT * FROM clustereval._difference_errors(cells, influences, gradients);

-- One row per partition, clustering and score of points that has an interval: partition_key, a
-- struct {key, run_no}; metric; and std_error and freedom, those of _errors_of_effects, of the
-- difference to the best clustering on the common rows. points, silhouettes, clusters: rows of
-- _clustered_points, _point_silhouettes and _point_clusters by scope; point_scores: rows of
-- _clustering_point_scores; ranks: rows of _rank_clusterings.
CREATE OR REPLACE MACRO clustereval._point_errors_to_best(
  points, silhouettes, clusters, point_scores, ranks, distance, noise_as
) AS TABLE
  -- The scopes of the common rows that have an interval, without those that have nothing to be
  -- compared with.
  WITH scopes AS MATERIALIZED (
    SELECT score.*, own.run_no, own.run_no = own.best_no AS is_best
    FROM query_table(point_scores) AS score
    JOIN query_table(ranks) AS own
      ON own.partition_key IS NOT DISTINCT FROM score.partition_key['key']
      AND own.run_no = score.partition_key['run_no']
    WHERE score.partition_key['common'] IS NOT FALSE
      AND score.silhouette IS NOT NULL
      AND lower(distance) IN ('euclidean', 'sqeuclidean')
      AND NOT (score.n_noise > 0 AND COALESCE(noise_as = 'singletons', FALSE))
      AND EXISTS (SELECT 1 FROM query_table(ranks) AS other WHERE other.place > 1)
  ),
  scoped_silhouettes AS NOT MATERIALIZED (
    SELECT own.*
    FROM query_table(silhouettes) AS own
    JOIN scopes ON scopes.partition_no = own.partition_no
  ),
  slopes AS MATERIALIZED (
    SELECT * FROM clustereval._center_slopes(points, scoped_silhouettes, clusters, distance)
  ),
  influences AS MATERIALIZED (
    SELECT own.*, scopes.partition_key['key'] AS key, scopes.run_no, scopes.is_best
    FROM clustereval._center_influences(
      points, scoped_silhouettes, clusters, slopes, scopes, distance
    ) AS own
    JOIN scopes ON scopes.partition_no = own.partition_no
  ),
  effects AS (
    SELECT
      {'key': one.key, 'run_no': one.run_no} AS partition_key,
      1 AS n,
      unnest(['simplified_silhouette', 'calinski_harabasz_score']) AS metric,
      unnest([one.of_silhouette, one.of_calinski]) AS one,
      unnest([two.of_silhouette, two.of_calinski]) AS two
    FROM influences AS one
    JOIN influences AS two ON two.row_no = one.row_no AND two.is_best
    WHERE NOT one.is_best
  )
  SELECT * FROM clustereval._errors_of_effects(effects);

-- What a reader of compare_clusterings should know of a row, or NULL: that a clustering is not told
-- apart from the best one, that no row decides the order, that it is not in the place where its own
-- rows would put it, or that it leaves out more than a tenth of the rows.
CREATE OR REPLACE MACRO clustereval._comparison_remark(
  place, own_rank, common_rank, upper, n, n_common, coverage
) AS
  NULLIF(concat_ws('; ',
    CASE
      WHEN place > 1 AND upper >= 0
      THEN 'not told apart from the best: the interval of the difference holds 0'
    END,
    CASE
      WHEN n_common = 0
      THEN 'no row is scored by all clusterings, so they are in the given order'
      WHEN own_rank <> common_rank
      THEN concat(
        'number ', own_rank, ' by its own ', n, ' rows, but number ', common_rank, ' by the ',
        n_common, ' rows that all score'
      )
    END,
    CASE
      WHEN n_common > 0 AND coverage < 0.9
      THEN concat(
        'leaves out ', clustereval._percent_as_text(1 - coverage),
        ' of the rows, and the order is about the others'
      )
    END
  ), '');

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Several clusterings of the rows of the table tbl, the best one first: one row per partition and
-- clustering. clusters is a list of columns, one for each clustering; label is the column of the
-- true labels, and vector the coordinates; at least one of both is needed. If the table has a row
-- for each id and run, pass these columns as id and run, and a list of one column of clusters. The
-- label, the vector and the weight of an id may then be NULL in all of its rows but one, which
-- needs neither a run nor a cluster.
-- Examples:
--   FROM clustereval.compare_clusterings(assignments, [cluster, flower % 3], species);
CREATE OR REPLACE MACRO clustereval.compare_clusterings(
  tbl, clusters, label := NULL, vector := CAST(NULL AS DOUBLE[]), distance := 'euclidean',
  weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL, confidence := 0.95,
  missing := 'error', id := NULL, run := NULL
) AS TABLE
  WITH __ce_runs AS MATERIALIZED (
    SELECT * FROM clustereval._numbered_runs(tbl, clusters, partition_by, run)
  ),
  __ce_owners AS MATERIALIZED (
    SELECT *
    FROM clustereval._rows_of_ids(
      tbl, clusters, label, vector, weight, partition_by, id, run, __ce_runs
    )
  ),
  __ce_profiles AS MATERIALIZED (
    SELECT *
    FROM clustereval._clustering_profiles(
      tbl, clusters, label, vector, weight, partition_by, noise, noise_as, run, __ce_owners
    )
  ),
  __ce_names AS (
    SELECT * FROM clustereval._clustering_names(tbl, clusters, partition_by, run, __ce_runs)
  ),
  __ce_keys AS MATERIALIZED (
    SELECT own.partition_key, row_number() OVER () AS key_no
    FROM (SELECT DISTINCT profile.partition_key FROM __ce_profiles AS profile) AS own
  ),
  __ce_scoped AS MATERIALIZED (
    SELECT *
    FROM clustereval._scoped_points(
      tbl, clusters, vector, partition_by, noise, noise_as, run, __ce_owners, __ce_keys
    )
  ),
  scoped AS NOT MATERIALIZED (SELECT * FROM __ce_scoped),
  arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(scoped, coordinates, own, scope, noise)
  ),
  point_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      scoped, coordinates, own, distance, 2, NULL, scope, noise, noise_as, missing, row_no
    )
  ),
  measured_centers AS (
    SELECT
      partition_key, cluster, singleton_no, n, n_dropped, n_noise, dims, ssw, distances,
      overall_distances, mean_distance, center, overall_center, number, partition_no, n_clusters,
      n_all_clusters, origin
    FROM clustereval._point_clusters(point_rows, arguments, distance, 2, 'mean', NULL)
  ),
  -- From a single list, so that the optimizer expects few rows, and does not build the tables of
  -- its joins from the points.
  centers AS MATERIALIZED (
    SELECT unnest(list(own), max_depth := 2) FROM measured_centers AS own
  ),
  moments AS MATERIALIZED (
    SELECT
      number, partition_no, n, n_clusters, n_all_clusters, center,
      CAST(SUM(n) OVER (PARTITION BY partition_no) AS BIGINT) AS total
    FROM centers
    WHERE n > 0
  ),
  points AS NOT MATERIALIZED (
    SELECT member.* REPLACE (member.id AS row_no)
    FROM clustereval._clustered_points(point_rows, centers, NULL) AS member
  ),
  distances AS (
    SELECT * FROM clustereval._simplified_means(
      points, moments, clustereval._plain_distance_name(distance, 2), 2, 'nearest'
    )
  ),
  silhouettes AS MATERIALIZED (
    SELECT * FROM clustereval._point_silhouettes(distances, moments)
  ),
  point_scores AS MATERIALIZED (
    SELECT * FROM clustereval._clustering_point_scores(
      centers, silhouettes, __ce_keys, distance, noise_as
    )
  ),
  runs AS (SELECT * FROM clustereval._unfold_profiles(__ce_profiles)),
  groups AS MATERIALIZED (
    SELECT * FROM clustereval._scoped_groups(runs, noise, noise_as)
  ),
  statistics AS MATERIALIZED (SELECT * FROM clustereval._statistics_of_groups(groups, TRUE)),
  report AS (SELECT * FROM clustereval._scores_of_statistics(statistics, 'arithmetic', 1.0)),
  ranks AS MATERIALIZED (
    SELECT * FROM clustereval._rank_clusterings(report, point_scores)
  ),
  margins AS (
    SELECT
      *, clustereval._difference_margin(std_error, freedom, confidence) AS margin
    FROM (
      SELECT *
      FROM clustereval._errors_to_best(__ce_profiles, ranks, groups, statistics, noise, noise_as)
      UNION ALL
      SELECT *
      FROM clustereval._point_errors_to_best(
        points, silhouettes, moments, point_scores, ranks, distance, noise_as
      )
    )
  ),
  errors AS (
    SELECT
      partition_key,
      MAX(margin) FILTER (WHERE metric = 'adjusted_rand_score') AS rand,
      MAX(margin) FILTER (WHERE metric = 'adjusted_mutual_info_score') AS information,
      MAX(margin) FILTER (WHERE metric = 'simplified_silhouette') AS silhouette,
      MAX(margin) FILTER (WHERE metric = 'calinski_harabasz_score') AS calinski
    FROM margins
    GROUP BY partition_key
  ),
  -- Rows that a clustering could score: those with a label, or all if there are no labels.
  totals AS (
    SELECT
      one.partition_key,
      CASE
        WHEN COUNT(one.label) > 0 THEN SUM(CASE WHEN one.label IS NOT NULL THEN one.n END)
        ELSE SUM(one.n)
      END AS n_rows
    FROM __ce_profiles AS one
    GROUP BY one.partition_key
  )
  SELECT
    own.partition_key,
    COALESCE(naming.name, concat('clustering ', own.run_no)) AS clustering,
    own.place AS rank,
    own.n,
    clustereval._ratio(own.n, COALESCE(own.n_points, total.n_rows)) AS coverage,
    own.n_clusters,
    own.n_noise,
    own.n_common,
    own.own_rand AS adjusted_rand_score,
    own.common_rand AS adjusted_rand_score_common,
    own.rand_difference AS adjusted_rand_score_difference,
    own.rand_difference - margin.rand AS adjusted_rand_score_lower,
    own.rand_difference + margin.rand AS adjusted_rand_score_upper,
    own.own_information AS adjusted_mutual_info_score,
    own.common_information AS adjusted_mutual_info_score_common,
    own.information_difference AS adjusted_mutual_info_score_difference,
    own.information_difference - margin.information AS adjusted_mutual_info_score_lower,
    own.information_difference + margin.information AS adjusted_mutual_info_score_upper,
    own.own_silhouette AS simplified_silhouette,
    own.common_silhouette AS simplified_silhouette_common,
    own.silhouette_difference AS simplified_silhouette_difference,
    own.silhouette_difference - margin.silhouette AS simplified_silhouette_lower,
    own.silhouette_difference + margin.silhouette AS simplified_silhouette_upper,
    own.own_davies AS davies_bouldin_score,
    own.common_davies AS davies_bouldin_score_common,
    own.davies_difference AS davies_bouldin_score_difference,
    own.own_calinski AS calinski_harabasz_score,
    own.common_calinski AS calinski_harabasz_score_common,
    own.calinski_difference AS calinski_harabasz_score_difference,
    own.calinski_difference - margin.calinski AS calinski_harabasz_score_lower,
    own.calinski_difference + margin.calinski AS calinski_harabasz_score_upper,
    clustereval._comparison_remark(
      own.place, own.own_rank, own.common_rank,
      CASE
        WHEN own.common_rand IS NULL THEN own.silhouette_difference + margin.silhouette
        ELSE own.rand_difference + margin.rand
      END,
      own.n, own.n_common, clustereval._ratio(own.n, COALESCE(own.n_points, total.n_rows))
    ) AS remark
  FROM ranks AS own
  LEFT JOIN __ce_names AS naming
    ON naming.run_no = own.run_no
    AND (naming.is_for_all OR naming.partition_key IS NOT DISTINCT FROM own.partition_key)
  JOIN totals AS total ON total.partition_key IS NOT DISTINCT FROM own.partition_key
  LEFT JOIN errors AS margin
    ON margin.partition_key['key'] IS NOT DISTINCT FROM own.partition_key
    AND margin.partition_key['run_no'] = own.run_no
  WHERE clustereval._check_options(clustereval._valid_interval_options(
    confidence,
    clustereval._valid_point_options(distance, 2, 'mean', NULL, noise, noise_as, missing)
  ))
  ORDER BY own.partition_key ASC NULLS LAST, own.place ASC NULLS LAST;
