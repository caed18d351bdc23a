"""The playground in a browser: dropped files, Run buttons, errors, and what it may load."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pytest

from tests.support.command_line import DIGITS, EXAMPLES, WIDE
from tools.page_session import open_session
from tools.playground import list_blocks

if TYPE_CHECKING:
    from pathlib import Path

    from tests.playground.site import Site

pytestmark = pytest.mark.wide

#: Drops files on the page one after the other, chooses columns, and returns what the page shows.
SCORE = """
  const textOf = (x) => x.textContent.trim();
  const choose = (text, value) => {
    const fields = [...document.querySelectorAll(".ce-field")];
    const field = fields.find((x) => x.innerText.startsWith(text));
    const control = field.querySelector("select, input");
    control.value = value;
    control.dispatchEvent(new Event("change"));
  };
  const guess = (form) => Object.fromEntries([
    ...[...form.querySelectorAll(".ce-boxes")].map((boxes) => [
      textOf(boxes.querySelector("legend")).split(" ")[0],
      [...boxes.querySelectorAll("label:has(:checked)")].map(textOf),
    ]),
    ...[...form.querySelectorAll(".ce-field")].map((x) => [
      textOf(x.querySelector("span")), x.querySelector("select, input").value,
    ]),
  ]);
  const readCells = (row) => [...row.querySelectorAll("td")].map((x) => x.title || textOf(x));
  const readTable = (shown) => ({
    columns: [...shown.querySelectorAll("th")].map(textOf),
    rows: [...shown.querySelectorAll("tbody tr")].map(readCells),
    items: [...shown.querySelectorAll("li")].map(textOf),
  });
  const readReport = (report) => [...report.querySelectorAll("h4")].map((heading) => {
    const next = heading.nextElementSibling;
    return { title: textOf(heading), ...readTable(next) };
  });
  const score = async ({ name, fields, clusters, vector }) => {
    const bytes = await (await fetch(`/files/${name}`)).arrayBuffer();
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], name));
    const zone = await find(".ce-drop");
    zone.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    const form = await find(".ce-form form, .ce-form .ce-error");
    if (form.matches(".ce-error")) return { error: form.textContent };
    const guessed = guess(form);
    for (const [text, value] of Object.entries(fields)) choose(text, value);
    const [ofClusters, ofVector] = form.querySelectorAll(".ce-boxes");
    for (const [boxes, names] of [[ofClusters, clusters], [ofVector, vector]]) {
      for (const label of boxes.querySelectorAll("label")) {
        label.querySelector("input").checked = names.includes(textOf(label));
      }
    }
    const begin = performance.now();
    form.querySelector("button[type=submit]").click();
    const link = await find(".ce-report a, .ce-report .ce-error");
    const seconds = (performance.now() - begin) / 1000;
    const report = document.querySelector(".ce-report");
    const found = { guessed, seconds, tables: readReport(report) };
    if (link.matches(".ce-error")) return { ...found, error: link.textContent };
    const text = textOf(report);
    const saved = await (await fetch(link.href)).text();
    const sql = report.querySelector("pre").textContent;
    const table = report.querySelector("table");
    [...table.querySelectorAll("th button")].find((x) => textOf(x) === "value").click();
    const sorted = readTable(table).rows.map((row) => row[1]);
    return { ...found, text, saved, download: link.download, sql, sorted };
  };
  const reports = {};
  for (const file of %s) reports[file.name] = await score(file);
  return reports;
"""

#: Rows with NULLs, noise, a giant cluster and clusters of one point.
MESSY = """
    SELECT
      CASE WHEN i % 4 = 0 THEN 'unknown' WHEN i % 11 > 0 THEN concat('l', i % 4) END AS truth,
      CASE WHEN i % 13 = 0 THEN -1 WHEN i = 7 THEN 50 WHEN i = 8 THEN 51 WHEN i % 12 = 1 THEN 2
        ELSE 1 END AS cluster,
      CASE WHEN i % 17 > 0 THEN i % 10 + i / 100.0 END AS x,
      CASE WHEN i % 19 > 0 THEN 1000.0 * (i % 7) END AS y
    FROM range(300) AS numbers (i)
