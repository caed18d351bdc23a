"""The pipeline of ``to_sql``, which expands a macro into a query and applies steps to the query.

A step is a function that takes a syntax tree and returns a syntax tree. The first line of its
docstring describes what it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from polars_clustereval.macros import macro_definitions

from . import columns, coordinates, layout, plans, portable
from .expansion import Expansion
from .folding import fold_query
from .functions import write_functions
from .identifiers import parse_column, quote_words
from .script import write_statements
from .sql_names import SPREAD_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .engines import Engine
    from .trees import Step

#: Columns of a report that to_sql leaves out if it is not adjusted.
ADJUSTED_COLUMNS = ("adjusted_mutual_info_score", "expected_mutual_info")
#: Columns of private macros that only summaries read.
_NOTES = ("noise_names", "states")


@dataclass(frozen=True)
class Request:
    """A request for a query: the table macro, its arguments, and the engine.

    `tables` maps macro parameters to table names, `columns` maps parameters to column names (None
    for the default), and `options` maps all other parameters to their values. For macros that take
    points, `coordinates` contains the coordinates of a point as expressions. `outputs` lists the
    columns to return; by default, all columns are returned. If `numbered` is True, the id of each
    row is a unique number. If `checked` is True, a query for Spark raises an error when a
    coordinate is not finite.
    """

    name: str
    engine: Engine
    tables: Mapping[str, exp.Table]
    columns: Mapping[str, str | None]
    options: Mapping[str, Any]
    coordinates: Sequence[exp.Expr] = ()
    outputs: Sequence[str] | None = None
    numbered: bool = False
    checked: bool = False

    @property
    def is_of_labels(self) -> bool:
        """Whether the macro takes label and cluster columns."""
        return "label" in macro_definitions()[self.name][0]

    @property
    def reads_cells(self) -> bool:
        """Whether the table is a saved contingency table, as returned by contingency_matrix."""
        return self.is_of_labels and self.columns["label"] is None

    @property
    def has_one_partition(self) -> bool:
        """Whether all partition keys are NULL."""
        return self.columns["partition_by"] is None and not self.reads_cells


def write_query(request: Request, order: Sequence[str], *, pretty: bool) -> str:
    """Return the SQL text of a query, sorted by `order` unless the macro sorts it."""
    query = finish_query(request, order, request.engine.mark_ctes)
    return write_tree(query, request.engine, pretty=pretty)


def write_script(request: Request, order: Sequence[str], *, pretty: bool) -> str:
    """Return a script that stores shared CTEs in temporary tables (see write_query)."""
    query = finish_query(request, order, request.engine.mark_steps)
    write = partial(write_tree, engine=request.engine, pretty=pretty)
    return write_statements(query, request.engine, write, "\n" if pretty else " ")


def finish_query(request: Request, order: Sequence[str], mark_ctes: Step) -> exp.Select:
    """Return the query in the form of its engine, sorted, with CTEs marked by `mark_ctes`."""
    query = build_query(request)
    for step in _steps_to_text(request.engine, order, mark_ctes):
        query = step(query)
    return query


def write_tree(query: exp.Query, engine: Engine, *, pretty: bool) -> str:
    """Return the SQL text of a query, with comments if `pretty`, and the engine's settings."""
    text = query.sql(
        dialect=engine.parser, normalize_functions=False, pretty=pretty, comments=pretty
    )
    return ("\n" if pretty else " ").join(filter(None, (text, engine.suffix)))


def build_query(request: Request) -> exp.Select:
    """Return a request's query as a syntax tree that has the same meaning in all engines."""
    query = _expand_macro(request)
    for step in _steps(request):
        query = step(query)
    return query


