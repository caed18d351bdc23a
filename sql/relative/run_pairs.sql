-- run_pairs: two runs of the same ids, such as last night's and tonight's.
--
--   * The run before and the run after are two tables of the same columns, with one row per id. If
--     a row has no cluster, or is noise that is dropped, its id counts as missing from the run. An
--     id that is only in the run before has left, and an id that is only in the run after has
--     joined.
--   * If noise counts as singletons, each noise row is in a cluster of its own, which is not
--     tracked.
--   * Shares of a cluster refer to its ids that are in both runs. Two clusters are linked if their
--     common ids are a share of at least `threshold` of one of the two clusters.
--   * A link counts for a cluster if the common ids are a share of at least `min_share` of this
--     cluster.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- Text for _check_options, or the error of an option of run_transitions.
CREATE OR REPLACE MACRO clustereval._valid_transition_options(
  noise, noise_as, threshold, min_share
) AS
  CASE
    WHEN NOT coalesce(
      TRY_CAST(threshold AS DOUBLE) > 0 AND TRY_CAST(threshold AS DOUBLE) <= 1, FALSE
    )
    THEN error(concat(
      'threshold: expected a number above 0 and at most 1, got ',
      clustereval._show_value(threshold)
    ))
    WHEN NOT coalesce(
      TRY_CAST(min_share AS DOUBLE) >= 0
        AND TRY_CAST(min_share AS DOUBLE) <= TRY_CAST(threshold AS DOUBLE),
      FALSE
    )
    THEN error(concat(
      'min_share: expected a number from 0 to the threshold, got ',
      clustereval._show_value(min_share)
    ))
    ELSE clustereval._valid_noise(noise, noise_as)
  END;

-- x, any value. Raises an error if the types of the column that `parameter` names differ in the run
-- before and the run after.
CREATE OR REPLACE MACRO clustereval._check_same_type(x, parameter, type_before, type_after) AS
  CASE
    WHEN type_before <> type_after
    THEN error(concat(
      parameter, ': expected the same type in both runs, got ', type_before, ' before and ',
      type_after, ' after',
      clustereval._type_advice(type_before, type_after)
    ))
    ELSE x
  END;

-- One row, valid = TRUE. Raises an error for a string literal in place of a column, if a column has
-- another type in tbl_after, and if noise is not a value of the type of cluster.
CREATE OR REPLACE MACRO clustereval._check_run_columns(
  tbl_before, tbl_after, id, cluster, partition_by, noise
) AS TABLE
  WITH __ce_types_before AS (
    SELECT
      clustereval._check_columns(
        clustereval._check_noise(TRUE, noise, cluster),
        [
          clustereval._given_column('id', id),
          clustereval._given_column('cluster', cluster),
          clustereval._given_column('partition_by', partition_by)
        ]
      ) AS __ce_valid,
      typeof(any_value(id)) AS __ce_id_type,
      typeof(any_value(cluster)) AS __ce_cluster_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(clustereval._check_table_name(tbl_before))
    WHERE FALSE
  ),
  __ce_types_after AS (
    SELECT
      typeof(any_value(id)) AS __ce_id_type,
      typeof(any_value(cluster)) AS __ce_cluster_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(clustereval._check_table_name(tbl_after))
    WHERE FALSE
  )
  SELECT
    clustereval._check_same_type(
      clustereval._check_same_type(
        clustereval._check_same_type(
          one.__ce_valid, 'partition_by', one.__ce_partition_type, two.__ce_partition_type
        ),
        'cluster', one.__ce_cluster_type, two.__ce_cluster_type
      ),
      'id', one.__ce_id_type, two.__ce_id_type
    ) AS valid
  FROM __ce_types_before AS one
  CROSS JOIN __ce_types_after AS two;

---------------------------------------------------------------------------------------------------
-- Ids and cells
---------------------------------------------------------------------------------------------------

