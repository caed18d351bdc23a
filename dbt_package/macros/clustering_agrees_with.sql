{# Fails if the `metric` of the clusters in `previous`, as labels, and those of the model is below
   `minimum` or undefined, on the ids that both have. See run_agreement and docs/dbt.md. #}
{% test clustering_agrees_with(
  model, previous, id, metric, minimum, cluster=none, column_name=none, previous_cluster=none,
  noise=none, noise_as=none, average_method='arithmetic', beta=1.0
) %}
{%- set current_cluster = cluster or column_name -%}
with clusterings as (
  select
    1 as run,
    {{ clustereval.quote_column('id', id) }} as id,
    {{ clustereval.quote_column('cluster', previous_cluster or current_cluster) }} as cluster
  from {{ previous }}
  union all
  select
    2 as run,
    {{ clustereval.quote_column('id', id) }} as id,
    {{ clustereval.quote_column('cluster', current_cluster) }} as cluster
  from {{ model }}
),
agreement as (
  select *
  from clustereval.run_agreement(
    clusterings, id, run, cluster,
    metric := {{ clustereval.quote_text(metric) }},
    {{ clustereval.scoring_options(noise, noise_as, average_method, beta) }}
  )
),
{#- One row also if a table is empty, which run_agreement returns none for. #}
compared as (
  select
    max(n) as n,
    max(n_only_1) as n_only_previous,
    max(n_only_2) as n_only_current,
    max(score) as score
  from agreement
)
select *, {{ clustereval.number('minimum', minimum) }} as minimum
from compared
where not coalesce(score >= {{ clustereval.number('minimum', minimum) }}, false)
{% endtest %}
