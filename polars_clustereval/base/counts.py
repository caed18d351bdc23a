"""counts: facts about the counts with which reports and summaries begin."""

from __future__ import annotations

from typing import NamedTuple


class Count(NamedTuple):
    """Facts about one count. The fields are named as those of a score."""

    name: str
    #: A few words for the terminal.
    meaning: str
    #: No count is best.
    best: str = ""
    family: str = "counts"


def _explain(meanings: dict[str, str]) -> dict[str, Count]:
    return {name: Count(name, meaning) for name, meaning in meanings.items()}


#: The counts of labels and clusters, in the order of the reports.
LABEL_COUNTS = _explain(
    {
        "n": "rows that are scored",
        "n_dropped": "rows left out: no label or no cluster",
        "n_noise": "rows whose cluster is noise",
        "n_labels": "different labels",
        "n_clusters": "different clusters",
    }
)

#: The counts of points and clusters, in the order of the reports.
POINT_COUNTS = _explain(
    {
        "n": "points that are scored",
        "n_dropped": "rows left out: no vector or no cluster",
        "n_noise": "points whose cluster is noise",
        "n_dims": "coordinates of a point",
        "n_clusters": "clusters, including those of one point",
        "n_singletons": "clusters of one point",
    }
)
