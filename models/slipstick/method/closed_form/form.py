"""The closed form: times added up, nobody in the way.

Reading answers off an evaluated closed form, point by point or column by column.

Supersteps in closed form: each as long as its slowest processor, and the meeting.

Where another stage of a pipeline becomes the longest, along one parameter at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from slipstick.answer import Answer, Limit, Takeover, Value
from slipstick.expression.dimension import TIME
from slipstick.expression.kernels import Array
from slipstick.expression.nodes import Booked, Expr, Parameter, maximum, parameters, total
from slipstick.expression.tape import Derivatives, Tape
from slipstick.law.account import CYCLE_RATE, EFFICIENCY, PROCESSORS_LOST, SPEEDUP
from slipstick.method.alone import Against
from slipstick.method.closed_form.exactness import LeftOut, neglected, sizes
from slipstick.method.closed_form.times import BARRIER, demand, held_resource, pipelines, stage_times, time
from slipstick.model.activity import Activity, BarrierWait, Hold, each_once
from slipstick.model.system import Model, PhasedPopulation, SuperstepPopulation
from slipstick.vocabulary import CLOSED_FORM

AGAINST_ONE = "speed-up counts useful work; it is against one processor only if its useful work is the same"
_SECONDS = ("time", "time_alone", "wait", "account", "technology", "step", "once")
_UNITS = {"throughput": "1/s", "warps": "1/s", **dict.fromkeys(_SECONDS, "s")}


@dataclass(frozen=True, slots=True)
class Around:
    """One group of several: its cycle time [s], its size [1], and the work it asks of each station [s]."""

    time: Array
    size: Array
    work: Mapping[str, Array]

    def cut(self, index: int) -> Around:
        """Cut out one point."""
        return Around(_cut(self.time, index), _cut(self.size, index), _cut_all(self.work, index))


@dataclass(frozen=True, slots=True)
class Points:
    """The closed form at aligned points; every array runs along the points.

    Parameters
    ----------
    model, labels : of the `ClosedForm`
    powers : power of time of each parameter's dimension [1]
    whole : the time with its derivatives
    split : the time with its account for one processor
    population : processors, or arrivals a second
    stages : one item's time at each serial stage of each pipeline [s]
    work : service asked of each station in a cycle [s]
    groups : all groups by name, where there are several; the rest is about the first
    left_out : what the closed form leaves out
    alone : the time told against that of one processor alone, by value
    interrupted : never, for it is done at once
    """

    model: Model
    labels: Mapping[str, tuple[str, str]]
    powers: Mapping[str, int]
    whole: Derivatives
    split: Derivatives
    population: Array
    stages: Mapping[str, Mapping[str, Array]]
    work: Mapping[str, Array]
    groups: Mapping[str, Around]
    left_out: LeftOut
    alone: Mapping[str, Array] = field(default_factory=dict)
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.whole.value)

    def columns(self) -> dict[str, Array]:
        """Give every numeric answer as a column, in base units; NaN where there is none."""
        return {
            "time": np.array(self.whole.value),
            **self._rates(),
            **{f"account[{name}]": each for name, each in self._account(0).items()},
            **{f"technology[{name}]": each for name, each in self._account(1).items()},
            **{f"step[{name}]": each for name, each in self.split.booked.items()},
            **{f"once[{name}]": each for name, each in self.whole.once.items()},
        }

    def limits(self) -> dict[str, list[str]]:
        """Name the limiting stage of each pipeline at each point; the first written wins a tie."""
        chosen = {}
        for name, each in self.stages.items():
            table = np.stack([np.broadcast_to(t, (len(self),)) for t in each.values()])
            chosen[name] = [list(each)[index] for index in np.argmax(table, axis=0)]
        return chosen

    def answer(
        self, index: int, point: Mapping[str, float | str] | None = None, given: Mapping[str, float | str] | None = None
    ) -> Answer:
        """Give the whole answer at one point."""
        if len(self) > 1:
            return self._only(index).answer(0, point, given)
        time = float(self.whole.value[0])
        if not (math.isfinite(time) and time >= 0):
            cause = "a time cannot be negative" if time < 0 else "a value is too large, or a divisor is 0"
            why = f"the time of {self.model.name} comes out as {time!r} s: {cause}"
            return Answer(self.model.name, CLOSED_FORM, failed=why, point=point or {}, given=given or {})
        values, notes = self._values(), self.left_out.notes(0)
        return Answer(
            model=self.model.name,
            method=CLOSED_FORM,
            values=values,
            account=_floats(self._account(0)),
            technology=_floats(self._account(1)),
            steps=_floats(self.split.booked),
            once=_floats(self.whole.once),
            useful=self.model.useful,
            share={"time": self._shares(time)} if time > 0 else {},
            gradient={"time": _floats(self.whole.by_parameter)},
            exact=not notes,
            notes=(*notes, AGAINST_ONE) if "speedup" in values else notes,
            limits=self._limits(),
            point=point or {},
            given=given or {},
        )

    def _only(self, index: int) -> Points:
        """Cut out one point, so that its answer does not compute all the others'."""

        def cut_derivatives(each: Derivatives) -> Derivatives:
            tables = (each.by_parameter, each.booked, each.once, each.inputs)
            return Derivatives(_cut(each.value, index), *(_cut_all(table, index) for table in tables))

        whole = cut_derivatives(self.whole)
        return replace(
            self,
            whole=whole,
            split=whole if self.split is self.whole else cut_derivatives(self.split),
            population=_cut(self.population, index),
            stages={name: _cut_all(each, index) for name, each in self.stages.items()},
            work=_cut_all(self.work, index),
            groups={name: each.cut(index) for name, each in self.groups.items()},
            left_out=self.left_out.only(index),
            alone=_cut_all(self.alone, index),
        )

    def _values(self) -> dict[str, Value]:
        found = {"time": Value(float(self.whole.value[0]), "s")}
        for name, column in self._rates().items():
            value = float(column[0])
            if math.isfinite(value):
                found[name] = Value(value, unit_of(name))
        return found

    def _rates(self) -> dict[str, Array]:
        """Give what follows from time, account and population."""
        n = np.broadcast_to(self.population, (len(self),))
        if self.model.population.open:
            return {"throughput": n}
        time, account = self.whole.value, self._account(0)
        useful = [account[name] for name in self.model.useful if name in account]
        with np.errstate(all="ignore"):
            rates = {"throughput": CYCLE_RATE.equation(n, time)}
            if useful:
                rates["efficiency"] = EFFICIENCY.equation(reduce(np.add, useful), time)
                rates["speedup"] = SPEEDUP.equation(n, rates["efficiency"])
            for name, booked in account.items():
                if name not in self.model.useful:
                    rates[f"processors_lost[{name}]"] = PROCESSORS_LOST.equation(n, booked, time)
            for name, each in self.groups.items():
                rates[f"time[{name}]"] = np.broadcast_to(each.time, (len(self),))
                rates[f"throughput[{name}]"] = np.broadcast_to(CYCLE_RATE.equation(each.size, each.time), (len(self),))
            nobody_waits = self.left_out.nothing()
            rates.update((name, np.where(nobody_waits, each, np.nan)) for name, each in self.alone.items())
            for name, work in self.work.items():
                rates.update(self._use(name, rates["throughput"] * work + self._asked_by_others(name)))
        return rates

    def _asked_by_others(self, resource: str) -> Array:
        """Add up the busy servers that the groups after the first take."""
        busy = np.zeros(len(self))
        for each in list(self.groups.values())[1:]:
            # A group with nothing to do takes no time and asks for nothing.
            busy = busy + np.where(each.work[resource] > 0, each.size * each.work[resource] / each.time, 0.0)
        return busy

    def _use(self, resource: str, busy: Array) -> dict[str, Array]:
        """Give a station's use where nobody ever waits: its busy servers are all who are there."""
        servers = getattr(self.model.resources[resource], "servers", 1)
        nobody_waits = self.left_out.nothing()
        return {
            f"utilization[{resource}]": np.where(nobody_waits, busy / servers, np.nan),
            f"queue_length[{resource}]": np.where(nobody_waits, busy, np.nan),
            f"wait[{resource}]": np.where(nobody_waits, np.zeros(len(self)), np.nan),
        }

    def _account(self, label: int) -> dict[str, Array]:
        """Add the steps up by component (0) or technology class (1), in the order of first appearance."""
        sums: dict[str, Array] = {}
        for name, booked in self.split.booked.items():
            key = self.labels[name][label]
            sums[key] = sums[key] + booked if key in sums else booked
        return sums

    def _shares(self, time: float) -> dict[str, float]:
        """Weigh derivatives by the power of time: k theta / T x dT/dtheta."""
        inputs, slopes = _floats(self.whole.inputs), _floats(self.whole.by_parameter)
        return {name: power * inputs[name] * slopes[name] / time for name, power in self.powers.items() if power}

    def _limits(self) -> tuple[Limit, ...]:
        return tuple(Limit(name, chosen[0], _floats(self.stages[name])) for name, chosen in self.limits().items())


