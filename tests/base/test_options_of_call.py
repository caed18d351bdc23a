"""Options that tables share are made of the arguments of the call, each of which is read."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base import tables
from polars_clustereval.external.contingency import LabelOptions
from polars_clustereval.external.graph_counts import GraphColumns
from polars_clustereval.internal.centroids import check_point_options
from polars_clustereval.internal.point_silhouettes import SilhouetteOptions, read_queried_points
from polars_clustereval.internal.profile_statistics import read_columns

PACKAGE = Path(ce.__file__).parent
MAKERS = (
    *(LabelOptions, GraphColumns, check_point_options, SilhouetteOptions, read_queried_points),
    *(ce.internal_report, ce.silhouette_clusters, read_columns),
)


def unread_parameters(source: str) -> Iterator[str]:
    """Yield the parameters of functions that neither the body nor an options object reads.

    The body may call a function of its module that makes the options.
    """
    functions = [x for x in ast.parse(source).body if isinstance(x, ast.FunctionDef)]
    bodies = {
        x.name: {y.id for part in x.body for y in ast.walk(part) if isinstance(y, ast.Name)}
        for x in functions
    }
    readers = {name: names for name, names in bodies.items() if "options_of_call" in names}
    for function in functions:
        arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        names = bodies[function.name]
        used = names.union(*(readers[name] for name in names & readers.keys()))
        read = set(names)
        if "options_of_call" in used:
            read |= {
                name
                for make in MAKERS
                if make.__name__ in used
                for name in inspect.signature(make).parameters
            }
        unread = (x.arg for x in arguments if x.arg not in read and x.arg[0] != "_")
        yield from (f"{function.name}({name})" for name in unread)


def test_every_argument_is_read():
    folders = ("external", "internal", "relative")
    sources = [path.read_text() for name in folders for path in (PACKAGE / name).rglob("*.py")]
    assert len(sources) > 50
    unread = [name for source in sources for name in unread_parameters(source)]
    assert not unread


def test_an_argument_that_nothing_reads_is_found():
    source = "def table(frame, p, weight):\n    return frame, options_of_call(LabelOptions)\n"
    assert list(unread_parameters(source)) == ["table(p)"]


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
