"""The pages of the catalogue in docs/, a section for each score."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import chdir
from functools import cache
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from polars_clustereval.base.tables import declared_tables
from polars_clustereval.catalogue import (
    NOTATION,
    entries,
    show_cases,
    show_elsewhere,
    show_range,
    show_scale,
)
from tools import page_outputs
from tools.metric_advice import FAMILIES, example_values, questions_answered, traps
from tools.page_session import open_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polars_clustereval.catalogue import Entry

DOCS = Path(__file__).parent.parent / "docs"
NAVIGATION = DOCS.parent / "mkdocs.yml"

HEAD = """# Catalogue of the scores

This page lists every score that a report returns, by family. Click a name for its definition,
range, special cases, source, cost, names in other libraries, and its calls in SQL and Polars. To
choose a score, start from [your question](which_metric.md). At the Python prompt and in notebooks,
`ce.describe("davies_bouldin_score")` shows the same facts, and `ce.describe()` lists all names.

```python
import polars_clustereval as ce

print(ce.describe("davies_bouldin_score"))
```

In SQL, the comment on each macro says what it computes. Indices of points are described in
the comment of the table that contains them:

```sql
SELECT function_name, split_part(comment, '. ', 1) AS first_sentence
FROM duckdb_functions()
WHERE 'clustereval' IN (schema_name, database_name)
    AND function_name IN ('purity', 'pairwise_report')
ORDER BY ALL;
```
"""
SCALES = """
## Words for values

For two scores, the literature uses words such as "good" for ranges of values. These words are
conventions that were made for data other than yours. `clustereval external` and
`clustereval silhouette` print the word below the table when you score a single clustering.
Silhouettes of squared distances and of distances to centers are larger, so no word is shown for
them.

