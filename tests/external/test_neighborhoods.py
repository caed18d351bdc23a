"""The tables of neighborhoods in every engine: definitions, other libraries, and errors."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.neighbors import NearestNeighbors

import polars_clustereval as ce
from polars_clustereval.external import neighborhoods as blocks
from polars_clustereval.external.kernels.neighbor_lists import chi_square_tail, neighbor_weights
from tests.support import neighborhood_brute, registry
from tests.support.engines import DuckDB, Engine, Expression, Row, fails, make
from tests.support.neighborhood_oracle import (
    NEIGHBOR,
    POINT,
    Neighborhoods,
    neighbors_of,
    random_neighbors,
)
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from random import Random

TABLES = registry.tables("neighbors")
EXPECTED: dict[str, Callable[[Neighborhoods], list[Row]]] = {
    "neighborhood_samples": Neighborhoods.samples,
    "neighborhood_clusters": Neighborhoods.clusters,
    "neighborhood_report": lambda found: [found.report()],
}
N_SETS = 150


def ask(
    engine: Engine,
    table: str,
    points: pl.DataFrame,
    rows: pl.DataFrame,
    *,
    distance: str | None = "d",
    **arguments: Any,
) -> list[Row]:
    # In SQL, a text in an argument with a name is a value.
    given: Any = (
        Expression(f'"{distance}"') if distance and isinstance(engine, DuckDB) else distance
    )
    columns = ("id", "cluster", rows, "left", "right")
    return engine.call(table, points, *columns, distance=given, **arguments)


def assert_rows(actual: list[Row], expected: list[Row], what: object = "") -> None:
    assert_points(actual, expected, tolerance=1e-11, floor=1e-12, what=what)


# ----------------------------------------------------------------------------------------------
# Degenerate rows
# ----------------------------------------------------------------------------------------------

NOTHING: Row = {
    **dict.fromkeys(("n", "n_dropped", "n_noise", "n_clusters", "n_neighbors"), 0),
    **dict.fromkeys(("n_self_neighbors", "n_dropped_neighbors", "n_duplicate_neighbors"), 0),
    "n_without_neighbors": 0,
    **dict.fromkeys(("neighbor_purity", "balanced_purity", "inverse_simpson", "lisi")),
    **dict.fromkeys(("kbet_acceptance_rate", "connectivity", "normalized_connectivity")),
    **dict.fromkeys(("mean_component_share", "cvnn_separation", "wcnn", "dunn_owa", "modularity")),
}
PERFECT = {
    "neighbor_purity": 1.0,
    "balanced_purity": 1.0,
    "inverse_simpson": 1.0,
    "connectivity": 0.0,
    "normalized_connectivity": 0.0,
    "cvnn_separation": 0.0,
    "wcnn": 1.0,
}
DEGENERATE: dict[str, tuple[list[int | None], list[tuple[Any, ...]], Row]] = {
    "no rows": ([], [], {}),
    "no cluster": ([None], [(0, 1, 1.0)], {"n_dropped": 1, "n_dropped_neighbors": 1}),
    "one id": (
        [3],
        [],
        {"n": 1, "n_clusters": 1, "n_without_neighbors": 1, "mean_component_share": 1.0},
    ),
    "one id and itself": (
        [3],
        [(0, 0, 0.0)],
        {"n": 1, "n_clusters": 1, "n_without_neighbors": 1, "n_self_neighbors": 1}
        | {"mean_component_share": 1.0},
    ),
    "no neighbors": (
        [1, 2],
        [],
        {"n": 2, "n_clusters": 2, "n_without_neighbors": 2, "mean_component_share": 1.0},
    ),
    "one cluster": (
        [1, 1],
        [(0, 1, 2.0), (1, 0, 2.0), (1, 0, 2.0)],
        PERFECT
        | {"n": 2, "n_clusters": 1, "n_neighbors": 2, "n_duplicate_neighbors": 1}
        | {"mean_component_share": 1.0, "modularity": 0.0},
    ),
    "two clusters of one": (
        [1, 2],
        [(0, 1, 2.0), (1, 0, 2.0)],
        {"n": 2, "n_clusters": 2, "n_neighbors": 2}
        | dict.fromkeys(("neighbor_purity", "balanced_purity"), 0.0)
        | {
            "inverse_simpson": 1.0,
            "connectivity": 2.0,
            "normalized_connectivity": 1.0,
            "cvnn_separation": 1.0,
        }
        | {"mean_component_share": 1.0, "modularity": -0.5},
    ),
}


def points_of(clusters: Sequence[int | None]) -> pl.DataFrame:
    return pl.DataFrame(list(enumerate(clusters)), schema=POINT, orient="row")


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.gate
def test_degenerate_rows(engine: Engine, name: str) -> None:
    clusters, rows, expected = DEGENERATE[name]
    points, neighbors = points_of(clusters), neighbors_of(rows)
    wanted = NOTHING | expected
    assert_rows(ask(engine, "neighborhood_report", points, neighbors), [wanted])
    assert len(ask(engine, "neighborhood_clusters", points, neighbors)) == wanted["n_clusters"]
    assert len(ask(engine, "neighborhood_samples", points, neighbors)) == wanted["n"]


@pytest.mark.gate
@pytest.mark.parametrize("table", TABLES)
def test_no_partition_has_no_row(engine: Engine, table: str) -> None:
    points, rows = (pl.DataFrame(schema=x | {"run": pl.Int64}) for x in (POINT, NEIGHBOR))
    assert ask(engine, table, points, rows, partition_by="run") == []


# ----------------------------------------------------------------------------------------------
# Definitions
# ----------------------------------------------------------------------------------------------


@cache
def random_sets() -> tuple[pl.DataFrame, pl.DataFrame]:
    """All random neighbors as partitions of one."""
    sets = [random_neighbors(seed) for seed in range(N_SETS)]
    points, rows = (
        pl.concat([frame.with_columns(run=pl.lit(i)) for i, frame in enumerate(frames)])
        for frames in zip(*sets, strict=True)
    )
    return points, rows


@cache
def expected_rows(table: str, perplexity: float | None = None) -> list[Row]:
    return [
        {"run": run} | row
        for run in range(N_SETS)
        for row in EXPECTED[table](Neighborhoods(*random_neighbors(run), perplexity))
    ]


@pytest.mark.parametrize("table", TABLES)
def test_random_neighbors(engine: Engine, table: str) -> None:
    found = ask(engine, table, *random_sets(), partition_by="run")
    assert_rows(found, expected_rows(table), table)


@pytest.mark.gate
@pytest.mark.parametrize("perplexity", [1, 2.5, 6, 1000.0])
def test_perplexity(engine: Engine, perplexity: float) -> None:
    table = "neighborhood_samples"
    found = ask(engine, table, *random_sets(), partition_by="run", perplexity=perplexity)
    assert_rows(found, expected_rows(table, perplexity))


@pytest.mark.gate
def test_random_neighbors_are_varied() -> None:
    rows = expected_rows("neighborhood_report")
    for name in NOTHING:
        if name not in ("n_noise", "wcnn", "dunn_owa"):
            assert sum((row[name] or 0) > 0 for row in rows) > 20, name
    assert sum(row["dunn_owa"] is not None for row in rows) > 5
    assert sum(row["n_components"] > 2 for row in expected_rows("neighborhood_clusters")) > 20


@pytest.mark.gate
def test_chi_square_tail_has_twelve_digits() -> None:
    duckdb = make("duckdb")
    assert isinstance(duckdb, DuckDB)
    cases = [
        (x, freedom)
        for freedom in (1, 2, 3, 4, 9, 10, 57, 998, 999)
        for x in (0.0, 1e-12, 0.01, 0.5, 3.8, 11.0, 71.9, 72.1, 300.0, 1000.0, 1400.0)
    ]
    frame = pl.DataFrame(cases, schema={"x": pl.Float64, "freedom": pl.Int64}, orient="row")
    sql = duckdb.ask("SELECT clustereval._chi_square_tail(x, freedom) AS p FROM cases", cases=frame)
    numpy = chi_square_tail(frame["x"].to_numpy(), frame["freedom"].to_numpy())
    for (x, freedom), row, p in zip(cases, sql, numpy, strict=True):
        with mpmath.workdps(40):
            half = mpmath.mpf(freedom) / 2
            wanted = mpmath.gammainc(half, mpmath.mpf(x) / 2, mpmath.inf, regularized=True)
        assert float(p) == pytest.approx(float(wanted), rel=1e-12, abs=1e-300), (x, freedom)
        assert row["p"] == pytest.approx(float(wanted), rel=1e-12, abs=1e-300), (x, freedom)


@pytest.mark.gate
@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0, 100.0])
def test_entropy_of_the_kernel(scale: float) -> None:
    """Also of distances of many orders of magnitude, which need the bisection."""
    random = np.random.default_rng(7)
    d = np.exp(scale * random.normal(size=(300, 15)))
    perplexity = random.uniform(1.001, 14.9, size=300)
    weights = neighbor_weights(d.ravel(), np.full(300, 15), perplexity).reshape(d.shape)
    p = weights / weights.sum(axis=1, keepdims=True)
    logs = np.log(np.where(p > 0, p, 1.0))
    assert np.allclose(np.exp(-(p * logs).sum(axis=1)), perplexity, rtol=1e-11, atol=0)


@pytest.mark.gate
@pytest.mark.parametrize("scale", [0.1, 30.0])
def test_lisi_of_many_magnitudes(engine: Engine, scale: float) -> None:
    random = np.random.default_rng(9)
    n, k = 60, 15
    rows = [
        (i, (i + j) % n, float(np.exp(scale * random.normal())))
        for i in range(n)
        for j in range(1, k)
    ]
    points, neighbors = points_of([i % 3 for i in range(n)]), neighbors_of(rows)
    found = ask(engine, "neighborhood_samples", points, neighbors, perplexity=4.2)
    assert_rows(found, Neighborhoods(points, neighbors, 4.2).samples())


# ----------------------------------------------------------------------------------------------
# Brute force
# ----------------------------------------------------------------------------------------------

#: Few values, so that many distances are equal, of a neighbor and of several.
TIED = st.sampled_from([Fraction(x, 4) for x in (0, 1, 2, 3, 8, 100)])
ENDS = st.one_of(st.integers(0, 12), st.none())


@st.composite
def neighborhoods(draw: st.DrawFn) -> tuple[list[tuple[int, int | None]], list[Any]]:
    """Ids, some without a cluster, and neighbors in any order: foreign, NULL, twice, itself."""
    n = draw(st.integers(0, 12))
    clusters = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, None]), min_size=n, max_size=n))
    rows = draw(st.lists(st.tuples(ENDS, ENDS, TIED), max_size=60))
    for i in draw(st.sets(st.integers(0, 12), max_size=4)):
        # Enough neighbors for lisi and kBET.
        rows += [(i, j, draw(TIED)) for j in range(n)]
    return list(enumerate(clusters)), draw(st.permutations(rows))


def test_ties_in_rows_sorted_by_distance(engine: Engine) -> None:
    """Rows as those of an index: by id and distance, but equal distances in any order."""
    rows = neighbors_of([(0, 2, 1.0), (0, 1, 1.0), (1, 0, 2.0)])
    [row, *_] = ask(engine, "neighborhood_samples", points_of([0, 0, 1]), rows)
    assert (row["connectivity"], row["normalized_connectivity"]) == (0.5, pytest.approx(1 / 3))


@pytest.mark.gate
def test_components_of_long_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of chains that continue in later blocks, and from high to low ids."""
    monkeypatch.setattr(blocks, "_ROWS_PER_BLOCK", 700)
    n = 5000
    step = [(i, i + 1, 1.0) for i in range(n - 1) if i % 1000 != 500]
    for rows in (neighbors_of(step), neighbors_of((j, i, d) for i, j, d in step)):
        [row] = ask(make("polars"), "neighborhood_clusters", points_of([1] * n), rows)
        assert (row["n_components"], row["largest_component_share"]) == (6, 0.2)


