"""Clusters of a graph: against networkx, igraph and published numbers, on every engine."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import igraph
import networkx as nx
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.external import graph_paths
from tests.support import registry
from tests.support.engines import DuckDB, Engine, Row, fails, make
from tests.support.graphs import (
    EDGE,
    NODE,
    ask,
    chain,
    edges_of,
    expected_clusters,
    expected_edges,
    expected_nodes,
    expected_report,
    nodes_of,
    random_graph,
    to_networkx,
)
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TABLES = registry.tables("graph")
EXPECTED: dict[str, Callable[[pl.DataFrame, pl.DataFrame], Any]] = {
    "graph_report": lambda nodes, edges: [expected_report(nodes, edges)],
    "graph_cluster_report": expected_clusters,
    "graph_node_report": expected_nodes,
    "graph_edge_report": expected_edges,
}
N_GRAPHS = 200


def assert_graph_rows(actual: list[Row], expected: list[Row], what: object = "") -> None:
    assert_points(actual, expected, tolerance=1e-12, floor=1e-3, what=what)


# ----------------------------------------------------------------------------------------------
# Degenerate graphs
# ----------------------------------------------------------------------------------------------

EMPTY = {
    "n_nodes": 0,
    "n_dropped": 0,
    "n_noise": 0,
    "n_clusters": 0,
    "n_edges": 0,
    "n_self_loops": 0,
    "n_dropped_edges": 0,
    "n_duplicate_edges": 0,
    "clusters_are_components": None,
    "modularity": None,
    "coverage": None,
    "performance": None,
    "mean_conductance": None,
    "worst_conductance": None,
    "inter_cluster_edge_share": None,
}
LONE = EMPTY | {"n_nodes": 1, "n_clusters": 1, "clusters_are_components": True}
SPLIT = EMPTY | {"clusters_are_components": False}
DEGENERATE = {
    "no rows": ([], [], EMPTY),
    "no node with a cluster": (
        [None, None],
        [(0, 1)],
        EMPTY | {"n_dropped": 2, "n_dropped_edges": 1},
    ),
    "one node": ([0], [], LONE),
    "one node with a self-loop": (
        [0],
        [(0, 0)],
        LONE
        | {"n_edges": 1, "n_self_loops": 1, "modularity": 0.0, "coverage": 1.0}
        | {"inter_cluster_edge_share": 0.0},
    ),
    "no edges": ([0, 0, 1], [], SPLIT | {"n_nodes": 3, "n_clusters": 2, "performance": 2 / 3}),
    "one cluster": (
        [0, 0],
        [(0, 1)],
        EMPTY
        | {"n_nodes": 2, "n_clusters": 1, "n_edges": 1, "modularity": 0.0, "coverage": 1.0}
        | {"clusters_are_components": True}
        | {"performance": 1.0, "inter_cluster_edge_share": 0.0},
    ),
    "weights of 0": (
        [0, 1],
        [(0, 1, 0.0)],
        SPLIT
        | {"n_nodes": 2, "n_clusters": 2, "n_edges": 1, "performance": 0.0}
        | {"inter_cluster_edge_share": 1.0},
    ),
    "two nodes apart": (
        [0, 1],
        [(1, 0), (0, 1), (0, 2)],
        SPLIT
        | {"n_nodes": 2, "n_clusters": 2, "n_edges": 1, "performance": 0.0, "modularity": -0.5}
        | {"coverage": 0.0, "mean_conductance": 1.0, "worst_conductance": 1.0}
        | {"inter_cluster_edge_share": 1.0, "n_dropped_edges": 1, "n_duplicate_edges": 1},
    ),
}


def graphs_as_partitions(graphs: Iterable[tuple[Any, Any]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The nodes and edges of several graphs, given by clusters and pairs, numbered by `run`."""
    both = [(nodes_of(clusters), edges_of(pairs)) for clusters, pairs in graphs]
    nodes, edges = (
        pl.concat([frame.with_columns(run=pl.lit(i)) for i, frame in enumerate(frames)])
        for frames in zip(*both, strict=True)
    )
    return nodes, edges


N_ROWS = {
    "graph_cluster_report": "n_clusters",
    "graph_node_report": "n_nodes",
    "graph_edge_report": "n_edges",
}


