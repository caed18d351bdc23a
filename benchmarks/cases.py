"""Cases: the jobs that are compared with each other, and their input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.data import (
    Gaussian,
    GeneratedFile,
    Labelings,
    Points,
    RepeatedLabelings,
    Runs,
    Sweep,
    WeightedLabelings,
)
from benchmarks.linked_data import Covers, Graph, RunPair

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BARE = "bare GROUP BY"
SKLEARN = "scikit-learn"
UNADJUSTED = "external_report(adjusted=False)"
FULL = "external_report"
AMI = "adjusted_mutual_info_score"
REPORT_AMI = "adjusted_mutual_info_score of external_report"
RESOLUTION = "entity_resolution_report"
INTERVALS = "external_intervals(adjusted=False)"
BOOTSTRAP = "bootstrap_intervals(adjusted=False), 1,000 samples"
FOUR = "CP, DB, CH, SSW of internal_report"
INTERNAL = "internal_report"
SUMS = "bare GROUP BY: sums of the columns, twice"
CH_DB = "CH and DB"
ASSIGN = "assign_nearest"
NEIGHBORS = "neighbor_report"
ELBOW = "elbow"
SILHOUETTE = "silhouette_score"
BOUNDS = "silhouette_score(method='bounds')"
DUNN = "dunn_index"
AGREEMENT = "run_agreement"
MATCHING = "matching_report"
GRAPH = "graph_report"
GRAPH_CLUSTERS = "graph_cluster_report, summed"
TRANSITIONS = "run_transitions, summed"
OVERLAPPING = "overlapping_report"
GENIECLUST = "genieclust"
SPARK = "Spark"
CDLIB = "cdlib"
#: Points on which scikit-learn computes silhouettes where all of them would take hours.
SCALED_ROWS = 20_000

#: Memory of DuckDB for the jobs on a billion rows.
MEMORY_LIMIT = "1GB"

POINT_RUNS = 1000
POINT_RUN_ROWS = 10_000
#: Clusterings of points that scikit-learn evaluates; its time is scaled to all of them.
SKLEARN_POINT_RUNS = 50

#: Partitions, or clusters, of about three points.
SMALL_GROUPS = 20_000
CLUSTER_TABLES = ("silhouette_score", "internal_report", "cluster_diameters")
PARTITION_TABLES = (*CLUSTER_TABLES, "dunn_index", "neighbor_report", "pairwise_report")

RUNS = 10_000
RUN_ROWS = 1000
#: Runs that scikit-learn evaluates; its time is scaled to all of them.
SKLEARN_RUNS = 500

#: Clusterings of the same ids, of which every pair is compared.
AGREEING_RUNS, AGREEING_IDS = 100, 100_000
#: Pairs that scikit-learn compares, the first ones; its time is scaled to all of them.
SKLEARN_PAIRS = 50


@dataclass(frozen=True)
class Job:
    """One call to be timed: the engine or library, what it computes, and its name in jobs.JOBS."""

    engine: str
    what: str
    name: str
    #: Factor from the measured seconds to those of the whole input, if only a part is run.
    scale: float = 1.0


@dataclass(frozen=True)
class Case:
    """Jobs that are compared with each other because they read the same file."""

    title: str
    data: GeneratedFile
    jobs: tuple[Job, ...]
    #: Relative, or absolute below 1. The engines agree within 1e-12 on labelings; scikit-learn's
    #: adjusted mutual information, which sums logarithms of factorials, differs by up to 2e-12.
    tolerance: float = 1e-11


def _list_both(stems: Mapping[str, str]) -> tuple[Job, ...]:
    """Return both engines' jobs of these calls, whose names in jobs.JOBS end as the `stems`."""
    return tuple(
        Job(engine, what, f"{engine.lower()} {stem}")
        for engine in ("DuckDB", "Polars")
        for what, stem in stems.items()
    )


def _list_report_jobs(suffix: str = "") -> tuple[Job, ...]:
    """Return both engines' jobs of a GROUP BY and of external_report; `suffix` is "" or " runs"."""
    return _list_both({BARE: f"bare{suffix}", UNADJUSTED: f"plain{suffix}", FULL: f"full{suffix}"})


