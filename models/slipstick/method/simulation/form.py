"""Simulations at many points, behind the interface that closed forms have.

Simulation: the same activity tree, run event by event.

What others cost a processor, as a simulation saw it: its time among them against its time alone.

What a simulation saw, as values, notes and shares: the same for activities and queueing networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slipstick.answer import Answer, Value
from slipstick.errors import SlipstickError
from slipstick.expression.kernels import Array
from slipstick.expression.tape import Tape
from slipstick.law.grain import GRAIN_EFFICIENCY, GRAIN_INTERFERENCE
from slipstick.method.closed_form.form import AGAINST_ONE, ClosedForm, unit_of
from slipstick.method.closed_form.times import BARRIER
from slipstick.method.simulation.flatten import IDLE, Flat, flatten
from slipstick.model.system import GroupedPopulation, Model, OpenPopulation, SingleProcessor
from slipstick.sim.estimate import Estimate, Layout, Result, t_quantile
from slipstick.sim.run import simulate
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import SIMULATION

ROUNDING = 1e-9
"""An interval narrower than this part of its mean is rounding."""

STEP = 0.02
"""Relative step of the differences that shares are read from."""

NOT_TRUSTED = "not converged: the run is too short, or drifts, so no interval can be trusted"


def as_value(estimate: Estimate, unit: str) -> Value:
    """Write an estimate as a value with its interval.

    Parameters
    ----------
    estimate : of something that is never negative
    unit : its base unit
    """
    if estimate.half_width <= ROUNDING * abs(estimate.mean):
        return Value(estimate.mean, unit, estimate.mean, estimate.mean)
    # A wait or a use cannot be below nothing, however wide its interval.
    low = None if estimate.low is None else min(max(estimate.low, 0.0), estimate.mean)
    return Value(estimate.mean, unit, low, estimate.high)


def notes_of(result: Result) -> tuple[str, ...]:
    """Say what was run, why it ended there, and how sure the least sure of the mean times is.

    Parameters
    ----------
    result : of a simulation
    """
    what = "replications" if result.plan.once else "cycles"
    precision = f"{100 * result.settings.precision:g} %"
    why = {
        "precision": f"stopped at the wished precision of {precision}",
        "events": f"stopped at the budget of {result.settings.events} events",
        "cycles": f"ran {result.settings.cycles} {what}, as asked",
        "complete": "ran the program once: nothing in it is random",
        "interrupted": "unfinished: it was interrupted",
    }[result.stopped]
    notes = [f"{why}, after {result.cycles} {what}; {result.dropped} of them dropped as warm-up"]
    if result.plan.once or not result.dropped:
        notes = [f"{why}, after {result.cycles} {what}"]
    if not result.converged:
        reached = max(_width(result.mean_time(group)) for group in range(len(result.plan.groups)))
        known = f"not converged: the mean time is known within {100 * reached:.2g} %"
        notes.append(known if math.isfinite(reached) else NOT_TRUSTED)
    return tuple(notes)


def _width(estimate: Estimate) -> float:
    return estimate.half_width / estimate.mean if estimate.mean else math.inf


@dataclass(frozen=True, slots=True)
class Differences:
    """Shares of a mean, from differences of runs with the same random numbers.

    Parameters
    ----------
    value : what the mean is called
    again : runs the model once more, at the values given and as long as asked, and gives its means over the batches
    base : the run that the answer was made of

    Source: common random numbers; Law, Simulation Modeling and Analysis, 4th ed., 2007, section 11.2.
    """

    value: str
    again: Callable[[Mapping[str, float], Simulation], Array]
    base: Result

    def added_to(
        self, answer: Answer, names: Sequence[str], here: Mapping[str, float], powers: Mapping[str, int]
    ) -> Answer:
        """Add shares and gradient by parameters, which cost two runs each; parameters that are 0 have none.

        Parameters
        ----------
        answer : without shares
        names : of the parameters
        here : their values, in base units
        powers : of time in their units [1]
        """
        mean = answer[self.value]
        shares, gradient, found = {}, {}, dict(answer.values)
        for name in names:
            theta = here[name]
            if not theta or not mean:
                continue
            elasticity, power = self._elasticity(name, theta, mean), powers[name]
            shares[name] = power * elasticity.mean
            gradient[name] = elasticity.mean * mean / theta
            ends = [None if end is None else power * end for end in (elasticity.low, elasticity.high)]
            low, high = ends if power > 0 else reversed(ends)
            found[f"share[{self.value},{name}]"] = Value(shares[name], "1", low, high)
        note = f"shares of the largest {len(shares)} by differences of {100 * STEP:g} % under common random numbers"
        return replace(
            answer,
            values=found,
            share={self.value: shares},
            gradient={self.value: gradient},
            notes=(*answer.notes, note),
        )

    def _elasticity(self, name: str, theta: float, mean: float) -> Estimate:
        """Estimate theta / T x dT/dtheta from two runs, batch by batch."""
        settings = replace(self.base.settings, cycles=self.base.cycles)
        high, low = (self.again({name: theta * (1 + side)}, settings) for side in (STEP, -STEP))
        count = min(len(high), len(low))
        differences = (high[-count:] - low[-count:]) / (2 * STEP * mean)
        slope = float(differences.mean())
        if count < 2:
            return Estimate(slope, slope, slope) if self.base.stopped == "complete" else Estimate(slope)
        half = t_quantile(self.base.settings.level, count - 1) * float(differences.std(ddof=1)) / math.sqrt(count)
        return Estimate(slope, slope - half, slope + half)


Solve = Callable[[Model, Mapping[str, float]], Answer]


def told_against(answer: Answer, alone: SingleProcessor, values: Mapping[str, float], simulated: Solve) -> Answer:
    """Tell a time among others against that of one processor alone.

    The time alone is the closed form's where that is exact, and is simulated only where it is not. Its interval and that
    of the time among others are taken as independent; those of their ratios follow to first order.

    Parameters
    ----------
    answer : of the model, by simulation
    alone : the processor alone
    values : parameters that differ from the model's own, in base units
    simulated : simulates a model
    """
    form = ClosedForm(alone.model)
    known = {name: each for name, each in values.items() if name in form.parameters}
    plain = form.points(known).answer(0)
    single = plain.values["time"] if plain.exact else simulated(alone.model, known).values["time"]
    if plain.exact:
        single = replace(single, low=single.value, high=single.value)
    among = answer.values["time"]
    if not (single.value and among.value):
        return answer
    if math.isclose(single.value, among.value, rel_tol=ROUNDING):
        # Nobody was in the way; the clock of the simulation is rounded, and less than nothing is no interference.
        single = replace(single, value=among.value)
    assert single.value
    spread = math.hypot(_relative(single), _relative(among))
    efficiency = float(GRAIN_EFFICIENCY.equation(single.value, among.value))
    interference = float(GRAIN_INTERFERENCE.equation(single.value, among.value))
    found = {
        "time_alone": single,
        "grain_efficiency": _within(efficiency, spread * efficiency),
        "grain_interference": _within(interference, spread / efficiency),
    }
    if alone.words is not None:
        tape = Tape([alone.words])
        words = float(tape.run({name: each for name, each in values.items() if name in tape.parameters})[0][0])
        rate = answer.values["throughput"]
        ends = (None if each is None else words * each for each in (rate.value, rate.low, rate.high))
        value, low, high = ends
        found["warps"] = Value(value, "1/s", low, high)
    return replace(answer, values={**answer.values, **found})


def _relative(time: Value) -> float:
    """Give half the interval in parts of the mean; NaN if there is none."""
    if time.low is None or time.high is None:
        return math.nan
    assert time.value
    return (time.high - time.low) / 2 / time.value


def _within(value: float, half: float) -> Value:
    return Value(value, "1") if math.isnan(half) else Value(value, "1", value - half, value + half)


QUANTILES = (0.5, 0.95, 0.99)


def solve(model: Model, values: Mapping[str, float] | None = None, simulation: Simulation | None = None) -> Answer:
    """Answer for a model at one point, by simulation; every value with its 95 % interval.

    Parameters
    ----------
    model : the system
    values : parameters that differ from the model's own, in base units
    simulation : seed, precision (2 % by default) and budget

    Raises
    ------
    ModelError : a name is unknown, a value missing, or the model cannot be simulated
    NoAnswerError : deadlock, saturation, or a time that is undefined

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> answer = solve(closed_model(delay(9.0, name="work") >> service("bus", 3.0, component="wait"), processors=4))
    >>> answer["time"], answer["throughput"], answer.account
    (12.0, 0.33, {'busy': 9.0, 'wait': 3.0})
    """
    settings = simulation or Simulation()
    flat = flatten(model, values)
    result = simulate(flat.plan, settings)
    answer = _answer(model, flat, result)
    if model.single:
        answer = told_against(answer, model.single, values or {}, lambda each, known: solve(each, known, simulation))
    return _with_shares(answer, model, values or {}, result, settings) if settings.shares else answer


def _answer(model: Model, flat: Flat, result: Result) -> Answer:
    booked = _Booked(model, result)
    values = {
        **_times(model, flat, result),
        **_efficiency(model, flat, booked),
        **_resources(result),
        **_fairness(result),
    }
    notes = (*notes_of(result), *flat.chances, *([AGAINST_ONE] if "speedup" in values else []))
    time = result.mean_time()
    return Answer(
        model=model.name,
        method=SIMULATION,
        values={name: as_value(each, value_unit(name)) for name, each in values.items()},
        account=booked.by(booked.component),
        technology=booked.by(booked.technology),
        steps=booked.by(lambda label: "idle:processors" if label == IDLE else label),
        once=flat.once,
        useful=model.useful,
        exact=not flat.plan.random and time.half_width <= ROUNDING * time.mean,
        notes=notes,
        seed=result.settings.seed,
        converged=result.converged,
        interrupted=result.stopped == "interrupted",
    )


class _Booked:
    """The account: what the labels of a plan stand for, and estimates of the time booked to them."""

    def __init__(self, model: Model, result: Result) -> None:
        self.result, self.layout = result, Layout(result.plan)
        self._steps = {step.name: (step.component, step.technology) for step in model.steps}

    def component(self, label: str) -> str:
        """Say what a label adds up to: a step's component, or what was waited for."""
        if label in self._steps:
            return self._steps[label][0]
        return BARRIER if label.startswith(f"{BARRIER}:") else label

    def technology(self, label: str) -> str:
        """Say the technology class of a label; waiting is a class of its own."""
        if label in self._steps:
            return self._steps[label][1]
        return {BARRIER: "software", IDLE: "application"}.get(label.partition(":")[0], "wait")

    def weights(self, *components: str) -> Array:
        """Pick the columns of components."""
        weights = np.zeros(self.layout.width)
        for index, label in enumerate(self.result.plan.labels):
            if self.component(label) in components:
                weights[self.layout.booked[0] + index] = 1.0
        return weights

    def by(self, name: Callable[[str], str]) -> dict[str, float]:
        """Add seconds of a cycle up by a name of the labels; nothing booked is left out."""
        sums = self.result.batches.sum(axis=0)
        cycles = sums[self.layout.cycles[0]]
        found: dict[str, float] = {}
        for index, label in enumerate(self.result.plan.labels):
            seconds = float(sums[self.layout.booked[0] + index])
            if seconds:
                found[name(label)] = found.get(name(label), 0.0) + seconds / float(cycles)
        return found


