"""Reports on the features that distinguish clusters."""

from __future__ import annotations

from dataclasses import replace

from polars_clustereval import cluster_profile, column_profile

from .record import Report, explain

__all__ = ["PROFILES"]

_CLUSTER_PROFILE_REPORT = Report(
    command="profile",
    show="clusters",
    function=cluster_profile,
    description="what distinguishes each cluster from the rest, largest v-tests first",
    no_rows="no rows with a cluster",
    heading=(("cluster",), ("columns",)),
    meanings=explain(
        {
            "cluster": "the cluster",
            "column_name": "the column",
            "kind": "number, date (in files, days since 1970-01-01), category or missing",
            "category": "the category whose share is compared",
            "n": "rows of the cluster with a value, or with the category",
            "mean": "their mean, or the share of the category",
            "std": "their standard deviation",
            "rest_mean": "mean or share in all other clusters",
            "difference": "mean - rest_mean",
            "v_test": "the difference, in standard errors",
        }
    ),
    any_magnitude=True,
    # It is unknown for categories, and the other columns are the ones from which the test is
    # computed.
    left_out=("std",),
    first_rows=("cluster", 3),
)

_ASSOCIATIONS = replace(
    _CLUSTER_PROFILE_REPORT,
    variant="association",
    options={
        "weight": "how many times each row counts",
        "noise_as": "with --noise, what noise counts as: cluster, drop (not at all)",
    },
    function=column_profile,
    description="which columns separate the clusters, the strongest first",
    meanings=explain(
        {
            "column_name": "the column",
            "kind": "number, date or category",
            "n": "rows with a value and a cluster",
            "n_missing": "rows with a cluster, but no value",
            "n_categories": "different categories",
            "eta_squared": ("high", "share of its variance between the clusters"),
            "cramers_v": ("high", "association of its categories with the clusters"),
            "association": ("high", "square root of eta_squared, or cramers_v"),
        }
    ),
    left_out=(),
    first_rows=None,
)

PROFILES = (_CLUSTER_PROFILE_REPORT, _ASSOCIATIONS)
