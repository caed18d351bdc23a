"""Columns and tables of any name, also one that the macros or functions use inside: no error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

from tests.support import macro_calls
from tests.support.compare import assert_metrics, assert_rows, assert_same
from tests.support.engines import (
    TABLES,
    Column,
    Engine,
    Expression,
    Row,
    fetched,
    literal,
    make,
    quoted,
    report,
)
from tests.support.oracle import exact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


PARAMETERS = (
    "tbl",
    "label",
    "cluster",
    "weight",
    "partition_by",
    "noise",
    "noise_as",
    "average_method",
    "beta",
    "adjusted",
    "id",
)
RESULTS = ("n", "copies", "size", "x", "y", "partition_key", "literal", "len", "count", "value")
ODD = (
    'a "quoted" name',
    "it's",
    "two words",
    "größe",
    "🦆",
    "select",
    "GROUP",
    " ",
    "a.b",
    "$1",
    "*",
    "^.*$",
)
ROOT = Path(__file__).parents[2]


def sources_of(folder: str, ending: str) -> str:
    """The files of one side that the external indices are made of."""
    paths = [path for part in ("base", "external") for path in (ROOT / folder / part).glob(ending)]
    return "".join(path.read_text(encoding="utf-8") for path in sorted(paths))


SQL, PYTHON = sources_of("sql", "*.sql"), sources_of("polars_clustereval", "*.py")
LAMBDA = sorted(set(re.findall(r"lambda (\w+):", SQL)))
WORDS = sorted({word for word in re.findall(r'"(\w+)"', PYTHON) if word.isidentifier()})
# What a result of contingency_matrix has itself, or the frames of these tests.
CLASHES = {"label", "cluster", "n", "copies", "u", "v", "plain"}
# One of each way to go through the rows; the other metrics end in the same statistics.
SEVERAL = ("adjusted_rand_score", "v_measure_score", "purity", "bcubed_f_score")
# What `check_columns`, and `check_report` with `check_scalars`, call.
CELLS_AND_RECORDS = ("contingency_matrix", "bcubed_samples")
REPORTS = ("external_report", *SEVERAL)


def test_there_are_inner_names() -> None:
    inner = [set(inner_names(make("duckdb"), *names)) for names in (CELLS_AND_RECORDS, REPORTS)]
    assert all(len(names) > 30 and {"__ce_cluster", "copies"} < names for names in inner)
    assert {"pair", "noisy"} < set(WORDS)
    assert len(LAMBDA) > 1


ROWS = [("a", 0), ("a", 0), ("a", 1), ("b", 1), ("b", 1), ("c", 1)]
CELLS = [("a", 0, 2), ("a", 1, 1), ("b", 1, 2), ("c", 1, 1)]
COUNTED = [
    dict(zip(("label", "cluster", "n"), cell, strict=True)) | {"copies": 1} for cell in CELLS
]


def odd_frame(label: str, cluster: str) -> pl.DataFrame:
    return pl.DataFrame(ROWS, schema=[label, cluster], orient="row")


def check_report(side: Engine, label: Column, cluster: Column, frame: pl.DataFrame) -> None:
    [row] = report(side, frame, label=label, cluster=cluster)
    assert_metrics(row, exact(CELLS), what=(label, cluster))


def check_scalars(side: Engine, label: Column, cluster: Column, frame: pl.DataFrame) -> None:
    wanted = exact(CELLS)
    [row] = side.scalars(frame, label, cluster, metrics=SEVERAL)
    for metric in SEVERAL:
        assert_same(row[metric], wanted[metric], bounded=True, what=f"{metric}({label}, {cluster})")


def check_columns(side: Engine, label: Column, cluster: Column, frame: pl.DataFrame) -> None:
    """Rows are read in two places only: where cells are counted and where records are."""
    cells = side.table("contingency_matrix", frame, label, cluster)
    assert [first(row) for row in cells] == COUNTED, (label, cluster)
    records = side.table("bcubed_samples", frame, label, cluster)
    pairs = [(row["label"], row["cluster"]) for row in map(first, records)]
    assert pairs == ROWS, (label, cluster)


def first(row: Row) -> Row:
    """The row with a value in place of each list of equal values."""
    for name in ("label", "cluster"):
        if isinstance(row[name], list):
            assert len(set(row[name])) == 1
            row[name] = row[name][0]
    return row


def calls(name: str) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """The name as that of label and as that of cluster, next to a plain one."""
    for label, cluster in ((name, "plain"), ("plain", name)):
        yield label, cluster, odd_frame(label, cluster)


def listed_calls(
    side: Engine, names: Sequence[str]
) -> Iterator[tuple[Column, Column, pl.DataFrame]]:
    """All names in one argument, a list of the columns: one that is captured has other values."""
    listed = side.listed(names)
    yield listed, "plain", many_names(names, LABELS, plain=CLUSTERS)
    yield "plain", listed, many_names(names, CLUSTERS, plain=LABELS)


def many_names(names: Sequence[str], values: Sequence[Any], **more: Sequence[Any]) -> pl.DataFrame:
    return pl.DataFrame(dict.fromkeys(names, values) | more)


LABELS, CLUSTERS = ([row[i] for row in ROWS] for i in (0, 1))


def inner_names(side: Engine, *functions: str) -> list[str]:
    """The names of inner columns in what these functions call.

    On the Polars side any word of the source can be one.
    """
    if side.name != "duckdb":
        return WORDS
    return sorted({name for one in functions for name in macro_calls.inner_names_of(one)})


@pytest.mark.parametrize("name", [*PARAMETERS, *RESULTS, *ODD])
def test_columns_of_any_name(side: Engine, name: str) -> None:
    for label, cluster, frame in calls(name):
        check_columns(side, label, cluster, frame)


def test_two_columns_named_like_parameters(side: Engine) -> None:
    """One argument has the name of the other's parameter, or both have one."""
    for label, cluster in (("cluster", "label"), ("weight", "cluster"), ("label", "tbl")):
        check_columns(side, label, cluster, odd_frame(label, cluster))


