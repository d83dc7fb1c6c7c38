"""The activity tree with a number for every place where something is waited for.

The queues of a model: stations, locks, and the processors themselves.

What time is booked to: steps, waits, barriers, and standing idle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr
from slipstick.method.closed_form.form import IDLE, IDLE_PROCESSORS
from slipstick.method.closed_form.times import BARRIER
from slipstick.method.mean_value.maxima import Array
from slipstick.model.activity import Activity, BarrierWait, Choice, Fork, Hold, Pipeline, Repeat, Step, Then, steps
from slipstick.model.resources import Lock, Station
from slipstick.model.system import Model, is_processor
from slipstick.vocabulary import LOCKS

SPINNING = tuple(name for name, kind in LOCKS.items() if kind.spinning)
"""Locks whose waiters look at one word again and again."""


@dataclass(frozen=True, slots=True)
class Access:
    """Accesses to a lock's word, as one service of constant time.

    Parameters
    ----------
    name : what they are booked to
    time : of one [s]
    times : how many, one right after the other
    releases : whether the lock is let go with them
    """

    name: str
    time: Expr
    times: int = 1
    releases: bool = False

    @property
    def scv(self) -> float:
        """Give none: an access takes a constant time."""
        return 0.0


@dataclass(frozen=True, slots=True)
class Visit:
    """A place in the tree where a queue is joined.

    Parameters
    ----------
    queue : the station, lock or processor asked for
    held : locks that the asker holds by then
    step : whose time the service is; None for a lock, whose service is what is done while it is held
    left : locks let go at this very moment
    taken : lock taken at this very moment
    """

    index: int
    queue: str
    held: frozenset[str]
    step: Step | Access | None = None
    left: frozenset[str] = frozenset()
    taken: str = ""

    def meets(self, other: Visit) -> bool:
        """Say whether two can be in this queue at once: not if both must hold one lock."""
        return not self.held & other.held


@dataclass(frozen=True, slots=True)
class Leaf:
    """A step; without a visit it is a delay."""

    step: Step | Access
    visit: Visit | None


@dataclass(frozen=True, slots=True)
class Series:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Parallel:
    """All at once, waited for together."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """One of several."""

    options: tuple[tuple[Expr, Node], ...]


@dataclass(frozen=True, slots=True)
class Rounds:
    """The same again and again."""

    count: Expr
    body: Node


@dataclass(frozen=True, slots=True)
class Locked:
    """What is done while a lock is held."""

    visit: Visit
    body: Node


@dataclass(frozen=True, slots=True)
class Meet:
    """A barrier."""

    name: str
    parties: int | None


@dataclass(frozen=True, slots=True)
class Line:
    """A pipeline: its stages, each with the bodies of its items."""

    pipeline: Pipeline
    stages: tuple[tuple[Node, ...], ...]


Node = Leaf | Series | Parallel | Options | Rounds | Locked | Meet | Line


@dataclass(frozen=True, slots=True)
class Grown:
    """A tree and its visits."""

    root: Node
    visits: tuple[Visit, ...]

    @property
    def queues(self) -> dict[str, tuple[Visit, ...]]:
        """The visits of each queue, in the order written."""
        names = dict.fromkeys(visit.queue for visit in self.visits)
        return {name: tuple(visit for visit in self.visits if visit.queue == name) for name in names}

    def frequencies(self, numbers: Mapping[Expr, Array]) -> dict[int, Array]:
        """Count the visits that one pass makes, by their indices [1]."""
        return frequencies(self.root, numbers)


def grow(activity: Activity, model: Model) -> Grown:
    """Number the visits of an activity, those of its locks to their words included.

    Raises
    ------
    NoAnswerError : a barrier stands where not every processor comes to it at once
    """
    return grow_side_by_side([activity], model)[0]


def grow_side_by_side(activities: Sequence[Activity], model: Model) -> list[Grown]:
    """Number the visits of several activities, each with numbers of its own."""
    gardener, found = _Gardener(model), []
    for activity in activities:
        before = len(gardener.visits)
        root = gardener.fresh(activity)
        found.append(Grown(root, tuple(gardener.visits[before:])))
    return found


def mean_of(step: Step | Access, numbers: Mapping[Expr, Array]) -> Array:
    """Give the mean time of a step, or of accesses in a row [s]."""
    return numbers[step.time] * step.times if isinstance(step, Access) else numbers[step.time]


class _Gardener:
    """Numbers visits on the way through a tree; knows which locks were let go or taken just now."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.visits: list[Visit] = []
        self._left: frozenset[str] = frozenset()
        self._taken = ""

    def fresh(self, activity: Activity) -> Node:
        """Begin another activity."""
        return self._apart(activity, frozenset())

    def visit(self, queue: str, held: frozenset[str], step: Step | Access | None = None) -> Visit:
        made = Visit(len(self.visits), queue, held, step, self._left, self._taken)
        self.visits.append(made)
        return made

    def node(self, activity: Activity, held: frozenset[str]) -> Node:
        match activity:
            case Then(parts):
                return Series(tuple(self.node(part, held) for part in parts))
            case Hold(lock, body):
                return self._locked(activity, lock, body, held)
        made = self._other(activity, held)
        self._left, self._taken = frozenset(), ""
        return made

    def _locked(self, activity: Activity, lock: str, body: Activity, held: frozenset[str]) -> Node:
        _no_barrier(activity, "hold")
        acquire, release = _accesses(lock, self.model)
        before = [self._access(each, lock, held) for each in acquire]
        visit = self.visit(lock, held)
        self._left, self._taken = frozenset(), lock
        done = self.node(body, held | {lock})
        after = [self._access(each, lock, held | {lock}) for each in release]
        made = Locked(visit, Series((done, *after)) if after else done)
        self._left, self._taken = self._left | {lock}, ""
        return Series((*before, made)) if before else made

    def _access(self, access: Access, lock: str, held: frozenset[str]) -> Node:
        found = self.model.resources[lock]
        assert isinstance(found, Lock)
        assert found.word is not None
        made = Leaf(access, self.visit(found.word, held, access))
        self._left, self._taken = frozenset(), ""
        return made

    def _other(self, activity: Activity, held: frozenset[str]) -> Node:
        match activity:
            case Step(resource=resource):
                return Leaf(activity, None if resource is None else self.visit(resource, held, activity))
            case BarrierWait(name, parties):
                return Meet(name, parties)
        # What goes on inside begins at another moment, or at the same for several.
        self._left, self._taken = frozenset(), ""
        match activity:
            case Repeat(count, body):
                return Rounds(count, self._apart(body, held))
            case Fork(branches):
                _no_barrier(activity, "fork")
                return Parallel(tuple(self._apart(branch, held) for branch in branches))
            case Choice(options):
                _no_barrier(activity, "choose")
                return Options(tuple((p, self._apart(body, held)) for p, body in options))
            case Pipeline(stages, _, _):
                _no_barrier(activity, "pipeline")
                return Line(activity, tuple(tuple(self._apart(body, held) for body in each.bodies) for each in stages))
        raise TypeError(type(activity))

    def _apart(self, activity: Activity, held: frozenset[str]) -> Node:
        self._left, self._taken = frozenset(), ""
        return self.node(activity, held)


