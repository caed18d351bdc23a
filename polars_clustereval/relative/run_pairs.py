"""Two runs on the same ids, for instance from two nights, and the links between their clusters.

The two runs, called before (the earlier run) and after (the later run), are frames with the same
columns and one row per id. If a row has no cluster or is dropped as noise, its id counts as absent
from the run. An id that is only in the earlier run has left, and an id that is only in the later
run has joined. If noise rows count as singletons, each noise row is a cluster that is not tracked.

All shares are computed from the ids that are in both runs. Two clusters are linked if their common
ids make up at least the share `threshold` of one or both clusters. A link counts for a cluster if
the common ids make up at least the share `min_share` of that cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import (
    Column,
    check_column_names,
    check_groupable,
    check_is_frame,
    check_noise_as,
    check_noise_value,
    check_partition_keys,
    equals_noise,
    is_number,
    key_columns,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.exact import ratio
from polars_clustereval.base.frames import align_structs, join_small, only_value
from polars_clustereval.base.tables import pass_arguments_to
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.external.contingency import LabelOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

# ----------------------------------------------------------------------------------------------
# Options
# ----------------------------------------------------------------------------------------------


def _check_link_options(threshold: float = 1.0, min_share: float = 0.0) -> tuple[float, float]:
    """Return the options; check 0 < threshold <= 1 and 0 <= min_share <= threshold."""
    if not (is_number(threshold) and 0 < threshold <= 1):
        raise ClusterEvalError(
            f"threshold: expected a number above 0 and at most 1, got {show_value(threshold)}"
        )
    if not (is_number(min_share) and 0 <= min_share <= threshold):
        raise ClusterEvalError(
            f"min_share: expected a number from 0 to the threshold, got {show_value(min_share)}"
        )
    return threshold, min_share


def _read_run(
    frame: pl.LazyFrame, parameter: str, columns: dict[str, Column], keys: dict[str, str]
) -> pl.LazyFrame:
    """Return id and cluster of a run's rows that have a cluster; `parameter` is its parameter."""
    try:
        check_column_names(list(keys.values()), "partition_by", frame.collect_schema().names())
        values = [check_groupable(frame, column, name) for name, column in columns.items()]
    except ClusterEvalError as error:
        raise ClusterEvalError(f"{parameter}: {error}") from None
    return frame.select(*key_columns(keys), *values).filter(pl.col("cluster").is_not_null())


def _check_same_types(before: pl.LazyFrame, after: pl.LazyFrame, keys: dict[str, str]) -> None:
    """Raise an error if a column does not have the same type in both runs."""
    types, others = before.collect_schema(), after.collect_schema()
    for name, dtype in types.items():
        if others[name] != dtype:
            parameter = "partition_by" if name in keys else name
            raise ClusterEvalError(
                f"{parameter}: expected the same type in both runs, got {dtype} before and "
                f"{others[name]} after; cast one of them"
            )


# ----------------------------------------------------------------------------------------------
# Ids and cells
# ----------------------------------------------------------------------------------------------


def _pair_ids(before: pl.LazyFrame, after: pl.LazyFrame, keys: dict[str, str]) -> pl.LazyFrame:
    """Return one row per id of either run, with its clusters before and after, NULL if absent.

    The columns times_before and times_after contain the number of rows of the id in each run. The
    runs are concatenated and grouped by id instead of being joined, which reveals repeated ids.
    """
    dtype = before.collect_schema()["cluster"]
    nothing = pl.lit(None, dtype)
    stacked = pl.concat(
        [
            before.select(*keys, "id", before="cluster", after=nothing),
            after.select(*keys, "id", before=nothing, after="cluster"),
        ]
    )
    return stacked.group_by(*keys, "id").agg(
        before=only_value("before", dtype),
        after=only_value("after", dtype),
        times_before=pl.col("before").count(),
        times_after=pl.col("after").count(),
    )


def _fault_terms(dtype: pl.DataType) -> dict[str, pl.Expr]:
    """Return null_* (rows without an id) and twice_* (a repeated id) of both runs for _pair_ids."""
    terms = {}
    for run in ("before", "after"):
        times, missing = pl.col(f"times_{run}"), pl.col("id").is_null()
        terms[f"null_{run}"] = pl.when(missing).then(times.cast(pl.Int64)).otherwise(0)
        terms[f"twice_{run}"] = pl.when(times > 1).then("id").cast(dtype)
    return terms


def _summarize_faults(dtype: pl.DataType) -> dict[str, pl.Expr]:
    """Return aggregates of the columns of _fault_terms: sums, and the smallest repeated id."""
    lowest = {
        name: pl.col(name).drop_nulls().first() if dtype.is_nested() else pl.col(name).min()
        for name in ("twice_before", "twice_after")
    }
    return {name: pl.col(name).sum() for name in ("null_before", "null_after")} | lowest


def _check_ids(facts: pl.DataFrame) -> None:
    """Raise an error if the one-row frame `facts` shows NULL ids or repeated ids in a run."""
    row = facts.row(0, named=True)
    for run in ("before", "after"):
        if row[f"null_{run}"]:
            raise ClusterEvalError(
                f"id: expected a value in every row, got NULL in {row[f'null_{run}']} rows "
                f"of the run {run}"
            )
    for run in ("before", "after"):
        if row[f"twice_{run}"] is not None:
            raise ClusterEvalError(
                "id: expected one row per id in a run, got several rows of id "
                f"{show_value(row[f'twice_{run}'])} in the run {run}"
            )


