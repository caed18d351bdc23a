"""Commands: each takes the parsed options and returns the bytes to write."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.macros import bundle

from .engines import ENGINES
from .messages import USER_ERRORS, escape_controls, summarize_error
from .output import ENCODERS, check_output, infer_format
from .sources import find_source
from .terminal import render_table

if TYPE_CHECKING:
    import argparse

    from .sources import Source

__all__ = ["run_report", "run_sql"]


def run_report(options: argparse.Namespace) -> bytes:
    """Return the report that the parsed arguments ask for, as bytes in the requested format."""
    if options.format == "parquet" and options.output is None:
        raise ClusterEvalError("--format parquet needs --output: it is no text for a screen")
    source = find_source(options.files, options.scratch)
    check_output(options.output, source.paths)
    format_name = options.format or infer_format(options.output)
    try:
        result = ENGINES[_choose_engine(options)](source, options)
    except USER_ERRORS as error:
        raise ClusterEvalError(f"{source.name}: {summarize_error(error)}") from error
    _note_missing_rows(result, source)
    result = _sort_rows(result, options)
    if format_name in ENCODERS:
        return ENCODERS[format_name](result)
    return render_table(result, options)


def _choose_engine(options: argparse.Namespace) -> str:
    """Return the engine that the parsed arguments name, or else the one of their report.

    A choice other than DuckDB is told on standard error.
    """
    if options.engine is not None:
        return str(options.engine)
    engine: str = options.report.engine
    if engine != "duckdb":
        _write_note(f"engine {engine}, faster for distances between points; see --engine")
    return engine


def _note_missing_rows(result: pl.DataFrame, source: Source) -> None:
    """Tell on standard error if a report was computed from no rows."""
    counts = [name for name in ("n", "n_dropped") if name in result.columns]
    if (
        result.select(pl.sum_horizontal(pl.col(counts).sum())).item() == 0
        if counts
        else (result.is_empty())
    ):
        below = " below the header" if source.kind == "csv" else ""
        _write_note(f"{source.name}: no rows{below}")


def _write_note(text: str) -> None:
    """Write one line to standard error that is no error."""
    sys.stderr.write(f"clustereval: {escape_controls(text)}\n")


def _sort_rows(result: pl.DataFrame, options: argparse.Namespace) -> pl.DataFrame:
    """Return the rows of a report, worst first if it has many rows for each clustering.

    `options` are the parsed arguments. Rows that are equally bad stay in the report's order.
    """
    layout = options.report.layout
    column = layout.worst_first
    if column is None:
        return result
    is_high_worst = not layout.meanings[column].is_high_best
    return result.sort(column, descending=is_high_worst, nulls_last=True, maintain_order=True)


def run_sql(options: argparse.Namespace) -> bytes:
    """Return all SQL macros as the bytes of one file, in the schema that the arguments name."""
    return bundle(options.schema, options.database, options.temporary).encode()
