"""The site with the playground, served on loopback to a browser that runs scripts on its pages.

The server is the browser's proxy, too: a request to any other host ends here, and is noted.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from typing import Any, NamedTuple

import pytest

from tools import playground

ROOT = Path(__file__).parent.parent.parent
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
LONGEST = 300  # seconds of a script, on a busy machine
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-default-apps", "--disable-extensions", "--no-pings"),
    "--disable-features=NetworkTimeServiceQuerying,AutofillServerCommunication,OptimizationHints",
    *("--enable-logging=stderr", "--remote-debugging-port=0"),
)
#: Hosts that the browser asks for on any page, for services of its own.
SERVICES = re.compile(
    r"(https?://)?(accounts|clients\d|update|content-autofill|safebrowsing|optimizationguide-pa)"
    r"\.(google|googleapis)\.com\b"
)

#: What every script has: its result, or its error, is posted to the server.
HARNESS = """
<script type="module">
const post = (found) => fetch("/found", { method: "POST", body: JSON.stringify(found) });
const blocked = [];
addEventListener("securitypolicyviolation", (event) => blocked.push(event.blockedURI));
const wait = async (find) => {
  for (;;) {
    const found = find();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
const find = (selector) => wait(() => document.querySelector(selector));
const isLoaded = (name) =>
  performance.getEntriesByType("resource").some((entry) => entry.name.includes(name));
try {
  await post({ result: await (async () => { %s })(), blocked });
} catch (error) {
  await post({ error: String(error?.stack ?? error), blocked });
}
</script></body>
"""


class Found(NamedTuple):
    """What a script has found."""

    result: Any
    #: Addresses that the policy of the page has kept it from.
    blocked: list[str]
    #: Hosts that the browser has asked for, other than the server.
    strangers: list[str]


def build(folder: Path) -> None:
    """Build the site with the playground in a folder."""
    for name in ("docs", "tools"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    run_step([sys.executable, "-m", "zensical", "build", "--strict"], folder)
    scripts = folder / "playground"
    ignored = shutil.ignore_patterns("node_modules")
    shutil.copytree(ROOT / "playground", scripts, ignore=ignored)
    run_step(["npm", "ci", "--silent"], scripts)
    run_step(["node", "build.mjs", str(folder / "site" / "playground")], scripts)
    playground.write_assets(folder / "site" / "playground")
    playground.link_pages(folder / "site")


def run_step(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    if command[0] == "npm" and re.search("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT", output):
        pytest.skip("npm cannot reach its registry")
    assert done.returncode == 0, output


class Handler(SimpleHTTPRequestHandler):
    """Files of the site, pages with a script, results of scripts, and what a proxy is asked for."""

    server: Site

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].lstrip("/")
        if "://" in self.path:
            self.refuse()
        elif path in self.server.scripts:
            html = (self.server.folder / path).read_text(encoding="utf-8")
            script = HARNESS.replace("%s", self.server.scripts[path])
            self.send(html.replace("</body>", script).encode(), "text/html")
        elif path in self.server.files:
            self.send(self.server.files[path], "application/octet-stream")
        else:
            super().do_GET()

    def do_HEAD(self) -> None:
        if "://" in self.path:
            self.refuse()
        else:
            super().do_HEAD()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/found":
            self.send(b"", "text/plain")
            self.server.found.put(json.loads(content))
        else:
            self.refuse()

    def do_CONNECT(self) -> None:
        self.refuse()

    def refuse(self) -> None:
        if not SERVICES.match(self.path):
            self.server.strangers.append(self.path)
        self.send_error(502)

    def send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Site(ThreadingHTTPServer):
    """A built site on a port of its own."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scripts: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.strangers: list[str] = []
        self.found: Queue[dict[str, Any]] = Queue()
        super().__init__(("127.0.0.1", 0), lambda *args: Handler(*args, directory=str(folder)))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def browse(self, page: str, script: str) -> Found:
        """Run a script on a page: the body of an asynchronous function."""
        if BROWSER is None:
            pytest.skip("needs chromium (Debian: apt-get install chromium)")
        self.scripts = {page: script}
        self.strangers.clear()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            address = f"http://127.0.0.1:{self.server_port}"
            log = Path(folder, "log")
            with log.open("wb") as stream:
                process = subprocess.Popen(
                    [
                        *(BROWSER, *OPTIONS, f"--proxy-server={address}"),
                        *(f"--user-data-dir={folder}/user", f"{address}/{page}"),
                    ],
                    stdout=subprocess.DEVNULL,
                    stderr=stream,
                    start_new_session=True,
                )
            try:
                found = self.found.get(timeout=LONGEST)
            except Empty:
                pytest.fail(f"no result in {LONGEST} s: {read_console(log)}")
            finally:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
            assert "error" not in found, (found["error"], read_console(log))
            return Found(found.get("result"), found["blocked"], list(self.strangers))


def read_console(log: Path) -> list[str]:
    return re.findall(r"CONSOLE.*", log.read_text(encoding="utf-8", errors="replace"))
