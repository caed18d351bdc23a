"""Standard errors and confidence intervals for external metrics, computed by the delta method.

The rows are treated as independent draws, so the counts of the contingency cells have a multinomial
distribution whose probabilities are the shares p of the cells. Every metric in this module is a
smooth function of a few statistics that are computed from the shares of the cells. The metric's
family determines these statistics (see external.gradients).

The influence of a row on a statistic is the derivative of the statistic with respect to the share
of the row's cell. The influence is the sum of three terms: one for the cell, one for its label and
one for its cluster. The covariances C of the influences are computed only once, as sums over the
cells, and are used for every metric. If d is the gradient of a metric with respect to the
statistics, the variance of the metric for n rows is d' C d / n. The second and third statistics of
a family are chosen so that all influences on them are exactly 0 if the two labelings are equal.
"""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import check_confidence, choose_terms
from polars_clustereval.base.exact import last_row_term, log_ratio, ratio, to_double, widen
from polars_clustereval.base.frames import aggregate_by, join_partitions, join_small
from polars_clustereval.base.metric_facts import metric_facts
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.external.association import association_quotients
from polars_clustereval.external.contingency import LabelOptions, read_contingency_table
from polars_clustereval.external.expected_information import expected_influences
from polars_clustereval.external.gradients import (
    BCUBED,
    INFORMATION,
    MAJORITY,
    MATCHING,
    PAIRS,
    Quotient,
    Slopes,
    as_expression,
    linear,
    root_slopes,
)
from polars_clustereval.external.report import external_scores, need_expectation, score_partitions
from polars_clustereval.external.set_matching import match_score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.frames import Row, Terms
    from polars_clustereval.external.contingency import ContingencyTable
    from polars_clustereval.external.information import NormalizedMethod

# ----------------------------------------------------------------------------------------------
# Influences and their covariances
# ----------------------------------------------------------------------------------------------


def _cells_with_squares(table: ContingencyTable) -> pl.LazyFrame:
    """Return table.sized_cells with the other columns from which influences are computed.

    The column rows contains the number of rows that a cell represents, and single is 1 for noise
    that counts as singletons (where cluster is NULL) and 0 otherwise. The column label_squares
    contains the sum of the squared row counts of all cells with the same label, and label_overlap
    of those whose cluster is not larger than the label. The column is_label_majority tells whether
    the cell is the largest one of its label, and is_best_match whether its match score is. They are
    NULL if the maximum has no derivative, that is, if several cells tie for the largest or if the
    largest cell is a singleton. More columns contain the same for clusters; the larger clusters
    are those larger than their label.
    """
    single, n, copies = pl.col("cluster").is_null(), pl.col("n"), pl.col("copies")
    of_label, of_cluster = [*table.keys, "label"], [*table.keys, "cluster"]
    squares = to_double(n) * to_double(n) * to_double(copies)
    is_in_label = pl.col("label_size") >= pl.col("cluster_size")
    cells = table.sized_cells.with_columns(
        rows=n * copies,
        single=single.cast(pl.Int64),
        label_squares=squares.sum().over(of_label),
        cluster_squares=pl.when(single).then(1.0).otherwise(squares.sum().over(of_cluster)),
        label_overlap=pl.when(is_in_label).then(squares).otherwise(0.0).sum().over(of_label),
        cluster_overlap=pl.when(~is_in_label).then(squares).otherwise(0.0).sum().over(of_cluster),
        is_label_majority=n == n.max().over(of_label),
        is_cluster_majority=n == n.max().over(of_cluster),
        # Equal quotients of counts are equal numbers.
        is_best_match=match_score(pl.col) == match_score(pl.col).max().over(of_label),
    )
    in_label = {
        name: pl.when(name).then(copies + pl.col("single")).otherwise(0).sum().over(of_label) > 1
        for name in ("is_label_majority", "is_best_match")
    }
    in_cluster = ~single & (pl.col("is_cluster_majority").sum().over(of_cluster) > 1)
    ties = in_label | {"is_cluster_majority": in_cluster}
    cells = cells.with_columns(pl.when(~tied).then(name).alias(name) for name, tied in ties.items())
    best = to_double(pl.col("is_best_match")) * match_score(pl.col)
    sizes = to_double(pl.col("label_size")), to_double(pl.col("cluster_size"))
    label_share, cluster_share = (size / (sizes[0] + sizes[1]) for size in sizes)
    return cells.with_columns(
        best_match=best,
        label_share=label_share,
        matches_of_label=(best * cluster_share).sum().over(of_label),
        matches_of_cluster=(best * label_share).sum().over(of_cluster),
    )


