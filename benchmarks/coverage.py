"""How often intervals cover the true value: simulations of known populations.

Run from the root of a clone: ``python -m benchmarks.coverage``. It prints the table of
docs/intervals.md. Each simulation draws the cells of a sample from the population; all of them are
evaluated in one call, as partitions. The true value is that of the population, for the metrics
that do not grow with the number of rows.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

import polars_clustereval as ce

SIMULATIONS = 1000
RESAMPLES = 1000
CONFIDENCE = 0.95
SIZES = (1000, 10_000)
#: Shares of the contingency cells of the population: labels below each other.
SHARES = np.array(
    [
        [0.28, 0.05, 0.02, 0.01],
        [0.04, 0.19, 0.03, 0.02],
        [0.02, 0.02, 0.14, 0.03],
        [0.01, 0.03, 0.02, 0.09],
    ]
)
#: They are compared for samples of one size only.
GROWING = ("mirkin_metric", "mcnemar_index", "split_join_distance")
#: Depends on the sizes of samples, and has no value in a population.
NO_VALUE = ("expected_mutual_info",)


def simulate(n: int) -> pl.DataFrame:
    """Return the cells of all simulated samples of n rows: simulation, label, cluster, n."""
    counts = np.random.default_rng(n).multinomial(n, SHARES.ravel(), size=SIMULATIONS)
    label, cluster = (place.ravel() for place in np.indices(SHARES.shape))
    cells = {
        "simulation": np.repeat(np.arange(SIMULATIONS), SHARES.size),
        "label": np.tile(label, SIMULATIONS),
        "cluster": np.tile(cluster, SIMULATIONS),
        "n": counts.ravel(),
    }
    return pl.DataFrame(cells)


def true_values() -> pl.DataFrame:
    """Return metric and truth, computed from so many rows that the sample size does not matter."""
    label, cluster = (place.ravel() for place in np.indices(SHARES.shape))
    rows = np.rint(SHARES.ravel() * 10**11).astype(np.int64)
    cells = pl.DataFrame({"label": label, "cluster": cluster, "n": rows})
    summary = ce.external_summary(cells, "label", "cluster", weight="n")
    return summary.select("metric", truth="value")


def coverage(intervals: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return metric, the share of intervals that cover the truth, and the mean standard error."""
    covers = pl.col("truth").is_between("lower", "upper")
    return (
        intervals.join(true_values(), on="metric", maintain_order="left")
        .group_by("metric", maintain_order=True)
        .agg(covers.mean().alias(name), pl.col("std_error").mean().alias(f"{name} error"))
    )


def main() -> None:
    """Print the table of coverages, one row per metric."""
    table = None
    for n in SIZES:
        cells = simulate(n)
        options = {"weight": "n", "partition_by": "simulation", "confidence": CONFIDENCE}
        delta = ce.external_intervals(cells, "label", "cluster", **options)
        boot = ce.bootstrap_intervals(cells, "label", "cluster", n_resamples=RESAMPLES, **options)
        for intervals, method in ((delta, "delta"), (boot, "bootstrap")):
            part = coverage(intervals, f"{method} {n}")
            table = part if table is None else table.join(part, on="metric")
    if table is None:
        return
    write = sys.stdout.write
    write("| metric | " + " | ".join(f"delta, n = {n:,} | bootstrap, n = {n:,}" for n in SIZES))
    write(" | std_error, delta / bootstrap |\n" + "|---" * (2 * len(SIZES) + 2) + "|\n")
    for row in table.filter(~pl.col("metric").is_in([*GROWING, *NO_VALUE])).iter_rows(named=True):
        shares = [row[f"{method} {n}"] for n in SIZES for method in ("delta", "bootstrap")]
        texts = ["" if share is None else f"{100 * share:.1f} %" for share in shares]
        error, other = (row[f"{method} {SIZES[-1]} error"] for method in ("delta", "bootstrap"))
        ratio = "" if error is None or not other else f"{error / other:.3f}"
        write(f"| `{row['metric']}` | {' | '.join([*texts, ratio])} |\n")


if __name__ == "__main__":
    main()
