"""How often intervals cover the true value: simulations of known populations.

Run from the root of a clone: ``python -m benchmarks.coverage``. It prints the tables of
docs/intervals.md, and with ``--differences`` those of docs/comparison.md. Each simulation draws the
cells of a sample from the population; all of them are evaluated in one call, as partitions. The
true value is that of the population, or, for the metrics in OF_SAMPLES, the mean over the samples.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

import polars_clustereval as ce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CONFIDENCE = 0.95
#: Depend on the number of rows, so that their true value is that of samples of one size.
OF_SAMPLES = (
    "mirkin_metric",
    "mcnemar_index",
    "split_join_distance",
    "expected_mutual_info",
    "adjusted_mutual_info_score",
)
#: The number of rows that stands for a population.
MANY = 10**12


@dataclass(frozen=True)
class Population:
    """Shares of the contingency cells, labels below each other, and how it is sampled.

    If `singletons` is True, every row is a cluster of its own, whatever its cell.
    """

    shares: NDArray[np.float64]
    n: int
    simulations: int
    resamples: int = 500
    singletons: bool = False

    @property
    def name(self) -> str:
        """The size of the contingency table and of the samples."""
        groups = " × ".join(map(str, self.shares.shape))
        return f"{self.n:,} singletons" if self.singletons else f"{groups}, n = {self.n:,}"

    @property
    def options(self) -> dict[str, Any]:
        """Return the arguments of both methods."""
        noise = {"noise": -1, "noise_as": "singletons"} if self.singletons else {}
        return {"weight": "n", "confidence": CONFIDENCE, **noise}

    def cells(self, counts: NDArray[np.int64]) -> pl.DataFrame:
        """Return simulation, label, cluster and n, for the counts of all cells in a row each."""
        simulation, cell = np.nonzero(counts)
        label, cluster = np.unravel_index(cell, self.shares.shape)
        if self.singletons:
            cluster = np.full(len(cell), -1)
        n = counts[simulation, cell]
        return pl.DataFrame({"simulation": simulation, "label": label, "cluster": cluster, "n": n})

    def simulate(self) -> pl.DataFrame:
        """Return the cells of all simulated samples."""
        generator = np.random.default_rng(self.n)
        return self.cells(generator.multinomial(self.n, self.shares.ravel(), self.simulations))

    def true_values(self) -> pl.DataFrame:
        """Return metric and truth, for so many rows that their number does not matter."""
        values = []
        for rows in (MANY, MANY // 100):
            cells = self.cells(np.rint(self.shares.reshape(1, -1) * rows).astype(np.int64))
            summary = ce.external_intervals(
                cells, "label", "cluster", adjusted=False, **self.options
            )
            values.append(summary.select("metric", truth="value"))
        joined = values[0].join(values[1], on="metric", suffix="_of_fewer")
        # Entropies of singletons have no value in a population.
        settled = (pl.col("truth") - pl.col("truth_of_fewer")).abs() < 1e-3
        return joined.filter(settled).select("metric", "truth")

    def intervals(self, method: str, metrics: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the intervals of all samples, with the truth: method 'delta' or 'halves'."""
        options: dict[str, Any] = {"partition_by": "simulation", "metrics": metrics, **self.options}
        if method == "delta":
            found = ce.external_intervals(self.simulate(), "label", "cluster", **options)
        else:
            options["n_resamples"] = self.resamples
            found = ce.bootstrap_intervals(self.simulate(), "label", "cluster", **options)
        found = found.join(self.true_values(), on="metric", how="left", maintain_order="left")
        mean = pl.col("value").mean().over("metric")
        return found.with_columns(
            truth=pl.when(pl.col("metric").is_in(OF_SAMPLES)).then(mean).otherwise("truth")
        )


def agreeing(groups: int, share: float) -> NDArray[np.float64]:
    """Return the shares of equally large groups in which a share of the rows agrees."""
    return (1 - share) / groups**2 + np.eye(groups) * share / groups


