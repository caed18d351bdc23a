"""Data where a frame or names of columns are expected: the error shows a call, and the call works.

Every function of labels or points is called as scikit-learn's are, found by introspection.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import polars_clustereval as ce
from polars_clustereval.base.tables import declared_tables
from tests.support import registry

if TYPE_CHECKING:
    from collections.abc import Callable

TRUE, FOUND = ["a", "a", "b", "b"], [0, 0, 1, 1]
MATRIX = [[0.0, 1.0], [0.5, 1.5], [8.0, 9.0], [9.0, 9.0]]
CODE = re.compile(r"; write (.*)$")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: function
    for name in ce.__all__
    if inspect.isfunction(function := getattr(ce, name))
    and name not in ("bundle", "describe", "register", "to_sql", "write_database")
}


def required(name: str) -> list[str]:
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    return [parameter.name for parameter in parameters if parameter.default is parameter.empty]


FIRST = ("label", "vector", "columns")
TABLES = [name for name in FUNCTIONS if required(name)[0] == "frame"]
#: Those that are called with the data of one clustering: two arguments besides the frame.
SINGLE = [
    name
    for name in TABLES
    if len(required(name)) == 3 and {*required(name)} <= {"frame", *FIRST, "cluster"}
]
#: Those that are called with several clusterings of the same rows, in columns.
SEVERAL = [
    name for name in TABLES if {"run", "resample"} & {*required(name)} and name not in SINGLE
]
POINTS = [name for name in SINGLE if "vector" in required(name)]
LABELS = [name for name in SINGLE if {"label", "columns"} & {*required(name)}]
#: Those that are called with two frames, one per clustering.
TWO_RUNS = [name for name in FUNCTIONS if required(name)[0] == "frame_before"]
#: Those that are called with a frame of labels and one of clusters.
TWO_COVERS = [name for name in FUNCTIONS if required(name)[0] == "frame_labels"]
#: The function of an array, which makes a frame.
OF_ARRAYS = {"distances_from_matrix"}
EXPRESSIONS = [
    name for name in FUNCTIONS if name not in {*TABLES, *TWO_RUNS, *TWO_COVERS, *OF_ARRAYS}
]

DATA: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "polars": pl.Series,
    "numpy": np.array,
    "pandas": pd.Series,
    "pyarrow": pa.array,
    "pyarrow chunks": lambda values: pa.chunked_array([values]),
}
FRAMES: dict[str, tuple[Callable[[pl.DataFrame], Any], str, str]] = {
    "pandas": (lambda frame: frame.to_pandas(), "pandas.DataFrame", "pl.from_pandas(frame)"),
    "pyarrow": (lambda frame: frame.to_arrow(), "pyarrow.Table", "pl.from_arrow(frame)"),
    "duckdb": (lambda own: duckdb.from_arrow(own.to_arrow()), "duckdb.", "frame.pl()"),
    "dict": (lambda frame: frame.to_dict(as_series=False), "dict", "pl.DataFrame(frame)"),
}


def shown_code(error: pytest.ExceptionInfo[ce.ClusterEvalError]) -> str:
    found = CODE.search(str(error.value))
    assert found, str(error.value)
    return found[1]


def run_code(code: str, **variables: Any) -> Any:
    return eval(code, {"pl": pl, "ce": ce} | variables)


def test_every_function_is_of_one_kind() -> None:
    assert {*TABLES, *TWO_RUNS, *TWO_COVERS} == declared_tables().keys()
    assert {*TWO_RUNS} == {*registry.tables("two runs")}
    assert {*TWO_COVERS} == {*registry.tables("covers")}
    of_points = registry.tables("points", "points of states")
    assert {*POINTS} == {*of_points, *registry.POINTS_WITHOUT_MACRO}
    assert {*SEVERAL} == {*registry.tables("runs", "runs and one of them", "resamples")}
    assert {*SINGLE} == {*POINTS, *LABELS}
    of_labels = registry.tables("labels", "records", "replication", "nominal values", "attributes")
    assert {*LABELS} == {*of_labels, *registry.DRAWN_BY_NUMPY}
    assert {required(name)[0] for name in EXPRESSIONS} == {"label", "vec"}


SCORES = [name for name in EXPRESSIONS if name != "parse_vector"]


@pytest.mark.parametrize("kind", DATA)
def test_data_in_an_expression(kind: str) -> None:
    """The call that is shown does not depend on the kind; each kind of data runs one of them."""
    y_true, y_pred = DATA[kind](TRUE), DATA[kind](FOUND)
    words = "label: expected a column name or an expression, got"
    codes = {}
    for name in SCORES:
        with pytest.raises(ce.ClusterEvalError, match=words) as raised:
            FUNCTIONS[name](y_true, y_pred)
        codes[name] = shown_code(raised)
        assert codes[name] == code_of_expression(name)
        with pytest.raises(ce.ClusterEvalError, match="cluster: expected a column name or an expr"):
            FUNCTIONS[name]("label", y_pred)
    for name in ("purity", "pair_recall", "adjusted_rand_score"):
        assert run_code(codes[name], y_true=y_true, y_pred=y_pred) == score_of_columns(name)


def code_of_expression(name: str) -> str:
    frame = 'pl.DataFrame({"label": y_true, "cluster": y_pred})'
    return f'{frame}.select(ce.{name}("label", "cluster")).item()'


def score_of_columns(name: str) -> float | None:
    frame = pl.DataFrame({"label": TRUE, "cluster": FOUND})
    score: float | None = frame.select(FUNCTIONS[name]("label", "cluster")).item()
    return score


@pytest.mark.parametrize("name", SCORES)
def test_the_call_that_an_expression_shows(name: str) -> None:
    found = run_code(code_of_expression(name), y_true=TRUE, y_pred=FOUND)
    assert found == score_of_columns(name)


@pytest.mark.parametrize("kind", DATA)
def test_texts_in_parse_vector(kind: str) -> None:
    vec = DATA[kind](["1 2", "3"])
    with pytest.raises(ce.ClusterEvalError, match="vec: expected a column name or an") as raised:
        ce.parse_vector(vec)
    assert run_code(shown_code(raised), vec=vec).to_list() == [[1.0, 2.0], [3.0]]


#: A cheap table of each kind of first argument.
CHEAP = {"label": "contingency_matrix", "vector": "centroids", "columns": "vdm_encode"}


def data_of(name: str, kind: str) -> tuple[Any, Any]:
    """The arguments that scikit-learn calls y_true and y_pred, or X and y."""
    data = {"label": TRUE, "vector": MATRIX, "columns": TRUE}[required(name)[1]]
    return np.array(data) if kind == "numpy" else DATA[kind](data), DATA[kind](FOUND)


def code_of_data(name: str, kind: str) -> str:
    """What the error shows of a call of a table with two data."""
    with pytest.raises(ce.ClusterEvalError, match="frame: expected a Polars DataFrame") as raised:
        FUNCTIONS[name](*data_of(name, kind))
    return shown_code(raised)


def check_code_of_data(name: str, kind: str) -> None:
    first, *others = required(name)[1:]
    x, y = data_of(name, kind)
    variables = {"y_true": x, "y_pred": y} if first == "label" else {"X": x, "y": y}
    found = run_code(code_of_data(name, kind), **variables)
    frame = pl.DataFrame({first: data_of(name, "list")[0], others[0]: FOUND})
    wanted = FUNCTIONS[name](frame, [first] if first == "columns" else first, *others)
    assert found.equals(wanted)


@pytest.mark.parametrize("kind", DATA)
def test_two_data_in_a_table(kind: str) -> None:
    """The call of scikit-learn: (y_true, y_pred), or (X, y) where X has two dimensions.

    The call that is shown does not depend on the kind; each kind of data runs one of them.
    """
    for name in SINGLE:
        assert code_of_data(name, kind) == code_of_data(name, "list"), name
    for name in CHEAP.values():
        check_code_of_data(name, kind)


@pytest.mark.parametrize("name", SINGLE)
def test_the_call_that_a_table_shows(name: str) -> None:
    check_code_of_data(name, "list")


@pytest.mark.parametrize("name", POINTS)
def test_points_of_one_coordinate(name: str) -> None:
    x = pl.Series([0.0, 1.0, 8.0, 9.0])
    with pytest.raises(ce.ClusterEvalError, match="got Series; write ce") as raised:
        FUNCTIONS[name](x, FOUND)
    wanted = FUNCTIONS[name](pl.DataFrame({"x": x, "cluster": FOUND}), ["x"], "cluster")
    assert run_code(shown_code(raised), X=x, y=FOUND).equals(wanted)


def own_frame(name: str) -> pl.DataFrame:
    columns: dict[str, Any] = {"label": TRUE, "columns": TRUE, "cluster": FOUND, "vector": MATRIX}
    return pl.DataFrame({column: columns[column] for column in required(name)[1:]})


def code_of_frame(name: str, kind: str) -> str:
    """What the error shows of a call of a table with a frame of another library."""
    convert, type_name, _ = FRAMES[kind]
    words = f"names of its columns, got {type_name}"
    with pytest.raises(ce.ClusterEvalError, match=re.escape(words)) as raised:
        FUNCTIONS[name](convert(own_frame(name)), *required(name)[1:])
    return shown_code(raised)


def check_code_of_frame(name: str, kind: str) -> None:
    found = run_code(code_of_frame(name, kind), frame=FRAMES[kind][0](own_frame(name)))
    assert found.equals(FUNCTIONS[name](own_frame(name), *required(name)[1:]))


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_another_library(kind: str) -> None:
    """The kind decides the conversion in the call alone; each kind runs one call of each form."""
    for name in SINGLE:
        arguments = ", ".join(map(repr, required(name)[1:]))
        assert code_of_frame(name, kind) == f"ce.{name}({FRAMES[kind][2]}, {arguments})"
    for name in CHEAP.values():
        check_code_of_frame(name, kind)


@pytest.mark.parametrize("name", SINGLE)
def test_the_call_on_a_frame_of_another_library(name: str) -> None:
    check_code_of_frame(name, "pandas")


XY = pl.DataFrame(MATRIX, schema=["x1", "x2"], orient="row")
CLUSTERS = (np.array(FOUND), pl.Series(FOUND), pd.Series(FOUND))


def code_of_points(name: str, kind: str, clusters: Any) -> str:
    """What the error shows of a call with a frame X and data y."""
    with pytest.raises(ce.ClusterEvalError, match="frame: expected a Polars Data") as raised:
        FUNCTIONS[name](points_of(kind), clusters)
    return shown_code(raised)


def points_of(kind: str) -> Any:
    return XY if kind == "polars" else FRAMES[kind][0](XY)


def check_code_of_points(name: str, kind: str, clusters: Any) -> None:
    found = run_code(code_of_points(name, kind, clusters), X=points_of(kind), y=clusters)
    frame = XY.with_columns(cluster=pl.Series(FOUND))
    assert found.equals(FUNCTIONS[name](frame, ["x1", "x2"], "cluster"))


@pytest.mark.parametrize("kind", [*FRAMES, "polars"])
def test_points_as_a_frame_and_data(kind: str) -> None:
    """scikit-learn's (X, y) with a frame X: all its columns are coordinates."""
    convert = "X" if kind == "polars" else FRAMES[kind][2].replace("frame", "X")
    frame = f"{convert}.with_columns(cluster=pl.Series(y))"
    for clusters in CLUSTERS:
        for name in POINTS:
            code = f'ce.{name}({frame}, [pl.exclude("cluster")], "cluster")'
            assert code_of_points(name, kind, clusters) == code
        check_code_of_points("centroids", kind, clusters)


