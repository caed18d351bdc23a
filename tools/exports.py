"""The names of the metrics in polars_clustereval/__init__.py, read and written as text.

The package cannot be imported while this list names a function that is gone, so nothing here
imports it.
"""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "polars_clustereval"
INIT = PACKAGE / "__init__.py"
#: The modules of polars_clustereval/external that define metrics, and the family of these.
FAMILIES = {
    "pair_counting": "pair counting",
    "association": "pair counting",
    "entropies": "information",
    "information": "information",
    "expected_information": "information",
    "set_matching": "set matching",
    "entity_matching": "entity resolution",
    "coreference": "coreference",
    "reduced_information": "reduced information",
}


def metrics_in(stem: str) -> list[str]:
    """The metrics of a module: its functions whose docstring has the section Facts."""
    code = ast.parse((PACKAGE / "external" / f"{stem}.py").read_text(encoding="utf-8"))
    return [
        node.name
        for node in code.body
        if isinstance(node, ast.FunctionDef)
        and "\n\nFacts\n-----\n" in (ast.get_docstring(node) or "")
    ]


def import_of(stem: str, names: list[str]) -> str:
    """The import of some names, as the formatter writes it."""
    line = f"from .external.{stem} import {', '.join(names)}\n"
    if len(line) <= 100:
        return line
    return f"from .external.{stem} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def exports() -> str:
    """The text of __init__.py with the metrics that there are, in its imports and in __all__."""
    text = INIT.read_text(encoding="utf-8")
    names = {stem: sorted(metrics_in(stem)) for stem in FAMILIES}
    old: set[str] = set()
    for node in reversed(ast.parse(text).body):
        lines = text.splitlines(keepends=True)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("external."):
            stem = (node.module or "").removeprefix("external.")
            if stem in names:
                old |= {alias.name for alias in node.names}
                new = import_of(stem, names[stem])
                text = "".join([*lines[: node.lineno - 1], new, *lines[node.end_lineno :]])
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            listed = ast.literal_eval(node.value)
            start, end = node.lineno - 1, node.end_lineno or 0
            text = "".join([*lines[:start], "__all__ = []  # names\n", *lines[end:]])
    metrics = {name for found in names.values() for name in found}
    public = sorted((set(listed) - old) | metrics, key=lambda name: (name[0].islower(), name))
    listing = "".join(f'    "{name}",\n' for name in public)
    return text.replace("__all__ = []  # names\n", f"__all__ = [\n{listing}]\n")
