"""Models to activity files: what `bind_activity` reads, written.

Queueing networks to files: what `bind_queueing` reads, written.

Expressions as the values of a file: in their place, or as formulas over its ``parameters``.

Models to files: what `binding` reads, written.

Why this shape: `dump` is the way in, for activities; `queueing` writes networks; both write numbers and formulas by `values`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slipstick.errors import ModelError
from slipstick.expression.dimension import COUNT, TIME
from slipstick.expression.nodes import Expr, Number, Parameter, number_text, parameters, substitute, zero
from slipstick.model.activity import Activity, BarrierWait, Choice, Fork, Hold, Pipeline, Repeat, Stage, Step, Then
from slipstick.model.network import OUT, Chain, CustomerClass, NetworkStation, OpenClass, QueueingNetwork, Route
from slipstick.model.resources import Barrier, Lock, Resource, Station
from slipstick.model.system import (
    ClosedPopulation,
    Group,
    GroupedPopulation,
    Model,
    OpenPopulation,
    Phase,
    PhasedPopulation,
    SuperstepPopulation,
    need_model,
)

__all__ = ["WrittenValues", "activity_data", "dump", "network_data", "plain_name"]

SECTION = "parameters."
PLACES = ("cycle", "groups", "population", "phases", "resources", "classes", "chains", "stations", "routing")


class WrittenValues:
    """Writes the quantities of one model.

    Attributes
    ----------
    parameters : the named quantities that were met so far, as a file has them
    """

    def __init__(self) -> None:
        self.parameters: dict[str, str | float] = {}
        self._sources: dict[str, str] = {}

    def written(self, value: Expr) -> str | float:
        """Write a number, a quantity in its place, or a formula over named parameters."""
        if isinstance(value, Number):
            return _quantity(value, value.value)
        if isinstance(value, Parameter) and _stands_here(value.name):
            return _quantity(value, _known(value))
        renamed = {each.name: replace(each, name=self._named(each)) for each in parameters(value)}
        return repr(substitute(value, renamed))

    def _named(self, parameter: Parameter) -> str:
        """Enter a parameter under a name that can stand in arithmetic."""
        name = plain_name(parameter.name.removeprefix(SECTION)).replace("-", "_")
        self.parameters[name] = _quantity(parameter, _known(parameter))
        if self._sources.setdefault(name, parameter.name) != parameter.name:
            raise ModelError(
                f"parameters {self._sources[name]} and {parameter.name} would have one name in a file: {name}"
            )
        return name


def plain_name(name: str) -> str:
    """Write a name without the dots that a path would take for steps down."""
    return name.replace(".", "_")


def _stands_here(name: str) -> bool:
    """Say whether a parameter is named after a place of the file rather than by its author."""
    return name.split(".")[0] in PLACES


def _known(parameter: Parameter) -> float:
    if parameter.value is None:
        raise ModelError(f"parameter {parameter.name} has no value; a file needs one")
    return parameter.value


def _quantity(value: Expr, number: float) -> str | float:
    if value.dimension == COUNT:
        return int(number) if number == int(number) and abs(number) < 1e15 else number
    return f"{number_text(number)} {value.dimension}"


def network_data(network: QueueingNetwork) -> dict[str, Any]:
    """Lay a network out as the plain data of a queueing-network file, which reads as an equal network.

    Parameters
    ----------
    network : the model

    Raises
    ------
    ModelError : a parameter has no value

    >>> from slipstick.model.network import closed_class, network, station
    >>> network_data(network({"jobs": closed_class(2)}, {"cpu": station(demand={"jobs": 0.005})}))["stations"]
    {'cpu': {'discipline': 'fcfs', 'demand': {'jobs': '0.005 s'}}}
    """
    return _Writer().data(network)


class _Writer:
    def __init__(self) -> None:
        self._values = WrittenValues()

    def data(self, network: QueueingNetwork) -> dict[str, Any]:
        body = {
            "classes": {name: self._members(each) for name, each in network.classes.items()},
            "chains": {name: self._chain(each) for name, each in network.chains.items()},
            "stations": {name: self._station(each) for name, each in network.stations.items()},
            "routing": [self._route(each) for each in network.routing],
        }
        head = {"queueing-network": 1, "parameters": self._values.parameters}
        return {key: each for key, each in {**head, **body}.items() if each or key == "stations"}

    def _members(self, members: CustomerClass) -> dict[str, Any]:
        if isinstance(members, OpenClass):
            return {"arrivals": self._values.written(members.arrivals)}
        think = {} if members.think_time == zero(TIME) else {"think_time": self._values.written(members.think_time)}
        return {"population": self._values.written(members.population), **think}

    def _chain(self, chain: Chain) -> dict[str, Any]:
        return {"classes": list(chain.classes), **self._members(chain.members), "reference": list(chain.reference)}

    def _station(self, station: NetworkStation) -> dict[str, Any]:
        data: dict[str, Any] = {"discipline": station.discipline}
        if station.servers != 1:
            data["servers"] = station.servers
        if station.rates:
            data["rates"] = [self._values.written(each) for each in station.rates]
        for key in ("demand", "service", "visits", "scv"):
            by_class: Mapping[str, Expr] = getattr(station, key)
            if by_class:
                data[key] = {name: self._values.written(each) for name, each in by_class.items()}
        if station.capacity is not None:
            data["capacity"] = station.capacity
        if station.blocking != "loss":
            data["blocking"] = station.blocking
        return data | ({"priority": dict(station.priority)} if station.priority else {})

    def _route(self, route: Route) -> dict[str, Any]:
        target = OUT if route.target is None else list(route.target)
        return {"from": list(route.source), "to": target, "probability": self._values.written(route.probability)}


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
    >>> from slipstick.model.system import closed_model
    >>> activity_data(closed_model(delay(2.0, name="work")))["cycle"]
    [{'name': 'work', 'delay': 'work'}]
    """
    need_model(model, "dump")
    return _DumpWriter(model).data()


def dump(model: Model | QueueingNetwork) -> str:
    """Write a model as the text of a file: of an activity, or of a queueing network."""
    import yaml

    data = network_data(model) if isinstance(model, QueueingNetwork) else activity_data(model)
    return str(yaml.safe_dump(data, sort_keys=False, width=100, default_flow_style=None))


class _DumpWriter:
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
            case ClosedPopulation(processors, cycle):
                return {"population": {"processors": self._values.written(processors)}, "cycle": self._items(cycle)}
            case GroupedPopulation(groups):
                return {"groups": {group.name: self._group(group) for group in groups}}
            case OpenPopulation(rate, cycle):
                return {"population": {"arrivals": self._values.written(rate)}, "cycle": self._items(cycle)}
            case PhasedPopulation(phases):
                return {"phases": [self._phase(each) for each in phases]}
            case SuperstepPopulation():
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
            case Barrier(kind, cost):
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
            case BarrierWait(name, parties):
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
