"""External reports against the engines' bare GROUP BY and scikit-learn: `python -m benchmarks`."""
