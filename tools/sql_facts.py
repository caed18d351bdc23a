"""The text of sql/facts.sql: comments of the metrics, and the macros that list them."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polars_clustereval.base.metric_facts import MetricFacts

WIDTH = 100
RULE = "-" * 99
HEAD = """\
-- facts: what is known of each external metric. `make facts` writes this file from the docstrings
-- of polars_clustereval/external: change these.
"""
MEANINGS = """\
-- One row per metric of external_report, in its order (__ce_place): __ce_metric, its name;
-- __ce_best, its best value as text, 'high' or 'low' if that is no number, NULL if none is best;
-- __ce_meaning, what it measures, in a few words.
CREATE OR REPLACE MACRO clustereval._metric_meanings() AS TABLE
  SELECT *
  FROM (VALUES
{rows}
  ) AS meanings (__ce_place, __ce_metric, __ce_best, __ce_meaning);
"""
NAMES = """\
-- List of the names of the metrics of external_report, in its order, those of _metric_meanings: for
-- checks of options, which are made before a query runs and so read no table.
CREATE OR REPLACE MACRO clustereval._metric_names() AS [
{names}
  ];
"""
VALUES = """\
-- One row per partition and metric of external_report: __ce_partition, __ce_value, its value, and
-- the columns of _metric_meanings. __ce_report is the name of a CTE of the rows of
-- _external_report. Without adjusted, the two metrics are left out that need the expected mutual
-- information.
CREATE OR REPLACE MACRO clustereval._metric_values(__ce_report, adjusted) AS TABLE
  SELECT
    report.partition_key AS __ce_partition,
    meanings.__ce_place,
    meanings.__ce_metric,
    CASE meanings.__ce_metric
{cases}
    END AS __ce_value,
    meanings.__ce_best,
    meanings.__ce_meaning
  FROM query_table(__ce_report) AS report
  CROSS JOIN clustereval._metric_meanings() AS meanings
  WHERE adjusted
    OR meanings.__ce_metric NOT IN ('adjusted_mutual_info_score', 'expected_mutual_info');
"""
LIMITS = """\
-- The least value that a metric of external_report can have, NULL if there is none.
CREATE OR REPLACE MACRO clustereval._least_value(metric) AS
  CASE
{least}
  END;

-- The greatest value that a metric of external_report can have for n rows, NULL if there is none.
CREATE OR REPLACE MACRO clustereval._greatest_value(metric, n) AS
  CASE
{greatest}
  END;
"""
#: The greatest values that are no numbers, for n rows. An entropy is at most that of n labels.
GREATEST = {"n (n - 1)": "CAST(n AS DOUBLE) * (n - 1)", "2 n": "2 * n"}
NOISE = "Leave noise out: CASE WHEN cluster <> -1 THEN cluster END."


def sql_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literals(text: str) -> str:
    """A text as string literals one below the other, which SQL reads as one."""
    lines = wrap(text.replace("'", "''"), WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*(f"'{line} '" for line in lines[:-1]), f"'{lines[-1]}'"])


def comment(facts: MetricFacts) -> str:
    """The comment of a macro: definition, range, special cases and source."""
    best = f", best {facts.best}" if facts.best else ""
    text = (
        f"{facts.definition} Range {facts.range}{best}. Special cases: {facts.special_cases} "
        f"Source: {facts.source} {NOISE}"
    )
    return f"COMMENT ON MACRO clustereval.{facts.name} IS\n{literals(text)};\n"


def rows(metrics: Sequence[MetricFacts]) -> str:
    """The rows of _metric_meanings."""
    found = []
    for place, x in enumerate(metrics, 1):
        best = sql_literal(x.best) if x.best else "CAST(NULL AS VARCHAR)"
        found.append(f"    ({place}, {sql_literal(x.name)}, {best}, {sql_literal(x.meaning)})")
    return ",\n".join(found)


def name_lines(names: Iterable[str], indent: str) -> str:
    """Names as literals, several in a line."""
    text = ", ".join(sql_literal(name) for name in names)
    return "\n".join(wrap(text, WIDTH - 10, initial_indent=indent, subsequent_indent=indent))


def branches(metrics: Sequence[MetricFacts], value_of: dict[str, str]) -> str:
    """The branches of a CASE with a value for each metric, the most frequent one for the rest."""
    values = list(value_of.values())
    usual = max(values, key=values.count)
    found = []
    for value in dict.fromkeys(values):
        if value != usual:
            names = [x.name for x in metrics if value_of[x.name] == value]
            listed = f"IN (\n{name_lines(names, '      ')}\n    )"
            found.append(f"    WHEN metric {listed}\n    THEN {value}")
    return "\n".join([*found, f"    ELSE {usual}"])


def least(facts: MetricFacts) -> str:
    return str(float(facts.least)) if facts.least else "NULL"


def greatest(facts: MetricFacts) -> str:
    if not facts.greatest:
        return "NULL"
    if facts.greatest in GREATEST:
        return GREATEST[facts.greatest]
    try:
        return str(float(facts.greatest))
    except ValueError:
        return "ln(n)"


def sql_facts(metrics: Sequence[MetricFacts]) -> str:
    """The text of sql/facts.sql."""
    listed = [x for x in metrics if x.table == "external_report"]
    cases = "\n".join(f"      WHEN {sql_literal(x.name)} THEN report.{x.name}" for x in listed)
    parts = [
        HEAD,
        f"{RULE}\n-- Comments\n{RULE}\n",
        *(comment(x) for x in metrics),
        f"{RULE}\n-- Lists\n{RULE}\n",
        MEANINGS.format(rows=rows(listed)),
        NAMES.format(names=name_lines((x.name for x in listed), "    ")),
        VALUES.format(cases=cases),
        LIMITS.format(
            least=branches(listed, {x.name: least(x) for x in listed}),
            greatest=branches(listed, {x.name: greatest(x) for x in listed}),
        ),
    ]
    return "\n".join(parts)
