-- run_pairs: two runs of the same ids, such as last night's and tonight's.
--
--   * The run before and the run after are two tables of the same columns, with one row per id. A
--     row without a cluster, and noise that is dropped, count as if the id were not in the run. An
--     id that is only in the run before has left, one that is only in the run after has joined.
--   * Noise that counts as singletons is in a cluster of its own per row, which is not tracked.
--   * Shares of a cluster are of its ids that are in both runs. Two clusters are linked if the ids
--     in both are a share of at least `threshold` of the one or of the other.
--   * A link counts for a cluster if the ids in both are a share of at least `min_share` of it.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- Text of the query SELECT TRUE AS __ce_valid, for _check_options, which runs it before any row is
-- read. Raises an error if an option of run_transitions is invalid. The parameters are the options
-- of the same names, as the user passes them.
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

-- x, any value, passed through unless a check fails. Raises an error if the types of the column
-- that the argument `parameter` names, as text, differ in the run before and the run after.
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

-- One row, __ce_valid = TRUE. Raises an error for a string literal in place of a column, if a
-- column has another type in tbl_after than in tbl_before, and if noise is no value of the type of
-- cluster. The parameters are the user's arguments.
CREATE OR REPLACE MACRO clustereval._check_run_columns(
  tbl_before, tbl_after, id, cluster, partition_by, noise
) AS TABLE
  WITH __ce_types_before AS (
    SELECT
      clustereval._check_column(
        clustereval._check_column(
          clustereval._check_column(
            clustereval._check_noise(TRUE, noise, cluster), 'partition_by', partition_by
          ),
          'cluster', cluster
        ),
        'id', id
      ) AS __ce_valid,
      typeof(any_value(id)) AS __ce_id_type,
      typeof(any_value(cluster)) AS __ce_cluster_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(tbl_before)
    WHERE FALSE
  ),
  __ce_types_after AS (
    SELECT
      typeof(any_value(id)) AS __ce_id_type,
      typeof(any_value(cluster)) AS __ce_cluster_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(tbl_after)
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
    ) AS __ce_valid
  FROM __ce_types_before AS one
  CROSS JOIN __ce_types_after AS two;

---------------------------------------------------------------------------------------------------
-- Ids and cells
---------------------------------------------------------------------------------------------------

-- One row per id of a partition in either run: __ce_partition, __ce_id, __ce_before and __ce_after,
-- its clusters, NULL if it is not in the run, and __ce_times_before and __ce_times_after, its rows.
-- A NULL id has a row, too. The parameters are the user's arguments. Both runs are grouped together
-- by id instead of joined, so that ids that are twice in a run show. Raises the errors of
-- _check_run_columns, before values of the two types are united.
CREATE OR REPLACE MACRO clustereval._paired_ids(
  tbl_before, tbl_after, id, cluster, partition_by, noise
) AS TABLE
  WITH __ce_checked AS (
    SELECT *
    FROM clustereval._check_run_columns(
      tbl_before, tbl_after, id, cluster, partition_by, noise
    )
  ),
  __ce_stacked AS (
    SELECT
      partition_by AS __ce_partition, id AS __ce_id, cluster AS __ce_before, NULL AS __ce_after
    FROM query_table(tbl_before)
    WHERE cluster IS NOT NULL AND (SELECT __ce_valid FROM __ce_checked)
    UNION ALL
    SELECT partition_by, id, NULL, cluster
    FROM query_table(tbl_after)
    WHERE cluster IS NOT NULL AND (SELECT __ce_valid FROM __ce_checked)
  )
  SELECT
    __ce_partition,
    __ce_id,
    MAX(__ce_before) AS __ce_before,
    MAX(__ce_after) AS __ce_after,
    COUNT(__ce_before) AS __ce_times_before,
    COUNT(__ce_after) AS __ce_times_after
  FROM __ce_stacked
  GROUP BY __ce_partition, __ce_id;

-- The id of a row of _paired_ids if that is noise that counts as singletons in one of the runs,
-- otherwise NULL. noise and noise_as are the user's options.
CREATE OR REPLACE MACRO clustereval._singleton_id(
  id, cluster_before, cluster_after, noise, noise_as
) AS
  CASE
    WHEN noise_as = 'singletons' AND (
      clustereval._is_noise(cluster_before, noise) OR clustereval._is_noise(cluster_after, noise)
    )
    THEN id
  END;

