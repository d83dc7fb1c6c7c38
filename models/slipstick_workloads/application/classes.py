"""Classes of operations: counts of equal parts and like sizes, at the mean size of the whole program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from slipstick.program.counts import Counts, Tally

Key = tuple[int, int]
"""Parts, and the number of binary digits of the bytes of one part."""


@dataclass(frozen=True, slots=True)
class Class:
    """Exchanges that are taken as one operation.

    Parameters
    ----------
    parts : processors asked
    size : mean size of the reply of each [B]
    """

    parts: int
    size: float


class Classes:
    """The classes of a program's counts, and the sizes of its messages.

    Parameters
    ----------
    counts : of the program
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    @cached_property
    def faults(self) -> dict[Key, Class]:
        """Faults and collections by key, each at its mean size over the whole program."""
        found: dict[Key, tuple[int, int]] = {}
        for tally in self._tallies():
            for name in ("faults", "collected"):
                for (parts, size), number in getattr(tally, name).items():
                    key = key_of(parts, size)
                    before, carried = found.get(key, (0, 0))
                    found[key] = before + number * parts, carried + number * size
        return {key: Class(key[0], carried / number) for key, (number, carried) in sorted(found.items())}

    @cached_property
    def served(self) -> dict[Key, Class]:
        """Replies with diffs, of one processor in one phase, by size."""
        found: dict[Key, tuple[int, int]] = {}
        for tally in self._tallies():
            number, size = tally.sent.get("diffs", (0, 0))
            if number:
                key = key_of(1, size // number)
                before, carried = found.get(key, (0, 0))
                found[key] = before + number, carried + size
        return {key: Class(1, carried / number) for key, (number, carried) in sorted(found.items())}

    def message(self, kind: str) -> float:
        """Give the mean size of a kind of message; 0 if there are none [B]."""
        pairs = [tally.sent.get(kind, (0, 0)) for tally in self._tallies()]
        number = sum(number for number, _ in pairs)
        return sum(size for _, size in pairs) / number if number else 0.0

    @cached_property
    def made_when_served(self) -> float:
        """Diffs made for each reply; the others were made before."""
        made, served = self.counts.total("diffs_made"), self.counts.total("served_diffs")
        return min(1.0, made / served) if served else 0.0

    def _tallies(self) -> Iterator[Tally]:
        for phase in self.counts.phases:
            yield from phase.tallies


def key_of(parts: int, size: int) -> Key:
    """Class an exchange by its parts and the power of two that a part's reply is under."""
    return parts, (size // parts).bit_length()


def by_key(exchanges: Mapping[tuple[int, int], int]) -> Counter[Key]:
    """Count exchanges by class."""
    found: Counter[Key] = Counter()
    for (parts, size), number in exchanges.items():
        found[key_of(parts, size)] += number
    return found
