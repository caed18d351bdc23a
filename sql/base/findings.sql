-- findings: findings about the rows and the sizes of clusters, in words with the numbers behind
-- them.

-- The place of a severity in the order of findings.
CREATE OR REPLACE MACRO clustereval._severity_rank(severity) AS
  CASE severity WHEN 'problem' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END;

-- The limits of findings, as in base/findings.py: a share of rows with one label below which a
-- cluster is mixed, a share that is a problem, the share of a giant cluster, that of a dominant
-- coordinate, a mean silhouette that is low, and a distance in terms of the mean distance.
CREATE OR REPLACE MACRO clustereval._undivided_share() AS 0.8;
CREATE OR REPLACE MACRO clustereval._problem_share() AS 0.5;
CREATE OR REPLACE MACRO clustereval._giant_share() AS 0.8;
CREATE OR REPLACE MACRO clustereval._dominant_share() AS 0.9;
CREATE OR REPLACE MACRO clustereval._low_silhouette() AS 0.25;
CREATE OR REPLACE MACRO clustereval._far_ratio() AS 10;

-- TRUE if n_affected of total rows are enough for a problem.
CREATE OR REPLACE MACRO clustereval._are_many(n_affected, total) AS
  20 * clustereval._widen(n_affected) >= total;

-- A share as a percentage that says so if it would round to its limit.
CREATE OR REPLACE MACRO clustereval._percent_below(share, most) AS
  CASE
    WHEN share >= most - 0.005 THEN concat('just below ', clustereval._percent_as_text(most))
    ELSE clustereval._percent_as_text(share)
  END;
CREATE OR REPLACE MACRO clustereval._percent_above(share, least) AS
  CASE
    WHEN share < least + 0.005 THEN concat('just over ', clustereval._percent_as_text(least))
    ELSE clustereval._percent_as_text(share)
  END;

-- x as a whole number, where one that would round to the limit that it is above says so.
CREATE OR REPLACE MACRO clustereval._whole_above(x, least) AS
  CASE
    WHEN x < least + 0.5 THEN concat('just over ', least)
    ELSE concat(CAST(FLOOR(x + 0.5) AS BIGINT), '')
  END;

-- TRUE if x, a cluster or a label, is a name that clusterings give to noise.
CREATE OR REPLACE MACRO clustereval._looks_like_noise(x) AS
  coalesce(
    lower(trim(CAST(x AS VARCHAR))) IN (
      '-1', '-1.0', 'noise', 'outlier', 'outliers', 'unassigned', 'unclustered'
    ),
    FALSE
  );

-- TRUE if values of the type of x, a label, are texts.
CREATE OR REPLACE MACRO clustereval._is_text(x) AS
  typeof(x) = 'VARCHAR' OR starts_with(typeof(x), 'ENUM(');

-- TRUE if x, a label, is a text that represents a missing label.
CREATE OR REPLACE MACRO clustereval._is_placeholder(x) AS
  clustereval._is_text(x) AND lower(trim(CAST(x AS VARCHAR))) IN (
    '', '-', '?', '.', 'null', 'none', 'nil', 'nan', 'na', 'n/a', '#n/a', '<na>', 'nat',
    'missing', 'unknown', 'undefined', 'not available'
  );

-- What to do if a cluster or a label, the kind, is noise.
CREATE OR REPLACE MACRO clustereval._noise_advice(kind) AS
  CASE kind
    WHEN 'cluster' THEN 'give noise and noise_as'
    ELSE 'make it NULL, so that these rows are left out'
  END;

-- The finding about n rows of a cluster or a label, the kind, that looks like noise.
CREATE OR REPLACE MACRO clustereval._unnamed_noise_as_text(kind, n, unit) AS
  concat(
    'it is counted as a ', kind, ' of ', clustereval._count_as_text(n, unit), '; if it is noise, ',
    clustereval._noise_advice(kind)
  );

-- The remark that no row has the cluster noise.
CREATE OR REPLACE MACRO clustereval._unknown_noise_as_text(noise) AS
  concat('no row has cluster ', CAST(noise AS VARCHAR), ', the value of noise');

