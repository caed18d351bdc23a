"""Evaluation of the example data with DuckDB and the SQL file of all macros, without the package.

Usage: clustereval sql > clustereval.sql && python plain_duckdb.py clustereval.sql
"""

import sys
from pathlib import Path

import duckdb

HERE = Path(__file__).parent

BOTH_CLUSTERINGS = """
WITH long AS (
    UNPIVOT iris ON kmeans, agglomerative INTO NAME algorithm VALUE cluster
)
SELECT
    algorithm,
    round(clustereval.rand_score(species, cluster), 6) AS rand,
    round(clustereval.adjusted_rand_score(species, cluster), 6) AS adjusted_rand,
    round(clustereval.adjusted_mutual_info_score(species, cluster), 6) AS adjusted_mi,
    round(clustereval.fowlkes_mallows_score(species, cluster), 6) AS fowlkes_mallows
FROM long
GROUP BY algorithm
ORDER BY algorithm DESC
"""

DIGITS_BY_CLUSTER = """
SELECT cluster, n, n_labels, majority_label, round(purity, 3) AS purity
FROM clustereval.external_cluster_report(digits, digit, kmeans)
ORDER BY purity
LIMIT 5
"""


def main(bundle: Path) -> None:
    """Print two evaluations of the example data; `bundle` is the SQL file of all macros."""
    con = duckdb.connect()
    con.execute(bundle.read_text(encoding="utf-8"))
    for name in ("iris", "digits"):
        con.read_parquet(str(HERE / f"{name}.parquet")).create_view(name)
    for title, query in (
        ("Iris: two clusterings in one GROUP BY", BOTH_CLUSTERINGS),
        ("Digits: the clusters that mix the most digits", DIGITS_BY_CLUSTER),
    ):
        print(f"\n{title}")
        con.sql(query).show()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
