"""Noise: notes about a value of --noise that no row has, and about clusters that may be noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import column_named, equals_noise, show_value
from polars_clustereval.base.findings import NOISE_ADVICE, NOISE_NAMES
from polars_clustereval.base.quoting import quote_identifier, quote_literal

from .engines import list_columns, open_rows, read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .options import Call
    from .reports import Input
    from .sources import Source

__all__ = ["ask_about_noise", "describe_unknown_noise", "describe_unnamed_noise"]

# The number of clusters that the note names.
_SHOWN = 5


def describe_unknown_noise(
    sources: Sequence[Source], call: Call, result: pl.DataFrame
) -> list[str]:
    """Return a note that lists some of the clusters if no row has the cluster that marks noise."""
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


def ask_about_noise(name: str, side: str = "cluster") -> str:
    """Return a sentence about a cluster or label that looks like noise, without a period."""
    advice = NOISE_ADVICE[side] if side == "label" else f"give --noise {name} and --noise-as"
    return f"{side} {name} is counted as a {side}; if it is noise, {advice}"


def describe_unnamed_noise(sources: Sequence[Source], call: Call) -> list[str]:
    """Return a note about each cluster or label that looks like noise, unless noise is given."""
    if "noise" not in call.report.defaults or call.arguments.get("noise") is not None:
        return []
    return [
        f"{source.name}: {ask_about_noise(name, side.removesuffix('s'))}"
        for source, table in zip(sources, call.report.inputs, strict=True)
        for side in ("cluster", "clusters", "label")
        if side in table.columns and call.arguments.get(side) is not None
        for name in _list_noise(source, call, table, side)
    ]


def _list_noise(source: Source, call: Call, table: Input, side: str) -> list[str]:
    """Return the clusters or labels of an input that look like noise, as text."""
    with open_rows(source, call, table) as (connection, rows, arguments):
        columns = list_columns(arguments, [side])
        names = ", ".join(map(quote_literal, NOISE_NAMES))
        distinct = " UNION ".join(
            f"SELECT DISTINCT {quote_identifier(column)} AS value FROM {rows}" for column in columns
        )
        query = f"SELECT CAST(value AS VARCHAR) AS name FROM ({distinct})"
        query = f"SELECT name FROM ({query}) WHERE lower(trim(name)) IN ({names}) ORDER BY name"
        return [name for (name,) in connection.execute(query).fetchall()]


def _read_clusters(sources: Sequence[Source], call: Call) -> pl.LazyFrame:
    """Return the clusters of all inputs that have clusters, in a column named `cluster`."""
    read = [
        read_rows(source, call, table)
        for source, table in zip(sources, call.report.inputs, strict=True)
        if "cluster" in table.columns
    ]
    return pl.concat(
        [
            rows.select(cluster=column_named(column))
            for rows, arguments in read
            for column in list_columns(arguments, ("cluster", "clusters"))
        ],
        how="vertical_relaxed",
    )
