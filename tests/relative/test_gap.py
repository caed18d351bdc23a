"""uniform_reference and gap_statistic: the generator, clusGap's printed choices, brute force."""

from __future__ import annotations

import math
import re
from itertools import combinations
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats

import polars_clustereval as ce
from tests.support.engines import by_value, fails
from tests.support.iris_sweep import FLOWER, iris_sweep
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.engines import Engine

RULES = ("firstSEmax", "Tibs2001SEmax", "globalSEmax", "firstmax", "globalmax")

# Reference points ----------------------------------------------------------------------------

BOX = pl.DataFrame(
    {
        "x": [0.1, -3.7, 12.5, 0.1, None],
        "y": [5.3, 5.3, 5.3, 5.3, None],
        "z": [1e8, 1e8 + 1, 1e8 + 0.3, 1e8 + 0.7, None],
        "run": ["a", "a", None, None, "a"],
    }
)


def lowbias32(x: int) -> int:
    """Wellons' permutation as he prints it, with shifts."""
    x ^= x >> 16
    x = x * 0x7FEB352D & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def drawn_by_hand(low: float, high: float, seed: int, number: int, i: int, row: int) -> float:
    stream = lowbias32((lowbias32((lowbias32(seed) + number) % 2**32) + i + 1) % 2**32)
    uniform = (lowbias32(lowbias32(row) ^ stream) + 0.5) / 2**32
    return min(max(low + (high - low) * uniform, low), high)


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1])
def test_the_same_points_everywhere(engine: Engine, seed: int) -> None:
    """To the last bit, by row number, set and coordinate; a partition does not depend on others."""
    rows = engine.call(
        "uniform_reference",
        BOX,
        ["x", "y", "z"],
        n_sets=3,
        random_state=seed,
        partition_by="run",
    )
    boxes = {"a": [(-3.7, 0.1), (5.3, 5.3), (1e8, 1e8 + 1)]}
    boxes |= {None: [(0.1, 12.5), (5.3, 5.3), (1e8 + 0.3, 1e8 + 0.7)]}
    assert rows == [
        {
            "run": run,
            "reference_set": number,
            "id": row,
            "point": [
                drawn_by_hand(low, high, seed, number, i, row)
                for i, (low, high) in enumerate(boxes[run])
            ],
        }
        for run in ("a", None)
        for number in (1, 2, 3)
        for row in (0, 1)
    ]


def numbers(side: Engine, n: int, dims: int, sets: int, seed: int) -> np.ndarray[Any, Any]:
    """Uniform numbers (sets, n, dims): reference points of the unit box."""
    frame = pl.DataFrame({"vector": [[0.0] * dims, *[[1.0] * dims] * (n - 1)]})
    rows = side.call("uniform_reference", frame, "vector", n_sets=sets, random_state=seed)
    return np.array([row["point"] for row in rows]).reshape(sets, n, dims)


@pytest.mark.gate  # test_the_same_points_everywhere has the generator to the last bit
def test_numbers_are_uniform_and_independent() -> None:
    """By Kolmogorov and Smirnov, pairs by chi-square on 8 x 8 cells, neighbors by correlation.

    The p-values of many streams (seed, set, coordinate) are uniform in their turn.
    """
    n = 2000
    frame = pl.DataFrame({"vector": [[0.0] * 4, *[[1.0] * 4] * (n - 1)]})
    streams = []
    for seed in (0, 1, 2, 77):
        drawn = ce.uniform_reference(frame, "vector", 3, random_state=seed)
        points = np.array(drawn["point"].to_list()).reshape(3, n, 4)
        streams += [points[number, :, i] for number in range(3) for i in range(4)]
    pairs = list(combinations(streams, 2))
    single = [stats.kstest(x, "uniform").pvalue for x in streams]
    joint = [
        stats.chi2_contingency(np.histogram2d(x, y, bins=8, range=[[0, 1]] * 2)[0]).pvalue
        for x, y in pairs
    ]
    between = [stats.pearsonr(x, y).pvalue for x, y in pairs]
    serial = [stats.pearsonr(x[:-lag], x[lag:]).pvalue for x in streams for lag in (1, 2, 7)]
    for values in (single, joint, between, serial):
        assert stats.kstest(values, "uniform").pvalue > 0.001
        assert min(values) > 0.01 / len(values)
    # No number is drawn twice within a stream, and no stream is a part of another one, shifted.
    assert all(len(set(x.tolist())) == n for x in streams)
    assert max(len(set(x.tolist()) & set(y.tolist())) for x, y in pairs) < 10


