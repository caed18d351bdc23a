"""Random tables with every oddity that points and labels have, scored by both engines.

``python -m tests.fuzz --frames 2000 --seed 7`` scores that many frames with every table function
and prints one line per table: frames, calls, values compared, and frames excused because rounding
decides their result by definition (ties, points on a radius, spreads that are 0 but for rounding).
It ends with an error if the engines differ, a value is NaN or infinite, or an engine fails with an
error that is not the project's own.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import numpy as np
import polars as pl

import polars_clustereval as ce
from tests.support import engines, registry
from tests.support.point_engines import call
from tests.support.point_oracle import DISTANCES, Measure, Partition, is_delicate
from tests.support.point_strategies import undecided

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.support.engines import Row

PointRow = tuple[list[float] | None, int | None]

#: Frames of one call, each of which is a partition.
FRAMES_PER_CALL = 25
#: Greatest relative difference between the engines.
TOLERANCE = 1e-9
#: Of a hundred frames, how many may be excused.
MOST_EXCUSED = 10

POINT_TABLES = registry.tables("points")
#: Standard errors and estimates are compared by the tests of their own.
LABEL_TABLES = tuple(
    table
    for table in registry.tables("labels", "records", "one clustering")
    if table not in ("external_intervals", "entity_resolution_estimates")
)
# Which of several equally near clusters is named depends on the last digit.
NAMES_OF_TIES = {"neighbor", "nearest_cluster", "majority_label", "majority_cluster"}


class Count(NamedTuple):
    """What has been compared for one table."""

    table: str
    frames: int
    calls: int
    values: int
    excused: int
    errors: int

    def __str__(self) -> str:
        return (
            f"{self.table}: {self.frames} frames in {self.calls} calls, {self.values} values, "
            f"{self.excused} frames excused, {self.errors} calls with the same error"
        )


# ----------------------------------------------------------------------------------------------
# Points
# ----------------------------------------------------------------------------------------------


def random_points(rng: random.Random, dims: int) -> list[PointRow]:
    """A few clusters of points with some oddities; coordinates are multiples of 1/4 at first."""
    sizes = [rng.choice([1, 2, 4, 8]) for _ in range(rng.randint(1, 4))]
    rows: list[PointRow] = []
    for cluster, size in enumerate(sizes):
        center = [rng.randint(-40, 40) / 4 for _ in range(dims)]
        rows += [([x + rng.randint(-6, 6) / 4 for x in center], cluster) for _ in range(size)]
    chosen = rng.sample(range(len(ODDITIES)), rng.randint(0, 3))
    for i in sorted(chosen):
        rows = ODDITIES[i](rng, rows, dims)
    rng.shuffle(rows)
    return rows


def _duplicate(rng: random.Random, rows: list[PointRow], _dims: int) -> list[PointRow]:
    """All points of a cluster become one."""
    chosen = rng.choice(rows)[1]
    [first, *_] = [v for v, c in rows if c == chosen]
    return [(first if c == chosen else v, c) for v, c in rows]


def _flatten(rng: random.Random, rows: list[PointRow], dims: int) -> list[PointRow]:
    """One coordinate is constant."""
    i, constant = rng.randrange(dims), rng.choice([0.0, 0.1, -7.25])
    return [([*v[:i], constant, *v[i + 1 :]], c) for v, c in rows if v is not None]


def _zero(rng: random.Random, rows: list[PointRow], dims: int) -> list[PointRow]:
    """A quarter of the points is zero."""
    return [([0.0] * dims if rng.random() < 0.25 else v, c) for v, c in rows]


def _scale(rng: random.Random, rows: list[PointRow], _dims: int) -> list[PointRow]:
    """From 1e-300 to 1e70; squares that keep only some of their digits are left out."""
    exponent = rng.choice([rng.randint(-990, -570), rng.randint(-450, 240)])
    return [([math.ldexp(x, exponent) for x in v], c) for v, c in rows if v is not None]


def _shift(rng: random.Random, rows: list[PointRow], dims: int) -> list[PointRow]:
    """Up to 1e12 away from 0: every coordinate stays exact unless it has been scaled."""
    by = [rng.choice([-1, 0, 1]) * 2.0 ** rng.randint(20, 40) for _ in range(dims)]
    return [([x + y for x, y in zip(v, by, strict=True)], c) for v, c in rows if v is not None]


def _move_cluster_away(rng: random.Random, rows: list[PointRow], _dims: int) -> list[PointRow]:
    """One cluster is 1e6 to 1e20 times as far away as the others."""
    chosen, exponent = rng.choice(rows)[1], rng.randint(20, 66)
    return [([math.ldexp(x, exponent) for x in v] if c == chosen else v, c) for v, c in rows if v]


def _drop(rng: random.Random, rows: list[PointRow], dims: int) -> list[PointRow]:
    """Rows without a vector or a cluster, the latter with any number."""
    odd = [math.nan, math.inf, -math.inf, 1e300, -1e20, 1.7e18]
    vectors = [[rng.choice(odd) for _ in range(dims)] for _ in range(rng.randint(1, 3))]
    return [*rows, *((v, None) for v in vectors), (None, 0)]


ODDITIES = (_duplicate, _flatten, _zero, _scale, _shift, _move_cluster_away, _drop)


def point_options(rng: random.Random, table: str, dims: int) -> dict[str, Any]:
    """Options of a call, drawn at random."""
    options: dict[str, Any] = rng.choice(
        [{}, {}, {"noise": 1, "noise_as": "drop"}, {"noise": 0, "noise_as": "singletons"}]
    )
    options = options | ({"missing": "drop"} if rng.random() < 0.3 else {})
    if "distance" not in registry.parameters(table):
        return options
    distance = rng.choice(DISTANCES)
    options |= {"distance": distance}
    if distance == "minkowski":
        options |= {"p": rng.choice([1.5, 3.0, 20.0, 400.0])}
    if "center" in registry.parameters(table):
        options |= {"center": rng.choice(["mean", "mean", "median"])}
    if distance != "chebyshev" and rng.random() < 0.3:
        options |= {"weights": [rng.choice([0.25, 4.0, 3.62]) for _ in range(dims)]}
    if table == "silhouette_score":
        options |= {"method": rng.choice(["exact", "exact", "simplified"])}
    return options


def with_gaps(rng: random.Random, rows: list[PointRow]) -> list[PointRow]:
    """The rows, a tenth of them with NULL in place of some coordinates."""
    return [
        ([None if rng.random() < 0.5 else x for x in v], c)  # type: ignore[misc]
        if v is not None and rng.random() < 0.1
        else (v, c)
        for v, c in rows
    ]


def point_frame(sets: Sequence[list[PointRow]]) -> pl.DataFrame:
    """One frame of all sets, which the column `run` numbers."""
    rows = [(i, v, c, run) for run, rows in enumerate(sets) for i, (v, c) in enumerate(rows)]
    schema = {"id": pl.Int64, "vector": pl.List(pl.Float64), "cluster": pl.Int64, "run": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def with_other_type(
    rng: random.Random, frame: pl.DataFrame, dims: int
) -> tuple[pl.DataFrame, str | list[str]]:
    """The frame with its vectors as another type of column that holds the same numbers."""
    names = [f"x{i}" for i in range(dims)]
    kind = rng.choice(["list", "array", "columns", "floats"])
    if kind == "columns":
        columns = [pl.col("vector").list.get(i).alias(name) for i, name in enumerate(names)]
        return frame.with_columns(columns), names
    if kind == "array":
        return frame.with_columns(pl.col("vector").cast(pl.Array(pl.Float64, dims))), "vector"
    if kind == "floats":
        return frame.with_columns(pl.col("vector").cast(pl.List(pl.Float32))), "vector"
    return frame, "vector"


def is_excused(rows: list[PointRow], options: dict[str, Any]) -> bool:
    """Whether rounding decides a result of these points, by the definition of some index.

    A vector with a NULL counts as none: it is left out, or the call fails on both engines.
    """
    rows = [(None if v is None or None in v else v, c) for v, c in rows]
    how = {
        name: options[name] for name in ("distance", "p", "center", "weights") if name in options
    }
    measure = Measure(**({"distance": "euclidean"} | how))
    noise = {name: options[name] for name in ("noise", "noise_as") if name in options}
    # The oracle's distances of zero vectors, and of numbers whose squares overflow.
    with np.errstate(all="ignore"):
        part = Partition(*zip(*rows, strict=True), measure, **noise)
        return not part.n or is_delicate(part, exact=False) or bool(undecided(part))


# ----------------------------------------------------------------------------------------------
# Labels
# ----------------------------------------------------------------------------------------------

KEY_TYPES: tuple[pl.DataType | type[pl.DataType], ...] = (
    pl.Int8,
    pl.UInt64,
    pl.Int64,
    pl.Float64,
    pl.String,
    pl.Boolean,
    pl.Date,
    pl.Datetime("us"),
    pl.Categorical,
    pl.List(pl.Int64),
    pl.List(pl.String),
    pl.Struct({"source": pl.String, "id": pl.Int64}),
)


def random_labels(rng: random.Random) -> list[tuple[int | None, int | None]]:
    """Rows of label and cluster: few or many, NULLs, singletons, one class, identical columns."""
    n, k, m = rng.randint(0, 40), rng.randint(1, 12), rng.randint(1, 12)
    rows: list[Any] = [(rng.randrange(k), rng.randrange(m)) for _ in range(n)]
    kind = rng.choice(["plain", "nulls", "same", "one", "single"])
    if kind == "nulls":
        rows = [tuple(None if rng.random() < 0.2 else x for x in row) for row in rows]
    if kind == "same":
        rows = [(a, a) for a, _ in rows]
    if kind == "one":
        rows = [(0, b) for _, b in rows]
    if kind == "single":
        rows = [(a, i) for i, (a, _) in enumerate(rows)]
    return rows


def label_frame(rng: random.Random, sets: Sequence[list[Any]]) -> pl.DataFrame:
    """One frame of all sets, numbered by `run`, with keys of a random type."""
    rows = [(*row, run) for run, rows in enumerate(sets) for row in rows]
    schema = {"label": pl.Int64, "cluster": pl.Int64, "run": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("id")
    return frame.with_columns(
        cast_key(name, rng.choice(KEY_TYPES)) for name in ("label", "cluster")
    )


def cast_key(name: str, dtype: Any) -> pl.Expr:
    key = pl.col(name)
    if dtype == pl.Boolean:
        return key % 2 == 0
    if dtype == pl.Categorical:
        return key.cast(pl.String).cast(pl.Categorical)
    if dtype == pl.Date:
        return (pl.date(2020, 1, 1) + pl.duration(days=key)).alias(name)
    if isinstance(dtype, pl.List):
        # Of one or two elements: lists of different lengths are different keys.
        one, two = pl.concat_list(key), pl.concat_list(key // 2, key)
        values = pl.when(key % 2 == 0).then(one).otherwise(two)
        return pl.when(key.is_not_null()).then(values).cast(dtype).alias(name)
    if isinstance(dtype, pl.Struct):
        parts = pl.struct(source=(key % 2).cast(pl.String), id=key // 2)
        return pl.when(key.is_not_null()).then(parts).alias(name)
    if isinstance(dtype, pl.Datetime):
        return key.cast(pl.Datetime("us"))
    return key.cast(dtype)


def label_options(rng: random.Random, table: str) -> dict[str, Any]:
    """Options of a call, drawn at random."""
    if table == "external_report":
        return {"average_method": rng.choice(["arithmetic", "geometric", "min", "max"])}
    return {}


# ----------------------------------------------------------------------------------------------
# Comparison
# ----------------------------------------------------------------------------------------------


def outcome(engine: str, table: str, frame: pl.DataFrame, *given: Any, **options: Any) -> Any:
    """The rows of a call, or the text of the project's own error; other errors are raised."""
    try:
        if table == "cluster_size_findings":
            return engines.make(engine).call(table, frame, "cluster", **options)
        if table in LABEL_TABLES:
            return engines.make(engine).table(table, frame, **options)
        return call(engines.make(engine), table, frame, *given, **options)
    except ce.ClusterEvalError as error:
        return str(error)
    except duckdb.InvalidInputException as error:
        return str(error).removeprefix("Invalid Input Error: ").split("\n")[0]