def _times(model: Model, flat: Flat, result: Result) -> dict[str, Estimate]:
    layout, time = Layout(result.plan), result.mean_time()
    found = {"time": time}
    if isinstance(model.population, OpenPopulation):
        elapsed = result.column(layout.time)
        found["throughput"] = result.ratio(result.column(layout.cycles[0]), elapsed)
    elif time.mean > 0:
        # Members who are never away go round N / T times a second: Little's law on the whole system.
        n = flat.population
        low, high = (None if end is None or end <= 0 else n / end for end in (time.high, time.low))
        found["throughput"] = Estimate(n / time.mean, low, high)
    if isinstance(model.population, GroupedPopulation):
        for index, members in enumerate(result.plan.groups):
            found[f"time[{members.name}]"] = result.mean_time(index)
            found[f"throughput[{members.name}]"] = result.ratio(
                result.column(layout.cycles[index]), result.column(layout.time)
            )
    found.update({f"time_quantile[{p:g}]": result.time_quantile(p) for p in QUANTILES})
    return found


def _efficiency(model: Model, flat: Flat, booked: _Booked) -> dict[str, Estimate]:
    result, layout = booked.result, booked.layout
    if isinstance(model.population, OpenPopulation) or not result.mean_time().mean > 0:
        return {}
    time = result.column(layout.cycle_time[0])
    account = booked.by(booked.component)
    found = {}
    if any(name in account for name in model.useful):
        useful = booked.weights(*model.useful)
        found["efficiency"] = result.ratio(useful, time)
        found["speedup"] = result.ratio(flat.population * useful, time)
    for name in account:
        if name not in model.useful:
            found[f"processors_lost[{name}]"] = result.ratio(flat.population * booked.weights(name), time)
    return found


