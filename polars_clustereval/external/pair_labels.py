"""pair_labels: scores of a clustering from labels of pairs of ids, such as those of reviewers.

A row of the frame of pairs says whether its two ids, `left` and `right`, in either order, are a
match. Rows with the same two ids are one pair, and must have the same label. If the frame of pairs
lacks a partition column, the pairs hold for every value of it.
"""

from __future__ import annotations

from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from polars_clustereval.base.checks import (
    check_column,
    check_confidence,
    check_frame,
    check_is_frame,
    check_partition_keys,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.exact import ratio, wilson_limit
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
from .graph_counts import NODES, Graph, GraphColumns, read_graph
from .pair_counting import pair_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

_KINDS = ("tp", "fp", "fn", "tn")
_PAIR_LABEL_COUNTS = (
    *("n", "n_dropped", "n_noise"),
    *("n_pairs", "n_dropped_pairs", "n_self_pairs", "n_duplicate_pairs"),
)
#: The kinds of pairs that make a ratio too low, by its name.
_WRONG = {"pair_precision": ("fp",), "pair_recall": ("fn",), "pair_f_score": ("fp", "fn")}
_PAIR_LABEL_COLUMNS = (
    *(*_PAIR_LABEL_COUNTS, *_KINDS),
    *(f"{name}{end}" for name in _WRONG for end in ("", "_lower", "_upper")),
)

# ----------------------------------------------------------------------------------------------
# Columns of pairs
# ----------------------------------------------------------------------------------------------


def _check_pair_values(facts: pl.DataFrame) -> None:
    """Raise an error if a label is neither 0 nor 1, or a weight is not a number > 0."""
    is_label, label, is_weight, weight = facts.row(0)
    if is_label:
        raise ClusterEvalError(
            f"is_match: expected booleans, or the numbers 0 and 1, got {show_value(label)}; "
            "compare a score with a threshold first"
        )
    if is_weight:
        raise ClusterEvalError(
            f"weight: expected numbers > 0 (from 1e-100 to 1e100), got {show_value(weight)}; "
            "a weight is 1 / the probability that the pair was drawn"
        )


def _read_labels(
    frame: Any, pairs: object, is_match: Column, weight: Column | None, partition_by: Keys
) -> tuple[pl.LazyFrame, pl.Expr]:
    """Return the frame of pairs with all partition columns, and the signed weight of a pair.

    The signed weight is negative for a pair that is not a match, and NULL without a label.
    """
    lazy = check_is_frame(pairs, "pairs")
    label = check_column(lazy, is_match, "is_match")
    dtype = lazy.select(label).collect_schema()["is_match"]
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise ClusterEvalError(
            "is_match: expected booleans, or the numbers 0 and 1, got a column of type "
            f"{dtype}; cast it to booleans"
        )
    given = pl.lit(1.0) if weight is None else check_column(lazy, weight, "weight")
    dtype = lazy.select(weight=given).collect_schema()["weight"]
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise ClusterEvalError(
            f"weight: expected numbers > 0, got a column of type {dtype}; cast it to numbers"
        )
    number, size = label.cast(pl.Float64), given.cast(pl.Float64)
    is_wrong = ~number.is_in([0.0, 1.0]) & number.is_not_null()
    is_outside = ~size.is_between(1e-100, 1e100).fill_null(False)
    names = check_partition_keys(check_frame(frame), partition_by, ())
    known = lazy.collect_schema().names()
    missing = [name for name in names.values() if name not in known]
    facts = lazy.select(
        is_label=is_wrong.any(),
        label=label.filter(is_wrong).first(),
        is_weight=is_outside.any(),
        weight=given.filter(is_outside).first() if weight is not None else None,
    )
    checked = raise_on_collect(lazy, facts, _check_pair_values)
    if missing:
        checked = checked.join(frame.lazy().select(missing).unique(), how="cross")
    return checked, pl.when(number == 1).then(size).when(number == 0).then(-size)


# ----------------------------------------------------------------------------------------------
# Labeled pairs
# ----------------------------------------------------------------------------------------------


def _check_same_labels(faults: pl.DataFrame) -> None:
    """Raise an error if `faults` has a row: a pair whose rows have different labels or weights."""
    for fault, one, two in faults.rows():
        parameter = "is_match" if fault == "label" else fault
        raise ClusterEvalError(
            f"{parameter}: expected one {fault} per pair, got different ones for the ids "
            f"{show_value(one)} and {show_value(two)}; leave only one row of each pair"
        )


class _LabeledPairs(Graph):
    """A graph whose edges are the pairs. Their weights are signed (see _read_labels)."""

    #: The node with the lower id comes first in a pair.
    sorts_ids: ClassVar[bool] = True

    @cached_property
    def pairs(self) -> pl.LazyFrame:
        """One row per pair of nodes, with its number of rows, and of rows with a label.

        The columns least and greatest contain the extremes of the signed weights. In each
        partition, a row in which `pair` is NULL represents all pairs with an end that is not in any
        cluster. Collecting the frame raises an error if the rows of a pair differ.
        """
        signed = pl.col("weight")
        pairs = self.rows_of_pairs.group_by(*self.keys, "pair").agg(
            is_linked=(pl.col("low_cluster") == pl.col("high_cluster")).first(),
            least=signed.min(),
            greatest=signed.max(),
            n_labeled=signed.count().cast(pl.Int64),
            n_rows=pl.len().cast(pl.Int64),
        )
        low, high = (
            (pl.col("pair") // NODES).cast(pl.Int64),
            (pl.col("pair") % NODES).cast(pl.Int64),
        )
        pairs = pairs.with_columns(low=low, high=high).cache()
        faults = pairs.filter(pl.col("low") < pl.col("high"), pl.col("least") < pl.col("greatest"))
        is_label = (pl.col("least") < 0) & (pl.col("greatest") > 0)
        fault = pl.when(is_label).then(pl.lit("label")).otherwise(pl.lit("weight"))
        faults = faults.select("low", "high", fault=fault)
        for end in ("low", "high"):
            ids = self.nodes.select(pl.col("node").alias(end), pl.col("id").alias(f"{end}_id"))
            faults = join_small(faults, [end], ids)
        worst = faults.select("fault", "low_id", "high_id")
        worst = worst.sort("fault", "low_id", "high_id").head(1)
        return self.with_pair_check(raise_on_collect(pairs, worst, _check_same_labels))

    def counts(self) -> pl.LazyFrame:
        """Return n, n_dropped and n_noise for each partition."""
        is_noise = pl.col("is_noise")
        is_out = is_noise if self.options.noise_as == "drop" else pl.lit(False)
        terms = {
            "n": (pl.col("times") > 0) & ~is_out,
            "n_dropped": pl.col("n_dropped"),
            "n_noise": is_noise,
        }
        terms = {name: x.cast(pl.Int64) for name, x in terms.items()}
        return sum_by(self.ids, list(self.keys), terms)

    def pair_sums(self) -> pl.LazyFrame:
        """Return the sums over the pairs of each partition.

        These are counts of rows, the sums of the weights by kind of pair, tp_squares, fp_squares
        and fn_squares, sums of their squares, and largest, the largest weight.
        """
        n_rows, n_labeled, size = pl.col("n_rows"), pl.col("n_labeled"), pl.col("least").abs()
        is_match, is_linked = pl.col("least") > 0, pl.col("is_linked")
        kinds = {
            "tp": is_linked & is_match,
            "fp": is_linked & ~is_match,
            "fn": ~is_linked & is_match,
            "tn": ~is_linked & ~is_match,
        }
        is_pair = (pl.col("low") < pl.col("high")) & (n_labeled > 0)
        is_self = pl.col("low") == pl.col("high")
        is_whole = pl.col("pair").is_not_null()
        weight = {name: pl.when(is_pair & x).then(size).otherwise(0.0) for name, x in kinds.items()}
        terms = {
            "n_pairs": pl.when(is_pair).then(1).otherwise(0),
            "n_dropped_pairs": n_rows - pl.when(is_whole).then(n_labeled).otherwise(0),
            "n_self_pairs": pl.when(is_self).then(n_labeled).otherwise(0),
            "n_duplicate_pairs": pl.when(is_pair).then(n_labeled - 1).otherwise(0),
        }
        terms = {name: x.cast(pl.Int64).sum() for name, x in terms.items()}
        terms |= {name: x.sum() for name, x in weight.items()}
        terms |= {f"{name}_squares": (x * x).sum() for name, x in weight.items()}
        terms["largest"] = size.filter(is_pair).max()
        return aggregate_by(self.pairs, list(self.keys), terms)


# ----------------------------------------------------------------------------------------------
# Scores
# ----------------------------------------------------------------------------------------------


def _lower_limit(
    good: pl.Expr, good_squares: pl.Expr, bad: pl.Expr, bad_squares: pl.Expr, z: float
) -> pl.Expr:
    """Return the lower limit of the ratio good / (good + bad) of sums of weights.

    It is Wilson's limit, with the effective sample size ratio (1 - ratio) / (linearized variance).
    For equal weights, this is the number of pairs. Because the sample may lack the pairs that were
    drawn rarely, a bad pair is added that has as much weight as the largest weight exceeds the mean
    weight, in which each pair counts as often as its weight. Sums of squares belong to each sum of
    weights, and a sum of 0 stands for pairs of the largest weight.
    """
    largest, total = pl.col("largest"), good + bad
    excess = (largest - ratio(good_squares + bad_squares, total)).clip(0)
    bad, bad_squares, total = bad + excess, bad_squares + excess * largest, total + excess
    mean_good, mean_bad = (
        ratio(squares, x).fill_null(largest)
        for squares, x in ((good_squares, good), (bad_squares, bad))
    )
    spread = ratio(z * z * (bad * mean_good + good * mean_bad), total * total)
    return wilson_limit(ratio(good, total), ratio(good * bad, total * total), spread, -1).clip(0)


def _limits(name: str, z: float) -> Terms:
    """Return the lower and upper limits of a score.

    Those of the F score follow from those of the Jaccard index J of the pairs, as 2 J / (1 + J).
    """
    tp, tp_squares = pl.col("tp"), pl.col("tp_squares")
    wrong = pl.sum_horizontal(_WRONG[name])
    squares = pl.sum_horizontal(f"{x}_squares" for x in _WRONG[name])
    limits = {
        f"{name}_lower": _lower_limit(tp, tp_squares, wrong, squares, z),
        f"{name}_upper": 1 - _lower_limit(wrong, squares, tp, tp_squares, z),
    }
    if name != "pair_f_score":
        return limits
    return {limit: 2 * jaccard / (1 + jaccard) for limit, jaccard in limits.items()}


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("pair labels", guide="entity_resolution")
def pair_label_report(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    pairs: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    is_match: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
    confidence: float = 0.95,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Pair precision, recall and F score, computed from labels of pairs, with intervals.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The clustering, one row per id. A LazyFrame is read when you collect the result.
    id, cluster : str or Expr
        The columns of `frame` with the id and the cluster of each row. An id must not have more
        than one row with a cluster.
    pairs : DataFrame or LazyFrame
        The labeled pairs, for example those that a reviewer has judged. Rows with the same two ids,
        in either order, count as one pair.
    left, right : str or Expr
        The columns of `pairs` with the two ids, which must have the same type as id.
    is_match : str or Expr
        The column of `pairs` that tells whether the two ids belong together: booleans, or the
        numbers 0 and 1. Rows without a label are left out.
    weight : str or Expr, optional
        A column of `pairs` that contains numbers > 0: 1 divided by the probability that the pair
        was drawn. By default, each pair has weight 1.
    partition_by : str, Expr or sequence of these, optional
        Columns of `frame` that define the groups to evaluate separately, such as runs or
        thresholds. If `pairs` does not have such a column, its pairs hold for every value of it.
        Pairs of a partition that `frame` does not have are ignored. NULL is also a partition.
    noise : object, optional
        The cluster value that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise is treated as an ordinary cluster, left out, or treated as one cluster per
        id.
    confidence : float
        The probability with which an interval covers the score of all pairs, between 0 and 1.
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work that is needed only for other columns is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted by partition. The result has the
        partition columns and the following columns:

        - n: the number of ids.
        - n_dropped: the number of rows without a cluster.
        - n_noise: the number of noise ids.
        - n_pairs: the number of labeled pairs of two ids that have a cluster.
        - n_dropped_pairs: the number of rows of `pairs` that have no label, or an id that has no
          cluster.
        - n_self_pairs: the number of rows of `pairs` whose two ids are the same. They are left out.
        - n_duplicate_pairs: the number of rows of `pairs` that repeat a pair.
        - tp, fp: the weight of the labeled pairs in the same cluster that are a match, and that are
          not.
        - fn, tn: the weight of the labeled pairs in different clusters that are a match, and that
          are not.
        - pair_precision (range [0, 1], best 1): tp / (tp + fp).
        - pair_recall (range [0, 1], best 1): tp / (tp + fn).
        - pair_f_score (range [0, 1], best 1): 2 tp / (2 tp + fp + fn).
        - pair_precision_lower, pair_precision_upper, pair_recall_lower, pair_recall_upper,
          pair_f_score_lower, pair_f_score_upper: the limits of the interval of each score.

        A score that would be 0/0 is NULL, and so are its limits. If there are no rows, n is 0 and
        every score is NULL, unless you pass partition_by, in which case the result is empty.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if the ids of the two frames have different types, if labels
        are neither booleans nor numbers, or if an option is unknown. When you collect the result,
        the error is also raised if an id is NULL or has several rows with a cluster, if a label is
        a number other than 0 and 1, if a weight is NULL or not from 1e-100 to 1e100, if rows of the
        same pair have different labels or weights, or if there are ids and pairs, but no pair joins
        two ids that have a cluster.

    Notes
    -----
    The scores are those of the labeled pairs, and estimate those of all pairs only if the pairs
    were drawn at random, or if weight tells how. Labeled pairs are usually chosen by their match
    score, so the recall among them is not the recall of all pairs.

    Without weights, the limits of precision and recall are those of Wilson. With weights, the
    scores are ratios of sums of weights (Hajek), and the limits are Wilson's with an effective
    sample size, which is computed from the linearized variance of the ratio. Because the sample may
    lack the pairs that were drawn rarely, they take account of one more wrong pair that has the
    largest weight; intervals are therefore wide if weights differ a lot. The F score is computed
    from the Jaccard index J = tp / (tp + fp + fn) as 2 J / (1 + J), and so are its limits. In SQL:
    ``FROM clustereval.pair_label_report(tbl, id, cluster, pairs, "left", "right", is_match)``.

    References
    ----------
    Christen (2012), Data matching, doi:10.1007/978-3-642-31164-2. Wilson (1927), Probable
    inference, the law of succession, and statistical inference,
    doi:10.1080/01621459.1927.10502953. Särndal, Swensson and Wretman (1992), Model assisted survey
    sampling, doi:10.1007/978-1-4612-4378-6.

    Examples
    --------
    The third pair is a match that the clustering has missed:

    >>> people = pl.DataFrame({"id": ["a", "b", "c", "d"], "cluster": [1, 1, 1, 2]})
    >>> rows = [("a", "b", True), ("b", "c", False), ("c", "d", True), ("a", "d", False)]
    >>> labels = pl.DataFrame(rows, schema=["left", "right", "is_match"], orient="row")
    >>> columns = ("id", "cluster", labels, "left", "right", "is_match")
    >>> report = ce.pair_label_report(people, *columns)
    >>> report.select("n_pairs", "pair_precision", "pair_recall").rows()
    [(4, 0.5, 0.5)]
    """
    z = -NormalDist().inv_cdf((1 - check_confidence(confidence)) / 2)
    options = pass_arguments_to(LabelOptions, weight=None)
    ends, signed = pass_arguments_to(_read_labels)
    columns = pass_arguments_to(GraphColumns, weight=signed, edge_name="pairs")
    graph = read_graph(frame, ends, columns, options, _PAIR_LABEL_COLUMNS)
    parts = (graph.rows, graph.ends, graph.keys, graph.options, graph.id_type)
    found = _LabeledPairs(*parts, graph.table)
    keys = list(found.keys)
    rows = join_partitions(found.counts(), keys, found.pair_sums(), how="left")
    rows = rows.with_columns(pl.col(_PAIR_LABEL_COUNTS).fill_null(0), pl.col(_KINDS).fill_null(0.0))
    scores = pair_scores(pl.col)
    limits = {limit: x for name in _WRONG for limit, x in _limits(name, z).items()}
    rows = rows.with_columns(**{name: scores[name] for name in _WRONG}, **limits)
    rows = rows.select(*keys, *_PAIR_LABEL_COLUMNS)
    rows = rows.sort(keys, nulls_last=True) if keys else rows
    return to_user_frame(frame, rows, found.keys, metrics)
