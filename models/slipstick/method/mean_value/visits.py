"""The visits of an activity: every place where it uses a station, a lock or a processor, and the queues there.

`visit_tree` rebuilds an activity. Sequences, forks, choices, repeats, pipelines and barriers stay the model's own
nodes; a step becomes a `VisitedStep` and a lock held a `VisitedHold`, which know their `Visit`. The accesses of a lock
to its word become steps of their own. All visits to one resource make a `Queue`; the processors together are one queue
whose servers are the processors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr
from slipstick.method.mean_value.maxima import Array
from slipstick.model.activity import Activity, BarrierWait, Choice, Fork, Hold, Pipeline, Repeat, Step, Then, steps
from slipstick.model.system import HeldResource, Lock, Model, Station, is_processor
from slipstick.vocabulary import DISCIPLINES, LOCKS, SHARED

SPIN_LOCKS = tuple(name for name, kind in LOCKS.items() if kind.spinning)
"""Kinds of locks whose waiting processors access the lock's word."""

Numbers = Mapping[Expr, Array]
"""The numbers that a model has at aligned points."""

PROCESSORS = "own"
"""Name of the queue of all processors in answers."""

OTHER_PROCESSORS = ("other", "each-other")
"""Resources that stand for a processor other than the customer's own."""


@dataclass(frozen=True, slots=True)
class LockAccess:
    """Accesses to a lock's word, as one service of constant time.

    Parameters
    ----------
    name : label they are booked to
    time : of one access [s]
    count : accesses in a row [1]
    releases : whether they release the lock
    """

    name: str
    time: Expr
    count: int = 1
    releases: bool = False

    @property
    def scv(self) -> float:
        """Squared coefficient of variation: an access takes constant time."""
        return 0.0


@dataclass(frozen=True, slots=True)
class Visit:
    """A place in the activity at which a queue is joined.

    Parameters
    ----------
    index : number of the visit, unique among the trees built together
    queue : name of the resource
    held : locks and permits held at that moment
    exclusive : those of them that one processor holds at a time
    step : the step that is served; None for a lock, whose service is what is done while it is held
    released : locks released immediately before
    acquired : lock acquired immediately before
    label : that waiting at this visit is booked to
    """

    index: int
    queue: str
    held: frozenset[str]
    exclusive: frozenset[str]
    step: Step | LockAccess | None = None
    released: frozenset[str] = frozenset()
    acquired: str = ""
    label: str = ""

    def can_meet(self, other: Visit) -> bool:
        """Say whether two processors can be at these visits at once: not if both must hold the same lock."""
        return not self.exclusive & other.exclusive


@dataclass(frozen=True, slots=True)
class VisitedStep(Activity):
    """A step with its visit; a step without one is a delay."""

    step: Step | LockAccess
    visit: Visit | None


@dataclass(frozen=True, slots=True)
class VisitedHold(Activity):
    """A lock held, with the visit to its queue."""

    visit: Visit
    body: Activity

    @property
    def children(self) -> tuple[Activity, ...]:
        return (self.body,)

    def rebuilt(self, children: Sequence[Activity]) -> VisitedHold:
        return VisitedHold(self.visit, *children)


@dataclass(frozen=True, slots=True)
class VisitTree:
    """An activity with its visits."""

    root: Activity
    visits: tuple[Visit, ...]

    def visit_ratios(self, numbers: Numbers) -> dict[int, Array]:
        """Give the mean number of visits in one cycle, by index [1]."""
        return visit_ratios(self.root, numbers)


def visit_trees(activities: Sequence[Activity], model: Model) -> list[VisitTree]:
    """Find the visits of activities, numbered through, those of locks to their words included.

    Raises
    ------
    NoAnswerError : a barrier stands inside a lock, fork, choice or pipeline
    """
    builder, trees = _TreeBuilder(model), []
    for activity in activities:
        before = len(builder.visits)
        root = builder.separate(activity, frozenset())
        trees.append(VisitTree(root, tuple(builder.visits[before:])))
    return trees


_NO_BARRIER_INSIDE: dict[type[Activity], str] = {Fork: "fork", Choice: "choose", Pipeline: "pipeline"}
"""Nodes inside which not every processor comes to a barrier in turn."""


