"""Expansion of a table macro from ``sql/`` into one query without macro calls.

All macros that the table macro calls are also expanded, and parameters are replaced with arguments.
Parts that only DuckDB needs, such as data checks, are omitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from polars_clustereval.errors import ClusterEvalError

from .bodies import macro_parameters, parse_body, parse_macro
from .folding import fold_conditions
from .sql_names import N_FAULTS, PLAIN_FORMS, PREFIX, VALID
from .trees import fill_columns, rewrite_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Expansion:
    """Expands all macro calls in one query, and collects the CTEs of all macros in one list.

    A single list is needed because some engines do not accept WITH inside FROM. Different macros
    may have CTEs with the same name, so the number of the macro call is added to the name of each
    CTE. CTEs that are never read are omitted.
    """

    def __init__(
        self,
        macros: Mapping[str, str],
        *,
        row_id: exp.Expr | None,
        numbered: bool,
        row_order: Sequence[exp.Expr],
        kept: bool,
    ) -> None:
        """Start with an empty list of CTEs.

        `macros` maps macro names to the bodies that the engine uses instead of those in ``sql/``.
        `row_id` is the column that the user passed to to_sql as `id`, and `numbered` indicates
        whether it is a row number. `row_order` lists the columns by which noise rows are numbered,
        or nothing if the engine keeps the order of rows. `kept` indicates whether the table is a
        saved contingency table. For such a table, the query calls _groups_of_cells, which returns
        the rows that _row_groups would return for the original rows.
        """
        self._macros = macros
        self._numbered = numbered
        self._row_id = row_id
        self._row_order = row_order
        self._kept = kept
        self._calls = 0
        self._ctes: list[exp.CTE] = []

    def query(self, name: str, arguments: Mapping[str, exp.Expr]) -> exp.Select:
        """Return the query of a table macro, with CTEs and without macro calls."""
        body = self._expand_table(name, arguments)
        if not isinstance(body, exp.Select):
            raise ClusterEvalError(f"{name}: expected a table macro that is one SELECT")
        body = _unwrap_star(body)
        if self._ctes:
            body.set("with_", exp.With(expressions=self._ctes))
        return body

    def _expand_table(self, name: str, arguments: Mapping[str, exp.Expr]) -> exp.Expr:
        """Return the main query of a table macro, and add the CTEs it reads, the last first."""
        self._calls += 1
        body = self._parse(PLAIN_FORMS.get(name, name))
        if not isinstance(body, exp.Query):
            raise ClusterEvalError(f"{name}: expected a table macro")
        _number_ctes(body, self._calls)
        ctes = body.ctes
        body.set("with_", None)
        outer, self._ctes = self._ctes, []
        final = self._expand(body, arguments)
        own = self._ctes
        read = _tables_of(final, *own)
        for cte in reversed(ctes):
            if cte.alias not in read:
                continue
            self._ctes = []
            cte.set("this", self._expand(cte.this, arguments))
            added = [*self._ctes, cte]
            read |= _tables_of(*added)
            own = [*added, *own]
        self._ctes = [*outer, *own]
        return final

    def _expand(self, body: exp.Expr, arguments: Mapping[str, exp.Expr]) -> exp.Expr:
        """Return a macro's body with its calls expanded and its parameters replaced.

        Conditions on arguments are decided first, so that branches not taken are not expanded.
        """
        filled = fold_conditions(fill_columns(body, arguments))
        return fold_conditions(rewrite_tree(filled, self._replacement_of))

    def _replacement_of(self, node: exp.Expr) -> exp.Expr | None:
        """Return what replaces `node`, or None; ``valid``, of data checks, becomes TRUE."""
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous):
            return self._expand_source(node)
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Anonymous):
            return self._expand_scalar(node.expression)
        if isinstance(node, exp.Anonymous) and node.name.lower() == "fsum":
            return exp.Sum(this=rewrite_tree(node.expressions[0], self._replacement_of))
        if isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue):
            return exp.Max(this=rewrite_tree(node.this.this, self._replacement_of))
        if _is_passed_check(node):
            return exp.true()
        if isinstance(node, exp.Coalesce) and isinstance(node.this, exp.Try):
            return rewrite_tree(node.this.this, self._replacement_of)
        return None

    def _expand_source(self, table: exp.Table) -> exp.Expr:
        """Return what replaces a table function in FROM, with the same alias.

        query_table becomes its table, query the CTE in its text, and a table macro a subquery.
        """
        call = table.this
        new: exp.Expr
        if call.name == "query_table":
            source = fold_conditions(self._expand_argument(call, 0))
            if isinstance(source, exp.Literal):  # a CTE that was chosen by an option
                source = exp.to_identifier(_number_name(source.name, table.meta["number"]))
            new = source if isinstance(source, exp.Table) else exp.to_table(source.name)
        elif self._kept and call.name == "_row_groups":
            tbl = {"tbl": call.expressions[0]}
            new = exp.Subquery(this=self._expand_table("_groups_of_cells", tbl))
        elif call.name == "query":
            new = self._named_cte(table)
        else:
            new = exp.Subquery(this=self._expand_table(call.name, self._arguments_of(call)))
        if table.args.get("alias"):
            new.set("alias", table.args["alias"])
        return new

    def _named_cte(self, table: exp.Table) -> exp.Table:
        """Return the CTE that is read by a call such as query('SELECT * FROM cte')."""
        (text,) = table.this.expressions
        text = fold_conditions(rewrite_tree(text, self._replacement_of))
        source = sqlglot.parse_one(text.name, dialect="duckdb").find(exp.Table)
        if source is None:
            raise ClusterEvalError(f"query: expected SELECT * FROM a name, got {text.sql()}")
        return exp.to_table(_number_name(source.name, table.meta["number"]))

    def _expand_scalar(self, call: exp.Anonymous) -> exp.Expr:
        """Return the expanded scalar macro; a check of the data becomes its first argument."""
        if (plain := self._plain_scalar(call)) is not None:
            return plain
        if call.name.startswith("_check_"):
            return self._expand_argument(call, 0)
        return exp.paren(self._expand(self._parse(call.name), self._arguments_of(call)))

    def _parse(self, name: str) -> exp.Expr:
        """Return the syntax tree of a macro's body, in the version for the engine."""
        own = self._macros.get(name)
        return parse_macro(name) if own is None else parse_body(own)

    def _expand_argument(self, call: exp.Anonymous, place: int) -> exp.Expr:
        """Return an argument of a macro call, with all macro calls in the argument expanded."""
        return rewrite_tree(call.expressions[place].copy(), self._replacement_of)

    def _plain_scalar(self, call: exp.Anonymous) -> exp.Expr | None:
        """Return what replaces a macro that only DuckDB can run, or None for other macros."""
        named = self._row_id is not None
        match call.name:
            case "_check_options":
                return exp.true()
            case "_is_absent" | "_is_left_out":
                absent = (exp.Null,) if call.name == "_is_absent" else (exp.Null, exp.Literal)
                return exp.convert(isinstance(call.expressions[0], absent))
            case "_is_default_id":
                return exp.convert(not named)
            case "_row_id":
                return self._expand_argument(call, 0 if named else 1)
            case "_row_key":
                return self._row_key(call.expressions[1].name)
            case "_complete_vector":  # its first coordinate is NULL where another is: see pipeline
                return self._expand_argument(call, 0)
            case "_compensated_sum":
                return exp.Sum(this=self._expand_argument(call, 0))
            case "_is_noise":
                return _is_noise(*call.expressions)
            case "_value_at_least_key":  # each engine has its own form
                values = [self._expand_argument(call, i) for i in range(len(call.expressions))]
                return exp.Anonymous(this="value_at_least_key", expressions=values)
        return None

    def _row_key(self, noise_as: str) -> exp.Expr | None:
        """Return the key of a row: its id, or a number, which is None if any number will do."""
        if self._numbered or noise_as != "singletons":
            return None if self._row_id is None else self._row_id.copy()
        if not self._row_order:
            return None
        # A singleton has to get the same number each time the engine reads the rows. Rows that
        # agree in all of these columns are interchangeable.
        order = [exp.Ordered(this=column.copy()) for column in self._row_order]
        return exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))

    def _arguments_of(self, call: exp.Anonymous) -> dict[str, exp.Expr]:
        """Return the arguments by parameter."""
        parameters = macro_parameters(call.name)
        # Macro calls that read no columns are evaluated: a macro may choose a distance.
        values = [
            value
            if value.find(exp.Column) or not value.find(exp.Dot)
            else fold_conditions(rewrite_tree(value.copy(), self._replacement_of))
            for value in call.expressions
        ]
        # NULL is the default of every parameter that a call leaves out.
        values += [exp.null() for _ in parameters[len(values) :]]
        return dict(zip(parameters, values, strict=True))


