"""The same metrics by another author: scikit-learn's function for each one it has."""

from __future__ import annotations

from sklearn.metrics import cluster

SKLEARN = {
    "rand_score": cluster.rand_score,
    "adjusted_rand_score": cluster.adjusted_rand_score,
    "fowlkes_mallows_score": cluster.fowlkes_mallows_score,
    "mutual_info_score": cluster.mutual_info_score,
    "normalized_mutual_info_score": cluster.normalized_mutual_info_score,
    "adjusted_mutual_info_score": cluster.adjusted_mutual_info_score,
    "homogeneity_score": cluster.homogeneity_score,
    "completeness_score": cluster.completeness_score,
    "v_measure_score": cluster.v_measure_score,
}
