"""What polars_clustereval.spark does with its arguments, and on which session: without Spark."""

from __future__ import annotations

import inspect
import re
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp

import polars_clustereval as ce
from polars_clustereval import spark
from polars_clustereval.catalogue.docstrings import read_parameters
from polars_clustereval.spark import functions as spark_functions
from polars_clustereval.spark import points as spark_points
from polars_clustereval.spark import tables as spark_tables

if TYPE_CHECKING:
    from polars_clustereval.dialects import Request


class PySparkException(Exception):  # noqa: N818 - Spark's name
    """That of pyspark.errors, which is not installed everywhere."""


@pytest.fixture(autouse=True)
def _errors_of_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = ModuleType("pyspark.errors")
    errors.PySparkException = PySparkException  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.errors", errors)


class Settings(dict[str, Any]):
    """The settings of a session."""

    set = dict.__setitem__

    def unset(self, name: str) -> None:
        del self[name]


def some_session(**settings: Any) -> Any:
    return SimpleNamespace(conf=Settings(settings))


@pytest.mark.parametrize("name", spark.__all__)
def test_every_argument_reaches_the_query(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    def compute(name: str, arguments: dict[str, Any], *, lazy: bool = False) -> None:
        calls.append((name, arguments, lazy))

    monkeypatch.setattr(spark_functions, "compute_table", compute)
    monkeypatch.setattr(spark_functions, "compute_points", compute)
    function = getattr(spark, name)
    given = {parameter: object() for parameter in inspect.signature(function).parameters}
    function(**given)
    # As many rows as the table has are not kept in the executors.
    assert calls == [(name, given, name in ("bcubed_samples", "silhouette_samples"))]


def test_arguments_that_are_unknown_or_missing() -> None:
    with pytest.raises(TypeError, match=r"external_report\(\) got an unexpected keyword .* 'bet'"):
        spark.external_report("t", bet=1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"centroids\(\) missing a required argument: 'vector'"):
        spark.centroids("t")  # type: ignore[call-arg]


@pytest.mark.parametrize("name", spark.__all__)
def test_docstrings_hold_for_spark(name: str) -> None:
    function = getattr(spark, name)
    text = inspect.getdoc(function) or ""
    assert list(read_parameters(function)) == list(inspect.signature(function).parameters)
    assert not re.search(r"LazyFrame|`frame`|sorted|tolerance|bounds|sampling", text)
    assert max(map(len, text.splitlines())) <= 96


class Evaluation:
    """How a table is evaluated, in place of Spark: the columns that are read, and the way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, session: Any, *, keeps: bool) -> None:
        self.read: dict[str, Any] = {}
        self.others: list[Any] = []
        self.numbered = False
        self.outputs: Any = None
        self.ways: list[tuple[str, dict[str, Any]]] = []
        self._rows = SimpleNamespace(sparkSession=session, schema=dict.fromkeys(["cluster"]))
        for module in (spark_tables, spark_points):
            monkeypatch.setattr(module, "open_table", lambda _: self._rows)
            monkeypatch.setattr(module, "row_numbers", lambda: "numbers")
            monkeypatch.setattr(module, "cast_noise", lambda *_: exp.null())
            monkeypatch.setattr(module, "select_rows", self._select)
            monkeypatch.setattr(module, "can_checkpoint", lambda _: keeps)
            for way in ("evaluate_whole", "evaluate_steps"):
                monkeypatch.setattr(module, way, self._note(way))
            monkeypatch.setattr(module, "build_query", self._build)

    def _select(self, frame: Any, given: dict[str, Any], others: Any = ()) -> Any:
        self.read, self.others = dict(given), list(others)
        return frame

    def _note(self, way: str) -> Any:
        return lambda _query, _rows, **options: self.ways.append((way, options))

    def _build(self, request: Request) -> None:
        self.numbered = request.numbered
        self.outputs = request.outputs


def test_columns_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = Evaluation(monkeypatch, some_session(), keeps=True)
    monkeypatch.setattr(spark_points, "_read_coordinates", lambda _, vector, __: list(vector))
    spark.external_report("t", "label", "cluster", metrics=["purity", "n", "purity"])
    assert evaluation.outputs == ("purity", "n")
    spark.external_report("t", "label", "cluster", partition_by="day", metrics=["purity"])
    assert evaluation.outputs == ("partition_key", "purity")
    monkeypatch.setattr(spark_tables, "_read_cells", lambda frame: frame)
    spark.external_report("cells", metrics=["purity"])
    assert evaluation.outputs == ("partition_key", "purity"), "kept cells have partitions"
    spark.centroids("t", ["x"], "cluster", metrics=["n"])
    assert evaluation.outputs == ("cluster", "n")
    spark.centroids("t", ["x"], "cluster")
    assert evaluation.outputs is None


@pytest.mark.parametrize("metrics", [[], "purity", [1]])
def test_columns_that_are_no_names(metrics: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Evaluation(monkeypatch, some_session(), keeps=True)
    with pytest.raises(ce.ClusterEvalError, match="metrics: expected a list of columns, such as"):
        spark.external_report("t", "label", "cluster", metrics=metrics)


@pytest.mark.parametrize("keeps", [False, True])
def test_rows_without_an_id_are_numbered(keeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = Evaluation(monkeypatch, some_session(), keeps=keeps)
    spark.bcubed_samples("t", "label", "cluster")
    assert evaluation.read["id"] == "numbers"
    spark.bcubed_samples("t", "label", "cluster", id="flower")
    assert evaluation.read["id"] == "flower"
    assert evaluation.ways == [("evaluate_whole", {"weighted": False})] * 2
    spark.contingency_matrix("t", "label", "cluster")
    assert evaluation.read["id"] is None, "other tables have no id"


@pytest.mark.parametrize("keeps", [False, True])
def test_points_without_an_id_are_numbered(keeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = Evaluation(monkeypatch, some_session(), keeps=keeps)
    monkeypatch.setattr(spark_points, "_read_coordinates", lambda _, vector, __: list(vector))
    spark.silhouette_samples("t", ["x", "y"], "cluster", distance="sqeuclidean")
    assert (evaluation.read["id"], evaluation.numbered) == ("numbers", True)
    spark.silhouette_samples("t", ["x", "y"], "cluster", id="flower", distance="sqeuclidean")
    assert (evaluation.read["id"], evaluation.numbered) == ("flower", False)
    assert evaluation.others == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "weight", "keeps", "way"),
    [
        ("pair_counts", None, True, ("evaluate_steps", {"weighted": False})),
        ("pair_counts", "times", True, ("evaluate_steps", {"weighted": True})),
        ("pair_counts", None, False, ("evaluate_whole", {"weighted": False})),
        ("external_report", "times", False, ("evaluate_whole", {"weighted": True})),
    ],
)
def test_a_session_that_cannot_keep_results_evaluates_the_whole_query(
    name: str,
    weight: str | None,
    keeps: bool,
    way: tuple[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = some_session(**{"spark.sql.ansi.enabled": "false"})
    evaluation = Evaluation(monkeypatch, session, keeps=keeps)
    getattr(spark, name)("t", "label", "cluster", weight=weight)
    assert evaluation.ways == [way]


@pytest.mark.parametrize(
    ("keeps", "way"),
    [(True, ("evaluate_steps", {"keep": True})), (False, ("evaluate_whole", {}))],
)
def test_points_in_a_session_that_cannot_keep_results(
    keeps: bool, way: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = Evaluation(monkeypatch, some_session(), keeps=keeps)
    monkeypatch.setattr(spark_points, "_read_coordinates", lambda _, vector, __: list(vector))
    spark.silhouette_score("t", ["x", "y"], "cluster", distance="sqeuclidean")
    assert evaluation.ways == [way]


@pytest.mark.parametrize("settings", [{}, {"spark.sql.ansi.enabled": "true"}])
@pytest.mark.parametrize("name", ["external_report", "entity_resolution_report"])
def test_a_report_that_would_divide_by_zero(
    name: str, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = some_session(**settings)
    evaluation = Evaluation(monkeypatch, session, keeps=False)
    with pytest.raises(
        ce.ClusterEvalError, match=f"^{name}: expected spark.sql.ansi.enabled = false on an engine"
    ):
        getattr(spark, name)("t", "label", "cluster")
    assert not evaluation.ways
    spark.pair_counts("t", "label", "cluster")
    assert len(evaluation.ways) == 1, "a table without ratios divides by nothing"
    kept = Evaluation(monkeypatch, session, keeps=True)
    getattr(spark, name)("t", "label", "cluster")
    assert kept.ways == [("evaluate_steps", {"weighted": False})]


class Checkpoints:
    """A session, and the frame that it makes."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.tried = 0

    def range(self, _: int) -> Checkpoints:
        return self

    def localCheckpoint(self) -> None:  # noqa: N802 - Spark's name
        self.tried += 1
        if self.error:
            raise self.error


@pytest.mark.parametrize(
    ("module", "error", "expected", "tried"),
    [
        ("pyspark.sql.session", PySparkException("no folder"), True, 0),
        ("pyspark.sql.connect.session", None, True, 1),
        ("pyspark.sql.connect.session", PySparkException("no folder"), False, 1),
    ],
)
def test_whether_a_session_can_checkpoint(
    module: str, error: Exception | None, expected: bool, tried: int
) -> None:
    """Spark itself can, and is not asked, which would be a job; others are tried."""
    kind = type("SparkSession", (Checkpoints,), {"__module__": module})
    session = kind(error)
    assert spark_tables.can_checkpoint(session) is expected
    assert session.tried == tried


def test_another_error_of_a_checkpoint_is_raised() -> None:
    kind = type("SparkSession", (Checkpoints,), {"__module__": "pyspark.sql.connect.session"})
    with pytest.raises(ConnectionError):
        spark_tables.can_checkpoint(kind(ConnectionError()))
