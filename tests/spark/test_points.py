"""polars_clustereval.spark for points, on a cluster of two executor processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from tests.dialects.test_points import (
    COLUMNS,
    GAP_CALLS,
    TABLES,
    points_from_macro,
    sorted_rows,
)
from tests.spark.test_labels import log_folder, repr_without_id, session  # noqa: F401 - fixtures
from tests.support import sql_engines
from tests.support.sql_answers import assert_answers

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.wide


@pytest.fixture(scope="module")
def frames(
    session: SparkSession,  # noqa: F811 - the fixture
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, DataFrame]:
    paths = sql_engines.write_parquet(TABLES, tmp_path_factory.mktemp("points"))
    return {name: session.read.parquet(str(path)) for name, path in paths.items()}


def check_table(frame: DataFrame, name: str, tbl: str, **options: Any) -> None:
    """The rows that Spark computes of a frame are those of the macro, of a table."""
    expected = points_from_macro(name, tbl, tuple(options.items()))
    assert_answers(sorted_rows(compute_rows(name, frame, **options)), sorted_rows(expected))


def compute_rows(name: str, frame: DataFrame, **options: Any) -> sql_engines.Rows:
    from polars_clustereval import spark

    answer = getattr(spark, name)(frame, COLUMNS, "kind", **options)
    return [row.asDict() for row in answer.collect()]


def test_report_of_degenerate_partitions(frames: dict[str, DataFrame]) -> None:
    check_table(frames["runs"], "internal_report", "runs", partition_by="run")


def test_clusters_and_noise(frames: dict[str, DataFrame]) -> None:
    options = {"noise": 1, "noise_as": "singletons", "distance": "chebyshev"}
    check_table(frames["the points"], "internal_cluster_report", "the points", **options)


def test_silhouettes_of_clusters_and_neighbors(frames: dict[str, DataFrame]) -> None:
    check_table(frames["the points"], "silhouette_clusters", "the points", distance="cosine")
    check_table(frames["the points"], "neighbor_report", "the points")


@pytest.mark.parametrize(
    ("name", "metrics", "keys"),
    [
        ("internal_report", ["davies_bouldin_score", "n"], ["partition_key"]),
        ("internal_cluster_report", ["max_distance", "ssw"], ["partition_key", "cluster"]),
    ],
)
def test_columns_that_are_asked_for(
    name: str, metrics: list[str], keys: list[str], frames: dict[str, DataFrame]
) -> None:
    rows = compute_rows(name, frames["runs"], partition_by="run", metrics=metrics)
    expected = points_from_macro(name, "runs", (("partition_by", "run"),))
    assert list(rows[0]) == [*keys, *metrics]
    chosen = [{key: row[key] for key in (*keys, *metrics)} for row in expected]
    assert_answers(sorted_rows(rows), sorted_rows(chosen))


def test_coordinates_are_checked_whatever_is_asked_for(frames: dict[str, DataFrame]) -> None:
    from polars_clustereval import spark

    points = frames["the points"].selectExpr("kind", "float('nan') x")
    with pytest.raises(ce.ClusterEvalError, match="vector: expected finite numbers, got NaN"):
        spark.internal_report(points, ["x"], "kind", metrics=["n"])


def test_points_are_joined_where_they_are(
    frames: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clusters are sent to the points: neither are sorted, as a join of two large tables is."""
    from polars_clustereval import spark
    from polars_clustereval.spark import tables

    plans: list[str] = []
    select_step = tables._select_step

    def noted(*arguments: Any) -> DataFrame:
        frame = select_step(*arguments)
        plans.append(frame._jdf.queryExecution().executedPlan().toString())
        return frame

    monkeypatch.setattr(tables, "_select_step", noted)
    spark.silhouette_score(frames["the points"], COLUMNS, "kind", distance="sqeuclidean")
    assert sum("BroadcastHashJoin" in plan for plan in plans) >= 2
    assert not any("SortMergeJoin" in plan for plan in plans)