def _make_ami_case(rows: int, clusters: int, *, sklearn: bool = True) -> Case:
    """Return the case of as many labels as clusters; without `sklearn` if it took too long."""
    jobs = _list_both({FULL: "full", REPORT_AMI: "report ami", AMI: "ami"})
    other = (Job(SKLEARN, AMI, "sklearn ami"),) if sklearn else ()
    title = f"Adjusted mutual information, {rows:,} rows, {clusters:,} × {clusters:,} clusters"
    return Case(title, Labelings(rows, clusters, rows), (*jobs, *other))


def list_report_cases(rows: int = 20_000_000) -> list[Case]:
    """Return the case of external_report for one clustering of this many rows."""
    jobs = (*_list_report_jobs(), Job(SKLEARN, "adjusted_rand_score", "sklearn ari"))
    title = f"One clustering, {rows:,} rows, 1,000 × 1,000 clusters"
    return [Case(title, Labelings(rows, 1000, rows), jobs)]


def make_weighted_case(rows: int, weight: int) -> Case:
    """Return the case of external_report in little memory, for `rows` * `weight` rows.

    They are `rows` different rows, `weight` times each: the report of weighted rows is the same.
    """
    jobs = (
        Job("DuckDB", BARE, "duckdb bare limited"),
        Job("DuckDB", UNADJUSTED, "duckdb plain limited"),
        Job("DuckDB", FULL, "duckdb full limited"),
        Job("DuckDB", f"{FULL}(weight), {rows:,} rows", "duckdb weighted"),
    )
    title = f"{rows * weight:,} rows, 1,000 × 1,000 clusters, memory_limit = {MEMORY_LIMIT}"
    data = RepeatedLabelings(WeightedLabelings(rows, 1000, weight))
    return Case(title, data, jobs, tolerance=1e-12)


def list_many_cases() -> list[Case]:
    """Return the case of external_report for 10,000 clusterings in one call."""
    loop = Job(
        SKLEARN, f"ARI, NMI, V ({SKLEARN_RUNS} runs, scaled)", "sklearn loop", RUNS / SKLEARN_RUNS
    )
    title = f"{RUNS:,} clusterings of {RUN_ROWS:,} rows, 10 × 10 clusters, in one call"
    return [
        Case(title, Labelings(RUNS * RUN_ROWS, 10, RUN_ROWS), (*_list_report_jobs(" runs"), loop))
    ]


def list_ami_cases() -> list[Case]:
    """Return the cases of adjusted mutual information, from few to many clusters."""
    return [
        _make_ami_case(100_000, 1000),
        _make_ami_case(10_000_000, 20),
        _make_ami_case(1_000_000, 100_000, sklearn=False),
    ]


def list_interval_cases() -> list[Case]:
    """Return the cases of intervals, for few cells and for more, beside external_report."""
    jobs = (
        *_list_both({UNADJUSTED: "plain", INTERVALS: "intervals"}),
        Job("Polars", BOOTSTRAP, "polars bootstrap"),
    )
    rows = 10_000_000
    return [
        Case(f"Intervals, {rows:,} rows, {k} × {k} clusters", Labelings(rows, k, rows), jobs)
        for k in (10, 30)
    ]


def list_resolution_cases() -> list[Case]:
    """Return the case of entity_resolution_report, many small clusters, beside external_report."""
    jobs = _list_both({UNADJUSTED: "plain", RESOLUTION: "resolution"})
    rows, clusters = 10_000_000, 3_000_000
    title = f"Entity resolution, {rows:,} records, {clusters:,} × {clusters:,} clusters"
    return [Case(title, Labelings(rows, clusters, rows), jobs)]


def list_matching_cases() -> list[Case]:
    """Return the cases of matching_report: clusters like the labels, and independent ones.

    Most labels of the first are matched at once, those of the second all depend on each other.
    """
    jobs = (
        *_list_both({MATCHING: "matching"}),
        Job("scipy", "contingency_matrix, 4 × linear_sum_assignment", "scipy matching"),
        Job(GENIECLUST, "NCA and PSI of compare_partitions", "genieclust matching"),
    )
    rows = 1_000_000
    return [
        Case(
            f"One-to-one matching, {rows:,} rows, 1,000 × 1,000 clusters",
            Labelings(rows, 1000, rows),
            jobs,
        ),
        *(
            Case(
                f"One-to-one matching, {rows:,} rows, {k:,} × {k:,} independent clusters",
                Labelings(rows, k, rows, same=0),
                jobs,
            )
            for k in (300, 1000)
        ),
    ]


