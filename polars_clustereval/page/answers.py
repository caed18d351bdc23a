"""Answers: the sentences at the start of a page, before its scores and tables.

The sentences tell you how good the clustering is, which clusters and labels to look at, what
distinguishes each cluster, and what to try next. Each sentence includes the number on which it is
based.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.base.exact import decimals_below, percent_as_text
from polars_clustereval.base.findings import (
    FAR_RATIO,
    LOW_SILHOUETTE,
    UNDIVIDED_SHARE,
    percent_below,
    whole_above,
)
from polars_clustereval.cli.sentences import name_noise, write_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
__all__ = ["Answer", "describe_clusters", "list_answers", "list_steps", "percent"]


class Answer(NamedTuple):
    """A sentence, its severity, and the section of the page that contains its numbers."""

    #: problem, warning or note
    severity: str
    text: str
    #: The name of a section of the page, such as clusters.
    place: str


# ----------------------------------------------------------------------------------------------
# What to look at
# ----------------------------------------------------------------------------------------------


def percent(share: float) -> str:
    """Return a share as a percentage, in the format that is used in the findings."""
    return str(pl.select(percent_as_text(pl.lit(share, pl.Float64))).item())


#: The codes of findings that are listed, besides those of _SUMMED_UP. The warnings of a page state
#: the others.
_ALONE = (
    *("unnamed_noise_label", "all_singletons", "unique_labels", "fractional_labels"),
    "sparse_labels",
    *("placeholder_label", "same_partition", "dominant_coordinate", "zero_vectors"),
    *("distance_matrix", "cut_shapes", "connected_shapes"),
)
#: Up to this number of findings of the same kind, each gets a sentence; more are combined into one
#: sentence.
_MOST_ALIKE = 3
#: The number of findings that such a combined sentence names.
_MOST_NAMED = 5

_UNDIVIDED = f"{100 * UNDIVIDED_SHARE:g} %"

#: By code of findings: the sentence for several findings, and the name of each of them. {percent},
#: {silhouette} and {times} are texts for the value of a finding.
_SUMMED_UP = {
    "mixed_cluster": (
        f"{{n}} clusters are mixed, where less than {_UNDIVIDED} of the rows have one label",
        "{cluster} ({percent} {label})",
    ),
    "split_label": (
        f"{{n}} labels are split, with less than {_UNDIVIDED} of their rows in one cluster",
        "{label} ({percent} in {cluster})",
    ),
    "similar_labels": (
        "{n} sets of labels differ only by case or blanks",
        "{label} ({n} rows)",
    ),
    "noise_label": (
        "{n} labels have at least half of their rows in noise, which is left out",
        "{label} ({percent} of {n} rows)",
    ),
    "cluster_coordinate": (
        "{n} coordinates have one value in each cluster, which no other cluster has",
        "{coordinate}",
    ),
    "low_silhouette": (
        f"{{n}} clusters are hardly set apart, with mean silhouettes below {LOW_SILHOUETTE}",
        "{cluster} ({silhouette}, next to {other_cluster})",
    ),
    "close_clusters": (
        "{n} pairs of clusters are hardly set apart, and each is the nearest to the other",
        "{cluster} and {other_cluster}",
    ),
    "far_point": (
        f"{{n}} clusters have a point over {FAR_RATIO} times as far from the center as the average",
        "{cluster} ({times} times)",
    ),
    "outlying_cluster": (
        "{n} clusters are far larger than all others",
        "{cluster} ({n} rows)",
    ),
    "tiny_cluster": (
        "{n} clusters have less than a tenth of the average size",
        "{cluster} ({n})",
    ),
}

#: The forms in which the names of findings show a value.
_TEXTS_OF_VALUES: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "percent": lambda value: percent_below(value, UNDIVIDED_SHARE),
    "silhouette": lambda value: decimals_below(value, LOW_SILHOUETTE),
    "times": lambda value: whole_above(value, pl.lit(FAR_RATIO)),
}


def list_answers(findings: Sequence[pl.DataFrame]) -> list[Answer]:
    """Return sentences about the findings, the most severe first; many of a kind share one.

    What the page's warnings already state, such as rows that are left out, is not repeated.
    """
    answers = []
    for table in findings:
        for rows in table.partition_by("code", maintain_order=True):
            if rows["code"][0] in (*_SUMMED_UP, *_ALONE):
                answers += _answer_alike(rows.rows(named=True))
    ranks = ("problem", "warning", "note")
    return sorted(answers, key=lambda answer: ranks.index(answer.severity))


def _answer_alike(rows: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """Return sentences for findings of the same kind, whose worst comes first."""
    if len(rows) <= _MOST_ALIKE or rows[0]["code"] in _ALONE:
        return [Answer(row["severity"], write_sentence(row), "clusters") for row in rows]
    words, name = _SUMMED_UP[rows[0]["code"]]
    names = [_fill_name(name, name_noise(row)) for row in rows[:_MOST_NAMED]]
    more = ", …" if len(rows) > _MOST_NAMED else ""
    text = f"{words.format(n=f'{len(rows):,}')}: {', '.join(names)}{more}"
    return [Answer(rows[0]["severity"], text, "clusters")]


def _fill_name(name: str, row: Mapping[str, Any]) -> str:
    """Return a text that identifies a finding among several findings of the same kind."""
    texts = {
        field: pl.select(write(pl.lit(row["value"], pl.Float64))).item()
        for field, write in _TEXTS_OF_VALUES.items()
        if f"{{{field}}}" in name
    }
    return name.format(**{**row, **texts})


# ----------------------------------------------------------------------------------------------
# What to try next
# ----------------------------------------------------------------------------------------------

#: What to try next, by code of findings.
_NEXT_STEPS = {
    "dominant_coordinate": (
        "Pass the columns that were clustered on. If they were not scaled, scale them to the same "
        "spread, and cluster again."
    ),
    "close_clusters": (
        "Try fewer clusters: {cluster} and {other_cluster} have mostly rows of the same label. "
        "clustereval elbow compares numbers of clusters."
    ),
    "far_point": (
        "Look at the points far from the center of cluster {cluster}: they may be errors or noise."
    ),
    "mixed_cluster": "In cluster {cluster}, look at the rows whose label is not {label}.",
    "split_label": "Look at the rows of label {label} that are not in cluster {cluster}.",
    "outlying_cluster": (
        "Look at the rows of cluster {cluster}: a value that many of them share, such as a missing "
        "one, may have joined them."
    ),
    "giant_cluster": "Try more clusters: {cluster} has rows of several labels.",
    "tiny_cluster": "Cluster {cluster} has few rows: it may be noise.",
}


def list_steps(findings: Sequence[pl.DataFrame], clusters: pl.DataFrame) -> list[str]:
    """Return what to try next, one sentence for each kind of finding that suggests something.

    `clusters` is the table of clusters, which has labels or none.
    """
    labels: dict[str, Any] = {}
    if "majority_label" in clusters.columns:
        pure = clusters.filter(pl.col("purity") >= UNDIVIDED_SHARE)
        labels = {str(row["cluster"]): row["majority_label"] for row in pure.to_dicts()}
    mixed = {x for table in findings for x in table.filter(code="mixed_cluster")["cluster"]}

    def is_supported(row: Mapping[str, Any]) -> bool:
        """Return whether the labels support a merge or a split; without labels, none does.

        If both clusters are at least 80 % the same label, most pairs that the merge adds have the
        same label, so the merge raises the adjusted Rand index.
        """
        if row["code"] == "giant_cluster":
            return row["cluster"] in mixed
        pair = [str(row[name]) for name in ("cluster", "other_cluster") if name in row]
        are_known = all(name in labels for name in pair)
        are_same = len({str(labels.get(name)) for name in pair}) == 1
        return row["code"] != "close_clusters" or (are_known and are_same)

    rows = [row for table in findings for row in reversed(table.to_dicts()) if is_supported(row)]
    first = {row["code"]: row for row in rows}
    return [
        words.format(**first[code])
        for code, words in _NEXT_STEPS.items()
        # If noise counts as singletons, a cluster may have no name to look for.
        if code in first and not _misses_name(words, first[code])
    ]


def _misses_name(words: str, row: Mapping[str, Any]) -> bool:
    """Return whether `words` names a cluster or label that is NULL in a row."""
    names = ("cluster", "other_cluster", "label")
    return any(f"{{{name}}}" in words and row[name] is None for name in names)


# ----------------------------------------------------------------------------------------------
# What distinguishes each cluster
# ----------------------------------------------------------------------------------------------

#: The number of columns that are named for a cluster, and the smallest v-test of such a column.
_MOST_COLUMNS = 3
_LEAST_V_TEST = 2.0


def describe_clusters(profile: pl.DataFrame, show: Callable[[Any], str]) -> dict[str, str]:
    """Return which columns distinguish each cluster, by the name of the cluster.

    `profile` contains the rows of cluster_profile, and `show` formats a mean as text.
    """
    strong = profile.filter(pl.col("v_test").abs() >= _LEAST_V_TEST)
    words: dict[str, list[str]] = {}
    seen = set()
    for row in strong.iter_rows(named=True):
        named = words.setdefault(str(row["cluster"]), [])
        column = (str(row["cluster"]), row["column_name"], row["kind"])
        # The categories of a column carry similar information, so only the strongest of each column
        # is used.
        if column not in seen and len(named) < _MOST_COLUMNS:
            seen.add(column)
            named.append(_describe_column(row, show))
    return {cluster: ", ".join(named) for cluster, named in words.items()}


def _describe_column(row: Mapping[str, Any], show: Callable[[Any], str]) -> str:
    """Return a short text on how a column differs between a cluster and the other clusters."""
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
    """Return the date that is the given number of days after 1970-01-01."""
    return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days):%Y-%m-%d}"
