"""Labels and clusters of which an id may have several.

The labels and the clusters are two frames of memberships, with one row per id and label, and one
per id and cluster. A membership that is given twice counts once. Rows with a NULL are left out, and
counted in n_dropped. Scores are of the ids that are in both frames.

A label profile is the set of labels that an id has, a cluster profile the set of clusters. A cell
is the ids of one label profile and one cluster profile. Pairs of ids are counted by cells, and only
pairs with a common label or cluster are listed; the others are what is left of all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    check_beta,
    check_column_names,
    check_groupable,
    check_is_frame,
    check_partition_keys,
    key_columns,
)
from polars_clustereval.base.exact import (
    PLACES_OF_ROWS,
    count_ordered_pairs,
    from_fixed_point,
    log_ratio,
    ratio,
    to_fixed_point,
    widen,
)
from polars_clustereval.base.frames import aggregate_by, join_partitions, sum_by, to_user_frame
from polars_clustereval.errors import ClusterEvalError

from .set_matching import f_score

if TYPE_CHECKING:
    from polars_clustereval.base.frames import Terms

# ----------------------------------------------------------------------------------------------
# Memberships
# ----------------------------------------------------------------------------------------------


def _read_memberships(
    frame: pl.LazyFrame, parameter: str, columns: dict[str, Column], keys: dict[str, str]
) -> pl.LazyFrame:
    """Return one row per membership: the partition columns, `columns` and times, its rows.

    `frame` is the argument of `parameter`, `columns` are the arguments id and label or cluster by
    name, and `keys` maps the inner names of the partition columns to the user's. An error names the
    frame.
    """
    try:
        check_column_names(list(keys.values()), "partition_by", frame.collect_schema().names())
        values = [check_groupable(frame, column, name) for name, column in columns.items()]
    except ClusterEvalError as error:
        raise ClusterEvalError(f"{parameter}: {error}") from None
    rows = frame.select(*key_columns(keys), *values)
    return rows.group_by(*keys, *columns).agg(times=pl.len().cast(pl.Int64)).cache()


def _check_types(labels: pl.LazyFrame, clusters: pl.LazyFrame, keys: dict[str, str]) -> None:
    """Raise an error if id or a partition column has another type in the frame of clusters."""
    types, others = labels.collect_schema(), clusters.collect_schema()
    for name in (*keys, "id"):
        if others[name] != types[name]:
            parameter = "partition_by" if name in keys else name
            raise ClusterEvalError(
                f"{parameter}: expected the same type in both tables, got {types[name]} with the "
                f"labels and {others[name]} with the clusters; cast one of them"
            )


def _number_members(memberships: pl.LazyFrame, keys: list[str], member: str) -> pl.LazyFrame:
    """Return the memberships without NULLs: the partition columns, id and `member` as a number.

    The numbers of the labels or clusters are in their order, and no two partitions share one.
    """
    present = memberships.filter(pl.col("id").is_not_null() & pl.col(member).is_not_null())
    names = present.select(*keys, member).unique().sort(*keys, member, nulls_last=True)
    numbers = names.with_row_index("number").with_columns(pl.col("number").cast(pl.Int64))
    numbered = present.join(numbers, on=[*keys, member], nulls_equal=True)
    return numbered.select(*keys, "id", pl.col("number").alias(member))


def _member_sets(memberships: pl.LazyFrame, keys: list[str], member: str) -> pl.LazyFrame:
    """Return one row per id: the partition columns, id, and its set of `member` as a text.

    The text lists the numbers of the labels or clusters in ascending order.
    """
    numbered = _number_members(memberships, keys, member)
    numbers = pl.col(member).sort().cast(pl.String)
    return numbered.group_by(*keys, "id").agg(numbers.str.join(",").alias(f"{member}_set"))


@dataclass(frozen=True)
class Covers:
    """Labels and clusters of ids, and the frames that are made from them.

    `labels` and `clusters` have one row per membership, as _read_memberships returns them. `keys`
    maps the inner names of the partition columns (key_0, ...) to the user's.
    """

    labels: pl.LazyFrame
    clusters: pl.LazyFrame
    keys: dict[str, str]

    @cached_property
    def by(self) -> list[str]:
        """The inner names of the partition columns."""
        return list(self.keys)

    @cached_property
    def groups(self) -> pl.LazyFrame:
        """Ids of the same labels and clusters.

        The columns are the partition columns, label_set and cluster_set, texts, NULL for ids that
        are not in that frame, and n, the number of ids.
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
        """One row per partition of either frame; without partition columns always one.

        The columns are n, the ids in both frames, n_only_labels, n_only_clusters and n_dropped.
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

    def _profiles(self, member: str) -> pl.LazyFrame:
        """Return one row per profile of the ids in both frames: keys, set, profile, its number, n.

        `member` is label or cluster; the columns of set and number start with it.
        """
        present = pl.col("label_set").is_not_null() & pl.col("cluster_set").is_not_null()
        groups = self.groups.filter(present).group_by(*self.by, f"{member}_set")
        sums = groups.agg(pl.col("n").sum()).sort(f"{member}_set")
        number = pl.col("profile").cast(pl.Int64).alias(f"{member}_profile")
        return sums.with_row_index("profile").select(*self.by, f"{member}_set", number, "n").cache()

    @cached_property
    def label_profiles(self) -> pl.LazyFrame:
        """One row per label profile: the partition columns, label_set, label_profile and n."""
        return self._profiles("label")

    @cached_property
    def cluster_profiles(self) -> pl.LazyFrame:
        """One row per cluster profile: the partition columns, cluster_set, cluster_profile, n."""
        return self._profiles("cluster")

    @cached_property
    def cell_members(self) -> pl.LazyFrame:
        """One row per cell, label and cluster of it.

        The columns are the partition columns, label_profile and cluster_profile, which tell the
        cell, n, its ids, label and cluster.
        """
        cells = self.groups.join(self.label_profiles.drop(*self.by, "n"), on="label_set")
        cells = cells.join(self.cluster_profiles.drop(*self.by, "n"), on="cluster_set")
        profiles = ("label_profile", "cluster_profile")
        members = cells.select(*self.by, *profiles, "n", _numbers("label"), _numbers("cluster"))
        return members.explode("label").explode("cluster").cache()

    @cached_property
    def label_members(self) -> pl.LazyFrame:
        """One row per label profile and label: the partition columns, profile, member and n."""
        return _profile_members(self.label_profiles, self.by, "label")

    @cached_property
    def cluster_members(self) -> pl.LazyFrame:
        """One row per cluster profile and cluster: the partition columns, profile, member and n."""
        return _profile_members(self.cluster_profiles, self.by, "cluster")

    @cached_property
    def label_pairs(self) -> pl.LazyFrame:
        """Pairs of label profiles with a common label, as _profile_pairs returns them."""
        return _profile_pairs(self.label_members, self.by)

    @cached_property
    def cluster_pairs(self) -> pl.LazyFrame:
        """Pairs of cluster profiles with a common cluster, as _profile_pairs returns them."""
        return _profile_pairs(self.cluster_members, self.by)

    @cached_property
    def cell_pairs(self) -> pl.LazyFrame:
        """One row per ordered pair of cells that have a common label and a common cluster.

        A cell and itself is such a pair. The columns are the partition columns, label_profile and
        cluster_profile, their twins with _2, n and n_2, their ids, and shared_labels and
        shared_clusters, the numbers of common ones. Cells are joined by pairs of a label and a
        cluster, of which they have the product of the two numbers in common.
        """
        cells = ["label_profile", "cluster_profile", "n"]
        others = self.cell_members.select(
            "label", "cluster", *(pl.col(x).alias(f"{x}_2") for x in cells)
        )
        pairs = self.cell_members.join(others, on=["label", "cluster"])
        products = pairs.group_by(*self.by, *cells, *(f"{x}_2" for x in cells)).agg(
            product=pl.len().cast(pl.Int64)
        )
        shared = self.label_pairs.select(
            label_profile="profile", label_profile_2="profile_2", shared_labels="shared"
        )
        joined = products.join(shared, on=["label_profile", "label_profile_2"])
        n_clusters = pl.col("product") // pl.col("shared_labels")
        return joined.with_columns(shared_clusters=n_clusters).cache()


def _numbers(member: str) -> pl.Expr:
    """Return the lists of numbers that the column of sets of `member` has as texts."""
    numbers = pl.col(f"{member}_set").str.split(",").cast(pl.List(pl.Int64))
    return numbers.alias(member)


def _profile_members(profiles: pl.LazyFrame, keys: list[str], member: str) -> pl.LazyFrame:
    """Return one row per profile and label or cluster of it: keys, profile, member and n."""
    columns = {"profile": pl.col(f"{member}_profile"), "member": _numbers(member)}
    return profiles.select(*keys, "n", **columns).explode("member").cache()


def _profile_pairs(members: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return one row per ordered pair of profiles that have a common member.

    A profile and itself is such a pair. The columns are the partition columns, profile, profile_2,
    n and n_2, their ids, and shared, the number of common members.
    """
    others = members.select("member", profile_2="profile", n_2="n")
    pairs = members.join(others, on="member")
    counted = pairs.group_by(*keys, "profile", "n", "profile_2", "n_2").agg(shared=pl.len())
    return counted.with_columns(pl.col("shared").cast(pl.Int64)).cache()


