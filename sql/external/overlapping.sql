-- overlapping: scores of clusters against labels if an id may have several of both.
--
--   * Scores of pairs of ids are sums over the pairs of profiles and of cells in covers.sql. Scores
--     of pairs of a label and a cluster are sums over the pairs of _cover_pairs.

---------------------------------------------------------------------------------------------------
-- Pairs of ids
---------------------------------------------------------------------------------------------------

-- One row per partition and number of shared members above 0: partition_key, shared, and pairs, the
-- ordered pairs of different ids that share this number.
CREATE OR REPLACE MACRO clustereval._pairs_by_shared(profile_pairs) AS TABLE
  SELECT
    partition_key,
    shared,
    CAST(SUM(
      clustereval._widen(n_1)
        * (n_2 - CASE WHEN profile_1 = profile_2 THEN 1 ELSE 0 END)
    ) AS DECIMAL(38, 0)) AS pairs
  FROM query_table(profile_pairs)
  GROUP BY partition_key, shared;

-- One row per partition: omega, the omega index. A pair of ids agrees if the ids share equally many
-- labels and clusters. The index is 1 - disagreement / expected disagreement, both sums without
-- cancellation. label_pairs and cluster_pairs: rows of _profile_pairs.
CREATE OR REPLACE MACRO clustereval._omega_indices(
  counts, label_pairs, cluster_pairs, cell_pairs
) AS TABLE
  WITH by_labels AS (SELECT * FROM clustereval._pairs_by_shared(label_pairs)),
  by_clusters AS (SELECT * FROM clustereval._pairs_by_shared(cluster_pairs)),
  by_both AS (
    SELECT
      partition_key,
      CAST(SUM(
        clustereval._widen(n_1)
          * (n_2 - CASE WHEN cell_1 = cell_2 THEN 1 ELSE 0 END)
          * CASE WHEN shared_labels = shared_clusters THEN 2 ELSE 1 END
      ) AS DECIMAL(38, 0)) AS pairs
    FROM query_table(cell_pairs)
    GROUP BY partition_key
  ),
  label_sums AS (
    SELECT partition_key, SUM(pairs) AS pairs
    FROM by_labels
    GROUP BY partition_key
  ),
  cluster_sums AS (
    SELECT partition_key, SUM(pairs) AS pairs
    FROM by_clusters
    GROUP BY partition_key
  ),
  totals AS (
    SELECT
      base.partition_key,
      clustereval._count_ordered_pairs(base.n) AS all_pairs,
      labels.pairs AS with_labels,
      clusters.pairs AS with_clusters,
      labels.pairs + clusters.pairs - both_.pairs AS disagreeing
    FROM query_table(counts) AS base
    JOIN label_sums AS labels ON labels.partition_key IS NOT DISTINCT FROM base.partition_key
    JOIN cluster_sums AS clusters ON clusters.partition_key IS NOT DISTINCT FROM base.partition_key
    JOIN by_both AS both_ ON both_.partition_key IS NOT DISTINCT FROM base.partition_key
  ),
  -- Expected disagreement: the share of pairs with j shared labels, times the share of pairs whose
  -- number of shared clusters is not j.
  expected_terms AS (
    SELECT
      partition_key,
      clustereval._ratio(all_pairs - with_labels, all_pairs)
        * clustereval._ratio(with_clusters, all_pairs) AS term
    FROM totals
    UNION ALL
    SELECT
      total.partition_key,
      clustereval._ratio(labels.pairs, total.all_pairs)
        * clustereval._ratio(
          total.all_pairs - COALESCE(clusters.pairs, CAST(0 AS DECIMAL(38, 0))), total.all_pairs
        )
    FROM totals AS total
    JOIN by_labels AS labels ON labels.partition_key IS NOT DISTINCT FROM total.partition_key
    LEFT JOIN by_clusters AS clusters
      ON clusters.partition_key IS NOT DISTINCT FROM labels.partition_key
      AND clusters.shared = labels.shared
  ),
  expected AS (
    SELECT partition_key, clustereval._compensated_sum(term) AS expected
    FROM expected_terms
    GROUP BY partition_key
  )
  SELECT
    total.partition_key,
    1.0 - COALESCE(
      clustereval._ratio(total.disagreeing, total.all_pairs)
        / NULLIF(expected.expected, 0.0),
      0.0
    ) AS omega
  FROM totals AS total
  JOIN expected ON expected.partition_key IS NOT DISTINCT FROM total.partition_key;

-- One row per profile: n_near, the ids that share a member with it, its own included.
CREATE OR REPLACE MACRO clustereval._near_ids(profile_pairs) AS TABLE
  SELECT profile_1 AS profile, SUM(n_2) AS n_near
  FROM query_table(profile_pairs)
  GROUP BY profile_1;

