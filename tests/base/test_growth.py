"""Estimates of the time of the tables that grow faster than their rows."""

from __future__ import annotations

import inspect

import pytest

import polars_clustereval as ce
from polars_clustereval.base.growth import (
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


def test_an_estimate_is_proportional_to_the_work() -> None:
    growth = Growth("nnd", {"duckdb": 2.0, "polars": 0.5})
    assert estimate_seconds(growth, "duckdb", 16e12) == pytest.approx(2 * 16e12 / 1e9)
    assert estimate_seconds(growth, "polars", 16e12) == pytest.approx(0.5 * 16e12 / 1e9)


def test_an_estimate_of_pairs_depends_on_their_share() -> None:
    """A quarter of 10¹² pairs of 16 coordinates, 3 ns each and 0.5 ns for each coordinate."""
    growth = Growth("nnd", {"polars": 0.5}, pair_seconds={"polars": (3.0, 0.5)})
    seconds = estimate_seconds(growth, "polars", 16e12, n_dims=16, share=0.25)
    assert seconds == pytest.approx(0.25 * 1000 * (3 + 8))


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({}, 0),
        ({"distance": "Euclidean", "method": "exact", "tolerance": None, "p": 7}, 0),
        ({"distance": "chebyshev"}, 1),
        ({"distance": "minkowski"}, 2),
        ({"distance": "cosine"}, None),
        ({"method": "sample"}, 3),
        ({"method": "sample", "distance": "minkowski"}, 5),
        ({"method": "sample", "reference_size": 50}, None),
        ({"method": "bounds"}, None),
        ({"tolerance": 0.1}, 0),
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
    engine = "DuckDB" if declared.has_macro else "Polars"
    assert ("duckdb" in growth.seconds) is declared.has_macro
    sentence = (
        f"{words} {describe_product(growth.factors)}. On two cores, {engine} processes about "
    )
    assert sentence in docs
    assert not declared.has_macro or sentence in comments()[table]


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
        assert growth.seconds[engine] * rows**2 * 8 / 1e9 == pytest.approx(60, rel=0.05)


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