-- One row per id of either run: partition_key; id; before and after, its clusters, NULL if it is
-- not in the run; and times_before and times_after, its rows. A NULL id has a row, too. Both runs
-- are grouped together instead of joined, so that ids that occur twice in a run are found. Raises
-- the errors of _check_run_columns before values of two types are united.
CREATE OR REPLACE MACRO clustereval._paired_ids(
  tbl_before, tbl_after, id, cluster, partition_by, noise
) AS TABLE
  WITH __ce_checked AS (
    SELECT *
    FROM clustereval._check_run_columns(tbl_before, tbl_after, id, cluster, partition_by, noise)
  ),
  -- The rows of both runs, one below the other.
  __ce_stacked AS (
    SELECT
      partition_by AS __ce_partition, id AS __ce_id, cluster AS __ce_before, NULL AS __ce_after
    FROM query_table(tbl_before)
    WHERE cluster IS NOT NULL AND (SELECT valid FROM __ce_checked)
    UNION ALL
    SELECT partition_by, id, NULL, cluster
    FROM query_table(tbl_after)
    WHERE cluster IS NOT NULL AND (SELECT valid FROM __ce_checked)
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_id AS id,
    MAX(__ce_before) AS before,
    MAX(__ce_after) AS after,
    COUNT(__ce_before) AS times_before,
    COUNT(__ce_after) AS times_after
  FROM __ce_stacked
  GROUP BY __ce_partition, __ce_id;

-- The id of a row of _paired_ids if it is a singleton in one of the runs, otherwise NULL.
CREATE OR REPLACE MACRO clustereval._singleton_id(
  id, cluster_before, cluster_after, noise, noise_as
) AS
  CASE
    WHEN noise_as = 'singletons' AND (
      clustereval._is_noise(cluster_before, noise) OR clustereval._is_noise(cluster_after, noise)
    )
    THEN id
  END;

-- One row, n_faults = 0. Raises an error if an id is NULL or has several rows in a run. counts:
-- null_before and null_after, numbers of rows without an id, and twice_before and twice_after, the
-- lowest id that has several rows.
CREATE OR REPLACE MACRO clustereval._check_paired_ids(counts) AS TABLE
  WITH facts AS (
    SELECT
      COALESCE(SUM(null_before), 0) AS null_before,
      COALESCE(SUM(null_after), 0) AS null_after,
      MIN(twice_before) AS twice_before,
      MIN(twice_after) AS twice_after
    FROM query_table(counts)
  )
  SELECT
    CASE
      WHEN null_before + null_after > 0
      THEN error(concat(
        'id: expected a value in every row, got NULL in ',
        CASE
          WHEN null_before > 0 THEN concat(null_before, ' rows of the run before')
          ELSE concat(null_after, ' rows of the run after')
        END
      ))
      WHEN twice_before IS NOT NULL OR twice_after IS NOT NULL
      THEN error(concat(
        'id: expected one row per id in a run, got several rows of id ',
        CASE
          WHEN twice_before IS NOT NULL
          THEN concat(clustereval._show_value(twice_before), ' in the run before')
          ELSE concat(clustereval._show_value(twice_after), ' in the run after')
        END
      ))
      ELSE 0
    END AS n_faults
  FROM facts;

-- Ids by their clusters in both runs: partition_key; before and after, the clusters as in the
-- tables; singleton_id, if there is a singleton; and n. in_before and in_after are TRUE if the run
-- has the ids and they are not dropped noise; old and new are the clusters that are tracked. Raises
-- the errors of _check_paired_ids.
CREATE OR REPLACE MACRO clustereval._paired_cells(ids, noise, noise_as) AS TABLE
  -- Numbers of ids by partition and by their clusters in both runs, marked if one is noise.
  WITH counts AS MATERIALIZED (
    SELECT
      partition_key,
      before,
      after,
      clustereval._singleton_id(id, before, after, noise, noise_as) AS singleton_id,
      clustereval._is_noise(before, noise) AS noisy_before,
      clustereval._is_noise(after, noise) AS noisy_after,
      CAST(COUNT(*) AS BIGINT) AS n,
      SUM(CASE WHEN id IS NULL THEN times_before ELSE 0 END) AS null_before,
      SUM(CASE WHEN id IS NULL THEN times_after ELSE 0 END) AS null_after,
      MIN(CASE WHEN times_before > 1 THEN id END) AS twice_before,
      MIN(CASE WHEN times_after > 1 THEN id END) AS twice_after
    FROM query_table(ids)
    GROUP BY
      partition_key,
      before,
      after,
      clustereval._singleton_id(id, before, after, noise, noise_as)
  )
  SELECT
    partition_key, before, after, singleton_id, n,
    before IS NOT NULL AND NOT (noisy_before AND noise_as = 'drop') AS in_before,
    after IS NOT NULL AND NOT (noisy_after AND noise_as = 'drop') AS in_after,
    CASE WHEN NOT (noisy_before AND noise_as <> 'cluster') THEN before END AS old,
    CASE WHEN NOT (noisy_after AND noise_as <> 'cluster') THEN after END AS new
  FROM counts AS cell
  WHERE (SELECT n_faults FROM clustereval._check_paired_ids(counts)) = 0;

---------------------------------------------------------------------------------------------------
-- Clusters and links
---------------------------------------------------------------------------------------------------

-- One row per cluster of the run before: partition_key, old, and n_before, n_left and n_stayed, its
-- ids, those that have left, and the others.
CREATE OR REPLACE MACRO clustereval._old_clusters(cells) AS TABLE
  SELECT
    partition_key,
    old,
    CAST(SUM(n) AS BIGINT) AS n_before,
    CAST(SUM(CASE WHEN in_after THEN 0 ELSE n END) AS BIGINT) AS n_left,
    CAST(SUM(CASE WHEN in_after THEN n ELSE 0 END) AS BIGINT) AS n_stayed
  FROM query_table(cells)
  WHERE old IS NOT NULL
  GROUP BY partition_key, old;

-- One row per cluster of the run after: partition_key, new, and n_after, n_joined and n_stayed, its
-- ids, those that have joined, and the others.
CREATE OR REPLACE MACRO clustereval._new_clusters(cells) AS TABLE
  SELECT
    partition_key,
    new,
    CAST(SUM(n) AS BIGINT) AS n_after,
    CAST(SUM(CASE WHEN in_before THEN 0 ELSE n END) AS BIGINT) AS n_joined,
    CAST(SUM(CASE WHEN in_before THEN n ELSE 0 END) AS BIGINT) AS n_stayed
  FROM query_table(cells)
  WHERE new IS NOT NULL
  GROUP BY partition_key, new;

-- One row per pair of clusters with common ids: partition_key, old, new, n (these ids), the columns
-- of both clusters, with stayed_before and stayed_after, share_before and share_after, and is_link.
CREATE OR REPLACE MACRO clustereval._cluster_overlaps(cells, threshold) AS TABLE
  -- Pairs of clusters with common ids, and the shares of these ids in both.
  WITH shares AS (
    SELECT
      cell.partition_key, cell.old, cell.new, cell.n,
      old.n_before, old.n_left, old.n_stayed AS stayed_before,
      new.n_after, new.n_joined, new.n_stayed AS stayed_after,
      clustereval._ratio(cell.n, old.n_stayed) AS share_before,
      clustereval._ratio(cell.n, new.n_stayed) AS share_after
    FROM query_table(cells) AS cell
    JOIN clustereval._old_clusters(cells) AS old
      ON old.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND old.old = cell.old
    JOIN clustereval._new_clusters(cells) AS new
      ON new.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND new.new = cell.new
  )
  SELECT
    *,
    GREATEST(share_before, share_after) >= CAST(threshold AS DOUBLE) AS is_link
  FROM shares;

-- TRUE if the ids of a cell of _paired_cells have moved: they are in both runs, and their clusters
-- are not linked (is_link is NULL if a cluster is not tracked). A singleton in both runs has not
-- moved.
CREATE OR REPLACE MACRO clustereval._has_moved(
  in_before, in_after, old_cluster, new_cluster, is_link
) AS
  in_before AND in_after AND NOT COALESCE(is_link, FALSE)
  AND NOT (old_cluster IS NULL AND new_cluster IS NULL);
