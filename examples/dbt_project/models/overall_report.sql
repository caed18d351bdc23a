-- Every external metric of all days together: cells merge by adding up, here with their weight n. Each
-- night numbers its clusters anew, so a cluster is one of a day.
with clusters as (
  select digit, cast(day as varchar(10)) || ' ' || cast(cluster as varchar(20)) as cluster, n
  from {{ ref('cells') }}
)
select * from (
  {{ clustereval.external_report('clusters', 'digit', 'cluster', weight='n') }}
) as report
