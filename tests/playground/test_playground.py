"""The playground in a browser: dropped files, Run buttons, errors, and what it may load."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
import vl_convert

from polars_clustereval.cli import main
from tests.support.command_line import DIGITS, EXAMPLES, WIDE
from tools.playground import list_blocks

if TYPE_CHECKING:
    from pathlib import Path

    from tests.playground.site import Site

pytestmark = pytest.mark.wide

#: Drops files on the page one after the other, chooses columns, and returns their reports.
SCORE = """
  const choose = (text, value) => {
    const fields = [...document.querySelectorAll(".ce-field")];
    const field = fields.find((x) => x.innerText.startsWith(text));
    const control = field.querySelector("select, input");
    control.value = value;
    control.dispatchEvent(new Event("change"));
  };
  const score = async ({ name, fields, vector }) => {
    const bytes = await (await fetch(`/files/${name}`)).arrayBuffer();
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], name));
    const zone = await find(".ce-drop");
    zone.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    const form = await find(".ce-form form, .ce-form .ce-error");
    if (form.matches(".ce-error")) return form.textContent;
    const guessed = Object.fromEntries(
      [...form.querySelectorAll(".ce-field")].map((x) => [
        x.querySelector("span").textContent, x.querySelector("select, input").value,
      ]),
    );
    for (const [text, value] of Object.entries(fields)) choose(text, value);
    for (const label of form.querySelectorAll(".ce-vector label")) {
      label.querySelector("input").checked = vector.includes(label.textContent.trim());
    }
    const begin = performance.now();
    form.querySelector("button[type=submit]").click();
    const shown = await find(".ce-report iframe, .ce-report .ce-error");
    const seconds = (performance.now() - begin) / 1000;
    if (shown.matches(".ce-error")) return shown.textContent;
    await wait(() => {
      const page = shown.contentDocument;
      return page?.readyState === "complete" && page.querySelector("main h2");
    });
    return { guessed, seconds, html: shown.contentDocument.documentElement.outerHTML };
  };
  const reports = {};
  for (const file of %s) reports[file.name] = await score(file);
  return reports;
"""


def texts_of_page(html: str) -> list[str]:
    """The texts of a report's page, without its pictures, its SQL and its versions."""
    body = html.partition("<h1>")[2].partition("<h2>SQL</h2>")[0]
    body = re.sub(r"<h2>[^<]*</h2>\s*<figure>.*?</figure>", "", body, flags=re.DOTALL)
    texts = (unescape(text).strip() for text in re.findall(r">([^<]+)", f">{body}"))
    return [text for text in texts if text]


def report_elsewhere(folder: Path, name: str, options: list[str]) -> list[str]:
    page = folder / f"{name}.html"
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        blank = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
        monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda vl_spec: blank if vl_spec else "")
        assert main(["report", name, *options, "--html", str(page)]) == 0
    return texts_of_page(page.read_text(encoding="utf-8"))


#: Rows with NULLs, noise, a giant cluster and clusters of one point.
MESSY = """
    SELECT
      CASE WHEN i % 11 > 0 THEN concat('l', i % 4) END AS truth,
      CASE WHEN i % 13 = 0 THEN -1 WHEN i = 7 THEN 50 WHEN i = 8 THEN 51 WHEN i % 12 = 1 THEN 2
        ELSE 1 END AS cluster,
      CASE WHEN i % 17 > 0 THEN i % 10 + i / 100.0 END AS x,
      CASE WHEN i % 17 > 0 THEN 1000.0 * (i % 7) END AS y
    FROM range(300) AS numbers (i)
"""
MESSY_FIELDS = ("Cluster", "True label", "Cluster of noise", "Noise is")
#: Labels of few rows each, as in entity resolution, with counts.
ENTITIES = """
    SELECT concat('e', i // 2) AS entity, concat('c', i // 3) AS cluster, 1 + i % 2 AS copies,
    FROM range(90) AS numbers (i)
"""
LARGE = """
    SELECT i AS id, i % 7 AS label, CASE WHEN i % 10 > 2 THEN i % 7 ELSE i % 9 END AS cluster,
      (i % 7) * 2 + hash(i) % 1000 / 250.0 AS a, (i % 7) ** 2 + hash(i + 1) % 1000 / 100.0 AS b,
      hash(i + 2) % 1000 / 100.0 AS c, i % 7 * (hash(i + 3) % 1000) / 300.0 AS d
    FROM range(100000) AS numbers (i)
"""

#: By file: the query of its rows, what is chosen in the page, coordinates, and the command line.
FILES: dict[str, tuple[str, dict[str, str], str, list[str]]] = {
    "iris.csv": (
        f"FROM '{EXAMPLES / 'iris.parquet'}'",
        {"Cluster": "kmeans", "True label": "species", "Id": "id"},
        WIDE,
        ["--label", "species", "--cluster", "kmeans", "--vector", WIDE, "--id", "id"],
    ),
    "digits.parquet": (
        f"FROM '{DIGITS}'",
        {"Cluster": "kmeans", "True label": "digit", "Distance": "cosine"},
        "pixels",
        [
            *("--label", "digit", "--cluster", "kmeans", "--vector", "pixels"),
            *("--distance", "cosine", "--id", "id"),
        ],
    ),
    "messy.csv": (
        MESSY,
        dict(zip(MESSY_FIELDS, ("cluster", "truth", "-1", "singletons"), strict=True)),
        "x,y",
        [
            *("--label", "truth", "--cluster", "cluster", "--vector", "x,y"),
            *("--noise", "-1", "--noise-as", "singletons"),
        ],
    ),
    "entities.csv": (
        ENTITIES,
        {"Cluster": "cluster", "True label": "entity", "Weight": "copies"},
        "",
        ["--label", "entity", "--cluster", "cluster", "--weight", "copies"],
    ),
    "large.csv": (
        LARGE,
        {"Cluster": "cluster", "True label": "label", "Id": ""},
        "a,b,c,d",
        [
            *("--label", "label", "--cluster", "cluster", "--vector", "a,b,c,d"),
            *("--method", "sample", "--sample-size", "1000", "--reference-size", "500"),
        ],
    ),
}
#: Seconds that a file of 100,000 rows may take on a slow machine.
LONGEST = 60