def _pair_influences(row: Row) -> Slopes:
    """Return a row's influences on the shares of tp, fp and fn pairs, up to additive constants.

    For each kind of pair, the influence is twice the fraction of the other rows with which the row
    forms such a pair: the projection of the exact pair counts onto single rows. To first order, it
    also applies to sums of squared shares.
    """
    n, others = row("n"), row("total") - 1
    return (
        2 * ratio(n - 1, others),
        2 * ratio(row("cluster_size") - n, others),
        2 * ratio(row("label_size") - n, others),
    )


def _information_influences(row: Row) -> Slopes:
    """Return a row's influences on the statistics mi, hc and hl, up to additive constants.

    The influences are the changes of sums of terms n ln n if the row is left out. The derivatives
    of the terms would be off by up to 1 for cells with few rows.
    """
    n, label_size, cluster_size = row("n"), row("label_size"), row("cluster_size")
    sizes = n, label_size, cluster_size, row("total")
    of_cell, of_label, of_cluster, of_all = map(last_row_term, sizes)
    product = log_ratio(widen(n) * widen(row("total")), widen(label_size) * widen(cluster_size))
    return (
        product + (of_cell - of_label) + (of_all - of_cluster),
        log_ratio(label_size, n) + of_label - of_cell,
        log_ratio(cluster_size, n) + of_cluster - of_cell,
    )


def _bcubed_influences(row: Row) -> Slopes:
    """Return a row's influences on B-cubed precision and recall, up to additive constants.

    For each cell, recall depends on the square of the cell's share of its label's rows, except for
    singletons, because each of them is always a single row.
    """
    label_size, cluster_size = to_double(row("label_size")), to_double(row("cluster_size"))
    n = to_double(row("n"))
    return (
        2 * n / cluster_size - row("cluster_squares") / cluster_size / cluster_size,
        (2 - row("single")) * n / label_size - row("label_squares") / label_size / label_size,
        0.0,
    )


def _majority_influences(row: Row) -> Slopes:
    """Return a row's influences on purity and inverse purity, or NULL if there is no derivative."""
    return to_double(row("is_cluster_majority")), to_double(row("is_label_majority")), 0.0


def _matching_influences(row: Row) -> Slopes:
    """Return a row's influences on class F-measure and element-centric similarity.

    They are NULL if there is no derivative. The larger of two equal sizes has one only if their
    cell is the whole of both, because no sample then has a row that is in only one of them.
    """
    n, label_size, cluster_size = row("n"), row("label_size"), row("cluster_size")
    label_rows, cluster_rows = to_double(label_size), to_double(cluster_size)
    match = to_double(row("is_best_match")) * 2 * row("label_share")
    overlap = row("label_overlap") / label_rows / label_rows
    overlap += row("cluster_overlap") / cluster_rows / cluster_rows
    similarity = (2 - row("single")) * ratio(n, pl.max_horizontal(label_size, cluster_size))
    is_smooth = (label_size != cluster_size) | (n == label_size)
    return (
        match + row("matches_of_label") - row("matches_of_cluster"),
        pl.when(is_smooth).then(similarity - overlap),
        0.0,
    )


