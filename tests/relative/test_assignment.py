"""assign_nearest: scipy's distances, scikit-learn's prediction, and what must not matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

import polars_clustereval as ce
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.support.engines import Engine, Row

DISTANCES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")


def assign(
    engine: Engine,
    frame: pl.DataFrame,
    centers: pl.DataFrame,
    vector: Any = "vector",
    **arguments: Any,
) -> list[Row]:
    """The rows of assign_nearest; partition_by names one column of both frames."""
    return engine.call("assign_nearest", frame, vector, centers, **arguments)


def frame_of_vectors(x: NDArray[Any]) -> pl.DataFrame:
    return pl.DataFrame({"vector": [list(map(float, row)) for row in x]})


def centers_of(y: NDArray[Any], **more: Any) -> pl.DataFrame:
    centroids = [list(map(float, row)) for row in y]
    return pl.DataFrame({**more, "cluster": range(len(y)), "centroid": centroids})


def nearest_by_scipy(
    x: NDArray[Any], y: NDArray[Any], distance: str, weights: NDArray[Any] | None = None
) -> list[Row]:
    """From scipy's distances; those of zero vectors by scikit-learn's convention."""
    more: dict[str, Any] = {"p": 3} if distance == "minkowski" else {}
    if weights is not None:
        more["w"] = weights
    with np.errstate(invalid="ignore"):
        d = cdist(x, y, distance, **more)
    if distance == "cosine":
        d[~x.any(axis=1)] = 1.0
        d[:, ~y.any(axis=1)] = 1.0
    return [
        {"id": i, "cluster": int(row.argmin()), "distance": float(row.min())}
        for i, row in enumerate(d)
    ]


@pytest.mark.parametrize("distance", DISTANCES)
def test_equals_scipy(engine: Engine, distance: str) -> None:
    for seed, (n, k, dims) in enumerate([(40, 5, 2), (30, 4, 40), (50, 600, 3)]):
        r = np.random.default_rng(seed)
        x, y = r.normal(size=(n, dims)), r.normal(size=(k, dims))
        got = assign(engine, frame_of_vectors(x), centers_of(y), distance=distance.upper(), p=3)
        assert_points(got, nearest_by_scipy(x, y, distance), tolerance=1e-12, floor=1e-13)


@pytest.mark.parametrize("distance", [name for name in DISTANCES if name != "chebyshev"])
def test_weights_are_those_of_scipy(engine: Engine, distance: str) -> None:
    r = np.random.default_rng(3)
    x, y, w = r.normal(size=(30, 3)), r.normal(size=(4, 3)), np.array([0.5, 2.0, 7.0])
    got = assign(
        engine, frame_of_vectors(x), centers_of(y), distance=distance, p=3, weights=w.tolist()
    )
    assert_points(got, nearest_by_scipy(x, y, distance, w), tolerance=1e-12, floor=1e-13)


def test_equals_the_prediction_of_scikit_learn(engine: Engine) -> None:
    r = np.random.default_rng(5)
    x = np.concatenate([r.normal(loc=i, size=(60, 4)) for i in range(3)])
    model = KMeans(3, n_init=1, random_state=0).fit(x[::2])
    got = assign(engine, frame_of_vectors(x), centers_of(model.cluster_centers_))
    assert [row["cluster"] for row in got] == model.predict(x).tolist()


def test_the_lowest_of_equally_near_centers(engine: Engine) -> None:
    """On a grid of whole numbers ties are exact, whatever the order of the rows of centers."""
    grid = np.array([[i, j] for i in range(5) for j in range(5)], dtype=float)
    y = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0], [2.0, 2.0]])
    centers = centers_of(y).with_columns(pl.Series("cluster", ["e", "b", "c", "d", "a"]))
    got = assign(engine, frame_of_vectors(grid), centers)
    assert got == assign(engine, frame_of_vectors(grid), centers.reverse())
    names = dict(zip(["e", "b", "c", "d", "a"], y, strict=True))
    for row, point in zip(got, grid, strict=True):
        d = {name: float(np.hypot(*(point - c))) for name, c in names.items()}
        assert row["cluster"] == min(d, key=lambda name: (d[name], name))
    assert {row["cluster"] for row in got} == {"a", "b", "c", "d", "e"}


def test_ties_that_a_product_of_matrices_breaks(engine: Engine) -> None:
    """The mean of the centers is no finite binary fraction, so products of it are rounded."""
    y = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 7.0], [1.0, 7.0], [31.0, 5.0], [0.0, 40.0]])
    x = np.array([[0.5, i / 8] for i in range(-100, 200)])
    got = assign(engine, frame_of_vectors(x), centers_of(y))
    d = np.array([[np.hypot(*(a - b)) for b in y] for a in x])
    assert [row["cluster"] for row in got] == d.argmin(axis=1).tolist()
    assert {row["cluster"] for row in got} == {0, 2, 5}


def test_ties_of_centers_far_apart_in_the_table(engine: Engine) -> None:
    """Of 1,200 centers, 600 different ones."""
    r = np.random.default_rng(17)
    y = r.permutation(np.repeat(r.normal(size=(600, 2)), 2, axis=0))
    x = r.normal(size=(80, 2))
    assert_points(
        assign(engine, frame_of_vectors(x), centers_of(y)), nearest_by_scipy(x, y, "euclidean")
    )


def test_zero_vectors_under_cosine(engine: Engine) -> None:
    x = np.array([[0.0, 0.0], [2.0, 2.0], [-1.0, 0.0]])
    y = np.array([[0.0, 0.0], [1.0, 1.0]])
    got = assign(engine, frame_of_vectors(x), centers_of(y), distance="cosine")
    assert_points(
        got,
        [
            {"id": 0, "cluster": 0, "distance": 1.0},
            {"id": 1, "cluster": 1, "distance": 0.0},
            {"id": 2, "cluster": 0, "distance": 1.0},
        ],
    )


def test_partitions_have_their_own_centers(engine: Engine) -> None:
    """One with many centers, one with few, one whose key is NULL."""
    r = np.random.default_rng(7)
    sizes = {"few": 3, "many": 700, None: 2}
    points, centers, wanted = [], [], []
    for key, k in sizes.items():
        x, y = r.normal(size=(20, 3)), r.normal(size=(k, 3))
        run = pl.lit(key, pl.String).alias("run")
        points.append(frame_of_vectors(x).with_columns(run))
        centers.append(centers_of(y).with_columns(run))
        wanted += [{"run": key} | row for row in nearest_by_scipy(x, y, "euclidean")]
    for i, row in enumerate(wanted):
        row["id"] = i
    got = assign(engine, pl.concat(points), pl.concat(centers[::-1]), partition_by="run")
    assert_points(got, wanted, tolerance=1e-12)


def test_ids_are_handed_on_and_sorted(engine: Engine) -> None:
    frame = pl.DataFrame({"vector": [[0.0], [9.0], [1.0]], "name": ["c", "a", "b"]})
    got = assign(engine, frame, centers_of(np.array([[0.0], [8.0]])), id="name")
    assert [tuple(row.values()) for row in got] == [("a", 1, 1.0), ("b", 0, 1.0), ("c", 0, 0.0)]


def test_rows_without_a_vector_are_left_out(engine: Engine) -> None:
    frame = pl.DataFrame({"vector": [[0.0, 1.0], None, [5.0, 5.0]]})
    centers = centers_of(np.array([[0.0, 0.0], [5.0, 5.0]]))
    extra = pl.DataFrame(
        {"cluster": [None, 7], "centroid": [[0.0, 1.0], None]}, schema=centers.schema
    )
    got = assign(engine, frame, pl.concat([centers, extra]))
    assert [tuple(row.values()) for row in got] == [(0, 0, 1.0), (2, 1, 0.0)]


def test_no_rows(engine: Engine) -> None:
    frame = pl.DataFrame(schema={"vector": pl.List(pl.Float64)})
    assert assign(engine, frame, centers_of(np.array([[0.0, 1.0]]))) == []
    assert (
        assign(
            engine,
            frame,
            centers_of(np.zeros((0, 2))).cast(
                {"centroid": pl.List(pl.Float64), "cluster": pl.Int64}
            ),
        )
        == []
    )


def test_far_points_and_shifts_keep_their_digits(engine: Engine) -> None:
    r = np.random.default_rng(11)
    x, y = r.integers(-50, 50, (40, 3)) / 8, r.integers(-50, 50, (6, 3)) / 8
    wanted = nearest_by_scipy(x, y, "euclidean")
    far = np.concatenate([x, [[1e15, 0.0, 0.0]]])
    assert_points(
        assign(engine, frame_of_vectors(far), centers_of(y))[:-1], wanted, tolerance=1e-14
    )
    shifted = assign(engine, frame_of_vectors(x + 2.0**30), centers_of(y + 2.0**30))
    assert_points(shifted, wanted, tolerance=1e-14)


@pytest.mark.parametrize(
    "dtype", [pl.List(pl.Float32), pl.Array(pl.Float64, 3), pl.Array(pl.Int16, 3)]
)
def test_types_of_vectors_do_not_matter(side: Engine, dtype: pl.DataType) -> None:
    x, y = np.arange(30).reshape(10, 3) % 7, np.arange(12).reshape(4, 3) % 5
    wanted = nearest_by_scipy(x.astype(float), y.astype(float), "cityblock")
    centers = centers_of(y).with_columns(pl.col("centroid").cast(dtype))
    frame = frame_of_vectors(x).with_columns(pl.col("vector").cast(dtype))
    assert_points(assign(side, frame, centers, distance="cityblock"), wanted)


def test_several_columns_as_a_vector(side: Engine) -> None:
    frame = pl.DataFrame({"x": [0, 9], "y": [1, 9]})
    got = assign(side, frame, centers_of(np.array([[0.0, 0.0], [9.0, 9.0]])), ["x", "y"])
    assert [tuple(row.values()) for row in got] == [(0, 0, 1.0), (1, 1, 0.0)]


def test_the_output_of_centroids_is_what_it_takes(side: Engine) -> None:
    """Every point of well separated clusters is nearest to its own center."""
    r = np.random.default_rng(13)
    cluster = np.repeat([0, 1, 2], 20)
    frame = frame_of_vectors(r.normal(size=(60, 2)) + 100 * cluster[:, None]).with_columns(
        pl.Series("cluster", cluster)
    )
    got = assign(side, frame, ce.centroids(frame, "vector", "cluster"))
    assert [row["cluster"] for row in got] == cluster.tolist()


# ----------------------------------------------------------------------------------------------
# Bad input
# ----------------------------------------------------------------------------------------------


TWO = frame_of_vectors(np.array([[0.0, 1.0], [2.0, 3.0]]))
CENTERS = centers_of(np.array([[0.0, 1.0], [2.0, 2.0]]))
NAN = float("nan")


@pytest.mark.parametrize(
    ("frame", "centers", "words"),
    [
        (
            TWO,
            centers_of(np.array([[0.0, 1.0, 2.0]])),
            r"centroids: expected vectors of 2 coordinates, as the points have, got 3",
        ),
        (
            TWO,
            pl.DataFrame({"cluster": [0, 1], "centroid": [[0.0, 1.0], [1.0]]}),
            r"centroids: expected vectors of 2 coordinates, as the points have, got 1",
        ),
        (
            TWO,
            centers_of(np.array([[0.0, 1.0], [2.0, NAN]])),
            r"centroids: expected finite numbers, got nan in coordinate 2",
        ),
        (
            TWO,
            pl.DataFrame({"cluster": [0], "centroid": [[None, 1.0]]}),
            r"centroids: expected finite numbers, got NULL in coordinate 1",
        ),
        (
            TWO,
            pl.DataFrame({"cluster": [0], "centroid": ["[0, 1]x"]}),
            r"centroids: expected lists of numbers in the column centroid",
        ),
        (
            TWO,
            CENTERS.clear(),
            r"centroids: .* got none for NULL; give the same partition_by to both tables",
        ),
        (
            pl.DataFrame({"vector": [[0.0, 1.0], [1.0, NAN], [2.0, NAN]]}),
            CENTERS,
            r"vector: expected finite numbers, got nan in coordinate 2 \(2 rows are at fault\)",
        ),
        (
            pl.DataFrame({"vector": [[0.0, 1.0], [float("inf"), 2.0]]}),
            CENTERS,
            r"vector: expected finite numbers, got inf in coordinate 1 \(1 row is at fault\)",
        ),
        (
            pl.DataFrame({"vector": [[0.0, 1.0], [1.0]]}),
            CENTERS,
            r"vector: expected vectors of one length \(2\), got 1 coordinates \(1 row is",
        ),
        (
            frame_of_vectors(np.array([[1e200, 1e200]])),
            centers_of(np.array([[-1e200, 0.0]])),
            r"vector: distances overflow; scale the coordinates down",
        ),
        (
            frame_of_vectors(np.array([[0.0, 0.0]])),
            centers_of(np.array([[1e200, 0.0], [1.0, 0.0]])),
            None,
        ),
    ],
)
def test_bad_input(
    side: Engine, frame: pl.DataFrame, centers: pl.DataFrame, words: str | None
) -> None:
    if words is None:
        # What is not the nearest center may be as far as it likes.
        assert [row["cluster"] for row in assign(side, frame, centers)] == [1]
        return
    with pytest.raises((ce.ClusterEvalError, duckdb.Error), match=words):
        assign(side, frame, centers)


def test_a_partition_without_centers(side: Engine) -> None:
    frame = TWO.with_columns(run=pl.Series(["a", "b"]))
    centers = CENTERS.with_columns(run=pl.lit("a"))
    with pytest.raises(
        (ce.ClusterEvalError, duckdb.Error),
        match="for each partition of the points, got none for b",
    ):
        assign(side, frame, centers, partition_by="run")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"distance": "manhattan"}, "did you mean 'cityblock'"),
        ({"distance": "minkowski", "p": 0.5}, "p: expected a number >= 1, got 0.5"),
        ({"weights": [1.0]}, "weights: expected one for each of 2 dimensions, got 1"),
        ({"weights": [1.0, 0.0]}, "weights: expected a number > 0 for each dimension"),
    ],
)
def test_bad_options(side: Engine, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises((ce.ClusterEvalError, duckdb.Error), match=words):
        assign(side, TWO, CENTERS, **arguments)


def test_centroids_that_are_no_frame() -> None:
    with pytest.raises(
        ce.ClusterEvalError, match="centroids: expected a Polars DataFrame or LazyFrame, got int"
    ):
        ce.assign_nearest(TWO, "vector", 3)  # type: ignore[arg-type]
    with pytest.raises(ce.ClusterEvalError, match="centroids: column 'cluster' not found"):
        ce.assign_nearest(TWO, "vector", CENTERS.drop("cluster"))


def test_data_in_place_of_the_frame() -> None:
    """The error shows a call with the centers as they are, and it runs."""
    vector = np.array([[0.0, 1.0], [2.0, 3.0]])
    with pytest.raises(ce.ClusterEvalError, match="frame: expected a Polars DataFrame") as raised:
        ce.assign_nearest(vector, CENTERS)  # type: ignore[type-var, call-arg]
    _, code = str(raised.value).split("; write ")
    shown = eval(code, {"pl": pl, "ce": ce, "vector": vector, "centroids": CENTERS})
    assert shown.equals(ce.assign_nearest(TWO, "vector", CENTERS))


def test_the_check_of_the_rows_can_fail() -> None:
    """A negative control of the comparison: another cluster, and a distance off by 1e-9."""
    wanted = nearest_by_scipy(
        np.array([[0.0, 1.0]]), np.array([[0.0, 0.0], [5.0, 5.0]]), "euclidean"
    )
    for change in ({"cluster": 1}, {"distance": 1.0 + 1e-9}):
        with pytest.raises(AssertionError):
            assert_points([wanted[0] | change], wanted)


def test_points_stream() -> None:
    """A lazy result reads nothing of the points but the longest list until it is collected."""
    lazy = ce.assign_nearest(TWO.lazy(), "vector", CENTERS)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect_schema().names() == ["id", "cluster", "distance"]
