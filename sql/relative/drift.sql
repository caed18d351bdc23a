-- drift: how much has changed from one run to the next, in one row.

---------------------------------------------------------------------------------------------------
-- Statistics
---------------------------------------------------------------------------------------------------

-- One row per partition with numbers of ids: __ce_partition, __ce_n_before, __ce_n_after, __ce_n,
-- those in both, and __ce_n_moved. The parameters name CTEs of the rows of _paired_cells and
-- _cluster_overlaps.
CREATE OR REPLACE MACRO clustereval._drift_counts(__ce_cells, __ce_overlaps) AS TABLE
  SELECT
    cell.__ce_partition,
    CAST(SUM(CASE WHEN cell.__ce_in_before THEN cell.__ce_n ELSE 0 END) AS BIGINT)
      AS __ce_n_before,
    CAST(SUM(CASE WHEN cell.__ce_in_after THEN cell.__ce_n ELSE 0 END) AS BIGINT) AS __ce_n_after,
    CAST(
      SUM(CASE WHEN cell.__ce_in_before AND cell.__ce_in_after THEN cell.__ce_n ELSE 0 END)
      AS BIGINT
    ) AS __ce_n,
    CAST(
      SUM(
        CASE
          WHEN clustereval._has_moved(
            cell.__ce_in_before, cell.__ce_in_after, cell.__ce_old, cell.__ce_new,
            overlap.__ce_is_link
          )
          THEN cell.__ce_n
          ELSE 0
        END
      ) AS BIGINT
    ) AS __ce_n_moved
  FROM query_table(__ce_cells) AS cell
  LEFT JOIN query_table(__ce_overlaps) AS overlap
    ON overlap.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
    AND overlap.__ce_old = cell.__ce_old
    AND overlap.__ce_new = cell.__ce_new
  WHERE cell.__ce_in_before OR cell.__ce_in_after
  GROUP BY cell.__ce_partition;

-- One row per partition with clusters: __ce_partition and the numbers of clusters with each
-- transition, of which a split cluster or a merged one counts once. __ce_sides names a CTE of the
-- rows of _transition_sides.
CREATE OR REPLACE MACRO clustereval._transition_counts(__ce_sides) AS TABLE
  SELECT
    __ce_partition,
    COUNT(CASE WHEN __ce_transition = 'kept' THEN 1 END) AS __ce_n_kept,
    COUNT(CASE WHEN __ce_transition = 'grown' THEN 1 END) AS __ce_n_grown,
    COUNT(CASE WHEN __ce_transition = 'shrunk' THEN 1 END) AS __ce_n_shrunk,
    COUNT(CASE WHEN __ce_kind = 'split' THEN 1 END) AS __ce_n_split,
    COUNT(CASE WHEN __ce_kind = 'merged' THEN 1 END) AS __ce_n_merged,
    COUNT(CASE WHEN __ce_kind = 'gone' THEN 1 END) AS __ce_n_gone,
    COUNT(CASE WHEN __ce_kind = 'new' THEN 1 END) AS __ce_n_new,
    COUNT(__ce_ambiguity) AS __ce_n_ambiguous,
    COUNT(CASE WHEN __ce_kind IN ('match', 'source', 'split', 'gone') THEN 1 END)
      AS __ce_n_clusters_before,
    COUNT(CASE WHEN __ce_kind IN ('match', 'part', 'merged', 'new') THEN 1 END)
      AS __ce_n_clusters_after
  FROM query_table(__ce_sides)
  GROUP BY __ce_partition;

-- One row per cell of the ids in both runs: __ce_partition, __ce_label, the cluster before,
-- __ce_cluster, the cluster after, and __ce_n. A singleton is told from others by its id.
-- __ce_cells names a CTE of the rows of _paired_cells.
CREATE OR REPLACE MACRO clustereval._common_cells(__ce_cells) AS TABLE
  SELECT
    __ce_partition,
    {
      'cluster': __ce_before, 'id': CASE WHEN __ce_old IS NULL THEN __ce_singleton_id END
    } AS __ce_label,
    {
      'cluster': __ce_after, 'id': CASE WHEN __ce_new IS NULL THEN __ce_singleton_id END
    } AS __ce_cluster,
    __ce_n
  FROM query_table(__ce_cells)
  WHERE __ce_in_before AND __ce_in_after;