@dataclass(frozen=True)
class RunPair:
    """Two runs on the same ids (see _pair_ids), and the frames that are computed from them."""

    ids: pl.LazyFrame
    keys: dict[str, str]
    options: LabelOptions
    threshold: float
    min_share: float

    @cached_property
    def cells(self) -> pl.LazyFrame:
        """One row per combination of clusters before and after, with its number of ids n.

        The flags in_before and in_after tell whether the ids are in the run and not dropped as
        noise. The columns old and new contain the clusters that are tracked. The column
        singleton_id contains the id if either cluster is a singleton.
        """
        noise_as, schema = self.options.noise_as, self.ids.collect_schema()
        noisy = {
            run: equals_noise(pl.col(run), self.options.noise, schema[run])
            for run in ("before", "after")
        }
        dtype = schema["id"]
        is_singleton = pl.lit(noise_as == "singletons") & (noisy["before"] | noisy["after"])
        rows = self.ids.with_columns(
            singleton_id=pl.when(is_singleton).then("id"), **_fault_terms(dtype)
        )
        by = [*self.keys, "before", "after"]
        # Hashing a key that is NULL in all rows would be a waste of time.
        by += ["singleton_id"] if noise_as == "singletons" else []
        groups = rows.group_by(by).agg(n=pl.len().cast(pl.Int64), **_summarize_faults(dtype))
        groups = groups.cache()
        groups = raise_on_collect(groups, groups.select(**_summarize_faults(dtype)), _check_ids)
        if noise_as != "singletons":
            groups = groups.with_columns(singleton_id=pl.lit(None, dtype))
        flags = {}
        for run, tracked in (("before", "old"), ("after", "new")):
            is_dropped = noisy[run] & (noise_as == "drop")
            flags[f"in_{run}"] = pl.col(run).is_not_null() & ~is_dropped
            flags[tracked] = pl.when(~(noisy[run] & (noise_as != "cluster"))).then(run)
        columns = [*self.keys, "before", "after", "singleton_id", "n"]
        return groups.select(*columns, **flags).cache()

    @cached_property
    def old_clusters(self) -> pl.LazyFrame:
        """One row per cluster `old`, with its ids n_before, of which n_left and stayed_before."""
        return self._sum_clusters("old", "in_after", ("n_before", "n_left", "stayed_before"))

    @cached_property
    def new_clusters(self) -> pl.LazyFrame:
        """One row per cluster `new`, with its ids n_after, of which n_joined and stayed_after."""
        return self._sum_clusters("new", "in_before", ("n_after", "n_joined", "stayed_after"))

    def _sum_clusters(self, cluster: str, in_other: str, names: Sequence[str]) -> pl.LazyFrame:
        """Return one row per value of `cluster`, with three counts, which are called `names`.

        The counts are all ids, the ids that are only in this run, and the ids that are in both.
        """
        n, stayed = pl.col("n"), pl.col(in_other)
        terms = (n, pl.when(stayed).then(0).otherwise(n), pl.when(stayed).then(n).otherwise(0))
        sums = {name: term.sum() for name, term in zip(names, terms, strict=True)}
        tracked = self.cells.filter(pl.col(cluster).is_not_null())
        return tracked.group_by(*self.keys, cluster).agg(**sums).cache()

    @cached_property
    def overlaps(self) -> pl.LazyFrame:
        """One row per pair of tracked clusters that share n ids, with share_before and share_after.

        The other columns are is_link and those of old_clusters and new_clusters.
        """
        pairs = self.cells.filter(pl.col("old").is_not_null() & pl.col("new").is_not_null())
        pairs = pairs.select(*self.keys, "old", "new", "n")
        pairs = join_small(pairs, [*self.keys, "old"], self.old_clusters)
        pairs = join_small(pairs, [*self.keys, "new"], self.new_clusters)
        shares = {run: ratio(pl.col("n"), pl.col(f"stayed_{run}")) for run in ("before", "after")}
        pairs = pairs.with_columns(**{f"share_{run}": x for run, x in shares.items()})
        greater = pl.max_horizontal("share_before", "share_after")
        return pairs.with_columns(is_link=greater >= self.threshold).cache()

    def join_overlaps(self) -> pl.LazyFrame:
        """Return `cells` with is_moved, which marks ids in both runs whose clusters are not linked.

        An id that is a singleton in both runs has not moved.
        """
        links = self.overlaps.select(*self.keys, "old", "new", "is_link")
        cells = join_small(self.cells, [*self.keys, "old", "new"], links, how="left")
        in_both = pl.col("in_before") & pl.col("in_after")
        untracked = pl.col("old").is_null() & pl.col("new").is_null()
        is_link = pl.col("is_link").fill_null(False)
        return cells.with_columns(is_moved=in_both & ~is_link & ~untracked)


def read_run_pair(
    frames: tuple[object, object], columns: dict[str, Column], results: Sequence[str]
) -> RunPair:
    """Check the user's frames and columns and the options of the call, and return the two runs."""
    options = pass_arguments_to(LabelOptions)
    shares = pass_arguments_to(_check_link_options)
    check_noise_as(options.noise, options.noise_as)
    parameters = ("frame_before", "frame_after")
    lazy = [check_is_frame(frame, name) for frame, name in zip(frames, parameters, strict=True)]
    keys = check_partition_keys(lazy[0], options.partition_by, results)
    before, after = (
        _read_run(run, name, columns, keys) for run, name in zip(lazy, parameters, strict=True)
    )
    after = align_structs(after, before.collect_schema())
    _check_same_types(before, after, keys)
    if options.noise is not None:
        check_noise_value(options.noise, before.collect_schema()["cluster"])
    return RunPair(_pair_ids(before, after, keys), keys, options, *shares)
