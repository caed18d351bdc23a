"""What the playground is built from: pinned packages, the SQL of the pages, tags."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest

import polars_clustereval as ce
from tests.test_snippets import DOCS, blocks
from tools import playground

pytestmark = pytest.mark.gate

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "playground"


def test_packages_are_pinned_and_name_no_registry() -> None:
    package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    versions = [*package["dependencies"].values(), *package["devDependencies"].values()]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+(-[\w.]+)?", version) for version in versions)
    lock = (FOLDER / "package-lock.json").read_text(encoding="utf-8")
    assert '"integrity": "sha512-' in lock
    assert '"resolved"' not in lock


def test_the_blocks_are_those_of_the_pages() -> None:
    found = playground.list_blocks()
    assert [block.sql for block in found] == [
        sql.rstrip("\n") for page in DOCS for sql in blocks("sql", page)
    ]
    assert all(block.title and block.heading and block.about for block in found)


def test_a_block_is_listed_by_its_comment_or_its_macro() -> None:
    macros = "SELECT clustereval.purity(a, b) FROM t;\nFROM clustereval.pair_counts(t, a, b);"
    assert playground.describe_block(macros) == "pair_counts"
    assert playground.describe_block(f"-- counts; one row\n{macros}") == "counts; one row"
    assert playground.describe_block("SET VARIABLE a = 1;\n") == "SET VARIABLE a = 1;"


def test_the_databases_have_the_macros_and_the_tables(tmp_path: Path) -> None:
    playground.write_assets(tmp_path)
    con = duckdb.connect()
    for name in ("clustereval", "examples"):
        con.execute(f"ATTACH '{tmp_path / name}.duckdb' AS {name} (READ_ONLY)")
    con.execute("USE examples")
    assert con.execute("SELECT clustereval.version()").fetchone() == (ce.__version__,)
    query = "SELECT n FROM clustereval.external_report('examples/iris.parquet', species, kmeans)"
    assert con.execute(query).fetchone() == (150,)
    tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'examples'")
    assert sorted(name for (name,) in tables.fetchall()) == playground.list_example_files()
    blocks = json.loads((tmp_path / "blocks.json").read_text(encoding="utf-8"))
    assert [block["sql"] for block in blocks] == [block.sql for block in playground.list_blocks()]


def test_tags_are_added_once_and_a_policy_to_the_playground(tmp_path: Path) -> None:
    html = "<!doctype html><html><head><title>x</title></head><body></body></html>"
    pages = {block.page for block in playground.list_blocks()} | {"playground"}
    for page in pages:
        (tmp_path / f"{page}.html").write_text(html, encoding="utf-8")
    for _ in range(2):
        assert playground.link_pages(tmp_path) == len(pages)
    for page in pages:
        text = (tmp_path / f"{page}.html").read_text(encoding="utf-8")
        assert text.count(playground.TAGS) == 1
        assert ("Content-Security-Policy" in text) == (page == "playground")
    assert "//" not in playground.TAGS + playground.POLICY


# The JavaScript, where Node is ----------------------------------------------------------------


def run_in_node(module: str, expression: str, argument: object) -> Any:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node: not installed")
    script = (
        f"import * as m from {json.dumps((FOLDER / 'src' / module).as_uri())};"
        f"const given = {json.dumps(argument)};"
        f"console.log(JSON.stringify({expression}));"
    )
    done = subprocess.run(
        [node, "--no-warnings", "--input-type=module", "--eval", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


STATEMENTS = [
    "SELECT 'a;b', \"c;d\" -- e;f\n;",
    "/* ; */ CREATE TABLE t AS SELECT $$x;y$$, $a$;$a$;",
    "-- a view;\nCREATE VIEW v AS FROM t WHERE x = 'it''s;';",
    "EXECUTE report($1)",
]


def test_statements_end_at_semicolons_outside_of_texts_and_comments() -> None:
    text = "\n".join(STATEMENTS) + ";;  -- the end\n"
    split, setup = run_in_node(
        "statements.js", "[m.splitStatements(given), m.splitStatements(given).map(m.isSetup)]", text
    )
    assert split == [*STATEMENTS[:3], f"{STATEMENTS[3]};"]
    assert setup == [False, True, True, False]


def test_columns_are_guessed_by_names_and_types() -> None:
    names = ("id", "name", "weight_kg", "height", "kmeans2", "cluster", "species")
    types = ("BIGINT", "VARCHAR", "DOUBLE", "BIGINT", "BIGINT", "BIGINT", "VARCHAR")
    given = [{"name": name, "type": kind} for name, kind in zip(names, types, strict=True)]
    expression = "[m.guessColumns(given), m.guessVector(given, m.guessColumns(given))]"
    guess, vector = run_in_node("columns.js", expression, given)
    assert guess == {"cluster": "cluster", "label": "species", "id": "id"}
    assert vector == ["weight_kg", "height"]