-- Those of the clusters x of n rows that look like noise, such as '-1 (70 rows)', or NULL.
CREATE OR REPLACE MACRO clustereval._noise_names(x, n, unit) AS
  string_agg(
    CASE
      WHEN n > 0 AND clustereval._looks_like_noise(x)
        THEN concat(CAST(x AS VARCHAR), ' (', clustereval._count_as_text(n, unit), ')')
    END,
    ' or ' ORDER BY n DESC NULLS LAST, CAST(x AS VARCHAR) ASC NULLS LAST
  );

-- What a summary says in place of the meaning of n_noise, or NULL. names: that of _noise_names. n
-- is the count of the report, n_noise the number of noise rows in all partitions, and noise is the
-- user's option.
CREATE OR REPLACE MACRO clustereval._noise_remark(names, n, n_noise, noise) AS
  CASE
    WHEN noise IS NULL
      THEN 'no noise given; if cluster ' || names || ' is noise, '
        || clustereval._noise_advice('cluster')
    WHEN n > 0 AND n_noise = 0 THEN clustereval._unknown_noise_as_text(noise)
  END;

-- A cluster or a label as text, NULL for types that have no short text or not the same everywhere.
CREATE OR REPLACE MACRO clustereval._name_as_text(x) AS
  CASE
    WHEN regexp_full_match(
      typeof(x), 'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|VARCHAR|BOOLEAN|DATE|DECIMAL.*|ENUM.*'
    )
    THEN CAST(x AS VARCHAR)
    WHEN regexp_full_match(typeof(x), 'FLOAT|DOUBLE')
      AND regexp_full_match(CAST(x AS VARCHAR), '-?([0-9]{1,7}\.0|[0-9]{1,4}\.[0-9]{1,2})')
    -- Rows of -0.0 and 0.0 are one cluster.
    THEN CASE CAST(x AS VARCHAR) WHEN '-0.0' THEN '0.0' ELSE CAST(x AS VARCHAR) END
  END;

-- A finding with the cluster or the label that it is about, if _name_as_text knows them: 'cluster
-- 3: it has 2 points, ...'. Columns that a table of findings lacks are NULL.
CREATE OR REPLACE MACRO clustereval._named_finding(
  code, finding, cluster, label, other_cluster
) AS
  coalesce(
    CASE
      WHEN code IN ('split_label', 'unnamed_noise_label', 'noise_label', 'similar_labels')
        THEN 'label ' || clustereval._name_as_text(label)
      WHEN code IN ('close_clusters', 'cut_shapes')
        THEN 'clusters ' || clustereval._name_as_text(cluster)
          || ' and ' || clustereval._name_as_text(other_cluster)
      ELSE 'cluster ' || clustereval._name_as_text(cluster)
    END || ': ' || finding || coalesce(
      CASE code
        WHEN 'mixed_cluster' THEN ': ' || clustereval._name_as_text(label)
        -- A cluster without a name is noise that counts as singletons.
        WHEN 'split_label'
          THEN ': ' || CASE
            WHEN cluster IS NULL THEN 'noise'
            ELSE clustereval._name_as_text(cluster)
          END
        WHEN 'low_silhouette'
          THEN '; the nearest center is that of ' || clustereval._name_as_text(other_cluster)
      END,
      ''
    ),
    finding
  );

-- Severity of n rows of `whole` that are left out.
CREATE OR REPLACE MACRO clustereval._severity_of_left_out(n, whole) AS
  CASE
    WHEN 2 * n >= whole THEN 'problem'
    WHEN 10 * n >= whole THEN 'warning'
    ELSE 'note'
  END;

-- The end of a finding about rows that are left out: of which n rows the scores are. Without a
-- complement (see _findings_on_sizes), there are no scores.
CREATE OR REPLACE MACRO clustereval._rest_as_text(complement, n, unit) AS
  CASE
    WHEN n = 0 OR complement IS NULL THEN ''
    ELSE concat(
      ': the scores are of the ', clustereval._count_as_text(n, unit), ' that ',
      CASE WHEN n = 1 THEN 'is' ELSE 'are' END, ' left'
    )
  END;