def test_settings_of_the_session_are_as_before(
    session: SparkSession,  # noqa: F811 - the fixture
    frames: dict[str, DataFrame],
) -> None:
    from polars_clustereval import spark
    from polars_clustereval.spark import tables

    known = {name: session.conf.get(name, None) for name in tables._SETTINGS_FOR_POINTS}
    spark.centroids(frames["the points"], COLUMNS, "kind")
    assert {name: session.conf.get(name, None) for name in known} == known
    with pytest.raises(ce.ClusterEvalError, match="vector: "):
        spark.centroids(frames["the points"].selectExpr("kind", "float('nan') x"), ["x"], "kind")
    assert {name: session.conf.get(name, None) for name in known} == known


def test_no_point(frames: dict[str, DataFrame]) -> None:
    check_table(frames["no row"], "silhouette_score", "no row", distance="sqeuclidean")


def test_silhouettes_by_run(frames: dict[str, DataFrame]) -> None:
    options = {"partition_by": "run", "id": "flower", "distance": "sqeuclidean"}
    check_table(frames["runs"], "silhouette_samples", "runs", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"distance": "sqeuclidean", "noise": 1, "noise_as": "drop", "weights": (1.0, 4.0, 0.25)},
        {"method": "simplified", "distance": "minkowski", "p": 3},
    ],
)
def test_score_of_a_list_of_columns(options: dict[str, Any], frames: dict[str, DataFrame]) -> None:
    check_table(frames["the points"], "silhouette_score", "the points", **options)