def _accesses(lock: str, model: Model) -> tuple[list[Access], list[Access]]:
    """List the accesses of an acquire and of a release with nobody in the way; those of queue locks go in a row."""
    found = model.resources[lock]
    assert isinstance(found, Lock)
    before, after = found.accesses
    name, rows = f"lock:{lock}", 1 if found.kind in SPINNING else before
    acquire = [Access(name, found.access, rows)] * (before // rows if rows else 0)
    return acquire, [Access(name, found.access, after, releases=True)] if after else []


def _no_barrier(activity: Activity, inside: str) -> None:
    barrier = next((node.name for node in steps(activity) if isinstance(node, BarrierWait)), None)
    if barrier is not None:
        raise NoAnswerError(
            f"barrier {barrier} stands inside a {inside}, where not every processor comes to it in turn; "
            "mean-value has no answer for that, simulation may"
        )


def frequencies(node: Node, numbers: Mapping[Expr, Array]) -> dict[int, Array]:
    """Count the visits that one pass through a part of a tree makes, by their indices [1]."""
    found: dict[int, Array] = {}
    _count(node, np.ones(1), numbers, found)
    return found


def width(node: Node, queue: str) -> int:
    """Count the requests that one processor can have at a queue at once, of a pipeline one at each stage."""
    match node:
        case Leaf(_, visit):
            return int(visit is not None and visit.queue == queue)
        case Parallel(branches):
            return sum(width(branch, queue) for branch in branches)
        case Series(parts):
            return max((width(part, queue) for part in parts), default=0)
        case Options(options):
            return max(width(body, queue) for _, body in options)
        case Rounds(_, body):
            return width(body, queue)
        case Locked(visit, body):
            return max(int(visit.queue == queue), width(body, queue))
        case Line(_, stages):
            each = [max(width(body, queue) for body in bodies) for bodies in stages]
            return sum(each)
    return 0


def inside(node: Node) -> Iterator[Visit]:
    """Yield the visits of a part of a tree, in the order written."""
    match node:
        case Leaf(_, visit):
            if visit is not None:
                yield visit
        case Series(parts) | Parallel(parts):
            for part in parts:
                yield from inside(part)
        case Options(options):
            for _, body in options:
                yield from inside(body)
        case Rounds(_, body):
            yield from inside(body)
        case Locked(visit, body):
            yield visit
            yield from inside(body)
        case Line(_, stages):
            for bodies in stages:
                for body in bodies:
                    yield from inside(body)


def _count(node: Node, often: Array, numbers: Mapping[Expr, Array], found: dict[int, Array]) -> None:
    match node:
        case Leaf(_, visit):
            if visit is not None:
                found[visit.index] = often
        case Series(parts) | Parallel(parts):
            _count_all(parts, often, numbers, found)
        case Options(options):
            for p, body in options:
                _count(body, often * numbers[p], numbers, found)
        case Rounds(count, body):
            _count(body, often * numbers[count], numbers, found)
        case Locked(visit, body):
            found[visit.index] = often
            _count(body, often, numbers, found)
        case Line(pipeline, stages):
            for bodies in stages:
                each = numbers[pipeline.items] if len(bodies) == 1 else np.ones(1)
                _count_all(bodies, often * each, numbers, found)


def _count_all(nodes: Sequence[Node], often: Array, numbers: Mapping[Expr, Array], found: dict[int, Array]) -> None:
    for node in nodes:
        _count(node, often, numbers, found)


PROCESSORS = "own"
"""The queue of all processors, each a station of its own; answers call it so."""

AWAY = ("other", "each-other")
"""Processors that are not the asker's own."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A station, a lock, or all processors.

    Parameters
    ----------
    name : in answers
    visits : the places in the tree where it is joined
    servers : how many serve at once, at each processor
    sharing : served all at once, each more slowly
    lock : service is what is done under it
    width : requests that one processor can have there at once
    """

    name: str
    visits: tuple[Visit, ...]
    servers: int = 1
    sharing: bool = False
    lock: bool = False
    width: int = 1

    def all_servers(self, processors: int) -> int:
        """Count the servers, those of all processors together."""
        return processors if self.name == PROCESSORS else self.servers


def queues_of(model: Model, grown: Grown) -> tuple[Queue, ...]:
    """List the queues of a model, in the order of their first visits."""
    grouped: dict[str, list[Visit]] = {}
    for visit in grown.visits:
        grouped.setdefault(PROCESSORS if is_processor(visit.queue) else visit.queue, []).append(visit)
    made = (_queue(model, name, tuple(each)) for name, each in grouped.items())
    return tuple(replace(each, width=max(1, width(grown.root, each.name))) for each in made)


def _queue(model: Model, name: str, visits: tuple[Visit, ...]) -> Queue:
    match model.resources.get(name):
        case Station(servers, discipline):
            return Queue(name, visits, servers, discipline == "ps")
        case Lock():
            return Queue(name, visits, lock=True)
        case _:
            return Queue(name, visits)


def label_of(visit: Visit) -> str:
    """Say what waiting at a visit is booked to."""
    if isinstance(visit.step, Access):
        return visit.step.name
    return f"wait:{visit.queue}" if visit.step is not None else f"lock:{visit.queue}"


def weight(visit: Visit, other: Visit, others: float) -> float:
    """Say what part of the others at another visit is in the way of one at this visit.

    Who needs a lock that is held here is not in the way. Of n processors each of the n - 1 others asks one
    of its n - 1 others; a numbered one is any.

    Parameters
    ----------
    visit, other : of one queue
    others : how many others there are [1]
    """
    if not visit.meets(other):
        return 0.0
    if not is_processor(visit.queue):
        return 1.0
    asked, by = visit.queue, other.queue
    if asked == "own":
        return 0.0 if by == "own" else 1 / others if by in AWAY else 1 / (others + 1)
    if asked in AWAY:
        if by == "own":
            return 1 / others
        return (others - 1) / others**2 if by in AWAY else 1 / (others + 1)
    return float(asked == by) if by not in ("own", *AWAY) else 1 / (others + 1)


def classes_of(model: Model, labels: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Give component and technology class of each label; waiting is a component and a class of its own."""
    known = {step.name: (step.component, step.technology) for step in model.steps}
    found = {}
    for label in labels:
        if label in known:
            found[label] = known[label]
        elif label.startswith(f"{BARRIER}:"):
            found[label] = (BARRIER, "software")
        else:
            found[label] = (IDLE, "application") if label == IDLE_PROCESSORS else (label, "wait")
    return found
