"""Long vectors, held as one column of arrays: the same rows as from a column per coordinate."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval import ClusterEvalError
from polars_clustereval.internal.kernels import long_sums, long_vectors
from tests.support import registry
from tests.support.point_engines import assert_points

pytestmark = pytest.mark.gate

DIMS = long_vectors.MIN_LONG_DIMS + 5
NAMES = [f"v{i}" for i in range(DIMS)]
DISTANCES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")
FORMS = {
    "list": pl.List(pl.Float64),
    "array": pl.Array(pl.Float64, DIMS),
    "float32 list": pl.List(pl.Float32),
    "float32 array": pl.Array(pl.Float32, DIMS),
    "whole": pl.Array(pl.Int16, DIMS),
}


@cache
def long_points(rows: int = 300, *, seed: int = 7, whole: bool = True) -> pl.DataFrame:
    """Clusters in two partitions, with noise, rows that are left out, and a zero vector."""
    random = np.random.default_rng(seed)
    cluster = random.integers(-1, 6, rows)
    x = random.normal(cluster[:, None] * 2.0, 4.0, (rows, DIMS))
    x = np.round(x) if whole else x
    x[5] = 0.0
    frame = pl.DataFrame(x, schema=NAMES).with_columns(
        run=pl.Series(random.integers(0, 2, rows)),
        cluster=pl.Series(cluster).set(pl.Series(np.arange(rows) % 50 == 9), None),
    )
    missing = pl.int_range(pl.len()) % 40 == 3
    return frame.with_columns(pl.when(~missing).then(pl.col(NAMES)))


def with_vector(frame: pl.DataFrame, dtype: pl.DataType | type[pl.DataType]) -> pl.DataFrame:
    some = pl.col(NAMES[0]).is_not_null()
    vector = pl.when(some).then(pl.concat_list(NAMES)).cast(pl.List(dtype.inner))  # type: ignore[union-attr]
    if isinstance(dtype, pl.Array):
        vector = vector.list.to_array(DIMS)
    return frame.select("run", "cluster", vector=vector)


_of_columns: dict[tuple[str, int, str], tuple[pl.DataFrame, list[dict[str, Any]]]] = {}


def rows_of_columns(function: str, frame: pl.DataFrame, options: dict[str, Any]) -> Any:
    """The rows from a column for each coordinate, computed once for all forms of a frame."""
    key = (function, id(frame), repr(options))
    if key not in _of_columns:
        ask = getattr(ce, function)
        rows = ask(frame.select("run", "cluster", *NAMES), NAMES, "cluster", **options).to_dicts()
        _of_columns[key] = (frame, rows)  # the frame keeps its id
    return _of_columns[key][1]


def both(
    function: str, frame: pl.DataFrame, dtype: Any, **options: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows from one column of vectors, and those from a column for each coordinate."""
    ask = getattr(ce, function)
    streamed = ask(with_vector(frame, dtype).lazy(), "vector", "cluster", **options)
    found = streamed.collect(engine="streaming").to_dicts()
    return found, rows_of_columns(function, frame, options)


TABLES = [
    *(
        (name, {})
        for name in registry.tables("points", takes="distance")
        if name not in ("internal_summary", "silhouette_score")
    ),
    *(("silhouette_score", {"method": method}) for method in ("exact", "simplified", "bounds")),
]


# The tables that use each kernel. With another distance than the Euclidean one, only these tables
# with two of the distances are not wide.
AT_THE_GATE = ("cityblock", "cosine")
OF_EACH_KERNEL = ("internal_report", "dunn_index", "pairwise_report", "silhouette_samples")


def distances_and_tables() -> list[Any]:
    return [
        (distance, function, options)
        if distance == "euclidean" or (distance in AT_THE_GATE and function in OF_EACH_KERNEL)
        else pytest.param(distance, function, options, marks=pytest.mark.wide)
        for distance in DISTANCES
        for function, options in TABLES
    ]


@pytest.mark.parametrize(("distance", "function", "options"), distances_and_tables())
def test_as_columns(distance: str, function: str, options: dict[str, Any]) -> None:
    found, wanted = both(
        function,
        long_points(whole=False),
        FORMS["array"],
        distance=distance,
        p=3,
        partition_by="run",
        noise=-1,
        noise_as="singletons",
        **options,
    )
    assert_points(found, wanted, tolerance=1e-9, floor=1e-9, what=function)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("noise_as", ["cluster", "drop", "singletons"])
def test_every_form(form: str, noise_as: str) -> None:
    options = {"noise": -1, "noise_as": noise_as}
    for function in ("centroids", "internal_report", "silhouette_score"):
        found, wanted = both(function, long_points(), FORMS[form], **options)
        assert_points(found, wanted, tolerance=1e-9, what=function)


