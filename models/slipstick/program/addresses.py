"""Places of periodic and random addresses: shares of interleaved memory modules, miss ratios of a cache."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Addresses:
    """The elements that one processor accesses: start, start + stride, ... modulo the number of elements.

    Parameters
    ----------
    elements : M, consecutive shared elements [1]
    stride : s, from one access to the next [1]
    offset : p, processor i begins at element i p mod M [1]
    random : every element is equally likely at every access; stride and offset have no effect

    Accesses of stride s visit every d-th element, d = gcd(s, M), once in M/d accesses, so ratios are exact.
    """

    elements: int
    stride: int = 1
    offset: int = 0
    random: bool = False

    @property
    def spacing(self) -> int:
        """Distance between the elements visited."""
        return 1 if self.random else math.gcd(self.stride, self.elements)

    def module_ratios(self, per_block: int, modules: int, *, all_processors: bool) -> tuple[float, ...]:
        """Give the share of the accesses that each memory module gets.

        Parameters
        ----------
        per_block : consecutive elements in one module before the next begins [1]
        modules : how many [1]
        all_processors : average over the starts of all processors; else those of processor 0

        >>> Addresses(elements=8).module_ratios(4, 4, all_processors=False)
        (0.5, 0.5, 0.0, 0.0)
        """
        # Processors begin at multiples of the offset, so together they visit multiples of a finer spacing.
        spacing = math.gcd(self.spacing, self.offset) if all_processors and not self.random else self.spacing
        visited, cycle = self.elements // spacing, _cycle(spacing, per_block * modules)
        rounds, rest = divmod(visited, cycle)
        counts = _counts(rest, spacing, per_block, modules)
        whole = _counts(cycle, spacing, per_block, modules) if rounds else counts
        return tuple((each + rounds * again) / visited for each, again in zip(counts, whole, strict=True))

    def miss_ratio(self, per_line: float, lines: float) -> float:
        """Give the share of the accesses that miss in the processor's own cache, the other processors idle.

        The least recently used line is replaced; conflicts within sets are neglected. Periodic accesses to more lines
        than the cache holds miss at each new line, to fewer lines never; random accesses miss with the probability
        that a line is not among those held.

        Parameters
        ----------
        per_line : elements of a line [1]
        lines : lines of the cache [1]

        >>> Addresses(elements=1024, stride=2).miss_ratio(per_line=4, lines=16)
        0.5
        """
        touched = min(self.elements / self.spacing, math.ceil(self.elements / per_line))
        if touched <= lines:
            return 0.0
        if self.random:
            return 1.0 - lines / touched
        return min(1.0, self.stride / per_line)


def _cycle(spacing: int, around: int) -> int:
    """Count the elements visited until the order of the modules repeats; one turn has `around` elements."""
    return around // math.gcd(spacing, around)


def _counts(visited: int, spacing: int, per_block: int, modules: int) -> list[int]:
    """Count how many of the first elements visited lie in each module."""
    found = [0] * modules
    if spacing >= per_block:
        for k in range(visited):
            found[k * spacing // per_block % modules] += 1
        return found
    # Several elements lie in each block: count block by block. The first element at or after x is number ceil(x / spacing).
    for block in range(-(-visited * spacing // per_block)):
        first, end = -(-block * per_block // spacing), -(-(block + 1) * per_block // spacing)
        found[block % modules] += min(end, visited) - min(first, visited)
    return found
