"""contingency: cells of the contingency table, sizes of labels and clusters, counts of pairs."""

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
    check_frame,
    check_groupable,
    check_noise_as,
    check_noise_value,
    check_partition_keys,
    check_weight,
)
from polars_clustereval.base.exact import count_pairs
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

if TYPE_CHECKING:
    from collections.abc import Sequence

ROW_COUNTS = ("n", "n_dropped", "n_noise", "n_labels", "n_clusters")


# ----------------------------------------------------------------------------------------------
# Cells, labels, clusters
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ContingencyTable:
    """The groups of (partition, label, cluster) of a frame; `keys` maps inner names to the user's.

    Frames that several others are made from are cached: the optimizer would push a projection into
    each use, find the uses different, and compute them all over again.
    """

    groups: pl.LazyFrame
    keys: dict[str, str]

    def shared(self) -> ContingencyTable:
        """Give the same for use of row_counts beside cells: both are made from the groups."""
        return ContingencyTable(self.groups.cache(), self.keys)

    @cached_property
    def cells(self) -> pl.LazyFrame:
        columns = [*self.keys, "label", "cluster", "n", "copies"]
        return self.groups.filter(pl.col("copies") > 0).select(columns).cache()

    @cached_property
    def row_counts(self) -> pl.LazyFrame:
        """One row a partition. One that keeps no row is left out, unless there is no other."""
        terms = {
            "total": pl.col("n") * pl.col("copies"),
            "n_dropped": pl.col("n_dropped"),
            "n_noise": pl.col("n_noise"),
        }
        counts = self.summed(self.groups, terms)
        return (counts.filter(pl.col("total") > 0) if self.keys else counts).cache()

    @cached_property
    def labels(self) -> pl.LazyFrame:
        """One row a label: its rows, the clusters it lies in, its largest cell."""
        rows = self.cells.group_by(*self.keys, "label").agg(
            (pl.col("n") * pl.col("copies")).sum().alias("a"),
            pl.col("copies").sum().alias("parts"),
            pl.col("n").max().alias("label_majority"),
        )
        return rows.with_columns(copies=pl.lit(1, pl.Int64)).cache()

    @cached_property
    def clusters(self) -> pl.LazyFrame:
        """One row a cluster. All singletons of a partition are one row with that many copies."""
        single, one = pl.col("cluster").is_null(), pl.lit(1, pl.Int64)
        rows = self.cells.group_by(*self.keys, "cluster").agg(
            pl.col("n").sum().alias("b"),
            pl.col("copies").sum(),
            pl.col("n").max().alias("cluster_majority"),
        )
        rows = rows.with_columns(
            pl.when(single).then(one).otherwise("b").alias("b"),
            pl.when(single).then(one).otherwise("copies").alias("parts"),
            pl.when(single).then("copies").otherwise(one).alias("copies"),
        )
        return rows.cache()

    @cached_property
    def sized(self) -> pl.LazyFrame:
        """The cells with the sizes of their label (a), cluster (b) and partition (total)."""
        labels = self.labels.select(*self.keys, "label", "a")
        clusters = self.clusters.select(*self.keys, "cluster", "b")
        cells = join_small(self.cells, [*self.keys, "label"], labels)
        cells = join_small(cells, [*self.keys, "cluster"], clusters)
        return self.joined(cells, self.row_counts.select(*self.keys, "total")).cache()

    def summed(self, frame: pl.LazyFrame, terms: Terms) -> pl.LazyFrame:
        """One row a partition; without partitions one row even if the frame has none."""
        return sum_by(frame, list(self.keys), terms)

    def joined(self, frame: pl.LazyFrame, *others: pl.LazyFrame) -> pl.LazyFrame:
        """Add the columns of others, each one row a partition."""
        return join_partitions(frame, list(self.keys), *others)

    def sorted(self, partitions: pl.LazyFrame) -> pl.LazyFrame:
        return partitions.sort(*self.keys, nulls_last=True) if self.keys else partitions

    def result(self, frame: Frame, lazy: pl.LazyFrame) -> Frame:
        return to_user_frame(frame, lazy, self.keys)


def read_contingency_table(
    frame: pl.DataFrame | pl.LazyFrame,
    label: Column,
    cluster: Column,
    weight: Column | None,
    partition_by: Keys,
    noise: object,
    noise_as: NoiseAs,
    results: Sequence[str],
) -> ContingencyTable:
    """Check the arguments, and group the rows: the only thing here that reads them."""
    lazy = check_frame(frame)
    check_noise_as(noise, noise_as)
    keys = check_partition_keys(lazy, partition_by, results)
    columns = [
        check_groupable(lazy, label, "label"),
        check_groupable(lazy, cluster, "cluster"),
        check_weight(lazy, weight).alias("n"),
    ]
    rows = lazy.select(*(pl.col(key).alias(name) for name, key in keys.items()), *columns)
    return ContingencyTable(
        _flag_groups(_count_cells(rows, list(keys)), is_noise(rows, noise), noise_as), keys
    )


