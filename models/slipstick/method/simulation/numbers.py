"""The numbers of a model that a simulation needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slipstick.expression.nodes import Expr
from slipstick.expression.tape import Tape
from slipstick.model.activity import Choice, Pipeline, Repeat, Step, each_once
from slipstick.model.system import Arrivals, Cyclic, Groups, Lock, Meeting, Model, Program, Supersteps

__all__ = ["expressions", "numbers_of"]


def expressions(model: Model) -> Iterator[Expr]:
    """Yield every expression of a model that a simulation needs the value of."""
    match model.population:
        case Cyclic(processors):
            yield processors
        case Groups(groups):
            yield from (group.processors for group in groups)
        case Arrivals(rate):
            yield rate
        case Program(phases):
            for phase in phases:
                yield from (phase.repeat, phase.processors)
        case Supersteps(supersteps):
            yield from (each.repeat for each in supersteps)
    yield from (each.cost for each in model.resources.values() if isinstance(each, Meeting))
    for each in model.resources.values():
        if isinstance(each, Lock):
            yield from (each.access, each.base, each.most)
    for node in each_once(model.bodies):
        match node:
            case Step():
                yield node.time
            case Choice(options):
                yield from (p for p, _ in options)
            case Repeat(count):
                yield count
            case Pipeline(_, items):
                yield items


def numbers_of(model: Model, values: Mapping[str, float]) -> dict[Expr, float]:
    """Evaluate them all, in base units."""
    found = tuple(dict.fromkeys(expressions(model)))
    return {expr: float(column[0]) for expr, column in zip(found, Tape(found).run(values), strict=True)}
