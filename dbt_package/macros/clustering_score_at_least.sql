{# Fails with the rows of external_report, one per partition, whose `metric` is below `minimum` or
   undefined. The metrics and options are those of the table; see docs/dbt.md. #}
{% test clustering_score_at_least(
  model, label, metric, minimum, cluster=none, column_name=none, partition_by=none, weight=none,
  noise=none, noise_as=none, average_method='arithmetic', beta=1.0
) %}
{%- set score = clustereval.column('metric', metric) -%}
{%- set counts = ['partition_key', 'n', 'n_dropped', 'n_noise', 'n_labels', 'n_clusters'] -%}
with clustered_rows as (
  select * from {{ model }}
),
scored as (
  {{ clustereval.external_report(
    'clustered_rows', label, cluster or column_name, weight=weight, partition_by=partition_by,
    noise=noise, noise_as=noise_as, average_method=average_method, beta=beta,
    metrics=counts + [metric]
  ) }}
)
select
  {{ counts | join(', ') }}, {{ score }} as score,
  {{ clustereval.minimum(minimum) }} as minimum
from scored
where not coalesce({{ score }} >= {{ clustereval.minimum(minimum) }}, false)
{% endtest %}
