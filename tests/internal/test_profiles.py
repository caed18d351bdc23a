"""Profiles: both sides against catdes of FactoMineR, scikit-learn, scipy and the definitions."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats.contingency import association
from sklearn.feature_selection import f_classif

import polars_clustereval as ce
from tests.support.compare import is_near
from tests.support.engines import Engine, fails
from tests.support.point_engines import call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.support.engines import Row

FRUIT = pl.DataFrame(
    {
        "grams": [5.0, 7.0, None, 80.0, 90.0, 100.0, 1.0],
        "color": ["red", "blue", "red", None, "green", "green", "red"],
        "ripe": [True, True, True, False, False, True, None],
        "picked": [dt.date(1970, 1, 2), dt.date(1970, 1, 4), None, *[dt.date(1970, 1, 11)] * 4],
        "cluster": ["a", "a", "a", "b", "b", "b", None],
    }
)
CLUSTER_COLUMNS = ["cluster", "column_name", "kind", "category", "n", "mean", "std", "rest_mean"]
CLUSTER_COLUMNS += ["difference", "v_test"]
COLUMN_COLUMNS = ["column_name", "kind", "n", "n_missing", "n_categories", "eta_squared"]
COLUMN_COLUMNS += ["cramers_v", "association"]


def cluster_rows(
    engine: Engine, frame: pl.DataFrame, columns: Sequence[str], **options: Any
) -> list[Row]:
    return call(engine, "cluster_profile", frame, list(columns), **options)


def column_rows(
    engine: Engine, frame: pl.DataFrame, columns: Sequence[str], **options: Any
) -> list[Row]:
    return call(engine, "column_profile", frame, list(columns), **options)


# ----------------------------------------------------------------------------------------------
# Literals, and few rows
# ----------------------------------------------------------------------------------------------

#: Per row of FRUIT's profile: cluster, column, kind, category, n, mean, std and rest_mean, by hand.
BY_HAND = {
    ("a", "grams", "number", None): (2, 6.0, 1.0, 90.0),
    ("a", "grams", "missing", None): (1, 1 / 3, None, 0.0),
    ("a", "color", "category", "red"): (2, 2 / 3, None, 0.0),
    ("a", "color", "category", "blue"): (1, 1 / 3, None, 0.0),
    ("a", "color", "missing", None): (0, 0.0, None, 1 / 3),
    ("a", "ripe", "category", "true"): (3, 1.0, None, 1 / 3),
    ("a", "picked", "date", None): (2, 2.0, 1.0, 10.0),
    ("a", "picked", "missing", None): (1, 1 / 3, None, 0.0),
    ("b", "grams", "number", None): (3, 90.0, math.sqrt(200 / 3), 6.0),
    ("b", "grams", "missing", None): (0, 0.0, None, 1 / 3),
    ("b", "color", "category", "green"): (2, 1.0, None, 0.0),
    ("b", "color", "missing", None): (1, 1 / 3, None, 0.0),
    ("b", "ripe", "category", "true"): (1, 1 / 3, None, 1.0),
    ("b", "ripe", "category", "false"): (2, 2 / 3, None, 0.0),
    ("b", "picked", "date", None): (3, 10.0, 0.0, 2.0),
    ("b", "picked", "missing", None): (0, 0.0, None, 1 / 3),
}


def test_by_hand(engine: Engine) -> None:
    rows = cluster_rows(engine, FRUIT, ["grams", "color", "ripe", "picked"])
    assert list(rows[0]) == CLUSTER_COLUMNS
    keys = ("cluster", "column_name", "kind", "category")
    found = {tuple(row[name] for name in keys): row for row in rows}
    assert found.keys() == BY_HAND.keys()
    for key, (n, mean, std, rest_mean) in BY_HAND.items():
        row = found[key]
        assert row["n"] == n
        assert is_near([row["mean"], row["std"], row["rest_mean"]], [mean, std, rest_mean]), key
        assert is_near(row["difference"], mean - rest_mean)


def test_order_of_rows(engine: Engine) -> None:
    """The clusters in order, the largest v-tests first, and NULLs last; then the user's order."""
    rows = cluster_rows(engine, FRUIT, ["grams", "color", "ripe", "picked"])
    assert [row["cluster"] for row in rows] == sorted(row["cluster"] for row in rows)
    for cluster in "ab":
        sizes = [round(abs(row["v_test"]), 9) for row in rows if row["cluster"] == cluster]
        assert sizes == sorted(sizes, reverse=True)
    tied = pl.DataFrame({"u": [1.0, 2.0], "t": [2.0, 4.0], "cluster": [0, 1]})
    for columns in (["u", "t"], ["t", "u"]):
        names = [row["column_name"] for row in cluster_rows(engine, tied, columns)]
        assert names == [*columns, *columns]


