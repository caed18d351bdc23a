"""base: argument checks, exact arithmetic and joins that all other modules use."""
