"""Every snippet of the pages and every example in a header of sql/ runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from polars_clustereval.macros import sql_files
from tests.support.header_tables import TABLES
from tools import page_outputs, page_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from _pytest.mark import ParameterSet

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^-- Examples?:[ \n](.*?)(?=^CREATE)", re.MULTILINE | re.DOTALL)

#: Pages whose snippets need an engine that is not always there; tests/spark runs them.
ELSEWHERE = ("docs/spark.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("api_*.md")))
DOCS = sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
PAGES = ("README.md", *(page for page in DOCS if page not in ELSEWHERE))
WITH_OUTPUTS = [path.relative_to(ROOT).as_posix() for path in page_outputs.pages_with_outputs()]
#: Pages whose queries have outputs, and the page of scores that only Python computes.
OTHER_PAGES = (*WITH_OUTPUTS, "docs/metrics_density.md")


def mark_pages(pages: Sequence[str]) -> list[ParameterSet]:
    """README and the tutorials are read by make test, the other pages by the gate."""
    first = ("README.md", "docs/tutorial_")
    marks = {True: pytest.mark.each, False: pytest.mark.gate}
    return [pytest.param(page, marks=marks[page.startswith(first)]) for page in pages]


def blocks(language: str, page: str = "README.md") -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for name, body in BLOCK.findall(text) if name == language]


def examples(file: str) -> list[str]:
    text = (ROOT / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    bodies = [re.sub(r"^--", "", body, flags=re.MULTILINE) for body in EXAMPLE.findall(text)]
    return [query.strip() for body in bodies for query in body.split(";") if query.strip()]


@pytest.fixture
def con(monkeypatch: pytest.MonkeyPatch) -> Iterator[duckdb.DuckDBPyConnection]:
    """A new session for each page: the macros, and no tables but those that the page creates."""
    monkeypatch.chdir(ROOT)
    with page_session.open_session() as con:
        yield con


@pytest.fixture(scope="module")
def header_tables() -> duckdb.DuckDBPyConnection:
    """A session with the tables that examples in headers of sql/ read."""
    con = page_session.open_session()
    con.execute(TABLES)
    return con


@pytest.mark.parametrize("page", mark_pages(PAGES))
def test_python_of_pages(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of a page runs, and prints what the page shows: in comments, or below."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / page).read_text(encoding="utf-8")
    found = page_outputs.with_python_outputs(text)
    assert page_outputs.same_text(found, text) or found == text, "see make outputs"


def test_a_print_that_writes_something_else_is_noticed() -> None:
    page = "```python\nprint(1 / 4)  # 0.25\nprint(1 / 3)\nprint('a\\nb')\n```\n"
    shown = page_outputs.with_python_outputs(page)
    assert shown == f"{page}\n```text\n0.3333333333333333\na\nb\n```\n"
    assert page_outputs.with_python_outputs(shown) == shown
    assert page_outputs.with_python_outputs(shown.replace("\nb\n", "\n")) == shown
    with pytest.raises(ValueError, match=r"has the comment '0\.5' and writes '0\.25'"):
        page_outputs.with_python_outputs(page.replace("0.25", "0.5"))


def test_there_are_printed_numbers() -> None:
    found = {
        page: sum(
            comment is not None
            for block in blocks("python", page)
            for comment in page_outputs.comments_of_prints(block)
        )
        for page in PAGES
    }
    pages = {
        "README.md": 4,
        "docs/choosing_k.md": 2,
        "docs/cluster_errors.md": 4,
        "docs/duckdb.md": 3,
        "docs/entity_resolution.md": 1,
        "docs/distances.md": 2,
        "docs/graph.md": 2,
        "docs/held_out.md": 1,
        "docs/index.md": 2,
        "docs/label_sample.md": 1,
        "docs/matching.md": 2,
        "docs/migration.md": 2,
        "docs/overlapping.md": 1,
        "docs/plots.md": 9,
        "docs/questions.md": 1,
        "docs/reference.md": 2,
        "docs/silhouette.md": 2,
        "docs/stability.md": 2,
        "docs/states.md": 2,
        "docs/transitions.md": 3,
        "docs/tutorial_polars.md": 4,
        "docs/which_metric.md": 6,
    }
    assert {page: n for page, n in found.items() if n} == pages


@pytest.mark.parametrize("page", mark_pages([x for x in PAGES if x not in OTHER_PAGES]))
def test_sql_of_pages(con: duckdb.DuckDBPyConnection, page: str) -> None:
    assert blocks("sql", page)
    for block in blocks("sql", page):
        con.execute(block).fetchall()


@pytest.mark.parametrize("page", mark_pages(WITH_OUTPUTS))
def test_outputs_of_pages(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """What a page shows below its queries and calls is what they print."""
    monkeypatch.setenv("COLUMNS", str(page_outputs.WIDTH))
    text = (ROOT / page).read_text(encoding="utf-8")
    found = page_outputs.with_outputs(text, con)
    assert page_outputs.same_text(found, text) or found == text, "see make outputs"


def test_a_page_with_another_output_is_noticed() -> None:
    con = duckdb.connect()
    page = "```sql\nSELECT 1 / 3 AS a;\n```\n"
    shown = page_outputs.with_outputs(page, con)
    assert "0.3333333333333333" in shown
    assert page_outputs.with_outputs(shown, con) == shown
    last_digit = shown.replace("0.3333333333333333", "0.33333333333333337")
    assert page_outputs.same_text(last_digit, shown)
    for other in (
        page,
        shown.replace("0.3333333333333333", "0.3333333334"),
        shown.replace("0.3333333333333333", "NULL"),
        shown.replace("│ 0.3333333333333333 │", "│ 0.3333333333333333 │ 1 │"),
    ):
        assert not page_outputs.same_text(other, shown)
        assert page_outputs.with_outputs(other, con) == shown


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```sql\nSELECT 1;\nSELECT 2;\n```\n", "one query, with its output below it"),
        (f"```sql\nSELECT {', '.join(['1 AS a_long_name'] * 9)};\n```\n", "a table is cut"),
        ("```console\n$ rm -r docs\n```\n", "should be one of clustereval: rm -r docs"),
        (
            "```console\n$ clustereval external none.csv --label a --cluster b\n```\n",
            "none.csv .*: status",
        ),
    ],
)
def test_blocks_without_an_output(block: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        page_outputs.with_outputs(block, duckdb.connect())


def test_alink_page(con: duckdb.DuckDBPyConnection) -> None:
    """The column `on the example` of the page, from the page's own points and queries."""
    internal, external, silhouette = blocks("sql", "docs/alink.md")
    con.execute(internal)
    report = _last(con, "FROM clustereval.internal_report(points, vector, cluster)")
    centroids = con.execute("FROM clustereval.centroids(points, vector, cluster)").fetchall()
    found = report | _last(con, silhouette) | _last(con, external)
    printed = alink_values()
    assert len(printed) == 15
    for name, i in (("cluster", 1), ("n of centroids", 2)):
        assert printed.pop(name) == ", ".join(str(row[i]) for row in centroids)
    assert {name: found[name] for name in printed} == pytest.approx(
        # Alink's own sums are off by 1e-14 here and there.
        {name: float(value) for name, value in printed.items()},
        rel=1e-14,
    )


