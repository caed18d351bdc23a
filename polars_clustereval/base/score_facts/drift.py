"""drift: facts about scores that compare a run with the previous run."""

from __future__ import annotations

from functools import partial

from .entry import Entry

__all__ = ["DRIFT"]

_score_of_drift = partial(
    Entry,
    kind="relative",
    family="drift between runs",
    table="run_drift",
    range="[0, 1]",
    best="low",
    source="Spiliopoulou, Ntoutsi, Theodoridis and Schult (2006), MONIC: modeling and monitoring "
    "cluster transitions, doi:10.1145/1150402.1150491, for the links.",
    cost="The runs are joined by id, and the pairs of clusters that share ids are counted. The "
    "running time grows with the number of ids.",
)

DRIFT = (
    _score_of_drift(
        name="moved_rate",
        title="Rate of ids that have moved",
        definition="Share of the ids in both runs whose old and new clusters are not linked.",
        meaning="share of the ids in both runs that have moved",
        special_cases="NULL if no id is in both runs.",
    ),
    _score_of_drift(
        name="left_rate",
        title="Rate of ids that have left",
        definition="Share of the ids in the earlier run that are not in the later run.",
        best="",
        meaning="share of the earlier ids that have left",
        special_cases="NULL if the earlier run is empty.",
    ),
    _score_of_drift(
        name="joined_rate",
        title="Rate of ids that have joined",
        definition="Share of the ids in the later run that are not in the earlier run.",
        best="",
        meaning="share of the later ids that have joined",
        special_cases="NULL if the later run is empty.",
    ),
    _score_of_drift(
        name="churn",
        title="Churn",
        definition="Share of the ids in either run that have moved, left or joined.",
        meaning="share of all ids that have moved, left or joined",
        special_cases="NULL if both runs are empty.",
    ),
    _score_of_drift(
        name="population_stability_index",
        title="Population stability index (PSI)",
        definition="Change in the clusters' shares of the rows from one run to the next, with "
        "clusters matched by their common ids. The index is Σ (p − q) ln(p / q) over all clusters, "
        "where p and q are the cluster's shares of the rows in the two runs. A cluster without a "
        "counterpart in a run counts as half a row. Another option matches clusters by name.",
        range="[0, ∞)",
        best="0",
        meaning="change in cluster sizes; 0.25 is a major change",
        special_cases="NULL if either run is empty.",
        source="Yurdakul and Naranjo (2020), Statistical properties of the population stability "
        "index, doi:10.21314/JRMV.2020.227.",
        differs="If a cluster is missing from a run, other implementations add a small share of "
        "their own choice or return infinity.",
    ),
)
