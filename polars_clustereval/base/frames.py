"""frames: joins, sums and look-ups by partition, on frames and on lists inside an expression."""

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
Stage = Callable[[Row], Terms]


# ----------------------------------------------------------------------------------------------
# Sums
# ----------------------------------------------------------------------------------------------


def sum_by(frame: pl.LazyFrame, by: list[str], terms: Terms) -> pl.LazyFrame:
    named = frame.select(*by, **terms)
    sums = [pl.col(name).sum() for name in terms]
    return named.group_by(by).agg(sums) if by else named.select(sums)


def aggregate_by(frame: pl.LazyFrame, by: list[str], terms: Terms) -> pl.LazyFrame:
    """One row per group; without keys one row even if the frame has none."""
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
    """Add the columns of others, each one row per partition."""
    for other in others:
        if by:
            frame = frame.join(other, on=by, how=how, nulls_equal=True)
        else:
            frame = frame.join(other, how="cross")
    return frame


# Polars up to 1.40 has no such parameter.
_HAS_BUILD_SIDE = "build_side" in signature(pl.LazyFrame.join).parameters


_HOLD_RIGHT: dict[str, Any] = {"build_side": "force_right"} if _HAS_BUILD_SIDE else {}


def join_small(
    rows: pl.LazyFrame, by: list[str], table: pl.LazyFrame, how: Literal["inner", "left"] = "inner"
) -> pl.LazyFrame:
    """Join many rows with a table that is small.

    The engine is told to hold the table. Left to itself it holds back up to ten million rows, to
    see which of the two is the smaller one.
    """
    return rows.join(table, on=by, how=how, nulls_equal=True, **_HOLD_RIGHT)


# ----------------------------------------------------------------------------------------------
# Columns
# ----------------------------------------------------------------------------------------------


def add_stages(frame: pl.LazyFrame, *stages: Stage) -> pl.LazyFrame:
    """Add columns, each stage from those before.

    The optimizer computes a conditional again wherever it is used: what is used twice is a stage.
    """
    for stage in stages:
        frame = frame.with_columns(**stage(pl.col))
    return frame


def to_user_frame(frame: Frame, lazy: pl.LazyFrame, keys: dict[str, str]) -> Frame:
    """Give the rows the user's names, in the kind of frame that was given."""
    named = lazy.rename(keys)
    return named if isinstance(frame, pl.LazyFrame) else named.collect(engine="streaming")


# ----------------------------------------------------------------------------------------------
# The same inside an expression
# ----------------------------------------------------------------------------------------------


def element_field(name: str) -> pl.Expr:
    return pl.element().struct.field(name)


class StructLists(NamedTuple):
    """Lists of structs of these fields, one list a group of rows: the frames of an expression.

    An expression has no variables, and value_counts has no order: what is used twice has to be an
    element of a list, which ``list.eval`` computes once and all expressions in it share.
    """

    lists: pl.Expr
    fields: tuple[str, ...]

    def evaluated(self, terms: Terms) -> StructLists:
        struct = pl.struct([term.alias(name) for name, term in terms.items()])
        return StructLists(self.lists.list.eval(struct), tuple(terms))

    def staged(self, *stages: Stage) -> StructLists:
        lists = self
        for stage in stages:
            kept = {name: element_field(name) for name in lists.fields}
            lists = lists.evaluated(kept | stage(element_field))
        return lists

    def summed(self, terms: Terms) -> StructLists:
        """One struct a group, the sums, and the number of rows."""
        sums = {name: term.sum() for name, term in terms.items()}
        return self.evaluated({"total": element_field("total").first(), **sums})

    def score(self, scores: Callable[[Row], Terms], name: str) -> pl.Expr:
        """Give one of the scores of a group, NULL for a group of no rows."""
        score = pl.when(element_field("total") > 0).then(scores(element_field)[name])
        return self.lists.list.eval(score).list.first().alias(name)
