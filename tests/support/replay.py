"""Calls on DataFrames, repeated on LazyFrames: the same rows, except for rounding.

A function of a DataFrame collects its result on the streaming engine. Repeated calls collect it in
memory and on the streaming engine, as users of LazyFrames do. Every table is repeated at its first
call in a process, and of the other calls a part that the seed draws by the test and the number of
the call in it, so that a test that fails does so alone too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, get_args

from tests.support import seeds, tiers
from tests.support.compare import is_near

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PolarsEngine = Literal["in-memory", "streaming"]

# Threads decide the last digits of sums, and scores of points that are nearly the same magnify the
# difference. How exact a score is, the tests of precision check.
RELATIVE = 1e-6

_repeated: set[str] = set()
_test = ""
_calls = 0


def is_due(function: str) -> bool:
    """Whether this call of a function is to be repeated."""
    global _test, _calls
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" (")[0]
    _calls = _calls + 1 if test == _test else 0
    _test = test
    if function not in _repeated:
        _repeated.add(function)
        return True
    return seeds.is_drawn(f"{test} {_calls}", 1 / tiers.PARTS_OF_CALLS)


def repeat(
    function: str,
    rows: Sequence[Mapping[str, Any]],
    collect: Callable[[PolarsEngine], Sequence[Mapping[str, Any]]],
) -> None:
    """Compare the rows of a call with those of both engines of Polars, if the call is due."""
    for engine in get_args(PolarsEngine) if is_due(function) else ():
        found = collect(engine)
        assert is_near(_whole_means(found), _whole_means(rows), relative=RELATIVE), (
            f"{function} of LazyFrames, {engine}: {found!r}, of DataFrames: {rows!r}"
        )


def _whole_means(rows: Any) -> Any:
    """The rows with each mean_correction added to its mean: alone it is nothing but last digits."""
    if not isinstance(rows, list | tuple):
        return rows
    return [
        {**row, "mean_correction": [sum(x) for x in zip(row["mean"], correction, strict=True)]}
        if (correction := row.get("mean_correction"))
        else row
        for row in rows
    ]
