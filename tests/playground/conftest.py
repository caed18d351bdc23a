"""The site with the playground, built once for all processes that run the tests."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.playground.site import BROWSER, Site, build

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    pytest.importorskip("zensical", reason="zensical: not installed; make docs installs it")
    if shutil.which("npm") is None:
        pytest.skip("npm: not installed; it brings DuckDB-Wasm")
    if BROWSER is None:
        pytest.skip("needs chromium (Debian: apt-get install chromium)")
    import fcntl  # Windows has none, and no chromium on its path

    base = tmp_path_factory.getbasetemp()
    # Processes of xdist have folders of their own in one folder.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "playground"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            shutil.rmtree(folder, ignore_errors=True)
            build(folder)
            (folder / "built").touch()
    server = Site(folder / "site")
    yield server
    server.shutdown()
    server.server_close()
