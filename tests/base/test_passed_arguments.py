"""Options that tables share are made of the arguments of the call, each of which is read."""

import ast
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base import tables

PACKAGE = Path(ce.__file__).parent
FOLDERS = ("external", "internal", "relative", "plots")
#: The functions whose first argument is called with the arguments of the call.
CALLERS = ("pass_arguments_to", "table_of_call")


def parameters_of(x: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """The parameters of a function, or the fields of a class."""
    if isinstance(x, ast.ClassDef):
        return {y.target.id for y in x.body if isinstance(y, ast.AnnAssign)}
    return {argument.arg for argument in (*x.args.posonlyargs, *x.args.args, *x.args.kwonlyargs)}


def made_of_the_call(function: ast.FunctionDef) -> set[str]:
    """The names of what a function calls with the arguments of the call."""
    calls = [x for x in ast.walk(function) if isinstance(x, ast.Call)]
    return {ast.unparse(x.args[0]) for x in calls if ast.unparse(x.func) in CALLERS}


def unread_parameters(sources: Mapping[str, str]) -> list[str]:
    """The parameters of functions that neither the body nor an options object reads.

    The body may call a function that makes the options.
    """
    defined = [x for source in sources.values() for x in ast.parse(source).body]
    functions = [x for x in defined if isinstance(x, ast.FunctionDef)]
    parameters = {x.name: parameters_of(x) for x in defined if hasattr(x, "name")}
    made = {x.name: made_of_the_call(x) for x in functions}
    unread = []
    for function in functions:
        names = {x.id for part in function.body for x in ast.walk(part) if isinstance(x, ast.Name)}
        makers = set().union(made[function.name], *(made[x] for x in names & made.keys()))
        read = names.union(*(parameters[maker] for maker in makers & parameters.keys()))
        missed = sorted(x for x in parameters_of(function) - read if x[0] != "_")
        unread += [f"{function.name}({name})" for name in missed]
    return unread


def test_every_argument_is_read():
    paths = [path for name in FOLDERS for path in (PACKAGE / name).glob("*.py")]
    assert len(paths) > 50
    assert not unread_parameters({str(path): path.read_text() for path in paths})


def test_an_argument_that_nothing_reads_is_found():
    source = """
class Options:
    weight: str
def read(cells):
    return cells, pass_arguments_to(Options)
def table(frame, p, weight):
    return read(frame)
"""
    assert unread_parameters({"a": source}) == ["table(p)"]
    assert unread_parameters({"a": source.replace("(Options)", "(str)")}) == [
        "table(p)",
        "table(weight)",
    ]


@pytest.fixture
def outer_and_inner(monkeypatch):
    """A table function that calls another one before it makes its options."""
    monkeypatch.setattr(tables, "_DECLARED", {})
    declare = tables.table_function("labels", guide="external")

    @declare
    def inner(frame: pl.DataFrame, *, p: float = 1, noise: object = None) -> object:  # noqa: ARG001
        return tables.pass_arguments_to(dict_of_two)

    @declare
    def outer(frame: pl.DataFrame, p: float, *, noise: object = None) -> object:  # noqa: ARG001
        own = inner(frame)
        changed = tables.pass_arguments_to(dict_of_two, noise="other")
        return own, tables.pass_arguments_to(dict_of_two), changed

    return outer


def dict_of_two(*, p: float = 0, noise: object = None, weight: object = "default") -> object:
    return p, noise, weight


def test_a_table_called_by_a_table_has_its_own_arguments(outer_and_inner):
    own = (1, None, "default")
    frame = pl.DataFrame({"x": [1]})
    # By position, by name, and by default.
    assert outer_and_inner(frame, 3) == (own, (3, None, "default"), (3, "other", "default"))
    assert outer_and_inner(frame, p=4, noise=-1)[1] == (4, -1, "default")
