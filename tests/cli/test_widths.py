"""Tables on terminals of 60 to 200 columns: no line is wider, columns are aligned, arrows shown."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polars_clustereval.cli import grid
from polars_clustereval.cli.reports import REPORTS
from tests.support.command_line import (
    CALLS,
    IRIS,
    KMEANS,
    QUICK,
    RUNS,
    VARIANT_CALLS,
    Noted,
    Run,
    start,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.gate

WIDTHS = (60, 80, 100, 140, 200)
HOSTILE = "日本語の名前 größe \x1b[31m e\u0301 " * 3


def width_of(line: str) -> int:
    """Cells of a terminal: two for an East Asian letter, none for a combining accent."""
    return sum(
        0 if unicodedata.combining(x) else 1 + (unicodedata.east_asian_width(x) in "WF")
        for x in line
    )


def inputs(name: str) -> Iterator[tuple[str, pl.DataFrame, tuple[str, ...]]]:
    """Frames that make the table of a report wide, with options: what is wide, frame, options."""
    file = VARIANT_CALLS[name][0]
    frame = pl.read_csv(file) if file.endswith(".csv") else pl.read_parquet(file)
    own_id = pl.col(next(x for x in ("mention", "word", "id") if x in frame.columns))
    if "left" in REPORTS[name].defaults:  # one table of nodes and edges, pairs or neighbors
        others = dict.fromkeys(("right", "neighbor"), own_id.shift())
        frame = frame.tail(3000).with_columns(**others, left=own_id, contexts=1, distance=1.0)
        frame = frame.with_columns(is_match=True, weight=1.0)
    for n in (1, 4, 30):
        key = pl.format("{} {}", pl.lit(HOSTILE), pl.int_range(pl.len()) % n).alias(HOSTILE)
        named = frame.with_columns(key, o=1)
        if "left" in named.columns:  # an edge needs both ends in its partition
            named = named.with_columns(right=own_id.shift(n), neighbor=own_id.shift(n))
        yield f"{n} names", named, ("--partition-by", f"{HOSTILE},o")
    keys = {f"a rather long name {i}": pl.lit(f"a rather long value {i}") for i in range(12)}
    yield "keys", frame.with_columns(**keys), ("--partition-by", ",".join(keys))
    known = ("species", "digit", "cluster", "kmeans", "single_linkage", "faction")
    names = [x for x in known if x in frame.columns]
    hostile = (pl.format("{} {}", pl.lit(HOSTILE), x).alias(x) for x in names)
    yield "values", frame.with_columns(hostile), ()
    if "weight" in REPORTS[name].defaults:
        weighted = frame.with_columns(w=6 * 10**9, key=pl.lit(HOSTILE))
        yield "weights", weighted, ("--weight", "w")
        yield "weights by key", weighted, ("--weight", "w", "--partition-by", "key")
    if "vector" in REPORTS[name].defaults:
        for factor in (1e-120, 1e100):
            yield f"{factor}", frame.with_columns(pl.selectors.float() * factor), ()


def test_every_table_is_tried() -> None:
    assert VARIANT_CALLS.keys() == REPORTS.keys()


@pytest.mark.gate
@pytest.mark.parametrize("name", VARIANT_CALLS)
@pytest.mark.parametrize(
    "columns", [pytest.param(x, marks=[] if x == 80 else pytest.mark.wide) for x in WIDTHS]
)
def test_no_line_is_wider_than_the_terminal(
    noted: Noted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    path = tmp_path / "rows.parquet"
    for kind, frame, options in inputs(name):
        frame.write_parquet(path)
        command = REPORTS[name].command
        given = [path if x.endswith((".parquet", ".csv")) else x for x in VARIANT_CALLS[name]]
        is_of_pairs = "--pairs" in given and "missing" in REPORTS[name].defaults
        missing = ("--missing", "drop") if is_of_pairs else ()
        call = (command, *given, *missing, *options, *QUICK)
        table, _ = noted(*call)
        wide = [line for line in table.splitlines() if width_of(line) > columns]
        assert wide == [], kind


@pytest.mark.parametrize("columns", WIDTHS)
def test_other_outputs_fit_too(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(width_of, run("schema").splitlines())) <= columns


def test_wide_letters_are_aligned(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One below the other and side by side, cells end in the same column of the terminal."""
    monkeypatch.setenv("COLUMNS", "100")
    path = tmp_path / "rows.parquet"
    names = ["a", "語語語", "e\u0301", "größe", "語e\u0301", "b"]
    for n in (6, 3):
        pl.DataFrame({"a": [1] * n, "key": names[:n]}).write_parquet(path)
        table = run("external", path, "--label=a", "--cluster=a", "--partition-by=key", *QUICK)
        rows = [line for line in table.splitlines() if line.startswith((*names[1:n], "key"))]
        if n == 6:
            cells = [[row.split()[0], row.split()[1]] for row in rows]
            widths = {
                width_of(row[: row.index(x, len(key)) + 1])
                for row, (key, x) in zip(rows, cells, strict=True)
            }
            assert (len(rows), len(widths)) == (6, 1)
        else:
            [head] = rows
            [scores] = [line for line in table.splitlines() if line.startswith("  purity ")][:1]
            ends = [
                [width_of(line[: found.end()]) for found in re.finditer(r"\S+", line)][1:]
                for line in (head, scores)
            ]
            assert ends[0] == ends[1]


