-- findings: what you should know about a clustering with labels, in words with the numbers behind
-- them.

-- 'problem' if it may be one and the division concerns either many rows (n_outside, with all others
-- whose share is as low), or most of its kind of pairs: divided of `pairs` are of different labels
-- or clusters.
CREATE OR REPLACE MACRO clustereval._severity_of_division(
  share, n_outside, total, divided, pairs, may_be_problem
) AS
  CASE
    WHEN may_be_problem AND (
      share < clustereval._problem_share() AND clustereval._are_many(n_outside, total)
      OR 4 * divided > pairs
    ) THEN 'problem'
    ELSE 'warning'
  END;

-- What of the other kind, several labels or clusters, a divided cluster or label has.
CREATE OR REPLACE MACRO clustereval._whole_parts_as_text(n_whole, kind) AS
  CASE
    WHEN n_whole > 1
      THEN concat(
        ' (at least ', clustereval._percent_as_text(clustereval._undivided_share()), ' of each of ',
        n_whole, ' ', kind, 's)'
      )
    ELSE ''
  END;

-- The share of the majority of a divided cluster or label, as text.
CREATE OR REPLACE MACRO clustereval._divided_share_as_text(share) AS
  clustereval._percent_below(share, CASE
    WHEN share < clustereval._problem_share() THEN clustereval._problem_share()
    ELSE clustereval._undivided_share()
  END);

-- The divided clusters or labels: partition_key, subject, n (rows), majority, share, divided
-- (ordered pairs in different cells), n_whole (labels or clusters with at least 80 % of their rows
-- in it) and n_outside (rows outside the majorities of all in the partition whose share is a
-- problem). sized_cells: partition_key, subject, other, n, size, majority_n and other_size by cell.
CREATE OR REPLACE MACRO clustereval._divided_subjects(sized_cells) AS TABLE
  WITH subjects AS (
    SELECT
      partition_key,
      subject,
      MAX(size) AS n,
      MIN(CASE WHEN n = majority_n THEN other END) AS majority,
      clustereval._ratio(MAX(majority_n), MAX(size)) AS share,
      MAX(size) - MAX(majority_n) AS n_outside,
      clustereval._count_ordered_pairs(MAX(size)) - SUM(clustereval._count_ordered_pairs(n))
        AS divided,
      COUNT(CASE
        WHEN clustereval._ratio(n, other_size) >= clustereval._undivided_share() THEN 1
      END) AS n_whole
    FROM query_table(sized_cells)
    WHERE subject IS NOT NULL
    GROUP BY partition_key, subject
  )
  SELECT
    * REPLACE (
      SUM(CASE WHEN share < clustereval._problem_share() THEN n_outside ELSE 0 END)
        OVER (PARTITION BY partition_key) AS n_outside
    )
  FROM subjects
  WHERE share < clustereval._undivided_share();
-- TRUE if nearly every row has a label of its own, although there are few clusters.
CREATE OR REPLACE MACRO clustereval._are_labels_unique(total, n_labels, n_clusters) AS
  2 * n_labels > total AND n_labels > 10 * n_clusters;

-- TRUE if most labels are fractions, and there are many for the clusters.
CREATE OR REPLACE MACRO clustereval._are_labels_fractions(n_fractions, n_labels, n_clusters) AS
  2 * n_fractions > n_labels AND n_labels > 2 * n_clusters;

-- TRUE if a label is a floating-point number with a fraction.
CREATE OR REPLACE MACRO clustereval._is_fraction(label) AS
  CASE
    WHEN typeof(label) IN ('FLOAT', 'DOUBLE')
      THEN isfinite(TRY_CAST(CAST(label AS VARCHAR) AS DOUBLE))
        AND TRY_CAST(CAST(label AS VARCHAR) AS DOUBLE)
          <> floor(TRY_CAST(CAST(label AS VARCHAR) AS DOUBLE))
    ELSE FALSE
  END;

-- One row per partition: n_unlabeled, the rows without a label in clusters with labeled rows.
CREATE OR REPLACE MACRO clustereval._unlabeled_rows(groups) AS TABLE
  WITH clusters AS (
    -- With a cluster, a row is dropped because it has no label.
    SELECT partition_key, cluster, SUM(n_dropped) AS n_unlabeled
    FROM query_table(groups)
    WHERE cluster IS NOT NULL
    GROUP BY partition_key, cluster
    HAVING SUM(n * copies) > 0
  )
  SELECT partition_key, CAST(SUM(n_unlabeled) AS BIGINT) AS n_unlabeled
  FROM clusters
  GROUP BY partition_key;

