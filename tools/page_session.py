"""The session in which the SQL of the pages runs: the macros and the files of examples/, no tables.

A reader who copies the blocks of a page into a new session has no more than this. So each page
creates the tables and views that its blocks read.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

import polars_clustereval as ce
from polars_clustereval.base.quoting import quote_literal

ROOT = Path(__file__).parent.parent


def open_session() -> duckdb.DuckDBPyConnection:
    """A connection that has the macros, and reads files from the root, as users of a clone do."""
    con = duckdb.connect()
    ce.register(con)
    con.execute(f"SET file_search_path = {quote_literal(str(ROOT))}")
    return con
