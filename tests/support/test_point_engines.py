"""The comparison of rows of points refuses each kind of difference."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from tests.support.engines import Row

NAN, INFINITY = math.nan, math.inf
KNOWN: list[Row] = [
    {"cluster": 1, "n": 2, "centroid": [0.5, 2.0], "ssw": 0.25, "nearest_cluster": None},
    {"cluster": None, "n": 1, "centroid": [1.0, 0.0], "ssw": 0.0, "nearest_cluster": 1},
]


def test_rows_are_accepted() -> None:
    assert_points([dict(row) for row in KNOWN], KNOWN)
    assert_points([{"ssw": 1e-31}], [{"ssw": 0.0}], floor=1e-30)
    assert_points([{"ssw": NAN}], [{"ssw": 0.0}], without=["ssw"])


@pytest.mark.parametrize("floor", [0.0, 1e-30])
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(KNOWN[:1], id="a row less"),
        pytest.param(KNOWN[::-1], id="another order"),
        pytest.param([dict(reversed(row.items())) for row in KNOWN], id="columns reordered"),
        pytest.param([KNOWN[0] | {"more": 1}, KNOWN[1]], id="a column more"),
        pytest.param([KNOWN[0] | {"n": 3}, KNOWN[1]], id="another count"),
        pytest.param([KNOWN[0] | {"cluster": None}, KNOWN[1]], id="a NULL cluster"),
        pytest.param([KNOWN[0] | {"centroid": [0.5, 2.1]}, KNOWN[1]], id="another centroid"),
        pytest.param([KNOWN[0] | {"centroid": [0.5]}, KNOWN[1]], id="a shorter centroid"),
        pytest.param([KNOWN[0] | {"centroid": None}, KNOWN[1]], id="no centroid"),
        pytest.param([KNOWN[0] | {"ssw": 0.25 + 1e-12}, KNOWN[1]], id="another score"),
        pytest.param([KNOWN[0] | {"ssw": None}, KNOWN[1]], id="a NULL score"),
        pytest.param([KNOWN[0] | {"ssw": NAN}, KNOWN[1]], id="a NaN score"),
        pytest.param([KNOWN[0] | {"ssw": INFINITY}, KNOWN[1]], id="an infinite score"),
        pytest.param([KNOWN[0], KNOWN[1] | {"ssw": 1e-29}], id="not quite 0"),
        pytest.param([KNOWN[0], KNOWN[1] | {"ssw": 0}], id="a whole number"),
        pytest.param([KNOWN[0] | {"nearest_cluster": 1}, KNOWN[1]], id="a value for NULL"),
    ],
)
def test_rows_are_rejected(wrong: list[Row], floor: float) -> None:
    with pytest.raises(AssertionError, match=r"expected|no float"):
        assert_points(wrong, KNOWN, floor=floor)
