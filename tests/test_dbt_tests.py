"""The generic tests of the dbt package, on tables of cases and as docs/dbt.md shows them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import polars_clustereval as ce

from .support.dbt_projects import ROOT, install_package, needs_dbt, run_dbt, statuses

if TYPE_CHECKING:
    from pathlib import Path

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


def scores_of_macros() -> dict[str, float]:
    con = duckdb.connect()
    ce.register(con)
    for name, query in SEEDS.items():
        con.execute(f"CREATE TABLE {name} AS {query}")
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
        "models/daily_scores.sql",
    }


@pytest.mark.wide
@needs_dbt
def test_all_cases_in_one_build(tmp_path: Path) -> None:
    scores = scores_of_macros()
    make_project(tmp_path)
    tables: dict[str, list[dict[str, Any]]] = {}
    for table, given in all_cases(scores):
        tables.setdefault(table, []).append(given)
    models = [{"name": table, "data_tests": given} for table, given in tables.items()]
    (tmp_path / "models" / "cases.yml").write_text(json.dumps({"models": models}), "utf-8")
    out = run_dbt(tmp_path, "build", "--store-failures", works=False)
    found = statuses(tmp_path)
    check_scores(tmp_path, found, scores)
    check_degenerate_tables(found)
    check_errors(found, out)
    check_page(found)


def check_scores(folder: Path, found: dict[str, str], scores: dict[str, float]) -> None:
    """A minimum just below the macro's score passes, one just above fails, and keeps the row."""
    assert {name: found[f"{name}_at"] for name in SCORED} == dict.fromkeys(SCORED, "pass")
    assert {name: found[f"{name}_above"] for name in SCORED} == dict.fromkeys(SCORED, "fail")
    with duckdb.connect(folder / "nightly.duckdb", read_only=True) as con:
        for name in SCORED:
            stored = f"SELECT min(score), min(minimum) FROM main_dbt_test__audit.{name}_above"
            score, minimum = con.execute(stored).fetchall()[0]
            assert score == pytest.approx(scores[name], rel=1e-13)
            assert minimum == scores[name] + 1e-12


def check_degenerate_tables(found: dict[str, str]) -> None:
    undefined = {name: found[f"{name}_is_undefined"] for name in UNDEFINED}
    assert undefined == dict.fromkeys(UNDEFINED, "fail")
    assert {name: found[f"{name}_passes"] for name in PASSING} == dict.fromkeys(PASSING, "pass")


def check_errors(found: dict[str, str], out: str) -> None:
    assert {name: found[name] for name in FAULTY} == dict.fromkeys(FAULTY, "error")
    for name, (*_, words) in FAULTY.items():
        [message] = re.findall(rf"\[ERROR\]: in test {name} .*?(?=\[ERROR\]|\Z)", out, re.DOTALL)
        assert re.search(words, message), message


def check_page(found: dict[str, str]) -> None:
    models = ("assignments", "scores", "report", "daily_scores")
    assert {name: found[name] for name in models} == dict.fromkeys(models, "success")
    for test in (SCORE, AGREES):
        given = {name: x for name, x in found.items() if name.startswith(f"clustereval_{test}")}
        assert list(given.values()) == ["pass"]
