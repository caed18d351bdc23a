"""describe: returns text that describes a score, a table, a criterion or a parameter."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from textwrap import shorten, wrap
from typing import TYPE_CHECKING

from polars_clustereval.base.checks import show_value
from polars_clustereval.base.score_facts import COLUMN_SCORES
from polars_clustereval.base.unknown_names import other_name
from polars_clustereval.errors import ClusterEvalError

from .callables import Description, describe_callable, list_callables
from .external import list_external_entries
from .words import WORDS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Self

    from polars_clustereval.base.score_facts import Entry, Scale

__all__ = [
    "NOTATION",
    "describe",
    "entries",
    "reading",
    "show_cases",
    "show_elsewhere",
    "show_range",
    "show_scale",
]

_WIDTH = 80
_LIST_WIDTH = 100

#: The meanings of the letters in the definitions of a family.
NOTATION = {
    "pair counting": "Pairs of rows are counted: tp pairs have the same label and the same "
    "cluster, fp pairs have only the same cluster, fn pairs have only the same label, and tn pairs "
    "have neither. P and R are pair_precision and pair_recall.",
    "information": "There are n rows. Entropies are in nats. h and c are homogeneity and "
    "completeness.",
    "set matching": "There are n rows. P and R are bcubed_precision and bcubed_recall.",
    "one-to-one matching": "Of the n rows, n_ij have label i and are in cluster j, a_i have label "
    "i, and b_j are in cluster j. A matching pairs each label with at most one cluster, and each "
    "cluster with at most one label.",
    "overlapping clusters": "Two ids have c clusters and l labels in common. For a label or "
    "cluster X, H(X) is the entropy of the variable that says whether an id is in X.",
    "clusters of a graph": "W is the total weight of all edges, W_c is the total weight of the "
    "edges within cluster c, and C_c is the total weight of the edges from c to other clusters. "
    "V_c = 2 W_c + C_c is the volume of c.",
    "nearest neighbors": "The neighbors of an id are the rows with this id in the table of "
    "neighbors, and s_c is the share of them that is in cluster c. k is their number.",
    "drift between runs": "Two clusters are linked if at least half of the ids of one cluster are "
    "also in the other. Only ids that are in both runs count. The parameter threshold changes the "
    "required share, which is one half by default.",
    "entity resolution": "There are n rows. A cell is a pair of a label and a cluster that have "
    "rows in common. P and R are closest_cluster_precision and closest_cluster_recall.",
    "coreference": "There are n rows. A cell is a pair of a label and a cluster that have rows in "
    "common. P and R are the precision and recall of the same measure. tp, fp, fn and tn count "
    "pairs of rows.",
    "reduced information": "Of the n rows, n_ij have label i and are in cluster j, a_i have label "
    "i, and b_j are in cluster j. Information is in nats.",
    "sums of squares": "Cluster C has n_C points x and the center μ_C. μ is the center of all "
    "points, and d is the distance.",
    "centers": "There are n points x in k clusters. Cluster C has n_C points, the center μ_C and "
    "the variances Var_C of its coordinates. μ and Var are the center and the variances of all "
    "points. d is the distance, r_C is the mean of d(x, μ_C) over the points of C, ssw_C is the "
    "sum of d(x, μ_C)² over the points of C, and Δ_CD = d(μ_C, μ_D).",
    "scatter matrices": "There are n points in k clusters. T is the scatter matrix of all points, "
    "W_C is the scatter matrix of cluster C with n_C points, W is the sum of all W_C, and B = T − "
    "W.",
    "silhouettes": "There are n points in k clusters.",
    "Dunn": "There are n points in k clusters. d is the distance, and μ_C is the center of cluster "
    "C with n_C points. δ measures how far apart two clusters are, and Δ measures the diameter of "
    "a cluster.",
    "pairs of points": "There are n points in k clusters. S and N are the sum and the number of "
    "the distances within clusters (subscript W), between clusters (B) and in total (T). If each "
    "distance within clusters is compared with each distance between clusters, the distance within "
    "clusters is smaller in s⁺ comparisons and larger in s⁻ comparisons.",
    "density": "There are n points, of which n_C are in cluster C. Each cluster has a minimum "
    "spanning tree, in which an edge has a large weight if its points are far apart or in a sparse "
    "region. w_C is the largest weight between inner points of the tree, and s_C is the smallest "
    "weight between such a point and an inner point of another tree.",
}

_BEST = {
    "high": "higher is better",
    "low": "lower is better",
    "": "neither high nor low is better",
}


@cache
def entries() -> Mapping[str, Entry]:
    """Return a mapping from names to entries, in the order of the reports' columns."""
    return {entry.name: entry for entry in (*list_external_entries(), *COLUMN_SCORES)}


