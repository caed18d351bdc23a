"""Bad input: the same error text on both sides, from every table and from what it reads rows by."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base.checks import check_beta
from tests.support import registry
from tests.support.compare import assert_rows
from tests.support.doors import refused, refused_labels, refused_values, row_groups_sql
from tests.support.engines import (
    TABLES,
    DuckDB,
    Engine,
    Expression,
    fails,
    make,
    quoted,
    report,
)
from tests.support.oracle import COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.each

FRAME = pl.DataFrame(
    {
        "species": ["a", "a", "b", "b"],
        "cluster": [0, 0, 1, -1],
        "run": [1, 1, 2, 2],
        "name": ["p", "q", "q", "-1"],
    }
)
EMPTY = FRAME.clear()
FRAMES = {"rows": FRAME, "no rows": EMPTY}
WITH_BETA = ("pair_f_score", "v_measure_score", "bcubed_f_score")


def run_report(engine: Engine, frame: pl.DataFrame = FRAME, **arguments: Any) -> None:
    report(engine, frame, **{"label": "species"} | arguments)


@pytest.fixture
def assignments() -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor of the registered connection, with the frames of this file."""
    with make("duckdb").connection.cursor() as cursor:  # type: ignore[union-attr]
        cursor.register("assignments", FRAME)
        cursor.register("nothing", EMPTY)
        yield cursor


# Every table


@pytest.mark.parametrize("function", TABLES)
def test_a_table_in_sql_refuses_what_its_checks_refuse(function: str) -> None:
    """One fault of each check: the planner leaves out a check whose result the table ignores."""
    duck = make("duckdb")
    for fault, frame, arguments in (
        ("label: expected a column, got", EMPTY, {"label": Expression("'species'")}),
        ("noise_as: expected one of", EMPTY, {"noise": -1, "noise_as": "keep"}),
        ("noise: expected a value of the", FRAME, {"noise": "abc", "noise_as": "drop"}),
        ("weight: expected whole numbers", FRAME, {"weight": Expression("-1")}),
        ("weight: expected a sum of", FRAME, {"weight": Expression("1e12")}),
    ):
        given: dict[str, Any] = {"label": "species"} | arguments
        what = f"{function}({arguments})"
        refused(duck, fault, what, partial(duck.table, function, frame, **given))


# Columns and tables


@pytest.mark.parametrize("parameter", ["label", "cluster", "weight", "partition_by"])
def test_a_misspelt_column(side: Engine, parameter: str) -> None:
    columns: dict[str, Any] = {"label": "species", "cluster": "cluster"} | {parameter: "specis"}
    words = "specis" if side.name == "duckdb" else f"{parameter}: column 'specis' not found"
    for message in refused_labels(side, words, FRAME, **columns):
        assert re.search("'species'|\"species\"", message)


@pytest.mark.parametrize("function", TABLES)
def test_a_misspelt_column_of_a_table_in_sql(function: str) -> None:
    with fails(make("duckdb"), "specis") as raised:
        make("duckdb").table(function, EMPTY, "specis")
    assert '"species"' in str(raised.value)


def test_a_misspelt_id() -> None:
    with pytest.raises(ce.ClusterEvalError, match=r"id: column 'nam' not found.*'name'"):
        ce.bcubed_samples(FRAME, "species", "cluster", "nam")


def test_a_missing_column_with_no_twin_lists_the_columns() -> None:
    with pytest.raises(ce.ClusterEvalError, match=r"'zzz' not found.*columns: .*species.*cluster"):
        ce.external_report(FRAME, "zzz", "cluster")


def test_a_missing_table(assignments: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match=r"(?s)assignment .*assignments"):
        assignments.execute("FROM clustereval.external_report(assignment, species, cluster)")


def test_what_is_no_frame() -> None:
    with pytest.raises((ce.ClusterEvalError, TypeError), match="str"):
        ce.external_report("assignments", "species", "cluster")  # type: ignore[type-var]


@pytest.mark.parametrize("parameter", ["label", "cluster", "weight", "partition_by"])
@pytest.mark.parametrize("frame", FRAMES)
def test_a_quoted_column(parameter: str, frame: str) -> None:
    columns: dict[str, Any] = {"label": "species", "cluster": "cluster"}
    columns |= {parameter: Expression("'species'")}
    words = (
        f"{parameter}: expected a column, got the quoted string 'species'; write it without quotes"
    )
    refused_labels(make("duckdb"), words, FRAMES[frame], **columns)


