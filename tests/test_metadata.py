"""What a package index shows: links, versions and floors, the same in pyproject.toml and README."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import urlparse

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REPOSITORY = PROJECT["urls"]["Repository"]
LINKS = sorted(set(re.findall(r"\]\(([^)\s]+)\)", README)))


def path_of(link: str) -> Path | None:
    """The file or folder of the repository that a link names; None if it leads elsewhere."""
    match = re.fullmatch(rf"{re.escape(REPOSITORY)}/(?:blob|tree)/main/([^#]+)(#.*)?", link)
    return ROOT / match[1] if match else None


def test_there_are_links() -> None:
    assert len([link for link in LINKS if path_of(link)]) >= 9


@pytest.mark.parametrize("link", LINKS)
def test_links_of_the_readme_work_outside_of_the_repository(link: str) -> None:
    """A package index shows the page without the files beside it."""
    assert urlparse(link).scheme == "https"
    path = path_of(link)
    assert path is None or path.exists()


@pytest.mark.parametrize("name", PROJECT["urls"])
def test_urls_are_of_the_repository(name: str) -> None:
    url = PROJECT["urls"][name]
    assert url.startswith(REPOSITORY)
    path = path_of(url)
    assert path is None or path.exists()


def test_python_versions() -> None:
    prefix = "Programming Language :: Python :: 3."
    minors = [
        int(line.removeprefix(prefix)) for line in PROJECT["classifiers"] if line.startswith(prefix)
    ]
    assert minors == sorted(minors)
    assert PROJECT["requires-python"] == f">=3.{minors[0]}"
    assert README.count(f"Python 3.{minors[0]} or newer") == 2


def test_floors_are_those_of_the_readme() -> None:
    floors = dict(re.findall(r"(\w+)>=([\d.]+)", " ".join(PROJECT["dependencies"])))
    assert f"DuckDB from {floors['duckdb']} and Polars from {floors['polars']}" in README
    texts = [README, *(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))]
    assert set(re.findall(r"Polars (?:from )?(\d[\d.]*\d)", " ".join(texts))) <= {floors["polars"]}