NOISES = (None, "cluster", "drop", "singletons")


@pytest.mark.gate
@given(
    sets=st.lists(neighborhoods(), min_size=1, max_size=3),
    perplexity=st.sampled_from([None, None, 1, 2.5, 4]),
    noise_as=st.sampled_from(NOISES),
    rows_per_block=st.sampled_from([5, 10**6]),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=25)
def test_brute_force(
    engine: Engine,
    sets: list[Any],
    perplexity: float | None,
    noise_as: str | None,
    rows_per_block: int,
    order: Random,
) -> None:
    """All tables, with partitions that have the same ids, and cluster 0 as noise."""
    points = [(i, c, run) for run, (found, _) in enumerate(sets) for i, c in found]
    rows = [(i, j, float(d), run) for run, (_, found) in enumerate(sets) for i, j, d in found]
    order.shuffle(points)
    order.shuffle(rows)
    schemas = (schema | {"run": pl.Int64} for schema in (POINT, NEIGHBOR))
    frames = [
        pl.DataFrame(found, schema=schema, orient="row")
        for found, schema in zip((points, rows), schemas, strict=True)
    ]
    options: dict[str, Any] = {"noise": 0, "noise_as": noise_as} if noise_as else {}
    # It is an error if no row joins two ids.
    lost = {None, 0} if noise_as == "drop" else {None}
    known = {(i, run) for i, c, run in points if c not in lost}
    assume(any({(i, run), (j, run)} <= known for i, j, _, run in rows) or not (known and rows))
    wanted = expected_of(sets, perplexity, noise_as)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_ROWS_PER_BLOCK", rows_per_block)
        for table, expected in wanted.items():
            found = ask(
                engine, table, *frames, partition_by="run", perplexity=perplexity, **options
            )
            assert_rows(found, expected, table)


