{# Written by `make dbt` from the package polars_clustereval: do not edit. #}

{% macro bigquery__words() -%}
  {{ return({
    'name': 'bigquery',
    'double': 'FLOAT64',
    'bigint': 'INT64',
    'integer': 'INT64',
    'decimal': 'BIGNUMERIC',
    'short_decimal': 'NUMERIC',
    'text': 'STRING',
    'nullif': 'NULLIF',
    'least': 'LEAST',
    'greatest': 'GREATEST',
    'var_pop': 'VAR_POP',
    'atanh': 'ATANH',
    'old': 'old',
    'new': '`new`',
    'rows': '`rows`',
    'array': '[',
    'end_array': ']',
    'nulls_last': ' NULLS LAST',
    'bracket': '',
    'end_bracket': '',
    'materialized': '',
    'dividend': '',
    'end_dividend': '',
  }) }}
{%- endmacro %}

{% macro clickhouse__words() -%}
  {{ return({
    'name': 'clickhouse',
    'double': 'Nullable(Float64)',
    'bigint': 'Nullable(Int64)',
    'integer': 'Nullable(Int32)',
    'decimal': 'Nullable(Decimal(38, 0))',
    'short_decimal': 'Nullable(Decimal(2, 1))',
    'text': 'Nullable(String)',
    'nullif': 'nullIf',
    'least': 'LEAST',
    'greatest': 'GREATEST',
    'var_pop': 'varPopStable',
    'atanh': 'atanh',
    'old': '"old"',
    'new': '"new"',
    'rows': '"rows"',
    'array': '[',
    'end_array': ']',
    'nulls_last': '',
    'bracket': '(',
    'end_bracket': ')',
    'materialized': 'MATERIALIZED ',
    'dividend': '',
    'end_dividend': '',
  }) }}
{%- endmacro %}

{% macro redshift__words() -%}
  {{ return({
    'name': 'redshift',
    'double': 'DOUBLE PRECISION',
    'bigint': 'BIGINT',
    'integer': 'INTEGER',
    'decimal': 'DECIMAL(38, 0)',
    'short_decimal': 'DECIMAL(2, 1)',
    'text': 'VARCHAR',
    'nullif': 'NULLIF',
    'least': 'LEAST',
    'greatest': 'GREATEST',
    'var_pop': 'VAR_POP',
    'atanh': 'ATANH',
    'old': '"old"',
    'new': '"new"',
    'rows': 'rows',
    'array': 'ARRAY(',
    'end_array': ')',
    'nulls_last': '',
    'bracket': '',
    'end_bracket': '',
    'materialized': '',
    'dividend': 'CAST(',
    'end_dividend': 'AS DOUBLE PRECISION) ',
  }) }}
{%- endmacro %}

{% macro snowflake__words() -%}
  {{ return({
    'name': 'snowflake',
    'double': 'DOUBLE',
    'bigint': 'BIGINT',
    'integer': 'INT',
    'decimal': 'DECIMAL(38, 0)',
    'short_decimal': 'DECIMAL(2, 1)',
    'text': 'VARCHAR',
    'nullif': 'NULLIF',
    'least': 'LEAST_IGNORE_NULLS',
    'greatest': 'GREATEST_IGNORE_NULLS',
    'var_pop': 'VARIANCE_POP',
    'atanh': 'ATANH',
    'old': '"OLD"',
    'new': '"NEW"',
    'rows': '"ROWS"',
    'array': '[',
    'end_array': ']',
    'nulls_last': '',
    'bracket': '',
    'end_bracket': '',
    'materialized': '',
    'dividend': '',
    'end_dividend': '',
  }) }}
{%- endmacro %}

{% macro spark__words() -%}
  {{ return({
    'name': 'spark',
    'double': 'DOUBLE',
    'bigint': 'BIGINT',
    'integer': 'INT',
    'decimal': 'DECIMAL(38, 0)',
    'short_decimal': 'DECIMAL(2, 1)',
    'text': 'STRING',
    'nullif': 'NULLIF',
    'least': 'LEAST',
    'greatest': 'GREATEST',
    'var_pop': 'VAR_POP',
    'atanh': 'ATANH',
    'old': '`old`',
    'new': '`new`',
    'rows': '`rows`',
    'array': 'ARRAY(',
    'end_array': ')',
    'nulls_last': ' NULLS LAST',
    'bracket': '',
    'end_bracket': '',
    'materialized': '',
    'dividend': '',
    'end_dividend': '',
  }) }}
{%- endmacro %}

{% macro postgres__words() -%}
  {{ return({
    'name': 'postgres',
  }) }}
{%- endmacro %}
