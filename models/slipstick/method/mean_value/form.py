"""Mean values at many points, as columns and as answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, reduce

import numpy as np

from slipstick.answer import Answer, Later, Value
from slipstick.errors import NoAnswerError
from slipstick.law.account import CYCLE_RATE, EFFICIENCY, PROCESSORS_LOST, SPEEDUP
from slipstick.method.alone import Against
from slipstick.method.closed_form.exactness import neglected, sizes
from slipstick.method.closed_form.form import AGAINST_ONE, BLOCK, unit_of
from slipstick.method.mean_value.closed import solve_closed
from slipstick.method.mean_value.maxima import Array
from slipstick.method.mean_value.notes import exact_everywhere, notes_of, promised
from slipstick.method.mean_value.open import solve_open
from slipstick.method.mean_value.points import MeanValueTable, ModelNumbers, Numbers, Values
from slipstick.method.mean_value.programs import solve_phases, solve_supersteps
from slipstick.method.mean_value.visits import component_and_class
from slipstick.model.activity import Step
from slipstick.model.system import (
    ClosedPopulation,
    GroupedPopulation,
    Model,
    OpenPopulation,
    PhasedPopulation,
    SuperstepPopulation,
)

METHOD = "mean-value"

STEP = 1e-20
"""Imaginary step of derivatives, relative; its square vanishes beside 1."""


class MeanValue:
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

    quantity = "time"
    block = BLOCK

    def __init__(self, model: Model) -> None:
        self.model = model
        self.numbers = ModelNumbers(model)
        self._sizes = sizes(model)
        self.against = Against(model.single, MeanValue(model.single.model)) if model.single else None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of everything that can be varied without building the model anew."""
        return tuple(self.numbers.tape.parameters)

    def unit(self, column: str) -> str:
        """Give the base unit of a column."""
        return unit_of(column)

    def times(self, values: Values) -> Array:
        """Evaluate the time alone [s, points]."""
        return self.outcome(self.numbers.columns(values), account=False).time

    def points(self, values: Values) -> MeanValuePoints:
        """Evaluate everything at aligned points."""
        numbers = self.numbers.columns(values)
        return MeanValuePoints(self, values, numbers, self.outcome(numbers, account=True))

    def outcome(self, numbers: Numbers, account: bool) -> MeanValueTable:
        """Solve for numbers that may be complex; what stops every point is said of each."""
        try:
            solve = _solver(self.model)
            with np.errstate(all="ignore"):
                return solve(self.model, numbers, account)
        except NoAnswerError as error:
            points = len(next(iter(numbers.values())))
            return MeanValueTable.blank(np.ones(points), (), (), dict.fromkeys(range(points), str(error)))

    def left_out(self, numbers: Numbers) -> Array:
        """Say at which points nobody is in the way and nothing random is compared, so that the answer is exact."""
        nothing: Array = neglected(self.model, {size: numbers[size] for size in self._sizes}).nothing()
        return nothing


