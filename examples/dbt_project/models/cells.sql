-- How many images of each digit each cluster has, day by day: all that the reports need, and all that
-- is kept. Rows with a NULL are kept too, so that n_dropped of a report from cells counts them.
{{ config(
  materialized='incremental',
  incremental_strategy='delete+insert',
  unique_key='day',
  on_schema_change='fail'
) }}

select day, digit, cluster, count(*) as n
from {{ ref('assignments') }}
{% if is_incremental() %}
-- The last day again, in case that its file was not complete.
where day >= (select coalesce(max(day), date '-infinity') from {{ this }})
{% endif %}
group by day, digit, cluster
