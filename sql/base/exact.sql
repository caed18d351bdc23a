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
-- The macro multiplies because DuckDB computes a quotient of wide integers as DOUBLE; other engines
-- read a plain 0.5 as DOUBLE.
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
-- The same for a list x.
CREATE OR REPLACE MACRO clustereval._compensated_list_sum(x) AS list_aggregate(x, 'fsum');

-- Aggregate over the rows that meet `condition`: the `value` in the row with the smallest `key`, in
-- a tie the lowest, NULL last.
CREATE OR REPLACE MACRO clustereval._value_at_least_key(value, key, condition) AS
  (MIN({'key': key, 'value': value}) FILTER (WHERE condition))['value'];
-- The same for a whole number >= 0, for which an engine may have a faster form.
CREATE OR REPLACE MACRO clustereval._number_at_least_key(number, key, condition) AS
  clustereval._value_at_least_key(number, key, condition);

-- x clamped to the range from low to high, so that the mean of equal numbers is exactly that
-- number.
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

-- x ln x - (x - 1) ln(x - 1) - ln x for a count x >= 1, which tends to 1: what the last of x rows
-- adds to x ln x, less ln x.
CREATE OR REPLACE MACRO clustereval._last_row_term(x) AS
  (x - 1) * clustereval._log_ratio(x, GREATEST(x - 1, 1));

-- ln(1 + x) for x >= 0, without loss of digits for small x.
CREATE OR REPLACE MACRO clustereval._log1p(x) AS
  CASE WHEN x < 0.1 THEN 2 * atanh(x / (2 + x)) ELSE ln(1 + x) END;

-- x, a DOUBLE, or NULL if x is infinite or NaN, because a quotient or a square may overflow.
CREATE OR REPLACE MACRO clustereval._finite_or_null(x) AS CASE WHEN isfinite(x) THEN x END;

-- exp(x), or NULL outside the normal range of DOUBLE. Determinants are computed from their
-- logarithms x, where 0 would mean that the matrix is singular.
CREATE OR REPLACE MACRO clustereval._finite_exp(x) AS
  CASE WHEN x BETWEEN -708 AND 709 THEN exp(x) END;

-- 2^x as DOUBLE, exact for whole x from 0 to 40, made of functions that other engines have, too.
CREATE OR REPLACE MACRO clustereval._power_of_2(x) AS FLOOR(EXP(x * LN(2.0)) + 0.5);

-- Loader's deviance x ln(x / m) + m - x >= 0 of a count x from its mean m, as DOUBLE, where d = x -
-- m, which the caller computes without loss of digits, and v = d / (x + m).
CREATE OR REPLACE MACRO clustereval._deviance(x, m, d, v) AS
  CASE
    WHEN abs(v) < 0.1 THEN v * (d + 2.0 * x * (v * v) * clustereval._atanh_tail(v * v))
    ELSE x * ln(GREATEST(x, 1.0) / m) - d
  END;

---------------------------------------------------------------------------------------------------
-- Numbers in sentences
---------------------------------------------------------------------------------------------------

-- x, from 0 to 1, as a percentage in text: 0.123 -> '12 %', with one decimal below 10 %. The texts
-- 0 % and 100 % appear only for exactly none and exactly all.
CREATE OR REPLACE MACRO clustereval._percent_as_text(x) AS
  CASE
    WHEN x = 0 THEN '0 %'
    WHEN x >= 0.995 AND x < 1 THEN 'over 99 %'
    WHEN x > 0 AND x < 0.0005 THEN 'below 0.1 %'
    WHEN x >= 0.1 THEN concat(CAST(FLOOR(100 * x + 0.5) AS BIGINT), ' %')
    ELSE concat(
      CAST(FLOOR(1000 * x + 0.5) AS BIGINT) // 10, '.', CAST(FLOOR(1000 * x + 0.5) AS BIGINT) % 10,
      ' %'
    )
  END;

-- x, of a size below 1e15, as text with two decimals.
CREATE OR REPLACE MACRO clustereval._decimals_as_text(x) AS
  concat(
    CASE WHEN FLOOR(100 * abs(x) + 0.5) > 0 AND x < 0 THEN '-' ELSE '' END,
    CAST(FLOOR(100 * abs(x) + 0.5) AS BIGINT) // 100, '.',
    lpad(CAST(CAST(FLOOR(100 * abs(x) + 0.5) AS BIGINT) % 100 AS VARCHAR), 2, '0')
  );

-- x as text with two decimals, or 'just below 0.25' if it would round to `most` = 0.25.
CREATE OR REPLACE MACRO clustereval._decimals_below(x, most) AS
  CASE
    WHEN x >= most - 0.005 THEN concat('just below ', most)
    ELSE clustereval._decimals_as_text(x)
  END;

-- A number n and a noun, in the singular if n is 1: '1 row', '2 rows'.
CREATE OR REPLACE MACRO clustereval._count_as_text(n, noun) AS
  concat(n, ' ', noun, CASE WHEN n = 1 THEN '' ELSE 's' END);

