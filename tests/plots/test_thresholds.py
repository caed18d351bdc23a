"""threshold_plot: its data, the mark at the highest F score, and many thresholds."""

from __future__ import annotations

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval import plots
from tests.support.plot_calls import THRESHOLDS, frame_of_chart, own_chart, title_of

COLUMNS = ("threshold", "pair_f_score", "largest_cluster_size", "n_clusters", "is_best")


def fields_of_panels(frame: pl.DataFrame) -> list[str]:
    """The field of the vertical axis of each panel."""
    panels = plots.threshold_plot(frame).to_dict()["concat"]
    return [panel["layer"][0]["encoding"]["y"]["field"] for panel in panels]


def test_scores_and_counts_of_each_threshold() -> None:
    """At 0.3, three of six pairs are right; at 0.8, all; at 0.9, one of three is found."""
    rows = frame_of_chart(own_chart("threshold_plot"), *COLUMNS).rows()
    wanted = [(0.3, 2 / 3, 4, 1, False), (0.8, 1.0, 3, 2, True), (0.9, 0.5, 2, 3, False)]
    assert rows == [tuple(pytest.approx(x, rel=1e-11) for x in row) for row in wanted]
    assert fields_of_panels(THRESHOLDS) == ["value", "largest_cluster_size", "n_clusters"]
    assert title_of(own_chart("threshold_plot")) == [
        "Clusters at 3 thresholds",
        "highest F score 1 at the threshold 0.8 (diamond)",
    ]


def test_curves_and_the_mark_of_the_best() -> None:
    scores, *counts = own_chart("threshold_plot").to_dict()["concat"]
    names = ["pair_precision", "pair_f_score", "pair_recall"]
    assert scores["layer"][0]["transform"] == [{"fold": names, "as": ["score", "value"]}]
    assert scores["layer"][0]["encoding"]["color"]["scale"]["domain"] == names
    fields = [[x["field"] for x in panel["layer"][0]["encoding"]["tooltip"]] for panel in counts]
    assert fields == [["threshold", "largest_cluster_size"], ["threshold", "n_clusters"]]
    assert scores["layer"][0]["encoding"]["tooltip"][1]["field"] == "value"
    diamond = scores["layer"][2]
    assert (diamond["mark"]["shape"], diamond["encoding"]["y"]["field"]) == ("diamond", names[1])
    for panel in (scores, *counts):
        best = [{"filter": "datum.is_best"}]
        assert [layer.get("transform") for layer in panel["layer"][1:]] == [best] * (
            len(panel["layer"]) - 1
        )


def test_the_order_of_rows_does_not_matter() -> None:
    wanted = own_chart("threshold_plot").to_dict()
    for order in ([2, 0, 1], [1, 2, 0]):
        assert plots.threshold_plot(THRESHOLDS[order]).to_dict() == wanted


def test_the_lowest_of_the_best_thresholds_is_marked() -> None:
    rows = THRESHOLDS.with_columns(pair_f_score=pl.Series([0.2, 0.7, 0.7]))
    assert "at the threshold 0.8 " in title_of(plots.threshold_plot(rows[::-1]))[1]


def test_without_labels_there_are_only_counts() -> None:
    scores = pl.col("^pair_.*$")
    rows = THRESHOLDS.with_columns(pl.when(False).then(scores).name.keep())
    assert fields_of_panels(rows) == ["largest_cluster_size", "n_clusters"]
    assert title_of(plots.threshold_plot(rows)) == ["Clusters at 3 thresholds"]
    # Labels of pairs, or of a sample, may give only some of the scores.
    some = THRESHOLDS.with_columns(pair_recall=None, pair_f_score=None)
    [fold] = plots.threshold_plot(some).to_dict()["concat"][0]["layer"][0]["transform"]
    assert fold["fold"] == ["pair_precision"]
    one = plots.threshold_plot(THRESHOLDS.head(1))
    assert title_of(one)[0] == "Clusters at 1 threshold"


@pytest.mark.parametrize(("limit", "most"), [(2, 3), (10, 11), (300, 301)])
def test_of_many_thresholds_some_are_drawn(limit: int, most: int) -> None:
    n = 4567
    rows = THRESHOLDS.head(1).select(pl.exclude("threshold", "pair_f_score"))
    rows = rows.join(pl.DataFrame({"threshold": range(n)}), how="cross")
    score = 1 / (1 + (pl.col("threshold") - 1234).abs())
    chart = plots.threshold_plot(rows.with_columns(pair_f_score=score), max_thresholds=limit)
    drawn = frame_of_chart(chart, "threshold", "is_best")
    assert limit // 2 < drawn.height <= most
    assert {0, 1234, n - 1} <= {*drawn["threshold"]}
    assert drawn.filter("is_best")["threshold"].to_list() == [1234]
    gaps = drawn["threshold"].diff().drop_nulls()
    assert gaps.max() == -(-(n - 1) // (limit - 1)) or limit == 2
    assert title_of(chart)[2] == f"{drawn.height} of them drawn"
    assert chart.to_dict()["concat"][1]["layer"][0]["mark"]["point"] == (
        {"size": 25} if drawn.height <= 50 else False
    )


@pytest.mark.parametrize("key", ["partition_key", "source"])
def test_rows_of_partitions_with_other_thresholds(key: str) -> None:
    rows = THRESHOLDS.select(pl.Series(key, ["a", "a", "b"]), pl.all())
    words = f"frame: expected rows of threshold_report with one value of {key}, got several; keep"
    with pytest.raises(ce.ClusterEvalError, match=words):
        plots.threshold_plot(rows)
    assert title_of(plots.threshold_plot(rows.with_columns(pl.lit("a").alias(key))))
