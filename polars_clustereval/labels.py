"""labels: the ground floor, the twin of ``sql/labels.sql``.

What every external index is made from: the cells of the contingency table, the sizes of labels and
clusters, and the checks of what a caller hands over.

Reading rules for this side of the package:

* The first ``select`` renames every column a user can name, so inner names clash with nothing.
* A cell stands for ``copies`` equal cells of ``n`` rows each: 1 everywhere, except for noise that
  is counted as singletons. Every sum over cells is weighted by it.
* A formula takes plain expressions, or a ``Row`` that gives the expression of a name. It so serves
  a column of a frame and a field of a list of structs, the form that expressions compute in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from inspect import signature
from math import isfinite
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeVar

import polars as pl

from .errors import ClusterEvalError

__all__ = [
    "contingency_matrix",
    "external_cluster_report",
    "external_label_report",
    "pair_counts",
]

Column = str | pl.Expr
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Keys = str | Sequence[str] | None
NoiseAs = Literal["cluster", "drop", "singletons"]
Row = Callable[[str], pl.Expr]
Terms = dict[str, pl.Expr]
Stage = Callable[[Row], Terms]

ROW_COUNTS = ("n", "n_dropped", "n_noise", "n_labels", "n_clusters")

# ----------------------------------------------------------------------------------------------
# Checks
# ----------------------------------------------------------------------------------------------

# The names of types in messages are DuckDB's, so that both wings say the same.
_SQL_TYPES: dict[type[pl.DataType], str] = {
    pl.Boolean: "BOOLEAN",
    pl.Int8: "TINYINT",
    pl.Int16: "SMALLINT",
    pl.Int32: "INTEGER",
    pl.Int64: "BIGINT",
    pl.Int128: "HUGEINT",
    pl.UInt8: "UTINYINT",
    pl.UInt16: "USMALLINT",
    pl.UInt32: "UINTEGER",
    pl.UInt64: "UBIGINT",
    pl.Float32: "FLOAT",
    pl.Float64: "DOUBLE",
    pl.String: "VARCHAR",
    pl.Date: "DATE",
    pl.Time: "TIME",
    pl.Datetime: "TIMESTAMP",
    pl.Duration: "INTERVAL",
    pl.Binary: "BLOB",
}


def _type_name(dtype: pl.DataType) -> str:
    return _SQL_TYPES.get(dtype.base_type(), str(dtype))


def _quoted(value: object) -> str:
    return "NULL" if value is None else f"'{value}'"


def _checked_choice(parameter: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        expected = ", ".join(_quoted(choice) for choice in choices)
        raise ClusterEvalError(f"{parameter}: expected one of {expected}, got {_quoted(value)}")


def _is_number(x: object) -> bool:
    """Tell Python's and numpy's numbers from all else."""
    return isinstance(x, Real) and not isinstance(x, bool)


def _checked_beta(beta: float) -> float:
    """Give beta as Python's own number: numpy's would take an expression for an array."""
    if not (_is_number(beta) and beta >= 0 and isfinite(beta)):
        raise ClusterEvalError(f"beta: expected a number >= 0, got {beta}")
    return float(beta)


def _checked_noise_as(noise: object, noise_as: object) -> None:
    _checked_choice("noise_as", noise_as, ("cluster", "drop", "singletons"))
    if noise_as != "cluster" and noise is None:
        raise ClusterEvalError(
            f"noise_as '{noise_as}' needs noise: give the value of cluster that marks noise"
        )


def _checked_lazy(frame: object) -> pl.LazyFrame:
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame.lazy()
    raise ClusterEvalError(
        f"frame: expected a Polars DataFrame or LazyFrame, got {type(frame).__name__}"
    )


def _checked_names(names: Sequence[str], parameter: str, columns: Sequence[str]) -> None:
    for name in names:
        if name not in columns:
            twins = get_close_matches(name, columns, n=1)
            hint = f"; did you mean '{twins[0]}'?" if twins else ";"
            raise ClusterEvalError(
                f"{parameter}: column '{name}' not found{hint} columns: {', '.join(columns)}"
            )


def _checked_column(lazy: pl.LazyFrame, column: Column, parameter: str) -> pl.Expr:
    """Give the column as an expression named after its parameter."""
    if not isinstance(column, str | pl.Expr):
        raise ClusterEvalError(
            f"{parameter}: expected a column name or an expression, got {type(column).__name__}"
        )
    expr = pl.col(column) if isinstance(column, str) else column
    names = [column] if isinstance(column, str) else column.meta.root_names()
    _checked_names(names, parameter, lazy.collect_schema().names())
    return expr.alias(parameter)


def _checked_group(lazy: pl.LazyFrame, column: Column, parameter: str) -> pl.Expr:
    expr = _checked_column(lazy, column, parameter)
    dtype = lazy.select(expr).collect_schema()[parameter]
    if dtype == pl.Object:
        raise ClusterEvalError(f"{parameter}: a column of type {dtype} cannot be grouped")
    return expr


def _checked_weight(lazy: pl.LazyFrame, weight: Column | None) -> pl.Expr:
    """Give the multiplicity of a row; the one check that has to look at the rows."""
    if weight is None:
        # Int8 is summed as Int64, and takes the least room on the way there.
        return pl.lit(1, pl.Int8)
    expr = _checked_column(lazy, weight, "weight")
    dtype = lazy.select(expr).collect_schema()["weight"]
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise _weight_error(f"a column of type {dtype}")
    number = expr.cast(pl.Float64)
    # NaN is above every number in Polars: the upper limit refuses it, and infinity.
    whole = (number >= 0) & (number < 9e18) & (number == number.floor())
    bad = lazy.select(
        expr.filter(~whole.fill_null(False)).first(), (~whole.fill_null(False)).any().alias("bad")
    )
    first, found = bad.collect(engine="streaming").row(0)
    if found:
        raise _weight_error("NULL" if first is None else str(first))
    return expr.cast(pl.Int64)


def _weight_error(got: str) -> ClusterEvalError:
    return ClusterEvalError(
        f"weight: expected whole numbers >= 0, got {got}; a weight is how many times its row counts"
    )


def _checked_noise(noise: object, dtype: pl.DataType) -> pl.Expr:
    """Give the noise value in the type of cluster; a cast that changes it is an error."""
    try:
        given = pl.Series([noise])
        cast = given.cast(dtype)
        if cast.cast(given.dtype).eq_missing(given).all():
            return pl.lit(cast.item(), cast.dtype)
    except pl.exceptions.PolarsError:
        pass
    raise ClusterEvalError(
        f"noise: expected a value of the type of cluster ({_type_name(dtype)}), "
        f"got '{noise}' ({_type_name(given.dtype)})"
    )


def _checked_keys(lazy: pl.LazyFrame, partition_by: Keys, results: Sequence[str]) -> dict[str, str]:
    """Give the partition columns by their inner names."""
    keys = [partition_by] if isinstance(partition_by, str) else list(partition_by or ())
    _checked_names(keys, "partition_by", lazy.collect_schema().names())
    for i, key in enumerate(keys):
        if key in results:
            raise ClusterEvalError(
                f"partition_by: '{key}' is also a column of the result; rename it first"
            )
        if key in keys[:i]:
            raise ClusterEvalError(f"partition_by: '{key}' is given twice")
    return {f"key_{i}": key for i, key in enumerate(keys)}


# ----------------------------------------------------------------------------------------------
# Exact numbers
# ----------------------------------------------------------------------------------------------


def _double(x: pl.Expr) -> pl.Expr:
    return x.cast(pl.Float64)


def _wide(x: pl.Expr) -> pl.Expr:
    """Give a count as Int128: products of three counts of 1e10 rows keep every digit."""
    return x.cast(pl.Int128)


def _pairs(n: pl.Expr) -> pl.Expr:
    return _wide(n) * (_wide(n) - 1) // 2


def _ratio(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Give x / y, NULL where y is 0."""
    return pl.when(y != 0).then(_double(x) / _double(y))


