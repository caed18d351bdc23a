-- stability: many clusterings of the same rows, the runs, compared with each other.
--
--   * A run is one clustering; the input has one row per run and id, with the id's cluster in it.
--     A row without a cluster, and noise that is dropped, count as if the id were not in the run.
--   * A pair is two runs of one partition, the lower one first. Its rows are the ids in both.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- TRUE if the metric of this name needs the expected mutual information, which takes long.
CREATE OR REPLACE MACRO clustereval._needs_expectation(metric) AS
  coalesce(metric IN ('adjusted_mutual_info_score', 'expected_mutual_info'), FALSE);

-- The name `metric`, or that of another metric if no metric has it: COLUMNS needs a column before
-- _check_options can say that the name is unknown.
CREATE OR REPLACE MACRO clustereval._known_metric(metric) AS
  CASE
    WHEN list_contains(clustereval._metric_names(), metric) THEN metric
    ELSE 'rand_score'
  END;

-- Text of the query SELECT TRUE AS __ce_valid, for _check_options, which runs it before any row is
-- read. Raises an error if an option of run_agreement is invalid. The parameters are the options of
-- the same names, as the user passes them.
CREATE OR REPLACE MACRO clustereval._valid_agreement_options(
  noise, noise_as, metric, average_method, beta
) AS
  CASE
    WHEN NOT coalesce(list_contains(clustereval._metric_names(), metric), FALSE)
    THEN error(concat(
      'metric: expected one of ''', list_aggregate(
        clustereval._metric_names(), 'string_agg', ''', '''
      ),
      ''', got ', coalesce('''' || metric || '''', 'NULL')
    ))
    ELSE clustereval._valid_external_options(
      noise, noise_as, average_method, beta, clustereval._needs_expectation(metric)
    )
  END;

-- x, any value, passed through unless a check fails. Raises an error if `reference`, the user's
-- value of the column run, is NULL or cannot be converted to the type of run without a change.
CREATE OR REPLACE MACRO clustereval._check_reference(x, reference, run) AS
  CASE
    WHEN reference IS NULL OR clustereval._is_foreign(reference, run)
    THEN error(concat(
      'reference: expected a value of the type of run (', typeof(run), '), got ',
      coalesce('''' || CAST(reference AS VARCHAR) || ''' (' || typeof(reference) || ')', 'NULL')
    ))
    ELSE x
  END;

---------------------------------------------------------------------------------------------------
-- Runs
---------------------------------------------------------------------------------------------------

-- The rows of the table named tbl that have a cluster, with the user's columns as __ce_partition,
-- __ce_run, __ce_id and __ce_cluster. Raises an error for a string literal in place of a column,
-- and if noise, the value that marks noise, is no value of the type of cluster.
CREATE OR REPLACE MACRO clustereval._run_rows(
  tbl, id, run, cluster, partition_by, noise
) AS TABLE
  SELECT
    partition_by AS __ce_partition, run AS __ce_run, id AS __ce_id, cluster AS __ce_cluster
  FROM query_table(tbl)
  WHERE cluster IS NOT NULL
  UNION ALL
  SELECT NULL, NULL, NULL, NULL
  FROM query_table(tbl)
  WHERE FALSE
  HAVING clustereval._check_column(
    clustereval._check_column(
      clustereval._check_column(
        clustereval._check_column(
          clustereval._check_noise(FALSE, noise, cluster), 'partition_by', partition_by
        ),
        'cluster', cluster
      ),
      'run', run
    ),
    'id', id
  );

