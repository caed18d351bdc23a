-- dunn: diameters of clusters, Dunn's index and its generalizations.

---------------------------------------------------------------------------------------------------
-- Ratios
---------------------------------------------------------------------------------------------------

-- query_text, the text of a query that _check_options will run, unchanged. Raises an error unless
-- generalized, an option of dunn_index, is TRUE or FALSE.
CREATE OR REPLACE MACRO clustereval._valid_generalized(generalized, query_text) AS
  CASE
    WHEN typeof(generalized) <> 'BOOLEAN' OR generalized IS NULL
    THEN error(concat(
      'generalized: expected TRUE or FALSE, got ', coalesce(CAST(generalized AS VARCHAR), 'NULL')
    ))
    ELSE query_text
  END;

-- separation / diameter for n points in n_clusters clusters. NULL if the diameter is 0, if there is
-- only one cluster, or if every cluster has a single point.
CREATE OR REPLACE MACRO clustereval._dunn_ratio(n, n_clusters, separation, diameter) AS
  CASE
    WHEN clustereval._is_clustering(n, n_clusters)
    THEN clustereval._ratio(separation, diameter)
  END;

-- _dunn_ratio of the other parameters if generalized, an option of dunn_index, is TRUE; else NULL.
CREATE OR REPLACE MACRO clustereval._generalized_dunn_ratio(
  generalized, n, n_clusters, separation, diameter
) AS
  CASE
    WHEN CAST(generalized AS VARCHAR) = 'true'
    THEN clustereval._dunn_ratio(n, n_clusters, separation, diameter)
  END;

-- One row per partition: the counts, dunn_index, centroid_dunn_index, max_diameter, min_separation,
-- and gdi_11 to gdi_63, which are NULL unless generalized is TRUE. statistics has the counts and,
-- for each kind, the smallest separation of the clusters and their largest diameter.
CREATE OR REPLACE MACRO clustereval._dunn_indices(statistics, generalized) AS TABLE
  SELECT
    partition_key, total AS n, n_dropped, n_noise, n_clusters,
    clustereval._dunn_ratio(total, n_clusters, min_separation, max_diameter) AS dunn_index,
    clustereval._dunn_ratio(
      total, n_clusters, min_centroid_distance, max_diameter
    ) AS centroid_dunn_index,
    max_diameter, min_separation,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_separation, max_diameter
    ) AS gdi_11,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_separation, max_mean_pair
    ) AS gdi_12,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_separation, max_double_mean
    ) AS gdi_13,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_complete_linkage, max_diameter
    ) AS gdi_21,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_complete_linkage, max_mean_pair
    ) AS gdi_22,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_complete_linkage, max_double_mean
    ) AS gdi_23,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_average_linkage, max_diameter
    ) AS gdi_31,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_average_linkage, max_mean_pair
    ) AS gdi_32,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_average_linkage, max_double_mean
    ) AS gdi_33,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_centroid_distance, max_diameter
    ) AS gdi_41,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_centroid_distance, max_mean_pair
    ) AS gdi_42,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_centroid_distance, max_double_mean
    ) AS gdi_43,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_mean_to_other_center, max_diameter
    ) AS gdi_51,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_mean_to_other_center, max_mean_pair
    ) AS gdi_52,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_mean_to_other_center, max_double_mean
    ) AS gdi_53,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_hausdorff, max_diameter
    ) AS gdi_61,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_hausdorff, max_mean_pair
    ) AS gdi_62,
    clustereval._generalized_dunn_ratio(
      generalized, total, n_clusters, min_hausdorff, max_double_mean
    ) AS gdi_63
  FROM query_table(statistics);

---------------------------------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------------------------------

-- One row per cluster: n points, and diameter, the largest distance between two of them.
-- Examples:
--   FROM clustereval.cluster_diameters(points, [x, y, z], cluster);
--   FROM clustereval.cluster_diameters(points, [x, y, z], cluster, distance := 'cityblock');
CREATE OR REPLACE MACRO clustereval.cluster_diameters(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_groups AS MATERIALIZED (
    SELECT *
    FROM clustereval._point_clusters(__ce_rows, __ce_arguments, distance, p, center, weights)
  ),
  -- Clusters that have points.
  __ce_clusters AS MATERIALIZED (SELECT * FROM __ce_groups WHERE n > 0),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._clustered_points(__ce_rows, __ce_clusters, weights)
  ),
  __ce_balls AS MATERIALIZED (SELECT * FROM clustereval._bounding_balls(__ce_clusters, distance)),
  __ce_members AS MATERIALIZED (
    SELECT * FROM clustereval._points_in_balls(__ce_points, __ce_balls, distance, p)
  )
  SELECT
    clusters.partition_key, clusters.cluster, clusters.n,
    COALESCE(clustereval._metric_to_distance(diameters.diameter, distance), 0.0) AS diameter
  FROM __ce_clusters AS clusters
  LEFT JOIN clustereval._metric_diameters(__ce_members, distance, p) AS diameters
    ON diameters.number = clusters.number
  WHERE clustereval._check_options(
    clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
  )
  ORDER BY clusters.partition_key ASC NULLS LAST, clusters.cluster ASC NULLS LAST,
    clusters.singleton_no ASC NULLS LAST;

