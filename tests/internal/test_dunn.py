"""Diameters and Dunn's index: degenerate rows, numbers by hand and published, all pairs, errors."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.internal import dunn
from polars_clustereval.internal.kernels import measured_pairs
from tests.support import dunn_oracle as oracle
from tests.support import engines, point_oracle
from tests.support.dunn_oracle import COUNTS, GDI
from tests.support.engines import fails
from tests.support.point_engines import assert_points, call, call_by_case, one
from tests.support.point_faults import FAULTS, OVERFLOW, crossed, vectors
from tests.support.point_names import assert_columns, assert_tables, each_table, sql_names
from tests.support.point_oracle import DISTANCES, Measure, Partition
from tests.support.point_strategies import (
    NOISE,
    SEEDS,
    Rows,
    arguments_of,
    clear_and_other_sets,
    decimal,
    digit,
    frame_of_sets,
    is_clustering,
    is_exact,
    measure_of,
    quarter,
    random_options,
)
from tests.support.seeds import SEED

if TYPE_CHECKING:
    import duckdb

    from tests.support.engines import Engine, Row

NULLS: Row = dict.fromkeys(("dunn_index", "centroid_dunn_index", *GDI))


def vectors_of(rows: Rows) -> pl.DataFrame:
    return frame_of_sets([rows]).drop("run")


def numbered(values: dict[int, list[list[float]]]) -> Rows:
    return [(v, key) for key, vectors in values.items() for v in vectors]


# Degenerate rows -----------------------------------------------------------------------------

DEGENERATE: dict[str, tuple[Rows, Row]] = {
    "no rows": ([], {"n": 0, "n_clusters": 0, "max_diameter": None, "min_separation": None}),
    "all dropped": (
        [(None, 1), ([0.0], None)],
        {"n": 0, "n_dropped": 2, "max_diameter": None, "min_separation": None},
    ),
    "one row": ([([3.0], 1)], {"n": 1, "max_diameter": 0.0, "min_separation": None}),
    "one cluster": (
        [([3.0], 1), ([5.0], 1)],
        {"n_clusters": 1, "max_diameter": 2.0, "min_separation": None},
    ),
    "as many clusters as points": (
        [([3.0], 1), ([5.0], 2), ([9.0], 3)],
        {"n_clusters": 3, "max_diameter": 0.0, "min_separation": 2.0},
    ),
    "all equal": (
        [([3.0], 1), ([3.0], 1), ([3.0], 2)],
        {"n_clusters": 2, "max_diameter": 0.0, "min_separation": 0.0},
    ),
    "no cluster has any width": (
        [([3.0], 1), ([3.0], 1), ([5.0], 2)],
        {"n_clusters": 2, "max_diameter": 0.0, "min_separation": 2.0},
    ),
}


NO_ROWS = [case for case, (_, some) in DEGENERATE.items() if some.get("n") == 0]


def check_degenerate(case: str, row: Row) -> None:
    expected = NULLS | DEGENERATE[case][1]
    assert_points([{name: row[name] for name in expected}], [expected], what=case)


@pytest.mark.parametrize("generalized", [True, False])
def test_degenerate(engine: Engine, generalized: bool) -> None:
    cases = [case for case in DEGENERATE if case not in NO_ROWS]
    frames = [vectors_of(DEGENERATE[case][0]) for case in cases]
    several = call_by_case(engine, "dunn_index", frames, generalized=generalized)
    for case, [row] in zip(cases, several, strict=True):
        check_degenerate(case, row)


@pytest.mark.parametrize(
    ("case", "generalized"),
    [
        *zip(NO_ROWS, (True, False), strict=True),
        *(
            pytest.param(*case, marks=pytest.mark.gate)
            for case in zip(NO_ROWS, (False, True), strict=True)
        ),
    ],
)
def test_no_row_is_kept(engine: Engine, case: str, generalized: bool) -> None:
    frame = vectors_of(DEGENERATE[case][0])
    check_degenerate(case, one(engine, "dunn_index", frame, generalized=generalized))


BY_RUN = {"partition_by": "run"}


@pytest.mark.parametrize(
    ("rows", "function", "how"),
    [
        ([], "cluster_diameters", {}),
        pytest.param([], "cluster_diameters", BY_RUN, marks=pytest.mark.gate),
        pytest.param([], "dunn_index", BY_RUN, marks=pytest.mark.gate),
        pytest.param([(None, 1)], "cluster_diameters", {}, marks=pytest.mark.gate),
        ([(None, 1)], "cluster_diameters", BY_RUN),
    ],
)
def test_no_row_has_no_partition_and_no_cluster(
    side: Engine, rows: Rows, function: str, how: dict[str, Any]
) -> None:
    assert call(side, function, frame_of_sets([rows]), **how) == []


@pytest.mark.gate
def test_all_noise(engine: Engine) -> None:
    frame = vectors_of([([1.0], -1), ([4.0], -1), ([6.0], -1)])
    dropped = one(engine, "dunn_index", frame, noise=-1, noise_as="drop")
    assert [dropped[name] for name in COUNTS] == [0, 0, 3, 0]
    alone = one(engine, "dunn_index", frame, noise=-1, noise_as="singletons")
    assert [alone[name] for name in (*COUNTS, "min_separation")] == [3, 0, 3, 3, 2.0]
    rows = call(engine, "cluster_diameters", frame, noise=-1, noise_as="singletons")
    assert rows == [{"cluster": None, "n": 1, "diameter": 0.0}] * 3


@pytest.mark.gate
def test_zero_vectors_under_cosine(engine: Engine) -> None:
    """They are 1 from all others, each other included, but 0 from themselves."""
    sets = {1: [[0, 0]], 2: [[0, 0], [0, 0]], 3: [[1, 0], [2, 0]], 4: [[0, 0], [1, 0]]}
    frame = vectors_of(numbered(sets))
    rows = call(engine, "cluster_diameters", frame, distance="cosine")
    assert [row["diameter"] for row in rows] == pytest.approx([0.0, 1.0, 0.0, 1.0])
    part = Partition(*zip(*numbered(sets), strict=True), Measure("cosine"))
    row = one(engine, "dunn_index", frame, distance="cosine", generalized=True)
    assert_points([row], [oracle.dunn_index(part)])
    assert row["min_separation"] == 0.0
    assert row["gdi_52"] == pytest.approx(1 / 4)  # clusters 3 and 4: 0, 0 and 1, 0


# By hand -------------------------------------------------------------------------------------

# On a line: 0 and 2, 8 and 12 (centroids 1 and 10). Distances between: 8, 12, 6, 10.
LINE: Rows = [([0.0], 1), ([2.0], 1), ([8.0], 2), ([12.0], 2)]
# To the other centroid: 10, 8, 7, 11. Hausdorff: from 12 to 2.
SEPARATIONS = (6.0, 12.0, 9.0, 9.0, 9.0, 10.0)
OF_LINE: Row = {
    **dict(zip(COUNTS, (4, 0, 0, 2), strict=True)),
    "dunn_index": 1.5,
    "centroid_dunn_index": 2.25,
    "max_diameter": 4.0,
    "min_separation": 6.0,
    # all three diameters of the second cluster are 4
    **dict(zip(GDI, [x / 4.0 for x in SEPARATIONS for _ in range(3)], strict=True)),
}
# Legs of 3 and 4: diameter 5, mean pair 4, distances to the centroid (1, 4/3): 5/3, root 13 * 2/3
# and root 73 / 3.
TRIANGLE = [([0.0, 0.0], 1), ([3.0, 0.0], 1), ([0.0, 4.0], 1), ([0.0, 9.0], 2)]
MEAN_OF_TRIANGLE = (5 / 3 + 2 * math.sqrt(13) / 3 + math.sqrt(73) / 3) / 3
OF_TRIANGLE: Row = {
    "dunn_index": 1.0,
    "max_diameter": 5.0,
    "gdi_12": 5 / 4,
    "gdi_13": 5 / (2 * MEAN_OF_TRIANGLE),
    "gdi_21": math.sqrt(90) / 5,
    "gdi_32": (9 + math.sqrt(90) + 5) / 3 / 4,
    "gdi_41": math.hypot(1, 9 - 4 / 3) / 5,
    "gdi_51": (9 + math.sqrt(90) + 5 + math.hypot(1, 9 - 4 / 3)) / 4 / 5,
    "gdi_61": math.sqrt(90) / 5,
}
# Clustering.jl's twelve points, whose test has Dunn 1/2.
TWELVE: Rows = numbered(
    {
        1: [[-2, 4], [2, 4]],
        2: [[2, 1], [3, 0], [2, -1], [1, 0]],
        3: [[2, -4], [-2, -4]],
        4: [[-2, 1], [-1, 0], [-2, -1], [-3, 0]],
    }
)
OF_TWELVE: Row = {
    "dunn_index": 0.5,
    "max_diameter": 4.0,
    "min_separation": 2.0,
    "gdi_21": 6.0 / 4,
    "gdi_41": 4.0 / 4,
    "gdi_53": (2 * math.sqrt(17) + 5 + 3) / 4 / 4,  # clusters 2 and 4, for either the same
}
CASES: dict[str, tuple[Rows, Row]] = {
    "line": (LINE, OF_LINE),
    "triangle": (TRIANGLE, OF_TRIANGLE),
    "twelve": (TWELVE, OF_TWELVE),
}


def test_line(engine: Engine) -> None:
    row = one(engine, "dunn_index", vectors_of(LINE), generalized=True)
    assert_points([{name: row[name] for name in OF_LINE}], [OF_LINE])


def test_cases_of_two_coordinates(engine: Engine) -> None:
    """As partitions of one call, with the line along the first axis."""
    frames = [vectors_of([(v and [*v, 0.0][:2], c) for v, c in rows]) for rows, _ in CASES.values()]
    several = call_by_case(engine, "dunn_index", frames, generalized=True)
    for (case, (_, expected)), [row] in zip(CASES.items(), several, strict=True):
        assert_points([{name: row[name] for name in expected}], [expected], what=case)


@pytest.mark.parametrize("case", CASES)
def test_case_of_the_oracle(case: str) -> None:
    rows, expected = CASES[case]
    row = oracle.dunn_index(Partition(*zip(*rows, strict=True), Measure()))
    assert_points([{name: row[name] for name in expected}], [expected])


def test_every_column_has_a_case() -> None:
    assert set(OF_LINE) == set(oracle.dunn_index(Partition([], [], Measure())))


def test_the_generalized_indices_are_null_unless_asked_for(engine: Engine) -> None:
    """They are columns all the same, and the other columns have the same values."""
    row = one(engine, "dunn_index", vectors_of(LINE))
    assert list(row) == list(OF_LINE)
    assert_points([row], [OF_LINE | dict.fromkeys(GDI)])


def test_diameters_of_the_twelve(engine: Engine) -> None:
    rows = call(engine, "cluster_diameters", vectors_of(TWELVE))
    assert [tuple(row.values()) for row in rows] == [
        (1, 2, 4.0),
        (2, 4, 2.0),
        (3, 2, 4.0),
        (4, 4, 2.0),
    ]
    rows = call(engine, "cluster_diameters", vectors_of(TWELVE), distance="sqeuclidean")
    assert [row["diameter"] for row in rows] == pytest.approx([16.0, 4.0, 16.0, 4.0], rel=1e-14)


# Published -----------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
FLOWER = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
# Reyes-Figueroa's notes on iris: Dunn's own index and the centroid form.
OF_IRIS = {"kmeans": (0.098807, 0.671170), "agglomerative": (0.112795, 0.646326)}


def test_iris(engine: Engine) -> None:
    iris = pl.read_parquet(ROOT / "examples" / "iris.parquet")
    frames = [iris.select(*FLOWER, cluster=pl.col(labeling).cast(pl.Int64)) for labeling in OF_IRIS]
    several = call_by_case(engine, "dunn_index", frames, FLOWER, generalized=True)
    for (labeling, expected), [row] in zip(OF_IRIS.items(), several, strict=True):
        found = (row["dunn_index"], row["centroid_dunn_index"])
        assert found == pytest.approx(expected, abs=5e-7), labeling
        assert row["gdi_11"] == row["dunn_index"]
        assert row["gdi_41"] == row["centroid_dunn_index"]


# All pairs -----------------------------------------------------------------------------------


NUMBERS = (quarter, decimal, digit)


N_CLEAR = 6


@cache
def random_partitions(
    distance: str, center: str, weighted: bool, noise: int, dims: int, seed: int
) -> tuple[pl.DataFrame, list[Partition]]:
    """Sets of points as one frame, and as the oracle sees each; N_CLEAR of them can be compared."""
    measure = measure_of(distance, dims, center, weighted=weighted)

    def part_of(rows: Rows) -> Partition:
        return Partition(*zip(*rows, strict=True), measure, **NOISE[noise])

    def is_clear(rows: Rows) -> bool:
        part = part_of(rows)
        return is_clustering(part) and not point_oracle.is_delicate(part, exact=False)

    drawn = (seed, distance, center, noise)
    sets = clear_and_other_sets(drawn, N_CLEAR, 6, dims, *NUMBERS, is_clear=is_clear)
    return frame_of_sets(sets), [part_of(rows) for rows in sets]


@pytest.mark.parametrize(("distance", "center", "weighted", "noise", "dims"), random_options())
@SEEDS
@SEED
def test_equals_the_oracle(
    engine: Engine,
    distance: str,
    center: str,
    weighted: bool,
    noise: int,
    dims: int,
    seed: int,
) -> None:
    """Many sets of points in one call, with missing vectors and clusters."""
    frame, parts = random_partitions(distance, center, weighted, noise, dims, seed)
    measure, compared = parts[0].measure, 0
    how = arguments_of(measure) | NOISE[noise]
    generalized = noise != 0
    indices = call(engine, "dunn_index", frame, partition_by="run", generalized=generalized, **how)
    diameters = call(engine, "cluster_diameters", frame, partition_by="run", **how)
    for run, part in enumerate(parts):
        wanted = [oracle.dunn_index(part, generalized=generalized)]
        exact = is_exact(NUMBERS[run % 3], measure)
        without = rounded(part, exact=exact)
        check_run(indices, run, wanted, without=without, what=part.measure)
        compared += is_clustering(part) and not without
        wanted = oracle.cluster_diameters(part) if part.n else []
        check_run(diameters, run, wanted, what=part.measure)
    assert compared >= N_CLEAR


def check_run(rows: list[Row], run: int, wanted: list[Row], **how: Any) -> None:
    got = [dict(list(row.items())[1:]) for row in rows if row["run"] == run]
    assert_points(got, wanted, tolerance=1e-9, floor=1e-12, **how)


def rounded(part: Partition, *, exact: bool) -> set[str]:
    """The columns that hang on rounding, where something below a fraction is nearly 0."""
    if not (part.n and point_oracle.is_delicate(part, exact=exact)):
        return set()
    return set(GDI) | {"centroid_dunn_index"} | (set() if exact else {"dunn_index"})


def spread_blobs(n: int, dims: int, k: int, spread: float, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, k, n)
    x = rng.normal(size=(k, dims))[clusters] * spread + rng.normal(size=(n, dims))
    return x, clusters


SHAPES = {
    "overlapping": spread_blobs(2000, 3, 8, 1.0),
    "apart": spread_blobs(2000, 3, 8, 10.0),
    "many clusters": spread_blobs(1000, 2, 280, 5.0),
    "many dimensions": spread_blobs(1000, 30, 5, 1.0),
    "duplicates": tuple(np.round(part) for part in spread_blobs(2000, 2, 5, 3.0)),
    "one coordinate": spread_blobs(2000, 1, 3, 20.0),
}


def arrays(x: Any, clusters: Any) -> pl.DataFrame:
    return pl.DataFrame({"vector": x, "cluster": clusters.astype(np.int64)})


@cache
def all_pairs(shape: str, distance: str) -> tuple[Row, list[Row]]:
    x, clusters = SHAPES[shape]
    part = Partition(x.tolist(), clusters.tolist(), Measure(distance, 3))
    return oracle.dunn_index(part), oracle.cluster_diameters(part)


# Every shape with the Euclidean distance, every distance with several shapes; the others are wide.
SHAPES_OF = {
    "euclidean": list(SHAPES),
    "sqeuclidean": ["overlapping", "duplicates", "many clusters"],
    "cityblock": ["apart", "many dimensions"],
    "chebyshev": ["overlapping", "one coordinate"],
    "minkowski": ["apart", "duplicates"],
    "cosine": ["overlapping", "many dimensions", "duplicates"],
}


def shapes_together() -> list[Any]:
    """(distance, shapes with as many coordinates): one call for them.

    The Euclidean distance has all shapes in every run, each other distance some; the gate has
    those of SHAPES_OF, and the others are wide.
    """
    by_dims: dict[int, list[str]] = {}
    for shape, (x, _) in SHAPES.items():
        by_dims.setdefault(x.shape[1], []).append(shape)
    cases = []
    for distance, some in SHAPES_OF.items():
        fast = True
        for shapes in by_dims.values():
            chosen = [shape for shape in shapes if shape in some]
            others = [pytest.param(distance, [shape], marks=pytest.mark.wide) for shape in shapes]
            cases += [other for other in others if other.values[1][0] not in chosen]
            if chosen:
                marks = [] if fast else [pytest.mark.gate]
                cases.append(pytest.param(distance, chosen, marks=marks))
                fast = distance == "euclidean"
    return cases


@pytest.mark.gate
@pytest.mark.parametrize(("distance", "shapes"), shapes_together())
def test_many_points(engine: Engine, distance: str, shapes: list[str]) -> None:
    """Enough of them that most pairs are never measured."""
    frames = [arrays(*SHAPES[shape]) for shape in shapes]
    how: dict[str, Any] = {"distance": distance, "p": 3}
    indices = call_by_case(engine, "dunn_index", frames, generalized=False, **how)
    diameters = call_by_case(engine, "cluster_diameters", frames, **how)
    for shape, index, rows in zip(shapes, indices, diameters, strict=True):
        wanted, of_clusters = all_pairs(shape, distance)
        exact = [wanted | dict.fromkeys(GDI)]
        assert_points(index, exact, tolerance=1e-9, floor=1e-12, what=shape)
        assert_points(rows, of_clusters, tolerance=1e-9, floor=1e-12, what=shape)


@cache
def all_pairs_of_blobs(n: int, distance: str) -> tuple[pl.DataFrame, Row]:
    x, clusters = spread_blobs(n, 3, 8, 1.0)
    part = Partition(x.tolist(), clusters.tolist(), Measure(distance, 3))
    return arrays(x, clusters), oracle.dunn_index(part)


@pytest.mark.parametrize("distance", ["euclidean", "sqeuclidean", "cosine"])
@pytest.mark.parametrize("n", [600, pytest.param(2000, marks=pytest.mark.gate)])
def test_all_pairs_of_many_points(engine: Engine, distance: str, n: int) -> None:
    frame, expected = all_pairs_of_blobs(n, distance)
    row = one(engine, "dunn_index", frame, distance=distance, generalized=True)
    assert_points([row], [expected], tolerance=1e-9)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of distances that the Polars side computes, one for each block of them."""
    numbers: list[int] = []
    monkeypatch.setattr(measured_pairs, "on_measured", numbers.append)
    return numbers


