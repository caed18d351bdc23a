-- overlapping: scores of clusters against labels where an id may have several of both.
--
--   * Scores of pairs of ids are sums over the pairs of profiles and cells of covers; scores of
--     pairs of a label and a cluster are sums over those of _cover_pairs.

---------------------------------------------------------------------------------------------------
-- Pairs of ids
---------------------------------------------------------------------------------------------------

-- One row per partition and number of shared members above 0: __ce_partition, __ce_shared and
-- __ce_pairs, the ordered pairs of different ids that share so many. __ce_profile_pairs names a CTE
-- of the rows of _profile_pairs.
CREATE OR REPLACE MACRO clustereval._pairs_by_shared(__ce_profile_pairs) AS TABLE
  SELECT
    __ce_partition,
    __ce_shared,
    CAST(SUM(
      clustereval._widen(__ce_n_1)
        * (__ce_n_2 - CASE WHEN __ce_profile_1 = __ce_profile_2 THEN 1 ELSE 0 END)
    ) AS DECIMAL(38, 0)) AS __ce_pairs
  FROM query_table(__ce_profile_pairs)
  GROUP BY __ce_partition, __ce_shared;

-- One row per partition: __ce_partition and __ce_omega, the omega index. Pairs of ids agree if they
-- share as many labels as clusters. The index is 1 - disagreement / expected disagreement; both are
-- sums without cancellation. __ce_counts names a CTE of the rows of _cover_counts,
-- __ce_label_pairs and __ce_cluster_pairs of _profile_pairs, and __ce_cell_pairs of _cell_pairs.
CREATE OR REPLACE MACRO clustereval._omega_indices(
  __ce_counts, __ce_label_pairs, __ce_cluster_pairs, __ce_cell_pairs
) AS TABLE
  WITH __ce_by_labels AS (SELECT * FROM clustereval._pairs_by_shared(__ce_label_pairs)),
  __ce_by_clusters AS (SELECT * FROM clustereval._pairs_by_shared(__ce_cluster_pairs)),
  __ce_by_both AS (
    SELECT
      __ce_partition,
      CAST(SUM(
        clustereval._widen(__ce_n_1)
          * (__ce_n_2 - CASE WHEN __ce_cell_1 = __ce_cell_2 THEN 1 ELSE 0 END)
          * CASE WHEN __ce_shared_labels = __ce_shared_clusters THEN 2 ELSE 1 END
      ) AS DECIMAL(38, 0)) AS __ce_pairs
    FROM query_table(__ce_cell_pairs)
    GROUP BY __ce_partition
  ),
  __ce_label_sums AS (
    SELECT __ce_partition, SUM(__ce_pairs) AS __ce_pairs
    FROM __ce_by_labels
    GROUP BY __ce_partition
  ),
  __ce_cluster_sums AS (
    SELECT __ce_partition, SUM(__ce_pairs) AS __ce_pairs
    FROM __ce_by_clusters
    GROUP BY __ce_partition
  ),
  __ce_totals AS (
    SELECT
      counts.__ce_partition,
      clustereval._count_ordered_pairs(counts.__ce_n) AS __ce_all,
      labels.__ce_pairs AS __ce_with_labels,
      clusters.__ce_pairs AS __ce_with_clusters,
      labels.__ce_pairs + clusters.__ce_pairs - both_.__ce_pairs AS __ce_disagreeing
    FROM query_table(__ce_counts) AS counts
    JOIN __ce_label_sums AS labels
      ON labels.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    JOIN __ce_cluster_sums AS clusters
      ON clusters.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    JOIN __ce_by_both AS both_
      ON both_.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  ),
  -- Expected disagreement: the share of pairs with j shared labels, times that of pairs without j
  -- shared clusters.
  __ce_expected_terms AS (
    SELECT
      __ce_partition,
      clustereval._ratio(__ce_all - __ce_with_labels, __ce_all)
        * clustereval._ratio(__ce_with_clusters, __ce_all) AS __ce_term
    FROM __ce_totals
    UNION ALL
    SELECT
      total.__ce_partition,
      clustereval._ratio(labels.__ce_pairs, total.__ce_all)
        * clustereval._ratio(
          total.__ce_all - COALESCE(clusters.__ce_pairs, CAST(0 AS DECIMAL(38, 0))), total.__ce_all
        )
    FROM __ce_totals AS total
    JOIN __ce_by_labels AS labels
      ON labels.__ce_partition IS NOT DISTINCT FROM total.__ce_partition
    LEFT JOIN __ce_by_clusters AS clusters
      ON clusters.__ce_partition IS NOT DISTINCT FROM labels.__ce_partition
      AND clusters.__ce_shared = labels.__ce_shared
  ),
  __ce_expected AS (
    SELECT __ce_partition, clustereval._compensated_sum(__ce_term) AS __ce_expected
    FROM __ce_expected_terms
    GROUP BY __ce_partition
  )
  SELECT
    total.__ce_partition,
    1.0 - COALESCE(
      clustereval._ratio(total.__ce_disagreeing, total.__ce_all)
        / NULLIF(expected.__ce_expected, 0.0),
      0.0
    ) AS __ce_omega
  FROM __ce_totals AS total
  JOIN __ce_expected AS expected
    ON expected.__ce_partition IS NOT DISTINCT FROM total.__ce_partition;

