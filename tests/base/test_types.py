"""Types of labels and noise values, and what is given where one column is expected."""

from __future__ import annotations

import datetime as dt
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import polars.selectors as cs
import pytest

import polars_clustereval as ce
from tests.support import point_engines
from tests.support.compare import assert_rows, assert_same
from tests.support.doors import refused, refused_labels, row_groups_sql
from tests.support.engines import DuckDB, Engine, fails, literal, make, report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Value = Any
NAN = float("nan")


# Noise values


def frame_of_clusters(clusters: list[Value], dtype: Any) -> pl.DataFrame:
    n = len(clusters)
    return pl.DataFrame(
        {"label": [i % 2 for i in range(n)], "x": [float(i * i) for i in range(n)]}
    ).with_columns(cluster=pl.Series(clusters, dtype=dtype))


NESTED: dict[str, tuple[Any, list[Value], Value, int]] = {
    "list": (pl.List(pl.Int64), [[0], [0], [1], [-1], [-1], None], [-1], 2),
    "array": (pl.Array(pl.Int64, 1), [[0], [0], [1], [-1], [-1], None], [-1], 2),
    "list of two": (pl.List(pl.Int64), [[0], [1], [0, 1], [0, 1]], [0, 1], 2),
    "array of two": (pl.Array(pl.Int64, 2), [[0, 0], [1, 0], [0, 1]], [0, 1], 1),
    "empty list": (pl.List(pl.Int64), [[0], [1], [], [0]], [], 1),
    "list of NULL": (pl.List(pl.Int64), [[0], [None], [None], [1], None], [None], 2),
    "array of NULL": (pl.Array(pl.Int64, 1), [[0], [None], [None], [1], None], [None], 2),
    "list of text": (pl.List(pl.String), [["a"], ["-1"], ["b"]], ["-1"], 1),
    "floats": (pl.List(pl.Int64), [[0], [-1], [1]], [-1.0], 1),
    "lists of lists": (pl.List(pl.List(pl.Int64)), [[[0]], [[1]], [[1], []]], [[1]], 1),
    "not in the column": (pl.List(pl.Int64), [[0], [1], [2]], [7], 0),
}


WAYS = ("cluster", "drop", "singletons")


def counted_noise(case: str) -> tuple[pl.DataFrame, Value, int, int]:
    """The frame, the noise, how many rows have a cluster, and how many of them are noise."""
    dtype, clusters, noise, n_noise = NESTED[case]
    n = sum(cluster is not None for cluster in clusters)
    return frame_of_clusters(clusters, dtype), noise, n, n_noise


#: n, the rows of noise and the singletons: of the macros by which all tables read labels or points.
LABELS_SQL = "SELECT SUM(n * copies), SUM(n_noise), SUM(copies) FILTER (cluster IS NULL) FROM "
POINTS_SQL = (
    "SELECT COUNT(*) FILTER (kept), COUNT(*) FILTER (noisy), "
    "COUNT(*) FILTER (kept AND cluster IS NULL) FROM clustereval._points(assignments, "
    "[x], cluster, 'euclidean', 2, NULL, NULL, "
)
#: The macro by which all tables of points check the columns.
ARGUMENTS_SQL = "FROM clustereval._point_arguments(assignments, [x], cluster, NULL, "


@pytest.mark.parametrize("noise_as", WAYS)
def test_noise_of_a_nested_type(side: Engine, noise_as: str) -> None:
    for case in NESTED:
        frame, noise, n, n_noise = counted_noise(case)
        given = {"noise": noise, "noise_as": noise_as}
        kept = n - n_noise * (noise_as == "drop")
        alone = n_noise * (noise_as == "singletons")
        if isinstance(side, DuckDB):
            groups = row_groups_sql("label", "cluster", **given)
            [labels] = side.rows(f"{LABELS_SQL}{groups}", frame)
            [points] = side.rows(
                f"{POINTS_SQL}{literal(noise)}, {literal(noise_as)}, 'error')", frame
            )
            assert [value or 0 for value in labels.values()] == [kept, n_noise, alone], case
            assert list(points.values()) == [kept, n_noise, alone], case
            continue
        cells = side.table("contingency_matrix", frame, **given)
        centers = point_engines.call(side, "centroids", frame, ["x"], **given)
        assert sum(row["n"] * row["copies"] for row in cells) == kept, case
        assert sum(row["copies"] for row in cells if row["cluster"] is None) == alone, case
        assert sum(row["n"] for row in centers) == kept, case
        assert sum(row["cluster"] is None for row in centers) == alone, case


