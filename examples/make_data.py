"""Make the example data from the sets that scikit-learn ships.

iris.parquet         150 flowers, their species, and the four labelings of iris_labelings.csv
digits.parquet       1,797 handwritten digits, their pixels, and one K-means labeling
digits_runs.parquet  the same digits clustered 20 times: five values of k, four seeds each

The files are committed: K-means may end in another local optimum under another BLAS.
"""

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris

HERE = Path(__file__).parent
MEASUREMENTS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
CLUSTER_COUNTS = (5, 8, 10, 12, 20)
SEEDS = range(4)


def iris() -> pl.DataFrame:
    data = load_iris()
    labelings = pl.read_csv(HERE / "iris_labelings.csv").sort("row")
    if labelings["species"].to_list() != data.target.tolist():
        raise SystemExit("iris_labelings.csv: species differ from scikit-learn's order of rows")
    names = pl.Series("species", data.target_names[data.target].tolist())
    return labelings.select(
        pl.col("row").alias("id"),
        *(pl.Series(name, data.data[:, i]) for i, name in enumerate(MEASUREMENTS)),
        names,
        pl.exclude("row", "species"),
    )


def kmeans_labels(points: np.ndarray, k: int, seed: int, n_init: int) -> pl.Series:
    model = KMeans(k, n_init=n_init, random_state=seed).fit(points)
    return pl.Series(model.labels_, dtype=pl.Int64)


def digits() -> pl.DataFrame:
    data = load_digits()
    return pl.DataFrame(
        {
            "id": pl.Series(range(len(data.target)), dtype=pl.Int64),
            "digit": pl.Series(data.target, dtype=pl.Int64),
            "kmeans": kmeans_labels(data.data, k=10, seed=0, n_init=10),
            "pixels": pl.Series(data.data.astype("uint8"), dtype=pl.Array(pl.UInt8, 64)),
        }
    )


def digits_runs() -> pl.DataFrame:
    data = load_digits()
    digit = pl.DataFrame({"digit": data.target}).with_row_index("id")
    # One start a run, so that the runs of one k differ and can be compared.
    return pl.concat(
        digit.select(
            pl.lit(f"k{k:02}-seed{seed}").alias("run"),
            pl.lit(k, dtype=pl.Int64).alias("k"),
            pl.lit(seed, dtype=pl.Int64).alias("seed"),
            pl.col("id", "digit").cast(pl.Int64),
            kmeans_labels(data.data, k, seed, n_init=1).alias("cluster"),
        )
        for k, seed in product(CLUSTER_COUNTS, SEEDS)
    )


def main() -> None:
    for make in (iris, digits, digits_runs):
        path = HERE / f"{make.__name__}.parquet"
        frame = make()
        frame.write_parquet(path, compression_level=19)
        print(f"{path.name}: {frame.height} rows, {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
