"""Many partitions in one call: each has the values that it has in a call of its own.

Polars evaluates partitions of few points together, and a call of one partition by itself.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.internal.kernels.partitions import MAX_SMALL_POINTS, PAIRS_PER_BATCH
from tests.support.point_engines import call
from tests.support.point_oracle import DISTANCES

if TYPE_CHECKING:
    from tests.support.engines import Engine

pytestmark = pytest.mark.gate

TABLES = {
    "silhouette_samples": {"id": "nr"},
    "silhouette_clusters": {},
    "silhouette_score": {},
    "cluster_diameters": {},
    "dunn_index": {"generalized": True},
    "pairwise_report": {"n_neighbors": 2},
}
NOISE: list[Any] = [
    pytest.param({}, id="cluster"),
    pytest.param({"noise": 0, "noise_as": "cluster"}, id="noise", marks=pytest.mark.wide),
    pytest.param({"noise": 0, "noise_as": "singletons"}, id="singletons", marks=pytest.mark.wide),
]
PLACES = 3


#: Numbers of points, some of them of several partitions of one call.
SIZES = (1, 1, 2, 3, 3, 4, 7, 20, MAX_SMALL_POINTS, MAX_SMALL_POINTS + 1)


def random_partition(
    rng: random.Random, n: int, run: int | None, start: int
) -> list[dict[str, Any]]:
    """Points on a small grid: ties, equal points, zero vectors; one cluster to all singletons."""
    k = rng.choice([1, 2, 3, n])
    clusters = [*range(k), None]
    return [
        {
            "run": run,
            "nr": start + i,
            "cluster": rng.choice(clusters) if k < n or i else i,
            **{f"x{j}": float(rng.randrange(-2, 4)) for j in range(PLACES)},
        }
        for i in range(n)
    ]


def rows_of_partitions(seed: int) -> list[dict[str, Any]]:
    """A partition of each size, and one without a key."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for run, n in enumerate(rng.sample(SIZES, len(SIZES))):
        rows += random_partition(rng, n, run, len(rows))
    rows += random_partition(rng, rng.choice(SIZES), None, len(rows))
    rng.shuffle(rows)
    return rows


def evaluate(table: str, frame: pl.DataFrame, **how: Any) -> pl.DataFrame:
    vector = [name for name in frame.columns if name.startswith("x")]
    return getattr(ce, table)(frame, vector, "cluster", **how)


def assert_near_frames(got: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert got.columns == expected.columns
    for name in got.columns:
        one, other = got[name], expected[name]
        if one.dtype.is_float():
            assert (one.is_null() == other.is_null()).all(), name
            assert ((one - other).abs() <= 1e-12 * other.abs().clip(1)).all(), name
        else:
            assert one.equals(other), name


@pytest.mark.parametrize("how", NOISE)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("table", TABLES)
def test_partitions_together_equal_each_alone(
    table: str, distance: str, how: dict[str, Any]
) -> None:
    frame = pl.DataFrame(rows_of_partitions(len(table) + len(distance)), infer_schema_length=None)
    how = {**how, **TABLES[table], "distance": distance, "p": 3}
    together = evaluate(table, frame, partition_by="run", **how)
    runs = frame["run"].unique().sort(nulls_last=True)
    parts = [frame.filter(pl.col("run").eq_missing(pl.lit(run))) for run in runs]
    alone = [
        evaluate(table, part, **how).select(pl.lit(part["run"][0], pl.Int64).alias("run"), pl.all())
        for part in parts
    ]
    assert len(alone) > 8
    expected = pl.concat(alone)
    if distance in ("sqeuclidean", "cosine") and "neighbor" in expected.columns:
        # From means of clusters, whose last digit decides which of equals is nearest.
        together, expected = together.drop("neighbor"), expected.drop("neighbor")
    assert_near_frames(together, expected)


def test_a_sample_of_many_partitions_equals_that_of_each_alone() -> None:
    frame = pl.DataFrame(rows_of_partitions(5), infer_schema_length=None)
    how: dict[str, Any] = {"method": "sample", "sample_size": 3, "id": "nr"}
    together = evaluate("silhouette_score", frame, partition_by="run", **how)
    parts = frame.drop_nulls("run").sort("run").partition_by("run", maintain_order=True)
    alone = [evaluate("silhouette_score", part, **how) for part in parts]
    got = together.drop_nulls("run").drop("run")
    assert_near_frames(got, pl.concat(alone))


@pytest.mark.parametrize("table", TABLES)
def test_partitions_of_several_batches(table: str) -> None:
    """All partitions are the same points, moved: so are their values, in every batch."""
    triple = pl.DataFrame({"x0": [0.0, 1.0, 5.0], "cluster": [0, 0, 1], "nr": [0, 1, 2]})
    count = 2 * PAIRS_PER_BATCH // 9
    runs = pl.DataFrame({"run": range(count)})
    frame = runs.join(triple, how="cross").with_columns(pl.col("x0") + pl.col("run"))
    got = evaluate(table, frame, partition_by="run", **TABLES[table])
    expected = runs.join(evaluate(table, triple, **TABLES[table]), how="cross")
    assert_near_frames(got, expected)


def test_literal_silhouettes_of_many_partitions(engine: Engine) -> None:
    """By hand: points 0 and 1 in one cluster, 5 in another, 1,000 times."""
    triple = pl.DataFrame({"x": [0.0, 1.0, 5.0], "cluster": [*"aab"], "nr": [0, 1, 2]})
    frame = pl.DataFrame({"run": range(1000)}).join(triple, how="cross")
    got = call(engine, "silhouette_samples", frame, ["x"], partition_by="run", id="nr")
    assert len(got) == 3000
    for row in got:
        a, b, s = [(1.0, 5.0, 0.8), (1.0, 4.0, 0.75), (0.0, 4.5, 0.0)][row["id"]]
        assert (row["a"], row["b"], row["silhouette"]) == (a, b, s)
