"""relative: comparisons of clusterings with each other, and the reliability of their scores."""