-- One row per profile: __ce_profile and __ce_n_near, the ids that share a member with it, its own
-- included. __ce_profile_pairs names a CTE of the rows of _profile_pairs.
CREATE OR REPLACE MACRO clustereval._near_ids(__ce_profile_pairs) AS TABLE
  SELECT __ce_profile_1 AS __ce_profile, SUM(__ce_n_2) AS __ce_n_near
  FROM query_table(__ce_profile_pairs)
  GROUP BY __ce_profile_1;

-- One row per partition: __ce_partition, and __ce_precision and __ce_recall, sums over the ids of
-- extended B-cubed precision and recall. The parameters name CTEs as those of _omega_indices.
CREATE OR REPLACE MACRO clustereval._extended_bcubed_sums(
  __ce_label_pairs, __ce_cluster_pairs, __ce_cell_pairs
) AS TABLE
  WITH __ce_near_labels AS (SELECT * FROM clustereval._near_ids(__ce_label_pairs)),
  __ce_near_clusters AS (SELECT * FROM clustereval._near_ids(__ce_cluster_pairs)),
  __ce_sums AS (
    SELECT
      __ce_partition,
      __ce_cell_1,
      __ce_label_profile_1,
      __ce_cluster_profile_1,
      __ce_n_1,
      clustereval._compensated_sum(
        __ce_n_2 * clustereval._ratio(
          LEAST(__ce_shared_labels, __ce_shared_clusters), __ce_shared_clusters
        )
      ) AS __ce_precision,
      clustereval._compensated_sum(
        __ce_n_2 * clustereval._ratio(
          LEAST(__ce_shared_labels, __ce_shared_clusters), __ce_shared_labels
        )
      ) AS __ce_recall
    FROM query_table(__ce_cell_pairs)
    GROUP BY
      __ce_partition, __ce_cell_1, __ce_label_profile_1, __ce_cluster_profile_1, __ce_n_1
  )
  SELECT
    sums.__ce_partition,
    clustereval._compensated_sum(
      sums.__ce_n_1 * clustereval._ratio(sums.__ce_precision, clusters.__ce_n_near)
    ) AS __ce_precision,
    clustereval._compensated_sum(
      sums.__ce_n_1 * clustereval._ratio(sums.__ce_recall, labels.__ce_n_near)
    ) AS __ce_recall
  FROM __ce_sums AS sums
  JOIN __ce_near_labels AS labels ON labels.__ce_profile = sums.__ce_label_profile_1
  JOIN __ce_near_clusters AS clusters ON clusters.__ce_profile = sums.__ce_cluster_profile_1
  GROUP BY sums.__ce_partition;

---------------------------------------------------------------------------------------------------
-- Pairs of a label and a cluster
---------------------------------------------------------------------------------------------------

-- x ln(whole / x) of two counts x <= whole, 0 if x is 0.
CREATE OR REPLACE MACRO clustereval._cover_surprise(x, whole) AS
  x * clustereval._log_ratio(GREATEST(whole, 1), GREATEST(x, 1));

