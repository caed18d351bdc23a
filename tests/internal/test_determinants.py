"""The indices of determinants in every engine: fractions, numpy, and what must not change."""

import math
from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.engines import make
from tests.support.point_engines import call

NOTHING = (None,) * 5
INDICES = ("det_ratio", "log_det_ratio", "ksq_detw_index", "scott_symons_index", "trace_wib")


def frame(points, cluster, key=None):
    points = np.asarray(points, dtype=float)
    columns = {f"d{i}": points[:, i] for i in range(points.shape[1])}
    return pl.DataFrame(
        {
            **columns,
            "key": pl.Series([None] * len(points) if key is None else key, dtype=pl.String),
            "cluster": cluster if isinstance(cluster, pl.Series) else pl.Series(list(cluster)),
        }
    )


def dims_of(data):
    return [name for name in data.columns if name.startswith("d")]


def report(engine, data, **options):
    """Return {key: indices}, with the key None if there are no keys."""
    rows = call(engine, "determinant_report", data, dims_of(data), partition_by="key", **options)
    return {row["key"]: tuple(row[name] for name in INDICES) for row in rows}


def one(engine, points, cluster):
    (values,) = report(engine, frame(points, cluster)).values()
    return values


def same(found, expected, rel=1e-12):
    assert len(found) == len(expected) == 5
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert (x is None) == (y is None), (i, found, expected)
        if x is not None:
            assert type(x) is float
            assert math.isfinite(x)
            assert math.isclose(x, y, rel_tol=rel, abs_tol=1e-300), (i, found, expected)


# ----------------------------------------------------------------------------------------------
# The definitions (Desgraupes, clusterCrit), in fractions
# ----------------------------------------------------------------------------------------------


def mean(points):
    return [sum(column) / Fraction(len(points)) for column in zip(*points, strict=True)]


def scatter(points, c):
    p = range(len(c))
    return [[sum((x[i] - c[i]) * (x[j] - c[j]) for x in points) for j in p] for i in p]


def plus(x, y):
    return [[a + b for a, b in zip(r, s, strict=True)] for r, s in zip(x, y, strict=True)]


def solved(a, b):
    """Return (det(a), a^-1 b) by Gauss-Jordan, the latter None if a is singular."""
    p, rows, det = len(a), [[*r, *s] for r, s in zip(a, b, strict=True)], Fraction(1)
    for j in range(p):
        pivot = next((i for i in range(j, p) if rows[i][j] != 0), None)
        if pivot is None:
            return Fraction(0), None
        if pivot != j:
            rows[j], rows[pivot], det = rows[pivot], rows[j], -det
        det *= rows[j][j]
        rows[j] = [x / rows[j][j] for x in rows[j]]
        for i in range(p):
            if i != j:
                rows[i] = [x - rows[i][j] * y for x, y in zip(rows[i], rows[j], strict=True)]
    return det, [row[p:] for row in rows]


def log(x):
    return (
        math.log1p(x - 1) if abs(x - 1) < 0.5 else math.log(x.numerator) - math.log(x.denominator)
    )


def exact(points, cluster):
    points = [tuple(map(Fraction, x)) for x in points]
    groups = {}
    for x, c in zip(points, cluster, strict=True):
        groups.setdefault(c, []).append(x)
    n, k, p = len(points), len(groups), len(points[0])
    within, between, scott = [[0] * p] * p, [[0] * p] * p, 0.0
    for members in groups.values():
        centroid, size = mean(members), len(members)
        own = scatter(members, centroid)
        within = plus(within, own)
        apart = scatter([centroid], mean(points))
        between = plus(between, [[size * x for x in row] for row in apart])
        det, _ = solved([[x / size for x in row] for row in own], own)
        scott = None if scott is None or det == 0 else scott + size * log(det)
    det_t, _ = solved(scatter(points, mean(points)), within)
    det_w, ratio = solved(within, between)
    if det_w == 0:
        return (None, None, None, scott, None)
    trace = sum(ratio[i][i] for i in range(p))
    return (float(det_t / det_w), n * log(det_t / det_w), float(k * k * det_w), scott, float(trace))


