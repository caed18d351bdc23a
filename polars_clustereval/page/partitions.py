"""Partitions: pages of the command ``report`` about many clusterings.

A table contains one row for each clustering. Clusterings of groups, such as one per region, are
listed from worst to best, because the worst ones need work. Clusterings of the same rows are listed
from best to worst, because one of them is to be chosen. The first clusterings also have their own
sections, with the content of a page about a single clustering. For groups, each report is computed
once, for all groups together.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.base.checks import check_metrics
from polars_clustereval.cli.engines import read_arguments, select_groups, write_queries
from polars_clustereval.cli.noise import describe_unnamed_noise
from polars_clustereval.cli.reports import REPORTS
from polars_clustereval.plots.charts import count

from .facts import list_versions
from .findings import (
    NOT_SCORES,
    SILHOUETTES_OF_CLUSTERS,
    Findings,
    check_options,
    describe_clustering,
    has_silhouettes_of_points,
    list_headlines,
    list_warnings_of_input,
)
from .reports import PartReports, Reports
from .silhouettes import choose_method

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_clustereval.cli.options import Call, Options
    from polars_clustereval.cli.sources import Source

    from .reports import Compute

__all__ = [
    "Part",
    "Partitions",
    "list_clusterings",
    "make_clusterings",
    "make_partitions",
]

#: The number of clusterings that get a section; these are the first of the table.
MOST_PARTS = 50


class Part(NamedTuple):
    """A clustering that has its own section on the page."""

    name: str
    findings: Findings


class Partitions(NamedTuple):
    """The content of a page about many clusterings."""

    title: str
    #: The input and the options that matter, as pairs of a name and a text.
    facts: list[tuple[str, str]]
    warnings: list[str]
    #: Lines for standard error, once the page is written.
    notes: tuple[str, ...]
    #: The heading of the overview, which says how it is sorted.
    heading: str
    #: One row per clustering: its name, its counts and first scores.
    overview: pl.DataFrame
    #: What to know of the overview, one sentence each.
    remarks: list[str]
    parts: list[Part]
    #: The SQL of the overview.
    queries: list[str]
    #: The versions of the programs and of the data.
    versions: list[tuple[str, str]]


class _Overview(NamedTuple):
    """The partitions with their counts and scores, sorted from worst to best."""

    #: The columns of the partitions, n, n_clusters and scores.
    rows: pl.DataFrame
    #: The score by which the partitions are sorted.
    by: str
    #: The first partitions that have rows in each report of the page.
    n_whole: int


def make_partitions(source: Source, options: Options) -> Partitions:
    """Return the findings about many clusterings, one for each group of partition_by."""
    check_options(options)
    compute = Reports(source).compute
    [options], choice = choose_method(source, [options], compute)
    calls = _compared_calls(options)
    keys = read_arguments(source, calls[0])["partition_by"]
    overview = _compare_partitions(compute, calls, keys, options.chosen_metrics)
    shown = overview.rows.head(min(overview.n_whole, MOST_PARTS)).select(keys)
    some = source
    if len(shown) < overview.rows.height:
        some = select_groups(source, calls[-1], shown, options.scratch)
    alone, reports = options.without("partition_by"), PartReports(some, shown)
    names = [_name_part(keys, row) for row in overview.rows.select(keys).iter_rows()]
    parts = [
        Part(name, describe_clustering(some, alone, partial(reports.compute, i)))
        for i, name in enumerate(names[: len(shown)])
    ]
    warnings, notes = list_warnings_of_input(source, calls, compute, choice)
    table = overview.rows.drop(keys).insert_column(0, pl.Series("partition", names, pl.String))
    return Partitions(
        title=options.title or f"Clusterings of {source.name}",
        facts=[
            ("data", source.name),
            ("partitions", f"{overview.rows.height:,}"),
            ("rows", f"{overview.rows['n'].sum():,}"),
            ("--partition-by", ",".join(keys)),
            *_list_columns(options),
        ],
        warnings=[*_warn_of_parts(overview, len(parts)), *warnings],
        notes=notes,
        heading=f"Partitions, the worst first by {overview.by.replace('_', ' ')}",
        overview=table,
        remarks=[],
        parts=parts,
        queries=[source.rename_paths(text) for text in write_queries(source, calls)],
        versions=list_versions(source),
    )


def _compared_calls(options: Options) -> list[Call]:
    """Return the calls of the overview, those on points last."""
    calls = [options.call(REPORTS["external"])] if "label" in options.values else []
    if "vector" in options.values:
        is_exact = has_silhouettes_of_points(options)
        silhouettes = SILHOUETTES_OF_CLUSTERS if is_exact else REPORTS["silhouette"]
        calls += [options.call(REPORTS["internal"]), options.call(silhouettes)]
    return calls


def _compare_partitions(
    compute: Compute, calls: Sequence[Call], keys: Sequence[str], chosen: Sequence[str] | None
) -> _Overview:
    """Return the partitions with the chosen scores, by default those at the top of a page.

    The worst come first, and those without rows in a report, such as without labels, last.
    """
    computed = [compute(call) for call in calls]
    # The first report lists all partitions. One without rows in a report has no row of its table.
    joined = computed[0].select(keys)
    for report in computed:
        table = _average_clusters(report.filter(pl.col("n") > 0), keys)
        known = [name for name in table.columns if name in joined.columns and name not in keys]
        # From the same input, two engines may read a column as different types.
        typed = table.cast({name: joined.schema[name] for name in keys})
        typed = typed.rename({name: f"other {name}" for name in known})
        joined = joined.join(typed, list(keys), "left", nulls_equal=True, maintain_order="left")
        joined = joined.with_columns(pl.coalesce(name, f"other {name}") for name in known)
        joined = joined.drop(f"other {name}" for name in known)
    joined = joined.with_columns(pl.col("n", "n_clusters").fill_null(0))
    counts = ("n", "n_labels") if "n_labels" in joined.columns else ()
    row = {name: joined[name].sum() for name in counts} or None
    usual = [name for name in list_headlines(row) if name in joined.columns]
    known = [name for name in joined.columns if name not in (*keys, *NOT_SCORES)]
    scores = usual if chosen is None else check_metrics(chosen, known)
    best = {name: x.best for call in calls for name, x in call.report.meanings.items()}
    best |= {"silhouette": "1"}
    # If only bounds are computed, no partition has a silhouette.
    known_best = [x for x in (*scores, *usual) if best[x] and joined[x].count()]
    by = known_best[0] if known_best else usual[0]
    is_whole = pl.all_horizontal(
        pl.col(name).is_not_null() for name in ("n_labels", "n_dims") if name in joined.columns
    )
    ordered = joined.with_columns(is_whole=is_whole).sort(
        "is_whole",
        by,
        descending=[True, best[by] not in ("high", "1")],
        nulls_last=True,
        maintain_order=True,
    )
    rows = ordered.select(*keys, *dict.fromkeys(["n", "n_clusters", *scores]))
    return _Overview(rows, by, int(ordered["is_whole"].sum()))


def _average_clusters(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return one row per partition, for which silhouettes of clusters are averaged over points."""
    if "cluster" not in table.columns:
        return table
    mean, n = pl.col("silhouette"), pl.col("n")
    silhouette = pl.when(mean.count() > 0).then((mean * n).sum() / n.sum())
    return table.group_by(keys, maintain_order=True).agg(silhouette=silhouette)