-- n times the entropy of whether an id is in a set of `size` of n ids.
CREATE OR REPLACE MACRO clustereval._membership_entropy(size, n) AS
  clustereval._cover_surprise(size, n) + clustereval._cover_surprise(n - size, n);

-- n times the entropy of whether an id is in a set of `size` ids, given whether it is in another of
-- `given` ids; `shared` of n ids are in both. All terms are >= 0.
CREATE OR REPLACE MACRO clustereval._entropy_given(shared, size, given, n) AS
  clustereval._cover_surprise(shared, given)
  + clustereval._cover_surprise(given - shared, given)
  + clustereval._cover_surprise(size - shared, n - given)
  + clustereval._cover_surprise(n - size - given + shared, n - given);

-- TRUE if two sets may tell of each other: the part of their joint entropy from ids in both or in
-- none is greater than that from ids in one of them. Without this condition of Lancichinetti and
-- others a set would tell all of its complement. The tolerance makes equal numbers equal after
-- rounding.
CREATE OR REPLACE MACRO clustereval._is_informative(shared, size_1, size_2, n) AS
  clustereval._cover_surprise(shared, n)
    + clustereval._cover_surprise(n - size_1 - size_2 + shared, n)
  > (clustereval._cover_surprise(size_1 - shared, n)
    + clustereval._cover_surprise(size_2 - shared, n)) * (1.0 + 1e-12);

-- One row per partition: __ce_partition, __ce_entropy, the sum over labels or clusters of their
-- entropy times n, __ce_left, that of what the best set of the other side leaves of it, __ce_share,
-- the mean of left / entropy, and __ce_n_members. A set of all ids has no entropy: its share is 0
-- if the other side has the same set, otherwise 1. __ce_conditional names a CTE with a row per
-- pair: __ce_partition, __ce_member, __ce_is_same, whether the two sets are the same, __ce_own and
-- __ce_left, NULL unless the pair is informative.
CREATE OR REPLACE MACRO clustereval._sum_entropies(__ce_conditional) AS TABLE
  WITH __ce_best AS (
    SELECT
      __ce_partition,
      __ce_own,
      LEAST(COALESCE(MIN(__ce_left), __ce_own), __ce_own) AS __ce_left,
      CASE WHEN bool_or(__ce_is_same) THEN 0.0 ELSE 1.0 END AS __ce_otherwise
    FROM query_table(__ce_conditional)
    GROUP BY __ce_partition, __ce_member, __ce_own
  )
  SELECT
    __ce_partition,
    COUNT(*) AS __ce_n_members,
    clustereval._compensated_sum(__ce_own) AS __ce_entropy,
    clustereval._compensated_sum(__ce_left) AS __ce_left,
    clustereval._compensated_sum(
      COALESCE(clustereval._ratio(__ce_left, __ce_own), __ce_otherwise)
    ) / COUNT(*) AS __ce_share
  FROM __ce_best
  GROUP BY __ce_partition;

