"""Timed jobs. A job opens its input and returns the function to time, which returns the answers.

`python -m benchmarks.jobs NAME FILE` measures one job and prints the measurement as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

import polars_clustereval as ce
from benchmarks import linked_jobs
from benchmarks.cases import (
    CLUSTER_TABLES,
    MEMORY_LIMIT,
    PARTITION_TABLES,
    POINT_RUN_ROWS,
    RUN_ROWS,
    SCALED_ROWS,
    SKLEARN_PAIRS,
    SKLEARN_POINT_RUNS,
    SKLEARN_RUNS,
)
from benchmarks.data import base_path
from polars_clustereval.internal.kernels import measured_pairs
from polars_clustereval.macros import register

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.answers import Answers, Run

#: Shorter calls are repeated for this long, so that the median excludes what an engine does once
#: per process, such as starting its threads.
MIN_SECONDS = 1.0
#: Calls of each job, unless they take longer than MAX_SECONDS in total.
MIN_CALLS, MAX_SECONDS = 3, 10.0


def _prepare_duckdb(query: str, path: str, memory_limit: str | None = None) -> Run:
    """Return a function that runs the query in DuckDB, where `assignments` is the Parquet file.

    Beyond the memory limit, such as '1GB', DuckDB writes to a folder beside the file.
    """
    con = duckdb.connect()
    register(con)
    if memory_limit is not None:
        con.execute(f"SET memory_limit = '{memory_limit}'")
        con.execute(f"SET temp_directory = '{path}.spilled'")
    con.read_parquet(path).create_view("assignments")

    def run() -> Answers:
        """Run the query, and return its columns by name."""
        result = con.execute(query)
        names = [column[0] for column in result.description or ()]
        return dict(zip(names, zip(*result.fetchall(), strict=True), strict=True))

    return run


def _prepare_duckdb_bare(keys: str, path: str, memory_limit: str | None = None) -> Run:
    """Return a function that runs DuckDB's bare GROUP BY on a Parquet file.

    `keys` are the columns, separated by commas; the memory limit is as in _prepare_duckdb. The
    answers are the numbers of rows and of joined pairs: ordered pairs of rows with the same keys.
    """
    # Groups are summed, not returned: the cheapest use of a GROUP BY.
    return _prepare_duckdb(
        f"""
        SELECT CAST(sum(n) AS BIGINT) AS rows, CAST(sum(n * (n - 1)) AS BIGINT) AS joined_pairs
        FROM (SELECT count(*) AS n FROM assignments GROUP BY {keys})
        """,
        path,
        memory_limit,
    )


def _prepare_duckdb_weighted(path: str) -> Run:
    """Return a function that runs external_report in DuckDB on rows with weights.

    They lie beside the Parquet file at `path`, which has each of them as often as its weight says.
    """
    return _prepare_duckdb(REPORT.format(options=", weight := n"), base_path(path), MEMORY_LIMIT)


def _prepare_polars(frame: Callable[[pl.LazyFrame], pl.LazyFrame], path: str) -> Run:
    """Return a function that collects frame(rows), where rows scans the Parquet file at `path`."""

    def run() -> Answers:
        """Collect the frame as a stream, and return its columns by name."""
        return frame(pl.scan_parquet(path)).collect(engine="streaming").to_dict(as_series=False)

    return run


def _count_groups(keys: list[str], rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return Polars' bare group_by of these columns: its numbers of rows and of joined pairs.

    Joined pairs are ordered pairs of rows with the same keys.
    """
    n = pl.col("n")
    groups = rows.group_by(keys).agg(pl.len().cast(pl.Int64).alias("n"))
    return groups.select(n.sum().alias("rows"), (n * (n - 1)).sum().alias("joined_pairs"))


def _build_report(rows: pl.LazyFrame, **options: Any) -> pl.LazyFrame:
    """Return external_report of the columns label and cluster, with its options."""
    return ce.external_report(rows, "label", "cluster", **options)