def _warn_of_parts(overview: _Overview, n_shown: int) -> list[str]:
    """Return warnings about partitions that have no scores or no section."""
    n = overview.rows.height
    warnings = []
    n_empty = int((overview.rows["n"] == 0).sum())
    if n_empty:
        has = "has" if n_empty == 1 else "have"
        warnings.append(
            f"{count(n_empty, 'partition')} {has} no row that can be scored: look for lost labels, "
            "clusters or vectors."
        )
    n_parts = n - overview.n_whole - n_empty
    if n_parts:
        has = "has" if n_parts == 1 else "have"
        warnings.append(
            f"{count(n_parts, 'partition')} {has} no row with a label or none with a vector, and "
            "no section below."
        )
    if n_shown < overview.n_whole:
        warnings.append(f"The {n_shown} worst of {n:,} partitions have a section below.")
    return warnings


def _list_columns(options: Options) -> list[tuple[str, str]]:
    """Return the options that name the columns of all clusterings, as facts."""
    names = ("label", "cluster", "clusters", "vector")
    return [(f"--{name}", str(options.values[name])) for name in names if name in options.values]


def _name_part(keys: Sequence[str], values: Sequence[Any]) -> str:
    """Return a name for a partition: its columns and their values."""
    texts = ["NULL" if value is None else str(value) or "(empty)" for value in values]
    return ", ".join(f"{key} {text}" for key, text in zip(keys, texts, strict=True))


# ----------------------------------------------------------------------------------------------
# Clusterings of the same rows
# ----------------------------------------------------------------------------------------------


