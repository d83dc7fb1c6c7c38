"""Programs: phases, each as long as the slowest of its processors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from slipstick.method.closed_form.form import IDLE_PROCESSORS
from slipstick.method.mean_value.maxima import Array, Span, first_largest, longest_of_alike, plus, rounds
from slipstick.method.mean_value.outcome import Outcome, Use, counted, unsound, uses
from slipstick.method.mean_value.quantities import Numbers
from slipstick.method.mean_value.recursion import Recursion, State, Stop, booked, labels_of, none_negative, stops
from slipstick.method.mean_value.synchronized_start import surge
from slipstick.method.mean_value.traversal import Found, Pass
from slipstick.method.mean_value.visits import Rounds
from slipstick.model.activity import BarrierWait, steps
from slipstick.model.system import Model, Phase, PhasedPopulation


def solve_program(model: Model, numbers: Numbers, account: bool) -> Outcome:
    """Answer for a program at all points: T = sum over phases of E max over its processors of r iterations.

    Parameters
    ----------
    model : with a `PhasedPopulation`
    numbers : every number of the model [points]
    account : also find the account and the use of each queue

    Source: Nanda and Ni's phases and transitions, T = T_S + sum (r_k t_k + T_B); T_S is a phase of one processor.
    """
    assert isinstance(model.population, PhasedPopulation)
    phases = [_Phase(model, phase, index) for index, phase in enumerate(model.population.phases)]
    wrong = unsound(model, numbers)
    for each in phases:
        wrong = {**counted(numbers[each.phase.processors], f"the processors of phase {each.index + 1}"), **wrong}
        wrong.update(each.uncounted(numbers))
    size = first_largest([numbers[each.phase.processors] for each in phases])
    labels = [label for each in phases for label in labels_of(each.recursion)]
    names = dict.fromkeys(queue.name for each in phases for queue in each.recursion.queues)
    whole = Outcome.blank(
        np.array(size), [*dict.fromkeys(labels), IDLE_PROCESSORS] if account else [], names if account else [], wrong
    )
    points = np.array([index for index in range(len(size)) if index not in wrong], dtype=int)
    parts = [each.solve(numbers, size, points, account) for each in phases]
    _add_up(whole, parts, points)
    return whole


def _add_up(whole: Outcome, parts: list[Outcome], points: Array) -> None:
    """Put the phases one after the other; use is weighed by their times."""
    whole.time[points] = sum(part.time[points] for part in parts)
    for label, column in whole.booked.items():
        column[points] = sum((part.booked[label][points] for part in parts if label in part.booked), np.zeros(1))
    time = np.where(whole.time[points] > 0, whole.time[points], np.inf) if whole.uses else np.ones(1)
    for name, use in whole.uses.items():
        used = [(part.time[points], part.uses[name]) for part in parts if name in part.uses]
        use.busy[points] = sum(t * each.busy[points] for t, each in used) / time
        use.present[points] = sum(t * each.present[points] for t, each in used) / time
        use.calls[points] = calls = sum(t * each.calls[points] for t, each in used) / time
        waited = sum(t * each.calls[points] * each.wait[points] for t, each in used) / time
        use.wait[points] = waited / plus(calls)


class _Phase:
    """One phase of a program."""

    def __init__(self, model: Model, phase: Phase, index: int) -> None:
        self.model, self.phase, self.index = model, phase, index
        self.recursion = Recursion(model, phase.cycle)
        self.meets = any(isinstance(node, BarrierWait) for node in steps(phase.cycle))

    def uncounted(self, numbers: Numbers) -> dict[int, str]:
        """Say at which points the iterations cannot be counted."""
        values = numbers[self.phase.repeat].real
        bad = ~((values >= 0) & (values <= 2.0**53))
        return {
            int(point): f"phase {self.index + 1} is repeated {values[point]:g} times, which mean-value cannot count"
            for point in np.flatnonzero(bad)
        }

    def solve(self, numbers: Numbers, size: Array, points: Array, account: bool) -> Outcome:
        """Answer for the phase alone; what is booked is a processor's of all, not only of those that take part."""
        recursion, repeat = self.recursion, self.phase.repeat
        labels = labels_of(recursion) if account else []
        queues = [queue.name for queue in recursion.queues] if account else []
        found = Outcome.blank(np.array(size), [*labels, IDLE_PROCESSORS] if account else [], queues, {})
        sizes = np.rint(numbers[self.phase.processors].real)
        for stop in stops(recursion, numbers, sizes, points, self.phase.processors):
            # Two points that differ in how often a phase is repeated share a recursion, but not their time.
            here = replace(stop, state=self._fresh(stop.state))
            n = stop.state.processors
            times = np.broadcast_to(stop.numbers[repeat], stop.numbers[repeat].shape)
            time, state = self._time(here, times, n)
            if not account:
                found.put(stop.points, stop.rows, time, {}, {})
                continue
            found.put(stop.points, stop.rows, time, *self._spent(replace(stop, state=state), time, times, labels))
            part = n / size[stop.points].real
            for label in labels:
                found.booked[label][stop.points] *= part
            found.booked[IDLE_PROCESSORS][stop.points] = (
                part * found.booked[IDLE_PROCESSORS][stop.points] + (1 - part) * found.time[stop.points]
            )
        return found

    @staticmethod
    def _fresh(state: State) -> State:
        """Copy what was found, which the wave of the last iteration may change."""
        old = state.found
        made = Found(
            dict(old.waits), dict(old.services), dict(old.beside), dict(old.among), dict(old.ends), dict(old.short)
        )
        return replace(state, found=made)

    def _time(self, stop: Stop, times: Array, n: int) -> tuple[Array, State]:
        """Give the time of the phase, and the state its waits are those of."""
        state = stop.state
        own = rounds(times, state.time)
        if self.meets or n == 1:
            return own.mean, state
        once = times.real == 1
        steady, single = (longest_of_alike(each, np.full(1, float(n))).mean for each in (own, state.time))
        made = Pass(self.model, stop.numbers, n, state.found.waits)
        made.found = state.found
        whole = Rounds(self.phase.repeat, self.recursion.grown.root)
        before = dict(state.found.waits)
        wave = surge(made, [whole], n)
        if wave is None:
            return np.where(once, single, steady), state
        several = first_largest([steady, wave.mean])
        state.found.waits = dict(before)
        alone = surge(made, [self.recursion.grown.root], n)
        assert alone is not None
        state.found.waits = {key: _where(once, state.found.waits[key], each) for key, each in before.items()}
        found = np.where(once, alone.mean, several)
        work = self.recursion.work(stop.numbers, state)
        return first_largest([found, *(n * times * each for each in work)]), state

    def _spent(
        self, stop: Stop, time: Array, times: Array, labels: list[str]
    ) -> tuple[dict[str, Array], Mapping[str, Use]]:
        """Give the account of one who takes part, and the use of the queues."""
        recursion, state = self.recursion, stop.state
        parts = {label: times * each for label, each in booked(recursion, stop, labels).items()}
        idle = time - sum(parts.values(), np.zeros(1))
        often = recursion.grown.frequencies(stop.numbers)
        rate = state.processors * times / np.where(time > 0, time, np.inf)
        served, present = {}, {}
        for visit in recursion.grown.visits:
            passing = rate * often[visit.index]
            service, wait = state.found.services[visit.index], state.found.waits[visit.index]
            beside = state.found.beside.get(visit.index, 0.0) + state.found.among.get(visit.index, 0.0)
            served[visit.index] = passing * service.mean
            present[visit.index] = passing * (service.mean + wait.mean + beside)
        used = uses(recursion.queues, state.processors, often, rate, served, present)
        return none_negative({**parts, IDLE_PROCESSORS: idle}), used


def _where(chosen: Array, one: Span, other: Span) -> Span:
    return Span(np.where(chosen, one.mean, other.mean), np.where(chosen, one.variance, other.variance))
