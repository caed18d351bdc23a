"""Reports of findings, in words."""

from __future__ import annotations

from dataclasses import replace

from polars_clustereval import external_findings, internal_findings

from .record import Report, explain

__all__ = ["FINDINGS"]

_COLUMNS = {
    "severity": "problem, warning or note",
    "code": "what kind of finding it is",
    "cluster": "the cluster that it is about",
}

_NUMBERS = {
    "n": "rows that it is about",
    "value": "the number that it is from",
    "finding": "what was found",
}

_OF_LABELS = Report(
    command="findings",
    function=external_findings,
    description="what to look at first, in words: clusters and labels that do not agree",
    heading=(("label", "cluster"),),
    is_in_words=True,
    meanings=explain({**_COLUMNS, "label": "the label that it is about", **_NUMBERS}),
)

_OF_POINTS = replace(
    _OF_LABELS,
    variant="vector",
    function=internal_findings,
    description="what to look at first, in words: clusters that are not set apart, far points",
    engine="polars",
    heading=(("cluster", "distance"), ("vector",)),
    options={"vector": ""},
    meanings=explain(
        {
            **_COLUMNS,
            "other_cluster": "the cluster next to it",
            "coordinate": "the coordinate that it is about, from 1",
            **_NUMBERS,
        }
    ),
)

FINDINGS = (_OF_LABELS, _OF_POINTS)
