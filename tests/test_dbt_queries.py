"""The queries of the dbt package: written anew, read by sqlglot, and run on Postgres."""

from __future__ import annotations

import json
import math
import random
import shutil
from datetime import date
from decimal import Decimal
from importlib.util import find_spec
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import duckdb
import jinja2
import polars as pl
import pytest
import sqlglot

from tools import dbt_package, dbt_queries, dbt_words

from .support import sql_engines
from .support.dbt_projects import ROOT, install_package, is_dbt_installed, needs_dbt, run_dbt

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "dbt_project"
QUERIES = dbt_package.MACROS / "queries"
EACH_QUERY = list(product(dbt_package.ORDERS, dbt_queries.ADAPTERS))
COORDINATES = ["a", "b", "c"]
GIVEN = {
    "tbl": "t",
    "tbl_before": "t_1",
    "tbl_after": "t_2",
    "label": "l",
    "cluster": "k",
    "weight": "w",
    "id": "i",
    "noise": "-1",
    "vector": COORDINATES,
    "beta": "1.0",
    "threshold": "0.5",
    "min_share": "0.0",
    "average_method": "max",
    "split_cost": "unit",
    "merge_cost": "unit",
}

wide = pytest.mark.wide
NO_POSTGRES = sql_engines.reason_to_skip("postgres")
if NO_POSTGRES is None and is_dbt_installed() and find_spec("dbt.adapters.postgres") is None:
    NO_POSTGRES = "no dbt-postgres: pip install dbt-postgres"
needs_postgres = pytest.mark.skipif(NO_POSTGRES is not None, reason=str(NO_POSTGRES))


# What is generated -------------------------------------------------------------------------------


def words_of(adapter: str) -> dict[str, str]:
    """What the macro of the words of an adapter returns."""
    words: list[dict[str, str]] = []
    macro = jinja2.Environment().from_string((QUERIES / "words.sql").read_text("utf-8"))
    module = macro.make_module({"return": words.append})
    getattr(module, f"{adapter}__words")()
    return words[0]


def render(text: str, given: dict[str, Any], words: dict[str, str] | None = None) -> str:
    macros = SimpleNamespace(words=lambda: words)
    template = jinja2.Environment().from_string(text)
    return " ".join(template.render(given=given, clustereval=macros).split())


def draw_choices(table: str, adapter: str, seed: int) -> dict[str, Any]:
    draw = random.Random(f"{table} {adapter} {seed}")
    return {axis.parameter: draw.choice(list(axis.choices)) for axis in dbt_queries.axes_of(table)}


def check_query(table: str, adapter: str, choices: dict[str, Any]) -> None:
    """The committed query against one that is written now; and sqlglot reads it in its dialect."""
    text = (QUERIES / f"{table}.sql").read_text("utf-8")
    head, _, body = text.removesuffix("{%- endmacro %}\n").partition(" -%}\n")
    assert head.endswith(f"{{% macro default__{table}_query(given)")
    given = GIVEN | choices
    found = render(body, given, words_of(adapter))
    parts = [part for _, part in dbt_queries.query_parts(table, adapter, choices)]
    loops = "{% set coordinates = range(1, given.vector | length + 1) %}"
    assert found == render(loops + "WITH " + " ".join(parts), given), "make dbt"
    assert sqlglot.parse_one(found, dialect=adapter).find(sqlglot.exp.With)


@pytest.mark.parametrize("adapter", dbt_queries.ADAPTERS)
@pytest.mark.parametrize("table", ["pair_counts", "centroids"])
def test_no_query_is_stale(table: str, adapter: str) -> None:
    check_query(table, adapter, draw_choices(table, adapter, 0))


@wide
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("table", "adapter"), EACH_QUERY)
def test_no_query_is_stale_for_other_choices(table: str, adapter: str, seed: int) -> None:
    check_query(table, adapter, draw_choices(table, adapter, seed))


def test_the_macros_of_tables_are_not_stale() -> None:
    tables = (dbt_package.MACROS / "tables.sql").read_text("utf-8")
    assert tables == dbt_package.tables_text(), "make dbt"
    for path, text in dbt_package.words_file().items():
        assert path.read_text("utf-8") == text, "make dbt"
    found = {path.stem for path in QUERIES.glob("**/*.sql")}
    assert found == {*dbt_package.ORDERS, "words"}, "make dbt"


