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
    cost="Ids with the same labels and clusters are counted together. For each label, for each "
    "cluster and for each pair of both, the time then grows with the square of the number of "
    "different sets of labels and clusters that contain it; each of these numbers is 1 if nothing "
    "overlaps.",
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
    "If several labels have equally many ids of a cluster, cdlib counts all of them. It counts "
    "each id only in the first of its clusters, and rounds each F1 to two digits."
)

OVERLAPPING = (
    _score_of_overlapping(
        name="omega_index",
        title="Omega index",
        definition="(O − E) / (1 − E), where O is the share of pairs of ids that share as many "
        "labels as clusters, and E is the share expected if the two numbers were independent. It "
        "is the adjusted Rand index if nothing overlaps",
        range="up to 1",
        meaning="agreement of shared counts, corrected for chance",
        special_cases="1 if all pairs share equally many labels and equally many clusters and "
        "these two numbers are the same, and 1 for a single id. NULL if no id is in both tables.",
        source="Collins and Dent (1988), Omega: a general formulation of the Rand index of cluster "
        "recovery suitable for non-disjoint solutions, doi:10.1207/s15327906mbr2302_6.",
        elsewhere={"cdlib": "omega", "CluSim": "omega_index"},
        differs="CluSim returns NaN if both sides are trivial.",
    ),
    _score_of_overlapping(
        name="overlapping_nmi_lfk",
        title="Overlapping normalized mutual information (LFK)",
        definition="1 − (h_L + h_C) / 2, where h_L is the mean over labels of the share of H(X) "
        "that remains when the best cluster is known, and h_C is the same for clusters",
        meaning="mean known share of the entropy of a set",
        special_cases="A set of all ids has no entropy: it counts as fully known if the other side "
        "has such a set, too, and otherwise as not known at all. NULL if no id is in both tables.",
        source=_LFK,
        elsewhere={"cdlib": "overlapping_normalized_mutual_information_LFK"},
    ),
    _score_of_overlapping(
        name="overlapping_nmi_mgh",
        title="Overlapping normalized mutual information (MGH)",
        definition="(I_L + I_C) / (2 max(H_L, H_C)), where H_L is the sum of H(X) over labels, I_L "
        "is the sum of the information that their best clusters give, and H_C and I_C are the same "
        "for clusters",
        meaning="known share of the entropy of all sets",
        special_cases="1 if both sides have only sets of all ids. NULL if no id is in both tables.",
        source=_MGH,
        elsewhere={"cdlib": "overlapping_normalized_mutual_information_MGH"},
    ),
    _score_of_overlapping(
        name="extended_bcubed_precision",
        title="Extended B-cubed precision",
        definition="The mean over ids of the mean of min(c, l) / c over all ids with c > 0, "
        "including the id itself",
        meaning="shared clusters of two ids that labels justify",
        source=_AMIGO,
    ),
    _score_of_overlapping(
        name="extended_bcubed_recall",
        title="Extended B-cubed recall",
        definition="The mean over ids of the mean of min(c, l) / l over all ids with l > 0, "
        "including the id itself",
        meaning="shared labels of two ids that clusters recover",
        source=_AMIGO,
    ),
    _score_of_overlapping(
        name="extended_bcubed_f_score",
        title="Extended B-cubed F score",
        definition="(1 + β²) P R / (β² P + R), where P and R are extended_bcubed_precision and "
        "extended_bcubed_recall, and β is 1 unless given",
        meaning="harmonic mean of extended B-cubed",
        source=_AMIGO,
    ),
    _score_of_overlapping(
        name="best_match_f1",
        title="F1 of the best matches",
        definition="The mean over clusters of the F1 score of the cluster and its match, the label "
        "that has most of its ids",
        meaning="F1 of a cluster and its best label, on average",
        special_cases="If several labels have equally many ids of a cluster, the smallest of them "
        "is the match, or the lowest of several smallest ones. NULL if no id is in both tables.",
        source=_ROSSETTI,
        differs=f"In cdlib it is f1. {_NF1_OF_CDLIB}",
    ),
    _score_of_overlapping(
        name="label_coverage",
        title="Coverage of the labels by best matches",
        definition="The share of labels that are the match of a cluster",
        meaning="share of labels that are a best match",
        source=_ROSSETTI,
    ),
    _score_of_overlapping(
        name="cluster_redundancy",
        title="Redundancy of the clusters",
        definition="The number of clusters divided by the number of labels that are the match of a "
        "cluster",
        range="[1, ∞)",
        meaning="clusters per label that is a best match",
        source=_ROSSETTI,
    ),
    _score_of_overlapping(
        name="nf1",
        title="Normalized F1 (NF1)",
        definition="best_match_f1 · label_coverage / cluster_redundancy",
        meaning="F1 of matches, lowered by gaps and duplicates",
        source=_ROSSETTI,
        differs=_NF1_OF_CDLIB,
    ),
)
