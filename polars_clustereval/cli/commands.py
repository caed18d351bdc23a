"""Commands: functions that take the options and return the output to be written."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from polars_clustereval.base.checks import check_metrics
from polars_clustereval.base.findings import SEVERITIES
from polars_clustereval.base.quoting import escape_controls
from polars_clustereval.catalogue import describe
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.macros import bundle, check_new_file, write_database

from .doubts import doubt_counts, doubt_input
from .engines import ENGINES
from .estimates import warn_of_time
from .messages import USER_ERRORS, summarize_error
from .noise import describe_unknown_noise, describe_unnamed_noise
from .options import INPUTS, option_flag
from .output import (
    ENCODERS,
    check_output,
    check_picture,
    encode_text,
    infer_format,
    quote_formulas,
    save_picture,
)
from .reports import ALL_FINDINGS, REPORTS
from .schemas import format_schema, list_schemas
from .sources import find_sources
from .terminal import render_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .options import Call, Options
    from .reports import Report
    from .sources import Source

__all__ = [
    "Outcome",
    "run_describe",
    "run_findings",
    "run_page",
    "run_report",
    "run_resolution",
    "run_schema",
    "run_sql",
    "run_stability",
]


# The file endings by which --database is a file to write. Any other value is the name of an
# attached database.
_DATABASE_ENDINGS = (".duckdb", ".db", ".ddb")


class Outcome(NamedTuple):
    """The result of a command."""

    #: The output in the requested format.
    content: bytes
    #: The file to which the output is written; None for standard output.
    output: Path | None
    #: Lines for standard error, once the output is written.
    notes: tuple[str, ...] = ()


# ----------------------------------------------------------------------------------------------
# Reports
# ----------------------------------------------------------------------------------------------


def run_report(options: Options, label_findings: Call | None = None) -> Outcome:
    """Return the report of the options; `label_findings` are added to findings about points."""
    if options.format == "parquet" and options.output is None:
        raise ClusterEvalError("--format parquet needs --output, because a terminal cannot show it")
    _check_required(options)
    for flag in _list_misplaced(options):
        raise ClusterEvalError(
            f"{flag} cannot be combined with {_describe_choice(options)}: drop one"
        )
    if options.engine == "duckdb" and not options.report.has_macro:
        is_choice = any(report.has_macro for report in options.reports)
        choice = _describe_choice(options) if is_choice else f"the command {options.report.command}"
        raise ClusterEvalError(
            f"--engine duckdb cannot be combined with {choice}, which has no SQL macro: drop "
            f"{'one' if is_choice else '--engine'}"
        )
    _check_sample_size(options)
    sources = find_sources(options.files, options.scratch)
    check_output(options.output, [path for source in sources for path in source.paths])
    check_picture(options.plot)
    format_name = _choose_format(options)
    call = shown = options.call(options.report)
    _write_note(warn_of_time(sources[0], call))
    try:
        result = ENGINES[call.engine](sources, call, _columns_to_compute(options))
        if label_findings is not None:
            found = ENGINES[label_findings.engine](sources, label_findings)
            result = _join_findings(found, result)
            arguments = {**call.arguments, "label": label_findings.arguments["label"]}
            shown = replace(call, report=ALL_FINDINGS, arguments=arguments)
        chosen = _keep_asked_for(result, options)
        if options.plot is not None:
            save_picture(options.report.plot, result, options.plot)
    except USER_ERRORS as error:
        raise ClusterEvalError(_name_inputs(summarize_error(error), sources, call)) from error
    calls = [call] if label_findings is None else [call, label_findings]
    unnamed = (note for one in calls for note in describe_unnamed_noise(sources, one))
    notes = (
        *_describe_engine(options),
        *_describe_no_rows(result, sources[0], options.report),
        *(f"{sources[0].name}: {note}" for note in doubt_counts(call, result)),
        *describe_unknown_noise(sources, call, result),
        *dict.fromkeys(unnamed),
        # Doubts about two tables are about the second; a third one has labels of pairs.
        *(f"{sources[:2][-1].name}: {doubt}" for doubt in doubt_input(sources, calls[-1])),
    )
    content = _write_result(chosen, format_name, shown, options)
    return Outcome(content, options.output, notes)


def _columns_to_compute(options: Options) -> list[str] | None:
    """Return the columns to compute: the requested scores and the counts that notes need."""
    report = options.report
    if options.chosen_metrics is None or report.is_listing or report.has_intervals:
        return None
    noted = [x for x in ("n_noise", "clusters_are_components") if x in report.meanings]
    return list(dict.fromkeys([*report.row_counts, *noted, *options.chosen_metrics]))


def _keep_asked_for(result: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Return the rows of a report with only the requested scores (by default, all scores)."""
    names, report = options.chosen_metrics, options.report
    if options.metrics is not None and report.is_listing:
        raise ClusterEvalError(
            f"--metrics cannot be combined with {_describe_choice(options)}: drop one"
        )
    if names is None:
        return result
    if report.has_intervals:
        known = result["metric"].unique(maintain_order=True).to_list()
        return _choose_rows(result, check_metrics(names, known))
    computed = _columns_to_compute(options) or []
    keys = [name for name in result.columns if name not in computed]
    return result.select(*keys, *dict.fromkeys(names))


