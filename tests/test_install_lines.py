"""The install and run lines of the README and the tutorials, run as a stranger types them.

They run one after the other in a fresh clone, after `make demo`. Before a page activates the
environment, `pip` and `python` are somebody else's: they fail and say so. The targets of make that
install something run in clones where nothing is installed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: In the order in which a stranger reads them.
PAGES = (
    *("README.md", "docs/tutorial_duckdb.md", "docs/tutorial_polars.md"),
    *("docs/tutorial_entity_resolution.md", "docs/tutorial_dbt.md"),
)
#: Code of the pages that is not run here, with the reason.
NOT_RUN = {
    "apt install python3-venv": "changes the system",
    "make demo": "DEMO, before the lines of the pages",
    "make test": "a step of the gate",
    "make lint": "a step of the gate",
    "make docs": "test_a_target_of_make, which runs it alone or within make playground",
    "make playground": "test_a_target_of_make",
    "make bench": "test_a_target_of_make, with less data",
    "dbt build": "the block above has it; the sentence is about a project that was changed",
    "GROUP BY run": "SQL",
    "GROUP BY label, cluster": "SQL",
}
#: What a reader runs first; the environment that it leaves is to have a pip, for the extras.
DEMO = ["make demo", ". .venv/bin/activate", "pip --version", "python -m pip --version"]
#: A line that needs what a later line of its page installs, as its sentence says.
NEEDS = {
    "clustereval report examples/digits.parquet --label digit --cluster kmeans --vector pixels "
    "--html report.html": "pip install '.[plot]'"
}
CODE = re.compile(r"^```(\w*)\n(.*?)^```$|`([^`]+)`", re.MULTILINE | re.DOTALL)
#: The languages of blocks that no shell reads; other tests run them.
NO_SHELL = {"sql", "python", "jinja"}
#: How the blocks start that show what a query or a call prints.
OUTPUT = ("┌", "|", "shape: ")
#: A pip or a python of another environment.
DECOY = """#!/bin/sh
echo "this is another Python's $(basename "$0"): $*" >&2
exit 86
"""
#: What says that .read has created the macros.
AFTER_READ = "SELECT clustereval.version();"

SMALL = "OPTIONS=--only report --rows 20_000 --repeats 1"
#: For each target, what is typed behind `make` and a file that it writes or a line that it prints.
TARGETS = {
    "docs": ("docs", "site/llms-full.txt"),
    "playground": ("playground", "site/playground/site.js"),
    "extension": ("extension", "build/extension/clustereval.duckdb_extension"),
    "bench": (f"bench {SMALL!r}", "## One clustering, 20,000 rows, 1,000 × 1,000 clusters"),
}
#: The first step of `make playground` is `make docs`.
SITE = "playground" if shutil.which("npm") else "docs"

needs_sh = pytest.mark.skipif(sys.platform == "win32", reason="sh: not on Windows")


# The lines of a page ---------------------------------------------------------------------------


def code_lines(text: str) -> list[str]:
    """All code of a page that may be typed into a shell, from the top to the bottom."""
    return [line for found in CODE.findall(text) for line in lines_of(*found)]


def lines_of(language: str, block: str, span: str) -> list[str]:
    """The lines of a block, or that of code in a sentence, where one word is a name."""
    if not block:
        line = " ".join(span.split())
        return [line] if " " in line else []
    if language == "sh":
        return commands(block)
    if language in NO_SHELL or block.startswith(OUTPUT):
        return []
    assert language == "text", f"{language}: who reads this block, a shell?"
    # A prompt goes before a line, and two spaces and a description behind it.
    return [re.split(r" {2,}", line.removeprefix("D "))[0] for line in block.splitlines()]


def commands(block: str) -> list[str]:
    """The commands of a shell script, of which quotes may hold several lines together."""
    found, command = [], ""
    for line in block.splitlines(keepends=True):
        command += line
        try:
            words = shlex.split(command, comments=True)
        except ValueError:  # no closing quotation
            continue
        if words:
            found.append(command.rstrip())
        command = ""
    assert command == ""
    return found


def lines_to_run(page: str) -> list[str]:
    """The lines of a page without NOT_RUN, those in NEEDS behind what they need."""
    found = code_lines((ROOT / page).read_text(encoding="utf-8"))
    lines = [line for line in found if line not in NOT_RUN and line not in NEEDS]
    for line, needed in NEEDS.items():
        if line in found:
            lines.insert(lines.index(needed) + 1, line)
    return lines


def is_for_duckdb(line: str) -> bool:
    """Whether the shell of DuckDB reads this line."""
    return re.match(r"\.[a-z]+ ", line) is not None


def session_of(lines: list[str]) -> str:
    """A script that shows each line, runs it, and ends where one fails."""
    script = ['end() { printf \'status %s of the line: %s\\n\' "$@"; exit "$1"; }']
    for in_duckdb, group in groupby(lines, key=is_for_duckdb):
        run = list(group)
        if in_duckdb:
            run = ["\n".join(["duckdb -bail <<'END'", *run, AFTER_READ, "END"])]
        for command in run:
            shown = shlex.quote(command)
            script += [f"printf '\\n$ %s\\n' {shown}", command]
            script += [f"status=$?; [ $status -eq 0 ] || end $status {shown}"]
    return "\n".join(script)


def test_lines_are_found_wherever_a_page_has_them() -> None:
    page = (
        "Run `pip install\n'.[plot]'`, not `pip`.\n\n```sh\n# first\nmake a && make b\n"
        'dbt show "\n  select 1"\n```\n\n```text\nmake c    a target\nD .read c.sql\n```\n\n'
        "```text\n┌───┐\n│ a │\n```\n\n```sql\nSELECT `a b`;\n```\n"
    )
    found = ["pip install '.[plot]'", "make a && make b", 'dbt show "\n  select 1"', "make c"]
    assert code_lines(page) == [*found, ".read c.sql"]
    with pytest.raises(AssertionError, match="powershell: who reads this block"):
        code_lines("```powershell\npip install .\n```\n")


def test_the_pages_have_what_is_listed_here() -> None:
    tutorials = {f"docs/{path.name}" for path in (ROOT / "docs").glob("tutorial_*.md")}
    assert tutorials | {"README.md"} == set(PAGES)
    found = {line for page in PAGES for line in code_lines((ROOT / page).read_text("utf-8"))}
    assert not {*NOT_RUN, *NEEDS} - found
    assert {f"make {target}" for target in TARGETS} - found == {"make extension"}
    lines = lines_to_run("README.md")
    assert lines[:2] == ["python3 -m venv .venv", ".venv/bin/pip install ."]
    for line in (". .venv/bin/activate", "pip install '.[plot]'", *NEEDS, ".read clustereval.sql"):
        assert line in lines
    assert lines_to_run("docs/tutorial_dbt.md")[:2] == [
        ". .venv/bin/activate",
        "pip install '.[dbt]'",
    ]


# A stranger's machine --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a shell in which the first pip and the first python are decoys."""
    decoys = tmp_path_factory.mktemp("decoys")
    for name in ("pip", "python"):
        (decoys / name).write_text(DECOY, encoding="utf-8")
        (decoys / name).chmod(0o755)
    # The environment of the tests has everything, and this make its own variables.
    ours = {str(Path(sys.prefix) / "bin")} if sys.prefix != sys.base_prefix else set()
    path = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder not in ours]
    given = re.compile("PYTHON|PYTEST|VIRTUAL_ENV|MAKE|MFLAGS|SEED|LOCK")
    variables = {name: value for name, value in os.environ.items() if not given.match(name)}
    # Modules are compiled when they are imported, as few of them are.
    return {**variables, "PATH": os.pathsep.join([str(decoys), *path]), "PIP_NO_COMPILE": "1"}