def test_few_pairs_are_measured(measured: list[int]) -> None:
    """Fewer than a hundredth of those there are."""
    x, clusters = spread_blobs(20_000, 4, 10, 3.0)
    ce.dunn_index(arrays(x, clusters), "vector", "cluster", generalized=False)
    assert 20_000 < sum(measured) < 20_000**2 / 2 / 100


@cache
def index_of_blobs(distance: str = "euclidean") -> Row:
    x, clusters = spread_blobs(600, 3, 4, 3.0)
    part = Partition(np.round(x, 3).tolist(), clusters.tolist(), Measure(distance, 3))
    return oracle.dunn_index(part)


@pytest.mark.parametrize("distance", [name for name in DISTANCES if name != "cosine"])
def test_a_shift_changes_nothing(engine: Engine, distance: str) -> None:
    x, clusters = spread_blobs(600, 3, 4, 3.0)
    far = arrays(np.round(x, 3) + 1e8, clusters)
    row = one(engine, "dunn_index", far, distance=distance, p=3, generalized=True)
    assert_points([row], [index_of_blobs(distance)], tolerance=1e-6)


@pytest.mark.parametrize("scale", [1e-120, 1e-12, 1e12, 1e120])
def test_a_scale_changes_nothing(engine: Engine, scale: float) -> None:
    x, clusters = spread_blobs(600, 3, 4, 3.0)
    far = one(engine, "dunn_index", arrays(np.round(x, 3) * scale, clusters), generalized=True)
    near = dict(index_of_blobs())
    for name in ("max_diameter", "min_separation"):
        assert far.pop(name) == pytest.approx(near.pop(name) * scale, rel=1e-9)
    assert_points([far], [near], tolerance=1e-9)