_INFLUENCES = {
    PAIRS: _pair_influences,
    INFORMATION: _information_influences,
    BCUBED: _bcubed_influences,
    MAJORITY: _majority_influences,
    MATCHING: _matching_influences,
}
#: The numbers of the statistics of a family.
PLACES = (0, 1, 2, 3)


def _mean_of_rows(x: pl.Expr) -> pl.Expr:
    """Return an expression for the mean of x over the cells' rows, or NULL if any x is NULL."""
    rows = pl.col("rows")
    mean = (to_double(rows) * x).sum() / to_double(rows.sum())
    return pl.when(x.null_count() == 0).then(mean)


def _add_expected_influences(table: ContingencyTable, cells: pl.LazyFrame) -> pl.LazyFrame:
    """Return `cells` with expected_influence, the influence of a row on emi."""
    for side, influences in zip(("label", "cluster"), expected_influences(table), strict=True):
        cells = join_small(cells, [*table.keys, f"{side}_size"], influences)
    influence = pl.col("influence_of_label") + pl.col("influence_of_cluster")
    return cells.with_columns(expected_influence=influence)


def centered_influences(table: ContingencyTable, *, adjusted: bool) -> pl.LazyFrame:
    """Return one row per cell and family: label, cluster, rows, and the influences i0 to i3.

    The influences have the mean 0 over the rows. They are NULL in all cells if a statistic has no
    derivative. The fourth statistic is emi in the family INFORMATION if `adjusted` is True, and
    otherwise a constant.
    """
    by = [*table.keys, "family"]
    cells = _cells_with_squares(table)
    if adjusted:
        cells = _add_expected_influences(table, cells)
    families = [
        cells.select(
            *table.keys,
            *("label", "cluster", "rows"),
            pl.lit(family).alias("family"),
            *(as_expression(x).alias(f"i{i}") for i, x in enumerate(influences(pl.col))),
            i3=pl.col("expected_influence") if adjusted and family == INFORMATION else 0.0,
        )
        for family, influences in _INFLUENCES.items()
    ]
    influences = pl.concat(families)
    means = aggregate_by(influences, by, {f"m{i}": _mean_of_rows(pl.col(f"i{i}")) for i in PLACES})
    centered = influences.join(means, on=by, nulls_equal=True)
    return centered.select(
        *(*by, "label", "cluster", "rows"), *(pl.col(f"i{i}") - pl.col(f"m{i}") for i in PLACES)
    )


def _covariances(table: ContingencyTable, *, adjusted: bool) -> pl.LazyFrame:
    """Return the covariances c00 to c33 of the rows' influences for each partition and family.

    A covariance is NULL if one of its statistics has no derivative.
    """
    products = {
        f"c{i}{j}": _mean_of_rows(pl.col(f"i{i}") * pl.col(f"i{j}"))
        for i, j in combinations_with_replacement(PLACES, 2)
    }
    influences = centered_influences(table, adjusted=adjusted)
    return aggregate_by(influences, [*table.keys, "family"], products)


# ----------------------------------------------------------------------------------------------
# Gradients
# ----------------------------------------------------------------------------------------------


