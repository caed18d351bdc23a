"""clustereval describe: the texts of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import polars_clustereval as ce

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Fail, Run


@pytest.mark.parametrize("name", ["purity", "external_summary", "jump", "noise_as", None])
def test_the_text_is_that_of_describe(run: Run, tmp_path: Path, name: str | None) -> None:
    arguments = () if name is None else (name,)
    assert run("describe", *arguments) == f"{ce.describe(name)}\n"
    path = tmp_path / "text.md"
    assert run("describe", *arguments, "--output", path) == ""
    assert path.read_text(encoding="utf-8") == f"{ce.describe(name)}\n"


def test_a_misspelt_name_is_answered(fail: Fail) -> None:
    kinds = "a score, a table, a criterion or a parameter"
    expected = f"name: expected the name of {kinds}, got "
    assert fail("describe", "puritty") == f"{expected}'puritty'; did you mean 'purity'?"
    assert fail("describe", "zzz") == f"{expected}'zzz'; describe without a name lists all"
