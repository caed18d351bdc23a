"""The pages of docs/ as a site: navigation, links, the guides and the build."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest
import sklearn.metrics.cluster

import polars_clustereval as ce
from polars_clustereval import plots
from polars_clustereval.catalogue import entries
from tests.support import registry
from tools import address, llms

pytestmark = pytest.mark.each

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
FENCE = re.compile(r"^```(\w*)\n.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)


def read_page(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def prose(page: str) -> str:
    return FENCE.sub("", read_page(page))


def slug(heading: str) -> str:
    """The anchor of a heading, where the site and a repository's viewer agree."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def anchors(page: str) -> set[str]:
    text = prose(page)
    return {slug(heading) for _, heading in HEADING.findall(text)} | set(
        re.findall(r'<a id="(\w+)">', text)
    )


def relative_links(page: str) -> list[str]:
    return [link for link in LINK.findall(prose(page)) if not link.startswith("https://")]


def sections(page: str, level: str) -> dict[str, str]:
    """The text below each heading of a level, up to the next heading of that level or above."""
    text = read_page(page)
    found = {}
    for match in re.finditer(rf"^{level} (.*)$", text, re.MULTILINE):
        rest = text[match.end() :]
        following = re.search(rf"^#{{1,{len(level)}}} ", rest, re.MULTILINE)
        found[match[1]] = rest[: following.start()] if following else rest
    return found


def rows_of_table(text: str) -> list[list[str]]:
    lines = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    return [line.split(" | ") for line in lines]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# Navigation and links ------------------------------------------------------------------------


def test_every_page_is_in_the_navigation_once() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = config.partition("\nnav:\n")[2]
    assert sorted(re.findall(r": ([\w/]+\.md)$", nav, re.MULTILINE)) == PAGES


