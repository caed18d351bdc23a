"""distance_pairs: silhouettes and other indices from distances that the user has measured.

The distances are a frame of pairs, each between the ids `left` and `right`, in either order. A pair
may have a second row, such as the one in the other order. Pairs with an id in no cluster are not
used. Points are numbered in the order of partitions and ids, so that the lower number of a pair has
the lower id, and errors name the same pair in every engine. All statistics are computed from sums,
one for each point and cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    check_choice,
    show_value,
)
from polars_clustereval.base.deferral import collect_now
from polars_clustereval.base.exact import ratio, to_double
from polars_clustereval.base.frames import (
    aggregate_by,
    join_partitions,
    join_small,
    map_whole,
    sum_by,
    to_user_frame,
)
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.external.contingency import LabelOptions
from polars_clustereval.external.graph_counts import Graph, GraphColumns, read_graph

from .distances import Distance
from .dunn import DIAMETERS, DUNN_COLUMNS, SEPARATIONS, dunn_indices
from .kernels.other_clusters import Between
from .kernels.pair_ranks import neighbors_in_other_clusters, rank_keys
from .pairwise import (
    PAIRWISE_COLUMNS,
    RANK_STATISTICS,
    TIE_TOLERANCE,
    check_whole_number,
    pair_sizes,
    pairwise_indices,
    single_rank_statistics,
)
from .silhouette import MEAN_COLUMNS, NO_ERROR, SAMPLE_COLUMNS, SCORE_COLUMNS
from .vectors import check_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .kernels.arrays import Floats, Integers
    from .vectors import Missing

#: A pair of points is packed into one number, low * 2^32 + high.
_POINTS = 2**32
#: Distances computed in both directions may differ by this relative rounding error.
_ROUNDING = 1e-9
#: Distances are ranked as they are.
_AS_GIVEN = Distance("cityblock", 2.0)

# ----------------------------------------------------------------------------------------------
# Checks
# ----------------------------------------------------------------------------------------------


def _pair_fault() -> pl.Expr:
    """Return the number of what is wrong with a pair (see _fault_message), or NULL."""
    least, most = pl.col("least"), pl.col("most")
    is_number = (pl.col("n_known") == pl.col("n_rows")) & (least >= 0) & most.is_finite()
    return (
        pl.when(~is_number.fill_null(False))
        .then(1)
        .when((pl.col("low") == pl.col("high")) & (most > 0))
        .then(2)
        .when((pl.col("low") != pl.col("high")) & (pl.col("n_rows") > 2))
        .then(3)
        .when((pl.col("low") != pl.col("high")) & (most - least > _ROUNDING * most))
        .then(4)
    )


def _fault_message(pair: dict[str, Any], low_id: object, high_id: object) -> str:
    """Return the text of the error about a pair with a fault."""
    least, most = pair["least"], pair["most"]
    ids = f"{show_value(low_id)} and {show_value(high_id)}"
    match pair["fault"]:
        case 1:
            is_odd = most is not None and not np.isfinite(most)
            value = least if least is not None and least < 0 else most if is_odd else None
            return (
                f"distance: expected finite numbers >= 0, got {show_value(value)} for {ids}; "
                "correct it, or leave out the row and set missing to 'drop'"
            )
        case 2:
            return (
                f"distance: expected 0 from an id to itself, got {show_value(most)} for {ids}; "
                "leave out the row, or turn similarities into distances"
            )
        case 3:
            return (
                f"pairs: expected at most two rows for the same two ids, got {pair['n_rows']} for "
                f"{ids}; leave out the others"
            )
        case _:
            return (
                f"distance: expected the same distance both ways, got {show_value(least)} and "
                f"{show_value(most)} for {ids}; use the mean of both"
            )


def _mark(node: pl.Expr) -> pl.Expr:
    """Return a number below 2^32 that stands for a point in sums."""
    return (node.hash() // _POINTS).cast(pl.Int64)


def _total_points(points: pl.LazyFrame, sums: pl.LazyFrame) -> pl.LazyFrame:
    """Return the points with n_pairs, sum and first_fault of their pairs."""
    totals = sums.group_by("node").agg(pl.col("n_pairs", "sum").sum(), pl.col("first_fault").min())
    rows = join_small(points, ["node"], totals, how="left")
    return rows.with_columns(pl.col("n_pairs").fill_null(0)).cache()


# ----------------------------------------------------------------------------------------------
# Points, pairs and sums
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MeasuredPoints:
    """Points with clusters and the distances of their pairs, and the frames computed from them.

    The nodes of `graph` are the points, and its edges are the rows of pairs. `missing` is the
    option of the same name.
    """

    graph: Graph
    missing: Missing

    @property
    def keys(self) -> list[str]:
        """The names of the partition columns."""
        return list(self.graph.keys)

    @cached_property
    def _ordered(self) -> pl.LazyFrame:
        """The nodes of the graph, numbered in the order of partitions and ids, in memory."""
        nodes = self.graph.nodes.drop("node").sort(*self.keys, "id", nulls_last=True)
        return collect_now(nodes.with_row_index("node")).lazy()

    @cached_property
    def clusters(self) -> pl.LazyFrame:
        """One row per cluster, numbered in the order of partitions and clusters.

        n is the number of its points. total, n_clusters, first_node and last_node belong to the
        partition, and so does partition_no, which is its first_node.
        """
        node = pl.col("node")
        sizes = self._ordered.group_by("cluster_no").agg(
            *(pl.col(name).first() for name in (*self.keys, "cluster")),
            n=pl.len().cast(pl.Int64),
            first=node.min(),
            last=node.max(),
        )
        numbered = sizes.sort(*self.keys, "cluster", "first", nulls_last=True)
        numbered = numbered.with_row_index("number").cache()
        terms = {
            "total": pl.col("n").sum(),
            "n_clusters": pl.len().cast(pl.Int64),
            "n_singletons": (pl.col("n") == 1).sum().cast(pl.Int64),
            "first_node": pl.col("first").min(),
            "last_node": pl.col("last").max(),
        }
        partitions = aggregate_by(numbered, self.keys, terms)
        rows = join_partitions(numbered, self.keys, partitions, how="left")
        return rows.with_columns(partition_no="first_node").cache()

    @cached_property
    def points(self) -> pl.LazyFrame:
        """One row per point, sorted by node, with the columns of its cluster."""
        clusters = self.clusters.drop(*self.keys, "cluster")
        rows = join_small(self._ordered, ["cluster_no"], clusters)
        return rows.sort("node").cache()

    @cached_property
    def located(self) -> pl.LazyFrame:
        """One row per row of pairs whose ids are both points, with the distance d.

        one and other are the numbers of the points, and of_one and of_other those of their
        clusters. The zeros of points to themselves are left out.
        """
        rows = self.graph.ends.rename({"weight": "d"})
        for end, node in (("left", "one"), ("right", "other")):
            names = {"id": end, "node": node, "number": f"of_{node}"}
            points = self.points.select(*self.keys, *names).rename(names)
            rows = join_small(rows, [*self.keys, end], points)
        is_zero = (pl.col("one") == pl.col("other")) & (pl.col("d") == 0)
        return rows.filter(~is_zero.fill_null(False)).select(
            "one", "other", "of_one", "of_other", "d"
        )

    @cached_property
    def _streamed_sums(self) -> pl.DataFrame:
        """The rows of sums without first_fault, from rows that are not grouped by pair.

        is_clean tells whether the rows of the point and the cluster are surely those of all pairs,
        each once, or each once in both directions with the same distance. Sums of hashes tell which
        points the rows belong to. n_rows is the number of rows.
        """
        d = pl.col("d")
        sides = [
            self.located.group_by(node=node, number=f"of_{node}", target=f"of_{partner}").agg(
                n_rows=pl.len().cast(pl.Int64),
                n_known=d.count(),
                marks=_mark(pl.col(partner)).sum(),
                values=(d.hash() + pl.col(partner).hash()).hash().bitwise_xor(),
                sum=d.sum(),
                nearest=d.min(),
                farthest=d.nan_max(),
            )
            for node, partner in (("one", "other"), ("other", "one"))
        ]
        # If the two were collected together, the engine would hold all rows in memory.
        first, second = (collect_now(side) for side in sides)
        rows = pl.concat([first.with_columns(is_first=True), second.with_columns(is_first=False)])
        of_first = pl.when("is_first")
        sums = rows.group_by("node", "number", "target").agg(
            pl.col("n_rows", "n_known", "marks", "sum").sum(),
            n_first=of_first.then("n_rows").sum(),
            first_marks=of_first.then("marks").sum(),
            difference=pl.col("values").bitwise_xor(),
            nearest=pl.col("nearest").min(),
            farthest=pl.col("farthest").nan_max(),
        )
        mark, is_own = _mark(pl.col("node")), pl.col("number") == pl.col("target")
        clusters = self.points.group_by(target="number").agg(
            pl.col("n").first().alias("n_pairs"), mark.sum().alias("all_marks")
        )
        table = join_small(sums.lazy(), ["target"], clusters).with_columns(
            pl.col("n_pairs") - is_own.cast(pl.Int64),
            pl.col("all_marks") - pl.when(is_own).then(mark).otherwise(0),
        )
        n, n_rows, marks = pl.col("n_pairs"), pl.col("n_rows"), pl.col("marks")
        is_once = (n_rows == n) & (marks == pl.col("all_marks"))
        is_twice = (
            (n_rows == 2 * n)
            & (marks == 2 * pl.col("all_marks"))
            & (pl.col("n_first") == n)
            & (pl.col("first_marks") == pl.col("all_marks"))
            & (pl.col("difference") == 0)
        )
        are_numbers = (
            (pl.col("n_known") == n_rows)
            & (pl.col("nearest") >= 0)
            & pl.col("farthest").is_finite()
        )
        return table.with_columns(
            pl.when(is_once).then("sum").otherwise(pl.col("sum") / 2).alias("sum"),
            is_clean=(are_numbers & (is_once | is_twice)).fill_null(False),
        ).collect()

    def group_pairs(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return one row per pair in rows of `located`, with its distance d and fault.

        low and high are the numbers of the points, and low_number and high_number those of their
        clusters. least and most are the distances of the n_rows rows of the pair.
        """
        one, other = pl.col("one"), pl.col("other")
        low = pl.min_horizontal(one, other).cast(pl.UInt64)
        packed = rows.select(
            "d",
            pair=low * _POINTS + pl.max_horizontal(one, other),
            low_number=pl.when(one < other).then("of_one").otherwise("of_other"),
            high_number=pl.when(one < other).then("of_other").otherwise("of_one"),
        )
        d, least, most = pl.col("d"), pl.col("least"), pl.col("most")
        pairs = packed.group_by("pair").agg(
            pl.col("low_number", "high_number").first(),
            least=d.min(),
            most=d.nan_max(),
            n_rows=pl.len(),
            n_known=d.count(),
        )
        return pairs.with_columns(
            low=(pl.col("pair") // _POINTS).cast(pl.UInt32),
            high=(pl.col("pair") % _POINTS).cast(pl.UInt32),
            d=pl.when(least < most).then(least / 2 + most / 2).otherwise(least),
        ).with_columns(fault=_pair_fault())

    @cached_property
    def sums(self) -> pl.LazyFrame:
        """One row per point (node) and cluster to which it has distances (target), in memory.

        number is its own cluster. n_pairs, sum, nearest and farthest describe the distances.
        Raises an error if a pair has a fault, if pairs are missing, or if the sum of the distances
        may overflow. Pairs are grouped, which takes memory, only between clusters with rows that
        are not clean.
        """
        numbers = pl.col("number"), pl.col("target")
        block = {"low": pl.min_horizontal(*numbers), "high": pl.max_horizontal(*numbers)}
        streamed = self._streamed_sums.with_columns(**block)
        suspects = streamed.filter(~pl.col("is_clean")).select("low", "high").unique()
        columns = ("node", "number", "target", "n_pairs", "sum", "nearest", "farthest")
        clean = streamed.join(suspects, on=["low", "high"], how="anti").select(columns)
        clean = clean.with_columns(first_fault=pl.lit(None, pl.UInt64))
        if suspects.is_empty():
            return self._checked_sums(clean)
        of_row = pl.min_horizontal("of_one", "of_other"), pl.max_horizontal("of_one", "of_other")
        rows = self.located.join(
            suspects.lazy(), left_on=list(of_row), right_on=["low", "high"], how="semi"
        )
        pairs = collect_now(self.group_pairs(rows))
        shared = ("d", "fault", "pair", (pl.col("low") < pl.col("high")).alias("is_pair"))
        sides = (("low", "low_number", "high_number"), ("high", "high_number", "low_number"))
        ends = pl.concat(
            [
                pairs.select(*shared, node=node, number=number, target=target)
                for node, number, target in sides
            ]
        )
        d = pl.col("d")
        sums = ends.group_by("node", "number", "target").agg(
            n_pairs=pl.col("is_pair").sum().cast(pl.Int64),
            sum=d.sum(),
            nearest=d.min(),
            farthest=d.max(),
            first_fault=pl.when(pl.col("fault").is_not_null()).then("pair").min(),
        )
        return self._checked_sums(pl.concat([clean, sums]))

    def _checked_sums(self, sums: pl.DataFrame) -> pl.LazyFrame:
        """Return `sums`, or raise the error of the first pair that has a fault or is missing."""
        totals = _total_points(self.points, sums.lazy())
        n_others, node = pl.col("total") - 1, pl.col("node")
        facts = totals.select(
            first_fault=pl.col("first_fault").min(),
            lonely=node.filter(pl.col("n_pairs") < n_others).min(),
            n_missing=(n_others - pl.col("n_pairs")).sum() // 2,
            n_expected=n_others.sum() // 2,
            is_infinite=(~(2 * pl.col("sum") * pl.col("total")).is_finite()).any(),
        )
        first, lonely, n_missing, n_expected, is_infinite = facts.collect().row(0)
        if first is not None:
            low, high = divmod(first, _POINTS)
            pair = self._pairs_of(low).filter(pair=first).row(0, named=True)
            raise ClusterEvalError(_fault_message(pair, self._id(low), self._id(high)))
        if lonely is not None and self.missing == "error":
            found = self._pairs_of(lonely).filter(low=lonely).select(node="high")
            last = self.points.filter(node=lonely).select("last_node").collect().item()
            others = self.points.filter(node.is_between(lonely + 1, last)).collect()
            other = others.join(found, on="node", how="anti")["node"].min()
            raise ClusterEvalError(
                f"pairs: expected a row for each two ids of a partition, got none for {n_missing} "
                f"of {n_expected} pairs, such as {show_value(self._id(lonely))} and "
                f"{show_value(self._id(other))}; add them, or set missing to 'drop'"
            )
        if is_infinite:
            raise ClusterEvalError(
                "distance: expected distances with a finite sum over all pairs, got a sum that "
                "overflows; divide all distances by the same number"
            )
        return sums.lazy()

    def _pairs_of(self, node: int) -> pl.DataFrame:
        """Return the pairs of one point."""
        is_end = (pl.col("one") == node) | (pl.col("other") == node)
        return collect_now(self.group_pairs(self.located.filter(is_end)))

    def _id(self, node: Any) -> object:
        """Return the id of a point."""
        return self.points.filter(node=node).select("id").collect().item()

    @cached_property
    def totals(self) -> pl.LazyFrame:
        """The points with n_pairs and sum of their pairs."""
        return _total_points(self.points, self.sums)

    def to_result(
        self,
        frame: Frame,
        rows: pl.LazyFrame,
        columns: Sequence[str],
        order: Sequence[str],
        metrics: Sequence[str] | None = None,
    ) -> Frame:
        """Return the columns of rows, sorted by the columns `order`, as the user's frame."""
        if order:
            rows = rows.sort(order, nulls_last=True)
        return to_user_frame(frame, rows.select(*self.keys, *columns), self.graph.keys, metrics)

    @cached_property
    def whole_partitions(self) -> pl.LazyFrame:
        """The partition_no of each partition of which no pair is missing."""
        rows = self.totals.group_by("partition_no").agg(
            is_whole=(pl.col("n_pairs") == pl.col("total") - 1).all()
        )
        return rows.filter("is_whole").select("partition_no")

    @cached_property
    def row_counts(self) -> pl.LazyFrame:
        """One row per partition: n, n_dropped, n_noise, n_clusters, n_singletons, partition_no."""
        terms = {"n_dropped": pl.col("n_dropped"), "n_noise": pl.col("is_noise").cast(pl.Int64)}
        counts = sum_by(self.graph.ids, self.keys, terms)
        names = ("total", "n_clusters", "n_singletons", "partition_no")
        of_clusters = {name: pl.col(name).first() for name in names}
        rows = join_partitions(
            counts, self.keys, aggregate_by(self.clusters, self.keys, of_clusters), how="left"
        )
        return rows.with_columns(
            pl.col("n_clusters", "n_singletons").fill_null(0), n=pl.col("total").fill_null(0)
        )

    def silhouettes(self, between: Between) -> pl.LazyFrame:
        """Return the points of which no pair is missing, with a, b, neighbor and silhouette.

        neighbor is the number of a cluster.
        """
        sizes = self.clusters.select(target="number", size="n")
        is_own = pl.col("target") == pl.col("number")
        others = pl.when(is_own).then(pl.col("size") - 1).otherwise("size")
        sums = join_small(self.sums, ["target"], sizes).with_columns(
            mean=ratio(pl.col("sum"), to_double(others)), is_own=is_own
        )
        mean, is_other = pl.col("mean"), ~pl.col("is_own")
        chosen = {"nearest": mean.filter(is_other).min(), "furthest": mean.filter(is_other).max()}
        all_others = (mean * pl.col("size")).filter(is_other).sum()
        whole = ratio(all_others, to_double(pl.col("size").filter(is_other).sum()))
        means = sums.group_by("node").agg(
            a=mean.filter(pl.col("is_own")).first(), b=chosen.get(between, whole)
        )
        rows = self.totals.filter(pl.col("n_pairs") == pl.col("total") - 1)
        rows = join_small(rows, ["node"], means, how="left")
        if between == "mean_other":
            rows = rows.with_columns(neighbor=pl.lit(None, pl.UInt32))
        else:
            b = means.select("node", "b")
            ties = join_small(sums.filter(is_other), ["node"], b).filter(mean == pl.col("b"))
            neighbors = ties.group_by("node").agg(neighbor=pl.col("target").min())
            rows = join_small(rows, ["node"], neighbors, how="left")
        # A point that is alone in its cluster has no distance to it.
        rows = rows.with_columns(pl.col("a").fill_null(0.0))
        own, other, n_clusters = pl.col("a"), pl.col("b"), pl.col("n_clusters")
        value = ratio(other - own, pl.max_horizontal(own, other)).fill_null(0.0)
        score = pl.when(pl.col("n") == 1).then(0.0).otherwise(value)
        is_clustering = (n_clusters >= 2) & (n_clusters < pl.col("total"))
        return rows.with_columns(silhouette=pl.when(is_clustering).then(score)).cache()

    @cached_property
    def extremes(self) -> pl.LazyFrame:
        """The statistics of dunn_index that need no centers, by partition_no; the others NULL."""
        one, other = pl.min_horizontal("number", "target"), pl.max_horizontal("number", "target")
        directed = (
            self.sums.filter(pl.col("n_pairs") > 0)
            .group_by("number", "target")
            .agg(
                pl.col("farthest").max(),
                pl.col("sum").sum(),
                least=pl.col("nearest").min(),
                hausdorff=pl.col("nearest").max(),
            )
        )
        pairs = directed.group_by(one=one, other=other).agg(
            pl.col("farthest").max(),
            pl.col("least").min(),
            pl.col("hausdorff").max(),
            # The sum of a cluster with itself counts each distance twice.
            sum=pl.col("sum").sum() / pl.len(),
        )
        sizes = self.clusters.select(one="number", n="n", partition_no="partition_no")
        pairs = join_small(pairs, ["one"], sizes)
        others = self.clusters.select(other="number", n_other="n")
        pairs = join_small(pairs, ["other"], others)
        is_own, n, n_other = pl.col("one") == pl.col("other"), pl.col("n"), pl.col("n_other")
        n_pairs = to_double(n) * to_double(pl.when(is_own).then(n - 1).otherwise(n_other))
        own, apart = pl.when(is_own), pl.when(~is_own)
        mean = ratio(pl.col("sum"), n_pairs)
        extremes = pairs.group_by("partition_no").agg(
            max_diameter=own.then("farthest").max(),
            max_mean_pair=own.then(mean).max(),
            min_separation=apart.then("least").min(),
            min_complete_linkage=apart.then("farthest").min(),
            min_average_linkage=apart.then(mean).min(),
            min_hausdorff=apart.then("hausdorff").min(),
        )
        rows = join_small(self.whole_partitions, ["partition_no"], extremes, how="left")
        rows = rows.with_columns(pl.col("max_diameter", "max_mean_pair").fill_null(0.0))
        known = rows.collect_schema().names()
        missing = [name for name in (*SEPARATIONS, *DIAMETERS) if name not in known]
        return rows.with_columns(pl.lit(None, pl.Float64).alias(name) for name in missing)

    @cached_property
    def ranked_pairs(self) -> pl.LazyFrame:
        """The pairs of different points of partitions of which no pair is missing, in memory.

        is_within tells whether both points are in the same cluster.
        """
        columns = ("partition_no", "total", "n_clusters")
        streamed, n_rows = self._streamed_sums, pl.col("n_rows")
        if (
            streamed["is_clean"].all()
            and streamed.select((n_rows == pl.col("n_pairs")).all()).item()
        ):
            rows = self.located.rename({"one": "low", "other": "high", "of_one": "low_number"})
            rows = rows.rename({"of_other": "high_number"})
        else:
            rows = self.group_pairs(self.located).filter(pl.col("low") < pl.col("high"))
        rows = join_small(rows, ["low_number"], self.clusters.select(*columns, low_number="number"))
        rows = join_small(rows, ["partition_no"], self.whole_partitions)
        is_within = pl.col("low_number") == pl.col("high_number")
        return collect_now(rows.select(*columns, "low", "high", "d", is_within=is_within)).lazy()

    @cached_property
    def rank_statistics(self) -> pl.LazyFrame:
        """The RANK_STATISTICS other than connectivity, by partition_no."""
        names = [name for name in RANK_STATISTICS if name != "connectivity"]
        schema = pl.Schema({"partition_no": pl.UInt32()} | dict.fromkeys(names, pl.Float64()))

        def compute(lists: pl.DataFrame) -> pl.DataFrame:
            """Return one row per row of lists, the distances within and between clusters."""
            rows: list[dict[str, Any]] = []
            for number, *parts in zip(*lists.get_columns(), strict=True):
                within, between = (np.array(d, dtype=np.float64) for d in parts)
                # Sums that overflow are reported by _check_pairs.
                with np.errstate(over="ignore", invalid="ignore"):
                    statistics = single_rank_statistics(within, between, _AS_GIVEN)
                rows.append({"partition_no": number, **statistics})
            return pl.DataFrame(rows, schema=schema)

        n_clusters, d = pl.col("n_clusters"), pl.col("d")
        is_clustering = (n_clusters >= 2) & (n_clusters < pl.col("total"))
        lists = (
            self.ranked_pairs.filter(is_clustering)
            .group_by("partition_no")
            .agg(within=d.filter("is_within"), between=d.filter(~pl.col("is_within")))
        )
        return map_whole(lists, compute, schema)

    def connectivities(self, n_neighbors: int) -> pl.LazyFrame:
        """Return connectivity by partition_no, for partitions of several clusters."""
        d = pl.col("d")
        pairs = self.ranked_pairs.filter(pl.col("n_clusters") > 1)
        ends = pl.concat(
            [pairs.select("partition_no", "d", "is_within", node=end) for end in ("low", "high")]
        )
        reaches = ends.group_by("node").agg(reach=d.bottom_k(n_neighbors).max())
        near = join_small(ends, ["node"], reaches)
        near = near.filter(d <= pl.col("reach") * (1 + TIE_TOLERANCE)).drop("reach")
        schema = pl.Schema({"partition_no": pl.UInt32(), "connectivity": pl.Float64()})

        def compute(rows: pl.DataFrame) -> pl.DataFrame:
            """Return one row per partition of the nearest neighbors `rows`."""
            i = rows["node"].rank("dense").to_numpy().astype(np.int64) - 1
            first = rows["partition_no"].to_numpy()[np.unique(i, return_index=True)[1]]
            keys = rank_keys(rows["d"].to_numpy(), _AS_GIVEN)
            is_other = ~rows["is_within"].to_numpy()
            sums = neighbors_in_other_clusters(i, keys, is_other, n_neighbors, len(first))
            points = pl.DataFrame({"partition_no": first, "connectivity": sums}, schema=schema)
            return points.group_by("partition_no").agg(pl.col("connectivity").sum())

        return map_whole(near, compute, schema)


def _read_points(frame: Frame, pairs: object, results: Sequence[str]) -> MeasuredPoints:
    """Check the arguments of the present call, and return the points and pairs.

    `results` lists the columns of the result besides the partition columns.
    """
    columns = pass_arguments_to(_distance_columns)
    options = pass_arguments_to(LabelOptions, weight=None)
    missing = pass_arguments_to(check_missing)
    return MeasuredPoints(read_graph(frame, pairs, columns, options, results), missing)


def _distance_columns(
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    left: Column,
    right: Column,
    distance: Column,
) -> GraphColumns:
    """Return the columns of the points and of the pairs."""
    return GraphColumns(
        id=id,
        cluster=cluster,
        left=left,
        right=right,
        weight=distance,
        weight_name="distance",
        edge_name="pairs",
    )


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("distances", guide="distances", order=("id",))
def silhouette_samples_from_distances(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    pairs: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    distance: Column,
    *,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
    between: Between = "nearest",
    missing: Missing = "error",
) -> Frame:
    """Silhouette of each point, from a table of distances between points.

    You can use any distance that you can measure, such as an edit distance or a travel time.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points, one row per id. Rows without a cluster are left out, along with all of their
        pairs. A LazyFrame is read when you collect the result.
    id, cluster : str or Expr
        The columns of `frame` with the id and the cluster of each point. An id must not have more
        than one row with a cluster.
    pairs : DataFrame or LazyFrame
        The distances of all pairs of points in the same partition. Each pair has one row, or two
        rows with the same distance, such as one for each direction. Distances that differ by a
        relative error of at most 1e-9 count as the same, and their mean is used. A distance from an
        id to itself must be 0. Pairs are not used if one of their ids has no point.
    left, right : str or Expr
        The columns of `pairs` with the two ids, which must have the same type as id.
    distance : str or Expr
        The column of `pairs` with the distance, a finite number >= 0.
    partition_by : str, Expr or sequence of these, optional
        Columns that define the groups to evaluate separately. `pairs` needs these columns, too: a
        pair belongs to two points of its own partition. NULL is also a partition.
    noise : object, optional
        The cluster value that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise is treated as an ordinary cluster, left out, or treated as one cluster per
        point.
    between : as in silhouette_score
    missing : {'error', 'drop'}
        What to do if pairs are missing. 'error' raises an error that counts them. 'drop' computes
        no silhouette for a point that lacks a pair, and averages the other silhouettes. In
        dunn_index_from_distances and pairwise_report_from_distances, all scores of a partition are
        NULL if one of its pairs is missing.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per point, sorted by partition and id. The columns are the
        partition columns, id, cluster, neighbor, a, b, silhouette and std_error, as in
        silhouette_samples. std_error is NULL. For a point that lacks a pair, neighbor, a, b and
        silhouette are NULL.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if the ids of both frames have different types, or if an option
        is unknown. When you collect the result, the error is also raised if an id is NULL or has
        several rows with a cluster, if a distance is negative, NULL or not finite, if a pair has
        different distances or more than two rows, or if pairs are missing.

    Notes
    -----
    The pairs are added up for each point and cluster, so their number is not limited by the memory.
    Sums of hashes tell whether each pair has one row, or two equal rows, one for each direction.
    Only pairs of clusters where this is not so are grouped, to find the faults.
    In SQL: ``FROM clustereval.silhouette_samples_from_distances(tbl, id, cluster, pairs, "left",
    "right", distance)``.

    References
    ----------
    Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> words = pl.DataFrame({"id": ["cat", "cut", "dog", "dig"], "cluster": ["a", "a", "b", "b"]})
    >>> edits = [
    ...     ("cat", "cut", 1),
    ...     ("cat", "dog", 3),
    ...     ("cat", "dig", 3),
    ...     ("cut", "dog", 3),
    ...     ("cut", "dig", 3),
    ...     ("dog", "dig", 1),
    ... ]
    >>> pairs = pl.DataFrame(edits, schema=["left", "right", "distance"], orient="row")
    >>> columns = ("left", "right", "distance")
    >>> samples = ce.silhouette_samples_from_distances(words, "id", "cluster", pairs, *columns)
    >>> samples.select("id", "neighbor", "a", "b").rows()
    [('cat', 'b', 1.0, 3.0), ('cut', 'b', 1.0, 3.0), ('dig', 'a', 1.0, 3.0), ('dog', 'a', 1.0, 3.0)]
    """
    check_choice("between", between, get_args(Between))
    points = _read_points(frame, pairs, SAMPLE_COLUMNS)
    clusters = points.clusters.select("number", "cluster")
    columns = ("node", "neighbor", "a", "b", "silhouette")
    rows = join_small(
        points.points, ["node"], points.silhouettes(between).select(columns), how="left"
    )
    neighbors = clusters.rename({"number": "neighbor", "cluster": "neighbor_cluster"})
    rows = join_small(rows.drop("cluster"), ["number"], clusters)
    rows = join_small(rows, ["neighbor"], neighbors, how="left").with_columns(
        pl.col("id").cast(points.graph.id_type), neighbor="neighbor_cluster", std_error=NO_ERROR
    )
    return points.to_result(frame, rows, SAMPLE_COLUMNS, ["node"])


@table_function("distances", guide="distances", order=("cluster",))
def silhouette_clusters_from_distances(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    pairs: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    distance: Column,
    *,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
    between: Between = "nearest",
    missing: Missing = "error",
) -> Frame:
    """Mean silhouette of each cluster, from a table of distances between points.

    Parameters
    ----------
    frame, id, cluster, pairs, left, right : as in silhouette_samples_from_distances
    distance, partition_by, noise, noise_as : as in silhouette_samples_from_distances
    between : as in silhouette_score
    missing : as in silhouette_samples_from_distances

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per cluster, sorted by partition and cluster. The columns are
        the partition columns, cluster, n, a, b, silhouette and std_error, as in
        silhouette_clusters. std_error is NULL. n counts all points of the cluster; a, b and
        silhouette are means over the points that lack no pair, and NULL if there are none.

    Raises
    ------
    ClusterEvalError
        For the same reasons as silhouette_samples_from_distances.

    Notes
    -----
    In SQL: ``FROM clustereval.silhouette_clusters_from_distances(tbl, id, cluster, pairs, "left",
    "right", distance)``.

    References
    ----------
    Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> words = pl.DataFrame({"id": ["cat", "cut", "dog", "dig"], "cluster": ["a", "a", "b", "b"]})
    >>> edits = [
    ...     ("cat", "cut", 1),
    ...     ("cat", "dog", 3),
    ...     ("cat", "dig", 3),
    ...     ("cut", "dog", 3),
    ...     ("cut", "dig", 3),
    ...     ("dog", "dig", 1),
    ... ]
    >>> pairs = pl.DataFrame(edits, schema=["left", "right", "distance"], orient="row")
    >>> columns = ("left", "right", "distance")
    >>> clusters = ce.silhouette_clusters_from_distances(words, "id", "cluster", pairs, *columns)
    >>> clusters.select("cluster", "n", "a", "b").rows()
    [('a', 2, 1.0, 3.0), ('b', 2, 1.0, 3.0)]
    """
    check_choice("between", between, get_args(Between))
    points = _read_points(frame, pairs, MEAN_COLUMNS)
    means = (
        points.silhouettes(between).group_by("number").agg(pl.col("a", "b", "silhouette").mean())
    )
    rows = join_small(points.clusters, ["number"], means, how="left")
    return points.to_result(frame, rows.with_columns(std_error=NO_ERROR), MEAN_COLUMNS, ["number"])


@table_function("distances", guide="distances")
def silhouette_score_from_distances(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    pairs: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    distance: Column,
    *,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
    between: Between = "nearest",
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Mean silhouette of a clustering, from a table of distances between points.

    Range [-1, 1], best 1.

    Parameters
    ----------
    frame, id, cluster, pairs, left, right : as in silhouette_samples_from_distances
    distance, partition_by, noise, noise_as : as in silhouette_samples_from_distances
    between : as in silhouette_score
    missing : as in silhouette_samples_from_distances
    metrics : as in silhouette_score

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted. The columns are the partition columns
        and the columns of silhouette_score: n, n_dropped, n_noise, n_clusters, n_singletons,
        n_evaluated, silhouette, silhouette_macro, silhouette_max, silhouette_lower,
        silhouette_upper and std_error, which is NULL. n_evaluated counts the points that lack no
        pair. If it is less than n, silhouette is the mean of these points only, silhouette_lower
        and silhouette_upper are NULL, and silhouette_macro and silhouette_max are NULL if a cluster
        has no such point. All scores are NULL if there are fewer than 2 clusters, or if every point
        is its own cluster.

    Raises
    ------
    ClusterEvalError
        For the same reasons as silhouette_samples_from_distances.

    Notes
    -----
    In SQL: ``FROM clustereval.silhouette_score_from_distances(tbl, id, cluster, pairs, "left",
    "right", distance)``.

    References
    ----------
    Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> words = pl.DataFrame({"id": ["cat", "cut", "dog", "dig"], "cluster": ["a", "a", "b", "b"]})
    >>> edits = [
    ...     ("cat", "cut", 1),
    ...     ("cat", "dog", 3),
    ...     ("cat", "dig", 3),
    ...     ("cut", "dog", 3),
    ...     ("cut", "dig", 3),
    ...     ("dog", "dig", 1),
    ... ]
    >>> pairs = pl.DataFrame(edits, schema=["left", "right", "distance"], orient="row")
    >>> columns = ("left", "right", "distance")
    >>> score = ce.silhouette_score_from_distances(words, "id", "cluster", pairs, *columns)
    >>> score.select("n_evaluated", pl.col("silhouette").round(4)).rows()
    [(4, 0.6667)]
    """
    check_choice("between", between, get_args(Between))
    points = _read_points(frame, pairs, SCORE_COLUMNS)
    by_cluster = (
        points.silhouettes(between)
        .drop_nulls("silhouette")
        .group_by("number")
        .agg(pl.col("partition_no").first(), pl.col("silhouette").mean(), n_evaluated=pl.len())
    )
    mean, n = pl.col("silhouette"), pl.col("n_evaluated").cast(pl.Int64)
    scores = by_cluster.group_by("partition_no").agg(
        silhouette=(mean * n).sum() / n.sum(),
        silhouette_macro=mean.mean(),
        silhouette_max=mean.max(),
        n_evaluated=n.sum(),
        n_found=pl.len(),
    )
    rows = join_small(points.row_counts, ["partition_no"], scores, how="left")
    is_whole = pl.col("n_evaluated") == pl.col("n")
    has_all_clusters = pl.col("n_found") == pl.col("n_clusters")
    rows = rows.with_columns(
        *(pl.when(has_all_clusters).then(name).alias(name) for name in SCORE_COLUMNS[7:9]),
        silhouette_lower=pl.when(is_whole).then("silhouette"),
        silhouette_upper=pl.when(is_whole).then("silhouette"),
        std_error=NO_ERROR,
    ).with_columns(pl.col("n_evaluated").fill_null(0))
    return points.to_result(frame, rows, SCORE_COLUMNS, points.keys, metrics)


@table_function("distances", guide="distances")
def dunn_index_from_distances(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    pairs: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    distance: Column,
    *,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Dunn's index and its generalizations, from a table of distances between points.

    Parameters
    ----------
    frame, id, cluster, pairs, left, right : as in silhouette_samples_from_distances
    distance, partition_by, noise, noise_as : as in silhouette_samples_from_distances
    missing : as in silhouette_samples_from_distances
    metrics : as in dunn_index

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted. The columns are the partition columns
        and the columns of dunn_index: n, n_dropped, n_noise, n_clusters, dunn_index,
        centroid_dunn_index, max_diameter, min_separation, and gdi_11 to gdi_63. The columns that
        need a centroid are NULL: centroid_dunn_index, gdi_4j, gdi_5j and gdi_i3. An index is also
        NULL for the same reasons as in dunn_index. With missing 'drop', all indices of a partition
        are NULL if one of its pairs is missing.

    Raises
    ------
    ClusterEvalError
        For the same reasons as silhouette_samples_from_distances.

    Notes
    -----
    In SQL: ``FROM clustereval.dunn_index_from_distances(tbl, id, cluster, pairs, "left",
    "right", distance)``.

    References
    ----------
    Dunn (1973), doi:10.1080/01969727308546046. Bezdek and Pal (1998), doi:10.1109/3477.678624.

    Examples
    --------
    >>> words = pl.DataFrame({"id": ["cat", "cut", "dog", "dig"], "cluster": ["a", "a", "b", "b"]})
    >>> edits = [
    ...     ("cat", "cut", 1),
    ...     ("cat", "dog", 3),
    ...     ("cat", "dig", 3),
    ...     ("cut", "dog", 3),
    ...     ("cut", "dig", 3),
    ...     ("dog", "dig", 1),
    ... ]
    >>> pairs = pl.DataFrame(edits, schema=["left", "right", "distance"], orient="row")
    >>> columns = ("left", "right", "distance")
    >>> report = ce.dunn_index_from_distances(words, "id", "cluster", pairs, *columns)
    >>> report.select("dunn_index", "max_diameter", "min_separation", "gdi_32").rows()
    [(3.0, 1.0, 3.0, 3.0)]
    """
    points = _read_points(frame, pairs, DUNN_COLUMNS)
    rows = join_small(points.row_counts, ["partition_no"], points.extremes, how="left")
    rows = rows.select(*points.keys, *DUNN_COLUMNS[:4], **dunn_indices(generalized=True))
    return points.to_result(frame, rows, DUNN_COLUMNS, points.keys, metrics)


@table_function("distances", guide="distances")
def pairwise_report_from_distances(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    pairs: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    distance: Column,
    *,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
    n_neighbors: int = 10,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Indices of the ranks of all distances, from a table of distances between points.

    Parameters
    ----------
    frame, id, cluster, pairs, left, right : as in silhouette_samples_from_distances
    distance, partition_by, noise, noise_as : as in silhouette_samples_from_distances
    n_neighbors : as in pairwise_report
    missing : as in silhouette_samples_from_distances
    metrics : as in pairwise_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted. The columns are the partition columns
        and the columns of pairwise_report: n, n_dropped, n_noise, n_clusters, n_within_pairs,
        n_between_pairs, c_index, gamma, g_plus, tau, mcclain_rao, point_biserial and connectivity.
        Distances with the same first 12 digits are ties. An index is NULL for the same reasons as
        in pairwise_report. With missing 'drop', all indices of a partition are NULL if one of its
        pairs is missing.

    Raises
    ------
    ClusterEvalError
        For the same reasons as silhouette_samples_from_distances.

    Notes
    -----
    In SQL: ``FROM clustereval.pairwise_report_from_distances(tbl, id, cluster, pairs, "left",
    "right", distance)``.

    References
    ----------
    Hubert and Schultz (1976), Baker and Hubert (1975), McClain and Rao (1975), Milligan (1981), and
    Handl, Knowles and Kell (2005), as for pairwise_report.

    Examples
    --------
    >>> words = pl.DataFrame({"id": ["cat", "cut", "dog", "dig"], "cluster": ["a", "a", "b", "b"]})
    >>> edits = [
    ...     ("cat", "cut", 1),
    ...     ("cat", "dog", 3),
    ...     ("cat", "dig", 3),
    ...     ("cut", "dog", 3),
    ...     ("cut", "dig", 3),
    ...     ("dog", "dig", 1),
    ... ]
    >>> pairs = pl.DataFrame(edits, schema=["left", "right", "distance"], orient="row")
    >>> columns = ("left", "right", "distance")
    >>> report = ce.pairwise_report_from_distances(words, "id", "cluster", pairs, *columns)
    >>> report.select("c_index", "gamma", "mcclain_rao").rows()
    [(0.0, 1.0, 0.3333333333333333)]
    """
    n_neighbors = check_whole_number("n_neighbors", n_neighbors, 1)
    points = _read_points(frame, pairs, PAIRWISE_COLUMNS)
    rows = points.row_counts
    for other in (points.rank_statistics, points.connectivities(n_neighbors)):
        rows = join_small(rows, ["partition_no"], other, how="left")
    sizes = pair_sizes(points.clusters, points.keys)
    rows = join_partitions(rows, points.keys, sizes, how="left")
    n, n_clusters, zero = pl.col("n"), pl.col("n_clusters"), pl.lit(0.0)
    rows = rows.with_columns(
        pl.col("n_within_pairs", "n_between_pairs").fill_null(0),
        connectivity=pl.when((n >= 2) & (n_clusters == 1)).then(zero).otherwise("connectivity"),
    )
    rows = rows.with_columns(**pairwise_indices())
    return points.to_result(frame, rows, PAIRWISE_COLUMNS, points.keys, metrics)


# ----------------------------------------------------------------------------------------------
# Matrices
# ----------------------------------------------------------------------------------------------


def distances_from_matrix(
    matrix: Any, ids: Sequence[Any] | pl.Series | None = None
) -> pl.DataFrame:
    """Table of pairs from a matrix of distances, for the tables whose names end in _from_distances.

    Parameters
    ----------
    matrix : array of shape (n, n), or of shape (n (n - 1) / 2,)
        The distances of n points, as a symmetric matrix with zeros on the diagonal, or as the
        condensed vector that scipy.spatial.distance.pdist returns.
    ids : sequence or Series of length n, optional
        The ids of the points. By default, they are numbered from 0.

    Returns
    -------
    DataFrame
        One row for each pair of points, with the columns left, right and distance.

    Raises
    ------
    ClusterEvalError
        If the matrix has another shape, if it is not symmetric, if a distance is negative or not
        finite, if a number on the diagonal is not 0, or if ids is not a sequence of n different
        ids.

    Examples
    --------
    >>> ce.distances_from_matrix([[0, 1, 4], [1, 0, 3], [4, 3, 0]], ["a", "b", "c"]).rows()
    [('a', 'b', 1.0), ('a', 'c', 4.0), ('b', 'c', 3.0)]
    """
    try:
        d = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ClusterEvalError("matrix: expected an array of numbers") from error
    n = len(d) if d.ndim == 2 else round((1 + (1 + 8 * d.size) ** 0.5) / 2)
    if d.shape not in ((n, n), (n * (n - 1) // 2,)):
        raise ClusterEvalError(
            "matrix: expected a square matrix or a condensed vector of n (n - 1) / 2 distances, "
            f"got an array of shape {d.shape}"
        )
    i, j = np.triu_indices(n, 1)
    pairs = d if d.ndim == 1 else _upper_triangle(d, i, j)
    bad = np.flatnonzero(~(np.isfinite(pairs) & (pairs >= 0)))
    if len(bad):
        first = bad[0]
        raise ClusterEvalError(
            f"matrix: expected finite numbers >= 0, got {pairs[first]} for the points {i[first]} "
            f"and {j[first]}, counted from 0"
        )
    names = pl.Series(np.arange(n)) if ids is None else _check_matrix_ids(ids, n)
    return pl.DataFrame({"left": names.gather(i), "right": names.gather(j), "distance": pairs})


def _check_matrix_ids(ids: Any, n: int) -> pl.Series:
    """Return the ids of n points as a Series, or raise an error unless each point has its own."""
    # A text would be a sequence of letters.
    given: Any = object() if isinstance(ids, str | bytes) else ids
    try:
        names = pl.Series(values=given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ClusterEvalError(
            "ids: expected a sequence of ids of one type, in the order of the rows of matrix, got "
            f"{show_value(ids)}; pass a list or a Series"
        ) from error
    if len(names) != n:
        raise ClusterEvalError(f"ids: expected one id for each of {n} points, got {len(names)}")
    if names.null_count():
        raise ClusterEvalError(
            f"ids: expected an id for each point, got NULL {names.null_count()} times; leave out "
            "ids to number the points from 0"
        )
    counts = names.alias("id").to_frame().group_by("id", maintain_order=True).len()
    repeated = counts.filter(pl.col("len") > 1)
    if repeated.height:
        name, times = repeated.row(0)
        raise ClusterEvalError(
            f"ids: expected different ids, got {times} points with id {show_value(name)}; give "
            "each point an id of its own"
        )
    return names


def _upper_triangle(d: Floats, i: Integers, j: Integers) -> Floats:
    """Return the entries (i, j) of a matrix, or raise an error unless it is one of distances."""
    # Computed distances, such as 1 - r, have rounding errors on the diagonal.
    rounding = _ROUNDING * np.max(np.abs(d), initial=0.0, where=np.isfinite(d))
    odd = np.flatnonzero(~(np.abs(d.diagonal()) <= rounding))
    if len(odd):
        value = d[odd[0], odd[0]]
        raise ClusterEvalError(
            f"matrix: expected zeros on the diagonal, got {value} in row {odd[0]}, counted from 0; "
            "if these are similarities, turn them into distances"
        )
    pairs = d[i, j]
    # NaN and infinite numbers are reported as such.
    with np.errstate(invalid="ignore"):
        odd = np.flatnonzero(np.abs(pairs - d[j, i]) > rounding)
    if len(odd):
        first = odd[0]
        raise ClusterEvalError(
            f"matrix: expected a symmetric matrix, got {pairs[first]} and "
            f"{d[j[first], i[first]]} for the points {i[first]} and {j[first]}, counted from 0"
        )
    return pairs
