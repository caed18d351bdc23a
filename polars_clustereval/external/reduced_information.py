"""Mutual information minus the information needed to describe the contingency table.

Imagine that the labels of n rows are transmitted to a receiver who knows the clusters. The
contingency table is sent first, followed by a message that says which rows of each cluster have
which label. Mutual information assumes that the receiver already knows the table. The reduced
mutual information subtracts ln(tables) / n, where tables is the number of contingency tables with
the same label sizes and cluster sizes. ln(tables) is estimated by a closed-form expression (see
_log_tables), which is exact if one side has a single group or only singletons.

For a whole number x, ln(x!) is x ln x - x + r(x), where r(x) is a remainder. If the factorials in
the microcanonical information ln(n! prod n_ij! / (prod a_i! prod b_j!)) are written in this way,
the terms x ln x add up to n times the mutual information, which is computed without losing digits.
If most cells have few rows, ln(tables) is nearly as large as the microcanonical information, and
the difference between the two loses digits. In that case, the difference is simplified before it is
computed. All factorials of sizes cancel exactly, and only the sum of ln(n_ij!) and the terms of
_log_excess remain.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.exact import (
    count_ordered_pairs,
    deviance,
    from_fixed_point,
    ratio,
    to_double,
    to_fixed_point,
)
from polars_clustereval.base.frames import Row, StructLists, Terms, element_field, element_fields

from .contingency import GROUP_COUNTS, GROUP_PAIRS, cells_as_list, cluster_field, label_field
from .entropies import cell_difference_terms, cell_information_terms, information_terms
from .expected_information import stirling_error, stirling_scale

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_clustereval.base.checks import Column

# ----------------------------------------------------------------------------------------------
# Logarithms
# ----------------------------------------------------------------------------------------------


def factorial_remainder(x: pl.Expr) -> pl.Expr:
    """Return r(x) = ln(x!) - x ln x + x as Float64, for a whole number x > 0; r(1) is exactly 1."""
    x = to_double(x)
    return 0.5 * stirling_scale(x).log() + stirling_error(x)


def log_factorial(x: pl.Expr) -> pl.Expr:
    """Return ln(x!) as Float64, for a whole number x > 0; ln(1!) is exactly 0."""
    x = to_double(x)
    large = x * (x.log() - 1) + factorial_remainder(x)
    return pl.when(x == 1).then(0.0).when(x == 2).then(math.log(2)).otherwise(large)


def _product(factors: Iterable[pl.Expr]) -> pl.Expr:
    """Return the product of the factors."""
    return reduce(lambda left, right: left * right, factors)


def _log_excess_large(z: pl.Expr, k: pl.Expr) -> pl.Expr:
    """Return _log_excess for z and k >= 7, in a form that avoids cancellation for large z."""
    main = deviance(z + k, z, k) - 0.5 * (k / z).log1p()
    return main + stirling_error(z + k) - stirling_error(z)


def _log_excess(z: pl.Expr, k: pl.Expr) -> pl.Expr:
    """Return the sum of ln(1 + i / z) over i = 0, ..., k - 1, for z >= 1 and an integer k > 0.

    The sum equals ln(gamma(z + k) / (gamma(z) z^k)), where gamma is the gamma function. If k is
    small, the result is computed from a product. If z < 7, it is computed for z + 7 and then
    corrected.
    """
    product = _product(pl.when(k > i).then(1 + i / z).otherwise(1.0) for i in range(1, 6))
    shift = _product((z + i) / (z + k + i) for i in range(7))
    shifted = _log_excess_large(z + 7, k) + k * ((z + 7) / z).log() + shift.log()
    large = _log_excess_large(z.clip(7.0), k)
    return pl.when(k < 7).then(product.log()).when(z < 7).then(shifted).otherwise(large)


def _log_choose_large(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Return _log_choose for x and y >= 7; all terms except the smallest are positive."""
    main = x * (y / x).log1p() + y * (x / y).log1p()
    root = 0.5 * ((1 + x / y) / stirling_scale(x)).log()
    return main + root + stirling_error(x + y) - stirling_error(x) - stirling_error(y)


