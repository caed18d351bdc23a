"""The page of the catalogue: ``python -m tests.support.metrics_page > docs/metrics.md``."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from polars_clustereval.catalogue import entries, show_elsewhere, show_scale

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_clustereval.catalogue import Entry

HEAD = """# Catalogue of the scores

Every score that a report returns, by family: where it comes from, what other libraries call it, and
where they compute something else under the same name. `ce.describe("davies_bouldin_score")` has the
same facts, with the definition, the degenerate cases, the cost and the calls in SQL and Polars;
`ce.describe()` lists all names. Definitions are also in the README (external metrics),
[internal.md](internal.md), [silhouette.md](silhouette.md), [dunn.md](dunn.md) and
[pairwise.md](pairwise.md).
"""
SCALES = """
## Words for values

The literature has words for the values of two scores. They are conventions, made for other data
than yours. `clustereval external` and `clustereval silhouette` show the word below the table of one
clustering. Silhouettes of squared distances and of distances to centers are larger, and get none.

"""
BEST = {"": "–", "high": "high", "low": "low"}


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") or "–" for cell in cells) + " |"


def row_of(entry: Entry) -> str:
    best = BEST.get(entry.best, entry.best)
    cells = (entry.title, entry.range, best, entry.source, show_elsewhere(entry), entry.differs)
    return row(f'<a id="{entry.name}"></a>`{entry.name}`', *cells)


def section(family: str, scores: Iterable[Entry]) -> str:
    rows = [row_of(entry) for entry in scores]
    heads = ("name", "title", "range", "best", "source", "elsewhere", "defined differently")
    return "\n".join([f"\n## {family}\n", row(*heads), "|---" * len(heads) + "|", *rows, ""])


def page() -> str:
    families = groupby(entries().values(), key=lambda entry: (entry.family, entry.kind))
    sections = [section(f"{family} ({kind})", list(scores)) for (family, kind), scores in families]
    scales = [f"- `{x.name}`: {show_scale(x.scale)}\n" for x in entries().values() if x.scale]
    return "".join([HEAD, *sections, SCALES, *scales])


if __name__ == "__main__":
    print(page(), end="")