def test_another_query_is_stale() -> None:
    choices = draw_choices("pair_counts", "postgres", 0)
    changed = choices | {"partition_by": None if choices["partition_by"] else "day"}
    one, two = (
        dict(dbt_queries.query_parts("pair_counts", "postgres", x)) for x in (choices, changed)
    )
    assert one != two


# Words of adapters in one text ------------------------------------------------------------------


WORDS_OF_TEXTS = [
    "CAST(a AS DOUBLE PRECISION) / NULLIF(b, 0)",
    "a / nullIf(b, 0)",
    "a / NULLIF(b, CAST(0 AS Nullable(Float64)))",
    "{% for i in coordinates %}x{{ i }}{% if not loop.last %}, {% endif %}{% endfor %} FROM t",
    "{% for i in coordinates %}y{{ i }} + 1{% if not loop.last %}, {% endif %}{% endfor %} FROM t",
    "(a, ((b)))",
    "",
]


@pytest.mark.parametrize("seed", range(100))
def test_one_text_becomes_that_of_each_adapter(seed: int) -> None:
    draw = random.Random(seed)
    adapters = dbt_words.ADAPTERS
    parts = [[draw.choice(WORDS_OF_TEXTS) for _ in range(3)] for _ in adapters]
    texts = [" + ".join(x) for x in parts]
    joined = dbt_words.join_adapters(*texts)
    loops = "{% set coordinates = range(1, 4) %}"
    for adapter, text in zip(adapters, texts, strict=True):
        sql = f"{{% set sql = {words_of(adapter)} %}}"
        assert render(sql + loops + joined, {}) == render(loops + text, {})


def test_words_stand_for_what_each_adapter_writes() -> None:
    texts = [f"CAST(a AS {x})" for x in dbt_words.WORDS["double"]]
    assert dbt_words.join_adapters(*texts) == "CAST(a AS {{ sql.double }})"
    fractions = ["a / b", "a / b", "CAST(a AS DOUBLE PRECISION) / b", "a / b", "a / b"]
    joined = "{{ sql.dividend }}a {{ sql.end_dividend }}/ b"
    assert dbt_words.join_adapters(*fractions) == joined


# Choices in one text -----------------------------------------------------------------------------


TEXTS = ["SELECT a, b FROM t", "SELECT b FROM t", "SELECT a, c FROM t GROUP BY a", ""]


@pytest.mark.parametrize("seed", range(50))
def test_one_text_becomes_each_of_the_texts(seed: int) -> None:
    draw = random.Random(seed)
    axes = [
        dbt_queries.Axis("x", {1: "given.x == 1", 2: "given.x == 2", 3: dbt_queries.ELSE}),
        dbt_queries.Axis("y", {None: "given.y is none", "k": "given.y"}),
    ]
    texts = {choices: draw.choice(TEXTS) for choices in product((1, 2, 3), (None, "k"))}
    merged = dbt_queries.write_choices(texts, axes)
    for (x, y), text in texts.items():
        assert render(merged, {"x": x, "y": y}) == text


# On Postgres -------------------------------------------------------------------------------------


def write_project(folder: Path, models: dict[str, str], socket: str) -> None:
    """A project with two targets, duckdb and postgres."""
    (folder / "models").mkdir()
    for name, text in models.items():
        (folder / "models" / f"{name}.sql").write_text(text, "utf-8")
    project = {
        "name": "tables",
        "profile": "tables",
        "models": {"+materialized": "table"},
        "flags": {"send_anonymous_usage_stats": False},
    }
    (folder / "dbt_project.yml").write_text(json.dumps(project), "utf-8")
    plugins = [{"module": "polars_clustereval.dbt"}]
    outputs = {
        "duckdb": {"type": "duckdb", "path": "tables.duckdb", "plugins": plugins},
        "postgres": {
            "type": "postgres",
            "host": socket,
            "port": 5432,
            "user": "tester",
            "password": "",
            "dbname": "postgres",
            "schema": "tables",
            "threads": 2,
        },
    }
    profiles = {"tables": {"target": "duckdb", "outputs": outputs}}
    (folder / "profiles.yml").write_text(json.dumps(profiles), "utf-8")
    install_package(folder)


