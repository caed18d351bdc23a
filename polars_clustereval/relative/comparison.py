"""Several clusterings of the same rows, the best one first.

A profile is a label and a cluster of each clustering, with the rows that have them all. The user's
rows are grouped into profiles once, and all scores of labels are computed from the profiles. The
common rows are those that every clustering scores. A score of the common rows does not depend on
which rows a clustering leaves out, so it decides the order.

In the long form, the frame has a row for each id and run. The rows of an id become one row with a
column for each run, so that its label and its vector need to be in only one of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    as_expression,
    check_column,
    check_frame,
    check_groupable,
    check_noise_as,
    check_partition_keys,
    check_weight,
    equals_noise,
    key_columns,
    show_value,
)
from polars_clustereval.base.data_arguments import type_name
from polars_clustereval.base.deferral import collect_all_now, collect_now
from polars_clustereval.base.exact import percent_as_text, ratio
from polars_clustereval.base.frames import (
    aggregate_by,
    join_partitions,
    join_small,
    only_value,
    to_user_frame,
)
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.external.contingency import ContingencyTable, LabelOptions, flag_groups
from polars_clustereval.external.report import external_scores, score_partitions
from polars_clustereval.internal.center_influences import INFLUENCED, CenterInfluences
from polars_clustereval.internal.centroids import check_point_options, read_rows
from polars_clustereval.internal.kernels.streams import map_stream
from polars_clustereval.internal.point_silhouettes import SilhouetteOptions, read_queried_points
from polars_clustereval.internal.report import internal_report
from polars_clustereval.internal.silhouette import score_table
from polars_clustereval.internal.vectors import check_vector

from .differences import Side, difference_errors, difference_margin, errors_of_effects
from .intervals import centered_influences, metric_quotients, score_gradients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.internal.centroids import Points
    from polars_clustereval.internal.distances import DistanceName
    from polars_clustereval.internal.kernels.arrays import Booleans, Floats, Integers
    from polars_clustereval.internal.vectors import Missing, Vector

#: The scores of labels, each with its difference to the best clustering.
_LABEL_SCORES = ("adjusted_rand_score", "adjusted_mutual_info_score")
#: The scores of points, by their names in the tables that they come from.
_POINT_SCORES = {
    "simplified_silhouette": "silhouette",
    "davies_bouldin_score": "davies_bouldin_score",
    "calinski_harabasz_score": "calinski_harabasz_score",
}
_OWN_COUNTS = ("n", "n_noise", "n_clusters")

# ----------------------------------------------------------------------------------------------
# Columns of clusters
# ----------------------------------------------------------------------------------------------


def _read_clusterings(lazy: pl.LazyFrame, given: Column | Sequence[Column]) -> dict[str, pl.Expr]:
    """Return the columns of the user's parameter `clusters` by name; all have the same type."""
    asked = [given] if isinstance(given, str | pl.Expr) else given
    if not (isinstance(asked, list | tuple) and asked):
        raise ClusterEvalError(
            f"clusters: expected a list of columns, one for each clustering, got {type_name(given)}"
        )
    columns = [as_expression(column, "clusters") for column in asked]
    names: list[str] = []
    for column in columns:
        struct = check_column(lazy, pl.struct(column), "clusters")
        dtype = cast("pl.Struct", lazy.select(struct).collect_schema()["clusters"])
        names += [field.name for field in dtype.fields]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ClusterEvalError(f"clusters: '{name}' is given twice")
    fields = {name: pl.struct(*columns).struct.field(name) for name in names}
    for field in fields.values():
        check_groupable(lazy, field, "cluster")
    shared = _find_one_type(dict(lazy.select(**fields).collect_schema()))
    typed = {name: field.cast(shared) for name, field in fields.items()}
    if not isinstance(shared, pl.List | pl.Array):
        return typed
    # A list of lists would be one long list.
    return {name: pl.when(x.is_not_null()).then(pl.struct(x)) for name, x in typed.items()}


def _find_one_type(types: dict[str, pl.DataType]) -> pl.DataType:
    """Return the type of all columns, or one that holds the whole numbers of different types."""
    first, dtype = next(iter(types.items()))
    for name, other in types.items():
        if other != dtype and not (other.is_integer() and dtype.is_integer()):
            raise ClusterEvalError(
                f"clusters: expected columns of one type, got {dtype} for {first} and {other} for "
                f"{name}; cast one of them"
            )
    if all(other == dtype for other in types.values()):
        return dtype
    return pl.Int128() if {pl.UInt64, pl.Int128} & {*types.values()} else pl.Int64()