@pytest.mark.parametrize("case", NESTED)
def test_counts_of_noise_of_a_nested_type(engine: Engine, case: str) -> None:
    """In the reports: each case with one noise_as, each noise_as in several cases."""
    noise_as = WAYS[list(NESTED).index(case) % len(WAYS)]
    frame, noise, n, n_noise = counted_noise(case)
    wanted = n - n_noise * (noise_as == "drop"), n_noise
    given = {"noise": noise, "noise_as": noise_as}
    [labels] = report(engine, frame, **given)
    assert (labels["n"], labels["n_noise"]) == wanted
    [points] = point_engines.call(engine, "internal_report", frame, ["x"], **given)
    assert (points["n"], points["n_noise"]) == wanted


ALIEN: list[tuple[Any, Value, Value, str]] = [
    (pl.Int64, 0, [-1], "(BIGINT), got '[-1]' ("),
    (pl.Int64, 0, [None], "(BIGINT), got '[NULL]' (\"NULL\"[])"),
    (pl.Int64, 0, True, "(BIGINT), got 'true' (BOOLEAN)"),
    (pl.Int64, 0, {"a": 0}, "(BIGINT), got '{'a': 0}' (S"),
    (pl.Int64, 0, "00", "(BIGINT), got '00' (VARCHAR)"),
    (pl.Boolean, True, 1, "(BOOLEAN), got '1' ("),
    (pl.List(pl.Int64), [0], 0, "(BIGINT[]), got '0' ("),
    (pl.List(pl.Int64), [0], [1.5], "(BIGINT[]), got '[1.5]' ("),
    (pl.List(pl.Int64), [0], [[0]], "(BIGINT[]), got '[[0]]' ("),
    (pl.List(pl.Int64), [0], [True], "(BIGINT[]), got '[true]' (BOOLEAN[])"),
    (pl.Array(pl.Int64, 1), [0], [0, 1], "(BIGINT[1]), got '[0, 1]' ("),
    (pl.Array(pl.Int64, 1), [0], [], "(BIGINT[1]), got '[]' ("),
]


def test_noise_of_an_alien_type(side: Engine) -> None:
    for dtype, cluster, noise, got in ALIEN:
        words = f"noise: expected a value of the type of cluster {got}"
        frame = frame_of_clusters([cluster] * 3, dtype)
        refused_labels(side, words, frame, noise=noise, noise_as="cluster")
        if isinstance(side, DuckDB):
            query = f"{ARGUMENTS_SQL}{literal(noise)})"
            refused(side, words, query, partial(side.rows, query, frame))
    # The second way, and in Polars the only one, is a report of points.
    for dtype, cluster, noise, got in ALIEN[:: 6 if isinstance(side, DuckDB) else 1]:
        words = f"noise: expected a value of the type of cluster {got}"
        frame = frame_of_clusters([cluster] * 3, dtype)
        ask = partial(
            point_engines.call,
            side,
            "internal_report",
            frame,
            ["x"],
            noise=noise,
            noise_as="cluster",
        )
        refused(side, words, got, ask)


@pytest.mark.parametrize("noise", [[1, "a"], object(), 10**40])
def test_noise_that_is_no_polars_value(noise: object) -> None:
    frame = frame_of_clusters([0, 1], pl.Int64)
    with pytest.raises(ce.ClusterEvalError, match=r"noise: expected a value .*\(Int64\), got '"):
        ce.external_report(frame, "label", "cluster", noise=noise, noise_as="cluster")


def test_noise_that_a_short_float_rounds(engine: Engine) -> None:
    frame = frame_of_clusters([0.1, 0.25, 0.1], pl.Float32)
    [row] = report(engine, frame, noise=0.1, noise_as="drop")
    assert (row["n"], row["n_noise"]) == (1, 2)


# Types of labels

