"""neighborhoods: scores of clusters from a frame of the nearest neighbors of each id.

The frame of neighbors has a row for each id (`left`) and neighbor (`right`), with their distance. A
row whose two ids are the same is left out, because no id is its own neighbor. Rows with the same id
and neighbor count as one, with the smallest distance. A row with an end in no cluster is left out,
and counted. The edges of the graph of neighbors have no direction: two nodes are joined if one is a
neighbor of the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    check_metrics,
    equals_noise,
    is_number,
    show_value,
)
from polars_clustereval.base.deferral import collect_all_now, collect_now
from polars_clustereval.base.exact import from_fixed_point, ratio, to_fixed_point
from polars_clustereval.base.frames import (
    Terms,
    aggregate_by,
    join_partitions,
    join_small,
    sum_by,
    to_user_frame,
)
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError

from .contingency import LabelOptions
from .graph_counts import Graph, GraphColumns, check_node_ids, modularity_term, read_graph
from .kernels.neighbor_lists import (
    EdgeCounts,
    ListSums,
    NodeClusters,
    chi_square_tail,
    first_of,
    list_sums,
    pack,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

# Twice the largest number of terms of a p-value of kBET, which has one for every second cluster.
_MAX_KBET_CLUSTERS = 1000
_KBET_ALPHA = 0.05
# With fewer neighbors, the default perplexity is 1, so that lisi is 1 whatever the neighbors are.
_MIN_LISI_NEIGHBORS = 6
# The number of rows of neighbors that are in memory together.
_ROWS_PER_BLOCK = 4_000_000
# Ids with more gaps than this, on average, are joined instead of looked up.
_MOST_PLACES_PER_ID, _NO_NODE = 4, 2**32 - 1
_ENDS = {"left": "node", "right": "neighbor"}

_NEIGHBOR_MEAN_COLUMNS = (
    *("neighbor_purity", "balanced_purity", "inverse_simpson", "lisi", "kbet_acceptance_rate"),
    *("connectivity", "normalized_connectivity"),
)
_NEIGHBOR_SAMPLE_COLUMNS = (
    *("id", "cluster", "n_neighbors", "n_dropped_neighbors", *_NEIGHBOR_MEAN_COLUMNS[:4]),
    *("kbet_statistic", "kbet_p_value", *_NEIGHBOR_MEAN_COLUMNS[5:]),
)
_NEIGHBOR_CLUSTER_COLUMNS = (
    *("cluster", "n", "n_neighbors", "n_without_neighbors", *_NEIGHBOR_MEAN_COLUMNS),
    *("n_components", "largest_component_share"),
)
_NEIGHBOR_COUNT_COLUMNS = (
    *("n", "n_dropped", "n_noise", "n_clusters", "n_neighbors", "n_self_neighbors"),
    *("n_dropped_neighbors", "n_duplicate_neighbors", "n_without_neighbors"),
)
_NEIGHBOR_REPORT_COLUMNS = (
    *(*_NEIGHBOR_COUNT_COLUMNS, *_NEIGHBOR_MEAN_COLUMNS, "mean_component_share"),
    *("cvnn_separation", "wcnn", "dunn_owa", "modularity"),
)

# The columns of the report that need the lists of the neighbors, or the graph.
_LIST_COLUMNS = _NEIGHBOR_MEAN_COLUMNS[1:]
_EDGE_COLUMNS = ("mean_component_share", "modularity")


# ----------------------------------------------------------------------------------------------
# Options and columns
# ----------------------------------------------------------------------------------------------


def _check_perplexity(perplexity: float | None) -> None:
    """Raise an error unless `perplexity` is None or a number >= 1."""
    is_valid = perplexity is None or (
        is_number(perplexity) and isfinite(perplexity) and perplexity >= 1
    )
    if not is_valid:
        raise ClusterEvalError(f"perplexity: expected a number >= 1, got {show_value(perplexity)}")


def _read_neighborhoods(
    frame: Any,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    neighbors: Any,
    left: Column,
    right: Column,
    distance: Column | None,
    perplexity: float | None,
    results: Sequence[str],
) -> _Neighborhoods:
    """Check the arguments of the table that is being called, and return its neighborhoods."""
    _check_perplexity(perplexity)
    columns = GraphColumns(
        *(id, cluster, left, right, distance), weight_name="distance", edge_name="neighbors"
    )
    options = pass_arguments_to(LabelOptions, weight=None)
    graph = read_graph(frame, neighbors, columns, options, results)
    return _Neighborhoods(graph, distance is not None, perplexity)


# ----------------------------------------------------------------------------------------------
# Nodes
# ----------------------------------------------------------------------------------------------


class _Nodes(NamedTuple):
    """The ids that have a cluster, in memory, and their clusters.

    `rows` has the partition columns, id and cluster_no of each node, in the order of the ids.
    `clusters` has one row per cluster, in the order of cluster_no: the partition columns, cluster
    (NULL for a singleton of noise), size, and n_points, n_clusters and least_size, the size of the
    smallest cluster, of its partition. `counts` has one row per partition, with n_dropped and
    n_noise.
    """

    rows: pl.DataFrame
    clusters: pl.DataFrame
    counts: pl.DataFrame


def _read_nodes(graph: Graph) -> _Nodes:
    """Read the ids and their clusters. Raise an error if an id is NULL or has several rows."""
    by, noise_as, cluster = list(graph.keys), graph.options.noise_as, pl.col("cluster")
    has_cluster = cluster.is_not_null()
    is_noise = equals_noise(cluster, graph.options.noise, graph.rows.collect_schema()["cluster"])
    rows = graph.rows.with_columns(is_noise=is_noise)
    counts = {"n_dropped": (~has_cluster).cast(pl.Int64), "n_noise": is_noise.cast(pl.Int64)}
    members = rows.filter(has_cluster)
    if noise_as in ("drop", "singletons"):
        members = members.with_columns(cluster=pl.when(~pl.col("is_noise")).then("cluster"))
    sizes = members.group_by(*by, "cluster").agg(size=pl.len().cast(pl.Int64)).filter(has_cluster)
    tracked, of_rows = collect_all_now([sizes, sum_by(rows, by, counts)])
    tracked = tracked.with_row_index("cluster_no")
    numbers = tracked.lazy().drop("size")
    nodes = join_small(members.drop("is_noise"), [*by, "cluster"], numbers, how="left")
    found = collect_now(nodes.drop("cluster").sort("id", *by, nulls_last=True))
    is_twice = pl.all_horizontal(
        pl.col(name).eq_missing(pl.col(name).shift()) for name in ("id", *by)
    )
    twice = found.select(pl.col("id").filter(is_twice).first(), is_twice.any().alias("is_twice"))
    check_node_ids(found["id"].null_count(), *twice.row(0))
    is_single = pl.col("cluster_no").is_null()
    if noise_as == "drop":
        found = found.filter(~is_single)
    number = tracked.height + is_single.cum_sum() - 1
    found = found.with_columns(pl.col("cluster_no").fill_null(number).cast(pl.UInt32))
    singles = found.filter(pl.col("cluster_no") >= tracked.height)
    singles = singles.select(*by, "cluster_no", size=pl.lit(1, pl.Int64))
    sizes = pl.concat([tracked, singles], how="diagonal").lazy()
    terms = {
        "n_points": pl.col("size").sum(),
        "n_clusters": pl.len().cast(pl.Int64),
        "least_size": pl.col("size").min(),
    }
    clusters = join_partitions(sizes, by, aggregate_by(sizes, by, terms)).sort("cluster_no")
    return _Nodes(found, clusters.collect(), of_rows)


# ----------------------------------------------------------------------------------------------
# Neighborhoods
# ----------------------------------------------------------------------------------------------


def _tails_of(statistics: pl.Series) -> pl.Series:
    """Return the p-values of structs of a statistic x and its degrees of freedom."""
    rows = statistics.struct.unnest()
    cases = rows.unique().drop_nulls()
    x, freedom = (cases[name].to_numpy() for name in ("x", "freedom"))
    cases = cases.with_columns(p=chi_square_tail(x, freedom))
    return rows.join(cases, on=["x", "freedom"], how="left", maintain_order="left")["p"]


def _tail(statistic: pl.Expr) -> pl.Expr:
    """Return the p-value of a statistic of kBET, or NULL for one or too many clusters."""
    n_clusters = pl.col("n_clusters")
    has_tail = n_clusters.is_between(2, _MAX_KBET_CLUSTERS)
    case = pl.struct(x=pl.when(has_tail).then(statistic), freedom=n_clusters - 1)
    return case.map_batches(_tails_of, return_dtype=pl.Float64, is_elementwise=True)


def _node_sum_terms() -> Terms:
    """Return sums over nodes, which are exact and can be added."""
    k, p_value = pl.col("n_neighbors"), pl.col("kbet_p_value")
    accepted = (p_value >= _KBET_ALPHA).cast(pl.Float64)
    scores = {name: pl.col(name) for name in (*_NEIGHBOR_MEAN_COLUMNS[:4], "connectivity")}
    scores |= {"kbet_acceptance_rate": accepted, "most_connectivity": pl.col("most_connectivity")}
    counts = ("n_neighbors", "n_same", "n_self_neighbors", "n_duplicate_neighbors")
    return {
        "n": pl.len().cast(pl.Int64),
        "n_without_neighbors": (k == 0).sum().cast(pl.Int64),
        **{name: pl.col(name).sum() for name in counts},
        **{f"sum_{name}": to_fixed_point(x).sum() for name, x in scores.items()},
        **{f"count_{name}": x.count().cast(pl.Int64) for name, x in scores.items()},
        "most_neighbors": k.max(),
    }


def _node_mean_terms() -> Terms:
    """Return the means of scores, from the sums of _node_sum_terms over groups.

    wcnn is the share of all neighbors that are in the cluster of their node.
    """

    def total(name: str) -> pl.Expr:
        """Return the sum of a score, or NULL without values."""
        return pl.when(pl.col(f"count_{name}") > 0).then(from_fixed_point(pl.col(f"sum_{name}")))

    means = {
        name: ratio(total(name), pl.col(f"count_{name}")) for name in _NEIGHBOR_MEAN_COLUMNS[:5]
    }
    return means | {
        "connectivity": total("connectivity"),
        "normalized_connectivity": ratio(total("connectivity"), total("most_connectivity")),
        "wcnn": ratio(pl.col("n_same"), pl.col("n_neighbors")),
    }


def _add_sums() -> Terms:
    """Return the sums over groups of nodes, from those of smaller groups."""
    names = dict.fromkeys(_node_sum_terms(), pl.Expr.sum) | {"most_neighbors": pl.Expr.max}
    return {name: add(pl.col(name)) for name, add in names.items()}


def _is_distance(d: pl.Expr) -> pl.Expr:
    """Return whether d is a finite number >= 0."""
    return (d.is_finite() & (d >= 0)).fill_null(False)


def _look_up(end: str, lowest: int, places: pl.Series) -> pl.Expr:
    """Return the node of the id in the column left or right, given `places` from the lowest id."""
    place = pl.col(end).cast(pl.Int64, strict=False) - lowest
    place = pl.when(place.is_between(0, len(places) - 1)).then(place)
    return pl.lit(places).gather(place).alias(_ENDS[end])


def _count_nodes(nodes: Any, first: int, stop: int) -> Any:
    """Return how often each node from `first` to `stop` - 1 is in an array."""
    return np.bincount(nodes - np.uint32(first), minlength=stop - first)


def _drop_duplicates(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per node and neighbor, with the smallest distance."""
    pairs = pack(rows["node"].to_numpy(), rows["neighbor"].to_numpy())
    pairs.sort()
    repeated = pairs[1:][pairs[1:] == pairs[:-1]]
    if not repeated.size:
        return rows
    is_odd = pl.col("node").is_in(pl.Series(first_of(repeated)).unique().implode())
    merged = rows.filter(is_odd).group_by("node", "neighbor").min()
    return pl.concat([rows.filter(~is_odd), merged])


