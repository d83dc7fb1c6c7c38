"""The visits of an activity: every place where it uses a station, a lock or a processor, and the
queues there.

`visit_tree` rebuilds an activity. Sequences, forks, choices, repeats, pipelines and barriers stay
the model's own nodes; a step becomes a `VisitedStep` and a lock held a `VisitedHold`, which know
their `Visit`. The accesses of a lock to its word become steps of their own. All visits to one
resource make a `Queue`; the processors together are one queue whose servers are the processors.

What an arriving processor waits for there follows from the arrival theorem: with n processors, one
that arrives at a queue finds the mean numbers of the population with one processor fewer, q_j
present and u_j in service at visit j, each served for a time S_j. At a first-come station of c
servers::

    W = [sum_j (q_j - u_j) S_j + P(all busy) / u sum_j u_j R_j] / c,   u = sum_j u_j,   R_j = S_j (1 + scv_j) / 2

and where servers are shared, W = S (q - u + P(all busy)) / c is the time by which the service takes
longer. The rules beyond that, each an approximation of its own:

- *whole service*: R_j goes over to a whole typical service as the queue never runs empty
  (`whole_service_weight`), and where services vary more than exponential ones as far as machine
  repair tells (`finite_source_residual`);
- *simultaneous possession*: a lock, or a number of permits, is a queue whose service is all that is
  done while it is held, waits included, as in the method of surrogate delays (Source: Jacobson and
  Lazowska, CACM 25(2), 1982, 142-151). Corrections of the numbers found keep it from counting
  processors that the lock keeps elsewhere: `_meets`, `_present_at`, `_add_predecessors` and
  `_limit_to_work`, derived there. Against Markov chains of a lock whose body uses a station that is
  used outside it too, the time errs by 1 % in the median and 4 % in 95 of 100
  (tests/method/mean_value/test_arrivals.py). What only holders of some permits use is solved for
  each number of them (`FlowEquivalentServer` in `closed`);
- *variance of the wait*: the number ahead is taken as geometric (`_variance_ahead`).

Source: Reiser and Lavenberg, J. ACM 27(2), 1980, 313-322 (arrival theorem, exact in product form);
Reiser, IBM J. Res. Dev. 23(4), 1979 (residual services). Checked by benchmarks/mean_value.py,
constructs "stations", "locks" and "permits".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr
from slipstick.late import np
from slipstick.model.activity import (
    WRITE,
    Activity,
    BarrierWait,
    Choice,
    Fork,
    Hold,
    Pipeline,
    Repeat,
    Step,
    Then,
    steps,
)
from slipstick.model.system import (
    HeldResource,
    Lock,
    Model,
    ReaderWriterLock,
    Station,
    is_processor,
)
from slipstick.queueing.residual_wait import erlang_b, finite_source_all_busy, residual_time
from slipstick.random_times import (
    ZERO_TIME,
    Array,
    RandomTime,
    added,
    clamped,
    largest,
    left_over,
    nonzero,
)
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
    scv: ClassVar[float] = 0.0


@dataclass(frozen=True, slots=True)
class Visit:
    """A place in the activity at which a queue is joined.

    Parameters
    ----------
    index : number of the visit, unique among the trees built together
    queue : name of the resource
    held : locks and permits held at that moment
    exclusive : those of them that one processor holds alone
    step : the step that is served; None for a lock, whose service is what is done while it is held
    released : locks released immediately before
    label : that waiting at this visit is booked to
    mode : in which a reader-writer lock is held
    """

    index: int
    queue: str
    held: frozenset[str]
    exclusive: frozenset[str]
    step: Step | LockAccess | None = None
    released: frozenset[str] = frozenset()
    label: str = ""
    mode: str = ""

    def can_meet(self, other: Visit) -> bool:
        """Return whether two processors can be at these visits at once: not if one must hold alone
        what the other holds.
        """
        return not (self.exclusive & other.held or other.exclusive & self.held)


@dataclass(frozen=True, slots=True)
class VisitedStep(Activity):
    """A step with its visit; a step without one is a delay."""

    step: Step | LockAccess
    visit: Visit | None


@dataclass(frozen=True, slots=True)
class VisitedHold(Activity):
    """A lock held, with the visit to its queue.

    With `together`, its body holds another lock that is acquired at the same moment: this one is
    not held while that is waited for.
    """

    visit: Visit
    body: Activity
    together: bool = False

    made_of = ("body",)


@dataclass(frozen=True, slots=True)
class VisitTree:
    """An activity with its visits."""

    root: Activity
    visits: tuple[Visit, ...]

    def visit_ratios(self, numbers: Numbers) -> dict[int, Array]:
        """Return the mean number of visits in one cycle, by index [1]."""
        return visit_ratios(self.root, numbers)


def visit_trees(activities: Sequence[Activity], model: Model) -> list[VisitTree]:
    """Number the visits of activities, those of locks to their words included.

    Raises
    ------
    NoAnswerError : a barrier stands inside a lock, fork, choice or pipeline
    """
    builder, trees = _TreeBuilder(model), []
    for activity in activities:
        before = len(builder.visits)
        root = builder.rebuilt(activity, frozenset())
        trees.append(VisitTree(root, tuple(builder.visits[before:])))
        builder.released = frozenset()
    return trees


_NO_BARRIER_INSIDE: dict[type[Activity], str] = {
    Fork: "fork",
    Choice: "choose",
    Pipeline: "pipeline",
}
"""Nodes inside which not every processor comes to a barrier in turn."""


class _TreeBuilder:
    """Rebuilds activities in the order of execution and knows which locks were released just
    before.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.visits: list[Visit] = []
        self.released: frozenset[str] = frozenset()
        self.written: frozenset[str] = frozenset()
        """Reader-writer locks that are held to write."""

    def rebuilt(self, activity: Activity, held: frozenset[str]) -> Activity:
        match activity:
            case Then(parts):
                return Then(tuple(self.rebuilt(part, held) for part in parts))
            case Hold():
                chain = self.model.taken_together(activity)
                return (
                    self._hold_together(chain, held)
                    if len(chain) > 1
                    else self._hold(activity, held)
                )
            case Step(resource=resource):
                made: Activity = VisitedStep(
                    activity,
                    self._visit(resource, held, activity) if resource is not None else None,
                )
            case _:
                if type(activity) in _NO_BARRIER_INSIDE:
                    _refuse_barriers(activity, _NO_BARRIER_INSIDE[type(activity)])
                inside = []
                for part in activity.children:
                    # A part does not begin where the one written before it ends, so no lock was
                    # released just before.
                    self.released = frozenset()
                    inside.append(self.rebuilt(part, held))
                made = activity.rebuilt(inside)
        self.released = frozenset()
        return made

    def _hold(self, node: Hold, held: frozenset[str]) -> Activity:
        """Rebuild a lock with the accesses of an uncontended acquire and release; those of a
        queue lock to acquire are one visit.
        """
        lock = node.resource
        _refuse_barriers(node.body, "hold")
        found = self.model.held_resource(lock)
        before, after = found.accesses if found.word is not None else (0, 0)
        together = 1 if isinstance(found, Lock) and found.kind in SPIN_LOCKS else before
        acquire = LockAccess(found.label(lock), found.access, together)
        first = [
            self._access(acquire, found.word, held)
            for _ in range(before // together if together else 0)
        ]
        visit = self._visit(lock, held, mode=node.mode)
        self.released, outer = frozenset(), self.written
        self.written = outer | {lock} if node.mode == WRITE else outer
        parts = [self.rebuilt(node.body, held | {lock})]
        self.written = outer
        if after:
            parts.append(
                self._access(
                    replace(acquire, count=after, releases=True), found.word, held | {lock}
                )
            )
        made = VisitedHold(visit, Then(tuple(parts)) if after else parts[0])
        self.released = self.released | {lock}
        return Then((*first, made)) if first else made

    def _hold_together(self, chain: Sequence[Hold], held: frozenset[str]) -> Activity:
        """Rebuild locks that are taken at one moment: while one of them is waited for, none is
        held.

        Assumes that the locks are waited for one after the other; in fact all are tried again after
        a pause. Against a simulation of circuits through two stages with six processors the
        throughput is within 6 % with pauses up to a third of the time of a hold, 11 % too low with
        pauses as long as a hold, and 24 % with 2.5 times as long; within 3 % with the time of a
        hold between circuits and short pauses (tests/workloads/unit_grains/test_grain.py).
        """
        _refuse_barriers(chain[-1].body, "hold")
        locks = [each.resource for each in chain]
        visits = [self._visit(lock, held) for lock in locks]
        self.released = frozenset()
        made = self.rebuilt(chain[-1].body, held.union(locks))
        for visit in reversed(visits):
            made = VisitedHold(visit, made, visit is not visits[-1])
        self.released = self.released.union(locks)
        return made

    def _access(self, access: LockAccess, word: str | None, held: frozenset[str]) -> Activity:
        assert word is not None
        made = VisitedStep(access, self._visit(word, held, access))
        self.released = frozenset()
        return made

    def _visit(
        self,
        queue: str,
        held: frozenset[str],
        step: Step | LockAccess | None = None,
        mode: str = "",
    ) -> Visit:
        if isinstance(step, LockAccess):
            label = step.name
        else:
            label = (
                f"wait:{queue}"
                if step is not None
                else self.model.held_resource(queue).label(queue)
            )
        exclusive = self.written | {
            name for name in held if self.model.resources[name].capacity == 1
        }
        self.visits.append(
            Visit(len(self.visits), queue, held, exclusive, step, self.released, label, mode)
        )
        return self.visits[-1]


def _refuse_barriers(activity: Activity, inside: str) -> None:
    barrier = next((node.name for node in steps(activity) if isinstance(node, BarrierWait)), None)
    if barrier is not None:
        raise NoAnswerError(
            f"barrier {barrier} stands inside a {inside}, where not every processor comes to it in"
            " turn; mean-value has no answer for that, simulation may"
        )


LUMPED_FROM = 8
"""Number of alike resources from which on they are lumped into one; fewer cost little."""


@dataclass(frozen=True, slots=True)
class LumpedActivities:
    """Activities in which one of several alike resources, such as the modules of a memory, stands
    for all of them.

    Exact but for rounding: a choice takes each copy with the same probability and does the same
    there, so by symmetry all copies have the same use, and an arrival at one of m copies finds 1/m
    of the processors at all of them.

    Parameters
    ----------
    activities : with one option of a choice in the place of all alike ones
    copies : by resource that is kept, the names of all that it stands for
    labels : by label that is kept, the labels of steps and waits that it stands for
    chances : by the probability of an option that is kept: the probability of each option, and how
        many it stands for
    """

    activities: tuple[Activity, ...]
    copies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    chances: dict[Expr, tuple[Expr, int]] = field(default_factory=dict)

    def account(self, booked: Mapping[str, Array], order: Sequence[str]) -> dict[str, Array]:
        """Divide what is booked to each label among the labels that it stands for; list them in
        the order given.
        """
        found: dict[str, Array] = {}
        for label, seconds in booked.items():
            for name in (names := self.labels.get(label, (label,))):
                found[name] = found.get(name, np.zeros(1)) + seconds / len(names)
        return {label: found[label] for label in order}

    def uses(self, found: Mapping[str, Array], order: Sequence[str]) -> dict[str, Array]:
        """Copy the use of each queue to the queues that it stands for; list them in the order
        given.
        """
        used = {
            name: each for kept, each in found.items() for name in self.copies.get(kept, (kept,))
        }
        return {name: used[name] for name in order}


def lumped(activities: Sequence[Activity], model: Model) -> LumpedActivities:
    """Lump alike resources, except in activities with forks, pipelines or barriers, which
    compare times.
    """
    nodes = [node for activity in activities for node in steps(activity)]
    made = LumpedActivities(())
    if any(isinstance(node, Fork | Pipeline | BarrierWait) for node in nodes):
        return replace(made, activities=tuple(activities))
    uses = Counter(node.resource for node in nodes if isinstance(node, Step | Hold))
    inside: dict[tuple[tuple[str, ...], ...], Counter[str | None]] = {}
    for node in (node for node in nodes if isinstance(node, Choice)):
        for shapes, options in _alike_options(node, model):
            used = (
                each.resource
                for _, body in options
                for each in steps(body)
                if isinstance(each, Step | Hold)
            )
            inside.setdefault(tuple(each.names for each in shapes), Counter()).update(used)
    words = {each.word for each in model.resources.values() if isinstance(each, HeldResource)}
    kept = {
        rows
        for rows, used in inside.items()
        if len(rows) > 1
        and all(name not in words and used[name] == uses[name] for row in rows for name in row)
    }

    def rebuilt(node: Activity) -> Activity:
        if not isinstance(node, Choice):
            return node.rebuilt([rebuilt(part) for part in node.children])
        made_options: list[tuple[Expr, Activity]] = []
        for shapes, options in _alike_options(node, model):
            rows = tuple(each.names for each in shapes)
            if rows not in kept:
                made_options += [(p, rebuilt(body)) for p, body in options]
                continue
            p, body = options[0]
            made_options.append((p * len(rows), body))
            made.chances[p * len(rows)] = (p, len(rows))
            made.copies.update(zip(rows[0], zip(*rows, strict=True), strict=True))
            labels = [each.labels for each in shapes]
            made.labels.update(zip(labels[0], zip(*labels, strict=True), strict=True))
        return Choice(tuple(made_options))

    return replace(made, activities=tuple(map(rebuilt, activities)))


class _Shape:
    """The structure of a part of an activity, without the names of its resources and labels,
    which are listed in order.
    """

    def __init__(self, body: Activity, model: Model) -> None:
        self._model, self._places, self._labels = model, dict[str, int](), list[str]()
        self.key = self._of(body)

    @property
    def names(self) -> tuple[str, ...]:
        """The resources."""
        return tuple(self._places)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of steps, and what waiting is booked to."""
        return tuple(self._labels)

    def _of(self, node: Activity) -> tuple[object, ...]:
        match node:
            case Step(name, time, resource):
                self._labels.append(name)
                return time, node.scv, resource and self._place(resource, f"wait:{resource}")
            case Hold(resource, body, mode):
                label = self._model.held_resource(resource).label(resource)
                return self._place(resource, label), mode, self._of(body)
        return type(node), node.expressions, *map(self._of, node.children)

    def _place(self, name: str, label: str) -> tuple[int, object]:
        self._labels.append(label)
        return self._places.setdefault(name, len(self._places)), self._model.resources.get(name)


_Option = tuple[Expr, Activity]


def _alike_options(
    choice: Choice, model: Model
) -> Iterator[tuple[Sequence[_Shape], Sequence[_Option]]]:
    """Group the options of a choice that have the same probability and structure at different
    resources.
    """
    found: dict[object, list[tuple[_Shape, _Option]]] = {}
    for p, body in choice.options:
        shape = _Shape(body, model)
        found.setdefault((p, shape.key), []).append((shape, (p, body)))
    for group in found.values():
        shapes, options = [shape for shape, _ in group], [option for _, option in group]
        names = [name for shape in shapes for name in shape.names]
        if len(group) >= LUMPED_FROM and len(set(names)) == len(names) > 0:
            yield shapes, options
        else:
            yield from (([shape], [option]) for shape, option in group)


def without_holding(node: Activity, name: str) -> Activity:
    """Copy a part of a tree as if a lock, or permits, were not held around it."""
    if not isinstance(node, VisitedStep | VisitedHold):
        return node.rebuilt([without_holding(part, name) for part in node.children])
    visit = node.visit and replace(
        node.visit, held=node.visit.held - {name}, exclusive=node.visit.exclusive - {name}
    )
    if isinstance(node, VisitedHold):
        assert visit is not None
        return replace(node, visit=visit, body=without_holding(node.body, name))
    return replace(node, visit=visit)


def mean_service(step: Step | LockAccess, numbers: Numbers) -> Array:
    """Return the mean time of a step, or of accesses in a row [s]."""
    return numbers[step.time] * step.count if isinstance(step, LockAccess) else numbers[step.time]


def visits_in(node: Activity) -> Iterator[Visit]:
    """Yield the visits of a part of a tree, in the order written."""
    if isinstance(node, VisitedStep | VisitedHold) and node.visit is not None:
        yield node.visit
    for part in node.children:
        yield from visits_in(part)


def visit_ratios(node: Activity, numbers: Numbers) -> dict[int, Array]:
    """Return the mean number of visits in one execution of a part of a tree, by index [1]."""
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


def immediate_returns(root: Activity, numbers: Numbers) -> dict[int, Array]:
    """Count the visits in one execution that immediately follow another service at the same
    queue, by index [1].
    """
    found: dict[int, Array] = {}
    _ends(root, np.ones(1), numbers, found)
    return found


_Ends = list[tuple[Visit, Array]]
"""First or last visits of a part, each with its probability."""


def _ends(
    node: Activity, ratio: Array, numbers: Numbers, found: dict[int, Array]
) -> tuple[_Ends, _Ends]:
    """Return the first and the last visits of a part that is executed `ratio` times; count
    immediate returns within it in `found`.
    """

    def follow(before: _Ends, after: _Ends, times: Array) -> None:
        for visit, p in after:
            again = added(q for other, q in before if other.queue == visit.queue)
            found[visit.index] = found.get(visit.index, 0.0) + times * p * again

    match node:
        case VisitedStep(_, visit):
            alone = [(visit, np.ones(1))] if visit is not None else []
            return alone, alone
        case Repeat(count, body):
            first, last = _ends(body, ratio * numbers[count], numbers, found)
            follow(last, first, ratio * np.where(numbers[count].real > 1, numbers[count] - 1, 0.0))
            return first, last
        case Choice(options):
            ends = [
                (numbers[p], _ends(body, ratio * numbers[p], numbers, found)) for p, body in options
            ]
            first, last = (
                [(visit, p * q) for p, each in ends for visit, q in each[side]] for side in (0, 1)
            )
            return first, last
        case Then(parts):
            each = [_ends(part, ratio, numbers, found) for part in parts]
            for (_, before), (after, _) in pairwise(each):
                follow(before, after, ratio)
            return (each[0][0], each[-1][1]) if each else ([], [])
    for part in node.children:
        _ends(part, ratio, numbers, found)
    return [], []


def _most_requests(node: Activity, queue: str) -> int:
    """Count the requests that one processor can have at a queue at once; of a pipeline, one at
    each stage.
    """
    match node:
        case Fork(branches):
            return sum(_most_requests(branch, queue) for branch in branches)
        case Pipeline(stages):
            return sum(
                max(_most_requests(body, queue) for body in stage.bodies) for stage in stages
            )
    own = (
        isinstance(node, VisitedStep | VisitedHold)
        and node.visit is not None
        and node.visit.queue == queue
    )
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
    copies : alike queues that this one stands for, each visit to any of them; see `lumped`
    order : of a reader-writer lock, whose waits `shared_locks` gives; empty for others
    """

    name: str
    visits: tuple[Visit, ...]
    servers: int = 1
    sharing: bool = False
    lock: bool = False
    spin: bool = False
    requests: int = 1
    copies: int = 1
    order: str = ""

    def all_servers(self, processors: int) -> int:
        """Count the servers, those of all processors together."""
        return processors if self.name == PROCESSORS else self.servers

    @property
    def label(self) -> str:
        """The label that waiting for work in progress is booked to."""
        return self.visits[0].label if self.lock else f"wait:{self.visits[0].queue}"


def queues_of(
    model: Model, trees: Sequence[VisitTree], copies: Mapping[str, Sequence[str]]
) -> tuple[Queue, ...]:
    """List the queues of all trees, in the order of their first visits."""
    grouped: dict[str, list[Visit]] = {}
    for visit in (visit for tree in trees for visit in tree.visits):
        grouped.setdefault(PROCESSORS if is_processor(visit.queue) else visit.queue, []).append(
            visit
        )
    queues = []
    for name, visits in grouped.items():
        resource = model.resources.get(name)
        queues.append(
            Queue(
                name,
                tuple(visits),
                resource.capacity if resource is not None else 1,
                isinstance(resource, Station) and DISCIPLINES[resource.discipline].order == SHARED,
                isinstance(resource, HeldResource),
                isinstance(resource, Lock) and resource.kind in SPIN_LOCKS,
                max(1, *(_most_requests(tree.root, name) for tree in trees)),
                len(copies.get(name, "1")),
                resource.order if isinstance(resource, ReaderWriterLock) else "",
            )
        )
    return tuple(queues)


def competing_fraction(visit: Visit, other: Visit, others: float) -> float:
    """Return the fraction of the other processors at one visit that compete with a processor at
    another visit [1].

    Processors that need a lock held here do not compete. A request for another processor goes to
    any of the `others` processors with equal probability, one for a numbered processor to that one;
    so of n processors each of the n - 1 others has 1 / (n - 1) of its requests at one certain
    processor, and an arriving request meets a request of some third processor with probability (n -
    2) / (n - 1)^2.

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


PairTimes = dict[tuple[int, int], Array]
"""By two visits: the time waited at the first for processors at the second [s]."""


@dataclass(frozen=True, slots=True)
class _Delay:
    """What a processor waits for at one visit because of processors at another visit.

    Parameters
    ----------
    ahead : their number found there [1]
    served : how many of them are in service [1]
    time : waited for them [s]
    service : of each
    """

    ahead: Array
    served: Array
    time: Array
    service: RandomTime

    def scaled(self, factor: Array) -> _Delay:
        return _Delay(self.ahead * factor, self.served * factor, self.time * factor, self.service)


_Delays = dict[tuple[int, int], _Delay]


@dataclass(frozen=True, slots=True)
class ArrivalWaits:
    """The wait at each visit, and its parts by the visit that is waited for."""

    waits: dict[int, RandomTime]
    by_pair: PairTimes


@dataclass(frozen=True, slots=True)
class ArrivalState:
    """The mean state that an arriving processor finds.

    Parameters
    ----------
    others : number of processors found in all, infinite for an open stream [1]
    present : mean number at each visit, waiting or in service [1]
    served : mean number in service at each visit [1]
    services : service time at each visit
    all_busy : by queue, the probability that all servers are busy, or a lock or all permits held
        [1]
    whole_service : by queue, the weight of a whole service in the residual one [1]
    other_holders : by permits, the fraction of their holders that a holder meets [1]
    waiting_for : mean number waiting at one visit, the first, for processors at another, the second
        [1]
    since_acquisition : by lock and visit, the time from the acquisition of the lock to the arrival
        at the visit under it
    members : by queue, processors that ever join it, where that is not all of them [1]
    holders : by permits that are solved alone, probabilities of the numbers of holders; see
        `FlowEquivalentServer` [1]
    """

    others: float = 0
    present: Mapping[int, Array] = field(default_factory=dict)
    served: Mapping[int, Array] = field(default_factory=dict)
    services: Mapping[int, RandomTime] = field(default_factory=dict)
    all_busy: Mapping[str, Array] = field(default_factory=dict)
    whole_service: Mapping[str, Array] = field(default_factory=dict)
    other_holders: Mapping[str, Array] = field(default_factory=dict)
    waiting_for: PairTimes = field(default_factory=dict)
    since_acquisition: Mapping[tuple[str, int], RandomTime] = field(default_factory=dict)
    members: Mapping[str, float] = field(default_factory=dict)
    holders: Mapping[str, Array] = field(default_factory=dict)

    def waits(
        self, queues: Sequence[Queue], ratios: Mapping[int, Array], means: Mapping[int, Array]
    ) -> ArrivalWaits:
        """Return the wait at each visit of an arriving processor.

        Parameters
        ----------
        queues : of the model
        ratios : visits of all processors in the time of one cycle of the arriving one [1]
        means : mean service at each visit of a station [s]
        """
        if not self.others:
            return ArrivalWaits({}, {})
        plain = [
            each
            for each in queues
            if not each.order and not any(v.held or v.released for v in each.visits)
        ]
        waits = {
            index: wait
            for queue in plain
            for index, wait in self._plain_waits(queue, means).items()
        }
        delays: _Delays = {}
        for queue in (each for each in queues if not each.order and each not in plain):
            for visit in queue.visits:
                delays.update(self._delays(queue, visit, means.get(visit.index)))
        self._add_predecessors(queues, ratios, delays)
        self._limit_to_work(queues, ratios, delays)
        self._damp(queues, delays)
        at: dict[int, list[_Delay]] = {}
        for (index, _), each in delays.items():
            at.setdefault(index, []).append(each)
        for queue in (each for each in queues if each not in plain):
            waits.update({v.index: self._wait(queue, v, at.get(v.index, ())) for v in queue.visits})
        return ArrivalWaits(waits, {key: each.time for key, each in delays.items()})

    def _plain_waits(self, queue: Queue, means: Mapping[int, Array]) -> dict[int, RandomTime]:
        """Return the waits at a queue whose visits hold no lock and follow no release, so that all
        find the same customers.

        The customers ahead are added up once for all visits instead of for each pair of visits. The
        wait depends on the service of the visit only where servers are shared.
        """
        pooled: dict[str, _Delay] = {}
        for visit in queue.visits:
            if visit.queue not in pooled:
                parts = self._delays(queue, visit, np.ones(1)).values()
                ahead, time = (
                    added(each.ahead for each in parts),
                    added(each.time for each in parts),
                )
                varied = added(each.ahead * each.service.variance for each in parts) / nonzero(
                    ahead
                )
                pooled[visit.queue] = _Delay(
                    ahead,
                    added(each.served for each in parts),
                    time,
                    RandomTime(time / nonzero(ahead), varied),
                )
        found = {}
        for visit in queue.visits:
            each = pooled[visit.queue]
            if queue.sharing:
                each = replace(each, time=each.time * means[visit.index])
            found[visit.index] = self._wait(queue, visit, [each])
        return found

    def _delays(self, queue: Queue, visit: Visit, own: Array | None) -> _Delays:
        found = {}
        busy: Array = np.zeros(1)
        for other in queue.visits:
            part = self._meets(queue, visit, other)
            if np.any(part):
                served = part * self.served[other.index]
                found[other] = (part * self._present_at(visit, other, queue) - served, served)
                busy = busy + served
        all_busy = self._all_busy(queue, found) if queue.servers > 1 else busy
        share = all_busy / nonzero(busy)
        rate = added(
            each / nonzero(self.services[other.index].mean) for other, (_, each) in found.items()
        )
        typical = busy / nonzero(rate)
        return {
            (visit.index, other.index): self._delay(
                queue, other, waiting, share * served, own, typical
            )
            for other, (waiting, served) in found.items()
        }

    def _meets(self, queue: Queue, visit: Visit, other: Visit) -> Array | float:
        """Return the fraction of the processors at another visit that an arriving processor can
        find there [1].
        """
        part = competing_fraction(visit, other, self.others) * self._other_holders_of(
            visit.held & other.held
        )
        part = part / queue.copies
        if queue.sharing:
            return part
        # The next holder of a lock that was just released arrives at the queue later than this
        # processor.
        part = part * self._other_holders_of(visit.released & other.held)
        both = (visit.released & other.released) - self.other_holders.keys()
        if both and queue.servers == 1 and any(both & third.held for third in queue.visits):
            # Earlier holders that came here with the release of the lock were served before this
            # one was, under the lock.
            return 0.0
        return part

    def _all_busy(self, queue: Queue, found: Mapping[Visit, tuple[Array, Array]]) -> Array:
        """Return the probability that all servers are busy with processors that an arriving one
        can find.
        """
        if len(found) == len(queue.visits) and not any(visit.held for visit in found):
            return self.all_busy[queue.name]
        customers = int(self.members[queue.name]) * queue.requests
        if not customers:
            return np.zeros(1)
        present = added(waiting + served for waiting, served in found.values())
        served = added(served for _, served in found.values())
        return chance_all_busy(present, served, customers, queue.servers)

    def _delay(
        self,
        queue: Queue,
        other: Visit,
        waiting: Array,
        served: Array,
        own: Array | None,
        typical: Array,
    ) -> _Delay:
        service = self.services[other.index]
        if queue.sharing:
            assert own is not None
            return _Delay(
                waiting + served, served, (waiting + served) * own / queue.servers, service
            )
        weight = self.whole_service[queue.name]
        left = (1 - weight) * residual_time(service.mean, service.scv) + weight * typical
        return _Delay(
            waiting + served,
            served,
            (waiting * service.mean + served * left) / queue.servers,
            service,
        )

    def _other_holders_of(self, shared: Collection[str]) -> Array | float:
        """Return the fraction of the holders of resources that another holder of them meets [1].

        Derived here: with at most c holders at a time, a holder meets min(j, c - 1) others while j
        others hold or want the resource: u - P(all busy) on average, where u is the mean number of
        holders. For a lock, c = 1, that is none.
        """
        fraction: Array | float = 1.0
        for name in sorted(shared):
            fraction = fraction * self.other_holders.get(name, 0.0)
        return fraction

    def _present_at(self, visit: Visit, other: Visit, queue: Queue) -> Array:
        """Count the processors at another visit, without those that wait there for a lock held
        here.

        Derived here: a processor that holds a lock never meets processors that wait at this queue
        for an earlier holder of the same lock, because it has become the holder. Of permits it is
        one of several holders.
        """
        found = self.present[other.index]
        for third in queue.visits if visit.held else ():
            shared = visit.held & third.held
            if shared and (other.index, third.index) in self.waiting_for:
                found = (
                    found
                    - (1 - self._other_holders_of(shared))
                    * self.waiting_for[other.index, third.index]
                )
        return found

    def _add_predecessors(
        self, queues: Sequence[Queue], ratios: Mapping[int, Array], delays: _Delays
    ) -> None:
        """Add the waits of a new holder, at queues under the lock, for the processor that released
        the lock to it.

        Derived here: with the probability that the lock, or all permits, are held on arrival, a
        processor acquires the lock at the moment of a release. If the releasing processor goes on
        to the same queue, its service there has begun when the new holder comes, and the rest of
        that service (`left_over`) delays the new holder if all other servers are busy too. No other
        processor from a release of the lock can be there.
        """
        calls = {
            queue.name: added(ratios[v.index] for v in queue.visits) / queue.copies
            for queue in queues
        }
        for queue in queues:
            for visit, other in (
                (a, b) for a in queue.visits for b in queue.visits if a.held & b.released
            ):
                delay = delays.get((visit.index, other.index))
                if delay is None or queue.sharing:
                    continue
                # The cycle of a group that is still empty has no such time.
                for lock in sorted(
                    each
                    for each in visit.held & other.released
                    if (each, visit.index) in self.since_acquisition
                ):
                    since = self.since_acquisition[lock, visit.index]
                    service = delay.service
                    left, _ = left_over(service.mean, service.variance, since.mean, since.variance)
                    chance = clamped(
                        self.all_busy[lock]
                        * ratios[other.index]
                        / queue.copies
                        / nonzero(calls[lock]),
                        high=1.0,
                    )
                    one = chance * erlang_b(self.served[other.index], queue.servers - 1)
                    kept = delay.scaled(1 - chance)
                    ahead = one * left / nonzero(service.mean)
                    delay = replace(
                        kept, ahead=kept.ahead + ahead, time=kept.time + one * left / queue.servers
                    )
                delays[visit.index, other.index] = delay

    def _limit_to_work(
        self, queues: Sequence[Queue], ratios: Mapping[int, Array], delays: _Delays
    ) -> None:
        """Limit waits under a lock for processors outside it to the work of these processors.

        Operational: only one processor holds a lock at a time, so each service outside the lock
        delays at most one holder, once; of c permits, at most c holders. Each of s servers delays
        by 1/s of their work. What is done while another lock is held is part of that lock's
        service. The bound always holds; where it binds, the wait is taken to be at the bound.
        """
        visits = [visit for queue in queues for visit in queue.visits]
        for lock in (queue for queue in queues if queue.lock):
            holders = {visit.index for visit in visits if lock.name in visit.held}
            held_keys = [key for key in delays if key[0] in holders]
            met = {b for _, b in held_keys}
            for queue in (
                each for each in queues if any(visit.index in met for visit in each.visits)
            ):
                outside = [visit for visit in queue.visits if lock.name not in visit.held]
                works = [
                    lock.servers * ratios[v.index] * self.services[v.index].mean for v in outside
                ]
                groups = [
                    ({v.index}, work / queue.servers)
                    for v, work in zip(outside, works, strict=True)
                ]
                if queue.lock and outside:
                    within = {
                        v.index for v in visits if queue.name in v.held and lock.name not in v.held
                    }
                    groups.append((within | {v.index for v in outside}, added(works)))
                for others, work in groups:
                    keys = [(a, b) for a, b in held_keys if b in others]
                    waited = added(ratios[a] * delays[a, b].time for a, b in keys)
                    factor = np.where(waited.real > work.real, work / nonzero(waited), 1.0)
                    delays.update({key: delays[key].scaled(factor) for key in keys})

    def _damp(self, queues: Sequence[Queue], delays: _Delays) -> None:
        """Average the waits under locks of a utilization near 1 with those of the step before.

        What is done under such a lock hardly depends on the number that wait for it, so there the
        recursion over the population is a fixed-point iteration, which oscillates without damping.
        The weight of the step before, U^4 k / (k + 2) for k others and a lock of utilization U, was
        chosen with 720 models of the constructs with locks (numbers 1 to 80 of
        benchmarks/mean_value.py, up to 64 processors): with it the time rises with each processor
        in all of them, without it the time falls somewhere in 20.
        """
        for visit in (visit for queue in queues for visit in queue.visits if visit.held):
            busy = largest([self.all_busy[lock] for lock in sorted(visit.held)])
            part = busy**4 * self.others / (self.others + 2)
            for key, each in delays.items():
                if key[0] == visit.index and key in self.waiting_for:
                    flow = self.served[visit.index] / nonzero(self.services[visit.index].mean)
                    before = self.waiting_for[key] / nonzero(flow)
                    delays[key] = replace(each, time=(1 - part) * each.time + part * before)

    def _wait(self, queue: Queue, visit: Visit, delays: Sequence[_Delay]) -> RandomTime:
        if not delays:
            return ZERO_TIME
        mean = added(each.time for each in delays)
        ahead = added(each.ahead for each in delays)
        served = added(each.served for each in delays)
        if queue.sharing:
            stretch = ahead / queue.servers
            varied = self.services[visit.index].variance * (stretch * stretch + 2 * stretch)
        else:
            varied = added(each.ahead * each.service.variance for each in delays) / queue.servers**2
        each_ahead = mean / nonzero(ahead)
        return RandomTime(
            mean, varied + self._variance_ahead(ahead, served) * each_ahead * each_ahead
        )

    def _variance_ahead(self, ahead: Array, served: Array) -> Array:
        """Return the variance of the number ahead, of mean a, with probability p that it is not 0.

        Derived here: given that it is not 0 it is geometric, as at an M/M/1 station, so its mean
        square is a (2 a / p - 1). In a closed population it is at most `others`; the factor 1 - a /
        others, chosen here, takes the variance to 0 there. Only maxima of times read the variance,
        so that its error is part of that of the constructs "barriers", "forks", "pipelines" and
        "phases" of benchmarks/mean_value.py.
        """
        # p may be below that of a geometric number where some processors are excluded, or where all
        # servers are rarely busy.
        chance = largest([served, ahead / (1 + ahead)])
        varied = (ahead * ahead * (2 / nonzero(chance) - 1) - ahead) * (1 - ahead / self.others)
        return clamped(varied)


def chance_all_busy(present: Array, served: Array, customers: int, servers: int) -> Array:
    """Return the probability that all servers are busy, the rest of the cycle taken as a delay.

    Parameters
    ----------
    present, served : mean numbers at the queue and in service [1]
    customers, servers : how many there are
    """
    present, served = present / customers, served / customers
    ratio = served / np.where(present.real < 1, 1 - present, 1e-12)
    return finite_source_all_busy(nonzero(ratio), customers, servers)


def whole_service_weight(utilization: Array, processors: int, scv: Array) -> Array:
    """Return the weight with which a residual service goes over to a whole one: U^((N + 1) (2 - z)
    / 2).

    An arrival from a large population comes at a random moment of a service. At a queue that is
    never empty, the processors return at the ends of services, so that an arrival finds a service
    that has just begun. The weight is a power of the utilization U; its exponent was fitted to
    simulated machine repair (one server, N processors) with service scv 0.25 and 0 and z, the scv
    of the rest of the cycle, from 0.25 to 1. Error of the time left there (N 2 to 16, offered load
    0.5 to 1.2; simulated to 0.2 %): 0.2 % in the median, 1.4 % in 95 of 100 cases, at most 2.4 %;
    1.0, 5.6 and 7.0 % without the rule (benchmarks/mean_value.py --repair).

    Parameters
    ----------
    utilization : of the queue [1]
    processors : N
    scv : z [1]
    """
    busy = clamped(utilization, high=1.0)
    # The power is taken as a logarithm, which 0 does not have.
    weight: Array = np.exp(np.log(busy + 1e-300) * ((processors + 1) / 2 * (2 - scv)))
    return weight