PLAIN = [0, 0, 1, 1, 2, 3, 0, None]
OTHER = [5, 5, 5, 6, 6, 7, 6, 6]
FLOATS = {0: 0.0, 1: NAN, 2: 0.5, 3: float("-inf"), None: None}
BYTES = {0: b"", 1: b"\x00", 2: b"\xff\xfe", 3: b"more than twelve bytes", None: None}


@pytest.mark.parametrize("dtype", [pl.Float16, pl.Float32, pl.Float64, pl.Binary])
@pytest.mark.parametrize("function", ["external_cluster_report", "bcubed_samples", "centroids"])
@pytest.mark.parametrize("noise_as", ["cluster", "drop", "singletons"])
def test_a_type_counts_as_whole_numbers_do(dtype: Any, function: str, noise_as: Any) -> None:
    values: dict[Any, Any] = BYTES if dtype == pl.Binary else FLOATS
    plain = pl.DataFrame({"c": PLAIN, "u": OTHER, "x": [float(i) for i in range(8)]})
    typed = plain.with_columns(c=pl.Series([values[c] for c in PLAIN], dtype=dtype))
    ask = getattr(ce, function)
    first = ["x"] if function == "centroids" else "u"
    found, wanted = (
        ask(frame, first, "c", noise=noise, noise_as=noise_as).drop("cluster")
        for frame, noise in ((typed, values[1]), (plain, 1))
    )
    by = wanted.columns
    assert found.sort(by).rows() == wanted.sort(by).rows()


@pytest.fixture
def table_of_intervals() -> Iterator[duckdb.DuckDBPyConnection]:
    rows = [("24 hours", 1), ("1 day", 1), ("2 hours", 2), ("30 days", 2), ("1 month", 3)]
    values = ", ".join(f"(INTERVAL '{text}', {cluster})" for text, cluster in rows)
    with make("duckdb").connection.cursor() as cursor:  # type: ignore[union-attr]
        cursor.execute(f"CREATE TEMP TABLE t AS SELECT * FROM (VALUES {values}) AS v(i, c)")
        yield cursor
        cursor.execute("DROP TABLE t")


DAYS = [(1, 1), (1, 1), (0, 2), (30, 2), (30, 3)]
SOME = (
    "purity",
    "bcubed_f_score",
    "adjusted_rand_score",
    "mutual_info_score",
    "adjusted_mutual_info_score",
)


@pytest.mark.gate
@pytest.mark.parametrize("columns", ["i, c", "c, i"])
def test_equal_intervals_are_one_label(
    table_of_intervals: duckdb.DuckDBPyConnection, columns: str
) -> None:
    """As numbers, as durations in Polars, in the report and in the aggregates."""
    names = columns.split(", ")
    days = pl.DataFrame(DAYS, schema=["i", "c"], orient="row")
    durations = days.with_columns(i=pl.duration(days="i"))
    calls = ", ".join(f"clustereval.{name}({columns})" for name in SOME)
    [aggregates] = table_of_intervals.execute(f"SELECT {calls} FROM t").fetchall()
    query = f"SELECT {', '.join(SOME)} FROM clustereval.external_report(t, {columns})"
    [scores] = table_of_intervals.execute(query).fetchall()
    for i, name in enumerate(SOME):
        wanted = days.select(getattr(ce, name)(*names)).item()
        of_durations = durations.select(getattr(ce, name)(*names)).item()
        for found in (aggregates[i], scores[i], of_durations):
            assert_same(found, wanted, bounded=True, what=name)


@pytest.mark.parametrize(
    ("expression", "type_name"),
    [("list_concat([i], [])", "INTERVAL[]"), ("{'of': i}", "STRUCT("), ("MAP {'a': i}", "MAP(")],
)
@pytest.mark.parametrize("parameter", ["label", "cluster"])
def test_intervals_inside_other_types_are_refused(
    table_of_intervals: duckdb.DuckDBPyConnection, expression: str, type_name: str, parameter: str
) -> None:
    """DuckDB's histogram does not find equal ones in all its versions."""
    columns = f"{expression}, c" if parameter == "label" else f"c, {expression}"
    words = re.escape(f"{parameter}: a column of type {type_name}") + ".* cannot be grouped"
    with pytest.raises(duckdb.Error, match=words):
        table_of_intervals.execute(f"SELECT clustereval.purity({columns}) FROM t")