def _read_covers(
    frames: tuple[object, object],
    id: Column,  # noqa: A002 -- the user's argument of this name
    members: dict[str, Column],
    partition_by: Keys,
) -> Covers:
    """Check the user's arguments; return the labels and clusters of ids.

    `frames` are the arguments frame_labels and frame_clusters, `members` those of label and
    cluster.
    """
    parameters = ("frame_labels", "frame_clusters")
    lazy = [check_is_frame(frame, name) for frame, name in zip(frames, parameters, strict=True)]
    keys = check_partition_keys(lazy[0], partition_by, _RESULTS)
    labels, clusters = (
        _read_memberships(frame, parameter, {"id": id, name: column}, keys)
        for frame, parameter, (name, column) in zip(lazy, parameters, members.items(), strict=True)
    )
    _check_types(labels, clusters, keys)
    return Covers(labels, clusters, keys)


# ----------------------------------------------------------------------------------------------
# Pairs of ids
# ----------------------------------------------------------------------------------------------


def _pairs_by_shared(profile_pairs: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return one row per partition and number of shared members, which is above 0.

    The columns are the partition columns, shared and pairs, the ordered pairs of different ids that
    share so many. The argument has the rows of _profile_pairs.
    """
    is_same = (pl.col("profile") == pl.col("profile_2")).cast(pl.Int64)
    pairs = widen(pl.col("n")) * widen(pl.col("n_2") - is_same)
    return sum_by(profile_pairs, [*keys, "shared"], {"pairs": pairs}).cache()


def _omega_indices(covers: Covers) -> pl.LazyFrame:
    """Return one row per partition: the partition columns and omega_index.

    Pairs of ids agree if they share as many labels as clusters. The index is
    1 - disagreement / expected disagreement; both are sums without cancellation.
    """
    keys = covers.by
    by_labels = _pairs_by_shared(covers.label_pairs, keys)
    by_clusters = _pairs_by_shared(covers.cluster_pairs, keys)
    # Sums of no rows are cast, because they would be of another type.
    pairs: Terms = {"pairs": widen(pl.col("pairs"))}
    with_labels = sum_by(by_labels, keys, pairs).rename({"pairs": "with_labels"})
    with_clusters = sum_by(by_clusters, keys, pairs).rename({"pairs": "with_clusters"})
    is_same = pl.all_horizontal(
        pl.col(f"{x}_profile") == pl.col(f"{x}_profile_2") for x in ("label", "cluster")
    ).cast(pl.Int64)
    weight = pl.when(pl.col("shared_labels") == pl.col("shared_clusters")).then(2).otherwise(1)
    both = widen(pl.col("n")) * widen(pl.col("n_2") - is_same) * widen(weight)
    with_both = sum_by(covers.cell_pairs, keys, {"with_both": both})
    totals = join_partitions(
        covers.counts.select(*keys, all=count_ordered_pairs(pl.col("n"))),
        keys,
        with_labels,
        with_clusters,
        with_both,
    ).cache()
    sums = pl.col("with_labels") + pl.col("with_clusters")
    disagreement = ratio(sums - pl.col("with_both"), pl.col("all"))
    expected = _expected_disagreements(totals, by_labels, by_clusters, keys)
    joined = join_partitions(totals, keys, expected)
    quotient = pl.when(pl.col("expected") > 0).then(disagreement / pl.col("expected"))
    return joined.select(*keys, omega_index=1.0 - quotient.fill_null(0.0))


def _expected_disagreements(
    totals: pl.LazyFrame, by_labels: pl.LazyFrame, by_clusters: pl.LazyFrame, keys: list[str]
) -> pl.LazyFrame:
    """Return one row per partition: the partition columns and expected, a share of all pairs.

    It is the sum over j of the share of pairs with j shared labels, times that of pairs without j
    shared clusters. `totals` has all, with_labels and with_clusters, numbers of pairs, and the
    others are the rows of _pairs_by_shared.
    """
    n = pl.col("all")
    without_labels = ratio(n - pl.col("with_labels"), n)
    none_shared = without_labels * ratio(pl.col("with_clusters"), n)
    others = by_clusters.select(*keys, "shared", others="pairs")
    shared = by_labels.join(others, on=[*keys, "shared"], how="left", nulls_equal=True)
    shared = join_partitions(shared, keys, totals.select(*keys, "all"))
    rest = n - pl.col("others").fill_null(0)
    term = ratio(pl.col("pairs"), n) * ratio(rest, n)
    terms = [totals.select(*keys, expected=none_shared), shared.select(*keys, expected=term)]
    return sum_by(pl.concat(terms), keys, {"expected": pl.col("expected")})


def _near_ids(profile_pairs: pl.LazyFrame, member: str) -> pl.LazyFrame:
    """Return one row per profile: its number and the ids that share a member with it.

    The columns are those of `member`, label or cluster: label_profile and near_labels.
    """
    sums = profile_pairs.group_by("profile").agg(pl.col("n_2").sum().alias(f"near_{member}s"))
    return sums.rename({"profile": f"{member}_profile"})


def _extended_bcubed(covers: Covers) -> pl.LazyFrame:
    """Return one row per partition: the partition columns, precision_rows and recall_rows.

    These are the sums over the ids of extended B-cubed precision and recall.
    """
    cell = [*covers.by, "label_profile", "cluster_profile", "n"]
    shared = {x: pl.col(f"shared_{x}s") for x in ("label", "cluster")}
    least = pl.min_horizontal(*shared.values())
    rows = {x: to_fixed_point(pl.col("n_2") * ratio(least, count)) for x, count in shared.items()}
    sums = sum_by(covers.cell_pairs, cell, rows)
    sums = sums.join(_near_ids(covers.label_pairs, "label"), on="label_profile")
    sums = sums.join(_near_ids(covers.cluster_pairs, "cluster"), on="cluster_profile")
    means = {
        name: to_fixed_point(pl.col("n") * ratio(from_fixed_point(pl.col(x)), pl.col(f"near_{x}s")))
        for name, x in (("precision_rows", "cluster"), ("recall_rows", "label"))
    }
    totals = sum_by(sums, covers.by, means)
    return totals.with_columns(from_fixed_point(pl.col(name)).alias(name) for name in means)


# ----------------------------------------------------------------------------------------------
# Pairs of a label and a cluster
# ----------------------------------------------------------------------------------------------


def _cover_sizes(members: pl.LazyFrame, covers: Covers, member: str) -> pl.LazyFrame:
    """Return one row per label or cluster: the partition columns, its number, size and total.

    The columns are named by `member`: label and label_size. total is the number of ids of the
    partition.
    """
    sizes = members.group_by(*covers.by, "member").agg(pl.col("n").sum().alias(f"{member}_size"))
    total = covers.counts.select(*covers.by, total="n")
    return join_partitions(sizes.rename({"member": member}), covers.by, total).cache()


def _cover_pairs(covers: Covers) -> pl.LazyFrame:
    """Return pairs of a label and a cluster.

    The columns are the partition columns, label, cluster, shared, their common ids, label_size,
    cluster_size and total, the ids of the partition. Pairs without common ids are left out unless
    one of the two has more than half of the ids: only then can one tell of the other that an id is
    not in it better than nothing does. There are few such labels and clusters: fewer than twice the
    mean number of them that an id has.
    """
    keys = covers.by
    labels = _cover_sizes(covers.label_members, covers, "label")
    clusters = _cover_sizes(covers.cluster_members, covers, "cluster")
    shared = covers.cell_members.select(*keys, "label", "cluster", shared="n")
    pair = [*keys, "label", "cluster"]
    zero = pl.lit(0, pl.Int64).alias("shared")
    large_labels = labels.filter(2 * pl.col("label_size") > pl.col("total"))
    large_clusters = clusters.filter(2 * pl.col("cluster_size") > pl.col("total"))
    with_large = [
        _all_pairs(large_labels, clusters, keys).select(*pair, zero),
        _all_pairs(labels, large_clusters, keys).select(*pair, zero),
    ]
    pairs = sum_by(pl.concat([shared, *with_large]), pair, {"shared": pl.col("shared")})
    pairs = pairs.join(labels.drop(keys), on="label")
    return pairs.join(clusters.drop(*keys, "total"), on="cluster").cache()


def _all_pairs(labels: pl.LazyFrame, clusters: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return all pairs of a label and a cluster of the same partition."""
    if keys:
        return labels.join(clusters, on=keys, nulls_equal=True)
    return labels.join(clusters, how="cross")


def _surprise(x: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Return x ln(whole / x) of two counts x <= whole, 0 if x is 0."""
    return x * log_ratio(whole.clip(1), x.clip(1))


def _membership_entropy(size: pl.Expr, n: pl.Expr) -> pl.Expr:
    """Return n times the entropy of whether an id is in a set of `size` of n ids."""
    return _surprise(size, n) + _surprise(n - size, n)


def _entropy_given(shared: pl.Expr, size: pl.Expr, given: pl.Expr, n: pl.Expr) -> pl.Expr:
    """Return n times the entropy of whether an id is in a set, given whether it is in another.

    The sets have `size` and `given` of n ids; `shared` ids are in both. All terms are >= 0.
    """
    return (
        _surprise(shared, given)
        + _surprise(given - shared, given)
        + _surprise(size - shared, n - given)
        + _surprise(n - size - given + shared, n - given)
    )


def _is_informative(shared: pl.Expr, size_1: pl.Expr, size_2: pl.Expr, n: pl.Expr) -> pl.Expr:
    """Return whether two sets may tell of each other.

    They do if the part of their joint entropy from ids in both or in none is greater than that from
    ids in one of them. Without this condition of Lancichinetti and others a set would tell all of
    its complement. The tolerance makes equal numbers equal after rounding.
    """
    alike = _surprise(shared, n) + _surprise(n - size_1 - size_2 + shared, n)
    different = _surprise(size_1 - shared, n) + _surprise(size_2 - shared, n)
    return alike > different * (1 + 1e-12)


def _sum_entropies(pairs: pl.LazyFrame, keys: list[str], member: str) -> pl.LazyFrame:
    """Return one row per partition: sums over the labels or clusters.

    The columns start with `member`: label_entropy, the entropies, label_left, what the best set of
    the other side leaves of them, label_shares, the ratios of left to entropy, and n_labels. A set
    of all ids has no entropy: its ratio is 0 if the other side has the same set, otherwise 1.
    `pairs` has the rows of _cover_pairs.
    """
    size, given = pl.col("label_size"), pl.col("cluster_size")
    if member == "cluster":
        size, given = given, size
    shared, n = pl.col("shared"), pl.col("total")
    left = pl.when(_is_informative(shared, size, given, n)).then(
        _entropy_given(shared, size, given, n)
    )
    is_same = (shared == size) & (shared == given)
    terms = pairs.select(
        *keys, member, "total", own=_membership_entropy(size, n), left=left, is_same=is_same
    )
    best = terms.group_by(*keys, member, "total").agg(
        pl.col("own").first(), pl.col("left").min(), pl.col("is_same").any()
    )
    least = pl.min_horizontal(pl.col("left").fill_null(pl.col("own")), pl.col("own"))
    otherwise = pl.when("is_same").then(0.0).otherwise(1.0)
    sums = {
        f"{member}_entropy": to_fixed_point(ratio(pl.col("own"), n)),
        f"{member}_left": to_fixed_point(ratio(least, n)),
        f"{member}_shares": to_fixed_point(ratio(least, pl.col("own")).fill_null(otherwise)),
    }
    totals = sum_by(best, keys, sums | {f"n_{member}s": pl.lit(1, pl.Int64)})
    return totals.with_columns(from_fixed_point(pl.col(x), PLACES_OF_ROWS).alias(x) for x in sums)


def _best_matches(pairs: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return one row per partition: the partition columns, matched_f1 and n_matched.

    A cluster is matched with the label that has most of its ids, of those with equally many the
    smallest, of these the lowest. matched_f1 is the sum of the F1 scores, n_matched how many labels
    are matched. `pairs` has the rows of _cover_pairs.
    """
    order = ["shared", "label_size", "label"]
    columns = pl.col("shared", "label_size", "label", "cluster_size")
    best = pairs.group_by(*keys, "cluster").agg(
        columns.sort_by(order, descending=[True, False, False]).first()
    )
    f1 = ratio(2 * pl.col("shared"), pl.col("label_size") + pl.col("cluster_size"))
    sums = aggregate_by(
        best.with_columns(f1=to_fixed_point(f1)),
        keys,
        {"f1": pl.col("f1").sum(), "n_matched": pl.col("label").n_unique().cast(pl.Int64)},
    )
    return sums.select(*keys, "n_matched", matched_f1=from_fixed_point(pl.col("f1")))


# ----------------------------------------------------------------------------------------------
# Table
# ----------------------------------------------------------------------------------------------

_COUNTS = ("n", "n_only_labels", "n_only_clusters", "n_dropped", "n_labels", "n_clusters")


def _scores(beta: float) -> Terms:
    """Return the scores of overlapping_report by name, as expressions of sums of a partition."""
    n, n_labels, n_clusters = pl.col("n"), pl.col("n_labels"), pl.col("n_clusters")
    shares = [ratio(pl.col(f"{x}_shares"), pl.col(f"n_{x}s")) for x in ("label", "cluster")]
    own = [pl.col(f"{x}_entropy") for x in ("label", "cluster")]
    known = [pl.col(f"{x}_entropy") - pl.col(f"{x}_left") for x in ("label", "cluster")]
    greater = pl.max_horizontal(*own)
    mgh = ratio(known[0] + known[1], 2 * greater).fill_null(1.0)
    precision = ratio(pl.col("precision_rows"), n)
    recall = ratio(pl.col("recall_rows"), n)
    f1 = ratio(pl.col("matched_f1"), n_clusters)
    coverage = ratio(pl.col("n_matched"), n_labels)
    redundancy = ratio(n_clusters, pl.col("n_matched"))
    return {
        "omega_index": pl.col("omega_index"),
        "overlapping_nmi_lfk": (1.0 - (shares[0] + shares[1]) / 2).clip(0.0, 1.0),
        "overlapping_nmi_mgh": mgh.clip(0.0, 1.0),
        "extended_bcubed_precision": precision.clip(upper_bound=1.0),
        "extended_bcubed_recall": recall.clip(upper_bound=1.0),
        "extended_bcubed_f_score": f_score(precision, recall, beta).clip(upper_bound=1.0),
        "best_match_f1": f1,
        "label_coverage": coverage,
        "cluster_redundancy": redundancy,
        "nf1": f1 * coverage / redundancy,
    }


_RESULTS = (*_COUNTS, *_scores(1.0))


def overlapping_report(
    frame_labels: Frame,
    frame_clusters: pl.DataFrame | pl.LazyFrame,
    id: Column,  # noqa: A002 -- the name in SQL
    label: Column,
    cluster: Column,
    *,
    partition_by: Keys = None,
    beta: float = 1.0,
) -> Frame:
    """Scores of clusters against labels where an id may have several of both.

    Parameters
    ----------
    frame_labels : DataFrame or LazyFrame
        One row per id and label. A LazyFrame is read when the result is collected.
    frame_clusters : DataFrame or LazyFrame
        One row per id and cluster. Rows that are there twice count once.
    id : str or Expr
        What identifies the clustered object: a column of both frames, of the same type.
    label, cluster : str or Expr
        A true class of the id, in the first frame, and a cluster of it, in the second one, of any
        groupable type. Rows with a NULL id, label or cluster are left out.
    partition_by : str, Expr or sequence of these, optional
        Columns of both frames whose groups are evaluated separately. NULL is a group too.
    beta : float
        Weight of recall in extended_bcubed_f_score, at least 0.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame_labels`, one row per partition of either frame, sorted: the partition
        columns; n, the ids that are in both frames, which alone count in what follows;
        n_only_labels and n_only_clusters, the ids in one; n_dropped rows with a NULL; n_labels and
        n_clusters; and:

        - omega_index (at most 1, best 1), the share of pairs of ids that share as many labels as
          clusters, adjusted for chance: the adjusted Rand index if nothing overlaps.
        - overlapping_nmi_lfk (range [0, 1], best 1), the normalized mutual information of
          Lancichinetti and others, and overlapping_nmi_mgh (range [0, 1], best 1), that of McDaid
          and others, divided by the greater entropy.
        - extended_bcubed_precision (range [0, 1], best 1), extended_bcubed_recall (range [0, 1],
          best 1) and extended_bcubed_f_score (range [0, 1], best 1), B-cubed if nothing overlaps.
        - best_match_f1 (range [0, 1], best 1), the mean F1 of a cluster and the label that has most
          of its ids; label_coverage (range [0, 1], best 1), the share of labels that are such a
          label; cluster_redundancy (at least 1, best 1), clusters per such label; and nf1 (range
          [0, 1], best 1), best_match_f1 * label_coverage / cluster_redundancy.

        With one id all are 1 unless it has other numbers of labels and clusters. With n = 0 every
        score is NULL. Without rows n is 0, or with partition_by the result is empty.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, id or a partition column has two types, or
        beta is not a number >= 0.

    Notes
    -----
    Ids of the same labels and clusters are counted together. The cost is the rows, plus for each
    label, and each cluster, the square of the number of different sets of labels, or clusters, that
    have it, and for each pair of the two the square of the number of different pairs of sets that
    have both. That is one for labels and clusters that do not overlap, and at worst, where no two
    ids of a large cluster are alike, the pairs of ids in it.

    In SQL: ``FROM clustereval.overlapping_report(tbl_labels, tbl_clusters, id, label, cluster)``.

    References
    ----------
    Collins and Dent (1988), Omega: a general formulation of the Rand index of cluster recovery
    suitable for non-disjoint solutions, doi:10.1207/s15327906mbr2302_6. Lancichinetti, Fortunato
    and Kertesz (2009), Detecting the overlapping and hierarchical community structure in complex
    networks, doi:10.1088/1367-2630/11/3/033015. McDaid, Greene and Hurley (2011), Normalized mutual
    information to evaluate overlapping community finding algorithms, arXiv:1110.2515. Amigo,
    Gonzalo, Artiles and Verdejo (2009), doi:10.1007/s10791-008-9066-8. Rossetti, Pappalardo and
    Rinzivillo (2016), A novel approach to evaluate community detection algorithms on ground truth,
    doi:10.1007/978-3-319-30569-1_10.

    Examples
    --------
    Id 2 has both labels, but one cluster:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> labels = pl.DataFrame({"id": [1, 2, 2, 3, 4], "label": ["a", "a", "b", "b", "b"]})
    >>> clusters = pl.DataFrame({"id": [1, 2, 3, 4], "cluster": [0, 0, 1, 1]})
    >>> report = ce.overlapping_report(labels, clusters, "id", "label", "cluster")
    >>> report.select(pl.col("omega_index", "extended_bcubed_recall").round(4)).row(0)
    (0.4, 0.6771)
    """
    scores = _scores(check_beta(beta))
    covers = _read_covers(
        (frame_labels, frame_clusters), id, {"label": label, "cluster": cluster}, partition_by
    )
    keys = covers.by
    pairs = _cover_pairs(covers)
    totals = join_partitions(
        covers.counts,
        keys,
        _omega_indices(covers),
        _sum_entropies(pairs, keys, "label"),
        _sum_entropies(pairs, keys, "cluster"),
        _extended_bcubed(covers),
        _best_matches(pairs, keys),
        how="left",
    )
    has_ids = pl.col("n") > 0
    report = totals.select(
        *keys,
        *_COUNTS[:4],
        pl.col(_COUNTS[4:]).fill_null(0),
        **{name: pl.when(has_ids).then(score) for name, score in scores.items()},
    )
    report = report.sort(keys, nulls_last=True) if keys else report
    return to_user_frame(frame_labels, report, covers.keys)
