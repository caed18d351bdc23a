"""Command line: reads files, computes a report in DuckDB or Polars, and writes the report.

``reports`` contains one record for each report. ``arguments`` creates the parser, and ``options``
stores the parsed arguments. ``commands`` contains a function for each command. ``sources`` finds
the input, ``files`` opens the input, and ``engines`` computes a report. ``terminal`` renders a
report with the help of ``grid``, and ``output`` encodes and writes the result. ``schemas`` contains
the JSON Schemas, and ``messages`` turns an error into a one-line message. ``noise`` and ``doubts``
write notes about the input, ``progress`` draws a progress bar, and ``interruption`` handles Ctrl-C.
The code in the folder ``page/`` creates the page that the command ``report`` writes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from polars_clustereval.base.quoting import escape_controls

from .arguments import make_parser
from .interruption import is_work_left, run_in_worker
from .messages import USER_ERRORS, summarize_error
from .options import Options
from .output import write_output

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from .commands import Outcome

__all__ = ["main"]

# The exit status that shells report for programs ended by Ctrl-C.
_INTERRUPTED = 130


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
    parser = make_parser()
    parsed = parser.parse_args(arguments)
    if parsed.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        _run(parsed)
    except USER_ERRORS as error:
        sys.stderr.write(f"clustereval: error: {summarize_error(error)}\n")
        return 2
    except KeyboardInterrupt:
        return _end_interrupted()
    return 0


def _run(parsed: Namespace) -> None:
    """Run the command specified in the parsed arguments, and then write its output and notes."""
    # This block is left when Ctrl-C ends the main thread's wait for the worker, so that no files
    # remain.
    with TemporaryDirectory(prefix="clustereval-", ignore_cleanup_errors=True) as scratch:
        options = Options.read(parsed, Path(scratch))
        outcome: Outcome = run_in_worker(lambda: parsed.command(options))
    write_output(outcome.output, outcome.content)
    for note in outcome.notes:
        sys.stderr.write(f"clustereval: {escape_controls(note)}\n")


def _end_interrupted() -> int:
    """Write one line about Ctrl-C, and then return the exit status or end the process with it."""
    sys.stderr.write("clustereval: interrupted\n")
    sys.stderr.flush()
    if is_work_left():
        # Python would wait for threads of Polars and numpy, which cannot be interrupted.
        os._exit(_INTERRUPTED)
    return _INTERRUPTED
