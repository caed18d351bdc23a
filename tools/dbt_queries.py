"""`make dbt`: the macros of the dbt package that are written from `to_sql`: dbt needs no Python.

A macro has the text of one query for all of its arguments. Values and names stand in it as
`{{ given.… }}`, the columns of a vector in a loop (`dbt_loops`). What an argument changes in the
query itself, such as partition_by, is written out for each of its choices: each common table
expression once for all choices under which its text is the same.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlglot import exp

from polars_clustereval.dialects import OPTIONS, Request
from polars_clustereval.dialects.engines import find_engine
from polars_clustereval.dialects.pipeline import finish_query, write_tree
from polars_clustereval.macros import macro_definitions
from tools.dbt_loops import SIZE, write_loops
from tools.dbt_words import ADAPTERS as ALIKE
from tools.dbt_words import join_adapters, split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polars_clustereval.dialects.engines import Engine

#: Adapters of dbt whose SQL is the dialect of this name. dbt-databricks takes what is for spark.
ADAPTERS = ("bigquery", "clickhouse", "postgres", "redshift", "snowflake", "spark")

#: Parameters that name a table, and a column.
TABLES = ("tbl", "tbl_before", "tbl_after")
COLUMNS = ("label", "cluster", "weight", "id", "partition_by")
#: Options whose value stands in the query as it is.
_TEXTS = ("average_method", "split_cost", "merge_cost")
NUMBERS = ("beta", "threshold", "min_share")
_DISTANCES = ("euclidean", "sqeuclidean", "cosine")

# How the placeholder of a table or column begins, which is an ordinary name for sqlglot.
_NAME = "p__"

#: The condition of a choice that is taken if no other one is.
ELSE = "true"


class Axis(NamedTuple):
    """An argument on which the form of a query depends: a condition of Jinja for each choice."""

    parameter: str
    choices: Mapping[Any, str]


Choices = tuple[Any, ...]


def axes_of(table: str) -> list[Axis]:
    """The arguments on which the form of the query of a table depends."""
    axes = [
        Axis("partition_by", {None: "given.partition_by is none", "day": "given.partition_by"}),
        Axis(
            "noise_as",
            {x: f"given.noise_as == '{x}'" for x in ("drop", "singletons")} | {"cluster": ELSE},
        ),
    ]
    parameters, _ = macro_definitions()[table]
    if "adjusted" in parameters:
        axes.append(Axis("adjusted", {True: "given.adjusted", False: "not given.adjusted"}))
    if "distance" in parameters:
        axes.append(Axis("distance", {x: f"given.distance == '{x}'" for x in distances_of(table)}))
    return axes


def takes_id(table: str) -> bool:
    """Whether the rows of a table have an id, which only DuckDB can do without."""
    return table in ("bcubed_samples", "silhouette_samples")


def distances_of(table: str) -> tuple[str, ...]:
    """The distances for which a table of points has a query."""
    return _DISTANCES[1:] if table.startswith("silhouette_") else _DISTANCES


def write_macro(table: str) -> str:
    """The macro of dbt that has the query of a table for all adapters but DuckDB."""
    axes = axes_of(table)
    size = "{%- set coordinates = range(1, given.vector | length + 1) %}\n" * (
        "vector" in macro_definitions()[table][0]
    )
    of_postgres, of_others = {}, {}
    for choices in product(*(axis.choices for axis in axes)):
        named = dict(zip((x.parameter for x in axes), choices, strict=True))
        parts = {adapter: dict(query_parts(table, adapter, named)) for adapter in ADAPTERS}
        of_postgres[choices] = parts["postgres"]
        names = _merge_orders([list(parts[adapter]) for adapter in ALIKE])
        of_others[choices] = {
            name: join_adapters(*(parts[adapter].get(name, "") for adapter in ALIKE))
            for name in names
        }
    return (
        f"{{% macro default__{table}_query(given) -%}}\n{{%- set sql = clustereval.words() %}}\n"
        f"{size}WITH\n{{% if sql.name == 'postgres' %}}\n{_write_body(of_postgres, axes)}\n"
        f"{{% else %}}\n{_write_body(of_others, axes)}\n{{% endif %}}\n{{%- endmacro %}}\n"
    )


def _write_body(queries: Mapping[Choices, Mapping[str, str]], axes: Sequence[Axis]) -> str:
    """The common table expressions and the rest of a query, a line each, for all choices."""
    names = _merge_orders([list(parts) for parts in queries.values()])
    return "\n".join(
        write_choices({key: parts.get(name, "") for key, parts in queries.items()}, axes)
        for name in names
    )


def query_parts(table: str, adapter: str, choices: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The common table expressions of a query by name, and the rest of it under no name."""
    engine = find_engine(adapter)
    query = finish_query(_request(table, engine, choices), (), engine.mark_ctes)
    if "vector" in macro_definitions()[table][0]:
        query = write_loops(query, engine.parser)
    *others, last = query.ctes
    for cte in others:
        yield cte.alias, _fill_names(_write(cte, engine)) + ","
    yield last.alias, _fill_names(_write(last, engine))
    query.set("with_", None)
    yield "", _fill_names(write_tree(query, engine, pretty=False))


