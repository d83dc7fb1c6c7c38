"""One traversal of an activity: how long it takes, given the wait at each visit.

Sequences add times, choices mix them, forks take their maximum, and pipelines follow item by item. The same traversal
gives derivatives, with complex numbers, and the account: the waits of a solved traversal are kept fixed and what is
booked to each label is scaled by a factor.

Source: maxima as in `maxima`; pipelines by Clark, Operations Research 9(2), 1961, 145-162; branches of a fork that use
one resource: derived here, see `_fork_time`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from slipstick.method.mean_value.maxima import (
    ZERO_TIME,
    Array,
    JointlyNormalTimes,
    RandomTime,
    largest,
    maximum_of,
    maximum_of_identical,
    mixture_of,
    nonzero,
    repeated,
    smallest,
    sum_of,
)
from slipstick.method.mean_value.points import Numbers
from slipstick.method.mean_value.visits import (
    LockAccess,
    Visit,
    VisitedHold,
    VisitedStep,
    mean_service,
    visit_ratios,
    visits_in,
)
from slipstick.model.activity import Activity, Choice, Fork, Pipeline, Repeat, Step, Then
from slipstick.model.system import Model, Station, is_processor
from slipstick.vocabulary import DISCIPLINES, SHARED

_ONE = np.ones(1)


@dataclass
class VisitTimes:
    """What a traversal found.

    Parameters
    ----------
    waits, services : at each visit
    sibling_waits : wait at a visit for other branches of the same processor's fork [s]
    item_waits : wait at a visit for other items of the same processor's pipeline, which delays no other processor [s]
    last_arrivals : time of the last arrival at each barrier, by number of the section that it ends [s]
    shortfalls : time by which a cycle is shorter than the work of a queue, by the label it is booked to [s]
    spans : mean time of one execution of each pipeline, by name [s]
    leads : time from the acquisition of a lock to the arrival at a visit under it
    """

    waits: dict[int, RandomTime] = field(default_factory=dict)
    services: dict[int, RandomTime] = field(default_factory=dict)
    sibling_waits: dict[int, Array] = field(default_factory=dict)
    item_waits: dict[int, Array] = field(default_factory=dict)
    last_arrivals: dict[int, Array] = field(default_factory=dict)
    shortfalls: dict[str, Array] = field(default_factory=dict)
    spans: dict[str, Array] = field(default_factory=dict)
    leads: dict[tuple[str, int], RandomTime] = field(default_factory=dict)

    def copy(self) -> VisitTimes:
        """Copy everything that may be changed."""
        return VisitTimes(*(dict(getattr(self, each.name)) for each in fields(self)))


class Traversal:
    """Evaluates the time of a tree.

    Parameters
    ----------
    model : whose resources say what a barrier costs and how many servers there are
    numbers : value of each expression
    processors : size of the population
    waits : at each visit; 0 where there is none
    factors : by label, the factor on what is booked to it; 1 but for finding the account
    fixed : what a solved traversal found, to be used instead of finding it anew
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
        self.model, self.numbers, self.processors = model, numbers, processors
        self.fixed = fixed
        self.found = fixed or VisitTimes()
        self.services: dict[int, RandomTime] = {}
        self._waits, self._factors = waits, factors or {}
        self._since: dict[str, RandomTime] = {}
        """By lock held, the time since it was acquired."""

    def time(self, node: Activity) -> RandomTime:
        """Give the time of a part that has no barrier inside."""
        match node:
            case VisitedStep(step, visit):
                service = self._service(step)
                if visit is None:
                    return service
                self._note_leads(visit)
                return self._visited(visit, service)
            case VisitedHold(visit, body):
                return self._visited(visit, self._held(visit, body))
            case Then(parts):
                return self._sequence(parts)
            case Repeat(count, body):
                return repeated(self.numbers[count], self.time(body))
            case Choice(options):
                return mixture_of([(self.numbers[p], self.time(body)) for p, body in options])
            case Fork(branches):
                return _fork_time(self, branches)
            case Pipeline():
                return _pipeline_time(self, node)
        raise TypeError(type(node))

    def _held(self, visit: Visit, body: Activity) -> RandomTime:
        outer, wait = self._since, self._waits.get(visit.index, ZERO_TIME)
        self._note_leads(visit)
        self._since = {name: sum_of([each, wait]) for name, each in outer.items()} | {visit.queue: ZERO_TIME}
        held = self.time(body)
        self._since = outer
        return held

    def _sequence(self, parts: Sequence[Activity]) -> RandomTime:
        start, times = self._since, list[RandomTime]()
        for part in parts:
            times.append(self.time(part))
            self._since = {name: sum_of([each, times[-1]]) for name, each in self._since.items()}
        self._since = start
        return sum_of(times)

    def _note_leads(self, visit: Visit) -> None:
        self.found.leads.update({(name, visit.index): each for name, each in self._since.items()})

    def wait(self, visit: Visit) -> RandomTime:
        """Give the wait at a visit that has been traversed."""
        wait = self.found.waits[visit.index]
        return wait if self.fixed is None or wait is ZERO_TIME else wait.scaled(self.factor(visit.label))

    def without_waits(self) -> Traversal:
        """Make a traversal in which nothing waits."""
        return Traversal(self.model, self.numbers, self.processors, {})

    def factor(self, label: str) -> Array:
        """Give the factor on what is booked to a label."""
        return self._factors.get(label, _ONE)

    def servers(self, queue: str) -> int:
        """Count the servers of a resource."""
        return self.model.resources[queue].capacity if queue in self.model.resources else 1

    def shares_servers(self, visit: Visit) -> bool:
        """Say whether a visit is to a station whose servers are shared by all present."""
        resource = self.model.resources.get(visit.queue)
        return isinstance(resource, Station) and DISCIPLINES[resource.discipline].order == SHARED

    def _service(self, step: Step | LockAccess) -> RandomTime:
        mean = mean_service(step, self.numbers) * self.factor(step.name)
        kind = {0.0: "constant", 1.0: "exponential"}.get(step.scv, "general")
        return RandomTime(mean, step.scv * mean * mean, kind)

    def _visited(self, visit: Visit, service: RandomTime) -> RandomTime:
        self.services[visit.index] = service
        if self.fixed is None:
            self.found.waits[visit.index] = self._waits.get(visit.index, ZERO_TIME)
            self.found.services[visit.index] = service
        return sum_of([service, self.wait(visit)])