@pytest.mark.parametrize("table", ["assignments", "nothing"])
@pytest.mark.parametrize("parameter", ["label", "cluster", "id", "partition_by"])
@pytest.mark.parametrize("macro", registry.tables("records"))
def test_a_quoted_column_of_records(
    assignments: duckdb.DuckDBPyConnection, macro: str, table: str, parameter: str
) -> None:
    columns = {"label": "species", "cluster": "cluster", "id": "name", "partition_by": "run"}
    given = (columns | {parameter: "'it'"}).items()
    arguments = ", ".join(f"{name} := {column}" for name, column in given)
    words = f"{parameter}: expected a column, got the quoted string 'it'; write it without"
    query = f"FROM clustereval.{macro}(tbl := {table}, {arguments})"
    with pytest.raises(duckdb.Error, match=re.escape(words)):
        assignments.execute(query).fetchall()


@pytest.mark.parametrize(
    ("metric", "arguments", "words"),
    [
        ("adjusted_rand_score", "'species', cluster", "label: expected a column.*'species'"),
        ("mutual_info_score", "species, 'cluster'", "cluster: expected a column.*'cluster'"),
        ("purity", "'it''s', cluster", "label: expected a column.*it''s"),
    ],
)
def test_a_quoted_column_in_an_aggregate(
    assignments: duckdb.DuckDBPyConnection, metric: str, arguments: str, words: str
) -> None:
    with pytest.raises(duckdb.Error, match=words):
        assignments.execute(f"SELECT clustereval.{metric}({arguments}) FROM assignments")


@pytest.mark.parametrize("parameter", ["label", "cluster"])
def test_a_column_that_cannot_be_grouped(parameter: str) -> None:
    frame = FRAME.with_columns(odd=pl.Series([object()] * 4, dtype=pl.Object))
    columns: dict[str, Any] = {"label": "species", "cluster": "cluster"} | {parameter: "odd"}
    with pytest.raises(
        ce.ClusterEvalError, match=f"{parameter}: a column of type Object cannot be grouped"
    ):
        ce.external_report(frame, **columns)


# Options

FOUR = "average_method: expected one of 'arithmetic', 'geometric', 'min', 'max'"
#: Arguments of external_report, and the words of its error.
BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"average_method": "mean"}, f"{FOUR}, 'joint', got 'mean'"),
    ({"average_method": "mean", "adjusted": False}, f"{FOUR}, 'joint', got 'mean'"),
    (
        {"average_method": "joint"},
        "average_method 'joint' has no adjusted form: use adjusted := false, or another average",
    ),
    ({"beta": -1}, "beta: expected a number >= 0, got -1"),
    ({"beta": -0.5}, "beta: expected a number >= 0, got -0.5"),
]


def test_bad_options_of_reports(side: Engine) -> None:
    """In SQL, the check of the options itself; the reports in Polars refuse as fast as it does."""
    for arguments, words in BAD_OPTIONS:
        if isinstance(side, DuckDB):
            options = {"average_method": "arithmetic", "beta": 1, "adjusted": True} | arguments
            refused_values(
                side, words, "_valid_external_options", None, "cluster", *options.values()
            )
        else:
            for name, frame in FRAMES.items():
                refused(side, words, name, partial(run_report, side, frame, **arguments))


def test_a_bad_option_of_a_report_with_or_without_rows(side: Engine) -> None:
    for function in ("external_report", "external_summary", "external_intervals"):
        for arguments, words in BAD_OPTIONS[1:4]:
            ask = partial(side.table, function, EMPTY, "species", **arguments)
            refused(side, words, f"{function}({arguments})", ask)
    for arguments, words in BAD_OPTIONS[1:4]:
        refused(side, words, str(arguments), partial(run_report, side, FRAME, **arguments))


BAD_ARGUMENTS: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
    (("adjusted_mutual_info_score",), {"average_method": "mean"}, f"{FOUR}, got 'mean'"),
    (("adjusted_mutual_info_score",), {"average_method": "joint"}, f"{FOUR}, got 'joint'"),
    (("normalized_mutual_info_score",), {"average_method": "mean"}, f"{FOUR}, 'joint', got 'mean'"),
    (WITH_BETA, {"beta": -1}, "beta: expected a number >= 0, got -1"),
    (WITH_BETA[:1], {"beta": -0.5}, "beta: expected a number >= 0, got -0.5"),
]


@pytest.mark.parametrize("case", range(len(BAD_ARGUMENTS)))
def test_a_bad_option_of_an_aggregate(side: Engine, case: int) -> None:
    metrics, arguments, words = BAD_ARGUMENTS[case]
    for metric in metrics:
        ask = partial(side.scalars, FRAME, "species", metrics=[metric], **arguments)
        refused(side, words, metric, ask)
    ask = partial(side.scalars, EMPTY, "species", metrics=metrics[:1], **arguments)
    refused(side, words, "no rows", ask)


