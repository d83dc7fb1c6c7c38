"""Cycles cut by barriers into sections, each as long as the longest way through it.

Programs: phases, each as long as the slowest of its processors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slipstick.method.mean_value.maxima import Array, Span, longest_of_alike, one_after_the_other, rounds
from slipstick.method.mean_value.synchronized_start import surge
from slipstick.method.mean_value.traversal import Pass
from slipstick.method.mean_value.visits import Meet, Node, Rounds, Series
from slipstick.model.resources import Barrier


def cycle_time(made: Pass, root: Node) -> Span:
    """Give the time of a whole cycle; the last section goes on in the next cycle."""
    return Sections(made).cycle(root)


@dataclass(frozen=True, slots=True)
class _Way:
    """A way cut by barriers: up to the first, the time of the sections between, and what comes after the last."""

    first: tuple[Node, ...]
    middle: tuple[Span, ...] = ()
    rest: tuple[Node, ...] | None = None
    ends: Meet | None = None
    last: Meet | None = None


class Sections:
    """Goes through a tree from barrier to barrier."""

    def __init__(self, made: Pass) -> None:
        self.made = made
        self._number = 0

    def cycle(self, root: Node) -> Span:
        way = self._way(root)
        if way.rest is None:
            return self._through(way.first)
        assert way.ends is not None
        around = self._section((*way.rest, *way.first), way.ends)
        return one_after_the_other([*way.middle, around])

    def _through(self, nodes: tuple[Node, ...]) -> Span:
        return one_after_the_other([self.made.span(node) for node in nodes])

    def _way(self, node: Node) -> _Way:
        match node:
            case Meet():
                return _Way((), (), (), node, node)
            case Series(parts):
                made = _Way(())
                for part in parts:
                    made = self._joined(made, self._way(part))
                return made
            case Rounds(count, body):
                inner = self._way(body)
                return _Way((node,)) if inner.rest is None else self._again(self.made.numbers[count], inner)
        return _Way((node,))

    def _again(self, count: Array, inner: _Way) -> _Way:
        """Go round several times with a barrier in each."""
        assert inner.rest is not None
        assert inner.ends is not None
        more = np.where(count.real > 1, count - 1, 0 * count)
        between = rounds(more, self._section((*inner.rest, *inner.first), inner.ends))
        middle = (between, *(rounds(count, each) for each in inner.middle))
        return _Way(inner.first, middle, inner.rest, inner.ends, inner.last)

    def _joined(self, a: _Way, b: _Way) -> _Way:
        if a.rest is None:
            return _Way((*a.first, *b.first), b.middle, b.rest, b.ends, b.last)
        if b.rest is None:
            return _Way(a.first, a.middle, (*a.rest, *b.first), a.ends, a.last)
        assert b.ends is not None
        section = self._section((*a.rest, *b.first), b.ends)
        return _Way(a.first, (*a.middle, section, *b.middle), b.rest, a.ends, b.last)

    def _section(self, nodes: tuple[Node, ...], meet: Meet) -> Span:
        """Give the time of a section that ends at a barrier: the expected maximum of the arrivals, and its cost."""
        number, made = self._number, self.made
        self._number += 1
        label = f"barrier:{meet.name}"
        meeting = made.model.resources[meet.name]
        assert isinstance(meeting, Barrier)
        cost = made.numbers[meeting.cost] * made.factor(label)
        own = self._through(nodes)
        if made.frozen is not None:
            waited = made.frozen.ends[number] - own.mean.real
            return Span(own.mean + waited * made.factor(label) + cost, own.variance)
        last = self._last(nodes, own, meet)
        made.found.ends[number] = last.mean
        return Span(last.mean + cost, last.variance, own.kind)

    def _last(self, nodes: tuple[Node, ...], own: Span, meet: Meet) -> Span:
        everybody = self.made.processors
        if meet.parties is not None and meet.parties < everybody:
            # Of a steady stream of arrivals, one in `parties` ends a meeting.
            part = (meet.parties - 1) / (2 * everybody)
            return Span(own.mean / (1 - part), own.variance)
        return surge(self.made, nodes, everybody) or longest_of_alike(own, np.full(1, float(everybody)))