def test_columns_by_hand(engine: Engine) -> None:
    rows = column_rows(engine, FRUIT, ["color", "ripe", "grams", "picked"])
    assert list(rows[0]) == COLUMN_COLUMNS
    found = {row["column_name"]: row for row in rows}
    assert [found["color"][x] for x in ("kind", "n", "n_missing", "n_categories")] == [
        *("category", 5, 1, 3)
    ]
    assert [found["picked"][x] for x in ("kind", "n", "n_missing", "n_categories")] == [
        *("date", 5, 1, None)
    ]
    assert is_near(found["color"]["cramers_v"], 1.0)
    assert is_near(found["ripe"]["cramers_v"], math.sqrt(0.5))
    # Between 2 (6 - 56.4)^2 + 3 (90 - 56.4)^2 = 8467.2; within 2 + 200.
    assert is_near(found["grams"]["eta_squared"], 8467.2 / 8669.2)
    assert found["grams"]["association"] == math.sqrt(found["grams"]["eta_squared"])
    sizes = [round(row["association"], 9) for row in rows]
    assert sizes == sorted(sizes, reverse=True)


def test_no_row(engine: Engine) -> None:
    columns = ["grams", "color", "picked"]
    for empty in (FRUIT.clear(), FRUIT.filter(pl.col("cluster").is_null())):
        assert cluster_rows(engine, empty, columns) == []
        rows = column_rows(engine, empty, columns)
        kinds = [(row["column_name"], row["kind"], row["n_categories"]) for row in rows]
        assert kinds == [
            ("grams", "number", None),
            ("color", "category", 0),
            ("picked", "date", None),
        ]
        for row in rows:
            assert (row["n"], row["n_missing"]) == (0, 0)
            assert [row[name] for name in COLUMN_COLUMNS[5:]] == [None] * 3
    assert column_rows(engine, FRUIT.clear(), columns, partition_by="color") == []


def test_a_partition_of_dropped_rows_is_listed(engine: Engine) -> None:
    frame = FRUIT.with_columns(run=pl.col("cluster").is_null())
    rows = column_rows(engine, frame, ["grams"], partition_by="run")
    assert [(row["run"], row["n"]) for row in rows] == [(False, 5), (True, 0)]


def test_one_cluster(engine: Engine) -> None:
    """There is no rest, and nothing to separate."""
    frame = FRUIT.with_columns(cluster=pl.lit(0))
    for row in cluster_rows(engine, frame, ["grams", "color"]):
        assert [row["rest_mean"], row["difference"], row["v_test"]] == [None] * 3
        assert row["mean"] is not None
    for row in column_rows(engine, frame, ["grams", "color"]):
        assert row["association"] is None


def test_equal_values(engine: Engine) -> None:
    """A constant, even one that sums round, has no spread and no v-test."""
    frame = pl.DataFrame({"x": [0.1] * 7, "c": ["u"] * 7, "cluster": [0, 0, 0, 1, 1, 1, 1]})
    for row in cluster_rows(engine, frame, ["x", "c"]):
        assert (row["difference"], row["v_test"]) == (0.0, None)
        assert row["mean"] == row["rest_mean"] == (0.1 if row["kind"] == "number" else 1.0)
        assert row["std"] == (0.0 if row["kind"] == "number" else None)
    assert [row["association"] for row in column_rows(engine, frame, ["x", "c"])] == [None, None]


def test_the_mean_of_equal_values_of_the_rest_is_their_value(engine: Engine) -> None:
    frame = pl.DataFrame({"x": [0.1] * 3 + [5.0, -5.0], "cluster": [0, 0, 0, 1, 1]})
    rows = {row["cluster"]: row for row in cluster_rows(engine, frame, ["x"])}
    assert rows[1]["rest_mean"] == rows[0]["mean"] == 0.1


