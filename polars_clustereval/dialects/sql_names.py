"""What ``to_sql`` knows of ``sql/`` by name: columns, CTEs, and macros with other forms."""

from __future__ import annotations

# Columns: the partition and the cluster of a row, and its number in what counts rows.
PARTITION = "__ce_partition"
CLUSTER = "__ce_cluster"
ROW_COUNT = "__ce_n"

# Columns with the result of a check of the data: TRUE, and the number of faults.
VALID = "__ce_valid"
N_FAULTS = "__ce_n_faults"

# How the names of CTEs begin: the points of a table, with a second branch for the row that shows
# the one partition of a table without points; and the numbers of rows by group, which are sums of
# weights.
TABLE_ROWS = "__ce_table_rows_"
GROUP_COUNTS = "__ce_group_counts"

# Table macro -> the one that takes its place in other engines: the same rows, without the form that
# only DuckDB is faster with.
PLAIN_FORMS = {
    "_unnested_moments": "_coordinate_moments",
    "_own_and_nearest_squares": "_grouped_squares",
    "_cross_with_clusters": "_join_with_clusters",
}

# Table macros that have another body in other engines. In _coordinate_blocks one block takes the
# place of those of 16 coordinates: list_transform with an aggregate stands for one aggregate a
# coordinate, which DuckDB cannot write for vectors of any length, and checked_length for the
# length, or an error where a coordinate is not finite.
PLAIN_BODIES = {
    "_coordinate_blocks": """
        SELECT
          __ce_partition, __ce_cluster, __ce_singleton_no,
          0 AS __ce_block_offset,
          COUNT(*) AS __ce_n,
          MAX(checked_length(__ce_vector)) AS __ce_dims,
          list_transform(
            __ce_unweighted,
            lambda __ce_x: CASE WHEN center = 'median' THEN median(__ce_x) ELSE SUM(__ce_x) END
          ) AS __ce_sums_or_medians,
          list_transform(__ce_unweighted, lambda __ce_x: var_pop(__ce_x)) AS __ce_variances,
          list_transform(__ce_unweighted, lambda __ce_x: MIN(__ce_x)) AS __ce_minima,
          list_transform(__ce_unweighted, lambda __ce_x: MAX(__ce_x)) AS __ce_maxima
        FROM query_table(__ce_points)
        WHERE __ce_kept
        GROUP BY __ce_partition, __ce_cluster, __ce_singleton_no
    """
}
