"""Findings on shapes that are not round, against graphs of neighbors that scipy makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs, make_circles, make_moons
from sklearn.metrics import silhouette_samples as sklearn_silhouettes

from polars_clustereval.internal.shapes import cluster_shapes
from tests.external.test_findings import bare
from tests.support.compare import is_near
from tests.support.engines import ENGINES, Engine, make
from tests.support.point_engines import call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.engines import Row


def wide(*values: Any) -> list[Any]:
    """Parameters of wide tests."""
    return [pytest.param(value, marks=pytest.mark.wide) for value in values]


SHAPES = ("cut_shapes", "connected_shapes")
#: What a round cluster lacks if its silhouette is low.
VERDICTS = (*SHAPES, "low_silhouette", "close_clusters")
XY = ["x", "y"]
CUT = (
    "they divide one of the {} connected parts of the points, although the first also has points "
    "of another part: centers do this to shapes that are not round, or if there are too few "
    "clusters; compare the clusters of DBSCAN, HDBSCAN or single linkage, by dunn_index or "
    "density_based_validity"
)
CONNECTED = (
    "{} of {} clusters {}, but nearest neighbors connect {} of {}, and hardly any with other "
    "clusters: centers and silhouettes say little of clusters that are not round or have many "
    "dimensions; judge them with dunn_index, density_based_validity and neighborhood_report"
)


def found(
    engine: Engine, frame: pl.DataFrame, vector: str | list[str] = XY, **options: Any
) -> list[Row]:
    rows = call(engine, "internal_findings", frame, vector, **options)
    return [bare(row) for row in rows if row["code"] in VERDICTS]


def briefly(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(row["code"], row["cluster"], row["other_cluster"]) for row in rows]


def assert_alike(rows: list[Row], others: list[Row]) -> None:
    """The same findings, with values that only rounding errors tell apart."""
    assert [{**x, "value": None} for x in rows] == [{**x, "value": None} for x in others]
    for one, other in zip(rows, others, strict=True):
        assert is_near(one["value"], other["value"])


def frame_of(points: Any, cluster: Any) -> pl.DataFrame:
    columns = XY if len(points[0]) == 2 else [f"x{i}" for i in range(len(points[0]))]
    return pl.DataFrame(points, columns, orient="row").with_columns(
        cluster=pl.Series(np.asarray(cluster))
    )


def ring(radius: float, n: int = 200) -> np.ndarray:
    angles = 2 * np.pi * np.arange(n) / n
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


#: A ring around a ring: by ring, as DBSCAN finds them, and by half, as K-means cuts them.
RINGS = frame_of(np.vstack([ring(1), ring(4)]), np.repeat([0, 1], 200))
HALVES = RINGS.with_columns(cluster=(pl.col("x") + pl.col("y") / 10 < 0).cast(pl.Int64))


def chains(table: Sequence[Sequence[int]]) -> pl.DataFrame:
    """A line of points for each row, so many in each cluster as its numbers say."""
    rows = [
        (x + 1000.0 * part, x - 1000.0 * part, cluster)
        for part, counts in enumerate(table)
        for x, cluster in enumerate(np.repeat(np.arange(len(counts)), counts).tolist())
    ]
    return pl.DataFrame(rows, [*XY, "cluster"], orient="row")


# ----------------------------------------------------------------------------------------------
# What is found, and what is not
# ----------------------------------------------------------------------------------------------


def test_rings_are_connected_and_halves_of_rings_are_cut(engine: Engine) -> None:
    [note] = found(engine, RINGS)
    words = CONNECTED.format(1, 2, "has a low silhouette", "100 %", "its points within the cluster")
    assert note == {
        "severity": "note",
        "code": "connected_shapes",
        "coordinate": None,
        "cluster": None,
        "other_cluster": None,
        "n": 200,
        "value": 1.0,
        "finding": words,
    }
    [warning] = found(engine, HALVES)
    assert warning == {
        "severity": "warning",
        "code": "cut_shapes",
        "coordinate": None,
        "cluster": 0,
        "other_cluster": 1,
        "n": 400,
        "value": 0.25,
        "finding": CUT.format(2),
    }


@pytest.mark.gate
def test_several_connected_clusters_are_one_note(engine: Engine) -> None:
    """Three rings: the silhouettes of the outer ones are low. Some points are labeled wrongly."""
    points = np.vstack([ring(1, 100), ring(4, 300), ring(8, 300)])
    cluster = np.repeat([0, 1, 2], [100, 300, 300])
    cluster[[100, 250]] = 2
    [note] = found(engine, frame_of(points, cluster))
    percent, whose = "over 99 %", "their points within their cluster"
    words = CONNECTED.format(2, 3, "have low silhouettes", percent, whose)
    assert (note["n"], note["finding"]) == (600, words)
    assert is_near(note["value"], (298 + 300) / 600)


@pytest.mark.gate
@pytest.mark.parametrize("seed", [0, *wide(1)])
def test_shapes_of_scikit_learn(engine: Engine, seed: int) -> None:
    moons = make_moons(900, noise=0.04, random_state=seed)
    circles = make_circles(900, noise=0.03, factor=0.4, random_state=seed)
    for points, truth in (moons, circles):
        cut = KMeans(2, n_init=2, random_state=seed).fit_predict(points)
        [warning] = found(engine, frame_of(points, cut))
        assert warning["code"] == "cut_shapes"
        rest = [row["code"] for row in found(engine, frame_of(points, truth))]
        assert rest in ([], ["connected_shapes"])


@pytest.mark.gate
@pytest.mark.parametrize("spread", [1.5, *wide(0.5, 3.0)])
@pytest.mark.parametrize("dims", [2, *wide(8)])
def test_round_clusters_cut_no_shapes(spread: float, dims: int) -> None:
    engine = make("polars")
    for seed in range(4):
        points, truth = make_blobs(
            600, n_features=dims, centers=5, cluster_std=spread, random_state=seed
        )
        for k in (0, 5, 9):
            of_centers = KMeans(k or 5, n_init=2, random_state=seed).fit_predict(points)
            vector = XY if dims == 2 else [f"x{i}" for i in range(dims)]
            rows = found(engine, frame_of(points, of_centers if k else truth), vector)
            assert not {row["code"] for row in rows} & {*SHAPES}


def test_scattered_points_join_no_shapes(engine: Engine) -> None:
    """Of 1,000 points, 50 are between the rings and around them."""
    rng = np.random.default_rng(3)
    points, circle = make_circles(950, noise=0.03, factor=0.5, random_state=0)
    points = np.vstack([points, rng.uniform(-1.5, 1.5, (50, 2))])
    half = frame_of(points, (points[:, 0] > 0).astype(int))
    assert [x[0] for x in briefly(found(engine, half))] == ["cut_shapes"]
    noisy = frame_of(points, [*circle.tolist(), *[-1] * 50])
    codes = [x[0] for x in briefly(found(engine, noisy, noise=-1, noise_as="drop"))]
    assert "connected_shapes" in codes
    assert not {"cut_shapes", "low_silhouette"} & {*codes}


@pytest.mark.gate
@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_overlapping_clusters_keep_their_findings(engine: Engine, load: Any) -> None:
    """Neighbors of digits are 95 % of the same digit, but they connect most digits."""
    points, truth = load(return_X_y=True)
    frame = pl.DataFrame({"vector": points, "cluster": truth})
    for k in (0, len(set(truth))):
        labels = KMeans(k, n_init=1, random_state=0).fit_predict(points) if k else truth
        rows = found(engine, frame.with_columns(cluster=pl.Series(labels)), "vector")
        means = [sklearn_silhouettes(points, labels)[labels == x].mean() for x in set(labels)]
        codes = [row["code"] for row in rows]
        assert codes.count("low_silhouette") == sum(x < 0.25 for x in means)
        assert not {*codes} & {*SHAPES}


@pytest.mark.parametrize(
    ("table", "cut"),
    [
        ([[50, 50], [50, 50]], (0, 1, 0.25)),
        ([[40, 60], [60, 40]], (0, 1, 0.3)),  # the lower of two that have 60
        ([[50, 50], [0, 100]], (1, 0, 0.25)),
        ([[100, 0], [0, 100]], None),
        ([[100, 100]], None),  # one part
        ([[50, 0, 50], [0, 100, 0]], None),  # a part is divided, and nothing joined
        ([[100, 0, 0], [100, 0, 0], [0, 50, 50]], None),  # by other clusters
        ([[45, 5], [5, 45]], (0, 1, 0.45)),
        ([[46, 4], [4, 46]], None),  # too few points
        ([[90, 10], [0, 90]], (1, 0, 10 / 190)),
        ([[181, 19], [0, 100]], None),  # less than 10 % of the part
        ([[90, 10], [0, 91]], None),  # less than 10 % of the cluster
        ([[880, 100], [0, 20]], (1, 0, 0.1)),
        ([[881, 100], [0, 19]], None),  # a part with less than 2 % of the points
        ([[700, 100, 0], [0, 100, 0], [0, 0, 12]], (1, 0, 100 / 912)),  # a tiny part
        ([[50, 50], [0, 100], [100, 0]], None),  # more parts than clusters
        ([[50, 50, 0], [0, 100, 0], [0, 0, 50]], (1, 0, 0.2)),
        ([[30, 20, 50], [100, 0, 0], [0, 100, 0]], (0, 2, 0.1)),  # the other one that has the most
        ([[30, 30, 30], [30, 0, 0], [0, 30, 0]], (0, 1, 0.2)),
    ],
)
def test_the_limits_of_a_cut(engine: Engine, table: list[list[int]], cut: Any) -> None:
    rows = [row for row in found(engine, chains(table)) if row["code"] == "cut_shapes"]
    assert [(row["cluster"], row["other_cluster"]) for row in rows] == ([cut[:2]] if cut else [])
    if cut:
        assert is_near(rows[0]["value"], cut[2])
        n_parts = sum(50 * sum(counts) >= sum(map(sum, table)) for counts in table)
        assert rows[0]["finding"] == CUT.format(n_parts)


def test_links_are_mutual(engine: Engine) -> None:
    """A line of 15 points is no neighbor of the next one, nor are far points of the rings."""
    [row] = [x for x in found(engine, chains([[8, 7], [20, 20]])) if x["code"] in SHAPES]
    assert (row["code"], row["finding"]) == ("cut_shapes", CUT.format(2))
    assert is_near(row["value"], 20 / 55)
    # Points of two lines of 12 have four neighbors in the other one, so these are one part.
    [row] = [x for x in found(engine, chains([[6, 6], [6, 6], [20, 20]])) if x["code"] in SHAPES]
    assert (row["code"], row["finding"]) == ("cut_shapes", CUT.format(2))
    assert is_near(row["value"], 20 / 64)
    far = pl.DataFrame({"x": [5.0, 5.0, -5.0, -5.0], "y": [4.0, -4.0] * 2, "cluster": [0, 0, 1, 1]})
    [row] = [x for x in found(engine, pl.concat([HALVES, far])) if x["code"] in SHAPES]
    assert row["code"] == "cut_shapes"
    assert is_near(row["value"], 100 / 404)


@pytest.mark.gate
@pytest.mark.parametrize(("n_wrong", "codes"), [(10, ["connected_shapes"]), (11, [])])
def test_the_limits_of_a_connected_cluster(engine: Engine, n_wrong: int, codes: Any) -> None:
    """Of the outer ring, at least 95 % are in the cluster, and at least 95 % of the cluster."""
    for n, wrong in ((200, slice(200, 200 + n_wrong)), (190, slice(0, n_wrong))):
        cluster = np.repeat([0, 1], [200, n])
        cluster[wrong] = 1 - cluster[wrong]
        frame = frame_of(np.vstack([ring(1), ring(4, n)]), cluster)
        rows = found(engine, frame)
        assert [row["code"] for row in rows if row["code"] in SHAPES] == codes
        assert ("low_silhouette" in [row["code"] for row in rows]) == (not codes)


@pytest.mark.gate
def test_a_cluster_of_several_parts_is_not_connected(engine: Engine) -> None:
    """A ring between the two parts of a cluster, whose silhouette is low."""
    points = np.vstack([ring(1), ring(4), ring(16)])
    rows = found(engine, frame_of(points, np.repeat([0, 1, 0], 200)))
    assert briefly(rows) == [("low_silhouette", 0, 1)]


@pytest.mark.gate
def test_nearly_all_points_of_one_part_are_not_connected(engine: Engine) -> None:
    """A single part says nothing of the cluster that has 96 % of it."""
    rows = found(engine, frame_of(ring(4), (np.arange(200) % 25 == 0).astype(int)))
    assert "low_silhouette" in [row["code"] for row in rows if row["cluster"] == 0]
    assert not {row["code"] for row in rows} & {*SHAPES}


@pytest.mark.gate
def test_copies_of_points_are_no_shapes(engine: Engine) -> None:
    """Sixteen copies are the neighbors of each other, whatever is next to them."""
    rng = np.random.default_rng(0)
    grid = rng.integers(0, 4, (800, 2)).astype(float)
    for cluster in (rng.integers(0, 2, 800), grid[:, 0] > 1, grid.sum(axis=1) % 2):
        assert not {x[0] for x in briefly(found(engine, frame_of(grid, cluster)))} & {*SHAPES}
    # Some copies hide no shape, and are no part themselves; many of them leave too few points.
    for n, codes in ((44, ["cut_shapes"]), (45, [])):
        copies = pl.DataFrame({"x": [5.0] * n, "y": [0.0] * n, "cluster": [0] * n})
        rows = found(engine, pl.concat([HALVES, copies]))
        assert [row["code"] for row in rows if row["code"] in SHAPES] == codes
        assert all(is_near(row["value"], 0.25) for row in rows if row["code"] == "cut_shapes")
    one = chains([[100, 100]])
    apart = copies.with_columns(y=3000.0, cluster=pl.lit(1, pl.Int64)).head(20)
    rows = found(engine, pl.concat([one, apart]))
    assert not {x[0] for x in briefly(rows)} & {*SHAPES}


@pytest.mark.gate
def test_few_points_have_no_shapes(engine: Engine) -> None:
    for n in (0, 1, 2, 5, 16, 30):
        assert not {x[0] for x in briefly(found(engine, HALVES.head(n)))} & {*SHAPES}
    assert not {x[0] for x in briefly(found(engine, chains([[8, 8], [7, 7]])))} & {*SHAPES}
    assert ("cut_shapes", 0, 1) in briefly(found(engine, chains([[8, 8], [8, 7]])))


# ----------------------------------------------------------------------------------------------
# Mutes
# ----------------------------------------------------------------------------------------------


@pytest.mark.gate
def test_findings_that_mute_shapes(engine: Engine) -> None:
    wide = HALVES.with_columns(pl.col("y") * 30)
    assert found(engine, wide) == []
    assert briefly(found(engine, wide, weights=[1.0, 1 / 900])) == [("cut_shapes", 0, 1)]
    assert found(engine, RINGS.with_columns(cluster=0)) == []
    square = cdist(HALVES.select(XY).to_numpy(), HALVES.select(XY).to_numpy())
    rows = pl.DataFrame({"vector": square, "cluster": HALVES["cluster"]})
    codes = [row["code"] for row in call(engine, "internal_findings", rows, "vector")]
    assert codes == ["distance_matrix"]


@pytest.mark.gate
def test_noise_and_shapes(engine: Engine) -> None:
    """Noise that is left out, or one point each, is no cluster of a shape."""
    between = RINGS.tail(30).with_columns(pl.col(XY) * 2 / 3, cluster=pl.lit(-1, pl.Int64))
    noisy = pl.concat([HALVES, between])
    for noise_as in ("drop", "singletons"):
        [row] = found(engine, noisy, noise=-1, noise_as=noise_as)
        n = 430 if noise_as == "singletons" else 400
        assert (row["code"], row["n"], row["value"]) == ("cut_shapes", n, 0.25)
    named = HALVES.with_columns(cluster=-pl.col("cluster"))
    assert found(engine, named) == []
    assert briefly(found(engine, named, noise=-1, noise_as="cluster")) == [("cut_shapes", -1, 0)]


# ----------------------------------------------------------------------------------------------
# Against the definition
# ----------------------------------------------------------------------------------------------


def parts_of(points: np.ndarray, metric: str, **options: Any) -> np.ndarray:
    """The components of the graph of mutual nearest neighbors, in which rows break ties."""
    n = len(points)
    d = np.round(cdist(points, points, metric, **options), 10)
    np.fill_diagonal(d, np.inf)
    order = np.argsort(d, axis=1, kind="stable")[:, : min(15, n - 1)]
    links = np.zeros((n, n), dtype=bool)
    np.put_along_axis(links, order, True, axis=1)
    links &= links.T
    return np.asarray(connected_components(links, directed=False)[1])


def contradictions(parts: np.ndarray, cluster: np.ndarray) -> set[tuple[int, int]]:
    """All pairs of clusters that divide a part, of which the first has points of another part."""
    n = len(parts)
    cells = {
        (part, own): int(((parts == part) & (cluster == own)).sum())
        for part in set(parts.tolist())
        for own in set(cluster.tolist())
    }
    size = {part: int((parts == part).sum()) for part in set(parts.tolist())}
    large = {part for part, m in size.items() if m >= 0.02 * n}
    if len(large) > len(set(cluster.tolist())):
        return set()
    shared = {
        (part, own)
        for (part, own), m in cells.items()
        if part in large and m >= 5 and m >= size[part] / 10 and m >= (cluster == own).sum() / 10
    }
    return {
        (one, other)
        for part, one in shared
        for second, other in shared
        if second == part and other != one and any(p != part and c == one for p, c in shared)
    }


def scattered(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of rings, lines and a cloud, and clusters that are those or divide them."""
    rng = np.random.default_rng(seed)
    shapes = [
        ring(rng.uniform(1, 3), n),
        rng.uniform(5, 9, 2) + np.outer(np.linspace(0, 4, n), rng.normal(size=2)),
        rng.normal(rng.uniform(-9, 9, 2), 1, (n, 2)),
    ]
    points = np.vstack(shapes) + rng.normal(0, 0.05, (3 * n, 2))
    by_shape = np.repeat([0, 1, 2], n)
    by_center = np.argmin(cdist(points, points[rng.integers(0, 3 * n, 3)]), axis=1)
    cluster = by_shape if seed % 3 == 0 else by_center
    return points, np.where(rng.random(3 * n) < 0.02, rng.integers(0, 3, 3 * n), cluster)