---------------------------------------------------------------------------------------------------
-- Normal quantile
---------------------------------------------------------------------------------------------------

-- The standard normal quantile of 0.5 + q, for 0 <= q <= 0.425, where r = 0.180625 - q^2: q times
-- the quotient of two polynomials in r (AS 241).
CREATE OR REPLACE MACRO clustereval._central_normal_quantile(q, r) AS
  q * (((((((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r
    + 6.7265770927008700853e4) * r + 4.5921953931549871457e4) * r
    + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r
    + 1.3314166789178437745e2) * r + 3.3871328727963666080e0)
  / (((((((5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r
    + 3.9307895800092710610e4) * r + 2.1213794301586595867e4) * r
    + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r
    + 4.2313330701600911252e1) * r + 1.0e0);

-- Two polynomials in r = sqrt(-ln(tail)) - 1.6, for tails of exp(-25) to 0.075 (AS 241).
CREATE OR REPLACE MACRO clustereval._outer_normal_quantile(r) AS
  (((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r
    + 2.41780725177450611770e-1) * r + 1.27045825245236838258e0) * r
    + 3.64784832476320460504e0) * r + 5.76949722146069140550e0) * r
    + 4.63033784615654529590e0) * r + 1.42343711074968357734e0)
  / (((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r
    + 1.51986665636164571966e-2) * r + 1.48103976427480074590e-1) * r
    + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0) * r
    + 2.05319162663775882187e0) * r + 1.0e0);

-- The quotient of two polynomials in r = sqrt(-ln(tail)) - 5, for tails below exp(-25) (AS 241).
CREATE OR REPLACE MACRO clustereval._far_normal_quantile(r) AS
  (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r
    + 1.24266094738807843860e-3) * r + 2.65321895265761230930e-2) * r
    + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0) * r
    + 5.46378491116411436990e0) * r + 6.65790464350110377720e0)
  / (((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r
    + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4) * r
    + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r
    + 5.99832206555887937690e-1) * r + 1.0e0);

-- What a standard normal number exceeds with probability tail = 0.5 - q < 0.5.
CREATE OR REPLACE MACRO clustereval._normal_quantile_of_tail(q, tail) AS
  CASE
    WHEN q <= 0.425 THEN clustereval._central_normal_quantile(q, 0.180625e0 - q * q)
    WHEN tail >= exp(-25.0) THEN clustereval._outer_normal_quantile(sqrt(-ln(tail)) - 1.6e0)
    ELSE clustereval._far_normal_quantile(sqrt(-ln(tail)) - 5.0e0)
  END;

-- z such that a standard normal number lies between -z and z with probability `confidence`.
-- Wichura's algorithm AS 241 (PPND16), with a relative error of 1e-16. The lower tail is computed
-- first, since it keeps its digits if confidence is near 1.
CREATE OR REPLACE MACRO clustereval._normal_quantile(confidence) AS
  clustereval._normal_quantile_of_tail(
    CAST(confidence AS DOUBLE) / 2, (1 - CAST(confidence AS DOUBLE)) / 2
  );

---------------------------------------------------------------------------------------------------
-- Student's t
---------------------------------------------------------------------------------------------------

-- Degrees of freedom of a variance, a sum of n squares, by Satterthwaite's approximation, from the
-- sums of the squares and of the fourth powers; NULL for n < 2. If few terms are much larger than
-- the others, there are about twice as many degrees of freedom as large terms.
CREATE OR REPLACE MACRO clustereval._estimate_freedom(squares, fourths, n) AS
  CASE
    WHEN n > 1
    THEN LEAST(
      clustereval._ratio(2 * squares * squares, GREATEST(fourths - squares * squares / n, 0.0)),
      n - 1, 1e6
    )
  END;

-- exp(x) - 1 without losing digits if x is near 0.
CREATE OR REPLACE MACRO clustereval._expm1(x) AS tanh(x / 2) * (exp(x) + 1);

-- The square of a quantile of Student's t, from the normal quantile z of the same tail: Wallace's
-- (1959) approximation. For a tail of 0.025, its root is 4 % too large at 2 degrees of freedom, and
-- 0.1 % at 6.
CREATE OR REPLACE MACRO clustereval._squared_t_quantile(freedom, z) AS
  freedom * clustereval._expm1(pow(z * (8 * freedom + 3) / (8 * freedom + 1), 2) / freedom);

---------------------------------------------------------------------------------------------------
-- Intervals of shares
---------------------------------------------------------------------------------------------------

-- A limit of Wilson's interval of a share, for side = -1 and 1, with variance = value (1 - value)
-- and spread, the squared quantile divided by the effective sample size.
CREATE OR REPLACE MACRO clustereval._wilson_limit(value, variance, spread, side) AS
  (value + spread / 2 + side * sqrt(spread * (variance + spread / 4))) / (1 + spread);
