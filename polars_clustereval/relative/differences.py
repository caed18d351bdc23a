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
    add_bias,
    centered_influences,
    greatest_value,
    interval_reason,
    metric_quotients,
    score_gradients,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.frames import Terms
    from polars_clustereval.external.information import NormalizedMethod

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


def _pair_tables(
    groups: pl.LazyFrame, keys: dict[str, str], options: LabelOptions
) -> _PairedTables:
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
    rows = cells.select(
        *(*keys, "metric", "n"),
        square=(first - second) * (first - second),
        scale=first * first + second * second,
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
        * reason says why lower and upper are NULL, and is NULL if they are not.

        The standard error and the limits are NULL if external_intervals has no standard error for
        the metric of one of the clusterings. The limits are also NULL if the metric is biased by
        more than a quarter of the standard error, because the cells have too few rows. If the
        two clusterings divide the rows in the same way, the difference and its standard error are
        0. If there are no rows, n is 0 and the values are NULL, unless you pass partition_by, in
        which case the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_intervals.

    Notes
    -----
    Scores of information and B-cubed scores of many small clusters are biased, because a sample has
    fewer rows in each cell than the population. The bias is estimated to first order from the
    numbers of cells, labels and clusters. adjusted_mutual_info_score and scores that count pairs
    have no such bias.
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
    scores = choose_terms(external_scores(average_method, beta, adjusted=adjusted), metrics)
    options = pass_arguments_to(LabelOptions)
    margin = difference_margin(confidence)
    columns = {"label": label, "cluster_1": cluster_1, "cluster_2": cluster_2}
    lazy, partition_keys, values = check_columns(frame, columns, options, _DIFFERENCE_COLUMNS)
    keys: dict[str, str] = partition_keys
    rows = lazy.select(*values, check_weight(lazy, options.weight, keys).alias("n"))
    groups = rows.group_by(*keys, *columns).agg(pl.col("n").sum())
    paired = _pair_tables(groups, keys, options)
    quotients = metric_quotients(average_method, beta, adjusted=adjusted)
    sides = []
    expected = need_expectation(scores)
    for table in paired.tables:
        report = score_partitions(table, scores, adjusted=expected)
        gradients = score_gradients(report, list(keys), list(scores), quotients)
        gradients = add_bias(gradients, table).cache()
        sides.append(Side(list(keys), centered_influences(table, adjusted=expected), gradients))
    by: list[str] = [*keys, "metric"]
    errors = difference_errors(paired.cells, (sides[0], sides[1]), list(keys))
    second = sides[1].gradients.select(*by, value_2="value", bias_2="bias")
    found = (
        sides[0]
        .gradients.rename({"value": "value_1", "total": "n"})
        .with_columns(total="n")
        .join(second, on=by, nulls_equal=True)
        .join(errors, on=by, how="left", nulls_equal=True)
        .with_columns(
            difference=pl.col("value_1") - pl.col("value_2"),
            margin=margin,
            bias=pl.col("bias") - pl.col("bias_2"),
        )
        .with_columns(reason=interval_reason("difference"))
        .with_columns(**_limits_of_difference())
        .sort(*keys, "place", nulls_last=True)
    )
    return paired.tables[0].to_user_frame(frame, found.select(*keys, *_DIFFERENCE_COLUMNS))


def _limits_of_difference() -> Terms:
    """Return lower and upper, cut off at the largest possible difference, and std_error."""
    widest = greatest_value() - pl.col("least")
    difference, margin = pl.col("difference"), pl.col("margin")
    lower, upper = difference - margin, difference + margin
    is_known = pl.col("reason").is_null()
    return {
        "lower": pl.when(is_known).then(pl.when(lower < -widest).then(-widest).otherwise(lower)),
        "upper": pl.when(is_known).then(pl.when(upper > widest).then(widest).otherwise(upper)),
        "std_error": pl.when(difference.is_not_null()).then("std_error"),
    }
