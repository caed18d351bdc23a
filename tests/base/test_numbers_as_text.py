"""Numbers in words of findings: the same text on both sides, which says nothing that is not so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from polars_clustereval.base import exact, findings
from tests.support import engines

if TYPE_CHECKING:
    from collections.abc import Callable

PERCENT = {
    0.0: "0 %",
    1e-9: "below 0.1 %",
    0.0004999: "below 0.1 %",
    0.0005: "0.1 %",
    0.0949: "9.5 %",
    0.1: "10 %",
    0.124: "12 %",
    0.125: "13 %",
    0.9949: "99 %",
    0.995: "over 99 %",
    0.9999999: "over 99 %",
    1.0: "100 %",
}
BELOW_0 = {-0.4: "-0.40", -0.0051: "-0.01", -0.004: "just below 0", -1e-9: "just below 0"}
BELOW_QUARTER = {0.0: "0.00", 0.2449: "0.24", 0.246: "just below 0.25", 0.24999: "just below 0.25"}
BELOW_HALF = {0.4949: "49 %", 0.4975: "just below 50 %", 0.4999999: "just below 50 %"}
ABOVE_90 = {0.9000001: "just over 90 %", 0.904: "just over 90 %", 0.906: "91 %", 0.997: "over 99 %"}
ABOVE_10 = {10.0000001: "just over 10", 10.4: "just over 10", 10.5: "11", 24.6: "25"}
TEN = pl.lit(10)


@pytest.mark.parametrize(
    ("expression", "macro", "texts"),
    [
        (exact.percent_as_text, "_percent_as_text(x)", PERCENT),
        (lambda x: exact.decimals_below(x, 0), "_decimals_below(x, 0)", BELOW_0),
        (lambda x: exact.decimals_below(x, 0.25), "_decimals_below(x, 0.25)", BELOW_QUARTER),
        (lambda x: findings.percent_below(x, 0.5), "_percent_below(x, 0.5)", BELOW_HALF),
        (lambda x: findings.percent_above(x, 0.9), "_percent_above(x, 0.9)", ABOVE_90),
        (lambda x: findings.whole_above(x, TEN), "_whole_above(x, 10)", ABOVE_10),
    ],
)
def test_texts(
    expression: Callable[[pl.Expr], pl.Expr], macro: str, texts: dict[float, str]
) -> None:
    frame = pl.DataFrame({"x": [*texts]}, schema={"x": pl.Float64})
    assert frame.select(expression(pl.col("x"))).to_series().to_list() == [*texts.values()]
    con = engines.make("duckdb").connection.cursor()
    con.register("numbers", frame.to_arrow())
    rows = con.execute(f"SELECT clustereval.{macro} FROM numbers").fetchall()
    assert [text for (text,) in rows] == [*texts.values()]


def test_both_sides_have_the_same_limits() -> None:
    names = ("undivided_share", "problem_share", "giant_share", "dominant_share", "low_silhouette")
    macros = [*names, "far_ratio"]
    con = engines.make("duckdb").connection.cursor()
    row = con.execute(f"SELECT {', '.join(f'clustereval._{x}()' for x in macros)}").fetchone()
    assert row is not None
    assert [float(x) for x in row] == [getattr(findings, x.upper()) for x in macros]
