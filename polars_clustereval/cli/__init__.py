"""The command line: reads a file, has one of the two wings report on it, writes the report.

``arguments`` says what can be typed, ``commands`` what is done then: ``files`` finds the rows,
``engines`` runs the report, ``terminal`` sets it as a table with the words of ``layouts``,
``output`` turns it into a file and writes it, ``mistakes`` is the line for what goes wrong.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .arguments import parser
from .mistakes import MISTAKES, one_line
from .output import write

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name; that of the process by default.

    Returns
    -------
    int
        0, or 2 after one line on standard error.
    """
    options = parser().parse_args(arguments)
    try:
        write(options.output, options.run(options))
    except MISTAKES as error:
        sys.stderr.write(f"clustereval: error: {one_line(error)}\n")
        return 2
    return 0
