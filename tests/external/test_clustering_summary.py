"""clustering_summary: er-evaluation's numbers, the definitions by sets, names, weights, errors."""

from __future__ import annotations

import random
from collections import Counter
from math import exp, log
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.compare import assert_rows
from tests.support.engines import Engine, Expression, Row, fails, make

# A row of cluster and name, either of which may be missing.
Rows = list[tuple[int | None, str | None]]
ROWS = st.lists(
    st.tuples(st.sampled_from([None, -1, 0, 1, 2]), st.sampled_from([None, "a", "b", "c"])),
    max_size=20,
)
NOISE: list[dict[str, Any]] = [
    {},
    {"noise": -1, "noise_as": "cluster"},
    {"noise": -1, "noise_as": "drop"},
    {"noise": -1, "noise_as": "singletons"},
]
HILL = ("hill_number_0", "hill_number_1", "hill_number_2", "hill_number_inf")
NAMES = ("homonymy_rate", "name_variation_rate")
LARGEST = ("largest_cluster_size", "largest_cluster_share")
SIZES = ("matching_rate", "average_cluster_size", *LARGEST, *HILL)


def frame_of_names(rows: Rows) -> pl.DataFrame:
    schema = {"cluster": pl.Int64, "name": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def stack_cases_of_names(cases: list[Rows]) -> pl.DataFrame:
    frames = [frame_of_names(rows).with_columns(run=pl.lit(i)) for i, rows in enumerate(cases)]
    return pl.concat(frames)


def summaries(
    engine: Engine, frame: pl.DataFrame, name: str | None = "name", **arguments: Any
) -> list[Row]:
    """The table stands in place of label and cluster, the columns that other tables begin with."""
    absent: Any = Expression("NULL") if engine.name == "duckdb" else None
    second = absent if name is None else name
    return engine.table("clustering_summary", frame, "cluster", second, **arguments)


def summary_of(
    rows: Rows, *, noise: int | None = None, noise_as: str = "cluster", named: bool = True
) -> Row:
    """The definition, over the sets of rows of the clusters."""
    members: dict[Any, list[str | None]] = {}
    for i, (cluster, name) in enumerate(rows):
        if cluster is None or (noise_as == "drop" and cluster == noise):
            continue
        alone = noise_as == "singletons" and cluster == noise
        members.setdefault(("row", i) if alone else cluster, []).append(name)
    sizes = [len(names) for names in members.values()]
    n, k = sum(sizes), len(sizes)
    counts = {
        "n": n,
        "n_dropped": sum(cluster is None for cluster, _ in rows),
        "n_noise": sum(cluster is not None and cluster == noise for cluster, _ in rows),
        "n_clusters": k,
    }
    if k == 0:
        return counts | dict.fromkeys((*SIZES, *NAMES))
    shares = [m / k for m in Counter(sizes).values()]
    names = {key: {name for name in of if name is not None} for key, of in members.items()}
    with_name = [key for key, own in names.items() if own]
    homonyms = [
        key
        for key in with_name
        if any(names[key] & names[other] for other in with_name if other != key)
    ]
    known = named and bool(with_name)
    return counts | {
        "matching_rate": sum(size for size in sizes if size > 1) / n,
        "average_cluster_size": n / k,
        "largest_cluster_size": max(sizes),
        "largest_cluster_share": max(sizes) / n,
        "hill_number_0": float(len(shares)),
        "hill_number_1": exp(-sum(p * log(p) for p in shares)),
        "hill_number_2": 1 / sum(p * p for p in shares),
        "hill_number_inf": 1 / max(shares),
        "homonymy_rate": len(homonyms) / len(with_name) if known else None,
        "name_variation_rate": (sum(len(own) > 1 for own in names.values()) / k if known else None),
    }


# Degenerate tables ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["name", None])
def test_no_rows(engine: Engine, name: str | None) -> None:
    nothing = dict.fromkeys((*SIZES, *NAMES))
    zero = {"n": 0, "n_dropped": 0, "n_noise": 0, "n_clusters": 0}
    assert summaries(engine, frame_of_names([]), name) == [zero | nothing]
    dropped = frame_of_names([(None, "a"), (None, None)])
    assert summaries(engine, dropped, name) == [zero | {"n_dropped": 2} | nothing]
    noise = frame_of_names([(-1, "a")])
    found = summaries(engine, noise, name, noise=-1, noise_as="drop")
    assert found == [zero | {"n_noise": 1} | nothing]
    stacked = stack_cases_of_names([[(None, "a")]])
    of_run = [{"run": 0} | zero | {"n_dropped": 1} | nothing]
    assert summaries(engine, stacked, name, partition_by="run") == of_run


ONES = dict.fromkeys(HILL, 1.0)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(7, "a")], {"matching_rate": 0.0, "homonymy_rate": 0.0, "name_variation_rate": 0.0}),
        ([(7, "a")] * 3, {"matching_rate": 1.0, "homonymy_rate": 0.0, "name_variation_rate": 0.0}),
        ([(7, "a"), (7, "b")], {"homonymy_rate": 0.0, "name_variation_rate": 1.0}),
        ([(i, "a") for i in range(3)], {"matching_rate": 0.0, "homonymy_rate": 1.0}),
        # Only the clusters with a name can share one, but all can vary.
        ([(0, "a"), (1, None)], {"homonymy_rate": 0.0, "name_variation_rate": 0.0}),
        ([(0, "a"), (0, "b"), (1, None), (1, None)], {"name_variation_rate": 0.5}),
        ([(0, None), (1, None)], {"homonymy_rate": None, "name_variation_rate": None}),
        # A NULL is not a name of its own, and does not make a second one.
        ([(0, "a"), (0, None)], {"homonymy_rate": 0.0, "name_variation_rate": 0.0}),
    ],
    ids=str,
)
def test_degenerate(engine: Engine, rows: Rows, expected: dict[str, Any]) -> None:
    [row] = summaries(engine, frame_of_names(rows))
    assert {name: row[name] for name in expected} == expected
    assert {name: row[name] for name in HILL} == ONES


