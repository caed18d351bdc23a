"""kernels: computations in numpy, on contingency cells."""