def test_long_names_of_metrics_are_broken(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ("external", IRIS, *KMEANS, "--confidence", "0.9", "--metrics", "all", *QUICK)
    monkeypatch.setenv("COLUMNS", "60")
    table = run(*call)
    assert re.search(r"^  adjusted_fowlkes_ +\S+ +\S+ +\S+\n    mallows_score$", table, re.M)
    monkeypatch.setenv("COLUMNS", "80")
    table = run(*call)
    assert "  adjusted_fowlkes_mallows_score  " in table


def test_one_row_more(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    for n, words in ((21, "1 more row: --format csv"), (22, "2 more rows: --format csv")):
        pl.DataFrame({"a": range(n), "b": range(n)}).write_parquet(path)
        table = run("clusters", path, "--label", "a", "--cluster", "b", *QUICK)
        assert table.endswith(f"\n\n{words}\n")
    for n, words in ((6, "1 more clustering: "), (7, "2 more clusterings: ")):
        pl.DataFrame({"a": range(n), "b": range(n)}).write_parquet(path)
        call = (path, "--label", "a", "--cluster", "b", "--partition-by", "a")
        assert words in run("external", *call, "--confidence", "0.9", *QUICK)


#: Python takes the encoding from the locale.
BY_LOCALE = {"PYTHONIOENCODING": "", "PYTHONUTF8": "0"}

# Arrows -----------------------------------------------------------------------------------------


def test_arrows_in_the_heads_of_many_clusterings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    call = (RUNS, "--label", "digit", "--cluster", "cluster", "--partition-by", "run")
    table = run("external", *call, *QUICK)
    scores = "score↑ +" * 6 + "purity↑ +precision↑ +recall↑"
    assert re.search(rf"^run +n +clusters +{scores}$", table, re.M)
    call = (IRIS, *VARIANT_CALLS["internal"][1:], "--partition-by", "petal_width")
    head = re.search(r"^petal_width .*$", run("internal", *call, *QUICK), re.MULTILINE)
    assert head is not None
    words = [word for word in head[0].split() if word[-1] in "↑↓"]
    assert words == ["variance↑", "ssw↓", "score↑", "score↓", "index↓", "index↑"]


def test_arrows_in_the_heads_of_listings(run: Run) -> None:
    table = run("samples", *CALLS["samples"], *QUICK)
    assert re.search(r"^id +cluster +neighbor +a↓ +b↑ +silhouette↑$", table, re.MULTILINE)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("variables", "is_shown"),
    [
        ({"PYTHONIOENCODING": "utf-8"}, True),
        # which has an ellipsis, but no arrows
        ({"PYTHONIOENCODING": "cp1252"}, False),
        *(
            pytest.param(*case, marks=pytest.mark.gate)
            for case in (
                ({"PYTHONIOENCODING": "ascii"}, False),
                ({"PYTHONIOENCODING": "latin-1"}, False),
                ({"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", **BY_LOCALE}, False),
                ({"LC_ALL": "C.UTF-8", **BY_LOCALE}, True),
            )
        ),
    ],
)
@pytest.mark.parametrize(
    "partition", [(), pytest.param(("--partition-by", "petal_width"), marks=pytest.mark.gate)]
)
def test_arrows_where_the_encoding_has_them(
    variables: dict[str, str], is_shown: bool, partition: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / ("folder" * 9) / "iris.parquet"
    path.parent.mkdir()
    pl.read_parquet(IRIS).write_parquet(path)
    call = ("internal", str(path), *CALLS["internal"][1:], *partition, *QUICK)
    table, err = (x.decode() for x in start(*call, COLUMNS="60", **variables).communicate())
    assert err == ""
    assert ("↑" in table, "↓" in table) == (is_shown, is_shown)
    assert table.startswith("…" if is_shown else "~")
    assert table.isascii() == (not is_shown)
    assert re.search(r"^ *ssw .*\blow\b", table, re.MULTILINE)
    assert re.search(r"explained_variance .*\b1\b", table)
    assert max(map(width_of, table.splitlines())) <= 60


@pytest.mark.gate
def test_arrows_in_a_file_whatever_the_terminal_says(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    process = start("external", IRIS, *KMEANS, *QUICK, "--output", str(path))
    assert process.communicate() == (b"", b"")
    assert "↑    1" in path.read_text(encoding="utf-8")


def test_no_color(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("CLICOLOR_FORCE", "1"), ("TERM", "xterm-256color")):
        monkeypatch.setenv(name, value)
    for name in ("external", "internal", "clusters"):
        assert "\x1b" not in run(name, *CALLS[name], *QUICK)


# The grid ---------------------------------------------------------------------------------------

TEXTS = st.text("ab語é\u0301😀 ", max_size=30)


@given(text=TEXTS, width=st.integers(1, 20))
@example(text="語語", width=2)
def test_cut_texts_have_room(text: str, width: int) -> None:
    for cut, end in ((grid.cut_end, -1), (grid.cut_start, 0)):
        shown = cut(text, width)
        assert width_of(shown) <= width
        assert shown == text or (shown[end] == "…" and width_of(text) > width)
        assert width_of(shown) >= min(width - 1, width_of(text))


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(8, 200))
def test_shares_of_a_width(widths: list[int], total: int) -> None:
    shares = grid.share_width(widths, total)
    assert sum(shares) + 2 * len(shares) <= total
    assert all(share <= width for share, width in zip(shares, widths, strict=False))
    if sum(widths) + 2 * len(widths) <= total:
        assert shares == widths
    else:
        assert sum(shares) + 2 * len(shares) == total or len(shares) < len(widths)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5))
def test_cells_of_a_column_end_together(cells: list[tuple[str, str, str]]) -> None:
    lines = [[*line, "|"] for line in cells]
    shown = grid.align_columns(lines, right=[1]).split("\n")
    assert len({width_of(line) for line in shown}) == 1
    for line, (first, second, _) in zip(shown, cells, strict=True):
        assert line.startswith(first)
        assert second in line
