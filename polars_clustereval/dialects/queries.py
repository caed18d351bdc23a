"""The table macros as standalone queries for other SQL engines.

A query is made from the macro in ``sql/``, as DuckDB returns its body: the macros that it calls are
expanded, the parameters replaced by arguments, lists of coordinates split into columns, and the
result translated by sqlglot. Functions that are not known to mean the same in every dialect are
refused.
"""

from __future__ import annotations

import re
import warnings
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

import duckdb

try:
    import sqlglot
except ImportError as error:
    raise ImportError("to_sql needs sqlglot: pip install polars_clustereval[dialects]") from error
from sqlglot import exp
from sqlglot.dialects import Dialect

from polars_clustereval.base.tables import orders_of_portable_tables
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.macros import macro_definitions

from .columns import keep_first_branch, name_outputs, prune
from .coordinates import split_lists
from .expansion import Expansion, open_cursor
from .functions import write_functions
from .join_conditions import (
    drop_partition_conditions,
    drop_partition_order,
    drop_row_count_checks,
    equate_clusters,
    hash_comparisons,
)
from .portable import drop_parentheses, make_portable, quote_clusters, refuse_unportable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_clustereval.base.checks import NoiseAs
    from polars_clustereval.external.entity_matching import EditCost
    from polars_clustereval.external.information import NormalizedMethod
    from polars_clustereval.internal.distances import Center, DistanceName
    from polars_clustereval.internal.vectors import Missing

# Table macros of labels, of points and of two runs -> the columns that order the rows of each; the
# query of the last is ordered already.
_LABEL_TABLES = orders_of_portable_tables("labels", "records")
_POINT_TABLES = orders_of_portable_tables("points")
_RUN_TABLES = orders_of_portable_tables("two runs")
_ROW_ORDER = _LABEL_TABLES | _POINT_TABLES | _RUN_TABLES
_ADJUSTED_COLUMNS = ("adjusted_mutual_info_score", "expected_mutual_info")

# Distances whose silhouettes follow from sums over clusters; the others need pairs of points.
_SUMMED_DISTANCES = ("sqeuclidean", "cosine")

# Dialects without a name in sqlglot, by the one whose SQL they read.
_DIALECT_ALIASES = {"datafusion": "postgres"}

# Dialects whose queries the tests execute and compare with DuckDB.
EXECUTED_DIALECTS = ("clickhouse", "datafusion", "duckdb", "postgres", "spark")

# Text after a query. By default ClickHouse fills outer joins with zeros, an output column hides an
# input column of the same name, and a plan of many steps is an error.
_QUERY_SUFFIXES = {
    "clickhouse": " SETTINGS join_use_nulls = 1, prefer_column_name_to_alias = 1, "
    "query_plan_max_optimizations_to_apply = 1000000, enable_materialized_cte = 1"
}

# Dialects that compute a CTE again for every place that reads it, unless it is MATERIALIZED.
_INLINING_DIALECTS = ("clickhouse",)

# Parameters of macros that have one value in other dialects.
_CONSTANTS: dict[str, exp.Expr] = {
    "tolerance": exp.null(),
    "sample_size": exp.null(),
    "confidence": exp.Literal.number("0.95"),
    "random_state": exp.Literal.number(0),
}

