"""One way to call the tables of states on every engine, from frames to frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from tests.support.engines import keys_of
from tests.support.point_engines import call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.support.engines import Engine, Row

COUNTS = ("n", "n_dropped", "n_noise")
LISTS = ("mean", "mean_correction", "m2", "minimum", "maximum")
#: The scores that internal_report_from_states does not have for the euclidean distance.
WITHOUT_EUCLIDEAN = ("compactness", "davies_bouldin_score", "pbm_index")


def to_frame(rows: Sequence[Mapping[str, Any]], *keys: str) -> pl.DataFrame:
    """States as a frame; the partition columns `keys` and the clusters are whole numbers."""
    names = dict.fromkeys((*keys, "cluster", *COUNTS), pl.Int64())
    schema = pl.Schema(names | dict.fromkeys(LISTS, pl.List(pl.Float64)))
    return pl.DataFrame([tuple(row.values()) for row in rows], schema=schema, orient="row")


def states_of(engine: Engine, frame: pl.DataFrame, *given: Any, **arguments: Any) -> pl.DataFrame:
    rows = call(engine, "cluster_states", frame, *given, **arguments)
    return to_frame(rows, *keys_of(arguments))


def merged(engine: Engine, states: pl.DataFrame, **arguments: Any) -> pl.DataFrame:
    rows = engine.call("merge_cluster_states", states, **arguments)
    return to_frame(rows, *keys_of(arguments))


def reports_of(engine: Engine, states: pl.DataFrame, **arguments: Any) -> list[Row]:
    return engine.call("internal_report_from_states", states, **arguments)