METRICS: dict[str, dict[str, Any]] = {
    "euclidean": {"metric": "euclidean"},
    "sqeuclidean": {"metric": "sqeuclidean"},
    "cityblock": {"metric": "cityblock"},
    "chebyshev": {"metric": "chebyshev"},
    "minkowski": {"metric": "minkowski", "p": 3},
    "cosine": {"metric": "cosine"},
}


def assert_as_defined(engine: Engine, points: Any, cluster: Any, distance: str, n: int) -> str:
    """The findings are those of the graph; returns the code of a shape, if there is one."""
    options = {x: y for x, y in METRICS[distance].items() if x == "p"}
    rows = found(engine, frame_of(points, cluster), distance=distance, **options)
    parts = parts_of(points, **METRICS[distance])
    pairs = contradictions(parts, cluster)
    cut = [(row["cluster"], row["other_cluster"]) for row in rows if row["code"] == "cut_shapes"]
    assert len(cut) == min(1, len(pairs))
    assert {*cut} <= pairs
    silhouettes = sklearn_silhouettes(points, cluster, **METRICS[distance])
    low, n_connected = set(), 0
    has_parts = np.sum(np.bincount(parts) >= 0.02 * n) > 1
    for own in set(cluster.tolist()):
        if silhouettes[cluster == own].mean() < 0.25:
            part = np.argmax(np.bincount(parts[cluster == own]))
            both = ((parts == part) & (cluster == own)).sum()
            is_own = both >= 0.95 * (parts == part).sum() and both >= 0.95 * (cluster == own).sum()
            n_connected += is_own and has_parts
            low |= set() if is_own and has_parts else {own}
    assert {row["cluster"] for row in rows if row["code"] == "low_silhouette"} == low
    codes = [row["code"] for row in rows if row["code"] in SHAPES]
    assert ("connected_shapes" in codes) == (n_connected > 0)
    return codes[0] if codes else ""


