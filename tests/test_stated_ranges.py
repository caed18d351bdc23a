"""Ranges and best values: data keep and reach those of the records.

Statements of them in other places: test_stated_facts.py.
"""

from __future__ import annotations

import itertools
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base.score_facts import entries_of
from tests.support.engines import Engine, Row, reports
from tests.support.oracle import METRICS
from tests.support.point_engines import call
from tests.support.resolution import OWN
from tests.support.stated_ranges import (
    Stated,
    assert_kept,
    bound_of,
    is_constant,
    range_of_metric,
    stated_by,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

pytestmark = pytest.mark.gate

ROOT = Path(__file__).parent.parent
#: Reports of points whose indices have ranges of their own.
POINT_REPORTS = ("internal_report", "neighbor_report", "determinant_report", "pairwise_report")
DUNN = (
    "dunn_index",
    "centroid_dunn_index",
    *(f"gdi_{i}{j}" for i in range(1, 7) for j in (1, 2, 3)),
)
OF_SILHOUETTE = stated_by(entries_of("silhouette_score")["silhouette"])
#: No pair of partitions reaches -1, the bound of any correlation.
NOT_REACHED = {("phi_index", "-1"), ("correlation_distance", "1")}


# Indices -------------------------------------------------------------------------------------


def all_indices_of(table: str) -> list[str]:
    """The columns of a report of points after the counts."""
    four = pl.DataFrame({"x": [0.0, 1.0, 5.0, 7.0], "cluster": [0, 0, 1, 1]})
    counted = re.compile(r"n|n_\w+")
    columns = getattr(ce, table)(four, ["x"], "cluster").columns
    return [name for name in columns if not counted.fullmatch(name)]


def test_the_readme_counts_the_metrics() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    [(external, internal)] = re.findall(
        r"over (\d+) external metrics and (\d+) internal indi", text
    )
    # gdi_11 and gdi_41 are dunn_index and centroid_dunn_index; one more is the silhouette.
    of_reports = sum(len(all_indices_of(table)) for table in POINT_REPORTS)
    # Round numbers, so that a new metric needs no change of the page.
    assert int(external) == (len(METRICS) + len(OWN) - 1) // 10 * 10
    assert int(internal) == (of_reports + len(DUNN) - 2 + 1) // 10 * 10


# Values ------------------------------------------------------------------------------------------


def partitions_of_rows(n: int) -> Iterator[tuple[int, ...]]:
    """Every partition of n rows as the numbers of their clusters, in order of first use."""
    if n == 0:
        yield ()
    for head in partitions_of_rows(n - 1) if n else ():
        yield from ((*head, i) for i in range(max(head, default=-1) + 2))


@cache
def small_labelings() -> list[list[tuple[int, int]]]:
    """All pairs of partitions of up to five rows, but for the order of the rows."""
    return [
        list(zip(u, v, strict=True))
        for n in range(1, 6)
        for u in partitions_of_rows(n)
        for v in partitions_of_rows(n)
        if list(u) == sorted(u)
    ]


def assert_reached(stated: Stated, name: str, rows: Iterable[Row]) -> None:
    """Constant bounds are values, so that no range is wider than it has to be."""
    values = [row[name] for row in rows if row[name] is not None]
    for text, extreme in ((stated.low, min(values)), (stated.high, max(values))):
        is_left_out = stated.is_open and text == stated.low
        if is_constant(text) and not is_left_out and (name, text) not in NOT_REACHED:
            assert extreme == pytest.approx(bound_of(text, {}), abs=1e-12), (name, text)


def test_small_labelings_keep_and_reach_the_ranges(engine: Engine) -> None:
    labelings = small_labelings()
    rows = reports(engine, labelings)
    assert len(rows) == len(labelings) > 900
    for name in METRICS:
        stated = range_of_metric(name)
        for row in rows.values():
            assert_kept(stated, name, row)
        assert_reached(stated, name, rows.values())


def sizes(n: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Every way to divide n rows into clusters of at most `largest` rows, by their sizes."""
    if n == 0:
        yield ()
    for size in range(1, min(n, largest) + 1):
        yield from ((size, *rest) for rest in sizes(n - size, size))


#: Sizes of clusters for which rounding takes a ratio above 1, unless it is cut.
LARGE = [(1_340_521, 44), (474_331, 7_219), (4_065, 61_965)]


def test_equal_partitions_have_the_best_value(engine: Engine) -> None:
    small = [parts for n in range(1, 13) for parts in sizes(n, n)]
    same = [[(i, i, size) for i, size in enumerate(parts)] for parts in [*small, *LARGE]]
    rows = list(reports(engine, same, "n", weight="n").values())
    for name in METRICS:
        stated = range_of_metric(name)
        for row in rows:
            assert_kept(stated, name, row)
        if stated.best not in (None, "high"):
            values = [row[name] for row in rows if row[name] is not None]
            # Singletons have no pairs of one label: scikit-learn's Fowlkes-Mallows score is 0.
            others = {0.0} if name == "fowlkes_mallows_score" else set()
            values = [value for value in values if value not in others]
            assert values == pytest.approx([float(stated.best)] * len(values), abs=1e-12), name
            assert values, name


@cache
def small_sets() -> list[tuple[list[str], pl.DataFrame]]:
    """Partitions of points: all of three and four points on a line, and of five in the plane.

    Each set has the names of its coordinates and a frame with a run for each partition.
    """
    line = [
        [(float(x), 0.0) for x in xs]
        for n in (3, 4)
        for xs in itertools.combinations_with_replacement((0, 1, 3), n)
    ]
    plane = [[(0.0, 0.0), (1.0, 2.0), (4.0, 1.0), (5.0, 5.0), (2.0, 7.0)]]
    return [(["x"], frame_of_partitions(line)), (["x", "y"], frame_of_partitions(plane))]


def frame_of_partitions(sets: list[list[tuple[float, float]]]) -> pl.DataFrame:
    parts = ((points, part) for points in sets for part in partitions_of_rows(len(points)))
    rows = [
        (run, *point, cluster)
        for run, (points, part) in enumerate(parts)
        for point, cluster in zip(points, part, strict=True)
    ]
    return pl.DataFrame(rows, schema=["run", "x", "y", "cluster"], orient="row")


def reports_of_small_sets(side: Engine, table: str, **options: Any) -> list[Row]:
    return [
        row
        for vector, frame in small_sets()
        for row in call(side, table, frame, vector, partition_by="run", **options)
    ]


@pytest.mark.parametrize("table", POINT_REPORTS)
def test_small_sets_of_points_keep_and_reach_the_ranges(side: Engine, table: str) -> None:
    rows = reports_of_small_sets(side, table)
    for name in all_indices_of(table):
        stated = stated_by(entries_of(table)[name])
        for row in rows:
            assert_kept(stated, name, row)
        assert_reached(stated, name, rows)


def test_small_sets_of_points_keep_the_ranges_of_dunn(side: Engine) -> None:
    rows = reports_of_small_sets(side, "dunn_index", generalized=True)
    for name, row in itertools.product(DUNN, rows):
        assert_kept(stated_by(entries_of("dunn_index")[name]), name, row)


def test_small_sets_of_points_keep_the_range_of_silhouettes(side: Engine) -> None:
    rows = reports_of_small_sets(side, "silhouette_samples")
    for row in rows:
        assert_kept(OF_SILHOUETTE, "silhouette", row)
    # A point among those of another cluster comes near -1, but a single one has silhouette 0.
    assert max(row["silhouette"] or 0.0 for row in rows) == 1.0
