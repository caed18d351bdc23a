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
    check_weight,
    choose_terms,
    equals_noise,
)
from polars_clustereval.base.exact import estimate_freedom, squared_t_quantile, to_double
from polars_clustereval.base.frames import aggregate_by, join_small
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
    centered_influences,
    greatest_value,
    long_metrics,
    metric_bounds,
    metric_quotients,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.frames import Terms
    from polars_clustereval.external.gradients import Quotient
    from polars_clustereval.external.information import NormalizedMethod

_CLUSTERINGS = (1, 2)

# ----------------------------------------------------------------------------------------------
# Two contingency tables of the same rows
# ----------------------------------------------------------------------------------------------


class PairedTables(NamedTuple):
    """The contingency tables of two clusterings of the same rows, against the same labels."""

    #: One row per label and pair of clusters, with the partition columns, label, cluster_1,
    #: cluster_2 (NULL for a singleton) and n rows.
    cells: pl.LazyFrame
    #: The tables of both clusterings. n_dropped counts all rows that one of them leaves out.
    tables: tuple[ContingencyTable, ContingencyTable]


def pair_tables(groups: pl.LazyFrame, keys: dict[str, str], options: LabelOptions) -> PairedTables:
    """Return the tables of rows in groups with label, cluster_1, cluster_2 and n rows each.

    A row counts if it has a label and both clusters, and is not noise that is left out.
    """
    schema = groups.collect_schema()
    clusters = {side: f"cluster_{side}" for side in _CLUSTERINGS}
    noisy = {x: equals_noise(pl.col(x), options.noise, schema[x]) for x in clusters.values()}
    counts = pl.all_horizontal(pl.col("label", *clusters.values()).is_not_null())
    if options.noise_as == "drop":
        counts &= ~pl.any_horizontal(*noisy.values())
    groups = groups.with_columns(label=pl.when(counts & (pl.col("n") > 0)).then("label")).cache()
    sides = []
    for cluster in clusters.values():
        side = groups.group_by(*keys, "label", cluster=cluster).agg(pl.col("n").sum())
        sides.append(ContingencyTable(flag_groups(side, options), keys).cache_groups())
    cells = groups.filter(pl.col("label").is_not_null())
    if options.noise_as == "singletons":
        cells = cells.with_columns(pl.when(~x).then(name).alias(name) for name, x in noisy.items())
    by = [*keys, "label", *clusters.values()]
    return PairedTables(cells.group_by(by).agg(pl.col("n").sum()), (sides[0], sides[1]))


# ----------------------------------------------------------------------------------------------
# Differences
# ----------------------------------------------------------------------------------------------


def _long_scores(
    table: ContingencyTable, scores: Terms, quotients: Mapping[str, Quotient], side: int
) -> pl.LazyFrame:
    """Return metric, value_i and the gradient g0_i, g1_i, g2_i of each metric and partition.

    i is `side`. If labels and clusters divide the rows in the same way, they also do so in every
    sample, so the gradient of a quotient is 0.
    """
    report = score_partitions(table, scores, adjusted=need_expectation(scores))
    rows = long_metrics(report, list(table.keys), list(scores), quotients)
    linear = [name for name, quotient in quotients.items() if quotient.is_linear]
    is_constant = ~pl.col("metric").is_in(linear) & (pl.col("fp") + pl.col("fn") == 0)
    slopes = {f"g{i}_{side}": pl.when(is_constant).then(0.0).otherwise(f"g{i}") for i in PLACES}
    totals = ("total", "n_dropped") if side == 1 else ()
    return rows.select(
        *table.keys, "metric", *totals, pl.col("value").alias(f"value_{side}"), **slopes
    )


def _influence_on_score(side: int) -> pl.Expr:
    """Return a row's influence on the score of a clustering, from the gradient and influences."""
    terms = []
    for i in PLACES:
        slope, influence = pl.col(f"g{i}_{side}"), pl.col(f"i{i}_{side}")
        terms.append(pl.when(slope == 0).then(0.0).otherwise(slope * influence))
    return sum(terms[1:], terms[0])


def _sum_squares(paired: PairedTables, gradients: pl.LazyFrame) -> pl.LazyFrame:
    """Return squares and fourths of each metric and partition, the sums of powers over the rows.

    The numbers raised to these powers are the differences between a row's influences on the two
    scores. The sums are NULL if one of them is not defined.
    """
    keys = list(paired.tables[0].keys)
    cells = paired.cells
    for side, table in zip(_CLUSTERINGS, paired.tables, strict=True):
        influences = centered_influences(table).select(
            *(*keys, "family", "label"),
            pl.col("cluster").alias(f"cluster_{side}"),
            *(pl.col(f"i{i}").alias(f"i{i}_{side}") for i in PLACES),
        )
        by = [*keys, "label", f"cluster_{side}", *(["family"] if side == 2 else [])]
        cells = join_small(cells, by, influences)
    rows = join_small(cells, [*keys, "family"], gradients)
    first, second = (_influence_on_score(side) for side in _CLUSTERINGS)
    rows = rows.select(
        *(*keys, "metric", "n"),
        square=(first - second) * (first - second),
        scale=first * first + second * second,
    )
    n, square = to_double(pl.col("n")), pl.col("square")
    squares = (n * square).sum()
    is_rounding_error = squares <= 1e-20 * (n * pl.col("scale")).sum()
    sums = {
        "squares": pl.when(is_rounding_error).then(0.0).otherwise(squares),
        "fourths": (n * square * square).sum(),
    }
    is_known = square.null_count() == 0
    known: Terms = {name: pl.when(is_known).then(term) for name, term in sums.items()}
    return aggregate_by(rows, [*keys, "metric"], known)


