"""words: terms of the field that are no names here, and what comes nearest to them."""

from __future__ import annotations

#: What describe says about a term. Names of this package are in single quotes.
WORDS = {
    "accuracy": "it is 'clustering_accuracy' here, of the best one-to-one matching",
    "aic": "not here, because it needs a model; for the number of clusters see 'choose_k'",
    "batch_mixing": "it is 'lisi' or 'kbet_acceptance_rate' here, with the batch as cluster",
    "clisi_knn": "it is 'lisi' here, with the label as cluster",
    "coherence": "not here, because it needs the words of topics; nearest is 'silhouette_score' "
    "of the documents' vectors",
    "cophenetic": "not here, because it needs a tree; score cuts of the tree with 'elbow'",
    "correlation": "it is the parameter 'distance' cosine of centered rows here; see "
    "docs/distances.md",
    "dbscan": "not here, because it makes clusters; 'density_based_validity' rates them",
    "density": "of points, it is 'density_based_validity' here; of the clusters of a graph, a "
    "column of 'graph_cluster_report'",
    "distance_matrix": "make a table of pairs with 'distances_from_matrix', for "
    "'silhouette_score_from_distances' and its like",
    "distortion": "it is 'ssw' here, a sum of squares; see also 'compactness', a mean distance",
    "dtw": "compute it elsewhere, and pass a table of pairs to 'silhouette_score_from_distances'",
    "edit_distance": "pass a table of pairs to 'silhouette_score_from_distances'; see "
    "docs/distances.md",
    "f1": "it is 'pair_f_score', 'bcubed_f_score' or 'class_f_measure' here",
    "giant_cluster": "a finding of 'cluster_size_findings', which needs no labels; see "
    "docs/findings.md",
    "gower": "it is the parameter 'distance' cityblock of scaled and half one-hot columns here; "
    "see docs/distances.md",
    "hamming": "it is the parameter 'distance' cityblock of half one-hot columns here; see "
    "docs/distances.md",
    "haversine": "pass a table of pairs to 'silhouette_score_from_distances'; see "
    "docs/distances.md",
    "hdbscan": "not here, because it makes clusters; 'density_based_validity' rates them, as "
    "hdbscan's validity_index does",
    "hopkins": "not here; nearest is 'gap_statistic' at k = 1",
    "hungarian": "the best one-to-one matching is 'matching_table'; its share of rows is "
    "'clustering_accuracy' in 'matching_report'",
    "ilisi_knn": "it is 'lisi' here, with the batch as cluster",
    "jaccard_distance": "pass a table of pairs to 'silhouette_score_from_distances'; see "
    "docs/distances.md",
    "kbet": "it is 'kbet_acceptance_rate' here, with the batch as cluster",
    "knee": "it is a criterion of 'choose_k' here: 'kneedle', from the table 'elbow'",
    "knn": "the table of neighbors of 'neighborhood_report'; 'nearest_neighbors' computes it",
    "largest_component_share": "it is a column of 'neighborhood_clusters', the share of a cluster "
    "that is in its largest component; the mean over the clusters is 'mean_component_share'",
    "largest_cluster": "its size and its share are columns of 'clustering_summary'; "
    "'cluster_size_findings' tells whether it is far larger than the others",
    "levenshtein": "pass a table of pairs to 'silhouette_score_from_distances'; see "
    "docs/distances.md",
    "manhattan": "it is cityblock here, a value of the parameter 'distance'",
    "medoid": "not here; 'center' is the mean or the median of each coordinate",
    "outliers": "mark them as noise: see the parameters 'noise' and 'noise_as'",
    "outlying_cluster": "a finding of 'cluster_size_findings': a cluster is far larger than the "
    "others; see docs/findings.md",
    "partition_coefficient": "not here, because memberships are not graded; for ids in several "
    "clusters see 'overlapping_report'",
    "precision": "it is 'pair_precision', 'bcubed_precision' or 'exact_match_precision' here",
    "precomputed": "pass a table of pairs to 'silhouette_score_from_distances', "
    "'dunn_index_from_distances' or 'pairwise_report_from_distances'",
    "recall": "it is 'pair_recall', 'bcubed_recall' or 'exact_match_recall' here",
    "sample_weight": "it is the parameter 'weight' here, for tables of labels",
    "transitive_closure": "it is 'connected_components' here at one threshold, and "
    "'threshold_report' at all",
    "trustworthiness": "not here, because it rates a projection; to rate clusters of the projected "
    "points see 'internal_report'",
}
