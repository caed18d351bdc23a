"""Bad input: the same error text on both sides. Unusual names: no error at all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.compare import assert_metrics, assert_rows, assert_same
from tests.support.engines import (
    TABLES,
    Column,
    Engine,
    Expression,
    Row,
    fails,
    fetched,
    literal,
    quoted,
    report,
)
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


def run_report(engine: Engine, frame: pl.DataFrame = FRAME, **arguments: Any) -> None:
    report(engine, frame, **{"label": "species"} | arguments)


# Columns and tables


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("parameter", ["label", "cluster", "weight", "partition_by"])
def test_a_misspelt_column(side: Engine, function: str, parameter: str) -> None:
    columns = {"label": "species", "cluster": "cluster"} | {parameter: "specis"}
    words = "specis" if side.name == "duckdb" else f"{parameter}: column 'specis' not found"
    with fails(side, words) as raised:
        side.table(function, FRAME, **columns)
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
def test_an_unknown_average(side: Engine, frame: pl.DataFrame) -> None:
    four = "average_method: expected one of 'arithmetic', 'geometric', 'min', 'max'"
    with fails(side, f"{four}, got 'mean'"):
        side.scalars(
            frame, "species", metrics=["adjusted_mutual_info_score"], average_method="mean"
        )
    with fails(side, f"{four}, 'joint', got 'mean'"):
        side.scalars(
            frame, "species", metrics=["normalized_mutual_info_score"], average_method="mean"
        )
    with fails(side, "average_method: expected one of 'arithmetic'") as raised:
        run_report(side, frame, average_method="mean")
    assert "got 'mean'" in str(raised.value)
    with fails(side, "average_method: expected one of 'arithmetic'") as raised:
        run_report(side, frame, average_method="mean", adjusted=False)
    assert "got 'mean'" in str(raised.value)


@pytest.mark.parametrize("frame", [FRAME, EMPTY], ids=["rows", "no rows"])
def test_the_joint_average_has_no_adjusted_form(side: Engine, frame: pl.DataFrame) -> None:
    with fails(side, "average_method 'joint' has no adjusted form: use adjusted"):
        run_report(side, frame, average_method="joint")
    with fails(side, "average_method: expected one of 'arithmetic', 'geometric', 'min', 'max'"):
        side.scalars(
            frame, "species", metrics=["adjusted_mutual_info_score"], average_method="joint"
        )


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("frame", [FRAME, EMPTY], ids=["rows", "no rows"])
def test_an_unknown_way_with_noise(side: Engine, frame: pl.DataFrame, function: str) -> None:
    words = "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'keep'"
    with fails(side, words):
        side.table(function, frame, "species", noise=-1, noise_as="keep")


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("noise_as", ["drop", "singletons"])
def test_a_way_with_no_noise(side: Engine, function: str, noise_as: str) -> None:
    words = f"noise_as '{noise_as}' needs noise: give the value of cluster that marks noise"
    with fails(side, words):
        side.table(function, FRAME, "species", noise_as=noise_as)


@pytest.mark.parametrize(
    ("noise", "got"), [("abc", "got 'abc' (VARCHAR)"), (1.5, "got '1.5' ("), ("1.5", "got '1.5' (")]
)
@pytest.mark.parametrize("frame", [FRAME, EMPTY], ids=["rows", "no rows"])
def test_noise_of_another_type(side: Engine, frame: pl.DataFrame, noise: object, got: str) -> None:
    with fails(side, f"noise: expected a value of the type of cluster (BIGINT), {got}"):
        run_report(side, frame, noise=noise)


def test_noise_that_the_type_cannot_hold(side: Engine) -> None:
    frame = FRAME.with_columns(cluster=pl.lit(1, pl.UInt8))
    with fails(side, "noise: expected a value of the type of cluster (UTINYINT), got '-1'"):
        run_report(side, frame, noise=-1)


@pytest.mark.parametrize(
    ("cluster", "noise"), [("name", -1), ("name", "-1"), ("cluster", "-1"), ("cluster", -1.0)]
)
def test_noise_is_cast_to_the_type_of_cluster(side: Engine, cluster: str, noise: object) -> None:
    [row] = report(side, FRAME, label="species", cluster=cluster, noise=noise, noise_as="drop")
    assert (row["n"], row["n_noise"]) == (3, 1)


@pytest.mark.parametrize(("beta", "got"), [(-1, "-1"), (-0.5, "-0.5")])
@pytest.mark.parametrize("frame", [FRAME, EMPTY], ids=["rows", "no rows"])
def test_a_negative_beta(side: Engine, frame: pl.DataFrame, beta: float, got: str) -> None:
    words = f"beta: expected a number >= 0, got {got}"
    with fails(side, words):
        run_report(side, frame, beta=beta)
    for metric in WITH_BETA:
        with fails(side, words):
            side.scalars(frame, "species", metrics=[metric], beta=beta)


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
    side: Engine, function: str, weight: list[Any], got: str
) -> None:
    words = f"weight: expected whole numbers >= 0, got {got}"
    frame = FRAME.with_columns(weight=pl.Series(weight))
    with fails(side, words) as raised:
        side.table(function, frame, "species", weight="weight")
    assert "a weight is how many times its row counts" in str(raised.value)


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize("weight", [9e18, 1e19, 1e300, float("inf")])
def test_a_weight_beyond_whole_numbers(side: Engine, function: str, weight: float) -> None:
    frame = FRAME.with_columns(weight=pl.Series([1.0, weight, 1.0, 1.0]))
    with fails(side, "weight: expected whole numbers >= 0, got"):
        side.table(function, frame, "species", weight="weight")


TRILLION = 10**12


@pytest.mark.parametrize("function", TABLES)
@pytest.mark.parametrize(
    "weight",
    [
        [TRILLION, 0, 0, 1],
        [TRILLION // 4 + 1] * 4,
        [10**14] * 4,
        [2**62] * 4,
        [8 * 10**18, 1, 1, 1],
        [8e18, 1.0, 1.0, 1.0],
    ],
    ids=["one", "quarters", "4e14", "beyond Int64", "integer", "float"],
)
def test_weights_with_too_large_a_sum(side: Engine, function: str, weight: list[Any]) -> None:
    """Beyond 1e12 Polars' sums in fixed point overflow: B-cubed scores of -0.2, entropies < 0."""
    frame = FRAME.with_columns(weight=pl.Series(weight))
    got = f"weight: expected a sum of at most {TRILLION}, got {sum(map(int, weight))}"
    with fails(side, got) as raised:
        side.table(function, frame, "species", weight="weight")
    assert "divide the weights by a common factor" in str(raised.value)