def _fork_time(made: Traversal, branches: Sequence[Activity]) -> RandomTime:
    """Give the time until all branches are done: the maximum of their times, taken as independent.

    Where more branches use one resource than it has servers, the fork also takes at least a wait at that resource, the
    service of all branches there, and the least of the times before and after it. That bound holds for constant times;
    for random ones the larger of the two means is taken. The errors left are those of the construct "forks" in
    benchmarks/mean_value.py.
    """
    found = maximum_of([made.time(branch) for branch in branches])
    for name in _shared_queues(branches):
        users = [branch for branch in branches if _uses(branch, name)]
        servers = made.servers(name)
        if len(users) > servers:
            found = _longer(found, _all_served(made, users, name, servers))
            if any(len(_places(branch, name)) > 1 for branch in users):
                # Branches that come back to a resource: everything but their last visits goes on side by side.
                found = _longer(found, _last_visits_served(made, users, name, servers))
    return found


def _shared_queues(branches: Sequence[Activity]) -> list[str]:
    """Name the resources that several branches of one fork use; "another processor" is another one for each branch."""
    used = [dict.fromkeys(visit.queue for visit in visits_in(branch)) for branch in branches]
    names = dict.fromkeys(name for each in used for name in each)
    single = [name for name in names if not is_processor(name) or name == "own" or name.startswith("processor[")]
    return [name for name in single if sum(name in each for each in used) > 1]


def _longer(a: RandomTime, b: RandomTime) -> RandomTime:
    """Take the time with the larger mean: the two depend on each other so much that it is nearly always the longer."""
    larger = b.mean.real > a.mean.real
    kind = "constant" if a.kind == b.kind == "constant" else "general"
    return RandomTime(np.where(larger, b.mean, a.mean), np.where(larger, b.variance, a.variance), kind)


def _all_served(made: Traversal, branches: Sequence[Activity], name: str, servers: int) -> RandomTime:
    """Give the time from the fork until one resource has served all branches and the last of them has ended."""
    visits = [[visit for visit in visits_in(branch) if visit.queue == name] for branch in branches]
    works, calls = _works(made, branches, visits)
    flat = [visit for each in visits for visit in each]
    last, delayed, variance = _burst(works, servers)
    if made.fixed is None:
        # The waits of the branches rise evenly from 0 to that of the last: half of it for each branch.
        made.found.sibling_waits.update({v.index: delayed / 2 * len(works) / nonzero(calls) for v in flat})
    else:
        # The services of the other branches are waits of the last.
        delayed = delayed.real * made.factor(flat[0].label)
    waits = [made.wait(visit) for visit in flat]
    wait = largest([each.mean for each in waits])
    before, after = zip(*(_before_and_after(made, branch, name) for branch in branches), strict=True)
    constant = all(each.kind == "constant" for each in (*works, *waits))
    return RandomTime(
        smallest(before) + wait + delayed + last.mean + smallest(after),
        variance + waits[0].variance,
        "constant" if constant else "general",
    )