@pytest.mark.gate
@pytest.mark.parametrize(
    "distance", ["euclidean", *wide(*(x for x in METRICS if x != "euclidean"))]
)
@pytest.mark.parametrize("name", ["duckdb", "polars"])
def test_parts_are_those_of_scipy(name: str, distance: str) -> None:
    codes = set()
    for seed in range(6):
        points, cluster = scattered(seed, 90)
        frame = frame_of(points, cluster)
        rows = call(make(name), "internal_findings", frame, XY, distance=distance)
        if {row["code"] for row in rows} & {"far_point", "dominant_coordinate"}:
            continue
        codes.add(assert_as_defined(make(name), points, cluster, distance, 270))
    assert "cut_shapes" in codes or distance == "cosine"


@pytest.mark.gate
@given(st.integers(0, 10**6), st.integers(8, 40))
@settings(max_examples=25, deadline=None)
def test_the_engines_find_the_same(seed: int, n: int) -> None:
    """Coordinates with one decimal have ties and copies."""
    points, cluster = scattered(seed, n)
    ids = np.random.default_rng(seed).permutation(3 * n)
    frame = frame_of(points.round(1), cluster).with_columns(id=pl.Series(ids))
    rows = [found(make(name), frame, id="id") for name in ENGINES]
    for others in rows[1:]:
        assert_alike(rows[0], others)


