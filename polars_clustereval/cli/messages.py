"""Messages: writes an error as one line for standard error."""

from __future__ import annotations

import re

import duckdb
import polars as pl

from polars_clustereval.base.checks import REPEATED_ID_ADVICE
from polars_clustereval.base.quoting import escape_controls
from polars_clustereval.errors import ClusterEvalError, PythonCode, Setting

from .options import write_setting

__all__ = ["USER_ERRORS", "summarize_error"]

#: Errors caused by the input or its size. Any other error is a bug and keeps its traceback.
USER_ERRORS = (ClusterEvalError, duckdb.Error, pl.exceptions.PolarsError, OSError, MemoryError)

# The engines append the position in a generated query, and advice on options of their readers.
# Users of this program cannot act on either. A quoted line may end with an empty line, after which
# the error text continues.
_ENGINE_DETAILS = re.compile(
    r"\n\n(?!Value with)|\nThe search space|\nLINE |\n(?:Possible|Potential) (?:fix|solution)",
    re.IGNORECASE,
)

# DuckDB names the kind of an error, and Polars adds the origin of an error that comes from DuckDB.
_ERROR_KIND = re.compile(r"^(got external error: )?[\w ]+ Error: ")

# The text of DuckDB for a CSV file that it cannot split into rows and columns.
_SNIFFING = re.compile(
    r'Error when sniffing file "(.*?)"\.\n.*?Delimiter Candidates: (\S+)\n', re.DOTALL
)
_NO_TABLE = (
    "expected a CSV file in UTF-8 whose rows are as long as its header, separated by {1}; "
    "check the encoding, the separator and the quotes of {0}"
)

# Advice in the text of both engines, for which users of a shell get an option.
_SETTING = re.compile(r"\bset (\w+) to '(\w+)'")

_REPEATED_ID_ADVICE = "; if ids repeat across sources, give both columns, as in --id source,id"

_NUMBER_WITH_COMMA = re.compile(r"Could not convert string \"[^\"]*,[^\"]*\" to 'DOUBLE'$")


def summarize_error(error: Exception) -> str:
    """Return the part of an error's message that the user can act on, as one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return escape_controls(f"{error.filename}: {error.strerror}")
    if sniffed := _SNIFFING.search(str(error)):
        return escape_controls(_NO_TABLE.format(*sniffed.groups()))
    # Users of a shell get options in place of settings, and no Python code.
    message = "".join(
        write_setting(part) if isinstance(part, Setting) else str(part)
        for part in (error.args if isinstance(error, ClusterEvalError) else [error])
        if not isinstance(part, PythonCode)
    )
    text = _ENGINE_DETAILS.split(message, maxsplit=1)[0]
    if isinstance(error, duckdb.Error | pl.exceptions.PolarsError):
        text = _ERROR_KIND.sub("", text)
    text = " ".join(text.split()).replace(REPEATED_ID_ADVICE, _REPEATED_ID_ADVICE)
    text = _SETTING.sub(lambda found: f"give {write_setting(Setting(*found.groups()))}", text)
    if _NUMBER_WITH_COMMA.search(text):
        text += "; write a decimal point and no thousands separators, or vectors in brackets"
    return escape_controls(text)
