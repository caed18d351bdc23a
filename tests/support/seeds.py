"""Seeds for tests that draw many sets of points from one number.

`--hypothesis-seed`, which .ci/run draws anew, is the first of them; without it 0 is, so that
`make test` is the same every time.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import hypothesis
from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

first = 0


def set_first(given: str | None) -> None:
    """Take over the option --hypothesis-seed, whose other values are no numbers."""
    global first
    if given is not None and given.isdecimal():
        first = int(given) % 2**32


def is_drawn(name: str, share: float) -> bool:
    """Whether a test of this name is among the given share of tests that the first seed draws."""
    return zlib.crc32(f"{first} {name}".encode()) < share * 2**32


def seeds() -> SearchStrategy[int]:
    """Any 32 bits. Hypothesis always starts with 0, whatever its own seed: it becomes `first`."""
    return st.integers(0, 2**32 - 1).map(lambda drawn: drawn ^ first)


SEED = hypothesis.given(seed=seeds())
