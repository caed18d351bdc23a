"""Graphs with clusters: one way to call the tables on every engine, and what networkx says."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.support.engines import Engine, Row

NODE = {"id": pl.Int64, "cluster": pl.Int64}
EDGE = {"left": pl.Int64, "right": pl.Int64, "weight": pl.Float64}


def ask(
    engine: Engine,
    function: str,
    nodes: pl.DataFrame,
    edges: pl.DataFrame,
    columns: tuple[str, str, str, str] = ("id", "cluster", "left", "right"),
    **arguments: Any,
) -> list[Row]:
    """The rows of a table macro or frame function of a graph."""
    return engine.call(function, nodes, *columns[:2], edges, *columns[2:], **arguments)


def nodes_of(clusters: Iterable[int | None]) -> pl.DataFrame:
    """Nodes 0, 1, ... with these clusters."""
    return pl.DataFrame(list(enumerate(clusters)), schema=NODE, orient="row")


def edges_of(pairs: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """Edges of pairs or of triples with a weight, which is 1 otherwise."""
    rows = [pair if len(pair) == 3 else (*pair, 1.0) for pair in pairs]
    return pl.DataFrame(rows, schema=EDGE, orient="row")


def chain(n: int) -> list[tuple[int, int]]:
    return list(pairwise(range(n)))


def random_graph(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Up to 30 nodes, some without a cluster; edges with loops, duplicates and foreign ends."""
    r = np.random.default_rng(seed)
    n, k = int(r.integers(1, 31)), int(r.integers(1, 6))
    clusters = [None if r.random() < 0.05 else int(r.integers(k)) for _ in range(n)]
    ends = r.integers(0, n + 1, size=(int(r.integers(0, 3 * n + 1)), 2))
    # Denser within clusters, so that some are connected.
    mates = [[j for j in range(n) if clusters[j] == clusters[i]] for i in range(n)]
    inner = [(i, int(r.choice(mates[i]))) for i in range(n) if r.random() < 0.8]
    pairs = [(int(a), int(b)) for a, b in ends if r.random() < 0.7] + inner
    weights = r.choice([0.0, 0.1, 0.25, 1.0, 3.7], size=len(pairs), p=[0.05, 0.25, 0.2, 0.3, 0.2])
    rows = [(a, b, float(w)) for (a, b), w in zip(pairs, weights, strict=True)]
    order = r.permutation(n)
    return nodes_of(clusters)[order], edges_of(rows)


def to_networkx(nodes: pl.DataFrame, edges: pl.DataFrame) -> nx.Graph:
    """The graph of the nodes with a cluster; weights of the same edge are added."""
    graph = nx.Graph()
    graph.add_nodes_from(nodes.drop_nulls("cluster")["id"].to_list())
    for left, right, weight in edges.select("left", "right", "weight").iter_rows():
        if left in graph and right in graph:
            before = graph.get_edge_data(left, right, {"weight": 0.0})["weight"]
            graph.add_edge(left, right, weight=before + weight)
    return graph


def communities(nodes: pl.DataFrame) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for node, cluster in nodes.drop_nulls("cluster").select("id", "cluster").iter_rows():
        found.setdefault(cluster, set()).add(node)
    return dict(sorted(found.items()))


def conductance(graph: nx.Graph, members: set[int]) -> float | None:
    try:
        return float(nx.conductance(graph, members, weight="weight"))
    except ZeroDivisionError:
        return None


