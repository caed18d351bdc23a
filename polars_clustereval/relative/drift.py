"""A one-row summary of the changes from one run to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from polars_clustereval.base.checks import check_choice
from polars_clustereval.base.exact import (
    PLACES_OF_SHARES,
    from_fixed_point,
    log_ratio,
    ratio,
    to_fixed_point,
    widen,
)
from polars_clustereval.base.frames import (
    aggregate_by,
    join_partitions,
    join_small,
    sum_by,
    to_user_frame,
)
from polars_clustereval.base.tables import table_function
from polars_clustereval.external.contingency import ContingencyTable
from polars_clustereval.external.report import external_scores, score_partitions

from .run_pairs import RunPair, read_run_pair
from .transitions import count_companions, transition_sides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

MatchSizesBy = Literal["ids", "names"]

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def _drift_counts(pair: RunPair) -> pl.LazyFrame:
    """Return the counts of ids (n_before, n_after, n_common and n_moved) for each partition."""
    n, zero = pl.col("n"), pl.lit(0, pl.Int64)
    rows = {
        "n_before": pl.col("in_before"),
        "n_after": pl.col("in_after"),
        "n_common": pl.col("in_before") & pl.col("in_after"),
        "n_moved": pl.col("is_moved"),
    }
    cells = pair.join_overlaps().filter(pl.col("in_before") | pl.col("in_after"))
    terms = {name: pl.when(counts).then(n).otherwise(zero) for name, counts in rows.items()}
    return sum_by(cells, list(pair.keys), terms).cache()


_COUNTED = ("kept", "grown", "shrunk", "split", "merged", "gone", "new")


def _transition_counts(pair: RunPair) -> pl.LazyFrame:
    """Return the number of clusters in each run and with each transition, for each partition.

    A split or merged cluster is counted once, and its parts or sources are not counted.
    """
    kind = pl.col("kind")
    is_own_row = ~kind.is_in(["part", "source"])
    counted = {
        "n_clusters_before": kind.is_in(["match", "source", "split", "gone"]),
        "n_clusters_after": kind.is_in(["match", "part", "merged", "new"]),
        **{f"n_{word}": (pl.col("transition") == word) & is_own_row for word in _COUNTED},
        "n_ambiguous": pl.col("ambiguity").is_not_null(),
    }
    terms = {name: rows.cast(pl.Int64) for name, rows in counted.items()}
    return sum_by(transition_sides(pair), list(pair.keys), terms)


def _score_agreement(pair: RunPair) -> pl.LazyFrame:
    """Return the scores listed in _SCORES for each partition in which the runs share ids."""
    one, zero = pl.lit(1, pl.Int64), pl.lit(0, pl.Int64)
    sides = {"label": ("before", "old"), "cluster": ("after", "new")}
    if pair.options.noise_as == "singletons":
        values = {
            name: pl.struct(run, id=pl.when(pl.col(tracked).is_null()).then("singleton_id"))
            for name, (run, tracked) in sides.items()
        }
    else:
        values = {name: pl.col(run) for name, (run, _) in sides.items()}
    common = pair.cells.filter(pl.col("in_before") & pl.col("in_after"))
    groups = common.select(*pair.keys, "n", **values, copies=one, n_dropped=zero, n_noise=zero)
    table = ContingencyTable(groups, pair.keys).cache_groups()
    scores = external_scores("arithmetic", 1.0, adjusted=True)
    named = {name: scores[name] for name in _SCORES}
    return score_partitions(table, named, adjusted=True).select(*pair.keys, *_SCORES)


def _continued_clusters(pair: RunPair) -> pl.LazyFrame:
    """Return the linked pairs of clusters, `match` and `new`, that continue each other.

    Each of the two shares more ids with the other than with any other cluster that is linked to it.
    Equal numbers are ranked by the size of the cluster, then the lowest cluster is chosen.
    """
    number = pl.int_range(1, pl.len() + 1)
    by_old = [-pl.col("n"), -pl.col("n_after"), "new"]
    by_new = [-pl.col("n"), -pl.col("n_before"), "old"]
    ranked = pair.overlaps.filter("is_link").select(
        *pair.keys,
        "new",
        match="old",
        old_rank=number.over(*pair.keys, "old", order_by=by_old),
        new_rank=number.over(*pair.keys, "new", order_by=by_new),
    )
    return ranked.filter((pl.col("old_rank") == 1) & (pl.col("new_rank") == 1))


def _size_stability(
    pair: RunPair, counts: pl.LazyFrame, match_sizes_by: MatchSizesBy
) -> pl.LazyFrame:
    """Return population_stability_index for each partition, or NULL if a run is empty."""
    keys, zero = list(pair.keys), pl.lit(0, pl.Int64)
    before = pair.cells.filter("in_before").select(
        *keys, name="before", rows_before="n", rows_after=zero
    )
    after = pair.cells.filter("in_after")
    named = {"name": pl.col("after")}
    if match_sizes_by == "ids":
        # A new cluster has the name of the old cluster that it continues, or a name of its own.
        # Noise that is not tracked keeps its name.
        after = join_small(after, [*keys, "new"], _continued_clusters(pair), how="left")
        tracked, match = pl.col("new").is_not_null(), pl.col("match")
        named = {
            "name": pl.when(tracked).then(match).otherwise("after"),
            "new": pl.when(tracked & match.is_null()).then("new"),
        }
    after = after.select(*keys, **named, rows_before=zero, rows_after="n")
    names = pl.concat([before, after], how="diagonal")
    names = names.group_by(*keys, *named).agg(pl.col("^rows_.*$").sum())
    names = join_partitions(names, keys, counts)
    # A name's term is (p - q) ln(p / q), where p and q are its shares of the rows in the two runs.
    # p - q is a quotient of exact integers, in half rows, because half a row stands for no rows.
    half_rows = (
        widen(pl.max_horizontal(2 * pl.col(f"rows_{run}"), pl.lit(1)))
        for run in ("before", "after")
    )
    n_before, n_after = widen(pl.col("n_before")), widen(pl.col("n_after"))
    x, y = (half * total for half, total in zip(half_rows, (n_after, n_before), strict=True))
    term = to_fixed_point(ratio(x - y, 2 * n_before * n_after) * log_ratio(x, y), PLACES_OF_SHARES)
    is_defined = (pl.col("n_before") > 0) & (pl.col("n_after") > 0)
    index = pl.when(is_defined).then(from_fixed_point(pl.col("term"), PLACES_OF_SHARES))
    sums = aggregate_by(
        names.select(*keys, "n_before", "n_after", term=term),
        keys,
        {"term": pl.col("term").sum(), **{x: pl.col(x).min() for x in ("n_before", "n_after")}},
    )
    return sums.select(*keys, population_stability_index=index)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------

_SCORES = ("adjusted_rand_score", "adjusted_mutual_info_score", "variation_of_information")
_COUNTS_OF_CLUSTERS = (
    *("n_clusters_before", "n_clusters_after"),
    *(f"n_{word}" for word in _COUNTED),
    "n_ambiguous",
)
_DRIFT = (
    *("n_before", "n_after", "n_common", "n_moved", "n_left", "n_joined", "n_affected"),
    *("moved_rate", "left_rate", "joined_rate", "churn"),
    *_COUNTS_OF_CLUSTERS,
    *_SCORES,
    "population_stability_index",
)


def _rates() -> dict[str, pl.Expr]:
    """Return n_left, n_joined, churn and the rates."""
    before, after, common, moved = map(pl.col, ("n_before", "n_after", "n_common", "n_moved"))
    left, joined = before - common, after - common
    return {
        "n_left": left,
        "n_joined": joined,
        "moved_rate": ratio(moved, common),
        "left_rate": ratio(left, before),
        "joined_rate": ratio(joined, after),
        "churn": ratio(left + joined + moved, before + joined),
    }


@table_function("two runs", guide="transitions")
def run_drift(
    frame_before: Frame,
    frame_after: pl.DataFrame | pl.LazyFrame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    *,
    threshold: float = 0.5,
    min_share: float = 0.0,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    match_sizes_by: MatchSizesBy = "ids",
    metrics: Sequence[str] | None = None,
) -> Frame:
    """A summary of the changes in ids, clusters and cluster sizes from one run to the next.

    Parameters
    ----------
    frame_before, frame_after, id, cluster, threshold, min_share : as in run_transitions
    partition_by, noise, noise_as : as in run_transitions
    match_sizes_by : {'ids', 'names'}
        The clusters whose sizes population_stability_index compares. With 'ids', a cluster is
        compared with the cluster that continues it, whatever its name. With 'names', it is compared
        with the cluster of the same name, which is useful only if clusters keep their names.
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Computations that are needed only for other columns are skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame_before`, with one row per partition, sorted by partition. The columns
        are the partition columns and the following:

        * n_before, n_after and n_common are the numbers of ids in the earlier run, in the later run
          and in both runs, respectively.
        * n_moved, n_left and n_joined are the numbers of ids that have moved, left and joined,
          respectively (see moved_ids).
        * n_affected is the number of ids whose companions (the other ids in their cluster) have
          changed (see affected_ids). It counts the ids of a split cluster, of which none may have
          moved.
        * moved_rate (range [0, 1], best low) is n_moved / n_common.
        * left_rate (range [0, 1]) is n_left / n_before.
        * joined_rate (range [0, 1]) is n_joined / n_after.
        * churn (range [0, 1], best low) is the share of the ids in either run that have moved, left
          or joined.
        * n_clusters_before and n_clusters_after are the numbers of clusters in the two runs.
        * n_kept, n_grown, n_shrunk, n_split, n_merged, n_gone and n_new are the numbers of clusters
          with the corresponding transition. A split or merged cluster is counted once.
        * n_ambiguous is the number of ambiguous transitions, that is, rows of run_transitions in
          which ambiguity is not NULL.
        * adjusted_rand_score, adjusted_mutual_info_score and variation_of_information are computed
          from the ids in both runs.
        * population_stability_index (range [0, inf), best 0) is the sum of (p - q) ln(p / q) over
          all clusters, where p and q are the cluster's shares of the rows in the two runs. A
          cluster that has no counterpart in the other run counts as half a row in that run.

        Rates, scores and the index are NULL if they would require a division by 0. If there are no
        rows, all counts are 0; with partition_by, the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as run_transitions.

    Notes
    -----
    For the population stability index, two linked clusters continue each other if each of them
    shares more ids with the other than with any other cluster that is linked to it. If these
    numbers are equal, the larger of the other clusters is chosen, and then the lowest. All other
    clusters have no counterpart, such as the smaller part of a split cluster. Noise rows that count
    as singletons are compared with each other, as one cluster. By convention, a value below 0.1
    indicates stable sizes, and a value above 0.25 indicates a major change.
    In SQL: ``FROM clustereval.run_drift(tbl_before, tbl_after, id, cluster)``.

    References
    ----------
    Yurdakul and Naranjo (2020), Statistical properties of the population stability index,
    doi:10.21314/JRMV.2020.227.

    Examples
    --------
    One of seven ids has joined, and none has moved:

    >>> before = pl.DataFrame({"id": [1, 2, 3, 4, 5, 6], "cluster": ["a", "a", "b", "b", "b", "b"]})
    >>> after = pl.DataFrame({"id": [1, 2, 3, 4, 5, 6, 7], "cluster": [*"xxyyzz", "x"]})
    >>> drift = ce.run_drift(before, after, "id", "cluster")
    >>> drift.select("n_common", "n_moved", "n_joined", "churn", "n_grown", "n_split").rows()
    [(6, 0, 1, 0.14285714285714285, 1, 1)]
    """
    check_choice("match_sizes_by", match_sizes_by, get_args(MatchSizesBy))
    pair = read_run_pair((frame_before, frame_after), {"id": id, "cluster": cluster}, _DRIFT)
    keys = list(pair.keys)
    counts = _drift_counts(pair)
    stability = _size_stability(pair, counts, match_sizes_by)
    affected = sum_by(count_companions(pair), keys, {"n_affected": pl.col("n")})
    parts = (affected, _transition_counts(pair), _score_agreement(pair), stability)
    drift = join_partitions(counts, keys, *parts, how="left").with_columns(
        pl.col("n_affected", *_COUNTS_OF_CLUSTERS).fill_null(0), **_rates()
    )
    drift = drift.sort(keys, nulls_last=True) if keys else drift
    return to_user_frame(frame_before, drift.select(*keys, *_DRIFT), pair.keys, metrics)
