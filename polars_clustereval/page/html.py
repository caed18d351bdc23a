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

from .findings import choose_clusters
from .numbers import show_number
from .words import MAX_CLUSTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from polars_clustereval.cli.reports import Meaning

    from .findings import Findings, Score
    from .partitions import Partitions

__all__ = [
    "NAME_COLUMNS",
    "describe_best",
    "describe_limits",
    "describe_range",
    "name_page",
    "write_html",
    "write_partitions_html",
]


def write_html(findings: Findings, pictures: Mapping[str, str]) -> bytes:
    """Return a page that needs no other files.

    `pictures` maps the title of each picture to its SVG text.
    """
    shown = (f"<h2>{_text(x)}</h2>\n{_embed(x, svg)}" for x, svg in pictures.items())
    main = [
        _write_answers(findings),
        '<h2 id="scores">Scores</h2>',
        _write_cards(findings),
        *shown,
        _write_clusters(findings),
        _write_low_points(findings.low_points),
        "<h2>All scores</h2>",
        *(_write_group(title, scores) for title, scores in findings.groups.items()),
        _write_queries(findings.queries),
    ]
    head = _write_facts(findings.facts), _list_items(findings.warnings)
    return _fill_page(name_page(findings), head, main, findings.versions)


def write_partitions_html(partitions: Partitions) -> bytes:
    """Return a page about many clusterings.

    The page contains a table of all clusterings, and a section for each clustering in
    `partitions.parts`.
    """
    title = f"<h2>Partitions, the worst first by {_text(partitions.order)}</h2>"
    main = [title, _write_overview(partitions)]
    for number, part in enumerate(partitions.parts):
        main += [
            f'<h2 id="part-{number}">{_text(part.name)}</h2>',
            f'<p class="facts">{_write_facts(part.findings.facts)}</p>',
            _list_items(part.findings.warnings),
            _write_answers(part.findings, level=3, suffix=f"-{number}"),
            f'<h3 id="scores-{number}">Scores</h3>',
            _write_cards(part.findings),
            _write_clusters(part.findings, level=3, suffix=f"-{number}"),
            _write_low_points(part.findings.low_points, level=3),
        ]
    main.append(_write_queries(partitions.queries))
    head = _write_facts(partitions.facts), _list_items(partitions.warnings)
    return _fill_page(partitions.title, head, main, partitions.versions)


def _fill_page(
    title: str, head: tuple[str, str], main: Iterable[str], versions: Iterable[tuple[str, str]]
) -> bytes:
    """Return the page as HTML, assembled from its title, head, main part and versions.

    `head` is a pair of texts: the facts and the warnings.
    """
    page = Template((files(__package__) / "template.html").read_text(encoding="utf-8"))
    values = {
        "title": _text(title),
        "version": _text(__version__),
        "facts": head[0],
        "warnings": head[1],
        "main": "\n".join(main),
        "versions": "<br>".join(f"{_text(name)}: {_text(value)}" for name, value in versions),
    }
    return page.substitute(values).encode()


