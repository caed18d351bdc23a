"""Reports that describe findings in words."""

from __future__ import annotations

from dataclasses import replace

from polars_clustereval import cluster_size_findings, external_findings, internal_findings

from .record import Report, explain

__all__ = ["ALL_FINDINGS", "FINDINGS"]

_SUBJECTS = {
    "severity": "problem, warning or note",
    "code": "what kind of finding it is",
    "cluster": "the cluster that the finding is about",
}

_LABEL = {"label": "the label that the finding is about"}

_NEIGHBORS = {
    "other_cluster": "the cluster next to it",
    "coordinate": "the coordinate that the finding is about, from 1",
}

_WORDS = {
    "n": "rows concerned",
    "value": "the number behind the finding",
    "finding": "the finding, in words",
}

_SIZE_FINDINGS = Report(
    command="findings",
    function=cluster_size_findings,
    description="what to look at first, in words: clusters far larger than the others; with "
    "--label, those that do not agree with it; with --vector, those that are not set apart",
    heading=(("cluster",),),
    is_in_words=True,
    meanings=explain({**_SUBJECTS, **_WORDS}),
)

_LABEL_FINDINGS = replace(
    _SIZE_FINDINGS,
    variant="label",
    function=external_findings,
    description="what to look at first, in words: clusters and labels that do not agree",
    heading=(("label", "cluster"),),
    meanings=explain({**_SUBJECTS, **_LABEL, **_WORDS}),
)

_POINT_FINDINGS = replace(
    _LABEL_FINDINGS,
    variant="vector",
    function=internal_findings,
    description="what to look at first, in words: clusters that are not set apart, far points",
    engine="polars",
    heading=(("cluster", "distance"), ("vector",)),
    options={"vector": "", "method": "exact (default), sample"},
    meanings=explain({**_SUBJECTS, **_NEIGHBORS, **_WORDS}),
)

#: The findings of a call with labels and points.
ALL_FINDINGS = replace(
    _POINT_FINDINGS,
    heading=(("label", "cluster", "distance"), ("vector",)),
    meanings=explain({**_SUBJECTS, **_LABEL, **_NEIGHBORS, **_WORDS}),
)

FINDINGS = (_SIZE_FINDINGS, _LABEL_FINDINGS, _POINT_FINDINGS)
