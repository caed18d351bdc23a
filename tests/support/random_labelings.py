"""Random labelings of every shape, as contingency cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Cells = list[tuple[int, int, int]]

SHAPES = ("independent", "noisy copy", "zipf", "one large", "near singletons", "refined", "few")


def labeling(seed: int, largest: int) -> Cells:
    """The cells of labeling `seed`: shapes take turns, n is log-uniform from 2 to `largest`."""
    rng = np.random.default_rng(seed)
    n = int(np.exp(rng.uniform(np.log(2), np.log(largest + 1))))
    label, cluster = draw(SHAPES[seed % len(SHAPES)], n, rng)
    pairs, counts = np.unique(np.stack([label, cluster], axis=1), axis=0, return_counts=True)
    return [(int(u), int(v), int(m)) for (u, v), m in zip(pairs, counts, strict=True)]


def draw(shape: str, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    k, j = (int(np.exp(rng.uniform(0, np.log(min(n, 1000))))) + 1 for _ in range(2))
    label = rng.integers(0, k, n)
    match shape:
        case "independent":
            return label, rng.integers(0, j, n)
        case "noisy copy":
            return label, np.where(rng.random(n) < rng.random(), label, rng.integers(0, j, n))
        case "zipf":
            return rng.zipf(1.5, n) % 50, rng.zipf(2.5, n) % 50
        case "one large":
            odd = int(rng.integers(0, n))
            return np.eye(1, n, odd, dtype=np.int64)[0], np.eye(1, n, n - 1, dtype=np.int64)[0]
        case "near singletons":
            some = min(n, 20_000)
            few = rng.permutation(some)
            return np.minimum(np.arange(some), some - 2), np.minimum(few, some - 2)
        case "refined":
            return label, label * 3 + rng.integers(0, 3, n)
        case _:
            return rng.integers(0, 2, n), rng.integers(0, 3, n)