# ----------------------------------------------------------------------------------------------
# Samples
# ----------------------------------------------------------------------------------------------


def large_rings(n: int = 20_000) -> pl.DataFrame:
    """Halves of noisy rings, whose ids are not in the order of the rows."""
    rng = np.random.default_rng(3)
    points, _ = make_circles(n, noise=0.04, factor=0.4, random_state=1)
    frame = frame_of(points, (points[:, 0] < 0).astype(int))
    return frame.with_columns(id=pl.Series(rng.permutation(n) * 3))


@pytest.mark.gate
@pytest.mark.parametrize("identified", [True, *wide(False)])
def test_the_sample_is_that_of_silhouettes(engine: Engine, identified: bool) -> None:
    """The value is a count of points that silhouette_samples draws."""
    frame = large_rings()
    options: dict[str, Any] = {"id": "id"} if identified else {}
    values = set()
    for state in (0, 7):
        options["random_state"] = state
        drawn = call(
            engine, "silhouette_samples", frame, XY, method="sample", sample_size=1000, **options
        )
        ids = [row["id"] for row in drawn]
        rows = frame if identified else frame.with_columns(id=pl.int_range(pl.len()))
        sample = rows.filter(pl.col("id").is_in(ids)).sort("id")
        parts = parts_of(sample.select(XY).to_numpy(), "euclidean")
        [row] = [x for x in found(engine, frame, **options) if x["code"] == "cut_shapes"]
        cells = sample.with_columns(part=pl.Series(parts)).group_by("part", "cluster").len()
        assert cells.filter(pl.col("len") > 1).height == 4
        assert is_near(row["value"], cells["len"].max() / 1000)
        assert row["n"] == 20_000
        values.add(row["value"])
    assert len(values) == 2


