"""Options: the reports' parameters on the command line and the values that users pass for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping
    from pathlib import Path

    from polars_clustereval.errors import Setting

    from .reports import Report

__all__ = ["INPUTS", "OPTIONS", "Call", "Options", "option_flag", "write_setting"]

_FILES = (
    "Parquet, CSV (.csv, .tsv, with .gz too), JSON (.json, .jsonl, .ndjson) or Arrow (.arrow, "
    ".feather, .ipc) files, patterns of them, a folder of Parquet files, - for CSV on standard "
    "input, or DATABASE::TABLE of DuckDB"
)

#: The argument for each table of a report, by the parameter of its function.
INPUTS: dict[str, dict[str, Any]] = {
    "frame": {"metavar": "FILE", "nargs": "+", "help": _FILES},
    "frame_before": {"metavar": "BEFORE", "help": f"the run before: {_FILES}"},
    "frame_after": {"metavar": "AFTER", "help": "the run after, likewise"},
    "edges": {
        "flag": "--edges",
        "metavar": "FILE",
        "help": "the edges: a file, a pattern and so on, like FILE",
    },
    "pairs": {
        "flag": "--pairs",
        "metavar": "FILE",
        "help": "the pairs of ids: a file, a pattern and so on, like FILE; of points, in place of "
        "--vector, with the distances of all pairs",
    },
    "neighbors": {
        "flag": "--neighbors",
        "metavar": "FILE",
        "help": "a row for each id and neighbor: a file, a pattern and so on, like FILE",
    },
    "frame_labels": {"metavar": "LABELS", "help": f"rows of an id and a label: {_FILES}"},
    "frame_clusters": {"metavar": "CLUSTERS", "help": "rows of an id and a cluster, likewise"},
}


def _parse_number(text: str) -> float:
    """Parse a string as an int if it is a whole number with up to 18 digits, or else as a float."""
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else float(text)


def _parse_numbers(text: str) -> list[float]:
    """Parse a comma-separated list of numbers, such as 1,0.5."""
    return [float(number) for number in text.split(",")]


# argparse shows these names in its errors.
_parse_number.__name__ = "number"
_parse_numbers.__name__ = "list of numbers"


def _parse_value(text: str) -> str | float:
    """Return a number if Python would write it in exactly this way (not 007), or else the text."""
    if re.fullmatch(r"-?\d{1,18}(\.\d+)?", text):
        number = _parse_number(text)
        return number if str(number) == text else text
    return text


def _option(metavar: str, help_text: str, **settings: Any) -> dict[str, Any]:
    """Return the argparse settings for an option."""
    return {"metavar": metavar, "help": help_text, **settings}


def _number(help_text: str) -> dict[str, Any]:
    """Return the settings for an option whose value is a number."""
    return _option("NUMBER", help_text, type=_parse_number)


def _switch(action: str, help_text: str) -> dict[str, Any]:
    """Return the settings for an option without a value."""
    return {"action": action, "help": help_text}


#: The option of each parameter of the reports. A command has the options of its reports. The
#: functions of the reports have the defaults and check the values, so that error texts are the same
#: everywhere.
OPTIONS: dict[str, dict[str, Any]] = {
    "vector": _option(
        "COLUMNS", "a column of lists or of vectors as text, or numeric columns separated by commas"
    ),
    "columns": _option("COLUMNS", "the columns to describe, of any type, separated by commas"),
    "label": _option("COLUMN", "the true classes"),
    "cluster": _option("COLUMN", "the assigned clusters"),
    "clusters": _option("COLUMNS", "the clusters of each clustering; columns separated by commas"),
    "k": _option("COLUMN", "the number of clusters that you asked for"),
    "run": _option("COLUMN", "identifies the clustering, one row per run and id"),
    "metric": _option("NAME", "metric of external; default adjusted_rand_score"),
    "reference": _option("RUN", "evaluate the clusters of this run", type=_parse_value),
    "require_same_ids": _switch("store_true", "fail if an id is not in every run"),
    "id": _option(
        "COLUMNS",
        "identifies the points; samples and trees depend on its order; if ids repeat across "
        "sources, both columns, as in source,id",
    ),
    "partition_by": _option(
        "COLUMNS",
        "score each group on its own; columns separated by commas, or several times",
        action="append",
    ),
    "left": _option(
        "COLUMNS",
        "of the edges, pairs or neighbors: the id of one end, in as many columns as --id",
    ),
    "right": _option("COLUMNS", "the id of the other end, or of the neighbor"),
    "pair_left": _option("COLUMNS", "of labeled pairs: the id of one end"),
    "pair_right": _option("COLUMNS", "the id of the other end"),
    "pair_weight": _option("COLUMN", "1 / the probability that the pair was drawn"),
    "is_match": _option("COLUMN", "of the pairs: whether both ids are of the same entity, 1 or 0"),
    "weight": _option(
        "COLUMN",
        "how many times each row counts; the weight of an edge in a graph; for pairs, 1 / the "
        "probability that the pair was drawn",
    ),
    "distance": _option(
        "NAME",
        "euclidean (default), sqeuclidean, cityblock, chebyshev, minkowski, cosine; of --pairs or "
        "--neighbors, the column of the distances",
    ),
    "p": _number("order of minkowski; default 2"),
    "center": _option("NAME", "center of a cluster: mean (default), median"),
    "weights": _option(
        "NUMBERS", "weight of each dimension, separated by commas", type=_parse_numbers
    ),
    "noise": _option(
        "VALUE",
        "value of the cluster column that marks noise, written as in the file",
        type=_parse_value,
    ),
    "noise_as": _option(
        "NAME", "with --noise, what noise counts as: cluster, drop (not at all), singletons"
    ),
    "missing": _option(
        "NAME",
        "what to do with a NULL coordinate, or a missing pair: error (default), drop (leave the "
        "point out)",
    ),
    "threshold": _number(
        "share of a cluster's ids that links it to a cluster of the other run, default 0.5; of "
        "edges, the least weight of one that counts"
    ),
    "thresholds": _option(
        "NUMBERS", "separated by commas; default: all weights of the edges", type=_parse_numbers
    ),
    "min_share": _number("smallest share that is a part or a source of a cluster; default 0"),
    "match_sizes_by": _option(
        "NAME",
        "in population_stability_index, compare a cluster with the one that continues its "
        "ids (default), or has its name: ids, names",
    ),
    "resolution": _number("factor of the expected weight in modularity; default 1"),
    "max_diameter_nodes": _number("largest cluster that gets a diameter; default 1000"),
    "split_cost": _option(
        "NAME", "of splits in generalized_merge_distance: unit (default), product, entropy"
    ),
    "merge_cost": _option("NAME", "of merges, likewise"),
    "labels_are_sample": _option(
        "DESIGN",
        "estimate the scores of all entities from the labels of a sample: entities drawn uniform "
        "or by_record, or random records",
    ),
    "sampling_fraction": _number(
        "share of all rows that were drawn by_record; 0 if it is negligible"
    ),
    "silhouette": _option("NAME", "none (default), simplified, exact"),
    "method": _option("NAME", "exact (default), simplified, bounds, sample"),
    "between": _option(
        "NAME",
        "what a point is compared with: nearest (default) other cluster, furthest, or mean_other, "
        "the points of all other clusters",
    ),
    "tolerance": _number("stop when the bounds of the score are this close"),
    "sample_size": _number("number of points evaluated by --method sample"),
    "reference_size": _number(
        "with --method sample: compare with this many points of each cluster, not with all"
    ),
    "confidence": _number("confidence of a sample's limits; default 0.95"),
    "random_state": _number("seed of the sample; default 0"),
    "generalized": _switch(
        "store_true", "with gdi_11 to gdi_63, which need the distances of all pairs"
    ),
    "perplexity": _number(
        "effective number of neighbors in lisi; default: a third of their number"
    ),
    "n_neighbors": _number("neighbors of a point for connectivity; default 10"),
    "max_points": _number("largest number of points in a partition; default 5000"),
    "average_method": _option("MEAN", "arithmetic (default), geometric, min, max, joint"),
    "beta": _number("weight of recall in F, of completeness in V; default 1"),
    "adjusted": _switch(
        "store_false", "leave out the adjusted and the expected mutual information"
    ),
}


def option_flag(parameter: str) -> str:
    """Return the option for a parameter, such as --no-adjusted for adjusted."""
    is_switched_off = OPTIONS.get(parameter, {}).get("action") == "store_false"
    return f"{'--no-' if is_switched_off else '--'}{parameter.replace('_', '-')}"


def write_setting(setting: Setting) -> str:
    """Return the option that sets a parameter to a value, as the user would type it."""
    flag = option_flag(setting.parameter)
    return flag if isinstance(setting.value, bool) else f"{flag} {setting.value}"


# ----------------------------------------------------------------------------------------------
# Records
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A report and the arguments with which it is computed."""

    report: Report
    #: The arguments of its function by parameter; names of columns are as the user wrote them.
    arguments: Mapping[str, Any]
    engine: str
    #: A folder for files that are needed until the program ends.
    scratch: Path

    @property
    def adapted_report(self) -> Report:
        """The report, with its texts adapted to these arguments."""
        adapt = self.report.adapt
        return self.report if adapt is None else adapt(self.report, self.arguments)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The values of a command's arguments."""

    scratch: Path
    #: The files of each input.
    files: tuple[tuple[str, ...], ...] = ()
    #: The reports of the command, and the value of --show that chooses one.
    reports: tuple[Report, ...] = ()
    show: str | None = None
    #: The values that the user gives for parameters of functions, the files of tables among them.
    values: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    engine: str | None = None
    format: str | None = None
    quote_formulas: bool = False
    #: The scores to show, or ``all``; None for the default scores of the format.
    metrics: str | None = None
    output: Path | None = None
    html: Path | None = None
    plot: Path | None = None
    title: str | None = None

    @classmethod
    def read(cls, parsed: Namespace, scratch: Path) -> Options:
        """Return the options that argparse parsed; `scratch` is a folder for temporary files."""
        given = {name: value for name, value in vars(parsed).items() if value is not None}
        del given["command"]
        files = [given[name] for name in INPUTS if name in given]
        own = {x.name: given.pop(x.name) for x in fields(cls) if x.name in given}
        return cls(
            scratch=scratch,
            files=tuple((x,) if isinstance(x, str) else tuple(x) for x in files),
            values=MappingProxyType(given),
            **own,
        )

    def without(self, parameter: str) -> Options:
        """Return the options, but without a value for the given parameter."""
        values = {name: x for name, x in self.values.items() if name != parameter}
        return replace(self, values=MappingProxyType(values))

    @property
    def chosen_metrics(self) -> list[str] | None:
        """The names of the requested scores, or None if the user names none or asks for all."""
        if self.metrics is None or self.metrics == "all":
            return None
        return [name.strip() for name in self.metrics.split(",")]

    @property
    def report(self) -> Report:
        """The report that the command computes: the first one, unless an option selects another."""
        first, *others = self.reports
        if first.show:
            return next((x for x in others if x.variant == self.show), first)
        return next((x for x in others if x.option in self.values), first)

    def call(self, report: Report, **arguments: Any) -> Call:
        """Return the Call for a report, with `arguments`, or else the options, or the defaults."""
        defaults = report.defaults
        given = {name: self.values[name] for name in defaults if name in self.values}
        engine = self.engine or report.engine
        values = MappingProxyType(defaults | given | arguments)
        return Call(report, values, engine, self.scratch)