def test_the_site_loads_no_fonts_and_no_repository() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "  font: false" in config
    for option in ("analytics", "extra_javascript", "repo_url", "http"):
        assert option not in config


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_resolve(page: str) -> None:
    for link in relative_links(page):
        path, _, anchor = link.partition("#")
        target = path or page
        assert (DOCS / target).is_file(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_title_and_no_heading_twice(page: str) -> None:
    found = HEADING.findall(prose(page))
    assert [level for level, _ in found].count("#") == 1
    slugs = [slug(heading) for _, heading in found]
    assert len(slugs) == len(set(slugs))


def test_the_readme_leads_to_the_guides() -> None:
    links = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    base = f"https://github.com/{address.repository()}/blob/main/docs/"
    assert {f"{base}which_metric.md", f"{base}migration.md"} <= set(links)


# The guide by question -----------------------------------------------------------------------

METRIC = re.compile(r"\[`(\w+)`\]\(metrics_\w+\.md#(\w+)\)")
QUESTIONS = sections("which_metric.md", "###")


def test_the_catalogue_leads_to_the_section_of_every_score() -> None:
    assert METRIC.findall(read_page("metrics.md")) == [(name, name) for name in entries()]


def test_links_to_sections_name_the_score() -> None:
    pages = [page for page in PAGES if page != "metrics.md"]
    links = [link for page in pages for link in METRIC.findall(prose(page))]
    assert len(links) > 80
    assert all(text == anchor for text, anchor in links)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_has_an_index_a_trap_and_a_query(question: str) -> None:
    text = QUESTIONS[question]
    assert METRIC.search(text) or relative_links_of(text)
    assert text.count("**Trap.**") == 1
    assert {"sql", "python"} & set(FENCE.findall(text))


def relative_links_of(text: str) -> list[str]:
    return [link for link in LINK.findall(text) if ".md" in link and not link.startswith("http")]


def test_the_first_table_lists_the_questions_in_order() -> None:
    head = read_page("which_metric.md").partition("\n## ")[0]
    listed = [row[0] for row in rows_of_table(head)[1:]]
    found = [LINK.search(cell) for cell in listed]
    assert [match[1] for match in found if match] == [f"#{slug(name)}" for name in QUESTIONS]


def test_every_question_is_one_click_from_the_first_page() -> None:
    links = {link.partition("#")[2] for link in relative_links("index.md") if "which" in link}
    direct = {slug(name) for name in QUESTIONS} & links
    assert len(direct) >= 8
    assert "" in links


def test_works_that_are_cited_are_in_the_sources() -> None:
    text, _, sources = " ".join(prose("which_metric.md").split()).partition("## Sources")
    cited = re.findall(r"(\w[\w-]+)(?: et al\.)? \(?((?:19|20)\d\d)\)?", text)
    assert len(set(cited)) > 15
    for name, year in cited:
        assert re.search(rf"{name}[^·]*\({year}\)", sources), (name, year)


@pytest.fixture(scope="module")
def random_clusters() -> pl.DataFrame:
    """Scores of clusters that ignore the digits: one, more and more, and single rows."""
    digits = pl.read_parquet(ROOT / "examples" / "digits.parquet")
    drawn = pl.concat(
        digits.select("digit", k=pl.lit(k), cluster=pl.col("id") * 7919 % k)
        for k in (1, 2, 10, 100, 600, digits.height)
    )
    return ce.external_report(drawn, "digit", "cluster", partition_by="k")


@pytest.mark.parametrize("name", ["purity", "normalized_mutual_info_score", "v_measure_score"])
def test_scores_that_rise_with_the_number_of_clusters(
    random_clusters: pl.DataFrame, name: str
) -> None:
    assert random_clusters[name].is_sorted()
    assert random_clusters[name][-2] > random_clusters[name][0] + 0.3


def test_adjusted_scores_of_random_clusters(random_clusters: pl.DataFrame) -> None:
    for name in ("adjusted_mutual_info_score", "adjusted_rand_score"):
        assert random_clusters[name].abs().max() < 0.03
    for name in ("fowlkes_mallows_score", "jaccard_index"):
        assert random_clusters[name].is_sorted(descending=True)
        assert random_clusters[name][1] > 0.05


def test_scores_that_are_best_for_one_cluster_or_for_single_rows(
    random_clusters: pl.DataFrame,
) -> None:
    one, *_, single = random_clusters.rows(named=True)
    assert one["completeness_score"] == one["inverse_purity"] == 1
    assert single["homogeneity_score"] == single["purity"] == 1
    assert one["homogeneity_score"] == 0


# The page of names elsewhere -----------------------------------------------------------------

TABLES = {
    name.partition(" (")[0]: rows_of_table(text)[1:]
    for name, text in sections("migration.md", "##").items()
}


def pairs_of_names(library: str) -> set[tuple[str, str]]:
    """Names there and here, by their places in rows with as many names on both sides."""
    both = [(code(there), code(here)) for there, here, _ in TABLES[library]]
    return {
        (other.removeprefix("cluster."), own)
        for theirs, ours in both
        if len(theirs) == len(ours)
        for other, own in zip(theirs, ours, strict=True)
    }


@pytest.mark.parametrize("library", ["scikit-learn", "clusterCrit", "fpc"])
def test_names_elsewhere_are_those_of_the_catalogue(library: str) -> None:
    known = {
        (entry.elsewhere[library].removeprefix("cluster."), name)
        for name, entry in entries().items()
        if library in entry.elsewhere
    }
    # centroid_dunn_index is gdi_41 by another name.
    known -= {("GDI41", "centroid_dunn_index")}
    # The table of scikit-learn names its functions, of which the score is a column.
    own = {("silhouette_score", "silhouette"): ("silhouette_score", "silhouette_score")}
    assert {
        own.get(pair, pair) if library == "scikit-learn" else pair for pair in known
    } <= pairs_of_names(library)


def test_all_of_scikit_learn_is_there() -> None:
    named = {
        name.removeprefix("cluster.") for row in TABLES["scikit-learn"] for name in code(row[0])
    }
    assert set(sklearn.metrics.cluster.__all__) <= named


NODES = pl.DataFrame({"id": [1, 2, 3], "cluster": [1, 1, 2]})
EDGES = pl.DataFrame({"a": [1, 2], "b": [2, 3]})
#: Columns of the tables of graphs that are no scores of a clustering.
OF_GRAPHS = {
    column
    for table in registry.tables("graph")
    if table != "graph_report"
    for column in getattr(ce, table)(NODES, "id", "cluster", EDGES, "a", "b").columns
}


@pytest.mark.parametrize("library", TABLES)
def test_every_name_on_this_side_exists(library: str) -> None:
    assert TABLES[library]
    arguments = {"vector", "cluster"}
    for _, here, _ in TABLES[library]:
        for name in code(here):
            known = hasattr(ce, name) or name in {*entries(), *arguments, *OF_GRAPHS}
            assert known or re.fullmatch(r'distance="(sqeuclidean|cosine)"', name), name


def test_b_cubed_of_er_evaluation() -> None:
    """The values in the docstrings of er-evaluation, for its own example."""
    con = duckdb.connect()
    ce.register(con)
    text = sections("migration.md", "##")["er-evaluation"]
    [block] = re.findall(r"^```sql\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found = con.execute(block).fetchone()
    assert found == pytest.approx((0.6458333333333333, 0.7638888888888888), rel=1e-12)


#: What users type into a search, in no form that a page lacks.
SEARCHED = """
    NULLs noise aggregate speed Snowflake BigQuery notebooks Jupyter marimo typing mypy editor
"""


@pytest.mark.parametrize("word", SEARCHED.split())
def test_a_search_for_what_users_ask_finds_the_page_of_questions(word: str) -> None:
    """The search of the site finds whole words."""
    assert re.search(rf"\b{word}\b", read_page("questions.md"))


# The build -----------------------------------------------------------------------------------


@pytest.mark.wide
def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="zensical: not installed; make docs installs it")
    for name in ("docs", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    assert {path.stem for path in site.glob("*.html")} >= {Path(page).stem for page in PAGES}
    for path in site.glob("*.html"):
        html = path.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe)[^>]* src="?(?:https?:)?//', html), path.name
        assert not re.findall(r'<link[^>]* href="?(?:https?:)?//', html), path.name
    functions = (site / "api_points.html").read_text(encoding="utf-8")
    assert "The points, one per row." in functions, "the docstring of internal_report"
    assert " : as in " not in functions
    assert "as in internal_report</code>" not in functions
    scores = (site / "api_scores.html").read_text(encoding="utf-8")
    assert scores.count("<li><strong>Best value:</strong> ") == scores.count("Facts</summary>") > 0
    assert "<code>clustereval.rand_score(label, cluster)</code></li>" in scores
    pages = [path.read_text(encoding="utf-8") for path in site.glob("api_*.html")]
    macros = set(
        re.findall(r"^CREATE OR REPLACE MACRO clustereval\.(\w+)", ce.bundle(), re.MULTILINE)
    )
    boxes = sum(page.count("<summary>The macro in SQL</summary>") for page in pages)
    assert boxes == len(macros & set(ce.__all__)) > 100
    assert "clustereval.internal_report(tbl, vector, cluster, distance := " in functions
    assert "<li><code>noise</code>: The value of cluster that marks noise.</li>" in functions
    assert not any("language-sql" in page for page in pages), "blocks that the playground would run"


def test_programs_find_every_question_and_page() -> None:
    text = llms.short_text()
    assert text.startswith("# polars_clustereval\n\n> Evaluate clusterings where your data ")
    assert len(text) < 30_000
    for question in QUESTIONS:
        assert f"(which_metric.md#{slug(question)})" in text
    links = [link for link in LINK.findall(text) if not link.startswith("https://")]
    assert {link.partition("#")[0] for link in links} == {*PAGES, "llms-full.txt"}
    for link in links:
        page, _, anchor = link.partition("#")
        assert not anchor or anchor in anchors(page), link
    described = re.findall(r"^- \[.*\]\((\w+\.md)\): (.*)$", text, re.MULTILINE)
    assert sorted(page for page, _ in described) == PAGES
    assert all(len(words.split()) > 4 for _, words in described)


def test_calls_for_programs_are_those_that_run() -> None:
    """Those of a page, whose blocks run in test_snippets."""
    calls = re.findall(r"^```(?:sql|python)\n.*?^```$", llms.short_text(), re.MULTILINE | re.DOTALL)
    assert len(calls) >= 5
    assert all(call in read_page("index.md") for call in calls)


def test_the_long_text_has_every_page_and_docstring() -> None:
    text = llms.full_text()
    assert "<!--" not in text
    assert "\n::: " not in text
    for page in PAGES:
        if not page.startswith("api_"):
            assert llms.COMMENT.sub("", read_page(page)) in text, page
    for name in ce.__all__:
        assert not callable(getattr(ce, name)) or f"\n## {name}\n\n```text\n{name}" in text, name


def test_every_function_has_a_place_on_the_pages_of_functions() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("api_*.md"))
    listed = re.findall(r"^::: polars_clustereval\.([\w.]+)$", text, re.MULTILINE)
    functions = [name for name in ce.__all__ if callable(getattr(ce, name))]
    assert sorted(listed) == sorted([*functions, *(f"plots.{x}" for x in plots.__all__)])
