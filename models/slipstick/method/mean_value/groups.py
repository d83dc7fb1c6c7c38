"""Groups: processors of several kinds in closed cycles on the same resources, one more of some kind at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.method.mean_value.arrivals import Crowd
from slipstick.method.mean_value.maxima import Array, Span, plus
from slipstick.method.mean_value.outcome import Outcome, Use, counted, unsound, uses
from slipstick.method.mean_value.quantities import Numbers, only
from slipstick.method.mean_value.recursion import Recursion, State, Stop, all_busy, booked, distinct, labels_of, packed
from slipstick.method.mean_value.traversal import Found, Pass
from slipstick.method.mean_value.visits import Grown, Queue, Series, grow_side_by_side, queues_of
from slipstick.model.activity import BarrierWait, steps
from slipstick.model.system import GroupedPopulation, Model

MOST_POPULATIONS = 20_000
"""Populations that are gone through one by one."""

STEPS = 12
"""Steps of Newton's method, which doubles the digits with each."""

Population = tuple[int, ...]


def solve_groups(model: Model, numbers: Numbers, account: bool) -> Outcome:
    """Answer for groups at all points; time and account are those of the first group.

    Parameters
    ----------
    model : with `GroupedPopulation`
    numbers : every number of the model [points]
    account : also find the account and the use of each queue
    """
    assert isinstance(model.population, GroupedPopulation)
    groups = model.population.groups
    _no_barriers(model)
    wrong = unsound(model, numbers)
    for index, group in enumerate(groups):
        what = f"the processors of group {group.name}"
        wrong = {**counted(numbers[group.processors], what, least=int(index == 0)), **wrong}
    lattice = _Lattice(model, groups)
    first = lattice.parts[0]
    labels = labels_of(first) if account else []
    queues = [queue.name for queue in first.queues] if account else []
    size = np.array(numbers[groups[0].processors])
    outcome = Outcome.blank(size, labels, queues, wrong, [group.name for group in groups])
    points = np.array([index for index in range(len(size)) if index not in wrong], dtype=int)
    sizes = np.stack([np.rint(numbers[group.processors].real) for group in groups], axis=-1)
    for stop, states in lattice.stops(numbers, sizes, points):
        parts = booked(first, stop, labels) if account else {}
        used = lattice.uses(states, stop.numbers) if account else {}
        outcome.put(stop.points, stop.rows, stop.state.time.mean, parts, used)
        for group, state in zip(groups, states, strict=True):
            if state is not None:
                outcome.groups[group.name][stop.points] = at_rows(state.time.mean, stop.rows)
    return outcome


@dataclass(frozen=True, slots=True)
class _Together:
    """A population: the state of each group, and who is where."""

    states: tuple[State | None, ...]
    crowd: Crowd
    paces: Mapping[int, Array]


