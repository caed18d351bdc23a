"""Mistakes: the one line that tells of what went wrong."""

from __future__ import annotations

import re

import duckdb
import polars as pl

from polars_clustereval.errors import ClusterEvalError

__all__ = ["MISTAKES", "one_line"]

MISTAKES = (ClusterEvalError, duckdb.Error, pl.exceptions.PolarsError, OSError)

# Engines go on with the place in a query the user has not written, and with advice on options that
# this program does not have.
_ASIDE = re.compile(r"\n\n|\nThe search space|\nLINE ")


def one_line(error: Exception) -> str:
    """Give what the user can act on."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = _ASIDE.split(str(error), maxsplit=1)[0]
    if isinstance(error, duckdb.Error):
        text = re.sub(r"^[\w ]+ Error: ", "", text)
    # The one piece of advice that is written for another wing.
    return " ".join(text.split()).replace("adjusted := false", "--no-adjusted")
