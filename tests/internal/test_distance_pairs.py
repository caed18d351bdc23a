"""Tables from a table of pairs: by hand, against scikit-learn and against the tables of vectors."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import silhouette_samples

import polars_clustereval as ce
from polars_clustereval.external.contingency import LabelOptions
from polars_clustereval.external.graph_counts import GraphColumns, read_graph
from polars_clustereval.internal.distance_pairs import MeasuredPoints
from tests.support import registry
from tests.support.engines import DuckDB, Engine, Row, fails, make
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TABLES = registry.tables("distances")
POINT = {"id": pl.String, "cluster": pl.Int64}
PAIR = {"left": pl.String, "right": pl.String, "distance": pl.Float64}
COLUMNS = ("id", "cluster", "left", "right", "distance")


def ask(
    engine: Engine,
    table: str,
    points: pl.DataFrame,
    pairs: pl.DataFrame,
    columns: Sequence[str] = COLUMNS,
    **options: Any,
) -> list[Row]:
    name = f"{table}_from_distances".replace("_from_distances" * 2, "_from_distances")
    return engine.call(name, points, *columns[:2], pairs, *columns[2:], **options)


def points_of(clusters: Iterable[int | None]) -> pl.DataFrame:
    """Points a, b, c, ... with these clusters."""
    rows = [(chr(97 + i), cluster) for i, cluster in enumerate(clusters)]
    return pl.DataFrame(rows, schema=POINT, orient="row")


def pairs_of(places: Sequence[float]) -> pl.DataFrame:
    """All pairs of points a, b, c, ... at these places on a line."""
    rows = [
        (chr(97 + i), chr(97 + j), abs(float(places[i]) - places[j]))
        for i, j in itertools.combinations(range(len(places)), 2)
    ]
    return pl.DataFrame(rows, schema=PAIR, orient="row")


def with_both_ways(pairs: pl.DataFrame) -> pl.DataFrame:
    back = pairs.select(pl.col("right").alias("left"), pl.col("left").alias("right"), "distance")
    return pl.concat([pairs, back])


# ----------------------------------------------------------------------------------------------
# By hand
# ----------------------------------------------------------------------------------------------

#: Silhouettes (a, b, silhouette, neighbor) of points with these clusters at these places.
DEGENERATE: dict[str, tuple[list[int | None], list[float], list[tuple[Any, ...]]]] = {
    "no rows": ([], [], []),
    "no cluster": ([None, None], [0, 1], []),
    "one point": ([5], [0], [(0.0, None, None, None)]),
    "one cluster": ([5, 5], [0, 3], [(3.0, None, None, None), (3.0, None, None, None)]),
    "two singletons": ([5, 6], [0, 3], [(0.0, 3.0, None, 6), (0.0, 3.0, None, 5)]),
    "a singleton": (
        [5, 5, 6],
        [0, 2, 4],
        [(2.0, 4.0, 0.5, 6), (2.0, 2.0, 0.0, 6), (0.0, 3.0, 0.0, 5)],
    ),
    "duplicates": (
        [5, 5, 6, 6],
        [0, 0, 0, 0],
        [(0.0, 0.0, 0.0, 6), (0.0, 0.0, 0.0, 6), (0.0, 0.0, 0.0, 5), (0.0, 0.0, 0.0, 5)],
    ),
    # b is as far from 6 as from 7.
    "a tie of neighbors": (
        [5, 5, 7, 6, None],
        [0, 1, 2, 2, 9],
        [(1.0, 2.0, 0.5, 6), (1.0, 1.0, 0.0, 6), (0.0, 0.0, 0.0, 6), (0.0, 0.0, 0.0, 7)],
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a singleton"),
        *(pytest.param(x, marks=pytest.mark.gate) for x in DEGENERATE if x != "a singleton"),
    ],
)
def test_degenerate_silhouettes(engine: Engine, name: str) -> None:
    clusters, places, expected = DEGENERATE[name]
    points, pairs = points_of(clusters), pairs_of(places)
    rows = ask(engine, "silhouette_samples", points, pairs)
    found = [(x["a"], x["b"], x["silhouette"], x["neighbor"]) for x in rows]
    assert found == expected
    assert all(row["std_error"] is None for row in rows)


@pytest.mark.gate
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_rows_are_those_of_vectors(engine: Engine, name: str) -> None:
    """All tables."""
    clusters, places, _ = DEGENERATE[name]
    points, pairs = points_of(clusters), pairs_of(places)
    vectors = points.with_columns(x=pl.Series(places, dtype=pl.Float64))
    for table in TABLES:
        assert_points(
            ask(engine, table, points, pairs), of_vectors(vectors, table), tolerance=1e-12
        )


#: The columns of dunn_index that need centers.
OF_CENTERS = (
    "centroid_dunn_index",
    *(f"gdi_{i}{j}" for i in range(1, 7) for j in range(1, 4) if i in (4, 5) or j == 3),
)


def of_vectors(
    points: pl.DataFrame, table: str, distance: str = "cityblock", **options: Any
) -> list[Row]:
    """The rows of the table of vectors of the same name, without the columns of centers."""
    twin = table.removesuffix("_from_distances")
    vector = [name for name in points.columns if name[0] in "xyz"]
    if twin == "silhouette_samples":
        options["id"] = "id"
    if twin == "dunn_index":
        options["generalized"] = True
    rows = getattr(ce, twin)(points, vector, "cluster", distance=distance, **options)
    found: list[Row] = rows.to_dicts()
    nulls = dict.fromkeys(OF_CENTERS) if twin == "dunn_index" else {}
    return [row | nulls for row in found]


# ----------------------------------------------------------------------------------------------
# Against scikit-learn, and the tables of vectors
# ----------------------------------------------------------------------------------------------


def random_points(seed: int, n: int) -> pl.DataFrame:
    """Points with ids in another order than the rows, with ties, noise (-1) and NULL clusters."""
    random = np.random.default_rng(seed)
    x = random.integers(0, 9, size=(n, 3)).astype(float)
    clusters = [None if c == 5 else int(c) for c in random.integers(-1, 6, n)]
    ids = [f"p{i:03d}" for i in random.permutation(n)]
    columns = {"id": ids, "cluster": clusters, "run": random.integers(0, 3, n).tolist()}
    frame = pl.DataFrame(columns, schema=POINT | {"run": pl.Int64})
    return frame.with_columns(**{name: x[:, i] for i, name in enumerate("xyz")})


def measure(points: pl.DataFrame, distance: Any) -> pl.DataFrame:
    """The distances of all pairs, also of partitions, with run."""
    parts = []
    for part in points.partition_by("run"):
        i, j = np.triu_indices(part.height, 1)
        d = pdist(part.select("x", "y", "z").to_numpy(), distance) if part.height > 1 else []
        frame = pl.DataFrame(
            {"left": part["id"].gather(i), "right": part["id"].gather(j), "distance": d},
            schema=PAIR,
        )
        parts.append(frame.with_columns(run=pl.lit(part["run"].first(), pl.Int64)))
    return pl.concat(parts)


def cluster_key(row: Row) -> list[str]:
    return [str(row["run"]), str(row["cluster"]), f"{row['b']:.6f}"]


@pytest.mark.gate
@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize("table", TABLES)
def test_tables_of_vectors(engine: Engine, table: str, distance: str) -> None:
    """By partition, with noise in three forms."""
    points = random_points(1, 90)
    pairs = measure(points, distance)
    given_back = with_both_ways(pairs.drop("run")).with_columns(
        run=pl.concat([pairs["run"], pairs["run"]])
    )
    for noise_as in ("cluster", "drop", "singletons"):
        options = {"noise": -1, "noise_as": noise_as, "partition_by": "run"}
        expected = of_vectors(points, table, distance, **options)
        for frame in (pairs, given_back.sample(fraction=1, shuffle=True, seed=2)):
            found = ask(engine, table, points, frame, **options)
            if "clusters" in table:  # singletons of noise are in another order
                found, expected = (sorted(rows, key=cluster_key) for rows in (found, expected))
            assert_points(found, expected, tolerance=1e-12, floor=1e-3)


@pytest.mark.gate
@pytest.mark.parametrize("between", ["mean_other", "furthest"])
@pytest.mark.parametrize("table", TABLES[:3])
def test_other_clusters(engine: Engine, table: str, between: str) -> None:
    points = random_points(3, 60).drop("run")
    pairs = measure(points.with_columns(run=0), "cityblock")
    expected = of_vectors(points, table, between=between)
    assert_points(ask(engine, table, points, pairs, between=between), expected, tolerance=1e-12)


@pytest.mark.gate
def test_scikit_learn(engine: Engine) -> None:
    """Of distances that no vectors have."""
    random = np.random.default_rng(4)
    n = 40
    d, labels = random.random(n * (n - 1) // 2), random.integers(0, 4, n)
    points = pl.DataFrame({"id": range(n), "cluster": labels})
    pairs = ce.distances_from_matrix(d)
    expected = silhouette_samples(squareform(d), labels, metric="precomputed")
    rows = ask(engine, "silhouette_samples", points, pairs)
    assert [row["silhouette"] for row in rows] == pytest.approx(expected, rel=1e-12)
    [row] = ask(engine, "silhouette_score", points, pairs)
    assert row["silhouette"] == pytest.approx(expected.mean(), rel=1e-12)


def brute_dunn(d: np.ndarray, labels: np.ndarray) -> Row:
    """The statistics of Dunn's index, from its definitions."""
    members = [np.flatnonzero(labels == k) for k in np.unique(labels)]
    blocks = [d[np.ix_(a, b)] for a, b in itertools.combinations(members, 2)]
    own = [d[np.ix_(a, a)] for a in members]
    deltas = {
        1: [x.min() for x in blocks],
        2: [x.max() for x in blocks],
        3: [x.mean() for x in blocks],
        6: [max(x.min(0).max(), x.min(1).max()) for x in blocks],
    }
    sizes = {
        1: [x.max() for x in own],
        2: [x.sum() / (len(x) * (len(x) - 1)) if len(x) > 1 else 0.0 for x in own],
    }
    return {
        f"gdi_{i}{j}": min(delta) / max(size)
        for i, delta in deltas.items()
        for j, size in sizes.items()
    }


