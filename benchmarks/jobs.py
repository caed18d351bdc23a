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
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.answers import Answers, Run

    Jobs = dict[str, Callable[[str], Run]]

#: Shorter calls are repeated for this long, so that the median excludes what an engine does once
#: per process, such as starting its threads.
MIN_SECONDS = 1.0
#: Calls of each job, unless they take longer than MAX_SECONDS in total.
MIN_CALLS, MAX_SECONDS = 3, 10.0

# The name of the run's column differs between the engines; the order of the runs is the same.
KEYS = ("partition_key", "run")
#: The numbers of a table, but for the generalized Dunn indices, which some revisions compute by
#: default.
_NUMBERS = pl.selectors.numeric() - (
    pl.selectors.by_name(*KEYS, require_all=False) | pl.selectors.starts_with("gdi_")
)


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
    """Return a function that counts rows and joined pairs of a file by DuckDB's bare GROUP BY.

    Joined pairs are ordered pairs of rows with the same `keys`, columns separated by commas.
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
    """Return a function that runs external_report in DuckDB on the weighted rows beside the file.

    The Parquet file at `path` has each of them as often as its weight says.
    """
    return _prepare_duckdb(
        _write_query("external_report", *LABELS, weight="n"), base_path(path), MEMORY_LIMIT
    )


def _prepare_polars(frame: Callable[[pl.LazyFrame], pl.LazyFrame], path: str) -> Run:
    """Return a function that collects frame(rows), where rows scans the Parquet file at `path`."""

    def run() -> Answers:
        """Collect the frame as a stream, and return its columns by name."""
        return frame(pl.scan_parquet(path)).collect(engine="streaming").to_dict(as_series=False)

    return run


def _count_groups(keys: list[str], rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the numbers of rows and of joined pairs by Polars' bare group_by of these columns."""
    n = pl.col("n")
    groups = rows.group_by(keys).agg(pl.len().cast(pl.Int64).alias("n"))
    return groups.select(n.sum().alias("rows"), (n * (n - 1)).sum().alias("joined_pairs"))


