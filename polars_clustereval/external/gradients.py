"""Metrics as functions of a few statistics, with the derivatives needed for standard errors.

The module relative.intervals uses these functions and derivatives. A metric is a function of the
statistics of its family:

===========  =================  ==========================  =====  ======================
family       first              second                      third
===========  =================  ==========================  =====  ======================
pairs        tp                 fp                          fn     as shares of all pairs
information  mi                 hc                          hl     in nats
bcubed       B-cubed precision  B-cubed recall
majority     purity             inverse purity
matching     class F-measure    element-centric similarity
===========  =================  ==========================  =====  ======================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from polars_clustereval.base.exact import ratio

if TYPE_CHECKING:
    from polars_clustereval.base.frames import Terms

#: An expression, or a number or None (for NULL) in its place.
Term = pl.Expr | float | None
#: The derivatives with respect to the three statistics of a family.
Slopes = tuple[Term, Term, Term]

PAIRS, INFORMATION, BCUBED = "pairs", "information", "bcubed"
MAJORITY, MATCHING = "majority", "matching"


def as_expression(term: Term) -> pl.Expr:
    """Return `term`, which is an expression or a number, as a Float64 expression."""
    return term if isinstance(term, pl.Expr) else pl.lit(term, pl.Float64)


class Quotient(NamedTuple):
    """A metric, written as the quotient of two functions of the statistics of its family.

    The two functions are top and bottom, and the slopes are the derivatives of top and bottom with
    respect to the statistics. If the metric is a linear function of the statistics, bottom is 1,
    and top is not used.
    """

    family: str | None
    top: Term
    bottom: Term
    top_slopes: Slopes
    bottom_slopes: Slopes
    #: The derivatives of top and bottom with respect to emi, a fourth statistic of INFORMATION.
    expected_slopes: tuple[float, float] = (0.0, 0.0)

    @property
    def is_linear(self) -> bool:
        """Whether the metric is a linear function of the statistics, in which case bottom is 1."""
        return not isinstance(self.bottom, pl.Expr)

    def fields(self) -> Terms:
        """Return family, is_linear, top and bottom, and their slopes t0 to t3 and b0 to b3."""
        t3, b3 = self.expected_slopes
        terms = {"top": self.top, "bottom": self.bottom}
        terms |= {f"t{i}": slope for i, slope in enumerate((*self.top_slopes, t3))}
        terms |= {f"b{i}": slope for i, slope in enumerate((*self.bottom_slopes, b3))}
        return {
            "family": pl.lit(self.family, pl.String),
            "is_linear": pl.lit(self.is_linear),
            **{name: as_expression(term) for name, term in terms.items()},
        }


def linear(family: str, *coefficients: Term, expected: float = 0.0) -> Quotient:
    """Return a metric that is linear in the statistics of `family`, and in emi."""
    first, second, third = coefficients
    return Quotient(family, 0.0, 1.0, (first, second, third), (0.0, 0.0, 0.0), (expected, 0.0))


def root_slopes(b: pl.Expr, c: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the derivatives of sqrt(b c) with respect to b and c, or NULL if b or c is 0."""
    return 0.5 * ratio(c, b).sqrt(), 0.5 * ratio(b, c).sqrt()
