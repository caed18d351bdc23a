"""The catalogue: complete, and with calls that run. Statements elsewhere: test_stated_facts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import sklearn.metrics
from scipy import stats

import polars_clustereval as ce
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.catalogue import entries, reading, show_cases
from tests.support import registry
from tests.support.stated_ranges import BEST_IN_WORDS, bound_of, stated_by
from tools.metrics_page import split_definition

pytestmark = pytest.mark.each

ROOT = Path(__file__).parent.parent
NAMES = list(entries())
LABEL_TABLES = registry.WITH_SCORES["labels"]
#: The kind of the scores of tables of two tables.
KINDS = {
    "overlapping_report": "external",
    "graph_report": "graph",
    "neighborhood_report": "graph",
    "run_drift": "relative",
}
POINT_TABLES = registry.WITH_SCORES["points"]
IRIS = pl.read_parquet(ROOT / "examples" / "iris.parquet").select(
    "id",
    label="species",
    cluster="kmeans",
    x="petal_length",
    y="petal_width",
)
#: The tables of the calls of the catalogue, by name: flowers that are alike are joined by an edge.
FRAMES = {
    "labels": IRIS.select("id", "label"),
    "clusters": IRIS.select("id", "cluster"),
    "nodes": IRIS.select("id", "cluster"),
    "edges": IRIS.select(id_l="id", l="x")
    .join(IRIS.select(id_r="id", r="x"), how="cross")
    .filter(pl.col("id_l") < pl.col("id_r"), (pl.col("l") - pl.col("r")).abs() < 0.3)
    .select("id_l", "id_r"),
    "ids": IRIS.select("id", "cluster"),
    "knn": ce.nearest_neighbors(IRIS, ["x", "y"], "id").select(
        id_l="id", id_r="neighbor", d="distance"
    ),
    "run_before": IRIS.select("id", "cluster"),
    "run_after": IRIS.filter(pl.col("id") % 7 > 0).select(
        "id", cluster=pl.when(pl.col("id") % 5 > 0).then("cluster").otherwise(7)
    ),
}
TABLES = {
    "overlapping_report": lambda: ce.overlapping_report(
        FRAMES["labels"], FRAMES["clusters"], "id", "label", "cluster"
    ),
    "graph_report": lambda: ce.graph_report(
        FRAMES["nodes"], "id", "cluster", FRAMES["edges"], "id_l", "id_r"
    ),
    "neighborhood_report": lambda: ce.neighborhood_report(
        FRAMES["ids"], "id", "cluster", FRAMES["knn"], "id_l", "id_r", distance="d"
    ),
    "run_drift": lambda: ce.run_drift(FRAMES["run_before"], FRAMES["run_after"], "id", "cluster"),
}


def is_score(column: str) -> bool:
    return not re.fullmatch(r"n|n_\w+|std_error|clusters_are_components", column)


@pytest.fixture(scope="module")
def columns() -> dict[str, list[str]]:
    """The scores of each report, in their order."""
    points = {name: getattr(ce, name)(IRIS, ["x", "y"], "cluster") for name in POINT_TABLES}
    labels = {name: getattr(ce, name)(IRIS, "label", "cluster") for name in LABEL_TABLES}
    # A score of both reports is in the catalogue as one of external_report.
    shared = set(labels["external_report"].columns)
    labels["entity_resolution_report"] = labels["entity_resolution_report"].drop(
        shared, strict=False
    )
    pairs = {name: call() for name, call in TABLES.items()}
    # As above: the agreement of two runs is that of external_report.
    pairs["run_drift"] = pairs["run_drift"].drop(shared, strict=False)
    # The connectivity is that of pairwise_report, and the modularity that of graph_report.
    pairs["neighborhood_report"] = pairs["neighborhood_report"].drop("connectivity", "modularity")
    tables = {**labels, **pairs, **points}
    return {name: list(filter(is_score, table.columns)) for name, table in tables.items()}


def test_every_score_has_an_entry_and_every_entry_a_score(columns: dict[str, list[str]]) -> None:
    expected = [(table, name) for table, names in columns.items() for name in names]
    assert [(entry.table, entry.name) for entry in entries().values()] == expected
    assert [entry.name for entry in entries().values()] == NAMES
    for entry in entries().values():
        kind = "external" if entry.table in LABEL_TABLES else "internal"
        assert entry.kind == KINDS.get(entry.table, kind)


@pytest.mark.parametrize("name", NAMES)
def test_no_entry_leaves_out_what_every_score_has(name: str) -> None:
    entry = entries()[name]
    texts = (entry.title, entry.family, entry.definition, entry.range, entry.meaning)
    assert all(texts)
    assert entry.cost.endswith(".")
    assert not entry.differs or entry.differs.endswith(".")
    assert len(entry.meaning) <= 50
    assert entry.best in ("", "0", "1", "high", "low")
    if entry.kind != "internal":
        assert "NULL" in entry.special_cases
        assert entry.special_cases.endswith(".")
    else:
        assert not entry.special_cases.endswith(".")


def test_titles_and_meanings_tell_scores_apart() -> None:
    for texts in (
        [x.title for x in entries().values()],
        [x.definition for x in entries().values()],
    ):
        assert len(set(texts)) == len(texts)


# Definitions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_definition_starts_with_a_sentence_in_words(name: str) -> None:
    """Without symbols or names of columns: the pages print it in bold, before the formula."""
    definition = entries()[name].definition
    phrase, rest = split_definition(definition)
    assert f"{phrase} {rest}".rstrip() == definition
    assert definition.endswith(".")
    assert re.fullmatch(r"""[A-Z][A-Za-z0-9 ,:'"()-]+\.""", phrase)
    assert " - " not in phrase


def test_the_page_of_dunn_has_the_same_distances() -> None:
    text = (ROOT / "docs/dunn.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (\d) \| (.*?) \| (\d?) \| (.*) \|$|^\| (\d) \| (.*?) \| \| \|$", text, re.M
    )
    assert len(rows) == 6
    for i, delta, j, diameter, only, other in rows:
        separation = other if only else delta
        definition = entries()[f"gdi_{only or i}1"].definition
        assert f"δ{only or i} is {separation}, and " in definition
        if j:
            assert entries()[f"gdi_1{j}"].definition.endswith(f"Δ{j} is {diameter}.")
    for name in ("dunn_index", "centroid_dunn_index"):
        assert f"| `{name}` | {entries()[name].definition} |" in text


# Calls ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    ce.register(con)
    con.register("tbl", IRIS)
    for name, frame in FRAMES.items():
        con.register(name, frame)
    return con


@pytest.fixture(scope="module")
def values() -> dict[str, float]:
    """Every score of iris, from the reports."""
    given = {
        name: {x.option: True for x in entries().values() if x.table == name and x.option}
        for name in POINT_TABLES
    }
    rows = [
        getattr(ce, name)(IRIS, ["x", "y"], "cluster", **given[name]).row(0, named=True)
        for name in POINT_TABLES
    ]
    rows += [
        getattr(ce, name)(IRIS, "label", "cluster").row(0, named=True) for name in LABEL_TABLES
    ]
    # Those of run_drift first: three of them are names of external_report.
    rows = [call().row(0, named=True) for call in reversed(TABLES.values())] + rows
    return {name: value for found in rows for name, value in found.items() if is_score(name)}


@pytest.mark.gate
@pytest.mark.parametrize("name", NAMES)
def test_both_calls_give_the_same_number(
    con: duckdb.DuckDBPyConnection, values: dict[str, float], name: str
) -> None:
    entry = entries()[name]
    assert values[name] is not None
    in_polars = eval(entry.polars, {"ce": ce, "frame": IRIS, **FRAMES}).item()
    assert in_polars == pytest.approx(values[name], rel=1e-9)
    if entry.has_sql:
        [(in_sql,)] = con.execute(entry.sql).fetchall()
        assert in_sql == pytest.approx(values[name], rel=1e-9)
    else:
        assert entry.sql.startswith("-- no SQL; ")


def test_entries_know_which_tables_have_sql() -> None:
    tables = {entry.table: entry.has_sql for entry in entries().values()}
    assert tables == {name: declared_tables()[name].has_macro for name in tables}


# Other libraries -----------------------------------------------------------------------------


def names_in(library: str) -> dict[str, str]:
    found = {name: entry.elsewhere.get(library) for name, entry in entries().items()}
    return {name: other for name, other in found.items() if other}


@pytest.mark.parametrize("name", [k for k, v in names_in("scikit-learn").items() if "." not in v])
def test_scikit_learn_has_the_same_number(values: dict[str, float], name: str) -> None:
    function = getattr(sklearn.metrics, names_in("scikit-learn")[name])
    label, cluster = IRIS["label"].to_list(), IRIS["cluster"].to_list()
    is_external = entries()[name].kind == "external"
    points: Any = label if is_external else IRIS.select("x", "y").to_numpy()
    assert function(points, cluster) == pytest.approx(values[name], rel=1e-9)


def test_other_names_of_scikit_learn(values: dict[str, float]) -> None:
    dotted = {name: other for name, other in names_in("scikit-learn").items() if "." in other}
    assert dotted == {
        "ssw": "KMeans.inertia_",
        "expected_mutual_info": "cluster.expected_mutual_information",
    }
    cells = sklearn.metrics.cluster.contingency_matrix(IRIS["label"], IRIS["cluster"], sparse=True)
    found = sklearn.metrics.cluster.expected_mutual_information(cells, IRIS.height)
    assert found == pytest.approx(values["expected_mutual_info"], rel=1e-9)
    model = sklearn.cluster.KMeans(3, n_init=10, random_state=0).fit(
        IRIS.select("x", "y").to_numpy()
    )
    clusters = IRIS.with_columns(cluster=pl.Series(model.labels_))
    ssw = ce.internal_report(clusters, ["x", "y"], "cluster")["ssw"].item()
    assert ssw == pytest.approx(model.inertia_, rel=1e-9)


def test_entropies_of_scipy(values: dict[str, float]) -> None:
    keys = {
        "label_entropy": ["label"],
        "cluster_entropy": ["cluster"],
        "joint_entropy": ["label", "cluster"],
    }
    assert names_in("scipy").keys() == keys.keys()
    for name, by in keys.items():
        sizes = IRIS.group_by(by).len()["len"].to_numpy().astype(np.float64)
        assert stats.entropy(sizes) == pytest.approx(values[name], rel=1e-12)


#: getCriteriaNames(TRUE) and getCriteriaNames(FALSE) of clusterCrit 1.3.0, from its manual.
CRITERIA = re.findall(
    r"\w+",
    """
    Ball_Hall Banfeld_Raftery C_index Calinski_Harabasz Davies_Bouldin Det_Ratio Dunn Gamma
    G_plus GDI11 GDI12 GDI13 GDI21 GDI22 GDI23 GDI31 GDI32 GDI33 GDI41 GDI42 GDI43 GDI51
    GDI52 GDI53 Ksq_DetW Log_Det_Ratio Log_SS_Ratio McClain_Rao PBM Point_Biserial Ray_Turi
    Ratkowsky_Lance Scott_Symons SD_Scat SD_Dis S_Dbw Silhouette Tau Trace_W Trace_WiB
    Wemmert_Gancarski Xie_Beni Czekanowski_Dice Folkes_Mallows Hubert Jaccard Kulczynski
    McNemar Phi Precision Rand Recall Rogers_Tanimoto Russel_Rao Sokal_Sneath1 Sokal_Sneath2
    """,
)
#: Those that are other numbers than the scores of a similar name.
OTHER_NUMBERS = {"Phi", "Xie_Beni", "GDI51", "GDI53", *(f"GDI{i}2" for i in range(1, 6))}


def test_every_criterion_of_cluster_crit_is_named() -> None:
    assert len(CRITERIA) == 42 + 14
    assert set(names_in("clusterCrit").values()) == set(CRITERIA) - OTHER_NUMBERS
    for name in ("phi_index", "xie_beni_index", "gdi_51", "gdi_53", "gdi_12", "gdi_42"):
        assert "clusterCrit" in entries()[name].differs


# Sources and scales --------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_source_has_a_year_and_dois_have_their_form(name: str) -> None:
    source, scale = entries()[name].source, entries()[name].scale
    assert source.endswith(".")
    assert re.search(r"\((1[89]|20)\d\d\)", source) or "https://" in source
    text = f"{source} {scale.title if scale else ''}"
    assert len(re.findall(r"doi:", text)) == len(re.findall(r"doi:10\.\d{4,5}/[^\s;,]*\w", text))
    assert "doi.org" not in text


SCALED = [name for name in NAMES if entries()[name].scale]


def test_scales_are_those_of_the_two_headlines() -> None:
    assert SCALED == ["adjusted_rand_score", "silhouette"]


@pytest.mark.parametrize("name", SCALED)
def test_scales_are_ordered_and_cover_their_range(name: str) -> None:
    entry = entries()[name]
    assert entry.scale is not None
    own = stated_by(entry)
    low, high = (bound_of(text, {}) for text in (own.low, own.high))
    bounds = [bound for bound, _ in entry.scale.words]
    assert bounds == sorted(set(bounds), reverse=True)
    assert all(low < bound < high for bound in bounds)
    words = [word for _, word in entry.scale.words] + [entry.scale.otherwise]
    assert len(set(words)) == len(words)
    inside = [high, *bounds]
    assert [entry.scale.read(value) for value in inside] == words
    assert entry.scale.read(low) == words[-1]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        # Steinley (2004): greater than .90, .80 and .65.
        ("adjusted_rand_score", 1.0, "excellent (Steinley 2004)"),
        ("adjusted_rand_score", 0.91, "excellent (Steinley 2004)"),
        ("adjusted_rand_score", 0.85, "good (Steinley 2004)"),
        ("adjusted_rand_score", 0.73, "moderate (Steinley 2004)"),
        ("adjusted_rand_score", 0.65, "poor (Steinley 2004)"),
        ("adjusted_rand_score", -0.5, "poor (Steinley 2004)"),
        # Kaufman and Rousseeuw (1990): 0.71-1.00, 0.51-0.70, 0.26-0.50, up to 0.25.
        ("silhouette", 0.71, "strong structure (Kaufman and Rousseeuw 1990)"),
        ("silhouette", 0.70, "reasonable structure (Kaufman and Rousseeuw 1990)"),
        ("silhouette", 0.51, "reasonable structure (Kaufman and Rousseeuw 1990)"),
        ("silhouette", 0.26, "weak structure (Kaufman and Rousseeuw 1990)"),
        ("silhouette", 0.25, "no substantial structure (Kaufman and Rousseeuw 1990)"),
        ("silhouette", None, None),
        ("purity", 0.9, None),
        ("n", 3, None),
    ],
)
def test_words_for_values(name: str, value: float | None, words: str | None) -> None:
    assert reading(name, value) == words


