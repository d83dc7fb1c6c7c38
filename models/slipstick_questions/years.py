"""Years as text."""

from __future__ import annotations

from slipstick.report.formatting import NOTHING


def year_text(value: float | None) -> str:
    """Return a year as text, with one decimal if it is not whole; a dash for None.

    >>> year_text(2024.0), year_text(2024.46), year_text(None)
    ('2024', '2024.5', '-')
    """
    return NOTHING if value is None else f"{value:.1f}".removesuffix(".0")
