"""What the closed form leaves out of a model: contention, and the spread of random times.

It depends on how many there are, processors or items, so it is said for each point anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Expr, constant
from slipstick.method.answers import at
from slipstick.model.activity import (
    Activity,
    Ask,
    BarrierWait,
    Choice,
    Fork,
    Hold,
    Pipeline,
    Step,
    WaitUnit,
    each_once,
    steps,
)
from slipstick.model.system import Model, SuperstepPopulation, is_processor

Flags = NDArray[np.bool_]
SizeValues = Mapping[Expr, Array]

FEW = 3
"""Pipelines that are named one by one in notes."""

RANDOM = "takes the longest of random times at their means, which is below the mean of the longest"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is left out at aligned points; an array of length 1 holds for all.

    Parameters
    ----------
    crowded : by resource or lock, whether waiting is possible there
    others : by the text of a note, whether it applies
    """

    crowded: Mapping[str, Flags]
    others: Mapping[str, Flags]

    def notes(self, index: int) -> tuple[str, ...]:
        """Say what is left out at one point; nothing means that the answer is exact."""
        crowded = [name for name, flags in self.crowded.items() if at(flags, index)]
        waiting = [f"leaves out waiting for {', '.join(crowded)}"] if crowded else []
        return (*waiting, *(note for note, flags in self.others.items() if at(flags, index)))

    def nothing(self) -> Flags:
        """Say at which points nothing is left out."""
        none = np.zeros(1, dtype=bool)
        return ~reduce(np.logical_or, [*self.crowded.values(), *self.others.values()], none)


def sizes(model: Model) -> tuple[Expr, ...]:
    """List the counts that decide what is left out: of processors, and of items."""
    items = [node.items for node in each_once(model.bodies) if isinstance(node, Pipeline)]
    return tuple(dict.fromkeys([*model.population.counts, *items]))


def neglected(model: Model, counts: SizeValues) -> LeftOut:
    """Say what the closed form of a model leaves out.

    Parameters
    ----------
    model : the system
    counts : the values of `sizes` at aligned points [1]
    """
    crowded = {name: _asked_at_once(model, name, counts) > _servers(model, name) for name in _queues(model)}
    for node in each_once(model.bodies):
        if isinstance(node, WaitUnit):
            crowded[node.counter] = np.ones(1, dtype=bool)
        elif isinstance(node, Ask):
            crowded[f"tasks of {node.pool}"] = _population(model, counts) > 1
    return LeftOut(crowded, {RANDOM: _takes_longest_of_random(model, counts), **_shared_stages(model, counts)})


def _takes_longest_of_random(model: Model, counts: SizeValues) -> Flags:
    alone = [node for node in each_once(model.bodies) if isinstance(node, Fork | Pipeline)]
    together = [
        body
        for body in model.bodies
        if model.population.finite or any(isinstance(node, BarrierWait) for node in steps(body))
    ]
    several = _population(model, counts) > 1
    return np.array([any(map(_is_random, alone))]) | (several & any(map(_is_random, together)))


def _is_random(activity: Activity) -> bool:
    return any((isinstance(node, Step) and node.scv > 0) or isinstance(node, Choice) for node in steps(activity))


def _shared_stages(model: Model, counts: SizeValues) -> dict[str, Flags]:
    """Name the resources that several stages of one pipeline share; many pipelines that share the same in one note."""
    sharing: dict[tuple[str, ...], dict[str, Flags]] = {}
    for node in each_once(model.bodies):
        if isinstance(node, Pipeline):
            users = [_used(stage.bodies) for stage in node.stages]
            shared = tuple(name for name in sorted(set().union(*users)) if sum(name in used for used in users) > 1)
            if shared:
                sharing.setdefault(shared, {})[node.name] = counts[node.items] > 1
    notes = {}
    for shared, flags in sharing.items():
        used = f"as separate servers, though several use {', '.join(shared)}"
        if len(flags) > FEW:
            notes[f"takes the stages of {len(flags)} pipelines {used}"] = reduce(np.logical_or, flags.values())
        else:
            notes |= {f"takes the stages of {name} {used}": each for name, each in flags.items()}
    return notes


def _used(bodies: Iterable[Activity]) -> set[str]:
    return {
        node.resource
        for body in bodies
        for node in steps(body)
        if isinstance(node, Step) and node.resource not in (None, "each-other")
    }


def _queues(model: Model) -> list[str]:
    """List what can be waited for: the resources that steps use, then the locks."""
    used = [step.resource for step in model.steps if step.resource is not None]
    held = [node.resource for node in each_once(model.bodies) if isinstance(node, Hold)]
    return list(dict.fromkeys([*used, *held]))


def _servers(model: Model, name: str) -> int:
    writers = any(
        isinstance(node, Hold) and (node.resource, node.mode) == (name, "write") for node in each_once(model.bodies)
    )
    return 1 if is_processor(name) or writers else model.resources[name].capacity


def _asked_at_once(model: Model, name: str, counts: SizeValues) -> Array:
    """Bound from above how many requests a resource can have at one moment."""
    population = _population(model, counts)
    if isinstance(model.population, SuperstepPopulation):
        return population
    if model.population.groups and not is_processor(name):
        return _sum(_width(each.cycle, name, counts) * counts[each.processors] for each in model.population.groups)
    width = _most(_width(body, name, counts) for body in model.bodies)
    if name == "each-other":
        # Each item or branch asks another processor, but so may every other asker.
        return population
    if name == "own":
        uses = {step.resource for step in model.steps}
        others = (population - 1) if uses & {"other", "each-other"} else 0.0
        return width + others
    return width * population


def _width(activity: Activity, name: str, counts: SizeValues) -> Array:
    """Count the requests that one asker can have at a resource at one moment."""
    match activity:
        case Step():
            return np.array([float(activity.resource == name)])
        case Hold(lock, body):
            return _most([np.array([float(lock == name)]), _width(body, name, counts)])
        case Fork(branches):
            return _sum(_width(branch, name, counts) for branch in branches)
        case Pipeline(stages, items):
            each = [(stage.kind, _most(_width(body, name, counts) for body in stage.bodies)) for stage in stages]
            count = counts[items]
            at_stages = _sum(width * (count if kind == "parallel" else 1.0) for kind, width in each)
            # An item is at one stage at a time.
            return np.minimum(at_stages, count * _most(width for _, width in each))
        case _:
            return _most(_width(child, name, counts) for child in activity.children)


def _population(model: Model, counts: SizeValues) -> Array:
    """Give how many processors are present at most; of a stream any number may be."""
    population = model.population
    present = [counts[size] for size in population.counts]
    if not present:
        return np.array([np.inf if population.open else constant(population.size)])
    return _most(present) if population.finite else _sum(present)


def _most(widths: Iterable[Array]) -> Array:
    return reduce(np.maximum, widths, np.zeros(1))


def _sum(widths: Iterable[Array]) -> Array:
    return reduce(np.add, widths, np.zeros(1))