-- One row per partition: precision and recall, sums over the ids of extended B-cubed precision and
-- recall. Parameters as in _omega_indices.
CREATE OR REPLACE MACRO clustereval._extended_bcubed_sums(
  label_pairs, cluster_pairs, cell_pairs
) AS TABLE
  WITH sums AS (
    SELECT
      partition_key,
      cell_1,
      label_profile_1,
      cluster_profile_1,
      n_1,
      clustereval._compensated_sum(
        n_2 * clustereval._ratio(LEAST(shared_labels, shared_clusters), shared_clusters)
      ) AS precision,
      clustereval._compensated_sum(
        n_2 * clustereval._ratio(LEAST(shared_labels, shared_clusters), shared_labels)
      ) AS recall
    FROM query_table(cell_pairs)
    GROUP BY
      partition_key, cell_1, label_profile_1, cluster_profile_1, n_1
  )
  SELECT
    sums.partition_key,
    clustereval._compensated_sum(
      sums.n_1 * clustereval._ratio(sums.precision, clusters.n_near)
    ) AS precision,
    clustereval._compensated_sum(
      sums.n_1 * clustereval._ratio(sums.recall, labels.n_near)
    ) AS recall
  FROM sums
  JOIN clustereval._near_ids(label_pairs) AS labels ON labels.profile = sums.label_profile_1
  JOIN clustereval._near_ids(cluster_pairs) AS clusters ON clusters.profile = sums.cluster_profile_1
  GROUP BY sums.partition_key;

---------------------------------------------------------------------------------------------------
-- Pairs of a label and a cluster
---------------------------------------------------------------------------------------------------

-- x ln(whole / x) of two counts x <= whole, 0 if x is 0.
CREATE OR REPLACE MACRO clustereval._cover_surprise(x, whole) AS
  x * clustereval._log_ratio(GREATEST(whole, 1), GREATEST(x, 1));

-- n times the entropy of whether an id is in a set of `size` of n ids.
CREATE OR REPLACE MACRO clustereval._membership_entropy(size, n) AS
  clustereval._cover_surprise(size, n) + clustereval._cover_surprise(n - size, n);

-- n times the entropy of whether an id is in a set of `size` ids, given whether it is in another
-- set of `given` ids, where `shared` of n ids are in both sets. All terms are >= 0.
CREATE OR REPLACE MACRO clustereval._entropy_given(shared, size, given, n) AS
  clustereval._cover_surprise(shared, given)
  + clustereval._cover_surprise(given - shared, given)
  + clustereval._cover_surprise(size - shared, n - given)
  + clustereval._cover_surprise(n - size - given + shared, n - given);

-- TRUE if two sets may carry information about each other: the part of their joint entropy from ids
-- in both sets or in none is larger than that from ids in one set. Without this condition of
-- Lancichinetti et al., a set would carry all information about its complement. The tolerance makes
-- equal numbers equal after rounding.
CREATE OR REPLACE MACRO clustereval._is_informative(shared, size_1, size_2, n) AS
  clustereval._cover_surprise(shared, n)
    + clustereval._cover_surprise(n - size_1 - size_2 + shared, n)
  > (clustereval._cover_surprise(size_1 - shared, n)
    + clustereval._cover_surprise(size_2 - shared, n)) * (1.0 + 1e-12);

-- One row per partition: entropy, the sum over labels or clusters of their entropy times n;
-- left_over, the sum of what the best set of the other side leaves of it; share, the mean of
-- left_over / entropy; and n_members. A set of all ids has no entropy: its share is 0 if the other
-- side has the same set, otherwise 1. flags: rows of _cover_pairs with is_same and is_informative;
-- member, size and other_size name the columns of a side.
CREATE OR REPLACE MACRO clustereval._sum_entropies(flags, member, size, other_size) AS TABLE
  WITH conditional AS (
    SELECT
      partition_key,
      member AS member,
      is_same,
      clustereval._membership_entropy(size, n) AS own,
      CASE
        WHEN is_informative THEN clustereval._entropy_given(shared, size, other_size, n)
      END AS left_over
    FROM query_table(flags)
  ),
  best AS (
    SELECT
      partition_key,
      own,
      LEAST(COALESCE(MIN(left_over), own), own) AS left_over,
      CASE WHEN bool_or(is_same) THEN 0.0 ELSE 1.0 END AS otherwise
    FROM conditional AS pair
    GROUP BY partition_key, pair.member, own
  )
  SELECT
    partition_key,
    COUNT(*) AS n_members,
    clustereval._compensated_sum(own) AS entropy,
    clustereval._compensated_sum(left_over) AS left_over,
    clustereval._compensated_sum(
      COALESCE(clustereval._ratio(left_over, own), otherwise)
    ) / COUNT(*) AS share
  FROM best
  GROUP BY partition_key;

