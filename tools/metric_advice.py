"""When to use the scores of a family, what misleads, and what they are on the example.

What is said of single scores is read from the tables of docs/which_metric.md.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import duckdb

import polars_clustereval as ce

ROOT = Path(__file__).parent.parent
QUESTIONS = "which_metric.md"
LINK = re.compile(r"\[`(\w+)`\]\([^)]*\)")


class Advice(NamedTuple):
    """Whole sentences about a family of scores."""

    use: str
    beware: str


FAMILIES = {
    "pair counting": Advice(
        "You want to know how often the clusters and the labels agree on whether two rows belong "
        "together. Start with `adjusted_rand_score`.",
        "A cluster of n rows has n (n − 1) / 2 pairs, so large clusters dominate every one of "
        "these scores. Without adjustment for chance, random clusters score well above 0.",
    ),
    "information": Advice(
        "You want to know how much the clusters tell you about the labels, and the clusters have "
        "very different sizes. Start with `adjusted_mutual_info_score`, and read "
        "`homogeneity_score` and `completeness_score` together.",
        "Scores that are not adjusted for chance rise with the number of clusters, even if the "
        "clusters are random.",
    ),
    "set matching": Advice(
        "You want a number for each row or each cluster that you can explain to anyone, such as "
        "the share of rows that have the majority label of their cluster.",
        "A score that considers only one side can be misleading: many small clusters give a high "
        "purity but a low inverse purity. Report both scores or their mean.",
    ),
    "entity resolution": Advice(
        "Your clusters are entities, such as persons or products, with a few records each, and you "
        "want to know what it would cost to repair them.",
        "An entity with a single record counts as much as one with a hundred records. Distances "
        "grow with the number of records, so compare only distances for the same data.",
    ),
    "coreference": Advice(
        "You want to compare your results with published results on coreference or entity linking, "
        "which use these scores.",
        "MUC ignores clusters of one row and hardly penalizes merging all rows into one cluster. "
        "State which of these scores you report, because they can rank the same systems "
        "differently.",
    ),
    "reduced information": Advice(
        "The number of labels and the number of clusters differ greatly, and you need a variant of "
        "mutual information that does not reward having many clusters.",
        "The values depend on how the contingency table is encoded, so they are comparable only "
        "with values from the same formula.",
    ),
    "one-to-one matching": Advice(
        "Each cluster should correspond to one label, and you want the score of the best "
        "assignment of clusters to labels.",
        "A cluster can be matched with only one label. If a label is split into two good clusters, "
        "the rows of the smaller one count as wrong.",
    ),
    "overlapping clusters": Advice(
        "An item can be in several clusters or have several labels, such as tags, topics or "
        "communities.",
        "Two different scores are called overlapping NMI; state which one you report. If each "
        "item has only one label and one cluster, use the scores for partitions instead.",
    ),
    "clusters of a graph": Advice(
        "Your clusters are communities in a network or groups of linked records, and you have "
        "edges rather than labels.",
        "Modularity cannot detect communities that are small compared with the whole graph, and "
        "random graphs have a modularity well above 0.",
    ),
    "nearest neighbors": Advice(
        "You have the nearest neighbors of each point, from an index or from a library that made a "
        "graph of them, and want to know whether neighbors are in the same cluster, or whether "
        "batches are mixed.",
        "For clusters and labels, neighbors should be in the same cluster, and for batches, they "
        "should not: the same value can be good or bad. Means over all ids hide a small cluster "
        "that is lost among others.",
    ),
    "drift between runs": Advice(
        "The same ids are clustered again, for example every night, and you want to be alerted if "
        "more ids than usual change clusters.",
        "Ids that were added or removed between the runs say nothing about the clustering. Look at "
        "`left_rate` and `joined_rate` before you blame the algorithm.",
    ),
    "sums of squares": Advice(
        "You want the sums from which other indices are computed, or the values of an elbow curve.",
        "Sums of squares improve with every additional cluster, so they alone cannot tell you the "
        "right number of clusters. A column with a large scale dominates the sums.",
    ),
    "centers": Advice(
        "You have no labels and your clusters are roughly round, like those of K-means. Use these "
        "indices to compare clusterings of the same points.",
        "These indices favor round clusters of similar size, whatever the data look like. Values "
        "for different data sets, scales or distances are not comparable.",
    ),
    "scatter matrices": Advice(
        "Your clusters are all elongated in the same directions, so the coordinates must be "
        "considered together and not one by one.",
        "Determinants are NULL or unstable if coordinates are nearly collinear, or if there are "
        "only slightly more points than coordinates.",
    ),
    "silhouettes": Advice(
        "You have no labels and want to know whether points are closer to their own cluster than "
        "to the next one, on a familiar scale from −1 to 1.",
        "Silhouettes favor convex clusters, and squared distances give larger values than plain "
        "distances. Large clusters dominate the mean over all points.",
    ),
    "Dunn": Advice(
        "You want clusters that are compact and far apart even in the worst case, not only on "
        "average.",
        "The classical index depends on very few points, so a single outlier can change it; the "
        "generalized indices that use means are more stable. The running time of all these indices "
        "grows with the square of the number of points.",
    ),
    "pairs of points": Advice(
        "You want to know whether distances within clusters are smaller than distances between "
        "them, without any assumption about the shape of the clusters.",
        "These indices need the distances between all pairs of points. Values for different "
        "numbers of clusters are hard to compare.",
    ),
    "density": Advice(
        "Your clusters have any shape, such as those of DBSCAN and HDBSCAN, and noise between "
        "them.",
        "Noise lowers the score only if you name it with `noise` and drop it. Edges of equal "
        "weight are common, and their order, which follows the ids, can change the score.",
    ),
}


@cache
def traps() -> dict[str, str]:
    """Scores -> what misleads and what to do about it, from the table of traps."""
    table = _page().partition("## Traps of the indices")[2]
    found = {}
    for index, trap, advice in _rows(table.partition("\n## ")[0]):
        for name in LINK.findall(index):
            found[name] = f"{trap}. {advice[0].upper()}{advice[1:]}."
    return found


@cache
def questions_answered() -> dict[str, list[str]]:
    """Scores -> the questions that they answer, as links, from the first table of the page."""
    found = defaultdict(list)
    for question, with_labels, without_labels, _ in _rows(_page().partition("\n## ")[0]):
        link = question.replace("(#", f"({QUESTIONS}#")
        for name in dict.fromkeys(LINK.findall(with_labels) + LINK.findall(without_labels)):
            found[name].append(link)
    return dict(found)


def _page() -> str:
    return (ROOT / "docs" / QUESTIONS).read_text(encoding="utf-8")


def _rows(text: str) -> list[list[str]]:
    """The cells of the rows of the first table in a text, without its head."""
    lines = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    return [line.split(" | ") for line in lines[1:]]


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    ce.register(con)
    con.execute(f"SET file_search_path = '{ROOT}'")
    return con


def example_values(queries: str) -> dict[str, float | None]:
    """The columns of the single rows that some queries return, by their names."""
    con = _connection()
    found: dict[str, float | None] = {}
    for statement in con.extract_statements(queries):
        result = con.execute(statement)
        if statement.type == duckdb.StatementType.SELECT:
            names = [column[0] for column in result.description]
            [row] = result.fetchall()
            found |= dict(zip(names, row, strict=True))
    return found
