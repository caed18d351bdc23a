-- covers: labels and clusters of which an id may have several.
--
--   * The labels and the clusters are two tables of memberships, with one row per id and label, and
--     one per id and cluster. A membership that is given twice counts once. Rows with a NULL are
--     left out, and counted in n_dropped. Scores are of the ids that are in both tables.
--   * A label profile is the set of labels that an id has, a cluster profile the set of clusters. A
--     cell is the ids of one label profile and one cluster profile. Pairs of ids are counted by
--     cells, and only pairs with a common label or cluster are listed; the others are what is left
--     of all pairs. The cost is the memberships, plus for each label, and each cluster, the square
--     of the number of profiles that have it, and for each pair of a label and a cluster the square
--     of the number of cells that have both: one for labels and clusters that do not overlap.

---------------------------------------------------------------------------------------------------
-- Memberships
---------------------------------------------------------------------------------------------------

-- x, any value, passed through unless a check fails. Raises an error if the types of the column
-- that the argument `parameter` names, as text, differ in the tables of labels and of clusters.
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

-- One row, __ce_valid = TRUE. Raises an error for a string literal in place of a column, and if id
-- or partition_by has another type in tbl_clusters than in tbl_labels. The parameters are the
-- user's arguments.
CREATE OR REPLACE MACRO clustereval._check_cover_columns(
  tbl_labels, tbl_clusters, id, label, cluster, partition_by
) AS TABLE
  WITH __ce_types_1 AS (
    SELECT
      clustereval._check_column(
        clustereval._check_column(
          clustereval._check_column(TRUE, 'partition_by', partition_by), 'label', label
        ),
        'id', id
      ) AS __ce_valid,
      typeof(any_value(id)) AS __ce_id_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(tbl_labels)
    WHERE FALSE
  ),
  __ce_types_2 AS (
    SELECT
      clustereval._check_column(TRUE, 'cluster', cluster) AS __ce_valid,
      typeof(any_value(id)) AS __ce_id_type,
      typeof(any_value(partition_by)) AS __ce_partition_type
    FROM query_table(tbl_clusters)
    WHERE FALSE
  )
  SELECT
    clustereval._check_cover_type(
      clustereval._check_cover_type(
        one.__ce_valid AND two.__ce_valid, 'id', one.__ce_id_type, two.__ce_id_type
      ),
      'partition_by', one.__ce_partition_type, two.__ce_partition_type
    ) AS __ce_valid
  FROM __ce_types_1 AS one
  CROSS JOIN __ce_types_2 AS two;

-- One row per membership of a table: __ce_partition, __ce_id, __ce_member, the label or cluster,
-- and __ce_times, how many rows have it. `member` is the user's label or cluster; the other
-- arguments are the user's of these names. __ce_checked names a CTE of the row of
-- _check_cover_columns.
CREATE OR REPLACE MACRO clustereval._memberships(
  tbl, id, member, partition_by, __ce_checked
) AS TABLE
  WITH __ce_rows AS (
    SELECT partition_by AS __ce_partition, id AS __ce_id, member AS __ce_member
    FROM query_table(tbl)
    WHERE (SELECT __ce_valid FROM query_table(__ce_checked))
  )
  SELECT __ce_partition, __ce_id, __ce_member, CAST(COUNT(*) AS BIGINT) AS __ce_times
  FROM __ce_rows
  GROUP BY __ce_partition, __ce_id, __ce_member;

-- Ids of the same labels and clusters: __ce_partition, __ce_label_set and __ce_cluster_set, sorted
-- lists, NULL for ids that are not in that table, and __ce_n, the number of ids. The parameters
-- name CTEs of the rows of _memberships.
CREATE OR REPLACE MACRO clustereval._cover_groups(__ce_labels, __ce_clusters) AS TABLE
  WITH __ce_sets AS (
    SELECT
      __ce_partition,
      __ce_id,
      list_sort(list(__ce_member), 'ASC', 'NULLS LAST') AS __ce_label_set,
      NULL AS __ce_cluster_set
    FROM query_table(__ce_labels)
    WHERE __ce_id IS NOT NULL AND __ce_member IS NOT NULL
    GROUP BY __ce_partition, __ce_id
    UNION ALL
    SELECT
      __ce_partition, __ce_id, NULL, list_sort(list(__ce_member), 'ASC', 'NULLS LAST')
    FROM query_table(__ce_clusters)
    WHERE __ce_id IS NOT NULL AND __ce_member IS NOT NULL
    GROUP BY __ce_partition, __ce_id
  ),
  __ce_ids AS (
    SELECT
      __ce_partition,
      any_value(__ce_label_set) AS __ce_label_set,
      any_value(__ce_cluster_set) AS __ce_cluster_set
    FROM __ce_sets
    GROUP BY __ce_partition, __ce_id
  )
  SELECT __ce_partition, __ce_label_set, __ce_cluster_set, CAST(COUNT(*) AS BIGINT) AS __ce_n
  FROM __ce_ids
  GROUP BY __ce_partition, __ce_label_set, __ce_cluster_set;

