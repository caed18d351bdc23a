"""neighborhoods: scores of clusters from a frame of the nearest neighbors of each id.

The frame of neighbors has a row for each id (`left`) and neighbor (`right`), with their distance. A
row whose two ids are the same is left out, because no id is its own neighbor. Rows with the same id
and neighbor count as one, with the smallest distance. A row with an end in no cluster is left out,
and counted. The edges of the graph of neighbors have no direction: two nodes are joined if one is a
neighbor of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from polars_clustereval.base.checks import is_number, show_value
from polars_clustereval.base.exact import from_fixed_point, ratio, to_fixed_point
from polars_clustereval.base.frames import (
    Terms,
    aggregate_by,
    join_partitions,
    join_small,
    map_whole,
    sum_by,
    to_user_frame,
)
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError

from .contingency import LabelOptions
from .graph_counts import NODES, Graph, GraphColumns, read_graph
from .kernels.neighbor_lists import chi_square_tail, neighbor_weights
from .kernels.parts import label_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

# Twice the largest number of terms of a p-value of kBET, which has one for every second cluster.
_MAX_KBET_CLUSTERS = 1000
_KBET_ALPHA = 0.05
# The number of neighbors that are processed together.
_NEIGHBORS_PER_BLOCK = 1_000_000
# The highest number of a node stands for a neighbor without a cluster.
_NO_NODE = NODES - 1

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
    parts = (graph.rows, graph.ends, graph.keys, graph.options, graph.id_type)
    return _Neighborhoods(*parts, distance is not None, perplexity)


# ----------------------------------------------------------------------------------------------
# Numpy functions of the neighbors of many nodes
# ----------------------------------------------------------------------------------------------

_LIST_SUMS = pl.Schema(
    {
        "node": pl.Int64(),
        **dict.fromkeys(
            ("connectivity", "squares", "lisi", "balanced", "kbet_statistic"), pl.Float64()
        ),
    }
)


def _list_sums(rows: pl.DataFrame, *, perplexity: float | None) -> pl.DataFrame:
    """Return the _LIST_SUMS of each node, given its neighbors, sorted by node and distance.

    The rows have node, own_cluster, other_cluster, distance, and the size of other_cluster and
    n_points of its partition.
    """
    nodes = rows["node"].to_numpy()
    starts = np.flatnonzero(np.diff(nodes, prepend=-1))
    ends = np.append(starts[1:], nodes.size)
    frames = [_LIST_SUMS.to_frame()]
    first = 0
    while first < starts.size:
        stop = int(np.searchsorted(ends, starts[first] + _NEIGHBORS_PER_BLOCK, side="right"))
        stop = max(stop, first + 1)
        block = rows.slice(int(starts[first]), int(ends[stop - 1] - starts[first]))
        counts = ends[first:stop] - starts[first:stop]
        frames.append(_list_sums_of_block(block, counts, perplexity))
        first = stop
    return pl.concat(frames)


def _list_sums_of_block(rows: pl.DataFrame, counts: Any, perplexity: float | None) -> pl.DataFrame:
    """Return the rows of _list_sums for nodes with `counts` (n,) neighbors."""
    starts = np.cumsum(counts) - counts
    own, other = rows["own_cluster"].to_numpy(), rows["other_cluster"].to_numpy()
    rank = np.arange(own.size) - np.repeat(starts, counts) + 1
    given = np.maximum(counts // 3, 1) if perplexity is None else np.full(counts.size, perplexity)
    d = rows["distance"].fill_null(0.0).to_numpy()
    weights = neighbor_weights(d, counts, given.astype(np.float64))
    # The neighbors of a node by cluster are cells.
    owner = np.repeat(np.arange(counts.size), counts)
    clusters = pl.Series(other).rank("dense").to_numpy().astype(np.int64)
    order = pl.Series(owner * (int(clusters.max()) + 1) + clusters).arg_sort().to_numpy()
    owner, clusters = owner[order], clusters[order]
    is_first = np.append(True, (np.diff(owner) != 0) | (np.diff(clusters) != 0))
    cells = np.flatnonzero(is_first)
    n = np.diff(cells, append=owner.size).astype(np.float64)
    weight = np.add.reduceat(weights[order], cells)
    size = rows["size"].to_numpy()[order][cells].astype(np.float64)
    n_points = rows["n_points"].to_numpy()[order][cells].astype(np.float64)
    of_cell = owner[cells]
    first_cells = np.flatnonzero(np.diff(of_cell, prepend=-1))
    mean = counts[of_cell] * size / n_points
    # A cluster without a neighbor adds its mean.
    points = n_points[first_cells]
    absent = counts * (points - np.add.reduceat(size, first_cells)) / points
    total = np.add.reduceat(weight, first_cells)
    return pl.DataFrame(
        {
            "node": rows["node"].to_numpy()[starts],
            "connectivity": np.add.reduceat((own != other) / rank, starts),
            "squares": np.add.reduceat(n * n, first_cells),
            "lisi": total * total / np.add.reduceat(weight * weight, first_cells),
            "balanced": np.add.reduceat(n / size, first_cells),
            "kbet_statistic": np.add.reduceat((n - mean) ** 2 / mean, first_cells) + absent,
        },
        schema=_LIST_SUMS,
    )


def _tails_of(statistics: pl.Series) -> pl.Series:
    """Return the p-values of structs of a statistic and its degrees of freedom, without NULLs."""
    x, freedom = (statistics.struct.field(name).to_numpy() for name in ("x", "freedom"))
    return pl.Series(chi_square_tail(x, freedom))


_COMPONENT_SIZES = pl.Schema(dict.fromkeys(("cluster_no", "n_tree_edges", "largest"), pl.Int64()))


def _component_sizes(links: pl.DataFrame) -> pl.DataFrame:
    """Return the number of edges of a spanning forest, and the size of the largest component.

    There is one row per cluster in a frame of links (see graph_paths).
    """
    low, high = links["low"].to_numpy(), links["high"].to_numpy()
    if not low.size:
        return _COMPONENT_SIZES.to_frame()
    parts = label_parts(low, high, int(high.max()) + 1)
    sizes = pl.Series(np.bincount(parts)[parts[low]])
    parts_of_links = links.select("cluster_no", part=pl.Series(parts[low]), n=sizes).unique()
    sums = parts_of_links.group_by("cluster_no").agg(
        n_tree_edges=(pl.col("n") - 1).sum(), largest=pl.col("n").max()
    )
    return sums.cast(_COMPONENT_SIZES)


# ----------------------------------------------------------------------------------------------
# Neighborhoods
# ----------------------------------------------------------------------------------------------


def _exact_mean(x: pl.Expr) -> pl.Expr:
    """Return the mean of x in groups, whose sum is exact, or NULL without values."""
    return ratio(from_fixed_point(to_fixed_point(x).sum()), x.count())


def _exact_sum(x: pl.Expr) -> pl.Expr:
    """Return the exact sum of x in groups, or NULL without values."""
    return pl.when(x.count() > 0).then(from_fixed_point(to_fixed_point(x).sum()))


@dataclass(frozen=True)
class _Neighborhoods(Graph):
    """The graph of neighbors, and the frames of their scores."""

    has_distances: bool
    perplexity: float | None

    table: ClassVar[str] = "neighbors"
    #: The number of a node breaks ties of distances.
    sorts_ids: ClassVar[bool] = True

    @cached_property
    def packed_pairs(self) -> pl.LazyFrame:
        """One row per node and neighbor, as in `pairs`, in little memory.

        packed contains the two nodes, and pair is the same if there are two.
        """
        rows = self.ends
        for end, number, cluster in (("left", "one", "of_one"), ("right", "two", "of_two")):
            nodes = self.nodes.select(
                *self.keys,
                pl.col("id").alias(end),
                pl.col("node").cast(pl.UInt32).alias(number),
                pl.col("cluster_no").cast(pl.UInt32).alias(cluster),
            )
            rows = join_small(rows, [*self.keys, end], nodes, how="left")
        one, two = pl.col("one").cast(pl.UInt64), pl.col("two").fill_null(_NO_NODE)
        distance = pl.col("weight") if self.has_distances else pl.lit(None, pl.Float64)
        rows = rows.select(
            *self.keys, "of_one", "of_two", distance=distance, packed=one * pl.lit(NODES) + two
        )
        pairs = rows.group_by(*self.keys, "packed").agg(
            own_cluster=pl.col("of_one").first(),
            other_cluster=pl.col("of_two").first(),
            distance=pl.col("distance").min(),
            n_rows=pl.len().cast(pl.UInt32),
        )
        is_whole = pl.col("packed") % NODES != _NO_NODE
        return self.with_pair_check(pairs.with_columns(pair=pl.when(is_whole).then("packed")))

    @cached_property
    def pairs(self) -> pl.LazyFrame:
        """One row per node and neighbor, with own_cluster, other_cluster, distance and n_rows.

        neighbor is NULL in one row per node, for the rows whose neighbor has no cluster. node is
        also NULL in one row per partition, for the rows whose id has none.
        """
        return self.packed_pairs.with_columns(
            pl.col("own_cluster", "other_cluster", "n_rows").cast(pl.Int64),
            node=(pl.col("packed") // NODES).cast(pl.Int64),
            neighbor=(pl.col("pair") % NODES).cast(pl.Int64),
        )

    @cached_property
    def neighbors(self) -> pl.LazyFrame:
        """The pairs of two different nodes."""
        return self.pairs.filter(pl.col("neighbor") != pl.col("node"))

    @cached_property
    def joined_edges(self) -> pl.LazyFrame:
        """One row per edge of the graph of neighbors, as in Graph, with weight 1."""
        node, neighbor = pl.col("node"), pl.col("neighbor")
        own, other = pl.col("own_cluster"), pl.col("other_cluster")
        low, high = pl.min_horizontal(node, neighbor), pl.max_horizontal(node, neighbor)
        edges = self.neighbors.select(
            *self.keys,
            pair=low.cast(pl.UInt64) * pl.lit(NODES) + high.cast(pl.UInt64),
            low_cluster=pl.when(node < neighbor).then(own).otherwise(other).cast(pl.UInt32),
            high_cluster=pl.when(node < neighbor).then(other).otherwise(own).cast(pl.UInt32),
        )
        columns = (*self.keys, "low_cluster", "high_cluster")
        unions = edges.group_by("pair").agg(pl.col(columns).first()).cache()
        return unions.with_columns(
            pl.col("low_cluster", "high_cluster").cast(pl.Int64),
            low=(pl.col("pair") // NODES).cast(pl.Int64),
            high=(pl.col("pair") % NODES).cast(pl.Int64),
            weight=pl.lit(1.0),
            n_rows=pl.lit(1, pl.Int64),
        )

    @cached_property
    def sizes(self) -> pl.LazyFrame:
        """One row per cluster: cluster, cluster_no, size, and n_points and n_clusters."""
        kept = (pl.col(name).first() for name in (*self.keys, "cluster"))
        sizes = self.nodes.group_by("cluster_no").agg(*kept, size=pl.len().cast(pl.Int64)).cache()
        terms = {"n_points": pl.col("size").sum(), "n_clusters": pl.len().cast(pl.Int64)}
        sums = aggregate_by(sizes, list(self.keys), terms)
        return join_partitions(sizes, list(self.keys), sums).cache()

    @cached_property
    def counts(self) -> pl.LazyFrame:
        """One row per node in the frame of neighbors: its counts of neighbors."""
        is_other = (pl.col("neighbor") != pl.col("node")).fill_null(False)
        is_same = is_other & (pl.col("own_cluster") == pl.col("other_cluster"))
        rows = self.pairs.filter(pl.col("node").is_not_null()).select(
            "node",
            n_neighbors=is_other.cast(pl.Int64),
            n_dropped_neighbors=pl.when(pl.col("neighbor").is_null()).then("n_rows").otherwise(0),
            n_same=is_same.cast(pl.Int64),
        )
        return rows.group_by("node").agg(pl.all().sum()).cache()

    @cached_property
    def mixed(self) -> pl.LazyFrame:
        """One row per node with a neighbor in another cluster: its _LIST_SUMS."""
        mixed = self.counts.filter(pl.col("n_same") < pl.col("n_neighbors")).select("node")
        rows = self.neighbors.join(mixed, on="node", how="semi")
        sizes = self.sizes.select(pl.col("cluster_no").alias("other_cluster"), "size", "n_points")
        rows = join_small(rows, ["other_cluster"], sizes)
        rows = rows.sort("node", "distance", "neighbor").select(
            "node", "own_cluster", "other_cluster", "distance", "size", "n_points"
        )
        return map_whole(rows, partial(_list_sums, perplexity=self.perplexity), _LIST_SUMS)

    @cached_property
    def samples(self) -> pl.LazyFrame:
        """One row per node: the columns of neighborhood_samples, n_same and most_connectivity.

        most_connectivity is the connectivity if no neighbor were in the cluster of the node.
        """
        sizes = self.sizes.drop(*self.keys, "cluster")
        rows = join_small(self.nodes, ["cluster_no"], sizes)
        rows = join_small(rows, ["node"], self.counts, how="left")
        rows = join_small(rows, ["node"], self.mixed, how="left")
        k, n_same, size = pl.col("n_neighbors"), pl.col("n_same"), pl.col("size")
        counts = ("n_neighbors", "n_dropped_neighbors", "n_same")
        rows = rows.with_columns(pl.col(counts).fill_null(0))
        harmonic = (1 / pl.int_ranges(1, k + 1)).list.sum()
        of_distances = (k > 0) & pl.lit(self.has_distances)
        rows = rows.with_columns(
            neighbor_purity=ratio(n_same, k),
            balanced_purity=pl.when(k > 0).then(
                (n_same / size / pl.col("balanced")).fill_null(1.0)
            ),
            inverse_simpson=pl.when(k > 0).then((k * k / pl.col("squares")).fill_null(1.0)),
            lisi=pl.when(of_distances).then(pl.col("lisi").fill_null(1.0)),
            kbet_statistic=pl.when(k > 0).then(
                pl.col("kbet_statistic").fill_null(k * (pl.col("n_points") - size) / size)
            ),
            connectivity=pl.when(of_distances).then(pl.col("connectivity").fill_null(0.0)),
            most_connectivity=pl.when(of_distances).then(harmonic),
        )
        has_p_value = (k > 0) & pl.col("n_clusters").is_between(2, _MAX_KBET_CLUSTERS)
        statistic = pl.struct(
            x=pl.when(has_p_value).then("kbet_statistic").otherwise(0.0),
            freedom=pl.when(has_p_value).then(pl.col("n_clusters") - 1).otherwise(1),
        )
        tail = statistic.map_batches(_tails_of, return_dtype=pl.Float64, is_elementwise=True)
        return rows.with_columns(
            kbet_p_value=pl.when(has_p_value).then(tail),
            normalized_connectivity=ratio(pl.col("connectivity"), pl.col("most_connectivity")),
        ).cache()

    def means_by(self, by: list[str]) -> pl.LazyFrame:
        """Return one row per group of nodes, with its counts and the means of its scores.

        wcnn is the share of all neighbors that are in the cluster of their node.
        """
        k, p_value = pl.col("n_neighbors"), pl.col("kbet_p_value")
        connectivity = _exact_sum(pl.col("connectivity"))
        most = _exact_sum(pl.col("most_connectivity"))
        accepted = pl.when(p_value.is_not_null()).then((p_value >= _KBET_ALPHA).cast(pl.Float64))
        terms: Terms = {
            "n": pl.len().cast(pl.Int64),
            "most_neighbors": k.max(),
            "n_without_neighbors": (k == 0).sum().cast(pl.Int64),
            **{name: _exact_mean(pl.col(name)) for name in _NEIGHBOR_MEAN_COLUMNS[:4]},
            "kbet_acceptance_rate": _exact_mean(accepted),
            "connectivity": connectivity,
            "normalized_connectivity": ratio(connectivity, most),
            "wcnn": ratio(pl.col("n_same").sum(), k.sum()),
            "n_neighbors": k.sum(),
        }
        return aggregate_by(self.samples, by, terms)

    @cached_property
    def cluster_rows(self) -> pl.LazyFrame:
        """One row per cluster, with the partition columns and those of neighborhood_clusters."""
        means = self.means_by(["cluster_no"])
        components = map_whole(self.links, _component_sizes, _COMPONENT_SIZES)
        rows = join_small(self.sizes, ["cluster_no"], means)
        rows = join_small(rows, ["cluster_no"], components, how="left")
        n = pl.col("n")
        return rows.with_columns(
            n_components=n - pl.col("n_tree_edges").fill_null(0),
            largest_component_share=pl.col("largest").fill_null(1) / n,
        ).cache()

    @cached_property
    def dunn_owa(self) -> pl.LazyFrame:
        """One row per partition with a neighbor in another cluster: dunn_owa.

        It is the weighted mean of the 15 smallest distances between neighbors in different
        clusters, with the weights of SMin:5 in genieclust.
        """
        is_cut = pl.col("own_cluster") != pl.col("other_cluster")
        rows = self.neighbors.filter(is_cut, pl.col("distance").is_not_null())
        d = pl.col("distance").bottom_k(15).sort()
        nearest = aggregate_by(rows, list(self.keys), {"d": d if self.keys else d.implode()})
        w = pl.int_ranges(pl.col("d").list.len()).list.eval((-((pl.element() / 5) ** 2) / 2).exp())
        # The weights are divided by their sum before a product can overflow.
        owa = (pl.col("d") * (w / w.list.sum())).list.sum()
        return nearest.select(*self.keys, dunn_owa=pl.when(pl.col("d").list.len() > 0).then(owa))

    def neighbor_row_counts(self) -> pl.LazyFrame:
        """Return one row per partition with the counts of rows that are left out."""
        by, rows = list(self.keys), pl.col("n_rows")
        is_dropped, is_self = pl.col("pair").is_null(), pl.col("node") == pl.col("neighbor")
        of_nodes = {"n_dropped": pl.col("n_dropped"), "n_noise": pl.col("is_noise").cast(pl.Int64)}
        of_pairs = {
            "n_self_neighbors": pl.when(is_self).then(rows).otherwise(0),
            "n_dropped_neighbors": pl.when(is_dropped).then(rows).otherwise(0),
            "n_duplicate_neighbors": pl.when(is_dropped | is_self).then(0).otherwise(rows - 1),
        }
        counts, others = sum_by(self.ids, by, of_nodes), sum_by(self.pairs, by, of_pairs)
        if not by:
            return counts.join(others, how="cross")
        # A partition may have rows in only one of the two frames.
        return counts.join(others, on=by, how="full", nulls_equal=True, coalesce=True)

    @cached_property
    def report_rows(self) -> pl.LazyFrame:
        """One row per partition, with the columns of neighborhood_report."""
        by, purity = list(self.keys), pl.col("neighbor_purity")
        shares = aggregate_by(
            self.cluster_rows,
            by,
            {
                "n_clusters": pl.len().cast(pl.Int64),
                "least_n": pl.col("n").min(),
                "mean_component_share": pl.col("largest_component_share").mean(),
                "cvnn_separation": (1 - purity).max(),
            },
        )
        parts = (
            self.means_by(by),
            shares,
            self.dunn_owa,
            self.sums(1.0).select(*by, "modularity"),
        )
        rows = join_partitions(self.neighbor_row_counts(), by, *parts, how="left")
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
        count as one neighbor, with the smallest distance.
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
        number k of neighbors of the id, rounded down, but at least 1.

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

        The scores of an id without neighbors are NULL. kbet_p_value is also NULL if there is only
        one cluster, or if there are more than 1000, for which k neighbors are too few anyway.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if the ids of the two frames have different types, or if an
        option is unknown. When you collect the result, the error is also raised if an id is NULL or
        has several rows with a cluster, if a distance is negative, NULL or not finite, or if there
        are ids and neighbors, but no row joins two ids.

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
    rows = found.samples.with_columns(pl.col("id").cast(found.id_type))
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
          neighborhood_samples. 1 - neighbor_purity is the separation of the cluster in CVNN.
        - kbet_acceptance_rate (range [0, 1]): the share of the ids whose kbet_p_value is at least
          0.05.
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
    rows = found.cluster_rows.filter(pl.col("cluster").is_not_null())
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
        returned. Work that is needed only for other columns is skipped.
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
          neighborhood_samples.
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
    rows = found.report_rows.select(*found.keys, *_NEIGHBOR_REPORT_COLUMNS)
    keys = list(found.keys)
    rows = rows.sort(keys, nulls_last=True) if keys else rows
    return to_user_frame(frame, rows, found.keys, metrics)
