{# Values of a test's arguments as parts of its query. `parameter` is the argument's name, for the
   error text. Errors wait until the test runs: raised by the parser, they would stop every command. #}

{% macro quote_column(parameter, name) -%}
  {%- if execute and (name is not string or not name) -%}
    {{ exceptions.raise_compiler_error(parameter ~ ": expected the name of a column, got " ~ name) }}
  {%- endif -%}
  "{{ name | replace('"', '""') }}"
{%- endmacro %}

{% macro quote_text(value) -%}
  '{{ value | string | replace("'", "''") }}'
{%- endmacro %}

{% macro number(parameter, value) -%}
  {%- if execute and (value is not number or value is boolean) -%}
    {{ exceptions.raise_compiler_error(parameter ~ ": expected a number, got " ~ value) }}
  {%- endif -%}
  cast('{{ value }}' as double)
{%- endmacro %}

{# A value of the cluster column: numbers and truth values as such, anything else as text. #}
{% macro literal(value) -%}
  {%- if value is none -%} null
  {%- elif value is boolean or value is number -%} {{ value }}
  {%- else -%} {{ clustereval.quote_text(value) }}
  {%- endif -%}
{%- endmacro %}

{# The key of one column, or of a list of them. #}
{% macro quote_partition(columns) -%}
  {%- if columns is string -%}
    {{ clustereval.quote_column('partition_by', columns) }}
  {%- elif columns is mapping or columns is not sequence or not columns -%}
    {{ execute and exceptions.raise_compiler_error(
      "partition_by: expected the name of a column or a list of names, got " ~ columns
    ) }}
  {%- else -%}
    {
    {%- for column in columns -%}
      {{ clustereval.quote_column('partition_by', column) }}:
      {{- ' ' ~ clustereval.quote_column('partition_by', column) }}
      {{- ', ' if not loop.last }}
    {%- endfor -%}
    }
  {%- endif -%}
{%- endmacro %}

{# The options that both tests hand on to the macros. #}
{% macro scoring_options(noise, noise_as, average_method, beta) -%}
  noise := {{ clustereval.literal(noise) }},
    noise_as := {{ clustereval.literal(noise_as) }},
    average_method := {{ clustereval.quote_text(average_method) }},
    beta := {{ clustereval.number('beta', beta) }}
{%- endmacro %}