def test_one_point_far_off(engine: Engine) -> None:
    """The grid's cells stay as narrow as they have to be."""
    x, clusters = spread_blobs(600, 3, 4, 3.0)
    x[5] += 1e9
    part = Partition(x.tolist(), clusters.tolist(), Measure())
    row = one(engine, "dunn_index", arrays(x, clusters), generalized=False)
    wanted = oracle.dunn_index(part, generalized=False)
    without = {"centroid_dunn_index"}
    assert_points([row], [wanted], tolerance=1e-9, without=without)


# Names ---------------------------------------------------------------------------------------

INNER, WITH = sql_names("extreme_pairs", "dunn")
PARAMETERS = ["generalized", "separation", "diameter", "d", "start", "axis", "width", "options"]
POLARS_INNER = [*dunn.SEPARATIONS, *dunn.DIAMETERS]
POLARS_INNER += ["number", "least", "singleton_no"]
# a key may not be named like a result
NAMES = [name for name in dict.fromkeys([*PARAMETERS, *POLARS_INNER]) if name not in OF_LINE]
LINE_FRAME = pl.DataFrame(
    {"x": [v[0] for v, _ in LINE if v], "y": [0.0] * 4, "cluster": [c for _, c in LINE]}
)


def test_there_are_inner_names() -> None:
    assert len(INNER) > 50
    assert {"border", "cells"} <= set(WITH)


