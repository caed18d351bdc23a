"""The statistics that the external metrics are computed from, by name and value on both sides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from polars_clustereval.external.contingency import LabelOptions, read_contingency_table
from polars_clustereval.external.entropies import information_statistics
from polars_clustereval.external.information import adjusted_information_statistics
from polars_clustereval.external.pair_counting import pair_statistics
from polars_clustereval.external.report import external_statistics
from polars_clustereval.external.set_matching import matching_statistics
from tests.support import engines
from tools.sql_facts import CONDITIONAL_ENTROPIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb

    from polars_clustereval.base.frames import StructLists

Statistics = dict[str, Any]

# No two statistics of these rows are equal that could be taken for each other.
FRAME = pl.DataFrame(
    {"label": [*"aaaaaabbbbccd"], "cluster": [0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4]}
)
SQL_ONLY = {
    # Counts are DOUBLE in SQL, where the difference of two has to be computed before.
    "fn_minus_fp",
}
POLARS_ONLY = {
    # Counts are integers in Polars, whose products could overflow: formulas multiply their shares.
    *("tp_share", "fp_share", "fn_share", "tn_share", "links_share"),
}
# Struct macros of SQL, and the lists of structs of Polars with the fields of all of them.
LISTS: dict[str, tuple[tuple[str, ...], Callable[[str, str], StructLists]]] = {
    "pair counts": (("_pair_statistics", "_linked_pair_statistics"), pair_statistics),
    "information": (("_information_statistics",), information_statistics),
    "adjusted information": (
        ("_information_statistics", "_expected_statistics"),
        adjusted_information_statistics,
    ),
    "matching": (("_matching_statistics",), matching_statistics),
}


@pytest.fixture
def frame_con() -> Iterator[duckdb.DuckDBPyConnection]:
    engine: Any = engines.make("duckdb")
    with engine.connection.cursor() as cursor:
        cursor.register("frame", FRAME)
        yield cursor


def sql_statistics(con: duckdb.DuckDBPyConnection) -> Statistics:
    groups = "clustereval._row_groups(frame, label, cluster, NULL, NULL, NULL, 'cluster')"
    result = con.execute(
        f"WITH groups AS (FROM {groups}) SELECT * EXCLUDE (partition_key) "
        "FROM clustereval._statistics_of_groups(groups, TRUE)"
    )
    formula_names = {column: name for name, column in CONDITIONAL_ENTROPIES.items()}
    names = [formula_names.get(column[0], column[0]) for column in result.description or ()]
    (row,) = result.fetchall()
    return dict(zip(names, row, strict=True))


def polars_statistics() -> Statistics:
    table = read_contingency_table(FRAME, "label", "cluster", LabelOptions(), ())
    return external_statistics(table, adjusted=True).collect().row(0, named=True)


def sql_list_statistics(con: duckdb.DuckDBPyConnection, macros: tuple[str, ...]) -> Statistics:
    structs: Statistics = {}
    for macro in macros:
        (struct,) = con.execute(f"SELECT clustereval.{macro}(label, cluster) FROM frame").fetchone()  # type: ignore[misc]
        structs |= struct
    return structs


def polars_list_statistics(statistics: Callable[[str, str], StructLists]) -> Statistics:
    structs = statistics("label", "cluster")
    (struct,) = FRAME.select(structs.lists.alias("lists")).item()
    assert tuple(struct) == structs.fields
    return dict(struct)


def assert_same_statistics(sql: Statistics, polars: Statistics) -> None:
    assert set(sql) - SQL_ONLY == set(polars) - POLARS_ONLY
    for name in set(sql) & set(polars):
        assert math.isclose(sql[name], polars[name], rel_tol=1e-12), name


def test_statistics_of_the_report(frame_con: duckdb.DuckDBPyConnection) -> None:
    assert_same_statistics(sql_statistics(frame_con), polars_statistics())


@pytest.mark.parametrize("group", LISTS)
def test_statistics_of_expressions(frame_con: duckdb.DuckDBPyConnection, group: str) -> None:
    macros, statistics = LISTS[group]
    assert_same_statistics(
        sql_list_statistics(frame_con, macros), polars_list_statistics(statistics)
    )


def test_expressions_have_the_statistics_of_the_report(
    frame_con: duckdb.DuckDBPyConnection,
) -> None:
    report = sql_statistics(frame_con)
    rows = {"n_dropped", "n_noise"}
    structs: Statistics = {}
    for macros, _ in LISTS.values():
        structs |= sql_list_statistics(frame_con, macros)
    assert set(structs) == set(report) - rows
    for name, value in structs.items():
        assert math.isclose(value, report[name], rel_tol=1e-12), name


def test_every_exception_is_needed(frame_con: duckdb.DuckDBPyConnection) -> None:
    sql, polars = sql_statistics(frame_con), polars_statistics()
    assert set(sql) - set(polars) == SQL_ONLY
    assert set(polars) - set(sql) == POLARS_ONLY


def test_a_swap_is_noticed(frame_con: duckdb.DuckDBPyConnection) -> None:
    sql, polars = sql_statistics(frame_con), polars_statistics()
    labels, clusters = "in_majority_labels", "in_majority_clusters"
    swapped = {**sql, labels: sql[clusters], clusters: sql[labels]}
    with pytest.raises(AssertionError, match="in_majority"):
        assert_same_statistics(swapped, polars)
    with pytest.raises(AssertionError, match="Extra items"):
        assert_same_statistics({**sql, "renamed": 1}, polars)