def _is_noise(cluster: exp.Expr, noise: exp.Expr) -> exp.Expr:
    """Return a condition that is true if a cluster equals the value that marks noise."""
    if isinstance(noise, exp.Null):
        return exp.false()
    # DataFusion fails on COALESCE(cluster = noise, FALSE): its plans disagree about NULLs.
    present = exp.not_(exp.Is(this=cluster.copy(), expression=exp.Null()), copy=False)
    same = exp.EQ(this=cluster.copy(), expression=noise.copy())
    return exp.paren(exp.and_(present, same, copy=False), copy=False)


def _unwrap_star(body: exp.Select) -> exp.Select:
    """Return the inner query of SELECT * FROM (inner query), or any other query unchanged."""
    clauses = {key for key, value in body.args.items() if value}
    source = body.args["from_"].this
    is_plain = body.is_star and clauses <= {"expressions", "from_", "where", "order"}
    passes = body.args.get("where") is None or body.args["where"].this == exp.true()
    if is_plain and passes and isinstance(source, exp.Subquery):
        inner = source.this
        return inner if isinstance(inner, exp.Select) else body
    return body


def _is_passed_check(node: exp.Expr) -> bool:
    """Return whether a node is a condition that is true unless a check raises an error."""
    if isinstance(node, exp.Coalesce):
        return _is_check(node.this)
    if isinstance(node, exp.EQ):
        return _is_check(node.this, N_FAULTS)
    return _is_check(node) and isinstance(node.parent, exp.Where | exp.Connector | exp.Paren)