def reading(name: str, value: float | None) -> str | None:
    """Return the word that the literature uses for a score's value, along with its source.

    The result is None if `value` is None, or if the score has no scale.

    Examples
    --------
    >>> reading("adjusted_rand_score", 0.73)
    'moderate (Steinley 2004)'
    """
    entry = entries().get(name)
    if value is None or entry is None or entry.scale is None:
        return None
    return f"{entry.scale.read(value)} ({entry.scale.authors})"


class _Text(str):
    """A string that Python shows without quotes, and notebooks as `markdown` if there is any."""

    __slots__ = ("markdown",)
    markdown: str | None

    def __new__(cls, text: str, markdown: str | None = None) -> Self:
        self = super().__new__(cls, text)
        self.markdown = markdown
        return self

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return self.markdown or f"```text\n{self}\n```"


def describe(name: str | None = None) -> str:
    """Describe a score: its definition, range, best value, special cases, source, cost and calls.

    The function also describes tables, functions, parameters and the criteria of choose_k. The
    equivalent command is ``clustereval describe NAME``.

    Parameters
    ----------
    name : str, optional
        The name of a score (a column of a report), a table, a criterion of choose_k, or a parameter
        of a table. Examples are 'davies_bouldin_score', 'external_summary', 'jump' and 'noise_as'.
        Without a name, the function returns a list of all names, in which scores are grouped by
        family.

    Returns
    -------
    str
        Several lines, which the Python prompt shows as text and notebooks show as a table.

    Raises
    ------
    ClusterEvalError
        If nothing has this name.

    Examples
    --------
    >>> ce.describe("pair_precision")
    Pair precision
    <BLANKLINE>
    Share of the pairs in the same cluster that have the same label. The precision
    is tp / (tp + fp). It is also known as Wallace's index of the clusters.
    <BLANKLINE>
    Family     pair counting (external)
    Notation   Pairs of rows are counted: tp pairs have the same label and the same
               cluster, fp pairs have only the same cluster, fn pairs have only the
               same label, and tn pairs have neither. P and R are pair_precision and
               pair_recall.
    Range      [0, 1], best 1
    Cases      NULL if every cluster has only one row or if there are no rows.
    Source     Wallace (1983), comment on A method for comparing two hierarchical
               clusterings, doi:10.1080/01621459.1983.10478009.
    Cost       One pass over the rows counts them by label and cluster, and a second
               pass reads only these counts.
    Elsewhere  clusterCrit: Precision
    SQL        SELECT clustereval.pair_precision(label, cluster) FROM tbl
    Polars     frame.select(ce.pair_precision("label", "cluster"))
    """
    if name is None:
        return _Text(f"{_list_families(entries().values())}\n\n{_list_others()}")
    known = _find(name)
    return _Text(_lay_out(known), _write_markdown(known))


def _find(name: object) -> Description:
    """Return the description of a name, or raise an error that suggests a similar name."""
    found = entries()
    if isinstance(name, str):
        known = _describe_score(found[name]) if name in found else describe_callable(name)
        if known is not None:
            return known
    twin = _similar_name(name.lower(), found) if isinstance(name, str) else None
    hint = f"did you mean '{twin}'?" if twin else "describe without a name lists all"
    hint = WORDS.get(re.sub(r"[ -]", "_", str(name).lower()), hint)
    shown = f"'{name}'" if isinstance(name, str) else show_value(name)
    raise ClusterEvalError(
        "name: expected the name of a score, a table, a criterion or a parameter, "
        f"got {shown}; {hint}"
    )


def _similar_name(name: str, found: Mapping[str, Entry]) -> str | None:
    """Return the name here that `name`, in lower case, may mean, or None if none is similar.

    `name` may be an abbreviation or a name elsewhere of a score in `found`, or be similar to the
    name of such a score or of a table, function, criterion or parameter.
    """
    others = {
        other.lower(): entry.name
        for entry in found.values()
        for other in (*entry.elsewhere.values(), *re.findall(r"\b[A-Z]{2,}\b", entry.title))
    }
    names = [*found, *(other for names in list_callables().values() for other in names)]
    for known in (name, other_name(name), others.get(name)):
        if known in names:
            return known
    return next(iter(get_close_matches(name, names, n=1)), None)


# ----------------------------------------------------------------------------------------------
# Texts
# ----------------------------------------------------------------------------------------------


def show_range(entry: Entry) -> str:
    """Return the range of a score and its best value, such as '[0, 1], best 1'."""
    return f"{entry.range}, {_BEST.get(entry.best, f'best {entry.best}')}"


