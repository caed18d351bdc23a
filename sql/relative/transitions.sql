-- transitions: what became of the clusters from one run to the next, such as last night's.
--
--   * Clusters of both runs are linked as defined in run_pairs. If a cluster has one link, and the
--     other cluster of this link has no other link, the cluster lives on. A cluster with several
--     links is split or merged. A cluster without links is gone or new.

---------------------------------------------------------------------------------------------------
-- Links
---------------------------------------------------------------------------------------------------

-- The links of _cluster_overlaps, marked if they count for a cluster: counts_before and
-- counts_after, TRUE if the link counts for the cluster of that run; and n_parts and n_sources, the
-- links that count for the old and for the new cluster.
CREATE OR REPLACE MACRO clustereval._cluster_links(overlap_rows, min_share) AS TABLE
  -- Links, marked if they count for either cluster.
  WITH counted AS (
    SELECT
      *,
      share_before >= CAST(min_share AS DOUBLE) AS counts_before,
      share_after >= CAST(min_share AS DOUBLE) AS counts_after
    FROM query_table(overlap_rows)
    WHERE is_link
  )
  SELECT
    *,
    COUNT(CASE WHEN counts_before THEN 1 END) OVER (PARTITION BY partition_key, old) AS n_parts,
    COUNT(CASE WHEN counts_after THEN 1 END) OVER (PARTITION BY partition_key, new) AS n_sources
  FROM counted;

---------------------------------------------------------------------------------------------------
-- Transitions
---------------------------------------------------------------------------------------------------

-- One row per link that is the row of a cluster: a match (the only link of both clusters) is the
-- row of both, a part (only of the new one) that of the new cluster, and a source that of the old
-- one. Columns as in _transition_sides.
CREATE OR REPLACE MACRO clustereval._linked_pairs(links) AS TABLE
  -- Links with the kind of their transition, if they are one.
  WITH kinds AS (
    SELECT
      *,
      CASE
        WHEN counts_before AND n_parts = 1 AND counts_after AND n_sources = 1 THEN 'match'
        WHEN counts_after AND n_sources = 1 THEN 'part'
        WHEN counts_before AND n_parts = 1 THEN 'source'
      END AS kind
    FROM query_table(links)
  )
  SELECT
    partition_key, old, new, kind,
    CAST(1 AS BIGINT) AS n_old, CAST(1 AS BIGINT) AS n_new,
    n_before, n_after, n, n_left, n_joined,
    stayed_before, stayed_after, FALSE AS is_both
  FROM kinds
  WHERE kind IS NOT NULL;

-- One row per old cluster for which several links count (kind split) or none (gone). Columns as in
-- _transition_sides.
CREATE OR REPLACE MACRO clustereval._split_clusters(cells, links) AS TABLE
  -- One row per old cluster with the sums over the links that count for it.
  WITH parts AS (
    SELECT
      partition_key,
      old,
      CAST(COUNT(*) AS BIGINT) AS n_new,
      SUM(n) AS n,
      SUM(n_after) AS n_after,
      SUM(n_joined) AS n_joined,
      SUM(stayed_after) AS stayed_after,
      MAX(n_sources) AS most_sources
    FROM query_table(links)
    WHERE counts_before
    GROUP BY partition_key, old
  )
  SELECT
    old.partition_key,
    old.old,
    CASE WHEN old.old IS NULL THEN old.old END AS new, -- a NULL of its type
    CASE WHEN parts.n_new > 1 THEN 'split' ELSE 'gone' END AS kind,
    CAST(1 AS BIGINT) AS n_old,
    COALESCE(parts.n_new, 0) AS n_new,
    old.n_before,
    COALESCE(parts.n_after, 0) AS n_after,
    COALESCE(parts.n, 0) AS n,
    old.n_left,
    COALESCE(parts.n_joined, 0) AS n_joined,
    old.n_stayed AS stayed_before,
    COALESCE(parts.stayed_after, 0) AS stayed_after,
    COALESCE(parts.most_sources > 1, FALSE) AS is_both
  FROM clustereval._old_clusters(cells) AS old
  LEFT JOIN parts
    ON parts.partition_key IS NOT DISTINCT FROM old.partition_key
    AND parts.old = old.old
  WHERE COALESCE(parts.n_new, 0) <> 1;

