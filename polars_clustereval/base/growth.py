"""growth: estimates of running times that grow faster than linearly in the number of rows.

The decorator of a table function declares how the running time grows (see the module `tables`). An
estimate is a product of sizes, such as n n d, multiplied by the measured number of seconds per 10^9
units of this product. An estimate only indicates whether a call takes seconds, minutes or hours.
The docstrings, the comments of the macros, docs/scale.md, the report page and the warnings of the
command line all use these estimates.
"""

from __future__ import annotations

import re
import textwrap
from inspect import signature
from math import inf, prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from polars_clustereval.errors import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

__all__ = [
    "ALL_PAIRS",
    "ASSIGNMENT",
    "DENSITY_TREES",
    "EXTREME_DISTANCES",
    "GENERALIZED_DISTANCES",
    "NEAR_PAIRS",
    "PAIRS_OF_CENTERS",
    "PAIRS_OF_RUNS",
    "POINTS_TO_CENTERS",
    "REFERENCE_SIZE",
    "SILHOUETTES",
    "SIZES",
    "SORTED_PAIRS",
    "SWEPT_SILHOUETTES",
    "Growth",
    "add_growth_note",
    "describe_product",
    "describe_seconds",
    "estimate_seconds",
    "find_growth",
]

#: The sizes that the letters stand for.
SIZES = MappingProxyType(
    {"n": "rows", "k": "clusters", "l": "labels", "r": "runs", "s": "rows per cluster"}
    | {"d": "coordinates", "m": "sampled rows"}
)
#: The number of coordinates in the examples of docstrings, and of clusters if the time depends on
#: it.
_EXAMPLE = MappingProxyType({"d": 8.0, "r": 10.0})
_MINUTE = 60.0
_ENGINES = MappingProxyType({"duckdb": "DuckDB", "polars": "Polars"})


class Growth(NamedTuple):
    """How the running time of a table grows for certain values of its options."""

    #: Letters of SIZES; the product of these sizes is the amount of work.
    factors: str
    #: By engine: the seconds for each 10^9 of this product, on two cores.
    seconds: Mapping[str, float]
    #: The parameters on which the growth depends, with the values for which this record holds.
    when: Mapping[str, tuple[object, ...]] = MappingProxyType({})
    #: Options that are faster.
    faster: tuple[Setting, ...] = ()
    #: The largest product that is computed as a whole. A larger one is computed in parts or not at
    #: all.
    most: float = inf
    #: Further remarks.
    remark: str = ""
    #: By engine: the seconds for each 10^9 pairs of points whose distances are computed, and the
    #: seconds that each coordinate adds. Empty if the time does not depend on the number of pairs.
    pair_seconds: Mapping[str, tuple[float, float]] = MappingProxyType({})


#: Remarks for tables that use centers to exclude pairs of points.
_OVERLAP = "If no cluster can be excluded by its center, the time is up to five times as long."
_LARGE_CLUSTER = (
    "If one cluster has most of the points, or if no cluster can be excluded by its center, the "
    "time is up to seven times as long, and with two coordinates 20 times."
)
#: The number of points of each cluster with which a sample is compared, if that is faster.
REFERENCE_SIZE = 1000
_REFERENCES = (Setting("reference_size", REFERENCE_SIZE),)
_A_SAMPLE = (Setting("method", "sample"), Setting("sample_size", 2000))


def _silhouettes(
    factors: str, faster: tuple[Setting, ...], **when: tuple[object, ...]
) -> tuple[Growth, ...]:
    """Return how the running time of silhouettes grows for each distance, the default first."""
    return tuple(
        Growth(
            factors,
            {"duckdb": duckdb, "polars": polars},
            {"distance": names, **when},
            faster,
            remark=_LARGE_CLUSTER,
            pair_seconds={"duckdb": duckdb_pairs, "polars": polars_pairs},
        )
        for names, duckdb, polars, duckdb_pairs, polars_pairs in (
            (("euclidean",), 0.2, 0.05, (7.0, 0.5), (2.0, 0.06)),
            (("chebyshev",), 9.0, 0.3, (15.0, 6.0), (2.0, 0.8)),
            (("minkowski",), 18.0, 1.2, (50.0, 15.0), (3.0, 5.0)),
        )
    )


#: Silhouettes of one clustering, exact or of a sample that is compared with all points, and exact
#: silhouettes of a series of clusterings.
SILHOUETTES = (
    *_silhouettes("nnd", _A_SAMPLE, method=("exact",)),
    *_silhouettes("mnd", _REFERENCES, method=("sample",), reference_size=(None,)),
)
SWEPT_SILHOUETTES = _silhouettes(
    "nnd", (Setting("silhouette", "simplified"),), silhouette=("exact",)
)
#: The largest and the smallest distances of points, within and between clusters.
EXTREME_DISTANCES = (Growth("nnd", {"duckdb": 0.01, "polars": 0.005}, remark=_OVERLAP),)
#: The distances of all pairs within a cluster, twice, and of some pairs of two clusters.
DENSITY_TREES = (
    Growth(
        "nsd",
        {"polars": 2.0},
        remark="With fewer than ten coordinates, the time hardly depends on their number.",
    ),
)
#: Sums of the distances of all pairs, if the user asks for them.
GENERALIZED_DISTANCES = (
    Growth(
        "nnd",
        {"duckdb": 3.0, "polars": 0.3},
        {"generalized": (True,)},
        (Setting("generalized", False),),
    ),
    *EXTREME_DISTANCES,
)
#: The distances of all pairs, sorted.
SORTED_PAIRS = (
    Growth(
        "nn",
        {"duckdb": 800.0, "polars": 140.0},
        remark="More than max_points rows, by default 5,000, are an error.",
    ),
)
#: The distances of all pairs, of which only the smallest are kept.
ALL_PAIRS = (
    Growth(
        "nn",
        {"duckdb": 250.0, "polars": 40.0},
        remark="More than max_points rows, by default 10,000, are an error.",
    ),
)
#: Distances of points to all centers, and between all centers.
POINTS_TO_CENTERS = (Growth("nkd", {"duckdb": 4.5, "polars": 1.8}),)
PAIRS_OF_CENTERS = (
    Growth(
        "kkd",
        {"duckdb": 3.5, "polars": 3.0},
        remark="With fewer clusters, the time grows in proportion to the number of rows.",
    ),
)
#: The best matching of labels and clusters that are unrelated.
ASSIGNMENT = (
    Growth(
        "lkk",
        {"duckdb": 17.0, "polars": 0.6},
        most=8e9,
        remark="If most rows of each cluster have the same label, the time grows in proportion to "
        "the number of rows.",
    ),
)
#: All pairs of points of two clusters with a common point.
NEAR_PAIRS = (Growth("nsd", {"duckdb": 2.0, "polars": 0.4}),)
#: All pairs of runs.
PAIRS_OF_RUNS = (Growth("nr", {"duckdb": 60.0, "polars": 50.0}),)


