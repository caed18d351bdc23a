"""The one comparison of the tests.

None, NaN and the infinities are three different results, numbers of another type are wrong, and
rows must come in the same order with the same columns in the same order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tests.support.oracle import METRICS, UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOLERANCE = 1e-12

# Of the tables, the only quantities that may exceed 1.
UNBOUNDED_COLUMNS = UNBOUNDED | {"entropy"}


def assert_same(
    actual: object, expected: Any, *, bounded: bool, what: str = "", tolerance: float = TOLERANCE
) -> None:
    """Within the tolerance: absolute for a bounded score, relative for any other quantity.

    Two scores have no lower bound (an adjusted one divides by what may be small): beyond 1 their
    tolerance is relative too.
    """
    if expected is None:
        assert actual is None, f"{what}: {actual!r}, expected None"
        return
    assert isinstance(actual, float), f"{what}: {actual!r} is no float, expected {expected}"
    value = float(expected)
    if not math.isfinite(value):
        assert repr(actual) == repr(value), f"{what}: {actual!r}, expected {value!r}"
        return
    error = abs(actual - value)
    allowed = tolerance * (max(1.0, abs(value)) if bounded else abs(value))
    assert error <= allowed, f"{what}: {actual!r}, expected {value!r}, error {error:.2e}"


def assert_metrics(
    actual: Mapping[str, object],
    expected: Mapping[str, Any],
    *,
    what: object = "",
    tolerance: float = TOLERANCE,
) -> None:
    """The same metrics in the same order, each within its tolerance."""
    names = [name for name in actual if name in METRICS]
    assert names == list(expected), f"{what}: columns {names}, expected {list(expected)}"
    for name in names:
        bounded = name not in UNBOUNDED
        assert_same(
            actual[name],
            expected[name],
            bounded=bounded,
            what=f"{name} of {what}" if what else name,
            tolerance=tolerance,
        )


def assert_rows(
    actual: Sequence[Mapping[str, Any]], expected: Sequence[Mapping[str, Any]], *, what: object = ""
) -> None:
    """The same rows in the same order."""
    assert len(actual) == len(expected), f"{what}: {len(actual)} rows, expected {len(expected)}"
    for i, (row, wanted) in enumerate(zip(actual, expected, strict=True)):
        assert list(row) == list(wanted), f"{what}: columns {list(row)}, expected {list(wanted)}"
        for name, value in wanted.items():
            where = f"{name} in row {i} {what}"
            if isinstance(value, float) and not math.isnan(value):
                bounded = name not in UNBOUNDED_COLUMNS
                assert_same(row[name], value, bounded=bounded, what=where)
            else:
                assert is_same_key(row[name], value), f"{where}: {row[name]!r}, expected {value!r}"


def is_same_key(actual: object, expected: object) -> bool:
    """Equality of counts, labels and NULLs: NaN equals itself, True is not 1."""
    if isinstance(expected, float):
        return isinstance(actual, float) and repr(actual) == repr(expected)
    return (
        actual == expected
        and (actual is None) == (expected is None)
        and (isinstance(actual, bool) == isinstance(expected, bool))
    )


def is_near(found: Any, expected: Any, *, relative: float = 1e-11, floor: float = 1e-12) -> bool:
    """Whether two answers are the same except for the last digits of sums, which threads decide.

    Answers are rows, lists and numbers in any nesting. Their order, names and types count, and
    None, NaN and the infinities are three different results.
    """
    limits = {"relative": relative, "floor": floor}
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and list(found) == list(expected)
            and all(is_near(found[name], value, **limits) for name, value in expected.items())
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(expected)
            and all(is_near(x, y, **limits) for x, y in zip(found, expected, strict=True))
        )
    if isinstance(expected, float):
        return isinstance(found, float) and (
            math.isclose(found, expected, rel_tol=relative, abs_tol=floor)
            if math.isfinite(expected)
            else repr(found) == repr(expected)
        )
    return type(found) is type(expected) and bool(found == expected)