def _build_ami(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the adjusted mutual information of the rows, by the expression for it alone."""
    score = ce.adjusted_mutual_info_score("label", "cluster")
    return rows.select(score.alias("adjusted_mutual_info_score"))


def _prepare_long(prepare: Callable[[str], Run], suffixes: Mapping[str, str], path: str) -> Run:
    """Return a function that computes a long table, whose answers are by metric and suffix."""
    run_table = prepare(path)

    def run() -> Answers:
        """Compute the table, and return its columns by metric."""
        table = run_table()
        return {
            f"{metric}{suffix}": [value]
            for column, suffix in suffixes.items()
            for metric, value in zip(table["metric"], table[column], strict=True)
        }

    return run


def _list_coordinates(path: str) -> list[str]:
    """Return the names of the columns of a Parquet file of points that hold coordinates."""
    names = pl.scan_parquet(path).collect_schema().names()
    return [name for name in names if name not in ("run", "cluster", "k")]


def _read_vectors(path: str) -> tuple[Any, Any]:
    """Return the points of a Parquet file as a matrix, one point per row, and their clusters."""
    rows = pl.read_parquet(path)
    return _get_matrix(rows), rows["cluster"].to_numpy()


def _prepare_duckdb_points(
    query: str, path: str, *, columns: Any, source: str, limit: str | None
) -> Run:
    """Return a function that runs a query of `points` in DuckDB, where {x} are the coordinates.

    The points are read before if the `source` is "memory", or else stay in the Parquet file.
    `columns` are those of the result that are answers, and `limit` is a memory limit.
    """
    con = duckdb.connect()
    register(con)
    if limit is not None:
        # DuckDB spills to disk beyond this limit.
        con.execute(f"SET memory_limit = '{limit}'; SET temp_directory = '{path}.spilled'")
    con.execute(f"CREATE {'TABLE' if source == 'memory' else 'VIEW'} points AS FROM '{path}'")
    names = _list_coordinates(path)
    vector = names[0] if names == ["vector"] else f"[{', '.join(names)}]"
    filled = query.format(x=vector)
    return lambda: _list_columns(con.sql(filled).pl(), columns)


def _prepare_polars_points(
    build: Callable[[Any, Any], pl.DataFrame | pl.LazyFrame],
    path: str,
    *,
    columns: Any,
    source: str,
) -> Run:
    """Return a function that computes build(rows, coordinates) in Polars.

    `columns` are as in _prepare_duckdb_points. The `source` "frame" is a DataFrame, and "memory" is
    a LazyFrame of points that are read before.
    """
    rows: Any = pl.scan_parquet(path)
    if source in ("frame", "memory"):
        read = pl.read_parquet(path)
        rows = read.rechunk() if source == "frame" else read.lazy()
    names = _list_coordinates(path)
    vector = names[0] if names == ["vector"] else names
    return lambda: _list_columns(build(rows, vector), columns)


def _list_columns(frame: pl.DataFrame | pl.LazyFrame, columns: Any) -> Answers:
    """Collect the frame as a stream, and return these columns by name."""
    table = frame.lazy().select(columns).collect(engine="streaming")
    return table.cast({pl.Decimal: pl.Float64}).to_dict(as_series=False)


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
    """Return a function that sums the coordinates by cluster in Polars, as in DuckDB."""
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

    pair = _read_vectors(path)
    return lambda: {name: [getattr(metrics, name)(*pair)] for name in POINT_METRICS}


def _prepare_sklearn_point_runs(path: str) -> Run:
    """Return a function that computes POINT_METRICS of each of the first runs in a loop."""
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


def _prepare_numpy_neighbors(path: str) -> Run:
    """Return a function that finds the two nearest centers by products of matrices, in blocks."""
    import numpy as np

    (points, clusters), step = _read_vectors(path), 10_000

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


DUNN_COLUMNS = ["dunn_index", "max_diameter", "min_separation"]


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


def _prepare_sklearn_silhouette(distance: str, path: str) -> Run:
    """Return a function that computes scikit-learn's silhouette_score with this distance."""
    from sklearn.metrics import silhouette_score

    pair = _read_vectors(path)
    return lambda: {"silhouette": [silhouette_score(*pair, metric=distance)]}


def _prepare_sklearn_scaled(path: str) -> Run:
    """Return a function that computes scikit-learn's cityblock silhouettes of SCALED_ROWS points.

    Its time is scaled to all points (Job.scale).
    """
    from sklearn.metrics import silhouette_samples

    points, cluster = _read_vectors(path)
    sample = points[:SCALED_ROWS], cluster[:SCALED_ROWS]

    def run() -> Answers:
        """Compute the silhouettes of the first points, and return the number of all points, n."""
        silhouette_samples(*sample, metric="cityblock")
        return {"n": [len(points)]}

    return run


def _prepare_genieclust_silhouette(path: str) -> Run:
    """Return a function that computes genieclust's silhouette_index."""
    from genieclust.cluster_validity import silhouette_index

    pair = _read_vectors(path)
    return lambda: {"silhouette": [silhouette_index(*pair)]}


def _prepare_spark_silhouette(distance: str, path: str) -> Run:
    """Return a function that computes the silhouette of cached points with Spark."""
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

    The columns in `beside` are sorted along with each. The medians are answers that both jobs have.
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
    """Return a function that computes the distances of all points to all centers in numpy."""
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
    """Return a function that computes the metrics of these names in scikit-learn."""
    from sklearn import metrics  # imported here, not to count in the memory of the other jobs

    label, cluster = _read_arrays(path)
    return lambda: {name: [getattr(metrics, name)(label, cluster)] for name in names}


def _prepare_sklearn_loop(names: Sequence[str], path: str) -> Run:
    """Return a function that computes the metrics of each of the first runs in a loop."""
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


def _prepare_sklearn_agreement(path: str) -> Run:
    """Return a function that computes the ARI of the first pairs of runs in scikit-learn.

    They are the first run with each of the next SKLEARN_PAIRS.
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

    linear_sum_assignment finds the best matching for each of the four weights.
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


LABELS = ("assignments", "label", "cluster")
AMI = "SELECT clustereval.adjusted_mutual_info_score(label, cluster) AS adjusted_mutual_info_score"
LOOP_METRICS = ["adjusted_rand_score", "normalized_mutual_info_score", "v_measure_score"]

POINT_METRICS = ["calinski_harabasz_score", "davies_bouldin_score"]
FOUR_COLUMNS = ("n", "compactness", "davies_bouldin_score", "calinski_harabasz_score", "ssw")
SILHOUETTE_DISTANCES = ("euclidean", "cityblock", "sqeuclidean", "cosine")
#: Options whose values are columns.
_OF_COLUMNS = ("partition_by", "weight")


def _write_query(table: str, *given: str, columns: Sequence[str] = ("*",), **options: Any) -> str:
    """Return a query of a table macro."""
    texts = list(given)
    for name, value in options.items():
        is_text = isinstance(value, str) and name not in _OF_COLUMNS
        texts.append(f"{name} := {repr(value) if is_text else str(value).lower()}")
    return f"SELECT {', '.join(columns)} FROM clustereval.{table}({', '.join(texts)})"


def _list_label_jobs(
    name: str,
    table: str,
    given: Sequence[str] = LABELS,
    columns: Sequence[str] = ("*",),
    **options: Any,
) -> Jobs:
    """Return both engines' jobs of a table of labels or runs, of which `columns` are selected."""

    def build(rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return the table in Polars."""
        return getattr(ce, table)(rows, *given[1:], **options).select(columns)

    query = _write_query(table, *given, columns=columns, **options)
    return {
        f"duckdb {name}": partial(_prepare_duckdb, query),
        f"polars {name}": partial(_prepare_polars, build),
    }


def _list_point_jobs(
    name: str,
    table: str,
    *more: str,
    columns: Sequence[str] | None = None,
    source: str = "memory",
    limit: str | None = None,
    **options: Any,
) -> Jobs:
    """Return both engines' jobs of a table of points, of which `columns` are answers.

    `more` are columns after the cluster. A table of a frame has all of its columns computed.
    """

    def build(rows: Any, vector: Any) -> Any:
        """Return the table in Polars."""
        return getattr(ce, table)(rows, vector, "cluster", *more, **options)

    given = ("points", "{x}", "cluster", *more)
    selected = ("*",) if columns is None or source == "frame" else columns
    query = _write_query(table, *given, columns=selected, **options)
    answers = _NUMBERS if columns is None else list(columns)
    own = "memory" if source == "frame" else source
    return {
        f"duckdb {name}": partial(
            _prepare_duckdb_points, query, columns=answers, source=own, limit=limit
        ),
        f"polars {name}": partial(_prepare_polars_points, build, columns=answers, source=source),
    }


JOBS: Jobs = {
    "duckdb bare": partial(_prepare_duckdb_bare, "label, cluster"),
    "duckdb bare limited": partial(
        _prepare_duckdb_bare, "label, cluster", memory_limit=MEMORY_LIMIT
    ),
    **{
        f"duckdb {kind} limited": partial(
            _prepare_duckdb,
            _write_query("external_report", *LABELS, **options),
            memory_limit=MEMORY_LIMIT,
        )
        for kind, options in (("plain", {"adjusted": False}), ("full", {}))
    },
    "duckdb weighted": _prepare_duckdb_weighted,
    "duckdb ami": partial(_prepare_duckdb, f"{AMI} FROM assignments"),
    "duckdb bare runs": partial(_prepare_duckdb_bare, "run, label, cluster"),
    "polars bare": partial(_prepare_polars, partial(_count_groups, ["label", "cluster"])),
    "polars ami": partial(_prepare_polars, _build_ami),
    "polars bare runs": partial(
        _prepare_polars, partial(_count_groups, ["run", "label", "cluster"])
    ),
    **_list_label_jobs("plain", "external_report", adjusted=False),
    **_list_label_jobs("full", "external_report"),
    **_list_label_jobs("report ami", "external_report", columns=["adjusted_mutual_info_score"]),
    **_list_label_jobs("plain runs", "external_report", partition_by="run", adjusted=False),
    **_list_label_jobs("full runs", "external_report", partition_by="run"),
    **_list_label_jobs("resolution", "entity_resolution_report"),
    **_list_label_jobs("matching", "matching_report"),
    "scipy matching": _prepare_scipy_matching,
    "genieclust matching": _prepare_genieclust_matching,
    **{
        job: partial(_prepare_long, prepare, {"value": "", "std_error": "_error"})
        for job, prepare in _list_label_jobs(
            "intervals", "external_intervals", adjusted=False
        ).items()
    },
    # The samples are random, so errors are no answers.
    "polars bootstrap": partial(
        _prepare_long,
        partial(
            _prepare_polars,
            lambda rows: ce.bootstrap_intervals(rows, "label", "cluster", adjusted=False),
        ),
        {"value": ""},
    ),
    "sklearn ari": partial(_prepare_sklearn, ["adjusted_rand_score"]),
    "sklearn ami": partial(_prepare_sklearn, ["adjusted_mutual_info_score"]),
    "sklearn loop": partial(_prepare_sklearn_loop, LOOP_METRICS),
    **_list_point_jobs("sweep", "elbow", "k", columns=SWEEP_COLUMNS, source="frame"),
    "sklearn sweep": _prepare_sklearn_sweep,
    "duckdb assign": _prepare_duckdb_assign,
    "polars assign": _prepare_polars_assign,
    "sklearn assign": _prepare_sklearn_assign,
    **_list_point_jobs(
        "neighbors", "neighbor_report", columns=["wemmert_gancarski_index"], source="frame"
    ),
    "numpy neighbors": _prepare_numpy_neighbors,
    **_list_label_jobs(
        "agreement", "run_agreement", ("assignments", "id", "run", "cluster"), ["n", "score"]
    ),
    "sklearn agreement": _prepare_sklearn_agreement,
    "duckdb sums": _prepare_duckdb_sums,
    "polars sums": _prepare_polars_sums,
    **{
        f"sklearn silhouette {distance}": partial(_prepare_sklearn_silhouette, distance)
        for distance in ("euclidean", "cityblock")
    },
    **{
        f"spark silhouette {distance}": partial(_prepare_spark_silhouette, distance)
        for distance in ("sqeuclidean", "cosine")
    },
    **_list_point_jobs(
        "silhouette bounds", "silhouette_score", method="bounds", source="file", limit="1500MB"
    ),
    "sklearn silhouette scaled": _prepare_sklearn_scaled,
    "genieclust silhouette": _prepare_genieclust_silhouette,
    "polars sorts": partial(_prepare_polars_sorts, []),
    "polars sorts with clusters": partial(_prepare_polars_sorts, ["cluster"]),
    **_list_point_jobs("dunn", "dunn_index", columns=DUNN_COLUMNS),
    "scipy dunn": _prepare_scipy_dunn,
    "numpy centers": _prepare_numpy_centers,
    "sklearn internal": _prepare_sklearn_internal,
    "sklearn point runs": _prepare_sklearn_point_runs,
    **linked_jobs.JOBS,
}
for _distance in SILHOUETTE_DISTANCES:
    JOBS |= _list_point_jobs(
        f"silhouette {_distance}",
        "silhouette_score",
        distance=_distance,
        limit="3GB" if _distance == "cityblock" else None,
    )
for _table in PARTITION_TABLES:
    JOBS |= _list_point_jobs(f"{_table} partitions", _table, source="frame", partition_by="run")
for _table in CLUSTER_TABLES:
    JOBS |= _list_point_jobs(f"{_table} clusters", _table, source="frame")
for _name, _columns in (("four", FOUR_COLUMNS), ("internal", None)):
    for _source in ("memory", "file", "runs"):
        JOBS |= _list_point_jobs(
            f"{_name} {_source}",
            "internal_report",
            columns=_columns,
            source=_source,
            **({"partition_by": "run"} if _source == "runs" else {}),
        )


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
    """Measure the job of this name on the Parquet file at `path`, and print the result as JSON."""
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