class _Lattice:
    r"""The arrival theorem on several activity trees.

    A member of group r arrives to find what the population with one fewer of r leaves at each queue. So all
    populations up to the one asked for are gone through, prod (N_r + 1) of them; nothing is iterated.

    Source: Reiser and Lavenberg, J. ACM 27(2), 1980, 313-322, several chains.
    """

    def __init__(self, model: Model, groups: Sequence[object]) -> None:
        assert isinstance(model.population, GroupedPopulation)
        self.model, self.groups = model, model.population.groups
        grown = grow_side_by_side([group.cycle for group in self.groups], model)
        visits = tuple(visit for each in grown for visit in each.visits)
        self.queues = queues_of(model, Grown(Series(tuple(each.root for each in grown)), visits))
        self.parts = [
            Recursion(model, group.cycle, each, self.queues) for group, each in zip(self.groups, grown, strict=True)
        ]
        self.owner = {visit.index: r for r, each in enumerate(grown) for visit in each.visits}

    def stops(self, numbers: Numbers, sizes: Array, points: Array) -> Iterator[tuple[Stop, tuple[State | None, ...]]]:
        """Go through the populations, and stop at each that is asked about."""
        if not len(points):
            return
        here, asked = only(numbers, points), sizes[points].astype(int)
        most: Population = tuple(map(int, asked.max(axis=0)))
        if math.prod(n + 1 for n in most) > MOST_POPULATIONS:
            each = " x ".join(str(n + 1) for n in most)
            raise NoAnswerError(
                f"mean-value goes through every population of groups up to the one asked for, {each} of {self.model.name}; "
                f"more than {MOST_POPULATIONS} are too many, simulate it"
            )
        counts = {group.processors for group in self.groups}
        used = {
            expr: column
            for expr, column in here.items()
            if expr not in counts or any(part.reads(expr) for part in self.parts)
        }
        first, rows = distinct(used, len(points))
        alike = only(here, first)
        wanted = {tuple(map(int, each)) for each in asked}
        for population, found in self._populations(alike, most):
            if population in wanted:
                chosen = np.flatnonzero(np.all(asked == population, axis=1))
                state = found.states[0]
                assert state is not None
                yield Stop(state, alike, points[chosen], rows[chosen]), found.states

    def _populations(self, numbers: Numbers, most: Population) -> Iterator[tuple[Population, _Together]]:
        often = {index: each for part in self.parts for index, each in part.grown.frequencies(numbers).items()}
        means = {index: each for part in self.parts for index, each in part.means(numbers).items()}
        free = {index: each for part in self.parts for index, each in part.free(numbers).items()}
        known: dict[Population, _Together] = {}
        for n in product(*(range(each + 1) for each in most)):
            if not any(n):
                known[n] = _Together((None,) * len(n), Crowd(), {})
                continue
            known[n] = found = self._at(n, known, numbers, often, means, free)
            yield n, found
            if n[0] > 1:
                known.pop((n[0] - 2, *n[1:]), None)

    def _at(
        self,
        n: Population,
        known: Mapping[Population, _Together],
        numbers: Numbers,
        often: Mapping[int, Array],
        means: Mapping[int, Array],
        free: Mapping[int, Span],
    ) -> _Together:
        passed: list[tuple[Span, Found] | None] = []
        because = {}
        for r, part in enumerate(self.parts):
            if not n[r]:
                passed.append(None)
                continue
            before = known[(*n[:r], n[r] - 1, *n[r + 1 :])]
            flows = self._flows(before.paces, n, r, often)
            views = before.crowd.views(self.queues, flows, means)
            here = Pass(self.model, numbers, sum(n), part.spun(views.waits, before.crowd, numbers, free))
            time = here.span(part.grown.root)
            part.hand_over(here.found, before.crowd, numbers)
            passed.append((time, here.found))
            mine = {visit.index for visit in part.grown.visits}
            because.update({key: each for key, each in views.because.items() if key[0] in mine})
        times = self._at_least_work(n, passed, often)
        return self._together(n, times, passed, often, because, known)

    def _flows(self, paces: Mapping[int, Array], n: Population, r: int, often: Mapping[int, Array]) -> dict[int, Array]:
        """Give visits in a second, one's own as of one of those before; before anybody is known, in a cycle."""
        return {
            index: each * paces.get(self.owner[index], np.ones(1)) * n[self.owner[index]]
            for index, each in often.items()
        }

    def _at_least_work(
        self, n: Population, passed: Sequence[tuple[Span, Found] | None], often: Mapping[int, Array]
    ) -> list[Array]:
        r"""Let no queue be busy for more than all of the time: sum_r n_r w_r / (T_r + v_r d) = 1, d waited by all."""
        times = [np.zeros(1) if each is None else each[0].mean for each in passed]
        for queue in self.queues:
            asked, calls = [], []
            for r, each in enumerate(passed):
                mine = [visit.index for visit in queue.visits if self.owner[visit.index] == r and each is not None]
                own = {index: often[index] for index in mine}
                asked.append(np.zeros(1) if each is None else n[r] * Recursion.asked(queue, own, each[1], sum(n)))
                calls.append(sum((often[i] for i in mine), np.zeros(1)))
            wait = _filled(times, asked, calls)
            if not np.any(wait.real > 0):
                continue
            label = ("lock:" if queue.lock else "wait:") + queue.visits[0].queue
            for r, each in enumerate(passed):
                if each is None:
                    continue
                times[r] = times[r] + calls[r] * wait
                each[1].short[label] = calls[r] * wait
                for visit in queue.visits:
                    if self.owner[visit.index] == r:
                        each[1].beside[visit.index] = each[1].beside.get(visit.index, 0.0) + wait
        return times

    def _together(
        self,
        n: Population,
        times: Sequence[Array],
        passed: Sequence[tuple[Span, Found] | None],
        often: Mapping[int, Array],
        because: Mapping[tuple[int, int], Array],
        known: Mapping[Population, _Together],
    ) -> _Together:
        """Count who is where, by Little's law."""
        zero = np.zeros(1)
        served = dict.fromkeys(self.owner, zero)
        present, services = dict(served), {}
        paces = dict(known[_one_less(n)].paces)
        rates = {}
        for r, each in enumerate(passed):
            if each is None:
                continue
            rate = 1 / np.where(times[r].real > 0, times[r], np.inf)
            paces[r] = rate
            for visit in self.parts[r].grown.visits:
                index, found = visit.index, each[1]
                rates[index] = passing = n[r] * rate * often[index]
                services[index] = found.services[index]
                served[index] = passing * found.services[index].mean
                present[index] = passing * (
                    found.services[index].mean + found.waits[index].mean + found.beside.get(index, 0.0)
                )
        # What nobody serves takes no time here; its spans are asked for all the same.
        services = {index: services.get(index, Span(zero, zero, "constant")) for index in self.owner}
        crowd = Crowd(
            others=sum(n),
            present=present,
            served=served,
            services=services,
            crowded={q.name: all_busy(q, sum(n), served, present) for q in self.queues if q.servers > 1},
            packed={q.name: self._packed(q, n, times, often, served, passed) for q in self.queues},
            asking={q.name: sum(n[r] for r in {self.owner[v.index] for v in q.visits}) for q in self.queues},
            behind={(a, b): rates[a] * each for (a, b), each in because.items()},
        )
        states = tuple(
            None if each is None else State(sum(n), Span(times[r], each[0].variance), each[1], crowd)
            for r, each in enumerate(passed)
        )
        return _Together(states, crowd, paces)

    def _packed(
        self,
        queue: Queue,
        n: Population,
        times: Sequence[Array],
        often: Mapping[int, Array],
        served: Mapping[int, Array],
        passed: Sequence[tuple[Span, Found] | None],
    ) -> Array:
        """Weigh what each group says of how nearly a queue never runs empty, by how much it is served there."""
        whole, total = np.zeros(1), np.zeros(1)
        for r, each in enumerate(passed):
            mine = tuple(visit for visit in queue.visits if self.owner[visit.index] == r)
            if each is None or not mine:
                continue
            part = sum((served[visit.index] for visit in mine), np.zeros(1))
            time = Span(times[r], each[0].variance)
            whole = whole + part * packed(queue, mine, sum(n), time, often, served, each[1])
            total = total + part
        return whole / plus(total)

    def uses(self, states: Sequence[State | None], numbers: Numbers) -> dict[str, Use]:
        """Give the use of each queue by all groups."""
        flows: dict[int, Array] = {}
        crowd = Crowd()
        processors = 1
        for r, state in enumerate(states):
            often = self.parts[r].grown.frequencies(numbers)
            if state is not None:
                crowd, processors = state.crowd, state.processors
            for index, each in often.items():
                flows[index] = np.zeros(1)
                if state is not None:
                    service = state.found.services[index].mean
                    flows[index] = np.where(service.real > 0, crowd.served[index] / plus(service), 0.0) * (
                        each.real > 0
                    )
        loads = self.parts[0].loads(crowd, numbers)
        return uses(self.queues, processors, flows, np.ones(1), crowd.served, crowd.present, loads)


