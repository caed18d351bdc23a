"""to_sql for tables of points: the queries run on other engines and give DuckDB's numbers."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
import sqlglot
from polars.testing import assert_frame_equal
from sqlglot import exp

import polars_clustereval as ce
from tests.support.sql_answers import (
    ask_macro,
    assert_answers,
    connect_macros,
    started_engine,
    write_query,
)
from tests.support.sql_engines import Rows, Run, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gate

WIDE, GATE = pytest.mark.wide, pytest.mark.gate
IRIS = pl.read_parquet(Path(__file__).parent.parent.parent / "examples" / "iris.parquet")
COLUMNS = ["x", "y", "z"]
SCHEMA = {"x": pl.Float64, "y": pl.Float64, "z": pl.Float64, "kind": pl.Int64, "run": pl.Int64}
FAR = 1e20  # must not matter in a row that is dropped


def point_rows(*rows: tuple[float | None, float | None, float | None, int | None]) -> pl.DataFrame:
    frame = pl.DataFrame([{"x": x, "y": y, "z": z, "kind": k} for x, y, z, k in rows], SCHEMA)
    return frame.with_columns(flower=pl.int_range(pl.len()) * 7 % max(len(rows), 1))


FEW = {
    "no row": point_rows(),
    "one row": point_rows((1, 2, 3, 0)),
    "only NULL": point_rows((None, None, None, 1), (FAR, FAR, FAR, None), (None, None, None, None)),
    "one cluster": point_rows((1, 2, 3, 0), (2, 2, 5, 0), (7, 2, 1, 0)),
    "singletons": point_rows((1, 2, 3, 0), (2, 2, 5, 1), (7, 2, 1, 2)),
    "equal points": point_rows(*[(0.1, 0.1, 0.1, i % 2) for i in range(4)]),
    "zero vectors": point_rows(
        (0, 0, 0, 0), (0, 0, 0, 0), (1, 0, 0, 1), (0, 0, 0, 1), (0, 2, 0, 1)
    ),
    "ties": point_rows(
        (0, 0, 1, 1), (0, 0, 1, 1), (2, 0, 1, 2), (2, 0, 1, 2), (4, 0, 1, 3), (4, 0, 1, 3)
    ),
    "far from 0": point_rows(
        *[(1e8 + i % 5, -1e8 - i % 3, 5.0 + i, i % 3) for i in range(12)], (FAR, 0, 0, None)
    ),
}
FLOWERS = IRIS.select(
    *(pl.col(old).alias(new) for old, new in zip(IRIS.columns[1:4], COLUMNS, strict=True)),
    pl.when(pl.int_range(pl.len()) % 29 == 0).then(None).otherwise("kmeans").alias("kind"),
    (pl.int_range(pl.len()) % 4).alias("run"),
    (pl.int_range(pl.len()) * 7 % 150).alias("flower"),
)
RUNS = pl.concat(
    [
        *(table.with_columns(run=pl.lit(i, pl.Int64)) for i, table in enumerate(FEW.values())),
        FEW["ties"].with_columns(run=pl.lit(None, pl.Int64)),
        FLOWERS.cast({"kind": pl.Int64, "run": pl.Int64}).with_columns(run=pl.lit(99, pl.Int64)),
    ],
    how="diagonal",
).with_columns(flower=pl.int_range(pl.len()))
#: Some flowers lack some coordinates: the first one, the last one, several, all.
GAPS = FLOWERS.with_columns(
    pl.when(pl.col("flower") % places != 1).then(name).alias(name)
    for name, places in zip(COLUMNS, (5, 7, 11), strict=True)
)
#: Fifty clusters in each of three partitions, with equal distances, equal centers and zero vectors.
MANY = (
    pl.DataFrame({"flower": range(900)})
    .with_columns(run=pl.col("flower") % 3, kind=pl.col("flower") // 3 * 7 % 50)
    .select(
        (pl.col("kind") % 7 + pl.col("flower") % 2).alias("x"),
        (pl.col("kind") // 14 - pl.col("flower") // 150 % 3).alias("y"),
        (pl.col("flower") % 5 // 4 * pl.col("run")).alias("z"),
        "kind",
        pl.col("run").replace(2, None),
        "flower",
    )
    .cast(SCHEMA)
)
TABLES = {"the points": FLOWERS, "runs": RUNS, "gaps": GAPS, "many clusters": MANY, **FEW}
# Each table of points, and each option in one of them.
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "report by run": ("internal_report", {"partition_by": "run"}),
    "cosine report": ("internal_report", {"distance": "cosine"}),
    "report of medians": ("internal_report", {"center": "median", "partition_by": "run"}),
    "minkowski report with weights": (
        "internal_report",
        {"distance": "minkowski", "p": 3, "weights": [1.0, 2.5, 0.5], "center": "median"},
    ),
    "clusters by chebyshev, singletons": (
        "internal_cluster_report",
        {"distance": "chebyshev", "noise": 1, "noise_as": "singletons"},
    ),
    "cosine centroids less noise": (
        "centroids",
        {"distance": "cosine", "noise": 1, "noise_as": "drop", "weights": [1.0, 2.5, 0.5]},
    ),
    "medians": ("centroids", {"center": "median", "distance": "cityblock"}),
    "score": ("silhouette_score", {"distance": "sqeuclidean"}),
    "cosine score by run": ("silhouette_score", {"distance": "cosine", "partition_by": "run"}),
    "simplified score": ("silhouette_score", {"distance": "cityblock", "method": "simplified"}),
    "silhouettes of clusters": (
        "silhouette_clusters",
        {"distance": "cosine", "partition_by": "run"},
    ),
    "silhouettes by id": (
        "silhouette_samples",
        {"distance": "sqeuclidean", "partition_by": "run", "id": "flower"},
    ),
    "cosine silhouettes": ("silhouette_samples", {"distance": "cosine", "id": "flower"}),
    "silhouettes by all others": (
        "silhouette_samples",
        {"distance": "cosine", "between": "mean_other", "partition_by": "run", "id": "flower"},
    ),
    "silhouettes by the furthest": (
        "silhouette_samples",
        {"distance": "sqeuclidean", "between": "furthest", "id": "flower"},
    ),
    "simplified by all others": (
        "silhouette_score",
        {"distance": "chebyshev", "method": "simplified", "between": "mean_other"},
    ),
    "neighbors": ("neighbor_report", {}),
    "neighbors by cosine": ("neighbor_report", {"distance": "cosine"}),
}


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with started_engine(request.param, TABLES, tmp_path_factory) as run:
        yield run


@cache
def tables_of_points() -> duckdb.DuckDBPyConnection:
    return connect_macros(TABLES)


@cache
def points_from_macro(name: str, tbl: str, options: tuple[tuple[str, Any], ...]) -> Rows:
    columns = ("partition_by", "id")
    given = "".join(f", {k} := {v if k in columns else f'${k}'}" for k, v in options)
    values = {k: list(v) if isinstance(v, tuple) else v for k, v in options if k not in columns}
    query = f'FROM clustereval.{name}("{tbl}", [x, y, z], kind{given})'
    return ask_macro(tables_of_points(), query, **values)


def translate_points(name: str, dialect: str, tbl: str, **options: Any) -> str:
    return write_query(name, dialect, tbl, vector=COLUMNS, cluster="kind", **options)


def sorted_rows(rows: Rows) -> Rows:
    """Noise points as singletons have no order among one another."""
    return sorted(rows, key=lambda row: str([row[k] for k in row if k != "nearest_distance"]))


def same_numbers_of_points(run: Run, dialect: str, name: str, tbl: str, **options: Any) -> None:
    hashable = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    hashable.pop("steps", None)
    expected = points_from_macro(name, tbl, tuple(hashable.items()))
    actual = run(translate_points(name, dialect, tbl, **options))
    if options.get("noise_as") == "singletons":
        # The lowest of equally near clusters may be one of several singletons.
        actual, expected = sorted_rows(actual), sorted_rows(expected)
    assert_answers(actual, expected)


#: One query of each kind of body: the others take as long to translate and to plan.
IN_MAKE_TEST = ("report by run", "medians", "silhouettes by id")


@pytest.mark.parametrize(
    "call", [x if x in IN_MAKE_TEST else pytest.param(x, marks=GATE) for x in CALLS]
)
@pytest.mark.parametrize(
    ("run", "dialect"),
    [("duckdb", "duckdb"), pytest.param("datafusion", "datafusion", marks=WIDE)],
    indirect=["run"],
    scope="module",
)
def test_same_numbers(run: Run, dialect: str, call: str) -> None:
    name, options = CALLS[call]
    same_numbers_of_points(run, dialect, name, "the points", **options)


@WIDE
@pytest.mark.parametrize(
    ("run", "dialect"), [("postgres", "postgres")], indirect=["run"], scope="module"
)
def test_same_numbers_in_postgres(run: Run, dialect: str) -> None:
    for name, options in CALLS.values():
        same_numbers_of_points(run, dialect, name, "the points", **options)


@pytest.mark.parametrize("call", ["medians", *(pytest.param(x, marks=WIDE) for x in CALLS)])
@pytest.mark.parametrize(
    ("run", "dialect"),
    [(name, name) for name in ("duckdb", "datafusion", "clickhouse", "postgres")],
    indirect=["run"],
    scope="module",
)
def test_scripts_give_the_same_numbers(run: Run, dialect: str, call: str) -> None:
    name, options = CALLS[call]
    same_numbers_of_points(run, dialect, name, "the points", steps=True, **options)


@WIDE
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("run", "dialect"), [("clickhouse", "clickhouse")], indirect=["run"], scope="module"
)
def test_same_numbers_in_clickhouse(run: Run, dialect: str, call: str) -> None:
    name, options = CALLS[call]
    same_numbers_of_points(run, dialect, name, "the points", **options)


def drawn_points(n: int, seed: int) -> pl.DataFrame:
    draw = random.Random(seed)
    kinds = [draw.randrange(5) for _ in range(n)]
    columns = {name: [draw.gauss(kind, 1) for kind in kinds] for name in COLUMNS}
    return pl.DataFrame({"kind": kinds} | columns).with_columns(id=pl.int_range(n))


def silhouettes_of(points: pl.DataFrame) -> pl.DataFrame:
    """For squared distances, whose mean to a cluster is that to the center plus the variance."""
    clusters = points.group_by(pl.col("kind").alias("other")).agg(
        pl.len().alias("n"),
        *(pl.col(name).mean().alias(f"c_{name}") for name in COLUMNS),
        pl.sum_horizontal(pl.col(COLUMNS).var(ddof=0)).alias("variance"),
    )
    gaps = ((pl.col(name) - pl.col(f"c_{name}")) ** 2 for name in COLUMNS)
    means = points.join(clusters, how="cross").with_columns(
        mean=pl.sum_horizontal("variance", *gaps), own=pl.col("kind") == pl.col("other")
    )
    a, b = pl.col("a"), pl.col("b")
    return (
        means.group_by("id", "kind")
        .agg(
            a=(pl.col("mean") * pl.col("n") / (pl.col("n") - 1)).filter("own").sum(),
            b=pl.col("mean").filter(~pl.col("own")).min(),
        )
        .select("id", cluster="kind", silhouette=(b - a) / pl.max_horizontal(a, b))
        .sort("id")
    )


@pytest.mark.parametrize("n", [50, pytest.param(20_000, marks=GATE)])
def test_duckdb_keeps_the_numbers_of_points(n: int) -> None:
    for seed in range(3):
        points = drawn_points(n, seed)
        query = write_query(
            "silhouette_samples",
            "duckdb",
            "drawn",
            vector=COLUMNS,
            cluster="kind",
            distance="sqeuclidean",
        )
        with duckdb.connect() as connection:
            connection.register("drawn", points)
            found = pl.DataFrame(rows_of(connection.execute(query)))
        wanted = silhouettes_of(points)
        assert_frame_equal(found.select(wanted.columns), wanted, check_dtypes=False, abs_tol=1e-12)


@pytest.mark.parametrize("noise_as", ["singletons", "drop"])
@pytest.mark.parametrize("steps", [False, True])
@pytest.mark.parametrize(
    ("run", "dialect"),
    [
        ("duckdb", "duckdb"),
        ("datafusion", "datafusion"),
        *(pytest.param(x, x, marks=WIDE) for x in ("clickhouse", "postgres")),
    ],
    indirect=["run"],
    scope="module",
)
def test_noise(run: Run, dialect: str, steps: bool, noise_as: str) -> None:
    """A singleton has the same number wherever the engine reads the rows."""
    options: dict[str, Any] = {"steps": steps, "noise": 1, "noise_as": noise_as}
    for name, distance in (("internal_report", "euclidean"), ("silhouette_score", "sqeuclidean")):
        given = options | {"distance": distance}
        same_numbers_of_points(run, dialect, name, "many clusters", **given)


def test_singletons_are_numbered_by_what_a_row_has() -> None:
    def numbers(dialect: str, **options: Any) -> str:
        options |= {"noise": 1, "noise_as": "singletons", "compact": True}
        query = translate_points("centroids", dialect, "the points", **options)
        return re.findall(r"ROW_NUMBER\(\) OVER \((.*?)\) AS __ce_row", query)[0]

    assert numbers("duckdb") == ""
    assert numbers("postgres") == "ORDER BY kind, x, y, z"
    assert numbers("datafusion", partition_by="run") == "ORDER BY kind, run, x, y, z"


def test_spark_has_no_scripts() -> None:
    with pytest.raises(ce.ClusterEvalError, match="steps: spark has no temporary tables; leave"):
        translate_points("centroids", "spark", "points", steps=True)


def script_of(dialect: str) -> dict[str, Any]:
    """The option of the engine that plans a CTE again wherever it is read: a minute a query."""
    return {"steps": True} if dialect == "clickhouse" else {}


DEGENERATE: dict[str, dict[str, Any]] = {
    "internal_report": {},
    "internal_cluster_report": {},
    "centroids": {},
    "silhouette_score": {"distance": "sqeuclidean"},
    "silhouette_clusters": {"distance": "cosine"},
    "silhouette_samples": {"distance": "cosine", "id": "flower"},
    "neighbor_report": {},
}


@pytest.mark.parametrize(
    "name", [x if x == "internal_report" else pytest.param(x, marks=GATE) for x in DEGENERATE]
)
@pytest.mark.parametrize(
    ("run", "dialect"),
    [
        ("duckdb", "duckdb"),
        *(pytest.param(x, x, marks=WIDE) for x in ("datafusion", "postgres", "clickhouse")),
    ],
    indirect=["run"],
    scope="module",
)
def test_degenerate_tables(run: Run, dialect: str, name: str) -> None:
    """All of them as partitions, and those that have no partition."""
    options = DEGENERATE[name] | script_of(dialect)
    for tbl in ("no row", "one row", "only NULL"):
        same_numbers_of_points(run, dialect, name, tbl, **options)
    same_numbers_of_points(run, dialect, name, "runs", partition_by="run", **options)


#: Tables that leave out pairs of clusters.
MANY_CLUSTERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("neighbor_report", {}),
    ("neighbor_report", {"distance": "sqeuclidean", "partition_by": "run"}),
    ("neighbor_report", {"distance": "cosine", "partition_by": "run"}),
    ("neighbor_report", {"distance": "minkowski", "p": 3, "weights": [1.0, 2.5, 0.5]}),
    ("internal_cluster_report", {"partition_by": "run", "noise": 1, "noise_as": "singletons"}),
    ("silhouette_clusters", {"distance": "sqeuclidean", "partition_by": "run"}),
    ("silhouette_clusters", {"distance": "cosine", "noise": 1, "noise_as": "singletons"}),
)


@WIDE
@pytest.mark.parametrize(
    ("run", "dialect"),
    [(name, name) for name in ("datafusion", "clickhouse", "postgres")],
    indirect=["run"],
    scope="module",
)
def test_pairs_of_clusters_that_are_left_out_do_not_matter(run: Run, dialect: str) -> None:
    for name, options in MANY_CLUSTERS:
        same_numbers_of_points(run, dialect, name, "many clusters", steps=True, **options)


GAP_CALLS: dict[str, dict[str, Any]] = {
    "internal_report": {"partition_by": "run"},
    "silhouette_samples": {"distance": "cosine", "id": "flower"},
}


@pytest.mark.parametrize("name", GAP_CALLS)
@pytest.mark.parametrize(
    ("run", "dialect"),
    [
        ("duckdb", "duckdb"),
        *(pytest.param(x, x, marks=WIDE) for x in ("datafusion", "postgres", "clickhouse")),
    ],
    indirect=["run"],
    scope="module",
)
def test_rows_with_gaps_are_left_out(run: Run, dialect: str, name: str) -> None:
    options = GAP_CALLS[name] | script_of(dialect)
    same_numbers_of_points(run, dialect, name, "gaps", missing="drop", **options)


def test_a_query_for_rows_without_gaps_does_not_look_for_them() -> None:
    given: dict[str, Any] = {"dialect": "duckdb", "tbl": "points", "vector": ["x", "y"]}
    by_default = ce.to_sql("centroids", cluster="kind", **given)
    assert by_default == ce.to_sql("centroids", cluster="kind", missing="error", **given)
    assert "CASE WHEN y IS NULL" not in by_default
    dropping = ce.to_sql("centroids", cluster="kind", missing="drop", **given)
    assert "CASE WHEN y IS NULL THEN NULL ELSE x END" in dropping
    with pytest.raises(ce.ClusterEvalError, match="missing: expected one of 'error', 'drop', got"):
        ce.to_sql("centroids", cluster="kind", missing="skip", **given)  # type: ignore[arg-type]
    with pytest.raises(ce.ClusterEvalError, match="missing: not a parameter of pair_counts"):
        ce.to_sql("pair_counts", dialect="duckdb", tbl="t", label="a", cluster="b", missing="drop")


@GATE
def test_a_column_of_arrays() -> None:
    arrays = FLOWERS.select(pl.concat_arr(COLUMNS).alias("v"), "kind")
    query = ce.to_sql(
        "internal_report", dialect="duckdb", tbl="arrays", vector="v", size=3, cluster="kind"
    )
    with duckdb.connect() as connection:
        connection.register("arrays", arrays)
        assert_answers(
            rows_of(connection.execute(query)),
            points_from_macro("internal_report", "the points", ()),
        )


@GATE
def test_more_coordinates_than_digits() -> None:
    """The coordinates are counted in decimal digits where there is one row for each."""
    coordinates = [(pl.col("x") * i + pl.col("y") % (i + 1)).alias(f"c{i}") for i in range(1, 13)]
    names = [f"c{i}" for i in range(1, 13)]
    options: dict[str, Any] = {"center": "median", "distance": "cityblock"}
    query = ce.to_sql(
        "centroids", dialect="duckdb", tbl="many", vector=names, cluster="kind", **options
    )
    with connect_macros({"many": FLOWERS.select("kind", *coordinates)}) as connection:
        actual = rows_of(connection.execute(query))
        macro = f"FROM clustereval.centroids(many, [{', '.join(names)}], kind, center := 'median'"
        expected = rows_of(connection.execute(f"{macro}, distance := 'cityblock')"))
    assert {len(row["centroid"]) for row in actual} == {12}
    assert_answers(actual, expected)


def test_the_comparison_can_fail() -> None:
    expected = points_from_macro("centroids", "the points", ())
    wrong = [
        {**row, "centroid": [row["centroid"][0] + 1e-6, *row["centroid"][1:]]} for row in expected
    ]
    for rows in (wrong, expected[1:], [{**row, "n": None} for row in expected]):
        with pytest.raises(AssertionError):
            assert_answers(rows, expected)


@pytest.mark.parametrize(
    "call", [x if x == "medians" else pytest.param(x, marks=GATE) for x in CALLS]
)
def test_no_list_is_left(call: str) -> None:
    name, options = CALLS[call]
    query = sqlglot.parse_one(
        translate_points(name, "spark", "the points", **options), dialect="spark"
    )
    arrays = list(query.find_all(exp.Array))
    assert len(arrays) == (name in ("centroids", "internal_cluster_report"))
    assert not query.find(exp.Lambda, exp.Explode)


def test_the_query_has_no_column_that_nothing_reads() -> None:
    query = sqlglot.parse_one(
        translate_points("centroids", "duckdb", "the points"), dialect="duckdb"
    )
    text = query.sql()
    for cte in query.ctes:
        for name in cte.this.named_selects:
            assert text.count(name) > 1, (cte.alias, name)
        assert text.count(cte.alias) > 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"vector": None}, r"vector: internal_report needs names of columns.*got None"),
        ({"vector": []}, r"vector: internal_report needs names of columns.*got \[\]"),
        ({"vector": ["x", 1]}, r"vector: .*got \['x', 1\]"),
        ({"vector": "v"}, "size: expected the number of coordinates of 'v', .*got None"),
        ({"vector": "v", "size": 0}, "size: expected the number of coordinates of 'v', .*got 0"),
        ({"vector": ["x", "y"], "size": 3}, "size: expected 2, the number of columns .*, got 3"),
        ({"weights": [1.0]}, "weights: expected one for each of 2 dimensions, got 1"),
        ({"weights": [1.0, -2.0]}, r"weights: expected a number > 0 .*-2\.0"),
        ({"distance": "manhattan"}, "distance: expected one of .*did you mean 'cityblock'"),
        ({"p": 0.5}, "p: expected a number >= 1, got 0.5"),
        ({"center": "mode"}, "center: expected one of 'mean', 'median', got 'mode'"),
        ({"cluster": None}, "cluster: internal_report needs the column of clusters, got None"),
        ({"label": "a"}, "label: not a parameter of internal_report"),
        ({"weight": "w"}, "weight: not a parameter of internal_report"),
        ({"method": "simplified"}, "method: not a parameter of internal_report"),
        (
            {"name": "silhouette_score", "distance": "euclidean"},
            "distance: silhouette_score .*'sqeuclidean' or 'cosine'.*got 'euclidean'.*simplified",
        ),
        (
            {"name": "silhouette_score", "method": "bounds"},
            "method: expected 'exact' or .*'bounds'",
        ),
        (
            {"name": "silhouette_score", "method": "simplified", "between": "all"},
            "between: expected one of 'nearest', 'mean_other', 'furthest', got 'all'",
        ),
        ({"between": "furthest"}, "between: not a parameter of internal_report"),
        (
            {"name": "silhouette_samples", "distance": "cosine"},
            "id: silhouette_samples needs the column .* rows have no order in spark",
        ),
        (
            {"center": "median", "dialect": "bigquery"},
            "median: cannot be written in bigquery",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:dialect:UserWarning")
def test_bad_options(arguments: dict[str, Any], words: str) -> None:
    call: dict[str, Any] = {
        "name": "internal_report",
        "dialect": "spark",
        "tbl": "t",
        "vector": ["x", "y"],
        "cluster": "c",
    }
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.to_sql(**(call | arguments))
