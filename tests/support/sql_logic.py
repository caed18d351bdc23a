"""A runner of the sqllogictests of the extension, for an environment that has DuckDB alone.

    python sql_logic.py EXTENSION DATABASE TEST...

DATABASE is a file, `:memory:`, or a file followed by `?read_only`, in which tests create temporary
tables. It prints one line for each record that fails, then the number of records that it ran.
Records are those that the tests use: require, statement ok, statement error, query.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb


def connect_with_extension(extension: str, database: str) -> duckdb.DuckDBPyConnection:
    path, _, mode = database.partition("?")
    con = duckdb.connect(
        path, read_only=mode == "read_only", config={"allow_unsigned_extensions": "true"}
    )
    con.execute(f"LOAD '{extension}'")
    return con


def records(text: str) -> list[list[str]]:
    """The lines of each record, without comments."""
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        if not line.strip():
            found.append([])
        elif not line.startswith("#"):
            found[-1].append(line)
    return [record for record in found if record]


def show_cell(value: object) -> str:
    """A value as DuckDB's runner shows it."""
    if value == "":
        return "(empty)"
    if isinstance(value, bool):
        return str(value).lower()
    return "NULL" if value is None else str(value)


def fault_of(con: duckdb.DuckDBPyConnection, record: list[str], temporary: bool) -> str | None:
    """What is wrong with the result of a record, or None."""
    kind, _, rest = record[0].partition(" ")
    if kind == "require":
        return None
    sql, _, wanted = "\n".join(record[1:]).partition("\n----\n")
    if temporary:
        sql = sql.replace("CREATE TABLE", "CREATE TEMPORARY TABLE")
    try:
        rows = con.execute(sql).fetchall()
    except duckdb.Error as error:
        is_wanted = rest == "error" and wanted in str(error)
        return None if is_wanted else f"{sql}\n{error}"
    if kind == "statement":
        return None if rest == "ok" else f"{sql}\nno error"
    shown = "\n".join("\t".join(map(show_cell, row)) for row in rows)
    return None if shown == wanted.strip("\n") else f"{sql}\n{shown}"


def main(extension: str, database: str, *tests: str) -> None:
    con = connect_with_extension(extension, database)
    number, failed = 0, []
    for test in tests:
        for record in records(Path(test).read_text(encoding="utf-8")):
            number += 1
            failed.append(fault_of(con, record, database.endswith("?read_only")))
    for fault in filter(None, failed):
        print(fault)
    print(f"{duckdb.__version__}: {number} records")
    con.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
