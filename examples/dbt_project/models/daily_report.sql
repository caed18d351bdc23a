-- Every external metric, one row per day.
{{ clustereval.external_report(
  ref('cells'), 'digit', 'cluster', weight='n', partition_by='day'
) }}