@pytest.mark.gate
def test_repeated_ids_and_unknown_ones_are_drawn_alike() -> None:
    """Findings need no ids that are unique. The order of rows breaks their ties."""
    frame = large_rings(3000).with_columns(id=pl.col("id") % 50)
    frame = frame.with_columns(id=pl.when(pl.col("id") > 3).then("id"))
    rows = [found(make(name), frame, id="id") for name in ENGINES]
    assert_alike(rows[0], rows[1])
    assert_alike(rows[0], rows[2])
    assert rows[0][0]["code"] == "cut_shapes"


# ----------------------------------------------------------------------------------------------
# What must not matter
# ----------------------------------------------------------------------------------------------


ORDER = pl.Series(np.random.default_rng(0).permutation(3000))
NOTHING = pl.lit(None, pl.Int64).alias("cluster")
CHANGES: dict[str, Any] = {
    "order": lambda frame: (frame[ORDER], XY),
    "shift": lambda frame: (frame.with_columns(pl.col(XY) + 2.0**30), XY),
    "scale": lambda frame: (frame.with_columns(pl.col(XY) * 2.0**-20), XY),
    "dropped": lambda frame: (
        pl.concat([frame.head(500).with_columns(pl.col("id") - 1, NOTHING), frame]).sort("id"),
        XY,
    ),
    "names": lambda frame: (frame.rename({"x": "place", "y": "n"}), ["place", "n"]),
    "list": lambda frame: (frame.with_columns(v=pl.concat_list(XY)), "v"),
    "array": lambda frame: (frame.with_columns(v=pl.concat_arr(XY)), "v"),
}


