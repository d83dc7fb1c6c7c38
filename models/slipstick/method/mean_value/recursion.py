"""N processors in a closed cycle, one more at a time.

Closed cycles: N processors go round for ever.

Points that differ only in how many processors there are: one recursion passes them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slipstick.expression.nodes import Expr
from slipstick.method.closed_form.times import BARRIER
from slipstick.method.mean_value.arrivals import Because, Crowd, Views
from slipstick.method.mean_value.barriers import cycle_time
from slipstick.method.mean_value.maxima import NO_WAIT, Array, Span, first_largest, plus
from slipstick.method.mean_value.quantities import Numbers, only
from slipstick.method.mean_value.spin_locks import Load, Spinners
from slipstick.method.mean_value.traversal import Found, Pass
from slipstick.method.mean_value.visits import AWAY, PROCESSORS, Grown, Queue, Visit, grow, label_of, mean_of, queues_of
from slipstick.method.numbers import numbers_of
from slipstick.model.activity import Activity, BarrierWait, Choice, Step, steps
from slipstick.model.system import Model


@dataclass(frozen=True, slots=True)
class State:
    """A population in its cycle.

    Parameters
    ----------
    processors : how many
    time : of a cycle
    found : waits and services
    crowd : how many are where
    """

    processors: int
    time: Span
    found: Found
    crowd: Crowd


class Recursion:
    r"""The arrival theorem on an activity tree.

    With n processors, one who arrives at a queue finds what n - 1 processors leave there in the mean. So for
    n = 1..N the waits follow from the numbers present at n - 1, the time T(n) of a cycle from the waits and the
    tree, and the numbers present at n from Little's law, n R / T(n). Nothing is iterated, so nothing can fail to
    converge, and the whole curve over N comes from one recursion. Exact in product form; else approximate.

    Parameters
    ----------
    model : the system
    cycle : what each processor does
    grown : its tree, where it is one of several
    queues : of all trees then

    Source: Reiser and Lavenberg, J. ACM 27(2), 1980, 313-322; Reiser, IBM J. Res. Dev. 23(4), 1979 (residual times).
    """

    def __init__(
        self, model: Model, cycle: Activity, grown: Grown | None = None, queues: Sequence[Queue] | None = None
    ) -> None:
        self.model, self.cycle, self.grown = model, cycle, grown or grow(cycle, model)
        self.queues = queues_of(model, self.grown) if queues is None else tuple(queues)
        self.spinners = Spinners.of(model, self.queues)
        self._read = frozenset(numbers_of([cycle], model))

    def reads(self, expr: Expr) -> bool:
        """Say whether an expression is one of the numbers of the cycle."""
        return expr in self._read

    def states(self, numbers: Numbers, most: int) -> Iterator[State]:
        """Yield the state with 1, 2, ... processors."""
        often = self.grown.frequencies(numbers)
        means, free, crowd = self.means(numbers), self.free(numbers), Crowd()
        for n in range(1, most + 1):
            views = Views({}, {}) if self.in_step else crowd.views(self.queues, often, means)
            here = Pass(self.model, numbers, n, self.spun(views.waits, crowd, numbers, free))
            passed = cycle_time(here, self.grown.root)
            self.hand_over(here.found, crowd, numbers)
            time = self._at_least_work(n, passed, often, here.found)
            crowd = self._crowd(n, time, often, here.found, views.because)
            yield State(n, time, here.found, crowd)

    def means(self, numbers: Numbers) -> dict[int, Array]:
        """Give the own service time at each visit of a station [s]."""
        return {each.index: mean_of(each.step, numbers) for each in self.grown.visits if each.step is not None}

    def free(self, numbers: Numbers) -> dict[int, Span]:
        """Give the service at each visit with nobody in the way, where spinners have to know."""
        if not self.spinners:
            return {}
        alone = Pass(self.model, numbers, 1, {})
        cycle_time(alone, self.grown.root)
        return alone.found.services

    def spun(
        self, waits: Mapping[int, Span], crowd: Crowd, numbers: Numbers, free: Mapping[int, Span]
    ) -> dict[int, Span]:
        """Add to the waits what spinning does."""
        found = dict(waits)
        if crowd.others:
            for each in self.spinners:
                for index, more in each.waits(crowd, numbers, free).items():
                    wait = found.get(index, NO_WAIT)
                    found[index] = Span(wait.mean + more, wait.variance + more * more)
        return found

    def loads(self, crowd: Crowd, numbers: Numbers) -> dict[str, Load]:
        """Give what spinning does to each station that holds a word."""
        found: dict[str, Load] = {}
        for each in self.spinners:
            if each.word is not None:
                load, before = each.load(crowd, numbers), found.get(each.word.name, Load.none())
                found[each.word.name] = before.beside(load)
        return found

    def hand_over(self, found: Found, crowd: Crowd, numbers: Numbers) -> None:
        """Let each spin lock be taken for as long as its hand-over lasts, too."""
        if crowd.others:
            for each in self.spinners:
                more = each.chance(crowd) * each.hand_over(crowd, numbers)
                for index in (visit.index for visit in each.queue.visits if visit.index in found.services):
                    held = found.services[index]
                    found.services[index] = Span(held.mean + more, held.variance)

    def account(self, state: State, numbers: Numbers, labels: Mapping[str, Array]) -> Span:
        """Go through the tree once more, with what is booked to each label scaled by a factor."""
        again = Pass(self.model, numbers, state.processors, {}, labels, state.found)
        time = cycle_time(again, self.grown.root)
        short = sum((each * labels.get(name, 1.0) for name, each in state.found.short.items()), np.zeros(1))
        return Span(time.mean + short, time.variance)

    def work(self, numbers: Numbers, state: State) -> list[Array]:
        """Add up what a cycle asks of each queue, for each of its servers [s]."""
        often = self.grown.frequencies(numbers)
        return [self.asked(queue, often, state.found, state.processors) for queue in self.queues]

    @property
    def in_step(self) -> bool:
        """Say whether constant times keep all in step, so that only the busiest queue is ever waited at."""
        nodes = list(steps(self.cycle))
        random = bool(self.spinners) or any(
            isinstance(node, Choice) or (isinstance(node, Step) and node.scv > 0) for node in nodes
        )
        return not random and not any(queue.sharing or queue.name == PROCESSORS for queue in self.queues)

    @staticmethod
    def asked(queue: Queue, often: Mapping[int, Array], found: Found, n: int) -> Array:
        """Add up what a cycle asks of a queue, for each of its servers [s]."""
        # One alone asks processors outside the population.
        counted = [v for v in queue.visits if v.index in often and not (n == 1 and v.queue in AWAY)]
        asked = sum((often[v.index] * found.services[v.index].mean for v in counted), np.zeros(1))
        each: Array = asked / queue.all_servers(n)
        return each

    def _at_least_work(self, n: int, time: Span, often: Mapping[int, Array], found: Found) -> Span:
        """Let no queue be busy for more than all of the time: what a cycle is short of is waited there."""
        least = [time.mean, *(n * self.asked(queue, often, found, n) for queue in self.queues)]
        best = first_largest(least)
        taken = time.mean.real >= best.real
        for queue, each in zip(self.queues, least[1:], strict=True):
            binds = (each.real == best.real) & ~taken
            taken = taken | binds
            if not np.any(binds):
                continue
            short = np.where(binds, each - time.mean, 0 * each)
            calls = sum((often[v.index] for v in queue.visits), np.zeros(1))
            label = ("lock:" if queue.lock else "wait:") + queue.visits[0].queue
            found.short[label] = short
            for visit in queue.visits:
                found.beside[visit.index] = found.beside.get(visit.index, 0.0) + short / plus(calls)
        return Span(best, time.variance, time.kind)

    def _crowd(self, n: int, time: Span, often: Mapping[int, Array], found: Found, because: Because) -> Crowd:
        """Count who is where, by Little's law."""
        rate = n / np.where(time.mean.real > 0, time.mean, np.inf)
        served, present = {}, {}
        for visit in self.grown.visits:
            service, wait = found.services[visit.index], found.waits[visit.index]
            passing = rate * often[visit.index]
            served[visit.index] = passing * service.mean
            present[visit.index] = passing * (service.mean + wait.mean + found.beside.get(visit.index, 0.0))
        return Crowd(
            others=n,
            present=present,
            served=served,
            services=found.services,
            crowded={q.name: all_busy(q, n, served, present) for q in self.queues if q.servers > 1},
            packed={q.name: packed(q, q.visits, n, time, often, served, found) for q in self.queues},
            behind={(a, b): rate * often[a] * each for (a, b), each in because.items()},
        )


