"""thresholds: the clusters that the edges of a graph make, at each threshold of their weights.

If the threshold falls, components merge, and each merge changes sums from which the scores are
computed. So all thresholds take one pass over the edges, from the highest weight to the lowest.
"""

from __future__ import annotations

import re
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import (
    check_column,
    check_is_frame,
    is_number,
    show_value,
)
from polars_clustereval.base.exact import (
    count_ordered_pairs,
    from_fixed_point,
    log_ratio,
    ratio,
    to_double,
    to_fixed_point,
    widen,
)
from polars_clustereval.base.frames import (
    add_stages,
    aggregate_by,
    join_partitions,
    join_small,
    map_whole,
    sum_by,
    to_user_frame,
)
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.external.components import EdgeGraph
from polars_clustereval.external.contingency import (
    ContingencyTable,
    LabelOptions,
    flag_groups,
    pair_count_terms,
)
from polars_clustereval.external.graph_counts import (
    GraphColumns,
    check_compared,
    read_rows_and_ends,
)
from polars_clustereval.external.information import information_scores
from polars_clustereval.external.kernels.merging import merge_components
from polars_clustereval.external.pair_counting import pair_scores
from polars_clustereval.external.pair_labels import pair_label_report
from polars_clustereval.external.set_matching import matching_scores

from .label_sample import check_sample, estimate_sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys
    from polars_clustereval.base.frames import Row, Terms

    from .label_sample import SampleDesign

_THRESHOLD_COUNTS = (
    *("n", "n_labeled", "n_edges", "n_clusters", "n_singletons", "largest_cluster_size", "n_pairs"),
)
_SCORES_OF_PAIRS = ("pair_precision", "pair_recall", "pair_f_score")
#: The scores of labels in threshold_report.
THRESHOLD_SCORES = (
    *_SCORES_OF_PAIRS,
    *("bcubed_precision", "bcubed_recall", "bcubed_f_score"),
    *("exact_match_precision", "exact_match_recall", "exact_match_f_score"),
    "variation_of_information",
)
_THRESHOLD_COLUMNS = ("threshold", *_THRESHOLD_COUNTS, "expected_precision", *THRESHOLD_SCORES)


def _check_thresholds(thresholds: object, needed_by: str) -> list[float] | None:
    """Return the user's thresholds, sorted and each once, or None.

    `needed_by` is the name of an option that needs a list of them, or empty.
    """
    if thresholds is None:
        if needed_by:
            raise ClusterEvalError(
                f"thresholds: expected a list of thresholds with {needed_by}, got NULL"
            )
        return None
    if isinstance(thresholds, list | tuple) and thresholds:
        wrong = [x for x in thresholds if not (is_number(x) and isfinite(x))]
        if not wrong:
            return sorted({float(x) for x in thresholds})
        raise ClusterEvalError(f"thresholds: expected numbers, got {show_value(wrong[0])}")
    raise ClusterEvalError(
        f"thresholds: expected a list of one or more numbers, got {show_value(thresholds)}"
    )


# ----------------------------------------------------------------------------------------------
# Merges
# ----------------------------------------------------------------------------------------------


def _cell_terms(row: Row) -> Terms:
    """Return the changes by a cell of a merge, whose two parts have x and y nodes of a label."""
    x, y = row("x"), row("y")
    double, n = to_double(x), to_double(row("label_size"))
    # n ln n of the whole cell minus that of its parts.
    entropy = double * log_ratio(x + y, x) + to_double(y) * log_ratio(x + y, y)
    return {
        "cell_pairs": widen(x) * widen(y),
        "fixed_recall_rows": to_fixed_point(2 * double * to_double(y) / n),
        "fixed_cell_entropy": to_fixed_point(entropy),
    }


