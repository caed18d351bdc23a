"""overlapping: scores for overlapping clusterings, in which an id may be in several clusters.

Scores that compare pairs of ids are computed from sums over pairs of profiles and pairs of cells
(see the `covers` module). Scores that compare a label with a cluster are computed from sums over
the rows of cover_pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import Column, Frame, Keys, check_beta
from polars_clustereval.base.exact import (
    count_ordered_pairs,
    from_fixed_point,
    log_ratio,
    ratio,
    to_fixed_point,
    widen,
)
from polars_clustereval.base.frames import aggregate_by, join_partitions, sum_by, to_user_frame
from polars_clustereval.base.tables import table_function

from .covers import Covers, cover_pairs, read_covers
from .set_matching import f_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.frames import Terms

# ----------------------------------------------------------------------------------------------
# Pairs of ids
# ----------------------------------------------------------------------------------------------


def _pairs_by_shared(profile_pairs: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return the number of ordered pairs of different ids by `shared`, how many members they share.

    `profile_pairs` is one of Covers.pairs. Pairs that share nothing are left out.
    """
    is_same = (pl.col("profile") == pl.col("profile_2")).cast(pl.Int64)
    pairs = widen(pl.col("n")) * widen(pl.col("n_2") - is_same)
    return sum_by(profile_pairs, [*keys, "shared"], {"pairs": pairs}).cache()


def _omega_indices(covers: Covers) -> pl.LazyFrame:
    """Return one row per partition, with the partition columns and omega_index.

    Labels and clusters agree on a pair of ids if the two ids share as many labels as clusters. The
    omega index is 1 - disagreement / expected disagreement. Both are computed as sums, so that no
    digits are lost to cancellation.
    """
    keys = covers.by
    by_labels, by_clusters = (_pairs_by_shared(pairs, keys) for pairs in covers.pairs.values())
    # Sums over no rows would have another type, so they are cast.
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
    """Return the expected disagreement of each partition, as a share of all pairs of ids.

    It is a sum over all nonnegative integers j: the share of pairs with j shared labels times the
    share of pairs whose number of shared clusters is not j.
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


def _extended_bcubed(covers: Covers) -> pl.LazyFrame:
    """Return precision_rows and recall_rows: sums of extended B-cubed scores over the ids."""
    cell = [*covers.by, "label_profile", "cluster_profile", "n"]
    shared = {x: pl.col(f"shared_{x}s") for x in ("label", "cluster")}
    least = pl.min_horizontal(*shared.values())
    rows = {x: to_fixed_point(pl.col("n_2") * ratio(least, count)) for x, count in shared.items()}
    sums = sum_by(covers.cell_pairs, cell, rows)
    for x, pairs in covers.pairs.items():
        near = pairs.group_by(pl.col("profile").alias(f"{x}_profile"))
        sums = sums.join(near.agg(pl.col("n_2").sum().alias(f"near_{x}s")), on=f"{x}_profile")
    means = {
        name: to_fixed_point(pl.col("n") * ratio(from_fixed_point(pl.col(x)), pl.col(f"near_{x}s")))
        for name, x in (("precision_rows", "cluster"), ("recall_rows", "label"))
    }
    totals = sum_by(sums, covers.by, means)
    return totals.with_columns(from_fixed_point(pl.col(name)).alias(name) for name in means)


# ----------------------------------------------------------------------------------------------
# Pairs of a label and a cluster
# ----------------------------------------------------------------------------------------------


def _surprise(x: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Return x ln(whole / x) for two counts x <= whole, or 0 if x is 0."""
    return x * log_ratio(whole.clip(1), x.clip(1))


