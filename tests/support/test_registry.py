"""The registry of the tests names every table and metric of the package, and nothing else."""

from __future__ import annotations

import inspect

import polars_clustereval as ce
from tests.support import registry

FUNCTIONS = [name for name in ce.__all__ if inspect.isfunction(getattr(ce, name))]
#: Functions that return no table and no expression of a score.
OTHERS = {
    *("bundle", "describe", "register", "to_sql", "write_database", "parse_vector"),
    "distances_from_matrix",
}


def is_table(name: str) -> bool:
    return registry.parameters(name)[:1] and registry.parameters(name)[0].startswith("frame")


def test_every_table_is_in_the_registry() -> None:
    """A new table needs the decorator table_function, which declares it: many tests go by that."""
    known = {*registry.tables(), *registry.WITHOUT_MACRO}
    assert known == {name for name in FUNCTIONS if is_table(name)}


def test_every_metric_is_in_the_registry() -> None:
    """A new metric needs its value by definition in tests/support/oracle.py or resolution.py."""
    scores = {name for name in FUNCTIONS if not is_table(name)} - OTHERS
    assert set(registry.METRICS) == scores