def clone_into(folder: Path) -> Path:
    """A copy of what git would commit here: without environments, and without what was built."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():  # not deleted
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def run_lines(lines: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """The status and the output of lines in a shell, which names the one that fails."""
    done = subprocess.run(
        ["sh", "-c", session_of(lines)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


def install_duckdb_shell(folder: Path, path: str) -> None:
    """Put the shell of DuckDB, which no page installs, into the first folder of the path."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python")
    subprocess.run([*pip, "install", "--quiet", "duckdb-cli>=1.5.5"], check=True)
    (Path(path.split(os.pathsep)[0]) / "duckdb").symlink_to(folder / "bin" / "duckdb")


@needs_sh
@pytest.mark.slow
@pytest.mark.parametrize("line", ["pip install .", "python -m pip install ."])
def test_a_line_that_forgets_the_environment_is_noticed(
    line: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The lines after it are not run."""
    status, out = run_lines(["echo a", line, "echo b"], tmp_path, environment)
    assert status == 86
    program, _, rest = line.partition(" ")
    shown = f"\n$ {line}\nthis is another Python's {program}: {rest}\n"
    assert out == f"\n$ echo a\na\n{shown}status 86 of the line: {line}\n"


@needs_sh
@pytest.mark.slow
def test_the_lines_of_the_pages(tmp_path: Path, environment: dict[str, str]) -> None:
    """Each page in a shell of its own, and all of them in the same clone."""
    folder = clone_into(tmp_path / "clone")
    install_duckdb_shell(tmp_path / "duckdb", environment["PATH"])
    outputs = {}
    for page, lines in {"the demo": DEMO, **{page: lines_to_run(page) for page in PAGES}}.items():
        status, outputs[page] = run_lines(lines, folder, environment)
        assert status == 0, f"{page}:\n{outputs[page]}"
    assert "\nclustereval 0.1.0\n" in outputs["README.md"]
    assert "|    2026-03-01 | 0.615 |" in outputs["docs/tutorial_dbt.md"]


@needs_sh
@pytest.mark.slow
@pytest.mark.parametrize("target", [SITE, "extension", "bench"])
def test_a_target_of_make(target: str, tmp_path: Path, environment: dict[str, str]) -> None:
    """Each in a clone without an environment: it installs all that it needs."""
    if target == "extension" and shutil.which("cc") is None:
        pytest.skip("cc: not installed; it compiles the extension")
    folder = clone_into(tmp_path / "clone")
    line, made = TARGETS[target]
    status, out = run_lines([f"make {line}"], folder, environment)
    assert status == 0, out
    assert made in out.splitlines() or (folder / made).is_file(), out