@pytest.mark.gate
def test_dunn_by_brute_force(engine: Engine) -> None:
    random = np.random.default_rng(5)
    n = 25
    d, labels = random.random(n * (n - 1) // 2), np.array([*random.integers(0, 4, n - 1), 9])
    points = pl.DataFrame({"id": range(n), "cluster": labels})
    [row] = ask(engine, "dunn_index", points, ce.distances_from_matrix(d))
    for name, value in brute_dunn(squareform(d), labels).items():
        assert row[name] == pytest.approx(value, rel=1e-12), name
    assert row["dunn_index"] == row["gdi_11"]


@pytest.mark.gate
def test_ranks_by_brute_force(engine: Engine) -> None:
    random = np.random.default_rng(6)
    n = 20
    d, labels = random.integers(0, 6, n * (n - 1) // 2) / 8, random.integers(0, 3, n)
    i, j = np.triu_indices(n, 1)
    within, between = d[labels[i] == labels[j]], d[labels[i] != labels[j]]
    concordant = int((within[:, None] < between).sum())
    discordant = int((within[:, None] > between).sum())
    [row] = ask(
        engine,
        "pairwise_report",
        pl.DataFrame({"id": range(n), "cluster": labels}),
        ce.distances_from_matrix(d),
        n_neighbors=3,
    )
    t, ordered = len(d), np.sort(d)
    assert (row["n_within_pairs"], row["n_between_pairs"]) == (len(within), len(between))
    expected = {
        "gamma": (concordant - discordant) / (concordant + discordant),
        "g_plus": discordant / (t * (t - 1) / 2),
        "mcclain_rao": within.mean() / between.mean(),
        "c_index": (within.sum() - ordered[: len(within)].sum())
        / (ordered[-len(within) :].sum() - ordered[: len(within)].sum()),
        "connectivity": brute_connectivity(squareform(d), labels, 3),
    }
    for name, value in expected.items():
        assert row[name] == pytest.approx(value, rel=1e-12), name


def brute_connectivity(d: np.ndarray, labels: np.ndarray, k: int) -> float:
    """The sum of 1 / rank of neighbors in other clusters, averaged over the orders of ties."""
    total = 0.0
    for i in range(len(d)):
        others = np.delete(np.arange(len(d)), i)
        for value in np.unique(d[i, others]):
            tied = others[d[i, others] == value]
            before = int((d[i, others] < value).sum())
            ranks = [r for r in range(before + 1, before + len(tied) + 1) if r <= k]
            share = sum(1 / r for r in ranks) / len(tied)
            total += share * int((labels[tied] != labels[i]).sum())
    return total


@pytest.mark.gate
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=2, max_size=12),
    st.randoms(use_true_random=False),
)
def test_any_order_and_direction(rows: list[tuple[int, int]], random: Any) -> None:
    """Rows of pairs in any order, once or both ways, with ids that no point has."""
    points = points_of([cluster for cluster, _ in rows])
    pairs = pairs_of([place for _, place in rows])
    turned = [(a, b, d) if random.random() < 0.5 else (b, a, d) for a, b, d in pairs.rows()]
    again = [(b, a, d) for a, b, d in turned if random.random() < 0.3]
    more = [*turned, *again, ("a", "zz", 9.0), ("a", "a", 0.0), (None, "b", 7.0)]
    random.shuffle(more)
    shuffled = pl.DataFrame(more, schema=PAIR, orient="row")
    vectors = points.with_columns(x=pl.Series([place for _, place in rows], dtype=pl.Float64))
    for table in TABLES:
        expected = of_vectors(vectors, table)
        for engine in (make("polars"), make("duckdb")):
            found = ask(engine, table, points, shuffled)
            assert_points(found, expected, tolerance=1e-12, floor=1e-3)


