"""relative: clusterings against each other, and how far their scores can be trusted."""
