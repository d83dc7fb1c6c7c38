"""The visits of an activity: every place where it uses a station, a lock or a processor.

`visit_trees` rebuilds activities. All nodes stay the model's own, except that a step becomes a
`VisitedStep` and a lock held a `VisitedHold`, which know their `Visit`. The accesses of a lock to
its word become steps of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr, is_number
from slipstick.late import dataclass, field, np, replace
from slipstick.model.activity import (
    GEOMETRIC,
    WRITE,
    Hold,
    Repeat,
    Step,
    Then,
)
from slipstick.model.steps import (
    ALWAYS,
    HELD,
    MET,
    NEVER,
    ONCE,
    SERVED,
    Activity,
    Combination,
    is_parallel,
    no_rule_error,
    steps,
)
from slipstick.model.system import (
    Model,
)
from slipstick.random_times import (
    Array,
)
from slipstick.vocabulary import LOCKS

SPIN_LOCKS = tuple(name for name, kind in LOCKS.items() if kind.spinning)
"""Kinds of locks whose waiting processors access the lock's word."""

Numbers = Mapping[Expr, Array]
"""The numbers that a model has at many points."""

PROCESSORS = "own"
"""Name of the queue of all processors in answers."""

OTHER_PROCESSORS = ("other", "each-other")
"""Resources that stand for a processor other than the customer's own."""


@dataclass(frozen=True, slots=True)
class LockAccess:
    """The accesses to a lock's word in a row, as one service of constant time.

    Parameters
    ----------
    name : label they are booked to
    time : of one access [s]
    count : accesses in a row [1]
    releases_lock : whether they release the lock
    """

    name: str
    time: Expr
    count: int = 1
    releases_lock: bool = False
    scv: ClassVar[float] = 0.0


@dataclass(frozen=True, slots=True)
class Visit:
    """A place in the activity at which a queue is joined.

    Parameters
    ----------
    index : number of the visit, unique among the trees built together
    queue : name of the resource
    held_resources : names of the locks and permits held at that moment
    exclusive_resources : names of those held resources that one processor holds alone
    step : the step that is served; None for a lock, whose service is what is done while it is held
    released_locks : names of the locks released immediately before
    label : that waiting at this visit is booked to
    mode : in which a reader-writer lock is held
    """

    index: int
    queue: str
    held_resources: frozenset[str]
    exclusive_resources: frozenset[str]
    step: Step | LockAccess | None = None
    released_locks: frozenset[str] = frozenset()
    label: str = ""
    mode: str = ""

    def can_meet(self, second_visit: Visit) -> bool:
        """Return whether two processors can be at these two visits at the same time: not if one of
        them holds a resource exclusively that the other one also holds.
        """
        return not (
            self.exclusive_resources & second_visit.held_resources
            or second_visit.exclusive_resources & self.held_resources
        )


@dataclass(frozen=True, slots=True)
class VisitedStep(Activity):
    """A step with its visit; a step without one is a delay."""

    step: Step | LockAccess
    visit: Visit | None

    made_of = ()
    use = SERVED
    combination = Combination.IN_TURN
    executions = ()
    plain = ("step", "visit")

    @property
    def variation(self) -> Expr:
        return ALWAYS if self.step.scv > 0 else NEVER


@dataclass(frozen=True, slots=True)
class VisitedHold(Activity):
    """A hold of a lock or of permits, with the visit to its queue.

    With `together`, its body holds another lock that is acquired at the same moment: the lock of
    this hold is not held while the processor waits for the other lock.
    """

    visit: Visit
    body: Activity
    together: bool = False

    made_of = ("body",)
    use = HELD
    combination = Combination.IN_TURN
    plain = ("visit", "together")
    executions = (ONCE,)
    variation = NEVER


@dataclass(frozen=True, slots=True)
class VisitTree:
    """An activity, with the visits to queues in it."""

    root: Activity
    visits: tuple[Visit, ...]

    def visit_ratios(self, value_by_expr: Numbers) -> dict[int, Array]:
        """Return the mean number of each visit in one cycle, by the index of the visit [1]."""
        return visit_ratios(self.root, value_by_expr)