def list_clusterings(source: Source, options: Options) -> dict[str, Options]:
    """Return the options of a page about each of the columns of --clusters, by their names."""
    check_options(options)
    names = read_arguments(source, options.call(REPORTS["compare"]))["clusters"]
    values = options.without("clusters").values
    return {name: replace(options, values={**values, "cluster": name}) for name in names}


def make_clusterings(
    source: Source, options: Options, clusterings: Mapping[str, Options]
) -> Partitions:
    """Return the findings about several clusterings of the same rows, from list_clusterings."""
    compute, call = Reports(source).compute, options.call(REPORTS["compare"])
    rows = compute(call)
    shown = rows["clustering"].head(MOST_PARTS).to_list()
    chosen, choice = choose_method(source, [clusterings[x] for x in shown], compute)
    warnings, notes = list_warnings_of_input(source, [call], compute, choice)
    warnings = [*warnings, *(f"{x}." for x in describe_unnamed_noise([source], call))]
    if not rows["n"].sum():
        warnings.insert(0, "No row is left: no score is defined.")
    if len(shown) < rows.height:
        words = f"The {len(shown)} best of {rows.height:,} clusterings have a section below."
        warnings.insert(0, words)
    by = "adjusted_rand_score" if "label" in options.values else "simplified_silhouette"
    is_same = (rows["n"] == rows["n_common"]).all()
    scored = by.replace("_", " ") + ("" if is_same else " of the rows that all score")
    return Partitions(
        title=options.title or f"Clusterings of {source.name}",
        facts=[
            ("data", source.name),
            ("clusterings", f"{rows.height:,}"),
            *(("rows that all score", f"{n:,}") for n in rows["n_common"].head(1)),
            *_list_columns(options),
        ],
        warnings=warnings,
        notes=notes,
        heading=f"Clusterings, the best first by {scored}",
        overview=_show_comparison(rows, [] if is_same else [f"{by}_common"]),
        remarks=_list_remarks(rows),
        parts=[
            Part(name, describe_clustering(source, its, compute))
            for name, its in zip(shown, chosen, strict=True)
        ],
        queries=[source.rename_paths(text) for text in write_queries(source, [call])],
        versions=list_versions(source),
    )


def _show_comparison(rows: pl.DataFrame, others: Sequence[str]) -> pl.DataFrame:
    """Return the columns of compare_clusterings that a page shows, with its `others`.

    A difference is a struct with its limits. The best clustering is called best only if no other
    one is as good by its interval.
    """
    columns: list[Any] = ["n", "coverage", pl.col("n_clusters").alias("clusters")]
    scores = [x.removesuffix("_common") for x in rows.columns if x.endswith("_common")]
    by = "adjusted_rand_score" if rows["adjusted_rand_score"].count() else "simplified_silhouette"
    # The table has no room for more differences.
    compared = (by, "adjusted_mutual_info_score")
    for name in scores:
        if name == "n" or not rows[name].count():
            continue
        columns += [name, *(x for x in others if x == f"{name}_common")]
        if name in compared and rows[f"{name}_lower"].count():
            limits = [f"{name}_{x}" for x in ("difference", "lower", "upper")]
            columns.append(pl.struct(limits).alias(f"{name.removesuffix('_score')}_difference"))
    upper, is_first = pl.col(f"{by}_upper"), pl.int_range(pl.len()) == 0
    is_worse = upper < 0
    n_worse = is_worse.sum()
    is_best = is_first & (n_worse > 0) & (n_worse == pl.len() - 1)
    verdict = (
        pl.when(is_best)
        .then(pl.lit("best"))
        .when(is_first)
        .then(None)
        .when(is_worse)
        .then(pl.lit("worse"))
        .when(upper.is_not_null())
        .then(pl.lit("not told apart"))
    )
    shown = rows.select("clustering", verdict.alias("verdict"), *columns)
    return shown if shown["verdict"].count() else shown.drop("verdict")


def _list_remarks(rows: pl.DataFrame) -> list[str]:
    """Return what the comparison is of, and the remarks, each with its clusterings."""
    if rows.is_empty():
        return []
    of_rows = f"of the {count(rows['n_common'][0], 'row')} that all score"
    said = f"The order, the differences to the best and their 95 % intervals are {of_rows}."
    if not (rows["adjusted_rand_score"].count() or rows["simplified_silhouette_upper"].count()):
        said = f"The order is that {of_rows}. No interval tells whether the best one is better."
    remarks = rows.drop_nulls("remark").group_by("remark", maintain_order=True)
    named = remarks.agg(pl.col("clustering").str.join(", "))
    return [said, *(f"{names}: {remark}." for remark, names in named.iter_rows())]