def _cut(column: Array, index: int) -> Array:
    return column if len(column) == 1 else column[index : index + 1]


def _cut_all(columns: Mapping[str, Array], index: int) -> dict[str, Array]:
    return {name: _cut(column, index) for name, column in columns.items()}


def unit_of(name: str) -> str:
    """Give the unit of a value by what stands before its bracket; most are plain numbers."""
    return _UNITS.get(name.partition("[")[0], "1")


def _floats(columns: Mapping[str, Array]) -> dict[str, float]:
    return {name: float(column[0]) for name, column in columns.items()}


def superstep_account(population: SuperstepPopulation, model: Model, idle: str) -> Expr:
    """Give the same time as the mean of the processors' own lines, each idle until the slowest has come [s].

    Parameters
    ----------
    population, model : the program
    idle : label of the time that is left until the slowest has come
    """
    booked: dict[int, Expr] = {}
    plain: dict[int, Expr] = {}
    parts: list[Expr] = []
    for each in population.supersteps:
        lines = [time(line, model, False, plain) for line in each.bodies]
        longest, count = maximum(*lines), len(lines)
        own = (time(line, model, True, booked) for line in each.bodies)
        left = (Booked(idle, longest - line) for line in lines)
        mean = total([*own, *left], TIME) / count
        parts.append(each.repeat * (mean + time(each.barrier, model)))
    return total(parts, TIME)


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
    >>> from slipstick.model.system import closed_model
    >>> cycle = delay(9.0, name="work") >> service("bus", 3.0, component="wait")
    >>> ClosedForm(closed_model(cycle, processors=4)).times({"work": np.array([6.0, 9.0])})
    array([ 9., 12.])
    """

    quantity = "time"
    block = BLOCK

    def __init__(self, model: Model) -> None:
        self.model = model
        self.time = _whole_time(model)
        self.labels = _labels(model)
        self.stages = _serial_stages(model)
        self._population = model.population.size
        self.account = _account_time(model)
        self._work = _demands(model)
        self._sizes = sizes(model)
        self._groups = _groups(model)
        stage_times = [t for each in self.stages.values() for t in each.values()]
        of_groups = [each for times, size, work in self._groups.values() for each in (times, size, *work.values())]
        others = [self._population, *stage_times, *self._work.values(), *of_groups, *self._sizes]
        self.tape = Tape([self.time, self.account, *others])
        self._time_alone = Tape([self.time])
        self._against = Against(model.single, ClosedForm(model.single.model)) if model.single else None

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
        size = next(others)
        return Points(
            model=self.model,
            labels=self.labels,
            powers={name: each.dimension.time_power for name, each in self.tape.parameters.items()},
            whole=whole,
            split=whole if self.account is self.time else self.tape.differentiate(values, 1),
            population=size,
            stages={name: {stage: next(others) for stage in each} for name, each in self.stages.items()},
            work={name: next(others) for name in self._work},
            groups={
                name: Around(next(others), next(others), {station: next(others) for station in work})
                for name, (_, _, work) in self._groups.items()
            },
            left_out=neglected(self.model, {size: next(others) for size in self._sizes}),
            alone=self._against.values(values, whole.value, size) if self._against else {},
        )


def _whole_time(model: Model) -> Expr:
    """Add up a cycle, or all phases or supersteps."""
    known: dict[int, Expr] = {}
    return model.population.time(lambda body: time(body, model, known=known))


def _account_time(model: Model) -> Expr:
    """Give the same time, its parts weighed by the share of processors that do them; the rest are idle."""
    if isinstance(model.population, SuperstepPopulation):
        return superstep_account(model.population, model, IDLE_PROCESSORS)
    if not isinstance(model.population, PhasedPopulation):
        return _whole_time(model)
    n = model.population.size
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
    if not model.population.groups:
        return {}
    return _work_of(model.bodies[0], model)


def _work_of(cycle: Activity, model: Model) -> dict[str, Expr]:
    used = dict.fromkeys(step.resource for step in model.steps if step.resource in model.resources)
    return {name: demand(cycle, name, model) for name in used if name is not None}


def _groups(model: Model) -> dict[str, tuple[Expr, Expr, dict[str, Expr]]]:
    """Give each group's cycle time, its size, and the work that a cycle of it asks of each station."""
    return {
        group.name: (time(group.cycle, model, booked=False), group.processors, _work_of(group.cycle, model))
        for group in model.population.groups
        if group.name
    }