def _choose_rows(result: pl.DataFrame, metrics: list[str]) -> pl.DataFrame:
    """Return the rows of the `metrics`, in this order, of each clustering in a long report."""
    places = pl.DataFrame({"metric": metrics}).with_row_index("place")
    clustering = pl.int_range(pl.len()) // len(metrics)
    rows = result.join(places, on="metric", maintain_order="left")
    return rows.sort(clustering, "place").drop("place")


def _write_note(note: str) -> None:
    """Write a note to standard error before work that may take long, unless it is empty."""
    if note:
        sys.stderr.write(f"clustereval: {escape_controls(note)}\n")
        sys.stderr.flush()


def run_resolution(options: Options) -> Outcome:
    """Return the measures of entity resolution, or their estimates from a sample of labels."""
    for name in ("confidence", "sampling_fraction"):
        if name in options.values and "labels_are_sample" not in options.values:
            raise ClusterEvalError(
                f"{option_flag(name)} needs --labels-are-sample, which says how the labels were "
                "drawn"
            )
    return run_report(options)


def run_findings(options: Options) -> Outcome:
    """Return the findings about sizes of clusters, about labels, about points, or about both."""
    if not options.values.keys() & {"label", "vector"}:
        for flag in _list_misplaced(options):
            raise ClusterEvalError(f"findings: {flag} needs --vector, the points")
    if not {"label", "vector"} <= options.values.keys():
        return run_report(options)
    # One engine reads the clusters of both, so that they have one type.
    of_points, of_labels = options.without("label"), options.without("vector")
    engine = options.engine or of_points.report.engine
    return run_report(of_points, replace(of_labels, engine=engine).call(of_labels.report))


