"""What holds for every method: bounds of work and span, and models that have no steady state.

A stream that asks a resource for more than it can do has none, and neither have processors that take locks in a cycle.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slipstick.expression.nodes import TIME, Expr, maximum, select, total
from slipstick.expression.tape import Array, Tape
from slipstick.method.answers import CompiledModel, Remarks, Solution, Values, only
from slipstick.method.uncontended import demand, held_time, pool_work, time
from slipstick.model.activity import Activity, Ask, BarrierWait, Fork, Hold, Pipeline, Step, UnitStep, steps
from slipstick.model.system import (
    HeldResource,
    Model,
    OpenPopulation,
    Permits,
    PhasedPopulation,
    Resource,
    Station,
    TaskPool,
    is_processor,
)
from slipstick.vocabulary import BOUNDS, DISCIPLINES, SAME_EXPONENTIAL

PROCESSORS, SPAN = "processors", "span"
"""Bounds by the use of the processors themselves, and by one pass without contention."""

LOW_SPAN = "no less than one pass without contention (a maximum of random times has at least the mean of each)"
LOW_FULL = "no less than what the busiest resource takes for the work of all processors: {binding}"
HIGH_ALL = "no more than every processor waiting at each visit for all others, which holds in product form"
NO_HIGH = "no upper bound: it holds in product form only, for steps of scv 1 with one mean at each fcfs station"
OPEN_ONLY = "of an open stream only the least time is known"


class CompiledBounds(CompiledModel):
    """Bounds that enclose time and throughput of a model, compiled for many points.

    For N processors that repeat a cycle of span T_0 and ask D_r seconds of resource r with c_r servers::

        max(T_0, max_r N D_r / c_r)  <=  T  <=  T_0 + (N - 1) sum_r D_r

    A lock is a resource of one server that is asked for as long as it is held; the processors themselves are
    N servers. Phases are bounded one by one. Of groups the time of the first is bounded: from below by its own work,
    from above by one pass that waits for all other processors everywhere.

    Parameters
    ----------
    model : the system

    Source: Denning and Buzen, ACM Computing Surveys 10(3), 1978 (asymptotic bounds); Brent, J. ACM 21(2), 1974
    (work and span).

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> compiled = CompiledBounds(closed_model(delay(9.0, name="think") >> service("bus", 1.0, scv=1.0), processors=20))
    >>> compiled.points({"population.processors": np.array([5.0, 10.0, 20.0])}).columns()["low[time]"]
    array([10., 10., 20.])
    """

    quantity = "low[time]"

    def __init__(self, model: Model) -> None:
        self.model = model
        self._lows, self._high = _lows(model), _high(model)
        high = [self._high] if self._high is not None else []
        self._tape = Tape([model.population.size, *high, *self._lows.values()])
        self.parameters = tuple(self._tape.parameters)
        self._saturation = Saturation(model)
        self._deadlocks = Deadlocks(model)

    @property
    def causes(self) -> tuple[str, ...]:
        """What bounds the time from below: `SPAN`, and each resource that is asked for service."""
        return tuple(self._lows)

    def terms(self, values: Values) -> tuple[Array, dict[str, Array], Array | None]:
        """Evaluate the population, the lower bounds on the time by what causes them, and the upper bound [points]."""
        size, *found = self._tape.run(only(values, self.parameters))
        count = max(map(len, (size, *found)))
        size, *found = (np.broadcast_to(each, (count,)) for each in (size, *found))
        high = found.pop(0) if self._high is not None else None
        return size, dict(zip(self._lows, found, strict=True)), high

    def solution(self, values: Values) -> Solution:
        """Evaluate the bounds at aligned points."""
        size, lows, highest = self.terms(values)
        low, high = {"time": np.max([*lows.values()], axis=0)}, {} if highest is None else {"time": highest}
        binding = np.argmax([*lows.values()], axis=0)
        if not self.model.population.open:
            with np.errstate(all="ignore"):
                # The least time is that of the greatest throughput.
                rates = {end: size / times["time"] for end, times in (("high", low), ("low", high)) if times}
            low |= {"throughput": rates["low"]} if "low" in rates else {}
            high |= {"throughput": rates["high"]}
        saturated, deadlocks = self._saturation.reasons(values), self._deadlocks.reasons(values)
        low["time"] = without(low["time"], saturated)
        return Solution(
            model=self.model.name,
            method=BOUNDS,
            count=len(size),
            low={name: _finite(each) for name, each in low.items()},
            high={name: _finite(each) for name, each in high.items()},
            useful=self.model.useful,
            remarks=lambda index: (
                Remarks(failed=saturated[index])
                if index in saturated
                else self._remarks(float(low["time"][index]), [*self._lows][binding[index]], deadlocks.get(index, ()))
            ),
        )

    def _remarks(self, low: float, binding: str, deadlock: tuple[str, ...]) -> Remarks:
        if not math.isfinite(low):
            return Remarks(failed=f"the least time of {self.model.name} comes out as {low!r} s")
        return Remarks(notes=(*_notes(self.model, binding, self._high is not None), *deadlock))


def _finite(column: Array) -> Array:
    return np.where(np.isfinite(column), column, np.nan)


def _notes(model: Model, binding: str, closed: bool) -> tuple[str, ...]:
    notes = [LOW_SPAN if binding == SPAN else LOW_FULL.format(binding=binding)]
    if model.population.open:
        return (*notes, OPEN_ONLY)
    return (*notes, HIGH_ALL if closed else NO_HIGH)


def _lows(model: Model) -> dict[str, Expr]:
    """Give the lower bounds on the time, by what binds."""
    population = model.population
    if population.groups:
        first = population.groups[0]
        found = _lows_of(model, first.cycle, first.processors)
        # The cycle of one group does not say what the others ask of its processors.
        return {name: each for name, each in found.items() if name != PROCESSORS or len(population.groups) == 1}
    if isinstance(population, PhasedPopulation):
        parts = [
            each.repeat * maximum(*_lows_of(model, each.cycle, each.processors).values()) for each in population.phases
        ]
        return {SPAN: total(parts, TIME)}
    return {SPAN: population.time(lambda body: time(body, model, booked=False))}


def _lows_of(model: Model, cycle: Activity, processors: Expr) -> dict[str, Expr]:
    found = {SPAN: time(cycle, model, booked=False)}
    used = dict.fromkeys(node.resource for node in steps(cycle) if isinstance(node, Step) and node.resource)
    for name in used:
        resource = model.resources.get(name)
        if isinstance(resource, Station):
            found[name] = processors * demand(cycle, name, model) / resource.servers
    for lock in dict.fromkeys(node.resource for node in steps(cycle) if isinstance(node, Hold)):
        found[lock] = processors * held_time(cycle, lock, model) / model.resources[lock].capacity
    for pool in dict.fromkeys(node.pool for node in steps(cycle) if isinstance(node, Ask)):
        found[pool] = _monitors_time(model.resources[pool])
    asked = [name for name in used if is_processor(name) and not name.startswith("processor[")]
    if not asked:
        return found
    # What is asked of others falls on the members themselves, but of one alone on processors outside.
    everything = total((demand(cycle, name) for name in asked), TIME)
    return {**found, PROCESSORS: select(processors, 1, demand(cycle, "own"), everything)}


def _monitors_time(pool: Resource) -> Expr:
    """Give how long the monitors of a pool are held, at least, in the mean over its problems and queues [s]."""
    assert isinstance(pool, TaskPool)
    problems = pool_work(pool)
    return (total((inside for _, inside, _ in problems), TIME) / len(problems) + pool.inside) / pool.queues


def _high(model: Model) -> Expr | None:
    """Give the upper bound, where its conditions hold."""
    if not (model.population.groups and _plain(model)):
        return None
    cycle = model.bodies[0]
    work = total((demand(cycle, name) for name in model.resources), TIME)
    return time(cycle, model, booked=False) + (total(model.population.counts) - 1) * work


def _plain(model: Model) -> bool:
    """Say whether a model has only steps, choices and repeats, and is of product form wherever there is a queue."""
    used = [step.resource for step in model.steps]
    for node in (node for body in model.bodies for node in steps(body)):
        if isinstance(node, Fork | Hold | Pipeline | BarrierWait | UnitStep | Ask):
            return False
        if isinstance(node, Step) and node.resource is not None:
            station = model.resources.get(node.resource)
            if not isinstance(station, Station) or node.scv != 1.0:
                return False
            if DISCIPLINES[station.discipline].product_form == SAME_EXPONENTIAL and used.count(node.resource) > 1:
                return False
    return True


class Saturation:
    """The loads of the resources of an open model, compiled together; of other models there are none.

    A station is busy for the service that is asked of it. A lock or a number of permits is held for what is done while it is
    held, waits at other resources left out, so a model that is not saturated here may be saturated all the same.

    Parameters
    ----------
    model : the system

    >>> from slipstick.model.activity import delay, hold
    >>> from slipstick.model.system import open_model
    >>> Saturation(open_model(hold("door", delay(0.2, name="a")), 6.0)).reasons({})[0][:47]
    'lock door is saturated: 6/s arrive, fewer than '
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._work: dict[str, Expr] = {}
        if isinstance(model.population, OpenPopulation):
            cycle = model.population.cycle
            for name, each in model.resources.items():
                if isinstance(each, Station):
                    self._work[name] = demand(cycle, name, model)
                elif isinstance(each, HeldResource):
                    self._work[name] = held_time(cycle, name, model)
            self._tape = Tape([model.population.rate, *self._work.values()])

    def reasons(self, values: Values) -> dict[int, str]:
        """Say at which of several aligned points, by number, which resource is saturated; the first of several."""
        if not self._work:
            return {}
        columns = self._tape.run(only(values, self._tape.parameters))
        rate, *work = (np.broadcast_to(each, (_points(values),)) for each in columns)
        found: dict[int, str] = {}
        for name, each in zip(self._work, work, strict=True):
            loads = rate * each / self._model.resources[name].capacity
            for index in np.flatnonzero(loads >= 1):
                found.setdefault(int(index), saturated_text(self._model, name, float(rate[index]), float(loads[index])))
        return found


