-- The files whose columns are not those of the first one, or have other types. It runs before the
-- cells of a new night are counted, so that they stay as they are if it fails.
{{ config(enabled=target.type == 'duckdb') }}
-- depends_on: {{ ref('assignments') }}
with columns as (
  select file_name, list([name, duckdb_type] order by name) as columns
  from parquet_schema('{{ var("nights") }}')
  where name in ('id', 'digit', 'cluster')
  group by file_name
)
select *
from columns
where columns != (select arg_min(columns, file_name) from columns)