def visit_trees(activities: Sequence[Activity], model: Model) -> list[VisitTree]:
    """Build the tree of visits of each activity, including the visits to the words of locks, and
    number the visits.

    Raises
    ------
    NoAnswerError : a barrier stands inside a lock, fork, choice or pipeline
    """
    builder = _TreeBuilder(model)
    trees = []
    for activity in activities:
        visit_count_before = len(builder.visits)
        root = builder.rebuild(activity, frozenset())
        trees.append(VisitTree(root, tuple(builder.visits[visit_count_before:])))
        builder.released_locks = frozenset()
    return trees


class _TreeBuilder:
    """Rebuilds activities in the order of execution, and records which locks were released
    immediately before each visit.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.visits: list[Visit] = []
        self.released_locks: frozenset[str] = frozenset()
        self.written_locks: frozenset[str] = frozenset()
        """Reader-writer locks that are held to write."""

    def rebuild(self, activity: Activity, held_locks: frozenset[str]) -> Activity:
        """Return a copy of an activity, with a visit at each step and each hold."""
        match activity:
            case Then(bodies):
                return Then(tuple(self.rebuild(body, held_locks) for body in bodies))
            case Hold():
                joint_holds = self.model.holds_taken_together(activity)
                return (
                    self._rebuild_joint_holds(joint_holds, held_locks)
                    if len(joint_holds) > 1
                    else self._rebuild_hold(activity, held_locks)
                )
            case Step(resource=resource):
                visit = (
                    self._new_visit(resource, held_locks, activity)
                    if resource is not None
                    else None
                )
                visited_node: Activity = VisitedStep(activity, visit)
            case _ if activity.use not in (SERVED, HELD):
                if not isinstance(activity, Repeat):
                    _refuse_barriers(activity.children, activity.kind)
                visited_node = activity.rebuilt(
                    [self._rebuild_apart(child, held_locks) for child in activity.children]
                )
            case _:
                raise no_rule_error("the count of visits", activity)
        self.released_locks = frozenset()
        return visited_node

    def _rebuild_apart(self, body: Activity, held_locks: frozenset[str]) -> Activity:
        """Return a copy, as by `rebuild`, of an activity that does not directly follow the one
        rebuilt before it, so that no lock is released immediately before its first visit.
        """
        self.released_locks = frozenset()
        return self.rebuild(body, held_locks)

    def _rebuild_hold(self, node: Hold, held_locks: frozenset[str]) -> Activity:
        """Return the hold of a lock with visits for the accesses to its word in an uncontended
        acquire and release; a queue lock makes all accesses of an acquire in one visit.
        """
        lock_name = node.resource
        _refuse_barriers(node.children, "hold")
        resource = self.model.held_resource(lock_name)
        acquire_count, release_count = resource.accesses if resource.word is not None else (0, 0)
        access_count_at_once = 1 if resource.spins else acquire_count
        acquire_access = LockAccess(
            resource.label(lock_name), resource.access, access_count_at_once
        )
        acquire_visits = [
            self._rebuild_access(acquire_access, resource.word, held_locks)
            for _ in range(acquire_count // access_count_at_once if access_count_at_once else 0)
        ]
        visit = self._new_visit(lock_name, held_locks, mode=node.mode)
        # The acquisition comes between: no release before it is immediate any more.
        self.released_locks = frozenset()
        locks_written_before = self.written_locks
        self.written_locks = (
            locks_written_before | {lock_name} if node.mode == WRITE else locks_written_before
        )
        parts_while_held = [self.rebuild(node.body, held_locks | {lock_name})]
        self.written_locks = locks_written_before
        if release_count:
            parts_while_held.append(
                self._rebuild_access(
                    replace(acquire_access, count=release_count, releases_lock=True),
                    resource.word,
                    held_locks | {lock_name},
                )
            )
        visited_hold = VisitedHold(
            visit, Then(tuple(parts_while_held)) if release_count else parts_while_held[0]
        )
        self.released_locks = self.released_locks | {lock_name}
        return Then((*acquire_visits, visited_hold)) if acquire_visits else visited_hold

    def _rebuild_joint_holds(
        self, joint_holds: Sequence[Hold], held_locks: frozenset[str]
    ) -> Activity:
        """Return the holds of locks that are acquired at one moment: while a processor waits for
        one of them, it holds none.

        Assumes that the locks are waited for one after the other; in fact all are tried again after
        a pause. Against a simulation of circuits through two stages with six processors the
        throughput is within 6 % with pauses up to a third of the time of a hold, 11 % too low with
        pauses as long as a hold, and 24 % with 2.5 times as long; within 3 % with the time of a
        hold between circuits and short pauses (tests/workloads/unit_grains/test_grain.py).
        """
        _refuse_barriers(joint_holds[-1].children, "hold")
        lock_names = [hold.resource for hold in joint_holds]
        visits = [self._new_visit(lock_name, held_locks) for lock_name in lock_names]
        self.released_locks = frozenset()
        visited_node = self.rebuild(joint_holds[-1].body, held_locks.union(lock_names))
        for visit in reversed(visits):
            visited_node = VisitedHold(visit, visited_node, visit is not visits[-1])
        self.released_locks = self.released_locks.union(lock_names)
        return visited_node

    def _rebuild_access(
        self, access: LockAccess, word_station: str | None, held_locks: frozenset[str]
    ) -> Activity:
        """Return the accesses to a lock's word as a step with its visit."""
        assert word_station is not None
        visited_step = VisitedStep(access, self._new_visit(word_station, held_locks, access))
        self.released_locks = frozenset()
        return visited_step

    def _new_visit(
        self,
        queue_name: str,
        held_locks: frozenset[str],
        step: Step | LockAccess | None = None,
        mode: str = "",
    ) -> Visit:
        """Number and record a visit to a queue, with the locks held there."""
        if isinstance(step, LockAccess):
            wait_label = step.name
        else:
            wait_label = (
                f"wait:{queue_name}"
                if step is not None
                else self.model.held_resource(queue_name).label(queue_name)
            )
        # A reader shares its lock with others, so that only a lock of one place, or one held to
        # write, keeps others away.
        exclusive_locks = self.written_locks | {
            lock_name for lock_name in held_locks if self.model.resources[lock_name].capacity == 1
        }
        self.visits.append(
            Visit(
                len(self.visits),
                queue_name,
                held_locks,
                exclusive_locks,
                step,
                self.released_locks,
                wait_label,
                mode,
            )
        )
        return self.visits[-1]


