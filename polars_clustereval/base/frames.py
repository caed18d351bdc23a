"""Joins, sums and added columns by partition, for frames and for lists inside an expression."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from .checks import Frame

#: Returns the expression of a column by its name: ``pl.col``, or ``element_field`` inside a list.
Row = Callable[[str], pl.Expr]
#: Expressions by the names of the columns that they become.
Terms = dict[str, pl.Expr]
#: Columns to add, as expressions of the columns of a row.
Stage = Callable[[Row], Terms]


# ----------------------------------------------------------------------------------------------
# Sums
# ----------------------------------------------------------------------------------------------


def sum_by(frame: pl.LazyFrame, by: list[str], terms: Terms) -> pl.LazyFrame:
    """Return the sums of the terms by group; without keys one row even if the frame has none."""
    named = frame.select(*by, **terms)
    sums = [pl.col(name).sum() for name in terms]
    return named.group_by(by).agg(sums) if by else named.select(sums)


def aggregate_by(frame: pl.LazyFrame, by: list[str], terms: Terms) -> pl.LazyFrame:
    """Return the aggregates `terms` by group; without keys one row even if the frame has none."""
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
    """Return the frame joined with others on the partition columns `by`.

    Each of the others has one row per partition; without partition columns it has one row.
    """
    for other in others:
        if by:
            frame = frame.join(other, on=by, how=how, nulls_equal=True)
        else:
            frame = frame.join(other, how="cross")
    return frame


# Polars up to 1.40 does not have this parameter.
_HAS_BUILD_SIDE = "build_side" in signature(pl.LazyFrame.join).parameters
_BUILD_RIGHT: dict[str, Any] = {"build_side": "force_right"} if _HAS_BUILD_SIDE else {}


def join_small(
    rows: pl.LazyFrame, by: list[str], table: pl.LazyFrame, how: Literal["inner", "left"] = "inner"
) -> pl.LazyFrame:
    """Return many rows joined with a small table on these columns, NULL equal to NULL.

    The hash table is built of the small table. By default the engine buffers up to ten million rows
    to find out which of the two is smaller.
    """
    return rows.join(table, on=by, how=how, nulls_equal=True, **_BUILD_RIGHT)


# ----------------------------------------------------------------------------------------------
# Columns
# ----------------------------------------------------------------------------------------------


def add_stages(frame: pl.LazyFrame, *stages: Stage) -> pl.LazyFrame:
    """Return the frame with the columns of each stage, which may use those of earlier stages.

    The optimizer computes a conditional again wherever it is used: what is used twice is a stage.
    """
    for stage in stages:
        frame = frame.with_columns(**stage(pl.col))
    return frame


def to_user_frame(frame: Frame, lazy: pl.LazyFrame, keys: dict[str, str]) -> Frame:
    """Return a result as the kind of `frame`, with the user's names of the partition columns.

    `keys` are these names by inner name.
    """
    named = lazy.rename(keys)
    return named if isinstance(frame, pl.LazyFrame) else named.collect(engine="streaming")


# ----------------------------------------------------------------------------------------------
# Frames inside an expression: lists of structs
# ----------------------------------------------------------------------------------------------


def element_field(name: str) -> pl.Expr:
    """Return a field of the structs of a list, inside ``list.eval``."""
    return pl.element().struct.field(name)


class StructLists(NamedTuple):
    """Lists of structs, one list per group of rows: what a frame is inside an expression.

    An expression has no variables, and value_counts has no order: what is used twice has to be an
    element of a list, which ``list.eval`` computes once for all expressions in it.
    """

    lists: pl.Expr
    fields: tuple[str, ...]

    def select(self, terms: Terms) -> StructLists:
        """Return lists of structs of these terms alone."""
        struct = pl.struct([term.alias(name) for name, term in terms.items()])
        return StructLists(self.lists.list.eval(struct), tuple(terms))

    def add_stages(self, *stages: Stage) -> StructLists:
        """Return the lists with the fields of each stage, which may use those of earlier stages."""
        structs = self
        for stage in stages:
            fields = {name: element_field(name) for name in structs.fields}
            structs = structs.select(fields | stage(element_field))
        return structs

    def sum_terms(self, terms: Terms) -> StructLists:
        """Return lists of one struct: the sums of the terms, and the number of rows (total)."""
        sums = {name: term.sum() for name, term in terms.items()}
        return self.select({"total": element_field("total").first(), **sums})

    def score(self, scores: Callable[[Row], Terms], name: str) -> pl.Expr:
        """Return the score of this name for each group, NULL for a group without rows."""
        score = pl.when(element_field("total") > 0).then(scores(element_field)[name])
        return self.lists.list.eval(score).list.first().alias(name)