# Default of each option of the table macros.
OPTIONS: dict[str, Any] = {
    "noise": None,
    "noise_as": None,
    "average_method": "arithmetic",
    "beta": 1.0,
    "adjusted": True,
    "split_cost": "unit",
    "merge_cost": "unit",
    "threshold": 0.5,
    "min_share": 0.0,
    "distance": "euclidean",
    "p": 2,
    "center": "mean",
    "weights": None,
    "missing": "error",
    "method": "exact",
}


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
    id: str | None = None,  # noqa: A002 - the parameter's name everywhere
    partition_by: str | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    adjusted: bool = True,
    split_cost: EditCost = "unit",
    merge_cost: EditCost = "unit",
    threshold: float = 0.5,
    min_share: float = 0.0,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    method: Literal["exact", "simplified"] = "exact",
) -> str:
    """Standalone query in another SQL dialect that returns the rows of a table macro.

    Parameters
    ----------
    name : str
        Table macro of labels: ``external_report``, ``entity_resolution_report``,
        ``contingency_matrix``, ``pair_counts``, ``external_cluster_report``,
        ``external_label_report`` or ``bcubed_samples``; of two runs: ``run_transitions``,
        ``transition_overlaps``, ``moved_ids`` or ``affected_ids``; or of points:
        ``internal_report``, ``internal_cluster_report``, ``neighbor_report``, ``centroids``,
        ``silhouette_score``, ``silhouette_clusters`` or ``silhouette_samples``.
    dialect : str
        ``duckdb``, ``datafusion``, ``clickhouse``, ``postgres`` or ``spark``, on which every table
        has been executed, or another dialect of sqlglot (``snowflake``, ``bigquery``, ...), where
        none has, with a warning.
    tbl, tbl_before, tbl_after : str
        Table, as ``table``, ``schema.table`` or ``database.schema.table``; a name that contains a
        dot is quoted (``"my.table"``). Tables of two runs take the last two, and ``id``.
    label, cluster, weight, id, partition_by : str
        Names of columns. Tables of labels without ``label`` and ``cluster`` read kept cells, the
        rows of ``contingency_matrix``, of one or several days or shards; ``n_dropped`` and
        ``n_noise``, which cells do not tell, are then NULL. ``weight`` and ``id`` are for the
        tables whose macro takes them; without ``id`` rows are numbered in the order in which the
        engine reads them, for which some engines sort on one node. Without ``partition_by`` the
        column ``partition_key`` is a NULL string.
    vector : str or sequence of str
        For tables of points: the columns with the coordinates, or one column of arrays, with
        `size`.
    size : int
        Number of coordinates of a column of arrays. The query has an expression for each, so that
        it needs no list functions: it grows with `size`.
    noise, noise_as, average_method, beta, adjusted, split_cost, merge_cost, threshold, min_share
        As in the macro, for the tables whose macro takes them.
    distance, p, center, weights, missing, method
        As in the macro, for the tables whose macro takes them. Silhouettes are for the distances
        ``sqeuclidean`` and ``cosine``, and ``silhouette_score`` with method ``simplified`` for
        every distance: those of other distances need pairs of points.

    Returns
    -------
    str
        The query. It does not check the data: with a negative weight or a NaN coordinate its
        numbers are wrong, where the macro raises an error. In Spark a point counts as missing if
        its first coordinate is NULL.

    Raises
    ------
    ClusterEvalError
        For an unknown name, dialect or option, or SQL that cannot be translated faithfully.
    ImportError
        Without sqlglot: ``pip install polars_clustereval[dialects]``.

    Warns
    -----
    UserWarning
        If no query has ever been executed in the dialect.

    Examples
    --------
    >>> import polars_clustereval as ce
    >>> query = ce.to_sql(
    ...     "pair_counts", dialect="spark", tbl="assignments", label="species", cluster="kmeans"
    ... )
    >>> query.startswith("WITH"), "`species`" in query
    (True, True)
    >>> query = ce.to_sql(
    ...     "internal_report", dialect="spark", tbl="points", vector=["x", "y"], cluster="kmeans"
    ... )
    >>> "`x`" in query, "ARRAY" in query
    (True, False)
    """
    if name not in _ROW_ORDER:
        raise ClusterEvalError(_unknown_choice_text("name", name, _ROW_ORDER))
    target = _find_sqlglot_dialect(dialect)
    _warn_if_never_executed(dialect)
    options = {
        "noise": noise,
        "noise_as": noise_as,
        "average_method": average_method,
        "beta": beta,
        "adjusted": adjusted,
        "split_cost": split_cost,
        "merge_cost": merge_cost,
        "threshold": threshold,
        "min_share": min_share,
        "distance": distance,
        "p": p,
        "center": center,
        "weights": None if weights is None else [float(number) for number in weights],
        "missing": missing,
        "method": method,
    }
    columns = {
        "label": label,
        "cluster": cluster,
        "weight": weight,
        "id": id,
        "partition_by": partition_by,
    }
    tables = {"tbl": tbl, "tbl_before": tbl_before, "tbl_after": tbl_after}
    _check_tables(name, {**tables, "id": id, "cluster": cluster})
    check_macro_options(name, options)
    if name in _LABEL_TABLES:
        check_kept_cells(name, label, cluster, weight, partition_by, noise)
    coordinates = None
    if name in _POINT_TABLES:
        coordinates = _name_coordinates(name, vector, size, weights)
        if cluster is None:
            raise ClusterEvalError(f"cluster: {name} needs the column of clusters, got None")
    given = {**options, **columns, **tables, "vector": vector, "size": size}
    _refuse_unknown_parameters(name, given)
    parsed = {key: _parse_table(key, x) for key, x in tables.items() if x is not None}
    if name in _RUN_TABLES:
        query = _build_run_query(name, parsed, columns, options, dialect.lower())
    else:
        query = build_query(name, parsed["tbl"], columns, options, dialect, coordinates)
    return _write_query(query, _ROW_ORDER[name], dialect, target)