def model_of_points(seed: int) -> str:
    """A model of 200 points with noise, missing labels and weights, as literals."""
    draw = random.Random(seed)
    rows = []
    for i in range(200):
        k = draw.randrange(5)
        label = f"'{'abcde'[k]}'" if draw.random() < 0.95 else "null"
        cluster = draw.choice([k, k, k, draw.randrange(6), -1, "null"])
        x, y = (round(draw.gauss(center, 1), 3) for center in (3 * k, k % 2 * 4))
        rows.append(f"({i}, 'd{i % 3}', {label}, {cluster}, {x}, {y}, {draw.randrange(1, 4)})")
    types = {"id": "bigint", "day": "varchar(9)", "label": "varchar(9)", "cluster": "bigint"}
    types |= {"x": "double precision", "y": "double precision", "w": "bigint"}
    columns = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind in types.items())
    return f"select {columns} from (values {', '.join(rows)}) as v({', '.join(types)})"


def calls_of_all_tables() -> dict[str, str]:
    """Calls of each table by the name of a model: all rows, a partition, noise in three ways."""
    options = [
        "",
        "partition_by='day'",
        "noise=-1, noise_as='drop'",
        "partition_by='day', noise=-1, noise_as='singletons'",
        "noise=-1, noise_as='cluster'",
    ]
    distances = ["cosine", "sqeuclidean", "cosine", "sqeuclidean", "cosine"]
    models = {}
    for table in dbt_package.ORDERS:
        parameters = dbt_package.macro_parameters_of(table)
        for number, option in enumerate(options):
            given = [option] if option else []
            if "vector" in parameters:
                columns = "ref('points'), ['x', 'y'], 'cluster'"
                euclidean = number in (0, 3) and not table.startswith("silhouette")
                given.append(f"distance='{'euclidean' if euclidean else distances[number]}'")
            elif "tbl_before" in parameters:
                columns = "ref('points'), ref('later'), 'id', 'cluster'"
            else:
                columns = "ref('points'), 'label', 'cluster'"
                given += ["weight='w'"] * ("weight" in parameters and number % 2)
            given += ["id='id'"] * ("id" in parameters and "tbl" in parameters)
            call = f"clustereval.{table}({', '.join([columns, *given])})"
            models[f"{table}_{number}"] = f"{{{{ {call} }}}}"
    return models


OF_SOME_COLUMNS = {
    "some_scores": (
        "external_report(ref('points'), 'label', 'cluster', average_method='min', beta=0.5, "
        "metrics=['v_measure_score', 'adjusted_mutual_info_score'])"
    ),
    "some_costs": (
        "entity_resolution_report(ref('points'), 'label', 'cluster', merge_cost='product')"
    ),
    "some_links": (
        "run_transitions(ref('points'), ref('later'), 'id', 'cluster', threshold=0.4, "
        "min_share=0.1)"
    ),
}


