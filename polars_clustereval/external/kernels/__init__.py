"""NumPy computations on contingency cells and on graphs."""
