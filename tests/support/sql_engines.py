"""The engines that execute the queries of to_sql in tests, each with the same tables.

An engine is a context manager: it takes the tables by name and an empty folder, and returns a
function from a query to its rows.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import datafusion
import duckdb
import polars as pl

Rows = list[dict[str, Any]]
Run = Callable[[str], Rows]
Tables = dict[str, pl.DataFrame]


def in_order(run: Run) -> Run:
    """A function that runs the statements of a script, and returns the rows of the last one."""
    return lambda script: [run(statement) for statement in script.split(";\n")][-1]


def rows_of(con: duckdb.DuckDBPyConnection) -> Rows:
    names = [column[0] for column in con.description or ()]
    return [dict(zip(names, row, strict=True)) for row in con.fetchall()]


def write_parquet(tables: Tables, folder: Path) -> dict[str, Path]:
    paths = {name: folder / f"{name}.parquet" for name in tables}
    for name, path in paths.items():
        tables[name].write_parquet(path)
    return paths


@contextmanager
def on_duckdb(tables: Tables, _: Path) -> Iterator[Run]:
    """A connection without the macros: a query of to_sql needs none."""
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        yield in_order(lambda query: rows_of(connection.execute(query)))


@contextmanager
def on_datafusion(tables: Tables, folder: Path) -> Iterator[Run]:
    context = datafusion.SessionContext()
    for name, path in write_parquet(tables, folder).items():
        context.register_parquet(name, str(path))
    yield in_order(lambda query: pl.DataFrame(context.sql(query).to_arrow_table()).to_dicts())


@contextmanager
def on_clickhouse(tables: Tables, folder: Path) -> Iterator[Run]:
    from chdb.session import Session  # Windows has no chdb

    session = Session()
    try:
        session.query("CREATE DATABASE IF NOT EXISTS local ENGINE = Atomic")
        for name, path in write_parquet(tables, folder).items():
            source = f"SELECT * FROM file('{path}', 'Parquet')"
            session.query(f"CREATE OR REPLACE VIEW local.`{name}` AS {source}")
        session.query("USE local")

        def run(query: str) -> Rows:
            answer = session.query(query, "ArrowTable")
            return pl.DataFrame(answer).to_dicts() if answer.num_columns else []

        yield in_order(run)
    finally:
        session.close()


@contextmanager
def on_spark(tables: Tables, folder: Path) -> Iterator[Run]:
    from pyspark.sql import SparkSession

    is_shared = SparkSession.getActiveSession() is not None
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        # For a few rows most of the time goes into plans and generated code.
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .getOrCreate()
        # Views of its own.
        .newSession()
    )
    session.sparkContext.setLogLevel("ERROR")
    try:
        for name, path in write_parquet(tables, folder).items():
            session.read.parquet(str(path)).createOrReplaceTempView(f"`{name}`")
        yield lambda query: [row.asDict() for row in session.sql(query).collect()]
    finally:
        # It would stop those of others as well.
        if not is_shared:
            session.stop()


@contextmanager
def on_postgres(tables: Tables, _: Path) -> Iterator[Run]:
    with postgres_server() as folder:
        for name, table in tables.items():
            _psql(folder, _copy_text(name, table))
        yield lambda query: query_postgres(folder, query)


@contextmanager
def postgres_server() -> Iterator[str]:
    """The folder with the socket of a server of its own, whose user is tester."""
    with tempfile.TemporaryDirectory(prefix="ce_postgres_") as folder:
        if _postgres_user():
            shutil.chown(folder, _postgres_user())
        _run_postgres("initdb", "-D", f"{folder}/data", "-U", "tester", "-A", "trust", "-E", "UTF8")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        server = ("pg_ctl", "-D", f"{folder}/data", "-l", f"{folder}/log", "-o", options, "-w")
        _run_postgres(*server, "start")
        try:
            yield folder
        finally:
            _run_postgres(*server, "-m", "immediate", "stop")


def query_postgres(folder: str, query: str) -> Rows:
    *before, last = query.split(";\n")
    if last.startswith("EXPLAIN "):  # which cannot be selected from
        return [{"plan": line} for line in _psql(folder, query).splitlines()]
    ask = f"SELECT row_to_json(answer) FROM ({last}) AS answer;"
    lines = _psql(folder, ";\n".join([*before, ask])).splitlines()
    return [json.loads(line) for line in lines]


def _copy_text(name: str, table: pl.DataFrame) -> str:
    """The commands that create and fill a table."""
    columns = ", ".join(
        f'"{column}" {_postgres_type(dtype)}' for column, dtype in table.schema.items()
    )
    rows = table.write_csv(include_header=False, quote_style="non_numeric")
    return (
        f'CREATE TABLE "{name}" ({columns});\nCOPY "{name}" FROM STDIN (FORMAT csv);\n{rows}\\.\n'
    )


def _postgres_type(dtype: pl.DataType) -> str:
    """The type of a column in Postgres."""
    if dtype.is_float():
        return "double precision"
    return "text" if dtype == pl.String else "bigint"


def _psql(folder: str, commands: str) -> str:
    psql = (_find_postgres("psql"), "-h", folder, "-U", "tester", "-d", "postgres")
    options = ("--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1")
    done = subprocess.run(
        [*psql, *options], input=commands, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _run_postgres(program: str, *arguments: str) -> None:
    command = [_find_postgres(program) or program, *arguments]
    done = subprocess.run(
        command, user=_postgres_user(), cwd="/", stdout=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, f"{program} failed"


def _postgres_user() -> str | None:
    """The user that runs the server, which refuses root."""
    return "postgres" if os.geteuid() == 0 else None


def _find_postgres(program: str) -> str:
    """The path of a program of Postgres; Debian has those of the server out of the PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), reverse=True)
    return shutil.which(program) or (str(debian[0]) if debian else "")


def reason_to_skip(dialect: str) -> str | None:
    """Why an engine cannot run on this machine, None if it can."""
    if dialect == "spark" and importlib.util.find_spec("pyspark") is None:
        return "Spark: pyspark is not installed (make test-wide installs it where Java is present)"
    if dialect == "spark" and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        return "Spark: there is no Java"
    if dialect == "clickhouse" and importlib.util.find_spec("chdb") is None:
        return "ClickHouse: chdb is not installed; there is none for Windows"
    if dialect == "postgres" and not (_find_postgres("initdb") and _find_postgres("psql")):
        return "Postgres: there is no initdb or psql (Debian: apt-get install postgresql)"
    return None


ENGINES: dict[str, Callable[[Tables, Path], AbstractContextManager[Run]]] = {
    "duckdb": on_duckdb,
    "datafusion": on_datafusion,
    "clickhouse": on_clickhouse,
    "postgres": on_postgres,
    "spark": on_spark,
}
