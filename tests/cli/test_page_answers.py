"""What the page of `clustereval report` says in sentences, and the commands of findings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.page import partitions
from polars_clustereval.page.answers import Answer, describe_clusters, list_answers, list_steps
from polars_clustereval.page.numbers import show_number
from tests.support.command_line import IRIS, KMEANS, QUICK, WIDE, Fail, Run, json_rows, write_input

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.gate

CARS = IRIS.replace("iris", "cars")
MARKS = {"🔴": "problem", "🟠": "warning", "🔵": "note"}


def items_below(markdown: str, title: str) -> list[str]:
    """The items of a list below its title; none without the title."""
    if f"## {title}\n" not in markdown:
        return []
    text = markdown.split(f"## {title}\n\n")[1].split("\n\n")[0]
    return [line.removeprefix("- ").replace("`", "") for line in text.splitlines()]


@pytest.fixture
def write_points(tmp_path: Path) -> Callable[[pl.DataFrame], Path]:
    def write(frame: pl.DataFrame) -> Path:
        frame.write_parquet(tmp_path / "points.parquet")
        return tmp_path / "points.parquet"

    return write


def grid(n: int = 100) -> pl.DataFrame:
    """Three clusters apart, with a label each."""
    return pl.DataFrame(
        {
            "x": [i % 7 / 7 + 20 * (i % 3 == 1) for i in range(3 * n)],
            "y": [i % 5 / 5 + 20 * (i % 3 == 2) for i in range(3 * n)],
            "label": [i % 3 for i in range(3 * n)],
            "cluster": [i % 3 for i in range(3 * n)],
        }
    )


def page(run: Run, path: object, *options: str) -> str:
    columns = ("--label", "label", "--vector", "x,y", "--cluster", "cluster")
    return run("report", path, *columns, *QUICK, *options)


# ----------------------------------------------------------------------------------------------
# The page
# ----------------------------------------------------------------------------------------------


def test_a_good_clustering(run: Run, write_points: Callable[..., Path]) -> None:
    markdown = page(run, write_points(grid()))
    silhouette = ce.silhouette_score(grid(), ["x", "y"], "cluster")["silhouette"].item()
    judged = "strong structure (Kaufman and Rousseeuw 1990), mean silhouette"
    assert items_below(markdown, "Findings") == [
        (
            "🔵 Agreement of the clusters with the labels: excellent (Steinley 2004), adjusted "
            "Rand index (ARI) 1, 95 % interval 1 to 1"
        ),
        f"🔵 Structure of the clusters: {judged} {show_number(silhouette)}",
        "🔵 Clusters and labels agree one to one: check that neither column is made from the other",
    ]
    assert items_below(markdown, "What to try next") == []
    described = items_below(markdown, "What distinguishes each cluster")
    assert [text.split(":")[0] for text in described] == [f"**Cluster {i}**" for i in (0, 1, 2)]
    assert described[1].startswith("**Cluster 1**: x high (20.43, elsewhere 0.4271; v 17.3)")


@pytest.mark.parametrize("options", [(), ("--method", "simplified", "--partition-by", "part")])
def test_placeholders_and_zero_vectors_once(
    run: Run, write_points: Callable[..., Path], options: tuple[str, ...]
) -> None:
    """They are findings, in the words of the tables, and no warnings above them."""
    is_odd = pl.int_range(pl.len()) % 2 == 1
    frame = grid().with_columns(
        pl.col("x", "y") + 1,
        label=pl.when(is_odd).then(pl.lit("n/a")).otherwise(pl.format("l{}", "label")),
        part=pl.lit("all"),
    )
    frame = frame.with_columns(
        pl.when(pl.int_range(pl.len()) > 3).then(pl.col("x", "y")).otherwise(0.0)
    )
    path = write_points(frame)
    markdown = page(run, path, "--distance", "cosine", *options).replace("`", "")
    words = "The label 'n/a' of 150 of 300 rows counts as one label; if it stands for"
    zero = "4 vectors are zero: their cosine distance to every other one is 1; if zeros stand"
    for mark, text in (("🔴", words), ("🔵", zero)):
        assert f"\n- {mark} {text}" in markdown
        assert markdown.count(text[4:30]) == 1
    markdown = page(run, path, *options)
    assert "vectors are zero" not in markdown


@pytest.mark.parametrize("options", [(), ("--distance", "cosine"), ("--partition-by", "part")])
def test_rows_of_distances_once(run: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    x = np.random.default_rng(0).normal(size=20)
    matrix = abs(x[:, None] - x)
    frame = pl.DataFrame({"vector": matrix.tolist(), "cluster": [0, 1] * 10, "part": 1})
    path = write_input(frame, tmp_path / "rows.parquet")
    call = ("report", path, "--vector", "vector", "--cluster", "cluster", *options)
    markdown = run(*call).replace("`", "").replace("\\", "")
    words = "🔴 The vectors of 20 points have 20 coordinates and look like the rows of a matrix of"
    assert markdown.count(words) == 1
    assert markdown.count("are hardly set apart") == markdown.count("nearer to another") == 0


#: A fault of a clustering, and what the page says of it, in words that no clean page has.
FAULTS: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "two clusters merged": (
        lambda frame: frame.with_columns(pl.col("cluster").replace(2, 1)),
        (
            "🔴 Cluster 1: 50 % of the cluster's 200 rows (at least 80 % of each of 2 labels) have "
            "its most frequent label: 1"
        ),
    ),
    "a cluster split": (
        lambda frame: frame.with_columns(
            cluster=pl.when((pl.col("cluster") == 0) & (pl.col("x") > 0.4))
            .then(9)
            .otherwise("cluster")
        ),
        (
            "🟠 Label 0: 57 % of the label's 100 rows (at least 80 % of each of 2 clusters) are in "
            "the cluster that has the most: 9"
        ),
    ),
    "a column that is not scaled": (
        lambda frame: frame.with_columns(pl.col("x") * 1000),
        "🟠 Coordinate 1 of 2 (x) holds over 99 % of the variance within clusters, so distances",
    ),
    "one point far away": (
        lambda frame: frame.with_columns(
            x=pl.when(pl.int_range(pl.len()) == 0).then(-90.0).otherwise("x")
        ),
        "🟠 Cluster 0: its farthest point is",
    ),
    "a cluster of two points": (
        lambda frame: frame.with_columns(
            cluster=pl.when(pl.int_range(pl.len()).is_in([0, 3])).then(9).otherwise("cluster")
        ),
        "🔵 Cluster 9: it has 2 points, where the average cluster has 75",
    ),
    "random clusters": (
        lambda frame: frame.with_columns(cluster=pl.int_range(pl.len()) // 7 % 3),
        "🔴 Cluster 0: 42 % of the cluster's 104 rows have its most frequent label: 0",
    ),
    "points of two clusters exchanged": (
        lambda frame: frame.with_columns(
            cluster=pl.when(pl.int_range(pl.len()) % 10 < 5)
            .then(1 - pl.col("cluster") % 2)
            .otherwise("cluster")
        ),
        "🔴 Cluster 1: the mean silhouette of its 150 points is -0.53: they are nearer",
    ),
    "rows without a cluster": (
        lambda frame: frame.with_columns(
            cluster=pl.when(pl.int_range(pl.len()) > 30).then("cluster")
        ),
        "⚠ 31 rows (10 %) have no label or no cluster, and are left out.",
    ),
    "one cluster": (
        lambda frame: frame.with_columns(cluster=1),
        "⚠ There is one cluster, so nothing is told apart.",
    ),
    "noise as a cluster": (
        lambda frame: frame.with_columns(
            cluster=pl.when(pl.int_range(pl.len()) % 4 == 0).then(-1).otherwise("cluster")
        ),
        "⚠ Cluster -1 is counted as a cluster; if it is noise, give",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen_on_the_page(
    run: Run, write_points: Callable[..., Path], fault: str
) -> None:
    change, words = FAULTS[fault]
    clean = page(run, write_points(grid())).replace("`", "").replace("\\", "")
    faulty = page(run, write_points(change(grid()))).replace("`", "").replace("\\", "")
    assert words in faulty
    assert words not in clean


def test_steps(run: Run, write_points: Callable[..., Path]) -> None:
    merged, _ = FAULTS["two clusters merged"]
    steps = items_below(page(run, write_points(merged(grid()))), "What to try next")
    assert steps == ["In cluster 1, look at the rows whose label is not 1."]


@pytest.mark.parametrize("labels", ["one", "two"])
def test_a_merge_is_a_step_unless_labels_contradict_it(
    run: Run, write_points: Callable[..., Path], labels: str
) -> None:
    """Cluster 0 in two parts that lie in each other; the labels know of one, or of two."""
    part = pl.when((pl.col("cluster") == 0) & (pl.int_range(pl.len()) % 2 == 0))
    frame = grid().with_columns(cluster=part.then(9).otherwise("cluster"))
    if labels == "two":
        frame = frame.with_columns(label="cluster")
    markdown = page(run, write_points(frame))
    merges = [x for x in items_below(markdown, "Findings") if x.startswith("🟠 Clusters 0 and 9")]
    steps = [x for x in items_below(markdown, "What to try next") if "fewer" in x]
    assert len(merges) == 1
    assert len(steps) == (labels == "one")
    points = ("--vector", "x,y", "--cluster", "cluster")
    assert "fewer" not in run("report", write_points(frame), *points, *QUICK)


def test_a_giant_cluster_stands_beside_the_agreement(
    run: Run, write_points: Callable[..., Path]
) -> None:
    """Ten labels in each of five other clusters, and an excellent adjusted Rand index."""
    small = pl.DataFrame(
        {"x": [9.0 + i % 5 for i in range(50)], "y": [float(i) for i in range(50)]}
    ).with_columns(label=1 + pl.int_range(50), cluster=1 + pl.int_range(50) // 10)
    big = pl.DataFrame({"x": [i / 1000 for i in range(950)], "y": [0.0] * 950})
    frame = pl.concat([big.with_columns(label=0, cluster=0), small], how="vertical_relaxed")
    path = write_points(frame)
    options = ("--label", "label", "--cluster", "cluster", *QUICK)
    first, *_ = items_below(run("report", path, *options), "Findings")
    assert first.startswith("🔵 Agreement of the clusters with the labels: excellent")
    assert first.endswith("; most pairs are in cluster 0, which has 95 % of the rows")
    assert "most pairs" not in run("report", write_points(grid()), *options)
    steps = items_below(run("report", path, *options), "What to try next")
    assert not any("more clusters" in step for step in steps)


def test_findings_of_labels_alone_and_of_points_alone(run: Run) -> None:
    labels = items_below(run("report", IRIS, *KMEANS, *QUICK), "Findings")
    assert labels[1:] == [
        "🟠 Cluster 0: 77 % of the cluster's 62 rows have its most frequent label: versicolor",
        "🟠 Label virginica: 72 % of the label's 50 rows are in the cluster that has the most: 2",
    ]
    points = items_below(
        run("report", IRIS, "--vector", WIDE, "--cluster", "kmeans", *QUICK), "Findings"
    )
    assert [text.split(":")[0] for text in points] == ["🔵 Structure of the clusters"]


def test_singletons_of_noise_have_a_profile_of_the_others(run: Run) -> None:
    options = ("--noise", "2", "--noise-as", "singletons")
    markdown = run("report", IRIS, "--vector", WIDE, "--cluster", "kmeans", *QUICK, *options)
    described = items_below(markdown, "What distinguishes each cluster")
    assert [text.split(":")[0] for text in described] == ["**Cluster 0**", "**Cluster 1**"]


def test_first_scores_of_many_small_entities(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "entities.parquet"
    pl.DataFrame(
        {"label": [i // 2 for i in range(60)], "cluster": [i // 3 for i in range(60)]}
    ).write_parquet(path)
    markdown = run("report", path, "--label", "label", "--cluster", "cluster", *QUICK)
    assert re.findall(r"^\| `(\w+)` \|", markdown, re.MULTILINE) == [
        *("pair_precision", "pair_recall", "bcubed_f_score", "exact_match_f_score")
    ]


def test_title_and_rows(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    frame = grid(4).with_columns(label=pl.when(pl.int_range(pl.len()) > 1).then("label"))
    frame.write_parquet(path)
    markdown = page(run, path, "--title", "Night <1> & 2")
    assert markdown.startswith("# Night `<1>` `&` 2\n")
    assert "rows with a label **10**, points **12**" in markdown


def test_tables_of_clusters_have_one_base_each(run: Run, write_points: Callable[..., Path]) -> None:
    """Only 30 of 100 points of each cluster have a label, and none of those of cluster 2."""
    labels = pl.when((pl.int_range(pl.len()) < 90) & (pl.col("cluster") < 2)).then("label")
    markdown = page(run, write_points(grid().with_columns(label=labels)))
    tables = dict(re.findall(r"^## (Clusters.*)\n\n((?:\|.*\n)+)", markdown, re.MULTILINE))
    rows = {
        title: [[x.strip() for x in line.split("|")[1:-1]] for line in text.splitlines()]
        for title, text in tables.items()
    }
    assert list(rows) == ["Clusters: rows with a label", "Clusters: points"]
    labeled, points = rows.values()
    assert labeled[0] == ["cluster", "n", "share", "n labels", "majority label", "purity"]
    assert [line[:3] for line in labeled[2:]] == [["0", "30", "0.5"], ["1", "30", "0.5"]]
    assert [line[:3] for line in points[2:]] == [[x, "100", "0.3333"] for x in "012"]
    assert "purity" not in points[0]
    assert "silhouette" in points[0]
    assert page(run, write_points(grid())).count("## Clusters\n") == 1


def test_many_clusters_are_summed_up(run: Run, tmp_path: Path) -> None:
    n = 3000
    rows = pl.DataFrame(
        {"label": [i % 1000 for i in range(n)], "cluster": [i // 3 for i in range(n)]}
    )
    rows.write_parquet(tmp_path / "many.parquet")
    columns = ("--label", "label", "--cluster", "cluster")
    found = items_below(run("report", tmp_path / "many.parquet", *columns, *QUICK), "Findings")
    assert len(found) == 2
    assert found[0] == (
        "🔴 1,000 clusters are mixed, where less than 80 % of the rows have one label: 0 (33 % 0), "
        "1 (33 % 3), 2 (33 % 6), 3 (33 % 9), 4 (33 % 12), …"
    )


# ----------------------------------------------------------------------------------------------
# Words
# ----------------------------------------------------------------------------------------------


def finding(code: str, **columns: Any) -> dict[str, Any]:
    row = {"severity": "warning", "code": code, "cluster": 1, "label": "a", "other_cluster": 2}
    return row | {"coordinate": None, "n": 9, "value": 0.5, "finding": "words"} | columns


def test_the_worst_answers_come_first() -> None:
    rows = pl.DataFrame([finding("split_label"), finding("mixed_cluster", severity="problem")])
    assert list_answers([rows]) == [
        Answer("problem", "Cluster 1: words: a", "clusters"),
        Answer("warning", "Label a: words: 1", "clusters"),
    ]
    assert list_answers([pl.DataFrame([finding("giant_cluster")])]) == [], "a warning has it"


def test_every_step_names_what_it_is_about() -> None:
    codes = ["close_clusters", "mixed_cluster", "split_label", "tiny_cluster", "far_point"]
    clusters = pl.DataFrame({"cluster": [1, 2], "purity": [1.0, 0.8], "majority_label": ["a"] * 2})
    steps = list_steps([pl.DataFrame([finding(code) for code in codes])], clusters)
    assert len(steps) == len(codes)
    assert all("1" in step for step in steps)


def test_a_step_is_about_the_first_finding_of_its_kind() -> None:
    rows = pl.DataFrame([finding("mixed_cluster", cluster=i) for i in (7, 8)])
    assert list_steps([rows], pl.DataFrame()) == [
        "In cluster 7, look at the rows whose label is not a."
    ]


def test_kinds_of_columns_in_words() -> None:
    """A v-test below 2 says nothing."""
    rows = {
        "cluster": [0] * 4 + [1],
        "column_name": ["d", "c", "c", "m", "x"],
        "kind": ["date", "category", "category", "missing", "number"],
        "category": [None, "u", "v", None, None],
        "mean": [1.0, 0.75, 0.25, 0.1, 5.0],
        "rest_mean": [366.0, 0.5, 0.5, 0.0, 7.0],
        "v_test": [-9.0, 5.0, -5.0, 4.0, -1.0],
    }
    words = describe_clusters(pl.DataFrame(rows), show_number)
    assert words == {
        "0": (
            "d early (1970-01-02, elsewhere 1971-01-02; v -9.0), c u in 75 % (elsewhere 50 %; "
            "v 5.0), m missing in 10 % (elsewhere 0 %; v 4.0)"
        )
    }


# ----------------------------------------------------------------------------------------------
# Commands
# ----------------------------------------------------------------------------------------------


def test_findings_on_the_terminal(run: Run, engine_name: str) -> None:
    text = run("findings", IRIS, *KMEANS, "--engine", engine_name)
    mixed = "Cluster 0: 77 % of the cluster's 62 rows have its most frequent label: versicolor"
    split = "Label virginica: 72 % of the label's 50 rows are in the cluster that has the most: 2"
    assert text.split("\n\n")[1].splitlines() == [f"warning  {mixed}", f"warning  {split}"]
    clean = ("--vector", "petal_length", "--cluster", "kmeans", "--engine", engine_name)
    assert "nothing was found" in run("findings", IRIS, *clean)


def test_findings_on_labels_and_points_in_one_table(run: Run, engine_name: str) -> None:
    given = (IRIS, "--cluster", "species", "--engine", engine_name)
    label, vector = ("--label", "kmeans"), ("--vector", "sepal_length,sepal_width")
    distance = ("--distance", "cityblock")
    of_labels = json_rows(run, "findings", *given, *label)
    of_points = json_rows(run, "findings", *given, *vector, *distance)
    both = json_rows(run, "findings", *given, *label, *vector, *distance)
    assert of_labels
    assert of_points
    assert len(both) == len(of_labels) + len(of_points)
    severities = [row["severity"] for row in both]
    assert severities == sorted(severities, key=["problem", "warning", "note"].index)
    for severity in set(severities):
        own = [row["finding"] for row in both if row["severity"] == severity]
        parts = [row["finding"] for row in of_labels + of_points if row["severity"] == severity]
        assert own == parts
    heading = run("findings", *given, *label, *vector).splitlines()[0]
    assert heading.endswith("label kmeans, cluster species, distance euclidean")


def test_a_finding_on_rows_is_not_repeated(run: Run, fail: Fail, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("g,l,k,x\n" + "".join(f"{i % 2},a,{i},{i}\n" for i in range(8)))
    both = ("--label", "l", "--cluster", "k", "--vector", "x")
    found = json_rows(run, "findings", path, *both, "--partition-by", "g")
    assert len(found) == len({(x["g"], x["code"], x["cluster"], x["finding"]) for x in found})
    assert [x["g"] for x in found] == sorted(x["g"] for x in found)
    words = "--weight cannot be combined with --vector x: drop one"
    assert words in fail("findings", path, *both, "--weight", "x")


@pytest.fixture
def giant(tmp_path: Path) -> Path:
    """A file of 21 clusters of 2 rows, but 60 in g, with labels that agree and points."""
    path = tmp_path / "giant.csv"
    clusters = [*["g"] * 60, *(f"c{i}" for i in range(20) for _ in range(2))]
    lines = "".join(f"{x},{x},{i % 7}\n" for i, x in enumerate(clusters))
    path.write_text(f"cluster,label,x\n{lines}")
    return path


GIANT = (
    "it has 60 rows (60 %), where 20 clusters have at most 2: check that its rows belong together"
)


def test_findings_of_clusters_alone(run: Run, giant: Path, engine_name: str) -> None:
    given = ("--cluster", "cluster", "--engine", engine_name)
    text = run("findings", giant, *given)
    assert text == f"{giant}: cluster cluster\n\nwarning  Cluster g: {GIANT}\n"
    [row] = json_rows(run, "findings", giant, *given)
    assert (row["code"], row["cluster"], row["value"]) == ("outlying_cluster", "g", 30.0)
    weighted = run("findings", giant, *given, "--weight", "x", "--partition-by", "label")
    assert "nothing is told apart" in weighted
    assert "nothing was found" in run("findings", IRIS, "--cluster", "kmeans")


@pytest.mark.parametrize("option", [("--distance", "cosine"), ("--p", "3"), ("--id", "id")])
def test_options_of_points_need_points(fail: Fail, option: tuple[str, str]) -> None:
    words = f"findings: {option[0]} needs --vector, the points"
    assert words in fail("findings", IRIS, "--cluster", "kmeans", *option)


@pytest.mark.parametrize("columns", [("--label", "label"), ("--vector", "x")])
def test_a_page_names_an_outlying_cluster(run: Run, giant: Path, columns: tuple[str, str]) -> None:
    page = run("report", giant, "--cluster", "cluster", *columns)
    assert f"Cluster g: {GIANT}" in page
    assert "Look at the rows of cluster g: a value that many of them share" in page
    assert "cluster_size_findings(clustereval_input, " in page


def test_the_profile_of_a_csv_file_has_numbers_and_dates(
    run: Run, tmp_path: Path, engine_name: str
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(
        "x,d,c,k\n1.5,2020-01-01,01,a\n2.5,2020-01-03,1,a\n,2020-02-01,x,b\n7,2020-03-01,x,b\n"
    )
    call = ("profile", path, "--columns", "x,d,c", "--cluster", "k", "--engine", engine_name)
    rows = [line.split(",") for line in run(*call, "--format", "csv").splitlines()]
    kinds = {(name, kind) for _, name, kind, *_ in rows[1:]}
    assert kinds == {("x", "number"), ("x", "missing"), ("d", "date"), ("c", "category")}
    assert {row[3] for row in rows[1:]} == {"", "01", "1", "x"}


def test_the_terminal_shows_three_columns_of_each_cluster(run: Run) -> None:
    call = (
        "profile",
        CARS,
        "--columns",
        "horsepower,weight,acceleration,origin",
        "--cluster",
        "cluster",
    )
    lines = run(*call, *QUICK).split("\n\n")[1].splitlines()[2:]
    assert [line.split()[0] for line in lines] == [*"000111222"]
    association = run(*call, *QUICK, "--show", "association")
    assert "cramers" in association
    assert "square root of eta_squared, or cramers_v" in association


# ----------------------------------------------------------------------------------------------
# Partitions
# ----------------------------------------------------------------------------------------------


def regions() -> pl.DataFrame:
    """Four clusterings: in the regions NULL and south clusters are merged, or random."""
    merged, _ = FAULTS["two clusters merged"]
    mixed, _ = FAULTS["random clusters"]
    frames = {"north": grid(), None: merged(grid()), "south": mixed(grid()), "east": grid(20)}
    typed = pl.Schema({"x": pl.Float64, "y": pl.Float64, "label": pl.Int64, "cluster": pl.Int64})
    return pl.concat(
        frame.cast(dict(typed)).with_columns(region=pl.lit(name, pl.String))
        for name, frame in frames.items()
    )


PARTITIONS = ("--partition-by", "region")


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "duckdb"])
def test_a_section_for_each_partition_the_worst_first(run: Run, tmp_path: Path, kind: str) -> None:
    given = write_input(regions(), tmp_path / f"rows.{kind}")
    markdown = page(run, given, *PARTITIONS)
    titles = re.findall(r"^## (.*)$", markdown, re.MULTILINE)
    worst_first = ["region south", "region NULL", "region east", "region north"]
    assert titles == ["Partitions, the worst first by adjusted rand score", *worst_first, "SQL"]
    rows = re.findall(r"^\| (region \w+) \| (\d+) \| (\d) \| ([\d.]+) \|", markdown, re.MULTILINE)
    assert [row[:3] for row in rows] == [
        ("region south", "300", "3"),
        ("region NULL", "300", "2"),
        ("region east", "60", "3"),
        ("region north", "300", "3"),
    ]
    scores = ce.external_report(regions(), "label", "cluster", partition_by="region")
    wanted = dict(scores.select("region", "adjusted_rand_score").rows())
    for name, _, _, score in rows:
        region = name.removeprefix("region ")
        assert float(score) == pytest.approx(wanted[None if region == "NULL" else region], abs=1e-4)
    merged = markdown.split("## region NULL")[1].split("## region east")[0]
    words = "(at least 80 % of each of 2 labels) have its most frequent label"
    assert f"50 % of the cluster's 200 rows {words}" in merged
    assert "partition_by := " in markdown.split("## SQL")[1]


def test_a_section_is_the_page_of_its_rows(run: Run, write_points: Callable[..., Path]) -> None:
    whole = page(run, write_points(regions()), *PARTITIONS)
    alone = page(run, write_points(regions().filter(pl.col("region") == "south")))
    found = whole.split("## region south")[1].split("## region NULL")[0]
    assert items_below(alone, "Findings") == items_below(found.replace("### ", "## "), "Findings")


def test_partitions_as_html(run: Run, write_points: Callable[..., Path], tmp_path: Path) -> None:
    path = write_points(regions().with_columns(region=pl.col("region") + "<b>"))
    page(run, path, *PARTITIONS, "--html", str(tmp_path / "page.html"))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    links, places = (
        set(re.findall(pattern, html)) for pattern in (r'href="#(.*?)"', r' id="(.*?)"')
    )
    assert {f"part-{i}" for i in range(4)} <= links <= places
    assert '<h2 id="part-0">region south&lt;b&gt;</h2>' in html
    assert "<b></h2>" not in html


def test_points_alone_and_several_keys(run: Run, write_points: Callable[..., Path]) -> None:
    path = write_points(regions().with_columns(night=pl.lit(1)))
    columns = ("--vector", "x,y", "--cluster", "cluster", "--partition-by", "night,region")
    markdown = run("report", path, *columns, *QUICK)
    assert "| night 1, region south |" in markdown
    assert "adjusted rand" not in markdown


def test_most_partitions_have_no_section(
    run: Run, write_points: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "MOST_PARTS", 2)
    markdown = page(run, write_points(regions()), *PARTITIONS)
    assert "- ⚠ The 2 worst of 4 partitions have a section below." in markdown
    assert "| region north |" in markdown
    assert "## region north" not in markdown


def test_a_partition_column_that_is_not_there(
    fail: Fail, write_points: Callable[..., Path]
) -> None:
    columns = ("--label", "label", "--cluster", "cluster", "--partition-by", "regio")
    words = "partition_by: column 'regio' not found; did you mean 'region'?"
    assert words in fail("report", write_points(regions()), *columns)


def test_silhouettes_of_shapes_that_are_not_round_have_no_reading(
    run: Run, write_points: Callable[[pl.DataFrame], Path]
) -> None:
    """By ring, they would have no substantial structure. By half, they are 0.28."""
    angles = 2 * np.pi * np.arange(200) / 200
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    points = pl.DataFrame(np.vstack([ring, 4 * ring]), ["x", "y"])
    points = points.with_columns(part=pl.int_range(400) % 2, id=pl.int_range(400))
    codes = {}
    for of, cluster in (("ring", np.repeat([0, 1], 200)), ("half", points["x"] > points["y"] / 7)):
        path = write_points(points.with_columns(cluster=pl.Series(cluster)))
        for more in ([], ["--engine", "polars"], ["--partition-by", "part"], ["--id", "id"]):
            options = ("--vector", "x,y", "--cluster", "cluster", *more)
            text = run("report", path, *options)
            assert "Kaufman" not in text
            codes[of] = ("divide one of the 2 connected" in text, "neighbors connect" in text)
            assert codes[of] == (of == "half", of == "ring")
        found = run("findings", path, "--vector", "x,y", "--cluster", "cluster")
        assert ("divide one of" in found) == (of == "half")