-- One row per partition: __ce_partition, __ce_n_labels, __ce_n_clusters, and __ce_lfk and __ce_mgh,
-- the normalized mutual information of Lancichinetti and others and of McDaid and others.
-- __ce_pairs names a CTE of the rows of _cover_pairs.
CREATE OR REPLACE MACRO clustereval._cover_information(__ce_pairs) AS TABLE
  WITH __ce_flags AS (
    SELECT
      *,
      clustereval._is_informative(__ce_shared, __ce_label_size, __ce_cluster_size, __ce_n)
        AS __ce_is_informative,
      __ce_label_size = __ce_shared AND __ce_cluster_size = __ce_shared AS __ce_is_same
    FROM query_table(__ce_pairs)
  ),
  __ce_of_labels AS (
    SELECT
      __ce_partition,
      __ce_label AS __ce_member,
      __ce_is_same,
      clustereval._membership_entropy(__ce_label_size, __ce_n) AS __ce_own,
      CASE
        WHEN __ce_is_informative
        THEN clustereval._entropy_given(__ce_shared, __ce_label_size, __ce_cluster_size, __ce_n)
      END AS __ce_left
    FROM __ce_flags
  ),
  __ce_of_clusters AS (
    SELECT
      __ce_partition,
      __ce_cluster AS __ce_member,
      __ce_is_same,
      clustereval._membership_entropy(__ce_cluster_size, __ce_n) AS __ce_own,
      CASE
        WHEN __ce_is_informative
        THEN clustereval._entropy_given(__ce_shared, __ce_cluster_size, __ce_label_size, __ce_n)
      END AS __ce_left
    FROM __ce_flags
  ),
  __ce_label_sums AS (SELECT * FROM clustereval._sum_entropies(__ce_of_labels)),
  __ce_cluster_sums AS (SELECT * FROM clustereval._sum_entropies(__ce_of_clusters))
  SELECT
    labels.__ce_partition,
    labels.__ce_n_members AS __ce_n_labels,
    clusters.__ce_n_members AS __ce_n_clusters,
    clustereval._clamp(1.0 - (labels.__ce_share + clusters.__ce_share) / 2.0, 0.0, 1.0)
      AS __ce_lfk,
    CASE
      WHEN labels.__ce_entropy + clusters.__ce_entropy = 0.0 THEN 1.0
      ELSE clustereval._clamp(
        clustereval._ratio(
          labels.__ce_entropy - labels.__ce_left + clusters.__ce_entropy - clusters.__ce_left,
          2.0 * GREATEST(labels.__ce_entropy, clusters.__ce_entropy)
        ),
        0.0, 1.0
      )
    END AS __ce_mgh
  FROM __ce_label_sums AS labels
  JOIN __ce_cluster_sums AS clusters
    ON clusters.__ce_partition IS NOT DISTINCT FROM labels.__ce_partition;

-- One row per partition: __ce_partition, __ce_f1, the mean over clusters of the F1 score of the
-- cluster and the label that has most of its ids, and __ce_n_matched, how many labels are matched
-- so. Of labels with equally many ids the smallest is taken, of these the lowest. __ce_pairs names
-- a CTE of the rows of _cover_pairs.
CREATE OR REPLACE MACRO clustereval._best_matches(__ce_pairs) AS TABLE
  WITH __ce_ranks AS (
    SELECT
      *,
      row_number() OVER (
        PARTITION BY __ce_partition, __ce_cluster
        ORDER BY
          __ce_shared DESC NULLS LAST, __ce_label_size ASC NULLS LAST, __ce_label ASC NULLS LAST
      ) AS __ce_rank
    FROM query_table(__ce_pairs)
  )
  SELECT
    __ce_partition,
    clustereval._compensated_sum(
      clustereval._ratio(2 * __ce_shared, __ce_label_size + __ce_cluster_size)
    ) / COUNT(*) AS __ce_f1,
    COUNT(DISTINCT __ce_label) AS __ce_n_matched
  FROM __ce_ranks
  WHERE __ce_rank = 1
  GROUP BY __ce_partition;

---------------------------------------------------------------------------------------------------
-- Table
---------------------------------------------------------------------------------------------------

-- TRUE if n_pairs, the pairs that joins of profiles and cells make, are at most 20 million, or NULL
-- because there are no ids. Raises an error otherwise: a pair takes about 200 bytes.
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


-- One row, __ce_fits: TRUE, or the error of _check_profile_pairs. The parameters name CTEs of the
-- rows of _profile_members and _cell_members, which are joined with themselves afterwards.
CREATE OR REPLACE MACRO clustereval._check_joins(
  __ce_label_members, __ce_cluster_members, __ce_cell_members
) AS TABLE
  WITH __ce_repetitions AS (
    SELECT COUNT(*) AS __ce_times
    FROM query_table(__ce_label_members)
    GROUP BY __ce_partition, __ce_member
    UNION ALL
    SELECT COUNT(*) FROM query_table(__ce_cluster_members) GROUP BY __ce_partition, __ce_member
    UNION ALL
    SELECT COUNT(*)
    FROM query_table(__ce_cell_members)
    GROUP BY __ce_partition, __ce_label, __ce_cluster
  )
  SELECT
    clustereval._check_profile_pairs(
      CAST(SUM(clustereval._widen(__ce_times) * __ce_times) AS DECIMAL(38, 0))
    ) AS __ce_fits
  FROM __ce_repetitions;

