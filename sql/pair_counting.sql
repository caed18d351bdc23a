-- pair_counting: indices of the four counts of unordered pairs of rows.
--   tp  same label, same cluster          fp  same cluster, different label
--   fn  same label, different cluster     tn  different in both
-- Every index is one private macro over these counts (here) behind one public macro over columns (in
-- the second half) and one column of external_report. Products of counts are taken of their shares of
-- all pairs, in DOUBLE: the counts are exact, so nothing is lost, and nothing can overflow.

---------------------------------------------------------------------------------------------------
-- Formulas
---------------------------------------------------------------------------------------------------

-- Share of all pairs.
CREATE OR REPLACE MACRO clustereval._share(x, tp, fp, fn, tn) AS
  clustereval._ratio(x, tp + fp + fn + tn);

CREATE OR REPLACE MACRO clustereval._rand_score(tp, fp, fn, tn) AS
  CASE WHEN fp + fn = 0 THEN 1.0 ELSE clustereval._share(tp + tn, tp, fp, fn, tn) END;

-- Over shares s of all pairs. The denominator is a sum of products, so it does not cancel.
CREATE OR REPLACE MACRO clustereval._adjusted_rand_share(tp, fp, fn, tn) AS
  clustereval._ratio(
    2 * (tp * tn - fn * fp), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)
  );

CREATE OR REPLACE MACRO clustereval._adjusted_rand_score(tp, fp, fn, tn) AS
  CASE
    WHEN fp + fn = 0 THEN 1.0
    ELSE clustereval._adjusted_rand_share(
      clustereval._share(tp, tp, fp, fn, tn), clustereval._share(fp, tp, fp, fn, tn),
      clustereval._share(fn, tp, fp, fn, tn), clustereval._share(tn, tp, fp, fn, tn)
    )
  END;

CREATE OR REPLACE MACRO clustereval._pair_precision(tp, fp, fn, tn) AS
  clustereval._ratio(tp, tp + fp);

CREATE OR REPLACE MACRO clustereval._pair_recall(tp, fp, fn, tn) AS
  clustereval._ratio(tp, tp + fn);

-- scikit-learn's 0 where no pair is together in both, even if none is together in either.
CREATE OR REPLACE MACRO clustereval._fowlkes_mallows_score(tp, fp, fn, tn) AS
  CASE
    WHEN tp = 0 THEN 0.0
    ELSE sqrt(clustereval._ratio(tp, tp + fp)) * sqrt(clustereval._ratio(tp, tp + fn))
  END;

CREATE OR REPLACE MACRO clustereval._pair_f_score(tp, fp, fn, tn, beta) AS
  clustereval._ratio(
    (1.0 + beta * beta) * CAST(tp AS DOUBLE),
    (1.0 + beta * beta) * CAST(tp AS DOUBLE) + beta * beta * CAST(fn AS DOUBLE) + CAST(fp AS DOUBLE)
  );

CREATE OR REPLACE MACRO clustereval._jaccard_index(tp, fp, fn, tn) AS
  clustereval._ratio(tp, tp + fp + fn);

CREATE OR REPLACE MACRO clustereval._mirkin_metric(tp, fp, fn, tn) AS
  2.0 * CAST(fp + fn AS DOUBLE);

CREATE OR REPLACE MACRO clustereval._hubert_index(tp, fp, fn, tn) AS
  clustereval._share(tp + tn - fp - fn, tp, fp, fn, tn);

CREATE OR REPLACE MACRO clustereval._kulczynski_index(tp, fp, fn, tn) AS
  (clustereval._ratio(tp, tp + fp) + clustereval._ratio(tp, tp + fn)) / 2.0;

CREATE OR REPLACE MACRO clustereval._mcnemar_index(tp, fp, fn, tn) AS
  clustereval._ratio(fn - fp, sqrt(CAST(fn + fp AS DOUBLE)));

CREATE OR REPLACE MACRO clustereval._phi_share(tp, fp, fn, tn) AS
  clustereval._ratio(
    tp * tn - fn * fp, sqrt((tp + fn) * (tp + fp)) * sqrt((fn + tn) * (fp + tn))
  );