def test_columns_named_like_inner_ones(side: Engine) -> None:
    for label, cluster, frame in listed_calls(side, inner_names(side, *CELLS_AND_RECORDS)):
        check_columns(side, label, cluster, frame)


@pytest.mark.gate
def test_reports_and_aggregates_of_columns_of_any_name(side: Engine) -> None:
    names = sorted({*PARAMETERS, *RESULTS, *ODD, *LAMBDA, *inner_names(side, *REPORTS)})
    for label, cluster, frame in listed_calls(side, names):
        check_report(side, label, cluster, frame)
        check_scalars(side, label, cluster, frame)


@pytest.mark.wide
def test_a_column_named_like_an_inner_one(side: Engine) -> None:
    for name in inner_names(side, *CELLS_AND_RECORDS):
        for label, cluster, frame in calls(name):
            check_columns(side, label, cluster, frame)


@pytest.mark.wide
@pytest.mark.parametrize("name", [*PARAMETERS, *RESULTS, *ODD, *LAMBDA])
def test_reports_and_aggregates_of_a_column_of_any_name(side: Engine, name: str) -> None:
    for label, cluster, frame in calls(name):
        check_report(side, label, cluster, frame)
        check_scalars(side, label, cluster, frame)


def check_weight_and_key(side: Engine, name: str) -> None:
    frame = pl.DataFrame(CELLS, schema=["u", "v", name], orient="row")
    cells = side.table("contingency_matrix", frame, "u", "v", weight=name)
    assert cells == COUNTED, name
    keyed = odd_frame("u", "v").with_columns(pl.lit("run").alias(name))
    cells = side.table("contingency_matrix", keyed, "u", "v", partition_by=name)
    assert cells == [{name: "run"} | cell for cell in COUNTED], name


@pytest.mark.parametrize("names", [PARAMETERS[3:], ODD], ids=["parameters", "odd"])
def test_weights_and_keys_of_any_name(side: Engine, names: Sequence[str]) -> None:
    for name in names:
        check_weight_and_key(side, name)


def test_weights_and_keys_named_like_inner_ones(side: Engine) -> None:
    """The weight is the sum of all columns, which one that is captured changes."""
    names = [name for name in inner_names(side, "contingency_matrix") if name not in CLASHES]
    label, cluster, counts = zip(*CELLS, strict=True)
    frame = many_names(names, counts, u=label, v=cluster)
    cells = side.table("contingency_matrix", frame, "u", "v", weight=sum_of(side, names))
    assert cells == [cell | {"n": len(names) * cell["n"]} for cell in COUNTED]
    frame = many_names(names, ["run"] * len(ROWS), u=LABELS, v=CLUSTERS)
    cells = side.table("contingency_matrix", frame, "u", "v", partition_by=names)
    assert cells == [dict.fromkeys(names, "run") | cell for cell in COUNTED]


def sum_of(side: Engine, names: Sequence[str]) -> Column:
    if side.name == "duckdb":
        return Expression(" + ".join(map(quoted, names)))
    return pl.sum_horizontal(names, ignore_nulls=False)


@pytest.mark.wide
def test_a_weight_and_a_key_named_like_an_inner_one(side: Engine) -> None:
    for name in inner_names(side, "contingency_matrix"):
        if name not in CLASHES:
            check_weight_and_key(side, name)


#: One table for each macro that reads the rows of labels and clusters, and those without weights.
READERS = ("contingency_matrix", "bcubed_samples", "record_error_table", "clustering_summary")
BOUND_ONLY = (
    *("external_report", "external_summary", "external_intervals"),
    *("entity_resolution_report", "matching_report"),
)


@pytest.fixture
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    with make("duckdb").connection.cursor() as cursor:  # type: ignore[union-attr]
        yield cursor


