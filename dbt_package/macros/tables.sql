{# Written by `make dbt` from the package polars_clustereval: do not edit. #}

{# Types of adapters that have queries, next to duckdb. #}
{% macro adapters() %}{{ return(['bigquery', 'clickhouse', 'postgres', 'redshift', 'snowflake', 'spark']) }}{% endmacro %}

{# Sparse contingency table of labels and clusters, with one row per nonempty cell. #}
{% macro contingency_matrix(
  tbl, label, cluster, weight=none, partition_by=none, noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('contingency_matrix_query', 'clustereval'), ['partition_key', 'label', 'cluster'], metrics, {
    'tbl': tbl,
    'label': clustereval.column('label', label),
    'cluster': clustereval.column('cluster', cluster),
    'weight': none if weight is none else clustereval.column('weight', weight),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__contingency_matrix_query(given) -%}
  {{- clustereval.call_macro('contingency_matrix', given) -}}
{%- endmacro %}

{# Counts of unordered pairs of rows with the same label, the same cluster, both or neither. #}
{% macro pair_counts(
  tbl, label, cluster, weight=none, partition_by=none, noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('pair_counts_query', 'clustereval'), ['partition_key'], metrics, {
    'tbl': tbl,
    'label': clustereval.column('label', label),
    'cluster': clustereval.column('cluster', cluster),
    'weight': none if weight is none else clustereval.column('weight', weight),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__pair_counts_query(given) -%}
  {{- clustereval.call_macro('pair_counts', given) -}}
{%- endmacro %}

{# All measures of entity resolution for one or more clusterings, in one pass over the rows. #}
{% macro entity_resolution_report(
  tbl, label, cluster, weight=none, partition_by=none, noise=none, noise_as=none, split_cost='unit', merge_cost='unit', beta=1.0, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('entity_resolution_report_query', 'clustereval'), ['partition_key'], metrics, {
    'tbl': tbl,
    'label': clustereval.column('label', label),
    'cluster': clustereval.column('cluster', cluster),
    'weight': none if weight is none else clustereval.column('weight', weight),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
    'split_cost': clustereval.choice('split_cost', split_cost, ['unit', 'product', 'entropy']),
    'merge_cost': clustereval.choice('merge_cost', merge_cost, ['unit', 'product', 'entropy']),
    'beta': clustereval.number('beta', beta) | trim,
  }) }}
{%- endmacro %}

{% macro duckdb__entity_resolution_report_query(given) -%}
  {{- clustereval.call_macro('entity_resolution_report', given) -}}
{%- endmacro %}

{# All external metrics for one or many clusterings, computed in one pass over the rows. #}
{% macro external_report(
  tbl, label, cluster, weight=none, partition_by=none, noise=none, noise_as=none, average_method='arithmetic', beta=1.0, adjusted=true, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('external_report_query', 'clustereval'), ['partition_key'], metrics, {
    'tbl': tbl,
    'label': clustereval.column('label', label),
    'cluster': clustereval.column('cluster', cluster),
    'weight': none if weight is none else clustereval.column('weight', weight),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
    'average_method': clustereval.choice('average_method', average_method, ['arithmetic', 'geometric', 'min', 'max', 'joint']),
    'beta': clustereval.number('beta', beta) | trim,
    'adjusted': adjusted and (metrics is none or 'adjusted_mutual_info_score' in metrics or 'expected_mutual_info' in metrics),
  }) }}
{%- endmacro %}

{% macro duckdb__external_report_query(given) -%}
  {{- clustereval.call_macro('external_report', given) -}}
{%- endmacro %}

{# Size, majority label, purity and entropy of each cluster. #}
{% macro external_cluster_report(
  tbl, label, cluster, weight=none, partition_by=none, noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('external_cluster_report_query', 'clustereval'), ['partition_key', 'cluster'], metrics, {
    'tbl': tbl,
    'label': clustereval.column('label', label),
    'cluster': clustereval.column('cluster', cluster),
    'weight': none if weight is none else clustereval.column('weight', weight),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__external_cluster_report_query(given) -%}
  {{- clustereval.call_macro('external_cluster_report', given) -}}
{%- endmacro %}

{# Size, majority cluster, recall and entropy of each label. #}
{% macro external_label_report(
  tbl, label, cluster, weight=none, partition_by=none, noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('external_label_report_query', 'clustereval'), ['partition_key', 'label'], metrics, {
    'tbl': tbl,
    'label': clustereval.column('label', label),
    'cluster': clustereval.column('cluster', cluster),
    'weight': none if weight is none else clustereval.column('weight', weight),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__external_label_report_query(given) -%}
  {{- clustereval.call_macro('external_label_report', given) -}}
{%- endmacro %}

{# B-cubed precision and recall of each row. #}
{% macro bcubed_samples(
  tbl, label, cluster, id=none, partition_by=none, noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('bcubed_samples_query', 'clustereval'), ['partition_key', 'id'], metrics, {
    'tbl': tbl,
    'label': clustereval.column('label', label),
    'cluster': clustereval.column('cluster', cluster),
    'id': clustereval.row_id(id),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__bcubed_samples_query(given) -%}
  {{- clustereval.call_macro('bcubed_samples', given) -}}
{%- endmacro %}

{# Size and centroid of each cluster. #}
{% macro centroids(
  tbl, vector, cluster, partition_by=none, distance='euclidean', noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('centroids_query', 'clustereval'), ['partition_key', 'cluster'], metrics, {
    'tbl': tbl,
    'vector': clustereval.columns('vector', vector),
    'cluster': clustereval.column('cluster', cluster),
    'distance': clustereval.choice('distance', distance, ['euclidean', 'sqeuclidean', 'cosine']),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__centroids_query(given) -%}
  {{- clustereval.call_macro('centroids', given) -}}
{%- endmacro %}

{# All internal indices that need only the centers of the clusters. #}
{% macro internal_report(
  tbl, vector, cluster, partition_by=none, distance='euclidean', noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('internal_report_query', 'clustereval'), ['partition_key'], metrics, {
    'tbl': tbl,
    'vector': clustereval.columns('vector', vector),
    'cluster': clustereval.column('cluster', cluster),
    'distance': clustereval.choice('distance', distance, ['euclidean', 'sqeuclidean', 'cosine']),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__internal_report_query(given) -%}
  {{- clustereval.call_macro('internal_report', given) -}}
{%- endmacro %}

{# Size, centroid and spread of each cluster, and its nearest cluster. #}
{% macro internal_cluster_report(
  tbl, vector, cluster, partition_by=none, distance='euclidean', noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('internal_cluster_report_query', 'clustereval'), ['partition_key', 'cluster'], metrics, {
    'tbl': tbl,
    'vector': clustereval.columns('vector', vector),
    'cluster': clustereval.column('cluster', cluster),
    'distance': clustereval.choice('distance', distance, ['euclidean', 'sqeuclidean', 'cosine']),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__internal_cluster_report_query(given) -%}
  {{- clustereval.call_macro('internal_cluster_report', given) -}}
{%- endmacro %}

{# Internal indices that need the distance from every point to every center. #}
{% macro neighbor_report(
  tbl, vector, cluster, partition_by=none, distance='euclidean', noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('neighbor_report_query', 'clustereval'), ['partition_key'], metrics, {
    'tbl': tbl,
    'vector': clustereval.columns('vector', vector),
    'cluster': clustereval.column('cluster', cluster),
    'distance': clustereval.choice('distance', distance, ['euclidean', 'sqeuclidean', 'cosine']),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__neighbor_report_query(given) -%}
  {{- clustereval.call_macro('neighbor_report', given) -}}
{%- endmacro %}

{# Silhouette of each point: how much nearer it is to its own cluster than to any other cluster. #}
{% macro silhouette_samples(
  tbl, vector, cluster, id=none, partition_by=none, distance='euclidean', noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('silhouette_samples_query', 'clustereval'), ['partition_key', 'id'], metrics, {
    'tbl': tbl,
    'vector': clustereval.columns('vector', vector),
    'cluster': clustereval.column('cluster', cluster),
    'id': clustereval.row_id(id),
    'distance': clustereval.choice('distance', distance, ['sqeuclidean', 'cosine']),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__silhouette_samples_query(given) -%}
  {{- clustereval.call_macro('silhouette_samples', given) -}}
{%- endmacro %}

{# Mean silhouette of each cluster. #}
{% macro silhouette_clusters(
  tbl, vector, cluster, partition_by=none, distance='euclidean', noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('silhouette_clusters_query', 'clustereval'), ['partition_key', 'cluster'], metrics, {
    'tbl': tbl,
    'vector': clustereval.columns('vector', vector),
    'cluster': clustereval.column('cluster', cluster),
    'distance': clustereval.choice('distance', distance, ['sqeuclidean', 'cosine']),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__silhouette_clusters_query(given) -%}
  {{- clustereval.call_macro('silhouette_clusters', given) -}}
{%- endmacro %}

{# Mean silhouette of a clustering: exact, simplified, bounded, or estimated from a sample. #}
{% macro silhouette_score(
  tbl, vector, cluster, partition_by=none, distance='euclidean', noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('silhouette_score_query', 'clustereval'), ['partition_key'], metrics, {
    'tbl': tbl,
    'vector': clustereval.columns('vector', vector),
    'cluster': clustereval.column('cluster', cluster),
    'distance': clustereval.choice('distance', distance, ['sqeuclidean', 'cosine']),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__silhouette_score_query(given) -%}
  {{- clustereval.call_macro('silhouette_score', given) -}}
{%- endmacro %}

{# The fate of each cluster from one run to the next, such as kept, split, merged or gone. #}
{% macro run_transitions(
  tbl_before, tbl_after, id, cluster, partition_by=none, threshold=0.5, min_share=0.0, noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('run_transitions_query', 'clustereval'), ['partition_key', 'cluster_before', 'cluster_after'], metrics, {
    'tbl_before': tbl_before,
    'tbl_after': tbl_after,
    'id': clustereval.column('id', id),
    'cluster': clustereval.column('cluster', cluster),
    'threshold': clustereval.number('threshold', threshold) | trim,
    'min_share': clustereval.number('min_share', min_share) | trim,
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__run_transitions_query(given) -%}
  {{- clustereval.call_macro('run_transitions', given) -}}
{%- endmacro %}

{# Pairs of clusters, one from each of two runs, that have ids in common. #}
{% macro transition_overlaps(
  tbl_before, tbl_after, id, cluster, partition_by=none, threshold=0.5, noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('transition_overlaps_query', 'clustereval'), ['partition_key', 'cluster_before', 'cluster_after'], metrics, {
    'tbl_before': tbl_before,
    'tbl_after': tbl_after,
    'id': clustereval.column('id', id),
    'cluster': clustereval.column('cluster', cluster),
    'threshold': clustereval.number('threshold', threshold) | trim,
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__transition_overlaps_query(given) -%}
  {{- clustereval.call_macro('transition_overlaps', given) -}}
{%- endmacro %}

{# Ids that have moved, left or joined from one run to the next. #}
{% macro moved_ids(
  tbl_before, tbl_after, id, cluster, partition_by=none, threshold=0.5, noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('moved_ids_query', 'clustereval'), ['partition_key', 'id'], metrics, {
    'tbl_before': tbl_before,
    'tbl_after': tbl_after,
    'id': clustereval.column('id', id),
    'cluster': clustereval.column('cluster', cluster),
    'threshold': clustereval.number('threshold', threshold) | trim,
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__moved_ids_query(given) -%}
  {{- clustereval.call_macro('moved_ids', given) -}}
{%- endmacro %}

{# Ids whose companions (the other ids in their cluster) have changed from one run to the next. #}
{% macro affected_ids(
  tbl_before, tbl_after, id, cluster, partition_by=none, noise=none, noise_as=none, metrics=none
) -%}
  {{- clustereval.select_table(
    adapter.dispatch('affected_ids_query', 'clustereval'), ['partition_key', 'id'], metrics, {
    'tbl_before': tbl_before,
    'tbl_after': tbl_after,
    'id': clustereval.column('id', id),
    'cluster': clustereval.column('cluster', cluster),
    'partition_by': clustereval.partition(partition_by),
    'noise': clustereval.literal(noise) | trim,
    'noise_as': clustereval.choice('noise_as', noise_as, ['cluster', 'drop', 'singletons']),
  }) }}
{%- endmacro %}

{% macro duckdb__affected_ids_query(given) -%}
  {{- clustereval.call_macro('affected_ids', given) -}}
{%- endmacro %}
