"""Timed jobs of graphs, of two runs and of overlapping clusterings, whose input is two tables.

Both tables are in memory before. A table of many rows is summed in the call, so that the answers
are few.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

import polars_clustereval as ce
from polars_clustereval.macros import register

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.answers import Answers, Run

#: The two tables of a file: what selects the rows of each, and its columns.
GRAPH = {
    "nodes": ("id IS NOT NULL", "id, cluster"),
    "edges": ("id IS NULL", '"left", "right", weight'),
}
RUN_PAIR = {"runs_before": ("run = 0", "id, cluster"), "runs_after": ("run = 1", "id, cluster")}
COVERS = {
    "topics": ("label IS NOT NULL", "id, label"),
    "communities": ("cluster IS NOT NULL", "id, cluster"),
}

NODES, EDGES = ("id", "cluster"), ("left", "right")
SUMMED = (
    *("n_nodes", "n_edges", "weight", "n_cut_edges", "cut_weight", "density", "centralization"),
    *("conductance", "n_components", "n_bridges", "diameter"),
)
MOVED = ("n_before", "n_after", "n_common", "share_before", "share_after")


def _format_sums(columns: tuple[str, ...]) -> str:
    """Return the SQL of the sums of these columns, in Float64, which holds all counts here."""
    return ", ".join(f"CAST(COALESCE(sum({name}), 0) AS DOUBLE) AS {name}" for name in columns)


GRAPH_COLUMNS = 'nodes, id, cluster, edges, "left", "right", weight := weight'
QUERIES = {
    "graph": (GRAPH, f"FROM clustereval.graph_report({GRAPH_COLUMNS})"),
    "clusters": (
        GRAPH,
        f"""
        SELECT count(*) AS rows, {_format_sums(SUMMED)}
        FROM clustereval.graph_cluster_report({GRAPH_COLUMNS})
        """,
    ),
    "transitions": (
        RUN_PAIR,
        f"""
        SELECT count(*) AS rows, count(ambiguity) AS ambiguous, {_format_sums(MOVED)}
        FROM clustereval.run_transitions(runs_before, runs_after, id, cluster)
        GROUP BY transition ORDER BY transition
        """,
    ),
    "overlapping": (
        COVERS,
        "FROM clustereval.overlapping_report(topics, communities, id, label, cluster)",
    ),
}


def _connect(tables: Mapping[str, tuple[str, str]], path: str) -> duckdb.DuckDBPyConnection:
    """Return a connection with the two tables of the file; `tables` is GRAPH or its like."""
    con = duckdb.connect()
    for name, (condition, columns) in tables.items():
        con.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM '{path}' WHERE {condition}")
    return con


def _prepare_duckdb(name: str, path: str) -> Run:
    """Return a function that runs the query of this name in DuckDB."""
    tables, query = QUERIES[name]
    con = _connect(tables, path)
    register(con)

    def run() -> Answers:
        """Run the query, and return its columns by name."""
        found = con.sql(query).pl()
        return found.drop("partition_key", strict=False).to_dict(as_series=False)

    return run


def _read_tables(
    tables: Mapping[str, tuple[str, str]], path: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the two tables of the file as frames."""
    con = _connect(tables, path)
    one, other = (con.table(name).pl() for name in tables)
    return one, other


def _prepare_polars(
    build: Callable[[pl.LazyFrame, pl.LazyFrame], pl.LazyFrame],
    tables: Mapping[str, tuple[str, str]],
    path: str,
) -> Run:
    """Return a function that collects build(one table, the other) in Polars."""
    one, other = _read_tables(tables, path)

    def run() -> Answers:
        """Collect the frame as a stream, and return its columns by name."""
        found = build(one.lazy(), other.lazy()).collect(engine="streaming")
        return found.to_dict(as_series=False)

    return run


def _sum_columns(columns: tuple[str, ...]) -> list[pl.Expr]:
    """Return the sums of these columns, in Float64, which holds all counts here."""
    return [pl.col(name).sum().cast(pl.Float64) for name in columns]


