"""external: facts about scores that compare labels with clusters, from their docstrings."""

from __future__ import annotations

from polars_clustereval.base.metric_facts import MetricFacts, metric_facts
from polars_clustereval.base.score_facts import PASS_AND_COUNTS, Entry, Scale

__all__ = ["list_external_entries"]

#: Words for the values of a metric in the literature.
_SCALES = {
    "adjusted_rand_score": Scale(
        ((0.90, "excellent"), (0.80, "good"), (0.65, "moderate")),
        "poor",
        "Steinley 2004",
        "Properties of the Hubert-Arabie adjusted Rand index, doi:10.1037/1082-989X.9.3.386",
    )
}


def _build_entry(facts: MetricFacts) -> Entry:
    """Return the catalogue entry for a metric, built from the facts about the metric."""
    return Entry(
        name=facts.name,
        title=facts.title,
        kind="external",
        family=facts.family,
        table=facts.table,
        definition=facts.definition,
        range=facts.range,
        best=facts.best,
        meaning=facts.meaning,
        special_cases=facts.special_cases,
        source=facts.source,
        cost=f"{PASS_AND_COUNTS} {facts.cost}".rstrip(),
        elsewhere=facts.elsewhere,
        differs=facts.differs,
        scale=_SCALES.get(facts.name),
    )


def list_external_entries() -> list[Entry]:
    """Return the entries of the metrics of both reports; shared ones are external_report's."""
    return [_build_entry(facts) for facts in metric_facts().values()]