def _refuse_barriers(bodies: Sequence[Activity], kind_of_part: str) -> None:
    """Raise if a barrier is in a part that not every processor executes in each cycle."""
    barrier_nodes = (node for body in bodies for node in steps(body) if node.use == MET)
    barrier_names = (resource_name for node in barrier_nodes for resource_name in node.uses)
    for barrier_name in barrier_names:
        raise NoAnswerError(
            f"barrier {barrier_name} stands inside a {kind_of_part}, where not every processor"
            " comes to it in turn; mean-value has no answer for that, simulation may"
        )


def without_holding(node: Activity, resource_name: str) -> Activity:
    """Return a copy of a part of a tree whose visits do not hold a lock or permits."""
    if not isinstance(node, VisitedStep | VisitedHold):
        return node.rebuilt([without_holding(child, resource_name) for child in node.children])
    visit = node.visit and replace(
        node.visit,
        held_resources=node.visit.held_resources - {resource_name},
        exclusive_resources=node.visit.exclusive_resources - {resource_name},
    )
    if isinstance(node, VisitedHold):
        assert visit is not None
        return replace(node, visit=visit, body=without_holding(node.body, resource_name))
    return replace(node, visit=visit)


def mean_service(step: Step | LockAccess, value_by_expr: Numbers) -> Array:
    """Return the mean time of a step, or of accesses in a row [s]."""
    return (
        value_by_expr[step.time] * step.count
        if isinstance(step, LockAccess)
        else value_by_expr[step.time]
    )


