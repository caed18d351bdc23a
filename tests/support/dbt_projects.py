"""dbt projects in folders of their own: what is needed to run dbt there, and what it did."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def is_dbt_installed() -> bool:
    try:
        return find_spec("dbt.adapters.duckdb") is not None and find_spec("dbt.cli") is not None
    except ModuleNotFoundError:
        return False


needs_dbt = pytest.mark.skipif(
    not is_dbt_installed(), reason="no dbt-duckdb: pip install 'polars_clustereval[dbt]'"
)


def run_dbt(folder: Path, *arguments: str, works: bool = True) -> str:
    """What dbt prints in a project, whose packages are put in place without a network."""
    program = "import sys; from dbt.cli.main import cli; cli()"
    settings = {
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DBT_PROFILES_DIR": str(folder),
        "DBT_USE_COLORS": "false",
        "DBT_PRINTER_WIDTH": "200",
    }
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == works, done.stdout + done.stderr
    return done.stdout


def statuses(folder: Path) -> dict[str, str]:
    """The status of each model and test of the last run, by name."""
    results = json.loads((folder / "target" / "run_results.json").read_text("utf-8"))["results"]
    return {result["unique_id"].split(".")[2]: result["status"] for result in results}


def install_package(folder: Path) -> None:
    """As `dbt deps` does with a local package."""
    shutil.copytree(ROOT / "dbt_package", folder / "dbt_packages" / "clustereval")
    packages = {"packages": [{"local": str(ROOT / "dbt_package")}]}
    (folder / "packages.yml").write_text(json.dumps(packages), "utf-8")
