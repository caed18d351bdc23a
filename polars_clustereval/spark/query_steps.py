"""Splits a query into steps, each of which is evaluated once and then read by later steps.

Without steps, Spark would plan and evaluate a CTE again each time it is read.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Collection

# The clauses that move or combine rows. Reading a CTE without them again costs no more than storing
# it.
_COSTLY = (exp.Group, exp.Distinct, exp.Join, exp.Window)


class Step(NamedTuple):
    """A query in Spark SQL, and the tables and steps it reads, whose names are placeholders."""

    name: str
    text: str
    reads: list[str]


class QuerySteps:
    """The steps of a query: the CTEs that are worth storing, and the query itself.

    `tables` lists the names of the tables that the query reads in addition to its CTEs. A CTE is
    worth storing if it depends on these tables, moves or combines rows, and is read more than once.
    A CTE that is NOT MATERIALIZED in the macro is not stored, because it is meant to stream points.
    A CTE that is joined with streaming points is also worth storing, because Spark knows that the
    CTE is small only if it is stored. All other CTEs are written into the steps that read them.
    """

    def __init__(self, query: exp.Select, tables: Collection[str]) -> None:
        self._bodies: dict[str, exp.Expr] = {cte.alias: cte.this for cte in query.ctes}
        self._streamed = {cte.alias for cte in query.ctes if cte.args.get("materialized") is False}
        self._final = query.copy()
        self._final.set("with_", None)
        self._tables = set(tables)
        self._kept = self._find_kept()

    def kept_steps(self) -> list[Step]:
        """Return the steps to evaluate before the final step, in order."""
        return [self._write_step(name, self._bodies[name]) for name in self._kept]

    def final_step(self) -> Step:
        """Return the step that reads the stored steps and yields the rows of the query."""
        return self._write_step("", self._final)

    def whole_query(self) -> Step:
        """Return the query as a single step, for engines that cannot store results."""
        kept, self._kept = self._kept, []
        step = self.final_step()
        self._kept = kept
        return step

    def cte_step(self, prefix: str) -> Step:
        """Return the first CTE whose name begins with `prefix`, stored or not, as a step."""
        name = next(name for name in self._bodies if name.startswith(prefix))
        return self._write_step(name, self._bodies[name])

    def _write_step(self, name: str, body: exp.Expr) -> Step:
        """Return the query `body` as a step called `name`, including the CTEs that it needs."""
        query = body.copy()
        select = query if isinstance(query, exp.Select) else _select_all(query)
        needed = self._find_inlined(body)
        uses = Counter(self._reads_of(select))
        for cte in needed:
            uses.update(self._reads_of(self._bodies[cte]))
        defined = [cte for cte in needed if uses[cte] > 1]
        for cte in defined:
            select = select.with_(cte, as_=self._bodies[cte].copy(), copy=False)
        self._write_subqueries(select, {*needed}.difference(defined))
        for token in select.find_all(exp.Literal, exp.Identifier):
            token.set("this", token.name.replace("{", "{{").replace("}", "}}"))
        reads = set()
        for table in select.find_all(exp.Table):
            if table.name in self._tables or table.name in self._kept:
                reads.add(table.name)
                _write_placeholder(table)
        return Step(name, select.sql(dialect="spark"), sorted(reads))

    def _write_subqueries(self, query: exp.Expr, names: Collection[str]) -> None:
        """Replace CTEs with subqueries, in place: through CTEs, Spark forgets what to broadcast."""
        for table in list(query.find_all(exp.Table)):
            if table.name in names:
                alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name))
                subquery = exp.Subquery(this=self._bodies[table.name].copy(), alias=alias)
                self._write_subqueries(subquery, names)
                table.replace(subquery)

    def _find_inlined(self, body: exp.Expr) -> list[str]:
        """Return the CTEs that are written into the query of a step, in their original order."""
        needed: set[str] = set()
        waiting = [body]
        while waiting:
            new = set(self._reads_of(waiting.pop())) - needed - set(self._kept)
            needed |= new
            waiting += [self._bodies[name] for name in new]
        return [name for name in self._bodies if name in needed]

    def _reads_of(self, body: exp.Expr) -> list[str]:
        """Return the names of the CTEs that a query reads, as often as it reads them."""
        return [table.name for table in body.find_all(exp.Table) if table.name in self._bodies]

    def _find_kept(self) -> list[str]:
        """Return the names of the CTEs that are worth storing, in their original order."""
        dependent = self._find_dependent()
        joined = self._find_joined()
        uses = dict.fromkeys(self._bodies, 0)
        for name in self._reads_of(self._final):
            uses[name] += 1
        kept: list[str] = []
        for name, body in reversed(self._bodies.items()):  # readers come before what they read
            is_costly = name in dependent and body.find(*_COSTLY) is not None
            is_read = uses[name] > 1 or name in joined
            is_kept = is_read and is_costly and name not in self._streamed
            if is_kept:
                kept.insert(0, name)
            for read in self._reads_of(body):
                uses[read] += 1 if is_kept else uses[name]
        return kept

    def _find_joined(self) -> set[str]:
        """Return the names of the CTEs that are joined with streaming points."""
        joins = (join for name in self._streamed for join in self._bodies[name].find_all(exp.Join))
        return {join.this.name for join in joins if isinstance(join.this, exp.Table)}

    def _find_dependent(self) -> set[str]:
        """Return the names of the CTEs that read a table directly or through other CTEs."""
        dependent: set[str] = set()
        for name, body in self._bodies.items():
            if {table.name for table in body.find_all(exp.Table)} & (self._tables | dependent):
                dependent.add(name)
        return dependent


def _select_all(query: exp.Expr) -> exp.Select:
    """Return SELECT * FROM (query), which turns a UNION into a SELECT."""
    alias = exp.TableAlias(this=exp.to_identifier("__ce_step"))
    return exp.select("*").from_(exp.Subquery(this=query, alias=alias))


def _write_placeholder(table: exp.Table) -> None:
    """Replace a table's name with a placeholder, in place; the name becomes its alias."""
    if not table.alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
    table.set("this", exp.Var(this=f"{{{table.name}}}"))
