"""Supersteps: each as long as its slowest processor, requests waiting for what its handler's processor is doing.

Loads are averages over a superstep. A visit of processor i to processor j finds each other customer k of j (j's own
operations, and the requests of the others, spread evenly) in service with its utilization, for its residual time, or
waiting before it:

    W[i,j] = sum over k of others (U[k,j] r[k,j] + X[k,j] W[k,j] s[k,j]),  r = E[s^2] / 2 E[s]

but at most all of k's service there over i's visits, for a service delays a visitor once at most.

Source: Reiser and Lavenberg, J. ACM 27(2), 1980, arrival theorem; its use at the mean loads of a phase is Bard and
Schweitzer's approximation with one customer a class. Times of stations other than processors, such as a shared wire,
are found alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr
from slipstick.method.closed_form.form import IDLE_PROCESSORS
from slipstick.method.mean_value.maxima import Array, first_largest
from slipstick.method.mean_value.outcome import Outcome
from slipstick.method.mean_value.quantities import Numbers
from slipstick.model.activity import Activity, Choice, Pipeline, Repeat, Step, Then
from slipstick.model.system import Model, Superstep, SuperstepPopulation, is_processor

ROUNDS, CLOSE = 400, 1e-13
OWN, AWAY = "own", "away"


@dataclass(slots=True)
class _Asked:
    """What a line asks of a queue: visits that it waits for, all visits, their service and its second moment."""

    waited: Array
    visits: Array
    service: Array
    square: Array

    def scaled(self, line: Array, all_items: Array) -> _Asked:
        return _Asked(self.waited * line, self.visits * all_items, self.service * all_items, self.square * all_items)

    def added(self, other: _Asked) -> _Asked:
        pairs = zip(self._all(), other._all(), strict=True)
        return _Asked(*(one + two for one, two in pairs))

    def _all(self) -> tuple[Array, ...]:
        return self.waited, self.visits, self.service, self.square


@dataclass(slots=True)
class _Spent:
    """One pass through an activity with nobody in the way: its time, by step, and what it asks of queues."""

    time: Array
    steps: dict[str, Array] = field(default_factory=dict)
    asked: dict[str, _Asked] = field(default_factory=dict)


class _Reader:
    """Reads activities, each that trees share once."""

    def __init__(self, model: Model, numbers: Numbers) -> None:
        self.model, self.numbers = model, numbers
        self._known: dict[int, _Spent] = {}

    def read(self, activity: Activity) -> _Spent:
        """Add up one pass."""
        if id(activity) not in self._known:
            self._known[id(activity)] = self._read(activity)
        return self._known[id(activity)]

    def _read(self, activity: Activity) -> _Spent:
        one = np.ones(1)
        match activity:
            case Step():
                return self._step(activity)
            case Then(parts):
                return _mixed([(one, one, self.read(part)) for part in parts])
            case Repeat(count, body):
                often = self._number(count)
                return _mixed([(often, often, self.read(body))])
            case Choice(options):
                odds = [(self._number(p), self.read(body)) for p, body in options]
                return _mixed([(p, p, each) for p, each in odds])
            case Pipeline():
                return self._pipeline(activity)
            case _:
                kind = type(activity).__name__.lower()
                raise NoAnswerError(
                    f"mean-value takes no {kind} within the supersteps of {self.model.name}; simulate it"
                )

    def _step(self, step: Step) -> _Spent:
        time, one = self._number(step.time), np.ones(1)
        spent = _Spent(time, {step.name: time})
        if step.resource is not None:
            kind = step.resource
            if is_processor(kind):
                kind = OWN if kind == "own" else AWAY
            spent.asked[kind] = _Asked(one, one, time, time**2 * (1 + step.scv))
        return spent

    def _pipeline(self, pipeline: Pipeline) -> _Spent:
        """Take every stage once, and the longest serial one for each further item, as the closed form does."""
        if not pipeline.identical:
            raise NoAnswerError(f"mean-value takes no pipeline of unlike items; {pipeline.name} has them, simulate it")
        items, one = self._number(pipeline.items), np.ones(1)
        stages = [(stage.kind, self.read(stage.bodies[0])) for stage in pipeline.stages]
        serial = [each for kind, each in stages if kind == "serial"]
        longest = first_largest([each.time for each in serial]) if serial else np.zeros(1)
        parts = []
        found = False
        for kind, each in stages:
            binds = kind == "serial" and not found and bool(np.all(each.time.real == longest.real))
            found = found or binds
            parts.append((items if binds else one, items, each))
        made = _mixed(parts)
        if serial and not found:  # different stages bind at different points: the time is right, its parts are means
            made.time = sum((each.time for _, each in stages), np.zeros(1)) + (items - 1) * longest
        return made

    def _number(self, expr: Expr) -> Array:
        return self.numbers[expr]


def _mixed(parts: Sequence[tuple[Array, Array, _Spent]]) -> _Spent:
    """Add passes up: as often as the line does them, and as often as they are done at all."""
    made = _Spent(np.zeros(1))
    for line, all_items, each in parts:
        made.time = made.time + line * each.time
        for name, seconds in each.steps.items():
            made.steps[name] = made.steps[name] + line * seconds if name in made.steps else line * seconds
        for kind, asked in each.asked.items():
            more = asked.scaled(line, all_items)
            made.asked[kind] = made.asked[kind].added(more) if kind in made.asked else more
    return made


def solve_supersteps(model: Model, numbers: Numbers, account: bool) -> Outcome:
    """Answer for supersteps at all points: T = sum of repeat x (max over processors of their lines + meeting).

    Parameters
    ----------
    model : with `SuperstepPopulation`; no locks or barriers of its own within them
    numbers : every number of the model [points]
    account : also find the account

    Notes
    -----
    A processor that waits for a request's handler pays for it beside what it books as its own serving, as in the
    simulation.
    """
    population = model.population
    assert isinstance(population, SuperstepPopulation)
    reader = _Reader(model, numbers)
    points = len(next(iter(numbers.values())))
    size = np.full(points, float(population.processors))
    parts = [_Meeting(reader, each).solved(account) for each in population.supersteps]
    time = sum((each.time for each in parts), np.zeros(1))
    labels = dict.fromkeys(label for each in parts for label in each.steps)
    outcome = Outcome.blank(size.astype(time.dtype), labels, (), {})
    outcome.time[:] = time
    for label in labels:
        outcome.booked[label][:] = sum((each.steps.get(label, np.zeros(1)) for each in parts), np.zeros(1))
    return outcome


class _Meeting:
    """One superstep."""

    def __init__(self, reader: _Reader, superstep: Superstep) -> None:
        self.lines = [reader.read(line) for line in superstep.bodies]
        self.meeting = reader.read(superstep.barrier)
        self.repeat = reader.numbers[superstep.repeat]

    def solved(self, account: bool) -> _Spent:
        """Give the time of the superstep, and its mean line where an account is asked for."""
        count = len(self.lines)
        kinds = dict.fromkeys(kind for each in self.lines for kind in each.asked)
        waits = self._settled(list(kinds))
        times = [each.time + _waited(each, waits, i) for i, each in enumerate(self.lines)]
        longest = first_largest(times)
        made = _Spent(self.repeat * (longest + self.meeting.time))
        if not account:
            return made
        share = self.repeat / count
        parts = [(share, share, each) for each in self.lines]
        made.steps = _mixed([*parts, (self.repeat, self.repeat, self.meeting)]).steps
        for kind in kinds:
            name = {OWN: "wait:own", AWAY: "wait:other"}.get(kind, f"wait:{kind}")
            lost = [each.asked[kind].waited * waits[kind][i] for i, each in enumerate(self.lines) if kind in each.asked]
            made.steps[name] = share * sum(lost, np.zeros(1))
        made.steps[IDLE_PROCESSORS] = share * sum((longest - each for each in times), np.zeros(1))
        return made

    def _settled(self, kinds: Sequence[str]) -> dict[str, list[Array]]:
        """Find the wait of one visit of each processor to each kind of queue, all loads being averages over the time."""
        count = len(self.lines)
        stations = [kind for kind in kinds if kind not in (OWN, AWAY)]
        waits: dict[str, list[Array]] = {kind: [np.zeros(1)] * count for kind in kinds}
        for _ in range(ROUNDS):
            time = first_largest([each.time + _waited(each, waits, i) for i, each in enumerate(self.lines)])
            time = np.where(time == 0, 1.0, time)
            found = {kind: self._station(kind, waits[kind], time) for kind in stations}
            if count > 1 and AWAY in kinds:
                found |= self._processors(waits, time)
            moved = max(
                (_apart(new, old) for kind, each in found.items() for new, old in zip(each, waits[kind], strict=True)),
                default=0.0,
            )
            waits = {**waits, **found}
            if moved <= CLOSE * float(np.max(np.abs(time))):
                return waits
        return waits

    def _station(self, kind: str, waits: Sequence[Array], time: Array) -> list[Array]:
        """Let each wait at a station for all the others."""
        asked = [each.asked.get(kind) for each in self.lines]
        held = [_held(each, wait, time) for each, wait in zip(asked, waits, strict=True)]
        return [
            sum((_capped(held[k], asked[k], asked[i]) for k in range(len(asked)) if k != i), np.zeros(1))
            for i in range(len(asked))
        ]

    def _processors(self, waits: Mapping[str, Sequence[Array]], time: Array) -> dict[str, list[Array]]:
        """Let requests wait for the processor asked and for one another, and its own operations for requests."""
        count = len(self.lines)
        own, away = ([each.asked.get(kind) for each in self.lines] for kind in (OWN, AWAY))
        idle = [np.zeros(1)] * count
        held_own = [_held(each, wait, time) for each, wait in zip(own, waits.get(OWN, idle), strict=True)]
        held_away = [_held(each, wait, time) for each, wait in zip(away, waits[AWAY], strict=True)]
        by_request, by_own = [], []
        for i in range(count):
            others = [k for k in range(count) if k != i]
            # At any one other processor j: its own operations, and the requests of all but i and j.
            first = sum((_capped(held_own[j], own[j], away[i], count - 1) for j in others), np.zeros(1)) / (count - 1)
            then = sum((_capped(held_away[k] / (count - 1), away[k], away[i]) for k in others), np.zeros(1))
            by_request.append(first + then * (count - 2) / (count - 1))
            by_own.append(
                sum(
                    (_capped(held_away[k] / (count - 1), away[k], own[i], 1 / (count - 1)) for k in others), np.zeros(1)
                )
            )
        return {AWAY: by_request, **({OWN: by_own} if OWN in waits else {})}


def _held(asked: _Asked | None, wait: Array, time: Array) -> Array:
    """Give what one customer leaves a visitor to wait for: U r of the visit in service, and X W s of those waiting [s]."""
    return np.zeros(1) if asked is None else (asked.square / 2 + wait * asked.service) / time


def _capped(held: Array, other: _Asked | None, visitor: _Asked | None, factor: float = 1.0) -> Array:
    """Let no service delay a visitor more than once, nor longer than it lasts: n W is at most all of the service."""
    if other is None or visitor is None:
        return np.zeros(1)
    visits = np.where(visitor.visits.real > 0, visitor.visits, 1.0)
    most = factor * other.service / visits
    return np.where(held.real <= most.real, held, most)


def _waited(line: _Spent, waits: Mapping[str, Sequence[Array]], index: int) -> Array:
    return sum((each.waited * waits[kind][index] for kind, each in line.asked.items()), np.zeros(1))


def _apart(new: Array, old: Array) -> float:
    return float(np.max(np.abs(new - old)))