def test_missing_in_a_whole_cluster(engine: Engine) -> None:
    """The cluster has no row for numbers, and one for missing values."""
    frame = pl.DataFrame({"x": [1.0, 2.0, None, None], "cluster": [0, 0, 1, 1]})
    rows = cluster_rows(engine, frame, ["x"])
    assert [(row["cluster"], row["kind"], row["n"]) for row in rows] == [
        (0, "missing", 0),
        (0, "number", 2),
        (1, "missing", 2),
    ]
    assert rows[1]["rest_mean"] is None


def test_a_category_that_is_absent(engine: Engine) -> None:
    """It is listed where 5 rows were to be expected, and not where 4 were."""
    for n, is_listed in ((10, True), (8, False)):
        frame = pl.DataFrame({"c": ["u"] * n + ["v"] * n, "cluster": [0] * n + [1] * n})
        rows = cluster_rows(engine, frame, ["c"])
        absent = [(row["cluster"], row["category"]) for row in rows if row["n"] == 0]
        assert absent == ([(0, "v"), (1, "u")] if is_listed else [])
    [row] = [
        row for row in cluster_rows(engine, FRUIT.head(0).vstack(FRUIT), ["ripe"]) if row["n"] == 3
    ]
    assert row["category"] == "true"


# ----------------------------------------------------------------------------------------------
# Other libraries
# ----------------------------------------------------------------------------------------------

#: Printed by HCPC of FactoMineR for three clusters of 20, 21 and 10 rows (pastebin.com/e8XkaLGJ):
#: cluster, v.test, mean in the category, overall mean, sd in the category, overall sd, by axis; and
#: Eta2 of the first axis.
CATDES = {
    "Dim.1": [
        (1, -4.964833, -1.563152, 1.582952e-15, 1.079075, 1.788199),
        (3, 4.733187, 2.4236860, 1.582952e-15, 0.9460561, 1.788199),
    ],
    "Dim.2": [
        (2, -3.920032, -0.8792927, -9.611048e-16, 1.063113, 1.327021),
        (3, 2.498026, 0.9492525, -9.611048e-16, 1.2296143, 1.327021),
    ],
}
SIZES = {1: 20, 2: 21, 3: 10}
ETA_SQUARED = 0.6742825


def values_of_moments(n: int, mean: float, std: float) -> list[float]:
    """n numbers with this mean and standard deviation (of n)."""
    shape = np.arange(n) - (n - 1) / 2
    return list(mean + std * shape / shape.std())


def axis_of_catdes(name: str) -> tuple[list[int], list[float]]:
    """Clusters and numbers that have the printed moments; those of the third one follow."""
    given = {cluster: (mean, std) for cluster, _, mean, _, std, _ in CATDES[name]}
    [other] = SIZES.keys() - given.keys()
    total = sum(SIZES.values())
    overall_mean, overall_std = CATDES[name][0][3], CATDES[name][0][5]
    mean = (total * overall_mean - sum(SIZES[c] * m for c, (m, _) in given.items())) / SIZES[other]
    squares = total * overall_std**2 - SIZES[other] * (mean - overall_mean) ** 2
    squares -= sum(SIZES[c] * ((m - overall_mean) ** 2 + s**2) for c, (m, s) in given.items())
    given[other] = (mean, math.sqrt(squares / SIZES[other]))
    clusters = [cluster for cluster, n in SIZES.items() for _ in range(n)]
    return clusters, [x for c, n in SIZES.items() for x in values_of_moments(n, *given[c])]


@pytest.mark.parametrize("axis", CATDES)
def test_printed_values_of_catdes(engine: Engine, axis: str) -> None:
    clusters, values = axis_of_catdes(axis)
    frame = pl.DataFrame({axis: values, "cluster": clusters})
    rows = {row["cluster"]: row for row in cluster_rows(engine, frame, [axis])}
    for cluster, v_test, mean, _, std, _ in CATDES[axis]:
        found = [rows[cluster][name] for name in ("v_test", "mean", "std")]
        assert is_near(found, [v_test, mean, std], relative=1e-6), cluster
    if axis == "Dim.1":
        [row] = column_rows(engine, frame, [axis])
        assert is_near(row["eta_squared"], ETA_SQUARED, relative=1e-6)


