"""What a call on few rows costs, which is mostly its plan: CPU time of every table in DuckDB.

A call on 1,000 rows runs on one thread. With another revision, both sides run the same calls in
turn, each in a process of its own. A process is started anew for each table, because what one call
leaves behind in memory changes the time of the next.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.table import format_number, format_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.revisions import Revision

ROOT = Path(__file__).parent.parent
ROWS = 1000
AGGREGATES = (
    *("adjusted_rand_score", "adjusted_mutual_info_score", "v_measure_score"),
    *("purity", "bcubed_f_score"),
)
#: Calls with other options than the defaults, of the tables whose plan depends on them.
OPTIONS = {
    "external_report": {"adjusted": "false"},
    "silhouette_score": {"distance": "'sqeuclidean'"},
}
#: What runs on each side: it reads a call a line, and writes its seconds and its numbers.
WORKER = """
import json, sys, time
from decimal import Decimal
import duckdb
import polars_clustereval as ce
connection = duckdb.connect()
connection.execute("SET threads = 1")
ce.register(connection)
for line in sys.stdin:
    call = json.loads(line)
    for name, path in call["tables"].items():
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM '{path}'")
    start = time.process_time()
    try:
        rows = connection.execute(call["query"]).fetchall()
    except duckdb.Error as error:
        print(json.dumps({"error": str(error)}), flush=True)
        continue
    seconds = time.process_time() - start
    columns = dict(zip([name for name, *_ in connection.description], zip(*rows)))
    numbers = {
        name: [x if x is None else float(x) for x in values]
        for name, values in columns.items()
        if all(x is None or isinstance(x, (int, float, Decimal)) for x in values)
    }
    print(json.dumps({"seconds": seconds, "numbers": numbers}), flush=True)
"""


class Call(NamedTuple):
    """A query, and the Parquet files that it reads as tables."""

    name: str
    query: str
    tables: dict[str, str]


def list_calls(folder: Path) -> Iterator[Call]:
    """Yield a call of each table that is a macro, and of five aggregates; `folder` keeps rows."""
    # The engines are imported here, because the benchmarks' own process has none, see runner.
    from benchmarks import minutes
    from polars_clustereval.base.tables import declared_tables

    labels = folder / "labels.parquet"
    minutes.make_labels(ROWS).write_parquet(labels)
    for name, table in declared_tables().items():
        if not table.has_macro:
            continue
        arguments, options = minutes.call_of(name, table.kind, ROWS)
        query, frames = minutes.write_call(name, arguments, options)
        tables = {x: str(folder / f"{name}_{x}.parquet") for x in frames}
        for x, path in tables.items():
            frames[x].write_parquet(path)
        yield Call(name, query, tables)
        if name in OPTIONS:
            query, _ = minutes.write_call(name, arguments, options | OPTIONS[name])
            titles = [f"{key} := {value}" for key, value in OPTIONS[name].items()]
            yield Call(", ".join([name, *titles]), query, tables)
    for name in AGGREGATES:
        query = f"SELECT clustereval.{name}(label, cluster) FROM labels"
        yield Call(f"{name} as aggregate", query, {"labels": str(labels)})


class Side:
    """A process that runs the calls by the code in a folder."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
        )

    def run(self, call: Call) -> dict[str, Any]:
        """Return the seconds and numbers of a call, or its error."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"query": call.query, "tables": call.tables}) + "\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline())
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def measure(repeats: int, revision: Revision | None) -> str:
    """Return the table of all calls as Markdown: least CPU milliseconds, and their ratio.

    A call "differs" if the numbers of a column that both sides have are not equal to nine digits.
    """
    folders = [ROOT] if revision is None else [revision.folder, ROOT]
    header = ("call", "", "ms") if revision is None else ("call", "", "ms before", "ms", "ratio")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for call in list_calls(Path(folder)):
            found = _race(call, folders, repeats)
            print(call.name, *(x.get("seconds", x.get("error")) for x in found), file=sys.stderr)
            rows.append(format_row(call, found))
    return format_rows(f"Calls on {ROWS:,} rows, DuckDB, one thread, CPU time", header, rows)


def _race(call: Call, folders: list[Path], repeats: int) -> list[dict[str, Any]]:
    """Return the fastest answer of each side, which take turns."""
    with contextlib.ExitStack() as stack:
        sides = [Side(folder) for folder in folders]
        for side in sides:
            stack.callback(side.close)
        found = [side.run(call) for side in sides]
        # The first call of a process loads what is kept.
        for _ in range(repeats):
            again = [side.run(call) for side in sides]
            pairs = zip(found, again, strict=True)
            found = [min(pair, key=lambda x: x.get("seconds", 0.0)) for pair in pairs]
    return found


def format_row(call: Call, found: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the cells of a call: what differs, milliseconds of each side, and their ratio."""
    errors = [x["error"] for x in found if "error" in x]
    if errors:
        print(call.name, errors[0], file=sys.stderr)
    cells = [format_number(1e3 * x["seconds"]) if "seconds" in x else "error" for x in found]
    if len(found) == 1:
        return (call.name, "", *cells)
    before, now = found
    ratio = "" if errors else format_number(now["seconds"] / before["seconds"])
    return (call.name, "" if errors or _agree(before, now) else "differs", *cells, ratio)


def _agree(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Return whether the numbers of the columns that both sides have are equal to nine digits."""
    common = before["numbers"].keys() & now["numbers"].keys()
    return all(_round(before["numbers"][x]) == _round(now["numbers"][x]) for x in common)


def _round(values: list[float | None]) -> list[str]:
    """Return numbers as texts of nine digits."""
    return ["" if x is None else f"{x:.9g}" for x in values]
