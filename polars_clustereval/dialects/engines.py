"""The dialects in which the tests execute queries, with one Engine object for each dialect.

sqlglot knows most of the rules of a dialect, and this module adds the rest. For a dialect without
an Engine object, sqlglot writes each function in the form that all engines share. If you add an
Engine object, also add an engine to tests/support/sql_engines.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot.dialects import Dialect

from polars_clustereval.errors import ClusterEvalError

from .arguments import unknown_choice_text
from .pair_bodies import POSTGRES_BODIES
from .plans import (
    drop_partition_numbers,
    hash_comparisons,
    materialize_or_stream,
    materialize_shared,
    materialize_shared_or_stream,
    unmark_ctes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .trees import Step


@dataclass(frozen=True)
class Engine:
    """The rules of an engine that sqlglot does not know.

    `parser` is the name of the dialect in sqlglot. `functions` maps function names to templates, in
    which {0}, {1}, … represent the arguments. `macros` maps macro names to the bodies that the
    engine uses instead of those in ``sql/``. In a query, the step `mark_ctes` marks CTEs as
    MATERIALIZED. In a script, the step `mark_steps` marks the CTEs that become temporary tables.
    `create_table` is the beginning of the statement that creates such a table, with {0} as a
    placeholder for its name, or None if the engine has no temporary tables. `count_rows` is a
    statement to execute after a table is created, or None. `words` lists words, beyond those in
    identifiers.reserved_words, that must be quoted when they are used as names.
    `one_partition_steps` lists additional steps for queries with a single partition, and
    `last_steps` lists additional steps for all queries. The module `pipeline` shows when these
    steps are applied. `suffix` is a line that is appended to each query. `keeps_row_order` is True
    if row_number() OVER () numbers the rows of a table in their order.
    """

    name: str
    parser: str
    functions: Mapping[str, str] = field(default_factory=dict)
    macros: Mapping[str, str] = field(default_factory=dict)
    mark_ctes: Step = unmark_ctes
    mark_steps: Step = materialize_shared
    create_table: str | None = "CREATE TEMPORARY TABLE {0} AS"
    count_rows: str | None = None
    words: frozenset[str] = frozenset()
    one_partition_steps: tuple[Step, ...] = ()
    last_steps: tuple[Step, ...] = ()
    suffix: str = ""
    keeps_row_order: bool = False


# value_at_least_key is the aggregate _value_at_least_key(value, key, condition) of
# sql/base/exact.sql, and number_at_least_key that for whole numbers.
_DUCKDB = Engine(
    name="duckdb",
    parser="duckdb",
    functions={
        "value_at_least_key": "(min({{'key': {1}, 'value': {0}}}) FILTER (WHERE {2}))['value']",
        "median": "median({0})",
    },
    keeps_row_order=True,
)

_PERCENTILE = "percentile_cont(0.5) WITHIN GROUP (ORDER BY {0})"

_DATAFUSION = Engine(
    name="datafusion",
    parser="postgres",
    functions={
        "value_at_least_key": "first_value({0} ORDER BY {1}, {0}) FILTER (WHERE {2})",
        "median": _PERCENTILE,
    },
    # The engine would read the name as CLUSTER BY.
    words=frozenset({"cluster"}),
    create_table="CREATE TABLE {0} AS",
)

_POSTGRES = Engine(
    name="postgres",
    parser="postgres",
    functions={
        "value_at_least_key": "(array_agg({0} ORDER BY {1}, {0}) FILTER (WHERE {2}))[1]",
        "median": _PERCENTILE,
    },
    macros=POSTGRES_BODIES,
    mark_ctes=materialize_or_stream,
    mark_steps=materialize_shared_or_stream,
    # Without this setting, the engine does not expect thousands of clusters, and does not compile
    # expressions.
    count_rows="ANALYZE {0}",
    one_partition_steps=(drop_partition_numbers,),
    last_steps=(hash_comparisons,),
)

# Most function names of ClickHouse are case-sensitive. By default, ClickHouse fills outer joins
# with zeros, lets an output column hide an input column of the same name, and raises an error for a
# plan of many steps.
_CLICKHOUSE = Engine(
    name="clickhouse",
    parser="clickhouse",
    functions={
        # In a tuple, a NULL is not skipped; in a key, it would be the smallest.
        "value_at_least_key": (
            "tupleElement(argMinIf(tuple(toNullable({0})), ({1}, isNull({0}), {0}), {2}), 1)"
        ),
        # Tuples take five times as long as a single number that combines the bits of the key with
        # the whole number. The bits of keys sort correctly if all bits of negative numbers are
        # inverted, and the sign bit of other numbers is set.
        "number_at_least_key": (
            "toUInt64(bitAnd(minIf(toNullable(bitOr(bitShiftLeft(toUInt128(if({1} < 0, "
            "bitNot(reinterpretAsUInt64(ifNull({1}, inf))), "
            "bitXor(reinterpretAsUInt64(ifNull({1}, inf) + 0.0), 9223372036854775808)"
            ")), 64), toUInt128({0}))), {2}), 18446744073709551615))"
        ),
        "median": "quantileExactInclusive(0.5)({0})",
        "var_pop": "varPopStable({0})",
        "atanh": "atanh({0})",
    },
    macros={"_number_at_least_key": "number_at_least_key(number, key, condition)"},
    # The engine computes a CTE again each time it is read, unless the CTE is MATERIALIZED.
    mark_ctes=materialize_shared,
    one_partition_steps=(drop_partition_numbers,),
    suffix="SETTINGS join_use_nulls = 1, prefer_column_name_to_alias = 1, "
    "query_plan_max_optimizations_to_apply = 1000000, enable_materialized_cte = 1, "
    "max_expanded_ast_elements = 10000000",
)

_SPARK = Engine(
    name="spark",
    parser="spark",
    functions={
        "value_at_least_key": "min_by({0}, struct({1}, {0})) FILTER (WHERE {2})",
        "median": "median({0})",
        # An error for the vector {0}, whose first invalid coordinate is at the position {1}.
        "not_finite_error": "CAST(raise_error(concat('vector: expected finite numbers, got ', "
        "coalesce(CAST(element_at({0}, {1}) AS STRING), 'NULL'), ' in coordinate ', "
        "CAST({1} AS STRING), '; fix such rows or leave them out')) AS INT)",
    },
    # Spark takes 2^d steps to plan a filter on d columns that have copies.
    macros={"_has_coordinates": "FALSE"},
    create_table=None,
)

ENGINES = {x.name: x for x in (_CLICKHOUSE, _DATAFUSION, _DUCKDB, _POSTGRES, _SPARK)}

# The dialects whose queries the tests execute and compare with DuckDB.
EXECUTED_DIALECTS = tuple(ENGINES)


def find_engine(dialect: str) -> Engine:
    """Return the Engine for a dialect, or raise an error if sqlglot does not know the dialect."""
    name = dialect.lower()
    known = {*ENGINES, *filter(None, Dialect.classes)}
    if name not in known:
        raise ClusterEvalError(unknown_choice_text("dialect", dialect, known))
    return ENGINES.get(name) or Engine(name=name, parser=name)


def never_executed_notice(dialect: str) -> str | None:
    """Return the notice that the tests do not execute queries in `dialect`, or None if they do."""
    if dialect.lower() in EXECUTED_DIALECTS:
        return None
    return (
        f"dialect {dialect!r}: its queries have never been executed, only translated; those of "
        f"{', '.join(EXECUTED_DIALECTS)} have been executed and compared with DuckDB"
    )
