"""How often intervals of entity_resolution_estimates cover the true value: simulated samples.

Run from the root of a clone: ``python -m benchmarks.label_coverage``. It writes the table of
docs/label_sample.md, between the marks `<!-- coverage: estimates -->` and
`<!-- end of coverage -->`. Each case is a known population, from which samples of labels are drawn;
100 samples at a time are estimated in one call, as partitions. The true values are those of
external_report on the population.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import polars as pl

import polars_clustereval as ce

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = Path(__file__).parent.parent / "docs" / "label_sample.md"
_BLOCK = re.compile(r"(<!-- coverage: estimates -->\n).*?(<!-- end of coverage -->)", re.DOTALL)
DRAWS, DRAWS_PER_CALL = 500, 100
METRICS = (
    *("pair_precision", "pair_recall", "bcubed_precision", "bcubed_recall"),
    *("exact_match_recall", "average_label_size"),
)


class Case(NamedTuple):
    """A population, and how its labels are drawn."""

    #: Share of the rows that are in the cluster of another entity.
    errors: float
    design: Literal["uniform", "by_record", "records"]
    #: Number of entities or rows that are drawn.
    n_drawn: int
    n_entities: int = 4000
    #: The exponent of a power law of the sizes; None for 1 + Poisson(1.5) rows.
    tail: float | None = None
    #: No entity has more rows.
    largest: int = 500
    #: Whether sampling_fraction is given.
    has_fraction: bool = True
    #: The share `errors` of the entities with more than 10 rows, if it differs.
    errors_of_large: float | None = None

    def words(self, n_rows: int) -> tuple[str, str]:
        """Return the population and the sample as two cells of the table."""
        sizes = "1 to 9 rows" if self.tail is None else f"1 to {self.largest:,} rows"
        sample = {
            "uniform": f"{self.n_drawn} entities, `'uniform'`",
            "by_record": f"{self.n_drawn} rows, `'by_record'`",
            "records": f"{self.n_drawn} rows, `'records'`",
        }[self.design]
        without = "" if self.has_fraction else " without a fraction"
        errors = "" if self.errors_of_large is None else ", more errors in large ones"
        population = f"{self.n_entities:,} entities of {sizes}{errors}, {n_rows:,} rows"
        return population, sample + without


CASES = (
    *(Case(errors, "uniform", 250) for errors in (0.1, 0.01, 0.001, 0.0005)),
    *(Case(errors, "uniform", 30) for errors in (0.1, 0.001)),
    *(Case(errors, "by_record", 250) for errors in (0.1, 0.001)),
    *(Case(errors, "records", 800) for errors in (0.1, 0.01, 0.001)),
    Case(0.01, "uniform", 200, 3000, tail=2.5, largest=100),
    Case(0.01, "uniform", 200, 3000, tail=1.2),
    Case(0.01, "by_record", 60, 3000, tail=1.2),
    Case(0.01, "by_record", 200, 20_000, tail=1.2),
    Case(0.01, "by_record", 200, 20_000, tail=1.2, largest=2000),
    Case(0.01, "by_record", 200, 3000, tail=1.2, has_fraction=False),
    Case(0.01, "by_record", 200, 3000, tail=1.2, errors_of_large=0.2),
    Case(0.01, "uniform", 200, 3000, tail=2.0, largest=100, errors_of_large=0.2),
    Case(0.01, "records", 300, 2000, tail=2.0, largest=100),
)


def draw_population(case: Case) -> pl.DataFrame:
    """Return the rows of the population of a case: label, cluster."""
    draw = np.random.default_rng(20)
    if case.tail is None:
        sizes = 1 + draw.poisson(1.5, case.n_entities)
    else:
        sizes = np.minimum((1 - draw.random(case.n_entities)) ** (-1 / case.tail), case.largest)
    label = np.repeat(np.arange(case.n_entities), sizes.astype(int))
    of_large = case.errors if case.errors_of_large is None else case.errors_of_large
    wrong = draw.random(label.size) < np.where(sizes >= 11, of_large, case.errors)[label]
    cluster = np.where(wrong, draw.integers(0, case.n_entities, label.size), label)
    return pl.DataFrame({"label": label, "cluster": cluster})


def draw_labels(rows: pl.DataFrame, case: Case, n_draws: int, seed: int) -> Iterable[pl.DataFrame]:
    """Yield the cells of each sample of labels: draw, label (NULL if not drawn), cluster, n."""
    draw = np.random.default_rng(seed)
    label = rows["label"].to_numpy()
    for number in range(n_draws):
        if case.design == "uniform":
            chosen = np.isin(label, draw.choice(case.n_entities, case.n_drawn, replace=False))
        else:
            chosen = np.zeros(label.size, dtype=bool)
            chosen[draw.choice(label.size, case.n_drawn, replace=False)] = True
            if case.design == "by_record":
                chosen = np.isin(label, label[chosen])
        drawn = pl.when(pl.Series(chosen)).then("label").alias("label")
        cells = rows.select(drawn, "cluster").group_by("label", "cluster").len("n")
        yield cells.with_columns(draw=pl.lit(number))


def estimate(rows: pl.DataFrame, case: Case, n_draws: int, seed: int = 0) -> pl.DataFrame:
    """Return the estimates of samples: draw, and the columns of entity_resolution_estimates."""
    cells = pl.concat(draw_labels(rows, case, n_draws, seed))
    fraction = case.n_drawn / rows.height if case.design == "by_record" else None
    return ce.entity_resolution_estimates(
        *(cells, "label", "cluster"),
        weight="n",
        partition_by="draw",
        labels_are_sample=case.design,
        sampling_fraction=fraction if case.has_fraction else None,
    )


def true_values(rows: pl.DataFrame) -> pl.DataFrame:
    """Return metric and truth."""
    report = ce.external_report(rows, "label", "cluster", adjusted=False)
    sizes = rows.group_by("label").len()["len"]
    own = {
        "average_label_size": sizes.mean(),
        "matching_rate": sizes.filter(sizes > 1).sum() / rows.height,
    }
    truth = report.row(0, named=True) | own
    numbers = {name: x for name, x in truth.items() if isinstance(x, float)}
    return pl.DataFrame({"metric": list(numbers), "truth": list(numbers.values())})


def coverage(rows: pl.DataFrame, estimates: pl.DataFrame) -> pl.DataFrame:
    """Return metric, truth, covered, a share of the intervals, and has_interval, of the samples."""
    covers = (pl.col("lower") <= pl.col("truth") + 1e-12) & (pl.col("truth") <= pl.col("upper"))
    return (
        estimates.join(true_values(rows), on="metric", maintain_order="left")
        .group_by("metric", maintain_order=True)
        .agg(
            pl.col("truth").first(),
            covers.mean().alias("covered"),
            pl.col("lower").is_not_null().mean().alias("has_interval"),
        )
    )


def _show(covered: float | None, has_interval: float) -> str:
    """Return a cell of the table, with the share of the intervals unless nearly all have one."""
    if covered is None or has_interval < 0.1:
        return "–"
    text = f"{100 * covered:.0f} %"
    return text if has_interval > 0.995 else f"{text} ({100 * has_interval:.0f} %)"


def write_table(cases: Iterable[Case] = CASES, n_draws: int = DRAWS) -> str:
    """Return the table of coverages, one row per case."""
    heads = ("population", "sample", "true pair precision", *(f"`{name}`" for name in METRICS))
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for case in cases:
        rows = draw_population(case)
        calls = range(0, n_draws, DRAWS_PER_CALL)
        found = [estimate(rows, case, min(DRAWS_PER_CALL, n_draws), seed) for seed in calls]
        table = {row["metric"]: row for row in coverage(rows, pl.concat(found)).to_dicts()}
        truth = f"{table['pair_precision']['truth']:.4f}"
        shown = (_show(table[name]["covered"], table[name]["has_interval"]) for name in METRICS)
        lines.append(f"| {' | '.join((*case.words(rows.height), truth, *shown))} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table into the page."""
    table = write_table()
    text = PAGE.read_text("utf-8")
    PAGE.write_text(_BLOCK.sub(lambda block: f"{block[1]}{table}{block[2]}", text), "utf-8")


if __name__ == "__main__":
    main()
