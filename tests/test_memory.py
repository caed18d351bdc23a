"""Tables that are said to stream, on files several times larger than the memory they may take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from tests.support import peak_memory

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not peak_memory.STATUS.exists(), reason="peak memory as Linux reports it"),
]

# What the columns of each file take in memory.
MEBIBYTES = 2048
#: The share of it that a table may take: parts of the file are read ahead, and joined with centers.
SHARE = 1 / 3
# name: columns, and the numbers of a row
FILES: dict[str, tuple[list[str], int]] = {
    "labels": (["label"], 2),
    "points": ([f"x{i}" for i in range(8)], 10),
    "long vectors": (["vector"], 42),
}
X = "random() + cluster"
SELECTED = {
    "labels": "row % 97 AS label, cluster",
    "points": ", ".join(f"{X} AS x{i}" for i in range(8)) + ", cluster, row % 19 AS part",
    "long vectors": f"[{', '.join([X] * 40)}]::DOUBLE[40] AS vector, cluster, row % 19 AS part",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Parquet files in row groups of about 4 MiB."""
    folder, con = tmp_path_factory.mktemp("large"), duckdb.connect()
    paths = {}
    for name, (_, numbers) in FILES.items():
        rows = MEBIBYTES * 2**20 // (8 * numbers)
        paths[name] = folder / f"{numbers}.parquet"
        con.execute(f"""
            COPY (
                SELECT {SELECTED[name]}
                FROM (SELECT range AS row, range % 23 AS cluster FROM range({rows}))
            ) TO '{paths[name]}' (ROW_GROUP_SIZE {max(2048, 2**22 // (8 * numbers))})
        """)
    return paths


CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("labels", "external_report", {}),
    ("labels", "pair_counts", {}),
    ("labels", "matching_report", {}),
    ("labels", "entity_resolution_report", {}),
    ("labels", "external_cluster_report", {}),
    *((file, "centroids", {}) for file in ("points", "long vectors")),
    *((file, "internal_report", {}) for file in ("points", "long vectors")),
    *((file, "internal_report", {"partition_by": "part"}) for file in ("points", "long vectors")),
    ("points", "internal_cluster_report", {}),
    *(
        (file, "silhouette_score", {"distance": distance})
        for file in ("points", "long vectors")
        for distance in ("sqeuclidean", "cosine")
    ),
    ("points", "silhouette_clusters", {"distance": "sqeuclidean"}),
]


# DuckDB is only said to spill for these.
IN_POLARS = [
    ("points", "silhouette_score", {"method": method}) for method in ("simplified", "bounds")
]


@pytest.mark.parametrize(
    ("library", "file", "table", "options"),
    [
        *((library, *case) for library in ("polars", "duckdb") for case in CASES),
        *(("polars", *case) for case in IN_POLARS),
    ],
)
def test_a_large_file_streams(
    files: dict[str, Path],
    library: str,
    file: str,
    table: str,
    options: dict[str, Any],
) -> None:
    columns, _ = FILES[file]
    risen = peak_memory.measure(library, table, files[file], columns, **options)
    assert risen < MEBIBYTES * SHARE


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_points_held_in_memory_are_seen(files: dict[str, Path], library: str) -> None:
    """The measurement fails for a table that needs all points at once."""
    columns, _ = FILES["points"]
    options = {"center": "median"}
    risen = peak_memory.measure(library, "centroids", files["points"], columns, **options)
    assert risen > MEBIBYTES * SHARE
