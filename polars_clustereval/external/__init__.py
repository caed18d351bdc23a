"""external: metrics that compare clusters with labels."""
