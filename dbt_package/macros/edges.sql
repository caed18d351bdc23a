{# Clusters from edges. They need a recursion that other engines than DuckDB do not have. #}

{# The cluster of each id: the ids that edges connect, directly or through other ids. #}
{% macro connected_components(
  tbl, id, edges, left, right, weight=none, threshold=none, partition_by=none, metrics=none
) -%}
  {{- clustereval.select_from_edges('connected_components', ['partition_key', 'id'], metrics, tbl, id, edges, left, right, {
    'weight': none if weight is none else clustereval.column('weight', weight),
    'threshold': none if threshold is none else clustereval.number('threshold', threshold) | trim,
    'partition_by': clustereval.partition(partition_by),
  }) }}
{%- endmacro %}

{# Clusters and scores at each threshold of the edges' weights. #}
{% macro threshold_report(
  tbl, id, edges, left, right, weight, label=none, thresholds=none, labels_are_sample=none, partition_by=none,
  metrics=none
) -%}
  {{- clustereval.select_from_edges('threshold_report', ['partition_key', 'threshold'], metrics, tbl, id, edges, left, right, {
    'weight': clustereval.column('weight', weight),
    'label': none if label is none else clustereval.column('label', label),
    'thresholds': clustereval.numbers('thresholds', thresholds),
    'labels_are_sample': clustereval.choice('labels_are_sample', labels_are_sample, ['uniform', 'by_record', 'records']),
    'partition_by': clustereval.partition(partition_by),
  }) }}
{%- endmacro %}

{% macro select_from_edges(table, keys, metrics, tbl, id, edges, left, right, options) -%}
  {%- if execute and target.type != 'duckdb' -%}
    {{ exceptions.raise_compiler_error(
      table ~ " needs the adapter duckdb, got " ~ target.type ~ "; find the clusters in Python, with "
      ~ "polars_clustereval." ~ table ~ ", or in a job with DuckDB"
    ) }}
  {%- endif -%}
  {%- set names = [id] if id is string or id is not sequence else id -%}
  {{- clustereval.select_table(clustereval.query_of_edges, keys, metrics, {
    'table': table,
    'places': [
      tbl, clustereval.id_of_edges('id', id, names), edges, clustereval.id_of_edges('left', left, names),
      clustereval.id_of_edges('right', right, names)
    ],
    'partition_by': options.partition_by,
    'options': options,
  }) }}
{%- endmacro %}

{% macro query_of_edges(given) -%}
  {%- set arguments = given.places | map('string') | list -%}
  {%- for parameter, value in given.options.items() if value is not none -%}
    {%- set text = clustereval.quote_text(value) if parameter == 'labels_are_sample' else value -%}
    {%- do arguments.append(parameter ~ ' => ' ~ text) -%}
  {%- endfor -%}
  select * from clustereval.{{ given.table }}({{ arguments | join(', ') }})
{%- endmacro %}

{# An id, or one end of an edge: a column, or a list of columns, which become a struct with the names of
   those of the id. #}
{% macro id_of_edges(parameter, columns, names) -%}
  {%- if columns is string or columns is mapping or columns is not sequence -%}
    {{ return(clustereval.column(parameter, columns)) }}
  {%- endif -%}
  {%- set texts = clustereval.columns(parameter, columns) -%}
  {%- if execute and texts | length != names | length -%}
    {{ exceptions.raise_compiler_error(
      parameter ~ ": expected as many columns as id, " ~ names | length ~ ", got " ~ columns | join(', ')
    ) }}
  {%- endif -%}
  {%- set fields = [] -%}
  {%- for text in texts -%}
    {%- do fields.append(clustereval.column('id', names[loop.index0]) ~ ': ' ~ text) -%}
  {%- endfor -%}
  {{ return('{' ~ fields | join(', ') ~ '}') }}
{%- endmacro %}

{# A list of numbers. #}
{% macro numbers(parameter, values) -%}
  {%- if values is none -%}
    {{ return(none) }}
  {%- elif execute and (values is string or values is mapping or values is not sequence or not values) -%}
    {{ exceptions.raise_compiler_error(parameter ~ ": expected a list of numbers, got " ~ values) }}
  {%- endif -%}
  {%- set texts = [] -%}
  {%- for value in (values if values is sequence else []) -%}
    {%- do texts.append(clustereval.number(parameter, value) | trim) -%}
  {%- endfor -%}
  {{ return('[' ~ texts | join(', ') ~ ']') }}
{%- endmacro %}
