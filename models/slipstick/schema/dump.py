"""Models to activity files: what `bind_activity` reads, written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from slipstick.errors import ModelError
from slipstick.expression.dimension import COUNT
from slipstick.expression.nodes import Expr, Number, Parameter, parameters, substitute
from slipstick.expression.text import number_text
from slipstick.model.activity import (
    Activity,
    Barrier,
    Choice,
    Fork,
    Hold,
    Pipeline,
    Repeat,
    Stage,
    Step,
    Then,
)
from slipstick.model.system import (
    Arrivals,
    Cyclic,
    Group,
    Groups,
    Lock,
    Meeting,
    Model,
    Phase,
    Program,
    Resource,
    Station,
    need_model,
)

__all__ = ["activity_data", "dump"]

SECTION = "parameters."


def activity_data(model: Model) -> dict[str, Any]:
    """Lay a model out as the plain data of an activity file.

    A parameter with a value becomes an entry of ``parameters``, or stands where it is used if it is named after
    that place, so a model read from a file and written again reads as an equal model.

    Parameters
    ----------
    model : the system

    Raises
    ------
    ModelError : a parameter has no value

    >>> from slipstick.model.activity import delay
    >>> from slipstick.model.system import closed
    >>> activity_data(closed(delay(2.0, name="work")))["cycle"]
    [{'name': 'work', 'delay': 'work'}]
    """
    need_model(model, "dump")
    return _Writer(model).data()


def dump(model: Model) -> str:
    """Write a model as the text of an activity file."""
    import yaml

    return str(yaml.safe_dump(activity_data(model), sort_keys=False, width=100, default_flow_style=None))


class _Writer:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._parameters: dict[str, str | float] = {}
        self._sources: dict[str, str] = {}

    def data(self) -> dict[str, Any]:
        model = self._model
        body = self._population()
        resources = {name: self._resource(each) for name, each in model.resources.items()}
        head: dict[str, Any] = {"activity": 1}
        if self._parameters:
            head["parameters"] = self._parameters
        components = {step.component for step in model.steps}
        useful = [name for name in model.useful if name in components]
        return {**head, **({"useful": useful} if useful else {}), "resources": resources, **body}

    def _population(self) -> dict[str, Any]:
        match self._model.population:
            case Cyclic(processors, cycle):
                return {"population": {"processors": self._value(processors)}, "cycle": self._items(cycle)}
            case Groups(groups):
                return {"groups": {group.name: self._group(group) for group in groups}}
            case Arrivals(rate, cycle):
                return {"population": {"arrivals": self._value(rate)}, "cycle": self._items(cycle)}
            case Program(phases):
                return {"phases": [self._phase(each) for each in phases]}

    def _group(self, group: Group) -> dict[str, Any]:
        return {"processors": self._value(group.processors), "cycle": self._items(group.cycle)}

    def _phase(self, phase: Phase) -> dict[str, Any]:
        return {
            "repeat": self._value(phase.repeat),
            "processors": self._value(phase.processors),
            "cycle": self._items(phase.cycle),
        }

    def _resource(self, resource: Resource) -> dict[str, Any]:
        match resource:
            case Station(servers, discipline):
                return {"servers": servers, "discipline": discipline}
            case Lock(kind):
                return {"lock": kind}
            case Meeting(kind, cost):
                return {"barrier": kind, "cost": self._value(cost)}

    def _items(self, activity: Activity) -> list[dict[str, Any]]:
        parts = activity.parts if isinstance(activity, Then) else (activity,)
        return [self._item(part) for part in parts]

    def _item(self, activity: Activity) -> dict[str, Any]:
        match activity:
            case Step():
                return self._step(activity)
            case Hold(lock, body):
                return {"hold": lock, "body": self._items(body)}
            case Fork(branches):
                return {"fork": [self._items(branch) for branch in branches]}
            case Choice(options):
                return {"choose": [{"p": self._value(p), "do": self._items(body)} for p, body in options]}
            case Repeat(count, body):
                return {"repeat": self._value(count), "body": self._items(body)}
            case Pipeline(stages, items, name):
                return {"pipeline": self._value(items), "stages": [self._stage(each) for each in stages], "name": name}
            case Barrier(name, parties):
                return {"barrier": name} | ({} if parties is None else {"parties": parties})
        raise ModelError(f"a {type(activity).__name__} cannot be written to a file")

    def _step(self, step: Step) -> dict[str, Any]:
        data: dict[str, Any] = {"name": _plain(step.name)}
        if step.resource is None:
            data["delay"] = self._value(step.time)
        else:
            data |= {"service": step.resource, "time": self._value(step.time)}
        labels = {"component": (step.component, "busy"), "technology": (step.technology, "application")}
        data |= {key: value for key, (value, default) in labels.items() if value != default}
        return data | ({"scv": step.scv} if step.scv else {})

    def _stage(self, stage: Stage) -> dict[str, Any]:
        if len(stage.bodies) == 1:
            return {stage.kind: self._items(stage.bodies[0]), "name": stage.name}
        return {f"{stage.kind}_each": [self._items(body) for body in stage.bodies], "name": stage.name}

    def _value(self, value: Expr) -> str | float:
        """Write a number, a quantity in its place, or a formula over named parameters."""
        if isinstance(value, Number):
            return _quantity(value, value.value)
        if isinstance(value, Parameter) and _stands_here(value.name):
            return _quantity(value, _known(value))
        renamed = {each.name: replace(each, name=self._named(each)) for each in parameters(value)}
        return repr(substitute(value, renamed))

    def _named(self, parameter: Parameter) -> str:
        """Enter a parameter under a name that can stand in arithmetic."""
        name = _plain(parameter.name.removeprefix(SECTION)).replace("-", "_")
        self._parameters[name] = _quantity(parameter, _known(parameter))
        if self._sources.setdefault(name, parameter.name) != parameter.name:
            raise ModelError(
                f"parameters {self._sources[name]} and {parameter.name} would have one name in a file: {name}"
            )
        return name


def _plain(name: str) -> str:
    """Write a name without the dots that a path would take for steps down."""
    return name.replace(".", "_")


def _stands_here(name: str) -> bool:
    """Say whether a parameter is named after a place of the file rather than by its author."""
    return name.split(".")[0] in ("cycle", "groups", "population", "phases", "resources")


def _known(parameter: Parameter) -> float:
    if parameter.value is None:
        raise ModelError(f"parameter {parameter.name} has no value; a file needs one")
    return parameter.value


def _quantity(value: Expr, number: float) -> str | float:
    if value.dimension == COUNT:
        return int(number) if number == int(number) and abs(number) < 1e15 else number
    return f"{number_text(number)} {value.dimension}"
