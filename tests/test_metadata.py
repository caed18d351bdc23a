"""What a package index shows: links, versions and floors, the same in pyproject.toml and README."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import urlparse

import pytest

import polars_clustereval as ce
from tools import address

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
    first_page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"Python (3\.\d+) or newer", first_page) == [f"3.{minors[0]}"]


def test_floors_are_those_of_the_readme() -> None:
    floors = dict(re.findall(r"(\w+)>=([\d.]+)", " ".join(PROJECT["dependencies"])))
    versions = f"DuckDB {floors['duckdb']} and newer, and Polars {floors['polars']} and newer"
    assert versions in README
    texts = [README, *(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))]
    assert set(re.findall(r"Polars (?:from )?(\d[\d.]*\d)", " ".join(texts))) <= {floors["polars"]}


def test_the_address_of_the_repository_is_that_of_the_project() -> None:
    for path in address.pages_with_address():
        text = path.read_text(encoding="utf-8")
        assert address.with_repository(text, address.repository()) == text, "make facts"


def test_another_address_is_written_everywhere() -> None:
    text = (
        "https://github.com/one/polars_clustereval/issues, "
        "https://raw.githubusercontent.com/one/polars_clustereval/main/a.png, "
        "https://github.com/duckdb/duckdb"
    )
    assert address.with_repository(text, "two/polars_clustereval") == (
        "https://github.com/two/polars_clustereval/issues, "
        "https://raw.githubusercontent.com/two/polars_clustereval/main/a.png, "
        "https://github.com/duckdb/duckdb"
    )


def test_the_citation_has_the_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {ce.__version__}\n" in text
    assert PROJECT["version"] == ce.__version__


def test_tests_run_on_every_version_of_python_that_the_package_names() -> None:
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    [listed] = re.findall(r"python: (\[.*\])", workflow)
    named = [x.rpartition(" :: ")[2] for x in PROJECT["classifiers"] if " :: 3." in x]
    assert {*named} <= {*re.findall(r'"([\d.]+)"', listed)}


def test_the_conda_recipe_has_the_facts_of_pyproject() -> None:
    text = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    recipe = pytest.importorskip("ruamel.yaml").YAML(typ="safe").load(text)
    minimum = recipe["context"]["python_min"]
    assert recipe["context"]["version"] == ce.__version__
    assert recipe["package"]["name"] == PROJECT["name"]
    assert PROJECT["requires-python"] == f">={minimum}"
    [script] = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(script)]
    # conda-forge's python-duckdb is the module; its duckdb is the shell.
    python, *needed = (
        line.replace("python-duckdb", "duckdb") for line in recipe["requirements"]["run"]
    )
    assert python == "python >=${{ python_min }}"
    assert [line.replace(" ", "") for line in needed] == PROJECT["dependencies"]
    assert recipe["about"]["summary"].strip() == PROJECT["description"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["homepage"] == REPOSITORY


def test_the_lock_pins_what_the_tests_need() -> None:
    """Versions alone, of every declared package, so that it is right for any index."""
    lines = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+-]+( ; .+)?", line) for line in pins)
    pinned = {re.split("==", line)[0].lower().replace("_", "-") for line in pins}
    extras = PROJECT["optional-dependencies"]
    declared = [*PROJECT["dependencies"], *extras["dev"], *extras["test"], *extras["plot"]]
    names = {re.split(r"[\[><=;]", line)[0].lower().replace("_", "-") for line in declared}
    assert names - {"polars-clustereval"} <= pinned
