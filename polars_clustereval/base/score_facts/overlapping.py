"""overlapping: facts about scores that compare overlapping clusters with overlapping labels."""

from __future__ import annotations

from functools import partial

from .entry import Entry

__all__ = ["OVERLAPPING"]

_score_of_overlapping = partial(
    Entry,
    kind="external",
    family="overlapping clusters",
    table="overlapping_report",
    range="[0, 1]",
    best="1",
    special_cases="NULL if no id is in both tables.",
    cost="Ids with the same labels and the same clusters are counted together. The running time "
    "then grows with a sum over all labels, all clusters, and all pairs of a label and a cluster. "
    "Each term of the sum is the square of a number: for a label, the number of different label "
    "sets that contain it; for a cluster, the number of different cluster sets that contain it; "
    "and for a pair, the number of different combinations of both sets that contain the pair. If "
    "nothing overlaps, each of these numbers is 1.",
)
_LFK = (
    "Lancichinetti, Fortunato and Kertesz (2009), Detecting the overlapping and hierarchical "
    "community structure in complex networks, doi:10.1088/1367-2630/11/3/033015."
)
_MGH = (
    "McDaid, Greene and Hurley (2011), Normalized mutual information to evaluate overlapping "
    "community finding algorithms, https://arxiv.org/abs/1110.2515."
)
_AMIGO = (
    "Amigo, Gonzalo, Artiles and Verdejo (2009), A comparison of extrinsic clustering evaluation "
    "metrics based on formal constraints, doi:10.1007/s10791-008-9066-8."
)
_ROSSETTI = (
    "Rossetti, Pappalardo and Rinzivillo (2016), A novel approach to evaluate community detection "
    "algorithms on ground truth, doi:10.1007/978-3-319-30569-1_10."
)
_NF1_OF_CDLIB = (
    "If several labels tie for the most ids in a cluster, cdlib counts all of these labels. It "
    "counts each id only in the first of the id's clusters, and it rounds each F1 score to two "
    "digits."
)

OVERLAPPING = (
    _score_of_overlapping(
        name="omega_index",
        title="Omega index",
        definition="Share of pairs of ids with as many common labels as common clusters, "
        "corrected for chance. The index is (O − E) / (1 − E), where O is this share, and E is "
        "the share that would be expected if these two numbers were independent. It equals the "
        "adjusted Rand index if nothing overlaps.",
        range="up to 1",
        meaning="agreement on pairs of ids, corrected for chance",
        special_cases="1 if there is a number m such that every pair of ids has exactly m labels "
        "and exactly m clusters in common, or if there is only one id. NULL if no id is in both "
        "tables.",
        source="Collins and Dent (1988), Omega: a general formulation of the Rand index of cluster "
        "recovery suitable for non-disjoint solutions, doi:10.1207/s15327906mbr2302_6.",
        elsewhere={"cdlib": "omega", "CluSim": "omega_index"},
        differs="CluSim returns NaN if both clusterings are trivial.",
    ),
    _score_of_overlapping(
        name="overlapping_nmi_lfk",
        title="Overlapping normalized mutual information (LFK)",
        definition="Share of the entropy of a label or cluster that its best match explains, "
        "averaged over labels and clusters. The score is 1 − (h_L + h_C) / 2, where h_L is the "
        "mean over all labels X of the share of H(X) that remains when the best cluster is known, "
        "and h_C is the corresponding mean over all clusters.",
        meaning="mean explained share of the entropy of a set",
        special_cases="A label or cluster that contains all ids has no entropy. It counts as fully "
        "known if the other side also has such a set, and otherwise as not known at all. NULL if "
        "no id is in both tables.",
        source=_LFK,
        elsewhere={"cdlib": "overlapping_normalized_mutual_information_LFK"},
    ),
    _score_of_overlapping(
        name="overlapping_nmi_mgh",
        title="Overlapping normalized mutual information (MGH)",
        definition="Information that best matches give about labels and about clusters, averaged "
        "over both sides, as a share of the larger total entropy. The score is (I_L + I_C) / (2 "
        "max(H_L, H_C)), where H_L is the sum of H(X) over all labels, I_L is the sum of the "
        "information that the best cluster of each label gives about it, and H_C and I_C are the "
        "corresponding sums for clusters.",
        meaning="explained share of the entropy of all sets",
        special_cases="1 if every label and every cluster contains all ids. NULL if no id is in "
        "both tables.",
        source=_MGH,
        elsewhere={"cdlib": "overlapping_normalized_mutual_information_MGH"},
    ),
    _score_of_overlapping(
        name="extended_bcubed_precision",
        title="Extended B-cubed precision",
        definition="Share of the common clusters of two ids that their common labels justify, "
        "averaged over the ids. For each id, min(c, l) / c is averaged over all ids with c > 0 "
        "(including the id itself), and the precision is the mean of these values over the ids.",
        meaning="share of common clusters that labels justify",
        source=_AMIGO,
    ),
    _score_of_overlapping(
        name="extended_bcubed_recall",
        title="Extended B-cubed recall",
        definition="Share of the common labels of two ids that their common clusters recover, "
        "averaged over the ids. For each id, min(c, l) / l is averaged over all ids with l > 0 "
        "(including the id itself), and the recall is the mean of these values over the ids.",
        meaning="share of common labels that clusters recover",
        source=_AMIGO,
    ),
    _score_of_overlapping(
        name="extended_bcubed_f_score",
        title="Extended B-cubed F score",
        definition="Weighted harmonic mean of extended B-cubed precision and recall. The F score "
        "is (1 + β²) P R / (β² P + R), where P and R are extended_bcubed_precision and "
        "extended_bcubed_recall, and β is 1 by default.",
        meaning="harmonic mean of extended precision and recall",
        source=_AMIGO,
    ),
    _score_of_overlapping(
        name="best_match_f1",
        title="F1 of the best matches",
        definition="F1 score of a cluster and its best match, averaged over all clusters. The "
        "best match of a cluster is the label with the most ids in the cluster.",
        meaning="mean F1 score of a cluster and its best label",
        special_cases="If several labels tie for the most ids in a cluster, the smallest of these "
        "labels is the match, and a remaining tie goes to the label that sorts first. NULL if no "
        "id is in both tables.",
        source=_ROSSETTI,
        differs=f"cdlib calls this score f1. {_NF1_OF_CDLIB}",
    ),
    _score_of_overlapping(
        name="label_coverage",
        title="Coverage of the labels by best matches",
        definition="Share of labels that are the best match of at least one cluster.",
        meaning="share of labels that are a best match",
        source=_ROSSETTI,
    ),
    _score_of_overlapping(
        name="cluster_redundancy",
        title="Redundancy of the clusters",
        definition="Number of clusters divided by the number of labels that are the best match of "
        "at least one cluster.",
        range="[1, ∞)",
        meaning="number of clusters per label that is a best match",
        source=_ROSSETTI,
    ),
    _score_of_overlapping(
        name="nf1",
        title="Normalized F1 (NF1)",
        definition="F1 score of the best matches, lowered by labels without a match and by "
        "clusters that share a match. The score is best_match_f1 · label_coverage / "
        "cluster_redundancy.",
        meaning="F1 of matches, lowered by gaps and duplicates",
        source=_ROSSETTI,
        differs=_NF1_OF_CDLIB,
    ),
)