def _build_clusters(nodes: pl.LazyFrame, edges: pl.LazyFrame) -> pl.LazyFrame:
    """Return the number of rows and the sums of graph_cluster_report."""
    report = ce.graph_cluster_report(nodes, *NODES, edges, *EDGES, weight="weight")
    return report.select(pl.len().alias("rows"), *_sum_columns(SUMMED))


def _build_transitions(before: pl.LazyFrame, after: pl.LazyFrame) -> pl.LazyFrame:
    """Return the numbers of rows and the sums of run_transitions for each transition."""
    rows = ce.run_transitions(before, after, "id", "cluster")
    sums = (pl.len().alias("rows"), pl.col("ambiguity").count().alias("ambiguous"))
    grouped = rows.group_by("transition").agg(*sums, *_sum_columns(MOVED))
    return grouped.sort("transition").drop("transition")


# ----------------------------------------------------------------------------------------------
# igraph
# ----------------------------------------------------------------------------------------------


def _read_graph(path: str) -> tuple[Any, Any, Any]:
    """Return the clusters of the nodes by id, the ends of the edges and their weights, in numpy."""
    nodes, edges = _read_tables(GRAPH, path)
    ends = edges.select("left", "right").to_numpy(order="c")
    return nodes.sort("id")["cluster"].to_numpy(), ends, edges["weight"].to_numpy()


def _make_igraph(clusters: Any, ends: Any, weights: Any) -> Any:
    """Return the graph in igraph, where rows of the same two nodes are one edge."""
    import igraph

    graph = igraph.Graph(n=len(clusters), edges=ends)
    graph.es["weight"] = weights
    return graph.simplify(loops=False, combine_edges="sum")


def _sum_clusters(graph: Any, clusters: Any) -> dict[str, Any]:
    """Return arrays by name: of the edges of an igraph graph, and their sums by cluster.

    igraph has no conductance and no cut of many clusters at once; numpy counts the edges.
    """
    import numpy as np

    low, high = np.array(graph.get_edgelist()).T
    weights = np.array(graph.es["weight"])
    inner = clusters[low] == clusters[high]
    k = clusters.max() + 1

    def count(keys: Any, values: Any = None) -> Any:
        return np.bincount(keys, weights=values, minlength=k)

    cut = ~inner
    ends = np.concatenate([clusters[low[cut]], clusters[high[cut]]])
    sums = {
        "n_nodes": count(clusters),
        "n_edges": count(clusters[low[inner]]),
        "weight": count(clusters[low[inner]], weights[inner]),
        "n_cut_edges": count(ends),
        "cut_weight": count(ends, np.concatenate([weights[cut], weights[cut]])),
    }
    volume = 2 * sums["weight"] + sums["cut_weight"]
    least = np.minimum(volume, volume.sum() - volume)
    known = least > 0
    conductance = np.where(known, sums["cut_weight"] / np.where(known, least, 1), np.nan)
    present = {name: values[sums["n_nodes"] > 0] for name, values in sums.items()}
    return {
        **present,
        "conductance": conductance[sums["n_nodes"] > 0],
        "inner": inner,
        "low": low,
        "high": high,
    }