# Binary places of a sum of numbers of rows, up to 1e14 in all, and of a sum of shares, up to 100.
_ROWS, _SHARES = 80, 120


def _fixed(x: pl.Expr, places: int = _ROWS) -> pl.Expr:
    """Give a number as Int128, with so many binary places.

    Sums of these are exact, and the same in any order. A million equal numbers added one by one in
    double precision, as group_by does, are off by 1e-11.
    """
    return (x * 2.0**places).cast(pl.Int128)


def _unfixed(x: pl.Expr, places: int = _ROWS) -> pl.Expr:
    return _double(x) * 2.0**-places


def _atanh_tail(w: pl.Expr) -> pl.Expr:
    """Give (atanh(v) - v) / v^3 for v^2 = w <= 0.01."""
    tail = w / 17
    for odd in (15, 13, 11, 9, 7, 5):
        tail = w * (1 / odd + tail)
    return 1 / 3 + tail


def _log_ratio(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Give ln(x / y) for counts x, y > 0, without cancellation where they are near."""
    v = _double(x - y) / _double(x + y)
    return pl.when(v.abs() < 0.1).then(2 * v.arctanh()).otherwise((_double(x) / _double(y)).log())


# ----------------------------------------------------------------------------------------------
# Cells, labels, clusters
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """The groups of (partition, label, cluster) of a frame; `keys` maps inner names to the user's.

    Frames that several others are made from are cached: the optimizer would push a projection into
    each use, find the uses different, and compute them all over again.
    """

    groups: pl.LazyFrame
    keys: dict[str, str]

    def shared(self) -> _Table:
        """Give the same for use of row_counts beside cells: both are made from the groups."""
        return _Table(self.groups.cache(), self.keys)

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
        cells = _looked_up(self.cells, [*self.keys, "label"], labels)
        cells = _looked_up(cells, [*self.keys, "cluster"], clusters)
        return self.joined(cells, self.row_counts.select(*self.keys, "total")).cache()

    def summed(self, frame: pl.LazyFrame, terms: Terms) -> pl.LazyFrame:
        """One row a partition; without partitions one row even if the frame has none."""
        return _summed(frame, list(self.keys), terms)

    def joined(self, frame: pl.LazyFrame, *others: pl.LazyFrame) -> pl.LazyFrame:
        """Add the columns of others, each one row a partition."""
        return _joined(frame, list(self.keys), *others)

    def sorted(self, partitions: pl.LazyFrame) -> pl.LazyFrame:
        return partitions.sort(*self.keys, nulls_last=True) if self.keys else partitions

    def result(self, frame: Frame, lazy: pl.LazyFrame) -> Frame:
        return _result(frame, lazy, self.keys)


def _summed(frame: pl.LazyFrame, by: list[str], terms: Terms) -> pl.LazyFrame:
    named = frame.select(*by, **terms)
    sums = [pl.col(name).sum() for name in terms]
    return named.group_by(by).agg(sums) if by else named.select(sums)


def _joined(frame: pl.LazyFrame, by: list[str], *others: pl.LazyFrame) -> pl.LazyFrame:
    for other in others:
        how = {"on": by, "nulls_equal": True} if by else {"how": "cross"}
        frame = frame.join(other, **how)
    return frame


# Polars 1.40 and before cannot be told.
_CAN_BE_TOLD = "build_side" in signature(pl.LazyFrame.join).parameters
_TABLE_HELD: dict[str, Any] = {"build_side": "force_right"} if _CAN_BE_TOLD else {}


def _looked_up(
    rows: pl.LazyFrame, by: list[str], table: pl.LazyFrame, how: Literal["inner", "left"] = "inner"
) -> pl.LazyFrame:
    """Join many rows with a table that is small.

    The engine is told to hold the table. Left to itself it holds back up to ten million rows, to
    see which of the two is the smaller one.
    """
    return rows.join(table, on=by, how=how, nulls_equal=True, **_TABLE_HELD)


def _staged(frame: pl.LazyFrame, *stages: Stage) -> pl.LazyFrame:
    """Add columns, each stage from those before.

    The optimizer computes a conditional again wherever it is used: what is used twice is a stage.
    """
    for stage in stages:
        frame = frame.with_columns(**stage(pl.col))
    return frame


def _result(frame: Frame, lazy: pl.LazyFrame, keys: dict[str, str]) -> Frame:
    """Give the rows the user's names, in the kind of frame that was given."""
    named = lazy.rename(keys)
    return named if isinstance(frame, pl.LazyFrame) else named.collect(engine="streaming")


def _table(
    frame: pl.DataFrame | pl.LazyFrame,
    label: Column,
    cluster: Column,
    weight: Column | None,
    partition_by: Keys,
    noise: object,
    noise_as: NoiseAs,
    results: Sequence[str],
) -> _Table:
    """Check the arguments, and group the rows: the only thing here that reads them."""
    lazy = _checked_lazy(frame)
    _checked_noise_as(noise, noise_as)
    keys = _checked_keys(lazy, partition_by, results)
    columns = [
        _checked_group(lazy, label, "label"),
        _checked_group(lazy, cluster, "cluster"),
        _checked_weight(lazy, weight).alias("n"),
    ]
    rows = lazy.select(*(pl.col(key).alias(name) for name, key in keys.items()), *columns)
    return _Table(_kept(_counted(rows, list(keys)), _noisy(rows, noise), noise_as), keys)


#: Whole numbers by the bits that hold them with a sign; UInt64 has no room for one beside another.
_BITS: dict[type[pl.DataType], int] = {
    **dict.fromkeys((pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16), 32),
    **dict.fromkeys((pl.Int64, pl.UInt32), 64),
}


def _counted(rows: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Sum the multiplicities by partition, label and cluster.

    Two whole numbers are grouped as one: the engine makes bytes of several keys, and takes two to
    three times as long. Pairs with a NULL become one group then; they are dropped all the same.
    """
    label, cluster, n = pl.col("label"), pl.col("cluster"), pl.col("n").sum()
    schema = rows.collect_schema()
    types = schema["label"], schema["cluster"]
    if keys or not all(dtype.base_type() in _BITS for dtype in types):
        return rows.group_by(*keys, "label", "cluster").agg(n)
    bits = max(_BITS[dtype.base_type()] for dtype in types)
    whole = pl.Int64 if bits == 32 else pl.Int128
    unit, half = pl.lit(2**bits, whole), pl.lit(2 ** (bits - 1), whole)
    pair, both = pl.col("pair"), label.cast(whole) * unit + (cluster.cast(whole) + half)
    counted = rows.select("n", pair=both).group_by("pair").agg(n)
    parts = {"label": pair // unit, "cluster": pair % unit - half}
    named = zip(parts.items(), types, strict=True)
    return counted.select("n", *(x.cast(dtype).alias(name) for (name, x), dtype in named))


def _noisy(rows: pl.LazyFrame, noise: object) -> pl.Expr:
    if noise is None:
        return pl.lit(False)
    return pl.col("cluster") == _checked_noise(noise, rows.collect_schema()["cluster"])


def _kept(counted: pl.LazyFrame, noisy: pl.Expr, noise_as: NoiseAs) -> pl.LazyFrame:
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


def _cell_terms(row: Row) -> Terms:
    """Count the pairs in a cell. A singleton has none, so its copies do not matter."""
    return {"both": _pairs(row("n"))}


def _label_terms(row: Row) -> Terms:
    return {"same_label": _pairs(row("a"))}


def _cluster_terms(row: Row) -> Terms:
    return {"same_cluster": _pairs(row("b"))}


def _pair_counts(row: Row) -> Terms:
    both, label, cluster = row("both"), row("same_label"), row("same_cluster")
    return {
        "tp": both,
        "fp": cluster - both,
        "fn": label - both,
        "tn": _pairs(row("total")) - label - cluster + both,
    }


# ----------------------------------------------------------------------------------------------
# The same inside an expression
# ----------------------------------------------------------------------------------------------


def _field(name: str) -> pl.Expr:
    return pl.element().struct.field(name)


class _Lists(NamedTuple):
    """Lists of structs of these fields, one list a group of rows: the frames of an expression.

    An expression has no variables, and value_counts has no order: what is used twice has to be an
    element of a list, which ``list.eval`` computes once and all expressions in it share.
    """

    lists: pl.Expr
    fields: tuple[str, ...]

    def evaluated(self, terms: Terms) -> _Lists:
        struct = pl.struct([term.alias(name) for name, term in terms.items()])
        return _Lists(self.lists.list.eval(struct), tuple(terms))

    def staged(self, *stages: Stage) -> _Lists:
        lists = self
        for stage in stages:
            kept = {name: _field(name) for name in lists.fields}
            lists = lists.evaluated(kept | stage(_field))
        return lists

    def summed(self, terms: Terms) -> _Lists:
        """One struct a group, the sums, and the number of rows."""
        sums = {name: term.sum() for name, term in terms.items()}
        return self.evaluated({"total": _field("total").first(), **sums})

    def score(self, scores: Callable[[Row], Terms], name: str) -> pl.Expr:
        """Give one of the scores of a group, NULL for a group of no rows."""
        score = pl.when(_field("total") > 0).then(scores(_field)[name])
        return self.lists.list.eval(score).list.first().alias(name)


def _listed(label: Column, cluster: Column) -> _Lists:
    """Give the cells with their sizes. Rows with a NULL are left out."""
    sides = [pl.col(side) if isinstance(side, str) else side for side in (label, cluster)]
    known = sides[0].is_not_null() & sides[1].is_not_null()
    cells = pl.struct(sides[0].alias("label"), sides[1].alias("cluster")).alias("cell")
    counts = cells.filter(known).value_counts(name="n").implode()
    n, cell = _field("n").cast(pl.Int64), _field("cell")
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
    return _Lists(counts, ("cell", "n")).evaluated(sized)


def _label_field(name: str) -> pl.Expr:
    """Give a field of the labels: of the first cell of each."""
    return _field(name).filter(_field("first_of_label"))


def _cluster_field(name: str) -> pl.Expr:
    return _field(name).filter(_field("first_of_cluster"))


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
    table = _table(frame, label, cluster, weight, partition_by, noise, noise_as, results)
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
    table = _table(frame, label, cluster, weight, partition_by, noise, noise_as, results).shared()
    totals = table.joined(
        table.row_counts,
        table.summed(table.cells, _cell_terms(pl.col)),
        table.summed(table.labels, _label_terms(pl.col)),
        table.summed(table.clusters, _cluster_terms(pl.col)),
    )
    counts = [n.cast(pl.Decimal(38, 0)).alias(name) for name, n in _pair_counts(pl.col).items()]
    return table.result(frame, table.sorted(totals.select(*table.keys, *counts)))


def external_cluster_report(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
) -> Frame:
    """Describe each cluster by the labels it holds.

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
        The kind that was given, sorted by partition and cluster: the partition columns,
        cluster, n rows, n_labels, majority_label (of equals the lowest), majority_n rows with
        it, purity = majority_n / n, entropy of its labels in nats, and joined_pairs, its pairs
        of rows of different labels. With noise_as 'singletons' one row with cluster NULL and n
        1 stands for all of them.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, a weight is no whole number >= 0, noise has
        no value in the type of cluster, or an option is unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.external_cluster_report(tbl, label, cluster)``.

    Examples
    --------
    The cluster that joins what does not belong together:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> clusters = ce.external_cluster_report(six, "label", "cluster")
    >>> clusters.filter(pl.col("purity") < 1).select("cluster", "n", "n_labels", "purity").rows()
    [(1, 2, 2, 0.5)]
    """
    results = (
        "cluster",
        "n",
        "n_labels",
        "majority_label",
        "majority_n",
        "purity",
        "entropy",
        "joined_pairs",
    )
    table = _table(frame, label, cluster, weight, partition_by, noise, noise_as, results)
    rows = _described(table, table.clusters.rename({"b": "size"}), "cluster", "label")
    return table.result(frame, rows.rename(dict(zip(_DESCRIPTION, results[1:], strict=True))))


def external_label_report(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
) -> Frame:
    """Describe each label by the clusters it lies in.

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
        The kind that was given, sorted by partition and label: the partition columns, label, n
        rows, n_clusters, majority_cluster (of equals the lowest), majority_n rows in it, recall
        = majority_n / n, entropy of its clusters in nats, and split_pairs, its pairs of rows in
        different clusters.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, a weight is no whole number >= 0, noise has
        no value in the type of cluster, or an option is unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.external_label_report(tbl, label, cluster)``.

    Examples
    --------
    Each label lies in two clusters, which split two of its three pairs:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> labels = ce.external_label_report(six, "label", "cluster")
    >>> labels.select("label", "n_clusters", "majority_cluster", "split_pairs").rows()
    [('a', 2, 0, Decimal('2')), ('b', 2, 2, Decimal('2'))]
    """
    results = (
        "label",
        "n",
        "n_clusters",
        "majority_cluster",
        "majority_n",
        "recall",
        "entropy",
        "split_pairs",
    )
    table = _table(frame, label, cluster, weight, partition_by, noise, noise_as, results)
    rows = _described(table, table.labels.rename({"a": "size"}), "label", "cluster")
    return table.result(frame, rows.rename(dict(zip(_DESCRIPTION, results[1:], strict=True))))


_DESCRIPTION = ("size", "parts", "majority", "majority_n", "share", "entropy", "divided_pairs")


def _described(table: _Table, sizes: pl.LazyFrame, side: str, other: str) -> pl.LazyFrame:
    """One row for each value of one side: how the other side divides its rows."""
    by, n, size = [*table.keys, side], pl.col("n"), pl.col("size")
    sizes = sizes.select(*by, "size", "parts", majority_n=f"{side}_majority")
    cells = _looked_up(table.cells, by, sizes)
    # Its largest cell comes first, of equal ones that of the lowest value.
    descending = [name == "n" for name in (*by, "n", other)]
    cells = cells.sort(*by, "n", other, descending=descending, nulls_last=True)
    entropy = pl.col("copies") * _ratio(n, size) * _log_ratio(size, n)
    rows = cells.group_by(by, maintain_order=True).agg(
        pl.col("size", "parts", "majority_n").first(),
        pl.col(other).first().alias("majority"),
        entropy.sum().alias("entropy"),
        _pairs(n).sum().alias("pairs"),
    )
    # All singletons share one row, so no label has the majority of it.
    return rows.select(
        *by,
        "size",
        "parts",
        pl.when(pl.col(side).is_not_null()).then("majority").alias("majority"),
        "majority_n",
        _ratio(pl.col("majority_n"), size).alias("share"),
        "entropy",
        (_pairs(size) - pl.col("pairs")).cast(pl.Decimal(38, 0)).alias("divided_pairs"),
    )