def test_seeds_and_sets_differ(side: Engine) -> None:
    both = [numbers(side, 5, 2, 2, seed) for seed in (0, 1)]
    drawn = [tuple(x.ravel()) for block in both for x in block]
    assert len(set(drawn)) == 4
    assert np.array_equal(numbers(side, 5, 2, 3, 1)[:2], both[1])
    assert np.array_equal(numbers(side, 9, 2, 2, 1)[:, :5], both[1])


@pytest.mark.parametrize("form", ["columns", "list", "array"])
def test_forms_of_vectors(engine: Engine, form: str) -> None:
    frame = iris_sweep().filter(pl.col("k") == 1)
    expected = ce.uniform_reference(frame, FLOWER, 2).rows(named=True)
    nested = pl.concat_list(FLOWER) if form == "list" else pl.concat_arr(FLOWER)
    frame = frame.with_columns(vector=nested).sample(fraction=1, shuffle=True, seed=1)
    vector = FLOWER if form == "columns" else "vector"
    assert engine.call("uniform_reference", frame, vector, n_sets=2) == expected


def test_pca_is_the_box_of_the_components() -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(500, 3)) * [5, 1, 0.2] @ stats.ortho_group.rvs(3, random_state=4)
    frame = pl.DataFrame(x + 100, schema=["x", "y", "z"])
    drawn = ce.uniform_reference(frame, ["x", "y", "z"], 4, "pca", random_state=1)
    centered = x - x.mean(0)
    axes = np.linalg.svd(centered, full_matrices=False)[2].T
    inside = (np.array(drawn["point"].to_list()) - 100 - x.mean(0)) @ axes
    low, high = (centered @ axes).min(0), (centered @ axes).max(0)
    assert ((inside > low - 1e-9) & (inside < high + 1e-9)).all()
    for i in range(3):
        scaled = (inside[:, i] - low[i]) / (high[i] - low[i])
        assert stats.kstest(scaled, "uniform").pvalue > 0.001
    # The box of the coordinates is another one.
    box = np.array(ce.uniform_reference(frame, ["x", "y", "z"], 4)["point"].to_list())
    assert abs(((box - 100 - x.mean(0)) @ axes)[:, 2]).max() > 2 * high[2]


@pytest.mark.parametrize("lazy", [False, True])
def test_pca_by_partition_is_pca_of_its_rows(lazy: bool) -> None:
    frame = iris_sweep().filter(pl.col("k") == 3).with_columns(run=pl.col("cluster") == 0)
    frame = frame.with_columns(run=pl.when("run").then(pl.lit("a")))
    given = frame.lazy() if lazy else frame
    both = ce.uniform_reference(given, FLOWER, 2, "pca", partition_by="run").lazy().collect()
    assert both["run"].null_count() == 2 * frame["run"].null_count() > 0
    for run in ("a", None):
        part = frame.filter(pl.col("run").eq_missing(pl.lit(run)))
        alone = ce.uniform_reference(part, FLOWER, 2, "pca")
        found = both.filter(pl.col("run").eq_missing(pl.lit(run))).drop("run")
        assert found.select("reference_set", "id").equals(alone.select("reference_set", "id"))
        assert np.allclose(found["point"].to_list(), alone["point"].to_list(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["box", "pca"])
def test_degenerate_points(method: Any) -> None:
    one = pl.DataFrame({"x": [2.5], "y": [7.0]})
    drawn = ce.uniform_reference(one, ["x", "y"], 2, method)
    assert drawn["point"].to_list() == [[2.5, 7.0]] * 2
    assert ce.uniform_reference(one.clear(), ["x", "y"], 2, method).rows() == []
    assert (
        ce.uniform_reference(
            one.with_columns(x=None, y=None).cast(pl.Float64), ["x", "y"], 2, method
        ).rows()
        == []
    )


def test_no_points(engine: Engine) -> None:
    assert engine.call("uniform_reference", BOX.clear(), ["x", "y"]) == []
    assert engine.call("uniform_reference", BOX.tail(1), ["x", "y"]) == []


OPTION_ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"n_sets": 0}, "n_sets: expected a whole number >= 1, got 0"),
    ({"n_sets": 2.5}, "n_sets: expected a whole number >= 1, got 2.5"),
    ({"n_sets": None}, "n_sets: expected a whole number >= 1, got NULL"),
    ({"method": "sphere"}, "method: expected one of 'box', 'pca', got 'sphere'"),
    ({"method": None}, "method: expected one of 'box', 'pca', got NULL"),
    ({"random_state": -1}, "random_state: expected a whole number >= 0 and < 2147483648, got -1"),
    (
        {"random_state": 2**31},
        "random_state: expected a whole number >= 0 and < 2147483648, got 2147483648",
    ),
]


