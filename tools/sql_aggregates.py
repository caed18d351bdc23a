"""The text of sql/aggregates.sql: the aggregate of each metric, from the private macro of its name.

The parameters of the private macro are fields of a macro of statistics, and options of the metric.
"""

from __future__ import annotations

import functools
from inspect import signature
from typing import TYPE_CHECKING

import duckdb

import polars_clustereval as ce
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.macros import macro_definitions
from tools.sql_facts import first_that_fits, name_lines, sql_comment

if TYPE_CHECKING:
    from polars_clustereval.base.metric_facts import MetricFacts

HEAD = """\
-- aggregates: the metrics as aggregates of the columns label (true class) and cluster (assigned
-- cluster). Rows with a NULL in either are left out. `make facts` writes this file from the private
-- macros in external/ and the docstrings of polars_clustereval/external: change these.
"""
#: Metrics of two macros of statistics, or of another metric. Their aggregates are in sql/external.
BY_HAND = ("adjusted_mutual_info_score", "normalized_reduced_mutual_info_score")
#: What an aggregate calls its statistics, by the start of their macro's name; if not, sums.
SHORT = {"_pair": "pairs", "_linked_pair": "pairs", "_information": "info", "_expected": "expected"}
#: The check of an option, and its value in the example.
OPTIONS = {
    "beta": ("_check_beta(beta)", "0.5"),
    "average_method": ("_check_average_method(average_method, TRUE)", "'max'"),
    "split_cost": ("_check_edit_cost(split_cost, 'split_cost')", "'product'"),
    "merge_cost": ("_check_edit_cost(merge_cost, 'merge_cost')", "'product'"),
}


@functools.cache
def fields_of_statistics() -> dict[str, set[str]]:
    """The fields of the struct that each macro of statistics returns, in load order."""
    con = duckdb.connect()
    ce.register(con)
    names = [name for name in macro_definitions() if name.endswith("_statistics")]
    found = {}
    for name in names:
        if macro_definitions()[name][0] == ["label", "cluster"]:
            row = con.sql(f"SELECT clustereval.{name}(l, c) FROM (VALUES (1, 1)) AS pairs (l, c)")
            found[name] = {field for field, _ in row.types[0].children}
    return found


def statistics_with(fields: set[str], metric: str) -> str:
    """The first macro of statistics, in load order, that has all these fields."""
    for name, found in fields_of_statistics().items():
        if fields <= found:
            return name
    raise ClusterEvalError(f"expected a macro of statistics with all fields that _{metric} needs")


def aggregate(facts: MetricFacts) -> str:
    """The macro of a metric, with its summary and an example above."""
    name, (names, _) = facts.name, macro_definitions()[f"_{facts.name}"]
    options = {x.name: x.default for x in [*signature(getattr(ce, name)).parameters.values()][2:]}
    statistics = statistics_with({*names} - {*options}, name)
    short = SHORT.get(statistics.removesuffix("_statistics"), "sums")
    row, variable, struct = f"clustereval.{statistics}(label, cluster)", f"__ce_{short}", ""
    if options:
        checks = [f"'{x}': clustereval.{OPTIONS[x][0]}" for x in options]
        row = "{{\n      {}\n    }}".format(",\n      ".join([f"'{short}': {row}", *checks]))
        variable, struct = "__ce_call", f"['{short}']"
    values = [f"{variable}{'' if x in options else struct}['{x}']" for x in names]
    given = [f"{x} := {OPTIONS[x][1]}" for x in options][-1:]
    parameters = ", ".join(["label, cluster", *(f"{x} := {y!r}" for x, y in options.items())])
    macro = f"CREATE OR REPLACE MACRO clustereval.{name}({parameters}) AS"
    macro = first_that_fits(macro, macro.replace(parameters, f"\n  {parameters}\n"))
    return f"""\
{sql_comment(facts.summary)}
-- Examples:
--   SELECT clustereval.{name}({", ".join(["species, cluster", *given])})
--   FROM assignments;
{macro}
  list_transform(
    [{row}],
    lambda {variable}: clustereval._{name}(
{name_lines(values, "      ")}
    )
  )[1];
"""


def sql_aggregates(metrics: list[MetricFacts]) -> str:
    """The text of sql/aggregates.sql."""
    return "\n".join([HEAD, *(aggregate(x) for x in metrics if x.name not in BY_HAND)])
