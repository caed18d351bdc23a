"""Noise: writes a note if no row of the input has the cluster that the option --noise specifies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import column_named, equals_noise, show_value

from .engines import read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .options import Call
    from .sources import Source

__all__ = ["describe_unknown_noise"]

# The number of clusters that the note names.
_SHOWN = 5


def describe_unknown_noise(
    sources: Sequence[Source], call: Call, result: pl.DataFrame
) -> list[str]:
    """Return a note that lists some of the clusters if no row has the cluster that marks noise.

    `sources` lists the inputs of the report, in order, and `result` contains the rows of the
    report. The inputs are read again unless the report has already counted noise.
    """
    noise = call.arguments.get("noise")
    if noise is None:
        return []
    if "n_noise" in result.columns and result["n_noise"].sum():
        return []
    clusters = _read_clusters(sources, call)
    dtype = clusters.collect_schema()["cluster"]
    has_noise = equals_noise(pl.col("cluster"), noise, dtype).any()
    known = clusters.drop_nulls().unique().collect(engine="streaming")
    if known.is_empty() or known.select(has_noise).item():
        return []
    named = known if dtype.is_nested() else known.sort("cluster")
    names = ", ".join(map(show_value, named["cluster"].head(_SHOWN)))
    more = ", ..." if known.height > _SHOWN else ""
    there_are = "the clusters are" if known.height > 1 else "the only cluster is"
    where = ", ".join(source.name for source in sources)
    return [f"{where}: no row has cluster {show_value(noise)}; {there_are} {names}{more}"]


def _read_clusters(sources: Sequence[Source], call: Call) -> pl.LazyFrame:
    """Return the clusters of all inputs that have clusters, in a column named `cluster`."""
    return pl.concat(
        [
            read_rows(source, call, table)[0].select(
                cluster=column_named(call.arguments["cluster"])
            )
            for source, table in zip(sources, call.report.inputs, strict=True)
            if "cluster" in table.columns
        ],
        how="vertical_relaxed",
    )
