-- covers: labels and clusters that may overlap, because an id may have several of them.
--
--   * The labels and the clusters are two tables of memberships, with one row per id and label, and
--     one per id and cluster. A membership that is given twice counts once. Rows with a NULL are
--     left out, and counted in n_dropped. Scores are computed from the ids that are in both tables.
--   * A label profile is the set of labels that an id has, and a cluster profile is the set of its
--     clusters. A cell consists of the ids that share both a label profile and a cluster profile.
--     Pairs of ids are counted by cells. Only pairs with a common label or cluster are listed; the
--     number of other pairs follows from the number of all pairs. The cost is the number of
--     memberships, plus the square of the number of profiles with each label and with each cluster,
--     plus the square of the number of cells with each pair of a label and a cluster. If labels and
--     clusters do not overlap, each of these squares is one.

---------------------------------------------------------------------------------------------------
-- Memberships
---------------------------------------------------------------------------------------------------

-- x, any value. Raises an error if the types of the column that `parameter` names differ in the
-- tables of labels and of clusters.
CREATE OR REPLACE MACRO clustereval._check_cover_type(x, parameter, type_1, type_2) AS
  CASE
    WHEN type_1 <> type_2
    THEN error(concat(
      parameter, ': expected the same type in both tables, got ', type_1, ' with the labels and ',
      type_2, ' with the clusters',
      clustereval._type_advice(type_1, type_2)
    ))
    ELSE x
  END;

-- One row, valid = TRUE. Raises an error for a string literal in place of a column, and if id or
-- partition_by has another type in tbl_clusters than in tbl_labels.
CREATE OR REPLACE MACRO clustereval._check_cover_columns(
  tbl_labels, tbl_clusters, id, label, cluster, partition_by
) AS TABLE
  WITH __ce_types_1 AS (
    SELECT
      clustereval._check_columns(
        TRUE,
        [
          clustereval._given_column('id', id),
          clustereval._given_column('label', label),
          clustereval._given_column('partition_by', partition_by)
        ]
      ) AS __ce_valid,
      typeof(any_value(id)) AS __ce_id_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(clustereval._check_table_name(tbl_labels))
    WHERE FALSE
  ),
  __ce_types_2 AS (
    SELECT
      clustereval._check_column(TRUE, 'cluster', cluster) AS __ce_valid,
      typeof(any_value(id)) AS __ce_id_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(clustereval._check_table_name(tbl_clusters))
    WHERE FALSE
  )
  SELECT
    clustereval._check_cover_type(
      clustereval._check_cover_type(
        one.__ce_valid AND two.__ce_valid, 'id', one.__ce_id_type, two.__ce_id_type
      ),
      'partition_by', one.__ce_partition_type, two.__ce_partition_type
    ) AS valid
  FROM __ce_types_1 AS one
  CROSS JOIN __ce_types_2 AS two;

-- One row per membership of a table: partition_key, id, member (the label or cluster) and times,
-- its rows. checked names a CTE of the row of _check_cover_columns.
CREATE OR REPLACE MACRO clustereval._memberships(tbl, id, member, partition_by, checked) AS TABLE
  WITH __ce_rows AS (
    SELECT partition_by AS __ce_partition, id AS __ce_id, member AS __ce_member
    FROM query_table(tbl)
    WHERE (SELECT valid FROM query_table(checked))
  )
  SELECT
    __ce_partition AS partition_key,
    __ce_id AS id,
    __ce_member AS member,
    CAST(COUNT(*) AS BIGINT) AS times
  FROM __ce_rows
  GROUP BY __ce_partition, __ce_id, __ce_member;

-- One row per group of ids with the same labels and clusters: partition_key; the sorted lists
-- label_set and cluster_set, NULL for ids that are not in that table; and n, the number of ids.
-- labels, clusters: rows of _memberships.
CREATE OR REPLACE MACRO clustereval._cover_groups(labels, clusters) AS TABLE
  WITH sets AS (
    SELECT
      partition_key,
      id,
      list_sort(list(member), 'ASC', 'NULLS LAST') AS label_set,
      NULL AS cluster_set
    FROM query_table(labels)
    WHERE id IS NOT NULL AND member IS NOT NULL
    GROUP BY partition_key, id
    UNION ALL
    SELECT
      partition_key, id, NULL, list_sort(list(member), 'ASC', 'NULLS LAST')
    FROM query_table(clusters)
    WHERE id IS NOT NULL AND member IS NOT NULL
    GROUP BY partition_key, id
  ),
  ids AS (
    SELECT
      partition_key,
      any_value(label_set) AS label_set,
      any_value(cluster_set) AS cluster_set
    FROM sets
    GROUP BY partition_key, id
  )
  SELECT partition_key, label_set, cluster_set, CAST(COUNT(*) AS BIGINT) AS n
  FROM ids
  GROUP BY partition_key, label_set, cluster_set;