def visit_of(node: Activity) -> Visit | None:
    """Return the visit with which a node of a tree begins; None if it begins without one."""
    return node.visit if isinstance(node, VisitedStep | VisitedHold) else None


def visits_of_tree_part(node: Activity) -> Iterator[Visit]:
    """Yield the visits of a part of a tree, in the order written."""
    if (visit := visit_of(node)) is not None:
        yield visit
    for child in node.children:
        yield from visits_of_tree_part(child)


def executions_at_points(execution_count_expr: Expr, value_by_expr: Numbers) -> Array:
    """Return a number of executions at each point [1]. The constant 1 is treated separately,
    because it is not among the numbers of a model.
    """
    return (
        np.ones(1) if is_number(execution_count_expr, 1.0) else value_by_expr[execution_count_expr]
    )


def visit_ratios(node: Activity, value_by_expr: Numbers) -> dict[int, Array]:
    """Return how often each visit is made, on average, in one execution of a part of a tree, by the
    index of the visit [1].
    """
    ratio_by_visit: dict[int, Array] = {}
    _add_ratios(node, np.ones(1), value_by_expr, ratio_by_visit)
    return ratio_by_visit


def _add_ratios(
    node: Activity,
    executions_of_node: Array,
    value_by_expr: Numbers,
    ratio_by_visit: dict[int, Array],
) -> None:
    """Add the mean number of visits in a node that is executed `executions_of_node` times."""
    if (visit := visit_of(node)) is not None:
        ratio_by_visit[visit.index] = executions_of_node
    for execution_count_expr, child in node.weighted_children:
        executions_of_child = (
            executions_of_node
            if is_number(execution_count_expr, 1.0)
            else executions_of_node * value_by_expr[execution_count_expr]
        )
        _add_ratios(child, executions_of_child, value_by_expr, ratio_by_visit)


MOST_WRITTEN_OUT = 12
"""The largest number of visits of a repetition up to which its rounds are distinguished."""


