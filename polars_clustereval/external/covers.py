"""Overlapping clusterings, in which an id may have several labels and several clusters.

The labels and clusters are specified by two frames of memberships. One frame has a row for each
pair of an id and a label, and the other frame has a row for each pair of an id and a cluster. A
repeated membership is counted only once. Rows with a NULL are left out and counted in n_dropped.
Only ids that are in both frames are scored.

A label profile is the set of labels that an id has, and a cluster profile is the set of clusters
that an id has. A cell is the set of ids with the same label profile and the same cluster profile.
Pairs of ids are counted cell by cell instead of one by one. Only pairs with a label or a cluster in
common are listed. The number of remaining pairs is the number of all pairs minus the number of
listed pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Keys,
    check_column_names,
    check_groupable,
    check_is_frame,
    check_partition_keys,
    key_columns,
    raise_on_collect,
)
from polars_clustereval.base.exact import widen
from polars_clustereval.base.frames import align_structs, join_partitions, sum_by
from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.frames import Terms

# ----------------------------------------------------------------------------------------------
# Memberships
# ----------------------------------------------------------------------------------------------


def _read_memberships(
    frame: pl.LazyFrame, parameter: str, columns: dict[str, Column], keys: dict[str, str]
) -> pl.LazyFrame:
    """Return one row per membership, with the partition columns, `columns` and times.

    times is the number of rows with the same membership. `columns` maps the names id and label, or
    id and cluster, to the user's arguments.
    """
    try:
        check_column_names(list(keys.values()), "partition_by", frame.collect_schema().names())
        values = [check_groupable(frame, column, name) for name, column in columns.items()]
    except ClusterEvalError as error:
        raise ClusterEvalError(f"{parameter}: {error}") from None
    rows = frame.select(*key_columns(keys), *values)
    return rows.group_by(*keys, *columns).agg(times=pl.len().cast(pl.Int64)).cache()


def _member_sets(memberships: pl.LazyFrame, keys: list[str], member: str) -> pl.LazyFrame:
    """Return one row per id, with the set of its labels or clusters as text.

    `member` is 'label' or 'cluster'. The text lists numbers in ascending order, which follow the
    order of the labels or clusters. No number occurs in two partitions.
    """
    present = memberships.filter(pl.col("id").is_not_null() & pl.col(member).is_not_null())
    names = present.select(*keys, member).unique().sort(*keys, member, nulls_last=True)
    numbers = names.with_row_index("number").with_columns(pl.col("number").cast(pl.Int64))
    numbered = present.join(numbers, on=[*keys, member], nulls_equal=True)
    text = pl.col("number").sort().cast(pl.String).str.join(",")
    return numbered.group_by(*keys, "id").agg(text.alias(f"{member}_set"))


@dataclass(frozen=True)
class Covers:
    """The labels and clusters of all ids, and the frames that are computed from them.

    `labels` and `clusters` are results of _read_memberships. All frames also have the partition
    columns.
    """

    labels: pl.LazyFrame
    clusters: pl.LazyFrame
    keys: dict[str, str]

    @cached_property
    def by(self) -> list[str]:
        """The internal names of the partition columns."""
        return list(self.keys)

    @cached_property
    def groups(self) -> pl.LazyFrame:
        """One row per group of ids that have the same labels and clusters.

        The columns are label_set, cluster_set and n, the number of ids in the group. label_set or
        cluster_set is NULL if the ids are in only one frame.
        """
        nothing = pl.lit(None, pl.String)
        labels = _member_sets(self.labels, self.by, "label")
        clusters = _member_sets(self.clusters, self.by, "cluster")
        ids = pl.concat(
            [
                labels.select(*self.by, "id", "label_set", cluster_set=nothing),
                clusters.select(*self.by, "id", label_set=nothing, cluster_set="cluster_set"),
            ]
        )
        sets = pl.col("label_set", "cluster_set")
        ids = ids.group_by(*self.by, "id").agg(sets.max())
        counted = ids.group_by(*self.by, "label_set", "cluster_set").agg(n=pl.len())
        return counted.with_columns(pl.col("n").cast(pl.Int64)).cache()

    @cached_property
    def counts(self) -> pl.LazyFrame:
        """One row per partition of either frame, or a single row if there are no partition columns.

        n is the number of ids that are in both frames, n_only_labels and n_only_clusters are the
        numbers of ids that are in only one frame, and n_dropped is the number of rows with a NULL.
        """
        n = pl.col("n")
        no_labels, no_clusters = (pl.col(f"{x}_set").is_null() for x in ("label", "cluster"))
        terms = {
            "n": pl.when(~(no_labels | no_clusters)).then(n).otherwise(0),
            "n_only_labels": pl.when(no_clusters).then(n).otherwise(0),
            "n_only_clusters": pl.when(no_labels).then(n).otherwise(0),
            "n_dropped": pl.lit(0, pl.Int64),
        }
        parts = [self.groups.select(*self.by, **terms)]
        zeros = {name: pl.lit(0, pl.Int64) for name in terms}
        for rows, member in ((self.labels, "label"), (self.clusters, "cluster")):
            missing = rows.filter(pl.col("id").is_null() | pl.col(member).is_null())
            parts.append(missing.select(*self.by, **(zeros | {"n_dropped": pl.col("times")})))
        sums: Terms = {name: pl.col(name) for name in terms}
        return sum_by(pl.concat(parts), self.by, sums).cache()

    @cached_property
    def profiles(self) -> dict[str, pl.LazyFrame]:
        """For 'label' and for 'cluster', one row per profile among the ids that are in both frames.

        The columns are label_set, label_profile (the number of the profile) and n (the number of
        ids), or the same for clusters.
        """
        profiles = {}
        present = pl.col("label_set").is_not_null() & pl.col("cluster_set").is_not_null()
        for x in ("label", "cluster"):
            groups = self.groups.filter(present).group_by(*self.by, f"{x}_set")
            sums = groups.agg(pl.col("n").sum()).sort(f"{x}_set").with_row_index("profile")
            number = pl.col("profile").cast(pl.Int64).alias(f"{x}_profile")
            profiles[x] = sums.select(*self.by, f"{x}_set", number, "n").cache()
        return profiles

    @cached_property
    def members(self) -> dict[str, pl.LazyFrame]:
        """By side, one row for each member of each profile: profile, member (a number) and n."""
        return {
            x: profiles.select(*self.by, "n", profile=pl.col(f"{x}_profile"), member=_numbers(x))
            .explode("member")
            .cache()
            for x, profiles in self.profiles.items()
        }

    @cached_property
    def cell_members(self) -> pl.LazyFrame:
        """One row per combination of a cell, a label in its profile and a cluster in its profile.

        label_profile and cluster_profile identify the cell, and n is the number of ids in the cell.
        """
        cells = self.groups
        for x, numbered in self.profiles.items():
            cells = cells.join(numbered.drop(*self.by, "n"), on=f"{x}_set")
        profiles = ("label_profile", "cluster_profile")
        members = cells.select(*self.by, *profiles, "n", _numbers("label"), _numbers("cluster"))
        return members.explode("label").explode("cluster").cache()

    @cached_property
    def _n_pairs(self) -> pl.LazyFrame:
        """One row with the number of pairs that result from joining the profiles and the cells."""
        parts = [
            frame.group_by(by).agg(times=pl.len())
            for frame, by in (
                *((members, ["member"]) for members in self.members.values()),
                (self.cell_members, ["label", "cluster"]),
            )
        ]
        times = pl.concat([part.select(widen(pl.col("times"))) for part in parts])
        return times.select(n_pairs=(pl.col("times") * pl.col("times")).sum()).cache()

    def _with_size_check(self, members: pl.LazyFrame) -> pl.LazyFrame:
        """Return `members` with a check that raises an error if there are too many pairs."""
        return raise_on_collect(members, self._n_pairs, _check_profile_pairs)

    @cached_property
    def pairs(self) -> dict[str, pl.LazyFrame]:
        """By side, one row per ordered pair of profiles that share a member, or are the same.

        n and n_2 are the numbers of ids that have the profiles profile and profile_2, and shared is
        the number of members that the profiles have in common.
        """
        pairs = {}
        for x, unchecked in self.members.items():
            members = self._with_size_check(unchecked)
            others = members.select("member", profile_2="profile", n_2="n")
            by = [*self.by, "profile", "n", "profile_2", "n_2"]
            counted = members.join(others, on="member").group_by(by).agg(shared=pl.len())
            pairs[x] = counted.with_columns(pl.col("shared").cast(pl.Int64)).cache()
        return pairs

    @cached_property
    def cell_pairs(self) -> pl.LazyFrame:
        """One row per ordered pair of cells that share a label and a cluster, or are the same.

        Columns of the second cell end in _2. n is the number of ids, and shared_labels and
        shared_clusters are the numbers of labels and clusters that the cells share. Cells are
        joined on pairs of a label and a cluster, so the join returns shared_labels times
        shared_clusters rows for each pair of cells.
        """
        cells = ["label_profile", "cluster_profile", "n"]
        others = self.cell_members.select(
            "label", "cluster", *(pl.col(x).alias(f"{x}_2") for x in cells)
        )
        members = self._with_size_check(self.cell_members)
        pairs = members.join(others, on=["label", "cluster"])
        products = pairs.group_by(*self.by, *cells, *(f"{x}_2" for x in cells)).agg(
            product=pl.len().cast(pl.Int64)
        )
        shared = self.pairs["label"].select(
            label_profile="profile", label_profile_2="profile_2", shared_labels="shared"
        )
        joined = products.join(shared, on=["label_profile", "label_profile_2"])
        n_clusters = pl.col("product") // pl.col("shared_labels")
        return joined.with_columns(shared_clusters=n_clusters).cache()


#: The largest number of pairs of profiles or cells with a common member; the pairs are held in
#: memory.
_MAX_PROFILE_PAIRS = 20_000_000


def _check_profile_pairs(n_pairs: pl.DataFrame) -> None:
    """Raise an error if the number of pairs, the only value in `n_pairs`, is too large."""
    pairs = int(n_pairs.item() or 0)
    if pairs > _MAX_PROFILE_PAIRS:
        raise ClusterEvalError(
            "id: expected at most 20000000 pairs of sets of labels or clusters that have a member "
            f"in common, got {pairs} (about {pairs // 5000 + 1} MB); take a sample of the ids, or "
            "leave out labels and clusters that most ids have"
        )


def _numbers(member: str) -> pl.Expr:
    """Return the sets in the column label_set or cluster_set as lists of numbers."""
    numbers = pl.col(f"{member}_set").str.split(",").cast(pl.List(pl.Int64))
    return numbers.alias(member)


def read_covers(
    frames: tuple[object, object],
    id: Column,  # noqa: A002 -- the user's argument of this name
    members: dict[str, Column],
    partition_by: Keys,
    results: Sequence[str],
) -> Covers:
    """Check the user's arguments, and return the labels and clusters of the ids.

    `frames` contains the user's arguments frame_labels and frame_clusters, and `members` maps the
    names label and cluster to the user's columns. `results` lists the columns of the final result
    besides the partition columns.
    """
    parameters = ("frame_labels", "frame_clusters")
    lazy = [check_is_frame(frame, name) for frame, name in zip(frames, parameters, strict=True)]
    keys = check_partition_keys(lazy[0], partition_by, results)
    labels, clusters = (
        _read_memberships(frame, parameter, {"id": id, name: column}, keys)
        for frame, parameter, (name, column) in zip(lazy, parameters, members.items(), strict=True)
    )
    types = {name: labels.collect_schema()[name] for name in (*keys, "id")}
    clusters = align_structs(clusters, types)
    others = clusters.collect_schema()
    for name, dtype in types.items():
        if others[name] != dtype:
            parameter = "partition_by" if name in keys else name
            raise ClusterEvalError(
                f"{parameter}: expected the same type in both tables, got {dtype} with the labels "
                f"and {others[name]} with the clusters; cast one of them"
            )
    return Covers(labels, clusters, keys)


# ----------------------------------------------------------------------------------------------
# Pairs of a label and a cluster
# ----------------------------------------------------------------------------------------------


def _cover_sizes(covers: Covers, member: str) -> pl.LazyFrame:
    """Return the number and size of each label or cluster, and total, the ids of its partition."""
    size = pl.col("n").sum().alias(f"{member}_size")
    sizes = covers.members[member].group_by(*covers.by, "member").agg(size)
    total = covers.counts.select(*covers.by, total="n")
    return join_partitions(sizes.rename({"member": member}), covers.by, total).cache()


def cover_pairs(covers: Covers) -> pl.LazyFrame:
    """Return the label-cluster pairs that share ids or in which the label or cluster is large.

    The columns are the partition columns, label, cluster, shared, label_size, cluster_size and
    total, all counted in ids. A pair that shares no ids is left out unless its label or its cluster
    has more than half of all ids, because only such a large set can be informative about ids
    outside of it. There are few large sets: the number of large labels is less than twice the mean
    number of labels per id, and the same bound holds for clusters.
    """
    keys = covers.by
    labels, clusters = _cover_sizes(covers, "label"), _cover_sizes(covers, "cluster")
    shared = covers.cell_members.select(*keys, "label", "cluster", shared="n")
    pair = [*keys, "label", "cluster"]
    zero = pl.lit(0, pl.Int64).alias("shared")
    large_labels = labels.filter(2 * pl.col("label_size") > pl.col("total"))
    large_clusters = clusters.filter(2 * pl.col("cluster_size") > pl.col("total"))
    with_large = [
        join_partitions(one, keys, other).select(*pair, zero)
        for one, other in ((large_labels, clusters), (labels, large_clusters))
    ]
    pairs = sum_by(pl.concat([shared, *with_large]), pair, {"shared": pl.col("shared")})
    pairs = pairs.join(labels.drop(keys), on="label")
    return pairs.join(clusters.drop(*keys, "total"), on="cluster").cache()
