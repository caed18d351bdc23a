"""Charts as pictures, PNG and SVG. Their specifications are tested in test_specifications.py."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

from polars_clustereval import plots
from tests.support.plot_calls import (
    CALLS,
    LINE,
    NAMED_CALLS,
    SIX,
    SWEEP,
    draw_chart,
    title_of,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gate


@pytest.mark.parametrize("name", CALLS)
def test_charts_are_written(name: str, tmp_path: Path) -> None:
    chart = draw_chart(name)
    chart.save(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    chart.save(tmp_path / "chart.svg")
    svg = (tmp_path / "chart.svg").read_text()
    assert svg.startswith("<svg")
    assert title_of(chart)[0] in svg
    width = re.match(r'<svg [^>]*width="([\d.]+)"', svg)
    assert width
    assert float(width[1]) <= 620


@pytest.mark.parametrize("scale", [1e-3, 1, 40, 1e6])
def test_numbers_on_axes_are_written_out(scale: float, tmp_path: Path) -> None:
    """Neither 4e+1 for 40 nor 20m for 0.02, but k and M for large ones."""
    n = max(1, int(scale))
    cells = SIX.with_columns(n=n * pl.int_range(1, 7))
    charts = [
        plots.contingency_plot(cells, "label", "cluster", weight="n"),
        draw_chart("elbow_plot", SWEEP.with_columns(pl.col("x") * scale)),
    ]
    if n < 1000:
        points = pl.concat([LINE] * n)
        charts.append(draw_chart("centroid_plot", points))
    for chart in charts:
        chart.save(tmp_path / "chart.svg")
        texts = re.findall(r">([^<>]*)</text>", (tmp_path / "chart.svg").read_text())
        assert [text for text in texts if re.fullmatch(r"[\d.,]+[kMGT]?", text)]
        assert not [text for text in texts if re.fullmatch(r"[\d.,]+(e[+-]?\d+|m|µ)", text)]


@pytest.mark.parametrize("limits", [(-0.83, 0.2), (0.4, 1.04), (120.0, 247.0), (-3e-4, 2e-4)])
def test_axes_hold_whole_intervals(limits: tuple[float, float], tmp_path: Path) -> None:
    """No tick is drawn beyond the axis, so what is between two ticks is on it."""
    lower, upper = limits
    value = (lower + upper) / 2
    rows = pl.DataFrame({"metric": ["purity"], "value": [value], "lower": lower, "upper": upper})
    plots.interval_plot(rows, metrics=["purity"]).save(tmp_path / "chart.svg")
    svg = (tmp_path / "chart.svg").read_text()
    labels = re.findall(r">(−?[\d,.]+(?:e−\d+)?)</text>", svg)
    ticks = [float(label.replace("−", "-").replace(",", "")) for label in labels]
    assert min(ticks) <= lower < upper <= max(ticks)


@pytest.mark.parametrize("name", NAMED_CALLS)
@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG\r\n\x1a\n"), (".svg", b"<svg")])
def test_odd_names_are_drawn(name: str, ending: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"chart{ending}"
    NAMED_CALLS[name]().save(path)
    assert path.read_bytes().startswith(start)
