"""Program: runs the command that the arguments ask for, and writes its output and its notes."""

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
from .progress import show_progress

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from .commands import Outcome

__all__ = ["run_program"]

# The exit status that shells report for programs ended by Ctrl-C.
_INTERRUPTED = 130


def run_program(arguments: Sequence[str]) -> int:
    """Run the command line with these arguments, and return its exit status."""
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
        sys.stderr.write("clustereval: interrupted\n")
        sys.stderr.flush()
        if is_work_left():
            # Python would wait for threads of Polars and numpy, which cannot be interrupted.
            os._exit(_INTERRUPTED)
        return _INTERRUPTED
    return 0


def _run(parsed: Namespace) -> None:
    """Run the command specified in the parsed arguments, and then write its output and notes."""
    # This block is left when Ctrl-C ends the main thread's wait for the worker, so that no files
    # remain.
    with (
        TemporaryDirectory(prefix="clustereval-", ignore_cleanup_errors=True) as scratch,
        show_progress() as show,
    ):
        options = Options.read(parsed, Path(scratch))
        outcome: Outcome = run_in_worker(lambda: parsed.command(options), show)
    write_output(outcome.output, outcome.content)
    for note in outcome.notes:
        sys.stderr.write(f"clustereval: {escape_controls(note)}\n")