def _one_less(n: Population) -> Population:
    """Give the population before, in the order in which they are gone through."""
    last = max(r for r, each in enumerate(n) if each)
    return (*n[:last], n[last] - 1, *n[last + 1 :])


def _filled(times: Sequence[Array], asked: Sequence[Array], calls: Sequence[Array]) -> Array:
    """Solve sum a / (t + v d) = 1 for d, which is nothing where the sum is below 1; one step for a single group."""
    wait = np.zeros(1)
    for _ in range(STEPS):
        ends = [t + v * wait for t, v in zip(times, calls, strict=True)]
        use = sum((a / plus(end) for a, end in zip(asked, ends, strict=True)), np.zeros(1))
        slope = sum((a * v / plus(end * end) for a, v, end in zip(asked, calls, ends, strict=True)), np.zeros(1))
        if not np.any(use.real > 1):
            break
        more = np.where((use.real > 1) & (slope.real > 0), (use * use - use) / plus(slope), 0.0)
        wait = wait + more
    return wait


def _no_barriers(model: Model) -> None:
    for body in model.bodies:
        for node in steps(body):
            if isinstance(node, BarrierWait):
                raise NoAnswerError(
                    f"barrier {node.name} is met by groups whose cycles differ; mean-value has no answer for that, "
                    "simulation may"
                )


def at_rows(column: Array, rows: Array) -> Array:
    """Pick rows of a column; one of length 1 holds for all."""
    return column[rows] if len(column) > 1 else np.broadcast_to(column, (len(rows),))
