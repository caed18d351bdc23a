"""Reports: the tables that the command line can compute, one command each."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from polars_clustereval import external_report, internal_report, silhouette_score

from .layouts import EXTERNAL, INTERNAL, SILHOUETTE

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from .layouts import Layout

__all__ = ["REPORTS", "Report"]


class Report(NamedTuple):
    """A report by its Polars function; the SQL macro has the same name and parameters."""

    function: Callable[..., pl.LazyFrame]
    description: str
    layout: Layout

    @property
    def defaults(self) -> dict[str, Any]:
        """Default of each parameter but the frame; ``Parameter.empty`` for a required one."""
        _, *parameters = signature(self.function).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    @property
    def required(self) -> list[str]:
        """Names of the parameters without a default, the frame left out."""
        return [name for name, default in self.defaults.items() if default is Parameter.empty]


REPORTS = {
    "external": Report(
        external_report, "every external metric of one or many clusterings", EXTERNAL
    ),
    "internal": Report(
        internal_report, "the internal indices of one or many clusterings", INTERNAL
    ),
    "silhouette": Report(
        silhouette_score, "the mean silhouette of one or many clusterings", SILHOUETTE
    ),
}
