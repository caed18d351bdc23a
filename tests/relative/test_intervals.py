"""external_intervals: the delta method against brute force, exact variances and its own limits."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from scipy.special import erfinv
from scipy.stats import norm
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, v_measure_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

import polars_clustereval as ce
from polars_clustereval.external.contingency import ROW_COUNTS
from tests.support import strategies
from tests.support.engines import fails, frame_of, stacked
from tests.support.influence import SINGLE, changed, expanded, std_errors
from tests.support.oracle import METRICS, PAIR_COUNTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.engines import Engine, Row
    from tests.support.oracle import Cell

#: Metrics without a standard error, whatever the table.
NEVER = {"exact_match_precision", "exact_match_recall", "exact_match_f_score"}
MAJORITY = {"purity", "inverse_purity", "split_join_distance"}
#: Metrics that vary from sample to sample even if label and cluster are equal partitions.
OF_SIZES = {
    "russell_rao_index",
    "label_entropy",
    "cluster_entropy",
    "joint_entropy",
    "mutual_info_score",
    "expected_mutual_info",
}
TABLES: dict[str, list[Cell]] = {
    "three by three": [
        *((0, 0, 400_000), (0, 1, 90_000), (0, 2, 30_000)),
        *((1, 0, 20_000), (1, 1, 250_000), (1, 2, 60_000)),
        *((2, 0, 10_000), (2, 1, 45_000), (2, 2, 95_000)),
    ],
    "empty cells": [(0, 0, 100_000), (0, 1, 30_000), (1, 1, 50_000), (2, 2, 70_000), (2, 3, 9_000)],
    "nested": [(0, 0, 100_000), (0, 1, 30_000), (1, 2, 50_000), (1, 3, 20_000)],
    "against chance": [(0, 0, 10_000), (0, 1, 40_000), (1, 0, 30_000), (1, 1, 11_000)],
}
SINGLES: list[Cell] = [
    *((0, 0, 400), (0, SINGLE, 90)),
    *((1, 0, 50), (1, 1, 60), (1, SINGLE, 70)),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"beta": 0.5, "average_method": "geometric"},
    {"beta": 3, "average_method": "min"},
    {"beta": 0, "average_method": "max"},
    {"average_method": "joint", "adjusted": False},
]


#: Labelings whose clusters are equal to the labels, except for the names.
EQUAL: dict[str, list[Cell]] = {
    "sizes differ": [(0, 5, 17), (1, 3, 4), (2, 9, 30), (3, 1, 7)],
    "two rows": [(0, 0, 1), (1, 1, 1)],
    "one cluster": [(0, 0, 12)],
    "singletons": [(i, -i, 1) for i in range(7)],
    "large": [(0, 0, 3_333_333), (1, 1, 10_000_019), (2, 2, 7)],
}
OTHERS: dict[str, list[Cell]] = {
    "few rows": [(0, 0, 40), (0, 1, 2), (1, 1, 30), (2, 2, 25), (2, 1, 1)],
    "least adjusted Rand index": [(0, 0, 1), (0, 1, 2), (1, 0, 2), (1, 1, 1)],
    "equal shares": [(i, j, 7) for i in range(3) for j in range(3)],
    "a tied majority": [(0, 0, 5), (1, 0, 5), (0, 1, 9)],
    "symmetric": [(0, 0, 50), (0, 1, 13), (1, 0, 13), (1, 1, 31)],
    "one label": [(0, 0, 9), (0, 1, 3)],
    "sizes by label and by cluster": [
        *((0, 0, 90), (0, 1, 20), (1, 1, 70), (1, 0, 5), (2, 2, 40), (2, 3, 35), (2, 1, 2)),
    ],
    "tied matches": [(0, 0, 30), (0, 1, 30), (1, 2, 40), (1, 3, 7)],
    # 2 x 6 / (15 + 7) and 2 x 9 / (15 + 18) are equal, although the cells are not.
    "tied matches of different sizes": [(0, 0, 6), (1, 0, 1), (0, 1, 9), (1, 1, 4), (2, 1, 5)],
    "a cluster of the same size": [(0, 0, 40), (0, 1, 3), (1, 0, 3), (1, 1, 60)],
    "an equal pair next to others": [(0, 0, 43), (1, 1, 60), (1, 2, 20), (2, 2, 15)],
    "many rows": [
        *((0, 0, 1900), (0, 1, 300), (0, 2, 120)),
        *((1, 0, 200), (1, 1, 800), (1, 2, 90)),
        *((2, 0, 130), (2, 1, 60), (2, 2, 400)),
    ],
}
NOISY: dict[str, list[Cell]] = {
    "of two labels": SINGLES,
    # A label with a single row of noise has no majority that is differentiable.
    "majority of a label": [(0, 0, 9), (1, 0, 2), (1, SINGLE, 4), (2, SINGLE, 3)],
}
CELLS = TABLES | EQUAL | OTHERS


def without_names(cells: Sequence[Cell]) -> list[Cell]:
    return [(a, -1 if b == SINGLE else b, n) for a, b, n in cells]


def intervals_of_cells(engine: Engine, cells: Sequence[Cell], **options: Any) -> dict[str, Row]:
    """The rows of one labeling by metric, from a call without partitions."""
    frame = frame_of(without_names(cells), "n")
    rows = engine.table("external_intervals", frame, weight="n", **options)
    return {row["metric"]: row for row in rows}


@cache
def intervals_by_case(engine: Engine, *options: tuple[str, Any]) -> dict[str, dict[str, Row]]:
    """The rows by case and metric: of CELLS, or of NOISY with `noise`, in one call."""
    given = dict(options)
    cases = NOISY if "noise" in given else CELLS
    frame = stacked([without_names(cells) for cells in cases.values()], "n")
    rows = engine.table("external_intervals", frame, weight="n", partition_by="run", **given)
    found: dict[str, dict[str, Row]] = {case: {} for case in cases}
    for row in rows:
        found[list(cases)[row.pop("run")]][row["metric"]] = row
    assert len(rows) == sum(map(len, found.values()))
    return found


def assert_std_errors(
    actual: dict[str, Row], expected: dict[str, float], tolerance: float, what: object = ""
) -> None:
    for metric, std_error in expected.items():
        got = actual[metric]["std_error"]
        scale = max(std_error, 1e-6 * abs(actual[metric]["value"]))
        assert got is not None, (
            f"{metric} has no derivatives: add them, or list it in NEVER; {what}"
        )
        assert abs(got - std_error) <= tolerance * scale, (metric, got, std_error, what)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_standard_errors_are_those_of_brute_force(
    every_engine: list[Engine], options: dict[str, Any]
) -> None:
    for table in TABLES if options in OPTIONS[:2] else ["three by three"]:
        expected = std_errors(TABLES[table], **options)
        expected = {name: x for name, x in expected.items() if name not in NEVER}
        assert len(expected) >= 36, set(METRICS) - set(expected)
        for engine in every_engine:
            found = intervals_by_case(engine, *options.items())[table]
            assert_std_errors(found, expected, 2e-4, (table, engine.name))
            for name in NEVER & set(found):
                assert [found[name][x] for x in ("std_error", "lower", "upper")] == [None] * 3


def test_a_labeling_alone_has_the_rows_of_a_partition(side: Engine) -> None:
    alone = intervals_of_cells(side, CELLS["nested"])
    assert_same_intervals([*alone.values()], [*intervals_by_case(side)["nested"].values()])


NOISE = (("noise", -1), ("noise_as", "singletons"))


def test_noise_counted_as_singletons(every_engine: list[Engine]) -> None:
    """A row of noise that comes or goes is a cluster that comes or goes."""
    expected = std_errors(SINGLES, adjusted=False)
    left_out = std_errors(SINGLES, jackknife=True, adjusted=False)
    for name in NEVER:
        expected.pop(name, None)
    for engine in every_engine:
        found = intervals_by_case(engine, *NOISE)["of two labels"]
        # Counts of pairs of n - 1 rows have other factors than those of n.
        pairs = {k: x for k, x in expected.items() if k in PAIR_COUNTING}
        assert_std_errors(found, pairs, 2e-3, engine.name)
        others = {k: x for k, x in expected.items() if "purity" in k or "bcubed" in k}
        assert_std_errors(found, others, 1e-4, engine.name)
        information = {k: x for k, x in left_out.items() if k not in {*pairs, *others, *NEVER}}
        assert len(information) >= 12
        assert_std_errors(found, information, 2e-3, engine.name)
        as_clusters = frame_of_cells(expanded(SINGLES))
        rows = engine.table("external_report", as_clusters, weight="n")
        for name, row in found.items():
            assert row["value"] == pytest.approx(rows[0][name], rel=1e-12)
        for row in engine.table("external_intervals", as_clusters, weight="n"):
            if "mutual_info" in row["metric"]:
                wanted = pytest.approx(row["std_error"], rel=1e-9)
                assert found[row["metric"]]["std_error"] == wanted


def frame_of_cells(cells: Sequence[Cell]) -> pl.DataFrame:
    clusters = {cluster: i for i, cluster in enumerate(dict.fromkeys(b for _, b, _ in cells))}
    return frame_of([(a, clusters[b], n) for a, b, n in cells], "n")


def test_the_comparison_rejects_errors(side: Engine) -> None:
    expected = std_errors(TABLES["nested"], adjusted=False)
    found = intervals_by_case(side)["nested"]
    for wrong in (1.001 * expected["rand_score"], 0.0):
        with pytest.raises(AssertionError, match="rand_score"):
            assert_std_errors(found, {"rand_score": wrong}, 2e-4)
    with pytest.raises(AssertionError, match="class_f_measure"):
        assert_std_errors(found, {"class_f_measure": 0.1}, 2e-4)


def test_known_variances(engine: Engine) -> None:
    """Of an entropy (Basharin 1959, doi:10.1137/1104033), and of a share."""
    cells = TABLES["three by three"]
    found = intervals_by_case(engine)["three by three"]
    sizes = pl.DataFrame(cells, schema=["label", "cluster", "n"], orient="row")
    n = sizes["n"].sum()
    for side in ("label", "cluster"):
        p = (sizes.group_by(side).agg(pl.col("n").sum())["n"] / n).to_numpy()
        variance = (p @ np.log(p) ** 2 - (p @ np.log(p)) ** 2) / n
        # A row is left out, so that the logarithms are off by 1 / (2 rows).
        assert found[f"{side}_entropy"]["std_error"] == pytest.approx(math.sqrt(variance), rel=5e-6)
    purity = found["purity"]["value"]
    assert found["purity"]["std_error"] == pytest.approx(
        math.sqrt(purity * (1 - purity) / n), rel=1e-12
    )


@pytest.mark.gate
def test_known_errors_of_matches(engine: Engine) -> None:
    """From derivatives of the definitions with respect to the shares, as differences (mpmath)."""
    known = {
        "sizes by label and by cluster": (0.023522835852377, 0.032214968786189),
        "an equal pair next to others": (0.02448371072473, 0.036955473505895),
    }
    for case, (of_labels, of_elements) in known.items():
        found = intervals_by_case(engine)[case]
        assert found["class_f_measure"]["std_error"] == pytest.approx(of_labels, rel=1e-12)
        similarity = found["element_centric_similarity"]
        assert similarity["std_error"] == pytest.approx(of_elements, rel=1e-12)


def test_jackknife_over_rows(side: Engine) -> None:
    """Scores by scikit-learn without one row, which are the same for all rows of a cell."""
    labels, clusters, rows = np.array(CELLS["many rows"]).T
    n = rows.sum()
    found = intervals_by_case(side)["many rows"]
    for function in (adjusted_rand_score, v_measure_score):
        without = []
        for i in range(len(rows)):
            left = rows - (np.arange(len(rows)) == i)
            without.append(function(np.repeat(labels, left), np.repeat(clusters, left)))
        variance = np.cov(without, fweights=rows, ddof=0)
        assert found[function.__name__]["std_error"] == pytest.approx(
            math.sqrt((n - 1) * variance), rel=0.005
        )


def labels_of(cells: Sequence[Cell]) -> tuple[np.ndarray, np.ndarray]:
    labels, clusters, rows = np.array(cells).T
    return np.repeat(labels, rows), np.repeat(clusters, rows)


def expected_information(labels: np.ndarray, clusters: np.ndarray) -> float:
    table = contingency_matrix(labels, clusters, sparse=True)
    return float(expected_mutual_information(table, len(labels)))


#: Tables in which the expected mutual information is not negligible.
SPARSE: dict[str, list[Cell]] = {
    "small cells": [
        *((i, i % 9, 2 + i % 4) for i in range(14)),
        *((i, (i * 5 + 2) % 9, 1) for i in range(14)),
    ],
    "a large label and a large cluster": [(0, 0, 400), (0, 1, 25), (1, 0, 31), (2, 2, 12)],
    # In an octave with more than 32 sizes, nodes stand for the sizes.
    "many sizes": [
        *((i, i, 64 + i) for i in range(40)),
        *((i, (i * 3 + 1) % 40, 1 + i % 5) for i in range(40)),
    ],
}


@pytest.mark.parametrize("average_method", ["arithmetic", "geometric", "min", "max"])
def test_jackknife_of_the_mutual_information(
    every_engine: list[Engine], average_method: str
) -> None:
    """Scores by scikit-learn without one row; the two methods differ by terms of order 1 / n."""
    tables = SPARSE if average_method == "arithmetic" else {"small cells": SPARSE["small cells"]}
    for case, cells in tables.items():
        rows = np.array([n for *_, n in cells])
        n = rows.sum()
        without = [
            labels_of([(a, b, m - (j == i)) for j, (a, b, m) in enumerate(cells)])
            for i in range(len(cells))
        ]
        scores = {
            "adjusted_mutual_info_score": [
                adjusted_mutual_info_score(*each, average_method=average_method) for each in without
            ],
            "expected_mutual_info": [expected_information(*each) for each in without],
        }
        first: dict[str, Row] = {}
        for engine in every_engine:
            found = intervals_of_cells(engine, cells, average_method=average_method)
            first = first or found
            assert_same_intervals([*found.values()], [*first.values()], (case, engine.name))
            for name, values in scores.items():
                variance = np.cov(values, fweights=rows, ddof=0)
                assert found[name]["std_error"] == pytest.approx(
                    math.sqrt((n - 1) * variance), rel=(12 if "adjusted" in name else 3) / n
                ), (case, name, engine.name)


def about(value: float | None, **tolerances: float) -> Any:
    """What a value is compared with: itself for NULL, otherwise the number about."""
    return None if value is None else pytest.approx(value, **tolerances)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"adjusted": False, "average_method": "joint", "beta": 2.0},
        {"noise": 1, "noise_as": "drop"},
        {"noise": 1, "noise_as": "singletons", "partition_by": "run"},
    ],
)
def test_values_are_those_of_the_report(engine: Engine, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    rows = [*rng.integers(0, 4, (300, 3)).tolist(), [None, 1, 2], [1, None, 2], [1, 1, None]]
    frame = frame_of(rows, "run")
    found = engine.table("external_intervals", frame, **options)
    summary = engine.table("external_summary", frame, **options)
    summary = [row for row in summary if row["metric"] not in ROW_COUNTS]
    assert len(found) == len(summary)
    for row, wanted in zip(found, summary, strict=True):
        assert row.get("run") == wanted.get("run")
        assert row["metric"] == wanted["metric"]
        assert row["value"] == about(wanted["value"], rel=1e-12)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_limits(engine: Engine, confidence: float) -> None:
    z, cut = norm.ppf(0.5 + confidence / 2), set()
    ranges: dict[str, tuple[float, float]] = {"adjusted_rand_score": (-0.5, 1)}
    ranges |= {"mirkin_metric": (0, 98 * 97), "split_join_distance": (0, 196)}
    ranges |= {"purity": (0, 1), "phi_index": (-1, 1), "southwood_index": (0, math.inf)}
    found = intervals_of_cells(engine, CELLS["few rows"], confidence=confidence)
    for name, (least, greatest) in ranges.items():
        row = found[name]
        lower, upper = (row["value"] + sign * z * row["std_error"] for sign in (-1, 1))
        assert row["lower"] == pytest.approx(max(lower, least), rel=1e-12)
        assert row["upper"] == pytest.approx(min(upper, greatest), rel=1e-12)
        cut |= {name} if lower < least or upper > greatest else set()
    assert bool(cut) == (confidence > 0.9)


@pytest.mark.gate
def test_an_entropy_is_not_negative(side: Engine) -> None:
    row = intervals_of_cells(side, [(0, 0, 97), (1, 1, 1), (0, 1, 2)])["label_entropy"]
    assert (row["lower"], row["reason"]) == (0, None)
    assert row["value"] < 1.96 * row["std_error"]


def test_the_least_adjusted_rand_index_is_a_limit(engine: Engine) -> None:
    found = intervals_by_case(engine)["least adjusted Rand index"]
    assert found["adjusted_rand_score"]["lower"] == -0.5
    assert found["phi_index"]["lower"] < -0.5


def test_normal_quantiles(con: duckdb.DuckDBPyConnection) -> None:
    """AS 241 in SQL, from the center to the far tail, against scipy."""
    levels = [1e-9, 0.01, 0.3, 0.5, 0.8, 0.85, 0.8500001, 0.9, 0.95, 0.99, 0.999]
    levels += [1 - 2.0**-i for i in range(10, 53, 3)]
    query = "SELECT level, clustereval._normal_quantile(level) FROM unnest($1) AS given (level)"
    found = con.execute(query, [levels]).fetchall()
    assert [level for level, _ in found] == levels
    for level, z in found:
        expected = math.sqrt(2) * erfinv(level) if level < 0.5 else norm.isf((1 - level) / 2)
        assert z == pytest.approx(expected, rel=3e-15), level


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_equal_labelings(engine: Engine, options: dict[str, Any]) -> None:
    for table in EQUAL:
        for name, row in intervals_by_case(engine, *options.items())[table].items():
            if row["value"] is None or name in NEVER:
                assert row["std_error"] is None, (name, table)
            elif name in MAJORITY:
                assert row["std_error"] in (0.0, None), (name, table)
            elif name not in OF_SIZES:
                assert row["std_error"] == 0.0, (name, table)
                assert row["lower"] == row["value"] == row["upper"], (name, table)


def test_equal_shares_have_no_error_of_the_first_order(engine: Engine) -> None:
    found = intervals_by_case(engine)["equal shares"]
    for name in ("label_entropy", "cluster_entropy", "joint_entropy", "mutual_info_score"):
        assert found[name]["std_error"] == pytest.approx(0, abs=1e-15)


@pytest.mark.gate
def test_ties(engine: Engine) -> None:
    """A tied majority or equal entropies have no derivative; the other metrics have theirs."""
    found = intervals_by_case(engine)["a tied majority"]
    nulls = {name for name, row in found.items() if row["std_error"] is None} - NEVER
    assert nulls == {"purity", "split_join_distance"}
    assert {found[name]["reason"] for name in nulls} == {"the metric has no derivative"}
    for options in OPTIONS[2:4]:
        assert options["average_method"] in ("min", "max")
        found = intervals_by_case(engine, *options.items())["symmetric"]
        assert found["normalized_information_distance"]["std_error"] is None
        assert found["normalized_mutual_info_score"]["std_error"] is None
        assert found["v_measure_score"]["std_error"] > 0
    found = intervals_by_case(engine, *NOISE)["majority of a label"]
    assert found["inverse_purity"]["std_error"] is found["class_f_measure"]["std_error"] is None
    assert min(found[name]["std_error"] for name in ("purity", "element_centric_similarity")) > 0
    matching = ("class_f_measure", "element_centric_similarity")
    for case, defined in {
        "tied matches": (False, True),
        "tied matches of different sizes": (False, True),
        "a cluster of the same size": (True, False),
        "an equal pair next to others": (True, True),
    }.items():
        found = intervals_by_case(engine)[case]
        assert tuple(found[name]["std_error"] is not None for name in matching) == defined, case


def test_one_label(engine: Engine) -> None:
    """0 / 0 has no derivative, even where the value is set to 1."""
    found = intervals_by_case(engine)["one label"]
    assert found["homogeneity_score"]["value"] == 1.0
    assert found["homogeneity_score"]["std_error"] is None
    assert found["homogeneity_score"]["reason"] == "the metric has no derivative"
    assert found["phi_index"]["reason"] == "the metric is undefined"
    assert found["pair_recall"]["std_error"] > 0


# Biases -------------------------------------------------------------------------------------------

BIASED = "too few rows: the bias is more than a quarter of the standard error"
#: Metrics that are linear functions of statistics whose bias is known.
LINEAR = (
    *("label_entropy", "cluster_entropy", "joint_entropy", "label_entropy_given_cluster"),
    *("cluster_entropy_given_label", "mutual_info_score", "variation_of_information"),
    *("bcubed_precision", "bcubed_recall", "class_f_measure", "element_centric_similarity"),
)


def biases(cells: Sequence[Cell]) -> dict[str, float]:
    """n times the bias of n rows: half the mean over the rows of the second derivative.

    It is the change of the slope of an exact score if rows of a cell come or go.
    """
    many = [(label, cluster, 1000 * n) for label, cluster, n in cells]
    total, by = sum(n for *_, n in many), 10
    found = dict.fromkeys(LINEAR, 0.0)
    for i, (*_, n) in enumerate(many):
        less, same, more = (changed(many, i, x, adjusted=False) for x in (-by, 0, by))
        for name in LINEAR:
            bend = (more[name] + less[name] - 2 * same[name]) * total * total / (by * by)
            found[name] += float(bend) * n / total / 2
    return found


@pytest.mark.gate
def test_biased_metrics_have_no_interval(engine: Engine) -> None:
    """As many rows as it takes, by second differences of exact scores."""
    sizes = CELLS["sizes by label and by cluster"]
    tables: list[list[Cell]] = [
        [(a, b, 2 + n // 10) for a, b, n in sizes],
        [(0, 0, 9), (1, 0, 10), (2, 0, 11), (3, 0, 12), (0, 1, 2)],
        [(0, 0, 6), (0, 1, 5), (1, 0, 5), (1, 1, 8), (2, 0, 4), (2, 1, 5)],
    ]
    scales = [1, 2, 3, 5, 8, 13, 21, 34, 55, 100, 300, 1000]
    seen = set()
    for table in tables:
        expected = biases(table)
        scaled = [[(a, b, n * scale) for a, b, n in table] for scale in scales]
        frame = stacked(scaled, "n")
        rows = engine.table("external_intervals", frame, weight="n", partition_by="run")
        n_rows = sum(n for *_, n in table)
        for row in rows:
            if row["metric"] not in LINEAR or row["std_error"] is None:
                continue
            bias = expected[row["metric"]] / (n_rows * scales[row["run"]])
            share = abs(bias) / row["std_error"]
            if not 0.24 < share < 0.26:
                assert row["reason"] == (BIASED if share > 0.25 else None), (row, share)
                seen.add((row["metric"], share > 0.25))
    assert seen == {(name, is_biased) for name in LINEAR for is_biased in (True, False)}


@pytest.mark.gate
def test_many_small_groups(engine: Engine) -> None:
    """Of 60 labels with 5 rows each, most cells have few rows; pairs of rows are not biased."""
    cells = [(i % 60, (i * i + i // 7) % 60 if i % 3 == 0 else i % 60, 1) for i in range(300)]
    found = intervals_of_cells(engine, cells)
    biased = {name for name, row in found.items() if row["reason"] == BIASED}
    assert biased >= {"joint_entropy", "normalized_mutual_info_score", "v_measure_score"}
    assert biased >= {"bcubed_precision", "bcubed_recall", "bcubed_f_score", "label_entropy"}
    for name in biased:
        assert found[name]["std_error"] >= 0
        assert (found[name]["lower"], found[name]["upper"]) == (None, None)
    for name in ("adjusted_rand_score", "pair_f_score", "adjusted_mutual_info_score"):
        assert found[name]["reason"] is None
    words = "rows are not the unit that is sampled: use labels_are_sample"
    assert {found[name]["reason"] for name in NEVER} == {words}
    many = intervals_of_cells(engine, [(a, b, 1000 * n) for a, b, n in cells])
    assert BIASED not in {row["reason"] for name, row in many.items() if name != "label_entropy"}


@pytest.mark.gate
@strategies.batched
@given(several=strategies.batches(strategies.labelings(nulls=True)))
def test_an_interval_contains_its_estimate_or_the_row_says_why_not(
    engine: Engine, several: list[strategies.Rows]
) -> None:
    rows = engine.table("external_intervals", stacked(several), partition_by="run")
    for row in rows:
        value, error, lower, upper, reason = (
            row[name] for name in ("value", "std_error", "lower", "upper", "reason")
        )
        if reason is not None:
            assert (lower, upper) == (None, None), row
            assert (value is None) or len(several[row["run"]]) > 1 or error is None, row
        else:
            assert error >= 0, row
            assert lower - 1e-12 <= value <= upper + 1e-12, row


@pytest.mark.gate
@pytest.mark.parametrize("n", [500, 5000])
def test_intervals_of_matches_cover_the_population(n: int) -> None:
    """Of samples of a population with labels and clusters of different sizes."""
    shares = np.array([[0.3, 0.05, 0.02], [0.03, 0.2, 0.02], [0.01, 0.07, 0.1], [0.04, 0.01, 0.15]])
    draw = np.random.default_rng(n)
    counts = [np.rint(shares * 10**10), *draw.multinomial(n, shares.ravel(), 600)]
    cells = [
        [(i // 3, i % 3, int(x)) for i, x in enumerate(np.ravel(count)) if x] for count in counts
    ]
    names = ["class_f_measure", "element_centric_similarity"]
    found = ce.external_intervals(
        stacked(cells, "n"), "label", "cluster", weight="n", partition_by="run", metrics=names
    )
    for name in names:
        whole, *samples = found.filter(metric=name).rows(named=True)
        known = [row for row in samples if row["lower"] is not None]
        covers = [row["lower"] <= whole["value"] <= row["upper"] for row in known]
        assert len(known) > 0.7 * len(samples), name
        assert 0.93 <= np.mean(covers) <= 0.97, name


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows(engine: Engine, rows: int) -> None:
    frame = frame_of([(0, 0)] * rows + [(None, 0)])
    found = engine.table("external_intervals", frame)
    assert [row["metric"] for row in found] == list(METRICS)
    for row in found:
        assert [row[name] for name in ("std_error", "lower", "upper")] == [None] * 3
        assert row["reason"] == "fewer than 2 rows"
        assert rows or row["value"] is None


def test_no_partition(engine: Engine) -> None:
    assert engine.table("external_intervals", frame_of([]), partition_by="label") == []


def assert_same_intervals(left: list[Row], right: list[Row], what: object = "") -> None:
    assert len(left) == len(right), what
    for row, wanted in zip(left, right, strict=True):
        assert row["metric"] == wanted["metric"], what
        assert row["reason"] == wanted["reason"], (row, what)
        for name in ("value", "std_error", "lower", "upper"):
            assert row[name] == about(wanted[name], rel=1e-9, abs=1e-12), (row, what)


@pytest.mark.gate
def test_what_must_not_matter(engine: Engine) -> None:
    rng = np.random.default_rng(9)
    rows = np.stack([*rng.integers(0, 4, (2, 500)), rng.integers(0, 3, 500)], axis=1).tolist()
    frame = frame_of(rows, "n").with_columns(
        run=pl.Series([None, 1, 2] * 166 + [1, 2]), text=pl.col("label").cast(pl.String)
    )
    whole = engine.table("external_intervals", frame, weight="n")
    as_text = engine.table("external_intervals", frame, "text", weight="n")
    assert_same_intervals(as_text, whole, "as text")
    repeated = frame.select(pl.exclude("n").repeat_by("n").explode())
    assert_same_intervals(engine.table("external_intervals", repeated), whole, "repeated")
    variants = {
        "shuffled": frame.sample(fraction=1, shuffle=True, seed=1),
        "dropped": pl.concat([frame, frame.with_columns(label=pl.lit(None, pl.Int64))]),
        1: frame.filter(run=1),
        2: frame.filter(run=2),
        None: frame.filter(pl.col("run").is_null()),
    }
    alone = [part.with_columns(variant=pl.lit(i)) for i, part in enumerate(variants.values())]
    rows = engine.table("external_intervals", pl.concat(alone), weight="n", partition_by="variant")
    found = dict(zip(variants, batched(rows, len(METRICS)), strict=True))
    for variant in ("shuffled", "dropped"):
        assert_same_intervals(found[variant], whole, variant)
    assert_same_intervals(
        engine.table("external_intervals", variants[None], weight="n"), found[None], "without runs"
    )
    runs = engine.table("external_intervals", frame, weight="n", partition_by="run")
    assert [row["run"] for row in runs[:: len(METRICS)]] == [1, 2, None]
    for run, part in zip((1, 2, None), batched(runs, len(METRICS)), strict=True):
        assert_same_intervals(part, found[run], run)


def batched(rows: list[Row], size: int) -> list[list[Row]]:
    return [rows[i : i + size] for i in range(0, len(rows), size)]


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 1.5])
def test_confidence_out_of_range(side: Engine, confidence: float) -> None:
    with fails(side, f"confidence: expected a number between 0 and 1, got {confidence}"):
        side.table("external_intervals", frame_of([(0, 0)]), confidence=confidence)


def test_confidence_null(con: duckdb.DuckDBPyConnection) -> None:
    frame = frame_of([(0, 0)])
    con.register("frame", frame)
    words = "confidence: expected a number between 0 and 1, got NULL"
    with pytest.raises(duckdb.Error, match=words):
        con.execute(
            "FROM clustereval.external_intervals(frame, label, cluster, confidence := NULL)"
        )
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.external_intervals(frame, "label", "cluster", confidence=None)  # type: ignore[arg-type]


def test_options_of_the_report_are_checked(side: Engine) -> None:
    frame = frame_of([(0, 0)])
    with fails(side, "beta: expected a number >= 0, got -1"):
        side.table("external_intervals", frame, beta=-1)
    with fails(side, "average_method 'joint' has no adjusted form"):
        side.table("external_intervals", frame, average_method="joint")
    with fails(side, "noise_as 'drop' needs noise"):
        side.table("external_intervals", frame, noise_as="drop")


def test_a_result_column_is_no_partition() -> None:
    frame = frame_of([(0, 0, 1)], "lower")
    with pytest.raises(ce.ClusterEvalError, match="'lower' is also a column of the result"):
        ce.external_intervals(frame, "label", "cluster", partition_by="lower")