@pytest.mark.gate
def test_columns_of_any_name(side: Engine) -> None:
    assert_columns(side, "dunn_index", LINE_FRAME, NAMES, [OF_LINE], generalized=True)


@pytest.mark.gate
def test_columns_named_like_inner_ones_of_sql() -> None:
    duckdb = engines.make("duckdb")
    assert_columns(duckdb, "dunn_index", LINE_FRAME, INNER, [OF_LINE], generalized=True)


@pytest.mark.gate
@each_table
def test_tables_of_any_name(con: duckdb.DuckDBPyConnection, one_by_one: bool) -> None:
    names = [*WITH, *PARAMETERS]
    given = "[x, y], cluster, generalized := TRUE"
    assert_tables(con, "dunn_index", LINE_FRAME, names, given, one_by_one=one_by_one)


# Errors --------------------------------------------------------------------------------------


TABLES = ["dunn_index", "cluster_diameters"]
# Each fault in one of the tables in turn.
FAST_FAULTS = [(fault, TABLES[i % 2]) for i, fault in enumerate(FAULTS)]


@pytest.mark.parametrize(
    ("fault", "function"),
    [
        *FAST_FAULTS,
        *(
            case if hasattr(case, "marks") else pytest.param(*case, marks=pytest.mark.gate)
            for case in crossed(FAULTS, TABLES, always=["NULL", "shorter", "empty"])
            if tuple(getattr(case, "values", case)) not in FAST_FAULTS
        ),
    ],
)
def test_a_point_at_fault(side: Engine, fault: str, function: str) -> None:
    rows, words = FAULTS[fault]
    with fails(side, words):
        call(side, function, vectors(*rows))


