"""The command line: reads a file, has one of the two wings report on it, writes the report."""

from __future__ import annotations

import argparse
import glob
import os
import re
import shutil
import sys
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from textwrap import dedent, wrap
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import duckdb
import polars as pl

from polars_clustereval import __version__
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.labels import ROW_COUNTS, _checked_keys, _checked_names
from polars_clustereval.macros import _quoted, bundle, register
from polars_clustereval.reports import _scores, external_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    options = _parser().parse_args(arguments)
    try:
        _write(options.output, options.run(options))
    except _ERRORS as error:
        sys.stderr.write(f"clustereval: error: {_one_line(error)}\n")
        return 2
    return 0


# ----------------------------------------------------------------------------------------------
# Arguments
# ----------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Leave out the usage: an error is one line."""
        self.exit(2, f"clustereval: error: {message}\n")


def _parser() -> _Parser:
    parser = _Parser("clustereval", description="Evaluate clusterings where the data lies.")
    parser.add_argument("--version", action="version", version=f"clustereval {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_external(commands)
    _add_sql(commands)
    return parser


def _add_external(commands: Any) -> None:
    about = "every external metric of a clustering, or of many"
    command = commands.add_parser("external", help=about, description=f"Report {about}.")
    add = command.add_argument
    add("file", metavar="FILE", help=".parquet, .csv, .csv.gz, .tsv, or DATABASE::TABLE of DuckDB")
    add("--label", metavar="COLUMN", required=True, help="the true classes")
    add("--cluster", metavar="COLUMN", required=True, help="the clusters found")
    add("--partition-by", metavar="COLUMNS", help="score each group alone; commas between columns")
    add("--weight", metavar="COLUMN", help="how many times a row counts")
    add("--noise", metavar="VALUE", type=_value, help="value of the cluster column for noise")
    # Their values are checked where they are used: one wording everywhere.
    add("--noise-as", metavar="WAY", default="cluster", help="cluster (default), drop, singletons")
    add("--average-method", metavar="MEAN", default="arithmetic", help=_AVERAGES)
    add("--beta", metavar="NUMBER", type=_number, default=1.0, help=_BETA)
    add(
        "--no-adjusted",
        action="store_false",
        dest="adjusted",
        help="leave out the expected information",
    )
    add("--engine", choices=_ENGINES, default="duckdb", help="duckdb (default), polars")
    add("--format", choices=_FORMATS, help="table, json, csv, parquet; default: by --output")
    _add_output(command)
    command.set_defaults(run=_external)


def _add_sql(commands: Any) -> None:
    about = "all SQL macros as one file for the DuckDB shell"
    command = commands.add_parser("sql", help=about, description=f"Print {about}.")
    _add_output(command)
    command.set_defaults(run=lambda _: bundle().encode())


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--output", metavar="FILE", type=Path, help="write here, not to the screen"
    )


_BETA = "weight of recall in F, of completeness in V; default 1"
_AVERAGES = "arithmetic (default), geometric, min, max, joint"


def _number(text: str) -> float:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else float(text)


_number.__name__ = "number"  # argparse names it in its errors


def _value(text: str) -> str | float:
    """Give a number where it is written the way numbers are: 007 is a text."""
    if re.fullmatch(r"-?\d{1,18}(\.\d+)?", text):
        number = _number(text)
        return number if str(number) == text else text
    return text


# ----------------------------------------------------------------------------------------------
# Input
# ----------------------------------------------------------------------------------------------

# Both readers are told the same, so that a file means the same to both.
_SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}


class _Input(NamedTuple):
    path: str
    table: str | None  # of a DuckDB database
    separator: str | None  # of a CSV file


def _input(file: str) -> _Input:
    path, database, table = file.partition("::")
    if not Path(path).exists():
        raise ClusterEvalError(f"{path}: no such file")
    if Path(path).is_dir():
        raise ClusterEvalError(f"{path}: expected a file, got a directory")
    if database:
        _check_database(path)
        return _Input(path, table, None)
    name = path.lower()
    separator = next((s for ending, s in _SEPARATORS.items() if name.endswith(ending)), None)
    if separator is None and not name.endswith(".parquet"):
        endings = ", ".join([".parquet", *_SEPARATORS])
        raise ClusterEvalError(
            f"{path}: expected a file that ends in {endings}, or a table of a DuckDB database "
            f"as {path}::table"
        )
    return _Input(path, None, separator)


def _check_database(path: str) -> None:
    # DuckDB itself would take a CSV file for a database, and fetch an extension for some others.
    with Path(path).open("rb") as file:
        if file.read(12)[8:] != b"DUCK":
            raise ClusterEvalError(f"{path}: expected a DuckDB database before '::'")


