"""Estimates of the time of the tables that grow faster than their rows."""

from __future__ import annotations

import pytest

from polars_clustereval.base.growth import (
    GROWTH,
    Growth,
    describe_seconds,
    estimate_seconds,
    find_growth,
)


def test_an_estimate_is_a_product_of_sizes() -> None:
    growth = Growth("nnd", {"duckdb": 2.0, "polars": 0.5})
    sizes = {"n": 1e6, "d": 16, "k": 99}
    assert estimate_seconds(growth, "duckdb", sizes) == pytest.approx(2 * 16e12 / 1e9)
    assert estimate_seconds(growth, "polars", sizes) == pytest.approx(0.5 * 16e12 / 1e9)


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({}, 0),
        ({"distance": "Euclidean", "method": "exact", "tolerance": None, "p": 7}, 0),
        ({"distance": "chebyshev"}, 1),
        ({"distance": "minkowski"}, 2),
        ({"distance": "cosine"}, None),
        ({"method": "sample"}, None),
        ({"tolerance": 0.1}, None),
    ],
)
def test_growth_depends_on_options(options: dict[str, object], place: int | None) -> None:
    expected = None if place is None else GROWTH["silhouette_score"][place]
    assert find_growth("silhouette_score", options) is expected


def test_tables_that_grow_with_their_rows_have_no_growth() -> None:
    assert find_growth("external_report", {}) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "1 seconds"),
        (17.2, "20 seconds"),
        (119, "100 seconds"),
        (121, "2 minutes"),
        (600, "10 minutes"),
        (7300, "2 hours"),
        (3e5, "3 days"),
        (1e9, "10,000 days"),
    ],
)
def test_seconds_in_words(seconds: float, words: str) -> None:
    assert describe_seconds(seconds) == words