def expected_report(nodes: pl.DataFrame, edges: pl.DataFrame, resolution: float = 1.0) -> Row:
    """The row of graph_report by networkx."""
    graph, sets = to_networkx(nodes, edges), communities(nodes)
    total = graph.size(weight="weight")
    inner = [
        edge
        for edge in graph.edges(data="weight")
        if any({edge[0], edge[1]} <= members for members in sets.values())
    ]
    m, n, n_pairs = graph.number_of_edges(), len(graph), len(graph) * (len(graph) - 1) / 2
    rows = [(a, b) for a, b in edges.select("left", "right").iter_rows()]
    kept = [row for row in rows if row[0] in graph and row[1] in graph]
    shares = [conductance(graph, members) for members in sets.values()]
    known = [share for share in shares if share is not None]
    partition = nx.community.partition_quality(graph, list(sets.values())) if m and n > 1 else None
    return {
        "n_nodes": n,
        "n_dropped": nodes["cluster"].null_count(),
        "n_noise": 0,
        "n_clusters": len(sets),
        "n_edges": m,
        "n_self_loops": nx.number_of_selfloops(graph),
        "n_dropped_edges": len(rows) - len(kept),
        "n_duplicate_edges": len(kept) - m,
        "clusters_are_components": sorted(map(sorted, nx.connected_components(graph)))
        == sorted(map(sorted, sets.values()))
        if sets
        else None,
        "modularity": nx.community.modularity(
            graph, list(sets.values()), weight="weight", resolution=resolution
        )
        if total
        else None,
        "coverage": sum(weight for *_, weight in inner) / total if total else None,
        # networkx has none for a graph without edges: all pairs of different clusters count.
        "performance": partition[1]
        if partition
        else (1 - sum(len(s) * (len(s) - 1) / 2 for s in sets.values()) / n_pairs)
        if n_pairs
        else None,
        "mean_conductance": sum(known) / len(known) if known else None,
        "worst_conductance": max(known, default=None),
        "inter_cluster_edge_share": 1 - partition[0] if partition else (0.0 if m else None),
    }


def expected_clusters(nodes: pl.DataFrame, edges: pl.DataFrame) -> list[Row]:
    """The rows of graph_cluster_report by networkx."""
    graph = to_networkx(nodes, edges)
    rows = []
    for cluster, members in communities(nodes).items():
        inside = graph.subgraph(members)
        n, m = len(inside), inside.number_of_edges()
        degrees = [degree for _, degree in inside.degree]
        pairs = [set(edge) for edge in nx.edge_boundary(graph, members)]
        rows.append(
            {
                "cluster": cluster,
                "n_nodes": n,
                "n_edges": m,
                "weight": inside.size(weight="weight"),
                "n_cut_edges": len(pairs),
                "cut_weight": float(nx.cut_size(graph, members, weight="weight")),
                "density": nx.density(inside) if n > 1 else None,
                # The definition in splink's documentation.
                "centralization": (n * max(degrees) - sum(degrees)) / ((n - 1) * (n - 2))
                if n > 2
                else None,
                "conductance": conductance(graph, members),
                "n_components": nx.number_connected_components(inside),
                "n_bridges": len(list(nx.bridges(inside))),
                "diameter": nx.diameter(inside) if nx.is_connected(inside) else None,
            }
        )
    return rows


def expected_nodes(nodes: pl.DataFrame, edges: pl.DataFrame) -> list[Row]:
    """The rows of graph_node_report by networkx."""
    graph, rows = to_networkx(nodes, edges), []
    for cluster, members in communities(nodes).items():
        inside = graph.subgraph(members)
        bridges = list(nx.bridges(inside))
        central = nx.degree_centrality(inside) if len(inside) > 1 else {}
        rows += [
            {
                "id": node,
                "cluster": cluster,
                "degree": graph.degree(node),
                "weighted_degree": float(graph.degree(node, weight="weight")),
                "node_degree": inside.degree(node),
                "node_centrality": central.get(node),
                "n_bridges": sum(node in edge for edge in bridges),
            }
            for node in members
        ]
    return sorted(rows, key=lambda row: row["id"])


def expected_edges(nodes: pl.DataFrame, edges: pl.DataFrame) -> list[Row]:
    """The rows of graph_edge_report by networkx."""
    graph, rows = to_networkx(nodes, edges), []
    cluster_of = dict(nodes.select("id", "cluster").iter_rows())
    bridges = {
        frozenset(edge)
        for members in communities(nodes).values()
        for edge in nx.bridges(graph.subgraph(members))
    }
    for one, two, weight in graph.edges(data="weight"):
        is_inner = cluster_of[one] == cluster_of[two]
        ends = edges.select("left", "right").iter_rows()
        rows.append(
            {
                "left": min(one, two),
                "right": max(one, two),
                "weight": weight,
                "n_rows": sum({a, b} == {one, two} for a, b in ends),
                "cluster": cluster_of[one] if is_inner else None,
                "is_bridge": frozenset((one, two)) in bridges if is_inner else None,
            }
        )
    return sorted(rows, key=lambda row: (row["left"], row["right"]))