def _merge_terms(row: Row) -> Terms:
    """Return the changes by a merge, given the sums of its _cell_terms."""
    sizes, n, squares = (
        [row(f"{name}_{side}") for side in (1, 2)] for name in ("size", "n", "squares")
    )
    shares = [
        pl.when(m > 0).then(to_double(square) / to_double(m)).otherwise(0.0)
        for m, square in zip(n, squares, strict=True)
    ]
    whole = to_double(squares[0] + squares[1] + 2 * row("cell_pairs")) / to_double(n[0] + n[1])
    are_labeled = (n[0] > 0) & (n[1] > 0)
    entropy = to_double(n[0]) * log_ratio(n[0] + n[1], n[0])
    entropy += to_double(n[1]) * log_ratio(n[0] + n[1], n[1])
    lost = pl.when(are_labeled).then(whole - shares[0] - shares[1]).otherwise(0.0)
    of_component = pl.when(are_labeled).then(entropy).otherwise(0.0)
    return {
        "n_merges": pl.lit(1, pl.Int64),
        "n_labeled_merges": are_labeled.cast(pl.Int64),
        "n_joined_singletons": pl.sum_horizontal((size == 1).cast(pl.Int64) for size in sizes),
        "n_pairs": widen(sizes[0]) * widen(sizes[1]),
        "cluster_pairs": widen(n[0]) * widen(n[1]),
        "cell_pairs": row("cell_pairs"),
        "exact_matches": row("gained"),
        "fixed_precision_rows": to_fixed_point(lost),
        "fixed_recall_rows": row("fixed_recall_rows"),
        "fixed_hl": to_fixed_point(of_component) - row("fixed_cell_entropy"),
        "fixed_cell_entropy": row("fixed_cell_entropy"),
    }


#: The sums over the merges of a threshold.
_MERGE_SUMS = pl.Schema(
    {
        **dict.fromkeys(("n_merges", "n_labeled_merges", "n_joined_singletons"), pl.Int64()),
        **dict.fromkeys(("n_pairs", "cluster_pairs", "cell_pairs"), pl.Int128()),
        "exact_matches": pl.Int64(),
        **dict.fromkeys(("fixed_precision_rows", "fixed_recall_rows"), pl.Int128()),
        **dict.fromkeys(("fixed_hl", "fixed_cell_entropy"), pl.Int128()),
    }
)


def _merges_of(rows: pl.DataFrame, *, keys: list[str]) -> pl.DataFrame:
    """Return the _MERGE_SUMS of each merge, with partition, weight, and the size of its result.

    The rows are those of _nodes_and_links.
    """
    is_node = pl.col("weight").is_null()
    labels = rows.lazy().filter(is_node).sort("low").select(pl.col("high").fill_null(-1))
    falling = [False] * len(keys) + [True]
    links = rows.lazy().filter(~is_node).sort(*keys, "weight", descending=falling, nulls_last=True)
    of_nodes, of_links = pl.collect_all([labels, links])
    low, high = (of_links[end].to_numpy() for end in ("low", "high"))
    merges, cells = merge_components(low, high, of_nodes["high"].to_numpy())
    terms = _cell_terms(pl.col)
    of_cells = sum_by(cells.lazy(), ["edge"], terms)
    found = merges.lazy().join(of_cells, on="edge", how="left", maintain_order="left")
    found = found.with_columns(pl.col(*terms).fill_null(0))
    found = found.select(size=pl.col("size_1") + pl.col("size_2"), **_merge_terms(pl.col))
    weights = of_links.select(*keys, "weight")[merges["edge"]]
    return pl.concat([weights, found.collect()], how="horizontal")


def _nodes_and_links(graph: EdgeGraph, labels: pl.LazyFrame) -> pl.LazyFrame:
    """Return the links of the graph, and a row for each node: its number, and that of its label.

    Both are in one frame with the columns of the links, because a numpy function takes one.
    """
    numbers = labels.select(*graph.keys, "label", "label_no")
    nodes = join_small(graph.nodes, [*graph.keys, "label"], numbers, how="left")
    weight = pl.lit(None, pl.Float64).alias("weight")
    return pl.concat([nodes.select(*graph.keys, weight, low="node", high="label_no"), graph.links])


# ----------------------------------------------------------------------------------------------
# Sums at thresholds
# ----------------------------------------------------------------------------------------------


