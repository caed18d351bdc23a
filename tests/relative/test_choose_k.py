"""choose_k: which k each criterion recommends, and errors."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.engines import by_value, fails

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

NOTHING = dict.fromkeys(
    [
        *("calinski_harabasz_score", "davies_bouldin_score", "silhouette"),
        *("krzanowski_lai_index", "hartigan_index", "jump", "bic"),
        *("second_difference", "chord_distance", "kneedle"),
    ]
)


NAN = math.nan


def sweep_of(**columns: list[Any]) -> pl.DataFrame:
    """An elbow table of k = 1, 2, ... with these columns, the others NULL."""
    size = len(next(iter(columns.values())))
    values = {name: columns.get(name, [None] * size) for name in NOTHING}
    frame = pl.DataFrame(values, schema=dict.fromkeys(NOTHING, pl.Float64))
    knees = pl.Series("is_knee", columns.get("is_knee", [None] * size), pl.Boolean)
    return frame.with_columns(knees, k=pl.int_range(1, size + 1, dtype=pl.Int64))


CHOICES: dict[str, tuple[dict[str, list[Any]], tuple[Any, ...]]] = {
    "largest": ({"calinski_harabasz_score": [None, 3.0, 9.0, 5.0]}, (3, 9.0, 4, 5.0)),
    "equal values": ({"silhouette": [0.1, 0.5, 0.5, 0.5]}, (2, 0.5, 3, 0.5)),
    "smallest": ({"davies_bouldin_score": [None, 3.0, 2.0, 2.5]}, (3, 2.0, 4, 2.5)),
    "one value": ({"krzanowski_lai_index": [None, 3.0, None]}, (2, 3.0, None, None)),
    "negative": ({"silhouette": [None, -0.5, -0.2]}, (3, -0.2, 2, -0.5)),
    "at most 10": ({"hartigan_index": [40.0, 10.0, 12.0, 3.0, None]}, (2, 10.0, 4, 3.0)),
    "never at most 10": ({"hartigan_index": [40.0, 11.0]}, (None, None, None, None)),
    "no positive jump": ({"jump": [0.0, -1.0]}, (None, None, None, None)),
    "largest bic": ({"bic": [-90.0, -70.5, -71.0]}, (2, -70.5, 3, -71.0)),
    "jump": ({"jump": [0.5, -1.0, 0.2]}, (1, 0.5, 3, 0.2)),
    "straight": ({"second_difference": [None, 0.0, None]}, (None, None, None, None)),
    "below the chord": ({"chord_distance": [0.0, -0.1, 0.3]}, (3, 0.3, None, None)),
    "knee": (
        {"kneedle": [0.0, 0.2, 0.1, 0.3], "is_knee": [False, True, False, False]},
        (2, 0.2, 4, 0.3),
    ),
    "no fall below the chord": ({"chord_distance": [0.0, -0.1, 0.0]}, (None,) * 4),
    "not a number": ({"davies_bouldin_score": [None, NAN, NAN]}, (None,) * 4),
    "no jump": ({"jump": [NAN, NAN]}, (None,) * 4),
    "a knee without a number": ({"kneedle": [NAN], "is_knee": [True]}, (None,) * 4),
    "some not numbers": ({"silhouette": [NAN, 0.2, NAN, 0.1]}, (2, 0.2, 4, 0.1)),
    "no knee": ({"kneedle": [0.0, 0.2, 0.1]}, (None, None, None, None)),
}


#: Why a criterion recommends no k, by the case; of all others the reason is NULL.
REASONS = {
    "never at most 10": "no value <= 10",
    "no positive jump": "no value > 0",
    "straight": "no value > 0",
    "no fall below the chord": "no value > 0",
    "no knee": "no knee",
    **dict.fromkeys(["not a number", "no jump", "a knee without a number"], "no value"),
}


def assert_chosen(rows: list[Row], case: str) -> None:
    columns, expected = CHOICES[case]
    criterion = next(iter(columns))
    assert [row["criterion"] for row in rows] == list(NOTHING), case
    named = ("k", "value", "runner_up", "runner_up_value")
    for row in rows:
        found = tuple(row[name] for name in named)
        is_own = row["criterion"] == criterion
        assert found == (expected if is_own else (None,) * 4), case
        assert row["reason"] == (REASONS.get(case) if is_own else "no value"), case
        assert row["rule"], case


def test_choices(engine: Engine) -> None:
    sweeps = [
        sweep_of(**columns).with_columns(curve=pl.lit(i))
        for i, (columns, _) in enumerate(CHOICES.values())
    ]
    sweep = pl.concat(sweeps).sample(fraction=1, shuffle=True, seed=5)
    tables = by_value(engine.call("choose_k", sweep, partition_by="curve"), "curve")
    for case, rows in zip(CHOICES, tables.values(), strict=True):
        assert_chosen(rows, case)


@pytest.mark.parametrize("case", ["largest", "knee"])
def test_choices_alone(engine: Engine, case: str) -> None:
    sweep = sweep_of(**CHOICES[case][0]).sample(fraction=1, shuffle=True, seed=5)
    assert_chosen(engine.call("choose_k", sweep), case)


def test_choices_by_partition_with_gaps(engine: Engine) -> None:
    sweep = pl.concat(
        sweep_of(silhouette=values).with_columns(run=pl.lit(run, pl.String))
        for run, values in (("b", [0.1, 0.2, 0.3]), (None, [0.9, 0.8, 0.7]))
    )
    gap = sweep.select("run", "k", gap=pl.col("silhouette") * 2, is_choice=pl.col("k") == 2)
    rows = engine.call("choose_k", sweep, gap=gap, partition_by="run")
    found = [row for row in rows if row["criterion"] in ("silhouette", "gap")]
    named = ("run", "criterion", "k", "value", "runner_up", "runner_up_value")
    assert [tuple(row[name] for name in named) for row in found] == [
        ("b", "silhouette", 3, 0.3, 2, 0.2),
        ("b", "gap", 2, 0.4, 3, 0.6),
        (None, "silhouette", 1, 0.9, 2, 0.8),
        (None, "gap", 2, 1.6, 1, 1.8),
    ]
    assert len(rows) == 22
    rows = engine.call("choose_k", sweep, partition_by="run")
    assert [row["run"] for row in rows] == ["b"] * 10 + [None] * 10


def test_a_gap_without_choice(engine: Engine) -> None:
    sweep = sweep_of(silhouette=[0.1, 0.2])
    gap = pl.DataFrame({"k": [1, 2], "gap": [0.5, None], "is_choice": [None, None]})
    gap = gap.with_columns(pl.col("is_choice").cast(pl.Boolean))
    row = engine.call("choose_k", sweep, gap=gap)[-1]
    assert (row["criterion"], row["k"], row["runner_up"]) == ("gap", None, None)
    assert row["reason"] == "no choice"


def test_a_gap_that_is_no_number(engine: Engine) -> None:
    sweep = sweep_of(silhouette=[0.1, 0.2])
    gap = pl.DataFrame({"k": [1, 2], "gap": [NAN, NAN], "is_choice": [False, True]})
    row = engine.call("choose_k", sweep, gap=gap)[-1]
    assert (row["k"], row["value"], row["reason"]) == (None, None, "no value")


def test_two_rows_of_one_k(side: Engine) -> None:
    sweep = pl.concat([sweep_of(silhouette=[0.1, 0.2])] * 3)
    words = "k: expected one row for each k of a clustering, got 3 rows with "
    with fails(side, words):
        side.call("choose_k", sweep)


def test_bad_k_in_choose_k(side: Engine) -> None:
    sweep = sweep_of(silhouette=[0.1, 0.2])
    with fails(side, "k: expected whole numbers >= 1, got NULL"):
        side.call("choose_k", sweep.with_columns(k=pl.lit(None, pl.Int64)))
    with fails(side, "k: expected whole numbers >= 1, got a column of type VARCHAR"):
        side.call("choose_k", sweep.with_columns(k=pl.lit("1")))


def test_quoted_partition_of_choose_k(con: duckdb.DuckDBPyConnection) -> None:
    con.register("swept", sweep_of(silhouette=[0.1, 0.2]))
    words = "partition_by: expected a column, got the quoted string 'run'"
    with pytest.raises(duckdb.Error, match=re.escape(words)):
        con.execute("FROM clustereval.choose_k(swept, partition_by := 'run')")


def test_missing_columns() -> None:
    sweep = sweep_of(silhouette=[0.1, 0.2])
    with pytest.raises(ce.ClusterEvalError, match="frame: column 'jump' not found"):
        ce.choose_k(sweep.drop("jump"))
    with pytest.raises(ce.ClusterEvalError, match="gap: column 'is_choice' not found"):
        ce.choose_k(sweep, sweep.with_columns(gap=1.0))
    with pytest.raises(ce.ClusterEvalError, match="partition_by: column 'run' not found"):
        ce.choose_k(sweep, partition_by="run")
    with pytest.raises(ce.ClusterEvalError, match="frame: expected a Polars DataFrame"):
        ce.choose_k(sweep, gap=[1, 2])  # type: ignore[arg-type]
