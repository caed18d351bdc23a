"""The table macros as standalone queries for other SQL engines.

A query is made from the macro in ``sql/``, as DuckDB returns its body: the macros that it calls are
expanded, the parameters replaced by arguments, and the result translated by sqlglot. Functions that
are not known to mean the same in every dialect are refused.
"""

from __future__ import annotations

import functools
import warnings
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import duckdb

try:
    import sqlglot
except ImportError as error:
    raise ImportError("to_sql needs sqlglot: pip install polars_clustereval[dialects]") from error
from sqlglot import exp
from sqlglot.dialects import Dialect

from .errors import ClusterEvalError
from .join_conditions import (
    drop_partition_conditions,
    drop_row_count_checks,
    equate_clusters,
    hash_comparisons,
)
from .macros import register
from .portable import drop_parentheses, make_portable, refuse_unportable, rewrite_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .base.checks import NoiseAs
    from .external.information import NormalizedMethod

# Table macro -> the columns that order its rows.
_ROW_ORDER = {
    "contingency_matrix": ("partition_key", "label", "cluster"),
    "pair_counts": ("partition_key",),
    "external_cluster_report": ("partition_key", "cluster"),
    "external_label_report": ("partition_key", "label"),
    "bcubed_samples": ("partition_key", "id"),
    "external_report": ("partition_key",),
}
_ADJUSTED_COLUMNS = ("adjusted_mutual_info_score", "expected_mutual_info")

# Dialects without a name in sqlglot, by the one whose SQL they read.
_DIALECT_ALIASES = {"datafusion": "postgres"}

# Dialects whose queries the tests execute and compare with DuckDB.
EXECUTED_DIALECTS = ("clickhouse", "datafusion", "duckdb", "postgres", "spark")

# Text after a query. By default ClickHouse fills outer joins with zeros, and an output column hides
# an input column of the same name.
_QUERY_SUFFIXES = {"clickhouse": " SETTINGS join_use_nulls = 1, prefer_column_name_to_alias = 1"}


def to_sql(
    name: str,
    *,
    dialect: str,
    tbl: str,
    label: str | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    id: str | None = None,  # noqa: A002 - the parameter's name everywhere
    partition_by: str | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs = "cluster",
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    adjusted: bool = True,
) -> str:
    """Standalone query in another SQL dialect that returns the rows of a table macro.

    Parameters
    ----------
    name : str
        Table macro: ``external_report``, ``contingency_matrix``, ``pair_counts``,
        ``external_cluster_report``, ``external_label_report`` or ``bcubed_samples``.
    dialect : str
        ``duckdb``, ``datafusion``, ``clickhouse``, ``postgres`` or ``spark``, on which every table
        has been executed, or another dialect of sqlglot (``snowflake``, ``bigquery``, ...), where
        none has, with a warning.
    tbl : str
        Table, as ``table``, ``schema.table`` or ``database.schema.table``; a name that contains a
        dot is quoted (``"my.table"``).
    label, cluster, weight, id, partition_by : str
        Names of columns. Without ``label`` and ``cluster`` the table holds kept cells, the rows of
        ``contingency_matrix``, of one or several days or shards; ``n_dropped`` and ``n_noise``,
        which cells do not tell, are then NULL. ``id`` is only for ``bcubed_samples``, which has no
        ``weight``; without it rows are numbered in the order in which the engine reads them.
        Without ``partition_by`` the column ``partition_key`` is a NULL string.
    noise, noise_as, average_method, beta, adjusted
        As in the macro; the last three are only for ``external_report``.

    Returns
    -------
    str
        The query. It does not check the data: with a negative weight its numbers are wrong, where
        the macro raises an error.

    Raises
    ------
    ClusterEvalError
        For an unknown name, dialect or option, or SQL that cannot be translated faithfully.
    ImportError
        Without sqlglot: ``pip install polars_clustereval[dialects]``.

    Warns
    -----
    UserWarning
        If no query has ever been executed in the dialect.

    Examples
    --------
    >>> import polars_clustereval as ce
    >>> query = ce.to_sql(
    ...     "pair_counts", dialect="spark", tbl="assignments", label="species", cluster="kmeans"
    ... )
    >>> query.startswith("WITH"), "`species`" in query
    (True, True)
    """
    if name not in _ROW_ORDER:
        raise ClusterEvalError(_unknown_choice_text("name", name, _ROW_ORDER))
    target = _find_sqlglot_dialect(dialect)
    _warn_if_never_executed(dialect)
    options = {
        "noise": noise,
        "noise_as": noise_as,
        "average_method": average_method,
        "beta": beta,
        "adjusted": adjusted,
    }
    check_macro_options(name, options)
    check_kept_cells(name, label, cluster, weight, partition_by, noise)
    _refuse_unknown_parameters(
        name,
        weight=weight is not None,
        id=id is not None,
        average_method=average_method != "arithmetic",
        beta=beta != 1.0,
        adjusted=not adjusted,
    )
    columns = {
        "label": label,
        "cluster": cluster,
        "weight": weight,
        "id": id,
        "partition_by": partition_by,
    }
    query = build_query(name, _parse_table(tbl), columns, options, dialect).order_by(
        *(exp.Ordered(this=exp.column(key), nulls_first=False) for key in _ROW_ORDER[name])
    )
    refuse_unportable(query, dialect)
    if dialect.lower() == "postgres":
        hash_comparisons(query)
    # ClickHouse knows some functions (atanh) only in lower case.
    text: str = query.sql(dialect=target, normalize_functions="lower")
    return text + _QUERY_SUFFIXES.get(dialect.lower(), "")


