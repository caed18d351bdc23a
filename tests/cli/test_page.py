"""`clustereval report`: the page about one clustering, as Markdown and as HTML."""

from __future__ import annotations

import io
import json
import re
import sys
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
import vl_convert

from polars_clustereval.base.growth import SILHOUETTES, estimate_seconds
from polars_clustereval.cli import estimates
from polars_clustereval.internal.centroids import Points
from polars_clustereval.internal.kernels.measured_pairs import count_pairs
from polars_clustereval.page import silhouettes
from polars_clustereval.page.findings import choose_clusters
from tests.support import engines
from tests.support.command_line import DUCKDB_AT_THE_GATE, FLOWERS, IRIS, KMEANS, QUICK, WIDE
from tests.support.pages import BOTH, DIGITS_BOTH, Pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.command_line import Fail, Noted, Run
    from tests.support.pages import Page

pytestmark = pytest.mark.gate

NUMBER = r"(-?[\d,.]+(?:e[-+]\d+)?|–)"


def headlines(markdown: str) -> dict[str, tuple[str, str]]:
    """Value and limits of each score at the top of the page in Markdown."""
    rows = re.findall(rf"^\| `(\w+)` \| {NUMBER} \| (.*?) \|", markdown, re.MULTILINE)
    return {name: (value, limits) for name, value, limits in rows}


def rows_of_clusters(markdown: str) -> list[dict[str, str]]:
    """The rows of the table by cluster."""
    lines = markdown.split("## Clusters\n\n")[1].split("\n\n")[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines)
    return [dict(zip(head, row, strict=True)) for row in rows]


def sql_of(markdown: str) -> str:
    (query,) = re.findall(r"````sql\n(.*?)\n````", markdown, re.DOTALL)
    return str(query)