def test_names_of_enums_do_not_matter(table_of_intervals: duckdb.DuckDBPyConnection) -> None:
    odd = "CAST('INTERVAL' AS ENUM ('INTERVAL'))"
    [row] = table_of_intervals.execute(f"SELECT clustereval.purity({odd}, c) FROM t").fetchall()
    assert row == (1.0,)


# One column

FRAME = pl.DataFrame(
    {"u": [0, 0, 1, 1], "v": [0, 1, 1, 1], "w": [1, 1, 1, 1], "x": [0.0, 1.0, 5.0, 9.0]}
)
SEVERAL: dict[str, tuple[Any, str]] = {
    "all": (pl.all(), "expected one column, got 4: u, v, w, x; name one"),
    "pattern": (pl.col("^u|v$"), "expected one column, got 2: u, v"),
    "two": (pl.col("u", "v") + 1, "expected one column, got 2: u, v"),
    "selector": (cs.integer(), "expected one column, got 3: u, v, w"),
    "alias": (pl.all().alias("u"), "expected one column, got several from"),
    "none": (cs.string(), "expected one column, got none from"),
    "list": (["u"], "expected a column name or an expression, got list"),
    "tuple": (("u", "v"), "expected a column name or an expression, got tuple"),
    "series": (FRAME["u"], "expected a column name or an expression, got Series"),
    "number": (0, "expected a column name or an expression, got int"),
    "text of a pattern": ("^u|v$", r"column '^u|v$' not found"),
    "star": ("*", "column '*' not found"),
}
POINTS = ("internal_report", "silhouette_score", "dunn_index", "pairwise_report")
ONE_COLUMN: dict[str, Callable[[Any], Any]] = {
    "label": lambda given: ce.external_report(FRAME, given, "v"),
    "cluster": lambda given: ce.contingency_matrix(FRAME, "u", given),
    "weight": lambda given: ce.pair_counts(FRAME, "u", "v", weight=given),
    "id": lambda given: ce.bcubed_samples(FRAME, "u", "v", given),
    "cluster of points": lambda given: ce.centroids(FRAME, ["x"], given),
    "id of points": lambda given: ce.silhouette_samples(FRAME, ["x"], "v", given),
    "label of vdm_encode": lambda given: ce.vdm_encode(FRAME, ["u"], given),
}


@pytest.mark.parametrize("case", SEVERAL)
@pytest.mark.parametrize("parameter", ONE_COLUMN)
def test_several_columns_in_place_of_one(parameter: str, case: str) -> None:
    given, words = SEVERAL[case]
    name = parameter.partition(" ")[0]
    with pytest.raises(ce.ClusterEvalError, match=re.escape(f"{name}: {words}")):
        ONE_COLUMN[parameter](given)


@pytest.mark.parametrize("given", [pl.first(), pl.nth(0), cs.by_name("u"), pl.col("^u$")])
def test_a_selection_of_one_column(given: pl.Expr) -> None:
    wanted = ce.external_report(FRAME, "u", "v")
    assert_rows(ce.external_report(FRAME, given, "v").to_dicts(), wanted.to_dicts())


@pytest.mark.parametrize("metric", ["purity", "adjusted_rand_score", "mutual_info_score"])
@pytest.mark.parametrize("parameter", ["label", "cluster"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (pl.all(), "expected one column, got the selection"),
        (pl.col("^u|v$"), "expected one column, got the selection"),
        (cs.integer(), "expected one column, got the selection"),
        (["u", "v"], "expected a column name or an expression, got list"),
        (None, "expected a column name or an expression, got NoneType"),
    ],
)
def test_several_columns_in_an_expression(
    metric: str, parameter: str, given: Any, words: str
) -> None:
    sides: dict[str, Any] = {"label": "u", "cluster": "v"} | {parameter: given}
    with pytest.raises(ce.ClusterEvalError, match=f"{parameter}: {words}"):
        getattr(ce, metric)(**sides)