#: The rows of _streamed_sums, from which the sums of the tables are made.
STREAMED = """
WITH ids AS MATERIALIZED (
  FROM clustereval._graph_ids(
    points, id, cluster, pairs, "left", "right", distance, NULL, NULL, 'distance', 'pairs'
  )
),
nodes AS (FROM clustereval._graph_nodes(ids, NULL)),
ordered AS MATERIALIZED (FROM clustereval._ordered_nodes(nodes)),
clusters AS MATERIALIZED (FROM clustereval._clusters_of_nodes(ordered)),
numbered AS MATERIALIZED (FROM clustereval._measured_nodes(ordered, clusters)),
given AS (FROM clustereval._pair_rows(points, id, pairs, "left", "right", distance, NULL)),
located AS (FROM clustereval._located_rows(numbered, given))
SELECT COUNT(*) FILTER (WHERE NOT is_clean) AS odd
FROM clustereval._streamed_sums(located, numbered)
"""


@pytest.mark.gate
def test_only_odd_rows_are_grouped_by_pair(engine: Engine) -> None:
    """Grouping takes memory for each pair."""
    points = random_points(7, 40).with_columns(run=0)
    pairs = measure(points, "euclidean").select(*PAIR)
    both = with_both_ways(pairs)
    zeros = points.select(left="id", right="id", distance=pl.lit(0.0))
    odd = {
        "once": (pairs, 0),
        "both ways": (both, 0),
        "a matrix": (pl.concat([both, zeros]), 0),
        "without one": (pairs[1:], 2),
        "twice in the same order": (pl.concat([pairs, pairs]), None),
    }
    for name, (rows, expected) in odd.items():
        kept = points.drop_nulls("cluster")
        if isinstance(engine, DuckDB):
            [found] = engine.ask(STREAMED, points=kept, pairs=rows)
            count = found["odd"]
        else:
            columns = GraphColumns(
                **dict(zip(("id", "cluster", "left", "right", "weight"), COLUMNS, strict=True)),
                weight_name="distance",
                edge_name="pairs",
            )
            graph = read_graph(kept, rows, columns, LabelOptions(), ())
            count = (~MeasuredPoints(graph, "error")._streamed_sums["is_clean"]).sum()
        assert count == expected if expected is not None else count > 2, name