def _serial_stages(model: Model) -> dict[str, dict[str, Expr]]:
    """Give the serial stages of each pipeline; of supersteps none, where a pipeline is one of many operations."""
    if isinstance(model.population, SuperstepPopulation):
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
        if isinstance(node, BarrierWait):
            labels[f"{BARRIER}:{node.name}"] = (BARRIER, "software")
        elif isinstance(node, Hold):
            label = held_resource(node.resource, model).label(node.resource)
            labels[label] = (label, "memory")
    return {**labels, IDLE_PROCESSORS: (IDLE, "application")}


SPAN = 1e4
"""A takeover is looked for from 1/SPAN to SPAN times the parameter's value."""

STEPS = 161
ROUNDS = 7


def with_takeovers(form: ClosedForm, limits: tuple[Limit, ...], values: Mapping[str, float]) -> tuple[Limit, ...]:
    """Add to each limit the nearest value of each parameter, below and above, at which another stage binds.

    The stages are evaluated on a geometric grid from each parameter's value on, and the step on which the
    binding stage first changes is divided again and again. A parameter of value 0 has no grid and is passed over.

    Parameters
    ----------
    form : the compiled model
    limits : as the answer gives them
    values : parameters that differ from the model's own, in base units
    """
    return tuple(replace(limit, takeovers=_takeovers(form, limit, values)) for limit in limits)


