"""Runs to compare, and what their tables say, from sets of ids and scikit-learn."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import polars as pl
from sklearn import metrics as sk

if TYPE_CHECKING:
    from tests.support.engines import Row

#: A run by its number: the cluster of each of its ids.
Runs = dict[Any, dict[Any, Any]]
SCHEMA = {"run": pl.Int64, "id": pl.Int64, "cluster": pl.Int64}
# Three runs of a user who counts: 1 and 2 agree except for the names, 3 lacks id 4.
THREE: Runs = {
    1: {1: 0, 2: 0, 3: 1, 4: 1},
    2: {1: 7, 2: 7, 3: 5, 4: 5},
    3: {1: 0, 2: 1, 3: 1},
}


def frame_of_runs(runs: Runs) -> pl.DataFrame:
    return stack_cases([runs]).drop("case")


def stack_cases(cases: list[Runs]) -> pl.DataFrame:
    """The runs of many cases below each other, numbered by `case`."""
    rows = [
        (run, i, cluster, case)
        for case, runs in enumerate(cases)
        for run, members in runs.items()
        for i, cluster in members.items()
    ]
    return pl.DataFrame(rows, schema=SCHEMA | {"case": pl.Int64}, orient="row")


def noisy_copies(seed: int, n_runs: int = 5, n: int = 40, k: int = 4, share: float = 0.8) -> Runs:
    """Noisy copies of one clustering, each of a share of the ids, with other names."""
    draw = random.Random(seed)
    base = [draw.randrange(k) for _ in range(n)]
    return {
        run: {
            i: (base[i] if draw.random() < 0.7 else draw.randrange(k)) * 10 + run
            for i in draw.sample(range(n), round(share * n))
        }
        for run in range(1, n_runs + 1)
    }


def common_ids(runs: Runs, run_1: Any, run_2: Any) -> list[Any]:
    return sorted(set(runs[run_1]) & set(runs[run_2]))


def counts_of_pair(runs: Runs, run_1: Any, run_2: Any) -> Row:
    one, two = set(runs[run_1]), set(runs[run_2])
    both = len(one & two)
    named = {"n": both, "n_only_1": len(one - two), "n_only_2": len(two - one)}
    return {"run_1": run_1, "run_2": run_2, **named}


def pairs_of(runs: Runs) -> list[tuple[Any, Any]]:
    return list(combinations(sorted(runs), 2))


def clusters_of_pair(runs: Runs, run_1: Any, run_2: Any) -> tuple[list[Any], list[Any]]:
    both = common_ids(runs, run_1, run_2)
    return [runs[run_1][i] for i in both], [runs[run_2][i] for i in both]


def jaccard(one: set[Any], two: set[Any]) -> Fraction:
    return Fraction(len(one & two), len(one | two))


def stability_of(runs: Runs, reference: Any) -> list[Row]:
    """From sets of ids, as Hennig defines it."""
    rows = []
    for cluster in sorted(set(runs[reference].values())):
        members = {i for i, c in runs[reference].items() if c == cluster}
        found = []
        for run in sorted(set(runs) - {reference}):
            both = set(common_ids(runs, reference, run))
            others = [
                {i for i in both if runs[run][i] == other} for other in set(runs[run].values())
            ]
            if members & both:
                found.append(max(jaccard(members & both, other) for other in others if other))
        n = len(found)
        rows.append(
            {
                "cluster": cluster,
                "n": len(members),
                "n_runs": n,
                "mean_jaccard": float(sum(found) / n) if n else None,
                "min_jaccard": float(min(found)) if n else None,
                "recovered": sum(j > Fraction(3, 4) for j in found) / n if n else None,
                "dissolved": sum(j < Fraction(1, 2) for j in found) / n if n else None,
            }
        )
    return rows


def agreement_of(runs: Runs) -> list[Row]:
    """The adjusted Rand index of each pair by scikit-learn."""
    rows = []
    for pair in pairs_of(runs):
        label, cluster = clusters_of_pair(runs, *pair)
        score = float(sk.adjusted_rand_score(label, cluster)) if label else None
        rows.append(counts_of_pair(runs, *pair) | {"score": score})
    return rows


def consensus_of(runs: Runs) -> list[Row]:
    """The means of agreement_of, the highest one first."""
    pairs = agreement_of(runs)
    rows = []
    for run in sorted(runs):
        scores = [row["score"] for row in pairs if run in (row["run_1"], row["run_2"])]
        assert scores
        assert None not in scores
        mean = sum(scores) / len(scores)
        row = {"run": run, "n_runs": len(scores), "mean_score": mean, "min_score": min(scores)}
        rows.append(row | {"max_score": max(scores)})
    rows.sort(key=lambda row: -row["mean_score"])
    return [row | {"rank": rank} for rank, row in enumerate(rows, start=1)]


ORACLES = {
    "run_agreement": agreement_of,
    "run_consensus": consensus_of,
    "cluster_stability": lambda runs: stability_of(runs, 1),
}
