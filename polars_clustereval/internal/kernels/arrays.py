"""arrays: the types of numpy arrays.

Docstrings name the axes by their lengths: m points, n others, k clusters, d dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SmallIntegers = NDArray[np.uint8]
Booleans = NDArray[np.bool_]