def check_kept_cells(
    name: str, label: str | None, cluster: str | None, *others: str | float | bool | None
) -> None:
    """Raise an error if only one of `label` and `cluster` is given, or neither and one of `others`.

    Without both the table holds kept cells, from which bcubed_samples cannot be computed. `others`
    are arguments that the kept cells contain already: weight, partition_by and noise.
    """
    if label is not None and cluster is not None:
        return
    if label is not None or cluster is not None:
        missing = "cluster" if cluster is None else "label"
        raise ClusterEvalError(
            f"{missing}: expected a column beside {'label' if cluster is None else 'cluster'}; "
            "leave out both if the table holds kept cells, the rows of contingency_matrix"
        )
    if name == "bcubed_samples":
        raise ClusterEvalError(
            "label: bcubed_samples needs the label and the cluster of each row, and kept cells do "
            "not tell the rows apart"
        )
    for parameter, value in zip(("weight", "partition_by", "noise"), others, strict=True):
        if value is not None:
            raise ClusterEvalError(
                f"{parameter}: kept cells contain it already; leave it out, or give label and "
                "cluster"
            )


def build_query(
    name: str,
    tbl: exp.Table,
    columns: Mapping[str, str | None],
    options: Mapping[str, Any],
    dialect: str,
) -> exp.Select:
    """Return the query of the table macro `name` as a syntax tree that all engines read alike.

    `columns` are names of columns of the table `tbl` by parameter, None for the default, and
    `options` the values of the other parameters. Without a label `tbl` holds kept cells, the rows
    of contingency_matrix. The rows of the query have no order. `dialect` is the user's name of it.
    """
    defaults = {"weight": exp.Literal.number(1)}
    arguments: dict[str, exp.Expr] = {
        "tbl": tbl,
        **{key: _quote_column_or(defaults.get(key, exp.null()), columns[key]) for key in columns},
        **{option: exp.convert(value) for option, value in options.items()},
    }
    kept = columns["label"] is None
    query = _Expansion(named=columns["id"] is not None, kept=kept).query(
        f"_{name}" if f"_{name}" in _macro_definitions() else name, arguments
    )
    if not options["adjusted"]:
        query.set("expressions", [e for e in query.expressions if e.alias not in _ADJUSTED_COLUMNS])
    query.set("order", None)
    drop_row_count_checks(query)
    # Spark needs less time then; Postgres overestimates the rows of such a join.
    if dialect.lower() == "spark" and columns["partition_by"] is None and not kept:
        drop_partition_conditions(query)
    if options["noise_as"] != "singletons" and not kept:
        equate_clusters(query)
    make_portable(query)
    drop_parentheses(query)
    return query


