"""Mean values at many points, as a solution that columns and answers are read off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.method.answers import (
    COMPLEX_STEP,
    CompiledModel,
    Gradient,
    Remarks,
    SingleProcessorValues,
    Solution,
    Use,
    Values,
    activity_solution,
    value_at,
)
from slipstick.method.closed_form.exactness import neglected, sizes
from slipstick.method.mean_value.closed import solve_closed
from slipstick.method.mean_value.maxima import Array
from slipstick.method.mean_value.notes import exact_everywhere, notes_of, promised
from slipstick.method.mean_value.open import solve_open
from slipstick.method.mean_value.points import MeanValueTable, ModelNumbers, Numbers
from slipstick.method.mean_value.programs import solve_phases, solve_supersteps
from slipstick.model.system import (
    ClosedPopulation,
    GroupedPopulation,
    Model,
    OpenPopulation,
    PhasedPopulation,
    SuperstepPopulation,
)
from slipstick.vocabulary import MEAN_VALUE


class MeanValue(CompiledModel):
    """A model compiled for mean value; points that differ in the population alone share one recursion.

    Parameters
    ----------
    model : the system

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> form = MeanValue(closed_model(delay(9.0, name="think") >> service("bus", 1.0, scv=1.0), processors=10))
    >>> form.times({"population.processors": np.array([1.0, 2.0, 10.0])})
    array([10.   , 10.1  , 12.019])
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.numbers = ModelNumbers(model)
        self._sizes = sizes(model)
        self._single = SingleProcessorValues(model.single, MeanValue(model.single.model)) if model.single else None

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.numbers.tape.parameters)

    def times(self, values: Values) -> Array:
        """Evaluate the time alone [s, points]."""
        return self.table(self.numbers.columns(values), account=False).time

    def table(self, numbers: Numbers, account: bool) -> MeanValueTable:
        """Solve for numbers that may be complex; what stops every point is said of each."""
        try:
            solve = _solver(self.model)
            with np.errstate(all="ignore"):
                return solve(self.model, numbers, account)
        except NoAnswerError as error:
            points = len(next(iter(numbers.values())))
            return MeanValueTable.blank(np.ones(points), (), (), dict.fromkeys(range(points), str(error)))

    def solution(self, values: Values) -> Solution:
        """Evaluate everything at aligned points."""
        numbers = self.numbers.columns(values)
        found = self.table(numbers, account=True)
        nothing = neglected(self.model, {size: numbers[size] for size in self._sizes}).nothing()
        # A model that mean value refuses is not exact anywhere, and cannot be asked.
        everywhere = len(found.wrong) < len(found.time) and exact_everywhere(self.model)
        exact = np.broadcast_to(everywhere | nothing, (len(found.time),))
        groups = {group.name: group.processors for group in self.model.population.groups if group.name}
        steps = [step for step in self.model.steps if not groups or step.name in found.booked]
        return activity_solution(
            self.model,
            MEAN_VALUE,
            found.time,
            found.size,
            found.booked,
            groups={name: (found.groups[name], numbers[size]) for name, size in groups.items()},
            single=self._single.values(values, found.time, found.size) if self._single else {},
            uses={name: Use(each.busy, each.present, each.wait) for name, each in found.uses.items()},
            once={step.name: np.where(np.isnan(found.time), np.nan, numbers[step.time]) for step in steps},
            # What no processor ever waits for is left out of answers.
            kept=frozenset(part for step in self.model.steps for part in (step.name, step.component, step.technology)),
            remarks=lambda index: self._remarks(found, bool(exact[index]), index),
            gradient=lambda index: self._gradient(values, index),
        )

    def _remarks(self, found: MeanValueTable, exact: bool, index: int) -> Remarks:
        model, time = self.model, float(found.time[index])
        if index in found.wrong:
            return Remarks(failed=found.wrong[index])
        if not np.isfinite(time):
            return Remarks(failed=f"the mean values of {model.name} do not settle: its time comes out as {time!r}")
        if exact:
            return Remarks(exact=True)
        busiest = max((float(use.busy[index]) for use in found.uses.values()), default=0.0)
        return Remarks(notes=notes_of(model, busiest), promise=promised(model, busiest))

    def _gradient(self, values: Values, index: int) -> Gradient:
        """Differentiate the time by every parameter that does not count processors, in one recursion."""
        known = self.numbers.tape.parameters
        here = {name: value_at(values, name, index, each.value) for name, each in known.items()}
        names = self.numbers.smooth
        slopes: dict[str, float] = {}
        if names:
            numbers, steps = self.numbers.perturbed(here, COMPLEX_STEP)
            found = self.table(numbers, account=False).time.imag / steps
            slopes = {name: float(slope) for name, slope in zip(names, found, strict=True)}
        return Gradient({"time": slopes}, here, known)


def _solver(model: Model) -> Callable[[Model, Numbers, bool], MeanValueTable]:
    match model.population:
        case ClosedPopulation() | GroupedPopulation():
            return solve_closed
        case OpenPopulation():
            return solve_open
        case PhasedPopulation():
            return solve_phases
        case SuperstepPopulation():
            return solve_supersteps
