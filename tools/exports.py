"""The names of the metrics and tables in __init__.py and namespaces.py, read and written as text.

The package cannot be imported while these files name a function that is gone, so nothing here
imports it.
"""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "polars_clustereval"
INIT = PACKAGE / "__init__.py"
NAMESPACES = PACKAGE / "namespaces.py"
FOLDERS = ("external", "internal", "relative")
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
#: Public functions of modules with tables that return no table.
OTHERS = {"internal.vectors": ["parse_vector"]}


def functions_in(module: str) -> list[ast.FunctionDef]:
    """The functions of a module such as internal.dunn."""
    path = PACKAGE / f"{module.replace('.', '/')}.py"
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node for node in body if isinstance(node, ast.FunctionDef)]


def metrics_in(stem: str) -> list[str]:
    """The metrics of a module of external: its functions whose docstring has the section Facts."""
    return [
        node.name
        for node in functions_in(f"external.{stem}")
        if "\n\nFacts\n-----\n" in (ast.get_docstring(node) or "")
    ]


def tables_in(module: str) -> list[str]:
    """The tables of a module: its functions with the decorator table_function."""
    return [
        node.name
        for node in functions_in(module)
        if any(ast.unparse(x).startswith("table_function(") for x in node.decorator_list)
    ]


def modules() -> list[str]:
    """The modules of metrics and tables."""
    return [
        f"{folder}.{x.stem}" for folder in FOLDERS for x in sorted(PACKAGE.glob(f"{folder}/*.py"))
    ]


def tables_by_module() -> dict[str, list[str]]:
    """The tables by their module."""
    found = {module: tables_in(module) for module in modules()}
    return {module: names for module, names in found.items() if names}


def public_functions() -> dict[str, list[str]]:
    """The metrics, the tables and the others by their module."""
    metrics = {f"external.{stem}": metrics_in(stem) for stem in FAMILIES}
    found = {
        module: metrics.get(module, []) + tables_in(module) + OTHERS.get(module, [])
        for module in modules()
    }
    return {module: names for module, names in found.items() if names}


def import_of(module: str, names: list[str]) -> str:
    """The import of some names, as the formatter writes it."""
    listed = sorted(names)
    line = f"from .{module} import {', '.join(listed)}\n"
    if len(line) <= 101:
        return line
    return f"from .{module} import (\n" + "".join(f"    {name},\n" for name in listed) + ")\n"


def replace_nodes(text: str, nodes: list[ast.stmt], new: str) -> str:
    """The text with new lines in place of statements that follow one another."""
    lines = text.splitlines(keepends=True)
    start, end = nodes[0].lineno - 1, nodes[-1].end_lineno
    return "".join([*lines[:start], new, *lines[end:]])


def with_imports(text: str, functions: dict[str, list[str]]) -> str:
    """The text of a module with the imports of functions in place of those from their folders."""
    for folder in FOLDERS:
        old = [
            node
            for node in ast.parse(text).body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{folder}.")
        ]
        new = [import_of(x, names) for x, names in functions.items() if x.startswith(f"{folder}.")]
        text = replace_nodes(text, list(old), "".join(new))
    return text


def imported_names(text: str) -> set[str]:
    """The names that a module imports from the folders of metrics and tables."""
    return {
        alias.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in FOLDERS
        for alias in node.names
    }


def exports() -> str:
    """The text of __init__.py with all metrics and tables, in its imports and in __all__."""
    old = INIT.read_text(encoding="utf-8")
    text = with_imports(old, public_functions())
    [node] = [
        x
        for x in ast.parse(text).body
        if isinstance(x, ast.Assign) and ast.unparse(x.targets[0]) == "__all__"
    ]
    listed = (set(ast.literal_eval(node.value)) - imported_names(old)) | imported_names(text)
    public = sorted(listed, key=lambda name: (name[0].islower(), name))
    listing = "".join(f'    "{name}",\n' for name in public)
    return replace_nodes(text, [node], f"__all__ = [\n{listing}]\n")


def namespaces() -> str:
    """The text of namespaces.py with all tables, in its imports and as methods."""
    old = NAMESPACES.read_text(encoding="utf-8")
    text = with_imports(old, tables_by_module())
    [body] = [x.body for x in ast.parse(text).body if isinstance(x, ast.ClassDef)]
    methods = [
        node
        for node in body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in imported_names(old)
    ]
    names = [name for found in tables_by_module().values() for name in found]
    return replace_nodes(text, list(methods), "".join(f"    {x} = _method({x})\n" for x in names))
