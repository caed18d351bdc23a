"""Bootstrap intervals and permutation tests for external metrics, based on contingency cells.

Only the cell counts are drawn, never the rows themselves. In a random half of the rows, and in a
random labeling that keeps the sizes of labels and clusters, the cell counts have a multivariate
hypergeometric distribution. NumPy draws the counts, and Polars computes the scores of all samples
at once, treating each sample as a partition of one frame.

The cells are sorted before counts are drawn, and every partition has its own random generator,
which is initialized with the same seed. Therefore, the result for a partition does not depend on
the order of the rows or on other partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    check_confidence,
    check_metric,
    check_random_state,
    choose_terms,
    is_whole_number,
    show_value,
)
from polars_clustereval.base.deferral import collect_now
from polars_clustereval.base.exact import to_double
from polars_clustereval.base.frames import add_stages
from polars_clustereval.base.metric_facts import metric_facts, metrics_of
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.external.association import GROWING_SCORES
from polars_clustereval.external.contingency import (
    ContingencyTable,
    LabelOptions,
    read_contingency_table,
)
from polars_clustereval.external.report import external_scores, need_expectation, score_partitions
from polars_clustereval.external.set_matching import label_match_rows
from polars_clustereval.relative.intervals import cut_limits, list_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.frames import Stage, Terms
    from polars_clustereval.external.information import NormalizedMethod

    Integers = NDArray[np.int64]

#: Limits that bound the memory: the number of cells, or rows of labelings, that are drawn together;
#: the number of rows of frames that are made before they are scored; and the number of scores that
#: are kept before they are summarized.
_CELLS_PER_BATCH = 2**20
_SCORES_PER_BATCH = 2**16
#: numpy can only draw without replacement from fewer objects than this.
_MAX_DRAWN_ROWS = 10**9
#: Intervals are NULL if the bias is larger than this many standard errors, because the estimate of
#: the bias is then too rough to correct it.
_MAX_BIAS = 0.5

# ----------------------------------------------------------------------------------------------
# Cells
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cells:
    """The contingency cells of the partition with the number `partition`.

    For each cell, `labels` and `clusters` contain the numbers of its label and its cluster. All
    noise rows that count as singletons share the cluster number -1.
    """

    partition: int
    labels: Integers
    clusters: Integers
    rows: Integers


@dataclass(frozen=True)
class _Sample:
    """The contingency cells of the frame to resample, with numbers in place of the user's values.

    `groups` has one row per cell, as in ContingencyTable, with the number of the partition in
    key_0. The cluster is NULL for noise that counts as singletons. `partitions` has one row per
    partition, with key_0 and the partition columns.
    """

    groups: pl.DataFrame
    partitions: pl.DataFrame
    keys: dict[str, str]

    def split(self) -> Iterator[_Cells]:
        """Yield the cells of each partition that has rows."""
        numbers = self.groups["key_0"].to_numpy()
        columns = (
            self.groups["label"].to_numpy(),
            self.groups["cluster"].fill_null(-1).to_numpy(),
            (self.groups["n"] * self.groups["copies"]).to_numpy(),
        )
        bounds = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1))
        for start, end in pairwise(bounds):
            yield _Cells(int(numbers[start]), *(column[start:end] for column in columns))


def _read_sample(frame: Frame, label: Column, cluster: Column, results: Sequence[str]) -> _Sample:
    """Collect the contingency cells and return them sorted, with numbers in place of values."""
    options = pass_arguments_to(LabelOptions)
    table = read_contingency_table(frame, label, cluster, options, results)
    keys = {f"user_{name}": user for name, user in table.keys.items()}
    own = [pl.col(inner).alias(name) for inner, name in zip(table.keys, keys, strict=True)]
    found = collect_now(table.groups.select(*own, "label", "cluster", "n", "copies"))
    found = found.sort(*keys, "label", "cluster", nulls_last=True)
    cells = found.filter(pl.col("copies") > 0).with_columns(
        row=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    row, zero = pl.col("row"), pl.lit(0, pl.Int64)
    numbered = cells.with_columns(
        (row.first().over(*keys) if keys else zero).alias("key_0"),
        row.first().over(*keys, "label").alias("label"),
        pl.when(pl.col("cluster").is_not_null())
        .then(row.first().over(*keys, "cluster"))
        .alias("cluster"),
        n_dropped=zero,
        n_noise=zero,
    )
    partitions = pl.DataFrame({"key_0": [0]}, schema={"key_0": pl.Int64})
    if keys:
        # Partitions without cells have negative numbers.
        named = numbered.unique("key_0").select("key_0", *keys)
        partitions = found.select(*keys).unique().join(named, list(keys), "left", nulls_equal=True)
        empty = -1 - pl.int_range(pl.len(), dtype=pl.Int64)
        partitions = partitions.with_columns(pl.col("key_0").fill_null(empty))
    groups = numbered.select("key_0", "label", "cluster", "n", "copies", "n_dropped", "n_noise")
    return _Sample(groups, partitions, keys)


class _Drawn(NamedTuple):
    """Drawn samples, stored in three frames in which key_0 and key_1 together identify a sample.

    In `cells`, one row represents all cells of a sample that have the same n, label_size and
    cluster_size. `labels` has the columns that external_statistics expects in its argument labels,
    and `clusters` has the columns of ContingencyTable.cluster_sizes. NumPy computes the sizes of
    labels and clusters in a fraction of the time that grouping the cells would take.
    """

    cells: pl.DataFrame
    labels: pl.DataFrame
    clusters: pl.DataFrame


def _describe_samples(
    cells: _Cells, samples: Integers, labels: Integers, clusters: Integers, rows: Integers
) -> _Drawn:
    """Return the samples of a block, which were drawn from `cells`.

    The arrays contain each drawn cell's sample, label, cluster and number of rows. The cells of a
    sample are consecutive, and within a sample, the cells of a label are consecutive. Noise rows
    that count as singletons form a single cell in which copies is the number of these rows.
    """
    is_single = clusters < 0
    n, copies = np.where(is_single, 1, rows), np.where(is_single, rows, 1)
    starts = np.flatnonzero(np.diff(samples, prepend=-1) | np.diff(labels, prepend=-1))
    sizes = np.add.reduceat(rows, starts)
    of_clusters, cluster_size = _describe_clusters(cells, samples, clusters, rows)
    label_size = np.repeat(sizes, np.diff(starts, append=len(samples)))
    sizes_of_cells = {"n": n, "label_size": label_size, "cluster_size": cluster_size}
    sample_starts = np.flatnonzero(np.diff(samples, prepend=-1))
    total = np.repeat(
        np.add.reduceat(rows, sample_starts), np.diff(sample_starts, append=len(samples))
    )
    by = {"key_1": samples, **sizes_of_cells, "total": total}
    drawn = pl.DataFrame({**by, "copies": copies})
    matches = drawn.select(label_match_rows(pl.col)).to_series().to_numpy()
    of_labels = {
        "key_1": samples[starts],
        "label_size": sizes,
        "label_majority_n": np.maximum.reduceat(n, starts),
        "copies": np.ones(len(starts), np.int64),
        "best_match_rows": np.maximum.reduceat(matches, starts),
    }
    zero, partition = pl.lit(0, pl.Int64), pl.lit(cells.partition, pl.Int64).alias("key_0")
    equal = drawn.group_by(*by).agg(pl.col("copies").sum())
    return _Drawn(
        equal.with_columns(partition, n_dropped=zero, n_noise=zero),
        pl.DataFrame(of_labels).with_columns(partition),
        pl.DataFrame(of_clusters).with_columns(partition),
    )


def _describe_clusters(
    cells: _Cells, samples: Integers, clusters: Integers, rows: Integers
) -> tuple[dict[str, Integers], Integers]:
    """Return the columns of ContingencyTable.cluster_sizes and each drawn cell's cluster size."""
    # A cluster has the number of one of its cells, and the numbers of the cells of a partition
    # start at an offset.
    places = np.where(clusters < 0, len(cells.rows), clusters - cells.partition)
    codes = (samples - samples[0]) * (len(cells.rows) + 1) + places
    sums, most = np.zeros((2, int(codes.max()) + 1), np.int64)
    np.add.at(sums, codes, rows)
    np.maximum.at(most, codes, rows)
    drawn = np.flatnonzero(sums)
    sample, place = np.divmod(drawn, len(cells.rows) + 1)
    is_single = place == len(cells.rows)
    columns = {
        "key_1": sample + samples[0],
        "cluster_size": np.where(is_single, 1, sums[drawn]),
        "cluster_majority_n": np.where(is_single, 1, most[drawn]),
        "copies": np.where(is_single, sums[drawn], 1),
    }
    return columns, np.where(clusters < 0, 1, sums[codes])