def _resources(result: Result) -> dict[str, Estimate]:
    """Estimate use, queue and wait of each resource; copies, such as processors, count as one on average."""
    plan, layout = result.plan, Layout(result.plan)
    names = plan.resources
    servers = {each.name: each.servers for each in plan.stations} | {each.name: each.permits for each in plan.locks}
    elapsed, found = result.column(layout.time), {}
    for name in dict.fromkeys(names):
        area, use, done = (np.zeros(layout.width) for _ in range(3))
        for index in (index for index, each in enumerate(names) if each == name):
            area[layout.area[index]] = use[layout.use[index]] = done[layout.done[index]] = 1.0
        copies = names.count(name)
        found[f"utilization[{name}]"] = result.ratio(use, elapsed * servers[name] * copies)
        found[f"queue_length[{name}]"] = result.ratio(area, elapsed * copies)
        if result.batches @ done @ np.ones(len(result.batches)) > 0:
            found[f"wait[{name}]"] = result.ratio(area - use, done)
    return found


def _fairness(result: Result) -> dict[str, Estimate]:
    r"""Estimate how evenly the waits for each lock, and for all together, are spread: Jain's index.

    W^2 / (n Q) of n waits, where W adds them up, from asking until holding, and Q their squares: 1 where everybody waits
    as long, 1 / n where one waits for all. The interval is that of the ratio of (2 W_b / W - n_b / n) to Q_b / Q over
    batches b, which is the same to first order.

    Source: Jain, Chiu and Hawe, DEC Research Report TR-301, 1984.
    """
    layout = Layout(result.plan)
    locks = {each.name: at for at, each in enumerate(result.plan.locks) if each.noun == "lock"}
    asked = {"fairness": tuple(locks.values()), **{f"fairness[{name}]": (at,) for name, at in locks.items()}}
    sums, found = result.batches.sum(axis=0), {}
    for name, members in asked.items():
        taken, waited, squares = (
            sum((result.column(column[at]) for at in members), np.zeros(layout.width))
            for column in (layout.taken, layout.waited, layout.squares)
        )
        n, w, q = (float(sums @ each) for each in (taken, waited, squares))
        if q > 0:
            even = w * w / (n * q)
            found[name] = result.ratio(2 * even / w * waited - even / n * taken, squares / q)
    return found