def test_correlation_ratio_and_f_of_scikit_learn(engine: Engine, iris: pl.DataFrame) -> None:
    names = [name for name in iris.columns if name not in ("species", "cluster")]
    rows = {row["column_name"]: row for row in column_rows(engine, iris, names)}
    clusters = iris["cluster"].to_numpy()
    k, n = len(set(clusters)), iris.height
    f_values, _ = f_classif(iris.select(names).to_numpy(), clusters)
    for name, f in zip(names, f_values, strict=True):
        share = rows[name]["eta_squared"]
        assert is_near(share / (1 - share) * (n - k) / (k - 1), float(f), relative=1e-10), name


def test_association_of_scipy(engine: Engine, iris: pl.DataFrame) -> None:
    frame = iris.with_columns(size=pl.when(pl.col("sepal_length") > 6).then(pl.lit("long")))
    frame = frame.with_columns(pl.col("size").fill_null("short"))
    rows = {row["column_name"]: row for row in column_rows(engine, frame, ["species", "size"])}
    for name in ("species", "size"):
        pairs = Counter(zip(frame[name], frame["cluster"], strict=True))
        table = [[pairs[x, y] for y in sorted(set(frame["cluster"]))] for x in set(frame[name])]
        assert is_near(rows[name]["cramers_v"], float(association(np.array(table), "cramer")))


@pytest.fixture(scope="module")
def iris() -> pl.DataFrame:
    columns = ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"]
    frame = pl.read_parquet("examples/iris.parquet")
    return frame.select(*columns, cluster="kmeans")


# ----------------------------------------------------------------------------------------------
# The definition
# ----------------------------------------------------------------------------------------------


def v_test_by_definition(
    inside: list[Fraction], outside: list[Fraction]
) -> tuple[Fraction, float | None]:
    """The difference of means and its v-test, the v-test of catdes, in exact arithmetic."""
    values = inside + outside
    n, total = len(inside), len(values)
    mean = sum(values) / total
    variance = sum((x - mean) ** 2 for x in values) / total
    own = sum(inside) / n
    difference = own - sum(outside) / len(outside)
    if variance == 0:
        return difference, None
    squared = (own - mean) ** 2 / (variance / n * Fraction(total - n, total - 1))
    return difference, math.copysign(math.sqrt(squared), own - mean)


def check_by_definition(engine: Engine, frame: pl.DataFrame) -> int:
    """Compare the rows with those of the definition; return how many were compared."""
    n_compared = 0
    for row in cluster_rows(engine, frame, ["x", "c"]):
        name = row["column_name"]
        present = frame if row["kind"] == "missing" else frame.filter(pl.col(name).is_not_null())
        sides: list[list[Fraction]] = [[], []]
        for x, cluster in present.select(name, "cluster").iter_rows():
            if row["kind"] == "number":
                value = Fraction(x)
            else:
                value = Fraction(x is None if row["kind"] == "missing" else x == row["category"])
            sides[cluster != row["cluster"]].append(value)
        inside, outside = sides
        assert is_near(row["mean"], float(sum(inside) / len(inside)))
        if not outside:
            assert row["v_test"] is None
            continue
        difference, v_test = v_test_by_definition(inside, outside)
        assert is_near(row["difference"], float(difference))
        assert is_near(row["v_test"], v_test), row
        n_compared += 1
    return n_compared


values = st.one_of(st.none(), st.integers(-40, 40).map(lambda i: i / 8))
rows_of_values = st.lists(
    st.tuples(values, st.sampled_from([None, "u", "v", "w"]), st.integers(0, 3)),
    min_size=1,
    max_size=25,
)


@given(rows=rows_of_values)
def test_random_rows_by_definition(engine: Engine, rows: list[tuple[Any, ...]]) -> None:
    schema = {"x": pl.Float64, "c": pl.String, "cluster": pl.Int64}
    check_by_definition(engine, pl.DataFrame(rows, schema, orient="row"))


@pytest.mark.gate
def test_many_rows_by_definition(engine: Engine) -> None:
    generator = np.random.default_rng(1)
    n = 300
    frame = pl.DataFrame(
        {
            "x": generator.integers(-1000, 1000, n) / 64,
            "c": generator.choice([*"uvwxyz"], n),
            "cluster": generator.integers(0, 7, n),
        }
    )
    frame = frame.with_columns(x=pl.when(pl.int_range(n) % 5 > 0).then("x"))
    assert check_by_definition(engine, frame) >= 40


