"""What must hold for any points: the definitions, and what may not make a difference."""

from __future__ import annotations

import datetime as dt
import math
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import polars_clustereval as ce
from tests.support import point_oracle as oracle
from tests.support.engines import Engine, fetched, literal, quoted
from tests.support.point_engines import FUNCTIONS, assert_points, call, one
from tests.support.point_oracle import DISTANCES, Measure, Partition

# Each example is many calls: fewer of them, and no search for the smallest that fails.
FEW = settings(
    max_examples=max(3, settings.default.max_examples // 3),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
EUCLIDEAN = Measure()
Rows = list[tuple[list[float] | None, int | None]]

# Quarters are exact in every form of number, and so are sums of few of them.
QUARTERS = st.integers(-24, 24).map(lambda i: i / 4)
FLOATS = st.floats(-100, 100).map(lambda x: round(x, 6))


def points(
    dims: int, numbers: st.SearchStrategy[float] = QUARTERS, *, nulls: bool = False
) -> st.SearchStrategy[Rows]:
    """Rows of (vector, cluster), some of them incomplete."""
    vector = st.lists(numbers, min_size=dims, max_size=dims)
    row: Any = st.tuples(vector, st.integers(0, 4))
    if nulls:
        odd = st.tuples(st.none(), st.just(1)) | st.tuples(vector, st.none())
        row = st.integers(0, 9).flatmap(lambda i: odd if i == 0 else row_of(vector))
    return st.lists(row, min_size=1, max_size=24)


def row_of(vector: st.SearchStrategy[list[float]]) -> st.SearchStrategy[Any]:
    return st.tuples(vector, st.integers(0, 4))


@st.composite
def measures(draw: Any, distance: str, dims: int) -> Measure:
    weights = None
    if distance != "chebyshev" and draw(st.booleans()):
        weights = [draw(st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0])) for _ in range(dims)]
    p = draw(st.sampled_from([1, 1.5, 2, 3, 4.0])) if distance == "minkowski" else 2
    return Measure(distance, p, draw(st.sampled_from(["mean", "median"])), weights)