@pytest.mark.parametrize("name", POINTS)
def test_the_call_on_points(name: str) -> None:
    check_code_of_points(name, "pandas", CLUSTERS[0])


def test_the_arguments_of_the_call_are_shown() -> None:
    frame = pd.DataFrame({"x": [0.0, 1.0], "y": [1.0, 2.0], "c": [0, 1], "run": [1, 1]})
    words = "write ce.centroids(pl.from_pandas(frame), ['x', 'y'], 'c', partition_by='run', p=2)"
    with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
        ce.centroids(frame, ["x", "y"], "c", partition_by="run", p=2)  # type: ignore[type-var]
    words = "write ce.centroids(pl.from_pandas(frame), vector=..., cluster='c')"
    with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
        ce.centroids(frame=frame, vector=pl.col("x"), cluster="c")  # type: ignore[type-var]


@pytest.mark.parametrize("parameter", ["label", "cluster", "weight"])
@pytest.mark.parametrize("kind", DATA)
def test_data_in_place_of_a_column(parameter: str, kind: str) -> None:
    frame = pl.DataFrame({"label": TRUE, "cluster": FOUND})
    columns = {"label": "label", "cluster": "cluster"} | {parameter: DATA[kind](FOUND)}
    advice = f'frame.with_columns(name=pl.Series(values)), and write {parameter}="name"'
    with pytest.raises(ce.ClusterEvalError, match=re.escape(advice)) as raised:
        ce.external_report(frame, **columns)
    assert f"{parameter}: expected a column name or an expression, got" in str(raised.value)


