"""internal: indices that evaluate clusters by the distances between their points."""
