"""One pass through the tree: how long it takes, given what is found at each queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from slipstick.expression.nodes import Expr
from slipstick.method.mean_value.lines import line_time
from slipstick.method.mean_value.longest import first_largest, longest, longest_of_alike
from slipstick.method.mean_value.spans import NOTHING, Array, Span, either, one_after_the_other, rounds
from slipstick.method.mean_value.tree import Leaf, Line, Locked, Meet, Node, Options, Parallel, Rounds, Series, Visit
from slipstick.model.activity import Step
from slipstick.model.system import Meeting, Model

__all__ = ["Pass", "Waits"]

Numbers = Mapping[Expr, Array]


@dataclass
class Waits:
    """What a pass found, by visit, and by barrier."""

    waits: dict[int, Span] = field(default_factory=dict)
    services: dict[int, Span] = field(default_factory=dict)
    beside: dict[int, Array] = field(default_factory=dict)
    meetings: dict[tuple[str, int], Array] = field(default_factory=dict)


Finder = Callable[[Visit, Span], Span]


class Pass:
    """Evaluates a tree.

    Parameters
    ----------
    model : whose resources say what a barrier costs and how many servers there are
    numbers : value of each expression
    processors : how many take part
    find : the wait at a visit, given the service
    scale : factor on what is booked to a label; all 1 but for finding the account
    frozen : waits to be used instead of finding them
    """

    def __init__(
        self,
        model: Model,
        numbers: Numbers,
        processors: Array,
        find: Finder,
        scale: Mapping[str, Array] | None = None,
        frozen: Waits | None = None,
    ) -> None:
        self.model, self.numbers, self.processors = model, numbers, processors
        self.find, self.scale, self.frozen = find, scale or {}, frozen
        self.found = frozen or Waits()
        self._meetings = 0

    def cycle(self, node: Node) -> Span:
        """Give the time of a whole cycle; barriers cut it into sections."""
        way = self.way(node)
        if way.rest is None:
            return one_after_the_other([way.first])
        around = self._section(way.rest, way.first, way.last)
        return one_after_the_other([*way.middle, around])

    def way(self, node: Node) -> _Way:
        match node:
            case Meet():
                return _Way(NOTHING, (), NOTHING, node, node)
            case Series(parts):
                made = _Way(NOTHING)
                for part in parts:
                    made = self._joined(made, self.way(part))
                return made
            case Rounds(count, body):
                inner = self.way(body)
                if inner.rest is None:
                    return _Way(rounds(self.numbers[count], inner.first))
                return self._again(self.numbers[count], inner)
        return _Way(self.span(node))

    def _again(self, count: Array, inner: _Way) -> _Way:
        """Go round several times with a barrier in each."""
        assert inner.rest is not None
        more = np.where(count.real > 1, count - 1, 0 * count)
        between = rounds(more, self._section(inner.rest, inner.first, inner.last))
        middle = [between, *(rounds(count, each) for each in inner.middle)]
        return _Way(inner.first, tuple(middle), inner.rest, inner.ends, inner.last)

    def _joined(self, a: _Way, b: _Way) -> _Way:
        if a.rest is None and b.rest is None:
            return _Way(one_after_the_other([a.first, b.first]))
        if b.rest is None:
            assert a.rest is not None
            return _Way(a.first, a.middle, one_after_the_other([a.rest, b.first]), a.ends, a.last)
        if a.rest is None:
            return _Way(one_after_the_other([a.first, b.first]), b.middle, b.rest, b.ends, b.last)
        section = self._section(a.rest, b.first, b.ends)
        return _Way(a.first, (*a.middle, section, *b.middle), b.rest, a.ends, b.last)

    def _section(self, begun: Span, ended: Span, meet: Meet | None) -> Span:
        """Give the time of a section that ends at a barrier: the expected maximum of the arrivals, and its cost."""
        assert meet is not None
        own = one_after_the_other([begun, ended])
        key = (meet.name, self._meetings)
        self._meetings += 1
        label = f"barrier:{meet.name}"
        meeting = self.model.resources[meet.name]
        assert isinstance(meeting, Meeting)
        cost = self.numbers[meeting.cost] * self._factor(label)
        if self.frozen is not None:
            return Span(own.mean + self.frozen.meetings[key] * self._factor(label) + cost, own.variance)
        parties = self.processors if meet.parties is None else np.full(1, float(meet.parties))
        parties = np.where(parties.real < self.processors.real, parties, self.processors)
        last = longest_of_alike(own, parties)
        self.found.meetings[key] = last.mean - own.mean
        return Span(last.mean + cost, last.variance, own.kind)

    def span(self, node: Node) -> Span:
        """Give the time of what has no barrier inside."""
        match node:
            case Leaf(step, visit):
                service = self._service(step)
                return service if visit is None else self._visited(visit, service)
            case Series(parts):
                return one_after_the_other([self.span(part) for part in parts])
            case Rounds(count, body):
                return rounds(self.numbers[count], self.span(body))
            case Options(options):
                return either([(self.numbers[p], self.span(body)) for p, body in options])
            case Locked(visit, body):
                return self._visited(visit, self.span(body))
            case Parallel(branches):
                return longest([self.span(branch) for branch in branches])
            case Line():
                return line_time(self, node)
        raise TypeError(type(node))

    def _service(self, step: Step) -> Span:
        mean = self.numbers[step.time] * self._factor(step.name)
        kind = {0.0: "constant", 1.0: "exponential"}.get(step.scv, "general")
        return Span(mean, step.scv * mean * mean, kind)

    def _visited(self, visit: Visit, service: Span) -> Span:
        if self.frozen is None:
            wait = self.find(visit, service)
            self.found.waits[visit.index] = wait
            self.found.services[visit.index] = service
        else:
            label = f"wait:{visit.queue}" if visit.step is not None else f"lock:{visit.queue}"
            wait = self.frozen.waits[visit.index].scaled(self._factor(label))
        if wait.kind == "constant" and np.all(wait.mean == 0):
            return service
        return one_after_the_other([service, wait])

    def _factor(self, label: str) -> Array:
        return self.scale.get(label, _ONE)


_ONE = np.ones(1)


@dataclass(frozen=True, slots=True)
class _Way:
    """A way cut by barriers: up to the first, the sections between, and what comes after the last."""

    first: Span
    middle: tuple[Span, ...] = ()
    rest: Span | None = None
    ends: Meet | None = None
    last: Meet | None = None
