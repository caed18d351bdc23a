"""Lists of coordinates as one column per coordinate: rewriting of syntax trees for ``to_sql``.

The macros for points hold a vector in a list. Engines differ in what they can do with lists, but
not in what they can do with numbers. Where the number of coordinates is known, a list column x
becomes the columns x_1, x_2, …, and a list function one expression per coordinate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from sqlglot import exp

from polars_clustereval.errors import ClusterEvalError

from .folding import fold_conditions
from .trees import nested_queries, rewrite_tree, source_name, sources_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Length of each column that is a list, by the name of the column; 0 for one that is NULL.
Lengths: TypeAlias = dict[str, int]

_Result = TypeVar("_Result")

# Decimal digits that count the coordinates of a vector, in rows of one column.
_DIGITS = "__ce_digits"


def check_lengths(query: exp.Select) -> exp.Select:
    """Return a query that raises an error, of Spark, where a coordinate is not finite."""
    for call in query.find_all(exp.Anonymous):
        if call.name == "checked_length":
            call.set("this", "length_or_error")
    return query


def split_lists(query: exp.Select) -> exp.Select:
    """Return a query with one column per coordinate in place of lists.

    The query has no star: see columns.name_outputs. The lists of the result itself, such as a
    centroid, are arrays of these columns.
    """
    known: dict[str, Lengths] = {}
    for cte in query.ctes:
        known[cte.alias] = _Splitter(known).split(cte.this)
    _Splitter(known).split(query, is_result=True)
    if any(table.name == _DIGITS for table in query.find_all(exp.Table)):
        digits = exp.union(
            *(exp.select(exp.alias_(exp.Literal.number(i), "__ce_digit")) for i in range(10)),
            distinct=False,
        )
        query.set("with_", exp.With(expressions=[_cte(_DIGITS, digits), *query.ctes]))
    return query


def _cte(name: str, query: exp.Query) -> exp.CTE:
    """Return the definition of a CTE."""
    return exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))


def coordinate_name(column: str, place: int) -> str:
    """Return the name of the column with the coordinate at `place`, from 1, of a list column."""
    return f"{column}_{place}"


class _Splitter:
    """Replacement of the lists of one SELECT, or of the branches of one UNION ALL."""

    def __init__(self, known: dict[str, Lengths]) -> None:
        """Begin with the lists of the CTEs before, by the name of the CTE."""
        self._known = known
        self._sources: dict[str, Lengths] = {}
        self._bound: dict[str, exp.Expr] = {}

    def split(
        self, query: exp.Query, *, is_result: bool = False, like: list[int | None] | None = None
    ) -> Lengths:
        """Replace the lists of a query in place, and return the lengths of those that it returns.

        `is_result` says that the query is the final one, and `like` has the length of each output
        column of the first branch of a UNION ALL.
        """
        if isinstance(query, exp.Subquery):
            return self.split(query.this, is_result=is_result, like=like)
        if isinstance(query, exp.Union):
            names = query.named_selects
            lengths = _Splitter(self._known).split(query.left, is_result=is_result, like=like)
            like = [lengths.get(name) for name in names]
            _Splitter(self._known).split(query.right, is_result=is_result, like=like)
            return lengths
        if not isinstance(query, exp.Select):
            raise ClusterEvalError(f"expected SELECT, got {query.sql()}")
        return self._split_select(query, is_result=is_result, like=like)

    def _split_select(
        self, select: exp.Select, *, is_result: bool, like: list[int | None] | None
    ) -> Lengths:
        """Replace the lists of one SELECT in place; see split."""
        for source in sources_of(select):
            lengths = self._known.get(source.name, {})
            if isinstance(source, exp.Subquery):
                lengths = _Splitter(self._known).split(source.this)
            self._sources[source_name(source)] = lengths
        for nested in nested_queries(select):
            _Splitter(self._known).split(nested)
        places = self._unnest(select)
        returned = self._split_columns(select, is_result=is_result, like=like)
        for clause in ("where", "having", "group", "order"):
            if select.args.get(clause):
                select.set(clause, self.scalar(select.args[clause]))
        for join in select.args.get("joins") or ():
            if join.args.get("on"):
                join.set("on", self.scalar(join.args["on"]))
        if places:
            select.join(self._positions(places), join_type="cross", copy=False)
        return returned

    def _split_columns(
        self, select: exp.Select, *, is_result: bool, like: list[int | None] | None
    ) -> Lengths:
        """Replace the output columns of a SELECT that are lists, in place; see split."""
        returned: Lengths = {}
        columns: list[exp.Expr] = []
        for number, column in enumerate(select.expressions):
            value, name = column.unalias(), column.alias_or_name
            length = self.length(value) or (like[number] if like else None) or None
            if length is None:
                columns.append(self._alias(column, self.scalar(value)))
                is_column = isinstance(value, exp.Column)
                if isinstance(value, exp.Null) or (is_column and self._is_null(value)):
                    returned[name] = 0
                continue
            elements = [self.element(value, i) for i in range(1, length + 1)]
            if is_result:
                columns.append(self._alias(column, exp.Array(expressions=elements)))
            else:
                returned[name] = length
                columns.extend(
                    exp.alias_(element, coordinate_name(name, i))
                    for i, element in enumerate(elements, 1)
                )
        select.set("expressions", columns)
        return returned

    @staticmethod
    def _alias(column: exp.Expr, value: exp.Expr) -> exp.Expr:
        """Return an output column with another value and the name that it had."""
        name = column.alias_or_name
        return exp.alias_(value, name) if name else value

    # Lists: their lengths and their elements

    def length(self, node: exp.Expr) -> int | None:
        """Return the length of an expression that is a list, None for one that is not."""
        if isinstance(node, exp.Column):
            return self._column_length(node)
        if isinstance(node, exp.Array):
            return len(node.expressions)
        if isinstance(node, exp.ArrayAgg) and isinstance(node.this, exp.Order):
            return self._vector_length(node)
        if (named := _named_value(node)) is not None:
            return self._bind(self._values_of(named, 1), named, self.length)
        if isinstance(node, exp.Case):
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            values = [*branches, node.args.get("default")]
        elif isinstance(node, exp.Coalesce):
            values = [node.this, *node.expressions]
        elif isinstance(node, _WRAPPERS):
            values = [node.this]
        else:
            values = []
        return next((n for n in map(self.length, filter(None, values)) if n is not None), None)

    def _column_length(self, column: exp.Column) -> int | None:
        """Return the length of a list column, of a table or bound by a lambda."""
        if not column.table and column.name in self._bound:
            return self.length(self._bound[column.name])
        sources = [column.table] if column.table else list(self._sources)
        lengths = (self._sources.get(source, {}).get(column.name) for source in sources)
        return next(filter(None, lengths), None)

    def _is_null(self, node: exp.Expr) -> bool:
        """Return whether all columns of an expression are known to be NULL."""
        known = [
            self._sources.get(source, {}).get(column.name)
            for column in node.find_all(exp.Column)
            for source in ([column.table] if column.table else self._sources)
        ]
        return 0 in known and not any(known)

    def _vector_length(self, node: exp.Expr) -> int:
        """Return the number of coordinates of any vector, for a node without lists of its own.

        list(x ORDER BY i) collects one number for each coordinate, and unnest(range(1, n + 1)) has
        one row for each. All lists of the macros have this length: vectors, centers and what is
        computed for each of their coordinates. A query with others is refused.
        """
        lengths = sorted({n for lists in self._known.values() for n in lists.values() if n})
        if len(lengths) != 1:
            raise ClusterEvalError(
                f"{node.sql('duckdb')}: expected lists of one length before it, got {lengths}"
            )
        return lengths[0]

    def element(self, node: exp.Expr, place: int) -> exp.Expr:
        """Return the number at `place`, from 1, of an expression that is a list or NULL."""
        if (named := _named_value(node)) is not None:
            values = self._values_of(named, 1)
            return self._bind(values, named, lambda body: self.element(body, place))
        match node:
            case exp.Null():
                return exp.null()
            case exp.Column():
                return self._column_element(node, place)
            case exp.Array():
                within = place <= len(node.expressions)
                return self.scalar(node.expressions[place - 1]) if within else exp.null()
            case exp.Paren():
                return exp.paren(self.element(node.this, place))
            case exp.Cast():
                return exp.cast(self.element(node.this, place), "DOUBLE")
            case exp.Transform():
                return self._bind(self._values_of(node, place), node, self.scalar)
            case exp.ArrayAgg():
                value, key = node.this.this, node.this.expressions[0].this
                is_place = exp.EQ(this=self.scalar(key), expression=exp.Literal.number(place))
                return exp.Max(this=exp.Case().when(is_place, self.scalar(value)))
            case exp.Case() | exp.Coalesce() | exp.Max():
                return self._distributed(node, place)
        raise ClusterEvalError(f"{node.sql('duckdb')}: not known as a list of coordinates")

    def _column_element(self, column: exp.Column, place: int) -> exp.Expr:
        """Return the column with a coordinate of a list column, or a coordinate of a bound list."""
        if not column.table and column.name in self._bound:
            return self.element(self._bound[column.name].copy(), place)
        length = self._column_length(column)
        if length is None or place > length:
            return exp.null()
        return exp.column(coordinate_name(column.name, place), table=column.args.get("table"))

    def _values_of(self, node: exp.Transform, place: int) -> dict[str | None, exp.Expr]:
        """Return what the parameters of a lambda stand for at `place` of list_transform's list."""
        value, number = [*(name.name for name in node.expression.expressions), None][:2]
        items = node.this.expressions
        is_list = isinstance(node.this, exp.Array) and self.length(items[0]) is not None
        bound = items[place - 1] if is_list else self.element(node.this, place)
        return {value: bound, number: exp.Literal.number(place)}

    def _bind(
        self,
        values: dict[str | None, exp.Expr],
        node: exp.Transform,
        result: Callable[[exp.Expr], _Result],
    ) -> _Result:
        """Return `result` of a lambda's body in which its parameters stand for `values`.

        Lists stay bound by name, since only their elements can be written; numbers are put in.
        """
        body = node.expression.this.copy()
        numbers: dict[str, exp.Expr] = {}
        lists: dict[str, exp.Expr] = {}
        for name, value in values.items():
            if name is not None:
                (lists if self.length(value) is not None else numbers)[name] = value

        def put_in(part: exp.Expr) -> exp.Expr | None:
            """Return the number for a parameter, None for other nodes."""
            if isinstance(part, exp.Column) and not part.table and part.name in numbers:
                new = numbers[part.name].copy()
                return new if isinstance(new, exp.Column | exp.Literal) else exp.paren(new)
            return None

        body = rewrite_tree(body, put_in)
        outer = self._bound
        self._bound = {**outer, **lists}
        try:
            return result(body)
        finally:
            self._bound = outer

    def _distributed(self, node: exp.Expr, place: int) -> exp.Expr:
        """Return CASE, COALESCE or MAX of lists for one coordinate of each."""
        if isinstance(node, exp.Case):
            new = exp.Case()
            for branch in node.args["ifs"]:
                value = self.element(branch.args["true"], place)
                new = new.when(self.scalar(branch.this.copy()), value, copy=False)
            default = node.args.get("default")
            return new if default is None else new.else_(self.element(default, place), copy=False)
        if isinstance(node, exp.Coalesce):
            first, *others = (self.element(e, place) for e in (node.this, *node.expressions))
            return fold_conditions(exp.Coalesce(this=first, expressions=others))
        return exp.Max(this=self.element(node.this, place))

    # Numbers

    def scalar(self, node: exp.Expr) -> exp.Expr:
        """Return an expression that is no list, with the list functions in it written out."""
        return fold_conditions(rewrite_tree(node, self._number_of))

    def _number_of(self, node: exp.Expr) -> exp.Expr | None:
        """Return what replaces a function of lists that returns a number; None for other nodes."""
        if isinstance(node, exp.Query):
            return node  # done already
        if isinstance(node, exp.Anonymous):
            return self._named_number(node)
        if isinstance(node, exp.Length) and (length := self.length(node.this)) is not None:
            return exp.Literal.number(length)
        if isinstance(node, exp.ArrayMax | exp.ArrayMin):
            combine = exp.Greatest if isinstance(node, exp.ArrayMax) else exp.Least
            first, *others = self._elements(node.this)
            return combine(this=first, expressions=others) if others else first
        if isinstance(node, exp.EuclideanDistance):
            return exp.Sqrt(this=self._squared_distance(node))
        if isinstance(node, exp.Mul) and isinstance(node.this, exp.EuclideanDistance):
            return self._squared_distance(node.this) if node.this == node.expression else None
        if isinstance(node, exp.Is) and self.length(node.this) is not None:
            return exp.Is(this=self.element(node.this, 1), expression=node.expression)
        return None

    def _named_number(self, node: exp.Anonymous) -> exp.Expr | None:
        """Return what replaces a list function that sqlglot has no class for; None for others."""
        name, values = node.name.lower(), node.expressions
        if name == "list_sum":
            return exp.paren(_sum(self._elements(values[0])))
        if name == "list_count":
            one = exp.Literal.number(1)
            flags = [
                exp.Case().when(exp.Is(this=e, expression=exp.Null()).not_(), one.copy())
                for e in self._elements(values[0])
            ]
            return exp.paren(_sum(flag.else_(exp.Literal.number(0)) for flag in flags))
        if name == "list_inner_product":
            pairs = zip(self._elements(values[0]), self._elements(values[1]), strict=True)
            return exp.paren(_sum(one * other for one, other in pairs))
        if name == "list_element":
            return self._element_at(*values)
        if name in ("checked_length", "length_or_error"):
            elements = self._elements(values[0])
            length = exp.Literal.number(len(elements))
            return length if name == "checked_length" else _length_or_error(length, elements)
        return None

    def _squared_distance(self, node: exp.EuclideanDistance) -> exp.Expr:
        """Return the squared distance of the two lists whose distance a node is."""
        pairs = zip(self._elements(node.this), self._elements(node.expression), strict=True)
        return exp.paren(_sum(_square(one - other) for one, other in pairs))

    def _element_at(self, node: exp.Expr, place: exp.Expr) -> exp.Expr | None:
        """Return the element of a list at a place that may be a column; None for no list."""
        length = self.length(node)
        if length is None:
            return exp.null() if self._is_null(node) else None
        if isinstance(place, exp.Literal):
            return self.element(node, int(place.name))
        chosen = exp.Case()
        for i in range(1, length + 1):
            is_place = exp.EQ(this=self.scalar(place.copy()), expression=exp.Literal.number(i))
            chosen = chosen.when(is_place, self.element(node.copy(), i), copy=False)
        return chosen

    def _elements(self, node: exp.Expr) -> list[exp.Expr]:
        """Return all elements of a list."""
        length = self.length(node)
        if length is None:
            raise ClusterEvalError(f"{node.sql('duckdb')}: not known as a list of coordinates")
        return [self.element(node.copy(), i + 1) for i in range(length)]

    # One row per coordinate

    def _unnest(self, select: exp.Select) -> int | None:
        """Write unnest(list) as the element at the row's place, and unnest(range(…)) as the place.

        Return the number of places, None if nothing is unnested.
        """
        unnested = list(select.find_all(exp.Explode))
        if not unnested:
            return None
        length = self._vector_length(unnested[0])
        place = exp.column("__ce_place", table="__ce_places")
        for node in unnested:
            is_place = isinstance(node.this, exp.GenerateSeries)
            element = exp.Anonymous(this="list_element", expressions=[node.this, place.copy()])
            node.replace(place.copy() if is_place else element)
        return length

    @staticmethod
    def _positions(n: int) -> exp.Subquery:
        """Return a table of the numbers from 1 to n."""
        powers = [10**i for i in range(len(str(n)))]
        tables = [f"__ce_digits_{power}" for power in powers]
        place = " + ".join(
            f"{power} * {table}.__ce_digit" for power, table in zip(powers, tables, strict=True)
        )
        query = exp.select(exp.alias_(exp.paren(exp.maybe_parse(place)), "__ce_place"))
        for number, table in enumerate(tables):
            source = exp.alias_(exp.to_table(_DIGITS), table, table=True)
            query = query.join(source, join_type="cross") if number else query.from_(source)
        within = exp.Between(
            this=exp.maybe_parse(place), low=exp.Literal.number(1), high=exp.Literal.number(n)
        )
        return exp.Subquery(
            this=query.where(within), alias=exp.TableAlias(this=exp.to_identifier("__ce_places"))
        )