def show_cases(entry: Entry) -> str:
    """Return text that explains when a score is NULL and when it has a value by convention."""
    if entry.kind != "internal":
        return entry.special_cases
    conditions, _, remark = entry.special_cases.partition(". ")
    listed = _list_conditions(["there are no points", *filter(None, conditions.split("; "))])
    return f"NULL {listed}. {remark}.".removesuffix(" .")


def _list_conditions(conditions: Sequence[str]) -> str:
    """Return conditions joined by 'or', such as 'if A, if B, or if C'."""
    *first, last = [f"if {condition}" for condition in conditions]
    return ", ".join([*first, f"or {last}" if first else last])


def show_elsewhere(entry: Entry) -> str:
    """Return the names that other libraries use for a score."""
    return "; ".join(f"{library}: {name}" for library, name in entry.elsewhere.items())


def show_scale(scale: Scale | None) -> str:
    """Return a scale as text that lists its words, the lower bound of each word, and its source."""
    if scale is None:
        return ""
    words = ", ".join(f"{word} above {bound:.2f}" for bound, word in scale.words)
    return f"{words}, otherwise {scale.otherwise}: {scale.authors}, {scale.title}."


def _describe_score(entry: Entry) -> Description:
    """Return the description of a score."""
    facts = {
        "Family": f"{entry.family} ({entry.kind})",
        "Notation": NOTATION[entry.family],
        "Range": show_range(entry),
        "Cases": show_cases(entry),
        "Reading": show_scale(entry.scale),
        "Source": entry.source,
        "Cost": entry.cost,
        "Elsewhere": show_elsewhere(entry),
        "Differs": entry.differs,
    }
    calls = {"SQL": entry.sql, "Polars": entry.polars}
    return Description(entry.title, entry.definition, facts, calls)


def _lay_out(known: Description) -> str:
    """Format a description as text, with a paragraph for the definition and lines for each fact."""
    heads = {**known.facts, **known.calls}
    width = max(map(len, heads)) + 2
    lines = [known.title, "", *wrap(known.definition, _WIDTH, break_on_hyphens=False), ""]
    for fact, text in known.facts.items():
        # Lines are not broken at hyphens, because a DOI has hyphens, and calls are not broken at
        # all.
        wrapped = [
            line
            for part in text.splitlines()
            for line in wrap(part, _WIDTH - width, break_on_hyphens=False, break_long_words=False)
        ]
        names = [fact, *[""] * len(wrapped)]
        lines += [f"{name:{width}}{line}" for name, line in zip(names, wrapped, strict=False)]
    return "\n".join(lines + [f"{head:{width}}{call}" for head, call in known.calls.items()])


def _write_markdown(known: Description) -> str:
    """Format a description as Markdown, with a definition as a paragraph and facts as a table."""
    facts = [(fact, _escape_markup(text)) for fact, text in known.facts.items() if text]
    calls = [(head, f"`{call}`".replace("|", "\\|")) for head, call in known.calls.items()]
    rows = [f"| {head} | {' '.join(text.split())} |" for head, text in (*facts, *calls)]
    table = "\n".join(["| | |", "|---|---|", *rows])
    return f"**{_escape_markup(known.title)}**\n\n{_escape_markup(known.definition)}\n\n{table}\n"


def _escape_markup(text: str) -> str:
    """Escape text for Markdown.

    Some characters become references, because marimo shows a backslash before them, or reads the
    text between two of them as a formula.
    """
    escaped = re.sub(r"([\\`*_{}|])", r"\\\1", text.replace("&", "&amp;"))
    return re.sub(r"[\[\]<>$~]", lambda found: f"&#{ord(found[0])};", escaped)


def _list_others() -> str:
    """Return a list of tables, functions, criteria and parameters, with one line for each."""
    blocks, scores = [], entries()
    for kind, known in list_callables().items():
        # Expressions are scores, which are already listed.
        texts = {
            x: text for x, text in known.items() if kind != "other functions" or x not in scores
        }
        # With -OO, Python removes docstrings.
        if not texts:
            continue
        width = max(map(len, texts)) + 2
        room = _LIST_WIDTH - width - 2
        lines = (
            f"  {name:{width}}{shorten(text, room, placeholder=' ...')}"
            for name, text in texts.items()
        )
        blocks.append("\n".join([kind, *lines]))
    return "\n\n".join(blocks)


def _list_families(scores: Collection[Entry]) -> str:
    """Return a list of the names and titles of scores, grouped by family."""
    width = max(len(entry.name) for entry in scores) + 2
    lines: list[str] = []
    family = ""
    for entry in scores:
        if entry.family != family:
            family = entry.family
            lines += ["", f"{family} ({entry.kind})"]
        lines.append(f"  {entry.name:{width}}{entry.title}")
    return "\n".join(lines[1:])