def _totals(graph: EdgeGraph, labels: pl.LazyFrame) -> pl.LazyFrame:
    """Return the numbers of nodes and labels of each partition, and the sums without any edge."""
    n, keys = pl.col("label_size"), list(graph.keys)
    of_labels = {
        "n_labels": pl.lit(1, pl.Int64),
        "label_pairs": count_ordered_pairs(n),
        "exact_matches": (n == 1).cast(pl.Int64),
        "fixed_label_entropy": to_fixed_point(to_double(n) * to_double(n).log()),
    }
    nodes = {"n": pl.len().cast(pl.Int64), "total": pl.col("label").count().cast(pl.Int64)}
    rows = aggregate_by(graph.nodes, keys, nodes)
    rows = join_partitions(rows, keys, sum_by(labels, keys, of_labels), how="left")
    return rows.with_columns(pl.col(*of_labels).fill_null(0))


def _add_threshold(rows: pl.LazyFrame, thresholds: list[float] | None) -> pl.LazyFrame:
    """Return the rows whose weight reaches a threshold, with the highest one that it reaches."""
    if thresholds is None:
        return rows.with_columns(threshold="weight")
    values = pl.lit(pl.Series(thresholds, dtype=pl.Float64))
    place = values.search_sorted(pl.col("weight"), side="right").cast(pl.Int64)
    reached = rows.with_columns(place=place).filter(pl.col("place") > 0)
    return reached.with_columns(threshold=values.gather(pl.col("place") - 1)).drop("place")


def _sums_at_thresholds(
    graph: EdgeGraph, labels: pl.LazyFrame, thresholds: list[float] | None
) -> pl.LazyFrame:
    """Return the sums of the links and merges of each partition at each threshold or above it."""
    keys = list(graph.keys)
    types = graph.links.collect_schema()
    schema = {name: types[name] for name in (*keys, "weight")} | {"size": pl.Int64()}
    rows, read = _nodes_and_links(graph, labels), partial(_merges_of, keys=keys)
    merges = map_whole(rows, read, pl.Schema(schema | _MERGE_SUMS))
    weight, by = pl.col("weight"), [*keys, "threshold"]
    of_links = {
        "n_edges": pl.lit(1, pl.Int64),
        "fixed_weight": to_fixed_point(weight.clip(0.0, 1.0)),
        "n_other_weights": (~weight.is_between(0.0, 1.0)).cast(pl.Int64),
    }
    sums = [*of_links, *_MERGE_SUMS]
    links = sum_by(_add_threshold(graph.links, thresholds), by, of_links)
    groups = _add_threshold(merges, thresholds).group_by(by)
    at_merges = groups.agg(pl.col(*_MERGE_SUMS).sum(), pl.col("size").max())
    found = links.join(at_merges, on=by, how="left", nulls_equal=True)
    if thresholds is not None:
        partitions = graph.nodes.select(keys).unique() if keys else graph.nodes.select("id").head(1)
        listed = partitions.join(pl.LazyFrame({"threshold": thresholds}), how="cross")
        found = listed.select(by).join(found, on=by, how="left", nulls_equal=True)
    found = found.sort(*keys, "threshold", descending=[False] * len(keys) + [True])
    over: list[Any] = keys or [pl.lit(1)]
    return found.with_columns(pl.col(*sums, "size").fill_null(0)).with_columns(
        pl.col(*sums).cum_sum().over(over), pl.col("size").cum_max().over(over)
    )