class _Rows(NamedTuple):
    """The rows to compare, with a column of clusters for each clustering."""

    lazy: pl.LazyFrame
    #: The columns of clusters, all of one type.
    clusters: list[pl.Expr]
    #: The name of each clustering by run_no, in the long form also by partition.
    names: pl.LazyFrame
    keys: dict[str, str]
    label: Column | None
    vector: Vector | None
    options: LabelOptions
    #: The number of clusterings of a row's partition, if it is not that of all.
    n_runs: str | None = None

    def all_score(self, clusters: Sequence[pl.Expr]) -> pl.Expr:
        """Return whether no clustering leaves a row out, from the columns of its clusters."""
        dtype = self.lazy.select(cluster=self.clusters[0]).collect_schema()["cluster"]
        terms = []
        for i, cluster in enumerate(clusters):
            scores = cluster.is_not_null()
            if self.options.noise_as == "drop":
                scores &= ~equals_noise(cluster, self.options.noise, dtype)
            terms.append(scores if self.n_runs is None else scores | (pl.col(self.n_runs) <= i))
        return pl.all_horizontal(terms)


# ----------------------------------------------------------------------------------------------
# The long form
# ----------------------------------------------------------------------------------------------


def _check_long_rows(rows: pl.LazyFrame, keys: list[str], owned: Sequence[str]) -> None:
    """Raise an error for a NULL id or run, an id twice in a run, or two values of an id.

    `owned` are the columns that have one value for each id.
    """
    in_run, by = pl.col("cluster").is_not_null(), [*keys, "id"]
    times = rows.filter(in_run).group_by(*by, "run").agg(times=pl.len())
    # A hash stands for a value, because vectors are long.
    hashed = (pl.when(pl.col(x).is_not_null()).then(pl.struct(x).hash()).alias(x) for x in owned)
    ranges = (pl.col(x).min() != pl.col(x).max() for x in owned)
    values = rows.select(*by, *hashed).group_by(by).agg(ranges)
    lacks_run = (pl.col("run").is_null() & in_run).sum().alias("run")
    counts, repeated, *differing = collect_all_now(
        [
            rows.select(pl.col("id").null_count(), lacks_run),
            times.filter(pl.col("times") > 1).select("id"),
            *(values.filter(x).select("id") for x in owned),
        ]
    )
    if counts["id"].item():
        raise ClusterEvalError("id: expected a value in every row together with run, got NULL")
    if counts["run"].item():
        raise ClusterEvalError("run: expected a value in every row with a cluster, got NULL")
    if not repeated.is_empty():
        raise ClusterEvalError(
            "id: expected one row per id in a run, got several rows of id "
            f"{show_value(repeated['id'][0])}"
        )
    for name, ids in zip(owned, differing, strict=True):
        if not ids.is_empty():
            raise ClusterEvalError(
                f"{name}: expected the same value in all rows of an id, got different ones for id "
                f"{show_value(ids['id'][0])}"
            )


def _read_long_rows(
    lazy: pl.LazyFrame,
    clusters: Column | Sequence[Column],
    id: Column | None,  # noqa: A002
    run: Column | None,
    keys: dict[str, str],
    label: Column | None,
    vector: Vector | None,
    options: LabelOptions,
) -> _Rows:
    """Return one row for each id of a frame in the long form, whose runs are listed first."""
    if id is None or run is None:
        missing, other = ("id", "run") if id is None else ("run", "id")
        raise ClusterEvalError(f"{missing}: expected a column together with {other}, got NULL")
    fields = list(_read_clusterings(lazy, clusters).values())
    if len(fields) > 1:
        raise ClusterEvalError(
            "clusters: expected a list of one column together with run, got several"
        )
    owned = {"label": label, "weight": options.weight}
    columns = {
        "id": check_groupable(lazy, id, "id"),
        "run": check_groupable(lazy, run, "run"),
        "cluster": fields[0],
        **{x: check_groupable(lazy, y, x) for x, y in owned.items() if y is not None},
    }
    if vector is not None:
        is_point = check_vector(lazy, vector, pl.lit(True)).has_vector
        given = [vector] if isinstance(vector, str | pl.Expr) else list(vector)
        columns["vector"] = pl.when(is_point).then(pl.struct(*given))
        names = lazy.select(*given).collect_schema().names()
        vector = names if len(names) > 1 or not isinstance(vector, str | pl.Expr) else names[0]
    rows = lazy.select(*key_columns(keys), **columns)
    owners = [x for x in ("label", "weight", "vector") if x in columns]
    _check_long_rows(rows, list(keys), owners)
    by: list[Any] = list(keys) or [pl.lit(1)]
    runs = rows.filter(pl.col("cluster").is_not_null()).select(*keys, "run").unique()
    runs = runs.sort(*keys, "run", nulls_last=True).with_columns(
        run_no=pl.col("run").cum_count().over(by).cast(pl.Int64) - 1,
        n_runs=pl.len().over(by).cast(pl.Int64),
    )
    listed = collect_now(runs)
    most = listed.select(pl.col("n_runs").max().fill_null(1)).item()
    cluster, types = pl.col("cluster"), rows.collect_schema()
    found = [f"__ce_{i}" for i in range(most)]
    of_ids = (
        rows.join(listed.lazy(), on=[*keys, "run"], how="left", nulls_equal=True)
        .group_by(*keys, "id")
        .agg(
            *(only_value(x, types[x]) for x in owners),
            *(cluster.filter(run_no=i).first().alias(x) for i, x in enumerate(found)),
        )
    )
    sizes = listed.lazy().select(*keys, "n_runs").unique()
    hidden = {x: f"__ce_{x}" for x in (*owners, "n_runs") if x != "vector"}
    wide = join_partitions(of_ids, list(keys), sizes).select(
        *(*keys, *found),
        *(pl.col(x).alias(y) for x, y in hidden.items()),
        *([pl.col("vector").struct.unnest()] if vector is not None else []),
    )
    return _Rows(
        # The engine would compute a cached query for several of its readers.
        collect_now(wide).lazy(),
        [pl.col(x) for x in found],
        listed.lazy().select(*keys, "run_no", clustering=pl.col("run").cast(pl.String)),
        {x: x for x in keys},
        hidden.get("label"),
        vector,
        replace(options, weight=hidden.get("weight")),
        hidden["n_runs"],
    )


