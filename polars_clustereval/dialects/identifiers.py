"""Names in queries of ``to_sql``: as the user writes them, and as the engine folds them.

Engines fold the case of a name without quotes: Snowflake to upper case, Postgres to lower case. A
name that the user writes without quotes has none in the query either, so it means the same column
as in any of the user's queries. A name in quotes stays as it is. Words of the engine's grammar need
quotes, and are then written as the engine would fold them.
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

# Dialects whose words are reserved where sqlglot has none for a dialect.
_WELL_KNOWN = ("bigquery", "presto", "redshift")


def parse_column(text: str) -> exp.Column:
    """Return the column that a user names.

    In double quotes or backticks the name is taken as it is; otherwise the engine folds its case.

    A name with characters that a word cannot have, such as a space, is taken as it is, too.
    """
    found = _QUOTED.fullmatch(text)
    if found:
        double, backticks = found.groups()
        name = double.replace('""', '"') if double else backticks.replace("``", "`")
        return exp.column(exp.to_identifier(name, quoted=True))
    return exp.column(exp.to_identifier(text, quoted=not _PLAIN.fullmatch(text)))


def parse_table(parameter: str, name: str, dialect: str) -> exp.Table:
    """Return the syntax tree of a table's name, such as schema.table, or raise an error.

    `parameter` is the parameter of to_sql that has the name. If DuckDB cannot read the name, for
    instance because it is in backticks, it is read as in `dialect`, a name of sqlglot.
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
    """Return a query that quotes the names that are words of the dialect's grammar, or `words`."""
    reserved = reserved_words(dialect).union(words)
    for name in query.find_all(exp.Identifier):
        if not name.quoted and name.name.lower() in reserved:
            name.set("this", fold_name(name.name, dialect))
            name.set("quoted", True)
    return query


def fold_name(name: str, dialect: str) -> str:
    """Return a name without quotes as the engines of a dialect read it."""
    strategy = Dialect.get_or_raise(dialect).normalization_strategy
    if strategy is NormalizationStrategy.UPPERCASE:
        return name.upper()
    return name.lower() if strategy is NormalizationStrategy.LOWERCASE else name


def reserved_words(dialect: str) -> frozenset[str]:
    """Return the words that need quotes in a dialect, in lower case; some may not need them."""
    own = _words_of(dialect)
    others = () if own else map(_words_of, _WELL_KNOWN)
    return own.union(_words_of_duckdb(), *others)


def _words_of(dialect: str) -> frozenset[str]:
    """Return the reserved words of a dialect that sqlglot knows, in lower case."""
    generator = Dialect.get_or_raise(dialect).generator_class
    return frozenset(word.lower() for word in generator.RESERVED_KEYWORDS)


@functools.cache
def _words_of_duckdb() -> frozenset[str]:
    """Return the reserved words of DuckDB, which are those of Postgres, in lower case."""
    query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    with duckdb.connect() as con:
        return frozenset(word for (word,) in con.execute(query).fetchall())
