select id, cluster
from {{ ref('assignments') }}
where day = (select max(day) from {{ ref('cells') }})