-- One row per cluster of a run: __ce_partition, __ce_run, __ce_cluster, __ce_n, its rows,
-- __ce_n_without_id, those whose id is NULL, __ce_noisy, TRUE for noise, __ce_is_singleton, TRUE
-- for noise that counts as singletons, __ce_run_no, the number of the run over all partitions in
-- their order, and __ce_code, which identifies the cluster. A code of run r is above r 2^36 and
-- below (r + 1) 2^36, so that it also tells the run. Dropped noise is left out. __ce_rows names a
-- CTE of the rows of _run_rows, noise and noise_as are the user's options.
CREATE OR REPLACE MACRO clustereval._run_clusters(__ce_rows, noise, noise_as) AS TABLE
  WITH __ce_counts AS (
    SELECT
      __ce_partition, __ce_run, __ce_cluster,
      COUNT(*) AS __ce_n,
      COUNT(*) - COUNT(__ce_id) AS __ce_n_without_id
    FROM query_table(__ce_rows)
    GROUP BY __ce_partition, __ce_run, __ce_cluster
  ),
  __ce_flags AS (
    SELECT
      *,
      clustereval._is_noise(__ce_cluster, noise) AS __ce_noisy
    FROM __ce_counts
  ),
  __ce_numbers AS (
    SELECT
      *,
      DENSE_RANK() OVER (ORDER BY __ce_partition ASC NULLS LAST, __ce_run ASC NULLS LAST)
        AS __ce_run_no,
      ROW_NUMBER() OVER (
        ORDER BY
          __ce_partition ASC NULLS LAST, __ce_run ASC NULLS LAST, __ce_cluster ASC NULLS LAST
      ) AS __ce_cluster_no
    FROM __ce_flags
    WHERE NOT (__ce_noisy AND noise_as = 'drop')
  )
  SELECT
    __ce_partition, __ce_run, __ce_cluster, __ce_n, __ce_n_without_id, __ce_run_no,
    __ce_noisy,
    __ce_noisy AND noise_as = 'singletons' AS __ce_is_singleton,
    __ce_run_no * 68719476736 + __ce_cluster_no AS __ce_code
  FROM __ce_numbers;

-- One row per run: __ce_partition, __ce_run, __ce_run_no and __ce_n, its rows. __ce_clusters names
-- a CTE of the rows of _run_clusters.
CREATE OR REPLACE MACRO clustereval._runs(__ce_clusters) AS TABLE
  SELECT __ce_partition, __ce_run, __ce_run_no, CAST(SUM(__ce_n) AS BIGINT) AS __ce_n
  FROM query_table(__ce_clusters)
  GROUP BY __ce_partition, __ce_run, __ce_run_no;

-- One row per row that counts, as whole numbers: __ce_id_no, the number of its id, __ce_run_no and
-- __ce_code (see _run_clusters; a singleton has a code of its own). They are sorted by id, so that
-- a join of the rows of each id finds these side by side in memory. __ce_rows and __ce_clusters
-- name CTEs of the rows of _run_rows and _run_clusters, and __ce_ids one with one row per id of a
-- partition: __ce_partition, __ce_id and __ce_id_no.
CREATE OR REPLACE MACRO clustereval._coded_rows(__ce_rows, __ce_clusters, __ce_ids) AS TABLE
  SELECT
    ids.__ce_id_no,
    clusters.__ce_run_no,
    CASE
      WHEN clusters.__ce_is_singleton
      THEN clusters.__ce_run_no * 68719476736 + 34359738368 + ids.__ce_id_no
      ELSE clusters.__ce_code
    END AS __ce_code
  FROM query_table(__ce_rows) AS entry
  JOIN query_table(__ce_clusters) AS clusters
    ON clusters.__ce_partition IS NOT DISTINCT FROM entry.__ce_partition
    AND clusters.__ce_run = entry.__ce_run
    AND clusters.__ce_cluster = entry.__ce_cluster
  JOIN query_table(__ce_ids) AS ids
    ON ids.__ce_partition IS NOT DISTINCT FROM entry.__ce_partition
    AND ids.__ce_id = entry.__ce_id
  ORDER BY ids.__ce_id_no ASC NULLS LAST;