def _linear_metrics(row: Row) -> dict[str, Quotient]:
    """Return the metrics that are linear in the statistics of their family, keyed by name.

    The number of rows is a constant, because all samples have the same number of rows.
    """
    n = to_double(row("total"))
    ordered_pairs = n * (n - 1)
    return {
        "rand_score": linear(PAIRS, 0.0, -1.0, -1.0),
        "mirkin_metric": linear(PAIRS, 0.0, ordered_pairs, ordered_pairs),
        "label_entropy": linear(INFORMATION, 1.0, 0.0, 1.0),
        "cluster_entropy": linear(INFORMATION, 1.0, 1.0, 0.0),
        "joint_entropy": linear(INFORMATION, 1.0, 1.0, 1.0),
        "label_entropy_given_cluster": linear(INFORMATION, 0.0, 0.0, 1.0),
        "cluster_entropy_given_label": linear(INFORMATION, 0.0, 1.0, 0.0),
        "mutual_info_score": linear(INFORMATION, 1.0, 0.0, 0.0),
        "variation_of_information": linear(INFORMATION, 0.0, 1.0, 1.0),
        "expected_mutual_info": linear(INFORMATION, 0.0, 0.0, 0.0, expected=1.0),
        "purity": linear(MAJORITY, 1.0, 0.0, 0.0),
        "inverse_purity": linear(MAJORITY, 0.0, 1.0, 0.0),
        "split_join_distance": linear(MAJORITY, -n, -n, 0.0),
        "bcubed_precision": linear(BCUBED, 1.0, 0.0, 0.0),
        "bcubed_recall": linear(BCUBED, 0.0, 1.0, 0.0),
        "class_f_measure": linear(MATCHING, 1.0, 0.0, 0.0),
        "element_centric_similarity": linear(MATCHING, 0.0, 1.0, 0.0),
    }


def _pair_quotients(row: Row, beta: float) -> dict[str, Quotient]:
    """Return the pair-counting scores that are not linear in the statistics, keyed by name.

    The statistics are shares of all pairs of rows: s of the pairs with the same label and the same
    cluster, x and y of the pairs with only the same cluster and only the same label. Therefore, b
    and c are the shares of pairs with the same label and with the same cluster. The multinomial
    adjusted Rand index differs from the adjusted Rand index only in terms that are smaller by a
    factor of n, the number of rows, so both indices have the same slopes.
    """
    s, x, y = row("tp_share"), row("fp_share"), row("fn_share")
    b, c, weight = s + y, s + x, beta * beta
    root, (root_b, root_c) = (b * c).sqrt(), root_slopes(b, c)
    above_chance = s - b * c, ((0.5 - b) + (0.5 - c), -b, -c)
    adjusted_rand = Quotient(
        PAIRS,
        above_chance[0],
        (b + c) / 2 - b * c,
        above_chance[1],
        ((0.5 - b) + (0.5 - c), 0.5 - b, 0.5 - c),
    )
    shared = (1.0, 0.0, 0.0)
    return {
        "adjusted_rand_score": adjusted_rand,
        "fowlkes_mallows_score": Quotient(
            PAIRS, s, root, shared, (root_b + root_c, root_c, root_b)
        ),
        "pair_precision": Quotient(PAIRS, s, c, shared, (1.0, 1.0, 0.0)),
        "pair_recall": Quotient(PAIRS, s, b, shared, (1.0, 0.0, 1.0)),
        "pair_f_score": Quotient(
            PAIRS,
            (1 + weight) * s,
            (1 + weight) * s + x + weight * y,
            (1 + weight, 0.0, 0.0),
            (1 + weight, 1.0, weight),
        ),
        "jaccard_index": Quotient(PAIRS, s, s + x + y, shared, (1.0, 1.0, 1.0)),
        "adjusted_fowlkes_mallows_score": Quotient(
            PAIRS,
            above_chance[0],
            root - b * c,
            above_chance[1],
            ((root_b - c) + (root_c - b), root_c - b, root_b - c),
        ),
        "multinomial_adjusted_rand_score": adjusted_rand,
    }