@contextmanager
def _opened(source: _Input) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """Give a connection, and SQL that reads the input in it."""
    database = ":memory:" if source.table is None else source.path
    with duckdb.connect(database, read_only=source.table is not None) as connection:
        yield connection, _from(connection, source)


def _from(connection: duckdb.DuckDBPyConnection, source: _Input) -> str:
    if source.table is not None:
        return _table_name(connection, source)
    file = _literal(glob.escape(source.path))
    if source.separator is None:
        return f"read_parquet({file})"
    return (
        f"read_csv({file}, delim = {_literal(source.separator)}, quote = '\"', escape = '\"', "
        "comment = '', skip = 0, header = TRUE, sample_size = -1)"
    )


_TABLES = """
FROM duckdb_tables() SELECT database_name, schema_name, table_name WHERE NOT internal
UNION ALL
FROM duckdb_views() SELECT database_name, schema_name, view_name WHERE NOT internal
ORDER BY ALL
"""


def _table_name(connection: duckdb.DuckDBPyConnection, source: _Input) -> str:
    """Look the table up instead of parsing its name, which may hold dots and quotes."""
    tables = {}
    for database, schema, table in connection.execute(_TABLES).fetchall():
        name = table if schema == "main" else f"{schema}.{table}"
        tables[name] = ".".join(map(_quoted, (database, schema, table)))
    found = tables.get(str(source.table)) or tables.get(str(source.table).removeprefix("main."))
    if found is None:
        raise ClusterEvalError(
            f"table '{source.table}' not found; tables: {', '.join(tables) or 'none'}"
        )
    return found


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# ----------------------------------------------------------------------------------------------
# Engines
# ----------------------------------------------------------------------------------------------

_NAMED = ("noise", "noise_as", "average_method", "beta", "adjusted")


def _duckdb_report(source: _Input, options: argparse.Namespace) -> pl.DataFrame:
    with _opened(source) as (connection, rows):
        keys = _checked_columns(options, connection.sql(f"FROM {rows}").columns)
        register(connection, temporary=True)
        connection.execute(f"CREATE TEMPORARY VIEW clustereval_input AS FROM {rows}")
        values = {name: getattr(options, name) for name in _NAMED}
        # Run here and not while Polars reads, so that an error is DuckDB's own.
        connection.execute(
            f"CREATE TEMPORARY TABLE clustereval_report AS {_query(options, keys)}", values
        )
        return _frame(connection.sql("FROM clustereval_report"))


def _query(options: argparse.Namespace, keys: list[str]) -> str:
    arguments = ["clustereval_input", _quoted(options.label), _quoted(options.cluster)]
    if options.weight is not None:
        arguments.append(f"weight := {_quoted(options.weight)}")
    if keys:
        fields = ", ".join(f"{_literal(key)}: {_quoted(key)}" for key in keys)
        arguments.append(f"partition_by := {{{fields}}}")
    arguments += [f"{name} := ${name}" for name in _NAMED]
    columns = [f"partition_key[{_literal(key)}] AS {_quoted(key)}" for key in keys]
    columns.append("* EXCLUDE (partition_key)")
    return f"SELECT {', '.join(columns)} FROM clustereval_external_report({', '.join(arguments)})"


def _polars_report(source: _Input, options: argparse.Namespace) -> pl.DataFrame:
    rows = _rows(source, options)
    report = external_report(
        rows,
        options.label,
        options.cluster,
        weight=options.weight,
        partition_by=_checked_columns(options, rows.collect_schema().names()),
        **{name: getattr(options, name) for name in _NAMED},
    )
    return report.collect(engine="streaming")


def _rows(source: _Input, options: argparse.Namespace) -> pl.LazyFrame:
    if source.table is not None:
        return _rows_of_table(source, options)
    if source.separator is None:
        return pl.scan_parquet(source.path, glob=False)
    return pl.scan_csv(
        source.path, separator=source.separator, infer_schema_length=None, glob=False
    )


def _rows_of_table(source: _Input, options: argparse.Namespace) -> pl.LazyFrame:
    with _opened(source) as (connection, rows):
        keys = _checked_columns(options, connection.sql(f"FROM {rows}").columns)
        named = dict.fromkeys([options.label, options.cluster, options.weight, *keys])
        columns = ", ".join(_quoted(name) for name in named if name is not None)
        return _frame(connection.sql(f"SELECT {columns} FROM {rows}")).lazy()


