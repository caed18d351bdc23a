{# Values of arguments as parts of a query. `parameter` is the argument's name, for the error text.
   Errors wait until the query runs: raised by the parser, they would stop every command. #}

{# A column. On DuckDB, which does not tell case apart, its name is quoted. Elsewhere it is as in
   any query: a word is folded by the engine, and in double quotes or backticks it is exact. #}
{% macro column(parameter, name) -%}
  {%- if name is not string or not name -%}
    {%- if execute -%}
      {{ exceptions.raise_compiler_error(parameter ~ ": expected the name of a column, got " ~ name) }}
    {%- endif -%}
  {%- elif target.type == 'duckdb' -%}
    "{{ name | replace('"', '""') }}"
  {%- elif modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*|"([^"]|"")+"|`([^`]|``)+`', name) -%}
    {{ name }}
  {%- else -%}
    {{ adapter.quote(name) }}
  {%- endif -%}
{%- endmacro %}

{# The column that identifies each row. Only DuckDB keeps the order of rows, and numbers them. #}
{% macro row_id(name) -%}
  {{ return(none if name is none and target.type == 'duckdb' else clustereval.column('id', name)) }}
{%- endmacro %}

{# A list of columns. #}
{% macro columns(parameter, names) -%}
  {%- if execute and (names is string or names is mapping or names is not sequence or not names) -%}
    {{ exceptions.raise_compiler_error(
      parameter ~ ": expected a list of columns, such as ['x', 'y'], got " ~ names
    ) }}
  {%- endif -%}
  {%- set texts = [] -%}
  {%- for name in names -%}
    {%- do texts.append(clustereval.column(parameter, name)) -%}
  {%- endfor -%}
  {{ return(texts) }}
{%- endmacro %}

{# One of the values `known`, without regard to case. #}
{% macro choice(parameter, value, known) -%}
  {%- if value is none -%}
    {{ return(none) }}
  {%- elif execute and value | string | lower not in known -%}
    {{ exceptions.raise_compiler_error(
      parameter ~ ": expected one of " ~ known | join(', ') ~ ", got " ~ value
    ) }}
  {%- endif -%}
  {{ return(value | string | lower) }}
{%- endmacro %}

{% macro quote_text(value) -%}
  '{{ value | string | replace("'", "''") }}'
{%- endmacro %}

{% macro number(parameter, value) -%}
  {%- if execute and (value is not number or value is boolean) -%}
    {{ exceptions.raise_compiler_error(parameter ~ ": expected a number, got " ~ value) }}
  {%- endif -%}
  {{ value }}
{%- endmacro %}

{# The minimum of a test, in float64. #}
{% macro minimum(value) -%}
  {%- set types = {
    'bigquery': 'float64', 'clickhouse': 'Float64', 'databricks': 'double', 'spark': 'double'
  } -%}
  cast('{{ clustereval.number('minimum', value) }}' as {{ types.get(target.type, 'double precision') }})
{%- endmacro %}

{# A value of the cluster column: numbers and truth values as such, anything else as text. #}
{% macro literal(value) -%}
  {%- if value is none -%} null
  {%- elif value is boolean or value is number -%} {{ value }}
  {%- else -%} {{ clustereval.quote_text(value) }}
  {%- endif -%}
{%- endmacro %}

{# The key of one column, or, on DuckDB, of a list of them. #}
{% macro partition(columns) -%}
  {%- if columns is none -%}
    {{ return(none) }}
  {%- elif columns is string -%}
    {{ return(clustereval.column('partition_by', columns)) }}
  {%- elif columns is mapping or columns is not sequence or not columns -%}
    {{ execute and exceptions.raise_compiler_error(
      "partition_by: expected the name of a column or a list of names, got " ~ columns
    ) }}
  {%- elif target.type != 'duckdb' and columns | length > 1 -%}
    {{ execute and exceptions.raise_compiler_error(
      "partition_by: expected one column on " ~ target.type ~ ", got " ~ columns | join(', ')
      ~ "; combine them to one column in a model, such as concat(a, '|', b)"
    ) }}
  {%- elif target.type != 'duckdb' -%}
    {{ return(clustereval.column('partition_by', columns[0])) }}
  {%- endif -%}
  {%- set fields = [] -%}
  {%- for column in clustereval.columns('partition_by', columns) -%}
    {%- do fields.append(column ~ ': ' ~ column) -%}
  {%- endfor -%}
  {{ return('{' ~ fields | join(', ') ~ '}') }}
{%- endmacro %}
