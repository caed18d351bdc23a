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
from tests.support import registry, table_calls

ROWS = 60
COLUMNS = (*registry.tables(*registry.GIVEN), *registry.POINTS_WITHOUT_MACRO)
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


@pytest.mark.each
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
def test_lists_are_read_for_their_length_on_collection(table: str) -> None:
    check_readings(table, rows_with(random_vectors(pl.List)))


@pytest.mark.parametrize("table", [table for table in OF_LABELS if table not in OF_RECORDS])
def test_weights_are_read_to_be_checked_on_collection(table: str) -> None:
    check_readings(table, rows_with(random_vectors(pl.Array)), weight="weight")


CALLS = table_calls.calls_of_tables(4)


@pytest.mark.each
@pytest.mark.parametrize("table", CALLS)
def test_no_frame_is_read_at_the_call(table: str) -> None:
    """Nor a second frame, such as that of edges or centers."""
    call, function = CALLS[table], getattr(ce, table)
    given = [x.code if isinstance(x, table_calls.Given) else x for x in call.arguments]
    frames = [x for x in given if isinstance(x, pl.DataFrame)]
    sources = [Source(frame) for frame in frames]
    of_sources = iter(sources)
    lazy = [next(of_sources).lazy if isinstance(x, pl.DataFrame) else x for x in given]
    result = function(*lazy, partition_by=call.partition_by)
    assert isinstance(result, pl.LazyFrame)
    assert not any(source.readings for source in sources)
    collected = result.collect(engine="streaming")
    assert all(source.readings for source in sources)
    assert_frame_equal(collected, function(*given, partition_by=call.partition_by))


def test_centers_in_memory_leave_the_plan_open() -> None:
    """The points stream through a plan that shows them."""
    rows, *others = CALLS["assign_nearest"].arguments
    result = ce.assign_nearest(rows.lazy(), *others, partition_by="run")
    assert "DF [" in result.explain(engine="streaming")


@pytest.mark.parametrize("table", registry.DRAWN_BY_NUMPY)
def test_drawn_tables_read_nothing_at_the_call(table: str) -> None:
    options = {"n_resamples": 9} if "n_resamples" in registry.parameters(table) else {}
    check_readings(table, rows_with(random_vectors(pl.Array)), **options)


@pytest.mark.parametrize("way", ["streaming", "in-memory"])
def test_errors_of_data_come_on_collection(way: Any) -> None:
    frame = rows_with(random_vectors(pl.List)).with_columns(weight=-1)
    result = ce.external_report(frame.lazy(), "label", "cluster", weight="weight")
    with pytest.raises(ce.ClusterEvalError, match="weight: expected whole numbers >= 0, got -1"):
        result.collect(engine=way)
    result = ce.internal_report(frame.lazy(), "vector", "cluster", weights=[1, 2, 3])
    with pytest.raises(ce.ClusterEvalError, match="expected one for each of 2 dimensions, got 3"):
        result.collect(engine=way)


def test_a_deferred_result_is_a_frame_as_others() -> None:
    """Filters, selections and slices of a plan that depends on the rows."""
    frame = rows_with(random_vectors(pl.List))
    result = ce.internal_cluster_report(frame.lazy(), "vector", "cluster")
    whole = ce.internal_cluster_report(frame, "vector", "cluster")
    assert result.collect_schema() == whole.schema
    for change in (
        lambda x: x.filter(pl.col("cluster") > 0).select("n"),
        lambda x: x.head(2).filter(pl.col("cluster") > 0),
        lambda x: x.filter(pl.col("cluster") > 0).head(1),
        lambda x: x.select(pl.len()),
        lambda x: x.join(x.select("cluster"), on="cluster"),
    ):
        assert_frame_equal(change(result).collect(), change(whole), check_row_order=False)


# Options of silhouette_score whose points stream, and how often they do on collection: for origins
# (cosine has none), for centers, for bounds twice more or, without second moments, once, for keys
# of a draw, and for the silhouettes, or the drawn points.
STREAMED = {
    ("sqeuclidean", "exact"): 3,
    ("cosine", "exact"): 2,
    ("euclidean", "simplified"): 3,
    ("euclidean", "bounds"): 5,
    ("cityblock", "bounds"): 4,
    ("euclidean", "sample"): 4,
}
DRAWN = {"sample_size": 9, "reference_size": 5}


@pytest.mark.parametrize(("distance", "method"), STREAMED)
@pytest.mark.parametrize("dims", [2, 40])
def test_streamed_silhouettes_read_nothing_at_the_call(
    distance: str, method: str, dims: int
) -> None:
    """The points are not kept. Long vectors take one more pass, for the other moments."""
    more = dims == 40 and method in ("exact", "simplified")
    frame = rows_with(random_vectors(pl.Array, dims))
    options = {"distance": distance, "method": method, **(DRAWN if method == "sample" else {})}
    readings = check_readings("silhouette_score", frame, **options)
    assert readings == STREAMED[distance, method] + more


@pytest.mark.parametrize("table", ["silhouette_samples", "silhouette_clusters"])
@pytest.mark.parametrize("distance", ["sqeuclidean", "cosine", "euclidean"])
def test_streamed_silhouettes_of_points_and_clusters(table: str, distance: str) -> None:
    method = "sample" if distance == "euclidean" else "exact"
    options = {"distance": distance, "method": method, **(DRAWN if method == "sample" else {})}
    readings = check_readings(table, rows_with(random_vectors(pl.Array)), **options)
    assert readings == STREAMED[distance, method]


@pytest.mark.parametrize("table", ["silhouette_score", "silhouette_samples"])
def test_lists_of_streamed_silhouettes_are_not_read_at_the_call(table: str) -> None:
    check_readings(table, rows_with(random_vectors(pl.List)), distance="cosine")


def test_columns_of_a_deferred_table_are_selected() -> None:
    frame = rows_with(random_vectors(pl.Array))
    given = "vector", "cluster"
    lazy = ce.silhouette_samples(frame.lazy(), *given, partition_by="run", distance="cosine")
    whole = ce.silhouette_samples(frame, *given, partition_by="run", distance="cosine")
    assert lazy.collect_schema() == whole.schema
    low = pl.col("silhouette") < 0
    chosen = lazy.filter(low).select("run", "id").head(3).collect(engine="streaming")
    assert_frame_equal(chosen, whole.filter(low).select("run", "id").head(3))
