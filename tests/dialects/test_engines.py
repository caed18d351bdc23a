"""The objects of the dialects: all that one of them has in a form of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from polars_clustereval import dialects
from polars_clustereval.dialects import ENGINES, engines

MODULES = sorted(Path(dialects.__file__).parent.glob("*.py"))


def dialects_named_in(path: Path) -> set[str]:
    """The dialects that a module names, but for that of the macros, which it parses."""
    texts = {
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return texts & ENGINES.keys() - {"duckdb"}


def test_no_other_module_names_a_dialect() -> None:
    assert {path.stem: names for path in MODULES if (names := dialects_named_in(path))} == {
        "engines": ENGINES.keys() - {"duckdb"}
    }


@pytest.mark.parametrize("dialect", ENGINES)
def test_an_engine_is_found_by_any_spelling(dialect: str) -> None:
    assert engines.find_engine(dialect.upper()) is ENGINES[dialect]


def test_a_dialect_without_an_object_has_no_forms() -> None:
    assert engines.find_engine("Snowflake") == engines.Engine("snowflake", parser="snowflake")


def test_every_engine_has_the_functions_that_no_name_is_shared_for() -> None:
    for engine in ENGINES.values():
        assert {"median", "value_at_least_key"} <= engine.functions.keys(), engine.name
