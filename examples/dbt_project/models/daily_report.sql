-- Every external metric, one row per day.
select partition_key as day, * exclude (partition_key)
from clustereval.external_report({{ ref('cells') }}, digit, cluster, weight := n, partition_by := day)
