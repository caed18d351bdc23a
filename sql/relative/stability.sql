-- stability: many clusterings of the same rows, the runs, compared with each other.
--
--   * A run is a clustering. The input has one row per run and id, with the id's cluster in this
--     run. If a row has no cluster, or is noise that is dropped, its id counts as missing from the
--     run.
--   * A pair consists of two runs of the same partition, with the lower run first. The rows of a
--     pair are the ids in both runs.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- TRUE if the metric needs the expected mutual information, which takes long to compute.
CREATE OR REPLACE MACRO clustereval._needs_expectation(metric) AS
  coalesce(metric IN ('adjusted_mutual_info_score', 'expected_mutual_info'), FALSE);

-- `metric`, or another metric if there is no such one, because COLUMNS needs a column before
-- _check_options can say that the name is unknown.
CREATE OR REPLACE MACRO clustereval._known_metric(metric) AS
  CASE
    WHEN list_contains(clustereval._metric_names(), metric) THEN metric
    ELSE 'rand_score'
  END;

-- Text for _check_options, or the error of an option of run_agreement.
CREATE OR REPLACE MACRO clustereval._valid_agreement_options(
  noise, noise_as, metric, average_method, beta
) AS
  CASE
    WHEN NOT coalesce(list_contains(clustereval._metric_names(), metric), FALSE)
    THEN error(concat(
      'metric: expected one of ''', list_aggregate(
        clustereval._metric_names(), 'string_agg', ''', '''
      ),
      ''', got ', clustereval._quote_value(metric),
      clustereval._metric_hint(metric)
    ))
    ELSE clustereval._valid_external_options(
      noise, noise_as, average_method, beta, clustereval._needs_expectation(metric)
    )
  END;

-- x, any value. Raises an error if `reference` is NULL or cannot be converted to the type of run
-- without a change.
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

-- The rows of tbl that have a cluster: partition_key, run, id and cluster. Raises an error for a
-- string literal in place of a column, and if noise is not a value of the type of cluster.
CREATE OR REPLACE MACRO clustereval._run_rows(tbl, id, run, cluster, partition_by, noise) AS TABLE
  WITH __ce_rows AS (
    SELECT
      partition_by AS __ce_partition, run AS __ce_run, id AS __ce_id, cluster AS __ce_cluster
    FROM query_table(tbl)
    WHERE cluster IS NOT NULL
    UNION ALL
    SELECT NULL, NULL, NULL, NULL
    FROM query_table(tbl)
    WHERE FALSE
    HAVING clustereval._check_columns(
      clustereval._check_noise(FALSE, noise, cluster),
      [
        clustereval._given_column('id', id),
        clustereval._given_column('run', run),
        clustereval._given_column('cluster', cluster),
        clustereval._given_column('partition_by', partition_by)
      ]
    )
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_run AS run,
    __ce_id AS id,
    __ce_cluster AS cluster
  FROM __ce_rows;

-- One row per cluster of a run: partition_key; run; cluster; n; n_without_id, its rows whose id is
-- NULL; is_singleton, TRUE for noise that counts as singletons; run_no, the number of the run over
-- all partitions; and code, which identifies the cluster and, being between r 2^36 and (r + 1)
-- 2^36, its run r. Dropped noise is left out. Raises an error if a partition has more than 1,000
-- runs with fewer than 10 rows on average, which are hardly clusterings.
CREATE OR REPLACE MACRO clustereval._run_clusters(rows, noise, noise_as) AS TABLE
  WITH counts AS (
    SELECT
      partition_key, run, cluster,
      COUNT(*) AS n,
      COUNT(*) - COUNT(id) AS n_without_id,
      clustereval._is_noise(cluster, noise) AS noisy
    FROM query_table(rows)
    GROUP BY partition_key, run, cluster
  ),
  numbers AS (
    SELECT
      *,
      DENSE_RANK() OVER (ORDER BY partition_key ASC NULLS LAST, run ASC NULLS LAST) AS run_no,
      ROW_NUMBER() OVER (
        ORDER BY
          partition_key ASC NULLS LAST, run ASC NULLS LAST, cluster ASC NULLS LAST
      ) AS cluster_no
    FROM counts
    WHERE NOT (noisy AND noise_as = 'drop')
  ),
  sizes AS (
    SELECT COUNT(DISTINCT run_no) AS n_runs, SUM(n) AS n_rows
    FROM numbers
    GROUP BY partition_key
  ),
  faults AS (
    SELECT COUNT(CASE
      WHEN n_runs > 1000 AND n_rows < 10 * n_runs
      THEN error(concat(
        'run: expected a column with one value per clustering, got ', n_runs, ' values in ',
        n_rows, ' rows; the order of the columns is id, run, cluster'
      ))
    END) AS n_faults
    FROM sizes
  )
  SELECT
    partition_key, run, cluster, n, n_without_id, run_no,
    noisy AND noise_as = 'singletons' AS is_singleton,
    run_no * 68719476736 + cluster_no AS code
  FROM numbers
  WHERE (SELECT n_faults FROM faults) = 0;

-- One row per run: partition_key, run, run_no and n, its rows.
CREATE OR REPLACE MACRO clustereval._runs(clusters) AS TABLE
  SELECT partition_key, run, run_no, CAST(SUM(n) AS BIGINT) AS n
  FROM query_table(clusters)
  GROUP BY partition_key, run, run_no;

-- One row per row that is scored, as whole numbers: id_no, run_no, and code (a singleton has a code
-- of its own). The rows are sorted by id, so that a join of the rows of each id finds them side by
-- side in memory.
CREATE OR REPLACE MACRO clustereval._coded_rows(rows, clusters, ids) AS TABLE
  SELECT
    coding.id_no,
    cluster.run_no,
    CASE
      WHEN cluster.is_singleton
      THEN cluster.run_no * 68719476736 + 34359738368 + coding.id_no
      ELSE cluster.code
    END AS code
  FROM query_table(rows) AS entry
  JOIN query_table(clusters) AS cluster
    ON cluster.partition_key IS NOT DISTINCT FROM entry.partition_key
    AND cluster.run = entry.run
    AND cluster.cluster = entry.cluster
  JOIN query_table(ids) AS coding
    ON coding.partition_key IS NOT DISTINCT FROM entry.partition_key
    AND coding.id = entry.id
  ORDER BY coding.id_no ASC NULLS LAST;

-- One row per id: partition_key, id and id_no, its number over all partitions.
CREATE OR REPLACE MACRO clustereval._run_ids(rows) AS TABLE
  SELECT partition_key, id, ROW_NUMBER() OVER () AS id_no
  FROM query_table(rows)
  GROUP BY partition_key, id;

-- One row, n_faults = 0. Raises an error for a NULL run or id, or an id twice in a run.
CREATE OR REPLACE MACRO clustereval._check_runs(clusters, runs, ids, coded) AS TABLE
  WITH missing AS (
    SELECT
      COALESCE(SUM(CASE WHEN run IS NULL THEN n END), 0) AS without_run,
      COALESCE(SUM(n_without_id), 0) AS without_id
    FROM query_table(clusters)
  ),
  repeated AS (
    SELECT run_no, id_no, COUNT(*) AS times
    FROM query_table(coded)
    GROUP BY run_no, id_no
    HAVING COUNT(*) > 1
  ),
  first_repeated AS (
    SELECT in_run.run, coding.id, repeated.times
    FROM repeated
    JOIN query_table(runs) AS in_run ON in_run.run_no = repeated.run_no
    JOIN query_table(ids) AS coding ON coding.id_no = repeated.id_no
    ORDER BY repeated.run_no ASC NULLS LAST, coding.id ASC NULLS LAST
    LIMIT 1
  ),
  repeated_faults AS (
    SELECT COUNT(CASE
      WHEN times > 1
      THEN error(concat(
        'id: expected one row per id in a run, got ', times, ' rows of id ',
        clustereval._show_value(id), ' in run ', clustereval._show_value(run)
      ))
    END) AS n_faults
    FROM first_repeated
  )
  SELECT
    CASE
      WHEN missing.without_run > 0
      THEN error(concat(
        'run: expected a value in every row, got NULL in ', missing.without_run, ' rows'
      ))
      WHEN missing.without_id > 0
      THEN error(concat(
        'id: expected a value in every row, got NULL in ', missing.without_id, ' rows'
      ))
      ELSE faults.n_faults
    END AS n_faults
  FROM missing
  CROSS JOIN repeated_faults AS faults;

---------------------------------------------------------------------------------------------------
-- Pairs of runs
---------------------------------------------------------------------------------------------------

-- Number that identifies the pair of the runs with the numbers run_no_1 and run_no_2.
CREATE OR REPLACE MACRO clustereval._pair_of_runs(run_no_1, run_no_2) AS
  run_no_1 * 2147483648 + run_no_2;

-- One row per pair of runs: partition_key, run_no_1, run_1, run_no_2, run_2, n, the ids in both,
-- n_only_1 and n_only_2, those in one of them, and score, by options of run_agreement.
CREATE OR REPLACE MACRO clustereval._scored_pairs(
  runs, coded, metric, average_method, beta
) AS TABLE
  -- Numbers of ids by a cluster of each run. An id occurs once in a run, so the lower of two codes
  -- belongs to the lower run. Because codes are compared, the join needs only two columns.
  WITH counts AS (
    SELECT
      one.code AS code_1, other.code AS code_2,
      CAST(COUNT(*) AS BIGINT) AS n
    FROM query_table(coded) AS one
    JOIN query_table(coded) AS other
      ON other.id_no = one.id_no
      AND one.code < other.code
    GROUP BY one.code, other.code
  ),
  -- These are the cells of the contingency tables of all pairs.
  cells AS (
    SELECT
      clustereval._pair_of_runs(code_1 // 68719476736, code_2 // 68719476736) AS pair,
      code_1, code_2, n
    FROM counts
  ),
  -- Only the statistics that the metric needs stay in the plan.
  scores AS (
    SELECT
      partition_key AS pair,
      n,
      COLUMNS(lambda column_name: column_name = clustereval._known_metric(metric)) AS score
    FROM clustereval._external_report(
      cells, code_1, code_2, n, pair, NULL, 'cluster',
      average_method, beta, clustereval._needs_expectation(metric)
    )
  )
  SELECT
    low.partition_key,
    low.run_no AS run_no_1,
    low.run AS run_1,
    high.run_no AS run_no_2,
    high.run AS run_2,
    COALESCE(score.n, 0) AS n,
    low.n - COALESCE(score.n, 0) AS n_only_1,
    high.n - COALESCE(score.n, 0) AS n_only_2,
    score.score
  FROM query_table(runs) AS low
  JOIN query_table(runs) AS high
    ON high.partition_key IS NOT DISTINCT FROM low.partition_key
    AND low.run_no < high.run_no
  LEFT JOIN scores AS score
    ON score.pair = clustereval._pair_of_runs(low.run_no, high.run_no);

-- One row, n_faults = 0. Raises an error if the ids of two runs must be the same and differ.
CREATE OR REPLACE MACRO clustereval._check_same_ids(pairs, require_same_ids) AS TABLE
  WITH first AS (
    SELECT *
    FROM query_table(pairs)
    WHERE require_same_ids AND n_only_1 + n_only_2 > 0
    ORDER BY run_no_1 ASC NULLS LAST, run_no_2 ASC NULLS LAST
    LIMIT 1
  )
  SELECT COUNT(CASE
    WHEN n >= 0
    THEN error(concat(
      'require_same_ids: expected the same ids in every run, got ', n_only_1,
      ' only in run ', clustereval._show_value(run_1), ' and ', n_only_2,
      ' only in run ', clustereval._show_value(run_2), ', of ', n, ' in both'
    ))
  END) AS n_faults
  FROM first;

---------------------------------------------------------------------------------------------------
-- A reference run
---------------------------------------------------------------------------------------------------

-- The rows of _runs whose run is `reference`, at most one per partition. Raises an error if there
-- are runs, but none of them is the reference.
CREATE OR REPLACE MACRO clustereval._reference_runs(runs, reference) AS TABLE
  WITH compared AS (
    SELECT
      *,
      clustereval._check_reference(
        clustereval._cast_noise(reference, run), reference, run
      ) AS reference
    FROM query_table(runs)
  ),
  facts AS (
    SELECT
      COUNT(*) AS n_runs,
      any_value(run) AS any_run,
      COUNT(CASE WHEN run = compared.reference THEN 1 END) AS n_found,
      MAX(CASE WHEN run < compared.reference THEN run END) AS below,
      MIN(CASE WHEN run > compared.reference THEN run END) AS above
    FROM compared
  ),
  checks AS (
    SELECT CASE
      WHEN n_found = 0 AND n_runs > 0
      THEN error(concat(
        'reference: run ', CAST(reference AS VARCHAR), ' not found; ',
        CASE
          WHEN below IS NULL OR above IS NULL
          THEN concat('the nearest run is ', CAST(COALESCE(below, above) AS VARCHAR))
          ELSE concat(
            'the nearest runs are ', CAST(below AS VARCHAR), ' and ',
            CAST(above AS VARCHAR)
          )
        END
      ))
      -- This check is repeated here for a table without runs.
      ELSE clustereval._check_reference(TRUE, reference, any_run)
    END AS is_known
    FROM facts
  )
  SELECT compared.partition_key, compared.run, compared.run_no, compared.n
  FROM compared
  CROSS JOIN checks
  WHERE checks.is_known AND compared.run = compared.reference;

-- Cells of the contingency tables of the reference runs with the other runs: code, other_code and
-- n, the ids in both. The rows of the references are materialized, since DuckDB would otherwise
-- join all rows of an id with each other first.
CREATE OR REPLACE MACRO clustereval._reference_cells(coded, reference_runs) AS TABLE
  WITH reference_rows AS MATERIALIZED (
    SELECT one.id_no, one.code
    FROM query_table(coded) AS one
    JOIN query_table(reference_runs) AS base ON base.run_no = one.run_no
  )
  SELECT
    entry.code,
    other.code AS other_code,
    CAST(COUNT(*) AS BIGINT) AS n
  FROM query_table(coded) AS other
  JOIN reference_rows AS entry
    ON entry.id_no = other.id_no
    AND entry.code <> other.code
  GROUP BY entry.code, other.code;

-- One row per cluster of a reference run (code) and other run with ids of it: jaccard, its best
-- Jaccard index there. Sizes are sums of cells, so they count only the ids that are in both runs.
CREATE OR REPLACE MACRO clustereval._best_jaccard(cells) AS TABLE
  WITH sizes AS (
    SELECT
      *,
      other_code // 68719476736 AS other_run_no,
      SUM(n) OVER (PARTITION BY code, other_code // 68719476736) AS size,
      SUM(n) OVER (PARTITION BY other_code) AS other_size
    FROM query_table(cells)
  )
  SELECT
    code,
    MAX(clustereval._ratio(n, size + other_size - n)) AS jaccard
  FROM sizes
  GROUP BY code, other_run_no;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- Agreement of every pair of runs: partition_key, run_1 < run_2, n (ids in both), n_only_1 and
-- n_only_2 (ids in one of them only) and score, the metric of external_report of this name, on the
-- ids in both, with run_1 as the label and run_2 as the cluster: a metric that is not symmetric,
-- such as homogeneity_score, depends on the order. tbl is a table with one row per run and id, and
-- id, run and cluster are its columns; rows with a NULL cluster are ignored. noise is the value of
-- cluster that marks noise in every run; noise_as counts its rows as one 'cluster', leaves them
-- out ('drop') or counts them as 'singletons'. average_method and beta are those of
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
  __ce_pairs AS (
    SELECT * FROM clustereval._scored_pairs(__ce_runs, __ce_coded, metric, average_method, beta)
  )
  SELECT
    partition_key,
    run_1,
    run_2,
    n,
    n_only_1,
    n_only_2,
    score
  FROM __ce_pairs AS pairs
  WHERE clustereval._check_options(
      clustereval._valid_agreement_options(noise, noise_as, metric, average_method, beta)
    )
    AND (SELECT n_faults FROM clustereval._check_runs(
      __ce_clusters, __ce_runs, __ce_ids, __ce_coded
    )) = 0
    AND (SELECT n_faults FROM clustereval._check_same_ids(__ce_pairs, require_same_ids)) = 0
  ORDER BY run_no_1 ASC NULLS LAST, run_no_2 ASC NULLS LAST;

-- Each run's mean agreement with the other runs, the most central run first: partition_key, run,
-- n_runs (the number of other runs with which it is compared), mean_score, min_score and max_score
-- over these runs, and rank, which is 1 for the most central run. This is the run with the highest
-- mean, or with the lowest mean if low values of the metric are best. Means that are equal to 12
-- decimals rank by run. In a pair of runs, the lower run is the label. The parameters are those of
-- run_agreement.
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
  __ce_pairs AS (
    SELECT * FROM clustereval._scored_pairs(__ce_runs, __ce_coded, metric, average_method, beta)
  ),
  __ce_sign AS (
    SELECT CASE
      WHEN best IS NULL
      THEN error(concat(
        'metric ''', metric, ''' has no best value, so no run is the most central; ',
        'use another metric'
      ))
      WHEN best IN ('0', 'low') THEN 1.0
      ELSE -1.0
    END AS sign
    FROM clustereval._metric_meanings() AS meanings
    WHERE meanings.metric = metric
  ),
  __ce_sides AS (
    SELECT run_no_1 AS run_no, score FROM __ce_pairs
    UNION ALL
    SELECT run_no_2, score FROM __ce_pairs
  ),
  __ce_means AS (
    SELECT
      run_no,
      COUNT(score) AS n_runs,
      clustereval._ratio(clustereval._compensated_sum(score), COUNT(score)) AS mean,
      MIN(score) AS min,
      MAX(score) AS max
    FROM __ce_sides
    GROUP BY run_no
  ),
  __ce_ranks AS (
    SELECT
      runs.partition_key, runs.run, means.mean, means.min, means.max,
      COALESCE(means.n_runs, 0) AS n_runs,
      ROW_NUMBER() OVER (
        PARTITION BY runs.partition_key
        ORDER BY
          signs.sign * ROUND(means.mean, 12) ASC NULLS LAST,
          runs.run_no ASC NULLS LAST
      ) AS rank
    FROM __ce_runs AS runs
    CROSS JOIN __ce_sign AS signs
    LEFT JOIN __ce_means AS means ON means.run_no = runs.run_no
  )
  SELECT
    partition_key,
    ranks.run,
    n_runs,
    mean AS mean_score,
    min AS min_score,
    max AS max_score,
    CASE WHEN mean IS NOT NULL THEN rank END AS rank
  FROM __ce_ranks AS ranks
  WHERE clustereval._check_options(
      clustereval._valid_agreement_options(noise, noise_as, metric, average_method, beta)
    )
    AND (SELECT n_faults FROM clustereval._check_runs(
      __ce_clusters, __ce_runs, __ce_ids, __ce_coded
    )) = 0
    AND (SELECT n_faults FROM clustereval._check_same_ids(__ce_pairs, require_same_ids)) = 0
  ORDER BY partition_key ASC NULLS LAST, rank ASC NULLS LAST;

-- Stability of each cluster of the run `reference`, a value of the column run: partition_key,
-- cluster, n (its rows), n_runs (the number of other runs that have ids of the cluster),
-- mean_jaccard and min_jaccard of its best Jaccard index in each of these runs, recovered, the
-- share of these runs in which the index is above 0.75, and dissolved, the share in which it is
-- below 0.5. The Jaccard index of two clusters counts only ids that are in both runs. tbl, id, run,
-- cluster, partition_by, noise and noise_as are those of run_agreement. Noise rows of the reference
-- that count as singletons have no row of their own.
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
  __ce_reference_runs AS (SELECT * FROM clustereval._reference_runs(__ce_runs, reference)),
  __ce_cells AS (SELECT * FROM clustereval._reference_cells(__ce_coded, __ce_reference_runs)),
  __ce_stability AS (
    SELECT
      code,
      COUNT(*) AS n_runs,
      clustereval._ratio(clustereval._compensated_sum(jaccard), COUNT(*)) AS mean,
      MIN(jaccard) AS min,
      clustereval._ratio(COUNT(CASE WHEN jaccard > 0.75 THEN 1 END), COUNT(*)) AS recovered,
      clustereval._ratio(COUNT(CASE WHEN jaccard < 0.5 THEN 1 END), COUNT(*)) AS dissolved
    FROM clustereval._best_jaccard(__ce_cells)
    GROUP BY code
  )
  SELECT
    clusters.partition_key,
    clusters.cluster,
    clusters.n,
    COALESCE(found.n_runs, 0) AS n_runs,
    found.mean AS mean_jaccard,
    found.min AS min_jaccard,
    found.recovered,
    found.dissolved
  FROM __ce_clusters AS clusters
  JOIN __ce_reference_runs AS base ON base.run_no = clusters.run_no
  LEFT JOIN __ce_stability AS found ON found.code = clusters.code
  WHERE NOT clusters.is_singleton
    AND clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT n_faults FROM clustereval._check_runs(
      __ce_clusters, __ce_runs, __ce_ids, __ce_coded
    )) = 0
    AND (SELECT COUNT(*) FROM __ce_reference_runs) >= 0 -- keeps the check of reference in the plan
  ORDER BY clusters.code ASC NULLS LAST;
