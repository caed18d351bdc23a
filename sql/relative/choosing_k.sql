-- choosing_k: one clustering per number of clusters k, what each index says of every k, and which k
-- each criterion recommends. The curve is ssw, the sum of squared distances to the centers, by k.

---------------------------------------------------------------------------------------------------
-- Checks
---------------------------------------------------------------------------------------------------

-- TRUE if type_name, the result of typeof(), is a type of numbers.
CREATE OR REPLACE MACRO clustereval._is_number_type(type_name) AS
  regexp_full_match(
    type_name, 'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM|FLOAT|DOUBLE|DECIMAL.*'
  );

-- k, the number of clusters that a row's clustering was asked for, as BIGINT. Raises an error
-- unless it is a whole number >= 1. The upper limit rejects NaN, which is above every number in
-- DuckDB.
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

-- Text of the query SELECT TRUE AS __ce_valid, for _check_options to run. Raises an error if the
-- option silhouette of elbow is unknown; query_text is the query of the options checked before.
CREATE OR REPLACE MACRO clustereval._valid_elbow_options(silhouette, query_text) AS
  CASE
    WHEN coalesce(silhouette, '') NOT IN ('none', 'simplified', 'exact')
    THEN error(concat(
      'silhouette: expected one of ''none'', ''simplified'', ''exact'', got ',
      coalesce('''' || silhouette || '''', 'NULL')
    ))
    ELSE query_text
  END;

-- One row with __ce_valid TRUE. Raises an error if k or partition_by, columns of tbl, is a quoted
-- string, or the type of k is none of numbers, even if the table has no rows.
CREATE OR REPLACE MACRO clustereval._check_sweep_columns(tbl, k, partition_by) AS TABLE
  SELECT clustereval._check_column(
    clustereval._check_column(TRUE, 'k', k), 'partition_by', partition_by
  ) AS __ce_valid
  FROM query_table(tbl)
  WHERE FALSE
  HAVING CASE
    WHEN clustereval._is_number_type(typeof(any_value(k)))
      OR clustereval._is_quoted(k) OR typeof(any_value(k)) = '"NULL"'
    THEN TRUE
    ELSE error(concat(
      'k: expected whole numbers >= 1, got a column of type ', typeof(any_value(k)),
      '; k is the number of clusters that was asked for'
    ))
  END;

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per group of __ce_key, a struct {partition, k}: __ce_partition, __ce_k, the numbers of
-- points (__ce_n), dimensions (__ce_dims) and clusters (__ce_n_clusters), and the columns __ce_ssw,
-- __ce_explained_variance, __ce_calinski_harabasz and __ce_davies_bouldin of internal_report, whose
-- parameters the others are. It has only the steps of internal_report that these need.
CREATE OR REPLACE MACRO clustereval._elbow_scores(
  tbl, vector, cluster, __ce_key, distance, p, center, weights, noise, noise_as, missing
) AS TABLE
  WITH __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, __ce_key, noise, noise_as, missing
    )
  ),
  __ce_moments AS MATERIALIZED (SELECT * FROM clustereval._coordinate_moments(__ce_rows, center)),
  __ce_origins AS MATERIALIZED (
    SELECT * FROM clustereval._partition_origins(__ce_moments, distance)
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
    SELECT * FROM clustereval._all_centers(__ce_points, __ce_coordinates, distance, p, center)
  ),
  __ce_spreads AS (
    SELECT * FROM clustereval._cluster_spreads(__ce_points, __ce_centers, distance, p)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._measured_clusters(__ce_centers, __ce_spreads)
  ),
  __ce_gaps AS (SELECT * FROM clustereval._centroid_gaps(__ce_clusters, distance, p)),
  __ce_counts AS (
    SELECT
      __ce_partition,
      CAST(SUM(__ce_n) AS BIGINT) AS __ce_n,
      COUNT(*) AS __ce_n_clusters
    FROM __ce_clusters
    GROUP BY __ce_partition
  ),
  __ce_spread_totals AS (
    SELECT * FROM clustereval._spread_totals(__ce_clusters, distance, p)
  ),
  __ce_gap_totals AS (SELECT * FROM clustereval._gap_totals(__ce_gaps, distance)),
  __ce_checked AS (
    SELECT * FROM clustereval._check_points(__ce_points, __ce_spreads, __ce_centers, weights)
  ),
  -- k is checked once per cluster, not once per point. _points adds a row that is none of these.
  __ce_checked_k AS (
    SELECT clustereval._check_k(__ce_partition['k']) AS __ce_k
    FROM __ce_spreads
    WHERE __ce_n + __ce_n_dropped + __ce_n_noise > 0
  )
  SELECT
    counts.__ce_partition['partition'] AS __ce_partition,
    CAST(counts.__ce_partition['k'] AS BIGINT) AS __ce_k,
    counts.__ce_n, spreads.__ce_dims, counts.__ce_n_clusters, spreads.__ce_ssw,
    CASE
      WHEN clustereval._squares_add_up(distance, center)
      THEN clustereval._ratio(spreads.__ce_ssb, spreads.__ce_ssw + spreads.__ce_ssb)
    END AS __ce_explained_variance,
    clustereval._finite_or_null(clustereval._calinski_harabasz_score(
      counts.__ce_n, counts.__ce_n_clusters, spreads.__ce_ssw, spreads.__ce_ssb
    )) AS __ce_calinski_harabasz,
    clustereval._finite_or_null(clustereval._davies_bouldin_score(
      counts.__ce_n, counts.__ce_n_clusters, gaps.__ce_overlap_sum
    )) AS __ce_davies_bouldin
  FROM __ce_counts AS counts
  LEFT JOIN __ce_spread_totals AS spreads
    ON spreads.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  LEFT JOIN __ce_gap_totals AS gaps
    ON gaps.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  WHERE COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
    AND COALESCE((SELECT MIN(__ce_k) FROM __ce_checked_k), 1) >= 1;

