-- Every external metric of all days together: cells merge by adding up, here under weight := n. Each
-- night numbers its clusters anew, so a cluster is one of a day.
with clusters as (
  select digit, {day: day, cluster: cluster} as cluster, n
  from {{ ref('cells') }}
)
select * exclude (partition_key)
from clustereval.external_report(clusters, digit, cluster, weight := n)
