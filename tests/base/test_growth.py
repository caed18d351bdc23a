"""Estimates of the time of the tables that grow faster than their rows."""

from __future__ import annotations

import inspect

import pytest

import polars_clustereval as ce
from polars_clustereval.base.growth import (
    ASSIGNMENT,
    SILHOUETTES,
    Growth,
    add_growth_note,
    describe_product,
    describe_seconds,
    estimate_seconds,
    find_growth,
)
from polars_clustereval.base.tables import declared_tables, growth_of
from tests.support.stated_ranges import comments

GROWING = [name for name, x in declared_tables().items() if x.growth]


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
    expected = None if place is None else SILHOUETTES[place]
    assert find_growth(SILHOUETTES, options) is expected


def test_tables_that_grow_with_their_rows_have_no_growth() -> None:
    assert growth_of("external_report", {}) is None


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


@pytest.mark.parametrize("table", GROWING)
def test_docstring_and_comment_say_how_the_time_grows(table: str) -> None:
    declared = declared_tables()[table]
    parameters = inspect.signature(declared.function).parameters
    defaults = {name: x.default for name, x in parameters.items() if x.default is not x.empty}
    growth = growth_of(table, defaults)
    docs = " ".join((inspect.getdoc(declared.function) or "").split())
    words = "The time grows with"
    if growth is None:
        assert words not in docs
        return
    sentence = f"{words} {describe_product(growth.factors)}. On two cores, DuckDB processes about "
    assert sentence in docs
    assert sentence in comments()[table]


def test_the_size_in_the_docstring_is_that_of_a_minute() -> None:
    """√(60 s / 0.2 s × 10⁹ / 8 coordinates) rows in DuckDB."""
    growth = SILHOUETTES[0]
    assert (growth.factors, growth.seconds["duckdb"], growth.seconds["polars"]) == (
        "nnd",
        0.2,
        0.05,
    )
    docs = " ".join((ce.silhouette_score.__doc__ or "").split())
    assert (
        "DuckDB processes about 190,000 rows of 8 coordinates in a minute. "
        "Polars processes about 390,000." in docs
    )
    for engine, rows in (("duckdb", 190_000), ("polars", 390_000)):
        assert estimate_seconds(growth, engine, {"n": rows, "d": 8}) == pytest.approx(60, rel=0.05)


@pytest.mark.parametrize("table", GROWING)
def test_a_note_is_added_once_before_the_other_notes(table: str) -> None:
    docs = inspect.getdoc(declared_tables()[table].function) or ""
    assert docs.count("\nNotes\n-----\n") == 1
    assert docs.count("On two cores, DuckDB processes about") <= 1
    note = docs.partition("\nNotes\n-----\n")[2].partition("\n\n")[0]
    assert max(map(len, note.splitlines())) <= 96


def test_a_docstring_without_notes_gets_a_section() -> None:
    def silhouette_score(frame: object, distance: str = "euclidean") -> None:
        """Mean.

        Examples
        --------
        None.
        """

    # The docstrings of the package are indented by four.
    silhouette_score.__doc__ = "Mean.\n\n    Examples\n    --------\n    None.\n    "
    add_growth_note(silhouette_score, SILHOUETTES)
    lines = inspect.getdoc(silhouette_score).splitlines()  # type: ignore[union-attr]
    assert lines[:4] == ["Mean.", "", "Notes", "-----"]
    assert lines[4].startswith("The time grows with rows^2 x coordinates. ")
    assert lines[lines.index("Examples") - 1] == ""
    silhouette_score.__doc__ = None
    add_growth_note(silhouette_score, SILHOUETTES)
    assert silhouette_score.__doc__ is None


def test_a_product_that_is_not_computed_takes_no_time() -> None:
    growth = ASSIGNMENT[0]
    assert estimate_seconds(growth, "polars", {"l": 2000, "k": 2000}) > 0
    assert estimate_seconds(growth, "polars", {"l": 2001, "k": 2000}) == 0
