"""Arguments: the commands and their options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from polars_clustereval import __version__
from polars_clustereval.base.quoting import escape_controls

from .commands import (
    run_describe,
    run_page,
    run_report,
    run_resolution,
    run_schema,
    run_sql,
    run_stability,
    run_table_pair,
)
from .engines import ENGINES
from .options import OPTIONS, parse_value
from .output import FORMATS
from .reports import (
    GRAPH,
    OVERLAPPING,
    REPORTS,
    STABILITY,
    TRANSITIONS,
    Report,
    list_variants,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["make_parser"]


class _Parser(argparse.ArgumentParser):
    """Argument parser that reports errors as the other parts of the program do."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 after one line with `message`; argparse would print the usage, too."""
        self.exit(2, f"clustereval: error: {escape_controls(message)}\n")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line.

    The result of its parse_args has `call`, a function that takes that result and returns an
    Outcome; None without a command.
    """
    parser = _Parser(
        "clustereval",
        description="Evaluate clusterings in files and DuckDB tables.",
        epilog="clustereval COMMAND --help lists the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"clustereval {__version__}")
    parser.set_defaults(call=None)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name in REPORTS:
        _add_report(commands, name, REPORTS[name])
    commands.choices["entity-resolution"].set_defaults(call=run_resolution)
    _add_stability(commands)
    _add_table_pair(commands, "transitions", TRANSITIONS)
    _add_table_pair(commands, "graph", GRAPH)
    _add_table_pair(commands, "overlapping", {None: OVERLAPPING})
    _add_page(commands)
    _add_describe(commands)
    _add_schema(commands)
    _add_sql(commands)
    return parser


_FILES = (
    "Parquet, CSV (.csv, .tsv, with .gz too), JSON (.json, .jsonl, .ndjson) or Arrow (.arrow, "
    ".feather, .ipc) files, patterns of them, a folder of Parquet files, - for CSV on standard "
    "input, or DATABASE::TABLE of DuckDB"
)


_DATABASE_HELP = (
    "attached database; default: the current one. FILE.duckdb: write the macros to this new "
    "database, for ATTACH 'FILE.duckdb' AS SCHEMA (READ_ONLY)"
)

_INTERVAL_HELP = "show the interval of each metric with this confidence, such as 0.95"

_FORMULA_HELP = "in CSV: an apostrophe before texts that spreadsheets would compute"

_ESTIMATE_HELP = "confidence of the intervals of the estimates; default 0.95"


def _add_stability(commands: Any) -> None:
    """Add the command ``stability``, whose report depends on the option --reference.

    `commands` is what add_subparsers of argparse returned.
    """
    command = _add_report(commands, "stability", STABILITY[False])
    command.add_argument(
        "--reference", metavar="RUN", type=parse_value, help="evaluate the clusters of this run"
    )
    command.set_defaults(call=run_stability)


def _add_table_pair(commands: Any, name: str, reports: Mapping[Any, Report]) -> None:
    """Add the command `name` of two tables, whose report depends on the option --show.

    `commands` is what add_subparsers of argparse returned, `reports` are the reports by the value
    of --show, the default first; there is no such option for a single report.
    """
    first, *others = reports
    command = _add_report(commands, name, reports[first], *(reports[other] for other in others))
    if others:
        texts = (f"{show}, {report.description}" for show, report in reports.items())
        command.add_argument("--show", choices=reports, default=first, help="; ".join(texts))
    command.set_defaults(call=run_table_pair, reports=reports)
    if not others:
        command.set_defaults(show=first)


#: The argument for each table of a report, by the parameter of its function.
_INPUTS: dict[str, dict[str, Any]] = {
    "frame": {"flag": "files", "metavar": "FILE", "nargs": "+", "help": _FILES},
    "frame_before": {"metavar": "BEFORE", "help": f"the run before: {_FILES}"},
    "frame_after": {"metavar": "AFTER", "help": "the run after, likewise"},
    "edges": {
        "flag": "--edges",
        "metavar": "FILE",
        "required": True,
        "help": "the edges: a file, a pattern and so on, like FILE",
    },
    "frame_labels": {"metavar": "LABELS", "help": f"rows of an id and a label: {_FILES}"},
    "frame_clusters": {"metavar": "CLUSTERS", "help": "rows of an id and a cluster, likewise"},
}


def _add_report(
    commands: Any, name: str, report: Report, *others: Report
) -> argparse.ArgumentParser:
    """Add the command `name` of a report, with an option for each parameter of its function.

    `commands` is what add_subparsers of argparse returned, `others` are further reports whose
    parameters are options too. The result is the command's parser.
    """
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=report.description, description=f"Compute {report.description}."
    )
    add = command.add_argument
    for table in report.inputs:
        settings = {"flag": table.parameter, **_INPUTS[table.parameter]}
        add(settings.pop("flag"), **settings)
    defaults = {
        key: value for x in reversed((report, *others)) for key, value in x.defaults.items()
    }
    for parameter, option in OPTIONS.items():
        if parameter in defaults:
            settings = {"flag": "--" + parameter.replace("_", "-"), **option}
            required = parameter in report.required
            default = None if required else defaults[parameter]
            flag = settings.pop("flag")
            add(flag, dest=parameter, required=required, default=default, **settings)
    if report.intervals is not None:
        chosen_by = report.interval_option
        help_text = _INTERVAL_HELP if chosen_by == "confidence" else _ESTIMATE_HELP
        add("--confidence", **OPTIONS["confidence"] | {"help": help_text})
        if chosen_by != "confidence":
            add("--" + chosen_by.replace("_", "-"), **OPTIONS[chosen_by])
    add("--engine", choices=ENGINES, help=f"duckdb, polars; default here: {report.engine}")
    add("--format", choices=FORMATS, help="table, json, csv, parquet; default: by --output")
    add("--quote-formulas", action="store_true", help=_FORMULA_HELP)
    _add_output(command)
    command.set_defaults(call=run_report, report=report)
    return command


def _add_page(commands: Any) -> None:
    """Add the command ``report``: a page about one clustering.

    `commands` is what add_subparsers of argparse returned.
    """
    description = "a page about one clustering, with scores, pictures and a table of clusters"
    command = commands.add_parser(
        "report", help=description, description=f"Write {description}, as HTML or Markdown."
    )
    add = command.add_argument
    add("files", metavar="FILE", nargs="+", help=_FILES)
    add("--cluster", required=True, **OPTIONS["cluster"])
    for name in (
        *("label", "vector", "weight", "distance", "p", "weights", "noise", "noise_as"),
        "missing",
    ):
        add(f"--{name.replace('_', '-')}", **OPTIONS[name])
    for name in ("method", "tolerance", "sample_size", "random_state"):
        help_text = f"of the silhouette: {OPTIONS[name]['help']}"
        add(f"--{name.replace('_', '-')}", **OPTIONS[name] | {"help": help_text})
    add("--engine", choices=ENGINES, help="duckdb, polars; default: the faster one for each table")
    add("--html", metavar="FILE", type=Path, help="write one HTML page with pictures to this file")
    add("--format", choices=("markdown", "html"), help="default: markdown, or html with --html")
    _add_output(command)
    command.set_defaults(call=run_page)


def _add_describe(commands: Any) -> None:
    """Add the command ``describe``: what a score, a table, a criterion or a parameter is.

    `commands` is what add_subparsers of argparse returned.
    """
    description = "what a score, a table, a criterion or a parameter is"
    command = commands.add_parser(
        "describe",
        help=description,
        description=f"Print {description}; without NAME, the list of all.",
    )
    command.add_argument(
        "name", metavar="NAME", nargs="?", help="such as purity, external_summary, jump, noise_as"
    )
    _add_output(command)
    command.set_defaults(call=run_describe)


def _add_schema(commands: Any) -> None:
    """Add the command ``schema``: the JSON Schema of what --format json writes.

    `commands` is what add_subparsers of argparse returned.
    """
    description = "the JSON Schema of what a command writes with --format json"
    command = commands.add_parser(
        "schema",
        help=description,
        description=f"Print {description}; without REPORT, the list of the reports.",
    )
    names = list_variants()
    command.add_argument("name", metavar="REPORT", nargs="?", choices=names, help=", ".join(names))
    _add_output(command)
    command.set_defaults(call=run_schema)


def _add_sql(commands: Any) -> None:
    """Add the command ``sql``: all SQL macros, a database of them, or a table as a query.

    `commands` is what add_subparsers of argparse returned.
    """
    description = "all SQL macros as one file for the DuckDB shell"
    command = commands.add_parser(
        "sql",
        help=description,
        description=f"Print {description}, or the query of one table for another engine.",
    )
    add = command.add_argument
    add("--schema", metavar="NAME", default="clustereval", help="schema; default clustereval")
    add("--database", metavar="NAME", help=_DATABASE_HELP)
    add("--temporary", action="store_true", help="temporary macros, named SCHEMA_MACRO")
    _add_output(command)
    command.set_defaults(call=run_sql)
    _add_query_options(command)


def _add_query_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of to_sql to the parser of the command ``sql``."""
    group = command.add_argument_group(
        "the query of one table", "clustereval sql external_report --dialect spark --tbl t ..."
    )
    add = group.add_argument
    add("name", metavar="TABLE", nargs="?", help="table macro, such as external_report")
    add("--dialect", metavar="NAME", help="spark, postgres, clickhouse, datafusion, duckdb, ...")
    add("--tbl", metavar="NAME", help="table that the query reads; without --label, kept cells")
    add("--tbl-before", metavar="NAME", help="of two runs: table of the run before")
    add("--tbl-after", metavar="NAME", help="of two runs: table of the run after")
    for option in ("label", "cluster", "weight", "id", "partition-by"):
        add(f"--{option}", metavar="COLUMN")
    add("--size", metavar="N", type=int, help="coordinates of a point, if one column has arrays")
    labels = ("noise", "noise_as", "average_method", "beta", "adjusted", "split_cost", "merge_cost")
    runs, points = ("threshold", "min_share"), ("distance", "p", "center", "weights")
    for option in (*labels, *runs, "vector", *points, "missing", "method"):
        keywords = OPTIONS[option]
        flag = keywords.get("flag", f"--{option.replace('_', '-')}")
        others = {key: value for key, value in keywords.items() if key != "flag"}
        add(flag, dest=option, default=None, **others)


def _add_output(command: argparse.ArgumentParser) -> None:
    """Add the option --output, a file to write to, to the parser of a command."""
    command.add_argument(
        "--output",
        metavar="FILE",
        type=_parse_output,
        help="write to this file; default, and -: standard output",
    )


def _parse_output(text: str) -> Path | None:
    """Return the path of the output file; None for ``-``, which is standard output."""
    return None if text == "-" else Path(text)
