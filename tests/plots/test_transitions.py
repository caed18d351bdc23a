"""The flows of ids between runs: bars, bands between them, their colors, and what is folded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval import plots
from polars_clustereval.plots.charts import COLORS, GRAY
from tests.support.plot_calls import frame_of_chart, rows_of_chart, title_of

if TYPE_CHECKING:
    from pathlib import Path

BARS = ("run", "cluster", "n", "top", "bottom")
BANDS = ("cluster", "next", "n", "is_link")
EDGES = ("source_top", "source_bottom", "target_top", "target_bottom")


def runs_of(*runs: dict[str, str]) -> pl.DataFrame:
    """Runs 1, 2, ..., each a mapping of clusters to their ids, which are single letters."""
    rows = [
        (run, id_, cluster)
        for run, clusters in enumerate(runs, 1)
        for cluster, ids in clusters.items()
        for id_ in ids
    ]
    return pl.DataFrame(rows, schema=["run", "id", "cluster"], orient="row")


def draw(runs: pl.DataFrame, **options: Any) -> Any:
    return plots.transition_plot(runs, "id", "run", "cluster", **options)


def colors_of(chart: Any) -> dict[tuple[str, str], str]:
    """The color of each bar by its run and cluster."""
    return {(row["run"], row["cluster"]): row["color"] for row in rows_of_chart(chart, 1)}


#: Cluster a lives on as x, and b is split into y and z.
SPLIT = runs_of({"a": "pq", "b": "rstu"}, {"x": "pq", "y": "rs", "z": "tu"})


def test_split_cluster() -> None:
    """Six ids are 300 pixels high, and clusters are 16 pixels apart."""
    chart = draw(SPLIT)
    assert frame_of_chart(chart, *BARS, layer=1).rows() == [
        ("1", "a", 2, 0, 100),
        ("1", "b", 4, 116, 316),
        ("2", "x", 2, 0, 100),
        ("2", "y", 2, 116, 216),
        ("2", "z", 2, 232, 332),
    ]
    assert sorted(frame_of_chart(chart, *BANDS, *EDGES, "x", "x2", layer=0).rows()) == [
        ("a", "x", 2, True, 0, 100, 0, 100, 12, 508),
        ("b", "y", 2, True, 116, 216, 116, 216, 12, 508),
        ("b", "z", 2, True, 216, 316, 232, 332, 12, 508),
    ]
    bars = {("1", "a"): 0, ("1", "b"): 1, ("2", "x"): 0, ("2", "y"): 2, ("2", "z"): 3}
    assert colors_of(chart) == {bar: COLORS[number] for bar, number in bars.items()}
    colors = frame_of_chart(chart, "cluster", "color", layer=0).unique().sort("cluster").rows()
    assert colors == [("a", COLORS[0]), ("b", COLORS[1])]
    assert title_of(chart) == ["Clusters of 2 runs"]


def test_ids_that_move_leave_and_join() -> None:
    """Id r moves, v leaves, w joins; q is above p, since its ids come from a, which is above b."""
    chart = draw(runs_of({"a": "pqr", "b": "stuv"}, {"p": "stur", "q": "pqw"}))
    u = 300 / 7

    def near(pixels: float) -> Any:
        return pytest.approx(pixels, abs=0.005001)

    bars = frame_of_chart(chart, *BARS, layer=1).rows()
    assert bars == [
        ("1", "a", 3, 0, near(3 * u)),
        ("1", "b", 4, near(3 * u + 16), near(7 * u + 16)),
        ("2", "q", 3, 0, near(3 * u)),
        ("2", "p", 4, near(3 * u + 16), near(7 * u + 16)),
    ]
    found = {row[:2]: row[2:] for row in frame_of_chart(chart, *BANDS, *EDGES, layer=0).iter_rows()}
    assert found == {
        ("a", "q"): (2, True, *map(near, (0, 2 * u, 0, 2 * u))),
        ("a", "p"): (1, False, *map(near, (2 * u, 3 * u, 3 * u + 16, 4 * u + 16))),
        ("b", "p"): (
            *(3, True),
            *map(near, (3 * u + 16, 6 * u + 16, 4 * u + 16, 7 * u + 16)),
        ),
    }
    opacity = chart.to_dict()["layer"][0]["encoding"]["opacity"]
    assert opacity["condition"]["test"] == "datum.is_link"
    assert opacity["condition"]["value"] > opacity["value"]
    colors = colors_of(chart)
    assert colors["1", "a"] == colors["2", "q"] != colors["1", "b"] == colors["2", "p"]
    assert title_of(chart)[1:] == ["pale: ids that two clusters share without being linked"]


def test_options_of_links() -> None:
    """One of three ids of a is in p: with a threshold of 0.3, a is split; with min_share, kept."""
    runs = runs_of({"a": "pqr", "b": "stuv"}, {"p": "stur", "q": "pqw"})
    linked = draw(runs, threshold=0.3)
    assert frame_of_chart(linked, "is_link", layer=0).to_series().all()
    assert colors_of(linked)["1", "a"] not in {colors_of(linked)["2", x] for x in "pq"}
    kept = draw(runs, threshold=0.3, min_share=0.3)
    assert colors_of(kept)["1", "b"] == colors_of(kept)["2", "p"]


def test_colors_of_a_series() -> None:
    """A cluster keeps its color over three runs; none of two runs in a row means another one."""
    chart = draw(
        runs_of(
            {"a": "pq", "b": "rs"},
            {"a": "rs", "new": "xy", "c": "pq"},
            {"a": "pq", "late": "vw", "b": "rs"},
        )
    )
    colors = colors_of(chart)
    assert colors["1", "a"] == colors["2", "c"] == colors["3", "a"] == COLORS[0]
    assert colors["1", "b"] == colors["2", "a"] == colors["3", "b"] == COLORS[1]
    assert colors["2", "new"] == COLORS[2]
    assert colors["3", "late"] == COLORS[3]
    order = [row["cluster"] for row in rows_of_chart(chart, 1)]
    assert order == ["a", "b", "c", "a", "new", "a", "b", "late"]


@pytest.mark.parametrize(
    ("noise_as", "n_bars", "n_bands"), [("cluster", 5, 4), ("drop", 4, 2), ("singletons", 4, 2)]
)
def test_noise(noise_as: Any, n_bars: int, n_bands: int) -> None:
    runs = runs_of({"a": "pq", "b": "rs", "noise": "t"}, {"a": "pqt", "b": "r", "noise": "s"})
    chart = draw(runs, noise="noise", noise_as=noise_as)
    assert len(rows_of_chart(chart, 1)) == n_bars + (noise_as == "cluster")
    assert len(rows_of_chart(chart, 0)) == n_bands
    for_all = runs.with_columns(cluster=pl.lit("noise"))
    if noise_as != "cluster":
        with pytest.raises(ce.ClusterEvalError, match="expected a cluster that is not noise, got"):
            draw(for_all, noise="noise", noise_as=noise_as)


def test_a_run_of_noise_alone_has_no_bars() -> None:
    runs = runs_of({"a": "pq"}, {"noise": "pq"}, {"b": "pq"}, {"c": "pq"})
    chart = draw(runs, noise="noise", noise_as="drop")
    found = frame_of_chart(chart, "run", "cluster", layer=1).rows()
    assert found == [("1", "a"), ("3", "b"), ("4", "c")]
    assert frame_of_chart(chart, "cluster", "next", layer=0).rows() == [("b", "c")]


def test_clusters_beyond_the_largest_are_one() -> None:
    """Sizes 6, 5, 1, 1, 1 in the first run and 6, 4, 4 in the second, which is drawn whole."""
    runs = runs_of(
        {"a": "cdefgh", "b": "ijklm", "x": "n", "y": "o", "z": "p"},
        {"a": "cdefgh", "b": "ijkl", "c": "mnop"},
    )
    chart = draw(runs, max_clusters=2)
    bars = frame_of_chart(chart, "run", "cluster", "n", layer=1).rows()
    assert bars == [
        ("1", "a", 6), ("1", "b", 5), ("1", "other (3)", 3), ("2", "a", 6), ("2", "b", 4),
        ("2", "c", 4),
    ]  # fmt: skip
    assert colors_of(chart)["1", "other (3)"] == GRAY
    assert colors_of(chart)["2", "c"] == COLORS[2]
    bands = sorted(frame_of_chart(chart, *BANDS, layer=0).rows())
    assert bands == [
        ("a", "a", 6, True),
        ("b", "b", 4, True),
        ("b", "c", 1, False),
        ("other (3)", "c", 3, True),
    ]
    assert title_of(chart)[1] == "the 2 largest clusters of a run, the others as one"


@pytest.mark.gate
def test_flows_of_digits_are_the_common_ids() -> None:
    """Eight of twenty runs of k-means, whose clusters two runs share as a join of them says."""
    runs = pl.read_parquet("examples/digits_runs.parquet").filter(pl.col("k") == 20)
    chart = plots.transition_plot(runs, "id", "seed", "cluster", max_clusters=20)
    bands = pl.DataFrame(rows_of_chart(chart, 0))
    found = bands.select("x", "cluster", "next", "n").sort("x", "cluster", "next")
    numbers = {seed: 12 + seed * (520 - 12) / 3 for seed in range(3)}
    after = runs.select("id", pl.col("seed") - 1, next="cluster")
    both = runs.join(after, on=["id", "seed"]).group_by("seed", "cluster", "next")
    wanted = both.agg(n=pl.len().cast(pl.Int64)).with_columns(
        pl.col("cluster", "next").cast(pl.String), x=pl.col("seed").replace_strict(numbers)
    )
    wanted = wanted.select("x", "cluster", "next", "n").sort("x", "cluster", "next")
    assert found.drop("x").rows() == wanted.drop("x").rows()
    assert found["x"].to_list() == pytest.approx(wanted["x"].to_list(), abs=0.01)
    # Bands neither overlap at a bar nor leave it.
    for end in ("source", "target"):
        top, bottom = f"{end}_top", f"{end}_bottom"
        stacked = bands.sort("x", top).with_columns(gap=pl.col(top).shift(-1) - pl.col(bottom))
        inner = stacked.filter(pl.col("x") == pl.col("x").shift(-1))
        assert inner["gap"].min() > -0.0101  # type: ignore[operator]
    folded = plots.transition_plot(runs, "id", "seed", "cluster")
    sizes = frame_of_chart(folded, "run", "n", layer=1).group_by("run").agg(pl.len(), pl.sum("n"))
    assert sizes.sort("run").rows() == [(str(seed), 13, 1797) for seed in range(4)]


def test_first_runs() -> None:
    runs = runs_of(*({"a": "pq", "b": "rs"} for _ in range(9)))
    chart = draw(runs)
    assert {row["run"] for row in rows_of_chart(chart, 1)} == set("12345678")
    assert title_of(chart) == ["Clusters of 9 runs", "the first 8 runs only"]
    assert len(rows_of_chart(draw(runs, max_runs=2), 0)) == 2


@pytest.mark.gate
def test_bands_are_areas_between_their_bars(tmp_path: Path) -> None:
    """The areas in the picture begin and end at the edges that the data state."""
    chart = draw(SPLIT)
    chart.save(tmp_path / "chart.svg")
    svg = (tmp_path / "chart.svg").read_text()
    areas = re.findall(r'aria-roledescription="area mark" d="M([^"]*)Z"', svg)
    number = r"(-?[\d.]+)"
    found = []
    for path in areas:
        points = [tuple(map(float, xy)) for xy in re.findall(rf"{number},{number}", path)]
        assert len(points) == 42
        (x, top), (x2, next_top) = points[0], points[20]
        (_, next_bottom), (_, bottom) = points[21], points[41]
        assert points[10] == ((x + x2) / 2, (top + next_top) / 2)
        found.append((x, x2, top, bottom, next_top, next_bottom))
    assert sorted(found) == [
        (12, 508, 0, 100, 0, 100),
        (12, 508, 116, 216, 116, 216),
        (12, 508, 216, 316, 232, 332),
    ]
