"""The repository's address, of pyproject.toml, written wherever a file shows it: `make facts`."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: A repository of the project's name: its page, or a file of it that a page loads.
ADDRESS = re.compile(
    r"(?P<host>https://(?:github|raw\.githubusercontent)\.com)/[\w-]+/polars_clustereval\b"
)


def pages_with_address() -> list[Path]:
    """The files that show the address."""
    names = ("README.md", "CONTRIBUTING.md", "CITATION.cff", "pyproject.toml")
    return [*(ROOT / name for name in names), *(ROOT / "docs").glob("*.md")]


def repository() -> str:
    """The owner and the name of the repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address: str = project["urls"]["Repository"]
    return address.removeprefix("https://github.com/")


def with_repository(text: str, name: str) -> str:
    """A text in which the addresses are those of the repository `name`, owner/name."""
    return ADDRESS.sub(rf"\g<host>/{name}", text)


def main() -> None:
    name = repository()
    for path in pages_with_address():
        text = path.read_text(encoding="utf-8")
        if (written := with_repository(text, name)) != text:
            path.write_text(written, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
