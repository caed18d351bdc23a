"""Where clusters can be cut: against networkx and brute force, and clusters that are components."""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.external import cuts
from polars_clustereval.external.kernels import min_cuts
from tests.support.engines import Row, fails, make
from tests.support.graphs import (
    EDGE,
    NODE,
    ask,
    chain,
    communities,
    edges_of,
    nodes_of,
    random_graph,
    to_networkx,
)
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = ["kind", "left", "right", "weight", "n_edges", "n_parts", "n_separated", "largest_part"]
N_GRAPHS = 150
#: Components of at most this many ids have all their cuts listed.
MOST = 11


def links_of(nodes: pl.DataFrame, edges: pl.DataFrame, **options: Any) -> list[Row]:
    """The rows of the table, which has no macro."""
    return ask(make("polars"), "suspicious_links", nodes, edges, **options)


def cuts_of(
    pairs: list[tuple[Any, ...]], clusters: list[Any] | None = None, **options: Any
) -> list[tuple[Any, ...]]:
    """The rows of a graph, without the cluster, which is the same for all ids by default."""
    n = 1 + max((x for pair in pairs for x in pair[:2]), default=0)
    nodes = nodes_of([0] * n if clusters is None else clusters)
    graph = (nodes, "id", "cluster", edges_of(pairs), "left", "right")
    return ce.suspicious_links(*graph, **options).select(COLUMNS).rows()


# ----------------------------------------------------------------------------------------------
# Degenerate graphs, and graphs worked out by hand
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clusters", "pairs"),
    [
        ([], []),
        ([None, None], [(0, 1)]),
        ([0], []),
        ([0], [(0, 0)]),
        ([0, 0, 0], []),
        ([0, 1], [(0, 1)]),
        ([0, 0, 1], [(0, 0), (0, 2), (1, 2)]),
    ],
)
def test_graphs_without_links(clusters: list[int | None], pairs: list[tuple[int, int]]) -> None:
    nodes, edges = nodes_of(clusters), edges_of(pairs)
    assert links_of(nodes, edges) == []
    nodes, edges = (frame.with_columns(run=pl.lit(1)) for frame in (nodes, edges))
    assert links_of(nodes, edges, partition_by="run") == []


def test_a_pair_is_a_bridge() -> None:
    assert cuts_of([(1, 0), (0, 1), (0, 0)]) == [("bridge", 0, 1, 2.0, 1, 2, 1, 1)]


def test_a_triangle_has_a_minimum_cut() -> None:
    """Without node 1 or 2; the lightest edge of that cut is 0-2 or 1-2."""
    pairs = [(0, 1, 3.0), (1, 2, 2.0), (0, 2, 1.0)]
    assert cuts_of(pairs, weight="weight") == [("minimum cut", 0, 2, 3.0, 2, 2, 1, 2)]


def test_two_triangles_that_share_an_id() -> None:
    """Every node is joined to half of the others, and yet one of them divides the graph."""
    pairs = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]
    cut, point = cuts_of(pairs)
    assert point == ("articulation point", 2, None, 4.0, 4, 2, 2, 2)
    assert (cut[0], *cut[3:]) == ("minimum cut", 2.0, 2, 2, 2, 3)


def test_a_star_and_a_chain() -> None:
    star = cuts_of([(0, i) for i in range(1, 6)])
    assert star[0] == ("articulation point", 0, None, 5.0, 5, 5, 4, 1)
    assert star[1:] == [("bridge", 0, i, 1.0, 1, 2, 1, 5) for i in range(1, 6)]
    assert cuts_of(chain(5)) == [
        ("bridge", 1, 2, 1.0, 1, 2, 2, 3),
        ("bridge", 2, 3, 1.0, 1, 2, 2, 3),
        ("articulation point", 2, None, 2.0, 2, 2, 2, 2),
        ("bridge", 0, 1, 1.0, 1, 2, 1, 4),
        ("bridge", 3, 4, 1.0, 1, 2, 1, 4),
        ("articulation point", 1, None, 2.0, 2, 2, 1, 3),
        ("articulation point", 3, None, 2.0, 2, 2, 1, 3),
    ]


