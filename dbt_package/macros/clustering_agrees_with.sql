{# Fails if the `metric` of the clusters in `previous`, as labels, and those of the model is below
   `minimum` or undefined, on the ids that both have. See run_agreement and docs/dbt.md. #}
{% test clustering_agrees_with(
  model, previous, id, metric, minimum, cluster=none, column_name=none, previous_cluster=none,
  noise=none, noise_as=none, average_method='arithmetic', beta=1.0
) %}
{%- set least = clustereval.minimum(minimum) -%}
with {{ clustereval.compare_clusterings(
  model, previous, clustereval.column('id', id),
  clustereval.column('cluster', cluster or column_name),
  clustereval.column('cluster', previous_cluster or cluster or column_name),
  metric, {
    'noise': noise, 'noise_as': clustereval.choice(
      'noise_as', noise_as, ['cluster', 'drop', 'singletons']
    ), 'average_method': average_method, 'beta': beta
  }
) }}
select *, {{ least }} as minimum
from compared
where not coalesce(score >= {{ least }}, false)
{% endtest %}

{# Common table expressions, the last of them `compared`: one row with n (ids in both),
   n_only_previous, n_only_current and score. `id` and the clusters are columns as parts of SQL. #}
{% macro compare_clusterings(model, previous, id, cluster, previous_cluster, metric, options) -%}
  {%- if target.type == 'duckdb' -%}
    {{- clustereval.compare_as_runs(
      model, previous, id, cluster, previous_cluster, metric, options
    ) -}}
  {%- else -%}
    {{- clustereval.compare_joined(
      model, previous, id, cluster, previous_cluster, metric, options
    ) -}}
  {%- endif -%}
{%- endmacro %}

{# On DuckDB by run_agreement, which checks the data. #}
{% macro compare_as_runs(model, previous, id, cluster, previous_cluster, metric, options) -%}
clusterings as (
  select 1 as run, {{ id }} as id, {{ previous_cluster }} as cluster from {{ previous }}
  union all
  select 2 as run, {{ id }} as id, {{ cluster }} as cluster from {{ model }}
),
agreement as (
  select *
  from clustereval.run_agreement(
    clusterings, id, run, cluster,
    metric => {{ clustereval.quote_text(metric) }},
    noise => {{ clustereval.literal(options.noise) }},
    {%- if options.noise_as is not none %}
    noise_as => {{ clustereval.quote_text(options.noise_as) }},
    {%- endif %}
    average_method => {{ clustereval.quote_text(options.average_method) }},
    beta => {{ clustereval.number('beta', options.beta) }}
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
{%- endmacro %}

{# Elsewhere by a join and external_report. An id that is twice in a table has no score. #}
{% macro compare_joined(model, previous, id, cluster, previous_cluster, metric, options) -%}
{%- set noise = clustereval.literal(options.noise) -%}
{%- set apart = options.noise_as == 'singletons' -%}
{%- set text = dbt.type_string() -%}
previous_rows as (
  select
    {{ id }} as id,
    {% if apart -%}
    {#- Noise on the side of the labels: each row has a label of its own. #}
    case
      when {{ previous_cluster }} = {{ noise }} then concat('noise ', cast({{ id }} as {{ text }}))
      else concat('cluster ', cast({{ previous_cluster }} as {{ text }}))
    end
    {%- else %}{{ previous_cluster }}{% endif %} as label
  from {{ previous }}
  where {{ previous_cluster }} is not null
    {%- if options.noise_as == 'drop' %} and {{ previous_cluster }} <> {{ noise }}{% endif %}
),
current_rows as (
  select {{ id }} as id, {{ cluster }} as cluster
  from {{ model }}
  where {{ cluster }} is not null
    {%- if options.noise_as == 'drop' %} and {{ cluster }} <> {{ noise }}{% endif %}
),
rows_of_both as (
  select previous_rows.label, current_rows.cluster
  from previous_rows
  join current_rows on current_rows.id = previous_rows.id
),
sizes as (
  select
    (select count(*) from previous_rows) as n_previous,
    (select count(distinct id) from previous_rows) as n_previous_ids,
    (select count(*) from current_rows) as n_current,
    (select count(distinct id) from current_rows) as n_current_ids
),
scored as (
  {{ clustereval.external_report(
    'rows_of_both', 'label', 'cluster',
    noise=options.noise if apart else none, noise_as='singletons' if apart else none,
    average_method=options.average_method, beta=options.beta, metrics=['n', metric]
  ) }}
),
compared as (
  select
    scored.n,
    sizes.n_previous - scored.n as n_only_previous,
    sizes.n_current - scored.n as n_only_current,
    case
      when sizes.n_previous = sizes.n_previous_ids and sizes.n_current = sizes.n_current_ids
      then scored.{{ clustereval.column('metric', metric) }}
    end as score
  from scored
  cross join sizes
)
{%- endmacro %}
