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

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polars_clustereval.base.checks import (
    check_beta,
    check_choice,
    check_confidence,
    check_frame,
    check_groupable,
    check_metrics,
)
from polars_clustereval.base.exact import count_ordered_pairs, ratio, to_double, widen
from polars_clustereval.base.frames import aggregate_by, join_partitions, join_small
from polars_clustereval.base.tables import table_function
from polars_clustereval.base.text_frame import show_whole_texts
from polars_clustereval.external.contingency import (
    ContingencyTable,
    LabelOptions,
    read_contingency_table,
)

from .record_sample import contradiction, estimate_from_records, spread_labels

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


def _entity_terms(labeled: ContingencyTable, clusters: pl.LazyFrame, design: str) -> pl.LazyFrame:
    """Return one row per label, with the partition columns and the terms that the metrics need.

    The term `size` is the number of rows with the label. The term `linked` is the number of ordered
    pairs of rows with the label that are in the same cluster. The term `links` is the number of
    ordered pairs that consist of a row with the label and any other row in its cluster. The terms
    `precision` and `recall` are the sums of B-cubed precision and recall over the rows with the
    label. The term `exact` is 1 if the rows with the label are exactly the rows of a cluster, and 0
    otherwise. The `weight` is inversely proportional to the probability of drawing the label under
    `design`. `clusters` contains the cluster sizes, counted over all rows.
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
        *(*keys, "size", "linked", "links", "precision"),
        recall=pl.col("squares") / size,
        exact=(to_double(pl.col("whole_cluster")) == size).cast(pl.Float64),
        weight=1 / size if design == "by_record" else pl.lit(1.0),
    ).cache()


def _bcubed_slopes(entities: pl.LazyFrame, keys: list[str], beta: float) -> pl.LazyFrame:
    """Return precision_slope and recall_slope for each partition.

    The slopes are the derivatives of the B-cubed F score with respect to precision and recall,
    evaluated at the estimates of precision and recall. If both estimates are 0, the derivatives are
    set to 0. `entities` is the result of _entity_terms, and `keys` lists the partition columns.
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

    A metric is the quotient of its two terms after each has been summed over all entities.
    `row(name)` returns the expression for the column `name` of _entity_terms or _bcubed_slopes. The
    name can also be rows_per_cluster, the mean number of rows in a cluster.
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