@pytest.mark.parametrize(
    ("beta", "got"), [(-1, "-1"), (-0.5, "-0.5"), (math.nan, "nan"), (math.inf, "inf")]
)
def test_a_bad_beta(side: Engine, beta: float, got: str) -> None:
    words = f"beta: expected a number >= 0, got {got}"
    if isinstance(side, DuckDB):
        refused_values(side, words, "_check_beta", beta)
    else:
        refused(side, words, got, partial(check_beta, beta))


@pytest.mark.parametrize("frame", FRAMES)
def test_an_unknown_way_with_noise(side: Engine, frame: str) -> None:
    words = "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'keep'"
    if isinstance(side, DuckDB):
        refused_values(side, words, "_valid_noise", -1, "keep")
    else:
        refused_labels(side, words, FRAMES[frame], "species", noise=-1, noise_as="keep")


@pytest.mark.parametrize("noise_as", ["drop", "singletons"])
def test_a_way_with_no_noise(side: Engine, noise_as: str) -> None:
    words = f"noise_as '{noise_as}' needs noise: give the value of cluster that marks noise"
    if isinstance(side, DuckDB):
        refused_values(side, words, "_valid_noise", None, noise_as)
    else:
        refused_labels(side, words, FRAME, "species", noise_as=noise_as)


@pytest.mark.parametrize(
    ("noise", "got"), [("abc", "got 'abc' (VARCHAR)"), (1.5, "got '1.5' ("), ("1.5", "got '1.5' (")]
)
@pytest.mark.parametrize("frame", FRAMES)
def test_noise_of_another_type(side: Engine, frame: str, noise: object, got: str) -> None:
    words = f"noise: expected a value of the type of cluster (BIGINT), {got}"
    refused_labels(side, words, FRAMES[frame], "species", noise=noise, noise_as="cluster")


def test_noise_that_the_type_cannot_hold(side: Engine) -> None:
    frame = FRAME.with_columns(cluster=pl.lit(1, pl.UInt8))
    words = "noise: expected a value of the type of cluster (UTINYINT), got '-1'"
    refused_labels(side, words, frame, "species", noise=-1, noise_as="cluster")


NOISE_OF_CLUSTERS = [("name", -1), ("name", "-1"), ("cluster", "-1"), ("cluster", -1.0)]


def test_noise_is_cast_to_the_type_of_cluster(side: Engine) -> None:
    for cluster, noise in NOISE_OF_CLUSTERS:
        given: dict[str, Any] = {"cluster": cluster, "noise": noise, "noise_as": "drop"}
        rows = side.table("contingency_matrix", FRAME, "species", **given)
        assert sum(row["n"] for row in rows) == 3, given
    for given in ({"cluster": "name", "noise": -1}, {"cluster": "cluster", "noise": "-1"}):
        [row] = report(side, FRAME, label="species", noise_as="drop", **given)
        assert (row["n"], row["n_noise"]) == (3, 1), given


# Weights

ADVICE = "; a weight is how many times its row counts"
NO_COUNTS: list[tuple[list[Any], str]] = [
    ([1, 2, -1, 3], f"-1{ADVICE}"),
    ([1.0, 2.5, 1.0, 1.0], f"2.5{ADVICE}"),
    ([1, None, 1, 1], f"NULL{ADVICE}"),
    ([1.0, float("nan"), 1.0, 1.0], f"nan{ADVICE}"),
    ([1.0, float("inf"), 1.0, 1.0], f"inf{ADVICE}"),
    ([1.0, 9e18, 1.0, 1.0], ""),
    ([1.0, 1e19, 1.0, 1.0], ""),
    ([1.0, 1e300, 1.0, 1.0], ""),
]


def test_a_weight_that_counts_nothing(side: Engine) -> None:
    for weight, got in NO_COUNTS:
        frame = FRAME.with_columns(weight=pl.Series(weight))
        words = f"weight: expected whole numbers >= 0, got {got}"
        for message in refused_labels(side, words, frame, "species", weight="weight"):
            assert message.endswith(ADVICE), weight


