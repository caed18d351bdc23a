"""JSON Schemas: what --format json writes is what they say, and no other thing."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from polars_clustereval.cli.reports import REPORTS
from polars_clustereval.cli.schemas import SCHEMA_VERSION, format_schema
from tests.support.command_line import (
    DUCKDB_AT_THE_GATE,
    QUICK,
    VARIANT_CALLS,
    Fail,
    Noted,
    Run,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.gate

#: Reports with a row for each metric, in the same columns.
#: By report, those whose rows are valid as its rows too: they have its columns and others.
ALSO_VALID = {
    "external-confidence": ["entity-resolution-labels-are-sample"],
    "findings": ["findings-label", "findings-vector"],
    "transitions-ids": ["transitions-affected"],
    # From a table of distances, the columns are the same.
    **{name: [f"{name}-pairs"] for name in ("silhouette", "samples", "dunn", "pairwise")},
    **{f"{name}-pairs": [name] for name in ("silhouette", "samples", "dunn", "pairwise")},
    "thresholds": ["thresholds-pairs"],
    "thresholds-pairs": ["thresholds"],
    # Its columns are those of the user.
    "components": ["graph-nodes", "neighborhood-samples", "samples", "samples-pairs"],
}
SMALL = pl.DataFrame(
    {
        "label": ["a", "a", "b", "b"],
        "cluster": [0, 0, 1, 1],
        "x": [0.0, 1.0, 5.0, 6.0],
        "id": [0, 1, 0, 1],
        "row": [0, 1, 2, 3],
        "k": [2] * 4,
        "run": ["r", "r", "s", "s"],
        "day": ["Monday", None] * 2,
    }
)
NO_FLOATS = pl.lit(None, pl.Float64)
DEGENERATE = {
    "no rows": SMALL.clear(),
    "all dropped": SMALL.with_columns(cluster=pl.lit(None, pl.Int64), x=NO_FLOATS),
    "one cluster": SMALL.with_columns(cluster=0),
    "singletons": SMALL.with_columns(cluster=pl.int_range(pl.len())),
    "one row": SMALL.head(1),
    "equal points": SMALL.with_columns(x=0.0),
    "clusters that are no numbers of JSON": SMALL.with_columns(
        cluster=pl.Series([0.0, float("nan"), float("inf"), 0.0])
    ),
    "clusters that are lists": SMALL.with_columns(cluster=pl.concat_list("cluster", "k")),
}
#: Those with rows, of which every report has at least one.
ALWAYS_LISTED = {"one cluster", "singletons", "one row", "equal points"}
WITHOUT_NULLS = (
    *("clusters", "labels", "stability-reference", "transitions-overlaps", "components"),
)
#: Those whose NULLs are in the row of no rows at all, or where a cluster is not a number.
OF_CHANGED_IDS = ("transitions-affected", "transitions-ids")
NULLS_WITHOUT_PARTITIONS = ("matching", "transitions-ids", "transitions-drift", "graph-edges")


def arguments(name: str, file: Path) -> tuple[str | Path, ...]:
    """Options of a report of a file with the columns of SMALL."""
    report = REPORTS[name]
    columns = {"vector": "x", "columns": "x,label", "reference": "r", "clusters": "cluster"} | {
        x: x for x in ("label", "cluster", "k")
    }
    columns |= {x: x for x in ("id", "run") if x in report.required}
    # The only edges of some partitions are self-loops.
    columns |= {"weight": "after", "thresholds": "0"} if "weight" in report.required else {}
    files: list[str | Path] = [file]
    tables = [table.parameter for table in report.inputs[1:]]
    if "pairs" in tables:
        columns |= {"is_match": "same", "pair_left": "row", "pair_right": "after"}
        del columns["label"]
    for table in tables:
        columns |= {"id": "row", "left": "row", "right": "after", "distance": "d"}
        if table in ("pairs", "neighbors"):
            files += [f"--{table}", write_pairs(file)]
        else:
            files += ["--edges"] * (table == "edges") + [write_night_after(file)]
    given = [
        f"--{key.replace('_', '-')}={value}"
        for key, value in columns.items()
        if key in report.defaults
    ]
    return (REPORTS[name].command, *files, *given, *options_of(name))


def write_night_after(file: Path) -> Path:
    """The rows of a file with the columns of SMALL, of which some have left and others joined.

    As edges, they join the rows to the first of their partition, in the column after.
    """
    row, path = pl.col("row"), file.with_name("after.parquet")
    frame = pl.read_parquet(file).with_columns(
        pl.when(row < 2).then(row).otherwise(row + 10), after=row % 2
    )
    frame.write_parquet(path)
    return path


def write_pairs(file: Path) -> Path:
    """All pairs of rows of each partition, in both directions, with a distance and a label."""
    path, frame = file.with_name("pairs.parquet"), pl.read_parquet(file)
    added = [name for name in frame.columns if name not in SMALL.columns]
    keys = added if "case" in added else ["day", *added] if added else []
    rows = frame.select("row", *keys)
    others = rows.rename({"row": "after"})
    pairs = rows.join(others, on=keys, nulls_equal=True) if keys else rows.join(others, how="cross")
    one, two = pl.col("row"), pl.col("after")
    pairs.with_columns(d=(one - two).abs(), same=(one + two) % 3 == 0).write_parquet(path)
    return path


def options_of(name: str) -> tuple[str, ...]:
    command, variant = REPORTS[name].command, REPORTS[name].variant
    if command in ("transitions", "graph", "neighborhood", "profile", "matching", "density"):
        return ("--show", variant) if variant else ()
    values = {"confidence": "0.9", "labels-are-sample": "by_record"}
    return (f"--{variant}", values[variant]) if variant in values else ()


@cache
def schema_of(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(format_schema(name))
    return schema


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(name))


def assert_valid(name: str, text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(text)
    assert [error.message for error in validator(name).iter_errors(rows)] == []
    return rows


@pytest.fixture
def example(run: Run) -> Callable[[str], str]:
    """The output of a report on an example, by its name, computed once for all tests."""

    def call(name: str) -> str:
        if name not in EXAMPLE_OUTPUTS:
            given = (*VARIANT_CALLS[name], *QUICK, "--format", "json")
            EXAMPLE_OUTPUTS[name] = run(REPORTS[name].command, *given)
        return EXAMPLE_OUTPUTS[name]

    return call


EXAMPLE_OUTPUTS: dict[str, str] = {}


# Real output ------------------------------------------------------------------------------------


def test_every_report_has_a_call() -> None:
    assert sorted(REPORTS) == sorted(VARIANT_CALLS)


@pytest.mark.parametrize("name", REPORTS)
def test_examples(run: Run, example: Callable[[str], str], engine_name: str, name: str) -> None:
    call = (REPORTS[name].command, *VARIANT_CALLS[name], "--engine", engine_name)
    is_quick = engine_name in QUICK or not REPORTS[name].has_macro
    rows = assert_valid(name, example(name) if is_quick else run(*call, "--format", "json"))
    assert rows
    assert rows[0].keys() == schema_of(name)["items"]["properties"].keys()


#: The reports of both engines; the others have rows only where a cluster can be cut.
OF_BOTH_ENGINES = [name for name, report in REPORTS.items() if report.has_macro]


@pytest.mark.wide
@pytest.mark.parametrize("name", OF_BOTH_ENGINES)
def test_degenerate_input(noted: Noted, engine_name: str, tmp_path: Path, name: str) -> None:
    path = tmp_path / "rows.parquet"
    n_nulls = 0
    for frame in DEGENERATE.values():
        frame.write_parquet(path)
        call = (*arguments(name, path), "--engine", engine_name, "--format", "json")
        rows = assert_valid(name, noted(*call)[0])
        n_nulls += sum(value is None for row in rows for value in row.values())
    assert n_nulls or name in WITHOUT_NULLS


@pytest.mark.parametrize("name", OF_BOTH_ENGINES)
def test_degenerate_partitions(noted: Noted, engine_name: str, tmp_path: Path, name: str) -> None:
    """The degenerate inputs whose clusters are whole numbers, in one call."""
    path = tmp_path / "rows.parquet"
    frames = [
        frame.with_columns(pl.lit(case).alias("case"))
        for case, frame in DEGENERATE.items()
        if frame.schema["cluster"].is_integer()
    ]
    pl.concat(frames, how="vertical_relaxed").write_parquet(path)
    call = (*arguments(name, path), "--partition-by", "case", "--engine", engine_name)
    rows = assert_valid(name, noted(*call, "--format", "json")[0])
    cases = {str(row["case"]) for row in rows}
    listed = ALWAYS_LISTED - ({"one row"} if name in OF_CHANGED_IDS else set())
    assert cases >= ({"one cluster"} if REPORTS[name].is_in_words else listed)
    n_nulls = sum(value is None for row in rows for value in row.values())
    assert n_nulls or name in (*WITHOUT_NULLS, *NULLS_WITHOUT_PARTITIONS)


@pytest.mark.parametrize("name", REPORTS)
def test_degenerate_rows(noted: Noted, tmp_path: Path, name: str) -> None:
    path = tmp_path / "rows.parquet"
    n_nulls = 0
    for case in DEGENERATE.keys() - ALWAYS_LISTED:
        DEGENERATE[case].write_parquet(path)
        rows = assert_valid(name, noted(*arguments(name, path), *QUICK, "--format", "json")[0])
        n_nulls += sum(value is None for row in rows for value in row.values())
    assert n_nulls or name not in NULLS_WITHOUT_PARTITIONS


@DUCKDB_AT_THE_GATE
@pytest.mark.parametrize("name", OF_BOTH_ENGINES)
def test_partition_columns_of_any_name(
    noted: Noted, engine_name: str, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "rows.parquet"
    keys = ["day", "$id", "type", "größe, \n\"'"]
    frame = SMALL.with_columns(
        pl.lit(1.5).alias(keys[1]), pl.lit([1, 2]).alias(keys[2]), pl.lit(True).alias(keys[3])
    )
    if REPORTS[name].is_in_words:
        frame = frame.with_columns(cluster=0)  # a finding
    frame.write_parquet(path)
    parts = [text for key in keys for text in ("--partition-by", key)]
    call = (*arguments(name, path), *parts, "--engine", engine_name, "--format", "json")
    rows = assert_valid(name, noted(*call)[0])
    assert list(rows[0])[: len(keys)] == keys
    assert {row["day"] for row in rows} == {"Monday", None}
    assert [rows[0][key] for key in keys[1:]] == [1.5, [1, 2], True]


def test_partitions_without_rows(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    SMALL.clear().write_parquet(path)
    call = (*arguments("external", path), "--partition-by", "day", "--format", "json")
    assert assert_valid("external", noted(*call, "--engine", engine_name)[0]) == []


@pytest.mark.parametrize(
    ("name", "option", "column"),
    [
        ("external", "--no-adjusted", "adjusted_mutual_info_score"),
        ("external-confidence", "--no-adjusted", None),
    ],
)
def test_columns_that_an_option_leaves_out(
    run: Run, engine_name: str, name: str, option: str, column: str | None
) -> None:
    call = (REPORTS[name].command, *VARIANT_CALLS[name], option, "--engine", engine_name)
    rows = assert_valid(name, run(*call, "--format", "json"))
    items = schema_of(name)["items"]
    missing = set(items["properties"]) - set(rows[0])
    assert missing == set(items["properties"]) - set(items["required"])
    assert missing if column else not missing
    assert column is None or column in missing


# Wrong output -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REPORTS)
def test_a_wrong_row_is_not_valid(example: Callable[[str], str], name: str) -> None:
    """Each column in turn left out, of another type, beyond its limits, or NULL where it never is.

    Columns of the user may have any value, and some columns are optional.
    """
    row = assert_valid(name, example(name))[0]
    items = schema_of(name)["items"]
    seen = 0
    for column, schema in items["properties"].items():
        wrong = [{key: value for key, value in row.items() if key != column}]
        wrong = wrong if column in items["required"] else []
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            values: list[object] = [[], {}, 7 if types[0] == "string" else "7"]
            values += [] if "null" in types else [None]
            values += [1.5] if types[0] == "integer" else []
            values += [schema["minimum"] - 1e-9] if "minimum" in schema else []
            values += [schema["maximum"] + 1e-9] if "maximum" in schema else []
            wrong += [row | {column: value} for value in values]
        for changed in wrong:
            assert not validator(name).is_valid([row, changed]), (column, changed.get(column))
            seen += 1
    # The columns of this one are the ids and clusters of the input, which can only be left out.
    assert seen >= {"components": 2}.get(name, 3 if name in OF_CHANGED_IDS else 17)
    assert not validator(name).is_valid(row), "an object in place of the array"
    assert not validator(name).is_valid([[*row.values()]])


@pytest.mark.gate
def test_a_report_is_not_valid_as_another_one(example: Callable[[str], str]) -> None:
    texts = {name: example(name) for name in REPORTS}
    for name in REPORTS:
        valid = [other for other in texts if validator(name).is_valid(json.loads(texts[other]))]
        assert set(valid) == {name, *ALSO_VALID.get(name, ())}


# The schemas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REPORTS)
def test_what_all_schemas_say(run: Run, name: str) -> None:
    schema = json.loads(run("schema", name))
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:clustereval:schema:v{SCHEMA_VERSION}:{name}"
    assert f"version {SCHEMA_VERSION};" in schema["description"]
    assert "--partition-by" in schema["items"]["additionalProperties"]["description"]
    assert all(column["description"] for column in schema["items"]["properties"].values())


def test_one_schema(run: Run) -> None:
    rules = (
        "One object per row. A column of --partition-by is a further property under its own name, "
        "with any value. Later releases may add columns to version 1; without one of its columns, "
        "or with one of another type, the schema has another version."
    )
    columns = {
        "left": {"description": "one end"},
        "right": {"description": "the other end"},
        "weight": {"type": ["number", "null"], "description": "sum of the weights of its rows"},
        "n_rows": {"type": "integer", "description": "rows of this edge", "minimum": 0},
        "cluster": {"description": "cluster of both ends; NULL between clusters"},
        "is_bridge": {
            "type": ["boolean", "null"],
            "description": "whether the cluster would fall apart without it",
        },
    }
    expected = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:clustereval:schema:v1:graph-edges",
        "title": "clustereval graph --show edges --format json",
        "description": f"The edges of a graph, and which of them are bridges. {rules}",
        "type": "array",
        "items": {
            "type": "object",
            "properties": columns,
            "required": [*columns],
            "additionalProperties": {
                "description": "A column of --partition-by, or of a later release."
            },
        },
    }
    assert run("schema", "graph-edges") == json.dumps(expected, indent=2) + "\n"


def test_the_list_of_the_reports(run: Run, fail: Fail, tmp_path: Path) -> None:
    lines = run("schema").splitlines()
    assert [re.split("  +", line) for line in lines] == [
        [name, report.description] for name, report in REPORTS.items()
    ]
    error = fail("schema", "silhouettes")
    assert error.startswith("argument REPORT: invalid choice: 'silhouettes' (choose from ")
    run("schema", "dunn", "--output", tmp_path / "dunn.json")
    assert (tmp_path / "dunn.json").read_text(encoding="utf-8") == format_schema("dunn")


@pytest.mark.parametrize(
    ("name", "score", "expected"),
    [
        ("external", "adjusted_rand_score", {"minimum": -0.5, "maximum": 1}),
        ("external", "purity", {"minimum": 0, "maximum": 1}),
        ("pairwise", "gamma", {"minimum": -1, "maximum": 1}),
        ("external", "mirkin_metric", {"minimum": 0}),
        ("external", "adjusted_mutual_info_score", {"maximum": 1}),
        ("pairwise", "tau", {}),
        ("internal", "log_ss_ratio", {}),
    ],
)
def test_limits(name: str, score: str, expected: dict[str, float]) -> None:
    """Bounds such as ln n are not constant, and an open end may be reached by rounding."""
    column = schema_of(name)["items"]["properties"][score]
    assert {key: column[key] for key in ("minimum", "maximum") if key in column} == expected
