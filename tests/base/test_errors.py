"""Bad input: the same words in both wings. Odd names: no error at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.compare import assert_metrics, assert_rows, assert_same
from tests.support.engines import Engine, fetched, literal, quoted, report
from tests.support.oracle import COUNTS, exact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FRAME = pl.DataFrame(
    {
        "species": ["a", "a", "b", "b"],
        "cluster": [0, 0, 1, -1],
        "run": [1, 1, 2, 2],
        "name": ["p", "q", "q", "-1"],
    }
)
EMPTY = FRAME.clear()
WITH_BETA = ("pair_f_score", "v_measure_score", "bcubed_f_score")
TABLES = (
    "external_report",
    "contingency_matrix",
    "pair_counts",
    "external_cluster_report",
    "external_label_report",
)


def fails(engine: Engine, words: str) -> Any:
    """The wing's own error with these very words."""
    error = duckdb.Error if engine.name == "duckdb" else ce.ClusterEvalError
    return pytest.raises(error, match=re.escape(words))


def run_report(engine: Engine, frame: pl.DataFrame = FRAME, **arguments: Any) -> None:
    report(engine, frame, **{"label": "species"} | arguments)


# Columns and tables


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("parameter", ["label", "cluster", "weight", "partition_by"])
def test_a_misspelt_column(engine: Engine, function: str, parameter: str) -> None:
    columns = {"label": "species", "cluster": "cluster"} | {parameter: "specis"}
    words = "specis" if engine.name == "duckdb" else f"{parameter}: column 'specis' not found"
    with fails(engine, words) as raised:
        engine.table(function, FRAME, **columns)
    assert re.search("'species'|\"species\"", str(raised.value))


def test_a_misspelt_id() -> None:
    with pytest.raises(ce.ClusterEvalError, match=r"id: column 'nam' not found.*'name'"):
        ce.bcubed_samples(FRAME, "species", "cluster", "nam")


def test_a_missing_column_with_no_twin_lists_the_columns() -> None:
    with pytest.raises(ce.ClusterEvalError, match=r"'zzz' not found.*columns: .*species.*cluster"):
        ce.external_report(FRAME, "zzz", "cluster")


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        ce.register(connection)
        connection.register("assignments", FRAME)
        yield connection


def test_a_missing_table(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match=r"(?s)assignment .*assignments"):
        connection.execute("FROM clustereval.external_report(assignment, species, cluster)")


def test_what_is_no_frame() -> None:
    with pytest.raises((ce.ClusterEvalError, TypeError), match="str"):
        ce.external_report("assignments", "species", "cluster")  # type: ignore[type-var]


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("parameter", ["label", "cluster", "weight", "partition_by"])
def test_a_quoted_column(
    connection: duckdb.DuckDBPyConnection, function: str, parameter: str
) -> None:
    columns = {"label": "species", "cluster": "cluster"} | {parameter: "'species'"}
    arguments = ", ".join(f"{name} := {column}" for name, column in columns.items())
    words = f"{parameter}: expected a column, got the quoted string 'species'; write it without"
    with pytest.raises(duckdb.Error, match=re.escape(words)):
        connection.execute(f"FROM clustereval.{function}(tbl := assignments, {arguments})")


def test_a_quoted_column_on_an_empty_table(connection: duckdb.DuckDBPyConnection) -> None:
    connection.register("nothing", EMPTY)
    with pytest.raises(duckdb.Error, match=r"label: expected a column.*'species'"):
        connection.execute("FROM clustereval.external_report(nothing, 'species', cluster)")


@pytest.mark.parametrize(
    ("metric", "arguments", "words"),
    [
        ("adjusted_rand_score", "'species', cluster", "label: expected a column.*'species'"),
        ("mutual_info_score", "species, 'cluster'", "cluster: expected a column.*'cluster'"),
        ("purity", "'it''s', cluster", "label: expected a column.*it''s"),
    ],
)
def test_a_quoted_column_in_an_aggregate(
    connection: duckdb.DuckDBPyConnection, metric: str, arguments: str, words: str
) -> None:
    with pytest.raises(duckdb.Error, match=words):
        connection.execute(f"SELECT clustereval.{metric}({arguments}) FROM assignments")


@pytest.mark.parametrize("parameter", ["label", "cluster"])
def test_a_column_that_cannot_be_grouped(parameter: str) -> None:
    frame = FRAME.with_columns(odd=pl.Series([object()] * 4, dtype=pl.Object))
    columns: dict[str, Any] = {"label": "species", "cluster": "cluster"} | {parameter: "odd"}
    with pytest.raises(
        ce.ClusterEvalError, match=f"{parameter}: a column of type Object cannot be grouped"
    ):
        ce.external_report(frame, **columns)


