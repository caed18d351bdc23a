"""The JSON Schemas of the reports.

The columns and their types are those of the library's functions, the texts those of the tables on
the terminal, and the limits of a score those of the catalogue.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.catalogue import entries
from polars_clustereval.cli.reports import REPORTS
from polars_clustereval.cli.schemas import SCHEMA_VERSION, schema_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from polars_clustereval.cli.reports import Meaning, Report

Schema = dict[str, Any]

RULES = (
    "One object per row. A column of --partition-by is a further property under its own name, "
    f"with any value. Later releases may add columns to version {SCHEMA_VERSION}; without one of "
    "its columns, or with one of another type, the schema has another version."
)
OTHER_COLUMNS = "A column of --partition-by, or of a later release."
#: Arguments of the reports; columns of labels and the like may have any type.
COLUMNS = {"vector": ["vector"], "columns": ["vector"], "k": "k", "reference": None} | {
    name: name for name in ("label", "cluster", "id", "run", "left", "right")
}
JSON_TYPES = {pl.Int64: "integer", pl.Float64: "number", pl.Boolean: "boolean", pl.String: "string"}
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def degenerate_result(report: Report, key: str | int, **options: bool) -> pl.DataFrame:
    """The report of one row, whose label, cluster, id and run are `key`: what can be NULL, is.

    A graph has a second node in the same cluster, and no edge; findings are on two equal rows, and
    so are the estimates from random records, of which some have a reason and some have none.
    """
    columns = dict.fromkeys(("label", "cluster", "id", "run"), key)
    frames = {x.parameter: [{**columns, "vector": 0.5, "k": 1}] for x in report.inputs}
    is_estimated = report.variant == "labels-are-sample"
    if report.is_in_words or is_estimated:
        frames["frame"] *= 2  # one cluster of several rows is a finding
    if "edges" in frames:
        frames["frame"].append({**columns, "id": 2 * key})
        frames["edges"] = [{"left": None, "right": key}]
    arguments = {name: COLUMNS[name] for name in report.defaults if name in COLUMNS}
    if is_estimated:
        arguments["labels_are_sample"] = "records"
    if "reference" in arguments:
        arguments["reference"] = key
    tables = {name: pl.LazyFrame(rows) for name, rows in frames.items()}
    if "edges" in tables:
        tables["edges"] = tables["edges"].cast(tables["frame"].collect_schema()["id"])
    return report.function(**tables, **arguments, **options).collect()


def optional_columns(report: Report) -> set[str]:
    """The columns that a switch such as --no-adjusted leaves out."""
    names = set(degenerate_result(report, "a").columns)
    switches = [name for name, default in report.defaults.items() if default is True]
    return {
        column
        for name in switches
        for column in names.difference(degenerate_result(report, "a", **{name: False}).columns)
    }


def limits(name: str) -> Schema:
    """The least and the greatest value of a score, where the catalogue has constants for them."""
    text = entries()[name].range if name in entries() else ""
    low, _, high = text.strip("[]()").partition(", ")
    if text.startswith("up to "):
        low, high = "", text.removeprefix("up to ")
    found = {"minimum": low, "maximum": high}
    return {key: json.loads(x) for key, x in found.items() if NUMBER.fullmatch(x)}


def describe(meaning: Meaning) -> str:
    best = {"": "", "high": "high is best", "low": "low is best"}
    return "; ".join(filter(None, (meaning.text, best.get(meaning.best, f"best {meaning.best}"))))


def column_schema(values: pl.Series, meaning: Meaning, *, is_users: bool) -> Schema:
    """What is known of a column, of which `values` has the type and, if there are any, NULLs."""
    described = {"description": describe(meaning)}
    if is_users:  # labels, clusters, ids and runs are what they are in the input
        return described
    is_count = values.dtype.is_integer() or values.dtype.is_decimal()
    json_type = "integer" if is_count else JSON_TYPES[values.dtype]
    if is_count:
        described["minimum"] = 0
    is_nullable = json_type in ("number", "boolean") or values.null_count() > 0
    return {
        "type": [json_type, "null"] if is_nullable else json_type,
        **described,
        **limits(str(values.name)),
    }


def command_of(report: Report) -> str:
    """The command of a report and the option that changes it."""
    option = " --show " if report.command in ("transitions", "graph", "profile") else " --"
    return f"{report.command}{option}{report.variant}" if report.variant else report.command


def report_schema(report: Report) -> Schema:
    """The JSON Schema of a report."""
    texts, numbers = degenerate_result(report, "a"), degenerate_result(report, 1)
    optional = optional_columns(report)
    meanings = report.meanings
    properties = {
        column: column_schema(
            texts[column], meanings[column], is_users=texts.schema[column] != numbers.schema[column]
        )
        for column in texts.columns
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:clustereval:schema:v{SCHEMA_VERSION}:{report.name}",
        "title": f"clustereval {command_of(report)} --format json",
        "description": f"{report.description[0].upper()}{report.description[1:]}. {RULES}",
        "type": "array",
        "items": {
            "type": "object",
            "properties": properties,
            "required": [column for column in properties if column not in optional],
            "additionalProperties": {"description": OTHER_COLUMNS},
        },
    }


def check_compatible(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise an error if a schema breaks a promise of the one of its version."""
    before, after = old["items"], new["items"]
    for name, column in before["properties"].items():
        if name not in after["properties"]:
            change = "is missing"
        elif after["properties"][name].get("type") != column.get("type"):
            change = "has another type"
        elif name in before["required"] and name not in after["required"]:
            change = "is optional now"
        else:
            continue
        raise ValueError(f"{new['$id']}: column {name} {change}: raise SCHEMA_VERSION")


def text_of(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def schemas() -> dict[Path, str]:
    """The text of each file; an error if it breaks a promise of the file that there is."""
    texts = {}
    for name, report in REPORTS.items():
        file, schema = schema_file(name), report_schema(report)
        if file.exists():
            check_compatible(json.loads(file.read_text(encoding="utf-8")), schema)
        texts[file] = text_of(schema)
    return texts
