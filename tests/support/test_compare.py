"""Negative controls: the comparison rejects what it must."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tests.support.compare import assert_metrics, assert_rows, assert_same, is_near
from tests.support.oracle import METRICS, exact
from tests.support.point_engines import assert_points

NAN, INFINITY = float("nan"), float("inf")
CELLS = [("a", 0, 3), ("a", 1, 1), ("b", 1, 4)]


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (0.5, 0.5),
        (0.5, Fraction(1, 2)),
        (0.1 + 0.2, 0.3),
        (0.0, 0),
        (None, None),
        (NAN, NAN),
        (INFINITY, INFINITY),
    ],
)
def test_accepts(actual: object, expected: Any, bounded: bool) -> None:
    assert_same(actual, expected, bounded=bounded)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (0.5 + 2e-12, 0.5),
        (-0.5, 0.5),
        (None, 0.5),
        (NAN, 0.5),
        (INFINITY, 0.5),
        (0.5, None),
        (NAN, None),
        (INFINITY, None),
        (0.0, None),
        (None, NAN),
        (0.5, NAN),
        (INFINITY, NAN),
        (None, INFINITY),
        (-INFINITY, INFINITY),
        (NAN, INFINITY),
        (1, 1.0),
        (True, 1.0),
        (Decimal(1), 1.0),
        ("1.0", 1.0),
    ],
)
def test_rejects(actual: object, expected: Any, bounded: bool) -> None:
    with pytest.raises(AssertionError, match=r"expected|no float"):
        assert_same(actual, expected, bounded=bounded)


def test_the_tolerance_of_a_score_is_absolute() -> None:
    assert_same(1e-14, 2e-14, bounded=True)
    with pytest.raises(AssertionError, match=r"error 1\.00e-14"):
        assert_same(1e-14, 2e-14, bounded=False)


def test_the_tolerance_of_a_quantity_is_relative() -> None:
    assert_same(1e9 + 1e-4, 1e9, bounded=False)
    with pytest.raises(AssertionError, match="error"):
        assert_same(1e-300, 0.0, bounded=False)


def metrics() -> dict[str, Any]:
    return {name: None if value is None else float(value) for name, value in exact(CELLS).items()}


def test_metrics_are_accepted() -> None:
    assert_metrics({"n": 8} | metrics(), exact(CELLS))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("value", [None, NAN, INFINITY, 17.0])
def test_each_metric_is_looked_at(name: str, value: object) -> None:
    with pytest.raises(AssertionError, match=name):
        assert_metrics(metrics() | {name: value}, exact(CELLS))


def test_metrics_in_another_order_are_rejected() -> None:
    reordered = dict(sorted(metrics().items()))
    with pytest.raises(AssertionError, match="columns"):
        assert_metrics(reordered, exact(CELLS))


def test_a_missing_metric_is_rejected() -> None:
    missing = metrics()
    del missing["purity"]
    with pytest.raises(AssertionError, match="columns"):
        assert_metrics(missing, exact(CELLS))


ROWS: list[dict[str, Any]] = [
    {"label": "a", "n": 3, "purity": 0.75},
    {"label": None, "n": 1, "purity": 1.0},
    {"label": NAN, "n": 2, "purity": None},
]


def test_rows_are_accepted() -> None:
    assert_rows([dict(row) for row in ROWS], ROWS)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(ROWS[:2], id="a row less"),
        pytest.param(ROWS[::-1], id="another order"),
        pytest.param([ROWS[0], ROWS[0], ROWS[2]], id="a row twice"),
        pytest.param([dict(reversed(row.items())) for row in ROWS], id="columns reordered"),
        pytest.param([ROWS[0] | {"n": 4}, *ROWS[1:]], id="another count"),
        pytest.param([ROWS[0] | {"n": True}, *ROWS[1:]], id="a boolean"),
        pytest.param([ROWS[0] | {"label": None}, *ROWS[1:]], id="a NULL label"),
        pytest.param([ROWS[0] | {"purity": None}, *ROWS[1:]], id="a NULL score"),
        pytest.param([ROWS[0] | {"purity": NAN}, *ROWS[1:]], id="a NaN score"),
        pytest.param([*ROWS[:2], ROWS[2] | {"label": None}], id="NULL for NaN"),
        pytest.param([*ROWS[:2], ROWS[2] | {"label": INFINITY}], id="inf for NaN"),
        pytest.param([*ROWS[:2], ROWS[2] | {"purity": 0.0}], id="0 for NULL"),
    ],
)
def test_rows_are_rejected(wrong: list[dict[str, Any]]) -> None:
    with pytest.raises(AssertionError, match="expected"):
        assert_rows(wrong, ROWS)


POINTS: list[dict[str, Any]] = [
    {"cluster": 0, "centroid": [0.5, None], "ssw": 1e-9, "ssb": None},
    {"cluster": 1, "centroid": [2.0, NAN], "ssw": 4.0, "ssb": 1e9},
]


def test_points_are_accepted() -> None:
    assert_points([dict(row) for row in POINTS], POINTS)
    assert_points([POINTS[0] | {"ssw": 1e-9 + 1e-17}, POINTS[1]], POINTS, tolerance=1e-7)
    assert_points([POINTS[0] | {"ssw": 0.0}, POINTS[1]], POINTS, floor=1e-8)
    assert_points([POINTS[0] | {"ssw": 7.0}, POINTS[1]], POINTS, without=["ssw"])


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(POINTS[:1], id="a row less"),
        pytest.param(POINTS[::-1], id="another order"),
        pytest.param([dict(reversed(row.items())) for row in POINTS], id="columns reordered"),
        pytest.param([POINTS[0] | {"cluster": 2}, POINTS[1]], id="another cluster"),
        pytest.param([POINTS[0] | {"centroid": [0.5, 0.0]}, POINTS[1]], id="0 for NULL"),
        pytest.param([POINTS[0] | {"centroid": [0.5]}, POINTS[1]], id="a coordinate less"),
        pytest.param([POINTS[0] | {"centroid": None}, POINTS[1]], id="a NULL vector"),
        pytest.param([POINTS[0] | {"ssw": 0.0}, POINTS[1]], id="a small number as 0"),
        pytest.param([POINTS[0], POINTS[1] | {"ssb": 1e9 + 0.01}], id="another number"),
        pytest.param([POINTS[0], POINTS[1] | {"ssb": NAN}], id="a NaN number"),
        pytest.param([POINTS[0], POINTS[1] | {"ssb": None}], id="a NULL number"),
        pytest.param([POINTS[0] | {"ssb": 0.0}, POINTS[1]], id="a number for NULL"),
        pytest.param([POINTS[0], POINTS[1] | {"centroid": [2.0, None]}], id="NULL for NaN"),
    ],
)
def test_points_are_rejected(wrong: list[dict[str, Any]]) -> None:
    with pytest.raises(AssertionError, match="expected"):
        assert_points(wrong, POINTS)


ANSWER: list[dict[str, Any]] = [
    {"key": "a", "n": 3, "score": 0.5, "centroid": [1.0, None], "day": NAN},
    {"key": None, "n": 4, "score": INFINITY, "centroid": [], "day": -0.0},
]


def test_near_answers() -> None:
    assert is_near(ANSWER, ANSWER)
    assert is_near([tuple(row.values()) for row in ANSWER], [[*row.values()] for row in ANSWER])
    moved = [ANSWER[0] | {"score": 0.5 + 1e-12, "centroid": (1.0 + 1e-12, None)}, ANSWER[1]]
    assert is_near(moved, ANSWER)
    assert not is_near(moved, ANSWER, relative=1e-13, floor=0.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("key", "b"),
        ("key", None),
        ("n", 3.0),
        ("n", 4),
        ("n", True),
        ("score", 0.5 + 1e-10),
        ("score", None),
        ("score", NAN),
        ("score", "0.5"),
        ("centroid", [1.0]),
        ("centroid", [1.0, 0.0]),
        ("centroid", [None, 1.0]),
        ("centroid", None),
        ("day", None),
        ("day", INFINITY),
        ("day", 0.0),
    ],
)
def test_answers_that_are_not_near(name: str, value: object) -> None:
    assert not is_near([ANSWER[0] | {name: value}, ANSWER[1]], ANSWER)


def test_answers_of_another_shape() -> None:
    first, second = ANSWER
    for other in ([second, first], [first], [*ANSWER, first], None, [first, None]):
        assert not is_near(other, ANSWER)
    assert not is_near([dict(reversed(first.items())), second], ANSWER)
    assert not is_near([{**first, "more": 1}, second], ANSWER)
    assert not is_near([first, second | {"score": -INFINITY}], ANSWER)