def _information_quotients(
    row: Row, average_method: str, beta: float, *, adjusted: bool
) -> dict[str, Quotient]:
    """Return the information scores that are not linear in the statistics, keyed by name.

    The statistic s is the mutual information, and x and y are the entropy of the cluster given the
    label and vice versa. Therefore, b and c are the entropies of the labels and of the clusters. If
    they are equal up to rounding errors, their minimum and maximum have no derivative.
    """
    s, x, y = row("mi"), row("hc"), row("hl")
    b, c = s + y, s + x
    root_b, root_c = root_slopes(b, c)
    differ = (x - y).abs() > 1e-12 * (x + y)
    x_larger = pl.when(differ).then(to_double(x > y))
    larger_slopes: Slopes = (1.0, x_larger, 1 - x_larger)
    means: dict[str, tuple[pl.Expr, Slopes]] = {
        "arithmetic": ((b + c) / 2, (1.0, 0.5, 0.5)),
        "geometric": ((b * c).sqrt(), (root_b + root_c, root_c, root_b)),
        "min": (pl.min_horizontal(b, c), (1.0, 1 - x_larger, x_larger)),
        "max": (pl.max_horizontal(b, c), larger_slopes),
        "joint": (s + x + y, (1.0, 1.0, 1.0)),
    }
    mean, mean_slopes = means[average_method]
    shared: Slopes = (1.0, 0.0, 0.0)
    larger = pl.max_horizontal(x, y)
    gradients = {
        "normalized_mutual_info_score": Quotient(INFORMATION, s, mean, shared, mean_slopes),
        "homogeneity_score": Quotient(INFORMATION, s, b, shared, (1.0, 0.0, 1.0)),
        "completeness_score": Quotient(INFORMATION, s, c, shared, (1.0, 1.0, 0.0)),
        "v_measure_score": Quotient(
            INFORMATION,
            (1 + beta) * s,
            b + beta * c,
            (1 + beta, 0.0, 0.0),
            (1 + beta, beta, 1.0),
        ),
        "normalized_variation_of_information": Quotient(
            INFORMATION, x + y, s + x + y, (0.0, 1.0, 1.0), (1.0, 1.0, 1.0)
        ),
        "normalized_information_distance": Quotient(
            INFORMATION, larger, s + larger, (0.0, x_larger, 1 - x_larger), larger_slopes
        ),
    }
    if adjusted:
        top, bottom = s - row("emi"), mean - row("emi")
        score = Quotient(INFORMATION, top, bottom, shared, mean_slopes, (-1.0, -1.0))
        gradients["adjusted_mutual_info_score"] = score
    return gradients


def _bcubed_quotients(row: Row, beta: float) -> dict[str, Quotient]:
    """Return the B-cubed F score, keyed by its name."""
    n, weight = to_double(row("total")), beta * beta
    precision, recall = row("precision_rows") / n, row("recall_rows") / n
    score = Quotient(
        BCUBED,
        (1 + weight) * precision * recall,
        weight * precision + recall,
        ((1 + weight) * recall, (1 + weight) * precision, 0.0),
        (weight, 1.0, 0.0),
    )
    return {"bcubed_f_score": score}


def metric_quotients(average_method: str, beta: float, *, adjusted: bool) -> dict[str, Quotient]:
    """Return all metrics that have derivatives, keyed by name (see external_report)."""
    beta = float(beta)
    return {
        **_linear_metrics(pl.col),
        **_pair_quotients(pl.col, beta),
        **association_quotients(pl.col),
        **_information_quotients(pl.col, average_method, beta, adjusted=adjusted),
        **_bcubed_quotients(pl.col, beta),
    }


# ----------------------------------------------------------------------------------------------
# Standard errors
# ----------------------------------------------------------------------------------------------


def _covariance_term(i: int, j: int) -> pl.Expr:
    """Return the product of two derivatives and a covariance, or 0 if either derivative is 0."""
    x, y = pl.col(f"g{i}"), pl.col(f"g{j}")
    product = x * y * pl.col(f"c{i}{j}")
    return pl.when((x == 0) | (y == 0)).then(0.0).otherwise(product)