-- One row per group of __ce_key, a struct {partition, k}: __ce_partition, __ce_k and __ce_mean, the
-- mean silhouette. The parameters are those of silhouette_score; for a method that is none of its
-- own, such as 'none', the silhouettes are simplified, and not to be read: DuckDB 1.4 plans them.
CREATE OR REPLACE MACRO clustereval._sweep_silhouettes(
  tbl, vector, cluster, __ce_key, distance, p, weights, noise, noise_as, missing, method
) AS TABLE
  SELECT
    scored.partition_key['partition'] AS __ce_partition,
    CAST(scored.partition_key['k'] AS BIGINT) AS __ce_k,
    scored.silhouette AS __ce_mean
  FROM clustereval.silhouette_score(
    tbl, vector, cluster, distance := distance, p := p, weights := weights,
    partition_by := __ce_key, noise := noise, noise_as := noise_as, missing := missing,
    method := CASE WHEN method = 'exact' THEN 'exact' ELSE 'simplified' END
  ) AS scored;

-- Text of a query, SELECT * FROM the CTE of elbow with the silhouettes that the option silhouette
-- asks for. The CTE that is not named is not run.
CREATE OR REPLACE MACRO clustereval._select_silhouettes(silhouette) AS
  concat('SELECT * FROM ', CASE
    WHEN silhouette IN ('simplified', 'exact') THEN '__ce_mean_silhouettes'
    ELSE '__ce_no_silhouettes'
  END);

---------------------------------------------------------------------------------------------------
-- Formulas. w is ssw of a row, before and after those of the rows before and after it.
---------------------------------------------------------------------------------------------------

-- Krzanowski and Lai's DIFF of k: (k - 1)^(2/dims) before - k^(2/dims) w, where before is the ssw
-- of k - 1 clusters.
CREATE OR REPLACE MACRO clustereval._krzanowski_lai_difference(k, dims, before, w) AS
  pow(k - 1, clustereval._ratio(2, dims)) * before - pow(k, clustereval._ratio(2, dims)) * w;

-- Hartigan's statistic (w / after - 1) (n - k - 1) of n points, where after is the ssw of k + 1
-- clusters; NULL if that is 0.
CREATE OR REPLACE MACRO clustereval._hartigan_index(k, n, w, after) AS
  (w / NULLIF(after, 0) - 1) * (n - k - 1);

