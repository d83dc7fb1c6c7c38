"""One pass through the tree: how long it takes, given what is found at each queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from slipstick.expression.nodes import Expr
from slipstick.method.mean_value.forks import fork_time
from slipstick.method.mean_value.lines import line_time
from slipstick.method.mean_value.spans import Array, Span, either, one_after_the_other, rounds
from slipstick.method.mean_value.tree import Leaf, Line, Locked, Node, Options, Parallel, Rounds, Series, Visit
from slipstick.model.activity import Step
from slipstick.model.system import Model

__all__ = ["Pass", "Waits"]

Numbers = Mapping[Expr, Array]


@dataclass
class Waits:
    """What a pass found, by visit, and by barrier."""

    waits: dict[int, Span] = field(default_factory=dict)
    services: dict[int, Span] = field(default_factory=dict)
    beside: dict[int, Array] = field(default_factory=dict)
    ends: dict[int, Array] = field(default_factory=dict)


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
        processors: int,
        find: Finder,
        scale: Mapping[str, Array] | None = None,
        frozen: Waits | None = None,
    ) -> None:
        self.model, self.numbers, self.processors = model, numbers, processors
        self.find, self.scale, self.frozen = find, scale or {}, frozen
        self.found = frozen or Waits()

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
                return fork_time(self, branches)
            case Line():
                return line_time(self, node)
        raise TypeError(type(node))

    def _service(self, step: Step) -> Span:
        mean = self.numbers[step.time] * self.factor(step.name)
        kind = {0.0: "constant", 1.0: "exponential"}.get(step.scv, "general")
        return Span(mean, step.scv * mean * mean, kind)

    def _visited(self, visit: Visit, service: Span) -> Span:
        if self.frozen is None:
            self.found.waits[visit.index] = self.find(visit, service)
            self.found.services[visit.index] = service
        wait = self.wait(visit)
        if wait.kind == "constant" and np.all(wait.mean == 0):
            return service
        return one_after_the_other([service, wait])

    def wait(self, visit: Visit) -> Span:
        """Give the wait at a visit that has been passed."""
        label = f"wait:{visit.queue}" if visit.step is not None else f"lock:{visit.queue}"
        wait = self.found.waits[visit.index]
        return wait if self.frozen is None else wait.scaled(self.factor(label))

    def alone(self) -> Pass:
        """Make a pass that finds nobody in the way."""
        return Pass(self.model, self.numbers, self.processors, lambda visit, service: NO_WAIT)

    def factor(self, label: str) -> Array:
        return self.scale.get(label, _ONE)


NO_WAIT = Span(np.zeros(1), np.zeros(1), "constant")
_ONE = np.ones(1)