-- One row per id of a partition: __ce_partition, __ce_id and __ce_id_no, its number over all
-- partitions. __ce_rows names a CTE of the rows of _run_rows.
CREATE OR REPLACE MACRO clustereval._run_ids(__ce_rows) AS TABLE
  SELECT __ce_partition, __ce_id, ROW_NUMBER() OVER () AS __ce_id_no
  FROM query_table(__ce_rows)
  GROUP BY __ce_partition, __ce_id;

-- One row, __ce_n_faults = 0. Raises an error if a run or an id is NULL, or a run has two rows of
-- one id. The parameters name CTEs of the rows of _run_clusters, _runs, _run_ids and _coded_rows.
CREATE OR REPLACE MACRO clustereval._check_runs(
  __ce_clusters, __ce_runs, __ce_ids, __ce_coded
) AS TABLE
  WITH __ce_missing AS (
    SELECT
      COALESCE(SUM(CASE WHEN __ce_run IS NULL THEN __ce_n END), 0) AS __ce_without_run,
      COALESCE(SUM(__ce_n_without_id), 0) AS __ce_without_id
    FROM query_table(__ce_clusters)
  ),
  __ce_repeated AS (
    SELECT __ce_run_no, __ce_id_no, COUNT(*) AS __ce_times
    FROM query_table(__ce_coded)
    GROUP BY __ce_run_no, __ce_id_no
    HAVING COUNT(*) > 1
  ),
  __ce_first_repeated AS (
    SELECT runs.__ce_run, ids.__ce_id, repeated.__ce_times
    FROM __ce_repeated AS repeated
    JOIN query_table(__ce_runs) AS runs ON runs.__ce_run_no = repeated.__ce_run_no
    JOIN query_table(__ce_ids) AS ids ON ids.__ce_id_no = repeated.__ce_id_no
    ORDER BY repeated.__ce_run_no ASC NULLS LAST, ids.__ce_id ASC NULLS LAST
    LIMIT 1
  ),
  __ce_repeated_faults AS (
    SELECT COUNT(CASE
      WHEN __ce_times > 1
      THEN error(concat(
        'id: expected one row per id in a run, got ', __ce_times, ' rows of id ',
        clustereval._show_value(__ce_id), ' in run ', clustereval._show_value(__ce_run)
      ))
    END) AS __ce_n_faults
    FROM __ce_first_repeated
  )
  SELECT
    CASE
      WHEN missing.__ce_without_run > 0
      THEN error(concat(
        'run: expected a value in every row, got NULL in ', missing.__ce_without_run, ' rows'
      ))
      WHEN missing.__ce_without_id > 0
      THEN error(concat(
        'id: expected a value in every row, got NULL in ', missing.__ce_without_id, ' rows'
      ))
      ELSE faults.__ce_n_faults
    END AS __ce_n_faults
  FROM __ce_missing AS missing
  CROSS JOIN __ce_repeated_faults AS faults;

---------------------------------------------------------------------------------------------------
-- Pairs of runs
---------------------------------------------------------------------------------------------------

-- Number that identifies the pair of the runs with the numbers run_no_1 and run_no_2.
CREATE OR REPLACE MACRO clustereval._pair_of_runs(run_no_1, run_no_2) AS
  run_no_1 * 2147483648 + run_no_2;

