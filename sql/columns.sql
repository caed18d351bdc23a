-- columns: macros that only raise an error. Those of indices that are columns of a table name the
-- table, and those of tables that SQL cannot compute name the call in Python. Their comments are
-- found in duckdb_functions(). `make facts` writes this file from the catalogue of the package and
-- the declarations of its tables.

-- Raises an error: clustering_accuracy is a column of matching_report.
CREATE OR REPLACE MACRO clustereval.clustering_accuracy(label, cluster) AS
  clustereval._raise_column(
    'clustering_accuracy', 'matching_report', 'tbl, label, cluster'
  );
COMMENT ON MACRO clustereval.clustering_accuracy IS
'Not an aggregate: a column of matching_report(tbl, label, cluster). Share of rows whose label is '
'matched with their cluster, for the one-to-one matching with the largest share. The accuracy is '
'(1/n) max Σ n_ij, where the maximum is over all matchings and the sum is over the matched pairs. '
'It is also called the mention-based CEAF. Range [0, 1], best 1.';

-- Raises an error: normalized_clustering_accuracy is a column of matching_report.
CREATE OR REPLACE MACRO clustereval.normalized_clustering_accuracy(label, cluster) AS
  clustereval._raise_column(
    'normalized_clustering_accuracy', 'matching_report', 'tbl, label, cluster'
  );
COMMENT ON MACRO clustereval.normalized_clustering_accuracy IS
'Not an aggregate: a column of matching_report(tbl, label, cluster). Mean share of a label''s '
'rows that are in its matched cluster, for the best one-to-one matching, corrected for chance. '
'The accuracy is (s − 1) / (k − 1), where s is the maximum of Σ n_ij / a_i over all matchings, '
'and k is the number of labels or the number of clusters, whichever is larger. Range [-0.5, 1], '
'best 1.';

-- Raises an error: pair_sets_index is a column of matching_report.
CREATE OR REPLACE MACRO clustereval.pair_sets_index(label, cluster) AS
  clustereval._raise_column(
    'pair_sets_index', 'matching_report', 'tbl, label, cluster'
  );
COMMENT ON MACRO clustereval.pair_sets_index IS
'Not an aggregate: a column of matching_report(tbl, label, cluster). Overlap of matched labels '
'and clusters relative to the larger of the two, averaged over the best one-to-one matching and '
'corrected for chance. The index is max(0, (s − E) / (k − E)), where s is the maximum of Σ n_ij / '
'max(a_i, b_j) over all matchings, k is the number of labels or the number of clusters, whichever '
'is larger, and E is (1/n) Σ min(a_i, b_i), with the sizes a_i and b_i in descending order. Range '
'[0, 1], best 1.';

-- Raises an error: ceaf_precision is a column of matching_report.
CREATE OR REPLACE MACRO clustereval.ceaf_precision(label, cluster) AS
  clustereval._raise_column(
    'ceaf_precision', 'matching_report', 'tbl, label, cluster'
  );
COMMENT ON MACRO clustereval.ceaf_precision IS
'Not an aggregate: a column of matching_report(tbl, label, cluster). F1 score of a cluster and '
'its matched label, averaged over all clusters, for the best one-to-one matching. The precision '
'is Φ divided by the number of clusters, where Φ is the maximum of Σ 2 n_ij / (a_i + b_j) over '
'all matchings. Range [0, 1], best 1.';

-- Raises an error: ceaf_recall is a column of matching_report.
CREATE OR REPLACE MACRO clustereval.ceaf_recall(label, cluster) AS
  clustereval._raise_column(
    'ceaf_recall', 'matching_report', 'tbl, label, cluster'
  );
COMMENT ON MACRO clustereval.ceaf_recall IS
'Not an aggregate: a column of matching_report(tbl, label, cluster). F1 score of a label and its '
'matched cluster, averaged over all labels, for the best one-to-one matching. The recall is Φ '
'divided by the number of labels, where Φ is the maximum of Σ 2 n_ij / (a_i + b_j) over all '
'matchings. Range [0, 1], best 1.';

-- Raises an error: ceaf_f_score is a column of matching_report.
CREATE OR REPLACE MACRO clustereval.ceaf_f_score(label, cluster) AS
  clustereval._raise_column(
    'ceaf_f_score', 'matching_report', 'tbl, label, cluster'
  );
COMMENT ON MACRO clustereval.ceaf_f_score IS
'Not an aggregate: a column of matching_report(tbl, label, cluster). Weighted harmonic mean of '
'CEAF precision and CEAF recall. Range [0, 1], best 1.';

