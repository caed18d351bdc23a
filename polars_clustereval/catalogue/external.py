"""external: facts about scores that compare labels with clusters, from their docstrings."""

from __future__ import annotations

from polars_clustereval.base.metric_facts import MetricFacts, metric_facts
from polars_clustereval.base.score_facts import PASS_AND_COUNTS, Entry, Scale

__all__ = ["list_external_entries"]

# The facts that an entry repeats.
_SHARED_FACTS = {*MetricFacts._fields} & {*Entry._fields} - {"cost"}

#: Words for the values of a metric in the literature.
_SCALES = {
    "adjusted_rand_score": Scale(
        ((0.90, "excellent"), (0.80, "good"), (0.65, "moderate")),
        "poor",
        "Steinley 2004",
        "Properties of the Hubert-Arabie adjusted Rand index, doi:10.1037/1082-989X.9.3.386",
    )
}


def list_external_entries() -> list[Entry]:
    """Return the entries of the metrics of both reports; shared ones are external_report's."""
    return [
        Entry(
            **{name: x for name, x in facts._asdict().items() if name in _SHARED_FACTS},
            kind="external",
            cost=f"{PASS_AND_COUNTS} {facts.cost}".rstrip(),
            scale=_SCALES.get(facts.name),
        )
        for facts in metric_facts().values()
    ]
