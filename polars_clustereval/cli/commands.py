"""Commands: each takes the parsed options and returns what is to be written."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.catalogue import describe
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.external.report import check_report_options
from polars_clustereval.macros import bundle, check_new_file, write_database

from .doubts import doubt_edges, doubt_labels
from .engines import ENGINES
from .messages import USER_ERRORS, summarize_error
from .noise import describe_unknown_noise
from .output import ENCODERS, check_output, infer_format, quote_formulas
from .reports import STABILITY
from .schemas import list_schemas, read_schema
from .sources import find_source
from .table_pairs import find_table_pair, report_table_pair
from .terminal import render_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from .reports import Report
    from .sources import Source

__all__ = [
    "Outcome",
    "run_describe",
    "run_page",
    "run_report",
    "run_resolution",
    "run_schema",
    "run_sql",
    "run_stability",
    "run_table_pair",
]


# Endings of a --database that is a file to write, where others are the name of an attached one.
_DATABASE_ENDINGS = (".duckdb", ".db", ".ddb")


class Outcome(NamedTuple):
    """The result of a command."""

    #: The output in the requested format.
    content: bytes
    #: Lines for standard error, once the output is written.
    notes: tuple[str, ...] = ()


def run_report(options: argparse.Namespace) -> Outcome:
    """Return the report that the parsed arguments ask for, with notes on its engine and rows."""
    _check_format(options)
    _check_sample_size(options)
    report = options.report
    if report.intervals is not None and getattr(options, report.interval_option) is not None:
        options.report = report.intervals
    source = find_source(options.files, options.scratch)
    check_output(options.output, source.paths)
    format_name = _choose_format(options)
    try:
        result = ENGINES[options.engine or options.report.engine](source, options)
    except USER_ERRORS as error:
        summary = source.rename_paths(summarize_error(error))
        raise ClusterEvalError(f"{source.name}: {summary}") from error
    doubts = doubt_labels(source, options) if "label" in options.report.required else []
    notes = (
        *_describe_engine(options),
        *_describe_missing_rows(result, source, options),
        *describe_unknown_noise([source], options, result),
        *(f"{source.name}: {doubt}" for doubt in doubts),
    )
    return Outcome(_write_result(_sort_rows(result, options), format_name, options), notes)


def _check_format(options: argparse.Namespace) -> None:
    """Raise an error if the arguments ask for Parquet on the screen."""
    if options.format == "parquet" and options.output is None:
        raise ClusterEvalError("--format parquet needs --output: it is no text for a screen")


def _choose_format(options: argparse.Namespace) -> str:
    """Return the name of the format that the arguments ask for, by the output file if not named."""
    name: str = options.format or infer_format(options.output)
    if options.quote_formulas and name != "csv":
        raise ClusterEvalError(
            f"--quote-formulas is for --format csv, which spreadsheets open, not for {name}: "
            "drop one"
        )
    return name


def _write_result(result: pl.DataFrame, format_name: str, options: argparse.Namespace) -> bytes:
    """Return a report in the format of this name, which is a table for the terminal or another."""
    if options.quote_formulas:
        result = quote_formulas(result)
    encode = ENCODERS.get(format_name)
    return render_table(result, options) if encode is None else encode(result)


def run_resolution(options: argparse.Namespace) -> Outcome:
    """Return the measures of entity resolution, or their estimates from a sample of the labels."""
    if options.labels_are_sample is None:
        if options.confidence is not None:
            raise ClusterEvalError(
                "--confidence needs --labels-are-sample, which says how the labels were drawn"
            )
    else:
        estimates = options.report.intervals
        _check_other_options(options, [options.report], estimates, "labels_are_sample")
        if options.confidence is None:
            options.confidence = estimates.defaults["confidence"]
    return run_report(options)


def _check_other_options(
    options: argparse.Namespace, reports: Iterable[Report], shown: Report, chosen_by: str
) -> None:
    """Raise an error if the arguments have an option of `reports` that the report shown has not.

    The report is chosen by the option of the parameter `chosen_by`.
    """
    for report in reports:
        for name in report.defaults.keys() - shown.defaults.keys():
            if getattr(options, name) != report.defaults[name]:
                flag, chosen = name.replace("_", "-"), chosen_by.replace("_", "-")
                value = getattr(options, chosen_by)
                raise ClusterEvalError(f"--{flag} does not go with --{chosen} {value}: drop one")


def run_table_pair(options: argparse.Namespace) -> Outcome:
    """Return a report of two tables: of two runs, of a graph, or of labels and clusters.

    `options` are the parsed arguments; --show chooses between the reports of a command.
    """
    _check_format(options)
    reports = options.reports
    options.report = reports[options.show]
    _check_other_options(options, reports.values(), options.report, "show")
    names = [table.parameter for table in options.report.inputs]
    given = [options.files if name == "frame" else getattr(options, name) for name in names]
    options.file_lists = [[file] if isinstance(file, str) else file for file in given]
    options.files = [file for files in options.file_lists for file in files]
    pair = find_table_pair(options)
    check_output(options.output, [path for source in pair for path in source.paths])
    format_name = _choose_format(options)
    result = report_table_pair(pair, options)
    if format_name == "table":
        result = _show_changes_first(result, options)
    doubts = doubt_edges(pair, options) if "edges" in names else []
    notes = (
        *_describe_engine(options),
        *_describe_empty_pair(result, pair, options),
        *describe_unknown_noise(pair, options, result),
        *(f"{pair[1].name}: {doubt}" for doubt in doubts),
    )
    return Outcome(_write_result(result, format_name, options), notes)


def run_stability(options: argparse.Namespace) -> Outcome:
    """Return the consensus of the runs, or with --reference the stability of its clusters."""
    if options.reference is not None:
        consensus, options.report = options.report, STABILITY[True]
        for name in consensus.defaults.keys() - options.report.defaults.keys():
            if getattr(options, name) != consensus.defaults[name]:
                flag = name.replace("_", "-")
                raise ClusterEvalError(f"--{flag} is for agreement, not for --reference: drop one")
    return run_report(options)


def run_page(options: argparse.Namespace) -> Outcome:
    """Return a page about the clustering that the parsed arguments name, as HTML or Markdown."""
    from polars_clustereval.page import draw_pictures, make_findings, write_html, write_markdown

    if options.html is not None and (options.output is not None or options.format is not None):
        other = "output" if options.output is not None else "format"
        raise ClusterEvalError(f"--{other} does not go with --html, which is a file: drop one")
    _check_sample_size(options)
    source = find_source(options.files, options.scratch)
    if options.html is not None:
        options.output = options.html
    is_html = options.html is not None or options.format == "html"
    check_output(options.output, source.paths)
    try:
        findings = make_findings(source, options, has_pictures=is_html)
        if not is_html:
            return Outcome(write_markdown(findings), findings.notes)
        pictures = draw_pictures(source, options, findings)
        notes = (pictures.note,) if pictures.note else ()
        findings = findings._replace(warnings=[*findings.warnings, *notes])
        return Outcome(write_html(findings, pictures.drawn), (*findings.notes, *notes))
    except USER_ERRORS as error:
        raise ClusterEvalError(source.rename_paths(summarize_error(error))) from error


def _check_sample_size(options: argparse.Namespace) -> None:
    """Raise an error if the arguments ask for a sample, but not for its size."""
    method = getattr(options, "method", None)
    if method is not None and method.lower() == "sample" and options.sample_size is None:
        raise ClusterEvalError(
            "--method sample needs --sample-size, the number of points to evaluate"
        )


def _describe_engine(options: argparse.Namespace) -> list[str]:
    """Return a note if the report's engine is not DuckDB and the arguments do not name it.

    Only a person at a terminal has a use for it, so there is none in a log.
    """
    engine: str = options.report.engine
    if options.engine is not None or engine == "duckdb" or not sys.stderr.isatty():
        return []
    reason = "distances between points" if "vector" in options.report.defaults else "this report"
    return [f"engine {engine}, faster for {reason}; see --engine"]


def _describe_missing_rows(
    result: pl.DataFrame, source: Source, options: argparse.Namespace
) -> list[str]:
    """Return a note if a report was computed from no rows.

    A report without the column n_dropped does not tell whether the input has rows. One with reasons
    for missing values tells more.
    """
    if "reason" in result.columns and "std_error" in result.columns:
        return _describe_missing_estimates(result, source)
    if "n_dropped" in result.columns:
        n_rows = result.select(pl.sum_horizontal(pl.col("n", "n_dropped").sum())).item()
        missing = "no rows below the header" if source.kind == "csv" else "no rows"
    else:
        n_rows = result["value"].count() if "std_error" in result.columns else result.height
        needed = next(
            name for name in ("vector", "run", "label") if name in options.report.required
        )
        missing = f"no rows with a {needed} and a cluster"
    return [] if n_rows else [f"{source.name}: {missing}"]


def _describe_missing_estimates(result: pl.DataFrame, source: Source) -> list[str]:
    """Return a note if a clustering has no estimates at all, with the reason of the first one."""
    keys = result.columns[: result.columns.index("metric")]
    has_value = pl.col("value").is_not_null().any()
    if keys:
        missing = result.filter(~has_value.over(keys)).unique(keys, maintain_order=True)
    else:
        missing = result.filter(~has_value).head(1)
    if missing.is_empty():
        return [] if result.height else [f"{source.name}: no rows with a label and a cluster"]
    others = f" (and so for {missing.height - 1} more)" if missing.height > 1 else ""
    return [f"{source.name}: {missing['reason'][0]}{others}"]


#: Columns that count the rows of a report of two tables: it has none if all of them are 0.
_PAIR_COUNTS = (
    ("n_before", "n_after", "n_moved"),
    ("n_nodes", "n_dropped_edges"),
    ("n", "n_only_labels", "n_only_clusters"),
)


def _describe_empty_pair(
    result: pl.DataFrame, pair: tuple[Source, Source], options: argparse.Namespace
) -> list[str]:
    """Return a note if a report of two tables was computed from no rows, as far as it tells so."""
    columns = set(result.columns)
    counts = next((names for names in _PAIR_COUNTS if columns.issuperset(names)), None)
    if counts is not None:
        is_empty = not result.select(pl.sum_horizontal(pl.col(counts).sum())).item()
    else:
        is_empty = result.is_empty() and bool(columns & {"transition", "density", "degree"})
    missing = "a label or a cluster" if "label" in options.report.required else "a cluster"
    return [f"{pair[0].name}: no rows with an id and {missing}"] if is_empty else []


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


def run_describe(options: argparse.Namespace) -> Outcome:
    """Return what the catalogue knows of the name in the parsed arguments, or a list of all names.

    The names are those of scores, tables, criteria and parameters.
    """
    return Outcome(f"{describe(options.name)}\n".encode())


def _show_changes_first(result: pl.DataFrame, options: argparse.Namespace) -> pl.DataFrame:
    """Return the rows of a report for the terminal: those that its layout shows last are last."""
    if options.report.layout.shown_last is None:
        return result
    column, value = options.report.layout.shown_last
    return result.sort(pl.col(column) == value, maintain_order=True)


def run_schema(options: argparse.Namespace) -> Outcome:
    """Return the JSON Schema of the report that the parsed arguments name, or a list of all."""
    name = options.name
    return Outcome((list_schemas() if name is None else read_schema(name)).encode())


def run_sql(options: argparse.Namespace) -> Outcome:
    """Return all SQL macros as one file, in the schema that the arguments name, or one query.

    If they name a file of a database, that file is the output, and the result its content.
    """
    if options.name is not None or options.dialect is not None:
        return _translate_table(options)
    database = options.database
    if database is not None and Path(database).suffix.lower() in _DATABASE_ENDINGS:
        return _make_database(options)
    return Outcome(bundle(options.schema, database, options.temporary).encode())


def _make_database(options: argparse.Namespace) -> Outcome:
    """Return the content of a database of the macros, and make the file that it is for the output.

    `options` are the parsed arguments, with the file as `database`.
    """
    for option in ("temporary", "output"):
        if getattr(options, option):
            raise ClusterEvalError(
                f"--{option} does not go with --database {options.database}, which is a file to "
                "write: drop one"
            )
    options.output = Path(options.database)
    check_new_file(options.output)
    draft = options.scratch / "macros.duckdb"
    write_database(draft, options.schema)
    return Outcome(draft.read_bytes())


_QUERY_OPTIONS = (
    *("tbl", "tbl_before", "tbl_after", "label", "cluster", "weight", "id", "partition_by"),
    *("noise", "noise_as", "average_method", "beta", "adjusted", "split_cost", "merge_cost"),
    *("threshold", "min_share"),
    *("vector", "size", "distance", "p", "center", "weights", "missing"),
    "method",
)


def _translate_table(options: argparse.Namespace) -> Outcome:
    """Return the query of one table in another dialect."""
    tbl = options.tbl if options.tbl_before is None else options.tbl_before
    for given in (options.name, options.dialect, tbl):
        if given is None:
            raise ClusterEvalError(
                "sql: a query needs a table macro, --dialect and --tbl, such as: clustereval sql "
                "external_report --dialect spark --tbl t --label a --cluster b"
            )
    try:
        from polars_clustereval.dialects import to_sql
    except ImportError as error:
        raise ClusterEvalError(str(error)) from error
    values = {key: getattr(options, key) for key in _QUERY_OPTIONS}
    arguments = {key: value for key, value in values.items() if value is not None}
    if options.vector is not None and options.size is None:
        arguments["vector"] = [name.strip() for name in options.vector.split(",")]
    if options.name == "external_report":  # the check in SQL names the options in SQL's words
        defaults: dict[str, Any] = {"average_method": "arithmetic", "beta": 1.0, "adjusted": True}
        check_report_options(**{name: arguments.get(name, x) for name, x in defaults.items()})
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        query = to_sql(options.name, dialect=options.dialect, **arguments)
    return Outcome(f"{query};\n".encode(), tuple(str(note.message) for note in notes))