-- One row per cell: the columns of _cover_groups, __ce_cell, its number, and __ce_label_profile and
-- __ce_cluster_profile, the numbers of its profiles, which no two partitions share. __ce_groups
-- names a CTE of the rows of _cover_groups.
CREATE OR REPLACE MACRO clustereval._cover_cells(__ce_groups) AS TABLE
  SELECT
    *,
    row_number() OVER () AS __ce_cell,
    dense_rank() OVER (
      ORDER BY __ce_partition ASC NULLS LAST, __ce_label_set ASC NULLS LAST
    ) AS __ce_label_profile,
    dense_rank() OVER (
      ORDER BY __ce_partition ASC NULLS LAST, __ce_cluster_set ASC NULLS LAST
    ) AS __ce_cluster_profile
  FROM query_table(__ce_groups)
  WHERE __ce_label_set IS NOT NULL AND __ce_cluster_set IS NOT NULL;

-- One row per partition of either table: __ce_partition, __ce_n, the ids in both tables,
-- __ce_n_only_labels and __ce_n_only_clusters, those in one, and __ce_n_dropped, the rows with a
-- NULL. Without partition_by there is always a row. The parameters name a table of any rows, and
-- CTEs of the rows of _cover_groups and _memberships; partition_by is the user's argument.
CREATE OR REPLACE MACRO clustereval._cover_counts(
  tbl_labels, __ce_groups, __ce_labels, __ce_clusters, partition_by
) AS TABLE
  WITH __ce_terms AS (
    SELECT
      __ce_partition,
      CASE
        WHEN __ce_label_set IS NOT NULL AND __ce_cluster_set IS NOT NULL THEN __ce_n ELSE 0
      END AS __ce_n,
      CASE WHEN __ce_cluster_set IS NULL THEN __ce_n ELSE 0 END AS __ce_n_only_labels,
      CASE WHEN __ce_label_set IS NULL THEN __ce_n ELSE 0 END AS __ce_n_only_clusters,
      0 AS __ce_n_dropped
    FROM query_table(__ce_groups)
    UNION ALL
    SELECT __ce_partition, 0, 0, 0, __ce_times
    FROM query_table(__ce_labels)
    WHERE __ce_id IS NULL OR __ce_member IS NULL
    UNION ALL
    SELECT __ce_partition, 0, 0, 0, __ce_times
    FROM query_table(__ce_clusters)
    WHERE __ce_id IS NULL OR __ce_member IS NULL
    UNION ALL
    SELECT NULL, 0, 0, 0, 0
    FROM query_table(tbl_labels)
    WHERE FALSE
    HAVING clustereval._is_absent(partition_by)
  )
  SELECT
    __ce_partition,
    CAST(SUM(__ce_n) AS BIGINT) AS __ce_n,
    CAST(SUM(__ce_n_only_labels) AS BIGINT) AS __ce_n_only_labels,
    CAST(SUM(__ce_n_only_clusters) AS BIGINT) AS __ce_n_only_clusters,
    CAST(SUM(__ce_n_dropped) AS BIGINT) AS __ce_n_dropped
  FROM __ce_terms
  GROUP BY __ce_partition;

---------------------------------------------------------------------------------------------------
-- Pairs of ids
---------------------------------------------------------------------------------------------------