-- One row per partition: n_labels, n_clusters, and lfk and mgh, the normalized mutual information
-- of Lancichinetti et al. and of McDaid et al. pairs: rows of _cover_pairs.
CREATE OR REPLACE MACRO clustereval._cover_information(pairs) AS TABLE
  WITH flags AS (
    SELECT
      *,
      clustereval._is_informative(shared, label_size, cluster_size, n) AS is_informative,
      label_size = shared AND cluster_size = shared AS is_same
    FROM query_table(pairs)
  )
  SELECT
    labels.partition_key,
    labels.n_members AS n_labels,
    clusters.n_members AS n_clusters,
    clustereval._clamp(1.0 - (labels.share + clusters.share) / 2.0, 0.0, 1.0) AS lfk,
    CASE
      WHEN labels.entropy + clusters.entropy = 0.0 THEN 1.0
      ELSE clustereval._clamp(
        clustereval._ratio(
          labels.entropy - labels.left_over + clusters.entropy - clusters.left_over,
          2.0 * GREATEST(labels.entropy, clusters.entropy)
        ),
        0.0, 1.0
      )
    END AS mgh
  FROM clustereval._sum_entropies(flags, label, label_size, cluster_size) AS labels
  JOIN clustereval._sum_entropies(flags, cluster, cluster_size, label_size) AS clusters
    ON clusters.partition_key IS NOT DISTINCT FROM labels.partition_key;

-- One row per partition: f1, the mean over clusters of the F1 score of the cluster and the label
-- that has most of its ids (in a tie the smallest, then the lowest label); and n_matched, the
-- number of these labels. pairs: rows of _cover_pairs.
CREATE OR REPLACE MACRO clustereval._best_matches(pairs) AS TABLE
  WITH ranks AS (
    SELECT
      *,
      row_number() OVER (
        PARTITION BY partition_key, cluster
        ORDER BY
          shared DESC NULLS LAST, label_size ASC NULLS LAST, label ASC NULLS LAST
      ) AS rank
    FROM query_table(pairs)
  )
  SELECT
    partition_key,
    clustereval._compensated_sum(
      clustereval._ratio(2 * shared, label_size + cluster_size)
    ) / COUNT(*) AS f1,
    COUNT(DISTINCT label) AS n_matched
  FROM ranks
  WHERE rank = 1
  GROUP BY partition_key;

---------------------------------------------------------------------------------------------------
-- Table
---------------------------------------------------------------------------------------------------

-- TRUE, or an error if joins of profiles and cells produce more than 20 million pairs, of about 200
-- bytes each. n_pairs is NULL without ids.
CREATE OR REPLACE MACRO clustereval._check_profile_pairs(n_pairs) AS
  CASE
    WHEN n_pairs > 20000000
    THEN error(concat(
      'id: expected at most 20000000 pairs of sets of labels or clusters that have a member in '
      'common, got ', n_pairs, ' (about ', CAST(n_pairs AS HUGEINT) // 5000 + 1, ' MB); '
      'take a sample of the ids, or leave out labels and clusters that most ids have'
    ))
    ELSE TRUE
  END;


-- One row: fits, which is TRUE. Raises the error of _check_profile_pairs.
CREATE OR REPLACE MACRO clustereval._check_joins(
  label_members, cluster_members, cell_members
) AS TABLE
  WITH repetitions AS (
    SELECT COUNT(*) AS times
    FROM query_table(label_members)
    GROUP BY partition_key, member
    UNION ALL
    SELECT COUNT(*) FROM query_table(cluster_members) GROUP BY partition_key, member
    UNION ALL
    SELECT COUNT(*)
    FROM query_table(cell_members)
    GROUP BY partition_key, label, cluster
  )
  SELECT
    clustereval._check_profile_pairs(
      CAST(SUM(clustereval._widen(times) * times) AS DECIMAL(38, 0))
    ) AS fits
  FROM repetitions;

