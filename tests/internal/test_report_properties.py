"""What must hold for any points: the definitions, and what may not make a difference."""

from __future__ import annotations

import datetime as dt
import math
import random
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support import engines
from tests.support import point_oracle as oracle
from tests.support.point_engines import FUNCTIONS, assert_points, call, call_by_case, one
from tests.support.point_names import assert_columns, assert_tables, each_table, sql_names
from tests.support.point_oracle import DISTANCES, Measure, Partition
from tests.support.point_strategies import (
    NOISE,
    SEEDS,
    Rows,
    arguments_of,
    clear_and_other_sets,
    decimal,
    digit,
    frame_of_sets,
    is_clustering,
    is_exact,
    is_sound,
    measure_of,
    quarter,
    random_options,
    random_sets,
    undecided,
)
from tests.support.seeds import SEED

if TYPE_CHECKING:
    import duckdb

    from tests.support.engines import Engine, Row

EUCLIDEAN = Measure()
MOD: Rows = [([float(i * i % 11), float(i % 7)], i % 3) for i in range(20)]


def oracle_rows(function: str, part: Partition) -> list[Row]:
    rows = getattr(oracle, function)(part)
    return rows if isinstance(rows, list) else [rows]


def part_of(rows: Rows, measure: Measure = EUCLIDEAN, **noise: Any) -> Partition:
    return Partition(*zip(*rows, strict=True), measure, **noise)


NUMBERS = (quarter, decimal, digit)


N_CLEAR = 9


@cache
def random_frame_and_parts(
    distance: str, center: str, weighted: bool, noise: int, dims: int, seed: int
) -> tuple[pl.DataFrame, list[Partition]]:
    """Sets of points as one frame, and as the oracle sees each; N_CLEAR of them can be compared."""
    measure = measure_of(distance, dims, center, weighted=weighted)

    def is_clear(rows: Rows) -> bool:
        part = part_of(rows, measure, **NOISE[noise])
        return is_clustering(part) and not oracle.is_delicate(part, exact=False)

    drawn = (seed, distance, center, noise)
    sets = clear_and_other_sets(drawn, N_CLEAR, 6, dims, *NUMBERS, is_clear=is_clear)
    return frame_of_sets(sets), [part_of(rows, measure, **NOISE[noise]) for rows in sets]


@pytest.mark.parametrize(("distance", "center", "weighted", "noise", "dims"), random_options())
@SEEDS
@SEED
def test_equals_the_oracle(
    engine: Engine,
    distance: str,
    center: str,
    weighted: bool,
    noise: int,
    dims: int,
    seed: int,
) -> None:
    """Many sets of points in one call, with missing vectors and clusters."""
    frame, parts = random_frame_and_parts(distance, center, weighted, noise, dims, seed)
    measure = parts[0].measure
    how = arguments_of(measure) | NOISE[noise]
    for function in FUNCTIONS:
        rows = call(engine, function, frame, partition_by="run", **how)
        assert [row["run"] for row in rows] == sorted(row["run"] for row in rows)
        compared = 0
        for run, part in enumerate(parts):
            got = [dict(list(row.items())[1:]) for row in rows if row["run"] == run]
            exact = is_exact(NUMBERS[run % 3], measure)
            compared += check_part(function, got, part, exact=exact)
        assert compared >= N_CLEAR


def check_part(function: str, got: list[Any], part: Partition, *, exact: bool) -> bool:
    """Whether the indices of a clustering were compared, and not only its counts."""
    wanted = oracle_rows(function, part)
    if not part.n:
        assert_points(got, wanted)
        return False
    without = undecided(part)
    delicate = oracle.is_delicate(part, exact=exact)
    if delicate:
        # nothing that may depend on rounding
        without = set(wanted[0]) - {*oracle.COUNTS, "cluster"}
    assert_points(got, wanted, tolerance=1e-9, floor=1e-13, without=without, what=part.measure)
    return is_clustering(part) and not delicate


# Sets of points whose indices do not depend on rounding, each a case of one call.
PLAIN = [
    frame_of_sets([rows])
    for rows in random_sets("plain", 10, 2, quarter, nulls=True, accept=is_sound)
]
DEEP_SETS = random_sets("deep", 10, 3, quarter, nulls=True, accept=is_sound)
DEEP = [frame_of_sets([rows]) for rows in DEEP_SETS]


