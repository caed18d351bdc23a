"""The options --noise and --noise-as, and a value of noise that no row has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from polars_clustereval.cli.reports import REPORTS
from tests.support.command_line import ENGINE_NOTE, FRAME, TOLD_BY_COUNTS, VARIANT_CALLS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Fail, Noted

VARIANTS = [name for name, report in REPORTS.items() if "noise" in report.defaults]
LABELED = ("--label", "species", "--cluster", "cluster")


def notes_of(noted: Noted, *call: str | Path) -> list[str]:
    """The lines on standard error, but for those on the engine and on rows that are left out."""
    errors = TOLD_BY_COUNTS.sub("", noted(*call)[1])
    return [line for line in errors.splitlines() if f"{line}\n" != ENGINE_NOTE]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_cluster_that_no_row_has(noted: Noted, variant: str) -> None:
    command = REPORTS[variant].command
    call = [command, *VARIANT_CALLS[variant]]
    [note] = notes_of(noted, *call, "--noise=-99", "--noise-as=cluster")
    assert note.startswith("clustereval: ")
    assert ": no row has cluster -99; the clusters are " in note


def test_the_note_names_some_clusters(noted: Noted, parquet: Path, tmp_path: Path) -> None:
    noise = ("--noise=-99", "--noise-as=drop")
    [note] = notes_of(noted, "external", parquet, *LABELED, *noise)
    assert note == f"clustereval: {parquet}: no row has cluster -99; the clusters are -1, 0, 1"
    one, many = tmp_path / "one.csv", tmp_path / "many.csv"
    pl.DataFrame({"species": ["a", "b"], "cluster": [3, 3]}).write_csv(one)
    pl.DataFrame({"species": ["a"] * 9, "cluster": [*"ihgfedcba"]}).write_csv(many)
    [note] = notes_of(noted, "clusters", one, *LABELED, *noise)
    assert note.endswith("no row has cluster -99; the only cluster is 3")
    [note] = notes_of(noted, "external", many, *LABELED, *noise)
    assert note.endswith("no row has cluster -99; the clusters are a, b, c, d, e, ...")
    pl.DataFrame({"species": ["a"] * 5, "cluster": [*"edcba"]}).write_csv(many)
    [note] = notes_of(noted, "external", many, *LABELED, *noise)
    assert note.endswith("no row has cluster -99; the clusters are a, b, c, d, e")


def test_a_cluster_that_a_row_has(noted: Noted, parquet: Path, tmp_path: Path) -> None:
    """Also where it does not count, since it has no label."""
    for command in ("external", "clusters"):
        assert notes_of(noted, command, parquet, *LABELED, "--noise=-1", "--noise-as=drop") == []
    lost = tmp_path / "lost.parquet"
    FRAME.with_columns(species=pl.when(pl.col("cluster") != -1).then("species")).write_parquet(lost)
    assert notes_of(noted, "external", lost, *LABELED, "--noise=-1", "--noise-as=drop") == []


def test_a_cluster_of_one_of_two_runs(noted: Noted, tmp_path: Path) -> None:
    before, after = tmp_path / "before.parquet", tmp_path / "after.parquet"
    pl.DataFrame({"id": [1, 2], "cluster": [5, 6]}).write_parquet(before)
    pl.DataFrame({"id": [1, 2], "cluster": [5, -1]}).write_parquet(after)
    call = ("transitions", before, after, "--id=id", "--cluster=cluster", "--noise-as=drop")
    assert notes_of(noted, *call, "--noise=-1") == []
    [note] = notes_of(noted, *call, "--noise=-2")
    assert note.endswith("no row has cluster -2; the clusters are -1, 5, 6")


def test_no_rows_have_a_note_of_their_own(noted: Noted, tmp_path: Path) -> None:
    FRAME.clear().write_parquet(tmp_path / "empty.parquet")
    call = ("external", tmp_path / "empty.parquet", *LABELED, "--noise=-1", "--noise-as=drop")
    [note] = notes_of(noted, *call)
    assert note.endswith("no rows")


def test_the_page_says_so_too(noted: Noted, parquet: Path) -> None:
    page, errors = noted("report", parquet, *LABELED, "--noise=-99", "--noise-as=drop")
    words = "no row has cluster -99; the clusters are -1, 0, 1"
    assert f"{words}\n" in errors
    assert f"{words}." in page


def test_noise_without_a_choice(fail: Fail, parquet: Path) -> None:
    error = fail("report", parquet, *LABELED, "--noise=-1")
    assert (
        "noise_as: expected one of 'cluster', 'drop', 'singletons', got NULL; choose how" in error
    )


# ----------------------------------------------------------------------------------------------
# Noise that is not named
# ----------------------------------------------------------------------------------------------


COLUMNS_OF_COMMANDS = {
    "external": ("--label=label",),
    "internal": ("--vector=x",),
    "silhouette": ("--vector=x",),
    "findings": ("--vector=x",),
    "elbow": ("--vector=x", "--k=k"),
    "stability": ("--id=id", "--run=k"),
}


@pytest.mark.parametrize("command", COLUMNS_OF_COMMANDS)
def test_a_cluster_that_looks_like_noise(noted: Noted, tmp_path: Path, command: str) -> None:
    path = tmp_path / "points.parquet"
    rows = [(i, i // 2 + i % 2 / 5, k, i % 2, i // 2 - 1) for i in range(6) for k in (2, 3)]
    names = ["id", "x", "k", "label", "cluster"]
    pl.DataFrame(rows, schema=names, orient="row", strict=False).write_parquet(path)
    call = [command, path, *COLUMNS_OF_COMMANDS[command], "--cluster=cluster"]
    [note] = notes_of(noted, *call)
    words = "cluster -1 is counted as a cluster; if it is noise, give --noise -1 and --noise-as"
    assert note == f"clustereval: {path}: {words}"
    assert not notes_of(noted, *call, "--noise=-1", "--noise-as=cluster")


def test_names_of_noise_and_labels_that_look_like_it(noted: Noted, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    frame = pl.DataFrame({"label": [-1, 0, 0, 1, 1], "cluster": ["Noise", "Noise", "a", "b", "b"]})
    frame.write_csv(path)
    columns = ("--label", "label", "--cluster", "cluster")
    advice = "if it is noise, make it NULL, so that these rows are left out"
    about_clusters = "if it is noise, give --noise Noise and --noise-as"
    for command in ("external", "findings"):
        assert notes_of(noted, command, path, *columns) == [
            f"clustereval: {path}: cluster Noise is counted as a cluster; {about_clusters}",
            f"clustereval: {path}: label -1 is counted as a label; {advice}",
        ]
    frame.with_columns(cluster="cluster" + pl.col("cluster")).write_csv(path)
    assert len(notes_of(noted, "external", path, *columns)) == 1


@pytest.mark.parametrize(
    ("command", "columns", "unit"),
    [
        ("external", ("--label=label",), "row"),
        ("internal", ("--vector=x",), "point"),
        ("silhouette", ("--vector=x",), "point"),
    ],
)
def test_scores_of_the_rows_that_are_left(
    noted: Noted, tmp_path: Path, command: str, columns: tuple[str, ...], unit: str
) -> None:
    """A tenth of the rows is said, and less is not; both in the words of findings."""
    frame = pl.DataFrame({"x": range(100), "label": [0, 1] * 50, "cluster": [0] * 50 + [1] * 50})
    path = tmp_path / "rows.parquet"
    for n_out in (9, 10):
        is_out, missing = pl.col("x") < n_out, "vector" if unit == "point" else "label"
        noisy = frame.with_columns(cluster=pl.when(is_out).then(-1).otherwise("cluster"))
        noisy.write_parquet(path)
        call = (command, path, *columns, "--cluster=cluster")
        drop = ("--noise=-1", "--noise-as=drop")
        left = f"and left out: the scores are of the 90 {unit}s that are left"
        expected = [f"clustereval: {path}: 10 of 100 {unit}s are noise, {left}"]
        found = noted(*call, *drop)[1].splitlines()
        assert [x for x in found if "left out" in x] == (expected if n_out == 10 else [])
        assert "left out" not in noted(*call, "--noise=-1", "--noise-as=cluster")[1]
        frame.with_columns(cluster=pl.when(~is_out).then("cluster")).write_parquet(path)
        left = f"are left out: the scores are of the 90 {unit}s that are left"
        words = f"10 of 100 rows have no {missing} or no cluster, and {left}"
        expected = [f"clustereval: {path}: {words}"]
        found = noted(*call)[1].splitlines()
        assert [x for x in found if "left out" in x] == (expected if n_out == 10 else [])


@pytest.mark.parametrize(
    ("command", "columns", "values", "words"),
    [
        ("external", LABELED, ("i", "i % 3"), "each of the 300 rows is a cluster of its own"),
        ("external", LABELED, ("i % 3", "i % 287"), "there are 287 labels for 300 rows: is the"),
        ("external", LABELED, ("0", "i % 3"), "there is one cluster, so nothing is"),
        (
            "external",
            LABELED,
            ("CAST(i > 289 AS INT)", "i % 3"),
            "one cluster holds at least 86 % of the rows",
        ),
        ("silhouette", ("--vector=x",), ("i", "0"), "each of the 300 points is a cluster of"),
        ("internal", ("--vector=x",), ("0", "0"), "there is one cluster, so nothing is"),
    ],
)
def test_columns_that_are_no_clusters_or_labels(
    noted: Noted,
    tmp_path: Path,
    command: str,
    columns: tuple[str, ...],
    values: tuple[str, str],
    words: str,
) -> None:
    """What the counts of the report tell, in the words of findings."""
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame({"i": range(300)}).select(
        pl.sql_expr(f"{values[0]} AS cluster"),
        pl.sql_expr(f"{values[1]} AS species"),
        (pl.col("i") * 7 % 100).alias("x"),
    )
    frame.write_parquet(path)
    call = (command, path, *columns, "--cluster=cluster", "--engine=polars")
    assert f"clustereval: {path}: {words}" in noted(*call)[1]
    frame.with_columns(cluster=pl.col("x") % 5, species=pl.col("x") % 3).write_parquet(path)
    assert words[:8] not in noted(*call)[1]


def test_partitions_without_rows_to_score(noted: Noted, tmp_path: Path) -> None:
    """The run of Tuesday has lost its labels."""
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame({"run": ["mon", "tue", "wed"] * 40, "species": [0, 1] * 60})
    frame = frame.with_columns(cluster="species")
    call = ("external", path, *LABELED, "--cluster=cluster", "--partition-by=run")
    frame.write_parquet(path)
    assert "partitions" not in noted(*call)[1]
    lost = pl.when(pl.col("run") != "tue").then("species")
    frame.with_columns(species=lost).write_parquet(path)
    assert f"clustereval: {path}: 1 of 3 partitions has no row to score\n" in noted(*call)[1]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (
            ["gold", "Gold ", "iron"],
            "2 labels differ only by case or blanks: 'Gold ', 'gold'",
        ),
        (
            ["iron", "Iron", "gold", "Gold", "Gold"],
            "2 labels differ only by case or blanks: 'Gold', 'gold'",
        ),
        ([0.5, 1.0, 2.0], "1 label is a fraction: is the label a measurement?"),
        ([0.5, 1.0, 1.5], "2 labels are fractions: is the label a measurement?"),
        (["gold", "silver", "iron"], None),
        ([0.0, 1.0, 2.0], None),
    ],
)
def test_labels_that_are_spelled_or_measured(
    noted: Noted, tmp_path: Path, labels: list[object], words: str | None
) -> None:
    path = tmp_path / "rows.parquet"
    rows = pl.DataFrame({"species": labels * 9})
    rows.with_columns(cluster=pl.int_range(pl.len()) % 3).write_parquet(path)
    found = noted("external", path, *LABELED, "--engine=polars")[1]
    assert found == (f"clustereval: {path}: {words}\n" if words else "")


@pytest.mark.parametrize("command", ["internal", "silhouette", "samples", "dunn", "pairwise"])
def test_a_column_of_another_unit(noted: Noted, tmp_path: Path, command: str) -> None:
    """The remark of internal_summary stands below every report on points."""
    path = tmp_path / "rows.parquet"
    x, y = pl.int_range(300) * 7 % 100, 1000 * (pl.int_range(300) * 13 % 37)
    frame = pl.select(x=x, y=y, cluster=x // 50, run=pl.int_range(300) % 3)
    frame.write_parquet(path)
    call = (command, path, "--vector=x,y", "--cluster=cluster", "--engine=polars")
    words = "coordinate 2 of 2 (y) holds over 99 % of the variance within clusters, so distances"
    assert f"clustereval: {path}: {words}" in noted(*call)[1]
    of = "in 3 of 3 partitions, "
    assert f"clustereval: {path}: {of}{words}" in noted(*call, "--partition-by=run")[1]
    frame.with_columns(pl.col("y") / 1000).write_parquet(path)
    assert "coordinate" not in noted(*call)[1]


@pytest.mark.parametrize("command", ["internal", "silhouette", "elbow", "compare", "dunn"])
def test_clusters_that_cut_rings(noted: Noted, tmp_path: Path, command: str) -> None:
    """Scores that favor round clusters have a remark, and Dunn's index has none."""
    path = tmp_path / "rings.parquet"
    angle, radius = pl.int_range(400) * 0.7, 1 + 3 * (pl.int_range(400) % 2)
    rings = pl.select(x=radius * angle.cos(), y=radius * angle.sin(), ring=radius, k=2)
    rings = rings.with_columns(half=(pl.col("x") + pl.col("y") / 9 > 0).cast(pl.Int8))
    rings.write_parquet(path)
    more = ["--k=k"] if command == "elbow" else []
    given = "--clusters" if command == "compare" else "--cluster"
    of_halves, of_rings = (
        noted(command, path, "--vector=x,y", f"{given}={x}", *more, "--engine=polars")[1]
        for x in ("half", "ring")
    )
    of = "in 1 of the values of k, " if more else ""
    words = f"{path}: {of}clusters of half cut connected parts of the points, such as 1 and 0, and"
    assert (words in of_halves) == (command != "dunn")
    assert "cut connected" not in of_rings
    if command == "compare":
        call = (command, path, "--vector=x,y", "--clusters=ring,half", "--engine=duckdb")
        assert words in noted(*call)[1]
        # Where a coordinate has another unit, shapes are not judged.
        rings.with_columns(pl.col("x") * 1000).write_parquet(path)
        errors = noted(*call)[1]
        assert "coordinate 1 of 2 (x) holds over 99 %" in errors
        assert "cut connected" not in errors
