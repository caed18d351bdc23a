"""The fate of clusters from one run to the next, for instance between two nights.

The module run_pairs decides which clusters of the two runs are linked. If two clusters are linked
only to each other, they are treated as one cluster that persists. A cluster with several links is
split or merged, and a cluster without links is gone or new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.exact import ratio
from polars_clustereval.base.frames import join_small, to_user_frame
from polars_clustereval.base.tables import table_function

from .run_pairs import RunPair, read_run_pair

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

# ----------------------------------------------------------------------------------------------
# Transitions
# ----------------------------------------------------------------------------------------------

# The columns of both sides of each row; see transition_sides.
_SIDES = (
    *("old", "new", "kind", "n_old", "n_new", "n_before", "n_after", "n", "n_left", "n_joined"),
    *("stayed_before", "stayed_after", "is_both"),
)
# The columns with numbers of ids of the clusters of each run.
_IDS_BEFORE = ("n_before", "n_left", "stayed_before")
_IDS_AFTER = ("n_after", "n_joined", "stayed_after")


def _count_links(pair: RunPair) -> pl.LazyFrame:
    """Return the links of `pair.overlaps` with the links of each cluster, n_parts and n_sources.

    The flags counts_before and counts_after tell for which of its two clusters a link counts.
    """
    least = pair.min_share
    links = pair.overlaps.filter("is_link").with_columns(
        counts_before=pl.col("share_before") >= least, counts_after=pl.col("share_after") >= least
    )
    n_parts = pl.col("counts_before").sum().cast(pl.Int64)
    n_sources = pl.col("counts_after").sum().cast(pl.Int64)
    return links.with_columns(
        n_parts=n_parts.over(*pair.keys, "old"), n_sources=n_sources.over(*pair.keys, "new")
    ).cache()


def _linked_pairs(pair: RunPair, links: pl.LazyFrame) -> pl.LazyFrame:
    """Return the linked pairs that have their own rows in transition_sides.

    A row of the kind `match` represents both clusters of a pair, a `part` represents the new
    cluster, and a `source` represents the old cluster.
    """
    only_of_old = pl.col("counts_before") & (pl.col("n_parts") == 1)
    only_of_new = pl.col("counts_after") & (pl.col("n_sources") == 1)
    one = pl.lit(1, pl.Int64)
    kind = (
        pl.when(only_of_old & only_of_new)
        .then(pl.lit("match"))
        .when(only_of_new)
        .then(pl.lit("part"))
        .when(only_of_old)
        .then(pl.lit("source"))
    )
    pairs = links.with_columns(kind=kind, n_old=one, n_new=one, is_both=pl.lit(False))
    return pairs.filter(pl.col("kind").is_not_null()).select(*pair.keys, *_SIDES)


def _clusters_without_match(pair: RunPair, links: pl.LazyFrame, own: str) -> pl.LazyFrame:
    """Return the rows of transition_sides for `own` ("old" or "new") clusters without a match."""
    if own == "old":
        other, clusters, linked = "new", pair.old_clusters, links.filter("counts_before")
        several, none, most, ids = "split", "gone", "n_sources", _IDS_AFTER
    else:
        other, clusters, linked = "old", pair.new_clusters, links.filter("counts_after")
        several, none, most, ids = "merged", "new", "n_parts", _IDS_BEFORE
    by = [*pair.keys, own]
    sums = linked.group_by(by).agg(
        pl.col("n", *ids).sum(),
        pl.len().cast(pl.Int64).alias(f"n_{other}"),
        is_both=(pl.col(most) > 1).any(),
    )
    n_other = pl.col(f"n_{other}").fill_null(0)
    kind = pl.when(n_other > 1).then(pl.lit(several)).otherwise(pl.lit(none))
    rows = join_small(clusters, by, sums, how="left").filter(n_other != 1)
    rows = rows.with_columns(
        pl.col("n", *ids, f"n_{other}").fill_null(0),
        pl.col("is_both").fill_null(False),
        pl.lit(1, pl.Int64).alias(f"n_{own}"),
        pl.lit(None, clusters.collect_schema()[own]).alias(other),
        kind=kind,
    )
    return rows.select(*pair.keys, *_SIDES)


def _transition_of_kind() -> pl.Expr:
    """Return the transition of a kind; a match is kept, grown or shrunk."""
    kind, n_before, n_after = pl.col("kind"), pl.col("n_before"), pl.col("n_after")
    return (
        pl.when(kind == "part")
        .then(pl.lit("split"))
        .when(kind == "source")
        .then(pl.lit("merged"))
        .when(kind != "match")
        .then(kind)
        .when(n_after > n_before)
        .then(pl.lit("grown"))
        .when(n_after < n_before)
        .then(pl.lit("shrunk"))
        .otherwise(pl.lit("kept"))
    )


def transition_sides(pair: RunPair) -> pl.LazyFrame:
    """Return the unsorted rows of run_transitions, each with old and new clusters on its two sides.

    The columns old and new contain the only cluster of a side, or NULL, and n_old and n_new contain
    its number of clusters. The kind is match, part, source, split, merged, gone or new. The flag
    is_both tells whether a part of a split cluster is itself merged, or a source of a merged
    cluster is itself split. The counts of ids are summed over each side.
    """
    links = _count_links(pair)
    unmatched = (_clusters_without_match(pair, links, own) for own in ("old", "new"))
    sides = pl.concat([_linked_pairs(pair, links), *unmatched]).with_columns(
        share_before=ratio(pl.col("n"), pl.col("stayed_before")),
        share_after=ratio(pl.col("n"), pl.col("stayed_after")),
    )
    threshold, kind = pair.threshold, pl.col("kind")
    of_old = kind.is_in(["match", "source", "split", "gone"])
    of_new = kind.is_in(["match", "part", "merged", "new"])
    ambiguity = (
        pl.when("is_both")
        .then(pl.lit("split and merged"))
        .when(of_old & (pl.col("share_before") < threshold))
        .then(pl.lit("scattered"))
        .when(of_new & (pl.col("share_after") < threshold))
        .then(pl.lit("gathered"))
    )
    return sides.with_columns(transition=_transition_of_kind(), ambiguity=ambiguity)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------

_CLUSTERS = {"cluster_before": "old", "cluster_after": "new"}
_TRANSITIONS = {
    **_CLUSTERS,
    "transition": "transition",
    "ambiguity": "ambiguity",
    "n_before": "n_before",
    "n_after": "n_after",
    "n_common": "n",
    "n_left": "n_left",
    "n_joined": "n_joined",
    "n_clusters_before": "n_old",
    "n_clusters_after": "n_new",
    "share_before": "share_before",
    "share_after": "share_after",
}
_OVERLAPS = {
    **_CLUSTERS,
    "n_before": "n_before",
    "n_after": "n_after",
    "n_common": "n",
    "share_before": "share_before",
    "share_after": "share_after",
    "jaccard": "jaccard",
    "is_link": "is_link",
}
_MOVES = ("id", "cluster_before", "cluster_after")
_AFFECTED = (*_MOVES, "n_kept", "n_lost", "n_gained")


@table_function(
    "two runs", guide="transitions", order=("cluster_before", "cluster_after"), is_portable=True
)
def run_transitions(
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
) -> Frame:
    """The fate of each cluster from one run to the next, such as kept, split, merged or gone.

    If two clusters are linked only to each other, they count as one cluster that is kept, grown or
    shrunk, depending on how its number of ids changes. An old cluster with several links is split
    into the linked clusters, and a new cluster with several links is merged from the linked
    clusters. An old cluster without links is gone, and a new cluster without links is new.

    Parameters
    ----------
    frame_before, frame_after : DataFrame or LazyFrame
        The earlier run and the later run, each with one row per id. A LazyFrame is read when you
        collect the result.
    id, cluster : str or Expr
        The identifier of the clustered object and the object's cluster, of any groupable type. Both
        frames must have these columns, with the same types. Rows with a NULL cluster are ignored.
    threshold : float
        Two clusters are linked if their common ids make up at least this share of one of the two
        clusters. Only ids that are in both runs are counted. The threshold must be above 0 and at
        most 1.
    min_share : float
        A link counts for a cluster if the common ids are at least this share of its ids.
        With 0.1, a split cluster's parts and a merged cluster's sources are ignored if they contain
        less than a tenth of the cluster's ids. The share must be at least 0 and at most the
        threshold.
    partition_by : str, Expr or sequence of these, optional
        Columns in both frames that define groups to be evaluated separately. NULL is also a group.
    noise : object, optional
        The cluster value that marks noise in both runs.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        How noise is treated: as an ordinary cluster, as absent from the run, or as one cluster per
        row. With 'singletons', the clusters of noise rows are not listed in the result.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame_before`, with one row per cluster of either run, sorted by partition and
        cluster. A cluster that was kept, grew or shrank has a single row that covers both runs. A
        split cluster has one row in which cluster_after is NULL, plus one row with both clusters
        for each of its parts. A merged cluster has one row in which cluster_before is NULL, plus
        one row with both clusters for each of its sources. The columns are the partition columns,
        cluster_before, cluster_after and the following:

        * transition is kept, grown, shrunk, split, merged, gone or new.
        * ambiguity is the reason to doubt the transition, or NULL if there is none. The reasons are
          'split and merged', 'scattered' and 'gathered'. A row is scattered if the share of the old
          cluster's ids that are in the row's new clusters is below the threshold. A row is gathered
          if the share of the new cluster's ids that are in the row's old clusters is below the
          threshold. The row of a part is never scattered, and the row of a source is never
          gathered.
        * n_before and n_after are the numbers of ids in the row's old clusters and new clusters,
          respectively.
        * n_common is the number of ids that the row's old and new clusters have in common.
        * n_left and n_joined are the numbers of the row's ids that are only in the earlier run or
          only in the later run, respectively.
        * n_clusters_before and n_clusters_after are the numbers of old and new clusters in the row.
        * share_before and share_after are n_common divided by the number of ids in the row's old
          clusters and new clusters, respectively. Only ids that are in both runs are counted, and a
          share is NULL if there are none.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, cannot be grouped, or has different types in the two frames, or
        if an id is NULL or occurs twice in a run. An error is also raised if noise is not a value
        of the type of cluster, or if an option is unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.run_transitions(tbl_before, tbl_after, id, cluster)``.

    References
    ----------
    Spiliopoulou, Ntoutsi, Theodoridis and Schult (2006), MONIC: modeling and monitoring cluster
    transitions, doi:10.1145/1150402.1150491.

    Examples
    --------
    Cluster a has grown under another name, and b is split:

    >>> before = pl.DataFrame({"id": [1, 2, 3, 4, 5, 6], "cluster": ["a", "a", "b", "b", "b", "b"]})
    >>> after = pl.DataFrame({"id": [1, 2, 3, 4, 5, 6, 7], "cluster": [*"xxyyzz", "x"]})
    >>> transitions = ce.run_transitions(before, after, "id", "cluster")
    >>> transitions.select("cluster_before", "cluster_after", "transition").rows()
    [('a', 'x', 'grown'), ('b', None, 'split'), ('b', 'y', 'split'), ('b', 'z', 'split')]
    """
    frames = (frame_before, frame_after)
    pair: RunPair = read_run_pair(frames, {"id": id, "cluster": cluster}, tuple(_TRANSITIONS))
    sides = transition_sides(pair).sort(
        *pair.keys, "old", "new", nulls_last=[*(True for _ in pair.keys), True, False]
    )
    return to_user_frame(frame_before, sides.select(*pair.keys, **_TRANSITIONS), pair.keys)


@table_function(
    "two runs", guide="transitions", order=("cluster_before", "cluster_after"), is_portable=True
)
def transition_overlaps(
    frame_before: Frame,
    frame_after: pl.DataFrame | pl.LazyFrame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    *,
    threshold: float = 0.5,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Pairs of clusters, one from each of two runs, that have ids in common.

    Parameters
    ----------
    frame_before, frame_after, id, cluster, threshold, partition_by, noise : as in run_transitions
    noise_as : as in run_transitions

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame_before`, with one row per pair of clusters with common ids, sorted by
        partition and cluster. The columns are the partition columns, cluster_before, cluster_after,
        n_before, n_after, n_common, share_before, share_after, jaccard and is_link. The column
        n_common contains the number of common ids. The columns share_before and share_after contain
        n_common divided by the number of ids in the old cluster and in the new cluster,
        respectively, counting only ids that are in both runs. The column jaccard contains the
        Jaccard index of the two clusters, restricted to ids that are in both runs. The flag is_link
        tells whether one of the shares reaches the threshold.

    Raises
    ------
    ClusterEvalError
        For the same reasons as run_transitions.

    Notes
    -----
    In SQL: ``FROM clustereval.transition_overlaps(tbl_before, tbl_after, id, cluster)``.

    Examples
    --------
    Each of the two parts of cluster b has half of the cluster's ids:

    >>> before = pl.DataFrame({"id": [1, 2, 3, 4, 5, 6], "cluster": ["a", "a", "b", "b", "b", "b"]})
    >>> after = pl.DataFrame({"id": [1, 2, 3, 4, 5, 6, 7], "cluster": [*"xxyyzz", "x"]})
    >>> overlaps = ce.transition_overlaps(before, after, "id", "cluster")
    >>> overlaps.select("cluster_before", "cluster_after", "share_before", "share_after").rows()
    [('a', 'x', 1.0, 1.0), ('b', 'y', 0.5, 1.0), ('b', 'z', 0.5, 1.0)]
    """
    frames = (frame_before, frame_after)
    pair: RunPair = read_run_pair(frames, {"id": id, "cluster": cluster}, tuple(_OVERLAPS))
    n_either = pl.col("stayed_before") + pl.col("stayed_after") - pl.col("n")
    pairs = pair.overlaps.with_columns(jaccard=ratio(pl.col("n"), n_either))
    pairs = pairs.sort(*pair.keys, "old", "new", nulls_last=True)
    return to_user_frame(frame_before, pairs.select(*pair.keys, **_OVERLAPS), pair.keys)


@table_function("two runs", guide="transitions", order=("id",), is_portable=True)
def moved_ids(
    frame_before: Frame,
    frame_after: pl.DataFrame | pl.LazyFrame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    *,
    threshold: float = 0.5,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Ids that have moved, left or joined from one run to the next.

    An id has moved if its new cluster is not linked to its old cluster, as defined in
    run_transitions. Therefore, the ids in the parts of a split cluster do not count as moved. The
    function affected_ids also lists the ids of split and merged clusters.

    Parameters
    ----------
    frame_before, frame_after, id, cluster, threshold, partition_by, noise : as in run_transitions
    noise_as : as in run_transitions

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame_before`, with one row per id that has moved, left or joined, sorted by
        partition and id. The columns are the partition columns, id, cluster_before and
        cluster_after. The column cluster_before is NULL if the id has joined, and cluster_after is
        NULL if the id has left.

    Raises
    ------
    ClusterEvalError
        For the same reasons as run_transitions.

    Notes
    -----
    In SQL: ``FROM clustereval.moved_ids(tbl_before, tbl_after, id, cluster)``.

    Examples
    --------
    Id 3 has moved to the former cluster a, and id 6 has left:

    >>> before = pl.DataFrame({"id": [1, 2, 3, 4, 5, 6], "cluster": ["a", "a", "b", "b", "b", "b"]})
    >>> after = pl.DataFrame({"id": [1, 2, 3, 4, 5], "cluster": ["x", "x", "x", "y", "y"]})
    >>> ce.moved_ids(before, after, "id", "cluster").rows()
    [(3, 'b', 'x'), (6, 'b', None)]
    """
    frames = (frame_before, frame_after)
    pair: RunPair = read_run_pair(frames, {"id": id, "cluster": cluster}, _MOVES)
    cells = pair.join_overlaps()
    is_one_sided = pl.col("in_before") != pl.col("in_after")
    by = [*pair.keys, "before", "after"]
    moves = cells.filter(pl.col("is_moved") | is_one_sided).select(
        *by,
        cluster_before=pl.when("in_before").then("before"),
        cluster_after=pl.when("in_after").then("after"),
    )
    moved = join_small(pair.ids, by, moves.unique()).sort(*pair.keys, "id", nulls_last=True)
    return to_user_frame(frame_before, moved.select(*pair.keys, *_MOVES), pair.keys)