TRILLION = 10**12
TOO_LARGE = {
    "one": [TRILLION, 0, 0, 1],
    "quarters": [TRILLION // 4 + 1] * 4,
    "4e14": [10**14] * 4,
    "beyond Int64": [2**62] * 4,
    "integer": [8 * 10**18, 1, 1, 1],
    "float": [8e18, 1.0, 1.0, 1.0],
}
TOO_LARGE_A_SUM = f"weight: expected a sum of at most {TRILLION}, got"
DIVIDE = "divide the weights by a common factor"


def test_weights_with_too_large_a_sum(side: Engine) -> None:
    """Beyond 1e12 Polars' sums in fixed point overflow: B-cubed scores of -0.2, entropies < 0."""
    for weight in TOO_LARGE.values():
        frame = FRAME.with_columns(weight=pl.Series(weight))
        words = f"{TOO_LARGE_A_SUM} {sum(map(int, weight))}; {DIVIDE}"
        refused_labels(side, words, frame, "species", weight="weight")


def test_the_sum_of_weights_is_that_of_a_partition(side: Engine) -> None:
    half = TRILLION // 2
    fine = FRAME.with_columns(weight=pl.Series([half, half, half, half]))
    words = f"{TOO_LARGE_A_SUM} {2 * TRILLION}; {DIVIDE}"
    refused_labels(side, words, fine, "species", weight="weight")
    frame = fine.with_columns(weight=pl.Series([1, 1, half, half + 1]))
    words = f"{TOO_LARGE_A_SUM} {TRILLION + 1}; {DIVIDE}"
    refused_labels(side, words, frame, "species", weight="weight", partition_by="run")
    if isinstance(side, DuckDB):
        query = f"FROM {row_groups_sql('species', 'cluster', weight='weight', partition_by='run')}"
        found = {row["partition_key"] for row in side.rows(query, fine)}
        assert found == {1, 2}


@pytest.mark.parametrize("function", TABLES)
def test_large_weights_in_several_partitions(side: Engine, function: str) -> None:
    half = TRILLION // 2
    frame = FRAME.with_columns(weight=pl.Series([half, half, half, half]))
    rows = side.table(function, frame, "species", weight="weight", partition_by="run")
    assert {row["run"] for row in rows} == {1, 2}


def test_a_bad_weight_of_a_dropped_row_is_an_error_too(side: Engine) -> None:
    frame = pl.DataFrame({"species": [None, "a"], "cluster": [1, 1], "weight": [-7, 1]})
    words = "weight: expected whole numbers >= 0, got -7"
    refused_labels(side, words, frame, "species", weight="weight")


def test_a_weight_of_text(side: Engine) -> None:
    for message in refused_labels(side, "", FRAME, "species", weight="name"):
        assert re.search(r"weight|'p'", message)


def test_whole_floats_are_weights(engine: Engine) -> None:
    frame = FRAME.with_columns(weight=pl.Series([2.0, 0.0, 1.0, 1.0]))
    [row] = report(engine, frame, label="species", weight="weight")
    assert (row["n"], row["n_clusters"]) == (4, 3)


# Names

COLUMNS_OF_RESULTS = {
    "external_report": ("n", "n_noise", "purity", "adjusted_rand_score"),
    "external_summary": ("metric", "value", "best", "meaning", "family"),
    "entity_resolution_report": ("n", "n_noise", "k_measure", "muc_recall"),
    "external_intervals": ("metric", "value", "std_error", "upper", "reason"),
    "contingency_matrix": ("label", "cluster", "n", "copies"),
    "pair_counts": ("tp", "tn"),
    "external_cluster_report": ("cluster", "purity", "joined_pairs"),
    "external_label_report": ("label", "majority_cluster", "split_pairs"),
    "external_findings": ("severity", "code", "value", "finding"),
    "cluster_error_table": ("label", "n", "expected_extra", "splitting_entropy"),
    "matching_report": ("n", "clustering_accuracy", "ceaf_f_score"),
    "matching_table": ("label", "n", "recall", "precision"),
    "entity_resolution_estimates": ("metric", "value", "reason", "upper"),
}


@pytest.mark.parametrize("function", TABLES)
def test_a_partition_column_named_like_a_result(side: Engine, function: str) -> None:
    names = COLUMNS_OF_RESULTS[function]
    runs = [pl.col("run").alias(name) for name in names]
    if isinstance(side, DuckDB):
        # SQL calls the key partition_key.
        frame = FRAME.select("species", pl.col("cluster").alias("c"), *runs)
        fields = ", ".join(map(quoted, names))
        call = f"clustereval.{function}(assignments, species, c, partition_by := [{fields}])"
        query = f"SELECT DISTINCT partition_key AS key FROM {call} ORDER BY ALL"
        found = [row["key"] for row in side.rows(query, frame)]
        assert found == [[1] * len(names), [2] * len(names)]
        return
    for name, run in zip(names, runs, strict=True):
        frame = FRAME.select("species", pl.col("cluster").alias("c"), run)
        words = f"partition_by: '{name}' is also a column of the result; rename it first"
        ask = partial(side.table, function, frame, "species", "c", partition_by=name)
        refused(side, words, name, ask)


COLUMNS_OF_GRAPHS = {
    "graph_report": ("n_nodes", "modularity", "worst_conductance"),
    "graph_cluster_report": ("cluster", "density", "diameter"),
    "graph_node_report": ("degree", "node_centrality", "n_bridges"),
    "graph_edge_report": ("left", "n_rows", "is_bridge"),
    "pair_label_report": ("n_pairs", "tp", "pair_f_score_upper"),
    "neighborhood_report": ("n_neighbors", "lisi", "modularity"),
    "neighborhood_clusters": ("cluster", "n", "largest_component_share"),
    "neighborhood_samples": ("neighbor_purity", "kbet_p_value"),
}
COLUMNS_OF_RUN_PAIRS = {
    "run_transitions": ("cluster_before", "transition", "share_after"),
    "transition_overlaps": ("jaccard", "is_link"),
    "moved_ids": ("cluster_before", "cluster_after"),
    "affected_ids": ("cluster_before", "n_kept", "n_gained"),
    "run_drift": ("n_moved", "churn", "population_stability_index"),
    "overlapping_report": ("n", "omega_index", "nf1"),
}
PAIRS_OF_TABLES = {**COLUMNS_OF_GRAPHS, **COLUMNS_OF_RUN_PAIRS}


@pytest.mark.parametrize("function", PAIRS_OF_TABLES)
def test_a_partition_column_of_two_tables_named_like_a_result(side: Engine, function: str) -> None:
    names = PAIRS_OF_TABLES[function]
    one = FRAME.select(
        pl.int_range(pl.len()).alias("key"),
        pl.col("cluster").alias("c"),
        pl.col("species").alias("s"),
        *(pl.col("run").alias(name) for name in names),
    )
    ends = one.select(pl.col("key").alias("a"), pl.col("key").alias("b"), *names)
    if function in COLUMNS_OF_GRAPHS:
        other, in_sql = ends, 'assignments, "key", c, other, a, b'
        arguments: tuple[Any, ...] = ("key", "c", ends, "a", "b")
        if function == "pair_label_report":
            in_sql, arguments = f"{in_sql}, a = b", (*arguments, pl.col("a") == pl.col("b"))
    else:
        columns = ("key", "s", "c") if function == "overlapping_report" else ("key", "c")
        other, in_sql = one, f"assignments, other, {', '.join(columns)}"
        arguments = (one, *columns)
    if isinstance(side, DuckDB):
        # SQL calls the key partition_key.
        fields = ", ".join(map(quoted, names))
        query = f"FROM clustereval.{function}({in_sql}, partition_by := [{fields}])"
        query = f"SELECT DISTINCT partition_key AS key {query} ORDER BY ALL"
        rows = side.ask(query, assignments=one, other=other)
        # No id has moved between a run and itself, or has other companions.
        wanted = (
            []
            if function in ("moved_ids", "affected_ids")
            else [[1] * len(names), [2] * len(names)]
        )
        assert [row["key"] for row in rows] == wanted
        return
    for name in names:
        words = f"partition_by: '{name}' is also a column of the result; rename it first"
        ask = partial(getattr(ce, function), one, *arguments, partition_by=name)
        refused(side, words, name, ask)


def test_several_partition_columns(engine: Engine) -> None:
    rows = [("a", 0), ("a", 0), ("a", 1), ("b", 1), ("b", 1), ("c", 1)]
    frame = pl.DataFrame(
        [(*row, i % 2, day) for i, row in enumerate(rows) for day in ("mon", "tue")],
        schema=["label", "cluster", "run", "the day"],
        orient="row",
    ).with_columns(both=pl.format("{} {}", "run", "the day"))
    found = report(engine, frame, partition_by=["run", "the day"])
    keys = [(0, "mon"), (0, "tue"), (1, "mon"), (1, "tue")]
    assert [(row["run"], row["the day"]) for row in found] == keys
    for row in found:
        assert [*row][2:7] == list(COUNTS)
    alone = report(engine, frame, partition_by="both")
    assert [row.pop("both") for row in alone] == ["0 mon", "0 tue", "1 mon", "1 tue"]
    assert_rows([{name: row[name] for name in alone[0]} for row in found], alone)
    [first] = report(engine, frame.filter(pl.col("both") == "0 mon"))
    assert_rows(alone[:1], [first])


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
