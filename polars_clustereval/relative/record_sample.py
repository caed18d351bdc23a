"""Estimates of external metrics, computed from the true labels of sampled records.

The labeled rows are a random sample of all rows, drawn without regard to their entities. Every pair
of rows is labeled with the same probability, so a quotient of sums over the pairs of labeled rows
estimates the quotient of the sums over all pairs.

A pair of labeled rows is right if both rows have the same entity and the same cluster, and wrong if
they have only one of the two in common. Every metric assigns a weight to each kind of pair, and its
value is the total weight of the right pairs divided by the total weight of all pairs. Metrics that
depend on the number of rows of an entity cannot be estimated, because most entities have only one
labeled row, no matter how many rows they have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.exact import estimate_freedom, ratio, to_double
from polars_clustereval.base.frames import aggregate_by, join_partitions, join_small

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from polars_clustereval.base.frames import Terms
    from polars_clustereval.external.contingency import ContingencyTable

#: The columns that are estimated for each metric. interval_error is the standard error from which
#: the interval is computed, and freedom is its number of degrees of freedom. concentration is the
#: sum of the squared shares of the entities or pairs in the denominator: 1 / n for n equal ones.
ESTIMATE_PARTS = ("value", "std_error", "interval_error", "freedom", "concentration")


def terms_of_metrics(make: Callable[[str], Terms], metrics: Iterable[str]) -> Terms:
    """Return the terms that `make` returns for each of the metrics."""
    return {key: term for name in metrics for key, term in make(name).items()}


# ----------------------------------------------------------------------------------------------
# Pairs of labeled rows
# ----------------------------------------------------------------------------------------------


def _metric_weights(beta: float) -> dict[str, tuple[pl.Expr, float]]:
    """Return each metric's weight of a right pair, computed from cluster_size, and a share.

    A wrong pair with the same cluster has the weight times the share, and one with the same label
    has the weight times 1 - share.
    """
    one = pl.lit(1.0)
    return {
        "pair_precision": (one, 1.0),
        "pair_recall": (one, 0.0),
        "pair_f_score": (one, 1 / (1 + beta * beta)),
        "bcubed_precision": (1 / to_double(pl.col("cluster_size")), 1.0),
    }


def _record_pairs(labeled: ContingencyTable, clusters: pl.LazyFrame, beta: float) -> pl.LazyFrame:
    """Return records, the number of rows, and the pair weights of each cell of the labeled rows.

    Each row forms a pair with every other labeled row. For each metric, right_ and wrong_ are the
    total weights of a row's right pairs and wrong pairs, right_squares_ and wrong_squares_ are the
    corresponding sums of squared weights, and weight_ is the weight of a right pair.
    """
    keys = list(labeled.keys)
    counts = labeled.sized_cells.rename({"cluster_size": "labeled_size"})
    sizes = clusters.select(*keys, "cluster", "cluster_size")
    cells = join_small(counts, [*keys, "cluster"], sizes)
    n = pl.col("n")
    both = to_double(n - 1)
    same_cluster = to_double(pl.col("labeled_size") - n)
    same_label = to_double(pl.col("label_size") - n)
    terms = {}
    for name, (weight, share) in _metric_weights(beta).items():
        terms[f"weight_{name}"] = weight
        terms[f"right_{name}"] = weight * both
        terms[f"wrong_{name}"] = weight * (share * same_cluster + (1 - share) * same_label)
        squares = share**2 * same_cluster + (1 - share) ** 2 * same_label
        terms[f"right_squares_{name}"] = weight * weight * both
        terms[f"wrong_squares_{name}"] = weight * weight * squares
    records = to_double(n * pl.col("copies"))
    return cells.select(*keys, "label", "cluster", records=records, **terms).cache()


# ----------------------------------------------------------------------------------------------
# Shares of pairs
# ----------------------------------------------------------------------------------------------


def _sums_of_weights(name: str) -> Terms:
    """Return expressions that aggregate a metric's weights over all rows, keyed by name."""
    parts = ("right", "wrong", "right_squares", "wrong_squares")
    records = pl.col("records")
    sums = {f"all_{part}_{name}": (records * pl.col(f"{part}_{name}")).sum() for part in parts}
    both = pl.col(f"right_{name}") + pl.col(f"wrong_{name}")
    return sums | {f"most_{name}": both.max(), f"row_squares_{name}": (records * both**2).sum()}