@pytest.mark.parametrize("kind", DATA)
def test_data_in_place_of_vectors_and_keys(kind: str) -> None:
    frame = pl.DataFrame({"x": FOUND, "cluster": FOUND})
    data = DATA[kind](FOUND)
    for parameter in ("vector", "partition_by"):
        arguments: dict[str, Any] = {"vector": "x", "cluster": "cluster"} | {parameter: data}
        with pytest.raises(ce.ClusterEvalError, match=f"{parameter}: expected column names") as e:
            ce.silhouette_score(frame, **arguments)
        assert f'and write {parameter}="name"' in str(e.value)


@pytest.mark.parametrize("given", ["points.csv", None, 3])
def test_what_is_neither_frame_nor_data(given: Any) -> None:
    words = f"frame: expected a Polars DataFrame .*, got {type(given).__name__}$"
    for name in SINGLE:
        with pytest.raises(ce.ClusterEvalError, match=words):
            FUNCTIONS[name](given, *required(name)[1:])


def test_forgotten_arguments_are_an_error_of_python() -> None:
    frame = pl.DataFrame({"x": [1.0], "y": [1.0], "label": [0], "cluster": [0]})
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'cluster'"):
        ce.centroids(frame, ["x", "y"])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'cluster'"):
        ce.external_report(frame, "label")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'frame'"):
        ce.external_report(label="label", cluster="cluster")  # type: ignore[call-arg]
    assert ce.centroids(frame, ["x", "y"], cluster="cluster").height == 1