def _standard_error() -> pl.Expr:
    """Return the standard error of a metric, sqrt(d' C d / n), or NULL for fewer than 2 rows.

    The gradient d is in the columns g0 to g3, and the covariances C are in the columns c00 to c33.
    The result is 0 if the variance is below the rounding error of its terms.
    """
    squares, products = (
        sum((_covariance_term(i, j) for i, j in pairs), pl.lit(0.0))
        for pairs in (zip(PLACES, PLACES, strict=True), combinations(PLACES, 2))
    )
    variance = squares + 2 * products
    error = (variance.clip(0.0) / pl.col("total")).sqrt()
    rounded = pl.when(variance <= 1e-14 * squares).then(0.0).otherwise(error)
    defined = (pl.col("total") > 1) & pl.col("value").is_not_null() & pl.col("family").is_not_null()
    return pl.when(defined).then(rounded)


def interval_reason(value: str) -> pl.Expr:
    """Return why there is no interval of the column `value`, or NULL if there is one."""
    reasons = {
        "fewer than 2 rows": pl.col("total") < 2,
        "the metric is undefined": pl.col(value).is_null(),
        "rows are not the unit that is sampled: use labels_are_sample": pl.col(
            "metric"
        ).str.starts_with("exact_match_"),
        "the metric has no derivative": pl.col("std_error").is_null(),
        # A smaller bias is a rounding error.
        "too few rows: the bias is more than a quarter of the standard error": pl.col("bias").abs()
        > 0.25 * pl.col("std_error") + 1e-12,
    }
    return pl.coalesce(pl.when(x).then(pl.lit(words)) for words, x in reasons.items())


def _row_biases(row: Row) -> dict[str, Slopes]:
    """Return terms whose means over the rows are the biases of the statistics of each family.

    The bias is how much a statistic of a sample is expected to exceed that of the population
    because its cells have few rows, to first order (Miller 1955 for entropies). It is 0 for pairs,
    and not known for majorities.
    """
    n, label_size, cluster_size = row("n"), row("label_size"), row("cluster_size")
    cell, label, cluster, all_rows = (
        1 / to_double(size) for size in (n, label_size, cluster_size, row("total"))
    )
    of_label, of_cluster, of_larger = (
        (1 - ratio(n, size)) / to_double(size)
        for size in (label_size, cluster_size, pl.max_horizontal(label_size, cluster_size))
    )
    best, share = row("best_match"), row("label_share")
    of_match = best * (1 - 2 * share) * (1 - best / 2) / to_double(n)
    of_information = cell - label + (all_rows - cluster)
    return {
        INFORMATION: (of_information / 2, (label - cell) / 2, (cluster - cell) / 2),
        BCUBED: (of_cluster, of_label, 0.0),
        MATCHING: (of_match, of_larger, 0.0),
    }


def add_bias(gradients: pl.LazyFrame, table: ContingencyTable) -> pl.LazyFrame:
    """Return the rows of score_gradients with bias, NULL if the metric has none.

    A metric with emi is about samples of this size, so it has none.
    """
    keys, biases = list(table.keys), []
    terms: dict[str, pl.Expr] = {}
    for family, slopes in _row_biases(pl.col).items():
        names = [f"{family}_{i}" for i in PLACES[:3]]
        terms |= {
            name: _mean_of_rows(as_expression(x)) for name, x in zip(names, slopes, strict=True)
        }
        bias = pl.sum_horizontal(pl.col(f"g{i}") * pl.col(name) for i, name in enumerate(names))
        biases.append(pl.when((pl.col("family") == family) & (pl.col("g3") == 0)).then(bias))
    of_tables = aggregate_by(_cells_with_squares(table), keys, terms)
    joined = join_partitions(gradients, keys, of_tables, how="left")
    return joined.with_columns(bias=pl.coalesce(biases)).drop(terms)


def list_bounds(names: Sequence[str]) -> pl.LazyFrame:
    """Return one row per metric, in the order of `names`: metric, place, least and greatest.

    The last two are the ends of the metric's range: a number and a formula.
    """
    schema = {"metric": pl.String, "place": pl.Int64, "least": pl.Float64, "greatest": pl.String}
    facts = [metric_facts()[name] for name in names]
    rows = [
        (fact.name, place, float(fact.least) if fact.least else None, fact.greatest or None)
        for place, fact in enumerate(facts)
    ]
    return pl.LazyFrame(rows, schema, orient="row")


