"""The names of the metrics and tables in lists of the package, read and written as text.

The package cannot be imported while these files name a function that is gone, so nothing here
imports it.
"""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import indent

PACKAGE = Path(__file__).parent.parent / "polars_clustereval"
INIT = PACKAGE / "__init__.py"
NAMESPACES = PACKAGE / "namespaces.py"
PLOTS = PACKAGE / "plots" / "__init__.py"
NAMES = PACKAGE / "base" / "public_names.py"
SPARK = PACKAGE / "spark" / "__init__.py"
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
OTHERS = {
    "internal.vectors": ["parse_vector"],
    "internal.distance_pairs": ["distances_from_matrix"],
}


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


def metrics_by_module() -> dict[str, list[str]]:
    """The metrics by their module."""
    return {f"external.{stem}": metrics_in(stem) for stem in FAMILIES}


def public_functions() -> dict[str, list[str]]:
    """The metrics, the tables and the others by their module."""
    metrics = metrics_by_module()
    found = {
        module: metrics.get(module, []) + tables_in(module) + OTHERS.get(module, [])
        for module in modules()
    }
    return {module: names for module, names in found.items() if names}


def import_of(module: str, names: list[str], width: int) -> str:
    """The import of some names, as the formatter writes it."""
    listed = sorted(names)
    line = f"from .{module} import {', '.join(listed)}"
    if len(line) <= width:
        return f"{line}\n"
    return f"from .{module} import (\n" + "".join(f"    {name},\n" for name in listed) + ")\n"


def replace_nodes(text: str, nodes: list[ast.stmt], new: str) -> str:
    """The text with new lines, of the same depth, in place of successive statements."""
    lines = text.splitlines(keepends=True)
    start, end = nodes[0].lineno - 1, nodes[-1].end_lineno
    return "".join([*lines[:start], indent(new, " " * nodes[0].col_offset), *lines[end:]])


def all_statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a body, those that only type checkers read too."""
    checked = (
        x.body if isinstance(x, ast.If) and ast.unparse(x.test) == "TYPE_CHECKING" else [x]
        for x in body
    )
    return [node for nodes in checked for node in nodes]


def first_part(module: str | None) -> str:
    """The folder that a module is in, or the module itself."""
    return (module or "").partition(".")[0]


def imports_from(text: str, folder: str) -> list[ast.ImportFrom]:
    """The imports of a module from the modules of a folder, or from one module."""
    body = all_statements(ast.parse(text).body)
    nodes = (node for node in body if isinstance(node, ast.ImportFrom))
    return [node for node in nodes if node.level and first_part(node.module) == folder]


def with_imports(text: str, functions: dict[str, list[str]]) -> str:
    """The text of a module with the imports of functions in place of those from their folders."""
    for folder in dict.fromkeys(map(first_part, functions)):
        old = imports_from(text, folder)
        width = 100 - old[0].col_offset
        found = {x: names for x, names in functions.items() if first_part(x) == folder}
        new = "".join(import_of(x, names, width) for x, names in found.items())
        text = replace_nodes(text, list(old), new)
    return text


def imported_names(text: str, functions: dict[str, list[str]]) -> set[str]:
    """The names that a module imports from the folders of these functions."""
    nodes = (node for x in set(map(first_part, functions)) for node in imports_from(text, x))
    return {alias.name for node in nodes for alias in node.names}


def exports(path: Path, functions: dict[str, list[str]]) -> str:
    """The text of an __init__.py with these functions in its imports and in __all__."""
    old = path.read_text(encoding="utf-8")
    text = with_imports(old, functions)
    node = assignment(text, "__all__")
    others = set(ast.literal_eval(node.value)) - imported_names(old, functions)
    listed = others | imported_names(text, functions)
    public = sorted(listed, key=lambda name: (name[0].islower(), name))
    listing = "".join(f'    "{name}",\n' for name in public)
    return replace_nodes(text, [node], f"__all__ = [\n{listing}]\n")


def namespaces() -> str:
    """The text of namespaces.py with all tables, in its imports and as methods."""
    old = NAMESPACES.read_text(encoding="utf-8")
    text = with_imports(old, tables_by_module())
    names_before = imported_names(old, tables_by_module())
    classes = [x for x in ast.parse(text).body if isinstance(x, ast.ClassDef)]
    [body] = [x.body for x in classes if x.name == "ClusterEval"]
    methods = [
        node
        for node in all_statements(body)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names_before
    ]
    names = [name for found in tables_by_module().values() for name in found]
    return replace_nodes(text, list(methods), "".join(f"{x} = _method({x})\n" for x in names))


def plots() -> dict[str, list[str]]:
    """The charts by their module."""
    nodes = ast.parse(PLOTS.read_text(encoding="utf-8")).body
    found = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level]
    return {f"plots.{node.module}": [alias.name for alias in node.names] for node in found}


def assignment(text: str, name: str) -> ast.Assign:
    """The statement of a module that assigns a constant."""
    nodes = (node for node in ast.parse(text).body if isinstance(node, ast.Assign))
    [found] = [node for node in nodes if ast.unparse(node.targets[0]) == name]
    return found


def public_names() -> str:
    """The text of the module that knows what to import for a name."""
    text = NAMES.read_text(encoding="utf-8")
    for name, functions in (
        ("METRICS", metrics_by_module()),
        ("TABLES", tables_by_module()),
        ("PLOTS", plots()),
    ):
        rows = [f'    "{x}": "{module}",\n' for module, names in functions.items() for x in names]
        new = f"{name} = {{\n{''.join(rows)}}}\n"
        text = replace_nodes(text, [assignment(text, name)], new)
    return text


def spark_functions() -> dict[str, list[str]]:
    """The tables of Spark by their module."""
    nodes = ast.parse((PACKAGE / "spark" / "reports.py").read_text(encoding="utf-8")).body
    calls = [x for x in nodes if isinstance(x, ast.Assign) and isinstance(x.value, ast.Call)]
    return {"reports": [ast.unparse(x.targets[0]) for x in calls]}


def all_files() -> dict[Path, str]:
    """The texts of the files that list metrics and tables to export them."""
    return {
        NAMES: public_names(),
        INIT: exports(INIT, public_functions()),
        NAMESPACES: namespaces(),
        SPARK: exports(SPARK, spark_functions()),
    }
