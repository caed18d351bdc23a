"""Numbers: the format in which a page shows numbers."""

from __future__ import annotations

from typing import Any

__all__ = ["show_number"]


def show_number(value: Any) -> str:
    """Return a number as text with four significant digits, or in full if it is a whole number.

    None is shown as a dash (–). A struct of a difference and its limits is shown with four
    decimals, because its size is to be compared with that of the limits.
    """
    if isinstance(value, dict):
        first, *limits = ("–" if x is None else f"{x:.4f}" if x else "0" for x in value.values())
        return first if "–" in limits else f"{first} ({' to '.join(limits)})"
    if value is None:
        return "–"
    if isinstance(value, int) or abs(value) >= 1e4:
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3e}"
    return f"{value:.4g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.3e}"