# ----------------------------------------------------------------------------------------------
# Missing pairs
# ----------------------------------------------------------------------------------------------

LINE = points_of([1, 1, 2, 2]), pairs_of([0, 1, 5, 7])


def test_missing_pairs_dropped(engine: Engine) -> None:
    points, pairs = LINE
    some = pairs.filter(~((pl.col("left") == "a") & (pl.col("right") == "c")))
    rows = ask(engine, "silhouette_samples", points, some, missing="drop")
    found = [(x["id"], x["a"], x["b"], x["silhouette"], x["neighbor"]) for x in rows]
    nothing = (None,) * 4
    assert found == [
        ("a", *nothing),
        ("b", 1.0, 5.0, 0.8, 2),
        ("c", *nothing),
        ("d", 2.0, 6.5, 4.5 / 6.5, 1),
    ]
    [score] = ask(engine, "silhouette_score", points, some, missing="drop")
    assert (score["n"], score["n_evaluated"]) == (4, 2)
    assert score["silhouette"] == pytest.approx((0.8 + 4.5 / 6.5) / 2, rel=1e-12)
    assert score["silhouette_macro"] == score["silhouette"]
    assert (score["silhouette_lower"], score["silhouette_upper"]) == (None, None)
    clusters = ask(engine, "silhouette_clusters", points, some, missing="drop")
    assert [(x["n"], x["a"], x["silhouette"]) for x in clusters] == [
        (2, 1.0, 0.8),
        (2, 2.0, pytest.approx(4.5 / 6.5)),
    ]
    fewer = some.filter(pl.col("left") != "a")
    [score] = ask(engine, "silhouette_score", points, fewer, missing="drop")
    assert (score["n_evaluated"], score["silhouette"]) == (0, None)


