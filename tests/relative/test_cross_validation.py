"""cross_validation: against scikit-learn's prediction and scores, and pairs of points."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, v_measure_score

import polars_clustereval as ce
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

N_FOLDS = 4


def validate(
    engine: Engine, frame: pl.DataFrame, models: pl.DataFrame, **arguments: Any
) -> list[Row]:
    columns = ("vector", "cluster", "fold")
    return engine.call("cross_validation", frame, *columns, models, **arguments)


@cache
def folds(seed: int, k: int) -> tuple[pl.DataFrame, pl.DataFrame, list[Row]]:
    """Held out points, the models of the other folds, and the rows by scikit-learn."""
    r = np.random.default_rng(seed)
    x = np.concatenate([r.normal(scale=1.3, loc=2 * i, size=(30, 3)) for i in range(3)])
    fold = r.permutation(len(x)) % N_FOLDS
    own, models, rows = np.zeros(len(x), int), [], []
    for number in range(N_FOLDS):
        held = fold == number
        model = KMeans(k, n_init=1, random_state=seed).fit(x[~held])
        own[held] = KMeans(k, n_init=1, random_state=seed + 1).fit_predict(x[held])
        predicted = model.predict(x[held])
        models.append(
            pl.DataFrame(
                {
                    "fold": [number] * k,
                    "cluster": range(k),
                    "centroid": model.cluster_centers_.tolist(),
                }
            )
        )
        rows.append(
            {
                "fold": number,
                "n": int(held.sum()),
                "n_labels": len(set(own[held])),
                "n_clusters": len(set(predicted)),
                "score": float(adjusted_rand_score(own[held], predicted)),
                "prediction_strength": strength(own[held].tolist(), predicted.tolist()),
            }
        )
    scores = [row["score"] for row in rows]
    summary = {"mean_score": float(np.mean(scores)), "std_score": float(np.std(scores, ddof=1))}
    frame = pl.DataFrame({"vector": x.tolist(), "cluster": own, "fold": fold})
    return frame, pl.concat(models), [row | summary for row in rows]


def strength(own: list[int], assigned: list[int]) -> float:
    """The least share of the pairs of a cluster that are assigned together, pair by pair."""
    shares = []
    for label in set(own):
        pairs = list(combinations([b for a, b in zip(own, assigned, strict=True) if a == label], 2))
        if pairs:
            shares.append(sum(a == b for a, b in pairs) / len(pairs))
    return min(shares)


@pytest.mark.parametrize("seed", [0, 1])
def test_equals_scikit_learn(engine: Engine, seed: int) -> None:
    frame, models, wanted = folds(seed, 3)
    assert_points(validate(engine, frame, models), wanted, tolerance=1e-12, floor=1e-15)


def test_numbers_of_clusters_side_by_side(engine: Engine) -> None:
    parts = {k: folds(5, k) for k in (2, 3, 4)}
    frame = pl.concat([part[0].with_columns(k=pl.lit(k)) for k, part in parts.items()])
    models = pl.concat([part[1].with_columns(k=pl.lit(k)) for k, part in parts.items()])
    wanted = [{"k": k} | row for k, part in parts.items() for row in part[2]]
    got = validate(engine, frame, models, partition_by="k")
    assert_points(got, wanted, tolerance=1e-12, floor=1e-15)


def test_another_metric(engine: Engine) -> None:
    frame, models, _ = folds(7, 3)
    assigned = ce.assign_nearest(
        frame, "vector", models, partition_by="fold", id=pl.int_range(pl.len())
    ).sort("id")
    for row in validate(engine, frame, models, metric="v_measure_score", beta=1.0):
        held = frame["fold"] == row["fold"]
        own, predicted = frame["cluster"].filter(held), assigned["cluster"].filter(held)
        assert row["score"] == pytest.approx(v_measure_score(own, predicted), abs=1e-12)


def test_dropped_rows_and_order_do_not_matter(engine: Engine) -> None:
    frame, models, wanted = folds(9, 2)
    more = pl.DataFrame(
        {"vector": [None, [1e300] * 3], "cluster": [1, None], "fold": [0, 1]}, schema=frame.schema
    )
    mixed = pl.concat([frame, more]).sample(fraction=1, shuffle=True, seed=3)
    got = validate(engine, mixed, models.reverse())
    assert_points(got, wanted, tolerance=1e-12, floor=1e-15)


def test_one_fold_has_no_deviation(engine: Engine) -> None:
    frame, models, _ = folds(2, 2)
    [row] = validate(engine, frame.filter(pl.col("fold") == 0), models)
    assert (row["mean_score"], row["std_score"]) == (row["score"], None)


def test_clusters_of_one_point_have_no_strength(engine: Engine) -> None:
    frame = pl.DataFrame({"vector": [[0.0], [5.0]], "cluster": [1, 2], "fold": [0, 0]})
    models = pl.DataFrame({"fold": [0], "cluster": [3], "centroid": [[1.0]]})
    [row] = validate(engine, frame, models)
    assert (row["n_labels"], row["n_clusters"], row["prediction_strength"]) == (2, 1, None)


def test_no_rows(engine: Engine) -> None:
    frame, models, _ = folds(2, 2)
    assert validate(engine, frame.clear(), models) == []


def test_a_fold_without_a_model(side: Engine) -> None:
    frame, models, _ = folds(3, 2)
    words = "centroids: expected a row for each partition of the points, got none for"
    with pytest.raises((ce.ClusterEvalError, duckdb.Error), match=words):
        validate(side, frame, models.filter(pl.col("fold") != 2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metric": "vi"}, "metric: .*, got 'vi'; did you mean 'variation_of_information'"),
        ({"distance": "l3"}, "distance: expected one of"),
        ({"beta": -1.0}, "beta: expected a number >= 0, got -1.0"),
        (
            {"metric": "adjusted_mutual_info_score", "average_method": "joint"},
            "average_method 'joint' has no adjusted form",
        ),
    ],
)
def test_bad_options(side: Engine, arguments: dict[str, Any], words: str) -> None:
    frame, models, _ = folds(3, 2)
    with pytest.raises((ce.ClusterEvalError, duckdb.Error), match=words):
        validate(side, frame, models, **arguments)


def test_centroids_that_are_none() -> None:
    frame, models, _ = folds(3, 2)
    with pytest.raises(ce.ClusterEvalError, match="centroids: column 'fold' not found"):
        ce.cross_validation(frame, "vector", "cluster", "fold", models.drop("fold"))
    with pytest.raises(ce.ClusterEvalError, match=r"centroids: expected a Polars .*, got str"):
        ce.cross_validation(frame, "vector", "cluster", "fold", "m")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        ("cross_validation(frame, vector, cluster, 'fold', models)", "fold"),
        (
            "cross_validation(frame, vector, cluster, fold, models, partition_by := 'fold')",
            "partition_by",
        ),
        ("column_stability(frame, vector, cluster, 'fold', cluster)", "removed"),
        ("column_stability(frame, vector, 'cluster', fold, cluster)", "cluster"),
        ("column_stability(frame, vector, cluster, fold, 'cluster')", "reduced_cluster"),
        ("assign_nearest(frame, vector, models, partition_by := 'fold')", "partition_by"),
    ],
)
def test_quoted_columns(con: duckdb.DuckDBPyConnection, call: str, parameter: str) -> None:
    frame, models, _ = folds(3, 2)
    con.register("frame", frame)
    con.register("models", models)
    with pytest.raises(duckdb.Error, match=f"{parameter}: expected a column, got the quoted"):
        con.execute(f"FROM clustereval.{call}").fetchall()