@pytest.fixture(scope="module", autouse=True)
def _blank_pictures() -> Iterator[None]:
    """Empty pictures of charts, which take most of a page's time; see test_page_in_a_browser."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        blank = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"></svg>'
        monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda vl_spec: blank if vl_spec else "")
        yield


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Pages(tmp_path_factory)


@pytest.fixture
def write_rows(tmp_path: Path) -> Callable[..., Path]:
    """Write rows to a Parquet file, whose path is returned."""

    def call(**columns: object) -> Path:
        path = tmp_path / "rows.parquet"
        pl.DataFrame(columns).write_parquet(path)
        return path

    return call


# ----------------------------------------------------------------------------------------------
# Numbers
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [(), pytest.param(("--engine", "duckdb"), marks=pytest.mark.gate), QUICK]
)
def test_headlines_are_the_scores_of_the_reports(page_of: Page, options: tuple[str, ...]) -> None:
    found = headlines(page_of(*BOTH, *options).read_text(encoding="utf-8"))
    iris = pl.read_parquet(IRIS)
    (labels,) = iris.clustereval.external_report("species", "kmeans").to_dicts()
    (points,) = iris.clustereval.internal_report(WIDE.split(","), "kmeans").to_dicts()
    (silhouette,) = iris.clustereval.silhouette_score(WIDE.split(","), "kmeans").to_dicts()
    expected = labels | points | silhouette
    assert list(found) == [
        *("adjusted_rand_score", "adjusted_mutual_info_score", "v_measure_score"),
        *("bcubed_f_score", "silhouette", "explained_variance", "davies_bouldin_score"),
        "calinski_harabasz_score",
    ]
    for name, (value, _) in found.items():
        assert float(value) == pytest.approx(expected[name], rel=5e-4), name
    (interval,) = (
        iris.clustereval.external_intervals("species", "kmeans")
        .filter(metric="adjusted_rand_score")
        .to_dicts()
    )
    limits = found["adjusted_rand_score"][1].removeprefix("95 % interval: ").split(" to ")
    assert [float(x) for x in limits] == pytest.approx(
        [interval["lower"], interval["upper"]], rel=5e-4
    )


@pytest.mark.parametrize("options", [(), QUICK])
def test_a_row_for_each_cluster_the_largest_first(page_of: Page, options: tuple[str, ...]) -> None:
    rows = rows_of_clusters(page_of(*BOTH, *options).read_text(encoding="utf-8"))
    assert [(row["cluster"], row["n"], row["majority label"]) for row in rows] == [
        ("0", "62", "versicolor"),
        ("1", "50", "setosa"),
        ("2", "38", "virginica"),
    ]
    assert [row["purity"] for row in rows] == ["0.7742", "1", "0.9474"]  # 48 / 62 and 36 / 38
    assert [row["share"] for row in rows] == ["0.4133", "0.3333", "0.2533"]


@pytest.mark.gate
def test_words_of_the_literature(run: Run, page_of: Page) -> None:
    markdown = page_of(*DIGITS_BOTH, *QUICK).read_text(encoding="utf-8")
    assert "| moderate (Steinley 2004) |" in markdown  # ARI 0.666
    html = unescape(page_of(*DIGITS_BOTH, *QUICK, ending="html").read_text(encoding="utf-8"))
    assert "no substantial structure (Kaufman and Rousseeuw 1990)" in html  # silhouette 0.18
    assert "<cite>Hubert and Arabie (1985)" in html
    squared = run("report", *DIGITS_BOTH, *QUICK, "--distance", "sqeuclidean")
    assert "Kaufman" not in squared, "its scale is for distances, not for their squares"
    assert "Steinley" in squared


def test_labels_alone_and_points_alone(page_of: Page) -> None:
    labels, points, both = (
        page_of(*arguments).read_text(encoding="utf-8")
        for arguments in ((IRIS, *KMEANS, *QUICK), (IRIS, *FLOWERS, *QUICK), (*BOTH, *QUICK))
    )
    assert headlines(labels).keys() | headlines(points).keys() == headlines(both).keys()
    assert "silhouette" not in labels
    assert "adjusted_rand_score" not in points


@pytest.mark.gate
def test_the_sql_gives_the_numbers(run: Run) -> None:
    options = ("--distance", "cosine", "--noise", "2", "--noise-as", "drop")
    markdown = run("report", *BOTH, *QUICK, *options)
    found = headlines(markdown)
    with engines.make("duckdb").connection.cursor() as connection:
        results: dict[str, object] = {}
        for statement in duckdb.extract_statements(sql_of(markdown)):
            rows = connection.execute(statement.query).fetchall()
            if len(rows) == 1:
                names = [name for name, *_ in connection.description]
                results |= dict(zip(names, rows[0], strict=True))
    assert set(found) <= results.keys()
    for name, (value, _) in found.items():
        if value != "–":
            assert float(value) == pytest.approx(results[name], rel=5e-4), name
    assert "distance := 'cosine'" in sql_of(markdown)
    assert "noise := 2, noise_as := 'drop'" in sql_of(markdown)


@pytest.mark.gate
def test_sql_of_vectors_in_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("v;c\n[0 1];a\n[0 2];a\n[5 5];b\n[6 5];b\n")
    markdown = run("report", tmp_path / "points.csv", "--vector", "v", "--cluster", "c", *QUICK)
    with engines.make("duckdb").connection.cursor() as connection:
        *_, last = (connection.sql(x.query) for x in duckdb.extract_statements(sql_of(markdown)))
        assert last.fetchall()[0][1:3] == ("a", 2)


@pytest.mark.gate
def test_sql_of_a_csv_file_whose_columns_are_text_and_numbers(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,label,cluster\n0,a,1\n1,a,1\n5,b,2\n7,a,2\n", encoding="utf-8")
    columns = ("--vector", "x", "--label", "label", "--cluster", "cluster")
    queries = sql_of(run("report", path, *columns, *QUICK))
    assert queries.count("CREATE OR REPLACE TEMP VIEW") == 2
    with engines.make("duckdb").connection.cursor() as connection:
        for statement in duckdb.extract_statements(queries):
            connection.execute(statement.query)


def test_sql_of_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"a,b\nx,1\ny,2\n"))
    monkeypatch.setattr(sys, "stdin", given)
    markdown = run("report", "-", "--label", "a", "--cluster", "b", *QUICK)
    assert "read_csv(['standard input']" in sql_of(markdown)
    assert "SHA-256 of standard input" in markdown


def test_options_of_the_silhouette(run: Run) -> None:
    markdown = run("report", *BOTH, *QUICK, "--method", "sample", "--sample-size", "20")
    value, limits = headlines(markdown)["silhouette"]
    assert limits.startswith("limits: ")
    iris = pl.read_parquet(IRIS)
    wanted = iris.clustereval.silhouette_clusters(
        WIDE.split(","), "kmeans", method="sample", sample_size=20
    ).sort("n", descending=True)
    for name in ("silhouette", "std_error"):
        found = [row[name.replace("_", " ")] for row in rows_of_clusters(markdown)]
        known = wanted[name].is_not_null()
        assert [text != "–" for text in found] == known.to_list()
        numbers = [float(text) for text in found if text != "–"]
        assert numbers == pytest.approx(wanted[name].filter(known).to_list(), rel=5e-3), name
    iris = pl.read_parquet(IRIS)
    sample = iris.clustereval.silhouette_score(
        WIDE.split(","), "kmeans", method="sample", sample_size=20
    )
    assert float(value) == pytest.approx(sample["silhouette"].item(), rel=5e-4)


def test_silhouettes_of_many_points_are_those_of_a_sample(
    run: Run, noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is a little above and below the time of the pairs whose distances are needed."""
    with count_pairs() as counts:
        pl.read_parquet(IRIS).clustereval.silhouette_score(WIDE.split(","), "kmeans")
    seconds = estimate_seconds(
        SILHOUETTES[0], "polars", 4 * 150**2, n_dims=4, share=sum(counts) / 150**2
    )
    exact = run("report", *BOTH, *QUICK)
    monkeypatch.setattr(silhouettes, "SAMPLE_SIZE", 20)
    monkeypatch.setattr(estimates, "LONG", 1.01 * seconds)
    kept = run("report", *BOTH, *QUICK)
    monkeypatch.setattr(estimates, "LONG", 0.99 * seconds)
    sampled, notes = noted("report", *BOTH, *QUICK)
    assert kept == exact
    assert "silhouettes **exact, 150 points**" in exact
    references = "1,000 of each cluster to compare with"
    assert f"silhouettes **sample of 20 points, {references}, seed 0**" in sampled
    words = "silhouettes are those of a sample of 20 of 150 points (seed 0), compared with up to"
    assert f"- ⚠ The {words}" in sampled
    assert f"clustereval: the {words}" in notes
    given = run("report", *BOTH, *QUICK, "--method", "sample", "--sample-size", "20")
    assert headlines(sampled) == headlines(given)
    insisted, warning = noted("report", *BOTH, *QUICK, "--method", "exact")
    assert "exact, 150 points" in insisted
    assert "150 rows: this will take about" in warning
    assert "exact, 150 points" in run("report", *BOTH, *QUICK, "--distance", "sqeuclidean")