-- One row per cell: the columns of _cover_groups, and the numbers of the cell and of its profiles,
-- cell, label_profile and cluster_profile, which differ between partitions.
CREATE OR REPLACE MACRO clustereval._cover_cells(groups) AS TABLE
  SELECT
    *,
    row_number() OVER () AS cell,
    dense_rank() OVER (
      ORDER BY partition_key ASC NULLS LAST, label_set ASC NULLS LAST
    ) AS label_profile,
    dense_rank() OVER (
      ORDER BY partition_key ASC NULLS LAST, cluster_set ASC NULLS LAST
    ) AS cluster_profile
  FROM query_table(groups)
  WHERE label_set IS NOT NULL AND cluster_set IS NOT NULL;

-- One row per partition of either table: n, the ids in both tables; n_only_labels and
-- n_only_clusters, in one of them; and n_dropped rows with a NULL. Without partition_by there is
-- always a row. tbl_labels may be a table of any rows.
CREATE OR REPLACE MACRO clustereval._cover_counts(
  tbl_labels, groups, labels, clusters, partition_by
) AS TABLE
  WITH __ce_terms AS (
    SELECT
      partition_key,
      CASE
        WHEN label_set IS NOT NULL AND cluster_set IS NOT NULL THEN n ELSE 0
      END AS n,
      CASE WHEN cluster_set IS NULL THEN n ELSE 0 END AS n_only_labels,
      CASE WHEN label_set IS NULL THEN n ELSE 0 END AS n_only_clusters,
      0 AS n_dropped
    FROM query_table(groups)
    UNION ALL
    SELECT partition_key, 0, 0, 0, times
    FROM query_table(labels)
    WHERE id IS NULL OR member IS NULL
    UNION ALL
    SELECT partition_key, 0, 0, 0, times
    FROM query_table(clusters)
    WHERE id IS NULL OR member IS NULL
    UNION ALL
    SELECT NULL, 0, 0, 0, 0
    FROM query_table(tbl_labels)
    WHERE FALSE
    HAVING clustereval._is_absent(partition_by)
  )
  SELECT
    partition_key,
    CAST(SUM(n) AS BIGINT) AS n,
    CAST(SUM(n_only_labels) AS BIGINT) AS n_only_labels,
    CAST(SUM(n_only_clusters) AS BIGINT) AS n_only_clusters,
    CAST(SUM(n_dropped) AS BIGINT) AS n_dropped
  FROM __ce_terms
  GROUP BY partition_key;

---------------------------------------------------------------------------------------------------
-- Pairs of ids
---------------------------------------------------------------------------------------------------

-- One row per profile and member: partition_key, profile, member and n, the ids of the profile. The
-- parameters profile and members name columns of cells.
CREATE OR REPLACE MACRO clustereval._profile_members(cells, profile, members) AS TABLE
  WITH profiles AS (
    SELECT
      partition_key,
      profile AS profile,
      members AS members,
      CAST(SUM(n) AS BIGINT) AS n
    FROM query_table(cells)
    GROUP BY ALL
  )
  SELECT partition_key, profiles.profile, unnest(profiles.members) AS member, n
  FROM profiles;

-- One row per ordered pair of profiles, equal ones included, that have a common member:
-- partition_key, profile_1, profile_2, n_1, n_2 and shared, the number of common members.
-- size_check: a row with the column fits, which raises an error before the join.
CREATE OR REPLACE MACRO clustereval._profile_pairs(members, size_check) AS TABLE
  WITH joined AS MATERIALIZED (
    SELECT *
    FROM query_table(members)
    WHERE (SELECT fits FROM query_table(size_check))
  )
  SELECT
    one.partition_key,
    one.profile AS profile_1,
    two.profile AS profile_2,
    one.n AS n_1,
    two.n AS n_2,
    COUNT(*) AS shared
  FROM joined AS one
  JOIN joined AS two
    ON two.partition_key IS NOT DISTINCT FROM one.partition_key
    AND two.member = one.member
  GROUP BY
    one.partition_key, one.profile, two.profile, one.n, two.n;

