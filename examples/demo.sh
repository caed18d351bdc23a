#!/bin/sh
# `make demo`: what the command line says of real clusterings, and the same in plain DuckDB.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
page=../build/report_digits.md
mkdir -p ../build

# Print a command as it would be typed, then run it.
run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

# Print a command with `head` behind it, then run both.
run_first() {
    lines=$1
    shift
    printf '\n$ %s | head -n %s\n' "$*" "$lines"
    "$@" | head -n "$lines"
}

echo "150 flowers: how well do K-means clusters agree with their species?"
run clustereval external iris.parquet --label species --cluster kmeans

echo
echo "1,797 handwritten digits, clustered 20 times: which runs are best? All are scored at once."
run_first 11 clustereval external digits_runs.parquet --label digit --cluster cluster --partition-by run \
    --metrics n_clusters,adjusted_rand_score,adjusted_mutual_info_score,homogeneity_score

echo
echo "No labels? The points alone tell how compact and how far apart the clusters are."
run clustereval silhouette iris.parquet --vector petal_length,petal_width --cluster kmeans \
    --metrics silhouette,silhouette_macro,silhouette_max

echo
echo "Plain DuckDB gives the same numbers, with the SQL file of all macros and without Python's package."
printf '\n$ clustereval sql > clustereval.sql\n'
clustereval sql > "$work/clustereval.sql"
printf '$ python plain_duckdb.py clustereval.sql\n'
python plain_duckdb.py "$work/clustereval.sql"

echo
echo "Which clusters are bad, and why? Findings, and a page for a colleague."
run clustereval findings digits.parquet --label digit --cluster kmeans
run clustereval report digits.parquet --label digit --cluster kmeans --vector pixels --output "$page"

echo
echo "The page is in build/report_digits.md; with the extra \"plot\", --html report.html has pictures."
echo "The commands are in $(dirname "$(command -v clustereval)")."
