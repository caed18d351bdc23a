"""Comparisons among runs, which are different clusterings of the same rows.

A run is one clustering. The input has one row per run and id, with the cluster to which the run
assigns the id. If a row has no cluster or is dropped as noise, its id counts as absent from the
run. A pair consists of two runs in the same partition, in sorted order. The rows of a pair are the
ids that are in both runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    NoiseAs,
    check_frame,
    check_groupable,
    check_metric,
    check_noise_as,
    check_partition_keys,
    check_value_of,
    key_columns,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.exact import ratio
from polars_clustereval.base.frames import (
    join_partitions,
    join_small,
    map_whole,
    to_user_frame,
)
from polars_clustereval.base.growth import PAIRS_OF_RUNS
from polars_clustereval.base.metric_facts import metric_facts, metrics_of
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.external.contingency import ContingencyTable, LabelOptions, is_noise
from polars_clustereval.external.report import external_scores, need_expectation, score_partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polars_clustereval.base.frames import Terms
    from polars_clustereval.external.information import NormalizedMethod

# ----------------------------------------------------------------------------------------------
# Runs
# ----------------------------------------------------------------------------------------------

# A code identifies a cluster of a run. The codes of run r start at r * _CODES_OF_RUN, and
# singletons have codes after _SINGLETONS.
_CODES_OF_RUN = 2**36
_SINGLETONS = 2**35
# A pair of runs is also identified by a single number.
_PAIRS_OF_RUN = 2**31
# Runs are no clusterings if there are more than this many, with fewer rows each, on average.
_MANY_RUNS, _ROWS_OF_RUN = 1000, 10
_CELLS = {"code_1": pl.Int64, "code_2": pl.Int64, "n": pl.Int64}


@dataclass(frozen=True)
class _RunTable:
    """The runs in a user's frame, with integer codes in place of the user's values.

    `rows` contains the partition columns, run, id and cluster of all rows that have a cluster.
    `reference` is the run with which the other runs are compared, or None.
    """

    rows: pl.LazyFrame
    keys: dict[str, str]
    options: LabelOptions
    reference: object = None

    @cached_property
    def clusters(self) -> pl.LazyFrame:
        """One row per run and cluster, with the number of rows n and the flag is_singleton.

        The flag marks noise that counts as singletons. Dropped noise is not included.
        """
        groups = self.rows.group_by(*self.keys, "run", "cluster").agg(n=pl.len().cast(pl.Int64))
        counts = self.rows.select(pl.col("run", "id").null_count())
        groups = raise_on_collect(groups, counts, _check_missing)
        noisy, noise_as = is_noise(self.rows, self.options.noise), self.options.noise_as
        if noise_as == "drop":
            groups = groups.filter(~noisy)
        is_singleton = noisy if noise_as == "singletons" else pl.lit(False)
        return groups.with_columns(is_singleton=is_singleton).cache()

    @cached_property
    def runs(self) -> pl.LazyFrame:
        """One row per run, in sorted order, with its number of rows n and the flag is_reference.

        The columns run_no and rank number the runs from 0, in all partitions and in their own.
        """
        sizes = self.clusters.group_by(*self.keys, "run").agg(pl.col("n").sum())
        counts = sizes.group_by(list(self.keys) or pl.lit(0)).agg(runs=pl.len(), rows=pl.sum("n"))
        are_tiny = pl.col("rows") < _ROWS_OF_RUN * pl.col("runs")
        tiny = counts.filter(are_tiny, pl.col("runs") > _MANY_RUNS).select("runs", "rows").max()
        sizes = raise_on_collect(sizes, tiny, _check_sizes_of_runs)
        runs = sizes.sort(*self.keys, "run", nulls_last=True).with_row_index("run_no")
        run_no = pl.col("run_no").cast(pl.Int64)
        first = run_no.min().over(*self.keys) if self.keys else pl.lit(0, pl.Int64)
        runs = runs.with_columns(run_no, rank=run_no - first, is_reference=pl.lit(False))
        if self.reference is not None:
            runs = _mark_reference(runs, self.reference)
        return runs.cache()

    @cached_property
    def coded_clusters(self) -> pl.LazyFrame:
        """The rows of `clusters` sorted by code, with run_no, rank, is_reference and code added."""
        runs = self.runs.drop("n")
        clusters = self.clusters.join(runs, on=[*self.keys, "run"], nulls_equal=True)
        clusters = clusters.sort("run_no", "cluster", nulls_last=True).with_row_index("cluster_no")
        code = pl.col("run_no") * _CODES_OF_RUN + pl.col("cluster_no").cast(pl.Int64)
        return clusters.with_columns(code=code).cache()

    @cached_property
    def coded_rows(self) -> pl.LazyFrame:
        """The rows that are counted, with rank and is_reference of the run, id_no and code.

        The number id_no identifies an id in all partitions. Each singleton has its own code.
        """
        of_id, of_cluster = [*self.keys, "id"], [*self.keys, "run", "cluster"]
        ids = self.rows.group_by(of_id).agg().with_row_index("id_no")
        clusters = self.coded_clusters.drop("n", "cluster_no")
        rows = join_small(join_small(self.rows, of_cluster, clusters), of_id, ids)
        id_no = pl.col("id_no").cast(pl.Int64)
        singleton = pl.col("run_no") * _CODES_OF_RUN + _SINGLETONS + id_no
        code = pl.when("is_singleton").then(singleton).otherwise("code")
        return rows.select("rank", "is_reference", "id_no", code=code)

    def count_cells(self, pair_runs: Callable[[pl.DataFrame], list[pl.LazyFrame]]) -> pl.LazyFrame:
        """Return the contingency cells (code_1, code_2, n) for each pair of runs.

        `pair_runs` receives the coded rows, sorted by rank and id_no. It returns frames with code_1
        and code_2, with one row for each id that is in both runs of a pair. It is called when the
        result is collected, because the number of runs is unknown before then.
        """

        def cells_of_pairs(coded: pl.DataFrame) -> pl.DataFrame:
            """Return the cells of all frames that `pair_runs` returns."""
            coded = coded.sort("rank", "id_no")
            self._check_ids_differ(coded)
            cells = [
                frame.group_by("code_1", "code_2").agg(n=pl.len().cast(pl.Int64))
                for frame in pair_runs(coded)
            ]
            nothing = pl.LazyFrame(schema=_CELLS)
            return pl.concat([nothing, *cells]).collect(engine="streaming")

        return map_whole(self.coded_rows, cells_of_pairs, pl.Schema(_CELLS))

    def _check_ids_differ(self, coded: pl.DataFrame) -> None:
        """Raise an error if an id occurs twice in a run; `coded` is sorted by rank and id_no."""
        same = [pl.col(name) == pl.col(name).shift() for name in ("rank", "id_no")]
        if not coded.select(pl.all_horizontal(same).any()).item():
            return
        by = [*self.keys, "run", "id"]
        kept = join_small(self.rows, [*self.keys, "run", "cluster"], self.clusters.drop("n"))
        times = kept.group_by(by).agg(times=pl.len()).filter(pl.col("times") > 1)
        first = times.sort(by, nulls_last=True).head(1).collect(engine="streaming")
        run, identifier, n = first.select("run", "id", "times").row(0)
        raise ClusterEvalError(
            f"id: expected one row per id in a run, got {n} rows of id {show_value(identifier)} "
            f"in run {show_value(run)}"
        )


def _check_sizes_of_runs(tiny: pl.DataFrame) -> None:
    """Raise an error if `tiny` has the counts of a partition whose runs are hardly clusterings."""
    n_runs, n_rows = tiny.row(0)
    if n_runs is not None:
        raise ClusterEvalError(
            f"run: expected a column with one value per clustering, got {n_runs} values in "
            f"{n_rows} rows; the order of the columns is id, run, cluster"
        )


def _check_missing(counts: pl.DataFrame) -> None:
    """Raise an error if `counts` shows that any run or id is NULL."""
    for parameter in ("run", "id"):
        n = counts.get_column(parameter).item()
        if n:
            raise ClusterEvalError(
                f"{parameter}: expected a value in every row, got NULL in {n} rows"
            )


def _read_runs(
    frame: pl.DataFrame | pl.LazyFrame,
    columns: dict[str, Column],
    results: Sequence[str],
) -> _RunTable:
    """Check the user's columns and the options of the call, and return the runs in `frame`."""
    options, lazy = pass_arguments_to(LabelOptions), check_frame(frame)
    check_noise_as(options.noise, options.noise_as)
    keys = check_partition_keys(lazy, options.partition_by, results)
    values = [check_groupable(lazy, column, name) for name, column in columns.items()]
    rows = lazy.select(*key_columns(keys), *values).filter(pl.col("cluster").is_not_null())
    return _RunTable(rows.cache(), keys, options)