def score_gradients(
    report: pl.LazyFrame, keys: list[str], names: Sequence[str], quotients: Mapping[str, Quotient]
) -> pl.LazyFrame:
    """Return list_bounds with value, family, g0 to g3, total and n_dropped for each partition.

    The family is NULL if the metric is not in `quotients`. The gradient is then also NULL, as it is
    if the denominator of the quotient is 0. If labels and clusters divide the rows in the same way,
    they also do so in every sample. A quotient is then 1 or 0 in every sample, even if its formula
    is 0 / 0, so its gradient is 0.
    """
    nothing = (None, None, None)
    missing = Quotient(None, None, None, nothing, nothing)
    structs = [
        pl.struct(
            term.alias(field)
            for field, term in {
                "metric": pl.lit(name),
                "value": pl.col(name),
                **quotients.get(name, missing).fields(),
            }.items()
        )
        for name in names
    ]
    columns = ("total", "n_dropped", "fp", "fn")
    rows = report.select(*keys, *columns, metric_row=pl.concat_list(structs))
    score = ratio(pl.col("top"), pl.col("bottom"))
    is_constant = ~pl.col("is_linear") & (pl.col("fp") + pl.col("fn") == 0)
    gradients = (
        rows.explode("metric_row")
        .unnest("metric_row")
        .select(
            *(*keys, "metric", "value", "family", "total", "n_dropped"),
            *(
                pl.when(is_constant)
                .then(0.0)
                .otherwise(ratio(pl.col(f"t{i}") - pl.col(f"b{i}") * score, pl.col("bottom")))
                .alias(f"g{i}")
                for i in PLACES
            ),
        )
    )
    return gradients.join(list_bounds(names), on="metric")


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------

_INTERVAL_COLUMNS = ("metric", "value", "std_error", "lower", "upper", "reason")