# ----------------------------------------------------------------------------------------------
# Draws
# ----------------------------------------------------------------------------------------------


def _blocks(n_samples: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield each block's first sample and number of samples of at most `size` cells."""
    step = max(1, _CELLS_PER_BATCH // max(1, size))
    for first in range(0, n_samples, step):
        yield first, min(step, n_samples - first)


def _draw_halves(cells: _Cells, n_splits: int, seed: int) -> Iterator[_Drawn]:
    """Yield random halves of the rows in `cells`, as blocks returned by _describe_samples.

    The samples 2 i and 2 i + 1 are the two halves of split i. Fewer than 2 rows have no halves.
    """
    generator = np.random.default_rng(seed)
    total, n_cells = int(cells.rows.sum()), len(cells.rows)
    for first, number in _blocks(n_splits if total > 1 else 0, 2 * n_cells):
        if total < _MAX_DRAWN_ROWS:
            halves = generator.multivariate_hypergeometric(
                cells.rows, total // 2, size=number, method="marginals"
            )
        else:  # Halves of nearly equal sizes differ from equal halves by less than their spread.
            halves = generator.binomial(cells.rows, 0.5, size=(number, n_cells))
        counts = np.stack([halves, cells.rows - halves], axis=1).reshape(-1, n_cells)
        sample, cell = np.nonzero(counts)
        yield _describe_samples(
            cells,
            sample.astype(np.int64) + 2 * first,
            cells.labels[cell],
            cells.clusters[cell],
            counts[sample, cell],
        )


def _draw_permutations(cells: _Cells, n_samples: int, seed: int) -> Iterator[_Drawn]:
    """Yield blocks of random labelings that keep the label sizes and cluster sizes of `cells`.

    A contingency table with no more cells than rows is drawn cell by cell. Any other table is drawn
    by shuffling the clusters of the rows. Both methods draw from the same distribution.
    """
    generator = np.random.default_rng(seed)
    labels, label_sizes = _sum_rows(cells.labels, cells.rows)
    clusters, cluster_sizes = _sum_rows(cells.clusters, cells.rows)
    total, n_cells = int(cells.rows.sum()), len(labels) * len(clusters)
    if total >= _MAX_DRAWN_ROWS:
        raise ClusterEvalError(
            f"permutation_test: expected fewer than {_MAX_DRAWN_ROWS} rows in a partition, "
            f"got {total}; divide the weights by a common factor, or draw a sample of the rows"
        )
    draw = _draw_tables if n_cells <= total else _shuffle_rows
    for first, number in _blocks(n_samples, min(n_cells, total)):
        sample, label, cluster, rows = draw(generator, label_sizes, cluster_sizes, number)
        yield _describe_samples(cells, sample + first, labels[label], clusters[cluster], rows)


def _sum_rows(values: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Return the sorted distinct `values` and the sum of `rows` for each value."""
    unique, places = np.unique(values, return_inverse=True)
    sizes = np.zeros(len(unique), np.int64)
    np.add.at(sizes, places.ravel(), rows)
    return unique, sizes


def _draw_tables(
    generator: np.random.Generator, label_sizes: Integers, cluster_sizes: Integers, number: int
) -> tuple[Integers, ...]:
    """Return the cells of `number` random contingency tables with the given sizes.

    The four arrays contain the indices of a nonempty cell's table, label and cluster, and its
    number of rows. The rows of a label are drawn without replacement from the rows that have not
    been assigned to previous labels, cluster by cluster, for all tables at once.
    """
    left = np.tile(cluster_sizes, (number, 1))
    tables = np.zeros((number, len(label_sizes), len(cluster_sizes)), np.int64)
    for i, size in enumerate(label_sizes[:-1]):
        missing, others = np.full(number, size), left.sum(axis=1)
        for j in range(len(cluster_sizes)):
            others -= left[:, j]
            tables[:, i, j] = generator.hypergeometric(left[:, j], others, missing)
            missing -= tables[:, i, j]
        left -= tables[:, i]
    tables[:, -1] = left
    sample, label, cluster = np.nonzero(tables)
    return sample, label, cluster, tables[sample, label, cluster]


def _shuffle_rows(
    generator: np.random.Generator, label_sizes: Integers, cluster_sizes: Integers, number: int
) -> tuple[Integers, ...]:
    """Return tables in the same form as _draw_tables, drawn by shuffling the rows' clusters."""
    n_labels, n_clusters = len(label_sizes), len(cluster_sizes)
    labels = np.repeat(np.arange(n_labels), label_sizes)
    clusters = np.tile(np.repeat(np.arange(n_clusters), cluster_sizes), (number, 1))
    shuffled = generator.permuted(clusters, axis=1)
    samples = np.arange(number)[:, None]
    cells, rows = np.unique(
        (samples * n_labels + labels) * n_clusters + shuffled, return_counts=True
    )
    sample, cell = np.divmod(cells, n_labels * n_clusters)
    return sample, *np.divmod(cell, n_clusters), rows


# ----------------------------------------------------------------------------------------------
# Scores
# ----------------------------------------------------------------------------------------------


def _score_table(
    table: ContingencyTable, scores: Terms, labels: pl.LazyFrame | None = None
) -> pl.DataFrame:
    """Return one row per partition of `table`, with the partition columns and the scores."""
    adjusted = need_expectation(scores)
    scored = score_partitions(table, scores, adjusted=adjusted, labels=labels)
    return scored.select(*table.keys, *scores).collect(engine="streaming")


def _score_drawn(drawn: Sequence[_Drawn], scores: Terms) -> pl.DataFrame:
    """Return one row per sample, with key_0, key_1 and the scores."""
    cells, labels, clusters = (pl.concat(frames).lazy() for frames in zip(*drawn, strict=True))
    table = ContingencyTable(cells, {"key_0": "key_0", "key_1": "key_1"})
    # These frames replace the cached properties of the table.
    vars(table).update(sized_cells=cells, label_sizes=labels, cluster_sizes=clusters)
    return _score_table(table, scores, labels)


def _score_samples(
    sample: _Sample, draw: Callable[[_Cells], Iterator[_Drawn]], scores: Terms
) -> Iterator[pl.DataFrame]:
    """Yield the keys and scores of all samples, drawn by `draw`, of several partitions at once."""
    blocks: list[_Drawn] = []
    scored: list[pl.DataFrame] = []
    for cells in sample.split():
        for block in draw(cells):
            blocks.append(block)
            if sum(frame.height for block in blocks for frame in block) >= _CELLS_PER_BATCH:
                scored.append(_score_drawn(blocks, scores))
                blocks = []
        if sum(frame.height for frame in scored) >= _SCORES_PER_BATCH:
            scored += [_score_drawn(blocks, scores)] if blocks else []
            yield pl.concat(scored)
            blocks, scored = [], []
    scored += [_score_drawn(blocks, scores)] if blocks else []
    if scored:
        yield pl.concat(scored)


def _summarize_samples(
    sample: _Sample,
    draw: Callable[[_Cells], Iterator[_Drawn]],
    scores: Terms,
    summaries: Terms,
) -> pl.DataFrame:
    """Return key_0, the partition columns, metric and the `summaries` of the samples.

    `summaries` maps names to aggregates of two columns: value is the metric for the user's rows,
    and score is the metric for a sample, or NULL if the metric is undefined. There is one row per
    partition and metric, sorted by partition and then by the order of the scores.
    """
    observed = _score_table(ContingencyTable(sample.groups.lazy(), {"key_0": "key_0"}), scores)
    values = sample.partitions.join(observed, on="key_0", how="left", maintain_order="left")
    long = values.unpivot(list(scores), index="key_0", variable_name="metric")
    parts = [
        # The order is fixed, so that sums are the same to the last bit in every call.
        scored.sort("key_0", "key_1")
        .unpivot(list(scores), index="key_0", variable_name="metric", value_name="score")
        .join(long, on=["key_0", "metric"], maintain_order="left")
        .group_by("key_0", "metric", maintain_order=True)
        .agg(**summaries)
        for scored in _score_samples(sample, draw, scores)
    ]
    nothing = long.with_columns(score=pl.lit(None, pl.Float64)).head(0)
    parts.append(nothing.group_by("key_0", "metric").agg(**summaries))
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    return (
        long.with_columns(place=place)
        .join(pl.concat(parts), on=["key_0", "metric"], how="left")
        .join(sample.partitions, on="key_0")
        .sort(*sample.keys, "place", nulls_last=True)
        .rename(sample.keys)
    )


def _check_resamples(n_resamples: object) -> int:
    """Return n_resamples as an int, or raise an error unless it is a whole number >= 1."""
    if not is_whole_number(n_resamples, 1):
        raise ClusterEvalError(
            f"n_resamples: expected a whole number >= 1, got {show_value(n_resamples)}"
        )
    return int(str(n_resamples).removesuffix(".0"))


def _as_given(frame: Frame, result: pl.DataFrame) -> Frame:
    """Return `result` as a DataFrame or a LazyFrame, depending on the type of `frame`."""
    return result.lazy() if isinstance(frame, pl.LazyFrame) else result


# ----------------------------------------------------------------------------------------------
# Intervals
# ----------------------------------------------------------------------------------------------


def _growths() -> Terms:
    """Return the metrics that grow with the number of rows, and by which factors they do so."""
    n = to_double(pl.col("total"))
    pairs = (n * (n - 1)).clip(1.0)
    of_pairs = {name: pairs.sqrt() for name in GROWING_SCORES}
    return of_pairs | {"mirkin_metric": pairs, "split_join_distance": n}


def _split_summaries() -> Terms:
    """Return mean, pair_variance, variance and n_resamples, from the scores of halves in turn.

    The mean square of half the difference between two halves contains the variance of a score to
    first order, but the variance due to pairs of rows twice. pair_variance, the variance of the
    means of two halves, has only the latter, so the difference `variance` is right for every mean
    over pairs of rows (Efron and Stein 1981).
    """
    first, second = pl.col("score").gather_every(2), pl.col("score").gather_every(2, 1)
    difference, mean = (first - second) / 2, (first + second) / 2
    return {
        "mean": mean.mean(),
        "pair_variance": mean.var(),
        "variance": (difference * difference).mean() - mean.var(),
        "n_resamples": mean.count().cast(pl.Int64),
    }


def _interval_stages(z: float) -> tuple[Stage, ...]:
    """Return the stages that add std_error, lower, upper and reason to mean, variance and value."""
    value, mean, std_error = pl.col("value"), pl.col("mean"), pl.col("std_error")
    bias = mean - value
    rounding = 1e-12 * pl.max_horizontal(value.abs(), 1.0)
    reason = (
        pl.when(value.is_null())
        .then(pl.lit("the metric is undefined"))
        .when(pl.col("total") < 2)
        .then(pl.lit("fewer than 2 rows"))
        .when(pl.col("n_resamples").fill_null(0) < 2)
        .then(pl.lit("defined for both halves of the rows in fewer than 2 splits"))
        .when((pl.col("variance") < -rounding * rounding) & (bias * bias < pl.col("pair_variance")))
        .then(pl.lit("the two halves differ too little for a standard error"))
        .when(bias.abs() > min(z, _MAX_BIAS) * std_error + rounding)
        .then(
            pl.format(
                "depends on the number of rows: halves of them score {} on average",
                mean.round_sig_figs(3),
            )
        )
    )
    growth = pl.coalesce(
        *(pl.when(pl.col("metric") == name).then(factor) for name, factor in _growths().items()),
        1.0,
    )
    unbiased, margin = value - bias, z * std_error
    return (
        lambda row: {
            **{name: row(name) * growth for name in ("value", "mean")},
            **{name: row(name) * growth * growth for name in ("variance", "pair_variance")},
        },
        lambda row: {"std_error": row("variance").clip(0.0).sqrt()},
        lambda _: {"reason": reason, **cut_limits(unbiased - margin, unbiased + margin)},
        lambda row: {
            name: pl.when(row("reason").is_null()).then(row(name))
            for name in ("std_error", "lower", "upper")
        },
    )


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------

_BOOTSTRAP_COLUMNS = ("metric", "value", "std_error", "lower", "upper", "n_resamples", "reason")
_TEST_COLUMNS = ("metric", "value", "expected", "std", "z", "p_value", "n_resamples")


@table_function(
    "labels", guide="intervals", order=("metric",), no_sql_because="NumPy draws the samples"
)
def bootstrap_intervals(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    adjusted: bool = True,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: int = 0,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Resampling intervals for all external metrics, from random halves of the rows.

    The rows are split into two random halves many times. The differences between the scores of the
    two halves show how much a score varies from sample to sample, and the difference between the
    mean score of the halves and the score of all rows shows how much it depends on the number of
    rows. In contrast to a bootstrap sample with replacement, a half has no copies of rows, which
    would count as pairs that agree. Only the counts of the contingency cells are drawn, never the
    rows. Therefore, the running time depends on the number of cells times n_resamples, not on the
    number of rows.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate. The contingency cells of the rows are counted first. A LazyFrame is
        read when you collect the result.
    weight : str or Expr, optional
        How many times each row counts, as a whole number >= 0, for instance the column n of
        contingency_matrix.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    n_resamples : int
        The number of splits into halves, at least 1.
    confidence : float
        The probability (between 0 and 1) that an interval covers the metric's value in the
        population.
    random_state : int
        The seed of NumPy's random generator, from 0 to 2147483647. Every partition starts with this
        seed.
    label, cluster, partition_by, noise, average_method, beta, adjusted : as in external_report
    metrics : sequence of str, optional
        Names of the metrics to return. By default, all metrics are returned.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition and metric, sorted by partition and then in
        the order of external_report. The columns are the partition columns, metric and the
        following:

        * value is the metric's value in external_report.
        * std_error is the standard error of the value: the square root of the mean of (difference
          between two halves / 2)^2, minus the variance of the means of two halves.
        * lower and upper are the limits of the interval value - bias -+ z std_error, where bias is
          the mean score of the halves minus the value, and z is the normal quantile for
          `confidence`. The interval is cut off at the ends of the metric's range.
        * n_resamples is the number of splits for which the metric is defined for both halves.
        * reason says why std_error, lower and upper are NULL, and is NULL if they are not.

        The standard error and the limits are NULL if the value is NULL, if there are fewer than 2
        rows or splits, or if the bias is larger than half the standard error, or so large that the
        value is outside of the interval. A large bias means that the score depends on the number of
        rows, so that it says little about its value in the population. With partition_by, the
        result is empty if there are no rows.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report, and if an option is out of range.

    Notes
    -----
    There is no SQL for this table, because NumPy draws the samples. For a DuckDB relation, count
    the cells in SQL first::

        cells = con.sql("FROM clustereval.contingency_matrix(tbl, label, cluster)").pl()
        ce.bootstrap_intervals(cells, "label", "cluster", weight="n")

    References
    ----------
    Efron, B. and Stein, C. (1981). The jackknife estimate of variance. The Annals of Statistics 9,
    586-596. https://doi.org/10.1214/aos/1176345462
    Shao, J. and Wu, C. F. J. (1989). A general theory for jackknife variance estimation. The Annals
    of Statistics 17, 1176-1197. https://doi.org/10.1214/aos/1176347263

    Examples
    --------
    The standard error of purity is near sqrt(0.8 x 0.2 / 100) = 0.04:

    >>> cells = pl.DataFrame(
    ...     {
    ...         "label": ["a", "b", "a", "b"],
    ...         "cluster": [0, 0, 1, 1],
    ...         "n": [45, 15, 5, 35],
    ...     }
    ... )
    >>> intervals = ce.bootstrap_intervals(cells, "label", "cluster", weight="n")
    >>> purity = intervals.filter(pl.col("metric") == "purity")
    >>> purity.select("value", pl.col("std_error").round(2), "lower", "upper").row(0)
    (0.8, 0.04, 0.72, 0.87)
    """
    n_splits, seed = _check_resamples(n_resamples), check_random_state(random_state)
    z = -NormalDist().inv_cdf((1 - check_confidence(confidence)) / 2)
    scores: Terms = choose_terms(external_scores(average_method, beta, adjusted=adjusted), metrics)
    sample = _read_sample(frame, label, cluster, _BOOTSTRAP_COLUMNS)
    growths = _growths()
    relative = {
        name: score / growths[name] if name in growths else score for name, score in scores.items()
    }
    rows = _summarize_samples(
        sample, lambda cells: _draw_halves(cells, n_splits, seed), relative, _split_summaries()
    )
    totals = sample.groups.group_by("key_0").agg(total=(pl.col("n") * pl.col("copies")).sum())
    rows = rows.join(totals, on="key_0", how="left", maintain_order="left")
    rows = rows.join(list_bounds([*scores]).collect(), on="metric", maintain_order="left")
    intervals = add_stages(rows.lazy(), *_interval_stages(z)).collect()
    intervals = intervals.with_columns(pl.col("n_resamples").fill_null(0))
    return _as_given(frame, intervals.select(*sample.keys.values(), *_BOOTSTRAP_COLUMNS))


@table_function("labels", guide="intervals", no_sql_because="NumPy draws the tables")
def permutation_test(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    metric: str = "adjusted_rand_score",
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    n_resamples: int = 999,
    random_state: int = 0,
) -> Frame:
    """Permutation test that compares a metric with its values for random labelings.

    The null hypothesis is that label and cluster are independent, given the sizes of labels and
    clusters. Random labelings keep the sizes of labels and clusters. Only the contingency tables of
    random labelings are drawn, never the rows. Given the cell counts of the previous labels, the
    cell counts of a label have a multivariate hypergeometric distribution.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate. The contingency cells of the rows are counted first. A LazyFrame is
        read when you collect the result.
    metric : str
        A metric of external_report that has a best value, because the test needs to know whether
        high or low scores are better. Mutual information has no best value, but normalized mutual
        information has one and yields the same p-value.
    weight : str or Expr, optional
        How many times each row counts, as a whole number >= 0, for instance the column n of
        contingency_matrix.
    average_method : {'arithmetic', 'geometric', 'min', 'max', 'joint'}
        How the two entropies are averaged in the normalized and adjusted mutual information.
        'joint' is available only for the normalized mutual information.
    n_resamples : int
        The number of random labelings, at least 1.
    random_state : int
        The seed of NumPy's random generator, from 0 to 2147483647. Every partition starts with this
        seed.
    label, cluster, partition_by, noise, noise_as, beta : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition, sorted by partition. The columns are the
        partition columns, metric and the following:

        * value is the metric's value in external_report.
        * expected and std are the mean and the standard deviation of the metric over the random
          labelings. std is NULL if there are fewer than 2 random labelings.
        * z is (value - expected) / std, or NULL if std is 0.
        * p_value is (1 + b) / (1 + n_resamples), where b is the number of random labelings whose
          score is at least as good as value.
        * n_resamples is the number of random labelings.

        If the metric is undefined, all numbers are NULL except n_resamples, which is 0. If the
        frame has no rows, the metric is undefined and the result has one row; with partition_by,
        the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report, if an option is out of range, or if a partition has
        1000000000 rows or more.

    Notes
    -----
    There is no SQL for this table, because NumPy draws the tables. For a DuckDB relation, count the
    cells in SQL first::

        cells = con.sql("FROM clustereval.contingency_matrix(tbl, label, cluster)").pl()
        ce.permutation_test(cells, "label", "cluster", weight="n")

    The p-value is never 0. If the null hypothesis is true, the probability that the p-value is at
    most `alpha` is itself at most `alpha`.

    References
    ----------
    Phipson, B. and Smyth, G. K. (2010). Permutation p-values should never be zero. Statistical
    Applications in Genetics and Molecular Biology 9, 39. https://doi.org/10.2202/1544-6115.1585

    Examples
    --------
    >>> ten = pl.DataFrame({"label": ["a"] * 5 + ["b"] * 5, "cluster": [0] * 4 + [1] * 6})
    >>> test = ce.permutation_test(ten, "label", "cluster")
    >>> test.select("metric", pl.col("value", "p_value").round(2)).row(0)
    ('adjusted_rand_score', 0.6, 0.04)
    """
    with_best = [x.name for x in metrics_of("external_report").values() if x.best]
    check_metric(metric, with_best)
    n_samples, seed = _check_resamples(n_resamples), check_random_state(random_state)
    adjusted = metric == "adjusted_mutual_info_score"
    scores = {metric: external_scores(average_method, beta, adjusted=adjusted)[metric]}
    sample = _read_sample(frame, label, cluster, _TEST_COLUMNS)
    score, value = pl.col("score"), pl.col("value").first()
    sign = -1 if metric_facts()[metric].best in ("0", "low") else 1
    # The scores of equal tables may differ by rounding errors.
    tolerance = 1e-12 * pl.max_horizontal(value.abs(), 1.0)
    as_good = (sign * (score - value) >= -tolerance).sum()
    summaries = {
        "expected": score.mean(),
        "std": score.std(),
        "p_value": pl.when(value.is_not_null()).then((1 + as_good) / (1 + score.count())),
        "n_resamples": score.count().cast(pl.Int64),
    }
    tests = _summarize_samples(
        sample, lambda cells: _draw_permutations(cells, n_samples, seed), scores, summaries
    )
    z = (pl.col("value") - pl.col("expected")) / pl.col("std")
    tests = tests.with_columns(
        pl.col("n_resamples").fill_null(0),
        z=pl.when(pl.col("std") > 1e-12 * pl.max_horizontal(pl.col("expected").abs(), 1.0)).then(z),
    )
    return _as_given(frame, tests.select(*sample.keys.values(), *_TEST_COLUMNS))