# ----------------------------------------------------------------------------------------------
# Profiles
# ----------------------------------------------------------------------------------------------


class _Profiles(NamedTuple):
    """The profiles, with the partition columns, label, n, is_common and the clusters."""

    frame: pl.LazyFrame
    #: The names of the columns with the clusters, one for each clustering.
    columns: list[str]
    keys: dict[str, str]
    options: LabelOptions


def _read_profiles(rows: _Rows) -> _Profiles:
    """Group the rows into profiles."""
    lazy, keys, options, label = rows.lazy, rows.keys, rows.options, rows.label
    columns = {f"cluster_{i}": x for i, x in enumerate(rows.clusters)}
    labels = pl.lit(None, pl.Int8) if label is None else check_groupable(lazy, label, "label")
    n = check_weight(lazy, options.weight, keys)
    others = [] if rows.n_runs is None else [rows.n_runs]
    values = lazy.select(
        *key_columns(keys), labels.alias("label"), n.alias("n"), *others, **columns
    )
    groups = values.group_by(*keys, "label", *columns, *others).agg(pl.col("n").sum())
    all_score = rows.all_score([pl.col(name) for name in columns])
    profiles = groups.filter(pl.col("n") > 0).with_columns(
        is_common=all_score & pl.col("label").is_not_null()
    )
    return _Profiles(profiles.cache(), list(columns), keys, options)


def _count_rows(profiles: _Profiles) -> pl.LazyFrame:
    """Return n_rows of each partition, its rows with a label, or all if there are no labels."""
    n = pl.col("n")
    labeled = n.filter(pl.col("label").is_not_null()).sum()
    n_rows = pl.when(labeled > 0).then(labeled).otherwise(n.sum())
    return aggregate_by(profiles.frame, list(profiles.keys), {"n_rows": n_rows})


def _unfold(columns: Sequence[pl.Expr]) -> list[pl.Expr]:
    """Return the lists run_no and cluster, to be exploded into one row for each clustering."""
    return [_number_runs(len(columns)), pl.concat_list(columns).alias("cluster")]


def _number_runs(n: int) -> pl.Expr:
    """Return run_no, the list of the numbers of n clusterings."""
    return pl.lit(list(range(n)), pl.List(pl.Int64)).alias("run_no")


# ----------------------------------------------------------------------------------------------
# Scores
# ----------------------------------------------------------------------------------------------


def _scoped_table(profiles: _Profiles) -> ContingencyTable:
    """Return the contingency tables of all clusterings, by partition, run_no and common.

    common is True for the tables of only the common rows.
    """
    keys = profiles.keys
    unfolded = _unfold([pl.col(name) for name in profiles.columns])
    runs = profiles.frame.select(*keys, "label", "n", "is_common", *unfolded)
    runs = runs.explode("run_no", "cluster").cache()
    by = [*keys, "run_no", "label", "cluster"]
    common = runs.with_columns(pl.when("is_common").then("label"))
    scoped = pl.concat(
        rows.group_by(by).agg(pl.col("n").sum(), common=pl.lit(is_common))
        for rows, is_common in ((runs, False), (common, True))
    )
    by_scope = {**keys, "run_no": "run_no", "common": "common"}
    return ContingencyTable(flag_groups(scoped, profiles.options), by_scope).cache_groups()


class _PointScores(NamedTuple):
    """The scores of points, and what their intervals are computed from."""

    #: One row per partition, run_no and common: counts and scores, as in _scoped_table. n_points
    #: counts the points that are left out as well.
    scores: pl.DataFrame
    #: The common rows, with lists of the clusters.
    common: Points
    #: The points of each partition, run_no and common.
    points: Points
    #: One row for each partition of `points` that has intervals, as CenterInfluences reads them.
    totals: pl.DataFrame
    #: The number of clusterings.
    n_runs: int