@pytest.mark.gate
@pytest.mark.parametrize("table", ["dunn_index", "pairwise_report"])
def test_partitions_with_missing_pairs_have_no_indices(engine: Engine, table: str) -> None:
    points, pairs = (pl.concat([x.with_columns(run=pl.lit(run)) for run in (1, 2)]) for x in LINE)
    some = pairs.filter((pl.col("run") == 2) | (pl.col("right") != "d"))
    options = {"partition_by": "run", "missing": "drop"}
    less, whole = ask(engine, table, points, some, **options)
    names = ("dunn_index", "max_diameter", "min_separation", "c_index", "gamma", "connectivity")
    for name in names:
        if name in whole:
            assert less[name] is None
            assert whole[name] is not None
    assert less["n"] == 4


# ----------------------------------------------------------------------------------------------
# Bad input
# ----------------------------------------------------------------------------------------------


def replaced(low: str, high: str, distance: float | None) -> pl.DataFrame:
    is_pair = (pl.col("left") == low) & (pl.col("right") == high)
    return LINE[1].with_columns(
        distance=pl.when(is_pair).then(pl.lit(distance, pl.Float64)).otherwise("distance")
    )


def more_rows(*rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.concat([LINE[1], pl.DataFrame(list(rows), schema=PAIR, orient="row")])


FAULTS: dict[str, tuple[pl.DataFrame, str]] = {
    "missing": (
        LINE[1].filter(pl.col("right") != "d").sort("right", descending=True),
        (
            "pairs: expected a row for each two ids of a partition, got none for 3 of 6 pairs, "
            "such as a and d; add them, or set missing to 'drop'"
        ),
    ),
    "none at all": (LINE[1].clear(), "got none for 6 of 6 pairs, such as a and b; add"),
    "other ids": (
        LINE[1].with_columns(pl.col("left", "right").str.to_uppercase()),
        "got none for 6 of 6 pairs, such as a and b; add",
    ),
    "negative": (
        replaced("b", "d", -1.5),
        (
            "distance: expected finite numbers >= 0, got -1.5 for b and d; correct it, or leave "
            "out the row and set missing to 'drop'"
        ),
    ),
    "NULL": (replaced("b", "c", None), "got NULL for b and c; correct it"),
    "NaN": (replaced("a", "c", float("nan")), "got nan for a and c; correct it"),
    "infinite": (replaced("a", "d", float("inf")), "got inf for a and d; correct it"),
    "NaN of a row": (more_rows(("c", "b", float("nan"))), "got nan for b and c; correct it"),
    "NULL of a row": (more_rows(("c", "b", None)), "got NULL for b and c; correct it"),
    "itself": (
        more_rows(("a", "a", 0.0), ("c", "c", 0.25)),
        (
            "distance: expected 0 from an id to itself, got 0.25 for c and c; leave out the row, "
            "or turn similarities into distances"
        ),
    ),
    "itself NULL": (
        more_rows(("c", "c", None)),
        "expected finite numbers >= 0, got NULL for c and c",
    ),
    "three rows": (
        more_rows(("d", "c", 2.0), ("c", "d", 2.0)),
        "pairs: expected at most two rows for the same two ids, got 3 for c and d; leave out the",
    ),
    "both ways": (
        more_rows(("b", "a", 1.5)),
        "distance: expected the same distance both ways, got 1.0 and 1.5 for a and b; use the mean",
    ),
    "the first of two": (
        more_rows(("d", "b", 7.5), ("c", "a", 7.5)),
        "distance: expected the same distance both ways, got 5.0 and 7.5 for a and c; use the mean",
    ),
    "the first of three": (
        more_rows(("c", "b", 8.0), ("d", "a", 8.0), ("c", "a", 8.0)),
        "distance: expected the same distance both ways, got 5.0 and 8.0 for a and c; use the mean",
    ),
    "overflow": (
        LINE[1].with_columns(distance=1e308),
        (
            "distance: expected distances with a finite sum over all pairs, got a sum that "
            "overflows; divide all distances by the same number"
        ),
    ),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[] if x == "missing" else pytest.mark.gate) for x in FAULTS],
)
def test_faults_of_pairs(engine: Engine, name: str) -> None:
    pairs, words = FAULTS[name]
    for table in TABLES:
        with fails(engine, words):
            ask(engine, table, LINE[0], pairs)