def frame_of(several: list[Rows]) -> pl.DataFrame:
    rows = [(v, c, run) for run, rows in enumerate(several) for v, c in rows]
    schema = {"vector": pl.List(pl.Float64), "cluster": pl.Int64, "run": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def arguments_of(measure: Measure) -> dict[str, Any]:
    given = measure._asdict()
    return {name: value for name, value in given.items() if value is not None}


def expected(function: str, part: Partition) -> list[dict[str, Any]]:
    rows = getattr(oracle, function)(part)
    return rows if isinstance(rows, list) else [rows]


def undecided(part: Partition, within: float = 1e-9) -> set[str]:
    """The columns where rounding decides: equally near clusters, points at the radius of S_Dbw."""
    gaps = np.sort(part.gaps + np.diag([math.inf] * part.k), axis=1)
    ties = part.k > 2 and bool(np.any(gaps[:, 1] - gaps[:, 0] <= within * (1 + gaps[:, 0])))
    edge = part.k > 1 and part.measure.adds_up and oracle.is_on_the_edge(part)
    return {*(["nearest_cluster"] if ties else []), *(["s_dbw_index"] if edge else [])}


NOISE: list[dict[str, Any]] = [
    {},
    {"noise": 0},
    {"noise": 0, "noise_as": "drop"},
    {"noise": 0, "noise_as": "singletons"},
]


@pytest.mark.parametrize("distance", DISTANCES)
@FEW
@given(data=st.data())
def test_equals_the_oracle(engine: Engine, distance: str, data: st.DataObject) -> None:
    """Several sets of points in one call, with any p, centre, weights and way with noise."""
    dims = data.draw(st.integers(1, 4))
    measure = data.draw(measures(distance, dims))
    noise = data.draw(st.sampled_from(NOISE))
    numbers = data.draw(st.sampled_from([QUARTERS, FLOATS]))
    several = data.draw(st.lists(points(dims, numbers, nulls=True), min_size=1, max_size=6))
    parts = [Partition(*zip(*rows, strict=True), measure, **noise) for rows in several]
    plain = numbers is QUARTERS and measure.weights is None and distance != "cosine"
    frame = frame_of(several)
    for function in FUNCTIONS:
        rows = call(engine, function, frame, partition_by="run", **arguments_of(measure), **noise)
        assert [row["run"] for row in rows] == sorted(row["run"] for row in rows)
        for run, part in enumerate(parts):
            got = [dict(list(row.items())[1:]) for row in rows if row["run"] == run]
            check_part(function, got, part, exact=plain)


def check_part(function: str, got: list[Any], part: Partition, *, exact: bool) -> None:
    if not part.n:
        assert got == []
        return
    wanted = expected(function, part)
    without = undecided(part)
    if oracle.is_delicate(part, exact=exact):
        # nothing that may hang on rounding
        without = set(wanted[0]) - {*oracle.COUNTS, "cluster"}
    assert_points(got, wanted, tolerance=1e-9, floor=1e-13, without=without, what=part.measure)


def plain_set(
    dims: int = 2, *, nulls: bool = False, measure: Measure = EUCLIDEAN
) -> st.SearchStrategy[Rows]:
    """Rows whose indices do not hang on rounding."""

    def is_sound(rows: Rows) -> bool:
        part = Partition(*zip(*rows, strict=True), measure)
        return part.n > 0 and not oracle.is_delicate(part, exact=True) and not undecided(part)

    return points(dims, nulls=nulls).filter(is_sound)


def check_same(
    engine: Engine,
    frame: pl.DataFrame,
    other: pl.DataFrame,
    *,
    vector: Any = "vector",
    functions: Any = FUNCTIONS,
    tolerance: float = 1e-9,
    **arguments: Any,
) -> None:
    """The same rows from both, the second with its own vector."""
    for function in functions:
        wanted = call(engine, function, frame, **arguments)
        got = call(engine, function, other, vector, **arguments)
        assert_points(got, wanted, tolerance=tolerance, floor=1e-13, what=function)


@FEW
@given(rows=plain_set(nulls=True), random=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(engine: Engine, rows: Rows, random: Any) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    check_same(engine, frame_of([rows]), frame_of([shuffled]))


@FEW
@given(rows=plain_set())
def test_the_names_of_clusters_do_not_matter(engine: Engine, rows: Rows) -> None:
    renamed = [(v, None if c is None else 1000 - c) for v, c in rows]
    check_same(
        engine,
        frame_of([rows]),
        frame_of([renamed]),
        functions=["internal_report", "neighbor_report"],
    )
    wanted = call(engine, "internal_cluster_report", frame_of([rows]))
    got = call(engine, "internal_cluster_report", frame_of([renamed]))[::-1]
    for row in got:
        for name in ("cluster", "nearest_cluster"):
            row[name] = None if row[name] is None else 1000 - row[name]
    assert_points(got, wanted, tolerance=1e-9, floor=1e-13)


@FEW
@given(
    rows=plain_set(nulls=True),
    runs=st.lists(st.sampled_from([None, "a", "b"]), min_size=24, max_size=24),
)
def test_a_partition_is_a_filter(engine: Engine, rows: Rows, runs: list[str | None]) -> None:
    frame = frame_of([rows]).with_columns(run=pl.Series(runs[: len(rows)], dtype=pl.String))
    for function in FUNCTIONS:
        wanted = []
        for run in (None, "a", "b"):
            part = frame.filter(pl.col("run").eq_missing(run))
            alone = call(engine, function, part)
            wanted += [{"run": run} | row for row in alone if row["n"] > 0]
        got = call(engine, function, frame, partition_by="run")
        keys = [None, "a", "b"]
        got.sort(key=lambda row: keys.index(row["run"]))
        # as in test_equals_the_oracle, a part may hang on rounding
        without = set() if all_sound(rows, runs) else {"nearest_cluster", *ROUNDED}
        assert_points(got, wanted, tolerance=1e-9, floor=1e-13, without=without, what=function)


ROUNDED = {
    *("log_ss_ratio", "pbm_index", "banfield_raftery_index", "ray_turi_index", "xie_beni_index"),
    *("davies_bouldin_score", "calinski_harabasz_score", "sd_separation", "sd_scattering"),
    *("ratkowsky_lance_index", "explained_variance", *oracle.NEIGHBOR_INDICES),
}


def all_sound(rows: Rows, runs: list[str | None]) -> bool:
    for run in (None, "a", "b"):
        part = [row for row, key in zip(rows, runs, strict=False) if key == run]
        if any(v is not None and c is not None for v, c in part):
            found = Partition(*zip(*part, strict=True), Measure())
            if oracle.is_delicate(found, exact=True) or undecided(found):
                return False
    return True


def test_several_partition_columns(engine: Engine) -> None:
    rows: Rows = [([i * i % 7, i % 5], i % 3) for i in range(24)]
    frame = frame_of([rows]).with_columns(
        pl.Series("the run", [i % 2 for i in range(24)]),
        pl.Series("day", [["mon", None][i // 12] for i in range(24)], dtype=pl.String),
    )
    for function in FUNCTIONS:
        got = call(engine, function, frame, partition_by=["the run", "day"])
        for run in (0, 1):
            for day in ("mon", None):
                part = frame.filter(pl.col("the run") == run, pl.col("day").eq_missing(day))
                wanted = [
                    {"the run": run, "day": day} | row for row in call(engine, function, part)
                ]
                mine = [row for row in got if (row["the run"], row["day"]) == (run, day)]
                assert_points(mine, wanted, tolerance=1e-9)


FORMS: dict[str, Any] = {
    "List of Float32": pl.List(pl.Float32),
    "Array": pl.Array(pl.Float64, 3),
    "Array of Float32": pl.Array(pl.Float32, 3),
}


@pytest.mark.parametrize("form", FORMS)
@FEW
@given(rows=plain_set(3, nulls=True))
def test_forms_of_a_vector(engine: Engine, form: str, rows: Rows) -> None:
    frame = frame_of([rows])
    check_same(engine, frame, frame.with_columns(pl.col("vector").cast(FORMS[form])))


WIDE: dict[str, list[Any]] = {
    "Float64": [pl.Float64] * 3,
    "Float32": [pl.Float32] * 3,
    "Decimal": [pl.Decimal(10, 2)] * 3,
    "mixed": [pl.Float64, pl.Float32, pl.Decimal(10, 2)],
}


@pytest.mark.parametrize("form", WIDE)
@FEW
@given(rows=plain_set(3, nulls=True))
def test_wide_columns(engine: Engine, form: str, rows: Rows) -> None:
    """A row where all are NULL is a row without a vector."""
    check_same(engine, frame_of([rows]), wide(rows, WIDE[form]), vector=["x", "y", "z"])


def wide(rows: Rows, types: list[Any]) -> pl.DataFrame:
    frame = frame_of([rows])
    coordinates = [
        pl.col("vector").list.get(i, null_on_oob=True).cast(dtype).alias(name)
        for i, (name, dtype) in enumerate(zip("xyz", types, strict=True))
    ]
    return frame.select(*coordinates, "cluster", "run")


INTEGERS = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_numbers(engine: Engine, dtype: Any) -> None:
    rows: Rows = [([float(i * i % 11), float(i % 7), float(100 + i)], i % 3) for i in range(20)]
    frame = frame_of([rows])
    nested = frame.with_columns(pl.col("vector").cast(pl.List(dtype)))
    check_same(engine, frame, nested, functions=["internal_report"])
    check_same(
        engine, frame, wide(rows, [dtype] * 3), vector=["x", "y", "z"], functions=["centroids"]
    )


TYPES = ["DOUBLE[3]", "FLOAT[3]", "INTEGER[3]", "DOUBLE[]", "FLOAT[]", "INTEGER[]", "HUGEINT[]"]


def test_forms_in_sql() -> None:
    """DuckDB's own ARRAY and LIST types."""
    with duckdb.connect() as connection:
        ce.register(connection)
        connection.execute(
            "CREATE TABLE raw AS SELECT (i * i) % 11 AS x, i % 7 AS y, 100 + i AS z, i % 3 AS c "
            "FROM range(20) AS t(i)"
        )
        wanted = fetched(connection, "FROM clustereval.internal_report(raw, [x, y, z], c)")
        for name in [*TYPES, "DECIMAL(10,2)[]", "DECIMAL(18,3)[3]", "UTINYINT[]"]:
            connection.execute(
                "CREATE OR REPLACE TABLE typed AS "
                f"SELECT CAST([x, y, z] AS {name}) AS v, c FROM raw"
            )
            got = fetched(connection, "FROM clustereval.internal_report(typed, v, c)")
            assert_points(got, wanted, tolerance=1e-9, what=name)


@FEW
@given(rows=plain_set())
def test_expressions_and_selectors(rows: Rows) -> None:
    frame = wide([(None if v is None else [*v, 0.0], c) for v, c in rows], [pl.Float64] * 3)
    wanted = list(ce.internal_report(frame, ["x", "y"], "cluster").iter_rows(named=True))
    for vector in (
        [pl.col("x"), "y"],
        pl.concat_list("x", "y"),
        pl.col("x", "y"),
        pl.selectors.by_name("x", "y"),
        pl.selectors.matches("^[xy]$"),
    ):
        got = ce.internal_report(frame, vector, pl.col("cluster"))
        assert_points(list(got.iter_rows(named=True)), wanted, what=vector)


@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize("distance", [name for name in DISTANCES if name != "cosine"])
@FEW
@given(data=st.data())
def test_a_shift_changes_nothing(
    engine: Engine, distance: str, center: str, data: st.DataObject
) -> None:
    measure = Measure(distance, 3, center)
    rows = data.draw(plain_set(measure=measure))
    assume(not undecided(Partition(*zip(*rows, strict=True), measure), within=1e-6))
    moved = [(None if v is None else [x + 1e8 for x in v], c) for v, c in rows]
    how = arguments_of(measure)
    for function in ("internal_report", "neighbor_report"):
        wanted = call(engine, function, frame_of([rows]), **how)
        got = call(engine, function, frame_of([moved]), **how)
        assert_points(got, wanted, tolerance=1e-6, floor=1e-12, what=(function, distance))


def test_weights_are_factors(engine: Engine) -> None:
    """w = 4 doubles a coordinate under euclidean, and counts it four times under cityblock."""
    rows: Rows = [([float(i * i % 11), float(i % 7)], i % 3) for i in range(20)]
    for distance, factor in (("euclidean", 2.0), ("cityblock", 4.0), ("cosine", 2.0)):
        scaled: Rows = [([v[0] * factor, v[1]], c) for v, c in rows if v is not None]
        for function in ("internal_report", "neighbor_report"):
            wanted = one(engine, function, frame_of([scaled]), distance=distance)
            how = {"distance": distance, "weights": [4, 1]}
            got = one(engine, function, frame_of([rows]), **how)
            assert_points([got], [wanted], tolerance=1e-9, what=(function, distance))


def test_distances_in_any_letter_case(engine: Engine) -> None:
    rows: Rows = [([float(i * i % 11), float(i % 7)], i % 3) for i in range(20)]
    for distance in DISTANCES:
        how = {"distance": distance, "p": 3}
        for function in ("internal_report", "centroids"):
            wanted = call(engine, function, frame_of([rows]), **how)
            got = call(engine, function, frame_of([rows]), **how | {"distance": distance.title()})
            assert_points(got, wanted)


def test_minkowski_of_known_orders(engine: Engine) -> None:
    rows: Rows = [([float(i * i % 11), float(i % 7)], i % 3) for i in range(20)]
    for distance, p in (("cityblock", 1), ("euclidean", 2)):
        wanted = one(engine, "internal_report", frame_of([rows]), distance=distance)
        how = {"distance": "minkowski", "p": p}
        got = one(engine, "internal_report", frame_of([rows]), **how)
        without = oracle.OF_TOTAL
        assert_points([got], [wanted], tolerance=1e-9, without=without)
        assert [got[name] for name in without] == [None] * 4


def test_a_lazy_frame_gives_the_same_in_memory() -> None:
    rows: Rows = [([float(i * i % 11), float(i % 7)], i % 3) for i in range(20)]
    lazy = frame_of([rows, rows[:7]]).lazy()
    for function in FUNCTIONS:
        for keys in (None, "run"):
            ask = getattr(ce, function)(lazy, "vector", "cluster", partition_by=keys)
            got, wanted = (
                list(ask.collect(engine=how).iter_rows(named=True))
                for how in ("in-memory", "streaming")
            )
            assert_points(got, wanted, tolerance=1e-9)


CLUSTER_TYPES: dict[str, pl.Series] = {
    "NaN": pl.Series([math.nan, math.nan, 1.0, 2.0, 2.0]),
    "String": pl.Series(["NULL", "NULL", "", "a", "a"]),
    "Boolean": pl.Series([True, True, False, False, False]),
    "Date": pl.Series([dt.date(2024, 1, i) for i in (1, 1, 2, 3, 3)]),
    "Categorical": pl.Series(["b", "b", "a", "c", "c"], dtype=pl.Categorical),
    "Enum": pl.Series(["x", "x", "y", "z", "z"], dtype=pl.Enum(["x", "y", "z"])),
    "Binary": pl.Series([b"1", b"1", b"\xff", b"", b""]),
    "UInt64": pl.Series([2**64 - 1, 2**64 - 1, 0, 1, 1], dtype=pl.UInt64),
    "Decimal": pl.Series([1, 1, 2, 3, 3]).cast(pl.Decimal(10, 2)),
    "Struct": pl.Series([{"a": i} for i in (1, 1, 2, 3, 3)]),
    "List": pl.Series([[i] for i in (1, 1, 2, 3, 3)]),
    "Array": pl.Series([[i] for i in (1, 1, 2, 3, 3)], dtype=pl.Array(pl.Int64, 1)),
}


@pytest.mark.parametrize("name", CLUSTER_TYPES)
def test_clusters_of_any_type(engine: Engine, name: str) -> None:
    """One value of cluster a row of the report, and the nearest one by name."""
    series = CLUSTER_TYPES[name]
    frame = pl.DataFrame({"x": [0.0, 2.0, 9.0, 20.0, 30.0], "cluster": series})
    codes = [str(value) for value in frame["cluster"].to_list()]
    part = Partition([[x] for x in frame["x"]], codes, Measure())
    rows = call(engine, "internal_cluster_report", frame, ["x"])
    wanted = {row["cluster"]: row for row in oracle.internal_cluster_report(part)}
    assert len(rows) == len(wanted)
    for row in rows:
        for column in ("cluster", "nearest_cluster"):
            row[column] = text_of(row[column])
        expected_row = wanted[row["cluster"]]
        assert_points([row], [expected_row], what=name)
    for function in ("internal_report", "neighbor_report"):
        assert_points(call(engine, function, frame, ["x"]), expected(function, part))


def text_of(value: Any) -> str | None:
    if value is None:
        return None
    return str(list(value)) if isinstance(value, tuple) else str(value)


# Names ---------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
SQL = "".join(
    (ROOT / "sql" / "internal" / f"{name}.sql").read_text(encoding="utf-8")
    for name in ("vectors", "distances", "centroids", "scatter", "determinants", "report")
)
INNER = sorted(set(re.findall(r"\b__ce_\w+", SQL)))
WITH = sorted(set(re.findall(r"(\w+) AS (?:NOT )?(?:MATERIALIZED )?\(\s*SELECT", SQL)))
ODD = ['a "quoted" name', "it's", "two words", "größe", "🦆", "select", "GROUP", " ", "a.b", "$1"]
PARAMETERS = ["tbl", "vector", "distance", "p", "center", "partition_by", "noise", "noise_as"]
PARAMETERS += ["weights", "x", "y", "len", "list", "row", "block_offset", "dims", "norm", "fault"]
POLARS_INNER = [
    *("x_0", "c_0", "g_0", "m_0", "o_0", "v_0", "other_c_0", "raw_x_0", "key_0", "kept", "number"),
    *("single", "complete", "noisy", "has_vector", "length", "size", "own_distance", "n_invalid"),
    *("overall_distance", "overall_distances", "distances", "radius", "rows", "row", "least"),
    *("most_gap", "gap", "own", "other", "density_radius", "lower_number", "higher_number"),
    *("other_number", "own_is_lower", "near_midpoint", "literal", "point_number", "mean_distance"),
]
NAMED: Rows = [([0.0, 0.0], 0), ([2.0, 0.0], 0), ([9.0, 0.0], 1), ([9.0, 4.0], 1)]


def named(a: str, b: str, cluster: str, run: str) -> pl.DataFrame:
    values = [(*v, c, "run") for v, c in NAMED if v is not None]
    return pl.DataFrame(values, schema=[a, b, cluster, run], orient="row")


def test_there_are_inner_names() -> None:
    assert len(INNER) > 50
    assert len(WITH) > 20
    assert {"__ce_points", "__ce_table_rows"} <= set(WITH)


@pytest.mark.parametrize(
    "names", [ODD, PARAMETERS, POLARS_INNER, INNER], ids=["odd", "parameters", "Polars", "SQL"]
)
def test_columns_of_any_name(engine: Engine, names: list[str]) -> None:
    """Each in turn as a coordinate, cluster and key, beside the next three."""
    for i, name in enumerate(names):
        a, b, cluster, run = (names[(i + j) % len(names)] for j in range(4))
        check_named(engine, a, b, cluster, run, "centroids" if names is INNER else FUNCTIONS[i % 4])
        assert a == name


def check_named(
    engine: Engine, a: str, b: str, cluster: str, run: str, function: str, **noise: Any
) -> None:
    part = Partition(*zip(*NAMED, strict=True), Measure(), **noise)
    got = call(
        engine, function, named(a, b, cluster, run), [a, b], cluster, partition_by=run, **noise
    )
    wanted = [{run: "run"} | row for row in expected(function, part)]
    assert_points(got, wanted, what=(a, b, cluster, run))


@pytest.mark.parametrize("name", ["single", "__ce_row", "__ce_single", "number", "row"])
def test_singletons_beside_a_column_named_like_their_number(engine: Engine, name: str) -> None:
    for names in ((name, "b", "c", "d"), ("a", "b", name, "d"), ("a", "b", "c", name)):
        check_named(engine, *names, "internal_cluster_report", noise=0, noise_as="singletons")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_tables_of_any_name(function: str) -> None:
    with duckdb.connect() as connection:
        ce.register(connection)
        frame = named("a", "b", "c", "run").drop("run")
        connection.register("plain", frame)
        wanted = fetched(connection, f"FROM clustereval.{function}(plain, [a, b], c)")
        failed = []
        for name in [*ODD, *PARAMETERS, *WITH]:
            connection.register(name, frame)
            table = literal(quoted(name)) if set(name) & set('".') else quoted(name)
            try:
                got = fetched(connection, f"FROM clustereval.{function}({table}, [a, b], c)")
                assert_points(got, wanted, what=name)
            except duckdb.Error as error:
                failed.append((name, str(error).partition("\n")[0]))
            connection.unregister(name)
        assert not failed
