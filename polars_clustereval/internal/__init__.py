"""internal: points against clusters."""