# describe ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("purity", "1 if every cluster is a singleton. NULL if there are no rows."),
        ("ssw", "NULL if there are no points."),
        ("separation", "NULL if there are no points, or if k = 1."),
        ("dunn_index", "NULL if there are no points, if k = 1 or k = n, or if max_diameter = 0."),
        (
            "tau",
            (
                "NULL if there are no points, or if k = 1 or k = n. "
                "In the range, m = √(2 N_W N_B / (N_T (N_T − 1))), which is reached if s⁻ = 0."
            ),
        ),
    ],
)
def test_cases_are_whole_sentences(name: str, text: str) -> None:
    assert show_cases(entries()[name]) == text


@pytest.mark.parametrize("name", NAMES)
def test_describe_says_all(name: str) -> None:
    entry = entries()[name]
    text = ce.describe(name)
    assert text.startswith(f"{entry.title}\n\n")
    flat = " ".join(text.split())
    best = BEST_IN_WORDS.get(entry.best, f"best {entry.best}")
    for part in (
        *(entry.definition, f"Range {entry.range}, {best}", f"Source {entry.source}"),
        *re.split(r"; |\. ", entry.special_cases),
        *(entry.cost, entry.differs, *entry.elsewhere.values()),
        *(f"SQL {entry.sql}", f"Polars {entry.polars}"),
    ):
        assert part in flat
    *lines, sql, polars = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert max(len(sql), len(polars)) <= 128
    assert ("Reading " in text) == (entry.scale is not None)


