"""Levels of a tree, counted exactly, where a quotient of logarithms is one off at some powers."""

from __future__ import annotations

from slipstick.errors import ModelError

__all__ = ["check_radix", "levels"]


def levels(count: float, radix: float) -> int:
    """Count the levels of a tree of `radix` that reaches `count` leaves, in integer arithmetic."""
    check_radix(radix)
    k, reach = 0, 1
    while reach < count:
        k, reach = k + 1, reach * int(radix)
    return k


def check_radix(radix: float) -> None:
    """Insist on a whole number of branches, at least 2."""
    if not (radix >= 2 and float(radix).is_integer()):
        raise ModelError(f"the radix of ceil_log must be a whole number of at least 2, got {radix:g}")
