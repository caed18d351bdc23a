"""NumPy computations on contingency tables and graphs."""