"""
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


class File(NamedTuple):
    """A file, what is chosen for it in the page, and what the macros are to be called with."""

    rows: str
    fields: dict[str, str]
    clusters: list[str]
    vector: list[str]
    #: The arguments after the table and the label or coordinates.
    on_labels: list[str]
    on_points: list[str]


AS_SINGLETONS = "noise := '-1', noise_as := 'singletons'"
FILES = {
    "iris.csv": File(
        f"FROM '{EXAMPLES / 'iris.parquet'}'",
        {"True label": "species", "Id": "id"},
        ["kmeans"],
        WIDE.split(","),
        ['"kmeans"'],
        ['"kmeans"'],
    ),
    "digits.parquet": File(
        f"FROM '{DIGITS}'",
        {"True label": "digit", "Distance": "cosine", "Id": "id"},
        ["kmeans"],
        ["pixels"],
        ['"kmeans"'],
        ["\"kmeans\", distance := 'cosine'"],
    ),
    "messy.csv": File(
        MESSY,
        {
            "True label": "truth",
            "Cluster of noise": "-1",
            "Noise is": "singletons",
            "Missing": "drop",
        },
        ["cluster"],
        ["x", "y"],
        [f'"cluster", {AS_SINGLETONS}'],
        [f"\"cluster\", {AS_SINGLETONS}, missing := 'drop'"],
    ),
    "entities.csv": File(
        ENTITIES,
        {"True label": "entity", "Weight": "copies"},
        ["cluster"],
        [],
        ['"cluster", weight := "copies"'],
        [],
    ),
    "runs.csv": File(
        f"SELECT *, id % 2 = 0 AS is_even FROM '{EXAMPLES / 'iris.parquet'}'",
        {"True label": "species", "Id": "", "Partition by": "is_even"},
        ["kmeans", "agglomerative"],
        WIDE.split(",")[:2],
        [f'"{name}", partition_by := "is_even"' for name in ("kmeans", "agglomerative")],
        [f'"{name}", partition_by := "is_even"' for name in ("kmeans", "agglomerative")],
    ),
    "large.csv": File(
        LARGE,
        {"True label": "label", "Id": ""},
        ["cluster"],
        ["a", "b", "c", "d"],
        ['"cluster"'],
        ['"cluster"'],
    ),
    "stopped.csv": File(MESSY, {"True label": "truth"}, ["cluster"], ["x", "y"], [], []),
}
SCORED = [name for name in FILES if name != "stopped.csv"]
#: Seconds that a file of 100,000 rows may take on a slow machine.
LONGEST = 60
MOST_ROWS = 100


@pytest.fixture(scope="module")
def reports(site: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the browser shows of all files, and the folder of the files."""
    folder = tmp_path_factory.mktemp("files")
    chosen = []
    for name, file in FILES.items():
        duckdb.execute(f"COPY ({file.rows}) TO '{folder / name}'")
        site.files[f"files/{name}"] = (folder / name).read_bytes()
        some = {"fields": file.fields, "clusters": file.clusters, "vector": file.vector}
        chosen.append({"name": name, **some})
    found = site.browse("playground.html", SCORE % json.dumps(chosen))
    assert not found.strangers
    assert not found.blocked
    return {**found.result, "folder": folder}


def read_elsewhere(folder: Path, sql: str, *, is_partitioned: bool) -> list[dict[str, Any]]:
    """The tables that the SQL of a report returns in DuckDB outside the browser."""
    view, *queries = sql.split(";\n\n")
    tables = []
    with pytest.MonkeyPatch.context() as monkeypatch, open_session() as con:
        monkeypatch.chdir(folder)
        con.execute(view)
        for query in queries:
            found = con.execute(query)
            names = [column[0] for column in found.description or []]
            first = 0 if is_partitioned else 1
            rows = [list(row[first:]) for row in found.fetchall()]
            tables.append({"query": query, "columns": names[first:], "rows": rows})
    return tables


def is_shown(value: Any, text: str) -> bool:
    """Whether a cell has a value; numbers in lists have six digits."""
    if isinstance(value, list):
        return json.loads(text) == pytest.approx(value, rel=1e-5)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return float(text) == pytest.approx(float(value), rel=1e-12)
    plain = {None: "NULL", True: "true", False: "false"}
    return text == plain.get(value, str(value))