# Nodes around a list that are a list of the same length.
_WRAPPERS = (exp.Paren, exp.Cast, exp.Transform, exp.Max)


def _length_or_error(length: exp.Expr, elements: list[exp.Expr]) -> exp.Expr:
    """Return the length of a list, an error of Spark for its first element that is not finite."""
    finite = [exp.Anonymous(this="isfinite", expressions=[element]) for element in elements]
    place = exp.Case()
    for number, is_finite in enumerate(finite, 1):
        is_fault = exp.Coalesce(this=exp.Not(this=is_finite.copy()), expressions=[exp.true()])
        place = place.when(is_fault, exp.Literal.number(number), copy=False)
    error = exp.Anonymous(
        this="not_finite_error", expressions=[exp.Array(expressions=elements), place]
    )
    # The text of the error is written once, not for every element.
    return exp.Case().when(_combine(exp.And, finite), length).else_(error, copy=False)


def _named_value(node: exp.Expr) -> exp.Transform | None:
    """Return the list_transform in list_transform([x], lambda y: …)[1], which names x; or None."""
    if isinstance(node, exp.Anonymous) and node.name == "list_element":
        named = node.expressions[0]
        if isinstance(named, exp.Transform) and isinstance(named.this, exp.Array):
            return named if len(named.this.expressions) == 1 else None
    return None


def _square(node: exp.Expr) -> exp.Expr:
    """Return node × node."""
    return node * node.copy()


def _sum(terms: Iterable[exp.Expr]) -> exp.Expr:
    """Return the sum of some terms."""
    known = list(terms)
    return _combine(exp.Add, known) if known else exp.Literal.number(0)


def _combine(kind: type[exp.Binary], terms: Iterable[exp.Expr]) -> exp.Expr:
    """Return at least one term, combined by an operator.

    They are combined in pairs of pairs: parsers limit the depth of nesting.
    """
    parts = list(terms)
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        last = parts[-1:] if len(parts) % 2 else []
        parts = [exp.paren(kind(this=one, expression=other)) for one, other in pairs] + last
    return parts[0].unnest()