def _pair_share_terms(name: str) -> Terms:
    """Return facts about a metric in a partition, from the sums of weights and the totals.

    all_pairs_ is the weight of all pairs, share_ and other_ are the shares of the right and of the
    wrong ones, and the metric is 1 - scale_ + scale_ * share_. of_pairs_ is the variance of the
    metric if pairs were drawn one by one. can_delete_ tells that no row is part of every pair.

    B-cubed precision is a mean over rows. Each row also forms a right pair with itself, and its
    pairs with the other rows in its cluster have a weight of 1 / cluster_size.
    """
    all_right, all_wrong = pl.col(f"all_right_{name}"), pl.col(f"all_wrong_{name}")
    whole = all_right + all_wrong
    share, other = ratio(all_right, whole), ratio(all_wrong, whole)
    squares = other**2 * pl.col(f"all_right_squares_{name}")
    squares += share**2 * pl.col(f"all_wrong_squares_{name}")
    of_rows = 1 / pl.col("rows_per_cluster") if name == "bcubed_precision" else pl.lit(0.0)
    return {
        f"all_right_{name}": all_right,
        f"all_wrong_{name}": all_wrong,
        f"all_pairs_{name}": whole,
        f"share_{name}": share,
        f"other_{name}": other,
        f"scale_{name}": 1 - of_rows,
        f"of_pairs_{name}": (1 - of_rows) ** 2 * ratio(2 * squares, whole * whole),
        # A pair is counted from both of its rows. Equal sums can differ by rounding errors.
        f"can_delete_{name}": 2 * pl.col(f"most_{name}") < whole * 0.999999999,
        # A pair counts from both of its rows, so as many equal rows have half as many pairs.
        f"concentration_{name}": 2 * ratio(pl.col(f"row_squares_{name}"), whole * whole),
    }


def _change_terms(name: str) -> Terms:
    """Return the change in a metric caused by omitting a row of a cell.

    It is NULL if one row is part of every pair.
    """
    share, other = pl.col(f"share_{name}"), pl.col(f"other_{name}")
    right, wrong = pl.col(f"right_{name}"), pl.col(f"wrong_{name}")
    kept = pl.col(f"all_pairs_{name}") - 2 * (right + wrong)
    change = 2 * pl.col(f"scale_{name}") * ratio(right * other - wrong * share, kept)
    return {f"change_{name}": pl.when(f"can_delete_{name}").then(change)}


def _jackknife_terms(name: str) -> Terms:
    """Return the sums of the powers of the changes: jackknife_, cubes_ and fourths_.

    They are NULL if a change is NULL.
    """
    change, records = pl.col(f"change_{name}"), pl.col("records")
    is_known, powers = change.null_count() == 0, {"jackknife": 2, "cubes": 3, "fourths": 4}
    return {
        f"{term}_{name}": pl.when(is_known).then((records * change**power).sum())
        for term, power in powers.items()
    }


def _jackknife_error(name: str, of_pairs: pl.Expr) -> pl.Expr:
    """Return the standard error of a metric, from the jackknife estimate of its variance.

    The jackknife estimate counts the variance due to single rows once and the variance due to pairs
    of rows twice (Efron and Stein 1981). With few labels, nearly all of the jackknife estimate is
    due to pairs. Therefore, the variance of pairs, computed as if pairs were drawn one by one, is
    subtracted once. At least half of the jackknife estimate remains, because the variance due to
    single rows is not negative.
    """
    unlabeled, jackknife = pl.col("unlabeled"), pl.col(f"jackknife_{name}")
    least = pl.max_horizontal(jackknife - unlabeled * of_pairs, jackknife / 2)
    return (unlabeled * least).sqrt()


def _record_estimate_terms(name: str) -> Terms:
    """Return the columns of ESTIMATE_PARTS of one metric, based on the sums of a partition.

    The standard error is 0 if all rows are labeled, and otherwise NULL if no pair is right, if no
    pair is wrong, or if one row is part of every pair.
    """
    unlabeled, scale = pl.col("unlabeled"), pl.col(f"scale_{name}")
    has_both = (pl.col(f"all_right_{name}") > 0) & (pl.col(f"all_wrong_{name}") > 0)
    error = (
        pl.when((pl.col(f"all_pairs_{name}") > 0) & (unlabeled == 0))
        .then(0.0)
        .when(has_both)
        .then(_jackknife_error(name, pl.col(f"of_pairs_{name}")))
    )
    jackknife, fourths = pl.col(f"jackknife_{name}"), pl.col(f"fourths_{name}")
    concentration = pl.when(unlabeled != 0).then(f"concentration_{name}").otherwise(0.0)
    return {
        f"value_{name}": 1 - scale + scale * pl.col(f"share_{name}"),
        f"std_error_{name}": error,
        f"interval_error_{name}": error,
        f"freedom_{name}": estimate_freedom(jackknife, fourths, pl.col("n_labeled")),
        f"concentration_{name}": concentration,
    }


