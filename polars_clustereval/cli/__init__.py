"""Command line: reads files, computes a report in DuckDB or Polars, and writes the report.

``program`` runs the command line, except for the option in ``version``. ``reports`` contains one
record for each report. ``arguments`` creates the parser, and ``options`` stores the parsed
arguments. ``commands`` contains a function for each command. ``sources`` finds the input, ``files``
opens the input, and ``engines`` computes a report. ``terminal`` renders a report with the help of
``grid``, and ``output`` encodes and writes the result. ``schemas`` computes the JSON Schemas, and
``messages`` turns an error into a one-line message. ``noise`` and ``doubts`` write notes about the
input, ``progress`` shows what is being computed, and ``interruption`` handles Ctrl-C. The code in
the folder ``page/`` creates the page that the command ``report`` writes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .version import make_version_parser

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments, without the program's name. By default, the arguments of the current
        process are used.

    Returns
    -------
    int
        Exit status: 0 on success, 2 after an error, or 130 after Ctrl-C. An error is reported as
        one line on standard error.
    """
    given = sys.argv[1:] if arguments is None else arguments
    make_version_parser().parse_known_args(given[:1])
    # The imports of the commands would take most of the time that --version needs.
    from .program import run_program

    return run_program(given)
