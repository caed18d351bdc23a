"""Differences between the scores of two clusterings of the same rows, with paired intervals.

Both clusterings are compared with the same labels, so their scores vary together from sample to
sample. To first order, the difference of a score is the mean over the rows of a row's influence on
the first score minus its influence on the second one (see intervals). The two influences are taken
for each row, so that whatever they have in common cancels, and the variance of the difference is
the mean of the squared differences of influences, divided by the number of rows.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.base.checks import (
    check_confidence,
    check_metrics,
    check_sampling_fraction,
    check_weight,
    choose_terms,
    equals_noise,
)
from polars_clustereval.base.exact import estimate_freedom, squared_t_quantile, to_double
from polars_clustereval.base.frames import aggregate_by, join_small, to_user_frame
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.external.contingency import (
    ContingencyTable,
    LabelOptions,
    check_columns,
    flag_groups,
)
from polars_clustereval.external.report import external_scores, need_expectation, score_partitions

from .intervals import (
    PLACES,
    add_bias,
    centered_influences,
    greatest_value,
    interval_reason,
    metric_quotients,
    score_gradients,
)
from .label_sample import QUOTIENTS, check_sample, estimate_sample, sample_difference_errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.frames import Terms
    from polars_clustereval.external.gradients import Quotient
    from polars_clustereval.external.information import NormalizedMethod

    from .label_sample import LabelSample, SampleDesign

_CLUSTERINGS = (1, 2)

# ----------------------------------------------------------------------------------------------
# Two contingency tables of the same rows
# ----------------------------------------------------------------------------------------------


class _PairedTables(NamedTuple):
    """The contingency tables of two clusterings of the same rows, against the same labels."""

    #: One row per label and pair of clusters, with the partition columns, label, cluster_1,
    #: cluster_2 (NULL for a singleton) and n rows.
    cells: pl.LazyFrame
    #: The tables of both clusterings. n_dropped counts all rows that one of them leaves out.
    tables: tuple[ContingencyTable, ContingencyTable]


def _mark_noise(groups: pl.LazyFrame, options: LabelOptions) -> dict[str, pl.Expr]:
    """Return whether cluster_1 and cluster_2 are noise."""
    schema = groups.collect_schema()
    names = [f"cluster_{side}" for side in _CLUSTERINGS]
    return {name: equals_noise(pl.col(name), options.noise, schema[name]) for name in names}


def _score_groups(groups: pl.LazyFrame, options: LabelOptions) -> pl.LazyFrame:
    """Return groups with label, cluster_1, cluster_2 and n rows each, with is_scored.

    Rows count if they have a label and both clusters, and are not noise that is left out; otherwise
    their label becomes NULL. is_scored tells whether they count if they have a label.
    """
    noisy = _mark_noise(groups, options)
    is_scored = pl.all_horizontal(pl.col(*noisy).is_not_null()) & (pl.col("n") > 0)
    if options.noise_as == "drop":
        is_scored &= ~pl.any_horizontal(*noisy.values())
    return groups.with_columns(label=pl.when(is_scored).then("label"), is_scored=is_scored).cache()


def _pair_tables(
    groups: pl.LazyFrame, keys: dict[str, str], options: LabelOptions
) -> _PairedTables:
    """Return the tables of the result of _score_groups."""
    noisy = _mark_noise(groups, options)
    sides = []
    for cluster in noisy:
        side = groups.group_by(*keys, "label", cluster=cluster).agg(pl.col("n").sum())
        sides.append(ContingencyTable(flag_groups(side, options), keys).cache_groups())
    cells = groups.filter(pl.col("label").is_not_null())
    if options.noise_as == "singletons":
        cells = cells.with_columns(pl.when(~x).then(name).alias(name) for name, x in noisy.items())
    by = [*keys, "label", *noisy]
    return _PairedTables(cells.group_by(by).agg(pl.col("n").sum()), (sides[0], sides[1]))


# ----------------------------------------------------------------------------------------------
# Differences
# ----------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """What the differences need of the contingency tables of one of the two clusterings."""

    #: The columns of the cells that tell in which table a row of theirs is.
    by: list[str]
    #: The result of centered_influences, with these columns.
    influences: pl.LazyFrame
    #: The result of score_gradients, with these columns.
    gradients: pl.LazyFrame


def _effect(side: int) -> pl.Expr:
    """Return a row's influence on the value of a metric, from its gradient and the influences."""
    terms = []
    for i in PLACES:
        slope, influence = pl.col(f"g{i}_{side}"), pl.col(f"i{i}_{side}")
        terms.append(pl.when(slope == 0).then(0.0).otherwise(slope * influence))
    return terms[0] + terms[1] + terms[2] + terms[3]


