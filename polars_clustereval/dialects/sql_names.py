"""Names from ``sql/`` that ``to_sql`` uses, and the macro bodies that it substitutes."""

from __future__ import annotations

from .pair_bodies import PAIR_BODIES

# Columns: the partition of a row, as key and as number, and its cluster.
PARTITION = "partition_key"
PARTITION_NO = "partition_no"
CLUSTER = "cluster"

# Columns with the result of a check of the data: TRUE, and the number of faults.
VALID = "valid"
N_FAULTS = "n_faults"

# The key under which the tree of a CTE stores what the CTE holds, in words.
HOLDS = "holds"

# The prefix of the names of all CTEs.
PREFIX = "__ce_"

# The prefixes of some CTEs: the measured points, which have a second branch for the row that shows
# the single partition of a table without points; and the numbers of rows by group, which are sums
# of weights, with two of the columns of this CTE.
SPREAD_ROWS = "__ce_spread_rows_"
GROUP_COUNTS = "__ce_group_counts"
GROUP_PARTITION = "__ce_partition"
GROUP_ROWS = "__ce_n"

# Table macro -> the macro that replaces it in other engines. It returns the same rows, without the
# form that is faster only in DuckDB.
PLAIN_FORMS = {
    "_unnested_moments": "_coordinate_moments",
    "_own_and_other_squares": "_grouped_squares",
    "_cross_with_clusters": "_join_with_clusters",
}

# Table macros that have another body in other engines. In _coordinate_blocks, a single block
# replaces the blocks of 16 coordinates. list_transform with an aggregate represents one aggregate
# per coordinate, which DuckDB cannot write for vectors of any length. checked_length represents the
# length, or an error if a coordinate is not finite. The block has the extents of all coordinates,
# from which the origins follow without another pass, and no coordinate is left for
# _exact_coordinates, because engines that copy CTEs could not process longer queries.
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
    # The origin comes with the cluster, without a join of its own.
    "_clustered_points": """
        SELECT
          own.number, own.partition_no, own.n_clusters,
          point.row_no, point.id, point.has_default_id, FALSE AS use_lists,
          CASE
            WHEN own.origin IS NULL THEN point.point
            ELSE clustereval._scale_vector(
              clustereval._subtract_vectors(point.vector, own.origin), weights, point.factors
            )
          END AS point
        FROM query_table(rows) AS point
        JOIN query_table(clusters) AS own
          ON own.partition_key IS NOT DISTINCT FROM point.partition_key
          AND own.cluster IS NOT DISTINCT FROM point.cluster
          AND own.singleton_no = point.singleton_no
        WHERE point.kept
    """,
    **PAIR_BODIES,
}
