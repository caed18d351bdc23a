"""Expressions that compute counts, sums and logarithms without loss of precision."""

from __future__ import annotations

import polars as pl

# ----------------------------------------------------------------------------------------------
# Counts
# ----------------------------------------------------------------------------------------------


def to_double(x: pl.Expr) -> pl.Expr:
    """Return x cast to Float64."""
    return x.cast(pl.Float64)


def widen(x: pl.Expr) -> pl.Expr:
    """Return a count cast to Int128, so that the product of three counts of 1e10 rows is exact."""
    return x.cast(pl.Int128)


def count_ordered_pairs(n: pl.Expr) -> pl.Expr:
    """Return n (n - 1) as Int128, the number of ordered pairs of distinct rows among n rows."""
    return widen(n) * (widen(n) - 1)


def count_pairs(n: pl.Expr) -> pl.Expr:
    """Return n (n - 1) / 2 as Int128, the number of unordered pairs among n rows."""
    return count_ordered_pairs(n) // 2


# ----------------------------------------------------------------------------------------------
# Ratios
# ----------------------------------------------------------------------------------------------


def ratio(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Return x / y as Float64, or NULL if y is 0."""
    return pl.when(y != 0).then(to_double(x) / to_double(y))


def finite_or_null(x: pl.Expr) -> pl.Expr:
    """Return x, or NULL where x is infinite or NaN because a quotient or square has overflowed."""
    return pl.when(x.is_finite()).then(x)


def ratio_or(part: pl.Expr, whole: pl.Expr, otherwise: float) -> pl.Expr:
    """Return part / whole, or `otherwise` if `whole` is 0 (in which case `part` is 0 as well)."""
    return pl.when(whole == 0).then(otherwise).otherwise(part / whole)


# ----------------------------------------------------------------------------------------------
# Sums
# ----------------------------------------------------------------------------------------------


def clamped_mean(x: pl.Expr) -> pl.Expr:
    """Return the mean of x, limited to the range of x: the mean of equal numbers is exact."""
    return x.mean().clip(x.min(), x.max())


#: The number of binary places in a sum of row counts (up to 1e14) and in a sum of shares (up to
#: 100).
PLACES_OF_ROWS, PLACES_OF_SHARES = 80, 120


def to_fixed_point(x: pl.Expr, places: int = PLACES_OF_ROWS) -> pl.Expr:
    """Return x as a fixed-point number: the integer part of x * 2^places, as Int128.

    Sums of fixed-point numbers are exact and do not depend on the order of the terms. In contrast,
    group_by adds numbers one by one in double precision, so the sum of a million equal numbers is
    off by 1e-11.
    """
    return (x * 2.0**places).cast(pl.Int128)


def from_fixed_point(x: pl.Expr, places: int = PLACES_OF_ROWS) -> pl.Expr:
    """Return a fixed-point number of this many places, or a sum of such numbers, as Float64."""
    return to_double(x) * 2.0**-places


# ----------------------------------------------------------------------------------------------
# Logarithms
# ----------------------------------------------------------------------------------------------


def _atanh_tail(w: pl.Expr) -> pl.Expr:
    """Return (atanh(v) - v) / v^3 for v^2 = w <= 0.01, as a power series in w.

    `deviance` uses the series because the difference atanh(v) - v loses digits for small v.
    """
    tail = w / 17
    for odd in (15, 13, 11, 9, 7, 5):
        tail = w * (1 / odd + tail)
    return 1 / 3 + tail


def log_ratio(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Return ln(x / y) for counts x, y > 0, without losing digits if x and y are nearly equal."""
    v = to_double(x - y) / to_double(x + y)
    return (
        pl.when(v.abs() < 0.1).then(2 * v.arctanh()).otherwise((to_double(x) / to_double(y)).log())
    )


def last_row_term(x: pl.Expr) -> pl.Expr:
    """Return x ln x - (x - 1) ln(x - 1) - ln x for a count x >= 1, which tends to 1.

    It is what the last of x rows adds to x ln x, less ln x.
    """
    return to_double(x - 1) * log_ratio(x, (x - 1).clip(1))


def deviance(x: pl.Expr, m: pl.Expr, d: pl.Expr) -> pl.Expr:
    """Return Loader's deviance of a count x from its mean m: x ln(x / m) + m - x.

    The deviance is nonnegative. All numbers are Float64. The parameter d is x - m, which the caller
    computes from integers so that no digits are lost.
    """
    v = d / (x + m).clip(1e-300)
    w = v * v
    near = v * (d + 2 * x * w * _atanh_tail(w))
    far = x * (x.clip(1.0) / m).log() - d
    return pl.when(v.abs() < 0.1).then(near).otherwise(far)


# ----------------------------------------------------------------------------------------------
# Student's t
# ----------------------------------------------------------------------------------------------


def estimate_freedom(squares: pl.Expr, fourths: pl.Expr, n: pl.Expr) -> pl.Expr:
    """Return the degrees of freedom of a variance, by Satterthwaite's approximation.

    The variance is a sum of n squares; `squares` is this sum, and `fourths` is the sum of the
    fourth powers. If few terms are much larger than the others, there are about twice as many
    degrees of freedom as large terms.
    """
    freedom = ratio(2 * squares**2, (fourths - squares**2 / n).clip(0))
    return pl.when(n > 1).then(pl.min_horizontal(freedom, n - 1, 1e6))


def expm1(x: pl.Expr) -> pl.Expr:
    """Return exp(x) - 1 without losing digits if x is near 0."""
    return (x / 2).tanh() * (x.exp() + 1)


def squared_t_quantile(freedom: pl.Expr, z: float) -> pl.Expr:
    """Return the square of a quantile of Student's t, from the normal quantile z of the same tail.

    This is Wallace's (1959) approximation. For a tail of 0.025, its root is 4 % too large at 2
    degrees of freedom, and 0.1 % at 6. `freedom` is the number of degrees of freedom.
    """
    return freedom * expm1((z * (8 * freedom + 3) / (8 * freedom + 1)) ** 2 / freedom)


# ----------------------------------------------------------------------------------------------
# Intervals of shares
# ----------------------------------------------------------------------------------------------


def wilson_limit(value: pl.Expr, variance: pl.Expr, spread: pl.Expr, side: int) -> pl.Expr:
    """Return a limit of Wilson's interval of a share, the lower for side = -1, the upper for 1.

    `variance` is value (1 - value), and `spread` is the squared quantile divided by the effective
    sample size.
    """
    half = (spread * (variance + spread / 4)).sqrt()
    return (value + spread / 2 + side * half) / (1 + spread)


# ----------------------------------------------------------------------------------------------
# Numbers in sentences
# ----------------------------------------------------------------------------------------------


def percent_as_text(x: pl.Expr) -> pl.Expr:
    """Return x, a number from 0 to 1, as a percentage such as '12 %'.

    Percentages below 10 % are shown with one decimal place. Only 0 becomes 0 %, and only 1 becomes
    100 %.
    """
    whole = (100 * x + 0.5).floor().cast(pl.Int64)
    tenths = (1000 * x + 0.5).floor().cast(pl.Int64)
    small = pl.format("{}.{} %", tenths // 10, tenths % 10)
    return (
        pl.when(x == 0)
        .then(pl.lit("0 %"))
        .when((x >= 0.995) & (x < 1))
        .then(pl.lit("over 99 %"))
        .when((x > 0) & (x < 0.0005))
        .then(pl.lit("below 0.1 %"))
        .when(x >= 0.1)
        .then(pl.format("{} %", whole))
        .otherwise(small)
    )


def whole_as_text(x: pl.Expr) -> pl.Expr:
    """Return x as text, rounded to the nearest whole number, for 0 <= x < 1e15."""
    return (x + 0.5).floor().cast(pl.Int64).cast(pl.String)


def decimals_as_text(x: pl.Expr) -> pl.Expr:
    """Return x, whose absolute value must be below 1e15, as text with two decimal places."""
    hundredths = (100 * x.abs() + 0.5).floor().cast(pl.Int64)
    sign = pl.when((hundredths > 0) & (x < 0)).then(pl.lit("-")).otherwise(pl.lit(""))
    decimals = (hundredths % 100).cast(pl.String).str.zfill(2)
    return pl.format("{}{}.{}", sign, hundredths // 100, decimals)


def decimals_below(x: pl.Expr, most: float) -> pl.Expr:
    """Return x < `most` with two decimal places, such as 'just below 0.25' if it rounds to it."""
    is_near = x >= most - 0.005
    return pl.when(is_near).then(pl.lit(f"just below {most:g}")).otherwise(decimals_as_text(x))


def count_as_text(n: pl.Expr, noun: str) -> pl.Expr:
    """Return n with a noun in the singular or plural, as text such as '1 row' or '2 rows'."""
    return pl.format(f"{{}} {noun}{{}}", n, word_for(n, "", "s"))


def word_for(n: pl.Expr, one: str, several: str) -> pl.Expr:
    """Return the word `one` if n is 1, otherwise `several`."""
    return pl.when(n == 1).then(pl.lit(one)).otherwise(pl.lit(several))