def test_without_names(engine: Engine) -> None:
    """The columns are there, and NULL; the others are those with names."""
    frame = stack_cases_of_names(CASES)
    for options in NOISE:
        found = summaries(engine, frame, None, partition_by="run", **options)
        wanted = [
            {"run": run} | summary_of(rows, **options, named=False)
            for run, rows in enumerate(CASES)
        ]
        assert_rows(found, [row for row in wanted if row["n"]])


def test_all_names_are_null_in_one_partition(engine: Engine) -> None:
    frame = stack_cases_of_names([[(0, None), (1, None)], [(0, "a"), (1, "a")]])
    first, last = summaries(engine, frame, partition_by="run")
    assert [first[name] for name in NAMES] == [None, None]
    assert [last[name] for name in NAMES] == [1.0, 0.0]


# Other authors' numbers ----------------------------------------------------------------------


def test_the_numbers_of_er_evaluation(engine: Engine) -> None:
    """summary_statistics and cluster_hill_number(alpha=inf) of er-evaluation 2.3.0.

    The size of the largest cluster is counted by hand.
    """
    clusters = [1, 1, 2, 3, 2, 4, 4, 4]
    names = ["n1", "n2", "n3", "n4", "n3", "n1", "n2", "n8"]
    [row] = summaries(engine, frame_of_names(list(zip(clusters, names, strict=True))))
    values = (0.875, 2.0, 3, 0.375, 3.0, 2.82842712474619, 2.6666666666666665, 2.0, 0.5, 0.5)
    assert [row[name] for name in (*SIZES, *NAMES)] == pytest.approx(values, abs=1e-12)
    assert row["n_clusters"] == 4

    clusters = [0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 6, 6]
    given = ["a", "a", None, "b", "b", None, "c", "c", "d", "d", None, "e", "f", "a"]
    [row] = summaries(engine, frame_of_names(list(zip(clusters, given, strict=True))))
    values = (
        *(
            0.7857142857142857,
            2.0,
            4,
            0.2857142857142857,
            4.0,
            3.5859888270569535,
            3.2666666666666666,
        ),
        *(2.3333333333333335, 0.8333333333333334, 0.2857142857142857),
    )
    assert [row[name] for name in (*SIZES, *NAMES)] == pytest.approx(values, abs=1e-12)
    assert row["n_clusters"] == 7


# The definition ------------------------------------------------------------------------------


def random_names(seed: int) -> Rows:
    rng = random.Random(seed)
    clusters, names = rng.randint(1, 12), rng.randint(1, 20)
    return [
        (
            None if rng.random() < 0.1 else rng.randrange(-1, clusters),
            None if rng.random() < 0.2 else f"n{rng.randrange(names)}",
        )
        for _ in range(rng.randint(1, 40))
    ]


CASES = [random_names(seed) for seed in range(60)]


@pytest.mark.parametrize("noise", NOISE, ids=str)
def test_the_definition(engine: Engine, noise: dict[str, Any]) -> None:
    """All cases as partitions of one table: names are shared within a partition only."""
    found = summaries(engine, stack_cases_of_names(CASES), partition_by="run", **noise)
    wanted = [{"run": run} | summary_of(rows, **noise) for run, rows in enumerate(CASES)]
    assert_rows(found, [row for row in wanted if row["n"]])


@given(rows=ROWS, noise=st.sampled_from(NOISE))
def test_the_definition_of_any_rows(engine: Engine, rows: Rows, noise: dict[str, Any]) -> None:
    frame = frame_of_names(rows)
    assert_rows(summaries(engine, frame, **noise), [summary_of(rows, **noise)])
    wanted = summary_of(rows, **noise, named=False)
    assert_rows(summaries(engine, frame, None, **noise), [wanted])


# What must not matter ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["name", None])
def test_weights_are_repetitions(engine: Engine, name: str | None) -> None:
    rng = random.Random(3)
    weights = [rng.randrange(4) for _ in CASES[5]]
    repeated = [row for row, n in zip(CASES[5], weights, strict=True) for _ in range(n)]
    weighted = frame_of_names(CASES[5]).with_columns(w=pl.Series(weights))
    for options in NOISE:
        found = summaries(engine, weighted, name, weight="w", **options)
        assert_rows(found, summaries(engine, frame_of_names(repeated), name, **options))


