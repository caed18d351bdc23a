-- transitions: what became of the clusters from one run to the next, such as last night's.
--
--   * Clusters of both runs are linked as run_pairs has it. A cluster with one link whose other
--     cluster has no other link lives on; one with several links is split or merged; one without is
--     gone or new.

---------------------------------------------------------------------------------------------------
-- Links
---------------------------------------------------------------------------------------------------

-- The linked pairs of clusters: the columns of _cluster_overlaps, __ce_counts_before and
-- __ce_counts_after, whether the link counts for the cluster of that run, and __ce_n_parts and
-- __ce_n_sources, how many links count for the old and for the new cluster. __ce_overlaps names a
-- CTE of the rows of _cluster_overlaps; min_share is the user's option.
CREATE OR REPLACE MACRO clustereval._cluster_links(__ce_overlaps, min_share) AS TABLE
  WITH __ce_counted AS (
    SELECT
      *,
      __ce_share_before >= CAST(min_share AS DOUBLE) AS __ce_counts_before,
      __ce_share_after >= CAST(min_share AS DOUBLE) AS __ce_counts_after
    FROM query_table(__ce_overlaps)
    WHERE __ce_is_link
  )
  SELECT
    *,
    COUNT(CASE WHEN __ce_counts_before THEN 1 END) OVER (PARTITION BY __ce_partition, __ce_old)
      AS __ce_n_parts,
    COUNT(CASE WHEN __ce_counts_after THEN 1 END) OVER (PARTITION BY __ce_partition, __ce_new)
      AS __ce_n_sources
  FROM __ce_counted;

-- TRUE for a link that is the only one of both clusters, TRUE for one that is the only one of the
-- new cluster but not of the old one, and the other way round. The parameters are columns of
-- _cluster_links.
CREATE OR REPLACE MACRO clustereval._is_match(
  counts_before, n_parts, counts_after, n_sources
) AS counts_before AND n_parts = 1 AND counts_after AND n_sources = 1;
CREATE OR REPLACE MACRO clustereval._is_part(
  counts_before, n_parts, counts_after, n_sources
) AS counts_after AND n_sources = 1 AND NOT (counts_before AND n_parts = 1);
CREATE OR REPLACE MACRO clustereval._is_source(
  counts_before, n_parts, counts_after, n_sources
) AS counts_before AND n_parts = 1 AND NOT (counts_after AND n_sources = 1);

---------------------------------------------------------------------------------------------------
-- Transitions
---------------------------------------------------------------------------------------------------

-- One row per linked pair that is the row of a cluster: a match is that of both, a part that of
-- the new cluster, a source that of the old one. Columns as in _transition_sides. __ce_links names
-- a CTE of the rows of _cluster_links.
CREATE OR REPLACE MACRO clustereval._linked_pairs(__ce_links) AS TABLE
  WITH __ce_kinds AS (
    SELECT
      *,
      CASE
        WHEN clustereval._is_match(
          __ce_counts_before, __ce_n_parts, __ce_counts_after, __ce_n_sources
        )
        THEN 'match'
        WHEN clustereval._is_part(
          __ce_counts_before, __ce_n_parts, __ce_counts_after, __ce_n_sources
        )
        THEN 'part'
        WHEN clustereval._is_source(
          __ce_counts_before, __ce_n_parts, __ce_counts_after, __ce_n_sources
        )
        THEN 'source'
      END AS __ce_kind
    FROM query_table(__ce_links)
  )
  SELECT
    __ce_partition, __ce_old, __ce_new, __ce_kind,
    CAST(1 AS BIGINT) AS __ce_n_old, CAST(1 AS BIGINT) AS __ce_n_new,
    __ce_n_before, __ce_n_after, __ce_n, __ce_n_left, __ce_n_joined,
    __ce_stayed_before, __ce_stayed_after, FALSE AS __ce_is_both
  FROM __ce_kinds
  WHERE __ce_kind IS NOT NULL;