WEIGHTS = [1.0 + i / 7 for i in range(DIMS)]
WAYS: dict[str, dict[str, Any]] = {
    "weights": {"weights": WEIGHTS},
    "medians": {"center": "median"},
    "cosine": {"distance": "cosine"},
}
OF_CENTERS = ("internal_report", "internal_cluster_report", "centroids")


@pytest.mark.parametrize(
    ("way", "function"),
    [
        pytest.param(way, function, marks=[] if i in (0, j) else pytest.mark.gate)
        for i, function in enumerate(OF_CENTERS)
        for j, way in enumerate(WAYS)
    ],
)
def test_weights_and_medians(way: str, function: str) -> None:
    found, wanted = both(function, long_points(whole=False), FORMS["list"], **WAYS[way])
    assert_points(found, wanted, tolerance=1e-9, what=(function, way))


# test_determinants has 32 columns in every run.
@pytest.mark.gate
def test_determinants() -> None:
    found, wanted = both("determinant_report", long_points(whole=False), FORMS["array"])
    assert_points(found, wanted, tolerance=1e-9)
    assert wanted[0]["trace_wib"] is not None


@pytest.fixture(
    params=[
        (block, few)
        for block in (1, DIMS * 3, long_vectors.COORDINATES_PER_BLOCK)
        for few in (0, 3, long_vectors.CLUSTERS_SUMMED_SINGLY)
    ]
)
def block_sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other constants of the modules than their own."""
    block, few = request.param
    monkeypatch.setattr(long_vectors, "COORDINATES_PER_BLOCK", block)
    for module in (long_vectors, long_sums):
        monkeypatch.setattr(module, "CLUSTERS_SUMMED_SINGLY", few)


@pytest.mark.usefixtures("block_sizes")
def test_blocks_of_any_size() -> None:
    """Those of plain sums, and those of the centers of points that are moved."""
    for function in ("internal_report", "internal_cluster_report"):
        found, wanted = both(function, long_points(whole=False), FORMS["array"], partition_by="run")
        assert_points(found, wanted, tolerance=1e-10)


@pytest.mark.gate
def test_batches_are_brought_together() -> None:
    # More rows than the engine has in a batch.
    frame = long_points(165_000, whole=False).drop_nulls(NAMES)
    assert len(frame) > 160_000
    [wanted] = ce.internal_report(frame, NAMES, "cluster").to_dicts()
    vectors = frame.select("cluster", vector=pl.Series(frame.select(NAMES).to_numpy()))
    assert vectors.schema["vector"] == FORMS["array"]
    lazy = ce.internal_report(vectors.lazy(), "vector", "cluster")
    assert_points(lazy.collect(engine="streaming").to_dicts(), [wanted], tolerance=1e-10)


def test_shift() -> None:
    frame = long_points(whole=False).drop_nulls()
    [near] = ce.internal_report(with_vector(frame, FORMS["array"]), "vector", "cluster").to_dicts()
    far = frame.with_columns(pl.col(NAMES) + 1e8)
    [shifted] = ce.internal_report(with_vector(far, FORMS["array"]), "vector", "cluster").to_dicts()
    assert_points([shifted], [near], tolerance=1e-6)


@pytest.mark.parametrize("form", ["list", "array"])
@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
def test_bad_coordinates(form: str, bad: float | None) -> None:
    frame = long_points().drop_nulls()
    frame[7, NAMES[2]] = bad
    shown = {"None": "NULL"}.get(str(bad), str(bad))
    message = rf"finite numbers, got {shown} in coordinate 3 \(1 row is at fault\)"
    with pytest.raises(ClusterEvalError, match=message):
        ce.internal_report(with_vector(frame, FORMS[form]), "vector", "cluster")


def test_ragged() -> None:
    frame = with_vector(long_points().drop_nulls(), FORMS["list"])
    cut = pl.int_range(pl.len()) == 4
    frame = frame.with_columns(
        pl.when(cut).then(pl.col("vector").list.head(3)).otherwise("vector").alias("vector")
    )
    message = rf"vectors of one length \({DIMS}\), got 3 coordinates \(1 row is at fault\)"
    for function in (ce.internal_report, ce.silhouette_score):
        with pytest.raises(ClusterEvalError, match=message):
            function(frame, "vector", "cluster")


@pytest.mark.parametrize("distance", DISTANCES)
def test_overflow(distance: str) -> None:
    frame = long_points().drop_nulls().with_columns(pl.col(NAMES) * 1e308)
    with pytest.raises(ClusterEvalError, match="vector"):
        ce.internal_report(
            with_vector(frame, FORMS["array"]), "vector", "cluster", distance=distance, p=3
        )


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_next_to_nothing(rows: int) -> None:
    frame = long_points().drop_nulls().head(rows)
    for function in ("internal_report", "centroids", "silhouette_score", "dunn_index"):
        found, wanted = both(function, frame, FORMS["array"])
        assert_points(found, wanted, tolerance=1e-12, what=function)