# ----------------------------------------------------------------------------------------------
# What must not matter
# ----------------------------------------------------------------------------------------------

BOTH: list[Callable[..., list[Row]]] = [cluster_rows, column_rows]
MIXED = ["grams", "color", "ripe", "picked"]


@pytest.mark.parametrize("ask", BOTH)
def test_a_weight_is_a_repetition(engine: Engine, ask: Callable[..., list[Row]]) -> None:
    weighted = FRUIT.with_columns(weight=pl.Series([3, 1, 2, 0, 5, 1, 4]))
    repeated = weighted.select(
        pl.exclude("weight").repeat_by("weight").explode(empty_as_null=False)
    )
    found = ask(engine, weighted, MIXED, weight="weight")
    assert is_near(found, ask(engine, repeated, MIXED))


@pytest.mark.parametrize("ask", BOTH)
def test_a_row_of_weight_0_does_not_count(engine: Engine, ask: Callable[..., list[Row]]) -> None:
    """Not even with a far value, a category or a cluster of its own."""
    odd = {"grams": [1e9, 2.0], "color": ["odd", None], "cluster": ["a", "odd"]}
    rows = FRUIT.head(2).with_columns(**{name: pl.Series(x) for name, x in odd.items()})
    weighted = pl.concat([FRUIT.with_columns(weight=1), rows.with_columns(weight=0)])
    assert is_near(ask(engine, weighted, MIXED, weight="weight"), ask(engine, FRUIT, MIXED))


def test_a_narrow_cluster_far_from_0(engine: Engine) -> None:
    """The mean of a cluster has no digits for its spread, and the spread is still right."""
    x = [2.0**40 + i * 2.0**-12 for i in (0, 0, 1)]
    frame = pl.DataFrame({"x": [*x, 0.0], "cluster": [0, 0, 0, 1]})
    own = next(row for row in cluster_rows(engine, frame, ["x"]) if row["cluster"] == 0)
    assert is_near(own["std"], 2.0**-12 * math.sqrt(2) / 3)


@pytest.mark.parametrize("ask", BOTH)
def test_partitions_are_profiles_of_their_own(
    engine: Engine, ask: Callable[..., list[Row]]
) -> None:
    one = FRUIT.with_columns(run=pl.lit(1))
    other = FRUIT.reverse().head(5).with_columns(run=pl.lit(2), grams=pl.col("grams") * 2)
    found = ask(engine, pl.concat([other, one]), MIXED, partition_by="run")
    alone = [
        {"run": i} | row for i, frame in ((1, one), (2, other)) for row in ask(engine, frame, MIXED)
    ]
    assert is_near(found, alone)


@pytest.mark.parametrize("ask", BOTH)
def test_order_dropped_rows_and_noise(engine: Engine, ask: Callable[..., list[Row]]) -> None:
    wanted = ask(engine, FRUIT, MIXED)
    extra = FRUIT.with_columns(cluster=pl.lit("noise"), grams=pl.lit(1e6))
    given_rows = pl.concat([extra, FRUIT.reverse(), extra.with_columns(cluster=None)])
    found = ask(engine, given_rows, MIXED, noise="noise", noise_as="drop")
    assert is_near(found, wanted)
    as_cluster = ask(engine, given_rows, MIXED, noise="noise", noise_as="cluster")
    assert is_near(as_cluster, ask(engine, given_rows, MIXED))
    assert not is_near(as_cluster, wanted)


def test_a_shift_and_a_scale(engine: Engine) -> None:
    """Points far from 0 keep the digits that they have; the v-test knows no unit."""
    generator = np.random.default_rng(2)
    x = generator.integers(0, 1024, 200) / 1024
    frame = pl.DataFrame({"x": x, "cluster": generator.integers(0, 4, 200)})
    wanted = {row["cluster"]: row for row in cluster_rows(engine, frame, ["x"])}
    for shift, scale in ((2.0**30, 1.0), (0.0, 2.0**40), (0.0, 2.0**-40), (-(2.0**30), 4.0)):
        moved = frame.with_columns(pl.col("x") * scale + shift)
        for row in cluster_rows(engine, moved, ["x"]):
            own = wanted[row["cluster"]]
            assert is_near(row["v_test"], own["v_test"], relative=1e-9)
            assert is_near(row["std"], own["std"] * scale, relative=1e-9, floor=0.0)
            assert is_near(row["difference"], own["difference"] * scale, relative=1e-9, floor=0.0)