def _join_findings(of_labels: pl.DataFrame, of_points: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of both, once each; of the same severity, those about labels come first."""
    keys = of_points.columns[: of_points.columns.index("severity")]
    rank = pl.col("severity").replace_strict(SEVERITIES, range(len(SEVERITIES)))
    rows = pl.concat([of_labels, of_points], how="diagonal_relaxed")
    rows = rows.unique([*keys, "code", "cluster", "finding"], keep="first", maintain_order=True)
    rows = rows.sort(*keys, rank, nulls_last=True, maintain_order=True)
    return rows.select(*keys, *ALL_FINDINGS.meanings)


def run_stability(options: Options) -> Outcome:
    """Return the consensus of the runs, or the stability of the reference run's clusters."""
    for flag in _list_misplaced(options):
        raise ClusterEvalError(
            f"{flag} applies only to the agreement of runs and cannot be combined with "
            "--reference: drop one"
        )
    return run_report(options)


def _check_required(options: Options) -> None:
    """Raise an error if an option is missing that only some reports of the command need."""
    report = options.report
    missing = [option_flag(name) for name in report.required if name not in options.values]
    if missing:
        given = f" with {option_flag(report.option)}" if report.option in INPUTS else ""
        others = [option_flag(x.option) for x in options.reports if x.option in INPUTS]
        instead = "" if given else "".join(f", or {flag} in place of it" for flag in others)
        raise ClusterEvalError(
            f"the following arguments are required{given}: {', '.join(missing)}{instead}"
        )


def _list_misplaced(options: Options) -> list[str]:
    """Return the options, set to other values than their defaults, of other reports only."""
    known = options.report.defaults
    return [
        option_flag(name)
        for report in options.reports
        for name, default in report.defaults.items()
        if name not in known and options.values.get(name, default) != default
    ]


def _describe_choice(options: Options) -> str:
    """Return the option that selected the command's report, along with its value."""
    # The first report of a command has no option; it is recognized by its first required column.
    name = "show" if options.show else options.report.option or options.report.required[0]
    return f"{option_flag(name)} {options.show or options.values[name]}"


def _check_sample_size(options: Options) -> None:
    """Raise an error if the options request a sample without specifying its size."""
    is_sample = options.values.get("method", "").lower() == "sample"
    if is_sample and not {"sample_size", "reference_size"} & options.values.keys():
        raise ClusterEvalError(
            "--method sample needs --sample-size, the number of points to evaluate"
        )


def _choose_format(options: Options) -> str:
    """Return the format specified in the options, or else the format of the output file."""
    name = options.format or infer_format(options.output)
    if options.quote_formulas and name != "csv":
        raise ClusterEvalError(
            f"--quote-formulas works only with --format csv, not with {name}: drop one"
        )
    return name


def _name_inputs(text: str, sources: Sequence[Source], call: Call) -> str:
    """Return the text of an error message, preceded by the name of the input that it concerns.

    The parameter name at the start of the text tells which input this is. If it may be any of them,
    all inputs are listed.
    """
    parameter = text.partition(":")[0]
    tables = dict(zip((table.parameter for table in call.report.inputs), sources, strict=True))
    for source in sources:
        text = source.rename_paths(text)
    if parameter in tables:
        return f"{tables[parameter].name}{text.removeprefix(parameter)}"
    owners = [tables[x.parameter] for x in call.report.inputs if parameter in x.columns]
    names = [source.name for source in (owners if len(owners) == 1 else sources)]
    return f"{', '.join(names)}: {text}"


def _write_result(result: pl.DataFrame, format_name: str, call: Call, options: Options) -> bytes:
    """Return the rows of a report as a table or in another format, the worst rows first."""
    worst = call.report.worst_first
    if worst is not None:
        is_high_worst = not call.report.meanings[worst].is_high_best
        result = result.sort(worst, descending=is_high_worst, nulls_last=True, maintain_order=True)
    if options.quote_formulas:
        result = quote_formulas(result)
    if format_name != "table":
        return ENCODERS[format_name](result)
    if call.report.shown_last is not None:
        column, value = call.report.shown_last
        result = result.sort(pl.col(column) == value, maintain_order=True)
    return render_table(result, call, options.files, options.output, options.metrics)


# ----------------------------------------------------------------------------------------------
# Notes
# ----------------------------------------------------------------------------------------------


def _describe_engine(options: Options) -> list[str]:
    """Return a note on the engine at a terminal if it is Polars, which the options do not name."""
    report = options.report
    is_choice = options.engine is None and report.has_macro and report.engine != "duckdb"
    if not is_choice or not sys.stderr.isatty():
        return []
    reason = "distances between points" if "vector" in report.defaults else "this report"
    return [f"engine {report.engine}, faster for {reason}; see --engine"]


def _describe_no_rows(result: pl.DataFrame, source: Source, report: Report) -> list[str]:
    """Return a note on the first input if no rows were used to compute a report."""
    if report.option == "labels_are_sample":
        missing = _describe_missing_estimates(result)
    else:
        counts = [pl.col(name).sum() for name in report.row_counts]
        values = result["value"].drop_nulls() if report.has_intervals else result
        n_rows = result.select(pl.sum_horizontal(counts)).item() if counts else len(values)
        missing = "" if n_rows else report.no_rows
    if missing == "no rows" and source.kind == "csv":
        missing = "no rows below the header"
    return [f"{source.name}: {missing}"] if missing else []


def _describe_missing_estimates(result: pl.DataFrame) -> str:
    """Return the reason of the first clustering without estimates."""
    keys = result.columns[: result.columns.index("metric")]
    has_value = pl.col("value").is_not_null().any()
    if keys:
        missing = result.filter(~has_value.over(keys)).unique(keys, maintain_order=True)
    else:
        missing = result.filter(~has_value).head(1)
    if missing.is_empty():
        return "" if result.height else "no rows with a label and a cluster"
    n_others = missing.height - 1
    others = f" (other clusterings without estimates: {n_others})" if n_others else ""
    return f"{missing['reason'][0]}{others}"


# ----------------------------------------------------------------------------------------------
# Other commands
# ----------------------------------------------------------------------------------------------


def run_page(options: Options) -> Outcome:
    """Return a page about the clustering specified in the options, as HTML or Markdown."""
    from polars_clustereval.page import (
        draw_pictures,
        list_clusterings,
        make_clusterings,
        make_findings,
        make_partitions,
        write_html,
        write_markdown,
        write_partitions_html,
        write_partitions_markdown,
    )

    if options.html is not None and (options.output is not None or options.format is not None):
        other = "output" if options.output is not None else "format"
        raise ClusterEvalError(
            f"--{other} cannot be combined with --html, which is a file: drop one"
        )
    _check_sample_size(options)
    _check_clusters(options)
    [source] = find_sources(options.files, options.scratch)
    output = options.html or options.output
    is_html = options.html is not None or options.format == "html"
    check_output(output, source.paths)
    try:
        has_several = "clusters" in options.values
        clusterings = list_clusterings(source, options) if has_several else {"": options}
        if "vector" in options.values and options.values.keys() & {"method", "tolerance"}:
            calls = (x.call(REPORTS["silhouette"]) for x in clusterings.values())
            _write_note(warn_of_time(source, *calls))
        if has_several or "partition_by" in options.values:
            partitions = (
                make_clusterings(source, options, clusterings)
                if has_several
                else make_partitions(source, options)
            )
            write = write_partitions_html if is_html else write_partitions_markdown
            return Outcome(write(partitions), output, partitions.notes)
        findings = make_findings(source, options, has_pictures=is_html)
        if not is_html:
            return Outcome(write_markdown(findings), output, findings.notes)
        pictures = draw_pictures(source, options, findings)
        notes = (pictures.note,) if pictures.note else ()
        findings = findings._replace(warnings=[*findings.warnings, *notes])
        return Outcome(write_html(findings, pictures.drawn), output, (*findings.notes, *notes))
    except USER_ERRORS as error:
        raise ClusterEvalError(source.rename_paths(summarize_error(error))) from error


def _check_clusters(options: Options) -> None:
    """Raise an error unless the options of a page name either one clustering or several."""
    if not options.values.keys() & {"cluster", "clusters"}:
        raise ClusterEvalError(
            "report: expected --cluster, the assigned clusters, or --clusters, the columns of "
            "several clusterings"
        )
    for name in ("cluster", "partition_by", "p", "weights"):
        if {name, "clusters"} <= options.values.keys():
            raise ClusterEvalError(
                f"{option_flag(name)} cannot be combined with --clusters: choose one"
            )


def run_describe(options: Options) -> Outcome:
    """Return the text of `describe` about the name in the options, or the list of all names."""
    text = f"{describe(options.name)}\n"
    return Outcome(encode_text(text, options.output), options.output)


def run_schema(options: Options) -> Outcome:
    """Return the JSON Schema of the report in the options, or a list of all reports."""
    text = list_schemas() if options.name is None else format_schema(options.name)
    return Outcome(text.encode(), options.output)


def run_sql(options: Options) -> Outcome:
    """Return all SQL macros as a file or a database, or the query for a single table."""
    values = options.values
    if options.name is not None or "dialect" in values:
        return _translate_table(options)
    database = values.get("database")
    if database is not None and Path(database).suffix.lower() in _DATABASE_ENDINGS:
        return _make_database(options)
    text = bundle(values["schema"], database, values["temporary"])
    return Outcome(text.encode(), options.output)


def _make_database(options: Options) -> Outcome:
    """Return the content of the database file with the macros that the options name."""
    name = options.values["database"]
    is_given = {"temporary": options.values["temporary"], "output": options.output is not None}
    for option, is_set in is_given.items():
        if is_set:
            raise ClusterEvalError(
                f"--{option} cannot be combined with --database {name}, which is a file to write: "
                "drop one"
            )
    output = Path(name)
    check_new_file(output)
    draft = options.scratch / "macros.duckdb"
    write_database(draft, options.values["schema"])
    return Outcome(draft.read_bytes(), output)


def _translate_table(options: Options) -> Outcome:
    """Return the query for one table in another SQL dialect."""
    arguments = dict(options.values)
    for name in ("schema", "database", "temporary"):
        arguments.pop(name, None)
    if options.name is None or not ("dialect" in arguments and arguments.keys() & _QUERIED_TABLES):
        raise ClusterEvalError(
            "sql: a query needs a table macro, --dialect and --tbl, such as: clustereval sql "
            "external_report --dialect spark --tbl t --label a --cluster b"
        )
    try:
        from polars_clustereval.dialects import to_sql
    except ImportError as error:
        raise ClusterEvalError(str(error)) from error
    lists = ("metrics",) if "size" in arguments else ("metrics", "vector")
    if options.metrics is not None:
        arguments["metrics"] = options.metrics
    for name in arguments.keys() & lists:
        arguments[name] = [part.strip() for part in arguments[name].split(",")]
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        query = to_sql(options.name, **arguments)
    texts = tuple(str(note.message) for note in notes)
    return Outcome(f"{query};\n".encode(), options.output, texts)


# Options for the tables that a query reads.
_QUERIED_TABLES = {"tbl", "tbl_before"}