def _entropy_given(shared: pl.Expr, size: pl.Expr, given: pl.Expr, n: pl.Expr) -> pl.Expr:
    """Return n times the entropy of membership in a set, given membership in another set.

    Of the n ids, `size` are in the first set, `given` are in the second set, and `shared` are in
    both sets. The result is a sum of nonnegative terms.
    """
    return (
        _surprise(shared, given)
        + _surprise(given - shared, given)
        + _surprise(size - shared, n - given)
        + _surprise(n - size - given + shared, n - given)
    )


def _is_informative(shared: pl.Expr, size_1: pl.Expr, size_2: pl.Expr, n: pl.Expr) -> pl.Expr:
    """Return whether membership in one set may be informative about membership in another set.

    The ids that are in both sets or in neither must contribute more to the joint entropy than the
    ids that are in only one of the sets. Without this condition, which is from Lancichinetti et
    al., a set would be fully informative about its complement. Numbers that differ only by rounding
    errors are considered equal.
    """
    alike = _surprise(shared, n) + _surprise(n - size_1 - size_2 + shared, n)
    different = _surprise(size_1 - shared, n) + _surprise(size_2 - shared, n)
    return alike > different * (1 + 1e-12)


def _sum_entropies(pairs: pl.LazyFrame, keys: list[str], member: str) -> pl.LazyFrame:
    """Return sums over the labels of each partition, or over its clusters.

    label_entropy is the sum of the entropies of the labels. label_left is the sum of the entropies
    that remain once each label's best cluster is known. label_shares is the sum of the ratios of
    the remaining entropy to the total entropy. A set that contains all ids has entropy 0. Its ratio
    is defined as 0 if the other side also has a set that contains all ids, and as 1 otherwise.
    """
    size, given = pl.col("label_size"), pl.col("cluster_size")
    if member == "cluster":
        size, given = given, size
    shared, n = pl.col("shared"), pl.col("total")
    own = _surprise(size, n) + _surprise(n - size, n)
    left = pl.when(_is_informative(shared, size, given, n)).then(
        _entropy_given(shared, size, given, n)
    )
    is_same = (shared == size) & (shared == given)
    terms = pairs.select(*keys, member, "total", own=own, left=left, is_same=is_same)
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
    return totals.with_columns(from_fixed_point(pl.col(x)).alias(x) for x in sums)