@pytest.fixture(scope="module")
def reports(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The reports of all files by the browser, and the folder of the files."""
    folder = tmp_path_factory.mktemp("files")
    chosen = []
    for name, (query, fields, vector, _) in FILES.items():
        duckdb.execute(f"COPY ({query}) TO '{folder / name}'")
        site.files[f"files/{name}"] = (folder / name).read_bytes()
        chosen.append({"name": name, "fields": fields, "vector": vector.split(",")})
    found = site.browse("playground.html", SCORE % json.dumps(chosen))
    assert not found.strangers
    assert not found.blocked
    return {**found.result, "folder": folder}


@pytest.mark.parametrize("name", FILES)
def test_a_dropped_file_has_the_report_of_the_command_line(
    reports: dict[str, Any], name: str
) -> None:
    report = reports[name]
    assert not isinstance(report, str), report
    words = texts_of_page(report["html"])
    expected = report_elsewhere(reports["folder"], name, FILES[name][3])
    if name == "large.csv":
        assert report["seconds"] < LONGEST
        sentence = next(text for text in words if text.startswith("The silhouettes are those of"))
        assert "a sample of 1,000 of 100,000 points" in sentence
        words.remove(sentence)
    assert words == expected


def test_columns_are_guessed(reports: dict[str, Any]) -> None:
    guessed = reports["iris.csv"]["guessed"]
    assert (guessed["Cluster"], guessed["True label"]) == ("kmeans", "species")
    assert reports["messy.csv"]["guessed"]["True label"] == "truth"
    assert reports["entities.csv"]["guessed"]["True label"] == "entity"


RUN_THE_LAST_BLOCK = """
  const boxes = await wait(() => {
    const found = [...document.querySelectorAll(".ce-run")];
    return found.length && found;
  });
  const before = isLoaded(".wasm") || isLoaded("engine");
  boxes.at(-1).querySelector("button").click();
  const shown = await find(".ce-result table, .ce-error");
  const status = boxes.at(-1).querySelector("[role=status]");
  await wait(() => status.textContent.startsWith("Done"));
  const tables = document.querySelectorAll(".ce-result").length;
  return { buttons: boxes.length, before, text: shown.innerText, tables };
"""


def test_a_run_button_loads_duckdb_and_shows_results(site: Site) -> None:
    """The last block of the page reads views that the first one creates."""
    found = site.browse("silhouette.html", RUN_THE_LAST_BLOCK)
    assert not found.strangers
    n_blocks = sum(block.page == "silhouette" for block in list_blocks())
    assert (found.result["buttons"], found.result["before"]) == (n_blocks, False)
    assert found.result["tables"] == 1
    assert "0.28268" in found.result["text"]


RUN_QUERIES = """
  const messages = [];
  const [button] = await wait(() => {
    const found = [...document.querySelectorAll("#ce-playground .ce-run button")];
    return found.length && found;
  });
  for (const sql of %s) {
    (await find("#ce-sql")).value = sql;
    button.click();
    messages.push((await find("[role=alert]")).textContent);
    await wait(() => button.getAttribute("aria-disabled") === null);
  }
  return messages;
"""
ELSEWHERE = "http://elsewhere.example/a.csv"
BROKEN = [
    "SELECT clustereval.rand_score(x) FROM range(3) AS t (x)",
    "FROM clustereval.external_report('examples/iris.parquet', speces, kmeans)",
    "FROM 'mine.parquet'",
    f"FROM read_csv('{ELSEWHERE}')",
]


def test_an_error_is_the_message_of_duckdb(site: Site) -> None:
    found = site.browse("playground.html", RUN_QUERIES % json.dumps(BROKEN))
    too_few, misspelled, file, address = found.result
    assert "rand_score" in too_few
    assert re.search('"?speces"?.*species', misspelled, re.DOTALL)
    assert "mine.parquet" in file
    assert address
    assert not found.strangers


def test_a_request_to_another_host_would_be_seen(site: Site) -> None:
    """On a page without the policy of the playground, by the page and by DuckDB."""
    script = f"""
      await fetch("{ELSEWHERE}", {{ mode: "no-cors" }}).catch(() => {{}});
      const {{ Session }} = await import("/playground/engine.js");
      const session = await Session.open(() => {{}});
      await session.query("FROM read_csv('{ELSEWHERE}?of=duckdb')").catch(() => {{}});
      return null;
    """
    found = site.browse("index.html", script)
    assert {ELSEWHERE, f"{ELSEWHERE}?of=duckdb"} <= set(found.strangers)


def test_the_policy_of_the_playground_blocks_other_hosts(site: Site) -> None:
    script = f'await fetch("{ELSEWHERE}").catch(() => {{}}); await wait(() => blocked.length);'
    found = site.browse("playground.html", script)
    assert found.blocked == [ELSEWHERE]
    assert not found.strangers
