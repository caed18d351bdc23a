"""relative: comparisons between clusterings, and estimates of how reliable a score is."""
