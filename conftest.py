"""The names that the examples of docstrings use without importing them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import polars_clustereval as ce


@pytest.fixture(autouse=True)
def names_of_examples(doctest_namespace: dict[str, Any]) -> None:
    """Add them to the names of every example."""
    doctest_namespace.update(ce=ce, pl=pl)