def change_by_record(
    labeled: ContingencyTable, clusters: pl.LazyFrame, totals: pl.LazyFrame, beta: float
) -> pl.LazyFrame:
    """Return the changes in the metrics caused by omitting a row of each cell of the labeled rows.

    The result has the columns of _record_pairs, those of _pair_share_terms and _change_terms for
    each estimable metric, n_labeled and unlabeled, a share. `clusters` contains the cluster sizes,
    counted over all rows. `totals` has n_labeled, labeled_share and rows_per_cluster of each
    partition.
    """
    keys, metrics = list(labeled.keys), list(_metric_weights(beta))
    pairs = _record_pairs(labeled, clusters, beta)
    sums = aggregate_by(pairs, keys, terms_of_metrics(_sums_of_weights, metrics))
    facts = join_partitions(sums, keys, totals).select(
        *keys,
        "n_labeled",
        unlabeled=1 - pl.col("labeled_share"),
        **terms_of_metrics(_pair_share_terms, metrics),
    )
    # This is cached, because a second evaluation may yield sums that differ in the last digit.
    changes = join_partitions(pairs, keys, facts.cache())
    return changes.with_columns(**terms_of_metrics(_change_terms, metrics)).cache()


def estimate_from_records(changes: pl.LazyFrame, keys: list[str], beta: float) -> pl.LazyFrame:
    """Return the columns of ESTIMATE_PARTS of every estimable metric for each partition.

    `changes` is the result of change_by_record.
    """
    metrics = list(_metric_weights(beta))
    parts = ("all_right", "all_wrong", "all_pairs", "share", "scale", "of_pairs", "concentration")
    facts = {name: pl.col(name).first() for name in ("unlabeled", "n_labeled")}
    facts |= {f"{x}_{name}": pl.col(f"{x}_{name}").first() for x in parts for name in metrics}
    jackknives = terms_of_metrics(_jackknife_terms, metrics)
    sums = aggregate_by(changes, keys, facts | jackknives)
    return sums.select(*keys, **terms_of_metrics(_record_estimate_terms, metrics))


def record_difference_errors(
    cells: pl.LazyFrame, changes: Sequence[pl.LazyFrame], keys: list[str], beta: float
) -> pl.LazyFrame:
    """Return std_error_, freedom_ and skew_ of the differences of every estimable metric.

    skew_ is how much the squared standard error is expected to grow with the difference.

    `cells` has label, cluster_1, cluster_2 and n labeled rows, and `changes` are the results of
    change_by_record for both clusterings. The term of a pair of rows in a metric is its weight,
    times 1 - share_ if it is right, otherwise times -share_ and the factor of _metric_weights,
    divided by all_pairs_. The variance of pairs contains the products of these terms in both
    clusterings, summed over the pairs.
    """
    by = {"label": ["label"], "1": ["label", "cluster_1"], "2": ["label", "cluster_2"]}
    by |= {"both": ["cluster_1", "cluster_2"], "all": ["label", "cluster_1", "cluster_2"]}
    # A singleton has no pairs.
    counts = {
        f"in_{place}": pl.when(pl.all_horizontal(pl.col(names).is_not_null()))
        .then(to_double(pl.col("n").sum().over([*keys, *names]) - 1))
        .otherwise(0.0)
        for place, names in by.items()
    }
    rows = cells.with_columns(**counts, records=to_double(pl.col("n")))
    for i, side in enumerate(changes, 1):
        names = [x for x in side.collect_schema().names() if x not in (*keys, "label")]
        side = side.rename({x: f"{x}_{i}" for x in names})
        rows = join_small(rows, [*keys, "label", f"cluster_{i}"], side)
    one, two, in_all = (pl.col(f"in_{place}") for place in ("1", "2", "all"))
    facts = {x: pl.col(x).first() for x in ("unlabeled", "n_labeled")}
    terms, sums, found = {x: pl.col(f"{x}_1") for x in facts}, dict(facts), {}
    for name, (_, share) in _metric_weights(beta).items():
        p1, p2 = (pl.col(f"share_{name}_{i}") for i in (1, 2))
        wrong = share**2 * pl.col("in_both") + share * (1 - share) * (one + two)
        wrong += (1 - share) ** 2 * pl.col("in_label")
        product = (1 - share * (p1 + p2)) * in_all - (1 - share) * (p2 * one + p1 * two)
        product += p1 * p2 * wrong
        for i in (1, 2):
            weight = pl.col(f"scale_{name}_{i}") * pl.col(f"weight_{name}_{i}")
            product *= ratio(weight, pl.col(f"all_pairs_{name}_{i}"))
        terms[f"product_{name}"] = pl.col("records") * product
        terms[f"of_pairs_{name}"] = pl.col(f"of_pairs_{name}_1") + pl.col(f"of_pairs_{name}_2")
        terms[f"change_{name}"] = pl.col(f"change_{name}_1") - pl.col(f"change_{name}_2")
        of_pairs = pl.col(f"of_pairs_{name}").first() - 4 * pl.col(f"product_{name}").sum()
        sums[f"of_pairs_{name}"] = of_pairs.clip(lower_bound=0.0)
        sums |= _jackknife_terms(name)
        error = _jackknife_error(name, pl.col(f"of_pairs_{name}"))
        jackknife, fourths = pl.col(f"jackknife_{name}"), pl.col(f"fourths_{name}")
        found[f"std_error_{name}"] = pl.when(pl.col("unlabeled") == 0).then(0.0).otherwise(error)
        found[f"freedom_{name}"] = estimate_freedom(jackknife, fourths, pl.col("n_labeled"))
        found[f"skew_{name}"] = pl.col("unlabeled") * ratio(pl.col(f"cubes_{name}"), jackknife)
    rows = rows.select(*keys, "records", **terms)
    return aggregate_by(rows, keys, sums).select(*keys, **found)


