-- silhouette_queries: the options of silhouettes, and the CTEs that are read for them.
--
-- A query is a point whose silhouette is computed. The queries are all points, or the points of a
-- sample.

---------------------------------------------------------------------------------------------------
-- Options
---------------------------------------------------------------------------------------------------

-- query_text, unchanged. Raises an error for the first invalid one of the other arguments, which
-- are options of silhouette_score. query_text is SELECT TRUE from _valid_point_options, which
-- _check_options runs, so that options are checked before any row is read.
CREATE OR REPLACE MACRO clustereval._valid_silhouette_options(
  method, "between", tolerance, sample_size, reference_size, confidence, random_state, query_text
) AS
  CASE
    WHEN coalesce(method, '') NOT IN ('exact', 'simplified', 'bounds', 'sample')
    THEN error(concat(
      'method: expected one of ''exact'', ''simplified'', ''bounds'', ''sample'', got ',
      coalesce('''' || method || '''', 'NULL')
    ))
    WHEN tolerance IS NOT NULL AND NOT (tolerance > 0 AND tolerance < 1e150)
    THEN error(concat('tolerance: expected a number > 0, got ', clustereval._show_value(tolerance)))
    WHEN tolerance IS NOT NULL AND method <> 'exact'
    THEN error(concat('tolerance: needs method ''exact'', got method ''', method, ''''))
    WHEN (sample_size IS NOT NULL OR (method = 'sample' AND reference_size IS NULL))
      AND NOT coalesce(
        sample_size >= 1 AND sample_size < 9e18 AND sample_size = floor(sample_size), FALSE
      )
    THEN error(concat(
      'sample_size: expected a whole number >= 1, got ', clustereval._show_value(sample_size)
    ))
    WHEN sample_size IS NOT NULL AND method <> 'sample'
    THEN error(concat('sample_size: needs method ''sample'', got method ''', method, ''''))
    WHEN reference_size IS NOT NULL AND method <> 'sample'
    THEN error(concat('reference_size: needs method ''sample'', got method ''', method, ''''))
    WHEN reference_size IS NOT NULL
      AND NOT (
        reference_size >= 2 AND reference_size < 9e18 AND reference_size = floor(reference_size)
      )
    THEN error(concat(
      'reference_size: expected a whole number >= 2, got ', clustereval._show_value(reference_size)
    ))
    WHEN coalesce("between", '') NOT IN ('nearest', 'mean_other', 'furthest')
    THEN error(concat(
      'between: expected one of ''nearest'', ''mean_other'', ''furthest'', got ',
      coalesce('''' || "between" || '''', 'NULL')
    ))
    WHEN "between" <> 'nearest' AND method = 'bounds'
    THEN error(concat(
      'between: ''', "between",
      ''' needs method ''exact'', ''simplified'' or ''sample'', got method ''bounds'''
    ))
    WHEN "between" <> 'nearest' AND tolerance IS NOT NULL
    THEN error(concat(
      'between: ''', "between", ''' cannot be combined with tolerance, got tolerance ',
      clustereval._show_value(tolerance)
    ))
    WHEN "between" <> 'nearest' AND reference_size IS NOT NULL
    THEN error(concat(
      'between: ''', "between", ''' cannot be combined with reference_size, got reference_size ',
      clustereval._show_value(reference_size)
    ))
    WHEN NOT coalesce(confidence > 0 AND confidence < 1, FALSE)
    THEN error(concat(
      'confidence: expected a number between 0 and 1, got ', clustereval._show_value(confidence)
    ))
    WHEN NOT coalesce(
      random_state >= 0 AND random_state < 2147483648 AND random_state = floor(random_state), FALSE
    )
    THEN error(concat(
      'random_state: expected a whole number >= 0 and < 2147483648, got ',
      clustereval._show_value(random_state)
    ))
    ELSE query_text
  END;

-- Like _valid_silhouette_options, for silhouette_samples and silhouette_clusters.
CREATE OR REPLACE MACRO clustereval._valid_means_options(
  method, "between", sample_size, reference_size, random_state, query_text
) AS
  CASE
    WHEN coalesce(method, '') NOT IN ('exact', 'sample')
    THEN error(concat(
      'method: expected one of ''exact'', ''sample'', got ',
      coalesce('''' || method || '''', 'NULL')
    ))
    ELSE clustereval._valid_silhouette_options(
      method, "between", NULL, sample_size, reference_size, 0.95, random_state, query_text
    )
  END;

-- Text of a query for all rows of the CTE of _mean_distances that computes mean distances as these
-- options of silhouette_score require. CTEs that are not named are neither bound nor run.
CREATE OR REPLACE MACRO clustereval._select_mean_distances(
  distance, p, method, tolerance, reference_size
) AS
  concat('SELECT * FROM ', CASE
    WHEN method = 'simplified' THEN 'simplified_means'
    WHEN clustereval._plain_distance_name(distance, p) IN ('sqeuclidean', 'cosine')
    THEN 'squared_means'
    WHEN method = 'bounds' THEN 'means_of_bounds'
    WHEN reference_size IS NOT NULL THEN 'reference_means'
    WHEN tolerance IS NOT NULL AND clustereval._plain_distance_name(distance, p) = 'euclidean'
    THEN 'tolerant_means'
    ELSE 'exact_means'
  END);

-- Text of a query for all rows of the CTE with the points whose silhouettes are computed: the
-- sample for method 'sample' and for references, otherwise all points. They are streamed if they
-- are read only once ('simplified', sqeuclidean, cosine), and otherwise materialized.
CREATE OR REPLACE MACRO clustereval._select_queries(distance, p, method, reference_size) AS
  concat('SELECT * FROM ', CASE
    WHEN method = 'sample' OR reference_size IS NOT NULL THEN '__ce_sample'
    WHEN method = 'simplified' THEN '__ce_streamed_members'
    WHEN clustereval._plain_distance_name(distance, p) IN ('sqeuclidean', 'cosine')
    THEN '__ce_streamed_members'
    ELSE '__ce_members'
  END);

-- Text of a query for all rows of a CTE of _mean_distances with one row for each point and cluster
-- between which a mean distance is computed: There is one such CTE for each "between" except
-- 'nearest'. For 'nearest' there is one for cityblock (also minkowski of order p = 1) and one for
-- other distances.
CREATE OR REPLACE MACRO clustereval._select_targets(distance, p, "between") AS
  concat('SELECT * FROM ', CASE
    WHEN "between" = 'mean_other' THEN 'all_targets'
    WHEN "between" = 'furthest' THEN 'furthest_targets'
    WHEN clustereval._plain_distance_name(distance, p) = 'cityblock' THEN 'cityblock_targets'
    ELSE 'bounds'
  END);
