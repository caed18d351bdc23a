"""The structure that CONTRIBUTING describes: folders, stems, imports and private names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from polars_clustereval.macros import macro_definitions, sql_files

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "polars_clustereval"
MODULES = sorted(PACKAGE.rglob("*.py"))
TEST_MODULES = sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "tools").rglob("*.py")])
#: Folders from the top; those in one tuple do not import from each other.
FOLDERS = (
    *(("errors",), ("base",), ("external",), ("internal",), ("relative", "macros")),
    *(("catalogue",), ("dialects",), ("spark",)),
)
#: Python modules of these folders that no SQL file mirrors.
PYTHON_ONLY = {
    *("base/counts", "base/data_arguments", "base/frames", "base/metric_facts", "base/quoting"),
    *(
        "base/deferral",
        "base/growth",
        "base/public_names",
        "base/tables",
        "base/unknown_names",
        "external/cuts",
        "internal/density",
        "internal/two_passes",
        "relative/resampling",
    ),
    "base/text_frame",
}
#: Files of sql/ whose macros one module has with those of another file.
SQL_ONLY = {"internal/extreme_pairs", "internal/moments"}
#: Python modules of the package that are in no folder.
MAX_LOOSE = 8
#: Files of sql/ that `make facts` writes.
GENERATED = {"aggregates", "facts", "columns", "tables"}


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> list[tuple[str, str]]:
    """Imports from the package itself, for type checking too: (module, name)."""
    found = []
    package = path.relative_to(PACKAGE).parts[:-1]
    for node in ast.walk(parse(path)):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            base = package[: len(package) - node.level + 1]
        elif (node.module or "").split(".")[0] == "polars_clustereval":
            base = ()
        else:
            continue
        inner = (node.module or "").removeprefix("polars_clustereval").strip(".")
        module = ".".join([*base, *([inner] if inner else [])])
        found += [(module, alias.name) for alias in node.names]
    return found


def modules_of(path: Path) -> set[str]:
    """Modules that a module imports from; `from . import x` imports from x."""
    names = {name_of(other) for other in MODULES}
    joined = {(module, f"{module}.{name}".strip(".")) for module, name in imports_of(path)}
    return {full if full in names else module for module, full in joined} - {""}


def rank(module: str) -> int | None:
    top = module.split(".")[0]
    return next((i for i, folders in enumerate(FOLDERS) if top in folders), None)


def defined_private_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in parse(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            walked = (part for target in targets for part in ast.walk(target))
            names |= {part.id for part in walked if isinstance(part, ast.Name)}
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def test_no_module_imports_a_private_name() -> None:
    private = {
        name_of(path): [name for _, name in imports_of(path) if re.match("_(?!_)", name)]
        for path in MODULES
    }
    assert not {module: names for module, names in private.items() if names}


def test_no_private_name_is_defined_in_two_modules() -> None:
    places = defaultdict(set)
    for path in MODULES:
        for name in defined_private_names(path):
            places[name].add(name_of(path))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_no_macro_is_defined_twice() -> None:
    """The second definition would replace the first."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "sql").rglob("*.sql"))]
    definition = r"^CREATE OR REPLACE MACRO clustereval\.(\w+)"
    names = [name for text in texts for name in re.findall(definition, text, re.MULTILINE)]
    assert len(names) > 900
    assert len(names) == len(set(names))


def test_imports_go_up_the_tree() -> None:
    for path in MODULES:
        own = rank(name_of(path))
        for module in modules_of(path) if own is not None else ():
            top, mine = module.split(".")[0], name_of(path).split(".")[0]
            other = rank(module)
            assert other is not None, f"{name_of(path)} imports {module}"
            assert other < own or top == mine, f"{name_of(path)} imports {module}"


def test_few_modules_are_in_no_folder() -> None:
    assert len([*PACKAGE.glob("*.py")]) <= MAX_LOOSE