def _write(cte: exp.CTE, engine: Engine) -> str:
    """A common table expression as text."""
    return cte.sql(engine.parser, normalize_functions=False, comments=False)


def _request(table: str, engine: Engine, choices: Mapping[str, Any]) -> Request:
    """What a query is to compute, with placeholders for the arguments."""
    parameters, _ = macro_definitions()[table]
    options: dict[str, Any] = dict(OPTIONS) | {
        key: x for key, x in choices.items() if key in OPTIONS
    }
    options["noise"] = _value("noise")
    options |= {key: _value(key, quote="'") for key in _TEXTS if key in parameters}
    double = exp.DataType.build("double")
    options |= {key: exp.Cast(this=_value(key), to=double) for key in NUMBERS if key in parameters}
    columns: dict[str, str | None] = {
        key: _NAME + key if key in parameters else None for key in COLUMNS
    }
    if choices["partition_by"] is None:
        columns["partition_by"] = None
    if "tbl_before" not in parameters and not takes_id(table):
        columns["id"] = None
    return Request(
        table,
        engine,
        {key: exp.to_table(_NAME + key) for key in parameters if key in TABLES},
        columns,
        options,
        [exp.column(f"{_NAME}x{i}") for i in range(1, SIZE + 1)] if "vector" in parameters else [],
    )


def _value(parameter: str, quote: str = "") -> exp.Expr:
    """The placeholder of a value, in quotes for a text."""
    return exp.Var(this=f"{quote}{{{{ given.{parameter} }}}}{quote}")


_COORDINATE = re.compile(rf"\b{_NAME}x(\d+|\{{\{{ i \}}\}})")
_PLACEHOLDER = re.compile(rf"\b{_NAME}([a-z_]+)\b")


def _fill_names(text: str) -> str:
    """The text of a query with the arguments of dbt in place of the names of placeholders."""

    def coordinate(found: re.Match[str]) -> str:
        """The column of a coordinate, of the one of a loop or of one that a query reads alone."""
        place = "i - 1" if found[1].startswith("{") else int(found[1]) - 1
        return f"{{{{ given.vector[{place}] }}}}"

    return _PLACEHOLDER.sub(r"{{ given.\1 }}", _COORDINATE.sub(coordinate, text))


def _merge_orders(orders: Sequence[Sequence[str]]) -> list[str]:
    """All names in an order that holds each of the `orders`."""
    merged: list[str] = []
    for order in sorted(orders, key=len, reverse=True):
        place = 0
        for name in order:
            if name in merged:
                place = merged.index(name) + 1
            else:
                merged.insert(place, name)
                place += 1
    for order in orders:
        places = [merged.index(name) for name in order]
        if places != sorted(places):
            raise ValueError(f"no common order of {merged} and {order}")
    return merged


def write_choices(texts: Mapping[Choices, str], axes: Sequence[Axis]) -> str:
    """One text that becomes each of the `texts` under the conditions of its choices."""
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    place = next(i for i in range(len(axes)) if _depends_on(texts, i))
    branches: dict[str, list[str]] = {}
    for choice, condition in axes[place].choices.items():
        inner = {key: text for key, text in texts.items() if key[place] == choice}
        branches.setdefault(write_choices(inner, axes), []).append(condition)
    # What holds if no other condition does comes last.
    *others, (merged, _) = sorted(branches.items(), key=lambda branch: ELSE in branch[1])
    for text, conditions in reversed(others):
        merged = _merge(text, merged, " or ".join(conditions))
    return merged


def _merge(text: str, other: str, condition: str) -> str:
    """One text that is `text` under a condition of Jinja, and else the `other`."""
    one, two = list(split_words(text, _TOKEN)), list(split_words(other, _TOKEN))
    merged = ""
    for kind, a, b, c, d in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        then, otherwise = "".join(one[a:b]), "".join(two[c:d])
        if kind == "equal":
            merged += then
        elif then:
            middle = f"{{% else %}}{otherwise}" if otherwise else ""
            merged += f"{{% if {condition} %}}{then}{middle}{{% endif %}}"
        else:
            merged += f"{{% if not ({condition}) %}}{otherwise}{{% endif %}}"
    return merged


# A word with the signs after it.
_TOKEN = re.compile(r"(\{% (?:if|for) )|(\{% end)|\{%.*?%\}|\{\{.*?\}\}|\w+[^\w{]*|[^\w{]+")


def _depends_on(texts: Mapping[Choices, str], place: int) -> bool:
    """Whether one of the `texts` changes with the choice at this place alone."""
    groups: dict[Choices, set[str]] = {}
    for choices, text in texts.items():
        groups.setdefault(choices[:place] + choices[place + 1 :], set()).add(text)
    return any(len(group) > 1 for group in groups.values())
