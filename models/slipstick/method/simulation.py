"""Simulation: the same activity tree, run event by event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from slipstick.answer import Answer, Value
from slipstick.method.closed_form import ClosedForm
from slipstick.method.flatten import IDLE, Flat, flatten
from slipstick.method.names import SIMULATION
from slipstick.method.points import AGAINST_ONE, UNITS
from slipstick.method.times import BARRIER
from slipstick.method.trial import Trial
from slipstick.model.system import Arrivals, Groups, Model
from slipstick.sim.estimate.intervals import Estimate, t_quantile
from slipstick.sim.estimate.result import Result
from slipstick.sim.estimate.rows import Layout
from slipstick.sim.plan.streams import Array
from slipstick.sim.run import simulate

__all__ = ["solve"]

QUANTILES = (0.5, 0.95, 0.99)

ROUNDING = 1e-9
"""An interval narrower than this part of its mean is rounding."""

STEP = 0.02
"""Relative step of the differences that shares are read from."""


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
    return _with_shares(answer, model, values or {}, result, asked) if asked.shares else answer


def _answer(model: Model, flat: Flat, result: Result) -> Answer:
    booked = _Booked(model, result)
    values = {**_times(model, flat, result), **_efficiency(model, flat, booked), **_resources(result)}
    notes = (*_notes(result), *flat.chances, *([AGAINST_ONE] if "speedup" in values else []))
    time = result.mean_time()
    return Answer(
        model=model.name,
        method=SIMULATION,
        values={name: _value(name, each) for name, each in values.items()},
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


def _value(name: str, estimate: Estimate) -> Value:
    unit = UNITS.get(name.partition("[")[0], "s" if name.startswith("time") else "1")
    if estimate.half_width <= ROUNDING * abs(estimate.mean):
        return Value(estimate.mean, unit, estimate.mean, estimate.mean)
    # A wait or a use cannot be below nothing, however wide its interval.
    low = None if estimate.low is None else min(max(estimate.low, 0.0), estimate.mean)
    return Value(estimate.mean, unit, low, estimate.high)


def _notes(result: Result) -> tuple[str, ...]:
    """Say what was run, and why it ended there."""
    what = "replications" if result.plan.once else "cycles"
    precision = f"{100 * result.effort.precision:g} %"
    why = {
        "precision": f"stopped at the wished precision of {precision}",
        "events": f"stopped at the budget of {result.effort.events} events",
        "cycles": f"ran {result.effort.cycles} {what}, as asked",
        "complete": "ran the program once: nothing in it is random",
        "interrupted": "unfinished: it was interrupted",
    }[result.stopped]
    notes = [f"{why}, after {result.cycles} {what}; {result.dropped} of them dropped as warm-up"]
    if result.plan.once or not result.dropped:
        notes = [f"{why}, after {result.cycles} {what}"]
    if not result.converged:
        reached = result.mean_time()
        width = f"within {100 * reached.half_width / reached.mean:.2g} %" if np.isfinite(reached.half_width) else None
        notes.append(f"not converged: the mean time is known {width}" if width else NOT_TRUSTED)
    return tuple(notes)


NOT_TRUSTED = "not converged: the run is too short, or drifts, so no interval can be trusted"


def _with_shares(answer: Answer, model: Model, values: Mapping[str, float], base: Result, trial: Trial) -> Answer:
    """Add shares of the time, by differences of runs with the same random numbers."""
    form = ClosedForm(model)
    without = form.points(values).answer(0)
    ranked = sorted(without.share.get("time", {}).items(), key=lambda item: -abs(item[1]))[: trial.shares]
    powers = {name: each.dimension.time_power for name, each in form.tape.parameters.items()}
    effort = replace(base.effort, cycles=base.cycles)
    shares, gradient, found = {}, {}, dict(answer.values)
    for name, _ in ranked:
        theta = values.get(name, form.tape.parameters[name].value)
        if not theta:
            continue
        up, down = (
            simulate(flatten(model, {**values, name: theta * (1 + side)}).plan, trial.seed, effort, trial.kernel)
            for side in (STEP, -STEP)
        )
        elasticity = _difference(up, down, base)
        power = powers[name]
        shares[name] = power * elasticity.mean
        gradient[name] = elasticity.mean * base.mean_time().mean / theta
        ends = [None if end is None else power * end for end in (elasticity.low, elasticity.high)]
        low, high = ends if power > 0 else reversed(ends)
        found[f"share[time,{name}]"] = Value(shares[name], "1", low, high)
    note = f"shares of the largest {len(shares)} by differences of {100 * STEP:g} % under common random numbers"
    return replace(
        answer,
        values=found,
        share={"time": shares},
        gradient={"time": gradient},
        notes=(*answer.notes, note),
    )


def _difference(up: Result, down: Result, base: Result) -> Estimate:
    """Estimate theta / T x dT/dtheta from two runs, batch by batch."""
    high, low = (_batch_means(each) for each in (up, down))
    count = min(len(high), len(low))
    differences = (high[-count:] - low[-count:]) / (2 * STEP * base.mean_time().mean)
    mean = float(differences.mean())
    if count < 2:
        return Estimate(mean, mean, mean) if base.stopped == "complete" else Estimate(mean)
    half = t_quantile(base.effort.level, count - 1) * float(differences.std(ddof=1)) / count**0.5
    return Estimate(mean, mean - half, mean + half)


def _batch_means(result: Result) -> Array:
    layout = Layout(result.plan)
    means: Array = result.batches[:, layout.cycle_time[0]] / result.batches[:, layout.cycles[0]]
    return means
