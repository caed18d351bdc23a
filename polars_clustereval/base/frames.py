"""Joins, sums and computed columns per partition, for frames and for lists inside an expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from .checks import check_metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .checks import Frame
    from .counts import Count
    from .metric_facts import MetricFacts
    from .score_facts import Entry

#: A function that returns a column by its name: ``pl.col``, or ``element_field`` inside a list. A
#: formula takes it as `row`, so that the same formula serves frames and expressions.
Row = Callable[[str], pl.Expr]
#: Expressions by the names of their columns in the result. The name of a function that returns
#: them ends in _terms, or in _scores if they are scores. Terms of a cell, a label or a cluster are
#: summed over all of its partition.
Terms = dict[str, pl.Expr]
#: A function from the columns of a row to the columns that are added to it.
Stage = Callable[[Row], Terms]


# ----------------------------------------------------------------------------------------------
# Sums
# ----------------------------------------------------------------------------------------------


def sum_by(frame: pl.LazyFrame, by: list[str], terms: Terms) -> pl.LazyFrame:
    """Return the sum of each of the `terms` for each group defined by the columns `by`.

    If `by` is empty, the result has exactly one row, even if the frame has no rows.
    """
    named = frame.select(*by, **terms)
    sums = [pl.col(name).sum() for name in terms]
    return named.group_by(by).agg(sums) if by else named.select(sums)


def only_value(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return an aggregate that yields the only non-NULL value of a column."""
    column = pl.col(name)
    return column.drop_nulls().first() if dtype.is_nested() or dtype == pl.Null else column.max()


def aggregate_by(frame: pl.LazyFrame, by: list[str], terms: Terms) -> pl.LazyFrame:
    """Return the aggregates `terms` for each group of `by`, or in one row if `by` is empty."""
    return frame.group_by(by).agg(**terms) if by else frame.select(**terms)


# ----------------------------------------------------------------------------------------------
# Joins
# ----------------------------------------------------------------------------------------------


def join_partitions(
    frame: pl.LazyFrame,
    by: list[str],
    *others: pl.LazyFrame,
    how: Literal["inner", "left"] = "inner",
) -> pl.LazyFrame:
    """Return `frame` with the columns of `others`, joined on the partition columns `by`.

    A partition is a group of rows that is evaluated separately. NULL is treated like any other
    value of a partition column. Each frame in `others` has one row per partition, or a single row
    if `by` is empty.
    """
    for other in others:
        if by:
            frame = frame.join(other, on=by, how=how, nulls_equal=True)
        else:
            frame = frame.join(other, how="cross")
    return frame


# Polars before 1.41 does not have this parameter.
_HAS_BUILD_SIDE = "build_side" in signature(pl.LazyFrame.join).parameters
_BUILD_RIGHT: dict[str, Any] = {"build_side": "force_right"} if _HAS_BUILD_SIDE else {}


def join_small(
    rows: pl.LazyFrame, by: list[str], table: pl.LazyFrame, how: Literal["inner", "left"] = "inner"
) -> pl.LazyFrame:
    """Return the long frame `rows`, joined with the small frame `table`, where NULLs are equal.

    The join includes a hint that tells the engine to build its hash table from `table`. Without
    this hint, the engine would buffer up to ten million rows to find out which of the two frames is
    smaller.
    """
    return rows.join(table, on=by, how=how, nulls_equal=True, **_BUILD_RIGHT)


# ----------------------------------------------------------------------------------------------
# Functions of frames
# ----------------------------------------------------------------------------------------------


def map_whole(
    frame: pl.LazyFrame, function: Callable[[pl.DataFrame], pl.DataFrame], schema: pl.Schema
) -> pl.LazyFrame:
    """Return the result of `function` for the whole frame, when it is collected.

    The optimizer does not push filters and selections of the result into `frame`.
    """
    return frame.map_batches(
        function,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=schema,
    )


# ----------------------------------------------------------------------------------------------
# Columns
# ----------------------------------------------------------------------------------------------