-- One row per cluster of the run before that has not one link that counts, but several (kind split)
-- or none (gone). Columns as in _transition_sides. The parameters name CTEs of the rows of
-- _old_clusters and _cluster_links.
CREATE OR REPLACE MACRO clustereval._split_clusters(__ce_old_clusters, __ce_links) AS TABLE
  WITH __ce_parts AS (
    SELECT
      __ce_partition,
      __ce_old,
      CAST(COUNT(*) AS BIGINT) AS __ce_n_new,
      SUM(__ce_n) AS __ce_n,
      SUM(__ce_n_after) AS __ce_n_after,
      SUM(__ce_n_joined) AS __ce_n_joined,
      SUM(__ce_stayed_after) AS __ce_stayed_after,
      MAX(__ce_n_sources) AS __ce_most_sources
    FROM query_table(__ce_links)
    WHERE __ce_counts_before
    GROUP BY __ce_partition, __ce_old
  )
  SELECT
    old.__ce_partition,
    old.__ce_old,
    CASE WHEN old.__ce_old IS NULL THEN old.__ce_old END AS __ce_new, -- a NULL of its type
    CASE WHEN parts.__ce_n_new > 1 THEN 'split' ELSE 'gone' END AS __ce_kind,
    CAST(1 AS BIGINT) AS __ce_n_old,
    COALESCE(parts.__ce_n_new, 0) AS __ce_n_new,
    old.__ce_n_before,
    COALESCE(parts.__ce_n_after, 0) AS __ce_n_after,
    COALESCE(parts.__ce_n, 0) AS __ce_n,
    old.__ce_n_left,
    COALESCE(parts.__ce_n_joined, 0) AS __ce_n_joined,
    old.__ce_n_stayed AS __ce_stayed_before,
    COALESCE(parts.__ce_stayed_after, 0) AS __ce_stayed_after,
    COALESCE(parts.__ce_most_sources > 1, FALSE) AS __ce_is_both
  FROM query_table(__ce_old_clusters) AS old
  LEFT JOIN __ce_parts AS parts
    ON parts.__ce_partition IS NOT DISTINCT FROM old.__ce_partition
    AND parts.__ce_old = old.__ce_old
  WHERE COALESCE(parts.__ce_n_new, 0) <> 1;

-- One row per cluster of the run after that has not one link that counts, but several (kind merged)
-- or none (new). Columns as in _transition_sides. The parameters name CTEs of the rows of
-- _new_clusters and _cluster_links.
CREATE OR REPLACE MACRO clustereval._merged_clusters(__ce_new_clusters, __ce_links) AS TABLE
  WITH __ce_sources AS (
    SELECT
      __ce_partition,
      __ce_new,
      CAST(COUNT(*) AS BIGINT) AS __ce_n_old,
      SUM(__ce_n) AS __ce_n,
      SUM(__ce_n_before) AS __ce_n_before,
      SUM(__ce_n_left) AS __ce_n_left,
      SUM(__ce_stayed_before) AS __ce_stayed_before,
      MAX(__ce_n_parts) AS __ce_most_parts
    FROM query_table(__ce_links)
    WHERE __ce_counts_after
    GROUP BY __ce_partition, __ce_new
  )
  SELECT
    new.__ce_partition,
    CASE WHEN new.__ce_new IS NULL THEN new.__ce_new END AS __ce_old, -- a NULL of its type
    new.__ce_new,
    CASE WHEN sources.__ce_n_old > 1 THEN 'merged' ELSE 'new' END AS __ce_kind,
    COALESCE(sources.__ce_n_old, 0) AS __ce_n_old,
    CAST(1 AS BIGINT) AS __ce_n_new,
    COALESCE(sources.__ce_n_before, 0) AS __ce_n_before,
    new.__ce_n_after,
    COALESCE(sources.__ce_n, 0) AS __ce_n,
    COALESCE(sources.__ce_n_left, 0) AS __ce_n_left,
    new.__ce_n_joined,
    COALESCE(sources.__ce_stayed_before, 0) AS __ce_stayed_before,
    new.__ce_n_stayed AS __ce_stayed_after,
    COALESCE(sources.__ce_most_parts > 1, FALSE) AS __ce_is_both
  FROM query_table(__ce_new_clusters) AS new
  LEFT JOIN __ce_sources AS sources
    ON sources.__ce_partition IS NOT DISTINCT FROM new.__ce_partition
    AND sources.__ce_new = new.__ce_new
  WHERE COALESCE(sources.__ce_n_old, 0) <> 1;

