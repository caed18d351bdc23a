"""The sweep over iris that the tests of relative/choosing_k and relative/gap share."""

from __future__ import annotations

from pathlib import Path

import polars as pl

ROOT = Path(__file__).parent.parent.parent
FLOWER = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def iris_sweep() -> pl.DataFrame:
    """Iris once for each k of iris_sweep.csv: id, the four measures, k and cluster.

    The labels are those of sklearn.cluster.KMeans(k, n_init=50, random_state=0) of scikit-learn
    1.9.1; for k = 7 with n_init=1, the local minimum whose inertia is published.
    """
    flowers = pl.read_parquet(ROOT / "examples" / "iris.parquet").select("id", *FLOWER)
    labels = pl.read_csv(ROOT / "tests" / "support" / "data" / "iris_sweep.csv")
    return pl.concat(
        flowers.with_columns(k=pl.lit(int(name[1:]), pl.Int64), cluster=labels[name])
        for name in labels.columns
    )
