"""Facts: the subject of a page from the command ``report``, and warnings about its numbers."""

from __future__ import annotations

import hashlib
import platform
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import polars as pl

from polars_clustereval import __version__
from polars_clustereval.base.findings import GIANT_SHARE, looks_like_noise
from polars_clustereval.cli.noise import ask_about_noise
from polars_clustereval.cli.options import option_flag
from polars_clustereval.plots.charts import count

from .answers import percent
from .silhouettes import describe_method

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_clustereval.cli.options import Options
    from polars_clustereval.cli.sources import Source

__all__ = ["Tables", "list_facts", "list_versions", "list_warnings"]


class Tables(NamedTuple):
    """The rows of the reports on one clustering. A report that was not run is None."""

    external: dict[str, Any] | None
    intervals: pl.DataFrame | None
    internal: dict[str, Any] | None
    silhouette: dict[str, Any] | None
    #: One row per cluster of each report that has one, that of the labels first.
    by_cluster: list[pl.DataFrame]


def list_facts(source: Source, options: Options, tables: Tables) -> list[tuple[str, str]]:
    """Return the input and the options that affect the results, as (name, text) pairs."""
    row = tables.external or tables.internal or {}
    counted = {**(tables.internal or {}), **(tables.external or {})}
    facts = [("data", source.name), ("rows", f"{row['n']:,}")]
    if tables.internal is not None and tables.internal["n"] != row["n"]:
        # Some rows have a vector but no label, or a label but no vector.
        facts[1] = ("rows with a label", facts[1][1])
        facts.append(("points", f"{tables.internal['n']:,}"))
    facts += [
        (title, f"{counted[name]:,}")
        for name, title in (
            ("n_clusters", "clusters"),
            ("n_labels", "labels"),
            ("n_dims", "dimensions"),
        )
        if name in counted
    ]
    chosen = ("label", "cluster", "vector", "weight", "distance", "noise", "noise_as", "missing")
    if tables.internal is not None:
        facts.append(("silhouettes", describe_method(options.values, tables.internal["n"])))
    facts += [
        (option_flag(name), str(options.values[name])) for name in chosen if name in options.values
    ]
    return facts


def list_warnings(options: Options, tables: Tables, clusters: pl.DataFrame) -> list[str]:
    """Return warnings, one sentence each, that a reader should see before the numbers."""
    row: dict[str, Any] = tables.internal or tables.external or {}
    n = row["n"]
    warnings = []
    for table, missing in ((tables.external, "label"), (tables.internal, "vector")):
        if table is not None and table["n_dropped"]:
            share = percent(table["n_dropped"] / (table["n"] + table["n_dropped"]))
            has, is_left = ("has", "is") if table["n_dropped"] == 1 else ("have", "are")
            warnings.append(
                f"{count(table['n_dropped'], 'row')} ({share}) {has} no {missing} or no cluster, "
                f"and {is_left} left out."
            )
    if n == 0:
        return [*warnings, "No row is left: no score is defined."]
    if row["n_noise"]:
        kind = options.values.get("noise_as", "cluster")
        treatment = {"cluster": "counted as a cluster", "drop": "left out"}
        treated = treatment.get(kind, "each counted as a cluster of its own")
        total = n + row["n_noise"] * (kind == "drop")
        warnings.append(
            f"{count(row['n_noise'], 'row')} ({percent(row['n_noise'] / total)}) "
            f"{'is' if row['n_noise'] == 1 else 'are'} noise, {treated}."
        )
    if "noise" not in options.values:
        is_noise = looks_like_noise("cluster", clusters.schema["cluster"])
        names = map(str, clusters.filter(is_noise)["cluster"])
        warnings += [f"C{ask_about_noise(name)[1:]}." for name in names]
    if row["n_clusters"] == 1:
        warnings.append("There is one cluster, so nothing is told apart.")
    if row.get("n_singletons"):
        warnings.append(
            f"{row['n_singletons']:,} of {count(row['n_clusters'], 'cluster')} "
            f"{'has' if row['n_singletons'] == 1 else 'have'} one point, whose silhouette is 0 by "
            "definition."
        )
    largest = clusters.row(0, named=True) if clusters.height > 1 else None
    if largest is not None and largest["share"] > GIANT_SHARE:
        warnings.append(
            f"Cluster {largest['cluster']} has {percent(largest['share'])} of the rows: scores "
            "by row or by pair say little of the others."
        )
    return warnings


def list_versions(source: Source) -> list[tuple[str, str]]:
    """Return the versions of the programs, and the SHA-256 hash of each input file."""
    versions = [
        ("polars_clustereval", __version__),
        ("duckdb", duckdb.__version__),
        ("polars", pl.__version__),
        ("Python", platform.python_version()),
    ]
    names: Iterable[str] = source.path_names or source.paths
    return versions + [
        (f"SHA-256 of {name}", _hash_file(path))
        for path, name in zip(source.paths, names, strict=False)
    ]


def _hash_file(path: str) -> str:
    """Return the SHA-256 hash of a file in hexadecimal notation."""
    with open(path, "rb") as file:  # noqa: PTH123 - file_digest takes a file
        return hashlib.file_digest(file, "sha256").hexdigest()
