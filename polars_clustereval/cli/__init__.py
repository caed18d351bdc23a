"""Command line: reads a file, computes a report in DuckDB or Polars, and writes it.

``arguments`` defines the options and ``commands`` runs them. ``reports`` lists the reports,
``files`` opens the input, ``engines`` computes a report, ``terminal`` renders it with the texts of
``layouts``, ``output`` encodes and writes it, and ``messages`` turns an error into one line.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .arguments import make_parser
from .messages import USER_ERRORS, summarize_error
from .output import write_output

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        Exit status: 0, or 2 after one line on standard error.
    """
    options = make_parser().parse_args(arguments)
    try:
        write_output(options.output, options.run(options))
    except USER_ERRORS as error:
        sys.stderr.write(f"clustereval: error: {summarize_error(error)}\n")
        return 2
    return 0