def _build_resolution(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return entity_resolution_report of the columns label and cluster."""
    return ce.entity_resolution_report(rows, "label", "cluster")


def _build_matching(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return matching_report of the columns label and cluster."""
    return ce.matching_report(rows, "label", "cluster")


def _build_report_ami(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return external_report with its column of adjusted mutual information alone."""
    return _build_report(rows).select("adjusted_mutual_info_score")


def _build_ami(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the adjusted mutual information of the rows, by the expression for it alone."""
    score = ce.adjusted_mutual_info_score("label", "cluster")
    return rows.select(score.alias("adjusted_mutual_info_score"))


def _list_values(metrics: Sequence[str], **columns: Sequence[Any]) -> Answers:
    """Return the values of a long table by metric; `columns` are its columns by their suffix."""
    return {
        f"{metric}{suffix}": [value]
        for suffix, values in columns.items()
        for metric, value in zip(metrics, values, strict=True)
    }


def _prepare_duckdb_intervals(path: str) -> Run:
    """Return a function that computes external_intervals without adjusted scores in DuckDB."""
    run_query = _prepare_duckdb(
        "FROM clustereval.external_intervals(assignments, label, cluster, adjusted := false)", path
    )

    def run() -> Answers:
        """Run the query, and return the value and the standard error of each metric."""
        table = run_query()
        columns = {"": table["value"], "_error": table["std_error"]}
        return _list_values(table["metric"], **columns)

    return run


def _prepare_polars_intervals(path: str) -> Run:
    """Return a function that computes external_intervals without adjusted scores in Polars."""

    def run() -> Answers:
        """Collect the table, and return the value and the standard error of each metric."""
        rows = pl.scan_parquet(path)
        lazy = ce.external_intervals(rows, "label", "cluster", adjusted=False)
        table = lazy.collect(engine="streaming").to_dict(as_series=False)
        columns = {"": table["value"], "_error": table["std_error"]}
        return _list_values(table["metric"], **columns)

    return run


def _prepare_polars_bootstrap(path: str) -> Run:
    """Return a function that computes bootstrap_intervals without adjusted scores."""

    def run() -> Answers:
        """Compute the table, and return the value of each metric: the samples are random."""
        rows = pl.scan_parquet(path)
        lazy = ce.bootstrap_intervals(rows, "label", "cluster", adjusted=False)
        table = lazy.collect().to_dict(as_series=False)
        return _list_values(table["metric"], **{"": table["value"]})

    return run


def _list_coordinates(path: str) -> list[str]:
    """Return the names of the columns of a Parquet file of points that hold coordinates."""
    names = pl.scan_parquet(path).collect_schema().names()
    return [name for name in names if name not in ("run", "cluster")]


def _prepare_duckdb_internal(what: str, source: str, path: str) -> Run:
    """Return a function that runs internal_report in DuckDB.

    `what` are the columns, separated by commas, or "*". `source` is "memory" for points read
    before, "file" for the Parquet file, or "runs" for its runs evaluated separately.
    """
    con = duckdb.connect()
    register(con)
    kind = "TABLE" if source == "memory" else "VIEW"
    con.execute(f"CREATE {kind} points AS FROM '{path}'")
    columns = _list_coordinates(path)
    vector = columns[0] if columns == ["vector"] else f"[{', '.join(columns)}]"
    by = ", partition_by := run" if source == "runs" else ""

    def run() -> Answers:
        """Run the report, and return its columns by name."""
        query = f"SELECT {what} FROM clustereval.internal_report(points, {vector}, cluster{by})"
        return con.sql(query).pl().to_dict(as_series=False)

    return run


def _prepare_polars_internal(what: str, source: str, path: str) -> Run:
    """Return a function that runs internal_report in Polars; see _prepare_duckdb_internal.

    `what` are the columns, separated by commas, or "*". `source` is "memory" for points read
    before, "file" for the Parquet file, or "runs" for its runs evaluated separately.
    """
    rows = pl.read_parquet(path).lazy() if source == "memory" else pl.scan_parquet(path)
    columns = _list_coordinates(path)
    vector = columns[0] if columns == ["vector"] else columns
    by = "run" if source == "runs" else None
    chosen = pl.all() if what == "*" else pl.col(what.split(", "))

    def run() -> Answers:
        """Run the report, and return its columns by name."""
        report = ce.internal_report(rows, vector, "cluster", partition_by=by).select(chosen)
        return report.collect(engine="streaming").to_dict(as_series=False)

    return run


def _prepare_duckdb_sums(path: str) -> Run:
    """Return a function that sums the coordinates by cluster in DuckDB, twice.

    Twice, because internal_report reads the points twice. The answers are the number of rows, n,
    and the sum of each coordinate over all clusters.
    """
    columns = _list_coordinates(path)
    sums = ", ".join(f"sum({name}) AS {name}" for name in columns)
    once = _prepare_duckdb(
        f"SELECT cluster, {sums}, count(*) AS rows FROM assignments GROUP BY ALL", path
    )

    def run() -> Answers:
        """Compute the sums twice, and return those of the second time."""
        once()
        found = once()
        return {"n": [sum(found["rows"])], "sums": [sum(found[name]) for name in columns]}

    return run


def _prepare_polars_sums(path: str) -> Run:
    """Return a function that sums the coordinates by cluster in Polars, twice.

    Twice, because internal_report reads the points twice. The answers are the number of rows, n,
    and the sum of each coordinate over all clusters.
    """
    columns = _list_coordinates(path)
    rows = pl.scan_parquet(path).group_by("cluster")
    sums = rows.agg(pl.col(columns).sum(), rows=pl.len())

    def run() -> Answers:
        """Compute the sums twice, and return those of the second time."""
        sums.collect(engine="streaming")
        found = sums.collect(engine="streaming")
        return {"n": [found["rows"].sum()], "sums": list(found.select(columns).sum().row(0))}

    return run


def _prepare_sklearn_internal(path: str) -> Run:
    """Return a function that computes POINT_METRICS of the points in scikit-learn."""
    from sklearn import metrics

    rows = pl.read_parquet(path)
    points, cluster = _get_matrix(rows), rows["cluster"].to_numpy()
    return lambda: {name: [getattr(metrics, name)(points, cluster)] for name in POINT_METRICS}


def _prepare_sklearn_point_runs(path: str) -> Run:
    """Return a function that computes POINT_METRICS of each of the first runs in scikit-learn.

    SKLEARN_POINT_RUNS runs of POINT_RUN_ROWS points are evaluated in a loop.
    """
    from sklearn import metrics

    rows = pl.read_parquet(path, n_rows=SKLEARN_POINT_RUNS * POINT_RUN_ROWS)
    points = _get_matrix(rows).reshape(SKLEARN_POINT_RUNS, POINT_RUN_ROWS, -1)
    clusters = rows["cluster"].to_numpy().reshape(SKLEARN_POINT_RUNS, POINT_RUN_ROWS)

    def run() -> Answers:
        """Return the metrics by name, one value per run."""
        pairs = list(zip(points, clusters, strict=True))
        return {name: [getattr(metrics, name)(*pair) for pair in pairs] for name in POINT_METRICS}

    return run


#: Columns of elbow that a loop over scikit-learn's functions has too.
SWEEP_COLUMNS = ("ssw", "calinski_harabasz_score", "davies_bouldin_score")


def _prepare_duckdb_sweep(path: str) -> Run:
    """Return a function that runs elbow in DuckDB on points that are read before."""
    con = duckdb.connect()
    register(con)
    con.execute(f"CREATE TABLE points AS FROM '{path}'")
    columns = [name for name in pl.read_parquet_schema(path) if name.startswith("x_")]
    query = f"FROM clustereval.elbow(points, [{', '.join(columns)}], cluster, k)"
    return lambda: con.sql(query).pl().select(SWEEP_COLUMNS).to_dict(as_series=False)


def _prepare_polars_sweep(path: str) -> Run:
    """Return a function that runs elbow in Polars on points that are read before."""
    rows = pl.read_parquet(path).rechunk()
    columns = [name for name in rows.columns if name.startswith("x_")]

    def run() -> Answers:
        """Return the metrics by name, one value per k."""
        curve = ce.elbow(rows, columns, "cluster", "k")
        return curve.select(SWEEP_COLUMNS).to_dict(as_series=False)

    return run


def _prepare_sklearn_sweep(path: str) -> Run:
    """Return a function that computes SWEEP_COLUMNS for each k, in a loop, by scikit-learn.

    It has no function for the inertia of given clusters, which numpy computes here.
    """
    import numpy as np
    from sklearn import metrics

    parts = pl.read_parquet(path).partition_by("k", maintain_order=True)
    points = parts[0].drop("k", "cluster").to_numpy(order="c")
    clusterings = [part["cluster"].to_numpy() for part in parts]

    def inertia(clusters: Any) -> float:
        """Return the sum of squared distances to the centers."""
        centers = np.array([points[clusters == i].mean(0) for i in range(clusters.max() + 1)])
        return float(((points - centers[clusters]) ** 2).sum())

    def run() -> Answers:
        """Return the metrics by name, one value per k."""
        found: dict[str, list[float]] = {"ssw": [inertia(clusters) for clusters in clusterings]}
        for name in SWEEP_COLUMNS[1:]:
            metric = getattr(metrics, name)
            found[name] = [metric(points, clusters) for clusters in clusterings]
        return found

    return run


def _prepare_duckdb_assign(path: str) -> Run:
    """Return a function that runs assign_nearest in DuckDB on points that are read before."""
    con = duckdb.connect()
    register(con)
    con.execute(f"CREATE TABLE points AS FROM '{path}'")
    vector = f"[{', '.join(_list_coordinates(path))}]"
    con.execute(f"CREATE TABLE centers AS FROM clustereval.centroids(points, {vector}, cluster)")
    query = f"""
        SELECT cluster, count(*) AS points, sum(distance) AS distances
        FROM clustereval.assign_nearest(points, {vector}, centers)
        GROUP BY cluster ORDER BY cluster
    """
    return lambda: con.sql(query).pl().drop("cluster").to_dict(as_series=False)


def _prepare_polars_assign(path: str) -> Run:
    """Return a function that runs assign_nearest in Polars on points that are read before."""
    rows = pl.read_parquet(path).rechunk()
    columns = _list_coordinates(path)
    centers = ce.centroids(rows, columns, "cluster")
    totals = {"points": pl.len().cast(pl.Int64), "distances": pl.col("distance").sum()}

    def run() -> Answers:
        """Return the points and the sum of their distances by cluster."""
        assigned = ce.assign_nearest(rows, columns, centers)
        return (
            assigned.group_by("cluster")
            .agg(**totals)
            .sort("cluster")
            .drop("cluster")
            .to_dict(as_series=False)
        )

    return run


def _prepare_sklearn_assign(path: str) -> Run:
    """Return a function that finds the nearest centers by scikit-learn."""
    import numpy as np
    from sklearn.metrics import pairwise_distances_argmin_min

    rows, columns = pl.read_parquet(path), _list_coordinates(path)
    points = rows.select(columns).to_numpy(order="c")
    centers = np.array(ce.centroids(rows, columns, "cluster")["centroid"].to_list())

    def run() -> Answers:
        """Return the points and the sum of their distances by cluster."""
        nearest, distances = pairwise_distances_argmin_min(points, centers)
        counts = np.bincount(nearest, minlength=len(centers))
        sums = np.bincount(nearest, weights=distances, minlength=len(centers))
        return {"points": counts.tolist(), "distances": sums.tolist()}

    return run


def _prepare_duckdb_neighbors(path: str) -> Run:
    """Return a function that runs neighbor_report in DuckDB on points that are read before."""
    con = duckdb.connect()
    register(con)
    con.execute(f"CREATE TABLE points AS FROM '{path}'")
    vector = f"[{', '.join(_list_coordinates(path))}]"
    query = f"FROM clustereval.neighbor_report(points, {vector}, cluster)"
    return lambda: con.sql(query).pl().select("wemmert_gancarski_index").to_dict(as_series=False)


def _prepare_polars_neighbors(path: str) -> Run:
    """Return a function that runs neighbor_report in Polars on points that are read before."""
    rows, columns = pl.read_parquet(path).rechunk(), _list_coordinates(path)

    def run() -> Answers:
        """Return the index of Wemmert and Gancarski; the others are computed too."""
        report = ce.neighbor_report(rows, columns, "cluster")
        return report.select("wemmert_gancarski_index").to_dict(as_series=False)

    return run


def _prepare_numpy_neighbors(path: str) -> Run:
    """Return a function that finds the two nearest centers by products of matrices, in blocks."""
    import numpy as np

    rows, step = pl.read_parquet(path), 10_000
    points = rows.select(_list_coordinates(path)).to_numpy(order="c")
    clusters = rows["cluster"].to_numpy()

    def run() -> Answers:
        """Return the index of Wemmert and Gancarski."""
        sizes = np.bincount(clusters)
        sums = [np.bincount(clusters, weights=x) for x in points.T]
        centers = np.column_stack(sums) / sizes[:, None]
        square_norms, terms = (centers * centers).sum(axis=1), np.zeros(len(centers))
        for start in range(0, len(points), step):
            x, own = points[start : start + step], clusters[start : start + step]
            squares = (x * x).sum(axis=1)[:, None] + square_norms - 2 * x @ centers.T
            distances = np.sqrt(np.maximum(squares, 0))
            to_own = distances[np.arange(len(x)), own]
            nearest = np.partition(distances, 1, axis=1)[:, :2]
            to_other = np.where(nearest[:, 0] < to_own, nearest[:, 0], nearest[:, 1])
            terms += np.bincount(own, weights=1 - to_own / to_other, minlength=len(centers))
        return {"wemmert_gancarski_index": [float(np.maximum(terms, 0).sum() / len(points))]}

    return run


def _get_matrix(rows: pl.DataFrame) -> Any:
    """Return the points of the rows as a numpy matrix, one point per row."""
    if "vector" in rows.columns:
        width = rows["vector"].list.len()[0]
        return rows["vector"].list.to_array(width).to_numpy()
    return rows.drop("run", "cluster").to_numpy(order="c")


def _prepare_duckdb_silhouette(options: str, path: str) -> Run:
    """Return a function that runs silhouette_score in DuckDB.

    `options` is the SQL of its options, such as method := 'bounds': then the points stay in the
    Parquet file, otherwise they are read before. For bounds and cityblock the memory is limited.
    """
    con = duckdb.connect()
    register(con)
    columns = ", ".join(_list_coordinates(path))
    limit = {"method := 'bounds'": "1500MB", "distance := 'cityblock'": "3GB"}.get(options)
    if limit is not None:
        # DuckDB spills to disk beyond this limit.
        con.execute(f"SET memory_limit = '{limit}'; SET temp_directory = '{path}.spilled'")
    con.execute(f"CREATE {'VIEW' if 'bounds' in options else 'TABLE'} points AS FROM '{path}'")
    query = f"FROM clustereval.silhouette_score(points, [{columns}], cluster, {options})"
    return lambda: con.sql(query).pl().drop("partition_key").to_dict(as_series=False)


def _prepare_polars_silhouette(options: dict[str, str], path: str) -> Run:
    """Return a function that runs silhouette_score with these options in Polars.

    With the option method the points are scanned in the Parquet file, otherwise they are read
    before.
    """
    bounds = "method" in options
    rows = pl.scan_parquet(path) if bounds else pl.read_parquet(path).lazy()
    columns = _list_coordinates(path)

    def run() -> Answers:
        """Compute the score, and return its columns by name."""
        score = ce.silhouette_score(rows, columns, "cluster", **options)
        return score.collect(engine="streaming").to_dict(as_series=False)

    return run


DUNN_COLUMNS = ["dunn_index", "max_diameter", "min_separation"]


def _prepare_duckdb_dunn(path: str) -> Run:
    """Return a function that computes DUNN_COLUMNS in DuckDB, of points that are read before."""
    con = duckdb.connect()
    register(con)
    con.execute(f"CREATE TABLE points AS FROM '{path}'")
    call = f"dunn_index(points, [{', '.join(_list_coordinates(path))}], cluster)"
    query = f"SELECT {', '.join(DUNN_COLUMNS)} FROM clustereval.{call}"
    return lambda: con.sql(query).pl().to_dict(as_series=False)


def _prepare_polars_dunn(path: str) -> Run:
    """Return a function that computes DUNN_COLUMNS in Polars, of points that are read before."""
    rows, columns = pl.read_parquet(path).lazy(), _list_coordinates(path)

    def run() -> Answers:
        """Compute the index, and return DUNN_COLUMNS by name."""
        index = ce.dunn_index(rows, columns, "cluster").select(DUNN_COLUMNS)
        return index.collect(engine="streaming").to_dict(as_series=False)

    return run


def _prepare_scipy_dunn(path: str) -> Run:
    """Return a function that computes DUNN_COLUMNS from all distances, by scipy's cdist."""
    import numpy as np
    from scipy.spatial.distance import cdist

    rows = pl.read_parquet(path).sort("cluster")
    clusters = [_get_matrix(part) for part in rows.partition_by("cluster")]
    step = 1000

    def run() -> Answers:
        """Compute the distances a block at a time, and return DUNN_COLUMNS by name."""
        diameter, separation = 0.0, np.inf
        for i, one in enumerate(clusters):
            for start in range(0, len(one), step):
                block = one[start : start + step]
                diameter = max(diameter, cdist(block, one[start:]).max())
                for other in clusters[i + 1 :]:
                    separation = min(separation, cdist(block, other).min())
        return dict(
            zip(DUNN_COLUMNS, ([separation / diameter], [diameter], [separation]), strict=True)
        )

    return run


def _prepare_duckdb_table(table: str, groups: str, path: str) -> Run:
    """Return a function that computes a table in DuckDB, of points that are read before.

    `groups` is "partitions" to evaluate the runs separately, otherwise "clusters".
    """
    con = duckdb.connect()
    register(con)
    con.execute(f"CREATE TABLE points AS FROM '{path}'")
    by_run = ", partition_by := run" if groups == "partitions" else ""
    columns = ", ".join(_list_coordinates(path))
    query = f"FROM clustereval.{table}(points, [{columns}], cluster{by_run})"
    return lambda: _list_numbers(con.sql(query).pl())


def _prepare_polars_table(table: str, groups: str, path: str) -> Run:
    """Return a function that computes a table in Polars, as _prepare_duckdb_table in DuckDB."""
    rows, columns = pl.read_parquet(path), _list_coordinates(path)
    by_run = "run" if groups == "partitions" else None
    evaluate = getattr(ce, table)
    return lambda: _list_numbers(evaluate(rows, columns, "cluster", partition_by=by_run))


def _list_numbers(table: pl.DataFrame) -> Answers:
    """Return the columns of numbers by name, without that of the partition.

    The generalized Dunn indices, which some revisions compute by default, are left out.
    """
    keys = pl.selectors.by_name(*KEYS, require_all=False)
    numbers = table.select(pl.selectors.numeric() - keys - pl.selectors.starts_with("gdi_"))
    return numbers.cast({pl.Decimal: pl.Float64}).to_dict(as_series=False)


def _prepare_sklearn_silhouette(distance: str, path: str) -> Run:
    """Return a function that computes scikit-learn's silhouette_score with this distance."""
    from sklearn.metrics import silhouette_score

    rows = pl.read_parquet(path)
    points, cluster = _get_matrix(rows), rows["cluster"].to_numpy()
    return lambda: {"silhouette": [silhouette_score(points, cluster, metric=distance)]}


def _prepare_sklearn_scaled(path: str) -> Run:
    """Return a function that computes scikit-learn's cityblock silhouettes of SCALED_ROWS points.

    Its time is scaled to all points (Job.scale); the answer is the number of all points, n.
    """
    from sklearn.metrics import silhouette_samples

    rows = pl.read_parquet(path)
    sample = rows.head(SCALED_ROWS)
    points, cluster = _get_matrix(sample), sample["cluster"].to_numpy()

    def run() -> Answers:
        """Compute the silhouettes of the first points, and return the number of all points, n."""
        silhouette_samples(points, cluster, metric="cityblock")
        return {"n": [rows.height]}

    return run


def _prepare_genieclust_silhouette(path: str) -> Run:
    """Return a function that computes genieclust's silhouette_index."""
    from genieclust.cluster_validity import silhouette_index

    rows = pl.read_parquet(path)
    points, cluster = _get_matrix(rows), rows["cluster"].to_numpy()
    return lambda: {"silhouette": [silhouette_index(points, cluster)]}


def _prepare_spark_silhouette(distance: str, path: str) -> Run:
    """Return a function that computes the silhouette with this distance in Spark.

    The points are in Spark's cache before.
    """
    from pyspark.ml.evaluation import ClusteringEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[*]").config("spark.driver.memory", "8g")
    session = session.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    rows = session.read.parquet(path)
    vectors = VectorAssembler(inputCols=_list_coordinates(path), outputCol="features").transform(
        rows
    )
    vectors = vectors.select("features", "cluster").cache()
    vectors.count()
    measure = {"sqeuclidean": "squaredEuclidean"}.get(distance, distance)
    evaluator = ClusteringEvaluator(predictionCol="cluster", distanceMeasure=measure)
    return lambda: {"silhouette": [evaluator.evaluate(vectors)]}


def _prepare_polars_sorts(beside: Sequence[str], path: str) -> Run:
    """Return a function that sorts each coordinate by itself in Polars: the bare operation.

    The columns in `beside` are sorted along with each. The answers are the number of points, n, and
    the medians of the coordinates, which the other job that sorts has too.
    """
    rows = pl.read_parquet(path)
    columns = [rows.select(column, *beside) for column in _list_coordinates(path)]

    def run() -> Answers:
        """Sort, and return the number of points, n, and the value in the middle of each column."""
        middle = rows.height // 2
        medians = [column.sort(column.columns[0]).item(middle, 0) for column in columns]
        return {"n": [rows.height], "medians": medians}

    return run


def _prepare_numpy_centers(path: str) -> Run:
    """Return a function that computes the distances of all points to all centers in numpy.

    The centers are computed before. The answer is the number of points, n.
    """
    import numpy as np

    rows = pl.read_parquet(path)
    points = _get_matrix(rows)
    means = rows.group_by("cluster").agg(pl.col(_list_coordinates(path)).mean()).sort("cluster")
    centers = means.drop("cluster").to_numpy()

    def run() -> Answers:
        """Compute the distances, and return the number of points, n."""
        squares = points @ (-2 * centers.T)
        squares += (points * points).sum(axis=1)[:, None]
        squares += (centers * centers).sum(axis=1)
        np.sqrt(np.maximum(squares, 0, out=squares), out=squares)
        return {"n": [len(squares)]}

    return run


def _prepare_sklearn(names: Sequence[str], path: str) -> Run:
    """Return a function that computes the metrics of these names in scikit-learn.

    The file has one clustering, the columns label and cluster.
    """
    from sklearn import metrics  # imported here, not to count in the memory of the other jobs

    label, cluster = _read_arrays(path)
    return lambda: {name: [getattr(metrics, name)(label, cluster)] for name in names}


def _prepare_sklearn_loop(names: Sequence[str], path: str) -> Run:
    """Return a function that computes the metrics of each of the first runs in scikit-learn.

    `names` are those of the metrics. SKLEARN_RUNS runs of RUN_ROWS rows are evaluated in a loop.
    """
    from sklearn import metrics

    labels, clusters = (
        column[: SKLEARN_RUNS * RUN_ROWS].reshape(SKLEARN_RUNS, RUN_ROWS)
        for column in _read_arrays(path)
    )

    def run() -> Answers:
        """Return the metrics by name, one value per run."""
        pairs = list(zip(labels, clusters, strict=True))
        return {name: [getattr(metrics, name)(*pair) for pair in pairs] for name in names}

    return run


def _build_agreement(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return n and score of run_agreement."""
    return ce.run_agreement(rows, "id", "run", "cluster").select("n", "score")


def _prepare_sklearn_agreement(path: str) -> Run:
    """Return a function that computes the ARI of the first pairs of runs in scikit-learn.

    They are the first run with each of the next SKLEARN_PAIRS. The runs are arrays of the clusters
    of the same ids, in their order.
    """
    from sklearn.metrics import adjusted_rand_score

    rows = pl.read_parquet(path).sort("run", "id")
    first, *others = [run["cluster"].to_numpy() for run in rows.partition_by("run")]
    others = others[:SKLEARN_PAIRS]
    return lambda: {
        "n": [len(first)] * len(others),
        "score": [adjusted_rand_score(first, other) for other in others],
    }


def _prepare_scipy_matching(path: str) -> Run:
    """Return a function that computes the scores of matching_report by scipy.

    The cells are counted by scikit-learn, and linear_sum_assignment finds the best matching for
    each of the four weights.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics.cluster import contingency_matrix

    label, cluster = _read_arrays(path)

    def run() -> Answers:
        """Return the scores by name."""
        cells = contingency_matrix(label, cluster)
        rows, columns = cells.sum(axis=1), cells.sum(axis=0)
        sizes = rows[:, None], columns[None, :]

        def match(weights: Any) -> float:
            return float(weights[linear_sum_assignment(weights, maximize=True)].sum())

        matched, n, most = match(cells), cells.sum(), max(cells.shape)
        ranked = zip(np.sort(rows)[::-1], np.sort(columns)[::-1], strict=False)
        expected = sum(min(pair) for pair in ranked) / n
        sets = match(cells / np.maximum(*sizes))
        similarity = match(2 * cells / np.add(*sizes))
        precision, recall = similarity / cells.shape[1], similarity / cells.shape[0]
        scores = {
            "clustering_accuracy": matched / n,
            "normalized_clustering_accuracy": (match(cells / sizes[0]) - 1) / (most - 1),
            "pair_sets_index": max(0.0, (sets - expected) / (most - expected)),
            "ceaf_precision": precision,
            "ceaf_recall": recall,
            "ceaf_f_score": 2 * precision * recall / (precision + recall),
        }
        return {name: [float(value)] for name, value in scores.items()}

    return run


def _prepare_genieclust_matching(path: str) -> Run:
    """Return a function that computes the scores of matching_report that genieclust has."""
    from genieclust import compare_partitions

    label, cluster = _read_arrays(path)
    names = ("normalized_clustering_accuracy", "pair_sets_index")
    return lambda: {name: [getattr(compare_partitions, name)(label, cluster)] for name in names}


def _read_arrays(path: str) -> list[Any]:
    """Return the columns label and cluster of a Parquet file as numpy arrays."""
    rows = pl.read_parquet(path, columns=["label", "cluster"])
    return [column.to_numpy() for column in rows]


REPORT = "FROM clustereval.external_report(assignments, label, cluster{options})"
RESOLUTION = "FROM clustereval.entity_resolution_report(assignments, label, cluster)"
MATCHING = "FROM clustereval.matching_report(assignments, label, cluster)"
AGREEMENT = "SELECT n, score FROM clustereval.run_agreement(assignments, id, run, cluster)"
AMI = "SELECT clustereval.adjusted_mutual_info_score(label, cluster) AS adjusted_mutual_info_score"
# The name of the run's column differs between the engines; the order of the runs is the same.
KEYS = ("partition_key", "run")
LOOP_METRICS = ["adjusted_rand_score", "normalized_mutual_info_score", "v_measure_score"]

POINT_METRICS = ["calinski_harabasz_score", "davies_bouldin_score"]
FOUR_COLUMNS = "n, compactness, davies_bouldin_score, calinski_harabasz_score, ssw"
POINT_COLUMNS = {"four": FOUR_COLUMNS, "internal": "*"}
SOURCES = ("memory", "file", "runs")
SILHOUETTE_DISTANCES = ("euclidean", "cityblock", "sqeuclidean", "cosine")

JOBS: dict[str, Callable[[str], Run]] = {
    "duckdb bare": partial(_prepare_duckdb_bare, "label, cluster"),
    "duckdb plain": partial(_prepare_duckdb, REPORT.format(options=", adjusted := false")),
    "duckdb full": partial(_prepare_duckdb, REPORT.format(options="")),
    "duckdb bare limited": partial(
        _prepare_duckdb_bare, "label, cluster", memory_limit=MEMORY_LIMIT
    ),
    **{
        f"duckdb {kind} limited": partial(
            _prepare_duckdb, REPORT.format(options=options), memory_limit=MEMORY_LIMIT
        )
        for kind, options in (("plain", ", adjusted := false"), ("full", ""))
    },
    "duckdb weighted": _prepare_duckdb_weighted,
    "duckdb report ami": partial(
        _prepare_duckdb, f"SELECT adjusted_mutual_info_score {REPORT.format(options='')}"
    ),
    "duckdb ami": partial(_prepare_duckdb, f"{AMI} FROM assignments"),
    "duckdb bare runs": partial(_prepare_duckdb_bare, "run, label, cluster"),
    "duckdb plain runs": partial(
        _prepare_duckdb, REPORT.format(options=", partition_by := run, adjusted := false")
    ),
    "duckdb full runs": partial(_prepare_duckdb, REPORT.format(options=", partition_by := run")),
    "polars bare": partial(_prepare_polars, partial(_count_groups, ["label", "cluster"])),
    "polars plain": partial(_prepare_polars, partial(_build_report, adjusted=False)),
    "polars full": partial(_prepare_polars, _build_report),
    "polars report ami": partial(_prepare_polars, _build_report_ami),
    "polars ami": partial(_prepare_polars, _build_ami),
    "polars bare runs": partial(
        _prepare_polars, partial(_count_groups, ["run", "label", "cluster"])
    ),
    "polars plain runs": partial(
        _prepare_polars, partial(_build_report, partition_by="run", adjusted=False)
    ),
    "polars full runs": partial(_prepare_polars, partial(_build_report, partition_by="run")),
    "duckdb resolution": partial(_prepare_duckdb, RESOLUTION),
    "polars resolution": partial(_prepare_polars, _build_resolution),
    "duckdb matching": partial(_prepare_duckdb, MATCHING),
    "polars matching": partial(_prepare_polars, _build_matching),
    "scipy matching": _prepare_scipy_matching,
    "genieclust matching": _prepare_genieclust_matching,
    "duckdb intervals": _prepare_duckdb_intervals,
    "polars intervals": _prepare_polars_intervals,
    "polars bootstrap": _prepare_polars_bootstrap,
    "sklearn ari": partial(_prepare_sklearn, ["adjusted_rand_score"]),
    "sklearn ami": partial(_prepare_sklearn, ["adjusted_mutual_info_score"]),
    "sklearn loop": partial(_prepare_sklearn_loop, LOOP_METRICS),
    "duckdb sweep": _prepare_duckdb_sweep,
    "polars sweep": _prepare_polars_sweep,
    "sklearn sweep": _prepare_sklearn_sweep,
    "duckdb assign": _prepare_duckdb_assign,
    "polars assign": _prepare_polars_assign,
    "sklearn assign": _prepare_sklearn_assign,
    "duckdb neighbors": _prepare_duckdb_neighbors,
    "polars neighbors": _prepare_polars_neighbors,
    "numpy neighbors": _prepare_numpy_neighbors,
    "duckdb agreement": partial(_prepare_duckdb, AGREEMENT),
    "polars agreement": partial(_prepare_polars, _build_agreement),
    "sklearn agreement": _prepare_sklearn_agreement,
    "duckdb sums": _prepare_duckdb_sums,
    "polars sums": _prepare_polars_sums,
    **{
        f"duckdb silhouette {distance}": partial(
            _prepare_duckdb_silhouette, f"distance := '{distance}'"
        )
        for distance in SILHOUETTE_DISTANCES
    },
    **{
        f"polars silhouette {distance}": partial(_prepare_polars_silhouette, {"distance": distance})
        for distance in SILHOUETTE_DISTANCES
    },
    **{
        f"sklearn silhouette {distance}": partial(_prepare_sklearn_silhouette, distance)
        for distance in ("euclidean", "cityblock")
    },
    **{
        f"spark silhouette {distance}": partial(_prepare_spark_silhouette, distance)
        for distance in ("sqeuclidean", "cosine")
    },
    "duckdb silhouette bounds": partial(_prepare_duckdb_silhouette, "method := 'bounds'"),
    "polars silhouette bounds": partial(_prepare_polars_silhouette, {"method": "bounds"}),
    "sklearn silhouette scaled": _prepare_sklearn_scaled,
    "genieclust silhouette": _prepare_genieclust_silhouette,
    "polars sorts": partial(_prepare_polars_sorts, []),
    "polars sorts with clusters": partial(_prepare_polars_sorts, ["cluster"]),
    "duckdb dunn": _prepare_duckdb_dunn,
    "polars dunn": _prepare_polars_dunn,
    "scipy dunn": _prepare_scipy_dunn,
    **{
        f"{stem} {table} {groups}": partial(prepare, table, groups)
        for stem, prepare in (("duckdb", _prepare_duckdb_table), ("polars", _prepare_polars_table))
        for groups, tables in (("partitions", PARTITION_TABLES), ("clusters", CLUSTER_TABLES))
        for table in tables
    },
    "numpy centers": _prepare_numpy_centers,
    "sklearn internal": _prepare_sklearn_internal,
    "sklearn point runs": _prepare_sklearn_point_runs,
    **{
        f"{stem} {name} {source}": partial(run, what, source)
        for stem, run in (
            ("duckdb", _prepare_duckdb_internal),
            ("polars", _prepare_polars_internal),
        )
        for name, what in POINT_COLUMNS.items()
        for source in SOURCES
    },
    **linked_jobs.JOBS,
}


def _get_peak_mb() -> float:
    """Return the peak resident memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _select_comparable(answers: Answers) -> Answers:
    """Return the answers that other jobs have too.

    They are the values of the first runs, as many as scikit-learn evaluates, and, if they can be
    computed, the totals over all runs that a bare GROUP BY returns.
    """
    runs = SKLEARN_POINT_RUNS if "compactness" in answers else SKLEARN_RUNS
    runs = SKLEARN_PAIRS if "score" in answers else runs
    compared = {name: values[:runs] for name, values in answers.items() if name not in KEYS}
    if not {"russell_rao_index", "n"} <= answers.keys():
        return compared
    joined = zip(answers["n"], answers["russell_rao_index"], strict=True)
    pairs = sum(n * (n - 1) * share for n, share in joined)
    return compared | {"rows": [sum(answers["n"])], "joined_pairs": [pairs]}


def _measure_job(name: str, path: str) -> None:
    """Measure the job of this name on the Parquet file at `path`, and print the result as JSON.

    It has the median seconds of a call, the peak memory before and after the calls in MiB, the
    number of measured pairs of points if they are counted, and the answers.
    """
    run = JOBS[name](path)
    before = _get_peak_mb()
    counts: list[int] = []
    measured_pairs.on_measured = counts.append
    answers, seconds = _time_run(run)
    measured_pairs.on_measured = measured_pairs.ignore_pairs
    counted = {"pairs": sum(counts)} if counts else {}
    times = [seconds]
    while sum(times) < MIN_SECONDS or (len(times) < MIN_CALLS and sum(times) < MAX_SECONDS):
        times.append(_time_run(run)[1])
    measured = {"seconds": median(times), "before_mb": before, "peak_mb": _get_peak_mb()}
    print(json.dumps(measured | counted | {"answers": _select_comparable(answers)}))


def _time_run(run: Run) -> tuple[Answers, float]:
    """Call the function once, and return its answers and the seconds that it took."""
    start = time.perf_counter()
    return run(), time.perf_counter() - start


if __name__ == "__main__":
    _measure_job(*sys.argv[1:])