@dataclass(slots=True)
class Places:
    """The services of an activity in their order, and how often one immediately follows another at
    the same queue.

    A place is one visit in one round of the repetitions around it, where these have few rounds.

    Parameters
    ----------
    visits : by place
    executions : how often each is made in one execution [1]
    return_counts : by two places at one queue, how often the second immediately follows the first
        in one execution [1]
    """

    visits: list[Visit] = field(default_factory=list)
    executions: list[Array] = field(default_factory=list)
    return_counts: dict[tuple[int, int], Array] = field(default_factory=dict)

    def immediate_return_count(self, visit: Visit) -> Array:
        """Return the mean number of visits, in a cycle, that follow another service at the same
        queue immediately [1].
        """
        immediate_return_count: Array = np.zeros(1)
        for (_, place), return_count in self.return_counts.items():
            immediate_return_count = (
                immediate_return_count + return_count
                if self.visits[place].index == visit.index
                else immediate_return_count
            )
        return immediate_return_count

    def add(self, root: Activity, value_by_expr: Numbers, is_repeated: bool = False) -> Places:
        """Add the places of an activity; return this object.

        Parameters
        ----------
        root : the activity
        value_by_expr : of its expressions
        is_repeated : it is repeated without an end, so that its first visit follows its last
        """
        first_places, last_places = self._end_places(root, np.ones(1), value_by_expr)
        if is_repeated:
            self._count_returns(last_places, first_places, np.ones(1))
        return self

    def _count_returns(
        self, last_places: _EndPlaces, first_places: _EndPlaces, executions: Array
    ) -> None:
        """Count how often the first places of a part immediately follow the last places of another
        one at the same queue.
        """
        for place, probability in first_places:
            for earlier_place, earlier_probability in last_places:
                if self.visits[earlier_place].queue == self.visits[place].queue:
                    # Only returns to the same queue matter: elsewhere an arrival finds the state of
                    # a random moment.
                    place_pair = earlier_place, place
                    self.return_counts[place_pair] = (
                        self.return_counts.get(place_pair, 0.0)
                        + executions * probability * earlier_probability
                    )

    def _end_places(
        self, node: Activity, execution_count: Array, value_by_expr: Numbers
    ) -> tuple[_EndPlaces, _EndPlaces]:
        """Return the first and the last places of a part that is executed `execution_count` times,
        each with its probability.
        """
        if isinstance(node, Repeat):
            is_geometric = node.spread == GEOMETRIC
            return self._places_of_repeat(
                value_by_expr[node.count], node.body, execution_count, value_by_expr, is_geometric
            )
        places_by_child = [
            self._end_places(
                child,
                execution_count * executions_at_points(execution_count_expr, value_by_expr),
                value_by_expr,
            )
            for execution_count_expr, child in node.weighted_children
        ]
        # At their ends a processor comes from a branch, a lock or a meeting, not from a queue
        # alone.
        if is_parallel(node) or node.use in (HELD, MET):
            return [], []
        if node.probabilities:
            weighted_places = [
                (value_by_expr[probability_expr], end_places)
                for probability_expr, end_places in zip(
                    node.probabilities, places_by_child, strict=True
                )
            ]
            first_places, last_places = (
                [
                    (place, probability * place_probability)
                    for probability, end_places in weighted_places
                    for place, place_probability in end_places[end_index]
                ]
                for end_index in (0, 1)
            )
            return first_places, last_places
        match node:
            case VisitedStep(_, visit):
                if visit is None:
                    return [], []
                self.visits.append(visit)
                self.executions.append(execution_count)
                place_of_visit = [(len(self.visits) - 1, np.ones(1))]
                return place_of_visit, place_of_visit
            case Then():
                return self._places_in_sequence(places_by_child, execution_count)
            case _:
                raise no_rule_error("the count of immediate returns", node)

    def _places_in_sequence(
        self, places_by_part: Sequence[tuple[_EndPlaces, _EndPlaces]], execution_count: Array
    ) -> tuple[_EndPlaces, _EndPlaces]:
        """Return the first and the last places of parts that are executed one after the other, and
        count the immediate returns to a queue between two parts.
        """
        for (_, last_places), (first_places, _) in pairwise(places_by_part):
            self._count_returns(last_places, first_places, execution_count)
        return (places_by_part[0][0], places_by_part[-1][1]) if places_by_part else ([], [])

    def _places_of_repeat(
        self,
        round_counts: Array,
        body: Activity,
        execution_count: Array,
        value_by_expr: Numbers,
        is_geometric: bool,
    ) -> tuple[_EndPlaces, _EndPlaces]:
        """Return the first and the last places of a repetition. A small and whole number of rounds
        is written out round by round; any other number is taken as geometric.
        """
        first_round_count = float(round_counts.flat[0].real)
        has_few_rounds = (
            1
            <= first_round_count * max(1, sum(1 for _ in visits_of_tree_part(body)))
            <= MOST_WRITTEN_OUT
        )
        if (
            has_few_rounds
            and not is_geometric
            and first_round_count.is_integer()
            and np.all(round_counts.real == first_round_count)
        ):
            places_by_round = [
                self._end_places(body, execution_count, value_by_expr)
                for _ in range(int(first_round_count))
            ]
            return self._places_in_sequence(places_by_round, execution_count)
        first_places, last_places = self._end_places(
            body, execution_count * round_counts, value_by_expr
        )
        # A geometric number N of mean m: the mean of N - 1, where N is not 0, is m^2 / (1 + m).
        further_rounds = np.where(round_counts.real > 1, round_counts - 1, 0.0)
        returns_to_start = round_counts**2 / (1 + round_counts) if is_geometric else further_rounds
        self._count_returns(last_places, first_places, execution_count * returns_to_start)
        return first_places, last_places


_EndPlaces = list[tuple[int, Array]]
"""First or last places of a part, each with its probability."""
