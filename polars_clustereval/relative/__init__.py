"""Relative indices: clusterings against each other."""
