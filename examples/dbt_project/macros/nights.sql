{# The rows of all nights: the files on DuckDB, and elsewhere the seed with the same rows, which stands
   for the table that a warehouse has. #}
{% macro nights() -%}
  {{ adapter.dispatch('nights', 'nightly_clusters')() }}
{%- endmacro %}

{% macro duckdb__nights() -%}
  (
    select cast(parse_filename(filename, true) as date) as day, id, digit, cluster
    from read_parquet('{{ var("nights") }}', filename = true)
  )
{%- endmacro %}

{% macro default__nights() -%}
  (
    select
      day,
      cast(id as bigint) as id,
      cast(digit as bigint) as digit,
      cast(cluster as bigint) as cluster
    from {{ ref('nights') }}
  )
{%- endmacro %}