def test_of_equal_cuts_the_one_in_the_middle_is_found() -> None:
    """Two complete graphs of four nodes with two edges between them."""
    pairs = [(i + s, j + s) for s in (0, 4) for i, j in combinations(range(4), 2)]
    pairs += [(0, 4, 0.5), (1, 5, 0.25)]
    assert cuts_of(pairs, weight="weight") == [("minimum cut", 1, 5, 0.75, 2, 2, 4, 4)]
    ring = [*chain(8), (7, 0)]
    assert [row[3:] for row in cuts_of(ring)] == [(2.0, 2, 2, 4, 4)]


def test_the_example_of_stoer_and_wagner() -> None:
    """Figure 1 of Stoer and Wagner (1997): the cut {3, 4, 7, 8} has weight 4."""
    pairs = [
        *((1, 2, 2.0), (1, 5, 3.0), (2, 3, 3.0), (2, 5, 2.0), (2, 6, 2.0), (3, 4, 4.0)),
        *((3, 7, 2.0), (4, 7, 2.0), (4, 8, 2.0), (5, 6, 3.0), (6, 7, 1.0), (7, 8, 3.0)),
    ]
    assert cuts_of(pairs, weight="weight") == [("minimum cut", 6, 7, 4.0, 2, 2, 4, 4)]


@pytest.mark.parametrize(("n", "n_rows"), [(cuts.MAX_CUT_NODES, 1), (cuts.MAX_CUT_NODES + 1, 0)])
def test_large_components_have_no_minimum_cut(n: int, n_rows: int) -> None:
    """A wheel, which has no bridge."""
    pairs = [(0, i) for i in range(1, n)] + [(i, i % (n - 1) + 1) for i in range(1, n)]
    rows = cuts_of(pairs)
    assert len(rows) == n_rows
    assert all(row[3:] == (3.0, 3, 2, 1, n - 1) for row in rows)


def test_each_component_is_cut() -> None:
    """Those of the same cluster, too, and other clusters do not count."""
    pairs = [(0, 1), (1, 2), (2, 0), (3, 4), (5, 6), (2, 5), (4, 6)]
    rows = cuts_of(pairs, [0, 0, 0, 0, 0, 1, 1])
    kinds = [("minimum cut", 1, 2), ("bridge", 1, 1), ("bridge", 1, 1)]
    assert sorted((row[0], *row[6:]) for row in rows) == sorted(kinds)


# ----------------------------------------------------------------------------------------------
# Random graphs
# ----------------------------------------------------------------------------------------------


def components_of(nodes: pl.DataFrame, edges: pl.DataFrame) -> Iterator[tuple[int, nx.Graph]]:
    """The components of all clusters, each with its cluster."""
    graph = to_networkx(nodes, edges)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    for cluster, members in communities(nodes).items():
        inside = graph.subgraph(members)
        for part in nx.connected_components(inside):
            yield cluster, inside.subgraph(part).copy()


def sizes_without(graph: nx.Graph) -> list[int]:
    return sorted(map(len, nx.connected_components(graph)), reverse=True)


def row_of(kind: str, ends: tuple[Any, Any], removed: list[float], sizes: list[int]) -> Row:
    return {
        "kind": kind,
        "left": ends[0],
        "right": ends[1],
        "weight": sum(removed),
        "n_edges": len(removed),
        "n_parts": len(sizes),
        "n_separated": sum(sizes[1:]),
        "largest_part": sizes[0],
    }


def expected_links(nodes: pl.DataFrame, edges: pl.DataFrame) -> list[Row]:
    """The bridges and articulation points by networkx, with what removing them leaves."""
    rows = []
    for cluster, graph in components_of(nodes, edges):
        for one, two in nx.bridges(graph):
            rest = graph.copy()
            rest.remove_edge(one, two)
            removed = [graph.edges[one, two]["weight"]]
            ends = (min(one, two), max(one, two))
            rows.append({"cluster": cluster} | row_of("bridge", ends, removed, sizes_without(rest)))
        for point in nx.articulation_points(graph):
            removed = [weight for *_, weight in graph.edges(point, data="weight")]
            rest = graph.copy()
            rest.remove_node(point)
            row = row_of("articulation point", (point, None), removed, sizes_without(rest))
            rows.append({"cluster": cluster} | row)
    return sorted(rows, key=place_of)


