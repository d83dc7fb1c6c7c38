"""How many examples a property test tries: a fixed part of the whole, which ``make thorough`` tries."""

from __future__ import annotations

import os

PART = float(os.environ.get("SLIPSTICK_EXAMPLES", "0.25"))
"""The part of all examples that is tried."""


def examples(whole: int) -> int:
    """Return how many of the examples of a property are tried in this run.

    >>> examples(10) <= 10
    True
    """
    return min(whole, max(10, round(PART * whole)))
