"""growth: the tables whose time grows faster than their rows, and estimates of their seconds.

An estimate is a product of sizes, such as n n d, times measured seconds for each 10^9 of it. It
tells seconds from minutes and hours, not more.
"""

from __future__ import annotations

from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from polars_clustereval.errors import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GROWTH", "Growth", "describe_seconds", "estimate_seconds", "find_growth"]


class Growth(NamedTuple):
    """How the time of a table grows with some of its options."""

    #: Letters of sizes (n rows, k clusters, d coordinates), whose product is the work.
    factors: str
    #: By engine: the seconds for each 10^9 of this product, on two cores.
    seconds: Mapping[str, float]
    #: The values of parameters for which this holds, for those where not all values do.
    when: Mapping[str, tuple[object, ...]] = MappingProxyType({})
    #: Options that are faster.
    faster: tuple[Setting, ...] = ()


def _silhouettes(*faster: Setting, **when: tuple[object, ...]) -> tuple[Growth, ...]:
    """Return the growth of a table of exact silhouettes, the default distance first.

    Normal clusters that overlap a little; without any order of the clusters in space, for which no
    cluster is ruled out, it is up to five times as much.
    """
    return tuple(
        Growth("nnd", {"duckdb": duckdb, "polars": polars}, {"distance": names, **when}, faster)
        for names, duckdb, polars in (
            (("euclidean",), 0.2, 0.05),
            (("chebyshev",), 0.5, 0.3),
            (("minkowski",), 3.0, 1.5),
        )
    )


_A_SAMPLE = (Setting("method", "sample"), Setting("sample_size", 2000))

#: The growth of tables by their names; the first entry of a table is that of its default call.
GROWTH: Mapping[str, tuple[Growth, ...]] = MappingProxyType(
    {
        "silhouette_samples": _silhouettes(Setting("distance", "sqeuclidean")),
        "silhouette_clusters": _silhouettes(Setting("distance", "sqeuclidean")),
        "silhouette_score": _silhouettes(*_A_SAMPLE, method=("exact",), tolerance=(None,)),
    }
)


def find_growth(table: str, options: Mapping[str, object]) -> Growth | None:
    """Return how the time of a table grows with these options, None if it is as its rows do.

    `options` are the values of its parameters; texts are in any letter case.
    """
    given = {name: x.lower() if isinstance(x, str) else x for name, x in options.items()}
    for growth in GROWTH.get(table, ()):
        if all(given.get(name, values[0]) in values for name, values in growth.when.items()):
            return growth
    return None


def estimate_seconds(growth: Growth, engine: str, sizes: Mapping[str, float]) -> float:
    """Return about how many seconds a table takes in an engine, with sizes by their letters."""
    return prod(float(sizes[x]) for x in growth.factors) / 1e9 * growth.seconds[engine]


def describe_seconds(seconds: float) -> str:
    """Return a time in words, with one digit, in the largest unit of which it is more than two."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds > 2 * size:
            return f"{_round_to_one_digit(seconds / size):,.0f} {unit}"
    return f"{max(1.0, _round_to_one_digit(seconds)):.0f} seconds"


def _round_to_one_digit(value: float) -> float:
    """Return a number >= 0 with its first digit only."""
    return float(f"{value:.0e}")