def without(column: Array, points: Collection[int]) -> Array:
    """Take some points out of a column."""
    if not points:
        return column
    taken = np.isin(np.arange(len(column)), list(points))
    return np.where(taken, np.nan, column)


def saturated_text(model: Model, name: str, rate: float, load: float) -> str:
    """Word the saturation of one resource.

    Parameters
    ----------
    model, name : the resource
    rate : of the arrivals [1/s]
    load : time for which it is asked, over the time that there is [1]
    """
    resource = model.resources[name]
    kind = "station" if isinstance(resource, Station) else "permits" if isinstance(resource, Permits) else "lock"
    return (
        f"{kind} {name} is saturated: {rate:g}/s arrive, fewer than {rate / load:.4g}/s can be served (load {load:.3g}, the "
        "limit is 1); lower the arrivals, or shorten what is asked of it"
    )


class Deadlocks:
    """The processors that can wait for each other without end at locks taken in a cycle; see `lock_cycle`.

    Parameters
    ----------
    model : the system
    """

    def __init__(self, model: Model) -> None:
        self._words, self._processors = lock_cycle(model)
        self._population = model.population
        self._tape = Tape(list(self._population.counts))

    def reasons(self, values: Values) -> dict[int, tuple[str]]:
        """Say at which of several aligned points, by number, there are processors enough for a deadlock."""
        return self.among(self._tape.run(only(values, self._tape.parameters)), _points(values)) if self._words else {}

    def among(self, sizes: Sequence[Array], points: int) -> dict[int, tuple[str]]:
        """Say the same for populations of some sizes, in the order of `counts`: each a phase, a group, or all [points]."""
        if not self._words:
            return {}
        present = np.full(points, np.inf if self._population.open else 0.0)
        for each in sizes:
            present = np.maximum(present, each.real) if self._population.finite else present + each.real
        return {int(index): (self._words,) for index in np.flatnonzero(present >= self._processors)}


