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
)
from .engines import ENGINES
from .options import INPUTS, OPTIONS, option_flag
from .output import FORMATS
from .reports import COMMANDS, REPORTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .reports import Report

__all__ = ["make_parser"]


class _Parser(argparse.ArgumentParser):
    """Argument parser that reports errors as the other parts of the program do."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 after one line with `message`; argparse would print the usage, too."""
        self.exit(2, f"clustereval: error: {escape_controls(message)}\n")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line.

    The result of its parse_args has `command`, a function that takes Options and returns an
    Outcome; None without a command.
    """
    parser = _Parser(
        "clustereval",
        description="Evaluate clusterings in files and DuckDB tables.",
        epilog="clustereval COMMAND --help lists the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"clustereval {__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for reports in COMMANDS.values():
        _add_report(commands, reports)
    commands.choices["entity-resolution"].set_defaults(command=run_resolution)
    commands.choices["stability"].set_defaults(command=run_stability)
    _add_page(commands)
    _add_describe(commands)
    _add_schema(commands)
    _add_sql(commands)
    return parser


_DATABASE_HELP = (
    "attached database; default: the current one. FILE.duckdb: write the macros to this new "
    "database, for ATTACH 'FILE.duckdb' AS SCHEMA (READ_ONLY)"
)

_FORMULA_HELP = "in CSV: an apostrophe before texts that spreadsheets would compute"


def _add_option(
    parser: Any, parameter: str, help_text: str = "", *, required: bool = False
) -> None:
    """Add the option of a parameter to a parser or a group, with its usual help by default.

    Its value is None if it is not given.
    """
    settings = OPTIONS[parameter] | {"dest": parameter, "required": required, "default": None}
    if help_text:
        settings["help"] = help_text
    settings.pop("flag", None)
    parser.add_argument(option_flag(parameter), **settings)


def _add_inputs(command: argparse.ArgumentParser, parameters: Iterable[str]) -> None:
    """Add the arguments for the tables of a report to the parser of a command.

    `parameters` are those of its function.
    """
    for parameter in parameters:
        settings = {"flag": parameter, **INPUTS[parameter]}
        command.add_argument(settings.pop("flag"), **settings)


def _add_report(commands: Any, reports: tuple[Report, ...]) -> None:
    """Add a command with an option for each parameter of the functions of its reports.

    `commands` is what add_subparsers of argparse returned.
    """
    first, *others = reports
    command: argparse.ArgumentParser = commands.add_parser(
        first.command, help=first.description, description=f"Compute {first.description}."
    )
    _add_inputs(command, [table.parameter for table in first.inputs])
    of_variants = {name: text for report in others for name, text in report.options.items()}
    parameters = {name for report in reports for name in report.defaults} - of_variants.keys()
    for name in OPTIONS:
        if name in parameters:
            _add_option(command, name, required=name in first.required)
    for name, text in of_variants.items():
        _add_option(command, name, text)
    add = command.add_argument
    add("--engine", choices=ENGINES, help=f"duckdb, polars; default here: {first.engine}")
    add("--format", choices=FORMATS, help="table, json, csv, parquet; default: by --output")
    add("--quote-formulas", action="store_true", help=_FORMULA_HELP)
    _add_output(command)
    if first.show:
        texts = {report.variant or report.show: report.description for report in reports}
        help_text = "; ".join(f"{show}, {text}" for show, text in texts.items())
        add("--show", choices=texts, default=first.show, help=help_text)
    command.set_defaults(command=run_report, reports=reports)


def _add_page(commands: Any) -> None:
    """Add the command ``report``: a page about one clustering.

    `commands` is what add_subparsers of argparse returned.
    """
    description = "a page about one clustering, with scores, pictures and a table of clusters"
    command = commands.add_parser(
        "report", help=description, description=f"Write {description}, as HTML or Markdown."
    )
    _add_inputs(command, ["frame"])
    _add_option(command, "cluster", required=True)
    points = ("distance", "p", "weights")
    for name in ("label", "vector", "weight", *points, "noise", "noise_as", "missing"):
        _add_option(command, name)
    for name in ("method", "tolerance", "sample_size", "random_state"):
        _add_option(command, name, f"of the silhouette: {OPTIONS[name]['help']}")
    add = command.add_argument
    add("--engine", choices=ENGINES, help="duckdb, polars; default: the faster one for each table")
    add("--html", metavar="FILE", type=Path, help="write one HTML page with pictures to this file")
    add("--format", choices=("markdown", "html"), help="default: markdown, or html with --html")
    _add_output(command)
    command.set_defaults(command=run_page)


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
    command.set_defaults(command=run_describe)


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
    command.add_argument(
        "name", metavar="REPORT", nargs="?", choices=REPORTS, help=", ".join(REPORTS)
    )
    _add_output(command)
    command.set_defaults(command=run_schema)


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
    command.set_defaults(command=run_sql)
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
        _add_option(group, option)


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
