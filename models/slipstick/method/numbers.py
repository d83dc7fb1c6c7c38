"""The numbers that a model is made of: every expression that a method needs the value of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from slipstick.expression.nodes import Expr
from slipstick.expression.tape import Tape
from slipstick.model.activity import Activity, BarrierWait, Choice, Hold, Pipeline, Repeat, Step, each_once
from slipstick.model.resources import Barrier, Lock, Resource
from slipstick.model.system import (
    ClosedPopulation,
    GroupedPopulation,
    Model,
    OpenPopulation,
    PhasedPopulation,
    SuperstepPopulation,
)


def expressions(model: Model, unused: bool = False) -> tuple[Expr, ...]:
    """List every expression that an answer may depend on, each once: of the population, and of what its bodies use.

    Parameters
    ----------
    model : the system
    unused : whether to list those of resources that no body uses too

    >>> from slipstick.model.activity import delay
    >>> from slipstick.model.system import closed_model
    >>> [each.name for each in expressions(closed_model(delay(2.0, name="work"), processors=3))]
    ['population.processors', 'work']
    """
    found = dict.fromkeys((*_of_population(model), *numbers_of(model.bodies, model)))
    for resource in model.resources.values() if unused else ():
        found.update(dict.fromkeys(_of_resource(resource)))
    return tuple(found)


def numbers_of(bodies: Iterable[Activity], model: Model) -> Iterator[Expr]:
    """Yield every expression of activities, and of the locks and barriers that they use.

    Parameters
    ----------
    bodies : activities of the model
    model : the system, which knows the resources
    """
    for node in each_once(bodies):
        match node:
            case Step():
                yield node.time
            case Choice(options):
                yield from (p for p, _ in options)
            case Repeat(count):
                yield count
            case Pipeline(_, items):
                yield items
            case Hold(name) | BarrierWait(name):
                yield from _of_resource(model.resources[name])


def crowd_sizes(model: Model) -> tuple[Expr, ...]:
    """List the expressions that say how many processors there are."""
    match model.population:
        case ClosedPopulation(processors):
            return (processors,)
        case GroupedPopulation(groups):
            return tuple(group.processors for group in groups)
        case PhasedPopulation(phases):
            return tuple(phase.processors for phase in phases)
        case _:
            return ()


def values_of(model: Model, values: Mapping[str, float]) -> dict[Expr, float]:
    """Evaluate every expression of a model at one point, in base units; resources that nobody uses have theirs too.

    Parameters
    ----------
    model : the system
    values : parameters that differ from the model's own, in base units
    """
    found = expressions(model, unused=True)
    return {expr: float(column[0]) for expr, column in zip(found, Tape(found).run(values), strict=True)}


def _of_resource(resource: Resource) -> tuple[Expr, ...]:
    match resource:
        case Barrier():
            return (resource.cost,)
        case Lock():
            return resource.access, resource.base, resource.most
        case _:
            return ()


def _of_population(model: Model) -> Iterator[Expr]:
    yield from crowd_sizes(model)
    match model.population:
        case OpenPopulation(rate):
            yield rate
        case PhasedPopulation(phases):
            yield from (phase.repeat for phase in phases)
        case SuperstepPopulation(supersteps):
            yield from (each.repeat for each in supersteps)
