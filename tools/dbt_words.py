"""One text for the queries of several adapters of dbt, whose SQL differs by some words.

Where the texts differ is `{{ sql.… }}` if WORDS has a name for what the adapters write there, and
else a condition on `sql.name`. The macro `words` of the dbt package returns `sql`.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Adapters whose queries differ by words.
ADAPTERS = ("bigquery", "clickhouse", "redshift", "snowflake", "spark")

#: What each of the ADAPTERS writes.
WORDS = {
    "double": ("FLOAT64", "Nullable(Float64)", "DOUBLE PRECISION", "DOUBLE", "DOUBLE"),
    "bigint": ("INT64", "Nullable(Int64)", "BIGINT", "BIGINT", "BIGINT"),
    "integer": ("INT64", "Nullable(Int32)", "INTEGER", "INT", "INT"),
    "decimal": ("BIGNUMERIC", "Nullable(Decimal(38, 0))", *["DECIMAL(38, 0)"] * 3),
    "short_decimal": ("NUMERIC", "Nullable(Decimal(2, 1))", *["DECIMAL(2, 1)"] * 3),
    "text": ("STRING", "Nullable(String)", "VARCHAR", "VARCHAR", "STRING"),
    "nullif": ("NULLIF", "nullIf", "NULLIF", "NULLIF", "NULLIF"),
    "least": ("LEAST", "LEAST", "LEAST", "LEAST_IGNORE_NULLS", "LEAST"),
    "greatest": ("GREATEST", "GREATEST", "GREATEST", "GREATEST_IGNORE_NULLS", "GREATEST"),
    "var_pop": ("VAR_POP", "varPopStable", "VAR_POP", "VARIANCE_POP", "VAR_POP"),
    "atanh": ("ATANH", "atanh", "ATANH", "ATANH", "ATANH"),
    "old": ("old", '"old"', '"old"', '"OLD"', "`old`"),
    "new": ("`new`", '"new"', '"new"', '"NEW"', "`new`"),
    "rows": ("`rows`", '"rows"', "rows", '"ROWS"', "`rows`"),
    "array": ("[", "[", "ARRAY(", "[", "ARRAY("),
    "end_array": ("]", "]", ")", "]", ")"),
    "nulls_last": (" NULLS LAST", "", "", "", " NULLS LAST"),
    # ClickHouse reads NOT a IS NULL as NOT (a) IS NULL, and computes other CTEs at each use.
    "bracket": ("", "(", "", "", ""),
    "end_bracket": ("", ")", "", "", ""),
    "materialized": ("", "MATERIALIZED ", "", "", ""),
    # Redshift divides whole numbers without a remainder.
    "dividend": ("", "", "CAST(", "", ""),
    "end_dividend": ("", "", "AS DOUBLE PRECISION) ", "", ""),
}
_NAMES = {texts: name for name, texts in WORDS.items()}


def words_text() -> str:
    """The macros that return the words of an adapter."""
    words = {
        adapter: {"name": adapter} | {name: texts[i] for name, texts in WORDS.items()}
        for i, adapter in enumerate(ADAPTERS)
    } | {"postgres": {"name": "postgres"}}
    return "\n".join(
        f"{{% macro {adapter}__words() -%}}\n  {{{{ return({{\n"
        + "".join(f"    {name!r}: {text!r},\n" for name, text in own.items())
        + "  }) }}\n{%- endmacro %}\n"
        for adapter, own in words.items()
    )


def split_words(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """The matches of a pattern, which cover a text; a whole block of Jinja is one of them.

    The first two groups of the pattern match the beginnings of a block and of its end.
    """
    depth = start = place = 0
    while place < len(text):
        found = pattern.match(text, place)
        if found is None:
            raise ValueError(f"no token at {text[place : place + 40]!r}")
        place = text.index("%}", place) + 2 if found[1] or found[2] else found.end()
        depth += bool(found[1]) - bool(found[2])
        if depth == 0:
            yield text[start:place]
            start = place


# A whole block or tag of Jinja, a type, a name that may be quoted, spaces, or a sign.
_TOKEN = re.compile(
    r"(\{% (?:if|for) )|(\{% end)|\{%.*?%\}|\{\{.*?\}\}"
    r"|Nullable\(\w+(?:\(\d+, \d+\))?\)|DECIMAL\(\d+, \d+\)|DOUBLE PRECISION"
    r"|[\"`]?\w+[\"`]?|\s+|[^\w\s]"
)
_LOOP = re.compile(r"(\{% for i in coordinates %\})(.*)(\{% endfor %\})")


class _Change(NamedTuple):
    """Tokens in place of those from `start` to `end` of another text."""

    start: int
    end: int
    tokens: Sequence[str]


def join_adapters(*texts: str) -> str:
    """One text that becomes each of the `texts`, those of ADAPTERS, with the words of each."""
    if len(set(texts)) == 1:
        return texts[0]
    return _join_texts(texts)


@cache
def _join_texts(texts: tuple[str, ...]) -> str:
    base, *others = [list(split_words(text, _TOKEN)) for text in texts]
    changes = [[], *(list(_changes(base, other)) for other in others)]
    slots: list[tuple[int, int]] = []
    for start, end in sorted({(x.start, x.end) for found in changes for x in found}):
        if slots and (start < slots[-1][1] or start == slots[-1][0]):
            slots[-1] = slots[-1][0], max(end, slots[-1][1])
        else:
            slots.append((start, end))
    joined, place = "", 0
    for start, end in slots:
        versions = [_version(base, found, start, end) for found in changes]
        joined += "".join(base[place:start]) + _write_slot(tuple(versions))
        place = end
    return joined + "".join(base[place:])


def _changes(base: Sequence[str], other: Sequence[str]) -> Iterator[_Change]:
    """What turns the `base` into the `other`.

    Insertions are as far on the right as what follows allows: the same words have one form.
    """
    codes = SequenceMatcher(None, base, other, autojunk=False).get_opcodes()
    ends = [code[2] for code in codes]
    for (kind, start, end, c, d), limit in zip(codes, [*ends[1:], len(base)], strict=True):
        if kind == "equal":
            continue
        tokens = other[c:d]
        # `limit` is where the tokens end that both have after the insertion.
        while kind == "insert" and start < limit and tokens[0] == base[start]:
            tokens, start = [*tokens[1:], tokens[0]], start + 1
        yield _Change(start, max(end, start), tokens)


def _version(base: Sequence[str], changes: Sequence[_Change], start: int, end: int) -> str:
    """What stands between two places of the `base` after the changes."""
    tokens: list[str] = []
    place = start
    for change in changes:
        if change.start == start or start < change.start < end:
            tokens += [*base[place : change.start], *change.tokens]
            place = change.end
    return "".join([*tokens, *base[place:end]])


def _write_slot(versions: tuple[str, ...]) -> str:
    """The text that becomes the version of the adapter."""
    if versions in _NAMES:
        return f"{{{{ sql.{_NAMES[versions]} }}}}"
    loops = [_LOOP.fullmatch(text) for text in versions]
    if all(loops):
        bodies = [loop[2] for loop in loops if loop]
        if not any("{% endfor %}" in body for body in bodies):
            return _LOOP.sub(lambda loop: loop[1] + join_adapters(*bodies) + loop[3], versions[0])
    adapters: dict[str, list[str]] = {}
    for adapter, text in zip(ADAPTERS, versions, strict=True):
        adapters.setdefault(text, []).append(adapter)
    # The most adapters have what is there if no condition holds.
    *others, (default, _) = sorted(adapters.items(), key=lambda item: len(item[1]))
    branches = "{% el".join(f"if sql.name in {names} %}}{text}" for text, names in others)
    return f"{{% {branches}" + (f"{{% else %}}{default}" if default else "") + "{% endif %}"