def test_describe_lists_every_score_in_its_family() -> None:
    blocks = ce.describe().split("\n\ntables\n")[0].split("\n\n")
    found = {}
    for block in blocks:
        family, *lines = block.splitlines()
        found |= {line.split()[0]: family for line in lines}
        assert all(line.startswith("  ") and len(line) <= 100 for line in lines)
    expected = {name: f"{entry.family} ({entry.kind})" for name, entry in entries().items()}
    assert found == expected
    assert len(blocks) == len(set(expected.values()))


def test_prompts_show_the_text_as_it_is() -> None:
    text = ce.describe("purity")
    assert isinstance(text, str)
    assert repr(text) == str(text)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("davies_bouldin", "got 'davies_bouldin'; did you mean 'davies_bouldin_score'?"),
        ("Purity", "got 'Purity'; did you mean 'purity'?"),
        ("ari", "got 'ari'; did you mean 'adjusted_rand_score'?"),
        ("NMI", "got 'NMI'; did you mean 'normalized_mutual_info_score'?"),
        ("NVI", "got 'NVI'; did you mean 'normalized_variation_of_information'?"),
        ("pbm", "got 'pbm'; did you mean 'pbm_index'?"),
        ("Trace_W", "got 'Trace_W'; did you mean 'ssw'?"),
        ("corrected.rand", "got 'corrected.rand'; did you mean 'adjusted_rand_score'?"),
        ("silhouete_score", "got 'silhouete_score'; did you mean 'silhouette_score'?"),
        ("external_sumary", "got 'external_sumary'; did you mean 'external_summary'?"),
        ("second_diference", "got 'second_diference'; did you mean 'second_difference'?"),
        ("nois_as", "got 'nois_as'; did you mean 'noise_as'?"),
        ("Silhouette", "got 'Silhouette'; did you mean 'silhouette'?"),
        # Typing errors, which are near a name, but are neither a name elsewhere nor part of one.
        ("puritty", "got 'puritty'; did you mean 'purity'?"),
        ("ajusted_rand_scroe", "got 'ajusted_rand_scroe'; did you mean 'adjusted_rand_score'?"),
        ("zzz", "got 'zzz'; describe without a name lists all"),
        (3, "got 3; describe without a name lists all"),
        (True, "got true; describe without a name lists all"),
    ],
)
def test_an_unknown_name(name: Any, words: str) -> None:
    expected = re.escape(
        f"name: expected the name of a score, a table, a criterion or a parameter, {words}"
    )
    with pytest.raises(ce.ClusterEvalError, match=f"^{expected}$"):
        ce.describe(name)


@pytest.mark.gate
def test_the_catalogue_is_not_imported_before_it_is_asked_for() -> None:
    code = "import sys, polars_clustereval as ce; name = 'polars_clustereval.catalogue'; "
    code += "print(name in sys.modules); ce.describe('purity'); print(name in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.gate
def test_describe_without_docstrings() -> None:
    """Python leaves them out with -OO, but what they say of metrics is in a file."""
    code = "import polars_clustereval as ce; print(ce.describe('purity'))"
    command = [sys.executable, "-OO", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ce.describe("purity")


def test_every_score_has_a_section_with_both_calls_and_every_section_a_score() -> None:
    sections = {
        name: text
        for path in (ROOT / "docs").glob("metrics_*.md")
        for name, text in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", path.read_text(), re.M | re.S)
    }
    assert sections.keys() == entries().keys()
    for name, text in sections.items():
        entry = entries()[name]
        for fact in (entry.title, entry.range, entry.source, entry.sql, entry.polars):
            assert fact in text, name
