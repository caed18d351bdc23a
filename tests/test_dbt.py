"""dbt: the example project night by night, the generic tests of the package, and the plugin."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "dbt_project"
NEW_NIGHT = "2026-03-04.parquet"
DATABASE = "nightly_clusters.duckdb"
REPORTS = ("cells", "daily_report", "overall_report", "latest_night", "previous_night")

wide = pytest.mark.wide
needs_dbt = pytest.mark.skipif(
    find_spec("dbt") is None or find_spec("dbt.adapters.duckdb") is None,
    reason="no dbt-duckdb: pip install 'polars_clustereval[dbt]'",
)


def run_dbt(folder: Path, *arguments: str, works: bool = True) -> str:
    """What dbt prints in a project, whose packages are put in place without a network."""
    program = "import sys; from dbt.cli.main import cli; cli()"
    settings = {
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DBT_PROFILES_DIR": str(folder),
        "DBT_USE_COLORS": "false",
        "DBT_PRINTER_WIDTH": "200",
    }
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == works, done.stdout + done.stderr
    return done.stdout


def statuses(folder: Path) -> dict[str, str]:
    """The status of each model and test of the last run, by name."""
    results = json.loads((folder / "target" / "run_results.json").read_text("utf-8"))["results"]
    return {result["unique_id"].split(".")[2]: result["status"] for result in results}


def rows_of(folder: Path, table: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(folder / DATABASE, read_only=True) as con:
        return con.execute(f"FROM {table} ORDER BY ALL").fetchall()


def install_package(folder: Path) -> None:
    """As `dbt deps` does with a local package."""
    shutil.copytree(ROOT / "dbt_package", folder / "dbt_packages" / "clustereval")
    packages = {"packages": [{"local": str(ROOT / "dbt_package")}]}
    (folder / "packages.yml").write_text(json.dumps(packages), "utf-8")


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
    before = rows_of(project, "cells")
    assert {str(day) for day, *_ in before} == {"2026-03-01", "2026-03-02", "2026-03-03"}
    # An earlier night is not read again: its cells would change.
    (project / "nights" / "2026-03-01.parquet").rename(project / "away")
    earlier = pl.read_parquet(project / "away")
    add_night(project, "2026-03-01.parquet", earlier.with_columns(digit=pl.lit(0, pl.Int64)))
    add_night(project)
    run_dbt(project, "build")
    assert set(statuses(project).values()) == {"success", "pass"}
    after = {table: rows_of(project, table) for table in REPORTS}
    assert [row for row in after["cells"] if row in before] == before
    assert sum(row[-1] for row in after["cells"]) == 4 * 1797
    (project / "away").rename(project / "nights" / "2026-03-01.parquet")
    run_dbt(project, "build", "--full-refresh")
    for table in REPORTS:
        assert near(rows_of(project, table), after[table]), table
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
    assert near(rows_of(project, "daily_report"), con.execute(report).fetchall())
    con.execute("CREATE VIEW named AS SELECT digit, {day: day, cluster: cluster} AS c FROM nights")
    report = "SELECT * EXCLUDE (partition_key) FROM clustereval.external_report(named, digit, c)"
    assert near(rows_of(project, "overall_report"), con.execute(report).fetchall())


def near(rows: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
    values = [pytest.approx(x, rel=1e-12) if isinstance(x, float) else x for y in wanted for x in y]
    return len(rows) == len(wanted) > 0 and [x for row in rows for x in row] == values


@wide
@needs_dbt
def test_a_score_below_its_minimum_fails_the_build(project: Path) -> None:
    before = rows_of(project, "daily_report")
    replace(project / "models" / "models.yml", "minimum: 0.6", "minimum: 0.65")
    add_night(project)
    out = run_dbt(project, "build", works=False)
    assert re.search(r"\[ERROR\]: in test every_night_finds_the_digits .*\n.*Got 1 result", out)
    found = statuses(project)
    assert found["every_night_finds_the_digits"] == "fail"
    assert found["daily_report"] == "skipped"
    assert rows_of(project, "daily_report") == before


@wide
@needs_dbt
def test_another_schema_of_a_night_overwrites_nothing(project: Path) -> None:
    before = {table: rows_of(project, table) for table in REPORTS}
    night = pl.read_parquet(EXAMPLE / "nights" / NEW_NIGHT)
    add_night(project, frame=night.rename({"digit": "label"}))
    retyped = night.with_columns(pl.col("cluster").cast(pl.String))
    add_night(project, "2026-03-05.parquet", retyped)
    out = run_dbt(project, "build", works=False)
    words = r"\[ERROR\]: in test every_night_has_the_same_columns .*\n.*Got 2 results"
    assert re.search(words, out)
    assert statuses(project)["cells"] == "skipped"
    assert {table: rows_of(project, table) for table in REPORTS} == before


@wide
@needs_dbt
def test_other_columns_of_the_cells_overwrite_nothing(project: Path) -> None:
    before = {table: rows_of(project, table) for table in REPORTS}
    add_night(project)
    replace(project / "models" / "cells.sql", "as n\n", "as n, max(id) as last_id\n")
    contract = "{name: n, data_type: bigint}"
    columns = f"{contract}\n      - {{name: last_id, data_type: bigint}}"
    replace(project / "models" / "models.yml", contract, columns)
    out = run_dbt(project, "build", works=False)
    assert "schemas on this incremental model are out of sync" in out
    assert statuses(project)["cells"] == "error"
    assert {table: rows_of(project, table) for table in REPORTS} == before


@wide
@needs_dbt
def test_without_a_test_of_the_files_reading_fails(project: Path) -> None:
    """`dbt run` runs no tests."""
    before = rows_of(project, "cells")
    night = pl.read_parquet(EXAMPLE / "nights" / NEW_NIGHT)
    for path in (project / "nights").iterdir():
        path.unlink()
    add_night(project, frame=night.with_columns(pl.col("cluster").cast(pl.String)))
    out = run_dbt(project, "run", works=False)
    assert re.search(r"cluster +\| VARCHAR +\| BIGINT +\| data type mismatch", out)
    assert rows_of(project, "cells") == before


@wide
@needs_dbt
def test_a_profile_without_the_plugin(project: Path) -> None:
    profile = project / "profiles.yml"
    lines = profile.read_text("utf-8").partition("      plugins:")[0]
    profile.write_text(lines, "utf-8")
    out = run_dbt(project, "build", works=False)
    assert "no clustereval macros: pip install 'polars_clustereval[dbt]', then in profiles" in out


# Generic tests -----------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "dbt.md").read_text("utf-8")
PAGE_FILES = {
    name: body
    for name, body in re.findall(r"^```\w+\n(?:#|--) (\S+\.\w+)\n(.*?)^```", PAGE, re.M | re.S)
    if name != "packages.yml"
}
# The tables of the cases: iris with runs, noise, missing labels, weights; degenerate ones.
FLOWERS = (
    "select id as flower, species, id % 2 as run, "
    "case when id % 25 = 0 then -1 else kmeans end as cluster, id % 3 as times, "
    'case when id % 7 = 0 then null else species end as known, kmeans as "odd ""name""" '
    f"from '{ROOT / 'examples' / 'iris.parquet'}'"
)
SEEDS = {
    "assignments": FLOWERS,
    "flowers": FLOWERS,
    "assignments_of_last_week": FLOWERS,
    "last_week": (
        "select id + 10 as flower, agglomerative as cluster, kmeans as other "
        f"from '{ROOT / 'examples' / 'iris.parquet'}' where id < 140"
    ),
    "no_row": "select 1 as id, 'a' as species, 2 as cluster limit 0",
    "one_row": "select 1 as id, 'a' as species, 2 as cluster",
    "only_null": "select 1 as id, cast(null as varchar) as species, 2 as cluster",
    "twice": "select 1 as id, 2 as cluster union all select 1, 3",
}
SCORE, AGREES = "clustering_score_at_least", "clustering_agrees_with"
LABELED = {"label": "species", "cluster": "cluster", "metric": "rand_score"}
COMPARED = {"previous": "ref('one_row')", "id": "id", "cluster": "cluster", "metric": "rand_score"}