"""
BEST = {"": "–", "high": "high", "low": "low"}

POINTS = ("petal_length", "petal_width")

#: Views of iris for the tables of two tables, the arguments of these, and the same in Python.
VIEWS = {
    "overlapping_report": [
        "CREATE OR REPLACE TEMP VIEW labels AS SELECT id, species AS label FROM iris;",
        "CREATE OR REPLACE TEMP VIEW clusters AS SELECT id, kmeans AS cluster FROM iris;",
    ],
    "graph_report": [
        "-- flowers that are alike",
        "CREATE OR REPLACE TEMP VIEW edges AS",
        "SELECT one.id AS id_l, other.id AS id_r",
        "FROM iris AS one, iris AS other",
        "WHERE one.id < other.id AND abs(one.petal_length - other.petal_length) < 0.2;",
    ],
    "neighborhood_report": [
        "CREATE OR REPLACE TEMP TABLE knn AS",
        "SELECT id AS id_l, neighbor AS id_r, distance AS d",
        "FROM clustereval.nearest_neighbors(iris, [petal_length, petal_width], id);",
    ],
    "run_drift": [
        "CREATE OR REPLACE TEMP VIEW run_before AS SELECT id, kmeans AS cluster FROM iris;",
        "CREATE OR REPLACE TEMP VIEW run_after AS SELECT id, agglomerative AS cluster FROM iris;",
    ],
}
FLOWER = 'flower = ["sepal_length", "sepal_width", "petal_length", "petal_width"]'
FRAMES = {
    "density_based_validity": [FLOWER],
    "dunn_index": [FLOWER],
    "overlapping_report": [
        'labels = iris.select("id", label="species")',
        'clusters = iris.select("id", cluster="kmeans")',
    ],
    "graph_report": [
        "# flowers that are alike",
        'flowers = iris.select("id", "petal_length")',
        'edges = flowers.join(flowers, how="cross", suffix="_r").select(',
        '    id_l="id",',
        '    id_r="id_r",',
        '    difference=(pl.col("petal_length") - pl.col("petal_length_r")).abs(),',
        ")",
        'edges = edges.filter(pl.col("id_l") < pl.col("id_r"), pl.col("difference") < 0.2)',
    ],
    "neighborhood_report": [
        'nearest = iris.clustereval.nearest_neighbors(["petal_length", "petal_width"], "id")',
        'knn = nearest.select(id_l="id", id_r="neighbor", d="distance")',
    ],
    "run_drift": [
        'run_before = iris.select("id", cluster="kmeans")',
        'run_after = iris.select("id", cluster="agglomerative")',
    ],
}
IN_SQL = {
    # two coordinates alone have points of two clusters at the same place
    "dunn_index": (
        "iris, [sepal_length, sepal_width, petal_length, petal_width], kmeans, generalized := true"
    ),
    "overlapping_report": "labels, clusters, id, label, cluster",
    "graph_report": "iris, id, kmeans, edges, id_l, id_r",
    "neighborhood_report": "iris, id, kmeans, knn, id_l, id_r, distance := d",
    "run_drift": "run_before, run_after, id, cluster",
}
IN_PYTHON = {
    "density_based_validity": 'iris, flower, "kmeans"',
    "dunn_index": 'iris, flower, "kmeans", generalized=True',
    "overlapping_report": 'labels, clusters, "id", "label", "cluster"',
    "graph_report": 'iris, "id", "kmeans", edges, "id_l", "id_r"',
    "neighborhood_report": 'iris, "id", "kmeans", knn, "id_l", "id_r", distance="d"',
    "run_drift": 'run_before, run_after, "id", "cluster"',
}


@cache
def page_titles() -> dict[str, str]:
    """The titles of the pages of docs/ by their stems, in the order of the navigation."""
    text = NAVIGATION.read_text(encoding="utf-8")
    return {page: title for title, page in re.findall(r"^ +- (.*): (\w+)\.md$", text, re.MULTILINE)}


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") or "–" for cell in cells) + " |"


def upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def file_of(family: str) -> str:
    words = re.findall(r"\w+", family.lower())
    return f"metrics_{'_'.join(words)}.md"


def families() -> dict[str, list[Entry]]:
    """The entries by family, in the order of the catalogue."""
    groups = groupby(entries().values(), key=lambda entry: entry.family)
    return {family: list(scores) for family, scores in groups}


# The catalogue -------------------------------------------------------------------------------


def catalogue() -> str:
    """The page of all scores, a row for each."""
    tables = [markdown_table(family, scores) for family, scores in families().items()]
    scales = [f"- `{x.name}`: {show_scale(x.scale)}\n" for x in entries().values() if x.scale]
    with open_session() as con:
        head = page_outputs.with_python_outputs(page_outputs.with_outputs(HEAD, con))
    return "".join([head, *tables, SCALES, *scales])


def markdown_table(family: str, scores: Sequence[Entry]) -> str:
    heads = ("name", "title", "range", "best")
    rows = [
        row(
            f"[`{entry.name}`]({file_of(family)}#{entry.name})",
            entry.title,
            entry.range,
            BEST.get(entry.best, entry.best),
        )
        for entry in scores
    ]
    title = f"\n## [{upper_first(family)}]({file_of(family)})\n"
    return "\n".join([title, row(*heads), "|---" * len(heads) + "|", *rows, ""])


# A family ------------------------------------------------------------------------------------


def family_page(family: str, scores: Sequence[Entry]) -> str:
    """The page of a family: its notation and cost, a query of all, and a section for each score."""
    cost = Counter(entry.cost for entry in scores).most_common(1)[0][0]
    tables = dict.fromkeys(entry.table for entry in scores)
    pages = dict.fromkeys(declared_tables()[table].guide for table in tables)
    guides = (f"[{page_titles()[page]}]({page}.md)" for page in pages)
    related = (
        f"The tables and their options are described in {', '.join(guides)}. To choose a score, "
        "start from [your question](which_metric.md). All families are in the "
        "[catalogue](metrics.md)."
    )
    queries = sql_of_all(tables, scores) if scores[0].has_sql else ""
    code = python_of_all(tables, scores)
    values = example_values(queries) if queries else values_in_python(code)
    shown = ["The scores, rounded to four digits:", list_values(scores, values)]
    in_python = ["In Python:", f"```python\n{code}\n```"]
    head = [
        f"# {upper_first(family)}",
        f"**When to use these scores.** {FAMILIES[family].use}",
        f"**Pitfalls.** {FAMILIES[family].beware}",
        f"**Notation.** {NOTATION[family]}",
        f"**Cost.** {cost}",
        related,
        *([f"```sql\n{queries}\n```", *shown, *in_python] if queries else [*in_python, *shown]),
    ]
    sections = [section(entry, cost, values[entry.name]) for entry in scores]
    return "\n\n".join([*head, *sections]) + "\n"


def names_of(table: str, scores: Sequence[Entry]) -> list[str]:
    return [entry.name for entry in scores if entry.table == table]


def list_values(scores: Sequence[Entry], values: Mapping[str, float | None]) -> str:
    """A block with a line for each score and its value."""
    width = max(len(entry.name) for entry in scores)
    lines = [f"{entry.name:{width}}  {show_value(values[entry.name])}" for entry in scores]
    return "\n".join(["```text", *lines, "```"])


def sql_of_all(tables: Iterable[str], scores: Sequence[Entry]) -> str:
    """A query for each table that has scores of the family."""
    first = "species" if scores[0].kind == "external" else f"[{', '.join(POINTS)}]"
    queries = []
    for name in tables:
        arguments = IN_SQL.get(name, f"iris, {first}, kmeans")
        names = ", ".join(names_of(name, scores))
        columns = fill(names, 88, initial_indent="    ", subsequent_indent="    ")
        queries += VIEWS.get(name, [])
        queries.append(f"SELECT\n{columns}\nFROM clustereval.{name}({arguments});")
    view = "CREATE OR REPLACE TEMP VIEW iris AS FROM 'examples/iris.parquet';"
    return "\n".join([view, "", *queries])


def python_of_all(tables: Iterable[str], scores: Sequence[Entry]) -> str:
    """The same in Python."""
    lines = [
        "import polars as pl",
        "import polars_clustereval as ce",
        "",
        'iris = pl.read_parquet("examples/iris.parquet")',
    ]
    points = "[" + ", ".join(f'"{name}"' for name in POINTS) + "]"
    first = '"species"' if scores[0].kind == "external" else points
    for name in tables:
        arguments = IN_PYTHON.get(name, f'iris, {first}, "kmeans"')
        columns = "".join(f'    "{column}",\n' for column in names_of(name, scores))
        lines += [
            *FRAMES.get(name, []),
            f"report = ce.{name}({arguments})",
            f"scores = report.select(\n{columns})",
        ]
    return "\n".join(lines)


def values_in_python(code: str) -> dict[str, float | None]:
    """The single row of `scores` after some code, by the names of the columns."""
    names: dict[str, Any] = {}
    with chdir(DOCS.parent):
        exec(code, names)
    found: dict[str, float | None] = names["scores"].row(0, named=True)
    return found


def section(entry: Entry, cost: str, value: float | None) -> str:
    """The facts of one score, its value on the example, and its calls side by side."""
    call = "query" if entry.has_sql else "call"
    facts = {
        "Name": entry.title,
        "Example": f"The {call} at the top of this page returns {show_value(value)}.",
        "Use it for": ", ".join(questions_answered().get(entry.name, [])),
        "Beware": upper_first(traps().get(entry.name, "")),
        "Range": show_range(entry),
        "Special cases": show_cases(entry),
        "Words": show_scale(entry.scale),
        "Source": entry.source,
        "Cost": entry.cost if entry.cost != cost else "",
        "In other libraries": show_elsewhere(entry),
        "Defined differently": entry.differs,
    }
    listed = [f"- **{fact}:** {text}" for fact, text in facts.items() if text]
    calls = [row("SQL", "Polars"), "|---|---|", row(f"`{entry.sql}`", f"`{entry.polars}`")]
    phrase, rest = split_definition(entry.definition)
    definition = f"**{phrase}** {rest}".rstrip()
    texts = [f"## {entry.name}", definition, "\n".join(listed), "\n".join(calls)]
    return "\n\n".join(texts)


def split_definition(text: str) -> tuple[str, str]:
    """The first sentence, which says in words what the score is, and the rest with the formula."""
    phrase, stop, rest = text.partition(". ")
    return phrase + stop.rstrip(), rest


def show_value(value: float | None) -> str:
    return "NULL" if value is None else f"{float(value):.4g}"


def pages() -> dict[str, str]:
    """The text of each page by the name of its file in docs/."""
    by_family = {file_of(name): family_page(name, scores) for name, scores in families().items()}
    return {"metrics.md": catalogue(), **by_family}
