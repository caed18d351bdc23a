-- drift: how much has changed from one run to the next, in one row.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per partition with numbers of ids: n_before, n_after, n (in both runs) and n_moved.
CREATE OR REPLACE MACRO clustereval._drift_counts(cells, overlap_rows) AS TABLE
  SELECT
    cell.partition_key,
    CAST(SUM(CASE WHEN cell.in_before THEN cell.n ELSE 0 END) AS BIGINT) AS n_before,
    CAST(SUM(CASE WHEN cell.in_after THEN cell.n ELSE 0 END) AS BIGINT) AS n_after,
    CAST(SUM(CASE WHEN cell.in_before AND cell.in_after THEN cell.n ELSE 0 END) AS BIGINT) AS n,
    CAST(
      SUM(
        CASE
          WHEN clustereval._has_moved(
            cell.in_before, cell.in_after, cell.old, cell.new, overlap.is_link
          )
          THEN cell.n
          ELSE 0
        END
      ) AS BIGINT
    ) AS n_moved
  FROM query_table(cells) AS cell
  LEFT JOIN query_table(overlap_rows) AS overlap
    ON overlap.partition_key IS NOT DISTINCT FROM cell.partition_key
    AND overlap.old = cell.old
    AND overlap.new = cell.new
  WHERE cell.in_before OR cell.in_after
  GROUP BY cell.partition_key;

-- One row per partition with clusters: partition_key and the numbers of clusters with each
-- transition, where a split or merged cluster counts only once.
CREATE OR REPLACE MACRO clustereval._transition_counts(
  cells, overlap_rows, threshold, min_share
) AS TABLE
  SELECT
    partition_key,
    COUNT(CASE WHEN transition = 'kept' THEN 1 END) AS n_kept,
    COUNT(CASE WHEN transition = 'grown' THEN 1 END) AS n_grown,
    COUNT(CASE WHEN transition = 'shrunk' THEN 1 END) AS n_shrunk,
    COUNT(CASE WHEN kind = 'split' THEN 1 END) AS n_split,
    COUNT(CASE WHEN kind = 'merged' THEN 1 END) AS n_merged,
    COUNT(CASE WHEN kind = 'gone' THEN 1 END) AS n_gone,
    COUNT(CASE WHEN kind = 'new' THEN 1 END) AS n_new,
    COUNT(ambiguity) AS n_ambiguous,
    COUNT(CASE WHEN kind IN ('match', 'source', 'split', 'gone') THEN 1 END) AS n_clusters_before,
    COUNT(CASE WHEN kind IN ('match', 'part', 'merged', 'new') THEN 1 END) AS n_clusters_after
  FROM clustereval._transition_sides(cells, overlap_rows, threshold, min_share)
  GROUP BY partition_key;

-- Term of a cluster in the population stability index: (p - q) ln(p / q) of its shares of the rows
-- of both runs. Twice the rows are given, where 1 (half a row) stands for none. The difference is
-- computed from integers.
CREATE OR REPLACE MACRO clustereval._stability_term(
  half_rows_before, half_rows_after, total_before, total_after
) AS
  clustereval._ratio(
    clustereval._widen(half_rows_before) * clustereval._widen(total_after)
      - clustereval._widen(half_rows_after) * clustereval._widen(total_before),
    clustereval._widen(total_before) * clustereval._widen(2 * total_after)
  ) * clustereval._log_ratio(
    clustereval._widen(half_rows_before) * clustereval._widen(total_after),
    clustereval._widen(half_rows_after) * clustereval._widen(total_before)
  );

-- One row per pair of clusters that continue each other: partition_key, old and new. Each of the
-- two shares more ids with the other than with any other cluster that is linked to it. Of equal
-- numbers, that of the larger cluster counts, then that of the lowest.
CREATE OR REPLACE MACRO clustereval._continued_clusters(overlap_rows) AS TABLE
  -- Links, numbered from the best for either cluster.
  WITH ranked AS (
    SELECT
      partition_key, old, new,
      ROW_NUMBER() OVER (
        PARTITION BY partition_key, old
        ORDER BY n DESC NULLS LAST, n_after DESC NULLS LAST, new ASC NULLS LAST
      ) AS old_rank,
      ROW_NUMBER() OVER (
        PARTITION BY partition_key, new
        ORDER BY n DESC NULLS LAST, n_before DESC NULLS LAST, old ASC NULLS LAST
      ) AS new_rank
    FROM query_table(overlap_rows)
    WHERE is_link
  )
  SELECT partition_key, old, new FROM ranked WHERE old_rank = 1 AND new_rank = 1;

