"""Laws: one `Law` object for each closed form.

Equation, where it holds, units, source and published values live in one object; evaluation, LaTeX,
help and tests are read from it. To add a law, write one `Law(...)` with at least one `Check` in the
module of its family, by itself or in a tuple of laws that are alike: `LAWS` and the tests find it
there. The modules of the families are imported when `LAWS` is first read.
"""

from __future__ import annotations

from slipstick.law.law import FAMILIES, LAWS, Law

__all__ = ["FAMILIES", "LAWS", "Law"]