def list_graph_cases() -> list[Case]:
    """Return the cases of graph_report and graph_cluster_report, on many small clusters."""
    data = Graph(5_000_000, 10_000_000, 1_000_000)
    size = f"{data.edges:,} edges, {data.nodes:,} nodes in {data.clusters:,} clusters, in memory"
    return [
        Case(
            f"Graph, {size}",
            data,
            (
                *_list_both({GRAPH: "graph"}),
                Job("igraph", "modularity; the other scores by numpy", "igraph graph"),
            ),
            # igraph adds the terms of a million clusters one after the other.
            tolerance=1e-9,
        ),
        Case(
            f"Clusters of a graph, {size}",
            data,
            (
                *_list_both({GRAPH_CLUSTERS: "clusters"}),
                Job("igraph", "components, bridges, eccentricity; numpy", "igraph clusters"),
            ),
            tolerance=1e-9,
        ),
    ]


def list_transitions_cases() -> list[Case]:
    """Return the case of run_transitions: a clustering of many ids, and what it has become."""
    data = RunPair(10_000_000, 100_000)
    jobs = (
        *_list_both({TRANSITIONS: "transitions"}),
        Job("pandas", "merge, groupby and joins by the definition", "pandas transitions"),
    )
    title = f"Transitions, {data.ids:,} ids in {data.clusters:,} clusters, two runs in memory"
    return [Case(title, data, jobs)]


def list_overlapping_cases() -> list[Case]:
    """Return the cases of overlapping_report: many ids, and as few as cdlib has time for."""
    jobs = _list_both({OVERLAPPING: "overlapping"})
    other = Job(CDLIB, "omega, NMI (LFK), NMI (MGH)", "cdlib overlapping")
    return [
        Case(
            f"Overlapping clusters, {data.ids:,} ids in {data.sets:,} × {data.sets:,} sets, "
            "in memory",
            data,
            (*jobs, *others),
        )
        for data, others in ((Covers(100_000, 2000), ()), (Covers(1000, 20), (other,)))
    ]


def list_internal_cases() -> list[Case]:
    """Return the cases of internal_report: points in memory, and 1,000 clusterings in one call."""
    return [
        Case(
            "Internal indices, 1,000,000 × 16 Float64 columns in memory, 20 clusters",
            Points(1_000_000, 16, 20, 1_000_000),
            (*_list_internal_jobs("memory"), Job(SKLEARN, CH_DB, "sklearn internal")),
            tolerance=1e-9,
        ),
        Case(
            "Internal indices, 100,000 × 384 Float32 vectors in memory, 50 clusters",
            Points(100_000, 384, 50, 100_000, wide=False),
            (*_list_internal_jobs("memory"), Job(SKLEARN, CH_DB, "sklearn internal")),
            # scikit-learn accumulates Float32 in Float32.
            tolerance=1e-3,
        ),
        Case(
            f"Internal indices, {POINT_RUNS:,} clusterings of {POINT_RUN_ROWS:,} × 8 points "
            "in one call",
            Points(POINT_RUNS * POINT_RUN_ROWS, 8, 10, POINT_RUN_ROWS),
            (
                *_list_internal_jobs("runs"),
                Job(
                    SKLEARN,
                    f"{CH_DB} ({SKLEARN_POINT_RUNS} runs, scaled)",
                    "sklearn point runs",
                    POINT_RUNS / SKLEARN_POINT_RUNS,
                ),
            ),
            tolerance=1e-9,
        ),
    ]


def list_sweep_cases() -> list[Case]:
    """Return the case of elbow: 50 values of k in one call."""
    return [
        Case(
            "Elbow, 50 values of k on 100,000 × 8 Float64 columns in memory",
            Sweep(100_000, 8, 60, 50),
            (
                *_list_both({ELBOW: "sweep"}),
                Job(SKLEARN, f"{CH_DB}, inertia, in a loop", "sklearn sweep"),
            ),
            tolerance=1e-9,
        )
    ]


