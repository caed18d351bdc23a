"""dbt: the example project night by night, and the plugin."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce

from .support.compare import is_near
from .support.dbt_projects import ROOT, needs_dbt, run_dbt, statuses

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "dbt_project"
NEW_NIGHT = "2026-03-04.parquet"
DATABASE = "nightly_clusters.duckdb"
REPORTS = ("cells", "daily_report", "overall_report", "latest_night", "previous_night")

wide = pytest.mark.wide


def table_rows(folder: Path, table: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(folder / DATABASE, read_only=True) as con:
        return con.execute(f"FROM {table} ORDER BY ALL").fetchall()


def copy_example(folder: Path) -> Path:
    skipped = shutil.ignore_patterns("target", "logs", "dbt_packages", "*.duckdb", ".user.yml")
    shutil.copytree(EXAMPLE, folder, ignore=skipped)
    return folder


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


# Night after night -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def three_nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example project, built on all nights but the last."""
    folder = copy_example(tmp_path_factory.mktemp("dbt") / "project")
    (folder / "nights" / NEW_NIGHT).unlink()
    packages = folder / "packages.yml"
    replace(packages, "../../dbt_package", str(ROOT / "dbt_package"))
    run_dbt(folder, "deps")
    run_dbt(folder, "build")
    return folder


@pytest.fixture
def project(three_nights: Path, tmp_path: Path) -> Path:
    """A copy of it, to be built again."""
    shutil.copytree(three_nights, tmp_path / "project", symlinks=True)
    return tmp_path / "project"


def add_night(project: Path, name: str = NEW_NIGHT, frame: pl.DataFrame | None = None) -> None:
    if frame is None:
        frame = pl.read_parquet(EXAMPLE / "nights" / NEW_NIGHT)
    frame.write_parquet(project / "nights" / name)


@wide
@needs_dbt
def test_a_new_night_equals_the_full_rebuild(project: Path) -> None:
    before = table_rows(project, "cells")
    assert {str(day) for day, *_ in before} == {"2026-03-01", "2026-03-02", "2026-03-03"}
    # An earlier night is not read again: its cells would change.
    (project / "nights" / "2026-03-01.parquet").rename(project / "away")
    earlier = pl.read_parquet(project / "away")
    add_night(project, "2026-03-01.parquet", earlier.with_columns(digit=pl.lit(0, pl.Int64)))
    add_night(project)
    run_dbt(project, "build")
    assert set(statuses(project).values()) == {"success", "pass"}
    after = {table: table_rows(project, table) for table in REPORTS}
    assert [row for row in after["cells"] if row in before] == before
    assert sum(row[-1] for row in after["cells"]) == 4 * 1797
    (project / "away").rename(project / "nights" / "2026-03-01.parquet")
    run_dbt(project, "build", "--full-refresh")
    for table in REPORTS:
        assert are_near(table_rows(project, table), after[table]), table
    check_reports(project)


def check_reports(project: Path) -> None:
    """The reports of cells against those of the files, by macros outside of dbt."""
    con = duckdb.connect()
    ce.register(con)
    con.execute(
        "CREATE TABLE nights AS SELECT *, CAST(parse_filename(filename, true) AS DATE) AS day "
        f"FROM read_parquet('{project}/nights/*.parquet', filename = true)"
    )
    report = "FROM clustereval.external_report(nights, digit, cluster, partition_by := day)"
    assert are_near(table_rows(project, "daily_report"), con.execute(report).fetchall())
    con.execute("CREATE VIEW named AS SELECT digit, {day: day, cluster: cluster} AS c FROM nights")
    report = "FROM clustereval.external_report(named, digit, c)"
    assert are_near(table_rows(project, "overall_report"), con.execute(report).fetchall())


