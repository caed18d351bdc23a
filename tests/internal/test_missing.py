"""missing: vectors with a NULL coordinate are an error, or their rows are left out."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support import registry
from tests.support.engines import DuckDB, Engine, Row, fails
from tests.support.point_engines import assert_points, call

if TYPE_CHECKING:
    import duckdb

N = 60
WIDE = ["x", "y", "z"]
WHOLE = pl.DataFrame(
    {
        "id": range(N),
        "x": [(i * 7 % 13) / 4 for i in range(N)],
        "y": [float(i % 3 * 5 + i % 7) for i in range(N)],
        "z": [(i * 11 % 17) / 8 for i in range(N)],
        "cluster": [i % 3 for i in range(N)],
        "run": [i // 30 for i in range(N)],
    }
)
#: Gaps at the first, the last and several coordinates; row 3 has no coordinate at all.
GAPS = {"x": (0, 3, 8, 41), "y": (3, 8, 44, 45), "z": (3, 5, 45, 59)}
FAULTY = sorted({row for rows in GAPS.values() for row in rows})
POINTS = WHOLE.with_columns(
    pl.when(~pl.col("id").is_in(rows)).then(name).alias(name) for name, rows in GAPS.items()
)
LEFT = WHOLE.filter(~pl.col("id").is_in(FAULTY))
FORMS: dict[str, Any] = {
    "columns": None,
    "lists": pl.concat_list(WIDE),
    "arrays": pl.concat_arr(WIDE),
    "lists of Float32": pl.concat_list(WIDE).cast(pl.List(pl.Float32)),
}
TABLES = registry.tables("points", "points of states", takes="missing")
COUNTS = ("n_dropped",)


def with_form(frame: pl.DataFrame, form: str) -> tuple[pl.DataFrame, str | list[str]]:
    if FORMS[form] is None:
        return frame, WIDE
    return frame.with_columns(vector=FORMS[form]), "vector"


def dropped(rows: list[Row]) -> int:
    return sum(row.get("n_dropped", 0) for row in rows)


def test_every_table_with_a_vector_takes_it() -> None:
    takes = {name for name in registry.tables() if "vector" in registry.parameters(name)}
    assert takes == {*registry.tables(takes="missing")} - {*registry.tables("distances")}
    for name in takes:
        assert inspect.signature(getattr(ce, name)).parameters["missing"].default == "error"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", TABLES)
def test_rows_with_gaps_are_left_out_and_counted(engine: Engine, function: str, form: str) -> None:
    """The result is that of the other rows; n_dropped counts them, row 3 without it too."""
    own = {"id": "id"} if function == "silhouette_samples" else {}
    found = call(
        engine, function, *with_form(POINTS, form), missing="drop", partition_by="run", **own
    )
    wanted = call(engine, function, *with_form(LEFT, form), partition_by="run", **own)
    found, wanted = (
        [
            row
            for row in rows
            if row.get("code", row.get("metric")) not in ("dropped_rows", "n_dropped")
        ]
        for rows in (found, wanted)
    )
    assert_points(found, wanted, without=COUNTS, tolerance=1e-12, floor=1e-13)
    if "n_dropped" in wanted[0]:
        assert (dropped(found), dropped(wanted)) == (len(FAULTY), 0)


@pytest.mark.parametrize("function", TABLES)
def test_by_default_they_are_an_error(side: Engine, function: str) -> None:
    line = "missing := 'drop'" if isinstance(side, DuckDB) else "missing='drop'"
    with fails(side, f"fix these rows or leave them out: {line}"):
        call(side, function, POINTS, WIDE)


@pytest.mark.gate
def test_a_row_with_a_gap_is_dropped_before_it_is_noise(engine: Engine) -> None:
    """Of the clusters 0, 1 and 2, cluster 0 is noise; a row without a cluster counts once."""
    frame = POINTS.with_columns(pl.when(pl.col("id") != 5).then("cluster").alias("cluster"))
    given: dict[str, Any] = {"noise": 0, "missing": "drop"}
    n_noise = LEFT.filter(pl.col("cluster") == 0).height
    for noise_as in ("drop", "singletons", "cluster"):
        [row] = call(engine, "internal_report", frame, WIDE, noise_as=noise_as, **given)
        n = len(LEFT) - n_noise * (noise_as == "drop")
        counts = (row["n"], row["n_dropped"], row["n_noise"])
        assert counts == (n, len(FAULTY), n_noise), noise_as


def test_the_length_of_a_dropped_vector_does_not_matter(engine: Engine) -> None:
    rows = [[0.0, 1.0], [2.0, 1.0], [5.0, 5.0], [None, 1.0, 7.0], [None], [None] * 4]
    frame = pl.DataFrame({"vector": rows, "cluster": [0, 0, 1, 1, 1, 0]})
    [row] = call(engine, "internal_report", frame, missing="drop")
    assert (row["n"], row["n_dropped"], row["n_dims"], row["ssw"]) == (3, 3, 2, 2.0)
    # Without a coordinate it is no vector, so that its length does not matter by default either.
    [row] = call(engine, "internal_report", frame.filter(pl.col("vector").list.len() != 3))
    assert (row["n"], row["n_dropped"], row["n_dims"], row["ssw"]) == (3, 2, 2, 2.0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_other_faults_stay_errors(side: Engine, value: float) -> None:
    """Also in the partition of a row that is left out; an empty vector is not a gap."""
    frame = POINTS.with_columns(y=pl.when(pl.col("id") == 9).then(value).otherwise("y"))
    with fails(side, f"got {value} in column y (1 row is at fault)"):
        call(side, "internal_report", frame, WIDE, missing="drop")
    # In the very row that is left out they do not matter.
    both = POINTS.with_columns(y=pl.when(pl.col("id") == 0).then(value).otherwise("y"))
    [row] = call(side, "internal_report", both, WIDE, missing="drop")
    assert row["n_dropped"] == len(FAULTY)
    empty = pl.DataFrame({"vector": [[1.0], [], [None]], "cluster": [0, 0, 1]})
    with fails(side, "expected at least one coordinate, got an empty vector (1 row is at fault)"):
        call(side, "internal_report", empty, missing="drop")


def test_nothing_is_left(engine: Engine) -> None:
    frame = POINTS.with_columns(z=pl.lit(None, pl.Float64))
    [row] = call(engine, "internal_report", frame, WIDE, missing="drop")
    assert (row["n"], row["n_dropped"], row["n_dims"], row["ssw"]) == (0, N, 0, None)
    rows = call(engine, "internal_report", frame, WIDE, missing="drop", partition_by="run")
    assert [(row["n"], row["n_dropped"]) for row in rows] == [
        (0, n) for _, n in sorted(frame["run"].value_counts().rows())
    ]


@pytest.mark.gate
@pytest.mark.parametrize("dims", [3, 40])
def test_long_vectors(side: Engine, dims: int) -> None:
    """From some length on Polars hands vectors to numpy."""
    rows = [[float((i * j) % 19 + i % 3) for j in range(dims)] for i in range(1, 31)]
    whole = pl.DataFrame({"vector": rows, "cluster": [i % 3 for i in range(30)]})
    kept = whole.with_row_index("row").filter(~pl.col("row").is_in([4, 11])).drop("row")
    rows[4][dims - 1] = rows[11][0] = None  # type: ignore[call-overload]
    gaps = pl.DataFrame({"vector": rows, "cluster": whole["cluster"]})
    for dtype in (pl.List(pl.Float64), pl.Array(pl.Float64, dims), pl.Array(pl.Float32, dims)):
        typed = pl.col("vector").cast(dtype)
        for function in ("internal_report", "silhouette_clusters", "determinant_report"):
            found = call(side, function, gaps.with_columns(typed), missing="drop")
            wanted = call(side, function, kept.with_columns(typed))
            found, wanted = (
                [
                    row
                    for row in rows
                    if row.get("code", row.get("metric")) not in ("dropped_rows", "n_dropped")
                ]
                for rows in (found, wanted)
            )
    assert_points(found, wanted, without=COUNTS, tolerance=1e-12, floor=1e-13)


CENTERS = pl.DataFrame({"cluster": [0, 1, 2], "centroid": [[2.0 * i, 3.0, 1.0] for i in range(3)]})
FOLDS = CENTERS.join(pl.DataFrame({"fold": [0, 1]}), how="cross")
#: Calls of the tables that read other frames or columns as well: what follows the frame, options.
OTHER_CALLS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "elbow": ("elbow", (WIDE, "cluster", "k"), {"partition_by": "run"}),
    "elbow with silhouettes": ("elbow", (WIDE, "cluster", "k"), {"silhouette": "exact"}),
    "reference": ("uniform_reference", (WIDE,), {"partition_by": "run"}),
    "nearest": ("assign_nearest", (WIDE, CENTERS), {"id": "id"}),
    "neighbors": ("nearest_neighbors", (WIDE, "id"), {}),
    "folds": ("cross_validation", (WIDE, "cluster", "fold", FOLDS), {}),
    "several clusterings": ("compare_clusterings", (["cluster"], None, WIDE), {}),
    "columns": ("column_stability", (WIDE, "cluster", "removed", "cluster"), {}),
}


@pytest.mark.gate
@pytest.mark.parametrize("case", OTHER_CALLS)
def test_other_tables(side: Engine, case: str) -> None:
    table, given, options = OTHER_CALLS[case]
    columns = {"k": pl.lit(3), "fold": pl.col("id") % 2, "removed": pl.col("id") % 3 + 1}
    gaps, left = POINTS.with_columns(**columns), LEFT.with_columns(**columns)
    found, wanted = (
        # What is left out is in the coverage, and more than a tenth of it in the remark.
        [{name: x for name, x in row.items() if name not in ("coverage", "remark")} for row in rows]
        for rows in (
            side.call(table, gaps, *given, missing="drop", **options),
            side.call(table, left, *given, **options),
        )
    )
    assert wanted
    assert_points(found, wanted, tolerance=1e-12, floor=1e-13)
    words = "got NULL in column x (7 rows are at fault: 3 in column x, 3 in column y, "
    if table == "compare_clusterings" and side.name == "duckdb":
        # Its rows are those of several partitions, with the coordinates in a list.
        words = "got NULL in coordinate 1 (7 rows are at fault"
    with fails(side, words):
        side.call(table, gaps, *given, **options)


def test_the_tables_of_other_calls_are_all_there() -> None:
    called = {table for table, _, _ in OTHER_CALLS.values()}
    others = {*TABLES, *registry.tables("distances")}
    assert called == {*registry.tables(takes="missing")} - others


def test_no_vector_that_counts_as_missing_holds_a_null(con: duckdb.DuckDBPyConnection) -> None:
    """One NULL in a list makes DuckDB compute the distances of all rows many times more slowly."""
    con.register("gaps", POINTS)
    query = (
        "SELECT count(*) FILTER (dropped), count(*) FILTER (list_count(vector) < 3) "
        "FROM clustereval._points("
        "gaps, [x, y, z], cluster, 'euclidean', 2, NULL, NULL, NULL, NULL, {})"
    )
    assert con.execute(query.format("'drop'")).fetchall() == [(len(FAULTY), 0)]
    # By default only row 3, which has no coordinate, is missing.
    assert con.execute(query.format("'error'")).fetchall() == [(1, len(FAULTY) - 1)]
