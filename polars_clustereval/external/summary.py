"""summary: the external metrics one below the other, for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.data_arguments import table_function

from .contingency import LabelOptions, read_contingency_table
from .report import external_scores, score_partitions

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .information import NormalizedMethod

#: For each metric of external_report, in its order: its best value as text, "high" or "low" if that
#: is no number, None if none is best; and what it measures, in a few words.
METRIC_MEANINGS: dict[str, tuple[str | None, str]] = {
    "rand_score": ("1", "pairs of rows on which both agree"),
    "adjusted_rand_score": ("1", "Rand index corrected for chance: 0 if random"),
    "fowlkes_mallows_score": ("1", "geometric mean of pair precision, recall"),
    "pair_precision": ("1", "pairs in one cluster that have one label"),
    "pair_recall": ("1", "pairs of one label that are in one cluster"),
    "pair_f_score": ("1", "harmonic mean of pair precision, recall"),
    "jaccard_index": ("1", "pairs together in both, of those in either"),
    "mirkin_metric": ("0", "ordered pairs of rows on which they differ"),
    "hubert_index": ("1", "pairs that agree minus pairs that differ"),
    "kulczynski_index": ("1", "mean of pair precision and pair recall"),
    "mcnemar_index": (None, "split pairs minus joined pairs, scaled"),
    "phi_index": ("1", "correlation of being together in each"),
    "correlation_distance": ("0", "angle between the partitions, of a half turn"),
    "rogers_tanimoto_index": ("1", "pairs that agree; differing ones double"),
    "russell_rao_index": (None, "pairs together in both, of all"),
    "sokal_sneath_1_index": ("1", "Jaccard index; differing pairs double"),
    "sokal_sneath_2_index": ("1", "pairs that agree; differing ones half"),
    "southwood_index": ("high", "pairs together in both per pair in one only"),
    "adjusted_fowlkes_mallows_score": ("1", "Fowlkes-Mallows score corrected for chance"),
    "multinomial_adjusted_rand_score": ("1", "Rand index corrected where labels are a sample"),
    "label_entropy": (None, "entropy of the labels, in nats"),
    "cluster_entropy": (None, "entropy of the clusters, in nats"),
    "joint_entropy": (None, "entropy of label and cluster, in nats"),
    "label_entropy_given_cluster": ("0", "labels mixed in clusters, in nats"),
    "cluster_entropy_given_label": ("0", "labels split over clusters, in nats"),
    "mutual_info_score": (None, "information that both share, in nats"),
    "normalized_mutual_info_score": ("1", "shared information over the mean entropy"),
    "adjusted_mutual_info_score": ("1", "NMI corrected for chance: 0 if random"),
    "expected_mutual_info": (None, "mutual information of random labelings"),
    "homogeneity_score": ("1", "1 if no cluster mixes labels"),
    "completeness_score": ("1", "1 if no label is split"),
    "v_measure_score": ("1", "mean of homogeneity and completeness"),
    "variation_of_information": ("0", "information that only one has, in nats"),
    "normalized_variation_of_information": ("0", "variation of information over joint entropy"),
    "normalized_information_distance": ("0", "1 - shared information over greater entropy"),
    "purity": ("1", "rows with the majority label of their cluster"),
    "inverse_purity": ("1", "rows in the majority cluster of their label"),
    "class_f_measure": ("1", "best F1 score of any cluster for each label"),
    "split_join_distance": ("0", "rows to move to make one out of the other"),
    "bcubed_precision": ("1", "of a row's cluster, the share with its label"),
    "bcubed_recall": ("1", "of a row's label, the share in its cluster"),
    "bcubed_f_score": ("1", "harmonic mean of B-cubed precision, recall"),
    "element_centric_similarity": ("1", "overlap over the larger of label and cluster"),
    "exact_match_precision": ("1", "clusters that equal a label, row for row"),
    "exact_match_recall": ("1", "labels that equal a cluster, row for row"),
    "exact_match_f_score": ("1", "harmonic mean of exact match precision, recall"),
}


def _metric_meanings() -> pl.LazyFrame:
    """Return one row per metric: metric, best, meaning (see METRIC_MEANINGS) and place, from 0."""
    best, meanings = zip(*METRIC_MEANINGS.values(), strict=True)
    columns = {"metric": list(METRIC_MEANINGS), "best": best, "meaning": meanings}
    return pl.LazyFrame(columns).with_row_index("place")


@table_function
def external_summary(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    adjusted: bool = True,
) -> Frame:
    """The metrics of external_report in long form, with the best value and the meaning of each.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate. A LazyFrame is read when the result is collected, and streams.
    label, cluster : str or Expr
        True class and assigned cluster, of any groupable type. Rows with a NULL are left out.
    weight : str or Expr, optional
        Multiplicity of each row, a whole number >= 0. The check reads this column at once, of a
        LazyFrame too.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are evaluated separately. NULL is a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Count noise as an ordinary cluster, leave it out, or count each row as a cluster.
    average_method : {'arithmetic', 'geometric', 'min', 'max', 'joint'}
        Mean of the entropies in the normalized and adjusted mutual information; 'joint' is for the
        normalized one only, and needs adjusted=False.
    beta : float
        Weight in pair_f_score, v_measure_score and bcubed_f_score, at least 0.
    adjusted : bool
        False leaves out adjusted_mutual_info_score and expected_mutual_info, the slowest ones.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition and metric, sorted by partition and in the order
        of external_report: the partition columns, metric (its name), value (NULL if undefined),
        best (its best value as text: a number, 'high' or 'low'; NULL if none is best) and meaning
        (what it measures, in a few words).

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, a weight is not a whole number >= 0, noise
        has no equal in the type of cluster, or an option is unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.external_summary(tbl, label, cluster)``.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> four = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 0, 0, 1]})
    >>> summary = ce.external_summary(four, "label", "cluster")
    >>> summary.filter(pl.col("metric") == "purity").row(0)
    ('purity', 0.75, '1', 'rows with the majority label of their cluster')
    """
    scores = external_scores(average_method, beta, adjusted=adjusted)
    options = LabelOptions(weight=weight, partition_by=partition_by, noise=noise, noise_as=noise_as)
    table = read_contingency_table(frame, label, cluster, options, _SUMMARY_COLUMNS).cache_groups()
    report = score_partitions(table, scores, adjusted=adjusted).select(*table.keys, *scores)
    long = report.unpivot(index=list(table.keys), variable_name="metric", value_name="value")
    summary = long.join(_metric_meanings(), on="metric").sort(*table.keys, "place", nulls_last=True)
    return table.to_user_frame(frame, summary.select(*table.keys, *_SUMMARY_COLUMNS))


_SUMMARY_COLUMNS = ("metric", "value", "best", "meaning")
