"""Simulations at many points, behind the interface that closed forms have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slipstick.answer import Answer
from slipstick.errors import SlipstickError
from slipstick.expression.kernels import Array
from slipstick.expression.tape import Tape
from slipstick.method.names import SIMULATION
from slipstick.method.numbers import expressions
from slipstick.method.simulation.answers import solve, value_unit
from slipstick.method.trial import Trial
from slipstick.model.system import Model

__all__ = ["SimulationForm", "simulation_of"]

Values = Mapping[str, "Array | float"]


class SimulationForm:
    """A model to be simulated, one point after the other.

    Every point has the same streams of random numbers, so that points differ by what was varied and not by luck.

    Parameters
    ----------
    name : of the model
    quantity : what it gives first of all
    parameters : names of everything that can be varied
    unit_of : gives the base unit of a value
    solve : simulates at the values of one point
    """

    block = 1

    def __init__(
        self,
        name: str,
        quantity: str,
        parameters: Sequence[str],
        unit_of: Callable[[str], str],
        solve: Callable[[Mapping[str, float]], Answer],
    ) -> None:
        self.name, self.quantity, self._names = name, quantity, tuple(parameters)
        self._unit_of, self._solve = unit_of, solve

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of everything that can be varied."""
        return self._names

    def unit(self, column: str) -> str:
        """Give the base unit of a column; the ends of intervals have those of their values."""
        inside = column.removeprefix("low[").removeprefix("high[")
        return self._unit_of(inside if inside == column else inside[:-1])

    def times(self, values: Values) -> Array:
        """Give the mean times alone [s]; NaN where there is none."""
        return self.points(values).columns()[self.quantity]

    def points(self, values: Values) -> SimulatedPoints:
        """Simulate every point; aligned arrays, or single numbers."""
        columns = {name: np.atleast_1d(np.asarray(each, dtype=np.float64)) for name, each in values.items()}
        count = max((len(each) for each in columns.values()), default=1)
        spread = {name: np.broadcast_to(each, (count,)) for name, each in columns.items()}
        return SimulatedPoints(
            [self._answer({name: float(each[point]) for name, each in spread.items()}) for point in range(count)],
            self.quantity,
        )

    def _answer(self, values: Mapping[str, float]) -> Answer:
        try:
            return self._solve(values)
        except SlipstickError as error:
            return Answer(self.name, SIMULATION, failed=str(error))


def simulation_of(model: Model, trial: Trial) -> SimulationForm:
    """Give the form that simulates an activity.

    Parameters
    ----------
    model : the system
    trial : how to simulate it
    """
    names = tuple(Tape(expressions(model, unused=True)).parameters)
    return SimulationForm(model.name, "time", names, value_unit, lambda values: solve(model, values, trial))


@dataclass(frozen=True, slots=True)
class SimulatedPoints:
    """Answers of simulations, point by point."""

    answers: Sequence[Answer]
    quantity: str

    @property
    def interrupted(self) -> bool:
        """Say whether somebody stopped one of them."""
        return any(each.interrupted for each in self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def columns(self) -> dict[str, Array]:
        """Give every numeric answer as a column, in base units, ends of intervals included; NaN where there is none."""
        names = dict.fromkeys([self.quantity, *(name for each in self.answers for name in each.names)])
        found = {name: np.array([_number(each.find(name)) for each in self.answers]) for name in names}
        for name in dict.fromkeys(name for each in self.answers for name in each.values):
            for end in ("low", "high"):
                ends = [getattr(each.values.get(name), end, None) for each in self.answers]
                found[f"{end}[{name}]"] = np.array([_number(each) for each in ends])
        return found

    def limits(self) -> dict[str, list[str]]:
        """Give nothing: what limits is seen in the account."""
        return {}

    def answer(
        self,
        index: int,
        point: Mapping[str, float | str] | None = None,
        given: Mapping[str, float | str] | None = None,
    ) -> Answer:
        """Give the whole answer at one point."""
        return replace(self.answers[index], point=point or {}, given=given or {})


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