@pytest.mark.parametrize("rows", [0, 4])
@pytest.mark.parametrize(("options", "words"), OPTION_ERRORS, ids=str)
def test_bad_options(side: Engine, options: dict[str, Any], words: str, rows: int) -> None:
    with fails(side, words):
        side.call("uniform_reference", BOX.head(rows), ["x", "y"], **options)


def test_sql_says_where_pca_is(con: duckdb.DuckDBPyConnection) -> None:
    con.register("swept", BOX)
    words = "method: only the Python function draws 'pca'; write ce.uniform_reference("
    with pytest.raises(duckdb.Error, match=re.escape(words)):
        con.execute("FROM clustereval.uniform_reference(swept, [x, y], method := 'pca')")


POINT_ERRORS = [
    ([[0.0, 1.0], [2.0, None]], "expected finite numbers, got NULL in coordinate 2 (1 row is"),
    ([[0.0, 1.0], [math.nan, 2.0]], "expected finite numbers, got nan in coordinate 1 (1 row"),
    ([[0.0, 1.0], [2.0, -math.inf]], "expected finite numbers, got -inf in coordinate 2 (1 row"),
    ([[0.0, 1.0], [2.0]], "expected vectors of one length (2), got 1 coordinates (1 row is"),
    # DuckDB reads the coordinates beyond 16 only if the first vector has them.
    ([[0.0] * 3, [1.0] * 20], "expected vectors of one length (20), got 3 coordinates (1 row is"),
    ([[0.0] * 16, [1.0] * 20], "expected vectors of one length (20), got 16 coordinates (1 row is"),
    ([[0.0, 1.0], []], "expected at least one coordinate, got an empty vector (1 row is"),
    ([[1.7e308, 1.0], [-1.7e308, 0.0]], "distances overflow; scale the coordinates down"),
]


@pytest.mark.parametrize(("vectors", "words"), POINT_ERRORS, ids=str)
def test_bad_points(side: Engine, vectors: Any, words: str) -> None:
    frame = pl.DataFrame({"vector": vectors}, schema={"vector": pl.List(pl.Float64)})
    with fails(side, f"vector: {words}"):
        side.call("uniform_reference", frame, "vector")
    if side.name == "polars":
        with fails(side, f"vector: {words}"):
            ce.uniform_reference(frame, "vector", method="pca")


# Gap statistic -------------------------------------------------------------------------------


