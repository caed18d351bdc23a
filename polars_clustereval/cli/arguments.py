"""Arguments: the commands and their options."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentTypeError
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from polars_clustereval.base.data_arguments import ROW_WEIGHTS_ADVICE

from .commands import (
    run_describe,
    run_findings,
    run_page,
    run_report,
    run_resolution,
    run_schema,
    run_sql,
    run_stability,
)
from .engines import ENGINES
from .options import INPUTS, OPTIONS, option_flag
from .output import FORMATS, PICTURES
from .reports import COMMANDS, REPORTS
from .version import Parser, make_version_parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from .commands import Outcome
    from .options import Options
    from .reports import Report

__all__ = ["make_parser"]


def make_parser() -> argparse.ArgumentParser:
    """Return the command-line parser.

    The parsed arguments have an attribute `command`, a function that takes Options and returns an
    Outcome, or None.
    """
    parser = Parser(
        "clustereval",
        parents=[make_version_parser()],
        description="Evaluate clusterings in files and DuckDB tables.",
        epilog="clustereval COMMAND --help lists the options of a command.",
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for reports in COMMANDS.values():
        _add_report(commands, reports)
    _add_page(commands)
    _add_describe(commands)
    _add_schema(commands)
    _add_sql(commands)
    return parser


_DATABASE_HELP = (
    "attached database; default: the current one. FILE.duckdb: write the macros to this new "
    "database, for ATTACH 'FILE.duckdb' AS SCHEMA (READ_ONLY)"
)

_METRICS_HELP = (
    "the scores to compute, separated by commas, or all; default: all, of which the terminal shows "
    "the first ones"
)

_FORMULA_HELP = "in CSV: an apostrophe before texts that spreadsheets would compute"


def _add_command(
    commands: Any, name: str, run: Callable[[Options], Outcome], text: str, description: str
) -> argparse.ArgumentParser:
    """Add a command that calls `run`; {} in the description of its own help stands for `text`."""
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=description.format(text)
    )
    command.set_defaults(command=run)
    return command


def _add_option(
    parser: Any, parameter: str, help_text: str = "", *, required: bool = False
) -> None:
    """Add the option for a parameter, which is None unless the user passes it."""
    settings = OPTIONS[parameter] | {"dest": parameter, "required": required, "default": None}
    if help_text:
        settings["help"] = help_text
    parser.add_argument(option_flag(parameter), **settings)


def _add_inputs(
    command: argparse.ArgumentParser, inputs: Sequence[Sequence[str]] = (("frame",),)
) -> None:
    """Add the arguments for the input tables of a command, whose reports have these `inputs`."""
    for parameter in dict.fromkeys(parameter for names in inputs for parameter in names):
        settings = {"flag": parameter, **INPUTS[parameter]}
        if "flag" in INPUTS[parameter]:
            settings["required"] = all(parameter in names for names in inputs)
        command.add_argument(settings.pop("flag"), **settings)


def _add_report(commands: Any, reports: tuple[Report, ...]) -> None:
    """Add a command with an option for each parameter of its reports' functions."""
    first, *others = reports
    run = _RUN.get(first.command, run_report)
    command = _add_command(commands, first.command, run, first.description, "Compute {}.")
    _add_inputs(command, [[table.parameter for table in x.inputs] for x in reports])
    of_variants = {name: text for report in others for name, text in report.options.items()}
    parameters = {name for report in reports for name in report.defaults} - of_variants.keys()
    for name in OPTIONS:
        if name in parameters:
            is_required = all(name in report.required for report in reports)
            _add_option(command, name, required=is_required)
    for name, text in of_variants.items():
        _add_option(command, name, text)
    add = command.add_argument
    if "weight" not in parameters and "vector" in parameters:
        # argparse would take it as an abbreviation of --weights.
        add("--weight", type=_refuse_row_weights, help=SUPPRESS)
    if not all(report.is_listing for report in reports):
        add("--metrics", metavar="NAMES", help=_METRICS_HELP)
    add("--engine", choices=ENGINES, help=f"duckdb, polars; default here: {first.engine}")
    add("--format", choices=FORMATS, help="table, json, csv, parquet; default: by --output")
    add("--quote-formulas", action="store_true", help=_FORMULA_HELP)
    _add_output(command)
    if first.plot:
        add("--plot", metavar="FILE", type=Path, help=f"also draw it: {', '.join(PICTURES)}")
    if first.show:
        shown = {report.variant or report.show: report.description for report in reports}
        help_text = "; ".join(f"{show}, {text}" for show, text in shown.items())
        add("--show", choices=shown, default=first.show, help=help_text)
    command.set_defaults(reports=reports)


#: The functions that run the commands of reports which have their own check.
_RUN = {
    "entity-resolution": run_resolution,
    "findings": run_findings,
    "stability": run_stability,
}