@pytest.mark.parametrize("function", TABLES)
def test_the_sum_of_weights_is_that_of_a_partition(side: Engine, function: str) -> None:
    half = TRILLION // 2
    frame = FRAME.with_columns(weight=pl.Series([half, half, half, half]))
    rows = side.table(function, frame, "species", weight="weight", partition_by="run")
    assert {row["run"] for row in rows} == {1, 2}
    with fails(side, f"weight: expected a sum of at most {TRILLION}, got {2 * TRILLION}"):
        side.table(function, frame, "species", weight="weight")
    frame = frame.with_columns(weight=pl.Series([1, 1, half, half + 1]))
    with fails(side, f"weight: expected a sum of at most {TRILLION}, got {TRILLION + 1}"):
        side.table(function, frame, "species", weight="weight", partition_by="run")


def test_a_bad_weight_of_a_dropped_row_is_an_error_too(side: Engine) -> None:
    frame = pl.DataFrame({"species": [None, "a"], "cluster": [1, 1], "weight": [-7, 1]})
    with fails(side, "weight: expected whole numbers >= 0, got -7"):
        run_report(side, frame, weight="weight")


def test_a_weight_of_text(side: Engine) -> None:
    error = duckdb.Error if side.name == "duckdb" else ce.ClusterEvalError
    with pytest.raises(error, match=r"weight|'p'"):
        run_report(side, weight="name")


def test_whole_floats_are_weights(engine: Engine) -> None:
    frame = FRAME.with_columns(weight=pl.Series([2.0, 0.0, 1.0, 1.0]))
    [row] = report(engine, frame, label="species", weight="weight")
    assert (row["n"], row["n_clusters"]) == (4, 3)


# Names

COLUMNS_OF_RESULTS = {
    "external_report": ("n", "n_noise", "purity", "adjusted_rand_score"),
    "external_summary": ("metric", "value", "best", "meaning"),
    "entity_resolution_report": ("n", "n_noise", "k_measure", "muc_recall"),
    "external_intervals": ("metric", "value", "std_error", "upper"),
    "contingency_matrix": ("label", "cluster", "n", "copies"),
    "pair_counts": ("tp", "tn"),
    "external_cluster_report": ("cluster", "purity", "joined_pairs"),
    "external_label_report": ("label", "majority_cluster", "split_pairs"),
    "cluster_error_table": ("label", "n", "expected_extra", "splitting_entropy"),
    "matching_report": ("n", "clustering_accuracy", "ceaf_f_score"),
    "entity_resolution_estimates": ("metric", "value", "std_error", "upper"),
}


