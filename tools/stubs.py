"""Stubs of functions whose signatures come from the declarations of the tables.

Python computes these signatures when it imports the functions. Editors, type checkers and the site
read the stubs.
"""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from polars_clustereval import dialects, spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGE = Path(__file__).parent.parent / "polars_clustereval"

HEAD = "# Written by `make facts`: do not edit.\n"
TYPES = """\
from polars_clustereval.base.checks import NoiseAs
from polars_clustereval.external.entity_matching import EditCost
from polars_clustereval.external.information import NormalizedMethod
from polars_clustereval.internal.distances import Center, DistanceName
from polars_clustereval.internal.kernels.other_clusters import Between
from polars_clustereval.internal.vectors import Missing
"""
SPARK = """\
from collections.abc import Sequence
from typing import Literal, TypeAlias

from pyspark.sql import Column, DataFrame

"""
SPARK_TYPES = """
Keys: TypeAlias = str | Column | Sequence[str | Column]
Vector: TypeAlias = str | Column | Sequence[str | Column]

"""
DIALECTS = """\
from collections.abc import Sequence
from typing import Literal

"""


def stubs() -> dict[Path, str]:
    """The texts of the stubs by their paths."""
    functions = [getattr(spark, name) for name in spark.__all__]
    of_spark = [HEAD, SPARK, TYPES, SPARK_TYPES, listing(spark.__all__)]
    path = PACKAGE / "dialects" / "__init__.py"
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    imports = [x for x in nodes if isinstance(x, ast.ImportFrom) and x.level]
    for node in imports:
        node.names = [alias for alias in node.names if alias.name != "to_sql"]
    own = "".join(f"{ast.unparse(x)}\n" for x in imports)
    of_dialects = [HEAD, DIALECTS, TYPES, "\n", own, "\n", listing(dialects.__all__)]
    return {
        PACKAGE / "spark" / "__init__.pyi": "".join([*of_spark, *map(definition, functions)]),
        PACKAGE / "dialects" / "__init__.pyi": "".join([*of_dialects, definition(dialects.to_sql)]),
    }


def listing(names: list[str]) -> str:
    return "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"


def definition(function: Callable[..., Any]) -> str:
    """The function without its body, as the formatter writes it."""
    signature = inspect.signature(function)
    parameters = "".join(f"    {text},\n" for text in parameters_of(signature))
    head = f"\ndef {function.__name__}(\n{parameters}) -> {signature.return_annotation}:"
    docstring = indent(f'"""{inspect.getdoc(function)}\n"""', "    ", lambda line: line != "\n")
    return f"{head}\n{docstring}\n"


def parameters_of(signature: inspect.Signature) -> Iterator[str]:
    is_keyword = False
    for x in signature.parameters.values():
        if x.kind is x.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            yield "*"
        default = json.dumps(x.default) if isinstance(x.default, str) else repr(x.default)
        yield f"{x.name}: {x.annotation}" + ("" if x.default is x.empty else f" = {default}")