def expected_of(
    sets: list[Any], perplexity: float | None, noise_as: str | None
) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {table: [] for table in TABLES}
    for run, (points, rows) in enumerate(sets):
        if not points and not rows:
            continue
        moved = [
            (i, {"drop": None, "singletons": 1000 + i}.get(noise_as or "", c) if c == 0 else c)
            for i, c in points
        ]
        for table, found in neighborhood_brute.all_tables(moved, rows, perplexity).items():
            for row in found:
                if table == "neighborhood_report":
                    row["n_noise"] = sum(c == 0 for _, c in points) if noise_as else 0
                    row["n_dropped"] = sum(c is None for _, c in points)
                if (row.get("cluster") or 0) >= 1000:
                    row["cluster"] = None
                    if table == "neighborhood_clusters":
                        continue
                tables[table].append({"run": run} | row)
    return tables


@pytest.mark.gate
@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.UInt64, pl.Int128, pl.String, pl.Float64])
@pytest.mark.parametrize("rows_per_block", [50, 10**6])
def test_types_of_ids(dtype: Any, rows_per_block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers are looked up, others joined; with gaps, and with ends outside of the range."""
    monkeypatch.setattr(blocks, "_ROWS_PER_BLOCK", rows_per_block)
    if dtype == pl.Int8:
        names = [*range(-128, -64), *range(64, 128)]
    elif dtype == pl.UInt64:
        names = [2**63 + i for i in range(128)]
    elif dtype == pl.Int128:
        names = [2**100 * i for i in range(128)]
    else:
        names = [*range(3, 131)]
    r = np.random.default_rng(3)
    left, right = r.integers(0, 128, 900), r.integers(0, 128, 900)
    clusters = [int(c) if c else None for c in r.integers(0, 5, 128)]
    # The lowest and the highest ends are in no cluster.
    clusters[:3] = clusters[-3:] = [None] * 3
    rows = pl.DataFrame({"left": left, "right": right, "d": r.integers(0, 9, 900) / 4})
    wanted = Neighborhoods(points_of(clusters), rows).report()
    ids = pl.Series(names, dtype=pl.Int128).cast(dtype)
    points = pl.DataFrame({"id": ids, "cluster": clusters})
    named = rows.with_columns(ids.gather(rows[end]).alias(end) for end in ("left", "right"))
    # The numbers of the ids break ties of distances.
    if dtype != pl.String:
        assert_rows(ask(make("polars"), "neighborhood_report", points, named), [wanted])
    if dtype not in (pl.Float64, pl.Int128):
        found = ask(make("polars"), "neighborhood_report", points, named)
        assert_rows(ask(make("duckdb"), "neighborhood_report", points, named), found)


@pytest.mark.gate
def test_files_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_ROWS_PER_BLOCK", 100)
    points, rows = random_sets()
    points.write_parquet(tmp_path / "points.parquet")
    rows.write_parquet(tmp_path / "rows.parquet")
    frames = [pl.scan_parquet(tmp_path / f"{name}.parquet") for name in ("points", "rows")]
    call = ce.neighborhood_clusters(
        *(frames[0], "id", "cluster", frames[1], "left", "right"), distance="d", partition_by="run"
    )
    assert_rows(call.collect().to_dicts(), expected_rows("neighborhood_clusters"))


# ----------------------------------------------------------------------------------------------
# Other libraries
# ----------------------------------------------------------------------------------------------


@cache
def iris_neighbors(k: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The species of iris, and the exact nearest neighbors; ties by the number of the flower."""
    x, y = load_iris(return_X_y=True)
    d = cdist(x, x)
    order = np.argsort(d + np.where(np.eye(len(x)), -1, 0), axis=1, kind="stable")[:, 1 : k + 1]
    i = np.repeat(np.arange(len(x)), k)
    rows = {"left": i, "right": order.ravel(), "d": d[i, order.ravel()]}
    return pl.DataFrame({"id": np.arange(len(x)), "cluster": y}), pl.DataFrame(rows)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("k", "dunn_owa", "wcnn"),
    [(5, 0.29884145907311677, 0.948), (10, 0.29884145907311677, 0.938), (25, 0.298841459, 0.9072)],
)
def test_genieclust(engine: Engine, k: int, dunn_owa: float, wcnn: float) -> None:
    """genieclust 1.3.0: dunnowa_index(X, y, M) and wcnn_index(X, y, M) of iris."""
    [row] = ask(engine, "neighborhood_report", *iris_neighbors(k))
    assert row["dunn_owa"] == pytest.approx(dunn_owa, rel=1e-9)
    assert row["wcnn"] == pytest.approx(wcnn, rel=1e-12)


