"""Commands: what is done once the arguments are parsed, and the reports there are."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.external.report import external_report
from polars_clustereval.internal.report import internal_report
from polars_clustereval.internal.silhouette import silhouette_score
from polars_clustereval.macros import bundle

from .engines import ENGINES
from .files import found
from .layouts import EXTERNAL, INTERNAL, SILHOUETTE
from .mistakes import MISTAKES, one_line
from .output import FILES, format_of
from .terminal import table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    import polars as pl

    from .layouts import Layout

__all__ = ["REPORTS", "Report", "bundled", "reported"]


class Report(NamedTuple):
    """A report by its Polars function; the macro has the same name and parameters."""

    function: Callable[..., pl.LazyFrame]
    about: str
    layout: Layout

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters, without the frame, and their defaults."""
        _, *parameters = signature(self.function).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    @property
    def required(self) -> list[str]:
        """The parameters that have none."""
        return [name for name, default in self.defaults.items() if default is Parameter.empty]


REPORTS = {
    "external": Report(
        external_report, "every external metric of a clustering, or of many", EXTERNAL
    ),
    "internal": Report(
        internal_report, "the internal indices of a clustering, or of many", INTERNAL
    ),
    "silhouette": Report(
        silhouette_score, "the mean silhouette of a clustering, or of many", SILHOUETTE
    ),
}


def reported(options: argparse.Namespace) -> bytes:
    """Give the report in the format that is asked for."""
    kind = options.format or format_of(options.output)
    if kind == "parquet" and options.output is None:
        raise ClusterEvalError("--format parquet needs --output: it is no text for a screen")
    source = found(options.file)
    try:
        report = ENGINES[options.engine](source, options)
    except MISTAKES as error:
        raise ClusterEvalError(f"{source.path}: {one_line(error)}") from error
    return FILES[kind](report) if kind in FILES else table(report, options)


def bundled(_: argparse.Namespace) -> bytes:
    """Give the SQL macros."""
    return bundle().encode()
