"""Reading answers off an evaluated closed form, point by point or column by column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slipstick.answer import Answer, Limit, Value
from slipstick.expression.kernels import Array
from slipstick.expression.tape import Derivatives
from slipstick.law.account import CYCLE_RATE, EFFICIENCY, PROCESSORS_LOST, SPEEDUP
from slipstick.model.system import Arrivals, Model

__all__ = ["METHOD", "Points"]

METHOD = "closed-form"
AGAINST_ONE = "speed-up counts useful work; it is against one processor only if its useful work is the same"

UNITS = {"time": "s", "throughput": "1/s", "wait": "s", "account": "s", "technology": "s", "step": "s", "once": "s"}
"""Unit of a value by what stands before its bracket; all others are plain numbers."""


@dataclass(frozen=True, slots=True)
class Points:
    """The closed form at aligned points; every array runs along the points.

    Parameters
    ----------
    model, labels, notes : of the `ClosedForm`
    powers : power of time of each parameter's dimension [1]
    whole : the time with its derivatives
    split : the time with its account for one processor
    population : processors, or arrivals a second
    stages : one item's time at each serial stage of each pipeline [s]
    work : service asked of each station in a cycle [s]; empty where somebody may wait
    """

    model: Model
    labels: Mapping[str, tuple[str, str]]
    notes: tuple[str, ...]
    powers: Mapping[str, int]
    whole: Derivatives
    split: Derivatives
    population: Array
    stages: Mapping[str, Mapping[str, Array]]
    work: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.whole.value)

    def columns(self) -> dict[str, Array]:
        """Give every numeric answer as a column, in base units."""
        return {
            "time": np.array(self.whole.value),
            **self._rates(),
            **{f"account[{name}]": each for name, each in self._account(0).items()},
            **{f"technology[{name}]": each for name, each in self._account(1).items()},
            **{f"step[{name}]": each for name, each in self.split.booked.items()},
            **{f"once[{name}]": each for name, each in self.split.once.items()},
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
        time = float(self.whole.value[index])
        if not (math.isfinite(time) and time >= 0):
            why = f"the time of {self.model.name} comes out as {time!r} s: a value is too large, or a divisor is 0"
            return Answer(self.model.name, METHOD, failed=why, point=point or {}, given=given or {})
        values = self._values(index)
        return Answer(
            model=self.model.name,
            method=METHOD,
            values=values,
            account=_at(self._account(0), index),
            technology=_at(self._account(1), index),
            steps=_at(self.split.booked, index),
            once=_at(self.split.once, index),
            useful=self.model.useful,
            share={"time": self._shares(index, time)} if time > 0 else {},
            gradient={"time": _at(self.whole.by_parameter, index)},
            exact=not self.notes,
            notes=(*self.notes, AGAINST_ONE) if "speedup" in values else self.notes,
            limits=self._limits(index),
            point=point or {},
            given=given or {},
        )

    def _values(self, index: int) -> dict[str, Value]:
        found = {"time": Value(float(self.whole.value[index]), "s")}
        for name, column in self._rates().items():
            value = float(column[index])
            if math.isfinite(value):
                found[name] = Value(value, UNITS.get(name.partition("[")[0], "1"))
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
                rates["efficiency"] = EFFICIENCY.equation(np.sum(useful, axis=0), time)
                rates["speedup"] = SPEEDUP.equation(n, rates["efficiency"])
            for name, booked in account.items():
                if name not in self.model.useful:
                    rates[f"processors_lost[{name}]"] = PROCESSORS_LOST.equation(n, booked, time)
            for name, work in self.work.items():
                rates.update(self._use(name, rates["throughput"] * work))
        return rates

    def _use(self, resource: str, busy: Array) -> dict[str, Array]:
        """Give a station's use where nobody ever waits: its busy servers are all who are there."""
        servers = getattr(self.model.resources[resource], "servers", 1)
        return {
            f"utilization[{resource}]": busy / servers,
            f"queue_length[{resource}]": busy,
            f"wait[{resource}]": np.zeros(len(self)),
        }

    def _account(self, label: int) -> dict[str, Array]:
        """Add the steps up by component (0) or technology class (1), in the order of first appearance."""
        sums: dict[str, Array] = {}
        for name, booked in self.split.booked.items():
            key = self.labels[name][label]
            sums[key] = sums[key] + booked if key in sums else booked
        return sums

    def _shares(self, index: int, time: float) -> dict[str, float]:
        """Weigh derivatives by the power of time: k theta / T x dT/dtheta."""
        return {
            name: power * float(self.whole.inputs[name][index]) * float(self.whole.by_parameter[name][index]) / time
            for name, power in self.powers.items()
            if power
        }

    def _limits(self, index: int) -> tuple[Limit, ...]:
        return tuple(
            Limit(
                name,
                chosen[index],
                {stage: float(np.broadcast_to(t, (len(self),))[index]) for stage, t in self.stages[name].items()},
            )
            for name, chosen in self.limits().items()
        )


def _at(columns: Mapping[str, Array], index: int) -> dict[str, float]:
    return {name: float(column[index]) for name, column in columns.items()}
