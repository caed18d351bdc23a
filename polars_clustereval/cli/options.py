"""Options: what the command line calls the parameters of the reports, and how it reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polars_clustereval.errors import Setting

__all__ = ["OPTIONS", "option_flag", "parse_value", "write_setting"]


def _parse_number(text: str) -> float:
    """Return the number in a text: an int if it is whole, of up to 18 digits; otherwise a float."""
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else float(text)


def _parse_numbers(text: str) -> list[float]:
    """Return the list of the numbers in a text that separates them by commas, such as 1,0.5."""
    return [float(number) for number in text.split(",")]


# argparse shows these names in its errors.
_parse_number.__name__ = "number"
_parse_numbers.__name__ = "list of numbers"


def parse_value(text: str) -> str | float:
    """Return the value that an argument stands for: a number or the text itself.

    It is a number if Python writes that number in the same way: 7 is one, 007 stays a text.
    """
    if re.fullmatch(r"-?\d{1,18}(\.\d+)?", text):
        number = _parse_number(text)
        return number if str(number) == text else text
    return text


#: The option of each parameter of the reports. A command has those of its report, with the
#: function's defaults; the function checks the values, so that there is one error text for all.
OPTIONS: dict[str, dict[str, Any]] = {
    "vector": {
        "metavar": "COLUMNS",
        "help": "a column of lists or of vectors as text, or numeric columns separated by commas",
    },
    "label": {"metavar": "COLUMN", "help": "the true classes"},
    "cluster": {"metavar": "COLUMN", "help": "the assigned clusters"},
    "k": {"metavar": "COLUMN", "help": "the number of clusters that was asked for"},
    "run": {"metavar": "COLUMN", "help": "identifies the clustering, one row per run and id"},
    "metric": {"metavar": "NAME", "help": "metric of external; default adjusted_rand_score"},
    "require_same_ids": {
        "flag": "--require-same-ids",
        "action": "store_true",
        "help": "fail if an id is not in every run",
    },
    "id": {"metavar": "COLUMN", "help": "identifies the points; a sample depends on its order"},
    "partition_by": {
        "metavar": "COLUMNS",
        "action": "append",
        "help": "score each group on its own; columns separated by commas, or several times",
    },
    "left": {"metavar": "COLUMN", "help": "of the edges: the id of one end"},
    "right": {"metavar": "COLUMN", "help": "of the edges: the id of the other end"},
    "weight": {
        "metavar": "COLUMN",
        "help": "how many times each row counts; in a graph, the weight of an edge",
    },
    "distance": {
        "metavar": "NAME",
        "help": "euclidean (default), sqeuclidean, cityblock, chebyshev, minkowski, cosine",
    },
    "p": {"metavar": "NUMBER", "type": _parse_number, "help": "order of minkowski; default 2"},
    "center": {"metavar": "NAME", "help": "center of a cluster: mean (default), median"},
    "weights": {
        "metavar": "NUMBERS",
        "type": _parse_numbers,
        "help": "weight of each dimension, separated by commas",
    },
    "noise": {
        "metavar": "VALUE",
        "type": parse_value,
        "help": "value of the cluster column that marks noise, written as in the file",
    },
    "noise_as": {
        "metavar": "NAME",
        "help": "with --noise, what noise counts as: cluster, drop (not at all), singletons",
    },
    "missing": {
        "metavar": "NAME",
        "help": "of a point with a NULL coordinate: error (default), drop (leave it out)",
    },
    "threshold": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "share of a cluster's ids that links it to one of the other run; default 0.5",
    },
    "min_share": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "smallest share of a cluster that is a part or a source of it; default 0",
    },
    "resolution": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "factor of the expected weight in modularity; default 1",
    },
    "max_diameter_nodes": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "largest cluster with a diameter; default 1000",
    },
    "split_cost": {
        "metavar": "NAME",
        "help": "of splits in generalized_merge_distance: unit (default), product, entropy",
    },
    "merge_cost": {"metavar": "NAME", "help": "of merges, likewise"},
    "labels_are_sample": {
        "metavar": "DESIGN",
        "help": "estimate the scores of all entities from labels of some, drawn uniform or "
        "by_record, or from labels of random records",
    },
    "silhouette": {"metavar": "NAME", "help": "none (default), simplified, exact"},
    "method": {"metavar": "NAME", "help": "exact (default), simplified, bounds, sample"},
    "tolerance": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "stop when the bounds of the score are this close",
    },
    "sample_size": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "number of points evaluated by --method sample",
    },
    "confidence": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "confidence of a sample's limits; default 0.95",
    },
    "random_state": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "seed of the sample; default 0",
    },
    "generalized": {
        "flag": "--no-generalized",
        "action": "store_false",
        "help": "leave out gdi_11 to gdi_63, which need the distances of all pairs",
    },
    "n_neighbors": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "neighbors of a point for connectivity; default 10",
    },
    "max_points": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "largest number of points that is accepted; default 5000",
    },
    "average_method": {
        "metavar": "MEAN",
        "help": "arithmetic (default), geometric, min, max, joint",
    },
    "beta": {
        "metavar": "NUMBER",
        "type": _parse_number,
        "help": "weight of recall in F, of completeness in V; default 1",
    },
    "adjusted": {
        "flag": "--no-adjusted",
        "action": "store_false",
        "help": "leave out the adjusted and the expected mutual information",
    },
}


def option_flag(parameter: str) -> str:
    """Return the option of a parameter, such as --no-adjusted for adjusted."""
    flag: str = OPTIONS.get(parameter, {}).get("flag", "--" + parameter.replace("_", "-"))
    return flag


def write_setting(setting: Setting) -> str:
    """Return the option that sets a parameter to a value, as it is typed in the shell."""
    flag = option_flag(setting.parameter)
    return flag if "action" in OPTIONS[setting.parameter] else f"{flag} {setting.value}"