-- One row, __ce_n_faults = 0. Raises an error if an id is NULL or has several rows in a run.
-- __ce_counts names a CTE of any number of rows: __ce_null_before and __ce_null_after, rows without
-- an id, and __ce_twice_before and __ce_twice_after, the lowest id that has several rows.
CREATE OR REPLACE MACRO clustereval._check_paired_ids(__ce_counts) AS TABLE
  WITH __ce_facts AS (
    SELECT
      COALESCE(SUM(__ce_null_before), 0) AS __ce_null_before,
      COALESCE(SUM(__ce_null_after), 0) AS __ce_null_after,
      MIN(__ce_twice_before) AS __ce_twice_before,
      MIN(__ce_twice_after) AS __ce_twice_after
    FROM query_table(__ce_counts)
  )
  SELECT
    CASE
      WHEN __ce_null_before + __ce_null_after > 0
      THEN error(concat(
        'id: expected a value in every row, got NULL in ',
        CASE
          WHEN __ce_null_before > 0 THEN concat(__ce_null_before, ' rows of the run before')
          ELSE concat(__ce_null_after, ' rows of the run after')
        END
      ))
      WHEN __ce_twice_before IS NOT NULL OR __ce_twice_after IS NOT NULL
      THEN error(concat(
        'id: expected one row per id in a run, got several rows of id ',
        CASE
          WHEN __ce_twice_before IS NOT NULL
          THEN concat(clustereval._show_value(__ce_twice_before), ' in the run before')
          ELSE concat(clustereval._show_value(__ce_twice_after), ' in the run after')
        END
      ))
      ELSE 0
    END AS __ce_n_faults
  FROM __ce_facts;

-- Ids by their clusters in both runs: __ce_partition, __ce_before and __ce_after, the clusters as
-- in the tables, NULL if the ids are not in that run, and __ce_n, the number of ids. A row with a
-- singleton has its id as __ce_singleton_id. __ce_in_before and __ce_in_after tell whether the run
-- has the ids, without dropped noise; __ce_old and __ce_new are the clusters that are tracked.
-- Raises the errors of _check_paired_ids. __ce_ids names a CTE of the rows of _paired_ids; noise
-- and noise_as are the user's options.
CREATE OR REPLACE MACRO clustereval._paired_cells(__ce_ids, noise, noise_as) AS TABLE
  WITH __ce_counts AS MATERIALIZED (
    SELECT
      __ce_partition,
      __ce_before,
      __ce_after,
      clustereval._singleton_id(__ce_id, __ce_before, __ce_after, noise, noise_as)
        AS __ce_singleton_id,
      CAST(COUNT(*) AS BIGINT) AS __ce_n,
      SUM(CASE WHEN __ce_id IS NULL THEN __ce_times_before ELSE 0 END) AS __ce_null_before,
      SUM(CASE WHEN __ce_id IS NULL THEN __ce_times_after ELSE 0 END) AS __ce_null_after,
      MIN(CASE WHEN __ce_times_before > 1 THEN __ce_id END) AS __ce_twice_before,
      MIN(CASE WHEN __ce_times_after > 1 THEN __ce_id END) AS __ce_twice_after
    FROM query_table(__ce_ids)
    GROUP BY
      __ce_partition,
      __ce_before,
      __ce_after,
      clustereval._singleton_id(__ce_id, __ce_before, __ce_after, noise, noise_as)
  ),
  __ce_faults AS (SELECT * FROM clustereval._check_paired_ids(__ce_counts)),
  __ce_flags AS (
    SELECT
      *,
      clustereval._is_noise(__ce_before, noise) AS __ce_noisy_before,
      clustereval._is_noise(__ce_after, noise) AS __ce_noisy_after
    FROM __ce_counts
  )
  SELECT
    __ce_partition, __ce_before, __ce_after, __ce_singleton_id, __ce_n,
    __ce_before IS NOT NULL AND NOT (__ce_noisy_before AND noise_as = 'drop') AS __ce_in_before,
    __ce_after IS NOT NULL AND NOT (__ce_noisy_after AND noise_as = 'drop') AS __ce_in_after,
    CASE WHEN NOT (__ce_noisy_before AND noise_as <> 'cluster') THEN __ce_before END AS __ce_old,
    CASE WHEN NOT (__ce_noisy_after AND noise_as <> 'cluster') THEN __ce_after END AS __ce_new
  FROM __ce_flags
  WHERE (SELECT __ce_n_faults FROM __ce_faults) = 0;

