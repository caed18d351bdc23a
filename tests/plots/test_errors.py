"""Errors of the plotting functions."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval import plots
from tests.support.plot_calls import (
    CALLS,
    CELLS,
    LINE,
    ROW_CALLS,
    RUNS,
    SIX,
    SWEEP,
    THRESHOLDS,
    draw_chart,
)


@pytest.mark.parametrize("name", CALLS)
def test_missing_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    words = "polars_clustereval.plots needs altair: pip install 'polars_clustereval[plot]'"
    with pytest.raises(ImportError, match=re.escape(words)):
        draw_chart(name)


@pytest.mark.gate
def test_the_package_does_not_import_altair() -> None:
    code = "import sys, polars_clustereval; print('altair' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


@pytest.mark.parametrize("name", CALLS)
def test_frames_of_other_libraries(name: str) -> None:
    words = "frame: expected a Polars DataFrame, a Polars LazyFrame or a DuckDB relation, got "
    frame = CALLS[name][0]
    with pytest.raises(ce.ClusterEvalError, match=re.escape(f"{words}pandas.DataFrame; ")):
        draw_chart(name, frame.to_pandas())
    with pytest.raises(ce.ClusterEvalError, match=re.escape(f"{words}list; ")):
        draw_chart(name, [1, 2])


@pytest.mark.parametrize("name", [name for name in CALLS if name != "threshold_plot"])
def test_errors_of_the_functions(name: str) -> None:
    with pytest.raises(ce.ClusterEvalError, match="cluster: column 'cluster' not found"):
        draw_chart(name, CALLS[name][0].drop("cluster"))
    noise = "an" if name in ("silhouette_plot", "centroid_plot", "projection_plot") else "noise"
    with pytest.raises(ce.ClusterEvalError, match=f"noise_as.*'{noise}'"):
        draw_chart(name, noise_as=noise)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("silhouette_plot", {"max_clusters": 0}, "max_clusters: expected a whole number from 1"),
        ("silhouette_plot", {"max_clusters": 101}, "from 1 to 100, got 101"),
        ("centroid_plot", {"max_clusters": 2.5}, "from 1 to 100, got 2.5"),
        ("contingency_plot", {"max_labels": 51}, "max_labels: expected a whole number from 1 to"),
        ("contingency_plot", {"max_clusters": -1}, "expected a whole number from 1 to 50, got -1"),
        ("agreement_plot", {"max_runs": 1}, "max_runs: expected a whole number from 2 to 60"),
        ("contingency_plot", {"normalize": "true"}, "normalize: expected one of 'label'"),
        ("projection_plot", {"max_points": 0}, "max_points: expected a whole number from 1 to 2"),
        ("projection_plot", {"max_clusters": 101}, "from 1 to 100, got 101"),
        ("projection_plot", {"random_state": -1}, "random_state: "),
        ("elbow_plot", {"silhouette": "bounds"}, "silhouette: "),
        ("interval_plot", {"metrics": ["purity", "silhouette"]}, "got silhouette"),
        ("interval_plot", {"metrics": "expected_mutual_info", "adjusted": False}, "got expected_m"),
        ("interval_plot", {"confidence": 2}, "confidence: "),
        ("transition_plot", {"max_runs": 21}, "max_runs: expected a whole number from 2 to 20"),
        ("transition_plot", {"max_clusters": 31}, "max_clusters: expected a whole number from"),
        ("transition_plot", {"threshold": 2}, "threshold: expected a number above 0 and at most 1"),
        ("transition_plot", {"min_share": 0.6}, "min_share: expected a number from 0 to the thr"),
        ("threshold_plot", {"max_thresholds": 1}, "max_thresholds: expected a whole number from 2"),
        ("silhouette_plot", {"distance": "manhattan"}, "did you mean 'cityblock'?"),
    ],
)  # fmt: skip
def test_bad_options(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
        draw_chart(name, **options)


@pytest.mark.parametrize(
    ("name", "frame", "words"),
    [
        ("silhouette_plot", LINE.clear(), "got 0 clusters of 0 points, for which no sil"),
        ("silhouette_plot", LINE.head(3), "2 clusters and fewer clusters than points, got 1"),
        ("silhouette_plot", LINE[2:4], "got 2 clusters of 2 points"),
        ("elbow_plot", SWEEP.clear(), "frame: expected at least one value of k, got no rows"),
        ("contingency_plot", SIX.clear(), "expected rows with a label and a cluster, got none"),
        ("projection_plot", LINE.clear(), "expected points with a vector and a cluster, got none"),
        ("centroid_plot", LINE.clear(), "expected points with a vector and a cluster, got none"),
        ("agreement_plot", RUNS.head(4), "run: expected at least 2 runs, got fewer"),
        ("transition_plot", RUNS.head(4), "run: expected at least 2 runs, got fewer"),
        ("transition_plot", RUNS.with_columns(run=pl.when(pl.col("run") > 1).then("run")),
         "run: expected a value in every row, got NULL"),
        ("transition_plot", RUNS.with_columns(id=1), "expected one row per id in a run, got"),
        ("threshold_plot", THRESHOLDS.clear(), "expected at least one threshold, got no rows"),
        ("interval_plot", CELLS.clear(), "expected at least one score with a value, got none"),
    ],
)  # fmt: skip
def test_too_few_rows(name: str, frame: pl.DataFrame, words: str) -> None:
    with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
        draw_chart(name, frame)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("elbow_plot", "frame: expected rows of elbow with the columns k, n_clusters, ssw, "),
        ("agreement_plot", "run_1, run_2, n, score; if the frame has other rows, also pass id"),
        ("interval_plot", "column named metric, value, lower, upper; if the frame has other"),
        ("threshold_plot", "frame: expected rows of threshold_report with the columns threshold, "),
    ],
)  # fmt: skip
def test_rows_of_another_table(name: str, words: str) -> None:
    with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
        getattr(plots, name)(LINE)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("elbow_plot", "frame: expected one row of elbow per k, got several with k 1; keep only"),
        ("agreement_plot", "per run_1 and run_2, got several with run_1 1, run_2 2; keep only"),
        ("interval_plot", "per metric, got several with metric rand_score; keep only the"),
        ("threshold_plot", "per threshold, got several with threshold 0.3; keep only the rows"),
    ],
)
def test_rows_of_several_partitions(name: str, words: str) -> None:
    rows = ROW_CALLS[name](CALLS[name][0])
    with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
        getattr(plots, name)(pl.concat([rows, rows]))


@pytest.mark.parametrize(
    ("name", "columns", "words"),
    [
        ("elbow_plot", {"k": "k", "cluster": "k"}, "for a frame with rows of elbow; got no vector"),
        ("elbow_plot", {"vector": ["x"]}, "vector, cluster, k: expected all of them, or none "),
        ("agreement_plot", {"id": "id", "run": "run"}, "rows of run_agreement; got no cluster"),
        ("interval_plot", {"cluster": "cluster"}, "rows of external_intervals; got no label"),
    ],
)  # fmt: skip
def test_some_of_the_columns(name: str, columns: dict[str, Any], words: str) -> None:
    with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
        getattr(plots, name)(CALLS[name][0], **columns)


def test_names_of_the_package_say_where_pictures_are() -> None:
    words = "has no attribute 'elbow_plot'; it is plots.elbow_plot: from polars_clustereval import"
    with pytest.raises(AttributeError, match=re.escape(words)):
        ce.elbow_plot  # noqa: B018
