"""The answers of one DuckDB with the extension and with the SQL of the macros, as JSON.

    python extension_here.py EXTENSION FOLDER

FOLDER has bundle.sql, calls.json (queries), and the folder sql with the tables as Parquet files.
Nothing is imported but duckdb: the file runs on its own, in environments without the tests.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb


def answer_or_error(con: duckdb.DuckDBPyConnection, query: str) -> object:
    """The columns and the rows of a query, or the words of an error."""
    try:
        result = con.execute(query)
        return [[column[0] for column in result.description], result.fetchall()]
    except duckdb.Error as error:
        return str(error)


def main(extension: str, folder: Path) -> None:
    loaded, registered = (
        duckdb.connect(config={"allow_unsigned_extensions": "true"}) for _ in range(2)
    )
    loaded.execute(f"LOAD '{extension}'")
    registered.execute((folder / "bundle.sql").read_text(encoding="utf-8"))
    calls = json.loads((folder / "calls.json").read_text(encoding="utf-8"))
    answers: dict[str, object] = {"version": duckdb.__version__}
    for name, con in (("loaded", loaded), ("registered", registered)):
        for path in (folder / "sql").glob("*.parquet"):
            con.execute(f"CREATE TABLE {path.stem} AS FROM '{path}'")
        answers[name] = [answer_or_error(con, call) for call in calls]
    json.dump(answers, sys.stdout, default=str)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