-- Sugar and James's distortion w / (n dims) to the power -dims / 2; NULL if w is 0, or the
-- result is outside the range of DOUBLE.
CREATE OR REPLACE MACRO clustereval._transformed_distortion(n, dims, w) AS
  CASE
    WHEN w > 0
    THEN clustereval._finite_exp(CAST(-0.5 AS DOUBLE) * dims * ln(NULLIF(w, 0) / n / dims))
  END;

-- What ssw falls by before k minus what it would fall by at the rate after k, where the rows before
-- and after have left_step clusters less and right_step more; 0 if it is within the rounding error
-- of ssw. It is the second difference before - 2 w + after if both steps are 1.
CREATE OR REPLACE MACRO clustereval._bend(before, w, after, left_step, right_step) AS
  CASE
    WHEN abs((before - w) - (w - after) * (left_step / right_step))
      <= 1e-12 * GREATEST(before, w, after)
    THEN 0.0
    ELSE (before - w) - (w - after) * (left_step / right_step)
  END;

-- x, a length in units of the whole curve, but 0 if it is within rounding error of 0: the curve is
-- straight so far.
CREATE OR REPLACE MACRO clustereval._zero_if_straight(x) AS
  CASE WHEN abs(x) <= 1e-12 THEN 0.0 ELSE x END;

---------------------------------------------------------------------------------------------------
-- The curve of a sweep
---------------------------------------------------------------------------------------------------

-- The rows of _elbow_scores with the columns of neighboring rows of the partition, in the order of
-- k: __ce_before and __ce_after (ssw), __ce_left_step and __ce_right_step (how far their k is
-- away); __ce_place, the number of the row from 1, and __ce_places, how many there are;
-- __ce_across and __ce_height, k and ssw scaled to [0, 1] over the curve, NULL for a flat curve or
-- one of less than 3 rows; and __ce_start_height and __ce_end_height, those of its ends.
CREATE OR REPLACE MACRO clustereval._sweep_curve(__ce_scores) AS TABLE
  WITH __ce_neighbors AS (
    SELECT
      *,
      CAST(__ce_k AS DOUBLE) AS __ce_x,
      LAG(__ce_ssw) OVER sweep AS __ce_before,
      LEAD(__ce_ssw) OVER sweep AS __ce_after,
      CAST(__ce_k - LAG(__ce_k) OVER sweep AS DOUBLE) AS __ce_left_step,
      CAST(LEAD(__ce_k) OVER sweep - __ce_k AS DOUBLE) AS __ce_right_step,
      ROW_NUMBER() OVER sweep AS __ce_place,
      COUNT(*) OVER whole AS __ce_places,
      MIN(CAST(__ce_k AS DOUBLE)) OVER whole AS __ce_least_x,
      MAX(CAST(__ce_k AS DOUBLE)) OVER whole AS __ce_most_x,
      MIN(__ce_ssw) OVER whole AS __ce_least_ssw,
      MAX(__ce_ssw) OVER whole AS __ce_most_ssw
    FROM query_table(__ce_scores)
    WINDOW
      whole AS (PARTITION BY __ce_partition),
      sweep AS (PARTITION BY __ce_partition ORDER BY __ce_k ASC NULLS LAST)
  ),
  __ce_scaled AS (
    SELECT
      *,
      CASE
        WHEN __ce_places >= 3 AND __ce_most_ssw > __ce_least_ssw
        THEN (__ce_x - __ce_least_x) / NULLIF(__ce_most_x - __ce_least_x, 0)
      END AS __ce_across,
      CASE
        WHEN __ce_places >= 3
        THEN (__ce_ssw - __ce_least_ssw) / NULLIF(__ce_most_ssw - __ce_least_ssw, 0)
      END AS __ce_height
    FROM __ce_neighbors
  )
  SELECT
    *,
    MAX(CASE WHEN __ce_place = 1 THEN __ce_height END) OVER (PARTITION BY __ce_partition)
      AS __ce_start_height,
    MAX(CASE WHEN __ce_place = __ce_places THEN __ce_height END)
      OVER (PARTITION BY __ce_partition) AS __ce_end_height
  FROM __ce_scaled;

