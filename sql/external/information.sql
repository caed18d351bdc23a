-- information: scores of mutual information and entropies, normalized or corrected for chance.
-- Normalized scores are ratios of sums, never of differences, so they lose no digits.

---------------------------------------------------------------------------------------------------
-- Formulas. mi is the mutual information, hl the entropy of the label given the cluster, hc that of
-- the cluster given the label; emi, ehl and ehc are their expectations for random labelings of the
-- same sizes.
---------------------------------------------------------------------------------------------------

-- x, the name of a mean as in scikit-learn, or 'joint', for the joint entropy, if joint is TRUE.
-- Raises an error for any other x.
CREATE OR REPLACE MACRO clustereval._check_average_method(x, joint) AS
  CASE
    WHEN coalesce(x, '') IN ('arithmetic', 'geometric', 'min', 'max') OR (joint AND x = 'joint')
    THEN x
    ELSE clustereval._raise(concat(
      'average_method: expected one of ''arithmetic'', ''geometric'', ''min'', ''max''',
      CASE WHEN joint THEN ', ''joint''' ELSE '' END, ', got ', clustereval._quote_value(x)
    ))
  END;

-- mi divided by the mean of the label entropy mi + hl and the cluster entropy mi + hc that
-- average_method names, or by the joint entropy for 'joint'. 1 for equal partitions, even trivial
-- ones; otherwise 0 if mi is 0.
CREATE OR REPLACE MACRO clustereval._normalized_mutual_info_score(mi, hl, hc, average_method) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    WHEN mi = 0 THEN 0.0
    WHEN average_method = 'arithmetic' THEN clustereval._ratio(mi, mi + (hl + hc) / 2.0)
    WHEN average_method = 'geometric'
    THEN sqrt(clustereval._ratio(mi, mi + hl)) * sqrt(clustereval._ratio(mi, mi + hc))
    WHEN average_method = 'min' THEN clustereval._ratio(mi, mi + LEAST(hl, hc))
    WHEN average_method = 'max' THEN clustereval._ratio(mi, mi + GREATEST(hl, hc))
    WHEN average_method = 'joint' THEN clustereval._ratio(mi, mi + hl + hc)
  END;

-- The adjusted mutual information from its numerator and denominator. 1 for equal partitions. 0 / 0
-- is 0 if mi is 0, as in scikit-learn. Otherwise 0 / 0 is NULL: it occurs with 'min' if one side
-- has only singletons, and scikit-learn returns rounding errors around 1.
CREATE OR REPLACE MACRO clustereval._adjusted_ratio(
  mi, hl, hc, above_chance, mean_above_chance
) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    WHEN mean_above_chance = 0 THEN CASE WHEN mi = 0 THEN 0.0 END
    WHEN above_chance > mean_above_chance THEN 1.0
    ELSE clustereval._ratio(above_chance, mean_above_chance)
  END;

-- (mi - emi) / (M - emi), for the mean M of the entropies that average_method names.
CREATE OR REPLACE MACRO clustereval._adjusted_mutual_info_score(
  mi, hl, hc, emi, ehl, ehc, average_method
) AS
  clustereval._adjusted_ratio(
    mi, hl, hc,
    clustereval._mutual_info_above_chance(mi, hl, hc, emi, ehl, ehc),
    clustereval._mean_entropy_above_chance(mi, hl, hc, ehl, ehc, average_method)
  );

-- Homogeneity, mi by the label entropy; 1 if there is one label.
CREATE OR REPLACE MACRO clustereval._homogeneity_score(mi, hl, hc) AS
  clustereval._ratio_or(mi, mi + hl, 1.0);

-- Completeness, mi by the cluster entropy; 1 if there is one cluster.
CREATE OR REPLACE MACRO clustereval._completeness_score(mi, hl, hc) AS
  clustereval._ratio_or(mi, mi + hc, 1.0);

-- V-measure: (1 + beta) h c / (beta h + c) of homogeneity h and completeness c, in a form that is 0
-- for h = c = 0, as in scikit-learn. 1 for equal partitions, NULL for beta = c = 0 < h.
CREATE OR REPLACE MACRO clustereval._v_measure_score(mi, hl, hc, beta) AS
  CASE
    WHEN hl + hc = 0 THEN 1.0
    ELSE clustereval._ratio((1.0 + beta) * mi, mi + hl + beta * (mi + hc))
  END;

-- Variation of information.
CREATE OR REPLACE MACRO clustereval._variation_of_information(hl, hc) AS hl + hc;

-- Variation of information by the joint entropy; 0 for equal partitions.
CREATE OR REPLACE MACRO clustereval._normalized_variation_of_information(mi, hl, hc) AS
  clustereval._ratio_or(hl + hc, mi + hl + hc, 0.0);

-- 1 - mi / M for the larger entropy M, without a difference; 0 for equal partitions.
CREATE OR REPLACE MACRO clustereval._normalized_information_distance(mi, hl, hc) AS
  clustereval._ratio_or(GREATEST(hl, hc), mi + GREATEST(hl, hc), 0.0);

---------------------------------------------------------------------------------------------------
-- Aggregates of the columns label (true class) and cluster (assigned cluster). Rows with a NULL in
-- either are left out.
---------------------------------------------------------------------------------------------------

-- The mutual information of label and cluster, corrected for chance, divided by a mean of their
-- entropies, corrected in the same way; 0 is expected for random labelings, and 1 is best.
-- average_method names the mean: 'arithmetic', 'geometric', 'min' or 'max'.
-- Examples:
--   SELECT clustereval.adjusted_mutual_info_score(species, cluster, average_method := 'max')
--   FROM assignments;
CREATE OR REPLACE MACRO clustereval.adjusted_mutual_info_score(
  label, cluster, average_method := 'arithmetic'
) AS
  list_transform(
    list_transform(
      list_transform(
        [clustereval._cells_as_list(label, cluster)],
        lambda __ce_sides: {
          'info': clustereval._information_of_cells(__ce_sides),
          'expected': clustereval._expected_of_sizes(
            __ce_sides['total'], __ce_sides['labels'], __ce_sides['clusters']
          )
        }
      ),
      lambda __ce_parts: {
        'info': __ce_parts['info'],
        'above_chance': clustereval._mutual_info_above_chance(
          __ce_parts['info']['mi'], __ce_parts['info']['hl'], __ce_parts['info']['hc'],
          __ce_parts['expected']['emi'], __ce_parts['expected']['ehl'],
          __ce_parts['expected']['ehc']
        ),
        'mean_above_chance': clustereval._mean_entropy_above_chance(
          __ce_parts['info']['mi'], __ce_parts['info']['hl'], __ce_parts['info']['hc'],
          __ce_parts['expected']['ehl'], __ce_parts['expected']['ehc'],
          clustereval._check_average_method(average_method, FALSE)
        )
      }
    ),
    lambda __ce_parts: clustereval._adjusted_ratio(
      __ce_parts['info']['mi'], __ce_parts['info']['hl'], __ce_parts['info']['hc'],
      __ce_parts['above_chance'], __ce_parts['mean_above_chance']
    )
  )[1];
