# Written by `make facts`: do not edit.
from collections.abc import Sequence
from typing import Literal

from polars_clustereval.base.checks import NoiseAs
from polars_clustereval.external.entity_matching import EditCost
from polars_clustereval.external.information import NormalizedMethod
from polars_clustereval.internal.distances import Center, DistanceName
from polars_clustereval.internal.kernels.other_clusters import Between
from polars_clustereval.internal.vectors import Missing

from .arguments import check_kept_cells, check_silhouette, check_weights
from .engines import ENGINES, EXECUTED_DIALECTS
from .parameters import OPTIONS, options_of_table
from .pipeline import Request, build_query
from .queries import check_macro_options, keep_metrics

__all__ = [
    "ENGINES",
    "EXECUTED_DIALECTS",
    "OPTIONS",
    "Request",
    "build_query",
    "check_kept_cells",
    "check_macro_options",
    "check_silhouette",
    "check_weights",
    "keep_metrics",
    "options_of_table",
    "to_sql",
]

def to_sql(
    name: str,
    *,
    dialect: str,
    tbl: str | None = None,
    tbl_before: str | None = None,
    tbl_after: str | None = None,
    label: str | None = None,
    cluster: str | None = None,
    vector: str | Sequence[str] | None = None,
    size: int | None = None,
    weight: str | None = None,
    id: str | None = None,
    partition_by: str | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    split_cost: EditCost = "unit",
    merge_cost: EditCost = "unit",
    beta: float = 1.0,
    average_method: NormalizedMethod = "arithmetic",
    adjusted: bool = True,
    threshold: float = 0.5,
    min_share: float = 0.0,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    between: Between = "nearest",
    method: Literal["exact", "simplified"] = "exact",
    metrics: Sequence[str] | None = None,
    steps: bool = False,
    compact: bool = False,
) -> str:
    """Write a table macro as a standalone query in another SQL dialect.

    Parameters
    ----------
    name : str
        The table macro. The macros for labels are ``external_report``,
        ``entity_resolution_report``, ``contingency_matrix``, ``pair_counts``,
        ``external_cluster_report``, ``external_label_report`` and ``bcubed_samples``. The macros
        that compare two runs are ``run_transitions``, ``transition_overlaps``, ``moved_ids`` and
        ``affected_ids``. The macros for points are ``internal_report``,
        ``internal_cluster_report``, ``neighbor_report``, ``centroids``, ``silhouette_score``,
        ``silhouette_clusters`` and ``silhouette_samples``. You can also pass the name of a score in
        one of these tables, such as ``adjusted_rand_score``, to get a query for that score alone.
    dialect : str
        For ``duckdb``, ``datafusion``, ``clickhouse``, ``postgres`` and ``spark``, the test suite
        executes the queries for every table. You can also pass any other sqlglot dialect
        (``snowflake``, ``bigquery``, ...), but doing so triggers a warning, because queries in
        these dialects have never been executed. The text begins with the same notice as a comment.
    tbl, tbl_before, tbl_after : str
        The table to read, as ``table``, ``schema.table`` or ``database.schema.table``. Quote a name
        that contains a dot (``"my.table"``). Macros that compare two runs take ``tbl_before``,
        ``tbl_after`` and ``id``.
    label, cluster, weight, id, partition_by : str
        Names of columns. Table and column names are interpreted as in any other query in the
        dialect. Unquoted names are folded to upper case (in Snowflake) or lower case (in Postgres),
        and names in double quotes, such as ``'"Region"'``, are used exactly as written. If you omit
        ``label`` and ``cluster``, the macros for labels read a saved contingency table. Such a
        table contains the rows that ``contingency_matrix`` returned, possibly for several days or
        shards. For a saved contingency table, ``n_dropped`` and ``n_noise`` are NULL, because the
        table does not contain these counts. Pass ``weight`` and ``id`` only if the macro accepts
        them. ``bcubed_samples`` and ``silhouette_samples`` need ``id`` in every dialect except
        ``duckdb``, because other engines do not keep the order of rows, by which DuckDB numbers
        them. Without ``partition_by``, the column ``partition_key`` has a string type and is always
        NULL.
    vector : str or sequence of str
        For macros that take points, the columns that contain the coordinates. You can also pass a
        single column of arrays, together with `size`.
    size : int
        The number of coordinates in a column of arrays. The query has one expression for each
        coordinate, so it needs no list functions, but its length grows with `size`.
    noise, noise_as, average_method, beta, adjusted, split_cost, merge_cost, threshold, min_share
        The options of the macro. Pass only options that the macro accepts.
    distance, p, center, weights, missing, method, between
        The options of macros that take points. Pass only options that the macro accepts. Silhouette
        macros require the distance ``sqeuclidean`` or ``cosine``, because any other distance would
        require comparing all pairs of points. With the method ``simplified``, ``silhouette_score``
        accepts any distance.
    metrics : sequence of str
        The columns to return, in this order. By default, all columns of the table are returned. The
        columns that identify a row always come first: ``partition_key`` if you pass `partition_by`,
        and the cluster in a report with one row per cluster. The query computes only what is needed
        for the requested columns.
    steps : bool
        If True, write a script instead of a single query. The statements of the script are
        separated by ``;`` and a newline. The last statement is the query. The other statements
        create temporary tables for intermediate results that are read more than once. The names of
        these tables begin with ``__ce_``. In ClickHouse and DataFusion, use a script for macros
        that take points, because these engines recompute a CTE each time it is read. Scripts are
        not available for Spark, which has no temporary tables.
    compact : bool
        If True, write each statement on one line. By default, the statements are indented, the text
        begins with a comment that describes the result, and each CTE with a comment that describes
        its rows.

    Returns
    -------
    str
        The query or the script. Unlike the macro, the query does not check the data. If a weight is
        negative or a coordinate is NaN, the macro raises an error, but the query returns incorrect
        results. In Spark, a point counts as missing if its first coordinate is NULL.

    Raises
    ------
    ClusterEvalError
        If a name, dialect or option is unknown, or if the SQL cannot be translated faithfully.
    ImportError
        If sqlglot is missing: ``pip install 'polars_clustereval[dialects]'``.

    Warns
    -----
    UserWarning
        If the tests of this package do not execute queries in this dialect.

    Examples
    --------
    >>> import polars_clustereval as ce
    >>> query = ce.to_sql(
    ...     "pair_counts", dialect="spark", tbl="assignments", label="species", cluster="kmeans"
    ... )
    >>> print(query.splitlines()[0])
    -- Counts of unordered pairs of rows with the same label, the same cluster, both or neither.
    >>> query = ce.to_sql(
    ...     "internal_report", dialect="spark", tbl="points", vector=["x", "y"], cluster="kmeans"
    ... )
    >>> "ARRAY" in query
    False
    >>> query = ce.to_sql(
    ...     "external_report",
    ...     dialect="postgres",
    ...     tbl="assignments",
    ...     label="species",
    ...     cluster="kmeans",
    ...     metrics=["n", "v_measure_score"],
    ...     compact=True,
    ... )
    >>> query.count("AS v_measure_score"), query.count("rand_score")
    (1, 0)
    """