-- One row per new cluster for which several links count (kind merged) or none (new). Columns as in
-- _transition_sides.
CREATE OR REPLACE MACRO clustereval._merged_clusters(cells, links) AS TABLE
  -- One row per new cluster with the sums over the links that count for it.
  WITH sources AS (
    SELECT
      partition_key,
      new,
      CAST(COUNT(*) AS BIGINT) AS n_old,
      SUM(n) AS n,
      SUM(n_before) AS n_before,
      SUM(n_left) AS n_left,
      SUM(stayed_before) AS stayed_before,
      MAX(n_parts) AS most_parts
    FROM query_table(links)
    WHERE counts_after
    GROUP BY partition_key, new
  )
  SELECT
    new.partition_key,
    CASE WHEN new.new IS NULL THEN new.new END AS old, -- a NULL of its type
    new.new,
    CASE WHEN sources.n_old > 1 THEN 'merged' ELSE 'new' END AS kind,
    COALESCE(sources.n_old, 0) AS n_old,
    CAST(1 AS BIGINT) AS n_new,
    COALESCE(sources.n_before, 0) AS n_before,
    new.n_after,
    COALESCE(sources.n, 0) AS n,
    COALESCE(sources.n_left, 0) AS n_left,
    new.n_joined,
    COALESCE(sources.stayed_before, 0) AS stayed_before,
    new.n_stayed AS stayed_after,
    COALESCE(sources.most_parts > 1, FALSE) AS is_both
  FROM clustereval._new_clusters(cells) AS new
  LEFT JOIN sources
    ON sources.partition_key IS NOT DISTINCT FROM new.partition_key
    AND sources.new = new.new
  WHERE COALESCE(sources.n_old, 0) <> 1;