@pytest.mark.gate
def test_genieclust_has_no_score_of_small_clusters(engine: Engine) -> None:
    """Where genieclust has -inf: a cluster with at most as many points as neighbors."""
    points, rows = iris_neighbors(50)
    [row] = ask(engine, "neighborhood_report", points, rows)
    assert (row["wcnn"], row["dunn_owa"]) == (None, None)
    [row] = ask(engine, "neighborhood_report", *iris_neighbors(49))
    assert row["wcnn"] is not None


@pytest.mark.gate
def test_scib_metrics(engine: Engine) -> None:
    """scib-metrics 0.5: lisi_knn, kbet and graph_connectivity of iris with 30 neighbors.

    Its beta has a tolerance of 1e-5 in the entropy.
    """
    points, rows = iris_neighbors(30)
    samples = ask(engine, "neighborhood_samples", points, rows)
    lisi = [1.0877375, 1.03126284, 1.18051212, 1.00344364, 1.11581431, 1.00170138]
    assert [row["lisi"] for row in samples[50:56]] == pytest.approx(lisi, rel=2e-5)
    statistics = [row["kbet_statistic"] for row in samples[50:53]]
    assert statistics == pytest.approx([16.8, 31.2, 15.0], rel=1e-12)
    p_values = [2.24867324e-04, 1.67882753e-07, 5.53084370e-04]
    assert [row["kbet_p_value"] for row in samples[50:53]] == pytest.approx(p_values, rel=1e-8)
    [row] = ask(engine, "neighborhood_report", points, rows)
    assert row["lisi"] == pytest.approx(1.078553160795354, rel=1e-5)
    assert (row["kbet_acceptance_rate"], row["mean_component_share"]) == (0.0, 1.0)
    # Two batches, the even and the odd flowers.
    batches = points.with_columns(cluster=pl.col("id") % 2)
    [row] = ask(engine, "neighborhood_report", batches, rows)
    assert row["lisi"] == pytest.approx(1.7904961539518482, rel=1e-5)
    assert row["kbet_acceptance_rate"] == 1.0
    found = ask(engine, "neighborhood_samples", batches, rows)
    expected = [0.46520882, 0.71500065, 0.71500065, 0.71500065]
    assert [row["kbet_p_value"] for row in found[:4]] == pytest.approx(expected, rel=1e-7)