@pytest.mark.gate
def test_faults_of_partitions_and_dropped_ids(engine: Engine) -> None:
    """Only pairs of points of the same partition count; the second partition has the fault."""
    points = pl.concat([LINE[0].with_columns(run=pl.lit(run)) for run in ("x", "y")])
    pairs = pl.concat(
        [
            LINE[1].with_columns(run=pl.lit("x")),
            replaced("b", "d", -1.0).with_columns(run=pl.lit("y")),
        ]
    )
    with fails(engine, "got -1.0 for b and d"):
        ask(engine, "silhouette_score", points, pairs, partition_by="run")
    dropped = points.with_columns(
        cluster=pl.when((pl.col("run") == "y") & (pl.col("id") == "d"))
        .then(None)
        .otherwise("cluster")
    )
    rows = ask(engine, "silhouette_score", dropped, pairs, partition_by="run")
    assert [(x["n"], x["n_dropped"], x["n_evaluated"]) for x in rows] == [(4, 0, 4), (3, 1, 3)]
    few = pairs.filter((pl.col("run") == "x") | (pl.col("left") != "c"))
    with fails(engine, "got none for 1 of 12 pairs, such as c and d; add"):
        ask(
            engine,
            "dunn_index",
            points,
            few.with_columns(pl.col("distance").abs()),
            partition_by="run",
        )