def test_degenerate_graphs(engine: Engine) -> None:
    """As partitions, which those without any row have none of."""
    names = list(DEGENERATE)
    graphs = graphs_as_partitions((clusters, pairs) for clusters, pairs, _ in DEGENERATE.values())
    rows = ask(engine, "graph_report", *graphs, weight="weight", partition_by="run")
    expected = [{"run": i} | row for i, (*_, row) in enumerate(DEGENERATE.values())]
    assert [row["run"] for row in rows] == list(range(1, len(names)))
    for row in rows:
        assert_graph_rows([row], [expected[row["run"]]], names[row["run"]])
    for table, count in N_ROWS.items():
        found = Counter(row["run"] for row in ask(engine, table, *graphs, partition_by="run"))
        for name, wanted in zip(names, expected, strict=True):
            assert found[wanted["run"]] == wanted[count], (table, name)


@pytest.mark.parametrize("name", ["no rows", "no node with a cluster", "two nodes apart"])
def test_degenerate_graphs_without_partitions(engine: Engine, name: str) -> None:
    clusters, pairs, expected = DEGENERATE[name]
    nodes, edges = nodes_of(clusters), edges_of(pairs)
    assert_graph_rows(ask(engine, "graph_report", nodes, edges, weight="weight"), [expected], name)
    for table, count in N_ROWS.items():
        assert len(ask(engine, table, nodes, edges)) == expected[count], table


@pytest.mark.parametrize("table", TABLES)
def test_no_partition_has_no_row(engine: Engine, table: str) -> None:
    nodes, edges = (pl.DataFrame(schema=schema | {"run": pl.Int64}) for schema in (NODE, EDGE))
    assert ask(engine, table, nodes, edges, partition_by="run") == []


SMALL_CLUSTERS: list[tuple[list[Any], int, tuple[float | None, ...]]] = [
    ([], 1, (None, None, 1, 0, 0)),
    ([(0, 0)], 1, (None, None, 1, 0, 0)),
    ([], 2, (0.0, None, 2, 0, None)),
    ([(1, 0)], 2, (1.0, None, 1, 1, 1)),
    ([(0, 1)], 3, (1 / 3, 0.5, 2, 1, None)),
    ([(0, 1), (1, 2)], 3, (2 / 3, 1.0, 1, 2, 2)),
    ([(0, 1), (1, 2), (2, 0)], 3, (1.0, 0.0, 1, 0, 1)),
]


def test_small_clusters(engine: Engine) -> None:
    """Each is all of its graph."""
    graphs = graphs_as_partitions(([0] * n, pairs) for pairs, n, _ in SMALL_CLUSTERS)
    rows = ask(engine, "graph_cluster_report", *graphs, partition_by="run")
    for row, (pairs, _, expected) in zip(rows, SMALL_CLUSTERS, strict=True):
        if pairs != [(0, 0)]:
            density = None if expected[0] is None else pytest.approx(expected[0])
            assert row["density"] == density, pairs
        names = ("centralization", "n_components", "n_bridges", "diameter")
        assert tuple(row[name] for name in names) == expected[1:], pairs


# ----------------------------------------------------------------------------------------------
# Published numbers
# ----------------------------------------------------------------------------------------------