class MeanValuePoints:
    """Mean values at aligned points."""

    def __init__(self, form: MeanValue, values: Values, numbers: Numbers, found: MeanValueTable) -> None:
        self._form, self._values, self._numbers, self._found = form, values, numbers, found

    @property
    def interrupted(self) -> bool:
        """Say no: it is done at once."""
        return False

    def __len__(self) -> int:
        return len(self._found.time)

    def columns(self) -> dict[str, Array]:
        """Give every numeric answer as a column, in base units; NaN where there is none."""
        return {
            "time": self._found.time,
            **self._rates,
            **{f"account[{name}]": each for name, each in self._accounts[0].items()},
            **{f"technology[{name}]": each for name, each in self._accounts[1].items()},
            **{f"step[{name}]": each for name, each in self._found.booked.items()},
            **{f"once[{name}]": each for name, each in self._once.items()},
        }

    def limits(self) -> dict[str, list[str]]:
        """Give nothing: which stage is the longest is a matter of chance."""
        return {}

    def answer(
        self, index: int, point: Mapping[str, float | str] | None = None, given: Mapping[str, float | str] | None = None
    ) -> Answer:
        """Give the whole answer at one point."""
        model, found, point, given = self._form.model, self._found, point or {}, given or {}
        wrong = found.wrong.get(index) or _unheard_of(model, float(found.time[index]))
        if wrong:
            return Answer(model.name, METHOD, failed=wrong, point=point, given=given)

        def here(columns: Mapping[str, Array]) -> dict[str, float]:
            return {name: float(column[index]) for name, column in columns.items()}

        components, classes = self._accounts
        account = _kept(here(components), model)
        values = {"time": found.time, **self._rates}
        values = {name: each for name, each in values.items() if _lost(name) in ("", *account)}
        exact = bool(self._exact[index])
        busiest = max((float(use.busy[index]) for use in found.uses.values()), default=0.0)
        notes = () if exact else notes_of(model, busiest)
        return Answer(
            model=model.name,
            method=METHOD,
            values={name: Value(each, unit_of(name)) for name, each in here(values).items() if np.isfinite(each)},
            account=account,
            technology=_kept(here(classes), model),
            steps=_kept(here(found.booked), model),
            once=here(self._once),
            useful=model.useful,
            share=Later(lambda: self._shares(index)),
            gradient=Later(lambda: {"time": self._slopes(index)}),
            exact=exact,
            promise=None if exact else promised(model, busiest),
            notes=(*notes, AGAINST_ONE) if "speedup" in values else notes,
            point=point,
            given=given,
        )

    @cached_property
    def _rates(self) -> dict[str, Array]:
        """Give what follows from time, account, population and use."""
        found, model = self._found, self._form.model
        used = {
            name: each
            for queue, use in found.uses.items()
            for name, each in (
                (f"utilization[{queue}]", use.busy),
                (f"queue_length[{queue}]", use.present),
                (f"wait[{queue}]", use.wait),
            )
        }
        if isinstance(model.population, OpenPopulation):
            return {"throughput": np.where(np.isnan(found.time), np.nan, found.size), **used}
        account = self._accounts[0]
        useful = [account[name] for name in model.useful if name in account]
        with np.errstate(all="ignore"):
            rates = {"throughput": CYCLE_RATE.equation(found.size, found.time)}
            if useful:
                rates["efficiency"] = EFFICIENCY.equation(reduce(np.add, useful), found.time)
                rates["speedup"] = SPEEDUP.equation(found.size, rates["efficiency"])
            for name, seconds in account.items():
                if name not in model.useful:
                    rates[f"processors_lost[{name}]"] = PROCESSORS_LOST.equation(found.size, seconds, found.time)
        against = self._form.against.values(self._values, found.time, found.size) if self._form.against else {}
        return {**rates, **against, **self._others, **used}

    @property
    def _others(self) -> dict[str, Array]:
        """Give time and cycles of each group, where there are several."""
        population, rates = self._form.model.population, {}
        for group in population.groups if isinstance(population, GroupedPopulation) else ():
            time, size = self._found.groups[group.name], self._numbers[group.processors]
            rates[f"time[{group.name}]"] = time
            rates[f"throughput[{group.name}]"] = np.where(size > 0, CYCLE_RATE.equation(size, time), 0.0)
        return rates

    @cached_property
    def _once(self) -> dict[str, Array]:
        steps: tuple[Step, ...] = self._form.model.steps
        if isinstance(self._form.model.population, GroupedPopulation):
            steps = tuple(step for step in steps if step.name in self._found.booked)
        return {step.name: np.where(np.isnan(self._found.time), np.nan, self._numbers[step.time]) for step in steps}

    @cached_property
    def _exact(self) -> Array:
        exact: Array = exact_everywhere(self._form.model) | self._form.left_out(self._numbers)
        return np.broadcast_to(exact, (len(self),))

    @cached_property
    def _accounts(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Add up what is booked by component and by technology class, in the order of first appearance."""
        booked = self._found.booked
        classes = component_and_class(self._form.model, list(booked))
        sums: tuple[dict[str, Array], dict[str, Array]] = ({}, {})
        for name, seconds in booked.items():
            for key, each in zip(classes[name], sums, strict=True):
                each[key] = each[key] + seconds if key in each else seconds
        return sums

    def _shares(self, index: int) -> dict[str, dict[str, float]]:
        """Weigh derivatives by the power of time: k theta / T x dT/dtheta."""
        time = float(self._found.time[index])
        if not time > 0:
            return {}
        values, slopes = self._here(index), self._slopes(index)
        powers = {name: each.dimension.time_power for name, each in self._form.numbers.tape.parameters.items()}
        shares = {name: powers[name] * values[name] * slope / time for name, slope in slopes.items() if powers[name]}
        return {"time": shares}

    def _slopes(self, index: int) -> dict[str, float]:
        """Differentiate the time by every parameter that does not count processors, in one recursion."""
        form = self._form
        names = form.numbers.smooth
        if not names:
            return {}
        numbers, steps = form.numbers.perturbed(self._here(index), STEP)
        slopes = form.outcome(numbers, account=False).time.imag / steps
        return {name: float(slope) for name, slope in zip(names, slopes, strict=True)}

    def _here(self, index: int) -> dict[str, float]:
        tape = self._form.numbers.tape
        given = {name: np.ravel(each) for name, each in self._values.items()}
        return {
            name: float(given[name][index if len(given[name]) > 1 else 0] if name in given else each.value or 0.0)
            for name, each in tape.parameters.items()
        }


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


def _unheard_of(model: Model, time: float) -> str:
    """Say what is wrong with a time that is no number."""
    return "" if np.isfinite(time) else f"the mean values of {model.name} do not settle: its time comes out as {time!r}"


def _lost(value: str) -> str:
    """Give the component that a value counts lost processors of; empty for any other value."""
    kind, _, component = value.partition("[")
    return component.removesuffix("]") if kind == "processors_lost" else ""


def _kept(account: Mapping[str, float], model: Model) -> dict[str, float]:
    """Leave out what nobody ever waits for; steps stay."""
    steps = {part for step in model.steps for part in (step.name, step.component, step.technology)}
    return {name: seconds for name, seconds in account.items() if seconds or name in steps}