-- Term of a cluster in the population stability index: (p - q) ln(p / q), where p and q are its
-- shares of the rows of both runs. The parameters are twice its numbers of rows, where 1, half a
-- row, stands for none, and the numbers of all rows. The difference is computed from integers.
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

-- One row per partition with clusters: __ce_partition and __ce_index, the population stability
-- index of the sizes of clusters of the same name, NULL if a run is empty. The parameters name CTEs
-- of the rows of _paired_cells and _drift_counts.
CREATE OR REPLACE MACRO clustereval._size_stability(__ce_cells, __ce_counts) AS TABLE
  WITH __ce_rows_of_names AS (
    SELECT
      __ce_partition,
      __ce_before AS __ce_name,
      __ce_n AS __ce_rows_before,
      0 AS __ce_rows_after
    FROM query_table(__ce_cells)
    WHERE __ce_in_before
    UNION ALL
    SELECT __ce_partition, __ce_after, 0, __ce_n
    FROM query_table(__ce_cells)
    WHERE __ce_in_after
  ),
  __ce_names AS (
    SELECT
      __ce_partition,
      __ce_name,
      CAST(SUM(__ce_rows_before) AS BIGINT) AS __ce_rows_before,
      CAST(SUM(__ce_rows_after) AS BIGINT) AS __ce_rows_after
    FROM __ce_rows_of_names
    GROUP BY __ce_partition, __ce_name
  )
  SELECT
    names.__ce_partition,
    CASE
      WHEN MIN(counts.__ce_n_before) > 0 AND MIN(counts.__ce_n_after) > 0
      THEN clustereval._compensated_sum(
        clustereval._stability_term(
          GREATEST(2 * names.__ce_rows_before, 1), GREATEST(2 * names.__ce_rows_after, 1),
          counts.__ce_n_before, counts.__ce_n_after
        )
      )
    END AS __ce_index
  FROM __ce_names AS names
  JOIN query_table(__ce_counts) AS counts
    ON counts.__ce_partition IS NOT DISTINCT FROM names.__ce_partition
  GROUP BY names.__ce_partition;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- How much has changed from the run before to the run after, one row per partition: partition_key;