@pytest.mark.parametrize("function", TABLES)
def test_a_partition_column_named_like_a_result(side: Engine, function: str) -> None:
    for name in COLUMNS_OF_RESULTS[function]:
        frame = FRAME.select("species", pl.col("cluster").alias("c"), pl.col("run").alias(name))
        if side.name == "duckdb":
            # SQL calls the key partition_key.
            side.connection.register("assignments", frame)  # type: ignore[attr-defined]
            call = f'clustereval.{function}(assignments, species, c, partition_by := "{name}")'
            query = f"SELECT DISTINCT partition_key FROM {call} ORDER BY ALL"
            keys = side.connection.execute(query).fetchall()  # type: ignore[attr-defined]
            assert keys == [(1,), (2,)]
        else:
            words = f"partition_by: '{name}' is also a column of the result; rename it first"
            with fails(side, words):
                side.table(function, frame, "species", "c", partition_by=name)


COLUMNS_OF_GRAPHS = {
    "graph_report": ("n_nodes", "modularity", "worst_conductance"),
    "graph_cluster_report": ("cluster", "density", "diameter"),
    "graph_node_report": ("degree", "node_centrality", "n_bridges"),
    "graph_edge_report": ("left", "n_rows", "is_bridge"),
}
COLUMNS_OF_RUN_PAIRS = {
    "run_transitions": ("cluster_before", "transition", "share_after"),
    "transition_overlaps": ("jaccard", "is_link"),
    "moved_ids": ("cluster_before", "cluster_after"),
    "run_drift": ("n_moved", "churn", "population_stability_index"),
    "overlapping_report": ("n", "omega_index", "nf1"),
}
PAIRS_OF_TABLES = {**COLUMNS_OF_GRAPHS, **COLUMNS_OF_RUN_PAIRS}


@pytest.mark.parametrize("function", PAIRS_OF_TABLES)
def test_a_partition_column_of_two_tables_named_like_a_result(side: Engine, function: str) -> None:
    for name in PAIRS_OF_TABLES[function]:
        one = FRAME.select(
            pl.int_range(pl.len()).alias("key"),
            pl.col("cluster").alias("c"),
            pl.col("species").alias("s"),
            pl.col("run").alias(name),
        )
        ends = one.select(pl.col("key").alias("a"), pl.col("key").alias("b"), name)
        words = f"partition_by: '{name}' is also a column of the result; rename it first"
        if function in COLUMNS_OF_GRAPHS:
            frames, columns = (one, ends), ("key", "c", "a", "b")
            in_sql, arguments = 'one, "key", c, other, a, b', ("key", "c", ends, "a", "b")
        else:
            columns = ("key", "s", "c") if function == "overlapping_report" else ("key", "c")
            frames, arguments = (one, one), (one, *columns)
            in_sql = f"one, other, {', '.join(columns)}"
        if side.name == "duckdb":
            # SQL calls the key partition_key.
            con = side.connection  # type: ignore[attr-defined]
            for table, frame in zip(("one", "other"), frames, strict=True):
                con.register(table, frame)
            query = f'FROM clustereval.{function}({in_sql}, partition_by := "{name}")'
            keys = con.execute(f"SELECT DISTINCT partition_key {query} ORDER BY ALL").fetchall()
            # No id has moved between a run and itself.
            assert keys == ([] if function == "moved_ids" else [(1,), (2,)])
            con.unregister("one")
            con.unregister("other")
        else:
            with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
                getattr(ce, function)(one, *arguments, partition_by=name)


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
ODD = (
    'a "quoted" name',
    "it's",
    "two words",
    "größe",
    "🦆",
    "select",
    "GROUP",
    " ",
    "a.b",
    "$1",
    "*",
    "^.*$",
)
ROOT = Path(__file__).parents[2]


def text_of(folder: str, ending: str) -> str:
    """The files of one side that the external indices are made of."""
    paths = [path for part in ("base", "external") for path in (ROOT / folder / part).glob(ending)]
    return "".join(path.read_text(encoding="utf-8") for path in sorted(paths))


SQL, PYTHON = text_of("sql", "*.sql"), text_of("polars_clustereval", "*.py")
INNER = sorted(set(re.findall(r"\b__ce_\w+", SQL)))
LAMBDA = sorted(set(re.findall(r"lambda (\w+):", SQL)))
WORDS = sorted({word for word in re.findall(r'"(\w+)"', PYTHON) if word.isidentifier()})
# What a result of contingency_matrix has itself, or the frames of these tests.
CLASHES = {"label", "cluster", "n", "copies", "u", "v", "plain"}
# One of each way to go through the rows; the other metrics end in the same statistics.
SEVERAL = ("adjusted_rand_score", "v_measure_score", "purity", "bcubed_f_score")