# Options


@pytest.mark.parametrize("frame", [FRAME, EMPTY], ids=["rows", "no rows"])
def test_an_unknown_average(engine: Engine, frame: pl.DataFrame) -> None:
    four = "average_method: expected one of 'arithmetic', 'geometric', 'min', 'max'"
    with fails(engine, f"{four}, got 'mean'"):
        engine.scalars(
            frame, "species", metrics=["adjusted_mutual_info_score"], average_method="mean"
        )
    with fails(engine, f"{four}, 'joint', got 'mean'"):
        engine.scalars(
            frame, "species", metrics=["normalized_mutual_info_score"], average_method="mean"
        )
    with fails(engine, "average_method: expected one of 'arithmetic'") as raised:
        run_report(engine, frame, average_method="mean")
    assert "got 'mean'" in str(raised.value)
    with fails(engine, "average_method: expected one of 'arithmetic'") as raised:
        run_report(engine, frame, average_method="mean", adjusted=False)
    assert "got 'mean'" in str(raised.value)


@pytest.mark.parametrize("frame", [FRAME, EMPTY], ids=["rows", "no rows"])
def test_the_joint_average_has_no_adjusted_form(engine: Engine, frame: pl.DataFrame) -> None:
    with fails(engine, "average_method 'joint' has no adjusted form: use adjusted"):
        run_report(engine, frame, average_method="joint")
    with fails(engine, "average_method: expected one of 'arithmetic', 'geometric', 'min', 'max'"):
        engine.scalars(
            frame, "species", metrics=["adjusted_mutual_info_score"], average_method="joint"
        )


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("frame", [FRAME, EMPTY], ids=["rows", "no rows"])
def test_an_unknown_way_with_noise(engine: Engine, frame: pl.DataFrame, function: str) -> None:
    words = "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'keep'"
    with fails(engine, words):
        engine.table(function, frame, "species", noise=-1, noise_as="keep")


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("noise_as", ["drop", "singletons"])
def test_a_way_with_no_noise(engine: Engine, function: str, noise_as: str) -> None:
    words = f"noise_as '{noise_as}' needs noise: give the value of cluster that marks noise"
    with fails(engine, words):
        engine.table(function, FRAME, "species", noise_as=noise_as)


@pytest.mark.parametrize(
    ("noise", "got"), [("abc", "got 'abc' (VARCHAR)"), (1.5, "got '1.5' ("), ("1.5", "got '1.5' (")]
)
@pytest.mark.parametrize("frame", [FRAME, EMPTY], ids=["rows", "no rows"])
def test_noise_of_another_type(
    engine: Engine, frame: pl.DataFrame, noise: object, got: str
) -> None:
    with fails(engine, f"noise: expected a value of the type of cluster (BIGINT), {got}"):
        run_report(engine, frame, noise=noise)


def test_noise_that_the_type_cannot_hold(engine: Engine) -> None:
    frame = FRAME.with_columns(cluster=pl.lit(1, pl.UInt8))
    with fails(engine, "noise: expected a value of the type of cluster (UTINYINT), got '-1'"):
        run_report(engine, frame, noise=-1)


@pytest.mark.parametrize(
    ("cluster", "noise"), [("name", -1), ("name", "-1"), ("cluster", "-1"), ("cluster", -1.0)]
)
def test_noise_is_cast_to_the_type_of_cluster(engine: Engine, cluster: str, noise: object) -> None:
    [row] = report(engine, FRAME, label="species", cluster=cluster, noise=noise, noise_as="drop")
    assert (row["n"], row["n_noise"]) == (3, 1)


@pytest.mark.parametrize(("beta", "got"), [(-1, "-1"), (-0.5, "-0.5")])
@pytest.mark.parametrize("frame", [FRAME, EMPTY], ids=["rows", "no rows"])
def test_a_negative_beta(engine: Engine, frame: pl.DataFrame, beta: float, got: str) -> None:
    words = f"beta: expected a number >= 0, got {got}"
    with fails(engine, words):
        run_report(engine, frame, beta=beta)
    for metric in WITH_BETA:
        with fails(engine, words):
            engine.scalars(frame, "species", metrics=[metric], beta=beta)


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize(
    ("weight", "got"),
    [
        ([1, 2, -1, 3], "-1"),
        ([1.0, 2.5, 1.0, 1.0], "2.5"),
        ([1, None, 1, 1], "NULL"),
        ([1.0, float("nan"), 1.0, 1.0], ""),
        ([1.0, float("inf"), 1.0, 1.0], "inf"),
    ],
    ids=["negative", "fractional", "NULL", "NaN", "infinite"],
)
def test_a_weight_that_counts_nothing(
    engine: Engine, function: str, weight: list[Any], got: str
) -> None:
    words = f"weight: expected whole numbers >= 0, got {got}"
    frame = FRAME.with_columns(weight=pl.Series(weight))
    with fails(engine, words) as raised:
        engine.table(function, frame, "species", weight="weight")
    assert "a weight is how many times its row counts" in str(raised.value)


