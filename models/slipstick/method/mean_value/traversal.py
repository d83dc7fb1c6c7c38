"""The time of an activity, given the wait at each visit, and that of a cycle cut by barriers.

Sequences add times, choices mix them, forks take their maximum, and pipelines follow item by item.
The same traversal gives derivatives, with complex numbers, and the account: the waits of a solved
traversal are kept fixed and what is booked to each label is scaled by a factor.

A cycle with barriers is cut into sections, each as long as the last of all processors takes through
it. After a barrier all processors start at once, so a section is not in steady state: their
requests come to the first queue together and leave it one by one. `synchronized_start` follows the
processors through a section in the order in which they pass each point: it keeps the mean times of
the first, second, ..., last of them and the variances of the gaps between.

Assumptions of that: delays are independent; processors keep their order at a queue; a gap is a
constant plus an exponential time. Against an exact recursion (exponential delay, one queue) the
error is below 1.2 %, against simulation below 3 % in plain sections and 10 % where pipelines share
servers (tests/method/mean_value/test_barriers.py; construct "barriers" of
benchmarks/mean_value.py). The sum over k of T(k)/k, T(k) from the steady state with k processors,
was tried instead: it is 2 to 34 % too long at scv 1 and more than 50 % at scv 0.25.

Source: maxima as in `slipstick.random_times`; pipelines by Clark, Operations Research 9(2), 1961,
145-162; branches of a fork that use one resource: derived here, see `_fork_time`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import reduce
from statistics import NormalDist

from slipstick.late import np
from slipstick.model.activity import (
    GEOMETRIC,
    BarrierWait,
    Choice,
    Fork,
    Pipeline,
    Repeat,
    Stage,
    Step,
    Then,
)
from slipstick.model.steps import MET, Activity, Combination, is_parallel, no_rule, steps
from slipstick.model.system import INFINITE, Barrier, Model, Station, is_processor
from slipstick.random_times import (
    ZERO_TIME,
    Array,
    FittedDistribution,
    JointlyNormalTimes,
    RandomTime,
    added,
    clamped,
    largest,
    left_over,
    maximum_of,
    maximum_of_identical,
    mixture_of,
    nonzero,
    repeated,
    repeated_geometrically,
    smallest,
    sum_of,
)
from slipstick.structure.visits import (
    LockAccess,
    Numbers,
    Visit,
    VisitedHold,
    VisitedStep,
    mean_service,
    visit_ratios,
    visits_in,
)
from slipstick.vocabulary import DISCIPLINES

_ONE = np.ones(1)


@dataclass
class VisitTimes:
    """Waits, services and other times at the visits of a tree, as a traversal computes them.

    Parameters
    ----------
    waits, services : at each visit
    branch_waits : wait at a visit for other branches of the same processor's fork [s]
    item_waits : wait at a visit for other items of the same processor's pipeline, which delays no
        other processor [s]
    last_arrivals : time of the last arrival at each barrier, by number of the section that it ends
        [s]
    shortfalls : time by which a cycle is shorter than the work of a queue, by the label it is
        booked to [s]
    spans : mean time of one execution of each pipeline, by name [s]
    since_acquisition : time from the acquisition of a lock to the arrival at a visit under it
    """

    waits: dict[int, RandomTime] = field(default_factory=dict)
    services: dict[int, RandomTime] = field(default_factory=dict)
    branch_waits: dict[int, Array] = field(default_factory=dict)
    item_waits: dict[int, Array] = field(default_factory=dict)
    last_arrivals: dict[int, Array] = field(default_factory=dict)
    shortfalls: dict[str, Array] = field(default_factory=dict)
    spans: dict[str, Array] = field(default_factory=dict)
    since_acquisition: dict[tuple[str, int], RandomTime] = field(default_factory=dict)

    def copy(self) -> VisitTimes:
        """Return a copy whose tables can be changed without changing these."""
        return VisitTimes(*(dict(getattr(self, field.name)) for field in fields(self)))


class Traversal:
    """Computes the time of an activity's tree from the waits at its visits.

    Parameters
    ----------
    model : whose resources say what a barrier costs and how many servers there are
    numbers : value of each expression
    processors : size of the population
    waits : at each visit; 0 where there is none
    factors : by label, the factor on what is booked to it; 1 but for finding the account
    fixed : the result of a solved traversal, whose waits are used as they are
    """

    def __init__(
        self,
        model: Model,
        numbers: Numbers,
        processors: int,
        waits: Mapping[int, RandomTime],
        factors: Mapping[str, Array] | None = None,
        fixed: VisitTimes | None = None,
    ) -> None:
        self.model = model
        self.numbers = numbers
        self.processors = processors
        self.fixed = fixed
        self.visit_times = fixed or VisitTimes()
        self.services: dict[int, RandomTime] = {}
        self._waits = waits
        self._factors = factors or {}
        self._since: dict[str, RandomTime] = {}
        """By lock held, the time since it was acquired."""

    def time(self, node: Activity) -> RandomTime:
        """Return the time of a part that has no barrier inside."""
        match node:
            case VisitedStep(step, visit):
                service = self._service(step)
                if visit is None:
                    return service
                self._record_since_acquisition(visit)
                return self._visited(visit, service)
            case VisitedHold(visit, VisitedHold(inner) as body, True):
                # Two locks that are acquired at one moment: the outer one is held as long as the
                # inner one.
                waited = self._held(visit, body)
                self._visited(visit, self.services[inner.index])
                return sum_of([waited, self.wait(visit)])
            case VisitedHold(visit, body):
                return self._visited(visit, self._held(visit, body))
            case Then(bodies):
                return self._sequence(bodies)
            case Repeat(count, body, spread):
                time_of_repetitions = repeated_geometrically if spread == GEOMETRIC else repeated
                return time_of_repetitions(self.numbers[count], self.time(body))
            case Choice(options):
                return mixture_of([(self.numbers[p], self.time(body)) for p, body in options])
            case Fork(branches):
                return _fork_time(self, branches)
            case Pipeline():
                return _pipeline_time(self, node)
            case _:
                raise no_rule("mean value", node)

    def _held(self, visit: Visit, body: Activity) -> RandomTime:
        outer = self._since
        wait = self._waits.get(visit.index, ZERO_TIME)
        self._record_since_acquisition(visit)
        self._since = {name: sum_of([time_since, wait]) for name, time_since in outer.items()} | {
            visit.queue: ZERO_TIME
        }
        held = self.time(body)
        self._since = outer
        return held

    def _sequence(self, bodies: Sequence[Activity]) -> RandomTime:
        start = self._since
        times = list[RandomTime]()
        for body in bodies:
            times.append(self.time(body))
            self._since = {
                name: sum_of([time_since, times[-1]]) for name, time_since in self._since.items()
            }
        self._since = start
        return sum_of(times)

    def _record_since_acquisition(self, visit: Visit) -> None:
        self.visit_times.since_acquisition.update(
            {(name, visit.index): time_since for name, time_since in self._since.items()}
        )

    def wait(self, visit: Visit) -> RandomTime:
        """Return the wait at a visit that has been traversed."""
        wait = self.visit_times.waits[visit.index]
        return (
            wait
            if self.fixed is None or wait is ZERO_TIME
            else wait.scaled(self.factor(visit.label))
        )

    def without_waits(self) -> Traversal:
        """Return a traversal in which no visit waits."""
        return Traversal(self.model, self.numbers, self.processors, {})

    def factor(self, label: str) -> Array:
        """Return the factor by which the times booked to a label are multiplied."""
        return self._factors.get(label, _ONE)

    def servers(self, queue: str) -> int:
        """Return the number of servers of a resource."""
        return self.model.resources[queue].capacity if queue in self.model.resources else 1

    def shares_servers(self, visit: Visit) -> bool:
        """Return whether a visit is to a station whose servers are shared by all customers present."""
        resource = self.model.resources.get(visit.queue)
        return isinstance(resource, Station) and DISCIPLINES[resource.discipline].shared

    def _service(self, step: Step | LockAccess) -> RandomTime:
        mean = mean_service(step, self.numbers) * self.factor(step.name)
        # The kind lets maxima of constant and of exponential times be taken exactly; all others go
        # by two moments.
        kind = {0.0: "constant", 1.0: "exponential"}.get(step.scv, "general")
        return RandomTime(mean, step.scv * mean * mean, kind)

    def _visited(self, visit: Visit, service: RandomTime) -> RandomTime:
        self.services[visit.index] = service
        if self.fixed is None:
            self.visit_times.waits[visit.index] = self._waits.get(visit.index, ZERO_TIME)
            self.visit_times.services[visit.index] = service
        return sum_of([service, self.wait(visit)])


def _fork_time(traversal: Traversal, branches: Sequence[Activity]) -> RandomTime:
    """Return the time until all branches are done: the maximum of their times, taken as
    independent.

    Where more branches use one resource than it has servers, the fork takes at least one wait at
    that resource, the service of all branches there, and the shortest times before and after it.
    That is a bound for constant times; for random times the larger of the two means is taken. The
    error left is that of the construct "forks" of benchmarks/mean_value.py.
    """
    times = [traversal.time(branch) for branch in branches]
    visits = [
        branch.visit
        for branch in branches
        if isinstance(branch, VisitedStep) and branch.visit is not None
    ]
    if (
        len(visits) == len(branches)
        and len({visit.queue for visit in visits}) == 1
        and _shared_queues(branches)
    ):
        servers = traversal.servers(visits[0].queue)
        if len(visits) > servers and not traversal.shares_servers(visits[0]):
            # All requests arrive together and wait for the same customers: one wait, not the
            # maximum of several.
            return _served_together(traversal, branches, visits[0].queue, servers, last=False)
    # Independence is an assumption: branches that wait for the same customers end together more
    # often, so the maximum is rather too long.
    longest = maximum_of(times)
    for name in _shared_queues(branches):
        users = [branch for branch in branches if _uses(branch, name)]
        servers = traversal.servers(name)
        if len(users) > servers:
            longest = _longer(
                longest, _served_together(traversal, users, name, servers, last=False)
            )
            if any(len(_places(branch, name)) > 1 for branch in users):
                # Branches that return to a resource: everything before their last visits is taken
                # as parallel.
                longest = _longer(
                    longest, _served_together(traversal, users, name, servers, last=True)
                )
    return longest


def _shared_queues(branches: Sequence[Activity]) -> list[str]:
    """Return the resources that several branches of one fork use; "another processor" is a
    different one for each branch.
    """
    queues_by_branch = [
        dict.fromkeys(visit.queue for visit in visits_in(branch)) for branch in branches
    ]
    names = dict.fromkeys(name for branch_names in queues_by_branch for name in branch_names)
    single = [
        name
        for name in names
        if not is_processor(name) or name == "own" or name.startswith("processor[")
    ]
    return [
        name
        for name in single
        if sum(name in branch_names for branch_names in queues_by_branch) > 1
    ]


def _longer(a: RandomTime, b: RandomTime) -> RandomTime:
    """Return the time with the larger mean, as the maximum of two times: both contain the same
    services, so that it is nearly always the longer one.
    """
    larger = b.mean.real > a.mean.real
    kind = "constant" if a.kind == b.kind == "constant" else "general"
    return RandomTime(
        np.where(larger, b.mean, a.mean), np.where(larger, b.variance, a.variance), kind
    )


def _time_in_turn(traversal: Traversal, nodes: Sequence[Activity]) -> RandomTime:
    """Return the time of nodes that are executed one after the other."""
    return sum_of([traversal.time(node) for node in nodes])


def _served_together(
    traversal: Traversal, branches: Sequence[Activity], name: str, servers: int, last: bool
) -> RandomTime:
    """Return the time from the fork until one resource has served all branches and the last of them
    has ended.

    The k works of mean m begin at once at c servers, so the last waits m (k - c) / c for the
    others. With `last`, only the last visits to the resource delay each other; everything before
    them is taken as parallel.
    """
    visits = list[Visit]()
    works = list[RandomTime]()
    before = list[Array]()
    after = list[Array]()
    calls = np.zeros(1)
    for branch in branches:
        nodes = _parts(branch)
        places = _places(branch, name)
        ratios = visit_ratios(branch, traversal.numbers)
        first_place = places[-1] if last else places[0]
        visits_there = [
            visit
            for node in nodes[first_place : places[-1] + 1]
            for visit in visits_in(node)
            if visit.queue == name
        ]
        visits += visits_there
        works.append(
            sum_of([repeated(ratios[v.index], traversal.services[v.index]) for v in visits_there])
        )
        before.append(_time_in_turn(traversal, nodes[:first_place]).mean)
        after.append(_time_in_turn(traversal, nodes[places[-1] + 1 :]).mean)
        for visit in visits_there:
            calls = calls + ratios[visit.index]
    count = len(works)
    kinds = {work.kind for work in works}
    mean = added(work.mean for work in works) / count
    varied = added(work.variance for work in works) / count
    typical = RandomTime(mean, varied, kinds.pop() if len(kinds) == 1 else "general")
    served = maximum_of_identical(typical, np.full(1, float(servers)))
    # The last of k works at c servers starts when (k - c) / c of them are done at each server in
    # the mean; for constant works that is exact where c divides k.
    delayed = mean * (count - servers) / servers
    variance = count * varied / servers**2
    if traversal.fixed is not None:
        # The services of the other branches are waits of the last.
        delayed = delayed.real * traversal.factor(visits[0].label)
    elif not last:
        # The waits of the branches rise evenly from 0 to that of the last: half of it for each
        # branch.
        traversal.visit_times.branch_waits.update(
            {v.index: delayed / 2 * count / nonzero(calls) for v in visits}
        )
    waits = [traversal.wait(visit) for visit in visits]
    constant = all(time.kind == "constant" for time in (*works, *waits))
    return RandomTime(
        # The first branch to come begins the service, and the last to end may be the one with the
        # shortest rest: both are bounds from below.
        smallest(before)
        + largest([wait.mean for wait in waits])
        + delayed
        + served.mean
        + smallest(after),
        variance if last else variance + waits[0].variance,
        "constant" if constant else "general",
    )


def _parts(branch: Activity) -> Sequence[Activity]:
    return branch.parts if isinstance(branch, Then) else (branch,)


def _places(branch: Activity, name: str) -> list[int]:
    """Return the indices of the nodes of a branch that use a resource."""
    return [index for index, branch_part in enumerate(_parts(branch)) if _uses(branch_part, name)]


def _uses(node: Activity, name: str) -> bool:
    return any(visit.queue == name for visit in visits_in(node))


MOST_ITEMS = 64
"""Items of a pipeline that are followed one by one. Each further item adds as much time as the last
of these, as in the steady state that 64 items have reached; 500 items of two stages are within 1 %
(tests/method/mean_value/test_traversal.py)."""


def _pipeline_time(traversal: Traversal, pipeline: Pipeline) -> RandomTime:
    """Return the time until the last item has left the last stage.

    An item begins a stage when it has left the stage before and a place is free: a serial stage has
    one place, a parallel one as many as its station has servers, or any number. The ends of items
    are taken as jointly normal. Against samples the error is below 3.5 %
    (tests/method/mean_value/test_traversal.py); the construct "pipelines" of
    benchmarks/mean_value.py adds contention.
    """
    items = traversal.numbers[pipeline.items]
    stages = [_StageTimes(traversal, stage) for stage in pipeline.stages]
    # One more than the whole number, so that a fraction can be interpolated.
    most = min(int(np.floor(np.max(items.real))) + 1, MOST_ITEMS)
    follow = _ItemTimes(stages, items)
    ends = [follow.item(number) for number in range(most)]
    constant = all(body.kind == "constant" for stage in stages for body in stage.times)
    mean, variance = (_interpolated([end[moment] for end in ends], items) for moment in (0, 1))
    if traversal.fixed is None:
        waits = {
            stage.visit.index: stage.waited / most
            for stage in stages
            if stage.visit and stage.parallel
        }
        traversal.visit_times.item_waits.update(waits)
        # At the start of a program the processors, in the order in which they arrive, stand along
        # the first axis.
        traversal.visit_times.spans.setdefault(
            pipeline.name, mean.mean(axis=0) if np.ndim(mean) > 1 else mean
        )
    return RandomTime(mean, variance, "constant" if constant else "general")


def _interpolated(ends: list[Array], items: Array) -> Array:
    """Return the value of a sequence at a number of items, linearly interpolated, and extrapolated
    beyond the last.
    """
    if len(ends) == 1:
        return ends[0]
    table = np.stack(np.broadcast_arrays(*ends), axis=-1)
    index_below = np.clip(np.floor(items.real).astype(int), 1, len(ends) - 1) - 1
    # Times may be the same at all points at which the number of items differs, or the reverse.
    shape = np.broadcast_shapes(index_below.shape, table.shape[:-1])
    table = np.broadcast_to(table, (*shape, len(ends)))
    pick = np.broadcast_to(index_below[..., None], (*shape, 1))
    low, high = (np.take_along_axis(table, pick + step, axis=-1)[..., 0] for step in (0, 1))
    result: Array = low + (items - (index_below + 1)) * (high - low)
    return result


class _StageTimes:
    """A stage of a pipeline: times of its bodies, one for all items or one for each, and the
    items that it takes at once.
    """

    def __init__(self, traversal: Traversal, stage: Stage) -> None:
        self.times = [traversal.time(body) for body in stage.bodies]
        self.parallel = stage.kind == "parallel"
        body = stage.bodies[0]
        self.visit = body.visit if isinstance(body, VisitedStep) else None
        station = traversal.model.resources.get(self.visit.queue) if self.visit else None
        places = station.capacity if isinstance(station, Station) else None
        if places is not None and places >= INFINITE:
            places = None
        self.places = places if self.parallel else 1
        """Items at once; None for any number."""
        self.shared = (
            self.parallel and self.visit is not None and traversal.shares_servers(self.visit)
        )
        booked = traversal.fixed is not None and self.parallel and self.visit is not None
        self.factor = traversal.factor(self.visit.label) if booked and self.visit else None
        """On waits for a place, where they are booked to a station."""
        self.occupied: list[int] = []
        self.waited: Array = np.zeros(1)


class _ItemTimes:
    """Follows items through the stages of a pipeline.

    Parameters
    ----------
    stages : of the pipeline
    items : how many there are
    """

    def __init__(self, stages: Sequence[_StageTimes], items: Array) -> None:
        self._stages = stages
        self._items = items
        self._times = JointlyNormalTimes()
        self._last: int | None = None

    def item(self, number: int) -> tuple[Array, Array]:
        """Return mean and variance of the time when this item and all before it are done."""
        times = self._times
        end: int | None = None
        for index, stage in enumerate(self._stages):
            arrived = begin = end
            if stage.places is not None and len(stage.occupied) == stage.places:
                # The item that took its place first is assumed to leave first. That is so at a
                # serial stage; at a parallel one items may overtake each other.
                free = stage.occupied.pop(0)
                begin = self._begin(
                    stage, arrived, free if arrived is None else times.later(free, arrived)
                )
            body = stage.times[number % len(stage.times)]
            end = times.after(
                begin, body if index or not stage.shared else self._shared_service(number, body)
            )
            if stage.places is not None:
                stage.occupied.append(end)
        assert end is not None
        self._last = (
            end if self._last is None or stage.places == 1 else times.later(self._last, end)
        )
        # Covariances of what nothing depends on any more would grow with the square of the items.
        times.keep({self._last, *(key for stage in self._stages for key in stage.occupied)})
        return times.mean[self._last], times.variance(self._last)

    def _begin(self, stage: _StageTimes, arrived: int | None, begin: int) -> int:
        """Book the wait of an item for a place in a stage, and return the index of the time at
        which it begins. An account books it as a wait, not to the steps that are waited for.
        """
        arrival = np.zeros(1) if arrived is None else self._times.mean[arrived]
        waited = self._times.mean[begin] - arrival
        stage.waited = stage.waited + waited
        return (
            begin
            if stage.factor is None
            else self._times.with_mean(begin, arrival + waited.real * stage.factor)
        )

    def _shared_service(self, number: int, body: RandomTime) -> RandomTime:
        """Return the time of an item in a first stage whose servers are shared by all items at
        once.

        Derived here: shared by n items at c servers, constant services all end together, after n /
        c services; exponential ones end one by one as at a queue. In between, the part 1 - scv of
        each service ends last.
        """
        first_stage = self._stages[0]
        items = self._items
        assert first_stage.places is not None
        scv = clamped(body.scv, high=1)
        if number >= first_stage.places:
            return RandomTime(scv * body.mean, scv * body.variance)
        wait = (1 - scv) * body.mean * clamped(items - first_stage.places) / first_stage.places
        if first_stage.factor is not None:
            wait = wait.real * first_stage.factor
        return RandomTime(body.mean + wait, body.variance)


MOST_TURNS = 16
"""Turns of a repetition in a section that are followed one by one."""

MOST_FOLLOWED = 256
"""Larger populations are not followed one by one; their sections end with the maximum of
independent times.
"""


def cycle_time(traversal: Traversal, root: Activity) -> RandomTime:
    """Return the time of a whole cycle; the steps after its last barrier are in one section with
    those before its first.
    """
    sections, nodes_after = _cut(root, traversal.numbers)
    if not sections:
        return sum_of([traversal.time(node) for node in nodes_after])
    (first_nodes, barrier, _), *other_sections = sections
    times = []
    for number, (nodes, wait, count) in enumerate(
        [*other_sections, ((*nodes_after, *first_nodes), barrier, None)]
    ):
        time = _section(traversal, nodes, wait, number)
        times.append(time if count is None else repeated(count, time))
    return sum_of(times)


_CutSection = tuple[tuple[Activity, ...], BarrierWait, "Array | None"]
"""The parts before a barrier, the barrier, and the number of times; None: once."""


def _cut(node: Activity, numbers: Numbers) -> tuple[list[_CutSection], tuple[Activity, ...]]:
    """Divide a part of a cycle at its barriers into sections, each with its barrier and its number
    of executions; also return the nodes after the last barrier.
    """
    sections = list[_CutSection]()
    nodes_after = tuple[Activity, ...]()
    if not any(inner.use == MET for inner in steps(node)):
        return [], (node,)
    match node:
        case BarrierWait():
            return [((), node, None)], ()
        case Then(bodies):
            for child in bodies:
                inner, after = _cut(child, numbers)
                if inner:
                    (nodes, wait, count), *inner_sections = inner
                    sections += [((*nodes_after, *nodes), wait, count), *inner_sections]
                nodes_after = after if inner else (*nodes_after, *after)
            return sections, nodes_after
        case Repeat(count, body):
            sections, nodes_after = _cut(body, numbers)
            if sections:
                (nodes, wait, _), *inner_sections = sections
                turns = numbers[count]
                # The first turn follows what comes before the repetition; each further one begins
                # with what the turn before has left after its last barrier.
                further_turns = clamped(turns - 1)
                sections_between = [
                    (inner_nodes, barrier, turns if n is None else turns * n)
                    for inner_nodes, barrier, n in inner_sections
                ]
                return [
                    (nodes, wait, None),
                    ((*nodes_after, *nodes), wait, further_turns),
                    *sections_between,
                ], nodes_after
        case _:
            raise no_rule("mean value", node)
    return [], (node,)


def _section(
    traversal: Traversal, nodes: tuple[Activity, ...], wait: BarrierWait, number: int
) -> RandomTime:
    """Return the time of a section that ends at a barrier: the mean time of the last arrival, and
    the barrier's cost.
    """
    label = f"barrier:{wait.name}"
    own = sum_of([traversal.time(node) for node in nodes])
    barrier = traversal.model.resources[wait.name]
    assert isinstance(barrier, Barrier)
    cost = traversal.numbers[barrier.cost] * traversal.factor(label)
    if traversal.fixed is not None:
        waited = traversal.fixed.last_arrivals[number] - own.mean.real
        return RandomTime(own.mean + waited * traversal.factor(label) + cost, own.variance)
    last = _last_arrival(traversal, nodes, own, wait)
    traversal.visit_times.last_arrivals[number] = last.mean
    return RandomTime(last.mean + cost, last.variance, own.kind)


def _last_arrival(
    traversal: Traversal, nodes: tuple[Activity, ...], own: RandomTime, wait: BarrierWait
) -> RandomTime:
    if wait.parties is not None and wait.parties < traversal.processors:
        # Derived here: of p processors that meet in a steady stream of N / T arrivals a second, the
        # i-th waits for p - i more, (p - 1) / 2 on average: T = own + (p - 1) / 2 x T / N.
        half_share = (wait.parties - 1) / (2 * traversal.processors)
        return RandomTime(own.mean / (1 - half_share), own.variance)
    last = synchronized_start(traversal, nodes, traversal.processors)
    return last or maximum_of_identical(own, np.full(1, float(traversal.processors)))


def synchronized_start(
    traversal: Traversal, nodes: Sequence[Activity], processors: int
) -> RandomTime | None:
    """Return the time until the last of all processors is through; None where no queue is used.

    The waits found replace those of the steady state in the result of the traversal.

    Parameters
    ----------
    traversal : a traversal of the nodes
    nodes : done one after the other
    processors : that start at once
    """
    if processors < 2 or processors > MOST_FOLLOWED or not is_contended(nodes):
        return None
    return _SynchronizedStart(traversal, processors).through(nodes)


def is_contended(nodes: Sequence[Activity]) -> bool:
    """Return whether processors can wait for each other at a queue in some parts of a tree."""
    return any(_queued(visit) for node in nodes for visit in visits_in(node))


def ordered_ends(time: RandomTime, processors: int) -> Array:
    """Return the mean times at which the first, second, ... of all processors end an independent
    time [s] [..., processors].

    More than `MOST_FOLLOWED` are placed at the quantiles (k - 3/8) / (N + 1/4) (Source: Blom,
    Statistical Estimates and Transformed Beta-Variables, Wiley 1958): the middle and the last one
    within 3 % of those that are followed, the first ones up to 14 % early
    (tests/method/mean_value/test_programs.py).
    """
    if processors <= MOST_FOLLOWED:
        return PassingTimes.together(processors).delayed(time).times
    places = (np.arange(1, processors + 1) - 0.375) / (processors + 0.25)
    scores = np.array([NormalDist().inv_cdf(place) for place in places])
    column = RandomTime(time.mean[..., None], time.variance[..., None])
    return FittedDistribution(column, np.ones(1)).quantile(scores)


def _queued(visit: Visit) -> bool:
    return not is_processor(visit.queue)


_COMPOSITES = (VisitedStep, VisitedHold, Repeat, Choice, Fork, Pipeline)
"""What all processors pass together by `_SynchronizedStart._composite`."""


class _SynchronizedStart:
    """Follows all processors through a section; delays are added up until the next queue."""

    def __init__(self, traversal: Traversal, processors: int) -> None:
        self.traversal = traversal
        self.waits = traversal.visit_times.waits
        self.passing = PassingTimes.together(processors)
        self.pending = ZERO_TIME
        self.served_until: dict[str, Array] = {}
        """By queue, when the servers would have done all that was asked of them so far, once
        begun [s].
        """

    def through(self, nodes: Sequence[Activity]) -> RandomTime:
        for node in nodes:
            self._pass(node)
        return self.passing.end(self.pending)

    def _pass(self, node: Activity) -> None:
        match node:
            case Then(bodies):
                for child in bodies:
                    self._pass(child)
            case VisitedStep(_, visit) | VisitedHold(visit, _, False) if (
                visit is not None and _queued(visit)
            ):
                self._queue(visit)
            # A geometric count differs from processor to processor, so that their turns cannot be
            # followed together.
            case Repeat(count, body, spread=spread) if (
                spread != GEOMETRIC
                and is_contended([body])
                and np.all(self.traversal.numbers[count].real >= 1)
            ):
                self._repeat(self.traversal.numbers[count], body)
            case node if isinstance(node, _COMPOSITES):
                self._composite(node)
            case _:
                raise no_rule("mean value", node)

    def _repeat(self, count: Array, body: Activity) -> None:
        """Follow the turns of a repetition one by one; each beyond `MOST_TURNS` takes as long as
        the last of these. Between whole numbers of turns the times are interpolated.
        """
        visits = [visit for visit in visits_in(body) if _queued(visit)]
        turns = _RepeatedPassing(count)
        total = {visit.index: np.zeros(1) for visit in visits}
        for number in range(turns.most):
            self._pass(body)
            total = {index: waited + self.waits[index].mean for index, waited in total.items()}
            turns.ended(number + 1, self.passing, self.served_until, total)
        self.passing = turns.passing
        self.served_until.update(turns.served_until)
        for index, waited in turns.waited.items():
            self.waits[index] = RandomTime(waited / count, 0 * waited)

    def _queue(self, visit: Visit) -> None:
        """Move all processors through a queue, one after the other."""
        service = self.traversal.visit_times.services[visit.index]
        before = self._after_pending()
        # Where servers are shared, constant services all end together, without gaps.
        gap_variance = (
            clamped(service.scv, high=1) if self.traversal.shares_servers(visit) else np.ones(1)
        )
        earlier_work = self._left(visit.queue, before, service.mean)
        self.passing, wait = before.served(
            service, self.traversal.servers(visit.queue), gap_variance, earlier_work
        )
        self._set_waits([visit], wait, np.ones(1))

    def _left(self, queue: str, before: PassingTimes, work: Array) -> Array:
        """Return the work that earlier visits of the section have left at the queue for the first
        processor [s].

        Derived here: the first processor that returns to a queue while others wait there for their
        first visit queues behind them. The queue is taken as busy from the first arrival on, so
        that the work of all visits adds up: within 3 % of simulation where 16 and 20 processors
        visit a queue three times (tests/method/mean_value/test_barriers.py).
        """
        first_time = before.times[..., 0]
        count = before.times.shape[-1]
        earlier_work = clamped(self.served_until.get(queue, first_time) - first_time)
        self.served_until[queue] = (
            first_time + earlier_work + count * work / self.traversal.servers(queue)
        )
        return earlier_work

    def _composite(self, node: Activity) -> None:
        """Move all processors through a fork, a pipeline or another composite: first the waits for
        the work of others at each queue, then its own time.

        The stages of a pipeline and the branches of a fork work side by side, so their queues delay
        at the same time and the longest delay counts. The queues of anything else are passed one
        after the other. Derived here; checked by simulation in
        tests/method/mean_value/test_barriers.py (3 to 10 %).
        """
        visits = [visit for visit in visits_in(node) if _queued(visit)]
        time_alone = self.traversal.without_waits().time(node)
        ratios = visit_ratios(node, self.traversal.numbers)
        before = self._after_pending()
        passed = list[PassingTimes]()
        for name in dict.fromkeys(visit.queue for visit in visits):
            visits_there = [visit for visit in visits if visit.queue == name]
            after = self._through_queue(before, node, visits_there, time_alone)
            wait: Array = (after.times - before.times).mean(axis=-1)
            self._set_waits(
                visits_there, wait, added(ratios[visit.index] for visit in visits_there)
            )
            passed.append(after)
            if not is_parallel(node):
                before = after
        self.passing = reduce(PassingTimes.latest_with, passed, before)
        self.pending = time_alone

    def _through_queue(
        self,
        before: PassingTimes,
        node: Activity,
        visits_there: Sequence[Visit],
        time_alone: RandomTime,
    ) -> PassingTimes:
        """Return the times at which the processors have passed one queue inside a composite.

        A processor is through when its own work there is served, and not before its own time
        without waits is over. A processor with several requests at once uses as many servers as one
        group, which serves it that much faster. Servers beyond the last whole group are shared out
        among all: constant times were up to 22 % too short (2 requests, 3 servers).
        """
        servers = self.traversal.servers(visits_there[0].queue)
        at_once = _requests_at_once(node, visits_there)
        work, lead, turns = self._work(node, visits_there)
        groups = max(1, servers // at_once)
        group_work = work.scaled(np.full(1, groups / servers))
        work_served = before.queued(
            group_work, groups, self._left(visits_there[0].queue, before, work.mean)
        )
        work_served = work_served.closed_up(before, work.mean / servers, 1 / turns)
        own_end = work_served.times + (lead + group_work.mean - time_alone.mean)[..., None]
        return PassingTimes(
            np.where(own_end.real > before.times.real, own_end, before.times), work_served.gaps
        )

    def _work(
        self, node: Activity, visits_there: Sequence[Visit]
    ) -> tuple[RandomTime, Array, Array]:
        """Return the work of a composite at a queue, its other time that cannot overlap with it,
        and the number of turns.
        """
        numbers = self.traversal.numbers
        services = self.traversal.visit_times.services
        ratios = visit_ratios(node, numbers)
        work = sum_of(
            [
                repeated(ratios[v.index], services[v.index])
                for v in visits_there
                if v.index in ratios
            ]
        )
        traversal_alone = self.traversal.without_waits()
        match node:
            case Repeat(count, body):
                return work, self._work(body, visits_there)[1], clamped(numbers[count], 1)
            case Pipeline(stages):
                items = numbers[node.items]
                # The time of one item in the other stages, if the items share the work at the queue
                # equally.
                one_item = sum_of([traversal_alone.time(stage.bodies[0]) for stage in stages])
                return (
                    work,
                    one_item.mean - work.mean / items,
                    items if self._in_turns(node, visits_there) else np.ones(1),
                )
            case Fork(branches):
                using_branches = [
                    branch
                    for branch in branches
                    if any(visit in visits_there for visit in visits_in(branch))
                ]
                return (
                    work,
                    smallest([self._work(branch, visits_there)[1] for branch in using_branches]),
                    np.ones(1),
                )
            case _ if node.combination is Combination.IN_TURN:
                return work, traversal_alone.time(node).mean - work.mean, np.ones(1)
            case _:
                raise no_rule("mean value", node)

    def _in_turns(self, pipeline: Pipeline, visits_there: Sequence[Visit]) -> bool:
        """Return whether the items of different processors alternate at a queue.

        They do where one item waits for another, there or at an earlier queue. Items of a parallel
        stage join the queue together, so all items of the first processor are served before those
        of the second.
        """
        if self.traversal.shares_servers(visits_there[0]):
            return True
        for stage in pipeline.stages:
            visits = [visit for body in stage.bodies for visit in visits_in(body) if _queued(visit)]
            if visits and stage.kind == "serial":
                return True
            if any(visit in visits_there for visit in visits):
                return False
        return True

    def _set_waits(self, visits: Sequence[Visit], wait: Array, ratio: Array) -> None:
        for visit in visits:
            self.waits[visit.index] = RandomTime(wait / nonzero(ratio), 0 * wait)

    def _after_pending(self) -> PassingTimes:
        pending = self.pending
        self.pending = ZERO_TIME
        return self.passing if pending is ZERO_TIME else self.passing.delayed(pending)


class _RepeatedPassing:
    """The state of a section after each turn of a repetition, interpolated at a number of turns.

    Parameters
    ----------
    count : of turns, at least 1 [points]

    Attributes
    ----------
    most : turns that are followed
    passing, served_until, waited : at that number of turns; `waited` adds up by visit [s]
    """

    def __init__(self, count: Array) -> None:
        self._count = count
        self.most = min(int(np.ceil(np.max(count.real))), MOST_TURNS)
        self.passing = PassingTimes(np.zeros((1, 1)), np.zeros((1, 1)))
        self.served_until: dict[str, Array] = {}
        self.waited: dict[int, Array] = {}

    def _weight(self, number: int) -> Array:
        """Return the weight of the state after a number of turns; beyond the last two turns that
        are followed, their difference is repeated.
        """
        if self.most == 1:
            return np.ones(1)
        place = np.where(
            self._count.real > self.most - 1, self.most - 1, np.floor(self._count.real)
        )
        share = self._count - place
        return np.where(place == number, 1 - share, np.where(place == number - 1, share, 0 * share))

    def ended(
        self,
        number: int,
        passing: PassingTimes,
        served_until: Mapping[str, Array],
        waited: Mapping[int, Array],
    ) -> None:
        """Add the passing times after one more turn, weighted for the interpolation at the number
        of turns.
        """
        weight = self._weight(number)
        self.passing = PassingTimes(
            self.passing.times + weight[..., None] * passing.times,
            self.passing.gaps + weight[..., None] * passing.gaps,
        )
        for queue, until in served_until.items():
            self.served_until[queue] = self.served_until.get(queue, 0.0) + weight * until
        for index, time in waited.items():
            self.waited[index] = self.waited.get(index, 0.0) + weight * time


def _requests_at_once(node: Activity, visits_there: Sequence[Visit]) -> int:
    """Return the number of visits that an activity may make side by side; items of a pipeline count
    once.
    """
    if not any(map(visits_there.count, visits_in(node))):
        return 0
    requests_of_children = [_requests_at_once(child, visits_there) for child in node.children]
    side_by_side = node.combination is Combination.LONGEST
    return max(
        1, sum(requests_of_children) if side_by_side else max(requests_of_children, default=1)
    )


@dataclass(frozen=True, slots=True)
class PassingTimes:
    """The times at which processors that started together pass a point, in their order.

    Parameters
    ----------
    times : mean time of the first, second, ... [s] [..., processors]
    gaps : variance of the time since the one before [s^2]
    """

    times: Array
    gaps: Array

    @classmethod
    def together(cls, count: int) -> PassingTimes:
        """Return the times of processors that all start at 0."""
        return cls(np.zeros((1, count)), np.zeros((1, count)))

    def delayed(self, time: RandomTime) -> PassingTimes:
        """Return the times after an independent delay of each processor.

        Gaps between order statistics of a smooth distribution are nearly exponential, with variance
        gap^2 (Source: Pyke, Spacings, J. Royal Statistical Society B 27(3), 1965, 395-449); a gap g
        much wider than the spread v of the time keeps its variance. In between the weight g^2 /
        (g^2 + v) is chosen here, for its two limits.
        """
        shifted = PassingTimes(self.times + time.mean[..., None], self.gaps)
        varied = time.variance[..., None]
        if time.kind == "constant":
            return shifted
        times = _in_order(self, time)
        gap_before = _gaps(self.times)
        gap = _gaps(times)
        remaining_share = gap_before * gap_before / nonzero(gap_before * gap_before + varied)
        random = varied.real > 0
        gaps = np.where(
            random, (1 - remaining_share) * gap * gap + remaining_share * self.gaps, self.gaps
        )
        return PassingTimes(np.where(random, times, shifted.times), gaps)

    def queued(self, service: RandomTime, servers: int, earlier_work: Array) -> PassingTimes:
        """Return the times at which the processors begin service, in order, at one of the servers;
        the first finds the work `earlier_work` [s].

        Exponential services of c servers end one by one, like those of one server that is c times
        as fast, except that a backlog up to (c - 1) / c of a service causes no wait. Constant
        services end c at a time: each processor waits for the one c places before. In between the
        wait is interpolated by the scv (chosen here; exact in both limits).
        """
        wait = self._waits(
            service, 1, service.mean / servers, service.mean * (servers - 1) / servers, earlier_work
        )
        if servers > 1:
            constant = self._waits(service, servers, service.mean, 0 * service.mean, earlier_work)
            scv = clamped(service.scv, high=1)[..., None]
            wait = scv * wait + (1 - scv) * constant
        busy = _waiting_probability(wait, service.mean / servers)
        # A processor that waited follows the one before it by the services between them; another
        # one keeps its gap.
        gaps = busy * (service.variance / servers**2)[..., None] + (1 - busy) * self.gaps
        return PassingTimes(self.times + wait, gaps)

    def served(
        self, service: RandomTime, servers: int, gap_variance: Array, earlier_work: Array
    ) -> tuple[PassingTimes, Array]:
        """Return the times after wait and service of each, and the mean wait; `gap_variance` is the
        part of the variance of the gaps that remains where services alternate.
        """
        waited = self.queued(service, servers, earlier_work).closed_up(
            self, service.mean / servers, gap_variance
        )
        wait: Array = (waited.times - self.times).mean(axis=-1)
        # Services of several servers may end out of order; a single server keeps it.
        if servers > 1:
            return waited.delayed(service), wait
        return PassingTimes(waited.times + service.mean[..., None], waited.gaps), wait

    def closed_up(self, before: PassingTimes, step: Array, gap_variance: Array) -> PassingTimes:
        """Return the times of processors that shared the servers in turns: those that waited end
        close together, and the last keeps its time.
        """
        busy = _waiting_probability(self.times - before.times, step)
        gap = _gaps(self.times) * (1 - busy * (1 - gap_variance[..., None]))
        # Added up from the last processor back, whose time stays.
        behind = np.flip(np.cumsum(np.flip(gap, -1), axis=-1), -1) - gap
        return PassingTimes(self.times[..., -1:] - behind, self.gaps * gap_variance[..., None])

    def latest_with(self, other_times: PassingTimes) -> PassingTimes:
        """Return the later of two times of each processor."""
        later = other_times.times.real > self.times.real
        return PassingTimes(
            np.where(later, other_times.times, self.times),
            np.where(later, other_times.gaps, self.gaps),
        )

    def end(self, tail: RandomTime) -> RandomTime:
        """Return the time at which the last processor ends, after an independent time of each."""
        last = self.times[..., -1] + tail.mean
        if tail.kind == "constant":
            return RandomTime(last, 0 * tail.mean)
        return RandomTime(
            np.where(tail.variance.real > 0, _in_order(self, tail)[..., -1], last), tail.variance
        )

    def _waits(
        self, service: RandomTime, apart: int, step: Array, floor: Array, earlier_work: Array
    ) -> Array:
        """Return the mean waits [s], from the work left by those before, which is followed in mean
        and variance: V(k) = (V(k - apart) + step - gap)+.

        Source: Lindley, Proc. Cambridge Philosophical Society 48(2), 1952, 277-289.

        Parameters
        ----------
        apart : 1, or the number of servers whose customers are followed server by server
        step : work that each brings [s]
        floor : work that may be left without a wait [s]
        earlier_work : from earlier visits [s]
        """
        count = self.times.shape[-1]
        varied = service.variance * (step / nonzero(service.mean)) ** 2
        zeros = 0 * (step + self.times[..., 0])
        backlog = [(zeros + earlier_work, zeros)] * min(apart, count)
        for k in range(apart, count):
            mean, variance = backlog[k - apart]
            gap = clamped(self.times[..., k] - self.times[..., k - apart])
            # The gaps are taken as independent, so that their variances add up.
            spread = self.gaps[..., k - apart + 1 : k + 1].sum(axis=-1)
            backlog.append(left_over(mean + step, variance + varied, gap, spread))
        means, variances = (
            np.stack(np.broadcast_arrays(*moments), axis=-1)
            for moments in zip(*backlog, strict=True)
        )
        return left_over(means, variances, floor[..., None], 0 * floor[..., None])[0]


def _gaps(times: Array) -> Array:
    return clamped(times - np.concatenate([times[..., :1], times[..., :-1]], axis=-1))


def _waiting_probability(wait: Array, service: Array) -> Array:
    """Return the probability p of a wait from its mean W, by that of an M/M/1 station: W = p S /
    (1 - p).
    """
    chance: Array = wait / nonzero(wait + service[..., None])
    return chance


def _in_order(passing: PassingTimes, time: RandomTime) -> Array:
    """Compute the mean times, in order, at which the processors are done after each has taken a
    further independent time.

    Derived here: the number that have passed by t is a sum of independent indicators, whose
    distribution is built up one by one; the k-th passes at the integral of P(fewer than k have
    passed). Against order statistics of gamma variates the error is below 0.6 %
    (tests/method/mean_value/test_barriers.py).
    """
    count = passing.times.shape[-1]
    varied = time.variance[..., None]
    # The starts are random too: the variance of the gap before each is added, limited to that of
    # the time (chosen here).
    varied = varied + passing.gaps * varied / nonzero(varied + passing.gaps)
    widest = np.take_along_axis(varied, np.argmax(varied.real, axis=-1)[..., None], axis=-1)[..., 0]
    nodes, weights, low = FittedDistribution(RandomTime(time.mean, widest), np.ones(1)).grid(
        passing.times
    )
    starts = passing.times
    if (varied == varied[..., :1]).all() and (starts == starts[..., :1]).all():
        varied, starts = varied[..., :1], starts[..., :1]  # all start at once, as they often do
    fits = FittedDistribution(RandomTime(time.mean[..., None], varied), np.ones(1))
    chances = np.swapaxes(fits.at(nodes[..., None, :] - starts[..., None]), -1, -2)
    passed = np.broadcast_to(chances, (*chances.shape[:-1], count))
    chance_of_more = np.cumsum(_count_distribution(passed), axis=-1)[..., :count]
    times: Array = low[..., None] + np.sum(weights[..., None] * chance_of_more, axis=-2)
    return times


def _count_distribution(chances: Array) -> Array:
    """Return the distribution of a sum of independent indicators, by their probabilities [...,
    0..count].
    """
    count = chances.shape[-1]
    # The numbers come first: whole arrays at a time are ten times as fast as short rows.
    distribution = np.zeros((count + 1, *chances.shape[:-1]), dtype=chances.dtype)
    distribution[0] = 1
    for k in range(count):
        p = chances[..., k]
        distribution[1 : k + 2] = distribution[1 : k + 2] * (1 - p) + distribution[: k + 1] * p
        distribution[0] *= 1 - p
    return np.ascontiguousarray(np.moveaxis(distribution, 0, -1))
