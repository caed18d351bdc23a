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


# A cluster has its own place in each coordinate, and points lie evenly around it.
POINTS = """
    COPY (
        SELECT
            CAST(row // {run_rows} AS INTEGER) AS run,
            CAST(hash(row) % {clusters} AS INTEGER) AS cluster,
            {coordinates}
        FROM range({rows}) AS rows(row)
    ) TO '{path}' (FORMAT parquet, COMPRESSION uncompressed)
"""
COORDINATE = "hash({dims} * row + {i}) / 2.0**64 + hash(1000 * (hash(row) % {clusters}) + {i}) % 5"


# Normal numbers (Box and Muller) around centres that are normal too, `spread` times as wide.
NORMAL = (
    "sqrt(-2 * ln(greatest(hash({first}) / 2.0**64, 1e-300)))"
    " * cos(2 * pi() * hash({second}) / 2.0**64)"
)


class File:
    """A Parquet file made by a query when it is first asked for."""

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def query(self) -> str:
        """Text of a COPY with {path} for the file."""
        raise NotImplementedError

    def file(self, folder: Path) -> Path:
        """Return the Parquet file, made if it is missing, and warm in the system's file cache."""
        path = folder / f"{self.name}.parquet"
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            query = self.query.format(path=str(unfinished).replace("'", "''"))
            # In a process of its own: the runner stays small (see runner.measured).
            subprocess.run([sys.executable, "-m", "benchmarks.data", query], check=True)
            unfinished.rename(path)
        _read_through(path)
        return path


@dataclass(frozen=True)
class Data(File):
    """Rows of (run, label, cluster), all Int32; runs follow one another in the file."""

    rows: int
    clusters: int
    run_rows: int

    @property
    def name(self) -> str:
        return f"{self.rows}_rows_{self.clusters}_clusters_{self.run_rows}_a_run"

    @property
    def query(self) -> str:
        return QUERY.format(**vars(self), path="{path}")


@dataclass(frozen=True)
class Points(File):
    """Rows of (run, cluster) and a point: Float64 columns x_0, x_1 ... or one Float32 vector."""

    rows: int
    dims: int
    clusters: int
    run_rows: int
    wide: bool = True

    @property
    def name(self) -> str:
        form = "columns" if self.wide else "vectors"
        return (
            f"{self.rows}_points_{self.dims}_{form}_{self.clusters}_clusters_{self.run_rows}_a_run"
        )

    @property
    def query(self) -> str:
        return POINTS.format(**vars(self), coordinates=self._coordinates(), path="{path}")

    def _coordinates(self) -> str:
        if self.wide:
            return ", ".join(f"{self._coordinate(i)} AS x_{i}" for i in range(self.dims))
        each = self._coordinate("i")
        return f"CAST([{each} FOR i IN range({self.dims})] AS FLOAT[]) AS vector"

    def _coordinate(self, i: int | str) -> str:
        return COORDINATE.format(i=i, dims=self.dims, clusters=self.clusters)


@dataclass(frozen=True)
class Gaussian(File):
    """Rows of (run, cluster) and a point, Float64 columns x_0, x_1 ...: normal clusters."""

    rows: int
    dims: int
    clusters: int
    spread: float

    @property
    def name(self) -> str:
        return f"{self.rows}_gaussian_{self.dims}_columns_{self.clusters}_clusters_{self.spread}"

    @property
    def query(self) -> str:
        columns = ", ".join(f"{self._coordinate(i)} AS x_{i}" for i in range(self.dims))
        run_rows = self.rows
        return POINTS.format(
            rows=self.rows,
            run_rows=run_rows,
            clusters=self.clusters,
            coordinates=columns,
            path="{path}",
        )

    def _coordinate(self, i: int) -> str:
        point, centre = (f"2 * ({self.dims} * {of} + {i})" for of in ("row", "(-cluster - 1)"))
        noise, middle = (NORMAL.format(first=of, second=f"{of} + 1") for of in (point, centre))
        return f"{noise} + {self.spread} * {middle}"


def _read_through(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


if __name__ == "__main__":
    import duckdb

    duckdb.execute(sys.argv[1])