def _last_visits_served(made: Traversal, branches: Sequence[Activity], name: str, servers: int) -> RandomTime:
    """Give the time until all branches are done if only their last visits to a resource delay each other."""
    visits, before, after = [], [], []
    for branch in branches:
        parts, last = _parts(branch), _places(branch, name)[-1]
        visits.append([visit for visit in visits_in(parts[last]) if visit.queue == name])
        before.append(sum_of([made.time(part) for part in parts[:last]]).mean)
        after.append(sum_of([made.time(part) for part in parts[last + 1 :]]).mean)
    works, _ = _works(made, branches, visits)
    served, delayed, variance = _burst(works, servers)
    if made.fixed is not None:
        delayed = delayed.real * made.factor(visits[0][0].label)
    wait = largest([made.wait(visit).mean for each in visits for visit in each])
    constant = all(work.kind == "constant" for work in works)
    return RandomTime(
        smallest(before) + wait + delayed + served.mean + smallest(after),
        variance,
        "constant" if constant else "general",
    )


def _works(
    made: Traversal, branches: Sequence[Activity], visits: Sequence[Sequence[Visit]]
) -> tuple[list[RandomTime], Array]:
    """Give the service of the chosen visits of each branch, and the number of visits of all [1]."""
    ratios = [visit_ratios(branch, made.numbers) for branch in branches]
    pairs = list(zip(visits, ratios, strict=True))
    works = [sum_of([repeated(ratio[v.index], made.services[v.index]) for v in each]) for each, ratio in pairs]
    return works, sum((ratio[v.index] for each, ratio in pairs for v in each), np.zeros(1))


def _burst(works: Sequence[RandomTime], servers: int) -> tuple[RandomTime, Array, Array]:
    """Let k works of mean m begin at once at c servers.

    Returns
    -------
    the last service to end, its wait for the others m (k - c) / c, and the variance of all work of one server
    """
    count = len(works)
    mean = sum((work.mean for work in works), np.zeros(1)) / count
    variance = sum((work.variance for work in works), np.zeros(1)) / count
    kinds = {work.kind for work in works}
    typical = RandomTime(mean, variance, kinds.pop() if len(kinds) == 1 else "general")
    last = maximum_of_identical(typical, np.full(1, float(servers)))
    return last, mean * (count - servers) / servers, count * variance / servers**2


def _before_and_after(made: Traversal, branch: Activity, name: str) -> tuple[Array, Array]:
    """Give the mean times of a branch before its first visit to a resource and after its last."""
    parts, at = _parts(branch), _places(branch, name)
    before = sum_of([made.time(part) for part in parts[: at[0]]])
    after = sum_of([made.time(part) for part in parts[at[-1] + 1 :]])
    return before.mean, after.mean


def _parts(branch: Activity) -> Sequence[Activity]:
    return branch.parts if isinstance(branch, Then) else (branch,)


def _places(branch: Activity, name: str) -> list[int]:
    """Number the parts of a branch that use a resource."""
    return [index for index, part in enumerate(_parts(branch)) if _uses(part, name)]


def _uses(node: Activity, name: str) -> bool:
    return any(visit.queue == name for visit in visits_in(node))


MOST_ITEMS = 64
"""Items of a pipeline followed one by one; each further one takes as long as the last of these."""


def _pipeline_time(made: Traversal, pipeline: Pipeline) -> RandomTime:
    """Give the time until the last item has left the last stage.

    An item begins a stage when it has left the stage before and a place is free: a serial stage has one place, a
    parallel one as many as its station has servers, or any number. The ends of items are taken as jointly normal.
    Against samples the error is below 3.5 % (tests/method/mean_value/test_traversal.py); the construct "pipelines"
    of benchmarks/mean_value.py adds contention.
    """
    items = made.numbers[pipeline.items]
    stages = [[made.time(body) for body in stage.bodies] for stage in pipeline.stages]
    most = min(int(np.floor(np.max(items.real))) + 1, MOST_ITEMS)
    places = [_stage_places(made, pipeline, index) for index in range(len(stages))]
    follow = _ItemTimes(stages, places, _wait_factors(made, pipeline), items if _shares(made, pipeline) else None)
    ends = [follow.item(number) for number in range(most)]
    for index, waited in enumerate(follow.waited if made.fixed is None else ()):
        visit = _visit_of(pipeline, index)
        if visit is not None and pipeline.stages[index].kind == "parallel":
            made.found.item_waits[visit.index] = waited / most
    constant = all(body.kind == "constant" for bodies in stages for body in bodies)
    mean, variance = (_interpolated([end[part] for end in ends], items) for part in (0, 1))
    if made.fixed is None:
        # At the start of a program the processors, in the order in which they arrive, stand along the first axis.
        made.found.spans.setdefault(pipeline.name, mean.mean(axis=0) if np.ndim(mean) > 1 else mean)
    return RandomTime(mean, variance, "constant" if constant else "general")


