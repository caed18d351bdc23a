"""What must hold for any labeling, with the properties that the docstrings of metrics state."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_clustereval.base.metric_facts import metrics_of
from tests.support import engines
from tests.support.compare import assert_metrics, assert_rows, assert_same
from tests.support.engines import TABLES, Engine, Row, frame_of, report, reports, stacked
from tests.support.oracle import COUNTS, METRICS, UNBOUNDED, exact
from tests.support.others import SKLEARN
from tests.support.stated_ranges import assert_kept, range_of_metric
from tests.support.strategies import Rows, batched, batches, labelings, weights

if TYPE_CHECKING:
    from collections.abc import Callable

SWAPPED = {name: facts.swapped for name, facts in metrics_of("external_report").items()}
#: The metrics that are another one if label and cluster change places, and that one.
MIRRORED = {name: other for name, other in SWAPPED.items() if other in SWAPPED}


def test_the_metrics_are_those_of_the_report(engine: Engine) -> None:
    [row] = report(engine, pl.DataFrame({"label": [1], "cluster": [1]}))
    assert list(row) == [*COUNTS, *METRICS]


def only_row(rows: list[Row]) -> Row:
    [row] = rows
    return row


def metrics_of(row: Row) -> Row:
    return {name: row[name] for name in METRICS}


def assert_reports(
    actual: dict[int, Row], expected: dict[int, Row], labelings: list[Any], **changed: list[int]
) -> None:
    """The same reports of the same labelings; `changed` columns have a value for each labeling."""
    assert list(actual) == list(expected)
    for run, row in expected.items():
        wanted = row | {name: values[run] for name, values in changed.items()}
        assert_rows([actual[run]], [wanted], what=labelings[run])


@batched
@given(several=batches(labelings()))
def test_equals_the_oracle(engine: Engine, several: list[Rows]) -> None:
    """The macros and expressions: `test_every_metric_of_every_group`."""
    answers = report(engine, stacked(several), partition_by="run")
    for row, labeling in zip(answers, several, strict=True):
        assert_metrics(row, exact((u, v, 1) for u, v in labeling), what=labeling)


@batched
@given(several=batches(labelings()))
def test_equals_scikit_learn(engine: Engine, several: list[Rows]) -> None:
    rows = reports(engine, several)
    assert len(rows) == len(several)
    for run, row in rows.items():
        for name, function in SKLEARN.items():
            theirs = function(*zip(*several[run], strict=True))
            # Their sums of logarithms cancel where the information is nearly 0.
            assert row[name] == pytest.approx(theirs, abs=1e-9), (name, several[run])


@batched
@given(several=batches(labelings()))
def test_the_two_sides_change_places(engine: Engine, several: list[Rows]) -> None:
    rows = reports(engine, several)
    swapped = reports(engine, [[(v, u) for u, v in labeling] for labeling in several])
    assert len(rows) == len(swapped) == len(several)
    for run, labeling in enumerate(several):
        assert_mirrored(swapped[run], rows[run], labeling)


def assert_mirrored(swapped: Row, row: Row, labeling: Rows) -> None:
    wanted = {name: row[name] for name, value in SWAPPED.items() if value == "the same"}
    wanted |= {name: row[other] for name, other in MIRRORED.items()}
    for name, value in SWAPPED.items():
        if value == "the negative":
            wanted[name] = None if row[name] is None else -row[name]
    for name, value in wanted.items():
        bounded = name not in UNBOUNDED
        assert_same(swapped[name], value, bounded=bounded, what=f"{name} of {labeling}")


def test_the_one_sided_are_one_sided(engine: Engine) -> None:
    frame = frame_of([(0, 0), (0, 1), (0, 2), (1, 2)])
    row = only_row(report(engine, frame))
    swapped = only_row(report(engine, frame, label="cluster", cluster="label"))
    one_sided = [name for name, value in SWAPPED.items() if value == "another value"]
    assert one_sided
    assert all(abs(row[name] - swapped[name]) > 0.01 for name in one_sided)


@pytest.mark.gate
@batched
@given(several=batches(labelings()), random=st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(engine: Engine, several: list[Rows], random: Any) -> None:
    names = [f"name {i}" for i in range(40)]
    random.shuffle(names)
    renamed = [
        (names[u], 1000 - v, run) for run, labeling in enumerate(several) for u, v in labeling
    ]
    random.shuffle(renamed)
    frame = pl.DataFrame(renamed, schema=["label", "cluster", "run"], orient="row")
    wanted = reports(engine, several)
    rows = report(engine, frame, partition_by="run")
    assert len(rows) == len(wanted) == len(several)
    for run, row in enumerate(rows):
        assert [row[name] for name in COUNTS] == [wanted[run][name] for name in COUNTS]
        assert_metrics(row, metrics_of(wanted[run]), what=several[run])


@batched
@given(several=batches(labelings()))
def test_the_range_is_kept(engine: Engine, several: list[Rows]) -> None:
    """The range that the docstring states; see tests/test_stated_ranges.py too."""
    rows = reports(engine, several)
    assert len(rows) == len(several)
    for name in METRICS:
        stated = range_of_metric(name)
        for row in rows.values():
            assert_kept(stated, name, row)


PERFECT = dict.fromkeys(
    (
        "rand_score",
        "adjusted_rand_score",
        "purity",
        "class_f_measure",
        "element_centric_similarity",
        "normalized_mutual_info_score",
        "adjusted_mutual_info_score",
        "v_measure_score",
    ),
    1.0,
) | dict.fromkeys(
    ("variation_of_information", "mirkin_metric", "split_join_distance", "correlation_distance"),
    0.0,
)


@batched
@given(
    several=batches(
        st.lists(st.integers(0, 9), min_size=4, max_size=30).filter(lambda x: len(set(x)) > 1)
    )
)
def test_identical_partitions(engine: Engine, several: list[list[int]]) -> None:
    rows = reports(engine, [[(u, 100 - u) for u in labels] for labels in several])
    assert len(rows) == len(several)
    for run, row in rows.items():
        assert {name: row[name] for name in PERFECT} == PERFECT, several[run]


def with_weights_in_turn(several: list[Rows], counts: list[int]) -> list[list[tuple[Any, ...]]]:
    """Each row with a weight, taken in turn from `counts`: other ones in each labeling."""
    return [
        [(u, v, counts[(i + run) % len(counts)]) for i, (u, v) in enumerate(labeling)]
        for run, labeling in enumerate(several)
    ]


def repeated(several: list[list[tuple[Any, ...]]]) -> list[Rows]:
    return [[(u, v) for u, v, n in labeling for _ in range(n)] for labeling in several]


SINGLETONS = {"noise": 0, "noise_as": "singletons"}
NOISE: list[dict[str, Any]] = [
    {},
    {"noise": 0, "noise_as": "cluster"},
    {"noise": 0, "noise_as": "drop"},
]


@pytest.mark.parametrize("arguments", [{}, SINGLETONS], ids=["no noise", "singletons"])
@batched
@given(several=batches(labelings(nulls=True)), counts=weights())
def test_a_weight_is_repetition(
    engine: Engine, several: list[Rows], counts: list[int], arguments: dict[str, Any]
) -> None:
    with_weights = with_weights_in_turn(several, counts)
    rows = reports(engine, with_weights, "n", weight="n", **arguments)
    expected = reports(engine, repeated(with_weights), **arguments)
    # A partition with rows of weight 0 alone has a row, with n = 0.
    assert all(row["n"] + row["n_dropped"] == 0 for run, row in rows.items() if run not in expected)
    kept = {run: row for run, row in rows.items() if run in expected}
    assert_reports(kept, expected, with_weights)


@pytest.mark.parametrize("arguments", NOISE)
@batched
@given(several=batches(labelings(nulls=True)))
def test_a_contingency_table_stands_for_its_rows(
    engine: Engine, arguments: dict[str, Any], several: list[Rows]
) -> None:
    tables = [[(*cell, n) for cell, n in Counter(labeling).items()] for labeling in several]
    rows = reports(engine, tables, "n", weight="n", **arguments)
    assert_reports(rows, reports(engine, several, **arguments), several)


@pytest.mark.parametrize("function", [*TABLES, "prediction_strength"])
@batched
@given(several=batches(labelings()), cut=st.integers(0, 40))
def test_merged_contingency_tables_are_the_whole(
    engine: Engine, function: str, several: list[Rows], cut: int
) -> None:
    """Every table that takes weights reads kept cells of any parts, a cell in several rows."""
    merged = [
        (row["label"], row["cluster"], row["n"], row["run"])
        for part in (slice(None, cut), slice(cut, None))
        for row in engine.table(
            "contingency_matrix", stacked([rows[part] for rows in several]), partition_by="run"
        )
    ]
    rows = engine.table(function, frame_of(merged, "n", "run"), weight="n", partition_by="run")
    assert_rows(rows, engine.table(function, stacked(several), partition_by="run"))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"noise": 0, "noise_as": "drop", "weight": "n"},
        {**SINGLETONS, "weight": "n"},
    ],
    ids=lambda arguments: ", ".join(map(str, arguments.values())) or "rows",
)
@batched
@given(several=batches(labelings(nulls=True), size=2), counts=weights())
def test_a_partition_is_a_filter(
    engine: Engine, arguments: dict[str, Any], several: list[Rows], counts: list[int]
) -> None:
    """Each labeling alone, without partition_by, has the report of its partition."""
    with_weights = with_weights_in_turn(several, counts)
    alone = {
        run: only_row(report(engine, frame_of(labeling, "n"), **arguments))
        for run, labeling in enumerate(with_weights)
    }
    wanted = {run: row for run, row in alone.items() if with_weights[run]}
    assert_reports(reports(engine, with_weights, "n", **arguments), wanted, with_weights)


def noise_of(several: list[Rows]) -> list[int]:
    """Rows of cluster 0; a row without a label counts as dropped, not as noise."""
    return [sum(v == 0 and u is not None for u, v in labeling) for labeling in several]


@batched
@given(several=batches(labelings(nulls=True)))
def test_dropped_noise_is_filtered_rows(engine: Engine, several: list[Rows]) -> None:
    rows = reports(engine, several, noise=0, noise_as="drop")
    kept = [[(u, v) for u, v in labeling if v != 0 or u is None] for labeling in several]
    expected = reports(engine, kept)
    assert {run: row["n"] for run, row in rows.items() if run not in expected} == {
        run: 0 for run, labeling in enumerate(kept) if not labeling
    }
    left = {run: row for run, row in rows.items() if run in expected}
    assert_reports(left, expected, several, n_noise=noise_of(several))


@batched
@given(several=batches(labelings(nulls=True)))
def test_singleton_noise_is_unique_clusters(engine: Engine, several: list[Rows]) -> None:
    unique = [
        [(u, 1000 + i if v == 0 else v) for i, (u, v) in enumerate(labeling)]
        for labeling in several
    ]
    rows = reports(engine, several, **SINGLETONS)
    assert_reports(rows, reports(engine, unique), several, n_noise=noise_of(several))


@batched
@given(several=batches(labelings(nulls=True)))
def test_noise_is_a_cluster_unless_told(engine: Engine, several: list[Rows]) -> None:
    rows = reports(engine, several, noise=0, noise_as="cluster")
    assert_reports(rows, reports(engine, several), several, n_noise=noise_of(several))


@batched
@given(several=batches(labelings(nulls=True)))
def test_the_engines_agree(several: list[Rows]) -> None:
    first, *others = (reports(engines.make(name), several) for name in engines.ENGINES)
    for other in others:
        assert_reports(other, first, several)


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


@pytest.mark.gate
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
    row = only_row(report(engine, frame))
    assert (row["n"], row["n_dropped"]) == (7, 1)
    assert_metrics(row, exact(cells))
    some = ("adjusted_rand_score", "adjusted_mutual_info_score", "bcubed_f_score")
    scalars = only_row(engine.scalars(frame, metrics=some))
    for metric in some:
        assert_same(scalars[metric], exact(cells)[metric], bounded=True, what=metric)
