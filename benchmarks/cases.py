"""What is compared with what."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.data import Data

BARE = "bare GROUP BY"
SKLEARN = "scikit-learn"
PLAIN = "external_report(adjusted=False)"
FULL = "external_report"
AMI = "adjusted_mutual_info_score"

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
    data: Data
    jobs: tuple[Job, ...]


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
        Job("DuckDB", AMI, "duckdb ami"),
        Job("Polars", FULL, "polars full"),
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
