"""Writes the docstrings of the Spark functions from those of the Polars tables."""

from __future__ import annotations

import re
from textwrap import fill
from typing import TYPE_CHECKING

from polars_clustereval.base.tables import declared_tables
from polars_clustereval.catalogue.callables import parameters_of
from polars_clustereval.catalogue.docstrings import RETURNS, read_sections, words_of_engines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Type and meaning of the parameters that are not the same as in Polars.
_OWN_PARAMETERS = {
    "tbl": "DataFrame or str. A Spark DataFrame, or the name of a table or view in the active "
    "session, as you would pass it to ``session.table``.",
    "vector": "str or Column, or a sequence of them. The columns with the coordinates, or one "
    "column of arrays or ``pyspark.ml`` vectors. For a column of arrays or vectors, the function "
    "reads one row to find their length.",
    "weight": "str or Column, optional. How many times each row counts. The weights must be whole "
    "numbers >= 0, and must add up to at most 1e12 in each partition.",
    "id": "str or Column, optional. The identifier of each row, which must be unique within its "
    "partition. By default, Spark numbers the rows with ``monotonically_increasing_id``, so the "
    "numbers are unique but not consecutive.",
    "partition_by": "str, Column or a sequence of them, optional. The partition of each row. Each "
    "partition is evaluated separately. Several columns are combined into a struct.",
    "noise": "str, int, float or bool, optional. The value of `cluster` that marks noise.",
    "metrics": "sequence of str, optional. The columns to return, in this order. By default, all "
    "columns are returned. The columns that identify a row always come first, and the first of "
    "them is ``partition_key`` if `partition_by` is used. Only the values needed for the requested "
    "columns are computed.",
}
_PARAMETERS_OF_KIND = {
    "labels": dict.fromkeys(
        ("label", "cluster"),
        "str or Column, optional. The true class and the assigned cluster. If you leave out both, "
        "`tbl` must be a saved contingency table. Rows of a saved table that have the same label "
        "and cluster, for example because they come from several days or shards, are merged.",
    ),
    "records": dict.fromkeys(
        ("label", "cluster"), "str or Column. The true class and the assigned cluster."
    ),
    "points": {"cluster": "str or Column. The assigned cluster."},
}
_PARAMETERS_OF_SILHOUETTES = {
    "distance": "{'sqeuclidean', 'cosine', ...}. The distance between two points, which must be "
    "``sqeuclidean`` or ``cosine``, because only for these distances can silhouettes be computed "
    "from sums over clusters. Any other distance, including the default, raises an error, because "
    "it would need all pairs of points. Only `silhouette_score` with method 'simplified' accepts "
    "every distance of `internal_report`.",
    "method": "{'exact', 'simplified'}. 'simplified' uses distances to centroids instead of mean "
    "distances to points.",
    "between": "{'nearest', 'mean_other', 'furthest'}. Which mean distance is compared with the "
    "mean distance to a point's own cluster: the mean distance to the nearest other cluster, to "
    "all points of other clusters, or to the furthest cluster.",
}

_COMMON_ERRORS = (
    "If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if "
    "the noise value and `cluster` have different types. "
)
_ERRORS_OF_KIND = {
    "labels": "The function also raises this error if a weight is negative, fractional or NULL, or "
    "if `label` and `cluster` are left out and `tbl` is not a saved contingency table.",
    "records": "",
    "points": "The function also raises this error if any row that is used has a NULL, NaN or "
    "infinite coordinate.",
}
_MISSING_LIBRARY = (
    "ImportError\n    If pyspark is missing: ``pip install 'polars_clustereval[spark]'``."
)

# Rows of Spark have no order, and no points are sampled.
_ORDER_OF_ROWS = re.compile(r"(?: or per sampled point)?,?\s+sorted\b[^.]*|\s+and no tolerance")
_OF_SAMPLES = re.compile(r"\bsampl|reference|tolerance|'bounds'|std_error(?:: | is)")