@pytest.mark.gate
def test_neighbors_of_scikit_learn(engine: Engine) -> None:
    """kneighbors has each point as its own neighbor."""
    points, _ = iris_neighbors(5)
    x, _ = load_iris(return_X_y=True)
    d, i = NearestNeighbors(n_neighbors=8).fit(x).kneighbors(x)
    rows = pl.DataFrame({"left": np.repeat(range(150), 8), "right": i.ravel(), "d": d.ravel()})
    [row] = ask(engine, "neighborhood_report", points, rows)
    assert row["n_neighbors"] + row["n_self_neighbors"] == 1200
    assert row["n_self_neighbors"] >= 149
    assert_rows([row], [Neighborhoods(points, rows).report()])


@pytest.mark.gate
@pytest.mark.parametrize("table", TABLES)
def test_many_ids(engine: Engine, table: str) -> None:
    """20,000 ids with 15 neighbors, whose samples in SQL equal those in Polars and in blocks."""
    random = np.random.default_rng(1)
    n, k = 20_000, 15
    i = np.repeat(np.arange(n), k)
    right = (i + random.integers(1, 300, n * k)) % n
    rows = pl.DataFrame({"left": i, "right": right, "d": random.exponential(size=n * k)})
    points = pl.DataFrame({"id": np.arange(n), "cluster": np.arange(n) // 400})
    wanted = ask(make("polars"), table, points, rows)
    assert_rows(ask(engine, table, points, rows), wanted)
    assert len(wanted) == {"neighborhood_samples": n, "neighborhood_clusters": 50}.get(table, 1)


@pytest.mark.gate
@pytest.mark.parametrize("block", [1, 7, 100])
def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(blocks, "_ROWS_PER_BLOCK", block)
    found = ask(make("polars"), "neighborhood_samples", *random_sets(), partition_by="run")
    assert_rows(found, expected_rows("neighborhood_samples"))


# ----------------------------------------------------------------------------------------------
# What must not matter, and what must
# ----------------------------------------------------------------------------------------------


@pytest.mark.gate
@pytest.mark.parametrize("table", TABLES)
def test_scores_without_distances(engine: Engine, table: str) -> None:
    found = ask(engine, table, *random_sets(), distance=None, partition_by="run")
    missing = dict.fromkeys(("lisi", "connectivity", "normalized_connectivity", "dunn_owa"))
    wanted = [row | {name: None for name in missing if name in row} for row in expected_rows(table)]
    assert_rows(found, wanted)


@pytest.mark.gate
@pytest.mark.parametrize("table", TABLES)
def test_order_of_rows_does_not_matter(engine: Engine, table: str) -> None:
    points, rows = (frame.reverse() for frame in random_sets())
    assert_rows(ask(engine, table, points, rows, partition_by="run"), expected_rows(table))


@pytest.mark.gate
@pytest.mark.parametrize("dtype", [pl.String, pl.UInt8, pl.Float64])
@pytest.mark.parametrize("table", TABLES)
def test_ids_of_any_type(engine: Engine, table: str, dtype: Any) -> None:
    points, rows = (frame.filter(run=12).drop("run") for frame in random_sets())

    def cast(name: str) -> pl.Expr:
        # Texts of the same length sort as the numbers do.
        number = pl.col(name) + 100
        return pl.format("{}", number).alias(name) if dtype == pl.String else number.cast(dtype)

    given = points.with_columns(cast("id")), rows.with_columns(cast("left"), cast("right"))
    wanted = EXPECTED[table](Neighborhoods(*random_neighbors(12)))
    if table == "neighborhood_samples":
        ids = sorted(given[0].drop_nulls("cluster")["id"])
        wanted = [row | {"id": each} for row, each in zip(wanted, ids, strict=True)]
    assert_rows(ask(engine, table, *given), wanted)


@pytest.mark.gate
@pytest.mark.parametrize("table", TABLES)
def test_columns_of_other_names(engine: Engine, table: str) -> None:
    """In SQL, a parameter replaces the columns of its name."""
    points, rows = (frame.filter(run=12) for frame in random_sets())
    names = {"id": "key", "cluster": "part"}
    ends = {"left": "one", "right": "two", "d": "length"}
    d: Any = Expression("length") if isinstance(engine, DuckDB) else "length"
    columns = ("key", "part", rows.rename(ends), "one", "two")
    found = engine.call(table, points.rename(names), *columns, distance=d)
    assert_rows(found, EXPECTED[table](Neighborhoods(*random_neighbors(12))))


@pytest.mark.gate
def test_ties_are_in_the_order_of_ids(engine: Engine) -> None:
    """Of three neighbors at the same distance, the lowest id is the nearest."""
    points = points_of([0, 1, 0, 0])
    for foreign, connectivity in ((1, 1.0), (2, 0.5), (3, 1 / 3)):
        clusters = [0, *(int(i == foreign) for i in (1, 2, 3))]
        rows = neighbors_of([(0, 3, 1.0), (0, 2, 1.0), (0, 1, 1.0)])
        points = points_of([*clusters])
        [row, *_] = ask(engine, "neighborhood_samples", points, rows)
        assert row["connectivity"] == pytest.approx(connectivity), foreign


@pytest.mark.gate
@pytest.mark.parametrize("noise_as", ["cluster", "drop", "singletons"])
@pytest.mark.parametrize("table", TABLES)
def test_noise(engine: Engine, table: str, noise_as: str) -> None:
    """The cluster 0 of each of the random neighbors is noise."""
    found = ask(engine, table, *random_sets(), partition_by="run", noise=0, noise_as=noise_as)
    wanted: list[Row] = []
    for run in range(N_SETS):
        points, rows = random_neighbors(run)
        is_noise, cluster = pl.col("cluster") == 0, pl.col("cluster")
        others = {"cluster": cluster, "drop": pl.lit(None), "singletons": 1000 + pl.col("id")}
        moved = pl.when(is_noise).then(others[noise_as]).otherwise(cluster).alias("cluster")
        expected = EXPECTED[table](Neighborhoods(points.with_columns(moved), rows))
        for row in expected:
            if table == "neighborhood_report":
                row["n_noise"] = points.filter(cluster == 0).height
                row["n_dropped"] = points["cluster"].null_count()
            if (row.get("cluster") or 0) >= 1000:
                row["cluster"] = None
                if table == "neighborhood_clusters":
                    continue
            wanted.append({"run": run} | row)
    assert_rows(found, wanted)


# ----------------------------------------------------------------------------------------------
# Bad input
# ----------------------------------------------------------------------------------------------

GOOD = points_of([0, 0, 1]), neighbors_of([(0, 1, 1.0), (1, 2, 2.0)])
NO_POINTS = {"rows": points_of([0, 0, 1]), "no cluster": points_of([None]), "none": points_of([])}


@pytest.mark.gate
@pytest.mark.parametrize("points", NO_POINTS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("d", "shown"),
    [
        (-1.5, "-1.5"),
        (None, "NULL"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (-np.inf, "-inf"),
    ],
)
def test_bad_distances(
    engine: Engine, table: str, d: float | None, shown: str, points: str
) -> None:
    rows = GOOD[1].with_columns(d=pl.when(pl.col("left") > 0).then(d).otherwise(1.0))
    words = (
        f"distance: expected finite numbers >= 0, got {shown} for 1 and 2; leave out neighbors "
        "without a distance, or give them one"
    )
    with fails(engine, words):
        ask(engine, table, NO_POINTS[points], rows)


FAULTS: dict[str, tuple[list[tuple[Any, ...]], str]] = {
    "the lowest id": ([(7, 1, -1.0), (2, 9, -2.0), (2, 8, 3.0)], "-2.0 for 2 and 9"),
    "the lowest neighbor": ([(2, 9, -1.0), (2, 8, None), (2, 10, -3.0)], "NULL for 2 and 8"),
    "the lowest distance": ([(2, 8, np.nan), (2, 8, np.inf), (2, 8, None)], "inf for 2 and 8"),
    "NaN before NULL": ([(2, 8, None), (2, 8, np.nan)], "nan for 2 and 8"),
    "NULL last": ([(None, 1, -1.0), (5, None, -2.0), (5, 6, -3.0)], "-3.0 for 5 and 6"),
    "no id": ([(None, None, -1.0)], "-1.0 for NULL and NULL"),
}


@pytest.mark.gate
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("rows_per_block", [2, 1000])
def test_which_bad_distance_is_named(
    engine: Engine, name: str, rows_per_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_ROWS_PER_BLOCK", rows_per_block)
    faults, shown = FAULTS[name]
    points = points_of([*range(6)])
    good = [(i, j, 1.0) for i in range(6) for j in range(6)]
    for rows in (neighbors_of([*good, *faults]), neighbors_of([*faults, *good]).reverse()):
        with fails(engine, f"got {shown}; leave out"):
            ask(engine, "neighborhood_report", points, rows)


@pytest.mark.gate
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("twice", [1, None])
def test_ids_twice_and_missing(engine: Engine, table: str, twice: int | None) -> None:
    points = pl.concat([GOOD[0], pl.DataFrame([(twice, 1)], schema=POINT, orient="row")])
    words = "got NULL in 1 rows" if twice is None else "got several rows of id 1; if ids repeat"
    with fails(engine, words):
        ask(engine, table, points, GOOD[1])


@pytest.mark.gate
@pytest.mark.parametrize("table", TABLES)
def test_neighbors_that_join_no_ids(engine: Engine, table: str) -> None:
    rows = neighbors_of([(0, 7, 1.0), (8, 9, 1.0)])
    words = (
        "neighbors: expected neighbors between ids with a cluster, such as 0, got 2 neighbors, "
        "each with another end, such as 7"
    )
    with fails(engine, words):
        ask(engine, table, GOOD[0], rows)


@pytest.mark.gate
@pytest.mark.parametrize("kind", [pl.String, pl.Boolean])
def test_distances_of_a_type_that_is_no_number(engine: Engine, kind: Any) -> None:
    rows = GOOD[1].with_columns(d=pl.lit(1).cast(kind))
    name = {pl.String: ("VARCHAR", "String"), pl.Boolean: ("BOOLEAN", "Boolean")}[kind]
    shown = name[0] if isinstance(engine, DuckDB) else name[1]
    words = f"distance: expected finite numbers >= 0, got a column of type {shown}; cast it"
    with pytest.raises(Exception, match=words):
        ask(engine, "neighborhood_report", GOOD[0], rows)


@pytest.mark.gate
@pytest.mark.parametrize("end", ["left", "right"])
def test_types_of_ends_and_ids(engine: Engine, end: str) -> None:
    rows = GOOD[1].with_columns(pl.format("p{}", end).alias(end))
    with fails(engine, f"{end}: expected the type of id (BIGINT), got VARCHAR; cast one of them"):
        ask(engine, "neighborhood_samples", GOOD[0], rows)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"perplexity": 0.5}, "perplexity: expected a number >= 1, got 0.5"),
        ({"perplexity": float("inf")}, "perplexity: expected a number >= 1, got inf"),
        ({"noise_as": "drop"}, "noise_as 'drop' needs noise"),
        ({"noise": "x", "noise_as": "drop"}, "noise: expected a value of the type of cluster"),
    ],
)
@pytest.mark.parametrize("table", TABLES)
def test_bad_options(engine: Engine, table: str, options: dict[str, Any], words: str) -> None:
    with fails(engine, words):
        ask(engine, table, *GOOD, **options)


