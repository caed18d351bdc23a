"""Columns of every type that groups rows, made of whole numbers, the codes of their values."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = Any


class KeyType(NamedTuple):
    """A type of column, and different values of it in ascending order."""

    dtype: Any
    values: tuple[Value, ...]
    #: Other forms of values, by their code, which are equal to them.
    equals: Mapping[int, Value] = {}

    def column(self, codes: pl.Series) -> pl.Series:
        """The values of these codes; of several equal forms the rows have each in turn."""
        n = len(self.values)
        values = [
            None if not n or code is None else self._value(code % n, i)
            for i, code in enumerate(codes)
        ]
        return pl.Series(codes.name, values, dtype=self.dtype)

    def _value(self, code: int, row: int) -> Value:
        return self.equals[code] if code in self.equals and row % 2 else self.values[code]


NAN = float("nan")
LETTERS = ("", "A", "B", "a", "aa", "b", "more than twelve characters", "ä", "日本")
DAY, HOUR = dt.timedelta(days=1), dt.timedelta(hours=1)
START = dt.datetime(1969, 12, 30, 23, 59, 59, 999_999)
FLOATS = (float("-inf"), -1.5, 0.0, 0.1, 1.0, 2.0, 1e300, float("inf"), NAN)
SOURCE = pl.Struct({"source": pl.String, "id": pl.Int64})
PLACE = pl.Struct({"at": pl.Struct({"x": pl.Float64}), "on": pl.List(pl.Date)})
RECORDS = [(source, i) for source in ("a", "b") for i in range(1, 5)]

#: Types by the names of their tests.
KEY_TYPES: dict[str, KeyType] = {
    "Int64": KeyType(pl.Int64, (-7, 0, 1, 2, 5, 6, 7, 2**40)),
    "Int8": KeyType(pl.Int8, (-128, -1, 0, 1, 2, 3, 4, 127)),
    "UInt64": KeyType(pl.UInt64, (0, 1, 2, 3, 4, 5, 2**63, 2**64 - 1)),
    "Decimal": KeyType(
        pl.Decimal(20, 2), tuple(map(Decimal, ("-1.50", "0", "0.01", "1", "1.10", "2", "3", "1e9")))
    ),
    "Float64": KeyType(pl.Float64, FLOATS, {2: -0.0}),
    "Float32": KeyType(pl.Float32, (-1.5, 0.0, 0.25, 1.0, 2.0, 3.0, float("inf"), NAN), {1: -0.0}),
    "String": KeyType(pl.String, LETTERS),
    "Binary": KeyType(pl.Binary, tuple(bytes([i, 255 - i]) for i in range(0, 256, 32))),
    "Boolean": KeyType(pl.Boolean, (False, True)),
    "Date": KeyType(pl.Date, tuple(START.date() + i * DAY for i in range(8))),
    "Datetime": KeyType(pl.Datetime("us"), tuple(START + i * HOUR for i in range(8))),
    "Time": KeyType(pl.Time, tuple(dt.time(i, 59, 59, i) for i in range(8))),
    "Duration": KeyType(
        pl.Duration("us"), tuple(i * HOUR for i in (-30, 0, 1, 24, 25, 48, 24 * 31, 24 * 366))
    ),
    "Enum": KeyType(pl.Enum(LETTERS[::-1]), LETTERS[::-1]),
    "Categorical": KeyType(pl.Categorical, LETTERS),
    "Struct": KeyType(SOURCE, tuple({"source": s, "id": i} for s, i in RECORDS)),
    "Struct of structs": KeyType(
        PLACE, tuple({"at": {"x": x}, "on": [START.date()]} for x in FLOATS)
    ),
    "List": KeyType(pl.List(pl.Int64), ([], [0], [0, 0], [0, 1], [0, 2], [1], [2], [2, 3])),
    "List of text": KeyType(pl.List(pl.String), tuple([x, "b"] for x in LETTERS)),
    "Array": KeyType(pl.Array(pl.Int64, 2), tuple([a, b] for a in (0, 1, 2) for b in (0, 1, 2))),
    "NULL": KeyType(pl.Null, ()),
}