def test_a_contingency_table_stands_for_its_rows(engine: Engine) -> None:
    rows = [(cluster, name) for cluster, name in CASES[5] if name is not None]
    cells = engine.table("contingency_matrix", frame_of_names(rows), "name", "cluster")
    kept = pl.DataFrame(cells).rename({"label": "name"})
    found = summaries(engine, kept, weight="n")
    wanted = summaries(engine, frame_of_names([row for row in rows if row[0] is not None]))
    assert_rows(found, wanted)


def test_row_order_and_types(engine: Engine) -> None:
    frame = frame_of_names(CASES[9])
    wanted = summaries(engine, frame)
    assert_rows(summaries(engine, frame.reverse()), wanted)
    words = frame.select(
        pl.col("cluster").cast(pl.String), pl.col("name").cast(pl.Categorical)
    ).sample(fraction=1, shuffle=True, seed=2)
    assert_rows(summaries(engine, words), wanted)
    numbers = frame.with_columns(pl.col("name").str.tail(-1).cast(pl.Float64))
    assert_rows(summaries(engine, numbers), wanted)


def test_several_partition_columns(engine: Engine) -> None:
    frame = stack_cases_of_names(CASES[:6]).with_columns(day=pl.col("run") % 2)
    found = summaries(engine, frame, partition_by=["day", "run"])
    order = sorted(range(6), key=lambda run: (run % 2, run))
    wanted = [{"day": run % 2, "run": run} | summary_of(CASES[run]) for run in order]
    assert_rows(found, wanted)


def test_the_null_partition_is_the_last(engine: Engine) -> None:
    frame = stack_cases_of_names(CASES[:2]).with_columns(run=pl.when(pl.col("run") > 0).then("run"))
    found = summaries(engine, frame, partition_by="run")
    wanted = [{"run": 1} | summary_of(CASES[1]), {"run": None} | summary_of(CASES[0])]
    assert_rows(found, wanted)


def test_counts_that_do_not_fit_into_64_bits(engine: Engine) -> None:
    """The square of the number of clusters, if a trillion rows of noise are singletons."""
    n = 999_999_999_998
    frame = pl.DataFrame({"cluster": [-1, 0], "name": ["a", "b"], "w": [n, 2]})
    [row] = summaries(engine, frame, weight="w", noise=-1, noise_as="singletons")
    k = n + 1
    assert row["n_clusters"] == k
    assert row["hill_number_2"] == pytest.approx(k * k / (n * n + 1), rel=1e-15)
    assert row["homonymy_rate"] == pytest.approx(n / k, rel=1e-15)
    assert (row["largest_cluster_size"], row["largest_cluster_share"]) == (2, 2 / (n + 2))
    assert row["name_variation_rate"] == 0.0


# Errors --------------------------------------------------------------------------------------


def test_columns_that_are_not_there(side: Engine) -> None:
    frame = frame_of_names([(0, "a")]).rename({"name": "full_name"})
    words = "name: column 'full_nam' not found; did you mean 'full_name'?"
    with fails(side, words if side.name == "polars" else '"full_nam" not found'):
        summaries(side, frame, "full_nam")


def test_a_quoted_name_is_an_error() -> None:
    engine: Any = make("duckdb")
    engine.connection.register("assignments", frame_of_names([(0, "a")]))
    for argument, words in (
        ("cluster, name := 'name'", "name: expected a column, got the quoted string 'name'"),
        ("'cluster'", "cluster: expected a column, got the quoted string 'cluster'"),
        ("cluster, weight := 'name'", "weight: expected a column, got the quoted string 'name'"),
        ("cluster, partition_by := 'name'", "partition_by: expected a column, got the quoted"),
    ):
        with fails(engine, words):
            engine.connection.execute(
                f"FROM clustereval.clustering_summary(assignments, {argument})"
            )


def test_bad_weights_and_options(side: Engine) -> None:
    frame = frame_of_names([(0, "a")]).with_columns(w=pl.lit(-1), z=pl.lit(1.5))
    for column, shown in (("w", "-1"), ("z", "1.5")):
        with fails(side, f"weight: expected whole numbers >= 0, got {shown}"):
            summaries(side, frame, weight=column)
    with fails(side, "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'keep'"):
        summaries(side, frame, noise=-1, noise_as="keep")
    with fails(side, "noise_as 'drop' needs noise"):
        summaries(side, frame, noise_as="drop")
    with fails(side, "noise: expected a value of the type of cluster (BIGINT), got 'x'"):
        summaries(side, frame, noise="x", noise_as="cluster")


@pytest.mark.parametrize("name", ["n", "n_clusters", "hill_number_inf", "homonymy_rate"])
def test_a_partition_column_named_like_a_result(name: str) -> None:
    polars = make("polars")
    frame = pl.DataFrame({"c": [0], name: [1]})
    words = f"partition_by: '{name}' is also a column of the result; rename it first"
    with fails(polars, words):
        polars.table("clustering_summary", frame, "c", "c", partition_by=name)
