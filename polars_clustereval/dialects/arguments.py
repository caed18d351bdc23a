"""Checks for the arguments of to_sql, and functions that turn names into syntax trees."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, get_args

import duckdb
from sqlglot import exp

from polars_clustereval.base.checks import check_choice
from polars_clustereval.base.unknown_names import suggest_name
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.internal.kernels.other_clusters import Between
from polars_clustereval.macros import macro_definitions, register

from .identifiers import parse_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Distances whose silhouettes follow from sums over clusters. Other distances need pairs of points.
_SUMMED_DISTANCES = ("sqeuclidean", "cosine")


def check_kept_cells(name: str, given: Mapping[str, Any]) -> None:
    """Raise an error unless label and cluster are either both given or both omitted.

    If they are omitted, the table is a saved contingency table. It has no individual rows, which
    bcubed_samples needs, and already takes weight, partition_by and noise into account.
    """
    label, cluster = given["label"], given["cluster"]
    if label is not None and cluster is not None:
        return
    if label is not None or cluster is not None:
        missing = "cluster" if cluster is None else "label"
        raise ClusterEvalError(
            f"{missing}: expected a column as well as {'label' if cluster is None else 'cluster'}; "
            "leave out both if the table is a saved contingency table, with the rows of "
            "contingency_matrix"
        )
    if name == "bcubed_samples":
        raise ClusterEvalError(
            "label: bcubed_samples needs the label and the cluster of each row, and a saved "
            "contingency table has no individual rows"
        )
    for parameter in ("weight", "partition_by", "noise"):
        if given[parameter] is not None:
            raise ClusterEvalError(
                f"{parameter}: a saved contingency table already contains it; leave it out, or "
                "give label and cluster"
            )


def check_columns(given: Mapping[str, str | None]) -> None:
    """Raise an error unless each value is the name of a single column, or None."""
    for parameter, value in given.items():
        if value is not None and not isinstance(value, str):
            raise ClusterEvalError(
                f"{parameter}: expected the name of one column, got {value!r}; combine several "
                "columns to one in a view, such as concat(a, '|', b)"
            )


def check_weights(weights: Sequence[float] | None, n_dims: int) -> None:
    """Raise an error unless `weights` is None or has one weight for each dimension."""
    if weights is not None and len(weights) != n_dims:
        raise ClusterEvalError(
            f"weights: expected one for each of {n_dims} dimensions, got {len(weights)}"
        )


def check_silhouette(name: str, options: Mapping[str, Any]) -> None:
    """Raise an error for an invalid silhouette option, or a distance that needs pairs of points."""
    distance, method = str(options["distance"]).lower(), options["method"]
    if not name.startswith("silhouette_"):
        return
    check_choice("between", options["between"], get_args(Between))
    if method == "simplified":
        return
    if method != "exact":
        raise ClusterEvalError(
            f"method: expected 'exact' or 'simplified' in other dialects, got {method!r}"
        )
    if distance not in _SUMMED_DISTANCES:
        way_out = "; silhouette_score with method='simplified' accepts every distance"
        raise ClusterEvalError(
            f"distance: {name} in other dialects needs {' or '.join(map(repr, _SUMMED_DISTANCES))}"
            f", because other distances need pairs of points, got {distance!r}{way_out}"
        )


def name_coordinates(
    name: str,
    vector: str | Sequence[str] | None,
    size: int | None,
    weights: Sequence[float] | None,
) -> list[exp.Expr]:
    """Return the coordinates as trees: the columns `vector`, or `size` elements of an array."""
    if isinstance(vector, str):
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ClusterEvalError(
                f"size: expected the number of coordinates of {vector!r}, a whole number >= 1, "
                f"got {size!r}; or give the columns of the coordinates as a list"
            )
        places = map(exp.Literal.number, range(size))
        coordinates: list[exp.Expr] = [
            exp.Bracket(this=parse_column(vector), expressions=[x]) for x in places
        ]
    else:
        names = list(vector or ())
        if not names or not all(isinstance(column, str) for column in names):
            raise ClusterEvalError(
                f"vector: {name} needs names of columns, such as ['x', 'y'], or one column of "
                f"arrays with size, got {vector!r}"
            )
        if size not in (None, len(names)):
            raise ClusterEvalError(
                f"size: expected {len(names)}, the number of columns in vector, got {size!r}"
            )
        coordinates = [parse_column(column) for column in names]
    check_weights(weights, len(coordinates))
    return coordinates


def check_tables(name: str, given: Mapping[str, str | None]) -> None:
    """Raise an error if a table or column that the macro `name` needs is missing."""
    is_of_runs = "tbl_before" in macro_definitions()[name][0]
    needed = ("tbl_before", "tbl_after", "id", "cluster") if is_of_runs else ("tbl",)
    for parameter in needed:
        if given[parameter] is None:
            raise ClusterEvalError(f"{parameter}: {name} needs {', '.join(needed)}, got None")


def refuse_unknown_parameters(name: str, given: Iterable[str]) -> None:
    """Raise an error if `given` contains a parameter that the macro `name` does not have."""
    parameters, _ = macro_definitions()[name]
    known = [*parameters, "size"] if "vector" in parameters else parameters
    for parameter in given:
        if parameter not in known:
            raise ClusterEvalError(
                f"{parameter}: not a parameter of {name}, which takes {', '.join(known)}"
            )


def unknown_choice_text(parameter: str, value: str, known: Iterable[str]) -> str:
    """Return the error message for a `value` of a parameter that is not in `known`."""
    choices = sorted(known)
    hint = suggest_name(value, choices)
    return f"{parameter}: expected one of {', '.join(choices)}, got {value!r}{hint}"


@functools.cache
def _registered_connection() -> duckdb.DuckDBPyConnection:
    """Return the DuckDB connection that all calls share, with the macros registered."""
    con = duckdb.connect()
    register(con)
    return con


def open_cursor() -> duckdb.DuckDBPyConnection:
    """Return a new DuckDB cursor that has the macros; threads cannot share one."""
    return _registered_connection().cursor()
