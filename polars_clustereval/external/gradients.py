"""Metrics as functions of a few statistics, with the derivatives needed for standard errors.

The module relative.intervals uses these functions and derivatives. A metric is a function of the
statistics of its family:

===========  ================  ==============  ==  ===========================
family       first             second          third
===========  ================  ==============  ==  ===========================
pairs        tp                fp              fn  as shares of all pairs
information  mi                hc              hl  in nats
bcubed       B-cubed precision B-cubed recall
majority     purity            inverse purity
===========  ================  ==============  ==  ===========================
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

PAIRS, INFORMATION, BCUBED, MAJORITY = "pairs", "information", "bcubed", "majority"


def as_expression(term: Term) -> pl.Expr:
    """Return `term`, which is an expression or a number, as a Float64 expression."""
    return term if isinstance(term, pl.Expr) else pl.lit(term, pl.Float64)


class Quotient(NamedTuple):
    """A metric, written as the quotient of two functions of the statistics of its family.

    The two functions are top and bottom, and the slopes are the derivatives of top and bottom with
    respect to the statistics. If the metric is a linear function of the statistics, bottom is 1,
    and top is not used.
    """

    family: str
    top: Term
    bottom: Term
    top_slopes: Slopes
    bottom_slopes: Slopes

    @property
    def is_linear(self) -> bool:
        """Whether the metric is a linear function of the statistics, in which case bottom is 1."""
        return not isinstance(self.bottom, pl.Expr)

    def fields(self) -> Terms:
        """Return expressions for top and bottom, and for their slopes t0 to t2 and b0 to b2."""
        terms = {"top": self.top, "bottom": self.bottom}
        terms |= {f"t{i}": self.top_slopes[i] for i in range(3)}
        terms |= {f"b{i}": self.bottom_slopes[i] for i in range(3)}
        return {name: as_expression(term) for name, term in terms.items()}


def linear(family: str, *coefficients: Term) -> Quotient:
    """Return a metric that is a linear function of the statistics of `family`."""
    first, second, third = coefficients
    return Quotient(family, 0.0, 1.0, (first, second, third), (0.0, 0.0, 0.0))


def root_slopes(b: pl.Expr, c: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the derivatives of sqrt(b c) with respect to b and c, or NULL if b or c is 0."""
    return 0.5 * ratio(c, b).sqrt(), 0.5 * ratio(b, c).sqrt()