@pytest.mark.gate
def test_the_argument_neighbors_is_a_frame() -> None:
    words = "neighbors: expected a Polars DataFrame or LazyFrame, got NoneType"
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.neighborhood_report(GOOD[0], "id", "cluster", None, "left", "right")  # type: ignore[type-var]


@pytest.mark.gate
def test_a_quoted_distance() -> None:
    engine = make("duckdb")
    assert isinstance(engine, DuckDB)
    call = (
        'FROM clustereval.neighborhood_report(people, id, cluster, nearest, "left", "right", '
        "distance := 'd')"
    )
    with fails(engine, "distance: expected a column, got the quoted string 'd'"):
        engine.ask(call, people=GOOD[0], nearest=GOOD[1])


def ring(n: int, k: int) -> pl.DataFrame:
    """Each of n ids has the next k as neighbors."""
    return neighbors_of([(i, (i + j) % n, float(j)) for i in range(n) for j in range(1, k + 1)])


@pytest.mark.gate
def test_many_clusters_have_no_p_value(engine: Engine) -> None:
    """The sum of a p-value has a term for every second cluster."""
    for n, has_p_value in ((1000, True), (1001, False)):
        [row, *_] = ask(engine, "neighborhood_samples", points_of([*range(n)]), ring(n, 2))
        assert row["kbet_statistic"] == pytest.approx(n - 2)
        assert (row["kbet_p_value"] is not None) == has_p_value


