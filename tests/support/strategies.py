"""What Hypothesis draws: labelings, and many of them for one call of an engine.

An engine takes as long for one labeling as for a hundred, so that a test draws a list of them and
scores all in one call, each a partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import Phase, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
Rows = list[tuple[Any, Any]]

BATCH = 40

# For tests that draw batches. A batch is not shrunk: the message of a failure names the labeling.
batched = settings(
    max_examples=max(1, settings().max_examples // BATCH),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


def batches(strategy: SearchStrategy[T], size: int = BATCH) -> SearchStrategy[list[T]]:
    """Lists of `size` different draws or nearly so.

    Hypothesis begins with the simplest example, the same draw `size` times, which is refused.
    """
    several = st.lists(strategy, min_size=size, max_size=size)
    return several.filter(lambda drawn: any(one != drawn[0] for one in drawn))


def labelings(*, nulls: bool = False) -> SearchStrategy[Rows]:
    """Rows of (label, cluster), from unrelated to nearly equal."""
    label = st.integers(0, 5)
    rows = st.one_of(
        st.tuples(label, st.integers(0, 3)),
        st.tuples(label, st.integers(0, 30)),
        label.map(lambda u: (u, u)),
    )
    if nulls:
        rows = st.one_of(rows, st.sampled_from([(None, 0), (0, None), (None, None)]))
    return st.lists(rows, min_size=1, max_size=40)


def weights() -> SearchStrategy[list[int]]:
    """One for each row of the longest labeling."""
    return st.lists(st.integers(0, 3), min_size=40, max_size=40)
