"""The text of sql/facts.sql: comments of the external metrics, and the macros that list scores.

A metric is a column of external_report by the private macro of its name, whose parameters are named
as the statistics of the report.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from polars_clustereval.base.counts import LABEL_COUNTS, POINT_COUNTS
from polars_clustereval.base.quoting import quote_literal
from polars_clustereval.base.unknown_names import OTHER_NAMES
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.macros import macro_definitions
from tools.metric_docstrings import metrics_in_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polars_clustereval.base.counts import Count
    from polars_clustereval.base.metric_facts import MetricFacts
    from polars_clustereval.base.score_facts import Entry

    Scores = Sequence[MetricFacts] | Sequence[Entry] | Sequence[Count]

WIDTH = 100
RULE = "-" * 99
HEAD = """\
-- facts: what is known of the external metrics and of the indices of internal_report. `make facts`
-- writes this file from the docstrings of polars_clustereval/external, and from the records of
-- polars_clustereval/base/score_facts: change these.
"""
MEANINGS = """\
-- One row per {what} of {table}, in its order (place): metric, its name; best, its
-- best value as text, 'high' or 'low' if that is no number, NULL if none is best; meaning, what it
-- measures, in a few words; family, its kind.
CREATE OR REPLACE MACRO clustereval._{what}_meanings() AS TABLE
  SELECT *
  FROM (VALUES
{rows}
  ) AS meanings (place, metric, best, meaning, family);
"""
NAMES = """\
-- List of the names of the metrics of external_report, in its order, those of _metric_meanings: for
-- checks of options, which are made before a query runs and so read no table.
CREATE OR REPLACE MACRO clustereval._metric_names() AS [
{names}
  ];