def _is_check(node: exp.Expr, result: str = VALID) -> bool:
    """Return whether a node is a subquery that reads `result`, the result column of a check."""
    columns = node.find_all(exp.Column) if isinstance(node, exp.Subquery) else ()
    return any(column.name == result for column in columns)


def _tables_of(*trees: exp.Expr) -> set[str]:
    """Return the names of all tables that the trees read."""
    return {table.name for tree in trees for table in tree.find_all(exp.Table)}


def _number_ctes(body: exp.Query, number: int) -> None:
    """Add `number` to each CTE name of a macro, in place: in WITH, as tables and as arguments.

    The text passed to query() also has a CTE name, so the number is stored with the call.
    """
    names = {cte.alias: _number_name(cte.alias, number) for cte in body.ctes}
    for cte in body.ctes:
        cte.args["alias"].set("this", exp.to_identifier(names[cte.alias]))
    for table in list(body.find_all(exp.Table)):
        if isinstance(table.this, exp.Anonymous):
            table.meta["number"] = number
            for argument in table.this.expressions:
                if isinstance(argument, exp.Column) and argument.name in names:
                    argument.set("this", exp.to_identifier(names[argument.name]))
        elif table.name in names:
            if not table.alias:  # columns may be qualified by the old name
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(names[table.name]))


def _number_name(cte: str, number: int) -> str:
    """Return a numbered CTE name that does not collide with the names of the user's tables."""
    return f"{PREFIX}{cte.removeprefix(PREFIX)}_{number}"