def _add_score_sums(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows of _sums_at_thresholds, joined with _totals, with the sums of the scores."""
    row = pl.col
    found = rows.with_columns(
        n_singletons=row("n") - row("n_joined_singletons"),
        largest_cluster_size=pl.max_horizontal("size", pl.min_horizontal("n", 1)),
        # The clusters with a label, which matching_scores counts.
        n_clusters=row("total") - row("n_labeled_merges"),
        cell_pairs=2 * row("cell_pairs"),
        cluster_pairs=2 * row("cluster_pairs"),
        exact_matches=row("exact_matches") + row("exact_matches_right"),
    )
    hc = from_fixed_point(row("fixed_label_entropy") - row("fixed_cell_entropy"))
    return add_stages(found, pair_count_terms).with_columns(
        precision_rows=to_double(row("total")) + from_fixed_point(row("fixed_precision_rows")),
        recall_rows=to_double(row("n_labels")) + from_fixed_point(row("fixed_recall_rows")),
        hl=from_fixed_point(row("fixed_hl")) / to_double(row("total")),
        # Rounded terms need not add up to 0 if no pair is missing.
        hc=pl.when(row("fn") == 0).then(0.0).otherwise(hc / to_double(row("total"))),
    )


# ----------------------------------------------------------------------------------------------
# Labels of a sample
# ----------------------------------------------------------------------------------------------


def _estimates_at_thresholds(
    graph: EdgeGraph, thresholds: list[float], design: SampleDesign
) -> pl.LazyFrame:
    """Return the values of entity_resolution_estimates of each partition at each threshold."""
    sample = check_sample(design, None, 1.0)
    keys = graph.keys | {"threshold": "threshold"}
    # A struct is never NULL, so nodes without a label are also groups.
    entity = pl.struct(pl.col("label").alias("entity")).alias("label")
    n_nodes = pl.len().cast(pl.Int64)
    groups = graph.nodes_at(thresholds).group_by(*keys, entity, "cluster").agg(n=n_nodes)
    whole = ContingencyTable(flag_groups(groups, LabelOptions()), keys).cache_groups()
    has_entity = pl.col("label").struct.field("entity").is_not_null()
    labeled = ContingencyTable(whole.groups.filter(has_entity), keys)
    names = THRESHOLD_SCORES[:-1]
    estimates = estimate_sample(whole, labeled, sample, names).estimates.group_by([*keys])
    of_metrics = {name: pl.col("value").filter(pl.col("metric") == name).first() for name in names}
    return estimates.agg(**of_metrics, variation_of_information=pl.lit(None, pl.Float64))


# ----------------------------------------------------------------------------------------------
# Labels of pairs
# ----------------------------------------------------------------------------------------------


def _check_pairs(pairs: dict[str, Any], pair_weight: object, *others: object) -> bool:
    """Return whether labels of pairs are given, or raise an error if only some of them are.

    `others` are the options of labels of ids.
    """
    missing = [x is None for x in pairs.values()]
    if any(missing) and not (all(missing) and pair_weight is None):
        raise ClusterEvalError(
            "pairs: expected pair_left, pair_right and is_match with pairs, got NULL"
        )
    if not any(missing) and any(x is not None for x in others):
        raise ClusterEvalError("pairs: expected labels of pairs or of ids, got both")
    return not any(missing)


def _keep_paired(nodes: pl.LazyFrame, pairs: dict[str, Any]) -> pl.LazyFrame:
    """Return the rows of `nodes` whose id has a labeled pair, and of the first node, for errors.

    All rows are returned if ids are nested, or if the ends of pairs have other types.
    """
    lazy, of_id = check_is_frame(pairs["pairs"], "pairs"), nodes.collect_schema()["id"]
    columns = (check_column(lazy, pairs[end], f"pair_{end}") for end in ("left", "right"))
    ends = [lazy.select(id=column) for column in columns]
    types = [end.collect_schema()["id"] for end in ends]
    are_near = all(x == of_id or (x.is_integer() and of_id.is_integer()) for x in types)
    if of_id.is_nested() or not are_near:
        return nodes
    ids = pl.concat([end.cast(of_id, strict=False) for end in ends]).unique()
    nodes = join_small(nodes, ["id"], ids.with_columns(is_paired=True), how="left")
    return nodes.filter(pl.col("is_paired") | (pl.col("node") == 0))


def _pair_scores_at_thresholds(
    graph: EdgeGraph, thresholds: list[float], pairs: dict[str, Any]
) -> pl.LazyFrame:
    """Return the scores of pair_label_report of each partition at each threshold."""
    # A name that no column of the pairs has, so the pairs hold for all thresholds.
    names = graph.keys | {"threshold": "__ce_threshold"}
    rows = _keep_paired(graph.nodes_at(thresholds), pairs).select(
        *(pl.col(key).alias(name) for key, name in names.items()),
        __ce_id=pl.col("id").cast(graph.id_type),
        __ce_cluster="cluster",
    )
    by = [*names.values()]
    try:
        found = pair_label_report(rows, "__ce_id", "__ce_cluster", **pairs, partition_by=by)
    except ClusterEvalError as error:
        raise ClusterEvalError(re.sub("^(left|right|weight):", r"pair_\1:", str(error))) from error
    nothing = {name: pl.lit(None, pl.Float64) for name in THRESHOLD_SCORES}
    return found.select(
        *(pl.col(name).alias(key) for key, name in names.items()),
        **nothing | {name: pl.col(name) for name in _SCORES_OF_PAIRS},
    )


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("edges", guide="entity_resolution", order=("threshold",))
def threshold_report(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    edges: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    weight: Column,
    label: Column | None = None,
    *,
    thresholds: Sequence[float] | None = None,
    labels_are_sample: SampleDesign | None = None,
    pairs: pl.DataFrame | pl.LazyFrame | None = None,
    pair_left: Column | None = None,
    pair_right: Column | None = None,
    is_match: Column | None = None,
    pair_weight: Column | None = None,
    partition_by: Keys = None,
) -> Frame:
    """Clusters and scores at each threshold of the edges' weights.

    At a threshold, the clusters are those of connected_components: two ids are in the same cluster
    if edges with this weight or a higher one connect them.

    Parameters
    ----------
    frame, id, edges, left, right, partition_by : as in connected_components
    weight : str or Expr
        A column of `edges` that contains finite numbers, such as a match probability.
    label : str or Expr, optional
        The column of `frame` with the true entity of each id. The scores are those of the ids with
        a label. If only a sample of the ids has one, they are too high, because the errors among
        the other ids are not seen, unless you pass `labels_are_sample`.
    thresholds : sequence of float, optional
        The thresholds to report. By default, each distinct weight of a pair of ids is a threshold.
    labels_are_sample : {'uniform', 'by_record', 'records'}, optional
        How the labeled entities or ids were sampled, as in entity_resolution_estimates. The scores
        are then estimates for all ids, and `thresholds` is needed.
    pairs, pair_left, pair_right, is_match, pair_weight
        Labels of pairs of ids in place of `label`: the frame of pairs and its columns, which are
        those of pair_label_report, where they are called pairs, left, right, is_match and weight.
        `thresholds` is needed with them.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per threshold, sorted by partition and threshold. The result
        has the partition columns and the following columns:

        - threshold: the lowest weight of an edge that counts.
        - n: the number of ids.
        - n_labeled: the number of ids with a label.
        - n_edges: the number of pairs of ids with an edge that counts.
        - n_clusters, n_singletons: the number of clusters, and of those with a single id.
        - largest_cluster_size: the number of ids in the largest cluster.
        - n_pairs: the number of pairs of ids in the same cluster, with or without an edge.
        - expected_precision (range [0, 1], best high): the mean weight of the edges that count. If
          the weights are the probabilities that two ids match, it is the share of these edges that
          is expected to be right. It needs no labels, and says nothing about the pairs that have no
          edge. It is NULL if a weight is not between 0 and 1.
        - pair_precision, pair_recall, pair_f_score, bcubed_precision, bcubed_recall,
          bcubed_f_score, exact_match_precision, exact_match_recall, exact_match_f_score and
          variation_of_information: the scores of external_report. They are NULL without labels.
          With `labels_are_sample`, they are the values of entity_resolution_estimates, and
          variation_of_information is NULL. A score without such a value is NULL, too. For its
          interval, and for the reason of a NULL, pass the clusters of connected_components at your
          threshold to entity_resolution_estimates. With `pairs`, the pair scores are those of
          pair_label_report, which has their intervals, and the others are NULL.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in connected_components, and if thresholds is not a list of numbers,
        if labels_are_sample is unknown, or if labels of a sample or of pairs are given without
        thresholds. Labels of pairs raise the errors of pair_label_report.

    Notes
    -----
    The time grows as O((n + m) log n) for n ids and m edges, however many thresholds there are. In
    SQL, and with labels of a sample or of pairs, it grows with the number of thresholds. The nodes
    and the edges are held in memory. In SQL:
    ``FROM clustereval.threshold_report(tbl, id, edges, "left", "right", weight, label)``.

    References
    ----------
    Binette, York, Hickerson, Baek, Madhavan and Jones (2022), Estimating the performance of entity
    resolution algorithms: lessons learned through PatentsView.org,
    doi:10.1080/00031305.2023.2191664.

    Examples
    --------
    The highest F score has the threshold 0.8:

    >>> people = pl.DataFrame({"id": ["a", "b", "c", "d"], "person": [1, 1, 1, 2]})
    >>> rows = [("a", "b", 0.9), ("b", "c", 0.8), ("c", "d", 0.3)]
    >>> matches = pl.DataFrame(rows, schema=["left", "right", "probability"], orient="row")
    >>> columns = ("id", matches, "left", "right", "probability", "person")
    >>> report = ce.threshold_report(people, *columns)
    >>> report.select("threshold", "n_clusters", "pair_precision", "pair_recall").rows()
    [(0.3, 1, 0.5, 1.0), (0.8, 2, 1.0, 1.0), (0.9, 3, 1.0, 0.3333...)]
    """
    labeled: dict[str, Any] = {"pairs": pairs, "left": pair_left, "right": pair_right}
    labeled["is_match"] = is_match
    has_pairs = _check_pairs(labeled, pair_weight, label, labels_are_sample)
    sample = "" if labels_are_sample is None else "labels_are_sample"
    asked = _check_thresholds(thresholds, "pairs" if has_pairs else sample)
    check_compared(weight)
    columns = pass_arguments_to(GraphColumns, cluster=id, is_signed=True)
    options = pass_arguments_to(LabelOptions, weight=None, noise=None, noise_as=None)
    of_rows = {"id": id} if label is None else {"id": id, "label": label}
    parts = read_rows_and_ends(frame, edges, of_rows, columns, options, _THRESHOLD_COLUMNS)
    rows, ends, keys, of_id = parts
    if label is None:
        if labels_are_sample is not None:
            raise ClusterEvalError(
                "label: expected the column with the labels of a sample, got NULL"
            )
        rows = rows.with_columns(label=pl.lit(None, pl.Int64))
    graph = EdgeGraph(rows, ends, keys, options, of_id)
    by: list[str] = list(keys)
    groups = graph.nodes.filter(pl.col("label").is_not_null()).group_by(*by, "label")
    labels = groups.agg(label_size=pl.len().cast(pl.Int64)).with_row_index("label_no")
    labels = labels.with_columns(pl.col("label_no").cast(pl.Int64)).cache()
    sums = _sums_at_thresholds(graph, labels, asked)
    sums = _add_score_sums(join_partitions(sums, by, _totals(graph, labels)))
    scores = pair_scores(pl.col) | matching_scores(pl.col) | information_scores(pl.col)
    scores = {name: pl.when(pl.col("total") > 0).then(scores[name]) for name in THRESHOLD_SCORES}
    if asked and (has_pairs or labels_are_sample is not None):
        others = (
            _estimates_at_thresholds(graph, asked, labels_are_sample)
            if labels_are_sample is not None
            else _pair_scores_at_thresholds(graph, asked, labeled | {"weight": pair_weight})
        )
        sums = join_small(sums, [*by, "threshold"], others, how="left")
        scores = {name: pl.col(name) for name in THRESHOLD_SCORES}
    found = sums.select(
        *(*by, "threshold", "n", "n_edges", "n_singletons", "largest_cluster_size"),
        n_labeled="total",
        n_clusters=pl.col("n") - pl.col("n_merges"),
        n_pairs=to_double(pl.col("n_pairs")),
        expected_precision=pl.when(pl.col("n_other_weights") == 0).then(
            ratio(from_fixed_point(pl.col("fixed_weight")), pl.col("n_edges"))
        ),
        **scores,
    )
    found = found.select(*by, *_THRESHOLD_COLUMNS).sort(*by, "threshold", nulls_last=True)
    return to_user_frame(frame, found, keys)