-- One row per partition with clusters: index, the population stability index of the sizes of
-- clusters, NULL if a run is empty. match_sizes_by pairs a cluster with the one of the other run
-- that continues it ('ids') or has its name ('names'); noise that is not tracked is always paired
-- by name. counts: rows of _drift_counts.
CREATE OR REPLACE MACRO clustereval._size_stability(
  cells, overlap_rows, counts, match_sizes_by
) AS TABLE
  -- Numbers of ids by the name in the run before, or by the new cluster if it continues none.
  WITH rows_of_names AS (
    SELECT
      partition_key,
      before AS name,
      CASE WHEN before IS NULL THEN after END AS new, -- a NULL of its type
      n AS rows_before,
      0 AS rows_after
    FROM query_table(cells)
    WHERE in_before
    UNION ALL
    SELECT partition_key, after, CASE WHEN after IS NULL THEN after END, 0, n
    FROM query_table(cells)
    WHERE in_after AND (match_sizes_by = 'names' OR new IS NULL)
    UNION ALL
    SELECT
      cell.partition_key, pair.old, CASE WHEN pair.old IS NULL THEN cell.new END, 0, cell.n
    FROM query_table(cells) AS cell
    LEFT JOIN clustereval._continued_clusters(overlap_rows) AS pair
      ON pair.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND pair.new = cell.new
    WHERE cell.in_after AND match_sizes_by = 'ids' AND cell.new IS NOT NULL
  ),
  names AS (
    SELECT
      partition_key,
      name,
      new,
      CAST(SUM(rows_before) AS BIGINT) AS rows_before,
      CAST(SUM(rows_after) AS BIGINT) AS rows_after
    FROM rows_of_names
    GROUP BY partition_key, name, new
  )
  SELECT
    names.partition_key,
    CASE
      WHEN MIN(base.n_before) > 0 AND MIN(base.n_after) > 0
      THEN clustereval._compensated_sum(
        clustereval._stability_term(
          GREATEST(2 * names.rows_before, 1), GREATEST(2 * names.rows_after, 1),
          base.n_before, base.n_after
        )
      )
    END AS index
  FROM names
  JOIN query_table(counts) AS base ON base.partition_key IS NOT DISTINCT FROM names.partition_key
  GROUP BY names.partition_key;

-- query_text, a text for _check_options. Raises an error if match_sizes_by is unknown.
CREATE OR REPLACE MACRO clustereval._valid_drift_options(match_sizes_by, query_text) AS
  CASE
    WHEN coalesce(match_sizes_by, '') NOT IN ('ids', 'names')
    THEN error(concat(
      'match_sizes_by: expected one of ''ids'', ''names'', got ',
      clustereval._quote_value(match_sizes_by)
    ))
    ELSE query_text
  END;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- How much has changed from the run before to the run after, one row per partition:
