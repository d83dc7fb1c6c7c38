"""Activities compiled for mean value and for the Markov chain: numbers are evaluated at many
points, and times and uses become a solution with derivatives.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

from slipstick.answer import DeferredShares
from slipstick.errors import NoAnswerError
from slipstick.expression.columns import Flags, Values
from slipstick.expression.nodes import Expr, parameters
from slipstick.expression.tape import Tape
from slipstick.late import Array, np
from slipstick.method.activity_table import ActivityTable
from slipstick.method.answers import (
    CompiledModel,
    Gradient,
    Remarks,
    SingleProcessorValues,
    Solution,
    activity_solution,
    complex_step,
    perturbed,
    think_times,
    value_at,
)
from slipstick.model.activity import Step
from slipstick.model.system import Model
from slipstick.structure.contention import Contention
from slipstick.structure.deadlocks import Deadlocks
from slipstick.structure.visits import Numbers
from slipstick.structure.work import ParallelWork
from slipstick.vocabulary import KNOWN, refuse_unknown

_SLOPES_AT_ONCE = 512
"""Derivatives in one recursion; its memory grows with their number times that of visits."""


class ActivityForm(CompiledModel):
    """A model compiled for a method that computes the times and the use of resources at many points
    together.

    Parameters
    ----------
    model : the system

    Attributes
    ----------
    method : the name of the method
    tape : every number of the model, compiled together
    smooth : parameters that the time has a derivative by: all but those that count processors
    """

    method: ClassVar[str]

    def __init__(self, model: Model) -> None:
        refuse_unknown(model.constructs, self.method, KNOWN[self.method])
        self.model = model
        self._exprs = model.expressions()
        self.tape = Tape(self._exprs)
        self.parameters = tuple(self.tape.parameters)
        # A number of processors is whole, so that a derivative by it means nothing.
        counts = {parameter.name for parameter in parameters(*model.population.counts)}
        self.smooth = [name for name in self.parameters if name not in counts]
        self.contention = Contention(model)
        self._deadlocks = Deadlocks(model)
        self._parallel = ParallelWork(model)
        self._single = (
            SingleProcessorValues(model.single, type(self)(model.single.model))
            if model.single
            else None
        )

    def numbers(self, values: Values) -> dict[Expr, Array]:
        """Evaluate every number of the model [points]."""
        columns = self.tape.run(values)
        points = max([1, *(np.size(value) for value in values.values()), *map(len, columns)])
        return {
            expr: np.broadcast_to(column, (points,))
            for expr, column in zip(self._exprs, columns, strict=True)
        }

    @abstractmethod
    def solved(self, numbers: Numbers, account: bool) -> ActivityTable:
        """Compute the times at all points; the numbers may be complex.

        Parameters
        ----------
        numbers : every number of the model [points]
        account : also find the account and the use of each queue

        Raises
        ------
        NoAnswerError : the whole model has a part that the method has no answer for
        """

    @abstractmethod
    def exact(self, values: Values, table: ActivityTable) -> Flags:
        """Return at which points the times are exact."""

    @abstractmethod
    def errors(self, table: ActivityTable, exact: Flags) -> dict[int, str]:
        """Return, by point, why no error is promised for its approximate answer; empty where one is
        promised.
        """

    @property
    @abstractmethod
    def approximate(self) -> Remarks:
        """The notes on an approximate answer, and the error promised for it."""

    def brief(self, values: Values) -> Solution:
        """Evaluate the time alone [s, points]."""
        numbers = self.numbers(values)
        table = self.table(numbers, account=False)
        return Solution(
            model=self.model.name,
            method=self.method,
            count=len(table.time),
            exact=(exact := self.exact(values, table)),
            errors=self.errors(table, exact),
            values={self.quantity: table.time},
            refused=frozenset(table.refused),
        )

    def table(self, numbers: Numbers, account: bool) -> ActivityTable:
        """Compute the times at all points, as `solved` does; a refusal of the whole model becomes
        the reason at each point.
        """
        points = len(next(iter(numbers.values())))
        sizes_there = [numbers[size] for size in self.model.population.counts]
        deadlocks = {
            index: text for index, (text,) in self._deadlocks.among(sizes_there, points).items()
        }
        # Mean values of a model that deadlocks would be wrong, and may take long.
        if len(deadlocks) == points:
            return ActivityTable(np.ones(points), deadlocks)
        try:
            with np.errstate(all="ignore"):
                table = self.solved(numbers, account)
        except NoAnswerError as error:
            return ActivityTable(np.ones(points), dict.fromkeys(range(points), str(error)))
        table.refuse(deadlocks)
        return table

    @property
    def block(self) -> int:
        """The number of points that are solved together: each takes 10 KB and more while it is
        solved.
        """
        return 2048

    def solution(self, values: Values) -> Solution:
        """Compute all values at aligned points."""
        numbers = self.numbers(values)
        table = self.table(numbers, account=True)
        exact = self.exact(values, table)
        groups = {
            group.name: group.processors for group in self.model.population.groups if group.name
        }
        missing = np.full(
            len(table.time), np.nan
        )  # of every group, where mean value refuses the model
        steps = [step for step in self.model.steps if not groups or step.name in table.booked]
        solution = activity_solution(
            self.model,
            self.method,
            table.time,
            table.size,
            table.booked,
            exact=exact,
            errors=self.errors(table, exact),
            groups={
                name: (table.groups.get(name, missing), numbers[size])
                for name, size in groups.items()
            },
            think_times=think_times(self.model, values),
            single=self._single.values(values, table.time, table.size) if self._single else {},
            uses={
                name: (busy, present, wait) for name, (busy, present, _, wait) in table.uses.items()
            },
            beside=lambda account: self._parallel.columns(
                values, table.time, table.size, account, table.spans
            ),
            once={
                step.name: np.where(np.isnan(table.time), np.nan, self._alone(step, numbers))
                for step in steps
            },
            # What no processor ever waits for is left out of answers.
            kept=frozenset(
                label
                for step in self.model.steps
                for label in (step.name, step.component, step.technology)
            ),
            remarks=lambda index: self._remarks(table, bool(exact[index]), index),
            gradient=lambda index: self._gradient(values, index),
        )
        return replace(solution, refused=frozenset(table.refused))

    def _alone(self, step: Step, numbers: Numbers) -> Array:
        """Return the time of one execution of a step without waiting [s, points]."""
        speed = self.model.speed_alone(step)
        return numbers[step.time] if speed is None else numbers[step.time] / numbers[speed]

    def _remarks(self, table: ActivityTable, exact: bool, index: int) -> Remarks:
        model = self.model
        time = float(table.time[index])
        if index in table.wrong:
            return Remarks(failed=table.wrong[index])
        if not np.isfinite(time):
            return Remarks(
                failed=(
                    f"the mean values of {model.name} do not settle: its time comes out as {time!r}"
                )
            )
        if exact:
            return Remarks()
        return self.approximate

    def _gradient(self, values: Values, index: int) -> Gradient:
        """Return the derivatives of the time by every parameter that does not count processors;
        they are computed when they are read.
        """
        parameters = self.tape.parameters
        own_values = {
            name: value_at(values, name, index, parameter.value)
            for name, parameter in parameters.items()
        }
        slopes = DeferredShares(partial(self._slopes, own_values), seconds=0.0)
        return Gradient(slopes, own_values, parameters)

    def _slopes(self, own_values: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """Compute the derivatives of the time by each smooth parameter, from one solution in which
        each of them is moved in turn.

        Each parameter is a point of its own, at which it is moved by a small imaginary step:
        relative to its value, or in base units where that is 0.
        """
        slopes: dict[str, float] = {}
        for start in range(0, len(self.smooth), _SLOPES_AT_ONCE):
            names = self.smooth[start : start + _SLOPES_AT_ONCE]
            columns = perturbed({expr: expr for expr in self._exprs}, own_values, names)
            numbers = {expr: column[1:] for expr, column in columns.items()}
            try:
                time = self.table(numbers, account=False).time.imag / [
                    complex_step(own_values[name]) for name in names
                ]
            except (
                NoAnswerError
            ):  # the time of a large population settles, and its derivatives do not
                return {}
            slopes |= {name: float(slope) for name, slope in zip(names, time, strict=True)}
        return {"time": slopes}
