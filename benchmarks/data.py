"""The rows of a benchmark: one Parquet file, written once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Three clusters in ten follow the label, so that no score is near 0 and every cell may occur.
QUERY = """
    COPY (
        SELECT
            CAST(row // {run_rows} AS INTEGER) AS run,
            CAST(hash(3 * row) % {clusters} AS INTEGER) AS label,
            CASE
                WHEN hash(3 * row + 1) % 10 < 3 THEN label
                ELSE CAST(hash(3 * row + 2) % {clusters} AS INTEGER)
            END AS cluster
        FROM range({rows}) AS rows(row)
    ) TO '{path}' (FORMAT parquet)
"""


@dataclass(frozen=True)
class Data:
    """Rows of (run, label, cluster), all Int32; runs follow one another in the file."""

    rows: int
    clusters: int
    run_rows: int

    def file(self, folder: Path) -> Path:
        """Return the Parquet file, made if it is missing, and warm in the system's file cache."""
        path = folder / f"{self.rows}_rows_{self.clusters}_clusters_{self.run_rows}_a_run.parquet"
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            # In a process of its own: the runner stays small (see runner.measured).
            subprocess.run(
                [sys.executable, "-m", "benchmarks.data", unfinished, *map(str, self._numbers())],
                check=True,
            )
            unfinished.rename(path)
        _read_through(path)
        return path

    def _numbers(self) -> tuple[int, int, int]:
        return self.rows, self.clusters, self.run_rows


def _read_through(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def _write(path: str, rows: int, clusters: int, run_rows: int) -> None:
    import duckdb

    quoted = path.replace("'", "''")
    duckdb.execute(QUERY.format(rows=rows, clusters=clusters, run_rows=run_rows, path=quoted))


if __name__ == "__main__":
    _write(sys.argv[1], *map(int, sys.argv[2:]))
