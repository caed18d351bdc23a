-- choosing_k: for one clustering per number of clusters k, the value of each index for every k, and
-- the k that each criterion recommends. The curve is ssw, the sum of squared distances to the
-- centers, by k.

---------------------------------------------------------------------------------------------------
-- Checks
---------------------------------------------------------------------------------------------------

-- TRUE if type_name, the result of typeof(), is a type of numbers.
CREATE OR REPLACE MACRO clustereval._is_number_type(type_name) AS
  regexp_full_match(type_name, 'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM|FLOAT|DOUBLE|DECIMAL.*');

-- k as BIGINT. Raises an error unless it is a whole number >= 1. The upper limit rejects NaN, which
-- is above every number in DuckDB.
CREATE OR REPLACE MACRO clustereval._check_k(x) AS
  CASE
    WHEN clustereval._is_number_type(typeof(x)) AND clustereval._is_whole_number(x, 1)
    THEN CAST(x AS BIGINT)
    ELSE CAST(error(CASE
      WHEN starts_with(concat('', alias(x)), '''')
      THEN concat(
        'k: expected a column, got the quoted string ', alias(x), '; write it without quotes'
      )
      ELSE concat(
        'k: expected whole numbers >= 1, got ',
        CASE
          WHEN clustereval._is_number_type(typeof(x)) OR typeof(x) = '"NULL"'
          THEN clustereval._show_value(x)
          ELSE concat('a column of type ', typeof(x))
        END,
        '; k is the number of clusters that was asked for'
      )
    END) AS BIGINT)
  END;

-- query_text, a text for _check_options. Raises an error if silhouette is unknown.
CREATE OR REPLACE MACRO clustereval._valid_elbow_options(silhouette, query_text) AS
  CASE
    WHEN coalesce(silhouette, '') NOT IN ('none', 'simplified', 'exact')
    THEN error(concat(
      'silhouette: expected one of ''none'', ''simplified'', ''exact'', got ',
      clustereval._quote_value(silhouette)
    ))
    ELSE query_text
  END;

-- One row with __ce_valid TRUE. Raises an error if k or partition_by is a quoted string, or if k is
-- not a number, even if the table has no rows.
CREATE OR REPLACE MACRO clustereval._check_sweep_columns(tbl, k, partition_by) AS TABLE
  SELECT clustereval._check_columns(
    TRUE,
    [
      clustereval._given_column('partition_by', partition_by),
      clustereval._given_column('k', k)
    ]
  ) AS __ce_valid
  FROM query_table(clustereval._check_table_name(tbl))
  WHERE FALSE
  HAVING CASE
    WHEN clustereval._is_number_type(typeof(any_value(k)))
      OR clustereval._is_quoted(concat('', alias(any_value(k)))) OR typeof(any_value(k)) = '"NULL"'
    THEN TRUE
    ELSE error(concat(
      'k: expected whole numbers >= 1, got a column of type ', typeof(any_value(k)),
      '; k is the number of clusters that was asked for'
    ))
  END;

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per group of key, a struct {partition, k}: partition_key, k, n, dims, n_clusters, bic,
-- and the columns ssw, explained_variance, calinski_harabasz and davies_bouldin of internal_report,
-- by the steps of internal_report that these need.
CREATE OR REPLACE MACRO clustereval._elbow_scores(
  tbl, vector, cluster, key, distance, p, center, weights, noise, noise_as, missing
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, key, noise)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, key, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, center)),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._point_origins(
      __ce_rows, __ce_moments, distance, p, center, weights
    )
  ),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._move_points(__ce_rows, __ce_origins, weights)
  ),
  __ce_coordinates AS MATERIALIZED (
    SELECT * FROM clustereval._moved_moments(
      __ce_moments, __ce_points, __ce_origins, distance, p, center, weights
    )
  ),
  __ce_centers AS (
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(
      __ce_points, __ce_arguments, __ce_centers, distance, p
    )
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_gaps AS (SELECT * FROM clustereval._centroid_gaps(__ce_clusters, distance, p)),
  __ce_counts AS (
    SELECT
      partition_key,
      CAST(SUM(n) AS BIGINT) AS n,
      COUNT(*) AS n_clusters,
      clustereval._compensated_sum(n * ln(n)) AS size_logs
    FROM __ce_clusters
    GROUP BY partition_key
  ),
  -- k is checked once per cluster, not once per point. _cluster_spreads adds a row that is not a
  -- cluster.
  __ce_checked_k AS (
    SELECT clustereval._check_k(partition_key['k']) AS k
    FROM __ce_spreads AS spreads
    WHERE n + n_dropped + n_noise > 0
  )
  SELECT
    counts.partition_key['partition'] AS partition_key,
    CAST(counts.partition_key['k'] AS BIGINT) AS k,
    counts.n, spreads.dims, counts.n_clusters, spreads.ssw,
    CASE
      WHEN clustereval._squares_add_up(distance, center)
      THEN clustereval._ratio(spreads.ssb, spreads.ssw + spreads.ssb)
    END AS explained_variance,
    CASE
      WHEN clustereval._squares_add_up(distance, center)
      THEN clustereval._bic(
        counts.n, spreads.dims, counts.n_clusters, spreads.ssw, counts.size_logs
      )
    END AS bic,
    clustereval._finite_or_null(clustereval._calinski_harabasz_score(
      counts.n, counts.n_clusters, spreads.ssw, spreads.ssb
    )) AS calinski_harabasz,
    clustereval._finite_or_null(clustereval._davies_bouldin_score(
      counts.n, counts.n_clusters, spreads.overlap_sum
    )) AS davies_bouldin
  FROM __ce_counts AS counts
  LEFT JOIN clustereval._spread_totals(__ce_clusters, __ce_gaps, distance, p) AS spreads
    ON spreads.partition_key IS NOT DISTINCT FROM counts.partition_key
  WHERE COALESCE((SELECT MIN(valid) FROM clustereval._check_points(
    __ce_rows, __ce_arguments, __ce_spreads, __ce_centers, __ce_origins, weights
  )), TRUE)
    AND COALESCE((SELECT MIN(k) FROM __ce_checked_k), 1) >= 1;

---------------------------------------------------------------------------------------------------
-- Formulas. w is the ssw of a row, and before and after are the ssw of the rows before and after
-- it.
---------------------------------------------------------------------------------------------------

-- Krzanowski and Lai's DIFF of k: (k - 1)^(2/dims) before - k^(2/dims) w, where before is the ssw
-- of k - 1 clusters.
CREATE OR REPLACE MACRO clustereval._krzanowski_lai_difference(k, dims, before, w) AS
  pow(k - 1, clustereval._ratio(2, dims)) * before - pow(k, clustereval._ratio(2, dims)) * w;

-- Hartigan's statistic (w / after - 1) (n - k - 1) of n points, where after is the ssw of k + 1
-- clusters; NULL if after is 0.
CREATE OR REPLACE MACRO clustereval._hartigan_index(k, n, w, after) AS
  (w / NULLIF(after, 0) - 1) * (n - k - 1);

-- Sugar and James's distortion w / (n dims) to the power -dims / 2; NULL if w is 0, or the
-- result is outside the range of DOUBLE.
CREATE OR REPLACE MACRO clustereval._transformed_distortion(n, dims, w) AS
  CASE
    WHEN w > 0
    THEN clustereval._finite_exp(CAST(-0.5 AS DOUBLE) * dims * ln(NULLIF(w, 0) / n / dims))
  END;

-- Pelleg and Moore's BIC of n points in n_clusters clusters, where size_logs is the sum of n_j ln
-- n_j over the clusters: the log-likelihood of equal spherical Gaussians, whose variance per
-- dimension is w / (dims (n - n_clusters)), minus ln(n) / 2 for each of the n_clusters (dims + 1)
-- parameters. NULL if w is 0, as it is if n is n_clusters.
CREATE OR REPLACE MACRO clustereval._bic(n, dims, n_clusters, w, size_logs) AS
  CASE
    WHEN w > 0 -- so n > n_clusters
    THEN size_logs - n * ln(n)
      - CAST(0.5 AS DOUBLE) * dims * (
        n * ln(2 * pi() * (NULLIF(w, 0) / dims / NULLIF(n - n_clusters, 0))) + (n - n_clusters)
      )
      - CAST(0.5 AS DOUBLE) * n_clusters * (dims + 1) * ln(n)
  END;

-- The decrease of ssw before k, minus that which it would have at the rate after k, where the row
-- before has left_step fewer clusters and the row after right_step more; 0 within the rounding
-- error of ssw. For steps of 1, the second difference before - 2 w + after.
CREATE OR REPLACE MACRO clustereval._bend(before, w, after, left_step, right_step) AS
  CASE
    WHEN abs((before - w) - (w - after) * (left_step / right_step))
      <= 1e-12 * GREATEST(before, w, after)
    THEN 0.0
    ELSE (before - w) - (w - after) * (left_step / right_step)
  END;

-- x, a length in units of the whole curve, or 0 within rounding error, because the curve is
-- straight up to this place.
CREATE OR REPLACE MACRO clustereval._zero_if_straight(x) AS
  CASE WHEN abs(x) <= 1e-12 THEN 0.0 ELSE x END;

---------------------------------------------------------------------------------------------------
-- The curve of a sweep
---------------------------------------------------------------------------------------------------

-- The rows of _elbow_scores with those before and after it by k: before and after (ssw); left_step
-- and right_step (distances of k); place, from 1, and places; across and height, k and ssw scaled
-- to [0, 1] over the curve, NULL for a flat curve or one of fewer than 3 rows; and start_height and
-- end_height.
CREATE OR REPLACE MACRO clustereval._sweep_curve(scores) AS TABLE
  WITH neighbors AS (
    SELECT
      *,
      CAST(k AS DOUBLE) AS x,
      LAG(ssw) OVER sweep AS before,
      LEAD(ssw) OVER sweep AS after,
      CAST(k - LAG(k) OVER sweep AS DOUBLE) AS left_step,
      CAST(LEAD(k) OVER sweep - k AS DOUBLE) AS right_step,
      ROW_NUMBER() OVER sweep AS place,
      COUNT(*) OVER whole AS places,
      MIN(CAST(k AS DOUBLE)) OVER whole AS least_x,
      MAX(CAST(k AS DOUBLE)) OVER whole AS most_x,
      MIN(ssw) OVER whole AS least_ssw,
      MAX(ssw) OVER whole AS most_ssw
    FROM query_table(scores)
    WINDOW
      whole AS (PARTITION BY partition_key),
      sweep AS (PARTITION BY partition_key ORDER BY k ASC NULLS LAST)
  ),
  scaled AS (
    SELECT
      *,
      CASE
        WHEN places >= 3 AND most_ssw > least_ssw
        THEN (x - least_x) / NULLIF(most_x - least_x, 0)
      END AS across,
      CASE
        WHEN places >= 3
        THEN (ssw - least_ssw) / NULLIF(most_ssw - least_ssw, 0)
      END AS height
    FROM neighbors
  )
  SELECT
    *,
    MAX(CASE WHEN place = 1 THEN height END) OVER (PARTITION BY partition_key) AS start_height,
    MAX(CASE WHEN place = places THEN height END)
      OVER (PARTITION BY partition_key) AS end_height
  FROM scaled;

-- The rows of _sweep_curve with difference, Kneedle's difference curve, and is_knee: TRUE at the
-- first knee, FALSE in other rows, NULL in all if there is none. A knee is a local maximum of the
-- difference after which it falls by more than the mean step of across (S = 1) before the next one.
-- Kneedle also stops at local minima, which changes nothing, because the curve rises from there to
-- the next maximum. Unlike in kneed, an end of the curve is not a maximum (the paper compares a
-- value with both neighbors). Of equal values in a row, the last one is the maximum, as in kneed.
CREATE OR REPLACE MACRO clustereval._sweep_knees(scores) AS TABLE
  WITH differences AS (
    SELECT
      *,
      clustereval._zero_if_straight(1.0 - height - across) AS difference
    FROM clustereval._sweep_curve(scores)
  ),
  neighbors AS (
    SELECT
      *,
      LAG(difference) OVER sweep AS difference_before,
      LEAD(difference) OVER sweep AS difference_after
    FROM differences
    WINDOW sweep AS (PARTITION BY partition_key ORDER BY k ASC NULLS LAST)
  ),
  extremes AS (
    SELECT
      *,
      MAX(CASE
        WHEN difference >= difference_before AND difference >= difference_after
        THEN place
      END) OVER sweep AS last_maximum
    FROM neighbors
    WINDOW sweep AS (
      PARTITION BY partition_key ORDER BY k ASC NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  ),
  thresholds AS (
    SELECT
      *,
      MAX(CASE WHEN place = last_maximum THEN difference END)
        OVER (PARTITION BY partition_key, last_maximum)
        - clustereval._ratio(1, places - 1) AS threshold
    FROM extremes
  ),
  found AS (
    SELECT
      *,
      MIN(CASE WHEN difference_after < threshold THEN last_maximum END)
        OVER (PARTITION BY partition_key) AS knee
    FROM thresholds
  )
  SELECT *, place = knee AS is_knee FROM found;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- One row per partition (a group of partition_by) and value of k, the number of clusters that was
-- requested: counts, the indices that are used to choose k, and the knee of the curve of ssw. tbl
-- has one row per point and k. silhouette adds the mean silhouette, 'simplified' or 'exact'; the
-- other parameters are those of internal_report.
-- Examples:
--   FROM clustereval.elbow(sweep, [x, y, z], cluster, k);
--   FROM clustereval.elbow(sweep, [x, y, z], cluster, k, silhouette := 'simplified');
CREATE OR REPLACE MACRO clustereval.elbow(
  tbl, vector, cluster, k, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, silhouette := 'none',
  missing := 'error'
) AS TABLE
  WITH __ce_checked AS (SELECT * FROM clustereval._check_sweep_columns(tbl, k, partition_by)),
  __ce_scores AS (
    SELECT * FROM clustereval._elbow_scores(
      tbl, vector, cluster, {'partition': partition_by, 'k': k},
      distance, p, center, weights, noise, noise_as, missing
    )
  ),
  __ce_knees AS MATERIALIZED (SELECT * FROM clustereval._sweep_knees(__ce_scores)),
  __ce_neighbors AS (
    SELECT
      *,
      CASE
        WHEN left_step = 1
        THEN clustereval._krzanowski_lai_difference(x, dims, before, ssw)
      END AS kl_difference,
      clustereval._transformed_distortion(n, dims, ssw) AS distortion
    FROM __ce_knees
  ),
  __ce_no_silhouettes AS NOT MATERIALIZED (
    SELECT partition_key, __ce_knees.k, CAST(NULL AS DOUBLE) AS mean FROM __ce_knees WHERE FALSE
  ),
  __ce_mean_silhouettes AS NOT MATERIALIZED (
    SELECT
      scored.partition_key['partition'] AS partition_key,
      CAST(scored.partition_key['k'] AS BIGINT) AS k,
      scored.silhouette AS mean
    FROM clustereval.silhouette_score(
      tbl, vector, cluster, distance := distance, p := p, weights := weights,
      partition_by := {'partition': partition_by, 'k': k}, noise := noise, noise_as := noise_as,
      missing := missing, method := silhouette
    ) AS scored
  )
  SELECT
    own.partition_key,
    own.k,
    own.n,
    own.n_clusters,
    own.ssw,
    own.explained_variance,
    own.calinski_harabasz AS calinski_harabasz_score,
    own.davies_bouldin AS davies_bouldin_score,
    scored.mean AS silhouette,
    clustereval._finite_or_null(abs(clustereval._ratio(
      own.kl_difference,
      LEAD(own.kl_difference) OVER (PARTITION BY own.partition_key ORDER BY own.k ASC NULLS LAST)
    ))) AS krzanowski_lai_index,
    CASE
      WHEN own.right_step = 1
      THEN clustereval._finite_or_null(clustereval._hartigan_index(
        own.k, own.n, own.ssw, own.after
      ))
    END AS hartigan_index,
    CASE
      WHEN own.k = 1 THEN own.distortion
      WHEN own.left_step = 1
      THEN own.distortion - LAG(own.distortion) OVER (
        PARTITION BY own.partition_key ORDER BY own.k ASC NULLS LAST
      )
    END AS jump,
    clustereval._finite_or_null(own.bic) AS bic,
    clustereval._finite_or_null(
      clustereval._bend(
        own.before, own.ssw, own.after, own.left_step, own.right_step
      ) * (2 / (own.left_step * (own.left_step + own.right_step)))
    ) AS second_difference,
    clustereval._zero_if_straight(
      own.start_height
      + (own.end_height - own.start_height) * own.across
      - own.height
    ) / sqrt(1 + pow(own.end_height - own.start_height, 2)) AS chord_distance,
    own.difference AS kneedle,
    own.is_knee
  FROM __ce_neighbors AS own
  -- The CTE that is not named is neither bound nor run.
  LEFT JOIN query_table(CASE
    WHEN silhouette IN ('simplified', 'exact') THEN '__ce_mean_silhouettes'
    ELSE '__ce_no_silhouettes'
  END) AS scored
    ON scored.partition_key IS NOT DISTINCT FROM own.partition_key
    AND scored.k = own.k
  WHERE clustereval._check_options(clustereval._valid_elbow_options(
    silhouette,
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  ))
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY own.partition_key ASC NULLS LAST, own.k ASC NULLS LAST;

-- x as DOUBLE, or NULL for NaN, which no criterion can recommend.
CREATE OR REPLACE MACRO clustereval._value_or_null(x) AS
  CASE WHEN NOT isnan(CAST(x AS DOUBLE)) THEN CAST(x AS DOUBLE) END;

-- One row per partition, criterion and k: place (of the criterion); criterion; rule (what it
-- recommends, in words); k; value; cost, smallest at the k that it recommends, NULL at a k that it
-- cannot; is_choice, TRUE at a k that is recommended whatever its cost; and refusal, the reason why
-- no k is recommended although there are values.
CREATE OR REPLACE MACRO clustereval._criteria(tbl, gap, partition_by) AS TABLE
  WITH __ce_swept AS (
    SELECT
      clustereval._reject_quoted(partition_by, 'partition_by') AS __ce_partition,
      clustereval._check_k(swept.k) AS __ce_k,
      clustereval._value_or_null(swept.calinski_harabasz_score) AS __ce_calinski_harabasz,
      clustereval._value_or_null(swept.davies_bouldin_score) AS __ce_davies_bouldin,
      clustereval._value_or_null(swept.silhouette) AS __ce_silhouette,
      clustereval._value_or_null(swept.krzanowski_lai_index) AS __ce_krzanowski_lai,
      clustereval._value_or_null(swept.hartigan_index) AS __ce_hartigan,
      clustereval._value_or_null(swept.jump) AS __ce_jump,
      clustereval._value_or_null(swept.bic) AS __ce_bic,
      clustereval._value_or_null(swept.second_difference) AS __ce_second_difference,
      clustereval._value_or_null(swept.chord_distance) AS __ce_chord_distance,
      clustereval._value_or_null(swept.kneedle) AS __ce_kneedle,
      swept.is_knee AS __ce_is_knee
    FROM query_table(tbl) AS swept
  ),
  __ce_gap_rows AS (
    SELECT
      clustereval._reject_quoted(partition_by, 'partition_by') AS __ce_partition,
      clustereval._check_k(chosen.k) AS __ce_k,
      clustereval._value_or_null(chosen.gap) AS __ce_gap,
      chosen.is_choice AS __ce_is_choice
    FROM query_table(gap) AS chosen
  )
  SELECT
    criteria.place, criteria.criterion, criteria.rule, __ce_partition AS partition_key,
    __ce_k AS k, criteria.value, criteria.cost, criteria.is_choice, criteria.refusal
  FROM __ce_swept AS swept
  CROSS JOIN LATERAL (VALUES
    (1, 'calinski_harabasz_score', 'largest value', swept.__ce_calinski_harabasz,
      -swept.__ce_calinski_harabasz, FALSE, CAST(NULL AS VARCHAR)),
    (2, 'davies_bouldin_score', 'smallest value', swept.__ce_davies_bouldin,
      swept.__ce_davies_bouldin, FALSE, NULL),
    (3, 'silhouette', 'largest value', swept.__ce_silhouette,
      -swept.__ce_silhouette, FALSE, NULL),
    (4, 'krzanowski_lai_index', 'largest value', swept.__ce_krzanowski_lai,
      -swept.__ce_krzanowski_lai, FALSE, NULL),
    (5, 'hartigan_index', 'smallest k with a value <= 10', swept.__ce_hartigan,
      CASE WHEN swept.__ce_hartigan <= 10 THEN CAST(swept.__ce_k AS DOUBLE) END, FALSE,
      'no value <= 10'),
    (6, 'jump', 'largest value', swept.__ce_jump,
      CASE WHEN swept.__ce_jump > 0 THEN -swept.__ce_jump END, FALSE, 'no value > 0'),
    (7, 'bic', 'largest value', swept.__ce_bic, -swept.__ce_bic, FALSE, NULL),
    (8, 'second_difference', 'largest value', swept.__ce_second_difference,
      CASE WHEN swept.__ce_second_difference > 0 THEN -swept.__ce_second_difference END, FALSE,
      'no value > 0'),
    (9, 'chord_distance', 'largest value', swept.__ce_chord_distance,
      CASE WHEN swept.__ce_chord_distance > 0 THEN -swept.__ce_chord_distance END, FALSE,
      'no value > 0'),
    (10, 'kneedle', 'first knee', swept.__ce_kneedle,
      CASE WHEN swept.__ce_is_knee IS NOT NULL THEN -swept.__ce_kneedle END,
      COALESCE(swept.__ce_is_knee, FALSE), 'no knee')
  ) AS criteria (place, criterion, rule, value, cost, is_choice, refusal)
  UNION ALL
  SELECT
    11, 'gap', 'choice of gap_statistic', __ce_partition, __ce_k, __ce_gap,
    CASE WHEN __ce_is_choice IS NOT NULL THEN -__ce_gap END, COALESCE(__ce_is_choice, FALSE),
    'no choice'
  FROM __ce_gap_rows;

-- The k that each criterion recommends: one row per partition and criterion, from an elbow table
-- tbl. gap is a table of gap_statistic, whose choice is then an additional criterion. partition_by
-- is a column of both tables, such as partition_key. No criterion is the truth: see
-- docs/choosing_k.md.
-- Examples:
--   FROM clustereval.choose_k(observed);
--   FROM clustereval.choose_k(observed, gap := gaps);
CREATE OR REPLACE MACRO clustereval.choose_k(
  tbl, gap := '__ce_no_gaps', partition_by := NULL
) AS TABLE
  WITH __ce_checked AS (
    SELECT * FROM clustereval._check_table_column(tbl, 'partition_by', partition_by)
  ),
  __ce_no_gaps AS (
    -- This CTE has the columns that partition_by may name.
    SELECT
      COLUMNS(lambda __ce_column: __ce_column NOT IN ('gap', 'is_choice')),
      CAST(NULL AS DOUBLE) AS gap,
      CAST(NULL AS BOOLEAN) AS is_choice
    FROM query_table(tbl)
    WHERE FALSE
  ),
  __ce_rated AS (
    SELECT
      *,
      COUNT(*) OVER (PARTITION BY partition_key, place, k) AS rows_of_k
    FROM clustereval._criteria(tbl, gap, partition_by)
  ),
  ranked AS (
    SELECT
      *,
      CASE
        WHEN rows_of_k > 1
        THEN CAST(error(concat(
          'k: expected one row for each k of a clustering, got ', rows_of_k, ' rows with ',
          k, '; partition_by tells clusterings apart'
        )) AS BIGINT)
        WHEN cost IS NOT NULL
        THEN ROW_NUMBER() OVER (
          PARTITION BY partition_key, place
          ORDER BY
            CASE WHEN is_choice THEN 0 ELSE 1 END ASC NULLS LAST,
            cost ASC NULLS LAST, k ASC NULLS LAST
        )
      END AS rank
    FROM __ce_rated
  )
  SELECT
    partition_key,
    MAX(criterion) AS criterion,
    MAX(CASE WHEN rank = 1 THEN k END) AS k,
    MAX(CASE WHEN rank = 1 THEN value END) AS value,
    MAX(rule) AS rule,
    MAX(CASE WHEN rank = 2 THEN k END) AS runner_up,
    MAX(CASE WHEN rank = 2 THEN value END) AS runner_up_value,
    CASE
      WHEN COUNT(value) = 0 THEN 'no value'
      WHEN COUNT(cost) = 0 THEN MAX(refusal)
    END AS reason
  FROM ranked
  WHERE (SELECT MIN(__ce_valid) FROM __ce_checked)
  GROUP BY partition_key, place
  ORDER BY partition_key ASC NULLS LAST, place ASC NULLS LAST;
