"""Commands: each takes the parsed options and returns the bytes to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.macros import bundle

from .engines import ENGINES
from .files import find_source
from .messages import USER_ERRORS, summarize_error
from .output import ENCODERS, check_output, infer_format
from .terminal import render_table

if TYPE_CHECKING:
    import argparse

__all__ = ["run_report", "run_sql"]


def run_report(options: argparse.Namespace) -> bytes:
    """Return the report that the parsed arguments ask for, as bytes in the requested format."""
    format_name = options.format or infer_format(options.output)
    if format_name == "parquet" and options.output is None:
        raise ClusterEvalError("--format parquet needs --output: it is no text for a screen")
    source = find_source(options.file)
    check_output(options.output, source.path)
    try:
        result = ENGINES[options.engine](source, options)
    except USER_ERRORS as error:
        raise ClusterEvalError(f"{source.path}: {summarize_error(error)}") from error
    if format_name in ENCODERS:
        return ENCODERS[format_name](result)
    return render_table(result, options)


def run_sql(_: argparse.Namespace) -> bytes:
    """Return all SQL macros as the bytes of one file; the parsed arguments are not used."""
    return bundle().encode()