def _write_query(query: exp.Select, order: Sequence[str], dialect: str, target: str) -> str:
    """Return a query as text, sorted by the columns `order` unless it is sorted already.

    `dialect` is the user's name of the dialect, and `target` that of sqlglot.
    """
    if not query.args.get("order"):
        query = query.order_by(
            *(exp.Ordered(this=exp.column(key), nulls_first=False) for key in order)
        )
    _mark_materialized(query, dialect.lower())
    refuse_unportable(query, dialect)
    if dialect.lower() == "postgres":
        hash_comparisons(query)
    text: str = query.sql(dialect=target, normalize_functions=False)
    return text + _QUERY_SUFFIXES.get(dialect.lower(), "")


def check_kept_cells(
    name: str, label: str | None, cluster: str | None, *others: str | float | bool | None
) -> None:
    """Raise an error if only one of `label` and `cluster` is given, or neither and one of `others`.

    Without both the table holds kept cells, from which bcubed_samples cannot be computed. `others`
    are arguments that the kept cells contain already: weight, partition_by and noise.
    """
    if label is not None and cluster is not None:
        return
    if label is not None or cluster is not None:
        missing = "cluster" if cluster is None else "label"
        raise ClusterEvalError(
            f"{missing}: expected a column beside {'label' if cluster is None else 'cluster'}; "
            "leave out both if the table holds kept cells, the rows of contingency_matrix"
        )
    if name == "bcubed_samples":
        raise ClusterEvalError(
            "label: bcubed_samples needs the label and the cluster of each row, and kept cells do "
            "not tell the rows apart"
        )
    for parameter, value in zip(("weight", "partition_by", "noise"), others, strict=True):
        if value is not None:
            raise ClusterEvalError(
                f"{parameter}: kept cells contain it already; leave it out, or give label and "
                "cluster"
            )


def build_query(
    name: str,
    tbl: exp.Table,
    columns: Mapping[str, str | None],
    options: Mapping[str, Any],
    dialect: str,
    coordinates: Sequence[exp.Expr] | None = None,
    *,
    numbered: bool = False,
    checked: bool = False,
) -> exp.Select:
    """Return the query of the table macro `name` as a syntax tree that all engines read alike.

    `columns` are names of columns of the table `tbl` by parameter, None for the default, and
    `options` the values of the other parameters. `coordinates` are those of a point, for tables of
    points; `numbered` says that the id is a number that tells all rows apart, and `checked` that
    coordinates that are not finite are an error, of Spark. A table of labels without a label reads
    kept cells, the rows of contingency_matrix.
    `dialect` is the user's name of it.
    """
    kept = name in _LABEL_TABLES and columns["label"] is None
    if coordinates is not None:
        check_silhouette(name, options)
    row_id = _column_or_none(columns["id"])
    expansion = Expansion(dialect.lower(), row_id=row_id, numbered=numbered, kept=kept)
    query = expansion.query(
        f"_{name}" if f"_{name}" in macro_definitions() else name,
        {
            "tbl": tbl,
            **{key: _column_or_none(column) or exp.null() for key, column in columns.items()},
            **_write_options(options),
            **_CONSTANTS,
            "weight": _column_or_none(columns["weight"]) or exp.Literal.number(1),
            "vector": exp.Array(expressions=_complete_or_null(coordinates, options["missing"])),
        },
    )
    if not options["adjusted"]:
        query.set("expressions", [e for e in query.expressions if e.alias not in _ADJUSTED_COLUMNS])
    if name in _LABEL_TABLES:
        query.set("order", None)
    if coordinates is not None and columns["partition_by"] is not None:
        # The row that shows the one partition of a table without points.
        keep_first_branch(query, "__ce_table_rows_")
    drop_row_count_checks(query)
    if columns["partition_by"] is None and not kept:
        drop_partition_order(query)
    # Spark needs less time then; Postgres overestimates the rows of such a join.
    if dialect.lower() == "spark" and columns["partition_by"] is None and not kept:
        drop_partition_conditions(query)
    if options["noise_as"] != "singletons" and not kept:
        equate_clusters(query)
    name_outputs(query)
    prune(query)
    split_lists(query, checked=checked)
    prune(query)
    write_functions(query, dialect.lower(), _find_sqlglot_dialect(dialect))
    make_portable(query)
    if dialect.lower() == "datafusion":
        quote_clusters(query)
    drop_parentheses(query)
    return query