def count_companions(pair: RunPair) -> pl.LazyFrame:
    """Return the cells whose ids have other companions than before, with three counts of ids.

    n_before and n_after are the numbers of ids in the two clusters, and n_common is the number of
    those that the clusters have in common. A singleton has no row among the clusters, and no
    companions: its cluster, and what it has in common with another one, is the id itself. The same
    is true of what an id that is in only one run has in common.
    """
    keys = list(pair.keys)
    in_before, in_after = pl.col("in_before"), pl.col("in_after")
    cells = pair.cells.filter(in_before | in_after)
    cells = join_small(cells, [*keys, "old"], pair.old_clusters, how="left")
    cells = join_small(cells, [*keys, "new"], pair.new_clusters, how="left")
    is_tracked = pl.col("old").is_not_null() & pl.col("new").is_not_null()
    n_common = pl.when(in_before & in_after & is_tracked).then("n").otherwise(1)
    sizes = [pl.col(name).fill_null(1) for name in ("n_before", "n_after")]
    is_other = [pl.col(name) != pl.col("n_common") for name in ("n_before", "n_after")]
    counts = cells.with_columns(*sizes, n_common=n_common)
    return counts.filter((in_before != in_after) | is_other[0] | is_other[1])


@table_function("two runs", guide="transitions", order=("id",), is_portable=True)
def affected_ids(
    frame_before: Frame,
    frame_after: pl.DataFrame | pl.LazyFrame,
    id: Column,  # noqa: A002 -- the name in SQL
    cluster: Column,
    *,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Ids whose companions (the other ids in their cluster) have changed from one run to the next.

    The affected ids are the ids of clusters that were split or merged, the ids that have moved,
    left or joined, and the ids of clusters that another id has left or joined. The function
    moved_ids lists fewer ids.

    Parameters
    ----------
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        How noise is treated: as an ordinary cluster, as absent from the run, or as one cluster per
        row, so that a noise row has no companions.
    frame_before, frame_after, id, cluster, partition_by, noise : as in run_transitions

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame_before`, with one row per affected id, sorted by partition and id. The
        columns are the partition columns, id, cluster_before, cluster_after, n_kept, n_lost and
        n_gained. The column cluster_before is NULL if the id has joined, and cluster_after is NULL
        if the id has left. The columns n_kept, n_lost and n_gained contain the numbers of
        companions that the id has in both runs, only in the earlier run, and only in the later run,
        respectively. An id that has left has lost all of its companions, and an id that has joined
        has gained all of its companions.

    Raises
    ------
    ClusterEvalError
        For the same reasons as run_transitions.

    Notes
    -----
    In SQL: ``FROM clustereval.affected_ids(tbl_before, tbl_after, id, cluster)``.

    Examples
    --------
    Cluster b has been split, and id 5 has joined a:

    >>> before = pl.DataFrame({"id": [1, 2, 3, 4], "cluster": ["a", "b", "b", "b"]})
    >>> after = pl.DataFrame({"id": [1, 2, 3, 4, 5], "cluster": ["x", "y", "y", "z", "x"]})
    >>> affected = ce.affected_ids(before, after, "id", "cluster")
    >>> affected.select("id", "cluster_after", "n_kept", "n_lost", "n_gained").rows()
    [(1, 'x', 0, 0, 1), (2, 'y', 1, 1, 0), (3, 'y', 1, 1, 0), (4, 'z', 0, 2, 0), (5, 'x', 0, 0, 1)]
    """
    frames = (frame_before, frame_after)
    pair: RunPair = read_run_pair(frames, {"id": id, "cluster": cluster}, _AFFECTED)
    keys: list[str] = list(pair.keys)
    by = [*keys, "before", "after"]
    n_common = pl.col("n_common")
    changes = count_companions(pair).select(
        *by,
        cluster_before=pl.when("in_before").then("before"),
        cluster_after=pl.when("in_after").then("after"),
        n_kept=n_common - 1,
        n_lost=pl.when("in_before").then(pl.col("n_before") - n_common).otherwise(0),
        n_gained=pl.when("in_after").then(pl.col("n_after") - n_common).otherwise(0),
    )
    affected = join_small(pair.ids, by, changes.unique())
    affected = affected.sort(*keys, "id", nulls_last=True).select(*keys, *_AFFECTED)
    return to_user_frame(frame_before, affected, pair.keys)