def differences(row: Row, other: Row) -> Iterator[str]:
    """What differs between two rows, or is NaN or infinite in one."""
    for name, x in row.items():
        y = other[name]
        for a, b in zip(x, y, strict=False) if isinstance(x, list) and y else [(x, y)]:
            if isinstance(a, float) and isinstance(b, float):
                near = abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) or abs(a - b) <= 1e-11
                if not (math.isfinite(a) and math.isfinite(b) and near):
                    yield f"{name}: {a!r} and {b!r}"
            elif name not in NAMES_OF_TIES and a != b:
                yield f"{name}: {a!r} and {b!r}"


def by_run(rows: list[Row]) -> dict[int, list[Row]]:
    """The rows of each partition."""
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["run"], []).append(row)
    return groups


def compare_runs(ours: list[Row], theirs: list[Row]) -> tuple[int, dict[int, list[str]]]:
    """The number of values, and what differs by run."""
    one, other = by_run(ours), by_run(theirs)
    values, found = 0, {}
    for run in one.keys() | other.keys():
        mine, yours = one.get(run, []), other.get(run, [])
        if len(mine) != len(yours):
            found[run] = [f"{len(mine)} and {len(yours)} rows"]
            continue
        values += sum(len(row) for row in mine)
        texts = [text for a, b in zip(mine, yours, strict=True) for text in differences(a, b)]
        if texts:
            found[run] = texts
    return values, found