def agreement(**options: Any) -> dict[str, Any]:
    given = {"previous": "ref('last_week')", "id": "flower", "cluster": "cluster"}
    return given | {"metric": "homogeneity_score"} | options


# Name of a case: (table, test, its arguments but minimum, the macro's score or an error's words).
REPORT = "FROM clustereval.external_report(flowers, species, cluster"
PAIR = (
    "WITH pair AS (SELECT 1 AS run, flower, {} AS cluster FROM last_week UNION ALL "
    "SELECT 2, flower, {} FROM flowers) "
    "SELECT score FROM clustereval.run_agreement(pair, flower, run, cluster{})"
)
HOMOGENEITY = ", metric := 'homogeneity_score'"
SCORED: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "plain": ("flowers", SCORE, LABELED, f"SELECT rand_score {REPORT})"),
    "weighted": (
        "flowers",
        SCORE,
        LABELED | {"weight": "times"},
        f"SELECT rand_score {REPORT}, weight := times)",
    ),
    "missing": (
        "flowers",
        SCORE,
        LABELED | {"label": "known"},
        "SELECT rand_score FROM clustereval.external_report(flowers, known, cluster)",
    ),
    "less_noise": (
        "flowers",
        SCORE,
        LABELED | {"noise": -1, "noise_as": "drop"},
        f"SELECT rand_score {REPORT}, noise := -1, noise_as := 'drop')",
    ),
    "by_run": (
        "flowers",
        SCORE,
        LABELED | {"partition_by": "run"},
        f"SELECT min(rand_score) {REPORT}, partition_by := run)",
    ),
    "by_run_and_times": (
        "flowers",
        SCORE,
        LABELED | {"partition_by": ["run", "times"]},
        f"SELECT min(rand_score) {REPORT}, partition_by := {{run: run, times: times}})",
    ),
    "options": (
        "flowers",
        SCORE,
        LABELED | {"metric": "v_measure_score", "beta": 0.25},
        f"SELECT v_measure_score {REPORT}, beta := 0.25)",
    ),
    "average": (
        "flowers",
        SCORE,
        LABELED | {"metric": "adjusted_mutual_info_score", "average_method": "max"},
        f"SELECT adjusted_mutual_info_score {REPORT}, average_method := 'max')",
    ),
    "quoted": (
        "flowers",
        SCORE,
        LABELED | {"cluster": 'odd "name"'},
        'SELECT rand_score FROM clustereval.external_report(flowers, species, "odd ""name""")',
    ),
    "agrees": ("flowers", AGREES, agreement(), PAIR.format("cluster", "cluster", HOMOGENEITY)),
    "agrees_less_noise": (
        "flowers",
        AGREES,
        agreement(noise=-1, noise_as="drop", previous_cluster="other"),
        PAIR.format("other", "cluster", f"{HOMOGENEITY}, noise := -1, noise_as := 'drop'"),
    ),
}
UNDEFINED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "no_row": ("no_row", SCORE, LABELED),
    "only_null": ("only_null", SCORE, LABELED),
    "undefined": ("one_row", SCORE, LABELED | {"metric": "russell_rao_index"}),
    "no_row_agrees": ("no_row", AGREES, COMPARED),
    "previous_is_empty": ("one_row", AGREES, COMPARED | {"previous": "ref('no_row')"}),
    "both_are_empty": ("no_row", AGREES, COMPARED | {"previous": "ref('no_row')"}),
}
PASSING = {"one_row": ("one_row", SCORE, LABELED), "equal": ("one_row", AGREES, COMPARED)}
PASSING["no_partition"] = ("no_row", SCORE, LABELED | {"partition_by": "id"})
FAULTY: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "misspelt_metric": (
        "one_row",
        SCORE,
        LABELED | {"metric": "rand_scor"},
        r'"rand_scor" not found .*\n.*"rand_score"',
    ),
    "misspelt_column": (
        "one_row",
        SCORE,
        LABELED | {"label": "specie"},
        r'"specie" not found .*\n.*"species"',
    ),
    "misspelt_metric_of_agreement": (
        "one_row",
        AGREES,
        COMPARED | {"metric": "rand'scor"},
        r"metric: expected one of 'rand_score', .* got 'rand'scor'",
    ),
    "an_id_twice": ("twice", AGREES, COMPARED, "id: .* 1"),
    "noise_of_another_type": (
        "one_row",
        SCORE,
        LABELED | {"noise": "none", "noise_as": "drop"},
        r"noise: .*'none'",
    ),
    "negative_weight": (
        "flowers",
        SCORE,
        LABELED | {"weight": "cluster"},
        "weight: .*-1",
    ),
    "minimum_as_text": ("one_row", SCORE, LABELED | {"minimum": "high"}, "minimum: .*, got high"),
    "minimum_as_truth": ("one_row", AGREES, COMPARED | {"minimum": True}, "minimum: .*, got True"),
    "beta_as_text": ("one_row", SCORE, LABELED | {"beta": "x"}, "beta: expected a number, got x"),
    "no_cluster": ("one_row", SCORE, LABELED | {"cluster": None}, "cluster: expected the name of"),
    "label_as_number": ("one_row", SCORE, LABELED | {"label": 7}, "label: .* a column, got 7"),
    "no_metric": ("one_row", SCORE, LABELED | {"metric": ""}, "metric: expected the name of a"),
    "id_as_number": ("one_row", AGREES, COMPARED | {"id": 1}, "id: .* a column, got 1"),
    "partition_by_nothing": ("one_row", SCORE, LABELED | {"partition_by": []}, r"got \[\]"),
}