-- The rows of run_transitions, unsorted. Each row has old clusters on one side and new ones on the
-- other: __ce_partition, __ce_old and __ce_new, the only cluster of a side, NULL for none or
-- several, __ce_kind (match, part, source, split, merged, gone or new), __ce_n_old and __ce_n_new,
-- the numbers of clusters, __ce_n_before, __ce_n_after, __ce_n_left, __ce_n_joined, sums of the
-- columns of both sides, __ce_n, the ids in linked pairs, and __ce_is_both, TRUE if a part of a
-- split cluster is itself merged, or a source of a merged one split. __ce_transition is the word
-- for the kind, __ce_ambiguity what makes it doubtful. The parameters name CTEs of the rows of
-- _old_clusters, _new_clusters and _cluster_links; threshold is the user's option.
CREATE OR REPLACE MACRO clustereval._transition_sides(
  __ce_old_clusters, __ce_new_clusters, __ce_links, threshold
) AS TABLE
  WITH __ce_sides AS (
    SELECT * FROM clustereval._linked_pairs(__ce_links)
    UNION ALL
    SELECT * FROM clustereval._split_clusters(__ce_old_clusters, __ce_links)
    UNION ALL
    SELECT * FROM clustereval._merged_clusters(__ce_new_clusters, __ce_links)
  ),
  __ce_shares AS (
    SELECT
      *,
      clustereval._ratio(__ce_n, __ce_stayed_before) AS __ce_share_before,
      clustereval._ratio(__ce_n, __ce_stayed_after) AS __ce_share_after
    FROM __ce_sides
  )
  SELECT
    *,
    CASE
      WHEN __ce_kind = 'part' THEN 'split'
      WHEN __ce_kind = 'source' THEN 'merged'
      WHEN __ce_kind <> 'match' THEN __ce_kind
      WHEN __ce_n_after > __ce_n_before THEN 'grown'
      WHEN __ce_n_after < __ce_n_before THEN 'shrunk'
      ELSE 'kept'
    END AS __ce_transition,
    CASE
      WHEN __ce_is_both THEN 'split and merged'
      WHEN __ce_kind IN ('match', 'source', 'split', 'gone')
        AND __ce_share_before < CAST(threshold AS DOUBLE)
      THEN 'scattered'
      WHEN __ce_kind IN ('match', 'part', 'merged', 'new')
        AND __ce_share_after < CAST(threshold AS DOUBLE)
      THEN 'gathered'
    END AS __ce_ambiguity
  FROM __ce_shares;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- What became of the clusters from the run before to the run after: one row per cluster of either