def _interpolated(ends: list[Array], items: Array) -> Array:
    """Read a sequence at a number of items, between two and beyond the last by a straight line."""
    if len(ends) == 1:
        return ends[0]
    table = np.stack(np.broadcast_arrays(*ends), axis=-1)
    at = np.clip(np.floor(items.real).astype(int), 1, len(ends) - 1) - 1
    pick = np.broadcast_to(at[..., None], (*table.shape[:-1], 1))
    low, high = (np.take_along_axis(table, pick + step, axis=-1)[..., 0] for step in (0, 1))
    result: Array = low + (items - (at + 1)) * (high - low)
    return result


class _ItemTimes:
    """Follows items through the stages of a pipeline.

    Parameters
    ----------
    stages : time at each stage, of one body for all items or one for each
    places : items that each stage takes at once; None for any number
    wait_factors : by stage, the factor on waits for a place, where an account is read off
    together : number of items that share the servers of the first stage, if they do
    """

    def __init__(
        self,
        stages: list[list[RandomTime]],
        places: list[int | None],
        wait_factors: dict[int, Array],
        together: Array | None,
    ) -> None:
        self._stages, self._places, self._wait_factors, self._together = stages, places, wait_factors, together
        self.waited: list[Array] = [np.zeros(1) for _ in stages]
        self._times = JointlyNormalTimes()
        self._occupied: list[list[int]] = [[] for _ in stages]
        self._last: int | None = None

    def item(self, number: int) -> tuple[Array, Array]:
        """Give mean and variance of the time when this item and all before it are done."""
        times = self._times
        end: int | None = None
        for index, bodies in enumerate(self._stages):
            arrived, occupied = end, self._occupied[index]
            begin = arrived
            if self._places[index] is not None and len(occupied) == self._places[index]:
                free = occupied.pop(0)
                begin = self._begin(index, arrived, free if arrived is None else times.later(free, arrived))
            body = bodies[number % len(bodies)]
            end = times.after(begin, body if index else self._first_stage(number, body))
            if self._places[index] is not None:
                occupied.append(end)
        assert end is not None
        self._last = end if self._last is None or self._places[-1] == 1 else times.later(self._last, end)
        times.keep({self._last, *(each for occupied in self._occupied for each in occupied)})
        return times.mean[self._last], times.covariance[self._last, self._last]

    def _begin(self, index: int, arrived: int | None, begin: int) -> int:
        """Add up the wait for a place; an account books it as a wait, not to the steps that are waited for."""
        arrival = np.zeros(1) if arrived is None else self._times.mean[arrived]
        waited = self._times.mean[begin] - arrival
        self.waited[index] = self.waited[index] + waited
        factor = self._wait_factors.get(index)
        return begin if factor is None else self._times.with_mean(begin, arrival + waited.real * factor)

    def _first_stage(self, number: int, body: RandomTime) -> RandomTime:
        """Give an item's time at a first stage whose servers all items share from the start.

        Derived here: shared by n items at c servers, constant services all end together, after n / c services;
        exponential ones end one by one as at a queue. In between, the part 1 - scv of each service ends last.
        """
        places = self._places[0]
        if self._together is None or places is None:
            return body
        scv = np.where(body.scv.real < 1, body.scv, 1)
        if number >= places:
            return RandomTime(scv * body.mean, scv * body.variance)
        more = (1 - scv) * body.mean * np.where(self._together.real > places, self._together - places, 0) / places
        if 0 in self._wait_factors:
            more = more.real * self._wait_factors[0]
        return RandomTime(body.mean + more, body.variance)


def _visit_of(pipeline: Pipeline, index: int) -> Visit | None:
    """Give the visit of a stage that is a single step."""
    (body, *_) = pipeline.stages[index].bodies
    return body.visit if isinstance(body, VisitedStep) else None


def _wait_factors(made: Traversal, pipeline: Pipeline) -> dict[int, Array]:
    """Give the factor on items' waits for a station, where they are booked as such, by stage."""
    found = {}
    for index, stage in enumerate(pipeline.stages):
        visit = _visit_of(pipeline, index)
        if made.fixed is not None and stage.kind == "parallel" and visit is not None:
            found[index] = made.factor(visit.label)
    return found


def _shares(made: Traversal, pipeline: Pipeline) -> bool:
    """Say whether all items share the servers of a station from the start."""
    visit = _visit_of(pipeline, 0)
    return pipeline.stages[0].kind != "serial" and visit is not None and made.shares_servers(visit)


def _stage_places(made: Traversal, pipeline: Pipeline, index: int) -> int | None:
    """Count the items that a stage takes at once; None for any number."""
    if pipeline.stages[index].kind == "serial":
        return 1
    visit = _visit_of(pipeline, index)
    resource = None if visit is None else made.model.resources.get(visit.queue)
    return resource.servers if isinstance(resource, Station) else None