def test_the_accessor_shows_the_call_too() -> None:
    x = pl.DataFrame({"x": [0.0, 1.0, 5.0]})
    with pytest.raises(ce.ClusterEvalError, match=r"write ce\.silhouette_score\(X\.with_col"):
        x.clustereval.silhouette_score(pl.Series([0, 0, 1]))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", SEVERAL)
def test_data_in_a_table_of_several_clusterings(name: str) -> None:
    values = {"reference": 0}
    data = {other: values.get(other, [0, 1, 2]) for other in required(name)[1:]}
    with pytest.raises(ce.ClusterEvalError, match="frame: expected a Polars DataFrame") as raised:
        FUNCTIONS[name](*data.values())
    columns = {other: value for other, value in data.items() if other not in values}
    named = {other: value for other, value in data.items() if other in values}
    wanted = FUNCTIONS[name](pl.DataFrame(columns), *columns, **named)
    assert run_code(shown_code(raised), **data).equals(wanted)


@pytest.mark.parametrize("name", TWO_RUNS)
def test_data_in_place_of_a_run(name: str) -> None:
    frame = pl.DataFrame({"id": [0, 1], "cluster": [0, 1]})
    for given, parameter in (((FOUND, frame), "frame_before"), ((frame, None), "frame_after")):
        words = f"{parameter}: expected a Polars DataFrame or LazyFrame, got (list|NoneType)"
        with pytest.raises(ce.ClusterEvalError, match=words):
            FUNCTIONS[name](*given, "id", "cluster")


@pytest.mark.parametrize("name", TWO_COVERS)
def test_data_in_place_of_labels_or_clusters(name: str) -> None:
    frame = pl.DataFrame({"id": [0, 1], "label": [0, 1], "cluster": [0, 1]})
    for given, parameter in (((FOUND, frame), "frame_labels"), ((frame, None), "frame_clusters")):
        words = f"{parameter}: expected a Polars DataFrame or LazyFrame, got (list|NoneType)"
        with pytest.raises(ce.ClusterEvalError, match=words):
            FUNCTIONS[name](*given, "id", "label", "cluster")