def place_of(row: Row) -> tuple[Any, ...]:
    """What rows are sorted by, with weights rounded."""
    is_point = row["right"] is None
    weight = round(row["weight"], 9)
    return (-row["n_separated"], weight, row["left"], is_point, row["right"])


def all_cuts(graph: nx.Graph) -> list[Row]:
    """Every division of the nodes in two, as a row of the table."""
    first, *others = graph
    rows = []
    for n in range(len(others)):
        for more in combinations(others, n):
            side = {first, *more}
            removed = [x for x in graph.edges(data="weight") if (x[0] in side) != (x[1] in side)]
            _, *ends = min((w, min(a, b), max(a, b)) for a, b, w in removed)
            sizes = sorted((len(side), len(graph) - len(side)), reverse=True)
            rows.append(row_of("minimum cut", tuple(ends), [x[2] for x in removed], sizes))
    return rows


def check_minimum_cuts(found: list[Row], nodes: pl.DataFrame, edges: pl.DataFrame) -> int:
    """Each is one of the cuts of the lowest weight; return how many are compared with all cuts."""
    cut = {
        cluster: [row for row in found if row["cluster"] == cluster]
        for cluster in {row["cluster"] for row in found}
    }
    n_compared = n_cut = 0
    for cluster, graph in components_of(nodes, edges):
        if len(graph) < 3 or nx.has_bridges(graph):
            continue
        n_cut += 1
        [row] = [row for row in cut[cluster] if row["left"] in graph]
        assert row["weight"] == pytest.approx(nx.stoer_wagner(graph)[0], abs=1e-12)
        assert row["n_parts"] == 2
        assert row["n_separated"] + row["largest_part"] == len(graph)
        if len(graph) <= MOST:
            n_compared += 1
            own = {name: value for name, value in row.items() if name != "cluster"}
            alike = [x for x in all_cuts(graph) if x | {"weight": 0} == own | {"weight": 0}]
            assert any(x["weight"] == pytest.approx(row["weight"], abs=1e-12) for x in alike)
    assert n_cut == len(found)
    return n_compared


def test_random_graphs() -> None:
    graphs = [random_graph(seed) for seed in range(N_GRAPHS)]
    nodes, edges = (
        pl.concat([frame.with_columns(run=pl.lit(i)) for i, frame in enumerate(frames)])
        for frames in zip(*graphs, strict=True)
    )
    found = links_of(nodes, edges, weight="weight", partition_by="run")
    assert [row["run"] for row in found] == sorted(row["run"] for row in found)
    n_compared = n_cuts = 0
    for run, graph in enumerate(graphs):
        rows = [{k: x for k, x in row.items() if k != "run"} for row in found if row["run"] == run]
        assert rows == sorted(rows, key=place_of)
        minimum = [row for row in rows if row["kind"] == "minimum cut"]
        n_compared += check_minimum_cuts(minimum, *graph)
        n_cuts += len(minimum)
        assert_points([row for row in rows if row not in minimum], expected_links(*graph), what=run)
    assert n_cuts > 25
    assert n_compared > 20


@pytest.mark.gate
def test_small_graphs() -> None:
    """All graphs of three to seven nodes as clusters."""
    shapes = [graph for graph in nx.graph_atlas_g() if len(graph) >= 3]
    whole = nx.disjoint_union_all(shapes)
    ids = random.Random(1).sample(range(20_000), len(whole))
    clusters = [cluster for cluster, graph in enumerate(shapes) for _ in graph]
    nodes = pl.DataFrame(list(zip(ids, clusters, strict=True)), schema=NODE, orient="row")
    edges = edges_of([(ids[one], ids[two]) for one, two in whole.edges])
    found = links_of(nodes, edges)
    minimum = [row for row in found if row["kind"] == "minimum cut"]
    assert check_minimum_cuts(minimum, nodes, edges) > 500
    rest = [row for row in found if row["kind"] != "minimum cut"]
    assert_points(rest, expected_links(nodes, edges))


