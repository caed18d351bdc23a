"""The page of names elsewhere: its rows for graphs and entity resolution say the same numbers.

networkx and igraph run here. The values of cdlib, CluSim, er-evaluation and splink are literals,
computed by the version that is named.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import polars as pl
import pytest

import polars_clustereval as ce

pytestmark = pytest.mark.each

ROOT = Path(__file__).parent.parent
IRIS = pl.read_parquet(ROOT / "examples" / "iris.parquet")
SCORES: dict[str, float] = {
    **ce.external_report(IRIS, "species", "kmeans").row(0, named=True),
    **ce.entity_resolution_report(IRIS, "species", "kmeans").row(0, named=True),
    **ce.matching_report(IRIS, "species", "kmeans").row(0, named=True),
    **ce.overlapping_report(
        IRIS.select("id", "species"), IRIS.select("id", "kmeans"), "id", "species", "kmeans"
    ).row(0, named=True),
}


def names_of_library(library: str) -> dict[str, tuple[list[str], str]]:
    """The names here and the difference, by the name there."""
    text = (ROOT / "docs" / "migration.md").read_text("utf-8")
    [section] = re.findall(rf"^## {library}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    found = {}
    for there, here, differs in re.findall(r"^\| (`.*?) \| (.*?) \| (.*) \|$", section, re.M):
        names, ours = re.findall(r"`([^`]+)`", there), re.findall(r"`([^`]+)`", here)
        for i, name in enumerate(names):
            found[name] = ([ours[i]] if len(names) == len(ours) else ours, differs)
    return found


# Scores of a clustering ----------------------------------------------------------------------

#: species and kmeans of iris in cdlib 0.4.1, `evaluation`.
CDLIB = {
    "omega": 0.7302382722834696,
    "overlapping_normalized_mutual_information_LFK": 0.6806136154182543,
    "overlapping_normalized_mutual_information_MGH": 0.6763730428713084,
    "adjusted_rand_index": 0.7302382722834697,
    "adjusted_mutual_information": 0.7551191675800484,
    "normalized_mutual_information": 0.7581756800057784,
    "variation_of_information": 0.7598006516108305,
    "ecs": 0.7754838709677419,
}
#: The same in CluSim 0.4, `clusim.sim`.
CLUSIM = {
    "rand_index": 0.8797315436241611,
    "adjrand_index": 0.7302382722834696,
    "fowlkes_mallows_index": 0.8208080729114153,
    "jaccard_index": 0.6958587915818059,
    "fmeasure": 0.8206565252201762,
    "czekanowski_index": 0.8206565252201762,
    "dice_index": 0.8206565252201762,
    "sorensen_index": 0.8206565252201762,
    "rogers_tanimoto_index": 0.7852863647256171,
    "southwood_index": 2.2879464285714284,
    "mi": 1.1910761823245075,
    "nmi": 0.7581756800057785,
    "adj_mi": 0.7551191675800482,
    "vi": 0.7598006516108304,
    "purity_index": 0.8933333333333333,
    "classification_error": 0.10666666666666658,
    "omega_index": 0.7302382722834696,
    "rmi": 1.0439738180635165,
    "onmi": 0.7480727724419971,
    "pearson_correlation": 2.625373368830097e-08,
}
#: Rows that say that the numbers differ: not the same within this.
OTHER_NUMBERS = {"rmi": 1e-5, "onmi": 1e-2, "pearson_correlation": 1e-2}
VALUES = [("cdlib", *item) for item in CDLIB.items()]
VALUES += [("CluSim", *item) for item in CLUSIM.items()]


@pytest.mark.parametrize(("library", "name", "value"), VALUES)
def test_scores_of_cdlib_and_clusim(library: str, name: str, value: float) -> None:
    [own], differs = names_of_library(library)[name]
    there = value * math.log(2) if differs.startswith("in bits") else value
    there = 1 - there if differs == f"`{name}` is 1 − `{own}`" else there
    if name in OTHER_NUMBERS:
        assert differs != "–"
        assert abs(there - SCORES[own]) > OTHER_NUMBERS[name]
    else:
        assert there == pytest.approx(SCORES[own], rel=1e-12)


def test_every_row_that_says_the_same_number_is_checked() -> None:
    for library, values in (("cdlib", CDLIB), ("CluSim", CLUSIM)):
        same = {name for name, (_, differs) in names_of_library(library).items() if differs == "–"}
        assert same <= set(values)


def test_compare_communities_of_igraph() -> None:
    label, cluster = (IRIS[x].rank("dense").to_list() for x in ("species", "kmeans"))
    ours, methods = names_of_library("networkx and igraph")["compare_communities"]
    names = re.findall(r"`([\w-]+)`", methods)
    assert len(names) == len(ours) == 5
    for method, own in zip(names, ours, strict=True):
        there = igraph.compare_communities(label, cluster, method=method)
        assert there == pytest.approx(SCORES[own], rel=1e-9)


# Graphs --------------------------------------------------------------------------------------

KARATE = nx.karate_club_graph()
CLUB = {node: int(data["club"] == "Officer") for node, data in KARATE.nodes(data=True)}
NODES = pl.DataFrame({"id": list(CLUB), "cluster": list(CLUB.values())})
EDGES = pl.DataFrame(
    list(KARATE.edges(data="weight")), schema=["a", "b", "weight"], orient="row"
).cast({"weight": pl.Float64})
SETS = [{node for node in CLUB if CLUB[node] == i} for i in (0, 1)]
PARTS = [KARATE.subgraph(members) for members in SETS]
G = igraph.Graph(n=len(CLUB), edges=EDGES.select("a", "b").rows())
G_PARTS = [G.subgraph(sorted(members)) for members in SETS]


def graph_table(table: str, **options: Any) -> pl.DataFrame:
    found = getattr(ce, table)(NODES, "id", "cluster", EDGES, "a", "b", **options)
    assert isinstance(found, pl.DataFrame)
    return found


def test_networkx_and_igraph_have_the_same_scores_of_a_graph() -> None:
    plain = graph_table("graph_report").row(0, named=True)
    weighted = graph_table("graph_report", weight="weight").row(0, named=True)
    weights = EDGES["weight"].to_list()
    members = list(CLUB.values())
    for there in (
        nx.community.modularity(KARATE, SETS, weight="weight"),
        G.modularity(members, weights=weights),
    ):
        assert there == pytest.approx(weighted["modularity"], rel=1e-12)
    coverage, performance = nx.community.partition_quality(KARATE, SETS)
    assert plain["coverage"] == pytest.approx(coverage, rel=1e-12)
    assert plain["performance"] == pytest.approx(performance, rel=1e-12)
    assert weighted["coverage"] != pytest.approx(coverage, rel=1e-3)
    shares = [nx.conductance(KARATE, members, weight="weight") for members in SETS]
    assert weighted["mean_conductance"] == pytest.approx(sum(shares) / 2, rel=1e-12)
    assert weighted["worst_conductance"] == pytest.approx(max(shares), rel=1e-12)


def test_networkx_and_igraph_have_the_same_clusters() -> None:
    clusters = graph_table("graph_cluster_report", weight="weight")
    cut = nx.cut_size(KARATE, SETS[0], weight="weight")
    assert clusters["cut_weight"].to_list() == pytest.approx([cut, cut])
    assert clusters["density"].to_list() == pytest.approx([nx.density(part) for part in PARTS])
    assert clusters["density"].to_list() == pytest.approx([part.density() for part in G_PARTS])
    found = [len(list(nx.connected_components(part))) for part in PARTS]
    assert clusters["n_components"].to_list() == found
    assert found == [len(part.connected_components()) for part in G_PARTS]
    assert clusters["diameter"].to_list() == [nx.diameter(part) for part in PARTS]
    assert clusters["diameter"].to_list() == [part.diameter() for part in G_PARTS]


def test_networkx_and_igraph_have_the_same_nodes_and_edges() -> None:
    nodes = graph_table("graph_node_report")
    assert nodes["degree"].to_list() == [KARATE.degree(i) for i in nodes["id"]] == G.degree()
    central = {**nx.degree_centrality(PARTS[0]), **nx.degree_centrality(PARTS[1])}
    assert nodes["node_centrality"].to_list() == pytest.approx([central[i] for i in nodes["id"]])
    bridges = graph_table("graph_edge_report").filter("is_bridge").select("left", "right").rows()
    assert set(bridges) == {tuple(sorted(x)) for part in PARTS for x in nx.bridges(part)}
    assert len(bridges) == sum(len(part.bridges()) for part in G_PARTS) > 0


PEOPLE = pl.DataFrame(
    {
        "unique_id": ["ann", "anne", "a. lee", "a. leigh", "bob", "rob", "cy"],
        "cluster_id": [1, 1, 1, 1, 2, 2, 3],
    }
)
MATCHES = pl.DataFrame(
    [
        ("ann", "anne", 0.99),
        ("anne", "a. lee", 0.95),
        ("a. lee", "ann", 0.97),
        ("a. leigh", "a. lee", 0.81),
        ("bob", "rob", 0.92),
    ],
    schema=["unique_id_l", "unique_id_r", "match_probability"],
    orient="row",
)


def test_graph_metrics_of_splink() -> None:
    """compute_graph_metrics of splink 5.0.0 with threshold_match_probability=0.5."""
    columns = ("unique_id", "cluster_id", MATCHES, "unique_id_l", "unique_id_r")
    nodes = ce.graph_node_report(PEOPLE, *columns).select("id", "node_degree", "node_centrality")
    assert nodes.rows() == [
        ("a. lee", 3, 1.0),
        ("a. leigh", 1, pytest.approx(1 / 3)),
        ("ann", 2, pytest.approx(2 / 3)),
        ("anne", 2, pytest.approx(2 / 3)),
        ("bob", 1, 1.0),
        ("cy", 0, None),  # 0 in splink, as the page says
        ("rob", 1, 1.0),
    ]
    edges = ce.graph_edge_report(PEOPLE, *columns).select("left", "right", "is_bridge")
    assert edges.rows() == [
        ("a. lee", "a. leigh", True),
        ("a. lee", "ann", False),
        ("a. lee", "anne", False),
        ("ann", "anne", False),
        ("bob", "rob", True),
    ]
    clusters = ce.graph_cluster_report(PEOPLE, *columns)
    assert clusters.select("cluster", "n_nodes", "n_edges", "density", "centralization").rows() == [
        (1, 4, 4, pytest.approx(0.6666666666666666), pytest.approx(0.6666666666666666)),
        (2, 2, 1, 1.0, None),
        (3, 1, 0, None, None),
    ]


# er-evaluation -------------------------------------------------------------------------------

RECORDS = pl.DataFrame(
    {
        "id": range(1, 9),
        "entity": ["c1", "c1", "c1", "c2", "c2", "c3", "c3", "c4"],
        "cluster": [1, 1, 2, 3, 2, 4, 4, 4],
    }
)


def test_metrics_of_er_evaluation() -> None:
    """Values of er-evaluation 2.3.0 for the example of its docstrings."""
    report = {
        **ce.external_report(RECORDS, "entity", "cluster").row(0, named=True),
        **ce.entity_resolution_report(RECORDS, "entity", "cluster").row(0, named=True),
    }
    values = {
        "pairwise_precision": 0.4,
        "pairwise_recall": 0.4,
        "pairwise_f": 0.4,
        "cluster_precision": 0.0,
        "cluster_recall": 0.0,
        "cluster_f": 0.0,
        "cluster_homogeneity": 0.6881041381073281,
        "cluster_completeness": 0.6881041381073281,
        "cluster_v_measure": 0.6881041381073281,
        "rand_score": 0.7857142857142857,
        "adjusted_rand_score": 0.26956521739130435,
    }
    for name, value in values.items():
        [own], _ = names_of_library("er-evaluation")[name]
        assert report[own] == pytest.approx(value, rel=1e-12), name


def test_errors_of_er_evaluation() -> None:
    """error_metrics of er-evaluation 2.3.0; splitting_entropy of the docstring of its module."""
    errors = ce.cluster_error_table(RECORDS, "entity", "cluster")
    names = (
        *("expected_extra", "expected_relative_extra"),
        *("expected_missing", "expected_relative_missing", "error_indicator"),
    )
    assert errors.select("label", *names).rows() == [
        ("c1", *map(pytest.approx, (1 / 3, 1 / 6, 4 / 3, 4 / 9, 1))),
        ("c2", *map(pytest.approx, (1 / 2, 1 / 4, 1.0, 1 / 2, 1))),
        ("c3", *map(pytest.approx, (1.0, 1 / 3, 0.0, 0.0, 1))),
        ("c4", *map(pytest.approx, (2.0, 2 / 3, 0.0, 0.0, 1))),
    ]
    size_difference = errors["expected_extra"] - errors["expected_missing"]
    assert size_difference.to_list() == pytest.approx([-1.0, -0.5, 1.0, 2.0])
    entropy = errors["splitting_entropy"].to_list()
    assert entropy == pytest.approx([1.889882, 2.0, 1.0, 1.0], abs=1e-6)