@pytest.mark.parametrize("seed", range(40))
def test_fractions(engine, seed):
    r = np.random.default_rng(seed)
    p, k = int(r.integers(1, 5)), int(r.integers(1, 5))
    n = int(r.integers(1, 40))
    points = r.integers(-5, 6, (n, p))
    if seed % 4 == 0 and p > 1:
        points[:, -1] = points[:, :-1] @ r.integers(-3, 4, p - 1)
    cluster = r.integers(0, k, n).tolist()
    same(one(engine, points, cluster), exact(points.tolist(), cluster), rel=1e-11)


# By hand: W = diag(2, 2), B = 4 * diag(25, 0), T = diag(102, 2); each WG / 2 is of rank 1.
HAND = [(0, 0), (0, 1), (1, 0), (1, 1), (10, 0), (10, 1), (11, 0), (11, 1)]


def test_by_hand(engine):
    # W = diag(2, 2), B = diag(200, 0), T = diag(202, 2), WG_k / 4 = diag(1/4, 1/4).
    expected = (101.0, 8 * math.log(101), 16.0, 8 * math.log(1 / 16), 100.0)
    same(one(engine, HAND, [0] * 4 + [1] * 4), expected)


def test_equal_centroids_give_exactly_one(engine):
    points = [(0.1, 0.2), (0.3, 0.7), (0.2, 0.5), (0.4, 0.1)] * 2
    det_ratio, log_det_ratio, _, scott, trace = one(engine, points, [0] * 4 + [1] * 4)
    assert (det_ratio, log_det_ratio, trace) == (1.0, 0.0, 0.0)
    assert scott is not None


# ----------------------------------------------------------------------------------------------
# Degenerate
# ----------------------------------------------------------------------------------------------

