"""The page of the catalogue: ``python -m tests.support.metrics_page > docs/metrics.md``."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from polars_clustereval.catalogue import NOTATION, entries, show_elsewhere, show_scale

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_clustereval.catalogue import Entry

HEAD = """# Catalogue of the scores

Every score that a report returns, by family: its definition, where it comes from, what other
libraries call it, and where they compute something else under the same name. Which one to take:
[by question](which_metric.md). `ce.describe("davies_bouldin_score")` has the same facts, with the
degenerate cases, the cost and the calls in SQL and Polars; `ce.describe()` lists all names. The
tables that return them: [external](external.md), [internal](internal.md),
[silhouettes](silhouette.md), [Dunn](dunn.md) and [pairs of points](pairwise.md).

```python
import polars_clustereval as ce

print(ce.describe("davies_bouldin_score"))
```

In SQL, the comment of a macro says what it computes; indices of points are in that of their table:

```sql
SELECT function_name, comment
FROM duckdb_functions()
WHERE schema_name = 'clustereval' AND function_name IN ('purity', 'pairwise_report');
```
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
    facts = (entry.title, entry.definition, entry.range, best, entry.source)
    name = f'<a id="{entry.name}"></a>`{entry.name}`'
    return row(name, *facts, show_elsewhere(entry), entry.differs)


def section(family: str, kind: str, scores: Iterable[Entry]) -> str:
    rows = [row_of(entry) for entry in scores]
    facts = ("name", "title", "definition", "range", "best", "source")
    heads = (*facts, "elsewhere", "defined differently")
    table = (row(*heads), "|---" * len(heads) + "|", *rows, "")
    return "\n".join([f"\n## {family} ({kind})\n", f"{NOTATION[family]}\n", *table])


def page() -> str:
    families = groupby(entries().values(), key=lambda entry: (entry.family, entry.kind))
    sections = [section(*key, list(scores)) for key, scores in families]
    scales = [f"- `{x.name}`: {show_scale(x.scale)}\n" for x in entries().values() if x.scale]
    return "".join([HEAD, *sections, SCALES, *scales])


if __name__ == "__main__":
    print(page(), end="")
