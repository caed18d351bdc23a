"""Schemas: the JSON Schemas of the reports' output with --format json.

The columns and their types are those of a report on degenerate rows, in which every column that can
be NULL is NULL. The texts are those of the tables on the terminal, and the limits of a score are
those of the catalogue.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.catalogue import entries

from .grid import align_columns, wrap_last_column
from .reports import COMMANDS, REPORTS

if TYPE_CHECKING:
    from .reports import Meaning, Report

__all__ = ["SCHEMA_VERSION", "format_schema", "list_schemas"]

#: The version increases when a column is removed, becomes optional or changes its type, but not for
#: new columns.
SCHEMA_VERSION = 1

_VERSION_RULES = (
    "One object per row. A column of --partition-by is a further property under its own name, "
    f"with any value. Later releases may add columns to version {SCHEMA_VERSION}; without one of "
    "its columns, or with one of another type, the schema has another version."
)
_OTHER_COLUMNS = "A column of --partition-by, or of a later release."

_JSON_TYPES = {pl.Float64(): "number", pl.Boolean(): "boolean", pl.String(): "string"}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def list_schemas() -> str:
    """Return one line, with the name and the title, for each report that has a JSON Schema."""
    lines = [[name, report.description] for name, report in REPORTS.items()]
    return align_columns(wrap_last_column(lines)) + "\n"


def format_schema(name: str) -> str:
    """Return the text of the JSON Schema of the report `name`."""
    report = REPORTS[name]
    values = _report_degenerate_rows(report, "a").collect()
    # Switches such as --no-adjusted leave columns out, which are optional therefore.
    switched_off = {x: False for x, default in report.defaults.items() if default is True}
    required = _report_degenerate_rows(report, 1, **switched_off).collect_schema()
    properties = {
        column: _make_column_schema(
            values[column], report.meanings[column], is_users=required.get(column, dtype) != dtype
        )
        for column, dtype in values.schema.items()
    }
    option = "--show " if COMMANDS[report.command][0].show else "--"
    chosen = f"{report.command} {option}{report.variant}" if report.variant else report.command
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:clustereval:schema:v{SCHEMA_VERSION}:{name}",
        "title": f"clustereval {chosen} --format json",
        "description": f"{report.description[0].upper()}{report.description[1:]}. {_VERSION_RULES}",
        "type": "array",
        "items": {
            "type": "object",
            "properties": properties,
            "required": required.names(),
            "additionalProperties": {"description": _OTHER_COLUMNS},
        },
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _report_degenerate_rows(report: Report, key: str | int, **options: bool) -> pl.LazyFrame:
    """Return a report in which every column that can be NULL is NULL.

    It has one row, whose label, cluster, id and run are `key`. A graph has a second node in the
    same cluster, and no edge. Findings need a cluster of several rows, and so do intervals, some of
    which then have a reason.
    """
    row = {**dict.fromkeys(("label", "cluster", "id", "run"), key), "vector": 0.5, "k": 1}
    is_repeated = report.is_in_words or report.has_intervals
    rows = pl.LazyFrame([row] * (2 if is_repeated else 1))
    tables = dict.fromkeys((table.parameter for table in report.inputs), rows)
    if "edges" in tables:
        tables["frame"] = pl.LazyFrame([row, row | {"id": 2 * key}])
        tables["edges"] = rows.select(left=pl.col("id").shift(), right="id", w=pl.lit(1.0))
    # A point has no pairs, and no neighbors.
    for name in tables.keys() & {"pairs", "neighbors"}:
        tables[name] = rows.select(left="id", right="id", d=pl.lit(0.0), is_match=True)
    names = ("label", "cluster", "id", "run", "k", "left", "right", "is_match")
    columns = {name: name for name in names} | {"pair_left": "left", "pair_right": "right"}
    if len(report.inputs) > 1:
        columns["distance"] = "d"
    vectors = {name: ["vector"] for name in ("vector", "columns")}
    arguments: dict[str, Any] = {**columns, **vectors, "clusters": ["cluster"], "reference": key}
    arguments |= {"labels_are_sample": "records", "thresholds": [1.0]}
    arguments |= {"weight": "w"} if "weight" in report.required else {}
    of_ids, of_pairs = ("label", "labels_are_sample"), ("pair_left", "pair_right", "is_match")
    for name in of_ids if "pairs" in tables else of_pairs:
        del arguments[name]
    given = {name: value for name, value in arguments.items() if name in report.defaults}
    return report.function(**tables, **given, **options)


def _make_column_schema(values: pl.Series, meaning: Meaning, *, is_users: bool) -> dict[str, Any]:
    """Return the schema of a column, whose type and possible NULLs are those of `values`."""
    best = {"": "", "high": "; high is best", "low": "; low is best"}
    description = f"{meaning.text}{best.get(meaning.best, f'; best {meaning.best}')}"
    if is_users:  # labels, clusters, ids and runs are what they are in the input
        return {"description": description}
    is_count = values.dtype.is_integer() or values.dtype.is_decimal()
    json_type = "integer" if is_count else _JSON_TYPES[values.dtype]
    is_nullable = json_type in ("number", "boolean") or values.null_count() > 0
    return {
        "type": [json_type, "null"] if is_nullable else json_type,
        "description": description,
        **({"minimum": 0} if is_count else {}),
        **_find_limits(values.name),
    }


def _find_limits(name: str) -> dict[str, float]:
    """Return the least and the greatest value of a score, where the catalogue has constants."""
    text = entries()[name].range if name in entries() else ""
    low, _, high = text.strip("[]()").partition(", ")
    if text.startswith("up to "):
        low, high = "", text.removeprefix("up to ")
    limits = {"minimum": low, "maximum": high}
    return {key: json.loads(x) for key, x in limits.items() if _NUMBER.fullmatch(x)}