FOUR = np.array(
    [
        [0.28, 0.05, 0.02, 0.01],
        [0.04, 0.19, 0.03, 0.02],
        [0.02, 0.02, 0.14, 0.03],
        [0.01, 0.03, 0.02, 0.09],
    ]
)
FEW_GROUPS = [Population(FOUR, 1000, 1000), Population(FOUR, 10_000, 1000)]
MANY_GROUPS = [
    Population(agreeing(300, 0.8), 2000, 300, 200),
    Population(FOUR, 1000, 1000, 200, singletons=True),
]
#: For the adjusted mutual information by the delta method.
GRID = [
    Population(agreeing(groups, 0.8 if groups == 300 else 0.7), n, simulations)
    for groups, n, simulations in (
        *((10, 500, 1000), (10, 5000, 1000)),
        *((30, 1000, 1000), (30, 10_000, 400)),
        *((300, 2000, 400), (300, 20_000, 200)),
    )
]


def write_row(cells: Sequence[str]) -> None:
    """Write a row of a Markdown table."""
    sys.stdout.write("| " + " | ".join(cells) + " |\n")


def write_rule(n_columns: int) -> None:
    """Write the line below the header of a Markdown table."""
    sys.stdout.write("|" + "---|" * n_columns + "\n")


def percent(share: float | None) -> str:
    """Return a share in percent, or '' for None."""
    return "" if share is None else f"{100 * share:.1f} %"


def write_coverages(populations: Sequence[Population], *, with_ratio: bool) -> None:
    """Write the table of coverages by metric: of the intervals that are not NULL, and their share.

    With `with_ratio`, the last column is the mean std_error of the one method divided by the other.
    """
    methods = [(p, method) for p in populations for method in ("delta", "halves")]
    columns, errors = [], []
    for population, method in methods:
        found = population.intervals(method).group_by("metric", maintain_order=True)
        rows = found.agg(
            covers=pl.col("truth").is_between("lower", "upper").mean(),
            share=pl.col("lower").is_not_null().mean(),
            error=pl.col("std_error").mean(),
        )
        columns.append({name: (covers, share) for name, covers, share, _ in rows.iter_rows()})
        errors.append(dict(rows.select("metric", "error").iter_rows()))
    header = ["metric", *(f"{method}, {p.name}" for p, method in methods)]
    write_row([*header, *(["std_error, delta / halves"] if with_ratio else [])])
    write_rule(len(header) + with_ratio)
    for name in columns[0]:
        texts = []
        for column in columns:
            covers, share = column[name]
            part = "" if share == 1 or covers is None else f" of {percent(share)}"
            texts.append(percent(covers) + part)
        if with_ratio:
            error, other = (e[name] for e in errors[-2:])
            texts.append("" if error is None or not other else f"{error / other:.3f}")
        write_row([f"`{name}`", *texts])
    sys.stdout.write("\n")


def write_adjusted_information() -> None:
    """Write the table of the adjusted and the expected mutual information, by population."""
    names = ["adjusted_mutual_info_score", "expected_mutual_info"]
    columns = (
        "population",
        "std_error / standard deviation",
        "coverage",
        "of the population's value",
    )
    write_row(
        [columns[0], *(f"{x}, AMI" for x in columns[1:]), *(f"{x}, EMI" for x in columns[1:3])]
    )
    write_rule(6)
    for population in GRID:
        found = population.intervals("delta", names)
        values = population.true_values()
        truth = values.filter(metric="normalized_mutual_info_score")["truth"].item()
        texts = [population.name]
        for name in names:
            rows = found.filter(metric=name)
            error, value, covers, covers_truth = rows.select(
                pl.col("std_error").mean(),
                pl.col("value").std(),
                pl.col("truth").is_between("lower", "upper").mean(),
                pl.lit(truth).is_between("lower", "upper").mean().alias("of_truth"),
            ).row(0)
            texts += [f"{error / value:.2f}", percent(covers)]
            texts += [percent(covers_truth)] if name == names[0] else []
        write_row(texts)


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
    *("purity", "class_f_measure", "bcubed_f_score", "element_centric_similarity"),
)