# ----------------------------------------------------------------------------------------------
# Pairs of runs
# ----------------------------------------------------------------------------------------------


def score_of_metric(metric: str, average_method: str, beta: float) -> Terms:
    """Check a metric of external_report and its options, and return it as the term "score"."""
    check_metric(metric, list(metrics_of("external_report")))
    # The expected mutual information is slow to compute.
    adjusted = metric in ("adjusted_mutual_info_score", "expected_mutual_info")
    return {"score": external_scores(average_method, beta, adjusted=adjusted)[metric]}


def _pair_all_runs(coded: pl.DataFrame) -> list[pl.LazyFrame]:
    """Return one frame per rank, pairing the runs of that rank with all runs of a higher rank.

    A single join for all pairs would match each row of an id with all other rows of that id: it
    would find twice as many matches and take ten times as long.
    """
    pairs, start = [], 0
    for n in coded.group_by("rank", maintain_order=True).len().get_column("len"):
        lower = coded.lazy().slice(start, n).select("id_no", code_1="code")
        higher = coded.lazy().slice(start + n).select("id_no", code_2="code")
        pairs.append(join_small(higher, ["id_no"], lower).select("code_1", "code_2"))
        start += n
    return pairs


def _score_pairs(table: _RunTable, score: Terms) -> pl.LazyFrame:
    """Return pair, total (the number of common ids) and score for each pair that shares ids."""
    one, zero = pl.lit(1, pl.Int64), pl.lit(0, pl.Int64)
    run_no_1, run_no_2 = (pl.col(code) // _CODES_OF_RUN for code in ("code_1", "code_2"))
    groups = table.count_cells(_pair_all_runs).select(
        "n",
        pair=run_no_1 * _PAIRS_OF_RUN + run_no_2,
        label="code_1",
        cluster="code_2",
        copies=one,
        n_dropped=zero,
        n_noise=zero,
    )
    cells = ContingencyTable(groups, {"pair": "pair"}).cache_groups()
    scored = score_partitions(cells, score, adjusted=need_expectation(score))
    return scored.select("pair", "total", "score")


def _list_pairs(table: _RunTable, scored: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row per pair of runs, with run_no_1, run_no_2 and the columns of run_agreement."""
    lower, higher = (
        table.runs.select(*table.keys, **{f"{name}_{i}": name for name in ("run", "run_no", "n")})
        for i in (1, 2)
    )
    pairs = join_partitions(lower, list(table.keys), higher)
    pairs = pairs.filter(pl.col("run_no_1") < pl.col("run_no_2"))
    pair = pl.col("run_no_1") * _PAIRS_OF_RUN + pl.col("run_no_2")
    joined = pairs.with_columns(pair=pair).join(scored, on="pair", how="left")
    n = pl.col("total").fill_null(0)
    return joined.select(
        *table.keys,
        *("run_no_1", "run_no_2", "run_1", "run_2"),
        n=n,
        n_only_1=pl.col("n_1") - n,
        n_only_2=pl.col("n_2") - n,
        score="score",
    ).cache()


def _check_same_ids(first: pl.DataFrame) -> None:
    """Raise an error for the pair of runs with different ids in `first`, if there is one."""
    for pair in first.iter_rows(named=True):
        run_1, run_2 = show_value(pair["run_1"]), show_value(pair["run_2"])
        raise ClusterEvalError(
            "require_same_ids: expected the same ids in every run, got "
            f"{pair['n_only_1']} only in run {run_1} and {pair['n_only_2']} only in run {run_2}, "
            f"of {pair['n']} in both"
        )


def _agree(table: _RunTable, score: Terms, *, require_same_ids: bool) -> pl.LazyFrame:
    """Return the sorted rows of _list_pairs, whose ids are checked if they must be the same."""
    pairs = _list_pairs(table, _score_pairs(table, score)).sort("run_no_1", "run_no_2")
    if not require_same_ids:
        return pairs
    differ = pairs.filter(pl.col("n_only_1") + pl.col("n_only_2") > 0).head(1)
    return raise_on_collect(pairs, differ, _check_same_ids)


def _rank_runs(table: _RunTable, pairs: pl.LazyFrame, *, is_low_best: bool) -> pl.LazyFrame:
    """Return the rows of run_consensus. Mean scores that agree to 12 decimals count as ties."""
    sides = (pairs.select("score", run_no=f"run_no_{i}") for i in (1, 2))
    means = (
        pl.concat(sides)
        .group_by("run_no")
        .agg(
            n_runs=pl.col("score").count().cast(pl.Int64),
            mean_score=pl.col("score").mean(),
            min_score=pl.col("score").min(),
            max_score=pl.col("score").max(),
        )
    )
    runs = table.runs.select(*table.keys, "run", "run_no").join(means, on="run_no", how="left")
    rounded = pl.col("mean_score").round(12)
    worst_last = rounded if is_low_best else -rounded
    runs = runs.sort(*table.keys, worst_last, "run_no", nulls_last=True)
    place = pl.col("run_no").cum_count()
    place = (place.over(*table.keys) if table.keys else place).cast(pl.Int64)
    return runs.select(
        *table.keys,
        "run",
        pl.col("n_runs").fill_null(0),
        *("mean_score", "min_score", "max_score"),
        pl.when(pl.col("mean_score").is_not_null()).then(place).alias("rank"),
    )


# ----------------------------------------------------------------------------------------------
# A reference run
# ----------------------------------------------------------------------------------------------


def _check_reference(reference: object, dtype: pl.DataType) -> pl.Expr:
    """Return the reference run as a literal of `dtype`, the type of the column run."""
    if reference is None:
        raise ClusterEvalError(
            f"reference: expected a value of the type of run ({dtype}), got NULL"
        )
    return check_value_of("reference", reference, "run", dtype)


def _mark_reference(runs: pl.LazyFrame, reference: object) -> pl.LazyFrame:
    """Add is_reference to the runs. On collection, raise an error if no run is `reference`."""
    value = _check_reference(reference, runs.collect_schema()["run"])
    is_reference = pl.col("run") == value
    # The reference is sorted together with the runs, because lists and structs cannot be compared
    # by <.
    named = runs.select("run", is_given=pl.lit(False)).unique()
    given = pl.LazyFrame({"is_given": [True]}).select(run=value, is_given="is_given")
    listed = pl.concat([named, given]).sort("run", nulls_last=True)
    below, above = (pl.col("run").shift(n).filter("is_given").first() for n in (1, -1))
    counts = runs.select(n_runs=pl.len(), n_found=is_reference.sum())
    facts = counts.join(listed.select(below=below, above=above), how="cross")

    def refuse_unknown_run(facts: pl.DataFrame) -> None:
        """Raise an error if there are runs but none of them is the reference."""
        n_runs, n_found, *others = facts.row(0)
        if n_found or not n_runs:
            return
        near = [show_value(other) for other in others if other is not None]
        nearest = f"runs are {' and '.join(near)}" if len(near) > 1 else f"run is {near[0]}"
        raise ClusterEvalError(
            f"reference: run {show_value(reference)} not found; the nearest {nearest}"
        )

    return raise_on_collect(runs, facts, refuse_unknown_run).with_columns(is_reference=is_reference)


def _pair_with_reference(coded: pl.DataFrame) -> list[pl.LazyFrame]:
    """Return one frame that pairs each reference run with the other runs of its partition."""
    reference = coded.lazy().filter("is_reference").select("id_no", code_1="code")
    others = coded.lazy().filter(~pl.col("is_reference")).select("id_no", code_2="code")
    return [join_small(others, ["id_no"], reference).select("code_1", "code_2")]


def _best_jaccard(cells: pl.LazyFrame) -> pl.LazyFrame:
    """Return code, other_run_no and jaccard: a reference cluster's best match in another run.

    Cluster sizes are sums over cells, so they include only ids that are in both runs.
    """
    cells = cells.select(
        "n", code="code_1", other_code="code_2", other_run_no=pl.col("code_2") // _CODES_OF_RUN
    ).cache()
    sizes = cells.group_by("code", "other_run_no").agg(size=pl.col("n").sum())
    other_sizes = cells.group_by("other_code").agg(other_size=pl.col("n").sum())
    sized = cells.join(sizes, on=["code", "other_run_no"]).join(other_sizes, on="other_code")
    jaccard = ratio(pl.col("n"), pl.col("size") + pl.col("other_size") - pl.col("n"))
    return sized.group_by("code", "other_run_no").agg(jaccard=jaccard.max())


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------

_AGREEMENT = ("run_1", "run_2", "n", "n_only_1", "n_only_2", "score")
_CONSENSUS = ("run", "n_runs", "mean_score", "min_score", "max_score", "rank")
_STABILITY = (
    *("cluster", "n", "n_runs", "mean_jaccard", "min_jaccard"),
    *("recovered", "dissolved"),
)


@table_function("runs", guide="stability", order=("run_1", "run_2"), growth=PAIRS_OF_RUNS)
def run_agreement(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    run: Column,
    cluster: Column,
    *,
    metric: str = "adjusted_rand_score",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    require_same_ids: bool = False,
) -> Frame:
    """Agreement between every pair of runs, measured by an external metric on their common ids.

    In each pair, run_1 is the run that sorts first. The labels come from run_1, and the clusters
    come from run_2. The order of the runs matters for metrics that are not symmetric, such as
    homogeneity_score.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        One row per run and id. A LazyFrame is read when you collect the result.
    id, run, cluster : str or Expr
        The identifier of the clustered object, the identifier of the run, and the object's cluster
        in that run. These columns can have any groupable type. Rows with a NULL cluster are
        ignored.
    metric : str
        The name of a metric of external_report.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are evaluated separately. NULL is also a group.
    noise : object, optional
        The cluster value that marks noise in all runs.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        How noise is treated: as an ordinary cluster, as absent from the run, or as one cluster per
        row.
    average_method : {'arithmetic', 'geometric', 'min', 'max', 'joint'}
        How the two entropies are averaged in the normalized and adjusted mutual information.
    beta : float
        The nonnegative weight of recall in pair_f_score and bcubed_f_score, and of completeness in
        v_measure_score.
    require_same_ids : bool
        If True, an error is raised when two runs have different ids.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per pair of runs, sorted by partition and pair. The
        columns are the partition columns, run_1, run_2, n, n_only_1, n_only_2 and score. The count
        n is the number of ids in both runs, and n_only_1 and n_only_2 are the numbers of ids in
        only the first or only the second run. If two runs have no common ids, n is 0 and score is
        NULL. If there is only one run, the result is empty.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, if a run or an id is NULL, or if an id
        occurs twice in a run. An error is also raised if a partition has more than 1,000 runs with
        fewer than 10 rows on average, which are hardly clusterings, if ids differ while
        require_same_ids is True, if noise does not have the type of cluster, or if an option is
        unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.run_agreement(tbl, id, run, cluster)``.

    References
    ----------
    Hubert and Arabie (1985), Comparing partitions, doi:10.1007/BF01908075.

    Examples
    --------
    Runs 1 and 2 are the same clustering with different names:

    >>> runs = pl.DataFrame(
    ...     {
    ...         "run": [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3],
    ...         "id": [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3],
    ...         "cluster": [0, 0, 1, 1, 7, 7, 5, 5, 0, 1, 1],
    ...     }
    ... )
    >>> ce.run_agreement(runs, "id", "run", "cluster").rows()
    [(1, 2, 4, 0, 0, 1.0), (1, 3, 3, 1, 0, -0.5), (2, 3, 3, 1, 0, -0.5)]
    """
    score = score_of_metric(metric, average_method, beta)
    table = _read_runs(frame, {"run": run, "id": id, "cluster": cluster}, _AGREEMENT)
    pairs = _agree(table, score, require_same_ids=require_same_ids)
    return to_user_frame(frame, pairs.select(*table.keys, *_AGREEMENT), table.keys)


@table_function("runs", guide="stability", order=("rank",), growth=PAIRS_OF_RUNS)
def run_consensus(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    run: Column,
    cluster: Column,
    *,
    metric: str = "adjusted_rand_score",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    require_same_ids: bool = False,
) -> Frame:
    """Mean agreement of each run with all other runs, from the most to the least central run.

    The most central run has the highest mean score, or the lowest if lower values of the metric are
    better. Runs whose mean scores agree to 12 decimals are ranked by name.

    Parameters
    ----------
    metric : str
        The name of a metric of external_report that has a best value. In each pair of runs, the run
        that sorts first provides the labels.
    frame, id, run, cluster, partition_by, noise, noise_as, average_method : as in run_agreement
    beta, require_same_ids : as in run_agreement

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per run, sorted by partition and rank. The columns are
        the partition columns, run, n_runs, mean_score, min_score, max_score and rank. The column
        n_runs contains the number of other runs with which the run has a score, and mean_score,
        min_score and max_score summarize these scores. The most central run has rank 1. If there is
        no other run to compare with, the scores and the rank are NULL.

    Raises
    ------
    ClusterEvalError
        For the same reasons as run_agreement, and for a metric without a best value, such as
        joint_entropy.

    Notes
    -----
    In SQL: ``FROM clustereval.run_consensus(tbl, id, run, cluster)``.

    References
    ----------
    Strehl and Ghosh (2002), Cluster ensembles, JMLR 3:583-617.

    Examples
    --------
    Runs 1 and 2 agree, and run 1 is listed first because its name is lower:

    >>> runs = pl.DataFrame(
    ...     {
    ...         "run": [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3],
    ...         "id": [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4],
    ...         "cluster": [0, 0, 1, 1, 7, 7, 5, 5, 0, 1, 1, 1],
    ...     }
    ... )
    >>> ce.run_consensus(runs, "id", "run", "cluster").select("run", "mean_score", "rank").rows()
    [(1, 0.5, 1), (2, 0.5, 2), (3, 0.0, 3)]
    """
    score = score_of_metric(metric, average_method, beta)
    best = metric_facts()[metric].best
    if not best:
        raise ClusterEvalError(
            f"metric '{metric}' has no best value, so no run is the most central; "
            "use another metric"
        )
    table = _read_runs(frame, {"run": run, "id": id, "cluster": cluster}, _CONSENSUS)
    pairs = _agree(table, score, require_same_ids=require_same_ids)
    ranks = _rank_runs(table, pairs, is_low_best=best in ("0", "low"))
    return to_user_frame(frame, ranks, table.keys)


@table_function("runs and one of them", guide="stability", order=("cluster",))
def cluster_stability(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
    run: Column,
    cluster: Column,
    reference: Any,
    *,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Stability of each cluster of a reference run, measured by its best matches in other runs.

    The best match is the cluster with the highest Jaccard index. The Jaccard index of two clusters
    is the number of ids in both clusters, divided by the number of ids in at least one of them.
    Only ids that are in both runs are counted.

    Parameters
    ----------
    reference : object
        The run whose clusters are evaluated, as a value of the column run.
    frame, id, run, cluster, partition_by, noise, noise_as : as in run_agreement

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per cluster of the reference run, sorted by partition and
        cluster. The columns are the partition columns, cluster, n, n_runs, mean_jaccard,
        min_jaccard, recovered and dissolved. The size n is the number of rows in the cluster, and
        n_runs is the number of other runs that contain some of its ids. The columns mean_jaccard
        and min_jaccard summarize the cluster's best Jaccard indices in these runs. The column
        recovered is the share of these runs in which the best index is above 0.75, and dissolved is
        the share in which it is below 0.5. If n_runs is 0, the last four columns are NULL. Noise
        that counts as singletons is not listed, nor are partitions without the reference run.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, if a run or an id is NULL, or if an id
        occurs twice in a run. An error is also raised if the run `reference` does not exist, if a
        partition has more than 1,000 runs with fewer than 10 rows on average, if noise does not
        have the type of cluster, or if noise_as is unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.cluster_stability(tbl, id, run, cluster, reference)``.

    References
    ----------
    Hennig (2007), Cluster-wise assessment of cluster stability, doi:10.1016/j.csda.2006.11.025.

    Examples
    --------
    Cluster 0 is half of cluster 5 in run 2, and id 4 is not in that run:

    >>> runs = pl.DataFrame(
    ...     {
    ...         "run": [1, 1, 1, 1, 2, 2, 2],
    ...         "id": [1, 2, 3, 4, 1, 2, 3],
    ...         "cluster": [0, 1, 1, 2, 5, 5, 6],
    ...     }
    ... )
    >>> stability = ce.cluster_stability(runs, "id", "run", "cluster", reference=1)
    >>> stability.select("cluster", "n", "n_runs", "mean_jaccard").rows()
    [(0, 1, 1, 0.5), (1, 2, 1, 0.5), (2, 1, 0, None)]
    """
    table = _read_runs(frame, {"run": run, "id": id, "cluster": cluster}, _STABILITY)
    _check_reference(reference, table.rows.collect_schema()["run"])
    table = replace(table, reference=reference)
    jaccard = pl.col("jaccard")
    found = (
        _best_jaccard(table.count_cells(_pair_with_reference))
        .group_by("code")
        .agg(
            n_runs=pl.len().cast(pl.Int64),
            mean_jaccard=jaccard.mean(),
            min_jaccard=jaccard.min(),
            recovered=(jaccard > _RECOVERED).mean(),
            dissolved=(jaccard < _DISSOLVED).mean(),
        )
    )
    clusters = table.coded_clusters.filter(pl.col("is_reference") & ~pl.col("is_singleton"))
    stability = clusters.join(found, on="code", how="left").sort("code")
    stability = stability.with_columns(pl.col("n_runs").fill_null(0))
    return to_user_frame(frame, stability.select(*table.keys, *_STABILITY), table.keys)


# A cluster is recovered if its best Jaccard index is above the first number, and dissolved if it is
# below the second.
_RECOVERED, _DISSOLVED = 0.75, 0.5
