"""Reading answers off an evaluated closed form, point by point or column by column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from slipstick.answer import Answer, Limit, Value
from slipstick.expression.kernels import Array
from slipstick.expression.tape import Derivatives
from slipstick.law.account import CYCLE_RATE, EFFICIENCY, PROCESSORS_LOST, SPEEDUP
from slipstick.method.closed_form.exactness import LeftOut
from slipstick.method.names import CLOSED_FORM
from slipstick.model.system import Arrivals, Model

__all__ = ["Around", "Points", "unit_of"]

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
        self,
        index: int,
        point: Mapping[str, float | str] | None = None,
        given: Mapping[str, float | str] | None = None,
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
        if isinstance(self.model.population, Arrivals):
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
