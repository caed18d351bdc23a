#!/bin/sh
# `make demo`: the same reports from the command line and from a DuckDB that knows only the bundle.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

echo "Iris: 150 flowers of three species, and what two algorithms found without knowing them."
run clustereval external iris.parquet --label species --cluster kmeans
run clustereval external iris.parquet --label species --cluster agglomerative

echo
echo "Digits: 1,797 scanned digits against ten K-means clusters of their pixels."
run clustereval external digits.parquet --label digit --cluster kmeans

echo
echo "Which k? The same digits clustered 20 times, every run scored in one pass."
run clustereval external digits_runs.parquet --label digit --cluster cluster --partition-by run

echo
echo "How good are clusters where nobody knows the species? The measures of each flower tell."
run clustereval internal iris.parquet --vector sepal_length,sepal_width,petal_length,petal_width \
    --cluster kmeans

echo
echo "How much nearer is a flower to its own cluster than to the next one?"
run clustereval silhouette iris.parquet --vector sepal_length,sepal_width,petal_length,petal_width \
    --cluster kmeans

echo
echo "The labels again, from plain DuckDB, where only the one-file bundle was run:"
printf '\n$ clustereval sql > clustereval.sql\n'
clustereval sql > "$work/clustereval.sql"
printf '$ python plain_duckdb.py clustereval.sql\n'
python plain_duckdb.py "$work/clustereval.sql"