def case(name: str, test: str, arguments: dict[str, Any], minimum: float) -> dict[str, Any]:
    return {f"clustereval.{test}": {"name": name, "arguments": {"minimum": minimum} | arguments}}


def macros_of_seeds() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    ce.register(con)
    for name, query in SEEDS.items():
        con.execute(f"CREATE TABLE {name} AS {query}")
    return con


@pytest.fixture(scope="module")
def scores() -> dict[str, float]:
    con = macros_of_seeds()
    return {name: con.execute(query).fetchall()[0][0] for name, (*_, query) in SCORED.items()}


def all_cases(scores: dict[str, float]) -> list[tuple[str, dict[str, Any]]]:
    """The table of each case, and the case: those with a score once at it and once above it."""
    found = []
    for name, (table, test, arguments, _) in SCORED.items():
        found.append((table, case(f"{name}_at", test, arguments, scores[name] - 1e-12)))
        found.append((table, case(f"{name}_above", test, arguments, scores[name] + 1e-12)))
    for name, (table, test, arguments) in UNDEFINED.items():
        found.append((table, case(f"{name}_is_undefined", test, arguments, -1e9)))
    for name, (table, test, arguments) in PASSING.items():
        found.append((table, case(f"{name}_passes", test, arguments, 1)))
    for name, (table, test, arguments, _) in FAULTY.items():
        found.append((table, case(name, test, arguments, 0.5)))
    return found


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory, scores: dict[str, float]) -> tuple[Path, str]:
    """A project with the files of docs/dbt.md and all cases, built once; and what dbt printed."""
    folder = make_project(tmp_path_factory.mktemp("dbt"))
    tables: dict[str, list[dict[str, Any]]] = {}
    for table, given in all_cases(scores):
        tables.setdefault(table, []).append(given)
    models = [{"name": table, "data_tests": given} for table, given in tables.items()]
    (folder / "models" / "cases.yml").write_text(json.dumps({"models": models}), "utf-8")
    return folder, run_dbt(folder, "build", "--store-failures", works=False)