def _parse_table(name: str) -> exp.Table:
    """Return the syntax tree of a table's name, such as schema.table, or raise an error."""
    try:
        table = exp.to_table(name, dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise ClusterEvalError(
            f"tbl: expected table, schema.table or database.schema.table, got {name!r}; "
            'quote a part that is no plain name: "my table"'
        ) from error
    for part in table.find_all(exp.Identifier):
        part.set("quoted", True)
    return table


def _refuse_unknown_parameters(name: str, **given: bool) -> None:
    """Raise an error if an argument was given that is no parameter of the macro `name`.

    `given` says for each parameter of to_sql whether its argument differs from the default.
    """
    parameters, _ = _macro_definitions()[name]
    for parameter in given:
        if given[parameter] and parameter not in parameters:
            raise ClusterEvalError(
                f"{parameter}: {name} does not take it, but {', '.join(parameters)}"
            )


def _quote_column_or(default: exp.Expr, name: str | None) -> exp.Expr:
    """Return the syntax tree of the quoted column `name`, or `default` if `name` is None."""
    return default if name is None else exp.column(name, quoted=True)


def _find_sqlglot_dialect(dialect: str) -> str:
    """Return the name that sqlglot has for a dialect; raise an error for an unknown one."""
    known: dict[str, str] = {**{name: name for name in Dialect.classes if name}, **_DIALECT_ALIASES}
    if dialect.lower() not in known:
        raise ClusterEvalError(_unknown_choice_text("dialect", dialect, known))
    return known[dialect.lower()]


def _warn_if_never_executed(dialect: str) -> None:
    """Warn if no test executes queries in a dialect; the parameter is the user's name of it."""
    if dialect.lower() not in EXECUTED_DIALECTS:
        warnings.warn(
            f"dialect {dialect!r}: its queries have never been executed, only translated; executed "
            f"and compared with DuckDB are those of {', '.join(EXECUTED_DIALECTS)}",
            stacklevel=3,
        )


def _unknown_choice_text(parameter: str, value: str, known: Mapping[str, Any]) -> str:
    """Return an error text: `value` is none of the `known` ones; it names the most similar one.

    `parameter` is the parameter of to_sql that has this value.
    """
    near = get_close_matches(value, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{parameter}: expected one of {', '.join(sorted(known))}, got {value!r}{hint}"


def check_macro_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise the macro's own error if one of its `options`, values by parameter, is invalid.

    DuckDB runs the macro that checks the options of the macro `name`; no table is needed.
    """
    if name == "external_report":
        call = "_valid_external_options($noise, $noise_as, $average_method, $beta, $adjusted)"
    else:
        call = "_valid_noise($noise, $noise_as)"
        options = {key: options[key] for key in ("noise", "noise_as")}
    try:
        _open_cursor().execute(f"SELECT clustereval.{call}", dict(options)).fetchall()
    except duckdb.InvalidInputException as error:
        raise ClusterEvalError(str(error).removeprefix("Invalid Input Error: ")) from error


@functools.cache
def _registered_connection() -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection in which the macros are registered, the same one for all calls."""
    con = duckdb.connect()
    register(con)
    return con


def _open_cursor() -> duckdb.DuckDBPyConnection:
    """Return a cursor of its own for each call: threads cannot share one."""
    return _registered_connection().cursor()


@functools.cache
def _macro_definitions() -> dict[str, tuple[list[str], str]]:
    """Return the names of the parameters and the text of the body of each macro, by its name."""
    rows = _open_cursor().execute(
        "SELECT function_name, parameters, replace(macro_definition, '\"system\".main.', '') "
        "FROM duckdb_functions() WHERE schema_name = 'clustereval'"
    )
    return {name: (parameters, body) for name, parameters, body in rows.fetchall()}


@functools.cache
def _parse_body(name: str) -> exp.Expr:
    """Return the syntax tree of the body of the macro `name`, prepared for other engines.

    Nested joins are flat (_flatten_joins), and qualified output columns have aliases
    (_name_columns).
    """
    body = sqlglot.parse_one(_macro_definitions()[name][1], dialect="duckdb")
    for select in list(body.find_all(exp.Select)):
        _flatten_joins(select)
        _name_columns(select)
    return body


def _name_columns(select: exp.Select) -> None:
    """Add an alias to each output column of a SELECT that is written with its table, as t.x AS x.

    Without an alias, engines differ in the name of such a column.
    """
    for column in select.expressions:
        if isinstance(column, exp.Column) and column.table and column.name != "*":
            column.replace(exp.alias_(column.copy(), column.name))


def _flatten_joins(select: exp.Select) -> None:
    """Remove the parentheses that DuckDB writes around the joins of a SELECT: ((a JOIN b) JOIN c).

    Some engines do not read them. The tree is changed in place.
    """
    source = select.args.get("from_")
    joins: list[exp.Expr] = []
    while source is not None and isinstance(source.this, exp.Subquery | exp.Table):
        joins = [*(source.this.args.get("joins") or ()), *joins]
        source.this.set("joins", None)
        inner = source.this.this
        if not isinstance(inner, exp.Subquery | exp.Table):
            break
        source.set("this", inner)
    if source is not None and joins:
        select.set("joins", [*joins, *(select.args.get("joins") or ())])


class _Expansion:
    """Expansion of all macro calls of one query, with the CTEs of all macros in one list.

    Some engines do not read WITH inside FROM. Two macros may have different CTEs of the same name,
    so that each CTE gets the number of its call.
    """

    def __init__(self, *, named: bool, kept: bool) -> None:
        """Begin with an empty list of CTEs.

        `named` says whether to_sql got a column for `id`, and `kept` whether its table holds kept
        cells, from which _groups_of_cells makes the rows that _row_groups makes from rows.
        """
        self._named = named
        self._kept = kept
        self._calls = 0
        self._ctes: list[exp.CTE] = []

    def query(self, name: str, arguments: Mapping[str, exp.Expr]) -> exp.Select:
        """Return the query of the table macro `name`: a WITH list and a SELECT without macro calls.

        `arguments` are syntax trees by parameter.
        """
        body = _unwrap_star(self._expand_table(name, arguments))
        for cte in self._ctes:
            body = body.with_(cte.alias, as_=cte.this, copy=False)
        return body

    def _expand_table(self, name: str, arguments: Mapping[str, exp.Expr]) -> exp.Select:
        """Return the final SELECT of the table macro `name` without macro calls and CTEs.

        Its CTEs are expanded too, and added to the list of the whole query. `arguments` are syntax
        trees by parameter.
        """
        self._calls += 1
        body = _parse_body(name).copy()
        if not isinstance(body, exp.Select):
            raise ClusterEvalError(f"{name}: expected a table macro that is one SELECT")
        _number_ctes(body, self._calls)
        ctes = body.ctes
        body.set("with_", None)
        for cte in ctes:
            cte.set("this", self._expand(cte.this, arguments))
            self._ctes.append(cte)
        self._expand(body, arguments)
        return body

    def _expand(self, body: exp.Expr, arguments: Mapping[str, exp.Expr]) -> exp.Expr:
        """Return a macro's body with arguments in place of parameters and macro calls expanded.

        `arguments` are syntax trees by parameter.
        """
        return rewrite_tree(_replace_parameters(body, arguments), self._replacement_of)

    def _replacement_of(self, node: exp.Expr) -> exp.Expr | None:
        """Return the tree that replaces `node`, or None if it stays as it is.

        Calls of macros and of query_table are expanded; DuckDB's forms of COUNT(*) become the
        common one.
        """
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous):
            return self._expand_source(node)
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Anonymous):
            return self._expand_scalar(node.expression)
        if self._named and isinstance(node, exp.Window) and isinstance(node.this, exp.RowNumber):
            return exp.Literal.number(1)  # not read: rows have ids
        if isinstance(node, exp.Anonymous) and node.name.lower() == "count_star":
            return exp.Count(this=exp.Star())
        if isinstance(node, exp.Count) and node.this is None:
            return exp.Count(this=exp.Star())
        return None

    def _expand_source(self, node: exp.Table) -> exp.Expr:
        """Return the tree that replaces a table function in FROM, with the same alias.

        For query_table it is the table that the argument names, for a table macro its query in
        parentheses.
        """
        call = node.this
        new: exp.Expr
        if call.name == "query_table":
            (source,) = call.expressions
            new = source.copy() if isinstance(source, exp.Table) else exp.to_table(source.name)
        elif self._kept and call.name == "_row_groups":
            tbl = {"tbl": call.expressions[0]}
            new = exp.Subquery(this=self._expand_table("_groups_of_cells", tbl))
        else:
            new = exp.Subquery(this=self._expand_table(call.name, self._arguments_of(call)))
        if node.args.get("alias"):
            new.set("alias", node.args["alias"])
        return new

    def _expand_scalar(self, call: exp.Anonymous) -> exp.Expr:
        """Return the tree that replaces the call of a scalar macro: mostly its expanded body.

        Macros that test whether an argument is the default become TRUE or FALSE. Macros that check
        the data become their first argument, which they would return, and _check_options becomes
        TRUE. Two that only DuckDB can run become plain SQL.
        """
        if call.name == "_check_options":
            return exp.true()
        if call.name == "_is_absent":
            return exp.convert(isinstance(call.expressions[0], exp.Null))
        if call.name == "_is_left_out":
            return exp.convert(isinstance(call.expressions[0], exp.Literal | exp.Null))
        if call.name == "_compensated_sum":
            return exp.Sum(this=rewrite_tree(call.expressions[0].copy(), self._replacement_of))
        if call.name == "_is_noise":
            cluster, noise = call.expressions
            if isinstance(noise, exp.Null):
                return exp.false()
            same = exp.EQ(this=cluster.copy(), expression=noise.copy())
            return exp.Coalesce(this=same, expressions=[exp.false()])
        if call.name == "_is_default_id":
            return exp.convert(not self._named)
        if call.name == "_row_id":
            row_id: exp.Expr = call.expressions[0 if self._named else 1]
            return row_id.copy()
        if call.name.startswith("_check_"):
            return rewrite_tree(call.expressions[0].copy(), self._replacement_of)
        return exp.paren(self._expand(_parse_body(call.name).copy(), self._arguments_of(call)))

    def _arguments_of(self, call: exp.Anonymous) -> dict[str, exp.Expr]:
        """Return the arguments of a macro call, syntax trees, by the parameters of the macro."""
        parameters, _ = _macro_definitions()[call.name]
        return dict(zip(parameters, call.expressions, strict=True))