@pytest.mark.parametrize("given", [pl.all(), pl.col("u", "v"), cs.integer()])
def test_a_selection_in_an_expression_shows_what_to_write(given: pl.Expr) -> None:
    with pytest.raises(ce.ClusterEvalError) as raised:
        ce.purity("w", given)
    code = '[ce.purity("label", name).alias(name) for name in columns]'
    assert str(raised.value).endswith(f"; write an expression for each column: {code}")
    frame = FRAME.rename({"w": "label"})
    scores = eval(code, {"ce": ce, "columns": ["u", "v"]})
    assert frame.select(scores).row(0) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "expected column names, got int"),
        ([0], "expected column names, got list"),
        ([pl.col("w"), 0], "expected column names, got list"),
        (FRAME["w"], "expected column names, got Series; add the values to the frame"),
        (pl.col("w") + 1, 'expected column names, got the expression [(col("w")) + '),
        (pl.col("w").alias("z"), 'expected column names, got the expression col("w").alias("z")'),
        (["v", pl.lit(1)], "expected column names, got the expression dyn int: 1; add it to the"),
        (pl.col("ww"), "column 'ww' not found; did you mean 'w'?"),
        (["w", pl.col("zzz")], "column 'zzz' not found; columns: u, v, w, x"),
        (["w", pl.col("w")], "'w' is given twice"),
        (cs.string(), "expected column names, got none from"),
    ],
)
def test_partition_columns_that_are_no_names(given: Any, words: str) -> None:
    words = re.escape(f"partition_by: {words}")
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.external_report(FRAME, "u", "v", partition_by=given)
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.internal_report(FRAME, ["x"], "v", partition_by=given)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (pl.col("w"), ["w"]),
        ([pl.col("w"), "v"], ["w", "v"]),
        ((pl.col("w"), pl.col("v")), ["w", "v"]),
        (pl.col("w", "v"), ["w", "v"]),
        (cs.by_name("v") | cs.by_name("w"), ["v", "w"]),
        (pl.col("^w$"), ["w"]),
    ],
)
@pytest.mark.parametrize("kind", ["DataFrame", "LazyFrame"])
def test_partition_columns_as_expressions(given: Any, names: list[str], kind: str) -> None:
    frame: Any = FRAME if kind == "DataFrame" else FRAME.lazy()
    found = ce.external_cluster_report(frame, "u", "v", partition_by=given)
    wanted = ce.external_cluster_report(FRAME, "u", "v", partition_by=names)
    assert wanted.columns[: len(names)] == names
    assert found.lazy().collect().equals(wanted)
    found = ce.centroids(frame, ["x"], "u", partition_by=given)
    wanted = ce.centroids(FRAME, ["x"], "u", partition_by=names)
    assert found.lazy().collect().equals(wanted)


@pytest.mark.parametrize("given", [None, 3, [0], FRAME["u"]])
def test_vectors_that_are_no_columns(given: Any) -> None:
    words = r"vector: expected column names or expressions, got (NoneType|int)(;|$)"
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.centroids(FRAME, given, "v")


@pytest.mark.parametrize("given", [pl.all(), FRAME["u"], 3])
def test_nominal_columns_that_are_no_names(given: Any) -> None:
    with pytest.raises(ce.ClusterEvalError, match="columns: expected names of columns, such as"):
        ce.vdm_encode(FRAME, given, "v")


def test_a_long_series_is_cut() -> None:
    with pytest.raises(
        ce.ClusterEvalError, match=r"columns: expected names .*, got \[0, 1, 2, "
    ) as e:
        ce.vdm_encode(FRAME, pl.Series(range(10_000)), "v")  # type: ignore[arg-type]
    assert len(str(e.value)) < 200


@pytest.mark.parametrize("given", [["u"], 3, None])
def test_texts_that_are_no_column(given: Any) -> None:
    words = f"vec: expected a column name or an expression, got {type(given).__name__}"
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.parse_vector(given)


@cache
def of_plain_names(function: str, *given: Any, **arguments: Any) -> list[dict[str, Any]]:
    vector = [list(value) if isinstance(value, tuple) else value for value in given]
    rows: list[dict[str, Any]] = getattr(ce, function)(FRAME, *vector, **arguments).to_dicts()
    return rows