-- Scores of clusters against labels where an id may have several of both, one row per partition:
-- partition_key; n, the ids that are in both tables, which alone count in what follows;
-- n_only_labels and n_only_clusters, those in one; n_dropped rows with a NULL; n_labels and
-- n_clusters; omega_index; overlapping_nmi_lfk and overlapping_nmi_mgh;
-- extended_bcubed_precision, extended_bcubed_recall and extended_bcubed_f_score; best_match_f1, the
-- mean F1 of a cluster and the label that has most of its ids, label_coverage, the share of labels
-- that are such a label, cluster_redundancy, clusters per such label, and nf1, best_match_f1 *
-- label_coverage / cluster_redundancy. tbl_labels has a row per id and label, tbl_clusters one per
-- id and cluster; rows that are there twice count once.
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
  __ce_groups AS MATERIALIZED (
    SELECT * FROM clustereval._cover_groups(__ce_labels, __ce_clusters)
  ),
  __ce_counts AS MATERIALIZED (
    SELECT *
    FROM clustereval._cover_counts(
      tbl_labels, __ce_groups, __ce_labels, __ce_clusters, partition_by
    )
  ),
  __ce_cells AS MATERIALIZED (SELECT * FROM clustereval._cover_cells(__ce_groups)),
  __ce_label_members AS MATERIALIZED (
    SELECT * FROM clustereval._profile_members(__ce_cells, __ce_label_profile, __ce_label_set)
  ),
  __ce_cluster_members AS MATERIALIZED (
    SELECT * FROM clustereval._profile_members(__ce_cells, __ce_cluster_profile, __ce_cluster_set)
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
  __ce_omegas AS (
    SELECT *
    FROM clustereval._omega_indices(
      __ce_counts, __ce_label_pairs, __ce_cluster_pairs, __ce_cell_pairs
    )
  ),
  __ce_bcubed AS (
    SELECT *
    FROM clustereval._extended_bcubed_sums(__ce_label_pairs, __ce_cluster_pairs, __ce_cell_pairs)
  ),
  __ce_information AS (SELECT * FROM clustereval._cover_information(__ce_pairs)),
  __ce_matches AS (SELECT * FROM clustereval._best_matches(__ce_pairs)),
  __ce_scores AS (
    SELECT
      counts.*,
      COALESCE(information.__ce_n_labels, 0) AS __ce_n_labels,
      COALESCE(information.__ce_n_clusters, 0) AS __ce_n_clusters,
      omega.__ce_omega,
      information.__ce_lfk,
      information.__ce_mgh,
      clustereval._ratio(bcubed.__ce_precision, counts.__ce_n) AS __ce_precision,
      clustereval._ratio(bcubed.__ce_recall, counts.__ce_n) AS __ce_recall,
      matches.__ce_f1,
      clustereval._ratio(matches.__ce_n_matched, information.__ce_n_labels) AS __ce_coverage,
      clustereval._ratio(information.__ce_n_clusters, matches.__ce_n_matched) AS __ce_redundancy
    FROM __ce_counts AS counts
    LEFT JOIN __ce_omegas AS omega
      ON omega.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_bcubed AS bcubed
      ON bcubed.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_information AS information
      ON information.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
    LEFT JOIN __ce_matches AS matches
      ON matches.__ce_partition IS NOT DISTINCT FROM counts.__ce_partition
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_n AS n,
    __ce_n_only_labels AS n_only_labels,
    __ce_n_only_clusters AS n_only_clusters,
    __ce_n_dropped AS n_dropped,
    __ce_n_labels AS n_labels,
    __ce_n_clusters AS n_clusters,
    __ce_omega AS omega_index,
    __ce_lfk AS overlapping_nmi_lfk,
    __ce_mgh AS overlapping_nmi_mgh,
    clustereval._at_most_1(__ce_precision) AS extended_bcubed_precision,
    clustereval._at_most_1(__ce_recall) AS extended_bcubed_recall,
    clustereval._at_most_1(
      clustereval._f_score(__ce_precision, __ce_recall, clustereval._check_beta(beta))
    ) AS extended_bcubed_f_score,
    __ce_f1 AS best_match_f1,
    __ce_coverage AS label_coverage,
    __ce_redundancy AS cluster_redundancy,
    __ce_f1 * __ce_coverage / __ce_redundancy AS nf1
  FROM __ce_scores
  ORDER BY __ce_partition ASC NULLS LAST;
