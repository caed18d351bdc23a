"""States of clusters: the points split anywhere, and the states merged, give the same report."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support import engines
from tests.support import point_oracle as oracle
from tests.support.engines import DuckDB, Engine, fails
from tests.support.point_engines import assert_points, call, one
from tests.support.point_oracle import Measure, Partition
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
    measure_of,
    quarter,
    random_sets,
)
from tests.support.seeds import SEED
from tests.support.state_engines import (
    COUNTS,
    LISTS,
    WITHOUT_EUCLIDEAN,
    merged,
    reports_of,
    states_of,
    to_frame,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.engines import Row

FOUR = pl.DataFrame(
    {
        "x": [0.0, 2.0, 9.0, 9.0],
        "y": [0.0, 0.0, 0.0, 4.0],
        "cluster": [0, 0, 1, 1],
        "run": [1, 1, 2, 2],
        "part": [0, 1, 0, 1],
    }
)
WIDE = ["x", "y"]
#: The rows of its cluster_states, by hand.
STATES = [
    (0, 2, 0, 0, [1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [2.0, 0.0]),
    (1, 2, 0, 0, [9.0, 2.0], [0.0, 0.0], [0.0, 8.0], [9.0, 0.0], [9.0, 4.0]),
]
COLUMNS = ["cluster", *COUNTS, *LISTS]


def state_frame() -> pl.DataFrame:
    return to_frame([dict(zip(COLUMNS, row, strict=True)) for row in STATES])


# Literals, and few rows


def test_states_by_hand(engine: Engine) -> None:
    rows = call(engine, "cluster_states", FOUR, WIDE)
    assert [list(row) for row in rows] == [COLUMNS, COLUMNS]
    assert [tuple(row.values()) for row in rows] == STATES


def test_merged_states_by_hand(engine: Engine) -> None:
    """The three points 0, 2 and 7 have the mean 3, and 9 + 1 + 16 squared deviations."""
    points = pl.DataFrame({"x": [0.0, 2.0, 7.0], "cluster": 0, "part": [1, 1, 2]})
    states = states_of(engine, points, ["x"], partition_by="part")
    assert states["m2"].to_list() == [[2.0], [0.0]]
    wanted = (0, 3, 0, 0, [3.0], [0.0], [26.0], [0.0], [7.0])
    assert merged(engine, states.drop("part")).rows() == [wanted]


def test_no_row(engine: Engine) -> None:
    empty = states_of(engine, FOUR.clear(), WIDE)
    assert empty.height == 0
    assert merged(engine, empty).height == 0
    [row] = reports_of(engine, empty)
    wanted = one(engine, "internal_report", FOUR.clear(), WIDE)
    assert row == wanted
    assert reports_of(engine, empty.with_columns(run=pl.lit(1)), partition_by="run") == []


LEFT_OUT: Rows = [(None, 0), ([1.0], None)]
FEW_ROWS: list[Rows] = [
    [([1.0], 0)],
    [([1.0], 0), ([1.0], 0)],
    [([1.0], 0), ([1.0], 1)],
    [([1.0], 0), ([3.0], 0), (None, 5), (None, None)],
]


def check_states_without_points(states: pl.DataFrame, height: int) -> None:
    lists = states.filter(pl.col("n") == 0).select(LISTS)
    assert lists.height == height
    assert lists.null_count().sum_horizontal().item() == height * len(LISTS)


def test_few_rows(engine: Engine) -> None:
    """One row, equal points, singletons, some rows left out: a partition each."""
    frame = frame_of_sets(FEW_ROWS)
    states = states_of(engine, frame, partition_by="run")
    found = reports_of(engine, states, partition_by="run")
    assert [row["run"] for row in found] == list(range(len(FEW_ROWS)))
    assert_points(found, without_distances(engine, frame, partition_by="run"), floor=1e-15)
    check_states_without_points(states, 2)


def test_rows_that_are_left_out_alone(engine: Engine) -> None:
    frame = frame_of_sets([LEFT_OUT])
    states = states_of(engine, frame)
    assert_points(reports_of(engine, states), without_distances(engine, frame), floor=1e-15)
    check_states_without_points(states, 2)


def without_distances(engine: Engine, frame: pl.DataFrame, **arguments: Any) -> list[Row]:
    """internal_report with NULL for the scores that states do not have."""
    rows = call(engine, "internal_report", frame, **arguments)
    if arguments.get("distance", "euclidean") == "euclidean":
        return [row | dict.fromkeys(WITHOUT_EUCLIDEAN) for row in rows]
    return rows


def test_rows_left_out_are_counted_with_their_cluster(engine: Engine) -> None:
    rows: Rows = [([1.0], 0), (None, 0), (None, 7), ([2.0], None), ([4.0], -1), (None, -1)]
    states = states_of(engine, frame_of_sets([rows]), noise=-1, noise_as="drop")
    assert states.select("cluster", *COUNTS).rows() == [
        (-1, 0, 1, 1),
        (0, 1, 1, 0),
        (7, 0, 1, 0),
        (None, 0, 1, 0),
    ]
    [report] = reports_of(engine, states)
    assert [report[name] for name in (*COUNTS, "n_clusters")] == [1, 4, 1, 1]


# Any split, any order

NUMBERS = (quarter, decimal, digit)
N_CLEAR = 9


def is_clear(rows: Rows, measure: Measure, noise: dict[str, Any]) -> bool:
    part = Partition(*zip(*rows, strict=True), measure, **noise)
    return is_clustering(part) and not oracle.is_delicate(part, exact=False)


@cache
def random_state_sets(
    distance: str, weighted: bool, noise: int, dims: int, seed: int
) -> list[Rows]:
    """Sets of points, of which the first N_CLEAR have no index that rounding decides."""
    measure = measure_of(distance, dims, weighted=weighted)

    def accept(rows: Rows) -> bool:
        return is_clear(rows, measure, NOISE[noise])

    drawn = ("states", seed, distance, noise)
    return clear_and_other_sets(drawn, N_CLEAR, 6, dims, *NUMBERS, is_clear=accept)


def split_into_parts(frame: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    """Each row in a part of its run: in the same, each in its own, or in any of a few."""
    parts: list[int] = []
    for run in frame.partition_by("run", maintain_order=True):
        few = rng.choice([1, 2, 3, 5])
        if rng.random() < 0.2:
            parts += range(run.height)
        else:
            parts += [rng.randrange(few) for _ in range(run.height)]
    return frame.with_columns(part=pl.Series(parts, dtype=pl.Int64))


def merged_anyhow(engine: Engine, states: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    """Some of the states merged, some merged twice, in any order; the column run is kept."""
    stages = [states.drop("part")]
    for _ in range(2):
        chosen = pl.Series([rng.random() < 0.6 for _ in range(stages[-1].height)], dtype=pl.Boolean)
        groups = pl.Series([rng.randrange(2) for _ in range(stages[-1].height)], dtype=pl.Int64)
        grouped = stages[-1].with_columns(group=groups)
        some = merged(engine, grouped.filter(chosen), partition_by=["run", "group"])
        stages.append(pl.concat([some, grouped.filter(~chosen)], how="diagonal").drop("group"))
    return stages[-1].sample(fraction=1, shuffle=True, seed=rng.randrange(1000))


@pytest.mark.parametrize(
    ("distance", "weighted", "noise", "dims"),
    [
        ("euclidean", False, 0, 1),
        ("euclidean", True, 2, 3),
        ("sqeuclidean", False, 1, 2),
        ("sqeuclidean", True, 0, 4),
    ],
)
@SEEDS
@SEED
def test_any_split_gives_the_same_report(
    engine: Engine, distance: str, weighted: bool, noise: int, dims: int, seed: int
) -> None:
    """Empty parts, single rows and missing values included; the definition is the oracle."""
    sets, rng = random_state_sets(distance, weighted, noise, dims, seed), random.Random(seed)
    measure = measure_of(distance, dims, weighted=weighted)
    options = {name: value for name, value in arguments_of(measure).items() if name != "center"}
    options.pop("p")
    frame = split_into_parts(frame_of_sets(sets), rng)
    states = states_of(engine, frame, partition_by=["run", "part"], **NOISE[noise])
    rows = reports_of(engine, merged_anyhow(engine, states, rng), partition_by="run", **options)
    found = {row["run"]: row for row in rows}
    compared = 0
    for run, points in enumerate(sets):
        part = Partition(*zip(*points, strict=True), measure, **NOISE[noise])
        if not part.n:
            assert (run in found) == bool(points)
            assert found.get(run, {"n": 0})["n"] == 0
            continue
        wanted = oracle.internal_report(part)
        if distance == "euclidean":
            wanted |= dict.fromkeys(WITHOUT_EUCLIDEAN)
        delicate = oracle.is_delicate(part, exact=False)
        without = set(wanted) - {*oracle.COUNTS} if delicate else set()
        got = {name: value for name, value in found[run].items() if name != "run"}
        assert_points([got], [wanted], tolerance=1e-9, floor=1e-13, without=without)
        compared += is_clustering(part) and not delicate
    assert compared >= N_CLEAR


@pytest.mark.gate
@SEEDS
@SEED
def test_parts_far_from_zero_keep_their_digits(engine: Engine, seed: int) -> None:
    """Quarters are exact beside 1e8: the report of the moved points is that of the others."""

    def accept(rows: Rows) -> bool:
        return is_clear(rows, Measure(), {})

    sets, rng = random_sets(("far", seed), 10, 2, quarter, accept=accept), random.Random(seed)
    frame = split_into_parts(frame_of_sets(sets), rng)
    moved = pl.col("vector").list.eval(pl.element() + 1e8)
    states = states_of(engine, frame.with_columns(moved), partition_by=["run", "part"])
    rows = reports_of(engine, merged_anyhow(engine, states, rng), partition_by="run")
    wanted = without_distances(engine, frame, partition_by="run")
    assert_points(rows, wanted, tolerance=1e-9, floor=1e-13)


def exact_state(numbers: list[float]) -> tuple[Fraction, Fraction]:
    """Mean and sum of squared deviations in exact arithmetic."""
    exact = [Fraction(x) for x in numbers]
    mean = sum(exact, Fraction(0)) / len(exact)
    return mean, sum(((x - mean) ** 2 for x in exact), Fraction(0))


@pytest.mark.parametrize(
    ("offset", "parts", "dims"),
    [
        *((0.0, 3, 1), (1e8, 40, 1), (-1e8, 300, 1), (1e8, 3, 40)),
        *(
            pytest.param(offset, parts, dims, marks=pytest.mark.wide)
            for offset in (0.0, 1e8, 1e12)
            for parts in (1, 3, 300)
            for dims in (2, 40)
        ),
    ],
)
def test_merged_states_in_exact_arithmetic(
    engine: Engine, offset: float, parts: int, dims: int
) -> None:
    """A narrow cluster far from another that lies around 0: no origin serves both."""
    drawn = np.random.default_rng(parts)
    x = drawn.normal(size=300).tolist()
    far = [offset + value for value in drawn.normal(size=300)]
    # All coordinates are alike; from some number on, vectors stay arrays in Polars.
    frame = pl.DataFrame(
        {
            "vector": pl.Series([[value] * dims for value in x + far], dtype=pl.List(pl.Float64)),
            "cluster": [0] * 300 + [1] * 300,
            "part": [i % parts for i in range(600)],
        }
    )
    states = states_of(engine, frame, partition_by="part").drop("part")
    whole = merged(engine, states)
    assert whole["mean"].list.len().to_list() == [dims, dims]
    rows = whole.explode(LISTS).iter_rows(named=True)
    expected = [x] * dims + [far] * dims
    for row, numbers in zip(rows, expected, strict=True):
        mean, m2 = exact_state(numbers)
        assert abs(row["mean"] - mean) <= math.ulp(float(mean)) + 1e-15
        error = Fraction(row["mean"]) + Fraction(row["mean_correction"]) - mean
        assert abs(error) < 4e-15
        assert float(abs(Fraction(row["m2"]) / m2 - 1)) < 1e-13
        assert (row["minimum"], row["maximum"]) == (min(numbers), max(numbers))


def test_constant_coordinates_stay_constant(engine: Engine) -> None:
    """The mean of equal numbers is that number in every part and after every merge."""
    numbers, n = (0.1, 1e8 + 0.1, -7.3e-9), 50
    points = pl.concat(
        pl.DataFrame(
            {
                "x": [number] * n,
                "y": [float(i // 25) for i in range(n)],
                "cluster": [i // 25 for i in range(n)],
                "part": [i * i % 7 for i in range(n)],
                "run": [run] * n,
            }
        )
        for run, number in enumerate(numbers)
    )
    states = states_of(engine, points, WIDE, partition_by=["run", "part"])
    assert states["m2"].to_list() == [[0.0, 0.0]] * states.height
    once = merged(engine, states, partition_by=["run", "part"]).drop("part")
    whole = merged(engine, once, partition_by="run")
    assert whole["mean"].to_list() == [[number, y] for number in numbers for y in (0.0, 1.0)]
    assert whole["mean_correction"].to_list() == [[0.0, 0.0]] * 2 * len(numbers)
    for number, report in zip(numbers, reports_of(engine, states, partition_by="run"), strict=True):
        assert (report["ssw"], report["ssb"]) == (0.0, 12.5), number
        assert report["calinski_harabasz_score"] == 1.0, number
        nulls = ("log_ss_ratio", "banfield_raftery_index", "ratkowsky_lance_index")
        assert [report[name] for name in nulls] == [None] * 3, number


@pytest.mark.gate
def test_many_states_have_one_answer(engine: Engine) -> None:
    """Threads add up the means in any order, but every use of one sum gets the same."""
    drawn = np.random.default_rng(0)
    n, dims = 8_000, 4
    mean = 1e8 + drawn.normal(size=(n, dims))
    states = pl.DataFrame(
        {
            "cluster": np.arange(n) % 5,
            "n": drawn.integers(1, 1000, n),
            "mean": mean.tolist(),
            "m2": np.ones((n, dims)).tolist(),
            "minimum": (mean - 1).tolist(),
            "maximum": (mean + 1).tolist(),
        }
    )
    wanted = reports_of(
        engine, states.with_columns(_minus("mean"), _minus("minimum"), _minus("maximum"))
    )
    for _ in range(2):
        assert_points(reports_of(engine, states), wanted, tolerance=1e-9)


def _minus(name: str) -> pl.Expr:
    """The lists of a column, 1e8 less; the numbers near it lose no digit."""
    return pl.col(name).list.eval(pl.element() - 1e8)


def test_one_state_of_all_is_that_of_its_parts(engine: Engine) -> None:
    """Merging a single state per cluster changes nothing, to the last digit."""
    points = frame_of_sets(random_sets("alone", 1, 3, decimal))
    states = states_of(engine, points)
    assert merged(engine, states).equals(states, null_equal=True)


def test_partitions_are_merged_separately(engine: Engine) -> None:
    sets = random_sets("partitions", 5, 2, quarter, nulls=True)
    frame = split_into_parts(frame_of_sets(sets), random.Random(3))
    states = states_of(engine, frame, partition_by=["run", "part"])
    by_run = merged(engine, states, partition_by="run")
    alone = states_of(engine, frame, partition_by="run")
    assert_points(by_run.to_dicts(), alone.to_dicts(), tolerance=1e-12, floor=1e-14)
    together = merged(engine, by_run.drop("run"))
    assert_points(together.to_dicts(), states_of(engine, frame).to_dicts(), floor=1e-14)


@pytest.mark.gate
@pytest.mark.parametrize("offset", [pytest.param(0.0, marks=pytest.mark.wide), 1e6])
def test_many_coordinates(engine: Engine, offset: float) -> None:
    """Vectors that are long enough for numpy, one part of them around 0 and not moved."""
    drawn = np.random.default_rng(8)
    x = drawn.normal(size=(60, 40)) + offset
    x[::4] -= offset
    frame = pl.DataFrame(
        {
            "vector": pl.Series(x.tolist(), dtype=pl.List(pl.Float64)),
            "cluster": np.arange(60) % 3,
            "part": np.arange(60) % 4,
        }
    )
    states = states_of(engine, frame, partition_by="part")
    wanted = without_distances(engine, frame, distance="sqeuclidean")
    found = reports_of(engine, states, distance="sqeuclidean")
    assert_points(found, wanted, tolerance=1e-9)
    with_missing = pl.concat([frame, frame.clear(4).with_columns(cluster=pl.lit(7, pl.Int64))])
    assert states_of(engine, with_missing)["n_dropped"].to_list() == [0, 0, 0, 4]


# Tables of states from elsewhere


@cache
def plain_report(engine_name: str) -> list[Row]:
    """The report from STATES, with which those of other tables are compared."""
    return reports_of(engines.make(engine_name), state_frame())


def test_columns_that_may_be_left_out(engine: Engine) -> None:
    states = state_frame()
    wanted = plain_report(engine.name)
    for left_out in (["n_dropped", "n_noise", "mean_correction"], ["mean_correction"]):
        assert_points(reports_of(engine, states.drop(left_out)), wanted)
    nothing = pl.lit(None)
    nulls = states.with_columns(n_dropped=nothing, mean_correction=nothing)
    assert_points(reports_of(engine, nulls), wanted)
    assert merged(engine, states.drop("n_noise", "mean_correction")).rows() == STATES


def test_arrays_and_narrow_types(engine: Engine) -> None:
    states = state_frame()
    narrow = states.with_columns(
        pl.col("n").cast(pl.UInt8),
        pl.col("mean").cast(pl.Array(pl.Float32, 2)),
        pl.col("m2").cast(pl.List(pl.Int32)),
    )
    assert_points(reports_of(engine, narrow), plain_report(engine.name))


def test_distances_in_any_letter_case(engine: Engine) -> None:
    states = state_frame()
    wanted = reports_of(engine, states, distance="sqeuclidean")
    assert_points(reports_of(engine, states, distance="SqEuclidean"), wanted)


def test_other_columns_do_not_matter(engine: Engine) -> None:
    """Columns named like parameters, and like inner columns."""
    more = ("tbl", "distance", "weights", "vector", "i", "size", "reference", "key_0", "fault")
    odd = state_frame().with_columns(pl.lit("odd").alias(name) for name in more)
    assert_points(reports_of(engine, odd), plain_report(engine.name))
    assert merged(engine, odd).rows() == STATES


# Errors

TABLES = (
    "merge_cluster_states",
    pytest.param("internal_report_from_states", marks=pytest.mark.wide),
)


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("column", ["cluster", "n", "mean", "m2", "minimum", "maximum"])
@pytest.mark.parametrize("empty", [False, True])
def test_a_missing_column(side: Engine, function: str, column: str, empty: bool) -> None:
    states = state_frame().drop(column)
    with fails(side, f"states: column '{column}' not found"):
        side.call(function, states.clear() if empty else states)


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("n", -1, "whole numbers >= 0 in the column n, got -1"),
        ("n", 1.5, "whole numbers >= 0 in the column n, got 1.5"),
        ("n", math.nan, "whole numbers >= 0 in the column n, got nan"),
        ("n", None, "whole numbers >= 0 in the column n, got NULL"),
        ("n_dropped", -2, "whole numbers >= 0 in the column n_dropped, got -2"),
        ("n_noise", -3, "whole numbers >= 0 in the column n_noise, got -3"),
        ("cluster", None, "a cluster for each state of points, got NULL"),
        ("mean", [1.0], "lists of length 2 in the column mean, got length 1"),
        ("mean", None, "a list for each state of points in the column mean, got NULL"),
        ("mean", [1.0, None], "finite numbers in the column mean, got NULL"),
        ("mean", [1.0, math.nan], "finite numbers in the column mean, got nan"),
        ("mean", [3.0, 0.0], "minimum <= mean <= maximum, got 0.0 <= 3.0 <= 2.0"),
        ("mean_correction", [0.0] * 3, "lists of length 2 in the column mean_correction, got"),
        ("mean_correction", [0.0, math.inf], "finite numbers in the column mean_correction"),
        ("m2", None, "a list for each state of points in the column m2, got NULL"),
        ("m2", [2.0] * 3, "lists of length 2 in the column m2, got length 3"),
        ("m2", [2.0, -math.inf], "finite numbers in the column m2, got -inf"),
        ("m2", [-2.5, 0.0], "numbers >= 0 in the column m2, got -2.5"),
        ("minimum", [], "lists of length 2 in the column minimum, got length 0"),
        ("minimum", [0.0, 0.5], "minimum <= mean <= maximum, got 0.5 <= 0.0 <= 0.0"),
        ("maximum", [2.0], "lists of length 2 in the column maximum, got length 1"),
        ("maximum", [math.nan, 0.0], "finite numbers in the column maximum, got nan"),
    ],
)
def test_a_value_at_fault(side: Engine, function: str, column: str, value: Any, words: str) -> None:
    rows = state_frame().to_dicts()
    rows[0][column] = value
    types = {"n": pl.Float64 if isinstance(value, float) else pl.Int64}
    frame = pl.DataFrame(rows, schema_overrides=types)
    with fails(side, f"states: expected {words}"):
        side.call(function, frame)


@pytest.mark.parametrize(
    "column",
    [
        "mean",
        "m2",
        *(pytest.param(name, marks=pytest.mark.wide) for name in ("minimum", "maximum")),
    ],
)
def test_states_without_points_are_not_at_fault(engine: Engine, column: str) -> None:
    rows = state_frame().to_dicts()
    more: list[dict[str, Any]] = [rows[0] | {"n": 0, column: [math.nan]}]
    more += [rows[0] | {"n": 0, "cluster": None, "n_dropped": 4, column: None}]
    [report] = reports_of(engine, pl.DataFrame([*rows, *more], schema=state_frame().schema))
    [wanted] = plain_report(engine.name)
    assert_points([report], [wanted | {"n_dropped": 4}])


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize(
    ("column", "to", "words"),
    [
        ("n", pl.String, "whole numbers >= 0 in the column n, got a column of type VARCHAR"),
        ("mean", pl.List(pl.String), "lists of numbers in the column mean, got a column of type"),
        ("minimum", "x", "lists of numbers in the column minimum, got a column of type DOUBLE"),
    ],
)
@pytest.mark.parametrize("empty", [False, True])
def test_a_column_of_another_type(
    side: Engine, function: str, column: str, to: Any, words: str, empty: bool
) -> None:
    name = pl.col(column)
    other = name.list.first() if to == "x" else name.cast(to)
    states = state_frame().with_columns(other)
    with fails(side, f"states: expected {words}"):
        side.call(function, states.clear() if empty else states)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1e200, "distances overflow; scale the coordinates down"),
        (1e-160, "distances underflow; scale the coordinates up"),
    ],
)
def test_distances_that_overflow_or_underflow(side: Engine, size: float, words: str) -> None:
    far = pl.DataFrame({"x": [size, -size], "cluster": [0, 1], "part": [0, 1]})
    states = states_of(side, far, ["x"], partition_by="part")
    with fails(side, f"states: {words}"):
        reports_of(side, states)
    with fails(side, f"vector: {words}"):
        states_of(side, far, ["x"])


@pytest.mark.parametrize("distance", ["cityblock", "cosine", "Manhattan", "", None])
def test_other_distances(side: Engine, distance: str | None) -> None:
    shown = "NULL" if distance is None else f"'{distance}'"
    words = f"distance: expected one of 'euclidean', 'sqeuclidean', got {shown}; sums of other"
    with fails(side, words):
        reports_of(side, state_frame().clear(), distance=distance)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0], "weights: expected one for each of 2 dimensions, got 1"),
        ([1.0, -1.0], "weights: expected a number > 0 for each dimension, got [1.0, -1.0]"),
    ],
)
def test_bad_weights(side: Engine, weights: list[float], words: str) -> None:
    with fails(side, words):
        reports_of(side, state_frame(), weights=weights)


def test_noise_has_no_singletons(side: Engine) -> None:
    words = "noise_as: expected one of 'cluster', 'drop', got 'singletons'; each row of the result"
    with fails(side, words):
        states_of(side, FOUR, WIDE, noise=0, noise_as="singletons")
    with fails(side, "noise_as: expected one of"):
        states_of(side, FOUR, WIDE, noise=0, noise_as="other")


def test_a_point_at_fault(side: Engine) -> None:
    with fails(side, "vector: expected finite numbers, got nan in column x (1 row is at fault"):
        states_of(side, FOUR.with_columns(x=pl.Series([0.0, 1.0, math.nan, 2.0])), WIDE)


def test_a_partition_column_named_like_a_result() -> None:
    states = state_frame().with_columns(ssw=pl.lit(1))
    with pytest.raises(ce.ClusterEvalError, match="partition_by: 'ssw' is also a column of the"):
        ce.internal_report_from_states(states, partition_by="ssw")
    with pytest.raises(ce.ClusterEvalError, match="partition_by: 'm2' is also a column of the"):
        ce.merge_cluster_states(states, partition_by="m2")


def test_a_quoted_partition_column(side: Engine) -> None:
    if not isinstance(side, DuckDB):
        return
    query = "FROM clustereval.merge_cluster_states(assignments, partition_by := 'run')"
    with fails(side, "partition_by: expected a column, got the quoted string 'run'"):
        side.rows(query, state_frame())


# Both sides


def sides_of(ask: Callable[[Engine], pl.DataFrame]) -> list[pl.DataFrame]:
    return [ask(engines.make(name)) for name in engines.ENGINES]


def test_states_of_one_side_serve_the_other() -> None:
    frame = split_into_parts(
        frame_of_sets(random_sets("sides", 1, 3, decimal, nulls=True)), random.Random(1)
    )

    def ask(engine: Engine) -> pl.DataFrame:
        return states_of(engine, frame, partition_by=["run", "part"])

    first, *others = sides_of(ask)
    for other in others:
        assert_points(other.to_dicts(), first.to_dicts(), floor=1e-14)
    from_sql, from_polars = (merged_by(name, first) for name in ("polars", "duckdb"))
    assert_points(from_sql.to_dicts(), from_polars.to_dicts(), floor=1e-14)


def merged_by(name: str, states: pl.DataFrame) -> pl.DataFrame:
    return merged(engines.make(name), states.drop("part"), partition_by="run")
