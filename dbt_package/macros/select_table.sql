{# The query of a table, which the macro `query` writes. `given` has its arguments by parameter, names
   and values as parts of SQL. With `metrics`, a list of columns, it has these alone, after the `keys`
   that tell rows apart. #}
{% macro select_table(query, keys, metrics, given) -%}
  {%- if metrics is none -%}
    {{- clustereval.write_query(query, given) -}}
  {%- else -%}
    {%- set shown = keys if given.partition_by else keys | reject('eq', 'partition_key') | list -%}
    {%- set names = shown + (clustereval.metric_names(metrics) | reject('in', shown) | list) -%}
    select {{ clustereval.columns('metrics', names) | join(', ') }}
    from ({{ clustereval.write_query(query, given) }}) as report
  {%- endif -%}
{%- endmacro %}

{# The columns that are asked for. #}
{% macro metric_names(metrics) -%}
  {%- if execute and (metrics is string or metrics is mapping or metrics is not sequence or not metrics) -%}
    {{ exceptions.raise_compiler_error(
      "metrics: expected a list of columns, such as ['adjusted_rand_score'], got " ~ metrics
    ) }}
  {%- endif -%}
  {{ return(metrics) }}
{%- endmacro %}

{% macro write_query(query, given) -%}
  {%- if target.type == 'duckdb' -%}
    {{- query(given) -}}
  {%- else -%}
    {%- do clustereval.check_noise(given.noise, given.noise_as) -%}
    {{- query(dict(given, weight=given.weight or '1', noise_as=given.noise_as or 'cluster')) -}}
  {%- endif -%}
{%- endmacro %}

{# The call of a table macro of DuckDB. Its parameters without a default come by place. #}
{% macro call_macro(table, given) -%}
  {%- set arguments = [] -%}
  {%- for parameter, value in given.items() if value is not none -%}
    {%- if parameter == 'vector' -%}
      {%- do arguments.append('[' ~ value | join(', ') ~ ']') -%}
    {%- elif parameter in ['tbl', 'tbl_before', 'tbl_after', 'label', 'cluster']
      or (parameter == 'id' and 'tbl_before' in given) -%}
      {%- do arguments.append(value | string) -%}
    {%- elif parameter in ['noise_as', 'average_method', 'split_cost', 'merge_cost', 'distance'] -%}
      {%- do arguments.append(parameter ~ ' => ' ~ clustereval.quote_text(value)) -%}
    {%- else -%}
      {%- do arguments.append(parameter ~ ' => ' ~ value) -%}
    {%- endif -%}
  {%- endfor -%}
  select * from clustereval.{{ table }}({{ arguments | join(', ') }})
{%- endmacro %}

{# Checks that the macros of DuckDB make themselves. #}
{% macro check_noise(noise, noise_as) -%}
  {%- if execute and (noise == 'null') != (noise_as is none) -%}
    {{ exceptions.raise_compiler_error(
      "noise_as: expected one of cluster, drop, singletons if noise is given, and nothing else, got "
      ~ noise_as ~ " with noise " ~ noise
    ) }}
  {%- endif -%}
{%- endmacro %}

{% macro check_adapter() -%}
  {%- set known = clustereval.adapters() + ['databricks'] -%}
  {%- if execute and target.type not in known -%}
    {{ exceptions.raise_compiler_error(
      "clustereval has no queries for an adapter of type " ~ target.type ~ ", but for duckdb, "
      ~ known | join(', ')
    ) }}
  {%- endif -%}
{%- endmacro %}

{# The words of the SQL of an adapter, by what they are for, and its `name`. #}
{% macro words() -%}
  {{ return(adapter.dispatch('words', 'clustereval')()) }}
{%- endmacro %}

{% macro default__words() -%}
  {%- do clustereval.check_adapter() -%}
  {{ return({}) }}
{%- endmacro %}
