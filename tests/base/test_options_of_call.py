"""Options that tables share are made of the arguments of the call, each of which is read."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base import tables
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.external.contingency import LabelOptions
from polars_clustereval.internal.centroids import check_point_options
from polars_clustereval.internal.silhouette_queries import (
    SilhouetteOptions,
    check_means_options,
)

PACKAGE = Path(ce.__file__).parent
MAKERS = (LabelOptions, check_point_options, check_means_options, SilhouetteOptions)


def unread_parameters(source: str) -> Iterator[str]:
    """Yield the parameters of functions that neither the body nor an options object reads."""
    for function in ast.parse(source).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        names = {x.id for part in function.body for x in ast.walk(part) if isinstance(x, ast.Name)}
        read = set(names)
        # Charts hand their arguments on to a table.
        charted = [x.function for x in declared_tables().values()] * ("table_of_call" in names)
        if charted or "options_of_call" in names:
            read |= {
                name
                for make in (*MAKERS, *charted)
                if make.__name__ in names
                for name in inspect.signature(make).parameters
            }
        unread = (x.arg for x in arguments if x.arg not in read and x.arg[0] != "_")
        yield from (f"{function.name}({name})" for name in unread)


def test_every_argument_is_read():
    folders = ("external", "internal", "relative", "plots")
    sources = [path.read_text() for name in folders for path in (PACKAGE / name).rglob("*.py")]
    assert len(sources) > 50
    unread = [name for source in sources for name in unread_parameters(source)]
    assert not unread


def test_an_argument_that_nothing_reads_is_found():
    source = "def table(frame, p, weight):\n    return frame, options_of_call(LabelOptions)\n"
    assert list(unread_parameters(source)) == ["table(p)"]
    source = "def plot(frame, p, bins):\n    return table_of_call(internal_report, frame)\n"
    assert list(unread_parameters(source)) == ["plot(bins)"]


@pytest.fixture
def outer_and_inner(monkeypatch):
    """A table function that calls another one before it makes its options."""
    monkeypatch.setattr(tables, "_DECLARED", {})
    declare = tables.table_function("labels", guide="external")

    @declare
    def inner(frame: pl.DataFrame, *, p: float = 1, noise: object = None) -> object:  # noqa: ARG001
        return tables.options_of_call(dict_of_two)

    @declare
    def outer(frame: pl.DataFrame, p: float, *, noise: object = None) -> object:  # noqa: ARG001
        own = inner(frame)
        changed = tables.options_of_call(dict_of_two, noise="other")
        return own, tables.options_of_call(dict_of_two), changed

    return outer


def dict_of_two(*, p: float = 0, noise: object = None, weight: object = "default") -> object:
    return p, noise, weight


def test_a_table_called_by_a_table_has_its_own_arguments(outer_and_inner):
    own = (1, None, "default")
    frame = pl.DataFrame({"x": [1]})
    # By position, by name, and by default.
    assert outer_and_inner(frame, 3) == (own, (3, None, "default"), (3, "other", "default"))
    assert outer_and_inner(frame, p=4, noise=-1)[1] == (4, -1, "default")