CREATE OR REPLACE MACRO clustereval._phi_index(tp, fp, fn, tn) AS
  clustereval._phi_share(
    clustereval._share(tp, tp, fp, fn, tn), clustereval._share(fp, tp, fp, fn, tn),
    clustereval._share(fn, tp, fp, fn, tn), clustereval._share(tn, tp, fp, fn, tn)
  );

CREATE OR REPLACE MACRO clustereval._rogers_tanimoto_index(tp, fp, fn, tn) AS
  clustereval._ratio(tp + tn, tp + tn + 2 * (fp + fn));

CREATE OR REPLACE MACRO clustereval._russell_rao_index(tp, fp, fn, tn) AS
  clustereval._share(tp, tp, fp, fn, tn);

CREATE OR REPLACE MACRO clustereval._sokal_sneath_1_index(tp, fp, fn, tn) AS
  clustereval._ratio(tp, tp + 2 * (fp + fn));

CREATE OR REPLACE MACRO clustereval._sokal_sneath_2_index(tp, fp, fn, tn) AS
  clustereval._ratio(2 * (tp + tn), 2 * (tp + tn) + fp + fn);

-- (FM - E) / (1 - E) with E = sqrt(pq), p and q the shares of pairs together by label and by cluster.
-- 1 - sqrt(pq) is written ((1 - p) + p (1 - q)) / (1 + sqrt(pq)): it does not cancel near 1.
CREATE OR REPLACE MACRO clustereval._adjusted_fowlkes_mallows_share(tp, fp, fn, tn) AS
  clustereval._ratio(
    (tp * tn - fn * fp) * (1.0 + sqrt((tp + fn) * (tp + fp))),
    sqrt((tp + fn) * (tp + fp)) * ((fp + tn) + (tp + fn) * (fn + tn))
  );

CREATE OR REPLACE MACRO clustereval._adjusted_fowlkes_mallows_score(tp, fp, fn, tn) AS
  clustereval._adjusted_fowlkes_mallows_share(
    clustereval._share(tp, tp, fp, fn, tn), clustereval._share(fp, tp, fp, fn, tn),
    clustereval._share(fn, tp, fp, fn, tn), clustereval._share(tn, tp, fp, fn, tn)
  );

-- n rows; linked = the sum over rows of (others with its label) x (others with its cluster), here as a
-- share of the squared number of pairs. The expectation counts disjoint pairs of pairs; multiplied
-- out, the leading terms are those of adjusted_rand_score and the rest is of order 1 / n.
CREATE OR REPLACE MACRO clustereval._multinomial_adjusted_rand_share(tp, fp, fn, tn, n, linked) AS
  clustereval._ratio(
    tp * tn - fn * fp - 4.0 * tp / n + linked,
    ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)) / 2.0
    - ((2.0 * tp + fp + fn) * (2.0 * n - 3.0) + 2.0 * tp) / (n * (n - 1.0))
    + linked
  );

CREATE OR REPLACE MACRO clustereval._multinomial_adjusted_rand_score(tp, fp, fn, tn, n, linked) AS
  CASE
    WHEN n >= 4 THEN clustereval._multinomial_adjusted_rand_share(
      clustereval._share(tp, tp, fp, fn, tn), clustereval._share(fp, tp, fp, fn, tn),
      clustereval._share(fn, tp, fp, fn, tn), clustereval._share(tn, tp, fp, fn, tn),
      CAST(n AS DOUBLE),
      clustereval._share(linked, tp, fp, fn, tn) / CAST(tp + fp + fn + tn AS DOUBLE)
    )
  END;

-- One row a partition: the sum over rows of (others with its label) x (others with its cluster).
CREATE OR REPLACE MACRO clustereval._linked_totals(__ce_sized_cells) AS TABLE
  SELECT
    __ce_partition,
    SUM(
      clustereval._wide(__ce_n) * clustereval._wide(__ce_a - 1) * clustereval._wide(__ce_b - 1)
      * __ce_copies
    ) AS __ce_linked
  FROM query_table(__ce_sized_cells)
  GROUP BY __ce_partition;
