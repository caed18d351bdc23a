{# Fails with the rows of external_report, one per partition, whose `metric` is below `minimum` or
   undefined. The metrics and options are those of the macro; see docs/dbt.md. #}
{% test clustering_score_at_least(
  model, label, metric, minimum, cluster=none, column_name=none, partition_by=none, weight=none,
  noise=none, noise_as=none, average_method='arithmetic', beta=1.0
) %}
with clustered_rows as (
  select * from {{ model }}
),
report as (
  select *
  from clustereval.external_report(
    clustered_rows,
    {{ clustereval.quote_column('label', label) }},
    {{ clustereval.quote_column('cluster', cluster or column_name) }},
    {%- if weight is not none %}
    weight := {{ clustereval.quote_column('weight', weight) }},
    {%- endif %}
    {%- if partition_by is not none %}
    partition_by := {{ clustereval.quote_partition(partition_by) }},
    {%- endif %}
    {{ clustereval.scoring_options(noise, noise_as, average_method, beta) }}
  )
)
select
  partition_key, n, n_dropped, n_noise, n_labels, n_clusters,
  {{ clustereval.quote_column('metric', metric) }} as score,
  {{ clustereval.number('minimum', minimum) }} as minimum
from report
where not coalesce(
  {{ clustereval.quote_column('metric', metric) }} >= {{ clustereval.number('minimum', minimum) }},
  false
)
{% endtest %}
