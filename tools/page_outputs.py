"""`make outputs`: what the SQL, the Python and the shell calls of the pages print, below them.

A text block right below a block of SQL is its output: the tables of its queries as the DuckDB
shell draws them. A text block right below a block of Python is what its prints write that have no
comment behind them with the output. In a console block the lines below a call are its output.
Pages that are written as a whole by `make facts` show their numbers in sentences instead.
"""

from __future__ import annotations

import ast
import io
import math
import os
import re
import shlex
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING

import duckdb

from polars_clustereval.cli import main as clustereval
from tools.page_session import ROOT, open_session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Characters of a line of the terminal: as many as a page shows without scrolling.
WIDTH = 100
#: Characters of a line of a table in SQL, so that the sentences of findings are whole.
TABLE_WIDTH = 120
#: Rows of a table; DuckDB draws the first and the last ones of a longer table.
ROWS = 10
SQL = re.compile(r"^```sql\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
#: The end of a statement: the semicolon, and comments behind it.
END = re.compile(r";\s*(?:--[^\n]*\s*)*\Z")
#: A call whose first lines are shown alone.
CUT = re.compile(r" \| head -n (\d+)$")


def pages_with_outputs() -> Iterator[Path]:
    """The pages that show outputs."""
    yield ROOT / "README.md"
    for path in sorted((ROOT / "docs").glob("*.md")):
        if not re.match(r"(metrics|api)(_|\.)", path.name):
            yield path


def sql_output(con: duckdb.DuckDBPyConnection, block: str) -> str:
    """The table of the query of a block, after the statements before it."""
    statements = con.extract_statements(block)
    queries = [x for x in statements if x.type == duckdb.StatementType.SELECT]
    if len(queries) > 1:
        raise ValueError(f"a block should have one query, with its output below it: {block}")
    with redirect_stdout(io.StringIO()) as printed:
        for statement in statements:
            if statement in queries:
                # A relation's query ends before the semicolon and what follows it.
                con.sql(END.sub("", statement.query)).show(max_width=TABLE_WIDTH, max_rows=ROWS)
            else:
                con.execute(statement)
    if "…" in printed.getvalue():
        raise ValueError(f"a table is cut: select less, or give a name to a column: {block}")
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().strip("\n").splitlines())


def call_output(call: str) -> str:
    """What a call of the command line prints, on a terminal of WIDTH characters."""
    cut = CUT.search(call)
    words = shlex.split(call[: cut.start()] if cut else call)
    if words[0] != "clustereval":
        raise ValueError(f"a call in a console block should be one of clustereval: {call}")
    # The command line writes some of its results as bytes.
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(terminal), redirect_stderr(io.StringIO()) as notes:
        status = clustereval(words[1:])
    if status:
        raise ValueError(f"{call}: status {status}: {notes.getvalue()}")
    terminal.seek(0)
    lines = [line.rstrip() for line in terminal.read().strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines[: int(cut[1]) if cut else None])


def console_output(block: str) -> str:
    """The calls of a console block, each with its output below it."""
    calls = [line for line in block.splitlines() if line.startswith("$ ")]
    return "\n".join(f"{call}\n{call_output(call[2:])}" for call in calls)


def comments_of_prints(block: str) -> list[str | None]:
    """The comment at the end of each print, None where there is none."""
    lines = block.splitlines()
    calls = [node for node in ast.parse(block).body if isinstance(node, ast.Expr)]
    ends = [
        lines[(node.end_lineno or 0) - 1][node.end_col_offset or 0 :]
        for node in calls
        if ast.unparse(node).startswith("print(")
    ]
    return [end.strip().removeprefix("# ") or None for end in ends]


def run_python(block: str, names: dict[str, object]) -> list[str]:
    """What each print of a block writes; the block defines further names."""
    printed: list[str] = []
    names["print"] = lambda *values: printed.append(" ".join(map(str, values)))
    handler = signal.getsignal(signal.SIGINT)  # which a page replaces
    try:
        exec(block, names)
    finally:
        signal.signal(signal.SIGINT, handler)
    return printed


def with_python_outputs(text: str) -> str:
    """The text of a page with the outputs of its blocks of Python, which run in order."""
    names: dict[str, object] = {}

    def fill(match: re.Match[str]) -> str:
        block = match[1]
        lines: list[str] = []
        for output, comment in zip(
            run_python(block, names), comments_of_prints(block), strict=True
        ):
            if comment is None:
                lines += map(str.rstrip, output.splitlines())
            elif comment != output:
                raise ValueError(f"a print has the comment {comment!r} and writes {output!r}")
        if not lines:
            return f"```python\n{block}```\n"
        return "\n".join([f"```python\n{block}```\n", "```text", *lines, "```", ""])

    return PYTHON.sub(fill, text)


def has_python_outputs(text: str) -> bool:
    """Whether a page has a print without a comment: the other pages need not run to be filled."""
    return any(None in comments_of_prints(block) for block, _ in PYTHON.findall(text))


def with_outputs(text: str, con: duckdb.DuckDBPyConnection) -> str:
    """The text of a page with the outputs of its blocks, which run in order."""

    def fill_sql(match: re.Match[str]) -> str:
        output = sql_output(con, match[1])
        shown = f"\n```text\n{output}```\n" if output else ""
        return f"```sql\n{match[1]}```\n{shown}"

    def fill_console(match: re.Match[str]) -> str:
        return f"```console\n{console_output(match[1])}```\n"

    return CONSOLE.sub(fill_console, SQL.sub(fill_sql, text))


def same_text(one: str, other: str) -> bool:
    """Whether two texts are equal but for the last digits of numbers, which threads may change."""
    words, others = (re.findall(r"[^\s│─┌┐└┘├┤┬┴┼]+", text) for text in (one, other))
    return len(words) == len(others) and all(map(same_word, words, others))


def same_word(one: str, other: str) -> bool:
    """Whether two words are equal, or the same number to twelve digits."""
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-12)
    except ValueError:
        return False


def main() -> None:
    os.chdir(ROOT)
    os.environ["COLUMNS"] = str(WIDTH)
    for path in pages_with_outputs():
        text = path.read_text(encoding="utf-8")
        with open_session() as con:
            filled = with_outputs(text, con)
        if has_python_outputs(text):
            filled = with_python_outputs(filled)
        if not same_text(filled, text):
            path.write_text(filled, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
