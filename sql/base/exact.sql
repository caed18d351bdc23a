-- exact: counts, sums and logarithms without loss of digits.

---------------------------------------------------------------------------------------------------
-- Counts
---------------------------------------------------------------------------------------------------

-- x, a count, as an integer of 38 digits, so that a product of two counts of 1e10 rows is exact.
CREATE OR REPLACE MACRO clustereval._widen(x) AS CAST(x AS DECIMAL(38, 0));

-- n (n - 1), the ordered pairs of different rows among n rows, as an integer of 38 digits.
CREATE OR REPLACE MACRO clustereval._count_ordered_pairs(n) AS
  clustereval._widen(n) * clustereval._widen(n - 1);

-- x / 2 for an even integer x, such as a sum of _count_ordered_pairs, as an integer of 38 digits.
-- It is a product because DuckDB computes a quotient of wide integers as DOUBLE; other engines read
-- a plain 0.5 as DOUBLE.
CREATE OR REPLACE MACRO clustereval._halve(x) AS
  clustereval._widen(x * CAST(0.5 AS DECIMAL(2, 1)));

-- n (n - 1) / 2, the unordered pairs of different rows among n rows, as an integer of 38 digits.
CREATE OR REPLACE MACRO clustereval._count_pairs(n) AS
  clustereval._halve(clustereval._count_ordered_pairs(n));

---------------------------------------------------------------------------------------------------
-- Sums and ratios
---------------------------------------------------------------------------------------------------

-- Aggregate: sum of a column x of floating-point numbers with Kahan's correction; a plain sum of
-- 1e6 terms can be off by 1e-11.
CREATE OR REPLACE MACRO clustereval._compensated_sum(x) AS fsum(x);
-- Sum of a list x of floating-point numbers with Kahan's correction; a plain sum of 1e6 terms can
-- be off by 1e-11.
CREATE OR REPLACE MACRO clustereval._compensated_list_sum(x) AS list_aggregate(x, 'fsum');

-- Aggregate over the rows that meet `condition`: `value` in the row with the smallest `key`, the
-- lowest value in a tie, a NULL last; NULL if there is no row.
CREATE OR REPLACE MACRO clustereval._value_at_least_key(value, key, condition) AS
  (MIN({'key': key, 'value': value}) FILTER (WHERE condition))['value'];

-- x, a mean of numbers from low to high, clamped to these: equal numbers are their own mean.
CREATE OR REPLACE MACRO clustereval._clamp(x, low, high) AS LEAST(GREATEST(x, low), high);

-- x / y as DOUBLE, NULL if y is 0.
CREATE OR REPLACE MACRO clustereval._ratio(x, y) AS
  CAST(x AS DOUBLE) / NULLIF(CAST(y AS DOUBLE), 0.0);

-- part / whole, or `otherwise` if whole is 0.
CREATE OR REPLACE MACRO clustereval._ratio_or(part, whole, otherwise) AS
  CASE WHEN whole = 0 THEN otherwise ELSE part / NULLIF(whole, 0) END;

-- The score x whose upper bound is 1, without the rounding error above it; NULL for NULL.
CREATE OR REPLACE MACRO clustereval._at_most_1(x) AS CASE WHEN x > 1.0 THEN 1.0 ELSE x END;

---------------------------------------------------------------------------------------------------
-- Logarithms
---------------------------------------------------------------------------------------------------

-- (atanh(v) - v) / v^3 for v^2 = w <= 0.01, by the series 1/3 + w/5 + w^2/7 + ... _deviance uses
-- it, because the difference atanh(v) - v loses digits for small v.
CREATE OR REPLACE MACRO clustereval._atanh_tail(w) AS
  3.333333333333333e-1 + w * (2e-1 + w * (1.4285714285714285e-1 + w * (1.111111111111111e-1 + w * (
    9.090909090909091e-2 + w * (7.692307692307693e-2 + w * (6.666666666666667e-2 + w / 17))
  ))));

-- ln(x / y) of two DOUBLEs x, y > 0, without loss of digits if they are nearly equal. The parameter
-- v is (x - y) / (x + y), which the caller computes without cancellation.
CREATE OR REPLACE MACRO clustereval._log_ratio_at(x, y, v) AS
  CASE WHEN abs(v) < 0.1 THEN 2.0 * atanh(v) ELSE ln(x / y) END;

-- ln(x / y) of two counts x, y > 0 as DOUBLE, without loss of digits if they are nearly equal.
CREATE OR REPLACE MACRO clustereval._log_ratio(x, y) AS
  clustereval._log_ratio_at(
    CAST(x AS DOUBLE), CAST(y AS DOUBLE), CAST(x - y AS DOUBLE) / CAST(x + y AS DOUBLE)
  );

-- ln(1 + x) for x >= 0, without loss of digits for small x.
CREATE OR REPLACE MACRO clustereval._log1p(x) AS
  CASE WHEN x < 0.1 THEN 2 * atanh(x / (2 + x)) ELSE ln(1 + x) END;

-- x, a DOUBLE, but NULL where it is infinite or NaN: a quotient or a square may overflow.
CREATE OR REPLACE MACRO clustereval._finite_or_null(x) AS CASE WHEN isfinite(x) THEN x END;

-- exp(x), or NULL if it is outside the normal range of DOUBLE. It is for determinants, given their
-- logarithm x: 0 would say that the matrix is singular.
CREATE OR REPLACE MACRO clustereval._finite_exp(x) AS
  CASE WHEN x BETWEEN -708 AND 709 THEN exp(x) END;

-- 2^x as DOUBLE, exact for whole x from 0 to 40, made of FLOOR, EXP and LN, which other engines
-- have, too.
CREATE OR REPLACE MACRO clustereval._power_of_2(x) AS FLOOR(EXP(x * LN(2.0)) + 0.5);

-- Loader's deviance x ln(x / m) + m - x >= 0 of a count x from its mean m, as DOUBLE. The
-- parameters d = x - m and v = d / (x + m) come from the caller, which can compute d without loss
-- of digits.
CREATE OR REPLACE MACRO clustereval._deviance(x, m, d, v) AS
  CASE
    WHEN abs(v) < 0.1 THEN v * (d + 2.0 * x * (v * v) * clustereval._atanh_tail(v * v))
    ELSE x * ln(GREATEST(x, 1.0) / m) - d
  END;
