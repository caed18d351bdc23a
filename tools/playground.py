"""`make playground`: what the playground needs of this package, next to its JavaScript.

The page runs without Python. Written for it are the macros and the example data as databases, the
SQL of the pages, and in the pages of the site the tags that load its script. See
playground/README.md.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import polars_clustereval as ce
from polars_clustereval.base.quoting import quote_identifier, quote_literal
from tools.page_session import open_session

ROOT = Path(__file__).parent.parent
FOLDER = "playground"
#: A storage that DuckDB-Wasm reads, which is behind other releases of DuckDB.
STORAGE = "STORAGE_VERSION 'v1.5.0', BLOCK_SIZE 16384"


class Block(NamedTuple):
    """A block of SQL on a page of docs/."""

    page: str
    #: The title of the page, and the heading above the block.
    title: str
    heading: str
    #: What a list shows of the block besides the heading, which several blocks may share.
    about: str
    sql: str


# The SQL of the pages ------------------------------------------------------------------------

HEADING_OR_BLOCK = re.compile(
    r"^#+ (?P<heading>[^\n]*)$|^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


#: The comment that a query begins with, and the name of a macro of the package.
FIRST_COMMENT = re.compile(r"^-- (.*)$", re.MULTILINE)
MACRO = re.compile(r"\bclustereval\.(\w+)")


def describe_block(sql: str) -> str:
    """The first comment of a block, or else the macro that its last query reads from."""
    comment = FIRST_COMMENT.match(sql.strip())
    if comment is not None:
        return comment[1]
    macros = MACRO.findall(sql.rstrip("; \n").rpartition(";")[2])
    return macros[-1] if macros else sql.strip().partition("\n")[0]


def read_blocks(page: Path) -> list[Block]:
    """The blocks of SQL on a page, in order."""
    found: list[Block] = []
    title = heading = ""
    for match in HEADING_OR_BLOCK.finditer(page.read_text(encoding="utf-8")):
        if match["heading"] is not None:
            heading = match["heading"]
            title = title or heading
        elif match["language"] == "sql":
            sql = match["body"].rstrip("\n")
            found.append(Block(page.stem, title, heading, describe_block(sql), sql))
    return found


def list_blocks() -> list[Block]:
    """The blocks of SQL of all pages, sorted by page."""
    return [block for page in sorted((ROOT / "docs").glob("*.md")) for block in read_blocks(page)]


# Databases -----------------------------------------------------------------------------------

#: A file of examples/, as SQL names it; a pattern is a table of its own in the browser.
EXAMPLE = re.compile(r"'(examples/[^']+)'")


def list_example_files() -> list[str]:
    """The names by which queries read the files of examples/."""
    files = {str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*.parquet")}
    return sorted(files.union(*(EXAMPLE.findall(block.sql) for block in list_blocks())))


def write_example_database(path: Path) -> None:
    """Write the files of examples/ as tables of their names.

    DuckDB looks for a table called 'examples/iris.parquet' before it looks for a file, so the
    browser needs no reader of Parquet files for them. A pattern has the column filename, which
    DuckDB adds to files.
    """
    with open_session() as con:
        con.execute(f"ATTACH {quote_literal(str(path))} AS example_data ({STORAGE})")
        for name in list_example_files():
            table = f"example_data.{quote_identifier(name)}"
            columns = "*, filename" if "*" in name else "*"
            con.execute(f"CREATE TABLE {table} AS SELECT {columns} FROM {quote_literal(name)}")
        con.execute("DETACH example_data")


# The site ------------------------------------------------------------------------------------

TAGS = (
    f'<link rel="stylesheet" href="{FOLDER}/site.css">'
    f'<script type="module" src="{FOLDER}/site.js"></script>'
)
#: What the page of the playground may load: files of its own origin. Its worker is started from a
#: blob, so that this holds for DuckDB, too. Arrow compiles its checks for NULL, which is an eval.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; worker-src 'self' blob:; "
    "connect-src 'self' blob:; form-action 'none'; base-uri 'self'"
)


def add_tags(html: str, *, is_playground: bool) -> str:
    """A page of the site with the tags that load the script."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    if is_playground:
        html = html.replace("<head>", f"<head>{policy}", 1)
    return html.replace("</head>", f"{TAGS}</head>", 1)


def link_pages(site: Path) -> int:
    """Add the tags to the pages with SQL and to the playground; return the number of pages."""
    pages = {block.page for block in list_blocks()} | {FOLDER}
    for page in sorted(pages):
        path = site / f"{page}.html"
        html = path.read_text(encoding="utf-8")
        if TAGS not in html:
            path.write_text(add_tags(html, is_playground=page == FOLDER), encoding="utf-8")
    return len(pages)


def write_assets(folder: Path) -> None:
    """Write what the script reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("clustereval.duckdb", "examples.duckdb"):
        (folder / name).unlink(missing_ok=True)
    ce.write_database(folder / "clustereval.duckdb")
    write_example_database(folder / "examples.duckdb")
    blocks = [block._asdict() for block in list_blocks()]
    text = json.dumps(blocks, ensure_ascii=False)
    (folder / "blocks.json").write_text(text, encoding="utf-8")


def main() -> None:
    site = Path(sys.argv[1])
    write_assets(site / FOLDER)
    print(f"playground: its script is on {link_pages(site)} pages of {site}/")


if __name__ == "__main__":
    main()