-- run, where a cluster that lives on has one row for both. Columns: partition_key, cluster_before,
-- cluster_after, transition, ambiguity, and of the clusters on both sides of the row their ids
-- n_before and n_after, n_common, the ids in linked clusters, n_left and n_joined, the ids in one
-- run only, their numbers n_clusters_before and n_clusters_after, and share_before and share_after,
-- n_common as a share of the ids in both runs. tbl_before and tbl_after are tables with one row per
-- id, and id and cluster columns of both. Two clusters are linked if their common ids are a share
-- of `threshold` or more of one of them, of its ids that are in both runs; a link counts for a
-- cluster if they are a share of min_share or more of it. noise is the value of cluster that marks
-- noise in both runs, which noise_as counts as one 'cluster', leaves out ('drop') or counts as
-- 'singletons', which have no rows of their own.
-- Examples:
--   FROM clustereval.run_transitions(night_1, night_2, id, cluster);
--   FROM clustereval.run_transitions(night_1, night_2, id, cluster, min_share := 0.1);
CREATE OR REPLACE MACRO clustereval.run_transitions(
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
  __ce_overlaps AS (
    SELECT * FROM clustereval._cluster_overlaps(__ce_cells, threshold)
  ),
  __ce_links AS (SELECT * FROM clustereval._cluster_links(__ce_overlaps, min_share)),
  __ce_sides AS (
    SELECT *
    FROM clustereval._transition_sides(
      __ce_old_clusters, __ce_new_clusters, __ce_links, threshold
    )
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_old AS cluster_before,
    __ce_new AS cluster_after,
    __ce_transition AS transition,
    __ce_ambiguity AS ambiguity,
    CAST(__ce_n_before AS BIGINT) AS n_before,
    CAST(__ce_n_after AS BIGINT) AS n_after,
    CAST(__ce_n AS BIGINT) AS n_common,
    CAST(__ce_n_left AS BIGINT) AS n_left,
    CAST(__ce_n_joined AS BIGINT) AS n_joined,
    __ce_n_old AS n_clusters_before,
    __ce_n_new AS n_clusters_after,
    __ce_share_before AS share_before,
    __ce_share_after AS share_after
  FROM __ce_sides
  WHERE clustereval._check_options(
      clustereval._valid_transition_options(noise, noise_as, threshold, min_share)
    )
  ORDER BY
    __ce_partition ASC NULLS LAST, __ce_old ASC NULLS LAST, __ce_new ASC NULLS FIRST;

-- Clusters of the run before and of the run after that have common ids, one row per pair:
-- partition_key, cluster_before, cluster_after, n_before, n_after, n_common, share_before and
-- share_after, the common ids as a share of each cluster's ids that are in both runs, jaccard,
-- their Jaccard index on these ids, and is_link, whether one of the shares is `threshold` or more.
-- The parameters are those of run_transitions.
-- Examples:
--   FROM clustereval.transition_overlaps(night_1, night_2, id, cluster) WHERE is_link;
CREATE OR REPLACE MACRO clustereval.transition_overlaps(
  tbl_before, tbl_after, id, cluster, threshold := 0.5, partition_by := NULL, noise := NULL,
  noise_as := NULL
) AS TABLE
  WITH __ce_ids AS (
    SELECT *
    FROM clustereval._paired_ids(tbl_before, tbl_after, id, cluster, partition_by, noise)
  ),
  __ce_cells AS MATERIALIZED (
    SELECT * FROM clustereval._paired_cells(__ce_ids, noise, noise_as)
  ),
  __ce_overlaps AS (
    SELECT * FROM clustereval._cluster_overlaps(__ce_cells, threshold)
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_old AS cluster_before,
    __ce_new AS cluster_after,
    __ce_n_before AS n_before,
    __ce_n_after AS n_after,
    __ce_n AS n_common,
    __ce_share_before AS share_before,
    __ce_share_after AS share_after,
    clustereval._ratio(__ce_n, __ce_stayed_before + __ce_stayed_after - __ce_n) AS jaccard,
    __ce_is_link AS is_link
  FROM __ce_overlaps
  WHERE clustereval._check_options(
      clustereval._valid_transition_options(noise, noise_as, threshold, 0)
    )
  ORDER BY
    __ce_partition ASC NULLS LAST, __ce_old ASC NULLS LAST, __ce_new ASC NULLS LAST;

-- Ids that have moved, left or joined, one row per id: partition_key, id, cluster_before and
-- cluster_after. An id has moved if its clusters are not linked (see run_transitions, which has the
-- same parameters). One that has left has cluster_after NULL, one that has joined cluster_before.
-- Examples:
--   FROM clustereval.moved_ids(night_1, night_2, id, cluster);
CREATE OR REPLACE MACRO clustereval.moved_ids(
  tbl_before, tbl_after, id, cluster, threshold := 0.5, partition_by := NULL, noise := NULL,
  noise_as := NULL
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT *
    FROM clustereval._paired_ids(tbl_before, tbl_after, id, cluster, partition_by, noise)
  ),
  __ce_cells AS MATERIALIZED (
    SELECT * FROM clustereval._paired_cells(__ce_ids, noise, noise_as)
  ),
  __ce_overlaps AS (
    SELECT * FROM clustereval._cluster_overlaps(__ce_cells, threshold)
  ),
  __ce_moves AS (
    SELECT
      cell.__ce_partition, cell.__ce_before, cell.__ce_after,
      MAX(CASE WHEN cell.__ce_in_before THEN cell.__ce_before END) AS __ce_from,
      MAX(CASE WHEN cell.__ce_in_after THEN cell.__ce_after END) AS __ce_to
    FROM __ce_cells AS cell
    LEFT JOIN __ce_overlaps AS overlap
      ON overlap.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND overlap.__ce_old = cell.__ce_old
      AND overlap.__ce_new = cell.__ce_new
    WHERE cell.__ce_in_before <> cell.__ce_in_after
      OR clustereval._has_moved(
        cell.__ce_in_before, cell.__ce_in_after, cell.__ce_old, cell.__ce_new,
        overlap.__ce_is_link
      )
    GROUP BY cell.__ce_partition, cell.__ce_before, cell.__ce_after
  )
  SELECT
    ids.__ce_partition AS partition_key,
    ids.__ce_id AS id,
    moves.__ce_from AS cluster_before,
    moves.__ce_to AS cluster_after
  FROM __ce_ids AS ids
  JOIN __ce_moves AS moves
    ON moves.__ce_partition IS NOT DISTINCT FROM ids.__ce_partition
    AND moves.__ce_before IS NOT DISTINCT FROM ids.__ce_before
    AND moves.__ce_after IS NOT DISTINCT FROM ids.__ce_after
  WHERE clustereval._check_options(
      clustereval._valid_transition_options(noise, noise_as, threshold, 0)
    )
  ORDER BY ids.__ce_partition ASC NULLS LAST, ids.__ce_id ASC NULLS LAST;

-- Ids whose companions, the other ids of their cluster, have changed, one row per id:
-- partition_key, id, cluster_before and cluster_after as in moved_ids, and n_kept, n_lost and
-- n_gained, the companions in both runs, in the run before only, and in the run after only. An id
-- that has left has lost all companions, one that has joined has gained all. The parameters are
-- those of run_transitions.
-- Examples:
--   FROM clustereval.affected_ids(night_1, night_2, id, cluster) WHERE n_lost > 0;
CREATE OR REPLACE MACRO clustereval.affected_ids(
  tbl_before, tbl_after, id, cluster, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT *
    FROM clustereval._paired_ids(tbl_before, tbl_after, id, cluster, partition_by, noise)
  ),
  __ce_cells AS MATERIALIZED (
    SELECT * FROM clustereval._paired_cells(__ce_ids, noise, noise_as)
  ),
  __ce_old_clusters AS (SELECT * FROM clustereval._old_clusters(__ce_cells)),
  __ce_new_clusters AS (SELECT * FROM clustereval._new_clusters(__ce_cells)),
  -- A singleton has no row among the clusters, and no companions: its cluster and what it has in
  -- common with another one are the id itself. So is what an id of one run only has in common.
  __ce_sizes AS (
    SELECT
      cell.__ce_partition, cell.__ce_before, cell.__ce_after, cell.__ce_in_before,
      cell.__ce_in_after,
      COALESCE(old.__ce_n_before, 1) AS __ce_n_before,
      COALESCE(new.__ce_n_after, 1) AS __ce_n_after,
      CASE
        WHEN cell.__ce_in_before AND cell.__ce_in_after
          AND cell.__ce_old IS NOT NULL AND cell.__ce_new IS NOT NULL
        THEN cell.__ce_n
        ELSE 1
      END AS __ce_n_common
    FROM __ce_cells AS cell
    LEFT JOIN __ce_old_clusters AS old
      ON old.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND old.__ce_old = cell.__ce_old
    LEFT JOIN __ce_new_clusters AS new
      ON new.__ce_partition IS NOT DISTINCT FROM cell.__ce_partition
      AND new.__ce_new = cell.__ce_new
    WHERE cell.__ce_in_before OR cell.__ce_in_after
  ),
  __ce_changes AS (
    SELECT
      __ce_partition, __ce_before, __ce_after,
      MAX(CASE WHEN __ce_in_before THEN __ce_before END) AS __ce_from,
      MAX(CASE WHEN __ce_in_after THEN __ce_after END) AS __ce_to,
      MAX(__ce_n_common - 1) AS __ce_n_kept,
      MAX(CASE WHEN __ce_in_before THEN __ce_n_before - __ce_n_common ELSE 0 END) AS __ce_n_lost,
      MAX(CASE WHEN __ce_in_after THEN __ce_n_after - __ce_n_common ELSE 0 END) AS __ce_n_gained
    FROM __ce_sizes
    WHERE __ce_in_before <> __ce_in_after
      OR __ce_n_before <> __ce_n_common
      OR __ce_n_after <> __ce_n_common
    GROUP BY __ce_partition, __ce_before, __ce_after
  )
  SELECT
    ids.__ce_partition AS partition_key,
    ids.__ce_id AS id,
    changes.__ce_from AS cluster_before,
    changes.__ce_to AS cluster_after,
    CAST(changes.__ce_n_kept AS BIGINT) AS n_kept,
    CAST(changes.__ce_n_lost AS BIGINT) AS n_lost,
    CAST(changes.__ce_n_gained AS BIGINT) AS n_gained
  FROM __ce_ids AS ids
  JOIN __ce_changes AS changes
    ON changes.__ce_partition IS NOT DISTINCT FROM ids.__ce_partition
    AND changes.__ce_before IS NOT DISTINCT FROM ids.__ce_before
    AND changes.__ce_after IS NOT DISTINCT FROM ids.__ce_after
  WHERE clustereval._check_options(
      clustereval._valid_transition_options(noise, noise_as, 1, 0)
    )
  ORDER BY ids.__ce_partition ASC NULLS LAST, ids.__ce_id ASC NULLS LAST;