-- Cells of the contingency tables of all pairs of runs: __ce_pair, which identifies the pair (see
-- _pair_of_runs), __ce_code_1 and __ce_code_2, a cluster of each run, and __ce_n, the ids in both.
-- __ce_coded names a CTE of the rows of _coded_rows. An id is once in a run, so the lower of two
-- codes is that of the lower run; comparing codes leaves the join with two columns.
CREATE OR REPLACE MACRO clustereval._pair_cells(__ce_coded) AS TABLE
  WITH __ce_counts AS (
    SELECT
      coded.__ce_code AS __ce_code_1, other.__ce_code AS __ce_code_2,
      CAST(COUNT(*) AS BIGINT) AS __ce_n
    FROM query_table(__ce_coded) AS coded
    JOIN query_table(__ce_coded) AS other
      ON other.__ce_id_no = coded.__ce_id_no
      AND coded.__ce_code < other.__ce_code
    GROUP BY coded.__ce_code, other.__ce_code
  )
  SELECT
    clustereval._pair_of_runs(__ce_code_1 // 68719476736, __ce_code_2 // 68719476736) AS __ce_pair,
    __ce_code_1, __ce_code_2, __ce_n
  FROM __ce_counts;

-- One row per pair of runs with common ids: __ce_pair, __ce_n, the number of these ids, and
-- __ce_score. __ce_pair_cells names a CTE of the rows of _pair_cells; the others are options of
-- run_agreement. Only the statistics that the metric needs stay in the plan.
CREATE OR REPLACE MACRO clustereval._score_pairs(
  __ce_pair_cells, metric, average_method, beta
) AS TABLE
  SELECT
    partition_key AS __ce_pair,
    n AS __ce_n,
    COLUMNS(lambda __ce_column: __ce_column = clustereval._known_metric(metric)) AS __ce_score
  FROM clustereval._external_report(
    __ce_pair_cells, __ce_code_1, __ce_code_2, __ce_n, __ce_pair, NULL, 'cluster',
    average_method, beta, clustereval._needs_expectation(metric)
  );

-- One row per pair of runs: __ce_partition, __ce_run_no_1, __ce_run_1, __ce_run_no_2, __ce_run_2,
-- __ce_n, the ids in both, __ce_n_only_1 and __ce_n_only_2, those in one, and __ce_score. The
-- parameters name CTEs of the rows of _runs and _score_pairs.
CREATE OR REPLACE MACRO clustereval._scored_pairs(__ce_runs, __ce_scores) AS TABLE
  SELECT
    low.__ce_partition,
    low.__ce_run_no AS __ce_run_no_1,
    low.__ce_run AS __ce_run_1,
    high.__ce_run_no AS __ce_run_no_2,
    high.__ce_run AS __ce_run_2,
    COALESCE(scores.__ce_n, 0) AS __ce_n,
    low.__ce_n - COALESCE(scores.__ce_n, 0) AS __ce_n_only_1,
    high.__ce_n - COALESCE(scores.__ce_n, 0) AS __ce_n_only_2,
    scores.__ce_score
  FROM query_table(__ce_runs) AS low
  JOIN query_table(__ce_runs) AS high
    ON high.__ce_partition IS NOT DISTINCT FROM low.__ce_partition
    AND low.__ce_run_no < high.__ce_run_no
  LEFT JOIN query_table(__ce_scores) AS scores
    ON scores.__ce_pair = clustereval._pair_of_runs(low.__ce_run_no, high.__ce_run_no);

-- One row, __ce_n_faults = 0. Raises an error if require_same_ids, the user's option, is TRUE and
-- two runs have different ids. __ce_pairs names a CTE of the rows of _scored_pairs.
CREATE OR REPLACE MACRO clustereval._check_same_ids(__ce_pairs, require_same_ids) AS TABLE
  WITH __ce_first AS (
    SELECT *
    FROM query_table(__ce_pairs)
    WHERE require_same_ids AND __ce_n_only_1 + __ce_n_only_2 > 0
    ORDER BY __ce_run_no_1 ASC NULLS LAST, __ce_run_no_2 ASC NULLS LAST
    LIMIT 1
  )
  SELECT COUNT(CASE
    WHEN __ce_n >= 0
    THEN error(concat(
      'require_same_ids: expected the same ids in every run, got ', __ce_n_only_1,
      ' only in run ', clustereval._show_value(__ce_run_1), ' and ', __ce_n_only_2,
      ' only in run ', clustereval._show_value(__ce_run_2), ', of ', __ce_n, ' in both'
    ))
  END) AS __ce_n_faults
  FROM __ce_first;

---------------------------------------------------------------------------------------------------
-- A reference run
---------------------------------------------------------------------------------------------------

-- The rows of _runs whose run is `reference`, one at most per partition. Raises an error if there
-- are runs, but none of them is. __ce_runs names a CTE of the rows of _runs.
CREATE OR REPLACE MACRO clustereval._reference_runs(__ce_runs, reference) AS TABLE
  WITH __ce_compared AS (
    SELECT
      *,
      clustereval._check_reference(
        clustereval._cast_noise(reference, __ce_run), reference, __ce_run
      ) AS __ce_reference
    FROM query_table(__ce_runs)
  ),
  __ce_facts AS (
    SELECT
      COUNT(*) AS __ce_n_runs,
      any_value(__ce_run) AS __ce_any_run,
      COUNT(CASE WHEN __ce_run = __ce_reference THEN 1 END) AS __ce_n_found,
      MAX(CASE WHEN __ce_run < __ce_reference THEN __ce_run END) AS __ce_below,
      MIN(CASE WHEN __ce_run > __ce_reference THEN __ce_run END) AS __ce_above
    FROM __ce_compared
  ),
  __ce_checks AS (
    SELECT CASE
      WHEN __ce_n_found = 0 AND __ce_n_runs > 0
      THEN error(concat(
        'reference: run ', CAST(reference AS VARCHAR), ' not found; ',
        CASE
          WHEN __ce_below IS NULL OR __ce_above IS NULL
          THEN concat(
            'the nearest run is ', CAST(COALESCE(__ce_below, __ce_above) AS VARCHAR)
          )
          ELSE concat(
            'the nearest runs are ', CAST(__ce_below AS VARCHAR), ' and ',
            CAST(__ce_above AS VARCHAR)
          )
        END
      ))
      -- Again, for a table without runs.
      ELSE clustereval._check_reference(TRUE, reference, __ce_any_run)
    END AS __ce_exists
    FROM __ce_facts
  )
  SELECT compared.__ce_partition, compared.__ce_run, compared.__ce_run_no, compared.__ce_n
  FROM __ce_compared AS compared
  CROSS JOIN __ce_checks AS checks
  WHERE checks.__ce_exists AND compared.__ce_run = compared.__ce_reference;

-- Cells of the contingency tables of the reference runs with the other runs: __ce_code, a cluster
-- of the reference, __ce_other_code, a cluster of another run, and __ce_n, the ids in both. The
-- parameters name CTEs of the rows of _coded_rows and _reference_runs. The rows of the references
-- are materialized, since DuckDB would otherwise join all rows of an id with each other first.
CREATE OR REPLACE MACRO clustereval._reference_cells(__ce_coded, __ce_references) AS TABLE
  WITH __ce_reference_rows AS MATERIALIZED (
    SELECT coded.__ce_id_no, coded.__ce_code
    FROM query_table(__ce_coded) AS coded
    JOIN query_table(__ce_references) AS base ON base.__ce_run_no = coded.__ce_run_no
  )
  SELECT
    entry.__ce_code,
    other.__ce_code AS __ce_other_code,
    CAST(COUNT(*) AS BIGINT) AS __ce_n
  FROM query_table(__ce_coded) AS other
  JOIN __ce_reference_rows AS entry
    ON entry.__ce_id_no = other.__ce_id_no
    AND entry.__ce_code <> other.__ce_code
  GROUP BY entry.__ce_code, other.__ce_code;

-- One row per cluster of a reference run (__ce_code) and other run that has ids of it: its best
-- Jaccard index there, __ce_jaccard. __ce_cells names a CTE of the rows of _reference_cells. Sizes
-- are sums of cells, so they count the ids that are in both runs.
CREATE OR REPLACE MACRO clustereval._best_jaccard(__ce_cells) AS TABLE
  WITH __ce_sizes AS (
    SELECT
      *,
      __ce_other_code // 68719476736 AS __ce_other_run_no,
      SUM(__ce_n) OVER (PARTITION BY __ce_code, __ce_other_code // 68719476736) AS __ce_size,
      SUM(__ce_n) OVER (PARTITION BY __ce_other_code) AS __ce_other_size
    FROM query_table(__ce_cells)
  )
  SELECT
    __ce_code,
    MAX(clustereval._ratio(__ce_n, __ce_size + __ce_other_size - __ce_n)) AS __ce_jaccard
  FROM __ce_sizes
  GROUP BY __ce_code, __ce_other_run_no;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Agreement of every pair of runs: partition_key, run_1 < run_2, n (ids in both), n_only_1 and
-- n_only_2 (ids in one of them only) and score, the metric of external_report of this name, on the
-- ids in both, with run_1 as the label and run_2 as the cluster: a metric that is not symmetric,
-- such as homogeneity_score, depends on the order. tbl is a table with one row per run and id, and
-- id, run and cluster are its columns; rows with a NULL cluster count as if they were not there.
-- noise is the value of cluster that marks noise in every run, which noise_as counts as one
-- 'cluster', leaves out ('drop') or counts as 'singletons'. average_method and beta are those of
-- external_report. require_same_ids := TRUE makes it an error if an id is not in every run.
-- Examples:
--   FROM clustereval.run_agreement(runs, id, run, cluster);
--   FROM clustereval.run_agreement(runs, id, run, cluster, metric := 'variation_of_information');
CREATE OR REPLACE MACRO clustereval.run_agreement(
  tbl, id, run, cluster, metric := 'adjusted_rand_score', partition_by := NULL, noise := NULL,
  noise_as := NULL, average_method := 'arithmetic', beta := 1.0, require_same_ids := FALSE
) AS TABLE
  WITH __ce_rows AS (
    SELECT * FROM clustereval._run_rows(tbl, id, run, cluster, partition_by, noise)
  ),
  __ce_clusters AS (SELECT * FROM clustereval._run_clusters(__ce_rows, noise, noise_as)),
  __ce_runs AS (SELECT * FROM clustereval._runs(__ce_clusters)),
  __ce_ids AS (SELECT * FROM clustereval._run_ids(__ce_rows)),
  __ce_coded AS MATERIALIZED (
    SELECT * FROM clustereval._coded_rows(__ce_rows, __ce_clusters, __ce_ids)
  ),
  __ce_pair_cells AS (SELECT * FROM clustereval._pair_cells(__ce_coded)),
  __ce_scores AS (
    SELECT * FROM clustereval._score_pairs(__ce_pair_cells, metric, average_method, beta)
    WHERE clustereval._check_options(
      clustereval._valid_agreement_options(noise, noise_as, metric, average_method, beta)
    )
  ),
  __ce_pairs AS (SELECT * FROM clustereval._scored_pairs(__ce_runs, __ce_scores)),
  __ce_faults AS (
    SELECT __ce_n_faults
    FROM clustereval._check_runs(__ce_clusters, __ce_runs, __ce_ids, __ce_coded)
  ),
  __ce_id_faults AS (
    SELECT __ce_n_faults FROM clustereval._check_same_ids(__ce_pairs, require_same_ids)
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_run_1 AS run_1,
    __ce_run_2 AS run_2,
    __ce_n AS n,
    __ce_n_only_1 AS n_only_1,
    __ce_n_only_2 AS n_only_2,
    __ce_score AS score
  FROM __ce_pairs
  WHERE (SELECT __ce_n_faults FROM __ce_faults) = 0
    AND (SELECT __ce_n_faults FROM __ce_id_faults) = 0
  ORDER BY __ce_run_no_1 ASC NULLS LAST, __ce_run_no_2 ASC NULLS LAST;

-- Each run's mean agreement with the other runs, the most central run first: partition_key, run,
-- n_runs (others it is compared with), mean_score, min_score and max_score over these, and rank,
-- 1 for the most central run: the one with the highest mean, or the lowest if low values of the
-- metric are best. Means that are equal to 12 decimals rank by run. In a pair of runs the lower
-- one is the label. The parameters are those of run_agreement.
-- Examples:
--   FROM clustereval.run_consensus(runs, id, run, cluster);
CREATE OR REPLACE MACRO clustereval.run_consensus(
  tbl, id, run, cluster, metric := 'adjusted_rand_score', partition_by := NULL, noise := NULL,
  noise_as := NULL, average_method := 'arithmetic', beta := 1.0, require_same_ids := FALSE
) AS TABLE
  WITH __ce_rows AS (
    SELECT * FROM clustereval._run_rows(tbl, id, run, cluster, partition_by, noise)
  ),
  __ce_clusters AS (SELECT * FROM clustereval._run_clusters(__ce_rows, noise, noise_as)),
  __ce_runs AS (SELECT * FROM clustereval._runs(__ce_clusters)),
  __ce_ids AS (SELECT * FROM clustereval._run_ids(__ce_rows)),
  __ce_coded AS MATERIALIZED (
    SELECT * FROM clustereval._coded_rows(__ce_rows, __ce_clusters, __ce_ids)
  ),
  __ce_pair_cells AS (SELECT * FROM clustereval._pair_cells(__ce_coded)),
  __ce_scores AS (
    SELECT * FROM clustereval._score_pairs(__ce_pair_cells, metric, average_method, beta)
    WHERE clustereval._check_options(
      clustereval._valid_agreement_options(noise, noise_as, metric, average_method, beta)
    )
  ),
  __ce_pairs AS (SELECT * FROM clustereval._scored_pairs(__ce_runs, __ce_scores)),
  __ce_faults AS (
    SELECT __ce_n_faults
    FROM clustereval._check_runs(__ce_clusters, __ce_runs, __ce_ids, __ce_coded)
  ),
  __ce_id_faults AS (
    SELECT __ce_n_faults FROM clustereval._check_same_ids(__ce_pairs, require_same_ids)
  ),
  __ce_sign AS (
    SELECT CASE
      WHEN __ce_best IS NULL
      THEN error(concat(
        'metric ''', metric, ''' has no best value, so that no run is the most central: ',
        'use another metric'
      ))
      WHEN __ce_best IN ('0', 'low') THEN 1.0
      ELSE -1.0
    END AS __ce_sign
    FROM clustereval._metric_meanings()
    WHERE __ce_metric = metric
  ),
  __ce_sides AS (
    SELECT __ce_run_no_1 AS __ce_run_no, __ce_score FROM __ce_pairs
    UNION ALL
    SELECT __ce_run_no_2, __ce_score FROM __ce_pairs
  ),
  __ce_means AS (
    SELECT
      __ce_run_no,
      COUNT(__ce_score) AS __ce_n_runs,
      clustereval._ratio(clustereval._compensated_sum(__ce_score), COUNT(__ce_score)) AS __ce_mean,
      MIN(__ce_score) AS __ce_min,
      MAX(__ce_score) AS __ce_max
    FROM __ce_sides
    GROUP BY __ce_run_no
  ),
  __ce_ranks AS (
    SELECT
      runs.__ce_partition, runs.__ce_run, means.__ce_mean, means.__ce_min, means.__ce_max,
      COALESCE(means.__ce_n_runs, 0) AS __ce_n_runs,
      ROW_NUMBER() OVER (
        PARTITION BY runs.__ce_partition
        ORDER BY
          signs.__ce_sign * ROUND(means.__ce_mean, 12) ASC NULLS LAST,
          runs.__ce_run_no ASC NULLS LAST
      ) AS __ce_rank
    FROM __ce_runs AS runs
    CROSS JOIN __ce_sign AS signs
    LEFT JOIN __ce_means AS means ON means.__ce_run_no = runs.__ce_run_no
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_run AS run,
    __ce_n_runs AS n_runs,
    __ce_mean AS mean_score,
    __ce_min AS min_score,
    __ce_max AS max_score,
    CASE WHEN __ce_mean IS NOT NULL THEN __ce_rank END AS rank
  FROM __ce_ranks
  WHERE (SELECT __ce_n_faults FROM __ce_faults) = 0
    AND (SELECT __ce_n_faults FROM __ce_id_faults) = 0
  ORDER BY __ce_partition ASC NULLS LAST, __ce_rank ASC NULLS LAST;

-- Stability of each cluster of the run `reference`, a value of the column run: partition_key,
-- cluster, n (its rows), n_runs (other runs that have ids of it), mean_jaccard and min_jaccard of
-- its best Jaccard index in each of these runs, recovered, the share of them where that is above
-- 0.75, and dissolved, where it is below 0.5. A Jaccard index of two clusters counts only ids that
-- are in both runs. tbl, id, run, cluster, partition_by, noise and noise_as are those of
-- run_agreement. Noise rows of the reference that count as singletons have no row of their own.
-- Examples:
--   FROM clustereval.cluster_stability(runs, id, run, cluster, reference := 1);
CREATE OR REPLACE MACRO clustereval.cluster_stability(
  tbl, id, run, cluster, reference, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_rows AS (
    SELECT * FROM clustereval._run_rows(tbl, id, run, cluster, partition_by, noise)
  ),
  __ce_clusters AS (SELECT * FROM clustereval._run_clusters(__ce_rows, noise, noise_as)),
  __ce_runs AS (SELECT * FROM clustereval._runs(__ce_clusters)),
  __ce_ids AS (SELECT * FROM clustereval._run_ids(__ce_rows)),
  __ce_coded AS MATERIALIZED (
    SELECT * FROM clustereval._coded_rows(__ce_rows, __ce_clusters, __ce_ids)
  ),
  __ce_faults AS (
    SELECT __ce_n_faults
    FROM clustereval._check_runs(__ce_clusters, __ce_runs, __ce_ids, __ce_coded)
  ),
  __ce_references AS (SELECT * FROM clustereval._reference_runs(__ce_runs, reference)),
  __ce_cells AS (SELECT * FROM clustereval._reference_cells(__ce_coded, __ce_references)),
  __ce_best AS (SELECT * FROM clustereval._best_jaccard(__ce_cells)),
  __ce_stability AS (
    SELECT
      __ce_code,
      COUNT(*) AS __ce_n_runs,
      clustereval._ratio(clustereval._compensated_sum(__ce_jaccard), COUNT(*)) AS __ce_mean,
      MIN(__ce_jaccard) AS __ce_min,
      clustereval._ratio(COUNT(CASE WHEN __ce_jaccard > 0.75 THEN 1 END), COUNT(*))
        AS __ce_recovered,
      clustereval._ratio(COUNT(CASE WHEN __ce_jaccard < 0.5 THEN 1 END), COUNT(*))
        AS __ce_dissolved
    FROM __ce_best
    GROUP BY __ce_code
  )
  SELECT
    clusters.__ce_partition AS partition_key,
    clusters.__ce_cluster AS cluster,
    clusters.__ce_n AS n,
    COALESCE(found.__ce_n_runs, 0) AS n_runs,
    found.__ce_mean AS mean_jaccard,
    found.__ce_min AS min_jaccard,
    found.__ce_recovered AS recovered,
    found.__ce_dissolved AS dissolved
  FROM __ce_clusters AS clusters
  JOIN __ce_references AS base ON base.__ce_run_no = clusters.__ce_run_no
  LEFT JOIN __ce_stability AS found ON found.__ce_code = clusters.__ce_code
  WHERE NOT clusters.__ce_is_singleton
    AND clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT __ce_n_faults FROM __ce_faults) = 0
    AND (SELECT COUNT(*) FROM __ce_references) >= 0 -- keeps the check of reference in the plan
  ORDER BY clusters.__ce_code ASC NULLS LAST;
