"""Imports: a name of the package imports what it needs when it is first used, and no more."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import subprocess
import sys

import pytest

import polars_clustereval as ce
from polars_clustereval.base.public_names import METRICS, PLOTS, TABLES
from polars_clustereval.namespaces import ClusterEval

#: The modules that every import of the package imports.
FIRST = {"", "base", "base.public_names", "errors", "namespaces"}
#: Libraries that some of the functions need.
LIBRARIES = {"altair", "duckdb", "numpy", "sqlglot"}
VERSION = """
from polars_clustereval.cli import main
try:
    main(["--version"])
except SystemExit:
    pass
"""


def modules_after(code: str) -> set[str]:
    """What a new process has imported after this code: modules of the package, and libraries."""
    call = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    found = done.stdout.split()
    own = {
        x.removeprefix("polars_clustereval").lstrip(".")
        for x in found
        if x.startswith("polars_clustereval")
    }
    return own | LIBRARIES & {*found}


def test_the_package_imports_no_function() -> None:
    assert modules_after("import polars_clustereval") == FIRST


@pytest.mark.gate
@pytest.mark.parametrize(
    ("use", "module"),
    [
        ("ce.adjusted_rand_score('label', 'cluster')", "external.pair_counting"),
        ("ce.external_report", "external.report"),
        ("from polars_clustereval import internal_report", "internal.report"),
        ("ce.register", "macros"),
        ("ce.plots.elbow_plot", "plots"),
        ("pl.DataFrame().clustereval.run_drift", "relative.drift"),
        ("pl.LazyFrame().clustereval.elbow_plot", "plots"),
    ],
)
def test_a_name_imports_its_module(use: str, module: str) -> None:
    found = modules_after(f"import polars as pl, polars_clustereval as ce\n{use}")
    assert module in found
    assert found == modules_after(f"import polars_clustereval.{module}")


@pytest.mark.gate
def test_the_version_is_printed_without_the_commands() -> None:
    assert modules_after(VERSION) == FIRST | {"base.quoting", "cli", "cli.version"}


# What the names are, although they are imported late ----------------------------------------------


def test_each_function_is_defined_in_the_module_that_is_imported() -> None:
    of_package = {name: getattr(ce, name).__module__ for name in METRICS | TABLES}
    of_plots = {name: getattr(ce.plots, name).__module__ for name in ce.plots.__all__}
    modules = METRICS | TABLES | PLOTS
    assert of_package | of_plots == {
        name: f"polars_clustereval.{module}" for name, module in modules.items()
    }


def test_a_star_imports_all_names() -> None:
    names: dict[str, object] = {}
    exec("from polars_clustereval import *", names)
    assert names.keys() - {"__builtins__"} == set(ce.__all__)
    assert all(names[name] is getattr(ce, name) for name in ce.__all__)


@pytest.mark.parametrize("name", ["external_report", "elbow", "parse_vector", "register"])
def test_a_function_can_be_pickled(name: str) -> None:
    function = getattr(ce, name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_help_describes_every_function() -> None:
    text = pydoc.plain(pydoc.render_doc(ce))
    assert all(f"\n    {name}(" in text for name in METRICS | TABLES)


@pytest.mark.parametrize("name", TABLES | PLOTS)
def test_a_method_has_the_docstring_and_the_parameters_of_its_function(name: str) -> None:
    method, function = getattr(ClusterEval, name), getattr(ce if name in TABLES else ce.plots, name)
    assert inspect.getdoc(method) == inspect.getdoc(function)
    assert inspect.signature(method) == inspect.signature(function)