def make_project(folder: Path) -> Path:
    (folder / "models").mkdir()
    for name, body in PAGE_FILES.items():
        (folder / name).write_text(body, "utf-8")
    for name, query in SEEDS.items():
        config = "{{ config(materialized='table') }}\n"
        (folder / "models" / f"{name}.sql").write_text(config + query, "utf-8")
    project = {
        "name": "pages",
        "profile": "nightly",
        "flags": {"send_anonymous_usage_stats": False},
    }
    (folder / "dbt_project.yml").write_text(json.dumps(project), "utf-8")
    install_package(folder)
    return folder


def test_the_page_has_files() -> None:
    assert set(PAGE_FILES) == {
        "profiles.yml",
        "models/models.yml",
        "models/scores.sql",
        "models/report.sql",
    }


@wide
@needs_dbt
def test_the_score_is_that_of_the_macro(tested: tuple[Path, str], scores: dict[str, float]) -> None:
    """A minimum just below the score passes, one just above fails, and keeps the row."""
    found = statuses(tested[0])
    assert {name: found[f"{name}_at"] for name in SCORED} == dict.fromkeys(SCORED, "pass")
    assert {name: found[f"{name}_above"] for name in SCORED} == dict.fromkeys(SCORED, "fail")
    with duckdb.connect(tested[0] / "nightly.duckdb", read_only=True) as con:
        for name in SCORED:
            stored = f"SELECT min(score), min(minimum) FROM main_dbt_test__audit.{name}_above"
            score, minimum = con.execute(stored).fetchall()[0]
            assert score == pytest.approx(scores[name], rel=1e-13)
            assert minimum == scores[name] + 1e-12