def _sort_neighbors(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows sorted by node, distance and neighbor, as the indexes of libraries do."""
    node, neighbor, d = (column.to_numpy() for column in rows)
    is_later = (d[1:] > d[:-1]) | ((d[1:] == d[:-1]) & (neighbor[1:] > neighbor[:-1]))
    if ((node[1:] > node[:-1]) | ((node[1:] == node[:-1]) & is_later)).all():
        return rows
    return rows.sort("node", "distance", "neighbor")


@dataclass
class _Scores:
    """The scores of the blocks of neighbors, with a frame per block in each list.

    `samples` has the rows of the nodes, `sums` those of _node_sum_terms by cluster, `dropped` the
    numbers of rows without a cluster, and `nearest` the smallest distances between clusters.
    """

    edges: EdgeCounts | None
    samples: list[pl.DataFrame] = field(default_factory=list)
    sums: list[pl.DataFrame] = field(default_factory=list)
    dropped: list[pl.DataFrame] = field(default_factory=list)
    nearest: list[pl.DataFrame] = field(default_factory=list)


@dataclass(frozen=True)
class _Neighborhoods:
    """The scores of neighbors, which are read in blocks of ids, so that a block is in memory."""

    graph: Graph
    has_distances: bool
    perplexity: float | None

    @property
    def keys(self) -> dict[str, str]:
        """The partition columns."""
        return self.graph.keys

    @cached_property
    def nodes(self) -> _Nodes:
        """The ids that have a cluster."""
        return _read_nodes(self.graph)

    @cached_property
    def numbers(self) -> NodeClusters:
        """The clusters of the nodes as arrays."""
        clusters = self.nodes.clusters
        columns = (clusters[name].to_numpy() for name in ("size", "n_points"))
        return NodeClusters(self.nodes.rows["cluster_no"].to_numpy(), *columns)

    @cached_property
    def places(self) -> pl.Series | None:
        """The node of each whole number from the lowest to the highest id, NULL without a node.

        A lookup takes less time and memory than a join. There is none if the ids are not whole
        numbers with few gaps, or if several partitions may have the same id.
        """
        ids = self.nodes.rows["id"]
        if self.keys or not ids.dtype.is_integer() or not len(ids):
            return None
        low, high = ids[0], ids[-1]
        if high - low >= _MOST_PLACES_PER_ID * len(ids) or max(abs(low), high) >= 2**62:
            return None
        places = np.full(high - low + 1, _NO_NODE, np.uint32)
        places[ids.cast(pl.Int64).to_numpy() - low] = np.arange(len(ids), dtype=np.uint32)
        found = pl.Series(places)
        return found if len(ids) == len(found) else found.replace(_NO_NODE, None)

    def ranges(self) -> list[tuple[pl.Expr, int, int]]:
        """Return conditions for the rows of neighbors of each block, and the range of its nodes.

        A block contains consecutive ids. The last also has the rows whose id is NULL.
        """
        left, ids = pl.col("left"), self.nodes.rows["id"]
        n_blocks = 1
        if ids.dtype.is_integer() or ids.dtype == pl.String:
            n_rows = self.graph.ends.select(pl.len()).collect(engine="streaming").item()
            n_blocks = -(-n_rows // _ROWS_PER_BLOCK)
        places = np.linspace(0, len(ids), n_blocks, endpoint=False).astype(np.int64)[1:]
        starts = ids.gather(places).unique(maintain_order=True) if len(ids) else ids
        first, condition, ranges = 0, pl.lit(value=True), []
        for value in starts:
            start = pl.lit(value, dtype=ids.dtype)
            stop = int(ids.search_sorted(value, side="left"))
            ranges.append((condition & (left < start), first, stop))
            first, condition = stop, left >= start
        is_rest = (condition | left.is_null()) if ranges else condition
        return [*ranges, (is_rest, first, len(ids))]

    def read_block(self, condition: pl.Expr, first: int, stop: int) -> pl.DataFrame:
        """Return the partition columns, node, neighbor and distance of the rows of a block."""
        ends = self.graph.ends.filter(condition).rename({"weight": "distance"})
        if self.places is not None:
            found = ends.collect(engine="streaming")
            nodes = (_look_up(end, self.nodes.rows["id"][0], self.places) for end in _ENDS)
            found = found.select(*nodes, "distance")
        else:
            keys, ids = list(self.keys), self.nodes.rows.drop("cluster_no").with_row_index("node")
            own = ids.slice(first, stop - first).rename({"id": "left"}).lazy()
            others = ids.rename({"id": "right", "node": "neighbor"}).lazy()
            rows = join_small(ends, [*keys, "left"], own, how="left")
            rows = join_small(rows, [*keys, "right"], others, how="left")
            found = rows.select(*keys, "node", "neighbor", "distance").collect(engine="streaming")
        if found.select(~_is_distance(pl.col("distance"))).to_series().any():
            self.raise_bad_distance(condition)
        return found

    def raise_bad_distance(self, condition: pl.Expr) -> None:
        """Raise the error about the first row whose distance is not a finite number >= 0."""
        columns = ("left", "right", "weight")
        rows = self.graph.ends.filter(condition, ~_is_distance(pl.col("weight"))).select(columns)
        worst = rows.sort(columns, nulls_last=True).head(1).collect(engine="streaming")
        left, right, value = map(show_value, worst.row(0))
        raise ClusterEvalError(
            f"distance: expected finite numbers >= 0, got {value} for {left} and {right}; leave "
            "out neighbors without a distance, or give them one"
        )

    def scan(
        self, *, has_lists: bool = True, has_edges: bool = False, has_samples: bool = False
    ) -> _Scores:
        """Read the rows of neighbors, and return their scores.

        `has_lists` is whether to compute the scores that need more than counts, `has_edges` whether
        to count edges and components, and `has_samples` whether to keep the rows of the nodes.
        """
        found, n_joined = _Scores(EdgeCounts(self.numbers) if has_edges else None), 0
        for condition, first, stop in self.ranges():
            rows = self.read_block(condition, first, stop)
            found.dropped.append(self.count_dropped(rows))
            lost = rows.filter(pl.col("neighbor").is_null()).select("node").drop_nulls()
            rows = rows.select("node", "neighbor", "distance").drop_nulls()
            n_joined += rows.height
            nodes = self.score_block(rows, first, stop, found, has_lists=has_lists)
            lost_counts = _count_nodes(lost["node"].to_numpy(), first, stop)
            nodes = nodes.with_columns(n_dropped_neighbors=pl.Series(lost_counts, dtype=pl.Int64))
            found.sums.append(nodes.group_by("cluster_no").agg(**_node_sum_terms()))
            if has_samples:
                found.samples.append(nodes)
        if not n_joined:
            n_dropped = pl.concat(found.dropped).select(pl.col("n_dropped_neighbors").sum())
            self.graph.raise_unjoined(self.nodes.rows.lazy(), n_dropped.item())
        return found

    def count_dropped(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return n_dropped_neighbors, the rows with an end in no cluster, by partition."""
        is_dropped = pl.col("node").is_null() | pl.col("neighbor").is_null()
        terms = {"n_dropped_neighbors": is_dropped.cast(pl.Int64)}
        return sum_by(rows.lazy(), list(self.keys), terms).collect()

    def score_block(
        self, rows: pl.DataFrame, first: int, stop: int, found: _Scores, *, has_lists: bool
    ) -> pl.DataFrame:
        """Return the nodes from `first` to `stop` - 1, with the columns of neighborhood_samples.

        `rows` has node, neighbor and distance. Edges and distances are added to `found`.
        """
        is_loop = pl.col("node") == pl.col("neighbor")
        n_self = _count_nodes(rows.filter(is_loop)["node"].to_numpy(), first, stop)
        rows = rows.filter(~is_loop)
        n_rows = _count_nodes(rows["node"].to_numpy(), first, stop)
        rows = _drop_duplicates(rows)
        rows = _sort_neighbors(rows) if has_lists else rows
        node, neighbor, d = (column.to_numpy() for column in rows)
        own, other = self.numbers.numbers[node], self.numbers.numbers[neighbor]
        is_cut = own != other
        k = _count_nodes(node, first, stop)
        n_cut = _count_nodes(node[is_cut], first, stop)
        if self.has_distances:
            cut = pl.DataFrame({"cluster_no": own[is_cut], "d": d[is_cut]})
            found.nearest.append(self.nearest_of(cut))
        if found.edges:
            found.edges.add(node, neighbor, stop)
        del own, other, is_cut
        columns = {
            "n_neighbors": k,
            "n_same": k - n_cut,
            "n_self_neighbors": n_self,
            "n_duplicate_neighbors": n_rows - k,
        }
        nodes = self.nodes.rows.slice(first, stop - first).with_columns(
            pl.Series(name, values, pl.Int64) for name, values in columns.items()
        )
        # Nodes without a neighbor in another cluster need no lists.
        is_mixed = (n_cut > 0) & has_lists
        chosen = is_mixed[node - np.uint32(first)]
        sums = list_sums(node[chosen], neighbor[chosen], d[chosen], self.numbers, self.perplexity)
        places = pl.Series(np.where(is_mixed, np.cumsum(is_mixed) - 1, -1)).replace(-1, None)
        fields = zip(ListSums._fields, sums, strict=True)
        nodes = nodes.with_columns(pl.Series(name, x).gather(places) for name, x in fields)
        sizes = self.nodes.clusters.select("size", "n_points", "n_clusters", "least_size")
        return self.add_scores(nodes.hstack(sizes[nodes["cluster_no"]]))

    def add_scores(self, nodes: pl.DataFrame) -> pl.DataFrame:
        """Return the nodes with the columns of neighborhood_samples and most_connectivity.

        most_connectivity is the connectivity if no neighbor were in the cluster of the node.
        """
        k, size, n_points = pl.col("n_neighbors"), pl.col("size"), pl.col("n_points")
        of_distances = (k > 0) & pl.lit(self.has_distances)
        enough = pl.lit(self.perplexity is not None) | (k >= _MIN_LISI_NEIGHBORS)
        n_ranks = nodes.select(k.max().fill_null(0)).item()
        harmonic = pl.Series(np.cumsum(1 / np.arange(1, n_ranks + 1)))
        ranks = nodes.select(k.replace(0, None) - 1).to_series()
        balanced = pl.col("n_same") / size / pl.col("balanced")
        kbet = pl.col("kbet_statistic").fill_null(k * (n_points - size) / size)
        nodes = nodes.with_columns(
            neighbor_purity=ratio(pl.col("n_same"), k),
            balanced_purity=pl.when(k > 0).then(balanced.fill_null(1.0)),
            inverse_simpson=pl.when(k > 0).then((k * k / pl.col("squares")).fill_null(1.0)),
            lisi=pl.when(of_distances & enough).then(pl.col("lisi").fill_null(1.0)),
            kbet_statistic=pl.when(k > 0).then(kbet),
            connectivity=pl.when(of_distances).then(pl.col("connectivity").fill_null(0.0)),
            most_connectivity=pl.when(of_distances).then(harmonic.gather(ranks)),
        )
        # The statistic is largest if all neighbors are in the smallest cluster.
        can_reject = _tail(k * (n_points / pl.col("least_size") - 1)) < _KBET_ALPHA
        return nodes.with_columns(
            kbet_p_value=pl.when(can_reject).then(_tail(pl.col("kbet_statistic"))),
            normalized_connectivity=ratio(pl.col("connectivity"), pl.col("most_connectivity")),
        )

    def nearest_of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the 15 smallest distances d of each partition, given cluster_no and d."""
        by, smallest = list(self.keys), pl.col("d").bottom_k(15)
        if not by:
            return rows.select(smallest)
        rows = rows.hstack(self.nodes.clusters.select(by)[rows["cluster_no"]])
        return rows.group_by(by).agg(smallest).explode("d")

    def dunn_owa(self, found: _Scores) -> pl.LazyFrame:
        """Return one row per partition with a neighbor in another cluster: dunn_owa.

        It is the weighted mean of the 15 smallest distances between neighbors in different
        clusters, with the weights of SMin:5 in genieclust.
        """
        by, d = list(self.keys), pl.col("d").drop_nulls().bottom_k(15).sort()
        rows = pl.concat([self.nodes.clusters.select(by).head(0), *found.nearest], how="diagonal")
        if not found.nearest:
            rows = rows.with_columns(d=pl.lit(None, pl.Float64))
        lists = aggregate_by(rows.lazy(), by, {"d": d if by else d.implode()})
        w = pl.int_ranges(pl.col("d").list.len()).list.eval((-((pl.element() / 5) ** 2) / 2).exp())
        # The weights are divided by their sum before a product can overflow.
        owa = (pl.col("d") * (w / w.list.sum())).list.sum()
        return lists.select(*by, dunn_owa=pl.when(pl.col("d").list.len() > 0).then(owa))

    def cluster_sums(self, found: _Scores) -> pl.LazyFrame:
        """Return one row per cluster: its columns in _Nodes, and the sums of _node_sum_terms."""
        sums = pl.concat(found.sums).lazy().group_by("cluster_no").agg(**_add_sums())
        return join_small(self.nodes.clusters.lazy(), ["cluster_no"], sums)

    def cluster_rows(self, found: _Scores) -> pl.LazyFrame:
        """Return one row per cluster, with the sums and the columns of neighborhood_clusters."""
        rows = self.cluster_sums(found).with_columns(**_node_mean_terms())
        if found.edges is None:
            return rows.with_columns(largest_component_share=pl.lit(None, pl.Float64))
        n_components, largest = found.edges.components()
        counts = pl.LazyFrame(
            {
                "cluster_no": np.arange(largest.size, dtype=np.uint32),
                "n_components": n_components,
                "largest": largest,
            }
        )
        rows = join_small(rows, ["cluster_no"], counts)
        return rows.with_columns(largest_component_share=pl.col("largest") / pl.col("n"))

    def modularity(self, found: _Scores) -> pl.LazyFrame:
        """Return the modularity of each partition with clusters."""
        by, total = list(self.keys), pl.col("total")
        empty = np.zeros(self.nodes.clusters.height)
        n_inner, n_cut = (found.edges.n_inner, found.edges.n_cut) if found.edges else (empty, empty)
        rows = self.nodes.clusters.select(*by, "cluster_no").with_columns(
            weight=pl.Series(n_inner, dtype=pl.Float64),
            cut_weight=pl.Series(n_cut, dtype=pl.Float64),
        )
        volume = pl.col("weight") + pl.col("cut_weight") / 2
        totals = aggregate_by(rows.lazy(), by, {"total": volume.sum()})
        term = modularity_term(pl.col("weight"), pl.col("cut_weight"), total, 1.0)
        modularity = from_fixed_point(to_fixed_point(term).sum())
        terms = {"modularity": modularity, "total": total.max()}
        sums = aggregate_by(join_partitions(rows.lazy(), by, totals), by, terms)
        return sums.select(*by, modularity=pl.when(total > 0).then("modularity"))

    def report_rows(self, found: _Scores) -> pl.LazyFrame:
        """Return one row per partition, with the columns of neighborhood_report."""
        by, clusters = list(self.keys), self.cluster_rows(found)
        shares = {
            "n_clusters": pl.len().cast(pl.Int64),
            "least_n": pl.col("n").min(),
            "mean_component_share": pl.col("largest_component_share").mean(),
            "cvnn_separation": (1 - pl.col("neighbor_purity")).max(),
        }
        sums = aggregate_by(clusters, by, _add_sums() | shares).with_columns(**_node_mean_terms())
        counts = self.nodes.counts.lazy()
        dropped = sum_by(
            pl.concat(found.dropped).lazy(),
            by,
            {"n_dropped_neighbors": pl.col("n_dropped_neighbors")},
        )
        if by:
            # A partition may have rows in only one of the two frames.
            counts = counts.join(dropped, on=by, how="full", nulls_equal=True, coalesce=True)
        else:
            counts = counts.join(dropped, how="cross")
        parts = (sums, self.dunn_owa(found), self.modularity(found))
        rows = join_partitions(counts, by, *parts, how="left")
        is_wide = pl.col("least_n") > pl.col("most_neighbors")
        return rows.with_columns(
            pl.col(_NEIGHBOR_COUNT_COLUMNS).fill_null(0),
            wcnn=pl.when(is_wide).then("wcnn"),
            dunn_owa=pl.when(is_wide).then("dunn_owa"),
        )


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("neighbors", guide="distances", order=("id",))
def neighborhood_samples(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    neighbors: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    *,
    distance: Column | None = None,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
    perplexity: float | None = None,
) -> Frame:
    """Scores of the nearest neighbors of each id.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The clustering, one row per id. A LazyFrame is read when you collect the result.
    id, cluster : str or Expr
        The columns of `frame` with the id and the cluster of each row. An id must not have more
        than one row with a cluster. For the scores of a label or of a batch, pass its column as
        cluster.
    neighbors : DataFrame or LazyFrame
        The nearest neighbors of each id, one row per neighbor. An id is not its own neighbor, so
        rows whose two ids are the same are left out. Rows with the same two ids in the same order
        count as one neighbor, with the smallest distance. A LazyFrame, such as that of a Parquet
        file, is read in blocks of ids of about 4 million rows, so it is not in memory as a whole.
        This is fastest if the file is sorted by left.
    left, right : str or Expr
        The columns of `neighbors` with an id and its neighbor, which must have the same type as id.
        A row is left out if one of its two ids is NULL or has no cluster.
    distance : str or Expr, optional
        A column of `neighbors` that contains finite numbers >= 0. By default, the scores that need
        distances are NULL. If neighbors are equally far away, the lower id is nearer.
    partition_by : str, Expr or sequence of these, optional
        Columns in both frames that define the groups to evaluate separately. The two ids of a
        neighbor are in the same partition. NULL is also a partition.
    noise : object, optional
        The cluster value that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise is treated as an ordinary cluster, left out, or treated as one cluster per
        id. If noise is left out, it is not a neighbor either.
    perplexity : float, optional
        The effective number of neighbors in lisi, at least 1. By default, it is a third of the
        number k of neighbors of the id, rounded down, and lisi is NULL if k < 6: with a perplexity
        of 1, lisi would be 1 whatever the clusters of the neighbors.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per id that has a cluster, sorted by partition and id. The
        result has the partition columns, id, and the following columns:

        - cluster: the cluster, or NULL for noise that counts as singletons.
        - n_neighbors: the number k of neighbors. It may differ between ids.
        - n_dropped_neighbors: the number of rows of `neighbors` with this id and a neighbor that
          has no cluster. These neighbors do not count.
        - neighbor_purity (range [0, 1], best high): the share of the neighbors that are in the
          cluster of the id.
        - balanced_purity (range [0, 1], best high): the same share, where each neighbor counts 1
          divided by the size of its cluster, as if all clusters had the same size.
        - inverse_simpson (range [1, inf)): the effective number of clusters among the neighbors, 1
          divided by the sum of the squared shares of the clusters.
        - lisi (range [1, inf)): the local inverse Simpson index. The neighbors have the weights
          exp(-beta d), where d is the distance, and beta is such that the entropy of the weights is
          the logarithm of the perplexity.
        - kbet_statistic (range [0, inf)): the chi-square statistic of kBET, which compares the
          clusters of the neighbors with the sizes of all clusters.
        - kbet_p_value (range [0, 1]): the probability of a higher statistic if the neighbors were
          drawn from all ids.
        - connectivity (range [0, inf), best 0): the sum of 1 / rank over the neighbors in other
          clusters, where the nearest neighbor has rank 1.
        - normalized_connectivity (range [0, 1], best 0): the same, divided by 1 + 1/2 + ... +
          1/k.

        The scores of an id without neighbors are NULL. lisi is also NULL if k < 6 and perplexity is
        not given. kbet_p_value is also NULL if k neighbors are too few for the test to reject: the
        statistic is largest if all neighbors are in the smallest cluster of the partition, which
        has m of its n ids. The largest statistic is then k (n / m - 1), and there is no p-value
        unless that of the largest statistic is below 0.05. Finally, kbet_p_value is NULL if there
        is only one cluster, or more than 1000.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if the ids of the two frames have different types, or if an
        option is unknown. When you collect the result, the error is also raised if an id is NULL or
        has several rows with a cluster, if a distance is negative, NULL or not finite (the error
        names the two ids of such a row, the lowest), or if there are ids and neighbors, but no row
        joins two ids.

    Notes
    -----
    balanced_purity has the weights of neighborPurity in bluster, which however counts all points
    within a radius, and the point itself. lisi has the kernel of the R package lisi and of
    scib-metrics, but its beta is exact, and theirs has a tolerance of 1e-5 in the entropy. In
    scib-metrics, an id is among its own neighbors. In SQL: ``FROM
    clustereval.neighborhood_samples(tbl, id, cluster, neighbors, "left", "right")``.

    References
    ----------
    Korsunsky et al. (2019), Fast, sensitive and accurate integration of single-cell data with
    Harmony, doi:10.1038/s41592-019-0619-0. Büttner et al. (2019), A test metric for assessing
    single-cell RNA-seq batch correction, doi:10.1038/s41592-018-0254-1. Handl and Knowles (2005),
    Exploiting the trade-off: the benefits of multiple objectives in data clustering,
    doi:10.1007/978-3-540-31880-4_38.

    Examples
    --------
    >>> points = pl.DataFrame({"id": ["a", "b", "c", "d"], "cluster": [1, 1, 2, 2]})
    >>> rows = [("a", "b", 1.0), ("a", "c", 2.0), ("b", "a", 1.0), ("b", "c", 1.5), ("c", "d", 0.5)]
    >>> nearest = pl.DataFrame(rows, schema=["left", "right", "d"], orient="row")
    >>> columns = ("id", "cluster", nearest, "left", "right")
    >>> samples = ce.neighborhood_samples(points, *columns, distance="d")
    >>> samples.select("id", "n_neighbors", "neighbor_purity", "connectivity").rows()
    [('a', 2, 0.5, 0.5), ('b', 2, 0.5, 0.5), ('c', 1, 1.0, 0.0), ('d', 0, None, None)]
    """
    found = pass_arguments_to(_read_neighborhoods, results=_NEIGHBOR_SAMPLE_COLUMNS)
    nodes, clusters = pl.concat(found.scan(has_samples=True).samples), found.nodes.clusters
    rows = nodes.lazy().with_columns(
        pl.col("id").cast(found.graph.id_type),
        cluster=clusters["cluster"].gather(nodes["cluster_no"]),
    )
    rows = rows.select(*found.keys, *_NEIGHBOR_SAMPLE_COLUMNS)
    return to_user_frame(frame, rows.sort(*found.keys, "id", nulls_last=True), found.keys)


@table_function("neighbors", guide="distances", order=("cluster",))
def neighborhood_clusters(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    neighbors: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    *,
    distance: Column | None = None,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
    perplexity: float | None = None,
) -> Frame:
    """Scores of the nearest neighbors of each cluster.

    Parameters
    ----------
    frame, id, cluster, neighbors, left, right, distance : as in neighborhood_samples
    partition_by, noise, noise_as, perplexity : as in neighborhood_samples

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per cluster, sorted by partition and cluster. The result has
        the partition columns, cluster, and the following columns:

        - n: the number of ids.
        - n_neighbors: the number of their neighbors.
        - n_without_neighbors: the number of ids without neighbors.
        - neighbor_purity, balanced_purity, inverse_simpson, lisi: the mean of the scores in
          neighborhood_samples that are not NULL. 1 - neighbor_purity is the separation of the
          cluster in CVNN.
        - kbet_acceptance_rate (range [0, 1]): the share of the ids with kbet_p_value for which it
          is at least 0.05. It is NULL if no id has enough neighbors for a p-value.
        - connectivity (range [0, inf), best 0): the sum of the connectivity of the ids.
        - normalized_connectivity (range [0, 1], best 0): this sum, divided by the sum for ids
          without a neighbor in their cluster.
        - n_components: the number of connected components of the graph of neighbors within the
          cluster, in which two ids are joined if one is a neighbor of the other.
        - largest_component_share (range (0, 1], best high): the share of the ids that are in the
          largest of these components.

        Noise that counts as singletons is not listed.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in neighborhood_samples.

    Notes
    -----
    In SQL: ``FROM clustereval.neighborhood_clusters(tbl, id, cluster, neighbors, "left",
    "right")``.

    References
    ----------
    Luecken et al. (2022), Benchmarking atlas-level data integration in single-cell genomics,
    doi:10.1038/s41592-021-01336-8.

    Examples
    --------
    >>> points = pl.DataFrame({"id": ["a", "b", "c", "d"], "cluster": [1, 1, 2, 2]})
    >>> rows = [("a", "b", 1.0), ("a", "c", 2.0), ("b", "a", 1.0), ("b", "c", 1.5), ("c", "b", 0.5)]
    >>> nearest = pl.DataFrame(rows, schema=["left", "right", "d"], orient="row")
    >>> columns = ("id", "cluster", nearest, "left", "right")
    >>> clusters = ce.neighborhood_clusters(points, *columns, distance="d")
    >>> clusters.select("cluster", "n", "neighbor_purity", "n_components").rows()
    [(1, 2, 0.5, 1), (2, 2, 0.0, 2)]
    """
    found = pass_arguments_to(_read_neighborhoods, results=_NEIGHBOR_CLUSTER_COLUMNS)
    rows = found.cluster_rows(found.scan(has_edges=True))
    rows = rows.filter(pl.col("cluster").is_not_null())
    rows = rows.select(*found.keys, *_NEIGHBOR_CLUSTER_COLUMNS)
    return to_user_frame(frame, rows.sort(*found.keys, "cluster", nulls_last=True), found.keys)


@table_function("neighbors", guide="distances")
def neighborhood_report(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    neighbors: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    *,
    distance: Column | None = None,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
    perplexity: float | None = None,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Scores that rate clusters by the nearest neighbors of each id.

    Parameters
    ----------
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work that is needed only for other columns is skipped: mean_component_share and
        modularity need the graph of all neighbors, the others only the neighbors of each id.
    frame, id, cluster, neighbors, left, right, distance : as in neighborhood_samples
    partition_by, noise, noise_as, perplexity : as in neighborhood_samples

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition. The result has the partition columns and the
        following columns:

        - n: the number of ids.
        - n_dropped: the number of rows without a cluster.
        - n_noise: the number of noise ids.
        - n_clusters: the number of clusters.
        - n_neighbors: the number of neighbors of all ids.
        - n_self_neighbors: the number of rows of `neighbors` whose two ids are the same.
        - n_dropped_neighbors: the number of rows of `neighbors` with an id that has no cluster.
        - n_duplicate_neighbors: the number of rows of `neighbors` that repeat a neighbor.
        - n_without_neighbors: the number of ids without neighbors.
        - neighbor_purity (range [0, 1], best high), balanced_purity (range [0, 1], best high),
          inverse_simpson (range [1, inf)), lisi (range [1, inf)): the mean of the scores in
          neighborhood_samples that are not NULL. lisi is NULL if each id has fewer than 6 neighbors
          and perplexity is not given.
        - kbet_acceptance_rate (range [0, 1]), connectivity (range [0, inf), best 0),
          normalized_connectivity (range [0, 1], best 0): as in neighborhood_clusters, for all ids.
        - mean_component_share (range (0, 1], best high): the mean of largest_component_share in
          neighborhood_clusters, which is the graph connectivity of scib.
        - cvnn_separation (range [0, 1], best low): the separation of CVNN, the largest mean share
          of neighbors in other clusters of a cluster. Its compactness needs the distances of all
          pairs in a cluster, so CVNN itself is not here.
        - wcnn (range [0, 1], best high): the share of all neighbors that are in the cluster of
          their id.
        - dunn_owa (range [0, inf), best high): the DuNN-OWA index with its default operators,
          SMin:5 and Const: a weighted mean of the 15 smallest distances between neighbors in
          different clusters.
        - modularity (range up to 1, best high): the modularity of the clusters in the graph of
          neighbors, in which two ids are joined if one is a neighbor of the other.

        wcnn and dunn_owa are NULL if a cluster has at most as many ids as an id has neighbors. Then
        they are -inf in genieclust. If no neighbor is in another cluster, dunn_owa is NULL, too,
        and inf in genieclust.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in neighborhood_samples.

    Notes
    -----
    In SQL: ``FROM clustereval.neighborhood_report(tbl, id, cluster, neighbors, "left", "right")``.

    References
    ----------
    Gagolewski, Bartoszuk and Cena (2021), Are cluster validity measures (in)valid?,
    doi:10.1016/j.ins.2021.10.004. Liu et al. (2013), Understanding and enhancement of internal
    clustering validation measures, doi:10.1109/TSMCB.2012.2220543. Newman (2004), Analysis of
    weighted networks, doi:10.1103/PhysRevE.70.056131.

    Examples
    --------
    >>> points = pl.DataFrame({"id": ["a", "b", "c", "d"], "cluster": [1, 1, 2, 2]})
    >>> rows = [("a", "b", 1.0), ("b", "a", 1.0), ("b", "c", 1.5), ("c", "d", 0.5), ("d", "c", 0.5)]
    >>> nearest = pl.DataFrame(rows, schema=["left", "right", "d"], orient="row")
    >>> columns = ("id", "cluster", nearest, "left", "right")
    >>> report = ce.neighborhood_report(points, *columns, distance="d")
    >>> report.select("n", "neighbor_purity", "connectivity", "cvnn_separation").rows()
    [(4, 0.875, 0.5, 0.25)]
    """
    found = pass_arguments_to(_read_neighborhoods, results=_NEIGHBOR_REPORT_COLUMNS)
    chosen = set(_NEIGHBOR_REPORT_COLUMNS)
    if metrics is not None:
        chosen = set(check_metrics(metrics, _NEIGHBOR_REPORT_COLUMNS))
    scores = found.scan(
        has_lists=not chosen.isdisjoint(_LIST_COLUMNS),
        has_edges=not chosen.isdisjoint(_EDGE_COLUMNS),
    )
    rows = found.report_rows(scores).select(*found.keys, *_NEIGHBOR_REPORT_COLUMNS)
    keys = list(found.keys)
    rows = rows.sort(keys, nulls_last=True) if keys else rows
    return to_user_frame(frame, rows, found.keys, metrics)
