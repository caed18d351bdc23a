"""Answers: what a page says in sentences, before its scores and tables.

They tell you how good the clustering is, which clusters and labels to look at, what distinguishes
each cluster, and what to try next. Each sentence has the number behind it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.base.exact import percent_as_text
from polars_clustereval.cli.sentences import name_noise, write_sentence
from polars_clustereval.internal.findings import silhouette_as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
__all__ = ["Answer", "describe_clusters", "list_answers", "list_steps", "percent"]


class Answer(NamedTuple):
    """A sentence, its severity, and where on the page its numbers are."""

    #: problem, warning or note
    severity: str
    text: str
    #: The name of a section of the page, such as clusters.
    place: str


#: Findings of the same kind that get a sentence each; more are summed up in one.
_MOST_ALIKE = 3
#: Of findings that are summed up, those that are named.
_MOST_NAMED = 5

# ----------------------------------------------------------------------------------------------
# What to look at
# ----------------------------------------------------------------------------------------------


def percent(share: float) -> str:
    """Return a share as a percentage, in the form of the findings' text."""
    return str(pl.select(percent_as_text(pl.lit(share, pl.Float64))).item())


def _write_silhouette(value: float) -> str:
    """Return a mean silhouette in the form of the findings' text."""
    return str(pl.select(silhouette_as_text(pl.lit(value, pl.Float64))).item())


#: By code of findings: the sentence of several, and how each of them is named.
_SUMMED_UP: dict[str, tuple[str, Callable[[Mapping[str, Any]], str]]] = {
    "mixed_cluster": (
        "{n} clusters are mixed, where less than 80 % of the rows have one label",
        lambda row: f"{row['cluster']} ({percent(row['value'])} {row['label']})",
    ),
    "split_label": (
        "{n} labels are split, with less than 80 % of their rows in one cluster",
        lambda row: f"{row['label']} ({percent(row['value'])} in {row['cluster']})",
    ),
    "low_silhouette": (
        "{n} clusters are hardly set apart, with mean silhouettes below 0.25",
        lambda row: "{} ({}, next to {})".format(
            row["cluster"], _write_silhouette(row["value"]), row["other_cluster"]
        ),
    ),
    "close_clusters": (
        "{n} pairs of clusters may be one cluster each",
        lambda row: f"{row['cluster']} and {row['other_cluster']}",
    ),
    "far_point": (
        "{n} clusters have a point more than ten times as far from the center as the average",
        lambda row: f"{row['cluster']} ({row['value']:.0f} times)",
    ),
    "tiny_cluster": (
        "{n} clusters have less than a tenth of the average size",
        lambda row: f"{row['cluster']} ({row['n']})",
    ),
}


def list_answers(findings: Sequence[pl.DataFrame]) -> list[Answer]:
    """Return a sentence for each finding, or one for many of the same kind; the worst first.

    The content of a page's warnings, such as rows that are left out, is not repeated.
    """
    answers = []
    for table in findings:
        for rows in table.partition_by("code", maintain_order=True):
            if rows["code"][0] in (*_SUMMED_UP, "dominant_coordinate"):
                answers += _answer_alike(rows.rows(named=True))
    ranks = ("problem", "warning", "note")
    return sorted(answers, key=lambda answer: ranks.index(answer.severity))


def _answer_alike(rows: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """Return sentences for findings of one kind, the worst of which come first."""
    if len(rows) <= _MOST_ALIKE:
        return [Answer(row["severity"], write_sentence(row), "clusters") for row in rows]
    words, name = _SUMMED_UP[rows[0]["code"]]
    names = [name(name_noise(row)) for row in rows[:_MOST_NAMED]]
    more = ", …" if len(rows) > _MOST_NAMED else ""
    text = f"{words.format(n=f'{len(rows):,}')}: {', '.join(names)}{more}"
    return [Answer(rows[0]["severity"], text, "clusters")]


# ----------------------------------------------------------------------------------------------
# What to try next
# ----------------------------------------------------------------------------------------------


def list_steps(findings: Sequence[pl.DataFrame]) -> list[str]:
    """Return what to try next: a sentence for each kind of finding that suggests something."""
    first = {row["code"]: row for table in findings for row in reversed(table.rows(named=True))}
    return [
        words.format(**first[code])
        for code, words in _NEXT_STEPS.items()
        # Of noise as singletons, a cluster has no name to look for.
        if code in first and not _misses_name(words, first[code])
    ]


def _misses_name(words: str, row: Mapping[str, Any]) -> bool:
    """Return whether `words` name a cluster or label that is NULL in a row of findings."""
    names = ("cluster", "other_cluster", "label")
    return any(f"{{{name}}}" in words and row[name] is None for name in names)


_NEXT_STEPS = {
    "dominant_coordinate": "Scale the columns to the same spread, and cluster again.",
    "close_clusters": (
        "Try fewer clusters: {cluster} and {other_cluster} may be one. clustereval elbow compares "
        "numbers of clusters."
    ),
    "far_point": (
        "Look at the points far from the center of cluster {cluster}: they may be errors or noise."
    ),
    "mixed_cluster": "In cluster {cluster}, look at the rows whose label is not {label}.",
    "split_label": "Look at the rows of label {label} that are not in cluster {cluster}.",
    "giant_cluster": "Try more clusters: {cluster} may be several.",
    "tiny_cluster": "Cluster {cluster} has few rows: it may be noise.",
}

# ----------------------------------------------------------------------------------------------
# What distinguishes each cluster
# ----------------------------------------------------------------------------------------------

#: Of the columns of a cluster, those that are named, with v-tests at least this large.
_MOST_COLUMNS = 3
_LEAST_V_TEST = 2.0


def describe_clusters(profile: pl.DataFrame, show: Callable[[Any], str]) -> dict[str, str]:
    """Return what distinguishes each cluster, by its name, from rows of cluster_profile."""
    strong = profile.filter(pl.col("v_test").abs() >= _LEAST_V_TEST)
    words: dict[str, list[str]] = {}
    seen = set()
    for row in strong.iter_rows(named=True):
        named = words.setdefault(str(row["cluster"]), [])
        column = (str(row["cluster"]), row["column_name"], row["kind"])
        # The categories of one column say much the same: only the strongest of each counts.
        if column not in seen and len(named) < _MOST_COLUMNS:
            seen.add(column)
            named.append(_describe_column(row, show))
    return {cluster: ", ".join(named) for cluster, named in words.items()}


def _describe_column(row: Mapping[str, Any], show: Callable[[Any], str]) -> str:
    """Return how a column of a cluster differs from the others, in a few words."""
    mean, rest = row["mean"], row["rest_mean"]
    name = row["column_name"]
    if row["kind"] in ("category", "missing"):
        what = f"{name} {row['category']}" if row["kind"] == "category" else f"{name} missing"
        shares = f"{percent(mean)} (elsewhere {percent(rest)}"
        return f"{what} in {shares}; v {row['v_test']:.1f})"
    if row["kind"] == "date":
        mean, rest = (_show_day(x) for x in (mean, rest))
        direction = "early" if row["v_test"] < 0 else "late"
    else:
        mean, rest = show(mean), show(rest)
        direction = "low" if row["v_test"] < 0 else "high"
    return f"{name} {direction} ({mean}, elsewhere {rest}; v {row['v_test']:.1f})"


def _show_day(days: float) -> str:
    """Return the date of a number of days since 1970-01-01."""
    return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days):%Y-%m-%d}"
