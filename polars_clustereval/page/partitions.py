"""Partitions: what the command ``report`` says of many clusterings, such as one for each region.

A table has a row for each, the worst first, and the worst ones get a section of their own, as if
the page were about them alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.base.checks import check_metrics
from polars_clustereval.cli.engines import ENGINES, read_arguments, split_source, write_queries
from polars_clustereval.cli.reports import REPORTS

from .findings import (
    NOT_SCORES,
    Findings,
    check_options,
    list_headlines,
    list_versions,
    make_findings,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.cli.options import Call, Options
    from polars_clustereval.cli.sources import Source

__all__ = ["Part", "Partitions", "make_partitions"]

#: Partitions that get a section, the worst ones.
MOST_PARTS = 50


class Part(NamedTuple):
    """A partition that gets a section."""

    name: str
    findings: Findings


class Partitions(NamedTuple):
    """What a page says of many clusterings."""

    title: str
    #: The input and the options that matter, as pairs of a name and a text.
    facts: list[tuple[str, str]]
    warnings: list[str]
    #: Lines for standard error, once the page is written.
    notes: tuple[str, ...]
    #: One row per partition, the worst first: its name, its counts and first scores.
    overview: pl.DataFrame
    parts: list[Part]
    #: The SQL of the overview.
    queries: list[str]
    #: Of the programs, and of the data.
    versions: list[tuple[str, str]]


def make_partitions(source: Source, options: Options) -> Partitions:
    """Return what is found about the clusterings of each group of the option partition_by."""
    check_options(options)
    calls = _compared_calls(options)
    keys = read_arguments(source, calls[0])["partition_by"]
    overview = _compare_partitions(source, calls, keys, options.chosen_metrics)
    worst = overview.head(MOST_PARTS)
    alone = options.without("partition_by")
    files = split_source(source, calls[-1], worst.select(keys), options.scratch)
    names = [_name_part(keys, row) for row in overview.select(keys).iter_rows()]
    parts = [
        Part(name, make_findings(part, alone, has_pictures=False))
        for name, part in zip(names, files, strict=False)
    ]
    n_more = overview.height - len(parts)
    left_out = f"The {len(parts)} worst of {overview.height:,} partitions have a section below."
    shown = overview.drop(keys).insert_column(0, pl.Series("partition", names, pl.String))
    return Partitions(
        title=options.title or f"Clusterings of {source.name}",
        facts=[
            ("data", source.name),
            ("partitions", f"{overview.height:,}"),
            ("rows", f"{overview['n'].sum():,}"),
            ("--partition-by", ",".join(keys)),
        ],
        warnings=[left_out] if n_more else [],
        notes=tuple(dict.fromkeys(note for part in parts for note in part.findings.notes)),
        overview=shown,
        parts=parts,
        queries=[source.rename_paths(text) for text in write_queries(source, calls)],
        versions=list_versions(source),
    )


def _compared_calls(options: Options) -> list[Call]:
    """Return the calls of the reports that the overview is from; that of points is the last."""
    names = {"label": "external", "vector": "internal"}
    return [options.call(REPORTS[x]) for name, x in names.items() if name in options.values]


def _compare_partitions(
    source: Source, calls: Sequence[Call], keys: Sequence[str], chosen: Sequence[str] | None
) -> pl.DataFrame:
    """Return one row per partition with its columns `keys`, counts and scores, the worst first.

    `chosen` are the names of the scores; by default those at the top of a page.
    """
    tables = [ENGINES[call.engine]([source], call) for call in calls]
    joined = tables[0]
    for table in tables[1:]:
        known = [name for name in table.columns if name in joined.columns and name not in keys]
        joined = joined.join(table.drop(known), on=list(keys), how="left", nulls_equal=True)
    counts = ("n", "n_labels") if "n_labels" in joined.columns else ()
    row = {name: joined[name].sum() for name in counts} or None
    usual = [name for name in list_headlines(row) if name in joined.columns]
    known = [name for name in joined.columns if name not in (*keys, *NOT_SCORES)]
    scores = usual if chosen is None else check_metrics(chosen, known)
    meanings = {name: x for call in calls for name, x in call.report.meanings.items()}
    by = next(name for name in (*scores, *usual) if meanings[name].best)
    ordered = joined.sort(
        by, descending=not meanings[by].is_high_best, nulls_last=True, maintain_order=True
    )
    return ordered.select(*keys, *dict.fromkeys(["n", "n_clusters", *scores]))


def _name_part(keys: Sequence[str], values: Sequence[Any]) -> str:
    """Return the name of a partition: its value, after its column if there are several."""
    texts = ["NULL" if value is None else str(value) for value in values]
    if len(keys) == 1:
        return f"{keys[0]} {texts[0]}"
    return ", ".join(f"{key} {text}" for key, text in zip(keys, texts, strict=True))
