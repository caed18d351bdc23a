"""The expected mutual information of random labelings with the same sizes.

The expectation is taken over all permutations of the rows. The expected mutual information is the
sum of E[deviance(x, ab / n)] / n over all pairs of a label size a and a cluster size b. Here, n is
the number of rows. The overlap x is the number of rows that the label and the cluster share, and
has a hypergeometric distribution. The term of a pair of sizes that occurs several times is computed
only once and is weighted by the multiplicity of the pair.

The probabilities of overlaps are computed in Loader's saddle-point form, which avoids cancellation.
The values of the overlap at which a sum is evaluated are called nodes. If the standard deviation of
x is 6 or more, the probabilities are a smooth function of x. By Poisson's summation formula, the
sum of a smooth function over every stride-th x, times stride, equals the full sum to within 1e-15.
Therefore, a pair of sizes needs at most about 140 nodes, regardless of n. The names of sums with
stride 1 begin with `fine`, and those of other sums begin with `strided`.

For a pair of sizes, `deviation` is the standard deviation of the overlap, `least` and `most` are
its limits, `stride` is the distance between neighboring nodes, `reach` is the largest distance of a
node from the node at `center`, `multiplicity` is the number of pairs of a label and a cluster with
these sizes, and `node_share` is multiplicity x stride / n.

The term of a pair of sizes is also a smooth function of both sizes. Therefore, a few nodes can
replace many sizes, with multiplicities chosen so that the sum stays the same. This replacement
limits the number of pairs of sizes.

mi is the mutual information, hl is the entropy of the label given the cluster, and hc is the
entropy of the cluster given the label. emi, ehl and ehc are the expectations of mi, hl and hc for
random labelings.
"""

from __future__ import annotations

from math import pi, prod
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_clustereval.base.exact import (
    PLACES_OF_SHARES,
    deviance,
    from_fixed_point,
    last_row_term,
    log_ratio,
    ratio_or,
    to_double,
    to_fixed_point,
    widen,
)
from polars_clustereval.base.frames import (
    Row,
    StructLists,
    Terms,
    add_stages,
    element_field,
    join_partitions,
    join_small,
    sum_by,
)

from .contingency import ContingencyTable, cells_as_list, cluster_field, label_field

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column

# ----------------------------------------------------------------------------------------------
# Corrections for chance
# ----------------------------------------------------------------------------------------------


def _mean_entropy_above_chance(row: Row, average_method: str) -> pl.Expr:
    """Return M - emi, where M is a mean of the label and cluster entropies mi + hl and mi + hc.

    Subtracting emi would lose digits, so the result is computed from ehl = mi + hl - emi and ehc =
    mi + hc - emi.
    """
    ehl, ehc = row("ehl"), row("ehc")
    root_l, root_c = (row("mi") + row("hl")).sqrt(), (row("mi") + row("hc")).sqrt()
    means = {
        "arithmetic": (ehl + ehc) / 2,
        "geometric": ehl + (ehc - ehl) * ratio_or(root_l, root_l + root_c, 0.0),
        "min": pl.min_horizontal(ehl, ehc),
        "max": pl.max_horizontal(ehl, ehc),
    }
    return means[average_method]


def _mutual_info_above_chance(row: Row) -> pl.Expr:
    """Return mi - emi, which equals both ehl - hl and ehc - hc.

    Of these three equal differences, the one with the smallest terms is the most accurate. The
    choice matters if most rows are singletons.
    """
    emi, ehl, ehc = row("emi"), row("ehl"), row("ehc")
    return (
        pl.when((emi <= ehl) & (emi <= ehc))
        .then(row("mi") - emi)
        .when(ehl <= ehc)
        .then(ehl - row("hl"))
        .otherwise(ehc - row("hc"))
    )