-- The end of the error about an unknown metric: the metric of external_report that is meant, if its
-- name is an abbreviation or a name in other libraries.
CREATE OR REPLACE MACRO clustereval._metric_hint(metric) AS
  coalesce('; did you mean ''' || CASE regexp_replace(lower(metric), '_score$', '')
{others}
  END || '''?', '');
"""
VALUES = """\
{header}
CREATE OR REPLACE MACRO clustereval._{what}_values({parameters}) AS TABLE
  SELECT
    scores.partition_key,
    meanings.place,
    meanings.metric,
    CASE meanings.metric
{cases}
    END AS value,
    meanings.best,
    {meaning} AS meaning,
    meanings.family
  FROM query_table(report) AS scores
  CROSS JOIN clustereval._{what}_meanings() AS meanings{condition};
"""
#: The meaning of a count, or the remark on it that the report has.
MEANING_OF_COUNT = "COALESCE(scores.remarks[meanings.metric], meanings.meaning)"
#: The metrics that `adjusted` leaves out.
UNLESS_ADJUSTED = """
  WHERE adjusted
    OR meanings.metric NOT IN ('adjusted_mutual_info_score', 'expected_mutual_info')"""
SCORES = """\
{header}
CREATE OR REPLACE MACRO clustereval.{macro}(
  {parameters}
) AS TABLE
  SELECT
    partition_key,
    total AS n,
    n_dropped,
    n_noise,
    COALESCE(n_labels, 0) AS n_labels,
    COALESCE(n_clusters, 0) AS n_clusters,
{columns}
  FROM query_table(statistics);
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
#: A metric that is computed with the statistics, since the normalized one needs it too.
STATISTICS = {"reduced_mutual_info_score": "reduced"}
#: Parameters of formulas -> the statistics, whose names are for readers of the queries of to_sql.
CONDITIONAL_ENTROPIES = {
    "hl": "label_entropy_given_cluster",
    "hc": "cluster_entropy_given_label",
    "ehl": "expected_label_entropy_given_cluster",
    "ehc": "expected_cluster_entropy_given_label",
}
NOISE = "Leave noise out: CASE WHEN cluster <> -1 THEN cluster END."


def literals(text: str, width: int = WIDTH) -> str:
    """A text as string literals one below the other, which SQL reads as one."""
    lines = wrap(text.replace("'", "''"), width - 4, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*(f"'{line} '" for line in lines[:-1]), f"'{lines[-1]}'"])


def comment(facts: MetricFacts) -> str:
    """The comment of a macro: definition, range, special cases and source."""
    best = f", best {facts.best}" if facts.best else ""
    text = (
        f"{facts.definition} Range {facts.range}{best}. Special cases: {facts.special_cases} "
        f"Source: {facts.source} {NOISE}"
    )
    return f"COMMENT ON MACRO clustereval.{facts.name} IS\n{literals(text)};\n"


def meanings_macro(what: str, table: str, scores: Scores) -> str:
    """The macro that lists the scores of a table, with the best value and the meaning of each."""
    rows = []
    # Counts come before the scores.
    first = 1 if what in ("metric", "index") else 1 - len(scores)
    for place, x in enumerate(scores, first):
        best = quote_literal(x.best) if x.best else "CAST(NULL AS VARCHAR)"
        row = f"    ({place}, {quote_literal(x.name)}, {best}, {quote_literal(x.meaning)},"
        gap = " " if len(f"{row} {quote_literal(x.family)}),") < WIDTH else "\n     "
        rows.append(f"{row}{gap}{quote_literal(x.family)})")
    return MEANINGS.format(what=what, table=table, rows=",\n".join(rows))


def values_macro(
    what: str, table: str, scores: Scores, options: Sequence[str] = (), condition: str = ""
) -> str:
    """The macro that turns the columns of a report into rows, with what is known of each score."""
    of_options = (
        "Without adjusted, the two metrics are left out that need the expected mutual information."
    )
    counts = what not in ("metric", "index")
    of_remarks = "The report has remarks, a map from names of counts to texts for their meanings."
    header = (
        f"One row per partition and {what} of {table}: partition_key, value, and the columns of "
        f"_{what}_meanings. report: rows of _{table}. {of_options if options else ''}"
        f"{of_remarks if counts else ''}"
    )
    return VALUES.format(
        meaning=MEANING_OF_COUNT if counts else "meanings.meaning",
        header=sql_comment(header.rstrip()),
        what=what,
        parameters=", ".join(["report", *options]),
        cases="\n".join(f"      WHEN {quote_literal(x.name)} THEN scores.{x.name}" for x in scores),
        condition=condition,
    )


def sql_comment(text: str) -> str:
    """A text as the lines of a comment."""
    return "\n".join(wrap(text, WIDTH, initial_indent="-- ", subsequent_indent="-- "))


def report_macro(table: str, macro: str, statistics: str, options: Sequence[str]) -> str:
    """The macro that computes a report from the statistics of its partitions."""
    header = (
        f"One row per partition: all columns of {table}, from the rows of {statistics} and these "
        f"options of {table}. A metric whose statistics are NULL is NULL."
    )
    return SCORES.format(
        header=sql_comment(header),
        macro=macro,
        parameters=", ".join(["statistics", *options]),
        columns=",\n".join(column(name) for name in metrics_in_report(table)),
    )


def column(name: str) -> str:
    """The column of a metric: its private macro, whose parameters are statistics and options."""
    if name in STATISTICS:
        return f"    {STATISTICS[name]} AS {name}"
    definitions = macro_definitions()
    if f"_{name}" not in definitions:
        raise ClusterEvalError(f"expected the macro _{name} of the statistics in sql/external")
    arguments, _ = definitions[f"_{name}"]
    arguments = [CONDITIONAL_ENTROPIES.get(argument, argument) for argument in arguments]
    call = f"clustereval._{name}({', '.join(arguments)})"
    return first_that_fits(
        f"    {call} AS {name}",
        f"    {call}\n      AS {name}",
        f"    clustereval._{name}(\n{name_lines(arguments, '      ')}\n    ) AS {name}",
    )


def first_that_fits(*texts: str) -> str:
    """The first text without a long line, or else the last text."""
    fits = (text for text in texts if max(map(len, text.splitlines())) < WIDTH)
    return next(fits, texts[-1])


def name_lines(names: Iterable[str], indent: str) -> str:
    """Names or literals, several in a line."""
    text = ", ".join(names)
    return "\n".join(wrap(text, WIDTH - 10, initial_indent=indent, subsequent_indent=indent))


def branches(metrics: Sequence[MetricFacts], value_of: dict[str, str]) -> str:
    """The branches of a CASE with a value for each metric, the most frequent one for the rest."""
    values = list(value_of.values())
    usual = max(values, key=values.count)
    found = []
    for value in dict.fromkeys(values):
        if value != usual:
            names = [quote_literal(x.name) for x in metrics if value_of[x.name] == value]
            listed = f"IN (\n{name_lines(names, '      ')}\n    )"
            found.append(f"    WHEN metric {listed}\n    THEN {value}")
    return "\n".join([*found, f"    ELSE {usual}"])


def greatest(facts: MetricFacts) -> str:
    if not facts.greatest:
        return "NULL"
    if facts.greatest in GREATEST:
        return GREATEST[facts.greatest]
    try:
        return str(float(facts.greatest))
    except ValueError:
        return "ln(n)"


def sql_facts(metrics: Sequence[MetricFacts], indices: Sequence[Entry]) -> str:
    """The text of sql/facts.sql, from all metrics and the indices of internal_report."""
    listed = [x for x in metrics if x.table == "external_report"]
    of_report = ("metric", "external_report", listed)
    of_points = ("index", "internal_report", indices)
    of_labels = ("count", "external_report", list(LABEL_COUNTS.values()))
    of_vectors = ("point_count", "internal_report", list(POINT_COUNTS.values()))
    parts = [
        HEAD,
        f"{RULE}\n-- Comments\n{RULE}\n",
        *(comment(x) for x in metrics),
        f"{RULE}\n-- Lists\n{RULE}\n",
        meanings_macro(*of_labels),
        values_macro(*of_labels),
        meanings_macro(*of_report),
        NAMES.format(
            names=name_lines((quote_literal(x.name) for x in listed), "    "),
            others="\n".join(
                f"    WHEN {quote_literal(other)} THEN {quote_literal(name)}"
                for other, name in OTHER_NAMES.items()
                if name in {x.name for x in listed}
            ),
        ),
        report_macro(
            "external_report",
            "_scores_of_statistics",
            "_statistics_of_groups",
            ("average_method", "beta"),
        ),
        report_macro(
            "entity_resolution_report",
            "_resolution_scores",
            "_resolution_statistics_of_groups",
            ("split_cost", "merge_cost", "beta"),
        ),
        values_macro(*of_report, ["adjusted"], UNLESS_ADJUSTED),
        meanings_macro(*of_vectors),
        values_macro(*of_vectors),
        meanings_macro(*of_points),
        values_macro(*of_points),
        LIMITS.format(
            least=branches(
                listed, {x.name: str(float(x.least)) if x.least else "NULL" for x in listed}
            ),
            greatest=branches(listed, {x.name: greatest(x) for x in listed}),
        ),
    ]
    return "\n".join(parts)