def _mean_quotients(entities: pl.LazyFrame, keys: list[str], beta: float) -> pl.LazyFrame:
    """Return the value and the standard error of each metric, with one row per partition.

    Each column name consists of the prefix value_ or std_error_ and the name of the metric. The
    value is the quotient of the means of the metric's two terms, minus the first-order bias of this
    quotient. The standard error is computed by the delta method, and is NULL if there are fewer
    than 2 labels or if a mean is 0. `entities` contains the columns that _metric_terms reads and
    the partition columns `keys`.
    """
    metrics = _metric_terms(pl.col, beta)
    weighted = entities.select(
        *keys,
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
    deviations = join_partitions(weighted, keys, totals)
    sums = aggregate_by(deviations, keys, _deviation_sums(list(metrics)))
    estimates = {key: term for name in metrics for key, term in _estimate_terms(name).items()}
    return join_partitions(totals, keys, sums).select(*keys, **estimates)


def _deviation_sums(metrics: list[str]) -> Terms:
    """Return the sums bias_ and squares_ of each metric over the entities in a partition.

    A share is a term divided by its mean. A deviation is the share of the top term minus the share
    of the bottom term. The value bias_ is the sum of the products of deviations and bottom-term
    shares, and squares_ is the sum of the squared deviations.
    """
    sums = {}
    for name in metrics:
        top, bottom = (
            ratio(pl.col(f"{part}_{name}"), pl.col(f"mean_{part}_{name}"))
            for part in ("top", "bottom")
        )
        sums[f"bias_{name}"] = (bottom * (top - bottom)).sum()
        sums[f"squares_{name}"] = ((top - bottom) ** 2).sum()
    return sums


def _estimate_terms(name: str) -> Terms:
    """Compute the value and the standard error of one metric from its means and its sums."""
    top, bottom = pl.col(f"mean_top_{name}"), pl.col(f"mean_bottom_{name}")
    n = pl.col("n_labels")
    quotient = ratio(top, bottom)
    bias = ratio(pl.col(f"bias_{name}"), n * (n - 1)).fill_null(0)
    error = quotient * ratio(pl.col(f"squares_{name}"), n * (n - 1)).sqrt()
    value = quotient * (1 + bias)
    at_most_1 = value if name == _SIZE else pl.when(value > 1).then(1.0).otherwise(value)
    return {f"value_{name}": at_most_1, f"std_error_{name}": pl.when(top != 0).then(error)}


def _list_estimates(metrics: list[str], estimated: list[str]) -> pl.Expr:
    """Return the column `estimates`, which contains lists with one struct per metric.

    The fields of a struct are place, metric, value, std_error and reason. The fields value and
    std_error are NULL if the column contradiction is not NULL or if the metric is not in
    `estimated`.
    """
    is_sound, nothing = pl.col("contradiction").is_null(), pl.lit(None, pl.Float64)
    structs = []
    for place, name in enumerate(metrics):
        value, error = (
            pl.when(is_sound).then(f"{part}_{name}") if name in estimated else nothing
            for part in ("value", "std_error")
        )
        reason = _missing_reason(value, can_be_estimated=name in estimated)
        structs.append(
            pl.struct(
                place=pl.lit(place),
                metric=pl.lit(name),
                value=value,
                std_error=error,
                reason=reason,
            )
        )
    return pl.concat_list(structs).alias("estimates")


def _missing_reason(value: pl.Expr, *, can_be_estimated: bool) -> pl.Expr:
    """Return text that explains why a metric has no value, or NULL if it has a value.

    `can_be_estimated` tells whether the metric can be estimated under the sample design.
    """
    unknown = "labels of random records do not tell how many rows an entity has"
    no_pairs = "the labeled rows have no pairs to judge it by"
    return (
        pl.when(pl.col("labeled_share").fill_null(0) == 0)
        .then(pl.lit("no rows with a label and a cluster"))
        .when(pl.col("contradiction").is_not_null())
        .then("contradiction")
        .when(value.is_null())
        .then(pl.lit(no_pairs if can_be_estimated else unknown))
    )


#: The only metric that is not a share.
_SIZE = "average_label_size"


def _cut_limits(value: pl.Expr, margin: pl.Expr) -> Terms:
    """Return the lower and upper limits of the interval, keyed by name.

    The limits are value -+ margin, cut off at the metric's bounds.
    """
    is_size = pl.col("metric") == _SIZE
    least = pl.when(is_size).then(1.0).otherwise(0.0)
    lower, upper = value - margin, value + margin
    return {
        "lower": pl.when(lower < least).then(least).otherwise(lower),
        "upper": pl.when(~is_size & (upper > 1)).then(1.0).otherwise(upper),
    }


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------

_ESTIMATE_COLUMNS = ("metric", "value", "std_error", "lower", "upper", "reason")


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
        * lower and upper are the limits of the interval value -+ z std_error, where z is the normal
          quantile for `confidence`. The interval is cut off at the ends of the metric's range.
        * reason explains why the value is NULL.

        The first metrics are pair_precision, pair_recall, pair_f_score, bcubed_precision,
        bcubed_recall, bcubed_f_score, exact_match_precision, exact_match_recall and
        exact_match_f_score, as in external_report. The metric matching_rate is the share of rows
        whose entity has more than one row, and average_label_size is the mean number of rows per
        entity. All metrics have the range [0, 1] and the best value 1, except average_label_size,
        which is at least 1.

        The value is NULL if its formula is 0 / 0 or if there are no labels. With 'records', the
        value is NULL for every metric that needs the number of rows of an entity, that is, for all
        metrics except the pair metrics and bcubed_precision. If the labels contradict
        `labels_are_sample`, all values are NULL. The standard error and the limits are NULL if
        there are fewer than 2 labels or if the value is 0. With 'records', the standard error and
        the limits are instead NULL if no pair of labeled rows is right or no pair is wrong, unless
        all rows have labels.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report, and if an option is out of range.

    Notes
    -----
    Every metric is the quotient of two sums over all entities. The estimate is the quotient of two
    weighted means over the sample, with a weight of 1 or 1 / size, minus the first-order bias of
    this quotient. The standard error is computed by the delta method, which assumes that the sample
    is a small part of all entities. With 'records', the two sums run over the pairs of labeled
    rows, and the standard error is computed by the jackknife over rows. The jackknife is corrected
    for counting the variance of pairs twice and for the share of rows that are labeled.

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
    and Stein (1981), The jackknife estimate of variance, doi:10.1214/aos/1176345462.

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
    check_choice("labels_are_sample", labels_are_sample, _DESIGNS)
    beta = check_beta(beta)
    z = -NormalDist().inv_cdf((1 - check_confidence(confidence)) / 2)
    options = LabelOptions(weight=weight, partition_by=partition_by, noise=noise, noise_as=noise_as)
    # A struct is never NULL, so rows without an entity are also groups, and the rows are read only
    # once.
    entity = pl.struct(check_groupable(check_frame(frame), label, "label").alias("entity"))
    whole = read_contingency_table(frame, entity, cluster, options, _ESTIMATE_COLUMNS)
    whole = whole.cache_groups()
    has_entity = pl.col("label").struct.field("entity").is_not_null()
    labeled = ContingencyTable(whole.groups.filter(has_entity), whole.keys)
    keys = list(labeled.keys)
    spread = spread_labels(labeled, whole.cluster_sizes)
    n_clusters = whole.sum_by_partition(whole.cluster_sizes, {"n_clusters": pl.col("copies")})
    partitions = whole.add_totals(whole.row_counts, n_clusters).select(
        *keys, rows_per_cluster=ratio(pl.col("total"), pl.col("n_clusters"))
    )
    partitions = join_partitions(partitions, keys, spread, how="left").with_columns(
        contradiction=contradiction(labels_are_sample)
    )
    names = list(_metric_terms(pl.col, beta))
    if labels_are_sample == "records":
        quotients = estimate_from_records(labeled, whole.cluster_sizes, partitions, beta)
    else:
        entities = _entity_terms(labeled, whole.cluster_sizes, labels_are_sample)
        slopes = _bcubed_slopes(entities, keys, beta)
        quotients = _mean_quotients(join_partitions(entities, keys, slopes, partitions), keys, beta)
    found = set(quotients.collect_schema().names())
    estimated = [name for name in names if f"value_{name}" in found]
    estimates = (
        join_partitions(partitions, keys, quotients, how="left")
        .select(*keys, _list_estimates(names, estimated))
        .explode("estimates")
        .unnest("estimates")
        .with_columns(**_cut_limits(pl.col("value"), z * pl.col("std_error")))
        .sort(*keys, "place", nulls_last=True)
    )
    if metrics is not None:
        estimates = estimates.filter(pl.col("metric").is_in(check_metrics(metrics, names)))
    return show_whole_texts(
        labeled.to_user_frame(frame, estimates.select(*keys, *_ESTIMATE_COLUMNS))
    )
