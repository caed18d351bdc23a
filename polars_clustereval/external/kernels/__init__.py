"""kernels: computations on contingency cells in numpy."""
