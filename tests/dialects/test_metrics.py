"""to_sql of the columns that are asked for, and of a score by its own name."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import duckdb
import polars as pl
import pytest
import sqlglot
from sqlglot import exp

import polars_clustereval as ce
from polars_clustereval.dialects.engines import ENGINES
from tests.support import seeds
from tests.support.sql_answers import assert_answers
from tests.support.sql_engines import rows_of

GATE = pytest.mark.gate
ROWS = pl.DataFrame(
    {
        "label": ["a", "a", "b", "b", "b", None, "c", "c", "a", "d", "d", "d"],
        "cluster": [1, 1, 1, 2, 2, 2, None, 3, 3, -1, -1, 4],
        "x": [0.0, 0.5, 1.0, 4.0, 4.5, 5.0, 9.0, 9.5, 8.0, 2.0, 7.0, 3.0],
        "y": [1.0, 0.0, 2.0, 4.0, 6.0, 5.0, 1.0, 0.5, 1.0, 9.0, 8.0, 3.0],
        "times": [1, 2, 1, 3, 1, 1, 1, 2, 1, 1, 1, 2],
        "day": [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
        "id": range(12),
    }
)
LABELS = {"tbl": "t", "label": "label", "cluster": "cluster"}
POINTS: dict[str, Any] = {"tbl": "t", "vector": ["x", "y"], "cluster": "cluster"}
NOISE: dict[str, Any] = {"noise": -1, "noise_as": "singletons"}
SQUARED = {"distance": "sqeuclidean"}
#: Names of tables -> arguments, in which rows are left out, repeated or apart.
CALLS: dict[str, list[dict[str, Any]]] = {
    "external_report": [
        LABELS,
        LABELS | NOISE | {"partition_by": "day", "weight": "times"},
        LABELS | {"adjusted": False},
    ],
    "entity_resolution_report": [LABELS | NOISE, LABELS | {"partition_by": "day"}],
    "pair_counts": [LABELS | {"weight": "times"}],
    "external_cluster_report": [LABELS | NOISE | {"partition_by": "day"}],
    "external_label_report": [LABELS],
    "internal_report": [POINTS, POINTS | NOISE | {"partition_by": "day"}],
    "internal_cluster_report": [POINTS | {"noise": -1, "noise_as": "drop"}],
    "neighbor_report": [POINTS],
    "silhouette_score": [POINTS | SQUARED],
    "silhouette_clusters": [POINTS | SQUARED | {"partition_by": "day"}],
}

#: Parts of the columns of tables with many, each for a test: a column takes half a second.
PARTS = {"external_report": 20, "entity_resolution_report": 14, "internal_report": 6}


def rows_asked(name: str, **arguments: Any) -> pl.DataFrame:
    with duckdb.connect() as con:
        con.register("t", ROWS)
        query = ce.to_sql(name, dialect="duckdb", **arguments)
        return pl.DataFrame(rows_of(con.execute(query)), infer_schema_length=None)


@cache
def whole_table(name: str, call: int) -> pl.DataFrame:
    return rows_asked(name, **CALLS[name][call])


@pytest.mark.gate
@pytest.mark.parametrize(("name", "call"), [(x, i) for x in CALLS for i in range(len(CALLS[x]))])
def test_columns_have_the_values_of_the_whole_table(name: str, call: int) -> None:
    """Some columns by the seed, alone and together, in another order than that of the table."""
    draw = random.Random(seeds.first)
    arguments = CALLS[name][call]
    whole = whole_table(name, call)
    for n in (1, 3):
        chosen = draw.sample(whole.columns[2:], n)
        found = rows_asked(name, metrics=chosen, **arguments)
        assert found.columns[-n:] == chosen
        assert set(found.columns) <= {*whole.columns[:2], *chosen}
        assert_answers(found.to_dicts(), whole.select(found.columns).to_dicts(), chosen)


@pytest.mark.wide
@pytest.mark.parametrize(("name", "part"), [(x, i) for x in CALLS for i in range(PARTS.get(x, 2))])
def test_every_column_alone(name: str, part: int) -> None:
    """Each column in one of the calls, which take turns."""
    calls = CALLS[name]
    for i in range(2 + part, len(whole_table(name, 0).columns), PARTS.get(name, 2)):
        call = i % len(calls)
        whole = whole_table(name, call)
        column = whole.columns[i % len(whole.columns)]
        found = rows_asked(name, metrics=[column], **calls[call])
        assert_answers(found.to_dicts(), whole.select(found.columns).to_dicts(), column)


def test_rows_are_told_apart_by_the_keys_that_they_have() -> None:
    assert rows_asked("external_report", metrics=["n"], **LABELS).columns == ["n"]
    by_day = rows_asked("external_report", metrics=["n"], partition_by="day", **LABELS)
    assert by_day.columns == ["partition_key", "n"]
    of_clusters = rows_asked("external_cluster_report", metrics=["purity"], **LABELS)
    assert of_clusters.columns == ["cluster", "purity"]
    again = rows_asked("external_report", metrics=["n", "n"], partition_by="day", **LABELS)
    assert again.columns == ["partition_key", "n"]


@pytest.mark.gate
def test_a_score_is_a_column_of_its_table() -> None:
    whole = rows_asked("external_report", **LABELS)
    score = rows_asked("adjusted_rand_score", **LABELS)
    assert score.columns == ["adjusted_rand_score"]
    assert_answers(score.to_dicts(), whole.select(score.columns).to_dicts())
    silhouette = rows_asked("davies_bouldin_score", **POINTS)
    assert silhouette.columns == ["davies_bouldin_score"]


@pytest.mark.gate
@pytest.mark.filterwarnings("ignore:dialect .*never been executed:UserWarning")
@pytest.mark.parametrize(
    "dialect", ["duckdb", *(pytest.param(x, marks=GATE) for x in [*ENGINES, "snowflake"])]
)
def test_what_is_not_asked_for_is_not_computed(dialect: str) -> None:
    score = ce.to_sql("adjusted_rand_score", dialect=dialect, compact=True, **LABELS)
    assert len(score) < 4000
    tree = sqlglot.parse_one(score, dialect=ENGINES[dialect].parser if dialect in ENGINES else None)
    assert len([table for table in tree.find_all(exp.Table) if table.name == "t"]) == 1
    asked = {"metrics": ["purity", "v_measure_score"], "compact": True}
    some = ce.to_sql("external_report", dialect=dialect, **asked, **LABELS)
    assert "expected" not in some
    assert "pairs" not in some
    # Its joins read subqueries, not CTEs.
    pairs = ce.to_sql(
        "entity_resolution_report",
        dialect=dialect,
        metrics=["pair_precision"],
        compact=True,
        **LABELS,
    )
    assert "entropy" not in pairs
    assert "closest" not in pairs


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        (
            "external_report",
            {"metrics": ["adjusted_rand"]},
            r"metrics: expected one of .*got 'adjusted_rand'; did you mean 'adjusted_rand_score'",
        ),
        ("external_report", {"metrics": []}, r"metrics: expected a list of columns.*got \[\]"),
        ("external_report", {"metrics": "n"}, "metrics: expected a list of columns.*got 'n'"),
        ("external_report", {"metrics": [1]}, r"metrics: expected a list of columns.*got \[1\]"),
        (
            "rand_score",
            {"metrics": ["n"]},
            "metrics: rand_score is already a single column; for several columns, pass name='ext",
        ),
        ("rand_skore", {}, "name: expected one of .*, or a score in .*did you mean 'rand_sc"),
        ("omega_index", {}, "name: omega_index is a column of overlapping_report, a table"),
    ],
)
def test_what_cannot_be_asked_for(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.to_sql(name, dialect="duckdb", **LABELS, **options)