-- partition_key; n_before and n_after ids, n_common of them in both runs; n_moved, n_left and
-- n_joined ids (see moved_ids); n_affected ids (see affected_ids); moved_rate, n_moved /
-- n_common, left_rate, n_left / n_before, joined_rate, n_joined / n_after, and churn, the share
-- of the ids of either run that have moved, left or joined; n_clusters_before and
-- n_clusters_after; n_kept, n_grown, n_shrunk, n_split, n_merged, n_gone and n_new clusters,
-- n_ambiguous rows of run_transitions; adjusted_rand_score, adjusted_mutual_info_score and
-- variation_of_information on the ids in both; and population_stability_index of the sizes of
-- clusters, where half a row stands for no rows. match_sizes_by compares the size of a cluster
-- with that of the cluster that continues it ('ids') or of the cluster with the same name
-- ('names'). The other parameters are those of run_transitions.
-- Examples:
--   FROM clustereval.run_drift(night_1, night_2, id, cluster);
--   FROM clustereval.run_drift(night_1, night_2, id, cluster, match_sizes_by := 'names');
CREATE OR REPLACE MACRO clustereval.run_drift(
  tbl_before, tbl_after, id, cluster, threshold := 0.5, min_share := 0.0, partition_by := NULL,
  noise := NULL, noise_as := NULL, match_sizes_by := 'ids'
) AS TABLE
  WITH __ce_ids AS (
    SELECT *
    FROM clustereval._paired_ids(tbl_before, tbl_after, id, cluster, partition_by, noise)
  ),
  __ce_cells AS MATERIALIZED (SELECT * FROM clustereval._paired_cells(__ce_ids, noise, noise_as)),
  __ce_overlaps AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_overlaps(__ce_cells, threshold)
  ),
  __ce_counts AS (
    SELECT * FROM clustereval._drift_counts(__ce_cells, __ce_overlaps)
    UNION ALL
    SELECT NULL, 0, 0, 0, 0
    FROM query_table(tbl_before)
    WHERE FALSE
    HAVING clustereval._is_absent(partition_by)
  ),
  __ce_affected AS (
    SELECT partition_key, CAST(SUM(n) AS BIGINT) AS n_affected
    FROM clustereval._companion_counts(__ce_cells)
    WHERE is_affected
    GROUP BY partition_key
  ),
  __ce_totals AS (
    SELECT
      partition_key,
      CAST(SUM(n_before) AS BIGINT) AS n_before,
      CAST(SUM(n_after) AS BIGINT) AS n_after,
      CAST(SUM(n) AS BIGINT) AS n,
      CAST(SUM(n_moved) AS BIGINT) AS n_moved
    FROM __ce_counts
    GROUP BY partition_key
  ),
  -- Cells of the ids in both runs. A singleton is identified by its id.
  __ce_common AS (
    SELECT
      partition_key,
      {'cluster': before, 'id': CASE WHEN old IS NULL THEN singleton_id END} AS old_set,
      {'cluster': after, 'id': CASE WHEN new IS NULL THEN singleton_id END} AS new_set,
      n
    FROM __ce_cells
    WHERE in_before AND in_after
  )
  SELECT
    totals.partition_key,
    totals.n_before,
    totals.n_after,
    totals.n AS n_common,
    totals.n_moved,
    totals.n_before - totals.n AS n_left,
    totals.n_after - totals.n AS n_joined,
    COALESCE(affected.n_affected, 0) AS n_affected,
    clustereval._ratio(totals.n_moved, totals.n) AS moved_rate,
    clustereval._ratio(totals.n_before - totals.n, totals.n_before) AS left_rate,
    clustereval._ratio(totals.n_after - totals.n, totals.n_after) AS joined_rate,
    clustereval._ratio(
      totals.n_before + totals.n_after - 2 * totals.n + totals.n_moved,
      totals.n_before + totals.n_after - totals.n
    ) AS churn,
    COALESCE(found.n_clusters_before, 0) AS n_clusters_before,
    COALESCE(found.n_clusters_after, 0) AS n_clusters_after,
    COALESCE(found.n_kept, 0) AS n_kept,
    COALESCE(found.n_grown, 0) AS n_grown,
    COALESCE(found.n_shrunk, 0) AS n_shrunk,
    COALESCE(found.n_split, 0) AS n_split,
    COALESCE(found.n_merged, 0) AS n_merged,
    COALESCE(found.n_gone, 0) AS n_gone,
    COALESCE(found.n_new, 0) AS n_new,
    COALESCE(found.n_ambiguous, 0) AS n_ambiguous,
    agreement.adjusted_rand_score,
    agreement.adjusted_mutual_info_score,
    agreement.variation_of_information,
    stability.index AS population_stability_index
  FROM __ce_totals AS totals
  LEFT JOIN __ce_affected AS affected
    ON affected.partition_key IS NOT DISTINCT FROM totals.partition_key
  LEFT JOIN clustereval._transition_counts(
    __ce_cells, __ce_overlaps, threshold, min_share
  ) AS found
    ON found.partition_key IS NOT DISTINCT FROM totals.partition_key
  LEFT JOIN clustereval._external_report(
    __ce_common, old_set, new_set, n, partition_key, NULL, 'cluster', 'arithmetic', 1.0, TRUE
  ) AS agreement
    ON agreement.partition_key IS NOT DISTINCT FROM totals.partition_key
  LEFT JOIN clustereval._size_stability(
    __ce_cells, __ce_overlaps, __ce_totals, match_sizes_by
  ) AS stability
    ON stability.partition_key IS NOT DISTINCT FROM totals.partition_key
  WHERE clustereval._check_options(clustereval._valid_drift_options(
    match_sizes_by,
    clustereval._valid_transition_options(noise, noise_as, threshold, min_share)
  ))
  ORDER BY totals.partition_key ASC NULLS LAST;