def cover_differences(pair: Pair) -> pl.DataFrame:
    """Return metric, the share of intervals that cover the difference, and that of intervals."""
    cells, shares = pair.cells()
    names = ("label", "cluster_1", "cluster_2")
    frame = pl.DataFrame(cells, schema=names, orient="row")
    whole = frame.with_columns(n=pl.Series(np.rint(shares * 10**11).astype(np.int64)))
    truth = ce.external_differences(whole, *names, weight="n").select("metric", truth="difference")
    counts = np.random.default_rng(pair.n).multinomial(pair.n, shares, size=500)
    simulation, cell = np.nonzero(counts)
    samples = frame[cell].with_columns(
        simulation=pl.Series(simulation), n=pl.Series(counts[simulation, cell])
    )
    options = {"weight": "n", "partition_by": "simulation", "confidence": CONFIDENCE}
    found = ce.external_differences(samples, *names, **options).join(truth, on="metric")
    of_samples = pl.col("difference").mean().over("metric")
    wanted = pl.when(pl.col("metric").is_in(OF_SAMPLES)).then(of_samples).otherwise("truth")
    covers = wanted.is_between("lower", "upper")
    shown = found.filter(pl.col("metric").is_in(SHOWN))
    return shown.group_by("metric", maintain_order=True).agg(
        covers.mean(), pl.col("lower").is_not_null().mean()
    )


class SampledPair(NamedTuple):
    """A population of entities with two clusterings, and how the labels of a sample are drawn.

    A row is in the cluster of another entity with the probability `first`. In the second
    clustering, this happens to further rows with the probability `second`, and as large a share of
    the entities is merged with another one.
    """

    design: Literal["uniform", "by_record", "records"]
    #: The share of the entities or rows that is drawn.
    drawn: float
    first: float
    second: float
    n_entities: int = 3000
    #: The exponent of a power law of the sizes up to 50; None for 1 + Poisson(1.5) rows.
    tail: float | None = None

    def rows(self) -> pl.DataFrame:
        """Return the label, cluster_1 and cluster_2 of all rows."""
        draw, n = np.random.default_rng(20), self.n_entities
        if self.tail is None:
            sizes = 1 + draw.poisson(1.5, n)
        else:
            sizes = np.minimum((1 - draw.random(n)) ** (-1 / self.tail), 50).astype(int)
        label = np.repeat(np.arange(n), sizes)
        first = np.where(
            draw.random(label.size) < self.first, draw.integers(0, n, label.size), label
        )
        merged = np.where(draw.random(n) < self.second, draw.integers(0, n, n), np.arange(n))
        moves = draw.random(label.size) < self.second
        second = np.where(moves, draw.integers(0, n, label.size), merged[first])
        return pl.DataFrame({"label": label, "cluster_1": first, "cluster_2": second})

    def samples(self, rows: pl.DataFrame, seed: int) -> pl.DataFrame:
        """Return the rows as cells, with the labels of 50 samples; simulation is the sample."""
        draw, label = np.random.default_rng(seed), rows["label"].to_numpy()
        n = self.n_entities if self.design == "uniform" else label.size
        samples = []
        for simulation in range(50):
            chosen = draw.choice(n, round(self.drawn * n), replace=False)
            if self.design == "records":
                known = np.isin(np.arange(n), chosen)
            else:
                known = np.isin(label, chosen if self.design == "uniform" else label[chosen])
            drawn = pl.when(pl.Series(known)).then("label")
            cells = rows.with_columns(drawn).group_by("label", "cluster_1", "cluster_2").len("n")
            samples.append(cells.with_columns(simulation=pl.lit(simulation)))
        return pl.concat(samples)

    @property
    def name(self) -> str:
        """The sample and the population."""
        unit = "entities" if self.design == "uniform" else "rows"
        sizes = "1 to 9" if self.tail is None else "1 to 50"
        return f"`'{self.design}'`, {100 * self.drawn:.0f} % of {unit}, sizes {sizes}"


