"""relative: clusterings against each other."""
