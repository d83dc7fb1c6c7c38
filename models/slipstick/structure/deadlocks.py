"""Deadlocks: processors that can wait for each other without end, at locks taken in a cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slipstick.expression.tape import Tape, Values, count_of_points, selected_values
from slipstick.late import Array, dataclass, np, replace
from slipstick.model.steps import HELD, MET, Activity, is_parallel, steps
from slipstick.model.system import Model


class Deadlocks:
    """The deadlocks that are possible in a model because locks are taken in a cycle; see
    `lock_cycle`.

    Parameters
    ----------
    model : the system
    """

    def __init__(self, model: Model) -> None:
        self._reason, self._least_processors = lock_cycle(model)
        self._population = model.population
        self._tape = Tape(list(self._population.processor_counts))

    def reasons_by_point(self, values: Values) -> dict[int, tuple[str]]:
        """Return, by the index of the point, why processors can wait for each other without
        end. Points with too few processors for a deadlock are left out.
        """
        return (
            self.reasons_by_processors(
                self._tape.run(selected_values(values, self._tape.parameters)),
                count_of_points(values),
            )
            if self._reason
            else {}
        )

    def reasons_by_processors(
        self, processor_counts: Sequence[Array], point_count: int
    ) -> dict[int, tuple[str]]:
        """Return the reason for a deadlock, by the index of each point with enough processors.

        Parameters
        ----------
        processor_counts : numbers of processors, in the order of `counts` of the population [1]
        point_count : number of points
        """
        if not self._reason:
            return {}
        # Of customers that arrive any number may be present.
        present_by_point = np.full(point_count, np.inf if self._population.streams else 0.0)
        for processor_count in processor_counts:
            present_by_point = (
                # Phases follow one another, so their numbers do not add up; those of groups do.
                np.maximum(present_by_point, processor_count.real)
                if self._population.finite
                else present_by_point + processor_count.real
            )
        # One processor for each lock of the cycle, or a single one whose branches take them.
        return {
            int(point_index): (self._reason,)
            for point_index in np.flatnonzero(present_by_point >= self._least_processors)
        }


def lock_cycle(model: Model) -> tuple[str, int]:
    """Return a sentence on locks, or resources of one permit, that are taken in a cycle, so that
    their holders may wait for each other without end; also the least number of processors for that.
    Return an empty text and 0 if there is no such cycle.

    Two requests are no danger to each other if one lock is held at both, or if a barrier of all
    processors or the end of a phase is between them.

    Source: Coffman, Elphick and Shoshani, ACM Computing Surveys 3(2), 1971, 67-78 (circular wait).

    Parameters
    ----------
    model : the system

    Returns
    -------
    the sentence, and the number of processors: one for each lock, or a single one if branches of
    one processor take the locks

    >>> from slipstick.model.activity import delay, hold
    >>> from slipstick.model.system import closed_model
    >>> there, back = (
    ...     hold("a", hold("b", delay(1.0, name="x"))),
    ...     hold("b", hold("a", delay(1.0, name="y"))),
    ... )
    >>> (
    ...     lock_cycle(closed_model(there >> back, processors=2))[0][:45],
    ...     lock_cycle(closed_model(there, processors=2)),
    ... )
    ('locks a and b are taken in both orders: their', ('', 0))
    """
    exclusive_resources = [
        resource
        for resource in model.resources.values()
        if resource.use == HELD and resource.capacity == 1
    ]
    groups_run_together = bool(model.population.groups)
    nested_holds: dict[_NestedHold, None] = {}
    for body_number, body in enumerate(model.bodies if len(exclusive_resources) > 1 else ()):
        nested_holds.update(
            dict.fromkeys(_nested_holds(model, body, 0 if groups_run_together else body_number))
        )
    # Pruned first, because following all paths takes a time that grows fast with their number.
    requests = _continued_requests(list(nested_holds))
    locks = next(filter(None, (_locks_of_cycle((request,), requests) for request in requests)), ())
    if not locks:
        return "", 0
    # Branches of one processor can wait for each other, so that one is enough.
    are_taken_in_branches = any(_are_taken_in_branches(body, locks) for body in model.bodies)
    *earlier_locks, last_lock = locks
    order_in_words = "in a cycle" if len(earlier_locks) > 1 else "in both orders"
    sentence = (
        f"locks {', '.join(earlier_locks)} and {last_lock} are taken {order_in_words}: their"
        " holders may wait for each other without end"
    )
    return f"{sentence}; take them in one order", 1 if are_taken_in_branches else len(locks)


@dataclass(frozen=True, slots=True)
class _NestedHold:
    """A request for a lock while another is held, in a section of a body between two barriers of
    all processors.

    Parameters
    ----------
    held_lock, wanted_lock : the two locks
    held_locks : all locks held at that moment
    section : number of the part
    """

    held_lock: str
    wanted_lock: str
    held_locks: frozenset[str]
    section: tuple[int, int]


def _continued_requests(requests: list[_NestedHold]) -> list[_NestedHold]:
    """Return the requests that may belong to a cycle, because another lock is requested while the
    lock that they want is held. If all locks are taken in one order, no request is left.
    """
    while True:
        continued_locks = {(request.section, request.held_lock) for request in requests}
        continued_requests = [
            request
            for request in requests
            if (request.section, request.wanted_lock) in continued_locks
        ]
        if len(continued_requests) == len(requests):
            return continued_requests
        requests = continued_requests


def _locks_of_cycle(
    path: tuple[_NestedHold, ...], requests: Sequence[_NestedHold]
) -> tuple[str, ...]:
    """Return the locks of a cycle of requests that begins with a path; an empty tuple if there is
    none. Requests are followed from lock to lock until the first lock is reached again.
    """
    first_request = path[0]
    last_request = path[-1]
    if last_request.wanted_lock == first_request.held_lock:
        return tuple(request_of_path.held_lock for request_of_path in path)
    for request in requests:
        # A lock that is held at two requests keeps them from being under way at once, so that they
        # cannot close a cycle.
        can_be_under_way = request.section == first_request.section and not any(
            request.held_locks & earlier_request.held_locks for earlier_request in path
        )
        if request.held_lock == last_request.wanted_lock and can_be_under_way:
            locks_of_longer_path = _locks_of_cycle((*path, request), requests)
            if locks_of_longer_path:
                return locks_of_longer_path
    return ()


def _are_taken_in_branches(body: Activity, locks: Sequence[str]) -> bool:
    """Return whether some of the locks are taken in a fork or pipeline, whose parts are under way
    at the same time.
    """
    parallel_nodes = (node for node in steps(body) if is_parallel(node))
    return any(
        set(node_inside.held) & set(locks) for node in parallel_nodes for node_inside in steps(node)
    )


def _nested_holds(model: Model, cycle: Activity, body_number: int) -> Iterator[_NestedHold]:
    """Yield the requests for a lock while another one is held in a body, with the section of each;
    `body_number` counts the bodies that run one after the other.
    """
    requests = list[_NestedHold]()
    section_count = 0

    def add_requests(node: Activity, held_locks: frozenset[str]) -> None:
        """Add the requests of a node and of the nodes inside it, while some locks are held."""
        nonlocal section_count
        section_count += node.use == MET and node.parties is None
        for lock_name in node.held:
            if model.resources[lock_name].capacity == 1:
                requests.extend(
                    _NestedHold(outer_lock, lock_name, held_locks, (body_number, section_count))
                    for outer_lock in sorted(held_locks)
                )
                held_locks = held_locks | {lock_name}
        for child in node.children:
            add_requests(child, held_locks)

    add_requests(cycle, frozenset())
    # What comes after the last barrier is done with what comes before the first.
    yield from (
        replace(request, section=(body_number, 0))
        if request.section[1] == section_count
        else request
        for request in requests
    )