def tables_of(
    gaps: Sequence[Sequence[float]], errors: Sequence[Sequence[float]]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Elbow tables with these gaps and errors by k = 1, 2, ..., one curve for each.

    ln(ssw) of the two reference sets is +d and -d: its mean is 0, gap_se is d times sqrt(1.5).
    """
    observed, reference = [], []
    for curve, (of_k, error_of_k) in enumerate(zip(gaps, errors, strict=True)):
        for k, (gap, error) in enumerate(zip(of_k, error_of_k, strict=True), start=1):
            observed.append((curve, k, math.exp(-gap)))
            for number, sign in ((1, 1), (2, -1)):
                reference.append((curve, number, k, math.exp(sign * error / math.sqrt(1.5))))
    return (
        pl.DataFrame(observed, schema=["curve", "k", "ssw"], orient="row"),
        pl.DataFrame(reference, schema=["curve", "reference_set", "k", "ssw"], orient="row"),
    )


def choices(engine: Engine, gaps: Any, errors: Any, **options: Any) -> list[int | None]:
    observed, reference = tables_of(gaps, errors)
    rows = engine.call(
        "gap_statistic",
        observed,
        reference,
        "reference_set",
        partition_by="curve",
        **options,
    )
    chosen = []
    for number, table in by_value(rows, "curve").items():
        assert [row["gap"] for row in table] == pytest.approx(gaps[number], abs=1e-9)
        assert [row["gap_se"] for row in table] == pytest.approx(errors[number], abs=1e-9)
        assert [row["is_choice"] for row in table].count(True) == 1
        chosen.append(next(row["k"] for row in table if row["is_choice"]))
    return chosen


def choice_of(rule: str, gaps: Sequence[float], errors: Sequence[float], factor: float) -> int:
    """A choice as the documentation of cluster::maxSE has it, by going through the values."""
    last = len(gaps) - 1
    first_maximum = next((i for i in range(last) if gaps[i] >= gaps[i + 1]), last)
    if rule == "firstmax":
        return first_maximum + 1
    if rule == "globalmax":
        return gaps.index(max(gaps)) + 1
    if rule == "Tibs2001SEmax":
        for i in range(last):
            if gaps[i] >= gaps[i + 1] - factor * errors[i + 1]:
                return i + 1
        return last + 1
    peak = first_maximum if rule == "firstSEmax" else gaps.index(max(gaps))
    for i in range(peak):
        if gaps[i] >= gaps[peak] - factor * errors[peak]:
            return i + 1
    return peak + 1


@pytest.mark.each
@pytest.mark.parametrize("factor", [0, 0.5, 1, 3])
@pytest.mark.parametrize("rule", RULES)
def test_rules_by_going_through_the_values(engine: Engine, rule: str, factor: float) -> None:
    random = np.random.default_rng(2001)
    gaps, errors = [], []
    for _ in range(150):
        size = int(random.integers(1, 12))
        curve = np.cumsum(random.normal(0.2, 1, size))
        error = random.exponential(0.5, size)
        if random.random() < 0.3 and size > 3:
            curve[2:4], error[2:4] = curve[1], error[1]
        gaps.append(curve.tolist())
        errors.append(error.tolist())
    expected = [choice_of(rule, *pair, factor) for pair in zip(gaps, errors, strict=True)]
    assert choices(engine, gaps, errors, rule=rule, se_factor=factor) == expected
    assert len(set(expected)) > 2


# Printed by R's clusGap: gap, SE.sim, and the number of clusters by method and SE.factor.
CLUS_GAP = {
    # The phyloseq tutorial on the gap statistic, joey711.github.io/phyloseq/gap-statistic.html
    "enterotypes": (
        [0.1210, 0.5609, 0.6649, 0.7266, 0.6822, 0.6972],
        [0.02110, 0.02413, 0.02467, 0.02602, 0.02622, 0.02884],
        {("firstSEmax", 1): 4},
    ),
    "enterotypes, Tibshirani's rule": (
        [0.1220, 0.5617, 0.6662, 0.7330, 0.6823, 0.6964],
        [0.02065, 0.01887, 0.02146, 0.02650, 0.01792, 0.02504],
        {("Tibs2001SEmax", 1): 4},
    ),
    # The phyloseq demo, section on the gap statistic: correspondence analysis of enterotypes
    "correspondence analysis": (
        [1.203, 1.470, 1.500, 1.478, 1.580, 1.639],
        [0.02913, 0.02020, 0.02126, 0.02058, 0.02306, 0.02123],
        {("Tibs2001SEmax", 1): 3},
    ),
    # k-means of R's package rattle's wines, scaled, B = 50; a course's page
    "wines": (
        [
            *(0.4852182, 0.5518490, 0.6264310, 0.6231634, 0.6201548),
            *(0.6161904, 0.6138206, 0.6219782, 0.6253029, 0.6295937),
        ],
        [
            *(0.012319766, 0.010262462, 0.009535433, 0.009926294, 0.010005762),
            *(0.009860836, 0.009921485, 0.010103273, 0.010541628, 0.010395976),
        ],
        {("firstSEmax", 1): 3},
    ),
    # Boston housing, scaled, d.power = 2, B = 100; a course's page
    "Boston": (
        [
            *(1.130749, 1.355974, 1.453986, 1.495786, 1.572631),
            *(1.650468, 1.695627, 1.750624, 1.790850, 1.834265),
        ],
        [
            *(0.01467028, 0.01532226, 0.01472996, 0.01390586, 0.01372456),
            *(0.01337081, 0.01265985, 0.01227514, 0.01197451, 0.01181739),
        ],
        {("globalSEmax", 2): 10, ("Tibs2001SEmax", 2): 10},
    ),
    # Principal coordinates of a microbiome, pam, B = 50
    "one cluster": (
        [-0.04350613, -0.15143643, -0.05431714, 0.04224164, 0.04817282, 0.13490139],
        [0.09446934, 0.10591954, 0.09749973, 0.12518386, 0.13637115, 0.16115896],
        {("Tibs2001SEmax", 1): 1},
    ),
    # The documentation of maxSE: "'firstmax' and 'globalmax' are always at 3 and 6"
    "example of maxSE": (
        [2.0, 3.0, 5.0, 4.0, 7.0, 8.0, 5.0, 4.0],
        [0.5, 0.5, 1.0, 0.5, 0.5, 1.5, 0.5, 0.5],
        {("firstmax", 1): 3, ("globalmax", 1): 6, ("firstmax", 4): 3, ("globalmax", 4): 6},
    ),
}


@pytest.mark.parametrize("case", CLUS_GAP)
def test_choices_printed_by_r(engine: Engine, case: str) -> None:
    gaps, errors, printed = CLUS_GAP[case]
    for (rule, factor), k in printed.items():
        assert choices(engine, [gaps], [errors], rule=rule, se_factor=factor) == [k]
        assert choices(engine, [gaps], [errors], rule=rule.upper(), se_factor=factor) == [k]


def sweeps(sets: int = 5) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Elbow tables of random curves of two partitions, one of them NULL, k with gaps."""
    random = np.random.default_rng(5)
    ks = [1, 2, 3, 5, 8]
    observed = [(run, k, random.exponential(9)) for run in ("a", None) for k in ks]
    reference = [
        (run, f"set {number}", k, random.exponential(9))
        for run in ("a", None)
        for number in range(sets if run else sets + 2)
        for k in ks
    ]
    return (
        pl.DataFrame(observed, schema=["run", "k", "ssw"], orient="row"),
        pl.DataFrame(reference, schema=["run", "number", "k", "ssw"], orient="row"),
    )


def test_the_definition(engine: Engine) -> None:
    observed, reference = sweeps()
    shuffled = reference.sample(fraction=1, shuffle=True, seed=2)
    rows = engine.call("gap_statistic", observed.reverse(), shuffled, "number", partition_by="run")
    expected = []
    for run, k, ssw in observed.rows():
        same = (pl.col("k") == k) & pl.col("run").eq_missing(pl.lit(run))
        logs = [math.log(x) for x in reference.filter(same)["ssw"]]
        assert len(logs) == (5 if run else 7)
        row = {"run": run, "k": k, "log_ssw": math.log(ssw), "expected_log_ssw": fmean(logs)}
        row["gap"] = row["expected_log_ssw"] - row["log_ssw"]
        row["gap_se"] = pstdev(logs) * math.sqrt(1 + 1 / len(logs))
        expected.append(row)
    found = [{name: row[name] for name in expected[0]} for row in rows]
    assert_points(found, expected, tolerance=1e-11)


def test_of_elbow_tables(engine: Engine) -> None:
    """The whole way, on the clusters of two clumps: two are chosen."""
    points = pl.DataFrame({"x": [0.0, 0.2, 0.1, 0.3, 9.0, 9.2, 9.1, 9.3]}).with_row_index("id")
    reference = ce.uniform_reference(points, ["x"], 8)
    halves = pl.col("point").list.first()

    def swept(frame: pl.DataFrame, x: pl.Expr) -> pl.DataFrame:
        cuts = {1: 1, 2: 2, 3: 3}
        return pl.concat(
            frame.with_columns(
                k=pl.lit(k), x=x, cluster=((x / 9.3 * n).floor()).clip(0, n - 1).cast(pl.Int64)
            )
            for k, n in cuts.items()
        )

    observed = engine.call("elbow", swept(points, pl.col("x")), ["x"], "cluster", "k")
    expected = engine.call(
        "elbow",
        swept(reference, halves),
        ["x"],
        "cluster",
        "k",
        partition_by="reference_set",
    )
    rows = engine.call(
        "gap_statistic",
        pl.DataFrame(observed, infer_schema_length=None),
        pl.DataFrame(expected, infer_schema_length=None),
        "reference_set",
    )
    assert [row["k"] for row in rows if row["is_choice"]] == [2]


def test_ssw_of_0(engine: Engine) -> None:
    observed, reference = tables_of([[1.0, 2.0, 1.5]], [[0.1, 0.1, 0.1]])
    none = observed.with_columns(ssw=pl.when(pl.col("k") == 3).then(0.0).otherwise("ssw"))
    rows = engine.call("gap_statistic", none.drop("curve"), reference, "reference_set")
    assert [row["is_choice"] for row in rows] == [None] * 3
    assert (rows[2]["log_ssw"], rows[2]["gap"]) == (None, None)
    assert rows[2]["expected_log_ssw"] == pytest.approx(0, abs=1e-15)
    is_0 = (pl.col("k") == 1) & (pl.col("reference_set") == 2)
    none = reference.with_columns(ssw=pl.when(is_0).then(0.0).otherwise("ssw"))
    rows = engine.call("gap_statistic", observed, none, "reference_set")
    assert [row["is_choice"] for row in rows] == [None] * 3
    named = ("expected_log_ssw", "gap", "gap_se")
    assert [rows[0][name] for name in named] == [None] * 3


def test_no_rows(engine: Engine) -> None:
    observed, reference = sweeps()
    assert engine.call("gap_statistic", observed.clear(), reference.clear(), "number") == []


def one_run() -> tuple[pl.DataFrame, pl.DataFrame]:
    observed, reference = sweeps()
    return observed.filter(pl.col("run") == "a"), reference.filter(pl.col("run") == "a")


UNMATCHED = [
    (
        pl.col("k") != 5,
        pl.lit(True),
        "k: expected the same values in both tables, got 5 in the reference only",
    ),
    (
        pl.lit(True),
        ~pl.col("k").is_in([3, 5]),
        "k: expected the same values in both tables, got 3 in the first only",
    ),
    (
        pl.lit(True),
        (pl.col("k") != 3) | (pl.col("number") != "set 2"),
        "k: expected every value in every reference set, got 3 in 4 of 5 sets",
    ),
    (
        pl.lit(True),
        pl.col("number") == "set 2",
        "reference_set: expected at least 2 reference sets, got 1",
    ),
]


@pytest.mark.parametrize(("kept", "kept_reference", "words"), UNMATCHED, ids=lambda x: str(x)[:40])
def test_tables_that_do_not_match(
    side: Engine, kept: pl.Expr, kept_reference: pl.Expr, words: str
) -> None:
    observed, reference = one_run()
    given = observed.filter(kept), reference.filter(kept_reference), "number"
    with fails(side, words):
        side.call("gap_statistic", *given)
    with fails(side, words):
        side.call("gap_statistic", *given, partition_by="run")


def test_a_partition_without_reference(side: Engine) -> None:
    observed, reference = sweeps()
    words = "k: expected the same values in both tables, got 1 in the first only"
    with fails(side, words):
        side.call(
            "gap_statistic",
            observed,
            reference.filter(pl.col("run") == "a"),
            "number",
            partition_by="run",
        )


def test_two_rows_of_one_k(side: Engine) -> None:
    (observed, _), (_, reference) = sweeps(), one_run()
    words = "k: expected one row for each k of a clustering, got 2 rows with "
    with fails(side, words):
        side.call("gap_statistic", observed, reference, "number")
    observed, reference = one_run()
    words = "k: expected one row for each k of a reference set, got 5 rows with "
    with fails(side, words):
        side.call("gap_statistic", observed, reference, "run")


def test_bad_k(side: Engine) -> None:
    observed, reference = one_run()
    with fails(side, "k: expected whole numbers >= 1, got 1.5"):
        side.call("gap_statistic", observed.with_columns(k=pl.lit(1.5)), reference, "number")
    with fails(side, "k: expected whole numbers >= 1, got a column of type VARCHAR"):
        side.call("gap_statistic", observed, reference.with_columns(k=pl.lit("1")), "number")


GAP_OPTIONS: list[tuple[dict[str, Any], str]] = [
    (
        {"rule": "second"},
        "rule: expected one of 'firstSEmax', 'Tibs2001SEmax', 'globalSEmax', 'firstmax', 'glob",
    ),
    ({"rule": "second"}, "'globalmax', got 'second'"),
    ({"rule": None}, "'globalmax', got NULL"),
    ({"se_factor": -1}, "se_factor: expected a number >= 0, got -1"),
    ({"se_factor": math.nan}, "se_factor: expected a number >= 0, got nan"),
    ({"se_factor": None}, "se_factor: expected a number >= 0, got NULL"),
]


@pytest.mark.parametrize("rows", [0, 5])
@pytest.mark.parametrize(("options", "words"), GAP_OPTIONS, ids=str)
def test_bad_options_of_gap(side: Engine, options: dict[str, Any], words: str, rows: int) -> None:
    observed, reference = one_run()
    with fails(side, words):
        side.call("gap_statistic", observed.head(rows), reference, "number", **options)


@pytest.mark.parametrize("parameter", ["reference_set", "partition_by"])
def test_quoted_columns(con: duckdb.DuckDBPyConnection, parameter: str) -> None:
    observed, reference = one_run()
    con.register("swept", observed)
    con.register("other", reference)
    given = {"reference_set": "number", "partition_by": "run"} | {parameter: "'run'"}
    text = ", ".join(f"{name} := {value}" for name, value in given.items())
    words = f"{parameter}: expected a column, got the quoted string 'run'; write it without quotes"
    with pytest.raises(duckdb.Error, match=re.escape(words)):
        con.execute(f"FROM clustereval.gap_statistic(swept, other, {text})")


def test_missing_columns() -> None:
    observed, reference = one_run()
    with pytest.raises(ce.ClusterEvalError, match="frame: column 'ssw' not found"):
        ce.gap_statistic(observed.drop("ssw"), reference, "number")
    with pytest.raises(ce.ClusterEvalError, match="reference: column 'k' not found"):
        ce.gap_statistic(observed, reference.drop("k"), "number")
    with pytest.raises(ce.ClusterEvalError, match="reference_set: column 'reference_set' not"):
        ce.gap_statistic(observed, reference)
    # The names of both tables come first.
    with pytest.raises(ce.ClusterEvalError, match="reference: column 'ssw' not found"):
        ce.gap_statistic(observed.with_columns(k=True), reference.drop("ssw"))
    with pytest.raises(ce.ClusterEvalError, match="expected a Polars DataFrame or LazyFrame"):
        ce.gap_statistic(observed, [1, 2])  # type: ignore[arg-type]