def _score_points(
    of_user: _Rows, vector: Vector, distance: DistanceName, missing: Missing
) -> _PointScores:
    """Return the scores of points.

    Columns other than the coordinates have names that no coordinate has.
    """
    lazy, keys, options = of_user.lazy, of_user.keys, of_user.options
    # Names the user's columns; the tables below get them without the rest of the frame.
    check_vector(lazy, vector, pl.lit(True))
    coordinates = [vector] if isinstance(vector, str | pl.Expr) else list(vector)
    by = [f"__ce_{name}" for name in (*keys, "run_no", "common")]
    wide = lazy.select(
        *coordinates,
        *(x.name.prefix("__ce_") for x in (*key_columns(keys), *_unfold(of_user.clusters))),
        __ce_common=of_user.all_score(of_user.clusters),
    )
    # If all rows are common, one scope has the scores of both.
    are_common = bool(collect_now(wide.select(pl.col("__ce_common").all())).item())
    scopes = pl.when(pl.col("__ce_common") & (not are_common)).then([False, True])
    rows = wide.with_columns(__ce_common=scopes.otherwise([False]))
    rows = rows.explode("__ce_run_no", "__ce_cluster").explode("__ce_common")
    given = lazy.select(*coordinates).collect_schema().names()
    columns: Any = given if len(given) > 1 or not isinstance(vector, str | pl.Expr) else given[0]
    shared: dict[str, Any] = {"distance": distance, "missing": missing}
    noise: dict[str, Any] = {"noise": options.noise, "noise_as": options.noise_as}
    report = internal_report(rows, columns, "__ce_cluster", partition_by=by, **noise, **shared)
    method = SilhouetteOptions(method="simplified")
    point_options = check_point_options(partition_by=by, **noise, **shared)
    points = read_queried_points(
        rows, columns, "__ce_cluster", point_options=point_options, options=method, results=()
    )
    silhouettes = score_table(points, method).rename(points.keys).select(*by, "silhouette")
    scored = collect_now(join_partitions(report, by, silhouettes))
    has_intervals = pl.col("silhouette").is_not_null()
    if options.noise_as == "singletons":
        has_intervals &= pl.col("n_noise") == 0
    if distance.lower() not in ("euclidean", "sqeuclidean"):
        has_intervals = pl.lit(False)
    totals = scored.filter(has_intervals, pl.col("__ce_common") | are_common)
    if are_common:
        scored = scored.with_columns(__ce_common=pl.lit([False, True])).explode("__ce_common")
    left_out = ["n_noise"] if options.noise_as == "drop" else []
    scores = scored.select(
        *(pl.col(x).alias(x.removeprefix("__ce_")) for x in by),
        *(pl.col(name).alias(f"points_{name}") for name in _OWN_COUNTS),
        pl.sum_horizontal("n", "n_dropped", *left_out).alias("n_points"),
        *(pl.col(x).alias(name) for name, x in _POINT_SCORES.items()),
    )
    common_options = check_point_options(partition_by=by[:-2], **shared)
    # A struct, because a list of numbers is no cluster.
    clusters = pl.struct("__ce_cluster")
    common = read_rows(wide.filter("__ce_common"), columns, clusters, common_options, results=())
    inner = {name: key for key, name in points.keys.items()}
    return _PointScores(scores, common, points, totals.rename(inner), len(of_user.clusters))