def lock_cycle(model: Model) -> tuple[str, int]:
    """Find locks, or permits of one, that are taken in a cycle, so that their holders may wait for each other.

    Two requests are no danger to each other if one lock is held at both, or if a barrier of all processors or the end of
    a phase is between them.

    Source: Coffman, Elphick and Shoshani, ACM Computing Surveys 3(2), 1971, 67-78 (circular wait).

    Parameters
    ----------
    model : the system

    Returns
    -------
    which locks they are, in words, and the processors that it takes: one for each lock, or one whose branches take them;
    no words where there are none

    >>> from slipstick.model.activity import delay, hold
    >>> from slipstick.model.system import closed_model
    >>> there, back = hold("a", hold("b", delay(1.0, name="x"))), hold("b", hold("a", delay(1.0, name="y")))
    >>> lock_cycle(closed_model(there >> back, processors=2))[0][:45], lock_cycle(closed_model(there, processors=2))
    ('locks a and b are taken in both orders: their', ('', 0))
    """
    exclusive = [each for each in model.resources.values() if each.use == "hold" and each.capacity == 1]
    together = bool(model.population.groups)
    found: dict[_NestedHold, None] = {}
    for number, body in enumerate(model.bodies if len(exclusive) > 1 else ()):
        found.update(dict.fromkeys(_nested_holds(model, body, 0 if together else number)))
    requests = _without_ends(list(found))
    locks = next(filter(None, (_closing((request,), requests) for request in requests)), ())
    if not locks:
        return "", 0
    branches = any(_requests_in_branches(body, locks) for body in model.bodies)
    *others, last = locks
    order = "in a cycle" if len(others) > 1 else "in both orders"
    words = f"locks {', '.join(others)} and {last} are taken {order}: their holders may wait for each other without end"
    return f"{words}; take them in one order", 1 if branches else len(locks)


