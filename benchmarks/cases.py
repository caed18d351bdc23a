"""What is compared with what."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.data import Data, File, Gaussian, Points

BARE = "bare GROUP BY"
SKLEARN = "scikit-learn"
PLAIN = "external_report(adjusted=False)"
FULL = "external_report"
AMI = "adjusted_mutual_info_score"
REPORT_AMI = "adjusted_mutual_info_score of external_report"
FOUR = "CP, DB, CH, SSW of internal_report"
INTERNAL = "internal_report"
SUMS = "bare GROUP BY: sums of the columns, twice"
CH_DB = "CH and DB"
SILHOUETTE = "silhouette_score"
BOUNDS = "silhouette_score(method='bounds')"
DUNN = "dunn_index(generalized=False)"
PEER = "genieclust"
SPARK = "Spark"
#: Points of which scikit-learn works out the silhouettes where all would take hours.
SCALED_ROWS = 20_000

SWEEPS = 1000
SWEEP_ROWS = 10_000
#: Clusterings of points over which scikit-learn loops.
SWEPT = 50

RUNS = 10_000
RUN_ROWS = 1000
#: Runs over which scikit-learn loops; the rest would take the same time each.
LOOPED = 500


@dataclass(frozen=True)
class Job:
    engine: str
    what: str
    name: str
    #: Seconds of the whole for one second measured, where only a part is run.
    scale: float = 1.0


@dataclass(frozen=True)
class Case:
    title: str
    data: File
    jobs: tuple[Job, ...]
    #: Relative, or absolute below 1. The engines agree within 1e-12 on labelings; scikit-learn's
    #: adjusted mutual information, which sums logarithms of factorials, is up to 2e-12 from them.
    tolerance: float = 1e-11


def _reports(suffix: str = "") -> tuple[Job, ...]:
    engines = {"duckdb": "DuckDB", "polars": "Polars"}
    kinds = {"bare": BARE, "plain": PLAIN, "full": FULL}
    return tuple(
        Job(engine, what, f"{stem} {kind}{suffix}")
        for stem, engine in engines.items()
        for kind, what in kinds.items()
    )


def _ami(rows: int, clusters: int, *, sklearn: bool = True) -> Case:
    jobs = (
        Job("DuckDB", FULL, "duckdb full"),
        Job("DuckDB", REPORT_AMI, "duckdb report ami"),
        Job("DuckDB", AMI, "duckdb ami"),
        Job("Polars", FULL, "polars full"),
        Job("Polars", REPORT_AMI, "polars report ami"),
        Job("Polars", AMI, "polars ami"),
    )
    other = (Job(SKLEARN, AMI, "sklearn ami"),) if sklearn else ()
    title = f"Adjusted mutual information, {rows:,} rows, {clusters:,} × {clusters:,} clusters"
    return Case(title, Data(rows, clusters, rows), (*jobs, *other))


def report(rows: int) -> list[Case]:
    jobs = (*_reports(), Job(SKLEARN, "adjusted_rand_score", "sklearn ari"))
    title = f"One clustering, {rows:,} rows, 1,000 × 1,000 clusters"
    return [Case(title, Data(rows, 1000, rows), jobs)]


def many() -> list[Case]:
    loop = Job(SKLEARN, f"ARI, NMI, V ({LOOPED} runs, scaled)", "sklearn loop", RUNS / LOOPED)
    title = f"{RUNS:,} clusterings of {RUN_ROWS:,} rows, 10 × 10 clusters, in one call"
    return [Case(title, Data(RUNS * RUN_ROWS, 10, RUN_ROWS), (*_reports(" runs"), loop))]


def ami() -> list[Case]:
    return [
        _ami(100_000, 1000),
        _ami(10_000_000, 20),
        _ami(1_000_000, 100_000, sklearn=False),
    ]


def internal() -> list[Case]:
    return [
        Case(
            "Internal indices, 1,000,000 × 16 Float64 columns in memory, 20 clusters",
            Points(1_000_000, 16, 20, 1_000_000),
            (*_internal("memory"), Job(SKLEARN, CH_DB, "sklearn internal")),
            tolerance=1e-9,
        ),
        Case(
            "Internal indices, 100,000 × 384 Float32 vectors in memory, 50 clusters",
            Points(100_000, 384, 50, 100_000, wide=False),
            (*_internal("memory"), Job(SKLEARN, CH_DB, "sklearn internal")),
            # scikit-learn sums Float32 in Float32.
            tolerance=1e-3,
        ),
        Case(
            f"Internal indices, {SWEEPS:,} clusterings of {SWEEP_ROWS:,} × 8 points in one call",
            Points(SWEEPS * SWEEP_ROWS, 8, 10, SWEEP_ROWS),
            (
                *_internal("runs"),
                Job(SKLEARN, f"{CH_DB} ({SWEPT} runs, scaled)", "sklearn sweep", SWEEPS / SWEPT),
            ),
            tolerance=1e-9,
        ),
    ]


def scan() -> list[Case]:
    sums = (Job("DuckDB", SUMS, "duckdb sums"), Job("Polars", SUMS, "polars sums"))
    jobs = (sums[0], *_internal("file")[:2], sums[1], *_internal("file")[2:])
    title = "Internal indices, 20,000,000 × 8 Float64 columns from Parquet, 20 clusters"
    return [Case(title, Points(20_000_000, 8, 20, 20_000_000), jobs, tolerance=1e-9)]


def silhouette() -> list[Case]:
    return [
        *(
            Case(
                f"Silhouettes, euclidean, {data.rows:,} × {data.dims}, "
                f"{data.clusters} {kind} clusters",
                data,
                (
                    *_silhouettes("euclidean"),
                    Job(SKLEARN, SILHOUETTE, "sklearn silhouette euclidean"),
                    Job(PEER, "silhouette_index", "genieclust silhouette"),
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
                *_silhouettes("cityblock"),
                Job(SKLEARN, SILHOUETTE, "sklearn silhouette cityblock"),
            ),
            tolerance=1e-9,
        ),
        *(_cityblock(rows) for rows in (100_000, 300_000, 1_000_000)),
        *(_squared(distance) for distance in ("sqeuclidean", "cosine")),
    ]


def _cityblock(rows: int) -> Case:
    scale = (rows / SCALED_ROWS) ** 2
    what = f"{SILHOUETTE} ({SCALED_ROWS:,} rows, scaled)"
    jobs = (
        *_silhouettes("cityblock"),
        Job("Polars", "bare sort of each column", "polars sorts"),
        Job("Polars", "sort of each column with its cluster", "polars sorts with clusters"),
        Job(SKLEARN, what, "sklearn silhouette of some", scale),
    )
    title = f"Silhouettes, cityblock, {rows:,} × 16, 20 near clusters"
    return Case(title, Gaussian(rows, 16, 20, 1.0), jobs, tolerance=1e-9)


def _squared(distance: str) -> Case:
    jobs = (
        *_silhouettes(distance),
        Job("numpy", "bare distances to the centres", "numpy centres"),
        Job(SPARK, "ClusteringEvaluator", f"spark silhouette {distance}"),
    )
    title = f"Silhouettes, {distance}, 1,000,000 × 16, 20 near clusters"
    return Case(title, Gaussian(1_000_000, 16, 20, 1.0), jobs, tolerance=1e-9)


def bounds() -> list[Case]:
    rows = 10_000_000
    jobs = tuple(
        Job(engine, BOUNDS, f"{engine.lower()} silhouette bounds")
        for engine in ("DuckDB", "Polars")
    )
    title = f"Bounds of the silhouette, euclidean, {rows:,} × 16 from Parquet, 50 near clusters"
    return [Case(title, Gaussian(rows, 16, 50, 1.0), jobs, tolerance=1e-9)]


def dunn() -> list[Case]:
    return [
        Case(
            f"Dunn's index, euclidean, 100,000 × 8, 20 {kind} clusters",
            Gaussian(100_000, 8, 20, spread),
            (
                Job("DuckDB", DUNN, "duckdb dunn"),
                Job("Polars", DUNN, "polars dunn"),
                Job("scipy", "all pairs, in blocks", "scipy dunn"),
            ),
            tolerance=1e-9,
        )
        for spread, kind in ((1.0, "near"), (5.0, "distant"))
    ]


def _silhouettes(distance: str) -> tuple[Job, ...]:
    return tuple(
        Job(engine, SILHOUETTE, f"{engine.lower()} silhouette {distance}")
        for engine in ("DuckDB", "Polars")
    )


def _internal(source: str) -> tuple[Job, ...]:
    return (
        Job("DuckDB", FOUR, f"duckdb four {source}"),
        Job("DuckDB", INTERNAL, f"duckdb internal {source}"),
        Job("Polars", FOUR, f"polars four {source}"),
        Job("Polars", INTERNAL, f"polars internal {source}"),
    )
