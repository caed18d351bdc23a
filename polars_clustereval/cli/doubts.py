"""Doubts: what the input looks like where a report of it would mislead without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.quoting import quote_identifier, quote_literal

from .engines import open_rows, read_rows

if TYPE_CHECKING:
    from argparse import Namespace

    from .sources import Source

__all__ = ["doubt_edges", "doubt_labels"]

# Texts that stand for a missing label, in lower case and without blanks around them.
_PLACEHOLDERS = (
    *("", "-", "?", ".", "null", "none", "nil", "nan", "na", "n/a", "#n/a", "<na>", "nat"),
    *("missing", "unknown", "undefined", "not available"),
)

# A placeholder in more than this share of the rows is a doubt, and so are edges left out.
_LARGE_SHARE = 0.1
_MOST = 0.5


def doubt_labels(source: Source, options: Namespace) -> list[str]:
    """Return a sentence if one label holds much of the rows and looks like a missing one.

    `options` are the parsed arguments of a report that takes labels.
    """
    with open_rows(source, options) as (connection, rows, arguments):
        label = arguments["label"]
        relation = connection.sql(f"FROM {rows}")
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        if not types[label].startswith(("VARCHAR", "ENUM")):
            return []
        column = quote_identifier(label)
        found = connection.execute(
            f"WITH counts AS (SELECT CAST({column} AS VARCHAR) AS label, COUNT(*) AS n, "
            f"SUM(COUNT(*)) OVER () AS total FROM {rows} WHERE {column} IS NOT NULL GROUP BY 1) "
            f"SELECT * FROM counts WHERE n > {_LARGE_SHARE} * total "
            f"AND lower(trim(label)) IN ({', '.join(map(quote_literal, _PLACEHOLDERS))}) "
            "ORDER BY n DESC, label ASC LIMIT 1"
        ).fetchone()
    if found is None:
        return []
    value, n, total = found
    text = (
        f"the label '{value}' of {n:,} of {int(total):,} rows counts as one label; if it stands "
        "for a missing one, make it NULL, so that these rows are left out"
    )
    return [text]


def doubt_edges(pair: tuple[Source, Source], options: Namespace) -> list[str]:
    """Return a sentence if most edges are left out, with an example of the ids of both tables.

    `options` are the parsed arguments of a report of a graph.
    """
    tables = options.report.inputs
    (nodes, arguments), (edges, _) = (
        read_rows(source, options, table) for source, table in zip(pair, tables, strict=True)
    )
    keys = arguments.get("partition_by") or []
    by = [f"key_{i}" for i in range(len(keys))]
    parts = [pl.col(key).cast(pl.String).alias(name) for key, name in zip(keys, by, strict=True)]
    nodes = nodes.filter(pl.col(arguments["cluster"]).is_not_null())
    nodes = nodes.select(*parts, id=pl.col(arguments["id"]).cast(pl.String)).unique()
    ends = edges.select(
        *parts,
        **{end: pl.col(arguments[end]).cast(pl.String) for end in ("left", "right")},
    )
    for end in ("left", "right"):
        known = nodes.rename({"id": end}).with_columns(pl.lit(True).alias(f"{end}_is_node"))
        ends = ends.join(known, on=[*by, end], how="left", nulls_equal=bool(by))
    is_node = {end: pl.col(f"{end}_is_node").fill_null(False) for end in ("left", "right")}
    stranger = pl.when(~is_node["left"]).then("left").when(~is_node["right"]).then("right")
    is_left_out = ~(is_node["left"] & is_node["right"])
    counts = ends.select(n=is_left_out.sum(), total=pl.len(), example=stranger.min())
    some = nodes.select(example=pl.col("id").min())
    (n, total, end), (node,) = (
        frame.row(0) for frame in pl.collect_all([counts, some], engine="streaming")
    )
    if node is None or n <= _MOST * total:
        return []
    text = (
        f"{n:,} of {total:,} edges are left out: an end of each is in no cluster; the ends are "
        f"like '{end}', the ids of {pair[0].name} like '{node}'"
    )
    return [text]