def test_one_far_row(engine: Engine) -> None:
    """The spread of the other cluster does not lose its digits."""
    frame = pl.DataFrame({"x": [0.0, 0.25, 1.0, 1e12, 1e12], "cluster": [0, 0, 0, 1, 1]})
    row = cluster_rows(engine, frame, ["x"])[0]
    assert is_near(row["std"], math.sqrt(13 / 72))
    rest = pl.DataFrame({"x": [1e-3] * 3 + [5e-3] + [1e9] * 4, "cluster": [0, 0, 1, 1, 2, 2, 2, 2]})
    rows = {row["cluster"]: row for row in cluster_rows(engine, rest, ["x"])}
    assert is_near(rows[2]["rest_mean"], 2e-3)
    assert is_near(rows[1]["std"], 2e-3)


@pytest.mark.gate
def test_many_rows_of_each_engine() -> None:
    """20,000 rows in 300 clusters, of every kind: DuckDB, Polars and its streaming engine."""
    generator = np.random.default_rng(3)
    n = 20_000
    frame = pl.DataFrame(
        {
            "x": generator.normal(1e6, 3, n),
            "i": generator.integers(-5, 5, n),
            "c": generator.choice([*"abcdefgh"], n),
            "d": pl.Series(generator.integers(0, 9000, n)).cast(pl.Int32).cast(pl.Date),
            "cluster": generator.integers(0, 300, n),
        }
    ).with_columns(x=pl.when(pl.int_range(n) % 7 > 0).then("x"))
    names = ["x", "i", "c", "d"]
    from tests.support.engines import ENGINES, make

    for ask in BOTH:
        answers = [ask(make(name), frame, names) for name in ENGINES]
        assert len(answers[0]) >= 4
        for answer in answers[1:]:
            assert is_near(answer, answers[0], relative=1e-9)


# ----------------------------------------------------------------------------------------------
# Types and errors
# ----------------------------------------------------------------------------------------------

SAME_NUMBERS = [pl.Int8, pl.UInt64, pl.Float32, pl.Decimal(9, 2)]


@pytest.mark.parametrize("dtype", SAME_NUMBERS, ids=str)
def test_types_of_numbers(side: Engine, dtype: pl.DataType) -> None:
    frame = pl.DataFrame({"x": [1, 2, 5, 9], "cluster": [0, 0, 1, 1]})
    assert cluster_rows(side, frame.cast({"x": dtype}), ["x"]) == cluster_rows(side, frame, ["x"])


@pytest.mark.parametrize("dtype", [pl.Enum(["u", "v"]), pl.Categorical()], ids=["enum", "cat"])
def test_types_of_categories(side: Engine, dtype: pl.DataType) -> None:
    frame = pl.DataFrame({"c": ["u", "u", "v", None], "cluster": [0, 0, 1, 1]})
    for ask in BOTH:
        assert ask(side, frame.cast({"c": dtype}), ["c"]) == ask(side, frame, ["c"])


def test_dates_and_times(side: Engine) -> None:
    noon = dt.datetime(1970, 1, 3, 12)
    frame = pl.DataFrame({"t": [noon, dt.datetime(1969, 12, 31)], "cluster": [0, 1]})
    for column in (
        pl.col("t"),
        pl.col("t").dt.replace_time_zone("UTC"),
        pl.col("t").dt.cast_time_unit("ms"),
    ):
        rows = cluster_rows(side, frame.with_columns(column), ["t"])
        assert [(row["kind"], row["mean"]) for row in rows] == [("date", 2.5), ("date", -1.0)]


def test_a_column_without_a_type(side: Engine) -> None:
    frame = pl.DataFrame({"c": [None, None], "cluster": [0, 1]})
    [row] = column_rows(side, frame.with_columns(pl.col("c").cast(pl.String)), ["c"])
    assert (row["kind"], row["n"], row["n_missing"], row["n_categories"]) == ("category", 0, 2, 0)
    untyped = ce.column_profile(frame, "c", "cluster").row(0, named=True)
    assert untyped == row