-- One row per partition: the smallest separation of two clusters divided by the largest diameter,
-- in several forms.
-- Examples:
--   FROM clustereval.dunn_index(points, [x, y, z], cluster);
--   FROM clustereval.dunn_index(points, [x, y, z], cluster, generalized := TRUE);
CREATE OR REPLACE MACRO clustereval.dunn_index(
  tbl, vector, cluster, distance := 'euclidean', p := 2, center := 'mean', partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, generalized := FALSE,
  missing := 'error'
) AS TABLE
  WITH __ce_arguments AS MATERIALIZED (
    SELECT * FROM clustereval._point_arguments(tbl, vector, cluster, partition_by, noise)
  ),
  __ce_rows AS NOT MATERIALIZED (
    SELECT * FROM clustereval._points(
      tbl, vector, cluster, distance, p, weights, partition_by, noise, noise_as, missing
    )
  ),
  __ce_groups AS MATERIALIZED (
    SELECT *
    FROM clustereval._point_clusters(__ce_rows, __ce_arguments, distance, p, center, weights)
  ),
  -- Clusters that have points.
  __ce_clusters AS MATERIALIZED (SELECT * FROM __ce_groups WHERE n > 0),
  __ce_points AS NOT MATERIALIZED (
    SELECT * FROM clustereval._clustered_points(__ce_rows, __ce_clusters, weights)
  ),
  __ce_balls AS MATERIALIZED (SELECT * FROM clustereval._bounding_balls(__ce_clusters, distance)),
  __ce_members AS MATERIALIZED (
    SELECT * FROM clustereval._points_in_balls(__ce_points, __ce_balls, distance, p)
  ),
  __ce_axes AS MATERIALIZED (SELECT * FROM clustereval._grid_axes(__ce_clusters, __ce_balls)),
  __ce_separations AS (
    SELECT * FROM clustereval._metric_separations(__ce_members, __ce_balls, __ce_axes, distance, p)
  ),
  __ce_linkages AS (
    SELECT * FROM clustereval._pair_linkages(__ce_members, distance, p, generalized)
  ),
  __ce_cluster_extremes AS (
    SELECT
      clusters.partition_key, MIN(clusters.number) AS partition_no,
      MIN(gaps.least) AS min_centroid_distance,
      2 * MAX(clusters.mean_distance) AS max_double_mean,
      COALESCE(
        clustereval._metric_to_distance(MAX(diameters.diameter), distance), 0.0
      ) AS max_diameter
    FROM __ce_clusters AS clusters
    LEFT JOIN clustereval._metric_diameters(__ce_members, distance, p) AS diameters
      ON diameters.number = clusters.number
    LEFT JOIN clustereval._centroid_gaps(__ce_clusters, distance, p) AS gaps
      ON gaps.number = clusters.number
    GROUP BY clusters.partition_key
  ),
  __ce_statistics AS (
    SELECT
      counts.partition_key, counts.total, counts.n_dropped, counts.n_noise,
      counts.n_clusters, extremes.max_diameter, extremes.max_double_mean,
      extremes.min_centroid_distance,
      clustereval._metric_to_distance(separations.separation, distance) AS min_separation,
      linkages.min_complete_linkage, linkages.min_average_linkage, linkages.min_hausdorff,
      COALESCE(linkages.max_mean_pair, 0.0) AS max_mean_pair,
      means.min_mean_to_other_center
    FROM clustereval._point_row_counts(__ce_groups) AS counts
    LEFT JOIN __ce_cluster_extremes AS extremes
      ON extremes.partition_key IS NOT DISTINCT FROM counts.partition_key
    LEFT JOIN __ce_separations AS separations ON separations.partition_no = extremes.partition_no
    LEFT JOIN clustereval._linkage_extremes(__ce_linkages, __ce_clusters) AS linkages
      ON linkages.partition_no = extremes.partition_no
    LEFT JOIN clustereval._mean_to_other_center(
      __ce_members, __ce_balls, distance, p, generalized
    ) AS means ON means.partition_no = extremes.partition_no
  )
  SELECT *
  FROM clustereval._dunn_indices(__ce_statistics, generalized)
  WHERE clustereval._check_options(
    clustereval._valid_generalized(
      generalized,
      clustereval._valid_point_options(distance, p, center, weights, noise, noise_as, missing)
    )
  )
  ORDER BY partition_key ASC NULLS LAST;