-- One row per profile and member: __ce_partition, __ce_profile, __ce_member, the label or cluster,
-- and __ce_n, the ids of the profile. __ce_cells names a CTE of the rows of _cover_cells; profile
-- and members are its columns of the number and the set of a profile.
CREATE OR REPLACE MACRO clustereval._profile_members(__ce_cells, profile, members) AS TABLE
  WITH __ce_profiles AS (
    SELECT
      __ce_partition,
      profile AS __ce_profile,
      members AS __ce_members,
      CAST(SUM(__ce_n) AS BIGINT) AS __ce_n
    FROM query_table(__ce_cells)
    GROUP BY ALL
  )
  SELECT __ce_partition, __ce_profile, unnest(__ce_members) AS __ce_member, __ce_n
  FROM __ce_profiles;

-- One row per ordered pair of profiles that have a common member, a profile and itself included:
-- __ce_partition, __ce_profile_1, __ce_profile_2, __ce_n_1 and __ce_n_2, their ids, and
-- __ce_shared, the number of common members. __ce_members names a CTE of the rows of
-- _profile_members, __ce_size_check one of a column __ce_fits, which raises an error before the
-- join.
CREATE OR REPLACE MACRO clustereval._profile_pairs(__ce_members, __ce_size_check) AS TABLE
  WITH __ce_joined AS MATERIALIZED (
    SELECT *
    FROM query_table(__ce_members)
    WHERE (SELECT __ce_fits FROM query_table(__ce_size_check))
  )
  SELECT
    one.__ce_partition,
    one.__ce_profile AS __ce_profile_1,
    two.__ce_profile AS __ce_profile_2,
    one.__ce_n AS __ce_n_1,
    two.__ce_n AS __ce_n_2,
    COUNT(*) AS __ce_shared
  FROM __ce_joined AS one
  JOIN __ce_joined AS two
    ON two.__ce_partition IS NOT DISTINCT FROM one.__ce_partition
    AND two.__ce_member = one.__ce_member
  GROUP BY
    one.__ce_partition, one.__ce_profile, two.__ce_profile, one.__ce_n, two.__ce_n;

-- One row per cell, label and cluster of it: __ce_partition, __ce_cell, __ce_label_profile,
-- __ce_cluster_profile, __ce_n, __ce_label and __ce_cluster. __ce_cells names a CTE of the rows of
-- _cover_cells.
CREATE OR REPLACE MACRO clustereval._cell_members(__ce_cells) AS TABLE
  WITH __ce_with_labels AS (
    SELECT
      __ce_partition, __ce_cell, __ce_label_profile, __ce_cluster_profile, __ce_n,
      __ce_cluster_set, unnest(__ce_label_set) AS __ce_label
    FROM query_table(__ce_cells)
  )
  SELECT
    __ce_partition, __ce_cell, __ce_label_profile, __ce_cluster_profile, __ce_n,
    __ce_label, unnest(__ce_cluster_set) AS __ce_cluster
  FROM __ce_with_labels;

-- One row per ordered pair of cells that have a common label and a common cluster, a cell and
-- itself included: __ce_partition, __ce_cell_1, __ce_cell_2, __ce_label_profile_1,
-- __ce_cluster_profile_1, __ce_n_1 and __ce_n_2, their ids, and __ce_shared_labels and
-- __ce_shared_clusters, numbers of common ones. The parameters name CTEs of the rows of
-- _cell_members and of _profile_pairs of the labels. Cells are joined by pairs of a label and a
-- cluster, of which they have the product of the two numbers in common.
CREATE OR REPLACE MACRO clustereval._cell_pairs(
  __ce_cell_members, __ce_label_pairs, __ce_size_check
) AS TABLE
  WITH __ce_joined AS MATERIALIZED (
    SELECT *
    FROM query_table(__ce_cell_members)
    WHERE (SELECT __ce_fits FROM query_table(__ce_size_check))
  ),
  __ce_products AS (
    SELECT
      one.__ce_partition,
      one.__ce_cell AS __ce_cell_1,
      two.__ce_cell AS __ce_cell_2,
      one.__ce_label_profile AS __ce_label_profile_1,
      two.__ce_label_profile AS __ce_label_profile_2,
      one.__ce_cluster_profile AS __ce_cluster_profile_1,
      one.__ce_n AS __ce_n_1,
      two.__ce_n AS __ce_n_2,
      COUNT(*) AS __ce_product
    FROM __ce_joined AS one
    JOIN __ce_joined AS two
      ON two.__ce_partition IS NOT DISTINCT FROM one.__ce_partition
      AND two.__ce_label = one.__ce_label
      AND two.__ce_cluster = one.__ce_cluster
    GROUP BY ALL
  )
  SELECT
    pair.* EXCLUDE (__ce_product),
    shared.__ce_shared AS __ce_shared_labels,
    pair.__ce_product // shared.__ce_shared AS __ce_shared_clusters
  FROM __ce_products AS pair
  JOIN query_table(__ce_label_pairs) AS shared
    ON shared.__ce_profile_1 = pair.__ce_label_profile_1
    AND shared.__ce_profile_2 = pair.__ce_label_profile_2;