def add_stages(frame: pl.LazyFrame, *stages: Stage) -> pl.LazyFrame:
    """Return `frame` with the columns that the stages add one after another.

    The expressions of a stage may use the columns of earlier stages. Put a column that is used
    twice into its own stage, because Polars recomputes a when/then expression each time it is used.
    """
    for stage in stages:
        frame = frame.with_columns(**stage(pl.col))
    return frame


def _has_same_parts(dtype: Any, other: Any) -> bool:
    """Return whether two types are structs whose fields have the same types in the same order."""
    if not (dtype == pl.Struct and other == pl.Struct):
        return False
    types = [[field.dtype for field in one.fields] for one in (dtype, other)]
    return types[0] == types[1]


def align_structs(frame: pl.LazyFrame, like: Mapping[str, Any]) -> pl.LazyFrame:
    """Return `frame` with the struct fields named as in the types `like`, if only names differ.

    Without this renaming, the column could not be compared with a column of another table.
    """
    schema = frame.collect_schema()
    return frame.with_columns(
        pl.col(name).struct.rename_fields([field.name for field in dtype.fields])
        for name, dtype in like.items()
        if schema[name] != dtype and _has_same_parts(schema[name], dtype)
    )


def list_meanings(scores: Iterable[Count | MetricFacts | Entry]) -> pl.LazyFrame:
    """Return one row per count or score, with place, metric, best, meaning and family."""
    rows = [(x.name, x.best or None, x.meaning, x.family) for x in scores]
    schema = dict.fromkeys(("metric", "best", "meaning", "family"), pl.String)
    return pl.LazyFrame(rows, schema, orient="row").with_row_index("place")


def to_user_frame(
    frame: Frame, lazy: pl.LazyFrame, keys: dict[str, str], metrics: Sequence[str] | None = None
) -> Frame:
    """Return the result `lazy` with the user's names, and collect it if `frame` is a DataFrame.

    `keys` is the result of check_partition_keys. `metrics` lists the columns to return after the
    partition columns, or is None for all columns. Values that are needed only for other columns are
    not computed.
    """
    if metrics is not None:
        known = [name for name in lazy.collect_schema().names() if name not in keys]
        lazy = lazy.select(*keys, *check_metrics(metrics, known))
    named = lazy.rename(keys)
    return named if isinstance(frame, pl.LazyFrame) else named.collect(engine="streaming")


# ----------------------------------------------------------------------------------------------
# Frames inside an expression: lists of structs
# ----------------------------------------------------------------------------------------------


def element_field(name: str) -> pl.Expr:
    """Return the field `name` of the structs in a list, as an expression for ``list.eval``."""
    return pl.element().struct.field(name)


def element_fields(*names: str) -> Terms:
    """Return the fields `names` as terms of StructLists.select."""
    return {name: element_field(name) for name in names}


class StructLists(NamedTuple):
    """An expression that is used in place of a frame, and whose values are lists of structs.

    There is one list for each group of rows in the user's frame. Each struct in a list corresponds
    to a row of a frame, and `fields` contains the names of the struct's fields. An expression has
    no variables, so a value that is used twice is computed twice. In contrast, ``list.eval``
    computes the elements of a list only once for all expressions inside it.
    """

    lists: pl.Expr
    fields: tuple[str, ...]

    def select(self, terms: Terms) -> StructLists:
        """Return the lists with only the fields `terms`, which use element_field."""
        struct = pl.struct([term.alias(name) for name, term in terms.items()])
        return StructLists(self.lists.list.eval(struct), tuple(terms))

    def add_stages(self, *stages: Stage) -> StructLists:
        """Return the lists with the fields that the stages add one after another."""
        structs = self
        for stage in stages:
            structs = structs.select(element_fields(*structs.fields) | stage(element_field))
        return structs

    def sum_terms(self, terms: Terms) -> StructLists:
        """Return lists of a single struct, with `total` and the sums of the `terms`."""
        sums = {name: term.sum() for name, term in terms.items()}
        return self.select({"total": element_field("total").first(), **sums})

    def score(self, scores: Callable[[Row], Terms], name: str) -> pl.Expr:
        """Return the score `name` of a list of a single struct, or NULL if its `total` is 0."""
        score = pl.when(element_field("total") > 0).then(scores(element_field)[name])
        return self.lists.list.eval(score).list.first().alias(name)
