"""What a call on a LazyFrame reads at once, and what only when the result is collected.

Rows are counted at the source: any `collect` inside a function shows as a reading of the source at
the call, or as a result that no longer reads it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_clustereval as ce
from tests.support import registry

ROWS = 60
COLUMNS = registry.tables(*registry.GIVEN)
OF_VECTORS = [table for table in COLUMNS if "vector" in registry.given(table)]
OF_LABELS = [table for table in COLUMNS if registry.given(table)[0] in ("label", "cluster")]
OF_RECORDS = registry.tables("records")
OF_RUNS = [table for table in COLUMNS if registry.given(table)[0] == "id"]

SLOW_IF_LONG = ("determinant_report", "neighbor_report")


def rows_with(vector: pl.Series) -> pl.DataFrame:
    cluster = pl.Series("cluster", np.arange(ROWS) % 3)
    label = pl.Series("label", np.arange(ROWS) % 4)
    weight, k = (cluster * 7 + 1).alias("weight"), (cluster + 1).alias("k")
    run, number = pl.Series("run", np.arange(ROWS) // 20), (label.cum_count() % 20).alias("id")
    place = (cluster * 0 + 1).alias("place")
    return pl.DataFrame([vector, cluster, label, weight, k, run, number, place])


def random_vectors(dtype: type[pl.Array | pl.List], dims: int = 2) -> pl.Series:
    x = np.random.default_rng(5).normal(size=(ROWS, dims)) + (np.arange(ROWS) % 3)[:, None]
    series = pl.Series("vector", x, dtype=pl.Array(pl.Float64, dims))
    return series if dtype is pl.Array else series.arr.to_list()


class Source:
    """A LazyFrame of these rows that counts how often they are read."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.readings = 0
        whole = {"predicate_pushdown": False, "projection_pushdown": False}
        self.lazy = pl.LazyFrame({"one": [0]}).map_batches(
            lambda _: self._read(frame), schema=frame.schema, **whole
        )

    def _read(self, frame: pl.DataFrame) -> pl.DataFrame:
        self.readings += 1
        return frame

    def readings_of(self, action: Any) -> tuple[int, Any]:
        before = self.readings
        result = action()
        return self.readings - before, result


def call_arguments(table: str) -> list[Any]:
    return [list(x) if isinstance(x, tuple) else x for x in registry.given(table)]


def check_readings(table: str, frame: pl.DataFrame, at_call: int = 0, **options: Any) -> int:
    """The source is read `at_call` times at the call, and again on collection: how often then."""
    source, function = Source(frame), getattr(ce, table)
    given = call_arguments(table)
    readings, result = source.readings_of(lambda: function(source.lazy, *given, **options))
    assert readings == at_call, "readings of the source at the call"
    assert isinstance(result, pl.LazyFrame)
    readings, collected = source.readings_of(lambda: result.collect(engine="streaming"))
    assert readings > 0, "the collected result does not read the source"
    assert_frame_equal(collected, function(frame, *given, **options))
    return readings


@pytest.mark.parametrize("table", COLUMNS)
def test_nothing_is_read_at_the_call(table: str) -> None:
    """Not by any table with its default options: the schema is enough."""
    check_readings(table, rows_with(random_vectors(pl.Array)))


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(table, marks=[pytest.mark.wide] if table in SLOW_IF_LONG else [])
        for table in OF_VECTORS
    ],
)
def test_nothing_is_read_of_long_vectors_at_the_call(table: str) -> None:
    check_readings(table, rows_with(random_vectors(pl.Array, dims=40)))


@pytest.mark.parametrize("table", [*OF_LABELS, *OF_RUNS])
def test_labels_are_read_once(table: str) -> None:
    """One pass over the rows, whatever the table."""
    assert check_readings(table, rows_with(random_vectors(pl.Array))) == 1


@pytest.mark.parametrize("table", ["cluster_error_table", "record_error_table"])
def test_unlabeled_rows_are_read_with_the_others(table: str) -> None:
    assert check_readings(table, rows_with(random_vectors(pl.Array)), count_unlabeled=True) == 1


def test_names_are_read_once() -> None:
    assert (
        check_readings("clustering_summary", rows_with(random_vectors(pl.Array)), name="label") == 1
    )


@pytest.mark.parametrize("dims", [2, 40])
@pytest.mark.parametrize("table", ["internal_report", "internal_summary", "elbow"])
def test_points_of_centers_are_read_twice(table: str, dims: int) -> None:
    """For means, and for distances to them; more often only if sums may have lost digits."""
    near = rows_with(random_vectors(pl.Array, dims))
    assert check_readings(table, near) == 2
    far = near.with_columns(pl.col("vector") + 1e6)
    assert check_readings(table, far) > 2


@pytest.mark.parametrize("table", OF_VECTORS)
def test_lists_are_read_for_their_length(table: str) -> None:
    check_readings(table, rows_with(random_vectors(pl.List)), at_call=1)


@pytest.mark.parametrize("table", [table for table in OF_LABELS if table not in OF_RECORDS])
def test_weights_are_read_to_be_checked(table: str) -> None:
    check_readings(table, rows_with(random_vectors(pl.Array)), at_call=1, weight="weight")


# Options of silhouette_score whose points stream, and how often they do at the call: for origins
# (cosine has none), for centers, and for bounds twice more or, without second moments, once.
STREAMED = {
    ("sqeuclidean", "exact"): 2,
    ("cosine", "exact"): 1,
    ("euclidean", "simplified"): 2,
    ("euclidean", "bounds"): 4,
    ("cityblock", "bounds"): 3,
}


@pytest.mark.parametrize(("distance", "method"), STREAMED)
@pytest.mark.parametrize("dims", [2, 40])
def test_streamed_silhouettes_read_the_points_again(distance: str, method: str, dims: int) -> None:
    """Moments of clusters are computed at the call; the points themselves are not kept.

    Those of long vectors take a pass for the centers, and one more for the other moments.
    """
    at_call = STREAMED[distance, method] + (dims == 40 and method != "bounds")
    frame = rows_with(random_vectors(pl.Array, dims))
    check_readings("silhouette_score", frame, at_call, distance=distance, method=method)


@pytest.mark.parametrize("table", ["silhouette_samples", "silhouette_clusters"])
@pytest.mark.parametrize("distance", ["sqeuclidean", "cosine"])
def test_streamed_silhouettes_of_points_and_clusters(table: str, distance: str) -> None:
    check_readings(
        table, rows_with(random_vectors(pl.Array)), STREAMED[distance, "exact"], distance=distance
    )