def test_a_bad_weight_of_a_dropped_row_is_an_error_too(engine: Engine) -> None:
    frame = pl.DataFrame({"species": [None, "a"], "cluster": [1, 1], "weight": [-7, 1]})
    with fails(engine, "weight: expected whole numbers >= 0, got -7"):
        run_report(engine, frame, weight="weight")


def test_a_weight_of_text(engine: Engine) -> None:
    error = duckdb.Error if engine.name == "duckdb" else ce.ClusterEvalError
    with pytest.raises(error, match=r"weight|'p'"):
        run_report(engine, weight="name")


def test_whole_floats_are_weights(engine: Engine) -> None:
    frame = FRAME.with_columns(weight=pl.Series([2.0, 0.0, 1.0, 1.0]))
    [row] = report(engine, frame, label="species", weight="weight")
    assert (row["n"], row["n_clusters"]) == (4, 3)


# Names

COLUMNS_OF_RESULTS = {
    "external_report": ("n", "n_noise", "purity", "adjusted_rand_score"),
    "contingency_matrix": ("label", "cluster", "n", "copies"),
    "pair_counts": ("tp", "tn"),
    "external_cluster_report": ("cluster", "purity", "joined_pairs"),
    "external_label_report": ("label", "majority_cluster", "split_pairs"),
}


@pytest.mark.parametrize("function", TABLES)
def test_a_partition_column_named_like_a_result(engine: Engine, function: str) -> None:
    for name in COLUMNS_OF_RESULTS[function]:
        frame = FRAME.select("species", pl.col("cluster").alias("c"), pl.col("run").alias(name))
        if engine.name == "duckdb":
            # SQL calls the key partition_key.
            engine.connection.register("assignments", frame)  # type: ignore[attr-defined]
            call = f'clustereval.{function}(assignments, species, c, partition_by := "{name}")'
            query = f"SELECT DISTINCT partition_key FROM {call} ORDER BY ALL"
            keys = engine.connection.execute(query).fetchall()  # type: ignore[attr-defined]
            assert keys == [(1,), (2,)]
        else:
            words = f"partition_by: '{name}' is also a column of the result; rename it first"
            with fails(engine, words):
                engine.table(function, frame, "species", "c", partition_by=name)


PARAMETERS = (
    "tbl",
    "label",
    "cluster",
    "weight",
    "partition_by",
    "noise",
    "noise_as",
    "average_method",
    "beta",
    "adjusted",
    "id",
)
RESULTS = ("n", "copies", "size", "x", "y", "partition_key", "literal", "len", "count", "value")
ODD = ('a "quoted" name', "it's", "two words", "größe", "🦆", "select", "GROUP", " ", "a.b", "$1")
BUNDLE = ce.bundle()
INNER = sorted(set(re.findall(r"\b__ce_\w+", BUNDLE)))
LAMBDA = sorted(set(re.findall(r"lambda (\w+):", BUNDLE)))
WITH = sorted(set(re.findall(r"(\w+) AS \(\s*SELECT", BUNDLE)))
# One of each way to go through the rows; the other metrics end in the same statistics.
SEVERAL = ("adjusted_rand_score", "v_measure_score", "purity", "bcubed_f_score")


def test_there_are_inner_names() -> None:
    assert len(INNER) > 10
    assert len(LAMBDA) > 1
    assert len(WITH) > 10


ROWS = [("a", 0), ("a", 0), ("a", 1), ("b", 1), ("b", 1), ("c", 1)]
CELLS = [("a", 0, 2), ("a", 1, 1), ("b", 1, 2), ("c", 1, 1)]
COUNTED = [
    dict(zip(("label", "cluster", "n"), cell, strict=True)) | {"copies": 1} for cell in CELLS
]


def odd_frame(label: str, cluster: str) -> pl.DataFrame:
    return pl.DataFrame(ROWS, schema=[label, cluster], orient="row")


@pytest.mark.parametrize("name", PARAMETERS)
def test_columns_named_like_parameters(engine: Engine, name: str) -> None:
    other = "cluster" if name != "cluster" else "label"
    for label, cluster in ((name, other), (other, name)):
        [row] = report(engine, odd_frame(label, cluster), label=label, cluster=cluster)
        assert_metrics(row, exact(CELLS), what=(label, cluster))
        check_scalars(engine, label, cluster)


