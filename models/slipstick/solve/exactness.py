"""What the closed form leaves out of a model: contention, and the spread of random times."""

from __future__ import annotations

from collections.abc import Iterable

from slipstick.expression.nodes import Expr, Number, Parameter
from slipstick.expression.tape import Tape
from slipstick.model.activity import Activity, Barrier, Choice, Fork, Hold, Pipeline, Step, children, steps
from slipstick.model.system import Cyclic, Model, Program, Station, is_processor

__all__ = ["neglected"]

ONE_BY_ONE = 1.0


def neglected(model: Model) -> tuple[str, ...]:
    """Say what the closed form of a model leaves out; nothing means that it is exact."""
    notes = [_contention_note(model), _random_note(model), *_shared_stage_notes(model)]
    return tuple(note for note in notes if note)


def _contention_note(model: Model) -> str:
    crowded = [name for name in _resource_names(model) if _asked_at_once(model, name) > _servers(model, name)]
    crowded += [name for name in _locks(model) if _population(model) > ONE_BY_ONE]
    return f"leaves out waiting for {', '.join(crowded)}" if crowded else ""


def _random_note(model: Model) -> str:
    meets = isinstance(model.population, Program) and _population(model) > ONE_BY_ONE
    gathered = list(model.bodies) if meets else []
    for body in model.bodies:
        gathered += [node for node in steps(body) if isinstance(node, Fork | Pipeline)]
        if _population(model) > ONE_BY_ONE and any(isinstance(node, Barrier) for node in steps(body)):
            gathered.append(body)
    if any(_is_random(node) for node in gathered):
        return "takes the longest of random times at their means, which is below the mean of the longest"
    return ""


def _is_random(activity: Activity) -> bool:
    return any((isinstance(node, Step) and node.scv > 0) or isinstance(node, Choice) for node in steps(activity))


def _shared_stage_notes(model: Model) -> list[str]:
    """Name the resources that several stages of one pipeline share."""
    notes = []
    for body in model.bodies:
        for node in steps(body):
            if isinstance(node, Pipeline):
                users = [_used(stage.bodies) for stage in node.stages]
                shared = [name for name in sorted(set().union(*users)) if sum(name in used for used in users) > 1]
                if shared and _count(node.items) > ONE_BY_ONE:
                    notes.append(
                        f"takes the stages of {node.name} as separate servers, though several use {', '.join(shared)}"
                    )
    return notes


def _used(bodies: Iterable[Activity]) -> set[str]:
    return {
        node.resource
        for body in bodies
        for node in steps(body)
        if isinstance(node, Step) and node.resource not in (None, "each-other")
    }


def _resource_names(model: Model) -> list[str]:
    return list(dict.fromkeys(step.resource for step in model.steps if step.resource is not None))


def _locks(model: Model) -> list[str]:
    held = (node.lock for body in model.bodies for node in steps(body) if isinstance(node, Hold))
    return list(dict.fromkeys(held))


def _servers(model: Model, name: str) -> int:
    resource = model.resources.get(name)
    return resource.servers if isinstance(resource, Station) else 1


def _asked_at_once(model: Model, name: str) -> float:
    """Bound from above how many requests a resource can have at one moment."""
    width = max(_width(body, name) for body in model.bodies)
    if name == "each-other":
        # Each item or branch asks another processor, but so may every other asker.
        return width and _population(model)
    if is_processor(name) and name != "other" and not name.startswith("processor["):
        asked_by_others = any(_width(body, other) for body in model.bodies for other in ("other", "each-other"))
        return width + (_population(model) - 1) * asked_by_others
    return width * _population(model)


def _width(activity: Activity, name: str) -> float:
    """Count the requests that one asker can have at a resource at one moment."""
    match activity:
        case Step():
            return float(activity.resource == name)
        case Fork(branches):
            return sum(_width(branch, name) for branch in branches)
        case Pipeline(stages, items):
            count = _count(items)
            return sum(
                max(_width(body, name) for body in stage.bodies) * (count if stage.kind == "parallel" else 1)
                for stage in stages
            )
        case _:
            return max((_width(child, name) for child in children(activity)), default=0.0)


def _population(model: Model) -> float:
    match model.population:
        case Cyclic(processors):
            return _count(processors)
        case Program(phases):
            return max(_count(phase.processors) for phase in phases)
        case _:
            # An open stream may have any number present.
            return float("inf")


def _count(value: Expr) -> float:
    """Give a count's base value; one that is computed may be large."""
    if isinstance(value, Number | Parameter) and value.value is not None:
        return value.value
    return float(Tape([value]).run({})[0][0])
