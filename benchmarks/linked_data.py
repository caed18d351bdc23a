"""Input of the tables of graphs, of two runs and of overlapping clusterings: one file each.

A file has the rows of two tables below each other. A row of one of them has NULL in the columns of
the other, so that a condition on a column selects a table.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.data import GeneratedFile

# Clusters are of consecutive nodes; their sizes fall slowly with their number, the first one's is
# about twenty times that of the last. The first edge of a node, but of every twentieth, is to the
# node before it in its cluster; of the other edges, four in five are to any node of the cluster.
# The weights are multiples of 1/4, so that all sums of them are exact.
GRAPH_QUERY = """
    COPY (
        WITH nodes AS (
            SELECT
                CAST(node AS INTEGER) AS id,
                CAST(floor({clusters} * power(node / {nodes}, 1.25)) AS INTEGER) AS cluster
            FROM range({nodes}) AS r(node)
        ),
        sizes AS (
            SELECT cluster, min(id) AS first, count(*) AS size FROM nodes GROUP BY cluster
        ),
        ends AS (
            SELECT row, CAST(row % {nodes} AS INTEGER) AS id FROM range({edges}) AS r(row)
        ),
        edges AS (
            SELECT
                id AS "left",
                CAST(CASE
                    WHEN row < {nodes} AND id > first AND hash(3 * row) % 20 > 0 THEN id - 1
                    WHEN hash(3 * row) % 5 > 0 THEN first + hash(3 * row + 1) % size
                    ELSE hash(3 * row + 1) % {nodes}
                END AS INTEGER) AS "right",
                (1 + hash(3 * row + 2) % 4) / 4 AS weight
            FROM ends JOIN nodes USING (id) JOIN sizes USING (cluster)
        )
        SELECT id, cluster, NULL AS "left", NULL AS "right", NULL AS weight FROM nodes
        UNION ALL
        SELECT NULL, NULL, * FROM edges
    ) TO '{path}' (FORMAT parquet)
"""


# Of six clusters of the run before, the first is split into two in the run after, the next two are
# merged, three fifths of the fourth move to the fifth, and the sixth stays. One id in twenty is in
# the run before only, one in the run after only, and one has any cluster in the run after.
RUN_PAIR_QUERY = """
    COPY (
        WITH ids AS (
            SELECT
                CAST(row AS INTEGER) AS id,
                CAST(hash(row) % {clusters} AS INTEGER) AS cluster,
                hash(-row - 1) % 20 AS fate,
                CAST(hash(-row - 1) // 20 % {clusters} AS INTEGER) AS other
            FROM range({ids}) AS r(row)
        )
        SELECT 0 AS run, id, cluster FROM ids WHERE fate <> 0
        UNION ALL
        SELECT
            1,
            id,
            CASE
                WHEN fate = 1 THEN other
                WHEN cluster % 6 = 0 THEN cluster + id % 2 * {clusters}
                WHEN cluster % 6 = 1 OR (cluster % 6 = 3 AND id % 5 < 3) THEN cluster + 1
                ELSE cluster
            END
        FROM ids
        WHERE fate <> 2
    ) TO '{path}' (FORMAT parquet)
"""


# Every id has one label, and one in two has another one. Seven memberships in ten of the clusters
# are those of the labels, the others any.
COVERS_QUERY = """
    COPY (
        WITH memberships AS (
            SELECT
                CAST(row % {ids} AS INTEGER) AS id,
                CAST(hash(3 * row) % {sets} AS INTEGER) AS label,
                CASE
                    WHEN hash(3 * row + 1) % 10 < 7 THEN label
                    ELSE CAST(hash(3 * row + 2) % {sets} AS INTEGER)
                END AS cluster
            FROM range({ids} + {ids} // 2) AS r(row)
        )
        SELECT DISTINCT id, label, NULL AS cluster FROM memberships
        UNION ALL
        SELECT DISTINCT id, NULL, cluster FROM memberships
    ) TO '{path}' (FORMAT parquet)
"""


@dataclass(frozen=True)
class Graph(GeneratedFile):
    """Nodes, rows of (id, cluster), and edges, rows of (left, right, weight) without an id.

    Ids and clusters are Int32, weights Float64.
    """

    template = GRAPH_QUERY
    nodes: int
    edges: int
    clusters: int

    @property
    def name(self) -> str:
        return f"graph_{self.nodes}_nodes_{self.edges}_edges_{self.clusters}_clusters"


@dataclass(frozen=True)
class RunPair(GeneratedFile):
    """Rows of (run, id, cluster), all Int32: a clustering, and what it has become, runs 0 and 1."""

    template = RUN_PAIR_QUERY
    ids: int
    clusters: int

    @property
    def name(self) -> str:
        return f"run_pair_{self.ids}_ids_{self.clusters}_clusters"


@dataclass(frozen=True)
class Covers(GeneratedFile):
    """Memberships in overlapping sets, Int32: rows of (id, label), and of (id, cluster)."""

    template = COVERS_QUERY
    ids: int
    sets: int

    @property
    def name(self) -> str:
        return f"covers_{self.ids}_ids_{self.sets}_sets"