def _complete_or_null(coordinates: Sequence[exp.Expr] | None, missing: str) -> list[exp.Expr]:
    """Return coordinates; with the option missing = 'drop' the first is NULL where another is.

    Then the first one alone tells whether a point is left out: a condition on all of them would be
    planned by Spark in 2^d steps for d coordinates.
    """
    first, *others = coordinates or (None,)
    if first is None:
        return []
    if missing == "drop" and others:
        lacks = exp.or_(*(exp.Is(this=x.copy(), expression=exp.Null()) for x in others))
        first = exp.Case().when(lacks, exp.null()).else_(first.copy())
    return [first, *others]


def _build_run_query(
    name: str,
    tables: Mapping[str, exp.Table],
    columns: Mapping[str, str | None],
    options: Mapping[str, Any],
    dialect: str,
) -> exp.Select:
    """Return the query of a table macro of two runs, as `build_query` does for other tables.

    `tables` are the tables by parameter; the other parameters are those of `build_query`.
    """
    expansion = Expansion(dialect, row_id=None, numbered=False, kept=False)
    names = {key: _column_or_none(column) or exp.null() for key, column in columns.items()}
    values = {option: exp.convert(value) for option, value in options.items()}
    query = expansion.query(name, {**names, **values, **tables})
    if columns["partition_by"] is None:
        drop_partition_order(query)
    name_outputs(query)
    prune(query)
    write_functions(query, dialect, _find_sqlglot_dialect(dialect))
    make_portable(query)
    drop_parentheses(query)
    return query


def _check_tables(name: str, given: Mapping[str, str | None]) -> None:
    """Raise an error if a table or a column that the macro `name` needs is not given."""
    is_of_runs = name in _RUN_TABLES
    needed = ("tbl_before", "tbl_after", "id", "cluster") if is_of_runs else ("tbl",)
    for parameter in needed:
        if given[parameter] is None:
            raise ClusterEvalError(f"{parameter}: {name} needs {', '.join(needed)}, got None")


def _mark_materialized(query: exp.Select, dialect: str) -> None:
    """Mark the CTEs that a dialect shall compute once, in place; take the other marks away.

    These are CTEs that are read more than once, unless they are to stream in DuckDB too.
    """
    names = [table.name for table in query.find_all(exp.Table)]
    for cte in query.ctes:
        streams = cte.args.get("materialized") is False
        is_kept = names.count(cte.alias) > 1 and not streams and dialect in _INLINING_DIALECTS
        cte.set("materialized", True if is_kept else None)


def _name_coordinates(
    name: str,
    vector: str | Sequence[str] | None,
    size: int | None,
    weights: Sequence[float] | None,
) -> list[exp.Expr]:
    """Return the coordinates of a point, as expressions of the user's columns.

    They are the columns `vector`, or the `size` elements of the one column `vector`. Raises an
    error for a vector without coordinates or of unknown length, and for other numbers of weights.
    """
    if isinstance(vector, str):
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ClusterEvalError(
                f"size: expected the number of coordinates of {vector!r}, a whole number >= 1, "
                f"got {size!r}; or give the columns of the coordinates as a list"
            )
        column = exp.column(vector, quoted=True)
        places = [exp.Literal.number(i) for i in range(size)]
        coordinates: list[exp.Expr] = [
            exp.Bracket(this=column.copy(), expressions=[place]) for place in places
        ]
    else:
        names = list(vector or ())
        if not names or not all(isinstance(column, str) for column in names):
            raise ClusterEvalError(
                f"vector: {name} needs names of columns, such as ['x', 'y'], or one column of "
                f"arrays with size, got {vector!r}"
            )
        if size not in (None, len(names)):
            raise ClusterEvalError(f"size: expected {len(names)}, as many as columns, got {size!r}")
        coordinates = [exp.column(column, quoted=True) for column in names]
    check_weights(weights, len(coordinates))
    return coordinates


def check_weights(weights: Sequence[float] | None, n_dims: int) -> None:
    """Raise an error if there is not one weight for each of `n_dims` dimensions."""
    if weights is not None and len(weights) != n_dims:
        raise ClusterEvalError(
            f"weights: expected one for each of {n_dims} dimensions, got {len(weights)}"
        )