def _unwrap_star(body: exp.Select) -> exp.Select:
    """Return the inner query of SELECT * FROM (inner query), and any other query as it is.

    Such a query hands on a macro's columns without naming them.
    """
    clauses = {key for key, value in body.args.items() if value}
    source = body.args["from_"].this
    is_plain = body.is_star and clauses == {"expressions", "from_"}
    if is_plain and isinstance(source, exp.Subquery) and isinstance(source.this, exp.Select):
        return source.this
    return body


def _number_ctes(body: exp.Select, number: int) -> None:
    """Append _`number` to the names of the CTEs of a macro's body, in place, wherever they stand.

    They are defined in WITH, read as tables, and passed as arguments to table macros.
    """
    names = {cte.alias: f"{cte.alias}_{number}" for cte in body.ctes}
    for node in list(body.walk()):
        if isinstance(node, exp.TableAlias) and isinstance(node.parent, exp.CTE):
            node.set("this", exp.to_identifier(names[node.name]))
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous):
            for argument in node.this.expressions:
                if isinstance(argument, exp.Column) and argument.name in names:
                    argument.set("this", exp.to_identifier(names[argument.name]))
        elif isinstance(node, exp.Table) and node.name in names:
            if not node.alias:  # columns may be qualified by the old name
                node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name)))
            node.set("this", exp.to_identifier(names[node.name]))


def _replace_parameters(body: exp.Expr, arguments: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a macro's body with arguments in place of the columns named like parameters.

    `arguments` are syntax trees by parameter.
    """

    def fill(node: exp.Expr) -> exp.Expr | None:
        """Return the argument for a column named like a parameter, None for other nodes.

        Parentheses keep an argument that is an expression together.
        """
        if isinstance(node, exp.Column) and not node.table and node.name in arguments:
            value = arguments[node.name]
            plain = isinstance(value, exp.Column | exp.Literal | exp.Table | exp.Boolean | exp.Null)
            return value.copy() if plain else exp.paren(value.copy())
        return None

    return rewrite_tree(body, fill)
