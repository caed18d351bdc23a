"""Estimates: warnings about reports that are expected to take long, before they are computed.

How many distances a silhouette needs depends on the data: bounds exclude most clusters if the
points are near their centers, and hardly any if the coordinates have heavy tails. Therefore, the
pairs are counted in a sample of the rows.
"""

from __future__ import annotations

from contextlib import contextmanager
from inspect import signature
from math import inf, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.base.growth import (
    REFERENCE_SIZE,
    describe_product,
    describe_seconds,
    estimate_seconds,
)
from polars_clustereval.base.quoting import quote_identifier
from polars_clustereval.base.tables import growth_of
from polars_clustereval.internal.kernels.measured_pairs import count_pairs

from .engines import convert_to_polars, list_columns, open_rows, read_rows
from .files import scan_files
from .messages import USER_ERRORS
from .options import option_flag, write_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polars_clustereval.base.growth import Growth
    from polars_clustereval.errors import Setting

    from .options import Call
    from .sources import Source

__all__ = ["Estimate", "estimate_time", "is_long", "warn_of_time"]

#: A report gets a warning if it is estimated to take at least this many seconds.
LONG = 10.0
#: The same for points that are compared with all points, if fewer points are enough.
LONG_WITHOUT_REFERENCES = 2.0
#: The approximate number of rows in which the pairs are counted.
SAMPLE_ROWS = 2000
#: The maximum number of rows in which labels and clusters are counted if only these matter, so that
#: counting costs little.
_PREFIX = 1_000_000

#: By the letters of sizes, the parameters whose values are counted; s, rows of a cluster, needs k.
_COLUMNS_COUNTED = {"k": "cluster", "l": "label", "r": "run"}

_PARTITION_COLUMNS = ("partition_by", "k")


class Estimate(NamedTuple):
    """What a report is estimated to cost."""

    #: The rows of its input.
    n: int
    seconds: float
    #: Whether references would save more than half of the pairs of a sample.
    saves_by_references: bool = False


def is_long(seconds: float) -> bool:
    """Return whether a report that takes this time gets a warning."""
    return seconds > LONG


def warn_of_time(source: Source, *calls: Call) -> str:
    """Return a warning if calls of a report take more than ten seconds in all, or '' otherwise."""
    call = calls[0]
    growth = growth_of(call.report.function.__name__, call.arguments)
    if growth is None:
        return ""
    n, seconds, saves_by_references = estimate_time(source, *calls)
    if not is_long(seconds) and not (saves_by_references and seconds > LONG_WITHOUT_REFERENCES):
        return ""
    if "m" in growth.factors and not saves_by_references:
        growth = growth._replace(faster=())
    faster = ", or ".join(_list_advice(growth, call))
    return (
        f"{n:,} rows: this will take about {describe_seconds(seconds)}; the time grows with "
        f"{describe_product(growth.factors)}{'; faster: ' if faster else ''}{faster}"
    )


def estimate_time(source: Source, *calls: Call) -> Estimate:
    """Return what calls of a report are estimated to cost in all."""
    found = [_estimate_call(source, call, len(calls)) for call in calls]
    return Estimate(found[0].n, sum(x.seconds for x in found), found[0].saves_by_references)


def _estimate_call(source: Source, call: Call, n_calls: int) -> Estimate:
    """Return what one of the calls is estimated to cost, 0 seconds if that grows with the rows.

    Only if there are many rows, columns are read to count their distinct values, and a sample is
    read to count pairs.
    """
    growth = growth_of(call.report.function.__name__, call.arguments)
    if growth is None:
        return Estimate(0, 0.0)
    try:
        return _estimate(growth, source, call, n_calls)
    except USER_ERRORS:
        return Estimate(0, 0.0)  # the report has the same error