-- Findings on the rows of a partition and the sizes of its clusters: partition_key, place (their
-- order), severity, code, cluster, n, value and finding. row_counts: partition_key, total,
-- n_dropped, n_noise, n_clusters and total_noise, the rows that are counted or noise. unit is the
-- word for a row, and complement for what a dropped row lacks if it has a cluster, NULL if nothing.
CREATE OR REPLACE MACRO clustereval._findings_on_sizes(
  row_counts, cluster_sizes, noise, unit, complement
) AS TABLE
  SELECT
    counts.partition_key,
    1 AS place,
    clustereval._severity_of_left_out(n_dropped, total_noise + n_dropped) AS severity,
    'dropped_rows' AS code,
    NULL AS cluster,
    n_dropped AS n,
    clustereval._ratio(n_dropped, total_noise + n_dropped) AS value,
    concat(
      n_dropped, ' of ', clustereval._count_as_text(total_noise + n_dropped, 'row'),
      CASE WHEN n_dropped = 1 THEN ' has no ' ELSE ' have no ' END, complement || ' or no ',
      'cluster, and ', CASE WHEN n_dropped = 1 THEN 'is' ELSE 'are' END, ' left out',
      clustereval._rest_as_text(complement, total, unit)
    ) AS finding
  FROM query_table(row_counts) AS counts
  WHERE n_dropped > 0
  UNION ALL
  SELECT
    counts.partition_key, 2,
    CASE
      WHEN total_noise = total THEN 'note'
      ELSE clustereval._severity_of_left_out(n_noise, total_noise)
    END,
    'noise_rows', NULL, n_noise,
    clustereval._ratio(n_noise, total_noise),
    concat(
      n_noise, ' of ', clustereval._count_as_text(total_noise, unit),
      CASE WHEN n_noise = 1 THEN ' is noise' ELSE ' are noise' END,
      CASE
        WHEN total_noise > total
        THEN concat(', and left out', clustereval._rest_as_text(complement, total, unit))
      END
    )
  FROM query_table(row_counts) AS counts
  WHERE n_noise > 0
  UNION ALL
  SELECT
    counts.partition_key, -7, 'problem', 'unknown_noise', NULL, total, NULL,
    clustereval._unknown_noise_as_text(noise)
  FROM query_table(row_counts) AS counts
  WHERE noise IS NOT NULL AND total > 0
    -- A partition without noise is nothing unusual.
    AND (SELECT SUM(n_noise) FROM query_table(row_counts)) = 0
  UNION ALL
  -- No two of these are found in one partition.
  SELECT
    counts.partition_key,
    CASE WHEN total = 0 THEN -9 WHEN n_clusters > 1 THEN -6 ELSE 3 END,
    'problem',
    CASE
      WHEN total = 0 THEN 'no_rows'
      WHEN n_clusters > 1 THEN 'all_singletons'
      ELSE 'one_cluster'
    END,
    NULL, total, NULL,
    CASE
      WHEN total = 0 THEN concat('no ', unit, ' can be scored, so nothing was checked')
      WHEN n_clusters > 1
      THEN concat(
        'each of the ', total, ' ', unit, 's is a cluster of its own: is the cluster an id?'
      )
      ELSE 'there is one cluster, so nothing is told apart'
    END
  FROM query_table(row_counts) AS counts
  WHERE total = 0 OR total > 1 AND (n_clusters = 1 OR n_clusters = total AND n_noise = 0)
  UNION ALL
  SELECT
    sizes.partition_key, 4, 'warning', 'giant_cluster', sizes.cluster, sizes.cluster_size,
    clustereval._ratio(sizes.cluster_size, counts.total),
    concat(
      'it holds ',
      clustereval._percent_above(
        clustereval._ratio(sizes.cluster_size, counts.total), clustereval._giant_share()
      ),
      ' of the ', unit, 's: scores by ', unit, ' or by pair say little of the other clusters'
    )
  FROM query_table(cluster_sizes) AS sizes
  JOIN query_table(row_counts) AS counts
    ON counts.partition_key IS NOT DISTINCT FROM sizes.partition_key
  WHERE sizes.cluster IS NOT NULL AND counts.n_clusters > 1
    AND clustereval._ratio(sizes.cluster_size, counts.total) > clustereval._giant_share()
  UNION ALL
  SELECT
    sizes.partition_key, -8, 'problem', 'unnamed_noise', sizes.cluster, sizes.cluster_size,
    clustereval._ratio(sizes.cluster_size, counts.total),
    clustereval._unnamed_noise_as_text('cluster', sizes.cluster_size, unit)
  FROM query_table(cluster_sizes) AS sizes
  JOIN query_table(row_counts) AS counts
    ON counts.partition_key IS NOT DISTINCT FROM sizes.partition_key
  WHERE noise IS NULL AND clustereval._looks_like_noise(sizes.cluster);
