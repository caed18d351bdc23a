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
    from collections.abc import Callable, Iterable

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


def _metric_weights(beta: float) -> dict[str, tuple[pl.Expr, pl.Expr, pl.Expr]]:
    """Return each metric's weights for a row's pairs, computed from the column cluster_size.

    They are weights for right pairs, and for wrong ones with the same cluster or the same label.
    """
    none, one = pl.lit(0.0), pl.lit(1.0)
    share = 1 / to_double(pl.col("cluster_size"))
    # The weight of a wrong pair in the F score, relative to that of a right pair.
    f_weight = 1 / (1 + beta * beta)
    return {
        "pair_precision": (one, one, none),
        "pair_recall": (one, none, one),
        "pair_f_score": (one, pl.lit(f_weight), pl.lit(1 - f_weight)),
        "bcubed_precision": (share, share, none),
    }


def _record_pairs(labeled: ContingencyTable, clusters: pl.LazyFrame, beta: float) -> pl.LazyFrame:
    """Return records, the number of rows, and the pair weights of each cell of the labeled rows.

    Each row forms a pair with every other labeled row. For each metric, right_ and wrong_ are the
    total weights of a row's right pairs and wrong pairs, and right_squares_ and wrong_squares_ are
    the corresponding sums of squared weights.
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
    for name, (u, v, w) in _metric_weights(beta).items():
        terms[f"right_{name}"] = u * both
        terms[f"wrong_{name}"] = v * same_cluster + w * same_label
        terms[f"right_squares_{name}"] = u * u * both
        terms[f"wrong_squares_{name}"] = v * v * same_cluster + w * w * same_label
    return cells.select(*keys, records=to_double(n * pl.col("copies")), **terms).cache()


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


def _jackknife_terms(name: str) -> Terms:
    """Return sums over the changes in the share of right pairs caused by omitting each row.

    The sum of squares is jackknife_, and the sum of fourth powers is fourths_. Both are NULL if one
    row is part of every pair.
    """
    all_right, all_wrong = pl.col(f"all_right_{name}"), pl.col(f"all_wrong_{name}")
    right, wrong = pl.col(f"right_{name}"), pl.col(f"wrong_{name}")
    whole = all_right + all_wrong
    change = 2 * ratio(
        right * ratio(all_wrong, whole) - wrong * ratio(all_right, whole),
        whole - 2 * (right + wrong),
    )
    # A pair is counted from both of its rows. Equal sums can differ by rounding errors.
    can_delete = 2 * pl.col(f"most_{name}") < whole * 0.999999999
    return {
        f"{term}_{name}": pl.when(can_delete.first()).then(
            (pl.col("records") * change**power).sum()
        )
        for term, power in (("jackknife", 2), ("fourths", 4))
    }


def _record_estimate_terms(name: str) -> Terms:
    """Return the columns of ESTIMATE_PARTS of one metric, based on the sums of a partition.

    The jackknife estimate counts the variance due to single rows once and the variance due to pairs
    of rows twice (Efron and Stein 1981). With few labels, nearly all of the jackknife estimate is
    due to pairs. Therefore, the variance of pairs, computed as if pairs were drawn one by one, is
    subtracted once. At least half of the jackknife estimate remains, because the variance due to
    single rows is not negative. The standard error is 0 if all rows are labeled, and otherwise NULL
    if no pair is right, if no pair is wrong, or if one row is part of every pair.

    B-cubed precision is a mean over rows. Each row also forms a right pair with itself, and its
    pairs with the other rows in its cluster have a weight of 1 / cluster_size.
    """
    all_right, all_wrong = pl.col(f"all_right_{name}"), pl.col(f"all_wrong_{name}")
    whole = all_right + all_wrong
    share, other = ratio(all_right, whole), ratio(all_wrong, whole)
    squares = other**2 * pl.col(f"all_right_squares_{name}")
    squares += share**2 * pl.col(f"all_wrong_squares_{name}")
    of_pairs = ratio(2 * squares, whole * whole)
    unlabeled, jackknife = 1 - pl.col("labeled_share"), pl.col(f"jackknife_{name}")
    variance = unlabeled * pl.max_horizontal(jackknife - unlabeled * of_pairs, jackknife / 2)
    error = (
        pl.when((whole > 0) & (unlabeled == 0))
        .then(0.0)
        .when((all_right > 0) & (all_wrong > 0))
        .then(variance.sqrt())
    )
    own = 1 / pl.col("rows_per_cluster") if name == "bcubed_precision" else pl.lit(0.0)
    fourths, n = pl.col(f"fourths_{name}"), pl.col("n_labeled")
    # A pair counts from both of its rows, so as many equal rows have half as many pairs.
    concentration = 2 * ratio(pl.col(f"row_squares_{name}"), whole * whole)
    return {
        f"value_{name}": own + (1 - own) * share,
        f"std_error_{name}": (1 - own) * error,
        f"interval_error_{name}": (1 - own) * error,
        f"freedom_{name}": estimate_freedom(jackknife, fourths, n),
        f"concentration_{name}": pl.when(unlabeled == 0).then(0.0).otherwise(concentration),
    }


def estimate_from_records(
    labeled: ContingencyTable, clusters: pl.LazyFrame, totals: pl.LazyFrame, beta: float
) -> pl.LazyFrame:
    """Return the columns of ESTIMATE_PARTS of every estimable metric for each partition.

    `clusters` contains the cluster sizes, counted over all rows. `totals` has n_labeled,
    labeled_share and rows_per_cluster of each partition.
    """
    keys, metrics = list(labeled.keys), list(_metric_weights(beta))
    pairs = _record_pairs(labeled, clusters, beta)
    # This is cached, because a second evaluation may yield sums that differ in the last digit.
    sums = aggregate_by(pairs, keys, terms_of_metrics(_sums_of_weights, metrics)).cache()
    changes = terms_of_metrics(_jackknife_terms, metrics)
    jackknives = aggregate_by(join_partitions(pairs, keys, sums), keys, changes)
    estimates = terms_of_metrics(_record_estimate_terms, metrics)
    return join_partitions(sums, keys, jackknives, totals).select(*keys, **estimates)


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