def _takeovers(form: ClosedForm, limit: Limit, values: Mapping[str, float]) -> tuple[Takeover, ...]:
    stages = form.stages[limit.pipeline]
    tape = Tape(list(stages.values()))
    here = {name: value for name, value in values.items() if name in tape.parameters}
    found = []
    for parameter in parameters(*stages.values()):
        value = here.get(parameter.name, parameter.value)
        if value:
            found += _along(tape, list(stages), parameter, float(value), here)
    # Equal changes stay in the order of the formula; they differ in the last digits only.
    return tuple(sorted(found, key=lambda each: round(abs(math.log(each.value / each.now)), 6)))


def _along(
    tape: Tape, names: list[str], parameter: Parameter, value: float, here: Mapping[str, float]
) -> list[Takeover]:
    """Look up and down from a parameter's value."""

    def at(points: Array) -> Array:
        columns = tape.run({**here, parameter.name: points})
        return np.stack([np.broadcast_to(column, points.shape) for column in columns])

    found = []
    for ratio in (1 / SPAN, SPAN):
        change = _change(at, value, value * ratio)
        if change is not None:
            where, stage = change
            found.append(Takeover(parameter.name, value, where, str(parameter.dimension), names[stage]))
    return found


def _change(at: Callable[[Array], Array], near: float, far: float) -> tuple[float, int] | None:
    """Narrow down where the binding stage first changes on the way, and which one binds then; None if never.

    Each round divides the step on which it changes into as many steps again, so a third stage that binds in
    between is found as well.
    """
    binds = 0
    for _ in range(ROUNDS):
        grid = np.geomspace(near, far, STEPS)
        times = at(grid)
        binding = np.argmax(times, axis=0)
        changed = np.flatnonzero(binding != binding[0])
        if not changed.size or not np.isfinite(times).all():
            return None
        index = int(changed[0])
        near, far, binds = float(grid[index - 1]), float(grid[index]), int(binding[index])
        if np.nextafter(near, far) == far:
            break
    before, after = at(np.array([near, far])).T
    # At a tie the other stage binds as soon as the value moves.
    tied = before[int(np.argmax(before))] == before[binds]
    return (near if tied else far), int(np.argmax(after))