-- One row per cell, label and cluster of it: partition_key, cell, label_profile, cluster_profile,
-- n, label and cluster.
CREATE OR REPLACE MACRO clustereval._cell_members(cells) AS TABLE
  WITH with_labels AS (
    SELECT
      partition_key, cell, label_profile, cluster_profile, n,
      cluster_set, unnest(label_set) AS label
    FROM query_table(cells)
  )
  SELECT
    partition_key, cell, label_profile, cluster_profile, n,
    label, unnest(cluster_set) AS cluster
  FROM with_labels;

-- One row per ordered pair of cells, equal ones included, that have a common label and a common
-- cluster: partition_key, cell_1, cell_2, label_profile_1, cluster_profile_1, n_1, n_2, and
-- shared_labels and shared_clusters, whose product is the number of common pairs of a label and a
-- cluster.
CREATE OR REPLACE MACRO clustereval._cell_pairs(cell_members, label_pairs, size_check) AS TABLE
  WITH joined AS MATERIALIZED (
    SELECT *
    FROM query_table(cell_members)
    WHERE (SELECT fits FROM query_table(size_check))
  ),
  products AS (
    SELECT
      one.partition_key,
      one.cell AS cell_1,
      two.cell AS cell_2,
      one.label_profile AS label_profile_1,
      two.label_profile AS label_profile_2,
      one.cluster_profile AS cluster_profile_1,
      one.n AS n_1,
      two.n AS n_2,
      COUNT(*) AS product
    FROM joined AS one
    JOIN joined AS two
      ON two.partition_key IS NOT DISTINCT FROM one.partition_key
      AND two.label = one.label
      AND two.cluster = one.cluster
    GROUP BY ALL
  )
  SELECT
    pair.* EXCLUDE (product),
    shared.shared AS shared_labels,
    pair.product // shared.shared AS shared_clusters
  FROM products AS pair
  JOIN query_table(label_pairs) AS shared
    ON shared.profile_1 = pair.label_profile_1
    AND shared.profile_2 = pair.label_profile_2;

---------------------------------------------------------------------------------------------------
-- Pairs of a label and a cluster
---------------------------------------------------------------------------------------------------

-- One row per label or cluster: partition_key, member, size (its ids) and n, those of the
-- partition.
CREATE OR REPLACE MACRO clustereval._cover_sizes(members, counts) AS TABLE
  WITH sizes AS (
    SELECT partition_key, member, CAST(SUM(n) AS BIGINT) AS size
    FROM query_table(members)
    GROUP BY partition_key, member
  )
  SELECT sizes.*, base.n
  FROM sizes
  JOIN query_table(counts) AS base ON base.partition_key IS NOT DISTINCT FROM sizes.partition_key;

-- Pairs of a label and a cluster: partition_key, label, cluster, shared (common ids), label_size,
-- cluster_size and n, the ids of the partition. Pairs without common ids are left out, unless the
-- label or the cluster has more than half of the ids: only these carry information about a set
-- without a common id. They are fewer than twice the mean number of labels or clusters of an id.
CREATE OR REPLACE MACRO clustereval._cover_pairs(cell_members, label_sizes, cluster_sizes) AS TABLE
  WITH terms AS (
    SELECT partition_key, label, cluster, n AS shared
    FROM query_table(cell_members)
    UNION ALL
    SELECT large.partition_key, large.member, other.member, 0
    FROM query_table(label_sizes) AS large
    JOIN query_table(cluster_sizes) AS other
      ON other.partition_key IS NOT DISTINCT FROM large.partition_key
    WHERE 2 * large.size > large.n
    UNION ALL
    SELECT large.partition_key, other.member, large.member, 0
    FROM query_table(cluster_sizes) AS large
    JOIN query_table(label_sizes) AS other
      ON other.partition_key IS NOT DISTINCT FROM large.partition_key
    WHERE 2 * large.size > large.n
  ),
  sums AS (
    SELECT
      partition_key, label, cluster, CAST(SUM(shared) AS BIGINT) AS shared
    FROM terms
    GROUP BY partition_key, label, cluster
  )
  SELECT
    pair.*,
    labels.size AS label_size,
    clusters.size AS cluster_size,
    labels.n
  FROM sums AS pair
  JOIN query_table(label_sizes) AS labels
    ON labels.partition_key IS NOT DISTINCT FROM pair.partition_key
    AND labels.member = pair.label
  JOIN query_table(cluster_sizes) AS clusters
    ON clusters.partition_key IS NOT DISTINCT FROM pair.partition_key
    AND clusters.member = pair.cluster;