def test_points_in_a_session_that_cannot_keep_results(
    frames: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is kept on the way, and the numbers are the same."""
    from polars_clustereval.spark import points as spark_points

    monkeypatch.setattr(spark_points, "can_checkpoint", lambda _: False)
    monkeypatch.setattr(type(frames["the points"]), "localCheckpoint", None)
    check_table(frames["the points"], "silhouette_score", "the points", distance="sqeuclidean")


def test_points_without_an_id_are_numbered(frames: dict[str, DataFrame]) -> None:
    """The numbers of Spark tell all points apart, and change nothing else."""
    from polars_clustereval import spark

    options = {"distance": "sqeuclidean"}
    answer = spark.silhouette_samples(frames["the points"], COLUMNS, "kind", **options)
    rows = [row.asDict() for row in answer.collect()]
    assert len({row["id"] for row in rows}) == len(rows) > 1
    expected = points_from_macro("silhouette_samples", "the points", tuple(options.items()))
    first, second = (
        [{**row, "id": None} for row in sorted(found, key=repr_without_id)]
        for found in (rows, expected)
    )
    assert_answers(first, second)


@pytest.mark.parametrize("distance", ["sqeuclidean", "cosine"])
def test_silhouette_of_spark(frames: dict[str, DataFrame], distance: str) -> None:
    """Spark's own ClusteringEvaluator, of vectors of pyspark.ml."""
    from pyspark.ml.evaluation import ClusteringEvaluator
    from pyspark.ml.feature import VectorAssembler

    from polars_clustereval import spark

    known = frames["the points"].where("kind IS NOT NULL")
    points = VectorAssembler(inputCols=COLUMNS, outputCol="features").transform(known)
    measure = "squaredEuclidean" if distance == "sqeuclidean" else distance
    theirs = ClusteringEvaluator(predictionCol="kind", distanceMeasure=measure).evaluate(points)
    (ours,) = spark.silhouette_score(points, "features", "kind", distance=distance).collect()
    assert ours.silhouette == pytest.approx(theirs, abs=1e-9)
    assert ours.n == known.count()


def test_a_column_of_arrays(frames: dict[str, DataFrame]) -> None:
    from polars_clustereval import spark

    points = frames["the points"].selectExpr("array(x, y, z) AS v", "kind")
    rows = [row.asDict() for row in spark.centroids(points, "v", "kind").collect()]
    assert_answers(sorted_rows(rows), sorted_rows(points_from_macro("centroids", "the points", ())))


@pytest.mark.parametrize("name", GAP_CALLS)
def test_rows_with_gaps_are_left_out(frames: dict[str, DataFrame], name: str) -> None:
    check_table(frames["gaps"], name, "gaps", missing="drop", **GAP_CALLS[name])


def test_arrays_with_gaps_are_left_out(frames: dict[str, DataFrame]) -> None:
    from polars_clustereval import spark

    arrays = frames["gaps"].selectExpr("array(x, y, z) AS v", "kind")
    (row,) = spark.internal_report(arrays, "v", "kind", missing="drop").collect()
    [wanted] = points_from_macro("internal_report", "gaps", (("missing", "drop"),))
    assert_answers([row.asDict()], [wanted])


@pytest.mark.parametrize(
    ("columns", "vector", "options", "words"),
    [
        (
            "CAST('NaN' AS DOUBLE) AS x, 1.0 AS y",
            ["y", "x"],
            {},
            "vector: expected finite numbers, got NaN in coordinate 2; fix such rows or",
        ),
        (
            "CAST('-Infinity' AS FLOAT) AS x, 1 AS y",
            ["x", "y"],
            {},
            "vector: expected finite numbers, got -Infinity in coordinate 1",
        ),
        (
            "CAST(NULL AS INT) AS x, 1 AS y",
            ["x", "y"],
            {},
            "vector: expected finite numbers, got NaN in coordinate 1",
        ),
        ("'a' AS x", ["x"], {}, "vector: expected columns of numbers, .* got string in x"),
        ("array(1) AS v, 1 AS x", ["v", "x"], {}, "vector: .* got array<int> in v"),
        ("1 AS x", [], {}, r"vector: expected columns of coordinates, got \[\]"),
        ("1 AS vektor", "vector", {}, "vector: column 'vector' not found; did you mean 'vektor'"),
        ("1 AS x", "x", {"weights": [1.0, 2.0]}, "weights: expected one for each of 1 dim.*got 2"),
        ("1 AS x", "x", {"distance": "l2"}, "distance: expected one of .*mean 'euclidean'"),
        (
            "1 AS x",
            "x",
            {"noise": "?", "noise_as": "drop"},
            r"noise: expected a value of the type of cluster \(int\)",
        ),
    ],
)
def test_bad_points(
    columns: str,
    vector: Any,
    options: dict[str, Any],
    words: str,
    session: SparkSession,  # noqa: F811
) -> None:
    from polars_clustereval import spark

    frame = session.sql(f"SELECT {columns}, 1 AS cluster")
    with pytest.raises(ce.ClusterEvalError, match=words):
        spark.centroids(frame, vector, "cluster", **options)


def test_vectors_of_another_length(session: SparkSession) -> None:  # noqa: F811
    from polars_clustereval import spark

    frame = session.sql("SELECT array(1, 2) AS v, 1 AS cluster UNION ALL SELECT array(1), 1")
    words = r"vector: expected vectors of one length \([12]\), got [12] coordinates; fix"
    with pytest.raises(ce.ClusterEvalError, match=words):
        spark.centroids(frame.coalesce(1), "v", "cluster")


def test_silhouettes_that_need_pairs(session: SparkSession) -> None:  # noqa: F811
    from polars_clustereval import spark

    frame = session.sql("SELECT 1 AS x, 1 AS cluster")
    with pytest.raises(
        ce.ClusterEvalError, match=r"distance: silhouette_clusters .*got 'euclidean'"
    ):
        spark.silhouette_clusters(frame, "x", "cluster")


def test_what_is_left_out_may_be_anything(session: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    from polars_clustereval import spark

    nan, far = float("nan"), 1e300
    table = pl.DataFrame(
        {
            "x": [0.0, 1.0, 5.0, nan, far, None],
            "y": [1.0, 0.0, 5.0, 0.0, far, None],
            "kind": [0, 0, 1, None, -1, 0],
        }
    )
    table.write_parquet(tmp_path / "points.parquet")
    frame = session.read.parquet(str(tmp_path / "points.parquet"))
    (row,) = spark.internal_report(frame, ["x", "y"], "kind", noise=-1, noise_as="drop").collect()
    assert (row.n, row.n_dropped, row.n_noise, row.n_clusters) == (3, 2, 1, 2)
    assert row.ssw == pytest.approx(1.0)
