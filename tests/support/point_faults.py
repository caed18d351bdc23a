"""Points that are errors, with the words of the error, and the check of those words."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

NAN, INFINITY = math.nan, math.inf
MEND = "fix these rows or leave them out"
FINITE = "vector: expected finite numbers, got"
LENGTH = "vector: expected vectors of one length (2), got"
SOME = "vector: expected at least one coordinate, got an empty vector"
OVERFLOW = "vector: distances overflow; scale the coordinates down"
# name: the rows at fault, which follow those of `vectors`, and the words
FAULTS: dict[str, tuple[list[Any], str]] = {
    "NULL": ([[None, 1.0]], f"{FINITE} NULL in coordinate 1 (1 row is at fault); {MEND}"),
    "NaN": ([[1.0, NAN]], f"{FINITE} nan in coordinate 2 (1 row is at fault); {MEND}"),
    "infinite": ([[INFINITY, 1.0]], f"{FINITE} inf in coordinate 1 (1 row is at fault); {MEND}"),
    "minus infinite": ([[1.0, -INFINITY]], f"{FINITE} -inf in coordinate 2 (1 row is at fault)"),
    "several": ([[1.0, NAN], [1.0, NAN], [2.0, NAN]], "nan in coordinate 2 (3 rows are at fault)"),
    "a row of two faults": ([[NAN, INFINITY]], "nan in coordinate 1 (1 row is at fault)"),
    "different rows": ([[1.0, NAN], [INFINITY, 1.0]], "inf in coordinate 1 (2 rows are at fault)"),
    "shorter": ([[5.0]], f"{LENGTH} 1 coordinates (1 row is at fault); {MEND}"),
    "empty": ([[]], f"{SOME} (1 row is at fault); {MEND}"),
    "empty and shorter": ([[5.0], []], f"{SOME} (2 rows are at fault); {MEND}"),
    "longer": (
        [[5.0, 6.0, 7.0]],
        "vector: expected vectors of one length (3), got 2 coordinates (3 rows are at fault)",
    ),
}


def vectors(*values: Any) -> pl.DataFrame:
    """Three sound rows in two clusters, and these."""
    rows = [[0.0, 1.0], [2.0, 3.0], [4.0, 4.0], *values]
    schema = {"vector": pl.List(pl.Float64), "cluster": pl.Int64}
    return pl.DataFrame({"vector": rows, "cluster": [i % 2 for i in range(len(rows))]}, schema)


def crossed(faults: Any, options: Any, always: Any = ()) -> list[Any]:
    """Parameters for all faults with the first option, and for some with every option.

    Those are the faults `always`, or the first one. The other pairs are marked wide.
    """
    faults, options = list(faults), list(options)
    some = list(always) or faults[:1]
    return [
        (fault, option)
        if fault in some or option == options[0]
        else pytest.param(fault, option, marks=pytest.mark.wide)
        for fault in faults
        for option in options
    ]