def large_graph(n: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Clusters of 4 to 60 ids, whose edges and weights are random."""
    r = np.random.default_rng(3)
    sizes = r.integers(4, 61, n // 30)
    cluster = np.repeat(np.arange(sizes.size), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    one = r.integers(0, cluster.size, 2 * cluster.size)
    two = first[one] + r.integers(0, sizes[cluster[one]])
    weight = r.choice([0.5, 0.25, 2.0], one.size) * 2.0 ** (cluster[one] % 7)
    nodes = pl.DataFrame({"id": np.arange(cluster.size), "cluster": cluster}, NODE)
    return nodes, pl.DataFrame({"left": one, "right": two, "weight": weight}, EDGE)


@pytest.mark.gate
def test_many_rows() -> None:
    nodes, edges = large_graph(30_000)
    assert nodes.height > 20_000
    found = links_of(nodes, edges, weight="weight")
    minimum = [row for row in found if row["kind"] == "minimum cut"]
    check_minimum_cuts(minimum, nodes, edges)
    assert len(minimum) > 100
    rest = [row for row in found if row["kind"] != "minimum cut"]
    assert_points(rest, expected_links(nodes, edges))


# ----------------------------------------------------------------------------------------------
# Blocks of matrices
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [1, 100, 2000])
def test_blocks_of_matrices_do_not_matter(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    nodes, edges = large_graph(1200)
    graph = (nodes, "id", "cluster", edges, "left", "right")
    whole = ce.suspicious_links(*graph, weight="weight")
    monkeypatch.setattr(min_cuts, "_MATRIX_CELLS", cells)
    assert ce.suspicious_links(*graph, weight="weight").equals(whole)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_after_the_first_phases_one_cut_is_enough(
    monkeypatch: pytest.MonkeyPatch, weight: str | None
) -> None:
    """As for large graphs, whose phases are many."""
    monkeypatch.setattr(min_cuts, "_PHASES", 1)
    monkeypatch.setattr(min_cuts, "_MATRIX_CELLS", 5000)
    nodes, edges = large_graph(4000)
    ring = [(i, (i + 1) % 40, 1.0 + (i % 7)) for i in range(40)]
    edges = pl.concat([edges, edges_of([(i + 5000, j + 5000, w) for i, j, w in ring])])
    nodes = pl.concat(
        [nodes, pl.DataFrame([(i + 5000, -1) for i in range(40)], NODE, orient="row")]
    )
    found = links_of(nodes, edges, weight=weight)
    minimum = [row for row in found if row["kind"] == "minimum cut"]
    used = edges if weight else edges.with_columns(weight=pl.lit(1.0))
    check_minimum_cuts(minimum, nodes, used)
    assert [row["weight"] for row in minimum if row["cluster"] == -1] == [2.0]


# ----------------------------------------------------------------------------------------------
# What must not matter, and what must
# ----------------------------------------------------------------------------------------------


def test_order_of_rows_and_ends_does_not_matter() -> None:
    for nodes, edges in (random_graph(7), random_graph(40), large_graph(600)):
        # Sums of these weights are exact in any order.
        edges = edges.with_columns(pl.col("weight") * 4 // 1)
        expected = links_of(nodes, edges, weight="weight")
        turned = edges.reverse().select(left="right", right="left", weight="weight")
        shuffled = nodes.sample(fraction=1, shuffle=True, seed=5)
        assert links_of(shuffled, turned, weight="weight") == expected


@pytest.mark.parametrize("weights", [(0.1, 0.2, 0.3), (0.3, 0.2, 0.1)])
def test_rounding_errors_of_sums_do_not_decide(weights: tuple[float, ...]) -> None:
    """0.1 + 0.2 + 0.3 is above 0.3 + 0.2 + 0.1, which is 0.6."""
    pairs = [
        (center, center + 1 + i, weight)
        for center, of_center in ((0, weights), (4, weights[::-1]))
        for i, weight in enumerate(of_center)
    ]
    rows = cuts_of(pairs, [0] * 4 + [1] * 4, weight="weight")
    assert [row[1] for row in rows if row[0] == "articulation point"] == [0, 4]


@pytest.mark.parametrize("dtype", [pl.String, pl.UInt8, pl.Float64, pl.Struct, pl.List])
def test_ids_of_any_type(dtype: Any) -> None:
    nodes, edges = random_graph(12)

    def cast(column: str) -> pl.Expr:
        if dtype == pl.String:
            return pl.format("{}", pl.col(column) + 100)
        if dtype == pl.Struct:
            return pl.struct(a=1, b=column).alias(column)
        return pl.concat_list(column) if dtype == pl.List else pl.col(column).cast(dtype)

    columns = ("left", "right")
    given = nodes.with_columns(cast("id")), edges.with_columns(map(cast, columns))
    found = links_of(*given)
    expected = links_of(nodes, edges)
    frame = pl.DataFrame(expected, infer_schema_length=None)
    for column in columns:
        missing = pl.col(column).is_null()
        frame = frame.with_columns(pl.when(~missing).then(cast(column)).alias(column))
    assert found == frame.rows(named=True)
    assert len(found) > 3


def test_integers_of_any_size_and_their_type() -> None:
    nodes, edges = random_graph(12)
    nodes = nodes.with_columns(pl.col("id").cast(pl.Int16))
    found = ce.suspicious_links(nodes, "id", "cluster", edges, "left", "right")
    assert (found.schema["left"], found.schema["right"]) == (pl.Int16, pl.Int16)
    for name in COLUMNS[4:]:
        assert found.schema[name] == pl.Int64


def test_nothing_is_read_at_the_call() -> None:
    read = []

    def observe(frame: pl.DataFrame) -> pl.DataFrame:
        read.append(frame.columns[0])
        return frame

    nodes, edges = random_graph(12)
    sources = [x.lazy().map_batches(observe, schema=x.schema) for x in (nodes, edges)]
    found = ce.suspicious_links(sources[0], "id", "cluster", sources[1], "left", "right")
    assert read == []
    rows = found.filter(pl.col("kind") == "bridge").select("left").collect()
    assert {*read} == {"id", "left"}
    whole = ce.suspicious_links(nodes, "id", "cluster", edges, "left", "right")
    assert rows.equals(whole.filter(pl.col("kind") == "bridge").select("left"))


def test_noise() -> None:
    nodes, edges = nodes_of([-1, -1, -1, 0, 0]), edges_of([(0, 1), (1, 2), (3, 4)])
    for noise_as, n_rows in (("cluster", 4), ("drop", 1), ("singletons", 1)):
        options = {"noise": -1, "noise_as": noise_as}
        assert len(links_of(nodes, edges, **options)) == n_rows


def test_a_threshold_leaves_lighter_rows_out() -> None:
    nodes, edges = random_graph(9)
    found = links_of(nodes, edges, weight="weight", threshold=0.25)
    kept = edges.filter(pl.col("weight") >= 0.25)
    assert found == links_of(nodes, kept, weight="weight")
    assert found != links_of(nodes, edges, weight="weight")


@pytest.mark.parametrize(
    ("nodes", "pairs", "options", "words"),
    [
        ([0, 0], [(0, 1, None)], {"weight": "weight"}, "weight: expected finite numbers >= 0, got"),
        ([0, 0], [(0, 1, -1.0)], {"weight": "weight"}, "weight: expected finite numbers >= 0, got"),
        ([0, 0], [(0, 1, 1e308)], {"weight": "weight"}, "got a sum that overflows"),
        ([0, 0], [(0, 7)], {}, "expected edges between ids with a cluster, such as 0, got 1 edges"),
        ([0, 0], [(0, 1)], {"threshold": 1}, "weight: expected the column that thresholds"),
        ([0, 0], [(0, 1)], {"noise_as": "drop"}, "noise_as 'drop' needs noise"),
    ],
)
def test_errors(nodes: list[int], pairs: list[Any], options: dict[str, Any], words: str) -> None:
    with fails(make("polars"), words):
        links_of(nodes_of(nodes), edges_of(pairs), **options)


def test_repeated_ids_are_an_error() -> None:
    with fails(
        make("polars"), "id: expected one row with a cluster per id, got several rows of id 0"
    ):
        links_of(pl.concat([nodes_of([0])] * 2), edges_of([]))