def test_there_are_inner_names() -> None:
    assert len(INNER) > 10
    assert {"pair", "noisy"} < set(WORDS)
    assert len(LAMBDA) > 1


ROWS = [("a", 0), ("a", 0), ("a", 1), ("b", 1), ("b", 1), ("c", 1)]
CELLS = [("a", 0, 2), ("a", 1, 1), ("b", 1, 2), ("c", 1, 1)]
COUNTED = [
    dict(zip(("label", "cluster", "n"), cell, strict=True)) | {"copies": 1} for cell in CELLS
]


def odd_frame(label: str, cluster: str) -> pl.DataFrame:
    return pl.DataFrame(ROWS, schema=[label, cluster], orient="row")


def check_report(side: Engine, label: Column, cluster: Column, frame: pl.DataFrame) -> None:
    [row] = report(side, frame, label=label, cluster=cluster)
    assert_metrics(row, exact(CELLS), what=(label, cluster))


def check_scalars(side: Engine, label: Column, cluster: Column, frame: pl.DataFrame) -> None:
    wanted = exact(CELLS)
    [row] = side.scalars(frame, label, cluster, metrics=SEVERAL)
    for metric in SEVERAL:
        assert_same(row[metric], wanted[metric], bounded=True, what=f"{metric}({label}, {cluster})")


def check_columns(side: Engine, label: Column, cluster: Column, frame: pl.DataFrame) -> None:
    """Rows are read in two places only: where cells are counted and where records are."""
    cells = side.table("contingency_matrix", frame, label, cluster)
    assert [first(row) for row in cells] == COUNTED, (label, cluster)
    records = side.table("bcubed_samples", frame, label, cluster)
    pairs = [(row["label"], row["cluster"]) for row in map(first, records)]
    assert pairs == ROWS, (label, cluster)


def first(row: Row) -> Row:
    """The row with a value in place of each list of equal values."""
    for name in ("label", "cluster"):
        if isinstance(row[name], list):
            assert len(set(row[name])) == 1
            row[name] = row[name][0]
    return row


def calls(name: str) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """The name as that of label and as that of cluster, beside a plain one."""
    for label, cluster in ((name, "plain"), ("plain", name)):
        yield label, cluster, odd_frame(label, cluster)


def listed_calls(
    side: Engine, names: Sequence[str]
) -> Iterator[tuple[Column, Column, pl.DataFrame]]:
    """All names in one argument, a list of the columns: one that is captured has other values."""
    listed = side.listed(names)
    yield listed, "plain", many_names(names, LABELS, plain=CLUSTERS)
    yield "plain", listed, many_names(names, CLUSTERS, plain=LABELS)


def many_names(names: Sequence[str], values: Sequence[Any], **more: Sequence[Any]) -> pl.DataFrame:
    return pl.DataFrame(dict.fromkeys(names, values) | more)


LABELS, CLUSTERS = ([row[i] for row in ROWS] for i in (0, 1))


def inner_names(side: Engine) -> list[str]:
    """The names of inner columns; on the Polars side any word of the source can be one."""
    return INNER if side.name == "duckdb" else WORDS


@pytest.mark.parametrize("name", [*PARAMETERS, *RESULTS, *ODD])
def test_columns_of_any_name(side: Engine, name: str) -> None:
    for label, cluster, frame in calls(name):
        check_columns(side, label, cluster, frame)


def test_two_columns_named_like_parameters(side: Engine) -> None:
    """One argument has the name of the other's parameter, or both have one."""
    for label, cluster in (("cluster", "label"), ("weight", "cluster"), ("label", "tbl")):
        check_columns(side, label, cluster, odd_frame(label, cluster))


def test_columns_named_like_inner_ones(side: Engine) -> None:
    for label, cluster, frame in listed_calls(side, inner_names(side)):
        check_columns(side, label, cluster, frame)


def test_reports_and_aggregates_of_columns_of_any_name(side: Engine) -> None:
    names = sorted({*PARAMETERS, *RESULTS, *ODD, *LAMBDA, *inner_names(side)})
    for label, cluster, frame in listed_calls(side, names):
        check_report(side, label, cluster, frame)
        check_scalars(side, label, cluster, frame)


@pytest.mark.wide
def test_a_column_named_like_an_inner_one(side: Engine) -> None:
    for name in inner_names(side):
        for label, cluster, frame in calls(name):
            check_columns(side, label, cluster, frame)