def karate(parts: list[set[int]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    graph = nx.karate_club_graph()
    clusters = [next(i for i, part in enumerate(parts) if node in part) for node in range(34)]
    return nodes_of(clusters), edges_of(list(graph.edges))


def test_best_modularity_of_the_karate_club(engine: Engine) -> None:
    """Brandes and others (2008), On modularity clustering: the greatest is 0.4198."""
    parts = [
        {0, 1, 2, 3, 7, 11, 12, 13, 17, 19, 21},
        {4, 5, 6, 10, 16},
        {8, 9, 14, 15, 18, 20, 22, 26, 29, 30, 32, 33},
        {23, 24, 25, 27, 28, 31},
    ]
    [row] = ask(engine, "graph_report", *karate(parts))
    assert round(row["modularity"], 4) == 0.4198
    assert (row["n_nodes"], row["n_edges"], row["n_clusters"]) == (34, 78, 4)


def test_shapes(engine: Engine) -> None:
    """Closed forms: a chain, a circle, a star, a complete graph and two of these on a bridge."""
    shapes = {
        0: (chain(60), (59, 59)),
        1: ([*chain(41), (40, 0)], (0, 20)),
        2: ([(0, i) for i in range(1, 30)], (29, 2)),
        3: ([(i, j) for j in range(12) for i in range(j)], (0, 1)),
        4: (list(nx.barbell_graph(8, 0).edges), (1, 3)),
        5: (list(nx.ladder_graph(25).edges), (0, 25)),
        6: (list(nx.grid_2d_graph(9, 7).edges), (0, 14)),
        7: (list(nx.lollipop_graph(6, 10).edges), (10, 11)),
        8: (list(nx.balanced_tree(2, 5).edges), (62, 10)),
    }
    nodes, edges = [], []
    for cluster, (pairs, _) in shapes.items():
        names = sorted({node for pair in pairs for node in pair})
        number = {name: len(nodes) + i for i, name in enumerate(names)}
        nodes += [(i, cluster) for i in number.values()]
        edges += [(number[a], number[b]) for a, b in pairs]
    frame = pl.DataFrame(nodes, schema=NODE, orient="row")
    rows = ask(engine, "graph_cluster_report", frame, edges_of(edges))
    found = {row["cluster"]: (row["n_bridges"], row["diameter"]) for row in rows}
    assert found == {cluster: expected for cluster, (_, expected) in shapes.items()}
    star, complete = rows[2], rows[3]
    assert (star["centralization"], complete["centralization"]) == (1.0, 0.0)
    assert all(row["n_components"] == 1 and row["conductance"] == 0 for row in rows)


# ----------------------------------------------------------------------------------------------
# Random graphs
# ----------------------------------------------------------------------------------------------


@cache
def random_graphs() -> tuple[pl.DataFrame, pl.DataFrame]:
    """All random graphs as partitions of one."""
    graphs = [random_graph(seed) for seed in range(N_GRAPHS)]
    nodes, edges = (
        pl.concat([frame.with_columns(run=pl.lit(i)) for i, frame in enumerate(frames)])
        for frames in zip(*graphs, strict=True)
    )
    return nodes, edges


@cache
def rows_by_networkx(table: str) -> list[Row]:
    rows = []
    for run in range(N_GRAPHS):
        found = EXPECTED[table](*random_graph(run))
        rows += [{"run": run} | row for row in found if row.get("n_nodes", 1)]
    return rows


@pytest.mark.parametrize("table", TABLES)
def test_random_graphs(engine: Engine, table: str) -> None:
    nodes, edges = random_graphs()
    found = ask(engine, table, nodes, edges, weight="weight", partition_by="run")
    assert_graph_rows(found, rows_by_networkx(table), table)


def test_random_graphs_are_varied() -> None:
    rows = rows_by_networkx("graph_cluster_report")
    for name, least in (("n_bridges", 3), ("n_components", 3), ("diameter", 5)):
        assert sum((row[name] or 0) >= least for row in rows) > 20, name
    sums = rows_by_networkx("graph_report")
    for name in ("n_dropped", "n_self_loops", "n_dropped_edges", "n_duplicate_edges"):
        assert sum(row[name] for row in sums) > 20, name


def clusterings_by_components(graph: nx.Graph) -> list[dict[int, int]]:
    """The components as clusters, two of them as one cluster, and one of them as two."""
    parts = sorted(map(sorted, nx.connected_components(graph)), key=len)
    whole = {node: part[0] for part in parts for node in part}
    *_, second, largest = [[], *parts]
    merged = whole | dict.fromkeys(second, largest[0])
    return [whole, merged, whole | {largest[-1]: -1}]


def test_clusters_that_are_components(engine: Engine) -> None:
    """Also those of many nodes, and dense ones, which need no search."""
    shapes = [
        nx.path_graph(30),
        nx.star_graph(20),
        nx.complete_graph(12),
        nx.circulant_graph(9, [1, 2]),
    ]
    shapes += [to_networkx(*random_graph(seed)) for seed in range(0, 60, 3)]
    shapes += [nx.disjoint_union_all([nx.complete_graph(5)] * 2), nx.gnm_random_graph(40, 24, 1)]
    graphs = [
        (nodes_of([clusters.get(i) for i in range(max(clusters) + 1)]), edges_of(graph.edges))
        for graph in shapes
        for clusters in clusterings_by_components(graph)
    ]
    nodes, edges = (
        pl.concat([frame.with_columns(run=pl.lit(i)) for i, frame in enumerate(frames)])
        for frames in zip(*graphs, strict=True)
    )
    wanted = [expected_report(*graph)["clusters_are_components"] for graph in graphs]
    assert min(wanted.count(True), wanted.count(False)) > 25
    rows = ask(engine, "graph_report", nodes, edges, partition_by="run")
    assert [row["clusters_are_components"] for row in rows] == wanted
    for graph, is_whole in list(zip(graphs, wanted, strict=True))[:12]:
        [row] = ask(engine, "graph_report", *graph)
        assert row["clusters_are_components"] is is_whole


@pytest.mark.parametrize("resolution", [0, 0.5, 2.5])
def test_resolution(engine: Engine, resolution: float) -> None:
    nodes, edges = random_graphs()
    found = ask(
        engine,
        "graph_report",
        nodes,
        edges,
        weight="weight",
        partition_by="run",
        resolution=resolution,
    )
    for row in found[::4]:
        wanted = expected_report(*random_graph(row["run"]), resolution=resolution)
        assert row["modularity"] == pytest.approx(wanted["modularity"], abs=1e-12), row["run"]


def test_igraph_has_the_same_modularity_and_bridges(engine: Engine) -> None:
    nodes, edges = random_graphs()
    rows = ask(engine, "graph_report", nodes, edges, weight="weight", partition_by="run")
    bridges = ask(engine, "graph_edge_report", nodes, edges, partition_by="run")
    for row in rows[::3]:
        given = random_graph(row["run"])
        graph = to_networkx(*given)
        names = list(graph)
        theirs = igraph.Graph(
            n=len(names),
            edges=[(names.index(a), names.index(b)) for a, b in graph.edges],
            edge_attrs={"weight": [weight for *_, weight in graph.edges(data="weight")]},
        )
        cluster_of = dict(given[0].select("id", "cluster").iter_rows())
        membership = [cluster_of[name] for name in names]
        if row["modularity"] is not None:
            score = theirs.modularity(membership, weights="weight")
            assert row["modularity"] == pytest.approx(score, abs=1e-12)
        inner = theirs.subgraph_edges(
            [e.index for e in theirs.es if membership[e.source] == membership[e.target]],
            delete_vertices=False,
        )
        found = {
            (edge["left"], edge["right"])
            for edge in bridges
            if edge["run"] == row["run"] and edge["is_bridge"]
        }
        ends = [sorted(names[i] for i in inner.es[e].tuple) for e in inner.bridges()]
        assert found == {(one, two) for one, two in ends}


# ----------------------------------------------------------------------------------------------
# What must not matter, and what must
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_order_of_rows_and_ends_does_not_matter(engine: Engine, table: str) -> None:
    nodes, edges = (frame.filter(run=7).drop("run") for frame in random_graphs())
    expected = ask(engine, table, nodes, edges, weight="weight")
    turned = edges.reverse().select(left="right", right="left", weight="weight")
    assert_graph_rows(ask(engine, table, nodes.reverse(), turned, weight="weight"), expected, table)


@pytest.mark.parametrize("table", TABLES)
def test_a_partition_is_a_graph_of_its_own(engine: Engine, table: str) -> None:
    nodes, edges = random_graphs()
    for run in (3, 40, 111):
        one = [frame.filter(run=run) for frame in (nodes, edges)]
        alone = ask(engine, table, *one, weight="weight")
        wanted = [row for row in rows_by_networkx(table) if row["run"] == run]
        assert_graph_rows([{"run": run} | row for row in alone], wanted, run)


def test_several_partition_columns(engine: Engine) -> None:
    nodes, edges = (
        frame.filter(pl.col("run") < 6).with_columns(
            day=pl.when(pl.col("run") > 0).then(pl.col("run") // 2)
        )
        for frame in random_graphs()
    )
    rows = ask(engine, "graph_report", nodes, edges, weight="weight", partition_by=["day", "run"])
    assert [row["day"] for row in rows] == [0, 1, 1, 2, 2, None]
    wanted = {row["run"]: row for row in rows_by_networkx("graph_report")}
    assert_graph_rows(
        [{k: v for k, v in row.items() if k != "day"} for row in rows],
        [wanted[row["run"]] for row in rows],
    )


@pytest.mark.parametrize("dtype", [pl.String, pl.UInt8, pl.Float64, pl.Date])
@pytest.mark.parametrize("table", TABLES)
def test_ids_of_any_type(engine: Engine, table: str, dtype: Any) -> None:
    nodes, edges = (frame.filter(run=12).drop("run") for frame in random_graphs())
    expected = [
        {name: value for name, value in row.items() if name != "run"}
        for row in rows_by_networkx(table)
        if row["run"] == 12
    ]

    def cast(column: str) -> pl.Expr:
        number = pl.col(column)
        if dtype == pl.String:
            return pl.format("{}", number + 100)
        return number.cast(pl.Int32).cast(dtype) if dtype == pl.Date else number.cast(dtype)

    nodes = nodes.with_columns(cast("id"))
    edges = edges.with_columns(cast("left"), cast("right"))
    names = pl.DataFrame({"x": range(40)}).select("x", y=cast("x"))
    name_of = dict(names.iter_rows())
    for row in expected:
        row.update({key: name_of[row[key]] for key in ("id", "left", "right") if key in row})
    assert_graph_rows(ask(engine, table, nodes, edges, weight="weight"), expected, table)


def test_whole_numbers_of_different_types(engine: Engine) -> None:
    nodes = nodes_of([0, 0, 1]).with_columns(pl.col("id").cast(pl.Int16))
    edges = edges_of([(0, 1), (1, 2)]).with_columns(
        pl.col("left").cast(pl.UInt64), pl.col("right").cast(pl.Int32)
    )
    rows = ask(engine, "graph_edge_report", nodes, edges)
    assert [(row["left"], row["right"], row["is_bridge"]) for row in rows] == [
        (0, 1, True),
        (1, 2, None),
    ]


@pytest.mark.each
@pytest.mark.parametrize("table", TABLES)
def test_edges_of_other_ids(engine: Engine, table: str) -> None:
    """An edge of two nodes is enough, and so is no edge, or an end that is missing."""
    nodes, named = nodes_of([0, 0, 1]), edges_of([(0, 13), (12, 4)])
    words = (
        "edges: expected edges between ids with a cluster, such as 0, got 2 edges, each with "
        "another end, such as 12"
    )
    with fails(engine, words):
        ask(engine, table, nodes, named)
    with fails(engine, words):
        days = [frame.with_columns(day=pl.lit(1)) for frame in (nodes, named)]
        ask(engine, table, *days, partition_by="day")
    for clusters, pairs in (([0, 0, 1], [(0, 1), (12, 4)]), ([0, 0, 1], []), ([0], [(None, 0)])):
        ask(engine, table, nodes_of(clusters), edges_of(pairs))


@pytest.mark.gate
def test_without_weights_each_row_weighs_one(engine: Engine) -> None:
    nodes, edges = (frame.filter(pl.col("run") < 20) for frame in random_graphs())
    ones = edges.with_columns(weight=pl.lit(1))
    for table in TABLES:
        expected = ask(engine, table, nodes, ones, weight="weight", partition_by="run")
        assert_graph_rows(ask(engine, table, nodes, edges, partition_by="run"), expected, table)


NOISY = nodes_of([0, 0, -1, -1, 1])
NOISY_EDGES = edges_of([(0, 1), (1, 2), (2, 3), (3, 4)])


@pytest.mark.each
@pytest.mark.parametrize(
    ("noise_as", "counts", "clusters"),
    [
        ("cluster", (5, 2, 3, 4, 0), [-1, 0, 1]),
        ("drop", (3, 2, 2, 1, 3), [0, 1]),
        ("singletons", (5, 2, 4, 4, 0), [0, 1]),
    ],
)
def test_noise(engine: Engine, noise_as: str, counts: tuple[int, ...], clusters: list[int]) -> None:
    options = {"noise": -1, "noise_as": noise_as}
    [row] = ask(engine, "graph_report", NOISY, NOISY_EDGES, **options)
    names = ("n_nodes", "n_noise", "n_clusters", "n_edges", "n_dropped_edges")
    assert tuple(row[name] for name in names) == counts
    rows = ask(engine, "graph_cluster_report", NOISY, NOISY_EDGES, **options)
    assert [row["cluster"] for row in rows] == clusters
    nodes = ask(engine, "graph_node_report", NOISY, NOISY_EDGES, **options)
    assert len(nodes) == counts[0]
    [edge] = [
        edge
        for edge in ask(engine, "graph_edge_report", NOISY, NOISY_EDGES, **options)
        if (edge["left"], edge["right"]) == (2, 3)
    ] or [None]
    bridge = None if edge is None else edge["is_bridge"]
    assert bridge is {"cluster": True, "drop": None, "singletons": None}[noise_as]


def test_max_diameter_nodes(engine: Engine) -> None:
    nodes, edges = (
        nodes_of([0] * 4 + [1] * 5),
        edges_of([*chain(4), (4, 5), (5, 6), (6, 7), (7, 8)]),
    )
    for most, expected in ((0, [None, None]), (4, [3, None]), (5, [3, 4])):
        rows = ask(engine, "graph_cluster_report", nodes, edges, max_diameter_nodes=most)
        assert [row["diameter"] for row in rows] == expected


@pytest.mark.gate
def test_diameters_of_many_nodes(engine: Engine) -> None:
    """64 nodes are searched from at a time: sizes around multiples of it, nodes in any order."""
    graphs = [
        make(size)
        for size in (63, 64, 65, 127, 128, 129, 200)
        for make in (
            nx.path_graph,
            nx.cycle_graph,
            lambda n: nx.random_labeled_tree(n, seed=n),
            lambda n: nx.connected_watts_strogatz_graph(n, 4, 0.2, seed=n),
        )
    ]
    whole = nx.disjoint_union_all(graphs)
    ids = random.Random(0).sample(range(10_000), len(whole))
    clusters = [cluster for cluster, graph in enumerate(graphs) for _ in graph]
    nodes = pl.DataFrame(list(zip(ids, clusters, strict=True)), schema=NODE, orient="row")
    edges = edges_of([(ids[one], ids[two]) for one, two in whole.edges])
    rows = ask(engine, "graph_cluster_report", nodes, edges)
    assert [row["diameter"] for row in rows] == [nx.diameter(graph) for graph in graphs]


@pytest.mark.parametrize("block", [1, 7, 100])
def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    nodes, edges = random_graphs()
    monkeypatch.setattr(graph_paths, "_BLOCK", block)
    found = ce.graph_cluster_report(
        nodes, "id", "cluster", edges, "left", "right", weight="weight", partition_by="run"
    )
    assert_graph_rows(list(found.iter_rows(named=True)), rows_by_networkx("graph_cluster_report"))


# ----------------------------------------------------------------------------------------------
# Bad input
# ----------------------------------------------------------------------------------------------

GOOD = nodes_of([0, 0, 1]), edges_of([(0, 1), (1, 2)])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("twice", [1, None])
def test_ids_twice_and_missing(engine: Engine, table: str, twice: int | None) -> None:
    nodes = pl.concat([GOOD[0], pl.DataFrame([(twice, 1)], schema=NODE, orient="row")])
    words = (
        "id: expected a value in every row with a cluster, got NULL in 1 rows"
        if twice is None
        else "id: expected one row with a cluster per id, got several rows of id 1; if ids repeat "
        "across sources, give a struct of source and id"
    )
    with fails(engine, words):
        ask(engine, table, nodes, GOOD[1])


def test_an_id_without_a_cluster_may_be_twice(engine: Engine) -> None:
    more = pl.DataFrame([(1, None), (None, None), (None, None)], schema=NODE, orient="row")
    [row] = ask(engine, "graph_report", pl.concat([GOOD[0], more]), GOOD[1])
    assert (row["n_nodes"], row["n_dropped"], row["n_edges"]) == (3, 3, 2)


def test_ends_that_are_missing_are_dropped(engine: Engine) -> None:
    more = pl.DataFrame([(None, 1, 1.0), (1, None, 1.0), (None, None, 1.0)], EDGE, orient="row")
    [row] = ask(engine, "graph_report", GOOD[0], pl.concat([GOOD[1], more]))
    assert (row["n_edges"], row["n_dropped_edges"]) == (2, 3)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("weight", "shown"), [(-1.5, "-1.5"), (None, "NULL"), (float("nan"), ""), (float("inf"), "inf")]
)
def test_bad_weights(engine: Engine, table: str, weight: float | None, shown: str) -> None:
    edges = GOOD[1].with_columns(weight=pl.when(pl.col("left") > 0).then(weight).otherwise(1.0))
    with fails(engine, f"weight: expected finite numbers >= 0, got {shown}"):
        ask(engine, table, GOOD[0], edges, weight="weight")


#: Edges whose weights add up to more than a float holds: at one edge, one node or in one cluster.
HUGE = [[(0, 1), (1, 0)], [(0, 1), (0, 2)], [(0, 1), (2, 3)], [(0, 0)]]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("pairs", HUGE)
@pytest.mark.parametrize("partition_by", [None, "run"])
def test_weights_whose_sum_overflows(
    engine: Engine, table: str, pairs: list[tuple[int, int]], partition_by: str | None
) -> None:
    nodes = nodes_of([0, 0, 1, 1]).with_columns(run=pl.lit(1))
    edges = edges_of([(*pair, 1e308) for pair in pairs]).with_columns(run=pl.lit(1))
    options = {"weight": "weight", "partition_by": partition_by}
    with fails(engine, "weight: expected weights with a finite sum over all edges, got a sum that"):
        ask(engine, table, nodes, edges, **options)


@pytest.mark.parametrize("table", TABLES)
def test_large_weights_that_are_not_added(engine: Engine, table: str) -> None:
    """Of other partitions, and of edges that are dropped."""
    nodes = nodes_of([0, 0, 0, 0]).with_columns(run=pl.Series([1, 1, 2, 2]))
    rows = [(0, 1, 1), (2, 3, 2), (7, 8, 2), (7, 8, 2)]
    edges = edges_of([(*pair, 8e307) for *pair, _ in rows])
    edges = edges.with_columns(run=pl.Series([run for *_, run in rows]))
    found = ask(engine, table, nodes, edges, weight="weight", partition_by="run")
    plain = ask(engine, table, nodes, edges, partition_by="run")
    kinds = ("weight", "weighted_degree")
    assert [{k: v for k, v in row.items() if k not in kinds} for row in found] == [
        {k: v for k, v in row.items() if k not in kinds} for row in plain
    ]


NO_NODES = {
    "dropped noise": (nodes_of([-1, -1]), {"noise": -1, "noise_as": "drop"}),
    "no cluster": (nodes_of([None, None]), {}),
    "no rows": (nodes_of([]), {}),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("partition_by", [None, "run"])
@pytest.mark.parametrize("case", NO_NODES)
def test_bad_weights_without_nodes(
    engine: Engine, table: str, partition_by: str | None, case: str
) -> None:
    nodes, noise = NO_NODES[case]
    edges = edges_of([(0, 1, None)]).with_columns(run=pl.lit(1))
    options = {"weight": "weight", "partition_by": partition_by, **noise}
    with fails(engine, "weight: expected finite numbers >= 0, got NULL"):
        ask(engine, table, nodes.with_columns(run=pl.lit(1)), edges, **options)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("partition_by", [None, "run"])
@pytest.mark.parametrize("pairs", [[], [(1, 2)]])
@pytest.mark.parametrize(
    ("ids", "words"), [([1, 1, 2], "several rows of id 1"), ([None, 2, 3], "got NULL in 1 rows")]
)
def test_bad_ids_among_dropped_noise(
    engine: Engine,
    table: str,
    partition_by: str | None,
    pairs: list[tuple[int, int]],
    ids: list[int | None],
    words: str,
) -> None:
    """Also where no node is left."""
    nodes = pl.DataFrame([(each, -1, 1) for each in ids], {**NODE, "run": pl.Int32}, orient="row")
    edges = edges_of(pairs).with_columns(run=pl.lit(1, pl.Int32))
    with fails(engine, words):
        ask(engine, table, nodes, edges, noise=-1, noise_as="drop", partition_by=partition_by)


@pytest.mark.parametrize("kind", [pl.String, pl.Boolean])
def test_weights_of_a_type_that_is_no_number(engine: Engine, kind: Any) -> None:
    """Text is refused even if it reads as numbers."""
    edges = GOOD[1].with_columns(weight=pl.lit(1).cast(kind))
    name = {pl.String: ("VARCHAR", "String"), pl.Boolean: ("BOOLEAN", "Boolean")}[kind]
    words = f"got a column of type {name[0] if isinstance(engine, DuckDB) else name[1]}; cast it"
    with pytest.raises(Exception, match=words):
        ask(engine, "graph_report", GOOD[0], edges, weight="weight")


@pytest.mark.parametrize("end", ["left", "right"])
def test_types_of_ends_and_ids(engine: Engine, end: str) -> None:
    edges = GOOD[1].with_columns(pl.format("p{}", end).alias(end))
    with fails(engine, f"{end}: expected the type of id (BIGINT), got VARCHAR; cast one of them"):
        ask(engine, "graph_report", GOOD[0], edges)


def test_types_of_partitions(engine: Engine) -> None:
    nodes, edges = GOOD[0].with_columns(run=pl.lit(1)), GOOD[1].with_columns(run=pl.lit("1"))
    with fails(engine, "partition_by: expected the same type in both tables, got "):
        ask(engine, "graph_report", nodes, edges, partition_by="run")


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ("graph_report", {"resolution": -1}, "resolution: expected a number >= 0, got -1"),
        ("graph_report", {"resolution": None}, "resolution: expected a number >= 0, got NULL"),
        (
            "graph_cluster_report",
            {"max_diameter_nodes": 2.5},
            "max_diameter_nodes: expected a whole number >= 0, got 2.5",
        ),
        ("graph_node_report", {"noise_as": "drop"}, "noise_as 'drop' needs noise"),
        ("graph_edge_report", {"noise_as": "x"}, "noise_as: expected one of 'cluster', 'drop'"),
        (
            "graph_report",
            {"noise": "x", "noise_as": "drop"},
            "noise: expected a value of the type of cluster",
        ),
    ],
)
def test_bad_options(engine: Engine, table: str, options: dict[str, Any], words: str) -> None:
    with fails(engine, words):
        ask(engine, table, *GOOD, **options)


@pytest.mark.parametrize("place", range(4))
def test_columns_that_do_not_exist(engine: Engine, place: int) -> None:
    columns = ["id", "cluster", "left", "right"]
    name, columns[place] = columns[place], "nothing"
    words = '"nothing" not found' if isinstance(engine, DuckDB) else f"{name}: column 'nothing'"
    with fails(engine, words):
        ask(engine, "graph_report", *GOOD, columns=tuple(columns))  # type: ignore[arg-type]


def test_the_argument_edges_is_a_frame() -> None:
    for given, got in ((None, "NoneType"), ({"left": [0]}, "dict")):
        words = f"edges: expected a Polars DataFrame or LazyFrame, got {got}"
        with pytest.raises(ce.ClusterEvalError, match=words):
            ce.graph_report(GOOD[0], "id", "cluster", given, "left", "right")  # type: ignore[type-var]


def test_partition_columns_of_the_edges() -> None:
    nodes = GOOD[0].with_columns(run=pl.lit(1))
    with pytest.raises(ce.ClusterEvalError, match="partition_by: column 'run' not found; columns"):
        ce.graph_report(nodes, "id", "cluster", GOOD[1], "left", "right", partition_by="run")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ('\'id\', cluster, matches, "left", "right"', "id"),
        ('id, \'cluster\', matches, "left", "right"', "cluster"),
        ("id, cluster, matches, 'left', \"right\"", "left"),
        ("id, cluster, matches, \"left\", 'right'", "right"),
        ('id, cluster, matches, "left", "right", weight := \'weight\'', "weight"),
    ],
)
def test_quoted_columns(arguments: str, name: str) -> None:
    engine: Any = make("duckdb")
    with engine.connection.cursor() as cursor:
        for table, frame in zip(("people", "matches"), GOOD, strict=True):
            cursor.register(table, frame)
        with fails(engine, f"{name}: expected a column, got the quoted string '{name}'"):
            cursor.execute(f"FROM clustereval.graph_report(people, {arguments})")


@pytest.mark.parametrize("table", registry.tables("graph"))
def test_a_threshold_leaves_lighter_rows_out(engine: Engine, table: str) -> None:
    for seed in range(5):
        nodes, edges = random_graph(seed)
        kept = edges.filter(pl.col("weight") >= 0.25)
        found = ask(engine, table, nodes, edges, weight="weight", threshold=0.25)
        assert_points(found, ask(engine, table, nodes, kept, weight="weight"))
        assert found != ask(engine, table, nodes, edges, weight="weight")


def test_a_threshold_of_a_graph_needs_weights(engine: Engine) -> None:
    nodes, edges = random_graph(1)
    words = "weight: expected the column that thresholds are compared with, got NULL"
    with fails(engine, words):
        ask(engine, "graph_report", nodes, edges, threshold=0.5)
    with fails(engine, "threshold: expected a number, got "):
        ask(engine, "graph_report", nodes, edges, weight="weight", threshold=float("inf"))