def list_assign_cases() -> list[Case]:
    """Return the case of assign_nearest: many points, and the centers of their clusters."""
    return [
        Case(
            "Nearest of 50 centers, 1,000,000 × 16 Float64 columns in memory",
            Gaussian(1_000_000, 16, 50, 0.5),
            (
                *_list_both({ASSIGN: "assign"}),
                Job(SKLEARN, "pairwise_distances_argmin_min", "sklearn assign"),
            ),
            tolerance=1e-9,
        )
    ]


def list_neighbor_cases() -> list[Case]:
    """Return the case of neighbor_report: the distances of many points to all centers."""
    return [
        Case(
            "Distances to 100 centers, 1,000,000 × 8 Float64 columns in memory",
            Gaussian(1_000_000, 8, 100, 2.0),
            (
                *_list_both({NEIGHBORS: "neighbors"}),
                Job("numpy", "two nearest centers by products, in blocks", "numpy neighbors"),
            ),
            tolerance=1e-9,
        )
    ]


def list_scan_cases() -> list[Case]:
    """Return the case of internal_report on points that stream from a Parquet file."""
    jobs = _list_both({SUMS: "sums", FOUR: "four file", INTERNAL: "internal file"})
    title = "Internal indices, 20,000,000 × 8 Float64 columns from Parquet, 20 clusters"
    return [Case(title, Points(20_000_000, 8, 20, 20_000_000), jobs, tolerance=1e-9)]


def list_silhouette_cases() -> list[Case]:
    """Return the cases of silhouette_score, for each distance and several numbers of points."""
    return [
        *(
            Case(
                f"Silhouettes, euclidean, {data.rows:,} × {data.dims}, "
                f"{data.clusters} {kind} clusters",
                data,
                (
                    *_list_both({SILHOUETTE: "silhouette euclidean"}),
                    Job(SKLEARN, SILHOUETTE, "sklearn silhouette euclidean"),
                    Job(GENIECLUST, "silhouette_index", "genieclust silhouette"),
                ),
                tolerance=1e-9,
            )
            for data, kind in (
                (Gaussian(50_000, 16, 20, 1.0), "near"),
                (Gaussian(50_000, 16, 200, 1.0), "near"),
                (Gaussian(50_000, 64, 50, 0.7), "near"),
                (Gaussian(20_000, 16, 3, 0.5), "overlapping"),
            )
        ),
        Case(
            f"Silhouettes, cityblock, {SCALED_ROWS:,} × 16, 20 near clusters",
            Gaussian(SCALED_ROWS, 16, 20, 1.0),
            (
                *_list_both({SILHOUETTE: "silhouette cityblock"}),
                Job(SKLEARN, SILHOUETTE, "sklearn silhouette cityblock"),
            ),
            tolerance=1e-9,
        ),
        *(_make_cityblock_case(rows) for rows in (100_000, 300_000, 1_000_000)),
        *(_make_squared_case(distance) for distance in ("sqeuclidean", "cosine")),
    ]


def _make_cityblock_case(rows: int) -> Case:
    """Return the case of cityblock silhouettes of this many points.

    scikit-learn computes only SCALED_ROWS of them; its time is multiplied by the ratio of the
    pairs.
    """
    scale = (rows / SCALED_ROWS) ** 2
    what = f"{SILHOUETTE} ({SCALED_ROWS:,} rows, scaled)"
    jobs = (
        *_list_both({SILHOUETTE: "silhouette cityblock"}),
        Job("Polars", "bare sort of each column", "polars sorts"),
        Job("Polars", "sort of each column with its cluster", "polars sorts with clusters"),
        Job(SKLEARN, what, "sklearn silhouette scaled", scale),
    )
    title = f"Silhouettes, cityblock, {rows:,} × 16, 20 near clusters"
    return Case(title, Gaussian(rows, 16, 20, 1.0), jobs, tolerance=1e-9)


