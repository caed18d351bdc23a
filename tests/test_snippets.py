"""Every snippet of the pages and every example in a header of sql/ runs."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import polars_clustereval as ce
from polars_clustereval.cli import main
from polars_clustereval.macros import sql_files

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^-- Examples?:[ \n](.*?)(?=^CREATE)", re.MULTILINE | re.DOTALL)


PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))


def blocks(language: str, page: str = "README.md") -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for name, body in BLOCK.findall(text) if name == language]


def examples(file: str) -> list[str]:
    text = (ROOT / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    bodies = [re.sub(r"^--", "", body, flags=re.MULTILINE) for body in EXAMPLE.findall(text)]
    return [query.strip() for body in bodies for query in body.split(";") if query.strip()]


@pytest.fixture(scope="module")
def registered() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    ce.register(con)
    return con


@pytest.fixture
def con(
    registered: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The tables that pages and examples use; what they create is rolled back."""
    monkeypatch.chdir(ROOT)
    registered.begin()
    registered.execute(
        "CREATE TABLE assignments AS SELECT species, kmeans AS cluster, id AS flower, 1 AS n "
        "FROM 'examples/iris.parquet'"
    )
    registered.execute(
        "CREATE TABLE points AS SELECT sepal_length AS x, sepal_width AS y, petal_length AS z, "
        "[x, y, z] AS embedding, kmeans AS cluster FROM 'examples/iris.parquet'"
    )
    yield registered
    registered.rollback()


@pytest.mark.parametrize("page", PAGES)
def test_python_of_pages(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for block in blocks("python", page):
        exec(block, names)


@pytest.mark.parametrize("page", PAGES)
def test_sql_of_pages(con: duckdb.DuckDBPyConnection, page: str) -> None:
    assert blocks("sql", page)
    for block in blocks("sql", page):
        con.execute(block).fetchall()


def test_alink_page(con: duckdb.DuckDBPyConnection) -> None:
    """The numbers of Alink's documentation, from the page's own queries."""
    internal, external = blocks("sql", "docs/alink.md")
    report = _last(con, internal)
    found = {name: report[name] for name in ALINK}
    assert found == pytest.approx(ALINK, rel=1e-12)
    expected = (0.36456177185718985, 0.7058823529411765, 0.6764705882352942, 0.242914979757085)
    assert tuple(_last(con, external).values()) == pytest.approx(expected, rel=1e-12)


# Its own sums are off by 1e-14 here and there: these are the exact values.
ALINK = {
    "n": 6,
    "n_clusters": 2,
    "compactness": 0.11547005383792516,
    "separation": 15.588457268119896,
    "davies_bouldin_score": 0.014814814814814815,
    "calinski_harabasz_score": 12150.0,
    "ssw": 0.12,
    "ssb": 364.5,
}


def _last(con: duckdb.DuckDBPyConnection, block: str) -> dict[str, object]:
    """Run the statements of a block; the one row of the last."""
    result = con.execute(block)
    names = [column[0] for column in result.description]
    return dict(zip(names, result.fetchone() or (), strict=True))


def test_readme_console(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    lines = [line for block in blocks("console") for line in block.splitlines()]
    calls = [line.removeprefix("$ clustereval ") for line in lines if line.startswith("$ ")]
    assert calls
    for call in calls:
        assert main(call.split()) == 0, call
        out, err = capfd.readouterr()
        assert out, call
        assert err == "", call


@pytest.mark.parametrize("file", sql_files())
def test_examples_of_macros(con: duckdb.DuckDBPyConnection, file: str) -> None:
    for query in examples(file):
        assert con.execute(query).fetchall(), query