def difference_errors(
    cells: pl.LazyFrame, sides: tuple[Side, Side], keys: list[str]
) -> pl.LazyFrame:
    """Return std_error of the differences, and freedom, for each partition and metric.

    `cells` has the columns `keys` of the result, those of both sides, and label, cluster_1,
    cluster_2 and n. `freedom` is the degrees of freedom of the squared standard error. Both are
    NULL if an influence or a derivative is not defined.
    """
    for i, side in zip(_CLUSTERINGS, sides, strict=True):
        names = {"cluster": f"cluster_{i}"} | {f"i{k}": f"i{k}_{i}" for k in PLACES}
        influences = side.influences.drop("rows").rename(names)
        by = [*side.by, "label", f"cluster_{i}", *(["family"] if i == _CLUSTERINGS[1] else [])]
        # The hint keeps the engine from building its table from the result of the first join.
        cells = join_small(cells, by, influences)
    for i, side in zip(_CLUSTERINGS, sides, strict=True):
        shared = "family" if i == _CLUSTERINGS[0] else "metric"
        columns = dict.fromkeys([*side.by, shared, "metric"])
        slopes = (pl.col(f"g{k}").alias(f"g{k}_{i}") for k in PLACES)
        gradients = side.gradients.filter(pl.col("family").is_not_null()).select(*columns, *slopes)
        cells = join_small(cells, [*side.by, shared], gradients)
    first, second = (_effect(side) for side in _CLUSTERINGS)
    return errors_of_effects(cells.select(*keys, "metric", "n", one=first, two=second), keys)


