"""gap: the gap statistic, computed from the elbow tables of the data and of reference points.

Reference points are random points that form no clusters. For each coordinate i, column x_i contains
the values of the data points, and column z_i contains the values of the reference points. The
columns low_i and high_i contain the smallest and largest values of x_i in a partition. With the
method 'pca', low_i, high_i and z_i refer to coordinates along the principal components of the
partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, get_args

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    check_choice,
    check_column,
    check_column_names,
    check_frame,
    check_partition_keys,
    check_random_state,
    is_number,
    is_whole_number,
    key_columns,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.deferral import collect_now
from polars_clustereval.base.exact import to_double
from polars_clustereval.base.frames import aggregate_by, join_partitions, join_small, to_user_frame
from polars_clustereval.base.tables import table_function
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.internal.kernels.streams import map_stream
from polars_clustereval.internal.point_faults import point_fault_error
from polars_clustereval.internal.vectors import check_missing, check_vector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from polars_clustereval.base.checks import Column, Frame, Keys
    from polars_clustereval.internal.kernels.arrays import Floats
    from polars_clustereval.internal.vectors import Missing, Vector

ReferenceMethod = Literal["box", "pca"]
GapRule = Literal["firstSEmax", "Tibs2001SEmax", "globalSEmax", "firstmax", "globalmax"]
_RULES = get_args(GapRule)

Number = TypeVar("Number", pl.Expr, "NDArray[np.uint64]")


# ----------------------------------------------------------------------------------------------
# Checks
# ----------------------------------------------------------------------------------------------


def check_sweep_k(lazy: pl.LazyFrame, k: Column) -> pl.Expr:
    """Return the user's column of cluster counts, renamed to k; raise_bad_k checks its values."""
    expr = check_column(lazy, k, "k")
    dtype = lazy.select(expr).collect_schema()["k"]
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise _bad_k_error(f"a column of type {dtype}")
    return expr


def raise_bad_k(values: pl.DataFrame) -> None:
    """Raise an error unless k, the only column in `values`, contains only whole numbers >= 1."""
    [k] = values.get_columns()
    number = pl.col(k.name).cast(pl.Float64)
    whole = (number >= 1) & (number < 1e15) & (number == number.floor())
    bad = values.filter(~whole.fill_null(False))
    if bad.height:
        raise _bad_k_error(show_value(bad[k.name].sort(nulls_last=False)[0]))


def _bad_k_error(got: str) -> ClusterEvalError:
    """Return the error to raise if column k contains anything other than whole numbers >= 1."""
    return ClusterEvalError(
        f"k: expected whole numbers >= 1, got {got}; k is the number of clusters that was asked for"
    )


def read_sweep(
    table: pl.LazyFrame,
    parameter: str,
    keys: Mapping[str, str],
    columns: Sequence[str],
    reference_set: pl.Expr | None = None,
) -> pl.LazyFrame:
    """Return the keys, k and `columns` of `parameter`, a table of elbow or of gap_statistic.

    Collecting the result raises an error unless k is a whole number >= 1 that occurs once in each
    partition or, in a table of reference points, in each reference set, which becomes the column
    set.
    """
    check_column_names([*keys.values(), "k", *columns], parameter, table.collect_schema().names())
    sets = [] if reference_set is None else [reference_set.alias("set")]
    rows = table.select(*key_columns(keys), *sets, check_sweep_k(table, "k"), *columns)
    sweep, remedy = "a clustering", "partition_by tells clusterings apart"
    if sets:
        sweep, remedy = "a reference set", "reference_set and partition_by tell them apart"
    counts = rows.group_by(*keys, *(["set"] if sets else []), "k").agg(rows=pl.len())

    def check_one_row_per_k(counts: pl.DataFrame) -> None:
        """Raise an error for the first bad k in `counts`, a table with the number of rows per k."""
        raise_bad_k(counts.select("k"))
        repeated = counts.filter(pl.col("rows") > 1).sort("k").head(1)
        for k, n in repeated.select("k", "rows").iter_rows():
            raise ClusterEvalError(
                f"k: expected one row for each k of {sweep}, got {n} rows with {k:.0f}; {remedy}"
            )

    checked = raise_on_collect(rows, counts, check_one_row_per_k)
    return checked.with_columns(pl.col("k").cast(pl.Int64, strict=False))