def _write_facts(facts: Iterable[tuple[str, str]]) -> str:
    """Return facts as HTML. Each fact is a (name, text) pair."""
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
    """Return the table of all partitions, with links to their sections.

    Clicking a column header sorts the table.
    """
    names = partitions.overview.columns
    head = "".join(
        f"<th{' class=number' if i else ''}><button>{_text(name.replace('_', ' '))}</button></th>"
        for i, name in enumerate(names)
    )
    rows = []
    for number, row in enumerate(partitions.overview.iter_rows()):
        name = _text(row[0])
        linked = number < len(partitions.parts)
        cells = [f'<td><a href="#part-{number}">{name}</a></td>' if linked else f"<td>{name}</td>"]
        for value in row[1:]:
            key = "" if value is None else repr(value)
            cells.append(f'<td class="number" data-value="{key}">{show_number(value)}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f"<div class='scroll'><table class='sortable'><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _embed(title: str, svg: str) -> str:
    """Return a picture as an image embedded in the page.

    Names inside an image are local to that image, so two pictures may use the same names. Scripts
    inside an image do not run.
    """
    data = b64encode(svg.encode()).decode()
    return f'<figure><img alt="{_text(title)}" src="data:image/svg+xml;base64,{data}"></figure>'


def name_page(findings: Findings) -> str:
    """Return the title of a page."""
    return findings.title or f"Clustering of {dict(findings.facts)['data']}"


def _text(text: object, keep: str = "") -> str:
    """Return a text escaped for HTML, with control characters written as escape sequences.

    Control characters in `keep` are not escaped.
    """
    return escape("".join(x if x in keep else escape_controls(x) for x in str(text)))


def _list_items(texts: list[str]) -> str:
    """Return sentences as an HTML list, or an empty string if there are no sentences."""
    items = "".join(f"<li>{_text(text)}</li>" for text in texts)
    return f'<ul class="warnings">{items}</ul>' if texts else ""


def _write_answers(findings: Findings, level: int = 2, suffix: str = "") -> str:
    """Return the page's sentences as HTML sections, or an empty string if there are no sentences.

    `level` is the heading level of the sections. The sentences link to other sections, and `suffix`
    is appended to the names of these sections.
    """
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
    """Return a headline score as an HTML box."""
    title = score.name if score.entry is None else score.entry.title
    more = [score.meaning.text, describe_range(score), describe_limits(score), score.reading]
    lines = "".join(f'<div class="more">{_text(line)}</div>' for line in more if line)
    return (
        f'<div class="card"><div class="name">{_text(title)}<br><code>{_text(score.name)}</code>'
        f'</div><div class="value">{show_number(score.value)}</div>{lines}</div>'
    )


def describe_range(score: Score) -> str:
    """Describe the range of a score and its best values in words."""
    best = describe_best(score.meaning)
    bounds = "" if score.entry is None else score.entry.range
    bounds = f"range {bounds}" if bounds[:1] in ("[", "(") else bounds
    return ", ".join(part for part in (bounds, best) if part)


def _write_definition(score: Score) -> str:
    """Return the definition and the source of a headline score as HTML.

    The text is empty if the score is not in the catalogue.
    """
    if score.entry is None:
        return ""
    return (
        f"<dt>{_text(score.entry.title)}</dt><dd>{_text(score.entry.definition)}"
        f"<br>{_text(show_cases(score.entry))}<br><cite>{_text(score.entry.source)}</cite></dd>"
    )


def describe_best(meaning: Meaning) -> str:
    """Return a phrase that says which values of a score are good."""
    known = {"high": "↑ higher is better", "low": "↓ lower is better", "": ""}
    return known.get(meaning.best, f"best {meaning.best}")


def describe_limits(score: Score) -> str:
    """Describe the limits of a score in words, or return an empty string if they are unknown."""
    if score.lower is None or score.upper is None:
        return ""
    return f"{score.limits}: {show_number(score.lower)} to {show_number(score.upper)}"


def _write_group(title: str, scores: list[Score]) -> str:
    """Return the scores of a group as an HTML table."""
    rows = "".join(
        f"<tr><td>{_text(score.name)}</td><td class='number'>{show_number(score.value)}</td>"
        f"<td>{_text(describe_limits(score))}</td><td>{_text(describe_best(score.meaning))}</td>"
        f"<td>{_text(score.meaning.text)}</td></tr>"
        for score in scores
    )
    return (
        f"<details><summary>{_text(title)} ({len(scores)})</summary><div class='scroll'><table>"
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _write_clusters(findings: Findings, level: int = 2, suffix: str = "") -> str:
    """Return the tables of clusters, each below its title; the first can be linked to."""
    parts = []
    for i, (title, table) in enumerate(findings.clusters.items()):
        anchor = "" if i else f' id="clusters{suffix}"'
        parts.append(f"<h{level}{anchor}>{_text(title)}</h{level}>")
        parts.append(_write_table_of_clusters(table, findings.cluster_meanings))
    return "\n".join(parts)


def _write_table_of_clusters(table: pl.DataFrame, meanings: Mapping[str, Meaning]) -> str:
    """Return the table with a row for each cluster.

    Clicking a column header sorts the table.
    """
    frame, note = choose_clusters(table, MAX_CLUSTERS)
    numeric = {name for name, dtype in frame.schema.items() if dtype.is_numeric()}
    head = "".join(
        f"<th{' class=number' if name in numeric else ''} "
        f"title='{_text(meanings[name].text)}'>"
        f"<button>{_text(name.replace('_', ' '))}</button></th>"
        for name in frame.columns
    )
    rows = "".join(f"<tr>{_write_cells(row, numeric)}</tr>" for row in frame.iter_rows(named=True))
    return (
        f"<div class='scroll'><table class='sortable'><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>{f'<p>{_text(note)}</p>' if note else ''}"
    )


def _write_low_points(points: pl.DataFrame, level: int = 2) -> str:
    """Return the section on the points with the lowest silhouettes.

    The text is empty if there are no such points.
    """
    if points.is_empty():
        return ""
    head = "".join(f"<th>{name}</th>" for name in points.columns)
    rows = "".join(
        f"<tr>{_write_cells(row, {'silhouette'})}</tr>" for row in points.iter_rows(named=True)
    )
    return (
        f"<h{level}>Points of the lowest silhouettes</h{level}>\n<div class='scroll'><table>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _write_cells(row: Mapping[str, Any], numeric: set[str]) -> str:
    """Return the cells of a table row as HTML.

    `numeric` contains the names of the numeric columns. In all columns that are not numeric, NULL
    becomes an empty cell.
    """
    cells = []
    for name, value in row.items():
        if name not in numeric:
            cells.append(f"<td>{_text('' if value is None else value)}</td>")
            continue
        key = "" if value is None else repr(value)
        shown = str(value) if name in NAME_COLUMNS else show_number(value)
        cells.append(f'<td class="number" data-value="{key}">{shown}</td>')
    return "".join(cells)


# Columns that name a cluster or a label, and may be numbers.
NAME_COLUMNS = ("partition", "cluster", "majority_label", "nearest_cluster", "id", "neighbor")
