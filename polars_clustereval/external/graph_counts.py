"""The nodes, edges, degrees and clusters of a graph, and statistics that are computed from them.

The graph is defined by a frame of edges, each of which joins the ids `left` and `right` in either
order. Rows with the same two ids count as one edge, and their weights are added. A self-loop is an
edge from an id to itself. As in networkx, a self-loop adds two to the degree of its node. The nodes
are the ids of a second frame that have a cluster. An edge is left out, and counted as dropped, if
one of its ends is not in any cluster.

Nodes and clusters are numbered, because numbers are shorter than ids and therefore faster to join
on and group by. The number of a cluster is the number of one of its nodes. An inner edge joins two
nodes in the same cluster, and a cut edge joins two nodes in different clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from polars_clustereval.base.checks import (
    REPEATED_ID_ADVICE,
    Column,
    check_column,
    check_column_names,
    check_groupable,
    check_is_frame,
    check_noise_value,
    equals_noise,
    is_number,
    is_whole_number,
    key_columns,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.exact import count_pairs, ratio, to_double, widen
from polars_clustereval.base.frames import (
    aggregate_by,
    align_structs,
    join_partitions,
    join_small,
    sum_by,
)
from polars_clustereval.errors import ClusterEvalError

from .contingency import check_columns
from .graph_paths import LINK_COLUMNS, find_parts, find_tree_edges, measure_diameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .contingency import LabelOptions

#: A pair of nodes is packed into one number, low * 2^32 + high, which is faster to group by.
NODES = 2**32


# ----------------------------------------------------------------------------------------------
# Options and columns
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GraphColumns:
    """The columns of the node and edge frames, as passed by the user."""

    id: Column
    cluster: Column
    left: Column
    right: Column
    weight: Column | None
    #: What errors call the number of an edge, and the edges.
    weight_name: str = "weight"
    edge_name: str = "edges"
    #: Whether weights may be below 0, because they are only compared.
    is_signed: bool = False
    #: The least weight of an edge that counts.
    threshold: float | None = None

    @property
    def weight_range(self) -> str:
        """What errors say that weights should be."""
        return "finite numbers" if self.is_signed else "finite numbers >= 0"


def check_resolution(resolution: float) -> None:
    """Raise an error unless `resolution`, an option of the modularity, is a number >= 0."""
    if not (is_number(resolution) and isfinite(resolution) and resolution >= 0):
        raise ClusterEvalError(f"resolution: expected a number >= 0, got {show_value(resolution)}")


def check_max_diameter_nodes(number: object) -> None:
    """Raise an error unless `number`, the option max_diameter_nodes, is a whole number >= 0."""
    if not is_whole_number(number, 0):
        raise ClusterEvalError(
            f"max_diameter_nodes: expected a whole number >= 0, got {show_value(number)}"
        )


def check_threshold(threshold: Any, weight: Column | None) -> None:
    """Raise an error unless `threshold` is None, or a number that weights are compared with."""
    if threshold is None:
        return
    if not (is_number(threshold) and isfinite(threshold)):
        raise ClusterEvalError(f"threshold: expected a number, got {show_value(threshold)}")
    check_compared(weight)


def check_compared(weight: Column | None) -> None:
    """Raise an error if there is no column of weights, which are compared with thresholds."""
    if weight is None:
        raise ClusterEvalError(
            "weight: expected the column that thresholds are compared with, got NULL"
        )


def _check_end_types(
    nodes: pl.LazyFrame, edges: pl.LazyFrame, keys: dict[str, str], edge_name: str
) -> None:
    """Raise an error if the ids or the partition columns of the two frames differ in type.

    All integer types count as the same type.
    """
    types, others = nodes.collect_schema(), edges.collect_schema()
    for end in ("left", "right"):
        dtype, of_id = others[end], types["id"]
        if dtype != of_id and not (dtype.is_integer() and of_id.is_integer()):
            raise ClusterEvalError(
                f"{end}: expected the type of id ({of_id}), got {dtype}; cast one of them"
            )
    for key in keys:
        if types[key] != others[key]:
            raise ClusterEvalError(
                f"partition_by: expected the same type in both tables, got {types[key]} with the "
                f"clusters and {others[key]} with the {edge_name}; cast one of them"
            )


def _read_edges(frame: object, columns: GraphColumns, keys: dict[str, str]) -> pl.LazyFrame:
    """Return the partition columns, left, right and weight of the edge frame.

    Distances, and weights of labeled pairs, are checked by their caller.
    """
    check_threshold(columns.threshold, columns.weight)
    lazy, edge_name = check_is_frame(frame, columns.edge_name), columns.edge_name
    names = lazy.collect_schema().names()
    try:
        check_column_names(list(keys.values()), f"{edge_name}: partition_by", names)
    except ClusterEvalError as error:
        raise ClusterEvalError(
            f"{error}; the table of {edge_name} needs the partition columns, too"
        ) from error
    ends = {"left": columns.left, "right": columns.right}
    values = [*key_columns(keys), *(check_groupable(lazy, x, name) for name, x in ends.items())]
    if columns.weight is None:
        return lazy.select(*values, weight=pl.lit(1.0))
    weight = check_column(lazy, columns.weight, columns.weight_name)
    dtype = lazy.select(weight).collect_schema()[columns.weight_name]
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise ClusterEvalError(
            f"{columns.weight_name}: expected {columns.weight_range}, got a column of type {dtype}"
            "; cast it to numbers"
        )
    number = weight.cast(pl.Float64)
    if columns.weight_name == "distance" or columns.edge_name == "pairs":
        return lazy.select(*values, weight=number)
    is_good = number.is_finite() & (columns.is_signed | (number >= 0))
    is_good = is_good.fill_null(False)
    facts = lazy.select(value=weight.filter(~is_good).first(), n=(~is_good).sum())
    check = partial(_check_edge_weights, columns)
    rows = raise_on_collect(lazy.select(*values, weight=number), facts, check)
    least = columns.threshold
    return rows if least is None else rows.filter(pl.col("weight") >= least)


def _check_edge_weights(columns: GraphColumns, facts: pl.DataFrame) -> None:
    """Raise an error if there are invalid edge weights, the first of which comes first."""
    value, n = facts.row(0)
    if n:
        raise ClusterEvalError(
            f"{columns.weight_name}: expected {columns.weight_range}, got {show_value(value)}; "
            f"leave out {columns.edge_name} without a {columns.weight_name}, or give them one"
        )


def _check_weight_sums(facts: pl.DataFrame) -> None:
    """Raise an error if the single value, whether all sums of weights are finite, is False."""
    if not facts.item():
        raise ClusterEvalError(
            "weight: expected weights with a finite sum over all edges, got a sum that overflows; "
            "divide all weights by the same number"
        )


def check_node_ids(n_null: int, twice: object, is_twice: bool) -> None:
    """Raise an error if an id with a cluster is NULL or has several rows.

    The arguments are the number of rows with a NULL id, an id that has several rows, and whether
    there is such an id.
    """
    if n_null:
        raise ClusterEvalError(
            f"id: expected a value in every row with a cluster, got NULL in {n_null} rows"
        )
    if is_twice:
        raise ClusterEvalError(
            "id: expected one row with a cluster per id, got several rows of id "
            f"{show_value(twice)}{REPEATED_ID_ADVICE}"
        )


def read_rows_and_ends(
    frame: object,
    edges: object,
    of_rows: dict[str, Column],
    columns: GraphColumns,
    options: LabelOptions,
    results: Sequence[str],
) -> tuple[pl.LazyFrame, pl.LazyFrame, dict[str, str], pl.DataType]:
    """Check the user's arguments, and return the rows, the edges, the keys and the type of the ids.

    The rows have the columns `of_rows`, one of which is id, after the partition columns. `results`
    lists the columns of the final result besides the partition columns. The weight is read from
    `columns`, not from `options`.
    """
    lazy, keys, values = check_columns(frame, of_rows, options, results)
    rows = lazy.select(values)
    ends = _read_edges(edges, columns, keys)
    schema = rows.collect_schema()
    of_ends = {name: schema[name] for name in keys} | {"left": schema["id"], "right": schema["id"]}
    ends = align_structs(ends, of_ends)
    _check_end_types(rows, ends, keys, columns.edge_name)
    of_id = schema["id"]
    if of_id.is_integer():
        types = {ends.collect_schema()[end] for end in ("left", "right")} | {of_id}
        wide = of_id if len(types) == 1 else pl.Int128()
        rows = rows.with_columns(pl.col("id").cast(wide))
        ends = ends.with_columns(pl.col("left", "right").cast(wide))
    return rows, ends, keys, of_id


def read_graph(
    frame: pl.DataFrame | pl.LazyFrame,
    edges: object,
    columns: GraphColumns,
    options: LabelOptions,
    results: Sequence[str],
    kind: type[Graph] | None = None,
) -> Graph:
    """Check the user's arguments as in read_rows_and_ends, and return the graph, a `kind`."""
    of_rows = {"id": columns.id, "cluster": columns.cluster}
    rows, ends, keys, of_id = read_rows_and_ends(frame, edges, of_rows, columns, options, results)
    if options.noise is not None:
        check_noise_value(options.noise, rows.collect_schema()["cluster"])
    return (kind or Graph)(rows, ends, keys, options, of_id, columns.edge_name)


