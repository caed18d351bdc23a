"""The wheel and the sdist, each alone in a fresh environment, away from the checkout."""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from polars_clustereval.base.metric_facts import FACTS_FILE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
IRIS = ROOT / "examples" / "iris.parquet"
SQL = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "sql").glob("**/*.sql")))
MACROS = sorted(set(re.findall(r"CREATE OR REPLACE MACRO clustereval\.(\w+)", SQL)))

USE = """
import sys
import duckdb
import polars as pl
import polars_clustereval as ce

con = duckdb.connect()
ce.register(con)
macros = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE schema_name = 'clustereval'"
print(*sorted(name for (name,) in con.execute(macros).fetchall()))
query = "SELECT clustereval.rand_score(species, kmeans) FROM read_parquet($1)"
print(*con.execute(query, [sys.argv[1]]).fetchone())
iris = pl.read_parquet(sys.argv[1])
print(iris.select(ce.rand_score("species", "kmeans")).item())
print(iris.clustereval.external_report("species", "kmeans").item(0, "rand_score"))
"""


def run_in_folder(*command: str | Path, folder: Path) -> str:
    process = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dist")
    # The wheel is built from the unpacked sdist, so that one lacks nothing the other needs.
    run_in_folder(sys.executable, "-m", "build", "--outdir", folder, ROOT, folder=folder)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def binaries(
    request: pytest.FixtureRequest,
    packages: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    run_in_folder(sys.executable, "-m", "venv", "--without-pip", "fresh", folder=folder)
    python = folder / "fresh" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run_in_folder(*pip, "install", "--quiet", packages[request.param], folder=folder)
    return python.parent


def test_what_the_packages_carry(packages: dict[str, Path]) -> None:
    with zipfile.ZipFile(packages["wheel"]) as wheel:
        carried = set(wheel.namelist())
    found = [*(ROOT / "polars_clustereval").rglob("*.py"), ROOT / "polars_clustereval/py.typed"]
    modules = {path.relative_to(ROOT) for path in found}
    sql_files = {
        Path("polars_clustereval") / path.relative_to(ROOT) for path in ROOT.glob("sql/**/*.sql")
    }
    dbt_files = {
        Path("polars_clustereval") / path.relative_to(ROOT)
        for path in (ROOT / "dbt_package").rglob("*.*")
    }
    assert len(dbt_files) > 4
    package = ROOT / "polars_clustereval"
    files = (FACTS_FILE, package / "page" / "template.html")
    texts = {path.relative_to(ROOT) for path in files}
    assert {str(path) for path in modules | sql_files | dbt_files | texts} <= carried
    assert {name.partition("/")[0] for name in carried} == {
        "polars_clustereval",
        "polars_clustereval-0.1.0.dist-info",
    }
    with tarfile.open(packages["sdist"]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"LICENSE", "README.md", "sql/base/checks.sql", "tests/test_install.py"} <= names
    assert {"dbt_package/dbt_project.yml", "examples/dbt_project/dbt_project.yml"} <= names


def test_a_build_can_be_repeated(packages: dict[str, Path], tmp_path: Path) -> None:
    """In another folder, with other times of the files and no git, the same bytes."""
    copy = tmp_path / "clone"
    skipped = shutil.ignore_patterns(".venv", ".git", ".*_cache", "__pycache__", "build", "site")
    shutil.copytree(ROOT, copy, ignore=skipped)
    for path in copy.rglob("*.*"):
        os.utime(path, (2e9, 2e9))
        path.chmod(path.stat().st_mode & ~0o077)
    run_in_folder(sys.executable, "-m", "build", "--outdir", "again", copy, folder=tmp_path)
    for package in packages.values():
        assert (tmp_path / "again" / package.name).read_bytes() == package.read_bytes()


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_metadata_for_a_package_index(packages: dict[str, Path], kind: str) -> None:
    if kind == "wheel":
        with zipfile.ZipFile(packages[kind]) as wheel:
            [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            text = wheel.read(name).decode()
    else:
        with tarfile.open(packages[kind]) as sdist:
            [member] = [name for name in sdist.getnames() if name.endswith("/PKG-INFO")]
            text = sdist.extractfile(member).read().decode()  # type: ignore[union-attr]
    metadata = email.message_from_string(text)
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL", []))
    assert urls.keys() == {"Repository", "Documentation", "Changelog", "Issues"}
    assert metadata["Author"] == "The polars_clustereval maintainers"
    assert f"{urls['Repository']}/blob/main/docs/internal.md" in metadata.get_payload()
    assert "Programming Language :: Python :: 3.11" in metadata.get_all("Classifier", [])


def test_use_from_python(binaries: Path, tmp_path: Path) -> None:
    out = run_in_folder(binaries / "python", "-I", "-W", "error", "-c", USE, IRIS, folder=tmp_path)
    macros, *scores = out.splitlines()
    assert macros.split() == MACROS
    assert [float(score) for score in scores] == pytest.approx([0.879732] * 3, abs=5e-7)


@pytest.mark.parametrize("engine_name", ["duckdb", "polars"])
def test_use_from_the_command_line(binaries: Path, tmp_path: Path, engine_name: str) -> None:
    program = binaries / "clustereval"
    assert run_in_folder(program, "--version", folder=tmp_path) == "clustereval 0.1.0\n"
    assert run_in_folder(program, "sql", folder=tmp_path).count("CREATE OR REPLACE MACRO") == len(
        re.findall("CREATE OR REPLACE MACRO", SQL)
    )
    schema = json.loads(run_in_folder(program, "schema", "external", folder=tmp_path))
    assert schema["$id"] == "urn:clustereval:schema:v1:external"
    columns = ("--label", "species", "--cluster", "kmeans", "--engine", engine_name)
    table = run_in_folder(program, "external", IRIS, *columns, folder=tmp_path)
    for value in ("0.730238", "0.755119", "0.820808", "0.758176"):
        assert f" {value} " in table