def adjusted_mutual_info(row: Row, average_method: str) -> pl.Expr:
    """Return the adjusted mutual information (mi - emi) / (M - emi), or 1 for equal partitions.

    If the quotient is 0 / 0, the result is 0 when mi is 0, as in scikit-learn, and NULL otherwise.
    NULL occurs with 'min' if all labels or all clusters are singletons. In this case, scikit-learn
    returns a value near 1 that depends on rounding errors.
    """
    mean_entropy = _mean_entropy_above_chance(row, average_method)
    # Rounding may take the ratio above 1.
    score = (_mutual_info_above_chance(row) / mean_entropy).clip(upper_bound=1.0)
    return (
        pl.when(row("hl") + row("hc") == 0)
        .then(1.0)
        .when(mean_entropy != 0)
        .then(score)
        .when(row("mi") == 0)
        .then(0.0)
    )


# ----------------------------------------------------------------------------------------------
# Pairs of sizes
# ----------------------------------------------------------------------------------------------

# The values of ln(x!) - [(x + 1/2) ln x - x + ln(2 pi) / 2] for x = 0 .. 6, with 0 for x = 0, ...
_STIRLING_ERRORS = (
    0.0,
    0.08106146679532726,
    0.0413406959554093,
    0.02767792568499834,
    0.020790672103765093,
    0.016644691189821193,
    0.013876128823070748,
)
# ... and the terms of Stieltjes's continued fraction for it, which is exact to 1e-17 for x >= 7.
_STIELTJES_TERMS = (
    8.333333333333333e-2,
    3.333333333333333e-2,
    2.523809523809524e-1,
    5.256064690026954e-1,
    1.0115230681268417,
    1.5174736491532874,
    2.26948897420496,
    3.0099173832593982,
)


def stirling_error(x: pl.Expr) -> pl.Expr:
    """Return the error of Stirling's formula for ln(x!), for an integer x > 0, or 0 for x = 0.

    The error is ln(x!) - [(x + 1/2) ln x - x + ln(2 pi) / 2].
    """
    fraction = x
    for term in reversed(_STIELTJES_TERMS[1:]):
        fraction = x + term / fraction
    error = pl.lit(_STIRLING_ERRORS[-1])
    for k, small in enumerate(_STIRLING_ERRORS[:-1]):
        error = pl.when(x == k).then(small).otherwise(error)
    return pl.when(x >= 7).then(_STIELTJES_TERMS[0] / fraction).otherwise(error)


def stirling_scale(x: pl.Expr) -> pl.Expr:
    """Return 2 pi x for an integer x > 0, or 1 for x = 0.

    The square root of the result is the first factor in Stirling's approximation of x!, which is
    sqrt(2 pi x) (x / e)^x.
    """
    return (2 * pi * x).clip(1.0)


def _overlap_limits(row: Row) -> Terms:
    """Return n, a and b as Float64, and the mean, deviation, least and most of their overlap."""
    n = to_double(row("total"))
    a, b = to_double(row("label_size")), to_double(row("cluster_size"))
    variance = (a / n) * b * ((n - a) / n) * ((n - b) / (n - 1).clip(1.0))
    return {
        "n": n,
        "a": a,
        "b": b,
        "mean": a * b / n,
        "deviation": variance.sqrt(),
        "least": (a + b - n).clip(0.0),
        "most": pl.min_horizontal(a, b),
    }


def _overlap_node_range(row: Row) -> Terms:
    """Return center, stride and reach: a sum is evaluated at every stride-th overlap around center.

    center is a whole number near the mean. Overlaps beyond a distance of reach have a probability
    of less than 1e-15. The constant 8 in the code accounts for small clusters, for which the
    overlap is skewed to the right like a Poisson variable.
    """
    deviation = row("deviation")
    center = row("mean").floor()
    return {
        "center": pl.min_horizontal(pl.max_horizontal(center, row("least")), row("most")),
        "stride": (deviation / 1.5).floor().clip(4.0)
        - pl.when(deviation < 6).then(3.0).otherwise(0.0),
        "reach": 9.5 * deviation + pl.when(deviation < 6).then(8.0).otherwise(0.0),
    }