def _estimate(growth: Growth, source: Source, call: Call, n_calls: int) -> Estimate:
    """Return what a report is estimated to cost."""
    with _open_queries(source, call) as (query, arguments):

        def ask(selected: str, origin: str) -> Any:
            """Return the value of an SQL expression; {rows} in `origin` are the rows."""
            found = query(f"SELECT {selected} AS value FROM {origin}")
            return found.item() if found.height else None

        n = ask("count(*)", "{rows}")
        d = _count_dims(ask, arguments["vector"]) if "d" in growth.factors else 1.0
        is_sample = "m" in growth.factors
        # The numbers of clusters, labels and runs cannot exceed the number of rows.
        sizes = dict.fromkeys(growth.factors, float(n)) | {"d": d}
        sizes["m"] = float(min(n, arguments.get("sample_size") or n))
        most = estimate_seconds(
            growth, call.engine, prod(sizes[x] for x in growth.factors), n_dims=d
        )
        limit = LONG_WITHOUT_REFERENCES if is_sample else LONG
        if growth.most == inf and n_calls * most <= limit:
            return Estimate(n, 0.0)
        work = ask(*_format_sum(growth, arguments, sizes))
        share, n_references = 1.0, inf
        if growth.pair_seconds:
            share, n_references = _count_in_sample(call, query, arguments, n)
        seconds = estimate_seconds(growth, call.engine, work, n_dims=d, share=share)
        saves = is_sample and 2 * sizes["m"] * n_references < share * work / d
        return Estimate(n, seconds, saves)


@contextmanager
def _open_queries(
    source: Source, call: Call
) -> Iterator[tuple[Callable[[str], pl.DataFrame], dict[str, Any]]]:
    """Yield a function that queries the first input, {rows} in its SQL, and the arguments."""
    table = call.report.inputs[0]
    if scan_files(source) is None:
        with open_rows(source, call, table) as (connection, rows, arguments):
            yield (
                lambda sql: convert_to_polars(connection.sql(sql.replace("{rows}", rows))),
                arguments,
            )
        return
    frame, arguments = read_rows(source, call, table)
    yield (
        lambda sql: frame.sql(sql.replace("{rows}", "self")).collect(engine="streaming"),
        arguments,
    )


def _count_in_sample(
    call: Call, query: Callable[[str], pl.DataFrame], arguments: dict[str, Any], n: int
) -> tuple[float, float]:
    """Return the share of the pairs of points that are computed exactly, and the references.

    The share is relative to all pairs within partitions. The number of references is the number of
    points that all clusters have, up to the number that is advised for each.
    """
    used = list_columns(arguments, call.report.inputs[0].columns)
    names = ", ".join(map(quote_identifier, used))
    # Multiples of the golden ratio are spread evenly, and do not follow a period of the rows.
    sample = query(
        f"SELECT {names} FROM (SELECT {names}, row_number() OVER () AS __ce_row FROM {{rows}}) "
        f"AS numbered WHERE (__ce_row * 6.180339887498949e-1) % 1 < {SAMPLE_ROWS / n!r}"
    )
    exact = {"method": "exact", "sample_size": None, "id": None}
    given = {name: exact.get(name, x) for name, x in arguments.items()}
    with count_pairs() as counts:
        call.report.function(sample, **given)
    keys = list_columns(given, _PARTITION_COLUMNS)
    sizes = sample.group_by(keys).len()["len"] if keys else pl.Series([sample.height])
    clusters = sample.group_by(*keys, given["cluster"]).len()["len"] * (n / sample.height)
    n_pairs = float((sizes.cast(pl.Float64) ** 2).sum())
    return sum(counts) / n_pairs, float(clusters.clip(upper_bound=REFERENCE_SIZE).sum())


def _count_dims(ask: Callable[[str, str], Any], columns: list[str]) -> float:
    """Return the number of columns of a vector, or the length of the first list in its column."""
    if len(columns) > 1:
        return float(len(columns))
    name = quote_identifier(columns[0])
    first = ask(name, f"{{rows}} WHERE {name} IS NOT NULL LIMIT 1")
    return float(len(first)) if isinstance(first, list | tuple | pl.Series) else 1.0


def _format_sum(
    growth: Growth, arguments: dict[str, Any], sizes: dict[str, float]
) -> tuple[str, str]:
    """Return the total work for all partitions as SQL: an expression and the text after FROM."""
    letters = {"k" if x == "s" else x for x in growth.factors}
    counts = ["CAST(count(*) AS DOUBLE) AS n"] + [
        f"CAST(count(DISTINCT {quote_identifier(arguments[_COLUMNS_COUNTED[x]])}) AS DOUBLE) AS {x}"
        for x in sorted(letters & _COLUMNS_COUNTED.keys())
    ]
    keys = list_columns(arguments, _PARTITION_COLUMNS)
    by = f" GROUP BY {', '.join(map(quote_identifier, keys))}" if keys else ""
    origin = "{rows}"
    if "n" not in growth.factors:
        origin = f"(SELECT * FROM {{rows}} LIMIT {_PREFIX}) AS start"
    values = {"s": "n / k", "d": repr(sizes["d"]), "m": f"least(n, {sizes['m']!r})"}
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