-- Findings on the labels as such: partition_key, place, severity, code, label, n, value and
-- finding. noise_of_labels: partition_key, label, n_left and n_noise, its rows that are scored and
-- that are left out as noise.
CREATE OR REPLACE MACRO clustereval._findings_on_labels(
  row_counts, label_sizes, noise_of_labels, noise
) AS TABLE
  WITH spelled AS (
    SELECT
      *,
      CAST(sizes.label AS VARCHAR) AS name,
      CASE
        WHEN clustereval._is_text(sizes.label)
        THEN regexp_replace(lower(CAST(sizes.label AS VARCHAR)), '\s', '', 'g')
      END AS spelling
    FROM query_table(label_sizes) AS sizes
  )
  SELECT
    partition_key, -5 AS place, 'problem' AS severity, 'unique_labels' AS code, NULL AS label,
    total AS n, clustereval._ratio(n_labels, total) AS value,
    concat(
      'there are ', n_labels, ' labels for ', total, ' rows: is the label an id or a measurement?'
    ) AS finding
  FROM query_table(row_counts) AS counts
  WHERE clustereval._are_labels_unique(total, n_labels, n_clusters)
  UNION ALL
  SELECT
    partition_key, -4,
    CASE
      WHEN clustereval._are_labels_fractions(n_fractions, n_labels, n_clusters) THEN 'problem'
      ELSE 'warning'
    END,
    'fractional_labels', NULL, fraction_rows, NULL,
    concat(
      clustereval._count_as_text(n_fractions, 'label'),
      CASE WHEN n_fractions = 1 THEN ' is a fraction' ELSE ' are fractions' END,
      ': is the label a measurement?'
    )
  FROM query_table(row_counts) AS counts
  WHERE n_fractions > 0
  UNION ALL
  SELECT
    partition_key, -3, 'warning', 'similar_labels', arg_min(spelled.label, name),
    CAST(SUM(label_size) AS BIGINT), NULL,
    concat(
      COUNT(*), ' labels differ only by case or blanks: ',
      string_agg(concat('''', name, ''''), ', ' ORDER BY name ASC NULLS LAST)
    )
  FROM spelled
  WHERE spelling IS NOT NULL
  GROUP BY partition_key, spelling
  HAVING COUNT(*) > 1
  UNION ALL
  SELECT
    partition_key, -2, 'note', 'same_partition', NULL, total, NULL,
    'clusters and labels agree one to one: check that neither column is made from the other'
  FROM query_table(row_counts) AS counts
  WHERE n_cells = n_labels AND n_cells = n_clusters AND n_cells > 1 AND n_cells < total
  UNION ALL
  SELECT
    partition_key, -1, clustereval._severity_of_left_out(n_unlabeled, total + n_unlabeled),
    'sparse_labels', NULL, n_unlabeled, clustereval._ratio(n_unlabeled, total + n_unlabeled),
    concat(
      n_unlabeled, ' of ', total + n_unlabeled, ' rows in clusters with labels ',
      CASE WHEN n_unlabeled = 1 THEN 'has' ELSE 'have' END,
      ' no label, so precision may be far too high: use entity_resolution_estimates, or ',
      'labels_are_sample in a comparison'
    )
  FROM query_table(row_counts) AS counts
  WHERE n_unlabeled > 0 AND 10 * n_unlabeled >= total + n_unlabeled
  UNION ALL
  SELECT
    partition_key, 0, 'warning', 'noise_label', noisy.label, n_left + n_noise,
    clustereval._ratio(n_noise, n_left + n_noise),
    concat(
      n_noise, ' of the label''s ', clustereval._count_as_text(n_left + n_noise, 'row'),
      CASE WHEN n_noise = 1 THEN ' is' ELSE ' are' END, ' noise, and left out'
    )
  FROM query_table(noise_of_labels) AS noisy
  WHERE n_noise >= n_left
  UNION ALL
  SELECT
    sizes.partition_key, -8, 'problem', 'unnamed_noise_label', sizes.label, label_size,
    clustereval._ratio(label_size, counts.total),
    clustereval._unnamed_noise_as_text('label', label_size, 'row')
  FROM query_table(label_sizes) AS sizes
  JOIN query_table(row_counts) AS counts
    ON counts.partition_key IS NOT DISTINCT FROM sizes.partition_key
  WHERE noise IS NULL AND clustereval._looks_like_noise(sizes.label)
  UNION ALL
  SELECT
    sizes.partition_key, -4, clustereval._severity_of_left_out(label_size, counts.total),
    'placeholder_label', sizes.label, label_size, clustereval._ratio(label_size, counts.total),
    concat(
      'the label ''', CAST(sizes.label AS VARCHAR), ''' of ', label_size, ' of ',
      clustereval._count_as_text(counts.total, 'row'),
      ' counts as one label; if it stands for a missing one, ', clustereval._noise_advice('label')
    )
  FROM query_table(label_sizes) AS sizes
  JOIN query_table(row_counts) AS counts
    ON counts.partition_key IS NOT DISTINCT FROM sizes.partition_key
  -- Among many rows, a few such labels may be meant.
  WHERE clustereval._is_placeholder(sizes.label) AND 10 * label_size >= counts.total;

-- What you should know about a clustering with labels: clusters that have several labels, labels
-- that are in several clusters, and rows that are left out.
-- Examples:
--   FROM clustereval.external_findings(assignments, species, cluster);
CREATE OR REPLACE MACRO clustereval.external_findings(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_groups AS (
    SELECT *
    FROM clustereval._row_groups(tbl, label, cluster, weight, partition_by, noise, noise_as)
  ),
  cells AS (SELECT * FROM __ce_groups WHERE copies > 0),
  cluster_sizes AS (SELECT * FROM clustereval._cluster_sizes(cells)),
  label_sizes AS (SELECT * FROM clustereval._label_sizes(cells)),
  cluster_counts AS (
    SELECT partition_key, SUM(copies) AS n_clusters
    FROM cluster_sizes
    GROUP BY partition_key
  ),
  label_counts AS (
    SELECT
      partition_key, COUNT(*) AS n_labels, SUM(n_cells) AS n_cells,
      COUNT(CASE WHEN is_fraction THEN 1 END) AS n_fractions,
      CAST(SUM(CASE WHEN is_fraction THEN label_size END) AS BIGINT) AS fraction_rows
    FROM (
      SELECT *, clustereval._is_fraction(sizes.label) AS is_fraction FROM label_sizes AS sizes
    )
    GROUP BY partition_key
  ),
  noise_of_labels AS (
    SELECT
      partition_key, one.label,
      CAST(SUM(n * copies) AS BIGINT) AS n_left,
      CAST(SUM(n_noise) AS BIGINT) AS n_noise
    FROM __ce_groups AS one
    WHERE noise_as = 'drop' AND one.label IS NOT NULL
    GROUP BY partition_key, one.label
    HAVING SUM(n_noise) > 0
  ),
  row_counts AS (
    SELECT
      counts.partition_key, counts.total, counts.n_dropped, counts.n_noise,
      COALESCE(clusters.n_clusters, 0) AS n_clusters,
      labels.n_labels, labels.n_cells, labels.n_fractions, labels.fraction_rows,
      unlabeled.n_unlabeled,
      counts.total + CASE WHEN noise_as = 'drop' THEN counts.n_noise ELSE 0 END AS total_noise
    FROM clustereval._row_counts(__ce_groups) AS counts
    LEFT JOIN cluster_counts AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN label_counts AS labels
      ON labels.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._unlabeled_rows(__ce_groups) AS unlabeled
      ON unlabeled.partition_key IS NOT DISTINCT FROM counts.partition_key
  ),
  -- If labels are no classes, or every row is a cluster of its own, divisions are only symptoms.
  divisible AS (
    SELECT *
    FROM row_counts
    WHERE n_clusters < total AND NOT clustereval._are_labels_unique(total, n_labels, n_clusters)
      AND NOT clustereval._are_labels_fractions(n_fractions, n_labels, n_clusters)
  ),
  totals AS (
    SELECT labels.partition_key, labels.n_labels, labels.label_pairs, clusters.cluster_pairs
    FROM clustereval._label_totals(label_sizes) AS labels
    JOIN clustereval._cluster_totals(cluster_sizes) AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM labels.partition_key
  ),
  cells_of_clusters AS (
    SELECT
      cell.partition_key, cell.cluster AS subject, cell.label AS other, cell.n,
      sizes.cluster_size AS size, sizes.cluster_majority_n AS majority_n,
      others.label_size AS other_size
    FROM cluster_sizes AS sizes
    JOIN cells AS cell
      ON cell.partition_key IS NOT DISTINCT FROM sizes.partition_key
      AND cell.cluster = sizes.cluster
    LEFT JOIN label_sizes AS others
      ON others.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND others.label = cell.label
  ),
  cells_of_labels AS (
    SELECT
      cell.partition_key, cell.label AS subject, cell.cluster AS other, cell.n,
      sizes.label_size AS size, sizes.label_majority_n AS majority_n,
      others.cluster_size AS other_size
    FROM label_sizes AS sizes
    JOIN cells AS cell
      ON cell.partition_key IS NOT DISTINCT FROM sizes.partition_key
      AND cell.label = sizes.label
    LEFT JOIN cluster_sizes AS others
      ON others.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND others.cluster = cell.cluster
  ),
  findings AS (
    SELECT
      partition_key, place, severity, code, one.cluster, NULL AS label, n, value, finding
    FROM clustereval._findings_on_sizes(row_counts, cluster_sizes, noise, 'row', 'label') AS one
    UNION ALL
    SELECT
      partition_key, place, severity, code, NULL, one.label, n, value, finding
    FROM clustereval._findings_on_labels(
      row_counts, label_sizes, noise_of_labels, noise
    ) AS one
    UNION ALL
    SELECT
      mixed.partition_key, 5,
      clustereval._severity_of_division(
        share, mixed.n_outside, counts.total, divided, cluster_pairs, TRUE
      ),
      'mixed_cluster', mixed.subject, mixed.majority, n, share,
      concat(
        clustereval._divided_share_as_text(share), ' of the cluster''s ',
        clustereval._count_as_text(n, 'row'),
        clustereval._whole_parts_as_text(n_whole, 'label'), ' have its most frequent label'
      )
    FROM clustereval._divided_subjects(cells_of_clusters) AS mixed
    JOIN divisible AS counts ON counts.partition_key IS NOT DISTINCT FROM mixed.partition_key
    JOIN totals ON totals.partition_key IS NOT DISTINCT FROM mixed.partition_key
    UNION ALL
    SELECT
      split.partition_key, 6,
      -- With more clusters than labels, some labels have to be split.
      clustereval._severity_of_division(
        share, split.n_outside, counts.total, divided, label_pairs,
        counts.n_clusters <= totals.n_labels
      ),
      'split_label', split.majority, split.subject, split.n, share,
      concat(
        clustereval._divided_share_as_text(share), ' of the label''s ',
        clustereval._count_as_text(split.n, 'row'),
        clustereval._whole_parts_as_text(n_whole, 'cluster'),
        ' that are left of ' || (n_left + noisy.n_noise),
        ' are in the cluster that has the most'
      )
    FROM clustereval._divided_subjects(cells_of_labels) AS split
    JOIN divisible AS counts ON counts.partition_key IS NOT DISTINCT FROM split.partition_key
    JOIN totals ON totals.partition_key IS NOT DISTINCT FROM split.partition_key
    LEFT JOIN noise_of_labels AS noisy
      ON noisy.partition_key IS NOT DISTINCT FROM split.partition_key
      AND noisy.label = split.subject
  )
  SELECT
    one.partition_key, one.severity, one.code, one.cluster, one.label, one.n, one.value,
    clustereval._named_finding(one.code, one.finding, one.cluster, one.label, NULL) AS finding
  FROM findings AS one
  WHERE clustereval._check_options(clustereval._valid_noise(noise, noise_as))
    AND (SELECT COUNT(*) FROM __ce_groups) >= 0 -- keeps the checks of __ce_groups in the plan
    AND (
      noise IS NOT NULL OR starts_with(one.code, 'unnamed_noise')
      OR NOT (
        clustereval._looks_like_noise(one.cluster) OR clustereval._looks_like_noise(one.label)
      )
    )
  ORDER BY
    one.partition_key ASC NULLS LAST,
    clustereval._severity_rank(one.severity) ASC NULLS LAST,
    one.place ASC NULLS LAST,
    one.n DESC NULLS LAST,
    one.cluster ASC NULLS LAST,
    one.label ASC NULLS LAST;
