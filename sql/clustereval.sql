-- All macros, in the order in which they build on each other: the one list of the files, which the
-- Python package reads too. In the DuckDB shell, from this folder: .read clustereval.sql
.read base/checks.sql
.read base/exact.sql
.read external/contingency.sql
.read external/pair_counting.sql
.read external/association.sql
.read external/expected_information.sql
.read external/information.sql
.read external/set_matching.sql
.read external/report.sql
.read external/summary.sql
.read internal/vectors.sql
.read internal/distances.sql
.read internal/centroids.sql
.read internal/scatter.sql
.read internal/determinants.sql
.read internal/mean_distances.sql
.read internal/mean_distance_bounds.sql
.read internal/silhouette.sql
.read internal/dunn.sql
.read internal/pairwise.sql
.read internal/report.sql
.read relative/gap.sql
.read relative/choosing_k.sql
.read relative/intervals.sql
.read relative/stability.sql
.read relative/replication.sql