@pytest.mark.gate
@pytest.mark.parametrize("name", ["*", "^.*$", "^c$"])
def test_names_that_look_like_patterns(name: str) -> None:
    """Beside columns that such a pattern would select."""
    frame = FRAME.with_columns(pl.col("v").alias(name), c=pl.lit("other"))
    pairs = (("u", name), (name, "u"))
    for label, cluster in pairs:
        plain = [side.replace(name, "v") for side in (label, cluster)]
        for metric in ("purity", "adjusted_rand_score", "mutual_info_score"):
            ask = getattr(ce, metric)
            assert frame.select(ask(label, cluster)).item() == FRAME.select(ask(*plain)).item()
        found = ce.external_report(frame, label, cluster)
        assert_rows(found.to_dicts(), of_plain_names("external_report", *plain))
    for function in POINTS:
        ask = getattr(ce, function)
        wanted = of_plain_names(function, ("x", "v"), "v")
        assert_rows(ask(frame, ["x", name], name).to_dicts(), wanted)
        found = ask(frame, [name], "u", partition_by=name).rename({name: "v"})
        assert_rows(found.to_dicts(), of_plain_names(function, ("v",), "u", partition_by="v"))
    texts = pl.DataFrame({name: ["1 2"], "c": [None]})
    assert texts.select(ce.parse_vector(name)).to_dict(as_series=False) == {name: [[1.0, 2.0]]}


def test_durations_of_a_day_are_one_label(engine: Engine) -> None:
    day = dt.timedelta(days=1)
    frame = pl.DataFrame({"label": [day, day, 2 * day], "cluster": [0, 0, 1]})
    [row] = report(engine, frame)
    assert (row["n_labels"], row["purity"]) == (2, 1.0)


# Columns of untyped NULLs


@pytest.mark.gate
@pytest.mark.parametrize(
    "columns", [("nothing", "cluster"), ("label", "nothing"), ("nothing",) * 2]
)
def test_a_column_of_untyped_nulls(engine: Engine, columns: tuple[str, str]) -> None:
    """As a column of NULLs of a type: no row counts."""
    frame = pl.DataFrame({"label": [0, 0, 1], "cluster": [0, 1, 1]}).with_columns(nothing=None)
    typed = frame.with_columns(pl.col("nothing").cast(pl.Int64))
    assert frame.schema["nothing"] == pl.Null
    [found] = engine.scalars(frame, *columns, metrics=SOME)
    assert [found] == engine.scalars(typed, *columns, metrics=SOME)
    [row] = report(engine, frame, label=columns[0], cluster=columns[1])
    assert (row["n"], row["n_dropped"], row["adjusted_rand_score"]) == (0, 3, None)
    assert [row] == report(engine, typed, label=columns[0], cluster=columns[1])
    noise = {"noise": -1, "noise_as": "drop"}
    if columns[1] == "nothing":
        with fails(engine, "noise: expected a value of the type of cluster (\"NULL\"), got '-1' ("):
            report(engine, frame, label=columns[0], cluster=columns[1], **noise)


# Vectors in place of labels

EMBEDDINGS = (pl.List(pl.Float64), pl.Array(pl.Float32, 2))


@pytest.mark.gate
@pytest.mark.parametrize("dtype", EMBEDDINGS)
@pytest.mark.parametrize("parameter", ["label", "cluster"])
def test_vectors_are_no_labels(side: Engine, dtype: Any, parameter: str) -> None:
    points = pl.Series([[0.5, 1.0], [0.5, 1.0], [2.0, 3.0]], dtype=dtype)
    frame = pl.DataFrame({"plain": [0, 0, 1], "points": points, "x": [1.0, 2.0, 4.0]})
    words = f"{parameter}: expected labels, got lists of floating-point numbers; vectors of points"
    columns = {"label": "plain", "cluster": "plain"} | {parameter: "points"}
    refused_labels(side, words, frame, **columns)
    failing = duckdb.Error if isinstance(side, DuckDB) else pl.exceptions.InvalidOperationError
    for metric in SOME:
        with pytest.raises(failing, match=re.escape(words)):
            side.scalars(frame, **columns, metrics=[metric])
    if parameter == "cluster":
        with fails(side, words):
            point_engines.call(side, "centroids", frame, ["x"], "points")
    frame = frame.with_columns(points=pl.col("points").cast(pl.List(pl.Int64)))
    assert len(report(side, frame, **columns)) == 1