def write_docstring(name: str, parameters: Iterable[str], title: str, notes: str) -> str:
    """Return the docstring of the Spark function `name` (see spark_function)."""
    table = declared_tables()[name]
    sections = read_sections(table.function)
    if "Returns" not in sections:  # with -OO, Python removes docstrings
        return ""
    first, *others = sections[""].split("\n\n")
    paragraphs = [
        title or first,
        *(_wrap_lines(_in_spark(text)) for text in others),
        _wrap_lines(notes),
    ]
    columns = ['["x", "y"]' if table.kind == "points" else '"species"', '"cluster"']
    columns += ['id="id"'] * ("id" in table.order)
    start, end = f"spark.{name}(", ").show()  # doctest: +SKIP"
    if name.startswith("silhouette"):
        columns.append('distance="cosine"')
        start, end = f"{start}\n...     ", f"\n... {end}"
    errors = _COMMON_ERRORS + _ERRORS_OF_KIND[table.kind]
    parts = {
        "Parameters": "\n".join(_describe_parameters(name, table.kind, parameters)),
        "Returns": "DataFrame\n" + _describe_rows(sections["Returns"], table.kind),
        "Raises": f"ClusterEvalError\n{_wrap_lines(errors, '    ')}\n{_MISSING_LIBRARY}",
        "See Also": f"polars_clustereval.{name} : The same table for a Polars frame.",
        "Examples": ">>> from polars_clustereval import spark\n"
        f">>> {start}df, {', '.join(columns)}{end}",
    }
    head = "\n\n".join(filter(None, paragraphs))
    return head + "".join(f"\n\n{x}\n{'-' * len(x)}\n{text}" for x, text in parts.items())


def _describe_parameters(name: str, kind: str, parameters: Iterable[str]) -> Iterator[str]:
    """Yield the entry of each parameter; parameters with the same text share an entry."""
    texts = {key: _in_spark(text) for key, text in parameters_of(name).items()}
    texts |= _OWN_PARAMETERS | _PARAMETERS_OF_KIND[kind]
    if name.startswith("silhouette"):
        texts |= _PARAMETERS_OF_SILHOUETTES
    names_of: dict[str, list[str]] = {}
    for parameter in parameters:
        names_of.setdefault(texts[parameter], []).append(parameter)
    for text, names in names_of.items():
        type_name, _, meaning = text.partition(". ")
        yield f"{', '.join(names)} : {type_name}\n{_wrap_lines(meaning, '    ')}"


def _describe_rows(returns: str, kind: str) -> str:
    """Return what the rows and columns of the result are."""
    text = _ORDER_OF_ROWS.sub("", " " + RETURNS.sub("", returns, count=1)).lstrip(" .")
    blocks = re.split(r"\n\s*\n|\n(?=\s*- )", text[0].upper() + text[1:])
    remarks = "Without `partition_by`, ``partition_key`` is a NULL string."
    if kind == "labels" and "n_dropped" in returns:
        remarks += (
            " For a saved contingency table, ``n_dropped`` and ``n_noise`` are NULL, because the "
            "table does not contain the rows that were left out."
        )
    if "std_error" in returns:
        remarks += " ``std_error`` is NULL, because no points are sampled."
    lines: list[str] = []
    for block in blocks:
        bullet = "- " if block.lstrip().startswith("- ") else ""
        if words := _in_spark(block):
            is_next = bullet and lines[-1].lstrip().startswith("- ")
            lines += [] if is_next or not lines else [""]
            lines.append(_wrap_lines(bullet + words, "    ", "    " + " " * len(bullet)))
    return "\n".join([*lines, "", _wrap_lines(remarks, "    ")])


def _in_spark(text: str) -> str:
    """Return text of a docstring in one line, without what does not hold for Spark."""
    sentences = re.split(r"(?<=\.) ", words_of_engines(text))
    found = " ".join(x for x in sentences if not _OF_SAMPLES.search(x))
    return found.replace("a list with", "an array with")


def _wrap_lines(text: str, start: str = "", margin: str | None = None) -> str:
    """Wrap text to the width of a docstring; `margin` begins all lines but the first."""
    later = start if margin is None else margin
    return fill(text, 96, initial_indent=start, subsequent_indent=later, break_long_words=False)