@pytest.mark.gate
@pytest.mark.parametrize("clusters", [[1, 1, 1, 1], [1, 1, 2, 2]])
def test_missing_pairs_that_others_make_up_for(engine: Engine, clusters: list[int]) -> None:
    """Each point has as many rows as others, but of a pair two, and of another one none."""
    ends = ["ac", "bd", "ca", "db", "ab", "cd"] if clusters[2] == 2 else ["ab", "ba", "cd", "dc"]
    ends += ["ac", "bd"] if clusters[2] == 1 else []
    pairs = pl.DataFrame([(*pair, 1.0) for pair in ends], schema=PAIR, orient="row")
    for table in TABLES:
        with fails(engine, "got none for 2 of 6 pairs, such as a and d; add them"):
            ask(engine, table, points_of(clusters), pairs)
    often = with_both_ways(pairs)
    with fails(engine, "expected at most two rows for the same two ids, got 4 for a and "):
        ask(engine, "dunn_index", points_of(clusters), often)


@pytest.mark.gate
def test_distances_that_differ_by_rounding(engine: Engine) -> None:
    pairs = with_both_ways(LINE[1]).with_columns(
        pl.when(pl.col("left") > pl.col("right"))
        .then(pl.col("distance") * (1 + 1e-10))
        .otherwise("distance")
    )
    [row] = ask(engine, "dunn_index", LINE[0], pairs)
    assert row["max_diameter"] == pytest.approx(2.0 * (1 + 5e-11), rel=1e-15)


@pytest.mark.gate
@pytest.mark.parametrize("table", TABLES)
def test_ids(engine: Engine, table: str) -> None:
    twice = pl.concat([LINE[0], LINE[0].head(1)])
    with fails(engine, "id: expected one row with a cluster per id, got several rows of id a; if"):
        ask(engine, table, twice, LINE[1])
    null = pl.concat([LINE[0], pl.DataFrame({"id": [None], "cluster": [1]}, schema=POINT)])
    with fails(engine, "id: expected a value in every row with a cluster, got NULL in 1 rows"):
        ask(engine, table, null, LINE[1])


@pytest.mark.gate
@pytest.mark.parametrize("table", TABLES)
def test_types(engine: Engine, table: str) -> None:
    with fails(engine, "left: expected the type of id (VARCHAR), got BIGINT; cast one of them"):
        ask(engine, table, LINE[0], LINE[1].with_columns(left=pl.lit(1, pl.Int64)))
    words = "distance: expected finite numbers >= 0, got a column of type "
    with pytest.raises(Exception, match=words):
        ask(engine, table, LINE[0], LINE[1].with_columns(pl.col("distance").cast(pl.String)))
    runs = LINE[0].with_columns(run=1), LINE[1].with_columns(run=pl.lit("1"))
    with pytest.raises(Exception, match=r"partition_by: expected .* with the pairs; cast one of"):
        ask(engine, table, *runs, partition_by="run")
    whole = LINE[1].with_columns(pl.col("distance").cast(pl.Int32))
    assert ask(engine, table, LINE[0], whole) == ask(engine, table, *LINE)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("table", "option", "words"),
    [
        ("silhouette_score", {"between": "far"}, "between: expected one of 'nearest', "),
        ("silhouette_score", {"missing": "no"}, "missing: expected one of 'error', 'drop', got"),
        ("dunn_index", {"missing": None}, "missing: expected one of 'error', 'drop', got NULL"),
        ("dunn_index", {"noise": 1}, "noise_as: expected one of 'cluster', 'drop', 'singletons'"),
        ("pairwise_report", {"n_neighbors": 0}, "n_neighbors: expected a whole number >= 1, got 0"),
    ],
)
def test_bad_options(engine: Engine, table: str, option: dict[str, Any], words: str) -> None:
    with fails(engine, words):
        ask(engine, table, *LINE, **option)


