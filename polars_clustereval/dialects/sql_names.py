"""What ``to_sql`` knows about ``sql/`` by name: columns, CTEs, and macros with other forms."""

from __future__ import annotations

from .pair_bodies import PAIR_BODIES

# Columns: the partition of a row, as key and as number, and its cluster.
PARTITION = "partition_key"
PARTITION_NO = "partition_no"
CLUSTER = "cluster"

# Columns with the result of a check of the data: TRUE, and the number of faults.
VALID = "valid"
N_FAULTS = "n_faults"

# How the names of all CTEs begin.
PREFIX = "__ce_"

# How those of some begin: the measured points, with a second branch for the row that shows the one
# partition of a table without points; and the numbers of rows by group, which are sums of weights,
# with two of its columns.
SPREAD_ROWS = "__ce_spread_rows_"
GROUP_COUNTS = "__ce_group_counts"
GROUP_PARTITION = "__ce_partition"
GROUP_ROWS = "__ce_n"

# Table macro -> the one that takes its place in other engines: the same rows, without the form that
# only DuckDB is faster with.
PLAIN_FORMS = {
    "_unnested_moments": "_coordinate_moments",
    "_own_and_other_squares": "_grouped_squares",
    "_cross_with_clusters": "_join_with_clusters",
    "_center_distances": "_grouped_center_distances",
}

# Table macros that have another body in other engines. In _coordinate_blocks one block takes the
# place of those of 16 coordinates: list_transform with an aggregate stands for one aggregate a
# coordinate, which DuckDB cannot write for vectors of any length, and checked_length for the
# length, or an error where a coordinate is not finite. It has the extents of all coordinates, from
# which the origins follow without another reading, and no coordinate is left for
# _exact_coordinates: engines that copy CTEs could not take longer queries.
PLAIN_BODIES = {
    "_coordinate_blocks": """
        SELECT
          partition_key, cluster, singleton_no,
          0 AS block_offset,
          COUNT(*) AS n,
          MAX(checked_length(vector)) AS dims,
          SUM(list_inner_product(unweighted, unweighted)) AS squares,
          list_transform(
            unweighted,
            lambda x: CASE
              WHEN center = 'median' THEN median(x)
              ELSE LEAST(GREATEST(SUM(x) / COUNT(*), MIN(x)), MAX(x))
            END
          ) AS means_or_medians,
          list_transform(unweighted, lambda x: MIN(x)) AS anchors,
          list_transform(
            unweighted, lambda x: CASE WHEN MIN(x) = MAX(x) THEN 0.0 ELSE var_pop(x) END
          ) AS variances,
          list_transform(unweighted, lambda x: MIN(x)) AS minima,
          list_transform(unweighted, lambda x: MAX(x)) AS maxima
        FROM query_table(points)
        WHERE kept
        GROUP BY partition_key, cluster, singleton_no
    """,
    "_point_origins": """
        SELECT * FROM clustereval._partition_origins(moments, distance, p, weights)
    """,
    "_exact_coordinates": "SELECT * FROM query_table(coordinates)",
    **PAIR_BODIES,
}
