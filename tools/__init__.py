"""What `make facts` runs: it writes all that repeats the facts of a metric."""