@pytest.mark.parametrize("name", SCORED)
def test_a_report_shows_the_tables_of_duckdb(reports: dict[str, Any], name: str) -> None:
    report = reports[name]
    assert "error" not in report, report["error"]
    is_partitioned = "Partition by" in FILES[name].fields
    tables = read_elsewhere(reports["folder"], report["sql"], is_partitioned=is_partitioned)
    for shown, table in zip(report["tables"], tables, strict=True):
        if "_findings(" in table["query"]:
            at = 1 if is_partitioned else 0  # the column of the severity
            where = [f"is_even {str(row[0]).lower()}: " * at for row in table["rows"]]
            sentences = zip(table["rows"], where, strict=True)
            assert shown["items"] == [f"{row[at]} {key}{row[-1]}" for row, key in sentences]
            continue
        values = [value for row in table["rows"][:MOST_ROWS] for value in row]
        texts = [text for row in shown["rows"] for text in row]
        cells = zip(values, texts, strict=True)
        assert [cell for cell in cells if not is_shown(*cell)] == [], table["query"]
        assert shown["columns"] == table["columns"]


ON_LABELS = ("summary", "intervals", "findings", "cluster_report")
SILHOUETTES = ("silhouette_score", "internal_findings", "silhouette_clusters")


@pytest.mark.parametrize("name", SCORED)
def test_the_macros_are_called_with_what_is_chosen(reports: dict[str, Any], name: str) -> None:
    sql, file = reports[name]["sql"], FILES[name]
    label = f'"{file.fields["True label"]}"'
    for arguments in file.on_labels:
        for macro in ON_LABELS:
            call = f"external_{macro}(clustereval_input, {label}, {arguments});"
            assert f"FROM clustereval.{call}" in sql
    coordinates = ", ".join(f'"{column}"' for column in file.vector)
    vector = coordinates if name == "digits.parquet" else f"[{coordinates}]"
    for arguments in file.on_points:
        for macro in ("internal_summary", "internal_cluster_report"):
            call = f"{macro}(clustereval_input, {vector}, {arguments});"
            assert f"FROM clustereval.{call}" in sql
    n_queries = sql.count("FROM clustereval.")
    has_lowest, has_profile = bool(file.fields.get("Id")), len(file.vector) > 1
    n_points = 5 + has_lowest + has_profile if file.vector else 0
    assert n_queries == len(file.clusters) * (len(ON_LABELS) + n_points)
    assert ("method := 'sample'" in sql) == (name == "large.csv")


def test_a_label_that_stands_for_a_missing_one_is_shown(reports: dict[str, Any]) -> None:
    [table] = [x for x in reports["messy.csv"]["tables"] if x["title"] == "Findings on the labels"]
    assert [x for x in table["items"] if "the label 'unknown' of" in x]


def test_noise_of_a_profile_is_left_out(reports: dict[str, Any]) -> None:
    [call] = re.findall(r"cluster_profile\((.*)\);", reports["messy.csv"]["sql"])
    assert call == (
        """clustereval_input, ["x", "y"], "cluster", noise := '-1', noise_as := 'drop'"""
    )


def test_silhouettes_of_many_points_are_those_of_a_sample(reports: dict[str, Any]) -> None:
    report = reports["large.csv"]
    assert report["seconds"] < LONGEST
    assert "these are those of a sample" in report["text"]
    n_sampled = report["sql"].count(
        "method := 'sample', sample_size := 1000, reference_size := 500"
    )
    assert n_sampled == len(SILHOUETTES)
    assert "those of a sample" not in reports["iris.csv"]["text"]


def test_a_missing_coordinate_ends_the_report_with_what_to_choose(reports: dict[str, Any]) -> None:
    """The tables before the error stay."""
    report = reports["stopped.csv"]
    assert "missing := 'drop'" in report["error"]
    titles = [table["title"] for table in report["tables"]]
    assert titles == ["Summary of the labels", "95 % intervals of the scores"]


def test_a_report_can_be_sorted_and_saved(reports: dict[str, Any]) -> None:
    report = reports["iris.csv"]
    values = [float(text) for text in report["sorted"] if text != "NULL"]
    assert values == sorted(values)
    assert report["download"] == "report_iris.html"
    assert report["saved"].startswith("<!DOCTYPE html>")
    assert "<h4>Summary of the labels</h4>" in report["saved"]
    assert "<script" not in report["saved"]


def test_columns_are_guessed(reports: dict[str, Any]) -> None:
    guessed = reports["iris.csv"]["guessed"]
    assert (guessed["Clusters,"], guessed["True label"]) == (["kmeans"], "species")
    assert guessed["Coordinates"] == WIDE.split(",")
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