def all_busy(queue: Queue, n: int, served: Mapping[int, Array], present: Mapping[int, Array]) -> Array:
    """Give the chance that all servers are busy, if the rest of the cycle is a delay.

    Of n customers, or as many requests of theirs, j are there with weight n! / (n - j)! (s / z)^j / prod min(i, c), where s is the work of a
    cycle and z the time spent elsewhere.
    """
    n = n * queue.width
    there = sum((present[visit.index] for visit in queue.visits), np.zeros(1)) / n
    work = sum((served[visit.index] for visit in queue.visits), np.zeros(1)) / n
    ratio = work / np.where(there.real < 1, 1 - there, 1e-12)
    j = np.arange(1, n + 1)
    steps = np.log(plus(ratio))[..., None] + np.log((n - j + 1) / np.minimum(j, queue.servers))
    logs = np.concatenate([np.zeros((*ratio.shape, 1)), np.cumsum(steps, axis=-1)], axis=-1)
    weights = np.exp(logs - np.max(logs.real, axis=-1, keepdims=True))
    chance: Array = weights[..., queue.servers :].sum(axis=-1) / weights.sum(axis=-1)
    return chance


def packed(
    queue: Queue,
    visits: Sequence[Visit],
    n: int,
    time: Span,
    often: Mapping[int, Array],
    served: Mapping[int, Array],
    found: Found,
) -> Array:
    """Say how nearly a queue never runs empty: U^((n + 1) (2 - z) / 2), z the scv of the rest of the cycle.

    The exponent was fitted to simulated machine repair with service scv 0.25 and 0, z from 0.25 to 1.
    """
    busy = sum((served[visit.index] for visit in queue.visits), np.zeros(1)) / queue.all_servers(n)
    mean, variance = time.mean, time.variance
    for visit in visits:
        service, wait = found.services[visit.index], found.waits[visit.index]
        mean = mean - often[visit.index] * (service.mean + wait.mean)
        variance = variance - often[visit.index] * (service.variance + wait.variance)
    z = variance / plus(mean * mean)
    # What rounding leaves of nothing says nothing.
    z = np.where((mean.real <= 1e-9 * time.mean.real) | (z.real > 1), 1.0, np.where(z.real < 0, 0.0, z))
    busy = np.where(busy.real < 1, busy, 1.0)
    # The power of 0 has no logarithm.
    return np.exp(np.log(plus(busy)) * ((n + 1) / 2 * (2 - z)))


