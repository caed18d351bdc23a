"""kernels: computations in numpy, in blocks and in threads."""
