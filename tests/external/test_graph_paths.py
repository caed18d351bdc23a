"""Parts, bridges and diameters of small clusters, which DuckDB finds without a search."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import networkx as nx
import polars as pl
import pytest

from tests.support.graphs import NODE, ask, edges_of

if TYPE_CHECKING:
    from tests.support.engines import Engine

pytestmark = pytest.mark.gate


@cache
def small_graphs() -> list[nx.Graph]:
    """All graphs of three to six nodes, and some of seven to nine: eight nodes need no search."""
    shapes = [graph for graph in nx.graph_atlas_g() if 3 <= len(graph) <= 6]
    shapes += [make(n) for n in (7, 8, 9) for make in (nx.path_graph, nx.cycle_graph)]
    shapes += [
        nx.gnm_random_graph(n, m, seed)
        for n in (7, 8, 9)
        for m in range(5, 15)
        for seed in range(6)
    ]
    return shapes


def test_small_graphs(engine: Engine) -> None:
    whole = nx.disjoint_union_all(small_graphs())
    ids = random.Random(0).sample(range(10_000), len(whole))
    clusters = [cluster for cluster, graph in enumerate(small_graphs()) for _ in graph]
    nodes = pl.DataFrame(list(zip(ids, clusters, strict=True)), schema=NODE, orient="row")
    edges = edges_of([(ids[one], ids[two]) for one, two in whole.edges])

    rows = ask(engine, "graph_cluster_report", nodes, edges)
    found = [(row["n_components"], row["n_bridges"], row["diameter"]) for row in rows]
    assert found == [
        (
            nx.number_connected_components(graph),
            sum(1 for _ in nx.bridges(graph)),
            nx.diameter(graph) if nx.is_connected(graph) else None,
        )
        for graph in small_graphs()
    ]
    bridges = {tuple(sorted((ids[one], ids[two]))) for one, two in nx.bridges(whole)}
    ends = ask(engine, "graph_edge_report", nodes, edges)
    assert {(row["left"], row["right"]) for row in ends if row["is_bridge"]} == bridges
    counts = Counter(end for bridge in bridges for end in bridge)
    for row in ask(engine, "graph_node_report", nodes, edges):
        assert row["n_bridges"] == counts[row["id"]]
