"""components: the clusters that the edges of a graph make, at one threshold of their weights.

Two ids are in the same cluster if a path of edges joins them. The nodes are numbered in the order
of their ids, so the lowest number of a component is that of its least id, which names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from polars_clustereval.base.checks import (
    REPEATED_ID_ADVICE,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.frames import join_small, map_whole, to_user_frame
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError

from .contingency import LabelOptions
from .graph_counts import NODES, Graph, GraphColumns, read_rows_and_ends
from .graph_paths import PARTS, find_parts, label_links

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column, Frame, Keys

# ----------------------------------------------------------------------------------------------
# Nodes and links
# ----------------------------------------------------------------------------------------------


def _check_edge_ids(facts: pl.DataFrame) -> None:
    """Raise an error if an id is NULL or has several rows.

    `facts` has one row: the number of rows with a NULL id, an id that has several rows, and whether
    there is one.
    """
    n_null, twice, is_twice = facts.row(0)
    if n_null:
        raise ClusterEvalError(f"id: expected a value in every row, got NULL in {n_null} rows")
    if is_twice:
        raise ClusterEvalError(
            f"id: expected one row per id, got several rows of id {show_value(twice)}"
            f"{REPEATED_ID_ADVICE}"
        )


def _parts_at(links: pl.DataFrame, *, thresholds: list[float]) -> pl.DataFrame:
    """Return the rows of find_parts at each threshold, and the threshold."""
    parts = (label_links(links.filter(pl.col("weight") >= x)) for x in thresholds)
    rows = zip(thresholds, parts, strict=True)
    return pl.concat(part.with_columns(threshold=pl.lit(x)) for x, part in rows)


@dataclass(frozen=True)
class EdgeGraph(Graph):
    """A graph whose clusters are the components of its edges. `rows` has id and other columns."""

    members: ClassVar[str] = "ids of the table"

    @cached_property
    def nodes(self) -> pl.LazyFrame:
        """The rows, with their number in the order of partitions and ids, node."""
        by = [*self.keys, "id"]
        rows = self.rows.sort(by, nulls_last=True).with_row_index("node")
        # Until the edges are known, each node is a cluster.
        node = pl.col("node").cast(pl.Int64)
        rows = rows.with_columns(node, cluster_no=node).cache()
        is_twice = pl.all_horizontal(pl.col(x).eq_missing(pl.col(x).shift()) for x in by)
        is_twice &= pl.col("node") > 0
        facts = rows.select(
            n_null=pl.col("id").null_count(),
            twice=pl.col("id").filter(is_twice).first(),
            is_twice=is_twice.any(),
        )
        return raise_on_collect(rows, facts, _check_edge_ids).cache()

    @cached_property
    def links(self) -> pl.LazyFrame:
        """One row per pair of different nodes with an edge: low, high, and weight, the highest."""
        pairs = self.rows_of_pairs.group_by("pair").agg(
            pl.col(list(self.keys)).first(), pl.col("weight").max(), n_rows=pl.len()
        )
        low, high = pl.col("pair") // NODES, pl.col("pair") % NODES
        return (
            self.with_pair_check(pairs)
            .filter(low != high)
            .select(*self.keys, "weight", low=low.cast(pl.Int64), high=high.cast(pl.Int64))
        )

    def named_components(self) -> pl.LazyFrame:
        """Return id and cluster, the least id of the component, of each node."""
        parts = find_parts(self.links.select("low", "high"))
        of_nodes = join_small(self.nodes, ["node"], parts, how="left")
        names = self.nodes.select(pl.col("node").alias("part"), pl.col("id").alias("cluster"))
        named = join_small(of_nodes, ["part"], names, how="left")
        return named.select(*self.keys, "id", cluster=pl.coalesce("cluster", "id"))

    def nodes_at(self, thresholds: list[float]) -> pl.LazyFrame:
        """Return the nodes at each threshold, with cluster, the lowest node of the component."""
        schema = pl.Schema({**PARTS, "threshold": pl.Float64()})
        read = partial(_parts_at, thresholds=thresholds)
        parts = map_whole(self.links.select("low", "high", "weight"), read, schema)
        nodes = self.nodes.join(pl.LazyFrame({"threshold": thresholds}), how="cross")
        nodes = join_small(nodes, ["threshold", "node"], parts, how="left")
        return nodes.with_columns(cluster=pl.coalesce("part", "node"))


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("edges", guide="graph", order=("id",))
def connected_components(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    edges: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    weight: Column | None = None,
    *,
    threshold: float | None = None,
    partition_by: Keys = None,
) -> Frame:
    """Clusters of the ids that edges connect, directly or through other ids.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The nodes, one row per id. A LazyFrame is read when you collect the result.
    id : str or Expr
        The column of `frame` with the id of each node.
    edges : DataFrame or LazyFrame
        The undirected edges, such as the pairs that a model of record linkage predicts to match.
        Rows with the same two ids, in either order, count as one edge, with their highest weight.
    left, right : str or Expr
        The columns of `edges` with the ids of the two ends, which must have the same type as id. An
        edge is left out if one of its ends is NULL or is not in `frame`.
    weight : str or Expr, optional
        A column of `edges` that contains finite numbers, such as a match probability.
    threshold : float, optional
        Only edges whose weight is at least this number count. By default, all edges count.
    partition_by : str, Expr or sequence of these, optional
        Columns in both frames that define the groups to evaluate separately. Each partition is a
        separate graph, in which an edge joins two nodes of the same partition. NULL is also a
        partition.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per id, sorted by partition and id. The columns are the
        partition columns, id, and cluster, which is the least id of its cluster. An id without an
        edge is a cluster of its own.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if the ids and the ends of edges have different types, if
        threshold is not a number, or if threshold is given without weight. When you collect the
        result, the error is also raised if an id is NULL or has several rows, if a weight is NULL
        or not finite, or if there are edges, but none joins two ids of `frame`.

    Notes
    -----
    The edges that join two ids are held in memory, 24 bytes each. In SQL: ``FROM
    clustereval.connected_components(tbl, id, edges, "left", "right")``, which takes a step for each
    edge on the longest of the shortest paths to the least id of a cluster.

    References
    ----------
    Hopcroft and Tarjan (1973), Algorithm 447: efficient algorithms for graph manipulation,
    doi:10.1145/362248.362272.

    Examples
    --------
    >>> people = pl.DataFrame({"id": ["a", "b", "c", "d", "e"]})
    >>> rows = [("a", "b", 0.9), ("b", "c", 0.8), ("d", "e", 0.3)]
    >>> matches = pl.DataFrame(rows, schema=["left", "right", "probability"], orient="row")
    >>> columns = ("id", matches, "left", "right")
    >>> ce.connected_components(people, *columns, weight="probability", threshold=0.5).rows()
    [('a', 'a'), ('b', 'a'), ('c', 'a'), ('d', 'd'), ('e', 'e')]
    """
    columns = pass_arguments_to(GraphColumns, cluster=id, is_signed=True)
    options = pass_arguments_to(LabelOptions, weight=None, noise=None, noise_as=None)
    results = ("id", "cluster")
    parts = read_rows_and_ends(frame, edges, {"id": id}, columns, options, results)
    rows, ends, keys, of_id = parts
    graph = EdgeGraph(rows, ends, keys, options, of_id)
    found = graph.named_components().sort(*keys, "id", nulls_last=True)
    return to_user_frame(frame, found.with_columns(pl.col("id", "cluster").cast(of_id)), keys)
