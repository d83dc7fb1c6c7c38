"""What mean value finds at aligned points, before it is made into answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from slipstick.method.mean_value.queues import Queue
from slipstick.method.mean_value.spans import Array, plus
from slipstick.method.mean_value.spins import Load

__all__ = ["Outcome", "Use", "uses"]


@dataclass(frozen=True, slots=True)
class Use:
    """How a queue is used.

    Parameters
    ----------
    busy : servers busy, of all that there are [1]
    present : waiting or served; of processors, at each [1]
    calls : visits in a second [1/s]
    wait : of one visit, without service [s]
    """

    busy: Array
    present: Array
    calls: Array
    wait: Array


@dataclass(frozen=True, slots=True)
class Outcome:
    """Mean values at aligned points; NaN where there is no answer.

    Parameters
    ----------
    time : of a cycle, or of the whole program [s]
    size : processors, or arrivals a second
    booked : seconds of one processor by step, wait or other label
    uses : of each queue by name
    wrong : why a point has no answer, by its number
    groups : time of each group's cycle by name, where there are several [s]
    """

    time: Array
    size: Array
    booked: dict[str, Array] = field(default_factory=dict)
    uses: dict[str, Use] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)
    groups: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def blank(
        cls,
        size: Array,
        labels: Iterable[str],
        queues: Iterable[str],
        wrong: Mapping[int, str],
        groups: Iterable[str] = (),
    ) -> Outcome:
        """Make an outcome in which nothing is known yet."""

        def unknown() -> Array:
            return np.full(len(size), np.nan, dtype=size.dtype)

        return cls(
            unknown(),
            size,
            {label: unknown() for label in labels},
            {name: Use(unknown(), unknown(), unknown(), unknown()) for name in queues},
            dict(wrong),
            {name: unknown() for name in groups},
        )

    def put(
        self, points: Array, rows: Array, time: Array, booked: Mapping[str, Array], used: Mapping[str, Use]
    ) -> None:
        """Fill in some points, each from a row of what was found."""
        self.time[points] = _at(time, rows)
        for label, column in booked.items():
            self.booked[label][points] = _at(column, rows)
        for name, use in used.items():
            for mine, theirs in zip(_fields(self.uses[name]), _fields(use), strict=True):
                mine[points] = _at(theirs, rows)


def uses(
    queues: Iterable[Queue],
    processors: int,
    often: Mapping[int, Array],
    rate: Array,
    served: Mapping[int, Array],
    present: Mapping[int, Array],
    loads: Mapping[str, Load] | None = None,
) -> dict[str, Use]:
    """Add the visits of each queue up.

    Parameters
    ----------
    queues : of the model
    processors : how many there are, each a station of its own
    often : visits in a cycle [1]
    rate : cycles of all in a second [1/s]
    served, present : at each visit [1]
    loads : what spinning adds, by station
    """
    found = {}
    for queue in queues:
        busy, there, calls = (
            sum((each[visit.index] for visit in queue.visits), np.zeros(1)) for each in (served, present, often)
        )
        servers = queue.all_servers(processors)
        copies = servers / queue.servers
        more = (loads or {}).get(queue.name, Load.none())
        busy, there, passing = busy + more.busy, there + more.present, rate * calls + more.calls
        found[queue.name] = Use(busy / servers, there / copies, passing, (there - busy) / plus(passing))
    return found


def _fields(use: Use) -> tuple[Array, ...]:
    return use.busy, use.present, use.calls, use.wait


def _at(column: Array, rows: Array) -> Array:
    """Pick rows of a column; one of length 1 holds for all."""
    return column[rows] if np.ndim(column) and len(column) > 1 else np.broadcast_to(column, (1,))