---------------------------------------------------------------------------------------------------
-- Pairs of a label and a cluster
---------------------------------------------------------------------------------------------------

-- One row per label or cluster: __ce_partition, __ce_member, __ce_size, its ids, and __ce_n, those
-- of the partition. __ce_members names a CTE of the rows of _profile_members, __ce_counts of
-- _cover_counts.
CREATE OR REPLACE MACRO clustereval._cover_sizes(__ce_members, __ce_counts) AS TABLE
  WITH __ce_sizes AS (
    SELECT __ce_partition, __ce_member, CAST(SUM(__ce_n) AS BIGINT) AS __ce_size
    FROM query_table(__ce_members)
    GROUP BY __ce_partition, __ce_member
  )
  SELECT sizes.*, counts.__ce_n
  FROM __ce_sizes AS sizes
  JOIN query_table(__ce_counts) AS counts
    ON counts.__ce_partition IS NOT DISTINCT FROM sizes.__ce_partition;

-- Pairs of a label and a cluster: __ce_partition, __ce_label, __ce_cluster, __ce_shared, their
-- common ids, __ce_label_size, __ce_cluster_size, and __ce_n, the ids of the partition. Those
-- without common ids are left out unless one of the two has more than half of the ids: only then
-- can one tell of the other that an id is not in it better than nothing does. There are few such
-- labels and clusters: fewer than twice the mean number of them that an id has. The parameters name
-- CTEs of the rows of _cell_members, and of _cover_sizes of labels and clusters.
CREATE OR REPLACE MACRO clustereval._cover_pairs(
  __ce_cell_members, __ce_label_sizes, __ce_cluster_sizes
) AS TABLE
  WITH __ce_terms AS (
    SELECT __ce_partition, __ce_label, __ce_cluster, __ce_n AS __ce_shared
    FROM query_table(__ce_cell_members)
    UNION ALL
    SELECT large.__ce_partition, large.__ce_member, other.__ce_member, 0
    FROM query_table(__ce_label_sizes) AS large
    JOIN query_table(__ce_cluster_sizes) AS other
      ON other.__ce_partition IS NOT DISTINCT FROM large.__ce_partition
    WHERE 2 * large.__ce_size > large.__ce_n
    UNION ALL
    SELECT large.__ce_partition, other.__ce_member, large.__ce_member, 0
    FROM query_table(__ce_cluster_sizes) AS large
    JOIN query_table(__ce_label_sizes) AS other
      ON other.__ce_partition IS NOT DISTINCT FROM large.__ce_partition
    WHERE 2 * large.__ce_size > large.__ce_n
  ),
  __ce_sums AS (
    SELECT
      __ce_partition, __ce_label, __ce_cluster, CAST(SUM(__ce_shared) AS BIGINT) AS __ce_shared
    FROM __ce_terms
    GROUP BY __ce_partition, __ce_label, __ce_cluster
  )
  SELECT
    pair.*,
    labels.__ce_size AS __ce_label_size,
    clusters.__ce_size AS __ce_cluster_size,
    labels.__ce_n
  FROM __ce_sums AS pair
  JOIN query_table(__ce_label_sizes) AS labels
    ON labels.__ce_partition IS NOT DISTINCT FROM pair.__ce_partition
    AND labels.__ce_member = pair.__ce_label
  JOIN query_table(__ce_cluster_sizes) AS clusters
    ON clusters.__ce_partition IS NOT DISTINCT FROM pair.__ce_partition
    AND clusters.__ce_member = pair.__ce_cluster;