-- The rows of run_transitions, unsorted: partition_key; old and new, the only cluster of a side,
-- NULL for none or several; kind (match, part, source, split, merged, gone or new); n_old and
-- n_new, the clusters of the sides; n_before, n_after, n_left and n_joined, sums over these; n, the
-- ids in linked pairs; is_both, TRUE if a part of a split cluster is itself merged, or a source of
-- a merged one is itself split; transition, the word for the kind; and ambiguity, what makes it
-- doubtful.
CREATE OR REPLACE MACRO clustereval._transition_sides(
  cells, overlap_rows, threshold, min_share
) AS TABLE
  WITH links AS (SELECT * FROM clustereval._cluster_links(overlap_rows, min_share)),
  -- One row per transition, of the three kinds that have their own macro.
  sides AS (
    SELECT * FROM clustereval._linked_pairs(links)
    UNION ALL
    SELECT * FROM clustereval._split_clusters(cells, links)
    UNION ALL
    SELECT * FROM clustereval._merged_clusters(cells, links)
  ),
  -- Transitions with the shares of ids that they have in common.
  shares AS (
    SELECT
      *,
      clustereval._ratio(n, stayed_before) AS share_before,
      clustereval._ratio(n, stayed_after) AS share_after
    FROM sides
  )
  SELECT
    *,
    CASE
      WHEN kind = 'part' THEN 'split'
      WHEN kind = 'source' THEN 'merged'
      WHEN kind <> 'match' THEN kind
      WHEN n_after > n_before THEN 'grown'
      WHEN n_after < n_before THEN 'shrunk'
      ELSE 'kept'
    END AS transition,
    CASE
      WHEN is_both THEN 'split and merged'
      WHEN kind IN ('match', 'source', 'split', 'gone')
        AND share_before < CAST(threshold AS DOUBLE)
      THEN 'scattered'
      WHEN kind IN ('match', 'part', 'merged', 'new')
        AND share_after < CAST(threshold AS DOUBLE)
      THEN 'gathered'
    END AS ambiguity
  FROM shares;

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- What became of each cluster from the run before to the run after: one row per cluster of either
-- run, where a cluster that goes on as one cluster has one row for both. Columns: partition_key,
-- cluster_before, cluster_after, transition, ambiguity, and, for the clusters on both sides of the
-- row, the numbers of their ids (n_before and n_after), of the ids in linked clusters (n_common)
-- and of the ids in only one run (n_left and n_joined), the numbers of clusters (n_clusters_before
-- and n_clusters_after), and share_before and share_after, n_common as a share of the ids in both
-- runs. tbl_before and tbl_after are tables with one row per id; id and cluster are columns that
-- both have. Two clusters are linked if their common ids make up at least `threshold` of either
-- cluster, counting only ids that are in both runs; a link counts for a cluster if they also make
-- up at least min_share of it. noise is the value of cluster that marks noise in both runs;
-- noise_as counts its rows as one 'cluster', leaves them out ('drop') or counts them as
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
  __ce_cells AS MATERIALIZED (SELECT * FROM clustereval._paired_cells(__ce_ids, noise, noise_as)),
  __ce_overlap_rows AS (SELECT * FROM clustereval._cluster_overlaps(__ce_cells, threshold))
  SELECT
    partition_key,
    old AS cluster_before,
    new AS cluster_after,
    transition,
    ambiguity,
    CAST(n_before AS BIGINT) AS n_before,
    CAST(n_after AS BIGINT) AS n_after,
    CAST(n AS BIGINT) AS n_common,
    CAST(n_left AS BIGINT) AS n_left,
    CAST(n_joined AS BIGINT) AS n_joined,
    n_old AS n_clusters_before,
    n_new AS n_clusters_after,
    share_before,
    share_after
  FROM clustereval._transition_sides(__ce_cells, __ce_overlap_rows, threshold, min_share)
  WHERE clustereval._check_options(
      clustereval._valid_transition_options(noise, noise_as, threshold, min_share)
    )
  ORDER BY
    partition_key ASC NULLS LAST, old ASC NULLS LAST, new ASC NULLS FIRST;

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
  __ce_cells AS MATERIALIZED (SELECT * FROM clustereval._paired_cells(__ce_ids, noise, noise_as))
  SELECT
    partition_key,
    old AS cluster_before,
    new AS cluster_after,
    n_before,
    n_after,
    n AS n_common,
    share_before,
    share_after,
    clustereval._ratio(n, stayed_before + stayed_after - n) AS jaccard,
    is_link
  FROM clustereval._cluster_overlaps(__ce_cells, threshold)
  WHERE clustereval._check_options(
      clustereval._valid_transition_options(noise, noise_as, threshold, 0)
    )
  ORDER BY
    partition_key ASC NULLS LAST, old ASC NULLS LAST, new ASC NULLS LAST;

-- Ids that have moved, left or joined, one row per id: partition_key, id, cluster_before and
-- cluster_after. An id has moved if its clusters are not linked (see run_transitions, which has the
-- same parameters). cluster_after is NULL for an id that has left, and cluster_before is NULL for
-- an id that has joined.
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
  __ce_cells AS MATERIALIZED (SELECT * FROM clustereval._paired_cells(__ce_ids, noise, noise_as)),
  -- Pairs of clusters between which ids have moved, left or joined.
  __ce_moves AS (
    SELECT
      cell.partition_key, cell.before, cell.after,
      MAX(CASE WHEN cell.in_before THEN cell.before END) AS cluster_before,
      MAX(CASE WHEN cell.in_after THEN cell.after END) AS cluster_after
    FROM __ce_cells AS cell
    LEFT JOIN clustereval._cluster_overlaps(__ce_cells, threshold) AS overlap
      ON overlap.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND overlap.old = cell.old
      AND overlap.new = cell.new
    WHERE cell.in_before <> cell.in_after
      OR clustereval._has_moved(cell.in_before, cell.in_after, cell.old, cell.new, overlap.is_link)
    GROUP BY cell.partition_key, cell.before, cell.after
  )
  SELECT
    ids.partition_key,
    ids.id,
    moves.cluster_before,
    moves.cluster_after
  FROM __ce_ids AS ids
  JOIN __ce_moves AS moves
    ON moves.partition_key IS NOT DISTINCT FROM ids.partition_key
    AND moves.before IS NOT DISTINCT FROM ids.before
    AND moves.after IS NOT DISTINCT FROM ids.after
  WHERE clustereval._check_options(
      clustereval._valid_transition_options(noise, noise_as, threshold, 0)
    )
  ORDER BY ids.partition_key ASC NULLS LAST, ids.id ASC NULLS LAST;