def are_near(rows: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
    values = [pytest.approx(x, rel=1e-12) if isinstance(x, float) else x for y in wanted for x in y]
    return len(rows) == len(wanted) > 0 and [x for row in rows for x in row] == values


@wide
@needs_dbt
def test_the_tutorial_shows_what_dbt_prints(project: Path) -> None:
    text = (ROOT / "docs" / "tutorial_dbt.md").read_text("utf-8")
    [call] = re.findall(r"^```jinja\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert (project / "models" / "daily_report.sql").read_text("utf-8").endswith(call)
    add_night(project)
    run_dbt(project, "build")
    shown = re.findall(r"^```sh\n(dbt show .*?)```\n\n```text\n(.*?)^```", text, re.M | re.S)
    assert len(shown) == 2
    for command, output in shown:
        program, *arguments = shlex.split(command)
        assert program == "dbt"
        assert run_dbt(project, *arguments).strip() == output.strip()


@wide
@needs_dbt
def test_a_score_below_its_minimum_fails_the_build(project: Path) -> None:
    before = table_rows(project, "daily_report")
    replace(project / "models" / "models.yml", "minimum: 0.6", "minimum: 0.65")
    add_night(project)
    out = run_dbt(project, "build", works=False)
    assert re.search(r"\[ERROR\]: in test every_night_finds_the_digits .*\n.*Got 1 result", out)
    found = statuses(project)
    assert found["every_night_finds_the_digits"] == "fail"
    assert found["daily_report"] == "skipped"
    assert table_rows(project, "daily_report") == before


@wide
@needs_dbt
def test_another_schema_of_a_night_overwrites_nothing(project: Path) -> None:
    before = {table: table_rows(project, table) for table in REPORTS}
    night = pl.read_parquet(EXAMPLE / "nights" / NEW_NIGHT)
    add_night(project, frame=night.rename({"digit": "label"}))
    retyped = night.with_columns(pl.col("cluster").cast(pl.String))
    add_night(project, "2026-03-05.parquet", retyped)
    out = run_dbt(project, "build", works=False)
    words = r"\[ERROR\]: in test every_night_has_the_same_columns .*\n.*Got 2 results"
    assert re.search(words, out)
    assert statuses(project)["cells"] == "skipped"
    assert {table: table_rows(project, table) for table in REPORTS} == before


@wide
@needs_dbt
def test_other_columns_of_the_cells_overwrite_nothing(project: Path) -> None:
    before = {table: table_rows(project, table) for table in REPORTS}
    add_night(project)
    replace(project / "models" / "cells.sql", "as n\n", "as n, max(id) as last_id\n")
    contract = "{name: n, data_type: bigint}"
    columns = f"{contract}\n      - {{name: last_id, data_type: bigint}}"
    replace(project / "models" / "models.yml", contract, columns)
    out = run_dbt(project, "build", works=False)
    assert "schemas on this incremental model are out of sync" in out
    assert statuses(project)["cells"] == "error"
    assert {table: table_rows(project, table) for table in REPORTS} == before


@wide
@needs_dbt
def test_without_a_test_of_the_files_reading_fails(project: Path) -> None:
    """`dbt run` runs no tests."""
    before = table_rows(project, "cells")
    night = pl.read_parquet(EXAMPLE / "nights" / NEW_NIGHT)
    for path in (project / "nights").iterdir():
        path.unlink()
    add_night(project, frame=night.with_columns(pl.col("cluster").cast(pl.String)))
    out = run_dbt(project, "run", works=False)
    assert re.search(r"cluster +\| VARCHAR +\| BIGINT +\| data type mismatch", out)
    assert table_rows(project, "cells") == before


@wide
@needs_dbt
def test_a_profile_without_the_plugin(project: Path) -> None:
    profile = project / "profiles.yml"
    lines = profile.read_text("utf-8").partition("      plugins:")[0]
    profile.write_text(lines, "utf-8")
    out = run_dbt(project, "build", works=False)
    assert "no clustereval macros: pip install 'polars_clustereval[dbt]', then in profiles" in out
    assert "sql --database clustereval.duckdb, and add: attach: [{path: clustereval.duckdb" in out


# The database of macros ---------------------------------------------------------------------------

#: The program of dbt 2, which has no Python package that all platforms can install. It needs a
#: shared library libduckdb, too, in LD_LIBRARY_PATH.
FUSION = os.environ.get("DBT_FUSION")


def attach_macros_in_profile(project: Path) -> None:
    """Let the profile attach the database of macros, in place of the plugin."""
    ce.write_database(project / "clustereval.duckdb")
    attached = {"path": "clustereval.duckdb", "alias": "clustereval", "read_only": True}
    profile = project / "profiles.yml"
    plugins = "      plugins:\n        - module: polars_clustereval.dbt\n"
    replace(profile, plugins, f"      schema: main\n      attach: {json.dumps([attached])}\n")


@wide
@needs_dbt
def test_the_attached_macros_give_the_same_tables(project: Path) -> None:
    wanted = {table: table_rows(project, table) for table in REPORTS}
    attach_macros_in_profile(project)
    (project / DATABASE).unlink()
    run_dbt(project, "build")
    found = {table: table_rows(project, table) for table in REPORTS}
    assert is_near(found, wanted, relative=1e-12, floor=1e-12)


@wide
@needs_dbt
@pytest.mark.skipif(FUSION is None, reason="DBT_FUSION does not name the program of dbt 2")
def test_dbt_2_gives_the_same_tables(project: Path) -> None:
    assert FUSION is not None
    wanted = {table: table_rows(project, table) for table in REPORTS}
    attach_macros_in_profile(project)
    (project / DATABASE).unlink()
    shutil.rmtree(project / "dbt_packages")
    for command in ("deps", "build"):
        arguments = [FUSION, command, "--profiles-dir", "."]
        done = subprocess.run(arguments, cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        assert "[warning]" not in done.stdout
    found = {table: table_rows(project, table) for table in REPORTS}
    assert is_near(found, wanted, relative=1e-12, floor=1e-12)


@wide
@needs_dbt
def test_the_package_stands_on_its_own(project: Path, tmp_path: Path) -> None:
    """Nothing in it points out of its folder, so it may be the root of a repository."""
    package = shutil.copytree(ROOT / "dbt_package", tmp_path / "alone" / "dbt-clustereval")
    replace(project / "packages.yml", str(ROOT / "dbt_package"), str(package))
    shutil.rmtree(project / "dbt_packages", ignore_errors=True)
    (project / "package-lock.yml").unlink(missing_ok=True)
    run_dbt(project, "deps")
    run_dbt(project, "build")
    for path in package.rglob("*"):
        assert not path.is_symlink()
        assert path.is_dir() or "../" not in path.read_text("utf-8")


# The plugin --------------------------------------------------------------------------------------


def test_the_plugin_without_dbt() -> None:
    code = "import sys; sys.modules['dbt'] = None; import polars_clustereval.dbt"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith(
        "ImportError: the dbt plugin needs dbt-duckdb: pip install 'polars_clustereval[dbt]'"
    )


@wide
@needs_dbt
def test_the_plugin_serves_every_cursor() -> None:
    from polars_clustereval.dbt import Plugin, package_folder

    con = duckdb.connect()
    Plugin("clustereval", {}).configure_connection(con)
    query = "SELECT clustereval.rand_score(x, x) FROM range(3) AS t (x)"
    assert con.cursor().execute(query).fetchone() == (1.0,)
    assert package_folder() == ROOT / "dbt_package"


@wide
@needs_dbt
def test_the_plugin_refuses_a_taken_name() -> None:
    from dbt_common.exceptions import DbtRuntimeError

    from polars_clustereval.dbt import Plugin

    con = duckdb.connect()
    con.execute("CREATE SCHEMA clustereval")
    with pytest.raises(DbtRuntimeError, match=r'has a schema "clustereval".*; drop it, or give it'):
        Plugin("clustereval", {}).configure_connection(con)


def test_the_package_has_the_version_of_the_macros() -> None:
    text = (ROOT / "dbt_package" / "dbt_project.yml").read_text("utf-8")
    assert f"version: {ce.__version__}\n" in text
