"""Bad points and options: the same words on both sides, raised when the rows are read."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_clustereval as ce
from tests.support.doors import refused, refused_values
from tests.support.engines import DuckDB, Engine, column_sql, fails, literal, make, quoted
from tests.support.point_engines import FUNCTIONS, call, call_by_case
from tests.support.point_faults import (
    FAULTS,
    FINITE,
    INFINITY,
    MEND,
    NAN,
    OVERFLOW,
    SOME,
    crossed,
    vectors,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME = pl.DataFrame(
    {
        "x": [0.0, 2.0, 9.0, 9.0],
        "y": [0.0, 0.0, 0.0, 4.0],
        "cluster": [0, 0, 1, -1],
        "run": [1, 1, 2, 2],
        "text": ["0 0", "1,1", "p", "q"],
        "texts": [["0", "0"]] * 4,
    }
)
WIDE = ["x", "y"]


# Points

MEASURES: list[dict[str, Any]] = [
    *({"distance": name} for name in ("sqeuclidean", "cityblock", "chebyshev", "cosine")),
    {"distance": "minkowski", "p": 3},
    {"center": "median"},
    {"weights": [1, 2]},
]


def functions_of(side: Engine) -> tuple[str, ...]:
    """What is asked with every fault: in SQL one table, since all have the same checks."""
    return FUNCTIONS[:1] if isinstance(side, DuckDB) else FUNCTIONS


def deferred_call(
    side: Engine, function: str, *given: Any, **arguments: Any
) -> Callable[[], object]:
    return partial(call, side, function, *given, **arguments)


def test_a_point_at_fault(side: Engine) -> None:
    for function in functions_of(side):
        for fault, (rows, words) in FAULTS.items():
            refused(
                side, words, f"{function}, {fault}", deferred_call(side, function, vectors(*rows))
            )


@pytest.mark.each
@pytest.mark.parametrize("function", FUNCTIONS[1:])
def test_a_table_in_sql_refuses_what_its_checks_refuse(function: str) -> None:
    """One fault of each check: the planner leaves out a check whose result the table ignores."""
    duck, empty = make("duckdb"), FRAME.clear()
    rows, words = FAULTS["shorter"]
    for message, asked in (
        (words, deferred_call(duck, function, vectors(*rows))),
        (f"{COUNT} 1", deferred_call(duck, function, FRAME, WIDE, weights=[1])),
        (
            "distance: expected one of",
            deferred_call(duck, function, empty, WIDE, distance="manhattan"),
        ),
        ("vector: expected a list or", deferred_call(duck, function, empty, "text")),
    ):
        refused(duck, message, function, asked)
    quoted_cluster = f"FROM clustereval.{function}(assignments, [x, y], 'it')"
    words = "cluster: expected a column, got the quoted string 'it'"
    refused(duck, words, function, lambda: duck.rows(quoted_cluster, empty))  # type: ignore[union-attr]


#: Calls of the tables of points that are not among FUNCTIONS, with the vector to be filled in.
OTHER_CALLS = (
    "cluster_states(t, {}, cluster)",
    "elbow(t, {}, cluster, k)",
    "uniform_reference(t, {})",
    "assign_nearest(t, {}, centers)",
    "cross_validation(t, {}, cluster, fold, centers)",
    "column_stability(t, {}, cluster, cluster, removed)",
)


@pytest.mark.parametrize("query", OTHER_CALLS)
def test_other_tables_in_sql_check_the_columns_of_no_rows(
    con: duckdb.DuckDBPyConnection, query: str
) -> None:
    numbers = {"cluster": 1, "k": 2, "fold": 1, "removed": 1, "text": "a"}
    con.register("t", FRAME.select("x", **{name: pl.lit(x) for name, x in numbers.items()}).clear())
    con.register("centers", pl.DataFrame({"cluster": [1], "centroid": [[0.0]], "fold": [1]}))
    con.execute(f"FROM clustereval.{query.format('[x]')}").fetchall()
    for vector, words in (("text", "a list or array of numbers"), ("'x'", "a column, got")):
        with pytest.raises(duckdb.Error, match=f"vector: expected {words}"):
            con.execute(f"FROM clustereval.{query.format(vector)}").fetchall()


@pytest.mark.wide
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("function", FUNCTIONS[1:])
def test_a_point_at_fault_in_every_table_in_sql(fault: str, function: str) -> None:
    rows, words = FAULTS[fault]
    refused(make("duckdb"), words, fault, deferred_call(make("duckdb"), function, vectors(*rows)))


@pytest.mark.parametrize(
    ("fault", "measure"), crossed(["NaN", "NULL", "infinite", "shorter", "empty"], MEASURES)
)
def test_a_point_at_fault_under_every_distance(
    side: Engine, fault: str, measure: dict[str, Any]
) -> None:
    rows, words = FAULTS[fault]
    for function in functions_of(side)[:2]:
        refused(side, words, function, deferred_call(side, function, vectors(*rows), **measure))


@pytest.mark.wide
@pytest.mark.parametrize("fault", ["NaN", "NULL", "infinite", "shorter", "empty"])
def test_a_point_at_fault_under_every_distance_in_a_report(fault: str) -> None:
    rows, words = FAULTS[fault]
    for measure in MEASURES[:: 1 if fault == "NaN" else len(MEASURES) - 1]:
        asked = deferred_call(make("duckdb"), "internal_report", vectors(*rows), **measure)
        refused(make("duckdb"), words, str(measure), asked)


def test_the_first_value_of_two_in_a_column(side: Engine) -> None:
    """The least, whatever the order of the rows, which SQL does not define."""
    with fails(side, f"{FINITE} -inf in coordinate 1 (2 rows are at fault)"):
        call(side, "internal_report", vectors([NAN, 1.0], [-INFINITY, 1.0]))
    with fails(side, f"{FINITE} -inf in coordinate 1 (2 rows are at fault)"):
        call(side, "internal_report", vectors([-INFINITY, 1.0], [NAN, 1.0]))


@pytest.mark.parametrize("value", [None, NAN, INFINITY])
def test_wide_columns_at_fault(side: Engine, value: float | None) -> None:
    got = "NULL" if value is None else value
    frame = FRAME.with_columns(y=pl.Series([0.0, value, value, 4.0]))
    with fails(side, f"{FINITE} {got} in column y (2 rows are at fault); {MEND}"):
        call(side, "internal_report", frame, WIDE)


def test_only_empty_vectors(side: Engine) -> None:
    frame = pl.DataFrame(
        {"vector": [[], []], "cluster": [0, 1]},
        {"vector": pl.List(pl.Float64), "cluster": pl.Int64},
    )
    words = f"{SOME} (2 rows are at fault); {MEND}"
    for function in functions_of(side):
        refused(side, words, function, deferred_call(side, function, frame))


def test_rows_left_out_are_not_at_fault(side: Engine) -> None:
    """Neither of no cluster nor of dropped noise, whatever their vectors are."""
    left_out: list[list[float]] = [[NAN, 1.0], [], [1.0, 2.0, 3.0], [1.0]]
    dropped, noisy = (
        [vectors(vector).with_columns(cluster=pl.Series([0, 0, 1, cluster])) for vector in left_out]
        for cluster in (None, -1)
    )
    found = call_by_case(side, "internal_report", dropped)
    [alone] = call(side, "internal_report", dropped[0])
    for vector, [row] in zip([*left_out, left_out[0]], [*found, [alone]], strict=True):
        assert (row["n"], row["n_dropped"], row["n_dims"]) == (3, 1, 2), vector
    found = call_by_case(side, "internal_report", noisy, noise=-1, noise_as="drop")
    for vector, [row] in zip(left_out, found, strict=True):
        assert (row["n"], row["n_noise"], row["n_dims"]) == (3, 1, 2), vector


def test_lengths_that_differ_between_partitions(side: Engine) -> None:
    """Vectors must have one length in the whole column, not only in a partition."""
    frame = pl.DataFrame(
        {
            "vector": [[1.0], [2.0], [1.0, 2.0], [3.0, 4.0]],
            "cluster": [0, 1, 0, 1],
            "run": [1, 1, 2, 2],
        }
    )
    with fails(
        side, "vectors of one length (2), got 1 coordinates (2 rows are at fault, the first"
    ):
        call(side, "internal_report", frame, partition_by="run")


@pytest.mark.parametrize(
    ("distance", "function"),
    crossed(
        ["euclidean", "sqeuclidean", "cosine", "minkowski"],
        ["centroids", "internal_report", "neighbor_report"],
    ),
)
def test_distances_that_overflow(side: Engine, distance: str, function: str) -> None:
    frame = vectors([1e200, 1e200], [-1e200, 1e200], [0.0, 1e200])
    with fails(side, OVERFLOW):
        call(side, function, frame, distance=distance)


@pytest.mark.parametrize("distance", ["cityblock", "chebyshev"])
def test_sums_that_overflow(side: Engine, distance: str) -> None:
    """The distances fit, their squares do not: an error, no infinity and no NaN."""
    frame = vectors([1e200, 1e200], [-1e200, 1e200], [0.0, 1e200])
    with fails(side, OVERFLOW):
        call(side, "internal_report", frame, distance=distance)


@pytest.mark.parametrize(("value", "function"), crossed([math.inf, math.nan], FUNCTIONS))
@pytest.mark.parametrize("dims", [2, pytest.param(40, marks=pytest.mark.wide)])
def test_a_coordinate_at_fault_beside_zero_vectors(
    side: Engine, function: str, value: float, dims: int
) -> None:
    """From a zero vector all cosine distances are 1, but not those of a vector that is none."""
    zero = [0.0] * dims
    rows = [zero, zero, [1.0, value, *zero[2:]], zero]
    frame = pl.DataFrame({"vector": rows, "cluster": [0, 0, 0, 1]})
    words = f"vector: expected finite numbers, got {value} in coordinate 2 (1 row is at fault)"
    options = {} if function == "determinant_report" else {"distance": "cosine"}
    with fails(side, words):
        call(side, function, frame, **options)


# Vectors that are none


OTHER_TYPES = {"text": "VARCHAR", "texts": "VARCHAR[]", "x": "DOUBLE", "cluster": "BIGINT"}


FRAMES = {"rows": FRAME, "no rows": FRAME.clear()}


def reader(
    side: Engine, frame: pl.DataFrame, vector: Any, **arguments: Any
) -> dict[str, Callable[[], object]]:
    """What refuses vectors and noise of a wrong type: in SQL the macro that checks the columns."""
    if isinstance(side, DuckDB):
        query = arguments_sql(column_sql(vector), noise=literal(arguments.get("noise")))
        return {query: partial(side.rows, query, frame)}
    return {name: deferred_call(side, name, frame, vector, **arguments) for name in FUNCTIONS}


def arguments_sql(vector: str = "[x, y]", **given: str) -> str:
    columns = {"cluster": "cluster", "partition_by": "NULL", "noise": "NULL"} | given
    given = f"{vector}, {columns['cluster']}, {columns['partition_by']}, {columns['noise']}"
    return f"FROM clustereval._point_arguments(assignments, {given})"


@pytest.mark.parametrize("rows", FRAMES)
def test_a_vector_of_another_type(side: Engine, rows: str) -> None:
    for vector, got in OTHER_TYPES.items():
        words = f"vector: expected a list or array of numbers, such as [x, y, z], got {got}"
        hint = "; parse_vector makes one from text"
        for name, asked in reader(side, FRAMES[rows], vector).items():
            message = refused(side, words, name, asked)
            assert (hint in message) == (vector == "text"), name


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("text", ("VARCHAR[", "String")),
        ("flag", ("BOOLEAN[", "Boolean")),
        ("day", ("DATE", "Date")),
    ],
)
def test_a_wide_column_of_another_type(side: Engine, name: str, types: tuple[str, str]) -> None:
    frame = FRAME.with_columns(flag=pl.lit(True), day=pl.date(2024, 1, 1))
    got = types[side.name != "duckdb"]
    words = f"vector: expected a list or array of numbers, such as [x, y, z], got {got}"
    for what, asked in reader(side, frame, [name]).items():
        assert "parse_vector" not in refused(side, words, what, asked)


def test_text_among_columns_in_sql(side: Engine) -> None:
    """DuckDB has made one list of the columns, so its error cannot name the one of text."""
    words = "got VARCHAR[]" if side.name == "duckdb" else "column 'text' is VARCHAR; give several"
    with fails(side, words) as raised:
        call(side, "internal_report", FRAME, ["text", "text"])
    assert "parse_vector" not in str(raised.value)


MIXED: dict[str, tuple[Any, str]] = {
    "last": (["x", "y", "text"], "column 'text' is String"),
    "first of two": (["text", "texts"], "column 'text' is String"),
    "a list among numbers": (["x", "texts"], "column 'texts' is List(String)"),
    "an expression": ([pl.col("x"), pl.col("text") + "0"], "column 'text' is String"),
    "an alias": ([pl.col("x"), pl.col("text").alias("z")], "column 'z' is String"),
    "all": (pl.all(), "column 'text' is String"),
    "a selector": (pl.selectors.exclude("texts"), "column 'text' is String"),
    "columns in one expression": (pl.col("x", "text"), "column 'text' is String"),
}


@pytest.mark.parametrize("case", MIXED)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_column_that_is_no_number_is_named(function: str, case: str) -> None:
    vector, words = MIXED[case]
    words = f"vector: expected numbers, {words}; give several columns of numbers, or one of lists"
    for frame in (FRAME, FRAME.clear(), FRAME.lazy()):
        with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
            getattr(ce, function)(frame, vector, "cluster")


def test_no_columns() -> None:
    for vector in ([], pl.selectors.matches("^nothing$"), pl.selectors.by_dtype(pl.Int8)):
        with pytest.raises(
            ce.ClusterEvalError, match="vector: expected at least one column, got none"
        ):
            ce.internal_report(FRAME, vector, "cluster")


def test_what_is_no_column() -> None:
    with pytest.raises(ce.ClusterEvalError, match=r"vector: expected column names .*, got int"):
        ce.internal_report(FRAME, ["x", 1], "cluster")  # type: ignore[list-item]
    with pytest.raises(ce.ClusterEvalError, match=r"cluster: expected a column name .*, got int"):
        ce.internal_report(FRAME, ["x"], 1)  # type: ignore[arg-type]
    with pytest.raises(ce.ClusterEvalError, match=r"frame: expected a Polars DataFrame .* str"):
        ce.internal_report("points", ["x"], "cluster")  # type: ignore[type-var]


def test_clusters_that_cannot_be_grouped() -> None:
    frame = FRAME.with_columns(cluster=pl.Series([object()] * 4, dtype=pl.Object))
    for function in ("centroids", "internal_cluster_report"):
        with pytest.raises(ce.ClusterEvalError, match="cluster: a column of type Object cannot"):
            getattr(ce, function)(frame, WIDE, "cluster")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("parameter", "vector", "cluster", "key", "name", "twin"),
    [
        ("vector", ["x", "textt"], "cluster", "run", "textt", "text"),
        ("vector", "textt", "cluster", "run", "textt", "text"),
        ("cluster", ["x", "y"], "clusters", "run", "clusters", "cluster"),
        ("partition_by", ["x", "y"], "cluster", "runs", "runs", "run"),
    ],
)
def test_a_misspelt_column(
    side: Engine,
    function: str,
    parameter: str,
    vector: Any,
    cluster: str,
    key: str,
    name: str,
    twin: str,
) -> None:
    words = name if side.name == "duckdb" else f"{parameter}: column '{name}' not found"
    with fails(side, words) as raised:
        call(side, function, FRAME, vector, cluster, partition_by=key)
    assert re.search(f"'{twin}'|\"{twin}\"", str(raised.value))


@pytest.fixture
def point_tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.register("points", FRAME)
    con.register("nothing", FRAME.clear())
    return con


@pytest.mark.parametrize("rows", FRAMES)
def test_a_quoted_column(con: duckdb.DuckDBPyConnection, rows: str) -> None:
    con.register("assignments", FRAMES[rows])
    for parameter in ("vector", "cluster", "partition_by"):
        words = f"{parameter}: expected a column, got the quoted string 'run'; write it without"
        with pytest.raises(duckdb.Error, match=re.escape(words)):
            con.execute(arguments_sql(**{parameter: "'run'"})).fetchall()


def test_quoted_columns_in_a_list(point_tables: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match=r"vector: expected .*got VARCHAR\["):
        point_tables.execute("FROM clustereval.internal_report(points, ['x', 'y'], cluster)")


# Options

FINE = "weights: expected a number > 0 for each dimension, got"
COUNT = "weights: expected one for each of 2 dimensions, got"
SIX = "'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'"
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown distance": (
        {"distance": "manhattan"},
        f"distance: expected one of {SIX}, got 'manhattan'; did you mean 'cityblock'?",
    ),
    "no distance": ({"distance": None}, "'minkowski', 'cosine', got NULL"),
    "distances of the user": (
        {"distance": "precomputed"},
        (
            "got 'precomputed'; pass a table of pairs to silhouette_score_from_distances, "
            "dunn_index_from_distances or pairwise_report_from_distances"
        ),
    ),
    "an encoded distance": (
        {"distance": "Hamming"},
        "got 'Hamming'; the page on distances (docs/distances.md) shows what to write for it",
    ),
    "p below 1": ({"distance": "minkowski", "p": 0.5}, "p: expected a number >= 1, got 0.5"),
    "p 0": ({"p": 0}, "p: expected a number >= 1, got 0"),
    "no p": ({"distance": "minkowski", "p": None}, "p: expected a number >= 1, got NULL"),
    "p NaN": ({"distance": "minkowski", "p": NAN}, "p: expected a number >= 1, got nan"),
    "p infinite": ({"distance": "minkowski", "p": INFINITY}, "p: expected a number >= 1, got inf"),
    "unknown center": (
        {"center": "medoid"},
        "center: expected one of 'mean', 'median', got 'medoid'",
    ),
    "no center": ({"center": None}, "center: expected one of 'mean', 'median', got NULL"),
    "weights negative": ({"weights": [1, -2]}, f"{FINE} [1, -2]"),
    "weights 0": ({"weights": [0.0, 1.0]}, f"{FINE} [0.0, 1.0]"),
    "weights NaN": ({"weights": [1.0, NAN]}, f"{FINE} [1.0, nan]"),
    "weights infinite": ({"weights": [1.0, INFINITY]}, f"{FINE} [1.0, inf]"),
    "weights NULL": ({"weights": [1.0, None]}, f"{FINE} [1.0, NULL]"),
    "weights of chebyshev": (
        {"distance": "chebyshev", "weights": [1, 1]},
        "weights: chebyshev takes none; scale the coordinates instead",
    ),
    "noise of another type": (
        {"noise": "none", "noise_as": "drop"},
        "noise: expected a value of the type of cluster (BIGINT), got 'none' (VARCHAR)",
    ),
    "a fraction as noise": (
        {"noise": 1.5, "noise_as": "drop"},
        "noise: expected a value of the type of cluster (BIGINT), got '1.5' (",
    ),
    "unknown noise_as": (
        {"noise": -1, "noise_as": "keep"},
        "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'keep'",
    ),
    "unknown missing": (
        {"missing": "skip"},
        "missing: expected one of 'error', 'drop', got 'skip'",
    ),
    "noise_as of no noise": (
        {"noise_as": "drop"},
        "noise_as 'drop' needs noise: give the value of cluster that marks noise",
    ),
}


DEFAULTS: dict[str, Any] = {
    "distance": "euclidean",
    "p": 2,
    "center": "mean",
    "weights": None,
    "noise": None,
    "noise_as": None,
    "missing": "error",
}


@pytest.mark.parametrize("rows", FRAMES)
def test_a_bad_option(side: Engine, rows: str) -> None:
    for option, (arguments, words) in OPTIONS.items():
        if not isinstance(side, DuckDB):
            for function in FUNCTIONS:
                asked = deferred_call(side, function, FRAMES[rows], WIDE, **arguments)
                refused(side, words, f"{function}, {option}", asked)
        elif words.startswith("noise: "):
            [(query, asked)] = reader(side, FRAMES[rows], WIDE, **arguments).items()
            refused(side, words, query, asked)
        else:
            values = (DEFAULTS | arguments).values()
            refused_values(side, words, "_valid_point_options", *values)


@pytest.mark.wide
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_bad_option_of_every_table_in_sql(option: str, function: str) -> None:
    arguments, words = OPTIONS[option]
    for rows in [FRAME] if words.startswith("noise: ") else FRAMES.values():
        asked = deferred_call(make("duckdb"), function, rows, WIDE, **arguments)
        refused(make("duckdb"), words, option, asked)


MISCOUNTED = {"too few": [1], "too many": [1, 1, 1]}


@pytest.mark.parametrize(
    ("distance", "weights"),
    crossed(["euclidean", "cityblock", "minkowski", "cosine"], MISCOUNTED),
)
def test_another_number_of_weights(side: Engine, weights: str, distance: str) -> None:
    given = MISCOUNTED[weights]
    for function in functions_of(side):
        asked = deferred_call(side, function, FRAME, WIDE, weights=given, distance=distance)
        refused(side, f"{COUNT} {len(given)}", function, asked)


@pytest.mark.wide
@pytest.mark.parametrize("weights", MISCOUNTED)
@pytest.mark.parametrize("function", FUNCTIONS[1:])
def test_another_number_of_weights_in_every_table(function: str, weights: str) -> None:
    given = MISCOUNTED[weights]
    asked = deferred_call(make("duckdb"), function, FRAME, WIDE, weights=given, distance="cosine")
    refused(make("duckdb"), f"{COUNT} {len(given)}", function, asked)


SYNONYMS = {
    "manhattan": "cityblock",
    "Manhattan": "cityblock",
    "taxicab": "cityblock",
    "l1": "cityblock",
    "L2": "euclidean",
    "squared_euclidean": "sqeuclidean",
    "squaredEuclidean": "sqeuclidean",
    "linf": "chebyshev",
    "maximum": "chebyshev",
    "Euclid": "euclidean",
    "euclideann": "euclidean",
    "sqeuclid": "sqeuclidean",
    "chebychev": "chebyshev",
    "minkovski": "minkowski",
    "cosine_distance": "cosine",
    "cityblocks": "cityblock",
}


def refused_distance(side: Engine, words: str, name: str) -> str:
    if isinstance(side, DuckDB):
        values = (DEFAULTS | {"distance": name}).values()
        return refused_values(side, words, "_valid_point_options", *values)
    return refused(
        side, words, name, deferred_call(side, "internal_report", FRAME, WIDE, distance=name)
    )


def test_another_name_of_a_distance(side: Engine) -> None:
    for name, distance in SYNONYMS.items():
        refused_distance(side, f"got '{name}'; did you mean '{distance}'?", name)


def test_a_name_of_no_distance(side: Engine) -> None:
    for name in ("zzz", "city", "euc.*", "minced"):
        assert "did you mean" not in refused_distance(side, f"got '{name}'", name)


def test_no_weights_at_all(side: Engine) -> None:
    with fails(side, "weights: expected"):
        call(side, "internal_report", FRAME, WIDE, weights=[])


ROW_WEIGHTS = "tables of points take no weights of rows: repeat each row as often as it counts"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_column_is_not_weights_in_sql(
    point_tables: duckdb.DuckDBPyConnection, function: str
) -> None:
    for table, given in (("points", "run"), ("nothing", "[x, y]")):
        query = f"FROM clustereval.{function}({table}, [x, y], cluster, weights := {given})"
        words = f"such as [1, 2], got the column {given}; {ROW_WEIGHTS}"
        with pytest.raises(duckdb.Error, match=re.escape(words)):
            point_tables.execute(query)


def test_a_column_is_not_weights_in_python() -> None:
    """With two rows of two coordinates, weights of rows would pass as weights of coordinates."""
    two = FRAME.head(2)
    for weights in ("run", ["run", "run"], two["run"], pl.col("run")):
        with pytest.raises(ce.ClusterEvalError, match=f"got the column .*run.*; {ROW_WEIGHTS}"):
            ce.internal_report(two, WIDE, "cluster", weights=weights)  # type: ignore[arg-type]
    assert ce.internal_report(two, WIDE, "cluster", weights=two["run"].to_list()).height == 1


def test_columns_without_a_list(point_tables: duckdb.DuckDBPyConnection) -> None:
    words = "'cosine', got 'cluster'; if this is a column, write the columns of a vector as a list"
    with pytest.raises(duckdb.Error, match=re.escape(words)):
        point_tables.execute("FROM clustereval.internal_report(points, x, y, cluster)")
    with pytest.raises(TypeError, match=r"vector of several columns is a list, such as .'x', 'y'."):
        ce.internal_report(FRAME, "x", "y", "cluster")  # type: ignore[call-arg,misc]


def test_numbers_of_numpy_are_numbers() -> None:
    np = pytest.importorskip("numpy")
    wanted = ce.internal_report(FRAME, WIDE, "cluster", weights=[1, 2], distance="minkowski", p=3)
    for integer in (np.int64, np.float64, np.float32):
        how = {"weights": np.array([1, 2], dtype=integer), "p": integer(3)}
        got = ce.internal_report(FRAME, WIDE, "cluster", distance="minkowski", **how)
        assert_frame_equal(got, wanted)


RESULT_COLUMNS = {
    "centroids": ("cluster", "n", "centroid"),
    "internal_report": ("n", "n_dims", "ssw", "sd_separation"),
    "internal_cluster_report": ("cluster", "n", "nearest_cluster", "nearest_distance"),
    "neighbor_report": ("n", "n_clusters", "s_dbw_index"),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_partition_column_named_like_a_result(side: Engine, function: str) -> None:
    names = RESULT_COLUMNS[function]
    runs = [pl.col("run").alias(name) for name in names]
    if isinstance(side, DuckDB):
        # SQL calls the key partition_key.
        frame = FRAME.select("x", "y", pl.col("cluster").alias("c"), *runs)
        fields = ", ".join(map(quoted, names))
        query = f"clustereval.{function}(assignments, [x, y], c, partition_by := [{fields}])"
        rows = side.rows(f"SELECT DISTINCT partition_key AS key FROM {query} ORDER BY ALL", frame)
        assert [row["key"] for row in rows] == [[1] * len(names), [2] * len(names)]
        return
    for name, run in zip(names, runs, strict=True):
        frame = FRAME.select("x", "y", pl.col("cluster").alias("c"), run)
        words = f"partition_by: '{name}' is also a column of the result; rename it first"
        refused(
            side, words, name, deferred_call(side, function, frame, WIDE, "c", partition_by=name)
        )


# When


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("how", ["in-memory", "streaming"])
def test_a_lazy_frame_raises_when_it_is_collected(function: str, how: Any) -> None:
    for fault in ("NULL", "NaN", "shorter", "empty"):
        rows, words = FAULTS[fault]
        lazy = getattr(ce, function)(vectors(*rows).lazy(), "vector", "cluster")
        with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
            lazy.collect(engine=how)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_few_columns_of_a_result_raise_too(function: str) -> None:
    rows, words = FAULTS["NaN"]
    lazy = getattr(ce, function)(vectors(*rows).lazy(), "vector", "cluster")
    for part in (lazy.select("n"), lazy.select(pl.len()), lazy.head(1)):
        for how in ("in-memory", "streaming"):
            with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
                part.collect(engine=how)


def parts_of_results() -> list[Any]:
    """(function, fault, columns, rest of a query), of which most are wide.

    Of the report each pair of two of the others is not, of every other table one query is not.
    """
    columns, rests = ["n", "COUNT(*)", "1"], ["", " WHERE n > 99", " LIMIT 1"]
    return [
        (function, fault, column, rest)
        if i == (j + f) % 3 and (function == "internal_report" or (i, f) == (1, number % 2))
        else pytest.param(function, fault, column, rest, marks=pytest.mark.wide)
        for number, function in enumerate(FUNCTIONS)
        for f, fault in enumerate(["NaN", "shorter"])
        for i, column in enumerate(columns)
        for j, rest in enumerate(rests)
    ]


@pytest.mark.parametrize(("function", "fault", "columns", "rest"), parts_of_results())
def test_a_few_columns_in_sql_raise_too(
    con: duckdb.DuckDBPyConnection, function: str, fault: str, columns: str, rest: str
) -> None:
    rows, words = FAULTS[fault]
    con.register("bad", vectors(*rows))
    query = f"SELECT {columns} FROM clustereval.{function}(bad, vector, cluster){rest}"
    with pytest.raises(duckdb.Error, match=re.escape(words)):
        con.execute(query).fetchall()


@pytest.mark.parametrize("columns", ["COUNT(*)", pytest.param("n", marks=pytest.mark.wide)])
def test_a_bad_option_or_column_raises_whatever_is_selected(
    point_tables: duckdb.DuckDBPyConnection, columns: str
) -> None:
    for call_, words in (
        ("internal_report(points, [x, y], cluster, distance := 'x')", "distance: expected one of"),
        ("internal_report(points, x, cluster)", "vector: expected a list"),
        ("centroids(points, [x, y], 'cluster')", "cluster: expected a column"),
        (
            "neighbor_report(nothing, [x, y], cluster, noise := 'a', noise_as := 'drop')",
            "noise: expected a value",
        ),
    ):
        with pytest.raises(duckdb.Error, match=words):
            point_tables.execute(f"SELECT {columns} FROM clustereval.{call_}").fetchall()


def test_arrays_without_coordinates() -> None:
    """Polars' Array of width 0; DuckDB has none."""
    array = pl.Array(pl.Float64, 0)
    frame = pl.DataFrame({"vector": pl.Series([None], dtype=array), "cluster": [1]})
    assert ce.internal_report(frame, "vector", "cluster").row(0)[:5] == (0, 1, 0, 0, 0)
    frame = pl.DataFrame({"vector": pl.Series([[]], dtype=array), "cluster": [1]})
    with pytest.raises(ce.ClusterEvalError, match="at least one coordinate, got an empty vector"):
        ce.internal_report(frame, "vector", "cluster")


@pytest.mark.parametrize("dims", [5, 40])
def test_sums_of_squares_that_overflow(side: Engine, dims: int) -> None:
    """Each distance is a number, and their sum is none."""
    x = np.random.default_rng(1).normal(size=(50, dims)) * 3e153 / np.sqrt(dims / 5)
    frame = pl.DataFrame({"vector": list(map(list, x)), "cluster": np.arange(50) % 2})
    for function in ("internal_report", "internal_cluster_report"):
        with pytest.raises((ce.ClusterEvalError, duckdb.Error), match="distances overflow"):
            call(side, function, frame)


def test_arrays_of_decimals() -> None:
    frame = pl.DataFrame({"u": [0, 1, 5, 6], "v": [0, 1, 5, 7], "cluster": [0, 0, 1, 1]})
    decimals = pl.concat_list("u", "v").cast(pl.List(pl.Decimal(10, 2))).list.to_array(2)
    found = ce.internal_report(frame.select("cluster", vector=decimals), "vector", "cluster")
    assert found.equals(ce.internal_report(frame, ["u", "v"], "cluster"))