# ----------------------------------------------------------------------------------------------
# Reference points
# ----------------------------------------------------------------------------------------------


# The divisors and factors of the three steps of _scramble.
_STEPS = ((2**16, 2146121005), (2**15, 2221713035), (2**16, 1))


def _scramble_step(x: Number, divisor: int, factor: int) -> Number:
    """Return (x xor (x // divisor)) * factor modulo 2^32, which is one step of _scramble."""
    return (x ^ (x // divisor)) * factor % 2**32


def _scramble(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Map each number below 2^32 to a pseudorandom number below 2^32.

    The function is lowbias32, Wellons' permutation of 32-bit numbers. All products are below 2^64,
    so no engine rounds them.
    """
    for divisor, factor in _STEPS:
        x = _scramble_step(x, divisor, factor)
    return x


def _scramble_columns(rows: pl.LazyFrame, columns: Sequence[str]) -> pl.LazyFrame:
    """Return the rows after applying _scramble to `columns` of UInt64 numbers below 2^32."""
    for divisor, factor in _STEPS:
        rows = rows.with_columns(_scramble_step(pl.col(name), divisor, factor) for name in columns)
    return rows


def _stream_keys(n_sets: int, n_dims: int, seed: int) -> pl.LazyFrame:
    """Return one row per reference set, with its number (starting at 1) and the keys c_0, c_1, ...

    The keys make the random numbers of each coordinate in each set independent of all others.
    """
    sets = np.arange(1, n_sets + 1, dtype=np.uint64)
    start = _scramble(np.array([seed], dtype=np.uint64))
    per_set = _scramble((start + sets) % 2**32)
    keys: dict[str, NDArray[np.uint64]] = {
        f"c_{i}": _scramble((per_set + np.uint64(i + 1)) % 2**32) for i in range(n_dims)
    }
    return pl.LazyFrame({"reference_set": sets.astype(np.int64), **keys})


def _columns(name: str, n_dims: int) -> list[str]:
    """Return the column names name_0, name_1, ..., one for each coordinate."""
    return [f"{name}_{i}" for i in range(n_dims)]


def _draw_points(boxes: pl.LazyFrame, n_dims: int, n_sets: int, seed: int) -> pl.LazyFrame:
    """Return n uniformly distributed points z_i for each combination of a box and a reference set.

    `boxes` contains n and the bounds low_i and high_i. Its columns are kept, and reference_set and
    id are added.
    """
    c, z = _columns("c", n_dims), _columns("z", n_dims)
    sets = boxes.join(_stream_keys(n_sets, n_dims, seed), how="cross")
    rows = sets.with_columns(id=pl.int_ranges(0, "n")).explode("id", empty_as_null=False)
    scrambled = (pl.col("id") % 2**32).cast(pl.UInt64).alias("scrambled_id")
    rows = _scramble_columns(rows.with_columns(scrambled), ["scrambled_id"])
    # Scrambling both before and after xor ensures that streams share no runs of numbers.
    rows = rows.with_columns(pl.col(c) ^ pl.col("scrambled_id"))
    rows = _scramble_columns(rows, c)
    numbers: dict[str, pl.Expr] = {}
    for i, name in enumerate(z):
        low, high = pl.col(f"low_{i}"), pl.col(f"high_{i}")
        uniform = (to_double(pl.col(f"c_{i}")) + 0.5) / 2.0**32
        numbers[name] = (low + (high - low) * uniform).clip(low, high)
    return rows.with_columns(**numbers)


class _Vectors(NamedTuple):
    """The vectors of a frame, with the partition columns in `keys` and coordinates x_0, x_1, ..."""

    rows: pl.LazyFrame
    keys: dict[str, str]
    n_dims: int
    #: Names of the columns of the coordinates, for error texts; empty unless each coordinate is a
    #: column.
    names: tuple[str, ...]

    @property
    def x(self) -> list[str]:
        """The names of the coordinate columns."""
        return _columns("x", self.n_dims)

    def bounding_boxes(self) -> pl.LazyFrame:
        """Return n, n_bad and each coordinate's bounds (low_i and high_i) for each partition."""
        extremes = {f"low_{i}": pl.col(x).min() for i, x in enumerate(self.x)}
        extremes |= {f"high_{i}": pl.col(x).max() for i, x in enumerate(self.x)}
        finite = pl.all_horizontal([pl.col(x).is_finite().fill_null(False) for x in self.x])
        bad = ~finite | (pl.col("length") != self.n_dims)
        for i in range(self.n_dims):
            overflows = ~(extremes[f"high_{i}"] - extremes[f"low_{i}"]).is_finite()
            extremes["n_bad"] = extremes.get("n_bad", bad.sum().cast(pl.Int64)) + overflows
        terms = {"n": pl.len().cast(pl.Int64), **extremes}
        return aggregate_by(self.rows, list(self.keys), terms).cache()

    def with_fault_check(self, frame: pl.LazyFrame, boxes: pl.LazyFrame) -> pl.LazyFrame:
        """Return `frame`, whose collection raises an error if `boxes` count an invalid vector."""

        def raise_at_bad_vectors(n_bad: pl.DataFrame) -> None:
            """Raise an error unless the single value in the frame `n_bad` is 0."""
            if n_bad.item():
                raw = [pl.col(x) for x in self.x]
                raise point_fault_error(self.rows, raw, self.names, self.keys)

        return raise_on_collect(frame, boxes.select(pl.col("n_bad").sum()), raise_at_bad_vectors)


def _read_vectors(
    frame: pl.DataFrame | pl.LazyFrame, vector: Vector, partition_by: Keys, missing: Missing
) -> _Vectors:
    """Return the rows of the user's frame that have a vector."""
    lazy = check_frame(frame)
    keys = check_partition_keys(lazy, partition_by, ("reference_set", "id", "point"))
    coordinates = check_vector(lazy, vector, pl.lit(True), missing)
    rows = lazy.select(
        *key_columns(keys),
        coordinates.length.cast(pl.Int64).alias("length"),
        coordinates.has_vector.fill_null(False).alias("has_vector"),
        **{f"x_{i}": to_double(x) for i, x in enumerate(coordinates.exprs)},
    )
    return _Vectors(rows.filter("has_vector"), keys, len(coordinates.exprs), coordinates.names)


# ----------------------------------------------------------------------------------------------
# Principal components
# ----------------------------------------------------------------------------------------------


class _Axes(NamedTuple):
    """The principal components of each of a frame's p partitions, which are numbered from 0."""

    #: One row per partition: its number, the partition columns and n.
    partitions: pl.DataFrame
    #: (p, d): the means of the coordinates.
    means: Floats
    #: (p, d, d): orthogonal matrices, whose columns are the components.
    components: Floats


def _principal_axes(points: _Vectors) -> _Axes:
    """Return the principal components of each partition.

    The sign of a component is chosen so that its coefficient of largest magnitude is positive.
    """
    keys, d = list(points.keys), points.n_dims
    means = {f"m_{i}": pl.col(x).mean() for i, x in enumerate(points.x)}
    boxes = points.bounding_boxes().select(*keys, "n", "n_bad")
    checked = points.with_fault_check(boxes, boxes)
    joined = join_partitions(checked, keys, aggregate_by(points.rows, keys, means))
    kept = collect_now(joined.filter(pl.col("n") > 0))
    centers = kept.with_row_index("number")
    rows = _number_rows(points, centers, _columns("m", d))
    centered = [pl.col(x) - pl.col(f"m_{i}") for i, x in enumerate(points.x)]
    products = {
        f"s_{i}_{j}": (centered[i] * centered[j]).sum() for i in range(d) for j in range(i + 1)
    }
    sums = collect_now(rows.group_by("number").agg(**products).sort("number"))
    scatter = np.empty((centers.height, d, d))
    for i in range(d):
        for j in range(i + 1):
            scatter[:, i, j] = scatter[:, j, i] = sums[f"s_{i}_{j}"].to_numpy()
    components, _, _ = np.linalg.svd(scatter, hermitian=True)
    largest = np.take_along_axis(components, np.abs(components).argmax(1)[:, None], 1)
    matrix = centers.select(_columns("m", d)).to_numpy()
    return _Axes(centers.select("number", *keys, "n"), matrix, components * np.sign(largest))


def _number_rows(
    points: _Vectors, partitions: pl.DataFrame, more: Sequence[str] = ()
) -> pl.LazyFrame:
    """Add the column number and the columns in `more` from `partitions` to the points."""
    table = partitions.lazy().select(*points.keys, "number", *more)
    if points.keys:
        return join_small(points.rows, list(points.keys), table)
    return table.join(points.rows, how="cross")


def _rotated_boxes(points: _Vectors, axes: _Axes) -> pl.LazyFrame:
    """Return n and the bounds low_i and high_i along the principal components of each partition."""
    d = points.n_dims
    names = [*_columns("low", d), *_columns("high", d)]
    schema = pl.Schema({"number": pl.UInt32(), **dict.fromkeys(names, pl.Float64())})

    def extremes(batch: pl.DataFrame) -> pl.DataFrame:
        """Return a batch's minima and maxima along the components, with one row per partition."""
        numbers = batch["number"].to_numpy()
        x = batch.select(points.x).to_numpy()
        rows = []
        for number in np.unique(numbers):
            z = (x[numbers == number] - axes.means[number]) @ axes.components[number]
            rows.append(np.concatenate([[number], z.min(0), z.max(0)]))
        return pl.DataFrame(np.array(rows).reshape(-1, 1 + 2 * d), [*schema]).cast(schema)

    batches = map_stream(
        _number_rows(points, axes.partitions).select("number", *points.x), extremes, schema
    )
    terms = {f"low_{i}": pl.col(f"low_{i}").min() for i in range(d)}
    terms |= {f"high_{i}": pl.col(f"high_{i}").max() for i in range(d)}
    boxes = batches.group_by("number").agg(**terms)
    return axes.partitions.lazy().join(boxes, on="number")


def _rotate_back(rows: pl.LazyFrame, n_dims: int, axes: _Axes) -> pl.LazyFrame:
    """Return the rows with z_i converted from principal components to the original coordinates."""
    z = _columns("z", n_dims)

    def rotate(batch: pl.DataFrame) -> pl.DataFrame:
        """Return a batch of points converted to the user's coordinates."""
        numbers, components = batch["number"].to_numpy(), batch.select(z).to_numpy()
        points = np.empty(components.shape)
        for number in np.unique(numbers):
            own = numbers == number
            points[own] = components[own] @ axes.components[number].T + axes.means[number]
        return batch.with_columns(pl.Series(name, points[:, i]) for i, name in enumerate(z))

    return map_stream(rows, rotate, rows.collect_schema())


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("points alone", guide="choosing_k", order=("reference_set", "id"))
def uniform_reference(
    frame: Frame,
    vector: Vector,
    n_sets: int = 10,
    method: ReferenceMethod = "box",
    random_state: int = 0,
    partition_by: Keys = None,
    missing: Missing = "error",
) -> Frame:
    """Random points that form no clusters, drawn uniformly from the range of the data.

    Parameters
    ----------
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. A row
        is left out if its vector is NULL or if all of its coordinate columns are NULL.
    n_sets : int
        The number of reference sets, at least 1. The function gap_statistic needs at least 2 sets,
        and the authors of the statistic use many more.
    method : {'box', 'pca'}
        The points are drawn uniformly from the bounding box of the data. The sides of the box are
        parallel to the coordinate axes ('box') or to the principal components of the data ('pca').
        The method 'pca' is available only in Python, because the SQL macro cannot decompose
        matrices. With 'pca', the sums of the coordinates and of their products are computed before
        any points are drawn.
    random_state : int
        The random seed, a whole number >= 0.
    frame, partition_by, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition, reference set and point, sorted in this
        order. The columns are the partition columns, reference_set (numbered from 1), id (numbered
        from 0) and point (a list of numbers). Each reference set has as many points as its
        partition. With 'box', each number has 32 random bits and is identical in every engine, to
        the last bit. Relative to the box, the same numbers are drawn in every partition, so no
        partition depends on the others. A constant coordinate stays constant. If there are no rows,
        the result is empty.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if vector does not contain numbers, or if an option is unknown
        or out of range. When you collect the result, an error is raised if a coordinate is NULL,
        NaN or infinite, or if vectors differ in length.

    Notes
    -----
    In SQL: ``FROM clustereval.uniform_reference(tbl, [x, y])``.

    References
    ----------
    Tibshirani, Walther and Hastie (2001), Estimating the number of clusters in a data set via the
    gap statistic, doi:10.1111/1467-9868.00293. Wellons (2018), Prospecting for hash functions,
    nullprogram.com/blog/2018/07/31, for the permutation that generates the numbers.

    Examples
    --------
    >>> points = pl.DataFrame({"x": [0, 1, 8], "y": [5, 5, 5]})
    >>> reference = ce.uniform_reference(points, ["x", "y"], n_sets=1)
    >>> reference.select("id", pl.col("point").list.eval(pl.element().round(3))).rows()
    [(0, [1.491, 5.0]), (1, [0.634, 5.0]), (2, [5.642, 5.0])]
    """
    if not (is_whole_number(n_sets, 1) and int(n_sets) < 10**15):
        raise ClusterEvalError(f"n_sets: expected a whole number >= 1, got {show_value(n_sets)}")
    check_choice("method", method, get_args(ReferenceMethod))
    seed = check_random_state(random_state)
    points = _read_vectors(frame, vector, partition_by, check_missing(missing))
    names: list[str] = list(points.keys)
    d = points.n_dims
    draw = (d, int(n_sets), seed)
    if method == "pca":
        axes = _principal_axes(points)
        rows = _rotate_back(_draw_points(_rotated_boxes(points, axes), *draw), d, axes)
    else:
        boxes = points.bounding_boxes()
        kept = boxes.filter(pl.col("n") > 0).drop("n_bad")
        rows = points.with_fault_check(_draw_points(kept, *draw), boxes)
    rows = rows.select(
        *names, "reference_set", "id", pl.concat_list(_columns("z", d)).alias("point")
    )
    order = [*names, "reference_set", "id"]
    return to_user_frame(frame, rows.sort(order, nulls_last=True), points.keys)


def _expected_logs(reference: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return mean and sd of log_ssw for each partition and k, or NULL if it is NULL in any set.

    The column n_sets contains the number of reference sets in the partition, and n_sets_of_k
    contains how many of these sets include this k. The divisor of sd is n_sets.
    """
    log = pl.col("log_ssw")
    complete = log.null_count() == 0
    by_k = reference.group_by(*keys, "k").agg(
        n_sets_of_k=pl.len().cast(pl.Int64),
        mean=pl.when(complete).then(log.mean()),
        sd=pl.when(complete).then((log - log.mean()).pow(2).mean().sqrt()),
    )
    sets = reference.select(*keys, "set").unique()
    counts = aggregate_by(sets, keys, {"n_sets": pl.len().cast(pl.Int64)})
    return join_partitions(by_k, keys, counts)


def _raise_unmatched(pairs: pl.DataFrame) -> None:
    """Raise an error unless both tables and all of several sets have the same values of k.

    The columns observed_k and expected_k contain k if the table of the data or of the reference
    points has it, and NULL otherwise.
    """
    same = "k: expected the same values in both tables, got"
    few = "reference_set: expected at least 2 reference sets, got"
    lacking = "k: expected every value in every reference set, got"
    observed, expected = pl.col("observed_k"), pl.col("expected_k")
    n_sets, of_k = pl.col("n_sets"), pl.col("n_sets_of_k")
    faults = {
        same + " {k} in the first only": expected.is_null(),
        same + " {k} in the reference only": observed.is_null(),
        few + " {n_sets}": n_sets < 2,
        lacking + " {k} in {n_sets_of_k} of {n_sets} sets": of_k < n_sets,
    }
    rows = pairs.with_columns(pl.coalesce(observed, expected).alias("k")).sort("k")
    for text, is_fault in faults.items():
        for row in rows.filter(is_fault).head(1).iter_rows(named=True):
            raise ClusterEvalError(text.format(**row))


def _choose_by_rule(rows: pl.LazyFrame, keys: list[str], rule: str, factor: float) -> pl.LazyFrame:
    """Add is_choice, which marks the chosen k and is NULL if any gap of the partition is NULL."""
    gap, error, k = pl.col("gap"), pl.col("gap_se"), pl.col("k")
    next_gap = gap.shift(-1).over(keys, order_by="k")
    next_error = error.shift(-1).over(keys, order_by="k")
    # The peak is the first local maximum or the global maximum. For Tibshirani's rule, it is the k
    # that this rule chooses.
    is_peak = {
        "globalmax": gap == gap.max().over(keys),
        "tibs2001semax": (gap >= next_gap - factor * next_error).fill_null(True),
        "firstmax": (gap >= next_gap).fill_null(True),
    }
    kind = rule.replace("semax", "max") if rule != "tibs2001semax" else rule
    rows = rows.with_columns(is_peak=is_peak[kind])
    rows = rows.with_columns(peak=k.filter("is_peak").min().over(keys))
    allowance = factor * error if rule in ("firstsemax", "globalsemax") else 0.0
    threshold = (gap - allowance).filter(k == pl.col("peak")).max().over(keys)
    rows = rows.with_columns(threshold=threshold)
    is_high = gap >= pl.col("threshold")
    choice = pl.col("peak") if rule == "tibs2001semax" else k.filter(is_high).min().over(keys)
    complete = (gap.null_count() == 0).over(keys)
    return rows.with_columns(is_choice=pl.when(complete).then(k == choice))


@table_function("curves", guide="choosing_k", order=("k",))
def gap_statistic(
    frame: Frame,
    reference: pl.DataFrame | pl.LazyFrame,
    reference_set: Column = "reference_set",
    rule: GapRule = "Tibs2001SEmax",
    se_factor: float = 1,
    partition_by: Keys = None,
) -> Frame:
    """Gap statistic for each k: how far ln(ssw) is below its mean for points without clusters.

    gap is the mean of ln(ssw) over the reference sets minus ln(ssw) of the data. Higher gaps are
    better.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The elbow table of the data, as returned by elbow.
    reference : DataFrame or LazyFrame
        The elbow table of the reference points from uniform_reference, computed with
        partition_by=reference_set. Cluster the reference points in the same way as the data.
    reference_set : str or Expr
        The column of `reference` that contains the number of the reference set.
    rule : {'firstSEmax', 'Tibs2001SEmax', 'globalSEmax', 'firstmax', 'globalmax'}
        The rule for choosing k, which is not case-sensitive. The rule 'Tibs2001SEmax', proposed by
        the authors of the statistic, chooses the smallest k whose gap is at least the next gap
        minus the error of the next gap. If there is no such k, the last k is chosen. The rule
        'firstmax' chooses the first local maximum, and 'globalmax' chooses the global maximum. The
        rule 'firstSEmax' chooses the smallest k whose gap is at least the first local maximum minus
        its error. The rule 'globalSEmax' chooses the smallest k whose gap is at least the global
        maximum minus its error. A gap is also a local maximum if it is equal to the next gap, or if
        it is the last gap of a rising curve.
    se_factor : float
        The error used in the rules is gap_se times se_factor, where se_factor must be >= 0.
    partition_by : str, Expr or sequence of these, optional
        Columns in both frames that define groups to be evaluated separately. NULL is also a group.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition and k, sorted by partition and k. The
        columns are the partition columns, k, gap and the following:

        * log_ssw is ln(ssw) of the data.
        * expected_log_ssw is the mean of ln(ssw) over the reference sets.
        * gap_se is the standard deviation of ln(ssw) over the B reference sets, computed with the
          divisor B and multiplied by sqrt(1 + 1/B).
        * is_choice is true for the chosen k.

        In the rules, the next k is the k in the next row. If an ssw is 0, its logarithm and all
        values that depend on it are NULL, and is_choice is NULL in all rows of the partition.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or an option is unknown. When you collect the result, an error is
        raised if k is NULL or not a whole number >= 1, or if a clustering or reference set has two
        rows with the same k. An error is also raised if the two frames or the reference sets do not
        have the same values of k, or if there is only one reference set.

    Notes
    -----
    The rules follow the documentation of maxSE in the R package cluster. With d.power = 2, the
    package's measure of dispersion is half of ssw, so the gaps are the same.
    In SQL: ``FROM clustereval.gap_statistic(tbl, reference, reference_set)``.

    References
    ----------
    Tibshirani, Walther and Hastie (2001), doi:10.1111/1467-9868.00293. Dudoit and Fridlyand (2002),
    doi:10.1186/gb-2002-3-7-research0036, for 'globalSEmax'.

    Examples
    --------
    >>> observed = pl.DataFrame({"k": [1, 2, 3], "ssw": [8.0, 1.0, 0.5]})
    >>> reference = pl.DataFrame(
    ...     {"reference_set": [1, 1, 1, 2, 2, 2], "k": [1, 2, 3] * 2, "ssw": [8.0, 2.0, 1.0] * 2}
    ... )
    >>> gaps = ce.gap_statistic(observed, reference)
    >>> gaps.select("k", pl.col("gap").round(3), "gap_se", "is_choice").rows()
    [(1, 0.0, 0.0, False), (2, 0.693, 0.0, True), (3, 0.693, 0.0, False)]
    """
    name = str(rule).lower()
    if name not in map(str.lower, _RULES):
        check_choice("rule", rule, _RULES)
    if not (is_number(se_factor) and 0 <= float(str(se_factor)) < 1e150):
        raise ClusterEvalError(f"se_factor: expected a number >= 0, got {show_value(se_factor)}")
    lazy, other = check_frame(frame), check_frame(reference)
    keys: dict[str, str] = check_partition_keys(lazy, partition_by, ("k", *_GAP_COLUMNS))
    # read_sweep checks them too, but only after the reference set and the first table's k.
    for table, parameter in ((lazy, "frame"), (other, "reference")):
        names = table.collect_schema().names()
        check_column_names([*keys.values(), "k", "ssw"], parameter, names)
    number = check_column(other, reference_set, "reference_set")
    by: list[str] = list(keys) or ["whole"]
    ssw = to_double(pl.col("ssw"))
    log_ssw = pl.when(ssw > 0).then(ssw.log()).alias("log_ssw")
    more = [log_ssw] if keys else [log_ssw, pl.lit(0).alias("whole")]
    observed = read_sweep(lazy, "frame", keys, ["ssw"]).with_columns(more)
    expected = read_sweep(other, "reference", keys, ["ssw"], number).with_columns(more)
    logs = _expected_logs(expected, by)
    pairs = (
        observed.with_columns(observed_k="k")
        .join(
            logs.with_columns(expected_k="k"),
            on=[*by, "k"],
            how="full",
            nulls_equal=True,
            coalesce=True,
        )
        .cache()
    )
    facts = pairs.select("observed_k", "expected_k", "n_sets", "n_sets_of_k")
    n_sets = to_double(pl.col("n_sets"))
    rows = raise_on_collect(pairs, facts, _raise_unmatched).with_columns(
        expected_log_ssw="mean",
        gap=pl.col("mean") - pl.col("log_ssw"),
        gap_se=pl.col("sd") * (1 + 1 / n_sets).sqrt(),
    )
    rows = _choose_by_rule(rows, by, name, float(se_factor)).select(*keys, "k", *_GAP_COLUMNS)
    return to_user_frame(frame, rows.sort(*keys, "k", nulls_last=True), keys)


_GAP_COLUMNS = ("log_ssw", "expected_log_ssw", "gap", "gap_se", "is_choice")