def check_silhouette(name: str, options: Mapping[str, Any]) -> None:
    """Raise an error if the silhouettes of a distance need pairs of points.

    `options` are those of the table macro `name`.
    """
    distance, method = str(options["distance"]).lower(), options["method"]
    if not name.startswith("silhouette_") or method == "simplified":
        return
    if method != "exact":
        raise ClusterEvalError(
            f"method: expected 'exact' or 'simplified' in other dialects, got {method!r}"
        )
    if distance not in _SUMMED_DISTANCES:
        way_out = "; silhouette_score has method='simplified' for every distance"
        raise ClusterEvalError(
            f"distance: {name} in other dialects is for {' and '.join(_SUMMED_DISTANCES)}, whose "
            f"silhouettes need no pairs of points, got {distance!r}{way_out}"
        )


def _parse_table(parameter: str, name: str) -> exp.Table:
    """Return the syntax tree of a table's name, such as schema.table, or raise an error.

    `parameter` is the parameter of to_sql that has the name.
    """
    try:
        table = exp.to_table(name, dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise ClusterEvalError(
            f"{parameter}: expected table, schema.table or database.schema.table, got {name!r}; "
            'quote a part that is no plain name: "my table"'
        ) from error
    for part in table.find_all(exp.Identifier):
        part.set("quoted", True)
    return table


def _refuse_unknown_parameters(name: str, given: Mapping[str, Any]) -> None:
    """Raise an error if an argument was given that is no parameter of the macro `name`.

    `given` are arguments of to_sql; those that are equal to the default do not count.
    """
    parameters, _ = macro_definitions()[name]
    known = [*parameters, "size"] if "vector" in parameters else parameters
    for parameter, value in given.items():
        if value != OPTIONS.get(parameter) and parameter not in known:
            raise ClusterEvalError(f"{parameter}: {name} does not take it, but {', '.join(known)}")


def _column_or_none(name: str | None) -> exp.Column | None:
    """Return the syntax tree of the quoted column `name`, None for None."""
    return None if name is None else exp.column(name, quoted=True)


def _find_sqlglot_dialect(dialect: str) -> str:
    """Return the name that sqlglot has for a dialect; raise an error for an unknown one."""
    known: dict[str, str] = {**{name: name for name in Dialect.classes if name}, **_DIALECT_ALIASES}
    if dialect.lower() not in known:
        raise ClusterEvalError(_unknown_choice_text("dialect", dialect, known))
    return known[dialect.lower()]


def _warn_if_never_executed(dialect: str) -> None:
    """Warn if no test executes queries in a dialect; the parameter is the user's name of it."""
    if dialect.lower() not in EXECUTED_DIALECTS:
        warnings.warn(
            f"dialect {dialect!r}: its queries have never been executed, only translated; executed "
            f"and compared with DuckDB are those of {', '.join(EXECUTED_DIALECTS)}",
            stacklevel=3,
        )


def _unknown_choice_text(parameter: str, value: str, known: Mapping[str, Any]) -> str:
    """Return an error text: `value` is none of the `known` ones; it names the most similar one.

    `parameter` is the parameter of to_sql that has this value.
    """
    near = get_close_matches(value, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{parameter}: expected one of {', '.join(sorted(known))}, got {value!r}{hint}"


def _write_options(options: Mapping[str, Any]) -> dict[str, exp.Expr]:
    """Return options as literals. Without a value of noise it is not compared, so any way will do.

    A NULL would be compared with texts, and has no type in some engines.
    """
    literals: dict[str, exp.Expr] = {key: exp.convert(value) for key, value in options.items()}
    return literals | {"noise_as": exp.convert(options["noise_as"] or "cluster")}


def check_macro_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise the macro's own error if one of its `options`, values by parameter, is invalid.

    DuckDB runs the macro that checks the options of the macro `name`; no table is needed.
    """
    if name == "external_report":
        call = "_valid_external_options($noise, $noise_as, $average_method, $beta, $adjusted)"
    elif name == "entity_resolution_report":
        call = "_valid_resolution_options($noise, $noise_as, $split_cost, $merge_cost, $beta)"
    elif name in _RUN_TABLES:
        call = "_valid_transition_options($noise, $noise_as, $threshold, $min_share)"
    elif name in _POINT_TABLES:
        call = "_valid_point_options($distance, $p, $center, $weights, $noise, $noise_as, $missing)"
    else:
        call = "_valid_noise($noise, $noise_as)"
    options = {key: value for key, value in options.items() if f"${key}" in call}
    try:
        open_cursor().execute(f"SELECT clustereval.{call}", options).fetchall()
    except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
        text = str(error).removeprefix("Invalid Input Error: ")
        raised = _RAISED.match(text)
        raise ClusterEvalError(raised[1] if raised else text) from error


# The error of the macro _raise, which names the text in the error of a cast.
_RAISED = re.compile(r"Conversion Error: Could not convert string '(.*)' to ENUM", re.DOTALL)