@pytest.mark.parametrize("name", [*RESULTS, *ODD])
def test_columns_of_any_name(engine: Engine, name: str) -> None:
    for label, cluster in ((name, "plain"), ("plain", name)):
        cells = engine.table("contingency_matrix", odd_frame(label, cluster), label, cluster)
        assert cells == COUNTED
        check_scalars(engine, label, cluster)


def test_columns_named_like_variables(engine: Engine) -> None:
    for name in LAMBDA:
        check_scalars(engine, name, "plain")
        check_scalars(engine, "plain", name)


def check_scalars(engine: Engine, label: str, cluster: str) -> None:
    wanted = exact(CELLS)
    [row] = engine.scalars(odd_frame(label, cluster), label, cluster, metrics=SEVERAL)
    for metric in SEVERAL:
        assert_same(row[metric], wanted[metric], bounded=True, what=f"{metric}({label}, {cluster})")


def test_columns_named_like_inner_ones(engine: Engine) -> None:
    """Rows are read in two places only: where cells are counted and where records are."""
    for name in INNER:
        for label, cluster in ((name, "plain"), ("plain", name)):
            frame = odd_frame(label, cluster)
            cells = engine.table("contingency_matrix", frame, label, cluster)
            assert cells == COUNTED, (label, cluster)
            records = engine.table("bcubed_samples", frame, label, cluster)
            assert [(row["label"], row["cluster"]) for row in records] == ROWS, (label, cluster)


@pytest.mark.parametrize("names", [PARAMETERS[2:], ODD, INNER], ids=["parameters", "odd", "inner"])
def test_weights_and_keys_of_any_name(engine: Engine, names: Sequence[str]) -> None:
    for name in names:
        if name in ("label", "cluster"):
            continue
        frame = pl.DataFrame(CELLS, schema=["u", "v", name], orient="row")
        cells = engine.table("contingency_matrix", frame, "u", "v", weight=name)
        assert cells == COUNTED, name
        keyed = odd_frame("u", "v").with_columns(pl.lit("run").alias(name))
        cells = engine.table("contingency_matrix", keyed, "u", "v", partition_by=name)
        assert cells == [{name: "run"} | cell for cell in COUNTED], name


@pytest.mark.parametrize("function", [*TABLES, "bcubed_samples"])
def test_tables_of_any_name(connection: duckdb.DuckDBPyConnection, function: str) -> None:
    frame = odd_frame("u", "v")
    connection.register("plain", frame)
    wanted = fetched(connection, f"FROM clustereval.{function}(plain, u, v)")
    # The report stands on the other tables, and takes longer than all of them.
    names = WITH if function == "external_report" else [*PARAMETERS, *RESULTS, *ODD, *WITH]
    for name in names:
        connection.register(name, frame)
        # DuckDB reads a name given for a table as text, in which a quote or a dot must be quoted.
        table = literal(quoted(name)) if set(name) & set('".') else quoted(name)
        rows = fetched(connection, f"FROM clustereval.{function}({table}, u, v)")
        assert_rows(rows, wanted, what=name)
        connection.unregister(name)


def test_several_partition_columns(engine: Engine) -> None:
    frame = pl.DataFrame(
        [(*row, i % 2, day) for i, row in enumerate(ROWS) for day in ("mon", "tue")],
        schema=["label", "cluster", "run", "the day"],
        orient="row",
    )
    rows = report(engine, frame, partition_by=["run", "the day"])
    keys = [(0, "mon"), (0, "tue"), (1, "mon"), (1, "tue")]
    assert [(row["run"], row["the day"]) for row in rows] == keys
    for row in rows:
        part = frame.filter(pl.col("run") == row["run"], pl.col("the day") == row["the day"])
        [alone] = report(engine, part)
        assert_rows([{name: row[name] for name in alone}], [alone])
        assert [*row][2:7] == list(COUNTS)


@pytest.mark.parametrize("kind", ["int64", "float32", "float64"])
def test_beta_may_be_a_number_of_numpy(kind: str) -> None:
    np = pytest.importorskip("numpy")
    frame = pl.DataFrame({"label": [0, 0, 1, 1], "cluster": [0, 1, 1, 1]})
    two = np.dtype(kind).type(2)
    for metric in ("pair_f_score", "v_measure_score", "bcubed_f_score"):
        scores = [getattr(ce, metric)("label", "cluster", beta=beta) for beta in (2, two)]
        plain, same = (frame.select(score).item() for score in scores)
        assert plain == pytest.approx(same, rel=1e-14), metric
    report = ce.external_report(frame, "label", "cluster", beta=two)
    plain = ce.external_report(frame, "label", "cluster", beta=2)
    assert report["v_measure_score"].item() == pytest.approx(plain["v_measure_score"].item())
