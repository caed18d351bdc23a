"""What must hold for any labeling. The lists of metrics by property are complete by a guard."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import engines
from tests.support.compare import assert_metrics, assert_rows, assert_same
from tests.support.engines import Engine, report
from tests.support.oracle import COUNTS, METRICS, UNBOUNDED, exact
from tests.support.others import SKLEARN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SYMMETRIC = {
    "rand_score",
    "adjusted_rand_score",
    "fowlkes_mallows_score",
    "pair_f_score",
    "jaccard_index",
    "mirkin_metric",
    "hubert_index",
    "kulczynski_index",
    "phi_index",
    "rogers_tanimoto_index",
    "russell_rao_index",
    "sokal_sneath_1_index",
    "sokal_sneath_2_index",
    "adjusted_fowlkes_mallows_score",
    "multinomial_adjusted_rand_score",
    "joint_entropy",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "adjusted_mutual_info_score",
    "expected_mutual_info",
    "v_measure_score",
    "variation_of_information",
    "normalized_variation_of_information",
    "normalized_information_distance",
    "split_join_distance",
    "bcubed_f_score",
    "exact_match_f_score",
}
MIRRORED = {
    "pair_precision": "pair_recall",
    "label_entropy": "cluster_entropy",
    "label_entropy_given_cluster": "cluster_entropy_given_label",
    "homogeneity_score": "completeness_score",
    "purity": "inverse_purity",
    "bcubed_precision": "bcubed_recall",
    "exact_match_precision": "exact_match_recall",
}
ANTISYMMETRIC = {"mcnemar_index"}
ONE_SIDED = {"class_f_measure"}

FROM_0_TO_1 = {
    "rand_score",
    "fowlkes_mallows_score",
    "pair_precision",
    "pair_recall",
    "pair_f_score",
    "jaccard_index",
    "kulczynski_index",
    "rogers_tanimoto_index",
    "russell_rao_index",
    "sokal_sneath_1_index",
    "sokal_sneath_2_index",
    "normalized_mutual_info_score",
    "homogeneity_score",
    "completeness_score",
    "v_measure_score",
    "normalized_variation_of_information",
    "normalized_information_distance",
    "purity",
    "inverse_purity",
    "class_f_measure",
    "bcubed_precision",
    "bcubed_recall",
    "bcubed_f_score",
    "exact_match_precision",
    "exact_match_recall",
    "exact_match_f_score",
}
FROM_MINUS_1_TO_1 = {
    "adjusted_rand_score",
    "hubert_index",
    "phi_index",
    "adjusted_fowlkes_mallows_score",
}
AT_MOST_1 = {"adjusted_mutual_info_score", "multinomial_adjusted_rand_score"}
AT_LEAST_0 = UNBOUNDED - {"mcnemar_index"}
ANY_NUMBER = {"mcnemar_index"}


def test_the_lists_are_complete() -> None:
    mirrored = [*MIRRORED, *MIRRORED.values()]
    sides = [*SYMMETRIC, *mirrored, *ANTISYMMETRIC, *ONE_SIDED]
    ranges = [*FROM_0_TO_1, *FROM_MINUS_1_TO_1, *AT_MOST_1, *AT_LEAST_0, *ANY_NUMBER]
    assert sorted(sides) == sorted(ranges) == sorted(METRICS)


def test_the_metrics_are_those_of_the_report(engine: Engine) -> None:
    [row] = report(engine, pl.DataFrame({"label": [1], "cluster": [1]}))
    assert list(row) == [*COUNTS, *METRICS]


Rows = list[tuple[Any, Any]]


def labelings(*, nulls: bool = False, smallest: int = 1) -> st.SearchStrategy[Rows]:
    """Rows of (label, cluster), from unrelated to nearly equal."""
    label = st.integers(0, 5)
    rows = st.one_of(
        st.tuples(label, st.integers(0, 3)),
        st.tuples(label, st.integers(0, 30)),
        label.map(lambda u: (u, u)),
    )
    if nulls:
        rows = st.one_of(rows, st.sampled_from([(None, 0), (0, None), (None, None)]))
    return st.lists(rows, min_size=smallest, max_size=40)


def frame_of(rows: Iterable[tuple[Any, ...]], *more: str) -> pl.DataFrame:
    return pl.DataFrame(
        list(rows), schema=dict.fromkeys(("label", "cluster", *more), pl.Int64), orient="row"
    )


def one(rows: list[dict[str, Any]]) -> dict[str, Any]:
    [row] = rows
    return row


def metrics_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in METRICS}


@given(several=st.lists(labelings(), min_size=1, max_size=20))
def test_equals_the_oracle(engine: Engine, several: list[Rows]) -> None:
    """As many labelings as go into one call."""
    rows = [(u, v, run) for run, labeling in enumerate(several) for u, v in labeling]
    frame = frame_of(rows, "run")
    for answers in (report(engine, frame, partition_by="run"), engine.scalars(frame, by="run")):
        for row, labeling in zip(answers, several, strict=True):
            assert_metrics(row, exact((u, v, 1) for u, v in labeling), what=labeling)


@given(rows=labelings())
def test_equals_scikit_learn(engine: Engine, rows: Rows) -> None:
    row = one(report(engine, frame_of(rows)))
    for name, function in SKLEARN.items():
        theirs = function(*zip(*rows, strict=True))
        # Their sums of logarithms cancel where the information is nearly 0.
        assert row[name] == pytest.approx(theirs, abs=1e-9), name


@given(rows=labelings())
def test_the_two_sides_change_places(engine: Engine, rows: Rows) -> None:
    row = one(report(engine, frame_of(rows)))
    swapped = one(report(engine, frame_of((v, u) for u, v in rows)))
    for name in SYMMETRIC:
        assert_same(swapped[name], row[name], bounded=name not in UNBOUNDED, what=name)
    for left, right in MIRRORED.items():
        bounded = left not in UNBOUNDED
        assert_same(swapped[left], row[right], bounded=bounded, what=left)
        assert_same(swapped[right], row[left], bounded=bounded, what=right)
    for name in ANTISYMMETRIC:
        value = None if row[name] is None else -row[name]
        assert_same(swapped[name], value, bounded=False, what=name)


def test_the_one_sided_are_one_sided(engine: Engine) -> None:
    frame = frame_of([(0, 0), (0, 1), (0, 2), (1, 2)])
    row = one(report(engine, frame))
    swapped = one(report(engine, frame, label="cluster", cluster="label"))
    assert all(abs(row[name] - swapped[name]) > 0.01 for name in ONE_SIDED)


@given(rows=labelings(), random=st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(engine: Engine, rows: Rows, random: Any) -> None:
    names = [f"name {i}" for i in range(40)]
    random.shuffle(names)
    renamed = [(names[u], 1000 - v) for u, v in rows]
    random.shuffle(renamed)
    frame = pl.DataFrame(renamed, schema=["label", "cluster"], orient="row")
    wanted = one(report(engine, frame_of(rows)))
    row = one(report(engine, frame))
    assert [row[name] for name in COUNTS] == [wanted[name] for name in COUNTS]
    assert_metrics(row, metrics_of(wanted))


@given(rows=labelings())
def test_the_range_is_kept(engine: Engine, rows: Rows) -> None:
    row = one(report(engine, frame_of(rows)))
    lowest = dict.fromkeys(FROM_0_TO_1 | AT_LEAST_0, 0.0) | dict.fromkeys(FROM_MINUS_1_TO_1, -1.0)
    highest = dict.fromkeys(FROM_0_TO_1 | FROM_MINUS_1_TO_1 | AT_MOST_1, 1.0)
    for name in METRICS:
        if row[name] is not None:
            low, high = lowest.get(name, -math.inf), highest.get(name, math.inf)
            # A score of 1 + 1e-16 surprises whoever checks for it; none is let through.
            assert low <= row[name] <= high, name


@given(
    labels=st.lists(st.integers(0, 9), min_size=4, max_size=30).filter(lambda x: len(set(x)) > 1)
)
def test_identical_partitions(engine: Engine, labels: list[int]) -> None:
    row = one(report(engine, frame_of((u, 100 - u) for u in labels)))
    for name in ("rand_score", "adjusted_rand_score", "purity", "class_f_measure"):
        assert row[name] == 1.0, name
    for name in ("normalized_mutual_info_score", "adjusted_mutual_info_score", "v_measure_score"):
        assert row[name] == 1.0, name
    for name in ("variation_of_information", "mirkin_metric", "split_join_distance"):
        assert row[name] == 0.0, name


@given(rows=labelings(nulls=True), weights=st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_a_weight_is_repetition(engine: Engine, rows: Rows, weights: list[int]) -> None:
    weighted = [(*row, n) for row, n in zip(rows, weights, strict=False)]
    repeated = [(u, v) for u, v, n in weighted for _ in range(n)]
    wanted = one(report(engine, frame_of(repeated)))
    row = one(report(engine, frame_of(weighted, "n"), weight="n"))
    assert_rows([row], [wanted])


NOISE = [{}, {"noise": 0}, {"noise": 0, "noise_as": "drop"}]


@given(rows=labelings(nulls=True))
@pytest.mark.parametrize("arguments", NOISE)
def test_a_contingency_table_stands_for_its_rows(
    engine: Engine, arguments: dict[str, Any], rows: Rows
) -> None:
    frame = frame_of(rows)
    table = frame.group_by("label", "cluster").agg(n=pl.len())
    wanted = report(engine, frame, **arguments)
    assert_rows(report(engine, table, weight="n", **arguments), wanted)


@given(rows=labelings(), cut=st.integers(0, 40))
def test_merged_contingency_tables_are_the_whole(engine: Engine, rows: Rows, cut: int) -> None:
    parts = [
        engine.table("contingency_matrix", frame_of(part)) for part in (rows[:cut], rows[cut:])
    ]
    merged = frame_of(((r["label"], r["cluster"], r["n"]) for part in parts for r in part), "n")
    assert_rows(report(engine, merged, weight="n"), report(engine, frame_of(rows)))


@given(rows=labelings(nulls=True), runs=st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_a_partition_is_a_filter(engine: Engine, rows: Rows, runs: list[int]) -> None:
    frame = frame_of(((*row, run) for row, run in zip(rows, runs, strict=False)), "run")
    parts = {run: one(report(engine, frame.filter(run=run))) for run in sorted(set(frame["run"]))}
    wanted = [{"run": run} | part for run, part in parts.items() if part["n"]]
    assert_rows(report(engine, frame, partition_by="run"), wanted)


@given(rows=labelings(nulls=True))
def test_dropped_noise_is_filtered_rows(engine: Engine, rows: Rows) -> None:
    row = one(report(engine, frame_of(rows), noise=0, noise_as="drop"))
    # A row without a label is dropped before anyone asks whether it is noise.
    noise = sum(v == 0 and u is not None for u, v in rows)
    wanted = one(report(engine, frame_of(r for r in rows if r[1] != 0 or r[0] is None)))
    assert_rows([row], [wanted | {"n_noise": noise}])


@given(rows=labelings(nulls=True))
def test_singleton_noise_is_unique_clusters(engine: Engine, rows: Rows) -> None:
    row = one(report(engine, frame_of(rows), noise=0, noise_as="singletons"))
    unique = [(u, 1000 + i if v == 0 else v) for i, (u, v) in enumerate(rows)]
    noise = sum(v == 0 and u is not None for u, v in rows)
    wanted = one(report(engine, frame_of(unique)))
    assert_rows([row], [wanted | {"n_noise": noise}])


@given(rows=labelings(nulls=True), weights=st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_singleton_noise_with_weights(engine: Engine, rows: Rows, weights: list[int]) -> None:
    weighted = [(*row, n) for row, n in zip(rows, weights, strict=False)]
    repeated = [(u, v) for u, v, n in weighted for _ in range(n)]
    singletons = {"noise": 0, "noise_as": "singletons"}
    wanted = report(engine, frame_of(repeated), **singletons)
    assert_rows(report(engine, frame_of(weighted, "n"), weight="n", **singletons), wanted)


@given(rows=labelings(nulls=True))
def test_noise_is_a_cluster_unless_told(engine: Engine, rows: Rows) -> None:
    noise = sum(v == 0 and u is not None for u, v in rows)
    wanted = one(report(engine, frame_of(rows)))
    assert_rows(report(engine, frame_of(rows), noise=0), [wanted | {"n_noise": noise}])


@given(rows=labelings(nulls=True))
def test_the_engines_agree(rows: Rows) -> None:
    frame = frame_of(rows)
    first, *others = (report(engines.make(name), frame) for name in engines.ENGINES)
    for other in others:
        assert_rows(other, first)


RAW: Rows = [(0, 0), (0, 0), (0, 1), (1, 1), (1, 1), (2, 1), (2, 0), (None, 1)]
TYPES: dict[str, tuple[Callable[[int], Any], Any]] = {
    "UInt8": (int, pl.UInt8),
    "UInt64": (lambda i: 2**64 - 1 - i, pl.UInt64),
    "Float32": (float, pl.Float32),
    "NaN among floats": (lambda i: [math.nan, 1.5, -0.0][i], pl.Float64),
    "String": (str, pl.String),
    "empty string": (lambda i: ["", " ", "NULL"][i], pl.String),
    "Boolean": (lambda i: i == 1, pl.Boolean),
    "Enum": (lambda i: "xyz"[i], pl.Enum(["x", "y", "z"])),
    "Categorical": (lambda i: "xyz"[i], pl.Categorical),
    "Binary": (lambda i: bytes([i]), pl.Binary),
    "Decimal": (int, pl.Decimal(10, 2)),
    "Date": (lambda i: dt.date(2024, 1, 1 + i), pl.Date),
    "Datetime": (lambda i: dt.datetime(2024, 1, 1, i), pl.Datetime("us")),
    "Struct": (lambda i: {"a": i, "b": None}, pl.Struct({"a": pl.Int64, "b": pl.String})),
    "List": (lambda i: [i, None], pl.List(pl.Int64)),
    "Array": (lambda i: [i, 1], pl.Array(pl.Int64, 2)),
}


@pytest.mark.parametrize("name", TYPES)
def test_labels_of_any_type(engine: Engine, name: str) -> None:
    make, dtype = TYPES[name]
    columns = {
        side: pl.Series([None if row[i] is None else make(row[i]) for row in RAW], dtype=dtype)
        for i, side in enumerate(("label", "cluster"))
    }
    number = {str(make(i)): i for i in range(3)}
    cells = [(number[str(make(u))], number[str(make(v))], 1) for u, v in RAW[:-1]]
    frame = pl.DataFrame(columns)
    row = one(report(engine, frame))
    assert (row["n"], row["n_dropped"]) == (7, 1)
    assert_metrics(row, exact(cells))
    some = ("adjusted_rand_score", "adjusted_mutual_info_score", "bcubed_f_score")
    scalars = one(engine.scalars(frame, metrics=some))
    for metric in some:
        assert_same(scalars[metric], exact(cells)[metric], bounded=True, what=metric)


def test_one_answer_in_every_group(engine: Engine) -> None:
    """Two evaluations of an unordered aggregate, combined row by row, differ now and then."""
    frame = frame_of(((i % 7, i % 11, run) for run in range(100) for i in range(500)), "run")
    wanted = exact((i % 7, i % 11, 1) for i in range(500))
    for row in engine.scalars(frame, by="run"):
        assert_metrics(row, wanted)
