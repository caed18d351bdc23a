"""Sweeps for the tests of relative/choosing_k and relative/gap."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.support.engines import Row

ROOT = Path(__file__).parent.parent.parent
FLOWER = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def curves_frame(curves: Sequence[Mapping[int, float]]) -> pl.DataFrame:
    """Points whose ssw is the value of each curve at each k, the number of the curve as `curve`.

    Each k has two points of one cluster, at a and -a, whose ssw is 2 a^2.
    """
    rows = [
        (number, k, 0, sign * math.sqrt(ssw / 2))
        for number, curve in enumerate(curves)
        for k, ssw in curve.items()
        for sign in (1.0, -1.0)
    ]
    return pl.DataFrame(rows, schema=["curve", "k", "cluster", "x"], orient="row")


def by_curve(rows: Sequence[Row], curve: str = "curve") -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[curve], []).append(row)
    return found


def iris_sweep() -> pl.DataFrame:
    """Iris once for each k of iris_sweep.csv: id, the four measures, k and cluster.

    The labels are those of sklearn.cluster.KMeans(k, n_init=50, random_state=0) of scikit-learn
    1.9.1; for k = 7 with n_init=1, the local minimum whose inertia is published.
    """
    flowers = pl.read_parquet(ROOT / "examples" / "iris.parquet").select("id", *FLOWER)
    labels = pl.read_csv(ROOT / "tests" / "support" / "data" / "iris_sweep.csv")
    return pl.concat(
        flowers.with_columns(k=pl.lit(int(name[1:]), pl.Int64), cluster=labels[name])
        for name in labels.columns
    )
