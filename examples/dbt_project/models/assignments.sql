-- Every night's clustering: one row per day and image. The columns and their types are the contract
-- of models.yml. Files are read with the columns of the first one: a night without one of these
-- columns fails.
{{ config(materialized='view') }}

select day, id, digit, cluster
from {{ nights() }} as nights
