"""Arguments: what can be typed after the program's name."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, NoReturn

from polars_clustereval import __version__

from .commands import REPORTS, bundled, reported
from .engines import ENGINES
from .output import FORMATS

__all__ = ["OPTIONS", "parser"]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Leave out the usage: an error is one line."""
        self.exit(2, f"clustereval: error: {message}\n")


def parser() -> argparse.ArgumentParser:
    """Give the parser; what it parses has ``run``, which gives the bytes to write."""
    whole = _Parser("clustereval", description="Evaluate clusterings where the data lies.")
    whole.add_argument("--version", action="version", version=f"clustereval {__version__}")
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    for name in REPORTS:
        _add_report(commands, name)
    _add_sql(commands)
    return whole


def _add_report(commands: Any, name: str) -> None:
    report = REPORTS[name]
    command = commands.add_parser(name, help=report.about, description=f"Report {report.about}.")
    add = command.add_argument
    add("file", metavar="FILE", help=".parquet, .csv, .csv.gz, .tsv, or DATABASE::TABLE of DuckDB")
    for parameter, option in OPTIONS.items():
        if parameter in report.defaults:
            words = {"flag": "--" + parameter.replace("_", "-"), **option}
            required = parameter in report.required
            default = None if required else report.defaults[parameter]
            add(words.pop("flag"), dest=parameter, required=required, default=default, **words)
    add("--engine", choices=ENGINES, default="duckdb", help="duckdb (default), polars")
    add("--format", choices=FORMATS, help="table, json, csv, parquet; default: by --output")
    _add_output(command)
    command.set_defaults(run=reported, report=report)


def _add_sql(commands: Any) -> None:
    about = "all SQL macros as one file for the DuckDB shell"
    command = commands.add_parser("sql", help=about, description=f"Print {about}.")
    _add_output(command)
    command.set_defaults(run=bundled)


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--output", metavar="FILE", type=Path, help="write here, not to the screen"
    )


def _number(text: str) -> float:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else float(text)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


# argparse names them in its errors.
_number.__name__ = "number"
_numbers.__name__ = "list of numbers"


def _value(text: str) -> str | float:
    """Give a number where it is written the way numbers are: 007 is a text."""
    if re.fullmatch(r"-?\d{1,18}(\.\d+)?", text):
        number = _number(text)
        return number if str(number) == text else text
    return text


#: How each parameter of the reports is typed; a command has those of its report, with their
#: defaults. Their values are checked where they are used: one wording everywhere.
OPTIONS: dict[str, dict[str, Any]] = {
    "vector": {
        "metavar": "COLUMNS",
        "help": "lists of numbers, or numbers; commas between columns",
    },
    "label": {"metavar": "COLUMN", "help": "the true classes"},
    "cluster": {"metavar": "COLUMN", "help": "the clusters found"},
    "id": {"metavar": "COLUMN", "help": "names of the points, by whose order a sample is drawn"},
    "partition_by": {
        "metavar": "COLUMNS",
        "help": "score each group alone; commas between columns",
    },
    "weight": {"metavar": "COLUMN", "help": "how many times a row counts"},
    "distance": {
        "metavar": "NAME",
        "help": "euclidean (default), sqeuclidean, cityblock, chebyshev, minkowski, cosine",
    },
    "p": {"metavar": "NUMBER", "type": _number, "help": "order of minkowski; default 2"},
    "center": {"metavar": "WAY", "help": "of a cluster: mean (default), median"},
    "weights": {
        "metavar": "NUMBERS",
        "type": _numbers,
        "help": "one for each coordinate; commas between",
    },
    "noise": {
        "metavar": "VALUE",
        "type": _value,
        "help": "value of the cluster column for noise",
    },
    "noise_as": {"metavar": "WAY", "help": "cluster (default), drop, singletons"},
    "method": {"metavar": "WAY", "help": "exact (default), simplified, bounds, sample"},
    "tolerance": {
        "metavar": "NUMBER",
        "type": _number,
        "help": "stop when the score is known so closely",
    },
    "sample_size": {
        "metavar": "NUMBER",
        "type": _number,
        "help": "points to evaluate with --method sample",
    },
    "confidence": {
        "metavar": "NUMBER",
        "type": _number,
        "help": "of the limits of a sample; default 0.95",
    },
    "random_state": {
        "metavar": "NUMBER",
        "type": _number,
        "help": "which sample is drawn; default 0",
    },
    "average_method": {
        "metavar": "MEAN",
        "help": "arithmetic (default), geometric, min, max, joint",
    },
    "beta": {
        "metavar": "NUMBER",
        "type": _number,
        "help": "weight of recall in F, of completeness in V; default 1",
    },
    "adjusted": {
        "flag": "--no-adjusted",
        "action": "store_false",
        "help": "leave out the expected information",
    },
}