-- Scores of clusters against labels if an id may have several of both, one row per partition:
-- partition_key; n, the number of ids that are in both tables, which are the only ids in all
-- scores; n_only_labels and n_only_clusters, the numbers of ids in only one table; n_dropped rows
-- with a NULL; n_labels and n_clusters; omega_index; overlapping_nmi_lfk and overlapping_nmi_mgh;
-- extended_bcubed_precision, extended_bcubed_recall and extended_bcubed_f_score; best_match_f1, the
-- mean F1 of a cluster and the label that has most of its ids; label_coverage, the share of the
-- labels that are matched in this way; cluster_redundancy, the number of clusters per matched
-- label; and nf1, best_match_f1 * label_coverage / cluster_redundancy. tbl_labels has a row per id
-- and label, and tbl_clusters has a row per id and cluster. Rows that occur twice count once.
-- Examples:
--   FROM clustereval.overlapping_report(topics, communities, id, label, cluster);
CREATE OR REPLACE MACRO clustereval.overlapping_report(
  tbl_labels, tbl_clusters, id, label, cluster, partition_by := NULL, beta := 1.0
) AS TABLE
  WITH __ce_checked AS (
    SELECT *
    FROM clustereval._check_cover_columns(
      tbl_labels, tbl_clusters, id, label, cluster, partition_by
    )
  ),
  __ce_labels AS MATERIALIZED (
    SELECT * FROM clustereval._memberships(tbl_labels, id, label, partition_by, __ce_checked)
  ),
  __ce_clusters AS MATERIALIZED (
    SELECT * FROM clustereval._memberships(tbl_clusters, id, cluster, partition_by, __ce_checked)
  ),
  __ce_groups AS MATERIALIZED (SELECT * FROM clustereval._cover_groups(__ce_labels, __ce_clusters)),
  __ce_counts AS MATERIALIZED (
    SELECT *
    FROM clustereval._cover_counts(
      tbl_labels, __ce_groups, __ce_labels, __ce_clusters, partition_by
    )
  ),
  __ce_cells AS MATERIALIZED (SELECT * FROM clustereval._cover_cells(__ce_groups)),
  __ce_label_members AS MATERIALIZED (
    SELECT * FROM clustereval._profile_members(__ce_cells, label_profile, label_set)
  ),
  __ce_cluster_members AS MATERIALIZED (
    SELECT * FROM clustereval._profile_members(__ce_cells, cluster_profile, cluster_set)
  ),
  __ce_cell_members AS MATERIALIZED (SELECT * FROM clustereval._cell_members(__ce_cells)),
  __ce_size_check AS MATERIALIZED (
    SELECT *
    FROM clustereval._check_joins(__ce_label_members, __ce_cluster_members, __ce_cell_members)
  ),
  __ce_label_pairs AS MATERIALIZED (
    SELECT * FROM clustereval._profile_pairs(__ce_label_members, __ce_size_check)
  ),
  __ce_cluster_pairs AS MATERIALIZED (
    SELECT * FROM clustereval._profile_pairs(__ce_cluster_members, __ce_size_check)
  ),
  __ce_cell_pairs AS MATERIALIZED (
    SELECT *
    FROM clustereval._cell_pairs(__ce_cell_members, __ce_label_pairs, __ce_size_check)
  ),
  __ce_label_sizes AS MATERIALIZED (
    SELECT * FROM clustereval._cover_sizes(__ce_label_members, __ce_counts)
  ),
  __ce_cluster_sizes AS MATERIALIZED (
    SELECT * FROM clustereval._cover_sizes(__ce_cluster_members, __ce_counts)
  ),
  __ce_pairs AS MATERIALIZED (
    SELECT *
    FROM clustereval._cover_pairs(__ce_cell_members, __ce_label_sizes, __ce_cluster_sizes)
  ),
  __ce_scores AS (
    SELECT
      counts.*,
      COALESCE(information.n_labels, 0) AS n_labels,
      COALESCE(information.n_clusters, 0) AS n_clusters,
      omega.omega,
      information.lfk,
      information.mgh,
      clustereval._ratio(bcubed.precision, counts.n) AS precision,
      clustereval._ratio(bcubed.recall, counts.n) AS recall,
      matches.f1,
      clustereval._ratio(matches.n_matched, information.n_labels) AS coverage,
      clustereval._ratio(information.n_clusters, matches.n_matched) AS redundancy
    FROM __ce_counts AS counts
    LEFT JOIN clustereval._omega_indices(
      __ce_counts, __ce_label_pairs, __ce_cluster_pairs, __ce_cell_pairs
    ) AS omega
      ON omega.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._extended_bcubed_sums(
      __ce_label_pairs, __ce_cluster_pairs, __ce_cell_pairs
    ) AS bcubed
      ON bcubed.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._cover_information(__ce_pairs) AS information
      ON information.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN clustereval._best_matches(__ce_pairs) AS matches
      ON matches.partition_key IS NOT DISTINCT FROM counts.partition_key
  )
  SELECT
    partition_key,
    n,
    n_only_labels,
    n_only_clusters,
    n_dropped,
    n_labels,
    n_clusters,
    omega AS omega_index,
    lfk AS overlapping_nmi_lfk,
    mgh AS overlapping_nmi_mgh,
    clustereval._at_most_1(precision) AS extended_bcubed_precision,
    clustereval._at_most_1(recall) AS extended_bcubed_recall,
    clustereval._at_most_1(
      clustereval._f_score(precision, recall, clustereval._check_beta(beta))
    ) AS extended_bcubed_f_score,
    f1 AS best_match_f1,
    coverage AS label_coverage,
    redundancy AS cluster_redundancy,
    f1 * coverage / redundancy AS nf1
  FROM __ce_scores
  ORDER BY partition_key ASC NULLS LAST;
