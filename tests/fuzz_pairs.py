"""Random graphs, pairs of runs and overlapping clusters, scored by both engines.

``python -m tests.fuzz_pairs --frames 2000 --seed 7`` is to the tables of two tables what
tests.fuzz is to the others. No difference is excused: no result of theirs is a matter of rounding.
"""

from __future__ import annotations

import argparse
import random
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

import polars_clustereval as ce
from tests.fuzz import FRAMES_PER_CALL, KEY_TYPES, Count, cast_key, compare_runs
from tests.support import engines, graphs, registry, run_engines
from tests.support.overlapping_oracle import random_covers
from tests.support.transition_oracle import random_pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GRAPH_TABLES = registry.tables("graph")
RUN_TABLES = registry.tables("two runs")
TABLES = (*GRAPH_TABLES, *RUN_TABLES, *registry.tables("covers"))

SEEDS = 10**6
#: Types that keep different whole numbers different.
ID_TYPES = tuple(dtype for dtype in KEY_TYPES if dtype != pl.Boolean)
NOISE: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"noise": 1, "noise_as": "drop"},
    {"noise": 0, "noise_as": "singletons"},
)


def stack_frames(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The frames below each other, numbered by the column run."""
    return pl.concat(frame.with_columns(run=pl.lit(i)) for i, frame in enumerate(frames))


def stack_rows(names: list[str], sets: Iterable[Any]) -> pl.DataFrame:
    """The rows of all sets as one frame of these columns of whole numbers, and of run."""
    schema = dict.fromkeys([*names, "run"], pl.Int64)
    rows = [(*row, run) for run, rows in enumerate(sets) for row in rows]
    return pl.DataFrame(rows, schema=schema, orient="row")


def random_frames(rng: random.Random, table: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The two tables of a call, ids and clusters being whole numbers."""
    seeds = [rng.randrange(SEEDS) for _ in range(FRAMES_PER_CALL)]
    if table in GRAPH_TABLES:
        one, other = zip(*map(graphs.random_graph, seeds), strict=True)
        return stack_frames(one), stack_frames(other)
    if table in RUN_TABLES:
        runs = zip(*(random_pair.__wrapped__(seed) for seed in seeds), strict=True)
        before, after = (
            stack_rows(["id", "cluster"], [run.items() for run in side]) for side in runs
        )
        return before, after
    labels, clusters = zip(*map(random_covers, seeds), strict=True)
    numbered = [
        [(i, None if label is None else ord(label)) for i, label in rows] for rows in labels
    ]
    return stack_rows(["id", "label"], numbered), stack_rows(["id", "cluster"], clusters)


def random_pair_options(rng: random.Random, table: str) -> dict[str, Any]:
    """Options of a call, drawn at random."""
    if table == "overlapping_report":
        return rng.choice([{}, {"beta": 0.5}, {"beta": 2.0}, {"beta": 0.0}])
    options = dict(rng.choice(NOISE))
    if table in GRAPH_TABLES:
        options |= rng.choice([{}, {"weight": "weight"}])
        if table == "graph_report":
            options |= {"resolution": rng.choice([0.0, 0.7, 1.0, 3.0])}
        if table == "graph_cluster_report":
            options |= {"max_diameter_nodes": rng.choice([0, 3, 1000])}
        return options
    if table == "affected_ids":
        return options
    if table != "moved_ids" or rng.random() < 0.5:
        options |= {"threshold": rng.choice([0.1, 1 / 3, 0.5, 0.9, 1.0])}
    if table in ("run_transitions", "run_drift"):
        options |= {"min_share": rng.choice([0.0, 0.05, 0.1])}
    return options


def with_random_types(
    rng: random.Random, frames: Sequence[pl.DataFrame], options: dict[str, Any]
) -> list[pl.DataFrame]:
    """The frames with ids, labels and clusters of random types, the same in both frames."""
    id_type, label_type, cluster_type = rng.choice(ID_TYPES), *rng.choices(KEY_TYPES, k=2)
    types: dict[str, Any] = dict.fromkeys(("id", "left", "right"), id_type)
    types |= {"label": label_type, "cluster": cluster_type}
    if "noise" in options:
        # The value of noise is a whole number.
        types["cluster"] = rng.choice([pl.Int8, pl.UInt64, pl.Int64])
    return [
        frame.with_columns(
            cast_key(name, types[name]) for name in frame.columns if name in types
        ).sample(fraction=1.0, shuffle=True, seed=rng.randrange(SEEDS))
        for frame in frames
    ]


def outcome_of_pair(
    name: str, table: str, frames: Sequence[pl.DataFrame], options: dict[str, Any]
) -> list[dict[str, Any]] | str:
    """The rows of a call, or the text of the project's own error; other errors are raised."""
    engine, (one, other) = engines.make(name), frames
    try:
        if table in GRAPH_TABLES:
            return graphs.ask(engine, table, one, other, **options)
        if table in RUN_TABLES:
            return run_engines.call_pair(engine, table, one, other, **options)
        return run_engines.call_covers(engine, one, other, **options)
    except ce.ClusterEvalError as error:
        return str(error)
    except duckdb.InvalidInputException as error:
        return str(error).removeprefix("Invalid Input Error: ").split("\n")[0]


def fuzz_pair_table(table: str, frames: int, seed: int) -> Count:
    """Score random frames with one table on both engines; an AssertionError says what differs."""
    rng = random.Random(f"{table} {seed}")
    calls = values = errors = 0
    for _ in range(0, frames, FRAMES_PER_CALL):
        calls += 1
        options = random_pair_options(rng, table) | {"partition_by": "run"}
        given = with_random_types(rng, random_frames(rng, table), options)
        side = rng.choice(["polars", "polars-streaming"])
        ours, theirs = (outcome_of_pair(name, table, given, options) for name in (side, "duckdb"))
        types = {name: dtype for frame in given for name, dtype in frame.schema.items()}
        what = f"{table} {options} {types} seed {seed} call {calls}"
        if isinstance(ours, str) or isinstance(theirs, str):
            assert ours == theirs, f"{what}: {ours!r:.300} and {theirs!r:.300}"
            errors += 1
            continue
        n, found = compare_runs(ours, theirs)
        values += n
        assert not found, f"{what}: {dict(list(found.items())[:2])}"
    return Count(table, calls * FRAMES_PER_CALL, calls, values, 0, errors)


def main(arguments: Sequence[str] | None = None) -> None:
    """Score random frames with every table, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(SEEDS))
    parser.add_argument("tables", nargs="*", default=TABLES)
    options = parser.parse_args(arguments)
    print("seed", options.seed)
    for table in options.tables:
        print(fuzz_pair_table(table, options.frames, options.seed), flush=True)


if __name__ == "__main__":
    sys.exit(main())