def _refuse_row_weights(_: str) -> NoReturn:
    """Raise the error for weights of rows, which tables of points do not take."""
    raise ArgumentTypeError(ROW_WEIGHTS_ADVICE)


def _add_page(commands: Any) -> None:
    """Add the command ``report``."""
    text = "a page about one clustering, with scores, pictures and a table of clusters"
    description = "Write {}, as HTML or Markdown."
    command = _add_command(commands, "report", run_page, text, description)
    _add_inputs(command)
    _add_option(command, "cluster")
    _add_option(
        command,
        "clusters",
        "in place of --cluster: the columns of several clusterings of the same rows, for a table "
        "with the best one first, and a section for each of the best fifty",
    )
    points = ("distance", "p", "weights")
    for name in ("label", "vector", "weight", *points, "noise", "noise_as", "missing"):
        _add_option(command, name)
    _add_option(
        command, "partition_by", "a table of all groups, and a section for each of the worst fifty"
    )
    _add_option(
        command, "columns", "columns of any type that describe the clusters, besides the vector"
    )
    _add_option(command, "id", "names the points of low silhouettes; of a sample, its order")
    for name in ("method", "tolerance", "sample_size", "reference_size", "random_state"):
        _add_option(command, name, f"of the silhouette: {OPTIONS[name]['help']}")
    add = command.add_argument
    add("--engine", choices=ENGINES, help="duckdb, polars; default: the faster one for each table")
    add("--metrics", metavar="NAMES", help="the scores at the top, separated by commas")
    add("--title", metavar="TEXT", help="title of the page; default: after the file")
    add("--html", metavar="FILE", type=Path, help="write one HTML page with pictures to this file")
    add("--format", choices=("markdown", "html"), help="default: markdown, or html with --html")
    _add_output(command)


def _add_describe(commands: Any) -> None:
    """Add the command ``describe``."""
    text = "what a score, a table, a criterion or a parameter is"
    description = "Print {}; without NAME, the list of all."
    command = _add_command(commands, "describe", run_describe, text, description)
    command.add_argument(
        "name", metavar="NAME", nargs="?", help="such as purity, external_summary, jump, noise_as"
    )
    _add_output(command)


def _add_schema(commands: Any) -> None:
    """Add the command ``schema``."""
    text = "the JSON Schema of what a command writes with --format json"
    description = "Print {}; without REPORT, the list of the reports."
    command = _add_command(commands, "schema", run_schema, text, description)
    command.add_argument(
        "name", metavar="REPORT", nargs="?", choices=REPORTS, help=", ".join(REPORTS)
    )
    _add_output(command)


def _add_sql(commands: Any) -> None:
    """Add the command ``sql``."""
    text = "all SQL macros as one file for the DuckDB shell"
    description = "Print {}, or the query of one table for another engine."
    command = _add_command(commands, "sql", run_sql, text, description)
    add = command.add_argument
    add("--schema", metavar="NAME", default="clustereval", help="schema; default clustereval")
    add("--database", metavar="NAME", help=_DATABASE_HELP)
    add("--temporary", action="store_true", help="temporary macros, named SCHEMA_MACRO")
    _add_output(command)
    _add_query_options(command)


def _add_query_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of to_sql to the parser for the command ``sql``."""
    group = command.add_argument_group(
        "the query of one table", "clustereval sql external_report --dialect spark --tbl t ..."
    )
    add = group.add_argument
    add("name", metavar="NAME", nargs="?", help="table or score, such as external_report")
    add("--dialect", metavar="NAME", help="spark, postgres, clickhouse, datafusion, duckdb, ...")
    add("--tbl", metavar="NAME", help="table to read; without --label, a contingency table")
    add("--tbl-before", metavar="NAME", help="of two runs: table of the run before")
    add("--tbl-after", metavar="NAME", help="of two runs: table of the run after")
    for option in ("label", "cluster", "weight", "id", "partition-by"):
        add(f"--{option}", metavar="COLUMN")
    add("--metrics", metavar="COLUMNS", help="columns of the result, with commas; default all")
    flag = partial(add, action="store_true", default=None)
    flag("--steps", help="a script that keeps shared rows in temporary tables")
    flag("--compact", help="one line a statement, without comment")
    add("--size", metavar="N", type=int, help="coordinates of a point, if one column has arrays")
    labels = ("noise", "noise_as", "average_method", "beta", "adjusted", "split_cost", "merge_cost")
    runs, points = ("threshold", "min_share"), ("distance", "p", "center", "weights")
    for option in (*labels, *runs, "vector", *points, "missing", "method"):
        _add_option(group, option)


def _add_output(command: argparse.ArgumentParser) -> None:
    """Add the option --output."""
    command.add_argument(
        "--output",
        metavar="FILE",
        type=lambda text: None if text == "-" else Path(text),
        help="write to this file; default, and -: standard output",
    )
