"""Names: what the package shows of itself, and what it says about names that it does not have."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, get_args, get_origin

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base import checks
from polars_clustereval.external import entity_matching, information
from polars_clustereval.internal import distances, point_silhouettes

pytestmark = pytest.mark.each

ROOT = Path(__file__).parent.parent
FRAME = pl.DataFrame({"label": [0, 0, 1, 1], "cluster": [0, 0, 1, 1], "x": [0.0, 1.0, 7.0, 9.0]})
FRAME = FRAME.with_columns(vector=pl.concat_list("x"))


def exported_functions() -> dict[str, FunctionType]:
    found = {name: getattr(ce, name) for name in ce.__all__}
    return {name: value for name, value in found.items() if isinstance(value, FunctionType)}


def test_dir_is_the_public_api() -> None:
    assert dir(ce) == sorted(ce.__all__)
    assert all(hasattr(ce, name) for name in dir(ce))


@pytest.mark.gate
def test_dir_names_what_is_there_without_the_extra() -> None:
    code = "import sys; sys.modules['sqlglot'] = None; import inspect; "
    code += "import polars_clustereval as ce; print(*dict(inspect.getmembers(ce)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == set(ce.__all__) - {"to_sql"}


# A column, and the table that is said to have it.
COLUMNS = {
    "calinski_harabasz_score": "internal_report",
    "davies_bouldin_score": "internal_report",
    "ssw": "internal_report",
    "s_dbw_index": "neighbor_report",
    "trace_wib": "determinant_report",
    "gdi_11": "dunn_index",
    "c_index": "pairwise_report",
    "majority_label": "external_cluster_report",
    "split_pairs": "external_label_report",
    "tp": "pair_counts",
    "pair_sets_index": "matching_report",
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_a_table(name: str) -> None:
    words = f"no attribute '{name}'; it is a column of {COLUMNS[name]}: ce.{COLUMNS[name]}("
    with pytest.raises(AttributeError, match=re.escape(words)) as raised:
        getattr(ce, name)
    code = str(raised.value).partition(": ")[2]
    names = {"frame": FRAME, "label": "label", "cluster": "cluster", "vector": "vector"}
    assert len(eval(code, {"ce": ce} | names)) >= 1


TWINS = {
    "adjusted_rand_index": "adjusted_rand_score",
    "ajusted_rand_score": "adjusted_rand_score",
    "Purity": "purity",
    "purity_score": "purity",
    "silhouete_score": "silhouette_score",
    "regster": "register",
    "pair_confusion_matrix": "pair_counts",
    "homogeneity_completeness_v_measure": "external_report",
    "ARI": "adjusted_rand_score",
    "v_measure": "v_measure_score",
    "nmi_score": "normalized_mutual_info_score",
    "entropy": "label_entropy",
    "nmi": "normalized_mutual_info_score",
    "ami": "adjusted_mutual_info_score",
    "fmi": "fowlkes_mallows_score",
    "vi": "variation_of_information",
    "mi": "mutual_info_score",
    "emi": "expected_mutual_info",
    "rmi": "reduced_mutual_info_score",
    "homogeneity": "homogeneity_score",
    "completeness": "completeness_score",
    "dunn": "dunn_index",
    "confusion_matrix": "contingency_matrix",
}

SHORT_COLUMNS = {
    "ch": "calinski_harabasz_score",
    "db": "davies_bouldin_score",
    "inertia": "ssw",
    "wcss": "ssw",
    "acc": "clustering_accuracy",
}


@pytest.mark.parametrize("name", SHORT_COLUMNS)
def test_an_abbreviation_of_a_column(name: str) -> None:
    with pytest.raises(
        AttributeError, match=rf"did you mean a column of .*\[\"{SHORT_COLUMNS[name]}\"\]$"
    ):
        getattr(ce, name)


@pytest.mark.parametrize("name", TWINS)
def test_a_misspelt_name(name: str) -> None:
    assert hasattr(ce, TWINS[name])
    words = f"no attribute '{name}'; did you mean '{TWINS[name]}'?"
    with pytest.raises(AttributeError, match=re.escape(words)):
        getattr(ce, name)


def test_a_misspelt_column() -> None:
    words = "did you mean a column of internal_report: ce.internal_report(frame, vector, cluster)"
    with pytest.raises(AttributeError, match=re.escape(words)) as raised:
        ce.calinski_harabaz_score  # noqa: B018
    assert str(raised.value).endswith('["calinski_harabasz_score"]')


@pytest.mark.parametrize("name", ["zzz", "_zzz", "__wrapped__", "dbscan_xyz_clusterer"])
def test_a_name_of_nothing(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'$"):
        getattr(ce, name)


@pytest.mark.gate
def test_modules_that_are_not_loaded_are_no_misspelt_names() -> None:
    code = "import polars_clustereval as ce; print(hasattr(ce, 'cli')); "
    code += "from polars_clustereval import cli; print(cli.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "polars_clustereval.cli"]


# Methods of a frame

NO_METHODS = {
    "adjusted_rand_score": '; it is an expression: frame.select(ce.adjusted_rand_score("label", ',
    "register": "; it is a function: ce.register(con)",
    "describe": "; it is a function: ce.describe()",
    "ClusterEvalError": "; it is ce.ClusterEvalError",
    "externl_report": "; did you mean 'external_report'?",
    "silhouette_plt": "; did you mean 'silhouette_plot'?",
    "ari": "; did you mean 'adjusted_rand_score'?",
    "davies_bouldin_score": "; it is a column of internal_report: ce.internal_report(frame, ",
    "zzz": "",
    "_zzz": "",
}


@pytest.mark.parametrize("frame", [FRAME, FRAME.lazy()])
@pytest.mark.parametrize("name", NO_METHODS)
def test_a_name_that_is_no_method(frame: Any, name: str) -> None:
    words = re.escape(f"'frame.clustereval' has no attribute '{name}'{NO_METHODS[name]}")
    end = "" if NO_METHODS[name].endswith(", ") else "$"
    with pytest.raises(AttributeError, match=f"^{words}{end}"):
        getattr(frame.clustereval, name)


def test_the_expression_that_is_no_method_is_shown_as_it_is_called() -> None:
    with pytest.raises(AttributeError) as raised:
        FRAME.clustereval.rand_score  # type: ignore[attr-defined] # noqa: B018
    code = str(raised.value).partition("expression: ")[2]
    assert eval(code, {"ce": ce, "frame": FRAME}).item() == 1.0


# Type checkers


@pytest.mark.gate
def test_type_checkers_see_the_functions(tmp_path: Path) -> None:
    """They do not see the function that looks names up when the package runs."""
    pytest.importorskip("mypy")
    path = tmp_path / "user.py"
    path.write_text(
        "import polars_clustereval as ce\n"
        "from polars_clustereval.namespaces import ClusterEval\n"
        "ce.silhouete_score\n"
        "ce.describe, ce.to_sql, ce.silhouette_score, ClusterEval.silhouette_score\n"
        "def f(frame: ClusterEval) -> None: frame.silhouete_score\n"
        "ce.purity('label')\n"
        "ce.plots.elbow_plot(1)\n"
        "def g(frame: ClusterEval) -> None: frame.pair_counts(1, 'cluster')\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    *errors, _ = done.stdout.splitlines()
    assert [line.partition("error: ")[2].partition(";")[0] for line in errors] == [
        'Module has no attribute "silhouete_score"',
        '"ClusterEval" has no attribute "silhouete_score"',
        'Missing positional argument "cluster" in call to "purity"  [call-arg]',
        'Argument 1 to "elbow_plot" has incompatible type "int"',
        'Argument 1 has incompatible type "int"',
    ]


# Parameters


@pytest.mark.parametrize(
    ("function", "name", "words"),
    [
        ("silhouette_score", "metric", "did you mean 'distance'?"),
        ("internal_report", "metric", "did you mean 'distance'?"),
        ("external_report", "metric", "did you mean 'metrics'?"),
        ("external_report", "sample_weight", "did you mean 'weight'?"),
        ("internal_report", "weight", "tables of points take no weights of rows: repeat each row"),
        ("determinant_report", "sample_weight", "tables of points take no weights of rows"),
        ("internal_report", "weigths", "did you mean 'weights'?"),
        ("external_report", "partition", "did you mean 'partition_by'?"),
        ("silhouette_score", "seed", "did you mean 'random_state'?"),
        ("contingency_matrix", "zzz", "it has frame, label, cluster, "),
        # Not the name of a parameter that this function does not have.
        ("pair_counts", "metric", "it has frame, label, cluster, "),
    ],
)
def test_a_parameter_of_another_name(function: str, name: str, words: str) -> None:
    first = "vector" if "vector" in inspect.signature(getattr(ce, function)).parameters else "label"
    beginning = f"{function}() got an unexpected keyword argument '{name}'; {words}"
    for call in (partial(getattr(ce, function), FRAME), getattr(FRAME.clustereval, function)):  # type: ignore[attr-defined]
        with pytest.raises(TypeError, match=re.escape(beginning)):
            call(first, "cluster", **{name: "cosine"})


# Types of choices

CHOICES: dict[str, tuple[str, ...]] = {
    "distance": ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine"),
    "center": ("mean", "median"),
    "noise_as": ("cluster", "drop", "singletons"),
    "method": ("exact", "simplified", "bounds", "sample"),
    "split_cost": ("unit", "product", "entropy"),
    "merge_cost": ("unit", "product", "entropy"),
}
#: Tables that have some of the choices of a parameter.
FEWER_CHOICES = {
    ("cluster_states", "noise_as"): ("cluster", "drop"),
    ("cluster_profile", "noise_as"): ("cluster", "drop"),
    ("column_profile", "noise_as"): ("cluster", "drop"),
    ("internal_report_from_states", "distance"): ("euclidean", "sqeuclidean"),
    ("to_sql", "method"): ("exact", "simplified"),
    ("silhouette_clusters", "method"): ("exact", "sample"),
    ("internal_findings", "method"): ("exact", "sample"),
    ("silhouette_samples", "method"): ("exact", "sample"),
}
AVERAGES = ("arithmetic", "geometric", "min", "max")


def literal_of(function: FunctionType, parameter: str) -> tuple[Any, ...]:
    """The choices of a parameter's type, whose name may be imported for type checkers only."""
    function = inspect.unwrap(function)
    names = (
        vars(checks)
        | vars(distances)
        | vars(information)
        | vars(entity_matching)
        | vars(point_silhouettes)
        | function.__globals__
    )
    annotation = inspect.signature(function).parameters[parameter].annotation
    hint = eval(annotation.removesuffix(" | None"), names)
    assert get_origin(hint) is Literal, (function.__name__, parameter, hint)
    return get_args(hint)


