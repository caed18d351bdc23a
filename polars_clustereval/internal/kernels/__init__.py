"""kernels: numpy computations that run block by block and in several threads."""