SAMPLED_PAIRS = (
    SampledPair("uniform", 0.03, 0.05, 0.05),
    SampledPair("uniform", 0.1, 0.05, 0.05),
    SampledPair("by_record", 0.03, 0.05, 0.05),
    SampledPair("by_record", 0.1, 0.05, 0.05),
    SampledPair("by_record", 0.1, 0.05, 0.02, tail=2.0),
    SampledPair("records", 0.1, 0.05, 0.05),
    SampledPair("records", 0.1, 0.05, 0.05, tail=2.0),
)
#: The metrics that the table of differences of samples shows.
OF_SAMPLED = (
    *("pair_precision", "pair_recall", "pair_f_score", "bcubed_precision", "bcubed_f_score"),
    "exact_match_f_score",
)


def cover_sampled(pair: SampledPair, simulations: int = 500) -> pl.DataFrame:
    """Return the columns of cover_differences for labels of a sample."""
    rows = pair.rows()
    reports = [
        ce.external_report(rows, "label", cluster, adjusted=False).select(OF_SAMPLED).row(0)
        for cluster in ("cluster_1", "cluster_2")
    ]
    truths = [first - second for first, second in zip(*reports, strict=True)]
    truth = pl.DataFrame({"metric": OF_SAMPLED, "truth": truths})
    fraction = pair.drawn if pair.design == "by_record" else None
    found = pl.concat(
        ce.external_differences(
            *(pair.samples(rows, seed), "label", "cluster_1", "cluster_2"),
            weight="n",
            partition_by="simulation",
            confidence=CONFIDENCE,
            labels_are_sample=pair.design,
            sampling_fraction=fraction,
        )
        for seed in range(simulations // 50)
    )
    covers = pl.col("truth").is_between("lower", "upper")
    return (
        found.join(truth, on="metric", maintain_order="right")
        .group_by("metric", maintain_order=True)
        .agg(covers.mean(), pl.col("lower").is_not_null().mean())
    )


class PairOfPoints(NamedTuple):
    """Five blobs and two clusterings by given centers, of `first` and `second` clusters.

    A row is in the cluster of the nearest center, or with the probability `noise` in a random one.
    """

    dims: int
    n: int
    first: int
    second: int
    noise: float

    def samples(self, sizes: Sequence[int]) -> pl.DataFrame:
        """Return samples of these sizes: simulation, vector, and the clusters one and two."""
        draw = np.random.default_rng(self.n + self.dims)
        middles = draw.normal(size=(5, self.dims)) * 4.5 / np.sqrt(self.dims)
        spreads, shares = draw.uniform(0.6, 1.6, 5), draw.dirichlet([4] * 5)

        def draw_points(n: int) -> NDArray[np.float64]:
            """Return n points (n, d)."""
            blob = draw.choice(5, n, p=shares)
            return middles[blob] + draw.normal(size=(n, self.dims)) * spreads[blob][:, None]

        seen = draw_points(2000)
        centers = [self._find_centers(seen, k, draw) for k in (self.first, self.second)]
        x = draw_points(sum(sizes))
        clusters = []
        for middle in centers:
            nearest = ((middle**2).sum(axis=1) - 2 * x @ middle.T).argmin(axis=1)
            moved = draw.random(len(x)) < self.noise
            clusters.append(np.where(moved, draw.integers(0, len(middle), len(x)), nearest))
        simulation = np.repeat(np.arange(len(sizes)), sizes)
        vector = pl.Series("vector", x, dtype=pl.Array(pl.Float64, self.dims))
        names = {"simulation": simulation, "one": clusters[0], "two": clusters[1]}
        return pl.DataFrame(names).with_columns(vector)

    @staticmethod
    def _find_centers(
        x: NDArray[np.float64], k: int, draw: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the centers (k, d) of k-means."""
        centers = x[draw.choice(len(x), k, replace=False)]
        for _ in range(30):
            own = ((x[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
            means = [x[own == i].mean(axis=0) if (own == i).any() else centers[i] for i in range(k)]
            centers = np.stack(means)
        return centers

    @property
    def name(self) -> str:
        """The points and the numbers of clusters."""
        return f"{self.dims} dimensions, n = {self.n:,}, {self.first} and {self.second} clusters"


PAIRS_OF_POINTS = (
    PairOfPoints(2, 150, 3, 4, 0.0),
    PairOfPoints(2, 500, 3, 5, 0.05),
    PairOfPoints(8, 500, 3, 6, 0.05),
    PairOfPoints(8, 2000, 5, 20, 0.0),
    PairOfPoints(16, 1000, 4, 12, 0.02),
)
OF_POINTS = ("simplified_silhouette", "calinski_harabasz_score")


def cover_points(pair: PairOfPoints, simulations: int = 500, many: int = 200_000) -> pl.DataFrame:
    """Return the columns of cover_differences for scores of points.

    The Calinski-Harabasz score grows with the number of rows.
    """
    samples = pair.samples([many, *([pair.n] * simulations)])
    found = ce.compare_clusterings(
        samples, ["one", "two"], vector="vector", partition_by="simulation", confidence=CONFIDENCE
    )
    k = pl.col("n_clusters")
    whole = found.filter(simulation=0).select(
        "clustering",
        simplified_silhouette="simplified_silhouette",
        calinski_harabasz_score=pl.col("calinski_harabasz_score") / (many - k) * (pair.n - k),
    )
    rows = found.filter(pl.col("simulation") > 0).join(whole, on="clustering", suffix="_truth")
    coverages = []
    for name in OF_POINTS:
        truth = pl.col(f"{name}_truth")
        best = truth.filter(pl.col("rank") == 1).first().over("simulation")
        covers = (truth - best).is_between(f"{name}_lower", f"{name}_upper")
        others = rows.with_columns(covers=covers).filter(pl.col("rank") > 1)
        coverages.append(
            others.select(
                pl.col("covers").mean(), share=pl.col(f"{name}_lower").is_not_null().mean()
            ).with_columns(metric=pl.lit(name))
        )
    return pl.concat(coverages).select("metric", "covers", "share")


def print_differences() -> None:
    """Print the tables of coverages of differences, one row per metric."""
    print_coverages(
        [pair.name for pair in PAIRS_OF_POINTS],
        [cover_points(pair) for pair in PAIRS_OF_POINTS],
        OF_POINTS,
    )
    print_coverages(
        [f"{x.groups} groups, n = {x.n:,}, {100 * x.second:.0f} % differ" for x in PAIRS],
        [cover_differences(pair) for pair in PAIRS],
        SHOWN,
    )
    names = [pair.name for pair in SAMPLED_PAIRS]
    print_coverages(names, [cover_sampled(pair) for pair in SAMPLED_PAIRS], OF_SAMPLED)


def print_coverages(
    heads: Sequence[str], columns: Sequence[pl.DataFrame], metrics: Sequence[str]
) -> None:
    """Print a table from columns of metric, the share of intervals that cover, and of intervals."""
    write = sys.stdout.write
    write(f"\n| metric | {' | '.join(heads)} |\n" + "|---" * (len(heads) + 1) + "|\n")
    found = [dict(column.rows_by_key("metric", unique=True)) for column in columns]
    for metric in metrics:
        texts = []
        for covers, share in (column[metric] for column in found):
            part = "" if share == 1 or covers is None else f" of {percent(share)}"
            texts.append(percent(covers) + part)
        write(f"| `{metric}` | {' | '.join(texts)} |\n")


def main() -> None:
    """Print the tables of coverages."""
    if "--differences" in sys.argv:
        print_differences()
        return
    write_adjusted_information()
    sys.stdout.write("\n")
    write_coverages(MANY_GROUPS, with_ratio=False)
    write_coverages(FEW_GROUPS, with_ratio=True)


if __name__ == "__main__":
    main()