# ----------------------------------------------------------------------------------------------
# The graph
# ----------------------------------------------------------------------------------------------


#: Whether a cluster has so many edges that it must be connected and have no bridges. Every node has
#: at least two neighbors, and is joined to at least half of the nodes (rounded down). Chartrand
#: (1966) proves that splitting such a cluster requires removing at least as many edges as its least
#: connected node has neighbors.
_IS_DENSE = (pl.col("min_neighbors") >= 2) & (pl.col("min_neighbors") >= pl.col("n_nodes") // 2)


def _conductance(row_total: pl.Expr) -> pl.Expr:
    """Return the conductance of a cluster, given the total weight of the edges in the partition.

    The conductance is the weight of the cluster's cut edges divided by the volume of the cluster or
    of the rest of the graph, whichever is smaller. The volume of a set of nodes is the sum of their
    weighted degrees.
    """
    inner, cut = pl.col("weight"), pl.col("cut_weight")
    rest = pl.max_horizontal(2 * (row_total - inner) - cut, cut)
    return ratio(cut, pl.min_horizontal(2 * inner + cut, rest)).clip(upper_bound=1.0)


@dataclass(frozen=True)
class Graph:
    """A graph with clusters, and the frames that are computed from it.

    `rows` and `ends` contain the user's rows of nodes and edges. `id_type` is the type of the ids
    in the user's frame. All frames of the graph that are not by node or cluster number have the
    partition columns.
    """

    rows: pl.LazyFrame
    ends: pl.LazyFrame
    keys: dict[str, str]
    options: LabelOptions
    id_type: pl.DataType

    #: The parameter for the edges, and what they join, for error messages.
    table: str = "edges"
    members: ClassVar[str] = "ids with a cluster"
    #: Whether the nodes are numbered in the order of their ids.
    sorts_ids: ClassVar[bool] = False

    @cached_property
    def ids(self) -> pl.LazyFrame:
        """One row per id, with the columns id, cluster, times, n_dropped, is_noise and node.

        times is the number of the id's rows that have a cluster, and n_dropped is the number of its
        other rows. Collecting the frame raises an error if an id with a cluster is NULL or occurs
        twice.
        """
        schema = self.rows.collect_schema()
        cluster = pl.col("cluster")
        is_nested = schema["cluster"].is_nested() or schema["cluster"] == pl.Null
        groups = self.rows.group_by(*self.keys, "id").agg(
            cluster=cluster.drop_nulls().first() if is_nested else cluster.max(),
            times=cluster.count().cast(pl.Int64),
            n_dropped=cluster.null_count().cast(pl.Int64),
        )
        noise = equals_noise(cluster, self.options.noise, schema["cluster"])
        groups = groups.sort("id", nulls_last=True) if self.sorts_ids else groups
        groups = groups.with_columns(is_noise=noise).with_row_index("node")
        groups = groups.with_columns(pl.col("node").cast(pl.Int64)).cache()
        is_twice = pl.col("times") > 1
        facts = groups.select(
            n_null=pl.col("times").filter(pl.col("id").is_null()).sum(),
            twice=pl.col("id").filter(is_twice).sort(nulls_last=True).first(),
            is_twice=is_twice.any(),
        )
        # The cache keeps filters behind the check: Polars would skip the check if no row passes a
        # filter.
        check = lambda facts: check_node_ids(*facts.row(0))  # noqa: E731
        return raise_on_collect(groups, facts, check).cache()

    @cached_property
    def nodes(self) -> pl.LazyFrame:
        """One row per node: id, cluster (NULL for singletons of noise), node and cluster_no."""
        noise_as = self.options.noise_as
        ids = self.ids.filter(pl.col("times") > 0)
        if noise_as == "drop":
            ids = ids.filter(~pl.col("is_noise"))
        if noise_as == "singletons":
            ids = ids.with_columns(cluster=pl.when(~pl.col("is_noise")).then("cluster"))
        members = ids.select(*self.keys, "id", "cluster", "node").cache()
        by = [*self.keys, "cluster"]
        tracked = members.filter(pl.col("cluster").is_not_null())
        numbers = tracked.group_by(by).agg(cluster_no=pl.col("node").min())
        nodes = join_small(members, by, numbers, how="left")
        return nodes.with_columns(pl.col("cluster_no").fill_null(pl.col("node"))).cache()

    @property
    def rows_of_pairs(self) -> pl.LazyFrame:
        """One row per row of edges, with weight and `pair`, the two nodes with the lower first.

        low_cluster and high_cluster are the numbers of their clusters. pair is NULL if one of the
        ends is not in any cluster.
        """
        rows = self.ends
        for end, number, cluster in (("left", "one", "of_one"), ("right", "two", "of_two")):
            nodes = self.nodes.select(*self.keys, "id", "node", "cluster_no")
            nodes = nodes.rename({"id": end, "node": number, "cluster_no": cluster})
            rows = join_small(rows, [*self.keys, end], nodes, how="left")
        one, two = pl.col("one"), pl.col("two")
        pair = pl.min_horizontal(one, two).cast(pl.UInt64) * NODES + pl.max_horizontal(one, two)
        is_first = one < two
        return rows.select(
            *self.keys,
            "weight",
            pair=pl.when(one.is_not_null() & two.is_not_null()).then(pair.cast(pl.UInt64)),
            low_cluster=pl.when(is_first).then("of_one").otherwise("of_two"),
            high_cluster=pl.when(is_first).then("of_two").otherwise("of_one"),
        )

    @cached_property
    def joined_edges(self) -> pl.LazyFrame:
        """One row per edge, with n_rows (the number of rows for the edge) and their total weight.

        low and high are the nodes of the edge, with the lower node first, and low_cluster and
        high_cluster are the numbers of their clusters. In each partition, a row in which low is
        NULL represents all edges with an end that is not in any cluster. Collecting the frame
        raises an error unless twice the sum of the weights is finite, because the volume of a
        cluster can be that large.
        """
        edges = self.rows_of_pairs.group_by(*self.keys, "pair").agg(
            pl.col("low_cluster").first(),
            pl.col("high_cluster").first(),
            pl.col("weight").sum(),
            n_rows=pl.len().cast(pl.Int64),
        )
        edges = edges.with_columns(
            low=(pl.col("pair") // NODES).cast(pl.Int64),
            high=(pl.col("pair") % NODES).cast(pl.Int64),
        ).cache()
        weight = pl.col("weight").filter(pl.col("pair").is_not_null())
        sums = aggregate_by(edges, list(self.keys), {"weight": weight.sum()})
        facts = sums.select((2 * pl.col("weight")).is_finite().all())
        edges = raise_on_collect(edges, facts, _check_weight_sums)
        return self.with_pair_check(edges)

    def with_pair_check(self, edges: pl.LazyFrame) -> pl.LazyFrame:
        """Return `edges`, cached. Collecting it raises the error of _check_pairs."""
        # A check of a frame that has no rows after a filter would be skipped.
        return edges.map_batches(
            self._check_pairs,
            predicate_pushdown=False,
            projection_pushdown=False,
            slice_pushdown=False,
        ).cache()

    def _check_pairs(self, edges: pl.DataFrame) -> pl.DataFrame:
        """Return `edges`. Raise an error if there are nodes and edges, but no edge joins two."""
        if edges.is_empty() or edges["pair"].null_count() < edges.height:
            return edges
        self.raise_unjoined(self.nodes, edges.select(pl.col("n_rows").sum()).item())
        return edges

    def raise_unjoined(self, nodes: pl.LazyFrame, n_rows: int) -> None:
        """Raise an error if there are nodes, and ids in no cluster among the ends of n_rows edges.

        It is called if no edge joins two nodes.
        """
        ends = pl.concat([self.ends.select(*self.keys, id=end) for end in ("left", "right")])
        by = [*self.keys, "id"]
        strangers = ends.drop_nulls("id").join(nodes, on=by, how="anti", nulls_equal=True)
        text = pl.col("id") if self.id_type.is_nested() else pl.col("id").cast(pl.String)
        known = nodes.select(pl.col("id").sort().first()).collect().item()
        other = strangers.select(pl.col("id").sort_by(text).first()).collect().item()
        if known is not None and other is not None:
            raise ClusterEvalError(
                f"{self.table}: expected {self.table} between {self.members}, such as "
                f"{show_value(known)}, got {n_rows} {self.table}, each with another end, such as "
                f"{show_value(other)}"
            )

    @cached_property
    def edges(self) -> pl.LazyFrame:
        """Joined edges whose ends are both in clusters, with is_inner and is_loop added."""
        return self.joined_edges.filter(pl.col("pair").is_not_null()).with_columns(
            is_inner=pl.col("low_cluster") == pl.col("high_cluster"),
            is_loop=pl.col("low") == pl.col("high"),
        )

    @cached_property
    def degrees(self) -> pl.LazyFrame:
        """One row per node that has an edge, with node, cluster_no and sums over the node's edges.

        Self-loops count twice in inner_degree and inner_weight. n_neighbors is the number of other
        nodes in the same cluster that have an edge to the node.
        """
        columns = ("weight", "is_inner", "is_loop")
        ends = pl.concat(
            [
                self.edges.select(*columns, node=end, cluster_no=f"{end}_cluster")
                for end in ("low", "high")
            ]
        )
        inner, weight, zero = pl.col("is_inner"), pl.col("weight"), pl.lit(0.0)
        terms = ends.select(
            "node",
            "cluster_no",
            inner_degree=inner,
            inner_weight=pl.when(inner).then(weight).otherwise(zero),
            cut_degree=~inner,
            cut_weight=pl.when(inner).then(zero).otherwise(weight),
            n_neighbors=inner & ~pl.col("is_loop"),
        )
        counts = ("inner_degree", "cut_degree", "n_neighbors")
        return (
            terms.group_by("node")
            .agg(
                pl.col("cluster_no").first(),
                *(pl.col(name).sum().cast(pl.Int64) for name in counts),
                pl.col("inner_weight", "cut_weight").sum(),
            )
            .cache()
        )

    @cached_property
    def clusters(self) -> pl.LazyFrame:
        """One row per cluster, with cluster, cluster_no, n_nodes, sums and conductance.

        n_links is the number of inner edges that are not self-loops. max_degree is the largest
        number of inner edges of a node. total is the total weight of all edges in the partition.
        """
        by_number = self.nodes.group_by("cluster_no")
        kept = (pl.col(name).first() for name in (*self.keys, "cluster"))
        sizes = by_number.agg(*kept, n_nodes=pl.len().cast(pl.Int64))
        sums = self.degrees.group_by("cluster_no").agg(
            n_linked=(pl.col("n_neighbors") > 0).sum(),
            n_edges=pl.col("inner_degree").sum() // 2,
            n_links=pl.col("n_neighbors").sum() // 2,
            weight=pl.col("inner_weight").sum() / 2,
            n_cut_edges=pl.col("cut_degree").sum(),
            cut_weight=pl.col("cut_weight").sum(),
            max_degree=pl.col("inner_degree").max(),
            min_neighbors=pl.col("n_neighbors").min(),
            max_neighbors=pl.col("n_neighbors").max(),
        )
        counts = ("n_linked", "n_edges", "n_links", "n_cut_edges")
        extremes = ("max_degree", "min_neighbors", "max_neighbors")
        rows = join_small(sizes, ["cluster_no"], sums, how="left")
        rows = rows.with_columns(
            pl.col(*counts, *extremes).fill_null(0).cast(pl.Int64),
            pl.col("weight", "cut_weight").fill_null(0.0),
        )
        linked = pl.col("n_linked") == pl.col("n_nodes")
        rows = rows.with_columns(
            min_neighbors=pl.when(linked).then("min_neighbors").otherwise(0)
        ).cache()
        totals = sum_by(
            rows, list(self.keys), {"total": pl.col("weight") + pl.col("cut_weight") / 2}
        )
        rows = join_partitions(rows, list(self.keys), totals)
        return rows.with_columns(conductance=_conductance(pl.col("total"))).cache()

    @cached_property
    def links(self) -> pl.LazyFrame:
        """The links in all clusters, in the form that graph_paths expects."""
        links = self.edges.filter(pl.col("is_inner") & ~pl.col("is_loop"))
        return links.select(pl.col("low_cluster").alias("cluster_no"), "low", "high")

    def links_of(self, chosen: pl.LazyFrame) -> pl.LazyFrame:
        """Return the links in the `chosen` clusters."""
        return self.links.join(chosen.select("cluster_no"), on="cluster_no", how="semi")

    @cached_property
    def tree_edges(self) -> pl.LazyFrame:
        """One row per edge of a spanning forest of the clusters, with is_bridge and LINK_COLUMNS.

        Dense clusters are left out, because they have no bridges. No search is
        needed for clusters with two nodes.
        """
        n_nodes = pl.col("n_nodes")
        open_clusters = self.clusters.filter((n_nodes > 2) & (pl.col("n_links") > 0) & ~_IS_DENSE)
        searched = find_tree_edges(self.links_of(open_clusters))
        pairs = self.links_of(self.clusters.filter(n_nodes == 2))
        pairs = pairs.select(*LINK_COLUMNS, is_bridge=pl.lit(True))
        return pl.concat([searched, pairs]).cache()

    @cached_property
    def components(self) -> pl.LazyFrame:
        """The rows of `clusters` with n_bridges and n_components, the number of connected parts."""
        counts = self.tree_edges.group_by("cluster_no").agg(
            n_tree_edges=pl.len().cast(pl.Int64), n_bridges=pl.col("is_bridge").sum()
        )
        rows = join_small(self.clusters, ["cluster_no"], counts, how="left")
        rows = rows.with_columns(pl.col("n_tree_edges", "n_bridges").fill_null(0).cast(pl.Int64))
        # In the spanning forest, each part has one edge fewer than it has nodes.
        n_components = (
            pl.when(_IS_DENSE).then(1).otherwise(pl.col("n_nodes") - pl.col("n_tree_edges"))
        )
        return rows.with_columns(n_components=n_components).cache()

    def diameters(self, max_nodes: int) -> pl.LazyFrame:
        """Return cluster_no and diameter for connected clusters with at most max_nodes nodes.

        No search is needed for a complete graph, which has diameter 1, or for any other graph in
        which one node is a neighbor of all other nodes, which has diameter 2.
        """
        n, is_small = pl.col("n_nodes"), pl.col("n_nodes") <= max_nodes
        known = self.components.filter(is_small & (pl.col("n_components") == 1)).select(
            "cluster_no",
            diameter=pl.when(n == 1)
            .then(0)
            .when(count_pairs(n) == widen(pl.col("n_links")))
            .then(1)
            .when(pl.col("max_neighbors") == n - 1)
            .then(2)
            .cast(pl.Int64),
        )
        chosen = known.filter(pl.col("diameter").is_null())
        known = known.filter(pl.col("diameter").is_not_null())
        return pl.concat([known, measure_diameters(self.links_of(chosen))])

    def row_counts(self) -> pl.LazyFrame:
        """Return one row per partition with the row counts that reports show separately.

        n_dropped_edges is the number of rows of edges with an end that is not in any cluster, and
        n_duplicate_edges is the number of rows that repeat an edge. A count is NULL if its frame
        has no row of the partition.
        """
        by, rows = list(self.keys), pl.col("n_rows")
        is_dropped = pl.col("pair").is_null()
        of_nodes = {"n_dropped": pl.col("n_dropped"), "n_noise": pl.col("is_noise").cast(pl.Int64)}
        of_edges = {
            "n_dropped_edges": pl.when(is_dropped).then(rows).otherwise(0),
            "n_duplicate_edges": pl.when(is_dropped).then(0).otherwise(rows - 1),
        }
        counts = sum_by(self.ids, by, of_nodes)
        others = sum_by(self.joined_edges, by, of_edges)
        if not by:
            return counts.join(others, how="cross")
        # A partition may have rows in only one of the two frames.
        return counts.join(others, on=by, how="full", nulls_equal=True, coalesce=True)

    def components_of_closed_partitions(self) -> pl.LazyFrame:
        """Return one row per partition without cut edges, with n_components of all clusters.

        No search is needed for dense clusters, and for partitions with cut edges.
        """
        by, n_cut = list(self.keys), pl.col("n_cut_edges").sum()
        closed = self.clusters.filter((n_cut.over(by) if by else n_cut) == 0)
        parts = find_parts(self.links_of(closed.filter(~_IS_DENSE)))
        parts = join_small(parts, ["node"], self.nodes.select("node", "cluster_no"))
        joined = parts.group_by("cluster_no").agg(n_joined=pl.len().cast(pl.Int64))
        rows = join_small(closed, ["cluster_no"], joined, how="left")
        rest = pl.col("n_nodes") - pl.col("n_joined").fill_null(0)
        return sum_by(rows, by, {"n_components": pl.when(_IS_DENSE).then(1).otherwise(rest)})

    def sums(self, resolution: float) -> pl.LazyFrame:
        """Return one row per partition, with counts and scores for all clusters together."""
        weight, total = pl.col("weight"), pl.col("total")
        terms = {
            "n_clusters": pl.len().cast(pl.Int64),
            "n_nodes": pl.col("n_nodes").sum(),
            "n_inner": pl.col("n_edges").sum(),
            "n_self_loops": (pl.col("n_edges") - pl.col("n_links")).sum(),
            "n_cut": pl.col("n_cut_edges").sum() // 2,
            "pairs": count_pairs(pl.col("n_nodes")).sum(),
            "modularity": modularity_term(weight, pl.col("cut_weight"), total, resolution).sum(),
            "weight": weight.sum(),
            "total": total.max(),
            "mean_conductance": pl.col("conductance").mean(),
            "worst_conductance": pl.col("conductance").max(),
        }
        sums = aggregate_by(self.clusters, list(self.keys), terms)
        n_inner, n_cut = pl.col("n_inner"), pl.col("n_cut")
        all_pairs = count_pairs(pl.col("n_nodes"))
        return sums.with_columns(
            n_edges=n_inner + n_cut,
            modularity=pl.when(pl.col("total") > 0).then("modularity"),
            coverage=ratio(weight, total).clip(upper_bound=1.0),
            performance=ratio(all_pairs - pl.col("pairs") + n_inner - n_cut, all_pairs),
            inter_cluster_edge_share=ratio(n_cut, n_inner + n_cut),
        )


def modularity_term(
    weight: pl.Expr, cut_weight: pl.Expr, total: pl.Expr, resolution: float
) -> pl.Expr:
    """Return the term of a cluster in the modularity, given the weight of all edges, `total`.

    It is the share of the inner edges, minus the share expected from the volume of the cluster.
    """
    share = ratio(weight + cut_weight / 2, total)
    return ratio(weight, total) - float(resolution) * share**2


def centralization(n_nodes: pl.Expr, max_degree: pl.Expr, n_edges: pl.Expr) -> pl.Expr:
    """Return Freeman's degree centralization, or NULL for fewer than three nodes."""
    n, most = widen(n_nodes), widen(max_degree)
    return ratio(n * most - 2 * widen(n_edges), (n - 1) * (n - 2))


def density(n_nodes: pl.Expr, n_edges: pl.Expr) -> pl.Expr:
    """Return the number of edges divided by the number of pairs of nodes, or NULL for one node."""
    return ratio(to_double(n_edges), count_pairs(n_nodes))