def _best_matches(pairs: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return matched_f1, the sum of F1 scores, and n_matched, the matched labels, by partition.

    Each cluster is matched with the most frequent label among its ids. If labels tie, the label
    with the fewest ids is used, and a remaining tie goes to the label that sorts first.
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

_ID_COUNTS = ("n", "n_only_labels", "n_only_clusters", "n_dropped", "n_labels", "n_clusters")


def _scores(beta: float) -> Terms:
    """Return the scores of overlapping_report, from a partition's sums."""
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


_COLUMNS_OF_REPORT = (*_ID_COUNTS, *_scores(1.0))


@table_function("covers", guide="overlapping")
def overlapping_report(
    frame_labels: Frame,
    frame_clusters: pl.DataFrame | pl.LazyFrame,
    id: Column,  # noqa: A002 -- the name in SQL
    label: Column,
    cluster: Column,
    *,
    partition_by: Keys = None,
    beta: float = 1.0,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Scores of overlapping clusterings, in which an id may have several labels and clusters.

    Parameters
    ----------
    frame_labels : DataFrame or LazyFrame
        One row for each label of each id. A LazyFrame is read when you collect the result.
    frame_clusters : DataFrame or LazyFrame
        One row for each cluster of each id. Repeated rows count once.
    id : str or Expr
        Identifier of the clustered object. This column must exist in both frames and have the same
        type.
    label, cluster : str or Expr
        A true class of the id (in the first frame), and a cluster that contains the id (in the
        second frame). Any type that can be grouped is allowed. Rows with a NULL id, label or
        cluster are left out.
    partition_by : str, Expr or sequence of these, optional
        Columns in both frames that define the groups to evaluate separately. NULL is also a group.
    beta : float
        The nonnegative weight of recall in extended_bcubed_f_score.
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work that is needed only for other columns is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame_labels`, one row per partition of either frame, sorted by partition. The
        first columns are the partition columns, n, n_only_labels, n_only_clusters, n_dropped,
        n_labels and n_clusters. n is the number of ids that are in both frames, and only these ids
        are scored. n_only_labels is the number of ids that are only in the first frame, and
        n_only_clusters is the number of ids that are only in the second frame. n_dropped is the
        number of rows that contain a NULL. The other columns are:

        - omega_index (range up to 1, best 1), the chance-adjusted share of pairs of ids that share
          as many labels as clusters. If nothing overlaps, omega_index is the adjusted Rand index.
        - overlapping_nmi_lfk (range [0, 1], best 1), the normalized mutual information of
          Lancichinetti et al.
        - overlapping_nmi_mgh (range [0, 1], best 1), the normalized mutual information of McDaid et
          al., which divides by the larger entropy.
        - extended_bcubed_precision (range [0, 1], best 1), extended_bcubed_recall (range [0, 1],
          best 1) and extended_bcubed_f_score (range [0, 1], best 1), which are the usual B-cubed
          scores if nothing overlaps.
        - best_match_f1 (range [0, 1], best 1), the mean F1 score of a cluster and its match. The
          match is the most frequent label among the cluster's ids.
        - label_coverage (range [0, 1], best 1), the share of labels that are the match of a
          cluster.
        - cluster_redundancy (range [1, inf), best 1), the number of clusters divided by the number
          of labels that are the match of a cluster.
        - nf1 (range [0, 1], best 1), which is best_match_f1 times label_coverage, divided by
          cluster_redundancy.

        If labels and clusters are the same sets of ids, every score is 1. omega_index is also 1 if
        there is a number j such that every pair of ids shares exactly j labels and j clusters. If n
        is 0, every score is NULL. If there are no rows, n is 0. With partition_by, the result is
        empty if there are no rows.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, if id or a partition column has different
        types in the two frames, or if beta is not a number >= 0. This error is also raised when the
        result is collected if there are more than 20 million pairs of sets (see the notes).

    Notes
    -----
    Ids that have the same labels and the same clusters are counted together. The running time grows
    with the number of rows and the number of pairs of sets. The number of pairs of sets is a sum of
    three kinds of terms. For each label, the term is the square of the number of different sets of
    labels that contain the label. For each cluster, the term is the square of the number of
    different sets of clusters that contain the cluster. For each pair of a label and a cluster, the
    term is the square of the number of different combinations of label sets and cluster sets that
    contain both. If nothing overlaps, each of these terms is 1. In the worst case, all ids of a
    large cluster have different combinations of sets, so every pair of ids in the cluster is a pair
    of sets.

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
    Id 2 has both labels, but only one cluster:

    >>> labels = pl.DataFrame({"id": [1, 2, 2, 3, 4], "label": ["a", "a", "b", "b", "b"]})
    >>> clusters = pl.DataFrame({"id": [1, 2, 3, 4], "cluster": [0, 0, 1, 1]})
    >>> report = ce.overlapping_report(labels, clusters, "id", "label", "cluster")
    >>> report.select(pl.col("omega_index", "extended_bcubed_recall").round(4)).row(0)
    (0.4, 0.6771)
    """
    scores = _scores(check_beta(beta))
    covers = read_covers(
        (frame_labels, frame_clusters),
        id,
        {"label": label, "cluster": cluster},
        partition_by,
        _COLUMNS_OF_REPORT,
    )
    keys = covers.by
    pairs = cover_pairs(covers)
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
        *_ID_COUNTS[:4],
        pl.col(_ID_COUNTS[4:]).fill_null(0),
        **{name: pl.when(has_ids).then(score) for name, score in scores.items()},
    )
    report = report.sort(keys, nulls_last=True) if keys else report
    return to_user_frame(frame_labels, report, covers.keys, metrics)
