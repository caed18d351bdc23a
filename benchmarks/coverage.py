"""How often intervals cover the true value: simulations of known populations.

Run from the root of a clone: ``python -m benchmarks.coverage``. It prints the table of
docs/intervals.md, and with ``--differences`` that of docs/comparison.md. Each simulation draws the
cells of a sample from the population; all of them are evaluated in one call, as partitions. The
true value is that of the population, for the metrics that do not grow with the number of rows.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

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


class Pair(NamedTuple):
    """A population with two clusterings, of `groups` labels and clusters each, and a sample size.

    A cluster is the label, or with the probability `first` a random one. The second cluster is the
    first one, or with the probability `second` a random one.
    """

    groups: int
    n: int
    first: float
    second: float

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all labels with their pairs of clusters (m, 3), and their shares (m,)."""
        k = self.groups
        cells = np.indices((k, k, k)).reshape(3, -1).T
        label, one, two = cells.T
        sizes = np.random.default_rng(0).dirichlet(np.full(k, 5.0))
        shares = sizes[label] * ((1 - self.first) * (one == label) + self.first / k)
        shares *= (1 - self.second) * (two == one) + self.second / k
        return cells, shares / shares.sum()


PAIRS = (
    Pair(4, 200, 0.2, 0.1),
    Pair(4, 1000, 0.1, 0.01),
    Pair(10, 1000, 0.3, 0.2),
    Pair(30, 1000, 0.2, 0.1),
    Pair(100, 2000, 0.2, 0.1),
)
#: The metrics that the table of differences shows.
SHOWN = (
    *("adjusted_rand_score", "pair_f_score", "adjusted_mutual_info_score", "v_measure_score"),
    *("purity", "bcubed_f_score"),
)


def cover_differences(pair: Pair) -> pl.DataFrame:
    """Return metric, the share of intervals that cover the difference, and how many there are."""
    cells, shares = pair.cells()
    names = ("label", "cluster_1", "cluster_2")
    frame = pl.DataFrame(cells, schema=names, orient="row")
    whole = frame.with_columns(n=pl.Series(np.rint(shares * 10**11).astype(np.int64)))
    truth = ce.external_differences(whole, *names, weight="n").select("metric", truth="difference")
    counts = np.random.default_rng(pair.n).multinomial(pair.n, shares, size=SIMULATIONS // 2)
    simulation, cell = np.nonzero(counts)
    samples = frame[cell].with_columns(
        simulation=pl.Series(simulation), n=pl.Series(counts[simulation, cell])
    )
    options = {"weight": "n", "partition_by": "simulation", "confidence": CONFIDENCE}
    found = ce.external_differences(samples, *names, **options).join(truth, on="metric")
    covers = pl.col("truth").is_between("lower", "upper")
    shown = found.filter(pl.col("metric").is_in(SHOWN))
    return shown.group_by("metric", maintain_order=True).agg(covers.mean())


def print_differences() -> None:
    """Print the table of coverages of differences, one row per metric."""
    write = sys.stdout.write
    heads = [f"{x.groups} groups, n = {x.n:,}, {100 * x.second:.0f} % differ" for x in PAIRS]
    write(f"| metric | {' | '.join(heads)} |\n" + "|---" * (len(PAIRS) + 1) + "|\n")
    found = [dict(cover_differences(pair).iter_rows()) for pair in PAIRS]
    for metric in SHOWN:
        shares = [of_pair[metric] for of_pair in found]
        texts = ["" if share is None else f"{100 * share:.1f} %" for share in shares]
        write(f"| `{metric}` | {' | '.join(texts)} |\n")


def main() -> None:
    """Print the table of coverages, one row per metric."""
    if "--differences" in sys.argv:
        print_differences()
        return
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