class _TreeBuilder:
    """Rebuilds activities in the order of execution and knows which locks were released or acquired just before."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.visits: list[Visit] = []
        self._released: frozenset[str] = frozenset()
        self._acquired = ""

    def separate(self, activity: Activity, held: frozenset[str]) -> Activity:
        """Rebuild an activity that does not begin at the moment at which the one written before it ends."""
        self._forget()
        return self._rebuilt(activity, held)

    def _rebuilt(self, activity: Activity, held: frozenset[str]) -> Activity:
        match activity:
            case Then(parts):
                return Then(tuple(self._rebuilt(part, held) for part in parts))
            case Hold(lock, body):
                return self._hold(lock, body, held)
            case Step(resource=resource):
                visit = None if resource is None else self._visit(resource, held, activity)
                made: Activity = VisitedStep(activity, visit)
            case _:
                if type(activity) in _NO_BARRIER_INSIDE:
                    _refuse_barriers(activity, _NO_BARRIER_INSIDE[type(activity)])
                made = activity.rebuilt([self.separate(part, held) for part in activity.children])
        self._forget()
        return made

    def _hold(self, lock: str, body: Activity, held: frozenset[str]) -> Activity:
        _refuse_barriers(body, "hold")
        acquire, release = _accesses(lock, self.model)
        before = [self._access(each, lock, held) for each in acquire]
        visit = self._visit(lock, held)
        self._forget()
        self._acquired = lock
        inside = self._rebuilt(body, held | {lock})
        after = [self._access(each, lock, held | {lock}) for each in release]
        made = VisitedHold(visit, Then((inside, *after)) if after else inside)
        self._released, self._acquired = self._released | {lock}, ""
        return Then((*before, made)) if before else made

    def _access(self, access: LockAccess, lock: str, held: frozenset[str]) -> Activity:
        word = self.model.held_resource(lock).word
        assert word is not None
        made = VisitedStep(access, self._visit(word, held, access))
        self._forget()
        return made

    def _visit(self, queue: str, held: frozenset[str], step: Step | LockAccess | None = None) -> Visit:
        if isinstance(step, LockAccess):
            label = step.name
        else:
            label = f"wait:{queue}" if step is not None else self.model.held_resource(queue).label(queue)
        exclusive = frozenset(name for name in held if self.model.resources[name].capacity == 1)
        made = Visit(len(self.visits), queue, held, exclusive, step, self._released, self._acquired, label)
        self.visits.append(made)
        return made

    def _forget(self) -> None:
        self._released, self._acquired = frozenset(), ""


def _accesses(lock: str, model: Model) -> tuple[list[LockAccess], list[LockAccess]]:
    """List the accesses of an uncontended acquire and release; a queue lock makes those of its acquire in a row."""
    found = model.held_resource(lock)
    if found.word is None:
        return [], []
    before, after = found.accesses
    spins = isinstance(found, Lock) and found.kind in SPIN_LOCKS
    name, together = found.label(lock), 1 if spins else before
    acquire = [LockAccess(name, found.access, together)] * (before // together if together else 0)
    return acquire, [LockAccess(name, found.access, after, releases=True)] if after else []


def _refuse_barriers(activity: Activity, inside: str) -> None:
    barrier = next((node.name for node in steps(activity) if isinstance(node, BarrierWait)), None)
    if barrier is not None:
        raise NoAnswerError(
            f"barrier {barrier} stands inside a {inside}, where not every processor comes to it in turn; "
            "mean-value has no answer for that, simulation may"
        )


def mean_service(step: Step | LockAccess, numbers: Numbers) -> Array:
    """Give the mean time of a step, or of accesses in a row [s]."""
    return numbers[step.time] * step.count if isinstance(step, LockAccess) else numbers[step.time]


def visits_in(node: Activity) -> Iterator[Visit]:
    """Yield the visits of a part of a tree, in the order written."""
    if isinstance(node, VisitedStep | VisitedHold) and node.visit is not None:
        yield node.visit
    for part in node.children:
        yield from visits_in(part)


def visit_ratios(node: Activity, numbers: Numbers) -> dict[int, Array]:
    """Give the mean number of visits in one execution of a part of a tree, by index [1]."""
    found: dict[int, Array] = {}
    _add_ratios(node, np.ones(1), numbers, found)
    return found


def _add_ratios(node: Activity, ratio: Array, numbers: Numbers, found: dict[int, Array]) -> None:
    if isinstance(node, VisitedStep | VisitedHold) and node.visit is not None:
        found[node.visit.index] = ratio
    match node:
        case Choice(options):
            parts = [(ratio * numbers[p], body) for p, body in options]
        case Repeat(count, body):
            parts = [(ratio * numbers[count], body)]
        case Pipeline(stages, items):
            parts = [
                (ratio * numbers[items] if len(stage.bodies) == 1 else ratio, body)
                for stage in stages
                for body in stage.bodies
            ]
        case _:
            parts = [(ratio, body) for body in node.children]
    for each, body in parts:
        _add_ratios(body, each, numbers, found)


def _most_requests(node: Activity, queue: str) -> int:
    """Count the requests that one processor can have at a queue at once; of a pipeline, one at each stage."""
    match node:
        case Fork(branches):
            return sum(_most_requests(branch, queue) for branch in branches)
        case Pipeline(stages):
            return sum(max(_most_requests(body, queue) for body in stage.bodies) for stage in stages)
    own = isinstance(node, VisitedStep | VisitedHold) and node.visit is not None and node.visit.queue == queue
    return max(int(own), *(_most_requests(part, queue) for part in node.children), 0)


@dataclass(frozen=True, slots=True)
class Queue:
    """A station, a lock, or all processors.

    Parameters
    ----------
    name : in answers
    visits : to this queue
    servers : of the station, or of each processor
    sharing : whether servers are shared by all present (processor sharing)
    lock : whether it is a lock, whose service is what is done while it is held
    spin : whether it is a lock whose waiting processors access its word
    requests : the most requests that one processor can have there at once
    """

    name: str
    visits: tuple[Visit, ...]
    servers: int = 1
    sharing: bool = False
    lock: bool = False
    spin: bool = False
    requests: int = 1

    def all_servers(self, processors: int) -> int:
        """Count the servers, those of all processors together."""
        return processors if self.name == PROCESSORS else self.servers

    @property
    def label(self) -> str:
        """The label that waiting for work in progress is booked to."""
        return self.visits[0].label if self.lock else f"wait:{self.visits[0].queue}"


def queues_of(model: Model, trees: Sequence[VisitTree]) -> tuple[Queue, ...]:
    """List the queues of all trees, in the order of their first visits."""
    grouped: dict[str, list[Visit]] = {}
    for visit in (visit for tree in trees for visit in tree.visits):
        grouped.setdefault(PROCESSORS if is_processor(visit.queue) else visit.queue, []).append(visit)
    made = [_queue(model, name, tuple(visits)) for name, visits in grouped.items()]
    return tuple(
        replace(each, requests=max(1, *(_most_requests(tree.root, each.name) for tree in trees))) for each in made
    )


def _queue(model: Model, name: str, visits: tuple[Visit, ...]) -> Queue:
    match model.resources.get(name):
        case Station(servers, discipline):
            return Queue(name, visits, servers, DISCIPLINES[discipline].order == SHARED)
        case HeldResource() as held:
            spin = isinstance(held, Lock) and held.kind in SPIN_LOCKS
            return Queue(name, visits, held.capacity, lock=True, spin=spin)
        case _:
            return Queue(name, visits)


def competing_fraction(visit: Visit, other: Visit, others: float) -> float:
    """Give the fraction of the other processors at one visit that compete with a processor at another visit [1].

    Processors that need a lock held here do not compete. A request for another processor goes to any of the
    `others` processors with equal probability, one for a numbered processor to that one; so of n processors each of
    the n - 1 others has 1 / (n - 1) of its requests at one certain processor, and an arriving request meets a request
    of some third processor with probability (n - 2) / (n - 1)^2.

    Parameters
    ----------
    visit, other : visits to one queue
    others : number of other processors [1]
    """
    if not visit.can_meet(other):
        return 0.0
    if not is_processor(visit.queue):
        return 1.0
    used, by = visit.queue, other.queue
    if used == "own":
        return 0.0 if by == "own" else 1 / others if by in OTHER_PROCESSORS else 1 / (others + 1)
    if used in OTHER_PROCESSORS:
        if by == "own":
            return 1 / others
        return (others - 1) / others**2 if by in OTHER_PROCESSORS else 1 / (others + 1)
    return float(used == by) if by not in ("own", *OTHER_PROCESSORS) else 1 / (others + 1)
