"""The columns of each table, from a call on a few rows, and what the reference says of them.

The arguments of a call follow from the names of the parameters, which mean the same in all tables.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import polars as pl

import polars_clustereval as ce
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.catalogue import entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polars_clustereval.base.tables import Table

ROWS = pl.DataFrame(
    {
        **{name: [0, 1, 2, 3] for name in ("id", "left", "right")},
        **{name: [0, 0, 1, 1] for name in ("label", "cluster", "reduced_cluster", "run", "fold")},
        **{name: [0, 0, 1, 1] for name in ("cluster_1", "cluster_2", "resample", "reference_set")},
        **{name: [1, 2, 1, 2] for name in ("removed", "k", "u", "weight")},
        "vector": [[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [5.0, 5.0]],
    }
)
#: More scores than these are counted, not listed.
MAX_SCORES = 12


@cache
def frames() -> dict[str, pl.DataFrame]:
    """The frames that are no plain rows, by the kind of the table or the parameter."""
    curve = ce.elbow(ROWS, "vector", "cluster", "k", partition_by="reference_set")
    return {
        "states": ce.cluster_states(ROWS, "vector", "cluster"),
        "curves": ce.elbow(ROWS, "vector", "cluster", "k"),
        "reference": curve,
        "pairs": ce.distances_from_matrix([1.0] * 6),
        "centroids": ce.centroids(ROWS, "vector", "cluster", partition_by="fold"),
    }


def argument(parameter: str, table: Table) -> Any:
    """What a call has for a required parameter."""
    if parameter == "reference" and table.kind == "runs and one of them":
        return 0
    if parameter == "columns":
        return ["u"]
    if parameter == "clusters":
        return ["cluster"]
    if parameter in ("edges", "neighbors") or parameter.startswith("frame"):
        return frames().get(table.kind, ROWS)
    if parameter == "pairs" and table.kind == "pair labels":
        return frames()["pairs"].with_columns(is_match=True)
    return frames().get(parameter, parameter)


@cache
def named_columns(name: str) -> tuple[str, ...]:
    """The columns of a table without partitions."""
    table = declared_tables()[name]
    parameters = inspect.signature(table.function).parameters.values()
    required = [x.name for x in parameters if x.default is x.empty]
    # compare_clusterings needs labels or vectors.
    required += ["label"] if table.kind == "several clusterings" else []
    return tuple(table.function(*(argument(x, table) for x in required)).columns)


def columns_in_words(name: str) -> str:
    """The columns as the reference lists them, those that order the rows in bold."""
    columns, order = named_columns(name), declared_tables()[name].order
    words = []
    if set(columns) > set(ROWS.columns):
        words, columns = ["all columns of the table"], columns[len(ROWS.columns) :]
    scores = [x for x in columns if x in entries()]
    are_listed = len(list(in_runs(scores))) <= MAX_SCORES
    listed = columns if are_listed else [x for x in columns if x not in scores]
    words += [f"**`{x}`**" if x in order else f"`{x}`" for x in in_runs(listed)]
    counted = [] if are_listed else [f"and {len(scores)} [scores](metrics.md)"]
    return ", ".join(words + counted)


def in_runs(columns: Sequence[str]) -> Iterator[str]:
    """The columns; those that differ in a number at the end are one: gdi_11` … `gdi_63."""
    for stem, found in groupby(columns, lambda name: re.sub(r"\d+$", "#", name)):
        names = list(found)
        is_run = stem.endswith("#") and len(names) > 2
        yield from [f"{names[0]}` … `{names[-1]}"] if is_run else names
