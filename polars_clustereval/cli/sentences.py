"""Sentences: writes a finding as a sentence about the clusters and labels that it mentions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SENTENCES", "name_noise", "write_sentence"]

#: By code: the text before and after the words of a finding. Other findings are about a cluster, or
#: about none.
SENTENCES = {
    "mixed_cluster": ("Cluster {cluster}: ", ": {label}"),
    "split_label": ("Label {label}: ", ": {cluster}"),
    "low_silhouette": ("Cluster {cluster}: ", "; the nearest center is that of {other_cluster}"),
    **dict.fromkeys(
        ("unnamed_noise_label", "noise_label", "similar_labels"), ("Label {label}: ", "")
    ),
    "close_clusters": ("Clusters {cluster} and {other_cluster}: ", ""),
}


def write_sentence(row: Mapping[str, Any]) -> str:
    """Return a row of external_findings or internal_findings as a sentence without a period."""
    about = ("Cluster {cluster}: ", "") if row["cluster"] is not None else ("", "")
    before, behind = SENTENCES.get(row["code"], about)
    row = name_noise(row)
    words: str = row["finding"]
    if not before:
        words = f"{words[0].upper()}{words[1:]}"
    return f"{before.format(**row)}{words}{behind.format(**row)}"


def name_noise(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of findings with the word "noise" in place of missing clusters and labels.

    Clusters without a name are noise points, each of which counts as a cluster.
    """
    return {name: "noise" if value is None else value for name, value in row.items()}