# ----------------------------------------------------------------------------------------------
# What the data tell about the design
# ----------------------------------------------------------------------------------------------

# With fewer labels or clusters than this, the data tell nothing about the design.
_FEWEST_LABELS = 50
_LARGEST_DEVIATION = 0.05


def spread_labels(labeled: ContingencyTable, clusters: pl.LazyFrame) -> pl.LazyFrame:
    """Return statistics that indicate whether individual rows or whole clusters were labeled.

    The column labeled_share contains the share of labeled rows among all rows that have a cluster.
    For each labeled row in a cluster of several rows, the function computes the share of the
    cluster's other rows that have a label. The mean of these shares is labeled_nearby, and their
    number is n_near. The columns labeled_neighbors and neighbors contain the mean number of other
    rows in the cluster of a labeled row and of any row. The column excess contains labeled_nearby
    minus labeled_share, scaled so that it is 0 if rows are labeled at random, and 1 if every
    cluster is labeled either completely or not at all, and deviation contains its standard
    deviation for rows that are labeled at random.
    """
    keys = list(labeled.keys)
    own = labeled.cluster_sizes.select(
        *keys, "cluster", labeled="cluster_size", labeled_copies="copies"
    )
    counts = join_small(clusters, [*keys, "cluster"], own, how="left")
    size, copies, n_labeled, n_copies = (
        to_double(pl.col(name).fill_null(0))
        for name in ("cluster_size", "copies", "labeled", "labeled_copies")
    )
    is_shared = pl.col("cluster_size") > 1
    others = pl.when(is_shared).then(size - 1)
    sums = aggregate_by(
        counts,
        keys,
        {
            "n": (size * copies).sum(),
            "n_labeled": (n_labeled * n_copies).sum(),
            "n_shared": size.filter(is_shared).sum(),
            "n_near": n_labeled.filter(is_shared).sum(),
            "neighbors": (n_labeled * (n_labeled - 1) / others).sum(),
            "spread": (size / others).sum(),
            "labeled_others": (n_labeled * n_copies * (size - 1)).sum(),
            "all_others": (size * copies * (size - 1)).sum(),
        },
    )
    nearby = ratio(pl.col("neighbors"), pl.col("n_near"))
    chance = ratio(pl.col("n_labeled") - 1, pl.col("n") - 1)
    return sums.select(
        *(*keys, "n_near", "n_labeled"),
        labeled_neighbors=ratio(pl.col("labeled_others"), pl.col("n_labeled")),
        neighbors=ratio(pl.col("all_others"), pl.col("n")),
        labeled_share=ratio(pl.col("n_labeled"), pl.col("n")),
        labeled_nearby=nearby,
        excess=ratio(nearby - chance, 1 - chance),
        deviation=ratio((2 * pl.col("spread")).sqrt(), pl.col("n_shared")),
    ).cache()


def contradiction(design: str) -> pl.Expr:
    """Return text that explains why the labels contradict the design, or NULL if they do not."""
    excess, deviation = pl.col("excess"), pl.col("deviation")
    has_enough = pl.col("n_near") >= _FEWEST_LABELS
    if design == "records":
        is_wrong = (excess > 0.1) & (excess > 4 * deviation)
        finding = "are not a random sample of records"
        advice = "whole entities are labeled, labels_are_sample is 'uniform' or 'by_record'"
    else:
        is_wrong = (deviation <= _LARGEST_DEVIATION) & (excess.abs() <= 4 * deviation)
        finding = "look like a random sample of records"
        advice = "entities are not labeled completely, labels_are_sample is 'records'"
    text = pl.format(
        f"the labeled rows {finding}: in their clusters {{}} of the other rows have a label, of "
        f"all rows {{}}; if {advice}",
        _show_share(pl.col("labeled_nearby")),
        _show_share(pl.col("labeled_share")),
    )
    return pl.when(has_enough & is_wrong).then(text)


def _show_share(share: pl.Expr) -> pl.Expr:
    """Return a share as text, as a percentage with one decimal."""
    return pl.format("{} %", (100 * share).round(1))
