"""Every table and aggregate hands each of its arguments to the check of that argument.

What the checks refuse, and in which words, is tested at the checks (tests/base/test_errors.py,
tests/internal/test_point_checks.py and the files of the families). This is the other half. In SQL
it follows arguments through the bodies of the macros; in Polars each function gets one fault.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import polars as pl

import polars_clustereval as ce
from polars_clustereval.base.tables import declared_tables
from tests.support import macro_calls, registry
from tests.support.macro_calls import Place

if TYPE_CHECKING:
    from collections.abc import Callable

# SQL

#: Columns of the user, which could be quoted by mistake.
COLUMNS = (
    *("label", "cluster", "vector", "id", "run", "name", "weight", "partition_by", "k", "fold"),
    *("cluster_1", "cluster_2", "resample", "removed", "reduced_cluster", "reference_set"),
    *("left", "right", "is_match"),
)
NAMES_OF_TABLES = (
    *("tbl", "tbl_before", "tbl_after", "tbl_labels", "tbl_clusters"),
    *("edges", "pairs", "neighbors"),
)
#: Other names of tables, and names of columns that are looked up.
UNCHECKED = {
    *((table, "centroids") for table in ("assign_nearest", "cross_validation")),
    *(("choose_k", "gap"), ("gap_statistic", "reference")),
    *((table, "columns") for table in ("vdm_encode", "cluster_profile", "column_profile")),
    # It reaches its check within coalesce.
    ("external_differences", "labels_are_sample"),
}
ALWAYS = {
    **{name: {Place("_given_column", "given")} for name in COLUMNS},
    "noise": {Place("_valid_noise", "noise"), Place("_check_noise", "noise")},
    "noise_as": {Place("_valid_noise", "noise_as")},
    **{
        name: {Place("_valid_point_options", name)}
        for name in ("distance", "p", "center", "weights")
    },
}
ALWAYS["missing"] = {Place("_valid_missing", "missing")}
ALWAYS["vector"] |= {Place("_check_vector_type", "vector")}
WEIGHTS = {Place(f"_check_{name}", "x") for name in ("weight", "edge_weight", "pair_weight")}
#: Options that a table hands to `_check_options`, or to a check of values.
OPTION_CHECK = ("_valid_", "_check_", "_given_column")
AGGREGATES = {
    "label": Place("_check_labels", "label"),
    "cluster": Place("_check_labels", "cluster"),
    "beta": Place("_check_beta", "x"),
    "average_method": Place("_check_average_method", "x"),
    "split_cost": Place("_check_edit_cost", "cost"),
    "merge_cost": Place("_check_edit_cost", "cost"),
}


def test_a_table_hands_its_arguments_to_the_checks() -> None:
    for table, macro in macro_calls.public_tables().items():
        for parameter in macro.parameters:
            places = macro_calls.places_of(table, parameter)
            always = ALWAYS.get(parameter, set())
            if parameter == "distance" and table in registry.tables("distances"):
                always = {Place("_given_column", "given")}
            if parameter == "distance" and table in registry.tables("neighbors"):
                always = {Place("_given_column", "given"), Place("_is_distance", "x")}
            missing = always - places
            assert not missing, f"{table}: {parameter} does not reach {missing}"
            if parameter == "weight":
                assert WEIGHTS & places, f"{table}: no check of weights"
            is_checked = any(
                place.macro.startswith(OPTION_CHECK) and place.parameter not in NAMES_OF_TABLES
                for place in places
            )
            is_free = parameter in NAMES_OF_TABLES or (table, parameter) in UNCHECKED
            assert is_checked != is_free, f"{table}: {parameter} is checked: {is_checked}"


def test_a_table_runs_the_check_of_its_options() -> None:
    """The text that a _valid_... macro returns does nothing unless _check_options runs it."""
    for table, macro in macro_calls.public_tables().items():
        calls = macro_calls.calls_of(table)
        run = [call.arguments[0] for call in calls if call.macro == "_check_options"]
        inside = [call for argument in run for call in macro_calls.calls_in(argument)]
        checks = [call for call in calls if call.macro.startswith("_valid_")]
        assert sorted(checks) == sorted(call for call in inside if call in checks), table
        if "noise" in macro.parameters:
            reached = {name for call in checks for name in macro_calls.reached_from(call.macro)}
            assert "_valid_noise" in reached, table


def test_a_table_of_points_checks_the_points() -> None:
    """And no check is in a CTE that nothing reads: it would be left out."""
    for table, macro in macro_calls.public_tables().items():
        if {"vector", "cluster"} <= {*macro.parameters}:
            reached = macro_calls.reached_from(table)
            assert {"_check_points", "_check_assignment"} & reached, table
        for name in macro_calls.reached_from(table):
            body = macro_calls.macros_by_name()[name].body
            for cte in macro_calls.CTE.findall(body):
                if "check" in cte:
                    assert body.count(cte) > 1, f"{name}: nothing reads {cte}"


def public_aggregates() -> dict[str, macro_calls.Macro]:
    """Without those that only say in which table their score is."""
    return {
        name: macro
        for name, macro in macro_calls.macros_by_name().items()
        if not macro.is_table and name[0] != "_" and macro.parameters[:2] == ("label", "cluster")
        if not re.search("_raise_(column|short)", macro.body)
    }


def test_columns_are_listed_for_a_check() -> None:
    """A column that is listed, but in no list of a check, would be accepted whatever it is."""
    listed = checked = 0
    for name, macro in macro_calls.macros_by_name().items():
        if name != "_check_labels":
            calls = list(macro_calls.calls_in(macro.body))
            listed += sum(call.macro == "_given_column" for call in calls)
            texts = [call.arguments[1] for call in calls if call.macro == "_check_columns"]
            checked += sum(text.count("_given_column(") for text in texts)
    assert listed == checked > 40


def test_an_aggregate_hands_its_arguments_to_the_checks() -> None:
    aggregates = public_aggregates()
    assert len(aggregates) > 50
    for name, macro in aggregates.items():
        for parameter in macro.parameters:
            places = macro_calls.places_of(name, parameter)
            assert AGGREGATES[parameter] in places, (name, parameter)


def test_a_table_without_a_check_is_found() -> None:
    """What is followed is the argument itself, not another one at the same place."""
    places = macro_calls.places_of("_row_groups", "noise_as")
    assert Place("_flag_groups", "noise_as") in places
    assert Place("_valid_noise", "noise_as") not in places
    assert macro_calls.split_arguments("x(a, 'b), (', [c, d]) + 1", 2) == ["a", "'b), ('", "[c, d]"]
    [call] = macro_calls.calls_in("clustereval.\"_check_column\"(x, 'id', f(id))")
    assert call == ("_check_column", ("x", "'id'", "f(id)"))


# Polars

FRAME = pl.DataFrame(
    {
        "label": [0, 0, 1, 1],
        "cluster": [0, 1, 1, 1],
        "id": [0, 1, 2, 3],
        "x": [0.0, 1.0, 5.0, 9.0],
        "run": [0, 0, 1, 1],
        "k": [2, 2, 2, 2],
        "number": [1, 2, 1, 2],
        "weight": [-1.5] * 4,
        "ssw": [1.0] * 4,
    }
)
FRAMES = ("frame", "frame_before", "frame_after", "frame_labels", "frame_clusters")
VALUES: dict[str, Any] = {
    **dict.fromkeys((*FRAMES, "centroids", "edges", "pairs", "neighbors", "gap"), FRAME),
    **{name: name for name in ("label", "cluster", "id", "run", "k")},
    **dict.fromkeys(("cluster_1", "cluster_2", "reduced_cluster", "left", "right"), "cluster"),
    **dict.fromkeys(("resample", "removed", "fold", "reference_set"), "number"),
    "vector": ["x"],
    "columns": ["label"],
    "clusters": ["cluster"],
    "distance": "x",
    "weight": "weight",
    "is_match": "run",
}
NOT_FOUND = "{}: column 'zzz' not found"
#: A fault of each parameter, and the words of its error.
FAULTS: dict[str, tuple[Any, str]] = {
    **{name: ("zzz", NOT_FOUND.format(name)) for name in COLUMNS if name != "vector"},
    "vector": (["zzz"], NOT_FOUND.format("vector")),
    "columns": (["zzz"], NOT_FOUND.format("columns")),
    "clusters": (["zzz"], NOT_FOUND.format("clusters")),
    **{name: ("data", f"{name}: expected a Polars DataFrame") for name in FRAMES},
    "noise_as": ("keep", "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'keep'"),
    "noise": ("no number", "noise: expected a value of the type of cluster (Int64)"),
    "weight": ("weight", "weight: expected "),
    "distance": ("zzz", "distance: expected one of 'euclidean', "),
    "p": (0.5, "p: expected a number >= 1, got 0.5"),
    "missing": ("skip", "missing: expected one of 'error', 'drop', got 'skip'"),
    "center": ("zzz", "center: expected one of 'mean', 'median', got 'zzz'"),
    "weights": ([-1], "weights: expected a number > 0 for each dimension, got [-1]"),
    "beta": (-1, "beta: expected a number >= 0, got -1"),
    "average_method": ("zzz", "average_method: expected one of 'arithmetic', "),
    "metric": ("zzz", "metric: expected one of "),
    "confidence": (1, "confidence: expected a number between 0 and 1, got 1"),
    "random_state": (-1, "random_state: expected a whole number >= 0 and < 2147483648, got -1"),
}
#: Optional parameters of which a call needs one.
NEEDED = {("compare_clusterings", "label")}
#: Optional parameters that need others.
TOGETHER = {("threshold_report", "is_match")}
FUNCTIONS = {name: table.function for name, table in declared_tables().items()}


def test_a_function_refuses_a_fault_of_each_argument() -> None:
    for name, function in FUNCTIONS.items():
        values = VALUES | {"reference": FRAME if name == "gap_statistic" else 0}
        parameters = inspect.signature(function).parameters
        given = {
            one: values[one]
            for one, parameter in parameters.items()
            if parameter.default is parameter.empty or (name, one) in NEEDED
        }
        for parameter in parameters.keys() & FAULTS.keys():
            if (name, parameter) in TOGETHER:
                continue
            fault, words = FAULTS[parameter]
            if parameter == "distance" and name in registry.tables("distances", "neighbors"):
                words = NOT_FOUND.format(parameter)
            if parameter == "weight" and name in registry.tables("edges"):
                fault, words = "zzz", NOT_FOUND.format(parameter)
            needed = {"noise_as": "drop"} if parameter == "noise" else {}
            if name == "compare_clusterings" and parameter in ("id", "run"):
                needed = {"id": "id", "run": "run"}
            refused_call(
                words, f"{name}: {parameter}", function, given | needed | {parameter: fault}
            )


def refused_call(
    words: str, what: str, function: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    try:
        function(**arguments)
    except ce.ClusterEvalError as raised:
        message = str(raised)
    else:
        message = "no error"
    assert words in message, f"{what}: {message}, expected {words}"