class _Stream:
    """A relation that Polars takes for any stream of Arrow.

    Polars keeps the types it was handed until the process ends, and DuckDB reports its own among
    them as leaks on standard error.
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self.relation = relation

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.relation.__arrow_c_stream__(requested_schema)


def _frame(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    return pl.DataFrame(_Stream(relation))


_ENGINES = {"duckdb": _duckdb_report, "polars": _polars_report}


def _checked_columns(options: argparse.Namespace, columns: Sequence[str]) -> list[str]:
    """Give the partition columns; an unknown column has the same error with either engine."""
    for parameter in ("label", "cluster", "weight"):
        name = getattr(options, parameter)
        _checked_names([] if name is None else [name], parameter, columns)
    text = options.partition_by
    if text is None:
        return []
    keys = [text] if text in columns else text.split(",")
    scores = _scores("arithmetic", 1.0, adjusted=options.adjusted)
    _checked_keys(pl.LazyFrame(schema=list(columns)), keys, [*ROW_COUNTS, *scores])
    return keys


# ----------------------------------------------------------------------------------------------
# Formats
# ----------------------------------------------------------------------------------------------


def _external(options: argparse.Namespace) -> bytes:
    kind = options.format or _format_of(options.output)
    if kind == "parquet" and options.output is None:
        raise ClusterEvalError("--format parquet needs --output: it is no text for a screen")
    source = _input(options.file)
    try:
        report = _ENGINES[options.engine](source, options)
    except _ERRORS as error:
        raise ClusterEvalError(f"{source.path}: {_one_line(error)}") from error
    return _FORMATS[kind](report, options)


def _format_of(output: Path | None) -> str:
    ending = "" if output is None else output.suffix.removeprefix(".").lower()
    return ending if ending in _FORMATS else "table"


def _json(report: pl.DataFrame, _: argparse.Namespace) -> bytes:
    return report.write_json().encode() + b"\n"


def _csv(report: pl.DataFrame, _: argparse.Namespace) -> bytes:
    return report.write_csv().encode()


def _parquet(report: pl.DataFrame, _: argparse.Namespace) -> bytes:
    file = BytesIO()
    report.write_parquet(file)
    return file.getvalue()


def _table(report: pl.DataFrame, options: argparse.Namespace) -> bytes:
    keys = report.columns[: report.columns.index("n")]
    if not keys:
        text = _one(report)
    elif 0 < report.height <= _FEW:
        text = _side_by_side(report, keys)
    else:
        text = _row_by_row(report, keys)
    title = f"{options.file}: label {options.label}, cluster {options.cluster}"
    return f"{title}\n\n{text}\n".encode()


_FORMATS = {"table": _table, "json": _json, "csv": _csv, "parquet": _parquet}

# ----------------------------------------------------------------------------------------------
# Terminal
# ----------------------------------------------------------------------------------------------

# The first column of each group of the report, and the title of the group.
_TITLES = {
    "n": "counts",
    "rand_score": "pair counting",
    "label_entropy": "information",
    "purity": "set matching",
}

_MEANINGS = {
    "n": "rows that are scored",
    "n_dropped": "rows left out: no label or no cluster",
    "n_noise": "rows that the clustering calls noise",
    "rand_score": "share of pairs on which both agree; 1 is best",
    "adjusted_rand_score": "agreement on pairs: 0 is chance, 1 is best",
    "fowlkes_mallows_score": "geometric mean of pair precision and recall",
    "pair_precision": "of pairs in one cluster: the share of one label",
    "pair_recall": "of pairs of one label: the share in one cluster",
    "normalized_mutual_info_score": "what one tells of the other, chance included",
    "adjusted_mutual_info_score": "what one tells of the other: 0 is chance, 1 best",
    "homogeneity_score": "1 if every cluster holds one label only",
    "completeness_score": "1 if every label sits in one cluster only",
    "v_measure_score": "harmonic mean of homogeneity and completeness",
    "purity": "share of rows with their cluster's main label",
    "inverse_purity": "share of rows in their label's main cluster",
    "bcubed_f_score": "its precision and recall in one; 1 is best",
    "exact_match_f_score": "clusters that are a label exactly; 1 is best",
}

# What is worth a column where many clusterings are compared on one screen.
_COMPARED = (
    "n",
    "n_clusters",
    "adjusted_rand_score",
    "fowlkes_mallows_score",
    "adjusted_mutual_info_score",
    "homogeneity_score",
    "completeness_score",
)

_FEW = 5  # clusterings that fit side by side


def _one(report: pl.DataFrame) -> str:
    """One line a metric, with its meaning."""
    lines = [["metric", "value", "meaning"]]
    for metric in report.columns:
        lines += _title(metric, width=3)
        value = _number_text(report[metric].item())
        lines.append([f"  {metric}", value, _MEANINGS.get(metric, "")])
    return _grid(_wrapped(lines), right=range(1, 2))


def _side_by_side(report: pl.DataFrame, keys: list[str]) -> str:
    """One line a metric, one column a clustering."""
    lines = [[key, *map(_key_text, report[key])] for key in keys]
    metrics = report.columns[len(keys) :]
    for metric in metrics:
        lines += _title(metric, width=1 + report.height)
        lines.append([f"  {metric}", *map(_number_text, report[metric])])
    return _grid(lines, right=range(1, 1 + report.height)) + _legend(metrics)


def _row_by_row(report: pl.DataFrame, keys: list[str]) -> str:
    """One line a clustering, with the metrics that compare clusterings best."""
    metrics = [metric for metric in _COMPARED if metric in report.columns]
    # A name of many words stands on many lines, or the table would not fit a screen.
    names = [metric.split("_") for metric in metrics]
    height = max(map(len, names))
    heads = [[""] * (height - len(words)) + words for words in names]
    lines = [
        [*(keys if i == height - 1 else [""] * len(keys)), *(head[i] for head in heads)]
        for i in range(height)
    ]
    for row in report.select(*keys, *metrics).iter_rows():
        values = row[len(keys) :]
        lines.append([*map(_key_text, row[: len(keys)]), *map(_number_text, values)])
    more = f"\n\nall {report.width - len(keys)} columns: --format csv"
    return _grid(lines, right=range(len(keys), len(lines[0]))) + _legend(metrics) + more


def _title(metric: str, width: int) -> list[list[str]]:
    if metric not in _TITLES:
        return []
    return [[""] * width, [_TITLES[metric], *[""] * (width - 1)]]


def _legend(metrics: Sequence[str]) -> str:
    lines = [[metric, _MEANINGS[metric]] for metric in metrics if metric in _MEANINGS]
    return "\n\n" + _grid(_wrapped(lines), right=range(0))


def _wrapped(lines: list[list[str]]) -> list[list[str]]:
    """Wrap the words of the last column; Polars' own wrapping would break names as well."""
    names = sum(max(map(len, column)) + 2 for column in list(zip(*lines, strict=True))[:-1])
    # The width of a pipe is anybody's guess.
    room = max(20, shutil.get_terminal_size((100, 24)).columns - names)
    wrapped = []
    for *cells, words in lines:
        first, *rest = wrap(words, room) or [""]
        wrapped += [[*cells, first], *([*[""] * len(cells), words] for words in rest)]
    return wrapped