def _overlap_node_counts(row: Row) -> Terms:
    """Return below, n_nodes and offset for a pair of sizes.

    `below` is the number of nodes smaller than center, and n_nodes is the number of all nodes.
    offset is center minus the mean overlap, computed from exact integers.
    """
    total, a, b = widen(row("total")), widen(row("label_size")), widen(row("cluster_size"))
    center, reach, stride = row("center"), row("reach"), row("stride")
    below = (pl.min_horizontal(reach, center - row("least")) / stride).floor()
    above = (pl.min_horizontal(reach, row("most") - center) / stride).floor()
    return {
        "below": below,
        "n_nodes": (below + above + 1).cast(pl.Int64),
        "offset": to_double(total * widen(center) - a * b) / row("n"),
    }


def _probability_factors(row: Row) -> Terms:
    """Return scale, errors and node_share for a pair of sizes.

    The probability of an overlap is a ratio of factorials. Those of a, n - a, b, n - b and n do not
    depend on the overlap. By Stirling's formula, they contribute the factor `scale` and the
    exponent `errors` to the probability. In emi, each probability is multiplied by node_share.
    """
    n, a, b = row("n"), row("a"), row("b")
    scale = stirling_scale(a) * stirling_scale(n - a) * stirling_scale(b)
    errors = sum(map(stirling_error, (a, n - a, b, n - b)), -stirling_error(n))
    return {
        "scale": (scale / stirling_scale(n) * stirling_scale(n - b)).sqrt(),
        "errors": errors,
        "node_share": row("multiplicity") * row("stride") / n,
    }


# The columns of a pair of sizes that are needed to compute the terms of its nodes.
_NODE_COLUMNS = (
    *("n", "a", "b", "center", "stride", "below", "offset"),
    *("scale", "errors", "node_share"),
)


def _node_overlaps(row: Row) -> Terms:
    """Return x1, the overlap of a node, and d = x1 - mean, which is exact."""
    step = row("stride") * (to_double(row("node")) - row("below"))
    return {"x1": row("center") + step, "d": step + row("offset")}


def _node_tables(row: Row) -> Terms:
    """Return x2 .. x4, the rest of the 2 x 2 table, and the means m1 .. m4 of x1 .. x4.

    x1 of the n rows have both the label and the cluster, x2 rows have only the label, x3 rows have
    only the cluster, and x4 rows have neither.
    """
    n, a, b, x1 = row("n"), row("a"), row("b"), row("x1")
    return {
        "x2": a - x1,
        "x3": b - x1,
        "x4": n - a - b + x1,
        "m1": a * b / n,
        "m2": a * (n - b) / n,
        "m3": b * (n - a) / n,
        "m4": (n - a) * (n - b) / n,
    }


def _node_deviances(row: Row) -> Terms:
    """Return d1 .. d4, the deviances x ln(x / m) + m - x of the cells of a 2 x 2 table."""
    d = row("d")
    differences = {1: d, 2: -d, 3: -d, 4: d}
    return {f"d{i}": deviance(row(f"x{i}"), row(f"m{i}"), x) for i, x in differences.items()}


def _node_weights(row: Row) -> Terms:
    """Return weight = probability x multiplicity x stride / n, by which emi multiplies a deviance.

    The probability is computed in Loader's form, which avoids cancellation.
    """
    scale = stirling_scale(row("x1"))
    for i in (2, 3, 4):
        scale *= stirling_scale(row(f"x{i}"))
    exponent = row("errors")
    for i in (1, 2, 3, 4):
        exponent -= row(f"d{i}") + stirling_error(row(f"x{i}"))
    return {"weight": row("node_share") * row("scale") / scale.sqrt() * exponent.exp()}


