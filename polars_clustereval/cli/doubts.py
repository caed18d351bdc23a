"""Doubts: warnings about input for which a report is likely to be misleading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.base.checks import show_value
from polars_clustereval.base.counts import POINT_COUNTS
from polars_clustereval.base.findings import (
    GIANT_SHARE,
    findings_on_sizes,
    pairs_say_little,
    sort_findings,
)
from polars_clustereval.base.frames import align_structs
from polars_clustereval.base.quoting import quote_identifier
from polars_clustereval.external.contingency import LabelOptions, read_contingency_table
from polars_clustereval.external.findings import (
    count_unlabeled,
    find_sparse_labels,
    find_texts,
    find_unique_labels,
    fractions_as_text,
)
from polars_clustereval.internal.shapes import cluster_shapes
from polars_clustereval.internal.summary import internal_summary

from .engines import convert_to_polars, list_columns, open_rows, read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .options import Call
    from .sources import Source

__all__ = ["doubt_counts", "doubt_input"]

# The commands whose scores favor clusters around centers, and the options that say what is scored.
_FAVOR_CENTERS = ("internal", "silhouette", "elbow", "compare")
_OPTIONS_OF_POINTS = ("distance", "p", "weights", "noise", "noise_as", "missing")

# There is a warning if more than this share of the edges, or pairs, is left out.
_MOST = 0.5


def doubt_input(sources: Sequence[Source], call: Call) -> list[str]:
    """Return the warnings about the inputs of a report, each as one sentence."""
    if "left" in call.arguments:
        return _doubt_edges(sources, call)
    if len(sources) > 1 or call.report.command == "findings":
        return []
    given = call.arguments
    is_comparison = "clusters" in given and given.get("vector") and given.get("run") is None
    if {"vector", "cluster", "distance"} <= given.keys() or is_comparison:
        points = _points_of_call(sources[0], call)
        # Distances of such coordinates say nothing of shapes.
        return _doubt_coordinates(points) or _doubt_shapes(points, call)
    if "label" not in call.report.required:
        return []
    doubts = _doubt_labels(sources[0], call)
    if call.report.name == "entity-resolution":
        doubts += _doubt_sparse_labels(sources[0], call)
    return doubts


#: The findings that the counts of a report tell, and those of them that sums over partitions tell.
_LEFT_OUT = ["dropped_rows", "noise_rows"]
_OF_COUNTS = [*_LEFT_OUT, "all_singletons", "one_cluster", "unique_labels"]


def doubt_counts(call: Call, result: pl.DataFrame) -> list[str]:
    """Return the findings that the counts of a report tell, without those that are only notes.

    If the report has several partitions, there are only findings on rows left out.
    """
    if "n_labeled" in result.columns:
        is_sample = call.arguments.get("labels_are_sample") is not None
        return [] if is_sample else _doubt_labels_of_ids(result)
    if "clusters_are_components" in result.columns:
        return _doubt_components(result)
    names = ["n", "n_dropped", "n_noise", "n_clusters"]
    if not {*names} <= {*result.columns}:
        return []
    if "n_labels" in result.columns:
        names.append("n_labels")
    n_out = pl.col("n_noise") if call.arguments.get("noise_as") == "drop" else pl.lit(0)
    sums = result.lazy().select(pl.col(names).sum()).rename({"n": "total"})
    counts = sums.with_columns(total_noise=pl.col("total") + n_out)
    unit, complement = ("point", "vector") if "vector" in call.arguments else ("row", "label")
    if "left" in call.arguments:
        unit, complement = "point", "id"
    sizes = pl.LazyFrame(schema={"cluster": pl.Int64, "cluster_size": pl.Int64})
    found = findings_on_sizes(counts, sizes, [], noise=None, unit=unit, complement=complement)
    if "n_labels" in names:
        found.append(find_unique_labels(counts, []))
    is_told = pl.col("code").is_in(_OF_COUNTS if result.height == 1 else _LEFT_OUT)
    rows = pl.concat(found, how="diagonal_relaxed").filter(is_told).collect()
    texts = rows.filter(pl.col("severity") != "note")["finding"].to_list()
    return [*texts, *_doubt_partitions(result)]


def _doubt_labels_of_ids(result: pl.DataFrame) -> list[str]:
    """Return a note if at least a tenth of the ids have no label, but some have one."""
    n, n_labeled = pl.col("n"), pl.col("n_labeled")
    sparse = result.filter(n_labeled > 0, 10 * (n - n_labeled) >= n).sort(n_labeled / n)
    return [
        f"{labeled:,} of {whole:,} ids have a label: errors among the others are not seen, so "
        "precision may be far too high; if these ids are a sample, say how it was drawn with "
        "--labels-are-sample"
        for labeled, whole in sparse.select(n_labeled, n).head(1).rows()
    ]


def _doubt_components(result: pl.DataFrame) -> list[str]:
    """Return a note if no edge joins two clusters because clusters are components."""
    n = result.filter("clusters_are_components").height
    of = f"in {n} of {result.height} partitions, " if result.height > 1 else ""
    text = (
        f"{of}each cluster is a connected component, so coverage, conductance and "
        "inter_cluster_edge_share are the same for right and wrong clusters, and modularity says "
        "little; look at density and diameter with --show clusters, and at --show links"
    )
    return [text] if n else []


def _doubt_partitions(result: pl.DataFrame) -> list[str]:
    """Return notes on partitions without rows to score, or on a giant cluster of a single one.

    The share of the largest cluster is at least exp(-entropy), because the entropy of the clusters
    is a mean of -log(share).
    """
    if result.height > 1:
        n_empty = result.filter(pl.col("n") == 0).height
        of = f"{n_empty} of {result.height} partitions"
        return [f"{of} {'has' if n_empty == 1 else 'have'} no row to score"] if n_empty else []
    if "cluster_entropy" not in result.columns:
        return []
    share = (-pl.col("cluster_entropy")).exp()
    is_giant = (pl.col("n_clusters") > 1) & (share > GIANT_SHARE**2)
    return [
        f"one cluster holds at least {int(100 * x)} % of the rows: {pairs_say_little('row')}"
        for x in result.filter(is_giant).select(share).to_series()
    ]


def _doubt_labels(source: Source, call: Call) -> list[str]:
    """Return the findings about labels that are missing values, spellings or measurements.

    Of many labels that are doubtful for the same reason, that of the most rows is named.
    """
    with open_rows(source, call, call.report.inputs[0]) as (connection, rows, arguments):
        column = quote_identifier(arguments["label"])
        relation = connection.sql(f"SELECT {column} AS label FROM {rows}")
        if not str(relation.types[0]).startswith(("FLOAT", "DOUBLE", "VARCHAR", "ENUM")):
            return []
        counted = "label, COUNT(*) AS label_size"
        table = convert_to_polars(relation.filter("label IS NOT NULL").aggregate(counted))
    sizes, label = table.lazy(), pl.col("label")
    if table.schema["label"].is_float():
        n = table.filter(label.is_finite() & (label != label.floor())).height
        return pl.select(fractions_as_text(pl.lit(n))).to_series().to_list() if n else []
    found = find_texts(sizes, sizes.select(total=pl.col("label_size").sum()), [])
    if not found:
        return []
    ordered = sort_findings(found, [], ["label"]).collect()
    return ordered.unique("code", keep="first", maintain_order=True)["finding"].to_list()


def _doubt_sparse_labels(source: Source, call: Call) -> list[str]:
    """Return the finding that many rows in clusters with labels have no label."""
    rows, arguments = read_rows(source, call, call.report.inputs[0])
    names = ("weight", "partition_by", "noise", "noise_as")
    options = LabelOptions(**{name: arguments[name] for name in names})
    columns = (arguments["label"], arguments["cluster"])
    table = read_contingency_table(rows, *columns, options, (), keep_nulls=True).cache_groups()
    counts = table.add_totals(table.row_counts, count_unlabeled(table)).cache()
    found, total = pl.collect_all(
        [find_sparse_labels(counts, []), counts.select(pl.len())], engine="streaming"
    )
    texts = found.sort("value", "finding", descending=True)["finding"].to_list()
    of = f"in {len(texts)} of {total.item()} partitions, such as " if total.item() > 1 else ""
    return [of + text for text in texts[:1]]


class _PointsOfCall(NamedTuple):
    """The points that a report reads, as the tables of findings take them."""

    rows: pl.LazyFrame
    vector: Any
    clusterings: list[str]
    options: dict[str, Any]
    #: Whether the report has partitions, or numbers of clusters, of its own.
    has_parts: bool


def _points_of_call(source: Source, call: Call) -> _PointsOfCall:
    """Return the points of a report, with their clusterings and options."""
    rows, arguments = read_rows(source, call, call.report.inputs[0])
    options = {name: arguments[name] for name in _OPTIONS_OF_POINTS if name in arguments}
    parts = list_columns(arguments, ("partition_by", "k"))
    by = {f"__ce_part_{i}": pl.col(key) for i, key in enumerate(parts)}
    options["partition_by"] = [*by] or None
    clusterings = list_columns(arguments, ("cluster", "clusters"))
    return _PointsOfCall(
        rows.with_columns(**by), arguments["vector"], clusterings, options, bool(parts)
    )


def _doubt_coordinates(points: _PointsOfCall) -> list[str]:
    """Return the remark of internal_summary on coordinates that hold nearly all of the variance.

    Of several clusterings, the first is looked at.
    """
    rows, vector, clusterings, options, has_parts = points
    summary = internal_summary(rows, vector, clusterings[0], metrics=["n_dims"], **options)
    meanings = summary.select("meaning").collect(engine="streaming")["meaning"]
    remarks = meanings.filter(meanings != POINT_COUNTS["n_dims"].meaning)
    if remarks.is_empty():
        return []
    of = f"in {remarks.len()} of {meanings.len()} partitions, " if has_parts else ""
    return [of + remarks[0]]


def _doubt_shapes(points: _PointsOfCall, call: Call) -> list[str]:
    """Return a remark on the first clustering that cuts connected parts of the points.

    It is only about scores that favor clusters around centers.
    """
    if call.report.command not in _FAVOR_CENTERS:
        return []
    rows, vector, clusterings, options, has_parts = points
    for cluster in clusterings:
        shapes = cluster_shapes(rows, vector, cluster, **options)
        cut = shapes.filter(pl.col("cut_cluster").is_not_null()).collect(engine="streaming")
        for one, other in cut.select("cluster", "cut_cluster").head(1).rows():
            what = "values of k" if "k" in call.arguments else "partitions"
            of = f"in {cut.height} of the {what}, " if has_parts else ""
            text = (
                f"{of}clusters of {cluster} cut connected parts of the points, such as "
                f"{show_value(one)} and {show_value(other)}, and the scores favor such clusters if "
                "shapes are not round; see clustereval findings and clustereval density"
            )
            return [text]
    return []


def _doubt_edges(sources: Sequence[Source], call: Call) -> list[str]:
    """Return a warning, with an id from each table, if most edges, or pairs, are left out.

    Pairs that lack a partition column hold for every value of it.
    """
    tables = zip(sources[:2], call.report.inputs[:2], strict=True)
    (nodes, arguments), (edges, _) = (read_rows(source, call, table) for source, table in tables)
    columns = edges.collect_schema().names()
    keys = [key for key in arguments.get("partition_by") or [] if key in columns]
    by = {f"key_{i}": pl.col(key) for i, key in enumerate(keys)}
    node = {"id": pl.col(arguments["id"]), "edge": pl.lit(None, pl.Int64), "is_node": pl.lit(True)}
    if "cluster" in arguments:
        nodes = nodes.filter(pl.col(arguments["cluster"]).is_not_null())
    nodes = nodes.select(**by, **node)
    types = nodes.collect_schema()
    named = {end: pl.col(arguments[end]) for end in ("left", "right")}
    edges = edges.select(**by, **named, edge=pl.int_range(pl.len(), dtype=pl.Int64))
    edges = align_structs(edges, {x: types[x] for x in by} | dict.fromkeys(named, types["id"]))
    ends = [edges.select(*by, "edge", id=end, is_node=pl.lit(False)) for end in named]
    # The rows are grouped by id instead of joined, because ids may be lists.
    ids = pl.concat([nodes, *(end.select(types.names()) for end in ends)])
    is_node = pl.col("is_node").any().over(*by, "id")
    strangers = ids.filter(~is_node, pl.col("edge").is_not_null())
    (n, end), (total,), (known,) = (
        frame.row(0)
        for frame in pl.collect_all(
            [
                strangers.select(pl.col("edge").n_unique(), _lowest_id(types["id"])),
                edges.select(pl.len()),
                nodes.select(_lowest_id(types["id"])),
            ],
            engine="streaming",
        )
    )
    if known is None or n <= _MOST * total:
        return []
    place = "in no cluster" if "cluster" in arguments else "no id"
    parameter = call.report.inputs[1].parameter
    text = (
        f"{n:,} of {total:,} {parameter} are left out because one of their ends is "
        f"{place}{' of its partition' if by else ''}; "
        f"their ends look like '{show_value(end)}', but the ids of {sources[0].name} look like "
        f"'{show_value(known)}'"
    )
    return [text]


def _lowest_id(dtype: pl.DataType) -> pl.Expr:
    """Return the lowest id that is not NULL, as an example."""
    ids = pl.col("id").drop_nulls()
    return ids.sort().first() if dtype.is_nested() else ids.min()
