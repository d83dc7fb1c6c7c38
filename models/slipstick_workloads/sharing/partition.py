"""Dividing items among processors."""

from __future__ import annotations

from slipstick.errors import ModelError

START = "start-up"
"""The phase in which data is laid out; the paper's times leave it out."""


def share(count: int, processors: int, me: int) -> tuple[int, int]:
    """Give the first of a processor's items and the one after its last; sizes differ by one at most.

    >>> [share(10, 4, me) for me in range(4)]
    [(0, 2), (2, 5), (5, 7), (7, 10)]
    """
    if count < processors:
        raise ModelError(f"{count} items cannot be divided among {processors} processors")
    return me * count // processors, (me + 1) * count // processors