-- The cells of ids in either run with n_before and n_after, the ids of their clusters; n_common,
-- those that the clusters have in common; and is_affected, whether the companions of the cell's ids
-- have changed. A singleton has no row among the clusters, and no companions, because its cluster,
-- and everything that it has in common with another cluster, is the id itself. The same is true of
-- what an id that is in only one run has in common.
CREATE OR REPLACE MACRO clustereval._companion_counts(cells) AS TABLE
  WITH sizes AS (
    SELECT
      cell.partition_key, cell.before, cell.after, cell.in_before, cell.in_after, cell.n,
      COALESCE(old.n_before, 1) AS n_before,
      COALESCE(new.n_after, 1) AS n_after,
      CASE
        WHEN cell.in_before AND cell.in_after
          AND cell.old IS NOT NULL AND cell.new IS NOT NULL
        THEN cell.n
        ELSE 1
      END AS n_common
    FROM query_table(cells) AS cell
    LEFT JOIN clustereval._old_clusters(cells) AS old
      ON old.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND old.old = cell.old
    LEFT JOIN clustereval._new_clusters(cells) AS new
      ON new.partition_key IS NOT DISTINCT FROM cell.partition_key
      AND new.new = cell.new
    WHERE cell.in_before OR cell.in_after
  )
  SELECT
    *, in_before <> in_after OR n_before <> n_common OR n_after <> n_common AS is_affected
  FROM sizes;

-- Ids whose companions, the other ids of their cluster, have changed, one row per id:
-- partition_key, id, cluster_before and cluster_after as in moved_ids, and n_kept, n_lost and
-- n_gained, the companions in both runs, in the run before only, and in the run after only. An id
-- that has left has lost all its companions, and an id that has joined has gained all its
-- companions. The parameters are those of run_transitions.
-- Examples:
--   FROM clustereval.affected_ids(night_1, night_2, id, cluster) WHERE n_lost > 0;
CREATE OR REPLACE MACRO clustereval.affected_ids(
  tbl_before, tbl_after, id, cluster, partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  WITH __ce_ids AS MATERIALIZED (
    SELECT *
    FROM clustereval._paired_ids(tbl_before, tbl_after, id, cluster, partition_by, noise)
  ),
  __ce_cells AS MATERIALIZED (SELECT * FROM clustereval._paired_cells(__ce_ids, noise, noise_as)),
  -- Clusters of ids whose companions have changed, with the numbers of companions.
  __ce_changes AS (
    SELECT
      partition_key, before, after,
      MAX(CASE WHEN in_before THEN before END) AS cluster_before,
      MAX(CASE WHEN in_after THEN after END) AS cluster_after,
      MAX(n_common - 1) AS n_kept,
      MAX(CASE WHEN in_before THEN n_before - n_common ELSE 0 END) AS n_lost,
      MAX(CASE WHEN in_after THEN n_after - n_common ELSE 0 END) AS n_gained
    FROM clustereval._companion_counts(__ce_cells)
    WHERE is_affected
    GROUP BY partition_key, before, after
  )
  SELECT
    ids.partition_key,
    ids.id,
    changes.cluster_before,
    changes.cluster_after,
    CAST(changes.n_kept AS BIGINT) AS n_kept,
    CAST(changes.n_lost AS BIGINT) AS n_lost,
    CAST(changes.n_gained AS BIGINT) AS n_gained
  FROM __ce_ids AS ids
  JOIN __ce_changes AS changes
    ON changes.partition_key IS NOT DISTINCT FROM ids.partition_key
    AND changes.before IS NOT DISTINCT FROM ids.before
    AND changes.after IS NOT DISTINCT FROM ids.after
  WHERE clustereval._check_options(clustereval._valid_transition_options(noise, noise_as, 1, 0))
  ORDER BY ids.partition_key ASC NULLS LAST, ids.id ASC NULLS LAST;