def fuzz_table(table: str, frames: int, seed: int) -> Count:
    """Score random frames with one table on both engines; an AssertionError says what differs."""
    rng = random.Random(f"{table} {seed}")
    calls = values = excused = errors = 0
    for _ in range(0, frames, FRAMES_PER_CALL):
        calls += 1
        if table in LABEL_TABLES:
            sets: list[Any] = [random_labels(rng) for _ in range(FRAMES_PER_CALL)]
            frame, given, options = label_frame(rng, sets), (), label_options(rng, table)
        else:
            dims = rng.choice([1, 2, 3, 33])
            sets = [random_points(rng, dims) for _ in range(FRAMES_PER_CALL)]
            options = point_options(rng, table, dims)
            if options.get("missing") == "drop":
                sets = [with_gaps(rng, rows) for rows in sets]
            frame, vector = with_other_type(rng, point_frame(sets), dims)
            given = (vector,)
            sets = [
                list(part.select("vector", "cluster").iter_rows())
                for part in frame.partition_by("run", maintain_order=True)
            ]
        if table.endswith("samples"):
            options |= {"id": "id"}
        options |= {"partition_by": "run"}
        side = rng.choice(["polars", "polars-streaming"])
        ours, theirs = (outcome(name, table, frame, *given, **options) for name in (side, "duckdb"))
        what = f"{table} {options} seed {seed} call {calls}"
        if isinstance(ours, str) or isinstance(theirs, str):
            assert ours == theirs, f"{what}: {ours!r:.300} and {theirs!r:.300}"
            errors += 1
            continue
        n, found = compare_runs(ours, theirs)
        values += n
        for run, texts in found.items():
            excuse = table not in LABEL_TABLES and is_excused(sets[run], options)
            assert excuse, f"{what} run {run}: {texts[:5]} {sets[run]}"
            excused += 1
    count = Count(table, calls * FRAMES_PER_CALL, calls, values, excused, errors)
    # The frames of one call share its options, which may make ties of most: a few calls say little.
    limit = MOST_EXCUSED * max(count.frames, 8 * FRAMES_PER_CALL)
    assert excused * 100 <= limit, f"too many excused: {count}"
    return count


def main(arguments: Sequence[str] | None = None) -> None:
    """Score random frames with every table, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("tables", nargs="*", default=[*POINT_TABLES, *LABEL_TABLES])
    options = parser.parse_args(arguments)
    print("seed", options.seed)
    for table in options.tables:
        print(fuzz_table(table, options.frames, options.seed), flush=True)


if __name__ == "__main__":
    sys.exit(main())