@table_function("labels", guide="intervals", order=("metric",))
def external_intervals(
    frame: Frame,
    label: Column,
    cluster: Column,
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
    """Delta-method confidence intervals for external metrics, computed in one pass over the rows.

    The rows are treated as independent draws from a population in which each member has a label and
    a cluster. To first order, a metric is a linear function of the shares of the contingency cells,
    and the variance of this function is used as the variance of the metric. No resampling is
    needed.

    Parameters
    ----------
    confidence : float
        The probability (between 0 and 1) that an interval covers the metric's value in the
        population.
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report
    average_method, beta, adjusted : as in external_report
    metrics : sequence of str, optional
        Names of the metrics to return. By default, all metrics are returned.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition and metric, sorted by partition and then in
        the order of external_report. The columns are the partition columns, metric and the
        following:

        * value is the metric's value in external_report.
        * std_error is the standard error of the value.
        * lower and upper are the limits of the interval value -+ z std_error, where z is the normal
          quantile for `confidence`. The interval is cut off at the ends of the metric's range.
        * reason says why lower and upper are NULL, and is NULL if they are not.

        The standard error and the limits are NULL if the value is NULL, if there are fewer than 2
        rows, or for exact matches, because one row can create or destroy a match. They are also
        NULL if the metric has no derivative. This is the case for tied majorities in purity,
        inverse_purity and split_join_distance, for tied best matches in class_f_measure, for labels
        that overlap another cluster of the same size in element_centric_similarity, for the minimum
        or maximum of equal entropies, and for 0 / 0. The limits are also NULL if the metric is
        biased by more than a quarter of the standard error, because the cells have too few rows. If
        labels and clusters divide the rows in the same way, every agreement score has a standard
        error of 0.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report, and if an option is out of range.

    Notes
    -----
    In SQL: ``FROM clustereval.external_intervals(tbl, label, cluster)``.

    Scores of information, B-cubed scores, class_f_measure and element_centric_similarity of many
    small clusters are biased, because a sample has fewer rows in each cell than the population. The
    bias is estimated to first order, and the biases of purity and of the choice of a best match are
    not. For exact matches, draw whole entities, and use entity_resolution_estimates with
    labels_are_sample.

    mirkin_metric, split_join_distance and mcnemar_index grow with the number of rows, and
    adjusted_mutual_info_score and expected_mutual_info depend on it. The intervals for these
    metrics therefore refer to samples with the same number of rows.

    References
    ----------
    Goodman and Kruskal (1972), Measures of association for cross classifications, IV, Journal of
    the American Statistical Association 67, 415-421, doi:10.1080/01621459.1972.10482401. Miller
    (1955), Note on the bias of information estimates, in H. Quastler (ed.), Information Theory in
    Psychology, 95-100, Free Press, for the bias.

    Examples
    --------
    In this example, 80 of 100 rows have the majority label of their cluster, so the standard error
    of purity is sqrt(0.8 x 0.2 / 100):

    >>> cells = pl.DataFrame(
    ...     {
    ...         "label": ["a", "b", "a", "b"],
    ...         "cluster": [0, 0, 1, 1],
    ...         "n": [45, 15, 5, 35],
    ...     }
    ... )
    >>> intervals = ce.external_intervals(cells, "label", "cluster", weight="n")
    >>> purity = intervals.filter(pl.col("metric") == "purity")
    >>> purity.select(pl.exclude("metric", "reason").round(3)).row(0)
    (0.8, 0.04, 0.722, 0.878)
    """
    scores = choose_terms(external_scores(average_method, beta, adjusted=adjusted), metrics)
    z = -NormalDist().inv_cdf((1 - check_confidence(confidence)) / 2)
    options = pass_arguments_to(LabelOptions)
    table = read_contingency_table(frame, label, cluster, options, _INTERVAL_COLUMNS).cache_groups()
    names = list(scores)
    quotients = metric_quotients(average_method, beta, adjusted=adjusted)
    keys: list[str] = list(table.keys)
    has_expectation = need_expectation(scores)
    report = score_partitions(table, scores, adjusted=has_expectation)
    margin = pl.when(pl.col("reason").is_null()).then(z * pl.col("std_error"))
    intervals = (
        add_bias(score_gradients(report, keys, names, quotients), table)
        .join(
            _covariances(table, adjusted=has_expectation),
            on=[*keys, "family"],
            how="left",
            nulls_equal=True,
        )
        .with_columns(std_error=_standard_error())
        .with_columns(reason=interval_reason("value"))
        .with_columns(**cut_limits(pl.col("value") - margin, pl.col("value") + margin))
        .sort(*keys, "place", nulls_last=True)
    )
    return table.to_user_frame(frame, intervals.select(*keys, *_INTERVAL_COLUMNS))


def greatest_value() -> pl.Expr:
    """Return the upper bound of a metric from the columns total and greatest, NULL without one.

    An entropy, and any metric bounded by an entropy, is at most the entropy of n different labels.
    """
    n, bound = to_double(pl.col("total")), pl.col("greatest")
    named = {"1": pl.lit(1.0), "n (n - 1)": n * (n - 1), "2 n": 2 * n}
    return pl.coalesce(
        *(pl.when(bound == name).then(value) for name, value in named.items()),
        pl.when(bound.is_not_null()).then(n.log()),
    )


def cut_limits(lower: pl.Expr, upper: pl.Expr) -> Terms:
    """Return the limits `lower` and `upper`, cut off at the columns of list_bounds."""
    greatest = greatest_value()
    return {
        "lower": pl.when(lower < pl.col("least")).then("least").otherwise(lower),
        "upper": pl.when(upper > greatest).then(greatest).otherwise(upper),
    }
