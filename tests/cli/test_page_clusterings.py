"""`clustereval report --clusters`: the page about several clusterings of the same rows."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base.growth import SILHOUETTES, estimate_seconds
from polars_clustereval.cli import estimates
from polars_clustereval.internal.kernels.measured_pairs import count_pairs
from polars_clustereval.page import partitions, silhouettes
from polars_clustereval.page.numbers import show_number
from polars_clustereval.page.partitions import _show_comparison
from tests.support import engines
from tests.support.command_line import IRIS, QUICK, WIDE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Fail, Noted, Run

RUNS = ["kmeans2", "kmeans", "agglomerative", "single_linkage"]
FRAME = pl.read_parquet(IRIS)
CALL = ("report", IRIS, "--clusters", ",".join(RUNS), *QUICK)
LABEL, VECTOR = ("--label", "species"), ("--vector", WIDE)
OF_ROWS = (
    "The order, the differences to the best and their 95 % intervals are of the {} rows that all "
    "score."
)
UNJUDGED = (
    "The order is that of the 150 rows that all score. No interval tells whether the best one is "
    "better."
)
NOISE = ("--noise=-1", "--noise-as", "drop")


def overview_of(markdown: str) -> list[dict[str, str]]:
    """The rows of the first table of a page."""
    table = markdown.split("\n\n| ")[1].split("\n\n")[0]
    head, _, *rows = (line.strip("| ").split(" | ") for line in table.splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


def remarks_of(markdown: str) -> list[str]:
    """The sentences between the first table of a page and the sections."""
    return re.findall(r"^- (.*)$", markdown.split("\n\n## ")[1], re.MULTILINE)


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    """The flowers, where kmeans leaves out one of its three clusters, and the others no rows."""
    path = tmp_path / "noisy.parquet"
    kmeans = pl.when(pl.col("kmeans") != 1).then("kmeans").otherwise(-1)
    FRAME.with_columns(kmeans=kmeans).write_parquet(path)
    return path


def test_the_best_is_first_and_has_the_first_section(run: Run) -> None:
    """The two best have an interval of -0.055 to 0.053, and the others are worse."""
    markdown = run(*CALL, *LABEL)
    order = ["agglomerative", "kmeans", "single_linkage", "kmeans2"]
    titles = re.findall(r"^##? (.*)$", markdown, re.MULTILINE)
    assert re.fullmatch(r"Clusterings of .*iris\.parquet`?", titles[0])
    assert titles[1:] == ["Clusterings, the best first by adjusted rand score", *order, "SQL"]
    rows = overview_of(markdown)
    names = [*("clustering", "verdict", "n", "coverage", "clusters")]
    assert [[row[name] for name in names] for row in rows] == [
        ["agglomerative", "–", "150", "1", "3"],
        ["kmeans", "not told apart", "150", "1", "3"],
        ["single_linkage", "worse", "150", "1", "3"],
        ["kmeans2", "worse", "150", "1", "2"],
    ]
    assert [row["adjusted rand score"] for row in rows] == ["0.7312", "0.7302", "0.5638", "0.5399"]
    assert [row["adjusted rand difference"] for row in rows] == [
        *("0", "-0.0010 (-0.0546 to 0.0526)"),
        *("-0.1674 (-0.2664 to -0.0685)", "-0.1913 (-0.3036 to -0.0790)"),
    ]
    assert remarks_of(markdown) == [
        OF_ROWS.format(150),
        "kmeans: not told apart from the best: the interval of the difference holds 0.",
    ]
    assert "clusterings **4**" in markdown
    assert "artition" not in markdown.split("## SQL")[0]
    assert "silhouette" not in markdown


@pytest.mark.gate
def test_rows_that_a_clustering_leaves_out(run: Run, noisy: Path) -> None:
    """The scores of the rows that all score decide the order, and are a column of their own."""
    markdown = run("report", noisy, *CALL[2:], *LABEL, *VECTOR, *NOISE)
    heading = "## Clusterings, the best first by adjusted rand score of the rows that all score\n"
    assert heading in markdown
    frame, points = pl.read_parquet(noisy), WIDE.split(",")
    wanted = ce.compare_clusterings(frame, RUNS, "species", points, noise=-1, noise_as="drop")
    for row, other in zip(overview_of(markdown), wanted.rows(named=True), strict=True):
        assert row["clustering"] == other["clustering"]
        assert row["n"] == str(other["n"])
        for name in ("adjusted_rand_score", "adjusted_rand_score_common", "davies_bouldin_score"):
            assert float(row[name.replace("_", " ")]) == pytest.approx(other[name], rel=5e-4)
        share = {"kmeans": "0.6667"}.get(row["clustering"], "1")
        assert row["coverage"] == share
    remarks = wanted.drop_nulls("remark").select("clustering", "remark").rows()
    assert any("by its own 100 rows" in remark for _, remark in remarks)
    said = "\n".join(remarks_of(markdown))
    for name, remark in remarks:
        assert re.search(rf"^.*\b{name}\b.*: {remark}\.$", said, re.MULTILINE), remark
    assert OF_ROWS.format(100) in said


@pytest.mark.gate
def test_equal_remarks_are_one_sentence(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "copies.parquet"
    FRAME.with_columns(twin="agglomerative", other="agglomerative").write_parquet(path)
    markdown = run("report", path, "--clusters", "agglomerative,twin,other", *LABEL, *QUICK)
    said = "twin, other: not told apart from the best: the interval of the difference holds 0."
    assert remarks_of(markdown)[1:] == [said]


@pytest.mark.parametrize(
    ("uppers", "verdicts"),
    [
        ([None, -0.1, -0.2], ["best", "worse", "worse"]),
        ([None, 0.0, -0.2], [None, "not told apart", "worse"]),
        ([None, -0.1, 0.1], [None, "worse", "not told apart"]),
        ([None, -0.1, None], [None, "worse", None]),
    ],
)
def test_verdicts(uppers: list[float | None], verdicts: list[str | None]) -> None:
    """Only a clustering that is better than all others is called the best."""
    n = len(uppers)
    rows = pl.DataFrame(
        {
            "clustering": ["a", "b", "c"],
            **{name: [9] * n for name in ("n", "n_common", "n_clusters")},
            "coverage": [1.0] * n,
            **dict.fromkeys(("adjusted_rand_score", "adjusted_rand_score_common"), [0.5] * n),
            **{f"adjusted_rand_score_{x}": [0.0] * n for x in ("difference", "lower")},
            "adjusted_rand_score_upper": pl.Series(uppers, dtype=pl.Float64),
        }
    )
    assert _show_comparison(rows, [])["verdict"].to_list() == verdicts
    assert "verdict" not in _show_comparison(rows.head(1), []).columns


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"difference": -0.25, "lower": -0.5, "upper": 0.00001}, "-0.2500 (-0.5000 to 0.0000)"),
        ({"difference": 0.0, "lower": None, "upper": None}, "0"),
        ({"difference": None, "lower": None, "upper": None}, "–"),
    ],
)
def test_differences_are_shown_with_their_limits(value: dict[str, float | None], text: str) -> None:
    assert show_number(value) == text


@pytest.mark.gate
def test_a_clustering_that_is_really_the_best_is_marked(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "marked.parquet"
    FRAME.with_columns(found=pl.col("species").rank("dense").cast(pl.Int32)).write_parquet(path)
    clusters = ("--clusters", "kmeans2,found")
    rows = overview_of(run("report", path, *clusters, *LABEL, *QUICK))
    assert [(row["clustering"], row["verdict"]) for row in rows] == [
        ("found", "best"),
        ("kmeans2", "worse"),
    ]


@pytest.mark.gate
def test_points_without_labels(run: Run) -> None:
    markdown = run(*CALL, *VECTOR)
    assert "## Clusterings, the best first by simplified silhouette\n" in markdown
    rows = overview_of(markdown)
    assert list(rows[0]) == [
        *("clustering", "verdict", "n", "coverage", "clusters", "simplified silhouette"),
        *("simplified silhouette difference", "davies bouldin score", "calinski harabasz score"),
    ]
    assert [(row["clustering"], row["verdict"]) for row in rows] == [
        *(("kmeans2", "best"), ("agglomerative", "worse")),
        *(("kmeans", "worse"), ("single_linkage", "worse")),
    ]
    assert rows[1]["simplified silhouette difference"].startswith("-0.1022 (-0.14")
    assert remarks_of(markdown) == [OF_ROWS.format(150)]
    markdown = run(*CALL, *VECTOR, "--distance", "cosine")
    assert "verdict" not in overview_of(markdown)[0]
    assert remarks_of(markdown) == [UNJUDGED]


@pytest.mark.gate
def test_a_section_is_the_page_of_its_clustering(run: Run) -> None:
    whole = run(*CALL, *LABEL, *VECTOR)
    alone = run("report", IRIS, *LABEL, *VECTOR, "--cluster", "kmeans", *QUICK)
    found = whole.split("\n## kmeans\n")[1].split("\n## single_linkage\n")[0]
    section = alone.split("\n", 1)[1].split("\n## SQL\n")[0]
    assert found.replace("\n### ", "\n## ") == section


@pytest.mark.gate
def test_the_page_as_html(run: Run, noisy: Path, tmp_path: Path) -> None:
    path, page = tmp_path / "rows.parquet", tmp_path / "page.html"
    name = "<i>&"
    pl.read_parquet(noisy).rename({"kmeans": name}).write_parquet(path)
    clusters = ("--clusters", f"{name},agglomerative,kmeans2")
    run("report", path, *clusters, *LABEL, *NOISE, "--html", page, *QUICK)
    html = page.read_text(encoding="utf-8")
    assert "<i>" not in html
    links, places = (
        set(re.findall(pattern, html)) for pattern in (r'href="#(.*?)"', r' id="(.*?)"')
    )
    assert {f"part-{i}" for i in range(3)} <= links <= places
    table = html.split("<table class='sortable overview'>")[1].split("</table>")[0]
    wanted = ce.compare_clusterings(
        pl.read_parquet(path), [name, "agglomerative", "kmeans2"], "species", noise=-1,
        noise_as="drop",
    )  # fmt: skip
    first = [unescape(x) for x in re.findall(r"<td><a [^>]*>(.*?)</a></td>", table)]
    assert first == wanted["clustering"].to_list()
    for difference in wanted["adjusted_rand_score_difference"]:
        found = re.findall(r'data-value="(\S+?)">-?0[^<]* ?(?:\(|<)', table)
        assert any(float(x) == pytest.approx(difference) for x in found)
    assert "<td>worse</td>" in table
    assert "<th><button>verdict</button></th>" in table
    said = html.split("</table></div>")[1].split("</ul>")[0]
    assert "that all score.</li>" in said


@pytest.mark.gate
def test_the_sql_gives_the_overview(run: Run, noisy: Path) -> None:
    markdown = run("report", noisy, *CALL[2:], *LABEL, *NOISE)
    (text,) = re.findall(r"````sql\n(.*?)\n````", markdown, re.DOTALL)
    with engines.make("duckdb").connection.cursor() as connection:
        *_, rows = (connection.sql(x.query) for x in duckdb.extract_statements(text))
        names = [row[1] for row in rows.fetchall()]
    assert names == [row["clustering"] for row in overview_of(markdown)]


@pytest.mark.gate
def test_most_clusterings_have_no_section(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "MOST_PARTS", 2)
    markdown = run(*CALL, *LABEL)
    assert "- ⚠ The 2 best of 4 clusterings have a section below." in markdown
    assert re.findall(r"^## (\w+)$", markdown, re.MULTILINE) == ["agglomerative", "kmeans", "SQL"]
    assert len(overview_of(markdown)) == 4


@pytest.mark.gate
def test_warnings(run: Run, noted: Noted, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    FRAME.with_columns(kmeans2=pl.col("kmeans2") - 1).write_parquet(path)
    unnamed = "cluster -1 is counted as a cluster; if it is noise, give"
    assert unnamed in run("report", path, *CALL[2:], *LABEL).split("\n## ")[0]
    whole, notes = noted(*CALL, *LABEL, "--noise", "77", "--noise-as", "drop")
    assert "no row has cluster 77; the clusters are 0, 1, 2" in whole.split("\n## ")[0]
    assert "no row has cluster 77" in notes
    assert "⚠" not in run(*CALL, *LABEL).split("\n## ")[0]
    FRAME.with_columns(species=pl.lit(None, pl.String)).write_parquet(path)
    empty = run("report", path, *CALL[2:], *LABEL)
    assert "- ⚠ No row is left: no score is defined." in empty.split("\n## ")[0]
    FRAME.clear().write_parquet(path)
    assert "- ⚠ No row is left: no score is defined." in run("report", path, *CALL[2:], *LABEL)


@pytest.mark.gate
def test_the_silhouettes_of_all_clusterings_decide_whether_they_are_sampled(
    run: Run, noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is a little above and below the time of both clusterings together."""
    seconds = 0.0
    for name in ("kmeans", "kmeans2"):
        with count_pairs() as counts:
            FRAME.clustereval.silhouette_score(WIDE.split(","), name)
        share = sum(counts) / 150**2
        seconds += estimate_seconds(SILHOUETTES[0], "polars", 4 * 150**2, n_dims=4, share=share)
    monkeypatch.setattr(silhouettes, "SAMPLE_SIZE", 20)
    call = ("report", IRIS, "--clusters", "kmeans,kmeans2", *VECTOR, *QUICK)
    monkeypatch.setattr(estimates, "LONG", 1.01 * seconds)
    assert run(*call).count("silhouettes **exact, 150 points**") == 2
    monkeypatch.setattr(estimates, "LONG", 0.99 * seconds)
    sampled, notes = noted(*call)
    assert sampled.count("silhouettes **sample of 20 points, ") == 2
    assert "of a sample of 20 of 150 points (seed 0), compared" in notes
    _, warning = noted(*call, "--method", "exact")
    assert "150 rows: this will take about" in warning
    monkeypatch.setattr(estimates, "LONG", 1.01 * seconds)
    assert noted(*call, "--method", "exact")[1] == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--cluster", "kmeans"), "--cluster cannot be combined with --clusters: choose one"),
        (
            ("--partition-by", "species"),
            "--partition-by cannot be combined with --clusters: choose",
        ),
        (("--distance", "minkowski", "--p", "3"), "--p cannot be combined with --clusters: choose"),
        (("--weights", "1,2,1,1"), "--weights cannot be combined with --clusters: choose one"),
        (("--weight", "id"), "is only for labels; leave out --vector"),
        (("--clusters", "kmeans,kmenas2"), "clusters: column 'kmenas2' not found; did you mean"),
        (("--clusters", "kmeans,kmeans"), "clusters: 'kmeans' is given twice"),
    ],
)
def test_mistakes(fail: Fail, options: tuple[str, ...], words: str) -> None:
    assert words in fail(*CALL, *LABEL, *VECTOR, *options)


def test_neither_one_clustering_nor_several(fail: Fail) -> None:
    words = "report: expected --cluster, the assigned clusters, or --clusters, the columns of"
    assert words in fail("report", IRIS, *LABEL)
    assert "report: expected --label, the true classes, or --vector" in fail(*CALL)
