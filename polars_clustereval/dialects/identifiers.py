"""Quoting of names in the queries of ``to_sql``, and the case to which engines fold names.

Engines fold the case of a name without quotes: Snowflake to upper case, Postgres to lower case. If
the user writes a name without quotes, it also has no quotes in the query, and therefore means the
same column as in the user's other queries. A name in quotes is left unchanged. Reserved words of
the engine need quotes, and are written in the case to which the engine would fold them.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy

from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Collection

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = re.compile(r'"((?:[^"]|"")+)"|`((?:[^`]|``)+)`')

# The dialects whose reserved words are used if sqlglot has no reserved words for a dialect.
_WELL_KNOWN = ("bigquery", "presto", "redshift")


def parse_column(text: str) -> exp.Column:
    """Return the column that the user's `text` names.

    A name in double quotes or backticks is exact, and so is a name with characters, such as a
    space, that cannot be part of a word. The engine folds the case of any other name.
    """
    found = _QUOTED.fullmatch(text)
    if found:
        double, backticks = found.groups()
        name = double.replace('""', '"') if double else backticks.replace("``", "`")
        return exp.column(exp.to_identifier(name, quoted=True))
    return exp.column(exp.to_identifier(text, quoted=not _PLAIN.fullmatch(text)))


def parse_table(parameter: str, name: str, dialect: str) -> exp.Table:
    """Return the syntax tree for the name of a table, such as schema.table, or raise an error.

    The user passed the name for `parameter`, a parameter of to_sql. If the name cannot be parsed as
    in DuckDB, for instance because it is in backticks, it is parsed as in `dialect`, which is a
    name in sqlglot.
    """
    for parser in ("duckdb", dialect):
        try:
            return exp.to_table(name, dialect=parser)
        except sqlglot.errors.SqlglotError as error:
            fault = error
    raise ClusterEvalError(
        f"{parameter}: expected table, schema.table or database.schema.table, got {name!r}; "
        'quote a part with other characters than those of a word: "my table"'
    ) from fault


def quote_words(query: exp.Select, dialect: str, words: Collection[str]) -> exp.Select:
    """Return a query with quotes around names that are in `words` or reserved in the dialect."""
    reserved = reserved_words(dialect).union(words)
    for name in query.find_all(exp.Identifier):
        if not name.quoted and name.name.lower() in reserved:
            name.set("this", fold_name(name.name, dialect))
            name.set("quoted", True)
    return query


def fold_name(name: str, dialect: str) -> str:
    """Return a name in the case to which the engines of a dialect fold it if it has no quotes."""
    strategy = Dialect.get_or_raise(dialect).normalization_strategy
    if strategy is NormalizationStrategy.UPPERCASE:
        return name.upper()
    return name.lower() if strategy is NormalizationStrategy.LOWERCASE else name


def reserved_words(dialect: str) -> frozenset[str]:
    """Return, in lower case, all words that may need quotes in a dialect."""
    own = _words_of(dialect)
    others = () if own else map(_words_of, _WELL_KNOWN)
    return own.union(_words_of_duckdb(), *others)


def _words_of(dialect: str) -> frozenset[str]:
    """Return the reserved words of a dialect, as far as sqlglot knows them, in lower case."""
    generator = Dialect.get_or_raise(dialect).generator_class
    return frozenset(word.lower() for word in generator.RESERVED_KEYWORDS)


@functools.cache
def _words_of_duckdb() -> frozenset[str]:
    """Return the reserved words of DuckDB, which are those of Postgres, in lower case."""
    query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    with duckdb.connect() as con:
        return frozenset(word for (word,) in con.execute(query).fetchall())