-- Raises an error: ssw is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.ssw(vector, cluster) AS
  clustereval._raise_column(
    'ssw', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.ssw IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Sum of the squared '
'distances of all points to the center of their own cluster. The sum of squares within clusters '
'is Σ_x d(x, μ_C)². It is also called inertia or distortion. Range [0, ∞), best low.';

-- Raises an error: ssb is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.ssb(vector, cluster) AS
  clustereval._raise_column(
    'ssb', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.ssb IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Sum of the squared '
'distances of the cluster centers to the center of all points, weighted by cluster size. The sum '
'of squares between clusters is Σ_C n_C d(μ_C, μ)². Range [0, ∞), best high.';

-- Raises an error: sst is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.sst(vector, cluster) AS
  clustereval._raise_column(
    'sst', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.sst IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Sum of squares within '
'clusters plus sum of squares between clusters. The total is ssw + ssb. Range [0, ∞).';

-- Raises an error: explained_variance is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.explained_variance(vector, cluster) AS
  clustereval._raise_column(
    'explained_variance', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.explained_variance IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Share of the total sum of '
'squares that lies between clusters. The share is ssb / sst. Range [0, 1], best 1.';

-- Raises an error: compactness is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.compactness(vector, cluster) AS
  clustereval._raise_column(
    'compactness', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.compactness IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Mean distance of a '
'cluster''s points to its center, averaged over all clusters. The compactness (CP) is the mean of '
'r_C over all clusters. Range [0, ∞), best low.';

-- Raises an error: separation is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.separation(vector, cluster) AS
  clustereval._raise_column(
    'separation', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.separation IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Mean distance between the '
'centers of two clusters. The separation (SP) is the mean of Δ_CD over all pairs of clusters. '
'Range [0, ∞), best high.';

-- Raises an error: calinski_harabasz_score is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.calinski_harabasz_score(vector, cluster) AS
  clustereval._raise_column(
    'calinski_harabasz_score', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.calinski_harabasz_score IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Variance between clusters '
'divided by the variance within clusters, each per degree of freedom. The score is (ssb / (k − '
'1)) / (ssw / (n − k)), or 1 if ssw = 0. Range [0, ∞), best high.';

-- Raises an error: davies_bouldin_score is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.davies_bouldin_score(vector, cluster) AS
  clustereval._raise_column(
    'davies_bouldin_score', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.davies_bouldin_score IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Sum of the widths of a '
'cluster and its least separated neighbor, divided by the distance between their centers, '
'averaged over all clusters. The score is the largest (r_C + r_D) / Δ_CD over all other clusters '
'D, averaged over all clusters C. Pairs of equal centers are skipped. Range [0, ∞), best low.';

-- Raises an error: ball_hall_index is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.ball_hall_index(vector, cluster) AS
  clustereval._raise_column(
    'ball_hall_index', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.ball_hall_index IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Mean squared distance of a '
'cluster''s points to its center, averaged over all clusters. The index is the mean of ssw_C / '
'n_C over all clusters. Range [0, ∞), best low.';

-- Raises an error: banfield_raftery_index is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.banfield_raftery_index(vector, cluster) AS
  clustereval._raise_column(
    'banfield_raftery_index', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.banfield_raftery_index IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Logarithm of a cluster''s '
'mean squared distance to its center, weighted by cluster size and summed over all clusters. The '
'index is Σ_C n_C ln(ssw_C / n_C). Range unbounded, best low.';

-- Raises an error: log_ss_ratio is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.log_ss_ratio(vector, cluster) AS
  clustereval._raise_column(
    'log_ss_ratio', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.log_ss_ratio IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Logarithm of the sum of '
'squares between clusters divided by the sum of squares within clusters. The index is ln(ssb / '
'ssw). Range unbounded, best high.';

-- Raises an error: pbm_index is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.pbm_index(vector, cluster) AS
  clustereval._raise_column(
    'pbm_index', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.pbm_index IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Largest distance between '
'two centers, times the distances of all points to the overall center relative to those to their '
'own centers, divided by the number of clusters, and squared. The index is ((Σ_x d(x, μ) / Σ_x '
'd(x, μ_C)) · max Δ / k)². Range [0, ∞), best high.';

-- Raises an error: ratkowsky_lance_index is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.ratkowsky_lance_index(vector, cluster) AS
  clustereval._raise_column(
    'ratkowsky_lance_index', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.ratkowsky_lance_index IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Square root of the '
'coordinates'' mean explained variance, divided by the square root of the number of clusters. The '
'index is √(m / k), where m is the ratio of the sum of squares between clusters to the total sum '
'of squares, averaged over the coordinates. Range [0, 1/√k], best high.';

-- Raises an error: ray_turi_index is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.ray_turi_index(vector, cluster) AS
  clustereval._raise_column(
    'ray_turi_index', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.ray_turi_index IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Mean squared distance of '
'the points to their own center, divided by the smallest squared distance between two centers. '
'The index is (ssw / n) / min Δ². Range [0, ∞), best low.';

-- Raises an error: xie_beni_index is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.xie_beni_index(vector, cluster) AS
  clustereval._raise_column(
    'xie_beni_index', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.xie_beni_index IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Mean squared distance of '
'the points to their own center, divided by the smallest squared distance between two centers. '
'The index is (ssw / n) / min Δ², the same as ray_turi_index, because every point belongs to '
'exactly one cluster. Range [0, ∞), best low.';

-- Raises an error: sd_scattering is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.sd_scattering(vector, cluster) AS
  clustereval._raise_column(
    'sd_scattering', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.sd_scattering IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Variance within a cluster '
'relative to the variance of all points, averaged over the clusters. The index is the mean of '
'‖Var_C‖ / ‖Var‖ over all clusters C. Range [0, ∞), best low.';

-- Raises an error: sd_separation is a column of internal_report.
CREATE OR REPLACE MACRO clustereval.sd_separation(vector, cluster) AS
  clustereval._raise_column(
    'sd_separation', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.sd_separation IS
'Not an aggregate: a column of internal_report(tbl, vector, cluster). Ratio of the largest to the '
'smallest distance between two centers, times the sum over all centers of the reciprocal of their '
'total distance to the other centers. The index is (max Δ / min Δ) · Σ_C 1 / Σ_D Δ_CD. Range (0, '
'∞), best low.';

-- Raises an error: wemmert_gancarski_index is a column of neighbor_report.
CREATE OR REPLACE MACRO clustereval.wemmert_gancarski_index(vector, cluster) AS
  clustereval._raise_column(
    'wemmert_gancarski_index', 'neighbor_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.wemmert_gancarski_index IS
'Not an aggregate: a column of neighbor_report(tbl, vector, cluster). Nearness of the points to '
'their own center, relative to the nearest other center, averaged over all points. The index is '
'(1/n) Σ_C max(0, Σ_x (1 − d(x, μ_C) / min_D d(x, μ_D))), where D are the other clusters. Range '
'[0, 1], best 1.';

-- Raises an error: s_dbw_index is a column of neighbor_report.
CREATE OR REPLACE MACRO clustereval.s_dbw_index(vector, cluster) AS
  clustereval._raise_column(
    's_dbw_index', 'neighbor_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.s_dbw_index IS
'Not an aggregate: a column of neighbor_report(tbl, vector, cluster). Scattering within clusters '
'plus the density between two clusters relative to the density at their centers, averaged over '
'all pairs. The index is sd_scattering plus the mean of m / max(m_C, m_D) over all pairs of '
'clusters C and D, where m, m_C and m_D are the numbers of points of C and D within a distance σ '
'of (μ_C + μ_D) / 2, μ_C and μ_D, respectively, and σ = √(Σ_C ‖Var_C‖) / k. Range [0, ∞), best 0.';

-- Raises an error: det_ratio is a column of determinant_report.
CREATE OR REPLACE MACRO clustereval.det_ratio(vector, cluster) AS
  clustereval._raise_column(
    'det_ratio', 'determinant_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.det_ratio IS
'Not an aggregate: a column of determinant_report(tbl, vector, cluster). Generalized variance of '
'all points divided by the generalized variance within clusters. The ratio of the determinants is '
'|T| / |W|. Range [1, ∞), best high.';

-- Raises an error: log_det_ratio is a column of determinant_report.
CREATE OR REPLACE MACRO clustereval.log_det_ratio(vector, cluster) AS
  clustereval._raise_column(
    'log_det_ratio', 'determinant_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.log_det_ratio IS
'Not an aggregate: a column of determinant_report(tbl, vector, cluster). Logarithm of the '
'generalized variance of all points divided by that within clusters, times the number of points. '
'The index is n ln(|T| / |W|). Range [0, ∞), best high.';

-- Raises an error: ksq_detw_index is a column of determinant_report.
CREATE OR REPLACE MACRO clustereval.ksq_detw_index(vector, cluster) AS
  clustereval._raise_column(
    'ksq_detw_index', 'determinant_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.ksq_detw_index IS
'Not an aggregate: a column of determinant_report(tbl, vector, cluster). Determinant of the '
'scatter matrix within clusters, times the square of the number of clusters. The index is k² |W|. '
'Range (0, ∞), best low.';

-- Raises an error: scott_symons_index is a column of determinant_report.
CREATE OR REPLACE MACRO clustereval.scott_symons_index(vector, cluster) AS
  clustereval._raise_column(
    'scott_symons_index', 'determinant_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.scott_symons_index IS
'Not an aggregate: a column of determinant_report(tbl, vector, cluster). Logarithm of the '
'generalized variance of a cluster, weighted by cluster size and summed over all clusters. The '
'index is Σ_C n_C ln |W_C / n_C|. Range unbounded, best low.';

-- Raises an error: trace_wib is a column of determinant_report.
CREATE OR REPLACE MACRO clustereval.trace_wib(vector, cluster) AS
  clustereval._raise_column(
    'trace_wib', 'determinant_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.trace_wib IS
'Not an aggregate: a column of determinant_report(tbl, vector, cluster). Scatter between clusters '
'relative to the scatter within clusters, summed over all discriminant directions. The index is '
'trace(W⁻¹ B). Range [0, ∞), best high.';

-- Raises an error: silhouette is a column of silhouette_score.
CREATE OR REPLACE MACRO clustereval.silhouette(vector, cluster) AS
  clustereval._raise_column(
    'silhouette', 'silhouette_score', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.silhouette IS
'Not an aggregate: a column of silhouette_score(tbl, vector, cluster). How much closer a point is '
'to its own cluster than to the nearest other cluster, averaged over all points. The score is the '
'mean of (b − a) / max(a, b) over all points, where a is a point''s mean distance to the other '
'points of its own cluster, and b is the smallest of its mean distances to the points of each '
'other cluster. Range [-1, 1], best 1.';

-- Raises an error: silhouette_macro is a column of silhouette_score.
CREATE OR REPLACE MACRO clustereval.silhouette_macro(vector, cluster) AS
  clustereval._raise_column(
    'silhouette_macro', 'silhouette_score', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.silhouette_macro IS
'Not an aggregate: a column of silhouette_score(tbl, vector, cluster). Mean silhouette of each '
'cluster''s points, averaged over all clusters. Range [-1, 1], best 1.';

-- Raises an error: silhouette_max is a column of silhouette_score.
CREATE OR REPLACE MACRO clustereval.silhouette_max(vector, cluster) AS
  clustereval._raise_column(
    'silhouette_max', 'silhouette_score', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.silhouette_max IS
'Not an aggregate: a column of silhouette_score(tbl, vector, cluster). Largest of the clusters'' '
'mean silhouettes. Range [-1, 1], best 1.';

-- Raises an error: silhouette_lower is a column of silhouette_score.
CREATE OR REPLACE MACRO clustereval.silhouette_lower(vector, cluster) AS
  clustereval._raise_column(
    'silhouette_lower', 'silhouette_score', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.silhouette_lower IS
'Not an aggregate: a column of silhouette_score(tbl, vector, cluster). Lower bound on the exact '
'mean silhouette. It equals silhouette for the method ''exact'' without tolerance, is certified '
'for ''bounds'' and with tolerance, and holds with the probability confidence for ''sample''. '
'Range [-1, 1], best 1.';

-- Raises an error: silhouette_upper is a column of silhouette_score.
CREATE OR REPLACE MACRO clustereval.silhouette_upper(vector, cluster) AS
  clustereval._raise_column(
    'silhouette_upper', 'silhouette_score', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.silhouette_upper IS
'Not an aggregate: a column of silhouette_score(tbl, vector, cluster). Upper bound on the exact '
'mean silhouette. It equals silhouette for the method ''exact'' without tolerance, is certified '
'for ''bounds'' and with tolerance, and holds with the probability confidence for ''sample''. '
'Range [-1, 1], best 1.';

-- Raises an error: centroid_dunn_index is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.centroid_dunn_index(vector, cluster) AS
  clustereval._raise_column(
    'centroid_dunn_index', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.centroid_dunn_index IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Smallest distance between two '
'centroids, divided by the largest diameter of a cluster. Range [0, ∞), best high.';

-- Raises an error: max_diameter is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.max_diameter(vector, cluster) AS
  clustereval._raise_column(
    'max_diameter', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.max_diameter IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Largest distance between two '
'points of the same cluster. Range [0, ∞), best low.';

-- Raises an error: min_separation is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.min_separation(vector, cluster) AS
  clustereval._raise_column(
    'min_separation', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.min_separation IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Smallest distance between two '
'points of different clusters. Range [0, ∞), best high.';

-- Raises an error: gdi_11 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_11(vector, cluster) AS
  clustereval._raise_column(
    'gdi_11', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_11 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured between their nearest points, divided by the '
'largest diameter of a cluster, measured between its farthest points. The index is the smallest '
'δ1 between two clusters divided by the largest Δ1 of a cluster, where δ1 is the smallest d(x, y) '
'for x in one cluster and y in the other (single linkage), and Δ1 is the largest d(x, y) in the '
'cluster, its diameter. Range [0, ∞), best high.';

-- Raises an error: gdi_12 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_12(vector, cluster) AS
  clustereval._raise_column(
    'gdi_12', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_12 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured between their nearest points, divided by the '
'largest diameter of a cluster, measured as the mean distance between its points. The index is '
'the smallest δ1 between two clusters divided by the largest Δ2 of a cluster, where δ1 is the '
'smallest d(x, y) for x in one cluster and y in the other (single linkage), and Δ2 is the mean of '
'd(x, y) over the pairs in the cluster, or 0 for a single point. Range [0, ∞), best high.';

-- Raises an error: gdi_13 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_13(vector, cluster) AS
  clustereval._raise_column(
    'gdi_13', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_13 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured between their nearest points, divided by the '
'largest diameter of a cluster, measured as twice the mean distance of its points to its center. '
'The index is the smallest δ1 between two clusters divided by the largest Δ3 of a cluster, where '
'δ1 is the smallest d(x, y) for x in one cluster and y in the other (single linkage), and Δ3 is '
'twice the mean of d(x, μ_C). Range [0, ∞), best high.';

-- Raises an error: gdi_21 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_21(vector, cluster) AS
  clustereval._raise_column(
    'gdi_21', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_21 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured between their farthest points, divided by the '
'largest diameter of a cluster, measured between its farthest points. The index is the smallest '
'δ2 between two clusters divided by the largest Δ1 of a cluster, where δ2 is the largest d(x, y) '
'for x in one cluster and y in the other (complete linkage), and Δ1 is the largest d(x, y) in the '
'cluster, its diameter. Range [0, ∞), best high.';

-- Raises an error: gdi_22 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_22(vector, cluster) AS
  clustereval._raise_column(
    'gdi_22', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_22 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured between their farthest points, divided by the '
'largest diameter of a cluster, measured as the mean distance between its points. The index is '
'the smallest δ2 between two clusters divided by the largest Δ2 of a cluster, where δ2 is the '
'largest d(x, y) for x in one cluster and y in the other (complete linkage), and Δ2 is the mean '
'of d(x, y) over the pairs in the cluster, or 0 for a single point. Range [0, ∞), best high.';

-- Raises an error: gdi_23 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_23(vector, cluster) AS
  clustereval._raise_column(
    'gdi_23', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_23 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured between their farthest points, divided by the '
'largest diameter of a cluster, measured as twice the mean distance of its points to its center. '
'The index is the smallest δ2 between two clusters divided by the largest Δ3 of a cluster, where '
'δ2 is the largest d(x, y) for x in one cluster and y in the other (complete linkage), and Δ3 is '
'twice the mean of d(x, μ_C). Range [0, ∞), best high.';

-- Raises an error: gdi_31 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_31(vector, cluster) AS
  clustereval._raise_column(
    'gdi_31', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_31 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured as the mean distance between their points, '
'divided by the largest diameter of a cluster, measured between its farthest points. The index is '
'the smallest δ3 between two clusters divided by the largest Δ1 of a cluster, where δ3 is the '
'mean of d(x, y) over x in one cluster and y in the other (average linkage), and Δ1 is the '
'largest d(x, y) in the cluster, its diameter. Range [0, ∞), best high.';

-- Raises an error: gdi_32 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_32(vector, cluster) AS
  clustereval._raise_column(
    'gdi_32', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_32 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured as the mean distance between their points, '
'divided by the largest diameter of a cluster, measured as the mean distance between its points. '
'The index is the smallest δ3 between two clusters divided by the largest Δ2 of a cluster, where '
'δ3 is the mean of d(x, y) over x in one cluster and y in the other (average linkage), and Δ2 is '
'the mean of d(x, y) over the pairs in the cluster, or 0 for a single point. Range [0, ∞), best '
'high.';

-- Raises an error: gdi_33 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_33(vector, cluster) AS
  clustereval._raise_column(
    'gdi_33', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_33 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured as the mean distance between their points, '
'divided by the largest diameter of a cluster, measured as twice the mean distance of its points '
'to its center. The index is the smallest δ3 between two clusters divided by the largest Δ3 of a '
'cluster, where δ3 is the mean of d(x, y) over x in one cluster and y in the other (average '
'linkage), and Δ3 is twice the mean of d(x, μ_C). Range [0, ∞), best high.';

-- Raises an error: gdi_41 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_41(vector, cluster) AS
  clustereval._raise_column(
    'gdi_41', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_41 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured between their centers, divided by the largest '
'diameter of a cluster, measured between its farthest points. The index is the smallest δ4 '
'between two clusters divided by the largest Δ1 of a cluster, where δ4 is the distance d(μ_C, '
'μ_D) of their centers, and Δ1 is the largest d(x, y) in the cluster, its diameter. Range [0, ∞), '
'best high.';

-- Raises an error: gdi_42 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_42(vector, cluster) AS
  clustereval._raise_column(
    'gdi_42', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_42 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured between their centers, divided by the largest '
'diameter of a cluster, measured as the mean distance between its points. The index is the '
'smallest δ4 between two clusters divided by the largest Δ2 of a cluster, where δ4 is the '
'distance d(μ_C, μ_D) of their centers, and Δ2 is the mean of d(x, y) over the pairs in the '
'cluster, or 0 for a single point. Range [0, ∞), best high.';

-- Raises an error: gdi_43 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_43(vector, cluster) AS
  clustereval._raise_column(
    'gdi_43', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_43 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured between their centers, divided by the largest '
'diameter of a cluster, measured as twice the mean distance of its points to its center. The '
'index is the smallest δ4 between two clusters divided by the largest Δ3 of a cluster, where δ4 '
'is the distance d(μ_C, μ_D) of their centers, and Δ3 is twice the mean of d(x, μ_C). Range [0, '
'∞), best high.';

-- Raises an error: gdi_51 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_51(vector, cluster) AS
  clustereval._raise_column(
    'gdi_51', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_51 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured as the mean distance of their points to the '
'center of the other cluster, divided by the largest diameter of a cluster, measured between its '
'farthest points. The index is the smallest δ5 between two clusters divided by the largest Δ1 of '
'a cluster, where δ5 is the mean distance (Σ_C d(x, μ_D) + Σ_D d(y, μ_C)) / (n_C + n_D) to the '
'other center, and Δ1 is the largest d(x, y) in the cluster, its diameter. Range [0, ∞), best '
'high.';

-- Raises an error: gdi_52 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_52(vector, cluster) AS
  clustereval._raise_column(
    'gdi_52', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_52 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured as the mean distance of their points to the '
'center of the other cluster, divided by the largest diameter of a cluster, measured as the mean '
'distance between its points. The index is the smallest δ5 between two clusters divided by the '
'largest Δ2 of a cluster, where δ5 is the mean distance (Σ_C d(x, μ_D) + Σ_D d(y, μ_C)) / (n_C + '
'n_D) to the other center, and Δ2 is the mean of d(x, y) over the pairs in the cluster, or 0 for '
'a single point. Range [0, ∞), best high.';

-- Raises an error: gdi_53 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_53(vector, cluster) AS
  clustereval._raise_column(
    'gdi_53', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_53 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured as the mean distance of their points to the '
'center of the other cluster, divided by the largest diameter of a cluster, measured as twice the '
'mean distance of its points to its center. The index is the smallest δ5 between two clusters '
'divided by the largest Δ3 of a cluster, where δ5 is the mean distance (Σ_C d(x, μ_D) + Σ_D d(y, '
'μ_C)) / (n_C + n_D) to the other center, and Δ3 is twice the mean of d(x, μ_C). Range [0, ∞), '
'best high.';

-- Raises an error: gdi_61 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_61(vector, cluster) AS
  clustereval._raise_column(
    'gdi_61', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_61 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured as their Hausdorff distance, divided by the '
'largest diameter of a cluster, measured between its farthest points. The index is the smallest '
'δ6 between two clusters divided by the largest Δ1 of a cluster, where δ6 is the largest distance '
'of a point from the other cluster (Hausdorff), and Δ1 is the largest d(x, y) in the cluster, its '
'diameter. Range [0, ∞), best high.';

-- Raises an error: gdi_62 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_62(vector, cluster) AS
  clustereval._raise_column(
    'gdi_62', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_62 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured as their Hausdorff distance, divided by the '
'largest diameter of a cluster, measured as the mean distance between its points. The index is '
'the smallest δ6 between two clusters divided by the largest Δ2 of a cluster, where δ6 is the '
'largest distance of a point from the other cluster (Hausdorff), and Δ2 is the mean of d(x, y) '
'over the pairs in the cluster, or 0 for a single point. Range [0, ∞), best high.';

-- Raises an error: gdi_63 is a column of dunn_index.
CREATE OR REPLACE MACRO clustereval.gdi_63(vector, cluster) AS
  clustereval._raise_column(
    'gdi_63', 'dunn_index', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gdi_63 IS
'Not an aggregate: a column of dunn_index(tbl, vector, cluster). Generalized Dunn index: the '
'smallest distance between two clusters, measured as their Hausdorff distance, divided by the '
'largest diameter of a cluster, measured as twice the mean distance of its points to its center. '
'The index is the smallest δ6 between two clusters divided by the largest Δ3 of a cluster, where '
'δ6 is the largest distance of a point from the other cluster (Hausdorff), and Δ3 is twice the '
'mean of d(x, μ_C). Range [0, ∞), best high.';

-- Raises an error: c_index is a column of pairwise_report.
CREATE OR REPLACE MACRO clustereval.c_index(vector, cluster) AS
  clustereval._raise_column(
    'c_index', 'pairwise_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.c_index IS
'Not an aggregate: a column of pairwise_report(tbl, vector, cluster). Sum of the distances within '
'clusters, on a scale from 0 for the smallest possible sum to 1 for the largest. The index is '
'(S_W − S_min) / (S_max − S_min), where S_min and S_max are the sums of the N_W smallest and the '
'N_W largest distances. Range [0, 1], best 0.';

-- Raises an error: gamma is a column of pairwise_report.
CREATE OR REPLACE MACRO clustereval.gamma(vector, cluster) AS
  clustereval._raise_column(
    'gamma', 'pairwise_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.gamma IS
'Not an aggregate: a column of pairwise_report(tbl, vector, cluster). Share of comparisons in '
'which a distance within clusters is smaller than a distance between clusters, minus the share in '
'which it is larger. The index is (s⁺ − s⁻) / (s⁺ + s⁻), so comparisons of equal distances do not '
'count. Range [-1, 1], best 1.';

-- Raises an error: g_plus is a column of pairwise_report.
CREATE OR REPLACE MACRO clustereval.g_plus(vector, cluster) AS
  clustereval._raise_column(
    'g_plus', 'pairwise_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.g_plus IS
'Not an aggregate: a column of pairwise_report(tbl, vector, cluster). Number of comparisons in '
'which a distance within clusters is larger than a distance between clusters, as a share of all '
'pairs of distances. The index is 2 s⁻ / (N_T (N_T − 1)). Range [0, 2/3], best 0.';

-- Raises an error: tau is a column of pairwise_report.
CREATE OR REPLACE MACRO clustereval.tau(vector, cluster) AS
  clustereval._raise_column(
    'tau', 'pairwise_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.tau IS
'Not an aggregate: a column of pairwise_report(tbl, vector, cluster). Rank correlation between '
'the distance of two points and whether they are in different clusters. The index is (s⁺ − s⁻) / '
'√(N_W N_B N_T (N_T − 1) / 2). Range [-m, m], best high.';

-- Raises an error: mcclain_rao is a column of pairwise_report.
CREATE OR REPLACE MACRO clustereval.mcclain_rao(vector, cluster) AS
  clustereval._raise_column(
    'mcclain_rao', 'pairwise_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.mcclain_rao IS
'Not an aggregate: a column of pairwise_report(tbl, vector, cluster). Mean distance within '
'clusters divided by the mean distance between clusters. The index is (S_W / N_W) / (S_B / N_B). '
'Range [0, ∞), best low.';

-- Raises an error: point_biserial is a column of pairwise_report.
CREATE OR REPLACE MACRO clustereval.point_biserial(vector, cluster) AS
  clustereval._raise_column(
    'point_biserial', 'pairwise_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.point_biserial IS
'Not an aggregate: a column of pairwise_report(tbl, vector, cluster). Mean distance within '
'clusters minus the mean distance between clusters, times the geometric mean of the shares of '
'both kinds of distances. The index is (S_W / N_W − S_B / N_B) √(N_W N_B) / N_T. Range unbounded, '
'best low.';

-- Raises an error: connectivity is a column of pairwise_report.
CREATE OR REPLACE MACRO clustereval.connectivity(vector, cluster) AS
  clustereval._raise_column(
    'connectivity', 'pairwise_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.connectivity IS
'Not an aggregate: a column of pairwise_report(tbl, vector, cluster). Number of nearest neighbors '
'that are in another cluster, with less weight for farther neighbors, summed over all points. The '
'connectivity is the sum of 1 / j over all points and all j ≤ n_neighbors for which the point''s '
'j-th nearest neighbor is in another cluster. Range [0, ∞), best 0.';

-- Raises an error: acc is short for clustering_accuracy.
CREATE OR REPLACE MACRO clustereval.acc(label, cluster) AS
  clustereval._raise_column(
    'clustering_accuracy', 'matching_report', 'tbl, label, cluster'
  );
COMMENT ON MACRO clustereval.acc IS 'Not a metric: short for clustering_accuracy.';

-- Raises an error: ami is short for adjusted_mutual_info_score.
CREATE OR REPLACE MACRO clustereval.ami(label, cluster) AS
  clustereval._raise_short('ami', 'adjusted_mutual_info_score(label, cluster)');
COMMENT ON MACRO clustereval.ami IS 'Not a metric: short for adjusted_mutual_info_score.';

-- Raises an error: ari is short for adjusted_rand_score.
CREATE OR REPLACE MACRO clustereval.ari(label, cluster) AS
  clustereval._raise_short('ari', 'adjusted_rand_score(label, cluster)');
COMMENT ON MACRO clustereval.ari IS 'Not a metric: short for adjusted_rand_score.';

-- Raises an error: ch is short for calinski_harabasz_score.
CREATE OR REPLACE MACRO clustereval.ch(vector, cluster) AS
  clustereval._raise_column(
    'calinski_harabasz_score', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.ch IS 'Not a metric: short for calinski_harabasz_score.';

-- Raises an error: db is short for davies_bouldin_score.
CREATE OR REPLACE MACRO clustereval.db(vector, cluster) AS
  clustereval._raise_column(
    'davies_bouldin_score', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.db IS 'Not a metric: short for davies_bouldin_score.';

-- Raises an error: dbi is short for davies_bouldin_score.
CREATE OR REPLACE MACRO clustereval.dbi(vector, cluster) AS
  clustereval._raise_column(
    'davies_bouldin_score', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.dbi IS 'Not a metric: short for davies_bouldin_score.';

-- Raises an error: emi is short for expected_mutual_info.
CREATE OR REPLACE MACRO clustereval.emi(label, cluster) AS
  clustereval._raise_short('emi', 'expected_mutual_info(label, cluster)');
COMMENT ON MACRO clustereval.emi IS 'Not a metric: short for expected_mutual_info.';

-- Raises an error: fmi is short for fowlkes_mallows_score.
CREATE OR REPLACE MACRO clustereval.fmi(label, cluster) AS
  clustereval._raise_short('fmi', 'fowlkes_mallows_score(label, cluster)');
COMMENT ON MACRO clustereval.fmi IS 'Not a metric: short for fowlkes_mallows_score.';

-- Raises an error: mi is short for mutual_info_score.
CREATE OR REPLACE MACRO clustereval.mi(label, cluster) AS
  clustereval._raise_short('mi', 'mutual_info_score(label, cluster)');
COMMENT ON MACRO clustereval.mi IS 'Not a metric: short for mutual_info_score.';

-- Raises an error: nmi is short for normalized_mutual_info_score.
CREATE OR REPLACE MACRO clustereval.nmi(label, cluster) AS
  clustereval._raise_short('nmi', 'normalized_mutual_info_score(label, cluster)');
COMMENT ON MACRO clustereval.nmi IS 'Not a metric: short for normalized_mutual_info_score.';

-- Raises an error: nvi is short for normalized_variation_of_information.
CREATE OR REPLACE MACRO clustereval.nvi(label, cluster) AS
  clustereval._raise_short('nvi', 'normalized_variation_of_information(label, cluster)');
COMMENT ON MACRO clustereval.nvi IS 'Not a metric: short for normalized_variation_of_information.';

-- Raises an error: ri is short for rand_score.
CREATE OR REPLACE MACRO clustereval.ri(label, cluster) AS
  clustereval._raise_short('ri', 'rand_score(label, cluster)');
COMMENT ON MACRO clustereval.ri IS 'Not a metric: short for rand_score.';

-- Raises an error: rmi is short for reduced_mutual_info_score.
CREATE OR REPLACE MACRO clustereval.rmi(label, cluster) AS
  clustereval._raise_short('rmi', 'reduced_mutual_info_score(label, cluster)');
COMMENT ON MACRO clustereval.rmi IS 'Not a metric: short for reduced_mutual_info_score.';

-- Raises an error: sse is short for ssw.
CREATE OR REPLACE MACRO clustereval.sse(vector, cluster) AS
  clustereval._raise_column(
    'ssw', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.sse IS 'Not a metric: short for ssw.';

-- Raises an error: vi is short for variation_of_information.
CREATE OR REPLACE MACRO clustereval.vi(label, cluster) AS
  clustereval._raise_short('vi', 'variation_of_information(label, cluster)');
COMMENT ON MACRO clustereval.vi IS 'Not a metric: short for variation_of_information.';

-- Raises an error: vrc is short for calinski_harabasz_score.
CREATE OR REPLACE MACRO clustereval.vrc(vector, cluster) AS
  clustereval._raise_column(
    'calinski_harabasz_score', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.vrc IS 'Not a metric: short for calinski_harabasz_score.';

-- Raises an error: wss is short for ssw.
CREATE OR REPLACE MACRO clustereval.wss(vector, cluster) AS
  clustereval._raise_column(
    'ssw', 'internal_report', 'tbl, vector, cluster'
  );
COMMENT ON MACRO clustereval.wss IS 'Not a metric: short for ssw.';

-- Raises an error: NumPy draws the samples.
CREATE OR REPLACE MACRO clustereval.bootstrap_intervals(
  tbl, label, cluster, weight := NULL, partition_by := NULL, noise := NULL, noise_as := NULL,
  average_method := 'arithmetic', beta := 1.0, adjusted := true, n_resamples := 1000,
  confidence := 0.95, random_state := 0, metrics := NULL
) AS TABLE
  SELECT CAST(NULL AS VARCHAR) AS error
  WHERE CAST(error(
    'bootstrap_intervals: expected a call in Python, got one in SQL, which cannot compute this '
    'table because NumPy draws the samples; use ce.bootstrap_intervals(con.sql(''FROM '
    'tbl'').pl(), "label", "cluster")'
  ) AS BOOLEAN);
COMMENT ON MACRO TABLE clustereval.bootstrap_intervals IS
'Not in SQL, because NumPy draws the samples. Use ce.bootstrap_intervals(con.sql(''FROM '
'tbl'').pl(), "label", "cluster").';

-- Raises an error: a query cannot hold the trees.
CREATE OR REPLACE MACRO clustereval.density_based_validity(
  tbl, vector, cluster, id := NULL, distance := 'euclidean', p := 2, partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  SELECT CAST(NULL AS VARCHAR) AS error
  WHERE CAST(error(
    'density_based_validity: expected a call in Python, got one in SQL, which cannot compute this '
    'table because a query cannot hold the trees; use ce.density_based_validity(con.sql(''FROM '
    'tbl'').pl(), ["x", "y"], "cluster"), or clustereval density FILE'
  ) AS BOOLEAN);
COMMENT ON MACRO TABLE clustereval.density_based_validity IS
'Not in SQL, because a query cannot hold the trees. Use ce.density_based_validity(con.sql(''FROM '
'tbl'').pl(), ["x", "y"], "cluster"), or clustereval density FILE.';

-- Raises an error: a query cannot hold the trees.
CREATE OR REPLACE MACRO clustereval.density_based_validity_clusters(
  tbl, vector, cluster, id := NULL, distance := 'euclidean', p := 2, partition_by := NULL,
  noise := NULL, noise_as := NULL, weights := NULL, missing := 'error'
) AS TABLE
  SELECT CAST(NULL AS VARCHAR) AS error
  WHERE CAST(error(
    'density_based_validity_clusters: expected a call in Python, got one in SQL, which cannot '
    'compute this table because a query cannot hold the trees; use '
    'ce.density_based_validity_clusters(con.sql(''FROM tbl'').pl(), ["x", "y"], "cluster"), or '
    'clustereval density FILE --show clusters'
  ) AS BOOLEAN);
COMMENT ON MACRO TABLE clustereval.density_based_validity_clusters IS
'Not in SQL, because a query cannot hold the trees. Use '
'ce.density_based_validity_clusters(con.sql(''FROM tbl'').pl(), ["x", "y"], "cluster"), or '
'clustereval density FILE --show clusters.';

-- Raises an error: NumPy draws the tables.
CREATE OR REPLACE MACRO clustereval.permutation_test(
  tbl, label, cluster, metric := 'adjusted_rand_score', weight := NULL, partition_by := NULL,
  noise := NULL, noise_as := NULL, average_method := 'arithmetic', beta := 1.0,
  n_resamples := 999, random_state := 0
) AS TABLE
  SELECT CAST(NULL AS VARCHAR) AS error
  WHERE CAST(error(
    'permutation_test: expected a call in Python, got one in SQL, which cannot compute this table '
    'because NumPy draws the tables; use ce.permutation_test(con.sql(''FROM tbl'').pl(), "label", '
    '"cluster")'
  ) AS BOOLEAN);
COMMENT ON MACRO TABLE clustereval.permutation_test IS
'Not in SQL, because NumPy draws the tables. Use ce.permutation_test(con.sql(''FROM tbl'').pl(), '
'"label", "cluster").';

-- Raises an error: a query cannot hold the search.
CREATE OR REPLACE MACRO clustereval.suspicious_links(
  tbl, id, cluster, edges, "left", "right", weight := NULL, threshold := NULL,
  partition_by := NULL, noise := NULL, noise_as := NULL
) AS TABLE
  SELECT CAST(NULL AS VARCHAR) AS error
  WHERE CAST(error(
    'suspicious_links: expected a call in Python, got one in SQL, which cannot compute this table '
    'because a query cannot hold the search; use ce.suspicious_links(con.sql(''FROM tbl'').pl(), '
    '"id", "cluster", con.sql(''FROM edges'').pl(), "left", "right"), or clustereval graph FILE '
    '--edges EDGES --show links'
  ) AS BOOLEAN);
COMMENT ON MACRO TABLE clustereval.suspicious_links IS
'Not in SQL, because a query cannot hold the search. Use ce.suspicious_links(con.sql(''FROM '
'tbl'').pl(), "id", "cluster", con.sql(''FROM edges'').pl(), "left", "right"), or clustereval '
'graph FILE --edges EDGES --show links.';