def in_order_of_keys(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by their keys; singletons of noise, whose keys are equal, by their numbers."""
    keys = ("partition_key", "id", "label", "cluster", "cluster_before", "cluster_after", "n")

    def order(row: dict[str, Any]) -> tuple[list[str], list[float]]:
        values = [
            x for value in row.values() for x in (value if isinstance(value, list) else [value])
        ]
        numbers = [round(float(x), 6) for x in values if isinstance(x, int | float | Decimal)]
        return [str(row.get(key)) for key in keys], numbers

    return sorted(rows, key=order)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if one is None or other is None or isinstance(one, str):
        return bool(one == other)
    return math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-12)


def compare_tables(database: Path, socket: str, schema: str, names: list[str]) -> int:
    """Compare tables of both targets, and return how many values are equal; others fail."""
    n_same = 0
    with duckdb.connect(database, read_only=True) as con:
        for name in names:
            wanted = sql_engines.rows_of(con.execute(f"FROM {name}"))
            found = sql_engines.query_postgres(socket, f'SELECT * FROM {schema}."{name}"')
            assert len(wanted) == len(found), name
            for row, other in zip(in_order_of_keys(wanted), in_order_of_keys(found), strict=True):
                assert list(row) == list(other), name
                for column, value in row.items():
                    shown = str(value) if isinstance(value, date) else value
                    assert same(shown, other[column]), (name, column, value, other[column])
                    n_same += 1
    return n_same


def test_other_values_are_not_the_same() -> None:
    assert same([1, 2.0], [1.0, 2])
    assert not same(1.0, 1.00001)
    assert not same([1.0], [1.0, 2.0])
    assert not same(None, 0.0)
    assert not same("a", "b")


@wide
@needs_dbt
@needs_postgres
def test_all_tables_on_postgres_equal_those_on_duckdb(tmp_path: Path) -> None:
    models = calls_of_all_tables()
    models |= {name: f"{{{{ clustereval.{call} }}}}" for name, call in OF_SOME_COLUMNS.items()}
    tables = {"points": model_of_points(1), "later": model_of_points(2)}
    with sql_engines.postgres_server() as socket:
        write_project(tmp_path, models | tables, socket)
        for target in ("duckdb", "postgres"):
            run_dbt(tmp_path, "run", "--target", target)
        n_same = compare_tables(tmp_path / "tables.duckdb", socket, "tables", list(models))
    assert n_same > 10_000
    compiled = tmp_path / "target" / "compiled" / "tables" / "models" / "some_scores.sql"
    assert compiled.read_text("utf-8").startswith("select v_measure_score, adjusted_mutual")


@wide
@needs_dbt
@needs_postgres
def test_the_example_on_postgres_equals_that_on_duckdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project"
    skipped = shutil.ignore_patterns("target", "logs", "dbt_packages", "*.duckdb", ".user.yml")
    shutil.copytree(EXAMPLE, folder, ignore=skipped)
    install_package(folder)
    with sql_engines.postgres_server() as socket:
        monkeypatch.setenv("PGHOST", socket)
        monkeypatch.setenv("PGUSER", "tester")
        for target in ("duckdb", "postgres"):
            run_dbt(folder, "build", "--target", target)
        names = ["daily_report", "overall_report"]
        database = folder / "nightly_clusters.duckdb"
        assert compare_tables(database, socket, "nightly_clusters", names) > 200
        # A minimum that no score reaches fails there too.
        path = folder / "models" / "models.yml"
        path.write_text(path.read_text("utf-8").replace("minimum: 0.", "minimum: 1."), "utf-8")
        out = run_dbt(folder, "test", "--target", "postgres", works=False)
        assert "ERROR=2" in out
        # So does an id that is twice: its score is undefined, below any minimum.
        path.write_text(path.read_text("utf-8").replace("minimum: 1.", "minimum: -1."), "utf-8")
        run_dbt(folder, "test", "--target", "postgres")
        night = folder / "models" / "latest_night.sql"
        night.write_text(f"{night.read_text('utf-8')}\nunion all select 0, 0", "utf-8")
        run_dbt(folder, "run", "--target", "postgres", "--select", "latest_night")
        out = run_dbt(folder, "test", "--target", "postgres", works=False)
        assert "ERROR=1" in out


EDGES = "ref('people'), {id}, ref('links'), {left}, {right}"
ONE_COLUMN = EDGES.format(id="'record'", left="'record_l'", right="'record_r'")
TWO_COLUMNS = EDGES.format(
    id="['source_dataset', 'unique_id']",
    left="['source_dataset_l', 'unique_id_l']",
    right="['source_dataset_r', 'unique_id_r']",
)
CALLS_OF_EDGES = {
    "clusters": f"connected_components({ONE_COLUMN}, weight='match_probability', threshold=0.8)",
    "clusters_of_two": (
        f"connected_components({TWO_COLUMNS}, weight='match_probability', threshold=0.8)"
    ),
    "thresholds": (
        f"threshold_report({TWO_COLUMNS}, 'match_probability', label='person', "
        "thresholds=[0.5, 0.8], metrics=['n_clusters', 'pair_precision'])"
    ),
    "estimates": (
        f"threshold_report({TWO_COLUMNS}, 'match_probability', label='reviewed', "
        "thresholds=[0.5, 0.8], labels_are_sample='uniform', metrics=['pair_precision'])"
    ),
}


@pytest.mark.gate
@needs_dbt
def test_clusters_from_edges_on_duckdb(tmp_path: Path) -> None:
    people, links = (ROOT / "examples" / f"{name}.parquet" for name in ("people", "people_links"))
    ends = ", ".join(
        f"concat(source_dataset{end}, unique_id{end}) as record{end}" for end in ("_l", "_r")
    )
    reviewed = "case when person % 5 = 0 then person end as reviewed"
    record = "concat(source_dataset, unique_id) as record"
    models = {
        "people": f"select *, {record}, {reviewed} from '{people}'",
        "links": f"select *, {ends} from '{links}'",
    }
    calls = {name: f"{{{{ clustereval.{call} }}}}" for name, call in CALLS_OF_EDGES.items()}
    write_project(tmp_path, models | calls, "nowhere")
    run_dbt(tmp_path, "run", "--target", "duckdb")
    with duckdb.connect(tmp_path / "tables.duckdb", read_only=True) as con:
        rows = {name: con.execute(f"FROM {name} ORDER BY ALL").fetchall() for name in calls}
    assert len(rows["clusters"]) == len(rows["clusters_of_two"]) == 1_000
    # The scores of the tutorial.
    assert [(x, n, round(score, 3)) for x, n, score in rows["thresholds"]] == [
        (0.5, 311, 0.936),
        (0.8, 328, 1.0),
    ]
    assert len({cluster for *_, cluster in rows["clusters"]}) == 328
    assert len({str(cluster) for *_, cluster in rows["clusters_of_two"]}) == 328
    assert [(x, round(score, 3)) for x, score in rows["estimates"]] == [(0.5, 0.971), (0.8, 1.0)]


@pytest.mark.gate
@needs_dbt
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            "connected_components(ref('people'), 'record', ref('links'), ['a', 'b'], 'c')",
            "left: expected as many columns as id, 1, got a, b",
        ),
        (
            "connected_components(ref('people'), none, ref('links'), 'a', 'b')",
            "id: expected the name of a column, got None",
        ),
        (
            f"threshold_report({ONE_COLUMN}, 'w', thresholds=0.5)",
            "thresholds: expected a list of numbers, got 0.5",
        ),
        (
            f"threshold_report({ONE_COLUMN}, 'w', thresholds=['high'])",
            "thresholds: expected a number, got high",
        ),
    ],
)
def test_wrong_arguments_of_edges(tmp_path: Path, call: str, words: str) -> None:
    models = {"people": "select 1 as record", "links": "select 1 as record_l"}
    write_project(tmp_path, models | {"wrong": f"{{{{ clustereval.{call} }}}}"}, "nowhere")
    out = run_dbt(tmp_path, "compile", "--target", "duckdb", works=False)
    assert words in " ".join(out.split())


@wide
@needs_dbt
@needs_postgres
def test_clusters_from_edges_need_duckdb(tmp_path: Path) -> None:
    call = f"connected_components({ONE_COLUMN})"
    models = {"people": "select 1 as record", "links": "select 1 as record_l"}
    with sql_engines.postgres_server() as socket:
        write_project(tmp_path, models | {"wrong": f"{{{{ clustereval.{call} }}}}"}, socket)
        out = run_dbt(tmp_path, "compile", "--target", "postgres", works=False)
    assert "connected_components needs the adapter duckdb, got postgres" in " ".join(out.split())


def test_the_seed_has_the_rows_of_the_files() -> None:
    files = [
        pl.read_parquet(path).select(
            pl.lit(path.stem).alias("day"), *map(pl.col, ("id", "digit", "cluster"))
        )
        for path in sorted((EXAMPLE / "nights").glob("*.parquet"))
    ]
    assert pl.read_csv(EXAMPLE / "seeds" / "nights.csv").equals(pl.concat(files))


@wide
@needs_dbt
@needs_postgres
@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("noise=-1", "noise_as: expected one of cluster, drop, singletons if noise is given"),
        ("noise_as='drop'", "noise_as: expected .* got drop with noise null"),
        ("noise=-1, noise_as='gone'", "noise_as: expected one of cluster, .* got gone"),
        (
            "partition_by=['a', 'b']",
            "partition_by: expected one column on postgres, got a, b; combine .* concat",
        ),
        ("metrics='n'", r"metrics: expected a list of columns, .* got n"),
        ("average_method='mean'", "average_method: expected one of arithmetic, .* got mean"),
    ],
)
def test_errors_before_the_query_runs(tmp_path: Path, call: str, words: str) -> None:
    models = {"wrong": f"{{{{ clustereval.external_report('t', 'l', 'k', {call}) }}}}"}
    with sql_engines.postgres_server() as socket:
        write_project(tmp_path, models, socket)
        out = run_dbt(tmp_path, "compile", "--target", "postgres", works=False)
    assert pl.Series([" ".join(out.split())]).str.contains(words).all(), out
