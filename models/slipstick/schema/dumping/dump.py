"""Models to activity files: what `bind_activity` reads, written."""

from __future__ import annotations

from typing import Any

from slipstick.errors import ModelError
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
from slipstick.model.network import QueueingNetwork
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
    Supersteps,
    need_model,
)
from slipstick.schema.dumping.queueing import network_data
from slipstick.schema.dumping.values import WrittenValues, plain_name

__all__ = ["activity_data", "dump"]


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


def dump(model: Model | QueueingNetwork) -> str:
    """Write a model as the text of a file: of an activity, or of a queueing network."""
    import yaml

    data = network_data(model) if isinstance(model, QueueingNetwork) else activity_data(model)
    return str(yaml.safe_dump(data, sort_keys=False, width=100, default_flow_style=None))


class _Writer:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._values = WrittenValues()

    def data(self) -> dict[str, Any]:
        model = self._model
        body = self._population()
        resources = {name: self._resource(each) for name, each in model.resources.items()}
        head: dict[str, Any] = {"activity": 1}
        if self._values.parameters:
            head["parameters"] = self._values.parameters
        components = {step.component for step in model.steps}
        useful = [name for name in model.useful if name in components]
        return {**head, **({"useful": useful} if useful else {}), "resources": resources, **body}

    def _population(self) -> dict[str, Any]:
        match self._model.population:
            case Cyclic(processors, cycle):
                return {"population": {"processors": self._values.written(processors)}, "cycle": self._items(cycle)}
            case Groups(groups):
                return {"groups": {group.name: self._group(group) for group in groups}}
            case Arrivals(rate, cycle):
                return {"population": {"arrivals": self._values.written(rate)}, "cycle": self._items(cycle)}
            case Program(phases):
                return {"phases": [self._phase(each) for each in phases]}
            case Supersteps():
                raise ModelError(f"{self._model.name} has supersteps, which no file says; keep its counts instead")

    def _group(self, group: Group) -> dict[str, Any]:
        return {"processors": self._values.written(group.processors), "cycle": self._items(group.cycle)}

    def _phase(self, phase: Phase) -> dict[str, Any]:
        return {
            "repeat": self._values.written(phase.repeat),
            "processors": self._values.written(phase.processors),
            "cycle": self._items(phase.cycle),
        }

    def _resource(self, resource: Resource) -> dict[str, Any]:
        match resource:
            case Station(servers, discipline):
                return {"servers": servers, "discipline": discipline}
            case Lock():
                return self._lock(resource)
            case Meeting(kind, cost):
                return {"barrier": kind, "cost": self._values.written(cost)}

    def _lock(self, lock: Lock) -> dict[str, Any]:
        data: dict[str, Any] = {"lock": lock.kind}
        if lock.word is not None:
            data |= {"word": lock.word, "access": self._values.written(lock.access)}
        if lock.back_off != "none":
            data |= {
                "back_off": lock.back_off,
                "base": self._values.written(lock.base),
                "most": self._values.written(lock.most),
            }
        return data

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
                return {"choose": [{"p": self._values.written(p), "do": self._items(body)} for p, body in options]}
            case Repeat(count, body):
                return {"repeat": self._values.written(count), "body": self._items(body)}
            case Pipeline(stages, items, name):
                return {
                    "pipeline": self._values.written(items),
                    "stages": [self._stage(each) for each in stages],
                    "name": name,
                }
            case Barrier(name, parties):
                return {"barrier": name} | ({} if parties is None else {"parties": parties})
        raise ModelError(f"a {type(activity).__name__} cannot be written to a file")

    def _step(self, step: Step) -> dict[str, Any]:
        data: dict[str, Any] = {"name": plain_name(step.name)}
        if step.resource is None:
            data["delay"] = self._values.written(step.time)
        else:
            data |= {"service": step.resource, "time": self._values.written(step.time)}
        labels = {"component": (step.component, "busy"), "technology": (step.technology, "application")}
        data |= {key: value for key, (value, default) in labels.items() if value != default}
        return data | ({"scv": step.scv} if step.scv else {})

    def _stage(self, stage: Stage) -> dict[str, Any]:
        if len(stage.bodies) == 1:
            return {stage.kind: self._items(stage.bodies[0]), "name": stage.name}
        return {f"{stage.kind}_each": [self._items(body) for body in stage.bodies], "name": stage.name}