def errors_of_effects(effects: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return std_error of the differences, and freedom, for each value of `keys` and metric.

    `effects` has the influences of n rows on the value of the metric in both clusterings, one and
    two. If one of them is NULL, std_error is NULL.
    """
    one, two = pl.col("one"), pl.col("two")
    rows = effects.select(
        *(*keys, "metric", "n"),
        square=(one - two) * (one - two),
        scale=one * one + two * two,
    )
    n, square = to_double(pl.col("n")), pl.col("square")
    sums = {
        "total": n.sum(),
        "squares": pl.when(square.null_count() == 0).then((n * square).sum()),
        "fourths": (n * square * square).sum(),
        "scale": (n * pl.col("scale")).sum(),
    }
    total, squares = pl.col("total"), pl.col("squares")
    is_rounding_error = squares <= 1e-20 * pl.col("scale")
    error = pl.when(is_rounding_error).then(0.0).otherwise(squares.sqrt() / total)
    return aggregate_by(rows, [*keys, "metric"], sums).select(
        *(*keys, "metric"),
        std_error=pl.when(total > 1).then(error),
        freedom=estimate_freedom(squares, pl.col("fourths"), total),
    )


def difference_margin(confidence: float) -> pl.Expr:
    """Return half the width of the interval of a difference, from std_error and freedom."""
    z = -NormalDist().inv_cdf((1 - check_confidence(confidence)) / 2)
    error, quantile = pl.col("std_error"), squared_t_quantile(pl.col("freedom"), z).sqrt()
    return pl.when(error == 0).then(0.0).otherwise(error * quantile)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------

#: The metrics of entity_resolution_estimates that depend on the clusters.
_SAMPLED = (
    *("pair_precision", "pair_recall", "pair_f_score"),
    *("bcubed_precision", "bcubed_recall", "bcubed_f_score"),
    *("exact_match_precision", "exact_match_recall", "exact_match_f_score"),
)
_DIFFERENCE_COLUMNS = (
    "metric",
    "value_1",
    "value_2",
    "difference",
    "std_error",
    "lower",
    "upper",
    "n",
    "n_dropped",
    "reason",
)


@table_function("paired labels", guide="comparison", order=("metric",))
def external_differences(
    frame: Frame,
    label: Column,
    cluster_1: Column,
    cluster_2: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    adjusted: bool = True,
    confidence: float = 0.95,
    labels_are_sample: SampleDesign | None = None,
    sampling_fraction: float | None = None,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Differences between the external metrics of two clusterings of the same rows, with intervals.

    Two separate intervals do not tell whether one clustering is better, because both scores depend
    on the same sample of rows. This interval is paired: whatever the two clusterings have in common
    cancels in each row. As in external_intervals, the rows are treated as independent draws. If you
    know the labels only for a sample, pass `labels_are_sample`: the differences are then those of
    the estimates of entity_resolution_estimates.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate. A LazyFrame is streamed when you collect the result.
    label : str or Expr
        True class, of any type that can be grouped.
    cluster_1, cluster_2 : str or Expr
        The clusters assigned by the two clusterings. The names of the clusters do not matter, so
        the two columns may have different types.
    weight, partition_by : as in external_report
    noise : object, optional
        The value that marks noise in both cluster columns.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
        With 'drop', a row is left out of both clusterings if it is noise in one of them.
    average_method, beta, adjusted : as in external_report
    labels_are_sample : {'uniform', 'by_record', 'records'}, optional
        How the labeled entities or rows were sampled, as described in entity_resolution_estimates.
        By default, only rows with a label count. Estimates do not use average_method and adjusted.
    sampling_fraction : as in entity_resolution_estimates
    confidence, metrics : as in external_intervals

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition and metric, sorted by partition and then in
        the order of external_report. The columns are the partition columns, metric and the
        following:

        * value_1 and value_2 are the metric's values in external_report, for the rows that have a
          label and both clusters.
        * difference is value_1 - value_2, and std_error is its standard error.
        * lower and upper are the limits of the interval difference -+ t std_error, where t is the
          quantile of Student's t for `confidence`. The degrees of freedom are about twice the
          number of rows on which the clusterings differ, if these are few. The interval is cut off
          at the largest possible difference.
        * n is the number of rows that are compared, and n_dropped is the number of rows that are
          not, because they lack a label or a cluster or are noise that is left out.
        * reason says why lower and upper are NULL, and is NULL if they are not.

        The standard error and the limits are NULL if external_intervals has no standard error for
        the metric of one of the clusterings. The limits are also NULL if the metric is biased by
        more than a quarter of the standard error, because the cells have too few rows. If the
        two clusterings divide the rows in the same way, the difference and its standard error are
        0. If there are no rows, n is 0 and the values are NULL, unless you pass partition_by, in
        which case the result is empty.

        With `labels_are_sample`, the metrics are those of entity_resolution_estimates that depend
        on the clusters: all of them except matching_rate and average_label_size. The values are
        those of entity_resolution_estimates for the rows that have both clusters. Rows without a
        label are included in n, because they belong to the clusters. The limits are NULL if
        entity_resolution_estimates has no limits for one of the clusterings, if the labeled rows do
        not tell the clusterings apart, or if an exact-match score is cut off at 1.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_intervals, and as entity_resolution_estimates if
        labels_are_sample or sampling_fraction is given.

    Notes
    -----
    Scores of information and B-cubed scores of many small clusters are biased, because a sample has
    fewer rows in each cell than the population. The bias is estimated to first order from the
    numbers of cells, labels and clusters. adjusted_mutual_info_score and scores that count pairs
    have no such bias.

    With `labels_are_sample`, the standard error comes from the jackknife: each labeled entity is
    left out, or each labeled row if it is 'records', and the changes of both estimates are
    subtracted. The corrections are those of entity_resolution_estimates. With 'records', the
    difference is skewed if few pairs of rows decide it, so the limits D solve
    (D - difference)^2 = t^2 (std_error^2 + s (D - difference)), where s is the sum of the cubes of
    the changes divided by the sum of their squares, times the share of rows without a label.

    In SQL: ``FROM clustereval.external_differences(tbl, label, cluster_1, cluster_2)``.

    References
    ----------
    Goodman and Kruskal (1972), Measures of association for cross classifications, IV,
    doi:10.1080/01621459.1972.10482401, for the influences. Miller (1955), Note on the bias of
    information estimates, for the bias. Satterthwaite (1946), An approximate
    distribution of estimates of variance components, doi:10.2307/3002019, for the degrees of
    freedom.

    Examples
    --------
    Of 100 rows, 5 are in the majority of their cluster only in the first clustering, and 1 only in
    the second one. The difference of the purities is 0.04, and its variance is that of a mean of
    100 numbers, (0.06 - 0.04^2) / 100:

    >>> cells = pl.DataFrame(
    ...     {
    ...         "label": ["a", "a", "a", "b", "b", "b"],
    ...         "first": [0, 0, 1, 1, 1, 0],
    ...         "second": [0, 1, 0, 1, 0, 0],
    ...         "n": [46, 3, 1, 46, 2, 2],
    ...     }
    ... )
    >>> found = ce.external_differences(cells, "label", "first", "second", weight="n")
    >>> purity = found.filter(pl.col("metric") == "purity")
    >>> purity.select(pl.col("value_1", "value_2", "difference", "std_error").round(4)).row(0)
    (0.97, 0.93, 0.04, 0.0242)
    """
    options = pass_arguments_to(LabelOptions)
    margin = difference_margin(confidence)
    if labels_are_sample is None:
        check_sampling_fraction(sampling_fraction, "")
        scores = choose_terms(external_scores(average_method, beta, adjusted=adjusted), metrics)
    else:
        sample = check_sample(labels_are_sample, sampling_fraction, beta)
        names = _SAMPLED if metrics is None else check_metrics(metrics, _SAMPLED)
    columns = {"label": label, "cluster_1": cluster_1, "cluster_2": cluster_2}
    lazy, partition_keys, values = check_columns(frame, columns, options, _DIFFERENCE_COLUMNS)
    keys: dict[str, str] = partition_keys
    rows = lazy.select(*values, check_weight(lazy, options.weight, keys).alias("n"))
    groups = rows.group_by(*keys, *columns).agg(pl.col("n").sum())
    groups = _score_groups(groups, options)
    if labels_are_sample is None:
        quotients = metric_quotients(average_method, beta, adjusted=adjusted)
        paired = _pair_tables(groups, keys, options)
        found, reason = _score_differences(paired, scores, quotients), interval_reason("difference")
    else:
        found = _sample_differences(groups, keys, options, sample, names)
        reason = _sample_reason()
    found = (
        found.with_columns(difference=pl.col("value_1") - pl.col("value_2"), margin=margin)
        .with_columns(reason=reason)
        .with_columns(**_limits_of_difference())
        .sort(*keys, "place", nulls_last=True)
    )
    return to_user_frame(frame, found.select(*keys, *_DIFFERENCE_COLUMNS), keys)


def _score_differences(
    paired: _PairedTables, scores: Terms, quotients: Mapping[str, Quotient]
) -> pl.LazyFrame:
    """Return the values of the scores of both clusterings, and what their intervals need."""
    keys = list(paired.tables[0].keys)
    sides = []
    expected = need_expectation(scores)
    for table in paired.tables:
        report = score_partitions(table, scores, adjusted=expected)
        gradients = score_gradients(report, keys, list(scores), quotients)
        gradients = add_bias(gradients, table).cache()
        sides.append(Side(keys, centered_influences(table, adjusted=expected), gradients))
    by = [*keys, "metric"]
    errors = difference_errors(paired.cells, (sides[0], sides[1]), keys)
    second = sides[1].gradients.select(*by, value_2="value", bias_2="bias")
    return (
        sides[0]
        .gradients.rename({"value": "value_1", "total": "n"})
        .with_columns(total="n")
        .join(second, on=by, nulls_equal=True)
        .join(errors, on=by, how="left", nulls_equal=True)
        .with_columns(bias=pl.col("bias") - pl.col("bias_2"), skew=0.0)
    )


def _sample_differences(
    groups: pl.LazyFrame,
    keys: dict[str, str],
    options: LabelOptions,
    sample: LabelSample,
    names: Sequence[str],
) -> pl.LazyFrame:
    """Return the estimates of both clusterings, and what the intervals of differences need.

    `groups` is the result of _score_groups.
    """
    labeled = _pair_tables(groups.filter(pl.col("label").is_not_null()), keys, options)
    all_rows = groups.with_columns(label=pl.when("is_scored").then(True))
    whole = _pair_tables(all_rows, keys, options)
    first, second = (
        estimate_sample(*tables, sample, names)
        for tables in zip(whole.tables, labeled.tables, strict=True)
    )
    by = [*keys, "metric"]
    errors = sample_difference_errors(
        labeled.cells, (first.changes, second.changes), sample, list(keys)
    )
    parts, error = ("value", "reason", "concentration"), pl.col("std_error")
    of_second = {f"{part}_2": part for part in parts}
    return (
        first.estimates.drop("std_error", "freedom")
        .rename({"value": "value_1"})
        .with_columns(n="total", least=0.0, greatest=pl.lit("1"))
        .join(second.estimates.select(*by, **of_second), on=by, nulls_equal=True)
        .join(errors, on=by, how="left", nulls_equal=True)
        # A smaller error is a rounding error.
        .with_columns(std_error=pl.when(error <= 1e-12).then(0.0).otherwise(error))
    )


def _sample_reason() -> pl.Expr:
    """Return why a difference of estimates has no interval, or NULL if it has one."""
    is_cut = pl.max_horizontal("value_1", "value_2") >= 1
    is_sample = pl.col("concentration") + pl.col("concentration_2") > 0
    texts = {
        "an estimate is cut off at 1": pl.col("metric").is_in(QUOTIENTS) & is_cut,
        "the labeled rows have too few pairs for an interval": pl.col("std_error").is_null(),
        "the labeled rows do not tell the clusterings apart": is_sample
        & (pl.col("std_error") == 0),
    }
    found = (pl.when(condition).then(pl.lit(text)) for text, condition in texts.items())
    return pl.coalesce("reason", "reason_2", *found)


def _limits_of_difference() -> Terms:
    """Return lower and upper, cut off at the largest possible difference, and std_error."""
    widest = greatest_value() - pl.col("least")
    difference, margin, error = (pl.col(x) for x in ("difference", "margin", "std_error"))
    # The limits D solve (D - difference)^2 = t^2 (std_error^2 + skew (D - difference)).
    shift = pl.when(error > 0).then((margin / error) ** 2 * pl.col("skew") / 2).otherwise(0.0)
    half = (shift**2 + margin**2).sqrt()
    lower, upper = difference + shift - half, difference + shift + half
    is_known = pl.col("reason").is_null()
    return {
        "lower": pl.when(is_known).then(pl.when(lower < -widest).then(-widest).otherwise(lower)),
        "upper": pl.when(is_known).then(pl.when(upper > widest).then(widest).otherwise(upper)),
        "std_error": pl.when(difference.is_not_null()).then("std_error"),
    }