@pytest.mark.parametrize("function", ["cluster_diameters", "dunn_index"])
def test_distances_that_overflow(side: Engine, function: str) -> None:
    with fails(side, OVERFLOW):
        call(side, function, vectors([1e200, 0.0], [-1e200, 0.0]))


@pytest.mark.parametrize("function", ["cluster_diameters", "dunn_index"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"distance": "hamming"}, "'cosine', got 'hamming'"),
        ({"distance": "minkowski", "p": 0.5}, "p: expected a number >= 1, got 0.5"),
        ({"center": "mode"}, "center: expected one of 'mean', 'median', got 'mode'"),
        ({"weights": [1, 2, 3]}, "weights: expected one for each of 2 dimensions, got 3"),
        ({"noise_as": "drop"}, "noise_as 'drop' needs noise"),
    ],
)
def test_options(side: Engine, options: dict[str, Any], words: str, function: str) -> None:
    with fails(side, words):
        call(side, function, vectors(), **options)


@pytest.mark.parametrize(("value", "got"), [("yes", "yes"), (1, "1"), (None, "NULL")])
def test_generalized_is_true_or_false(side: Engine, value: Any, got: str) -> None:
    with fails(side, f"generalized: expected TRUE or FALSE, got {got}"):
        call(side, "dunn_index", vectors(), generalized=value)