def _steps(request: Request) -> Iterator[Step]:
    """Yield the steps that give a macro's query the same meaning in all engines."""
    # The query of the macro without the parts that the arguments make superfluous.
    adjusted = () if request.options["adjusted"] else ADJUSTED_COLUMNS
    yield partial(columns.drop_outputs, names=(*_NOTES, *adjusted))
    if request.is_of_labels:
        yield portable.drop_order
    if request.columns["partition_by"] is not None:
        yield partial(columns.keep_first_branch, prefix=SPREAD_ROWS)
    yield plans.drop_row_count_checks
    if request.options["noise_as"] != "singletons" and not request.reads_cells:
        yield plans.equate_clusters
    # Lists become columns after stars are replaced and lists that are never read are removed.
    yield columns.name_outputs
    if request.outputs is not None:
        yield partial(columns.keep_outputs, names=request.outputs)
    yield columns.prune
    if request.has_one_partition:
        yield plans.drop_partitions
        yield from request.engine.one_partition_steps
    if request.checked:
        yield coordinates.check_lengths
    yield coordinates.split_lists
    yield partial(write_functions, engine=request.engine)
    # Conditions on literals are decided, which reveals more columns that are never read, and more
    # sources without rows.
    yield fold_query
    yield columns.prune
    yield portable.write_constant_rows
    yield portable.drop_true_clauses
    # Forms that mean the same everywhere. Conditions become numbers before fractions get a type,
    # because these numbers are fractions.
    yield portable.type_nulls
    yield portable.guard_divisions
    yield portable.number_conditions
    yield portable.type_fractions
    if not request.engine.keeps_row_order:
        yield portable.order_row_numbers
    yield portable.separate_distinctions
    yield portable.drop_constant_keys
    yield portable.alias_sources
    yield portable.drop_parentheses


def _steps_to_text(engine: Engine, order: Sequence[str], mark_ctes: Step) -> Iterator[Step]:
    """Yield the steps that turn the result of build_query into the final form of the query."""
    yield partial(portable.order_rows, names=order)
    yield partial(portable.refuse_unportable, dialect=engine.name)
    yield from engine.last_steps
    yield layout.merge_selects
    yield layout.merge_ctes
    yield layout.name_ctes
    yield layout.drop_repeated_names
    yield mark_ctes
    yield layout.comment_ctes
    yield partial(quote_words, dialect=engine.parser, words=engine.words)


def _expand_macro(request: Request) -> exp.Select:
    """Return the query of a table macro with its arguments filled in and macro calls expanded."""
    name = f"_{request.name}" if f"_{request.name}" in macro_definitions() else request.name
    given = {key: parse_column(x) for key, x in request.columns.items() if x is not None}
    keys = [given[key] for key in ("cluster", "partition_by") if key in given]
    expansion = Expansion(
        request.engine.macros,
        row_id=given.get("id"),
        numbered=request.numbered,
        row_order=[] if request.engine.keeps_row_order else [*keys, *request.coordinates],
        kept=request.reads_cells,
    )
    arguments = {
        **dict.fromkeys(macro_definitions()[name][0], exp.null()),
        **{key: exp.convert(value) for key, value in request.options.items()},
        # Without a noise value, noise_as has no effect, so any value will do. A NULL would be
        # compared with texts, and has no type in some engines.
        "noise_as": exp.convert(request.options["noise_as"] or "cluster"),
        "weight": exp.Literal.number(1),
        "vector": exp.Array(expressions=_complete_or_null(request)),
        **request.tables,
        **given,
    }
    return expansion.query(name, arguments)


def _complete_or_null(request: Request) -> list[exp.Expr]:
    """Return the coordinates; if `missing` is 'drop', the first is NULL in incomplete points.

    The query then tests this one: for a condition on all d coordinates, Spark would plan 2^d steps.
    """
    coordinates = list(request.coordinates)
    if request.options["missing"] == "drop" and len(coordinates) > 1:
        lacks = exp.or_(*(exp.Is(this=x.copy(), expression=exp.Null()) for x in coordinates[1:]))
        coordinates[0] = exp.Case().when(lacks, exp.null()).else_(coordinates[0].copy())
    return coordinates