@pytest.mark.gate
@pytest.mark.parametrize("change", CHANGES)
def test_what_does_not_matter(engine: Engine, change: str) -> None:
    # Rounded such that a shift loses no digits.
    frame = large_rings(3000).with_columns((pl.col(XY) * 2**20).round() / 2**20)
    changed, vector = CHANGES[change](frame)
    rows = found(engine, changed, vector, id="id")
    assert_alike(rows, found(engine, frame, id="id"))
    assert rows[0]["code"] == "cut_shapes"
    if change == "order":
        assert_alike(rows, found(engine, frame, id="id", weights=[1.0, 1.0]))


@pytest.mark.gate
def test_partitions_do_not_matter(engine: Engine) -> None:
    """Those of rows that alternate, and of a NULL key, are as if alone."""
    large = large_rings(3000)
    frames = {"a": large, None: RINGS, "c": chains([[50, 50], [50, 50]]), "d": HALVES.head(15)}
    parts = [
        frame.select(*XY, pl.col("cluster").cast(pl.Int64), part=pl.lit(key, pl.String))
        for key, frame in frames.items()
    ]
    whole = pl.concat(parts).with_row_index("row")
    whole = whole.with_columns(pl.col("row").rank("ordinal").over("part")).sort("row", "part")
    rows = call(engine, "internal_findings", whole, XY, partition_by="part")
    rows = [bare(row) for row in rows if row["code"] in VERDICTS]
    for key, frame in frames.items():
        own = [{x: y for x, y in row.items() if x != "part"} for row in rows if row["part"] == key]
        assert_alike(own, found(engine, frame))


