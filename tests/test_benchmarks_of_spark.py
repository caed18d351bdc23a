"""benchmarks.spark_sizes: answers compared first, and the table of the page."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import pages, spark_sizes


class Row(dict[str, Any]):
    """A row of Spark: its values by name, as keys and as attributes."""

    __getattr__ = dict.__getitem__


INDICES = {"calinski_harabasz_score": 5.0, "davies_bouldin_score": 0.5}
ANSWERS = [
    Row(n=10),
    Row(n=10, adjusted_rand_score=0.7),
    Row(adjusted_rand_score=0.7),
    Row(n=10, **INDICES),
    Row(INDICES),
    Row(n=10, silhouette=0.2),
    Row(silhouette=0.2),
]


def test_equal_answers_pass() -> None:
    spark_sizes.compare_answers(ANSWERS, 10)


@pytest.mark.parametrize("place", range(len(ANSWERS)))
def test_other_answers_are_an_error(place: int) -> None:
    """One value of one job after the other is another one."""
    for name, value in ANSWERS[place].items():
        changed = list(ANSWERS)
        changed[place] = Row(ANSWERS[place] | {name: value + 1e-6})
        with pytest.raises(AssertionError):
            spark_sizes.compare_answers(changed, 10)


def test_the_table_of_the_page() -> None:
    results = {
        "Spark, 1,000 rows × 8, 100 labels and clusters": {
            ("pair_counts", "polars_clustereval"): ["1.5", "2,000", "1.0"],
            ("silhouette", "Spark"): ["3", "4", "2.0"],
        }
    }
    assert pages.BLOCKS["spark"](results)[2:] == [
        "| 1,000 | pair_counts | 1.5 | 2,000 | 1.0 |",
        "| 1,000 | silhouette, Spark | 3 | 4 | 2.0 |",
    ]