def alink_values() -> dict[str, str]:
    """The names of our columns in the table of the page, and the printed values."""
    text = (ROOT / "docs" / "alink.md").read_text(encoding="utf-8")
    values: dict[str, str] = {}
    for getter, here, value in re.findall(
        r"^\| (`get.*?) \| (.*?) \| (.*?) \|$", text, re.MULTILINE
    ):
        names = re.findall(r"`(\w+)`", here)
        if getter.startswith("`getClusterArray"):
            values["cluster"], values["n of centroids"] = value.split("; ")
        elif value != "–":
            values[names[0]] = value.strip(" ¹²")
    return values


def test_dunn_page(con: duckdb.DuckDBPyConnection) -> None:
    """The two values in its sentence on two indices of one name."""
    row = _last(con, "".join(blocks("sql", "docs/dunn.md")[:2]))
    text = (ROOT / "docs" / "dunn.md").read_text(encoding="utf-8")
    [printed] = re.findall(r"different values \((\S+) and (\S+) for the iris", text)
    found = (row["dunn_index"], row["centroid_dunn_index"])
    assert tuple(f"{value:.3f}" for value in found) == printed


def test_example_files_have_the_rows_that_are_printed() -> None:
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    printed = re.findall(r"^\| `(\S+)` \| ([\d,]+) \|", text, re.MULTILINE)
    assert len(printed) == 17
    for name, rows in printed:
        counted = duckdb.execute(f"SELECT count(*) FROM '{ROOT / 'examples' / name}'")
        [(found,)] = counted.fetchall()  # all, or other tests could not use this connection
        assert f"{found:,}" == rows, name


def _last(con: duckdb.DuckDBPyConnection, block: str) -> dict[str, object]:
    """Run the statements of a block; the one row of the last."""
    result = con.execute(block)
    names = [column[0] for column in result.description]
    return dict(zip(names, result.fetchone() or (), strict=True))


@pytest.mark.parametrize("file", sql_files())
def test_examples_of_macros(header_tables: duckdb.DuckDBPyConnection, file: str) -> None:
    header_tables.begin()
    for query in examples(file):
        assert header_tables.execute(query).fetchall(), query
    header_tables.rollback()
