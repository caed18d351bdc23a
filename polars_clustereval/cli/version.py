"""Version: the option ``--version``, which is answered without the imports of the commands."""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

from polars_clustereval import __version__
from polars_clustereval.base.quoting import escape_controls

__all__ = ["Parser", "make_version_parser"]


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors in the same way as the rest of the program."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 after one line with `message`, without the usage text of argparse."""
        self.exit(2, f"clustereval: error: {escape_controls(message)}\n")


def make_version_parser() -> Parser:
    """Return a parser that knows only the option --version."""
    parser = Parser("clustereval", add_help=False)
    parser.add_argument("--version", action="version", version=_version_text())
    return parser


def _version_text() -> str:
    """Return the version, with a note if another project with the same name is installed."""
    text = f"clustereval {__version__}"
    try:
        other = version("clustereval")
    except PackageNotFoundError:
        return text
    return (
        f"{text}, the command of polars_clustereval. The distribution clustereval {other} is "
        "installed, too, and is another project: if its command takes the place of this one, run "
        "python -m polars_clustereval"
    )