LINE = [(float(i), 2.0 * i) for i in range(6)]
DEGENERATE = {
    "one point": ([(1.0, 2.0)], [0], NOTHING),
    "one point, one dimension": ([(3.0,)], [0], NOTHING),
    "all points equal": ([(0.1, 0.3)] * 9, [0, 1, 2] * 3, NOTHING),
    "all points equal in one cluster": ([(0.1,)] * 7, [0] * 7, NOTHING),
    "a constant coordinate": ([(i * 0.7, 0.1) for i in range(9)], [0, 1, 2] * 3, NOTHING),
    "collinear": (LINE, [0, 0, 0, 1, 1, 1], NOTHING),
    "collinear, one cluster": (LINE, [0] * 6, NOTHING),
    "singletons": (HAND, list(range(8)), NOTHING),
    "within on one line, between not": (
        [(0, 0), (1, 0), (2, 0), (0, 9), (1, 9), (2, 9)],
        [0, 0, 0, 1, 1, 1],
        NOTHING,
    ),
    # One dimension, one cluster: T = W = 2.
    "one cluster": ([(0.0,), (1.0,), (2.0,)], [0] * 3, (1.0, 0.0, 2.0, 3 * math.log(2 / 3), 0.0)),
    "n - k < p": ([(0, 0), (1, 1), (5, 5), (9, 0)], [0, 0, 1, 2], NOTHING),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate(engine, case):
    points, cluster, expected = DEGENERATE[case]
    same(one(engine, points, cluster), expected)


def test_small_cluster_takes_scott_symons_only(engine):
    points = [*HAND, (5, 5), (6, 7)]
    cluster = [0] * 4 + [1] * 4 + [2] * 2
    found = one(engine, points, cluster)
    same(found, exact(points, cluster))
    assert found[3] is None
    assert None not in (found[0], found[1], found[2], found[4])


def test_singles_are_clusters(engine):
    points = [*HAND, (5, 5), (6, 7)]
    data = frame(points, [0] * 4 + [1] * 4 + [-1] * 2)
    (found,) = report(engine, data, noise=-1, noise_as="singletons").values()
    same(found, exact(points, [0] * 4 + [1] * 4 + [2, 3]))


@pytest.mark.parametrize("seed", range(12))
def test_singular_whatever_rounding_says(engine, seed):
    """A coordinate depends on the others, with coefficients that rounding does not spare."""
    r = np.random.default_rng(seed)
    p = (3, 5, 10, 20)[seed % 4]
    n = 2000
    cluster = r.integers(0, 3, n)
    points = np.round(r.normal(size=(n, p - 1)) * 10 * r.lognormal(size=p - 1))
    points += r.integers(-50, 50, (3, p - 1))[cluster]
    dependent = points @ r.integers(-999, 1000, p - 1)
    points = np.insert(points, seed % p, dependent, axis=1)
    if seed > 5:
        points += 1e8
    same(one(engine, points, cluster.tolist()), NOTHING)


def test_singular_with_many_rows(engine):
    r = np.random.default_rng(1)
    x = r.exponential(size=(200_000, 2))
    points = np.column_stack([x, 3 * x[:, 0] - 7 * x[:, 1]])
    same(one(engine, points, r.integers(0, 2, len(x)).tolist()), NOTHING)


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_determinants_out_of_range(engine, scale):
    r = np.random.default_rng(2)
    points, cluster = r.normal(size=(300, 30)), [0, 1, 2] * 100
    plain, scaled = (one(engine, points * s, cluster) for s in (1, scale))
    assert scaled[2] is None
    same(
        [x for i, x in enumerate(scaled) if i in (0, 1, 4)] + [0.0] * 2,
        [x for i, x in enumerate(plain) if i in (0, 1, 4)] + [0.0] * 2,
        rel=1e-9,
    )
    shift = 300 * 30 * 2 * math.log(scale)
    assert math.isclose(scaled[3], plain[3] + shift, rel_tol=1e-12)


def test_no_points(engine):
    empty = frame(np.empty((0, 2)), pl.Series([], dtype=pl.Int64))
    assert report(engine, empty) == {}


# ----------------------------------------------------------------------------------------------
# Random data
# ----------------------------------------------------------------------------------------------


def by_numpy(points, cluster):
    n, p = points.shape
    labels = np.unique(cluster)
    centered = points - points.mean(axis=0)
    within, between, scott = np.zeros((p, p)), np.zeros((p, p)), 0.0
    for c in labels:
        own = centered[cluster == c]
        centroid = own.mean(axis=0)
        scatter_c = (own - centroid).T @ (own - centroid)
        within += scatter_c
        between += len(own) * np.outer(centroid, centroid)
        scott += len(own) * np.linalg.slogdet(scatter_c / len(own))[1]
    log_w = np.linalg.slogdet(within)[1]
    log_ratio = np.linalg.slogdet(centered.T @ centered)[1] - log_w
    return (
        math.exp(log_ratio),
        n * log_ratio,
        len(labels) ** 2 * math.exp(log_w),
        scott,
        float(np.trace(np.linalg.solve(within, between))),
    )


def blobs(seed, n, p, k, spread=1.0):
    r = np.random.default_rng(seed)
    cluster = r.integers(0, k, n)
    mixed = r.normal(size=(n, p)) @ r.normal(size=(p, p))
    return mixed + spread * r.normal(size=(k, p))[cluster], cluster


@pytest.mark.parametrize(("n", "p", "k"), [(300, 1, 2), (500, 3, 4), (2000, 8, 5), (3000, 32, 6)])
def test_numpy(engine, n, p, k):
    points, cluster = blobs(n, n, p, k)
    same(one(engine, points, cluster.tolist()), by_numpy(points, cluster), rel=1e-9)


@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_shift(engine, spread):
    points, cluster = blobs(5, 4000, 4, 5, spread)
    # On a grid that 1e8 leaves whole: nothing is lost by the shift itself.
    points = np.round(points * 2**20) / 2**20
    found = one(engine, points + 1e8, cluster.tolist())
    same(found, one(engine, points, cluster.tolist()), rel=1e-9)
    free, _ = blobs(6, 4000, 4, 5, spread)
    same(one(engine, free + 1e8, cluster.tolist()), one(engine, free, cluster.tolist()), rel=1e-6)


def test_faint_clusters(engine):
    """The logarithm keeps its digits where |T| is all but |W|."""
    x = [-3, -1, 1, 3]
    points = [(a, b) for a in x for b in x]
    cluster = [0] * 16 + [1] * 16
    far = [*points, *((a + Fraction(1, 2**20), b) for a, b in points)]
    found = one(engine, [(float(a), float(b)) for a, b in far], cluster)
    same(found, exact(far, cluster), rel=1e-11)
    assert 0 < found[1] < 1e-11


def test_tiny_cluster_beside_wide_one(engine):
    r = np.random.default_rng(4)
    points, cluster = r.integers(-99, 100, (80, 2)).astype(float), [0] * 40 + [1] * 40
    points[40:] *= 2.0**-40
    points[40:, 0] += 2.0
    same(one(engine, points, cluster), exact(points.tolist(), cluster), rel=1e-10)


# ----------------------------------------------------------------------------------------------
# Nearly collinear columns
# ----------------------------------------------------------------------------------------------


def collinear_within(seed, p, noise, spread=3.0):
    """Return points and clusters; in each cluster, column 1 is nearly twice column 0."""
    r = np.random.default_rng(seed)
    cluster = r.integers(0, 3, 60)
    points = r.normal(size=(60, p))
    points[:, 1] = 2 * points[:, 0] + noise * r.normal(size=60)
    return points + spread * r.normal(size=(3, p))[cluster], cluster.tolist()


def collinear_overall(seed, p, noise):
    """Return points and clusters; all columns are nearly multiples of column 0."""
    r = np.random.default_rng(seed)
    cluster = r.integers(0, 3, 60)
    x = r.normal(size=60) + 3 * r.normal(size=3)[cluster]
    return np.outer(x, np.arange(1, p + 1)) + noise * r.normal(size=(60, p)), cluster.tolist()


@pytest.mark.parametrize("make_points", [collinear_within, collinear_overall])
@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("p", [2, 5])
@pytest.mark.parametrize("exponent", range(2, 9))
def test_nearly_collinear(engine, exponent, p, shift, make_points):
    """The relative error is that of the coordinates' last digit in the noise."""
    noise = 10.0**-exponent
    points, cluster = make_points(exponent + p, p, noise)
    points += shift
    expected = exact(points.tolist(), cluster)
    assert None not in expected
    same(one(engine, points, cluster), expected, rel=max(1e-12, 2e-15 / noise))


def test_two_relations_of_five_columns(engine):
    r = np.random.default_rng(1)
    points, cluster = collinear_within(1, 5, 1e-5)
    points[:, 4] = points[:, 1] - points[:, 0] + points[:, 2] + 1e-7 * r.normal(size=60)
    same(one(engine, points, cluster), exact(points.tolist(), cluster), rel=1e-8)


@pytest.mark.parametrize("spread", [100.0, 1e4])
def test_clusters_far_apart(engine, spread):
    """|T| / |W| keeps its digits, though B is far larger than W and has fewer dimensions."""
    points, cluster = collinear_within(3, 5, 1e-3, spread)
    expected = exact(points.tolist(), cluster)
    assert expected[0] > 1e12
    same(one(engine, points, cluster), expected, rel=spread * 1e-13)


@pytest.mark.parametrize("n_columns", [9, 30])
def test_nearly_collinear_among_many_columns(engine, n_columns):
    r = np.random.default_rng(2)
    points, cluster = r.normal(size=(400, n_columns)), [0, 1, 2, 3] * 100
    points[:, -1] = points[:, :3].sum(axis=1) + 1e-6 * points[:, -1]
    # The determinant is that of the noise.
    noise = points.copy()
    noise[:, -1] -= points[:, :3].sum(axis=1)
    same(one(engine, points, cluster), by_numpy(noise, np.array(cluster)), rel=1e-8)


@pytest.mark.parametrize("shift", [0.0, 1e6, 1e8])
@pytest.mark.parametrize("copies", [1, 30])
def test_collinear_is_singular_at_any_shift(engine, shift, copies):
    r = np.random.default_rng(5)
    x = r.normal(size=(60, 3)) + shift
    points = np.tile(np.column_stack([x, 2 * x[:, 0]]), (copies, 1))
    same(one(engine, points, [0, 1, 2] * 20 * copies), NOTHING)


def test_rounded_combination_is_singular(engine):
    """Columns are collinear up to their last digit, in clusters 1,000 times as far as wide."""
    points, cluster = blobs(3, 500, 4, 3, spread=1e3)
    points[:, 2] = 0.1 * points[:, 0] - 0.7 * points[:, 3]
    same(one(engine, points, cluster.tolist()), NOTHING)


# ----------------------------------------------------------------------------------------------
# Partitions
# ----------------------------------------------------------------------------------------------


def test_partitions(engine):
    keys = ["a", "b", None, "small", "line"]
    frames, alone = [], {}
    for i, key in enumerate(keys):
        points, cluster = blobs(i, 120, 3, 4)
        if key == "small":
            points, cluster = points[:5], cluster[:5]
        if key == "line":
            points[:, 1] = points[:, 0]
        frames.append(frame(points, [f"c{c}" for c in cluster], key=[key] * len(points)))
        alone[key] = one(engine, points, cluster.tolist())
    found = report(engine, pl.concat(frames).sample(fraction=1, shuffle=True, seed=1))
    assert found.keys() == alone.keys()
    for key in keys:
        same(found[key], alone[key], rel=1e-11)
    assert found["line"] == NOTHING


def test_two_keys_and_none():
    points, cluster = blobs(3, 400, 3, 4)
    data = frame(points, cluster.tolist()).with_columns(
        a=pl.int_range(400) % 2, b=pl.when(pl.int_range(400) < 200).then(pl.lit("x"))
    )
    dims = ["d0", "d1", "d2"]
    rows = ce.determinant_report(data, dims, "cluster", partition_by=["a", "b"])
    indices = rows.select("a", "b", *INDICES).rows()
    assert {row[:2] for row in indices} == {(0, "x"), (1, "x"), (0, None), (1, None)}
    for a, b, *values in indices:
        part = data.filter((pl.col("a") == a) & pl.col("b").eq_missing(pl.lit(b, pl.String)))
        alone = ce.determinant_report(part, dims, "cluster").select(INDICES).row(0)
        same(values, alone, rel=1e-11)


def lazy_report(data):
    return ce.determinant_report(data.lazy(), dims_of(data), "cluster", partition_by="key")


def test_results_can_be_filtered_and_selected():
    points, cluster = blobs(3, 100, 3, 2)
    result = lazy_report(frame(points, cluster.tolist()))
    (expected,) = result.collect().get_column("trace_wib")
    found = result.filter(pl.col("trace_wib") > 0).select("trace_wib").head(1).collect()
    assert math.isclose(found.item(), expected, rel_tol=1e-12)


def test_schema():
    lazy = lazy_report(frame(HAND, [0] * 8))
    assert lazy.collect_schema() == lazy.collect().schema


# ----------------------------------------------------------------------------------------------
# Both sides
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_sides_agree(seed):
    r = np.random.default_rng(seed)
    p, k = int(r.integers(1, 12)), int(r.integers(1, 8))
    points, cluster = blobs(seed, int(r.integers(k, 400)), p, k, spread=10.0 ** r.integers(-3, 4))
    data = frame(points, cluster.tolist())
    (sql,), (lazy,) = (report(make(name), data).values() for name in ("duckdb", "polars-streaming"))
    same(sql, lazy, rel=1e-10)


# ----------------------------------------------------------------------------------------------
# The report
# ----------------------------------------------------------------------------------------------

FLOWER = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def test_report_on_iris(engine):
    iris = pl.read_parquet("examples/iris.parquet")
    [row] = call(engine, "determinant_report", iris, FLOWER, "kmeans")
    counts = ("n", "n_dropped", "n_noise", "n_dims", "n_clusters")
    assert [row[name] for name in counts] == [150, 0, 0, 4, 3]
    expected = by_numpy(iris.select(FLOWER).to_numpy(), iris["kmeans"].to_numpy())
    same([row[name] for name in INDICES], expected, rel=1e-10)


def test_report_by_partition_without_noise(engine):
    """A partition that keeps no row is left out; a NULL cluster is dropped, noise is not."""
    data = frame(np.arange(12.0).reshape(6, 2) ** 2, [0, 0, 0, 1, 1, None]).rename({"key": "run"})
    data = data.with_columns(run=pl.Series([1, 1, 1, 1, 1, 1])).vstack(
        frame([[0.0, 1.0]], [1]).rename({"key": "run"}).with_columns(run=pl.Series([2]))
    )
    rows = call(
        engine,
        "determinant_report",
        data,
        ["d0", "d1"],
        partition_by="run",
        noise=1,
        noise_as="drop",
    )
    assert [(row["run"], row["n"], row["n_dropped"], row["n_noise"]) for row in rows] == [
        (1, 3, 1, 2)
    ]


def test_report_without_rows(engine):
    empty = frame([[0.0, 1.0]], [0]).head(0)
    [row] = call(engine, "determinant_report", empty, ["d0", "d1"])
    assert (row["n"], row["n_dims"], row["n_clusters"]) == (0, 0, 0)
    assert [row[name] for name in INDICES] == [None] * 5


def test_report_of_a_point_at_fault(engine):
    data = frame([[0.0, 1.0], [2.0, math.nan], [1.0, 1.0]], [0, 0, 1])
    error = duckdb.Error if engine.name == "duckdb" else ce.ClusterEvalError
    with pytest.raises(error, match=r"got nan in coordinate 2 \(1 row is at fault\)"):
        call(engine, "determinant_report", data, ["d0", "d1"])