@pytest.mark.parametrize("name", exported_functions())
def test_choices_are_literal_types(name: str) -> None:
    function = exported_functions()[name]
    for parameter in inspect.signature(function).parameters.values():
        brings_distances = name.endswith("_from_distances") or name.startswith("neighborhood_")
        is_column = parameter.name == "distance" and brings_distances
        if parameter.name in CHOICES and name != "uniform_reference" and not is_column:
            wanted = FEWER_CHOICES.get((name, parameter.name), CHOICES[parameter.name])
            assert literal_of(function, parameter.name) == wanted
        elif parameter.name == "average_method":
            assert literal_of(function, parameter.name)[:4] == AVERAGES
        else:
            assert not (
                isinstance(parameter.default, str) and parameter.default in distances.DISTANCES
            )


@pytest.mark.parametrize("name", ["Cosine", "EUCLIDEAN", "cityBlock"])
def test_distances_in_any_letter_case(name: Any) -> None:
    wanted = ce.internal_report(FRAME, "vector", "cluster", distance=name.lower())
    assert ce.internal_report(FRAME, "vector", "cluster", distance=name).equals(wanted)


SQL = (ROOT / "sql" / "columns.sql").read_text(encoding="utf-8")
SAME_IN_SQL = re.findall(r"'(\w+)', '(\w+)', 'tbl, vector, cluster'", SQL)


@pytest.mark.parametrize(("column", "table"), SAME_IN_SQL)
def test_a_column_is_of_the_table_that_sql_names(column: str, table: str) -> None:
    with pytest.raises(AttributeError, match=rf"it is a column of {table}: ce\.{table}\("):
        getattr(ce, column)


def test_there_are_columns_in_sql() -> None:
    assert len(SAME_IN_SQL) > 40