def test_silhouettes_of_partitions_with_many_points_are_those_of_samples(
    noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three partitions of 50 points, none of which has more than a sample of 50."""
    monkeypatch.setattr(estimates, "LONG", 0.0)
    call = ("report", IRIS, *FLOWERS, "--partition-by", "species", *QUICK)
    monkeypatch.setattr(silhouettes, "SAMPLE_SIZE", 20)
    assert "are those of a sample of 20 points of each partition (seed 0)" in noted(*call)[1]
    monkeypatch.setattr(silhouettes, "SAMPLE_SIZE", 50)
    assert noted(*call)[1] == ""


def test_weights_of_rows(run: Run, write_rows: Callable[..., Path]) -> None:
    path = write_rows(label=["a", "a", "b"], cluster=[1, 2, 2], n=[3, 1, 4])
    columns = ("--label", "label", "--cluster", "cluster", "--weight", "n")
    assert "rows **8**" in run("report", path, *columns, *QUICK)


# ----------------------------------------------------------------------------------------------
# Warnings
# ----------------------------------------------------------------------------------------------


def warned(run: Run, path: object, *options: str) -> list[str]:
    """The warnings of a page about rows with the columns x, label and cluster."""
    columns = ("--label", "label", "--vector", "x", "--cluster", "cluster")
    markdown = run("report", path, *columns, *QUICK, *options)  # the last --engine is taken
    return re.findall(r"^- ⚠ (.*)$", markdown, re.MULTILINE)


def test_nothing_to_warn_of(run: Run, write_rows: Callable[..., Path]) -> None:
    path = write_rows(x=[0.0, 1, 5, 6], label=list("aabb"), cluster=[0, 0, 1, 1])
    assert warned(run, path) == []


@DUCKDB_AT_THE_GATE
def test_dropped_rows_and_singletons(
    run: Run, write_rows: Callable[..., Path], engine_name: str
) -> None:
    path = write_rows(x=[0.0, 1, 5, None], label=[None, "a", "b", "b"], cluster=[0, 0, 1, 1])
    assert warned(run, path, "--engine", engine_name) == [
        "1 row (25 %) has no label or no cluster, and is left out.",
        "1 row (25 %) has no vector or no cluster, and is left out.",
        "1 of 2 clusters has one point, whose silhouette is 0 by definition.",
    ]


def test_several_dropped_rows_and_singletons(run: Run, write_rows: Callable[..., Path]) -> None:
    path = write_rows(x=[0.0, 5, None, None], label=[None, None, "b", "b"], cluster=[0, 1, 1, 1])
    assert warned(run, path) == [
        "2 rows (50 %) have no label or no cluster, and are left out.",
        "2 rows (50 %) have no vector or no cluster, and are left out.",
        "2 of 2 clusters have one point, whose silhouette is 0 by definition.",
    ]


def test_one_row_of_noise(run: Run, write_rows: Callable[..., Path]) -> None:
    path = write_rows(x=list(range(4)), label=list("aabb"), cluster=[0, 0, 0, -1])
    for way, words in (("cluster", "counted as a cluster"), ("drop", "left out")):
        found = warned(run, path, "--noise", "-1", "--noise-as", way)[0]
        assert found == f"1 row (25 %) is noise, {words}."


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "Cluster -1 is counted as a cluster; if it is noise, give --noise -1 and --noise-as."),
        (
            ("--noise", "-1", "--noise-as", "cluster"),
            "2 rows (20 %) are noise, counted as a cluster.",
        ),
        (("--noise", "-1", "--noise-as", "drop"), "2 rows (20 %) are noise, left out."),
        (
            ("--noise", "-1", "--noise-as", "singletons"),
            "2 rows (20 %) are noise, each counted as a cluster of its own.",
        ),
    ],
)
def test_noise(
    run: Run, write_rows: Callable[..., Path], options: tuple[str, ...], words: str
) -> None:
    clusters = [0] * 4 + [1] * 4 + [-1] * 2
    path = write_rows(x=list(range(10)), label=list("aaaabbbbcc"), cluster=clusters)
    found = [text.replace("\\", "") for text in warned(run, path, *options)]
    assert found[0].startswith(words)
    assert not options or not any("give --noise" in text for text in found)


def test_shares_are_of_all_rows_singletons_too(run: Run, write_rows: Callable[..., Path]) -> None:
    path = write_rows(label=list("aaaabbbbcc"), cluster=[0] * 4 + [1] * 4 + [-1] * 2)
    columns = ("--label", "label", "--cluster", "cluster")
    options = ("--noise", "-1", "--noise-as", "singletons", *QUICK)
    markdown = run("report", path, *columns, *options)
    assert [row["share"] for row in rows_of_clusters(markdown)] == ["0.4", "0.4"]


def test_one_cluster_and_a_giant_one(run: Run, write_rows: Callable[..., Path]) -> None:
    one = write_rows(x=[0.0, 1, 5], label=list("abc"), cluster=[7] * 3)
    assert warned(run, one) == ["There is one cluster, so nothing is told apart."]
    rows = {"x": list(range(20)), "label": ["a"] * 20, "cluster": ["giant"] * 18 + ["b"] * 2}
    giant = write_rows(**rows)
    assert warned(run, giant) == [
        "Cluster giant has 90 % of the rows: scores by row or by pair say little of the others."
    ]


def test_no_rows(run: Run, write_rows: Callable[..., Path]) -> None:
    path = write_rows(x=pl.Series([None, None], dtype=pl.Float64), label=["a", "b"], cluster=[0, 1])
    columns = ("--vector", "x", "--cluster", "cluster")
    markdown = run("report", path, *columns, *QUICK)
    assert "No row is left: no score is defined." in markdown
    assert headlines(markdown)["silhouette"][0] == "–"


# ----------------------------------------------------------------------------------------------
# Many clusters
# ----------------------------------------------------------------------------------------------


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The charts that are rendered, as Vega-Lite: each for wide screens and for narrow ones."""
    charts: list[dict[str, Any]] = []

    def render(vl_spec: str) -> str:
        charts.append(json.loads(vl_spec))
        return "<svg/>"

    monkeypatch.setattr(vl_convert, "vegalite_to_svg", render)
    return charts


def data_of_chart(chart: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the data in a chart."""
    return [row for rows in chart["datasets"].values() for row in rows]


@pytest.mark.parametrize("ending", ["md", "html"])
def test_each_table_of_points_is_computed_once(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Distances of all points take most of a page's time: none is computed for a picture again."""
    tables = []
    to_result = Points.to_result

    def count(points: Points, frame: Any, *args: Any, **options: Any) -> Any:
        # Without rows, it is a check of the arguments.
        if frame.lazy().select(pl.len()).collect().item():
            tables.append(points)
        return to_result(points, frame, *args, **options)

    monkeypatch.setattr(Points, "to_result", count)
    output = ("--html" if ending == "html" else "--output", tmp_path / f"page.{ending}")
    run("report", *BOTH, *QUICK, *output)
    words = "internal_report, internal_cluster_report, cluster_states and one of silhouettes"
    assert len(tables) == 4, words


def test_pictures_of_many_clusters_have_few_rows(
    run: Run, write_rows: Callable[..., Path], tmp_path: Path, drawn: list[dict[str, Any]]
) -> None:
    n = 2000
    clusters = [i // 2 for i in range(n)]
    path = write_rows(x=[float(i) for i in range(n)], label=clusters, cluster=clusters)
    columns = ("--vector", "x", "--label", "label", "--cluster", "cluster")
    run("report", path, *columns, *QUICK, "--html", tmp_path / "page.html")
    assert len(drawn) == 10
    narrow = drawn[1::2]
    del drawn[1::2]
    assert [chart["datasets"] for chart in narrow] == [chart["datasets"] for chart in drawn]
    assert [chart["width"] for chart in narrow] == [360, 360, 360, 280, 280]
    assert [chart["height"] for chart in narrow[3:]] == [280, 280]
    lines = [line for chart in narrow for line in chart["title"]["subtitle"]]
    assert max(map(len, lines)) <= 50
    # The map has 1,550 points and the centers of thirty clusters.
    assert [len(data_of_chart(chart)) < 700 for chart in drawn] == [True] * 3 + [False, True]
    assert [1 < len(data_of_chart(chart)) <= 1580 for chart in drawn] == [True] * 5
    texts = [json.dumps(chart["title"]) for chart in drawn]
    assert "the 30 largest and the others as one" in texts[2]
    assert "in color the 30 largest clusters" in texts[3]
    assert "only the 30 largest clusters" in texts[4]


@pytest.mark.parametrize("engine_name", ["polars", pytest.param("duckdb", marks=pytest.mark.gate)])
@pytest.mark.parametrize("ending", ["md", "html"])
def test_silhouettes_of_the_page_are_those_of_the_tables(
    run: Run, write_rows: Callable[..., Path], tmp_path: Path, engine_name: str, ending: str
) -> None:
    """With noise as singletons, each of which counts as a cluster in the means over clusters."""
    rows = pl.DataFrame(
        {
            "x": [0.0, 1, 2, 1.5, 7, 8, 11, 4, 3],
            "cluster": [0, 0, 0, 1, 1, 1, 2, -1, -1],
        }
    )
    path = write_rows(**rows.to_dict(as_series=False))
    page = tmp_path / f"page.{ending}"
    noise = ("--noise", "-1", "--noise-as", "singletons", "--engine", engine_name)
    output = ("--html" if ending == "html" else "--output", page)
    run("report", path, "--vector", "x", "--cluster", "cluster", *noise, *output)
    arguments: dict[str, Any] = {"noise": -1, "noise_as": "singletons"}
    (score,) = rows.clustereval.silhouette_score(["x"], "cluster", **arguments).to_dicts()
    clusters = rows.clustereval.silhouette_clusters(["x"], "cluster", **arguments)
    means = {row["cluster"]: row["silhouette"] for row in clusters.iter_rows(named=True)}
    text = page.read_text(encoding="utf-8")
    if ending == "md":
        assert float(headlines(text)["silhouette"][0]) == pytest.approx(score["silhouette"], 5e-4)
        found = {row["cluster"]: float(row["silhouette"]) for row in rows_of_clusters(text)}
        assert found == {str(i): pytest.approx(means[i], 5e-4) for i in range(3)}
        return
    for name in ("silhouette", "silhouette_macro", "silhouette_max"):
        (value,) = re.findall(rf"<tr><td>{name}</td><td class='number'>{NUMBER}</td>", text)
        assert float(value) == pytest.approx(score[name], 5e-4)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("clusters", "names"),
    [
        (pl.Series([0, 0, 5, 5]).cast(pl.Duration("us")), ["0:00:00", "0:00:00.000005"]),
        (pl.Series(["a", "a", "b", "b"], dtype=pl.Enum(["b", "a"])), ["b", "a"]),
    ],
)
def test_clusters_in_pictures_have_the_names_and_the_order_of_polars(
    run: Run,
    write_rows: Callable[..., Path],
    tmp_path: Path,
    drawn: list[dict[str, Any]],
    clusters: pl.Series,
    names: list[str],
) -> None:
    path = write_rows(x=[0.0, 1, 5, 6], cluster=clusters)
    page = ("--html", tmp_path / "page.html")
    run("report", path, "--vector", "x", "--cluster", "cluster", "--engine", "duckdb", *page)
    assert len(drawn) == 6
    for chart in drawn:
        rows = [row for row in data_of_chart(chart) if "cluster" in row]
        # The points of the map, which have nothing but a color, are in the order of their rows.
        shown = [row["cluster"] for row in rows if row.keys() - {"cluster", "color", "x", "y"}]
        assert list(dict.fromkeys(shown)) == names
        assert {row["cluster"] for row in rows} == {*names}


# ----------------------------------------------------------------------------------------------
# The file
# ----------------------------------------------------------------------------------------------


def test_names_are_only_names(run: Run, write_rows: Callable[..., Path], tmp_path: Path) -> None:
    odd = ["<script>alert(1)</script>", "a|b`c*", "\x1b[31mred\x1b[0m", "q\"uote's & co"]
    path = write_rows(label=odd * 2, cluster=odd * 2)
    columns = ("--label", "label", "--cluster", "cluster")
    assert "\x1b" not in run("report", path, *columns, *QUICK)
    run("report", path, *columns, *QUICK, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "\x1b" not in page
    assert page.count("<script>") == 1, "that of the page itself"
    cells = {unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", page)}
    assert {odd[0], odd[1], odd[3], "\\x1b[31mred\\x1b[0m"} <= cells


def test_clusters_that_are_chosen_by_distance_or_silhouette() -> None:
    frame = pl.DataFrame(
        {
            "cluster": range(6),
            "n": [9, 8, 7, 6, 5, 4],
            "mean_distance": [1.0, 5.0, 2.0, 5.0, 1.0, 3],
        }
    )
    chosen, note = choose_clusters(frame, 4)
    assert chosen["cluster"].to_list() == [1, 3, 4, 0], "worst first, best last"
    assert note == "The 2 worst and the 2 best of 6 clusters, by mean distance."
    silhouettes = pl.Series("silhouette", [0.1, None, -0.5, 0.9, 0.5, 0.5])
    chosen, note = choose_clusters(frame.with_columns(silhouettes), 4)
    assert chosen["cluster"].to_list() == [2, 0, 4, 3]
    assert note.endswith("by silhouette.")
    assert choose_clusters(frame, 6)[1] == ""


@pytest.mark.gate
def test_more_clusters_than_the_table_has_rows(
    run: Run, write_rows: Callable[..., Path], tmp_path: Path
) -> None:
    sizes = [2] * 400 + [3] * 400 + [1] * 400
    clusters = [cluster for cluster, size in enumerate(sizes) for _ in range(size)]
    # Half of the rows of the first 400 clusters have another label, a third of the next 400.
    labels = [int(a != b) for a, b in pairwise([-1, *clusters])]
    path = write_rows(label=labels, cluster=clusters)
    columns = ("--label", "label", "--cluster", "cluster")
    markdown = run("report", path, *columns, *QUICK)
    assert "The 25 worst and the 25 best of 1,200 clusters, by purity." in markdown
    rows = rows_of_clusters(markdown)
    assert [row["purity"] for row in rows] == ["0.5"] * 25 + ["1"] * 25
    assert [row["cluster"] for row in rows[:25]] == [str(i) for i in range(25)]
    run("report", path, *columns, *QUICK, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The 250 worst and the 250 best of 1,200 clusters, by purity." in page
    assert page.count('<tr><td class="number"') == 500


def test_columns_are_sorted_by_their_numbers_not_by_what_is_shown(
    run: Run, write_rows: Callable[..., Path], tmp_path: Path
) -> None:
    path = write_rows(label=[0] * 1234 + [1], cluster=[0] * 1234 + [1])
    columns = ("--label", "label", "--cluster", "cluster")
    run("report", path, *columns, *QUICK, "--html", tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert 'data-value="1234">1,234<' in page
    (share,) = re.findall(r'data-value="([\d.]+)">0\.9992<', page)
    assert float(share) == pytest.approx(1234 / 1235, rel=1e-15)


@pytest.mark.gate
def test_html_to_standard_output_is_the_file(run: Run, page_of: Page) -> None:
    text = run("report", IRIS, *KMEANS, *QUICK, "--format", "html")
    images = re.compile('src="data:.*?"')  # which number their gradients on and on
    written = page_of(IRIS, *KMEANS, *QUICK, ending="html").read_text(encoding="utf-8")
    assert images.sub("", written) == images.sub("", text)
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text), "the page works offline"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((IRIS, "--cluster", "kmeans"), "report: expected --label, the true classes, or --vector"),
        ((*BOTH, "--weight", "id"), "is only for labels; leave out --vector, or repeat each row"),
        ((*BOTH, "--html", "p.html", "--output", "o"), "--output cannot be combined with"),
        ((*BOTH, "--html", "p.html", "--format", "html"), "--format cannot be combined with"),
        ((*BOTH, "--html", "no/such/folder/p.html"), "no/such/folder: no such directory"),
        ((*BOTH, "--method", "sample"), "--method sample needs --sample-size"),
        ((IRIS, "--label", "specie", "--cluster", "kmeans"), "did you mean 'species'?"),
    ],
)
def test_mistakes(fail: Fail, arguments: tuple[str, ...], words: str) -> None:
    assert words in fail("report", *arguments)


def test_the_input_is_not_overwritten(fail: Fail, write_rows: Callable[..., Path]) -> None:
    path = write_rows(label=["a", "b"], cluster=[0, 1])
    before = path.read_bytes()
    columns = ("--label", "label", "--cluster", "cluster")
    assert "expected a file other than the input" in fail("report", path, *columns, "--html", path)
    assert path.read_bytes() == before


@pytest.mark.gate
def test_without_the_extra_for_pictures(
    fail: Fail, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    words = "--html needs the packages for pictures: pip install 'polars_clustereval[plot]'"
    assert words in fail("report", IRIS, *KMEANS, *QUICK, "--html", tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
    assert headlines(run("report", IRIS, *KMEANS, *QUICK))


@pytest.mark.gate
def test_a_chart_that_has_nothing_to_show_is_left_out(
    run: Run, write_rows: Callable[..., Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    columns = ("--label", "label", "--vector", "x", "--cluster", "cluster")
    every_point = write_rows(x=[0.0, 1, 5], label=list("aab"), cluster=[0, 1, 2])
    run("report", every_point, *columns, *QUICK, "--html", page)
    text = page.read_text(encoding="utf-8")
    assert "Centroids and their distances" in text
    assert "Silhouettes of the points" not in text
    one_cluster = write_rows(x=[0.0, 1, 5], label=list("aab"), cluster=[0, 0, 0])
    run("report", one_cluster, *columns, *QUICK, "--html", page)
    assert "Centroids and their distances" not in page.read_text(encoding="utf-8")
    nothing = write_rows(
        x=pl.Series([None, None], dtype=pl.Float64), label=[None, None], cluster=[0, 1]
    )
    run("report", nothing, *columns, *QUICK, "--html", page)
    assert "<img" not in page.read_text(encoding="utf-8")


def test_nothing_is_left_of_a_page_that_cannot_be_written(fail: Fail, tmp_path: Path) -> None:
    old = tmp_path / "page.html"
    old.write_text("old", encoding="utf-8")
    wrong = ("--label", "species", "--cluster", "kmeans", "--noise", "x", "--noise-as", "drop")
    fail("report", IRIS, *wrong, "--html", old)
    assert old.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [old]


def test_pictures_of_labels_and_points(page_of: Page) -> None:
    html = page_of(*BOTH, *QUICK, ending="html").read_text(encoding="utf-8")
    assert re.findall(r'<img alt="(.*?)"', html) == [
        "Labels in the clusters",
        "Scores with their intervals",
        "Silhouettes of the points",
        "Map of the points",
        "Centroids and their distances",
    ]


def test_definitions_state_when_a_score_is_null(page_of: Page) -> None:
    html = page_of(IRIS, *FLOWERS, *QUICK, ending="html").read_text(encoding="utf-8")
    assert "<br>NULL if there are no points, or if k = 1 or k = n.<br><cite>Davies and" in html


def test_pictures_of_points_without_labels(page_of: Page) -> None:
    html = page_of(IRIS, *FLOWERS, *QUICK, ending="html").read_text(encoding="utf-8")
    titles = re.findall(r'<img alt="(.*?)"', html)
    assert titles == [
        "Silhouettes of the points",
        "Map of the points",
        "Centroids and their distances",
    ]