def test_no_circle_of_imports() -> None:
    graph = {name_of(path): modules_of(path) for path in MODULES}
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, " -> ".join([*above, module])
        if module not in done:
            for other in graph.get(module, ()):
                visit(other, (*above, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_both_sides_have_the_same_stems() -> None:
    folders = ("base", "external", "internal", "relative")
    python = {
        str(path.relative_to(PACKAGE).with_suffix(""))
        for folder in folders
        for path in (PACKAGE / folder).glob("*.py")
        if path.stem != "__init__"
    }
    files = {
        str(path.relative_to(ROOT / "sql").with_suffix("")) for path in ROOT.glob("sql/*/*.sql")
    }
    assert files | GENERATED == set(sql_files())
    assert python - PYTHON_ONLY == files - SQL_ONLY


#: What a linter reads at the end of a line, which may be longer with it.
PRAGMA = re.compile(r"  # (?:type: ignore|noqa|fmt:).*")


def test_no_line_is_long() -> None:
    scripts = ROOT.glob("playground/src/**/*.js")
    for path in (*MODULES, *ROOT.glob("sql/**/*.sql"), *TEST_MODULES, *scripts):
        lines = path.read_text(encoding="utf-8").splitlines()
        long = [n for n, line in enumerate(lines, 1) if len(PRAGMA.sub("", line)) > 100]
        assert long == [], path


# Every ORDER BY

STRING = re.compile(r"'((?:[^']|'')*)'")
INNERMOST = re.compile(r"(\w*)[(\[{]([^()\[\]{}]*)[)\]}]")
ORDER = re.compile(r"\bORDER BY\b(.*?)(?=\bLIMIT\b|\bROWS\b|\bRANGE\b|\Z)", re.DOTALL)
DIRECTION = re.compile(r"\b(?:ASC|DESC),? NULLS (?:FIRST|LAST)\s*\Z")


def undirected_keys(sql: str) -> list[str]:
    """Keys of ORDER BY, and lists in list_sort, whose order depends on the session's settings."""
    found: list[str] = []

    def keep_query(string: re.Match[str]) -> str:
        text = string[1]
        return text if "ORDER BY" in text or text in ("ASC", "NULLS LAST") else ""

    def check(name: str, inside: str) -> str:
        found.extend([inside] if name == "list_sort" and not DIRECTION.search(inside) else [])
        keys = [key for clause in ORDER.findall(inside) for key in clause.split(",")]
        found.extend(key.strip() for key in keys if not DIRECTION.search(key))
        return name

    code = STRING.sub(keep_query, re.sub(r"--.*", "", sql))
    while INNERMOST.search(code):
        code = INNERMOST.sub(lambda match: check(match[1], match[2]), code)
    for statement in code.split(";"):
        check("", statement)
    return found


def test_every_order_is_written_out() -> None:
    found = {
        path.stem: undirected_keys(path.read_text(encoding="utf-8"))
        for path in ROOT.glob("sql/**/*.sql")
    }
    assert not {stem: keys for stem, keys in found.items() if keys}


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT f(x) FROM t ORDER BY x, 2 ASC NULLS LAST LIMIT 1;", ["x"]),
        ("SELECT list(x ORDER BY f(i, 2) ASC) FROM t -- ORDER BY", ["f ASC"]),
        ("row_number() OVER (PARTITION BY a ORDER BY b NULLS LAST ROWS 1)", ["b NULLS LAST"]),
        ("list_sort(list_zip(x, [1, y]))", ["list_zip"]),
        ("list_sort(x, y)", ["x, y"]),
        ("query('SELECT (x) ORDER BY x')", ["x"]),
        ("list_sort(f('ASC'), 'ASC', 'NULLS LAST'); 'in order' ORDER BY x DESC NULLS FIRST", []),
    ],
)
def test_an_order_that_is_not_written_out_is_found(sql: str, found: list[str]) -> None:
    assert undirected_keys(sql) == found


def test_the_page_of_the_sql_side_names_macros_and_files_that_there_are() -> None:
    text = (ROOT / "sql" / "README.md").read_text(encoding="utf-8")
    macros = {name for name in re.findall(r"`(_[a-z]\w*[a-z])\b", text) if name[:2] != "__"}
    assert len(macros) > 8
    assert macros <= macro_definitions().keys()
    folders = {path.name for path in (ROOT / "sql").iterdir() if path.is_dir()}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == folders


@pytest.mark.gate
def test_no_error_of_python_shows_an_argument_of_sql() -> None:
    """A parameter and its value are a Setting, which is written as in Python, or in the shell."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            texts = ast.walk(node) if isinstance(node, ast.Raise) else ()
            values = [x.value for x in texts if isinstance(x, ast.Constant)]
            assert not [x for x in values if isinstance(x, str) and ":=" in x], path