def _key_text(value: object) -> str:
    return "NULL" if value is None else str(value)


def _number_text(value: float | None) -> str:
    if value is None:
        return "NULL"
    counts = isinstance(value, int) or (value.is_integer() and abs(value) > 1)
    return f"{value:.0f}" if counts else f"{value:z.6f}"


def _grid(lines: list[list[str]], right: range) -> str:
    columns = [list(column) for column in zip(*lines, strict=True)]
    for i in right:
        width = max(map(len, columns[i]))
        columns[i] = [cell.rjust(width) for cell in columns[i]]
    cells = pl.DataFrame(columns, orient="col")
    unlimited = 65535
    with pl.Config(
        tbl_formatting="NOTHING",
        tbl_hide_column_names=True,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=unlimited,
        fmt_str_lengths=unlimited,
    ):
        return dedent("\n".join(line.rstrip() for line in str(cells).splitlines()))


# ----------------------------------------------------------------------------------------------
# Output
# ----------------------------------------------------------------------------------------------


def _write(output: Path | None, content: bytes) -> None:
    if output is None:
        _print(content)
    elif output.exists() and not output.is_file():  # /dev/stdout, say
        output.write_bytes(content)
    else:
        _replace(output.resolve(), content)


def _print(content: bytes) -> None:
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough, as `head` does. Python would flush once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace(output: Path, content: bytes) -> None:
    """Write the file whole or not at all."""
    if not output.parent.is_dir():
        raise ClusterEvalError(f"{output.parent}: no such directory")
    draft = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)


# ----------------------------------------------------------------------------------------------
# Errors
# ----------------------------------------------------------------------------------------------

_ERRORS = (ClusterEvalError, duckdb.Error, pl.exceptions.PolarsError, OSError)
# Engines go on with the place in a query the user has not written, and with advice on options that
# this program does not have.
_ASIDE = re.compile(r"\n\n|\nThe search space|\nLINE ")


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = _ASIDE.split(str(error), maxsplit=1)[0]
    if isinstance(error, duckdb.Error):
        text = re.sub(r"^[\w ]+ Error: ", "", text)
    # The one piece of advice that is written for another wing.
    return " ".join(text.split()).replace("adjusted := false", "--no-adjusted")


if __name__ == "__main__":
    sys.exit(main())