@wide
@needs_dbt
def test_degenerate_tables(tested: tuple[Path, str]) -> None:
    found = statuses(tested[0])
    undefined = {name: found[f"{name}_is_undefined"] for name in UNDEFINED}
    assert undefined == dict.fromkeys(UNDEFINED, "fail")
    assert {name: found[f"{name}_passes"] for name in PASSING} == dict.fromkeys(PASSING, "pass")


@wide
@needs_dbt
@pytest.mark.parametrize("name", FAULTY)
def test_invalid_arguments_are_errors(tested: tuple[Path, str], name: str) -> None:
    folder, out = tested
    assert statuses(folder)[name] == "error"
    [message] = re.findall(rf"\[ERROR\]: in test {name} .*?compiled code", out, re.DOTALL)
    assert re.search(FAULTY[name][-1], message), message


@wide
@needs_dbt
def test_the_files_of_the_page(tested: tuple[Path, str]) -> None:
    found = statuses(tested[0])
    models = ("assignments", "scores", "report")
    assert {name: found[name] for name in models} == dict.fromkeys(models, "success")
    scored, compared = (
        next(status for name, status in found.items() if name.startswith(f"clustereval_{test}"))
        for test in (SCORE, AGREES)
    )
    assert (scored, compared) == ("pass", "pass")


# The plugin --------------------------------------------------------------------------------------


def test_the_plugin_without_dbt() -> None:
    code = "import sys; sys.modules['dbt'] = None; import polars_clustereval.dbt"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith(
        "ImportError: the dbt plugin needs dbt-duckdb: pip install 'polars_clustereval[dbt]'"
    )


@needs_dbt
def test_the_plugin_serves_every_cursor() -> None:
    from polars_clustereval.dbt import Plugin, package_folder

    con = duckdb.connect()
    Plugin("clustereval", {}).configure_connection(con)
    query = "SELECT clustereval.rand_score(x, x) FROM range(3) AS t (x)"
    assert con.cursor().execute(query).fetchone() == (1.0,)
    assert package_folder() == ROOT / "dbt_package"


def test_the_package_has_the_version_of_the_macros() -> None:
    text = (ROOT / "dbt_package" / "dbt_project.yml").read_text("utf-8")
    assert f"version: {ce.__version__}\n" in text
