"""Pages of `clustereval report` about the examples, written once for all tests of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_clustereval.cli import main
from tests.support.command_line import DIGITS, IRIS, KMEANS, WIDE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    Page = Callable[..., Path]

BOTH = (IRIS, *KMEANS, "--vector", WIDE)
DIGITS_BOTH = (DIGITS, "--label", "digit", "--cluster", "kmeans", "--vector", "pixels")


class Pages:
    """The file of a page about an example, by its ending Markdown or HTML."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._written: dict[tuple[str, ...], Path] = {}

    def __call__(self, *arguments: str, ending: str = "md") -> Path:
        if (ending, *arguments) not in self._written:
            path = self._factory.mktemp("pages") / f"page.{ending}"
            option = "--html" if ending == "html" else "--output"
            assert main(["report", *arguments, option, str(path)]) == 0
            self._written[(ending, *arguments)] = path
        return self._written[(ending, *arguments)]
