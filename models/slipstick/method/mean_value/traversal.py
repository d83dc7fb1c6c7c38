"""One pass through the tree: how long it takes, given what is found at each queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from slipstick.method.mean_value.forks_and_pipelines import fork_time, line_time
from slipstick.method.mean_value.maxima import NO_WAIT, Array, Span, either, one_after_the_other, rounds
from slipstick.method.mean_value.quantities import Numbers
from slipstick.method.mean_value.visits import (
    Access,
    Leaf,
    Line,
    Locked,
    Node,
    Options,
    Parallel,
    Rounds,
    Series,
    Visit,
    label_of,
    mean_of,
)
from slipstick.model.activity import Step
from slipstick.model.system import Model


@dataclass
class Found:
    """What a pass found.

    Parameters
    ----------
    waits, services : at each visit
    beside : how long a visit waits for others of the same processor [s]
    among : the same where it is not in the way of other processors, as in pipelines [s]
    ends : when the last comes to each barrier, by its number among the sections [s]
    short : by how much a cycle is shorter than a queue's work for all, which it waits for as well [s]
    """

    waits: dict[int, Span] = field(default_factory=dict)
    services: dict[int, Span] = field(default_factory=dict)
    beside: dict[int, Array] = field(default_factory=dict)
    among: dict[int, Array] = field(default_factory=dict)
    ends: dict[int, Array] = field(default_factory=dict)
    short: dict[str, Array] = field(default_factory=dict)


class Pass:
    """Evaluates a tree.

    Parameters
    ----------
    model : whose resources say what a barrier costs and how many servers there are
    numbers : value of each expression
    processors : how many take part
    waits : at each visit; none where it is left out
    scale : factor on what is booked to a label; all 1 but for finding the account
    frozen : waits to be used instead of finding them
    """

    def __init__(
        self,
        model: Model,
        numbers: Numbers,
        processors: int,
        waits: Mapping[int, Span],
        scale: Mapping[str, Array] | None = None,
        frozen: Found | None = None,
    ) -> None:
        self.model, self.numbers, self.processors = model, numbers, processors
        self.waits, self.scale, self.frozen = waits, scale or {}, frozen
        self.found = frozen or Found()
        self.services: dict[int, Span] = {}

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

    def _service(self, step: Step | Access) -> Span:
        mean = mean_of(step, self.numbers) * self.factor(step.name)
        kind = {0.0: "constant", 1.0: "exponential"}.get(step.scv, "general")
        return Span(mean, step.scv * mean * mean, kind)

    def _visited(self, visit: Visit, service: Span) -> Span:
        self.services[visit.index] = service
        if self.frozen is None:
            self.found.waits[visit.index] = self.waits.get(visit.index, NO_WAIT)
            self.found.services[visit.index] = service
        wait = self.wait(visit)
        return service if wait is NO_WAIT else one_after_the_other([service, wait])

    def wait(self, visit: Visit) -> Span:
        """Give the wait at a visit that has been passed."""
        wait = self.found.waits[visit.index]
        return wait if self.frozen is None or wait is NO_WAIT else wait.scaled(self.factor(label_of(visit)))

    def alone(self) -> Pass:
        """Make a pass that finds nobody in the way."""
        return Pass(self.model, self.numbers, self.processors, {})

    def factor(self, label: str) -> Array:
        return self.scale.get(label, _ONE)


_ONE = np.ones(1)
