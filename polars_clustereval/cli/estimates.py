"""Estimates: warnings about reports that are expected to take minutes, before they are computed."""

from __future__ import annotations

from contextlib import contextmanager
from inspect import signature
from math import inf
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.growth import (
    describe_product,
    describe_seconds,
    estimate_seconds,
)
from polars_clustereval.base.quoting import quote_identifier
from polars_clustereval.base.tables import growth_of

from .engines import open_rows, read_rows
from .files import scan_files
from .messages import USER_ERRORS
from .options import option_flag, write_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polars_clustereval.base.growth import Growth
    from polars_clustereval.errors import Setting

    from .options import Call
    from .sources import Source

__all__ = ["warn_of_time"]

#: A report gets a warning if it is estimated to take at least this many seconds.
LONG = 60.0
#: The maximum number of rows in which labels and clusters are counted if only these matter, so that
#: counting costs little.
_PREFIX = 1_000_000

#: The parameters whose values are counted, by the letters of sizes; s, the rows of a cluster, needs
#: k.
_COLUMNS_COUNTED = {"k": "cluster", "l": "label", "r": "run"}


def warn_of_time(source: Source, call: Call) -> str:
    """Return a warning if a report is estimated to take more than a minute, or '' otherwise.

    The rows are always counted. Columns are read to count their distinct values only if there are
    many rows.
    """
    growth = growth_of(call.report.function.__name__, call.arguments)
    if growth is None:
        return ""
    try:
        n, seconds = _estimate(growth, source, call)
    except USER_ERRORS:
        return ""  # the report has the same error
    if seconds <= LONG:
        return ""
    faster = ", or ".join(_list_advice(growth, call))
    return (
        f"{n:,} rows: this will take about {describe_seconds(seconds)}; the time grows with "
        f"{describe_product(growth.factors)}{'; faster: ' if faster else ''}{faster}"
    )


def _estimate(growth: Growth, source: Source, call: Call) -> tuple[int, float]:
    """Return the number of rows in a report's input, and the estimated running time in seconds."""
    with _open_queries(source, call) as (ask, arguments):
        n = ask("count(*)", "{rows}")
        sizes = dict.fromkeys(growth.factors, float(n))
        if "d" in sizes:
            sizes["d"] = _count_dims(ask, arguments["vector"])
        # The numbers of clusters, labels and runs cannot exceed the number of rows.
        if growth.most == inf and estimate_seconds(growth, call.engine, sizes) <= LONG:
            return n, 0.0
        return n, ask(*_format_sum(growth, arguments, sizes)) * growth.seconds[call.engine] / 1e9


@contextmanager
def _open_queries(source: Source, call: Call) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield a function that queries the rows of a report's first input, and the arguments.

    The function takes an SQL expression and the SQL to place after FROM, in which {rows} represents
    the rows. It returns the single value of the expression.
    """
    table = call.report.inputs[0]
    if scan_files(source) is None:
        with open_rows(source, call, table) as (connection, rows, arguments):

            def ask_duckdb(selected: str, origin: str) -> Any:
                """Return the value of the expression, computed by DuckDB."""
                query = f"SELECT {selected} FROM {origin.format(rows=rows)}"
                found = connection.execute(query).fetchone()
                return None if found is None else found[0]

            yield ask_duckdb, arguments
        return
    frame, arguments = read_rows(source, call, table)

    def ask_polars(selected: str, origin: str) -> Any:
        """Return the value of the expression, computed by Polars.

        The frame is called self in the query.
        """
        query = f"SELECT {selected} AS value FROM {origin.format(rows='self')}"
        found = frame.sql(query).collect(engine="streaming")
        return found.item() if found.height else None

    yield ask_polars, arguments


def _count_dims(ask: Callable[[str, str], Any], columns: list[str]) -> float:
    """Return the number of columns in a vector, or the length of the first list in its column."""
    if len(columns) > 1:
        return float(len(columns))
    name = quote_identifier(columns[0])
    first = ask(name, f"{{rows}} WHERE {name} IS NOT NULL LIMIT 1")
    return float(len(first)) if isinstance(first, list | tuple | pl.Series) else 1.0


def _format_sum(
    growth: Growth, arguments: dict[str, Any], sizes: dict[str, float]
) -> tuple[str, str]:
    """Return SQL that computes the total work for all partitions.

    The result consists of an expression and the SQL to place after FROM.
    """
    letters = {"k" if x == "s" else x for x in growth.factors}
    counts = ["CAST(count(*) AS DOUBLE) AS n"] + [
        f"CAST(count(DISTINCT {quote_identifier(arguments[_COLUMNS_COUNTED[x]])}) AS DOUBLE) AS {x}"
        for x in sorted(letters & _COLUMNS_COUNTED.keys())
    ]
    keys = [*(arguments.get("partition_by") or ()), *([arguments["k"]] if "k" in arguments else [])]
    by = f" GROUP BY {', '.join(map(quote_identifier, keys))}" if keys else ""
    origin = "{rows}"
    if "n" not in growth.factors:
        origin = f"(SELECT * FROM {{rows}} LIMIT {_PREFIX}) AS start"
    values = {"s": "n / k", "d": repr(sizes.get("d", 1.0))}
    product = " * ".join(f"({values.get(x, x)})" for x in growth.factors)
    groups = f"(SELECT {', '.join(counts)} FROM {origin}{by}) AS sizes"
    work = f"(SELECT {product} AS work FROM {groups}) AS products"
    limit = "" if growth.most == inf else f" WHERE work <= {growth.most:.1f}"
    return "coalesce(sum(work), 0.0)", f"{work}{limit}"


def _list_advice(growth: Growth, call: Call) -> list[str]:
    """Return faster alternatives to the options of a call, as the user would type them."""
    known = signature(call.report.function).parameters
    settings = [x for x in growth.faster if x.parameter in known]
    advice = [" ".join(map(_write_change, settings))] if settings else []
    if growth.seconds["polars"] < growth.seconds[call.engine]:
        advice.append("--engine polars")
    return advice


def _write_change(setting: Setting) -> str:
    """Return the option that sets a value, or "no" followed by an option that must be omitted."""
    flag = option_flag(setting.parameter)
    is_left_out = setting.value is False and not flag.startswith("--no-")
    return f"no {flag}" if is_left_out else write_setting(setting)
