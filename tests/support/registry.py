"""Every table and metric, and questions to the list.

The tables are those that polars_clustereval/base/tables.py keeps: a new one of a kind that there is
needs nothing here.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, get_args

import polars_clustereval as ce
from polars_clustereval.base.tables import Kind, declared_tables
from polars_clustereval.catalogue import entries
from tests.support import oracle, resolution

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Metrics, each an expression and an aggregate macro: those of external_report, and others.
METRICS = (*oracle.METRICS, *resolution.OWN)
#: Frame functions without a macro, and those of labels, for which numpy draws what they score.
WITHOUT_MACRO = tuple(name for name, x in declared_tables().items() if not x.has_macro)
DRAWN_BY_NUMPY = tuple(name for name in WITHOUT_MACRO if declared_tables()[name].kind == "labels")
POINTS_WITHOUT_MACRO = tuple(x for x in WITHOUT_MACRO if declared_tables()[x].kind == "points")
#: The tables with a macro by their kind, which decides what they are called with.
KINDS: dict[Kind, tuple[str, ...]] = {
    kind: tuple(name for name, x in declared_tables(kind).items() if x.has_macro)
    for kind in get_args(Kind)
}

#: What follows the frame in a call: a column, a tuple of columns, or a value. The kinds that are
#: not here take further frames, or tables of other functions.
GIVEN: dict[Kind, tuple[object, ...]] = {
    "labels": ("label", "cluster"),
    "records": ("label", "cluster"),
    "one clustering": ("cluster",),
    "points": ("vector", "cluster"),
    "points of states": ("vector", "cluster"),
    "nominal values": (("label",), "cluster"),
    "attributes": (("label",), "cluster"),
    "sweep": ("vector", "cluster", "k"),
    "points alone": ("vector",),
    "replication": ("label", "cluster"),
    "runs": ("id", "run", "cluster"),
    "runs and one of them": ("id", "run", "cluster", 0),
    "paired labels": ("label", "cluster", "run"),
    "several clusterings": (("cluster",), "label"),
    "resamples": ("label", "cluster", "run"),
    "removed columns": ("vector", "cluster", "place", "label"),
}


def kind_of(table: str) -> Kind:
    return declared_tables()[table].kind


#: The tables whose columns are scores in the catalogue, in its order, also those without a macro.
WITH_SCORES: dict[Kind, tuple[str, ...]] = {
    kind: tuple(dict.fromkeys(x.table for x in entries().values() if kind_of(x.table) == kind))
    for kind in ("labels", "points")
}


def tables(*kinds: Kind, takes: str | None = None) -> tuple[str, ...]:
    """The tables of these kinds, or of all, that have a parameter of this name."""
    return tuple(
        name
        for kind in kinds or KINDS
        for name in KINDS[kind]
        if takes is None or takes in parameters(name)
    )


def given(table: str) -> Sequence[object]:
    """What follows the frame in a call of this table."""
    return GIVEN[kind_of(table)]


def parameters(name: str) -> list[str]:
    return list(inspect.signature(getattr(ce, name)).parameters)