@pytest.mark.wide
@pytest.mark.parametrize("name", [*PARAMETERS, *RESULTS, *ODD, *LAMBDA])
def test_reports_and_aggregates_of_a_column_of_any_name(side: Engine, name: str) -> None:
    for label, cluster, frame in calls(name):
        check_report(side, label, cluster, frame)
        check_scalars(side, label, cluster, frame)


def check_weight_and_key(side: Engine, name: str) -> None:
    frame = pl.DataFrame(CELLS, schema=["u", "v", name], orient="row")
    cells = side.table("contingency_matrix", frame, "u", "v", weight=name)
    assert cells == COUNTED, name
    keyed = odd_frame("u", "v").with_columns(pl.lit("run").alias(name))
    cells = side.table("contingency_matrix", keyed, "u", "v", partition_by=name)
    assert cells == [{name: "run"} | cell for cell in COUNTED], name


@pytest.mark.parametrize("names", [PARAMETERS[3:], ODD], ids=["parameters", "odd"])
def test_weights_and_keys_of_any_name(side: Engine, names: Sequence[str]) -> None:
    for name in names:
        check_weight_and_key(side, name)


def test_weights_and_keys_named_like_inner_ones(side: Engine) -> None:
    """The weight is the sum of all columns, which one that is captured changes."""
    names = [name for name in inner_names(side) if name not in CLASHES]
    label, cluster, counts = zip(*CELLS, strict=True)
    frame = many_names(names, counts, u=label, v=cluster)
    cells = side.table("contingency_matrix", frame, "u", "v", weight=sum_of(side, names))
    assert cells == [cell | {"n": len(names) * cell["n"]} for cell in COUNTED]
    frame = many_names(names, ["run"] * len(ROWS), u=LABELS, v=CLUSTERS)
    cells = side.table("contingency_matrix", frame, "u", "v", partition_by=names)
    assert cells == [dict.fromkeys(names, "run") | cell for cell in COUNTED]


def sum_of(side: Engine, names: Sequence[str]) -> Column:
    if side.name == "duckdb":
        return Expression(" + ".join(names))
    return pl.sum_horizontal(names, ignore_nulls=False)


@pytest.mark.wide
def test_a_weight_and_a_key_named_like_an_inner_one(side: Engine) -> None:
    for name in inner_names(side):
        if name not in CLASHES:
            check_weight_and_key(side, name)


def ctes_of(connection: duckdb.DuckDBPyConnection, function: str) -> list[str]:
    """The names of the CTEs in a macro and in all that it calls: those that can hide a table."""
    query = (
        "SELECT function_name, string_agg(macro_definition, ' ') FROM duckdb_functions() "
        "WHERE schema_name = 'clustereval' GROUP BY ALL"
    )
    definitions = dict(connection.execute(query).fetchall())
    reached, new = set(), {function}
    while new:
        reached |= new
        bodies = " ".join(definitions[name] for name in new)
        new = set(re.findall(r"clustereval\.(\w+)", bodies)) & definitions.keys() - reached
    bodies = " ".join(definitions[name] for name in reached)
    return sorted(set(re.findall(r'(\w+)"? AS (?:NOT )?(?:MATERIALIZED )?\(+\s*SELECT', bodies)))


BOUND_ONLY = (
    *("external_report", "external_summary", "external_intervals"),
    *("entity_resolution_report", "matching_report"),
)


@pytest.mark.parametrize(
    "function", [*TABLES, "bcubed_samples", "record_error_table", "clustering_summary"]
)
def test_tables_of_any_name(connection: duckdb.DuckDBPyConnection, function: str) -> None:
    frame = odd_frame("u", "v")
    ctes = ctes_of(connection, function)
    assert len(ctes) >= 3
    # No CTE has columns u and v, so that one in place of the table is an error already where
    # columns are looked up; these tables take longer than all the other ones.
    bind_only = function in BOUND_ONLY
    start = "DESCRIBE FROM" if bind_only else "FROM"
    connection.register("plain", frame)
    wanted = fetched(connection, f"{start} clustereval.{function}(plain, u, v)")
    for name in ctes if bind_only else [*PARAMETERS, *RESULTS, *ODD, *ctes]:
        connection.register(name, frame)
        # DuckDB reads a name given for a table as text, in which a quote or a dot must be quoted.
        table = literal(quoted(name)) if set(name) & set('".') else quoted(name)
        rows = fetched(connection, f"{start} clustereval.{function}({table}, u, v)")
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