-- n_before and n_after ids, n_common of them in both runs; n_moved, n_left and n_joined ids (see
-- moved_ids); moved_rate, n_moved / n_common, left_rate, n_left / n_before, joined_rate, n_joined /
-- n_after, and churn, the share of the ids of either run that have moved, left or joined;
-- n_clusters_before and n_clusters_after; n_kept, n_grown, n_shrunk, n_split, n_merged, n_gone and
-- n_new clusters, n_ambiguous rows of run_transitions; adjusted_rand_score,
-- adjusted_mutual_info_score and variation_of_information on the ids in both; and
-- population_stability_index of the sizes of clusters of the same name, where half a row stands for
-- none. The parameters are those of run_transitions.
-- Examples:
--   FROM clustereval.run_drift(night_1, night_2, id, cluster);
CREATE OR REPLACE MACRO clustereval.run_drift(
  tbl_before, tbl_after, id, cluster, threshold := 0.5, min_share := 0.0, partition_by := NULL,
  noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_ids AS (
    SELECT *
    FROM clustereval._paired_ids(tbl_before, tbl_after, id, cluster, partition_by, noise)
  ),
  __ce_cells AS MATERIALIZED (
    SELECT * FROM clustereval._paired_cells(__ce_ids, noise, noise_as)
  ),
  __ce_old_clusters AS (SELECT * FROM clustereval._old_clusters(__ce_cells)),
  __ce_new_clusters AS (SELECT * FROM clustereval._new_clusters(__ce_cells)),
  __ce_overlaps AS MATERIALIZED (
    SELECT * FROM clustereval._cluster_overlaps(__ce_cells, threshold)
  ),
  __ce_links AS (SELECT * FROM clustereval._cluster_links(__ce_overlaps, min_share)),
  __ce_sides AS (
    SELECT *
    FROM clustereval._transition_sides(
      __ce_old_clusters, __ce_new_clusters, __ce_links, threshold
    )
  ),
  __ce_transitions AS (SELECT * FROM clustereval._transition_counts(__ce_sides)),
  __ce_counts AS (
    SELECT * FROM clustereval._drift_counts(__ce_cells, __ce_overlaps)
    UNION ALL
    SELECT NULL, 0, 0, 0, 0
    FROM query_table(tbl_before)
    WHERE FALSE
    HAVING clustereval._is_absent(partition_by)
  ),
  __ce_totals AS (
    SELECT
      __ce_partition,
      CAST(SUM(__ce_n_before) AS BIGINT) AS __ce_n_before,
      CAST(SUM(__ce_n_after) AS BIGINT) AS __ce_n_after,
      CAST(SUM(__ce_n) AS BIGINT) AS __ce_n,
      CAST(SUM(__ce_n_moved) AS BIGINT) AS __ce_n_moved
    FROM __ce_counts
    GROUP BY __ce_partition
  ),
  __ce_common AS (SELECT * FROM clustereval._common_cells(__ce_cells)),
  __ce_agreement AS (
    SELECT
      partition_key AS __ce_partition,
      adjusted_rand_score AS __ce_rand,
      adjusted_mutual_info_score AS __ce_information,
      variation_of_information AS __ce_variation
    FROM clustereval._external_report(
      __ce_common, __ce_label, __ce_cluster, __ce_n, __ce_partition, NULL, 'cluster',
      'arithmetic', 1.0, TRUE
    )
  ),
  __ce_stability AS (SELECT * FROM clustereval._size_stability(__ce_cells, __ce_totals))
  SELECT
    totals.__ce_partition AS partition_key,
    totals.__ce_n_before AS n_before,
    totals.__ce_n_after AS n_after,
    totals.__ce_n AS n_common,
    totals.__ce_n_moved AS n_moved,
    totals.__ce_n_before - totals.__ce_n AS n_left,
    totals.__ce_n_after - totals.__ce_n AS n_joined,
    clustereval._ratio(totals.__ce_n_moved, totals.__ce_n) AS moved_rate,
    clustereval._ratio(totals.__ce_n_before - totals.__ce_n, totals.__ce_n_before) AS left_rate,
    clustereval._ratio(totals.__ce_n_after - totals.__ce_n, totals.__ce_n_after) AS joined_rate,
    clustereval._ratio(
      totals.__ce_n_before + totals.__ce_n_after - 2 * totals.__ce_n + totals.__ce_n_moved,
      totals.__ce_n_before + totals.__ce_n_after - totals.__ce_n
    ) AS churn,
    COALESCE(found.__ce_n_clusters_before, 0) AS n_clusters_before,
    COALESCE(found.__ce_n_clusters_after, 0) AS n_clusters_after,
    COALESCE(found.__ce_n_kept, 0) AS n_kept,
    COALESCE(found.__ce_n_grown, 0) AS n_grown,
    COALESCE(found.__ce_n_shrunk, 0) AS n_shrunk,
    COALESCE(found.__ce_n_split, 0) AS n_split,
    COALESCE(found.__ce_n_merged, 0) AS n_merged,
    COALESCE(found.__ce_n_gone, 0) AS n_gone,
    COALESCE(found.__ce_n_new, 0) AS n_new,
    COALESCE(found.__ce_n_ambiguous, 0) AS n_ambiguous,
    agreement.__ce_rand AS adjusted_rand_score,
    agreement.__ce_information AS adjusted_mutual_info_score,
    agreement.__ce_variation AS variation_of_information,
    stability.__ce_index AS population_stability_index
  FROM __ce_totals AS totals
  LEFT JOIN __ce_transitions AS found
    ON found.__ce_partition IS NOT DISTINCT FROM totals.__ce_partition
  LEFT JOIN __ce_agreement AS agreement
    ON agreement.__ce_partition IS NOT DISTINCT FROM totals.__ce_partition
  LEFT JOIN __ce_stability AS stability
    ON stability.__ce_partition IS NOT DISTINCT FROM totals.__ce_partition
  WHERE clustereval._check_options(
      clustereval._valid_transition_options(noise, noise_as, threshold, min_share)
    )
  ORDER BY totals.__ce_partition ASC NULLS LAST;