---------------------------------------------------------------------------------------------------
-- Clusters and links
---------------------------------------------------------------------------------------------------

-- One row per cluster of the run before: __ce_partition, __ce_old, __ce_n_before, its ids,
-- __ce_n_left, those that have left, and __ce_n_stayed, the others. __ce_cells names a CTE of the
-- rows of _paired_cells.
CREATE OR REPLACE MACRO clustereval._old_clusters(__ce_cells) AS TABLE
  SELECT
    __ce_partition,
    __ce_old,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_n_before,
    CAST(SUM(CASE WHEN __ce_in_after THEN 0 ELSE __ce_n END) AS BIGINT) AS __ce_n_left,
    CAST(SUM(CASE WHEN __ce_in_after THEN __ce_n ELSE 0 END) AS BIGINT) AS __ce_n_stayed
  FROM query_table(__ce_cells)
  WHERE __ce_old IS NOT NULL
  GROUP BY __ce_partition, __ce_old;

-- One row per cluster of the run after: __ce_partition, __ce_new, __ce_n_after, its ids,
-- __ce_n_joined, those that have joined, and __ce_n_stayed, the others. __ce_cells names a CTE of
-- the rows of _paired_cells.
CREATE OR REPLACE MACRO clustereval._new_clusters(__ce_cells) AS TABLE
  SELECT
    __ce_partition,
    __ce_new,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_n_after,
    CAST(SUM(CASE WHEN __ce_in_before THEN 0 ELSE __ce_n END) AS BIGINT) AS __ce_n_joined,
    CAST(SUM(CASE WHEN __ce_in_before THEN __ce_n ELSE 0 END) AS BIGINT) AS __ce_n_stayed
  FROM query_table(__ce_cells)
  WHERE __ce_new IS NOT NULL
  GROUP BY __ce_partition, __ce_new;

-- One row per pair of clusters that have common ids: __ce_partition, __ce_old, __ce_new, __ce_n,
-- the number of these ids, all columns of both clusters with the two __ce_n_stayed as
-- __ce_stayed_before and __ce_stayed_after, __ce_share_before and __ce_share_after, and
-- __ce_is_link. __ce_cells names a CTE of the rows of _paired_cells; threshold is the user's
-- option.
CREATE OR REPLACE MACRO clustereval._cluster_overlaps(__ce_cells, threshold) AS TABLE
  WITH __ce_old_clusters AS (SELECT * FROM clustereval._old_clusters(__ce_cells)),
  __ce_new_clusters AS (SELECT * FROM clustereval._new_clusters(__ce_cells)),
  __ce_shares AS (
    SELECT
      cell.__ce_partition, cell.__ce_old, cell.__ce_new, cell.__ce_n,
      old.__ce_n_before, old.__ce_n_left, old.__ce_n_stayed AS __ce_stayed_before,
      new.__ce_n_after, new.__ce_n_joined, new.__ce_n_stayed AS __ce_stayed_after,
      clustereval._ratio(cell.__ce_n, old.__ce_n_stayed) AS __ce_share_before,
      clustereval._ratio(cell.__ce_n, new.__ce_n_stayed) AS __ce_share_after
    FROM query_table(__ce_cells) AS cell
    JOIN __ce_old_clusters AS old
      ON old.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND old.__ce_old = cell.__ce_old
    JOIN __ce_new_clusters AS new
      ON new.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND new.__ce_new = cell.__ce_new
  )
  SELECT
    *,
    GREATEST(__ce_share_before, __ce_share_after) >= CAST(threshold AS DOUBLE) AS __ce_is_link
  FROM __ce_shares;

-- TRUE if the ids of a cell have moved: they are in both runs, and their clusters are not linked. A
-- singleton in both runs has not moved. The parameters are columns of _paired_cells, and is_link
-- that of _cluster_overlaps, NULL where a cluster is not tracked.
CREATE OR REPLACE MACRO clustereval._has_moved(
  in_before, in_after, old_cluster, new_cluster, is_link
) AS
  in_before AND in_after AND NOT COALESCE(is_link, FALSE)
  AND NOT (old_cluster IS NULL AND new_cluster IS NULL);
