"""The plans that engines make of the queries of to_sql (EXPLAIN): how often they read the table.

tests/dialects/test_sizes.py counts the readings of a text; here the engine has planned it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import polars_clustereval as ce
from benchmarks.dialects import CALLS, Size, make_tables
from tests.support.sql_answers import started_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.sql_engines import Run

#: Engine -> what its plan says wherever it reads the table.
READS = {
    "duckdb": "PYTHON_ARROW_SCAN",
    "datafusion": "DataSourceExec: file_groups",
    "clickhouse": "ReadFromFile",
    "postgres": "Seq Scan on t",
}


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with started_engine(request.param, make_tables(Size(200, 5)), tmp_path_factory) as run:
        yield run


def explain_statements(run: Run, text: str) -> str:
    """The plans of the statements of a query or script, each of which is run, too."""
    plans = []
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    for statement in "\n".join(lines).split(";\n"):
        head, _, query = statement.partition(" AS\n")
        is_table = head.startswith("CREATE") and "\n" not in head
        if not statement.startswith("DROP"):
            rows = run(f"EXPLAIN {query if is_table else statement}")
            plans += [str(value) for row in rows for value in row.values()]
        run(statement)
    return "\n".join(plans)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("run", "dialect"), [(name, name) for name in READS], indirect=["run"], scope="module"
)
def test_readings_of_the_table(run: Run, dialect: str) -> None:
    """One for labels; for points two and one of the keys, unless the engine keeps the rows."""
    keeps_rows = dialect in ("duckdb", "postgres")
    expected = {"external_report": 1, "internal_report": 1 if keeps_rows else 3}
    for name, readings in expected.items():
        text = ce.to_sql(name, dialect=dialect, steps=not keeps_rows, **CALLS[name])
        plans = explain_statements(run, text)
        assert plans.count(READS[dialect]) == readings, name
