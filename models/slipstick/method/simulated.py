"""Simulations at many points, behind the interface that closed forms have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slipstick.answer import Answer
from slipstick.errors import SlipstickError
from slipstick.expression.kernels import Array
from slipstick.expression.tape import Tape
from slipstick.method.flatten import expressions
from slipstick.method.names import SIMULATION
from slipstick.method.simulation import solve
from slipstick.method.trial import Trial
from slipstick.model.system import Model

__all__ = ["SimulationForm"]

Values = Mapping[str, "Array | float"]


class SimulationForm:
    """A model to be simulated, one point after the other.

    Every point has the same streams of random numbers, so that points differ by what was varied and not by luck.

    Parameters
    ----------
    model : the system
    trial : how to simulate it
    """

    quantity = "time"
    block = 1

    def __init__(self, model: Model, trial: Trial) -> None:
        self.model, self.trial = model, trial
        self._names = tuple(Tape(tuple(dict.fromkeys(expressions(model)))).parameters)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of everything that can be varied."""
        return self._names

    def times(self, values: Values) -> Array:
        """Give the mean times alone [s]; NaN where there is none."""
        return self.points(values).columns()[self.quantity]

    def points(self, values: Values) -> SimulatedPoints:
        """Simulate every point; aligned arrays, or single numbers."""
        columns = {name: np.atleast_1d(np.asarray(each, dtype=np.float64)) for name, each in values.items()}
        count = max((len(each) for each in columns.values()), default=1)
        spread = {name: np.broadcast_to(each, (count,)) for name, each in columns.items()}
        return SimulatedPoints(
            [self._answer({name: float(each[point]) for name, each in spread.items()}) for point in range(count)]
        )

    def _answer(self, values: Mapping[str, float]) -> Answer:
        try:
            return solve(self.model, values, self.trial)
        except SlipstickError as error:
            return Answer(self.model.name, SIMULATION, failed=str(error))


@dataclass(frozen=True, slots=True)
class SimulatedPoints:
    """Answers of simulations, point by point."""

    answers: Sequence[Answer]

    @property
    def interrupted(self) -> bool:
        """Say whether somebody stopped one of them."""
        return any(each.interrupted for each in self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def columns(self) -> dict[str, Array]:
        """Give every numeric answer as a column, in base units, ends of intervals included; NaN where there is none."""
        names = dict.fromkeys(["time", *(name for each in self.answers for name in each.names)])
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
