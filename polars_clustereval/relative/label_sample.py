"""Estimates of external metrics, computed from the true labels of sampled entities.

Only some entities are labeled, but all rows of a labeled entity have its label. Every metric is the
quotient of two sums over all entities. The estimate of a metric is the quotient of two weighted
means over the sampled entities, where the weight of an entity is inversely proportional to its
probability of being drawn. The size of a cluster includes its unlabeled rows, because a cluster
that joins a sampled entity with other entities is wrong, whether or not the other entities have
labels.

If random rows were labeled instead of whole entities, the estimates are computed by the module
record_sample.
"""

from __future__ import annotations

from math import log1p
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from polars_clustereval.base.checks import (
    check_beta,
    check_choice,
    check_confidence,
    check_frame,
    check_groupable,
    check_metrics,
    check_sampling_fraction,
)
from polars_clustereval.base.exact import (
    count_ordered_pairs,
    estimate_freedom,
    ratio,
    squared_t_quantile,
    to_double,
    widen,
    wilson_limit,
)
from polars_clustereval.base.frames import add_stages, aggregate_by, join_partitions, join_small
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.base.text_frame import show_whole_texts
from polars_clustereval.external.contingency import (
    ContingencyTable,
    LabelOptions,
    read_contingency_table,
)

from .record_sample import (
    ESTIMATE_PARTS,
    change_by_record,
    contradiction,
    estimate_from_records,
    record_difference_errors,
    spread_labels,
    terms_of_metrics,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.frames import Row, Terms

#: What was drawn and labeled: entities, each with the same probability; the entities of random
#: rows; or random rows, whatever their entity.
SampleDesign = Literal["uniform", "by_record", "records"]
_DESIGNS = ("uniform", "by_record", "records")

# ----------------------------------------------------------------------------------------------
# Terms of the entities
# ----------------------------------------------------------------------------------------------


class LabelSample(NamedTuple):
    """How the labels were drawn, and the weight of recall in the F scores."""

    design: str
    #: The share of the rows that were drawn, 0 if negligible, None if unknown.
    fraction: float | None
    beta: float


def _sampling_terms(size: pl.Expr, sample: LabelSample) -> Terms:
    """Return an entity's weight, and the probability `missed` that it is not drawn.

    An entity is drawn if one of its rows is drawn, and each row is drawn with the probability
    `fraction`. If this probability is 0, that is negligible or unknown, the weight is its limit.
    """
    rate = -log1p(-(sample.fraction or 0.0))
    missed = (-rate * size).exp()
    weight = 1 / size if sample.design == "by_record" else pl.lit(1.0)
    if rate:
        # The denominator is 1 - missed, without losing digits for a small fraction.
        weight = rate / ((rate * size / 2).tanh() * (1 + missed))
    return {"weight": weight, "missed": missed}


def _entity_terms(
    labeled: ContingencyTable, clusters: pl.LazyFrame, sample: LabelSample
) -> pl.LazyFrame:
    """Return one row per label, with the terms that the metrics need.

    The term `size` is the number of rows with the label, and `linked` is the number of their
    ordered pairs in the same cluster. The term `links` is the number of ordered pairs of a row with
    the label and any other row in its cluster. The terms `precision` and `recall` are sums of
    B-cubed precision and recall. The term `exact` is 1 if the rows with the label are exactly the
    rows of a cluster, and 0 otherwise. For weight and missed, see _sampling_terms. `clusters`
    contains the cluster sizes, counted over all rows.
    """
    keys = list(labeled.keys)
    sizes = clusters.select(*keys, "cluster", "cluster_size")
    cells = join_small(labeled.cells, [*keys, "cluster"], sizes)
    n, copies, cluster_size = pl.col("n"), pl.col("copies"), pl.col("cluster_size")
    squares = to_double(n) * to_double(n) * to_double(copies)
    labels = cells.group_by(*keys, "label").agg(
        size=to_double((n * copies).sum()),
        linked=to_double((count_ordered_pairs(n) * copies).sum()),
        links=to_double((widen(n * copies) * widen(cluster_size - 1)).sum()),
        precision=(squares / to_double(cluster_size)).sum(),
        squares=squares.sum(),
        whole_cluster=pl.when(n == cluster_size).then(n).otherwise(0).max(),
    )
    size = pl.col("size")
    return labels.select(
        *(*keys, "label", "size", "linked", "links", "precision"),
        recall=pl.col("squares") / size,
        exact=(to_double(pl.col("whole_cluster")) == size).cast(pl.Float64),
        **_sampling_terms(size, sample),
    ).cache()


def _bcubed_slopes(entities: pl.LazyFrame, keys: list[str], beta: float) -> pl.LazyFrame:
    """Return the derivatives of the B-cubed F score, precision_slope and recall_slope.

    They are evaluated at the estimates of precision and recall, and set to 0 if both of these are
    0.
    """
    weight = pl.col("weight")
    sums = {name: (weight * pl.col(name)).sum() for name in ("precision", "recall", "size")}
    totals = aggregate_by(entities, keys, sums)
    p, r = (ratio(pl.col(name), pl.col("size")) for name in ("precision", "recall"))
    scale = ratio(pl.lit(1 + beta**2), (beta**2 * p + r) ** 2)
    return totals.select(
        *keys,
        precision_slope=(scale * r * r).fill_null(0),
        recall_slope=(scale * beta**2 * p * p).fill_null(0),
    )


def _metric_terms(row: Row, beta: float) -> dict[str, tuple[pl.Expr, pl.Expr]]:
    """Return an entity's two terms for each metric, keyed by the metric's name.

    A metric is the quotient of its two terms after each has been summed over all entities. The
    columns are those of _entity_terms and _bcubed_slopes, and rows_per_cluster, a mean.
    """
    size, linked, links, exact = row("size"), row("linked"), row("links"), row("exact")
    precision, recall, per_cluster = row("precision"), row("recall"), row("rows_per_cluster")
    pairs, one, square = size * (size - 1), pl.lit(1.0), beta**2
    f_score = row("precision_slope") * precision + row("recall_slope") * recall
    return {
        "pair_precision": (linked, links),
        "pair_recall": (linked, pairs),
        "pair_f_score": ((1 + square) * linked, square * pairs + links),
        "bcubed_precision": (precision, size),
        "bcubed_recall": (recall, size),
        "bcubed_f_score": (f_score, size),
        "exact_match_precision": (per_cluster * exact, size),
        "exact_match_recall": (exact, one),
        "exact_match_f_score": ((1 + square) * per_cluster * exact, square * per_cluster + size),
        "matching_rate": (pl.when(size > 1).then(size).otherwise(0.0), size),
        "average_label_size": (size, one),
    }


# ----------------------------------------------------------------------------------------------
# Quotients of means
# ----------------------------------------------------------------------------------------------


def _change_by_label(entities: pl.LazyFrame, keys: list[str], beta: float) -> pl.LazyFrame:
    """Return n_labels and, for each metric, the terms of _share_terms, in one row per label."""
    metrics = _metric_terms(pl.col, beta)
    weighted = entities.select(
        *(*keys, "label", "missed"),
        *((pl.col("weight") * top).alias(f"top_{name}") for name, (top, _) in metrics.items()),
        *((pl.col("weight") * low).alias(f"bottom_{name}") for name, (_, low) in metrics.items()),
    )
    means = {
        f"mean_{part}_{name}": pl.col(f"{part}_{name}").mean()
        for name in metrics
        for part in ("top", "bottom")
    }
    # This is cached, because a second evaluation may yield means that differ in the last digit.
    totals = aggregate_by(weighted, keys, {"n_labels": pl.len().cast(pl.Float64), **means}).cache()
    shares = terms_of_metrics(_share_terms, metrics)
    joined = join_partitions(weighted, keys, totals)
    return joined.select(*keys, "label", "missed", "n_labels", **shares).cache()


def _mean_quotients(changes: pl.LazyFrame, keys: list[str], beta: float) -> pl.LazyFrame:
    """Return the columns of ESTIMATE_PARTS for each metric, with one row per partition.

    The value is the quotient of the means of the metric's two terms, minus the first-order bias of
    this quotient. The standard error is computed by the delta method, and is NULL if there are
    fewer than 2 labels or if a mean is 0. `changes` is the result of _change_by_label.
    """
    metrics = _metric_terms(pl.col, beta)
    sums = terms_of_metrics(_deviation_sums, metrics)
    found = aggregate_by(changes, keys, {"n_labels": pl.col("n_labels").first(), **sums})
    return found.select(*keys, **terms_of_metrics(_estimate_terms, metrics))


def _label_difference_errors(
    changes: Sequence[pl.LazyFrame], keys: list[str], beta: float
) -> pl.LazyFrame:
    """Return std_error_ and freedom_ of the difference of each metric, by the jackknife.

    `changes` are the results of _change_by_label for both clusterings. The errors are NULL if a
    label decides a value alone.
    """
    metrics, n = list(_metric_terms(pl.col, beta)), pl.col("n_labels")
    effects = terms_of_metrics(_effect_terms, metrics)
    first, second = (
        side.select(*keys, "label", "missed", "n_labels", **effects) for side in changes
    )
    rows = join_small(first, [*keys, "label"], second.drop("missed", "n_labels"))
    sums, found = {"n_labels": n.first()}, {}
    for name in metrics:
        change = pl.col(f"effect_{name}") - pl.col(f"effect_{name}_right")
        square = pl.col("missed") * change**2
        sums[f"squares_{name}"] = pl.when(square.null_count() == 0).then(square.sum())
        sums[f"fourths_{name}"] = (square**2).sum()
        total, fourths = pl.col(f"squares_{name}"), pl.col(f"fourths_{name}")
        found[f"std_error_{name}"] = (total * (n - 1) / n**3).sqrt()
        found[f"freedom_{name}"] = estimate_freedom(total, fourths, n)
        found[f"skew_{name}"] = pl.lit(0.0)
    return aggregate_by(rows, keys, sums).select(*keys, **found)


def _share_terms(name: str) -> Terms:
    """Return share_, the bottom term divided by its mean, and deviation_, the top's minus it.

    quotient_ is the quotient of the means.
    """
    top, bottom = (
        ratio(pl.col(f"{part}_{name}"), pl.col(f"mean_{part}_{name}")) for part in ("top", "bottom")
    )
    quotient = ratio(pl.col(f"mean_top_{name}"), pl.col(f"mean_bottom_{name}"))
    return {
        f"share_{name}": bottom,
        f"deviation_{name}": top - bottom,
        f"quotient_{name}": quotient,
    }


def _effect_terms(name: str) -> Terms:
    """Return n_labels times the change in the quotient when an entity is deleted.

    A quotient of 0 does not change. The change is NULL if the entity is all of the bottom term.
    """
    quotient, share = pl.col(f"quotient_{name}"), pl.col(f"share_{name}") / pl.col("n_labels")
    effect = quotient * pl.col(f"deviation_{name}") / (1 - share)
    # A larger share is 1, up to rounding errors.
    is_other = ~(share > 0.999999999)
    effect = pl.when(quotient == 0).then(0.0).otherwise(effect)
    return {f"effect_{name}": pl.when(is_other).then(effect)}


def _deviation_sums(name: str) -> Terms:
    """Return the quotient and five sums over a partition's entities, from _share_terms.

    The value deleted_ is the sum of the squared changes of the quotient when an entity is deleted,
    relative to the quotient and times the number of entities, and fourths_ is the sum of their
    fourth powers.
    """
    share, deviation = pl.col(f"share_{name}"), pl.col(f"deviation_{name}")
    square = pl.col("missed") * deviation**2
    deleted = ratio(square, (1 - share / pl.col("n_labels")) ** 2)
    return {
        f"bias_{name}": (pl.col("missed") * share * deviation).sum(),
        f"squares_{name}": square.sum(),
        f"weights_{name}": (share**2).sum(),
        f"deleted_{name}": deleted.sum(),
        f"fourths_{name}": (deleted**2).sum(),
        f"quotient_{name}": pl.col(f"quotient_{name}").first(),
    }


def _estimate_terms(name: str) -> Terms:
    """Compute the columns of ESTIMATE_PARTS of one metric from _deviation_sums."""
    n, deleted = pl.col("n_labels"), pl.col(f"deleted_{name}")
    quotient = pl.col(f"quotient_{name}")
    bias = ratio(pl.col(f"bias_{name}"), n * (n - 1)).fill_null(0)
    error = quotient * ratio(pl.col(f"squares_{name}"), n * (n - 1)).sqrt()
    value = quotient * (1 + bias)
    at_most_1 = value if name == _SIZE else pl.when(value > 1).then(1.0).otherwise(value)
    return {
        f"value_{name}": at_most_1,
        f"std_error_{name}": pl.when(quotient != 0).then(error),
        f"interval_error_{name}": quotient * (deleted * (n - 1) / n**3).sqrt(),
        f"freedom_{name}": estimate_freedom(deleted, pl.col(f"fourths_{name}"), n),
        f"concentration_{name}": pl.col(f"weights_{name}") / n**2,
    }


def _list_estimates(metrics: Sequence[str], estimated: list[str]) -> pl.Expr:
    """Return lists of one struct per metric, with place, metric and ESTIMATE_PARTS.

    All parts are NULL if there is a contradiction or if the metric is not in `estimated`.
    """
    is_sound, nothing = pl.col("contradiction").is_null(), pl.lit(None, pl.Float64)
    structs = []
    for place, name in enumerate(metrics):
        parts = (
            (pl.when(is_sound).then(f"{part}_{name}") if name in estimated else nothing).alias(part)
            for part in ESTIMATE_PARTS
        )
        structs.append(
            pl.struct(pl.lit(place).alias("place"), pl.lit(name).alias("metric"), *parts)
        )
    return pl.concat_list(structs).alias("estimates")


# ----------------------------------------------------------------------------------------------
# Intervals
# ----------------------------------------------------------------------------------------------

#: The only metric that is not a share.
_SIZE = "average_label_size"
#: The quotients whose numerator is not a part of the denominator.
QUOTIENTS = ("exact_match_precision", "exact_match_f_score", _SIZE)
#: An interval needs entities that weigh as much as this many equal ones.
_FEWEST_ENTITIES = 6
#: If a uniform sample's rows have fewer neighbors than this share of the mean, it has no interval.
_FEWEST_NEIGHBORS = 0.6
#: A larger expected number of draws of an entity needs the sampling fraction.
_MOST_DRAWS = 0.25
#: Terms smaller than this are rounding errors.
_ROUNDED = 1e-12


def _find_reason(sample: LabelSample, estimated: list[str]) -> pl.Expr:
    """Return text that explains why a metric has no value or interval, or NULL if it has both."""
    metric, value, error = pl.col("metric"), pl.col("value"), pl.col("interval_error")
    n_draws = pl.col("n_labels") * (pl.col("largest_label") / pl.col("total"))
    nearby, neighbors = pl.col("labeled_neighbors"), pl.col("neighbors")
    is_few = pl.col("concentration") * _FEWEST_ENTITIES > 1 + _ROUNDED
    lacks_error = error.is_null() & (value * (1 - value) > _ROUNDED)
    lacks_large = (nearby < _FEWEST_NEIGHBORS * neighbors) & (metric != "exact_match_recall")
    is_constant = metric.is_in(QUOTIENTS) & ~(error > _ROUNDED * value)
    needs_fraction = (n_draws > _MOST_DRAWS) & (sample.fraction is None)
    no_size = "labels of random records do not tell how many rows an entity has"
    large = "a label with {} of {} rows may have been drawn more than once: pass sampling_fraction"
    lack = "large entities are missing: labeled rows have below 60 % of the neighbors of all rows"
    few = f"the labeled entities weigh less than {_FEWEST_ENTITIES} equal ones"
    constant = "the labeled entities do not differ in what the metric counts"
    design, is_records = sample.design, sample.design == "records"
    return pl.coalesce(
        _when(pl.col("labeled_share").fill_null(0) == 0, "no rows with a label and a cluster"),
        pl.when(pl.col("contradiction").is_not_null()).then("contradiction"),
        _when(~metric.is_in(estimated), no_size),
        _when(value.is_null(), "the labeled rows have no pairs to judge it by"),
        _when(is_records & lacks_error, "the labeled rows have too few pairs for an interval"),
        _when((design == "by_record") & needs_fraction, large, "largest_label", "total"),
        _when((design == "uniform") & lacks_large, lack),
        _when(is_few & (not is_records), few),
        _when(is_constant & (not is_records), constant),
    )


def _when(condition: pl.Expr, text: str, *parts: pl.Expr | str) -> pl.Expr:
    """Return `text`, with its placeholders filled with `parts`, where the condition is true."""
    return pl.when(condition).then(pl.format(text, *parts))


def _interval_widths(row: Row, z: float) -> Terms:
    """Return spread, factor and bound, from which _interval_limits computes the limits.

    spread is t^2 / (effective sample size), for Wilson's limits. factor, for other quotients, is
    the ratio of the upper limit to the value. bound, for both, keeps the limits from being too
    narrow: the lower limit is at most bound, or value x bound for other quotients.
    """
    value, error, concentration = row("value"), row("interval_error"), row("concentration")
    squared_t, variance = squared_t_quantile(row("freedom"), z), value * (1 - value)
    # Exact matches are either right or wrong, so the sample is worth no more than its weights.
    least = pl.when(row("metric") == "exact_match_recall").then(concentration).otherwise(0)
    spread = squared_t * pl.max_horizontal(error**2 / variance, least)
    return {
        "spread": pl.when(variance > _ROUNDED).then(spread).otherwise(0),
        "factor": (squared_t.sqrt() * ratio(error, value)).clip(upper_bound=700).exp(),
        "bound": 1 / (1 + z**2 * concentration),
    }


def _interval_limits(row: Row) -> Terms:
    """Return the lower and upper limits of the interval, from _interval_widths.

    The interval of a share is Wilson's, with the effective sample size value (1 - value) / error^2
    and a quantile of Student's t. It is never nearer to 1 than an interval of the entities would be
    if none of them had an error, nor nearer to 0 than if all were wrong. The interval of the other
    quotients is symmetric in their logarithm.
    """
    value, spread, bound, factor = row("value"), row("spread"), row("bound"), row("factor")
    wilson = [wilson_limit(value, value * (1 - value), spread, side) for side in (-1, 1)]
    is_size, is_share = row("metric") == _SIZE, ~row("metric").is_in(QUOTIENTS)
    lower = pl.min_horizontal(wilson[0], bound)
    lower = pl.when(is_share).then(lower).otherwise(value * pl.min_horizontal(1 / factor, bound))
    upper = pl.max_horizontal(wilson[1], 1 - bound)
    upper = pl.when(is_share).then(upper).otherwise(value * factor)
    has_interval = row("reason").is_null()
    least, most = pl.when(is_size).then(1.0).otherwise(0.0), pl.when(~is_size).then(1.0)
    return {
        "lower": pl.when(has_interval).then(pl.max_horizontal(lower, least)),
        "upper": pl.when(has_interval).then(pl.min_horizontal(upper, most)),
    }


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------

_ESTIMATE_COLUMNS = (
    *("metric", "value", "std_error", "lower", "upper"),
    *("n_labeled_rows", "n_labeled_pairs", "reason"),
)


def _count_labeled(labeled: ContingencyTable) -> pl.LazyFrame:
    """Return n_labels, largest_label and n_labeled_pairs for each partition.

    A pair counts if its rows have the same label or the same cluster.
    """
    keys, n = list(labeled.keys), widen(pl.col("n"))
    sizes = {"n_labels": pl.len(), "largest_label": pl.col("label_size").max()}
    # Each row of a cell is in this many pairs.
    n_pairs = widen(pl.col("label_size")) + widen(pl.col("cluster_size")) - n - 1
    pairs = {"n_labeled_pairs": (n * widen(pl.col("copies")) * n_pairs).sum() // 2}
    return join_partitions(
        aggregate_by(labeled.label_sizes, keys, sizes),
        keys,
        aggregate_by(labeled.sized_cells, keys, pairs),
    )


class SampleEstimates(NamedTuple):
    """The estimates of a clustering, and the changes in them from which standard errors follow."""

    #: One row per partition and metric, with ESTIMATE_PARTS, reason, total and n_dropped.
    estimates: pl.LazyFrame
    #: The result of _change_by_label or change_by_record.
    changes: pl.LazyFrame


def check_sample(
    labels_are_sample: str, sampling_fraction: float | None, beta: float
) -> LabelSample:
    """Return how the labels were drawn, and the weight of recall, from the user's arguments."""
    check_choice("labels_are_sample", labels_are_sample, _DESIGNS)
    fraction = check_sampling_fraction(sampling_fraction, labels_are_sample)
    return LabelSample(labels_are_sample, fraction, check_beta(beta))


def estimate_sample(
    whole: ContingencyTable, labeled: ContingencyTable, sample: LabelSample, names: Sequence[str]
) -> SampleEstimates:
    """Return the estimates of the metrics `names` from the tables of all rows and labeled rows."""
    keys, beta = list(labeled.keys), sample.beta
    spread = spread_labels(labeled, whole.cluster_sizes)
    n_clusters = whole.sum_by_partition(whole.cluster_sizes, {"n_clusters": pl.col("copies")})
    partitions = whole.add_totals(whole.row_counts, n_clusters).select(
        *keys, "total", "n_dropped", rows_per_cluster=ratio(pl.col("total"), pl.col("n_clusters"))
    )
    partitions = join_partitions(
        partitions, keys, spread, _count_labeled(labeled), how="left"
    ).with_columns(contradiction=contradiction(sample.design))
    facts = [name for name in partitions.collect_schema().names() if name not in keys]
    if sample.design == "records":
        changes = change_by_record(labeled, whole.cluster_sizes, partitions, beta)
        quotients = estimate_from_records(changes, keys, beta)
    else:
        entities = _entity_terms(labeled, whole.cluster_sizes, sample)
        slopes = _bcubed_slopes(entities, keys, beta)
        changes = _change_by_label(join_partitions(entities, keys, slopes, partitions), keys, beta)
        quotients = _mean_quotients(changes, keys, beta)
    found = set(quotients.collect_schema().names())
    estimated = [name for name in names if f"value_{name}" in found]
    estimates = (
        join_partitions(partitions, keys, quotients, how="left")
        .select(*keys, *facts, _list_estimates(names, estimated))
        .explode("estimates")
        .unnest("estimates")
        .with_columns(
            reason=_find_reason(sample, estimated),
            n_labeled_rows=pl.col("n_labeled").fill_null(0).cast(pl.Int64),
            n_labeled_pairs=pl.col("n_labeled_pairs").fill_null(0).cast(pl.Decimal(38, 0)),
        )
    )
    return SampleEstimates(estimates, changes)


def sample_difference_errors(
    cells: pl.LazyFrame, changes: Sequence[pl.LazyFrame], sample: LabelSample, keys: list[str]
) -> pl.LazyFrame:
    """Return metric, std_error, freedom and skew of the differences between two clusterings.

    `cells` has label, cluster_1, cluster_2 and n labeled rows, and `changes` come from the
    SampleEstimates of both clusterings.
    """
    if sample.design == "records":
        errors = record_difference_errors(cells, changes, keys, sample.beta)
    else:
        errors = _label_difference_errors(changes, keys, sample.beta)
    prefix = "std_error_"
    names = errors.collect_schema().names()
    structs = [
        pl.struct(
            pl.lit(name).alias("metric"),
            *(pl.col(f"{part}_{name}").alias(part) for part in ("std_error", "freedom", "skew")),
        )
        for name in (x.removeprefix(prefix) for x in names if x.startswith(prefix))
    ]
    lists = errors.select(*keys, pl.concat_list(structs).alias("errors"))
    return lists.explode("errors").unnest("errors")


@table_function("labels", guide="label_sample", order=("metric",))
def entity_resolution_estimates(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    labels_are_sample: SampleDesign = "uniform",
    beta: float = 1.0,
    confidence: float = 0.95,
    sampling_fraction: float | None = None,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Estimates of external metrics for all entities, based on the labels of a sample of entities.

    If you label all rows of some entities, scores that are computed from the labeled rows alone are
    too optimistic, because a cluster that joins a sampled entity with unlabeled rows looks pure.
    This function counts unlabeled rows as rows of other entities, and includes them in the sizes of
    their clusters. If you label rows at random instead, the function uses the pairs of labeled rows
    as a sample of all pairs.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        All rows, both labeled and unlabeled. A LazyFrame is streamed when you collect the result.
    label : str or Expr
        The true entity, of any groupable type, or NULL if it is unknown. A labeled entity must have
        its label in all of its rows, unless `labels_are_sample` is 'records'.
    cluster : str or Expr
        The assigned cluster, of any groupable type. Rows with a NULL cluster are left out.
    labels_are_sample : {'uniform', 'by_record', 'records'}
        How the labeled entities or rows were sampled. Use 'uniform' if you have labeled entities
        that were all drawn with the same probability. Use 'by_record' if you have drawn rows at
        random and labeled their entities, which makes larger entities more likely to be drawn. Use
        'records' if you have labeled rows that were drawn at random, regardless of their entities.
    beta : float
        The nonnegative weight of recall in the F scores.
    confidence : float
        The probability (between 0 and 1) that an interval covers the metric's value for all
        entities.
    sampling_fraction : float, optional
        With 'by_record', the number of rows that were drawn, divided by the number of all rows.
        The fraction determines how likely it is that at least one row of an entity is drawn. With 0
        or None, this probability is taken to be proportional to the number of rows, which
        overestimates it for an entity that may be drawn more than once. With None, there are no
        intervals if there is such an entity.
    weight, partition_by, noise, noise_as : as in external_report
    metrics : sequence of str, optional
        Names of the metrics to return. By default, all metrics are returned.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition and metric, sorted by partition. The
        columns are the partition columns, `metric` and the following:

        * value is the estimate of the metric.
        * std_error is the standard error of the estimate.
        * lower and upper are the limits of an interval that covers the metric's value for all
          entities with the probability `confidence`.
        * n_labeled_rows is the number of rows with a label and a cluster.
        * n_labeled_pairs is the number of pairs of such rows with the same label or cluster.
        * reason explains why the value or the interval is NULL.

        The first metrics are pair_precision, pair_recall, pair_f_score, bcubed_precision,
        bcubed_recall, bcubed_f_score, exact_match_precision, exact_match_recall and
        exact_match_f_score, as in external_report. The metric matching_rate is the share of rows
        whose entity has more than one row, and average_label_size is the mean number of rows per
        entity. All metrics have the range [0, 1] and the best value 1, except average_label_size,
        which is at least 1.

        The value is NULL if its formula is 0 / 0 or if there are no labels. With 'records', the
        value is NULL for every metric that needs the number of rows of an entity, that is, for all
        metrics except the pair metrics and bcubed_precision. If the labels contradict
        `labels_are_sample`, all values are NULL. The standard error is NULL if there are fewer
        than 2 labels or if the value is 0. With 'records', the standard error is instead NULL if no
        pair of labeled rows is right or no pair is wrong, unless all rows have labels.

        The limits are NULL if no interval can be trusted: if the labeled entities that decide the
        value weigh less than 6 equal ones, if all of them count the same in an exact-match score or
        in average_label_size, if the labeled entities of a 'uniform' sample have less than 60 % of
        the average number of neighbors in their clusters, or, with 'by_record' and without
        `sampling_fraction`, if a label would have been drawn more than 0.25 times on average.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report, and if an option is out of range.

    Notes
    -----
    Every metric is the quotient of two sums over all entities. The estimate is the quotient of two
    weighted means over the sample, minus the first-order bias of this quotient. The weight of an
    entity is 1 or 1 / size, or, with a `sampling_fraction` f, 1 / (1 - (1 - f)^size). The standard
    error is computed by the delta method, which assumes that the sample is a small part of all
    entities. With 'records', the two sums run over the pairs of labeled rows, and the standard
    error is computed by the jackknife over rows. The jackknife is corrected for counting the
    variance of pairs twice and for the share of rows that are labeled.

    The interval is Wilson's, with an effective sample size of value (1 - value) / variance (Korn
    and Graubard 1998). The variance is that of the jackknife over entities or rows. The quantile is
    that of Student's t, whose degrees of freedom come from the fourth powers of the changes
    (Satterthwaite 1946). The upper bound of the errors is at least the one that holds if no error
    is found, z^2 / (n + z^2), where n = (sum of weights)^2 / sum of squared weights. The intervals
    of exact_match_precision, exact_match_f_score and average_label_size are computed from their
    logarithms.

    The labels contradict 'uniform' and 'by_record' if rows that share a cluster with a labeled row
    are no more likely to have a label than rows in general. The labels contradict 'records' if rows
    that share a cluster with a labeled row are much more likely to have a label than rows in
    general.

    In SQL: ``FROM clustereval.entity_resolution_estimates(tbl, label, cluster)``.

    References
    ----------
    Binette, York, Hickerson, Baek, Madhavan and Jones (2022), Estimating the performance of entity
    resolution algorithms: lessons learned through PatentsView.org,
    doi:10.1080/00031305.2023.2191664. Binette, Baek, Engineer, Jones, Dasylva and Reiter (2024),
    How to evaluate entity resolution systems: an entity-centric framework, arXiv:2404.05622. Efron
    and Stein (1981), The jackknife estimate of variance, doi:10.1214/aos/1176345462. Korn and
    Graubard (1998), Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data, Survey Methodology 24(2). Satterthwaite (1946), An
    approximate distribution of estimates of variance components, doi:10.2307/3002019. Wallace
    (1959), Bounds on normal approximations to Student's and the chi-square distributions,
    doi:10.1214/aoms/1177706095.

    Examples
    --------
    Three entities have labels. Cluster 2 also contains a row of another entity, so not all links in
    this cluster are right:

    >>> records = pl.DataFrame(
    ...     {
    ...         "entity": ["a", "a", "b", "b", None, "c", None, None],
    ...         "cluster": [1, 1, 2, 2, 2, 3, 4, 4],
    ...     }
    ... )
    >>> estimates = ce.entity_resolution_estimates(records, "entity", "cluster")
    >>> estimates.select("metric", pl.col("value", "std_error").round(3)).row(0)
    ('pair_precision', 0.611, 0.192)
    """
    sample = check_sample(labels_are_sample, sampling_fraction, beta)
    z = -NormalDist().inv_cdf((1 - check_confidence(confidence)) / 2)
    options = pass_arguments_to(LabelOptions)
    # A struct is never NULL, so rows without an entity are also groups, and the rows are read only
    # once.
    entity = pl.struct(check_groupable(check_frame(frame), label, "label").alias("entity"))
    whole = read_contingency_table(frame, entity, cluster, options, _ESTIMATE_COLUMNS)
    whole = whole.cache_groups()
    has_entity = pl.col("label").struct.field("entity").is_not_null()
    labeled = ContingencyTable(whole.groups.filter(has_entity), whole.keys)
    names = list(_metric_terms(pl.col, sample.beta))
    names = names if metrics is None else check_metrics(metrics, names)
    estimates = estimate_sample(whole, labeled, sample, names).estimates
    estimates = add_stages(estimates, lambda row: _interval_widths(row, z), _interval_limits)
    keys = list(labeled.keys)
    estimates = estimates.sort(*keys, "place", nulls_last=True)
    return show_whole_texts(
        labeled.to_user_frame(frame, estimates.select(*keys, *_ESTIMATE_COLUMNS))
    )