def _log_choose(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Return ln C(x + y, x) for a positive integer x, and y >= 0 that need not be an integer.

    If x is small, the result is computed from a product. If y < 7, it is computed for y + 7 and
    then corrected.
    """
    product = _product(pl.when(x >= i).then(1 + y / i).otherwise(1.0) for i in range(1, 7))
    shift = _product((y + i) / (x + y + i) for i in range(1, 8))
    large = _log_choose_large(x, y.clip(7.0))
    shifted = _log_choose_large(x, y + 7) + shift.log()
    return pl.when(x < 7).then(product.log()).when(y < 7).then(shifted).otherwise(large)


def _table_concentration(total: pl.Expr, n_rows: pl.Expr, column_pairs: pl.Expr) -> pl.Expr:
    """Return the concentration parameter, minus 1, of a Dirichlet distribution of row sums.

    The `n_rows` row sums belong to a contingency table that counts `total` data rows. The
    concentration is chosen to match the variance of the row sums over all tables with the given
    column sums. `column_pairs` is the number of ordered pairs of data rows in the same column of
    the table. The result is NULL if each column contains only one data row.
    """
    apart = ratio(count_ordered_pairs(total) - column_pairs, column_pairs)
    return apart * to_double(n_rows + 1) / to_double(n_rows)


def _log_tables(
    total: pl.Expr, n_rows: pl.Expr, concentration: pl.Expr, group_logs: pl.Expr
) -> pl.Expr:
    """Return the log of the estimated number of contingency tables with given row and column sums.

    Within each column, the sum can be divided among the rows in any way. Only some of the resulting
    tables have the given row sums, and the share of these tables is estimated with a
    Dirichlet-multinomial distribution. `concentration` is the result of _table_concentration.
    `group_logs` is the sum of _log_choose(column sum, n_rows - 1) over the columns plus the sum of
    _log_choose(row sum, concentration) over the rows.
    """
    others = to_double(n_rows) * concentration + to_double(n_rows - 1)
    return group_logs - _log_choose(to_double(total), others)


def _table_excess(
    total: pl.Expr, n_rows: pl.Expr, concentration: pl.Expr, group_excess: pl.Expr
) -> pl.Expr:
    """Return _log_excess for the total of a table, minus `group_excess`, its sum over all groups.

    The result is the reduced information of all `total` data rows, minus the sum of ln(n!) over the
    cells, where n is the number of data rows in a cell.
    """
    return _log_excess(to_double(n_rows) * (concentration + 1), to_double(total)) - group_excess


# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def table_options(row: Row) -> Terms:
    """Return, for each partition, the inputs of the estimate of the number of tables.

    The side with more groups, or the clusters if there are equally many, forms the n_table_rows
    rows of the table. of_rows is the _table_concentration of this table, and of_labels that of the
    table of the labels with themselves. label_y and cluster_y are the second arguments of
    _log_choose for label and cluster sizes.
    """
    total, labels, clusters = row("total"), row("n_labels"), row("n_clusters")
    label_pairs, cluster_pairs = row("label_pairs"), row("cluster_pairs")
    has_label_rows = labels > clusters
    of_label_rows = _table_concentration(total, labels, cluster_pairs)
    of_cluster_rows = _table_concentration(total, clusters, label_pairs)
    of_label_columns, of_cluster_columns = to_double(clusters - 1), to_double(labels - 1)
    return {
        "label_y": pl.when(has_label_rows).then(of_label_rows).otherwise(of_label_columns),
        "cluster_y": pl.when(has_label_rows).then(of_cluster_columns).otherwise(of_cluster_rows),
        "of_rows": pl.when(has_label_rows).then(of_label_rows).otherwise(of_cluster_rows),
        "of_labels": _table_concentration(total, labels, label_pairs),
        "n_table_rows": pl.max_horizontal(labels, clusters),
    }


def label_table_terms(row: Row) -> Terms:
    """Return the terms of a label size, in fixed point.

    fixed_label_logs is its term in group_logs (see _log_tables), and fixed_label_excess its term in
    group_excess (see _table_excess). fixed_own_logs and fixed_own_excess are the corresponding
    terms for the table of the labels with themselves.
    """
    size, copies = to_double(row("label_size")), to_double(row("copies"))
    of_columns = to_double(row("n_labels") - 1)
    own = _log_choose(size, row("of_labels")) + _log_choose(size, of_columns)
    own_excess = _log_excess(row("of_labels") + 1, size) + _log_excess(of_columns + 1, size)
    return {
        "fixed_label_factorials": to_fixed_point(copies * log_factorial(size)),
        "fixed_label_excess": to_fixed_point(copies * _log_excess(row("label_y") + 1, size)),
        "fixed_own_excess": to_fixed_point(copies * own_excess),
        "fixed_label_remainders": to_fixed_point(copies * factorial_remainder(size)),
        "fixed_label_logs": to_fixed_point(copies * _log_choose(size, row("label_y"))),
        "fixed_own_logs": to_fixed_point(copies * own),
    }


def cluster_table_terms(row: Row) -> Terms:
    """Return the terms of a cluster size, named as in label_table_terms."""
    size, copies = to_double(row("cluster_size")), to_double(row("copies"))
    return {
        "fixed_cluster_remainders": to_fixed_point(copies * factorial_remainder(size)),
        "fixed_cluster_excess": to_fixed_point(copies * _log_excess(row("cluster_y") + 1, size)),
        "fixed_cluster_logs": to_fixed_point(copies * _log_choose(size, row("cluster_y"))),
    }


def cell_table_terms(row: Row) -> Terms:
    """Return the terms of a cell, named as in label_table_terms."""
    n, copies = row("n"), to_double(row("copies"))
    return {
        "fixed_cell_remainders": to_fixed_point(copies * factorial_remainder(n)),
        "fixed_cell_factorials": to_fixed_point(copies * log_factorial(n)),
    }


def table_terms(row: Row) -> Terms:
    """Return log_tables, label_tables, their excess, and the other sums that reduced_scores needs.

    label_tables and label_excess are those of the table of the labels with themselves.
    """
    logs, excess = (
        {x: from_fixed_point(row(f"fixed_{x}_{name}")) for x in ("label", "cluster", "own")}
        for name in ("logs", "excess")
    )
    table = row("total"), row("n_table_rows"), row("of_rows")
    own_table = row("total"), row("n_labels"), row("of_labels")
    names = [f"{name}_remainders" for name in ("cell", "label", "cluster")]
    names += ["cell_factorials", "label_factorials"]
    return {
        "table_excess": _table_excess(*table, excess["label"] + excess["cluster"]),
        "label_excess": _table_excess(*own_table, excess["own"]),
        "log_tables": _log_tables(*table, logs["label"] + logs["cluster"]),
        "label_tables": _log_tables(*own_table, logs["own"]),
        **{name: from_fixed_point(row(f"fixed_{name}")) for name in names},
    }


def reduced_statistics(label: Column, cluster: Column) -> StructLists:
    """Return the statistics that reduced_scores needs, as one struct per group."""
    cells = cells_as_list(label, cluster).add_stages(
        cell_difference_terms, _group_counts, table_options, label_table_terms, cluster_table_terms
    )
    carried = ("n_labels", "n_clusters", "of_rows", "of_labels", "n_table_rows")
    sums = {
        **cell_information_terms(element_field),
        **cell_table_terms(element_field),
        **{name: label_field(name) for name in label_table_terms(element_field)},
        **{name: cluster_field(name) for name in cluster_table_terms(element_field)},
    }
    totals = {name: element_field(name).first() for name in ("total", *carried)}
    totals |= {name: term.sum() for name, term in sums.items()}
    terms = information_terms(element_field) | table_terms(element_field)
    return cells.select(totals).select(element_fields("total", "n_labels", "n_clusters") | terms)


def _group_counts(_: Row) -> Terms:
    """Return n_labels, n_clusters, label_pairs and cluster_pairs, equal in all cells of a list."""
    terms = GROUP_COUNTS | GROUP_PAIRS
    names = ("n_labels", "n_clusters", "label_pairs", "cluster_pairs")
    return {name: terms[name].sum() for name in names}


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def reduced_scores(row: Row) -> Terms:
    """Return the reduced mutual information and its normalized form."""
    n, total_remainder = to_double(row("total")), factorial_remainder(row("total"))
    remainders = total_remainder + row("cell_remainders") - row("label_remainders")
    remainders = remainders - row("cluster_remainders") - row("log_tables")
    of_small = (row("cell_factorials") + row("table_excess")) / n
    is_small = row("cell_factorials") < n
    reduced = pl.when(is_small).then(of_small).otherwise(row("mi") + remainders / n)
    # If one side is a single group or only singletons, the clusters provide no information beyond
    # the contingency table.
    total, labels, clusters = row("total"), row("n_labels"), row("n_clusters")
    is_trivial = (labels == 1) | (clusters == 1) | (labels == total) | (clusters == total)
    reduced = pl.when(is_trivial).then(0.0).otherwise(reduced)
    own_remainders = total_remainder - row("label_remainders") - row("label_tables")
    own_of_small = (row("label_factorials") + row("label_excess")) / n
    own = row("mi") + row("hl") + own_remainders / n
    own = pl.when(row("label_factorials") < n).then(own_of_small).otherwise(own)
    normalized = pl.when(own > 0).then(reduced / own).clip(upper_bound=1.0)
    is_equal = row("hl") + row("hc") == 0
    has_own = (labels > 1) & (labels < total)
    normalized = pl.when(is_equal).then(1.0).otherwise(normalized)
    return {
        "reduced_mutual_info_score": reduced,
        "normalized_reduced_mutual_info_score": pl.when(has_own).then(normalized),
    }


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def reduced_mutual_info_score(label: Column, cluster: Column) -> pl.Expr:
    """Mutual information minus the information in the contingency table itself, in nats per row.

    The score is (1/n) ln(n! prod n_ij! / (prod a_i! prod b_j!)) - (1/n) ln(tables), where n_ij are
    the cells of the contingency table, and tables is the number of contingency tables with the same
    label sizes a_i and cluster sizes b_j. The number of tables is estimated by the method of
    Jerdee, Kirkley and Newman. The side (labels or clusters) with more groups forms the rows of the
    table. The score is negative if the clusters provide less information about the labels than is
    needed to describe the table.

    Facts
    -----
    Title : Reduced mutual information (RMI)
    Meaning : mutual information minus that of the table itself
    Range : unbounded
    Best value : none
    Special cases : 0 if there is only one label or only one cluster, or if all labels or all
        clusters are singletons, because the number of tables is known exactly in these cases. NULL
        if there are no rows.
    Source : Newman, Cantwell and Young (2020), Improved mutual information measure for clustering,
        classification, and community detection, doi:10.1103/PhysRevE.101.042304. Jerdee, Kirkley
        and Newman (2024), Improved estimates for the number of non-negative integer matrices with
        given row and column sums, doi:10.1098/rspa.2023.0470.
    Differs : The function reduced_flat of clustering-mi returns bits, does not divide by n, and
        always uses the clusters as the rows of the table. By default, clustering-mi estimates the
        information in the table with a fitted parameter.
    SQL : clustereval.reduced_mutual_info_score(label, cluster)

    Examples
    --------
    The mutual information is 0.673 nats, but most of it is information in the table:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.reduced_mutual_info_score("label", "cluster")).item()
    0.1372...
    """
    return reduced_statistics(label, cluster).score(reduced_scores, "reduced_mutual_info_score")


def normalized_reduced_mutual_info_score(label: Column, cluster: Column) -> pl.Expr:
    """Reduced mutual information as a share of the information in the labels.

    The score is reduced_mutual_info_score divided by its value for the labels compared with
    themselves. A clustering with high entropy therefore has no advantage.

    Facts
    -----
    Title : Normalized reduced mutual information, asymmetric
    Meaning : reduced information as a share of the labels' own
    Range : up to 1
    Best value : 1
    Special cases : NULL if there is only one label or if all labels are singletons, because the
        divisor is 0 in these cases. Otherwise, 1 for equal partitions, and NULL if the divisor is
        not positive. NULL if there are no rows.
    Source : Jerdee, Kirkley and Newman (2023), Normalized mutual information is a biased measure
        for classification and community detection, https://arxiv.org/abs/2307.01282.
    Sides swapped : another value
    Differs : clustering-mi returns 0 instead of NULL.
    SQL : clustereval.normalized_reduced_mutual_info_score(label, cluster)

    Examples
    --------
    Dividing a label into two clusters costs more than in normalized_mutual_info_score:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.normalized_reduced_mutual_info_score("label", "cluster")).item()
    0.5555...
    """
    return reduced_statistics(label, cluster).score(
        reduced_scores, "normalized_reduced_mutual_info_score"
    )
