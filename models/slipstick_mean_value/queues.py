"""The queues of an activity. All visits to one resource make a `Queue`; the processors together
are one queue whose servers are the processors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slipstick.model.activity import Pipeline
from slipstick.model.steps import HELD, Activity, Combination, no_rule_error
from slipstick.model.system import Model, ReaderWriterLock, is_processor
from slipstick.structure.visits import PROCESSORS, Visit, VisitTree, visit_of


def _largest_request_count(node: Activity, queue_name: str) -> int:
    """Return the largest number of requests that one processor can have at a queue at once; a
    pipeline can have one at each stage.
    """
    request_counts_of_children = [
        _largest_request_count(child, queue_name) for child in node.children
    ]
    visit = visit_of(node)
    is_visit_to_queue = visit is not None and visit.queue == queue_name
    match node.combination:
        case Combination.IN_TURN:
            return max(int(is_visit_to_queue), *request_counts_of_children, 0)
        case Combination.LONGEST:
            return sum(request_counts_of_children)
        case Combination.ITEMS if isinstance(node, Pipeline):
            remaining_counts = iter(request_counts_of_children)
            return sum(max(next(remaining_counts) for _ in stage.bodies) for stage in node.stages)
        case _:
            raise no_rule_error("the number of requests at once", node)


@dataclass(frozen=True, slots=True)
class Queue:
    """A station, a lock, or all processors, with its visits.

    Parameters
    ----------
    name : in answers
    visits : to this queue
    servers : of the station, or of each processor
    serves_at_once : whether all present are served at once: they share the servers, or have one
        each
    is_lock : whether it is a lock, whose service is what is done while it is held
    is_spin_lock : whether it is a lock whose waiting processors access its word
    requests : the most requests that one processor can have there at once
    copies : alike queues that this one stands for, each visit to any of them; see
        `slipstick_mean_value.lumping`
    order : of a reader-writer lock, whose waits `shared_locks` gives; empty for others
    """

    name: str
    visits: tuple[Visit, ...]
    servers: int = 1
    serves_at_once: bool = False
    is_lock: bool = False
    is_spin_lock: bool = False
    requests: int = 1
    copies: int = 1
    order: str = ""

    def all_servers(self, processors: int) -> int:
        """Return the number of servers; the queue of the processors has one server for each
        processor.
        """
        return processors if self.name == PROCESSORS else self.servers

    @property
    def label(self) -> str:
        """The label to which waiting at this queue is booked."""
        return self.visits[0].label if self.is_lock else f"wait:{self.visits[0].queue}"


def queues_of(
    model: Model, trees: Sequence[VisitTree], copies_by_resource: Mapping[str, Sequence[str]]
) -> tuple[Queue, ...]:
    """List the queues of all trees, in the order of their first visits."""
    visits_by_queue: dict[str, list[Visit]] = {}
    for visit in (visit for tree in trees for visit in tree.visits):
        queue_name = PROCESSORS if is_processor(visit.queue) else visit.queue
        visits_by_queue.setdefault(queue_name, []).append(visit)
    queues = []
    for queue_name, visits in visits_by_queue.items():
        resource = model.resources.get(queue_name)
        discipline = model.service_discipline(queue_name)
        queues.append(
            Queue(
                queue_name,
                tuple(visits),
                resource.capacity if resource is not None else 1,
                discipline is not None and discipline.at_once,
                resource is not None and resource.use == HELD,
                resource is not None and resource.spins,
                max(1, *(_largest_request_count(tree.root, queue_name) for tree in trees)),
                # A queue without copies stands for itself: the text has one character.
                len(copies_by_resource.get(queue_name, "1")),
                resource.order if isinstance(resource, ReaderWriterLock) else "",
            )
        )
    return tuple(queues)