@cache
def rows_of_deep(engine: str, function: str) -> list[list[Row]]:
    return call_by_case(engines.make(engine), function, DEEP)


def check_deep(engine: Engine, function: str, others: list[pl.DataFrame], vector: Any) -> None:
    """The same rows from other forms of the vectors of DEEP."""
    got = call_by_case(engine, function, others, vector)
    for mine, wanted in zip(got, rows_of_deep(engine.name, function), strict=True):
        assert_points(mine, wanted, tolerance=1e-9, floor=1e-13, what=function)


@pytest.mark.parametrize("function", FUNCTIONS)
@SEEDS
@SEED
def test_the_order_of_rows_does_not_matter(engine: Engine, function: str, seed: int) -> None:
    sets = random_sets(seed, 10, 2, quarter, nulls=True, accept=is_sound)
    rng = random.Random(seed)
    shuffled = [rng.sample(rows, len(rows)) for rows in sets]
    wanted, got = (
        call_by_case(engine, function, [frame_of_sets([rows]) for rows in several])
        for several in (sets, shuffled)
    )
    for mine, theirs in zip(got, wanted, strict=True):
        assert_points(mine, theirs, tolerance=1e-9, floor=1e-13)


@pytest.mark.gate
@SEEDS
@SEED
def test_the_names_of_clusters_do_not_matter(engine: Engine, seed: int) -> None:
    sets = random_sets(seed, 10, 2, quarter, nulls=True, accept=is_sound)
    frames = [frame_of_sets([rows]) for rows in sets]
    renamed = [frame.with_columns(cluster=1000 - pl.col("cluster")) for frame in frames]
    for function in ("internal_report", "neighbor_report", "internal_cluster_report"):
        wanted, got = (call_by_case(engine, function, of) for of in (frames, renamed))
        for mine, theirs in zip(got, wanted, strict=True):
            if function == "internal_cluster_report":
                mine.reverse()
                for row in mine:
                    for name in ("cluster", "nearest_cluster"):
                        row[name] = None if row[name] is None else 1000 - row[name]
            assert_points(mine, theirs, tolerance=1e-9, floor=1e-13, what=function)


@pytest.mark.parametrize("function", FUNCTIONS)
@SEEDS
@SEED
def test_a_partition_is_a_filter(engine: Engine, function: str, seed: int) -> None:
    """On this one rests the other tests' scoring of many sets as partitions of one call."""
    keys = [None, "a", "b"]
    sets = random_sets(seed, 3, 2, quarter, nulls=True, accept=is_sound)
    frame = pl.concat(
        frame_of_sets([rows]).with_columns(run=pl.lit(key, pl.String))
        for key, rows in zip(keys, sets, strict=True)
    ).sample(fraction=1, shuffle=True, seed=1)
    got = call(engine, function, frame, partition_by="run")
    got.sort(key=lambda row: keys.index(row["run"]))
    wanted = []
    for key in keys:
        alone = call(engine, function, frame.filter(pl.col("run").eq_missing(pl.lit(key))))
        wanted += [{"run": key} | row for row in alone]
    assert_points(got, wanted, tolerance=1e-9, floor=1e-13, what=function)