def check_tables(
    cursor: duckdb.DuckDBPyConnection, function: str, names: Sequence[str], *, bind_only: bool
) -> None:
    """The same rows, or columns, from tables of these names as from one of a plain name."""
    frame = odd_frame("u", "v")
    start = "DESCRIBE FROM" if bind_only else "FROM"
    cursor.register("plain", frame)
    wanted = fetched(cursor, f"{start} clustereval.{function}(plain, u, v)")
    for name in names:
        cursor.register(name, frame)
        # DuckDB reads a name given for a table as text, in which a quote or a dot must be quoted.
        table = literal(quoted(name)) if set(name) & set('".') else quoted(name)
        rows = fetched(cursor, f"{start} clustereval.{function}({table}, u, v)")
        assert_rows(rows, wanted, what=name)
        cursor.unregister(name)


@pytest.mark.parametrize("function", READERS)
def test_tables_of_any_name(cursor: duckdb.DuckDBPyConnection, function: str) -> None:
    bind_only = function not in READERS[:2]
    check_tables(cursor, function, [*PARAMETERS, *RESULTS, *ODD], bind_only=bind_only)


@pytest.mark.gate
def test_a_table_is_read_where_no_inner_one_hides_it() -> None:
    """In every macro, the user's table is read in the first CTE only.

    A CTE hides a table of its name from all that follows it, and from what is called there.
    """
    tables = [*TABLES, *READERS[1:]]
    reached = {name for function in tables for name in macro_calls.reached_from(function)}
    readers = {name for name in reached if macro_calls.user_tables(name)}
    assert {*tables, "_row_groups", "_record_sizes"} <= readers
    for name in readers:
        body = macro_calls.macros_by_name()[name].body
        for table in macro_calls.user_tables(name):
            hiding = macro_calls.ctes_before(body, table)
            assert not hiding, f"{name} reads {table} behind {hiding}"


@pytest.mark.parametrize("function", [*TABLES, *READERS[1:]])
def test_tables_named_like_the_first_inner_ones(
    cursor: duckdb.DuckDBPyConnection, function: str
) -> None:
    """Those that read the table of the user, and that it could be taken for."""
    first = [name for name in macro_calls.ctes_of(function) if is_first_cte(function, name)]
    assert first
    check_tables(cursor, function, first, bind_only=function in BOUND_ONLY)


def is_first_cte(function: str, cte: str) -> bool:
    """Whether a CTE of this name comes first in one of the macros that get the user's table."""
    return any(
        macro_calls.user_tables(name)
        and macro_calls.CTE.findall(macro_calls.macros_by_name()[name].body)[:1] == [cte]
        for name in macro_calls.reached_from(function)
    )


@pytest.mark.gate
@pytest.mark.parametrize("function", [*TABLES, *READERS[1:]])
def test_tables_named_like_inner_ones(cursor: duckdb.DuckDBPyConnection, function: str) -> None:
    # No CTE has columns u and v, so that one in place of the table is an error already where
    # columns are looked up.
    ctes = macro_calls.ctes_of(function)
    assert len(ctes) >= 3
    check_tables(cursor, function, ctes, bind_only=True)


@pytest.mark.gate
def test_names_that_may_hide_a_table_are_checked() -> None:
    """Where the user's table is read after another CTE, the CTE may hide it.

    The default of `gap` is a CTE itself.
    """
    n_hidden = 0
    for function in macro_calls.public_tables():
        for table in macro_calls.user_tables(function):
            places = macro_calls.places_of(function, table)
            bodies = {place: macro_calls.macros_by_name()[place.macro].body for place in places}
            hidden = any(macro_calls.ctes_before(x, y.parameter) for y, x in bodies.items())
            checks = (f'_check_table_name\\("?{place.parameter}"?\\)' for place in places)
            checked = any(map(re.search, checks, bodies.values()))
            assert checked or not hidden or (function, table) == ("choose_k", "gap")
            n_hidden += hidden
    assert n_hidden > 30


@pytest.mark.parametrize(
    ("call", "table"),
    [
        ("internal_findings({}, [a], b)", "__ce_report"),
        ("internal_report('{}', [a], b)", "__CE_arguments"),
        ("run_transitions(plain, {}, a, b)", "__ce_types_before"),
        ("dunn_index([plain, {}], [a], b)", "__ce_points"),
        ("graph_report({}, a, b, plain, a, b)", "__ce_ids"),
    ],
)
def test_tables_that_a_cte_may_hide(
    cursor: duckdb.DuckDBPyConnection, call: str, table: str
) -> None:
    cursor.execute("CREATE TEMP VIEW plain AS SELECT 1 AS a, 2 AS b WHERE FALSE")
    cursor.execute(f"CREATE TEMP VIEW {table} AS FROM plain")
    words = f"table: expected a name that does not begin with __ce_, .*{table}.*; rename the"
    with pytest.raises(duckdb.Error, match=words):
        cursor.execute(f"FROM clustereval.{call.format(table)}")
    cursor.execute(f"FROM clustereval.{call.format(f'temp.{table}')}").fetchall()
