{# Stops a run that cannot compute the tables: an adapter without queries, or a DuckDB without the
   macros, with the way to get them. The package calls it when a run starts. #}
{% macro require_macros() -%}
  {%- if execute and target.type != 'duckdb' -%}
    {%- do clustereval.check_adapter() -%}
  {%- elif execute -%}
    {%- set found = run_query(
      "select count(*) from duckdb_functions() where function_name = 'version' and "
      ~ "'clustereval' in (lower(database_name), lower(schema_name)) and not internal"
    ) -%}
    {%- if found.rows[0][0] == 0 -%}
      {{ exceptions.raise_compiler_error(
        "the connection has no clustereval macros: pip install 'polars_clustereval[dbt]', then "
        ~ "in profiles.yml add to the output: plugins: [{module: polars_clustereval.dbt}]; or, as for "
        ~ "dbt 2, write the macros to a file with: clustereval sql --database clustereval.duckdb, and "
        ~ "add: attach: [{path: clustereval.duckdb, alias: clustereval, read_only: true}]"
      ) }}
    {%- endif -%}
  {%- endif -%}
{%- endmacro %}
