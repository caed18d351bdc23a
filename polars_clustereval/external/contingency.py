"""Cells of the contingency table, sizes of labels and clusters, and counts of pairs.

A cell is a pair of a label and a cluster that have rows in common. A row of the contingency table
represents `copies` equal cells, each of which contains `n` rows of data. copies is 1, except for
noise that counts as singletons. Every sum over cells is weighted by copies. For each cell,
`label_size`, `cluster_size` and `total` are the numbers of rows with the same label, in the same
cluster and in the same partition. `n_labels`, `n_clusters` and `n_cells` are the numbers of labels,
clusters and cells of a partition. A pair is a set of two rows. `cell_pairs`, `label_pairs` and
`cluster_pairs` are numbers of ordered pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    NoiseAs,
    are_labels,
    as_single_column,
    check_frame,
    check_groupable,
    check_noise_as,
    check_partition_keys,
    check_weight,
    equals_noise,
    key_columns,
)
from polars_clustereval.base.counts import LABEL_COUNTS
from polars_clustereval.base.exact import count_ordered_pairs
from polars_clustereval.base.frames import (
    Row,
    StructLists,
    Terms,
    element_field,
    join_partitions,
    join_small,
    sum_by,
    to_user_frame,
)
from polars_clustereval.base.tables import pass_arguments_to, table_function

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: The counts of rows, labels and clusters with which reports begin.
ROW_COUNTS = tuple(LABEL_COUNTS)


# ----------------------------------------------------------------------------------------------
# Cells, labels, clusters
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """The options shared by all functions that take a frame of labels and clusters."""

    weight: Column | None = None
    partition_by: Keys = None
    noise: object = None
    noise_as: NoiseAs | None = None


@dataclass(frozen=True)
class ContingencyTable:
    """The contingency table of a user's frame, and the frames that are computed from it.

    A partition is a group of rows with the same values in the partition columns, and has its own
    contingency table. `keys` maps the internal names of the partition columns (key_0, ...) to the
    user's names. `groups` has one row per combination of partition, label and cluster. For each
    group, n is the number of rows, and copies is the number of cells with n rows that the group
    represents, or 0 if the group is left out. n_dropped and n_noise are the numbers of dropped rows
    and of noise rows in the group.

    A frame from which several other frames are computed is cached. Without the cache, the optimizer
    would push a different projection into each use of the frame, and the frame would be computed
    again for each use.
    """

    groups: pl.LazyFrame
    keys: dict[str, str]

    def cache_groups(self) -> ContingencyTable:
        """Return the same table with cached `groups`, for use by both row_counts and cells."""
        return ContingencyTable(self.groups.cache(), self.keys)

    @cached_property
    def cells(self) -> pl.LazyFrame:
        """One row per contingency cell, with the partition columns, label, cluster, n and copies.

        If noise counts as singletons, all noise rows with the same label are represented by one
        row, in which cluster is NULL, n is 1, and copies is the number of these noise rows.
        """
        columns = [*self.keys, "label", "cluster", "n", "copies"]
        return self.groups.filter(pl.col("copies") > 0).select(columns).cache()

    @cached_property
    def row_counts(self) -> pl.LazyFrame:
        """One row per partition, with the partition columns, total, n_dropped and n_noise.

        total is the number of rows in cells, n_dropped is the number of rows with a NULL label or
        cluster, and n_noise is the number of remaining rows whose cluster is the noise value. A
        partition has a row even if all its rows are left out. Without partition columns, the result
        always has one row.
        """
        terms = {
            "total": pl.col("n") * pl.col("copies"),
            "n_dropped": pl.col("n_dropped"),
            "n_noise": pl.col("n_noise"),
        }
        return self.sum_by_partition(self.groups, terms).cache()

    @cached_property
    def label_sizes(self) -> pl.LazyFrame:
        """One row per label, with label_size, n_cells, label_majority_n and copies.

        label_majority_n is the number of rows in the label's largest cell. copies is always 1, and
        exists only because cluster_sizes also has this column.
        """
        sizes = self.cells.group_by(*self.keys, "label").agg(
            (pl.col("n") * pl.col("copies")).sum().alias("label_size"),
            pl.col("copies").sum().alias("n_cells"),
            pl.col("n").max().alias("label_majority_n"),
        )
        return sizes.with_columns(copies=pl.lit(1, pl.Int64)).cache()

    @cached_property
    def cluster_sizes(self) -> pl.LazyFrame:
        """One row per cluster, with cluster_size, n_cells, cluster_majority_n and copies.

        cluster_majority_n is the number of rows in the cluster's largest cell. If noise counts as
        singletons, one row represents all singletons of a partition, as in `cells`.
        """
        singleton, one = pl.col("cluster").is_null(), pl.lit(1, pl.Int64)
        sizes = self.cells.group_by(*self.keys, "cluster").agg(
            pl.col("n").sum().alias("cluster_size"),
            pl.col("copies").sum(),
            pl.col("n").max().alias("cluster_majority_n"),
        )
        sizes = sizes.with_columns(
            pl.when(singleton).then(one).otherwise("cluster_size").alias("cluster_size"),
            pl.when(singleton).then(one).otherwise("copies").alias("n_cells"),
            pl.when(singleton).then("copies").otherwise(one).alias("copies"),
        )
        return sizes.cache()

    @cached_property
    def sized_cells(self) -> pl.LazyFrame:
        """The rows of `cells` with label_size, cluster_size and total."""
        labels = self.label_sizes.select(*self.keys, "label", "label_size")
        clusters = self.cluster_sizes.select(*self.keys, "cluster", "cluster_size")
        cells = join_small(self.cells, [*self.keys, "label"], labels)
        cells = join_small(cells, [*self.keys, "cluster"], clusters)
        return self.join_partitions(cells, self.row_counts.select(*self.keys, "total")).cache()

    def sum_by_partition(self, frame: pl.LazyFrame, terms: Terms) -> pl.LazyFrame:
        """Return the sums of `terms` over `frame`, with one row per partition (see sum_by)."""
        return sum_by(frame, list(self.keys), terms)

    def join_partitions(self, frame: pl.LazyFrame, *others: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows of `frame` with the columns of `others`, one row per partition.

        A row of `frame` is left out if its partition is missing from one of the `others`.
        """
        return join_partitions(frame, list(self.keys), *others)

    def add_totals(self, counts: pl.LazyFrame, *totals: pl.LazyFrame) -> pl.LazyFrame:
        """Return `counts` with the columns of `totals`, or 0 for a partition without cells."""
        keys = list(self.keys)
        joined = join_partitions(counts, keys, *totals, how="left")
        return joined.with_columns(pl.exclude(keys).fill_null(0)) if keys else joined

    def sort_by_partition(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Return `frame`, which has one row per partition, sorted by the partition columns."""
        return frame.sort(*self.keys, nulls_last=True) if self.keys else frame

    def to_user_frame(
        self, frame: Frame, lazy: pl.LazyFrame, metrics: Sequence[str] | None = None
    ) -> Frame:
        """Return the result `lazy` as the user's kind of frame (see frames.to_user_frame)."""
        return to_user_frame(frame, lazy, self.keys, metrics)


def check_columns(
    frame: object, columns: Mapping[str, Column], options: LabelOptions, results: Sequence[str]
) -> tuple[pl.LazyFrame, dict[str, str], list[pl.Expr]]:
    """Check the user's arguments, and return the frame, the partition keys and the columns.

    `columns` maps parameters to the user's columns, which the result contains after the partition
    columns. `results` lists the columns of the final result besides the partition columns.
    """
    lazy = check_frame(frame)
    check_noise_as(options.noise, options.noise_as)
    keys = check_partition_keys(lazy, options.partition_by, results)
    checked = [check_groupable(lazy, column, name) for name, column in columns.items()]
    return lazy, keys, [*key_columns(keys), *checked]


def read_contingency_table(
    frame: pl.DataFrame | pl.LazyFrame,
    label: Column,
    cluster: Column,
    options: LabelOptions,
    results: Sequence[str],
    *,
    keep_nulls: bool = False,
) -> ContingencyTable:
    """Check the user's arguments, and group the rows of `frame` into a ContingencyTable.

    All tables and reports are computed from the ContingencyTable, so the user's rows are read only
    once, or twice if weights must be checked. If `keep_nulls` is True, groups without a label keep
    their cluster, and groups without a cluster keep their label. Otherwise, all rows with a NULL
    may form a single group.
    """
    sides = {"label": label, "cluster": cluster}
    lazy, keys, columns = check_columns(frame, sides, options, results)
    rows = lazy.select(*columns, check_weight(lazy, options.weight, keys).alias("n"))
    groups = _count_cells(rows, list(keys), keep_nulls=keep_nulls)
    return ContingencyTable(flag_groups(groups, options), keys)


# Types of whole numbers, by the bits of the signed type that holds them. Two UInt64 do not fit into
# one Int128.
_SIGNED_BITS: dict[type[pl.DataType], int] = {
    **dict.fromkeys((pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16), 32),
    **dict.fromkeys((pl.Int64, pl.UInt32), 64),
}


def _count_cells(rows: pl.LazyFrame, keys: list[str], *, keep_nulls: bool) -> pl.LazyFrame:
    """Return the sum n of the multiplicities for each combination of partition, label and cluster.

    Labels and clusters of the types in _SIGNED_BITS are packed into one number. Without packing,
    the engine would serialize the two keys, and grouping would take two to three times as long.
    With packing, all rows with a NULL label or cluster form one group, which is not counted.
    """
    label, cluster, n = pl.col("label"), pl.col("cluster"), pl.col("n").sum()
    schema = rows.collect_schema()
    types = schema["label"], schema["cluster"]
    if keys or keep_nulls or not all(dtype.base_type() in _SIGNED_BITS for dtype in types):
        return rows.group_by(*keys, "label", "cluster").agg(n)
    bits = max(_SIGNED_BITS[dtype.base_type()] for dtype in types)
    pair_type = pl.Int64 if bits == 32 else pl.Int128
    unit, half = pl.lit(2**bits, pair_type), pl.lit(2 ** (bits - 1), pair_type)
    pair = label.cast(pair_type) * unit + (cluster.cast(pair_type) + half)
    counts = rows.select("n", pair=pair).group_by("pair").agg(n)
    sides = {"label": pl.col("pair") // unit, "cluster": pl.col("pair") % unit - half}
    typed = zip(sides.items(), types, strict=True)
    return counts.select("n", *(side.cast(dtype).alias(name) for (name, side), dtype in typed))


def is_noise(rows: pl.LazyFrame, noise: object) -> pl.Expr:
    """Return whether the column `cluster` of `rows` equals `noise` (see equals_noise)."""
    return equals_noise(pl.col("cluster"), noise, rows.collect_schema()["cluster"])


def flag_groups(groups: pl.LazyFrame, options: LabelOptions) -> pl.LazyFrame:
    """Return `groups` with copies, n_dropped and n_noise (see ContingencyTable).

    For noise that counts as singletons, cluster becomes NULL and n becomes 1. n_dropped counts only
    rows with a NULL label or cluster, not noise.
    """
    noisy = is_noise(groups, options.noise)
    n, zero, one = pl.col("n"), pl.lit(0, pl.Int64), pl.lit(1, pl.Int64)
    complete = pl.col("label").is_not_null() & pl.col("cluster").is_not_null()
    noise_copies = {"drop": zero, "singletons": n}.get(options.noise_as or "cluster", one)
    singleton = pl.col("noisy") if options.noise_as == "singletons" else pl.lit(False)
    return (
        groups.with_columns(complete.alias("complete"), (complete & noisy).alias("noisy"))
        .with_columns(
            pl.when(pl.col("complete") & (n > 0))
            .then(pl.when("noisy").then(noise_copies).otherwise(one))
            .otherwise(zero)
            .alias("copies"),
            pl.when("complete").then(zero).otherwise(n).alias("n_dropped"),
            pl.when("noisy").then(n).otherwise(zero).alias("n_noise"),
        )
        .with_columns(
            pl.when(~singleton).then("cluster"),
            pl.when(singleton).then(one).otherwise(n).alias("n"),
        )
        .drop("complete", "noisy")
    )


# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def cell_pair_terms(row: Row) -> Terms:
    """Return cell_pairs, the number of ordered pairs of rows in the same cell."""
    return {"cell_pairs": count_ordered_pairs(row("n")) * row("copies")}


def label_pair_terms(row: Row) -> Terms:
    """Return label_pairs, the number of ordered pairs of rows with the same label."""
    return {"label_pairs": count_ordered_pairs(row("label_size"))}


def cluster_pair_terms(row: Row) -> Terms:
    """Return cluster_pairs, the number of ordered pairs of rows in the same cluster.

    A noise row that counts as a cluster of its own has no pairs.
    """
    return {"cluster_pairs": count_ordered_pairs(row("cluster_size"))}


def pair_count_terms(row: Row) -> Terms:
    """Return tp, fp, fn and tn (see pair_counting) as Int128, from sums of the terms above."""
    cells, labels, clusters = row("cell_pairs"), row("label_pairs"), row("cluster_pairs")
    return {
        "tp": cells // 2,
        "fp": (clusters - cells) // 2,
        "fn": (labels - cells) // 2,
        "tn": (count_ordered_pairs(row("total")) - labels - clusters + cells) // 2,
    }


# ----------------------------------------------------------------------------------------------
# Cells inside an expression
# ----------------------------------------------------------------------------------------------


def cells_as_list(label: Column, cluster: Column) -> StructLists:
    """Return the contingency cells of two columns as one list of structs per group of rows.

    Inside an expression, these lists take the place of a contingency table. Each struct represents
    a cell without NULLs, with the fields label, cluster, n, copies (always 1), label_size,
    cluster_size and total. The flag is_first_of_label marks one cell per label, and
    is_first_of_cluster marks one cell per cluster.
    """
    sides = as_single_column(label, "label"), as_single_column(cluster, "cluster")
    complete = sides[0].is_not_null() & sides[1].is_not_null()
    complete &= are_labels(sides[0], "label") & are_labels(sides[1], "cluster")
    cells = pl.struct(sides[0].alias("label"), sides[1].alias("cluster")).alias("cell")
    counts = cells.filter(complete).value_counts(name="n").implode()
    n, cell = element_field("n").cast(pl.Int64), element_field("cell")
    label, cluster = cell.struct.field("label"), cell.struct.field("cluster")
    terms = {
        "label": label,
        "cluster": cluster,
        "n": n,
        "copies": pl.lit(1, pl.Int64),
        "label_size": n.sum().over(label),
        "cluster_size": n.sum().over(cluster),
        "total": n.sum(),
        "is_first_of_label": n.cum_count().over(label) == 1,
        "is_first_of_cluster": n.cum_count().over(cluster) == 1,
    }
    return StructLists(counts, ("cell", "n")).select(terms)


def label_field(name: str) -> pl.Expr:
    """Return a field of cells_as_list, such as label_size, once for each label."""
    return element_field(name).filter(element_field("is_first_of_label"))


def cluster_field(name: str) -> pl.Expr:
    """Return a field of cells_as_list, such as cluster_size, once for each cluster."""
    return element_field(name).filter(element_field("is_first_of_cluster"))


#: The terms whose sums over cells_as_list are the numbers of labels, clusters and cells ...
GROUP_COUNTS: Terms = {
    "n_labels": label_field("copies"),
    "n_clusters": cluster_field("copies"),
    "n_cells": element_field("copies"),
}
#: ... and the numbers of ordered pairs of rows in the same cell, label or cluster.
GROUP_PAIRS: Terms = {
    **cell_pair_terms(element_field),
    **label_pair_terms(label_field),
    **cluster_pair_terms(cluster_field),
}


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("labels", guide="external", order=("label", "cluster"), is_portable=True)
def contingency_matrix(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Sparse contingency table of labels and clusters, with one row per nonempty cell.

    Parameters
    ----------
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, sorted by partition, label and cluster. The result has the partition
        columns, label, cluster, n and copies. n is the number of rows with the label and the
        cluster, and copies is 1. With noise_as 'singletons', all noise rows with the same label are
        represented by one row of the result, in which cluster is NULL, n is 1, and copies is the
        number of these noise rows.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in external_report.

    Notes
    -----
    In SQL: ``FROM clustereval.contingency_matrix(tbl, label, cluster)``.

    References
    ----------
    Pearson (1904), On the theory of contingency.

    Examples
    --------
    The contingency table determines all scores. If you pass the counts as weights, you get the same
    report as from the rows:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> import polars.testing
    >>> cells = ce.contingency_matrix(six, "label", "cluster")
    >>> cells.rows()
    [('a', 0, 2, 1), ('a', 1, 1, 1), ('b', 1, 1, 1), ('b', 2, 2, 1)]
    >>> of_cells = ce.external_report(cells, "label", "cluster", weight="n")
    >>> pl.testing.assert_frame_equal(of_cells, ce.external_report(six, "label", "cluster"))
    """
    results = ("label", "cluster", "n", "copies")
    table = read_contingency_table(frame, label, cluster, pass_arguments_to(LabelOptions), results)
    cells = table.cells.sort(*table.keys, "label", "cluster", nulls_last=True)
    return table.to_user_frame(frame, cells)


@table_function("labels", guide="external", is_portable=True)
def pair_counts(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Counts of unordered pairs of rows with the same label, the same cluster, both or neither.

    Parameters
    ----------
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted by partition. The result has the
        partition columns and the counts tp (pairs with the same label and the same cluster), fp
        (only the same cluster), fn (only the same label) and tn (neither). The counts have the type
        Decimal(38, 0) and are exact even for 1e10 rows. If there are no rows, all counts are 0,
        unless you pass partition_by, in which case the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in external_report.

    Notes
    -----
    scikit-learn's pair_confusion_matrix counts each pair twice: [[2 tn, 2 fp], [2 fn, 2 tp]].
    In SQL: ``FROM clustereval.pair_counts(tbl, label, cluster)``.

    References
    ----------
    Hubert and Arabie (1985), Comparing partitions, doi:10.1007/BF01908075.

    Examples
    --------
    Six rows form 15 pairs:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> [int(pairs) for pairs in ce.pair_counts(six, "label", "cluster").row(0)]
    [2, 1, 4, 8]
    """
    results = ("tp", "fp", "fn", "tn")
    options = pass_arguments_to(LabelOptions)
    table = read_contingency_table(frame, label, cluster, options, results).cache_groups()
    totals = table.add_totals(
        table.row_counts,
        table.sum_by_partition(table.cells, cell_pair_terms(pl.col)),
        table.sum_by_partition(table.label_sizes, label_pair_terms(pl.col)),
        table.sum_by_partition(table.cluster_sizes, cluster_pair_terms(pl.col)),
    )
    counts = [n.cast(pl.Decimal(38, 0)).alias(name) for name, n in pair_count_terms(pl.col).items()]
    partitions = table.sort_by_partition(totals.select(*table.keys, *counts))
    return table.to_user_frame(frame, partitions)