@pytest.mark.gate
@pytest.mark.parametrize("dtype", [pl.Float32, pl.Int32, pl.Decimal(12, 2)])
def test_types_do_not_matter(engine: Engine, dtype: Any) -> None:
    frame = large_rings(3000).with_columns((pl.col(XY) * 1000).round())
    assert_alike(found(engine, frame.with_columns(pl.col(XY).cast(dtype))), found(engine, frame))


@pytest.mark.gate
def test_clusters_of_any_type(engine: Engine) -> None:
    for values in (["b", "c"], [1.5, float("nan")], [[1], [2]], [{"a": 1}, {"a": 2}]):
        key = pl.Series(values).gather(HALVES["cluster"].to_numpy())
        frame = HALVES.with_columns(cluster=key)
        rows = call(engine, "internal_findings", frame, XY)
        [row] = [row for row in rows if row["code"] == "cut_shapes"]
        assert repr([row["cluster"], row["other_cluster"]]) == repr(values)


@pytest.mark.gate
def test_invalid_points_have_the_error_of_all_rows(engine: Engine) -> None:
    """Not of the rows that are drawn."""
    bad = pl.when(pl.int_range(pl.len()) % 4 == 0).then(float("nan")).otherwise("x")
    frame = large_rings(4000).with_columns(x=bad)
    with pytest.raises(Exception, match="1000 rows"):
        call(engine, "internal_findings", frame, XY)
    # The table of shapes is not the one that raises it.
    assert cluster_shapes(frame, XY, "cluster").collect().height == 2