def _add_point_scores(scoped: pl.LazyFrame, of_points: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return `scoped` with the scores of points, and with their counts if there are no labels."""
    joined = scoped.join(of_points, on=by, how="left", nulls_equal=True)
    has_labels = pl.col("n") > 0
    return joined.with_columns(
        pl.when(~has_labels).then("n_points").alias("n_points"),
        *(
            pl.when(has_labels)
            .then(name)
            .otherwise(pl.col(f"points_{name}").fill_null(0))
            .alias(name)
            for name in _OWN_COUNTS
        ),
    ).drop(f"points_{name}" for name in _OWN_COUNTS)


def _rank(scoped: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return one row per partition and clustering, the scores of all rows and of the common ones.

    The columns of the common rows end in _common. place is 1 for the best clustering, common_rank
    and own_rank are ranks by the scores of the common rows and of all rows, and best_no is the
    number of the best clustering.
    """
    by = [*keys, "run_no"]
    scores = [*_LABEL_SCORES, *_POINT_SCORES]
    own, common = (scoped.filter(pl.col("common") == x).drop("common") for x in (False, True))
    common = common.select(*by, "n", *scores).rename(
        {"n": "n_common"} | {name: f"{name}_common" for name in scores}
    )
    rows = own.join(common, on=by, nulls_equal=True)
    deciding = ("adjusted_rand_score", "simplified_silhouette")
    # NULLs are last, and a rank of structs compares their fields in order. Equal scores may differ
    # by rounding errors.
    keys_of_order = {
        suffix: pl.struct(
            term
            for name in deciding
            for term in (
                pl.col(name + suffix).is_null().alias(f"{name}_missing"),
                -pl.col(name + suffix).fill_null(0.0).round(12),
            )
        )
        for suffix in ("_common", "")
    }
    place = pl.struct(keys_of_order["_common"].alias("order"), "run_no").rank("ordinal")
    ranks = {
        "place": place,
        "common_rank": keys_of_order["_common"].rank("min"),
        "own_rank": keys_of_order[""].rank("min"),
    }
    over: list[Any] = list(keys) or [pl.lit(1)]
    rows = rows.with_columns(x.over(over).cast(pl.Int64).alias(name) for name, x in ranks.items())
    is_best = pl.col("place") == 1
    return rows.with_columns(
        pl.col("run_no").filter(is_best).first().over(over).alias("best_no"),
        *(
            pl.col(f"{name}_common").filter(is_best).first().over(over).alias(f"{name}_best")
            for name in scores
        ),
    ).with_columns(
        # Scores of equal clusterings may differ by rounding errors.
        pl.when((pl.col(f"{name}_common") / pl.col(f"{name}_best") - 1).abs() <= 1e-12)
        .then(0.0)
        .otherwise(pl.col(f"{name}_common") - pl.col(f"{name}_best"))
        .alias(f"{name}_difference")
        for name in scores
    )


def _errors_to_best(
    profiles: _Profiles, ranks: pl.LazyFrame, table: ContingencyTable, report: pl.LazyFrame
) -> pl.LazyFrame:
    """Return the errors of the differences to the best clustering on the common rows.

    There is one row per partition, run_no and metric (see difference_errors). `table` is the result
    of _scoped_table, and `report` has its statistics.
    """
    keys, options, names = list(profiles.keys), profiles.options, ("cluster_1", "cluster_2")
    by = [*keys, "run_no"]
    best = ranks.select(*keys, "best_no").unique()
    common = profiles.frame.filter("is_common")
    # The lists are exploded before they are joined, so that they are not copied for each element.
    cells = join_partitions(common, keys, best).select(
        *(*keys, "label", "n", "best_no"),
        *_unfold([pl.col(name) for name in profiles.columns]),
        cluster_2=pl.concat_list(profiles.columns).list.get(pl.col("best_no")),
    )
    cells = cells.explode("run_no", "cluster").rename({"cluster": "cluster_1"})
    cells = cells.filter(pl.col("run_no") != pl.col("best_no"))
    cells = cells.group_by(*by, "best_no", "label", *names).agg(pl.col("n").sum())
    if options.noise_as == "singletons":
        dtype = cells.collect_schema()["cluster_1"]
        noisy = {name: equals_noise(pl.col(name), options.noise, dtype) for name in names}
        cells = cells.with_columns(pl.when(~x).then(name).alias(name) for name, x in noisy.items())
    of_common = ContingencyTable(table.groups.filter("common"), table.keys)
    influences = centered_influences(of_common, adjusted=True).drop("common")
    quotients = metric_quotients("arithmetic", 1.0, adjusted=True)
    gradients = score_gradients(report.filter("common"), list(table.keys), _LABEL_SCORES, quotients)
    gradients, to_best = gradients.drop("common").cache(), {"run_no": "best_no"}
    sides = (
        Side(by, influences, gradients),
        Side([*keys, "best_no"], influences.rename(to_best), gradients.rename(to_best)),
    )
    return difference_errors(cells, sides, by)


def _point_errors_to_best(of_points: _PointScores, ranks: pl.LazyFrame) -> pl.LazyFrame:
    """Return the errors of the differences of the scores of points, as _errors_to_best does.

    The common rows are read twice: for the moves of the centers, and for the influences of each row
    on the scores of all clusterings.
    """
    points, common = of_points.points, of_points.common
    keys, run_no = common.partition_keys, points.partition_keys[-2]
    found, by = CenterInfluences(points, of_points.totals), [*common.partition_keys, "run_no"]
    best = ranks.select(*keys, "best_no").unique()
    clusters = join_partitions(found.clusters.lazy().rename({run_no: "run_no"}), keys, best)
    clusters = clusters.select(
        *(*by, "cluster", "number"), is_best=pl.col("run_no") == pl.col("best_no")
    )
    table = collect_now(clusters)
    rows = common.kept_rows.select(
        *keys, pl.col("cluster").struct.unnest(), *common.form.columns("raw_x")
    ).rename({"__ce_cluster": "cluster"})

    def read_batch(batch: pl.DataFrame) -> tuple[Floats, Integers, Booleans]:
        """Return points (m, d), the numbers of their clusters (m, r), and whether each is the best.

        r is the number of clusterings.
        """
        lists = batch.select(*keys, "cluster", _number_runs(of_points.n_runs))
        runs = lists.explode("run_no", "cluster")
        numbered = runs.join(
            table, on=[*by, "cluster"], how="left", nulls_equal=True, maintain_order="left"
        )
        shape = batch.height, of_points.n_runs
        x = common.form.to_matrix(batch, "raw_x").astype(float)
        number = numbered["number"].fill_null(-1).to_numpy().reshape(shape)
        return x, number, numbered["is_best"].fill_null(False).to_numpy().reshape(shape)

    def add_batch(batch: pl.DataFrame) -> pl.DataFrame:
        """Add a batch of rows to the moves of the centers, and return an empty frame."""
        x, numbers, _ = read_batch(batch)
        with np.errstate(all="ignore"):
            for number in numbers.T:
                found.add(x, number)
        return pl.DataFrame(schema=schema)

    def influences_of_batch(batch: pl.DataFrame) -> pl.DataFrame:
        """Return the influences of a batch of rows on the scores of each clustering but the best.

        The place is that of the partition in the list of all.
        """
        x, numbers, is_best = read_batch(batch)
        with np.errstate(all="ignore"):
            influences = np.stack([found.of_points(x, number) for number in numbers.T])
        one = influences.transpose(2, 0, 1)
        two = one[np.arange(len(x)), is_best.argmax(axis=1)][:, None]
        counts = (numbers >= 0) & ~is_best
        place = np.searchsorted(found.starts, numbers[counts], side="right") - 1
        columns = {
            "place": np.repeat(place, len(INFLUENCED)),
            "metric": np.tile(np.arange(len(INFLUENCED)), len(place)),
            "one": one[counts].ravel(),
            "two": np.broadcast_to(two, one.shape)[counts].ravel(),
        }
        return pl.DataFrame(columns, schema=schema).with_columns(
            pl.col("one", "two").fill_nan(None)
        )

    schema = pl.Schema(
        {"place": pl.Int64, "metric": pl.Int64, "one": pl.Float64, "two": pl.Float64}
    )
    map_stream(rows, add_batch, schema).collect(engine="streaming")
    effects = map_stream(rows, influences_of_batch, schema).with_columns(n=1)
    errors = collect_now(errors_of_effects(effects, ["place"]))
    named = found.partitions.rename({run_no: "run_no"}).with_row_index("place")
    errors = errors.join(named.with_columns(pl.col("place").cast(pl.Int64)), on="place")
    metric = pl.col("metric").replace_strict(dict(enumerate(INFLUENCED)), return_dtype=pl.String)
    return errors.lazy().select(*by, metric, "std_error", "freedom")


def _add_limits(
    ranks: pl.LazyFrame, errors: pl.LazyFrame, by: list[str], margin: pl.Expr
) -> pl.LazyFrame:
    """Return `ranks` with the limits of the difference of each score to the best clustering."""
    scores = (*_LABEL_SCORES, *INFLUENCED)
    # One join for all scores: the query of the errors is planned for each of its readers.
    margins = {name: margin.filter(pl.col("metric") == name).first() for name in scores}
    of_rows = errors.group_by(by).agg(x.alias(f"{name}_margin") for name, x in margins.items())
    joined = ranks.join(of_rows, on=by, how="left", nulls_equal=True)
    return joined.with_columns(
        limit.alias(f"{name}_{side}")
        for name in scores
        for side, limit in (
            ("lower", pl.col(f"{name}_difference") - pl.col(f"{name}_margin")),
            ("upper", pl.col(f"{name}_difference") + pl.col(f"{name}_margin")),
        )
    )


def _remark() -> pl.Expr:
    """Return what a reader should know of a row: see compare_clusterings."""
    upper = (
        pl.when(pl.col("adjusted_rand_score_common").is_null())
        .then("simplified_silhouette_upper")
        .otherwise("adjusted_rand_score_upper")
    )
    texts = [
        pl.when((pl.col("place") > 1) & (upper >= 0)).then(
            pl.lit("not told apart from the best: the interval of the difference holds 0")
        ),
        pl.when(pl.col("n_common") == 0)
        .then(pl.lit("no row is scored by all clusterings, so they are in the given order"))
        .when(pl.col("own_rank") != pl.col("common_rank"))
        .then(
            pl.format(
                "number {} by its own {} rows, but number {} by the {} rows that all score",
                *("own_rank", "n", "common_rank", "n_common"),
            )
        ),
        pl.when((pl.col("n_common") > 0) & (pl.col("coverage") < 0.9)).then(
            pl.format(
                "leaves out {} of the rows, and the order is about the others",
                percent_as_text(1 - pl.col("coverage")),
            )
        ),
    ]
    text = pl.concat_str(texts, separator="; ", ignore_nulls=True)
    return pl.when(text != "").then(text)


def _compare(
    rows: _Rows, distance: DistanceName, missing: Missing, margin: pl.Expr
) -> pl.LazyFrame:
    """Return the columns of compare_clusterings."""
    profiles = _read_profiles(rows)
    if rows.vector is not None:
        # The scores of points are computed first, and do not read this query.
        profiles = profiles._replace(frame=collect_now(profiles.frame).lazy())
    table, keys = _scoped_table(profiles), list(rows.keys)
    scores = external_scores("arithmetic", 1.0, adjusted=True)
    scores = {name: scores[name] for name in _LABEL_SCORES}
    report = score_partitions(table, scores, adjusted=True).cache()
    scoped = report.rename({"total": "n"}).select(*table.keys, *_OWN_COUNTS, *scores)
    if rows.vector is None:
        nothing = (pl.lit(None, pl.Float64).alias(x) for x in _POINT_SCORES)
        ranks = _rank(scoped.with_columns(*nothing, n_points=None), keys).cache()
        errors = _errors_to_best(profiles, ranks, table, report)
    else:
        of_points = _score_points(rows, rows.vector, distance, missing)
        scoped = _add_point_scores(scoped, of_points.scores.lazy(), list(table.keys))
        ranks = collect_now(_rank(scoped, keys)).lazy()
        errors = _errors_to_best(profiles, ranks, table, report)
        if of_points.n_runs > 1 and not of_points.totals.is_empty():
            errors = pl.concat([errors, _point_errors_to_best(of_points, ranks)])
    found = _add_limits(ranks, errors, [*keys, "run_no"], margin)
    found = join_partitions(found, keys, _count_rows(profiles)).with_columns(
        coverage=ratio(pl.col("n"), pl.coalesce("n_points", "n_rows"))
    )
    named_by = [x for x in rows.names.collect_schema() if x != "clustering"]
    found = join_small(found.with_columns(remark=_remark()), named_by, rows.names)
    found = found.rename({"place": "rank"}).sort(*keys, "rank", nulls_last=True)
    return found.select(*keys, *_COMPARED)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------

_OF_LABELS = [
    f"{name}{suffix}"
    for name in _LABEL_SCORES
    for suffix in ("", "_common", "_difference", "_lower", "_upper")
]
_OF_POINTS = [
    f"{name}{suffix}"
    for name in _POINT_SCORES
    for suffix in ("", "_common", "_difference", "_lower", "_upper")
    if name in INFLUENCED or suffix not in ("_lower", "_upper")
]
_COMPARED = (
    *("clustering", "rank", "n", "coverage", "n_clusters", "n_noise", "n_common"),
    *(*_OF_LABELS, *_OF_POINTS, "remark"),
)


@table_function("several clusterings", guide="comparison", order=("rank",))
def compare_clusterings(
    frame: Frame,
    clusters: Column | Sequence[Column],
    label: Column | None = None,
    vector: Vector | None = None,
    *,
    distance: DistanceName = "euclidean",
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    confidence: float = 0.95,
    missing: Missing = "error",
    id: Column | None = None,  # noqa: A002
    run: Column | None = None,
) -> Frame:
    """Compare several clusterings of the same rows, the best one first.

    A clustering that leaves many rows out, such as HDBSCAN without its noise, may have a high score
    only because the rows that are left are easy. Therefore, the order and the differences are those
    of the common rows, which every clustering scores.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate. A LazyFrame is streamed when you collect the result.
    clusters : list of str or Expr
        One column of clusters for each clustering. All columns have the same type, or whole
        numbers. A selector of several columns is also allowed. In the long form, it is one column.
    label : str or Expr, optional
        True class, of any type that can be grouped. Rows without a label are left out of the scores
        of labels. Pass label, vector or both.
    vector : str, Expr or sequence of these, optional
        The coordinates of each row, as in internal_report. However many clusterings there are, the
        coordinates are stored only once in the frame, and the rows are read a fixed number of
        times.
    distance, missing : as in internal_report
    weight, partition_by : as in external_report
    noise : object, optional
        The value that marks noise in all columns of clusters.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    confidence : float
        The probability (between 0 and 1) that an interval covers the difference in the population.
    id, run : str or Expr, optional
        Pass both if the frame is in the long form, with a row for each id and run. Then each run is
        a clustering. The label, the vector and the weight of an id may be NULL in all of its rows
        but one, which needs neither a run nor a cluster. To get such a frame, concatenate a frame
        of runs and a frame of points diagonally. One row for each id is held in memory.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition and clustering, sorted by partition and
        then from the best clustering to the worst. The columns are the partition columns and the
        following:

        * clustering is the name of the column with the clusters, or the run. In SQL, it is
          'clustering 1' and so on if one of the clusters is not a plain column. rank is 1 for the
          best clustering.
        * n is the number of rows that the clustering scores, and coverage is their share of the
          rows with a label, or of all rows if there are no labels. n_clusters is the number of
          their clusters, and n_noise is the number of noise rows. n_common is the number of common
          rows.
        * adjusted_rand_score is the score of the n rows, and adjusted_rand_score_common is the
          score of the common rows. adjusted_rand_score_difference is the difference between the
          latter and the score of the best clustering, and adjusted_rand_score_lower and
          adjusted_rand_score_upper are the limits of its paired interval (see
          external_differences), or NULL for the best clustering. adjusted_mutual_info_score,
          adjusted_mutual_info_score_common, adjusted_mutual_info_score_difference,
          adjusted_mutual_info_score_lower and adjusted_mutual_info_score_upper are the same for
          that score. All ten are NULL without labels.
        * simplified_silhouette, davies_bouldin_score and calinski_harabasz_score are scores of the
          points of the n rows (the first as method 'simplified' of silhouette_score),
          simplified_silhouette_common, davies_bouldin_score_common and
          calinski_harabasz_score_common are the scores of the common rows, and
          simplified_silhouette_difference, davies_bouldin_score_difference and
          calinski_harabasz_score_difference are the differences to the best clustering.
          simplified_silhouette_lower, simplified_silhouette_upper, calinski_harabasz_score_lower
          and calinski_harabasz_score_upper are the limits of paired intervals of two of these
          differences. They are NULL for distances other than euclidean and sqeuclidean, and if
          noise among the common rows counts as one cluster per row. All 13 are NULL without
          vectors.
        * remark tells that a clustering is not told apart from the best one, because the interval
          of the difference of the adjusted Rand indices holds 0 (without labels, that of the
          simplified silhouettes), that no row is scored by all clusterings, that the order would be
          different if each clustering were scored on its own rows, or that the clustering leaves
          out more than a tenth of the rows. Otherwise, it is NULL.

        The best clustering has the highest adjusted_rand_score_common, or without labels the
        highest simplified_silhouette_common. Ties are in the order of `clusters`, or in the order
        of the runs. If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report and internal_report, if neither labels nor vectors
        are given, if two columns of clusters have different types, or if an id has two rows in a
        run or two labels, vectors or weights.

    Notes
    -----
    The scores of points judge clusters by their centers. If clusters are not round, compare the
    density_based_validity of the clusterings. Weights do not count in the scores of points, nor in
    the counts if there are no labels.

    The intervals compare each clustering with the one that turned out to be the best of these rows.
    If there are many clusterings of about the same quality, the best one is partly the luckiest
    one, so an interval near 0 is no proof.

    A point changes the scores of points by its own distances to the centers, and because it moves
    the center of its cluster. The intervals count both, by the delta method, but they take the
    assignment of the points as given. davies_bouldin_score has no interval, because its maxima over
    the other clusters are biased in samples.
    In SQL: ``FROM clustereval.compare_clusterings(tbl, [cluster_1, cluster_2], label)``.

    References
    ----------
    Hubert and Arabie (1985), doi:10.1007/BF01908075. Vinh, Epps and Bailey (2010),
    doi:10.5555/1756006.1953024. Hampel (1974), The influence curve and its role in robust
    estimation, doi:10.1080/01621459.1974.10482962, for the influences.

    Examples
    --------
    The second clustering leaves out two rows as noise. On the other rows, both are equally good:

    >>> rows = pl.DataFrame(
    ...     {
    ...         "label": ["a", "a", "a", "b", "b", "b"],
    ...         "first": [0, 0, 1, 1, 1, 1],
    ...         "second": [0, 0, -1, 1, 1, -1],
    ...     }
    ... )
    >>> found = ce.compare_clusterings(
    ...     rows, ["first", "second"], "label", noise=-1, noise_as="drop"
    ... )
    >>> found.select("clustering", "n", "n_common", "adjusted_rand_score_common").rows()
    [('first', 6, 4, 1.0), ('second', 4, 4, 1.0)]
    """
    options, margin = pass_arguments_to(LabelOptions), difference_margin(confidence)
    if label is None and vector is None:
        raise ClusterEvalError(
            "label: expected the column of the true labels, or vector, the coordinates, got neither"
        )
    lazy = check_frame(frame)
    check_noise_as(noise, noise_as)
    pass_arguments_to(check_point_options)
    keys: dict[str, str] = check_partition_keys(lazy, partition_by, _COMPARED)
    if id is None and run is None:
        fields = _read_clusterings(lazy, clusters)
        names = pl.LazyFrame({"run_no": range(len(fields)), "clustering": list(fields)})
        rows = _Rows(lazy, list(fields.values()), names, keys, label, vector, options)
    else:
        rows = _read_long_rows(lazy, clusters, id, run, keys, label, vector, options)
    return to_user_frame(frame, _compare(rows, distance, missing, margin), keys)