def _node_terms(row: Row) -> Terms:
    """Return the terms of an overlap: emi, strided_emi, fine_ehl and fine_ehc.

    fine_ehl and fine_ehc are complete only if stride is 1. For other strides, the expected
    entropies are computed from strided_emi.
    """
    weight, x1, fine = row("weight"), row("x1"), row("stride") == 1
    ehl = weight * x1 * log_ratio(row("b"), x1.clip(1.0))
    ehc = weight * x1 * log_ratio(row("a"), x1.clip(1.0))
    return {
        "emi": weight * row("d1"),
        "strided_emi": pl.when(fine).then(0.0).otherwise(weight * row("d1")),
        "fine_ehl": pl.when(fine).then(ehl).otherwise(0.0),
        "fine_ehc": pl.when(fine).then(ehc).otherwise(0.0),
    }


def _strided_terms(row: Row) -> Terms:
    """Return strided_ehl and strided_ehc: terms of the entropies of labels and clusters.

    They are 0 if stride is 1. To get terms of the expected conditional entropies, subtract
    strided_emi.
    """
    n, a, b, fine = row("n"), row("a"), row("b"), row("stride") == 1
    share = row("multiplicity") * (a / n) * (b / n)
    return {
        "strided_ehl": pl.when(fine).then(0.0).otherwise(share * log_ratio(n, a)),
        "strided_ehc": pl.when(fine).then(0.0).otherwise(share * log_ratio(n, b)),
    }


def expected_entropy_terms(row: Row) -> Terms:
    """Return ehl and ehc of a partition from the sums in _EXPECTED_SUMS."""
    return {
        "ehl": row("fine_ehl") + (row("strided_ehl") - row("strided_emi")),
        "ehc": row("fine_ehc") + (row("strided_ehc") - row("strided_emi")),
    }


_SIZE_PAIR_STAGES = (
    _overlap_limits,
    _overlap_node_range,
    _overlap_node_counts,
    _probability_factors,
)
_NODE_STAGES = (_node_overlaps, _node_tables, _node_deviances, _node_weights)


# No pair of sizes has more nodes.
_MAX_NODES = 144

_EXPECTED_SUMS = ("emi", "strided_emi", "fine_ehl", "fine_ehc", "strided_ehl", "strided_ehc")
_SIZE_COLUMNS = ["total", "label_size", "cluster_size"]


def expected_totals(table: ContingencyTable) -> pl.LazyFrame:
    """Return one row per partition, with the partition columns, and emi, ehl and ehc in nats."""
    pairs = _size_pairs(table, _size_nodes(table))
    if table.keys:
        # Partitions share most of their pairs of sizes, so the terms of a pair are computed once.
        distinct = pairs.select(_SIZE_COLUMNS).unique().with_columns(multiplicity=pl.lit(1.0))
        of_pairs = pairs.join(_sum_size_pairs(distinct, _SIZE_COLUMNS), on=_SIZE_COLUMNS)
        terms = {name: pl.col("multiplicity") * pl.col(name) for name in _EXPECTED_SUMS}
        sums = _as_doubles(table.sum_by_partition(of_pairs, _as_shares(terms)))
    else:
        sums = _sum_size_pairs(pairs, [])
    return sums.select(*table.keys, "emi", **expected_entropy_terms(pl.col))