@pytest.mark.parametrize("table", TABLES)
def test_lisi_needs_six_neighbors(engine: Engine, table: str) -> None:
    """Otherwise the default perplexity is 1, and so is lisi, even if the clusters are mixed."""
    points = points_of([i % 2 for i in range(40)])
    for k in range(1, 6):
        rows = ask(engine, table, points, ring(40, k))
        assert {row["lisi"] for row in rows} == {None}, k
        explicit = ask(engine, table, points, ring(40, k), perplexity=max(k // 3, 1))
        assert {row["lisi"] for row in explicit} == {1.0}, k
        wide = ask(engine, table, points, ring(40, k), perplexity=k)
        assert all(row["lisi"] == pytest.approx(row["inverse_simpson"]) for row in wide)
    rows = ask(engine, table, points, ring(40, 6))
    assert all(1.0 < row["lisi"] < 2.0 for row in rows)


@pytest.mark.gate
def test_lisi_is_a_mean_of_the_ids_that_have_one(engine: Engine) -> None:
    points = points_of([0, 1] * 10)
    few = neighbors_of([(19, 1, 1.0), (19, 2, 1.0)])
    rows = pl.concat([ring(20, 6).filter(pl.col("left") < 19), few])
    samples = ask(engine, "neighborhood_samples", points, rows)
    [report] = ask(engine, "neighborhood_report", points, rows)
    found = [row["lisi"] for row in samples]
    assert found[-1] is None
    assert None not in found[:-1]
    assert report["lisi"] == pytest.approx(sum(found[:-1]) / 19, rel=1e-14)


#: By hand: sizes of the clusters, and the fewest neighbors with a p-value. The 95 % quantiles of
#: chi-square are 3.841, 5.991 and 9.488 for 1, 2 and 4 degrees of freedom, and k (n / least - 1) is
#: the largest statistic.
FEWEST = {
    "two of 20": ([20, 20], 4),  # 3 * 1 < 3.841 < 4 * 1
    "a small one": ([30, 10], 2),  # 1 * 3 < 3.841 < 2 * 3
    "a tiny one": ([39, 1], 1),  # 3.841 < 39
    "three of 10": ([10, 10, 10], 3),  # 2 * 2 < 5.991 < 3 * 2
    "five of 8": ([8] * 5, 3),  # 2 * 4 < 9.488 < 3 * 4
}


@pytest.mark.parametrize("name", FEWEST)
def test_p_values_only_of_tests_that_can_reject(engine: Engine, name: str) -> None:
    sizes, fewest = FEWEST[name]
    n = sum(sizes)
    points = points_of([cluster for cluster, size in enumerate(sizes) for _ in range(size)])
    for k in range(1, 6):
        samples = ask(engine, "neighborhood_samples", points, ring(n, k))
        assert {row["kbet_p_value"] is not None for row in samples} == {k >= fewest}, k
        assert None not in {row["kbet_statistic"] for row in samples}
        [report] = ask(engine, "neighborhood_report", points, ring(n, k))
        assert (report["kbet_acceptance_rate"] is not None) == (k >= fewest), k


@pytest.mark.gate
def test_the_limit_of_a_partition_is_its_own(engine: Engine) -> None:
    """The smallest cluster of another partition does not matter."""
    points = pl.concat([points_of([0] * 20 + [1] * 20), points_of([0] * 39 + [1])])
    points = points.with_columns(run=pl.int_range(80) // 40)
    rows = pl.concat([ring(40, 2).with_columns(run=pl.lit(run, pl.Int64)) for run in (0, 1)])
    found = ask(engine, "neighborhood_report", points, rows, partition_by="run")
    assert [row["kbet_acceptance_rate"] is not None for row in found] == [False, True]


@pytest.mark.gate
def test_acceptance_rate_of_the_ids_with_a_p_value(engine: Engine) -> None:
    """Ids with two neighbors do not count as accepted."""
    points = points_of([0] * 20 + [1] * 20)
    rows = pl.concat([ring(40, 10).filter(pl.col("left") < 10), ring(40, 2)]).unique()
    [report] = ask(engine, "neighborhood_report", points, rows)
    samples = ask(engine, "neighborhood_samples", points, rows)
    p = [row["kbet_p_value"] for row in samples if row["kbet_p_value"] is not None]
    assert len(p) == 10
    assert report["kbet_acceptance_rate"] == sum(x >= 0.05 for x in p) / 10