-- The rows of _sweep_curve with __ce_difference, the value of Kneedle's difference curve, and
-- __ce_is_knee: TRUE at the first knee, FALSE in other rows, NULL in all if there is none. A knee
-- is a local maximum of the difference curve after which it falls by more than the mean step of
-- __ce_across (S = 1) before the next one. Kneedle stops at local minima as well, which changes
-- nothing: from there to the next maximum the curve rises. Unlike kneed's, an end of the curve is
-- no maximum (the paper compares a value with both neighbors). Of equal values in a row the last
-- one is it, as in kneed.
CREATE OR REPLACE MACRO clustereval._sweep_knees(__ce_curve) AS TABLE
  WITH __ce_differences AS (
    SELECT
      *,
      clustereval._zero_if_straight(1.0 - __ce_height - __ce_across) AS __ce_difference
    FROM query_table(__ce_curve)
  ),
  __ce_neighbors AS (
    SELECT
      *,
      LAG(__ce_difference) OVER sweep AS __ce_difference_before,
      LEAD(__ce_difference) OVER sweep AS __ce_difference_after
    FROM __ce_differences
    WINDOW sweep AS (PARTITION BY __ce_partition ORDER BY __ce_k ASC NULLS LAST)
  ),
  __ce_extremes AS (
    SELECT
      *,
      MAX(CASE
        WHEN __ce_difference >= __ce_difference_before AND __ce_difference >= __ce_difference_after
        THEN __ce_place
      END) OVER sweep AS __ce_last_maximum
    FROM __ce_neighbors
    WINDOW sweep AS (
      PARTITION BY __ce_partition ORDER BY __ce_k ASC NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  ),
  __ce_thresholds AS (
    SELECT
      *,
      MAX(CASE WHEN __ce_place = __ce_last_maximum THEN __ce_difference END)
        OVER (PARTITION BY __ce_partition, __ce_last_maximum)
        - clustereval._ratio(1, __ce_places - 1) AS __ce_threshold
    FROM __ce_extremes
  ),
  __ce_found AS (
    SELECT
      *,
      MIN(CASE WHEN __ce_difference_after < __ce_threshold THEN __ce_last_maximum END)
        OVER (PARTITION BY __ce_partition) AS __ce_knee
    FROM __ce_thresholds
  )
  SELECT *, __ce_place = __ce_knee AS __ce_is_knee FROM __ce_found;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- One row per partition (group of partition_by) and value of k, the number of clusters that a
-- clustering was asked for: counts, the indices that are used to choose k, and the knee of the
-- curve of ssw. tbl has one row per point and k. silhouette adds the mean silhouette, 'simplified'
-- or 'exact'; the other parameters are those of internal_report.
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
  __ce_curve AS (SELECT * FROM clustereval._sweep_curve(__ce_scores)),
  __ce_knees AS MATERIALIZED (SELECT * FROM clustereval._sweep_knees(__ce_curve)),
  __ce_neighbors AS (
    SELECT
      *,
      CASE
        WHEN __ce_left_step = 1
        THEN clustereval._krzanowski_lai_difference(__ce_x, __ce_dims, __ce_before, __ce_ssw)
      END AS __ce_kl_difference,
      clustereval._transformed_distortion(__ce_n, __ce_dims, __ce_ssw) AS __ce_distortion
    FROM __ce_knees
  ),
  __ce_no_silhouettes AS NOT MATERIALIZED (
    SELECT __ce_partition, __ce_k, CAST(NULL AS DOUBLE) AS __ce_mean FROM __ce_knees WHERE FALSE
  ),
  __ce_mean_silhouettes AS NOT MATERIALIZED (
    SELECT * FROM clustereval._sweep_silhouettes(
      tbl, vector, cluster, {'partition': partition_by, 'k': k},
      distance, p, weights, noise, noise_as, missing, silhouette
    )
  ),
  __ce_silhouettes AS (SELECT * FROM query(clustereval._select_silhouettes(silhouette)))
  SELECT
    own.__ce_partition AS partition_key,
    own.__ce_k AS k,
    own.__ce_n AS n,
    own.__ce_n_clusters AS n_clusters,
    own.__ce_ssw AS ssw,
    own.__ce_explained_variance AS explained_variance,
    own.__ce_calinski_harabasz AS calinski_harabasz_score,
    own.__ce_davies_bouldin AS davies_bouldin_score,
    scored.__ce_mean AS silhouette,
    clustereval._finite_or_null(abs(clustereval._ratio(
      own.__ce_kl_difference,
      LEAD(own.__ce_kl_difference) OVER (
        PARTITION BY own.__ce_partition ORDER BY own.__ce_k ASC NULLS LAST
      )
    ))) AS krzanowski_lai_index,
    CASE
      WHEN own.__ce_right_step = 1
      THEN clustereval._finite_or_null(clustereval._hartigan_index(
        own.__ce_k, own.__ce_n, own.__ce_ssw, own.__ce_after
      ))
    END AS hartigan_index,
    CASE
      WHEN own.__ce_k = 1 THEN own.__ce_distortion
      WHEN own.__ce_left_step = 1
      THEN own.__ce_distortion - LAG(own.__ce_distortion) OVER (
        PARTITION BY own.__ce_partition ORDER BY own.__ce_k ASC NULLS LAST
      )
    END AS jump,
    clustereval._finite_or_null(
      clustereval._bend(
        own.__ce_before, own.__ce_ssw, own.__ce_after, own.__ce_left_step,
        own.__ce_right_step
      ) * (2 / (own.__ce_left_step * (own.__ce_left_step + own.__ce_right_step)))
    ) AS second_difference,
    clustereval._zero_if_straight(
      own.__ce_start_height
      + (own.__ce_end_height - own.__ce_start_height) * own.__ce_across
      - own.__ce_height
    ) / sqrt(1 + pow(own.__ce_end_height - own.__ce_start_height, 2)) AS chord_distance,
    own.__ce_difference AS kneedle,
    own.__ce_is_knee AS is_knee
  FROM __ce_neighbors AS own
  LEFT JOIN __ce_silhouettes AS scored
    ON scored.__ce_partition IS NOT DISTINCT FROM own.__ce_partition
    AND scored.__ce_k = own.__ce_k
  WHERE clustereval._check_options(clustereval._valid_elbow_options(
    silhouette,
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  ))
    AND COALESCE((SELECT MIN(__ce_valid) FROM __ce_checked), TRUE)
  ORDER BY own.__ce_partition ASC NULLS LAST, own.__ce_k ASC NULLS LAST;

-- The value of a criterion as DOUBLE, NULL if it is NaN, which no criterion can recommend.
CREATE OR REPLACE MACRO clustereval._value_or_null(x) AS
  CASE WHEN NOT isnan(CAST(x AS DOUBLE)) THEN CAST(x AS DOUBLE) END;

-- One row per partition, criterion and k, from an elbow table tbl and a table gap of gap_statistic:
-- __ce_place (of the criterion), __ce_criterion, __ce_rule (what it recommends, in words), __ce_k,
-- __ce_value, __ce_cost, which is least at the k that it recommends and NULL where it recommends
-- none, __ce_is_choice, TRUE at the k that is recommended whatever its cost, and __ce_refusal, why
-- there is no such k although there are values.
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
    1 AS __ce_place, 'calinski_harabasz_score' AS __ce_criterion, 'largest value' AS __ce_rule,
    __ce_partition, __ce_k, __ce_calinski_harabasz AS __ce_value,
    -__ce_calinski_harabasz AS __ce_cost, FALSE AS __ce_is_choice,
    CAST(NULL AS VARCHAR) AS __ce_refusal
  FROM __ce_swept
  UNION ALL
  SELECT
    2, 'davies_bouldin_score', 'smallest value', __ce_partition, __ce_k, __ce_davies_bouldin,
    __ce_davies_bouldin, FALSE, NULL
  FROM __ce_swept
  UNION ALL
  SELECT
    3, 'silhouette', 'largest value', __ce_partition, __ce_k, __ce_silhouette, -__ce_silhouette,
    FALSE, NULL
  FROM __ce_swept
  UNION ALL
  SELECT
    4, 'krzanowski_lai_index', 'largest value', __ce_partition, __ce_k, __ce_krzanowski_lai,
    -__ce_krzanowski_lai, FALSE, NULL
  FROM __ce_swept
  UNION ALL
  SELECT
    5, 'hartigan_index', 'smallest k with a value <= 10', __ce_partition, __ce_k, __ce_hartigan,
    CASE WHEN __ce_hartigan <= 10 THEN CAST(__ce_k AS DOUBLE) END, FALSE, 'no value <= 10'
  FROM __ce_swept
  UNION ALL
  SELECT
    6, 'jump', 'largest value', __ce_partition, __ce_k, __ce_jump,
    CASE WHEN __ce_jump > 0 THEN -__ce_jump END, FALSE, 'no value > 0'
  FROM __ce_swept
  UNION ALL
  SELECT
    7, 'second_difference', 'largest value', __ce_partition, __ce_k, __ce_second_difference,
    CASE WHEN __ce_second_difference > 0 THEN -__ce_second_difference END, FALSE, 'no value > 0'
  FROM __ce_swept
  UNION ALL
  SELECT
    8, 'chord_distance', 'largest value', __ce_partition, __ce_k, __ce_chord_distance,
    CASE WHEN __ce_chord_distance > 0 THEN -__ce_chord_distance END, FALSE, 'no value > 0'
  FROM __ce_swept
  UNION ALL
  SELECT
    9, 'kneedle', 'first knee', __ce_partition, __ce_k, __ce_kneedle,
    CASE WHEN __ce_is_knee IS NOT NULL THEN -__ce_kneedle END, COALESCE(__ce_is_knee, FALSE),
    'no knee'
  FROM __ce_swept
  UNION ALL
  SELECT
    10, 'gap', 'choice of gap_statistic', __ce_partition, __ce_k, __ce_gap,
    CASE WHEN __ce_is_choice IS NOT NULL THEN -__ce_gap END, COALESCE(__ce_is_choice, FALSE),
    'no choice'
  FROM __ce_gap_rows;

-- Which k each criterion recommends: one row per partition and criterion, from an elbow table tbl.
-- gap is a table of gap_statistic, whose choice is then a criterion as well. partition_by is a
-- column of both, such as partition_key. No criterion is the truth: docs/choosing_k.md.
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
    -- It has the columns that partition_by may name.
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
      COUNT(*) OVER (PARTITION BY __ce_partition, __ce_place, __ce_k) AS __ce_rows_of_k
    FROM clustereval._criteria(tbl, gap, partition_by)
  ),
  __ce_ranked AS (
    SELECT
      *,
      CASE
        WHEN __ce_rows_of_k > 1
        THEN CAST(error(concat(
          'k: expected one row for each k of a clustering, got ', __ce_rows_of_k, ' rows with ',
          __ce_k, '; partition_by tells clusterings apart'
        )) AS BIGINT)
        WHEN __ce_cost IS NOT NULL
        THEN ROW_NUMBER() OVER (
          PARTITION BY __ce_partition, __ce_place
          ORDER BY
            CASE WHEN __ce_is_choice THEN 0 ELSE 1 END ASC NULLS LAST,
            __ce_cost ASC NULLS LAST, __ce_k ASC NULLS LAST
        )
      END AS __ce_rank
    FROM __ce_rated
  )
  SELECT
    __ce_partition AS partition_key,
    MAX(__ce_criterion) AS criterion,
    MAX(CASE WHEN __ce_rank = 1 THEN __ce_k END) AS k,
    MAX(CASE WHEN __ce_rank = 1 THEN __ce_value END) AS value,
    MAX(__ce_rule) AS rule,
    MAX(CASE WHEN __ce_rank = 2 THEN __ce_k END) AS runner_up,
    MAX(CASE WHEN __ce_rank = 2 THEN __ce_value END) AS runner_up_value,
    CASE
      WHEN COUNT(__ce_value) = 0 THEN 'no value'
      WHEN COUNT(__ce_cost) = 0 THEN MAX(__ce_refusal)
    END AS reason
  FROM __ce_ranked
  WHERE (SELECT MIN(__ce_valid) FROM __ce_checked)
  GROUP BY __ce_partition, __ce_place
  ORDER BY __ce_partition ASC NULLS LAST, __ce_place ASC NULLS LAST;
