"""How many clusters, and how far to trust a score: sweeps of k on digits and on cars.

Prints the curve of each sweep, what each criterion recommends, the agreement of the digits'
clusters with the true digits with 95 % intervals, and how well repeated runs agree with each other.
Needs nothing but the package: the clusterings are in the Parquet files beside it.
"""

from pathlib import Path

import polars as pl

import polars_clustereval as ce

HERE = Path(__file__).parent
CAR_NUMBERS = ["miles_per_gallon", "displacement", "horsepower", "weight", "acceleration"]
CURVE = ["k", "ssw", "calinski_harabasz_score", "davies_bouldin_score", "silhouette", "is_knee"]


def print_table(title: str, table: pl.DataFrame) -> None:
    """Print a table with numbers of four digits after the point."""
    print(f"\n{title}")
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=120,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        float_precision=4,
        fmt_str_lengths=60,
    ):
        print(table)


def sweep(name: str, vector: list[str] | str) -> None:
    """Print the curve of the clusterings of a data set, and what each criterion makes of it."""
    points = pl.read_parquet(HERE / f"{name}.parquet").drop("cluster", strict=False)
    clusterings = pl.read_parquet(HERE / f"{name}_sweep.parquet")
    rows = clusterings.join(points, on="id")
    curve = ce.elbow(rows, vector, "cluster", "k", silhouette="simplified")
    print_table(f"{name}: one row per number of clusters k", curve.select(CURVE))
    choices = ce.choose_k(curve).select("criterion", "k", "value", "runner_up", "runner_up_value")
    print_table(f"{name}: the k that each criterion recommends; they need not agree", choices)


def trust() -> None:
    """Print how far the scores of the digits can be trusted: intervals, and repeated runs."""
    digits = pl.read_parquet(HERE / "digits.parquet").select("id", "digit")
    labelings = pl.read_parquet(HERE / "digits_sweep.parquet").join(digits, on="id")
    intervals = labelings.filter(pl.col("k").is_in([8, 10, 12])).clustereval.external_intervals(
        "digit", "cluster", partition_by="k"
    )
    shown = intervals.filter(pl.col("metric") == "adjusted_rand_score").drop("metric", "reason")
    print_table("digits: adjusted Rand index with the true digit, 95 % interval", shown)
    runs = pl.read_parquet(HERE / "digits_runs.parquet")
    consensus = ce.run_consensus(runs, "id", "seed", "cluster", partition_by="k")
    print_table(
        "digits: the most central of four runs for each k, by agreement with the other three",
        consensus.filter(pl.col("rank") == 1).select("k", "run", "mean_score", "min_score"),
    )


if __name__ == "__main__":
    sweep("digits", "pixels")
    sweep("cars", CAR_NUMBERS)
    trust()