@pytest.mark.gate
def test_several_partition_columns(engine: Engine) -> None:
    rows: Rows = [([float(i * i % 7), float(i % 5)], i % 3) for i in range(24)]
    keys = [(i % 2, ["mon", None][i // 12]) for i in range(24)]
    frame = frame_of_sets([rows]).with_columns(
        pl.Series("the run", [run for run, _ in keys]),
        pl.Series("day", [day for _, day in keys], dtype=pl.String),
    )
    for function in FUNCTIONS:
        got = call(engine, function, frame, partition_by=["the run", "day"])
        for key in set(keys):
            part = part_of([row for row, other in zip(rows, keys, strict=True) if other == key])
            names = dict(zip(["the run", "day"], key, strict=True))
            wanted = [names | row for row in oracle_rows(function, part)]
            mine = [row for row in got if (row["the run"], row["day"]) == key]
            without = undecided(part)
            assert_points(mine, wanted, tolerance=1e-9, floor=1e-13, without=without)


def first_of_each(forms: Any) -> list[Any]:
    """All forms for internal_report, one for the other functions; the rest is wide."""
    pairs = []
    for i, form in enumerate(forms):
        for j, function in enumerate(FUNCTIONS):
            wide = function != "internal_report" and i != j % len(forms)
            marks = [pytest.mark.wide] if wide else []
            pairs.append(pytest.param(form, function, marks=marks))
    return pairs


FORMS: dict[str, Any] = {
    "List of Float32": pl.List(pl.Float32),
    "Array": pl.Array(pl.Float64, 3),
    "Array of Float32": pl.Array(pl.Float32, 3),
}


@pytest.mark.parametrize(("form", "function"), first_of_each(FORMS))
def test_forms_of_a_vector(engine: Engine, form: str, function: str) -> None:
    others = [frame.with_columns(pl.col("vector").cast(FORMS[form])) for frame in DEEP]
    check_deep(engine, function, others, "vector")


WIDE: dict[str, list[Any]] = {
    "Float64": [pl.Float64] * 3,
    "Float32": [pl.Float32] * 3,
    "Decimal": [pl.Decimal(10, 2)] * 3,
    "mixed": [pl.Float64, pl.Float32, pl.Decimal(10, 2)],
}


@pytest.mark.parametrize(("form", "function"), first_of_each(WIDE))
def test_wide_columns(engine: Engine, form: str, function: str) -> None:
    """A row where all are NULL is a row without a vector."""
    others = [wide(rows, WIDE[form]) for rows in DEEP_SETS]
    check_deep(engine, function, others, ["x", "y", "z"])


def wide(rows: Rows, types: list[Any]) -> pl.DataFrame:
    frame = frame_of_sets([rows])
    coordinates = [
        pl.col("vector").list.get(i, null_on_oob=True).cast(dtype).alias(name)
        for i, (name, dtype) in enumerate(zip("xyz", types, strict=True))
    ]
    return frame.select(*coordinates, "cluster", "run")


INTEGERS = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_numbers(engine: Engine, dtype: Any) -> None:
    rows: Rows = [([float(i * i % 11), float(i % 7), float(100 + i)], i % 3) for i in range(20)]
    part = part_of(rows)
    nested = frame_of_sets([rows]).with_columns(pl.col("vector").cast(pl.List(dtype)))
    for function, frame, vector in (
        ("internal_report", nested, "vector"),
        ("centroids", wide(rows, [dtype] * 3), ["x", "y", "z"]),
    ):
        got = call(engine, function, frame, vector)
        assert_points(got, oracle_rows(function, part), tolerance=1e-9, floor=1e-13)


TYPES = ["DOUBLE[3]", "FLOAT[3]", "INTEGER[3]", "DOUBLE[]", "FLOAT[]", "INTEGER[]", "HUGEINT[]"]


@pytest.mark.gate
@pytest.mark.parametrize(
    "function", ["centroids", pytest.param("internal_report", marks=pytest.mark.wide)]
)
def test_forms_in_sql(con: duckdb.DuckDBPyConnection, function: str) -> None:
    """DuckDB's own ARRAY and LIST types; centroids is the cheapest of the tables that read them."""
    con.execute(
        "CREATE TEMP TABLE raw AS SELECT (i * i) % 11 AS x, i % 7 AS y, 100 + i AS z, i % 3 AS c "
        "FROM range(20) AS t(i)"
    )
    wanted = engines.fetched(con, f"FROM clustereval.{function}(raw, [x, y, z], c)")
    for name in [*TYPES, "DECIMAL(10,2)[]", "DECIMAL(18,3)[3]", "UTINYINT[]"]:
        con.execute(
            "CREATE OR REPLACE TEMP TABLE typed AS "
            f"SELECT CAST([x, y, z] AS {name}) AS v, c FROM raw"
        )
        got = engines.fetched(con, f"FROM clustereval.{function}(typed, v, c)")
        assert_points(got, wanted, tolerance=1e-9, what=name)


def test_expressions_and_selectors() -> None:
    flat = [[(None if v is None else v[:2], c) for v, c in rows] for rows in DEEP_SETS[:3]]
    for rows in flat:
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
@SEEDS
@SEED
def test_a_shift_changes_nothing(engine: Engine, distance: str, center: str, seed: int) -> None:
    measure = Measure(distance, 3, center)

    def is_decided(rows: Rows) -> bool:
        return is_sound(rows, measure) and not undecided(part_of(rows, measure), within=1e-6)

    sets = random_sets((seed, distance), 8, 2, quarter, accept=is_decided)
    moved = [
        frame_of_sets([[(None if v is None else [x + 1e8 for x in v], c) for v, c in rows]])
        for rows in sets
    ]
    for function in ("internal_report", "neighbor_report"):
        several = call_by_case(engine, function, moved, **arguments_of(measure))
        for got, rows in zip(several, sets, strict=True):
            wanted = oracle_rows(function, part_of(rows, measure))
            # Wemmert-Gançarski's index takes sums near n from n
            assert_points(got, wanted, tolerance=1e-6, floor=1e-8, what=(function, distance))


def test_weights_are_factors(engine: Engine) -> None:
    """A weight w is a factor w^(1/p): 4 doubles a coordinate under euclidean, 8 where p is 3."""
    cases: list[tuple[Measure, float, float]] = [
        (Measure("euclidean"), 4, 2),
        (Measure("cityblock"), 4, 4),
        (Measure("cosine"), 4, 2),
        (Measure("minkowski", 3), 8, 2),
    ]
    for measure, weight, factor in cases:
        scaled: Rows = [([v[0] * factor, v[1]], c) for v, c in MOD if v is not None]
        how: dict[str, Any] = {"distance": measure.distance, "weights": [weight, 1]}
        how |= {"p": 3} if measure.distance == "minkowski" else {}
        for function in ("internal_report", "neighbor_report"):
            wanted = oracle_rows(function, part_of(scaled, measure))
            got = call(engine, function, frame_of_sets([MOD]), **how)
            assert_points(got, wanted, tolerance=1e-9, what=(function, measure.distance))


# Each distance and each function, and cosine, which is a case of its own, with both.
SOME_CASES = [
    *(("internal_report", distance) for distance in ("sqeuclidean", "minkowski", "cosine")),
    *(("centroids", distance) for distance in ("euclidean", "cityblock", "chebyshev", "cosine")),
]
EVERY_CASE = [
    (function, distance) for distance in DISTANCES for function in ("internal_report", "centroids")
]


@pytest.mark.gate
@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(SOME_CASES, id="some"),
        pytest.param(EVERY_CASE, id="every", marks=pytest.mark.wide),
    ],
)
def test_distances_in_any_letter_case(side: Engine, cases: list[tuple[str, str]]) -> None:
    for function, distance in cases:
        wanted = oracle_rows(function, part_of(MOD, Measure(distance, 3)))
        got = call(side, function, frame_of_sets([MOD]), distance=distance.title(), p=3)
        assert_points(got, wanted, tolerance=1e-9, floor=1e-13, what=(function, distance))


def test_minkowski_of_known_orders(engine: Engine) -> None:
    for distance, p in (("cityblock", 1), ("euclidean", 2)):
        wanted = oracle_rows("internal_report", part_of(MOD, Measure(distance)))
        how = {"distance": "minkowski", "p": p}
        got = one(engine, "internal_report", frame_of_sets([MOD]), **how)
        without = oracle.OF_TOTAL
        assert_points([got], wanted, tolerance=1e-9, without=without)
        assert [got[name] for name in without] == [None] * 4


def test_a_lazy_frame_gives_the_same_in_memory() -> None:
    lazy = frame_of_sets([MOD, MOD[:7]]).lazy()
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


@pytest.mark.parametrize(
    ("name", "function"),
    [
        pytest.param(
            name,
            function,
            marks=[] if function == "internal_cluster_report" or i == 0 else [pytest.mark.wide],
        )
        for i, name in enumerate(CLUSTER_TYPES)
        for function in ("internal_cluster_report", "internal_report", "neighbor_report")
    ],
)
def test_clusters_of_any_type(engine: Engine, name: str, function: str) -> None:
    """One value of cluster a row of the report, and the nearest one by name."""
    series = CLUSTER_TYPES[name]
    frame = pl.DataFrame({"x": [0.0, 2.0, 9.0, 20.0, 30.0], "cluster": series})
    codes = [str(value) for value in frame["cluster"].to_list()]
    part = Partition([[x] for x in frame["x"]], codes, EUCLIDEAN)
    rows, wanted = call(engine, function, frame, ["x"]), oracle_rows(function, part)
    if function == "internal_cluster_report":
        for row in rows:
            for column in ("cluster", "nearest_cluster"):
                row[column] = shown_cluster(row[column])
        # the clusters in order of their values, not of their text
        rows, wanted = (sorted(of, key=lambda row: row["cluster"]) for of in (rows, wanted))
    assert_points(rows, wanted, what=name)


def shown_cluster(value: Any) -> str | None:
    if value is None:
        return None
    return str(list(value)) if isinstance(value, tuple) else str(value)


# Names ---------------------------------------------------------------------------------------

INNER, WITH = sql_names("vectors", "distances", "moments", "centroids", "scatter", "report")
ODD = ['a "quoted" name', "it's", "two words", "größe", "🦆", "select", "GROUP", " ", "a.b", "$1"]
ODD += ["*", "^.*$"]
PARAMETERS = ["tbl", "vector", "distance", "p", "center", "partition_by", "noise", "noise_as"]
PARAMETERS += ["weights", "x", "y", "len", "list", "row", "block_offset", "dims", "norm", "fault"]
POLARS_INNER = [
    *("x_0", "c_0", "g_0", "m_0", "o_0", "v_0", "other_c_0", "raw_x_0", "key_0", "kept", "number"),
    *("singleton_no", "complete", "noisy", "has_vector", "length", "size", "own_distance"),
    "n_invalid",
    *("overall_distance", "overall_distances", "distances", "radius", "rows", "row", "least"),
    *("most_gap", "gap", "own", "other", "density_radius", "lower_number", "higher_number"),
    *("other_number", "own_is_lower", "near_midpoint", "literal", "point_number", "mean_distance"),
]
NAMED: Rows = [([0.0, 0.0], 0), ([2.0, 0.0], 0), ([9.0, 0.0], 1), ([9.0, 4.0], 1)]
NAMED_FRAME = wide([([*(v or []), 0.0], c) for v, c in NAMED], [pl.Float64] * 3)
COLUMNS = list(dict.fromkeys([*ODD, *PARAMETERS, *POLARS_INNER]))


def test_there_are_inner_names() -> None:
    assert len(INNER) > 50
    assert len(WITH) > 20
    assert {"clusters", "overall"} <= set(WITH)


@pytest.mark.gate
@pytest.mark.parametrize("function", FUNCTIONS)
def test_columns_of_any_name(side: Engine, function: str) -> None:
    """As a coordinate, cluster and key; every function has a fourth of the names."""
    names = COLUMNS[FUNCTIONS.index(function) :: 4]
    assert_columns(side, function, NAMED_FRAME, names, oracle_rows(function, part_of(NAMED)))


@pytest.mark.wide
@pytest.mark.parametrize("function", FUNCTIONS)
def test_columns_of_every_name(side: Engine, function: str) -> None:
    wanted = oracle_rows(function, part_of(NAMED))
    # a key may not be named like a result
    names = [name for name in [*COLUMNS, *INNER] if name not in {*wanted[0], "cluster"}]
    assert_columns(side, function, NAMED_FRAME, names, wanted, n_calls=30)


@pytest.mark.gate
def test_columns_named_like_inner_ones_of_sql() -> None:
    wanted = oracle_rows("internal_report", part_of(NAMED))
    assert_columns(engines.make("duckdb"), "internal_report", NAMED_FRAME, INNER, wanted)


@pytest.mark.gate
@pytest.mark.parametrize("function", ["internal_cluster_report"])
def test_singletons_beside_columns_named_like_their_number(side: Engine, function: str) -> None:
    names = ["singleton_no", "__ce_row", "__ce_cluster", "number", "row_no", "a"]
    noise = {"noise": 0, "noise_as": "singletons"}
    wanted = oracle_rows(function, part_of(NAMED, **noise))
    assert_columns(side, function, NAMED_FRAME, names, wanted, **noise)


@pytest.mark.gate
@each_table
@pytest.mark.parametrize("function", FUNCTIONS)
def test_tables_of_any_name(
    con: duckdb.DuckDBPyConnection, function: str, one_by_one: bool
) -> None:
    names = [*ODD, *PARAMETERS, *WITH]
    assert_tables(con, function, NAMED_FRAME, names, "[x, y], cluster", one_by_one=one_by_one)
