"""Calls of `determinant_report`, the comparison of its indices, and points that two files share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tests.support.determinant_oracle import INDICES, Indices
from tests.support.point_engines import call, call_by_case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tests.support.engines import Engine

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]
    #: Points and their clusters.
    Case = tuple[Any, Sequence[object]]

FUNCTION = "determinant_report"


def column_frame(points: Any, cluster: Any) -> pl.DataFrame:
    """A column for each coordinate."""
    x = np.asarray(points, dtype=float)
    columns = {f"d{i}": x[:, i] for i in range(x.shape[1])}
    clusters = cluster if isinstance(cluster, pl.Series) else pl.Series(list(cluster))
    return pl.DataFrame({**columns, "cluster": clusters})


def coordinate_names(data: pl.DataFrame) -> list[str]:
    return [name for name in data.columns if name.startswith("d")]


def indices_of(engine: Engine, points: Any, cluster: Any, **options: Any) -> Indices:
    data = column_frame(points, cluster)
    [row] = call(engine, FUNCTION, data, coordinate_names(data), **options)
    return tuple(row[name] for name in INDICES)


def indices_by_case(engine: Engine, cases: Mapping[str, Case]) -> dict[str, Indices]:
    """The indices of each case, all with as many coordinates, from one call."""
    frames = [column_frame(points, cluster) for points, cluster in cases.values()]
    several = call_by_case(engine, FUNCTION, frames, coordinate_names(frames[0]))
    return {
        name: tuple(row[index] for index in INDICES)
        for name, [row] in zip(cases, several, strict=True)
    }


def assert_indices(
    found: Sequence[float | None],
    expected: Sequence[float | None],
    rel: float = 1e-12,
    what: object = "",
) -> None:
    assert len(found) == len(expected) == len(INDICES), what
    for name, x, y in zip(INDICES, found, expected, strict=True):
        shown = f"{name} {what}: {found}, expected {expected}"
        if x is None or y is None:
            assert x is y, shown
            continue
        assert type(x) is float, shown
        assert math.isfinite(x), shown
        assert math.isclose(x, y, rel_tol=rel, abs_tol=1e-300), shown


def mixed_blobs(seed: int, n: int, p: int, k: int, spread: float = 1.0) -> tuple[Floats, Whole]:
    """Normal points whose coordinates are mixed by a random matrix."""
    r = np.random.default_rng(seed)
    cluster = r.integers(0, k, n)
    mixed = r.normal(size=(n, p)) @ r.normal(size=(p, p))
    return mixed + spread * r.normal(size=(k, p))[cluster], cluster
