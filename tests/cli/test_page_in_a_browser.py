"""The page of `clustereval report` in a browser, with pictures of its charts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from typing import TYPE_CHECKING

import pytest

from tests.support.command_line import IRIS, KMEANS, QUICK
from tests.support.pages import BOTH, DIGITS_BOTH, Pages

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.pages import Page

pytestmark = pytest.mark.gate

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def page_with_pictures(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Pages(tmp_path_factory)


def browse(page: Path, folder: Path, script: str = "", width: int = 1280) -> str:
    """The document of a page after its scripts and one more, in a browser without a window.

    The page with the script is written to a folder.
    """
    if BROWSER is None:
        pytest.skip("needs chromium (Debian: apt-get install chromium)")
    changed = folder / "changed.html"
    text = page.read_text(encoding="utf-8")
    changed.write_text(text.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
    size = f"--window-size={width},900"
    done = subprocess.run(
        [BROWSER, *options, size, "--enable-logging=stderr", "--dump-dom", changed.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert not re.findall(r"CONSOLE.*", done.stderr)
    return done.stdout


def test_pictures_are_drawn(page_with_pictures: Page, tmp_path: Path) -> None:
    html = page_with_pictures(*BOTH, ending="html")
    assert html.stat().st_size < 1_000_000
    script = (
        "addEventListener('load', () => { document.body.dataset.widths = "
        "[...document.images].map((image) => image.naturalWidth) })"
    )
    (widths,) = re.findall(r'data-widths="([\d,]+)"', browse(html, tmp_path, script))
    assert [int(width) > 200 for width in widths.split(",")] == [True] * 5, widths


def test_pictures_are_whole_on_narrow_screens(page_with_pictures: Page, tmp_path: Path) -> None:
    """They are drawn again at this width, neither cut nor so small that nobody can read them."""
    script = """
        addEventListener('load', () => { document.body.dataset.found = JSON.stringify({
            screen: innerWidth,
            right: Math.max(...[...document.images].map((x) => x.getBoundingClientRect().right)),
            scales: [...document.images].map((x) => x.clientWidth / x.naturalWidth),
        }) })
    """
    html = page_with_pictures(*BOTH, ending="html")
    text = unescape(browse(html, tmp_path, script, width=400))
    found = json.loads(re.findall(r'data-found="({.*?})"', text)[0])
    assert found["right"] <= found["screen"] <= 500, "the least that browsers have is 500"
    assert [0.9 < scale < 1.4 for scale in found["scales"]] == [True] * 5, found


@pytest.mark.parametrize("width", [1280, 400])
def test_a_wide_table_of_clusterings_fits_the_screen(
    page_with_pictures: Page, tmp_path: Path, width: int
) -> None:
    """On a narrow screen, it scrolls sideways within the page, and the names stay in view."""
    script = """
        const box = document.querySelector('.scroll:has(.overview)');
        box.scrollLeft = 1000;
        const found = (x) => x.getBoundingClientRect();
        document.body.dataset.found = JSON.stringify({
            page: document.documentElement.scrollWidth, screen: innerWidth, left: found(box).left,
            right: found(box).right, hidden: box.scrollWidth - box.clientWidth,
            name: found(box.querySelector('td')).left,
        })
    """
    clusters = ("--clusters", "kmeans,agglomerative,kmeans2")
    html = page_with_pictures(IRIS, *clusters, *BOTH[1:3], *BOTH[-2:], *QUICK, ending="html")
    text = unescape(browse(html, tmp_path, script, width=width))
    found = json.loads(re.findall(r'data-found="({.*?})"', text)[0])
    assert found["page"] <= found["screen"], found
    assert 0 <= found["left"] <= found["right"] <= found["screen"], found
    assert found["name"] == pytest.approx(found["left"], abs=1)
    assert (found["hidden"] > 0) == (width == 400), found


def test_a_click_sorts_the_clusters(page_with_pictures: Page, tmp_path: Path) -> None:
    """The first column as the page is loaded, after a click on its head, and after another one."""
    script = """
        const orders = [];
        const note = () => orders.push([...document.querySelectorAll(
            'table.sortable tbody tr td:first-child')].map((cell) => cell.textContent).join(''));
        note();
        for (const _ of [1, 2]) {
            document.querySelectorAll('table.sortable th button')[0].click();
            note();
        }
        document.body.dataset.orders = orders;
    """
    document = browse(page_with_pictures(*DIGITS_BOTH, ending="html"), tmp_path, script)
    (orders,) = re.findall(r'data-orders="([\d,]+)"', document)
    assert orders.split(",") == ["8125049673", "9876543210", "0123456789"]
    body = document.split('<table class="sortable">')[1].split("</table>")[0]
    shown = re.findall(r'<tr><td class="number" data-value="\d+">(\d+)</td>', body)
    assert shown == list("0123456789")


def test_an_error_of_the_page_would_be_seen(page_with_pictures: Page, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="CONSOLE"):
        browse(
            page_with_pictures(IRIS, *KMEANS, *QUICK, ending="html"), tmp_path, "no_such_function()"
        )
