"""Sentences: writes a finding as a sentence about the clusters and labels that it mentions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_clustereval.base.findings import ABOUT_A_CLUSTER, SENTENCES

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["name_noise", "write_sentence"]


def write_sentence(row: Mapping[str, Any]) -> str:
    """Return a row of external_findings or internal_findings as a sentence without a period."""
    # The words name what they are about, except for clusters and labels without a short text.
    about = ABOUT_A_CLUSTER if row["cluster"] is not None else ("", "")
    before, behind = SENTENCES.get(row["code"], about)
    words: str = row["finding"]
    if not words.startswith(before.partition("{")[0]):
        row = name_noise(row)
        words = f"{before.format(**row)}{words}{behind.format(**row)}"
    return f"{words[0].upper()}{words[1:]}"


def name_noise(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of findings in which missing clusters, each a noise point, are named "noise"."""
    return {name: "noise" if value is None else value for name, value in row.items()}
