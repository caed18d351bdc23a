"""The expected values of tests/support/data as a test in DuckDB's own format, sqllogictest."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import polars as pl

from tests.support.cases import (
    PAIR_COUNTS,
    Expectation,
    expectations,
    is_rounded,
    published_labelings,
    value_of,
)
from tests.support.oracle import COUNTS, METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HEAD = """\
# name: test/sql/labels.test
# description: scores of labels and clusters, as published, and of degenerate clusterings
# group: [clustereval]

require clustereval
"""
TYPES = {pl.Int64: "BIGINT", pl.Float64: "DOUBLE", pl.String: "VARCHAR"}
TOLERANCE = 1e-12

Arguments = tuple[tuple[str, object], ...]
Frames = dict[str, pl.DataFrame]


def labels_test() -> str:
    """Return the text of the file: tables of rows, and queries for values that are wrong."""
    known, by_types = expectations(), defaultdict(dict)
    for case, frame in published_labelings().items():
        # With partition_by, a case without rows has no row in a report.
        if not frame.is_empty():
            by_types["_".join(TYPES[type(dtype)] for dtype in frame.dtypes).lower()][case] = frame
    blocks = [HEAD]
    for table, frames in by_types.items():
        blocks.append(create_rows(table, frames))
        for number, (relation, expected) in enumerate(relations(table, frames, known)):
            blocks.append(query_of_wrong_values(f"{table}_{number}", relation, expected))
    return "\n".join(blocks)


def create_rows(table: str, frames: Frames) -> str:
    """A table of the rows of all cases, with their number n where the same row is repeated."""
    rows = [
        f"('{case}', {show_literal(label)}, {show_literal(cluster)}, {n})"
        for case, frame in frames.items()
        for label, cluster, n in frame.group_by(pl.all(), maintain_order=True).len().rows()
    ]
    types = " ".join(table.split("_")).upper().split()
    columns = f'"name" VARCHAR, label {types[0]}, cluster {types[1]}, n BIGINT'
    return f"{statement(f'CREATE TABLE {table} ({columns})')}\n{insert(table, rows)}"


def show_literal(value: object) -> str:
    """A value as an SQL literal."""
    if value is None:
        return "NULL"
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return str(value) if is_number else f"'{value}'"


def statement(sql: str) -> str:
    return f"statement ok\n{sql};\n"


def insert(table: str, rows: Iterable[str]) -> str:
    return statement(f"INSERT INTO {table} VALUES\n  " + ",\n  ".join(rows))


def relations(
    table: str, frames: Frames, known: dict[str, list[Expectation]]
) -> Iterator[tuple[str, dict[str, list[Expectation]]]]:
    """Queries with a row for each case, and what is expected of the cases in them."""
    by_arguments: dict[Arguments, dict[str, list[Expectation]]] = {}
    for case in frames:
        for expectation in known[case]:
            of_cases = by_arguments.setdefault(expectation.arguments, defaultdict(list))
            of_cases[case].append(expectation)
    for arguments, of_cases in by_arguments.items():
        options = "".join(f", {name} := {show_literal(value)}" for name, value in arguments)
        given = f'({table}, label, cluster, partition_by := "name", weight := n{options})'
        for macro, names in (
            ("external_report", (*COUNTS, *METRICS)),
            ("pair_counts", PAIR_COUNTS),
        ):
            selected = select(of_cases, names)
            if selected:
                yield (
                    f'SELECT * RENAME (partition_key AS "name") FROM clustereval.{macro}{given}',
                    selected,
                )
    plain = select(by_arguments.get((), {}), METRICS)
    metrics = dict.fromkeys(x.metric for expected in plain.values() for x in expected)
    calls = ",\n    ".join(
        f"clustereval.{metric}(label, cluster) AS {metric}" for metric in metrics
    )
    rows = f"{table} CROSS JOIN LATERAL (SELECT unnest(range(n))) AS copies"
    yield f'SELECT "name",\n    {calls}\n  FROM {rows} GROUP BY "name"', plain


def select(
    of_cases: dict[str, list[Expectation]], names: Iterable[str]
) -> dict[str, list[Expectation]]:
    """What is expected of metrics of these names, for the cases that have any."""
    wanted = set(names)
    found = {case: [x for x in known if x.metric in wanted] for case, known in of_cases.items()}
    return {case: known for case, known in found.items() if known}


def query_of_wrong_values(name: str, relation: str, of_cases: dict[str, list[Expectation]]) -> str:
    """A table of expected values, their number, and a query for those that are wrong: none."""
    rows = [f"('{case}', {show_expected(x)})" for case, known in of_cases.items() for x in known]
    table = f"expected_{name}"
    columns = '"name" VARCHAR, metric VARCHAR, value DOUBLE, allowed DOUBLE'
    return f"""\
{statement(f"CREATE TABLE {table} ({columns})")}
{insert(table, rows)}
query TTRR
WITH answers AS (
  {relation}
),
numbers AS (
  SELECT "name", CAST(COLUMNS(* EXCLUDE "name") AS DOUBLE) FROM answers
),
found AS (
  FROM numbers UNPIVOT INCLUDE NULLS (found FOR metric IN (COLUMNS(* EXCLUDE "name")))
)
SELECT "name", metric, value, found
FROM {table} LEFT JOIN found USING ("name", metric)
WHERE (value IS NULL) <> (found IS NULL) OR abs(found - value) > allowed;
----

query I
SELECT count(*) FROM {table};
----
{len(rows)}
"""


def show_expected(expectation: Expectation) -> str:
    """The metric, its value, and by how much a result may differ from it, as SQL literals."""
    text = expectation.expected
    value = value_of(text)
    if value is None:
        return f"'{expectation.metric}', NULL, NULL"
    digits = len(text.partition(".")[2])
    allowed = 10.0**-digits if is_rounded(text) else TOLERANCE * max(1.0, abs(value))
    return f"'{expectation.metric}', {value!r}, {allowed!r}"
