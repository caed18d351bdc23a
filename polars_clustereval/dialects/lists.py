"""Code that finds the lengths of coordinate lists and replaces list functions with scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from sqlglot import exp

from polars_clustereval.errors import ClusterEvalError

from .folding import fold_conditions
from .trees import fill_columns, rewrite_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The length of each list column, by the name of the column; 0 for a column that is NULL.
Lengths: TypeAlias = dict[str, int]

_Result = TypeVar("_Result")


def coordinate_name(column: str, place: int) -> str:
    """Return the column name for the coordinate at position `place` (from 1) in a list column."""
    return f"{column}_{place}"


class Lists:
    """The lists that can occur in the expressions of a single SELECT."""

    def __init__(self, known: dict[str, Lengths], sources: dict[str, Lengths]) -> None:
        """Initialize with the lengths of the list columns of `known` CTEs and of `sources`."""
        self._known = known
        self._sources = sources
        self._bound: dict[str, exp.Expr] = {}

    def length(self, node: exp.Expr) -> int | None:
        """Return the length of a list expression, or None for any other expression."""
        if isinstance(node, exp.Column):
            return self._column_length(node)
        if isinstance(node, exp.Array):
            return len(node.expressions)
        if isinstance(node, exp.ArrayAgg) and isinstance(node.this, exp.Order):
            return self.vector_length(node)
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
        """Return the length of a list column or list-valued lambda parameter, or None."""
        if not column.table and column.name in self._bound:
            return self.length(self._bound[column.name])
        sources = [column.table] if column.table else list(self._sources)
        lengths = (self._sources.get(source, {}).get(column.name) for source in sources)
        return next(filter(None, lengths), None)

    def is_null(self, node: exp.Expr) -> bool:
        """Return whether all columns in an expression are known to be NULL."""
        known = [
            self._sources.get(source, {}).get(column.name)
            for column in node.find_all(exp.Column)
            for source in ([column.table] if column.table else self._sources)
        ]
        return 0 in known and not any(known)

    def vector_length(self, node: exp.Expr) -> int:
        """Return the number of coordinates, the length of all lists; an error shows `node`.

        Nodes without a list need it: list(x ORDER BY i) has one number for each coordinate.
        """
        lengths = sorted({n for lists in self._known.values() for n in lists.values() if n})
        if len(lengths) != 1:
            raise ClusterEvalError(
                f"{node.sql('duckdb')}: expected lists of one length before it, got {lengths}"
            )
        return lengths[0]

    def element(self, node: exp.Expr, place: int) -> exp.Expr:
        """Return the element at `place`, counted from 1, of a list or NULL, or else NULL."""
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
        raise ClusterEvalError(f"{node.sql('duckdb')}: not recognized as a list of coordinates")

    def _column_element(self, column: exp.Column, place: int) -> exp.Expr:
        """Return one coordinate of a list column or list-valued lambda parameter."""
        if not column.table and column.name in self._bound:
            return self.element(self._bound[column.name].copy(), place)
        length = self._column_length(column)
        if length is None or place > length:
            return exp.null()
        return exp.column(coordinate_name(column.name, place), table=column.args.get("table"))

    def _values_of(self, node: exp.Transform, place: int) -> dict[str | None, exp.Expr]:
        """Return the values of list_transform's lambda parameters for the element at `place`."""
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
        """Apply `result` to the body of a lambda; numbers are filled in, lists bound by name."""
        numbers: dict[str, exp.Expr] = {}
        lists: dict[str, exp.Expr] = {}
        for name, value in values.items():
            if name is not None:
                (lists if self.length(value) is not None else numbers)[name] = value

        body = fill_columns(node.expression.this.copy(), numbers)
        outer = self._bound
        self._bound = {**outer, **lists}
        try:
            return result(body)
        finally:
            self._bound = outer

    def _distributed(self, node: exp.Expr, place: int) -> exp.Expr:
        """Return CASE, COALESCE or MAX with each list replaced by its coordinate at `place`."""
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
        """Replace the list functions in an expression that is not itself a list."""
        return fold_conditions(rewrite_tree(node, self._number_of))

    def _number_of(self, node: exp.Expr) -> exp.Expr | None:
        """Return the replacement for a list function that returns a number, or else None."""
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

    def _named_number(self, call: exp.Anonymous) -> exp.Expr | None:
        """Return the replacement for a list function that has no class in sqlglot, or None."""
        name, values = call.name.lower(), call.expressions
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
        """Return the squared Euclidean distance between two lists."""
        pairs = zip(self._elements(node.this), self._elements(node.expression), strict=True)
        return exp.paren(_sum(_square(one - other) for one, other in pairs))

    def _element_at(self, node: exp.Expr, place: exp.Expr) -> exp.Expr | None:
        """Return a list element, whose position may be a column, or None for other nodes."""
        length = self.length(node)
        if length is None:
            return exp.null() if self.is_null(node) else None
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
            raise ClusterEvalError(f"{node.sql('duckdb')}: not recognized as a list of coordinates")
        return [self.element(node.copy(), i + 1) for i in range(length)]


# Types of nodes that contain a list and are themselves a list of the same length.
_WRAPPERS = (exp.Paren, exp.Cast, exp.Transform, exp.Max)


def _length_or_error(length: exp.Expr, elements: list[exp.Expr]) -> exp.Expr:
    """Return an expression for a list's length that fails in Spark if an element is not finite."""
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
    """Return the list_transform of list_transform([x], lambda y: …)[1], which names x, or None."""
    if isinstance(node, exp.Anonymous) and node.name == "list_element":
        named = node.expressions[0]
        if isinstance(named, exp.Transform) and isinstance(named.this, exp.Array):
            return named if len(named.this.expressions) == 1 else None
    return None


def _square(node: exp.Expr) -> exp.Expr:
    """Return the square of a number."""
    return node * node.copy()


def _sum(terms: Iterable[exp.Expr]) -> exp.Expr:
    """Return the sum of the terms, or 0 if there are none."""
    known = list(terms)
    return _combine(exp.Add, known) if known else exp.Literal.number(0)


def _combine(kind: type[exp.Binary], terms: Iterable[exp.Expr]) -> exp.Expr:
    """Combine terms with a binary operator in a balanced tree: parsers limit the nesting depth."""
    parts = list(terms)
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        last = parts[-1:] if len(parts) % 2 else []
        parts = [exp.paren(kind(this=one, expression=other)) for one, other in pairs] + last
    return parts[0].unnest()
