"""The value that marks noise: what every table refuses, and values that no row has.

How noise is counted is tested with the tables. Here each table that takes `noise` is found by
introspection and asked.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_clustereval as ce
from tests.support import macro_calls, registry
from tests.support.doors import refused, refused_labels, refused_values
from tests.support.engines import Column, DuckDB, Engine, Expression, make, report

ROWS = pl.DataFrame(
    {
        "label": [0, 0, 1, 1],
        "cluster": [0, 1, 1, 1],
        "id": [0, 1, 2, 3],
        "next": [1, 2, 3, 0],
        "x": [0.0, 1.0, 5.0, 9.0],
        "run": [0, 0, 1, 1],
        "k": [2, 2, 2, 2],
    }
)
FRAMES = ("tbl", "tbl_before", "tbl_after", "frame", "frame_before", "frame_after")
PAIRS = ("edges", "pairs", "neighbors")
#: What is given to the parameters without a default, on either side.
GIVEN: dict[str, Any] = {name: name for name in ("label", "cluster", "id", "run", "k")} | {
    "vector": ["x"],
    "columns": ["x"],
    "clusters": ["cluster"],
    **dict.fromkeys(("cluster_1", "cluster_2"), "cluster"),
    "left": "id",
    "right": "next",
    "distance": "x",
    "reference": 0,
    "is_match": "run",
}
FUNCTIONS = [
    name
    for name in ce.__all__
    if inspect.isfunction(function := getattr(ce, name)) and name != "to_sql"
    if "noise" in inspect.signature(function).parameters
]
MACROS = [
    name for name, macro in macro_calls.public_tables().items() if "noise" in macro.parameters
]
CHOICES = "noise_as: expected one of 'cluster', 'drop', 'singletons', got NULL; choose how "
CHOICES_OF_CLUSTERS = "noise_as: expected one of 'cluster', 'drop', got NULL; choose how "


def required_of(function: str) -> list[str]:
    parameters = inspect.signature(getattr(ce, function)).parameters.values()
    required = [x.name for x in parameters if x.default is x.empty]
    # This table needs labels or vectors.
    return [*required, "label"] if function == "compare_clusterings" else required


def choices_of(table: str) -> str:
    is_of_clusters = table in registry.tables("points of states", "attributes")
    return CHOICES_OF_CLUSTERS if is_of_clusters else CHOICES


def ask_function(name: str, frame: pl.DataFrame, **options: Any) -> None:
    getattr(ce, name)(*(GIVEN.get(one, frame) for one in required_of(name)), **options)


def ask_about_noise(name: str, table: str, options: str) -> None:
    """The rows of a macro as a user gets them: the planner may leave out what adds no row."""
    columns = [GIVEN.get(one) for one in required_of(name)]
    n_tables = sum(one in (*FRAMES, *PAIRS) for one in macro_calls.public_tables()[name].parameters)
    names = iter([table] * n_tables)
    parts = [next(names) if column is None else shown_sql(column) for column in columns]
    duck = make("duckdb")
    assert isinstance(duck, DuckDB)
    query = f"FROM clustereval.{name}({', '.join(parts)}, {options})"
    with duck.connection.cursor() as cursor:
        cursor.register("rows_of_noise", ROWS).register("no_rows", ROWS.clear())
        cursor.execute(query).fetchall()


def shown_sql(column: Any) -> str:
    return f"[{', '.join(column)}]" if isinstance(column, list) else str(column)


def test_the_two_sides_have_the_same_tables() -> None:
    others = {*registry.WITHOUT_MACRO}
    plots = {name for name in FUNCTIONS if name.endswith("_plot")}
    assert {*FUNCTIONS} - others - plots == {*MACROS}
    assert len(MACROS) > 35


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_refuses_noise_without_a_choice(name: str) -> None:
    for frame in (ROWS, ROWS.clear()):
        ask = partial(ask_function, name, frame, noise=0)
        refused(make("polars"), choices_of(name), name, ask)
    assert inspect.signature(getattr(ce, name)).parameters["noise_as"].default is None


@pytest.mark.parametrize("name", MACROS)
def test_a_macro_refuses_noise_without_a_choice(name: str) -> None:
    """Before a row is read."""
    ask = partial(ask_about_noise, name, "no_rows", "noise := 0")
    refused(make("duckdb"), choices_of(name), name, ask)


def test_the_error_says_what_each_choice_does(side: Engine) -> None:
    words = f"{CHOICES}the rows of noise count in the scores: 'cluster' as one ordinary "
    words += "cluster, 'drop' not at all, 'singletons' each as a cluster of its own"
    if isinstance(side, DuckDB):
        refused_values(side, words, "_valid_noise", -1, None)
    else:
        refused_labels(side, words, ROWS, noise=-1)


def test_the_choices_of_states(side: Engine) -> None:
    words = f"{CHOICES_OF_CLUSTERS}the rows of noise count: 'cluster' as one ordinary cluster, "
    words += "'drop' not at all"
    if isinstance(side, DuckDB):
        refused_values(side, words, "_valid_noise_of_clusters", -1, None)
    else:
        ask = partial(ask_function, "cluster_states", ROWS, noise=-1)
        refused(side, words, "cluster_states", ask)


def test_without_noise_there_is_no_choice(side: Engine) -> None:
    for noise_as in (None, "cluster"):
        for row in report(side, ROWS, noise=None, noise_as=noise_as):
            assert (row["n"], row["n_noise"]) == (4, 0)


FOREIGN = "noise: expected a value of the type of cluster (BIGINT), got 'abc' (VARCHAR)"


@pytest.mark.parametrize("name", MACROS)
def test_a_macro_refuses_noise_of_another_type(name: str) -> None:
    """Whatever the noise counts as, and of an empty table too."""
    key = "partition_by" in macro_calls.public_tables()[name].parameters
    by = ", partition_by := run" if key else ""
    for table, options in (("rows_of_noise", ""), ("no_rows", by)):
        given = f"noise := 'abc', noise_as := 'cluster'{options}"
        refused(make("duckdb"), FOREIGN, name, partial(ask_about_noise, name, table, given))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_refuses_noise_of_another_type(name: str) -> None:
    words = "noise: expected a value of the type of cluster (Int64), got 'abc' (String)"
    for frame in (ROWS, ROWS.clear()):
        ask = partial(ask_function, name, frame, noise="abc", noise_as="cluster")
        refused(make("polars"), words, name, ask)


# Values that no row has

OF_NAMES = pl.Enum(["p", "q", "7"])
CLUSTERS = {"enum": OF_NAMES, "categories": pl.Categorical(), "text": pl.String()}


def column_of(engine: Engine, kind: str) -> Column:
    """The column of clusters: DuckDB reads every kind of a Polars frame as text."""
    if isinstance(engine, DuckDB) and kind == "enum":
        return Expression("CAST(cluster AS ENUM ('p', 'q', '7'))")
    return "cluster"


@pytest.mark.gate
@pytest.mark.parametrize("kind", CLUSTERS)
def test_a_name_that_no_row_has_marks_no_noise(engine: Engine, kind: str) -> None:
    """Also where the type has no such value: an enumeration."""
    names = pl.Series(["p", "p", "q", None], dtype=CLUSTERS[kind])
    frame, cluster = ROWS.with_columns(cluster=names), column_of(engine, kind)
    for noise, noise_as in (("z", "cluster"), (-1, "drop"), (7, "singletons"), (1.5, "drop")):
        [row] = report(engine, frame, cluster=cluster, noise=noise, noise_as=noise_as)
        assert (row["n"], row["n_noise"], row["n_clusters"]) == (3, 0, 2), (kind, noise)
    for noise, n in (("q", 1), ("p", 2)):
        [row] = report(engine, frame, cluster=cluster, noise=noise, noise_as="drop")
        assert (row["n"], row["n_noise"], row["n_clusters"]) == (3 - n, n, 1), (kind, noise)


@pytest.mark.parametrize("name", sorted(MACROS))
def test_every_function_takes_a_name_that_an_enumeration_lacks(name: str) -> None:
    names = ROWS["cluster"].cast(pl.String).cast(pl.Enum(["0", "1"]))
    frame = ROWS.with_columns(cluster=names)
    function = getattr(ce, name)
    given = [GIVEN.get(one, frame) for one in required_of(name)]
    if name in registry.tables("distances"):
        function = partial(function, missing="drop")
    wanted = function(*given)
    for noise in ("z", -1):
        found = function(*given, noise=noise, noise_as="drop")
        if "code" in found.columns:
            assert found["code"][0] == "unknown_noise"
            found = found.filter(pl.col("code") != "unknown_noise")
        if "meaning" in found.columns:
            assert found.filter(metric="n_noise")["meaning"].item().startswith("no row has")
            found, same = found.drop("meaning"), wanted.drop("meaning")
        else:
            same = wanted
        assert_frame_equal(found, same)


def test_a_number_is_the_name_of_its_text(engine: Engine) -> None:
    frame = ROWS.with_columns(cluster=pl.Series(["7", "p", "7", "q"], dtype=OF_NAMES))
    cluster = column_of(engine, "enum")
    [row] = report(engine, frame, cluster=cluster, noise=7, noise_as="drop")
    assert (row["n"], row["n_noise"]) == (2, 2)


@pytest.mark.parametrize("noise", [[1], True])
def test_what_is_no_name_of_an_enumeration(side: Engine, noise: object) -> None:
    frame = ROWS.with_columns(cluster=pl.Series(["7", "p", "7", "q"], dtype=OF_NAMES))
    words = "noise: expected a value of the type of cluster ("
    cluster = column_of(side, "enum")
    refused_labels(side, words, frame, cluster=cluster, noise=noise, noise_as="cluster")