@dataclass(frozen=True, slots=True)
class _NestedHold:
    """A lock requested while another is held, in a part of a body between two barriers of all processors.

    Parameters
    ----------
    held, wanted : the two locks
    guards : all locks held at that moment
    section : number of the part
    """

    held: str
    wanted: str
    guards: frozenset[str]
    section: tuple[int, int]


def _without_ends(requests: list[_NestedHold]) -> list[_NestedHold]:
    """Leave out requests that no cycle goes through, for a path ends there: where locks have an order, all of them."""
    while True:
        going_on = {(each.section, each.held) for each in requests}
        kept = [each for each in requests if (each.section, each.wanted) in going_on]
        if len(kept) == len(requests):
            return kept
        requests = kept


def _closing(path: tuple[_NestedHold, ...], requests: Sequence[_NestedHold]) -> tuple[str, ...]:
    """Follow requests from lock to lock until the first is reached again; give the locks passed, or nothing."""
    first, last = path[0], path[-1]
    if last.wanted == first.held:
        return tuple(each.held for each in path)
    for request in requests:
        apart = request.section == first.section and not any(request.guards & each.guards for each in path)
        if request.held == last.wanted and apart:
            locks = _closing((*path, request), requests)
            if locks:
                return locks
    return ()


def _requests_in_branches(body: Activity, locks: Sequence[str]) -> bool:
    """Say whether some of the locks are taken in a fork or pipeline, whose parts run at the same time."""
    branches = (node for node in steps(body) if isinstance(node, Fork | Pipeline))
    return any(isinstance(each, Hold) and each.resource in locks for node in branches for each in steps(node))


def _nested_holds(model: Model, cycle: Activity, body: int) -> Iterator[_NestedHold]:
    """List the requests of a body, section by section; `body` numbers those that run one after the other."""
    found, sections = list[_NestedHold](), 0

    def visit(node: Activity, held: frozenset[str]) -> None:
        nonlocal sections
        sections += isinstance(node, BarrierWait) and node.parties is None
        if isinstance(node, Hold) and model.resources[node.resource].capacity == 1:
            found.extend(_NestedHold(each, node.resource, held, (body, sections)) for each in sorted(held))
            held = held | {node.resource}
        for part in node.children:
            visit(part, held)

    visit(cycle, frozenset())
    # What comes after the last barrier is done with what comes before the first.
    yield from (replace(each, section=(body, 0)) if each.section[1] == sections else each for each in found)


def _points(values: Values) -> int:
    return max([1, *(np.size(each) for each in values.values())])