@pytest.mark.parametrize("table", TABLES)
def test_pairs_without_the_partition_columns(table: str) -> None:
    """In SQL, the binder raises the error, which names the column."""
    points, pairs = LINE
    words = "pairs: partition_by: column 'run' not found; columns: .*; the table of pairs needs the"
    columns = ("id", "cluster", pairs, "left", "right", "distance")
    with pytest.raises(ce.ClusterEvalError, match=words):
        getattr(ce, table)(points.with_columns(run=1), *columns, partition_by="run")


# ----------------------------------------------------------------------------------------------
# Matrices
# ----------------------------------------------------------------------------------------------

MATRIX = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]])


@pytest.mark.parametrize("matrix", [MATRIX, squareform(MATRIX), MATRIX.astype(int).tolist()])
def test_distances_from_matrix(matrix: Any) -> None:
    rows = [(0, 1, 1.0), (0, 2, 4.0), (1, 2, 3.0)]
    pairs = ce.distances_from_matrix(matrix)
    assert pairs.rows() == rows
    assert pairs.schema == {"left": pl.Int64, "right": pl.Int64, "distance": pl.Float64}
    named = ce.distances_from_matrix(matrix, ["c", "a", "b"]).rows()
    assert named == [("cab"[i], "cab"[j], d) for i, j, d in rows]


def test_few_points_of_matrices() -> None:
    assert ce.distances_from_matrix([[0.0]]).height == 0
    assert ce.distances_from_matrix(np.zeros((0, 0))).height == 0
    assert ce.distances_from_matrix([2.5], pl.Series(["x", "y"])).rows() == [("x", "y", 2.5)]
    nearly = MATRIX + np.array([[0, 1e-12, 0], [0, 0, 0], [0, 0, 0]])
    assert ce.distances_from_matrix(nearly)["distance"][0] == 1.0 + 1e-12


def test_rounding_errors_of_a_matrix_are_no_fault() -> None:
    matrix = 1 - np.corrcoef(np.random.default_rng(0).random((6, 4)))
    matrix[0, 1] += 1e-15
    assert matrix.diagonal().any()
    assert ce.distances_from_matrix(matrix).height == 15


@pytest.mark.parametrize(
    ("matrix", "ids", "words"),
    [
        (MATRIX[:2], None, "matrix: expected a square matrix or a condensed vector of n (n - 1) /"),
        ([1.0, 2.0], None, "got an array of shape (2,)"),
        (["a"], None, "matrix: expected an array of numbers"),
        (MATRIX + np.eye(3), None, "matrix: expected zeros on the diagonal, got 1.0 in row 0, cou"),
        (np.triu(MATRIX), None, "expected a symmetric matrix, got 1.0 and 0.0 for the points 0 an"),
        (-MATRIX, None, "matrix: expected finite numbers >= 0, got -1.0 for the points 0 and 1, c"),
        ([1.0, 2.0, np.nan], None, "expected finite numbers >= 0, got nan for the points 1 and 2"),
        (MATRIX, ["a"], "ids: expected one id for each of 3 points, got 1"),
        (MATRIX, {7}, "ids: expected a sequence of ids of one type, in the order of the rows of m"),
        (MATRIX, 7, "the rows of matrix, got 7; pass a list or a Series"),
        (MATRIX, "abc", "the rows of matrix, got abc; pass a list or a Series"),
        (MATRIX, [1, "a", 2], "the rows of matrix, got [1, a, 2]; pass a list or a Series"),
        (MATRIX, ["b", "a", "b"], "ids: expected different ids, got 2 points with id b; give each"),
        (MATRIX, [[1], [1], [1]], "ids: expected different ids, got 3 points with id [1]; give "),
        (
            MATRIX,
            ["a", None, None],
            "ids: expected an id for each point, got NULL 2 times; leave o",
        ),
    ],
)
def test_bad_matrices(matrix: Any, ids: Any, words: str) -> None:
    with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
        ce.distances_from_matrix(matrix, ids)
