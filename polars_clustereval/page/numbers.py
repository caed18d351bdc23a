"""Numbers: the format in which a page shows numbers."""

from __future__ import annotations

from typing import Any

__all__ = ["show_number"]


def show_number(value: Any) -> str:
    """Return a number as text with four significant digits, or in full if it is a whole number.

    None is shown as a dash (–), and a struct as its first value and, if known, its two limits.
    """
    if isinstance(value, dict):
        value, lower, upper = value.values()
        limits = "" if lower is None else f" ({show_number(lower)} to {show_number(upper)})"
        return show_number(value) + limits
    if value is None:
        return "–"
    if isinstance(value, int) or abs(value) >= 1e4:
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3e}"
    return f"{value:.4g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.3e}"
