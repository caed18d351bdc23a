"""arrays: the types of numpy arrays.

Docstrings name the axes by their lengths: (m, d) is an array of m points of d dimensions, (k, d)
one row per cluster for k clusters, and (m, n) a matrix of m points against n others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SmallIntegers = NDArray[np.uint8]
Booleans = NDArray[np.bool_]
