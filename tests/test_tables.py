"""The declarations of tables: what they say holds, and everything that lists tables agrees."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from polars_clustereval import spark
from polars_clustereval.base.tables import Kind, declared_tables, table_function
from polars_clustereval.catalogue import entries
from polars_clustereval.catalogue.callables import parameters_of
from polars_clustereval.catalogue.docstrings import join_lines, read_parameters, read_sections
from polars_clustereval.dialects import to_sql
from polars_clustereval.macros import macro_definitions
from tests.support import registry
from tests.support.key_types import KEY_TYPES
from tests.support.table_calls import calls_of_tables
from tools.exports import tables_in
from tools.metrics_page import page_titles
from tools.table_columns import named_columns
from tools.table_comments import in_sql, table_comment

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

ROOT = Path(__file__).parent.parent
TABLES = declared_tables()
PORTABLE = {name for name, x in TABLES.items() if x.is_portable}
#: Their docstrings count the scores, and do not name them: those have a page each.
WITH_MANY_SCORES = ("external_report", "entity_resolution_report", "internal_report", "dunn_index")
#: A new cluster comes after the old ones, a source of a merged cluster after the cluster.
NULLS_FIRST = {"run_transitions": ("cluster_before",)}
#: No id moves in the rows of the calls.
NO_ROWS = ("moved_ids",)
#: Their tests look at the order: the strongest association first, or the worst finding.
WORST_FIRST = (
    *("column_profile", "cluster_size_findings", "external_findings", "internal_findings"),
)


# What is declared ------------------------------------------------------------------------------


def place(row: Row, columns: tuple[str, ...]) -> list[tuple[bool, Any]]:
    """What a row is sorted by: NULLs are last."""
    return [(row[name] is None, 0 if row[name] is None else row[name]) for name in columns]


@pytest.mark.parametrize("name", registry.tables())
def test_rows_come_in_the_declared_order(engine: Engine, name: str) -> None:
    call = calls_of_tables(8)[name]
    rows = call.outcome(engine, KEY_TYPES["Int64"])
    assert rows or name in NO_ROWS
    assert not isinstance(rows, str)
    order = NULLS_FIRST.get(name, TABLES[name].order)
    if name in registry.tables("nominal values"):
        assert not order
        return
    columns = (call.partition_by, *(x for x in order if x not in ("metric", "criterion")))
    assert rows == sorted(rows, key=lambda row: place(row, columns))
    if not order and name not in WORST_FIRST:
        assert len({row[call.partition_by] for row in rows}) == len(rows)


@pytest.mark.parametrize("name", TABLES)
def test_the_guide_explains_the_table(name: str) -> None:
    guide = TABLES[name].guide
    assert guide in page_titles()
    assert re.search(rf"\b{name}\b", (ROOT / f"docs/{guide}.md").read_text(encoding="utf-8"))


def test_every_table_is_declared_in_a_module_of_its_side() -> None:
    for name, table in TABLES.items():
        assert table.function.__name__ == name
        assert name in tables_in(table.function.__module__.removeprefix("polars_clustereval."))


def test_a_declaration_keeps_the_function_of_two_frames_as_it_is() -> None:
    def function(frame_before: object, frame_after: object) -> None:
        """Return nothing."""

    known = dict(TABLES)
    declared = table_function("two runs", guide="transitions")(function)
    try:
        assert inspect.unwrap(declared) is function
        assert declared_tables()["function"].kind == "two runs"
    finally:
        from polars_clustereval.base import tables

        vars(tables)["_DECLARED"].pop("function")
    assert dict(declared_tables()) == known


# What the docstrings say -----------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_the_docstring_names_every_column(name: str) -> None:
    sections = read_sections(TABLES[name].function)
    text = sections[""] + join_lines(sections["Returns"])
    known = set(re.findall(r"\w+", text))
    for table in re.findall(r"columns of (\w+)", text):
        known |= set(named_columns(table)) if table in TABLES else set()
    columns = set(named_columns(name))
    if name in registry.tables("nominal values"):
        columns = {column for column in columns if column.startswith("u")}
    if name in WITH_MANY_SCORES:
        columns -= set(entries())
    assert columns <= known


@pytest.mark.parametrize("name", TABLES)
def test_the_docstring_says_what_every_parameter_is(name: str) -> None:
    assert [*parameters_of(name)] == registry.parameters(name)


#: Parameters of a kind of table that mean something else in one of them.
OTHER_WORDS: dict[Kind, set[str]] = {
    "points": {"frame", "center", "id", "method", "metrics"},
    "graph": set(),
    "distances": {"metrics"},
    "neighbors": set(),
    "edges": {"weight"},
    "runs": {"metric"},
    "two runs": {"noise_as"},
}


@pytest.mark.parametrize("kind", OTHER_WORDS)
def test_tables_of_a_kind_say_the_same_of_a_parameter(kind: Kind) -> None:
    texts: dict[str, set[str]] = {}
    for table in declared_tables(kind):
        for name, text in parameters_of(table).items():
            texts.setdefault(name, set()).add(text)
    assert {name for name, found in texts.items() if len(found) > 1} == OTHER_WORDS[kind]


# The comments of the macros --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Same as `frame`. A LazyFrame streams. The frame_before.", "Same as tbl. The tbl_before."),
        ("* one;\n    * two of the frame, x=1", "one; two of the table, x := 1"),
        ("one row: the partition columns, `n`", "one row: partition_key, n"),
        ("All points are in memory. One stays.", "One stays."),
        (
            "Both frames, if p is None or center='mean'.",
            "Both tables, if p is NULL or center := 'mean'.",
        ),
        ('One stays. Call describe("ssw").', "One stays."),
    ],
)
def test_words_in_sql(text: str, wanted: str) -> None:
    assert in_sql(text) == wanted


def test_a_comment_says_what_the_macro_takes_in_its_words() -> None:
    for name in registry.tables():
        text = table_comment(name, TABLES[name].function)
        assert not re.search(
            r"Frame|\bframes?\b|frame_|Polars|\bis None\b|\bdescribe\(|\w='|`", text
        ), name
        parameters, _ = macro_definitions()[name]
        words = text.replace("'\n'", "")
        for parameter in parameters:
            assert re.search(rf"\b{parameter}(, \w+)*( \([^)]*\))?: ", words), (name, parameter)


def test_a_docstring_that_begins_otherwise_is_refused() -> None:
    def dunn_index() -> None:
        """Return a table.

        Returns
        -------
        DataFrame
            One row.
        """

    with pytest.raises(ValueError, match="dunn_index: expected Returns to begin with 'Same kind"):
        table_comment("dunn_index", dunn_index)


# Where a table is portable ---------------------------------------------------------------------


def test_spark_has_the_portable_tables_of_one_frame() -> None:
    of_one_frame = {*registry.tables("labels", "records", "points")}
    assert set(spark.__all__) == PORTABLE & of_one_frame


@pytest.mark.parametrize("page", ["spark", "dialects"])
def test_the_pages_name_the_portable_tables(page: str) -> None:
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    wanted = PORTABLE & set(spark.__all__) if page == "spark" else PORTABLE
    named = {name for name in wanted if f"`{name}`" in text}
    silhouettes = {name for name in wanted if name.startswith("silhouette")}
    assert named | (silhouettes if page == "dialects" else set()) == wanted


def test_to_sql_lists_the_portable_tables() -> None:
    listed = set(re.findall(r"\w+", read_parameters(to_sql)["name"]))
    assert listed & TABLES.keys() == PORTABLE
