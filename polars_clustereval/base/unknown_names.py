"""Error messages for names and parameters that do not exist in the package."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import polars as pl

from .data_arguments import required_parameters
from .public_names import TABLES, import_function

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

Function = TypeVar("Function", bound="Callable[..., Any]")

#: The names here of scores and functions, by their abbreviations and names in other libraries.
OTHER_NAMES = {
    "acc": "clustering_accuracy",
    "ami": "adjusted_mutual_info_score",
    "ari": "adjusted_rand_score",
    "asw": "silhouette_score",
    "bcubed": "bcubed_f_score",
    "ch": "calinski_harabasz_score",
    "completeness": "completeness_score",
    "confusion_matrix": "contingency_matrix",
    "db": "davies_bouldin_score",
    "dbcv": "density_based_validity",
    "dbi": "davies_bouldin_score",
    "dunn": "dunn_index",
    "emi": "expected_mutual_info",
    "entropy": "label_entropy",
    "fmi": "fowlkes_mallows_score",
    "homogeneity": "homogeneity_score",
    "homogeneity_completeness_v_measure": "external_report",
    "inertia": "ssw",
    "jaccard": "jaccard_index",
    "mi": "mutual_info_score",
    "nmi": "normalized_mutual_info_score",
    "nvi": "normalized_variation_of_information",
    "pair_confusion_matrix": "pair_counts",
    "ri": "rand_score",
    "rmi": "reduced_mutual_info_score",
    "sse": "ssw",
    "v_measure": "v_measure_score",
    "validity_index": "density_based_validity",
    "vi": "variation_of_information",
    "vrc": "calinski_harabasz_score",
    "wcss": "ssw",
    "wss": "ssw",
}

#: An example argument for each parameter that tables of clusters require.
_SAMPLE = {
    "label": [0],
    "cluster": [0],
    "vector": [[0.0]],
    "id": [0],
    "run": [0],
    "k": [1],
}


def other_name(name: str) -> str | None:
    """Return the name here of a score or a function that has another name elsewhere."""
    return OTHER_NAMES.get(name.lower().removesuffix("_score"))


def suggest_name(name: str, known: Collection[str]) -> str:
    """Return a hint for the error of an unknown name, empty if no known name is similar."""
    other = other_name(name)
    near = [other] if other in known else get_close_matches(name, known, n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def describe_unknown_name(name: str, public: Collection[str]) -> str:
    """Return the end of an error message, which says what to use instead of `name`, if known.

    If `name` is a column of a table, such as calinski_harabasz_score, the message shows how to call
    that table.
    """
    tables, lower = _tables_by_column(), name.lower()
    # Column names are short, so they must be more similar to `name` than public names must be.
    similar = get_close_matches(lower, tables, n=1, cutoff=0.8)
    similar += get_close_matches(lower, public, n=1, cutoff=0.65)
    twin = other_name(lower) or next(iter(similar), None)
    if not twin:
        return ""
    if twin in public:
        return f"; did you mean '{twin}'?"
    table = tables[twin]
    call = f'ce.{table.__name__}({", ".join(required_parameters(table))})["{twin}"]'
    question = "it is" if twin == name else "did you mean"
    return f"; {question} a column of {table.__name__}: {call}"


@cache
def _tables_by_column() -> dict[str, Callable[..., Any]]:
    """Return a mapping from each column to the table that an error message should suggest.

    Tables that require anything besides a frame and some of its columns are not included. If
    several tables have the same column, the table with the fewest required arguments is chosen.
    Ties are resolved in favor of the table with the most columns.
    """
    functions = [import_function(name, module) for name, module in sorted(TABLES.items())]
    columns = {
        function: _columns_of(function)
        for function in functions
        if {"frame", "cluster"} <= set(required_parameters(function)) <= {"frame", *_SAMPLE}
    }
    order = sorted(
        columns, key=lambda table: (-len(required_parameters(table)), len(columns[table]))
    )
    return {column: table for table in order for column in columns[table]}


def _columns_of(table: Callable[..., pl.DataFrame]) -> list[str]:
    """Return the names of the columns of a table that are not also parameters of the table."""
    result = table(pl.DataFrame(_SAMPLE), *required_parameters(table)[1:])
    return [column for column in result.columns if column not in _SAMPLE]


# ----------------------------------------------------------------------------------------------
# Parameters
# ----------------------------------------------------------------------------------------------

_PARAMETERS = "    Parameters\n    ----------\n"
#: Documentation of the columns that every aggregate takes, and of how to leave out noise.
_COLUMNS = """\
    label, cluster : str or Expr
        The true class and the assigned cluster. Any type that can be grouped is allowed. Rows with
        a NULL in either column are left out. To leave noise out, make it NULL: pass {cluster}
        instead of "cluster".
"""


def explain_noise(function: Function) -> Function:
    """Return an aggregate whose errors and docstring tell users how to exclude noise.

    Only tables have noise options, and Python's own error message would mention only the unknown
    parameter. In the source code, the docstring of an aggregate does not describe label and
    cluster, because all aggregates have these two parameters. The descriptions of label and cluster
    are added here.
    """

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        """Check the call, and then pass it on to the function."""
        for parameter in ("noise", "noise_as"):
            if parameter in kwargs:
                name, clusters = function.__name__, _clusters_without(kwargs.get("noise", -1))
                raise TypeError(
                    f"{name}() has no parameter '{parameter}'; only tables have it. To leave noise "
                    f'out, write ce.{name}("label", {clusters})'
                )
        return function(*args, **kwargs)

    checked.__doc__ = _with_columns(function.__doc__ or "")
    return cast("Function", checked)


def _with_columns(docstring: str) -> str:
    """Return the docstring of an aggregate with label and cluster as its first parameters."""
    columns = _COLUMNS.format(cluster=_clusters_without(-1))
    if _PARAMETERS in docstring:
        return docstring.replace(_PARAMETERS, _PARAMETERS + columns)
    return docstring.replace("    Examples\n", f"{_PARAMETERS}{columns}\n    Examples\n")


def _clusters_without(noise: object) -> str:
    """Return code for the cluster column with the noise value replaced by NULL."""
    shown = f'"{noise}"' if isinstance(noise, str) else repr(noise)
    return f'pl.when(pl.col("cluster") != {shown}).then("cluster")'