UNFIT = {
    "list": pl.Series([[1], [2]]),
    "struct": pl.Series([{"a": 1}, {"a": 2}]),
    "duration": pl.Series([dt.timedelta(1), dt.timedelta(2)]),
    "time": pl.Series([dt.time(1), dt.time(2)]),
    "binary": pl.Series([b"a", b"b"]),
}


@pytest.mark.parametrize("unfit", UNFIT)
@pytest.mark.parametrize("ask", BOTH)
def test_types_without_a_profile(side: Engine, ask: Callable[..., list[Row]], unfit: str) -> None:
    words = "columns: expected numbers, text, truth values or dates in the column 'x', got a column"
    frame = pl.DataFrame({"x": UNFIT[unfit], "cluster": [0, 1]})
    for rows in (frame, frame.clear()):
        with fails(side, words):
            ask(side, rows, ["x"])


@pytest.mark.parametrize("ask", BOTH)
@pytest.mark.parametrize(
    ("value", "shown"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")]
)
def test_numbers_that_are_not_finite(
    side: Engine, ask: Callable[..., list[Row]], value: float, shown: str
) -> None:
    frame = pl.DataFrame({"y": [1.0, 2, 3], "x": [1.0, value, value], "cluster": [0, 0, 1]})
    words = f"columns: expected finite numbers in the column 'x', got {shown} (2 such rows); set th"
    with fails(side, words):
        ask(side, frame, ["y", "x"])
    with fails(side, "(1 such row); set them to NULL, which is a missing value"):
        ask(side, frame.head(2), ["y", "x"])
    assert len(ask(side, frame.head(1), ["y", "x"])) == 2


@pytest.mark.parametrize("ask", BOTH)
def test_numbers_whose_squares_overflow(side: Engine, ask: Callable[..., list[Row]]) -> None:
    for values in ([1e200, -1e200, 0.0], [1.7e308, 1.7e308, 0.0]):
        frame = pl.DataFrame({"x": values, "cluster": [0, 0, 1]})
        with fails(side, "columns: the squares of the column 'x' overflow; scale it down"):
            ask(side, frame, ["x"])


@pytest.mark.parametrize("ask", BOTH)
def test_bad_arguments(side: Engine, ask: Callable[..., list[Row]]) -> None:
    with fails(side, "columns: column 'colr' not found; did you mean 'color'? columns: grams, col"):
        ask(side, FRUIT, ["grams", "colr"])
    with fails(side, "columns: 'grams' is given twice"):
        ask(side, FRUIT, ["grams", "color", "grams"])
    with fails(side, "noise_as: expected one of 'cluster', 'drop', got 'singletons'; each row of"):
        ask(side, FRUIT, ["grams"], noise="a", noise_as="singletons")
    with fails(side, "weight: expected whole numbers >= 0, got -1"):
        weights = pl.Series([1, 1, 1, 1, 1, 1, -1])
        ask(side, FRUIT.with_columns(weight=weights), ["grams"], weight="weight")
    with fails(side, "weight: expected a sum of at most 1000000000000, got 7000000000000"):
        ask(side, FRUIT.with_columns(weight=pl.lit(10**12)), ["grams"], weight="weight")


def test_arguments_of_polars() -> None:
    with pytest.raises(ce.ClusterEvalError, match="columns: expected names of columns, such as"):
        ce.cluster_profile(FRUIT, [], "cluster")
    with pytest.raises(ce.ClusterEvalError, match="partition_by: 'mean' is also a column of the r"):
        ce.cluster_profile(FRUIT.with_columns(mean=1), "color", "cluster", partition_by="mean")
    wanted = ce.cluster_profile(FRUIT, ["color"], "cluster")
    assert ce.cluster_profile(FRUIT, "color", pl.col("cluster")).equals(wanted)
    assert FRUIT.clustereval.cluster_profile("color", "cluster").equals(wanted)  # type: ignore[attr-defined]


ODD = ["a b", 'q"t', "select", "*", "^x$", "ünï", "n", "cluster_n", "x_0", "key_0"]


def test_odd_names(side: Engine) -> None:
    frame = pl.DataFrame({name: [1.0, 2.0, 4.0] for name in ODD} | {"cluster": [0, 0, 1]})
    rows = cluster_rows(side, frame, ODD)
    assert [row["column_name"] for row in rows] == [*ODD, *ODD]