#: Whole numbers by the bits that hold them with a sign; UInt64 has no room for one beside another.
_SIGNED_BITS: dict[type[pl.DataType], int] = {
    **dict.fromkeys((pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16), 32),
    **dict.fromkeys((pl.Int64, pl.UInt32), 64),
}


def _count_cells(rows: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Sum the multiplicities by partition, label and cluster.

    Two whole numbers are grouped as one: the engine makes bytes of several keys, and takes two to
    three times as long. Pairs with a NULL become one group then; they are dropped all the same.
    """
    label, cluster, n = pl.col("label"), pl.col("cluster"), pl.col("n").sum()
    schema = rows.collect_schema()
    types = schema["label"], schema["cluster"]
    if keys or not all(dtype.base_type() in _SIGNED_BITS for dtype in types):
        return rows.group_by(*keys, "label", "cluster").agg(n)
    bits = max(_SIGNED_BITS[dtype.base_type()] for dtype in types)
    whole = pl.Int64 if bits == 32 else pl.Int128
    unit, half = pl.lit(2**bits, whole), pl.lit(2 ** (bits - 1), whole)
    pair, both = pl.col("pair"), label.cast(whole) * unit + (cluster.cast(whole) + half)
    counted = rows.select("n", pair=both).group_by("pair").agg(n)
    parts = {"label": pair // unit, "cluster": pair % unit - half}
    named = zip(parts.items(), types, strict=True)
    return counted.select("n", *(x.cast(dtype).alias(name) for (name, x), dtype in named))


def is_noise(rows: pl.LazyFrame, noise: object) -> pl.Expr:
    if noise is None:
        return pl.lit(False)
    return pl.col("cluster") == check_noise_value(noise, rows.collect_schema()["cluster"])


def _flag_groups(counted: pl.LazyFrame, noisy: pl.Expr, noise_as: NoiseAs) -> pl.LazyFrame:
    """Flag the groups: copies is 0 for what is left out."""
    n, zero, one = pl.col("n"), pl.lit(0, pl.Int64), pl.lit(1, pl.Int64)
    known = pl.col("label").is_not_null() & pl.col("cluster").is_not_null()
    copies = {"cluster": one, "drop": zero, "singletons": n}[noise_as]
    single = pl.col("noisy") if noise_as == "singletons" else pl.lit(False)
    return (
        counted.with_columns(known.alias("known"), (known & noisy).alias("noisy"))
        .with_columns(
            pl.when(pl.col("known") & (n > 0))
            .then(pl.when("noisy").then(copies).otherwise(one))
            .otherwise(zero)
            .alias("copies"),
            pl.when("known").then(zero).otherwise(n).alias("n_dropped"),
            pl.when("noisy").then(n).otherwise(zero).alias("n_noise"),
        )
        .with_columns(
            pl.when(~single).then("cluster"),
            pl.when(single).then(one).otherwise(n).alias("n"),
        )
        .drop("known", "noisy")
    )


# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def cell_pair_terms(row: Row) -> Terms:
    """Count the pairs in a cell. A singleton has none, so its copies do not matter."""
    return {"both": count_pairs(row("n"))}


def label_pair_terms(row: Row) -> Terms:
    return {"same_label": count_pairs(row("a"))}


def cluster_pair_terms(row: Row) -> Terms:
    return {"same_cluster": count_pairs(row("b"))}


def pair_count_terms(row: Row) -> Terms:
    both, label, cluster = row("both"), row("same_label"), row("same_cluster")
    return {
        "tp": both,
        "fp": cluster - both,
        "fn": label - both,
        "tn": count_pairs(row("total")) - label - cluster + both,
    }


# ----------------------------------------------------------------------------------------------
# The same inside an expression
# ----------------------------------------------------------------------------------------------


def cells_as_list(label: Column, cluster: Column) -> StructLists:
    """Give the cells with their sizes. Rows with a NULL are left out."""
    sides = [pl.col(side) if isinstance(side, str) else side for side in (label, cluster)]
    known = sides[0].is_not_null() & sides[1].is_not_null()
    cells = pl.struct(sides[0].alias("label"), sides[1].alias("cluster")).alias("cell")
    counts = cells.filter(known).value_counts(name="n").implode()
    n, cell = element_field("n").cast(pl.Int64), element_field("cell")
    label, cluster = cell.struct.field("label"), cell.struct.field("cluster")
    sized = {
        "label": label,
        "cluster": cluster,
        "n": n,
        "copies": pl.lit(1, pl.Int64),
        "a": n.sum().over(label),
        "b": n.sum().over(cluster),
        "total": n.sum(),
        "first_of_label": n.cum_count().over(label) == 1,
        "first_of_cluster": n.cum_count().over(cluster) == 1,
    }
    return StructLists(counts, ("cell", "n")).evaluated(sized)


def field_of_labels(name: str) -> pl.Expr:
    """Give a field of the labels: of the first cell of each."""
    return element_field(name).filter(element_field("first_of_label"))


def field_of_clusters(name: str) -> pl.Expr:
    return element_field(name).filter(element_field("first_of_cluster"))


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


def contingency_matrix(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
) -> Frame:
    """Contingency table of labels and clusters, sparse: one row for each cell that has rows.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate. A LazyFrame is read when the result is collected, and streams.
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.
    weight : str or Expr, optional
        How many times a row counts, a whole number >= 0. It is checked at once, which reads this
        one column of a LazyFrame.
    partition_by : str or sequence of str, optional
        Columns whose groups are evaluated each on its own. A NULL makes a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}
        Whether noise is an ordinary cluster, is left out, or is a cluster of its own in each row.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, sorted by partition, label and cluster: the partition columns,
        label, cluster, n rows, and copies, which is 1. With noise_as 'singletons' the noise of
        a label is one row with cluster NULL, n 1 and copies = how many.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, a weight is no whole number >= 0, noise has
        no value in the type of cluster, or an option is unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.contingency_matrix(tbl, label, cluster)``.

    References
    ----------
    Pearson (1904), On the theory of contingency.

    Examples
    --------
    The table is all that the scores need: with weight it gives the report of the rows.

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> import polars.testing
    >>> cells = ce.contingency_matrix(six, "label", "cluster")
    >>> cells.rows()
    [('a', 0, 2, 1), ('a', 1, 1, 1), ('b', 1, 1, 1), ('b', 2, 2, 1)]
    >>> of_cells = ce.external_report(cells, "label", "cluster", weight="n")
    >>> pl.testing.assert_frame_equal(of_cells, ce.external_report(six, "label", "cluster"))
    """
    results = ("label", "cluster", "n", "copies")
    table = read_contingency_table(
        frame, label, cluster, weight, partition_by, noise, noise_as, results
    )
    cells = table.cells.sort(*table.keys, "label", "cluster", nulls_last=True)
    return table.result(frame, cells)


def pair_counts(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
) -> Frame:
    """Count the unordered pairs of rows that are together or apart by label and by cluster.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate. A LazyFrame is read when the result is collected, and streams.
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.
    weight : str or Expr, optional
        How many times a row counts, a whole number >= 0. It is checked at once, which reads this
        one column of a LazyFrame.
    partition_by : str or sequence of str, optional
        Columns whose groups are evaluated each on its own. A NULL makes a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}
        Whether noise is an ordinary cluster, is left out, or is a cluster of its own in each row.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, sorted by partition: the partition columns, and as Decimal(38,
        0) tp (same label, same cluster), fp (same cluster only), fn (same label only) and tn
        (neither), exact for 1e10 rows. All 0 without rows; with partition_by there is no row
        then.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, a weight is no whole number >= 0, noise has
        no value in the type of cluster, or an option is unknown.

    Notes
    -----
    scikit-learn's pair_confusion_matrix counts each pair twice: [[2 tn, 2 fp], [2 fn, 2 tp]].
    In SQL: ``FROM clustereval.pair_counts(tbl, label, cluster)``.

    References
    ----------
    Hubert and Arabie (1985), Comparing partitions, doi:10.1007/BF01908075.

    Examples
    --------
    Six rows make 15 pairs:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> [int(pairs) for pairs in ce.pair_counts(six, "label", "cluster").row(0)]
    [2, 1, 4, 8]
    """
    results = ("tp", "fp", "fn", "tn")
    table = read_contingency_table(
        frame, label, cluster, weight, partition_by, noise, noise_as, results
    ).shared()
    totals = table.joined(
        table.row_counts,
        table.summed(table.cells, cell_pair_terms(pl.col)),
        table.summed(table.labels, label_pair_terms(pl.col)),
        table.summed(table.clusters, cluster_pair_terms(pl.col)),
    )
    counts = [n.cast(pl.Decimal(38, 0)).alias(name) for name, n in pair_count_terms(pl.col).items()]
    return table.result(frame, table.sorted(totals.select(*table.keys, *counts)))
