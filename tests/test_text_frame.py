"""Tables of sentences are shown whole, at the prompt and in notebooks."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_clustereval as ce
from polars_clustereval.base.text_frame import TextFrame

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME = pl.DataFrame(
    {"label": [0, 0, 1, 1, 2], "cluster": [0, 0, 1, 0, 2], "x": [0.0, 4.0, 2.0, 1.0, 9.0]}
)
TABLES: dict[str, Callable[[], pl.DataFrame]] = {
    "external_summary": lambda: ce.external_summary(FRAME, "label", "cluster"),
    "internal_summary": lambda: ce.internal_summary(FRAME, ["x"], "cluster"),
    "external_findings": lambda: ce.external_findings(FRAME, "label", "cluster"),
    "internal_findings": lambda: ce.internal_findings(FRAME, ["x"], "cluster"),
    "entity_resolution_estimates": lambda: ce.entity_resolution_estimates(
        FRAME, "label", "cluster", labels_are_sample="records"
    ),
}
SENTENCE = "a sentence of which polars would show no more than the first words"
LONG = TextFrame({"row": range(50), "text": [SENTENCE] * 50})


@pytest.mark.parametrize("table", TABLES)
def test_every_text_of_a_table_is_shown(table: str) -> None:
    frame = TABLES[table]()
    assert type(frame) is TextFrame
    html, printed = frame._repr_html_(), str(frame)
    texts = [
        text
        for column in frame.select(pl.col(pl.String)).iter_columns()
        for text in column.drop_nulls()
    ]
    assert max(map(len, texts)) > 30
    assert repr(frame) == printed
    for text in texts:
        assert text.replace("&", "&amp;").replace("'", "&#x27;").replace("<", "&lt;") in html
    assert "…" not in html


def test_the_prompt_shows_long_texts_and_many_rows() -> None:
    with pl.Config(tbl_width_chars=200):
        assert str(LONG).count(SENTENCE) == 50
        assert str(pl.DataFrame(LONG)).count(SENTENCE) == 0
    assert LONG._repr_html_().count(SENTENCE) == 50


def test_sentences_of_findings_have_room() -> None:
    frame = ce.internal_findings(FRAME, ["x"], "cluster")
    [sentence] = frame["finding"]
    lines = [line.rpartition("┆")[2].strip(" │") for line in str(frame).splitlines()]
    first = next(line for line in lines if line and sentence.startswith(line))
    assert len(first) >= 50, "not two words a line"
    with pl.Config(tbl_width_chars=100):
        assert max(map(len, str(frame).splitlines())) <= 100, "a user's width stays"


def test_what_a_user_has_set_stays() -> None:
    with pl.Config(tbl_width_chars=200, tbl_rows=4, fmt_str_lengths=10):
        assert str(LONG).count("a sentence…") == 4
        assert "a sentence…" in LONG._repr_html_()
    with pl.Config(tbl_width_chars=200, tbl_rows=4):
        assert str(LONG).count(SENTENCE) == 4
    with pl.Config(tbl_width_chars=200, fmt_str_lengths=10):
        assert str(LONG).count("a sentence…") == 50


def test_settings_are_left_as_they_were() -> None:
    before = pl.Config.state(if_set=True)
    str(LONG)
    LONG._repr_html_()
    assert pl.Config.state(if_set=True) == before


def test_it_is_a_data_frame_in_every_other_way() -> None:
    plain = pl.DataFrame(LONG)
    assert type(plain) is pl.DataFrame
    assert_frame_equal(LONG, plain)
    assert_frame_equal(pickle.loads(pickle.dumps(LONG)), plain)
    assert_frame_equal(pl.concat([LONG, plain]).head(50), plain)
    assert_frame_equal(LONG.lazy().filter(pl.col("row") > 3).collect(), plain[4:])


def test_a_lazy_result_stays_lazy() -> None:
    lazy = ce.external_summary(FRAME.lazy(), "label", "cluster")
    assert type(lazy) is pl.LazyFrame
