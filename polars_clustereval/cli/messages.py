"""Messages: an error as one line on standard error."""

from __future__ import annotations

import re

import duckdb
import polars as pl

from polars_clustereval.errors import ClusterEvalError

__all__ = ["USER_ERRORS", "summarize_error"]

#: Errors caused by the input; any other is a bug and keeps its traceback.
USER_ERRORS = (ClusterEvalError, duckdb.Error, pl.exceptions.PolarsError, OSError)

# The engines append the position in a generated query and advice on options of their readers,
# neither of which the user of this program can act on.
_ENGINE_DETAILS = re.compile(r"\n\n|\nThe search space|\nLINE ")


def summarize_error(error: Exception) -> str:
    """Return the part of an error's message that the user can act on, as one line.

    Positions in a query that the user did not write are cut off, as is advice on options of the
    engines' readers.
    """
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = _ENGINE_DETAILS.split(str(error), maxsplit=1)[0]
    if isinstance(error, duckdb.Error):
        text = re.sub(r"^[\w ]+ Error: ", "", text)
    # The only advice in an error text that is written as SQL.
    return " ".join(text.split()).replace("adjusted := false", "--no-adjusted")
