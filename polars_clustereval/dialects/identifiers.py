"""Quoting of the names in ``to_sql`` queries, and the case to which engines fold names.

Engines fold the case of unquoted names. Snowflake folds them to upper case, and Postgres folds them
to lower case. A name that the user writes without quotes stays unquoted in the query, so it refers
to the same column as in the user's other queries. A quoted name is left unchanged. Reserved words
of the engine are quoted, in the case to which the engine would fold them.
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
    """Return the column `text`, exactly as written if quoted or not a word; engines fold others."""
    found = _QUOTED.fullmatch(text)
    if found:
        double, backticks = found.groups()
        name = double.replace('""', '"') if double else backticks.replace("``", "`")
        return exp.column(exp.to_identifier(name, quoted=True))
    return exp.column(exp.to_identifier(text, quoted=not _PLAIN.fullmatch(text)))


def parse_table(parameter: str, name: str, dialect: str) -> exp.Table:
    """Return a table such as schema.table as a tree, by the rules of DuckDB or else `dialect`."""
    for parser in ("duckdb", dialect):
        try:
            return exp.to_table(name, dialect=parser)
        except sqlglot.errors.SqlglotError as error:
            fault = error
    raise ClusterEvalError(
        f"{parameter}: expected table, schema.table or database.schema.table, got {name!r}; "
        "put a part in quotes if it contains characters other than letters, digits and "
        'underscores: "my table"'
    ) from fault


def quote_words(query: exp.Select, dialect: str, words: Collection[str]) -> exp.Select:
    """Put quotes around names that are in `words` or that are reserved words of the dialect."""
    reserved = reserved_words(dialect).union(words)
    for name in query.find_all(exp.Identifier):
        if not name.quoted and name.name.lower() in reserved:
            name.set("this", fold_name(name.name, dialect))
            name.set("quoted", True)
    return query


def fold_name(name: str, dialect: str) -> str:
    """Return a name in the case to which engines of a dialect fold unquoted names."""
    strategy = Dialect.get_or_raise(dialect).normalization_strategy
    if strategy is NormalizationStrategy.UPPERCASE:
        return name.upper()
    return name.lower() if strategy is NormalizationStrategy.LOWERCASE else name


def reserved_words(dialect: str) -> frozenset[str]:
    """Return all words that may need quotes in a dialect, in lower case."""
    own = _words_of(dialect)
    others = () if own else map(_words_of, _WELL_KNOWN)
    return own.union(_words_of_duckdb(), *others)


def _words_of(dialect: str) -> frozenset[str]:
    """Return the reserved words that sqlglot lists for a dialect, in lower case."""
    generator = Dialect.get_or_raise(dialect).generator_class
    return frozenset(word.lower() for word in generator.RESERVED_KEYWORDS)


@functools.cache
def _words_of_duckdb() -> frozenset[str]:
    """Return the reserved words of DuckDB, which are the same as in Postgres, in lower case."""
    query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    with duckdb.connect() as con:
        return frozenset(word for (word,) in con.execute(query).fetchall())