def find_growth(growths: Sequence[Growth], options: Mapping[str, object]) -> Growth | None:
    """Return the first of `growths` that applies to the `options`, or None if none applies."""
    given = {name: x.lower() if isinstance(x, str) else x for name, x in options.items()}
    for growth in growths:
        if all(given.get(name, values[0]) in values for name, values in growth.when.items()):
            return growth
    return None


def estimate_seconds(
    growth: Growth, engine: str, work: float, *, n_dims: float = 1.0, share: float = 1.0
) -> float:
    """Return the approximate number of seconds that an engine needs to compute a table.

    `work` is the product of the sizes. If the time depends on the number of pairs, `share` is the
    share of the pairs whose distances are computed.
    """
    if not growth.pair_seconds:
        return work / 1e9 * growth.seconds[engine]
    each, per_coordinate = growth.pair_seconds[engine]
    return share * work / n_dims / 1e9 * (each + per_coordinate * n_dims)


# ----------------------------------------------------------------------------------------------
# Words
# ----------------------------------------------------------------------------------------------


def describe_seconds(seconds: float) -> str:
    """Return a time in words, with one digit, in the largest unit that fits in more than twice."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds > 2 * size:
            return f"{_round(seconds / size, 1):,.0f} {unit}"
    return f"{max(1.0, _round(seconds, 1)):.0f} seconds"


def _round(value: float, digits: int) -> float:
    """Return a nonnegative number, rounded to `digits` significant digits."""
    return float(f"{value:.{digits - 1}e}")


def describe_product(factors: str) -> str:
    """Return a product of sizes in words, such as rows^2 x coordinates."""
    letters = dict.fromkeys(factors)
    powers = {x: factors.count(x) for x in letters}
    return " x ".join(f"{SIZES[x]}^{n}" if n > 1 else SIZES[x] for x, n in powers.items())


def _describe_minute(growth: Growth, engine: str) -> str:
    """Return the largest size that an engine can process in a minute, as text such as 240,000."""
    free = [x for x in growth.factors if x not in _EXAMPLE]
    # In the example, 50 clusters hold all rows.
    known = prod(_EXAMPLE.get(x, 1.0) for x in growth.factors) * (0.02 if "s" in free else 1.0)
    product = min(_MINUTE / growth.seconds[engine] * 1e9, growth.most)
    return f"{_round((product / known) ** (1 / len(free)), 2):,.0f}"


def _describe_growth(growth: Growth, parameters: Collection[str]) -> str:
    """Return the docstring sentences about the running time of a table with these parameters."""
    engines = [x for x in ("duckdb", "polars") if x in growth.seconds]
    sizes = [f"{_ENGINES[x]} processes about {_describe_minute(growth, x)}" for x in engines]
    what = " and ".join(SIZES[x] for x in dict.fromkeys(growth.factors) if x in "nlk")
    more = {"d": " of 8 coordinates", "r": " of 10 runs"}
    given = "".join(text for x, text in more.items() if x in growth.factors)
    given += " in 50 clusters" if "s" in growth.factors else ""
    faster = " and ".join(str(x) for x in growth.faster if x.parameter in parameters)
    time = (
        f"The time grows with {describe_product(growth.factors)}. On two cores, "
        f"{sizes[0]} {what}{given} in a minute."
    )
    sentences = [
        time,
        *(f"{size}." for size in sizes[1:]),
        growth.remark,
        f"A faster option is {faster}." if faster else "",
    ]
    return " ".join(filter(None, sentences))


def add_growth_note(function: Callable[..., Any], growths: Sequence[Growth]) -> None:
    """Add a note about the running time of a default call to a table function's docstring.

    It begins the Notes. If the time grows in proportion to the number of rows, there is no note.
    """
    parameters = signature(function).parameters
    defaults = {x.name: x.default for x in parameters.values() if x.default is not x.empty}
    growth = find_growth(growths, defaults)
    if growth is None or function.__doc__ is None:
        return
    indent = " " * 4
    note = textwrap.indent(textwrap.fill(_describe_growth(growth, parameters), 96), indent)
    head = f"\n{indent}Notes\n{indent}-----\n"
    if head not in function.__doc__:
        later = re.search(rf"\n{indent}(References|Examples)\n", function.__doc__)
        place = later.start() + 1 if later else len(function.__doc__)
        doc = function.__doc__
        function.__doc__ = f"{doc[:place]}{head[1:]}{note}\n\n{doc[place:]}"
        return
    function.__doc__ = function.__doc__.replace(head, f"{head}{note}\n\n", 1)