def score_differences(
    paired: PairedTables, scores: Terms, quotients: Mapping[str, Quotient], confidence: float
) -> pl.LazyFrame:
    """Return one row per partition and metric, with the columns of external_differences."""
    keys = list(paired.tables[0].keys)
    names = list(scores)
    facts = metric_bounds(names, quotients)
    first, second = (
        _long_scores(table, scores, quotients, side)
        for side, table in zip(_CLUSTERINGS, paired.tables, strict=True)
    )
    values = first.join(second, on=[*keys, "metric"], nulls_equal=True).join(facts, on="metric")
    values = values.cache()
    gradients = values.filter(pl.col("family").is_not_null()).select(
        *(*keys, "metric", "family"), *(f"g{i}_{side}" for i in PLACES for side in _CLUSTERINGS)
    )
    sums = _sum_squares(paired, gradients)
    rows = values.join(sums, on=[*keys, "metric"], how="left", nulls_equal=True)
    total, z = to_double(pl.col("total")), -NormalDist().inv_cdf((1 - confidence) / 2)
    difference = pl.col("value_1") - pl.col("value_2")
    error = pl.when((pl.col("total") > 1) & difference.is_not_null()).then(
        pl.col("squares").sqrt() / total
    )
    quantile = squared_t_quantile(
        estimate_freedom(pl.col("squares"), pl.col("fourths"), total), z
    ).sqrt()
    margin = pl.when(pl.col("std_error") == 0).then(0.0).otherwise(pl.col("std_error") * quantile)
    widest = greatest_value() - pl.col("least")
    rows = rows.with_columns(difference=difference, std_error=error).with_columns(margin=margin)
    lower, upper = (pl.col("difference") + sign * pl.col("margin") for sign in (-1, 1))
    return rows.with_columns(
        lower=pl.when(lower < -widest).then(-widest).otherwise(lower),
        upper=pl.when(upper > widest).then(widest).otherwise(upper),
        n="total",
    )


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------

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
)


@table_function("paired labels", guide="intervals", order=("metric",))
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
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Differences between the external metrics of two clusterings of the same rows, with intervals.

    Two separate intervals do not tell whether one clustering is better, because both scores depend
    on the same sample of rows. This interval is paired: whatever the two clusterings have in common
    cancels in each row. As in external_intervals, the rows are treated as independent draws.

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

        The standard error and the limits are NULL if external_intervals has no standard error for
        the metric of one of the clusterings. If the two clusterings divide the rows in the same
        way, the difference and its standard error are 0. If there are no rows, n is 0 and the
        values are NULL, unless you pass partition_by, in which case the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_intervals.

    Notes
    -----
    Information scores of many small clusters are biased, because a sample has fewer rows per cell
    than the population. The difference is biased as well if the clusterings have different numbers
    of cells, and the interval does not contain this bias. adjusted_mutual_info_score and
    adjusted_rand_score are corrected for it.
    In SQL: ``FROM clustereval.external_differences(tbl, label, cluster_1, cluster_2)``.

    References
    ----------
    Goodman and Kruskal (1972), Measures of association for cross classifications, IV,
    doi:10.1080/01621459.1972.10482401, for the influences. Satterthwaite (1946), An approximate
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
    scores = choose_terms(external_scores(average_method, beta, adjusted=adjusted), metrics)
    options = pass_arguments_to(LabelOptions)
    check_confidence(confidence)
    columns = {"label": label, "cluster_1": cluster_1, "cluster_2": cluster_2}
    lazy, keys, values = check_columns(frame, columns, options, _DIFFERENCE_COLUMNS)
    rows = lazy.select(*values, check_weight(lazy, options.weight, keys).alias("n"))
    groups = rows.group_by(*keys, *columns).agg(pl.col("n").sum())
    paired = pair_tables(groups, keys, options)
    quotients = metric_quotients(average_method, beta, adjusted=adjusted)
    differences = score_differences(paired, scores, quotients, confidence)
    differences = differences.sort(*keys, "place", nulls_last=True).select(
        *keys, *_DIFFERENCE_COLUMNS
    )
    return paired.tables[0].to_user_frame(frame, differences)
