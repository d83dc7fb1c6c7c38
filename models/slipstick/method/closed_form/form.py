"""The closed form: times added up, nobody in the way."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from slipstick.expression.dimension import TIME
from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Booked, Expr, total
from slipstick.expression.tape import Tape
from slipstick.method.closed_form.exactness import neglected, sizes
from slipstick.method.closed_form.points import Around, Points, unit_of
from slipstick.method.closed_form.supersteps import superstep_account, superstep_time
from slipstick.method.closed_form.times import BARRIER, LOCK, demand, pipelines, population, stage_times, time
from slipstick.model.activity import Activity, Barrier, Hold, each_once
from slipstick.model.system import Cyclic, Groups, Model, Program, Supersteps

__all__ = ["BLOCK", "ClosedForm"]

BLOCK = 32_768
"""Points whose accounts and derivatives are held in memory at a time."""

IDLE = "idle"
IDLE_PROCESSORS = "idle:processors"  # no step can have this name

Values = Mapping[str, "Array | float"]


class ClosedForm:
    """A model compiled for its closed form; many points cost little more than one.

    Parameters
    ----------
    model : the system

    Attributes
    ----------
    time : the time of a cycle, or of the whole program, as an expression [s]
    account : the same time, each processor's parts booked to its own line [s]
    labels : (component, technology class) of each booked part
    stages : time of one item at each serial stage of each pipeline of identical items [s]
    tape : everything compiled together

    Of groups, time and account are those of the first; the others' times stand beside them.

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed
    >>> cycle = delay(9.0, name="work") >> service("bus", 3.0, component="wait")
    >>> ClosedForm(closed(cycle, processors=4)).times({"work": np.array([6.0, 9.0])})
    array([ 9., 12.])
    """

    quantity = "time"
    block = BLOCK

    def __init__(self, model: Model) -> None:
        self.model = model
        self.time = _whole_time(model)
        self.labels = _labels(model)
        self.stages = _serial_stages(model)
        self._population = population(model)
        self.account = _account_time(model)
        self._work = _demands(model)
        self._sizes = sizes(model)
        self._groups = _groups(model)
        stage_times = [t for each in self.stages.values() for t in each.values()]
        of_groups = [each for times, size, work in self._groups.values() for each in (times, size, *work.values())]
        others = [self._population, *stage_times, *self._work.values(), *of_groups, *self._sizes]
        self.tape = Tape([self.time, self.account, *others])
        self._time_alone = Tape([self.time])

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of everything that can be varied without building the model anew."""
        return tuple(self.tape.parameters)

    def times(self, values: Values) -> Array:
        """Evaluate the time alone: the fast path for large sweeps [s, points]."""
        self.tape.check_names(values)
        known = self._time_alone.parameters
        result = self._time_alone.run({name: value for name, value in values.items() if name in known})[0]
        points = [np.size(value) for value in values.values() if np.size(value) != 1]
        return np.full(points[0], result) if points and len(result) == 1 else result

    def unit(self, column: str) -> str:
        """Give the base unit of a column."""
        return unit_of(column)

    def points(self, values: Values) -> Points:
        """Evaluate time, account and derivatives at aligned points."""
        whole = self.tape.differentiate(values, 0)
        others = iter(self.tape.run(values)[2:])
        return Points(
            model=self.model,
            labels=self.labels,
            powers={name: each.dimension.time_power for name, each in self.tape.parameters.items()},
            whole=whole,
            split=whole if self.account is self.time else self.tape.differentiate(values, 1),
            population=next(others),
            stages={name: {stage: next(others) for stage in each} for name, each in self.stages.items()},
            work={name: next(others) for name in self._work},
            groups={
                name: Around(next(others), next(others), {station: next(others) for station in work})
                for name, (_, _, work) in self._groups.items()
            },
            left_out=neglected(self.model, {size: next(others) for size in self._sizes}),
        )


def _whole_time(model: Model) -> Expr:
    """Add up a cycle, or all phases: T = sum of repeat x cycle time."""
    if isinstance(model.population, Program):
        return total((each.repeat * time(each.cycle, model) for each in model.population.phases), TIME)
    if isinstance(model.population, Supersteps):
        return superstep_time(model.population, model)
    return time(model.bodies[0], model)


def _account_time(model: Model) -> Expr:
    """Give the same time, its parts weighed by the share of processors that do them; the rest are idle."""
    if isinstance(model.population, Supersteps):
        return superstep_account(model.population, model, IDLE_PROCESSORS)
    if not isinstance(model.population, Program):
        return _whole_time(model)
    n = population(model)
    parts: list[Expr] = []
    for phase in model.population.phases:
        busy = phase.processors / n
        parts.append(phase.repeat * (busy * time(phase.cycle, model)))
        if phase.processors != n:
            # The same time again, its steps unlabelled, so that idle processors book nothing else.
            parts.append(Booked(IDLE_PROCESSORS, phase.repeat * ((1 - busy) * time(phase.cycle, model, booked=False))))
    return total(parts, TIME)


def _demands(model: Model) -> dict[str, Expr]:
    """Add up the work that a cycle asks of each station."""
    if not isinstance(model.population, Cyclic | Groups):
        return {}
    return _work_of(model.bodies[0], model)


def _work_of(cycle: Activity, model: Model) -> dict[str, Expr]:
    used = dict.fromkeys(step.resource for step in model.steps if step.resource in model.resources)
    return {name: demand(cycle, name, model) for name in used if name is not None}


def _groups(model: Model) -> dict[str, tuple[Expr, Expr, dict[str, Expr]]]:
    """Give each group's cycle time, its size, and the work that a cycle of it asks of each station."""
    if not isinstance(model.population, Groups):
        return {}
    return {
        group.name: (time(group.cycle, model, booked=False), group.processors, _work_of(group.cycle, model))
        for group in model.population.groups
    }


def _serial_stages(model: Model) -> dict[str, dict[str, Expr]]:
    """Give the serial stages of each pipeline; of supersteps none, where a pipeline is one of many operations."""
    if isinstance(model.population, Supersteps):
        return {}
    found = {}
    for pipeline in pipelines(model):
        serial = [stage.name for stage in pipeline.stages if stage.kind == "serial"]
        if pipeline.identical and serial:
            each = stage_times(pipeline, model)
            found[pipeline.name] = {name: each[name] for name in serial}
    return found


def _labels(model: Model) -> dict[str, tuple[str, str]]:
    labels = {step.name: (step.component, step.technology) for step in model.steps}
    for node in each_once(model.bodies):
        if isinstance(node, Barrier):
            labels[f"{BARRIER}:{node.name}"] = (BARRIER, "software")
        elif isinstance(node, Hold):
            labels[f"{LOCK}:{node.lock}"] = (f"{LOCK}:{node.lock}", "memory")
    return {**labels, IDLE_PROCESSORS: (IDLE, "application")}