def _sum_size_pairs(pairs: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the columns in `by` and the sums in _EXPECTED_SUMS, with one row per group of `by`.

    `pairs` has one row per pair of sizes, with _SIZE_COLUMNS and multiplicity.
    """
    pairs = add_stages(pairs, *_SIZE_PAIR_STAGES).cache()
    node_sums = sum_by(_weighted_nodes(pairs, by), by, _as_shares(_node_terms(pl.col)))
    strided_sums = sum_by(pairs, by, _as_shares(_strided_terms(pl.col)))
    return _as_doubles(join_partitions(node_sums, by, strided_sums))


def _weighted_nodes(pairs: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the nodes of `pairs`, which have the columns of _SIZE_PAIR_STAGES, with weights."""
    # A join creates the nodes in batches of the engine's size; explode would create batches 30
    # times larger.
    last_node, node = np.tril_indices(_MAX_NODES)
    numbers = pl.LazyFrame({"n_nodes": last_node + 1, "node": node})
    nodes = join_small(pairs, ["n_nodes"], numbers).select(*by, *_NODE_COLUMNS, "node")
    return add_stages(nodes, *_NODE_STAGES)


def expected_influences(table: ContingencyTable) -> list[pl.LazyFrame]:
    """Return the influences of a row on the expected mutual information, by label and by cluster.

    The influence of a row is the sum of a part for its label, the column influence_of_label of the
    first frame, and a part for its cluster in the second frame. The frames also contain the
    partition columns, and label_size or cluster_size. The influence is the number of rows n times
    the change of emi if the row leaves its label, of size a. The overlap x with a cluster then
    decreases by 1 with probability x / a, so the change is the sum over the clusters of E[x (ln(x n
    / (a b)) + t(x) - t(a))] / (a n), where t is last_row_term.
    """
    size_nodes = _size_nodes(table)
    pairs = _size_pairs(table, size_nodes)
    distinct = pairs.select(_SIZE_COLUMNS).unique().with_columns(multiplicity=pl.lit(1.0))
    nodes = _weighted_nodes(add_stages(distinct, *_SIZE_PAIR_STAGES), _SIZE_COLUMNS)
    x1 = pl.col("x1")
    share = pl.col("weight") * (pl.col("d1") + x1 * last_row_term(x1.clip(1.0)))
    shares = nodes.group_by(_SIZE_COLUMNS).agg(pair_share=share.sum())
    rows = pl.col("total") * pl.col("pair_share")
    pairs = pairs.join(shares, on=_SIZE_COLUMNS).with_columns(pair_rows=rows).cache()
    keys, frames = list(table.keys), []
    for side, others in (("label", "clusters"), ("cluster", "labels")):
        size = f"{side}_size"
        rows = (pl.col(others) * pl.col("pair_rows")).sum()
        node_rows = pairs.group_by(*keys, node=size).agg(node_rows=rows)
        influence = (pl.col("share") * pl.col("node_rows")).sum() / pl.col("size").first()
        parts = (
            size_nodes[side]
            .join(node_rows, on=[*keys, "node"], nulls_equal=True)
            .group_by(*keys, pl.col("size").alias(size))
            .agg(influence=influence)
        )
        part = pl.col("influence") - last_row_term(pl.col(size))
        frames.append(parts.select(*keys, size, part.alias(f"influence_of_{side}")))
    return frames


def _as_shares(terms: Terms) -> Terms:
    """Return `terms` in fixed point, so that their sums do not depend on the order of the nodes."""
    return {name: to_fixed_point(term, PLACES_OF_SHARES) for name, term in terms.items()}


def _as_doubles(sums: pl.LazyFrame) -> pl.LazyFrame:
    """Return the fixed-point numbers _EXPECTED_SUMS as Float64."""
    names = pl.col(_EXPECTED_SUMS)
    return sums.with_columns(from_fixed_point(names, PLACES_OF_SHARES))


def _size_pairs(table: ContingencyTable, size_nodes: dict[str, pl.LazyFrame]) -> pl.LazyFrame:
    """Return one row per partition and pair of nodes of _size_nodes.

    The columns are _SIZE_COLUMNS, labels and clusters, the numbers of labels and clusters for which
    the nodes stand, and multiplicity, their product.
    """
    part = to_fixed_point(pl.col("multiplicity") * pl.col("share"))
    labels, clusters = (
        sizes.group_by(*table.keys, pl.col("node").alias(f"{side}_size"))
        .agg(part.sum().alias(f"{side}s"))
        .with_columns(from_fixed_point(pl.col(f"{side}s")))
        for side, sizes in size_nodes.items()
    )
    totals = table.row_counts.select(*table.keys, "total")
    pairs = table.join_partitions(labels, totals, clusters)
    return pairs.with_columns(multiplicity=pl.col("labels") * pl.col("clusters"))


#: Whole numbers near the Chebyshev points of the interval 64 .. 128 ...
OCTAVE_NODES = (64, 65, 67, 70, 73, 78, 82, 88, 93, 99, 104, 110, 114, 119, 122, 125, 127, 128)
#: ... and the weights of the barycentric form of the polynomial through them, up to a factor.
OCTAVE_WEIGHTS = tuple(
    1 / prod((node - other) / 16 for other in OCTAVE_NODES if other != node)
    for node in OCTAVE_NODES
)
# An octave that has more sizes than this is reduced to the nodes.
_MAX_OCTAVE_SIZES = 32


def _size_nodes(table: ContingencyTable) -> dict[str, pl.LazyFrame]:
    """Return size, multiplicity, node and share for each side, 'label' and 'cluster'.

    The multiplicity is the number of labels or clusters of a size. An octave is a range of sizes:
    64 to 128, 128 to 256, and so on. If a partition has more than 32 sizes in an octave, these
    sizes are replaced by the nodes, which are 18 whole numbers in the octave. Any other size is its
    own node. For any polynomial of degree 17 or less, the value at a size equals the sum of the
    values at its nodes, times share. For the terms of the expected mutual information, the two
    agree to within 1e-14.
    """
    return {
        "label": _add_nodes(table.label_sizes, "label_size", list(table.keys)),
        "cluster": _add_nodes(table.cluster_sizes, "cluster_size", list(table.keys)),
    }


def _add_nodes(groups: pl.LazyFrame, size_column: str, keys: list[str]) -> pl.LazyFrame:
    """Return the columns of _size_nodes for one side, from its table of labels or clusters."""
    sizes = groups.group_by(*keys, size=size_column).agg(
        multiplicity=to_double(pl.col("copies").sum())
    )
    size, by = pl.col("size"), [*keys, "unit"]
    unit = pl.lit(2.0).pow((size + 0.5).log(2).floor() - 6)
    sizes = sizes.with_columns(unit=pl.when(size < OCTAVE_NODES[0]).then(0.0).otherwise(unit))
    octaves = sizes.group_by(by).agg(octave_sizes=pl.len())
    sizes = sizes.join(octaves, on=by, nulls_equal=True).cache()
    crowded = (pl.col("unit") > 0) & (pl.col("octave_sizes") > _MAX_OCTAVE_SIZES)
    columns = [*keys, "size", "multiplicity", "node", "share"]
    single = sizes.filter(~crowded).with_columns(node=size, share=pl.lit(1.0))
    nodes = _replace_by_nodes(sizes.filter(crowded))
    return pl.concat([single.select(columns), nodes.select(columns)])


def _replace_by_nodes(sizes: pl.LazyFrame) -> pl.LazyFrame:
    """Return `sizes` with the 18 nodes, and their shares, that replace each size in its octave.

    An octave contains the sizes between 64 and 128 times unit. Its nodes are OCTAVE_NODES times
    unit.
    """
    # The barycentric weights. If a size equals a node, the other nodes get 1e30 times less.
    distances = [to_double(pl.col("size")) / pl.col("unit") - node for node in OCTAVE_NODES]
    distances = [pl.when(x == 0).then(1e-30).otherwise(x) for x in distances]
    pairs = enumerate(zip(OCTAVE_WEIGHTS, distances, strict=True))
    weights = {f"weight_{i}": weight / x for i, (weight, x) in pairs}
    names = list(weights)
    weighted = sizes.with_columns(**weights).with_columns(weight_sum=pl.sum_horizontal(names))
    node_sizes = [(pl.col("unit") * node).cast(pl.Int64) for node in OCTAVE_NODES]
    shares = pl.concat_list(pl.col(names) / pl.col("weight_sum"))
    lists = weighted.with_columns(node=pl.concat_list(node_sizes), share=shares)
    return lists.explode("node", "share")


# ----------------------------------------------------------------------------------------------
# Expected mutual information inside an expression
# ----------------------------------------------------------------------------------------------


def expected_sums_as_list(cells: StructLists, carried: Terms) -> StructLists:
    """Return one struct per group of rows, with the fields of `carried` and _EXPECTED_SUMS.

    `cells` is the result of cells_as_list. An expression has no variables, so values that are used
    together with the sums must be in the same struct: `carried` aggregates the cells to these
    values.
    """
    pairs = cells.select({**carried, **_size_pairs_as_list()}).add_stages(*_SIZE_PAIR_STAGES)
    pairs = pairs.add_stages(lambda row: {x: term.sum() for x, term in _strided_terms(row).items()})
    names = (*carried, "strided_ehl", "strided_ehc")
    nodes = _nodes_as_list(pairs, names).add_stages(*_NODE_STAGES)
    firsts = {name: element_field(name).first() for name in names}
    sums = {name: term.sum() for name, term in _node_terms(element_field).items()}
    return nodes.select(firsts | sums)


def _size_pairs_as_list() -> Terms:
    """Return label_size, cluster_size and multiplicity for all pairs of sizes in cells_as_list."""
    labels, clusters = label_field("label_size"), cluster_field("cluster_size")
    # unique and unique_counts both keep the order of first appearance.
    label_sizes = labels.unique(maintain_order=True)
    cluster_sizes = clusters.unique(maintain_order=True)
    n_pairs = label_sizes.len().cast(pl.Int64) * cluster_sizes.len()
    pair = pl.int_range(n_pairs, dtype=pl.Int64)
    label, cluster = pair // cluster_sizes.len(), pair % cluster_sizes.len()
    n_labels = to_double(labels.unique_counts().gather(label))
    n_clusters = to_double(clusters.unique_counts().gather(cluster))
    return {
        "label_size": label_sizes.gather(label),
        "cluster_size": cluster_sizes.gather(cluster),
        "multiplicity": n_labels * n_clusters,
    }


def _nodes_as_list(pairs: StructLists, carried: tuple[str, ...]) -> StructLists:
    """Return one struct per node, with `carried` and _NODE_COLUMNS of its pair, and its number."""
    most = element_field("n_nodes").max().fill_null(0)
    number = pl.int_range(pl.len().cast(pl.Int64) * most, dtype=pl.Int64)
    numbered = pairs.select({"pair": pl.element().gather(number // most), "node": number % most})
    pair = element_field("pair").struct
    terms = {name: pair.field(name) for name in (*carried, *_NODE_COLUMNS)}
    terms["node"] = element_field("node")
    is_node = element_field("node") < pair.field("n_nodes")
    return numbered.select({name: term.filter(is_node) for name, term in terms.items()})


def expected_mutual_info(label: Column, cluster: Column) -> pl.Expr:
    """Expected mutual information of random labelings with the same group sizes, in nats.

    The expectation is taken over all permutations of the rows.

    Facts
    -----
    Title : Expected mutual information
    Meaning : mutual information of random labelings
    Range : [0, the smaller entropy]
    Best value : none
    Special cases : 0 if there is only one label or only one cluster. NULL if there are no rows.
    Source : Vinh, Epps and Bailey (2009), Information theoretic measures for clusterings
        comparison: is a correction for chance necessary?, doi:10.1145/1553374.1553511.
    Cost : Computing a sum for each distinct pair of a label size and a cluster size is by far the
        slowest part.
    Names elsewhere : scikit-learn: cluster.expected_mutual_information
    SQL : clustereval.expected_mutual_info(label, cluster)

    Examples
    --------
    Singletons always have all the information about two labels of equal size, which is ln 2:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 2, 3]})
    >>> flowers.select(ce.expected_mutual_info("label", "cluster")).item()
    0.6931...
    """
    cells = cells_as_list(label, cluster)
    sums = expected_sums_as_list(cells, {"total": element_field("total").first()})
    return sums.score(lambda row: {"expected_mutual_info": row("emi")}, "expected_mutual_info")
