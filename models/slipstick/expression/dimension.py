"""Dimensions: what a number counts, without how large its unit is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from slipstick.errors import UnitError

BASES = ("s", "B", "op", "request", "page", "message", "cycle")
"""Base units. Bytes, operations, requests and cycles are dimensions of their own: none turns into
a plain number or into another."""

_TERM = re.compile(r"(?P<base>[A-Za-z]+)(?:\^(?P<power>[0-9]+))?")


@dataclass(frozen=True, slots=True)
class Dimension:
    """A product of integer powers of the base units.

    Parameters
    ----------
    powers : one integer for each of `BASES` [1]

    >>> TIME / BYTES
    Dimension.of('s/B')
    >>> (TIME / BYTES * BYTES) == TIME
    True
    """

    powers: tuple[int, ...] = (0,) * len(BASES)

    @staticmethod
    def of(text: str) -> Dimension:
        """Read the canonical spelling: ``1``, ``s``, ``s/B``, ``1/s``, ``s B/op^2``.

        Raises UnitError for anything else.

        >>> Dimension.of("1/s").time_power
        -1
        """
        return _read(text)

    @property
    def time_power(self) -> int:
        """The power of time k: what a share is weighted with (s: 1, 1/s: -1, B: 0)."""
        return self.powers[0]

    def __mul__(self, other: Dimension) -> Dimension:
        return Dimension(tuple(a + b for a, b in zip(self.powers, other.powers, strict=True)))

    def __truediv__(self, other: Dimension) -> Dimension:
        return Dimension(tuple(a - b for a, b in zip(self.powers, other.powers, strict=True)))

    def __pow__(self, exponent: int) -> Dimension:
        return Dimension(tuple(exponent * a for a in self.powers))

    def __str__(self) -> str:
        return _written(self.powers)

    def __repr__(self) -> str:
        return f"Dimension.of({str(self)!r})"


@cache
def _written(powers: tuple[int, ...]) -> str:
    above, below = _side(powers, 1), _side(powers, -1)
    return (above or "1") + (f"/{below}" if below else "")


def _side(powers: tuple[int, ...], sign: int) -> str:
    named = ((base, power * sign) for base, power in zip(BASES, powers, strict=True))
    return " ".join(base if power == 1 else f"{base}^{power}" for base, power in named if power > 0)


@cache
def _read(text: str) -> Dimension:
    above, _, below = text.partition("/")
    powers = dict.fromkeys(BASES, 0)
    for side, sign in ((above, 1), (below, -1)):
        for word in side.split():
            term = _TERM.fullmatch(word)
            if word == "1" and sign == 1:
                continue
            if term is None or term["base"] not in powers:
                raise UnitError(f"{text!r} is not a dimension; write base units as in 's/B': {', '.join(BASES)}")
            powers[term["base"]] += sign * int(term["power"] or 1)
    return Dimension(tuple(powers.values()))


COUNT = Dimension.of("1")
TIME = Dimension.of("s")
BYTES = Dimension.of("B")
TIME_PER_BYTE = Dimension.of("s/B")
RATE = Dimension.of("1/s")
