"""The queues of a model: stations, locks, and the processors themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slipstick.method.mean_value.tree import Access, Grown, Visit, width
from slipstick.model.system import Lock, Model, Station, is_processor

__all__ = ["PROCESSORS", "Queue", "label_of", "queues_of", "weight"]

PROCESSORS = "own"
"""The queue of all processors, each a station of its own; answers call it so."""

_AWAY = ("other", "each-other")


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
        return 0.0 if by == "own" else 1 / others if by in _AWAY else 1 / (others + 1)
    if asked in _AWAY:
        if by == "own":
            return 1 / others
        return (others - 1) / others**2 if by in _AWAY else 1 / (others + 1)
    return float(asked == by) if by not in ("own", *_AWAY) else 1 / (others + 1)
