"""base: checks of arguments, exact arithmetic and joins, for all other modules."""
