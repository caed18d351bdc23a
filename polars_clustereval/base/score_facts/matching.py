"""matching: facts about scores of the best one-to-one matching between labels and clusters."""

from __future__ import annotations

from functools import partial

from .entry import PASS_AND_COUNTS, Entry

__all__ = ["MATCHING"]

_score_of_matching = partial(
    Entry,
    kind="external",
    family="one-to-one matching",
    table="matching_report",
    best="1",
    special_cases="1 if there is only one label and only one cluster. NULL if there are no rows.",
    cost=f"{PASS_AND_COUNTS} In the worst case, the running time is cubic in the number of labels "
    "and clusters that have no obvious match.",
)
_LUO = "Luo (2005), On coreference resolution performance metrics, HLT/EMNLP, H05-1004."

MATCHING = (
    _score_of_matching(
        name="clustering_accuracy",
        title="Clustering accuracy (ACC)",
        definition="Share of rows whose label is matched with their cluster, for the one-to-one "
        "matching with the largest share. The accuracy is (1/n) max Σ n_ij, where the maximum is "
        "over all matchings and the sum is over the matched pairs. It is also called the "
        "mention-based CEAF.",
        range="[0, 1]",
        meaning="share of rows in the best one-to-one matching",
        source="Meila and Heckerman (2001), An experimental comparison of model-based clustering "
        "methods, doi:10.1023/A:1007648401407.",
        elsewhere={"ELKI": "MaximumMatchingAccuracy"},
    ),
    _score_of_matching(
        name="normalized_clustering_accuracy",
        title="Normalized clustering accuracy (NCA)",
        definition="Mean share of a label's rows that are in its matched cluster, for the best "
        "one-to-one matching, corrected for chance. The accuracy is (s − 1) / (k − 1), where s is "
        "the maximum of Σ n_ij / a_i over all matchings, and k is the number of labels or the "
        "number of clusters, whichever is larger.",
        range="[-0.5, 1]",
        meaning="mean matched share of a label, above chance",
        source="Gagolewski (2025), Normalised clustering accuracy: an asymmetric external cluster "
        "validity measure, doi:10.1007/s00357-024-09482-2.",
        elsewhere={"genieclust": "normalized_clustering_accuracy"},
        differs="genieclust requires equal numbers of clusters and labels. If you pad the "
        "contingency table with rows or columns of zeros, it returns the same values.",
    ),
    _score_of_matching(
        name="pair_sets_index",
        title="Pair sets index (PSI)",
        definition="Overlap of matched labels and clusters relative to the larger of the two, "
        "averaged over the best one-to-one matching and corrected for chance. The index is max(0, "
        "(s − E) / (k − E)), where s is the maximum of Σ n_ij / max(a_i, b_j) over all matchings, "
        "k is the number of labels or the number of clusters, whichever is larger, and E is (1/n) "
        "Σ min(a_i, b_i), with the sizes a_i and b_i in descending order.",
        range="[0, 1]",
        meaning="mean overlap of matched sets, above chance",
        source="Rezaei and Franti (2016), Set matching measures for external cluster validity, "
        "doi:10.1109/TKDE.2016.2551240.",
        elsewhere={"genieclust": "pair_sets_index", "ELKI": "PairSetsIndex"},
    ),
    _score_of_matching(
        name="ceaf_precision",
        title="CEAF precision, by entities",
        definition="F1 score of a cluster and its matched label, averaged over all clusters, for "
        "the best one-to-one matching. The precision is Φ divided by the number of clusters, "
        "where Φ is the maximum of Σ 2 n_ij / (a_i + b_j) over all matchings.",
        range="[0, 1]",
        meaning="mean F1 score of a cluster and its match",
        source=_LUO,
    ),
    _score_of_matching(
        name="ceaf_recall",
        title="CEAF recall, by entities",
        definition="F1 score of a label and its matched cluster, averaged over all labels, for "
        "the best one-to-one matching. The recall is Φ divided by the number of labels, where Φ "
        "is the maximum of Σ 2 n_ij / (a_i + b_j) over all matchings.",
        range="[0, 1]",
        meaning="mean F1 score of a label and its match",
        source=_LUO,
    ),
    _score_of_matching(
        name="ceaf_f_score",
        title="CEAF F score, by entities",
        definition="Weighted harmonic mean of CEAF precision and CEAF recall.",
        range="[0, 1]",
        meaning="harmonic mean of CEAF precision and recall",
        source=_LUO,
    ),
)