def _prepare_igraph(path: str) -> Run:
    """Return a function that computes the scores of graph_report by igraph and numpy."""
    import numpy as np

    clusters, ends, weights = _read_graph(path)

    def run() -> Answers:
        """Make the graph, and return the scores by name."""
        graph = _make_igraph(clusters, ends, weights)
        sums = _sum_clusters(graph, clusters)
        n, m = graph.vcount(), graph.ecount()
        n_inner, sizes = int(sums["inner"].sum()), sums["n_nodes"]
        pairs = n * (n - 1) // 2
        apart = pairs - int((sizes * (sizes - 1) // 2).sum())
        shares = sums["conductance"][~np.isnan(sums["conductance"])]
        scores = {
            "n_nodes": n,
            "n_clusters": len(sizes),
            "n_edges": m,
            "n_self_loops": int(sum(graph.is_loop())),
            "n_duplicate_edges": len(ends) - m,
            "modularity": graph.modularity(clusters, weights="weight"),
            "coverage": sums["weight"].sum() / sum(graph.es["weight"]),
            "performance": (n_inner + apart - (m - n_inner)) / pairs,
            "mean_conductance": shares.mean(),
            "worst_conductance": shares.max(),
            "inter_cluster_edge_share": 1 - n_inner / m,
        }
        return {name: [float(value)] for name, value in scores.items()}

    return run


def _prepare_igraph_clusters(path: str) -> Run:
    """Return a function that computes the sums of graph_cluster_report by igraph and numpy."""
    import igraph
    import numpy as np

    clusters, ends, weights = _read_graph(path)
    numbers = np.unique(clusters, return_inverse=True)[1]

    def run() -> Answers:
        """Make the graph, and return the sums by name."""
        sums = _sum_clusters(_make_igraph(clusters, ends, weights), clusters)
        edges = np.stack([sums.pop("low"), sums.pop("high")], axis=1)[sums.pop("inner")]
        # The clusters beside each other: no edge leaves them.
        graph = igraph.Graph(n=len(clusters), edges=edges)
        n, m = sums["n_nodes"], sums["n_edges"]
        _, first = np.unique(graph.connected_components().membership, return_index=True)
        components = np.bincount(numbers[first], minlength=len(n))
        most = np.zeros(len(n))
        np.maximum.at(most, numbers, np.array(graph.degree()))
        diameter = np.zeros(len(n))
        np.maximum.at(diameter, numbers, np.array(graph.eccentricity()))
        pairs, leaves = n * (n - 1) / 2, (n - 1) * (n - 2)
        sums |= {
            "density": m[n > 1] / pairs[n > 1],
            "centralization": (n * most - 2 * m)[n > 2] / leaves[n > 2],
            "n_components": components,
            "n_bridges": len(graph.bridges()),
            "diameter": diameter[components == 1],
        }
        totals = {name: [float(np.nansum(sums[name]))] for name in SUMMED}
        return {"rows": [len(n)], **totals}

    return run


# ----------------------------------------------------------------------------------------------
# pandas
# ----------------------------------------------------------------------------------------------


def _prepare_pandas_transitions(path: str) -> Run:
    """Return a function that computes the sums of run_transitions in pandas, by the definition."""
    before, after = (table.to_pandas() for table in _read_tables(RUN_PAIR, path))

    def run() -> Answers:
        """Return the numbers of rows and the sums by name, one value per transition."""
        rows = _list_transitions(before, after)
        sums = rows.groupby("transition").agg(
            rows=("transition", "size"),
            ambiguous=("is_ambiguous", "sum"),
            **{name: (name, "sum") for name in MOVED},
        )
        return {name: sums[name].tolist() for name in sums}

    return run


def _list_transitions(before: Any, after: Any) -> Any:
    """Return the rows of run_transitions with threshold 0.5, as a frame of pandas."""
    import pandas as pd

    both = before.merge(after, on="id", suffixes=("_old", "_new"))
    cells = both.groupby(["cluster_old", "cluster_new"]).size().rename("n").reset_index()
    cells.columns = ["old", "new", "n"]
    sides = {}
    for side, run, ids in (("old", "before", before), ("new", "after", after)):
        size = ids.groupby("cluster").size()
        stayed = cells.groupby(side)["n"].sum().reindex(size.index, fill_value=0)
        columns = {f"n_{run}": size, f"stayed_{run}": stayed}
        sides[side] = pd.DataFrame(columns).rename_axis(side)
    cells = cells.join(sides["old"], on="old").join(sides["new"], on="new")
    is_link = 2 * cells["n"] >= cells[["stayed_before", "stayed_after"]].min(axis=1)
    links = cells[is_link].copy()
    links["n_parts"] = links.groupby("old")["n"].transform("size")
    links["n_sources"] = links.groupby("new")["n"].transform("size")
    one_each = links[(links["n_parts"] == 1) | (links["n_sources"] == 1)].copy()
    one_each["transition"] = "kept"
    one_each.loc[one_each["n_after"] > one_each["n_before"], "transition"] = "grown"
    one_each.loc[one_each["n_after"] < one_each["n_before"], "transition"] = "shrunk"
    one_each.loc[one_each["n_parts"] > 1, "transition"] = "split"
    one_each.loc[one_each["n_sources"] > 1, "transition"] = "merged"
    one_each["of_old"] = one_each["n_parts"] == 1
    one_each["of_new"] = one_each["n_sources"] == 1
    one_each["is_both"] = False
    old = _list_unmatched(sides["old"], links, ("old", "after", "split", "gone"))
    new = _list_unmatched(sides["new"], links, ("new", "before", "merged", "new"))
    rows = pd.concat([one_each, old, new])
    rows["n_common"] = rows["n"]
    for run in ("before", "after"):
        stayed = rows[f"stayed_{run}"]
        rows[f"share_{run}"] = (rows["n"] / stayed).where(stayed > 0)
    rows["is_ambiguous"] = (
        rows["is_both"]
        | (rows["of_old"] & (rows["share_before"] < 0.5))
        | (rows["of_new"] & (rows["share_after"] < 0.5))
    )
    return rows


def _list_unmatched(clusters: Any, links: Any, names: tuple[str, ...]) -> Any:
    """Return the rows of the clusters of one side that have several links, or none."""
    side, other, several, none = names
    n_own, n_other = ("n_parts", "n_sources") if side == "old" else ("n_sources", "n_parts")
    sums = links.groupby(side).agg(
        n=("n", "sum"),
        n_links=(n_own, "size"),
        most=(n_other, "max"),
        **{name: (name, "sum") for name in (f"n_{other}", f"stayed_{other}")},
    )
    rows = clusters.join(sums).fillna(0)
    rows = rows[rows["n_links"] != 1]
    rows["transition"] = rows["n_links"].gt(1).map({True: several, False: none})
    rows["is_both"] = rows["most"] > 1
    rows["of_old"], rows["of_new"] = side == "old", side == "new"
    return rows


# ----------------------------------------------------------------------------------------------
# cdlib
# ----------------------------------------------------------------------------------------------


def _prepare_cdlib(path: str) -> Run:
    """Return a function that computes the scores of overlapping_report that cdlib has.

    Its NF1 rounds the scores of the single clusters, and is left out.
    """
    import networkx as nx
    from cdlib import NodeClustering, evaluation

    labels, clusters = _read_tables(COVERS, path)
    graph = nx.Graph()
    graph.add_nodes_from(labels["id"].unique().to_list())
    covers = []
    for table, member in ((labels, "label"), (clusters, "cluster")):
        sets = table.group_by(member).agg("id")["id"].to_list()
        covers.append(NodeClustering(sets, graph, overlap=True))
    names = {
        "omega_index": evaluation.omega,
        "overlapping_nmi_lfk": evaluation.overlapping_normalized_mutual_information_LFK,
        "overlapping_nmi_mgh": evaluation.overlapping_normalized_mutual_information_MGH,
    }
    return lambda: {name: [score(*covers).score] for name, score in names.items()}


JOBS: dict[str, Callable[[str], Run]] = {
    **{f"duckdb {name}": partial(_prepare_duckdb, name) for name in QUERIES},
    "polars graph": partial(
        _prepare_polars,
        lambda nodes, edges: ce.graph_report(nodes, *NODES, edges, *EDGES, weight="weight"),
        GRAPH,
    ),
    "polars clusters": partial(_prepare_polars, _build_clusters, GRAPH),
    "polars transitions": partial(_prepare_polars, _build_transitions, RUN_PAIR),
    "polars overlapping": partial(
        _prepare_polars,
        lambda one, other: ce.overlapping_report(one, other, "id", "label", "cluster"),
        COVERS,
    ),
    "igraph graph": _prepare_igraph,
    "igraph clusters": _prepare_igraph_clusters,
    "pandas transitions": _prepare_pandas_transitions,
    "cdlib overlapping": _prepare_cdlib,
}