def _make_squared_case(distance: str) -> Case:
    """Return the case of silhouettes of 1,000,000 points, by distance sqeuclidean or cosine."""
    jobs = (
        *_list_both({SILHOUETTE: f"silhouette {distance}"}),
        Job("numpy", "bare distances to the centers", "numpy centers"),
        Job(SPARK, "ClusteringEvaluator", f"spark silhouette {distance}"),
    )
    title = f"Silhouettes, {distance}, 1,000,000 × 16, 20 near clusters"
    return Case(title, Gaussian(1_000_000, 16, 20, 1.0), jobs, tolerance=1e-9)


def list_bounds_cases() -> list[Case]:
    """Return the case of bounds of the silhouette, of points that stream from a Parquet file."""
    rows = 10_000_000
    jobs = _list_both({BOUNDS: "silhouette bounds"})
    title = f"Bounds of the silhouette, euclidean, {rows:,} × 16 from Parquet, 50 near clusters"
    return [Case(title, Gaussian(rows, 16, 50, 1.0), jobs, tolerance=1e-9)]


def list_dunn_cases() -> list[Case]:
    """Return the cases of Dunn's index: clusters that overlap, near each other, and distant."""
    return [
        Case(
            f"Dunn's index, euclidean, 100,000 × 8, 20 {kind} clusters",
            Gaussian(100_000, 8, 20, spread),
            (
                *_list_both({DUNN: "dunn"}),
                Job("scipy", "all pairs, in blocks", "scipy dunn"),
            ),
            tolerance=1e-9,
        )
        for spread, kind in ((0.1, "overlapping"), (1.0, "near"), (5.0, "distant"))
    ]


def list_small_cases() -> list[Case]:
    """Return the cases of partitions and of clusters by the ten thousand, a case per table."""
    partitions = Points(3 * SMALL_GROUPS, 2, 2, 3)
    clusters = Points(3 * SMALL_GROUPS, 4, SMALL_GROUPS, 3 * SMALL_GROUPS)
    return [
        *(
            Case(
                f"{table}, {SMALL_GROUPS:,} partitions of 3 points",
                partitions,
                _list_both({table: f"{table} partitions"}),
                tolerance=1e-9,
            )
            for table in PARTITION_TABLES
        ),
        *(
            Case(
                f"{table}, {SMALL_GROUPS:,} clusters of 3 points in one partition",
                clusters,
                _list_both({table: f"{table} clusters"}),
                tolerance=1e-9,
            )
            for table in CLUSTER_TABLES
        ),
    ]


def list_agreement_cases() -> list[Case]:
    """Return the case of run_agreement: every pair of 100 clusterings of the same ids."""
    pairs = AGREEING_RUNS * (AGREEING_RUNS - 1) // 2
    loop = f"adjusted_rand_score ({SKLEARN_PAIRS} pairs, scaled)"
    jobs = (
        *_list_both({AGREEMENT: "agreement"}),
        Job(SKLEARN, loop, "sklearn agreement", pairs / SKLEARN_PAIRS),
    )
    title = f"ARI of all {pairs:,} pairs of {AGREEING_RUNS} runs of {AGREEING_IDS:,} rows"
    return [Case(title, Runs(AGREEING_RUNS, AGREEING_IDS, 20), jobs)]


def _list_internal_jobs(source: str) -> tuple[Job, ...]:
    """Return both engines' jobs of four indices and of all, by the `source` of the points."""
    return _list_both({FOUR: f"four {source}", INTERNAL: f"internal {source}"})


#: The cases of each group. Only those of the group report take a number of rows.
GROUPS: dict[str, Callable[..., list[Case]]] = {
    "report": list_report_cases,
    "many": list_many_cases,
    "ami": list_ami_cases,
    "intervals": list_interval_cases,
    "resolution": list_resolution_cases,
    "matching": list_matching_cases,
    "graph": list_graph_cases,
    "transitions": list_transitions_cases,
    "overlapping": list_overlapping_cases,
    "internal": list_internal_cases,
    "sweep": list_sweep_cases,
    "agreement": list_agreement_cases,
    "assign": list_assign_cases,
    "neighbors": list_neighbor_cases,
    "scan": list_scan_cases,
    "silhouette": list_silhouette_cases,
    "bounds": list_bounds_cases,
    "dunn": list_dunn_cases,
    "small": list_small_cases,
}
