"""HTML: the findings of the command ``report`` as a page that needs no other files."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from polars_clustereval import __version__
from polars_clustereval.base.quoting import escape_controls
from polars_clustereval.catalogue import show_cases

from .findings import CLUSTER_MEANINGS, choose_clusters, describe_limits
from .numbers import show_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from polars_clustereval.cli.reports import Meaning

    from .findings import Findings, Score
    from .partitions import Partitions

__all__ = [
    "NAME_COLUMNS",
    "describe_range",
    "name_page",
    "write_html",
    "write_partitions_html",
]

#: The number of rows of a table by cluster.
_MOST_CLUSTERS = 500


def write_html(findings: Findings, pictures: Mapping[str, tuple[str, str]]) -> bytes:
    """Return a page about one clustering, with pictures by their titles (see Pictures)."""
    shown = [f"<h2>{_text(x)}</h2>\n{_embed(x, svgs)}" for x, svgs in pictures.items()]
    main = _write_sections(findings, 2, "", shown)
    main.append("<h2>All scores</h2>")
    main += [_write_group(title, scores) for title, scores in findings.groups.items()]
    return _fill_page(name_page(findings), main, findings)


def write_partitions_html(partitions: Partitions) -> bytes:
    """Return a page about many clusterings, with a section for each of the first."""
    main = [f"<h2>{_text(partitions.heading)}</h2>", _write_overview(partitions)]
    remarks = "".join(f"<li>{_text(remark)}</li>" for remark in partitions.remarks)
    main += [f"<ul class='answers'>{remarks}</ul>"] if remarks else []
    for number, part in enumerate(partitions.parts):
        main += [
            f'<h2 id="part-{number}">{_text(part.name)}</h2>',
            f'<p class="facts">{_write_facts(part.findings.facts)}</p>',
            _list_items(part.findings.warnings),
            *_write_sections(part.findings, 3, f"-{number}"),
        ]
    return _fill_page(partitions.title, main, partitions)


def _fill_page(title: str, main: Sequence[str], page: Findings | Partitions) -> bytes:
    """Return the page with this main part, before which are its facts, and behind it its SQL."""
    template = Template((files(__package__) / "template.html").read_text(encoding="utf-8"))
    versions = (f"{_text(name)}: {_text(value)}" for name, value in page.versions)
    values = {
        "title": _text(title),
        "version": _text(__version__),
        "facts": _write_facts(page.facts),
        "warnings": _list_items(page.warnings),
        "main": "\n".join([*main, _write_queries(page.queries)]),
        "versions": "<br>".join(versions),
    }
    return template.substitute(values).encode()


def _write_sections(
    findings: Findings, level: int, suffix: str, pictures: Sequence[str] = ()
) -> list[str]:
    """Return the sections on a clustering; `suffix` ends the names that links lead to."""
    return [
        _write_answers(findings, level, suffix),
        f'<h{level} id="scores{suffix}">Scores</h{level}>',
        _write_cards(findings),
        *pictures,
        _write_clusters(findings, level, suffix),
        _write_low_points(findings.low_points, level),
    ]


def _write_facts(facts: Iterable[tuple[str, str]]) -> str:
    """Return pairs of a name and a text as HTML."""
    return " ".join(f"<span>{_text(name)} <b>{_text(value)}</b></span>" for name, value in facts)


def _write_cards(findings: Findings) -> str:
    """Return the headline scores as boxes, with their definitions."""
    cards = "\n".join(map(_write_card, findings.headlines))
    definitions = "\n".join(map(_write_definition, findings.headlines))
    return (
        f'<div class="cards">\n{cards}\n</div>\n<details><summary>What these are</summary>\n<dl>\n'
        f"{definitions}\n</dl>\n</details>"
    )


def _write_queries(queries: Iterable[str]) -> str:
    """Return the section that shows the SQL queries of a page."""
    text = _text("\n\n".join(queries), keep="\n")
    return (
        "<h2>SQL</h2>\n<p>The same numbers in DuckDB, after <code>.read clustereval.sql</code>, "
        f"which <code>clustereval sql</code> writes:</p>\n<pre>{text}</pre>"
    )


def _write_overview(partitions: Partitions) -> str:
    """Return the table of all clusterings, with links to their sections."""
    first, *others = partitions.overview.columns
    numeric = {*others} - {*NAME_COLUMNS}
    head = "".join(
        f"<th{' class=number' if name in numeric else ''}>"
        f"<button>{_text(name.replace('_', ' '))}</button></th>"
        for name in (first, *others)
    )
    rows = []
    for number, row in enumerate(partitions.overview.iter_rows(named=True)):
        name = _text(row.pop(first))
        linked = number < len(partitions.parts)
        cell = f'<a href="#part-{number}">{name}</a>' if linked else name
        rows.append(f"<td>{cell}</td>{_write_cells(row, numeric)}")
    return _write_table(head, rows, " class='sortable overview'")


def _embed(title: str, svgs: tuple[str, str]) -> str:
    """Return a picture as an image, whose names are its own and whose scripts do not run.

    A browser shows the second form of the picture on narrow screens.
    """
    wide, narrow = (f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" for svg in svgs)
    return (
        f'<figure><picture><source media="(max-width: 40rem)" srcset="{narrow}">'
        f'<img alt="{_text(title)}" src="{wide}"></picture></figure>'
    )


def name_page(findings: Findings) -> str:
    """Return the title of a page."""
    return findings.title or f"Clustering of {dict(findings.facts)['data']}"


def _text(text: object, keep: str = "") -> str:
    """Return a text escaped for HTML, and its control characters but those in `keep`."""
    return escape("".join(x if x in keep else escape_controls(x) for x in str(text)))


def _list_items(texts: list[str]) -> str:
    """Return warnings as a list, if there are any."""
    items = "".join(f"<li>{_text(text)}</li>" for text in texts)
    return f'<ul class="warnings">{items}</ul>' if texts else ""


def _write_answers(findings: Findings, level: int, suffix: str) -> str:
    """Return the sentences, with links to the scores and clusters that they are about."""
    items = "".join(
        f'<li class="{answer.severity}"><span class="unseen">{answer.severity}: </span>'
        f'<a href="#{answer.place}{suffix}">{_text(answer.text)}</a></li>'
        for answer in findings.answers
    )
    steps = "".join(f"<li>{_text(step)}</li>" for step in findings.steps)
    described = "".join(
        f"<dt>{_text(f'Cluster {name}')}</dt><dd>{_text(words)}</dd>"
        for name, words in findings.descriptions.items()
    )
    parts = [
        f"<h{level}>{title}</h{level}>\n<{tag} class='answers'>{content}</{tag}>"
        for title, tag, content in (
            ("Findings", "ul", items),
            ("What to try next", "ul", steps),
            ("What distinguishes each cluster", "dl", described),
        )
        if content
    ]
    return "\n".join(parts)


def _write_card(score: Score) -> str:
    """Return a headline score as a box."""
    title = score.name if score.entry is None else score.entry.title
    more = [score.meaning.text, describe_range(score), describe_limits(score), score.reading]
    lines = "".join(f'<div class="more">{_text(line)}</div>' for line in more if line)
    return (
        f'<div class="card"><div class="name">{_text(title)}<br><code>{_text(score.name)}</code>'
        f'</div><div class="value">{show_number(score.value)}</div>{lines}</div>'
    )


def describe_range(score: Score) -> str:
    """Describe the range of a score and its best values in words."""
    best = _describe_best(score.meaning)
    bounds = "" if score.entry is None else score.entry.range
    bounds = f"range {bounds}" if bounds[:1] in ("[", "(") else bounds
    return ", ".join(part for part in (bounds, best) if part)


def _write_definition(score: Score) -> str:
    """Return the definition and the source of a score, if it is in the catalogue."""
    if score.entry is None:
        return ""
    return (
        f"<dt>{_text(score.entry.title)}</dt><dd>{_text(score.entry.definition)}"
        f"<br>{_text(show_cases(score.entry))}<br><cite>{_text(score.entry.source)}</cite></dd>"
    )


def _describe_best(meaning: Meaning) -> str:
    """Return a phrase that says which values of a score are good."""
    known = {"high": "↑ higher is better", "low": "↓ lower is better", "": ""}
    return known.get(meaning.best, f"best {meaning.best}")


def _write_group(title: str, scores: list[Score]) -> str:
    """Return the scores of a group as a table."""
    rows = "".join(
        f"<tr><td>{_text(score.name)}</td><td class='number'>{show_number(score.value)}</td>"
        f"<td>{_text(describe_limits(score))}</td><td>{_text(_describe_best(score.meaning))}</td>"
        f"<td>{_text(score.meaning.text)}</td></tr>"
        for score in scores
    )
    return (
        f"<details><summary>{_text(title)} ({len(scores)})</summary><div class='scroll'><table>"
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _write_clusters(findings: Findings, level: int, suffix: str) -> str:
    """Return the tables of clusters, each below its title; the first can be linked to."""
    parts = []
    for i, (title, table) in enumerate(findings.clusters.items()):
        anchor = "" if i else f' id="clusters{suffix}"'
        parts.append(f"<h{level}{anchor}>{_text(title)}</h{level}>")
        parts.append(_write_table_of_clusters(table))
    return "\n".join(parts)


def _write_table_of_clusters(table: pl.DataFrame) -> str:
    """Return the table with a row for each cluster, and a sentence if clusters are left out."""
    frame, note = choose_clusters(table, _MOST_CLUSTERS)
    numeric = {name for name, dtype in frame.schema.items() if dtype.is_numeric()}
    head = "".join(
        f"<th{' class=number' if name in numeric else ''} "
        f"title='{_text(CLUSTER_MEANINGS[name].text)}'>"
        f"<button>{_text(name.replace('_', ' '))}</button></th>"
        for name in frame.columns
    )
    rows = (_write_cells(row, numeric) for row in frame.iter_rows(named=True))
    shown = _write_table(head, rows, " class='sortable'")
    return f"{shown}{f'<p>{_text(note)}</p>' if note else ''}"


def _write_low_points(points: pl.DataFrame, level: int) -> str:
    """Return the section on the points with the lowest silhouettes, if there are any."""
    if points.is_empty():
        return ""
    head = "".join(f"<th>{name}</th>" for name in points.columns)
    rows = (_write_cells(row, {"silhouette"}) for row in points.iter_rows(named=True))
    table = _write_table(head, rows)
    return f"<h{level}>Points of the lowest silhouettes</h{level}>\n{table}"


def _write_table(head: str, rows: Iterable[str], attribute: str = "") -> str:
    """Return a table; a click on a column header sorts one of class sortable."""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f"<div class='scroll'><table{attribute}><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _write_cells(row: Mapping[str, Any], numeric: set[str]) -> str:
    """Return the cells of a row; `numeric` contains the names of the numeric columns."""
    cells = []
    for name, value in row.items():
        if name not in numeric:
            cells.append(f"<td>{_text('' if value is None else value)}</td>")
            continue
        first = next(iter(value.values())) if isinstance(value, dict) else value
        key = "" if first is None else repr(first)
        shown = str(value) if name in NAME_COLUMNS else show_number(value)
        cells.append(f'<td class="number" data-value="{key}">{shown}</td>')
    return "".join(cells)


# Columns that name a cluster or a label, and may be numbers, and columns of words.
NAME_COLUMNS = (
    *("partition", "clustering", "cluster", "majority_label", "nearest_cluster", "id", "neighbor"),
    "verdict",
)
