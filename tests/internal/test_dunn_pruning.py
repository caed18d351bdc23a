"""Diameters and separations whose pair is not measured first, and is nearly ruled out.

First estimates come from the outermost points of a cluster and from the points between two centers;
the triangle inequality rules out the rest. On random points the first estimates are mostly final,
so that ruling out too much would not be seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist, pdist

from polars_clustereval.internal.distances import Distance
from polars_clustereval.internal.kernels import extreme_pairs
from polars_clustereval.internal.kernels.cell_grids import CellGrid
from polars_clustereval.internal.kernels.partitions import Partition
from tests.support.point_engines import call_by_case

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.support.engines import Engine

    Floats = NDArray[np.float64]

pytestmark = pytest.mark.gate

EUCLIDEAN = extreme_pairs.Metric(Distance("euclidean", 2.0))
ROOT = np.sqrt(3.0)
# Three corners at distance 1 from their mean, and root 3 from each other.
CORNERS = np.array([[1.0, 0.0, 0.0], [-0.5, ROOT / 2, 0.0], [-0.5, -ROOT / 2, 0.0]])


def corners() -> Floats:
    """Forty points at each corner, so that the 64 outermost points are among these."""
    inward = 1 - 1e-6 * np.arange(40)
    return np.concatenate([corner * inward[:, None] for corner in CORNERS])


def diameter_shapes() -> dict[str, Floats]:
    """Clusters whose two farthest points are on opposite sides of the mean, inside of the corners.

    In the second shape, one of the two is at a corner that is not the very outermost point.
    """
    across = 0.8680 * np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    opposite = 0.7340 * CORNERS[[1, 2]] * [[-1.0], [1.0]]
    balanced = np.concatenate([opposite, -opposite])
    return {
        "across": np.concatenate([corners(), across]),
        "opposite a corner": np.concatenate([corners() * [1 + 1e-7, 1, 1], balanced]),
    }


@pytest.mark.parametrize("distance", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("shape", diameter_shapes())
def test_a_diameter_between_points_that_are_not_outermost(
    engine: Engine, shape: str, distance: str
) -> None:
    x = diameter_shapes()[shape]
    wanted = pdist(x, distance).max()
    outermost = x[np.argsort(-np.linalg.norm(x, axis=1))[:64]]
    first = max(pdist(outermost, distance).max(), cdist(x, outermost[:1], distance).max())
    assert first < wanted * (1 - 1e-4), "the pair is not measured first"
    assert wanted < first * 1.01, "the pair is nearly ruled out"
    frame = pl.DataFrame({"vector": x.tolist(), "cluster": 0})
    [[row]] = call_by_case(engine, "cluster_diameters", [frame], distance=distance)
    assert row["diameter"] == pytest.approx(wanted, rel=1e-12)


def rows_of_points(offset: float, ends: list[list[float]]) -> Floats:
    """Points along the first axis at this height, few to a cell of the grid, and others before."""
    along = np.arange(-500.0, 501.0)
    points = np.zeros((len(along), 4))
    points[:, 0], points[:, 1] = along, offset
    return np.concatenate([ends, points])


def separated(direction: Floats, turn: Floats) -> Partition:
    """Two rows of points at distance 1, and far from their middle a pair at distance 0.99.

    With the direction -1 along the rows, one of the pair is the outermost point of its cluster and
    the other beyond it, in line with the center: it is nearest of all to the limit from which on
    points are not compared. With the two corners, the pair is on both sides of a cell's border.
    """
    ends = [[-520.0, 0.0, 0.0, 0.0], [520.0, 0.0, 0.0, 0.0]]
    # Less along the direction: it is the last axis of the grid, whose cells are consecutive.
    corner = np.where(direction != 0, 1.5, [510.0, 2.5, 2.5, 2.5])
    corner[0] = 510.0
    first = rows_of_points(0.0, [*ends, (-corner).tolist(), corner.tolist()])
    second = rows_of_points(1.0, [(ends[0] + 0.99 * direction).tolist(), [525.0, 0.0, 0.0, 0.0]])
    starts = np.cumsum([0, len(first), len(second)])
    return Partition(pl.DataFrame(), np.concatenate([first, second]) @ turn, starts)


# The pair in line with an axis of the grid, and with none: then its points are in cells that differ
# along several axes, in either direction.
UNIT = np.eye(4)
SEPARATED = {
    **{f"along axis {i}": separated(-UNIT[0], np.roll(UNIT, i, axis=1)) for i in range(4)},
    **{
        f"across, {sign * i}": separated(sign * UNIT[i], UNIT)
        for i in range(1, 4)
        for sign in (-1, 1)
    },
    **{
        f"askew {seed}": separated(
            -UNIT[0], np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
        )
        for seed in range(12)
    },
}


def test_a_separation_between_points_far_from_the_middle(engine: Engine) -> None:
    frames = [
        pl.DataFrame({"vector": part.x.tolist(), "cluster": part.numbers})
        for part in SEPARATED.values()
    ]
    several = call_by_case(engine, "dunn_index", frames, generalized=False)
    for name, [row] in zip(SEPARATED, several, strict=True):
        assert row["min_separation"] == pytest.approx(0.99, rel=1e-9), name


@pytest.mark.parametrize("name", ["along axis 0", "across, 3", "askew 0"])
def test_the_pair_is_not_the_first_estimate(name: str) -> None:
    """The shapes are what they are meant to be."""
    part = SEPARATED[name]
    balls = extreme_pairs.bounding_balls(part, EUCLIDEAN)
    assert extreme_pairs._separation_bound(part, balls, EUCLIDEAN) == pytest.approx(1.0)
    border = extreme_pairs._flag_border_points(part, balls, EUCLIDEAN, 1.0)
    assert border[[0, part.starts[1]]].all()
    assert border.sum() > extreme_pairs._MAX_POINTS_WITHOUT_GRID
    x = part.x[border]
    grid = CellGrid.within_reach(x, 1.0, x.std(axis=0))
    assert grid.approximate_steps < border.sum() ** 2 / 16, "the grid is used"
