"""Metrics that compare clusters with labels."""
