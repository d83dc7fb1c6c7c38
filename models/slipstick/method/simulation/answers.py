"""Simulation: the same activity tree, run event by event."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from slipstick.answer import Answer
from slipstick.method.closed_form.form import ClosedForm
from slipstick.method.closed_form.points import AGAINST_ONE, unit_of
from slipstick.method.closed_form.times import BARRIER
from slipstick.method.names import SIMULATION
from slipstick.method.simulation.against import told_against
from slipstick.method.simulation.estimated import ROUNDING, Differences, as_value, notes_of
from slipstick.method.simulation.flatten import IDLE, Flat, flatten
from slipstick.method.trial import Trial
from slipstick.model.system import Arrivals, Groups, Model
from slipstick.sim.effort import Effort
from slipstick.sim.estimate.intervals import Estimate
from slipstick.sim.estimate.result import Result
from slipstick.sim.estimate.rows import Layout
from slipstick.sim.plan.streams import Array
from slipstick.sim.run import simulate

__all__ = ["solve", "value_unit"]

QUANTILES = (0.5, 0.95, 0.99)


def solve(model: Model, values: Mapping[str, float] | None = None, trial: Trial | None = None) -> Answer:
    """Answer for a model at one point, by simulation; every value with its 95 % interval.

    Parameters
    ----------
    model : the system
    values : parameters that differ from the model's own, in base units
    trial : seed, precision wished (2 % by default) and budget

    Raises
    ------
    ModelError : a name is unknown, a value missing, or the model cannot be simulated
    NoAnswerError : deadlock, saturation, or a time that is undefined

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed
    >>> answer = solve(closed(delay(9.0, name="work") >> service("bus", 3.0, component="wait"), processors=4))
    >>> answer["time"], answer["throughput"], answer.account
    (12.0, 0.33, {'busy': 9.0, 'wait': 3.0})
    """
    asked = trial or Trial()
    flat = flatten(model, values)
    result = simulate(flat.plan, asked.seed, asked.effort, asked.kernel)
    answer = _answer(model, flat, result)
    if model.alone:
        answer = told_against(answer, model.alone, values or {}, lambda each, known: solve(each, known, trial))
    return _with_shares(answer, model, values or {}, result, asked) if asked.shares else answer


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
        seed=result.seed,
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
    if isinstance(model.population, Arrivals):
        elapsed = result.column(layout.time)
        found["throughput"] = result.ratio(result.column(layout.cycles[0]), elapsed)
    elif time.mean > 0:
        # Members who are never away go round N / T times a second: Little's law on the whole system.
        n = flat.population
        low, high = (None if end is None or end <= 0 else n / end for end in (time.high, time.low))
        found["throughput"] = Estimate(n / time.mean, low, high)
    if isinstance(model.population, Groups):
        for index, members in enumerate(result.plan.members):
            found[f"time[{members.name}]"] = result.mean_time(index)
            found[f"throughput[{members.name}]"] = result.ratio(
                result.column(layout.cycles[index]), result.column(layout.time)
            )
    found.update({f"time_quantile[{p:g}]": result.time_quantile(p) for p in QUANTILES})
    return found


def _efficiency(model: Model, flat: Flat, booked: _Booked) -> dict[str, Estimate]:
    result, layout = booked.result, booked.layout
    if isinstance(model.population, Arrivals) or not result.mean_time().mean > 0:
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
    servers = {each.name: each.servers for each in plan.stations}
    elapsed, found = result.column(layout.time), {}
    for name in dict.fromkeys(names):
        area, use, done = (np.zeros(layout.width) for _ in range(3))
        for index in (index for index, each in enumerate(names) if each == name):
            area[layout.area[index]] = use[layout.use[index]] = done[layout.done[index]] = 1.0
        copies = names.count(name)
        found[f"utilization[{name}]"] = result.ratio(use, elapsed * servers.get(name, 1) * copies)
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
    layout, locks = Layout(result.plan), result.plan.locks
    asked = {"fairness": range(len(locks)), **{f"fairness[{name}]": (at,) for at, name in enumerate(locks)}}
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


def _with_shares(answer: Answer, model: Model, values: Mapping[str, float], base: Result, trial: Trial) -> Answer:
    """Add shares of the time by the parameters that have the largest ones in closed form."""
    form = ClosedForm(model)
    without = form.points(values).answer(0)
    ranked = sorted(without.share.get("time", {}).items(), key=lambda item: -abs(item[1]))[: trial.shares]
    parameters = form.tape.parameters

    def again(changed: Mapping[str, float], effort: Effort) -> Array:
        return _batch_means(simulate(flatten(model, {**values, **changed}).plan, trial.seed, effort, trial.kernel))

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