STEP = 1e-20
"""Imaginary step that an account is read from; its square vanishes beside 1."""

MOST_AT_ONCE = 4096
"""Labels times rows that an account is read off together."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A population that some points ask about.

    Parameters
    ----------
    state : of it, along the rows
    numbers : of the rows
    points : which ask
    rows : where each finds its own
    """

    state: State
    numbers: Numbers
    points: Array
    rows: Array


def stops(recursion: Recursion, numbers: Numbers, sizes: Array, points: Array, apart: Expr) -> Iterator[Stop]:
    """Run the recursion, and stop at each population that is asked about.

    Parameters
    ----------
    recursion : of the cycle
    numbers : at all points
    sizes : whole numbers of processors [points]
    points : which points are to be answered
    apart : the expression of the population
    """
    if not len(points):
        return
    here = only(numbers, points)
    used = {expr: column for expr, column in here.items() if expr != apart or recursion.reads(apart)}
    first, rows = distinct(used, len(points))
    each = only(here, first)
    asked = sizes[points]
    wanted = set(asked.tolist())
    for state in recursion.states(each, int(max(wanted))):
        if state.processors in wanted:
            chosen = np.flatnonzero(asked == state.processors)
            yield Stop(state, each, points[chosen], rows[chosen])


def distinct(columns: Mapping[Expr, Array], count: int) -> tuple[Array, Array]:
    """Number the points that are alike: where each kind comes first, and the kind of each point."""
    if not columns:
        return np.zeros(1, dtype=int), np.zeros(count, dtype=int)
    table = np.stack(list(columns.values()), axis=1)
    _, first, rows = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, rows.reshape(-1)


def booked(recursion: Recursion, stop: Stop, labels: list[str]) -> dict[str, Array]:
    """Read the account off: by how much the time grows when all that is booked to a label does.

    A maximum of random times is so split by R dE/dR, and the parts add up to the time (Euler's theorem).
    """
    rows = len(next(iter(stop.numbers.values())))
    found: dict[str, Array] = {}
    at_once = max(1, MOST_AT_ONCE // rows)
    for start in range(0, len(labels), at_once):
        some = labels[start : start + at_once]
        unit = 1j * STEP * np.eye(len(some))
        scale = {label: (1 + unit[:, index])[:, None] for index, label in enumerate(some)}
        time = recursion.account(stop.state, stop.numbers, scale).mean
        table = np.broadcast_to(np.imag(time) / STEP, (len(some), rows))
        found.update(zip(some, table, strict=True))
    return none_negative(found)


def none_negative(found: dict[str, Array]) -> dict[str, Array]:
    """Take nothing for what is below nothing: a longer time may make a mixture less spread, and so its maximum shorter."""
    whole = sum(found.values(), np.zeros(1))
    kept = {label: np.where(each > 0, each, 0.0) for label, each in found.items()}
    more = sum(kept.values(), np.zeros(1))
    factor = np.where(more > whole, whole / np.where(more > 0, more, 1.0), 1.0)
    return {label: each * factor for label, each in kept.items()}


def labels_of(recursion: Recursion) -> list[str]:
    """List the labels of a cycle: its steps, in the order written, then its waits, then its barriers."""
    cycle = recursion.cycle
    mine = {node for node in steps(cycle) if isinstance(node, Step)}
    names = [step.name for step in recursion.model.steps if step in mine]
    waits = [label_of(visit) for visit in recursion.grown.visits]
    barriers = [f"{BARRIER}:{node.name}" for node in steps(cycle) if isinstance(node, BarrierWait)]
    return list(dict.fromkeys([*names, *waits, *barriers]))
