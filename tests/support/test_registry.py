"""The registry of the tests names every table and metric of the package, and nothing else."""

from __future__ import annotations

import inspect

import pytest

import polars_clustereval as ce
from tests.support import registry

FUNCTIONS = [name for name in ce.__all__ if inspect.isfunction(getattr(ce, name))]
#: Functions that return no table and no expression of a score.
OTHERS = {"bundle", "describe", "register", "to_sql", "write_database", "parse_vector"}


def is_table(name: str) -> bool:
    return registry.parameters(name)[:1] and registry.parameters(name)[0].startswith("frame")


def test_every_table_is_in_the_registry() -> None:
    """A new table needs the decorator table_function, which declares it: many tests go by that."""
    known = {*registry.tables(), *registry.DRAWN_BY_NUMPY}
    assert known == {name for name in FUNCTIONS if is_table(name)}


def test_every_metric_is_in_the_registry() -> None:
    """A new metric needs its value by definition in tests/support/oracle.py or resolution.py."""
    scores = {name for name in FUNCTIONS if not is_table(name)} - OTHERS
    assert set(registry.METRICS) == scores


def test_tables_are_asked_for_by_kind_and_parameter() -> None:
    assert registry.tables("runs", "covers") == (
        *("run_agreement", "run_consensus", "overlapping_report"),
    )
    assert registry.tables("records", "labels", takes="id") == registry.tables("records")
    assert registry.kind_of("elbow") == "sweep"
    assert registry.given("vdm_encode") == (("label",), "cluster")
    with pytest.raises(KeyError):
        registry.tables("no kind")


def test_what_is_given_are_the_required_parameters() -> None:
    for name in registry.tables(*registry.GIVEN):
        parameters = inspect.signature(getattr(ce, name)).parameters.values()
        required = [x for x in parameters if x.default is x.empty]
        assert len(required) == 1 + len(registry.given(name)), name


def test_tables_with_scores_are_of_their_kind() -> None:
    for kind, names in registry.WITH_SCORES.items():
        assert set(names) < set(registry.tables(kind))
