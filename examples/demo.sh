#!/bin/sh
# `make demo`: reports from the command line, then from plain DuckDB with the SQL file of all macros.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Print a command as it would be typed, then run it.
run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

echo "Iris: 150 flowers, their species against the clusters of two algorithms."
run clustereval external iris.parquet --label species --cluster kmeans
run clustereval external iris.parquet --label species --cluster agglomerative

echo
echo "Digits: 1,797 handwritten digits against ten K-means clusters of their pixels."
run clustereval external digits.parquet --label digit --cluster kmeans

echo
echo "Many runs: the same digits clustered 20 times, all runs scored in one pass."
run clustereval external digits_runs.parquet --label digit --cluster cluster --partition-by run

echo
echo "Without labels: internal indices of the flowers, from their measurements."
run clustereval internal iris.parquet --vector sepal_length,sepal_width,petal_length,petal_width \
    --cluster kmeans

echo
echo "Silhouettes: the distance of each flower to its own cluster and to the nearest other one."
run clustereval silhouette iris.parquet --vector sepal_length,sepal_width,petal_length,petal_width \
    --cluster kmeans

echo
echo "Plain DuckDB: the labels again, with the SQL file of all macros and without the package."
printf '\n$ clustereval sql > clustereval.sql\n'
clustereval sql > "$work/clustereval.sql"
printf '$ python plain_duckdb.py clustereval.sql\n'
python plain_duckdb.py "$work/clustereval.sql"

echo
echo "The commands are in $(dirname "$(command -v clustereval)")."