def value_unit(name: str) -> str:
    """Give the base unit of a value, its quantiles and groups included."""
    return "s" if name.startswith("time") else unit_of(name)


def _with_shares(
    answer: Answer, model: Model, values: Mapping[str, float], base: Result, simulation: Simulation
) -> Answer:
    """Add shares of the time by the parameters that have the largest ones in closed form."""
    form = ClosedForm(model)
    without = form.points(values).answer(0)
    ranked = sorted(without.share.get("time", {}).items(), key=lambda item: -abs(item[1]))[: simulation.shares]
    parameters = form.tape.parameters

    def again(changed: Mapping[str, float], settings: Simulation) -> Array:
        return _batch_means(simulate(flatten(model, {**values, **changed}).plan, settings))

    return Differences("time", again, base).added_to(
        answer,
        [name for name, _ in ranked],
        {name: values.get(name, each.value or 0.0) for name, each in parameters.items()},
        {name: each.dimension.time_power for name, each in parameters.items()},
    )


def _batch_means(result: Result) -> Array:
    layout = Layout(result.plan)
    means: Array = result.batches[:, layout.cycle_time[0]] / result.batches[:, layout.cycles[0]]
    return means


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


def simulation_of(model: Model, simulation: Simulation) -> SimulationForm:
    """Give the form that simulates an activity.

    Parameters
    ----------
    model : the system
    simulation : seed, precision and budget
    """
    names = tuple(Tape(model.expressions(unused=True)).parameters)
    return SimulationForm(model.name, "time", names, value_unit, lambda values: solve(model, values, simulation))


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
        self, index: int, point: Mapping[str, float | str] | None = None, given: Mapping[str, float | str] | None = None
    ) -> Answer:
        """Give the whole answer at one point."""
        return replace(self.answers[index], point=point or {}, given=given or {})


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
